/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pending_callback.c - what the agent's code is asked, and what becomes of its
 * answers: guardrails, instructions, what follows a tool's result.
 */
#include "driver/pending_callback.h"

#include <stdlib.h>

#include "base/text.h"
#include "core/handoff.h"
#include "core/policy.h"
#include "driver/calls.h"
#include "driver/effects.h"
#include "driver/hooks.h"
#include "driver/log.h"
#include "driver/model.h"
#include "driver/team.h"
#include "driver/transcript.h"

#define INPUT_ROOM 512 /* what most questions are not longer than */

#define X(id, name, doc) name,
static const char *const ask_names[] = { TH_ASKS(X) };
#undef X

const char *th_ask_name(enum th_ask_kind k)
{
	assert(k < TH_ASK_COUNT);
	return ask_names[k];
}

/* A question under way. */
struct th_pending_callback {
	struct th_pending_callback *next;
	uint64_t id; /* of its ticket */
	enum th_ask_kind kind;
	enum th_guard_stage stage; /* GUARDRAIL */
	size_t guard, member;
	uint64_t call_seq;    /* of a tool's guardrail, or of the call that hands over */
	uint64_t asked_seq;   /* answer_seq or message_seq that it was about */
	uint64_t message_seq; /* FILTER: the last message that it sees */
	enum th_hook hook;    /* HOOK: of `member`, about the event asked_seq */
	bool run;             /* one of run_hooks */
};

static const struct th_callbacks *callbacks_of(const struct th_live *l, size_t member)
{
	return th_config_member(&l->team_config, member)->callbacks;
}

/* ---- asking ------------------------------------------------------------------------------ */

static struct th_pending_callback *callback_new(struct th_live *l, enum th_ask_kind kind)
{
	struct th_pending_callback *a = th_alloc(sizeof(*a));

	a->id = ++l->asked;
	a->kind = kind;
	a->next = l->pending_callbacks;
	l->pending_callbacks = a;
	return a;
}

static struct th_pending_callback *callback_take(struct th_live *l, uint64_t id)
{
	for (struct th_pending_callback **at = &l->pending_callbacks; *at; at = &(*at)->next)
		if ((*at)->id == id) {
			struct th_pending_callback *a = *at;

			*at = a->next;
			return a;
		}
	return NULL;
}

static void callbacks_end(struct th_live *l, bool hooks_too)
{
	struct th_pending_callback **at = &l->pending_callbacks;

	while (*at) {
		struct th_pending_callback *a = *at;
		const struct th_callbacks *callbacks = callbacks_of(l, a->member);

		if (a->kind == TH_ASK_HOOK && !hooks_too) {
			at = &a->next;
			continue;
		}
		*at = a->next;
		if (callbacks && callbacks->ops->cancel)
			callbacks->ops->cancel(callbacks->ctx,
					       th_live_ticket_of(l, TH_TICKET_CALLBACK, a->id));
		free(a);
	}
}

void th_live_callbacks_free(struct th_live *l)
{
	callbacks_end(l, true);
}

void th_live_callbacks_cancel(struct th_live *l)
{
	callbacks_end(l, false);
}

bool th_live_asks(const struct th_live *l, enum th_ask_kind kind)
{
	for (const struct th_pending_callback *a = l->pending_callbacks; a; a = a->next)
		if (a->kind == kind)
			return true;
	return false;
}

static void answered(struct th_live *l, const struct th_pending_callback *a, bool failed,
		     struct th_str answer);

/* Puts agent and session in front of what the caller wrote into the object. */
static void begin_input(const struct th_live *l, size_t member, struct th_buf *input,
			struct th_jw *w)
{
	th_buf_reserve(input, INPUT_ROOM);
	*w = th_jw(input);
	th_jw_object(w);
	th_jw_kstr(w, "agent",
		   l->fold.team->count > 1 ? l->fold.team->members[member].name
					   : l->fold.agent_name);
	th_jw_kstr(w, "session", th_str_of(l->id));
}

