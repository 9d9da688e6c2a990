/* SPDX-License-Identifier: Apache-2.0 */
#include "server/tokens.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/wiped.h"
#include "io/clock.h"
#include "io/files.h"

#define PREFIX "thole_"

static const struct {
	enum th_scope scope;
	struct th_str name;
} scopes[] = {
	{ TH_SCOPE_READ, TH_STR_INIT("read") },
	{ TH_SCOPE_RUN, TH_STR_INIT("run") },
	{ TH_SCOPE_APPROVE, TH_STR_INIT("approve") },
	{ TH_SCOPE_ADMIN, TH_STR_INIT("admin") },
};

const char *th_token_kind_name(enum th_token_kind kind)
{
	static const char *const names[] = { "token", "code", "login" };

	_Static_assert(TH_COUNT(names) == TH_TOKEN_KIND_COUNT, "each kind has a name");
	return names[kind];
}

void th_tokens_deinit(struct th_tokens *t)
{
	free(t->list);
	*t = (struct th_tokens){ 0 };
}

enum th_code th_scopes_parse(struct th_str text, unsigned *ret, struct th_err *err)
{
	unsigned all = 0;

	while (text.len) {
		struct th_str word = th_str_trim(th_str_split(&text, ','));
		unsigned found = 0;

		for (size_t i = 0; i < TH_COUNT(scopes); i++)
			if (th_str_eq(scopes[i].name, word))
				found = scopes[i].scope;
		if (!found)
			return th_fail(err, TH_EUSAGE,
				       "scopes are read, run, approve and admin, with commas");
		all |= found;
	}
	if (!all)
		return th_fail(err, TH_EUSAGE, "a token needs a scope: read, run, approve, admin");
	*ret = all;
	return TH_OK;
}

void th_scopes_print(unsigned all, struct th_buf *out)
{
	bool comma = false;

	for (size_t i = 0; i < TH_COUNT(scopes); i++) {
		if (!(all & scopes[i].scope))
			continue;
		if (comma)
			th_buf_add_char(out, ',');
		th_buf_add(out, scopes[i].name);
		comma = true;
	}
}

static enum th_code add(struct th_tokens *t, struct th_str user, const struct th_token *row,
			struct th_err *err)
{
	char hex[TH_SHA256_HEX_SIZE + 1];
	struct th_token *new;

	if (!user.len || user.len > TH_USER_MAX || memchr(user.ptr, 0, user.len))
		return th_fail(err, TH_EUSAGE, "a user's name has 1 to %d bytes", TH_USER_MAX);
	if (t->count == TH_TOKENS_MAX)
		return th_fail(err, TH_ELIMIT, "there are %d tokens, and no more can be",
			       TH_TOKENS_MAX);
	if (t->count == t->cap) {
		t->cap = TH_MAX(2 * t->cap, (size_t)16);
		t->list = th_realloc(t->list, t->cap * sizeof(*t->list));
	}
	new = &t->list[t->count++];
	*new = *row;
	th_digest_hex(&row->digest, hex);
	memcpy(new->id, hex, 12);
	memcpy(new->user, user.ptr, user.len);
	return TH_OK;
}

/* ---- the file of `thole token` ---- */

static enum th_code read_line(struct th_str line, struct th_tokens *t, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *v;
	struct th_token row = { 0 };
	struct th_str kind, of;
	enum th_code code = th_json_parse(line, &doc, err);

	if (code)
		return code;
	v = th_json_root(doc);
	kind = th_json_get_str(v, "kind");
	while (kind.len && row.kind < TH_TOKEN_KIND_COUNT &&
	       !th_str_is(kind, th_token_kind_name(row.kind)))
		row.kind++;
	if (row.kind == TH_TOKEN_KIND_COUNT)
		return th_fail(err, TH_EPROTO, "this version knows no such kind of token");
	if (!th_digest_parse(th_json_get_str(v, "digest"), &row.digest))
		return th_fail(err, TH_EPROTO, "digest is not 64 hexadecimal digits");
	of = th_json_get_str(v, "of");
	if (of.len >= sizeof(row.of))
		return th_fail(err, TH_EPROTO, "of is no id of a token");
	memcpy(row.of, of.ptr ? of.ptr : "", of.len);
	row.created_ms = th_json_get_int(v, "created_ms", 0);
	row.expires_ms = th_json_get_int(v, "expires_ms", 0);
	code = th_scopes_parse(th_json_get_str(v, "scopes"), &row.scopes, err);
	return code ? code : add(t, th_json_get_str(v, "user"), &row, err);
}

enum th_code th_tokens_load(const char *path, struct th_tokens *t, struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_TOKENS_SIZE_MAX);
	enum th_code code = th_file_read(path, TH_TOKENS_SIZE_MAX, &text, err);
	struct th_str rest = th_buf_str(&text);

	if (code == TH_ENOENT)
		return TH_OK;
	for (int number = 1; !code && rest.len; number++) {
		struct th_str line = th_str_trim(th_str_split(&rest, '\n'));

		if (line.len)
			code = th_prefix(err, read_line(line, t, err), "%s:%d", path, number);
	}
	return code;
}

