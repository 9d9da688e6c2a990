/* SPDX-License-Identifier: Apache-2.0 */
/* import.c - thole import: a session of another log, or a conversation of OpenHands. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "admin/openhands.h"
#include "admin/transfer.h"
#include "agents/agent.h"
#include "base/limits.h"
#include "base/text.h"
#include "cli/cli.h"
#include "config/script.h"
#include "io/files.h"
#include "remote/remote.h"

struct import_options {
	struct th_common common;
	struct th_str agent, model, session, folder; /* of conversations that come from elsewhere */
};

static const struct th_option import_options[] = {
	{ "agent", 'a', "FILE", TH_OPTION_TEXT, offsetof(struct import_options, agent),
	  "OpenHands: agent file that goes on with it (default: the default agent)", "FILE" },
	{ "model", 'm', "MODEL", TH_OPTION_TEXT, offsetof(struct import_options, model),
	  "OpenHands: model that goes on with it (default: the conversation's)", "MODEL" },
	{ "session", 's', "NAME", TH_OPTION_TEXT, offsetof(struct import_options, session),
	  "OpenHands: name of the new session (default: made of the conversation's)", NULL },
	{ "folder", 'C', "DIR", TH_OPTION_TEXT, offsetof(struct import_options, folder),
	  "OpenHands: workspace of its tools (default: the current folder)", "DIR" },
	TH_OPTIONS_COMMON(struct import_options, common),
	TH_OPTIONS_END,
};

/* ---- a session of ours ---- */

struct source {
	FILE *file;
	struct th_buf line;
	char chunk[64 * 1024];
	size_t at, count; /* of the chunk: read so far, and there */
};

/* The rest of the chunk, or its next line; true: the line is whole. */
static bool take_chunk(struct source *s)
{
	const char *from = s->chunk + s->at;
	const char *end = memchr(from, '\n', s->count - s->at);
	size_t len = end ? (size_t)(end - from) : s->count - s->at;

	th_buf_add(&s->line, th_str_n(from, len));
	s->at += len + (end ? 1 : 0);
	return end;
}

static int next_line(void *ctx, struct th_str *ret, struct th_err *err)
{
	struct source *s = ctx;
	bool whole = false;

	th_buf_clear(&s->line);
	while (!whole) {
		if (s->at == s->count) {
			s->at = 0;
			s->count = fread(s->chunk, 1, sizeof(s->chunk), s->file);
		}
		if (s->count == 0)
			break;
		whole = take_chunk(s);
		if (s->line.failed)
			return th_fail(err, TH_ELIMIT, "it has more than %zu bytes",
				       TH_JSON_SIZE_MAX);
	}
	if (ferror(s->file))
		return th_fail(err, TH_EIO, "it cannot be read: %s", strerror(errno));
	*ret = th_buf_str(&s->line);
	return whole || s->line.len;
}

static int import_from(struct th_store *store, struct source *s, const char *name,
		       struct th_arena *a)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_str id;
	struct th_err err = {};

	if (th_session_import(store, store, next_line, s, a, &id, &err) != TH_OK)
		return th_cli_die(th_code_exit(err.code), "%s: %s", name, err.msg);
	th_text_line(&out, id, TH_SESSION_ID_MAX);
	th_buf_add_char(&out, '\n');
	return th_cli_print(&out, 0);
}

static int import_lines(struct th_store *store, const char *path, struct th_arena *a)
{
	struct source s = { .file = stdin, .line = TH_BUF_INIT(TH_JSON_SIZE_MAX) };
	int exit_code;

	if (path)
		s.file = fopen(path, "re");
	if (!s.file)
		return th_cli_die(1, "%s cannot be opened: %s", path, strerror(errno));
	exit_code = import_from(store, &s, path ? path : "standard input", a);
	th_buf_deinit(&s.line);
	if (s.file != stdin)
		(void)fclose(s.file);
	return exit_code;
}

/* ---- a conversation of OpenHands ---- */

/* The agent that goes on with it, as its log will have it. */
static enum th_code make_agent(const struct import_options *o, struct th_arena *a,
			       struct th_buf *json, struct th_openhands_import *how,
			       struct th_err *err)
{
	struct th_config *config TH_CLEANUP(th_config_freep) = NULL;
	const char *folder = o->folder.len ? th_arena_cstr(a, o->folder) : ".";
	struct th_jw w = th_jw(json);
	struct th_agent agent;
	char path[PATH_MAX];
	enum th_code code = th_cli_config(&o->common, &config, err);

