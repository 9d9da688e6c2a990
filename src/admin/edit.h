/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edit.h - what a person does to a session that nobody runs: decide about a
 * call, say what became of one, change its state, begin a copy.  One event each, durable on return;
 * no model, key, computer or loop is needed.
 *
 * The lease is taken for the moment of writing, so a live runtime refuses with
 * TH_EBUSY and its name.
 */
#ifndef TH_ADMIN_EDIT_H
#define TH_ADMIN_EDIT_H

#include "core/session.h"
#include "store/store.h"

struct th_edit {
	struct th_store *store; /* borrowed */
	struct th_arena memory;
	struct th_session_row row; /* as leased, strings in memory; head is of the last event */
	struct th_session session; /* the fold */
};

/* Takes the session and folds its log.  th_edit_close is needed after success only. */
TH_NODISCARD enum th_code th_edit_open(struct th_edit *e, struct th_store *store,
				       struct th_str session_id, struct th_err *err);
void th_edit_close(struct th_edit *e); /* gives the lease back */
/* The same, of the session or of one that works for it (an agent that is a tool): whichever has a
 * call of that id (empty: the first of any) that waits in this phase.  Where none does, the session
 * itself.  TH_EUSAGE: several sessions have. */
TH_NODISCARD enum th_code th_edit_open_waiting(struct th_edit *e, struct th_store *store,
					       struct th_str session_id, enum th_call_phase phase,
					       struct th_str call_id, struct th_err *err);

/* Tells of the session, and of those that work for it and wait, each as its log says; takes and
 * writes nothing.  Not OK: stop and return it. */
typedef enum th_code th_edit_fold_fn(void *ctx, struct th_str session_id,
				     const struct th_session *s, struct th_err *err);
TH_NODISCARD enum th_code th_edit_each(struct th_store *store, struct th_str session_id,
				       th_edit_fold_fn *fn, void *ctx, struct th_err *err);

/* Hears of each call that was decided. */
typedef void th_edit_decided_fn(void *ctx, const struct th_call *c);

/* call_id: a call's name (th_call_name); empty: the first that waits.  `word`: see
 * th_person_decides; `decided` may be NULL.  TH_ENOENT: no such call waits; TH_EUSAGE: a person was
 * asked about another of that name before. */
TH_NODISCARD enum th_code th_edit_decide(struct th_edit *e, struct th_str call_id,
					 const struct th_ev_approval_decided *word,
					 th_edit_decided_fn *decided, void *ctx,
					 struct th_err *err);
/* A person's word on a parked call: done, not_started or unknown. */
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

/* A new session that shares source@seq (0: the end).  Calls that were under way there are not here,
 * and if the source works for another session, this one works for nobody. */
TH_NODISCARD enum th_code th_edit_fork(struct th_store *store, struct th_str source, uint64_t seq,
				       struct th_str session_id, struct th_err *err);

#endif
