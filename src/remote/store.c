/* SPDX-License-Identifier: Apache-2.0 */
/* store.c - the sessions of a server as a store that can be read. */
#include <stdlib.h>

#include "base/codec.h"
#include "base/field.h"
#include "base/limits.h"
#include "base/moment.h"
#include "remote/remote.h"

// clang-format off
#define TH_FIELDS_remote_row(F)                                                          \
	F(remote_row, str, session_id, "session_id", TH_REQ | TH_NONEMPTY, "its name")     \
	F(remote_row, str, agent, "agent", 0, "")                                         \
	F(remote_row, str, model, "model", 0, "")                                         \
	F(remote_row, str, state, "state", 0, "")                                         \
	F(remote_row, str, title, "title", 0, "")                                         \
	F(remote_row, str, user, "user", 0, "")                                           \
	F(remote_row, str, parent, "parent", 0, "")                                       \
	F(remote_row, str, head, "head", 0, "")                                           \
	F(remote_row, raw, metadata, "metadata", 0, "")                                   \
	F(remote_row, int, parent_seq, "parent_seq", TH_NONEG, "")                        \
	F(remote_row, int, head_seq, "head_seq", TH_NONEG, "")                            \
	F(remote_row, int, turns, "turns", 0, "")                                         \
	F(remote_row, int, calls, "calls", 0, "")                                         \
	F(remote_row, int, tokens_in, "tokens_in", 0, "")                                 \
	F(remote_row, int, tokens_cached, "tokens_cached", 0, "")                         \
	F(remote_row, int, tokens_out, "tokens_out", 0, "")                               \
	F(remote_row, int, cost_nano, "cost_nano", 0, "")                                 \
	F(remote_row, int, created_ms, "created_ms", 0, "")                               \
	F(remote_row, int, updated_ms, "updated_ms", 0, "")
// clang-format on
TH_STRUCT(remote_row)
// clang-format off
TH_TABLE(remote_row, "a session of a server", true)
// clang-format on

#define COST_USD_MAX 9e9 /* in billionths it is a number of 63 bits */

struct remote_store {
	struct th_store store;
	struct th_remote *remote;
	char session[TH_SESSION_ID_MAX + 1]; /* whose events were read last */
};

static struct remote_store *of(struct th_store *s)
{
	return TH_CONTAINER_OF(s, struct remote_store, store);
}

static void store_close(struct th_store *s)
{
	free(of(s));
}

/* ---- what a server says ---- */

static enum th_code bad_answer(struct th_err *err, enum th_code code)
{
	return th_prefix(err, code == TH_EUSAGE ? (err->code = TH_EPROTO) : code,
			 "the server's answer");
}

static enum th_code get_json(struct th_store *s, struct th_str path, struct th_json_doc **ret,
			     struct th_err *err)
{
	struct th_buf answer TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_BODY_MAX);
	struct th_remote_request q = { .method = "GET", .path = path };
	enum th_code code = th_remote_call(of(s)->remote, &q, &answer, err);

	if (code)
		return code;
	code = th_json_parse(th_buf_str(&answer), ret, err);
	return code ? bad_answer(err, code) : TH_OK;
}

/* Strings in the arena. */
static enum th_code row_read(const struct th_json *v, struct th_arena *a,
			     struct th_session_row *ret, struct th_err *err)
{
	struct th_remote_row r;
	enum th_code code = th_table_parse(&th_remote_row_table, v, a, &r, err);
	struct th_str *const texts[] = { &r.session_id, &r.agent, &r.model,  &r.state,
					 &r.title,      &r.user,  &r.parent, &r.metadata };

