/* SPDX-License-Identifier: Apache-2.0 */
/* sessions.c - thole sessions and thole fork: the sessions of a log, and a copy of one. */
#include "admin/edit.h"
#include "base/limits.h"
#include "base/text.h"
#include "cli/cli.h"
#include "core/session.h"
#include "io/clock.h"
#include "remote/remote.h"

#define LIST_MAX (64 * TH_MIB)

/* ---- sessions ---- */

struct sessions_options {
	struct th_common common;
	bool json, names;
	struct th_str state, user, agent, title, text, metadata, order, after;
	int64_t limit;
};

static const struct th_option sessions_options[] = {
	{ "state", 0, "STATE", TH_OPTION_TEXT, offsetof(struct sessions_options, state),
	  "only sessions in this state",
	  "idle running waiting paused scheduled stopped finished failed stuck limit" },
	{ "limit", 'n', "N", TH_OPTION_INT, offsetof(struct sessions_options, limit),
	  "at most N sessions, the newest (default: all)", NULL },
	{ "after", 0, "CURSOR", TH_OPTION_TEXT, offsetof(struct sessions_options, after),
	  "the next page: after the session with this cursor in the output of --json", NULL },
	{ "user", 0, "NAME", TH_OPTION_TEXT, offsetof(struct sessions_options, user),
	  "only sessions of this user", NULL },
	{ "agent", 0, "NAME", TH_OPTION_TEXT, offsetof(struct sessions_options, agent),
	  "only sessions of this agent", NULL },
	{ "title", 0, "TEXT", TH_OPTION_TEXT, offsetof(struct sessions_options, title),
	  "only sessions whose task begins with a line that has this text", NULL },
	{ "text", 0, "TEXT", TH_OPTION_TEXT, offsetof(struct sessions_options, text),
	  "only sessions whose title has this text, or the words of the first task", NULL },
	{ "metadata", 0, "KEY=VALUE", TH_OPTION_TEXT, offsetof(struct sessions_options, metadata),
	  "only sessions with this metadata", NULL },
	{ "order", 0, "TIME", TH_OPTION_TEXT, offsetof(struct sessions_options, order),
	  "by the time of the last event, or of the first (default: updated)", "updated created" },
	{ "json", 'j', NULL, TH_OPTION_FLAG, offsetof(struct sessions_options, json),
	  "JSON lines, every column, and a cursor for --after", NULL },
	{ "names", 0, NULL, TH_OPTION_FLAG, offsetof(struct sessions_options, names), "names only",
	  NULL },
	TH_OPTIONS_SERVER(struct sessions_options, common),
	TH_OPTIONS_COMMON(struct sessions_options, common),
	TH_OPTIONS_END,
};

struct listing {
	const struct sessions_options *o;
	enum th_list_order order;
	struct th_buf out;
	int count;
};

static void row_json(const struct th_session_row *row, enum th_list_order order, struct th_buf *out)
{
	struct th_buf cursor TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_jw w = th_jw(out);
	char head[TH_SHA256_HEX_SIZE + 1];

	th_digest_hex(&row->head, head);
	th_jw_object(&w);
	th_jw_kstr(&w, "session", row->session_id);
	th_jw_kstr(&w, "state", row->state);
	th_jw_kstr(&w, "agent", row->agent);
	th_jw_kstr(&w, "model", row->model);
	th_jw_kstr(&w, "title", row->title);
	if (row->user.len)
		th_jw_kstr(&w, "user", row->user);
	if (row->parent.len) {
		th_jw_kstr(&w, "parent", row->parent);
		th_jw_kuint(&w, "parent_seq", row->parent_seq);
	}
	th_jw_kuint(&w, "head_seq", row->head_seq);
	th_jw_kstr(&w, "head", th_str_of(head));
	th_jw_kint(&w, "turns", row->iteration);
	th_jw_kint(&w, "calls", row->calls);
	th_jw_kint(&w, "tokens_in", row->tokens_in);
	th_jw_kint(&w, "tokens_out", row->tokens_out);
	th_jw_kint(&w, "cost_nano", row->cost_nano);
	th_jw_kint(&w, "created_ms", row->created_ms);
	th_jw_kint(&w, "updated_ms", row->updated_ms);
	if (row->owner.len)
		th_jw_kstr(&w, "owner", row->owner);
	if (row->metadata.len)
		th_jw_kraw(&w, "metadata", row->metadata);
	th_cursor_print(order, row, &cursor);
	th_jw_kstr(&w, "cursor", th_buf_str(&cursor));
	th_jw_object_end(&w);
	th_buf_add_char(out, '\n');
}

#define STATE_COLUMNS 9 /* "scheduled" */

