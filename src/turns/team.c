/* SPDX-License-Identifier: Apache-2.0 */
/*
 * team.c - from one agent to the next, and answers that are sent back.
 */
#include "turns/team.h"
#include "turns/log_ahead.h"

#include "base/text.h"
#include "live/log.h"
#include "live/pending_callback.h"
#include "live/queue.h"
#include "transcript/handoff.h"
#include "transcript/nest.h"
#include "turns/history_make.h"

/* ---- what was ---------------------------------------------------------------------------- */

/* Of the events up to `seq`, which are durable. */
static enum th_code history_read(struct th_live *l, uint64_t seq, struct th_history **ret,
				 struct th_err *err)
{
	struct th_history_making m;
	uint64_t from, to;
	enum th_code code = th_history_making_begin(l, seq, &m, err);

	while (!code && th_history_making_wants(&m, &from, &to)) {
		if (from <= to)
			code = th_live_read(l, from, to, th_history_making_take, &m, err);
		if (!code)
			code = th_history_making_next(&m, err);
	}
	*ret = th_history_making_end(&m);
	if (code)
		*ret = th_history_free(*ret);
	return code;
}

enum th_code th_live_history_make(struct th_live *l, struct th_err *err)
{
	enum th_code code = history_read(l, l->fold.seq, &l->history, err);

	if (!code)
		l->history_due = false;
	return code;
}

enum th_code th_live_history(struct th_live *l, struct th_err *err)
{
	if (l->history || l->history_due)
		return TH_OK;
	/* Made when a request needs it. */
	l->history_due = th_live_history_rewritten(l) || th_live_log_is_long(l);
	return l->history_due ? TH_OK : th_live_history_make(l, err);
}

enum th_code th_live_seen(struct th_live *l, const struct th_history **ret,
			  struct th_history **ret_own, struct th_err *err)
{
	enum th_code code = th_live_history(l, err);

	*ret_own = NULL;
	if (!code && !l->history) /* all that the model saw before it answered is durable */
		code = history_read(l, l->durable_seq, ret_own, err);
	*ret = l->history ? l->history : *ret_own;
	return code;
}

/* ---- filters of the agent's code ------------------------------------------------------------- */

static th_callback_answered_fn filter_answered;

void th_live_put_items(struct th_jw *w, const char *name, const struct th_transcript *transcript,
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
	struct th_pending_callback *a = th_callback_new(l, TH_ASK_FILTER, filter_answered);

	a->member = l->fold.agent;
	a->asked_seq = l->fold.answer_seq;
	a->message_seq = l->fold.message_seq;
	th_buf_init(input, TH_EVENT_DATA_MAX * 4); /* each item may stand there twice */
	th_callback_input(l, a->member, input, w);
	return a;
}

static void ask_filter(struct th_live *l, struct th_str function,
		       const struct th_transcript *transcript)
{
	struct th_buf input;
	struct th_jw w;
	struct th_pending_callback *a = filter_begin(l, &input, &w);

	th_live_put_items(&w, "items", transcript, 0, transcript->count);
	th_jw_object_end(&w);
	th_callback_ask(l, a, function, th_buf_str(&input));
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

static void ask_handoff(struct th_live *l, const struct th_handoff *h,
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
		th_live_put_items(&w, "items", transcript, 0, transcript->count);
	} else {
		th_jw_kraw(&w, "items", items);
	}
	put_run_context(&l->fold, &w);
	th_jw_object_end(&w);
	th_callback_ask(l, a, transcript ? h->filter : h->mapper, th_buf_str(&input));
	th_buf_deinit(&input);
}

/* ---- each request ------------------------------------------------------------------------ */

bool th_live_filter(struct th_live *l)
{
	struct th_err err = { 0 };
	struct th_transcript transcript;

	if (!l->speaking->input_filter.len || (l->filtered_turn == l->fold.totals.turns + 1 &&
					       l->filtered_message == l->fold.message_seq))
		return false;
	if (th_live_asks(l, TH_ASK_FILTER))
		return true;
	if (l->durable_seq < l->fold.seq)
		return th_live_defer_request(l); /* it reads the log */
	if (!th_live_items_here(l, l->fold.seq, TH_DO_REQUEST, 0))
		return true;
	if (th_live_transcript(l, l->fold.seq, NULL, &transcript, &err))
		th_live_lose(l, &err);
	else
		ask_filter(l, l->speaking->input_filter, &transcript);
	th_transcript_deinit(&transcript);
	return true;
}

/* The list that somebody gave back, as marks of what was; `ret_run_items`: of a handoff, whose
 * lists may be three.  False: it is none, and the run ends. */
