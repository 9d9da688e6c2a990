/* SPDX-License-Identifier: Apache-2.0 */
/* help.c - the overview, thole help, thole version and the man page, all from the commands' tables.
 */
#include "base/limits.h"
#include "cli/cli.h"

#define HELP_MAX (256 * TH_KIB)

static const char environment[] =
    "  OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY …\n"
    "                      key of the model's API; or --api-key-file FILE, or the\n"
    "                      configuration; thole models NAME says which variable\n"
    "                      a model's server has\n"
    "  OPENAI_BASE_URL, ANTHROPIC_BASE_URL, GEMINI_BASE_URL …\n"
    "                      where the model's API is\n"
    "  THOLE_MODEL         model to use where none is named\n"
    "  THOLE_MODELS        file with profiles of one's own\n"
    "  THOLE_STORE         the log, such as sqlite:/srv/thole/log.db or postgres://…\n"
    "  THOLE_SERVER, THOLE_TOKEN\n"
    "                      a thole serve that has the sessions, and a token for it\n"
    "  NO_COLOR            no colours\n"
    "  XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_RUNTIME_DIR\n"
    "                      where configuration, log and sockets are\n";

static const char exit_codes[] =
    "  0 finished   1 failed   2 usage   3 waits for a person   4 limit reached\n"
    "  5 stuck   130 cancelled or interrupted\n";

static void overview(struct th_buf *out)
{
	th_buf_add_cstr(out, "thole: a native runtime for agents that use computers\n\n"
			     "usage: thole [--server URL] COMMAND [OPTION…] …\n\nCommands:\n");
	for (size_t i = 0; th_commands[i]; i++)
		if (!th_commands[i]->hidden)
			th_buf_printf(out, "  %-12s%s\n", th_commands[i]->name,
				      th_commands[i]->summary);
	th_buf_add_cstr(
	    out, "\nFirst steps:\n"
		 "  thole doctor                        what works on this machine\n"
		 "  thole demo                          a whole run, without a key\n"
		 "  OPENAI_API_KEY=… thole run -m gpt-5.4 \"count the files here\"\n"
		 "  OPENAI_API_KEY=… thole run -m gpt-5.4 -c desktop \"open a terminal and …\"\n"
		 "  thole help COMMAND                  all options, with examples\n"
		 "\nEnvironment:\n");
	th_buf_add_cstr(out, environment);
	th_buf_add_cstr(out, "\nExit codes:\n");
	th_buf_add_cstr(out, exit_codes);
}

enum th_code th_cli_overview(struct th_err *err)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(HELP_MAX);

	overview(&out);
	return th_cli_show(&out, err);
}

/* ---- the man page ---- */

/* roff: a backslash, and a dot or quote at the start of a line, mean something. */
static void roff(struct th_buf *out, struct th_str text, bool start)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		if (start && (c == '.' || c == '\''))
			th_buf_add_cstr(out, "\\&");
		if (c == '\\')
			th_buf_add_cstr(out, "\\e");
		else if (c == '-')
			th_buf_add_cstr(out, "\\-");
		else
			th_buf_add_char(out, c);
		start = c == '\n';
	}
}

static void roff_cstr(struct th_buf *out, const char *text)
{
	roff(out, th_str_of(text), true);
}

static void roff_block(struct th_buf *out, const char *text)
{
	th_buf_add_cstr(out, ".nf\n");
	roff_cstr(out, text);
	th_buf_add_cstr(out, ".fi\n");
}

static void manual_option(struct th_buf *out, const struct th_option *o)
{
	th_buf_add_cstr(out, ".TP\n.B ");
	if (o->letter)
		th_buf_printf(out, "\\-%c\\fR, \\fB", o->letter);
	th_buf_add_cstr(out, "\\-\\-");
	roff(out, th_str_of(o->name), false);
	if (o->value)
		th_buf_printf(out, " \\fI%s\\fR", o->value);
	th_buf_add_char(out, '\n');
	roff_cstr(out, o->doc);
	th_buf_add_char(out, '\n');
}

