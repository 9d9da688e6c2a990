/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completion.c - shell completion, from the commands' tables.
 *
 * Sessions and models are asked for when they are needed, so a completion
 * script is good for as long as its options are.
 */
#include "base/field.h"
#include "base/limits.h"
#include "cli/cli.h"

#define SCRIPT_MAX (512 * TH_KIB)

/* Words that stand for a list which the shell asks for. */
enum source { WORDS, FILES, FOLDERS, SESSIONS, MODELS, COMMANDS, NOTHING };

static enum source source_of(const char *words)
{
	static const char *const names[] = { "FILE", "DIR", "SESSION", "MODEL", "COMMAND", NULL };
	static const enum source sources[] = { FILES, FOLDERS, SESSIONS, MODELS, COMMANDS };
	int i = words ? th_names_find(names, th_str_of(words)) : -1;

	return !words ? NOTHING : i < 0 ? WORDS : sources[i];
}

static void all_commands(struct th_buf *out)
{
	for (size_t i = 0; th_commands[i]; i++)
		if (!th_commands[i]->hidden)
			th_buf_printf(out, "%s%s", i == 0 ? "" : " ", th_commands[i]->name);
}

/* ---- bash ---- */

static void bash_words(struct th_buf *out, const char *words)
{
	switch (source_of(words)) {
	case FILES:
		th_buf_add_cstr(out, "COMPREPLY=($(compgen -f -- \"$cur\"))");
		break;
	case FOLDERS:
		th_buf_add_cstr(out, "COMPREPLY=($(compgen -d -- \"$cur\"))");
		break;
	case SESSIONS:
		th_buf_add_cstr(out, "COMPREPLY=($(compgen -W \"$(thole sessions --names "
				     "2>/dev/null)\" -- \"$cur\"))");
		break;
	case MODELS:
		th_buf_add_cstr(out, "COMPREPLY=($(compgen -W \"$(thole models --names "
				     "2>/dev/null)\" -- \"$cur\"))");
		break;
	case COMMANDS:
		th_buf_add_cstr(out, "COMPREPLY=($(compgen -W \"$commands\" -- \"$cur\"))");
		break;
	case WORDS:
		th_buf_printf(out, "COMPREPLY=($(compgen -W \"%s\" -- \"$cur\"))", words);
		break;
	case NOTHING:
		th_buf_add_cstr(out, "COMPREPLY=()");
		break;
	}
}

static void bash_command(struct th_buf *out, const struct th_command *c)
{
	th_buf_printf(out, "\t%s)\n\t\tcase $prev in\n", c->name);
	for (const struct th_option *o = c->options; o && o->name; o++) {
		if (!o->value)
			continue;
		th_buf_printf(out, "\t\t--%s", o->name);
		if (o->letter)
			th_buf_printf(out, " | -%c", o->letter);
		th_buf_add_cstr(out, ") ");
		bash_words(out, o->words);
		th_buf_add_cstr(out, "; return ;;\n");
	}
	th_buf_add_cstr(
	    out, "\t\tesac\n\t\tif [[ $cur == -* ]]; then\n\t\t\tCOMPREPLY=($(compgen -W \"--help");
	for (const struct th_option *o = c->options; o && o->name; o++)
		th_buf_printf(out, " --%s", o->name);
	th_buf_add_cstr(out, "\" -- \"$cur\"))\n\t\telse\n\t\t\t");
	bash_words(out, c->words);
	th_buf_add_cstr(out, "\n\t\tfi\n\t\t;;\n");
}

static void bash(struct th_buf *out)
{
	th_buf_add_cstr(
	    out,
	    "# bash completion for thole; made by: thole completion bash\n"
	    "_thole() {\n"
	    "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} commands=\"");
	all_commands(out);
	th_buf_add_cstr(out, "\"\n\tCOMPREPLY=()\n"
			     "\tif [ \"$COMP_CWORD\" = 1 ]; then\n"
			     "\t\tCOMPREPLY=($(compgen -W \"$commands\" -- \"$cur\"))\n"
			     "\t\treturn\n\tfi\n\tcase ${COMP_WORDS[1]} in\n");
	for (size_t i = 0; th_commands[i]; i++)
		if (!th_commands[i]->hidden)
			bash_command(out, th_commands[i]);
	th_buf_add_cstr(out, "\tesac\n}\ncomplete -F _thole thole\n");
}

/* ---- zsh ---- */

/* Text inside '…' and a [description]. */
static void zsh_text(struct th_buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			th_buf_add_cstr(out, "'\\''");
		else if (strchr("[]:\\", *text))
			th_buf_printf(out, "\\%c", *text);
		else
			th_buf_add_char(out, *text);
	}
}

static void zsh_words(struct th_buf *out, const char *words)
{
	switch (source_of(words)) {
	case FILES:
		th_buf_add_cstr(out, "_files");
		break;
	case FOLDERS:
		th_buf_add_cstr(out, "_files -/");
		break;
	case SESSIONS:
		th_buf_add_cstr(out, "($(thole sessions --names 2>/dev/null))");
		break;
	case MODELS:
		th_buf_add_cstr(out, "($(thole models --names 2>/dev/null))");
		break;
	case COMMANDS:
		th_buf_add_char(out, '(');
		all_commands(out);
		th_buf_add_char(out, ')');
		break;
	case WORDS:
		th_buf_printf(out, "(%s)", words);
		break;
	case NOTHING:
		th_buf_add_char(out, ' ');
		break;
	}
}