static bool marks_of(struct th_live *l, const struct th_transcript *transcript, struct th_str items,
		     struct th_buf *marks, size_t *ret_run_items)
{
	struct th_err err = { 0 };
	struct th_json_doc *doc = NULL;
	struct th_buf why;
	enum th_code code = th_json_parse(items, &doc, &err);

	if (!code)
		code =
		    ret_run_items
			? th_handoff_mark(transcript, th_json_root(doc), marks, ret_run_items, &err)
			: th_transcript_mark(transcript, th_json_root(doc), marks, &err);
	th_json_free(doc);
	if (!code)
		return true;
	th_buf_init(&why, TH_EVENT_DATA_MAX);
	th_buf_printf(&why, "the filter of the history gave back no list of items: %s", err.msg);
	th_live_fail(l, "code", th_buf_str(&why));
	th_buf_deinit(&why);
	return false;
}

static void filtered(struct th_live *l, uint64_t message_seq, struct th_str items)
{
	struct th_err err = { 0 };
	struct th_transcript transcript;
	bool good = false;

	/* Asked for again after a crash, the request is in the log and nobody answers it. */
	if (l->fold.phase != TH_TURN_DUE && (l->fold.phase != TH_TURN_REQUESTED || l->flight))
		return;
	if (message_seq != l->fold.message_seq) {
		th_live_request_now(l); /* which asks anew */
		return;
	}
	th_buf_clear(&l->filtered);
	if (th_live_transcript(l, l->durable_seq, NULL, &transcript, &err))
		th_live_lose(l, &err);
	else
		good = marks_of(l, &transcript, items, &l->filtered, NULL);
	th_transcript_deinit(&transcript);
	if (!good)
		return;
	l->filtered_turn = l->fold.totals.turns + 1;
	l->filtered_message = message_seq;
	th_live_request_now(l);
}

/* ---- handoffs ---------------------------------------------------------------------------- */

/* {"assistant": "NAME"}, which models know from other runtimes. */
static void handoff_output(struct th_str to, struct th_buf *out)
{
	struct th_buf text = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_jw w = th_jw(&text);

	th_buf_add_cstr(&text, "{\"assistant\": ");
	th_jw_str(&w, to);
	th_buf_add_cstr(&text, "}");
	w = th_jw(out);
	th_jw_str(&w, th_buf_str(&text));
	th_buf_deinit(&text);
}

/* The result of the call that hands over; `output` holds its text. */
static struct th_ev_outcome handoff_outcome(const struct th_call *c, struct th_str to,
					    struct th_buf *output)
{
	handoff_output(to, output);
	return (struct th_ev_outcome){ .call_id = c->call_id,
				       .status = TH_STR("done"),
				       .output = th_buf_str(output) };
}

static void write_handoff(struct th_live *l, const struct th_call *c, struct th_str history,
			  size_t run_items)
{
	const struct th_team *team = l->fold.team;
	const struct th_member *m = th_session_member(&l->fold);
	struct th_buf output = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_buf call_id = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_buf arguments = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_ev_outcome outcome;
	struct th_ev_handoff d = { .from = m->name,
				   .history = history,
				   .run_items = (int64_t)run_items };
	uint64_t cause = c->call_seq;

	th_buf_add(&call_id, c->call_id);
	d.to = team->members[m->handoffs[c->handoff - 1].to].name;
	d.call_id = th_buf_str(&call_id);
	th_buf_add(&arguments, c->arguments);
	if (m->handoffs[c->handoff - 1].told)
		d.arguments = th_buf_str(&arguments);
	if (!th_call_hands_over(c)) {
		outcome = handoff_outcome(c, d.to, &output);
		th_live_write_event(l, TH_EV_OUTCOME, TH_SOURCE_AGENT, cause, d.call_id, &outcome);
	}
	th_live_write_event(l, TH_EV_HANDOFF, TH_SOURCE_AGENT, cause, d.call_id, &d);
	th_buf_deinit(&output);
	th_buf_deinit(&arguments);
	th_buf_deinit(&call_id);
}

static bool may_hand_over(const struct th_live *l, const struct th_call *c)
{
	const struct th_session *s = &l->fold;

	return c && s->state == TH_STATE_RUNNING && s->phase == TH_TURN_CALLS && !s->tripped &&
	       !s->handed && c->handoff && (c->phase == TH_CALL_CLEARED || th_call_hands_over(c));
}

/* What was, and the result of the call that hands over, which is the next event where it is not in
 * the log. */
static enum th_code transcript_handing(struct th_live *l, const struct th_call *c,
				       struct th_transcript *transcript, struct th_err *err)
{
	const struct th_member *m = th_session_member(&l->fold);
	struct th_buf output = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_buf data = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_jw w = th_jw(&data);
	struct th_ev_outcome outcome =
	    handoff_outcome(c, l->fold.team->members[m->handoffs[c->handoff - 1].to].name, &output);
	struct th_event next = { .seq = l->fold.seq + 1, .kind = TH_EV_OUTCOME };
	enum th_code code;

