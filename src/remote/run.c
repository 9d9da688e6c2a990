/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - thole run and thole resume at a server: the session works
 * there, its events come here (follow.h), and a person is asked here.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "admin/edit.h"
#include "base/limits.h"
#include "base/text.h"
#include "io/clock.h"
#include "remote/follow.h"

#define ANSWER_MAX 1024 /* of a person at the prompt */

/* ---- what is said to it ---- */

static enum th_code post(struct th_follow *f, const char *what, const struct th_buf *body)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_remote_request q = { .method = "POST" };

	th_remote_path(&path, th_str_of(f->id), what);
	q.path = th_buf_str(&path);
	q.body = body ? th_buf_str(body) : TH_STR("{}");
	return th_remote_call(f->remote, &q, NULL, &f->err);
}

static void add_manner(struct th_follow *f, struct th_jw *w)
{
	if (f->job->plan)
		th_jw_kbool(w, "plan", true);
	if (f->job->goal)
		th_jw_kbool(w, "goal", true);
	if (f->job->rounds)
		th_jw_kint(w, "rounds", f->job->rounds);
}

/* Asked for again where the answer was lost: the key makes it once. */
static enum th_code begin(struct th_follow *f)
{
	struct th_buf body TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_MESSAGE_MAX);
	struct th_jw w = th_jw(&body);
	struct th_uuid key = th_uuid_now();
	char text[TH_UUID_TEXT_SIZE + 1];
	struct th_remote_request q = { .method = "POST", .path = TH_STR("/api/sessions") };
	uint64_t since_ms = th_clock_ms();
	enum th_code code;

	th_uuid_text(&key, text);
	th_jw_object(&w);
	if (f->job->agent.len)
		th_jw_kstr(&w, "agent", f->job->agent);
	th_jw_kstr(&w, "id", th_str_of(f->id));
	th_jw_kstr(&w, "message", f->job->message);
	add_manner(f, &w);
	if (f->job->at.len)
		th_jw_kstr(&w, "start_at", f->job->at);
	if (f->job->priority.len)
		th_jw_kstr(&w, "priority", f->job->priority);
	th_jw_object_end(&w);
	code = th_buf_check(&body, "the task", &f->err);
	q.body = th_buf_str(&body);
	q.key = th_str_n(text, TH_UUID_TEXT_SIZE);
	for (unsigned tries = 0; !code; tries++) {
		code = th_remote_call(f->remote, &q, NULL, &f->err);
		if (!code || (tries == 0 && !f->remote->unsure) || f->interrupted ||
		    th_clock_ms() - since_ms > TH_REMOTE_AWAY_MS ||
		    (code != TH_ECONN && !f->remote->unsure))
			break;
		th_follow_wait(f->remote, tries, f->remote->retry_after_ms);
		code = TH_OK;
	}
	if (!code)
		f->err = (struct th_err){};
	return code;
}

/* ---- a session that is there ---- */

/* What its log says, and where it rested last before it went on. */
struct past {
	struct th_follow *f;
	uint64_t rested, began;
	enum th_state rested_as, began_as;
};

static enum th_code read_past(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			      struct th_err *err)
{
	struct past *p = ctx;
	bool rested = th_session_rests(&p->f->fold);
	enum th_code code = th_follow_take(p->f, ev, err);

	(void)digest;
	if (code)
		return code;
	if (rested && !th_session_rests(&p->f->fold)) {
		p->began = p->rested;
		p->began_as = p->rested_as;
	}
	if (th_session_rests(&p->f->fold)) {
		p->rested = ev->seq;
		p->rested_as = p->f->fold.state;
	}
	return TH_OK;
}

static enum th_code load(struct th_follow *f, struct past *p)
{
	struct th_store *store TH_CLEANUP(th_cli_storep) = NULL;
	enum th_code code = th_cli_store(f->job->common, false, &store, &f->err);

	*p = (struct past){ .f = f };
	f->show_from = UINT64_MAX;
	if (!code)
		code = store->kind->read(store, th_str_of(f->id), 1, 0, read_past, p, &f->err);
	f->show_from = f->next;
	return code;
}

