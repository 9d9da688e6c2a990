/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/runner.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/holder.h"
#include "console/show.h"
#include "exec_client/client.h"
#include "io/clock.h"
#include "models/model.h"
#include "runtime/runtime.h"
#include "stores/stores.h"

#define ANSWER_MAX 1024 /* of a person at the prompt */

struct runner {
	const struct th_job *job;
	struct th_runtime *runtime;
	struct th_driver *driver;
	struct th_loop *loop;
	struct th_handle handle; /* {0, 0}: not ready */
	struct th_show show;
	struct th_poll *prompt; /* a person is asked */
	bool answers;           /* it wants an answer */
	bool lasts;             /* or may be approved for good */
	struct th_buf options;  /* of which these were offered, JSON */
	struct th_buf question; /* about the call of this name */
	bool interactive, done, interrupted;
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
	if (!th_show_flush(&r->show))
		interrupt(r, "its output cannot be written");
}

static void on_event(void *ctx, struct th_handle h, const struct th_event *ev)
{
	struct runner *r = ctx;
	bool own = h.index == r->handle.index && h.generation == r->handle.generation;

	th_show_event(&r->show, th_driver_session_id(r->driver, h), own, ev);
	flush(r);
}

static void on_delta(void *ctx, struct th_handle h TH_UNUSED, enum th_delta_kind kind,
		     struct th_str text)
{
	struct runner *r = ctx;

	th_show_delta(&r->show, kind, text);
	flush(r);
}

static void on_progress(void *ctx, struct th_handle h TH_UNUSED, struct th_str tool,
			struct th_str bytes)
{
	struct runner *r = ctx;

	th_show_progress(&r->show, tool, bytes);
	flush(r);
}

/* ---- approvals ---- */

/* The next that waits, of the session or of one that works for it. */
static const struct th_call *asked(struct runner *r)
{
	th_buf_clear(&r->question);
	return th_driver_waits(r->driver, r->handle, TH_CALL_ASKED, TH_STR(""), &r->question);
}

static void ask(struct runner *r);

static void end_prompt(struct runner *r)
{
	r->prompt = th_poll_free(r->prompt);
}

static enum th_code decide(struct runner *r, enum th_word word, struct th_str answer,
			   struct th_err *err)
{
	struct th_str call = th_buf_str(&r->question);

	return word == TH_WORD_ALWAYS
		   ? th_driver_decide_as(r->driver, r->handle, call, true, true, th_cli_user(),
					 answer, err)
		   : th_driver_decide(r->driver, r->handle, call, word == TH_WORD_YES,
				      th_cli_user(), answer, err);
}

static void answered(struct runner *r, struct th_str answer)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	enum th_word word = th_show_word(answer, r->lasts);
	struct th_err err = {};
	enum th_code code;

	if (r->answers && word != TH_WORD_KEEP)
		word = answer.len ? TH_WORD_YES : TH_WORD_NONE;
	if (r->answers && th_json_parse(th_buf_str(&r->options), &doc, NULL) == TH_OK)
		answer = th_show_answer(th_json_root(doc), answer);
	if (word == TH_WORD_KEEP) {
		stop(r);
		return;
	}
	if (word == TH_WORD_NONE) {
		ask(r);
		return;
	}
	code = decide(r, word, r->answers ? answer : TH_STR(""), &err);
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
	r->answers = c->question;
	r->lasts = th_show_lasts(c);
	th_buf_clear(&r->options);
	th_buf_add(&r->options, th_json_raw_get(c->arguments, "options"));
	th_show_question(&r->show, th_buf_str(&r->question), c);
	flush(r);
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
	const struct th_job *job = r->job;
	bool taken_up = session(r)->seq > 1;
	enum th_code code = TH_OK;

	if (job->more)
		code = th_driver_more(r->driver, r->handle, job->more, th_cli_user(), err);
	if (code || (!job->message.len && !job->act && !job->goal))
		return code ? code : th_runtime_go_on(r->runtime, r->handle, taken_up, err);
	if (taken_up)
		code = th_driver_resume(r->driver, r->handle, err);
	if (code)
		return code;
	if (job->act)
		return th_driver_act(r->driver, r->handle, job->message, th_cli_user(), err);
	if (job->goal)
		return th_driver_goal(r->driver, r->handle, job->message, job->rounds,
				      th_cli_user(), err);
	return job->plan ? th_driver_plan(r->driver, r->handle, job->message, th_cli_user(), err)
			 : th_driver_message(r->driver, r->handle, job->message, err);
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
	th_show_session(&r->show, th_driver_session_id(r->driver, h));
	flush(r);
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

static void each_waiting(void *ctx, th_show_call_fn *fn, void *fn_ctx)
{
	struct runner *r = ctx;

	th_driver_waiting(r->driver, r->handle, fn, fn_ctx);
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
		th_show_status(&r->show, s, id,
			       !th_str_starts(r->job->config->store, TH_STR("memory:")),
			       each_waiting, r);
	if (s)
		th_runtime_close(r->runtime, r->handle, over && r->job->end_executor);
	else if (r->job->agent && r->err.code != TH_EEXIST && r->err.code != TH_EBUSY)
		end_begun(start, r->job->config->store);
	if (r->err.code)
		return th_holder_fail(&r->err);
	if (!s)
		return r->interrupted ? th_cli_die(130, "interrupted before anything was begun")
				      : 1;
	if (r->show.errnum)
		return th_cli_die(130, "cannot write to standard output: %s; session %.*s is %s",
				  strerror(r->show.errnum), TH_FMT(th_buf_str(&name)), state);
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
		.interactive = job->output == TH_OUTPUT_VIEW && th_cli_terminal(STDOUT_FILENO) &&
			       th_cli_terminal(STDIN_FILENO),
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
	th_show_init(&r.show, job->output, job->as_terminal, job->common);
	th_buf_init(&r.question, TH_EVENT_DATA_MAX);
	th_buf_init(&r.options, TH_EVENT_DATA_MAX);
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
	th_show_deinit(&r.show);
	th_buf_deinit(&r.question);
	th_buf_deinit(&r.options);
	return exit_code;
}
