/* SPDX-License-Identifier: Apache-2.0 */
/*
 * carry_internal.h - what both ends of a carried session share: the form of its
 * lines, and how many of them there may be.
 */
#ifndef TH_RUN_CARRY_INTERNAL_H
#define TH_RUN_CARRY_INTERNAL_H

#include "base/text.h"
#include "run/carry.h"

/* The first line of a session. */
#define TH_FIELDS_carried(F)                                                      \
	F(carried, int, version, "thole_session", TH_REQ, "1")                    \
	F(carried, str, session, "session", TH_REQ | TH_NONEMPTY, "its name")     \
	F(carried, bool, origin, "origin", 0, "only what a fork shares with it")  \
	F(carried, str, user, "user", 0, "whose it is")                           \
	F(carried, str, title, "title", 0, "start of its first message")          \
	F(carried, str, parent, "parent", 0, "what it was forked from")           \
	F(carried, int, parent_seq, "parent_seq", TH_NONEG, "after which event")  \
	F(carried, int, epoch, "epoch", TH_POSITIVE, "of its last owner")         \
	F(carried, int, created_ms, "created_ms", TH_NONEG, "when it began")      \
	F(carried, raw, metadata, "metadata", 0, "object of the caller")          \
	F(carried, int, head_seq, "head_seq", TH_REQ | TH_POSITIVE, "last event") \
	F(carried, str, head, "head", TH_REQ, "its digest")
TH_STRUCT(carried)
extern const struct th_table th_carried_table;

/* The line of an event. */
void th_carry_print_event(struct th_str session_id, const struct th_event *ev,
			  const struct th_digest *digest, struct th_buf *out);

/* What one file holds so far.  Both ends count alike, so what is given can be taken. */
struct th_carry_load {
	size_t sessions, events, blobs, bytes;
};
/* One line more; `kind`: its member above, or NULL.  TH_ELIMIT: that is too much. */
enum th_code th_carry_count(struct th_carry_load *load, size_t *kind, size_t len,
			    struct th_err *err);

/* A fork of a fork of …, `depth` times. */
enum th_code th_carry_forks(size_t depth, struct th_err *err);

/* Is the session with this metadata one that works for `parent`? */
bool th_carry_works_for(struct th_str metadata, struct th_str parent);

#endif
