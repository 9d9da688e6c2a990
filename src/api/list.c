/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.c - what the store has: the list of sessions, and the log of one.
 */
#include "api/api.h"
#include "core/session.h"

static enum th_code add_row(void *ctx, const struct th_session_row *row, struct th_err *err)
{
	struct th_jw *w = ctx;

	th_jw_object(w);
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