/* A cell of at least `width` columns, and one blank behind. */
static void cell(struct th_buf *out, struct th_str text, size_t width)
{
	size_t start = out->len, columns;

	th_text_line(out, text, TH_MAX(width, (size_t)TH_UUID_TEXT_SIZE));
	columns = th_utf8_count(th_str_sub(th_buf_str(out), start, out->len));
	th_buf_printf(out, "%*s", (int)(1 + (columns < width ? width - columns : 0)), "");
}

static void row_line(const struct th_session_row *row, struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	cell(out, row->session_id, TH_UUID_TEXT_SIZE);
	cell(out, row->state, STATE_COLUMNS);
	th_buf_printf(out, "%5lld ", (long long)row->iteration);
	if (row->cost_nano)
		th_cli_cost(&text, row->cost_nano);
	cell(out, th_buf_str(&text), 8);
	th_buf_clear(&text);
	th_cli_ago(&text, row->updated_ms);
	cell(out, th_buf_str(&text), 11);
	th_text_line(out, row->title, 60);
	th_buf_add_char(out, '\n');
}

static enum th_code list_row(void *ctx, const struct th_session_row *row,
			     struct th_err *err TH_UNUSED)
{
	struct listing *l = ctx;

	l->count++;
	if (l->o->json) {
		row_json(row, l->order, &l->out);
	} else if (l->o->names) {
		th_text_line(&l->out, row->session_id, TH_SESSION_ID_MAX);
		th_buf_add_char(&l->out, '\n');
	} else {
		if (l->count == 1)
			th_buf_printf(&l->out, "%-36s %-*s turns %-8s %-11s task\n", "session",
				      STATE_COLUMNS, "state", "cost", "updated");
		row_line(row, &l->out);
	}
	return TH_OK;
}

/* What --after, --order and the filters say. */
static enum th_code read_filter(const struct sessions_options *o, struct th_session_filter *f,
				struct th_err *err)
{
	ptrdiff_t equals = th_str_find_char(o->metadata, '=');

	f->state = o->state;
	f->user = o->user;
	f->agent = o->agent;
	f->title = o->title;
	f->text = o->text;
	f->limit = o->limit > 0 ? (size_t)o->limit : 0;
	if (th_str_is(o->order, "created"))
		f->order = TH_LIST_CREATED;
	else if (o->order.len && !th_str_is(o->order, "updated"))
		return th_fail(err, TH_EUSAGE, "--order is updated or created, not \"%.*s\"",
			       TH_FMT(th_utf8_cut(o->order, 80)));
	if (o->metadata.ptr && equals < 1)
		return th_fail(err, TH_EUSAGE, "--metadata needs KEY=VALUE");
	if (equals > 0) {
		f->key = th_str_sub(o->metadata, 0, (size_t)equals);
		f->value = th_str_sub(o->metadata, (size_t)equals + 1, o->metadata.len);
	}
	if (!o->after.ptr)
		return TH_OK;
	if (o->order.len && o->after.len &&
	    (o->after.ptr[0] == 'c') != (f->order == TH_LIST_CREATED))
		return th_fail(err, TH_EUSAGE, "the cursor is of a list in another order");
	return th_cursor_parse(o->after, f, err);
}

/* It asks for more than a state. */
static bool has_more(const struct sessions_options *o)
{
	return o->user.ptr || o->agent.ptr || o->title.ptr || o->text.ptr || o->metadata.ptr;
}

static int run_sessions(const struct th_command *self, int argc, char **argv)
{
	struct sessions_options o = { .limit = -1 };
	struct th_operands rest;
	struct th_remote *remote TH_CLEANUP(th_remote_freep) = NULL;
	struct th_store *store TH_CLEANUP(th_cli_storep) = NULL;
	struct listing l = { .o = &o };
	struct th_session_filter filter = {};
	struct th_err err = {};
	enum th_code code = th_options_parse(self, argc, argv, &o, &rest, &err);
	const char *where = "in this log";
	int exit_code;

	if (code != TH_OK)
		return code == TH_ECANCELED ? 0 : th_cli_fail(&err);
	if (rest.count > 0)
		return th_cli_die(2, "sessions takes no name; %s log NAME shows one",
				  th_cli_program());
	if (o.state.ptr && th_state_find(o.state) < 0)
		return th_cli_die(2, "no state \"%s\"; see %s sessions --help", o.state.ptr,
				  th_cli_program());
	if (o.limit == 0)
		return th_cli_die(2, "--limit must be above 0");
	code = read_filter(&o, &filter, &err);
	if (code != TH_OK)
		return th_cli_fail(&err);
	l.order = filter.order;
	code = th_remote_find(&o.common, &remote, &err);
	if (code != TH_OK)
		return th_cli_fail(&err);
	if (remote)
		where = "on this server";
	code = th_cli_store(&o.common, false, &store, &err);
	if (code == TH_ENOENT && (o.names || o.json))
		return 0; /* none yet: an empty list for programs */
	th_buf_init(&l.out, LIST_MAX);
	if (code == TH_OK)
		code = store->kind->list(store, &filter, list_row, &l, &err);
	if (code != TH_OK)
		exit_code = th_cli_fail(&err);
	else if (l.count > 0 || o.json || o.names)
		exit_code = th_cli_print(&l.out, 0);
	else if (o.after.ptr)
		exit_code = th_cli_die(0, "no sessions behind this cursor");
	else if (has_more(&o))
		exit_code = th_cli_die(0, "no such session %s", where);
	else if (o.state.ptr)
		exit_code = th_cli_die(0, "no session %s is %s", where, o.state.ptr);
	else
		exit_code = th_cli_die(0, "no sessions %s", where);
	th_buf_deinit(&l.out);
	return exit_code;
}