enum th_code th_tokens_save(const char *path, const struct th_tokens *t, struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_TOKENS_SIZE_MAX);
	struct th_buf names TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	enum th_code code;

	for (size_t i = 0; i < t->count; i++) {
		struct th_jw w = th_jw(&text);
		char hex[TH_SHA256_HEX_SIZE + 1];

		th_buf_clear(&names);
		th_scopes_print(t->list[i].scopes, &names);
		th_digest_hex(&t->list[i].digest, hex);
		th_jw_object(&w);
		th_jw_kstr(&w, "id", th_str_of(t->list[i].id));
		th_jw_kstr(&w, "user", th_str_of(t->list[i].user));
		th_jw_kstr(&w, "scopes", th_buf_str(&names));
		th_jw_kint(&w, "created_ms", t->list[i].created_ms);
		if (t->list[i].kind != TH_TOKEN_KEY) {
			th_jw_kstr(&w, "kind", th_str_of(th_token_kind_name(t->list[i].kind)));
			th_jw_kint(&w, "expires_ms", t->list[i].expires_ms);
			th_jw_kstr(&w, "of", th_str_of(t->list[i].of));
		}
		th_jw_kstr(&w, "digest", th_str_of(hex));
		th_jw_object_end(&w);
		th_buf_add_char(&text, '\n');
	}
	code = th_buf_check(&text, "the file of tokens", err);
	return code ? code : th_file_write(path, th_buf_str(&text), 0600, err);
}

static void take_out(struct th_tokens *t, size_t i)
{
	memmove(&t->list[i], &t->list[i + 1], (t->count - i - 1) * sizeof(*t->list));
	t->count--;
}

static bool has_run_out(const struct th_token *row, int64_t now_ms)
{
	return row->kind != TH_TOKEN_KEY && row->expires_ms <= now_ms;
}

enum th_code th_tokens_change(const char *path, bool wait, th_tokens_change_fn *fn, void *ctx,
			      struct th_err *err)
{
	char beside[TH_PATH_LEN_MAX];
	struct th_tokens t = { 0 };
	int64_t now_ms = (int64_t)th_clock_wall_ms();
	int fd TH_CLEANUP(th_fd_close) = -1, status;
	enum th_code code;

	if ((size_t)snprintf(beside, sizeof(beside), "%s.lock", path) >= sizeof(beside))
		return th_fail(err, TH_ELIMIT, "%s: the path is too long", path);
	fd = open(beside, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return th_fail_errno(err, errno, "%s", beside);
	do
		status = flock(fd, wait ? LOCK_EX : LOCK_EX | LOCK_NB);
	while (status != 0 && errno == EINTR);
	if (status != 0 && errno == EWOULDBLOCK)
		return th_fail(err, TH_EBUSY, "somebody else changes the tokens; try again");
	if (status != 0)
		return th_fail_errno(err, errno, "%s", beside);
	code = th_tokens_load(path, &t, err);
	for (size_t i = t.count; !code && i-- > 0;)
		if (has_run_out(&t.list[i], now_ms))
			take_out(&t, i);
	if (!code)
		code = fn(ctx, &t, err);
	if (!code)
		code = th_tokens_save(path, &t, err);
	th_tokens_deinit(&t);
	return code;
}

/* ---- a file of plain tokens ---- */

static struct th_str word(struct th_str *line)
{
	struct th_str rest = th_str_trim(*line);
	size_t len = 0;

	while (len < rest.len && rest.ptr[len] != ' ' && rest.ptr[len] != '\t')
		len++;
	*line = th_str_sub(rest, len, rest.len - len);
	return th_str_sub(rest, 0, len);
}

static enum th_code read_plain(struct th_str line, struct th_tokens *t, struct th_err *err)
{
	struct th_str token = word(&line), user = word(&line), names = word(&line);
	struct th_token row = { 0 };
	enum th_code code;

	if (!names.len || th_str_trim(line).len)
		return th_fail(err, TH_EUSAGE, "a line is TOKEN USER SCOPES");
	if (token.len < TH_TOKEN_MIN || token.len > TH_TOKEN_MAX)
		return th_fail(err, TH_EUSAGE, "a token has %d to %d bytes", TH_TOKEN_MIN,
			       TH_TOKEN_MAX);
	code = th_scopes_parse(names, &row.scopes, err);
	row.digest = th_sha256_of(token.ptr, token.len);
	return code ? code : add(t, user, &row, err);
}

enum th_code th_tokens_read(const char *path, struct th_tokens *t, struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_wipe) = TH_BUF_INIT(TH_TOKENS_SIZE_MAX);
	struct th_str rest;
	enum th_code code;

