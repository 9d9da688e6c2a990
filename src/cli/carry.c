/* SPDX-License-Identifier: Apache-2.0 */
/* admin/export.c - thole export and thole import: a session out of one log and into another. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "admin/transfer.h"
#include "base/limits.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/remote.h"

struct transfer_options {
	struct th_common common;
};

static const struct th_option export_options[] = {
	TH_OPTIONS_SERVER(struct transfer_options, common),
	TH_OPTIONS_COMMON(struct transfer_options, common),
	TH_OPTIONS_END,
};

static const struct th_option import_options[] = {
	TH_OPTIONS_COMMON(struct transfer_options, common),
	TH_OPTIONS_END,
};

/* ---- export ---- */

static enum th_code put_line(void *ctx, struct th_str line, struct th_err *err)
{
	(void)ctx;
	return th_cli_write(STDOUT_FILENO, line) && th_cli_write(STDOUT_FILENO, TH_STR("\n"))
		   ? TH_OK
		   : th_fail(err, TH_EIO, "cannot write to standard output: %s", strerror(errno));
}

static int run_export(const struct th_command *self, int argc, char **argv)
{
	struct transfer_options o = {};
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
	if (rest.count != 1)
		return th_cli_names_none(self);
	code = th_remote_find(&o.common, &remote, &err);
	if (code == TH_OK)
		code = th_cli_session(&o.common, false, th_str_of(rest.list[0]), &a, &store, &row,
				      &err);
	if (code == TH_OK && remote)
		return th_remote_export(&o.common, row.session_id);
	if (code == TH_OK)
		code = th_session_export(store, row.session_id, put_line, NULL, &err);
	return code == TH_OK ? 0 : th_cli_fail(&err);
}

const struct th_command th_command_export = {
	.name = "export",
	.operands = "NAME",
	.summary = "a session as a file, for another log or machine",
	.text =
	    "Prints session NAME as JSON lines: its log with the digests that chain it, and its "
	    "pictures. With it come\n"
	    "those that work on its calls, and of what it was forked from the part that it "
	    "shares, which is stopped\n"
	    "there. It stays as it is; who goes on with the copy should not go on with this one "
	    "too.\n\n"
	    "Examples:\n"
	    "  thole export report > report.jsonl\n"
	    "  thole export report | ssh other thole import && ssh other thole resume report\n",
	.options = export_options,
	.words = "SESSION",
	.run = run_export,
};

/* ---- import ---- */

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

	if (th_session_import(store, next_line, s, a, &id, &err) != TH_OK)
		return th_cli_die(th_code_exit(err.code), "%s: %s", name, err.msg);
	th_text_line(&out, id, TH_SESSION_ID_MAX);
	th_buf_add_char(&out, '\n');
	return th_cli_print(&out, 0);
}

static int run_import(const struct th_command *self, int argc, char **argv)
{
	struct transfer_options o = {};
	struct th_operands rest;
	struct th_store *store TH_CLEANUP(th_cli_storep) = NULL;
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct source s = { .file = stdin, .line = TH_BUF_INIT(TH_JSON_SIZE_MAX) };
	struct th_err err = {};
	enum th_code code = th_options_parse(self, argc, argv, &o, &rest, &err);
	int exit_code;

	th_arena_init(&a, TH_MIB);
	if (code != TH_OK)
		return code == TH_ECANCELED ? 0 : th_cli_fail(&err);
	if (rest.count > 1)
		return th_cli_die(2, "import takes one file, or what comes on standard input");
	if (th_remote_refuse(&o.common, "import"))
		return 2;
	code = th_cli_store_make(&o.common, &store, &err);
	if (code != TH_OK)
		return th_cli_fail(&err);
	if (rest.count == 1 && strcmp(rest.list[0], "-") != 0)
		s.file = fopen(rest.list[0], "re");
	if (!s.file)
		return th_cli_die(1, "%s cannot be opened: %s", rest.list[0], strerror(errno));
	exit_code = import_from(store, &s, s.file == stdin ? "standard input" : rest.list[0], &a);
	th_buf_deinit(&s.line);
	if (s.file != stdin)
		(void)fclose(s.file);
	return exit_code;
}

const struct th_command th_command_import = {
	.name = "import",
	.operands = "[FILE]",
	.summary = "take in a session that thole export wrote",
	.text =
	    "Reads FILE, or standard input, checks every event against the chain of digests and "
	    "every picture\n"
	    "against its hash, and writes all sessions of the file into the log in one "
	    "transaction, or nothing. The\n"
	    "session keeps its name, which is printed; a log that has one of that name is left as "
	    "it is. What was\n"
	    "under way is settled as after a crash when it goes on. Its agent may run commands: "
	    "take in what you\n"
	    "trust.\n\n"
	    "Examples:\n"
	    "  thole import report.jsonl && thole resume report\n",
	.options = import_options,
	.words = "FILE",
	.run = run_import,
};
