/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.c - calls of tools that are functions of this program: given on the loop, answered from any
 * thread, through the inbox.
 */
#include <stdlib.h>

#include "api/api.h"
#include "base/text.h"

/* ---- life -------------------------------------------------------------------------------------
 */

void th_api_inbox_unref(struct th_inbox *b)
{
	bool last = --b->users == 0;

	pthread_mutex_unlock(&b->lock);
	if (!last)
		return;
	pthread_mutex_destroy(&b->lock);
	free(b);
}

static void call_free(struct thole_call *c)
{
	pthread_mutex_lock(&c->inbox->lock);
	th_api_inbox_unref(c->inbox);
	for (size_t i = 0; i < c->picture_count; i++)
		free(c->pictures[i].bytes);
	th_buf_deinit(&c->output);
	th_json_free(c->doc);
	free(c);
}

struct thole_call *th_api_call_new(struct thole_session *s, const struct th_local_call *from)
{
	struct thole_call *c =
	    th_alloc(sizeof(*c) + from->tool.len + from->call_id.len + from->session_id.len +
		     from->effect_id.len + from->arguments.len + 5);
	char *at = c->bytes;

	c->session = s;
	c->next = s->calls;
	if (c->next)
		c->next->prev = c;
	s->calls = c;
	c->ticket = from->ticket;
	c->class = from->class;
	c->name = th_api_put(&at, from->tool);
	c->id = th_api_put(&at, from->call_id);
	c->session_id = th_api_put(&at, from->session_id);
	c->effect_id = from->effect_id.len ? th_api_put(&at, from->effect_id) : NULL;
	c->arguments = th_api_put(&at, from->arguments);
	atomic_init(&c->cancelled, false);
	th_buf_init(&c->output, TH_CALL_ANSWER_MAX);
	c->inbox = s->rt->inbox;
	pthread_mutex_lock(&c->inbox->lock);
	c->inbox->users++;
	pthread_mutex_unlock(&c->inbox->lock);
	return c;
}

void th_api_call_give(struct thole_call *c)
{
	struct th_str none = { 0 };

	th_api_tell(c->session, TH_NOTE_CALL, none, none, none, none, 0, c);
}

void th_api_call_forget(struct thole_call *c)
{
	struct thole_session *s = c->session;

	if (!s)
		return;
	atomic_store(&c->cancelled, true);
	if (c->timer.loop)
		th_timer_stop(&c->timer);
	if (c->prev)
		c->prev->next = c->next;
	else
		s->calls = c->next;
	if (c->next)
		c->next->prev = c->prev;
	c->prev = c->next = NULL;
	c->session = NULL;
	c->computing = NULL;
}

void th_api_calls_forget(struct thole_session *s)
{
	th_api_computings_forget(s);
	while (s->calls)
		th_api_call_forget(s->calls);
}

void th_api_call_unnote(struct thole_call *c)
{
	c->notes--;
	/* Answered, or never to be given. */
	if (c->notes == 0 && (c->over || !c->given))
		call_free(c);
}

/* ---- results ----------------------------------------------------------------------------------
 */

static void conclude(struct thole_call *c, enum th_outcome_status status, struct th_str output,
		     const struct th_blob *blobs, size_t blob_count)
{
	struct thole_session *s = c->session;
	struct th_runtime *rt = s->rt->rt;
	struct th_effect_result r = {
		.status = status,
		.output = output,
		.blobs = blobs,
		.blob_count = blob_count,
		.elapsed_ms = (int64_t)(th_loop_now_ms(s->rt->loop) - c->started_ms),
	};
	struct th_ticket ticket = c->ticket;

	th_api_call_forget(c);
	th_driver_tool_done(th_runtime_driver(rt), ticket, &r);
}

/* In our words, where the program has none: a look is simply a failure. */
static void conclude_without(struct thole_call *c, const char *what)
{
	struct th_buf text = TH_BUF_INIT(4 * TH_KIB), output = TH_BUF_INIT(16 * TH_KIB);
	struct th_jw w = th_jw(&output);
	bool looks = c->class == TH_CLASS_R || c->class == TH_CLASS_L || !c->given;

	th_buf_printf(&text, TH_ERROR_MARK "%s %s", c->name, what);
	th_jw_str(&w, th_buf_str(&text));
	conclude(c,
		 !c->given ? TH_OUTCOME_NOT_STARTED
		 : looks   ? TH_OUTCOME_FAILED
			   : TH_OUTCOME_UNKNOWN,
		 th_buf_str(&output), NULL, 0);
	th_buf_deinit(&text);
	th_buf_deinit(&output);
}

