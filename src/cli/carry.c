/* SPDX-License-Identifier: Apache-2.0 */
/* admin/export.c - thole export and thole import: a session out of one log and into another. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "admin/transfer.h"
#include "base/limits.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/export_html.h"
#include "cli/remote.h"
#include "io/files.h"

struct transfer_options {
	struct th_common common;
	struct th_str format, file; /* of export */
};

static const struct th_option export_options[] = {
	{ "format", 0, "FORMAT", TH_OPTION_TEXT, offsetof(struct transfer_options, format),
	  "lines (the default), or html: one file that plays it without a server", "lines html" },
	{ "output", 'o', "FILE", TH_OPTION_TEXT, offsetof(struct transfer_options, file),
	  "the file (default: standard output)", "FILE" },
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
	int fd = *(const int *)ctx;

	return th_cli_write(fd, line) && th_cli_write(fd, TH_STR("\n"))
		   ? TH_OK
		   : th_fail(err, TH_EIO, "cannot write to %s: %s",
			     fd == STDOUT_FILENO ? "standard output" : "the file", strerror(errno));
}

/* Says the size first: a session with many pictures is a big file. */
static enum th_code export_html(struct th_store *store, const struct th_session_row *row, int fd,
				struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_html_size size;
	enum th_code code = th_html_measure(store, row, &size, err);

	if (code)
		return code;
	th_cli_size(&text, (int64_t)size.bytes);
	th_buf_add_cstr(&text, ": ");
	th_cli_count(&text, (int64_t)size.events, "event");
	th_buf_add_cstr(&text, " and ");
	th_cli_count(&text, (int64_t)size.pictures, "picture");
	th_buf_add_char(&text, '\n');
	(void)th_cli_write(STDERR_FILENO, th_buf_str(&text));
	return th_html_write(store, row, fd, err);
}

/* Into a new file that then has its name, so that what was there is whole or gone. */
static enum th_code export_to(const struct transfer_options *o, struct th_store *store,
			      const struct th_session_row *row, struct th_arena *a,
			      struct th_err *err)
{
	bool html = th_str_is(o->format, "html");
	char *path = o->file.len ? th_arena_cstr(a, o->file) : NULL, *made = NULL;
	int fd = STDOUT_FILENO;
	enum th_code code;

	if (path) {
		made = th_arena_cstr(a, th_arena_printf(a, "%s.XXXXXX", path));
		fd = made ? mkostemp(made, O_CLOEXEC) : -1;
		if (fd < 0)
			return th_fail_errno(err, errno, "%s", path);
	}
	code = html ? export_html(store, row, fd, err)
		    : th_session_export(store, row->session_id, put_line, &fd, err);
	if (!path)
		return code;
	if (close(fd) != 0 && !code)
		code = th_fail_errno(err, errno, "%s", path);
	if (!code && rename(made, path) != 0)
		code = th_fail_errno(err, errno, "%s", path);
	if (code)
		(void)unlink(made);
	return code;
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
	if (o.format.len && !th_str_is(o.format, "lines") && !th_str_is(o.format, "html"))
		return th_cli_die(2, "--format is lines or html");
	code = th_remote_find(&o.common, &remote, &err);
	if (code == TH_OK && remote && (o.file.len || th_str_is(o.format, "html")))
		return th_cli_die(2, "a server gives lines to standard output: without --output "
				     "and --format, or on its machine without --server");
	if (code == TH_OK)
		code = th_cli_session(&o.common, false, th_str_of(rest.list[0]), &a, &store, &row,
				      &err);
	if (code == TH_OK && remote)
		return th_remote_export(&o.common, row.session_id);
	if (code == TH_OK)
		code = export_to(&o, store, &row, &a, &err);
	return code == TH_OK ? 0 : th_cli_fail(&err);
}

const struct th_command th_command_export = {
	.name = "export",
	.operands = "NAME",
	.summary = "write a session to a file, for another log or machine",
	.text = "Prints session NAME as JSON lines: its log with the chain of digests, and its "
		"pictures. The file\n"
		"also has the sessions that work on its calls, and the events that it shares with "
		"the session it was\n"
		"forked from. The session itself does not change. Continue either the copy or the "
		"original, not both.\n"
		"\n"
		"--format html makes one file that shows the session step by step in a browser, "
		"without a server or\n"
		"network. Its size is printed first. It does not have the sessions that work on "
		"its calls.\n"
		"\n"
		"Examples:\n"
		"  thole export report > report.jsonl\n"
		"  thole export report --format html -o report.html\n"
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
	.summary = "read a session that thole export wrote",
	.text = "Reads FILE, or standard input, checks every event against the chain of digests "
		"and every picture\n"
		"against its hash, and writes all sessions of the file into the log in one "
		"transaction, or nothing. The session keeps its name, which is printed; if the log "
		"has a session of that name, nothing\n"
		"changes. Actions that were under way are settled as after a crash when the "
		"session continues. Its\n"
		"agent may run commands: import only what you trust.\n"
		"\n"
		"Examples:\n"
		"  thole import report.jsonl && thole resume report\n",
	.options = import_options,
	.words = "FILE",
	.run = run_import,
};
