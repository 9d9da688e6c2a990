/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - the table of subcommands, one file each, and what finds them. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "acp/acp.h"
#include "base/field.h"
#include "base/limits.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/sim.h"
#include "desktop/desktop.h"

// clang-format off
const struct th_command *const th_commands[] = {
	&th_command_run,
	&th_command_resume,
	&th_command_approve,
	&th_command_answer,
	&th_command_reject,
	&th_command_settle,
	&th_command_cancel,
	&th_command_sessions,
	&th_command_log,
	&th_command_fork,
	&th_command_delete,
	&th_command_usage,
	&th_command_store,
	&th_command_export,
	&th_command_import,
	&th_command_serve,
	&th_command_fleet,
	&th_command_token,
	&th_command_mcp,
	&th_command_acp,
	&th_command_computer,
	&th_command_models,
	&th_command_doctor,
	&th_command_demo,
	&th_command_plumb,
	&th_command_sim,
	&th_command_exec,
	&th_command_completion,
	&th_command_help,
	&th_command_version,
	NULL,
};
// clang-format on

const struct th_command *th_command_find(struct th_str name)
{
	for (size_t i = 0; th_commands[i]; i++)
		if (th_str_is(name, th_commands[i]->name))
			return th_commands[i];
	return NULL;
}

int th_command_unknown(struct th_str name)
{
	struct th_buf shown TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf meant TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_PATH_LEN_MAX);
	const char *names[TH_COUNT(th_commands)], *near;
	size_t count = 0;

	for (size_t i = 0; th_commands[i]; i++)
		if (!th_commands[i]->hidden)
			names[count++] = th_commands[i]->name;
	names[count] = NULL;
	near = th_names_nearest(names, name);
	th_text_line(&shown, name, TH_NAME_NEAR_MAX);
	if (near)
		th_buf_printf(&meant, "; did you mean %s %s", th_cli_program(), near);
	return th_cli_die(2, "no command \"%s\"%s; see %s help", shown.ptr, meant.ptr,
			  th_cli_program());
}

/* Running out of memory outside the ledger path: a clean stop, nothing half-written. */
static void out_of_memory(size_t size TH_UNUSED)
{
	static const char text[] =
	    "thole: out of memory; what is in the log is safe, and can be resumed\n";

	(void)th_cli_write(2, th_str_n(text, sizeof(text) - 1));
	_Exit(1);
}

/* What is opened next must not get the number of an input or output that is closed. */
static bool fill_standard(void)
{
	int fd = 0;

	while (fd >= 0 && fd <= 2)
		fd = open("/dev/null", O_RDWR);
	return fd > 2 && close(fd) == 0;
}

/* ---- --server and --token-file before the command ---- */

#define FRONT_MAX 4 /* words of them */

/* How many words stand there. */
static int front(int argc, char **argv)
{
	static const char *const names[] = { "--server", "--token-file" };
	int at = 1;

	while (at < argc && at <= FRONT_MAX) {
		struct th_str value = th_str_of(argv[at]), name = th_str_split(&value, '=');

		if (!th_str_is(name, names[0]) && !th_str_is(name, names[1]))
			break;
		at += name.len == strlen(argv[at]) ? 2 : 1;
	}
	return TH_MIN(at, argc) - 1;
}

static bool takes(const struct th_command *c, const char *option)
{
	for (const struct th_option *o = c->options; o && o->name; o++)
		if (strcmp(o->name, option) == 0)
			return true;
	return false;
}

/* "thole --server URL run TASK" is "thole run --server URL TASK". */
static int run_front(int argc, char **argv, int count)
{
	const struct th_command *c;
	char *name;

	if (argc == 1 + count)
		return th_cli_die(2, "no command; see %s help", th_cli_program());
	name = argv[1 + count];
	c = th_command_find(th_str_of(name));
	if (!c)
		return th_command_unknown(th_str_of(name));
	if (!takes(c, "server"))
		return th_cli_die(
		    2, "%s works on this machine, not on a server; leave out --server", c->name);
	memmove(argv + 2, argv + 1, (size_t)count * sizeof(*argv));
	argv[1] = name;
	return c->run(c, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	struct th_str name = argc > 1 ? th_str_of(argv[1]) : TH_STR("help");
	const struct th_command *c;
	struct th_err err = {};
	int status;

	if (th_desktop_role(argc, argv, &status))
		return status;
	th_oom_hook(out_of_memory);
	if (!fill_standard())
		return th_cli_die(1, "cannot open /dev/null: %s", strerror(errno));
	if (front(argc, argv) > 0)
		return run_front(argc, argv, front(argc, argv));
	if (th_str_is(name, "--help") || th_str_is(name, "-h"))
		name = TH_STR("help");
	else if (th_str_is(name, "--version") || th_str_is(name, "-V"))
		name = TH_STR("version");
	c = th_command_find(name);
	if (!c)
		return th_command_unknown(name);
	if (argc > 1)
		return c->run(c, argc - 1, argv + 1);
	return th_cli_overview(&err) == TH_OK ? 2 : th_cli_fail(&err);
}
