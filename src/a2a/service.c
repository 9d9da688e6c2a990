/* SPDX-License-Identifier: Apache-2.0 */
/* service.c - agents for other agents: the A2A protocol. */
#include "a2a/internal.h"

// clang-format off
static const struct th_route routes[] = {
	{ "GET", "/.well-known/agent-card.json", 0, th_a2a_card, 0, NULL, "what A2A clients read first: the agent default", NULL },
	{ "GET", "/a2a/{agent}/.well-known/agent-card.json", TH_SCOPE_READ, th_a2a_agent_card, 0, NULL, "the same of another agent", NULL },
	{ "POST", "/a2a/{agent}", TH_SCOPE_READ, th_a2a_post, TH_SERVE_JSON_MAX, NULL, "an agent for other agents: A2A 1.0 and 0.3, docs/A2A.md", NULL },
	{ NULL, NULL, 0, NULL, 0, NULL, NULL, NULL },
};
// clang-format on

const struct th_service th_service_a2a = {
	.name = "a2a",
	.routes = routes,
};