static void ask_told(struct th_live *l, struct th_pending_callback *a, struct th_str function,
		     struct th_str input, const struct th_hook_info *told)
{
	const struct th_callbacks *callbacks = callbacks_of(l, a->member);
	struct th_code_ask q = {
		.ticket = th_live_ticket_of(l, TH_TICKET_CALLBACK, a->id),
		.kind = a->kind,
		.session_id = th_str_of(l->id),
		.agent = l->fold.team->members[a->member].name,
		.function = function,
		.input = input,
	};
	struct th_buf answer = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_err err = { 0 };
	enum th_asked asked = TH_ASKED_NOTHING;
	uint64_t id = a->id;

	if (told)
		q.told = *told;
	if (callbacks)
		asked = callbacks->ops->ask(callbacks->ctx, &q, &answer, &err);
	if (asked == TH_ASKED_NOTHING && a->kind == TH_ASK_HOOK)
		asked = TH_ASKED_ANSWERED; /* nobody watches here */
	else if (asked == TH_ASKED_NOTHING)
		(void)th_fail(&err, TH_ENOENT, "the agent's code has no function \"%.*s\"",
			      TH_FMT(th_utf8_cut(function, 80)));
	if (asked != TH_ASKED_LATER) {
		a = callback_take(l, id);
		answered(l, a, asked != TH_ASKED_ANSWERED,
			 asked == TH_ASKED_ANSWERED ? th_buf_str(&answer) : th_str_of(err.msg));
		free(a);
	}
	th_buf_deinit(&answer);
}

static void ask(struct th_live *l, struct th_pending_callback *a, struct th_str function,
		struct th_str input)
{
	ask_told(l, a, function, input, NULL);
}

bool th_live_ask_now(struct th_live *l, enum th_ask_kind kind, struct th_str function,
		     struct th_str input, struct th_buf *answer)
{
	const struct th_callbacks *callbacks = callbacks_of(l, l->fold.agent);
	const struct th_code_ask q = {
		.kind = kind,
		.session_id = th_str_of(l->id),
		.agent = th_session_member(&l->fold)->name,
		.function = function,
		.input = input,
	};
	struct th_err err = { 0 };

	return callbacks &&
	       callbacks->ops->ask(callbacks->ctx, &q, answer, &err) == TH_ASKED_ANSWERED;
}

void th_live_reword(struct th_live *l, struct th_str input, struct th_buf *text,
		    const char *otherwise)
{
	struct th_buf answer = TH_BUF_INIT(TH_EVENT_DATA_MAX);

	if (th_live_ask_now(l, TH_ASK_TEXT, TH_STR(""), input, &answer) && answer.len > 0 &&
	    answer.ptr[0] == '"') {
		th_buf_clear(text);
		if (!th_json_unescape(th_buf_str(&answer), text))
			th_buf_add_cstr(text, otherwise);
	}
	th_buf_deinit(&answer);
}

/* ---- guardrails -------------------------------------------------------------------------- */

static struct th_call *call_by_seq(struct th_live *l, uint64_t call_seq)
{
	for (size_t i = 0; call_seq && i < l->fold.call_count; i++)
		if (l->fold.calls[i].call_seq == call_seq)
			return &l->fold.calls[i];
	return NULL;
}

/* What a call brought, as the log has it. */
static enum th_code put_output(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			       struct th_err *err)
{
	(void)digest;
	(void)err;
	th_jw_kraw(ctx, "output", th_json_raw_get(ev->data, "output"));
	return TH_OK;
}

/* What was said, in both forms, as it is not known before the end which it takes. */
struct said {
	struct th_buf text;  /* of messages, as JSON has it, with an empty line between two; */
	struct th_buf items; /* or all of it as items */
	bool is_text;
};

static void add_said(struct said *s, struct th_str item)
{
	if (s->items.len)
		th_buf_add_char(&s->items, ',');
	th_buf_add(&s->items, item);
}

/* Of a range of the log: what its users said. */
static enum th_code put_said(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			     struct th_err *err)
{
	struct said *s = ctx;
	struct th_str content = th_json_raw_get(ev->data, "content");
	struct th_json_raw_iter it = th_json_raw_iter(th_json_raw_get(ev->data, "items"));

