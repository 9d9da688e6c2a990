/* SPDX-License-Identifier: Apache-2.0 */
#include "core/session.h"

#include "base/text.h"

#include "core/plan.h"

struct name_row {
	const char *name;
	int exit_code;
};

#define X(id, name, exit_code, doc) { name, exit_code },
static const struct name_row states[] = { TH_STATES(X) };
#undef X
#define X(id, name) name,
static const char *const effect_names[] = { TH_EFFECTS(X) };
static const char *const call_phase_names[] = { TH_CALL_PHASES(X) };
#undef X
static const char *const policy_names[] = { "run", "ask", "refuse", NULL };

#define S(id) (1u << TH_STATE_##id)
/* A state that rests may be left for running by a message or an operator. */
static const unsigned transitions[TH_STATE_COUNT] = {
	[TH_STATE_LOADING] = S(IDLE) | S(RUNNING),
	[TH_STATE_IDLE] = S(RUNNING) | S(PAUSED) | S(STOPPED),
	[TH_STATE_RUNNING] =
	    S(WAITING) | S(PAUSED) | S(STOPPED) | S(FINISHED) | S(FAILED) | S(STUCK) | S(LIMIT),
	[TH_STATE_WAITING] = S(RUNNING) | S(PAUSED) | S(STOPPED) | S(FAILED),
	[TH_STATE_PAUSED] = S(RUNNING) | S(STOPPED),
	[TH_STATE_STOPPED] = S(RUNNING),
	[TH_STATE_FINISHED] = S(RUNNING),
	[TH_STATE_FAILED] = S(RUNNING) | S(STOPPED),
	[TH_STATE_STUCK] = S(RUNNING) | S(STOPPED),
	[TH_STATE_LIMIT] = S(RUNNING) | S(STOPPED),
};
#undef S

const char *th_state_name(enum th_state s)
{
	assert(s < TH_STATE_COUNT);
	return states[s].name;
}

int th_state_find(struct th_str name)
{
	for (int i = 0; i < TH_STATE_COUNT; i++)
		if (th_str_is(name, states[i].name))
			return i;
	return -1;
}

int th_state_exit(enum th_state s)
{
	assert(s < TH_STATE_COUNT);
	return states[s].exit_code;
}

bool th_state_allows(enum th_state from, enum th_state to)
{
	assert(from < TH_STATE_COUNT && to < TH_STATE_COUNT);
	return transitions[from] & (1u << to);
}

const char *th_effect_name(enum th_effect_kind k)
{
	assert(k < TH_EFFECT_COUNT);
	return effect_names[k];
}

const char *th_policy_name(enum th_policy p)
{
	assert(p < TH_POLICY_COUNT);
	return policy_names[p];
}

void th_session_init(struct th_session *s)
{
	*s = (struct th_session){
		.turns_max = TH_TURNS_DEFAULT,
		.attempts_max = TH_ATTEMPTS_DEFAULT,
	};
	th_arena_init(&s->turn, TH_TURN_MEMORY_MAX);
	th_arena_init(&s->kept, TH_SESSION_KEPT_MAX);
	th_buf_init(&s->final, TH_ANSWER_MAX);
	th_buf_init(&s->reason, TH_SESSION_KEPT_MAX);
}

void th_session_deinit(struct th_session *s)
{
	th_arena_deinit(&s->turn);
	th_arena_deinit(&s->kept);
	th_buf_deinit(&s->final);
	th_buf_deinit(&s->reason);
	*s = (struct th_session){ 0 };
}

void th_session_limits(struct th_session *s, const struct th_agent_limits *l)
{
	s->turns_max = l && l->turns ? l->turns : TH_TURNS_DEFAULT;
	s->attempts_max = l && l->model_attempts ? l->model_attempts : TH_ATTEMPTS_DEFAULT;
	s->tokens_max = l ? l->tokens : 0;
	s->seconds_max = l ? l->seconds : 0;
	s->cost_nano_max = l ? (int64_t)(l->cost_usd * 1e9) : 0;
}

/* One step's inputs and outputs, so that handlers take one argument. */
struct step {
	struct th_session *s;
	const struct th_event *ev;
	const struct th_json *data;
	struct th_arena *scratch;
	struct th_effects *out;
	struct th_err *err;
};

static void emit(struct th_effects *out, struct th_effect effect)
{
	assert(out->count < TH_EFFECTS_MAX);
	out->list[out->count++] = effect;
}

static void set_reason(struct th_session *s, struct th_str text)
{
	th_buf_clear(&s->reason);
	th_buf_add(&s->reason, th_utf8_cut(text, TH_ERR_MSG_MAX * 2));
}

