/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fold.c - thole plumb: pure functions on standard input and output; here fold,
 * and docs, which writes the reference pages from the tables.
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

/* ---- docs ---- */

static const char *const event_sources =
    "Every event has `seq` (from 1), `ts_ms` (Unix time), `id` (UUIDv7), `source`, `kind`, `cause` "
    "(the `seq` of the\n"
    "event that led here), `call` (the call it is about), `data` (below) and `build` (the program "
    "that wrote it).\n"
    "`thole log NAME --json` prints one event per line in this form. Members of `data` that no "
    "table names survive.\n";

static void docs_events(struct th_buf *out)
{
	th_buf_add_cstr(
	    out, "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
		 "<!-- made by: thole plumb docs events; edit src/events/event.h instead -->\n\n"
		 "# Events\n\nA session is a totally ordered, append-only, hash-chained list of "
		 "events; its "
		 "state is a pure fold of them.\n\n");
	th_buf_add_cstr(out, event_sources);
	th_buf_add_cstr(out, "\nSources:");
	for (int i = 0; i < TH_SOURCE_COUNT; i++)
		th_buf_printf(out, "%s `%s`", i ? "," : "", th_source_name((enum th_source)i));
	th_buf_add_cstr(out, ".\n");
	for (int i = 0; i < TH_EVENT_COUNT; i++) {
		enum th_event_kind kind = (enum th_event_kind)i;

		th_buf_printf(out, "\n## %s\n\n%s\n\n", th_event_name(kind), th_event_doc(kind));
		th_table_markdown(th_event_table(kind), out);
	}
#define X(id, name, doc) "| `" name "` | " doc " |\n"
	th_buf_add_cstr(out,
			"\n## Effect classes\n\n| class | promise |\n|---|---|\n" TH_CLASSES(X));
#undef X
#define X(id, name, exit_code, doc) "| `" name "` | " #exit_code " | " doc " |\n"
	th_buf_add_cstr(out, "\n## States\n\n| state | exit code of `thole run` | meaning "
			     "|\n|---|---|---|\n" TH_STATES(X));
#undef X
}

