/* SPDX-License-Identifier: Apache-2.0 */
/* mcp_login.h - thole mcp login, logout: at a server of tools that an agent uses. */
#ifndef TH_CLI_MCP_LOGIN_H
#define TH_CLI_MCP_LOGIN_H

#include "console/option.h"

struct th_mcp_login_options {
	struct th_str agent; /* the file where the server's name is */
	struct th_str client_id, client_secret_env, client_key, client_document, scope;
	int64_t port; /* -1: any */
	bool as_client, private_net;
};

// clang-format off
#define TH_OPTIONS_MCP_LOGIN(type, member)                                                         \
	{ "agent", 'a', "FILE", TH_OPTION_TEXT, offsetof(type, member.agent),                      \
	  "login, logout: the agent file that names the server", "FILE" },                         \
	{ "client-id", 0, "ID", TH_OPTION_TEXT, offsetof(type, member.client_id),                  \
	  "login: a client that was registered by hand", NULL },                                   \
	{ "client-secret-env", 0, "NAME", TH_OPTION_TEXT, offsetof(type, member.client_secret_env), \
	  "login: environment variable with its secret", NULL },                                   \
	{ "client-key", 0, "FILE", TH_OPTION_TEXT, offsetof(type, member.client_key),              \
	  "login: its private key (PEM), in place of a secret (private_key_jwt)", "FILE" },        \
	{ "client-document", 0, "URL", TH_OPTION_TEXT, offsetof(type, member.client_document),     \
	  "login: address of a document that describes the client, for servers that read it",      \
	  NULL },                                                                                  \
	{ "as-client", 0, NULL, TH_OPTION_FLAG, offsetof(type, member.as_client),                  \
	  "login: without a person, as that client (client_credentials)", NULL },                  \
	{ "scope", 0, "WORDS", TH_OPTION_TEXT, offsetof(type, member.scope),                       \
	  "login: what to ask for (default: what the server says)", NULL },                        \
	{ "port", 0, "N", TH_OPTION_INT, offsetof(type, member.port),                              \
	  "login: port of 127.0.0.1 where the browser comes back (default: any)", NULL },          \
	{ "private-net", 0, NULL, TH_OPTION_FLAG, offsetof(type, member.private_net),              \
	  "login: the server may name addresses of a private network; a proxy of the environment " \
	  "is used", NULL }
// clang-format on

/* The exit code.  `server`: its address, or its name in the agent file. */
int th_cli_mcp_login(const struct th_mcp_login_options *o, struct th_str server);
int th_cli_mcp_logout(const struct th_mcp_login_options *o, struct th_str server);

#endif
