/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oauth.h - OAuth 2.1 as a client of MCP speaks it: where a server's and an
 * authorization server's documents are, what they say, the address that a person
 * opens, and the bodies of requests for tokens.
 *
 * Pure, and total: any bytes give a document, a token or a sentence.  Nothing that
 * another server says is believed without a look: a document must speak of the server
 * or issuer that it was asked of; each address in it must be https, or http of this
 * very machine; an authorization code counts only with our state, and only from the
 * issuer that it was asked of (RFC 9207).
 *
 * Strings that are read live in the arena given.  Secrets (tokens, codes, a client's
 * secret) stand in these structs only while their owner has them on its stack or
 * in a file of mode 0600; they are in no error.
 */
#ifndef TH_WIRE_OAUTH_H
#define TH_WIRE_OAUTH_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"

/* https://…, or http://… of this very machine; no user, no fragment, at most TH_OAUTH_TEXT_MAX. */
bool th_oauth_is_safe(struct th_str url);

/* ---- what a server wants ---- */

/* Of WWW-Authenticate: the first way that is called Bearer.  Members may be empty. */
struct th_oauth_challenge {
	struct th_str metadata; /* address of the resource's document */
	struct th_str scope, error;
};
/* False: it has none. */
bool th_oauth_challenge_read(struct th_str header, struct th_arena *a,
			     struct th_oauth_challenge *ret);

/* ---- documents ---- */

/* Where the document of a server (RFC 9728), or of an issuer (RFC 8414, OpenID), may be, the best
 * place first.  False: there are no more. */
bool th_oauth_resource_place(struct th_str url, size_t index, struct th_buf *out);
bool th_oauth_issuer_place(struct th_str issuer, size_t index, struct th_buf *out);
/* Of a server without a document, as in 2025-03-26: its own origin. */
struct th_str th_oauth_origin(struct th_str url);

struct th_oauth_resource {
	struct th_str resource; /* as it is to be named in requests */
	struct th_str issuer;   /* the first of its authorization servers */
	struct th_str scopes;   /* with blanks between; may be empty */
};
/* TH_EPROTO: it is none, or that of another server than `url`. */
TH_NODISCARD enum th_code th_oauth_resource_read(struct th_str json, struct th_str url,
						 struct th_arena *a, struct th_oauth_resource *ret,
						 struct th_err *err);

/* How a client shows who it is at the token endpoint. */
enum th_oauth_method {
	TH_OAUTH_NONE,
	TH_OAUTH_BASIC,
	TH_OAUTH_POST,
	TH_OAUTH_JWT, /* private_key_jwt */
	TH_OAUTH_METHOD_COUNT
};
extern const char *const th_oauth_methods[]; /* their names; NULL ends them */

struct th_oauth_server {
	struct th_str issuer, authorize, token,
	    registration;     /* addresses; registration may be "" */
	struct th_str scopes; /* with blanks between */
	unsigned methods;     /* bits of th_oauth_method; what the document leaves out: BASIC */
	bool has_s256;        /* PKCE */
	bool has_documents;   /* a client may be named by the address of its document */
	bool says_issuer;     /* in the redirect, so it must be there */
};
TH_NODISCARD enum th_code th_oauth_server_read(struct th_str json, struct th_str issuer,
					       struct th_arena *a, struct th_oauth_server *ret,
					       struct th_err *err);

/* ---- clients ---- */

struct th_oauth_client {
	struct th_str id, secret;
	enum th_oauth_method method;
};

/* The best that the server takes of a client with a secret, or without one. */
enum th_oauth_method th_oauth_method_of(const struct th_oauth_server *s, bool has_secret);
void th_oauth_registration_put(const struct th_oauth_server *s, struct th_str redirect,
			       struct th_buf *out);
TH_NODISCARD enum th_code
th_oauth_registration_read(struct th_str json, const struct th_oauth_server *s, struct th_arena *a,
			   struct th_oauth_client *ret, struct th_err *err);

/* ---- the person's way ---- */

struct th_oauth_ask {
	const struct th_oauth_server *server;
	struct th_str client_id, redirect, resource, scope, state;
	struct th_str verifier; /* PKCE: 43 characters or more of chance */
};
/* The scope to ask for: the challenge's, else the document's, with what was granted before, and
 * offline_access where the authorization server has it. */
void th_oauth_scope_put(const struct th_oauth_server *s, struct th_str challenge,
			struct th_str resource, struct th_str before, struct th_buf *out);
void th_oauth_authorize_put(const struct th_oauth_ask *ask, struct th_buf *out);
/* `query`: of the redirect, or the whole address that a person pasted.  TH_EPROTO: it is no answer
 * to that question, or another server's; TH_EPERM: the person, or the server, refused. */
TH_NODISCARD enum th_code th_oauth_redirect_read(struct th_str query,
						 const struct th_oauth_ask *ask, struct th_arena *a,
						 struct th_str *ret_code, struct th_err *err);

/* ---- tokens ---- */

enum th_oauth_grant {
	TH_OAUTH_CODE,
	TH_OAUTH_REFRESH,
	TH_OAUTH_CLIENT, /* client_credentials: no person */
	TH_OAUTH_GRANT_COUNT
};
struct th_oauth_request {
	enum th_oauth_grant grant;
	const struct th_oauth_client *client;
	struct th_str code, verifier, redirect; /* CODE */
	struct th_str refresh;                  /* REFRESH */
	struct th_str scope, resource;
	struct th_str assertion; /* of private_key_jwt: signed by the caller */
};
/* The body; and, when the client's method is BASIC, the value of Authorization. */
void th_oauth_request_put(const struct th_oauth_request *r, struct th_buf *body,
			  struct th_buf *authorization);
/* What private_key_jwt signs: head and claims, both base64url, with a dot between. */
void th_oauth_assertion_put(struct th_str client_id, struct th_str audience, struct th_str id,
			    struct th_str algorithm, int64_t now_s, struct th_buf *out);
/* Base64 for URLs, without padding (RFC 7636, RFC 7515). */
void th_oauth_base64(struct th_buf *out, const void *ptr, size_t len);

struct th_oauth_tokens {
	struct th_str access, refresh, scope; /* refresh, scope: "" when it says nothing of them */
	int64_t expires_s;                    /* from now; 0: it does not say */
};
/* `status`: of HTTP.  TH_EPERM: it refuses (invalid_grant, …), so asking again is of no use. */
TH_NODISCARD enum th_code th_oauth_tokens_read(int status, struct th_str json, struct th_arena *a,
					       struct th_oauth_tokens *ret, struct th_err *err);

#endif