static enum th_code set_state(struct step *st, enum th_state to)
{
	struct th_session *s = st->s;

	if (s->state == to)
		return TH_OK;
	if (!th_state_allows(s->state, to))
		return th_fail(st->err, TH_EPROTO, "a session that is %s cannot become %s",
			       th_state_name(s->state), th_state_name(to));
	s->state = to;
	s->notified = false;
	return TH_OK;
}

static enum th_code parse(struct step *st, void *out)
{
	return th_table_parse(th_event_table(st->ev->kind), st->data, st->scratch, out, st->err);
}

/* ---- what is due ------------------------------------------------------------------------- */

static const char *limit_reached(const struct th_session *s)
{
	const struct th_totals *t = &s->totals;

	if (t->task_turns >= s->turns_max)
		return "the limit of model turns is reached";
	if (s->tokens_max && t->tokens_in + t->tokens_out >= s->tokens_max)
		return "the limit of tokens is reached";
	if (s->cost_nano_max && t->cost_nano >= s->cost_nano_max)
		return "the limit of cost is reached";
	if (s->seconds_max && s->updated_ms - s->task_ms >= s->seconds_max * 1000)
		return "the limit of running time is reached";
	if (s->items >= TH_SESSION_ITEMS_MAX)
		return "the session's history is full";
	return NULL;
}

static bool settled(const struct th_session *s)
{
	for (size_t i = 0; i < s->call_count; i++)
		if (s->calls[i].phase != TH_CALL_SETTLED)
			return false;
	return true;
}

/* Actions on one screen happen in the order the model gave; other calls run side by side. */
static bool earlier_computer_open(const struct th_session *s, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (s->calls[i].computer && s->calls[i].phase != TH_CALL_SETTLED)
			return true;
	return false;
}

static void due_calls(struct th_session *s, struct th_effects *out)
{
	bool barrier = false;

	for (size_t i = 0; i < s->call_count; i++)
		barrier |= s->calls[i].phase < TH_CALL_CLEARED;
	for (size_t i = 0; i < s->call_count; i++) {
		struct th_call *c = &s->calls[i];
		bool early = c->class == TH_CLASS_L || c->class == TH_CLASS_R;
		enum th_effect_kind kind;

		if (c->emitted)
			continue;
		switch (c->phase) {
		case TH_CALL_SEEN:
			kind = TH_DO_RECORD;
			break;
		case TH_CALL_RECORDED:
			kind = TH_DO_ASK;
			break;
		case TH_CALL_CLEARED:
			if (barrier && !early)
				continue;
			if (c->computer && earlier_computer_open(s, i))
				continue;
			kind = TH_DO_INTEND;
			break;
		case TH_CALL_DENIED:
			kind = TH_DO_REFUSE;
			break;
		case TH_CALL_INTENDED:
			kind = TH_DO_TOOL_RUN;
			break;
		case TH_CALL_ASKED:
		case TH_CALL_SETTLED:
		case TH_CALL_PHASE_COUNT:
		default:
			continue;
		}
		c->emitted = true;
		emit(out, (struct th_effect){ .kind = kind, .call = i });
	}
}

static void due_turn(struct th_session *s, struct th_effects *out)
{
	const char *limit = limit_reached(s);

	if (limit)
		emit(out, (struct th_effect){ .kind = TH_DO_LIMIT, .reason = limit });
	else
		emit(out, (struct th_effect){ .kind = TH_DO_REQUEST });
}

bool th_session_rests(const struct th_session *s)
{
	return s->state != TH_STATE_RUNNING && s->state != TH_STATE_LOADING;
}

/* Adds what the state asks for and was not yet given out. */
static void due(struct th_session *s, struct th_effects *out)
{
	if (s->state == TH_STATE_RUNNING || s->state == TH_STATE_WAITING) {
		if (s->phase == TH_TURN_CALLS)
			due_calls(s, out);
		else if (s->phase == TH_TURN_DUE)
			due_turn(s, out);
	}
	if (th_session_rests(s) && !s->notified) {
		s->notified = true;
		emit(out, (struct th_effect){ .kind = TH_DO_NOTIFY });
	}
}

/* All calls have their result: the model goes on. */
static void turn_over(struct th_session *s)
{
	if (s->phase != TH_TURN_CALLS || !settled(s))
		return;
	s->phase = TH_TURN_DUE;
	s->totals.attempts = 0;
}

/* ---- events ------------------------------------------------------------------------------ */

