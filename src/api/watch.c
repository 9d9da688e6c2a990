/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c - what a session tells its watchers (watchers.c): the driver's events and deltas as
 * notes.
 */
#include <stdlib.h>

#include "api/api.h"
#include "base/text.h"

#define EVENT_LINE_ROOM 384 /* what an event's line has beside its data */

static const struct th_str none = { 0 };

/* ---- notes ------------------------------------------------------------------------------------
 */

int thole_note_kind(const struct thole_note *note)
{
	return note ? note->kind : 0;
}

const char *thole_note_name(const struct thole_note *note)
{
	return note ? note->name : NULL;
}

const char *thole_note_text(const struct thole_note *note)
{
	return note ? note->text : NULL;
}

/* What nobody looks at is not made: most of those who watch events want a few of them. */
static void make_json(struct thole_note *n)
{
	struct th_buf line = TH_BUF_INIT(2 * TH_EVENT_DATA_MAX);
	struct th_jw w = th_jw(&line);

	th_buf_reserve(&line, n->event->data.len + EVENT_LINE_ROOM);
	th_event_print(th_str_of(n->session->id), n->event, &w);
	n->json = n->made = th_buf_steal(&line, NULL);
}

const char *thole_note_json(const struct thole_note *note)
{
	if (note && note->event && !note->json)
		make_json((struct thole_note *)(uintptr_t)note);
	return note ? note->json : NULL;
}

const char *thole_note_id(const struct thole_note *note)
{
	return note ? note->id : NULL;
}

uint64_t thole_note_seq(const struct thole_note *note)
{
	return note ? note->seq : 0;
}

const char *thole_note_data(const struct thole_note *note)
{
	return note && note->event ? note->event->data.ptr : NULL;
}

int64_t thole_note_ts_ms(const struct thole_note *note)
{
	return note && note->event ? (int64_t)note->event->ts_ms : 0;
}

/* ---- deltas -----------------------------------------------------------------------------------
 */

void th_api_on_delta(void *ctx, struct th_handle h, enum th_delta_kind kind, struct th_str text)
{
	static const struct th_str names[] = {
		[TH_DELTA_TEXT] = TH_STR_INIT("text"),
		[TH_DELTA_REASONING] = TH_STR_INIT("reasoning"),
		[TH_DELTA_ARGUMENTS] = TH_STR_INIT("arguments"),
		[TH_DELTA_REFUSAL] = TH_STR_INIT("refusal"),
		[TH_DELTA_SEALED] = TH_STR_INIT("sealed"),
	};
	struct thole_session *s = ctx;

	(void)h;
	if ((s->kinds & THOLE_NOTE_DELTA) && kind != TH_DELTA_ITEM)
		th_api_tell(s, THOLE_NOTE_DELTA, names[kind], text, none, none, 0, NULL);
}

/* ---- events -----------------------------------------------------------------------------------
 */

/* The text of a message item: its parts' texts, one after the other. */
static void message_text(const struct th_json *item, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(th_json_get(item, "content"));

	while (th_json_next(&it))
		th_buf_add(out, th_json_get_str(it.val, "text"));
}

/* Does a function of this name hand over, for any agent of the team? */
static bool hands_over(const struct thole_session *s, struct th_str function)
{
	const struct th_session *f = th_driver_session(s->rt->driver, s->handle);

	for (size_t i = 0; f && i < f->team->count; i++)
		if (th_member_handoff(&f->team->members[i], function) >= 0)
			return true;
	return false;
}

static struct th_str item_name(const struct thole_session *s, const struct th_json *item)
{
	struct th_str type = th_json_get_str(item, "type");

	if (th_str_is(type, "message"))
		return TH_STR("message_output_created");
	if (th_str_is(type, "reasoning"))
		return TH_STR("reasoning_item_created");
	if (th_str_is(type, "mcp_approval_request"))
		return TH_STR("mcp_approval_requested");
	if (th_str_is(type, "mcp_list_tools"))
		return TH_STR("mcp_list_tools");
	if (!th_str_ends(type, TH_STR("_call")))
		return none;
	return hands_over(s, th_json_get_str(item, "name")) ? TH_STR("handoff_requested")
							    : TH_STR("tool_called");
}

/* The raw items stand in the answer in the same order as the parsed ones. */
static void tell_answer(struct thole_session *s, const struct th_event *ev)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_buf text = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_str items = th_json_raw_get(ev->data, "items");
	struct th_json_raw_iter raw = th_json_raw_iter(items);
	struct th_json_iter it;

	if (th_json_parse(items, &doc, NULL))
		return;
	it = th_json_iter(th_json_root(doc));
	while (th_json_next(&it) && th_json_raw_next(&raw)) {
		struct th_str name = item_name(s, it.val);
		struct th_str tool = th_json_get_str(it.val, "name");
		struct th_str type = th_json_get_str(it.val, "type");
		enum th_native native = th_native_of_type(type);
		struct th_str id = th_json_get_str(it.val, th_native_id_member(native));

		if (!tool.len && native) /* "shell_call" */
			tool = th_str_sub(type, 0, type.len - strlen("_call"));
		if (!name.len)
			continue;
		if (th_str_is(name, "handoff_requested") && !s->handoff)
			s->handoff = th_api_copy(id);
		th_buf_clear(&text);
		if (!th_str_is(name, "message_output_created") &&
		    !th_str_is(name, "reasoning_item_created"))
			th_buf_add(&text, tool.len ? tool : TH_STR("computer"));
		else
			message_text(it.val, &text);
		th_api_tell(s, THOLE_NOTE_ITEM, name, th_buf_str(&text), raw.val, id, ev->seq,
			    NULL);
	}
	th_buf_deinit(&text);
}

