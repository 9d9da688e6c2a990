/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openhands_goal.c - how a session stands to its goal, as OpenHands tells it of the loop that it
 * has beside a conversation; ours is a judge of the session itself (core/session_judge.c), and all
 * of it is made of the log.
 */
#include "agents/agent.h"
#include "base/text.h"
#include "forms/openhands_write.h"

/* The judge's own, as the fold has it. */
void th_openhands_goal_created(struct th_openhands_goal *g, const struct th_json *created)
{
	const struct th_json *judge = th_json_get(th_json_get(created, "agent"), "judge");
	double own = th_json_num(th_json_get(judge, "threshold"), 0);
	bool has_own = own > 0 && !th_json_get_str(created, "begins").len;

	g->threshold = has_own ? own : TH_JUDGE_THRESHOLD_DEFAULT;
}

static const char *on_goal(struct th_openhands_goal *g, const struct th_json *v,
			   struct th_arena *memory)
{
	struct th_str goal = th_json_get_str(v, "goal");
	bool told = g->halted;

	g->on = goal.len > 0;
	g->halted = false;
	if (!goal.len)
		return told ? NULL : "interrupted";
	g->objective = th_arena_str(memory, goal);
	g->rounds = th_json_get_int(v, "rounds", 0);
	g->given = th_json_get_int(v, "given", 0);
	return "running";
}

static const char *on_verdict(struct th_openhands_goal *g, const struct th_json *v,
			      bool *ret_judged)
{
	bool reached = th_json_bool(th_json_get(v, "complete"), false) &&
		       th_json_num(th_json_get(v, "score"), 0) >= g->threshold;
	bool failed = th_json_get_str(v, "failed").len > 0, last;

	if (!g->on)
		return NULL;
	last = ++g->given >= g->rounds;
	g->halted = false;
	g->on = failed ? !last : !reached && !last;
	*ret_judged = !failed;
	if (failed)
		return last ? "interrupted" : NULL;
	return reached ? "complete" : last ? "capped" : "running";
}

/* Whether the run goes on: theirs is interrupted by what ours outlasts. */
static const char *halt(struct th_openhands_goal *g, bool halts)
{
	if (!g->on || g->halted == halts)
		return NULL;
	g->halted = halts;
	return halts ? "interrupted" : "running";
}

/* A final output that nobody judged counts, and reaches no goal. */
static const char *leave(struct th_openhands_goal *g)
{
	const char *status = halt(g, true);

	g->on = false;
	return status;
}

static const char *on_state(struct th_openhands_goal *g, const struct th_json *v)
{
	struct th_str to = th_json_get_str(v, "to");

	g->held = th_str_is(to, "paused") || th_str_is(to, "scheduled");
	if (th_str_is(th_json_get_str(v, "reason"), TH_HELD_REASON) || th_str_is(to, "waiting"))
		return NULL;
	return halt(g, !th_str_is(to, "running"));
}

const char *th_openhands_goal_step(struct th_openhands_goal *g, const struct th_event *ev,
				   const struct th_json *v, struct th_arena *memory,
				   bool *ret_judged)
{
	*ret_judged = false;
	if (ev->kind == TH_EV_GOAL)
		return on_goal(g, v, memory);
	if (ev->kind == TH_EV_VERDICT)
		return on_verdict(g, v, ret_judged);
	if (ev->kind == TH_EV_FINAL)
		return leave(g);
	if (ev->kind == TH_EV_ERROR || ev->kind == TH_EV_SESSION_FORKED)
		return halt(g, true);
	if (ev->kind == TH_EV_MESSAGE && ev->source == TH_SOURCE_USER && !g->held)
		return halt(g, false);
	return ev->kind == TH_EV_STATE_CHANGED ? on_state(g, v) : NULL;
}
