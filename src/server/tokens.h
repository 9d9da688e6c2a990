/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tokens.h - who may call the server, and for what.
 *
 * A token is 32 random bytes as text; only its SHA-256 is kept, so that nobody
 * can read one out of the file.  It belongs to a user and has scopes.
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

struct th_token {
	char id[16]; /* the digest's start: what people call it by */
	char user[TH_USER_MAX + 1];
	unsigned scopes; /* of enum th_scope */
	int64_t created_ms;
	struct th_digest digest;
};

struct th_tokens {
	struct th_token *list;
	size_t count;
};

void th_tokens_deinit(struct th_tokens *t);

/* "read,run": TH_EUSAGE names what is none. */
TH_NODISCARD enum th_code th_scopes_parse(struct th_str text, unsigned *ret, struct th_err *err);
void th_scopes_print(unsigned scopes, struct th_buf *out);

/* Adds those of the file that `thole token` keeps: JSON lines {"id","user","scopes","created_ms",
 * "digest"}.  One that is not there has none. */
TH_NODISCARD enum th_code th_tokens_load(const char *path, struct th_tokens *t, struct th_err *err);
TH_NODISCARD enum th_code th_tokens_save(const char *path, const struct th_tokens *t,
					 struct th_err *err);
/* Adds those of a file with lines "TOKEN USER SCOPES"; blank lines and those that begin with # are
 * passed over.  TH_EPERM: others may read it; errors name the line, never what is in it. */
TH_NODISCARD enum th_code th_tokens_read(const char *path, struct th_tokens *t, struct th_err *err);

/* Makes one; `ret_text` gets it, this one time. */
TH_NODISCARD enum th_code th_tokens_new(struct th_tokens *t, struct th_str user, unsigned scopes,
					struct th_buf *ret_text, struct th_err *err);
/* Takes it out by its id.  TH_ENOENT. */
TH_NODISCARD enum th_code th_tokens_revoke(struct th_tokens *t, struct th_str id,
					   struct th_err *err);
/* NULL: nobody's.  Takes the same time whichever it is. */
const struct th_token *th_tokens_find(const struct th_tokens *t, struct th_str text);

#endif