struct found {
	struct th_follow *f;
	bool there;
};

/* The message, where the answer to it was lost. */
static enum th_code find_message(void *ctx, const struct th_event *ev,
				 const struct th_digest *digest, struct th_err *err)
{
	struct found *x = ctx;
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;

	(void)digest, (void)err;
	if (ev->kind == TH_EV_MESSAGE && th_json_parse(ev->data, &doc, NULL) == TH_OK)
		x->there |=
		    th_str_eq(th_json_get_str(th_json_root(doc), "content"), x->f->job->message);
	return TH_OK;
}

static enum th_code say(struct th_follow *f)
{
	struct th_buf body TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_MESSAGE_MAX);
	struct th_store *store TH_CLEANUP(th_cli_storep) = NULL;
	struct th_jw w = th_jw(&body);
	struct found x = { .f = f };
	uint64_t since_ms = th_clock_ms();
	struct th_err ignored;
	enum th_code code;

	th_jw_object(&w);
	th_jw_kstr(&w, "text", f->job->message);
	add_manner(f, &w);
	th_jw_object_end(&w);
	code = th_buf_check(&body, "the message", &f->err) ?: post(f, "/messages", &body);
	if (!code || !f->remote->unsure)
		return code;
	if (th_cli_store(f->job->common, false, &store, &ignored) != TH_OK)
		return code;
	for (unsigned tries = 0; th_clock_ms() - since_ms < TH_REMOTE_AWAY_MS; tries++) {
		if (store->kind->read(store, th_str_of(f->id), f->next, 0, find_message, &x,
				      &ignored) == TH_OK)
			break;
		th_follow_wait(f->remote, tries, f->remote->retry_after_ms);
		if (f->interrupted)
			break;
	}
	if (!x.there)
		return th_prefix(&f->err, code, "it is not known whether the message was taken");
	f->err = (struct th_err){};
	return TH_OK;
}

/* ---- a person ---- */

struct asking {
	struct th_str session; /* the one that is run */
	enum th_call_phase phase;
	struct th_buf *name; /* of the first call that waits, as the server is told it */
	th_show_call_fn *fn;
	void *ctx;
	bool found;
};

static enum th_code look_at(void *ctx, struct th_str session_id, const struct th_session *s,
			    struct th_err *err)
{
	struct asking *a = ctx;

	(void)err;
	for (size_t i = 0; i < s->call_count && !a->found; i++) {
		const struct th_call *c = &s->calls[i];

		if (!th_call_asks(c) && (a->name || c->phase != TH_CALL_PARKED))
			continue;
		if (a->name) {
			a->found = true;
			if (!th_str_eq(session_id, a->session))
				th_buf_printf(a->name, "%.*s/", TH_FMT(session_id));
			th_call_name(c, a->name);
		}
		a->fn(a->ctx, c);
	}
	return TH_OK;
}

static void each_waiting(void *ctx, th_show_call_fn *fn, void *fn_ctx)
{
	struct th_follow *f = ctx;
	struct th_store *store TH_CLEANUP(th_cli_storep) = NULL;
	struct asking a = { .session = th_str_of(f->id), .fn = fn, .ctx = fn_ctx };
	struct th_err err = {};
	enum th_code code = th_cli_store(f->job->common, false, &store, &err);

	if (!code)
		code = th_edit_each(store, a.session, look_at, &a, &err);
	if (code)
		(void)th_cli_fail(&err);
}

struct question {
	struct th_follow *f;
	struct th_buf name, options;
	bool answers; /* the agent wants an answer, of which `options` were offered */
	bool lasts;   /* or it may be approved for good */
};

static void show_question(void *ctx, const struct th_call *c)
{
	struct question *q = ctx;

	q->answers = c->question;
	q->lasts = th_show_lasts(c);
	th_buf_clear(&q->options);
	th_buf_add(&q->options, th_json_raw_get(c->arguments, "options"));
	th_show_question(&q->f->show, th_buf_str(&q->name), c);
	th_follow_flush(q->f);
}

static void on_input(void *ctx, unsigned events)
{
	(void)events;
	th_loop_stop(ctx);
}

