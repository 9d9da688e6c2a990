/* SPDX-License-Identifier: Apache-2.0 */
/* pq_run.c - statements, many at a time. */
#include <stdatomic.h>
#include <stdio.h>

#include "base/limits.h"
#include "base/text.h"
#include "io/clock.h"
#include "postgres/pq_internal.h"

#define SENTENCE_MAX 300

static enum th_code code_of(const char *state)
{
	static const struct {
		const char *begin;
		enum th_code code;
	} rows[] = {
		{ "08", TH_ECONN },      /* connections */
		{ "57P", TH_ECONN },     /* the server is ending, or has not begun */
		{ "25006", TH_ECONN },   /* a standby: another server may be asked */
		{ "25P03", TH_ECONN },   /* we were silent within a transaction, and were cut off */
		{ "53100", TH_ELIMIT },  /* its disk is full */
		{ "53200", TH_ENOMEM },  /* it has no memory */
		{ "53", TH_ECONN },      /* too many connections */
		{ "54", TH_ELIMIT },     /* a limit of the program */
		{ "40", TH_EBUSY },      /* two transactions in each other's way */
		{ "55P03", TH_EBUSY },   /* a lock was not to be had in time */
		{ "57014", TH_EBUSY },   /* statement_timeout */
		{ "22012", TH_EFENCED }, /* th_postgres_begin asks so */
		{ "42501", TH_EPERM },    { "28", TH_EPERM },
		{ "XX001", TH_ECORRUPT }, { "XX002", TH_ECORRUPT },
	};

	for (size_t i = 0; i < TH_COUNT(rows); i++)
		if (th_str_starts(th_str_of(state), th_str_of(rows[i].begin)))
			return rows[i].code;
	return TH_EIO;
}

static enum th_code fail_result(struct th_pq *c, const PGresult *r, struct th_err *err)
{
	const char *state = th_libpq.PQresultErrorField(r, PG_DIAG_SQLSTATE);
	const char *text = th_libpq.PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
	struct th_buf line TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_ERR_MSG_MAX);

	if (!state)
		return th_pq_fail_conn(c, err);
	line.may_fail = true;
	th_text_line(&line, th_str_of(text ? text : "an error without a sentence"), SENTENCE_MAX);
	snprintf(c->state, sizeof(c->state), "%s", state);
	return th_fail(err, code_of(state), "%s: %s (%s)", c->shown, line.ptr, c->state);
}

bool th_pq_try_again(const struct th_pq *c)
{
	return th_str_starts(th_str_of(c->state), TH_STR("40")) ||
	       strcmp(c->state, "23505") == 0 || /* two made the same row */
	       strcmp(c->state, "2201F") == 0;   /* a row was not what we guessed */
}

enum th_code th_pq_add(struct th_pq *c, const char *sql, const struct th_pq_args *args,
		       struct th_err *err)
{
	static const int binary[TH_PQ_ARGS_MAX] = {
		1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
		1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1
	};

	if (!c->conn)
		return th_fail(err, TH_ECONN, "%s: the connection was cut", c->shown);
	assert(c->queued < TH_PQ_QUEUE_MAX);
	if (args && args->bad)
		return th_fail_memory(err);
	if (!th_libpq.PQsendQueryParams(c->conn, sql, args ? (int)args->count : 0,
					args ? args->types : NULL, args ? args->values : NULL,
					args ? args->lengths : NULL, binary, 1))
		return th_pq_fail_conn(c, err);
	c->queued++;
	return TH_OK;
}

/*
 * Sends what waits, and reads until there is a result, or the NULL behind one.  The server may take
 * `wait_ms` until it takes or gives something more: what is large takes as long as it takes.
 * libpq moves all that is not sent yet with each piece that is, also when it only looks for
 * input: so that is done only where there is some.
 */
static enum th_code next(struct th_pq *c, PGresult **ret, struct th_err *err)
{
	int left = th_libpq.PQflush(c->conn);

	while (left >= 0 && th_libpq.PQisBusy(c->conn)) {
		bool reads = false;
		enum th_code code =
		    th_pq_wait(c, left > 0, &reads, th_clock_ms() + c->wait_ms, err);

		if (code != TH_OK)
			return code;
		if (reads && !th_libpq.PQconsumeInput(c->conn))
			return th_pq_fail_conn(c, err);
		if (left > 0)
			left = th_libpq.PQflush(c->conn);
	}
	if (left < 0)
		return th_pq_fail_conn(c, err);
	*ret = th_libpq.PQgetResult(c->conn);
	return TH_OK;
}

/* Of one statement.  A failure of it is in *first, if it is the first. */
static enum th_code take(struct th_pq *c, PGresult **ret, enum th_code *first, struct th_err *err)
{
	PGresult *r = NULL, *end = NULL;
	enum th_code code = next(c, &r, err);

