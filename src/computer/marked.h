/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marked.h - pictures of a screen with numbered marks on its elements: finds
 * the elements, draws the marks, keeps the numbers from picture to picture.
 *
 * Elements come from the computer's accessibility tree where it has one, from
 * an OmniParser server where one is named, else from reading the picture with
 * the program `tesseract`, or one that is called as that is.  A computer whose other
 * tools name elements by numbers (a browser) gives its own, and its picture is read
 * only where it has none.  One that is not
 * there is passed over; when none of them is, the error says what to install.
 * Belongs to the display process: the programs it starts are confined as that is.
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
