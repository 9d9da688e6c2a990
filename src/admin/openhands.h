/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openhands.h - whole conversations of OpenHands in and out.
 *
 * In: a folder of either generation (events/, base_state.json or metadata.json), or a file
 * with a list of events or one event a line.  It becomes a session that stands between
 * tasks: each event is one of ours that holds the event as it came and the items that the model
 * sees of it.  What OpenHands would refuse is kept and said.  Nothing is run: a call without a
 * result gets one that says that its outcome is not known.  State in Python's pickles is
 * never read.  What the state of a conversation calls a key or a token is left out.
 *
 * Out: a new folder that V1 reads; or a conversation in a file store of V0, at its place.
 */
#ifndef TH_ADMIN_OPENHANDS_H
#define TH_ADMIN_OPENHANDS_H

#include "store/store.h"

struct th_openhands_import {
	struct th_str session_id; /* empty: made of the conversation's name */
	struct th_str agent;      /* the agent's definition, JSON */
	struct th_str model;      /* empty: the conversation's */
	struct th_str workspace;
};

struct th_openhands_report {
	struct th_str session_id; /* in the arena */
	const char *generation;   /* "V0" or "V1" */
	size_t events, kept;      /* all; and those that OpenHands would refuse */
	size_t torn;              /* the last file was cut off, and left out: 1 */
	size_t mended;            /* NaN, Infinity and halves of characters, of Python's JSON */
	size_t open;              /* calls without a result */
	bool steps;               /* it was under way */
};

TH_NODISCARD enum th_code th_openhands_import(struct th_store *store, const char *path,
					      const struct th_openhands_import *how,
					      struct th_arena *a, struct th_openhands_report *ret,
					      struct th_err *err);

/* Is this a folder, or a file that does not begin like an exported session? */
bool th_openhands_looks_like(const char *path);

/* Writes session `row` into the folder `path`, or for the first generation into
 * users/USER/conversations/ID or sessions/ID there, which is made and must be empty. */
TH_NODISCARD enum th_code th_openhands_export(struct th_store *store,
					      const struct th_session_row *row,
					      bool first_generation, const char *path,
					      struct th_err *err);

#endif
