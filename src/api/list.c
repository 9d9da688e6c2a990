/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.c - what the store has: the list of sessions, and the log of one.
 */
#include <stdlib.h>

#include "api/api.h"
#include "base/text.h"
#include "core/session.h"

static void row_members(struct th_jw *w, const struct th_session_row *row)
{
	th_jw_kstr(w, "session_id", row->session_id);
	th_jw_kstr(w, "agent", row->agent);
	th_jw_kstr(w, "model", row->model);
	th_jw_kstr(w, "state", row->state);
	th_jw_kstr(w, "title", row->title);
	if (row->parent.len)
		th_jw_kstr(w, "parent", row->parent);
	th_jw_kint(w, "turns", row->iteration);
	th_jw_kint(w, "calls", row->calls);
	th_jw_kint(w, "tokens_in", row->tokens_in);
	th_jw_kint(w, "tokens_out", row->tokens_out);
	th_jw_kreal(w, "cost_usd", (double)row->cost_nano / 1e9);
	th_jw_kint(w, "created_ms", row->created_ms);
	th_jw_kint(w, "updated_ms", row->updated_ms);
	if (th_str_is(row->state, th_state_name(TH_STATE_SCHEDULED)))
		th_jw_kint(w, "start_ms", th_start_of(row->metadata));
	if (th_priority_of(row->metadata) != TH_PRIORITY_NORMAL)
		th_jw_kstr(w, "priority",
			   th_str_of(th_priority_name(th_priority_of(row->metadata))));
}

static enum th_code add_row(void *ctx, const struct th_session_row *row, struct th_err *err)
{
	struct th_jw *w = ctx;

	th_jw_object(w);
	row_members(w, row);
	th_jw_object_end(w);
	return th_buf_check(w->out, "the list of sessions", err);
}

int thole_runtime_list(struct thole_runtime *rt, const char *state, size_t limit, char **ret,
		       struct thole_error *err)
{
	struct th_session_filter filter = { .limit = limit ? limit : TH_LIST_SESSIONS };
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_jw w = th_jw(&text);
	struct th_store *store;
	struct th_err e = { 0 };
	enum th_code bad;
	int code = th_api_enter(rt, err);

	if (!code && !ret)
		code = th_api_fail(err, TH_EUSAGE, "there is no place for the text: ret is NULL");
	if (!code && state && th_state_find(th_str_of(state)) < 0)
		code = th_api_fail(err, TH_EUSAGE, "there is no state \"%.64s\"", state);
	if (code)
		return code;
	filter.state = th_str_of(state);
	store = th_runtime_store(rt->rt);
	th_jw_array(&w);
	bad = store->kind->list(store, &filter, add_row, &w, &e);
	th_jw_array_end(&w);
	if (!bad)
		bad = th_buf_check(&text, "the list of sessions", &e);
	if (!bad)
		*ret = th_api_copy(th_buf_str(&text));
	th_buf_deinit(&text);
	return th_api_out(bad, &e, err);
}

/* ---- pages ------------------------------------------------------------------------------------
 */

struct th_api_page {
	struct th_arena memory; /* options */
	struct th_jw w;
	struct th_session_filter filter;
	size_t limit, count;
	struct th_buf cursor; /* of the last row */
	bool more;
	bool ordered, goes_on;           /* options `order` and `after` are given */
	enum th_list_order cursor_order; /* of `after` */
};

void th_api_row_print(const struct th_session_row *row, struct th_jw *w)
{
	char head[TH_SHA256_HEX_SIZE + 1];

	th_jw_object(w);
	row_members(w, row);
	th_jw_kstr(w, "user", row->user);
	th_jw_kraw(w, "metadata", row->metadata.len ? row->metadata : TH_STR("{}"));
	th_jw_kuint(w, "head_seq", row->head_seq);
	th_digest_hex(&row->head, head);
	th_jw_kstr(w, "head", th_str_of(head));
	if (row->parent.len)
		th_jw_kuint(w, "parent_seq", row->parent_seq);
	th_jw_kint(w, "tokens_cached", row->tokens_cached);
	th_jw_kint(w, "cost_nano", row->cost_nano);
	th_jw_object_end(w);
}

static enum th_code page_row(void *ctx, const struct th_session_row *row, struct th_err *err)
{
	struct th_api_page *p = ctx;

	if (p->count == p->limit) {
		p->more = true;
		return TH_OK;
	}
	p->count++;
	th_buf_clear(&p->cursor);
	th_cursor_print(p->filter.order, row, &p->cursor);
	th_api_row_print(row, &p->w);
	return th_buf_check(p->w.out, "the page of sessions", err);
}

static enum th_code page_limit(struct th_str value, struct th_api_page *p, struct th_err *err)
{
	int64_t limit;

	if (!th_str_i64(value, &limit) || limit < 1 || limit > TH_PAGE_SESSIONS_MAX)
		return th_fail(err, TH_EUSAGE, "limit is 1 to %d", TH_PAGE_SESSIONS_MAX);
	p->limit = (size_t)limit;
	return TH_OK;
}

