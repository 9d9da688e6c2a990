/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_internal.h - what the memory store's files share: its sessions, events and blobs
 * (memory_data.c), and a handle's batches (memory_commit.c).
 */
#ifndef TH_STORE_MEMORY_INTERNAL_H
#define TH_STORE_MEMORY_INTERNAL_H

#include "base/text.h"
#include "io/loop.h"
#include "store/memory.h"
#include "store/usage.h"

struct th_memory_record {
	struct th_event ev; /* strings behind it, in the same allocation */
	struct th_digest digest;
};

struct th_memory_session {
	struct th_session_row row; /* strings in `text` */
	char *text;
	char *task; /* with which its first task begins; NULL: none */
	uint32_t crc;
	struct th_memory_record **records; /* own events: seq row.parent_seq + 1 … */
	size_t count, cap;
};

struct th_memory_blob {
	struct th_digest hash;
	char *bytes;
	size_t len;
	bool named; /* by an event, while they are looked at */
};

struct th_memory {
	char *name; /* NULL: not shared */
	struct th_memory *next;
	size_t users;
	unsigned owners; /* so far: numbers the next */
	struct th_memory_handle *handles;
	struct th_memory_session **sessions; /* sorted by id */
	size_t session_count, session_cap;
	struct th_memory_blob *blobs; /* sorted by hash */
	size_t blob_count, blob_cap;
	struct th_usage_sums usage;
};

struct th_memory_handle {
	struct th_store base;
	struct th_memory *m;
	struct th_memory_handle *next;
	struct th_loop *loop;
	struct th_deferred run;
	char owner[32];
	bool read_only;
	enum th_code failing;
	struct th_batch *first, *last; /* pending */
	size_t pending;
};

static inline struct th_memory_handle *th_memory_handle(struct th_store *s)
{
	assert(s && strcmp(s->kind->scheme, "memory") == 0);
	return TH_CONTAINER_OF(s, struct th_memory_handle, base);
}

/* ---- memory_data.c ---- */

/* Makes room for one more of `size` bytes. */
void *th_memory_grown(void *list, size_t count, size_t *cap, size_t size);

/* Where `id` is, or would be. */
size_t th_memory_session_place(const struct th_memory *m, struct th_str id, bool *found);
struct th_memory_session *th_memory_session_find(const struct th_memory *m,
						 struct th_str id); /* or NULL */
struct th_memory_session *th_memory_session_add(struct th_memory *m, struct th_str id);
void th_memory_session_free(struct th_memory_session *s);

/* The row with this owner and epoch, all strings in one piece. */
void th_memory_row_set(struct th_memory_session *s, const struct th_session_row *row,
		       struct th_str owner, int64_t epoch);
TH_NODISCARD enum th_code th_memory_row_copy(const struct th_session_row *row, struct th_arena *a,
					     struct th_session_row *ret, struct th_err *err);

struct th_memory_record *th_memory_record_new(const struct th_event *ev,
					      const struct th_digest *digest);
/* The event `seq` of a session or of what it was forked from; NULL when there is none. */
const struct th_memory_record *
th_memory_record_find(const struct th_memory *m, const struct th_memory_session *s, uint64_t seq);

size_t th_memory_blob_place(const struct th_memory *m, const struct th_digest *hash, bool *found);
void th_memory_blob_add(struct th_memory *m, const struct th_blob *b);

bool th_memory_owner_alive(const struct th_memory *m, struct th_str owner);

/* ---- memory_commit.c ---- */

enum th_code th_memory_write_batch(struct th_memory_handle *h, struct th_batch *batch,
				   struct th_err *err);
struct th_batch *th_memory_take_first(struct th_memory_handle *h); /* NULL: nothing is pending */
void th_memory_run_pending(void *ctx);                             /* deferred; ctx: the handle */
void th_memory_commit(struct th_store *s, struct th_batch *batch, th_commit_fn *done, void *ctx);
TH_NODISCARD enum th_code th_memory_commit_now(struct th_store *s, struct th_batch *batch,
					       struct th_err *err);

/* ---- memory_read.c ---- */

TH_NODISCARD enum th_code th_memory_get(struct th_store *store, struct th_str id,
					struct th_arena *a, struct th_session_row *ret,
					struct th_err *err);
TH_NODISCARD enum th_code th_memory_list(struct th_store *store,
					 const struct th_session_filter *filter, th_session_fn *fn,
					 void *ctx, struct th_err *err);
TH_NODISCARD enum th_code th_memory_read(struct th_store *store, struct th_str id, uint64_t from,
					 uint64_t to, th_event_fn *fn, void *ctx,
					 struct th_err *err);
TH_NODISCARD enum th_code th_memory_blob(struct th_store *store, const struct th_digest *hash,
					 struct th_buf *out, struct th_err *err);
TH_NODISCARD enum th_code th_memory_usage(struct th_store *store,
					  const struct th_usage_filter *filter, th_usage_fn *fn,
					  void *ctx, struct th_err *err);
TH_NODISCARD enum th_code th_memory_verify(struct th_store *store, struct th_str session_id,
					   struct th_verify_report *ret, struct th_err *err);

/* ---- memory_remove.c ---- */

TH_NODISCARD enum th_code th_memory_remove(struct th_store *store, const struct th_str *ids,
					   size_t count, struct th_err *err);
TH_NODISCARD enum th_code th_memory_sweep(struct th_store *store, bool *ret_more,
					  struct th_err *err);

#endif
