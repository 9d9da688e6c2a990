/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delegate_end.c - how a session that works on a call ended, for the model that asked.
 */
#include "base/text.h"
#include "driver/delegate.h"
#include "driver/delegate_background.h"
#include "driver/driver.h"
#include "live/log.h"
#include "live/pending_callback.h"
#include "session_tools/origin.h"

/* How a child ended, for the model that asked for it. */
struct ending {
	struct th_buf text;  /* its answer, or why there is none */
	struct th_buf class; /* of a failure; */
	struct th_buf last;  /* and what was said or came of a tool last */
	bool failed;
};

static void ending_init(struct ending *e)
{
	*e = (struct ending){ 0 };
	th_buf_init(&e->text, TH_ANSWER_MAX);
	th_buf_init(&e->class, TH_KIB);
	th_buf_init(&e->last, TH_ANSWER_MAX);
}

static void ending_deinit(struct ending *e)
{
	th_buf_deinit(&e->text);
	th_buf_deinit(&e->class);
	th_buf_deinit(&e->last);
}

static void take_last(struct th_buf *last, struct th_str text)
{
	if (!text.len)
		return;
	th_buf_clear(last);
	th_buf_add(last, text);
}

static void take_answer(struct ending *e, const struct th_json *items)
{
	struct th_buf text = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_json_iter it = th_json_iter(items), part;

	while (th_json_next(&it)) {
		part = th_json_iter(th_json_get(it.val, "content"));
		while (th_str_is(th_json_get_str(it.val, "type"), "message") && th_json_next(&part))
			if (th_str_is(th_json_get_str(part.val, "type"), "output_text"))
				th_buf_add(&text, th_json_get_str(part.val, "text"));
	}
	take_last(&e->last, th_buf_str(&text));
	th_buf_deinit(&text);
}

static enum th_code read_event(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			       struct th_err *err)
{
	struct ending *e = ctx;
	struct th_json_doc *doc = NULL;
	enum th_code code;

	(void)digest;
	if (ev->kind != TH_EV_MODEL_ANSWERED && ev->kind != TH_EV_OUTCOME &&
	    ev->kind != TH_EV_ERROR)
		return TH_OK;
	code = th_json_parse(ev->data, &doc, err);
	if (code)
		return code;
	if (ev->kind == TH_EV_MODEL_ANSWERED) {
		take_answer(e, th_json_get(th_json_root(doc), "items"));
	} else if (ev->kind == TH_EV_OUTCOME) {
		take_last(&e->last, th_json_get_str(th_json_root(doc), "output"));
	} else {
		th_buf_clear(&e->class);
		th_buf_add(&e->class, th_json_get_str(th_json_root(doc), "class"));
	}
	th_json_free(doc);
	return TH_OK;
}

/* What its log says beside what its fold does: from its end back to where something was said. */
static void read_log(struct th_live *child, struct ending *e)
{
	struct th_driver *d = child->driver;
	struct th_err err;

	for (uint64_t from, to = child->durable_seq; to > 0 && !e->last.len; to = from - 1) {
		struct ending piece TH_CLEANUP(ending_deinit) = { 0 };

		from = to > TH_LOG_SHORT_MAX ? to - TH_LOG_SHORT_MAX + 1 : 1;
		ending_init(&piece);
		/* What cannot be read leaves the end as the fold has it. */
		if (d->world.ops->read(d->world.ctx, th_str_of(child->id), from, to, read_event,
				       &piece, &err))
			return;
		take_last(&e->last, th_buf_str(&piece.last));
		if (!e->class.len)
			take_last(&e->class, th_buf_str(&piece.class));
	}
}

void th_delegation_last(struct th_live *child, struct th_buf *last)
{
	struct ending e;

	ending_init(&e);
	read_log(child, &e);
	th_buf_add(last, th_buf_str(&e.last));
	ending_deinit(&e);
}

static void ending_of(struct th_live *child, struct ending *e)
{
	const struct th_session *s = &child->fold;

	e->failed = s->state != TH_STATE_FINISHED || s->final_refusal;
	if (e->failed || !s->final.len)
		read_log(child, e);
	if (s->state == TH_STATE_FINISHED) {
		th_buf_add(&e->text, s->final.len ? th_buf_str(&s->final) : th_buf_str(&e->last));
		if (s->final_refusal)
			th_buf_add_cstr(&e->class, "refused");
		return;
	}
	th_buf_add(&e->text, th_buf_str(&s->reason));
	if (s->state != TH_STATE_FAILED) {
		th_buf_clear(&e->class);
		th_buf_add_cstr(&e->class, th_state_name(s->state));
	}
}

