/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.h - what is written to a store and read from it: rows of sessions,
 * appends, blobs, and the transaction that holds them.
 *
 * Data only.  The driver fills a batch, a store (store/store.h) commits it.
 */
#ifndef TH_CORE_BATCH_H
#define TH_CORE_BATCH_H

#include "base/err.h"
#include "base/priority.h"
#include "events/event.h"
#include "events/used.h"

struct th_call;

/* The row of a session: what lists show without a refold. */
struct th_session_row {
	struct th_str session_id;
	struct th_str user, agent, model; /* may be empty */
	struct th_str state;              /* name of an agent state */
	struct th_str title;              /* start of the first message, one line */
	struct th_str parent;             /* forked from, or empty */
	uint64_t parent_seq;
	uint64_t head_seq;     /* last event */
	struct th_digest head; /* its digest */
	int64_t iteration;     /* model turns */
	int64_t calls, tokens_in, tokens_cached, tokens_out, cost_nano;
	int64_t epoch;
	struct th_str owner; /* runtime that holds the lease, or empty */
	int64_t created_ms, updated_ms;
	struct th_str metadata; /* JSON object */
};

/* What one session adds in one batch. */
struct th_append {
	bool create; /* insert the session's row first; EEXIST when it is there */
	/* Another one before it in the same batch; where that is not OK, this is EFENCED.  NULL:
	 * none. */
	const struct th_append *needs;
	/* After the events; epoch: the one held.  All of it is stored, except that the owner is
	 * always this runtime.  With `parent` the session begins as a fork: seq_before is
	 * parent_seq. */
	const struct th_session_row *row;
	uint64_t seq_before; /* head_seq that the store must have */
	struct th_digest head_before;
	const struct th_event *events; /* seq_before+1 …; digests are computed from head_before */
	const struct th_digest *digests; /* one per event */
	size_t event_count;
	/* The words with which its first task begins, to find it by; empty: said before, or not
	 * yet.  At most TH_TASK_TEXT_MAX of them are kept. */
	struct th_str task;
	struct th_used used; /* more than what was said in appends before */
	/* Set by the store: OK, EFENCED, EEXIST; ENOENT (no such session, no such event to fork
	 * from), EUSAGE (session id), ELIMIT (size of an event, depth of forks), ECORRUPT. */
	enum th_code result;
};

struct th_blob {
	struct th_digest hash; /* of bytes */
	struct th_str media_type;
	struct th_str bytes;
};

struct th_batch;

/* TH_OK: all appends whose result is OK are durable.  Otherwise nothing of the batch was written,
 * or, with TH_EIO, may have been: the process must stop (the caller does) and the store refuses all
 * that comes later.  TH_ELIMIT: too large, or the disk is full; TH_EBUSY: another process writes
 * for too long; TH_ENOMEM: these may be tried again. */
typedef void th_commit_fn(void *ctx, struct th_batch *batch, enum th_code code,
			  const struct th_err *err);

/* Everything in it is borrowed until the callback, the struct too. */
struct th_batch {
	struct th_append *appends;
	size_t append_count;
	const struct th_blob *blobs; /* one that is there already is left alone */
	size_t blob_count;

	/* Private to the store, so that a commit allocates nothing. */
	struct th_batch *next;
	th_commit_fn *done;
	void *done_ctx;
	bool refused; /* before it came to a transaction */
	enum th_code code;
	struct th_err err;
};

/* What a store reads. */
typedef enum th_code th_event_fn(void *ctx, const struct th_event *ev,
				 const struct th_digest *digest,
				 struct th_err *err); /* not OK: stop reading and return it */
typedef enum th_code th_session_fn(void *ctx, const struct th_session_row *row, struct th_err *err);

/* The columns of a session's row that its log gives (created_ms and `head` aside); strings are the
 * session's. */
struct th_session;
void th_session_row_of(const struct th_session *s, struct th_session_row *row);

/* The id of the session that works on the call of that INTENT. */
void th_delegate_id(struct th_str parent, uint64_t intent_seq, struct th_buf *out);
/* The same of a call, which may go on with what an earlier one began. */
void th_call_child(const struct th_call *c, struct th_str parent, struct th_buf *out);
/* From a session's metadata: for which session it works, as JSON {session, effect_id, depth};
 * empty: for none. */
struct th_str th_delegated_by(struct th_str metadata);
/* The same: when its first task begins, in milliseconds since 1970; 0: at once. */
#define TH_START_MEMBER "thole_start_ms"
int64_t th_start_of(struct th_str metadata);
/* The same: what it is worth beside others, by its name; without: normal. */
#define TH_PRIORITY_MEMBER "thole_priority"
enum th_priority th_priority_of(struct th_str metadata);

#endif
