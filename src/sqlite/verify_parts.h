/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify_parts.h - one verification, shared by verify*.c; nobody else includes
 * this.  What is wrong goes into the report; a code says that it could not be
 * looked at.
 */
#ifndef TH_SQLITE_VERIFY_PARTS_H
#define TH_SQLITE_VERIFY_PARTS_H

#include "sqlite/sqlite.h"

/* How far the scan has come in one session. */
struct th_checked {
	struct th_str id, parent;
	uint64_t number, parent_seq, head_seq, last_place;
	struct th_digest head;

	uint64_t seq; /* last seen, or parent_seq */
	struct th_digest digest;
	bool begun;             /* its prefix is known: events may come */
	uint64_t run, run_prev; /* where its last append begins, and the one before that */
	uint64_t place;         /* of the last event */
	size_t child, sibling;  /* forks of it: index + 1 into the list */
};

struct th_check {
	struct th_db *db;
	struct th_verify_report *report;
	struct th_arena arena;
	struct th_checked *list;
	size_t count, cap;
	size_t *slots; /* hash table: index + 1 */
	size_t slot_count;
	struct th_removed *removed; /* what of removed sessions is still there */
	size_t removed_count;
	struct th_err *err;
};

/* verify_log.c: sessions and their events. */
TH_NODISCARD enum th_code th_check_sessions(struct th_check *v);
TH_NODISCARD enum th_code th_check_index(struct th_check *v); /* by id, when all are there */
void th_check_forks(struct th_check *v);
TH_NODISCARD enum th_code th_check_events(struct th_check *v);
void th_check_heads(struct th_check *v);
void th_check_blame(struct th_check *v, struct th_str id, const char *what);
/* SQLite itself found the file wrong while it read a table, or it could not be read. */
TH_NODISCARD enum th_code th_check_stopped(struct th_check *v, int status, const char *table,
					   const char *after);

/* verify_tables.c: all that is beside them in the file. */
TH_NODISCARD enum th_code th_check_removed(struct th_check *v); /* before the events */
TH_NODISCARD enum th_code th_check_blobs(struct th_check *v);
TH_NODISCARD enum th_code th_check_small(struct th_check *v);
TH_NODISCARD enum th_code th_check_file(struct th_check *v);

#endif
