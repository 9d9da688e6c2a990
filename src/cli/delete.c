/* SPDX-License-Identifier: Apache-2.0 */
/* delete.c - thole delete and thole usage: sessions removed for good, and what all of them used. */
#include "admin/remove.h"
#include "admin/usage.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/holder.h"
#include "exec_client/client.h"
#include "remote/remote.h"

#define LIST_MAX (64 * TH_MIB)

/* ---- delete ---- */

struct delete_options {
	struct th_common common;
};

static const struct th_option delete_options[] = {
	TH_OPTIONS_COMMON(struct delete_options, common),
	TH_OPTIONS_SERVER(struct delete_options, common),
	TH_OPTIONS_END,
};

/* What it leaves behind: a process that nobody comes back to, and pieces in the file. */
static enum th_code clear_up(struct th_store *store, const struct th_common *o,
			     const struct th_family *gone, struct th_err *err)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_executor_options eo = { .only_running = true };
	struct th_err ignored;
	bool more = true;
	enum th_code code;

	th_arena_init(&a, TH_MIB);
	code = th_cli_scope(o, &a, &eo.scope, err);
	for (size_t i = 0; i < gone->count && !code; i++) {
		eo.session = gone->ids[i];
		/* One that does not answer ends itself when nobody comes back. */
		if (th_executor_client_end_once(&eo, &ignored))
			continue;
	}
	while (more && !code)
		code = store->kind->sweep(store, &more, err);
	return code;
}

static int delete_here(struct th_store *store, const struct th_common *o, struct th_str id)
{
	struct th_family *gone = NULL;
	struct th_err err = {};
	enum th_code code = th_session_remove(store, store, id, &gone, &err);

	if (!code)
		code =
		    th_prefix(&err, clear_up(store, o, gone, &err), "the session is deleted, but");
	th_family_free(gone);
	return code ? th_holder_fail(&err) : 0;
}

static int run_delete(const struct th_command *self, int argc, char **argv)
{
	struct delete_options o = {};
	struct th_operands rest;
	struct th_remote *remote TH_CLEANUP(th_remote_freep) = NULL;
	struct th_store *store TH_CLEANUP(th_cli_storep) = NULL;
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_session_row row;
	struct th_err err = {};
	enum th_code code = th_options_parse(self, argc, argv, &o, &rest, &err);

	th_arena_init(&a, TH_MIB);
	if (code != TH_OK)
		return code == TH_ECANCELED ? 0 : th_cli_fail(&err);
	if (rest.count == 0)
		return th_cli_names_none(self);
	if (rest.count > 1)
		return th_cli_die(2, "delete takes one session");
	code = th_remote_find(&o.common, &remote, &err);
	if (code == TH_OK)
		code = th_cli_session(&o.common, true, th_str_of(rest.list[0]), &a, &store, &row,
				      &err);
	if (code != TH_OK)
		return th_cli_fail(&err);
	return remote ? th_remote_delete(&o.common, row.session_id)
		      : delete_here(store, &o.common, row.session_id);
}

const struct th_command th_command_delete = {
	.name = "delete",
	.operands = "NAME",
	.summary = "remove a session from the log for good",
	.text = "Its events go, with the sessions that work for it and the pictures that no other "
		"session names; what it\n"
		"used stays in thole usage. Refused while a program runs it, or while a session "
		"that was forked from it\n"
		"is there. Its working folder is left alone. The name must be whole or the only "
		"one that begins so.\n\n"
		"Examples:\n"
		"  thole delete report\n"
		"  thole sessions --state finished --names | xargs -n 1 thole delete\n",
	.options = delete_options,
	.words = "SESSION",
	.run = run_delete,
};

/* ---- usage ---- */

struct usage_options {
	struct th_common common;
	bool json;
	struct th_str by, from, to, user;
	int64_t limit;
};

static const struct th_option usage_options[] = {
	{ "by", 0, "WHAT", TH_OPTION_TEXT, offsetof(struct usage_options, by),
	  "one line for each day (default), user, agent, model or session",
	  "day user agent model session" },
	{ "from", 0, "DAY", TH_OPTION_TEXT, offsetof(struct usage_options, from),
	  "from this day on, such as 2026-01-31 (UTC)", NULL },
	{ "to", 0, "DAY", TH_OPTION_TEXT, offsetof(struct usage_options, to),
	  "up to this day, which counts", NULL },
	{ "user", 0, "NAME", TH_OPTION_TEXT, offsetof(struct usage_options, user),
	  "only of this user; at a server yours, and another's or * with the scope admin", NULL },
	{ "limit", 'n', "N", TH_OPTION_INT, offsetof(struct usage_options, limit),
	  "by session: at most N, the last used first (default: 100)", NULL },
	TH_OPTION_JSON(struct usage_options, json),
	TH_OPTIONS_SERVER(struct usage_options, common),
	TH_OPTIONS_COMMON(struct usage_options, common),
	TH_OPTIONS_END,
};

struct table {
	const struct th_usage_ask *ask;
	bool json;
	struct th_buf out;
	struct th_usage_row sum;
	size_t count;
};

static void cell(struct th_buf *out, const struct th_buf *text, size_t width)
{
	size_t columns = th_utf8_count(th_buf_str(text));

	th_buf_printf(out, "%*s", (int)(columns < width ? width - columns : 0), "");
	th_buf_add(out, th_buf_str(text));
}

