/* SPDX-License-Identifier: Apache-2.0 */
/* oauth_read.c - what others say: challenges, documents, registrations, tokens. */
#include "base/field.h"
#include "base/json.h"
#include "base/text.h"
#include "wire/authority.h"
#include "wire/oauth.h"
#include "wire/percent.h"

#define WELL_KNOWN_RESOURCE "/.well-known/oauth-protected-resource"
#define WELL_KNOWN_SERVER "/.well-known/oauth-authorization-server"
#define WELL_KNOWN_OPENID "/.well-known/openid-configuration"

const char *const th_oauth_methods[] = { "none", "client_secret_basic", "client_secret_post",
					 "private_key_jwt", NULL };

bool th_oauth_is_safe(struct th_str url)
{
	struct th_str authority = th_authority_of_url(url);
	struct th_str host = th_authority_host(authority);

	for (size_t i = 0; i < url.len; i++)
		if (url.ptr[i] <= 0x20 || url.ptr[i] >= 0x7f || strchr("\"'`<>\\^{|}#", url.ptr[i]))
			return false;
	if (!host.len || url.len > TH_OAUTH_TEXT_MAX || th_str_find_char(authority, '@') >= 0 ||
	    th_str_find_char(authority, '?') >= 0)
		return false;
	return th_str_istarts(url, TH_STR("https://")) ||
	       (th_str_istarts(url, TH_STR("http://")) && th_authority_is_loopback(authority));
}

/* ---- challenges ----------------------------------------------------------------------------- */

static bool is_token_char(char c)
{
	return c > 0x20 && c < 0x7f && !strchr("()<>@,;:\\\"/[]?={}", c);
}

static void skip(struct th_str *s, const char *chars)
{
	while (s->len && s->ptr[0] && strchr(chars, s->ptr[0]))
		*s = th_str_sub(*s, 1, s->len);
}

static struct th_str take_word(struct th_str *s)
{
	struct th_str word = { s->ptr, 0 };

	while (word.len < s->len && is_token_char(s->ptr[word.len]))
		word.len++;
	*s = th_str_sub(*s, word.len, s->len);
	return word;
}

/* A word, or a string in quotes.  False: it is neither, or too long. */
static bool take_value(struct th_str *s, struct th_buf *out)
{
	if (!s->len || s->ptr[0] != '"') {
		size_t len = 0;

		while (len < s->len && s->ptr[len] != ',' && s->ptr[len] > 0x20)
			len++;
		th_buf_add(out, th_str_sub(*s, 0, len));
		*s = th_str_sub(*s, len, s->len);
		return len > 0 && !out->failed;
	}
	for (size_t i = 1; i < s->len; i++) {
		if (s->ptr[i] == '"') {
			*s = th_str_sub(*s, i + 1, s->len);
			return !out->failed;
		}
		if (s->ptr[i] == '\\' && i + 1 < s->len)
			i++;
		th_buf_add_char(out, s->ptr[i]);
	}
	return false;
}

static void note_member(struct th_str name, struct th_str value, struct th_arena *a,
			struct th_oauth_challenge *ret)
{
	struct th_str *at = th_str_ieq(name, TH_STR("resource_metadata")) ? &ret->metadata
			    : th_str_ieq(name, TH_STR("scope"))           ? &ret->scope
			    : th_str_ieq(name, TH_STR("error"))           ? &ret->error
									  : NULL;

	if (at && !at->len)
		*at = th_arena_str(a, value);
}

/* A word is the name of a way, or of a way's member when "=" follows. */
bool th_oauth_challenge_read(struct th_str s, struct th_arena *a, struct th_oauth_challenge *ret)
{
	struct th_buf value = TH_BUF_INIT(TH_OAUTH_TEXT_MAX);
	bool ours = false, good = true;

	*ret = (struct th_oauth_challenge){ 0 };
	for (int ways = 0; good && ways <= TH_OAUTH_CHALLENGES_MAX;) {
		struct th_str word, rest;

		skip(&s, " \t,");
		word = take_word(&s);
		rest = s;
		skip(&rest, " \t");
		if (!word.len || (ours && (!rest.len || rest.ptr[0] != '=')))
			break;
		if (!ways || !rest.len || rest.ptr[0] != '=') {
			ours = th_str_ieq(word, TH_STR("Bearer"));
			ways++;
			continue;
		}
		s = th_str_sub(rest, 1, rest.len);
		skip(&s, " \t");
		th_buf_clear(&value);
		good = take_value(&s, &value);
		if (ours && good)
			note_member(word, th_buf_str(&value), a, ret);
	}
	th_buf_deinit(&value);
	return ours;
}

