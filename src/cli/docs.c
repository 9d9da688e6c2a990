/* SPDX-License-Identifier: Apache-2.0 */
/* docs.c - thole plumb docs: the reference pages, made of the tables. */
#include "base/text.h"
#include "cli/cli.h"
#include "cli/services.h"
#include "core/session.h"
#include "profiles/user_profiles.h"

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

static const char *const agents_head =
    "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
    "<!-- made by: thole plumb docs agents; edit src/agents/agent.h instead -->\n\n"
    "# Agent files and the configuration\n\n"
    "Both are YAML 1.2 (or JSON). Anchors, aliases, tags and double keys are refused; "
    "every error "
    "has its file and line.\n\n## Agent file\n\n"
    "`thole run -a FILE`. A relative `workspace` is taken from the file's folder. "
    "Examples are in `examples/`.\n\n";

static const char *const agents_words =
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
    "`path` or `domain`.\n";

static const char *const configuration_words =
    "\n## Configuration\n\n`$XDG_CONFIG_HOME/thole/config.yaml`, or "
    "`--config FILE`. Later wins: "
    "defaults, this file, environment, agent file, options.\n\n";

static const char *const models_words =
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
    "per million tokens; 0 for both is a price that is not known, and not counted.\n\n";

static void docs_agents(struct th_buf *out)
{
	th_buf_add_cstr(out, agents_head);
	th_table_markdown(&th_agent_table, out);
	th_buf_add_cstr(out, agents_words);
	th_buf_add_cstr(out, configuration_words);
	th_table_markdown(&th_config_file_table, out);
	th_buf_add_cstr(out, models_words);
	th_table_markdown(&th_models_file_table, out);
}

static const struct th_option docs_options[] = { TH_OPTIONS_END };

static const struct th_command docs_command = {
	.name = "plumb docs",
	.operands = "events|agents|http",
	.summary = "a reference page, in Markdown",
	.text = "",
	.options = docs_options,
};

int th_cli_docs(int argc, char **argv)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_operands rest;
	struct th_err err = {};
	struct th_str page;
	enum th_code code = th_options_parse(&docs_command, argc, argv, NULL, &rest, &err);

	if (code != TH_OK)
		return code == TH_ECANCELED ? 0 : th_cli_fail(&err);
	page = rest.count == 1 ? th_str_of(rest.list[0]) : TH_STR("");
	if (th_str_is(page, "events"))
		docs_events(&out);
	else if (th_str_is(page, "agents"))
		docs_agents(&out);
	else if (th_str_is(page, "http"))
		th_services_docs(&out);
	else
		return th_cli_die(2, "plumb docs wants events, agents or http");
	return th_cli_print(&out, 0);
}
