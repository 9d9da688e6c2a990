/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guardrail.c - functions of the agent's code that look at what was said, at tool calls
 * and at the output, and may stop the run.
 */
#include "driver/guardrail.h"

#include <stdlib.h>

#include "base/text.h"
#include "core/transcript.h"
#include "driver/hooks.h"
#include "driver/log.h"
#include "driver/pending_callback.h"
#include "driver/program.h"

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

enum th_code th_live_guard_subject(struct th_live *l, const struct th_pending_callback *a,
				   struct th_jw *w, struct th_err *err)
{
	struct th_session *s = &l->fold;
	const struct th_call *c = th_live_call(l, a->call_seq);

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
	struct th_call *c = th_live_call(l, a->call_seq);

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

bool th_live_guard_open(struct th_live *l, const struct th_pending_callback *a)
{
	const uint32_t *open = guards_open(l, a);
	bool at_work = l->fold.state == TH_STATE_RUNNING || l->fold.state == TH_STATE_WAITING;

	return at_work && open && (*open & (UINT32_C(1) << a->guard));
}

static th_callback_answered_fn guard_answered;

/* Nobody can be asked about all of it: that lets nothing through. */
static void guard_too_much(struct th_live *l, uint64_t id, const struct th_err *why)
{
	struct th_pending_callback *a = th_callback_take(l, id);
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

static void ask_code(struct th_live *l, const struct th_pending_callback *about)
{
	struct th_session *s = &l->fold;
	struct th_pending_callback *a = th_callback_new(l, TH_ASK_GUARDRAIL, guard_answered);
	struct th_buf input = TH_BUF_INIT(TH_GUARD_INPUT_MAX + TH_KIB);
	struct th_err err = { 0 };
	enum th_code code;
	struct th_jw w;

	a->stage = about->stage;
	a->guard = about->guard;
	a->call_seq = about->call_seq;
	a->member = about->member;
	a->asked_seq = about->asked_seq;
	th_callback_input(l, a->member, &input, &w);
	th_jw_kstr(&w, "stage", th_str_of(th_guard_stage_name(a->stage)));
	code = th_live_guard_subject(l, a, &w, &err);
	th_jw_object_end(&w);
	if (!code)
		code = th_buf_check(&input, "what it looks at", &err);
	if (code == TH_ELIMIT)
		guard_too_much(l, a->id, &err);
	else if (code)
		th_live_lose(l, &err);
	else
		th_callback_ask(l, a, s->team->members[a->member].guards[a->guard].name,
				th_buf_str(&input));
	th_buf_deinit(&input);
}

void th_live_guard(struct th_live *l, const struct th_held *held)
{
	const struct th_session *s = &l->fold;
	struct th_pending_callback a = {
		.stage = held->effect.stage,
		.guard = held->effect.guard,
		.call_seq = held->call_seq,
	};

	a.member = a.stage == TH_GUARD_INPUT ? s->guard_agent : s->agent;
	a.asked_seq = guard_about(s, a.stage);
	if (a.stage == TH_GUARD_OUTPUT && th_live_guard_open(l, &a))
		th_live_hook_end(l);
	/* Settled or stopped meanwhile, or of a look that is over: resume asks again. */
	if (!th_live_guard_open(l, &a) || (a.stage == TH_GUARD_INPUT && held->seq < s->guard_to))
		return;
	if (s->team->members[a.member].guards[a.guard].program)
		th_live_program(l, &a);
	else
		ask_code(l, &a);
}

/* What stands for the results that an output guardrail refuses: the agent's words, or those of its
 * code, which learns nothing of what was refused. */
static void withheld_text(struct th_live *l, struct th_str guardrail, struct th_buf *text)
{
	struct th_str own = l->speaking->output_withheld;
	struct th_buf input = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_jw w = th_jw(&input);

	th_buf_add(text, own.len ? own : TH_STR(TH_OUTPUT_WITHHELD));
	th_jw_object(&w);
	th_jw_kstr(&w, "kind", TH_STR("withheld"));
	th_jw_kstr(&w, "guardrail", guardrail);
	th_jw_kstr(&w, "text", th_buf_str(text));
	th_jw_object_end(&w);
	th_live_reword(l, th_buf_str(&input), text, TH_OUTPUT_WITHHELD);
	th_buf_deinit(&input);
}

void th_live_guard_write(struct th_live *l, const struct th_pending_callback *a,
			 struct th_ev_guardrail *d)
{
	struct th_session *s = &l->fold;
	const struct th_member *m = &s->team->members[a->member];
	const struct th_call *c = th_live_call(l, a->call_seq);
	bool later = a->stage == TH_GUARD_INPUT && s->guard_from + 1 != s->task_seq;
	struct th_buf withheld = TH_BUF_INIT(TH_EVENT_DATA_MAX);

	d->name = m->guards[a->guard].name;
	d->stage = th_str_of(th_guard_stage_name(a->stage));
	d->agent = m->name;
	d->call_id = c ? c->call_id : TH_STR("");
	d->after = later ? (int64_t)s->guard_from : 0;
	if (d->tripped && a->stage == TH_GUARD_OUTPUT) {
		withheld_text(l, d->name, &withheld);
		if (!th_str_is(th_buf_str(&withheld), TH_OUTPUT_WITHHELD))
			d->withheld = th_buf_str(&withheld);
	}
	th_live_write_event(l, TH_EV_GUARDRAIL, TH_SOURCE_ENVIRONMENT,
			    c ? c->call_seq : a->asked_seq, d->call_id, d);
	th_buf_deinit(&withheld);
}

/* True, false, null, or an object; anything else is no answer, and stops the run. */
static void guard_answered(struct th_live *l, const struct th_pending_callback *a, bool failed,
			   struct th_str answer)
{
	const uint32_t *open = guards_open(l, a);
	struct th_ev_guardrail d = { 0 };
	struct th_json_doc *doc = NULL;
	const struct th_json *v = NULL;
	struct th_arena memory;

	if (!open || !(*open & (UINT32_C(1) << a->guard)) ||
	    a->asked_seq != guard_about(&l->fold, a->stage))
		return;
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
	th_live_guard_write(l, a, &d);
	th_arena_deinit(&memory);
	th_json_free(doc);
}