	(void)digest;
	(void)err;
	if (ev->kind == TH_EV_MESSAGE && ev->source != TH_SOURCE_ENVIRONMENT) {
		s->is_text &= content.len > 1 && content.ptr[0] == '"';
		if (s->items.len)
			th_buf_add_cstr(&s->text, "\\n\\n");
		if (s->is_text)
			th_buf_add(&s->text, th_str_sub(content, 1, content.len - 2));
		add_said(s, ev->data);
	} else if (ev->kind == TH_EV_ITEMS_ADDED) {
		s->is_text = false;
		while (th_json_raw_next(&it))
			add_said(s, it.val);
	}
	return TH_OK;
}

static enum th_code put_input(struct th_live *l, struct th_jw *w, struct th_err *err)
{
	struct said s = { TH_BUF_INIT(TH_GUARD_INPUT_MAX), TH_BUF_INIT(TH_GUARD_INPUT_MAX), true };
	enum th_code code =
	    th_live_read(l, l->fold.guard_from + 1, l->fold.guard_to, put_said, &s, err);
	const struct th_buf *b = s.is_text ? &s.text : &s.items;

	if (!code)
		code = th_buf_check(b, "what was said", err);
	th_jw_key(w, TH_STR("input"));
	th_buf_add_char(w->out, s.is_text ? '"' : '[');
	th_buf_add(w->out, th_buf_str(b));
	th_buf_add_char(w->out, s.is_text ? '"' : ']');
	th_buf_deinit(&s.text);
	th_buf_deinit(&s.items);
	return code;
}

/* What it looks at.  TH_ELIMIT: more than it can be shown; else the log cannot be read. */
static enum th_code put_subject(struct th_live *l, const struct th_pending_callback *a,
				struct th_jw *w, struct th_err *err)
{
	struct th_session *s = &l->fold;
	const struct th_call *c = call_by_seq(l, a->call_seq);

	if (a->stage == TH_GUARD_INPUT)
		return put_input(l, w, err);
	if (a->stage == TH_GUARD_OUTPUT) {
		th_jw_kstr(w, "output", th_buf_str(&s->final));
	} else if (c) {
		th_jw_kstr(w, "tool", c->tool);
		th_jw_kstr(w, "call_id", c->call_id);
		th_jw_kraw(w, "arguments", c->arguments);
		if (a->stage == TH_GUARD_TOOL_OUTPUT && c->outcome_seq)
			return th_live_read(l, c->outcome_seq, c->outcome_seq, put_output, w, err);
	}
	return TH_OK;
}

static uint32_t *guards_open(struct th_live *l, const struct th_pending_callback *a)
{
	struct th_call *c = call_by_seq(l, a->call_seq);

	switch (a->stage) {
	case TH_GUARD_INPUT:
		return &l->fold.guards_in;
	case TH_GUARD_OUTPUT:
		return &l->fold.guards_out;
	case TH_GUARD_TOOL_INPUT:
		return c && c->phase == TH_CALL_CLEARED ? &c->guards_in : NULL;
	case TH_GUARD_TOOL_OUTPUT:
		return c && c->phase == TH_CALL_SETTLED ? &c->guards_out : NULL;
	case TH_GUARD_STAGE_COUNT:
		break;
	}
	return NULL;
}

/* Is its answer still wanted? */
static bool guard_open(struct th_live *l, const struct th_pending_callback *a)
{
	const uint32_t *open = guards_open(l, a);
	bool at_work = l->fold.state == TH_STATE_RUNNING || l->fold.state == TH_STATE_WAITING;

	return at_work && open && (*open & (UINT32_C(1) << a->guard));
}

static void guard_answered(struct th_live *l, const struct th_pending_callback *a, bool failed,
			   struct th_str answer);

/* Nobody can be asked about all of it: that lets nothing through. */
static void guard_too_much(struct th_live *l, uint64_t id, const struct th_err *why)
{
	struct th_pending_callback *a = callback_take(l, id);
	struct th_buf answer = TH_BUF_INIT(4 * TH_KIB);
	struct th_jw w = th_jw(&answer);

	th_jw_object(&w);
	th_jw_kbool(&w, "tripped", true);
	th_jw_kstr(&w, "message", th_str_of(why->msg));
	th_jw_object_end(&w);
	guard_answered(l, a, false, th_buf_str(&answer));
	th_buf_deinit(&answer);
	free(a);
}