static enum th_code page_order(struct th_str value, struct th_api_page *p, struct th_err *err)
{
	if (!th_str_is(value, "updated") && !th_str_is(value, "created"))
		return th_fail(err, TH_EUSAGE, "order is updated or created");
	p->filter.order = th_str_is(value, "created") ? TH_LIST_CREATED : TH_LIST_UPDATED;
	p->ordered = true;
	return TH_OK;
}

static enum th_code page_state(struct th_str value, struct th_api_page *p, struct th_err *err)
{
	if (th_state_find(value) < 0)
		return th_fail(err, TH_EUSAGE, "there is no state \"%.*s\"",
			       TH_FMT(th_utf8_cut(value, 64)));
	p->filter.state = value;
	return TH_OK;
}

static enum th_code page_user(struct th_str value, struct th_api_page *p, struct th_err *err)
{
	(void)err;
	p->filter.user = value;
	return TH_OK;
}

static enum th_code page_agent(struct th_str value, struct th_api_page *p, struct th_err *err)
{
	(void)err;
	p->filter.agent = value;
	return TH_OK;
}

static enum th_code page_prefix(struct th_str value, struct th_api_page *p, struct th_err *err)
{
	(void)err;
	p->filter.prefix = value;
	return TH_OK;
}

static enum th_code page_title(struct th_str value, struct th_api_page *p, struct th_err *err)
{
	(void)err;
	p->filter.title = value;
	return TH_OK;
}

static enum th_code page_metadata(struct th_str value, struct th_api_page *p, struct th_err *err)
{
	ptrdiff_t equals = th_str_find_char(value, '=');

	if (equals < 1)
		return th_fail(err, TH_EUSAGE, "metadata is KEY=VALUE");
	p->filter.key = th_str_sub(value, 0, (size_t)equals);
	p->filter.value = th_str_sub(value, (size_t)equals + 1, value.len);
	return TH_OK;
}

static enum th_code page_after(struct th_str value, struct th_api_page *p, struct th_err *err)
{
	struct th_session_filter f = { 0 };
	enum th_code code = th_cursor_parse(value, &f, err);

	p->goes_on = true;
	p->filter.after = f.after;
	p->cursor_order = f.order;
	return code;
}

static enum th_code page_text(struct th_str value, struct th_api_page *p, struct th_err *err)
{
	(void)err;
	p->filter.text = value;
	return TH_OK;
}

static const struct {
	const char *name;
	enum th_code (*read)(struct th_str value, struct th_api_page *p, struct th_err *err);
} page_options[] = {
	{ "state", page_state },       { "user", page_user },   { "agent", page_agent },
	{ "prefix", page_prefix },     { "title", page_title }, { "text", page_text },
	{ "metadata", page_metadata }, { "order", page_order }, { "limit", page_limit },
	{ "after", page_after },
};

/* One option. */
static enum th_code option_read(const char *name, const char *value, struct th_api_page *p,
				struct th_err *err)
{
	for (size_t i = 0; i < TH_COUNT(page_options); i++)
		if (strcmp(name, page_options[i].name) == 0)
			return page_options[i].read(th_str_of(value), p, err);
	return th_fail(err, TH_EUSAGE, "there is no option \"%.64s\" of a page", name);
}

static int page_read(const char *const *options, struct th_api_page *p, struct thole_error *err)
{
	struct th_err e = { 0 };
	int code = TH_OK;

	for (; !code && options && *options; options += 2) {
		code = th_api_text(*options, "an option's name", 1, TH_PATH_LEN_MAX, err);
		if (!code)
			code = th_api_text(options[1], *options, 1, TH_PATH_LEN_MAX, err);
		if (!code)
			code = th_api_out(option_read(*options, options[1], p, &e), &e, err);
	}
	if (code || !p->goes_on)
		return code;
	if (p->ordered && p->filter.order != p->cursor_order)
		return th_api_fail(err, TH_EUSAGE, "the cursor is of a list in another order");
	p->filter.order = p->cursor_order;
	return TH_OK;
}

struct th_api_page *th_api_page_free(struct th_api_page *p)
{
	if (!p)
		return NULL;
	th_buf_deinit(&p->cursor);
	th_arena_deinit(&p->memory);
	free(p);
	return NULL;
}

/* Its own copy: who asks may be gone when it is read. */
static const char *const *options_copy(struct th_api_page *p, const char *const *options)
{
	size_t count = 0;
	const char **copy;

	while (options && options[count])
		count++;
	copy = (const char **)th_arena_alloc(&p->memory, (count + 1) * sizeof(*copy));
	for (size_t i = 0; copy && i < count; i++)
		copy[i] = th_arena_cstr(&p->memory, th_str_of(options[i]));
	if (copy)
		copy[count] = NULL;
	return copy;
}

