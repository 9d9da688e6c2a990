/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer.h - a session out of one store and into another: as JSON lines, whole,
 * checked.
 *
 *	{"thole_session":1,"session":…,"user":…,"title":…,"parent":…,"parent_seq":…,
 *	 "epoch":…,"created_ms":…,"metadata":…,"head_seq":…,"head":…}
 *	{"event":{…as `thole log --json` has it…},"digest":…}	its own, in order
 *	{"blob":HASH,"media_type":…,"bytes":BASE64}		what an event names
 *	{"blob":HASH,"absent":true}		what looks like it, and is no blob of the store
 *	{"end":1}
 *
 * Before it stand the sessions that it needs.  Of what it was forked from (head
 * line: "origin":true) only the part that it shares: in the other store that
 * part is a record, a session that was stopped for good: it can be read and
 * forked, and is not resumed.  Of
 * those that work on its calls (agents as tools) all; their names are made of
 * the parent's, never read from its log, and each stands there once.  One that
 * an open call waits for must be there, at both ends: its effects must not be
 * done again.
 *
 * What comes in is not believed: every event is held against the chain of
 * digests, every blob against its hash, each blob that an event names must be
 * there, no session may stand there that is not needed, and the logs are
 * folded.  All sessions are written in one transaction, or none.  One that the
 * store has already is left alone where something was forked from it, and where
 * it works for another and is the same; it is refused where it is what was asked
 * for.  It keeps its name, which is part of the chain, and gets an epoch of its
 * own: effects that were under way are settled as after a crash, on a machine
 * whose executor knows nothing of them.  The two copies know nothing of each
 * other.
 *
 * A file holds at most TH_EXPORT_SESSIONS_MAX, _EVENTS_MAX, _BLOBS_MAX and
 * _SIZE_MAX bytes; both ends count its lines alike (TH_ELIMIT).
 */
#ifndef TH_ADMIN_TRANSFER_H
#define TH_ADMIN_TRANSFER_H

#include "store/store.h"

/* A line without its end; not OK: stop and return it. */
typedef enum th_code th_session_export_fn(void *ctx, struct th_str line, struct th_err *err);
/* All that is durable.  TH_ENOENT; TH_ELIMIT: one of those, or a blob has more than
 * TH_EXPORT_BLOB_MAX; TH_ECORRUPT: a session that works for it is missing. */
TH_NODISCARD enum th_code th_session_export(struct th_store *store, struct th_str session_id,
					    th_session_export_fn *fn, void *ctx,
					    struct th_err *err);

/* 1: a line, borrowed until the next call; 0: there is none any more; or an enum th_code. */
typedef int th_session_import_fn(void *ctx, struct th_str *ret, struct th_err *err);
/*
 * *ret: the session's name, in the arena.  TH_EEXIST: the store has it.
 * TH_EPROTO: this is no such file, or it ends too soon; TH_ECORRUPT: it is not
 * what was written; TH_ELIMIT: one of the limits above; they name the line.
 */
TH_NODISCARD enum th_code th_session_import(struct th_store *store, th_session_import_fn *fn,
					    void *ctx, struct th_arena *a, struct th_str *ret,
					    struct th_err *err);

#endif
