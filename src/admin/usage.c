/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/usage.h"

#include "base/moment.h"
#include "base/text.h"

#define DAY_MS INT64_C(86400000)
#define BY_SESSION 4

static const char *const by_names[] = {
	[TH_USAGE_BY_DAY] = "day",     [TH_USAGE_BY_USER] = "user", [TH_USAGE_BY_AGENT] = "agent",
	[TH_USAGE_BY_MODEL] = "model", [BY_SESSION] = "session",    NULL,
};

const char *th_usage_by_name(const struct th_usage_ask *ask)
{
	return by_names[ask->by_session ? BY_SESSION : (int)ask->filter.by];
}

static void day_print(int64_t days, struct th_buf *out)
{
	int64_t year, month, day;

	th_moment_date(days, &year, &month, &day);
	th_buf_printf(out, "%04lld-%02lld-%02lld", (long long)year, (long long)month,
		      (long long)day);
}

/* ---- what is asked ---- */

static enum th_code read_day(struct th_str value, int64_t *ret, const char *name,
			     struct th_err *err)
{
	/* The first of 1970 is the filter's "any", and nothing was used then. */
	if (th_moment_day(value, ret) && *ret > 0)
		return TH_OK;
	return th_fail(err, TH_EUSAGE, "%s is a day, such as 2026-01-31 (UTC), not \"%.*s\"", name,
		       TH_FMT(th_utf8_cut(value, 40)));
}

static enum th_code read_by(struct th_str value, struct th_usage_ask *ask, struct th_err *err)
{
	int by = th_names_find(by_names, value);

	if (by < 0)
		return th_fail(err, TH_EUSAGE,
			       "by is day, user, agent, model or session, not \"%.*s\"",
			       TH_FMT(th_utf8_cut(value, 40)));
	ask->by_session = by == BY_SESSION;
	if (!ask->by_session)
		ask->filter.by = (enum th_usage_by)by;
	return TH_OK;
}

static enum th_code read_limit(struct th_str value, struct th_usage_ask *ask, struct th_err *err)
{
	int64_t limit;

	if (!th_str_i64(value, &limit) || limit < 1 || limit > TH_PAGE_SESSIONS_MAX)
		return th_fail(err, TH_EUSAGE, "limit is 1 to %d", TH_PAGE_SESSIONS_MAX);
	ask->limit = (size_t)limit;
	return TH_OK;
}

static enum th_code read_after(struct th_str value, struct th_usage_ask *ask, struct th_err *err)
{
	struct th_session_filter f = { 0 };
	enum th_code code = th_cursor_parse(value, &f, err);

	if (!code && f.order != TH_LIST_UPDATED)
		code = th_fail(err, TH_EUSAGE, "the cursor is of another list");
	ask->after = f.after;
	return code;
}

enum th_code th_usage_option(const char *name, struct th_str value, struct th_usage_ask *ask,
			     struct th_err *err)
{
	if (strcmp(name, "by") == 0)
		return read_by(value, ask, err);
	if (strcmp(name, "from") == 0)
		return read_day(value, &ask->filter.from_day, name, err);
	if (strcmp(name, "to") == 0)
		return read_day(value, &ask->filter.to_day, name, err);
	if (strcmp(name, "limit") == 0)
		return read_limit(value, ask, err);
	if (strcmp(name, "after") == 0)
		return read_after(value, ask, err);
	if (strcmp(name, "user") != 0)
		return th_fail(err, TH_EUSAGE, "there is no option \"%.64s\" of usage", name);
	ask->filter.user = value;
	return TH_OK;
}

/* ---- the answer ---- */

struct report {
	const struct th_usage_ask *ask;
	th_usage_line_fn *fn;
	void *ctx;
	struct th_buf *next;
	size_t count, limit;
	int64_t from_ms;
	bool over; /* what comes is older than what is asked for */
};

static enum th_code give_sum(void *ctx, const struct th_usage_row *row, struct th_err *err)
{
	struct th_buf day TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	const struct report *r = ctx;
	struct th_usage_line line = { .counts = *row };