int th_api_page_new(const char *const *options, struct th_api_page **ret, struct thole_error *err)
{
	struct th_api_page *p = th_alloc(sizeof(*p));
	int code;

	p->limit = TH_PAGE_SESSIONS;
	th_arena_init(&p->memory, TH_JSON_SIZE_MAX);
	th_buf_init(&p->cursor, TH_KIB);
	code = page_read(options_copy(p, options), p, err);
	p->filter.limit = p->limit + 1; /* whether there are more */
	*ret = code ? th_api_page_free(p) : p;
	return code;
}

enum th_code th_api_page_print(struct th_api_page *p, struct th_store *store, struct th_buf *out,
			       struct th_err *err)
{
	enum th_code code;

	p->w = th_jw(out);
	p->count = 0;
	p->more = false;
	th_jw_object(&p->w);
	th_jw_key(&p->w, TH_STR("sessions"));
	th_jw_array(&p->w);
	code = store->kind->list(store, &p->filter, page_row, p, err);
	th_jw_array_end(&p->w);
	if (p->more)
		th_jw_kstr(&p->w, "next", th_buf_str(&p->cursor));
	th_jw_object_end(&p->w);
	return code ? code : th_buf_check(out, "the page of sessions", err);
}

int thole_runtime_page(struct thole_runtime *rt, const char *const *options, char **ret,
		       struct thole_error *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_api_page *p = NULL;
	struct th_err e = { 0 };
	enum th_code bad;
	int code = th_api_enter(rt, err);

	if (!code && !ret)
		code = th_api_fail(err, TH_EUSAGE, "there is no place for the page: ret is NULL");
	if (!code)
		code = th_api_page_new(options, &p, err);
	if (code)
		return code;
	bad = th_api_page_print(p, th_runtime_store(rt->rt), &text, &e);
	th_api_page_free(p);
	if (!bad)
		*ret = th_api_copy(th_buf_str(&text));
	return th_api_out(bad, &e, err);
}

enum th_code th_api_session_print(struct th_store *store, const char *id, const char *user,
				  struct th_buf *out, struct th_err *err)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_jw w = th_jw(out);
	struct th_session_row row = { 0 };
	enum th_code code;

	th_arena_init(&a, TH_MIB);
	code = store->kind->get(store, th_str_of(id), &a, &row, err);
	if (code == TH_ENOENT || (!code && user && !th_user_is(th_str_of(user), row.user)))
		return th_fail(err, TH_ENOENT, "no session %s", id);
	if (code)
		return code;
	th_api_row_print(&row, &w);
	return th_buf_check(out, "the session", err);
}

int thole_runtime_session(struct thole_runtime *rt, const char *session_id, const char *user,
			  char **ret, struct thole_error *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_err e = { 0 };
	enum th_code bad;
	int code = th_api_enter(rt, err);

	if (!code && !ret)
		code =
		    th_api_fail(err, TH_EUSAGE, "there is no place for the session: ret is NULL");
	if (!code)
		code = th_api_text(session_id, "the session's name", 1, TH_SESSION_ID_MAX, err);
	if (!code && user)
		code = th_api_text(user, "the user", 1, TH_USER_MAX, err);
	if (code)
		return code;
	bad = th_api_session_print(th_runtime_store(rt->rt), session_id, user, &text, &e);
	if (!bad)
		*ret = th_api_copy(th_buf_str(&text));
	return th_api_out(bad, &e, err);
}

/* ---- the log of one ----------------------------------------------------------------------------
 */

struct reading {
	struct th_str id;
	thole_line_fn *fn;
	void *ctx;
	struct th_buf line;
	int result;
	bool found;
};

static enum th_code give_line(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			      struct th_err *err)
{
	struct reading *r = ctx;
	struct th_jw w = th_jw(&r->line);
	enum th_code code;

	(void)digest;
	r->found = true;
	th_buf_clear(&r->line);
	th_event_print(r->id, ev, &w);
	code = th_buf_check(&r->line, "an event", err);
	if (!code)
		r->result = r->fn(r->ctx, r->line.ptr, r->line.len);
	return r->result ? TH_ECANCELED : code;
}

int thole_runtime_log(struct thole_runtime *rt, const char *session_id, uint64_t from,
		      thole_line_fn *fn, void *ctx, struct thole_error *err)
{
	struct reading r = { .id = th_str_of(session_id), .fn = fn, .ctx = ctx };
	struct th_store *store;
	struct th_err e = { 0 };
	enum th_code bad;
	int code = th_api_enter_reading(rt, session_id, fn, err);

	if (code)
		return code;
	th_buf_init(&r.line, 2 * TH_EVENT_DATA_MAX);
	store = th_runtime_store(rt->rt);
	bad = store->kind->read(store, r.id, from ? from : 1, 0, give_line, &r, &e);
	th_buf_deinit(&r.line);
	return r.result ? r.result : th_api_out(bad, &e, err);
}
