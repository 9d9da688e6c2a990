/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer_internal.h - shared by export and import: the format of the lines and
 * the limits of a file.
 */
#ifndef TH_ADMIN_TRANSFER_INTERNAL_H
#define TH_ADMIN_TRANSFER_INTERNAL_H

#include "admin/transfer.h"
#include "base/text.h"

/* The first line of a session. */
#define TH_FIELDS_exported_session(F)                                                      \
	F(exported_session, int, version, "thole_session", TH_REQ, "1")                    \
	F(exported_session, str, session, "session", TH_REQ | TH_NONEMPTY, "its name")     \
	F(exported_session, bool, origin, "origin", 0, "only what a fork shares with it")  \
	F(exported_session, str, user, "user", 0, "whose it is")                           \
	F(exported_session, str, title, "title", 0, "start of its first message")          \
	F(exported_session, str, parent, "parent", 0, "what it was forked from")           \
	F(exported_session, int, parent_seq, "parent_seq", TH_NONEG, "after which event")  \
	F(exported_session, int, epoch, "epoch", TH_POSITIVE, "of its last owner")         \
	F(exported_session, int, created_ms, "created_ms", TH_NONEG, "when it began")      \
	F(exported_session, raw, metadata, "metadata", 0, "object of the caller")          \
	F(exported_session, int, head_seq, "head_seq", TH_REQ | TH_POSITIVE, "last event") \
	F(exported_session, str, head, "head", TH_REQ, "its digest")
TH_STRUCT(exported_session)
extern const struct th_table th_exported_session_table;

/* The line of an event. */
void th_export_print_event(struct th_str session_id, const struct th_event *ev,
			   const struct th_digest *digest, struct th_buf *out);

/* Counts of one file so far.  Export and import count alike, so an exported file can be imported.
 */
struct th_export_load {
	size_t sessions, events, blobs, bytes;
};
/* Counts one more line; `kind`: the member above to increase, or NULL.  TH_ELIMIT: too many. */
enum th_code th_export_count(struct th_export_load *load, size_t *kind, size_t len,
			     struct th_err *err);

/* TH_ELIMIT: the chain of forks is longer than TH_FORK_DEPTH_MAX. */
enum th_code th_export_forks(size_t depth, struct th_err *err);

/* Is the session with this metadata a child session of `parent`? */
bool th_export_works_for(struct th_str metadata, struct th_str parent);

#endif
