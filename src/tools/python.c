/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python.c - cells of Python in an IPython that lives on between the calls
 * (python_kernel.py), on a terminal as a shell is (bash_session.h).
 *
 * A call waits until its cell has ended.  A cell that runs longer than it may
 * is interrupted, and keeps what it had made; one that does not stop costs the
 * kernel.  What it prints and shows comes in its order, pictures behind it.
 *
 * Class W.  Cells run one after the other.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "agents/agent.h"
#include "base/codec.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/picture_type.h"
#include "tools/bash_session.h"
#include "tools/python_kernel.h"

#define TH_FIELDS_python(F)                                                                     \
	F(python, str, code, "code", 0, "The cell: statements, or magics of IPython.")          \
	F(python, int, timeout_s, "timeout_s", TH_NONEG,                                        \
	  "Interrupt the cell after so many seconds; 0: the longest that a command may run.")   \
	F(python, bool, restart, "restart", 0, "End the kernel first, with all its variables.") \
	F(python, str, security_risk, "security_risk", TH_HIDDEN, "not looked at")              \
	F(python, str, summary, "summary", TH_HIDDEN, "not looked at")

TH_STRUCT(python)
extern const struct th_table th_python_table;
TH_TABLE(python, "arguments of python", false)

/* -I: what the workspace holds is no part of the kernel itself. */
static const struct th_shell_kind python_kind = {
	.argv = (const char *const[]){ "python3", "-I", "-c", th_python_kernel, NULL },
	.environment = (const char *const[]){ "PYTHONIOENCODING=utf-8", NULL },
	.report_max = TH_PYTHON_REPORT_MAX,
};

enum { CELL_ENDED, CELL_RAISED, CELL_NOT_BEGUN }; /* what the kernel says */

struct cell {
	struct cell *next;
	struct th_tool_job *job;
	const struct th_python *args;
	bool cancelled;
};

struct th_python_kernel {
	struct th_tool_env *env;
	struct th_shell_session *session; /* NULL: none lives */
	struct cell *first, *last;        /* the first one runs, or is about to */
	struct th_timer limit;            /* until it is interrupted, and then until it is ended */
	bool waiting, overdue, interrupted;
	struct th_buf last_words; /* of a kernel that died while nobody waited */
};

static void run_first(struct th_python_kernel *k);

/* ---- the answer ---- */

/* A picture of the report, checked again: the kernel runs the model's code.  False: it cannot be
 * shown, which is said in its place. */
static bool put_picture(struct th_tool_job *job, struct th_jw *w, const struct th_json *json)
{
	struct th_buf bytes = TH_BUF_INIT(TH_TOOL_PICTURE_MAX);
	const char *type = NULL;
	char hex[TH_SHA256_HEX_SIZE + 1];

	if (th_base64_decode(&bytes, th_json_get_str(json, "data")))
		type = th_picture_whole_type(th_buf_str(&bytes));
	if (!type) {
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("text"));
		th_jw_kstr(w, "text",
			   TH_STR("[a picture that is broken or too large, and cannot be shown]"));
		th_jw_object_end(w);
	} else {
		struct th_digest digest = th_sha256_of(bytes.ptr, bytes.len);

		th_digest_hex(&digest, hex);
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("image"));
		th_jw_kstr(w, "media_type", th_str_of(type));
		th_jw_kstr(w, "blob", th_str_of(hex));
		th_jw_kuint(w, "size", bytes.len);
		th_jw_object_end(w);
		job->picture(job, th_buf_str(&bytes), th_str_of(hex), th_str_of(type));
	}
	th_buf_deinit(&bytes);
	return type != NULL;
}

/* The text and, behind it, the pictures; how many are shown.  *any: there is more than the text. */
static size_t put_parts(struct th_tool_job *job, struct th_buf *out, struct th_str text,
			const struct th_json *report, bool *any)
{
	struct th_json_iter it = th_json_iter(th_json_get(report, "pictures"));
	struct th_jw w = th_jw(out);
	size_t count = 0;

	th_jw_array(&w);
	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("text"));
	th_jw_kstr(&w, "text", text);
	th_jw_object_end(&w);
	for (size_t i = 0; i < TH_PYTHON_PICTURES_MAX && th_json_next(&it); i++) {
		count += put_picture(job, &w, it.val) ? 1 : 0;
		*any = true;
	}
	th_jw_array_end(&w);
	return count;
}