static void conclude_answered(struct thole_call *c)
{
	struct th_api_picture made[TH_CALL_PICTURES_MAX] = { 0 };
	struct th_blob blobs[TH_CALL_PICTURES_MAX];
	struct th_buf output = TH_BUF_INIT(TH_CALL_ANSWER_MAX + 4 * TH_KIB);
	struct th_jw w = th_jw(&output);
	struct th_err err = { 0 };
	size_t count = 0;

	th_jw_array(&w);
	if (c->output.len > 2) {
		th_jw_object(&w);
		th_jw_kstr(&w, "type", TH_STR("text"));
		th_jw_kraw(&w, "text", th_buf_str(&c->output));
		th_jw_object_end(&w);
	}
	for (; count < c->picture_count; count++) {
		const struct th_api_picture *p = &c->pictures[count];

		if (th_api_picture_png(c->session, p, NULL, p->dim, &made[count], &err))
			break;
		th_api_picture_part(&made[count], &w, &blobs[count]);
	}
	th_jw_array_end(&w);
	if (err.code) {
		struct th_buf why = TH_BUF_INIT(2 * TH_ERR_MSG_MAX);

		th_buf_printf(&why, "and gave a picture that cannot be used: %s", err.msg);
		conclude_without(c, why.ptr);
		th_buf_deinit(&why);
	} else {
		conclude(c, c->status, count > 0 ? th_buf_str(&output) : th_buf_str(&c->output),
			 blobs, count);
	}
	for (size_t i = 0; i < TH_COUNT(made); i++)
		free(made[i].bytes);
	th_buf_deinit(&output);
}

static void take_one(struct thole_call *c)
{
	c->over = true;
	if (c->session && c->computing)
		th_api_on_step(c);
	else if (c->session && c->is_ask)
		th_api_ask_conclude(c);
	else if (c->session)
		conclude_answered(c);
	if (c->notes == 0)
		call_free(c);
}

void th_api_calls_take(struct thole_runtime *rt)
{
	struct th_inbox *b = rt->inbox;
	struct thole_call *list;

	pthread_mutex_lock(&b->lock);
	list = b->answered;
	b->answered = NULL;
	b->answered_end = &b->answered;
	pthread_mutex_unlock(&b->lock);
	while (list) {
		struct thole_call *c = list;

		list = c->answer_next;
		take_one(c);
	}
}

/* ---- the driver's side ------------------------------------------------------------------------
 */

void th_api_on_call(void *ctx, struct th_driver *d, const struct th_local_call *call)
{
	struct thole_session *s = ctx;
	const struct thole_tool *t = th_api_tool_find(s->agent, call->tool);
	struct thole_call *c;

	(void)d;
	assert(t);
	/* Nobody is there to run it: to who opens the session next, it is as after a crash. */
	if (s->freed)
		return;
	c = th_api_call_new(s, call);
	c->fn = t->fn;
	c->on_cancel = t->on_cancel;
	c->ctx = t->ctx;
	c->timeout_ms = t->timeout_ms;
	th_api_call_give(c);
}

static struct thole_call *call_of(const struct thole_session *s, struct th_ticket t)
{
	struct thole_call *c = s->calls;

	while (c && (c->is_ask || !th_ticket_eq(c->ticket, t)))
		c = c->next;
	return c;
}

bool th_api_is_alive(void *ctx, struct th_ticket t)
{
	return call_of(ctx, t) || th_api_computing_is(ctx, t);
}

void th_api_on_cancel(void *ctx, struct th_ticket t)
{
	struct thole_session *s = ctx;
	struct thole_call *c = call_of(s, t);
	struct th_str none = { 0 };

	if (th_api_computing_cancel(s, t) || !c)
		return;
	atomic_store(&c->cancelled, true);
	th_api_tell(s, TH_NOTE_CANCEL, none, none, none, none, 0, c);
}

static void on_timeout(void *ctx)
{
	struct thole_call *c = ctx;
	struct thole_session *s = c->session;
	struct th_buf text = TH_BUF_INIT(TH_KIB);
	struct th_str none = { 0 };

	if (c->on_cancel)
		th_api_tell(s, TH_NOTE_CANCEL, none, none, none, none, 0, c);
	th_buf_printf(&text, "did not answer within %lld ms", (long long)c->timeout_ms);
	conclude_without(c, text.ptr);
	th_buf_deinit(&text);
	th_api_deliver_soon(s->rt);
}

static void give(struct thole_call *c)
{
	struct thole_session *s = c->session;

	if (atomic_load(&c->cancelled)) {
		conclude_without(c, "was cancelled before it began");
		return;
	}
	c->given = true;
	c->started_ms = th_loop_now_ms(s->rt->loop);
	if (c->timeout_ms > 0) {
		th_timer_init(&c->timer, s->rt->loop, on_timeout, c);
		th_timer_start(&c->timer, (uint64_t)c->timeout_ms, 0);
	}
	c->fn(c->ctx, c);
}

