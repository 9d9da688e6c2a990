/* SPDX-License-Identifier: Apache-2.0 */
#include "turns/condense.h"
#include "turns/history_make.h"

#include <stdlib.h>

#include "context/condenser.h"
#include "live/log.h"
#include "live/queue.h"
#include "live/side_request.h"
#include "transcript/plan.h"
#include "turns/log_ahead.h"
#include "turns/team.h"

/* What a model is asked for, or has given. */
struct th_summarizing {
	struct th_side_request *request; /* NULL: it is over */
	struct th_side_usage usage;
	const struct th_condenser *condenser;
	size_t agent;      /* whose history it is of */
	unsigned reasons;  /* why it is asked */
	uint64_t read_seq; /* the last event that the model has read */
	struct th_buf text;
	struct th_err failure; /* code 0: there is a text */
};

/* ---- when --------------------------------------------------------------------------------- */

/* What the next request has: as the provider counted the last, and an estimate of what came since.
 */
static int64_t tokens_now(const struct th_session *s)
{
	uint64_t since = s->answer_tokens ? s->bytes - s->bytes_then : s->bytes;

	return s->answer_tokens + (int64_t)(since / TH_SIDE_TOKEN_BYTES);
}

static bool is_providers(const struct th_agent_compact *c)
{
	return th_condenser_of(c) == &th_condenser_provider;
}

/* By default three quarters of what the model takes: the rest is for the summary and the answer.
 * Where another limit is given, this one is only there so that the model takes it at all.  0: none.
 */
static int64_t tokens_max(const struct th_live *l, const struct th_agent_compact *c)
{
	int64_t context = l->resolved->profile->context_tokens;

	/* The provider is asked first; this is for one that has no such thing. */
	if (is_providers(c))
		return c->tokens ? c->tokens / 4 * 5 : context / 10 * 9;
	if (c->tokens || !c->own.condenser.len || th_condenser_of(c) == &th_condenser_noop)
		return c->tokens;
	return c->items || c->bytes || !th_condenser_asks(c) ? context / 10 * 9 : context / 4 * 3;
}

static uint64_t fresh(const struct th_session *s)
{
	return s->items - TH_MIN(s->items, s->items_then);
}

static unsigned reasons(const struct th_live *l, const struct th_agent_compact *c)
{
	const struct th_session *s = &l->fold;
	uint64_t items = (uint64_t)c->items;
	int64_t tokens = tokens_max(l, c);
	bool is_fresh = th_condenser_is_fresh(s->items_then, fresh(s));
	unsigned found = 0;

	if (!c->own.condenser.len && !c->from.len)
		return 0;
	if (!items && !c->bytes && !c->tokens && !is_providers(c) &&
	    (c->from.len || !th_condenser_sizes(c, tokens > 0)))
		items = TH_COMPACT_ITEMS_DEFAULT;
	if (is_fresh &&
	    ((items && s->items > items) || (c->bytes && s->bytes > (uint64_t)c->bytes)))
		found |= TH_CONDENSE_ITEMS;
	/* There is room behind this limit, and not without end. */
	if (tokens && tokens_now(s) > (is_fresh ? tokens : tokens + tokens / 8))
		found |= TH_CONDENSE_TOKENS;
	if (s->condense_asked || (l->provider_compacted && is_providers(c)))
		found |= TH_CONDENSE_ASKED;
	return found;
}

/* Who asks for it where the agent file says nothing gets the simplest. */
static const struct th_agent_compact *compact_of(const struct th_live *l)
{
	static const struct th_agent_compact plain = {
		.own = { .condenser = TH_STR_INIT("conversation_window"), .keep_first = -1 }
	};

	return l->speaking->compact ?: l->fold.condense_asked ? &plain : NULL;
}

bool th_live_is_too_long(const struct th_live *l)
{
	const struct th_agent_compact *c = compact_of(l);
	const struct th_session *s = &l->fold;
	unsigned why;

	if (!c || s->compacted || l->not_compacted || s->totals.attempts > 0)
		return false;
	why = reasons(l, c);
	return c->from.len ? why != 0 : th_condenser_due(c, why, s->items, fresh(s));
}

static void put_decided(const struct th_session *s, bool approve, struct th_buf *out)
{
	size_t count = 0;

	for (size_t i = 0; i < s->sticky_count; i++) {
		if (s->sticky[i].approve != approve)
			continue;
		if (count++)
			th_buf_add_cstr(out, ", ");
		else
			th_buf_printf(out, "%s[A person %s calls of these tools for good: ",
				      out->len ? "\n\n" : "", approve ? "approved" : "refused");
		th_buf_add(out, s->sticky[i].tool);
	}
	if (count)
		th_buf_add_cstr(out, ".]");
}