/* ---- documents ------------------------------------------------------------------------------ */

struct th_str th_oauth_origin(struct th_str url)
{
	struct th_str authority = th_authority_of_url(url);

	if (!authority.ptr)
		return (struct th_str){ NULL, 0 };
	return th_str_n(url.ptr, (size_t)(authority.ptr - url.ptr) + authority.len);
}

/* Without a query and a slash at the end. */
static struct th_str path_of(struct th_str url)
{
	struct th_str path = th_str_sub(url, th_oauth_origin(url).len, url.len);

	path = th_str_split(&path, '?');
	while (path.len && path.ptr[path.len - 1] == '/')
		path.len--;
	return path;
}

static bool put_place(struct th_str url, struct th_str before, const char *word,
		      struct th_str after, struct th_buf *out)
{
	th_buf_clear(out);
	th_buf_add(out, th_oauth_origin(url));
	th_buf_add(out, before);
	th_buf_add_cstr(out, word);
	th_buf_add(out, after);
	return true;
}

bool th_oauth_resource_place(struct th_str url, size_t index, struct th_buf *out)
{
	struct th_str path = path_of(url), none = { NULL, 0 };

	if (index > 1 || (index == 1 && !path.len))
		return false;
	return put_place(url, none, WELL_KNOWN_RESOURCE, index ? none : path, out);
}

bool th_oauth_issuer_place(struct th_str issuer, size_t index, struct th_buf *out)
{
	struct th_str path = path_of(issuer), none = { NULL, 0 };

	switch (index) {
	case 0:
		return put_place(issuer, none, WELL_KNOWN_SERVER, path, out);
	case 1:
		return put_place(issuer, none, WELL_KNOWN_OPENID, path, out);
	case 2:
		return path.len && put_place(issuer, path, WELL_KNOWN_OPENID, none, out);
	default:
		return false;
	}
}

/* A list of words as one string.  False: it is too long. */
static bool put_words(const struct th_json *list, struct th_arena *a, struct th_str *ret)
{
	struct th_buf out = TH_BUF_INIT(TH_OAUTH_TEXT_MAX);
	struct th_json_iter it = th_json_iter(list);
	bool good;

	while (th_json_is_array(list) && th_json_next(&it)) {
		struct th_str word = th_json_str(it.val);

		for (size_t i = 0; i < word.len; i++)
			if (word.ptr[i] <= 0x20 || word.ptr[i] >= 0x7f)
				word.len = 0;
		if (!word.len)
			continue;
		th_buf_add_cstr(&out, out.len ? " " : "");
		th_buf_add(&out, word);
	}
	good = !out.failed;
	*ret = good ? th_arena_str(a, th_buf_str(&out)) : (struct th_str){ NULL, 0 };
	th_buf_deinit(&out);
	return good;
}

static enum th_code parse(struct th_str json, const char *what, struct th_json_doc **ret,
			  struct th_err *err)
{
	if (json.len > TH_OAUTH_JSON_MAX)
		return th_fail(err, TH_ELIMIT, "%s has more than %zu bytes", what,
			       TH_OAUTH_JSON_MAX);
	if (th_json_parse_secret(json, ret, NULL) || !th_json_is_object(th_json_root(*ret)))
		return th_fail(err, TH_EPROTO, "%s is no JSON object", what);
	return TH_OK;
}

/* What others say goes into sentences only as one short line. */
static void put_said(struct th_str s, struct th_buf *out)
{
	th_text_line(out, th_utf8_cut(s, 200), 200);
}

static enum th_code fail_said(struct th_err *err, const char *before, struct th_str said,
			      const char *after)
{
	struct th_buf text = TH_BUF_INIT(2 * TH_KIB);

	put_said(said, &text);
	th_fail(err, TH_EPROTO, "%s%s%s", before, text.len ? text.ptr : "nothing", after);
	th_buf_deinit(&text);
	return TH_EPROTO;
}