const struct th_command th_command_sessions = {
	.name = "sessions",
	.operands = "",
	.summary = "the sessions of the log, newest first",
	.text = "States: idle (nothing asked yet), running, waiting (for a person: thole approve, "
		"thole reject),\n"
		"paused (thole resume), scheduled, stopped, finished, failed, stuck, limit. A "
		"session that is "
		"\"running\" while no program runs it was interrupted; thole resume continues it.\n"
		"\n"
		"Examples:\n"
		"  thole sessions\n"
		"  thole sessions --state waiting\n"
		"  thole sessions --order created --limit 50 --json\n"
		"  thole sessions --order created --after CURSOR --json   (the last line's)\n"
		"  thole sessions --json | jq -r 'select(.cost_nano > 1e9) | .session'\n",
	.options = sessions_options,
	.run = run_sessions,
};

/* ---- fork ---- */

struct fork_options {
	struct th_common common;
};

static const struct th_option fork_options[] = {
	TH_OPTIONS_SERVER(struct fork_options, common),
	TH_OPTIONS_COMMON(struct fork_options, common),
	TH_OPTIONS_END,
};

static int fork_to(struct th_store *store, struct th_str source, uint64_t seq, struct th_str target)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_buf line TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_err err = {};

	if (th_edit_fork(store, store, source, seq, target, &err) != TH_OK)
		return th_cli_fail(&err);
	th_text_line(&line, target, TH_SESSION_ID_MAX);
	th_buf_printf(&out, "%s\n", line.ptr);
	return th_cli_print(&out, 0);
}

static int run_fork(const struct th_command *self, int argc, char **argv)
{
	struct fork_options o = {};
	struct th_operands rest;
	struct th_remote *remote TH_CLEANUP(th_remote_freep) = NULL;
	struct th_store *store TH_CLEANUP(th_cli_storep) = NULL;
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_session_row row;
	struct th_uuid id = th_uuid_now();
	char text[TH_UUID_TEXT_SIZE + 1];
	struct th_str source, target;
	int64_t seq = 0;
	ptrdiff_t at;
	struct th_err err = {};
	enum th_code code = th_options_parse(self, argc, argv, &o, &rest, &err);

	th_arena_init(&a, TH_MIB);
	if (code != TH_OK)
		return code == TH_ECANCELED ? 0 : th_cli_fail(&err);
	if (rest.count < 1 || rest.count > 2)
		return th_cli_die(2, "fork needs NAME or NAME@EVENT, and may have the new name");
	source = th_str_of(rest.list[0]);
	at = th_str_find_char(source, '@');
	if (at >= 0) {
		if (!th_str_i64(th_str_sub(source, (size_t)at + 1, source.len), &seq) || seq < 1)
			return th_cli_die(
			    2, "what stands behind @ must be the number of an event, from 1");
		source = th_str_sub(source, 0, (size_t)at);
	}
	th_uuid_text(&id, text);
	target = rest.count == 2 ? th_str_of(rest.list[1]) : th_str_of(text);
	code = th_cli_check_name(target, &err);
	if (code != TH_OK)
		return th_cli_fail(&err);
	code = th_remote_find(&o.common, &remote, &err);
	if (code == TH_OK)
		code = th_cli_session(&o.common, true, source, &a, &store, &row, &err);
	if (code != TH_OK)
		return th_cli_fail(&err);
	if (remote)
		return th_remote_fork(&o.common, row.session_id, seq, target);
	return fork_to(store, row.session_id, (uint64_t)seq, target);
}

const struct th_command th_command_fork = {
	.name = "fork",
	.operands = "NAME[@EVENT] [NEW]",
	.summary = "start a new session from another one's events",
	.text =
	    "The new session begins with the events of NAME up to number EVENT (default: all of "
	    "them) and continues independently; NAME does not change. Calls that were under way "
	    "are not repeated. Prints the new\n"
	    "session's name.\n"
	    "\n"
	    "Examples:\n"
	    "  thole fork report\n"
	    "  thole fork report@12 second-try && thole run -s second-try \"do it in French\"\n",
	.options = fork_options,
	.words = "SESSION",
	.run = run_fork,
};
