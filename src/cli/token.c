/* SPDX-License-Identifier: Apache-2.0 */
/* token.c - thole token: who may call thole serve. */
#include "cli/token.h"

#include <stdio.h>

#include "base/limits.h"
#include "cli/cli.h"
#include "io/files.h"
#include "server/tokens.h"

struct token_options {
	struct th_common common;
	struct th_str scopes, url;
	bool json;
};

static const struct th_option token_options[] = {
	{ "scopes", 0, "LIST", TH_OPTION_TEXT, offsetof(struct token_options, scopes),
	  "new, link: what it is for, with commas: read, run, approve, admin (default: "
	  "read,run,approve)",
	  NULL },
	{ "url", 0, "URL", TH_OPTION_TEXT, offsetof(struct token_options, url),
	  "link: where a browser finds the server (default: serve.public_url of the "
	  "configuration, or http://127.0.0.1:7711)",
	  NULL },
	TH_OPTION_CONFIG(struct token_options, common.config),
	TH_OPTION_JSON(struct token_options, json),
	TH_OPTIONS_END,
};

enum th_code th_token_store(struct th_arena *a, struct th_str *ret, struct th_err *err)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);
	enum th_code code = th_dir_of(TH_DIR_STATE, &path, err);

	th_buf_add_cstr(&path, "/tokens.jsonl");
	if (!code)
		code = th_buf_check(&path, "the path of the tokens", err);
	if (!code)
		*ret = th_arena_str(a, th_buf_str(&path));
	return code;
}

/* ---- what is made ---- */

struct making {
	enum th_token_kind kind;
	struct th_str user;
	unsigned scopes;
	struct th_buf *text;
};

static enum th_code make_one(void *ctx, struct th_tokens *t, struct th_err *err)
{
	const struct making *m = ctx;

	return m->kind == TH_TOKEN_KEY ? th_tokens_new(t, m->user, m->scopes, m->text, err)
				       : th_tokens_new_for(t, m->kind, m->user, m->scopes, "",
							   TH_LOGIN_CODE_MS, m->text, err);
}

static enum th_code make(struct th_str store, enum th_token_kind kind, struct th_str user,
			 struct th_str scopes, struct th_buf *ret_text, struct th_err *err)
{
	struct making m = { .kind = kind, .user = user, .text = ret_text };
	char path[TH_PATH_LEN_MAX];
	enum th_code code = th_scopes_parse(scopes, &m.scopes, err);

	snprintf(path, sizeof(path), "%.*s", TH_FMT(store));
	return code ? code : th_tokens_change(path, true, make_one, &m, err);
}

enum th_code th_token_link(struct th_str store, struct th_str url, struct th_str user,
			   struct th_str scopes, struct th_buf *ret_text, struct th_err *err)
{
	while (url.len && url.ptr[url.len - 1] == '/')
		url.len--;
	th_buf_add(ret_text, url);
	th_buf_add_cstr(ret_text, "/#code=");
	return make(store, TH_TOKEN_CODE, user, scopes, ret_text, err);
}

static struct th_str scopes_of(const struct token_options *o)
{
	return o->scopes.len ? o->scopes : TH_STR("read,run,approve");
}

static int make_token(const struct token_options *o, struct th_str store, struct th_str user)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_err err = {};

	if (make(store, TH_TOKEN_KEY, user, scopes_of(o), &text, &err) != TH_OK)
		return th_cli_fail(&err);
	th_buf_add_char(&text, '\n');
	return th_cli_print(&text, 0);
}

/* The address that the configuration gives to clients. */
static enum th_code public_url(const struct token_options *o, struct th_arena *a,
			       struct th_str *ret, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_config *config = NULL;
	enum th_code code = th_cli_config(&o->common, &config, err);

	*ret = TH_STR("http://127.0.0.1:7711");
	if (!code && config->serve.len)
		code = th_json_parse(config->serve, &doc, err);
	if (!code && th_json_get_str(th_json_root(doc), "public_url").len)
		*ret = th_arena_str(a, th_json_get_str(th_json_root(doc), "public_url"));
	th_config_free(config);
	return code;
}

static int make_link(const struct token_options *o, struct th_str store, struct th_str user)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_str url = o->url;
	struct th_err err = {};

	th_arena_init(&a, TH_MIB);
	if (!url.len && public_url(o, &a, &url, &err) != TH_OK)
		return th_cli_fail(&err);
	if (!th_str_istarts(url, TH_STR("http://")) && !th_str_istarts(url, TH_STR("https://")))
		return th_cli_die(2, "--url begins with http:// or https://");
	if (th_token_link(store, url, user, scopes_of(o), &text, &err) != TH_OK)
		return th_cli_fail(&err);
	th_buf_add_char(&text, '\n');
	return th_cli_print(&text, 0);
}

