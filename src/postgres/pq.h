/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pq.h - one connection to a PostgreSQL server.
 *
 * libpq is opened on first use: the program starts, and other stores work,
 * where it is not installed.  A connection is always in pipeline mode: th_pq_add
 * queues statements, th_pq_go sends them in one piece and waits for all answers,
 * as long as the server takes or gives something from time to time.  Of a URL with several hosts
 * each is given its part of that time: one that is frozen takes connections and says nothing.  One
 * that can be written to is looked for first, and one of an older timeline than was seen is
 * refused.  All values go as parameters, in binary; all statements are unnamed, so that a pooler
 * may give every transaction another session.
 *
 * After TH_ECONN there is no connection any more.  One thread at a time.
 */
#ifndef TH_POSTGRES_PQ_H
#define TH_POSTGRES_PQ_H

#include <libpq-fe.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"

struct th_pq {
	PGconn *conn;      /* NULL: there is none */
	const char *url;   /* borrowed; may have a password in it */
	const char *shown; /* the same as people may see it */
	uint64_t wait_ms;  /* how long the server may be silent in one th_pq_go; to connect */
	int stop_fd;       /* readable: nothing is waited for any more; -1: none */
	bool write;        /* only a server that can be written to */
	size_t queued;     /* statements since the last th_pq_go */
	bool warned;       /* the server said of the last ones that not all is as it should be */
	char state[6];     /* SQLSTATE of the last failure, or "" */
	size_t host;       /* of the URL's hosts, the one to be asked first: counted on */
	/* Which server it is: another identifier is another database, another timeline the same
	 * one after a standby took over. */
	struct {
		uint64_t system;
		char timeline[9];
	} is;
};

#define TH_PQ_INIT            \
	{                     \
		.stop_fd = -1 \
	}

/* url: all of it, "postgres://…".  TH_EUNSUPPORTED: no libpq, or a server that will not do;
 * TH_ECONN: may be tried again. */
TH_NODISCARD enum th_code th_pq_connect(struct th_pq *c, struct th_err *err);
void th_pq_close(struct th_pq *c);
/* Its server is the primary of before a failover: one of a newer timeline was seen in this process.
 */
bool th_pq_is_old(const struct th_pq *c);
/* The URL without what is secret: "postgres://user@host:port/name". */
void th_pq_show(struct th_str url, struct th_buf *out);
/* Does the URL have a password in it? */
bool th_pq_has_password(struct th_str url);

/* ---- values ---- */

#define TH_PQ_ARGS_MAX 32

/* Of PostgreSQL's catalogue. */
enum th_pq_type {
	TH_PQ_BYTES = 17,
	TH_PQ_I64 = 20,
	TH_PQ_I32 = 23,
	TH_PQ_TEXT = 25,
	TH_PQ_BYTES_ARRAY = 1001,
	TH_PQ_I64_ARRAY = 1016,
	TH_PQ_TEXT_ARRAY = 1009,
	TH_PQ_UUID_ARRAY = 2951,
	TH_PQ_UUID = 2950,
};

/* Borrows what it is given until th_pq_go.  { 0 } at first. */
struct th_pq_args {
	size_t count;
	Oid types[TH_PQ_ARGS_MAX];
	const char *values[TH_PQ_ARGS_MAX];
	int lengths[TH_PQ_ARGS_MAX];
	uint64_t numbers[TH_PQ_ARGS_MAX];
	struct th_arena memory;
	bool bad; /* out of memory, or too large */
};
void th_pq_args_deinit(struct th_pq_args *a); /* for TH_CLEANUP */
/* PostgreSQL's text holds no NUL and no bad UTF-8: such a string goes as hexadecimal behind a mark,
 * and comes back as it was. */
void th_pq_arg_text(struct th_pq_args *a, struct th_str s);
void th_pq_arg_bytes(struct th_pq_args *a, const void *ptr, size_t len);
void th_pq_arg_i64(struct th_pq_args *a, int64_t v);

/* A column of values, in memory of the ledger path. */
struct th_pq_array {
	struct th_buf bytes;
	size_t count;
	enum th_pq_type of;
};
void th_pq_array_init(struct th_pq_array *l, enum th_pq_type of, size_t size_max);
void th_pq_array_deinit(struct th_pq_array *l);
void th_pq_array_clear(struct th_pq_array *l); /* keeps the memory */
void th_pq_array_text(struct th_pq_array *l, struct th_str s);
void th_pq_array_bytes(struct th_pq_array *l, const void *ptr, size_t len); /* uuids, too */
void th_pq_array_i64(struct th_pq_array *l, int64_t v);
void th_pq_arg_array(struct th_pq_args *a, struct th_pq_array *l);

/* Columns, in binary.  False: NULL, or another type than we wrote.  Strings live as long as the
 * result; each is read once. */
bool th_pq_text(PGresult *r, int row, int column, struct th_str *ret);
bool th_pq_bytes(PGresult *r, int row, int column, struct th_str *ret);
bool th_pq_fixed(PGresult *r, int row, int column, void *ret, size_t len);
bool th_pq_i64(PGresult *r, int row, int column, int64_t *ret);
bool th_pq_u64(PGresult *r, int row, int column, uint64_t *ret); /* not negative */
bool th_pq_bool(PGresult *r, int row, int column, bool *ret);
int th_pq_rows(const PGresult *r);
PGresult *th_pq_clear(PGresult *r); /* takes NULL, returns NULL */
void th_pq_clearp(PGresult **r);    /* for TH_CLEANUP */

/* ---- statements ---- */

#define TH_PQ_QUEUE_MAX 4096

/* args: NULL: none. */
TH_NODISCARD enum th_code th_pq_add(struct th_pq *c, const char *sql, const struct th_pq_args *args,
				    struct th_err *err);
/* Sends what is queued, and waits.  results: one of each statement, the caller's to clear, or NULL
 * where nobody looks at them; on failure there is none, and the error is the first one's. TH_ECONN:
 * what became of them is not known. */
TH_NODISCARD enum th_code th_pq_go(struct th_pq *c, PGresult **results, struct th_err *err);
/* One statement, behind what is queued. */
TH_NODISCARD enum th_code th_pq_run(struct th_pq *c, const char *sql, const struct th_pq_args *args,
				    PGresult **ret, struct th_err *err);
/* Ends a transaction that failed. */
void th_pq_rollback(struct th_pq *c);
/* What waits to be read is read, and nothing is waited for: was there a notification?  th_pq_socket
 * is readable when there may be one. */
TH_NODISCARD enum th_code th_pq_heard(struct th_pq *c, bool *ret, struct th_err *err);
int th_pq_socket(const struct th_pq *c);
/* Rounds of th_pq_go that took longer than TH_STORE_SLOW_MS, of all connections of this process. */
uint64_t th_pq_slow(void);
/* Did somebody else's transaction make this one fail, so that it can be tried again? */
bool th_pq_try_again(const struct th_pq *c);

#endif
