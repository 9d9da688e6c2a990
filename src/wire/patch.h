/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patch.h - V4A diffs: the body of one file's change, and the envelope that
 * holds several ("*** Begin Patch" …).
 *
 *	@@ class Base                 where to look: a line of the file; may be stacked
 *	@@     def method():
 *	 a line that stays
 *	-a line that goes
 *	+a line that comes
 *	*** End of File
 *
 * What fits and what does not is what the Agents SDK's apply_diff says: the
 * first place from the last hunk on where the old lines stand, exactly, then
 * without white space at their ends, then without any around them.  Lines that
 * stay are the file's own.  Pure; any bytes give a text or a reason, in at most
 * TH_PATCH_STEPS_MAX comparisons.
 */
#ifndef TH_WIRE_PATCH_H
#define TH_WIRE_PATCH_H

#include "base/arena.h"
#include "base/buf.h"

enum th_patch_mode {
	TH_PATCH_UPDATE, /* hunks against `input` */
	TH_PATCH_CREATE  /* only lines with +; `input` is not looked at */
};

/*
 * Appends to `out` what `input` becomes.  Its line ends are those of the input,
 * or of the diff where the input has none.  TH_EPROTO: the diff is none, or
 * does not fit; `out` then gets the reason, which may have several lines (err
 * has its beginning).  TH_ELIMIT: over a maximum; `out` may hold anything.
 */
TH_NODISCARD enum th_code th_patch_apply(enum th_patch_mode mode, struct th_str input,
					 struct th_str diff, struct th_buf *out,
					 struct th_err *err);

enum th_patch_kind { TH_PATCH_ADD_FILE, TH_PATCH_UPDATE_FILE, TH_PATCH_DELETE_FILE };

struct th_patch_file {
	enum th_patch_kind kind;
	struct th_str path;
	struct th_str move_to; /* UPDATE: empty unless it gets another name */
	struct th_str diff;    /* ADD, UPDATE; may be empty for a mere move */
};

/*
 * The files of an envelope, in order; strings are borrowed from `text`.  White
 * space around the envelope is passed over.  TH_EPROTO: a sentence that names
 * the line.  TH_ELIMIT: more than TH_PATCH_FILES_MAX files, or a full arena.
 */
TH_NODISCARD enum th_code th_patch_parse(struct th_str text, struct th_arena *a,
					 struct th_patch_file **ret, size_t *ret_count,
					 struct th_err *err);

#endif
