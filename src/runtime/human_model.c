/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/human_model_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "io/clock.h"
#include "io/files.h"
#include "providers/human.h"

/* ---- a question --------------------------------------------------------------------------- */

static struct th_question *question_free(struct th_question *q)
{
	struct th_question **at = &q->person->first;

	while (*at && *at != q)
		at = &(*at)->next;
	if (*at)
		*at = q->next;
	th_timer_stop(&q->timer);
	if (q->picture.len)
		unlink(q->picture.ptr);
	th_json_free(q->request);
	th_buf_deinit(&q->title);
	th_buf_deinit(&q->messages);
	th_buf_deinit(&q->picture);
	free(q);
	return NULL;
}

/* Beside the sockets of executors: a folder of ours, 0700. */
static enum th_code keep_picture(struct th_question *q, struct th_str session_id,
				 struct th_err *err)
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
	struct th_question *q = ctx;
	struct th_human_model *p = q->person;
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

/* The same question has the same name, also when it is asked once more by another process. */
static void name_question(struct th_question *q, struct th_str session_id, struct th_str body)
{
	char hex[TH_SHA256_HEX_SIZE + 1];
	struct th_digest digest;
	struct th_sha256 h;

	th_sha256_init(&h);
	th_sha256_add(&h, session_id.ptr, session_id.len);
	th_sha256_add(&h, "", 1);
	th_sha256_add(&h, body.ptr, body.len);
	digest = th_sha256_end(&h);
	th_digest_hex(&digest, hex);
	memcpy(q->id, hex, sizeof(q->id) - 1);
}

static enum th_code take_body(struct th_question *q, struct th_str session_id,
			      const struct th_model_call *call, struct th_err *err)
{
	struct th_buf body TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	enum th_code code;

	for (size_t i = 0; i < call->body_count; i++)
		th_buf_add(&body, call->body[i]);
	code = th_buf_check(&body, "the request", err);
	if (!code)
		code = th_json_parse(th_buf_str(&body), &q->request, err);
	if (code)
		return code;
	name_question(q, session_id, th_buf_str(&body));
	if (q->over_http)
		th_buf_add(&q->messages, th_json_raw_get(th_buf_str(&body), "messages"));
	return th_buf_check(&q->messages, "the request", err);
}

enum th_code th_human_model_ask(struct th_human_model *p, struct th_ticket t,
				struct th_str session_id, const struct th_model_call *call,
				struct th_err *err)
{
	struct th_question *q, **at = &p->first;
	enum th_code code = th_human_model_check(p, call->base_url, NULL, err);

