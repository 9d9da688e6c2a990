/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edit_text.h - what the tool `edit` does to a text: finding, replacing,
 * inserting and numbering lines.  Pure; texts are UTF-8.
 *
 * Models write "\n".  In a text that has "\r\n" both count as the same line end
 * when something is looked for; what is put in gets the line ends of its place,
 * and all bytes around it stay as they are.
 */
#ifndef TH_TOOLS_EDIT_TEXT_H
#define TH_TOOLS_EDIT_TEXT_H

#include "base/buf.h"
#include "base/limits.h"

size_t th_editor_lines(struct th_str text); /* a last line without an end is one too */
/* Where line `number`, from 1, begins; the text's end when it has fewer. */
size_t th_editor_line_at(struct th_str text, size_t number);

struct th_edit_found {
	size_t count;                     /* places; counting stops at TH_EDIT_PLACES_MAX */
	size_t lines[TH_EDIT_PLACES_MAX]; /* the lines they begin in, each once, from 1 */
	size_t line_count;
	size_t at; /* the first, in the text with "\n" alone */
};

/* Places may overlap.  `old` is not empty. */
void th_editor_find(struct th_str text, struct th_str old, struct th_edit_found *ret);

/* Puts `new` in place of `old`, which th_editor_find found.  Bytes at the ends of both that are the
 * same stay the file's own. */
void th_editor_replace(struct th_str text, const struct th_edit_found *f, struct th_str old,
		       struct th_str new, struct th_buf *out);

/* Puts `new` as lines of its own behind line `line` (0: in front).  A last line without an end
 * gets one when something follows it; the new last line has one only if `new` does, or the text's
 * did. */
void th_editor_insert(struct th_str text, size_t line, struct th_str new, struct th_buf *out);

/* As `cat -n`: lines of `text`, the first being number `first`; behind a last line end stands one
 * more, empty line.  Stops before size_max bytes; how many lines were written. */
size_t th_editor_number(struct th_str text, size_t first, size_t size_max, struct th_buf *out);

#endif
