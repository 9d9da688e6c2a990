/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/runner.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/view.h"
#include "exec_client/client.h"
#include "io/clock.h"
#include "models/model.h"
#include "runtime/runtime.h"

#define ANSWER_MAX 1024 /* of a person at the prompt */

struct runner {
	const struct th_job *job;
	struct th_runtime *runtime;
	struct th_driver *driver;
	struct th_loop *loop;
	struct th_handle handle; /* {0, 0}: not ready */
	struct th_view *view;
	struct th_buf out;
	struct th_poll *prompt; /* a person is asked */
	struct th_buf question; /* about the call of this name */
	bool interactive, done, interrupted, unwritable, refused;
	int output_errnum; /* why its output could not be written, but for a closed pipe */
	int exit_code;     /* -1: by the state */
	struct th_err err;
};

static const struct th_session *session(const struct runner *r)
{
	return th_driver_session(r->driver, r->handle);
}

static void stop(struct runner *r)
{
	r->done = true;
	th_loop_stop(r->loop);
}

static void fail(struct runner *r, const struct th_err *err)
{
	r->err = *err;
	stop(r);
}

/* ---- output ---- */

static void interrupt(struct runner *r, const char *reason);

static void flush(struct runner *r)
{
	bool good = r->out.len == 0 || th_cli_write(STDOUT_FILENO, th_buf_str(&r->out));
	int errnum = errno;

	th_buf_clear(&r->out);
	if (good || r->unwritable)
		return;
	r->unwritable = true;
	if (errnum != EPIPE) /* who reads no more knows that */
		r->output_errnum = errnum;
	interrupt(r, "its output cannot be written");
}

static void print_quiet(struct runner *r, const struct th_event *ev)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_str text;

	if (ev->kind != TH_EV_FINAL || th_json_parse(ev->data, &doc, NULL) != TH_OK)
		return;
	text = th_json_get_str(th_json_root(doc), "output");
	if (!th_cli_terminal(STDOUT_FILENO)) {
		th_buf_add(&r->out, text); /* into a file: as it is */
		th_buf_add_char(&r->out, '\n');
		return;
	}
	do {
		th_text_line(&r->out, th_str_split(&text, '\n'), TH_MESSAGE_MAX);
		th_buf_add_char(&r->out, '\n');
	} while (text.len);
}

/* Whether the model's server said that the request is wrong, when it was asked last. */
static void note_refusal(struct runner *r, const struct th_event *ev)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;

	if (ev->kind == TH_EV_MODEL_REQUESTED)
		r->refused = false;
	else if (ev->kind == TH_EV_MODEL_FAILED && th_json_parse(ev->data, &doc, NULL) == TH_OK)
		r->refused = th_str_is(th_json_get_str(th_json_root(doc), "class"),
				       th_failure_name(TH_FAILURE_REJECTED));
}

static void on_event(void *ctx, struct th_handle h, const struct th_event *ev)
{
	struct runner *r = ctx;
	struct th_jw w = th_jw(&r->out);

	if (h.index == r->handle.index && h.generation == r->handle.generation)
		note_refusal(r, ev);
	switch (r->job->output) {
	case TH_OUTPUT_VIEW:
		th_view_event(r->view, ev, &r->out);
		break;
	case TH_OUTPUT_JSON:
		th_event_print(th_driver_session_id(r->driver, h), ev, &w);
		th_buf_add_char(&r->out, '\n');
		break;
	case TH_OUTPUT_QUIET:
		print_quiet(r, ev);
		break;
	}
	flush(r);
}

static void on_delta(void *ctx, struct th_handle h TH_UNUSED, enum th_delta_kind kind,
		     struct th_str text)
{
	struct runner *r = ctx;

	if (r->job->output != TH_OUTPUT_VIEW)
		return;
	th_view_delta(r->view, kind, text, &r->out);
	flush(r);
}

