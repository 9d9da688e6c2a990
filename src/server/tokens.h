/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tokens.h - who may call the server, and for what.
 *
 * A token is 32 random bytes as text; only its SHA-256 is kept, so that nobody
 * can read one out of the file.  It belongs to a user and has scopes.
 *
 * Two more kinds stand in the same file, so that one list says who can come in
 * and one revocation keeps him out: the code of a link, which is good for one
 * login, and the login of a browser, whose text is its cookie.
 */
#ifndef TH_SERVER_TOKENS_H
#define TH_SERVER_TOKENS_H

#include "base/buf.h"
#include "base/hash.h"
#include "base/limits.h"

enum th_scope {
	TH_SCOPE_READ = 1 << 0,    /* look at sessions */
	TH_SCOPE_RUN = 1 << 1,     /* begin them, say something, hold and stop them */
	TH_SCOPE_APPROVE = 1 << 2, /* decide about calls */
	TH_SCOPE_ADMIN = 1 << 3    /* figures of the whole server */
};
#define TH_SCOPE_ALL (TH_SCOPE_READ | TH_SCOPE_RUN | TH_SCOPE_APPROVE | TH_SCOPE_ADMIN)

enum th_token_kind {
	TH_TOKEN_KEY,   /* for programs, until it is revoked */
	TH_TOKEN_CODE,  /* of a link: for one login, for a short time */
	TH_TOKEN_LOGIN, /* of a browser: its cookie */
	TH_TOKEN_KIND_COUNT
};
const char *th_token_kind_name(enum th_token_kind kind); /* "token", "code", "login" */

struct th_token {
	enum th_token_kind kind;
	char id[16]; /* the digest's start: what people call it by */
	char of[16]; /* of a login: the id of the token that it was made with; "": of none */
	char user[TH_USER_MAX + 1];
	unsigned scopes; /* of enum th_scope */
	int64_t created_ms;
	int64_t expires_ms; /* of a code or a login; 0: never */
	struct th_digest digest;
};

struct th_tokens {
	struct th_token *list;
	size_t count, cap;
};

void th_tokens_deinit(struct th_tokens *t);

/* "read,run": TH_EUSAGE names what is none. */
TH_NODISCARD enum th_code th_scopes_parse(struct th_str text, unsigned *ret, struct th_err *err);
void th_scopes_print(unsigned scopes, struct th_buf *out);

/* Adds those of the file that `thole token` keeps: JSON lines {"id","user","scopes","created_ms",
 * "digest"}, and of other kinds "kind", "expires_ms" and "of".  One that is not there has none. */
TH_NODISCARD enum th_code th_tokens_load(const char *path, struct th_tokens *t, struct th_err *err);
TH_NODISCARD enum th_code th_tokens_save(const char *path, const struct th_tokens *t,
					 struct th_err *err);
/*
 * Changes that file: `fn` gets what is in it, without what has run out, and when it says TH_OK that
 * is written.  Nobody else changes it meanwhile.  `wait` false: TH_EBUSY when somebody does.
 */
typedef enum th_code th_tokens_change_fn(void *ctx, struct th_tokens *t, struct th_err *err);
TH_NODISCARD enum th_code th_tokens_change(const char *path, bool wait, th_tokens_change_fn *fn,
					   void *ctx, struct th_err *err);
/* Adds those of a file with lines "TOKEN USER SCOPES"; blank lines and those that begin with # are
 * passed over.  TH_EPERM: others may read it; errors name the line, never what is in it. */
TH_NODISCARD enum th_code th_tokens_read(const char *path, struct th_tokens *t, struct th_err *err);

/* Makes one; `ret_text` gets it, this one time. */
TH_NODISCARD enum th_code th_tokens_new(struct th_tokens *t, struct th_str user, unsigned scopes,
					struct th_buf *ret_text, struct th_err *err);
/* The same of another kind, for `life_ms`; `of` as above.  Of more than TH_LOGINS_USER_MAX of one
 * user and kind the oldest goes. */
TH_NODISCARD enum th_code th_tokens_new_for(struct th_tokens *t, enum th_token_kind kind,
					    struct th_str user, unsigned scopes, const char *of,
					    int64_t life_ms, struct th_buf *ret_text,
					    struct th_err *err);
/* Takes it out by its id, with the logins that were made with it.  TH_ENOENT. */
TH_NODISCARD enum th_code th_tokens_revoke(struct th_tokens *t, struct th_str id,
					   struct th_err *err);
/* A token for programs.  NULL: nobody's.  Takes the same time whichever it is. */
const struct th_token *th_tokens_find(const struct th_tokens *t, struct th_str text);
/* A code or a login that has not run out; one that was made with a token has no scope that the
 * token has not, and is none when that is gone. */
/* The token or login of that digest, as above. */
bool th_tokens_holds(const struct th_tokens *t, const struct th_digest *digest, int64_t now_ms,
		     struct th_token *ret);
bool th_tokens_find_of(const struct th_tokens *t, enum th_token_kind kind, struct th_str text,
		       int64_t now_ms, struct th_token *ret);

#endif
