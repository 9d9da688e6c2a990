/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_budget.c - the limits of a session, and what a person gives it beyond
 * them (BUDGET).
 *
 * Tokens and money are limits of the whole session: what is given is added to
 * the limit.  Turns and running time are those of a task, and a later one has
 * what its agent file says: what is given is the task's.
 */
#include "core/session_internal.h"

#define NANO 1e9

void th_step_limits(struct th_session *s, const struct th_agent_limits *l)
{
	s->turns_max = l && l->turns ? l->turns : TH_TURNS_DEFAULT;
	s->attempts_max = l && l->model_attempts ? l->model_attempts : TH_ATTEMPTS_DEFAULT;
	s->tokens_max = l ? l->tokens : 0;
	s->seconds_max = l ? l->seconds : 0;
	s->cost_nano_max = l ? (int64_t)TH_MIN(l->cost_usd * NANO, 0x1p62) : 0;
	s->calls_max = l ? l->parallel_calls : 0;
	s->delegates_max = l && l->parallel_agents
			       ? TH_MIN(l->parallel_agents, (int64_t)TH_DELEGATES_PARALLEL_MAX)
			       : TH_DELEGATES_PARALLEL_DEFAULT;
}

/* As they are now. */
static void limits_now(const struct th_session *s, struct th_agent_limits *ret)
{
	*ret = (struct th_agent_limits){
		.turns = s->turns_max,
		.tokens = s->tokens_max,
		.cost_usd = (double)s->cost_nano_max / NANO,
		.seconds = s->seconds_max,
		.model_attempts = s->attempts_max,
		.parallel_calls = s->calls_max,
		.parallel_agents = s->delegates_max,
	};
}

bool th_step_turns_used(const struct th_session *s)
{
	return s->totals.task_turns >= th_add_up(s->turns_max, s->turns_more);
}

void th_step_count_anew(struct th_step *st, bool resumed)
{
	struct th_session *s = st->s;

	if (!resumed || !s->turns_given)
		s->totals.task_turns = s->turns_more = 0;
	if (resumed && s->seconds_given) /* the time at rest was a person's */
		s->task_ms += TH_MAX(st->ev->ts_ms - s->given_ms, (int64_t)0);
	else
		s->task_ms = st->ev->ts_ms;
	s->turns_given = s->seconds_given = false;
}

static bool rests_at_end(enum th_state s)
{
	return s == TH_STATE_LIMIT || s == TH_STATE_FAILED || s == TH_STATE_STUCK ||
	       s == TH_STATE_STOPPED;
}

/* Beyond what is used, where more is used than there was. */
static int64_t raised(int64_t max, int64_t used, int64_t more)
{
	return th_add_up(TH_MAX(max, used), more);
}

enum th_code th_more_of(const struct th_agent_limits *numbers, struct th_more *ret,
			struct th_err *err)
{
	if (numbers->model_attempts || numbers->parallel_calls || numbers->parallel_agents ||
	    numbers->command_seconds)
		return th_fail(err, TH_EUSAGE, "turns, tokens, cost_usd and seconds can be given");
	*ret = (struct th_more){ .turns = numbers->turns,
				 .tokens = numbers->tokens,
				 .seconds = numbers->seconds,
				 .cost_usd = numbers->cost_usd };
	return TH_OK;
}

enum th_code th_session_more(const struct th_session *s, const struct th_more *more,
			     struct th_agent_limits *ret, struct th_err *err)
{
	const struct th_totals *t = &s->totals;
	int64_t tokens = th_add_up(th_add_up(t->tokens_in, t->tokens_out),
				   th_add_up(t->tokens_held, s->reserved.tokens));
	int64_t cost = th_add_up(t->cost_nano, th_add_up(t->cost_held_nano, s->reserved.cost_nano));

	if (more->turns < 0 || more->tokens < 0 || more->seconds < 0 || !(more->cost_usd >= 0) ||
	    more->cost_usd > TH_COST_USD_MAX)
		return th_fail(err, TH_EUSAGE,
			       "what is given must be above 0, and at most %d "
			       "dollars",
			       TH_COST_USD_MAX);
	if (!more->turns && !more->tokens && !more->seconds && !(more->cost_usd > 0))
		return th_fail(err, TH_EUSAGE,
			       "nothing is given: turns, tokens, cost_usd and seconds can be");
	if ((more->tokens && !s->tokens_max) || (more->cost_usd > 0 && !s->cost_nano_max) ||
	    (more->seconds && !s->seconds_max))
		return th_fail(err, TH_EUSAGE, "the session has no limit of %s",
			       more->tokens && !s->tokens_max     ? "tokens"
			       : more->seconds && !s->seconds_max ? "running time"
								  : "cost");
	limits_now(s, ret);
	if (more->tokens)
		ret->tokens = raised(s->tokens_max, tokens, more->tokens);
	if (more->cost_usd > 0)
		ret->cost_usd =
		    (double)raised(s->cost_nano_max, cost, (int64_t)(more->cost_usd * NANO)) / NANO;
	return TH_OK;
}

enum th_code th_on_budget(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_agent_limits limits;
	struct th_ev_budget d;
	enum th_code code = th_step_parse(st, &d);
	int64_t over;

	if (!code)
		code = th_table_parse(&th_agent_limits_table, th_json_get(st->data, "limits"),
				      st->scratch, &limits, st->err);
	if (code)
		return code;
	th_step_limits(s, &limits);
	if (d.turns) {
		over = s->totals.task_turns - s->turns_max;
		s->turns_more = th_add_up(TH_MAX(s->turns_more, over), d.turns);
		s->turns_given = rests_at_end(s->state);
	}
	if (d.seconds) {
		s->task_ms = TH_MAX(s->task_ms, st->ev->ts_ms - s->seconds_max * 1000) +
			     TH_MIN(d.seconds, INT64_MAX / 4000) * 1000;
		s->seconds_given = rests_at_end(s->state);
		s->given_ms = st->ev->ts_ms;
	}
	return TH_OK;
}

/* It begins between two tasks, so that all of a task is one or the other; it may end any time. */
enum th_code th_on_plan(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_plan d;
	enum th_code code = th_step_parse(st, &d);

	if (code)
		return code;
	if (d.on == s->plan)
		return th_fail(st->err, TH_EPROTO,
			       d.on ? "plan mode is on already" : "this is not plan mode");
	if (d.on && (s->state == TH_STATE_RUNNING || s->state == TH_STATE_WAITING ||
		     th_state_holds(s->state)))
		return th_fail(st->err, TH_EPROTO,
			       "plan mode begins between tasks, and the session is %s",
			       th_state_name(s->state));
	s->plan = d.on;
	return TH_OK;
}
