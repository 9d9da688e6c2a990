/* SPDX-License-Identifier: Apache-2.0 */
/* forward.h - shared by forward.c and forward_takes.c alone; what others see is in fleet.h. */
#ifndef TH_SERVER_FORWARD_H
#define TH_SERVER_FORWARD_H

#include "server/fleet.h"
#include "server/service.h"

/* The session that the request is about, and the node which keeps something that it needs; false:
 * it names none. */
bool th_forward_session_of(struct th_access *a, char ret[static TH_SESSION_ID_MAX + 1]);
bool th_forward_keeper_of(const struct th_access *a, char ret[static TH_FLEET_TAG_SIZE + 1]);
/* The request is answered later: by the node that is found, or by `here` where no other node does
 * (NULL: one must).  `named_by_request`: what is looked for is asked of the service each time. */
void th_forward_begin(struct th_access *a, enum th_find_by by, const char *what, th_access_fn *here,
		      bool named_by_request);

#endif