	if (code != TH_OK)
		return code;
	if (!r)
		return th_pq_fail_conn(c, err);
	switch (th_libpq.PQresultStatus(r)) {
	case PGRES_COMMAND_OK:
	case PGRES_TUPLES_OK:
		break;
	case PGRES_PIPELINE_ABORTED:
		break; /* one before it failed */
	case PGRES_FATAL_ERROR:
	case PGRES_BAD_RESPONSE:
	case PGRES_NONFATAL_ERROR:
	case PGRES_EMPTY_QUERY:
	case PGRES_COPY_OUT:
	case PGRES_COPY_IN:
	case PGRES_COPY_BOTH:
	case PGRES_SINGLE_TUPLE:
	case PGRES_PIPELINE_SYNC:
	default:
		code = fail_result(c, r, *first == TH_OK ? err : NULL);
		if (*first == TH_OK)
			*first = code;
		code = c->conn ? TH_OK : TH_ECONN;
		break;
	}
	if (code == TH_OK)
		code = next(c, &end, *first == TH_OK ? err : NULL);
	if (code == TH_OK && end) {
		th_pq_clear(end);
		th_pq_clear(r);
		return th_pq_fail_conn(c, err);
	}
	if (code != TH_OK)
		r = th_pq_clear(r);
	*ret = r;
	return code;
}

static enum th_code take_all(struct th_pq *c, size_t count, PGresult **results, enum th_code *first,
			     struct th_err *err)
{
	PGresult *r = NULL;
	enum th_code code = TH_OK;

	for (size_t i = 0; i < count && code == TH_OK; i++) {
		code = take(c, &r, first, err);
		if (results)
			results[i] = r;
		else
			th_pq_clear(r);
		r = NULL;
	}
	if (code == TH_OK)
		code = next(c, &r, err);
	if (code == TH_OK && (!r || th_libpq.PQresultStatus(r) != PGRES_PIPELINE_SYNC))
		code = th_pq_fail_conn(c, err);
	th_pq_clear(r);
	return code;
}

static _Atomic uint64_t slow_count;

uint64_t th_pq_slow(void)
{
	return atomic_load(&slow_count);
}

enum th_code th_pq_go(struct th_pq *c, PGresult **results, struct th_err *err)
{
	enum th_code code = TH_OK, first = TH_OK;
	size_t count = c->queued;
	uint64_t began_ms;

	if (results)
		memset(results, 0, count * sizeof(*results));
	c->state[0] = '\0';
	c->warned = false;
	c->queued = 0;
	if (!c->conn)
		return th_fail(err, TH_ECONN, "%s: the connection was cut", c->shown);
	if (!th_libpq.PQpipelineSync(c->conn))
		return th_pq_fail_conn(c, err);
	began_ms = th_clock_ms();
	code = take_all(c, count, results, &first, err);
	if (th_clock_ms() - began_ms > TH_STORE_SLOW_MS)
		atomic_fetch_add(&slow_count, 1);
	if (code == TH_OK)
		code = first;
	/* A server that ends says so, and is gone. */
	if (code == TH_ECONN)
		th_pq_close(c);
	for (size_t i = 0; i < count && results && code != TH_OK; i++)
		results[i] = th_pq_clear(results[i]);
	return code;
}

enum th_code th_pq_run(struct th_pq *c, const char *sql, const struct th_pq_args *args,
		       PGresult **ret, struct th_err *err)
{
	PGresult *results[8] = { NULL };
	size_t before;
	enum th_code code = TH_OK;

	if (c->queued >= TH_COUNT(results))
		code = th_pq_go(c, NULL, err);
	before = c->queued;
	if (code == TH_OK)
		code = th_pq_add(c, sql, args, err);
	if (code == TH_OK)
		code = th_pq_go(c, results, err);
	for (size_t i = 0; i < before; i++)
		th_pq_clear(results[i]);
	if (ret)
		*ret = results[before];
	else
		th_pq_clear(results[before]);
	return code;
}

void th_pq_rollback(struct th_pq *c)
{
	char state[sizeof(c->state)];

	if (!c->conn)
		return;
	/* Half of what was to be sent. */
	if (c->queued > 0 && th_pq_go(c, NULL, NULL) == TH_ECONN)
		return;
	memcpy(state, c->state, sizeof(state));
	if (th_libpq.PQtransactionStatus(c->conn) != PQTRANS_IDLE &&
	    th_pq_run(c, "ROLLBACK", NULL, NULL, NULL) != TH_OK)
		th_pq_close(c);
	memcpy(c->state, state, sizeof(state));
}