static void tell_outcome(struct thole_session *s, const struct th_event *ev)
{
	struct th_str raw = th_json_raw_get(ev->data, "output");
	struct th_buf text = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	bool plain = th_json_unescape(raw, &text);

	/* Of the first of an answer handoff_occurred is said; the others' results are results. */
	if (s->handoff && th_str_is(ev->call, s->handoff)) {
		free(s->handoff);
		s->handoff = NULL;
		th_buf_deinit(&text);
		return;
	}
	th_api_tell(s, THOLE_NOTE_ITEM, TH_STR("tool_output"), plain ? th_buf_str(&text) : none,
		    ev->data, ev->call, ev->seq, NULL);
	th_buf_deinit(&text);
}

static void tell_handoff(struct thole_session *s, const struct th_event *ev)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_str to;

	if (th_json_parse(ev->data, &doc, NULL))
		return;
	to = th_json_get_str(th_json_root(doc), "to");
	if (s->kinds & THOLE_NOTE_ITEM)
		th_api_tell(s, THOLE_NOTE_ITEM, TH_STR("handoff_occurred"), to, ev->data, ev->call,
			    ev->seq, NULL);
	if (s->kinds & THOLE_NOTE_AGENT)
		th_api_tell(s, THOLE_NOTE_AGENT, to, none, none, none, ev->seq, NULL);
}

/* `of`: the session that works for this one, and a slash; or nothing. */
static void tell_asked(struct thole_session *s, const struct th_call *c, struct th_str of,
		       uint64_t seq)
{
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);

	th_buf_add(&name, of);
	th_call_name(c, &name);
	th_api_tell(s, THOLE_NOTE_ASK, c->tool, c->reason, c->arguments, th_buf_str(&name), seq,
		    NULL);
}

static void tell_ask(struct thole_session *s, const struct th_event *ev)
{
	const struct th_session *f = th_driver_session(s->rt->driver, s->handle);
	const struct th_call *c = f ? th_session_waits(f, TH_CALL_ASKED, ev->call) : NULL;

	if (s->kinds & THOLE_NOTE_ITEM)
		th_api_tell(s, THOLE_NOTE_ITEM, TH_STR("tool_approval_requested"),
			    c ? c->tool : none, ev->data, ev->call, ev->seq, NULL);
	if (c && (s->kinds & THOLE_NOTE_ASK))
		tell_asked(s, c, none, ev->seq);
}

void th_api_ask_again(struct thole_session *s)
{
	const struct th_session *f = th_driver_session(s->rt->driver, s->handle);

	for (size_t i = 0; f && (s->kinds & THOLE_NOTE_ASK) && i < f->call_count; i++)
		if (th_call_asks(&f->calls[i]))
			tell_asked(s, &f->calls[i], none, f->calls[i].call_seq);
}

/* A child session waits: the parent's watchers are asked as if it were the parent. */
static void tell_waits(struct thole_session *s, const struct th_event *ev)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_json_iter it;

	if (!(s->kinds & THOLE_NOTE_ASK) || th_json_parse(ev->data, &doc, NULL))
		return;
	it = th_json_iter(th_json_get(th_json_root(doc), "waits"));
	while (th_json_next(&it)) {
		const struct th_call *c;
		size_t of;

		th_buf_clear(&name);
		th_buf_add(&name, th_json_get_str(it.val, "session"));
		th_buf_add_char(&name, '/');
		of = name.len;
		th_buf_add(&name, th_json_get_str(it.val, "call_id"));
		c = th_driver_waits(s->rt->driver, s->handle, TH_CALL_ASKED, th_buf_str(&name),
				    NULL);
		if (c)
			tell_asked(s, c, th_str_n(name.ptr, of), ev->seq);
	}
}

static void tell_agent(struct thole_session *s, const struct th_event *ev)
{
	const struct th_session *f = th_driver_session(s->rt->driver, s->handle);

	if (s->announced || !(s->kinds & THOLE_NOTE_AGENT) || !f)
		return;
	s->announced = true;
	th_api_tell(s, THOLE_NOTE_AGENT, f->agent_name, none, none, none, ev->seq, NULL);
}

/* The request is durable and not yet sent: the last moment to stop after the turn before it. */
static void stop_after_turn(struct thole_session *s)
{
	struct th_err err = { 0 };

	s->after_turn = false;
	if (th_driver_set_state(s->rt->driver, s->handle, TH_STATE_STOPPED, TH_STR("cancelled"),
				&err))
		th_api_session_lose(s, &err);
}

void th_api_on_event(void *ctx, struct th_handle h, const struct th_event *ev)
{
	struct thole_session *s = ctx;

	(void)h;
	if (s->freed || s->rt->spinning)
		th_api_deliver_soon(s->rt);
	if (s->freed)
		return;
	if (ev->kind == TH_EV_MODEL_REQUESTED || ev->kind == TH_EV_MESSAGE)
		tell_agent(s, ev);
	if (s->kinds & THOLE_NOTE_EVENT)
		th_api_tell_event(s, ev);
	if (ev->kind == TH_EV_MODEL_ANSWERED && (s->kinds & THOLE_NOTE_ITEM))
		tell_answer(s, ev);
	if (ev->kind == TH_EV_OUTCOME && (s->kinds & THOLE_NOTE_ITEM))
		tell_outcome(s, ev);
	if (ev->kind == TH_EV_HANDOFF)
		tell_handoff(s, ev);
	if (ev->kind == TH_EV_APPROVAL_REQUESTED)
		tell_ask(s, ev);
	if (ev->kind == TH_EV_DELEGATION_WAITS)
		tell_waits(s, ev);
	if (ev->kind == TH_EV_MODEL_REQUESTED && s->after_turn)
		stop_after_turn(s);
}