/* The event that an answer is about, beside a call. */
static uint64_t guard_about(const struct th_session *s, enum th_guard_stage stage)
{
	return stage == TH_GUARD_INPUT ? s->guard_to : s->answer_seq;
}

void th_live_guard(struct th_live *l, const struct th_held *held)
{
	struct th_session *s = &l->fold;
	struct th_pending_callback *a = callback_new(l, TH_ASK_GUARDRAIL);
	struct th_buf input = TH_BUF_INIT(TH_GUARD_INPUT_MAX + TH_KIB);
	struct th_err err = { 0 };
	enum th_code code;
	struct th_jw w;

	a->stage = held->effect.stage;
	a->guard = held->effect.guard;
	a->call_seq = held->call_seq;
	a->member = a->stage == TH_GUARD_INPUT ? s->guard_agent : s->agent;
	a->asked_seq = guard_about(s, a->stage);
	if (a->stage == TH_GUARD_OUTPUT && guard_open(l, a))
		th_live_hook_end(l);
	/* Settled or stopped meanwhile, or of a look that is over: resume asks again. */
	if (!guard_open(l, a) || (a->stage == TH_GUARD_INPUT && held->seq < s->guard_to)) {
		free(callback_take(l, a->id));
		return;
	}
	begin_input(l, a->member, &input, &w);
	th_jw_kstr(&w, "stage", th_str_of(th_guard_stage_name(a->stage)));
	code = put_subject(l, a, &w, &err);
	th_jw_object_end(&w);
	if (!code)
		code = th_buf_check(&input, "what it looks at", &err);
	if (code == TH_ELIMIT)
		guard_too_much(l, a->id, &err);
	else if (code)
		th_live_lose(l, &err);
	else
		ask(l, a, s->team->members[a->member].guards[a->guard].name, th_buf_str(&input));
	th_buf_deinit(&input);
}

/* True, false, null, or an object; anything else is no answer, and stops the run. */
static void guard_answered(struct th_live *l, const struct th_pending_callback *a, bool failed,
			   struct th_str answer)
{
	struct th_session *s = &l->fold;
	const struct th_member *m = &s->team->members[a->member];
	struct th_call *c = call_by_seq(l, a->call_seq);
	const uint32_t *open = guards_open(l, a);
	struct th_ev_guardrail d = {
		.name = m->guards[a->guard].name,
		.stage = th_str_of(th_guard_stage_name(a->stage)),
		.agent = m->name,
		.call_id = c ? c->call_id : TH_STR(""),
	};
	bool later = a->stage == TH_GUARD_INPUT && s->guard_from + 1 != s->task_seq;
	struct th_json_doc *doc = NULL;
	const struct th_json *v = NULL;
	struct th_arena memory;

	if (!open || !(*open & (UINT32_C(1) << a->guard)) ||
	    a->asked_seq != guard_about(s, a->stage))
		return;
	d.after = later ? (int64_t)s->guard_from : 0;
	th_arena_init(&memory, TH_EVENT_DATA_MAX);
	if (!failed && th_json_parse(answer, &doc, NULL))
		failed = true;
	v = th_json_root(doc);
	if (failed) {
		d.tripped = true;
		d.message = th_arena_printf(&memory, "its code failed: %.*s",
					    TH_FMT(th_utf8_cut(answer, TH_ERR_MSG_MAX)));
	} else if (th_json_is_object(v)) {
		d.tripped = th_json_bool(th_json_get(v, "tripped"), false);
		d.message = th_json_get_str(v, "message");
		if (!th_json_is_null(th_json_get(v, "info")))
			d.info = th_json_text(th_json_get(v, "info"), &memory);
	} else {
		d.tripped = !th_json_is_null(v) && th_json_bool(v, true);
	}
	th_live_write_event(l, TH_EV_GUARDRAIL, TH_SOURCE_ENVIRONMENT,
			    c ? c->call_seq : a->asked_seq, d.call_id, &d);
	th_arena_deinit(&memory);
	th_json_free(doc);
}