/* ---- what there is ---- */

static void print_one(const struct token_options *o, const struct th_token *t, struct th_buf *out)
{
	struct th_buf scopes TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_jw w = th_jw(out);

	th_scopes_print(t->scopes, &scopes);
	if (!o->json) {
		th_buf_printf(out, "%s  %-16s %-6s %s  ", t->id, t->user,
			      th_token_kind_name(t->kind), scopes.ptr);
		th_cli_ago(out, t->created_ms);
		th_buf_add_char(out, '\n');
		return;
	}
	th_jw_object(&w);
	th_jw_kstr(&w, "id", th_str_of(t->id));
	th_jw_kstr(&w, "user", th_str_of(t->user));
	th_jw_kstr(&w, "kind", th_str_of(th_token_kind_name(t->kind)));
	th_jw_kstr(&w, "scopes", th_buf_str(&scopes));
	th_jw_kint(&w, "created_ms", t->created_ms);
	if (t->kind != TH_TOKEN_KEY)
		th_jw_kint(&w, "expires_ms", t->expires_ms);
	th_jw_object_end(&w);
	th_buf_add_char(out, '\n');
}

static int list(const struct token_options *o, const char *path)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_TOKENS_SIZE_MAX);
	struct th_tokens t = { 0 };
	struct th_err err = {};

	if (th_tokens_load(path, &t, &err) != TH_OK)
		return th_cli_fail(&err);
	for (size_t i = 0; i < t.count; i++)
		print_one(o, &t.list[i], &out);
	if (!t.count && !o->json)
		(void)th_cli_die(0, "there is no token yet; %s token new USER makes one",
				 th_cli_program());
	th_tokens_deinit(&t);
	return th_cli_print(&out, 0);
}

static enum th_code revoke_one(void *ctx, struct th_tokens *t, struct th_err *err)
{
	const struct th_str *id = ctx;

	return th_tokens_revoke(t, *id, err);
}

static int revoke(const char *path, struct th_str id)
{
	struct th_err err = {};

	return th_tokens_change(path, true, revoke_one, &id, &err) ? th_cli_fail(&err) : 0;
}

static int run_token(const struct th_command *self, int argc, char **argv)
{
	struct token_options o = {};
	struct th_operands rest;
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_str word, store;
	struct th_err err = {};
	const char *path;
	enum th_code code = th_options_parse(self, argc, argv, &o, &rest, &err);

	th_arena_init(&a, TH_MIB);
	if (code != TH_OK)
		return code == TH_ECANCELED ? 0 : th_cli_fail(&err);
	if (th_token_store(&a, &store, &err) != TH_OK)
		return th_cli_fail(&err);
	path = th_arena_cstr(&a, store);
	word = th_str_of(rest.count > 0 ? rest.list[0] : "");
	if (th_str_is(word, "new") && rest.count == 2)
		return make_token(&o, store, th_str_of(rest.list[1]));
	if (th_str_is(word, "link") && rest.count <= 2)
		return make_link(&o, store,
				 rest.count == 2 ? th_str_of(rest.list[1]) : TH_STR("local"));
	if (th_str_is(word, "list") && rest.count == 1)
		return list(&o, path);
	if (th_str_is(word, "revoke") && rest.count == 2)
		return revoke(path, th_str_of(rest.list[1]));
	return th_cli_die(
	    2, "token wants new USER, link [USER], list, or revoke ID; see %s help token",
	    th_cli_program());
}

const struct th_command th_command_token = {
	.name = "token",
	.operands = "new USER|link [USER]|list|revoke ID",
	.summary = "who may call thole serve",
	.text =
	    "A token belongs to a user and has scopes: read (look at sessions), run (begin them, "
	    "say something, hold and\n"
	    "stop them), approve (decide about calls), admin (figures of the whole server, "
	    "import). "
	    "new prints the token\n"
	    "this one time: only its digest is kept. link prints a link for a browser, good for "
	    "one "
	    "login within ten minutes\n"
	    "(user local, whose sessions are those of the command line, where none is named); list "
	    "shows logins, too, and\n"
	    "revoke ends them, as it does those that were made with the token. A server that runs "
	    "sees changes at once.\n\n"
	    "Examples:\n"
	    "  thole token new alice\n"
	    "  thole token new watcher --scopes read\n"
	    "  thole token link alice --url https://agents.example.org\n"
	    "  thole token revoke 3f1c22aa90b1\n",
	.options = token_options,
	.words = "new link list revoke",
	.run = run_token,
};
