/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/trace.h"

#include <stdlib.h>

#include "base/text.h"
#include "core/session.h"

#define X(id, name) name,
static const char *const span_names[] = { TH_SPANS(X) };
#undef X

const char *th_span_name(enum th_span_kind k)
{
	assert(k < TH_SPAN_COUNT);
	return span_names[k];
}

void th_trace_init(struct th_trace *t)
{
	*t = (struct th_trace){ .task = TH_SPAN_NONE,
				.agent = TH_SPAN_NONE,
				.turn = TH_SPAN_NONE,
				.model = TH_SPAN_NONE };
	/* A span has at most a name, a call's id, a status, a message and a child. */
	_Static_assert((size_t)TH_TRACE_SPANS_MAX * 5 * (TH_TRACE_TEXT_MAX + 1) <=
			   TH_TRACE_MEMORY_MAX,
		       "nothing is left out but spans");
	th_arena_init(&t->memory, TH_TRACE_MEMORY_MAX);
}

void th_trace_deinit(struct th_trace *t)
{
	free(t->spans);
	th_arena_deinit(&t->memory);
}

/* ---- spans -------------------------------------------------------------------------------- */

static struct th_str keep(struct th_trace *t, struct th_str s)
{
	struct th_str ret = th_arena_str(&t->memory, th_utf8_cut(s, TH_TRACE_TEXT_MAX));

	return ret.ptr ? ret : TH_STR("");
}

static size_t begin(struct th_trace *t, enum th_span_kind kind, size_t parent,
		    const struct th_event *ev, struct th_str name)
{
	struct th_span *s;
	size_t index = t->count;

	if (index >= TH_TRACE_SPANS_MAX) {
		t->full = true;
		return TH_SPAN_NONE;
	}
	if (index == t->cap) {
		t->cap = TH_MAX(2 * t->cap, (size_t)32);
		t->spans = th_realloc(t->spans, t->cap * sizeof(*t->spans));
	}
	s = &t->spans[t->count++];
	*s = (struct th_span){
		.kind = kind,
		.parent = parent,
		.first_child = TH_SPAN_NONE,
		.last_child = TH_SPAN_NONE,
		.next = TH_SPAN_NONE,
		.seq = ev->seq,
		.start_ms = ev->ts_ms,
		.name = keep(t, name),
	};
	if (parent == TH_SPAN_NONE)
		return index;
	if (t->spans[parent].last_child == TH_SPAN_NONE)
		t->spans[parent].first_child = index;
	else
		t->spans[t->spans[parent].last_child].next = index;
	t->spans[parent].last_child = index;
	return index;
}

/* The clock may have been set back between two events. */
static struct th_span *finish(struct th_trace *t, size_t *index, const struct th_event *ev)
{
	struct th_span *s = *index == TH_SPAN_NONE ? NULL : &t->spans[*index];

	*index = TH_SPAN_NONE;
	if (s && !s->end_ms)
		s->end_ms = TH_MAX(ev->ts_ms, s->start_ms);
	return s;
}

/* Calls that nobody will hear of any more end with what they are in. */
static void finish_children(struct th_trace *t, size_t index, const struct th_event *ev)
{
	if (index == TH_SPAN_NONE)
		return;
	for (size_t i = t->spans[index].first_child; i != TH_SPAN_NONE; i = t->spans[i].next) {
		size_t child = i;

		if (!t->spans[i].end_ms) {
			finish_children(t, i, ev);
			finish(t, &child, ev);
		}
	}
}

static void finish_turn(struct th_trace *t, const struct th_event *ev)
{
	finish_children(t, t->turn, ev);
	t->model = TH_SPAN_NONE;
	finish(t, &t->turn, ev);
}

static void finish_agent(struct th_trace *t, const struct th_event *ev)
{
	finish_turn(t, ev);
	finish(t, &t->agent, ev);
}

static void finish_task(struct th_trace *t, const struct th_event *ev, struct th_str status,
			bool failed, struct th_str message)
{
	struct th_span *task;

	finish_agent(t, ev);
	task = finish(t, &t->task, ev);
	if (!task)
		return;
	task->status = keep(t, status);
	task->failed = failed;
	task->message = keep(t, message);
}

/* What was stopped and goes on is the task that it was. */
static void begin_task(struct th_trace *t, const struct th_event *ev, uint64_t task_seq)
{
	t->task = begin(t, TH_SPAN_TASK, TH_SPAN_NONE, ev, TH_STR(""));
	t->task_seq = task_seq;
	if (t->task != TH_SPAN_NONE)
		t->spans[t->task].number = (int64_t)task_seq;
}

