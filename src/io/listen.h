/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listen.h - a listening socket, TCP or of this machine, that hands out connections.
 */
#ifndef TH_IO_LISTEN_H
#define TH_IO_LISTEN_H

#include "base/buf.h"
#include "io/loop.h"

struct th_listen;

/* A connection: non-blocking, close-on-exec, the callback's to close. */
typedef void th_listen_fn(void *ctx, int fd);

/*
 * `address`: "127.0.0.1:7711", "[::1]:7711", "localhost:0" (port 0: any), or "unix:PATH", which
 * only this user may connect to.  Names are looked up in the hosts file and wherever the system
 * looks. TH_EUSAGE: it is no address; TH_EBUSY: somebody listens there; TH_EIO …
 */
TH_NODISCARD enum th_code th_listen_new(struct th_loop *l, struct th_str address, th_listen_fn *fn,
					void *ctx, struct th_listen **ret, struct th_err *err);
struct th_listen *th_listen_free(struct th_listen *s); /* takes NULL, returns NULL */
bool th_listen_loopback(const struct th_listen *s);    /* only this machine can reach it */
int th_listen_port(const struct th_listen *s);         /* 0: it is a socket file */
/* As a URL's authority: "127.0.0.1:7711"; of a socket file "unix:PATH". */
void th_listen_print(const struct th_listen *s, struct th_buf *out);

#endif