static enum th_code on_session_created(struct step *st)
{
	struct th_session *s = st->s;
	struct th_ev_session_created d;
	struct th_agent *agent = TH_NEW(st->scratch, struct th_agent);
	struct th_json_doc *doc;
	enum th_code code = parse(st, &d);

	if (code)
		return code;
	if (st->ev->seq != 1)
		return th_fail(st->err, TH_EPROTO, "a session is created by its first event");
	if (!agent)
		return th_fail(st->err, TH_ELIMIT, "the agent's definition is too large");
	code = th_json_parse(d.agent, &doc, st->err);
	if (code)
		return code;
	code = th_table_parse(&th_agent_table, th_json_root(doc), st->scratch, agent, st->err);
	if (!code) {
		th_session_limits(s, agent->limits);
		s->agent_name = th_arena_str(&s->kept, agent->name);
		s->model = th_arena_str(&s->kept, d.model);
		s->workspace = th_arena_str(&s->kept, d.workspace);
	}
	th_json_free(doc);
	if (code)
		return th_prefix(st->err, code, "agent");
	s->created_ms = st->ev->ts_ms;
	return set_state(st, TH_STATE_IDLE);
}

/* The prefix was folded before; calls that were open there belong to the parent. */
static enum th_code on_session_forked(struct step *st)
{
	struct th_session *s = st->s;
	struct th_ev_session_forked d;
	enum th_code code = parse(st, &d);

	if (code)
		return code;
	if (s->state == TH_STATE_LOADING)
		return th_fail(st->err, TH_EPROTO, "a fork has a prefix");
	s->parent = th_arena_str(&s->kept, d.parent);
	for (size_t i = 0; i < s->call_count; i++) {
		struct th_call *c = &s->calls[i];

		if (c->phase == TH_CALL_INTENDED) {
			c->phase = TH_CALL_DENIED;
			c->reason = TH_STR(
			    "the call was under way in the session this one was forked from");
		}
		c->emitted = c->phase == TH_CALL_SETTLED;
	}
	if (s->phase == TH_TURN_REQUESTED || s->phase == TH_TURN_BACKOFF) {
		s->phase = TH_TURN_DUE;
		s->totals.attempts = 0;
	}
	return TH_OK;
}

static enum th_code on_message(struct step *st)
{
	struct th_session *s = st->s;
	struct th_ev_message d;
	enum th_code code = parse(st, &d);

	if (code)
		return code;
	if (s->items >= TH_SESSION_ITEMS_MAX)
		return th_fail(st->err, TH_ELIMIT, "the session's history is full");
	/* While a person is asked, a message waits its turn: it never approves anything. */
	if (s->state != TH_STATE_RUNNING && s->state != TH_STATE_WAITING &&
	    s->state != TH_STATE_PAUSED) {
		code = set_state(st, TH_STATE_RUNNING);
		if (code)
			return code;
		s->totals.task_turns = 0;
		s->totals.attempts = 0;
		s->task_ms = st->ev->ts_ms;
		if (s->phase != TH_TURN_CALLS || settled(s))
			s->phase = TH_TURN_DUE;
	}
	s->items++;
	s->message_seq = st->ev->seq;
	return TH_OK;
}

static enum th_code on_model_requested(struct step *st)
{
	struct th_session *s = st->s;

	if (s->phase != TH_TURN_DUE && s->phase != TH_TURN_BACKOFF && s->phase != TH_TURN_REQUESTED)
		return th_fail(st->err, TH_EPROTO, "the model is not to be asked now");
	if (s->phase == TH_TURN_REQUESTED)
		s->totals.unanswered++;
	/* The calls of the answer before have their results: their memory is not needed while
	 * waiting. */
	s->calls = NULL;
	s->call_count = 0;
	th_arena_deinit(&s->turn);
	s->phase = TH_TURN_REQUESTED;
	s->turn_failed = false;
	s->request_seq = st->ev->seq;
	s->totals.attempts++;
	emit(st->out, (struct th_effect){ .kind = TH_DO_MODEL_CALL });
	return TH_OK;
}

static void add_usage(struct th_totals *t, const struct th_json *usage, int64_t cost_nano)
{
	t->tokens_in += TH_MAX(th_json_get_int(usage, "input", 0), 0);
	t->tokens_cached += TH_MAX(th_json_get_int(usage, "cached", 0), 0);
	t->tokens_out += TH_MAX(th_json_get_int(usage, "output", 0), 0);
	t->tokens_reasoning += TH_MAX(th_json_get_int(usage, "reasoning", 0), 0);
	t->cost_nano += cost_nano;
}

