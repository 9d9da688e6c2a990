/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver_team.c - from one agent to the next, and answers that are sent back.
 */
#include "base/text.h"
#include "core/past.h"
#include "run/driver_internal.h"

/* ---- what was ---------------------------------------------------------------------------- */

struct past_reader {
	struct th_past *past;
	uint64_t marks_seq; /* of the request whose filter counts; 0: none */
};

static enum th_code past_fill(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			      struct th_err *err)
{
	struct past_reader *r = ctx;
	struct th_json_doc *doc = NULL;
	const struct th_json *marks;
	enum th_code code;

	(void)digest;
	code = th_past_add(r->past, ev, err);
	if (code || ev->seq != r->marks_seq)
		return code;
	code = th_json_try_parse(ev->data, &doc, err);
	marks = th_json_get(th_json_root(doc), "history");
	if (!code && marks)
		code = th_past_keep(r->past, ev->seq, marks, err);
	th_json_free(doc);
	return code;
}

enum th_code th_live_past(struct th_live *l, uint64_t upto, uint64_t marks_seq,
			  const struct th_event *next, struct th_past *past, struct th_err *err)
{
	struct th_driver *d = l->driver;
	struct past_reader r = { past, marks_seq };
	size_t max = (size_t)l->speaking->history_items;
	enum th_code code;

	th_past_init(past, true);
	/* A filter's marks name items of what was sent before it: limited, pruned. */
	code = d->world.ops->read(d->world.ctx, th_str_of(l->id), 1,
				  marks_seq ? marks_seq - 1 : upto, past_fill, &r, err);
	/* While the items of the answer are as the log has them: a result is named by its call's
	 * place there. */
	if (!code && next)
		code = th_past_add(past, next, err);
	if (!code && max)
		th_past_limit(past, max);
	if (!code && (max || l->fold.rewritten_seq))
		th_past_prune(past);
	if (!code && marks_seq)
		code = d->world.ops->read(d->world.ctx, th_str_of(l->id), marks_seq, upto,
					  past_fill, &r, err);
	return code;
}

bool th_live_history_odd(const struct th_live *l)
{
	return l->fold.rewritten_seq || l->speaking->history_items || l->speaking->input_filter.len;
}

static enum th_code history_of_past(struct th_live *l, struct th_history *h, uint64_t seq,
				    struct th_err *err)
{
	struct th_driver *d = l->driver;
	const struct th_session *s = &l->fold;
	bool asked = s->phase == TH_TURN_REQUESTED;
	uint64_t upto = asked ? s->asked_seq : seq;
	struct th_past past;
	enum th_code code = th_live_past(l, upto, asked && l->speaking->input_filter.len ? upto : 0,
					 NULL, &past, err);

	if (!code)
		code = th_history_begin(h, &past, upto, asked, err);
	th_past_deinit(&past);
	if (!code && upto < seq)
		code = d->world.ops->read(d->world.ctx, th_str_of(l->id), upto + 1, seq,
					  th_history_fill, h, err);
	return code;
}

/* Of the events up to `seq`, which are durable. */
static enum th_code history_read(struct th_live *l, uint64_t seq, struct th_history **ret,
				 struct th_err *err)
{
	struct th_driver *d = l->driver;
	struct th_history *h = th_history_new(&l->options);
	enum th_code code = TH_OK;

	if (!h)
		return th_fail_memory(err);
	if (th_live_history_odd(l))
		code = history_of_past(l, h, seq, err);
	else if (seq > 0)
		code = d->world.ops->read(d->world.ctx, th_str_of(l->id), 1, seq, th_history_fill,
					  h, err);
	*ret = code ? th_history_free(h) : h;
	return code;
}

enum th_code th_live_history_make(struct th_live *l, struct th_err *err)
{
	enum th_code code = history_read(l, l->fold.seq, &l->history, err);

