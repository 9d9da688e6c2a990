/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer.h - export of a session to JSON lines, and import into another store.
 *
 *	{"thole_session":1,"session":…,"user":…,"title":…,"parent":…,"parent_seq":…,
 *	 "epoch":…,"created_ms":…,"metadata":…,"head_seq":…,"head":…}
 *	{"event":{…as `thole log --json` has it…},"digest":…}	its own, in order
 *	{"blob":HASH,"media_type":…,"bytes":BASE64}		what an event names
 *	{"blob":HASH,"absent":true}		what looks like it, and is no blob of the store
 *	{"end":1}
 *
 * The sessions that it depends on come first in the file:
 *
 * - Of the session that it was forked from (head line: "origin":true), only the
 *   shared part.  In the other store this part is a record: a session that was
 *   stopped for good, which can be read and forked but not resumed.
 * - All child sessions (agents as tools), each once.  Their names are derived
 *   from the parent's name, never read from its log.  A child that an open call
 *   waits for must exist at both ends, so that its effects are not repeated.
 *
 * Imported data is not trusted: each event is checked against the chain of
 * digests and each blob against its hash; each blob that an event names must be
 * present; sessions that are not needed are refused; the logs are folded.  All
 * sessions are written in one transaction, or none.  A dependency that the store
 * already has is kept if it is the same; the exported session itself must not
 * exist.  The session keeps its name, which is part of the chain, and gets a new
 * epoch: effects that were under way are settled as after a crash, on a machine
 * whose executor does not know them.  The two copies are independent.
 *
 * A file has at most TH_EXPORT_SESSIONS_MAX sessions, _EVENTS_MAX events,
 * _BLOBS_MAX blobs and _SIZE_MAX bytes.  Export and import count alike
 * (TH_ELIMIT).
 */
#ifndef TH_ADMIN_TRANSFER_H
#define TH_ADMIN_TRANSFER_H

#include "store/store.h"

/* Gets one line, without the newline.  An error stops the export and is returned. */
typedef enum th_code th_session_export_fn(void *ctx, struct th_str line, struct th_err *err);
/* Exports all durable events.  TH_ENOENT; TH_ELIMIT: one of the limits above, or a blob is larger
 * than TH_EXPORT_BLOB_MAX; TH_ECORRUPT: a child session is missing. */
TH_NODISCARD enum th_code th_session_export(struct th_store *store, struct th_str session_id,
					    th_session_export_fn *fn, void *ctx,
					    struct th_err *err);

/* Returns 1: a line, borrowed until the next call; 0: the end; or an enum th_code. */
typedef int th_session_import_fn(void *ctx, struct th_str *ret, struct th_err *err);
/*
 * *ret: the session's name, in the arena.  TH_EEXIST: the store has the session.
 * TH_EPROTO: the file has another format, or is truncated; TH_ECORRUPT: it was
 * changed; TH_ELIMIT: one of the limits above.  Messages name the line.  On any thread (see
 * store.h): `reads` is a handle of that thread's, and may be `store`, which is written.
 */
TH_NODISCARD enum th_code th_session_import(struct th_store *reads, struct th_store *store,
					    th_session_import_fn *fn, void *ctx, struct th_arena *a,
					    struct th_str *ret, struct th_err *err);

#endif
