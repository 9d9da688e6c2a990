/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/condense.h"
#include "driver/history_make.h"

#include <stdlib.h>

#include "core/condenser.h"
#include "core/plan.h"
#include "driver/log.h"
#include "driver/queue.h"
#include "driver/side_request.h"
#include "driver/team.h"

/* A summary that a model is asked for, or has given. */
struct th_summarizing {
	struct th_side_request *request; /* NULL: it is over */
	struct th_side_usage usage;
	size_t agent;      /* whose history it is of */
	uint64_t read_seq; /* the last event that the model has read */
	struct th_buf text;
	struct th_err failure; /* code 0: there is a text */
};

/* ---- when --------------------------------------------------------------------------------- */

/* By default three quarters of what the model takes; the rest is for the summary and the answer. */
static int64_t tokens_max(const struct th_live *l, const struct th_agent_compact *c)
{
	bool asks = c->condenser.len && th_condenser_of(c)->prompt;
	int64_t context = l->resolved->profile->context_tokens;

	if (c->tokens || !asks || c->items || c->bytes)
		return c->tokens;
	return context / 4 * 3;
}

bool th_live_is_too_long(const struct th_live *l)
{
	const struct th_agent_compact *c = l->speaking->compact;
	const struct th_session *s = &l->fold;
	uint64_t items;
	int64_t tokens;

	if (!c || s->compacted || l->not_compacted || s->totals.attempts > 0)
		return false;
	items = (uint64_t)c->items;
	tokens = tokens_max(l, c);
	if (!c->items && !c->bytes && !tokens)
		items = TH_COMPACT_ITEMS_DEFAULT;
	return (items && s->items > items) || (c->bytes && s->bytes > (uint64_t)c->bytes) ||
	       (tokens && s->answer_tokens > tokens);
}

/* ---- the event ---------------------------------------------------------------------------- */

void th_live_write_condensed(struct th_live *l, struct th_ev_condensation *d)
{
	d->first_seq = 1;
	d->last_seq = (int64_t)l->fold.seq;
	d->agent = th_session_member(&l->fold)->name;
	th_live_write_event(l, TH_EV_CONDENSATION, TH_SOURCE_ENVIRONMENT, l->fold.seq, TH_STR(""),
			    d);
}

/* About what the events of the newest `items` have. */
static size_t bytes_of(const struct th_transcript *t, size_t items)
{
	size_t bytes = 0;

	for (size_t i = t->count - TH_MIN(items, t->count); i < t->count; i++)
		bytes += th_condenser_size(&t->list[i]);
	return bytes;
}

static void write(struct th_live *l, const struct th_transcript *t, struct th_str marks,
		  size_t items, struct th_ev_condensation *d)
{
	d->history = marks;
	d->items = (int64_t)items;
	d->bytes = (int64_t)bytes_of(t, items);
	th_live_write_condensed(l, d);
}

/* Without a model.  False: nothing was written, since there is nothing to leave out. */
static bool halve(struct th_live *l, const struct th_transcript *t, struct th_ev_condensation *d)
{
	struct th_buf marks TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	size_t items;

	if (!th_condense_half(t, &marks, &items))
		return false;
	d->name = th_str_of(th_condenser_recent.name);
	write(l, t, th_buf_str(&marks), items, d);
	return true;
}

/* ---- a model's summary -------------------------------------------------------------------- */

void th_live_condense_free(struct th_live *l)
{
	struct th_summarizing *m = l->summarizing;

	if (!m)
		return;
	l->summarizing = NULL;
	th_side_cancel(l, m->request);
	th_buf_deinit(&m->text);
	free(m);
}

static bool read_summary(struct th_live *l, void *ctx, struct th_str items, struct th_err *err)
{
	struct th_summarizing *m = ctx;
	struct th_arena memory TH_CLEANUP(th_arena_deinit) = {};
	struct th_next next;

	(void)l;
	th_arena_init(&memory, TH_TURN_MEMORY_MAX);
	th_buf_clear(&m->text);
	if (th_plan_answer(items, &memory, &m->text, &next, err))
		return false;
	if (next.kind == TH_NEXT_FINAL && !next.refusal && m->text.len)
		return true;
	return th_fail(err, TH_EPROTO, "%s",
		       next.refusal ? "the model refused to summarize"
				    : "the model gave no summary") == TH_OK;
}

static void summarized(struct th_live *l, void *ctx, const struct th_err *err)
{
	struct th_summarizing *m = ctx;

	m->request = NULL;
	if (err)
		m->failure = *err;
	/* Paused or stopped meanwhile: the next request finds it. */
	if (l->fold.state == TH_STATE_RUNNING && l->fold.phase == TH_TURN_DUE)
		th_live_request_now(l);
}

