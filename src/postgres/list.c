/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.c - lists of sessions, and what was used.
 *
 * The database sorts, and leaves out most of what is not asked for; what a row
 * must have is decided by th_filter_takes, as in every other store.
 */
#include <stdio.h>

#include "postgres/postgres.h"
#include "store/usage.h"

#define PIECE "32" /* rows; one may be as large as its metadata */

/* ---- sessions ---- */

/* A condition of the list, with its parameter. */
static void where(struct th_buf *sql, struct th_pq_args *args, struct th_str value,
		  const char *before, const char *behind)
{
	if (value.len == 0)
		return;
	th_pq_arg_text(args, value);
	th_buf_printf(sql, " AND %s$%zu%s", before, args->count, behind);
}

/* Rows that may be in it; those that say more than their columns may be too many. */
static void list_sql(const struct th_session_filter *f, size_t depth, struct th_buf *sql,
		     struct th_pq_args *args)
{
	bool created = f->order == TH_LIST_CREATED;
	const char *time = created ? "s.created_ms" : "s.updated_ms";
	bool local = th_str_is(f->user, TH_USER_LOCAL);

	th_buf_printf(sql,
		      "DECLARE list_%zu NO SCROLL CURSOR FOR SELECT " TH_PG_SESSION_COLUMNS
		      ", t.main_goal FROM thole.sessions s LEFT JOIN thole.tasks t USING (number)"
		      " WHERE true",
		      depth);
	if (f->after.id.len > 0) {
		th_pq_arg_i64(args, f->after.ms);
		th_pq_arg_text(args, f->after.id);
		th_buf_printf(sql, " AND %s <= $1 AND (%s < $1 OR s.session_id > $2)", time, time);
		if (!created) /* by the index */
			th_buf_add_cstr(sql, " AND s.updated_min <= $1 / 60000");
	}
	where(sql, args, f->state, "s.agent_state = ", "");
	if (local)
		th_buf_add_cstr(sql, " AND s.user_id IN ('', '" TH_USER_LOCAL "')");
	else
		where(sql, args, f->user, "s.user_id = ", "");
	where(sql, args, f->agent, "s.agent_type = ", "");
	where(sql, args, f->prefix, "starts_with(s.session_id, ", ")");
	/* Text that is kept in another form may have it, too. */
	where(sql, args, f->title, "(strpos(lower(s.title), lower(",
	      ")) > 0 OR s.title ^@ U&'\\+10FFFF')");
	if (f->text.len > 0) {
		where(sql, args, f->text, "(strpos(lower(s.title), lower(", ")) > 0");
		th_buf_printf(sql,
			      " OR strpos(lower(t.main_goal), lower($%zu)) > 0"
			      " OR s.title ^@ U&'\\+10FFFF' OR t.main_goal ^@ U&'\\+10FFFF')",
			      args->count);
	}
	th_buf_printf(sql, " ORDER BY %s%s DESC, s.session_id",
		      created ? "" : "s.updated_min DESC, ", time);
}

struct listing {
	struct th_postgres *s;
	const struct th_session_filter *filter;
	th_session_fn *fn;
	void *ctx;
	size_t given;
	struct th_err *err;
};

static enum th_code row_give(struct listing *l, PGresult *r, int i)
{
	struct th_session_row row;
	struct th_str task = { 0 };
	uint64_t number = 0;
	const char *bad = th_pg_row(r, i, &number, &row);
	bool ask;

	if (bad)
		return th_pg_fail_row(l->s, row.session_id, bad, l->err);
	if (!th_pq_text(r, i, TH_PG_SESSION_COLUMN_COUNT, &task))
		task = TH_STR("");
	if (!th_filter_takes(l->filter, &row, &task, &ask))
		return TH_OK;
	l->given++;
	return l->fn(l->ctx, &row, l->err);
}

static bool list_full(const struct listing *l)
{
	return l->filter->limit > 0 && l->given >= l->filter->limit;
}

static enum th_code list_rows(struct listing *l, size_t depth)
{
	char fetch[64];
	enum th_code code = TH_OK;