	if (code)
		return code;
	th_agent_default(&agent);
	if (o->agent.len)
		code = th_agent_load(o->agent, a, &agent, err)
			   ?: th_config_check_alone(&agent, o->agent, err);
	if (code)
		return code;
	if (!folder || !realpath(folder, path))
		return th_fail_errno(err, errno, "workspace %s", folder ?: "");
	agent.workspace = th_str_of(path);
	if (!agent.tools.count)
		agent.tools = config->tools;
	agent.model = o->model.len ? o->model : agent.model.len ? agent.model : config->model;
	th_table_print(&th_agent_table, &agent, &w);
	*how = (struct th_openhands_import){
		.session_id = o->session,
		.agent = th_buf_str(json),
		.model = th_arena_str(a, agent.model),
		.workspace = th_arena_str(a, agent.workspace),
	};
	return th_buf_check(json, "the agent's definition", err);
}

/* To a person, on standard error: what is not as it was. */
static void tell(const struct th_openhands_report *r)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);

	th_buf_printf(&text, "OpenHands %s: ", r->generation);
	th_cli_count(&text, (int64_t)r->events, "event");
	if (r->kept)
		th_buf_printf(&text, ", %zu that OpenHands would refuse, kept as they are",
			      r->kept);
	if (r->torn)
		th_buf_add_cstr(&text, ", the last one was cut off and is left out");
	if (r->mended)
		th_buf_printf(
		    &text,
		    ", %zu of Python's NaN, Infinity and halves of characters that no JSON "
		    "has became null and U+FFFD",
		    r->mended);
	if (r->open) {
		th_buf_add_cstr(&text, ", ");
		th_cli_count(&text, (int64_t)r->open, "call");
		th_buf_add_cstr(&text, " without a result: not repeated, its outcome is not known");
	}
	th_buf_add_char(&text, '\n');
	(void)th_cli_write(STDERR_FILENO, th_buf_str(&text));
}

static int import_openhands(const struct import_options *o, struct th_store *store,
			    const char *path, struct th_arena *a)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf agent TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_openhands_import how;
	struct th_openhands_report report;
	struct th_err err = {};
	enum th_code code = o->session.len ? th_cli_check_name(o->session, &err) : TH_OK;

	code = code ?: make_agent(o, a, &agent, &how, &err);
	code = code ?: th_openhands_import(store, path, &how, a, &report, &err);
	if (code)
		return th_cli_fail(&err);
	tell(&report);
	th_text_line(&out, report.session_id, TH_SESSION_ID_MAX);
	th_buf_add_char(&out, '\n');
	return th_cli_print(&out, 0);
}

static int run_import(const struct th_command *self, int argc, char **argv)
{
	struct import_options o = {};
	struct th_operands rest;
	struct th_store *store TH_CLEANUP(th_cli_storep) = NULL;
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	const char *path;
	struct th_err err = {};
	enum th_code code = th_options_parse(self, argc, argv, &o, &rest, &err);

	th_arena_init(&a, 4 * TH_MIB);
	if (code != TH_OK)
		return code == TH_ECANCELED ? 0 : th_cli_fail(&err);
	if (rest.count > 1)
		return th_cli_die(2, "import takes one file or folder, or what comes on standard "
				     "input");
	if (th_remote_refuse(&o.common, "import"))
		return 2;
	code = th_cli_store_make(&o.common, &store, &err);
	if (code != TH_OK)
		return th_cli_fail(&err);
	path = rest.count == 1 && strcmp(rest.list[0], "-") != 0 ? rest.list[0] : NULL;
	if (path && th_openhands_looks_like(path))
		return import_openhands(&o, store, path, &a);
	if (o.agent.len || o.model.len || o.session.len || o.folder.len)
		return th_cli_die(2, "agent, model, name and folder of an exported session are in "
				     "it and cannot be given");
	return import_lines(store, path, &a);
}

const struct th_command th_command_import = {
	.name = "import",
	.operands = "[FILE|FOLDER]",
	.summary = "read a session that thole export wrote, or one of OpenHands",
	.text = "Reads FILE, or standard input, checks every event against the chain of digests "
		"and every picture\n"
		"against its hash, and writes all sessions of the file into the log in one "
		"transaction, or nothing. The session keeps its name, which is printed; if the log "
		"has a session of that name, nothing\n"
		"changes. Actions that were under way are settled as after a crash when the "
		"session continues. Its\n"
		"agent may run commands: import only what you trust.\n"
		"\n"
		"A conversation of OpenHands is its folder, or a file with its events. Each event "
		"is kept as it is; what\n"
		"the model saw is the history that the session goes on with. Nothing is run "
		"again. See docs/OPENHANDS.md.\n"
		"\n"
		"Examples:\n"
		"  thole import report.jsonl && thole resume report\n"
		"  thole import ~/.openhands/conversations/1f0c… -m gpt-5.5 -s tetris\n",
	.options = import_options,
	.words = "FILE",
	.run = run_import,
};