static void on_progress(void *ctx, struct th_handle h TH_UNUSED, struct th_str tool,
			struct th_str bytes)
{
	struct runner *r = ctx;

	if (r->job->output != TH_OUTPUT_VIEW)
		return;
	th_view_progress(r->view, tool, bytes, &r->out);
	flush(r);
}

/* ---- approvals ---- */

/* The next that waits, of the session or of one that works for it. */
static const struct th_call *asked(struct runner *r)
{
	th_buf_clear(&r->question);
	return th_driver_waits(r->driver, r->handle, TH_CALL_ASKED, TH_STR(""), &r->question);
}

/* The exact action that an approval would be bound to. */
static void show_question(struct runner *r, const struct th_call *c)
{
	th_buf_add_cstr(&r->out, "\n  call  ");
	th_text_line(&r->out, th_buf_str(&r->question), 300);
	th_buf_add_cstr(&r->out, "\n  tool  ");
	th_text_line(&r->out, c->tool, 100);
	th_buf_add_cstr(&r->out, "\n  with  ");
	th_text_line(&r->out, c->arguments, TH_EVENT_DATA_MAX);
	if (c->safety_checks.len) {
		th_buf_add_cstr(&r->out, "\n  check ");
		th_text_line(&r->out, c->safety_checks, 4000);
	}
	th_buf_add_cstr(&r->out, "\n  why   ");
	th_text_line(&r->out, c->reason, 1000);
	th_buf_add_cstr(&r->out, "\nRun it? y: once   n: no   q: leave it waiting  [y/N/q] ");
	flush(r);
}

static void ask(struct runner *r);

static void end_prompt(struct runner *r)
{
	r->prompt = th_poll_free(r->prompt);
}

static void answered(struct runner *r, struct th_str answer)
{
	bool yes = th_str_ieq(answer, TH_STR("y")) || th_str_ieq(answer, TH_STR("yes"));
	bool no =
	    !answer.len || th_str_ieq(answer, TH_STR("n")) || th_str_ieq(answer, TH_STR("no"));
	struct th_err err = {};
	enum th_code code;

	if (th_str_ieq(answer, TH_STR("q"))) {
		stop(r);
		return;
	}
	if (!yes && !no) { /* a slip is no decision */
		ask(r);
		return;
	}
	code = th_driver_decide(r->driver, r->handle, th_buf_str(&r->question), yes, th_cli_user(),
				TH_STR(""), &err);
	/* Which are: it does not wait any more, nor does another of that name. */
	if (code && code != TH_ENOENT && code != TH_EUSAGE)
		fail(r, &err);
	else
		ask(r);
}

static void on_prompt(void *ctx, unsigned events TH_UNUSED)
{
	struct runner *r = ctx;
	char line[ANSWER_MAX];
	ssize_t n = read(STDIN_FILENO, line, sizeof(line));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	end_prompt(r);
	if (n <= 0)
		stop(r); /* nobody is there any more: it stays waiting */
	else
		answered(r, th_str_trim(th_str_n(line, (size_t)n)));
}

/* Asks about the next call that waits; none: the run goes on by itself. */
static void ask(struct runner *r)
{
	const struct th_call *c = asked(r);
	struct th_err err = {};

	if (!c)
		return;
	th_view_break(r->view, &r->out);
	show_question(r, c);
	if (th_poll_new(r->loop, STDIN_FILENO, on_prompt, r, &r->prompt, &err) != TH_OK)
		fail(r, &err);
	else
		th_poll_set(r->prompt, TH_POLL_READ);
}

/* ---- the session's life ---- */

static void on_rest(void *ctx, struct th_handle h TH_UNUSED, const struct th_session *s,
		    const struct th_err *err)
{
	struct runner *r = ctx;

	if (err)
		fail(r, err);
	else if (s->state == TH_STATE_WAITING && r->interactive && !r->interrupted && asked(r))
		ask(r);
	else
		stop(r);
}

