/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work.h - one thing that is done with the store beside the loop: a page is read, a session is
 * forked or deleted.
 *
 * It is a thole_reading of its own kind (reading.c), with the life and the answers of one.  What
 * changes the store is done also when the program gave the reading up: it may be under way, and
 * what follows from it on the loop has to follow.
 */
#ifndef TH_API_WORK_H
#define TH_API_WORK_H

#include "api/api.h"

struct th_api_work {
	/* On the thread.  `reads` is that thread's handle; a line for the program goes into `out`.
	 */
	enum th_code (*run)(struct th_api_work *w, struct th_store *reads, struct th_buf *out,
			    struct th_err *err);
	/* On the loop, before the program is told: it went well.  *ret_again: `run` has more to do.
	 * NULL: nothing follows.  Not called when the runtime ends first. */
	enum th_code (*then)(struct th_api_work *w, bool *ret_again, struct th_err *err);
	void (*free)(struct th_api_work *w);
	bool changes; /* the store */
};

/* Asks the reader for it.  The work is taken, also when this fails.  fn NULL: there is no line. */
int th_api_work_start(struct thole_runtime *rt, struct th_reader *reader, struct th_api_work *w,
		      thole_line_fn *fn, thole_done_fn *done, void *ctx, struct thole_reading **ret,
		      struct thole_error *err);

/* ---- describe.c ---- */

/* The session is there, and this user's; user NULL: whosever it is.  On any thread. */
TH_NODISCARD enum th_code th_api_check_user(struct th_store *store, const char *id,
					    const char *user, struct th_err *err);

#endif
