/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bash_shell.c - what runs in a shell of the tool `bash`: its calls one after the other, what the
 * shell says, how long a call waits, and how a command is ended.
 */
#include "tools/bash_shell.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/text.h"
#include "io/clock.h"
#include "tools/bash_keys.h"

#define WAIT_HINT                                                                               \
	"You may wait longer to see additional output by sending empty command '', send other " \
	"commands to interact with the current process, send keys (\"C-c\", \"C-z\", \"C-d\") " \
	"to interrupt/kill the previous command before sending your new command, or use the "   \
	"timeout_s parameter for future commands."

/* ---- the answer ---- */

/* The first call is answered: what is new on the terminal, and `ending` behind it. */
static void answer(struct th_bash_shell *sh, enum th_outcome_status status, bool ended,
		   struct th_str ending)
{
	struct th_bash_call *c = sh->first;
	struct th_tool_job *job = c->job;
	TH_CLEANUP(th_buf_deinit) struct th_buf text = TH_BUF_INIT(20 * TH_TOOL_OUTPUT_MODEL_MAX);
	struct th_buf evidence = TH_BUF_INIT(2 * TH_PATH_LEN_MAX + 512);

	th_bash_put_answer(sh, status, ended, ending, &text, &evidence);
	if (ended) {
		sh->ended_untold = false;
		sh->control = 0;
	}
	th_timer_stop(&sh->soft);
	th_timer_go_on(&sh->hard);
	sh->waiting = false;
	sh->first = c->next;
	if (!sh->first)
		sh->last = NULL;
	free(c);
	th_tool_text(job, status, th_buf_str(&text), th_buf_str(&evidence));
	th_buf_deinit(&evidence);
	th_bash_shell_run(sh);
}

TH_PRINTF(4, 5)
static void answer_with(struct th_bash_shell *sh, enum th_outcome_status status, bool ended,
			const char *fmt, ...)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf ending = TH_BUF_INIT(16 * TH_KIB);
	va_list ap;

	va_start(ap, fmt);
	th_buf_vprintf(&ending, fmt, ap);
	va_end(ap);
	answer(sh, status, ended, th_buf_str(&ending));
}

static void answer_ended(struct th_bash_shell *sh)
{
	const struct th_bash_call *c = sh->first;

	if (c->cancelled)
		answer_with(sh, TH_OUTCOME_FAILED, true,
			    "[The command was cancelled, and ended with exit code %d.]",
			    sh->status);
	else if (sh->overdue)
		answer_with(sh, TH_OUTCOME_FAILED, true,
			    "[The command was ended after %lld seconds, the longest that one may "
			    "run, with exit code %d. What ends in & may run on in the background.]",
			    (long long)(th_tool_timeout_ms(c->job, 0) / 1000), sh->status);
	else if (sh->control)
		answer_with(sh, TH_OUTCOME_DONE, true,
			    "[The command completed with exit code %d. CTRL+%c was sent.]",
			    sh->status, sh->control);
	else
		answer_with(sh, TH_OUTCOME_DONE, true, "[The command completed with exit code %d.]",
			    sh->status);
}

/* ---- events of the shell ---- */

static void tell_viewer(const struct th_bash_shell *sh)
{
	const struct th_tool_env *env = sh->env;

	if (env->bash_viewer.changed && strcmp(sh->name, TH_BASH_FIRST) == 0)
		env->bash_viewer.changed(env->bash_viewer.ctx);
}

static void on_output(void *ctx, struct th_str bytes)
{
	struct th_bash_shell *sh = (struct th_bash_shell *)ctx;

	sh->output_ms = th_clock_ms();
	tell_viewer(sh);
	if (sh->waiting)
		sh->first->job->output(sh->first->job, bytes);
	else if (th_terminal_fresh(th_shell_session_terminal(sh->session)) > TH_BASH_UNREAD_MAX)
		th_shell_session_pause(sh->session, true);
}

