/* SPDX-License-Identifier: Apache-2.0 */
/*
 * needs.h - what a request has to know of the store before it is done.
 *
 * A handler asks for it here.  What is not there yet is read beside the loop, and the handler is
 * called again, from its beginning, once it is there.  So a handler asks for all that it has to
 * know before it changes anything, and nothing of this server ever waits for the store.
 *
 *	const struct th_found *row = th_need_session(&a->needs, id, a->user);
 *
 *	if (!row)
 *		return; // it is called again
 */
#ifndef TH_SERVER_NEEDS_H
#define TH_SERVER_NEEDS_H

#include <thole/thole.h>

#include "base/str.h"

struct th_need;
struct th_server;

struct th_needs {
	struct th_server *server;
	void (*again)(void *ctx);
	void *ctx;
	struct th_need *first;
};

/* Lives as long as the needs, or until they are forgotten: the answer to the request ends it. */
struct th_found {
	struct th_str text;            /* JSON */
	const struct thole_error *err; /* NULL: it is there */
};

/* NULL: it is being read. */
const struct th_found *th_need_session(struct th_needs *n, const char *id, const char *user);
const struct th_found *th_need_page(struct th_needs *n, const char *const *options);
const struct th_found *th_need_usage(struct th_needs *n, const char *const *options);
/* Room for one of the user's sessions more that runs, of which `most` may in the whole fleet; an
 * error of THOLE_ELIMIT: there is none.  It is there until th_quota_begins, or as long as the
 * needs. */
const struct th_found *th_need_reservation(struct th_needs *n, const char *user, int64_t most);
const struct th_found *th_need_waiting(struct th_needs *n, const char *user, const char *after,
				       size_t limit);
/* Of a session that is not written yet: an empty list. */
const struct th_found *th_need_items(struct th_needs *n, const char *id, int64_t first,
				     size_t count, uint64_t to);
/* All of a session that is written, with their numbers: thole_runtime_numbered_items_start. */
const struct th_found *th_need_numbered_items(struct th_needs *n, const char *id, uint64_t to);

/*
 * Lines of its log from event `from` on, a newline behind each.  What is told of the session
 * meanwhile is there, too: who asks for it last and then listens misses nothing.
 */
enum th_take { TH_TAKE_NO, TH_TAKE_YES, TH_TAKE_NO_MORE };
typedef enum th_take th_take_fn(struct th_str line);
const struct th_found *th_need_log(struct th_needs *n, const char *id, const char *user,
				   uint64_t from, th_take_fn *takes);

/*
 * The session is the caller's and has its hub, with a session that is open here.  `ready`: and it
 * is not LOADING; without, one that is takes a message, a resume, a pause and a cancel.
 */
const struct th_found *th_need_open(struct th_needs *n, const char *id, const char *user,
				    bool ready);

bool th_needs_wait(const struct th_needs *n); /* something is being read */
/* Nobody is called again; answers are gone, and what is asked for next is read anew. */
void th_needs_forget(struct th_needs *n);

#endif
