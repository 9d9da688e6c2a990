/* SPDX-License-Identifier: Apache-2.0 */
#include "run/person.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "io/files.h"
#include "models/human.h"

struct question {
	struct question *next;
	struct th_person *person;
	struct th_ticket ticket;
	struct th_json_doc *request;
	struct th_buf title;   /* the session's name */
	struct th_buf picture; /* path of its newest screenshot; may be empty */
	bool shown;
	struct th_timer timer; /* the task's time */
};

struct th_person {
	struct th_person_options o;
	struct question *first; /* the one that is on the terminal */
	struct th_poll *poll;   /* NULL while nothing is asked, and for files */
	int in_flags;           /* as they were before it was polled; -1: it was not */
	bool file;              /* cannot be polled: read when it is needed */
	struct th_deferred turn;
	struct th_buf in, out;
	bool skipping; /* the rest of a line that is too long */
	bool ended, greeted;
};

/* ---- a question --------------------------------------------------------------------------- */

static struct question *question_free(struct question *q)
{
	struct question **at = &q->person->first;

	while (*at && *at != q)
		at = &(*at)->next;
	if (*at)
		*at = q->next;
	th_timer_stop(&q->timer);
	if (q->picture.len)
		unlink(q->picture.ptr);
	th_json_free(q->request);
	th_buf_deinit(&q->title);
	th_buf_deinit(&q->picture);
	free(q);
	return NULL;
}

/* Beside the sockets of executors: a folder of ours, 0700. */
static enum th_code keep_picture(struct question *q, struct th_str session_id, struct th_err *err)
{
	struct th_str text = th_human_picture(th_json_root(q->request));
	struct th_buf bytes TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_BLOB_MAX);
	struct th_digest digest = th_sha256_of(session_id.ptr, session_id.len);
	char hex[TH_SHA256_HEX_SIZE + 1];
	enum th_code code;

	if (!text.len || !th_base64_decode(&bytes, text))
		return TH_OK;
	th_digest_hex(&digest, hex);
	code = th_buf_check(&bytes, "the screenshot", err);
	if (!code)
		code = th_dir_of(TH_DIR_RUNTIME, &q->picture, err);
	if (code) {
		th_buf_clear(&q->picture);
		return code;
	}
	th_buf_printf(&q->picture, "/human-%.16s.%s", hex,
		      th_str_starts(th_buf_str(&bytes), TH_STR("\x89PNG")) ? "png" : "jpg");
	return th_file_write(q->picture.ptr, th_buf_str(&bytes), 0600, err);
}

static void on_deadline(void *ctx)
{
	struct question *q = ctx;
	struct th_person *p = q->person;
	struct th_ticket ticket = q->ticket;
	struct th_model_end end = {
		.failure = TH_FAILURE_TIMEOUT,
		.message = TH_STR("the person did not answer before the task's time was over"),
		.hints = { -1, -1 },
	};

	question_free(q);
	th_loop_defer(p->o.loop, &p->turn);
	p->o.done(p->o.ctx, ticket, &end);
}

static enum th_code take_body(struct question *q, const struct th_model_call *call,
			      struct th_err *err)
{
	struct th_buf body TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	enum th_code code;

	for (size_t i = 0; i < call->body_count; i++)
		th_buf_add(&body, call->body[i]);
	code = th_buf_check(&body, "the request", err);
	return code ? code : th_json_parse(th_buf_str(&body), &q->request, err);
}