/* A line of the terminal; false: nobody is there any more, or it was interrupted. */
static bool read_answer(struct th_follow *f, char line[static ANSWER_MAX], struct th_str *ret)
{
	struct th_poll *poll = NULL;
	ssize_t n = -1;

	if (th_poll_new(f->remote->loop, STDIN_FILENO, on_input, f->remote->loop, &poll, &f->err))
		return false;
	th_poll_set(poll, TH_POLL_READ);
	th_loop_run(f->remote->loop);
	th_poll_free(poll);
	if (f->interrupted)
		return false;
	do
		n = read(STDIN_FILENO, line, ANSWER_MAX);
	while (n < 0 && errno == EINTR);
	*ret = th_str_trim(th_str_n(line, n > 0 ? (size_t)n : 0));
	return n > 0;
}

/* Asks about the first call that waits.  False: it stays waiting. */
static bool ask(struct th_follow *f)
{
	struct th_store *store TH_CLEANUP(th_cli_storep) = NULL;
	struct th_buf body TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct question q = { .f = f };
	struct asking a = {
		.session = th_str_of(f->id), .name = &q.name, .fn = show_question, .ctx = &q
	};
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	enum th_word word = TH_WORD_NONE;
	char line[ANSWER_MAX];
	struct th_str answer = { 0 };
	struct th_jw w = th_jw(&body);
	enum th_code code;

	th_buf_init(&q.name, TH_EVENT_DATA_MAX);
	th_buf_init(&q.options, TH_EVENT_DATA_MAX);
	code = th_cli_store(f->job->common, false, &store, &f->err);
	while (!code && word == TH_WORD_NONE) { /* a slip is no decision */
		th_buf_clear(&q.name);
		a.found = false;
		code = th_edit_each(store, a.session, look_at, &a, &f->err);
		if (code || !a.found)
			break;
		word = read_answer(f, line, &answer) ? th_show_word(answer, q.lasts) : TH_WORD_KEEP;
		if (q.answers && word != TH_WORD_KEEP)
			word = answer.len ? TH_WORD_YES : TH_WORD_NONE;
	}
	if (q.answers && th_json_parse(th_buf_str(&q.options), &doc, NULL) == TH_OK)
		answer = th_show_answer(th_json_root(doc), answer);
	if (!code && word != TH_WORD_KEEP && word != TH_WORD_NONE) {
		th_jw_object(&w);
		th_jw_kstr(&w, "call_id", th_buf_str(&q.name));
		if (q.answers)
			th_jw_kstr(&w, "answer", answer);
		if (word == TH_WORD_ALWAYS)
			th_jw_kbool(&w, "always", true);
		th_jw_object_end(&w);
		code = post(f,
			    q.answers            ? "/answer"
			    : word == TH_WORD_NO ? "/reject"
						 : "/approve",
			    &body);
		if (code == TH_ENOENT || code == TH_EUSAGE) { /* it was decided meanwhile */
			f->err = (struct th_err){};
			code = TH_OK;
		}
	}
	th_buf_deinit(&q.name);
	th_buf_deinit(&q.options);
	return !code && word != TH_WORD_KEEP && word != TH_WORD_NONE;
}

/* ---- the whole ---- */

static void on_signal(void *ctx, int signum)
{
	struct th_follow *f = ctx;

	if (f->interrupted) {
		(void)th_cli_write(STDERR_FILENO, TH_STR("\n"));
		_exit(th_cli_die(130,
				 "left; session %s may go on at the server, %s resume follows it",
				 f->id, th_cli_program()));
	}
	f->interrupted = true;
	f->reason = signum == SIGINT    ? "interrupted"
		    : signum == SIGTERM ? "told to end"
					: "the terminal is gone";
	th_loop_stop(f->remote->loop);
}

/* It rests: a person is asked as long as one decides, and the session goes on. */
static enum th_code follow_asking(struct th_follow *f, uint64_t past)
{
	enum th_code code = th_follow(f, past);

	while (!code && f->fold.state == TH_STATE_WAITING && f->interactive && !f->interrupted &&
	       ask(f))
		code = th_follow(f, f->next + 1);
	return code ?: f->err.code;
}

