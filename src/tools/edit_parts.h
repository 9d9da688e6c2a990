/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edit_parts.h - one call of the tool `edit`, shared by edit.c, edit_look.c and
 * edit_change.c; nobody else includes this.
 */
#ifndef TH_TOOLS_EDIT_PARTS_H
#define TH_TOOLS_EDIT_PARTS_H

#include "base/charset.h"
#include "tools/edit.h"
#include "tools/edit_history.h"

struct th_editing {
	struct th_editing *next;
	struct th_tool_job *job;
	const struct th_edit *args;
	struct th_str path;          /* without what names nothing: "a/./b/" is "a/b" */
	bool probing, goes, touched; /* goes: taking back what made it */
	bool is_parts;               /* `say` is JSON, and has a picture */
	struct th_place place;
	enum th_charset charset;
	struct th_buf bytes, decoded; /* of the file; its text where that is another one */
	struct th_buf result, encoded;
	struct th_str new_bytes; /* what is written: of `result` or `encoded` */
	struct th_digest new_digest;
	struct th_undo undo;
	struct th_buf say, note;
	const char *picture_type;
	enum th_outcome_status status;
	struct th_err err;
};

/* All of these run in a worker, between th_tool_owner_enter and _leave. */

/* edit_look.c */
extern const char *const th_edit_commands[]; /* the names of enum th_edit_command */

/* The model reads why; TH_EUSAGE. */
TH_PRINTF(2, 3) enum th_code th_editing_refuse(struct th_editing *e, const char *fmt, ...);
enum th_code th_editing_wants(struct th_editing *e, const char *parameter);
enum th_code th_editing_missing(struct th_editing *e);

/* What is at the path, before anything is read. */
enum th_edit_what { TH_EDIT_NOTHING, TH_EDIT_FILE, TH_EDIT_FOLDER, TH_EDIT_OTHER };
TH_NODISCARD enum th_code th_editing_look(struct th_editing *e, enum th_edit_what *ret,
					  int64_t *ret_size);
/* Whether the command can be done to that. */
TH_NODISCARD enum th_code th_editing_check(struct th_editing *e, enum th_edit_what what,
					   int64_t size);
/* The file as a text; *ret lives in `e`. */
TH_NODISCARD enum th_code th_editing_read(struct th_editing *e, struct th_str *ret);
TH_NODISCARD enum th_code th_editing_show(struct th_editing *e, enum th_edit_what what);

/* edit_change.c: what the file becomes, in `new_bytes` or `goes`, and what is said of it. */
TH_NODISCARD enum th_code th_editing_change(struct th_editing *e);

#endif
