/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read.c - rows, logs and blobs, on the reader's connection.
 *
 * All that one call reads, with what its callbacks read, is of one moment.  A
 * log comes in pieces that are bounded in events and in bytes.
 */
#include "postgres/postgres.h"

#define PIECE_EVENTS "512"
#define PIECE_BYTES "4194304"

enum th_code th_postgres_read_begin(struct th_postgres *s, struct th_err *err)
{
	struct th_pq *c = &s->reader;
	enum th_code code = th_group_usable(&s->group, err);

	if (code != TH_OK)
		return code;
	if (s->reading > 0) {
		s->reading++;
		return TH_OK;
	}
	/* Once more when the connection had been cut since. */
	for (int tries = 0; tries < 2; tries++) {
		code = th_postgres_connect(s, c, err);
		if (code == TH_OK)
			code = th_pq_run(c, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", NULL,
					 NULL, err);
		if (code != TH_ECONN)
			break;
	}
	if (code == TH_OK)
		s->reading++;
	return code;
}

void th_postgres_read_end(struct th_postgres *s)
{
	assert(s->reading > 0);
	if (--s->reading == 0)
		th_pq_rollback(&s->reader);
}

/* ---- rows ---- */

enum th_code th_postgres_row(struct th_postgres *s, struct th_pq *c, struct th_str id,
			     PGresult **ret_result, uint64_t *ret_number,
			     struct th_session_row *ret, struct th_err *err)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	const char *bad;
	enum th_code code;

	*ret_result = NULL;
	if (!th_session_id_ok(id))
		return th_fail_no_session(err, id);
	th_pq_arg_text(&args, id);
	code = th_pq_run(
	    c, "SELECT " TH_PG_SESSION_COLUMNS " FROM thole.sessions s WHERE s.session_id = $1",
	    &args, ret_result, err);
	if (code != TH_OK)
		return code;
	if (th_pq_rows(*ret_result) == 0)
		return th_fail_no_session(err, id);
	bad = th_pg_row(*ret_result, 0, ret_number, ret);
	return bad ? th_pg_fail_row(s, id, bad, err) : TH_OK;
}

enum th_code th_postgres_get(struct th_store *store, struct th_str id, struct th_arena *a,
			     struct th_session_row *ret, struct th_err *err)
{
	struct th_postgres *s = th_postgres_of(store);
	PGresult *r = NULL;
	uint64_t number;
	enum th_code code = th_postgres_read_begin(s, err);

	if (code != TH_OK)
		return code;
	code = th_postgres_row(s, &s->reader, id, &r, &number, ret, err);
	if (code == TH_OK)
		code = th_pg_row_keep(a, ret, err);
	th_pq_clear(r);
	th_postgres_read_end(s);
	return code;
}

/* ---- events ---- */

#define EVENT_COLUMNS                                                                       \
	"e.seq, e.ts_ms, e.event_id, e.source, e.event_class, e.cause, e.call_id, e.data, " \
	"e.build,"                                                                          \
	" e.digest"

/* What is wrong with it, or NULL. */
static const char *event_column(PGresult *r, int row, int column, struct th_event *ret,
				struct th_digest *ret_digest)
{
	struct th_str source = { 0 }, kind = { 0 };
	int source_id, kind_id;

	*ret = (struct th_event){ 0 };
	if (!th_pq_u64(r, row, column, &ret->seq) || !th_pq_i64(r, row, column + 1, &ret->ts_ms) ||
	    !th_pq_fixed(r, row, column + 2, ret->id.bytes, sizeof(ret->id.bytes)) ||
	    !th_pq_bytes(r, row, column + 3, &source) || !th_pq_bytes(r, row, column + 4, &kind) ||
	    !th_pq_u64(r, row, column + 5, &ret->cause) ||
	    !th_pq_text(r, row, column + 6, &ret->call) ||
	    !th_pq_bytes(r, row, column + 7, &ret->data) ||
	    !th_pq_text(r, row, column + 8, &ret->build) ||
	    !th_pq_fixed(r, row, column + 9, ret_digest->bytes, sizeof(ret_digest->bytes)))
		return "a column cannot have such a value";
	source_id = th_source_find(source);
	kind_id = th_event_find(kind);
	if (source_id < 0 || kind_id < 0)
		return "column source or event_class has a name that is not known here; a newer "
		       "thole may have written it";
	ret->source = (enum th_source)source_id;
	ret->kind = (enum th_event_kind)kind_id;
	return NULL;
}