static size_t innermost(const struct th_trace *t)
{
	return t->turn != TH_SPAN_NONE ? t->turn : t->agent != TH_SPAN_NONE ? t->agent : t->task;
}

/* The open call of that id; the last one, should a provider use an id twice. */
static size_t call_find(const struct th_trace *t, struct th_str call_id)
{
	size_t found = TH_SPAN_NONE;

	if (t->turn == TH_SPAN_NONE || !call_id.len)
		return found;
	for (size_t i = t->spans[t->turn].first_child; i != TH_SPAN_NONE; i = t->spans[i].next)
		if (t->spans[i].kind == TH_SPAN_TOOL && !t->spans[i].end_ms &&
		    th_str_eq(t->spans[i].call_id, th_utf8_cut(call_id, TH_TRACE_TEXT_MAX)))
			found = i;
	return found;
}

/* ---- events ------------------------------------------------------------------------------- */

static void on_requested(struct th_trace *t, const struct th_event *ev, const struct th_json *d)
{
	struct th_str agent = th_json_get_str(d, "agent");
	int64_t attempt = th_json_get_int(d, "attempt", 1);

	if (agent.len && !th_str_eq(agent, t->agent_name))
		t->agent_name = keep(t, agent);
	if (t->task == TH_SPAN_NONE)
		begin_task(t, ev, t->task_seq ?: ev->seq);
	if (t->agent != TH_SPAN_NONE && !th_str_eq(t->spans[t->agent].name, t->agent_name))
		finish_agent(t, ev);
	if (attempt <= 1)
		finish_turn(t, ev);
	if (t->task != TH_SPAN_NONE && t->agent == TH_SPAN_NONE)
		t->agent = begin(t, TH_SPAN_AGENT, t->task, ev, t->agent_name);
	if (t->agent != TH_SPAN_NONE && t->turn == TH_SPAN_NONE) {
		t->turn = begin(t, TH_SPAN_TURN, t->agent, ev, TH_STR(""));
		if (t->turn != TH_SPAN_NONE)
			t->spans[t->turn].number = th_json_get_int(d, "turn", 0);
	}
	finish(t, &t->model, ev); /* one that was never answered: the process died */
	if (t->turn != TH_SPAN_NONE)
		t->model = begin(t, TH_SPAN_MODEL, t->turn, ev, th_json_get_str(d, "model"));
	if (t->model != TH_SPAN_NONE)
		t->spans[t->model].number = attempt;
}

static void take_cost(struct th_span *s, const struct th_json *d)
{
	const struct th_json *usage = th_json_get(d, "usage");

	s->tokens_in = TH_MAX(th_json_get_int(usage, "input", 0), 0);
	s->tokens_cached = TH_MAX(th_json_get_int(usage, "cached", 0), 0);
	s->tokens_out = TH_MAX(th_json_get_int(usage, "output", 0), 0);
	s->tokens_reasoning = TH_MAX(th_json_get_int(usage, "reasoning", 0), 0);
	s->cost_nano = TH_MAX(th_json_get_int(d, "cost_nano", 0), 0);
}

static void on_model_end(struct th_trace *t, const struct th_event *ev, const struct th_json *d)
{
	const struct th_json *usage = th_json_get(d, "usage");
	struct th_span *s = finish(t, &t->model, ev);

	if (!s)
		return;
	take_cost(s, d);
	s->cost_known = th_json_get(d, "cost_nano") != NULL;
	if (ev->kind == TH_EV_MODEL_ANSWERED) {
		s->status = keep(t, th_json_get_str(d, "status"));
		return;
	}
	s->failed = true;
	s->status = keep(t, th_json_get_str(d, "class"));
	s->message = keep(t, th_json_get_str(d, "message"));
	s->cost_known |= !usage;
}

/* What side requests took is its span's. */
static void take_side(struct th_trace *t, size_t index, enum th_side_kind kind,
		      const struct th_json *d)
{
	struct th_span *s = &t->spans[index];

	s->side_kind = kind;
	s->side = th_side_read(d);
	s->side_model = keep(t, th_json_get_str(d, "model"));
	s->tokens_in = s->side.tokens_in;
	s->tokens_out = s->side.tokens_out;
	s->cost_nano = s->side.cost_nano;
}

static void on_call(struct th_trace *t, const struct th_event *ev, const struct th_json *d)
{
	const struct th_json *grounding = th_json_get(d, "grounding");
	size_t index = begin(t, TH_SPAN_TOOL, innermost(t), ev, th_json_get_str(d, "tool"));

	if (index == TH_SPAN_NONE)
		return;
	t->spans[index].call_id = keep(t, th_json_get_str(d, "call_id"));
	t->spans[index].class = th_class_of(th_json_get_str(d, "class"));
	t->spans[index].cost_known = true;
	take_side(t, index, TH_SIDE_GROUNDER, grounding);
}