/* What is said again with each note. */
static void put_state(const struct th_live *l, struct th_buf *out)
{
	for (size_t i = 0; i < l->session_config->tool_count; i++)
		if (th_str_is(l->session_config->tools[i].spec.name, "history"))
			th_buf_add_cstr(out, "[The tool history finds what was left out.]");
	th_restated_print(&l->fold.restated, out);
	put_decided(&l->fold, true, out);
	put_decided(&l->fold, false, out);
}

/* `state` holds what is said again. */
static struct th_condense input_of(const struct th_live *l, const struct th_transcript *t,
				   struct th_buf *state)
{
	static const struct th_agent_compact none = { .own.keep_first = -1 };
	const struct th_agent_compact *c = compact_of(l) ?: &none;
	int64_t context = l->resolved->profile->context_tokens;
	/* A fourth of what the model takes, at four bytes a token. */
	int64_t most =
	    context ? TH_MIN(context, (int64_t)TH_COMPACT_PINS_DEFAULT) : TH_COMPACT_PINS_DEFAULT;

	put_state(l, state);
	return (struct th_condense){ .options = c,
				     .state = th_buf_str(state),
				     .transcript = t,
				     .reasons = reasons(l, c),
				     .fresh = fresh(&l->fold),
				     .tokens = tokens_now(&l->fold),
				     .tokens_max = tokens_max(l, c),
				     .pins = (size_t)(c->pins ?: most) };
}

/* ---- the event ---------------------------------------------------------------------------- */

void th_live_write_condensed(struct th_live *l, struct th_ev_condensation *d)
{
	if (!d->last_seq) {
		d->first_seq = 1;
		d->last_seq = (int64_t)l->fold.seq;
	}
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
		  const struct th_condensed *made, struct th_ev_condensation *d)
{
	d->name = th_str_of(made->by->name);
	d->summary = made->summary;
	d->history = marks;
	d->items = (int64_t)made->items;
	d->left_out = (int64_t)made->left_out;
	d->bytes = (int64_t)bytes_of(t, made->items);
	d->first_seq = (int64_t)made->first_seq;
	d->last_seq = (int64_t)made->last_seq;
	th_live_write_condensed(l, d);
}

/* Without a model.  False: nothing was written, since there is nothing to leave out. */
static bool halve(struct th_live *l, const struct th_transcript *t, struct th_ev_condensation *d)
{
	struct th_buf marks TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_buf state TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_COMPACT_STATE_MAX);
	struct th_condense c = input_of(l, t, &state);
	struct th_condensed made;

	if (!th_condense_half(&c, &marks, &made))
		return false;
	write(l, t, th_buf_str(&marks), &made, d);
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

/* What the condenser makes of the answer. */
static bool understand(struct th_summarizing *m, struct th_err *err)
{
	struct th_buf found TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	enum th_code code;

	if (!m->condenser->read)
		return true;
	code = m->condenser->read(th_buf_str(&m->text), &found, err);
	if (code)
		return th_prefix(err, code, "the model's answer to %s", m->condenser->name) ==
		       TH_OK;
	th_buf_clear(&m->text);
	th_buf_add(&m->text, th_buf_str(&found));
	return true;
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
		return understand(m, err);
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

/* The request as it is, and one message more; or, where that has the items, without the history.
 * What the provider has kept is not continued: the summary is no part of that. */
static void ask(struct th_live *l, const struct th_condense *c, const struct th_condensed *made,
		struct th_str words)
{
	struct th_summarizing *m = th_alloc(sizeof(*m));
	struct th_buf content TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_COMPACT_LISTED_MAX);
	struct th_jw w = th_jw(&content);
	struct th_side_ask a = { .kind = TH_SIDE_CONDENSER,
				 .options = l->options,
				 .base_url = l->resolved->base_url,
				 .history = !made->own.max_event_length,
				 .output_max = l->fold.output_max,
				 .usage = &m->usage,
				 .read = read_summary,
				 .done = summarized,
				 .ctx = m };

	*m = (struct th_summarizing){ .agent = l->fold.agent,
				      .read_seq = l->fold.seq,
				      .condenser = made->ask,
				      .reasons = c->reasons };
	th_buf_init(&m->text, TH_ANSWER_MAX);
	a.options.previous = TH_STR("");
	a.options.conversation = false;
	a.options.choice = (struct th_tool_choice){ 0 };
	th_jw_str(&w, words);
	a.content = th_buf_str(&content);
	l->summarizing = m;
	if (th_buf_check(&content, "what a model is asked about the history", &m->failure))
		return;
	if (l->history_due && th_live_history_make(l, &m->failure))
		return;
	if (th_side_request(l, &a, &m->request, &m->failure))
		m->request = NULL;
}