/* A session that rests is set going again: by the message, else as an operator's word. */
static enum th_code go(struct runner *r, struct th_err *err)
{
	bool taken_up = session(r)->seq > 1;
	enum th_code code = TH_OK;

	if (!r->job->message.len)
		return th_runtime_go_on(r->runtime, r->handle, taken_up, err);
	if (taken_up)
		code = th_driver_resume(r->driver, r->handle, err);
	return code ? code : th_driver_message(r->driver, r->handle, r->job->message, err);
}

static void on_ready(void *ctx, struct th_handle h, const struct th_err *err)
{
	struct runner *r = ctx;
	struct th_err failure = {};

	if (err) {
		fail(r, err);
		return;
	}
	r->handle = h;
	if (r->job->output == TH_OUTPUT_VIEW) {
		th_view_note(r->view, "session", th_driver_session_id(r->driver, h), &r->out);
		flush(r);
	}
	if (!r->interrupted && go(r, &failure) != TH_OK)
		fail(r, &failure);
}

/* Pauses what runs; what rests is left as it is. */
static void interrupt(struct runner *r, const char *reason)
{
	const struct th_session *s = r->handle.generation ? session(r) : NULL;
	struct th_err err = {};

	r->interrupted = true;
	end_prompt(r);
	if (!s || th_session_rests(s) || s->seq < 2)
		stop(r);
	else if (th_driver_set_state(r->driver, r->handle, TH_STATE_PAUSED, th_str_of(reason),
				     &err) != TH_OK)
		fail(r, &err);
}

static void on_signal(void *ctx, int signum)
{
	struct runner *r = ctx;

	if (r->interrupted) {
		(void)th_cli_write(STDERR_FILENO, TH_STR("\n"));
		_exit(th_cli_die(130, "killed; %s resume settles what was under way",
				 th_cli_program()));
	}
	interrupt(r, signum == SIGINT    ? "interrupted"
		     : signum == SIGTERM ? "told to end"
					 : "the terminal is gone");
}

/* ---- the end ---- */

static void add_word(struct th_buf *out, struct th_str id)
{
	th_buf_add_char(out, ' ');
	th_cli_word(out, id);
}

struct waiting {
	struct th_buf *out;
	struct th_str id; /* of the session that a person talks to */
	const struct th_common *common;
};

static void put_waiting(void *ctx, const struct th_call *c)
{
	const struct waiting *w = ctx;

	th_buf_add_char(w->out, '\n');
	th_cli_waits(w->id, w->common, c, w->out);
}

/* Taken up as it is, what a guardrail stopped runs into it again: another task goes on. */
static bool guarded(const struct th_session *s)
{
	return s->state == TH_STATE_FAILED && s->tripped &&
	       th_str_ends(th_str_of(s->trip_class), TH_STR("_guardrail"));
}

/* A session keeps the agent that it began with, and so does its fork: with what the server refused
 * in it, it would be refused again. */
static void put_anew(struct th_str id, const struct th_common *common, struct th_buf *out)
{
	th_buf_printf(out, "\ngo on:    %s run -a FILE \"TASK\"", th_cli_program());
	th_cli_same_log(common, out);
	th_buf_printf(
	    out,
	    "   (where the agent is to blame, mend its file and begin a new session: this "
	    "one keeps the agent it has; or the same again: %s resume",
	    th_cli_program());
	add_word(out, id);
	th_cli_same_log(common, out);
	th_buf_add_char(out, ')');
}

/* A resume, a message and a fork would run into the same limit at once. */
static void put_used_up(const struct th_common *common, struct th_buf *out)
{
	th_buf_printf(out, "\ngo on:    %s run -a FILE \"TASK\"", th_cli_program());
	th_cli_same_log(common, out);
	th_buf_add_cstr(out, "   (another session: what this one may use in all, it has used)");
}