/* ---- instructions, tool use -------------------------------------------------------------- */

void th_live_fail(struct th_live *l, const char *class, struct th_str message)
{
	struct th_ev_error d = { .class = th_str_of(class), .message = message };

	th_live_write_event(l, TH_EV_ERROR, TH_SOURCE_ENVIRONMENT, l->fold.seq, TH_STR(""), &d);
}

bool th_live_instructions(struct th_live *l)
{
	struct th_str function = l->session_config->agent->instructions_from;
	struct th_pending_callback *a;
	struct th_buf input;
	struct th_jw w;

	/* Another try of a turn is asked with the same words. */
	if (!function.len || l->fold.totals.attempts > 0 ||
	    l->instructed_turn == l->fold.totals.turns + 1)
		return false;
	if (th_live_asks(l, TH_ASK_INSTRUCTIONS))
		return true;
	if (l->durable_seq < l->fold.seq)
		return th_live_defer_request(l); /* what led to it is durable before it is asked */
	a = callback_new(l, TH_ASK_INSTRUCTIONS);
	a->member = l->fold.agent;
	a->asked_seq = l->fold.seq;
	th_buf_init(&input, TH_EVENT_DATA_MAX);
	begin_input(l, a->member, &input, &w);
	th_jw_kint(&w, "turn", l->fold.totals.task_turns + 1);
	th_jw_object_end(&w);
	ask(l, a, function, th_buf_str(&input));
	th_buf_deinit(&input);
	return true; /* the answer makes the request */
}

static void instructions_answered(struct th_live *l, bool failed, struct th_str answer)
{
	struct th_session *s = &l->fold;
	struct th_buf text = TH_BUF_INIT(TH_EVENT_DATA_MAX);

	/* Paused or stopped meanwhile: resume asks again. */
	if (s->state != TH_STATE_RUNNING || s->phase != TH_TURN_DUE)
		return;
	if (failed || !th_json_unescape(answer, &text)) {
		th_buf_clear(&text);
		th_buf_printf(
		    &text, "the agent's instructions: %.*s",
		    TH_FMT(th_utf8_cut(failed ? answer : TH_STR("not a string"), TH_ERR_MSG_MAX)));
		th_live_fail(l, "code", th_buf_str(&text));
	} else {
		l->instructed_turn = s->totals.turns + 1;
		th_live_instruct(l, th_buf_str(&text), true);
		th_live_request(l);
	}
	th_buf_deinit(&text);
}

void th_live_tool_use(struct th_live *l)
{
	struct th_session *s = &l->fold;
	const struct th_member *m = th_session_member(s);
	struct th_pending_callback *a;
	struct th_buf input;
	struct th_jw w;

	/* Paused or stopped meanwhile: resume asks again. */
	if (s->state != TH_STATE_RUNNING || s->phase != TH_TURN_CALLS || s->use_answered ||
	    m->tool_use != TH_USE_CODE)
		return;
	a = callback_new(l, TH_ASK_TOOL_USE);
	a->member = s->agent;
	a->asked_seq = s->answer_seq;
	th_buf_init(&input, TH_EVENT_DATA_MAX);
	begin_input(l, a->member, &input, &w);
	th_jw_key(&w, TH_STR("results"));
	th_jw_array(&w);
	for (size_t i = 0; i < s->call_count; i++) {
		const struct th_call *c = &s->calls[i];

		th_jw_object(&w);
		th_jw_kstr(&w, "tool", c->tool);
		th_jw_kstr(&w, "call_id", c->call_id);
		th_jw_kstr(&w, "output", c->output);
		th_jw_object_end(&w);
	}
	th_jw_array_end(&w);
	th_jw_object_end(&w);
	ask(l, a, m->tool_use_fn, th_buf_str(&input));
	th_buf_deinit(&input);
}

static void tool_use_answered(struct th_live *l, const struct th_pending_callback *a, bool failed,
			      struct th_str answer)
{
	struct th_session *s = &l->fold;
	const struct th_member *m = &s->team->members[a->member];
	struct th_ev_code d = { .use = TH_STR("tool_use"),
				.name = m->tool_use_fn,
				.agent = m->name,
				.answer = answer };

