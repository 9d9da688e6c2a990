/* SPDX-License-Identifier: Apache-2.0 */
/*
 * login.h - what `thole mcp login` has got for a server at an address.
 *
 * One file for each address, of mode 0600, in the folder mcp of the state directory,
 * by the digest of the address.  Tokens and a client's secret are in that file and in memory,
 * as secrets; in no log, no environment and no child.
 *
 * A server that wants more than it was given (401, 403) leaves a note in the file, so
 * that the next login asks for that.
 */
#ifndef TH_MCP_LOGIN_H
#define TH_MCP_LOGIN_H

#include "base/secret.h"
#include "wire/oauth.h"

struct th_mcp_login {
	struct th_arena memory;
	struct th_str url;              /* of the server */
	struct th_str issuer, token_at; /* of the authorization server */
	struct th_str resource, scope;  /* as they were granted */
	struct th_str redirect;         /* that the client is registered with */
	struct th_str client_id;
	struct th_secret *client_secret; /* NULL: it has none */
	struct th_str key_file;          /* of private_key_jwt */
	enum th_oauth_method method;
	bool given;     /* the client: by the person, not registered by us */
	bool by_client; /* client_credentials: no person has to come */
	struct th_secret *access, *refresh;
	int64_t expires_s;                       /* since 1970; 0: it is not known */
	struct th_str note_metadata, note_scope; /* what the server wants since */
	bool noted;
};

/* Of a server without a login: an empty one, with its url. */
void th_mcp_login_init(struct th_mcp_login *l, struct th_str url);
void th_mcp_login_deinit(struct th_mcp_login *l);
/* Into one that was initialised.  TH_ENOENT: there is none. */
TH_NODISCARD enum th_code th_mcp_login_read(struct th_mcp_login *l, struct th_err *err);
TH_NODISCARD enum th_code th_mcp_login_write(const struct th_mcp_login *l, struct th_err *err);
/* TH_ENOENT: there is none. */
TH_NODISCARD enum th_code th_mcp_login_remove(struct th_str url, struct th_err *err);
/* One process at a time may renew it: a descriptor to be closed; -1: another one does. */
int th_mcp_login_lock(struct th_str url);

/* A token of the authorization server, which is written. */
void th_mcp_login_take(struct th_mcp_login *l, const struct th_oauth_tokens *t, int64_t now_s);
/* Who the client is; the struct borrows of the login. */
struct th_oauth_client th_mcp_login_client(const struct th_mcp_login *l);
/* What private_key_jwt shows: signed with the login's key file. */
TH_NODISCARD enum th_code th_mcp_login_assertion(const struct th_mcp_login *l, int64_t now_s,
						 struct th_buf *out, struct th_err *err);
/* Writes down what the server wants, if that is new. */
void th_mcp_login_note(struct th_str url, const struct th_oauth_challenge *c);

#endif
