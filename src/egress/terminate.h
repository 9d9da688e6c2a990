/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminate.h - TLS ended in the egress, for a host that gets a secret: the
 * client's with a certificate of the session's authority, the server's with the
 * system's roots.  In between the request is read, its headers get the values,
 * and the values are masked in what comes back.  One request per connection.
 *
 * Bytes in, bytes out; no descriptor.
 */
#ifndef TH_EGRESS_TERMINATE_H
#define TH_EGRESS_TERMINATE_H

#include "egress/secrets.h"

struct th_terminate;

/* `secrets` outlives it; `host` without brackets.  `to_server` gets the first bytes. */
TH_NODISCARD enum th_code th_terminate_new(const struct th_egress_secrets *secrets,
					   const char *host, bool address, uint16_t port,
					   struct th_buf *to_server, struct th_terminate **ret,
					   struct th_err *err);
struct th_terminate *th_terminate_free(struct th_terminate *t); /* takes NULL, returns NULL */

/* Whether more of the client should be read now. */
bool th_terminate_takes(const struct th_terminate *t);

/* Bytes of one side, or its end.  Not TH_OK: it is over; what is in the buffers may still go. */
TH_NODISCARD enum th_code th_terminate_client(struct th_terminate *t, struct th_str bytes,
					      struct th_buf *to_client, struct th_buf *to_server,
					      struct th_err *err);
TH_NODISCARD enum th_code th_terminate_server(struct th_terminate *t, struct th_str bytes,
					      struct th_buf *to_client, struct th_buf *to_server,
					      struct th_err *err);
/* The server has ended: what was held back goes to the client, and a goodbye. */
void th_terminate_end(struct th_terminate *t, struct th_buf *to_client);

#endif
