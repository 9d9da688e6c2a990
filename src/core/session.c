/* SPDX-License-Identifier: Apache-2.0 */
#include "core/session.h"

#include "base/text.h"

#include "core/session_internal.h"

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
		.team = &th_team_plain,
		.instead = -1,
	};
	th_arena_init_try(&s->turn, TH_TURN_MEMORY_MAX);
	th_arena_init_try(&s->kept, TH_SESSION_KEPT_MAX);
	th_buf_init_try(&s->final, TH_ANSWER_MAX);
	th_buf_init_try(&s->reason, TH_SESSION_KEPT_MAX);
	th_buf_init_try(&s->chain, TH_RESPONSE_ID_MAX);
	th_buf_init_try(&s->started, TH_RESPONSE_ID_MAX);
	th_buf_init_try(&s->trip, TH_SESSION_KEPT_MAX);
}

void th_session_deinit(struct th_session *s)
{
	th_arena_deinit(&s->turn);
	th_arena_deinit(&s->kept);
	th_buf_deinit(&s->final);
	th_buf_deinit(&s->reason);
	th_buf_deinit(&s->chain);
	th_buf_deinit(&s->started);
	th_buf_deinit(&s->trip);
	th_doubts_deinit(&s->doubts);
	*s = (struct th_session){ 0 };
}

void th_session_prices(struct th_session *s, size_t at, int64_t input, int64_t output)
{
	assert(at < TH_COUNT(s->prices));
	s->prices[at] = (struct th_session_price){ input, output };
}

struct th_str th_session_next_model(const struct th_session *s)
{
	const struct th_strs *list = &th_session_member(s)->fallback;

	return s->model_at < list->count ? list->list[s->model_at] : TH_STR("");
}