static void zsh_option(struct th_buf *out, const struct th_option *o)
{
	if (o->letter)
		th_buf_printf(out, " \\\n\t\t\t{-%c,--%s}", o->letter, o->name);
	else
		th_buf_printf(out, " \\\n\t\t\t--%s", o->name);
	th_buf_add_cstr(out, "'[");
	zsh_text(out, o->doc);
	th_buf_add_char(out, ']');
	if (o->value) {
		th_buf_printf(out, ":%s:", o->value);
		zsh_words(out, o->words);
	}
	th_buf_add_char(out, '\'');
}

static void zsh(struct th_buf *out)
{
	th_buf_add_cstr(
	    out, "#compdef thole\n# zsh completion for thole; made by: thole completion zsh\n"
		 "_thole() {\n\tlocal -a commands=(\n");
	for (size_t i = 0; th_commands[i]; i++) {
		if (th_commands[i]->hidden)
			continue;
		th_buf_printf(out, "\t\t'%s:", th_commands[i]->name);
		zsh_text(out, th_commands[i]->summary);
		th_buf_add_cstr(out, "'\n");
	}
	th_buf_add_cstr(
	    out,
	    "\t)\n\tif (( CURRENT == 2 )); then\n\t\t_describe command commands\n\t\treturn\n\tfi\n"
	    "\tlocal command=$words[2]\n\tshift words\n\t(( CURRENT-- ))\n\tcase $command in\n");
	for (size_t i = 0; th_commands[i]; i++) {
		const struct th_command *c = th_commands[i];

		if (c->hidden)
			continue;
		th_buf_printf(out, "\t%s)\n\t\t_arguments '--help[help]'", c->name);
		for (const struct th_option *o = c->options; o && o->name; o++)
			zsh_option(out, o);
		th_buf_add_cstr(out, " '*:operand:");
		zsh_words(out, c->words);
		th_buf_add_cstr(out, "' ;;\n");
	}
	th_buf_add_cstr(out, "\tesac\n}\n_thole \"$@\"\n");
}

/* ---- fish ---- */

static void fish_text(struct th_buf *out, const char *text)
{
	th_buf_add_char(out, '\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			th_buf_add_char(out, '\\');
		th_buf_add_char(out, *text);
	}
	th_buf_add_char(out, '\'');
}

static void fish_words(struct th_buf *out, const char *words)
{
	switch (source_of(words)) {
	case FILES:
		th_buf_add_cstr(out, " -F");
		break;
	case FOLDERS:
		th_buf_add_cstr(out, " -a '(__fish_complete_directories)'");
		break;
	case SESSIONS:
		th_buf_add_cstr(out, " -a '(thole sessions --names 2>/dev/null)'");
		break;
	case MODELS:
		th_buf_add_cstr(out, " -a '(thole models --names 2>/dev/null)'");
		break;
	case COMMANDS:
		th_buf_add_cstr(out, " -a '");
		all_commands(out);
		th_buf_add_char(out, '\'');
		break;
	case WORDS:
		th_buf_printf(out, " -a '%s'", words);
		break;
	case NOTHING:
		break;
	}
}

static void fish(struct th_buf *out)
{
	th_buf_add_cstr(out, "# fish completion for thole; made by: thole completion fish\n"
			     "complete -c thole -f\n");
	for (size_t i = 0; th_commands[i]; i++) {
		const struct th_command *c = th_commands[i];

		if (c->hidden)
			continue;
		th_buf_printf(out, "complete -c thole -n __fish_use_subcommand -a %s -d ", c->name);
		fish_text(out, c->summary);
		th_buf_add_char(out, '\n');
		if (c->words) {
			th_buf_printf(out, "complete -c thole -n '__fish_seen_subcommand_from %s'",
				      c->name);
			fish_words(out, c->words);
			th_buf_add_char(out, '\n');
		}
		for (const struct th_option *o = c->options; o && o->name; o++) {
			th_buf_printf(out,
				      "complete -c thole -n '__fish_seen_subcommand_from %s' -l %s",
				      c->name, o->name);
			if (o->letter)
				th_buf_printf(out, " -s %c", o->letter);
			if (o->value) {
				th_buf_add_cstr(out, " -x");
				fish_words(out, o->words);
			}
			th_buf_add_cstr(out, " -d ");
			fish_text(out, o->doc);
			th_buf_add_char(out, '\n');
		}
	}
}

/* ---- the command ---- */

static const char *const shells[] = { "bash", "zsh", "fish", NULL };
static void (*const writers[])(struct th_buf *out) = { bash, zsh, fish };

static const struct th_option completion_options[] = { TH_OPTIONS_END };

static int run_completion(const struct th_command *self, int argc, char **argv)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(SCRIPT_MAX);
	struct th_operands rest;
	struct th_err err = {};
	enum th_code code = th_options_parse(self, argc, argv, NULL, &rest, &err);
	int shell;

	if (code != TH_OK)
		return code == TH_ECANCELED ? 0 : th_cli_fail(&err);
	shell = rest.count == 1 ? th_names_find(shells, th_str_of(rest.list[0])) : -1;
	if (shell < 0)
		return th_cli_die(2, "completion needs the name of a shell: bash, zsh or fish");
	writers[shell](&out);
	return th_cli_print(&out, 0);
}

const struct th_command th_command_completion = {
	.name = "completion",
	.operands = "bash|zsh|fish",
	.summary = "a completion script for a shell",
	.text =
	    "Prints a script that teaches the shell the commands, options, sessions and models.\n\n"
	    "Examples:\n"
	    "  thole completion bash > ~/.local/share/bash-completion/completions/thole\n"
	    "  thole completion zsh > ~/.zfunc/_thole\n"
	    "  thole completion fish > ~/.config/fish/completions/thole.fish\n",
	.options = completion_options,
	.words = "bash zsh fish",
	.run = run_completion,
};
