/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edit_history.h - what the tool `edit` remembers of a session's files: what
 * it saw of each last, and what its edits replaced.
 *
 * What was seen is in memory, and says "changed since" or nothing.  What was
 * replaced is in the folder env->undo_fd, outside the workspace, so that it
 * outlives the executor.  An entry holds what was there before, and the digests
 * of before and after: it can be taken back only while the file still is what
 * the edit made of it.  So an entry is written before its edit, and one whose
 * edit never came is found by its digests and passed over.
 *
 * Called by one worker at a time (edit.c) but for th_seen_put, which every tool
 * that writes files may call.
 */
#ifndef TH_TOOLS_EDIT_HISTORY_H
#define TH_TOOLS_EDIT_HISTORY_H

#include "tools/place.h"
#include "tools/tool.h"

struct th_editing; /* edit.c */

struct th_edit_state {
	struct th_editing *first, *last; /* edit.c: one at a time, in the order of the calls */
	struct th_seen *seen;
	uint64_t ticks;
};
struct th_edit_state *th_editor_state(struct th_tool_env *env); /* made when first wanted */
void th_editor_state_free(struct th_edit_state *s);             /* takes NULL */

enum th_seen_answer { TH_SEEN_NEVER, TH_SEEN_SAME, TH_SEEN_CHANGED };
/* The model knows this content of the file now; NULL: the file is not there. */
void th_seen_put(struct th_tool_env *env, const char *path, const struct th_digest *digest);
enum th_seen_answer th_seen_is(struct th_tool_env *env, const char *path,
			       const struct th_digest *digest);

/* `p` is about to become `after`; `before` is what it holds now. */
TH_NODISCARD enum th_code th_undo_push(const struct th_tool_env *env, const struct th_place *p,
				       struct th_str before, const struct th_digest *after,
				       struct th_err *err);

struct th_undo {
	char name[64]; /* of the entry */
	bool existed;  /* false: the edit made the file */
	mode_t mode;
};
/* The last edit of `p`, and what was there before it.  TH_ENOENT: there is none that can be taken
 * back; TH_EUSAGE: the file is not what that edit made of it. */
TH_NODISCARD enum th_code th_undo_find(const struct th_tool_env *env, const struct th_place *p,
				       struct th_undo *ret, struct th_buf *before,
				       struct th_err *err);
void th_undo_drop(const struct th_tool_env *env, const struct th_undo *u);

#endif
