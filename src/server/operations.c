/* SPDX-License-Identifier: Apache-2.0 */
/* operations.c - what the server says of itself, and who may call. */
#include "server/service.h"

#define SMALL TH_SERVE_SMALL_MAX

// clang-format off
static const struct th_route routes[] = {
	{ "GET", "/healthz", 0, th_api_health, 0, NULL, "the process answers", NULL },
	{ "GET", "/readyz", 0, th_api_ready, 0, NULL, "it takes requests, and its store takes events", NULL },
	{ "POST", "/api/login", 0, th_api_login, SMALL, NULL, "a browser's cookie for the code of a link, or for a token", &th_login_table },
	{ "POST", "/api/logout", TH_SCOPE_ALL, th_api_logout, SMALL, NULL, "ends the login of the cookie", NULL },
	{ "GET", "/api/me", TH_SCOPE_ALL, th_api_me, 0, NULL, "who asks: user, scopes, and of a cookie expires_ms", NULL },
	{ "GET", "/api/quota", TH_SCOPE_READ, th_api_quota, 0, NULL, "how much of the user's quota is used: sessions, turns_today, cost_usd_today, each with used and limit (null: none); day_ends_ms", NULL },
	{ "GET", "/metrics", TH_SCOPE_ADMIN, th_api_metrics, 0, NULL, "figures for Prometheus", NULL },
	{ "GET", "/api/fleet", TH_SCOPE_ADMIN, th_api_fleet, 0, NULL, "the runtimes of a store that several machines use, how many sessions each has, how long some wait to be taken, and slow statements: docs/FLEET.md", NULL },
	{ "GET", "/api/openapi.json", TH_SCOPE_READ, th_api_openapi, 0, NULL, "this table and its bodies as an OpenAPI 3.1 document", NULL },
	{ "GET", "/api/agents", TH_SCOPE_READ, th_api_agents, 0, NULL, "the agents that sessions can be begun with", NULL },
	{ NULL, NULL, 0, NULL, 0, NULL, NULL, NULL },
};
// clang-format on

const struct th_service th_service_operations = {
	.name = "operations",
	.routes = routes,
};