static enum th_code run_new(struct th_follow *f)
{
	enum th_code code = begin(f);

	if (code)
		return code;
	th_show_session(&f->show, th_str_of(f->id));
	th_follow_flush(f);
	return follow_asking(f, 2);
}

static enum th_code run_message(struct th_follow *f)
{
	struct past p;
	enum th_code code = load(f, &p);

	if (!code)
		code = say(f);
	if (code)
		return code;
	th_show_session(&f->show, th_str_of(f->id));
	th_follow_flush(f);
	return follow_asking(f, f->next + 1);
}

/* With what it is given beyond its limits. */
static enum th_code resume(struct th_follow *f)
{
	struct th_buf body TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);

	if (f->job->more.len)
		th_buf_printf(&body, "{\"more\":%.*s}", TH_FMT(f->job->more));
	return post(f, "/resume", f->job->more.len ? &body : NULL);
}

/* A person ends plan mode, or a goal that was ended goes on. */
static enum th_code run_act(struct th_follow *f)
{
	struct th_buf body TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_NOTE_MAX);
	struct th_jw w = th_jw(&body);
	struct past p;
	enum th_code code = load(f, &p);

	th_jw_object(&w);
	if (f->job->message.len)
		th_jw_kstr(&w, "note", f->job->message);
	th_jw_object_end(&w);
	code = code ?: th_buf_check(&body, "the note", &f->err)
	       ?: post(f, f->job->act ? "/act" : "/goal/resume", f->job->act ? &body : NULL);
	if (code)
		return code;
	th_show_session(&f->show, th_str_of(f->id));
	th_follow_flush(f);
	return follow_asking(f, f->next + 1);
}

/*
 * What the server has of it by now is shown too: a decision lets a session go on there at once, and
 * this may come later.
 */
static enum th_code run_resume(struct th_follow *f, const struct past *p)
{
	uint64_t first = f->next;
	bool waits = th_session_waits_any(&f->fold);
	struct past again;
	enum th_code code = TH_OK;

	th_show_session(&f->show, th_str_of(f->id));
	if (th_session_rests(&f->fold) && f->fold.state != TH_STATE_FINISHED) {
		if (!waits)
			code = resume(f);
		if (code == TH_EPROTO || code == TH_EBUSY) /* it goes on already */
			code = TH_OK;
	} else {
		struct th_store *store TH_CLEANUP(th_cli_storep) = NULL;

		/* Once more, from where it rested before. */
		th_session_deinit(&f->fold);
		th_session_init(&f->fold);
		f->next = 1;
		f->show_from = p->began + 1;
		code = th_cli_store(f->job->common, false, &store, &f->err);
		again = (struct past){ .f = f };
		if (!code)
			code = store->kind->read(store, th_str_of(f->id), 1, first - 1, read_past,
						 &again, &f->err);
	}
	th_follow_flush(f);
	if (code || (f->fold.state == TH_STATE_FINISHED))
		return code;
	if (waits && f->interactive)
		return ask(f) ? follow_asking(f, f->next + 1) : f->err.code;
	return waits ? TH_OK : follow_asking(f, f->next);
}

static int say_finished(struct th_follow *f)
{
	struct th_buf log TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);

	th_cli_same_log(f->job->common, &log);
	return th_cli_die(0, "session %s is %s; %s run -s %s%.*s \"TASK\" gives it a task", f->id,
			  th_state_name(f->fold.state), th_cli_program(), f->id,
			  TH_FMT(th_buf_str(&log)));
}

static int finish(struct th_follow *f, enum th_code code)
{
	int exit_code = th_state_exit(f->fold.state);

	if (code)
		return f->interrupted && code == TH_ECONN ? (th_cli_fail(&f->err), 130)
							  : th_cli_fail(&f->err);
	if (f->job->output == TH_OUTPUT_VIEW || exit_code)
		th_show_status(&f->show, &f->fold, th_str_of(f->id), true, each_waiting, f);
	if (f->show.errnum)
		return th_cli_die(130, "cannot write to standard output: %s; session %s is %s",
				  strerror(f->show.errnum), f->id, th_state_name(f->fold.state));
	return f->interrupted ? 130 : exit_code;
}