	if (a->asked_seq != s->answer_seq || s->state != TH_STATE_RUNNING ||
	    s->phase != TH_TURN_CALLS || s->use_answered)
		return;
	if (failed) {
		th_live_fail(l, "code", answer);
		return;
	}
	th_live_write_event(l, TH_EV_CODE, TH_SOURCE_ENVIRONMENT, a->asked_seq, TH_STR(""), &d);
}

/* ---- filters ----------------------------------------------------------------------------- */

static void put_items(struct th_jw *w, const char *name, const struct th_transcript *transcript,
		      size_t from, size_t to)
{
	th_jw_key(w, th_str_of(name));
	th_jw_array(w);
	for (size_t i = from; i < to; i++)
		th_transcript_print(&transcript->list[i], w);
	th_jw_array_end(w);
}

static struct th_pending_callback *filter_begin(struct th_live *l, struct th_buf *input,
						struct th_jw *w)
{
	struct th_pending_callback *a = callback_new(l, TH_ASK_FILTER);

	a->member = l->fold.agent;
	a->asked_seq = l->fold.answer_seq;
	a->message_seq = l->fold.message_seq;
	th_buf_init(input, TH_EVENT_DATA_MAX * 4); /* each item may stand there twice */
	begin_input(l, a->member, input, w);
	return a;
}

void th_live_ask_filter(struct th_live *l, struct th_str function,
			const struct th_transcript *transcript)
{
	struct th_buf input;
	struct th_jw w;
	struct th_pending_callback *a = filter_begin(l, &input, &w);

	put_items(&w, "items", transcript, 0, transcript->count);
	th_jw_object_end(&w);
	ask(l, a, function, th_buf_str(&input));
	th_buf_deinit(&input);
}

/* Of the run so far; `usage` as an answer's event has it. */
static void put_run_context(const struct th_session *s, struct th_jw *w)
{
	const struct th_totals *t = &s->totals;

	th_jw_name(w, TH_STR("run_context"));
	th_jw_object(w);
	th_jw_kint(w, "turn", t->task_turns);
	th_jw_name(w, TH_STR("usage"));
	th_jw_object(w);
	th_jw_kint(w, "requests", t->turns);
	th_jw_kint(w, "input", t->tokens_in);
	th_jw_kint(w, "cached", t->tokens_cached);
	th_jw_kint(w, "output", t->tokens_out);
	th_jw_kint(w, "reasoning", t->tokens_reasoning);
	th_jw_object_end(w);
	th_jw_object_end(w);
}

void th_live_ask_handoff(struct th_live *l, const struct th_handoff *h,
			 const struct th_transcript *transcript, struct th_str items,
			 uint64_t call_seq)
{
	struct th_buf input;
	struct th_jw w;
	struct th_pending_callback *a = filter_begin(l, &input, &w);

	a->call_seq = call_seq;
	th_jw_kstr(&w, "from", l->fold.team->members[a->member].name);
	th_jw_kstr(&w, "to", l->fold.team->members[h->to].name);
	if (transcript) {
		th_handoff_put_parts(transcript, &w);
		put_items(&w, "items", transcript, 0, transcript->count);
	} else {
		th_jw_kraw(&w, "items", items);
	}
	put_run_context(&l->fold, &w);
	th_jw_object_end(&w);
	ask(l, a, transcript ? h->filter : h->mapper, th_buf_str(&input));
	th_buf_deinit(&input);
}

void th_live_ask_transcript(struct th_live *l, enum th_ask_kind kind, struct th_str function,
			    const struct th_transcript *transcript)
{
	struct th_pending_callback *a = callback_new(l, kind);
	struct th_buf input;
	struct th_jw w;

	a->member = l->fold.agent;
	a->message_seq = l->fold.message_seq;
	th_buf_init(&input, TH_EVENT_DATA_MAX * 2);
	begin_input(l, a->member, &input, &w);
	if (kind == TH_ASK_SESSION_INPUT) {
		put_items(&w, "history", transcript, 0, transcript->task_at);
		put_items(&w, "input", transcript, transcript->task_at, transcript->count);
	} else {
		put_items(&w, "items", transcript, 0, transcript->count);
		th_jw_kint(&w, "bytes", (int64_t)l->fold.bytes);
	}
	th_jw_object_end(&w);
	ask(l, a, function, th_buf_str(&input));
	th_buf_deinit(&input);
}