/* The code of the parent may say it in its own words. */
static void failure_text(struct th_live *l, const struct th_call *c, const struct th_live *child,
			 const struct ending *e, struct th_buf *text)
{
	struct th_str name = th_session_member(&child->fold)->name;
	struct th_str why = th_utf8_cut(th_buf_str(&e->text), TH_ERR_MSG_MAX * 4);
	struct th_buf input = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&input);

	th_buf_printf(text, "The agent %.*s gave no answer (%s): %.*s", TH_FMT(name), e->class.ptr,
		      TH_FMT(why));
	th_jw_object(&w);
	th_jw_kstr(&w, "kind", TH_STR("agent_failed"));
	th_jw_kstr(&w, "tool", c->tool);
	th_jw_kstr(&w, "call_id", c->call_id);
	th_jw_kstr(&w, "agent", name);
	th_jw_kstr(&w, "class", th_buf_str(&e->class));
	th_jw_kstr(&w, "message", why);
	th_jw_kstr(&w, "text", th_buf_str(text));
	th_jw_object_end(&w);
	th_live_reword(l, th_buf_str(&input), text, "The agent gave no answer.");
	th_buf_deinit(&input);
}

/* `result`: .ptr NULL, or what came of one in the background, to be read. */
static void write_finished(struct th_live *l, const struct th_call *c, const struct th_live *child,
			   struct th_str result)
{
	struct th_buf usage = TH_BUF_INIT(TH_KIB);
	struct th_ev_delegation_finished d;
	struct th_origin_list origins;

	th_delegation_usage(&child->fold, c->before, &d, &usage);
	d.child = th_str_of(child->id);
	d.call_id = c->call_id;
	d.result = result;
	d.state = th_str_of(th_state_name(child->fold.state));
	if (th_session_background(&l->fold, c->intent_seq)) /* else its OUTCOME has them */
		d.origins = th_live_origins(l, c, TH_STR(""), child->fold.origins.all, &origins);
	th_live_write_event(l, TH_EV_DELEGATION_FINISHED, TH_SOURCE_ENVIRONMENT, c->intent_seq,
			    c->call_id, &d);
	th_buf_deinit(&usage);
}

static void put_evidence(const struct th_call *c, const struct th_live *child, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kstr(&w, "session", th_str_of(child->id));
	th_jw_kstr(&w, "state", th_str_of(th_state_name(child->fold.state)));
	th_jw_kint(&w, "turns", child->fold.totals.turns - (c->before ? c->before->turns : 0));
	th_jw_object_end(&w);
}

const struct th_call *th_delegation_part(struct th_delegation *g)
{
	struct th_live *l = g->parent, *child = g->child;
	struct th_driver *d = l->driver;

	th_delegation_remove(g);
	if (d->world.ops->child_over)
		d->world.ops->child_over(d->world.ctx, th_live_ticket(child, 0));
	return l->lost ? NULL : th_delegation_call(l, g->intent_seq);
}

/* What became of one in the background is told. */
static void conclude_background(struct th_delegation *g, const struct ending *e)
{
	struct th_live *l = g->parent, *child = g->child;
	const struct th_call *c = th_delegation_part(g);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX + TH_KIB);
	struct th_buf shown TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	bool looked_at;

	if (!c)
		return;
	if (e->failed)
		failure_text(l, c, child, e, &text);
	else
		th_buf_add(&text, th_buf_str(&e->text));
	looked_at = th_background_is_looked_at(l, c);
	if (looked_at)
		th_text_clip(&shown, text.len ? th_buf_str(&text) : TH_STR("(It said nothing.)"),
			     TH_TOOL_OUTPUT_MODEL_MAX);
	th_background_say(l, g->intent_seq, th_str_of(child->id),
			  th_session_member(&child->fold)->name, e->failed ? "failed" : "completed",
			  looked_at ? TH_BACKGROUND_UNREAD : th_buf_str(&text));
	write_finished(l, c, child, looked_at ? th_buf_str(&shown) : (struct th_str){ NULL, 0 });
	th_background_over(l);
}