/* The same server, and its path or one above it. */
static bool is_of(struct th_str resource, struct th_str url)
{
	struct th_str path = path_of(resource), all = path_of(url);

	return th_str_ieq(th_oauth_origin(resource), th_oauth_origin(url)) &&
	       th_str_starts(all, path) && (all.len == path.len || all.ptr[path.len] == '/');
}

enum th_code th_oauth_resource_read(struct th_str json, struct th_str url, struct th_arena *a,
				    struct th_oauth_resource *ret, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	enum th_code code = parse(json, "the server's document about its tokens", &doc, err);
	const struct th_json *root = th_json_root(doc);
	struct th_str resource = th_json_get_str(root, "resource");
	struct th_str issuer =
	    th_json_str(th_json_at(th_json_get(root, "authorization_servers"), 0));

	if (code)
		return code;
	*ret = (struct th_oauth_resource){ 0 };
	if (!is_of(resource, url))
		return fail_said(err, "the server's document about its tokens is that of ",
				 resource, ", not of the server");
	if (!th_oauth_is_safe(issuer))
		return fail_said(err, "the server's document names as its authorization server ",
				 issuer, ", which is no https address");
	if (!put_words(th_json_get(root, "scopes_supported"), a, &ret->scopes))
		return th_fail(err, TH_ELIMIT, "the server's document has too many scopes");
	ret->resource = th_arena_str(a, resource);
	ret->issuer = th_arena_str(a, issuer);
	return ret->issuer.ptr ? TH_OK : th_fail(err, TH_ELIMIT, "the document is too large");
}

static unsigned methods_of(const struct th_json *list)
{
	struct th_json_iter it = th_json_iter(list);
	unsigned ret = 0;

	if (!th_json_is_array(list))
		return 1u << TH_OAUTH_BASIC;
	while (th_json_next(&it)) {
		int method = th_names_find(th_oauth_methods, th_json_str(it.val));

		if (method >= 0)
			ret |= 1u << method;
	}
	return ret;
}

static bool has_word(const struct th_json *list, const char *word)
{
	struct th_json_iter it = th_json_iter(list);

	while (th_json_is_array(list) && th_json_next(&it))
		if (th_str_is(th_json_str(it.val), word))
			return true;
	return false;
}

static enum th_code take_address(const struct th_json *root, const char *name, bool needed,
				 struct th_arena *a, struct th_str *ret, struct th_err *err)
{
	struct th_str said = th_json_get_str(root, name);

	if (!said.len && !needed)
		return TH_OK;
	if (!th_oauth_is_safe(said))
		return fail_said(err,
				 "the authorization server's document has an address that is "
				 "not https: ",
				 said, "");
	*ret = th_arena_str(a, said);
	return ret->ptr ? TH_OK : th_fail(err, TH_ELIMIT, "the document is too large");
}

enum th_code th_oauth_server_read(struct th_str json, struct th_str issuer, struct th_arena *a,
				  struct th_oauth_server *ret, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	enum th_code code = parse(json, "the authorization server's document", &doc, err);
	const struct th_json *root = th_json_root(doc);

	if (code)
		return code;
	if (!th_str_eq(th_json_get_str(root, "issuer"), issuer))
		return fail_said(err, "the authorization server's document is that of ",
				 th_json_get_str(root, "issuer"), ", not of the issuer asked");
	*ret = (struct th_oauth_server){
		.issuer = th_arena_str(a, issuer),
		.methods = methods_of(th_json_get(root, "token_endpoint_auth_methods_supported")),
		.has_s256 = has_word(th_json_get(root, "code_challenge_methods_supported"), "S256"),
		.has_documents =
		    th_json_bool(th_json_get(root, "client_id_metadata_document_supported"), false),
		.says_issuer = th_json_bool(
		    th_json_get(root, "authorization_response_iss_parameter_supported"), false),
	};
	if (!put_words(th_json_get(root, "scopes_supported"), a, &ret->scopes))
		ret->scopes = (struct th_str){ NULL, 0 }; /* only offline_access is looked for */
	code = take_address(root, "authorization_endpoint", false, a, &ret->authorize, err);
	if (!code)
		code = take_address(root, "token_endpoint", true, a, &ret->token, err);
	if (!code)
		code =
		    take_address(root, "registration_endpoint", false, a, &ret->registration, err);
	return code;
}

/* ---- answers -------------------------------------------------------------------------------- */

