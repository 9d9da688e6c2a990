/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change.h - sessions forked, deleted and described beside the loop, and requests that wait for
 * that.
 *
 * A change goes on when its request ends, and what the server has of a session that was deleted
 * (its hub, its folder) goes with it.  A server that ends waits for it (th_server_idle).
 */
#ifndef TH_SERVER_CHANGE_H
#define TH_SERVER_CHANGE_H

#include "base/str.h"
#include "server/access.h"
#include "server/after.h"

struct th_change;

/* It is there, and not open: its name, and its object. */
typedef void th_forked_fn(struct th_access *a, const char *session, struct th_str row);
/* err NULL: it is gone. */
typedef void th_discarded_fn(struct th_access *a, const char *session,
			     const struct thole_error *err);

/* Forks a session of the caller's; `new_id` NULL: a new UUID.  A failure is answered here. */
void th_access_fork(struct th_access *a, const char *id, uint64_t seq, const char *new_id,
		    th_forked_fn *fn);
/* Deletes a session of the caller's with all that the server has of it. */
void th_access_discard(struct th_access *a, const char *id, th_discarded_fn *fn);
/* Gives a session of the caller's another title or other metadata (NULL: it stays), and calls `fn`
 * once that is written, with status 200; one that is LOADING is waited for.  A failure is answered
 * here. */
void th_access_describe(struct th_access *a, const char *id, const char *title,
			const char *metadata, th_after_fn *fn);
/* The same of those that are doomed and rest, for nobody; about once a second, before
 * th_hubs_sweep. */
void th_changes_sweep(struct th_server *s);

void th_changes_free(struct th_server *s); /* no request is left; what is under way is done */

#endif