static void filter_answered(struct th_live *l, const struct th_pending_callback *a, bool failed,
			    struct th_str answer)
{
	struct th_buf why = TH_BUF_INIT(TH_EVENT_DATA_MAX);

	if (a->asked_seq != l->fold.answer_seq || l->fold.state != TH_STATE_RUNNING)
		return; /* resume asks again */
	if (failed) {
		th_buf_printf(&why, "the filter of the history: %.*s",
			      TH_FMT(th_utf8_cut(answer, TH_ERR_MSG_MAX)));
		th_live_fail(l, "code", th_buf_str(&why));
	} else if (a->call_seq) {
		th_live_handed(l, a->call_seq, a->message_seq, answer);
	} else {
		th_live_filtered(l, a->message_seq, answer);
	}
	th_buf_deinit(&why);
}

/* ---- decisions --------------------------------------------------------------------------- */

static void write_decision(struct th_live *l, const struct th_call *c, bool approve,
			   struct th_str by, struct th_str message)
{
	struct th_ev_approval_decided d = { .call_id = c->call_id,
					    .digest = th_str_of(c->digest),
					    .approve = approve,
					    .by = by,
					    .message = message };

	th_live_write_event(l, TH_EV_APPROVAL_DECIDED, TH_SOURCE_ENVIRONMENT, c->call_seq,
			    c->call_id, &d);
}

/* Somebody has decided about its tool since it was recorded. */
static const struct th_sticky *decided_for_good(const struct th_live *l, const struct th_call *c)
{
	const struct th_sticky *k = th_session_sticky(&l->fold, c->tool);

	return k && th_session_sticks(&l->fold, c, k->approve) ? k : NULL;
}

void th_live_ask_person(struct th_live *l, struct th_call *c)
{
	const struct th_sticky *sticky = decided_for_good(l, c);

	th_live_ask(l, c);
	if (sticky && !l->lost)
		write_decision(l, c, sticky->approve, TH_STR(""), sticky->message);
}

void th_live_decision(struct th_live *l, struct th_call *c)
{
	struct th_pending_callback *a;
	struct th_buf input;
	struct th_jw w;

	/* Paused or stopped meanwhile: resume asks again. */
	if (c->phase != TH_CALL_RECORDED ||
	    (l->fold.state != TH_STATE_RUNNING && l->fold.state != TH_STATE_WAITING))
		return;
	if (decided_for_good(l, c)) {
		th_live_ask_person(l, c);
		return;
	}
	a = callback_new(l, TH_ASK_DECISION);
	a->member = l->fold.agent;
	a->call_seq = c->call_seq;
	th_buf_init(&input, TH_EVENT_DATA_MAX * 2);
	begin_input(l, a->member, &input, &w);
	th_jw_kstr(&w, "tool", c->tool);
	th_jw_kstr(&w, "call_id", c->call_id);
	th_jw_kraw(&w, "arguments", c->arguments);
	th_jw_kstr(&w, "class", th_str_of(th_class_name(c->class)));
	th_jw_kstr(&w, "reason", c->reason);
	th_jw_object_end(&w);
	ask(l, a, l->session_config->agent->decide_from, th_buf_str(&input));
	th_buf_deinit(&input);
}

/* {approve, message}; anything else leaves it to a person, and so does code that fails.  It never
 * approves what cannot be undone, or what the provider doubts. */
static void decision_answered(struct th_live *l, const struct th_pending_callback *a, bool failed,
			      struct th_str answer)
{
	struct th_call *c = call_by_seq(l, a->call_seq);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *approve;
	struct th_str message;
	bool decided;