static void put_next(const struct th_session *s, struct th_str id, const struct th_common *common,
		     struct th_buf *out)
{
	bool other = guarded(s);

	th_buf_printf(out, other ? "\ngo on:    %s run -s" : "\ngo on:    %s resume",
		      th_cli_program());
	add_word(out, id);
	th_cli_same_log(common, out);
	if (!other)
		return;
	th_buf_printf(out, " \"TASK\"   (or the same again: %s resume", th_cli_program());
	add_word(out, id);
	th_cli_same_log(common, out);
	th_buf_add_char(out, ')');
}

static void status(struct runner *r, const struct th_session *s, struct th_str id)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	int fd = r->job->output == TH_OUTPUT_VIEW ? STDOUT_FILENO : STDERR_FILENO;

	th_view_break(r->view, &text);
	th_view_summary(s, &text);
	if (s->reason.len && s->state != TH_STATE_FINISHED) {
		th_buf_add_cstr(&text, "\n");
		th_text_line(&text, th_buf_str(&s->reason), 1000);
	}
	if (th_str_starts(r->job->config->store, TH_STR("memory:"))) {
		th_buf_add_cstr(&text, "\nlog:      none is kept (memory:)\n");
		(void)th_cli_write(fd, th_buf_str(&text));
		return;
	}
	th_buf_printf(&text, "\nlog:      %s log", th_cli_program());
	add_word(&text, id);
	th_cli_same_log(r->job->common, &text);
	if (s->state == TH_STATE_WAITING)
		th_driver_waiting(r->driver, r->handle, put_waiting,
				  &(struct waiting){ &text, id, r->job->common });
	if (s->state == TH_STATE_FAILED && r->refused)
		put_anew(id, r->job->common, &text);
	else if (s->state == TH_STATE_LIMIT && th_session_used_up(s))
		put_used_up(r->job->common, &text);
	else if (s->state != TH_STATE_FINISHED && s->state != TH_STATE_IDLE)
		put_next(s, id, r->job->common, &text);
	th_buf_add_char(&text, '\n');
	(void)th_cli_write(fd, th_buf_str(&text));
}

/* Of a session that did not begin nothing is left, also not the desktop that was started for it. */
static void end_begun(const struct th_start *start, struct th_str store_url)
{
	struct th_executor_options o = { .session = start->session_id, .only_running = true };
	struct th_buf scope TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_PATH_LEN_MAX);
	struct th_err ignored;

	if (th_store_scope(store_url, &scope, &ignored) != TH_OK)
		return; /* then none was started for it */
	o.scope = th_buf_str(&scope);
	if (th_executor_client_end_once(&o, &ignored) != TH_OK)
		return; /* none was started, or it ends by itself when nobody comes */
}

static int finish(struct runner *r, const struct th_start *start, struct th_job_result *ret)
{
	const struct th_session *s = r->handle.generation ? session(r) : NULL;
	struct th_str id = s ? th_driver_session_id(r->driver, r->handle) : TH_STR("");
	bool over = s && (s->state == TH_STATE_FINISHED || s->state == TH_STATE_STOPPED);
	const char *state = s ? th_state_name(s->state) : "";
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	int exit_code = s ? th_state_exit(s->state) : 1;

	th_buf_add(&name, id); /* of a session that is closed before its name is said */
	if (s && ret) {
		ret->state = s->state;
		ret->totals = s->totals;
		memcpy(ret->session_id, id.ptr, TH_MIN(id.len, sizeof(ret->session_id) - 1));
	}
	if (s && !r->err.code && !r->job->no_status &&
	    (r->job->output == TH_OUTPUT_VIEW || exit_code))
		status(r, s, id);
	if (s)
		th_runtime_close(r->runtime, r->handle, over && r->job->end_executor);
	else if (r->job->agent && r->err.code != TH_EEXIST && r->err.code != TH_EBUSY)
		end_begun(start, r->job->config->store);
	if (r->err.code)
		return th_cli_fail(&r->err);
	if (!s)
		return r->interrupted ? th_cli_die(130, "interrupted before anything was begun")
				      : 1;
	if (r->output_errnum)
		return th_cli_die(130, "cannot write to standard output: %s; session %.*s is %s",
				  strerror(r->output_errnum), TH_FMT(th_buf_str(&name)), state);
	return r->interrupted ? 130 : exit_code;
}