/* Visible ASCII, so that it fits into a header and a form. */
static bool is_visible(struct th_str s, size_t size_max)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] < 0x21 || s.ptr[i] > 0x7e)
			return false;
	return s.len > 0 && s.len <= size_max;
}

enum th_oauth_method th_oauth_method_of(const struct th_oauth_server *s, bool has_secret)
{
	if (!has_secret)
		return TH_OAUTH_NONE;
	return s->methods & 1u << TH_OAUTH_BASIC || !(s->methods & 1u << TH_OAUTH_POST)
		   ? TH_OAUTH_BASIC
		   : TH_OAUTH_POST;
}

enum th_code th_oauth_registration_read(struct th_str json, const struct th_oauth_server *s,
					struct th_arena *a, struct th_oauth_client *ret,
					struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	enum th_code code = parse(json, "the answer to our registration", &doc, err);
	const struct th_json *root = th_json_root(doc);
	struct th_str id = th_json_get_str(root, "client_id");
	struct th_str secret = th_json_get_str(root, "client_secret");
	struct th_str word = th_json_get_str(root, "token_endpoint_auth_method");
	int method = th_names_find(th_oauth_methods, word);

	if (code)
		return code;
	if (!is_visible(id, TH_OAUTH_TEXT_MAX) ||
	    (secret.len && !is_visible(secret, TH_OAUTH_TEXT_MAX)))
		return th_fail(err, TH_EPROTO,
			       "the answer to our registration has no client_id that can be used");
	*ret = (struct th_oauth_client){ th_arena_str(a, id), th_arena_str(a, secret),
					 th_oauth_method_of(s, secret.len > 0) };
	if (method == TH_OAUTH_NONE || (method > 0 && method != TH_OAUTH_JWT && secret.len))
		ret->method = (enum th_oauth_method)method;
	return ret->id.ptr ? TH_OK : th_fail(err, TH_ELIMIT, "the answer is too large");
}

static enum th_code refused(int status, const struct th_json *root, struct th_err *err)
{
	struct th_buf text = TH_BUF_INIT(2 * TH_KIB);
	struct th_str word = th_json_get_str(root, "error");
	struct th_str more = th_json_get_str(root, "error_description");
	bool final = status / 100 == 4 && status != 408 && status != 429;

	put_said(word.len ? word : TH_STR("no reason"), &text);
	if (more.len) {
		th_buf_add_cstr(&text, ": ");
		put_said(more, &text);
	}
	th_fail(err, final ? TH_EPERM : TH_EPROTO,
		"the authorization server gave no token (HTTP status %d, %s)", status, text.ptr);
	th_buf_deinit(&text);
	return err->code;
}

enum th_code th_oauth_tokens_read(int status, struct th_str json, struct th_arena *a,
				  struct th_oauth_tokens *ret, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_err own = { 0 };
	enum th_code code = parse(json, "the authorization server's answer", &doc, &own);
	const struct th_json *root = th_json_root(doc);
	struct th_str access = th_json_get_str(root, "access_token");
	struct th_str refresh = th_json_get_str(root, "refresh_token");
	struct th_str scope = th_json_get_str(root, "scope");
	int64_t expires = th_json_get_int(root, "expires_in", 0);

	if (status / 100 != 2) {
		refused(status, root, &own);
		if (err)
			*err = own;
		return own.code;
	}
	if (code) {
		if (err)
			*err = own;
		return code;
	}
	if (!th_str_ieq(th_json_get_str(root, "token_type"), TH_STR("bearer")))
		return th_fail(err, TH_EPROTO,
			       "the authorization server gave a token that is no bearer token");
	if (!is_visible(access, TH_OAUTH_TOKEN_MAX) ||
	    (refresh.len && !is_visible(refresh, TH_OAUTH_TOKEN_MAX)))
		return th_fail(err, TH_EPROTO,
			       "the authorization server gave a token that cannot be used");
	if (scope.len > TH_OAUTH_TEXT_MAX)
		return th_fail(err, TH_ELIMIT, "the token's scope is too long");
	*ret = (struct th_oauth_tokens){
		.access = th_arena_str(a, access),
		.refresh = th_arena_str(a, refresh),
		.scope = th_arena_str(a, scope),
		.expires_s = expires > 0 && expires < INT32_MAX ? expires : 0,
	};
	return ret->access.ptr ? TH_OK : th_fail(err, TH_ELIMIT, "the answer is too large");
}
