/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.h - two texts as a unified diff (POSIX diff -u).
 *
 * The shortest script of edits (Myers, 1986), as long as that takes no more than
 * TH_DIFF_EDITS_MAX edits; of texts that differ more, all lines between the
 * common beginning and the common end are replaced.  That is a right diff too.
 */
#ifndef TH_BASE_DIFF_H
#define TH_BASE_DIFF_H

#include "base/buf.h"

/*
 * Appends the diff to `out`; nothing when both are the same.  A name with NULL in .ptr is
 * /dev/null: the text is not there.  Names are written as git writes them: a/NAME, b/NAME, and in
 * quotes when they hold control characters.  TH_ELIMIT: a text of more than TH_DIFF_LINES_MAX
 * lines, or too long a diff.
 */
TH_NODISCARD enum th_code th_diff(struct th_str before, struct th_str after,
				  struct th_str name_before, struct th_str name_after,
				  struct th_buf *out, struct th_err *err);

#endif
