/* SPDX-License-Identifier: Apache-2.0 */
#include "model_api/response_pass.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/pass.h"
#include "wire/sse.h"

#define CODE_SIZE 64 /* of an error's code */

/* Something that is said to the response meanwhile. */
struct steer {
	struct steer *next;
	struct th_response_pass *of;
	struct th_pass *pass;
	struct th_buf body, answer;
};

struct th_response_pass {
	struct th_access *access;
	struct th_pass *pass;
	struct steer *steers;
	size_t steer_count;
	char name[TH_RESPONSE_NAME_MAX];
	const struct th_response_pass_ops *ops;
	void *ctx;
	struct th_buf body, refusal, id; /* id: the stream's, as JSON */
	struct th_sse events;
	struct th_response_fault fault;
	char code[CODE_SIZE]; /* fault.code points there */
	bool *freed;          /* set when it is, while its answer is read */
	bool failed;
	bool ended, faulty; /* it is over when no steer is under way; with the fault */
};

static void steer_free(struct steer *s)
{
	struct steer **at = &s->of->steers;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	s->of->steer_count--;
	th_pass_free(s->pass);
	th_buf_deinit(&s->body);
	th_buf_deinit(&s->answer);
	free(s);
}

void th_response_pass_free(struct th_response_pass *p)
{
	if (!p)
		return;
	if (p->freed)
		*p->freed = true;
	while (p->steers)
		steer_free(p->steers);
	th_pass_free(p->pass);
	th_sse_deinit(&p->events);
	th_buf_deinit(&p->body);
	th_buf_deinit(&p->refusal);
	th_buf_deinit(&p->id);
	free(p);
}

/* ---- the answer ---- */

const char *th_response_pass_name(const struct th_response_pass *p)
{
	return p->name;
}

static void read_name(struct th_response_pass *p, struct th_str event)
{
	struct th_str name =
	    th_json_raw_inside(th_json_raw_get(th_json_raw_get(event, "response"), "id"));

	if (!p->name[0] && name.len < sizeof(p->name) &&
	    th_str_is(th_json_raw_get(event, "type"), "\"response.created\""))
		snprintf(p->name, sizeof(p->name), "%.*s", TH_FMT(name));
}

/* An event of a stream over HTTP names no lane. */
static void tell(struct th_response_pass *p, struct th_str event)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX + TH_MIB);

	if (!th_json_raw_is_object(event))
		return;
	read_name(p, event);
	if (p->id.len)
		th_buf_printf(&json, "{\"stream_id\":%s,", p->id.ptr);
	else
		th_buf_add_char(&json, '{');
	th_buf_add(&json, th_str_sub(event, 1, event.len));
	p->ops->event(p->ctx, th_buf_str(&json));
}

static void on_data(void *ctx, int status, struct th_str bytes)
{
	struct th_response_pass *p = ctx;
	struct th_sse_event event;
	bool freed = false;
	int more = 1;

	if (status != 200) {
		th_buf_add(&p->refusal, th_str_sub(bytes, 0, p->refusal.max - p->refusal.len));
		return;
	}
	p->freed = &freed;
	while (!p->failed && (more = th_sse_next(&p->events, &bytes, &event, NULL)) == 1) {
		tell(p, event.data);
		if (freed)
			return;
	}
	p->freed = NULL;
	p->failed |= more < 0;
}

/* It is nobody else's any more. */
static void over(struct th_response_pass *p, bool here, const struct th_response_fault *fault)
{
	p->ops->over(p->ctx, here, fault);
	th_response_pass_free(p);
}

static void over_if_due(struct th_response_pass *p)
{
	if (p->ended && !p->steers)
		over(p, false, p->faulty ? &p->fault : NULL);
}

/* What that node says in its answer; `code` lives as long as the fault. */
static void read_refusal(struct th_str answer, int status, struct th_response_fault *ret,
			 char code[static CODE_SIZE])
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *error = NULL;
	struct th_str text;

	if (th_json_parse(answer, &doc, NULL) == TH_OK)
		error = th_json_get(th_json_root(doc), "error");
	text = th_json_get_str(error, "message");
	if (!text.len)
		text = TH_STR("the node that has the session refused the message");
	(void)th_response_fault(ret, status ? status : 502, NULL, "%.*s", TH_FMT(text));
	snprintf(code, CODE_SIZE, "%.*s", TH_FMT(th_json_get_str(error, "code")));
	if (code[0])
		ret->code = code;
}

static void on_end(void *ctx, enum th_pass_end end, int status, const char *why)
{
	struct th_response_pass *p = ctx;

	p->pass = NULL;
	if (end == TH_PASS_HERE) {
		over(p, true, NULL); /* nothing was told, so nothing can be said to it */
		return;
	}
	p->ended = true;
	p->faulty = end == TH_PASS_LOST || p->failed || status != 200;
	if (end == TH_PASS_LOST)
		(void)th_response_fault(&p->fault, 502, "other_node", "%s", why);
	else if (p->failed)
		(void)th_response_fault(&p->fault, 502, "other_node",
					"an event of the other node is too long");
	else if (status != 200)
		read_refusal(th_buf_str(&p->refusal), status, &p->fault, p->code);
	over_if_due(p);
}

/* ---- what is said to it meanwhile ---- */

