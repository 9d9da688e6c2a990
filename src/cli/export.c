/* SPDX-License-Identifier: Apache-2.0 */
/* export.c - thole export: a session out of the log, in one of the forms of export_forms.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/export_forms.h"
#include "io/files.h"
#include "remote/remote.h"

struct export_options {
	struct th_common common;
	struct th_str format, file;
};

static const struct th_option export_options[] = {
	{ "format", 0, "FORMAT", TH_OPTION_TEXT, offsetof(struct export_options, format),
	  "lines (the default), html, openhands or another of those below", TH_EXPORT_FORM_WORDS },
	{ "output", 'o', "FILE", TH_OPTION_TEXT, offsetof(struct export_options, file),
	  "the file, or the new folder (default: standard output)", "FILE" },
	TH_OPTIONS_SERVER(struct export_options, common),
	TH_OPTIONS_COMMON(struct export_options, common),
	TH_OPTIONS_END,
};

/* Into a new file that then has its name, so that what was there is whole or gone. */
static enum th_code export_to(const struct th_export_form *form, struct th_str file,
			      struct th_remote *remote, struct th_store *store,
			      const struct th_session_row *row, struct th_arena *a,
			      struct th_err *err)
{
	char *path = file.len ? th_arena_cstr(a, file) : NULL, *made = NULL;
	int fd = STDOUT_FILENO;
	enum th_code code;

	if (file.len && !path)
		return th_fail(err, TH_EUSAGE, "the file's name cannot be used");
	if (form->folder && !path)
		return th_fail(err, TH_EUSAGE, "%s is a folder: give its name with --output",
			       form->name);
	if (form->folder)
		return form->folder(store, row, path, err);
	if (path) {
		made = th_arena_cstr(a, th_arena_printf(a, "%s.XXXXXX", path));
		fd = made ? mkostemp(made, O_CLOEXEC) : -1;
		if (fd < 0)
			return th_fail_errno(err, errno, "%s", path);
	}
	/* The lines are the server's own: it has what a caller may not read one by one. */
	code = remote && !strcmp(form->name, "lines")
		   ? th_remote_export(remote, row->session_id, fd,
				      path ? "the file" : "standard output", err)
		   : form->write(store, row, fd, err);
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

static const struct th_export_form *form_of(struct th_str name, struct th_err *err)
{
	const struct th_export_form *form = th_export_form(name.len ? name : TH_STR("lines"));

	if (!form)
		(void)th_fail(err, TH_EUSAGE,
			      "--format is one of " TH_EXPORT_FORM_WORDS ", not \"%.*s\"",
			      TH_FMT(th_utf8_cut(name, TH_NAME_NEAR_MAX)));
	return form;
}

static int run_export(const struct th_command *self, int argc, char **argv)
{
	struct export_options o = {};
	struct th_operands rest;
	struct th_remote *remote TH_CLEANUP(th_remote_freep) = NULL;
	struct th_store *store TH_CLEANUP(th_cli_storep) = NULL;
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	const struct th_export_form *form;
	struct th_session_row row;
	struct th_err err = {};
	enum th_code code = th_options_parse(self, argc, argv, &o, &rest, &err);

	th_arena_init(&a, TH_MIB);
	if (code != TH_OK)
		return code == TH_ECANCELED ? 0 : th_cli_fail(&err);
	if (rest.count != 1)
		return th_cli_names_none(self);
	form = form_of(o.format, &err);
	if (!form)
		return th_cli_fail(&err);
	code = th_remote_find(&o.common, &remote, &err);
	if (code == TH_OK)
		code = th_cli_session(&o.common, false, th_str_of(rest.list[0]), &a, &store, &row,
				      &err);
	if (code == TH_OK)
		code = export_to(form, o.file, remote, store, &row, &a, &err);
	return code == TH_OK ? 0 : th_cli_fail(&err);
}

const struct th_command th_command_export = {
	.name = "export",
	.operands = "NAME",
	.summary = "write a session to a file, for another log or program",
	.text = "Prints session NAME as JSON lines: its log with the chain of digests, and its "
		"pictures. The file\n"
		"also has the sessions that work on its calls, and the events that it shares with "
		"the session it was\n"
		"forked from. The session itself does not change. Continue either the copy or the "
		"original, not both.\n"
		"\n"
		"--format html makes one file that shows the session step by step in a browser, "
		"without a server or\n"
		"network. Its size is printed first. Other formats are for other programs; they "
		"do not have the\n"
		"sessions that work on its calls:\n"
		"  atif          Agent Trajectory Interchange Format 1.8\n"
		"  openai        messages of OpenAI's Chat Completions\n"
		"  anthropic     system and messages of Anthropic's API\n"
		"  sharegpt      a row of training data\n"
		"  openhands     a new folder: a conversation of OpenHands (its sdk)\n"
		"  openhands-v0  the same, as OpenHands wrote it before its sdk\n"
		"\n"
		"Examples:\n"
		"  thole export report > report.jsonl\n"
		"  thole export report --format html -o report.html\n"
		"  thole export report --format openhands -o conversation\n"
		"  thole export report | ssh other thole import && ssh other thole resume report\n",
	.options = export_options,
	.words = "SESSION",
	.run = run_export,
};