	snprintf(fetch, sizeof(fetch), "FETCH " PIECE " FROM list_%zu", depth);
	for (bool more = true; more && code == TH_OK && !list_full(l);) {
		PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;

		code = th_pq_run(&l->s->reader, fetch, NULL, &r, l->err);
		more = th_pq_rows(r) > 0;
		for (int i = 0; i < th_pq_rows(r) && code == TH_OK && !list_full(l); i++)
			code = row_give(l, r, i);
	}
	return code;
}

enum th_code th_postgres_list(struct th_store *store, const struct th_session_filter *filter,
			      th_session_fn *fn, void *ctx, struct th_err *err)
{
	struct th_postgres *s = th_postgres_of(store);
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	struct th_buf sql TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_err local;
	struct listing l = { s, filter, fn, ctx, 0, err ?: &local };
	char end[48];
	enum th_code code = th_postgres_read_begin(s, err);

	if (code != TH_OK)
		return code;
	sql.may_fail = true;
	list_sql(filter, s->reading, &sql, &args);
	code = th_buf_check(&sql, "a list", l.err);
	if (code == TH_OK)
		code = th_pq_run(&s->reader, sql.ptr, &args, NULL, l.err);
	if (code == TH_OK)
		code = list_rows(&l, s->reading);
	/* In a read around it the name is wanted again. */
	snprintf(end, sizeof(end), "CLOSE list_%zu", s->reading);
	if (s->reading > 1 && code == TH_OK)
		code = th_pq_run(&s->reader, end, NULL, NULL, l.err);
	th_postgres_read_end(s);
	return code;
}

/* ---- what was used ---- */

static enum th_code line_take(const struct th_usage_filter *f, PGresult *r, int i,
			      struct th_usage_sums *sums, struct th_err *err)
{
	struct th_usage_row row = { 0 }, group;
	int64_t *const numbers[] = { &row.sessions,      &row.turns,
				     &row.calls,         &row.tokens_in,
				     &row.tokens_cached, &row.tokens_out,
				     &row.cost_nano,     &row.used.tokens_written,
				     &row.used.model_ms, &row.used.tools_ms,
				     &row.used.person_ms };
	bool good = th_pq_text(r, i, 0, &row.user) && th_pq_i64(r, i, 1, &row.day) &&
		    th_pq_text(r, i, 2, &row.agent) && th_pq_text(r, i, 3, &row.model);

	for (size_t k = 0; k < TH_COUNT(numbers) && good; k++)
		good = th_pq_i64(r, i, 4 + (int)k, numbers[k]);
	if (!good)
		return th_fail(err, TH_ECORRUPT, "the table thole.usage is damaged");
	if (!th_usage_takes(f, &row))
		return TH_OK;
	group = th_usage_group(f->by, &row);
	return th_usage_sums_add(sums, &group, err);
}

/* clang-format off */
#define SUM(column) ", least(sum(" column "), 9223372036854775807)::bigint"
static const char usage_sql[] =
	"SELECT user_id, day, agent_type, model" SUM("sessions") SUM("turns") SUM("calls")
	SUM("tokens_in") SUM("tokens_cached") SUM("tokens_out") SUM("cost_nano")
	SUM("tokens_written") SUM("model_ms") SUM("tools_ms") SUM("person_ms")
	" FROM thole.usage WHERE day BETWEEN $1 AND $2 GROUP BY 1, 2, 3, 4";
/* clang-format on */

enum th_code th_postgres_usage(struct th_store *store, const struct th_usage_filter *filter,
			       th_usage_fn *fn, void *ctx, struct th_err *err)
{
	struct th_postgres *s = th_postgres_of(store);
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	struct th_usage_sums sums;
	PGresult *r = NULL;
	enum th_code code = th_postgres_read_begin(s, err);

	if (code != TH_OK)
		return code;
	th_usage_sums_init(&sums);
	th_pq_arg_i64(&args, filter->from_day ? filter->from_day : INT64_MIN);
	th_pq_arg_i64(&args, filter->to_day ? filter->to_day : INT64_MAX);
	code = th_pq_run(&s->reader, usage_sql, &args, &r, err);
	for (int i = 0; i < th_pq_rows(r) && code == TH_OK; i++)
		code = line_take(filter, r, i, &sums, err);
	th_pq_clear(r);
	th_postgres_read_end(s);
	if (code == TH_OK)
		code = th_usage_give(&sums, fn, ctx, err);
	th_usage_sums_deinit(&sums);
	return code;
}