static void on_steer_data(void *ctx, int status, struct th_str bytes)
{
	struct steer *s = ctx;

	(void)status;
	th_buf_add(&s->answer, th_str_sub(bytes, 0, s->answer.max - s->answer.len));
}

static void on_steer_end(void *ctx, enum th_pass_end end, int status, const char *why)
{
	struct steer *s = ctx;
	struct th_response_pass *p = s->of;
	struct th_response_fault fault;
	char code[CODE_SIZE];
	bool freed = false, *outer = p->freed;

	s->pass = NULL;
	if (end == TH_PASS_LOST)
		(void)th_response_fault(&fault, 502, "other_node", "%s", why);
	else if (end == TH_PASS_HERE)
		(void)th_response_fault(&fault, 400, "response_not_active",
					"the node that had the response has it no more");
	else if (status != 200)
		read_refusal(th_buf_str(&s->answer), status, &fault, code);
	steer_free(s);
	p->freed = &freed; /* by whom it is told, when the socket's peer turns out to be gone */
	p->ops->steered(p->ctx, p->name, end == TH_PASS_WHOLE && status == 200 ? NULL : &fault);
	if (freed) {
		if (outer)
			*outer = true;
		return;
	}
	p->freed = outer;
	over_if_due(p);
}

bool th_response_pass_steer(struct th_response_pass *p, struct th_str message,
			    struct th_response_fault *fault)
{
	char session[TH_UUID_TEXT_SIZE + 1], path[TH_RESPONSE_NAME_MAX + 40];
	struct th_pass_request to = { .session = session,
				      .method = "POST",
				      .path = path,
				      .data = on_steer_data,
				      .end = on_steer_end };
	struct thole_error err = { .code = THOLE_ENOENT };
	struct steer *s;

	if (p->ended)
		return th_response_steer_late(fault);
	if (p->steer_count == TH_SERVE_STEERS_MAX)
		return th_response_fault(fault, 429, "too_many_pending_steers",
					 "%d of them wait until they are written",
					 TH_SERVE_STEERS_MAX);
	if (!th_response_session_of(th_str_of(p->name), session))
		return th_response_fault(fault, 400, "response_not_found",
					 "the response has no name yet");
	snprintf(path, sizeof(path), "/v1/responses/%s/steer", p->name);
	s = th_alloc(sizeof(*s));
	*s = (struct steer){ .of = p, .next = p->steers };
	th_buf_init(&s->body, TH_REQUEST_MAX);
	th_buf_init(&s->answer, 64 * TH_KIB);
	p->steers = s;
	p->steer_count++;
	th_buf_add(&s->body, message);
	to.body = th_buf_str(&s->body);
	to.ctx = s;
	if (th_buf_check(&s->body, "the message", NULL) == TH_OK &&
	    th_pass_start(p->access, &to, &s->pass, &err) == 0 && s->pass)
		return true;
	steer_free(s);
	return th_response_fault(
	    fault, th_status_of(err.code), "response_not_active", "%s",
	    err.code == THOLE_ENOENT ? "the node that had the response has it no more" : err.text);
}

/* ---- the request ---- */

/* The message as the body of a request over HTTP. */
static bool put_body(struct th_response_pass *p, struct th_str message)
{
	static const char *const of_sockets[] = { "type", "stream_id", "stream" };
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_jw w = th_jw(&p->body);
	struct th_json_iter it;

	/* What is no request, or is only put there, is answered here. */
	if (th_json_parse(message, &doc, NULL) != TH_OK || !th_json_is_object(th_json_root(doc)) ||
	    !th_json_bool(th_json_get(th_json_root(doc), "generate"), true))
		return false;
	th_jw_object(&w);
	it = th_json_iter(th_json_root(doc));
	while (th_json_next(&it)) {
		bool passed = true;

		for (size_t i = 0; i < TH_COUNT(of_sockets); i++)
			passed &= !th_str_is(it.key, of_sockets[i]);
		if (!passed)
			continue;
		th_jw_key(&w, it.key);
		th_jw_json(&w, it.val);
	}
	th_jw_kbool(&w, "stream", true);
	th_jw_object_end(&w);
	return th_buf_check(&p->body, "the message", NULL) == TH_OK;
}

struct th_response_pass *th_response_pass_start(struct th_access *a, const char *session,
						struct th_str message, const char *stream_id,
						const struct th_response_pass_ops *ops, void *ctx)
{
	struct th_response_pass *p = th_alloc(sizeof(*p));
	struct th_pass_request to = { .session = session,
				      .method = "POST",
				      .path = "/v1/responses",
				      .data = on_data,
				      .end = on_end,
				      .ctx = p };
	struct thole_error err;

	*p = (struct th_response_pass){ .access = a, .ops = ops, .ctx = ctx };
	th_buf_init(&p->body, TH_REQUEST_MAX);
	th_buf_init(&p->refusal, 64 * TH_KIB);
	th_buf_init(&p->id, TH_KIB);
	th_sse_init(&p->events, TH_ANSWER_MAX);
	if (stream_id[0]) {
		struct th_jw w = th_jw(&p->id);

		th_jw_str(&w, th_str_of(stream_id));
	}
	if (put_body(p, message)) {
		to.body = th_buf_str(&p->body);
		/* What cannot be passed on now is answered here, where the store says whose it is.
		 */
		if (th_pass_start(a, &to, &p->pass, &err) == 0 && p->pass)
			return p;
	}
	th_response_pass_free(p);
	return NULL;
}
