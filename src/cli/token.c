/* SPDX-License-Identifier: Apache-2.0 */
/* token.c - thole token: who may call thole serve. */
#include "cli/token.h"

#include <stdio.h>

#include "base/limits.h"
#include "cli/cli.h"
#include "io/files.h"
#include "server/tokens.h"

struct token_options {
	struct th_str scopes;
	bool json;
};

static const struct th_option token_options[] = {
	{ "scopes", 0, "LIST", TH_OPTION_TEXT, offsetof(struct token_options, scopes),
	  "new: what it is for, with commas: read, run, approve, admin (default: read,run,approve)",
	  NULL },
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

enum th_code th_token_make(struct th_str store, struct th_str user, struct th_str scopes,
			   struct th_buf *ret_text, struct th_err *err)
{
	struct th_tokens t = { 0 };
	char path[TH_PATH_LEN_MAX];
	unsigned all;
	enum th_code code = th_scopes_parse(scopes, &all, err);

	snprintf(path, sizeof(path), "%.*s", TH_FMT(store));
	if (!code)
		code = th_tokens_load(path, &t, err);
	if (!code)
		code = th_tokens_new(&t, user, all, ret_text, err);
	if (!code)
		code = th_tokens_save(path, &t, err);
	th_tokens_deinit(&t);
	return code;
}

static int make(const struct token_options *o, struct th_str store, struct th_str user)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_err err = {};

	if (th_token_make(store, user, o->scopes.len ? o->scopes : TH_STR("read,run,approve"),
			  &text, &err) != TH_OK)
		return th_cli_fail(&err);
	th_buf_add_char(&text, '\n');
	return th_cli_print(&text, 0);
}

static void print_one(const struct token_options *o, const struct th_token *t, struct th_buf *out)
{
	struct th_buf scopes TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_jw w = th_jw(out);

	th_scopes_print(t->scopes, &scopes);
	if (!o->json) {
		th_buf_printf(out, "%s  %-16s %s  ", t->id, t->user, scopes.ptr);
		th_cli_ago(out, t->created_ms);
		th_buf_add_char(out, '\n');
		return;
	}
	th_jw_object(&w);
	th_jw_kstr(&w, "id", th_str_of(t->id));
	th_jw_kstr(&w, "user", th_str_of(t->user));
	th_jw_kstr(&w, "scopes", th_buf_str(&scopes));
	th_jw_kint(&w, "created_ms", t->created_ms);
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
	th_tokens_deinit(&t);
	return th_cli_print(&out, 0);
}

static int revoke(const char *path, struct th_str id)
{
	struct th_tokens t = { 0 };
	struct th_err err = {};
	enum th_code code = th_tokens_load(path, &t, &err);

	if (!code)
		code = th_tokens_revoke(&t, id, &err);
	if (!code)
		code = th_tokens_save(path, &t, &err);
	th_tokens_deinit(&t);
	return code ? th_cli_fail(&err) : 0;
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
		return make(&o, store, th_str_of(rest.list[1]));
	if (th_str_is(word, "list") && rest.count == 1)
		return list(&o, path);
	if (th_str_is(word, "revoke") && rest.count == 2)
		return revoke(path, th_str_of(rest.list[1]));
	return th_cli_die(2, "token wants new USER, list, or revoke ID; see %s help token",
			  th_cli_program());
}

const struct th_command th_command_token = {
	.name = "token",
	.operands = "new USER|list|revoke ID",
	.summary = "who may call thole serve",
	.text =
	    "A token belongs to a user and has scopes: read (look at sessions), run (begin them, "
	    "say something, hold and\n"
	    "stop them), approve (decide about calls), admin (figures of the whole server, "
	    "import). "
	    "new prints the token\n"
	    "this one time: only its digest is kept. A server that runs sees changes at once.\n\n"
	    "Examples:\n"
	    "  thole token new alice\n"
	    "  thole token new watcher --scopes read\n"
	    "  thole token revoke 3f1c22aa90b1\n",
	.options = token_options,
	.words = "new list revoke",
	.run = run_token,
};