static enum th_code on_model_answered(struct step *st)
{
	struct th_session *s = st->s;
	struct th_ev_model_answered d;
	struct th_next next;
	struct th_arena turn;
	struct th_buf final;
	enum th_code code = parse(st, &d);

	if (code)
		return code;
	if (s->phase != TH_TURN_REQUESTED)
		return th_fail(st->err, TH_EPROTO, "no answer is awaited");
	th_arena_init(&turn, TH_TURN_MEMORY_MAX);
	th_buf_init(&final, TH_ANSWER_MAX);
	code = th_plan_answer(d.items, &turn, &final, &next, st->err);
	if (code) {
		th_arena_deinit(&turn);
		th_buf_deinit(&final);
		return code;
	}
	th_arena_deinit(&s->turn);
	th_buf_deinit(&s->final);
	s->turn = turn;
	s->final = final;
	s->calls = NULL;
	s->call_count = 0;
	s->answer_seq = st->ev->seq;
	s->items += next.item_count;
	s->totals.turns++;
	s->totals.task_turns++;
	add_usage(&s->totals, th_json_get(st->data, "usage"), d.cost_nano);
	s->totals.cost_unknown |= !th_json_get(st->data, "cost_nano");
	s->final_refusal = next.refusal;
	s->answer_incomplete = th_str_is(d.status, "incomplete");
	switch (next.kind) {
	case TH_NEXT_CALLS:
		s->calls = next.calls;
		s->call_count = next.call_count;
		s->totals.calls += (int64_t)next.call_count;
		s->phase = TH_TURN_CALLS;
		break;
	case TH_NEXT_FINAL:
		s->phase = TH_TURN_REST;
		if (s->answer_incomplete)
			break;
		/* Somebody spoke while the model was asked: it has not read that yet. */
		if (s->message_seq > s->request_seq) {
			s->phase = TH_TURN_DUE;
			s->totals.attempts = 0;
		} else {
			emit(st->out, (struct th_effect){ .kind = TH_DO_FINISH });
		}
		break;
	case TH_NEXT_AGAIN:
		s->phase = s->answer_incomplete ? TH_TURN_REST : TH_TURN_DUE;
		s->totals.attempts = 0;
		break;
	}
	if (s->answer_incomplete && next.kind != TH_NEXT_CALLS)
		emit(st->out,
		     (struct th_effect){ .kind = TH_DO_FAIL,
					 .reason = "the answer was cut short by the provider" });
	return TH_OK;
}

static enum th_code on_model_failed(struct step *st)
{
	struct th_session *s = st->s;
	struct th_ev_model_failed d;
	enum th_code code = parse(st, &d);

	if (code)
		return code;
	if (s->phase != TH_TURN_REQUESTED)
		return th_fail(st->err, TH_EPROTO, "no answer is awaited");
	add_usage(&s->totals, th_json_get(st->data, "usage"), 0);
	set_reason(s, d.message);
	if (th_str_is(d.class, "cancelled")) {
		s->phase = TH_TURN_DUE;
		s->totals.attempts = 0;
	} else if (d.retry) {
		s->phase = TH_TURN_BACKOFF;
		s->retry_in_ms = d.retry_in_ms;
		emit(st->out,
		     (struct th_effect){ .kind = TH_DO_TIMER_SET, .retry_in_ms = d.retry_in_ms });
	} else {
		s->phase = TH_TURN_REST;
		s->turn_failed = true;
		emit(st->out, (struct th_effect){ .kind = TH_DO_FAIL,
						  .reason = "the model gave no answer" });
	}
	return TH_OK;
}

/* By the event it points to; a first CALL has none and goes by order. */
static struct th_call *call_of(struct step *st, unsigned phases)
{
	struct th_session *s = st->s;

	for (size_t i = 0; i < s->call_count; i++) {
		struct th_call *c = &s->calls[i];
		bool this = c->phase == TH_CALL_SEEN || c->call_seq == st->ev->cause ||
			    c->intent_seq == st->ev->cause;

		if ((phases & (1u << c->phase)) && this && th_str_eq(c->call_id, st->ev->call))
			return c;
	}
	return NULL;
}

static enum th_code no_call(struct step *st)
{
	return th_fail(st->err, TH_EPROTO, "no open call fits this %s of \"%.*s\"",
		       th_event_name(st->ev->kind), TH_FMT(th_utf8_cut(st->ev->call, 80)));
}

static void call_phase(struct th_call *c, enum th_call_phase phase)
{
	c->phase = phase;
	c->emitted = phase == TH_CALL_SETTLED;
}

