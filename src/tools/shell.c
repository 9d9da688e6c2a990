/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shell.c - runs a command (tools/sh.h), and tells both streams as one text.
 */
#include <stdlib.h>
#include <string.h>

#include "agents/agent.h"
#include "base/limits.h"
#include "base/text.h"
#include "tools/sh.h"

#define TH_FIELDS_shell(F)                                      \
	F(shell, str, command, "command", TH_REQ | TH_NONEMPTY, \
	  "Command line for /bin/sh, run in the workspace.")    \
	F(shell, int, timeout_s, "timeout_s", TH_POSITIVE,      \
	  "Seconds after which it is ended with everything it started; default 120.")

TH_STRUCT(shell)
extern const struct th_table th_shell_table;
TH_TABLE(shell, "arguments of shell", false)

struct shell {
	struct th_tool_job *job;
	struct th_sh *sh;
	struct th_clip clip;
	int64_t timeout_ms;
};

static void shell_free(struct shell *s)
{
	th_clip_deinit(&s->clip);
	free(s);
}

/* The last line of the output. */
static void add_ending(struct th_buf *out, const struct shell *s, const struct th_sh_end *end)
{
	if (out->len > 0 && out->ptr[out->len - 1] != '\n')
		th_buf_add_char(out, '\n');
	if (end->ending == TH_SH_TIMEOUT)
		th_buf_printf(
		    out, "[ended after %lld s, its time limit, with everything it had started]",
		    (long long)(s->timeout_ms / 1000));
	else if (end->ending == TH_SH_CANCEL)
		th_buf_add(out, TH_STR("[cancelled, and ended with everything it had started]"));
	else if (end->exit.not_started)
		th_buf_add(out, TH_STR("[not started: the sandbox could not be set up]"));
	else if (end->status == TH_OUTCOME_NOT_STARTED)
		th_buf_add(out, TH_STR("[not started]"));
	else if (end->status == TH_OUTCOME_UNKNOWN)
		th_buf_add(out, TH_STR("[it may or may not have happened; it was not repeated]"));
	else if (end->status == TH_OUTCOME_FAILED)
		th_buf_add(out, TH_STR("[it had begun, and was cut off]"));
	else if (end->exit.signalled)
		th_buf_printf(out, "[ended by signal %d, %s]", end->exit.code,
			      strsignal(end->exit.code));
	else
		th_buf_printf(out, "[exit code %d]", end->exit.code);
}

static void add_evidence(struct th_buf *out, const struct shell *s, const struct th_sh_end *end,
			 uint64_t left_out)
{
	struct th_jw w = th_jw(out);
	th_jw_object(&w);
	if (end->exit.signalled)
		th_jw_kint(&w, "signal", end->exit.code);
	else
		th_jw_kint(&w, "exit_code", end->exit.code);
	if (end->ending == TH_SH_TIMEOUT)
		th_jw_kbool(&w, "timed_out", true);
	if (end->ending == TH_SH_CANCEL)
		th_jw_kbool(&w, "cancelled", true);
	th_jw_kuint(&w, "output_size", s->clip.size);
	if (left_out > 0)
		th_jw_kuint(&w, "left_out", left_out);
	th_jw_object_end(&w);
}

static void on_ended(void *ctx, const struct th_sh_end *end)
{
	struct shell *s = (struct shell *)ctx;
	struct th_tool_job *job = s->job;
	TH_CLEANUP(th_buf_deinit) struct th_buf text = TH_BUF_INIT(8 * TH_TOOL_OUTPUT_MODEL_MAX);
	struct th_buf evidence = TH_BUF_INIT(1024);
	uint64_t left_out = th_clip_text(&s->clip, &text);

	add_ending(&text, s, end);
	add_evidence(&evidence, s, end, left_out);
	shell_free(s);
	th_tool_text(job, end->status, th_buf_str(&text), th_buf_str(&evidence));
	th_buf_deinit(&evidence);
}

static void start(struct th_tool_job *job)
{
	const struct th_shell *args = (const struct th_shell *)job->args;
	struct th_sh_spec spec = { .ended = on_ended };
	struct th_err err = {};

	if (th_sh_check(job, args->command, &spec.command, &err)) {
		th_tool_fail(job, TH_OUTCOME_REFUSED, &err);
		return;
	}
	struct shell *s = (struct shell *)th_alloc(sizeof(*s));
	s->job = job;
	s->timeout_ms = spec.timeout_ms = th_tool_timeout_ms(job, args->timeout_s);
	th_clip_init(&s->clip, TH_TOOL_OUTPUT_MODEL_MAX);
	spec.out = &s->clip;
	spec.ctx = s;
	if (th_sh_start(job, &spec, &s->sh, &err)) {
		shell_free(s);
		th_tool_fail(job, TH_OUTCOME_NOT_STARTED, &err);
		return;
	}
	job->state = s;
}

static void cancel(struct th_tool_job *job)
{
	struct shell *s = (struct shell *)job->state;

	th_sh_cancel(s->sh);
}

const struct th_tool th_tool_shell = {
	.name = "shell",
	.description =
	    "Run a command with /bin/sh in the workspace and see what it prints (standard output "
	    "and "
	    "errors together) and its exit code. Everything it starts ends with it. Long output is "
	    "shown with its middle left out.",
	.class = TH_CLASS_W,
	.scope = { TH_TARGET_FILES, TH_SHOWS_ANY },
	.was_default = true,
	.arguments = &th_shell_table,
	.start = start,
	.cancel = cancel,
};
