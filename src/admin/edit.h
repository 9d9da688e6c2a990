/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edit.h - changes to a stored session that no runtime has open: decide about a
 * call, say how a call ended, change the state, fork.  Each writes one event,
 * durable on return.  No model, key, computer or loop is needed.
 *
 * The lease is taken while writing.  If a runtime has the session, the result is
 * TH_EBUSY with the name of that runtime.
 */
#ifndef TH_ADMIN_EDIT_H
#define TH_ADMIN_EDIT_H

#include "core/session.h"
#include "store/store.h"

struct th_edit {
	struct th_store *reads, *store; /* borrowed; what is read, and what is changed */
	struct th_arena memory;
	struct th_session_row row; /* from the lease; strings in `memory`; head: the last event */
	struct th_session session; /* the fold */
};

/* Takes the lease and folds the log.  th_edit_close is needed after success only.  On any thread
 * (see store.h): `reads` is a handle of that thread's, and may be `store`, which is written. */
TH_NODISCARD enum th_code th_edit_open(struct th_edit *e, struct th_store *reads,
				       struct th_store *store, struct th_str session_id,
				       struct th_err *err);
void th_edit_close(struct th_edit *e); /* gives the lease back */
/* Opens the session or one of its child sessions (agents as tools): the one that has a call of that
 * id (empty: any call) waiting in this phase; if none has, the session itself.  TH_EUSAGE: several
 * sessions have one. */
TH_NODISCARD enum th_code th_edit_open_waiting(struct th_edit *e, struct th_store *store,
					       struct th_str session_id, enum th_call_phase phase,
					       struct th_str call_id, struct th_err *err);

/* Folds the session, and its child sessions that wait, and passes each to `fn`.  Takes no lease and
 * writes nothing.  An error of `fn` stops it and is returned. */
typedef enum th_code th_edit_fold_fn(void *ctx, struct th_str session_id,
				     const struct th_session *s, struct th_err *err);
TH_NODISCARD enum th_code th_edit_each(struct th_store *store, struct th_str session_id,
				       th_edit_fold_fn *fn, void *ctx, struct th_err *err);

/* Called for each call that was decided. */
typedef void th_edit_decided_fn(void *ctx, const struct th_call *c);

/* call_id: a call's name (th_call_name); empty: the first that waits.  `word`: see
 * th_person_decides; `decided` may be NULL.  TH_ENOENT: no such call waits; TH_EUSAGE: a person was
 * asked about another of that name before. */
TH_NODISCARD enum th_code th_edit_decide(struct th_edit *e, struct th_str call_id,
					 const struct th_ev_approval_decided *word,
					 th_edit_decided_fn *decided, void *ctx,
					 struct th_err *err);
/* Says how a parked call ended: done, not_started or unknown. */
TH_NODISCARD enum th_code th_edit_settle(struct th_edit *e, struct th_str call_id,
					 enum th_outcome_status status, struct th_str by,
					 struct th_str message, size_t *ret_index,
					 struct th_err *err);
/* What may be written: a title of one line, at most TH_TITLE_MAX characters; metadata that is an
 * object of at most TH_METADATA_MAX bytes, of a session that works for nobody.  TH_EUSAGE. */
TH_NODISCARD enum th_code th_edit_check_change(const struct th_session_row *row,
					       const struct th_ev_session_changed *change,
					       struct th_err *err);
TH_NODISCARD enum th_code
th_edit_describe(struct th_edit *e, const struct th_ev_session_changed *change, struct th_err *err);
TH_NODISCARD enum th_code th_edit_state(struct th_edit *e, enum th_state to, struct th_str reason,
					struct th_err *err);

/* Creates a session that shares the events of `source` up to `seq` (0: all).  Calls that were under
 * way there are not part of it.  A fork of a child session has no parent call.  On any thread, as
 * th_edit_open. */
TH_NODISCARD enum th_code th_edit_fork(struct th_store *reads, struct th_store *store,
				       struct th_str source, uint64_t seq, struct th_str session_id,
				       struct th_err *err);

#endif