	th_table_print(&th_ev_outcome_table, &outcome, &w);
	next.data = th_buf_str(&data);
	code = th_live_transcript(l, l->fold.seq, th_call_hands_over(c) ? NULL : &next, transcript,
				  err);
	th_buf_deinit(&output);
	th_buf_deinit(&data);
	return code;
}

/* The new agent gets the history, from the program's code or from transcript/nest.c. */
static void nest(struct th_live *l, const struct th_call *c, const struct th_handoff *h,
		 const struct th_transcript *transcript)
{
	const struct th_nest_markers *markers = &l->fold.team->markers;
	struct th_buf list, why;
	struct th_err err = { 0 };
	enum th_code code;

	th_buf_init_try(&list, TH_EVENT_DATA_MAX);
	code = h->mapper.len ? th_nest_transcript(transcript, markers, &list, &err)
			     : th_nest(transcript, markers, &list, &err);
	if (code == TH_ENOMEM) {
		th_live_lose(l, &err);
	} else if (code) {
		th_buf_init(&why, TH_ERR_MSG_MAX * 2);
		th_buf_printf(&why, "the history cannot be nested: %s", err.msg);
		th_live_fail(l, "limit", th_buf_str(&why));
		th_buf_deinit(&why);
	} else if (h->mapper.len) {
		ask_handoff(l, h, NULL, th_buf_str(&list), c->call_seq);
	} else {
		write_handoff(l, c, th_buf_str(&list), 0);
	}
	th_buf_deinit(&list);
}

void th_live_hand_over(struct th_live *l, struct th_call *c)
{
	const struct th_member *m = th_session_member(&l->fold);
	const struct th_handoff *h;
	struct th_err err = { 0 };
	struct th_transcript transcript;

	if (!may_hand_over(l, c))
		return;
	h = &m->handoffs[c->handoff - 1];
	if (!h->filter.len && !h->nest) {
		write_handoff(l, c, TH_STR(""), 0);
		return;
	}
	if (l->durable_seq < l->fold.seq) {
		th_live_hold_hand_over(l, c); /* what is said meanwhile is seen too */
		return;
	}
	if (!th_live_items_here(l, l->fold.seq, TH_DO_HAND_OVER, c->call_seq))
		return;
	if (transcript_handing(l, c, &transcript, &err))
		th_live_lose(l, &err);
	else if (h->filter.len)
		ask_handoff(l, h, &transcript, TH_STR(""), c->call_seq);
	else
		nest(l, c, h, &transcript);
	th_transcript_deinit(&transcript);
}

static void handed(struct th_live *l, uint64_t call_seq, uint64_t message_seq, struct th_str items)
{
	struct th_call *c = NULL;
	struct th_buf marks;
	struct th_transcript transcript;
	struct th_err err = { 0 };
	size_t run_items;

	for (size_t i = 0; i < l->fold.call_count; i++)
		if (l->fold.calls[i].call_seq == call_seq)
			c = &l->fold.calls[i];
	if (!may_hand_over(l, c))
		return;
	/* Somebody spoke meanwhile: it is asked anew. */
	if (message_seq != l->fold.message_seq || l->durable_seq < l->fold.seq) {
		th_live_hold_hand_over(l, c);
		return;
	}
	th_buf_init(&marks, TH_EVENT_DATA_MAX);
	if (transcript_handing(l, c, &transcript, &err))
		th_live_lose(l, &err);
	else if (marks_of(l, &transcript, items, &marks, &run_items))
		write_handoff(l, c, th_buf_str(&marks), run_items);
	th_transcript_deinit(&transcript);
	th_buf_deinit(&marks);
}

/* The answer is sent back, with what is wrong. */
void th_live_correct(struct th_live *l)
{
	struct th_buf text = TH_BUF_INIT(4 * TH_KIB);
	struct th_err err = { 0 };

	th_buf_printf(&text,
		      "Your answer does not fit the schema that was asked for: %.*s. Answer again, "
		      "with nothing but one JSON value that fits it.",
		      TH_FMT(th_utf8_cut(th_buf_str(&l->fold.reason), TH_ERR_MSG_MAX)));
	if (th_live_append_message(l, TH_SOURCE_ENVIRONMENT, l->fold.answer_seq, th_buf_str(&text),
				   &err))
		th_live_lose(l, &err);
	th_buf_deinit(&text);
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
		handed(l, a->call_seq, a->message_seq, answer);
	} else {
		filtered(l, a->message_seq, answer);
	}
	th_buf_deinit(&why);
}