/* The request as it is, and one message more.  What the provider has kept is not continued: the
 * summary is no part of that. */
static void ask(struct th_live *l, const struct th_condenser *condenser)
{
	struct th_summarizing *m = th_alloc(sizeof(*m));
	struct th_buf content TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(16 * TH_KIB);
	struct th_jw w = th_jw(&content);
	struct th_side_ask a = { .kind = TH_SIDE_CONDENSER,
				 .options = l->options,
				 .base_url = l->resolved->base_url,
				 .history = true,
				 .output_max = l->fold.output_max,
				 .usage = &m->usage,
				 .read = read_summary,
				 .done = summarized,
				 .ctx = m };

	*m = (struct th_summarizing){ .agent = l->fold.agent, .read_seq = l->fold.seq };
	th_buf_init(&m->text, TH_ANSWER_MAX);
	a.options.previous = TH_STR("");
	a.options.conversation = false;
	a.options.choice = (struct th_tool_choice){ 0 };
	th_jw_str(&w, th_str_of(condenser->prompt));
	a.content = th_buf_str(&content);
	l->summarizing = m;
	if (l->history_due && th_live_history_make(l, &m->failure))
		return;
	if (th_side_request(l, &a, &m->request, &m->failure))
		m->request = NULL;
}

/* What came of it, as the event.  The summary took money either way. */
static void take(struct th_live *l, const struct th_transcript *t)
{
	struct th_summarizing *m = l->summarizing;
	const struct th_agent_compact *c = l->speaking->compact;
	const struct th_condenser *condenser = th_condenser_of(c);
	struct th_condense input = { .options = c,
				     .transcript = t,
				     .summary = th_buf_str(&m->text),
				     .read_seq = m->read_seq };
	struct th_buf marks TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_buf usage TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_ev_condensation d = { .name = th_str_of(condenser->name) };
	struct th_jw w = th_jw(&usage);
	size_t items;

	if (m->usage.requests) {
		th_jw_object(&w);
		th_side_print(&m->usage, &w);
		th_jw_object_end(&w);
		d.usage = th_buf_str(&usage);
	}
	d.fallback = th_str_of(m->failure.code ? m->failure.msg : "");
	d.summary = m->failure.code ? TH_STR("") : input.summary;
	if (!m->failure.code && th_condense(condenser, &input, &marks, &items))
		write(l, t, th_buf_str(&marks), items, &d);
	else if (!halve(l, t, &d))
		l->not_compacted = true;
	th_live_condense_free(l);
}

/* ---- before a request --------------------------------------------------------------------- */

/* The provider does not take it. */
static void shorten(struct th_live *l, const struct th_transcript *t)
{
	struct th_ev_condensation d = { 0 };

	if (!halve(l, t, &d))
		th_live_fail(l, "context_length",
			     TH_STR("the history is longer than the model takes, and nothing more "
				    "of it can be left out"));
}

static void condense(struct th_live *l, const struct th_transcript *t)
{
	const struct th_agent_compact *c = l->speaking->compact;
	const struct th_condenser *condenser = th_condenser_of(c);
	struct th_condense input = { .options = c, .transcript = t, .read_seq = l->fold.seq };
	struct th_buf marks TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_ev_condensation d = { .name = th_str_of(condenser->name) };
	size_t items;

	/* No model is asked for what would leave nothing out. */
	if (!th_condense(condenser, &input, &marks, &items))
		l->not_compacted = true; /* for this request */
	else if (condenser->prompt)
		ask(l, condenser);
	else
		write(l, t, th_buf_str(&marks), items, &d);
}

bool th_live_condense(struct th_live *l)
{
	const struct th_agent_compact *c = l->speaking->compact;
	struct th_transcript transcript;
	struct th_err err = { 0 };

	if (l->summarizing && l->summarizing->agent != l->fold.agent)
		th_live_condense_free(l); /* another agent took over meanwhile */
	if (l->summarizing && l->summarizing->request)
		return true;
	if (!l->fold.too_long && !l->summarizing &&
	    (!c || !c->condenser.len || !th_live_is_too_long(l)))
		return false;
	if (l->durable_seq < l->fold.seq)
		return th_live_defer_request(l); /* it reads the log */
	if (th_live_transcript(l, l->fold.seq, NULL, &transcript, &err))
		th_live_lose(l, &err);
	else if (l->fold.too_long)
		shorten(l, &transcript);
	else if (l->summarizing)
		take(l, &transcript);
	else
		condense(l, &transcript);
	th_transcript_deinit(&transcript);
	/* One that failed at once is over now: its history is halved in the next round. */
	if (l->summarizing && !l->summarizing->request)
		return th_live_condense(l);
	return l->lost || l->fold.state != TH_STATE_RUNNING || l->summarizing;
}