	code = th_file_read_private(path, TH_TOKENS_SIZE_MAX, &text, err);
	rest = th_buf_str(&text);
	for (int number = 1; !code && rest.len; number++) {
		struct th_str line = th_str_trim(th_str_split(&rest, '\n'));

		if (line.len && line.ptr[0] != '#')
			code = th_prefix(err, read_plain(line, t, err), "%s:%d", path, number);
	}
	return code;
}

/* ---- one of them ---- */

/* Makes room for one more of a user: the oldest stands first. */
static void keep_few(struct th_tokens *t, enum th_token_kind kind, struct th_str user)
{
	size_t count = 0;

	for (size_t i = t->count; i-- > 0;)
		if (t->list[i].kind == kind && th_str_is(user, t->list[i].user) &&
		    ++count >= TH_LOGINS_USER_MAX)
			take_out(t, i);
}

static enum th_code make(struct th_tokens *t, struct th_str user, struct th_token *row,
			 struct th_buf *ret_text, struct th_err *err)
{
	static const char letters[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	unsigned char random[44];
	size_t start = ret_text->len;
	enum th_code code;

	th_random(random, sizeof(random)); /* six bits of each: 264 */
	if (row->kind == TH_TOKEN_KEY)
		th_buf_add_cstr(ret_text, PREFIX);
	for (size_t i = 0; i < sizeof(random); i++)
		th_buf_add_char(ret_text, letters[random[i] & 63]);
	explicit_bzero(random, sizeof(random));
	code = th_buf_check(ret_text, "the token", err);
	if (code)
		return code;
	row->digest = th_sha256_of(ret_text->ptr + start, ret_text->len - start);
	code = add(t, user, row, err);
	if (code)
		th_buf_truncate(ret_text, start);
	return code;
}

enum th_code th_tokens_new(struct th_tokens *t, struct th_str user, unsigned all,
			   struct th_buf *ret_text, struct th_err *err)
{
	struct th_token row = { .scopes = all, .created_ms = (int64_t)th_clock_wall_ms() };

	return make(t, user, &row, ret_text, err);
}

enum th_code th_tokens_new_for(struct th_tokens *t, enum th_token_kind kind, struct th_str user,
			       unsigned all, const char *of, int64_t life_ms,
			       struct th_buf *ret_text, struct th_err *err)
{
	int64_t now_ms = (int64_t)th_clock_wall_ms();
	struct th_token row = {
		.kind = kind,
		.scopes = all,
		.created_ms = now_ms,
		.expires_ms = now_ms + life_ms,
	};

	snprintf(row.of, sizeof(row.of), "%s", of);
	keep_few(t, kind, user);
	return make(t, user, &row, ret_text, err);
}

enum th_code th_tokens_revoke(struct th_tokens *t, struct th_str id, struct th_err *err)
{
	bool found = false;

	for (size_t i = t->count; i-- > 0;) {
		bool is_it = th_str_is(id, t->list[i].id);

		if (!is_it && !(id.len && th_str_is(id, t->list[i].of)))
			continue;
		found = found || is_it;
		take_out(t, i);
	}
	if (found)
		return TH_OK;
	return th_fail(err, TH_ENOENT, "there is no token %.*s; thole token list names them",
		       (int)TH_MIN(id.len, (size_t)40), id.ptr);
}

static const struct th_token *find(const struct th_tokens *t, enum th_token_kind kind,
				   struct th_str text)
{
	const struct th_token *found = NULL;
	struct th_digest digest = th_sha256_of(text.ptr, text.len);

	for (size_t i = 0; i < t->count; i++)
		if (th_digest_eq(&t->list[i].digest, &digest) && t->list[i].kind == kind)
			found = &t->list[i];
	return found;
}

const struct th_token *th_tokens_find(const struct th_tokens *t, struct th_str text)
{
	return find(t, TH_TOKEN_KEY, text);
}

static bool is_good(const struct th_tokens *t, const struct th_token *row, int64_t now_ms,
		    struct th_token *ret)
{
	const struct th_token *of = NULL;

	if (!row || has_run_out(row, now_ms))
		return false;
	*ret = *row;
	if (!row->of[0])
		return true;
	for (size_t i = 0; i < t->count; i++)
		if (t->list[i].kind == TH_TOKEN_KEY && strcmp(t->list[i].id, row->of) == 0)
			of = &t->list[i];
	if (!of || strcmp(of->user, row->user) != 0)
		return false;
	ret->scopes &= of->scopes;
	return true;
}

bool th_tokens_find_of(const struct th_tokens *t, enum th_token_kind kind, struct th_str text,
		       int64_t now_ms, struct th_token *ret)
{
	return is_good(t, find(t, kind, text), now_ms, ret);
}

bool th_tokens_holds(const struct th_tokens *t, const struct th_digest *digest, int64_t now_ms,
		     struct th_token *ret)
{
	const struct th_token *row = NULL;

	for (size_t i = 0; i < t->count && !row; i++)
		if (t->list[i].kind != TH_TOKEN_CODE &&
		    memcmp(&t->list[i].digest, digest, sizeof(*digest)) == 0)
			row = &t->list[i];
	return is_good(t, row, now_ms, ret);
}