/* Paragraphs as they are, what is indented as an example. */
static void manual_text(struct th_buf *out, const char *text)
{
	struct th_str rest = th_str_of(text);
	bool block = false;

	while (rest.len) {
		struct th_str line = th_str_split(&rest, '\n');
		bool indented = th_str_starts(line, TH_STR("  "));

		if (indented != block)
			th_buf_add_cstr(out, indented ? ".nf\n" : ".fi\n");
		block = indented;
		if (!line.len)
			th_buf_add_cstr(out, ".PP\n");
		else
			roff(out, line, true);
		if (line.len)
			th_buf_add_char(out, '\n');
	}
	if (block)
		th_buf_add_cstr(out, ".fi\n");
}

static void manual_command(struct th_buf *out, const struct th_command *c)
{
	th_buf_add_cstr(out, ".SS \"");
	th_cli_usage_line(out, c);
	th_buf_add_cstr(out, "\"\n");
	roff_cstr(out, c->summary);
	th_buf_add_cstr(out, ".\n.PP\n");
	manual_text(out, c->text);
	if (!c->options)
		return;
	for (const struct th_option *o = c->options; o->name; o++)
		manual_option(out, o);
}

static void print_manual(struct th_buf *out)
{
	th_buf_add_cstr(
	    out,
	    ".\\\" SPDX-License-Identifier: Apache-2.0\n"
	    ".\\\" made by \"thole help --man\"; edit src/cli instead\n"
	    ".TH THOLE 1 \"\" \"thole " TH_VERSION "\"\n"
	    ".SH NAME\nthole \\- a native runtime for agents that use computers\n"
	    ".SH SYNOPSIS\n.B thole\n.I COMMAND\n[\\fIOPTION\\fR]... ...\n"
	    ".SH DESCRIPTION\n"
	    "thole runs long-lived agents of language models and their desktops. It writes every "
	    "action into a log before it\nhappens, does nothing twice, and says \"unknown\" when "
	    "it "
	    "cannot know.\n"
	    ".SH COMMANDS\n");
	for (size_t i = 0; th_commands[i]; i++)
		if (!th_commands[i]->hidden)
			manual_command(out, th_commands[i]);
	th_buf_add_cstr(out, ".SH ENVIRONMENT\n");
	roff_block(out, environment);
	th_buf_add_cstr(out, ".SH \"EXIT STATUS\"\n");
	roff_block(out, exit_codes);
}

/* ---- commands ---- */

struct help_options {
	bool man;
};

static const struct th_option help_options[] = {
	{ "man", 0, NULL, TH_OPTION_FLAG, offsetof(struct help_options, man),
	  "the whole manual, for man(1)", NULL },
	TH_OPTIONS_END,
};

static int run_help(const struct th_command *self, int argc, char **argv)
{
	struct help_options o = {};
	struct th_operands rest;
	struct th_err err = {};
	enum th_code code = th_options_parse(self, argc, argv, &o, &rest, &err);
	const struct th_command *c = NULL;

	if (code != TH_OK)
		return code == TH_ECANCELED ? 0 : th_cli_fail(&err);
	if (o.man) {
		struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(HELP_MAX);

		print_manual(&out);
		return th_cli_print(&out, 0);
	}
	if (rest.count > 0) {
		c = th_command_find(th_str_of(rest.list[0]));
		if (!c)
			return th_command_unknown(th_str_of(rest.list[0]));
	}
	code = c ? th_cli_usage(c, &err) : th_cli_overview(&err);
	return code == TH_OK ? 0 : th_cli_fail(&err);
}

const struct th_command th_command_help = {
	.name = "help",
	.operands = "[COMMAND]",
	.summary = "this list, or all about one command",
	.text = "",
	.options = help_options,
	.words = "COMMAND",
	.run = run_help,
};

static const struct th_option version_options[] = { TH_OPTIONS_END };

static int run_version(const struct th_command *self, int argc, char **argv)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_operands rest;
	struct th_err err = {};
	enum th_code code = th_options_parse(self, argc, argv, NULL, &rest, &err);

	if (code != TH_OK)
		return code == TH_ECANCELED ? 0 : th_cli_fail(&err);
	if (rest.count > 0)
		return th_cli_die(2, "version takes no operand");
	th_buf_add_cstr(&out, "thole " TH_VERSION "\n");
	return th_cli_print(&out, 0);
}

const struct th_command th_command_version = {
	.name = "version",
	.operands = "",
	.summary = "the version",
	.text = "",
	.options = version_options,
	.run = run_version,
};