/* It is not waited for: its name is all there is to say. */
static int begin_later(struct th_follow *f)
{
	struct th_jw w = th_jw(&f->show.out);
	enum th_code code = begin(f);

	if (code)
		return th_cli_fail(&f->err);
	if (f->job->output == TH_OUTPUT_JSON) {
		th_jw_object(&w);
		th_jw_kstr(&w, "session_id", th_str_of(f->id));
		th_jw_object_end(&w);
	} else {
		th_buf_add_cstr(&f->show.out, f->id);
	}
	th_buf_add_char(&f->show.out, '\n');
	th_follow_flush(f);
	return 0;
}

static int work(struct th_follow *f, bool exists)
{
	struct past p;
	enum th_code code;

	if (f->job->act || (f->job->goal && !f->job->message.len))
		return finish(f, run_act(f));
	if (exists && (f->job->at.len || f->job->priority.len)) {
		(void)th_fail(&f->err, TH_EUSAGE,
			      "--%s is for a new session, and session %s exists",
			      f->job->at.len ? "at" : "priority", f->id);
		return th_cli_fail(&f->err);
	}
	if (f->job->at.len)
		return begin_later(f);
	if (f->job->message.len)
		return finish(f, exists ? run_message(f) : run_new(f));
	code = load(f, &p);
	if (!code && (f->fold.state == TH_STATE_IDLE ||
		      (f->fold.state == TH_STATE_FINISHED && p.began_as != TH_STATE_WAITING)))
		return say_finished(f);
	return finish(f, code ?: run_resume(f, &p));
}

/* Is it there?  A new one has no name yet that could be. */
static enum th_code look_up(const struct th_remote_job *job, bool *ret, struct th_err *err)
{
	struct th_store *store TH_CLEANUP(th_cli_storep) = NULL;
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_session_row row;
	enum th_code code;

	th_arena_init(&a, TH_MIB);
	*ret = false;
	if (!job->session_id.len || !job->message.len)
		return TH_OK;
	code = th_cli_check_name(job->session_id, err)
		   ?: th_cli_store(job->common, false, &store, err);
	if (!code)
		code = store->kind->get(store, job->session_id, &a, &row, err);
	if (code == TH_ENOENT) {
		*err = (struct th_err){};
		return TH_OK;
	}
	*ret = code == TH_OK;
	if (*ret && job->agent.ptr)
		return th_fail(err, TH_EUSAGE,
			       "session %.*s exists and keeps the agent it began with; leave out "
			       "-a, or take another name",
			       TH_FMT(job->session_id));
	return code;
}

int th_remote_run(const struct th_remote_job *job)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct th_signal *signals[TH_COUNT(numbers)] = {};
	struct th_follow f = {
		.job = job, .remote = job->common->remote, .next = 1, .show_from = 1
	};
	struct th_uuid id = th_uuid_now();
	bool exists;
	enum th_code code = look_up(job, &exists, &f.err);
	int status;

	if (code)
		return th_cli_fail(&f.err);
	if (job->session_id.len)
		snprintf(f.id, sizeof(f.id), "%.*s", TH_FMT(job->session_id));
	else
		th_uuid_text(&id, f.id);
	f.interactive = job->output == TH_OUTPUT_VIEW && th_cli_terminal(STDOUT_FILENO) &&
			th_cli_terminal(STDIN_FILENO);
	th_show_init(&f.show, job->output, job->as_terminal, job->common);
	th_session_init(&f.fold);
	signal(SIGPIPE, SIG_IGN); /* a closed pipe pauses the run, it does not kill it */
	for (size_t i = 0; i < TH_COUNT(numbers) && !code; i++)
		code =
		    th_signal_new(f.remote->loop, numbers[i], on_signal, &f, &signals[i], &f.err);
	status = code ? th_cli_fail(&f.err) : work(&f, exists);
	for (size_t i = 0; i < TH_COUNT(numbers); i++)
		signals[i] = th_signal_free(signals[i]);
	th_session_deinit(&f.fold);
	th_show_deinit(&f.show);
	return status;
}