static enum th_code on_call(struct step *st)
{
	struct th_session *s = st->s;
	struct th_ev_call d;
	struct th_call *c = call_of(st, 1u << TH_CALL_SEEN);
	enum th_code code = parse(st, &d);
	int class, policy;

	if (code)
		return code;
	if (!c)
		return no_call(st);
	class = th_class_find(d.class);
	policy = th_names_find(policy_names, d.policy);
	if (class < 0 || policy < 0 || d.digest.len != TH_SHA256_HEX_SIZE)
		return th_fail(st->err, TH_EPROTO, "class, policy or digest of the call are wrong");
	c->class = (enum th_class) class;
	c->policy = (enum th_policy)policy;
	c->arguments = th_arena_str(&s->turn, d.arguments);
	c->reason = th_arena_str(&s->turn, d.reason);
	memcpy(c->digest, d.digest.ptr, TH_SHA256_HEX_SIZE);
	c->digest[TH_SHA256_HEX_SIZE] = '\0';
	c->call_seq = st->ev->seq;
	switch (c->policy) {
	case TH_POLICY_RUN:
		/* Safety checks of the provider and class X always need a person. */
		if (c->safety_checks.len > 0 || c->class == TH_CLASS_X)
			call_phase(c, TH_CALL_RECORDED);
		else
			call_phase(c, TH_CALL_CLEARED);
		break;
	case TH_POLICY_ASK:
		call_phase(c, TH_CALL_RECORDED);
		break;
	case TH_POLICY_REFUSE:
	case TH_POLICY_COUNT:
		call_phase(c, TH_CALL_DENIED);
		break;
	}
	return TH_OK;
}

static enum th_code on_approval_requested(struct step *st)
{
	struct th_ev_approval_requested d;
	struct th_call *c = call_of(st, 1u << TH_CALL_RECORDED);
	enum th_code code = parse(st, &d);

	if (code)
		return code;
	if (!c)
		return no_call(st);
	c->reason = th_arena_str(&st->s->turn, d.reason);
	call_phase(c, TH_CALL_ASKED);
	set_reason(st->s, d.reason);
	return set_state(st, TH_STATE_WAITING);
}

static bool any_asked(const struct th_session *s)
{
	for (size_t i = 0; i < s->call_count; i++)
		if (s->calls[i].phase == TH_CALL_ASKED)
			return true;
	return false;
}

static enum th_code on_approval_decided(struct step *st)
{
	struct th_session *s = st->s;
	struct th_ev_approval_decided d;
	struct th_call *c = call_of(st, 1u << TH_CALL_ASKED);
	enum th_code code = parse(st, &d);

	if (code)
		return code;
	if (!c)
		return no_call(st);
	if (!th_str_is(d.digest, c->digest))
		return th_fail(st->err, TH_EPROTO,
			       "the decision is about another action than the one that waits");
	c->approved = d.approve;
	if (!d.approve)
		c->reason = th_arena_str(&s->turn, d.message.len ? d.message
								 : TH_STR("a person rejected it"));
	call_phase(c, d.approve ? TH_CALL_CLEARED : TH_CALL_DENIED);
	if (!any_asked(s) && s->state == TH_STATE_WAITING)
		return set_state(st, TH_STATE_RUNNING);
	return TH_OK;
}

static enum th_code on_intent(struct step *st)
{
	struct th_ev_intent d;
	struct th_call *c = call_of(st, 1u << TH_CALL_CLEARED);
	enum th_code code = parse(st, &d);

	if (code)
		return code;
	if (!c)
		return no_call(st);
	if (!th_str_is(d.digest, c->digest) || !th_str_eq(d.tool, c->tool))
		return th_fail(
		    st->err, TH_EPROTO,
		    "diverged: the log intends %.*s %.12s, the answer asks for %.*s %.12s",
		    TH_FMT(th_utf8_cut(d.tool, 60)), d.digest.ptr, TH_FMT(th_utf8_cut(c->tool, 60)),
		    c->digest);
	c->effect_id = th_arena_str(&st->s->turn, d.effect_id);
	c->journal = th_arena_str(&st->s->turn, d.journal);
	c->epoch = d.epoch;
	c->intent_seq = st->ev->seq;
	call_phase(c, TH_CALL_INTENDED);
	return TH_OK;
}

static enum th_code on_outcome(struct step *st)
{
	struct th_session *s = st->s;
	struct th_ev_outcome d;
	/* Without an effect_id nothing was started: any open call may end so (refused, cancelled).
	 */
	struct th_call *c = call_of(st, ~(1u << TH_CALL_SETTLED) & ~(1u << TH_CALL_SEEN));
	enum th_code code = parse(st, &d);
	int status;

