/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_internal.h - the sessions of a file that is being imported.
 */
#ifndef TH_ADMIN_IMPORT_INTERNAL_H
#define TH_ADMIN_IMPORT_INTERNAL_H

#include "admin/transfer_internal.h"
#include "core/session.h"

/* A session of the file. */
struct arrived {
	struct th_session_row row;
	struct th_digest first; /* before its own events */
	struct th_event *events;
	struct th_digest *digests;
	size_t count, cap;
	struct th_str children; /* of open calls, each ended by a NUL */
	struct th_str task;     /* what its first message says */
	bool origin;            /* only what a fork shares with it */
	bool here;              /* the store has it already, */
	bool same;              /* and that is the same */
	int depth;              /* how many work for each other above it */
};

struct arriving {
	struct th_store *reads, *store;
	uint64_t line;
	struct th_export_load load;
	struct th_arena memory;
	struct arrived **list; /* the newest is being read */
	size_t count, cap;
	size_t forks;
	struct th_digest chain; /* after the events read so far */
	struct th_session fold;
	struct th_blob *blobs; /* bytes absent: said to be none */
	size_t blob_count, blob_cap;
	bool ended;
};

/* The one that is being read; NULL: none is. */
struct arrived *th_import_newest(const struct arriving *x);
struct arrived *th_import_find(const struct arriving *x, struct th_str id);
/* All of it is read; nothing is stored yet. */
TH_NODISCARD enum th_code th_import_check(struct arriving *x, struct th_err *err);

#endif