/* The part of a log that one session holds itself. */
struct span {
	uint64_t number, first, last;
	struct th_str id; /* of the row's result */
};

struct walking {
	struct th_postgres *s;
	struct th_str id;
	th_event_fn *fn;
	void *ctx;
	struct th_err *err;
};

static enum th_code piece_give(struct walking *w, PGresult *r, uint64_t *seq)
{
	enum th_code code = TH_OK;

	for (int i = 0; i < th_pq_rows(r) && code == TH_OK; i++) {
		struct th_event ev;
		struct th_digest digest;
		const char *bad = event_column(r, i, 0, &ev, &digest);

		if (!bad && ev.seq != *seq)
			bad = "the event is missing";
		if (bad)
			return th_pg_fail_event(w->s, w->id, *seq, bad, w->err);
		(*seq)++;
		code = w->fn(w->ctx, &ev, &digest, w->err);
	}
	return code;
}

static enum th_code span_walk(struct walking *w, const struct span *span)
{
	enum th_code code = TH_OK;

	for (uint64_t seq = span->first; seq <= span->last && code == TH_OK;) {
		struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
		PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;

		th_pq_arg_i64(&args, (int64_t)span->number);
		th_pq_arg_i64(&args, (int64_t)seq);
		th_pq_arg_i64(&args, (int64_t)span->last);
		/* At least one, however large it is. */
		code = th_pq_run(&w->s->reader,
				 "SELECT " EVENT_COLUMNS " FROM (SELECT *, sum(octet_length("
				 "data)) OVER (ORDER BY seq) - octet_length(data) AS before FROM"
				 " (SELECT * FROM thole.events WHERE session_number = $1 AND"
				 " seq BETWEEN $2 AND $3 ORDER BY seq LIMIT " PIECE_EVENTS
				 ") p) e WHERE e.before < " PIECE_BYTES " ORDER BY e.seq",
				 &args, &r, w->err);
		if (code == TH_OK && th_pq_rows(r) == 0)
			code = th_pg_fail_event(w->s, w->id, seq, "the event is missing", w->err);
		if (code == TH_OK)
			code = piece_give(w, r, &seq);
	}
	return code;
}

/* Which session holds which part, the newest first; *ret_count: how many. */
static enum th_code spans_find(struct walking *w, uint64_t from, uint64_t to,
			       struct span spans[static TH_FORK_DEPTH_MAX + 2], size_t *ret_count)
{
	uint64_t last = 0;
	struct th_buf id TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SESSION_ID_MAX * 4);
	enum th_code code = TH_OK;

	id.may_fail = true;
	th_buf_add(&id, w->id);
	for (size_t depth = 0; id.len > 0; depth++) {
		PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;
		struct th_session_row row;
		uint64_t number = 0;

		if (depth > TH_FORK_DEPTH_MAX + 1)
			return th_pg_fail_row(w->s, w->id, "its forks have no end", w->err);
		code = th_postgres_row(w->s, &w->s->reader, th_buf_str(&id), &r, &number, &row,
				       w->err);
		if (code == TH_ENOENT && depth > 0)
			code = th_pg_fail_row(w->s, w->id, "the prefix that it shares is not there",
					      w->err);
		if (code != TH_OK)
			return code;
		if (depth == 0)
			last = to == 0 || to > row.head_seq ? row.head_seq : to;
		if (row.parent_seq < last) {
			spans[(*ret_count)++] = (struct span){
				.number = number,
				.first = TH_MAX(row.parent_seq + 1, TH_MAX(from, (uint64_t)1)),
				.last = last,
			};
			last = row.parent_seq;
		}
		if (last < from || last == 0)
			break;
		th_buf_clear(&id);
		th_buf_add(&id, row.parent);
	}
	return TH_OK;
}

