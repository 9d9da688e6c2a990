/* SPDX-License-Identifier: Apache-2.0 */
/* mcp_client_login.h - a login for the conformance suite, whose authorization server answers at
 * once: there is no browser. */
#ifndef TH_TESTS_MCP_CLIENT_LOGIN_H
#define TH_TESTS_MCP_CLIENT_LOGIN_H

#include "io/fetch.h"

/* Has the server of that address wanted a login since the last one? */
bool login_wanted(const char *url);
bool login_do(struct th_loop *loop, struct th_fetcher *fetcher, const char *url);

#endif