enum th_code th_person_ask(struct th_person *p, struct th_ticket t, struct th_str session_id,
			   const struct th_model_call *call, struct th_err *err)
{
	struct question *q, **at = &p->first;
	enum th_code code = th_person_check(p, err);

	if (code)
		return code;
	q = th_alloc(sizeof(*q));
	*q = (struct question){ .person = p, .ticket = t };
	th_buf_init(&q->title, TH_SESSION_ID_MAX * 4);
	th_buf_init(&q->picture, TH_PATH_LEN_MAX);
	th_timer_init(&q->timer, p->o.loop, on_deadline, q);
	th_text_line(&q->title, session_id, TH_SESSION_ID_MAX);
	code = take_body(q, call, err);
	if (!code)
		code = keep_picture(q, session_id, err);
	if (code) {
		question_free(q);
		return code;
	}
	if (call->total_ms_max >= 0)
		th_timer_start(&q->timer, (uint64_t)call->total_ms_max, 0);
	while (*at)
		at = &(*at)->next;
	*at = q;
	th_loop_defer(p->o.loop, &p->turn);
	return TH_OK;
}

bool th_person_cancel(struct th_person *p, struct th_ticket t)
{
	for (struct question *q = p ? p->first : NULL; q; q = q->next)
		if (q->ticket.index == t.index && q->ticket.generation == t.generation &&
		    q->ticket.seq == t.seq) {
			question_free(q);
			th_loop_defer(p->o.loop, &p->turn);
			return true;
		}
	return false;
}

/* ---- the terminal ------------------------------------------------------------------------- */

/* A terminal that cannot be written to is not the session's trouble: its input ends too. */
static void show(struct th_person *p)
{
	struct th_str text = th_buf_str(&p->out);

	while (text.len) {
		ssize_t n = write(p->o.out_fd, text.ptr, text.len);
		struct pollfd wait = { p->o.out_fd, POLLOUT, 0 };

		if (n >= 0)
			text = th_str_sub(text, (size_t)n, text.len);
		else if (errno == EAGAIN)
			(void)poll(&wait, 1, -1); /* it shares its flags with the input */
		else if (errno != EINTR)
			break;
	}
	th_buf_clear(&p->out);
}

static void ask_now(struct th_person *p, struct question *q, bool all)
{
	th_buf_printf(&p->out, "\n---- you are the model of %s%s ----\n", q->title.ptr,
		      p->greeted ? "" : "; help says what can be said");
	th_human_show(th_json_root(q->request), all, th_buf_str(&q->picture), &p->out);
	th_buf_add_cstr(&p->out, "> ");
	q->shown = p->greeted = true;
	show(p);
}

static void give_answer(struct th_person *p, struct question *q, struct th_str answer)
{
	struct th_model_end end = { .http_status = 200, .ok = true, .hints = { -1, -1 } };
	struct th_ticket ticket = q->ticket;

	question_free(q);
	if (!p->o.data(p->o.ctx, ticket, answer)) {
		end.ok = false;
		end.failure = TH_FAILURE_LIMIT;
		end.message = TH_STR("the answer is larger than allowed");
	}
	p->o.done(p->o.ctx, ticket, &end);
}

static void leave(struct th_person *p, struct question *q)
{
	struct th_ticket ticket = q->ticket;

	question_free(q);
	p->o.left(p->o.ctx, ticket);
}

static void take_line(struct th_person *p, struct question *q, struct th_str line)
{
	struct th_buf answer TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	enum th_human_word word;
	struct th_err err = { 0 };

	if (th_human_read(line, &word, &answer, &err)) {
		th_text_line(&p->out, th_str_of(err.msg), TH_ERR_MSG_MAX);
		th_buf_add_cstr(&p->out, "\n> ");
		show(p);
		return;
	}
	switch (word) {
	case TH_HUMAN_ANSWER:
		give_answer(p, q, th_buf_str(&answer));
		return;
	case TH_HUMAN_LEAVE:
		leave(p, q);
		return;
	case TH_HUMAN_SHOW:
		ask_now(p, q, true);
		return;
	case TH_HUMAN_HELP:
		th_buf_add_cstr(&p->out, th_human_help);
		break;
	case TH_HUMAN_NOTHING:
		break;
	}
	th_buf_add_cstr(&p->out, "> ");
	show(p);
}