	if (code)
		return code;
	if (!c)
		return no_call(st);
	if (d.effect_id.len && !th_str_eq(d.effect_id, c->effect_id))
		return th_fail(st->err, TH_EPROTO, "the outcome is of another effect");
	status = th_outcome_find(d.status);
	if (status < 0)
		return th_fail(st->err, TH_EPROTO, "unknown outcome status \"%.*s\"",
			       TH_FMT(th_utf8_cut(d.status, 40)));
	if (c->phase == TH_CALL_INTENDED && !d.effect_id.len)
		return th_fail(st->err, TH_EPROTO, "an intended call's outcome names its effect");
	c->status = (enum th_outcome_status)status;
	c->outcome_seq = st->ev->seq;
	call_phase(c, TH_CALL_SETTLED);
	s->items++;
	s->totals.calls_unknown += c->status == TH_OUTCOME_UNKNOWN;
	turn_over(s);
	if (!any_asked(s) && s->state == TH_STATE_WAITING)
		return set_state(st, TH_STATE_RUNNING);
	return TH_OK;
}

/* What runs is told to stop.  After a stop for good, calls that have not begun will be refused. */
static void cancel_open(struct step *st, bool for_good)
{
	struct th_session *s = st->s;

	if (s->phase == TH_TURN_REQUESTED)
		emit(st->out, (struct th_effect){ .kind = TH_DO_MODEL_CANCEL });
	for (size_t i = 0; i < s->call_count; i++) {
		struct th_call *c = &s->calls[i];

		if (c->phase == TH_CALL_INTENDED) {
			if (for_good)
				emit(st->out,
				     (struct th_effect){ .kind = TH_DO_TOOL_CANCEL, .call = i });
		} else if (for_good && c->phase != TH_CALL_SEEN && c->phase != TH_CALL_SETTLED) {
			c->reason = TH_STR("the run was cancelled before this call began");
			call_phase(c, TH_CALL_DENIED);
		}
	}
}

/* Whatever was held back is given out again. */
static void release_marks(struct th_session *s)
{
	for (size_t i = 0; i < s->call_count; i++)
		if (s->calls[i].phase != TH_CALL_INTENDED && s->calls[i].phase != TH_CALL_SETTLED)
			s->calls[i].emitted = false;
}

static enum th_code on_state_changed(struct step *st)
{
	struct th_session *s = st->s;
	struct th_ev_state_changed d;
	enum th_code code = parse(st, &d);
	int to;

	if (code)
		return code;
	to = th_state_find(d.to);
	if (to < 0)
		return th_fail(st->err, TH_EPROTO, "unknown state \"%.*s\"",
			       TH_FMT(th_utf8_cut(d.to, 40)));
	code = set_state(st, (enum th_state)to);
	if (code)
		return code;
	set_reason(s, d.reason);
	/* No timer of before rings again, and a replay has none: what waited for one is due. */
	if (s->phase == TH_TURN_BACKOFF)
		s->phase = TH_TURN_DUE;
	if (to == TH_STATE_STOPPED || to == TH_STATE_PAUSED)
		cancel_open(st, to == TH_STATE_STOPPED);
	if (to == TH_STATE_RUNNING) {
		release_marks(s);
		if (s->phase == TH_TURN_REST)
			s->phase = TH_TURN_DUE;
		s->totals.task_turns = 0;
		s->totals.attempts = 0;
		s->task_ms = st->ev->ts_ms;
		turn_over(s);
		if (any_asked(s))
			return set_state(st, TH_STATE_WAITING);
	}
	return TH_OK;
}

static enum th_code on_budget(struct step *st)
{
	struct th_agent_limits limits;
	enum th_code code = th_table_parse(&th_agent_limits_table, th_json_get(st->data, "limits"),
					   st->scratch, &limits, st->err);

	if (code)
		return code;
	th_session_limits(st->s, &limits);
	return TH_OK;
}

static enum th_code on_error(struct step *st)
{
	struct th_ev_error d;
	enum th_code code = parse(st, &d);

	if (code)
		return code;
	code = set_state(st, TH_STATE_FAILED);
	if (code)
		return code;
	set_reason(st->s, d.message);
	if (st->s->phase != TH_TURN_CALLS)
		st->s->phase = TH_TURN_REST;
	return TH_OK;
}

