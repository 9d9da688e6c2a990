/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h - what the two halves of the tool `memory` share: memory.c reads the
 * calls and keeps their order, memory_place.c deletes and moves.
 *
 * The folder TH_MEMORY_FOLDER of the workspace is shown as /memories, by an
 * environment whose workspace it is: so what `edit` refuses outside of a
 * workspace is refused outside of this folder, by the kernel.
 */
#ifndef TH_TOOLS_MEMORY_H
#define TH_TOOLS_MEMORY_H

#include "tools/tool.h"

#define TH_MEMORY_FOLDER ".thole-memory"
#define TH_MEMORY_SHOWN "/memories"

/* Deleting or moving what is at a path; blocks, for a worker. */
struct th_memory_move {
	struct th_str from, to; /* `to` empty: it is deleted */
	struct th_buf note;     /* JSON, for a later probe */
	struct th_buf say;      /* for the model, when it is done or refused */
	enum th_outcome_status status;
	struct th_err err;
};

/* Looks and fills the note; a status other than DONE: it cannot be. */
void th_memory_plan(const struct th_tool_env *within, struct th_memory_move *m);
void th_memory_do(const struct th_tool_env *within, struct th_memory_move *m);
/* What became of it, by the note. */
void th_memory_probe(const struct th_tool_env *within, struct th_str noted,
		     struct th_memory_move *m);

#endif
