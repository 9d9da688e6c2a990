/* SPDX-License-Identifier: Apache-2.0 */
/*
 * httpd.h - an HTTP listener on the loopback for a handful of callers of this
 * machine: one request per connection, JSON both ways, a token always.
 *
 * Not for the network and not for many: no TLS, no keep-alive, no streams.
 * Requests without the token, to another host's name or from another site's
 * page are answered here and never seen by the owner.
 */
#ifndef TH_IO_HTTPD_H
#define TH_IO_HTTPD_H

#include "base/err.h"
#include "base/secret.h"
#include "io/loop.h"

struct th_httpd;
struct th_httpd_caller;

/* Answers with th_httpd_reply, now or later, once.  Strings are borrowed until it returns. */
typedef void th_httpd_fn(void *ctx, struct th_httpd_caller *c, struct th_str method,
			 struct th_str path, struct th_str body);

/* `url`: http://127.0.0.1:PORT, http://localhost:PORT (port 0: any).  `token` is borrowed.
 * TH_EUSAGE: not an address of the loopback; TH_EIO …: it cannot be listened at. */
TH_NODISCARD enum th_code th_httpd_new(struct th_loop *l, struct th_str url,
				       const struct th_secret *token, th_httpd_fn *fn, void *ctx,
				       struct th_httpd **ret, struct th_err *err);
/* For one whole request or reply; TH_HUMAN_CALLER_MS until it is said otherwise. */
void th_httpd_caller_ms(struct th_httpd *d, uint64_t ms);
/* Callers without a reply are hung up on.  Takes NULL, returns NULL. */
struct th_httpd *th_httpd_free(struct th_httpd *d);
int th_httpd_port(const struct th_httpd *d);

/* Also after the client has closed the connection. */
void th_httpd_reply(struct th_httpd_caller *c, int status, struct th_str json);

#endif
