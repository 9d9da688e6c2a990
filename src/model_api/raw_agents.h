/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_agents.h - agents of requests that name a model: most clients send the same settings again.
 *
 * An agent that sessions were begun with does not change, so those of the last few settings are
 * used again.  What they are found by is all of the request that makes them.
 */
#ifndef TH_MODEL_API_RAW_AGENTS_H
#define TH_MODEL_API_RAW_AGENTS_H

#include "server/service.h"

#define TH_RAW_AGENTS_MAX 4
#define TH_RAW_AGENT_KEY_MAX (16 * TH_KIB) /* of longer ones the agent is made each time */

/* NULL: there is none of it.  It is there until others are put. */
struct thole_agent *th_raw_agents_find(const struct th_server *s, struct th_str key);
/* Takes the agent over; false: it is too long, and the agent is the caller's. */
bool th_raw_agents_put(struct th_server *s, struct th_str key, struct thole_agent *agent);
void th_raw_agents_free(struct th_server *s);

#endif