	if (!code)
		l->history_due = false;
	return code;
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

/* ---- each request ------------------------------------------------------------------------ */

bool th_live_filter(struct th_live *l)
{
	struct th_err err = { 0 };
	struct th_past past;

	if (!l->speaking->input_filter.len || (l->filtered_turn == l->fold.totals.turns + 1 &&
					       l->filtered_message == l->fold.message_seq))
		return false;
	if (th_live_asks(l, TH_ASK_FILTER))
		return true;
	if (l->durable_seq < l->fold.seq)
		return th_live_later(l); /* it reads the log */
	if (th_live_past(l, l->fold.seq, 0, NULL, &past, &err))
		th_live_lose(l, &err);
	else
		th_live_ask_filter(l, l->speaking->input_filter, TH_STR(""), &past, 0);
	th_past_deinit(&past);
	return true;
}

/* The list that somebody gave back, as marks of what was.  False: it is none, and the run ends. */
static bool marks_of(struct th_live *l, const struct th_past *past, struct th_str items,
		     struct th_buf *marks)
{
	struct th_err err = { 0 };
	struct th_json_doc *doc = NULL;
	struct th_buf why;
	enum th_code code = th_json_parse(items, &doc, &err);

	if (!code)
		code = th_past_mark(past, th_json_root(doc), marks, &err);
	th_json_free(doc);
	if (!code)
		return true;
	th_buf_init(&why, TH_EVENT_DATA_MAX);
	th_buf_printf(&why, "the filter of the history gave back no list of items: %s", err.msg);
	th_live_fail(l, "code", th_buf_str(&why));
	th_buf_deinit(&why);
	return false;
}

void th_live_filtered(struct th_live *l, uint64_t message_seq, struct th_str items)
{
	struct th_err err = { 0 };
	struct th_past past;
	bool good = false;

	/* Asked for again after a crash, the request is in the log and nobody answers it. */
	if (l->fold.phase != TH_TURN_DUE && (l->fold.phase != TH_TURN_REQUESTED || l->flight))
		return;
	if (message_seq != l->fold.message_seq) {
		th_live_request(l); /* which asks anew */
		return;
	}
	th_buf_clear(&l->filtered);
	if (th_live_past(l, l->durable_seq, 0, NULL, &past, &err))
		th_live_lose(l, &err);
	else
		good = marks_of(l, &past, items, &l->filtered);
	th_past_deinit(&past);
	if (!good)
		return;
	l->filtered_turn = l->fold.totals.turns + 1;
	l->filtered_message = message_seq;
	th_live_request(l);
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

static void print_outcome(const struct th_call *c, struct th_str to, struct th_buf *data)
{
	struct th_ev_outcome outcome = { .call_id = c->call_id, .status = TH_STR("done") };
	struct th_buf output = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_jw w = th_jw(data);

	handoff_output(to, &output);
	outcome.output = th_buf_str(&output);
	th_table_print(&th_ev_outcome_table, &outcome, &w);
	th_buf_deinit(&output);
}

static void write_handoff(struct th_live *l, const struct th_call *c, struct th_str history)
{
	const struct th_team *team = l->fold.team;
	const struct th_member *m = th_session_member(&l->fold);
	struct th_buf data = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_buf call_id = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_buf arguments = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_ev_handoff d = { .from = m->name, .history = history };
	uint64_t cause = c->call_seq;
	struct th_jw w;

	th_buf_add(&call_id, c->call_id);
	d.to = team->members[m->handoffs[c->handoff - 1].to].name;
	d.call_id = th_buf_str(&call_id);
	th_buf_add(&arguments, c->arguments);
	if (m->handoffs[c->handoff - 1].told)
		d.arguments = th_buf_str(&arguments);
	if (!th_call_hands_over(c)) {
		print_outcome(c, d.to, &data);
		th_live_write(l, TH_EV_OUTCOME, TH_SOURCE_AGENT, cause, d.call_id,
			      th_buf_str(&data));
		th_buf_clear(&data);
	}
	w = th_jw(&data);
	th_table_print(&th_ev_handoff_table, &d, &w);
	th_live_write(l, TH_EV_HANDOFF, TH_SOURCE_AGENT, cause, d.call_id, th_buf_str(&data));
	th_buf_deinit(&data);
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
static enum th_code past_handing(struct th_live *l, const struct th_call *c, struct th_past *past,
				 struct th_err *err)
{
	const struct th_member *m = th_session_member(&l->fold);
	struct th_buf data = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_event next = { .seq = l->fold.seq + 1, .kind = TH_EV_OUTCOME };
	enum th_code code;

	print_outcome(c, l->fold.team->members[m->handoffs[c->handoff - 1].to].name, &data);
	next.data = th_buf_str(&data);
	code = th_live_past(l, l->fold.seq, 0, th_call_hands_over(c) ? NULL : &next, past, err);
	th_buf_deinit(&data);
	return code;
}

/* One line of the summary: what somebody said as he said it, anything else as JSON. */
static void nest_line(const struct th_past_item *item, size_t number, struct th_buf *out)
{
	struct th_buf text = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	bool plain = item->kind == TH_PAST_MESSAGE && item->content.len &&
		     item->content.ptr[0] == '"' && th_json_unescape(item->content, &text);
	struct th_jw w = th_jw(out);

	th_buf_printf(out, "%zu. ", number);
	if (plain && th_str_find_char(th_buf_str(&text), '\n') < 0) {
		th_buf_printf(out, "%.*s: ", TH_FMT(item->role));
		th_buf_add(out, th_buf_str(&text));
	} else {
		th_past_print(item, &w);
	}
	th_buf_add_cstr(out, "\n");
	th_buf_deinit(&text);
}

/* The new agent sees all that was as one message of the assistant. */
static void nest(struct th_live *l, const struct th_call *c, const struct th_past *past)
{
	struct th_buf text = TH_BUF_INIT(TH_EVENT_DATA_MAX), list = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_jw w = th_jw(&list);

	th_buf_add_cstr(&text, "For context, here is the conversation so far between the user and "
			       "the previous agent:\n<CONVERSATION HISTORY>\n");
	for (size_t i = 0; i < past->count; i++)
		nest_line(&past->list[i], i + 1, &text);
	th_buf_add_cstr(&text, "</CONVERSATION HISTORY>");
	th_jw_array(&w);
	th_jw_object(&w);
	th_jw_kstr(&w, "role", TH_STR("assistant"));
	th_jw_kstr(&w, "content", th_buf_str(&text));
	th_jw_object_end(&w);
	th_jw_array_end(&w);
	write_handoff(l, c, th_buf_str(&list));
	th_buf_deinit(&text);
	th_buf_deinit(&list);
}

void th_live_hand_over(struct th_live *l, struct th_call *c)
{
	const struct th_member *m = th_session_member(&l->fold);
	const struct th_handoff *h;
	struct th_err err = { 0 };
	struct th_past past;

	if (!may_hand_over(l, c))
		return;
	h = &m->handoffs[c->handoff - 1];
	if (!h->filter.len && !h->nest) {
		write_handoff(l, c, TH_STR(""));
		return;
	}
	if (l->durable_seq < l->fold.seq) {
		th_live_hold_hand_over(l, c); /* what is said meanwhile is seen too */
		return;
	}
	if (past_handing(l, c, &past, &err))
		th_live_lose(l, &err);
	else if (h->filter.len)
		th_live_ask_filter(l, h->filter, l->fold.team->members[h->to].name, &past,
				   c->call_seq);
	else
		nest(l, c, &past);
	th_past_deinit(&past);
}

void th_live_handed(struct th_live *l, uint64_t call_seq, uint64_t message_seq, struct th_str items)
{
	struct th_call *c = NULL;
	struct th_buf marks;
	struct th_past past;
	struct th_err err = { 0 };

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
	if (past_handing(l, c, &past, &err))
		th_live_lose(l, &err);
	else if (marks_of(l, &past, items, &marks))
		write_handoff(l, c, th_buf_str(&marks));
	th_past_deinit(&past);
	th_buf_deinit(&marks);
}

/* The answer is sent back, with what is wrong. */
void th_live_correct(struct th_live *l)
{
	struct th_buf text = TH_BUF_INIT(4 * TH_KIB), data = TH_BUF_INIT(8 * TH_KIB);
	struct th_jw w = th_jw(&data);

	th_buf_printf(&text,
		      "Your answer does not fit the schema that was asked for: %.*s. Answer again, "
		      "with nothing but one JSON value that fits it.",
		      TH_FMT(th_utf8_cut(th_buf_str(&l->fold.reason), TH_ERR_MSG_MAX)));
	th_jw_object(&w);
	th_jw_kstr(&w, "role", TH_STR("user"));
	th_jw_kstr(&w, "content", th_buf_str(&text));
	th_jw_object_end(&w);
	th_live_write(l, TH_EV_MESSAGE, TH_SOURCE_ENVIRONMENT, l->fold.answer_seq, TH_STR(""),
		      th_buf_str(&data));
	th_buf_deinit(&text);
	th_buf_deinit(&data);
}