static enum th_code on_final(struct step *st)
{
	if (st->s->phase != TH_TURN_REST || st->s->state != TH_STATE_RUNNING)
		return th_fail(st->err, TH_EPROTO, "there is no final answer to finish with");
	th_buf_clear(&st->s->reason);
	return set_state(st, TH_STATE_FINISHED);
}

/* Written by later parts of the house; the fold keeps them, and they change nothing here yet. */
static enum th_code on_noted(struct step *st)
{
	(void)st;
	return TH_OK;
}

typedef enum th_code handler_fn(struct step *);

static handler_fn *const handlers[TH_EVENT_COUNT] = {
	[TH_EV_SESSION_CREATED] = on_session_created,
	[TH_EV_SESSION_FORKED] = on_session_forked,
	[TH_EV_MESSAGE] = on_message,
	[TH_EV_MODEL_REQUESTED] = on_model_requested,
	[TH_EV_MODEL_ANSWERED] = on_model_answered,
	[TH_EV_MODEL_FAILED] = on_model_failed,
	[TH_EV_CALL] = on_call,
	[TH_EV_APPROVAL_REQUESTED] = on_approval_requested,
	[TH_EV_APPROVAL_DECIDED] = on_approval_decided,
	[TH_EV_INTENT] = on_intent,
	[TH_EV_OUTCOME] = on_outcome,
	[TH_EV_GUARDRAIL] = on_noted,
	[TH_EV_HANDOFF] = on_noted,
	[TH_EV_DELEGATION_STARTED] = on_noted,
	[TH_EV_DELEGATION_FINISHED] = on_noted,
	[TH_EV_CONDENSATION] = on_noted,
	[TH_EV_STATE_CHANGED] = on_state_changed,
	[TH_EV_BUDGET] = on_budget,
	[TH_EV_ERROR] = on_error,
	[TH_EV_FINAL] = on_final,
};

enum th_code th_session_step(struct th_session *s, const struct th_event *ev,
			     struct th_effects *ret, struct th_err *err)
{
	struct th_arena scratch;
	struct th_json_doc *doc = NULL;
	struct step st = { .s = s, .ev = ev, .scratch = &scratch, .out = ret, .err = err };
	enum th_code code;

	assert(ev->kind < TH_EVENT_COUNT);
	ret->count = 0;
	if (ev->seq != s->seq + 1)
		return th_fail(err, TH_EPROTO, "event %llu follows event %llu",
			       (unsigned long long)ev->seq, (unsigned long long)s->seq);
	if (s->state == TH_STATE_LOADING && ev->kind != TH_EV_SESSION_CREATED)
		return th_fail(err, TH_EPROTO,
			       "the first event of a session must be session_created");
	code = th_json_parse(ev->data, &doc, err);
	if (code)
		return th_prefix(err, code, "event %llu (%s)", (unsigned long long)ev->seq,
				 th_event_name(ev->kind));
	th_arena_init(&scratch, TH_TURN_MEMORY_MAX);
	st.data = th_json_root(doc);
	/* A later event of a task counts towards its running time even when it is refused by
	 * limits. */
	code = handlers[ev->kind](&st);
	if (!code) {
		s->seq = ev->seq;
		s->updated_ms = ev->ts_ms;
		due(s, ret);
	} else {
		ret->count = 0;
		th_prefix(err, code, "event %llu (%s)", (unsigned long long)ev->seq,
			  th_event_name(ev->kind));
	}
	th_arena_deinit(&scratch);
	th_json_free(doc);
	return code;
}

void th_session_resume(struct th_session *s, struct th_effects *ret)
{
	ret->count = 0;
	for (size_t i = 0; i < s->call_count; i++) {
		struct th_call *c = &s->calls[i];

		c->emitted = c->phase == TH_CALL_SETTLED;
		if (c->phase == TH_CALL_INTENDED) {
			c->emitted = true;
			emit(ret, (struct th_effect){ .kind = TH_DO_TOOL_SETTLE, .call = i });
		}
	}
	s->notified = false;
	if (s->state == TH_STATE_RUNNING) {
		if (s->phase == TH_TURN_BACKOFF)
			s->phase = TH_TURN_DUE;
		if (s->phase == TH_TURN_REQUESTED)
			due_turn(s, ret);
		/* Only a fork can begin between an answer, or its failure, and what follows. */
		if (s->phase == TH_TURN_REST && (s->turn_failed || s->answer_incomplete))
			emit(ret, (struct th_effect){ .kind = TH_DO_FAIL,
						      .reason = "the model gave no answer" });
		else if (s->phase == TH_TURN_REST && s->answer_seq)
			emit(ret, (struct th_effect){ .kind = TH_DO_FINISH });
	}
	due(s, ret);
}

