/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork.c - whether a session may begin with events of another.
 */
#include "postgres/append.h"

/* What this transaction has of event `seq` of a session. */
static const struct th_digest *digest_here(const struct th_pg_appending *w, struct th_str id,
					   uint64_t seq)
{
	for (const struct th_batch *b = w->list; b; b = b->next) {
		for (size_t i = 0; i < b->append_count && !b->refused; i++) {
			const struct th_append *a = &b->appends[i];

			if (a->result == TH_OK && th_str_eq(a->row->session_id, id) &&
			    seq > a->seq_before && seq <= a->seq_before + a->event_count)
				return &a->digests[seq - a->seq_before - 1];
		}
	}
	return NULL;
}

/* The row of an ancestor: it cannot be removed until this transaction is over. */
static enum th_code ancestor(struct th_pg_appending *w, struct th_str id, uint64_t *ret_number,
			     struct th_session_row *ret)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	const struct th_pg_entry *e = th_pg_entry_find(w, id);
	PGresult *r = NULL;
	enum th_code code;

	if (e) {
		*ret_number = e->number;
		*ret = e->row;
		return e->damaged ? TH_ECORRUPT : e->number ? TH_OK : TH_ENOENT;
	}
	th_pq_arg_text(&args, id);
	code = th_pq_run(w->c,
			 "SELECT " TH_PG_SESSION_COLUMNS " FROM thole.sessions s"
			 " WHERE s.session_id = $1 FOR KEY SHARE",
			 &args, &r, w->err);
	if (code != TH_OK)
		return code;
	w->parents[w->parent_count++] = r;
	if (th_pq_rows(r) == 0)
		return TH_ENOENT;
	return th_pg_row(r, 0, ret_number, ret) ? TH_ECORRUPT : TH_OK;
}

static enum th_code digest_stored(struct th_pg_appending *w, uint64_t number, uint64_t seq,
				  struct th_digest *ret, enum th_code *ret_result)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;
	enum th_code code;

	th_pq_arg_i64(&args, (int64_t)number);
	th_pq_arg_i64(&args, (int64_t)seq);
	code = th_pq_run(w->c,
			 "SELECT digest FROM thole.events WHERE session_number = $1 AND seq = $2",
			 &args, &r, w->err);
	if (code == TH_OK &&
	    (th_pq_rows(r) != 1 || !th_pq_fixed(r, 0, 0, ret->bytes, sizeof(ret->bytes))))
		*ret_result = TH_ECORRUPT;
	return code;
}

enum th_code th_pg_fork_check(struct th_pg_appending *w, const struct th_append *a,
			      enum th_code *ret_result)
{
	struct th_str id = a->row->parent;
	const struct th_digest *here = NULL;
	struct th_digest digest;
	bool have = false;
	enum th_code code = TH_OK;
	size_t depth = 0;

	for (; id.len > 0 && *ret_result == TH_OK; depth++) {
		struct th_session_row row;
		uint64_t number = 0;

		if (depth == TH_FORK_DEPTH_MAX) {
			*ret_result = TH_ELIMIT;
			break;
		}
		code = ancestor(w, id, &number, &row);
		if (code == TH_ENOENT || code == TH_ECORRUPT) {
			*ret_result = code;
			code = TH_OK;
			break;
		}
		if (code != TH_OK)
			break;
		if (!have && a->row->parent_seq > row.head_seq) {
			*ret_result = TH_ENOENT;
		} else if (!have && a->row->parent_seq > row.parent_seq) {
			have = true;
			here = digest_here(w, id, a->row->parent_seq);
			if (here)
				digest = *here;
			else
				code = digest_stored(w, number, a->row->parent_seq, &digest,
						     ret_result);
		}
		if (code != TH_OK)
			break;
		id = row.parent;
	}
	while (w->parent_count > 0)
		th_pq_clear(w->parents[--w->parent_count]);
	if (code != TH_OK || *ret_result != TH_OK)
		return code;
	if (!have || !th_digest_eq(&digest, &a->head_before))
		*ret_result = have ? TH_EFENCED : TH_ENOENT;
	return TH_OK;
}