	if (code)
		return bad_answer(err, code);
	for (size_t i = 0; i < TH_COUNT(texts); i++) {
		*texts[i] = th_arena_str(a, *texts[i]);
		if (!texts[i]->ptr)
			return th_fail(err, TH_ELIMIT, "the session's row is too long");
	}
	*ret = (struct th_session_row){
		.session_id = r.session_id,
		.user = r.user,
		.agent = r.agent,
		.model = r.model,
		.state = r.state,
		.title = r.title,
		.parent = r.parent,
		.parent_seq = (uint64_t)r.parent_seq,
		.head_seq = (uint64_t)r.head_seq,
		.iteration = r.turns,
		.calls = r.calls,
		.tokens_in = r.tokens_in,
		.tokens_cached = r.tokens_cached,
		.tokens_out = r.tokens_out,
		.cost_nano = r.cost_nano,
		.created_ms = r.created_ms,
		.updated_ms = r.updated_ms,
		.metadata = r.metadata,
	};
	if (r.head.len && !th_digest_parse(r.head, &ret->head))
		return bad_answer(err, th_fail(err, TH_EPROTO, "head is not a digest"));
	return TH_OK;
}

static enum th_code store_get(struct th_store *s, struct th_str session_id, struct th_arena *a,
			      struct th_session_row *ret, struct th_err *err)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	enum th_code code;

	if (!session_id.len || session_id.len > TH_SESSION_ID_MAX)
		return th_fail(err, TH_ENOENT, "no session has such a name");
	th_remote_path(&path, session_id, "");
	code = get_json(s, th_buf_str(&path), &doc, err);
	return code ?: row_read(th_json_root(doc), a, ret, err);
}

/* ---- lists ---- */

static void add_query(struct th_buf *path, const char *name, struct th_str value)
{
	if (!value.len)
		return;
	th_buf_printf(path, "&%s=", name);
	th_remote_add(path, value);
}

static void list_path(const struct th_session_filter *f, size_t limit, struct th_str after,
		      struct th_buf *path)
{
	struct th_buf member TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);

	th_buf_printf(path, "/api/sessions?limit=%zu&order=%s", limit,
		      f->order == TH_LIST_CREATED ? "created" : "updated");
	add_query(path, "user", f->user);
	add_query(path, "state", f->state);
	add_query(path, "agent", f->agent);
	add_query(path, "title", f->title);
	add_query(path, "text", f->text);
	add_query(path, "prefix", f->prefix);
	add_query(path, "after", after);
	if (f->key.len)
		th_buf_printf(&member, "%.*s=%.*s", TH_FMT(f->key), TH_FMT(f->value));
	add_query(path, "metadata", th_buf_str(&member));
}

/* The rows of a page; *ret_next: where the next one goes on, empty: nowhere. */
static enum th_code give_page(const struct th_json *page, th_session_fn *fn, void *ctx,
			      struct th_buf *next, size_t *count, struct th_err *err)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_json_iter it = th_json_iter(th_json_get(page, "sessions"));
	struct th_session_row row;
	enum th_code code = TH_OK;

	th_arena_init(&a, TH_JSON_SIZE_MAX);
	while (!code && th_json_next(&it)) {
		code = row_read(it.val, &a, &row, err);
		if (!code)
			code = fn(ctx, &row, err);
		++*count;
		th_arena_reset(&a);
	}
	th_buf_clear(next);
	th_buf_add(next, th_json_get_str(page, "next"));
	return code;
}

static enum th_code store_list(struct th_store *s, const struct th_session_filter *filter,
			       th_session_fn *fn, void *ctx, struct th_err *err)
{
	struct th_buf next TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_session_row at = { .session_id = filter->after.id,
				     .created_ms = filter->after.ms,
				     .updated_ms = filter->after.ms };
	size_t count = 0;
	enum th_code code = TH_OK;

	if (filter->after.id.len)
		th_cursor_print(filter->order, &at, &next);
	do {
		struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(32 * TH_KIB);
		struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
		size_t left = filter->limit ? filter->limit - count : TH_PAGE_SESSIONS_MAX;
		size_t before = count;

		list_path(filter, TH_MIN(left, (size_t)TH_PAGE_SESSIONS_MAX), th_buf_str(&next),
			  &path);
		code = get_json(s, th_buf_str(&path), &doc, err);
		if (!code)
			code = give_page(th_json_root(doc), fn, ctx, &next, &count, err);
		if (count == before)
			break; /* an empty page is the last, whatever it says */
	} while (!code && next.len && (!filter->limit || count < filter->limit));
	return code;
}

