/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/login.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/field.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/wiped.h"
#include "io/clock.h"
#include "io/files.h"
#include "io/sign.h"

/* The members that are plain text. */
static const struct {
	const char *name;
	size_t offset;
} texts[] = {
	{ "url", offsetof(struct th_mcp_login, url) },
	{ "issuer", offsetof(struct th_mcp_login, issuer) },
	{ "token_endpoint", offsetof(struct th_mcp_login, token_at) },
	{ "resource", offsetof(struct th_mcp_login, resource) },
	{ "scope", offsetof(struct th_mcp_login, scope) },
	{ "redirect", offsetof(struct th_mcp_login, redirect) },
	{ "client_id", offsetof(struct th_mcp_login, client_id) },
	{ "key_file", offsetof(struct th_mcp_login, key_file) },
	{ "note_metadata", offsetof(struct th_mcp_login, note_metadata) },
	{ "note_scope", offsetof(struct th_mcp_login, note_scope) },
};

static const struct {
	const char *name;
	size_t offset;
} secrets[] = {
	{ "client_secret", offsetof(struct th_mcp_login, client_secret) },
	{ "access_token", offsetof(struct th_mcp_login, access) },
	{ "refresh_token", offsetof(struct th_mcp_login, refresh) },
};

static struct th_str *text_at(const struct th_mcp_login *l, size_t i)
{
	return (struct th_str *)((uintptr_t)l + texts[i].offset);
}

static struct th_secret **secret_at(const struct th_mcp_login *l, size_t i)
{
	return (struct th_secret **)((uintptr_t)l + secrets[i].offset);
}

void th_mcp_login_init(struct th_mcp_login *l, struct th_str url)
{
	*l = (struct th_mcp_login){ 0 };
	th_arena_init(&l->memory, TH_OAUTH_FILE_MAX);
	l->url = th_arena_str(&l->memory, url);
}

void th_mcp_login_deinit(struct th_mcp_login *l)
{
	for (size_t i = 0; i < TH_COUNT(secrets); i++)
		*secret_at(l, i) = th_secret_free(*secret_at(l, i));
	th_arena_deinit(&l->memory);
}

/* Makes the folder.  TH_EIO, …: it cannot be had. */
static enum th_code path_of(struct th_str url, const char *end, char *ret, struct th_err *err)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);
	struct th_digest digest = th_sha256_of(url.ptr, url.len);
	char hex[TH_SHA256_HEX_SIZE + 1];
	enum th_code code = th_dir_of(TH_DIR_STATE, &path, err);

	th_digest_hex(&digest, hex);
	th_buf_add_cstr(&path, "/mcp");
	if (!code)
		code = th_buf_check(&path, "the path of the logins", err);
	if (!code)
		code = th_dir_make(path.ptr, 0700, err);
	th_buf_printf(&path, "/%s%s", hex, end);
	if (!code)
		code = th_buf_check(&path, "the path of the logins", err);
	if (!code)
		snprintf(ret, TH_PATH_LEN_MAX, "%s", path.ptr);
	return code;
}

static enum th_code parse(struct th_mcp_login *l, struct th_str json, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *root;
	int method;

	if (th_json_parse_secret(json, &doc, err))
		return th_prefix(err, TH_EPROTO, "the file of the login");
	root = th_json_root(doc);
	method = th_names_find(th_oauth_methods, th_json_get_str(root, "method"));
	if (!th_str_eq(th_json_get_str(root, "url"), l->url) || method < 0)
		return th_fail(err, TH_EPROTO, "the file of the login cannot be read");
	for (size_t i = 0; i < TH_COUNT(texts); i++)
		*text_at(l, i) = th_arena_str(&l->memory, th_json_get_str(root, texts[i].name));
	for (size_t i = 0; i < TH_COUNT(secrets); i++) {
		struct th_str value = th_json_get_str(root, secrets[i].name);

		th_secret_free(*secret_at(l, i));
		*secret_at(l, i) = value.len ? th_secret_new(value) : NULL;
	}
	l->method = (enum th_oauth_method)method;
	l->given = th_json_bool(th_json_get(root, "given"), false);
	l->by_client = th_json_bool(th_json_get(root, "by_client"), false);
	l->noted = th_json_bool(th_json_get(root, "noted"), false);
	l->expires_s = th_json_get_int(root, "expires_s", 0);
	return TH_OK;
}

enum th_code th_mcp_login_read(struct th_mcp_login *l, struct th_err *err)
{
	struct th_buf text = TH_BUF_INIT(TH_OAUTH_FILE_MAX);
	struct th_str url = l->url;
	char path[TH_PATH_LEN_MAX];
	enum th_code code = path_of(url, ".json", path, err);

	if (!code)
		code = th_file_read(path, TH_OAUTH_FILE_MAX, &text, err);
	if (!code) {
		struct th_mcp_login fresh;

		th_mcp_login_init(&fresh, url);
		code = parse(&fresh, th_buf_str(&text), err);
		th_mcp_login_deinit(code ? &fresh : l);
		if (!code)
			*l = fresh;
	}
	th_buf_wipe(&text);
	return code;
}

