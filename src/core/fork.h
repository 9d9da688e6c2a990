/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork.h - a session that shares the first events of another: what may be shared,
 * and the first event of its own.
 */
#ifndef TH_CORE_FORK_H
#define TH_CORE_FORK_H

#include "core/batch.h"
#include "core/session.h"

struct th_fork {
	struct th_session session;  /* the fold of the shared events, then of its own */
	struct th_digest head;      /* of the last of them */
	struct th_buf conversation; /* at the provider, which the other session is in */
};

void th_fork_init(struct th_fork *f);
void th_fork_deinit(struct th_fork *f);
/* Takes the shared events, in order.  ctx: the fork. */
enum th_code th_fork_take(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			  struct th_err *err);
/*
 * `row` is the other session's and becomes that of the fork, `session_id`.  `ev` has its id, time
 * and build, and gets the rest; its data is in `data`.  TH_EUSAGE: a conversation at the provider
 * would be continued by both.
 */
TH_NODISCARD enum th_code th_fork_begin(struct th_fork *f, struct th_session_row *row,
					struct th_str session_id, struct th_event *ev,
					struct th_buf *data, struct th_err *err);

#endif