static void put_evidence(struct th_buf *out, bool raised, size_t pictures, uint64_t size,
			 uint64_t left_out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kbool(&w, "raised", raised);
	th_jw_kuint(&w, "output_size", size);
	if (left_out)
		th_jw_kuint(&w, "left_out", left_out);
	if (pictures)
		th_jw_kuint(&w, "pictures", pictures);
	th_jw_object_end(&w);
}

/* The first call is answered: what is new on the terminal, `ending` behind it, and pictures. */
static void answer(struct th_python_kernel *k, enum th_outcome_status status, bool raised,
		   struct th_str ending, const struct th_json *report)
{
	struct cell *c = k->first;
	struct th_tool_job *job = c->job;
	TH_CLEANUP(th_buf_deinit) struct th_buf text = TH_BUF_INIT(20 * TH_TOOL_OUTPUT_MODEL_MAX);
	TH_CLEANUP(th_buf_deinit) struct th_buf parts = TH_BUF_INIT(8 * TH_MIB);
	struct th_buf evidence = TH_BUF_INIT(512);
	struct th_terminal *t = k->session ? th_shell_session_terminal(k->session) : NULL;
	uint64_t size = t ? th_terminal_fresh(t) : 0, left_out = 0;
	bool any = false;
	size_t pictures;

	if (status == TH_OUTCOME_REFUSED || status == TH_OUTCOME_NOT_STARTED)
		th_buf_add_cstr(&text, TH_ERROR_MARK);
	th_buf_add(&text, th_buf_str(&k->last_words));
	th_buf_clear(&k->last_words);
	if (t)
		left_out = th_terminal_take(t, &text);
	if (text.len > 0 && ending.len > 0 && text.ptr[text.len - 1] != '\n' &&
	    status != TH_OUTCOME_REFUSED && status != TH_OUTCOME_NOT_STARTED)
		th_buf_add_char(&text, '\n');
	th_buf_add(&text, ending);
	if (text.len == 0)
		th_buf_add_cstr(&text, "[Code executed successfully with no output]");
	th_timer_stop(&k->limit);
	k->waiting = false;
	k->first = c->next;
	if (!k->first)
		k->last = NULL;
	free(c);
	pictures = put_parts(job, &parts, th_buf_str(&text), report, &any);
	put_evidence(&evidence, raised, pictures, size, left_out);
	if (any)
		job->done(job, status, th_buf_str(&parts), th_buf_str(&evidence));
	else
		th_tool_text(job, status, th_buf_str(&text), th_buf_str(&evidence));
	th_buf_deinit(&evidence);
	run_first(k);
}

TH_PRINTF(4, 5)
static void answer_with(struct th_python_kernel *k, enum th_outcome_status status, bool raised,
			const char *fmt, ...)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf ending = TH_BUF_INIT(4 * TH_KIB);
	va_list ap;

	va_start(ap, fmt);
	th_buf_vprintf(&ending, fmt, ap);
	va_end(ap);
	answer(k, status, raised, th_buf_str(&ending), NULL);
}

/* ---- events of the kernel ---- */

static void on_output(void *ctx, struct th_str bytes)
{
	struct th_python_kernel *k = (struct th_python_kernel *)ctx;

	if (k->waiting)
		k->first->job->output(k->first->job, bytes);
	else if (th_terminal_fresh(th_shell_session_terminal(k->session)) > TH_BASH_UNREAD_MAX)
		th_shell_session_pause(k->session, true);
}

static void put_ending(const struct th_python_kernel *k, struct th_buf *out)
{
	if (k->first->cancelled)
		th_buf_add_cstr(out, "[The cell was cancelled, and interrupted.]");
	else if (k->overdue)
		th_buf_printf(
		    out, "[Execution timed out (%lld seconds); the cell was interrupted.]",
		    (long long)(th_tool_timeout_ms(k->first->job, k->first->args->timeout_s) /
				1000));
}