	switch (r->ask->filter.by) {
	case TH_USAGE_BY_DAY:
		day_print(TH_MAX(row->day, INT64_C(0)), &day);
		line.key = th_buf_str(&day);
		break;
	case TH_USAGE_BY_USER:
		line.key = row->user;
		break;
	case TH_USAGE_BY_AGENT:
		line.key = row->agent;
		break;
	case TH_USAGE_BY_MODEL:
		line.key = row->model;
		break;
	}
	return r->fn(r->ctx, &line, err);
}

static enum th_code give_session(void *ctx, const struct th_session_row *row, struct th_err *err)
{
	struct report *r = ctx;
	struct th_usage_line line = {
		.counts = { .sessions = 1,
			    .turns = row->iteration,
			    .calls = row->calls,
			    .tokens_in = row->tokens_in,
			    .tokens_cached = row->tokens_cached,
			    .tokens_out = row->tokens_out,
			    .cost_nano = row->cost_nano },
		.key = row->session_id,
		.session = row,
	};

	if (row->updated_ms < r->from_ms) {
		r->over = true;
		return TH_ECANCELED;
	}
	if (th_delegated_by(row->metadata).len) /* counted with the one that it works for */
		return TH_OK;
	if (r->count == r->limit) {
		r->over = true;
		return TH_ECANCELED;
	}
	r->count++;
	if (r->next) {
		th_buf_clear(r->next);
		th_cursor_print(TH_LIST_UPDATED, row, r->next);
	}
	return r->fn(r->ctx, &line, err);
}

static enum th_code report_sessions(struct th_store *store, struct report *r, struct th_err *err)
{
	const struct th_usage_filter *f = &r->ask->filter;
	struct th_session_filter rows = { .user = f->user, .after = r->ask->after };
	enum th_code code;
	bool full;

	r->limit = r->ask->limit ? r->ask->limit : TH_PAGE_SESSIONS;
	r->from_ms = f->from_day ? f->from_day * DAY_MS : INT64_MIN;
	/* Behind all that the day after has: no id is greater. */
	if (rows.after.id.len == 0 && f->to_day)
		rows.after = (struct th_session_cursor){ (f->to_day + 1) * DAY_MS, TH_STR("\xff") };
	code = store->kind->list(store, &rows, give_session, r, err);
	full = r->over && r->count == r->limit;
	if (r->next && !full)
		th_buf_clear(r->next);
	return code == TH_ECANCELED && r->over ? TH_OK : code;
}

enum th_code th_usage_report(struct th_store *store, const struct th_usage_ask *ask,
			     th_usage_line_fn *fn, void *ctx, struct th_buf *next,
			     struct th_err *err)
{
	struct report r = { .ask = ask, .fn = fn, .ctx = ctx, .next = next };

	return ask->by_session ? report_sessions(store, &r, err)
			       : store->kind->usage(store, &ask->filter, give_sum, &r, err);
}

void th_usage_line_print(const struct th_usage_ask *ask, const struct th_usage_line *line,
			 struct th_jw *w)
{
	const struct th_usage_row *c = &line->counts;
	const struct th_session_row *s = line->session;

	if (s) {
		th_jw_kstr(w, "session_id", s->session_id);
		th_jw_kstr(w, "user", s->user.len ? s->user : TH_STR(TH_USER_LOCAL));
		th_jw_kstr(w, "agent", s->agent);
		th_jw_kstr(w, "model", s->model);
		th_jw_kstr(w, "title", s->title);
		th_jw_kint(w, "created_ms", s->created_ms);
		th_jw_kint(w, "updated_ms", s->updated_ms);
	} else {
		th_jw_kstr(w, th_usage_by_name(ask), line->key);
		th_jw_kint(w, "sessions", c->sessions);
	}
	th_jw_kint(w, "turns", c->turns);
	th_jw_kint(w, "calls", c->calls);
	th_jw_kint(w, "tokens_in", c->tokens_in);
	th_jw_kint(w, "tokens_cached", c->tokens_cached);
	if (!s) /* a session's log has its own */
		th_jw_kint(w, "tokens_written", c->used.tokens_written);
	th_jw_kint(w, "tokens_out", c->tokens_out);
	th_jw_kreal(w, "cost_usd", (double)c->cost_nano / 1e9);
	if (s)
		return;
	th_jw_kint(w, "model_ms", c->used.model_ms);
	th_jw_kint(w, "tools_ms", c->used.tools_ms);
	th_jw_kint(w, "person_ms", c->used.person_ms);
}