/* ---- events ---- */

/* *at: the number of the next event. */
static enum th_code give_events(struct th_store *s, const struct th_json *page, uint64_t *at,
				uint64_t to, th_event_fn *fn, void *ctx, struct th_err *err)
{
	static const struct th_digest none;
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_json_iter it = th_json_iter(th_json_get(page, "events"));
	struct th_event ev;
	enum th_code code = TH_OK;

	(void)s;
	th_arena_init(&a, 2 * TH_EVENT_DATA_MAX);
	while (!code && (!to || *at <= to) && th_json_next(&it)) {
		code = th_event_parse(it.val, &a, &ev, err);
		if (code)
			return bad_answer(err, code);
		if (ev.seq != *at)
			return th_fail(err, TH_EPROTO,
				       "the server gave event %llu where %llu was asked for",
				       (unsigned long long)ev.seq, (unsigned long long)*at);
		++*at;
		code = fn(ctx, &ev, &none, err);
		th_arena_reset(&a);
	}
	return code;
}

static enum th_code store_read(struct th_store *s, struct th_str session_id, uint64_t from,
			       uint64_t to, th_event_fn *fn, void *ctx, struct th_err *err)
{
	uint64_t at = from ?: 1, before;
	bool more = true;
	enum th_code code = TH_OK;

	if (session_id.len > TH_SESSION_ID_MAX)
		return th_fail(err, TH_ENOENT, "no session has such a name");
	memcpy(of(s)->session, session_id.ptr, session_id.len);
	of(s)->session[session_id.len] = '\0';
	while (!code && more && (!to || at <= to)) {
		struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
		struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;

		th_remote_path(&path, session_id, "/events");
		th_buf_printf(&path, "?from=%llu&limit=%d", (unsigned long long)at,
			      TH_SERVE_PAGE_EVENTS);
		code = get_json(s, th_buf_str(&path), &doc, err);
		before = at;
		if (!code)
			code = give_events(s, th_json_root(doc), &at, to, fn, ctx, err);
		more = !code && at > before && th_json_get(th_json_root(doc), "next");
	}
	return code;
}

static enum th_code store_blob(struct th_store *s, const struct th_digest *hash, struct th_buf *out,
			       struct th_err *err)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_remote_request q = { .method = "GET", .accept = "*/*" };
	char hex[TH_SHA256_HEX_SIZE + 1];
	size_t before = out->len;
	struct th_sha256 sum;
	struct th_digest got;
	enum th_code code;

	th_digest_hex(hash, hex);
	th_remote_path(&path, th_str_of(of(s)->session), "/blobs/");
	th_buf_add_cstr(&path, hex);
	q.path = th_buf_str(&path);
	code = th_remote_call(of(s)->remote, &q, out, err);
	if (code)
		return code;
	th_sha256_init(&sum);
	th_sha256_add(&sum, out->ptr + before, out->len - before);
	got = th_sha256_end(&sum);
	if (memcmp(&got, hash, sizeof(got)) != 0)
		return th_fail(err, TH_ECORRUPT, "the server gave another picture for %.12s", hex);
	return TH_OK;
}

/* ---- what was used ---- */

static const char *const by_names[] = {
	[TH_USAGE_BY_DAY] = "day",
	[TH_USAGE_BY_USER] = "user",
	[TH_USAGE_BY_AGENT] = "agent",
	[TH_USAGE_BY_MODEL] = "model",
};

static void add_day(struct th_buf *path, const char *name, int64_t days)
{
	int64_t year, month, day;

	if (!days)
		return;
	th_moment_date(days, &year, &month, &day);
	th_buf_printf(path, "&%s=%04lld-%02lld-%02lld", name, (long long)year, (long long)month,
		      (long long)day);
}