void th_session_wake(struct th_session *s, struct th_effects *ret)
{
	ret->count = 0;
	if (s->phase == TH_TURN_BACKOFF && s->state == TH_STATE_RUNNING) {
		s->phase = TH_TURN_DUE;
		due(s, ret);
	}
}

void th_call_digest(struct th_str tool, struct th_str arguments,
		    char out[static TH_SHA256_HEX_SIZE + 1])
{
	struct th_sha256 h;
	struct th_digest d;

	th_sha256_init(&h);
	th_sha256_add(&h, tool.ptr, tool.len);
	th_sha256_add(&h, "\n", 1);
	th_sha256_add(&h, arguments.ptr, arguments.len);
	d = th_sha256_end(&h);
	th_digest_hex(&d, out);
}

static void print_calls(const struct th_session *s, struct th_jw *w)
{
	th_jw_key(w, TH_STR("calls"));
	th_jw_array(w);
	for (size_t i = 0; i < s->call_count; i++) {
		const struct th_call *c = &s->calls[i];

		th_jw_object(w);
		th_jw_kstr(w, "call_id", c->call_id);
		th_jw_kstr(w, "tool", c->tool);
		th_jw_kstr(w, "phase", th_str_of(call_phase_names[c->phase]));
		th_jw_kstr(w, "class", th_str_of(th_class_name(c->class)));
		th_jw_kstr(w, "digest", th_str_of(c->digest));
		if (c->effect_id.len)
			th_jw_kstr(w, "effect_id", c->effect_id);
		if (c->phase == TH_CALL_SETTLED)
			th_jw_kstr(w, "status", th_str_of(th_outcome_name(c->status)));
		if (c->reason.len)
			th_jw_kstr(w, "reason", c->reason);
		th_jw_object_end(w);
	}
	th_jw_array_end(w);
}

void th_session_print(const struct th_session *s, struct th_jw *w)
{
	static const char *const phases[] = { "rest", "due", "requested", "backoff", "calls" };
	const struct th_totals *t = &s->totals;

	th_jw_object(w);
	th_jw_kstr(w, "state", th_str_of(th_state_name(s->state)));
	th_jw_kstr(w, "phase", th_str_of(phases[s->phase]));
	th_jw_kint(w, "seq", (int64_t)s->seq);
	th_jw_kstr(w, "agent", s->agent_name);
	th_jw_kstr(w, "model", s->model);
	if (s->parent.len)
		th_jw_kstr(w, "parent", s->parent);
	th_jw_kint(w, "items", (int64_t)s->items);
	th_jw_kint(w, "turns", t->turns);
	th_jw_kint(w, "task_turns", t->task_turns);
	th_jw_kint(w, "attempts", t->attempts);
	th_jw_kint(w, "unanswered", t->unanswered);
	th_jw_kint(w, "calls_total", t->calls);
	th_jw_kint(w, "calls_unknown", t->calls_unknown);
	th_jw_kint(w, "tokens_in", t->tokens_in);
	th_jw_kint(w, "tokens_cached", t->tokens_cached);
	th_jw_kint(w, "tokens_out", t->tokens_out);
	th_jw_kint(w, "tokens_reasoning", t->tokens_reasoning);
	th_jw_kint(w, "cost_nano", t->cost_nano);
	if (s->reason.len)
		th_jw_kstr(w, "reason", th_buf_str(&s->reason));
	if (s->final.len)
		th_jw_kstr(w, "final", th_buf_str(&s->final));
	print_calls(s, w);
	th_jw_object_end(w);
}

bool th_session_equal(const struct th_session *a, const struct th_session *b, struct th_err *err)
{
	struct th_buf one, two;
	struct th_jw w;
	bool equal;
	size_t at = 0;

	th_buf_init(&one, SIZE_MAX / 4);
	th_buf_init(&two, SIZE_MAX / 4);
	w = th_jw(&one);
	th_session_print(a, &w);
	w = th_jw(&two);
	th_session_print(b, &w);
	equal = th_str_eq(th_buf_str(&one), th_buf_str(&two));
	while (!equal && at < one.len && at < two.len && one.ptr[at] == two.ptr[at])
		at++;
	if (!equal)
		(void)th_fail(err, TH_EPROTO, "the states differ at \"%.60s\" against \"%.60s\"",
			      one.ptr + (at > 20 ? at - 20 : 0), two.ptr + (at > 20 ? at - 20 : 0));
	th_buf_deinit(&one);
	th_buf_deinit(&two);
	return equal;
}
