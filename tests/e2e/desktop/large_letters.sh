#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The stand-in's OCR for a page with large letters. What it does not find in a picture, it looks for in the picture
# enlarged, as a PPM of twice the size. That takes four times as long and finds no more in letters of 30 pixels: nothing is
# read there. The page was not yet drawn, and the stand-in looks again.
magic=$(dd bs=1 count=2 2>/dev/null)
if [ "$magic" = P6 ]; then
	exec cat >/dev/null
fi
{ printf %s "$magic" && cat; } | tesseract "$@"
