/* SPDX-License-Identifier: Apache-2.0 */
/* fleet.c - thole fleet: who works on this log, and on how much. */
#include "admin/nodes.h"
#include "base/json.h"
#include "base/label.h"
#include "base/text.h"
#include "cli/cli.h"
#include "remote/remote.h"

#define LIST_MAX ((TH_FLEET_NODES_MAX + TH_STORE_SLOW_MAX) * 4 * TH_KIB)

struct fleet_options {
	struct th_common common;
	bool json;
};

static const struct th_option fleet_options[] = {
	TH_OPTION_JSON(struct fleet_options, json),
	TH_OPTIONS_SERVER(struct fleet_options, common),
	TH_OPTIONS_COMMON(struct fleet_options, common),
	TH_OPTIONS_END,
};

/* ---- what is asked ---- */

struct list {
	struct th_buf *out; /* {"nodes":[…],"slow":[…]} */
	size_t count;
};

static enum th_code list_node(void *ctx, const struct th_node *node, struct th_err *err)
{
	struct list *l = ctx;

	th_buf_add_cstr(l->out, l->count++ ? "," : "");
	th_node_print(node, l->out);
	return th_buf_check(l->out, "the list of nodes", err);
}

static enum th_code list_slow(void *ctx, const struct th_slow *slow, struct th_err *err)
{
	struct list *l = ctx;

	th_buf_add_cstr(l->out, l->count++ ? "," : "");
	th_slow_print(slow, l->out);
	return th_buf_check(l->out, "the list of statements", err);
}

static enum th_code ask_store(struct th_common *o, struct th_buf *out, struct th_err *err)
{
	struct th_store *store TH_CLEANUP(th_cli_storep) = NULL;
	struct list l = { .out = out };
	enum th_code code = th_cli_store(o, false, &store, err);

	if (code == TH_OK && !store->kind->nodes)
		return th_fail(err, TH_EUNSUPPORTED,
			       "the log is of this machine alone; a fleet has it on PostgreSQL "
			       "(docs/FLEET.md)");
	th_buf_add_cstr(out, "{\"nodes\":[");
	if (code == TH_OK)
		code = store->kind->nodes(store, TH_STR(""), list_node, &l, err);
	th_buf_add_cstr(out, "],\"slow\":[");
	l.count = 0;
	if (code == TH_OK && store->kind->slow)
		code = store->kind->slow(store, list_slow, &l, err);
	th_buf_add_cstr(out, "]}");
	return code;
}

static enum th_code ask(struct th_common *o, struct th_buf *out, struct th_err *err)
{
	struct th_remote *remote TH_CLEANUP(th_remote_freep) = NULL;
	const struct th_remote_request q = { .method = "GET", .path = TH_STR("/api/fleet") };
	enum th_code code;

	if (!th_remote_wanted(o))
		return ask_store(o, out, err);
	code = th_remote_new(o, &remote, err);
	return code == TH_OK ? th_remote_call(remote, &q, out, err) : code;
}

/* ---- what is shown ---- */

static const char *state_of(const struct th_json *node)
{
	if (!th_json_get_str(node, "host").len)
		return "nobody"; /* sessions that were handed over */
	if (th_json_get_int(node, "lease_ms", 0) == 0)
		return "dead";
	return th_json_bool(th_json_get(node, "draining"), false) ? "draining" : "live";
}

static void cell(struct th_buf *out, struct th_str text, size_t width)
{
	size_t start = out->len, columns;

	th_text_line(out, text, TH_MAX(width, (size_t)TH_FLEET_TEXT_MAX));
	columns = th_utf8_count(th_str_sub(th_buf_str(out), start, out->len));
	th_buf_printf(out, "%*s", (int)(1 + (columns < width ? width - columns : 0)), "");
}

/* "-": none waits. */
static void print_wait(const struct th_json *node, struct th_buf *out)
{
	if (th_json_get_int(node, "queue", 0) == 0)
		th_buf_printf(out, "%7s ", "-");
	else
		th_buf_printf(out, "%7.1f ", (double)th_json_get_int(node, "queue_ms", 0) / 1000);
	th_buf_printf(out, "%6lld ", (long long)th_json_get_int(node, "slow", 0));
}

