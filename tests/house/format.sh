#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# format.sh SOURCE_ROOT: every C file is as .clang-format says. Versions of clang-format differ, so only the one that
# the house is written with counts.
set -euo pipefail
cd "$1"
found=$(clang-format --version 2>/dev/null | grep -oE 'version [0-9]+' || echo none)
if [ "$found" != "version 14" ]; then
	echo "not run: clang-format 14 is wanted, this is: $found"
	exit 77
fi
find src include tests bench -name '*.[ch]' -print0 2>/dev/null | xargs -0 -r clang-format --dry-run --Werror