static void on_ended(void *ctx, int status, struct th_str folder)
{
	struct th_bash_shell *sh = (struct th_bash_shell *)ctx;

	th_timer_stop(&sh->hard);
	sh->stage = 0;
	sh->status = status;
	sh->ended_untold = true;
	snprintf(sh->folder, sizeof(sh->folder), "%.*s", TH_FMT(folder));
	if (sh->waiting)
		answer_ended(sh);
}

static void shell_gone(struct th_bash_shell *sh)
{
	th_timer_stop(&sh->hard);
	sh->stage = 0;
	sh->ended_untold = false;
	sh->control = 0;
	sh->folder[0] = '\0';
	snprintf(sh->told_folder, sizeof(sh->told_folder), "%.*s", TH_FMT(sh->env->workspace));
	sh->session = th_shell_session_free(sh->session);
	tell_viewer(sh);
}

static void on_died(void *ctx, const struct th_child_exit *e)
{
	struct th_bash_shell *sh = (struct th_bash_shell *)ctx;
	TH_CLEANUP(th_buf_deinit) struct th_buf text = TH_BUF_INIT(20 * TH_TOOL_OUTPUT_MODEL_MAX);
	bool forced = sh->overdue || (sh->waiting && sh->first->cancelled);
	enum th_outcome_status status = e->not_started ? TH_OUTCOME_NOT_STARTED
					: forced       ? TH_OUTCOME_FAILED
						       : TH_OUTCOME_DONE;

	sh->status = e->code + (e->signalled ? 128 : 0);
	if (e->not_started)
		th_buf_add_cstr(&text, "[not started: the sandbox could not be set up]");
	else
		th_bash_put_death(&text, e);
	if (sh->waiting) {
		struct th_buf words = TH_BUF_INIT(20 * TH_TOOL_OUTPUT_MODEL_MAX);

		/* The terminal goes with the shell: its words first. */
		th_bash_put_last_words(sh, &words);
		th_terminal_take(th_shell_session_terminal(sh->session), &words);
		th_buf_deinit(&sh->last_words);
		sh->last_words = words;
		shell_gone(sh);
		answer(sh, status, true, th_buf_str(&text));
		return;
	}
	th_terminal_take(th_shell_session_terminal(sh->session), &sh->last_words);
	th_buf_printf(&sh->last_words, "%s%s\n", sh->last_words.len ? "\n" : "", text.ptr);
	shell_gone(sh);
}

/* ---- ending what runs ---- */

static void on_hard(void *ctx)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGKILL };
	struct th_bash_shell *sh = (struct th_bash_shell *)ctx;
	static const struct th_child_exit killed = { .signalled = true, .code = SIGKILL };

	if (!th_bash_shell_busy(sh))
		return;
	th_shell_session_pause(sh->session, false);
	if (sh->stage == TH_COUNT(signals)) {
		on_died(sh, &killed); /* which ends it */
		return;
	}
	th_shell_session_signal(sh->session, signals[sh->stage++]);
	th_shell_session_signal(sh->session, SIGCONT);
	th_timer_start(&sh->hard, sh->env->bash_grace_ms ?: TH_BASH_GRACE_MS, 0);
}

void th_bash_shell_interrupt(struct th_bash_shell *sh)
{
	if (sh->stage == 0)
		on_hard(sh);
}

static void on_overdue(void *ctx)
{
	struct th_bash_shell *sh = (struct th_bash_shell *)ctx;

	if (sh->stage == 0)
		sh->overdue = true;
	on_hard(ctx);
}

/* ---- waiting ---- */

static uint64_t idle_ms(const struct th_bash_shell *sh)
{
	return sh->env->bash_idle_ms ?: TH_BASH_IDLE_MS;
}

static void wait_on(struct th_bash_shell *sh)
{
	const struct th_bash_call *c = sh->first;
	uint64_t now = th_clock_ms(), end = c->deadline_ms;

	if (!end)
		end = TH_MAX(c->started_ms, sh->output_ms) + idle_ms(sh);
	th_timer_start(&sh->soft, end > now ? end - now : 1, 0);
}

