/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marked.h - pictures of a screen with numbered marks on its elements: finds
 * the elements, draws the marks, keeps the numbers from picture to picture.
 *
 * Elements come from the computer's accessibility tree if it has one, from an
 * OmniParser server if one is configured, else from the text in the picture: the
 * program `tesseract` reads it, or another one with the same arguments.  A computer
 * whose other tools already number the elements (a browser) gives its own numbers,
 * and its picture is read only when it has none, but for what is in a canvas.  A
 * source that is missing is skipped; when all are, the error says what to install.
 * Belongs to the display process: the programs that it starts are confined like it.
 */
#ifndef TH_COMPUTER_MARKED_H
#define TH_COMPUTER_MARKED_H

#include "actions/mark.h"
#include "computer/image.h"

struct th_marked_options {
	struct th_str parser; /* URL of an OmniParser server; empty: none */
	struct th_str ocr;    /* path of the program that reads pictures; empty: tesseract's */
	int interrupt_fd;     /* -1: none */
	uint64_t parser_ms;   /* longest answer; 0: TH_PARSER_MS */
	uint64_t ocr_ms;      /* longest reading; 0: TH_OCR_MS */
};

struct th_marked;
struct th_marked *th_marked_new(const struct th_marked_options *options); /* copies */
struct th_marked *th_marked_free(struct th_marked *m); /* takes NULL, returns NULL */

/* A picture of the whole screen as `options` say (PNG; no region), with marks when `drawn`;
 * borrowed until the next call.  The elements are in pixels of the screen. */
TH_NODISCARD enum th_code th_marked_see(struct th_marked *m, struct th_computer *c,
					const struct th_see_options *options, bool drawn,
					struct th_frame_image *ret,
					const struct th_marks **ret_marks, struct th_err *err);

/* Draws boxes and numbers; boxes are in pixels of `screen`, the picture may be smaller. */
void th_marks_draw(const struct th_marks *m, struct th_size screen, const struct th_pixels *to);

#endif