static void number_cell(struct th_buf *out, int64_t n)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	th_cli_number(&text, n);
	cell(out, &text, 9);
}

static void counts_line(struct th_buf *out, struct th_str key, const struct th_usage_row *c)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	size_t start = out->len, columns;

	th_text_line(out, key, 36);
	columns = th_utf8_count(th_str_sub(th_buf_str(out), start, out->len - start));
	th_buf_printf(out, "%*s", (int)(columns < 36 ? 36 - columns : 0), "");
	number_cell(out, c->sessions);
	number_cell(out, c->turns);
	number_cell(out, c->tokens_in);
	number_cell(out, c->tokens_cached);
	number_cell(out, c->tokens_out);
	if (!c->cost_nano && c->tokens_in + c->tokens_out > 0) /* nobody said a price */
		th_buf_add_cstr(&text, "not known");
	else
		th_cli_cost(&text, c->cost_nano);
	cell(out, &text, 12);
	th_buf_add_char(out, '\n');
}

static enum th_code add_line(void *ctx, const struct th_usage_line *line, struct th_err *err)
{
	struct table *t = ctx;

	if (t->json) {
		struct th_jw w = th_jw(&t->out);

		th_jw_object(&w);
		th_usage_line_print(t->ask, line, &w);
		th_jw_object_end(&w);
		th_buf_add_char(&t->out, '\n');
	} else {
		if (!t->count)
			th_buf_printf(&t->out, "%-36s%9s%9s%9s%9s%9s%12s\n",
				      th_usage_by_name(t->ask), "sessions", "turns", "in", "cached",
				      "out", "cost");
		counts_line(&t->out, line->key.len ? line->key : TH_STR("(none)"), &line->counts);
	}
	t->count++;
	t->sum.sessions += line->counts.sessions;
	t->sum.turns += line->counts.turns;
	t->sum.tokens_in += line->counts.tokens_in;
	t->sum.tokens_cached += line->counts.tokens_cached;
	t->sum.tokens_out += line->counts.tokens_out;
	t->sum.cost_nano += line->counts.cost_nano;
	return th_buf_check(&t->out, "the list", err);
}

static enum th_code read_ask(const struct usage_options *o, struct th_usage_ask *ask,
			     struct th_err *err)
{
	const struct {
		const char *name;
		struct th_str value;
	} given[] = { { "by", o->by }, { "from", o->from }, { "to", o->to }, { "user", o->user } };
	enum th_code code = TH_OK;

	for (size_t i = 0; i < TH_COUNT(given) && !code; i++)
		if (given[i].value.ptr)
			code =
			    th_prefix(err, th_usage_option(given[i].name, given[i].value, ask, err),
				      "--%s", given[i].name);
	ask->limit = o->limit > 0 ? (size_t)o->limit : 0;
	return code;
}

static int run_usage(const struct th_command *self, int argc, char **argv)
{
	struct usage_options o = { .limit = -1 };
	struct th_usage_ask ask = {};
	struct table t = { .ask = &ask };
	struct th_operands rest;
	struct th_remote *remote TH_CLEANUP(th_remote_freep) = NULL;
	struct th_store *store TH_CLEANUP(th_cli_storep) = NULL;
	struct th_err err = {};
	enum th_code code = th_options_parse(self, argc, argv, &o, &rest, &err);
	int exit_code;

	if (code != TH_OK)
		return code == TH_ECANCELED ? 0 : th_cli_fail(&err);
	if (rest.count > 0)
		return th_cli_die(2, "usage takes no name; --by session has them all");
	if (o.limit == 0)
		return th_cli_die(2, "--limit must be above 0");
	t.json = o.json;
	th_buf_init(&t.out, LIST_MAX);
	code = read_ask(&o, &ask, &err) ?: th_remote_find(&o.common, &remote, &err);
	if (code == TH_OK)
		code = th_cli_store(&o.common, false, &store, &err);
	if (code == TH_OK)
		code = th_usage_report(store, &ask, add_line, &t, NULL, &err);
	if (code == TH_OK && !t.json && t.count > 1)
		counts_line(&t.out, TH_STR("all"), &t.sum);
	if (code != TH_OK)
		exit_code = th_cli_fail(&err);
	else if (t.count == 0 && !t.json)
		exit_code = th_cli_die(0, "nothing was used");
	else
		exit_code = th_cli_print(&t.out, 0);
	th_buf_deinit(&t.out);
	return exit_code;
}

const struct th_command th_command_usage = {
	.name = "usage",
	.operands = "",
	.summary = "tokens and cost by day, user, agent, model or session",
	.text = "What sessions used, deleted ones too, on the days on which they went on. Tokens "
		"that came from a\n"
		"cache (cached) are among those that went in. What an agent's helper sessions "
		"used is in its own\n"
		"session's line.\n\n"
		"Examples:\n"
		"  thole usage\n"
		"  thole usage --by user --from 2026-01-01 --to 2026-01-31\n"
		"  thole usage --by session -n 10\n"
		"  thole usage --by model --json | jq -s 'map(.cost_usd) | add'\n",
	.options = usage_options,
	.run = run_usage,
};