	if (code)
		return code;
	q = th_alloc(sizeof(*q));
	*q = (struct th_question){ .person = p,
				   .ticket = t,
				   .over_http = call->base_url.len > 0,
				   .asked_ms = (int64_t)th_clock_wall_ms() };
	th_buf_init(&q->messages, TH_REQUEST_MAX);
	th_buf_init(&q->title, TH_SESSION_ID_MAX * 4);
	th_buf_init(&q->picture, TH_PATH_LEN_MAX);
	th_timer_init(&q->timer, p->o.loop, on_deadline, q);
	th_text_line(&q->title, session_id, TH_SESSION_ID_MAX);
	code = take_body(q, session_id, call, err);
	if (!code && !q->over_http)
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

bool th_human_model_cancel(struct th_human_model *p, struct th_ticket t)
{
	for (struct th_question *q = p ? p->first : NULL; q; q = q->next)
		if (th_ticket_eq(q->ticket, t)) {
			question_free(q);
			th_loop_defer(p->o.loop, &p->turn);
			return true;
		}
	return false;
}

/* ---- the terminal ------------------------------------------------------------------------- */

/* A terminal that cannot be written to is not the session's trouble: its input ends too. */
void th_human_model_show(struct th_human_model *p)
{
	struct th_str text = th_buf_str(&p->out);

	while (text.len) {
		ssize_t n = write(p->o.out_fd, text.ptr, text.len);
		struct pollfd wait = { p->o.out_fd, POLLOUT, 0 };

		if (n >= 0) {
			text = th_str_sub(text, (size_t)n, text.len);
		} else if (errno == EAGAIN) {
			/* It shares its flags with the input.  Nobody who does not read holds up
			 * the other sessions. */
			if (poll(&wait, 1, p->o.show_ms ?: TH_HUMAN_SHOW_MS_MAX) <= 0)
				break;
		} else if (errno != EINTR) {
			break;
		}
	}
	th_buf_clear(&p->out);
}

static void ask_now(struct th_human_model *p, struct th_question *q, bool all)
{
	th_buf_printf(&p->out, "\n---- you are the model of %s%s ----\n", q->title.ptr,
		      p->greeted ? "" : "; help says what can be said");
	th_human_show(th_json_root(q->request), all, th_buf_str(&q->picture), &p->out);
	th_buf_add_cstr(&p->out, "> ");
	q->shown = p->greeted = true;
	th_human_model_show(p);
}

void th_human_model_answer(struct th_human_model *p, struct th_question *q, struct th_str answer)
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

static void leave(struct th_human_model *p, struct th_question *q)
{
	struct th_ticket ticket = q->ticket;

	question_free(q);
	p->o.left(p->o.ctx, ticket);
}

static void take_line(struct th_human_model *p, struct th_question *q, struct th_str line)
{
	struct th_buf answer TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	enum th_human_word word;
	struct th_err err = { 0 };

	if (th_human_read(line, &word, &answer, &err)) {
		th_text_line(&p->out, th_str_of(err.msg), TH_ERR_MSG_MAX);
		th_buf_add_cstr(&p->out, "\n> ");
		th_human_model_show(p);
		return;
	}
	switch (word) {
	case TH_HUMAN_ANSWER:
		th_human_model_answer(p, q, th_buf_str(&answer));
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
	th_human_model_show(p);
}

static bool has_line(const struct th_human_model *p)
{
	return p->in.len > TH_HUMAN_LINE_MAX || th_str_find_char(th_buf_str(&p->in), '\n') >= 0;
}

/* The next whole line, or at the end of input what is left.  It is borrowed until more is read. */
static bool next_line(struct th_human_model *p, struct th_buf *line)
{
	ptrdiff_t end = th_str_find_char(th_buf_str(&p->in), '\n');
	size_t len = end >= 0 ? (size_t)end : p->in.len;
	bool skip = p->skipping;

	if (!has_line(p) && !(p->ended && p->in.len))
		return false;
	th_buf_clear(line);
	th_buf_add(line, th_str_n(p->in.ptr, len));
	th_buf_drop(&p->in, end >= 0 ? len + 1 : len);
	p->skipping = end < 0 && !p->ended; /* it was said to be too long; its rest is no line */
	if (skip)
		th_buf_clear(line);
	return true;
}

static void read_more(struct th_human_model *p)
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
static void wait_for_input(struct th_human_model *p, bool wanted)
{
	struct th_err why;

	if (wanted && !p->poll && !p->file) {
		p->in_flags = fcntl(p->o.in_fd, F_GETFL);
		p->file = th_poll_new(p->o.loop, p->o.in_fd, on_input, p, &p->poll, &why) != TH_OK;
	}
	if (p->poll)
		th_poll_set(p->poll, wanted && !p->ended ? TH_POLL_READ : 0);
}

static struct th_question *at_terminal(const struct th_human_model *p)
{
	struct th_question *q = p->first;

	while (q && q->over_http)
		q = q->next;
	return q;
}

/* Works off what there is, one line at a time: an answer may bring the next question. */
static void on_turn(void *ctx)
{
	struct th_human_model *p = ctx;
	struct th_question *q = at_terminal(p);
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
	struct th_human_model *p = ctx;

	/* One who says all at once waits in his pipe: what is read has an end. */
	if (!has_line(p))
		read_more(p);
	on_turn(p);
}

/* ---- life --------------------------------------------------------------------------------- */

bool th_human_model_behind(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 &&
	       (isatty(fd) || S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || S_ISREG(st.st_mode));
}

enum th_code th_human_model_check(struct th_human_model *p, struct th_str base_url,
				  const struct th_secret *token, struct th_err *err)
{
	if (p && p->listen && th_str_eq(base_url, th_buf_str(&p->url)))
		return TH_OK;
	if (p && p->listen && base_url.len)
		return th_fail(err, TH_EUSAGE, "people are asked at one address: at %s already",
			       p->url.ptr);
	if (p && base_url.len)
		return th_human_model_listen(p, base_url, token, err);
	if (p && p->o.in_fd >= 0)
		return TH_OK;
	return th_fail(err, TH_EUSAGE,
		       "nobody is there to play the model: run thole at a terminal, give the "
		       "answers on standard input, a line each, or take them over HTTP: --base-url "
		       "http://127.0.0.1:PORT");
}

struct th_human_model *th_human_model_new(const struct th_human_model_options *options)
{
	struct th_human_model *p = th_alloc(sizeof(*p));

	*p = (struct th_human_model){ .o = *options,
				      .in_flags = -1,
				      .turn = { .fn = on_turn, .ctx = p } };
	th_buf_init(&p->in, TH_HUMAN_LINE_MAX + 8 * TH_KIB);
	th_buf_init(&p->out, TH_REQUEST_MAX);
	th_buf_init(&p->url, TH_PATH_LEN_MAX);
	th_buf_init(&p->token_file, TH_PATH_LEN_MAX);
	return p;
}

struct th_human_model *th_human_model_free(struct th_human_model *p)
{
	if (!p)
		return NULL;
	while (p->first)
		question_free(p->first);
	th_human_model_unlisten(p);
	th_loop_undefer(p->o.loop, &p->turn);
	th_poll_free(p->poll);
	if (p->in_flags >= 0)
		(void)fcntl(p->o.in_fd, F_SETFL, p->in_flags); /* others read there after us */
	th_buf_deinit(&p->in);
	th_buf_deinit(&p->out);
	free(p);
	return NULL;
}