/* Its answer is the call's. */
static void conclude(struct th_delegation *g, const struct ending *e)
{
	struct th_live *l = g->parent, *child = g->child;
	const struct th_call *c = th_delegation_part(g);
	struct th_buf text = TH_BUF_INIT(TH_ANSWER_MAX + TH_KIB), shown = TH_BUF_INIT(TH_MIB);
	struct th_buf output = TH_BUF_INIT(TH_EVENT_DATA_MAX), evidence = TH_BUF_INIT(TH_KIB);
	struct th_effect_result result = { .status =
					       e->failed ? TH_OUTCOME_FAILED : TH_OUTCOME_DONE };
	struct th_jw w = th_jw(&output);

	if (c) {
		if (e->failed)
			failure_text(l, c, child, e, &text);
		else
			th_buf_add(&text, th_buf_str(&e->text));
		if (g->tool->agents.count) {
			th_buf_add_cstr(&text, "\n\n[");
			th_delegation_task_id(l, th_str_of(child->id), &text);
			th_buf_add_cstr(&text, e->failed ? " has failed; it can be resumed.]"
							 : " is completed; it can be resumed.]");
		}
		th_text_clip(&shown, th_buf_str(&text), TH_TOOL_OUTPUT_MODEL_MAX);
		th_jw_str(&w, th_buf_str(&shown));
		put_evidence(c, child, &evidence);
		result.output = th_buf_str(&output);
		result.evidence = th_buf_str(&evidence);
		result.origins = child->fold.origins.all;
		result.elapsed_ms = child->fold.updated_ms -
				    (c->before ? child->fold.task_ms : child->fold.created_ms);
		if (c->child != TH_CALL_CHILD_OVER)
			write_finished(l, c, child, (struct th_str){ NULL, 0 });
		th_driver_tool_done(l->driver, th_live_ticket(l, g->intent_seq), &result);
	}
	th_buf_deinit(&text);
	th_buf_deinit(&shown);
	th_buf_deinit(&output);
	th_buf_deinit(&evidence);
}

void th_delegation_end(struct th_delegation *g)
{
	bool background = th_session_background(&g->parent->fold, g->intent_seq);
	struct ending e;

	if (background && !th_background_heard(g->parent))
		return; /* it is told when the run goes on */
	ending_init(&e);
	ending_of(g->child, &e);
	if (background)
		conclude_background(g, &e);
	else
		conclude(g, &e);
	ending_deinit(&e);
}

void th_delegation_lost(struct th_live *l, const struct th_call *c, struct th_str child,
			const struct th_err *why)
{
	struct th_buf text = TH_BUF_INIT(4 * TH_KIB), output = TH_BUF_INIT(16 * TH_KIB);
	struct th_effect_result result = { .status = TH_OUTCOME_UNKNOWN };
	struct th_jw w = th_jw(&output);

	th_buf_printf(
	    &text,
	    "An agent worked on this in session %.*s, which was lost (%s). What it did "
	    "may or may not have happened, and was not repeated. Look first before asking "
	    "for it again.",
	    TH_FMT(child), why->msg);
	if (th_session_background(&l->fold, c->intent_seq)) {
		th_background_lost(l, c, child, th_buf_str(&text));
		th_buf_deinit(&text);
		th_buf_deinit(&output);
		return;
	}
	th_jw_str(&w, th_buf_str(&text));
	result.output = th_buf_str(&output);
	th_driver_tool_done(l->driver, th_live_ticket(l, c->intent_seq), &result);
	th_buf_deinit(&text);
	th_buf_deinit(&output);
}

/* Another runtime took it, or there was no memory: it may go on there, so it is not told to be
 * over. */
static void conclude_lost(struct th_delegation *g, const struct th_err *why)
{
	struct th_live *l = g->parent;
	const struct th_call *c = th_delegation_part(g);

	if (c)
		th_delegation_lost(l, c, th_str_of(g->child->id), why);
}

void th_delegation_rest(void *ctx, struct th_handle h, const struct th_session *s,
			const struct th_err *err)
{
	struct th_delegation *g = ctx;

	(void)h;
	if (!g->parent || !g->child)
		return;
	/* Somebody has one that works for it, and may bring that to its end. */
	if (err && err->code == TH_EBUSY)
		th_live_lose(g->parent, err);
	else if (err)
		conclude_lost(g, err);
	else if (th_delegation_is_over(s))
		th_delegation_end(g);
	else if (s->state == TH_STATE_WAITING)
		th_live_delegates_check(g->parent);
}
