/* SPDX-License-Identifier: Apache-2.0 */
#include "guards/guard_look.h"

#include "base/text.h"
#include "live/log.h"
#include "transcript/transcript.h"

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

bool th_live_guard_awaited(struct th_live *l, const struct th_pending_callback *a)
{
	const uint32_t *open = guards_open(l, a);

	return open && (*open & (UINT32_C(1) << a->guard));
}

bool th_live_guard_open(struct th_live *l, const struct th_pending_callback *a)
{
	bool at_work = l->fold.state == TH_STATE_RUNNING || l->fold.state == TH_STATE_WAITING;

	return at_work && th_live_guard_awaited(l, a);
}

uint64_t th_live_guard_about(const struct th_session *s, enum th_guard_stage stage)
{
	return stage == TH_GUARD_INPUT ? s->guard_to : s->answer_seq;
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