struct signals {
	struct th_signal *list[3];
};

static enum th_code signals_on(struct runner *r, struct signals *s, struct th_err *err)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	enum th_code code = TH_OK;

	signal(SIGPIPE, SIG_IGN); /* a closed pipe pauses the run, it does not kill it */
	for (size_t i = 0; i < TH_COUNT(numbers) && code == TH_OK; i++)
		code = th_signal_new(r->loop, numbers[i], on_signal, r, &s->list[i], err);
	return code;
}

static void signals_off(struct signals *s)
{
	for (size_t i = 0; i < TH_COUNT(s->list); i++)
		s->list[i] = th_signal_free(s->list[i]);
}

static void run_loop(struct runner *r)
{
	while (!r->done) {
		th_loop_run(r->loop);
		if (!r->done && !r->prompt && th_driver_idle(r->driver) && r->handle.generation &&
		    th_session_rests(session(r)))
			break; /* nothing is left that could wake us */
	}
}

int th_job_run(const struct th_job *job, struct th_job_result *ret)
{
	bool terminal = th_cli_terminal(STDOUT_FILENO);
	struct th_view_options vo = {
		.colour = th_cli_colour(STDOUT_FILENO) || job->as_terminal,
		.stream = terminal || job->as_terminal,
		.columns = th_cli_columns(STDOUT_FILENO),
	};
	struct th_runtime_options ro = {
		.store_url = job->config->store,
		.store_create = job->agent != NULL,
		.config = job->config,
		.no_sandbox = job->no_sandbox,
		.program = th_cli_self(),
		.person = true,
		.person_in = STDIN_FILENO,
		.person_out = STDERR_FILENO,
	};
	struct runner r = {
		.job = job,
		.interactive =
		    job->output == TH_OUTPUT_VIEW && terminal && th_cli_terminal(STDIN_FILENO),
	};
	struct th_observer observer = { on_event, on_delta, on_progress, on_rest, &r };
	struct th_start start = {
		.session_id = job->session_id,
		.agent = job->agent,
		.metadata = job->metadata,
	};
	struct th_uuid id = th_uuid_now();
	char text[TH_UUID_TEXT_SIZE + 1];
	struct signals signals = {};
	struct th_err err = {};
	int exit_code;

	th_uuid_text(&id, text);
	if (!start.session_id.len)
		start.session_id = th_str_of(text);
	if (ret)
		*ret = (struct th_job_result){};
	if (th_runtime_new(&ro, &r.runtime, &err) != TH_OK)
		return th_cli_fail(&err);
	r.loop = th_runtime_loop(r.runtime);
	r.driver = th_runtime_driver(r.runtime);
	r.view = th_view_new(&vo);
	th_buf_init(&r.out, 4 * TH_EVENT_DATA_MAX);
	th_buf_init(&r.question, TH_EVENT_DATA_MAX);
	if (signals_on(&r, &signals, &err) != TH_OK ||
	    th_runtime_start(r.runtime, &start, job->agent == NULL, &observer, on_ready, &r,
			     &err) != TH_OK)
		r.err = err;
	else
		run_loop(&r);
	exit_code = finish(&r, &start, ret);
	end_prompt(&r);
	signals_off(&signals);
	r.runtime = th_runtime_free(r.runtime);
	r.view = th_view_free(r.view);
	th_buf_deinit(&r.out);
	th_buf_deinit(&r.question);
	return exit_code;
}
