/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html_text.h - what a person would read of an HTML document, as plain text:
 * headings with #, items with -, links as [text](address), cells with |.
 *
 * Any bytes are a document: what is no markup is text, what is never closed
 * goes to the end.  Scripts, styles and what the document itself hides are left
 * out, and so are characters that cannot be seen or turn a text around: what a
 * model is shown is what a person would see.  One pass, no recursion; pure.
 */
#ifndef TH_WIRE_HTML_TEXT_H
#define TH_WIRE_HTML_TEXT_H

#include "base/buf.h"

/* `html` is UTF-8; bad bytes become U+FFFD.  Stops when `out` is full.  The title is one line. */
void th_html_text(struct th_str html, struct th_buf *out, struct th_buf *title);

/* A text that is none of HTML, cleaned of the same characters. */
void th_html_plain(struct th_str text, struct th_buf *out);

#endif