/* The next whole line, or at the end of input what is left.  It is borrowed until more is read. */
static bool next_line(struct th_person *p, struct th_buf *line)
{
	ptrdiff_t end = th_str_find_char(th_buf_str(&p->in), '\n');
	size_t len = end >= 0 ? (size_t)end : p->in.len;
	bool skip = p->skipping;

	if (end < 0 && !(p->ended && p->in.len) && p->in.len <= TH_HUMAN_LINE_MAX)
		return false;
	th_buf_clear(line);
	th_buf_add(line, th_str_n(p->in.ptr, len));
	th_buf_drop(&p->in, end >= 0 ? len + 1 : len);
	p->skipping = end < 0 && !p->ended; /* it was said to be too long; its rest is no line */
	if (skip)
		th_buf_clear(line);
	return true;
}

static void read_more(struct th_person *p)
{
	char *to = th_buf_grow(&p->in, 4096);
	ssize_t n = to ? read(p->o.in_fd, to, 4096) : 0;

	if (n > 0)
		th_buf_grown(&p->in, (size_t)n);
	else if (n == 0 || (errno != EINTR && errno != EAGAIN))
		p->ended = true;
}

static void on_input(void *ctx, unsigned events);

/* Input is left alone until he is asked for the first time. */
static void wait_for_input(struct th_person *p, bool wanted)
{
	struct th_err why;

	if (wanted && !p->poll && !p->file) {
		p->in_flags = fcntl(p->o.in_fd, F_GETFL);
		p->file = th_poll_new(p->o.loop, p->o.in_fd, on_input, p, &p->poll, &why) != TH_OK;
	}
	if (p->poll)
		th_poll_set(p->poll, wanted && !p->ended ? TH_POLL_READ : 0);
}

/* Works off what there is, one line at a time: an answer may bring the next question. */
static void on_turn(void *ctx)
{
	struct th_person *p = ctx;
	struct question *q = p->first;
	struct th_buf line TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HUMAN_LINE_MAX + 8 * TH_KIB);

	wait_for_input(p, q != NULL);
	if (!q)
		return;
	if (!q->shown)
		ask_now(p, q, false);
	if (!next_line(p, &line)) {
		if (p->ended)
			leave(p, q);
		else if (p->file)
			read_more(p);
		else
			return; /* on_input comes */
	} else {
		take_line(p, q, th_buf_str(&line));
	}
	th_loop_defer(p->o.loop, &p->turn);
}

static void on_input(void *ctx, unsigned events TH_UNUSED)
{
	struct th_person *p = ctx;

	read_more(p);
	on_turn(p);
}

/* ---- life --------------------------------------------------------------------------------- */

bool th_person_behind(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 &&
	       (isatty(fd) || S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || S_ISREG(st.st_mode));
}

enum th_code th_person_check(const struct th_person *p, struct th_err *err)
{
	if (p && p->o.in_fd >= 0)
		return TH_OK;
	return th_fail(err, TH_EUSAGE,
		       "nobody is there to play the model: run thole at a terminal, or give the "
		       "answers on standard input, a line each");
}

struct th_person *th_person_new(const struct th_person_options *options)
{
	struct th_person *p = th_alloc(sizeof(*p));

	*p = (struct th_person){ .o = *options,
				 .in_flags = -1,
				 .turn = { .fn = on_turn, .ctx = p } };
	th_buf_init(&p->in, TH_HUMAN_LINE_MAX + 8 * TH_KIB);
	th_buf_init(&p->out, TH_REQUEST_MAX);
	return p;
}

struct th_person *th_person_free(struct th_person *p)
{
	if (!p)
		return NULL;
	while (p->first)
		question_free(p->first);
	th_loop_undefer(p->o.loop, &p->turn);
	th_poll_free(p->poll);
	if (p->in_flags >= 0)
		(void)fcntl(p->o.in_fd, F_SETFL, p->in_flags); /* others read there after us */
	th_buf_deinit(&p->in);
	th_buf_deinit(&p->out);
	free(p);
	return NULL;
}
