/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_load.h - a session's log, read whole before something is done with the session.
 *
 * It is read beside the loop.  What is told of the session meanwhile is held, and comes behind what
 * was read, so that no event is between the last line and what `done` does: who listens to the
 * session there misses nothing.
 */
#ifndef TH_SERVER_LOG_LOAD_H
#define TH_SERVER_LOG_LOAD_H

#include <thole/thole.h>

struct th_server;
struct th_log_load;

/*
 * As thole_runtime_log_start, of a session of `user`: `fn` gets each line from event `from` on, and
 * a result of it other than 0 ends the reading.  `done` is called once, from the loop, and the load
 * is gone: THOLE_OK, what `fn` returned, or an error.  A result other than 0: it did not begin.
 */
int th_log_load(struct th_server *s, const char *session, const char *user, uint64_t from,
		thole_line_fn *fn, thole_done_fn *done, void *ctx, struct th_log_load **ret,
		struct thole_error *err);
/* Neither function is called any more.  Takes NULL. */
void th_log_load_cancel(struct th_log_load *l);

#endif