void th_api_call_note(struct thole_note *n)
{
	struct thole_call *c = n->call;

	if (n->kind == TH_NOTE_CALL && c->session)
		give(c);
	else if (n->kind == TH_NOTE_CANCEL && c->given && !c->over && c->on_cancel)
		c->on_cancel(c->ctx, c); /* its answer is still waited for, if the call is */
	else if (n->kind == TH_NOTE_CANCEL && c->given && !c->over && c->session)
		conclude_without(c, "was cancelled while it ran");
	n->call = NULL;
	th_api_call_unnote(c);
}

/* ---- what the program asks and says: any thread ------------------------------------------------
 */

const char *thole_call_tool(const struct thole_call *call)
{
	return call ? call->name : NULL;
}

const char *thole_call_id(const struct thole_call *call)
{
	return call ? call->id : NULL;
}

const char *thole_call_session_id(const struct thole_call *call)
{
	return call ? call->session_id : NULL;
}

const char *thole_call_effect_id(const struct thole_call *call)
{
	return call ? call->effect_id : NULL;
}

const char *thole_call_arguments(const struct thole_call *call)
{
	return call ? call->arguments : NULL;
}

/* "a", or "a.b" of the object a; one whose own name has a dot is found first. */
static const struct th_json *argument(struct thole_call *c, const char *member)
{
	struct th_str rest = th_str_of(member);
	const struct th_json *found;

	if (!c || !member)
		return NULL;
	if (!c->doc && th_json_parse(th_str_of(c->arguments), &c->doc, NULL))
		return NULL;
	found = th_json_getn(th_json_root(c->doc), rest);
	if (found)
		return found;
	for (found = th_json_root(c->doc); found && rest.len;)
		found = th_json_getn(found, th_str_split(&rest, '.'));
	return found;
}

const char *thole_call_string(struct thole_call *call, const char *member)
{
	struct th_str s = th_json_str(argument(call, member));

	/* yyjson ends its strings with a zero; one with a zero inside is none for C. */
	return s.ptr && strlen(s.ptr) == s.len ? s.ptr : NULL;
}

int64_t thole_call_integer(struct thole_call *call, const char *member, int64_t otherwise)
{
	return th_json_int(argument(call, member), otherwise);
}

double thole_call_number(struct thole_call *call, const char *member, double otherwise)
{
	return th_json_num(argument(call, member), otherwise);
}

bool thole_call_boolean(struct thole_call *call, const char *member, bool otherwise)
{
	return th_json_bool(argument(call, member), otherwise);
}

bool thole_call_cancelled(const struct thole_call *call)
{
	return call && atomic_load(&call->cancelled);
}

static int answer(struct thole_call *c, enum th_outcome_status status, const char *text,
		  struct thole_error *err)
{
	struct th_jw w;
	int code = TH_OK;

	if (!c)
		return th_api_fail(err, TH_EUSAGE, "the call is NULL");
	if (text)
		code = th_api_text(text, "the answer", 0, TH_CALL_ANSWER_MAX, err);
	if (code)
		return code;
	w = th_jw(&c->output);
	th_jw_str(&w, th_str_of(text));
	if (c->output.failed) {
		th_buf_clear(&c->output);
		return th_api_fail(err, TH_ELIMIT, "the answer has more than %zu bytes as JSON",
				   TH_CALL_ANSWER_MAX);
	}
	return th_api_call_hand_in(c, status);
}

int th_api_call_hand_in(struct thole_call *c, enum th_outcome_status status)
{
	struct th_inbox *b = c->inbox;
	bool closed;

	c->status = status;
	pthread_mutex_lock(&b->lock);
	closed = b->closed;
	if (!closed) {
		*b->answered_end = c;
		b->answered_end = &c->answer_next;
		if (pthread_equal(pthread_self(), b->thread)) {
			b->rt->touched = true;
			th_api_deliver_soon(b->rt);
		} else {
			th_wake_send(b->wake);
		}
	}
	pthread_mutex_unlock(&b->lock);
	if (closed)
		call_free(c);
	return TH_OK;
}

int thole_call_done(struct thole_call *call, const char *text, struct thole_error *err)
{
	return answer(call, TH_OUTCOME_DONE, text, err);
}

int thole_call_fail(struct thole_call *call, const char *text, struct thole_error *err)
{
	return answer(call, TH_OUTCOME_FAILED, text, err);
}

int thole_call_unknown(struct thole_call *call, const char *text, struct thole_error *err)
{
	return answer(call, TH_OUTCOME_UNKNOWN, text, err);
}
