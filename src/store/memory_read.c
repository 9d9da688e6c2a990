/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_read.c - what is in the memory store: read, listed, summed and checked.
 */
#include <stdlib.h>

#include "store/common.h"
#include "store/memory_internal.h"

enum th_code th_memory_get(struct th_store *store, struct th_str id, struct th_arena *a,
			   struct th_session_row *ret, struct th_err *err)
{
	const struct th_memory_session *s = th_memory_session_find(th_memory_handle(store)->m, id);

	return s ? th_memory_row_copy(&s->row, a, ret, err) : th_fail_no_session(err, id);
}

static int by_time(const void *a, const void *b, void *order)
{
	const struct th_memory_session *one = *(const struct th_memory_session *const *)a;
	const struct th_memory_session *two = *(const struct th_memory_session *const *)b;

	return th_list_compare(*(const enum th_list_order *)order, &one->row, &two->row);
}

static bool takes(const struct th_session_filter *filter, const struct th_memory_session *s)
{
	struct th_str task = th_str_of(s->task);
	bool ask;

	return th_filter_takes(filter, &s->row, &task, &ask);
}

enum th_code th_memory_list(struct th_store *store, const struct th_session_filter *filter,
			    th_session_fn *fn, void *ctx, struct th_err *err)
{
	struct th_memory *m = th_memory_handle(store)->m;
	enum th_list_order order = filter->order;
	size_t count = m->session_count, given = 0;
	struct th_memory_session **sorted =
	    th_alloc((count + 1) * sizeof(struct th_memory_session *));
	enum th_code code = TH_OK;

	for (size_t i = 0; i < count; i++)
		sorted[i] = m->sessions[i];
	qsort_r(sorted, count, sizeof(struct th_memory_session *), by_time, &order);
	for (size_t i = 0; i < count && code == TH_OK; i++) {
		if (!takes(filter, sorted[i]))
			continue;
		if (filter->limit > 0 && given++ == filter->limit)
			break;
		code = fn(ctx, &sorted[i]->row, err);
	}
	free(sorted);
	return code;
}

enum th_code th_memory_read(struct th_store *store, struct th_str id, uint64_t from, uint64_t to,
			    th_event_fn *fn, void *ctx, struct th_err *err)
{
	struct th_memory *m = th_memory_handle(store)->m;
	const struct th_memory_session *s = th_memory_session_find(m, id);
	enum th_code code = TH_OK;

	if (!s)
		return th_fail_no_session(err, id);
	if (to == 0 || to > s->row.head_seq)
		to = s->row.head_seq;
	for (uint64_t seq = TH_MAX(from, 1); seq <= to && code == TH_OK; seq++) {
		const struct th_memory_record *r = th_memory_record_find(m, s, seq);

		if (!r)
			return th_fail(err, TH_ECORRUPT, "%s is missing",
				       th_event_key(id, seq).text);
		code = fn(ctx, &r->ev, &r->digest, err);
	}
	return code;
}

enum th_code th_memory_blob(struct th_store *store, const struct th_digest *hash,
			    struct th_buf *out, struct th_err *err)
{
	struct th_memory *m = th_memory_handle(store)->m;
	bool found;
	size_t place = th_memory_blob_place(m, hash, &found);
	char hex[TH_SHA256_HEX_SIZE + 1];

	if (!found) {
		th_digest_hex(hash, hex);
		return th_fail(err, TH_ENOENT, "there is no blob %s", hex);
	}
	th_buf_add_mem(out, m->blobs[place].bytes, m->blobs[place].len);
	return th_buf_check(out, "the blob", err);
}

/* ---- what was used ---- */

enum th_code th_memory_usage(struct th_store *store, const struct th_usage_filter *filter,
			     th_usage_fn *fn, void *ctx, struct th_err *err)
{
	const struct th_memory *m = th_memory_handle(store)->m;
	struct th_usage_sums groups;
	enum th_code code = TH_OK;

	th_usage_sums_init(&groups);
	for (size_t i = 0; i < m->usage.count && code == TH_OK; i++) {
		struct th_usage_row group = th_usage_group(filter->by, &m->usage.list[i]);

		if (th_usage_takes(filter, &m->usage.list[i]))
			code = th_usage_sums_add(&groups, &group, err);
	}
	if (code == TH_OK)
		code = th_usage_give(&groups, fn, ctx, err);
	th_usage_sums_deinit(&groups);
	return code;
}

/* ---- checking ---- */

static void verify_session(const struct th_memory *m, const struct th_memory_session *s,
			   struct th_verify_report *r)
{
	struct th_shown id = th_session_key(s->row.session_id);
	struct th_digest before = {};
	const struct th_memory_record *prefix;

	r->sessions++;
	if (s->crc != th_session_row_crc(&s->row, 0, 0)) {
		th_verify_blame(r, "sessions", id.text, "a column is not what was written");
		return;
	}
	if (s->row.parent_seq > 0) {
		prefix = th_memory_record_find(m, th_memory_session_find(m, s->row.parent),
					       s->row.parent_seq);
		if (!prefix) {
			th_verify_blame(r, "sessions", id.text, "its prefix is missing");
			return;
		}
		before = prefix->digest;
	}
	for (size_t i = 0; i < s->count; i++) {
		const struct th_memory_record *e = s->records[i];
		struct th_digest d = th_event_digest(&before, s->row.session_id, &e->ev);

		r->events++;
		if (!th_digest_eq(&d, &e->digest) || e->ev.seq != s->row.parent_seq + 1 + i) {
			th_verify_blame(r, "events",
					th_event_key(s->row.session_id, e->ev.seq).text,
					"the event is not what its digest says");
			return;
		}
		before = d;
	}
	if (!th_digest_eq(&before, &s->row.head) || s->row.head_seq != s->row.parent_seq + s->count)
		th_verify_blame(r, "sessions", id.text, "the head is not its last event");
}

enum th_code th_memory_verify(struct th_store *store, struct th_str session_id,
			      struct th_verify_report *ret, struct th_err *err)
{
	struct th_memory *m = th_memory_handle(store)->m;
	const struct th_memory_session *s = th_memory_session_find(m, session_id);

	*ret = (struct th_verify_report){};
	if (session_id.len > 0) {
		if (!s)
			return th_fail_no_session(err, session_id);
		for (; s && !ret->bad; s = th_memory_session_find(m, s->row.parent))
			verify_session(m, s, ret);
		return TH_OK;
	}
	for (size_t i = 0; i < m->session_count && !ret->bad; i++)
		verify_session(m, m->sessions[i], ret);
	for (size_t i = 0; i < m->blob_count && !ret->bad; i++) {
		struct th_digest d = th_sha256_of(m->blobs[i].bytes, m->blobs[i].len);
		char hex[TH_SHA256_HEX_SIZE + 1];

		ret->blobs++;
		th_digest_hex(&m->blobs[i].hash, hex);
		if (!th_digest_eq(&d, &m->blobs[i].hash))
			th_verify_blame(ret, "blobs", hex, "the bytes are not what the hash says");
	}
	return TH_OK;
}
