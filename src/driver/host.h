/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.h - hosts that a call asks for while it runs (net_ask): a person is
 * asked, and the effect's programs are told what he said.
 */
#ifndef TH_DRIVER_HOST_H
#define TH_DRIVER_HOST_H

#include "live/live.h"

/* Are hosts asked about that net lists, because untrusted bytes are in the context? */
bool th_live_asks_hosts(const struct th_live *l);
/* The decision about the host of a call is durable: it is told. */
void th_live_host_said(struct th_live *l, const struct th_call *c);

#endif
