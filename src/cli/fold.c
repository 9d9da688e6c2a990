/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fold.c - thole plumb: pure functions on standard input and output; here the command, and fold.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/services.h"
#include "core/session.h"
#include "history/history.h"
#include "io/files.h"
#include "profiles/user_profiles.h"

#define FOLD_INPUT_MAX ((size_t)1024 * TH_MIB)

/* ---- fold ---- */

struct fold_options {
	bool state;
};

static const struct th_option fold_options[] = {
	{ "state", 0, NULL, TH_OPTION_FLAG, offsetof(struct fold_options, state),
	  "the state of the session instead of the items the model would see", NULL },
	TH_OPTIONS_END,
};

static const struct th_command fold_command = {
	.name = "plumb fold",
	.operands = "",
	.summary = "events as the state, or as the items the model would see",
	.text =
	    "Reads events as JSON lines, as thole log --json prints them, from standard input.\n\n"
	    "Examples:\n"
	    "  thole log report --json | thole plumb fold --state\n",
	.options = fold_options,
};

struct fold {
	struct th_session session;
	struct th_history *history; /* NULL: only the state is wanted */
};

static enum th_code fold_line(struct fold *f, struct th_str line, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_effects effects;
	struct th_event ev;
	enum th_code code;

	th_arena_init(&a, TH_TURN_MEMORY_MAX);
	code = th_json_parse(line, &doc, err);
	if (code == TH_OK)
		code = th_event_parse(th_json_root(doc), &a, &ev, err);
	if (code == TH_OK)
		code = th_session_step(&f->session, &ev, &effects, err);
	if (code == TH_OK && f->history)
		code = th_history_add(f->history, &ev, err);
	return code;
}

static enum th_code fold_all(struct fold *f, struct th_err *err)
{
	struct th_buf in TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(FOLD_INPUT_MAX);
	enum th_code code = th_file_read_fd(STDIN_FILENO, FOLD_INPUT_MAX, &in, err);
	struct th_str rest = th_buf_str(&in);

	for (unsigned long number = 1; code == TH_OK && rest.len; number++) {
		struct th_str line = th_str_trim(th_str_split(&rest, '\n'));

		if (line.len && fold_line(f, line, err) != TH_OK)
			code = th_prefix(err, TH_EUSAGE, "line %lu", number);
	}
	return code;
}

/* Pictures stand as their hash where their bytes would go. */
static void print_items(const struct th_history *h, struct th_buf *out)
{
	struct th_slice *slices;
	size_t count = th_history_slices(h, 0, &slices);

	th_buf_add_cstr(out, "{\"items\":[");
	for (size_t i = 0; i < count; i++) {
		char hex[TH_SHA256_HEX_SIZE + 1];

		if (!slices[i].bytes.ptr)
			th_digest_hex(&slices[i].blob, hex);
		th_buf_add(out, slices[i].bytes.ptr ? slices[i].bytes : th_str_of(hex));
	}
	th_buf_add_cstr(out, "]}");
	free(slices);
}

static int plumb_fold(int argc, char **argv)
{
	struct fold_options o = {};
	struct th_request_options request = {};
	struct th_operands rest;
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(FOLD_INPUT_MAX);
	struct th_jw w = th_jw(&out);
	struct fold f = {};
	struct th_err err = {};
	enum th_code code = th_options_parse(&fold_command, argc, argv, &o, &rest, &err);

	if (code == TH_ECANCELED)
		return 0;
	if (code == TH_OK)
		code = th_model_resolve(TH_STR("responses:any"), &request.profile, &request.model,
					&err);
	if (code != TH_OK)
		return th_cli_fail(&err);
	th_session_init(&f.session);
	f.history = o.state ? NULL : th_history_new(&request);
	code = o.state || f.history ? fold_all(&f, &err) : th_fail_memory(&err);
	if (code == TH_OK && o.state)
		th_session_print(&f.session, &w);
	else if (code == TH_OK)
		print_items(f.history, &out);
	th_buf_add_char(&out, '\n');
	th_session_deinit(&f.session);
	f.history = th_history_free(f.history);
	if (code != TH_OK)
		return th_cli_die(1, "%s", err.msg);
	return th_cli_print(&out, 0);
}

/* ---- the command ---- */

static int run_plumb(const struct th_command *self, int argc, char **argv)
{
	struct th_str part = argc > 1 ? th_str_of(argv[1]) : TH_STR("");

	if (th_str_is(part, "--help") || th_str_is(part, "-h")) {
		struct th_err err = {};

		return th_cli_usage(self, &err) == TH_OK ? 0 : th_cli_fail(&err);
	}
	if (th_str_is(part, "fold"))
		return plumb_fold(argc - 1, argv + 1);
	if (th_str_is(part, "docs"))
		return th_cli_docs(argc - 1, argv + 1);
	if (th_str_is(part, "route") || th_str_is(part, "decode") || th_str_is(part, "encode") ||
	    th_str_is(part, "patch"))
		return th_cli_plumb(argc - 1, argv + 1);
	return th_cli_die(
	    2, "plumb wants route, decode, encode, fold, patch or docs; see %s plumb --help",
	    th_cli_program());
}

const struct th_command th_command_plumb = {
	.name = "plumb",
	.operands = "route|decode|encode|fold|patch|docs …",
	.summary = "pure functions on standard input and output, for tests",
	.text = "  route MODEL             which profile, wire and dialect a name means\n"
		"  decode --model M        a provider's answer as items\n"
		"  encode --model M        items as the request that would be sent\n"
		"  fold [--state]          events as the items the model would see, or the state\n"
		"  patch [--mode create]   a file with a V4A diff applied\n"
		"  docs events|agents|http reference pages\n\n"
		"Each has its own --help.\n",
	.words = "route decode encode fold patch docs",
	.run = run_plumb,
};