static void docs_agents(struct th_buf *out)
{
	th_buf_add_cstr(
	    out, "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
		 "<!-- made by: thole plumb docs agents; edit src/agents/agent.h instead -->\n\n"
		 "# Agent files and the configuration\n\n"
		 "Both are YAML 1.2 (or JSON). Anchors, aliases, tags and double keys are refused; "
		 "every error "
		 "has its file and line.\n\n## Agent file\n\n"
		 "`thole run -a FILE`. A relative `workspace` is taken from the file's folder. "
		 "Examples are in `examples/`.\n\n");
	th_table_markdown(&th_agent_table, out);
	th_buf_add_cstr(
	    out,
	    "\n### Programs as tools\n\n"
	    "In an agent file `tools` may hold mappings beside names; each is one of `commands` "
	    "(`examples/tools.yaml`). The call's arguments must fit `parameters` (where not, the "
	    "model is told how) and come to the program as JSON on standard input, never as "
	    "arguments and through no shell. Standard output is the result: a JSON string is its "
	    "text, anything else is told as it is, with the middle left out of more than 32 KiB. "
	    "Lines on standard error are shown as they come, and told only with a failure, which "
	    "is an exit status other than 0. The program runs like a command of the shell tool: "
	    "in the workspace, in the sandbox, without our environment, written down before it "
	    "starts and never started twice, unless `class` says that this does no harm. A program "
	    "with a slash in its name is beside the agent file; the sandbox must let it be seen "
	    "(`/tmp` and other people's folders are not). With `script` in place of `command` a "
	    "tool is a function of the agent's script ([SCRIPTS.md](SCRIPTS.md)).\n\n"
	    "### Limits\n\n"
	    "A limit holds or is refused. `limits` is the first agent's and holds for the whole "
	    "team, as do `environment` and `net`; another agent that sets them is refused. "
	    "`cost_usd` needs the price of every model that may be asked, fallbacks and grounders "
	    "too: where one is not known the run does not begin, and the error names the model "
	    "and the fields of its row in a models file. An answer whose server does not say how "
	    "many tokens it took cannot be counted against `tokens` or `cost_usd`: its calls are "
	    "done, then the session stops with the state `limit`, and the event `model_answered` "
	    "says `unmetered`. `seconds` is looked at before each request, and ends a request "
	    "under way; a command ends by `command_seconds`. A person who plays the model costs "
	    "nothing.\n\n"
	    "### Rules\n\n"
	    "The first of `rules` that matches a call decides: `run`, `ask` a person, or `refuse`. "
	    "All that a rule names must match; `*` in a pattern is any text, `?` one byte. `path` "
	    "is held against the absolute form of what the call names as path, file, folder, "
	    "directory, source or destination, in lists and objects too (`..` resolved, symbolic "
	    "links not looked at); there `*` stays in one folder and `**` does not. `domain` is "
	    "held against the host of every URL, also of those inside a text such as a command, "
	    "as it is written there; a rule that runs wants a URL that stands by itself, and all "
	    "others to match as well. In "
	    "`arguments` of a rule that runs, `*` takes nothing that means something to a shell "
	    "(quotes, `;`, `$`, `|`, line ends …): `git *` does not let `git x; rm y` run. Where a "
	    "pattern cannot be held against what is there (too long, no URL), the rule counts if "
	    "it asks or refuses and does not if it runs. A rule can let run what `approve` asks "
	    "for; never what the provider wants checked, what cannot be undone, or what repeats an "
	    "action of unknown outcome. `approve_from` is asked after the rules and can only make "
	    "a person be asked; `decide_from` is asked then, and may decide in the person's "
	    "place. What a person says of a tool for good does not lift a rule with `arguments`, "
	    "`path` or `domain`.\n");
	th_buf_add_cstr(out, "\n## Configuration\n\n`$XDG_CONFIG_HOME/thole/config.yaml`, or "
			     "`--config FILE`. Later wins: "
			     "defaults, this file, environment, agent file, options.\n\n");
	th_table_markdown(&th_config_file_table, out);
	th_buf_add_cstr(
	    out,
	    "\n## Models file\n\n`thole/models.yaml` beside `config.yaml`; `models:` there, "
	    "`THOLE_MODELS` and `--models FILE` name another, the later wins. Its rows are tried "
	    "in order before the built-in profiles. A row begins as a copy of what it is `like`, "
	    "of the built-in profile of its own name, or of the plain profile of its `wire`; what "
	    "it says is put on top. `thole models` lists them, `thole models NAME` says which row "
	    "found a name and why; `examples/models.yaml` has four.\n\n"
	    "A row with a `base_url` or `base_url_env` has only the key that its `key_env` names "
	    "(or none): neither the key of what it is like nor the configuration's `api_key` is "
	    "sent there; `--api-key-file` and `--base-url` still win. A session does not remember "
	    "its row: a resumed one is asked by the rows of that day. Prices are in US dollars "
	    "per million tokens; 0 for both is a price that is not known, and not counted.\n\n");
	th_table_markdown(&th_models_file_table, out);
}

static const struct th_option docs_options[] = { TH_OPTIONS_END };

static const struct th_command docs_command = {
	.name = "plumb docs",
	.operands = "events|agents",
	.summary = "a reference page, in Markdown",
	.text = "",
	.options = docs_options,
};

static int plumb_docs(int argc, char **argv)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_operands rest;
	struct th_err err = {};
	enum th_code code = th_options_parse(&docs_command, argc, argv, NULL, &rest, &err);

	if (code != TH_OK)
		return code == TH_ECANCELED ? 0 : th_cli_fail(&err);
	if (rest.count == 1 && strcmp(rest.list[0], "events") == 0)
		docs_events(&out);
	else if (rest.count == 1 && strcmp(rest.list[0], "agents") == 0)
		docs_agents(&out);
	else if (rest.count == 1 && strcmp(rest.list[0], "http") == 0)
		th_services_docs(&out);
	else
		return th_cli_die(2, "plumb docs wants events, agents or http");
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
		return plumb_docs(argc - 1, argv + 1);
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