static void on_outcome(struct th_trace *t, const struct th_event *ev, const struct th_json *d)
{
	struct th_str status = th_json_get_str(d, "status");
	size_t index = call_find(t, th_json_get_str(d, "call_id"));
	struct th_span *s;

	finish_children(t, index, ev);
	s = finish(t, &index, ev);
	if (!s)
		return;
	s->status = keep(t, status);
	s->failed = !th_str_is(status, "done");
}

/* A task in the background had its result when it began: its span ends with it all the same. */
static size_t task_find(const struct th_trace *t, struct th_str child)
{
	for (size_t i = t->count; child.len && i-- > 0;)
		if (t->spans[i].kind == TH_SPAN_TOOL && t->spans[i].in_background &&
		    th_str_eq(t->spans[i].child, child))
			return i;
	return TH_SPAN_NONE;
}

static void on_delegation(struct th_trace *t, const struct th_event *ev, const struct th_json *d)
{
	bool over = ev->kind == TH_EV_DELEGATION_FINISHED;
	size_t index = over ? task_find(t, th_json_get_str(d, "child")) : TH_SPAN_NONE;
	struct th_span *s;

	if (index == TH_SPAN_NONE)
		index = call_find(t, th_json_get_str(d, "call_id"));
	s = index == TH_SPAN_NONE ? NULL : &t->spans[index];
	if (!s)
		return;
	if (!over) {
		s->child = keep(t, th_json_get_str(d, "child"));
		s->in_background = th_json_bool(th_json_get(d, "background"), false);
		return;
	}
	if (s->in_background)
		s->end_ms = TH_MAX(ev->ts_ms, s->start_ms);
	s->in_background = false; /* another task may go on in that session */
	take_cost(s, d);
	s->cost_known = !th_json_bool(th_json_get(d, "cost_unknown"), false);
}

static void on_approval(struct th_trace *t, const struct th_event *ev, const struct th_json *d)
{
	size_t call = call_find(t, th_json_get_str(d, "call_id")), index;

	if (call == TH_SPAN_NONE)
		return;
	if (ev->kind == TH_EV_APPROVAL_REQUESTED) {
		begin(t, TH_SPAN_APPROVAL, call, ev, TH_STR(""));
		return;
	}
	index = t->spans[call].last_child;
	if (index != TH_SPAN_NONE && t->spans[index].kind == TH_SPAN_APPROVAL)
		t->spans[index].status = th_json_bool(th_json_get(d, "approve"), false)
					     ? TH_STR("approved")
					     : TH_STR("rejected");
	finish_children(t, call, ev);
}

static void on_guardrail(struct th_trace *t, const struct th_event *ev, const struct th_json *d)
{
	size_t call = call_find(t, th_json_get_str(d, "call_id"));
	size_t index = begin(t, TH_SPAN_GUARDRAIL, call != TH_SPAN_NONE ? call : innermost(t), ev,
			     th_json_get_str(d, "name"));
	struct th_span *s = index == TH_SPAN_NONE ? NULL : &t->spans[index];

	if (!s)
		return;
	s->failed = th_json_bool(th_json_get(d, "tripped"), false);
	s->status = s->failed                                               ? TH_STR("tripped")
		    : th_json_get_str(d, "message").len                     ? TH_STR("replaced")
		    : th_json_get_str(th_json_get(d, "info"), "failed").len ? TH_STR("failed")
									    : TH_STR("passed");
	finish(t, &index, ev);
}

static void on_handoff(struct th_trace *t, const struct th_event *ev, const struct th_json *d)
{
	size_t call = call_find(t, th_json_get_str(d, "call_id"));
	size_t index = begin(t, TH_SPAN_HANDOFF, call != TH_SPAN_NONE ? call : innermost(t), ev,
			     th_json_get_str(d, "to"));

	finish(t, &index, ev);
	t->agent_name = keep(t, th_json_get_str(d, "to"));
}

/* With what the model's summary took. */
static void on_condensation(struct th_trace *t, const struct th_event *ev, const struct th_json *d)
{
	const struct th_json *usage = th_json_get(d, "usage");
	size_t index = begin(t, TH_SPAN_CONDENSATION, innermost(t), ev, th_json_get_str(d, "name"));

	if (index == TH_SPAN_NONE)
		return;
	t->spans[index].cost_known = true;
	if (usage)
		take_side(t, index, TH_SIDE_CONDENSER, usage);
	finish(t, &index, ev);
}