enum th_code th_postgres_walk(struct th_postgres *s, struct th_str id, uint64_t from, uint64_t to,
			      th_event_fn *fn, void *ctx, struct th_err *err)
{
	struct walking w = { .s = s, .id = id, .fn = fn, .ctx = ctx, .err = err };
	struct span spans[TH_FORK_DEPTH_MAX + 2];
	size_t count = 0;
	enum th_code code = spans_find(&w, from, to, spans, &count);

	while (count > 0 && code == TH_OK)
		code = span_walk(&w, &spans[--count]);
	return code;
}

enum th_code th_postgres_read(struct th_store *store, struct th_str id, uint64_t from, uint64_t to,
			      th_event_fn *fn, void *ctx, struct th_err *err)
{
	struct th_postgres *s = th_postgres_of(store);
	struct th_err local;
	enum th_code code = th_postgres_read_begin(s, err);

	if (code != TH_OK)
		return code;
	code = th_postgres_walk(s, id, from, to, fn, ctx, err ?: &local);
	th_postgres_read_end(s);
	return code;
}

/* ---- blobs ---- */

/* The row of a blob: its bytes, or where they are. */
struct blob_row {
	int64_t place; /* 0: in the database */
	char object[TH_PLACE_NAME_SIZE];
};

static enum th_code blob_read(struct th_postgres *s, const struct th_digest *hash,
			      struct blob_row *ret, struct th_buf *out, struct th_err *err)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;
	struct th_str bytes = { 0 }, object = { 0 };
	struct th_digest found;
	char hex[TH_SHA256_HEX_SIZE + 1];
	enum th_code code;

	*ret = (struct blob_row){ 0 };
	th_digest_hex(hash, hex);
	th_pq_arg_bytes(&args, hash->bytes, sizeof(hash->bytes));
	code = th_pq_run(&s->reader, "SELECT bytes, place, object FROM thole.blobs WHERE hash = $1",
			 &args, &r, err);
	if (code != TH_OK)
		return code;
	if (th_pq_rows(r) == 0)
		return th_fail(err, TH_ENOENT, "there is no blob %s", hex);
	if (th_pq_i64(r, 0, 1, &ret->place)) {
		if (!th_pq_text(r, 0, 2, &object) || object.len >= sizeof(ret->object))
			return th_fail(err, TH_ECORRUPT, "%s is damaged: blob %s has no object",
				       s->shown, hex);
		memcpy(ret->object, object.ptr, object.len);
		return TH_OK;
	}
	(void)th_pq_bytes(r, 0, 0, &bytes);
	found = th_sha256_of(bytes.ptr, bytes.len);
	if (!th_digest_eq(&found, hash))
		return th_fail(err, TH_ECORRUPT,
			       "%s is damaged: blob %s: its bytes are not what its hash says",
			       s->shown, hex);
	th_buf_add(out, bytes);
	return th_buf_check(out, "the blob", err);
}

enum th_code th_postgres_blob(struct th_store *store, const struct th_digest *hash,
			      struct th_buf *out, struct th_err *err)
{
	struct th_postgres *s = th_postgres_of(store);
	struct blob_row row;
	enum th_code code = th_postgres_read_begin(s, err);

	if (code != TH_OK)
		return code;
	code = blob_read(s, hash, &row, out, err);
	th_postgres_read_end(s);
	/* The transaction does not wait for what is elsewhere. */
	if (code != TH_OK || row.place == 0)
		return code;
	return th_pg_place_get(s, &s->reader, &s->read_places, row.place, th_str_of(row.object),
			       hash, out, err);
}