enum th_code th_mcp_login_write(const struct th_mcp_login *l, struct th_err *err)
{
	struct th_buf text = TH_BUF_INIT(TH_OAUTH_FILE_MAX);
	struct th_jw w = th_jw(&text);
	char path[TH_PATH_LEN_MAX];
	enum th_code code = path_of(l->url, ".json", path, err);

	th_jw_object(&w);
	for (size_t i = 0; i < TH_COUNT(texts); i++)
		if (text_at(l, i)->len)
			th_jw_kstr(&w, texts[i].name, *text_at(l, i));
	th_jw_kstr(&w, "method", th_str_of(th_oauth_methods[l->method]));
	th_jw_kbool(&w, "given", l->given);
	th_jw_kbool(&w, "by_client", l->by_client);
	th_jw_kbool(&w, "noted", l->noted);
	th_jw_kint(&w, "expires_s", l->expires_s);
	for (size_t i = 0; i < TH_COUNT(secrets); i++)
		if (*secret_at(l, i))
			th_jw_kstr(&w, secrets[i].name, th_secret_expose(*secret_at(l, i)));
	th_jw_object_end(&w);
	th_buf_add_char(&text, '\n');
	if (!code)
		code = th_buf_check(&text, "the login", err);
	if (!code)
		code = th_file_write(path, th_buf_str(&text), 0600, err);
	th_buf_wipe(&text);
	return code;
}

enum th_code th_mcp_login_remove(struct th_str url, struct th_err *err)
{
	char path[TH_PATH_LEN_MAX];
	enum th_code code = path_of(url, ".json", path, err);

	if (!code && unlink(path))
		code =
		    th_fail_errno(err, errno, "the login of %.*s", TH_FMT(th_str_sub(url, 0, 200)));
	return code;
}

int th_mcp_login_lock(struct th_str url)
{
	char path[TH_PATH_LEN_MAX];
	int fd;

	if (path_of(url, ".lock", path, NULL))
		return -1;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB))
		th_fd_close(&fd);
	return fd;
}

static void set_secret(struct th_secret **at, struct th_str value)
{
	th_secret_free(*at);
	*at = th_secret_new(value);
}

void th_mcp_login_take(struct th_mcp_login *l, const struct th_oauth_tokens *t, int64_t now_s)
{
	set_secret(&l->access, t->access);
	if (t->refresh.len)
		set_secret(&l->refresh, t->refresh);
	if (t->scope.len)
		l->scope = th_arena_str(&l->memory, t->scope);
	l->expires_s = t->expires_s ? now_s + t->expires_s : 0;
	l->note_metadata = l->note_scope = (struct th_str){ NULL, 0 };
	l->noted = false;
}

struct th_oauth_client th_mcp_login_client(const struct th_mcp_login *l)
{
	return (struct th_oauth_client){
		.id = l->client_id,
		.secret = l->client_secret ? th_secret_expose(l->client_secret) : TH_STR(""),
		.method = l->method,
	};
}

enum th_code th_mcp_login_assertion(const struct th_mcp_login *l, int64_t now_s, struct th_buf *out,
				    struct th_err *err)
{
	struct th_buf pem = TH_BUF_INIT(TH_OAUTH_JSON_MAX), bytes = TH_BUF_INIT(4 * TH_KIB);
	struct th_uuid id = th_uuid_now();
	char path[TH_PATH_LEN_MAX], text[TH_UUID_TEXT_SIZE + 1];
	struct th_sign *key = NULL;
	enum th_code code;

	th_uuid_text(&id, text);
	snprintf(path, sizeof(path), "%.*s", TH_FMT(l->key_file));
	code = th_file_read(path, TH_OAUTH_JSON_MAX, &pem, err);
	if (!code)
		code = th_sign_new(th_buf_str(&pem), &key, err);
	if (!code) {
		th_oauth_assertion_put(l->client_id, l->issuer, th_str_of(text),
				       th_str_of(th_sign_algorithm(key)), now_s, out);
		code = th_sign(key, th_buf_str(out), &bytes, err);
	}
	if (!code) {
		th_buf_add_char(out, '.');
		th_oauth_base64(out, bytes.ptr, bytes.len);
		code = th_buf_check(out, "what shows who the client is", err);
	} else {
		th_prefix(err, code, "%s", path);
	}
	th_buf_wipe(&pem);
	th_buf_deinit(&bytes);
	th_sign_free(key);
	return code;
}

void th_mcp_login_note(struct th_str url, const struct th_oauth_challenge *c)
{
	struct th_mcp_login l;
	enum th_code code;
	int lock = -1;

	/* An address that is not read is not written down: the next login asks the server itself,
	 * and says so. */
	if (!c->metadata.len || th_oauth_is_safe(c->metadata))
		lock = th_mcp_login_lock(url);
	/* What cannot be written down costs the next login a question to the server. */
	if (lock < 0)
		return;
	th_mcp_login_init(&l, url);
	code = th_mcp_login_read(&l, NULL);
	if ((code == TH_OK || code == TH_ENOENT) &&
	    (!l.noted || !th_str_eq(l.note_metadata, c->metadata) ||
	     !th_str_eq(l.note_scope, c->scope))) {
		l.noted = true;
		l.note_metadata = c->metadata;
		l.note_scope = c->scope;
		(void)!th_mcp_login_write(&l, NULL);
	}
	th_mcp_login_deinit(&l);
	th_fd_close(&lock);
}