/* What came of it, as the event.  The summary took money either way. */
static void take(struct th_live *l, const struct th_transcript *t)
{
	struct th_summarizing *m = l->summarizing;
	struct th_buf state TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_COMPACT_STATE_MAX);
	struct th_condense input = input_of(l, t, &state);
	struct th_buf marks TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_buf usage TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_ev_condensation d = { 0 };
	struct th_condensed made;
	struct th_jw w = th_jw(&usage);

	input.reasons |= m->reasons;
	input.summary = th_buf_str(&m->text);
	input.read_seq = m->read_seq;
	if (m->usage.requests) {
		th_jw_object(&w);
		th_side_print(&m->usage, &w);
		th_jw_object_end(&w);
		d.usage = th_buf_str(&usage);
	}
	d.fallback = th_str_of(m->failure.code ? m->failure.msg : "");
	if (!m->failure.code && th_condense(&input, &marks, &made))
		write(l, t, th_buf_str(&marks), &made, &d);
	else if (!halve(l, t, &d))
		l->not_compacted = true;
	th_live_condense_free(l);
}

/* ---- before a request --------------------------------------------------------------------- */

/* The task's own words always stay: they must leave room for the rest.  False: the run has failed.
 */
static bool task_fits(struct th_live *l, const struct th_transcript *t)
{
	int64_t context = l->resolved->profile->context_tokens;
	int64_t size = (int64_t)(th_condenser_pinned_size(t) / TH_SIDE_TOKEN_BYTES);
	struct th_buf why = TH_BUF_INIT(TH_KIB);

	if (!context || size <= context / 100 * TH_COMPACT_TASK_PERCENT)
		return true;
	th_buf_printf(
	    &why,
	    "the messages that began the session and its task have about %lld tokens, and "
	    "may have %d %% of the %lld that the model takes",
	    (long long)size, TH_COMPACT_TASK_PERCENT, (long long)context);
	th_live_fail(l, "context_length", th_buf_str(&why));
	th_buf_deinit(&why);
	return false;
}

/* The provider does not take it. */
static void shorten(struct th_live *l, const struct th_transcript *t)
{
	struct th_ev_condensation d = { 0 };

	if (task_fits(l, t) && !halve(l, t, &d))
		th_live_fail(l, "context_length",
			     TH_STR("the history is longer than the model takes, and nothing more "
				    "of it can be left out"));
}

/* The request for a summary on this history would not be taken. */
static bool past_the_model(const struct th_live *l, const struct th_condensed *made)
{
	int64_t context = l->resolved->profile->context_tokens;

	return context && !made->own.max_event_length && tokens_now(&l->fold) > context;
}

static void condense(struct th_live *l, const struct th_transcript *t)
{
	struct th_buf state TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_COMPACT_STATE_MAX);
	struct th_condense input = input_of(l, t, &state);
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_ev_condensation d = { 0 };
	struct th_condensed made;

	l->provider_compacted = false;
	if ((input.reasons & TH_CONDENSE_TOKENS) && !task_fits(l, t))
		return;
	/* No model is asked for what would leave nothing out. */
	if (!th_condense(&input, &out, &made))
		l->not_compacted = true; /* for this request */
	else if (made.ask && past_the_model(l, &made)) {
		d.fallback = TH_STR("the history was longer than the model takes");
		if (!halve(l, t, &d))
			l->not_compacted = true;
	} else if (made.ask)
		ask(l, &input, &made, th_buf_str(&out));
	else
		write(l, t, th_buf_str(&out), &made, &d);
}

bool th_live_condense(struct th_live *l)
{
	const struct th_agent_compact *c = compact_of(l);
	struct th_transcript transcript;
	struct th_err err = { 0 };

	if (l->summarizing && l->summarizing->agent != l->fold.agent)
		th_live_condense_free(l); /* another agent took over meanwhile */
	if (l->summarizing && l->summarizing->request)
		return true;
	if (!l->fold.too_long && !l->summarizing &&
	    (!c || !c->own.condenser.len || !th_live_is_too_long(l)))
		return false;
	if (l->durable_seq < l->fold.seq)
		return th_live_defer_request(l); /* it reads the log */
	if (!th_live_items_here(l, l->fold.seq, TH_DO_REQUEST, 0))
		return true;
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