static void on_ended(void *ctx, int status, struct th_str rest)
{
	struct th_python_kernel *k = (struct th_python_kernel *)ctx;
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
	struct th_buf ending = TH_BUF_INIT(4 * TH_KIB);
	bool forced = k->overdue || k->first->cancelled;
	const struct th_json *report = NULL;

	if (th_json_parse(rest, &doc, NULL) == TH_OK)
		report = th_json_root(doc);
	put_ending(k, &ending);
	if (status == CELL_NOT_BEGUN)
		answer_with(k, TH_OUTCOME_NOT_STARTED, false,
			    "the cell did not run: this machine's Python has no IPython (%.*s); "
			    "Debian has it as python3-ipython",
			    TH_FMT(th_str_sub(th_json_get_str(report, "missing"), 0, 200)));
	else
		answer(k, forced ? TH_OUTCOME_FAILED : TH_OUTCOME_DONE, status == CELL_RAISED,
		       th_buf_str(&ending), report);
	th_buf_deinit(&ending);
}

static void describe_death(struct th_buf *out, const struct th_child_exit *e)
{
	if (e->signalled)
		th_buf_printf(out, "[The kernel was ended by signal %d", e->code);
	else
		th_buf_printf(out, "[The kernel ended with exit code %d", e->code);
	th_buf_add_cstr(out, ", and with it its variables and all that it had started. The next "
			     "cell begins a new one.]");
}

static void on_died(void *ctx, const struct th_child_exit *e)
{
	struct th_python_kernel *k = (struct th_python_kernel *)ctx;
	TH_CLEANUP(th_buf_deinit) struct th_buf ending = TH_BUF_INIT(4 * TH_KIB);
	bool forced = k->waiting && (k->overdue || k->first->cancelled);

	if (k->waiting)
		put_ending(k, &ending);
	if (ending.len)
		th_buf_add_char(&ending, ' ');
	if (e->not_started)
		th_buf_add_cstr(&ending, "[not started: the sandbox could not be set up]");
	else
		describe_death(&ending, e);
	th_terminal_take(th_shell_session_terminal(k->session), &k->last_words);
	if (k->last_words.len)
		th_buf_add_char(&k->last_words, '\n');
	k->session = th_shell_session_free(k->session);
	if (!k->waiting) {
		th_buf_printf(&k->last_words, "%s\n", ending.ptr);
		return;
	}
	answer(k,
	       e->not_started ? TH_OUTCOME_NOT_STARTED
	       : forced       ? TH_OUTCOME_FAILED
			      : TH_OUTCOME_DONE,
	       true, th_buf_str(&ending), NULL);
}

/* ---- one cell ---- */

static void interrupt(struct th_python_kernel *k)
{
	static const struct th_child_exit killed = { .signalled = true, .code = SIGKILL };

	th_shell_session_pause(k->session, false);
	if (k->interrupted) {
		on_died(k, &killed); /* which ends it */
		return;
	}
	k->interrupted = true;
	th_shell_session_signal(k->session, SIGINT);
	th_shell_session_signal(k->session, SIGCONT);
	th_timer_start(&k->limit, k->env->bash_grace_ms ?: TH_BASH_GRACE_MS, 0);
}

static void on_limit(void *ctx)
{
	struct th_python_kernel *k = (struct th_python_kernel *)ctx;

	if (!k->interrupted)
		k->overdue = true;
	interrupt(k);
}

static const struct th_shell_events events = { on_output, on_ended, on_died, NULL };

static void run_cell(struct th_python_kernel *k)
{
	struct cell *c = k->first;
	struct th_shell_events e = events;
	struct th_err err = {};
	enum th_code code = TH_OK;

	e.ctx = k;
	if (c->args->restart)
		k->session = th_shell_session_free(k->session);
	if (c->args->restart)
		th_buf_clear(&k->last_words);
	k->overdue = k->interrupted = false;
	if (!k->session)
		code = th_shell_session_new(k->env, &python_kind, &e, &k->session, &err);
	if (code == TH_ENOENT)
		th_fail(&err, code, "there is no python3 on this machine");
	if (code == TH_OK && c->args->code.len == 0) {
		answer_with(k, TH_OUTCOME_DONE, false,
			    "[The kernel was ended with all that it had started, and begun anew.]");
		return;
	}
	if (code == TH_OK)
		code = th_shell_session_run(k->session, c->args->code, &err);
	if (code) {
		answer_with(k, TH_OUTCOME_NOT_STARTED, false, "%s", err.msg);
		return;
	}
	k->waiting = true;
	c->job->clocks[0] = &k->limit;
	th_timer_start(&k->limit, (uint64_t)th_tool_timeout_ms(c->job, c->args->timeout_s), 0);
	th_shell_session_pause(k->session, false);
}