static void on_soft(void *ctx)
{
	struct th_bash_shell *sh = (struct th_bash_shell *)ctx;
	const struct th_bash_call *c = sh->first;
	uint64_t now = th_clock_ms();

	if (!sh->waiting)
		return;
	if (c->deadline_ms && now >= c->deadline_ms)
		answer_with(sh, TH_OUTCOME_DONE, false,
			    "[The command timed out after %.*f seconds. " WAIT_HINT "]",
			    c->timeout_s * 10 == (double)(int64_t)(c->timeout_s * 10) ? 1 : 3,
			    c->timeout_s);
	else if (!c->deadline_ms && now >= TH_MAX(c->started_ms, sh->output_ms) + idle_ms(sh))
		answer_with(sh, TH_OUTCOME_DONE, false,
			    "[The command has no new output after %lld seconds. " WAIT_HINT "]",
			    (long long)(idle_ms(sh) / 1000));
	else
		wait_on(sh);
}

/* ---- one call ---- */

static bool is_input(const struct th_bash *a)
{
	return a->input || th_str_is(a->is_input, "true") || th_str_is(a->is_input, "\"true\"");
}

static void begin_wait(struct th_bash_shell *sh)
{
	struct th_bash_call *c = sh->first;
	double timeout_s = c->args->timeout_s > 0 ? c->args->timeout_s : c->args->timeout;
	int64_t max_ms = th_tool_timeout_ms(c->job, 0);

	c->job->clocks[0] = &sh->soft;
	c->job->clocks[1] = &sh->hard;
	c->started_ms = th_clock_ms();
	c->timeout_s = timeout_s;
	if (timeout_s > 0)
		c->deadline_ms =
		    c->started_ms + (uint64_t)TH_MIN(timeout_s * 1000, (double)(max_ms + 60000));
	sh->waiting = true;
	wait_on(sh);
	th_shell_session_pause(sh->session, false);
}

static const struct th_shell_events events = { on_output, on_ended, on_died, NULL };

static enum th_code ensure_shell(struct th_bash_shell *sh, struct th_err *err)
{
	struct th_shell_events e = events;
	enum th_code code;

	if (sh->session)
		return TH_OK;
	e.ctx = sh;
	code = th_shell_session_new(sh->env, &th_shell_bash, &e, &sh->session, err);
	tell_viewer(sh);
	if (code == TH_ENOENT)
		return th_fail(err, code, "there is no bash on this machine");
	return code;
}

/* A person does not wait, and what is on the terminal stays for the agent's next call. */
static void answer_typed(struct th_bash_shell *sh)
{
	struct th_bash_call *c = sh->first;
	struct th_tool_job *job = c->job;
	struct th_buf evidence = TH_BUF_INIT(2 * TH_PATH_LEN_MAX + 512);

	th_bash_put_evidence(&evidence, sh, false, 0, 0);
	sh->first = c->next;
	if (!sh->first)
		sh->last = NULL;
	free(c);
	th_shell_session_pause(sh->session, false);
	th_tool_text(job, TH_OUTCOME_DONE, TH_STR("[typed]"), th_buf_str(&evidence));
	th_buf_deinit(&evidence);
	th_bash_shell_run(sh);
}

static void run_command(struct th_bash_shell *sh)
{
	struct th_bash_call *c = sh->first;
	struct th_err err = {};

	th_bash_put_ended(sh, &sh->last_words);
	if (ensure_shell(sh, &err) || th_shell_session_run(sh->session, c->args->command, &err)) {
		answer_with(sh, TH_OUTCOME_NOT_STARTED, false, "%s", err.msg);
		return;
	}
	sh->overdue = false;
	sh->stage = 0;
	sh->control = 0;
	th_timer_start(&sh->hard, (uint64_t)th_tool_timeout_ms(c->job, 0), 0);
	if (c->args->typed)
		answer_typed(sh);
	else
		begin_wait(sh);
}

