/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bash.c - commands in a shell that lives on between the calls
 * (bash_session.h): one, or several by name.
 *
 * A call waits until its command has ended.  It gives up earlier when nothing
 * new is printed for TH_BASH_IDLE_MS, or after the time that it asks for: then
 * the command runs on, and the next call waits on, types something, or
 * interrupts it.  What runs longer in the foreground than the agent's commands
 * may is ended; what was put in the background lives as long as the shell.
 *
 * Class W.  Calls for one shell run one after the other.
 */
#include <stdlib.h>

#include "agents/agent.h"
#include "base/limits.h"
#include "base/text.h"
#include "tools/bash_shell.h"
#include "tools/bash_view.h"

TH_TABLE(bash, "arguments of bash", false)

struct th_terminal *th_bash_terminal(const struct th_tool_env *env)
{
	for (const struct th_bash_shell *sh = env->shells; sh; sh = sh->next)
		if (sh->session && strcmp(sh->name, TH_BASH_FIRST) == 0)
			return th_shell_session_terminal(sh->session);
	return NULL;
}

static struct th_bash_shell *shell_find(struct th_tool_env *env, struct th_str name,
					struct th_err *err)
{
	struct th_bash_shell *sh;
	size_t count = 0;

	for (sh = env->shells; sh; sh = sh->next, count++)
		if (th_str_is(name, sh->name))
			return sh;
	if (count == TH_BASH_SESSIONS_MAX) {
		th_fail(err, TH_ELIMIT, "there are %d shells already, the maximum: use one of them",
			TH_BASH_SESSIONS_MAX);
		return NULL;
	}
	return th_bash_shell_new(env, name);
}

void th_bash_free(struct th_tool_env *env)
{
	while (env->shells) {
		struct th_bash_shell *sh = env->shells;

		env->shells = sh->next;
		th_timer_stop(&sh->soft);
		th_timer_stop(&sh->hard);
		th_shell_session_free(sh->session);
		while (sh->first) {
			struct th_bash_call *c = sh->first;

			sh->first = c->next;
			free(c);
		}
		th_buf_deinit(&sh->last_words);
		free(sh);
	}
}

static enum th_code check(const struct th_tool_job *job, const struct th_bash *a,
			  struct th_err *err)
{
	if (job->env->workspace_fd < 0)
		return th_fail(err, TH_EUNSUPPORTED,
			       "this session has no workspace, so there are no commands");
	if (a->command.len > TH_COMMAND_SIZE_MAX)
		return th_fail(
		    err, TH_ELIMIT,
		    "a command of %zu bytes is longer than %zu: write it to a file and run that",
		    a->command.len, TH_COMMAND_SIZE_MAX);
	if (a->command.len && memchr(a->command.ptr, '\0', a->command.len))
		return th_fail(err, TH_EUSAGE, "the command holds a NUL byte");
	if (a->session.len > TH_BASH_NAME_MAX ||
	    (a->session.len && memchr(a->session.ptr, '\0', a->session.len)))
		return th_fail(err, TH_EUSAGE, "the name of a session has 1 to %d bytes",
			       TH_BASH_NAME_MAX);
	if (a->timeout_s > TH_BASH_WAIT_MAX_S || a->timeout > TH_BASH_WAIT_MAX_S)
		return th_fail(err, TH_EUSAGE, "timeout_s is at most %d", TH_BASH_WAIT_MAX_S);
	return TH_OK;
}

static void start(struct th_tool_job *job)
{
	const struct th_bash *a = (const struct th_bash *)job->args;
	struct th_err err = {};
	struct th_bash_shell *sh = NULL;
	size_t waiting = 0;
	struct th_bash_call *c;

	if (!check(job, a, &err))
		sh =
		    shell_find(job->env, a->session.len ? a->session : TH_STR(TH_BASH_FIRST), &err);
	for (c = sh ? sh->first : NULL; c; c = c->next)
		waiting++;
	if (sh && waiting >= TH_BASH_QUEUE_MAX)
		th_fail(&err, TH_ELIMIT, "%d calls wait for this shell already", TH_BASH_QUEUE_MAX);
	if (err.code) {
		th_tool_fail(job, TH_OUTCOME_REFUSED, &err);
		return;
	}
	c = (struct th_bash_call *)th_alloc(sizeof(*c));
	*c = (struct th_bash_call){ .job = job, .args = a, .shell = sh };
	job->state = c;
	if (sh->last)
		sh->last->next = c;
	else
		sh->first = c;
	sh->last = c;
	th_bash_shell_run(sh);
}

static void cancel(struct th_tool_job *job)
{
	struct th_bash_call *c = (struct th_bash_call *)job->state, **at;
	struct th_bash_shell *sh = c->shell;

	c->cancelled = true;
	if (sh->first == c) {
		th_bash_shell_interrupt(sh);
		return;
	}
	for (at = &sh->first; *at != c; at = &(*at)->next)
		;
	*at = c->next;
	if (sh->last == c) {
		sh->last = sh->first;
		while (sh->last && sh->last->next)
			sh->last = sh->last->next;
	}
	free(c);
	th_tool_text(job, TH_OUTCOME_NOT_STARTED, TH_STR("[cancelled before it ran]"), TH_STR(""));
}

const struct th_tool th_tool_bash = {
	.name = "bash",
	.description =
	    "Run commands in a bash that lives on between calls, with its folder, variables and "
	    "background jobs, and see what they print and their exit code. A command that takes "
	    "long "
	    "is left running: send an empty command to wait on, or input (a text, or a key such as "
	    "C-c). What ends in & runs in the background. Long output is shown with its middle "
	    "left "
	    "out.",
	.class = TH_CLASS_W,
	.scope = { TH_TARGET_FILES, TH_SHOWS_ANY },
	.in_default = true,
	.arguments = &th_bash_table,
	.start = start,
	.cancel = cancel,
};
