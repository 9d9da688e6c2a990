/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dial.h - from a host and a port to a connection: the name is resolved on a
 * worker, what a policy does not allow is left out, and the rest is dialled
 * address by address.
 */
#ifndef TH_IO_DIAL_H
#define TH_IO_DIAL_H

#include "io/loop.h"
#include "rules/net_rule.h"

struct th_dial;

/* `fd` >= 0: connected, the callback's to close; else `refused`: every address is one that the list
 * does not allow; `why` says what went wrong. */
typedef void th_dial_fn(void *ctx, int fd, bool refused, const char *why);

/* `policy` outlives it; NULL: every address will do.  `fn` is called once, later; not after
 * th_dial_free. */
struct th_dial *th_dial_new(struct th_loop *l, const struct th_net_policy *policy, const char *host,
			    uint16_t port, th_dial_fn *fn, void *ctx);
struct th_dial *th_dial_free(struct th_dial *d); /* takes NULL, returns NULL */

#endif