/* Counts never wrap: what is too large is the largest. */
static int64_t add_up(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static int64_t price_of(int64_t tokens, int64_t price)
{
	int64_t cost;

	return __builtin_mul_overflow(tokens, price, &cost) ? INT64_MAX : cost;
}

struct th_reservation th_session_reservation(const struct th_session *s)
{
	const struct th_session_price *price = &s->prices[s->model_at];

	return (struct th_reservation){
		.tokens = add_up(s->answer_tokens, s->output_max),
		.cost_nano = add_up(price_of(s->answer_tokens, price->input),
				    price_of(s->output_max, price->output)),
	};
}

int64_t th_session_time_left_ms(const struct th_session *s, int64_t now_ms)
{
	if (!s->seconds_max)
		return -1;
	return TH_MAX(s->task_ms + s->seconds_max * 1000 - now_ms, (int64_t)0);
}

void th_session_limits(struct th_session *s, const struct th_agent_limits *l)
{
	s->turns_max = l && l->turns ? l->turns : TH_TURNS_DEFAULT;
	s->attempts_max = l && l->model_attempts ? l->model_attempts : TH_ATTEMPTS_DEFAULT;
	s->tokens_max = l ? l->tokens : 0;
	s->seconds_max = l ? l->seconds : 0;
	s->cost_nano_max = l ? (int64_t)(l->cost_usd * 1e9) : 0;
	s->calls_max = l ? l->parallel_calls : 0;
}

void th_step_emit(struct th_effects *out, struct th_effect effect)
{
	assert(out->count < TH_EFFECTS_MAX);
	out->list[out->count++] = effect;
}

void th_step_reason(struct th_session *s, struct th_str text)
{
	th_buf_clear(&s->reason);
	th_buf_add(&s->reason, th_utf8_cut(text, TH_ERR_MSG_MAX * 2));
}

void th_step_phase(struct th_session *s, enum th_turn_phase phase)
{
	s->phase = phase;
	s->turn_given = false;
	if (s->model_anew && phase != TH_TURN_CALLS) {
		s->model_at = 0;
		th_buf_clear(&s->chain);
		s->model_anew = false;
	}
}

enum th_code th_step_state(struct th_step *st, enum th_state to)
{
	struct th_session *s = st->s;

	if (s->state == to)
		return TH_OK;
	if (!th_state_allows(s->state, to))
		return th_fail(st->err, TH_EPROTO, "a session that is %s cannot become %s",
			       th_state_name(s->state), th_state_name(to));
	/* A person's time is not the agent's. */
	if (to == TH_STATE_WAITING)
		s->waiting_ms = st->ev->ts_ms;
	else if (s->state == TH_STATE_WAITING && st->ev->ts_ms > s->waiting_ms)
		s->task_ms += st->ev->ts_ms - s->waiting_ms;
	s->state = to;
	s->notified = false;
	return TH_OK;
}

/* Where raw members are not looked at, or read from the document. */
static enum th_code parse_plain(struct th_step *st, void *out)
{
	return th_table_parse_plain(th_event_table(st->ev->kind), st->data, st->scratch, out,
				    st->err);
}

enum th_code th_step_parse(struct th_step *st, void *out)
{
	return th_table_parse(th_event_table(st->ev->kind), st->data, st->scratch, out, st->err);
}

/* ---- what is due ------------------------------------------------------------------------- */

static const char *limit_reached(const struct th_session *s)
{
	const struct th_totals *t = &s->totals;
	struct th_reservation next = th_session_reservation(s);
	/* A request under way that nobody will answer any more is spent too. */
	int64_t tokens =
	    add_up(add_up(t->tokens_in, t->tokens_out), add_up(t->tokens_held, s->reserved.tokens));
	int64_t cost = add_up(t->cost_nano, add_up(t->cost_held_nano, s->reserved.cost_nano));

	if (t->task_turns >= s->turns_max)
		return "the limit of model turns is reached";
	if (s->tokens_max && tokens >= s->tokens_max)
		return "the limit of tokens is reached";
	if (s->tokens_max && add_up(tokens, next.tokens) > s->tokens_max)
		return "the limit of tokens leaves no room for another request";
	if (s->cost_nano_max && cost >= s->cost_nano_max)
		return "the limit of cost is reached";
	if (s->cost_nano_max && add_up(cost, next.cost_nano) > s->cost_nano_max)
		return "the limit of cost leaves no room for another request";
	if (s->seconds_max && s->updated_ms - s->task_ms >= s->seconds_max * 1000)
		return "the limit of running time is reached";
	if (s->items >= TH_SESSION_ITEMS_MAX)
		return "the session's history is full";
	return NULL;
}

const char *th_session_limit(const struct th_session *s)
{
	return limit_reached(s);
}

bool th_calls_settled(const struct th_session *s)
{
	for (size_t i = 0; i < s->call_count; i++)
		if (s->calls[i].phase != TH_CALL_SETTLED || s->calls[i].guards_out)
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

/* What may not begin before all that was asked about this answer is settled. */
static bool barrier_stands(const struct th_session *s)
{
	bool stands = s->guards_in;

	for (size_t i = 0; i < s->call_count; i++) {
		const struct th_call *c = &s->calls[i];

		stands |= c->phase < TH_CALL_CLEARED;
		stands |= c->phase == TH_CALL_CLEARED && c->guards_in;
	}
	return stands;
}

/* Others have their results first, and of several handoffs the first one counts. */
static bool handoff_due(const struct th_session *s, size_t index)
{
	for (size_t i = 0; i < s->call_count; i++) {
		const struct th_call *c = &s->calls[i];

		if (i != index && (c->phase != TH_CALL_SETTLED || c->guards_out))
			return false;
	}
	return !s->guards_in;
}

static bool handoff_before(const struct th_session *s, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (s->calls[i].handoff && s->calls[i].phase == TH_CALL_CLEARED)
			return true;
	return false;
}

/* Those that were given out count: their intent may still wait for the executor. */
static int64_t under_way(const struct th_session *s)
{
	int64_t count = 0;

	for (size_t i = 0; i < s->call_count; i++) {
		const struct th_call *c = &s->calls[i];

		count +=
		    c->phase == TH_CALL_INTENDED || (c->phase == TH_CALL_CLEARED && c->emitted);
	}
	return count;
}

static void due_cleared(struct th_session *s, size_t i, bool barrier, struct th_effects *out)
{
	struct th_call *c = &s->calls[i];
	bool early = c->class == TH_CLASS_L || c->class == TH_CLASS_R;
	enum th_effect_kind kind = TH_DO_INTEND;

	if (s->tripped)
		return;
	if (c->handoff) {
		if (barrier)
			return;
		if (handoff_before(s, i)) {
			c->reason = TH_STR("Multiple handoffs detected, ignoring this one.");
			c->verbatim = true;
			th_call_phase_set(c, TH_CALL_DENIED);
			kind = TH_DO_REFUSE;
		} else if (handoff_due(s, i)) {
			kind = TH_DO_HAND_OVER;
		} else {
			return;
		}
	} else if (c->guards_in) {
		if (c->guard_given)
			return;
		c->guard_given = true;
		th_step_emit(out,
			     (struct th_effect){ .kind = TH_DO_GUARD,
						 .call = i,
						 .stage = TH_GUARD_TOOL_INPUT,
						 .guard = (size_t)__builtin_ctz(c->guards_in) });
		return;
	} else if ((barrier && !early) || (c->computer && earlier_computer_open(s, i)) ||
		   (s->calls_max && under_way(s) >= s->calls_max)) {
		return;
	}
	c->emitted = true;
	th_step_emit(out, (struct th_effect){ .kind = kind, .call = i });
}

static void due_calls(struct th_session *s, struct th_effects *out)
{
	bool barrier = barrier_stands(s);

	for (size_t i = 0; i < s->call_count; i++) {
		struct th_call *c = &s->calls[i];
		enum th_effect_kind kind;

		if (c->phase == TH_CALL_SETTLED && c->guards_out && !c->guard_given) {
			c->guard_given = true;
			th_step_emit(out, (struct th_effect){
					      .kind = TH_DO_GUARD,
					      .call = i,
					      .stage = TH_GUARD_TOOL_OUTPUT,
					      .guard = (size_t)__builtin_ctz(c->guards_out) });
		}
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
			due_cleared(s, i, barrier, out);
			continue;
		case TH_CALL_DENIED:
			kind = TH_DO_REFUSE;
			break;
		case TH_CALL_INTENDED:
			kind = TH_DO_TOOL_RUN;
			break;
		case TH_CALL_JUDGED:
			kind = TH_DO_CONCLUDE;
			break;
		case TH_CALL_ASKED:
		case TH_CALL_PARKED:
		case TH_CALL_SETTLED:
		case TH_CALL_PHASE_COUNT:
		default:
			continue;
		}
		c->emitted = true;
		th_step_emit(out, (struct th_effect){ .kind = kind, .call = i });
	}
}

static void due_turn(struct th_session *s, struct th_effects *out)
{
	const char *limit = limit_reached(s);

	if (s->turn_given)
		return;
	/* Guardrails that the request waits for. */
	if (s->guards_in & s->team->members[s->task_agent].guard_blocking)
		return;
	s->turn_given = true;
	if (s->unread > TH_REASKS_MAX)
		th_step_emit(out,
			     (struct th_effect){ .kind = TH_DO_FAIL,
						 .reason = "the model's answers cannot be read" });
	else if (s->correct)
		th_step_emit(out, (struct th_effect){ .kind = TH_DO_CORRECT });
	else if (limit && s->totals.task_turns >= s->turns_max && th_ladder_limit(s))
		return; /* a final output is said instead */
	else if (limit)
		th_step_emit(out, (struct th_effect){ .kind = TH_DO_LIMIT, .reason = limit });
	else
		th_step_emit(out, (struct th_effect){ .kind = TH_DO_REQUEST });
}

bool th_session_rests(const struct th_session *s)
{
	return s->state != TH_STATE_RUNNING && s->state != TH_STATE_LOADING;
}

/* Adds what the state asks for and was not yet given out. */
static void due(struct th_session *s, struct th_effects *out)
{
	if (s->state == TH_STATE_RUNNING || s->state == TH_STATE_WAITING) {
		th_ladder_due(s, out);
		if (s->phase == TH_TURN_CALLS)
			due_calls(s, out);
		else if (s->phase == TH_TURN_DUE)
			due_turn(s, out);
		th_ladder_due(s, out); /* a limit may have brought a final output */
		th_ladder_guards(s, out);
	}
	if (th_session_rests(s) && !s->notified) {
		s->notified = true;
		th_step_emit(out, (struct th_effect){ .kind = TH_DO_NOTIFY });
	}
}

/* All calls have their result: the model goes on. */
static void turn_over(struct th_session *s)
{
	if (s->phase == TH_TURN_CALLS && th_calls_settled(s))
		th_ladder_settled(s);
}

/* A task asks the first model first.  Calls that are open stay with the one that made them. */
static void ask_first(struct th_session *s)
{
	s->model_anew = s->phase == TH_TURN_CALLS && !th_calls_settled(s) && s->model_at > 0;
	if (!s->model_anew && s->model_at > 0) {
		s->model_at = 0;
		th_buf_clear(&s->chain);
	}
}

/* ---- events ------------------------------------------------------------------------------ */

static enum th_code on_session_created(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_session_created d;
	struct th_agent *agent = TH_NEW(st->scratch, struct th_agent);
	enum th_code code = parse_plain(st, &d);

	if (code)
		return code;
	if (st->ev->seq != 1)
		return th_fail(st->err, TH_EPROTO, "a session is created by its first event");
	if (!agent)
		return th_fail(st->err, TH_ELIMIT, "the agent's definition is too large");
	code = th_table_parse(&th_agent_table, th_json_get(st->data, "agent"), st->scratch, agent,
			      st->err);
	if (!code) {
		th_session_limits(s, agent->limits);
		s->output_max = agent->settings ? agent->settings->max_output_tokens : 0;
		s->agent_name = th_arena_str(&s->kept, agent->name);
		s->model = th_arena_str(&s->kept, d.model);
		s->workspace = th_arena_str(&s->kept, d.workspace);
		code = th_team_resolve(th_json_get(st->data, "agent"), &s->kept, &s->team, st->err);
	}
	if (code)
		return th_prefix(st->err, code, "agent");
	s->created_ms = st->ev->ts_ms;
	return th_step_state(st, TH_STATE_IDLE);
}

/* The prefix was folded before; calls that were open there belong to the parent. */
static enum th_code on_session_forked(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_session_forked d;
	enum th_code code = th_step_parse(st, &d);

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
	th_buf_clear(&s->started); /* nor its answer */
	if (s->phase == TH_TURN_REQUESTED || s->phase == TH_TURN_BACKOFF) {
		th_step_phase(s, s->tripped ? TH_TURN_REST : TH_TURN_DUE);
		s->totals.attempts = 0;
		s->reserved = (struct th_reservation){ 0 }; /* the parent's to pay */
	}
	return TH_OK;
}

/* Whatever was held back is given out again. */
static void release_marks(struct th_session *s)
{
	for (size_t i = 0; i < s->call_count; i++)
		if (s->calls[i].phase != TH_CALL_INTENDED && s->calls[i].phase != TH_CALL_SETTLED)
			s->calls[i].emitted = false;
	for (size_t i = 0; i < s->call_count; i++)
		s->calls[i].guard_given = false;
	s->guards_in_given = s->guards_out_given = 0;
	s->use_given = false;
}

enum th_code th_step_begin(struct th_step *st)
{
	struct th_session *s = st->s;
	enum th_code code;

	if (s->state == TH_STATE_RUNNING || s->state == TH_STATE_WAITING ||
	    s->state == TH_STATE_PAUSED)
		return TH_OK;
	code = th_step_state(st, TH_STATE_RUNNING);
	if (code)
		return code;
	s->totals.task_turns = 0;
	s->totals.attempts = 0;
	s->unread = 0;
	s->task_ms = st->ev->ts_ms;
	s->task_seq = st->ev->seq;
	th_ladder_task(s);
	ask_first(s);
	if (s->phase != TH_TURN_CALLS || th_calls_settled(s))
		th_step_phase(s, TH_TURN_DUE);
	else
		release_marks(s); /* what failed over a call is tried again */
	return TH_OK;
}

static enum th_code on_message(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_message d;
	enum th_code code = parse_plain(st, &d);

	if (code)
		return code;
	if (s->items >= TH_SESSION_ITEMS_MAX)
		return th_fail(st->err, TH_ELIMIT, "the session's history is full");
	/* While a person is asked, a message waits its turn: it never approves anything. */
	code = th_step_begin(st);
	if (code)
		return code;
	s->correct = false;
	if (s->phase == TH_TURN_DUE)
		s->turn_given = false; /* what was given out may have waited for this */
	s->items++;
	s->message_seq = st->ev->seq;
	return TH_OK;
}

/* The request under way was sent, and nobody will ever know what it cost. */
static void hold_reservation(struct th_session *s)
{
	s->totals.unanswered++;
	s->totals.tokens_held = add_up(s->totals.tokens_held, s->reserved.tokens);
	s->totals.cost_held_nano = add_up(s->totals.cost_held_nano, s->reserved.cost_nano);
	s->reserved = (struct th_reservation){ 0 };
}

/* The final output is empty, and nobody put it there. */
static bool says_nothing(const struct th_session *s)
{
	return !s->final.len && s->instead < 0 && !s->final_refusal && !s->final_failure;
}

static enum th_code on_model_requested(struct th_step *st)
{
	static const char *const due_now[TH_TURN_PHASE_COUNT] = {
		[TH_TURN_REST] = "nothing",
		[TH_TURN_DUE] = "the same",
		[TH_TURN_REQUESTED] = "the same",
		[TH_TURN_BACKOFF] = "the same",
		[TH_TURN_CALLS] = "the calls of the answer before",
		[TH_TURN_CHECK] = "the final output",
	};
	struct th_session *s = st->s;
	struct th_ev_model_requested d;
	enum th_code code = parse_plain(st, &d);

	if (code)
		return code;
	if (s->phase == TH_TURN_CHECK && says_nothing(s)) {
		/* Earlier builds went on after an answer without a word. */
		th_step_phase(s, TH_TURN_DUE);
		s->totals.attempts = 0;
		s->guards_out = 0;
	}
	if (s->phase != TH_TURN_DUE && s->phase != TH_TURN_BACKOFF && s->phase != TH_TURN_REQUESTED)
		return th_fail(
		    st->err, TH_EDIVERGED,
		    "diverged: the log asks the model here, this build would do %s first",
		    due_now[s->phase]);
	if ((uint64_t)d.choice != s->model_at)
		return th_fail(st->err, TH_EDIVERGED,
			       "diverged: the log asks model %lld of the agent's list here, this "
			       "build would ask %zu",
			       (long long)d.choice, s->model_at);
	if (s->phase == TH_TURN_REQUESTED && !s->started.len)
		hold_reservation(s);
	if (!s->started.len)
		s->asked_seq = st->ev->seq;
	s->reserved = (struct th_reservation){ d.reserved_tokens, d.reserved_cost_nano };
	/* The calls of the answer before have their results: their memory is not needed while
	 * waiting. */
	s->calls = NULL;
	s->call_count = 0;
	th_arena_deinit(&s->turn);
	th_step_phase(s, TH_TURN_REQUESTED);
	s->turn_failed = false;
	s->request_seq = st->ev->seq;
	s->totals.attempts++;
	th_step_emit(st->out, (struct th_effect){ .kind = TH_DO_MODEL_CALL });
	return TH_OK;
}

static int64_t usage_tokens(const struct th_json *usage)
{
	return add_up(TH_MAX(th_json_get_int(usage, "input", 0), (int64_t)0),
		      TH_MAX(th_json_get_int(usage, "output", 0), (int64_t)0));
}

/* Failures after which the provider may have worked, and says nothing of what it cost. */
static bool may_have_cost(struct th_str class)
{
	static const char *const classes[] = { "timeout", "cut", "malformed", "cancelled", NULL };

	return th_names_find(classes, class) >= 0;
}

static void add_usage(struct th_totals *t, const struct th_json *usage, int64_t cost_nano)
{
	t->tokens_in += TH_MAX(th_json_get_int(usage, "input", 0), 0);
	t->tokens_cached += TH_MAX(th_json_get_int(usage, "cached", 0), 0);
	t->tokens_out += TH_MAX(th_json_get_int(usage, "output", 0), 0);
	t->tokens_reasoning += TH_MAX(th_json_get_int(usage, "reasoning", 0), 0);
	t->cost_nano += cost_nano;
}

void th_step_finish(const struct th_session *s, struct th_effects *out)
{
	struct th_effect fail = { .kind = TH_DO_FAIL,
				  .reason = "the model says that it could not do the task" };

	th_step_emit(out, s->final_failure ? fail : (struct th_effect){ .kind = TH_DO_FINISH });
}

/* What was cut short is not gone on from. */
static void take_chain(struct th_session *s, const struct th_ev_model_answered *d)
{
	th_buf_clear(&s->chain);
	if (d->response_id.len <= TH_RESPONSE_ID_MAX && th_str_is(d->status, "completed"))
		th_buf_add(&s->chain, d->response_id);
}

/* After these the model is to see something else than its provider has kept. */
static bool breaks_chain(enum th_event_kind kind)
{
	return kind == TH_EV_HANDOFF || kind == TH_EV_ITEMS_ADDED || kind == TH_EV_ITEMS_REMOVED ||
	       kind == TH_EV_CONDENSATION;
}

static enum th_code on_model_answered(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_model_answered d;
	struct th_next next;
	struct th_arena turn;
	struct th_buf final;
	enum th_code code = parse_plain(st, &d);

	if (code)
		return code;
	if (s->phase != TH_TURN_REQUESTED)
		return th_fail(st->err, TH_EPROTO, "no answer is awaited");
	th_arena_init_try(&turn, TH_TURN_MEMORY_MAX);
	th_buf_init_try(&final, TH_ANSWER_MAX);
	code = th_plan_items(th_json_get(st->data, "items"), &turn, &final, &next, st->err);
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
	take_chain(s, &d);
	th_buf_clear(&s->started);
	s->items += next.item_count;
	s->totals.turns++;
	s->totals.task_turns++;
	add_usage(&s->totals, th_json_get(st->data, "usage"), d.cost_nano);
	s->answer_tokens = usage_tokens(th_json_get(st->data, "usage"));
	s->reserved = (struct th_reservation){ 0 };
	s->totals.cost_unknown |= !th_json_get(st->data, "cost_nano");
	s->final_refusal = next.refusal;
	s->final_failure = next.gave_up;
	s->unread = next.unread ? s->unread + 1 : 0;
	s->answer_incomplete = th_str_is(d.status, "incomplete");
	if (s->answer_incomplete && th_str_is(d.reason, TH_ANSWER_PAUSED)) {
		s->answer_incomplete = false;
		if (next.kind == TH_NEXT_FINAL)
			next.kind = TH_NEXT_AGAIN;
	}
	s->handed = s->use_given = s->use_answered = false;
	s->instead = -1;
	switch (next.kind) {
	case TH_NEXT_CALLS:
		s->calls = next.calls;
		s->call_count = next.call_count;
		s->totals.calls += (int64_t)next.call_count;
		th_step_phase(s, TH_TURN_CALLS);
		break;
	case TH_NEXT_FINAL:
		th_step_phase(s, TH_TURN_REST);
		if (!s->answer_incomplete)
			th_ladder_final(s);
		break;
	case TH_NEXT_AGAIN:
		th_step_phase(s, s->answer_incomplete ? TH_TURN_REST : TH_TURN_DUE);
		s->totals.attempts = 0;
		break;
	}
	th_ladder_answer(st, &next);
	if (s->answer_incomplete && next.kind != TH_NEXT_CALLS)
		th_step_emit(st->out, (struct th_effect){
					  .kind = TH_DO_FAIL,
					  .reason = "the answer was cut short by the provider" });
	return TH_OK;
}

static enum th_code on_model_started(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_model_started d;
	enum th_code code = th_step_parse(st, &d);

	if (code)
		return code;
	if (s->phase != TH_TURN_REQUESTED || s->started.len)
		return th_fail(st->err, TH_EPROTO, "no answer is awaited that could be started");
	if (!d.response_id.len || d.response_id.len > TH_RESPONSE_ID_MAX)
		return th_fail(st->err, TH_ELIMIT, "a response's id has 1 to %d bytes",
			       TH_RESPONSE_ID_MAX);
	th_buf_add(&s->started, d.response_id);
	return TH_OK;
}

static enum th_code on_model_failed(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_model_failed d;
	enum th_code code = th_step_parse(st, &d);

	if (code)
		return code;
	if (s->phase != TH_TURN_REQUESTED)
		return th_fail(st->err, TH_EPROTO, "no answer is awaited");
	if (d.next.len && !th_str_eq(d.next, th_session_next_model(s)))
		return th_fail(
		    st->err, TH_EDIVERGED,
		    "diverged: the log goes on with the model %.*s, this build would with "
		    "\"%.*s\"",
		    TH_FMT(th_utf8_cut(d.next, 80)),
		    TH_FMT(th_utf8_cut(th_session_next_model(s), 80)));
	add_usage(&s->totals, th_json_get(st->data, "usage"), 0);
	if (d.whole || d.next.len)
		th_buf_clear(&s->chain);
	if (!d.kept)
		th_buf_clear(&s->started);
	if (may_have_cost(d.class) && !d.kept && !th_json_get(st->data, "usage"))
		hold_reservation(s);
	s->reserved = (struct th_reservation){ 0 };
	/* What cancelled it has said why. */
	if (s->state == TH_STATE_RUNNING || !th_str_is(d.class, "cancelled"))
		th_step_reason(s, d.message);
	if (s->tripped) {
		th_step_phase(s, TH_TURN_REST); /* and the guardrail's reason is why */
	} else if (th_str_is(d.class, "cancelled")) {
		th_step_phase(s, TH_TURN_DUE);
		s->totals.attempts = 0;
	} else if (d.whole) {
		th_step_phase(s, TH_TURN_DUE); /* it was no try: nothing was asked */
		s->totals.attempts = TH_MAX(s->totals.attempts - 1, (int64_t)0);
	} else if (d.retry) {
		th_step_phase(s, TH_TURN_BACKOFF);
		s->retry_in_ms = d.retry_in_ms;
		th_step_emit(st->out, (struct th_effect){ .kind = TH_DO_TIMER_SET,
							  .retry_in_ms = d.retry_in_ms });
	} else if (d.next.len) {
		th_step_phase(s, TH_TURN_DUE);
		s->model_at++;
		s->totals.attempts = 0;
	} else {
		th_step_phase(s, TH_TURN_REST);
		s->turn_failed = true;
		th_step_emit(st->out, (struct th_effect){ .kind = TH_DO_FAIL,
							  .reason = "the model gave no answer" });
	}
	return TH_OK;
}

/* By the event it points to; a first CALL has none and goes by order. */
struct th_call *th_step_call(struct th_step *st, unsigned phases)
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

static enum th_code no_call(struct th_step *st)
{
	return th_fail(st->err, TH_EPROTO, "no open call fits this %s of \"%.*s\"",
		       th_event_name(st->ev->kind), TH_FMT(th_utf8_cut(st->ev->call, 80)));
}

/* A step that the loop itself takes: the log has one, this code would take another. */
static enum th_code other_step(struct th_step *st)
{
	const struct th_session *s = st->s;
	const char *phase = "no such call";

	for (size_t i = 0; i < s->call_count; i++)
		if (th_str_eq(s->calls[i].call_id, st->ev->call))
			phase = call_phase_names[s->calls[i].phase];
	return th_fail(
	    st->err, TH_EDIVERGED,
	    "diverged: the log has an event \"%s\" for the call \"%.*s\", which for this "
	    "build is \"%s\"",
	    th_event_name(st->ev->kind), TH_FMT(th_utf8_cut(st->ev->call, 80)), phase);
}

static enum th_code other_action(struct th_step *st, const struct th_call *c, const char *ours,
				 const char *does, struct th_str tool, struct th_str digest)
{
	return th_fail(st->err, TH_EDIVERGED,
		       "diverged: the log %s %.*s %.*s, the answer asks for %.*s %.12s", does,
		       TH_FMT(th_utf8_cut(tool, 60)), TH_FMT(th_str_sub(digest, 0, 12)),
		       TH_FMT(th_utf8_cut(c->tool, 60)), ours);
}

/* A call as the log has it against the one that stands in the answer.  What a computer is to do is
 * the models' to read (run/driver_calls.c). */
static enum th_code check_call(struct th_step *st, const struct th_call *c,
			       const struct th_ev_call *d)
{
	struct th_buf arguments = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	char logged[TH_SHA256_HEX_SIZE + 1], ours[TH_SHA256_HEX_SIZE + 1];
	enum th_code code = TH_OK;

	th_call_digest(d->tool, d->arguments, logged);
	if (c->computer)
		th_buf_add(&arguments, d->arguments);
	else
		(void)th_call_arguments(c->arguments, &arguments, NULL);
	th_call_digest(c->tool, th_buf_str(&arguments), ours);
	if (!th_str_is(d->digest, logged))
		code = th_fail(
		    st->err, TH_EDIVERGED,
		    "diverged: the log calls %.*s with the digest %.12s, its arguments have "
		    "%.12s",
		    TH_FMT(th_utf8_cut(d->tool, 60)), d->digest.ptr, logged);
	else if (strcmp(logged, ours) != 0)
		code = other_action(st, c, ours, "calls", d->tool, d->digest);
	th_buf_deinit(&arguments);
	return code;
}

void th_call_phase_set(struct th_call *c, enum th_call_phase phase)
{
	c->phase = phase;
	c->emitted = phase == TH_CALL_SETTLED;
}

/* What finding the call's elements cost is the turn's. */
static enum th_code take_grounding(struct th_step *st, struct th_call *c, struct th_str grounding)
{
	struct th_totals *t = &st->s->totals;
	struct th_json_doc *doc;
	const struct th_json *v;
	enum th_code code = th_json_parse(grounding, &doc, st->err);

	if (code)
		return th_prefix(st->err, code, "grounding");
	v = th_json_root(doc);
	c->grounded = true;
	t->tokens_in = add_up(t->tokens_in, th_json_int(th_json_get(v, "input"), 0));
	t->tokens_out = add_up(t->tokens_out, th_json_int(th_json_get(v, "output"), 0));
	t->cost_nano = add_up(t->cost_nano, th_json_int(th_json_get(v, "cost_nano"), 0));
	t->cost_unknown |= th_json_is_null(th_json_get(v, "cost_nano"));
	th_json_free(doc);
	return TH_OK;
}

static enum th_code on_call(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_call d;
	struct th_call *c = th_step_call(st, 1u << TH_CALL_SEEN);
	enum th_code code = th_step_parse(st, &d);
	int class, policy;

	if (code)
		return code;
	if (!c)
		return other_step(st);
	class = th_class_find(d.class);
	policy = th_names_find(policy_names, d.policy);
	if (class < 0 || policy < 0 || d.digest.len != TH_SHA256_HEX_SIZE)
		return th_fail(st->err, TH_EPROTO, "class, policy or digest of the call are wrong");
	code = check_call(st, c, &d);
	if (code)
		return code;
	c->unknown_tool = d.unknown;
	c->class = (enum th_class) class;
	c->policy = (enum th_policy)policy;
	c->arguments = th_arena_str(&s->turn, d.arguments);
	c->reason = th_arena_str(&s->turn, d.reason);
	memcpy(c->digest, d.digest.ptr, TH_SHA256_HEX_SIZE);
	c->digest[TH_SHA256_HEX_SIZE] = '\0';
	c->call_seq = st->ev->seq;
	if (d.grounding.len)
		code = take_grounding(st, c, d.grounding);
	if (code)
		return code;
	switch (c->policy) {
	case TH_POLICY_RUN:
		/* Safety checks of the provider and class X always need a person. */
		if (c->safety_checks.len > 0 || c->class == TH_CLASS_X)
			th_call_phase_set(c, TH_CALL_RECORDED);
		else
			th_call_phase_set(c, TH_CALL_CLEARED);
		break;
	case TH_POLICY_ASK:
		th_call_phase_set(c, TH_CALL_RECORDED);
		break;
	case TH_POLICY_REFUSE:
	case TH_POLICY_COUNT:
		th_call_phase_set(c, TH_CALL_DENIED);
		break;
	}
	if (c->unknown_tool && th_session_member(s)->unknown_tool_fails)
		th_ladder_trip(s, st->out, "model", c->reason);
	if (s->tripped && c->phase != TH_CALL_DENIED) {
		c->reason = TH_STR("the run was stopped before this call began");
		th_call_phase_set(c, TH_CALL_DENIED);
	}
	return TH_OK;
}

static enum th_code on_approval_requested(struct th_step *st)
{
	struct th_ev_approval_requested d;
	struct th_call *c = th_step_call(st, 1u << TH_CALL_RECORDED);
	enum th_code code = th_step_parse(st, &d);

	if (code)
		return code;
	if (!c)
		return other_step(st);
	if (!th_str_is(d.digest, c->digest))
		return other_action(st, c, c->digest, "asks about", c->tool, d.digest);
	c->reason = th_arena_str(&st->s->turn, d.reason);
	c->was_asked = true;
	th_call_phase_set(c, TH_CALL_ASKED);
	th_step_reason(st->s, d.reason);
	return th_step_state(st, TH_STATE_WAITING);
}

const struct th_call *th_session_waits(const struct th_session *s, enum th_call_phase phase,
				       struct th_str call_id)
{
	for (size_t i = 0; i < s->call_count; i++)
		if (s->calls[i].phase == phase &&
		    (!call_id.len || th_str_eq(call_id, s->calls[i].call_id)))
			return &s->calls[i];
	return NULL;
}

/* Does a call wait for a person? */
bool th_session_waits_any(const struct th_session *s)
{
	return th_session_waits(s, TH_CALL_ASKED, TH_STR("")) ||
	       th_session_waits(s, TH_CALL_PARKED, TH_STR(""));
}

static enum th_code on_approval_decided(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_approval_decided d;
	struct th_call *c = th_step_call(st, 1u << TH_CALL_ASKED);
	enum th_code code = th_step_parse(st, &d);

	if (code)
		return code;
	if (!c)
		return no_call(st);
	if (!th_str_is(d.digest, c->digest))
		return th_fail(st->err, TH_EPROTO,
			       "the decision is about another action than the one that waits");
	c->approved = d.approve;
	if (d.approve)
		c->approval_seq = st->ev->seq;
	else
		c->reason = th_arena_str(&s->turn, d.message.len ? d.message
								 : TH_STR("a person rejected it"));
	if (d.always)
		th_sticky_set(st, c, d.approve, d.message);
	th_call_phase_set(c, d.approve ? TH_CALL_CLEARED : TH_CALL_DENIED);
	if (!th_session_waits_any(s) && s->state == TH_STATE_WAITING)
		return th_step_state(st, TH_STATE_RUNNING);
	return TH_OK;
}

static enum th_code on_intent(struct th_step *st)
{
	struct th_ev_intent d;
	struct th_call *c = th_step_call(st, 1u << TH_CALL_CLEARED);
	enum th_code code = th_step_parse(st, &d);

	if (code)
		return code;
	if (!c)
		return other_step(st);
	if (!th_str_is(d.digest, c->digest) || !th_str_eq(d.tool, c->tool))
		return other_action(st, c, c->digest, "intends", d.tool, d.digest);
	if (!th_str_is(d.class, th_class_name(c->class)))
		return th_fail(
		    st->err, TH_EDIVERGED,
		    "diverged: the log intends %.*s as class %.*s, its call was class %s",
		    TH_FMT(th_utf8_cut(d.tool, 60)), TH_FMT(th_utf8_cut(d.class, 8)),
		    th_class_name(c->class));
	/* The intent uses the approval up: it names it, and no other intent can. */
	if ((uint64_t)d.approval != c->approval_seq)
		return th_fail(
		    st->err, TH_EDIVERGED,
		    "diverged: the intent uses the approval of event %lld, the call has that "
		    "of event %llu",
		    (long long)d.approval, (unsigned long long)c->approval_seq);
	c->effect_id = th_arena_str(&st->s->turn, d.effect_id);
	c->journal = th_arena_str(&st->s->turn, d.journal);
	c->epoch = d.epoch;
	c->intent_seq = st->ev->seq;
	th_call_phase_set(c, TH_CALL_INTENDED);
	return TH_OK;
}

static void note_doubt(struct th_session *s, const struct th_call *c)
{
	if (!c->effect_id.len)
		return;
	if (c->status == TH_OUTCOME_UNKNOWN && c->class != TH_CLASS_L && c->class != TH_CLASS_R)
		th_doubts_add(&s->doubts, c->outcome_seq, c->tool, c->arguments, c->digest);
	else
		th_doubts_ended(&s->doubts, c->call_seq, c->tool, c->arguments, c->digest, c->class,
				c->status);
}

static enum th_code on_parked(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_parked d;
	struct th_call *c = th_step_call(st, 1u << TH_CALL_INTENDED);
	enum th_code code = th_step_parse(st, &d);

	if (code)
		return code;
	if (!c || !th_str_eq(d.effect_id, c->effect_id))
		return no_call(st);
	c->told = th_arena_str(&s->turn, d.output);
	c->evidence = th_arena_str(&s->turn, d.evidence);
	c->observation = th_arena_str(&s->turn, d.observation);
	c->elapsed_ms = d.elapsed_ms;
	th_call_phase_set(c, TH_CALL_PARKED);
	th_step_reason(s, TH_STR("nobody knows whether an action happened; a person must say"));
	return s->state == TH_STATE_RUNNING ? th_step_state(st, TH_STATE_WAITING) : TH_OK;
}

static enum th_code on_settled(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_settled d;
	struct th_call *c = th_step_call(st, 1u << TH_CALL_PARKED);
	enum th_code code = th_step_parse(st, &d);
	int status;

	if (code)
		return code;
	if (!c)
		return no_call(st);
	if (!th_str_eq(d.effect_id, c->effect_id))
		return th_fail(st->err, TH_EPROTO, "the word is about another effect");
	status = th_outcome_find(d.status);
	if (status != TH_OUTCOME_DONE && status != TH_OUTCOME_NOT_STARTED &&
	    status != TH_OUTCOME_UNKNOWN)
		return th_fail(st->err, TH_EPROTO, "a person says done, not_started or unknown");
	c->status = (enum th_outcome_status)status;
	c->reason = th_arena_str(&s->turn, d.message);
	c->by = th_arena_str(&s->turn, d.by);
	c->word_by_person = true;
	th_call_phase_set(c, TH_CALL_JUDGED);
	if (!th_session_waits_any(s) && s->state == TH_STATE_WAITING)
		return th_step_state(st, TH_STATE_RUNNING);
	return TH_OK;
}

static enum th_code on_outcome(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_outcome d;
	/* Without an effect_id nothing was started: any open call may end so (refused, cancelled).
	 */
	struct th_call *c =
	    th_step_call(st, ~(1u << TH_CALL_SETTLED | 1u << TH_CALL_SEEN | 1u << TH_CALL_PARKED));
	enum th_code code = parse_plain(st, &d);
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
	if (c->phase >= TH_CALL_INTENDED && !d.effect_id.len)
		return th_fail(st->err, TH_EPROTO, "an intended call's outcome names its effect");
	if (c->phase == TH_CALL_JUDGED && (enum th_outcome_status)status != c->status)
		return th_fail(st->err, TH_EDIVERGED,
			       "diverged: the log says %.*s, the person said %s", TH_FMT(d.status),
			       th_outcome_name(c->status));
	c->status = (enum th_outcome_status)status;
	c->outcome_seq = st->ev->seq;
	note_doubt(s, c);
	th_call_phase_set(c, TH_CALL_SETTLED);
	th_ladder_outcome(st, c, th_json_get(st->data, "output"));
	s->items++;
	s->totals.calls_unknown += c->status == TH_OUTCOME_UNKNOWN;
	turn_over(s);
	if (!th_session_waits_any(s) && s->state == TH_STATE_WAITING)
		return th_step_state(st, TH_STATE_RUNNING);
	return TH_OK;
}

/* What runs is told to stop.  After a stop for good, calls that have not begun will be refused. */
static void cancel_open(struct th_step *st, bool for_good)
{
	struct th_session *s = st->s;

	if (s->phase == TH_TURN_REQUESTED)
		th_step_emit(st->out, (struct th_effect){ .kind = TH_DO_MODEL_CANCEL });
	for (size_t i = 0; i < s->call_count; i++) {
		struct th_call *c = &s->calls[i];

		if (c->phase == TH_CALL_INTENDED) {
			if (for_good)
				th_step_emit(st->out, (struct th_effect){ .kind = TH_DO_TOOL_CANCEL,
									  .call = i });
		} else if (for_good && c->phase == TH_CALL_PARKED) {
			c->status = TH_OUTCOME_UNKNOWN;
			th_call_phase_set(c, TH_CALL_JUDGED);
		} else if (for_good && c->phase < TH_CALL_INTENDED && c->phase != TH_CALL_SEEN) {
			c->reason = TH_STR("the run was cancelled before this call began");
			th_call_phase_set(c, TH_CALL_DENIED);
		}
	}
}

static enum th_code on_state_changed(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_state_changed d;
	enum th_code code = th_step_parse(st, &d);
	bool failed = s->state == TH_STATE_FAILED;
	int to;

	if (code)
		return code;
	to = th_state_find(d.to);
	if (to < 0)
		return th_fail(st->err, TH_EPROTO, "unknown state \"%.*s\"",
			       TH_FMT(th_utf8_cut(d.to, 40)));
	code = th_step_state(st, (enum th_state)to);
	if (code)
		return code;
	th_step_reason(s, d.reason);
	/* No timer of before rings again, and a replay has none: what waited for one is due. */
	if (s->phase == TH_TURN_BACKOFF)
		th_step_phase(s, TH_TURN_DUE);
	/* A limit is found with a request under way only when that was another process's. */
	if (to == TH_STATE_LIMIT && s->phase == TH_TURN_REQUESTED) {
		hold_reservation(s);
		th_step_phase(s, TH_TURN_DUE);
	}
	if (to == TH_STATE_STOPPED || to == TH_STATE_PAUSED)
		cancel_open(st, to == TH_STATE_STOPPED);
	if (to == TH_STATE_RUNNING) {
		release_marks(s);
		s->turn_given = false;
		if (failed)
			th_ladder_untrip(s);
		/* What tripped before it was said is the ladder's to end. */
		if (s->phase == TH_TURN_REST && !s->tripped)
			th_step_phase(s, TH_TURN_DUE);
		s->totals.task_turns = 0;
		s->totals.attempts = 0;
		s->task_ms = st->ev->ts_ms;
		ask_first(s);
		turn_over(s);
		if (th_session_waits_any(s))
			return th_step_state(st, TH_STATE_WAITING);
	}
	return TH_OK;
}

static enum th_code on_budget(struct th_step *st)
{
	struct th_agent_limits limits;
	enum th_code code = th_table_parse(&th_agent_limits_table, th_json_get(st->data, "limits"),
					   st->scratch, &limits, st->err);

	if (code)
		return code;
	th_session_limits(st->s, &limits);
	return TH_OK;
}

static enum th_code on_error(struct th_step *st)
{
	struct th_ev_error d;
	enum th_code code = th_step_parse(st, &d);

	if (code)
		return code;
	code = th_step_state(st, TH_STATE_FAILED);
	if (code)
		return code;
	th_step_reason(st->s, d.message);
	if (st->s->phase != TH_TURN_CALLS)
		th_step_phase(st->s, TH_TURN_REST);
	return TH_OK;
}

static enum th_code on_final(struct th_step *st)
{
	if ((st->s->phase != TH_TURN_REST && st->s->phase != TH_TURN_CHECK) ||
	    st->s->state != TH_STATE_RUNNING)
		return th_fail(st->err, TH_EPROTO, "there is no final answer to finish with");
	th_step_phase(st->s, TH_TURN_REST);
	if (th_json_bool(th_json_get(st->data, "in_history"), false)) {
		st->s->rewritten_seq = st->ev->seq;
		st->s->items++;
	}
	th_buf_clear(&st->s->reason);
	return th_step_state(st, TH_STATE_FINISHED);
}

/* Written by later parts of the house; the fold keeps them, and they change nothing here yet. */
static enum th_code on_noted(struct th_step *st)
{
	(void)st;
	return TH_OK;
}

typedef enum th_code handler_fn(struct th_step *);

static handler_fn *const handlers[TH_EVENT_COUNT] = {
	[TH_EV_SESSION_CREATED] = on_session_created,
	[TH_EV_SESSION_FORKED] = on_session_forked,
	[TH_EV_MESSAGE] = on_message,
	[TH_EV_MODEL_REQUESTED] = on_model_requested,
	[TH_EV_MODEL_STARTED] = on_model_started,
	[TH_EV_MODEL_ANSWERED] = on_model_answered,
	[TH_EV_MODEL_FAILED] = on_model_failed,
	[TH_EV_CALL] = on_call,
	[TH_EV_APPROVAL_REQUESTED] = on_approval_requested,
	[TH_EV_APPROVAL_DECIDED] = on_approval_decided,
	[TH_EV_INTENT] = on_intent,
	[TH_EV_OUTCOME] = on_outcome,
	[TH_EV_PARKED] = on_parked,
	[TH_EV_SETTLED] = on_settled,
	[TH_EV_GUARDRAIL] = th_on_guardrail,
	[TH_EV_HANDOFF] = th_on_handoff,
	[TH_EV_CODE] = th_on_code,
	[TH_EV_ITEMS_ADDED] = th_on_items_added,
	[TH_EV_ITEMS_REMOVED] = th_on_items_removed,
	[TH_EV_DELEGATION_STARTED] = on_noted,
	[TH_EV_DELEGATION_FINISHED] = on_noted,
	[TH_EV_CONDENSATION] = on_noted,
	[TH_EV_STATE_CHANGED] = on_state_changed,
	[TH_EV_BUDGET] = on_budget,
	[TH_EV_ERROR] = on_error,
	[TH_EV_FINAL] = on_final,
};

/* Whoever copies something looks only whether it fits; here it shows whether there was memory. */
static bool ran_out(const struct th_session *s, const struct th_arena *scratch)
{
	return scratch->no_memory || s->chain.no_memory || s->started.no_memory ||
	       s->turn.no_memory || s->kept.no_memory || s->final.no_memory ||
	       s->reason.no_memory || s->trip.no_memory;
}

enum th_code th_session_step(struct th_session *s, const struct th_event *ev,
			     struct th_effects *ret, struct th_err *err)
{
	struct th_arena scratch;
	struct th_json_doc *doc = NULL;
	struct th_step st = { .s = s, .ev = ev, .scratch = &scratch, .out = ret, .err = err };
	enum th_code code;

	assert(ev->kind < TH_EVENT_COUNT);
	ret->count = 0;
	if (ev->seq != s->seq + 1)
		return th_fail(err, TH_EPROTO, "event %llu follows event %llu",
			       (unsigned long long)ev->seq, (unsigned long long)s->seq);
	if (s->state == TH_STATE_LOADING && ev->kind != TH_EV_SESSION_CREATED)
		return th_fail(err, TH_EPROTO,
			       "the first event of a session must be session_created");
	if (s->no_memory)
		return th_fail_memory(err);
	code = th_json_try_parse(ev->data, &doc, err);
	s->no_memory = code == TH_ENOMEM;
	if (code)
		return th_prefix(err, code, "event %llu (%s)", (unsigned long long)ev->seq,
				 th_event_name(ev->kind));
	th_arena_init_try(&scratch, TH_TURN_MEMORY_MAX);
	st.data = th_json_root(doc);
	/* A later event of a task counts towards its running time even when it is refused by
	 * limits. */
	code = handlers[ev->kind](&st);
	if (code == TH_ENOMEM || ran_out(s, &scratch)) {
		s->no_memory = true;
		code = th_fail_memory(err);
	}
	if (!code) {
		if (breaks_chain(ev->kind))
			th_buf_clear(&s->chain);
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
		c->guard_given = false;
		if (c->phase == TH_CALL_INTENDED) {
			c->emitted = true;
			th_step_emit(ret,
				     (struct th_effect){ .kind = TH_DO_TOOL_SETTLE, .call = i });
		}
		/* Only a fork can begin between the two events of a handoff. */
		if (s->state == TH_STATE_RUNNING && s->phase == TH_TURN_CALLS && !s->handed &&
		    th_call_hands_over(c))
			th_step_emit(ret, (struct th_effect){ .kind = TH_DO_HAND_OVER, .call = i });
	}
	s->notified = s->turn_given = s->use_given = false;
	s->guards_in_given = s->guards_out_given = 0;
	if (s->state == TH_STATE_RUNNING) {
		if (s->phase == TH_TURN_BACKOFF)
			th_step_phase(s, TH_TURN_DUE);
		if (s->phase == TH_TURN_REQUESTED && s->tripped)
			th_step_emit(ret, (struct th_effect){ .kind = TH_DO_MODEL_CANCEL });
		else if (s->phase == TH_TURN_REQUESTED)
			due_turn(s, ret);
		/* Only a fork can begin between an answer, or its failure, and what follows. */
		if (s->phase == TH_TURN_REST && s->tripped)
			; /* the ladder's to end */
		else if (s->phase == TH_TURN_REST && (s->turn_failed || s->answer_incomplete))
			th_step_emit(ret,
				     (struct th_effect){ .kind = TH_DO_FAIL,
							 .reason = "the model gave no answer" });
		else if (s->phase == TH_TURN_REST && s->answer_seq)
			th_step_finish(s, ret);
	}
	due(s, ret);
}

void th_session_wake(struct th_session *s, struct th_effects *ret)
{
	ret->count = 0;
	if (s->phase == TH_TURN_BACKOFF && s->state == TH_STATE_RUNNING) {
		th_step_phase(s, TH_TURN_DUE);
		due(s, ret);
	}
}

bool th_call_arguments(struct th_str text, struct th_buf *out, struct th_err *err)
{
	struct th_json_doc *doc = NULL;
	bool good = !th_json_parse(text.len ? text : TH_STR("{}"), &doc, err);
	struct th_jw w = th_jw(out);

	if (good && !th_json_is_object(th_json_root(doc)))
		good = th_fail(err, TH_EPROTO, "it must be a JSON object") == TH_OK;
	if (good)
		th_jw_json(&w, th_json_root(doc));
	else
		th_jw_str(&w, text);
	th_json_free(doc);
	return good;
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

static void print_doubts(const struct th_session *s, struct th_jw *w)
{
	if (s->doubts.count == 0)
		return;
	th_jw_key(w, TH_STR("doubts"));
	th_jw_array(w);
	for (size_t i = 0; i < s->doubts.count; i++) {
		th_jw_object(w);
		th_jw_kuint(w, "seq", s->doubts.list[i].seq);
		th_jw_kstr(w, "digest", th_str_of(s->doubts.list[i].digest));
		th_jw_object_end(w);
	}
	th_jw_array_end(w);
}

void th_session_print(const struct th_session *s, struct th_jw *w)
{
	static const char *const phases[TH_TURN_PHASE_COUNT] = { "rest",    "due",   "requested",
								 "backoff", "calls", "check" };
	const struct th_totals *t = &s->totals;

	th_jw_object(w);
	th_jw_kstr(w, "state", th_str_of(th_state_name(s->state)));
	th_jw_kstr(w, "phase", th_str_of(phases[s->phase]));
	th_jw_kint(w, "seq", (int64_t)s->seq);
	th_jw_kstr(w, "agent", s->agent_name);
	th_jw_kstr(w, "model", s->model);
	th_ladder_print(s, w);
	if (s->model_at)
		th_jw_kstr(w, "asks", th_session_member(s)->fallback.list[s->model_at - 1]);
	if (s->started.len)
		th_jw_kstr(w, "started", th_buf_str(&s->started));
	if (s->chain.len)
		th_jw_kstr(w, "response_id", th_buf_str(&s->chain));
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
	th_jw_kint(w, "tokens_held", t->tokens_held);
	th_jw_kint(w, "cost_held_nano", t->cost_held_nano);
	if (s->unread)
		th_jw_kint(w, "unread", s->unread);
	th_jw_kint(w, "tokens_reserved", s->reserved.tokens);
	if (s->reason.len)
		th_jw_kstr(w, "reason", th_buf_str(&s->reason));
	if (s->final.len)
		th_jw_kstr(w, "final", th_buf_str(&s->final));
	print_calls(s, w);
	print_doubts(s, w);
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
