/* SPDX-License-Identifier: Apache-2.0 */
/*
 * append.h - one transaction of appends while it is made, shared by
 * append.c (what becomes of each), entries.c (their sessions),
 * fork.c (forks) and columns.c (what is sent).
 */
#ifndef TH_POSTGRES_APPEND_H
#define TH_POSTGRES_APPEND_H

#include "postgres/postgres.h"
#include "store/usage.h"

/* A session of this transaction, as it is after the appends so far. */
struct th_pg_entry {
	struct th_str id;
	uint64_t number; /* 0: it is not there */
	bool created, changed;
	uint64_t seq_before; /* as it is in the database */
	uint64_t rest;       /* th_session_row_rest of what is there */
	bool damaged;
	struct th_session_row row; /* strings of the result, or of an append */
	struct th_str task;        /* to be written; empty: none */
};

#define TH_PG_SESSION_ARRAYS 25
#define TH_PG_EVENT_ARRAYS 12

/* The parameters of its statements, column by column. */
struct th_pg_columns {
	struct th_pq_array sessions[TH_PG_SESSION_ARRAYS], events[TH_PG_EVENT_ARRAYS];
	struct th_pq_array ids, tasks[3], names[2], hashes, usage[15];
};

struct th_pg_appending {
	struct th_postgres *s;
	struct th_pq *c;
	struct th_pg_columns *columns;
	struct th_arena memory;
	struct th_pg_entry *entries;
	size_t count, cap, slot_count;
	uint32_t *slots;
	size_t creates, blobs;
	PGresult *rows;    /* the entries' */
	PGresult *numbers; /* for new sessions */
	int next_number;
	PGresult *parents[TH_FORK_DEPTH_MAX + 2];
	size_t parent_count;
	struct th_usage_sums usage;
	struct th_batch *list;
	struct th_err *err;
};

/* entries.c */
void th_pg_entry_add(struct th_pg_appending *w, struct th_str id); /* there is room */
struct th_pg_entry *th_pg_entry_find(const struct th_pg_appending *w, struct th_str id);

/* fork.c */
/* May the session begin with this?  In *ret_result. */
TH_NODISCARD enum th_code th_pg_fork_check(struct th_pg_appending *w, const struct th_append *a,
					   enum th_code *ret_result);

/* reserve.c: of sessions that run after it, queues what takes their reservations away. */
TH_NODISCARD enum th_code th_pg_reserved_end(struct th_pg_appending *w);

/* columns.c: adds to what is queued on the connection. */
void th_pg_columns_reset(struct th_pg_columns *c);
/* Blobs, before anything else. */
TH_NODISCARD enum th_code th_pg_write_blobs(struct th_pg_appending *w);
/* An event of an append; sent with the others, or when they are many. */
TH_NODISCARD enum th_code th_pg_event_add(struct th_pg_appending *w, const struct th_append *a,
					  size_t index, uint64_t number);
/* Events and rows of all entries, when all appends were looked at. */
TH_NODISCARD enum th_code th_pg_write_rows(struct th_pg_appending *w);

#endif