	if (!c || c->phase != TH_CALL_RECORDED)
		return;
	if (!failed && th_json_parse(answer, &doc, NULL))
		failed = true;
	approve = th_json_get(th_json_root(doc), "approve");
	message = th_json_get_str(th_json_root(doc), "message");
	decided =
	    !failed && th_json_type(approve) == TH_JSON_BOOL &&
	    !(th_json_bool(approve, false) && th_policy_needs_person(c->class, c->safety_checks));
	if (!message.len && decided)
		message = th_json_bool(approve, false) ? message : TH_STR(TH_CODE_REJECTED);
	if (!decided) {
		th_live_ask_person(l, c);
		return;
	}
	th_live_ask(l, c);
	if (!l->lost)
		write_decision(l, c, th_json_bool(approve, false),
			       l->session_config->agent->decide_from, message);
}

/* ---- hooks ------------------------------------------------------------------------------- */

static struct th_str hook_function(const struct th_live *l, const struct th_pending_callback *a)
{
	const struct th_agent *agent = th_config_member(&l->team_config, a->member)->agent;

	return th_agent_hook(a->run ? agent->run_hooks : agent->hooks, a->hook);
}

void th_live_ask_hook(struct th_live *l, const struct th_hooking *h)
{
	const struct th_hook_info told = { h->hook, h->agent, h->call_id, h->seq };
	struct th_pending_callback *a = callback_new(l, TH_ASK_HOOK);

	a->hook = h->hook;
	a->run = h->run;
	a->member = h->of;
	a->asked_seq = h->seq;
	ask_told(l, a, hook_function(l, a), h->input, &told);
}

/* Silence is the rule; a failure, and what it says, is noted. */
static void hook_answered(struct th_live *l, const struct th_pending_callback *a, bool failed,
			  struct th_str answer)
{
	const struct th_agent *agent = th_config_member(&l->team_config, a->member)->agent;
	const struct th_agent_hooks *hooks = a->run ? agent->run_hooks : agent->hooks;
	struct th_ev_code d = {
		.use = th_str_of(th_hook_name(a->hook)),
		.name = hook_function(l, a),
		.agent = l->fold.team->members[a->member].name,
	};

	if (!failed && (!answer.len || th_str_is(answer, "null")))
		return;
	if (failed) {
		d.failed = th_utf8_cut(answer.len ? answer : TH_STR("it failed"), TH_ERR_MSG_MAX);
		d.fails = hooks->fail;
	} else {
		d.answer = answer;
	}
	th_live_write_event(l, TH_EV_CODE, TH_SOURCE_ENVIRONMENT, a->asked_seq, TH_STR(""), &d);
}

/* ---- answers ----------------------------------------------------------------------------- */

static void answered(struct th_live *l, const struct th_pending_callback *a, bool failed,
		     struct th_str answer)
{
	if (l->lost)
		return;
	switch (a->kind) {
	case TH_ASK_GUARDRAIL:
		guard_answered(l, a, failed, answer);
		break;
	case TH_ASK_INSTRUCTIONS:
		instructions_answered(l, failed, answer);
		break;
	case TH_ASK_TOOL_USE:
		tool_use_answered(l, a, failed, answer);
		break;
	case TH_ASK_FILTER:
		filter_answered(l, a, failed, answer);
		break;
	case TH_ASK_DECISION:
		decision_answered(l, a, failed, answer);
		break;
	case TH_ASK_HOOK:
		hook_answered(l, a, failed, answer);
		break;
	case TH_ASK_SESSION_INPUT:
	case TH_ASK_COMPACT:
		th_live_transcript_answered(l, a->kind, a->message_seq, failed, answer);
		break;
	case TH_ASK_APPROVAL:
	case TH_ASK_TEXT:
	case TH_ASK_COUNT:
		break;
	}
}

void th_driver_code_done(struct th_driver *d, struct th_ticket t, bool failed, struct th_str answer)
{
	struct th_live *l = th_live_find(d, t.index, t.generation);
	struct th_pending_callback *a =
	    l && t.kind == TH_TICKET_CALLBACK ? callback_take(l, t.seq) : NULL;

	if (!a)
		return;
	answered(l, a, failed, answer);
	free(a);
	th_live_pump(l);
}