static void run_first(struct th_python_kernel *k)
{
	if (k->first && !k->waiting)
		run_cell(k);
}

/* ---- calls ---- */

static struct th_python_kernel *kernel_of(struct th_tool_env *env)
{
	struct th_python_kernel *k = env->kernel;

	if (k)
		return k;
	k = (struct th_python_kernel *)th_alloc(sizeof(*k));
	k->env = env;
	th_buf_init(&k->last_words, 20 * TH_TOOL_OUTPUT_MODEL_MAX);
	th_timer_init(&k->limit, env->loop, on_limit, k);
	env->kernel = k;
	return k;
}

void th_python_free(struct th_tool_env *env)
{
	struct th_python_kernel *k = env->kernel;

	env->kernel = NULL;
	if (!k)
		return;
	th_timer_stop(&k->limit);
	th_shell_session_free(k->session);
	while (k->first) {
		struct cell *c = k->first;

		k->first = c->next;
		free(c);
	}
	th_buf_deinit(&k->last_words);
	free(k);
}

static enum th_code check(const struct th_tool_job *job, const struct th_python *a,
			  struct th_err *err)
{
	size_t waiting = 0;

	if (job->env->workspace_fd < 0)
		return th_fail(err, TH_EUNSUPPORTED,
			       "this session has no workspace, so there is no Python");
	if (a->code.len > TH_COMMAND_SIZE_MAX)
		return th_fail(
		    err, TH_ELIMIT,
		    "a cell of %zu bytes is longer than %zu: write it to a file and run that",
		    a->code.len, TH_COMMAND_SIZE_MAX);
	if (a->code.len && memchr(a->code.ptr, '\0', a->code.len))
		return th_fail(err, TH_EUSAGE, "the cell holds a NUL byte");
	if (a->code.len == 0 && !a->restart)
		return th_fail(err, TH_EUSAGE, "there is no cell: give `code`, or `restart`");
	for (const struct cell *c = job->env->kernel ? job->env->kernel->first : NULL; c;
	     c = c->next)
		waiting++;
	if (waiting >= TH_BASH_QUEUE_MAX)
		return th_fail(err, TH_ELIMIT, "%d cells wait already", TH_BASH_QUEUE_MAX);
	return TH_OK;
}

static void start(struct th_tool_job *job)
{
	const struct th_python *a = (const struct th_python *)job->args;
	struct th_err err = {};

	if (check(job, a, &err)) {
		th_tool_fail(job, TH_OUTCOME_REFUSED, &err);
		return;
	}
	struct th_python_kernel *k = kernel_of(job->env);
	struct cell *c = (struct cell *)th_alloc(sizeof(*c));
	*c = (struct cell){ .job = job, .args = a };
	job->state = c;
	if (k->last)
		k->last->next = c;
	else
		k->first = c;
	k->last = c;
	run_first(k);
}

static void cancel(struct th_tool_job *job)
{
	struct th_python_kernel *k = job->env->kernel;
	struct cell *c = (struct cell *)job->state, *before = k->first;

	c->cancelled = true;
	if (k->first == c) {
		if (!k->interrupted)
			interrupt(k);
		return;
	}
	while (before->next != c)
		before = before->next;
	before->next = c->next;
	if (k->last == c)
		k->last = before;
	free(c);
	th_tool_text(job, TH_OUTCOME_NOT_STARTED, TH_STR("[cancelled before it ran]"), TH_STR(""));
}

const struct th_tool th_tool_python = {
	.name = "python",
	.description =
	    "Run a cell in an IPython that lives on between calls, and see what it prints, its "
	    "last "
	    "value, and its figures as pictures. Variables, imports and functions stay. The folder "
	    "is the workspace. Long output is shown with its middle left out.",
	.class = TH_CLASS_W,
	.scope = { TH_TARGET_FILES, TH_SHOWS_ANY },
	.arguments = &th_python_table,
	.start = start,
	.cancel = cancel,
};
