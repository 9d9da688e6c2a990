/* SPDX-License-Identifier: Apache-2.0 */
/*
 * after.h - a request that is answered once an event of its session is durable.
 */
#ifndef TH_SERVER_AFTER_H
#define TH_SERVER_AFTER_H

#include "server/access.h"
#include "server/hub.h"

/* Answers the request, which is about this session. */
typedef void th_after_fn(struct th_access *a, const char *session, int status);

/* Calls `fn` once an event of one of these kinds is durable; `kinds`: names with spaces between;
 * "": the next one.  If the session is lost first, the request is answered so. */
void th_access_after(struct th_access *a, struct th_hub *h, int status, const char *kinds,
		     th_after_fn *fn);
/* The same once all that happened in the session until now is durable; at once, where it is. */
void th_access_durable(struct th_access *a, struct th_hub *h, int status, th_after_fn *fn);
/* The same once the session is open, which it is mostly at once: not LOADING any more. */
void th_access_ready(struct th_access *a, struct th_hub *h, th_after_fn *fn);

#endif
