/* SPDX-License-Identifier: Apache-2.0 */
/*
 * door.h - a listener of its own, on this machine alone, for a service that answers as another
 * project's server does.
 *
 * It has routes of its own, which the server's listener has not.  Who may call is as everywhere
 * (guard.c), and a token may also stand in X-Session-API-Key; errors are {"detail": TEXT}.
 *
 * In a fleet a request about a session of another node is passed on to that node's server, and
 * answered by its service of the same name, which must have its listener there, too.
 */
#ifndef TH_SERVER_DOOR_H
#define TH_SERVER_DOOR_H

#include "server/access.h"

struct th_door {
	struct th_server *server;
	const struct th_service *service;
	const struct th_route *routes; /* ended by a NULL path; words before arguments */
	th_access_fn *other;           /* answers what none of them is, of a caller who may */
	struct th_listen *listen;
	struct th_http_server *http;
};

/* `option`: what people call it.  TH_EUSAGE: others than this machine could reach it.  On failure
 * th_door_end is called. */
TH_NODISCARD enum th_code th_door_begin(struct th_door *f, struct th_str address,
					const char *option, struct th_err *err);
void th_door_print(const struct th_door *f, struct th_buf *out); /* http://127.0.0.1:7712 */
void th_door_finish(struct th_door *f);
bool th_door_idle(const struct th_door *f);
void th_door_end(struct th_door *f);

/* What came to the door of another node, which passes it on to this one's server and names the
 * service in this header: as on_head, and `door` is set.  0: it was answered. */
#define TH_DOOR_HEADER "thole-node-door"
size_t th_door_passed(struct th_access *a);

/* Only this machine, called by its own name, and no page of another site. */
bool th_door_place(const struct th_access *a);

#endif