static void print_node(const struct th_json *node, struct th_buf *out)
{
	static const char *const states[] = { "running", "waiting", "paused", "others" };
	const struct th_json *sessions = th_json_get(node, "sessions");
	struct th_buf process TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf labels TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_LABELS_TEXT_MAX);
	struct th_json_iter it = th_json_iter(th_json_get(node, "labels"));
	struct th_str name = th_json_get_str(node, "name"), host = th_json_get_str(node, "host");

	cell(out, name.len ? name : TH_STR("-"), 12);
	cell(out, th_str_of(state_of(node)), 8);
	for (size_t i = 0; i < TH_COUNT(states); i++)
		th_buf_printf(out, "%7lld ", (long long)th_json_get_int(sessions, states[i], 0));
	th_buf_printf(out, "%7.1f ", (double)th_json_get_int(node, "seen_ms", 0) / 1000);
	print_wait(node, out);
	if (host.len)
		th_buf_printf(&process, "%lld@", (long long)th_json_get_int(node, "process", 0));
	th_text_line(&process, host, 64);
	cell(out, th_buf_str(&process), 20);
	cell(out, th_json_get_str(node, "address"), 24);
	while (th_json_next(&it))
		th_labels_add(&labels, th_json_str(it.val), ", ");
	th_text_line(out, th_buf_str(&labels), 2 * TH_LABELS_TEXT_MAX);
	th_buf_add_char(out, '\n');
}

/* Below the table: nothing, if all is well. */
static void print_slow(const struct th_json *slow, struct th_buf *out)
{
	struct th_str host = th_json_get_str(slow, "host"), waits = th_json_get_str(slow, "waits");

	th_buf_printf(out, "slow: process %lld of the database, for %.1f s",
		      (long long)th_json_get_int(slow, "process", 0),
		      (double)th_json_get_int(slow, "ms", 0) / 1000);
	th_buf_add_cstr(out, host.len ? ", from " : "");
	th_text_line(out, host, 64);
	th_buf_add_cstr(out, waits.len ? ", waits for " : "");
	th_text_line(out, waits, 64);
	th_buf_add_cstr(out, ": ");
	th_text_line(out, th_json_get_str(slow, "statement"), TH_STORE_SLOW_TEXT_MAX);
	th_buf_add_char(out, '\n');
}

static void print_raw(struct th_str list, struct th_buf *out)
{
	struct th_json_raw_iter raw = th_json_raw_iter(list);

	while (th_json_raw_next(&raw)) {
		th_buf_add(out, raw.val);
		th_buf_add_char(out, '\n');
	}
}

static enum th_code print(struct th_str text, bool json, struct th_buf *out, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_iter it;
	enum th_code code = th_json_parse(text, &doc, err);

	if (code != TH_OK)
		return code;
	if (json) {
		print_raw(th_json_raw_get(text, "nodes"), out);
		print_raw(th_json_raw_get(text, "slow"), out);
		return TH_OK;
	}
	th_buf_printf(out, "%-12s %-8s %7s %7s %7s %7s %7s %7s %6s %-20s %-24s labels\n", "node",
		      "state", "running", "waiting", "paused", "others", "seen s", "queue s",
		      "slow", "process", "address");
	it = th_json_iter(th_json_get(th_json_root(doc), "nodes"));
	while (th_json_next(&it))
		print_node(it.val, out);
	it = th_json_iter(th_json_get(th_json_root(doc), "slow"));
	while (th_json_next(&it))
		print_slow(it.val, out);
	return TH_OK;
}

static int run_fleet(const struct th_command *self, int argc, char **argv)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(LIST_MAX);
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(LIST_MAX);
	struct fleet_options o = {};
	struct th_operands rest;
	struct th_err err = {};
	enum th_code code = th_options_parse(self, argc, argv, &o, &rest, &err);

	if (code != TH_OK)
		return code == TH_ECANCELED ? 0 : th_cli_fail(&err);
	if (rest.count > 0)
		return th_cli_die(2, "fleet has no operands; see %s help fleet", th_cli_program());
	code = ask(&o.common, &text, &err);
	if (code == TH_OK)
		code = print(th_buf_str(&text), o.json, &out, &err);
	return code == TH_OK ? th_cli_print(&out, 0) : th_cli_fail(&err);
}

const struct th_command th_command_fleet = {
	.name = "fleet",
	.operands = "",
	.summary = "the nodes that work on one log, and how many sessions each has",
	.text =
	    "Of a log on PostgreSQL: each runtime with its sessions by state, and how long ago it "
	    "said that it lives.\n"
	    "States: live; draining (it gives up what it has); dead (others take what it had); "
	    "nobody (sessions that\n"
	    "were handed over, or whose time has come, and that nobody has taken yet).  queue s: "
	    "so "
	    "long the first\n"
	    "of a user's sessions has waited to be taken.  slow: statements of the node that took "
	    "longer than a second;\n"
	    "those that the database has under way now stand below, as with --json.  docs/FLEET.md "
	    "says how nodes\n"
	    "are made.\n\n"
	    "Examples:\n"
	    "  thole fleet --store postgres:///thole\n"
	    "  thole fleet --server https://agents.example.org --json\n",
	.options = fleet_options,
	.run = run_fleet,
};