static enum th_code usage_read(const struct th_json *v, enum th_usage_by by,
			       struct th_usage_row *ret, struct th_err *err)
{
	double cost = th_json_num(th_json_get(v, "cost_usd"), 0);
	struct th_str key = th_json_get_str(v, by_names[by]);

	*ret = (struct th_usage_row){
		.sessions = th_json_get_int(v, "sessions", 0),
		.turns = th_json_get_int(v, "turns", 0),
		.calls = th_json_get_int(v, "calls", 0),
		.tokens_in = th_json_get_int(v, "tokens_in", 0),
		.tokens_cached = th_json_get_int(v, "tokens_cached", 0),
		.tokens_out = th_json_get_int(v, "tokens_out", 0),
		.used = { .tokens_written = th_json_get_int(v, "tokens_written", 0),
			  .model_ms = th_json_get_int(v, "model_ms", 0),
			  .tools_ms = th_json_get_int(v, "tools_ms", 0),
			  .person_ms = th_json_get_int(v, "person_ms", 0) },
	};
	if (!(cost >= 0 && cost < COST_USD_MAX))
		return bad_answer(err, th_fail(err, TH_EPROTO, "cost_usd is no sum of money"));
	ret->cost_nano = (int64_t)(cost * 1e9 + 0.5);
	if (by == TH_USAGE_BY_USER)
		ret->user = key;
	else if (by == TH_USAGE_BY_AGENT)
		ret->agent = key;
	else if (by == TH_USAGE_BY_MODEL)
		ret->model = key;
	else if (!th_moment_day(key, &ret->day))
		return bad_answer(err, th_fail(err, TH_EPROTO, "day is no day"));
	return TH_OK;
}

/* Of the caller, unless `user` says whose; * is all. */
static enum th_code store_usage(struct th_store *s, const struct th_usage_filter *f,
				th_usage_fn *fn, void *ctx, struct th_err *err)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_iter it;
	struct th_usage_row row;
	enum th_code code;

	th_buf_printf(&path, "/api/usage?by=%s", by_names[f->by]);
	add_day(&path, "from", f->from_day);
	add_day(&path, "to", f->to_day);
	add_query(&path, "user", f->user);
	code = get_json(s, th_buf_str(&path), &doc, err);
	for (it = th_json_iter(th_json_get(th_json_root(doc), "usage"));
	     !code && th_json_next(&it);)
		code = usage_read(it.val, f->by, &row, err) ?: fn(ctx, &row, err);
	return code;
}

/* ---- what it is not for ---- */

static enum th_code store_lease(struct th_store *s, struct th_str session_id, struct th_arena *a,
				struct th_session_row *ret, struct th_err *err)
{
	(void)s, (void)session_id, (void)a, (void)ret;
	return th_fail(err, TH_EUNSUPPORTED, "a server writes its log itself");
}

static enum th_code store_verify(struct th_store *s, struct th_str session_id,
				 struct th_verify_report *ret, struct th_err *err)
{
	(void)s, (void)session_id, (void)ret;
	return th_fail(err, TH_EUNSUPPORTED, "a server's log is checked on its machine");
}

static const struct th_store_kind kind = {
	.scheme = "http",
	.summary = "the sessions of a server",
	.close = store_close,
	.lease = store_lease,
	.get = store_get,
	.list = store_list,
	.read = store_read,
	.blob = store_blob,
	.usage = store_usage,
	.verify = store_verify,
};

static struct th_store *store_new(struct th_remote *r)
{
	struct remote_store *s = th_alloc(sizeof(*s));

	*s = (struct remote_store){ .store = { &kind }, .remote = r };
	return &s->store;
}

enum th_code th_remote_find(struct th_common *o, struct th_remote **ret, struct th_err *err)
{
	enum th_code code;

	if (!th_remote_wanted(o))
		return TH_OK;
	if (o->store.ptr)
		return th_fail(err, TH_EUSAGE,
			       "--store names a log of this machine, and --server a server; give "
			       "one of them");
	code = th_remote_new(o, ret, err);
	o->remote_store = store_new;
	o->remote = code ? NULL : *ret;
	return code;
}
