/* SPDX-License-Identifier: Apache-2.0 */
/* writing.h - a transaction under way: write.c begins and ends it, append.c fills it. */
#ifndef TH_SQLITE_WRITING_H
#define TH_SQLITE_WRITING_H

#include "sqlite/sqlite.h"
#include "store/usage.h"

/* An event that is to be inserted. */
struct th_queued {
	const struct th_append *a;
	size_t index;
	uint64_t prev;
};

/* One transaction: where its next event goes. */
struct th_writing {
	struct th_sqlite *s;
	struct th_db *db;
	uint64_t next_place, next_number; /* next_number: 0 until it is needed */
	uint32_t version;                 /* of the database */
	struct th_queued queue[16];
	size_t queued;
	struct th_usage_sums usage, used; /* each line is written once, at the end */
	struct th_err *err;
};

/* Says in a->result what became of it; the code is for what ends the transaction. */
TH_NODISCARD enum th_code th_sqlite_append_write(struct th_writing *w, struct th_append *a);
/* What the transaction has so far, so that its own statements see it. */
TH_NODISCARD enum th_code th_sqlite_write_out(struct th_writing *w);

#endif