static void send_input(struct th_bash_shell *sh)
{
	struct th_bash_call *c = sh->first;
	TH_CLEANUP(th_buf_deinit) struct th_buf bytes = TH_BUF_INIT(TH_BASH_INPUT_MAX + 16);
	struct th_err err = {};
	char control;

	if (c->args->command.len > TH_BASH_INPUT_MAX) {
		answer_with(sh, TH_OUTCOME_REFUSED, false,
			    "input has at most %d bytes: a terminal takes no longer "
			    "line; write it to a file",
			    TH_BASH_INPUT_MAX);
		return;
	}
	th_bash_keys(c->args->command, &bytes, &control);
	if (th_shell_session_type(sh->session, th_buf_str(&bytes), &err)) {
		answer_with(sh, TH_OUTCOME_NOT_STARTED, false, "%s", err.msg);
		return;
	}
	if (control == 'C' || control == 'Z' || control == 'D')
		sh->control = control;
	if (c->args->typed) {
		answer_typed(sh);
		return;
	}
	c->continued = true;
	begin_wait(sh);
}

static void restart(struct th_bash_shell *sh)
{
	struct th_bash_call *c = sh->first;
	struct th_err err = {};

	shell_gone(sh);
	th_buf_clear(&sh->last_words);
	if (c->args->command.len > 0) {
		run_command(sh);
		return;
	}
	if (ensure_shell(sh, &err))
		answer_with(sh, TH_OUTCOME_NOT_STARTED, false, "%s", err.msg);
	else
		answer_with(sh, TH_OUTCOME_DONE, false,
			    "[The shell was ended with all that it had started, and begun anew.]");
}

static void run_call(struct th_bash_shell *sh)
{
	struct th_bash_call *c = sh->first;
	const struct th_bash *a = c->args;
	bool busy = th_bash_shell_busy(sh);

	if (a->restart || a->reset) {
		restart(sh);
	} else if (busy && (is_input(a) || a->typed) && a->command.len) {
		send_input(sh);
	} else if (busy && a->command.len == 0) {
		c->continued = true;
		begin_wait(sh);
	} else if (busy) {
		c->continued = true;
		answer_with(sh, TH_OUTCOME_REFUSED, false,
			    "[Your command \"%.*s\" is NOT executed. The previous command is still "
			    "running - You CANNOT send new commands until the previous command is "
			    "completed. By setting `input` to `true`, you can interact with the "
			    "current process: " WAIT_HINT "]",
			    TH_FMT(th_utf8_cut(a->command, 200)));
	} else if (sh->ended_untold && (a->command.len == 0 || is_input(a))) {
		c->continued = true;
		answer_ended(sh);
	} else if (a->command.len == 0) {
		answer_with(sh, TH_OUTCOME_REFUSED, false,
			    "No previous running command to retrieve logs from.");
	} else if (is_input(a)) {
		answer_with(sh, TH_OUTCOME_REFUSED, false,
			    "No previous running command to interact with.");
	} else {
		run_command(sh);
	}
}

void th_bash_shell_run(struct th_bash_shell *sh)
{
	if (sh->first && !sh->waiting)
		run_call(sh);
}

/* ---- a shell ---- */

struct th_bash_shell *th_bash_shell_new(struct th_tool_env *env, struct th_str name)
{
	struct th_bash_shell *sh = (struct th_bash_shell *)th_alloc(sizeof(*sh));

	sh->env = env;
	memcpy(sh->name, name.ptr, name.len);
	snprintf(sh->told_folder, sizeof(sh->told_folder), "%.*s", TH_FMT(env->workspace));
	th_buf_init(&sh->last_words, 20 * TH_TOOL_OUTPUT_MODEL_MAX);
	th_timer_init(&sh->soft, env->loop, on_soft, sh);
	th_timer_init(&sh->hard, env->loop, on_overdue, sh);
	sh->next = env->shells;
	env->shells = sh;
	return sh;
}