static void on_state(struct th_trace *t, const struct th_event *ev, const struct th_json *d)
{
	struct th_str to = th_json_get_str(d, "to");

	/* From the others it goes on. */
	if (th_str_is(to, th_state_name(TH_STATE_STOPPED)) ||
	    th_str_is(to, th_state_name(TH_STATE_STUCK)) ||
	    th_str_is(to, th_state_name(TH_STATE_LIMIT)))
		finish_task(t, ev, to, true, th_json_get_str(d, "reason"));
}

static void on_created(struct th_trace *t, const struct th_event *ev, const struct th_json *d)
{
	(void)ev;
	t->agent_name = keep(t, th_json_get_str(th_json_get(d, "agent"), "name"));
}

static void on_message(struct th_trace *t, const struct th_event *ev, const struct th_json *d)
{
	bool begins = ev->kind == TH_EV_MESSAGE || th_json_bool(th_json_get(d, "begins"), false);

	if (begins && t->task == TH_SPAN_NONE)
		begin_task(t, ev, ev->seq);
}

static void on_error(struct th_trace *t, const struct th_event *ev, const struct th_json *d)
{
	finish_task(t, ev, TH_STR("failed"), true, th_json_get_str(d, "message"));
}

static void on_final(struct th_trace *t, const struct th_event *ev, const struct th_json *d)
{
	(void)d;
	finish_task(t, ev, TH_STR("final"), false, TH_STR(""));
}

typedef void handler(struct th_trace *t, const struct th_event *ev, const struct th_json *d);

/* The others take no time. */
static handler *const handlers[TH_EVENT_COUNT] = {
	[TH_EV_SESSION_CREATED] = on_created,
	[TH_EV_MESSAGE] = on_message,
	[TH_EV_ITEMS_ADDED] = on_message,
	[TH_EV_MODEL_REQUESTED] = on_requested,
	[TH_EV_MODEL_ANSWERED] = on_model_end,
	[TH_EV_MODEL_FAILED] = on_model_end,
	[TH_EV_CALL] = on_call,
	[TH_EV_OUTCOME] = on_outcome,
	[TH_EV_DELEGATION_STARTED] = on_delegation,
	[TH_EV_DELEGATION_FINISHED] = on_delegation,
	[TH_EV_APPROVAL_REQUESTED] = on_approval,
	[TH_EV_APPROVAL_DECIDED] = on_approval,
	[TH_EV_GUARDRAIL] = on_guardrail,
	[TH_EV_HANDOFF] = on_handoff,
	[TH_EV_CONDENSATION] = on_condensation,
	[TH_EV_STATE_CHANGED] = on_state,
	[TH_EV_ERROR] = on_error,
	[TH_EV_FINAL] = on_final,
};

void th_trace_event(struct th_trace *t, const struct th_event *ev)
{
	struct th_json_doc *doc = NULL;

	assert(ev->kind < TH_EVENT_COUNT);
	if (!handlers[ev->kind] || th_json_parse(ev->data, &doc, NULL))
		return;
	handlers[ev->kind](t, ev, th_json_root(doc));
	th_json_free(doc);
}

/* ---- sums --------------------------------------------------------------------------------- */

static int64_t plus(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static void add_span(struct th_trace_sum *sum, const struct th_span *s)
{
	sum->requests += s->kind == TH_SPAN_MODEL;
	sum->calls += s->kind == TH_SPAN_TOOL;
	sum->tokens_in = plus(sum->tokens_in, s->tokens_in);
	sum->tokens_cached = plus(sum->tokens_cached, s->tokens_cached);
	sum->tokens_out = plus(sum->tokens_out, s->tokens_out);
	sum->tokens_reasoning = plus(sum->tokens_reasoning, s->tokens_reasoning);
	sum->cost_nano = plus(sum->cost_nano, s->cost_nano);
	sum->cost_unknown |=
	    (s->kind == TH_SPAN_MODEL || s->kind == TH_SPAN_TOOL) && !s->cost_known;
}

/* Five deep at most: a span is inside what is above it in trace.h. */
static void add_tree(const struct th_trace *t, size_t span, struct th_trace_sum *sum)
{
	add_span(sum, &t->spans[span]);
	for (size_t i = t->spans[span].first_child; i != TH_SPAN_NONE; i = t->spans[i].next)
		add_tree(t, i, sum);
}

struct th_trace_sum th_trace_sum(const struct th_trace *t, size_t span)
{
	struct th_trace_sum sum = { 0 };

	if (span < t->count)
		add_tree(t, span, &sum);
	return sum;
}
