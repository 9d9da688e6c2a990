/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delegation_budget.c - what a session that works on a call may use.
 *
 * Divided: what is left to the parent is divided by its calls that delegate, and
 * a part is the child's own limit.  Shared: all draw on what is left; before
 * each request of one it is counted what all of them have used by now.
 */
#include "base/text.h"
#include "live/delegation.h"

const struct th_call *th_delegation_call(struct th_live *l, uint64_t intent_seq)
{
	const struct th_background *b = th_session_background(&l->fold, intent_seq);

	return b ? &b->call : th_live_intended(l, intent_seq);
}

/* The calls of the answer that share what is left. */
static int64_t sharers(const struct th_live *l)
{
	const struct th_session *s = &l->fold;
	int64_t count = 0;

	for (size_t i = 0; i < s->call_count; i++) {
		const struct th_call *c = &s->calls[i];

		count += c->phase != TH_CALL_SETTLED && c->phase != TH_CALL_DENIED &&
			 th_call_delegates(s, c);
	}
	return TH_MAX(count, (int64_t)1);
}

static bool is_shared(const struct th_delegation *g)
{
	return g->tool->budget == TH_BUDGET_SHARED;
}

struct use {
	int64_t tokens, cost_nano;
};

static struct use used(const struct th_session *s)
{
	const struct th_totals *t = &s->totals;

	return (struct use){
		t->tokens_in + t->tokens_out + t->tokens_held + s->reserved.tokens,
		t->cost_nano + t->cost_held_nano + s->reserved.cost_nano,
	};
}

/* What counts already in its parent's totals. */
static struct use used_before(const struct th_call *c)
{
	const struct th_child_before *b = c ? c->before : NULL;

	if (!b)
		return (struct use){ 0 };
	return (struct use){ b->tokens_in + b->tokens_out + b->tokens_held,
			     b->cost_nano + b->cost_held_nano };
}

/* Of it and of all that work for it; or, of these, in the background alone. */
static struct use used_with(struct th_live *l, bool all_of_them)
{
	struct use all = used(&l->fold);

	for (struct th_delegation *g = l->children; g; g = g->next) {
		const struct th_call *c = th_delegation_call(l, g->intent_seq);
		struct use one = used_with(g->child, true), before = used_before(c);
		const struct th_session *s = &g->child->fold;

		if (!all_of_them && !th_session_background(&l->fold, g->intent_seq))
			continue;

		/* One that has a part of its own may use all of it. */
		if (!is_shared(g)) {
			one.tokens = TH_MAX(one.tokens, s->tokens_max);
			one.cost_nano = TH_MAX(one.cost_nano, s->cost_nano_max);
		}
		all.tokens += one.tokens - before.tokens;
		all.cost_nano += one.cost_nano - before.cost_nano;
	}
	return all;
}

static struct use used_by_all(struct th_live *l)
{
	return used_with(l, true);
}

/* What works in the background draws on the same as the run itself. */
static const char *background_limit(struct th_live *l, struct th_reservation next)
{
	const struct th_session *s = &l->fold;
	struct use all = used_by_all(l);

	if (s->tokens_max && all.tokens + next.tokens > s->tokens_max)
		return "the limit of tokens is reached, with what tasks in the background may take";
	if (s->cost_nano_max && all.cost_nano + next.cost_nano > s->cost_nano_max)
		return "the limit of cost is reached, with what tasks in the background may take";
	return NULL;
}

const char *th_live_shared_limit(struct th_live *l, struct th_reservation next)
{
	const char *own = l->fold.background ? background_limit(l, next) : NULL;

	if (own)
		return own;
	for (struct th_delegation *g = l->parent_call; g && g->parent && is_shared(g);
	     g = g->parent->parent_call) {
		const struct th_session *s = &g->parent->fold;
		struct use all = used_by_all(g->parent);

		if (s->tokens_max && all.tokens + TH_MAX(next.tokens, (int64_t)1) > s->tokens_max)
			return "the limit of tokens of the session that it works for is reached, "
			       "with all that work for it";
		if (s->cost_nano_max &&
		    all.cost_nano + TH_MAX(next.cost_nano, (int64_t)1) > s->cost_nano_max)
			return "the limit of cost of the session that it works for is reached, "
			       "with all that work for it";
	}
	return NULL;
}

/* A limit of 0 would be none. */
static int64_t part(int64_t max, int64_t spent, int64_t parts)
{
	return TH_MAX((max - TH_MIN(spent, max)) / parts, (int64_t)1);
}

static int64_t least(int64_t limit, int64_t own)
{
	return !own ? limit : !limit ? own : TH_MIN(limit, own);
}

void th_delegation_share(struct th_live *l, const struct th_agent_command *tool,
			 struct th_str agent, bool background, struct th_agent_limits *limits)
{
	const struct th_agent_task_limit *own = th_agent_task_limit_of(tool, agent);
	const struct th_session *s = &l->fold;
	bool shared = tool->budget == TH_BUDGET_SHARED;
	int64_t parts = shared ? 1 : sharers(l) + background; /* its caller goes on, too */
	struct use mine = used_with(l, shared);
	int64_t own_nano = (int64_t)TH_MIN(tool->cost_usd * 1e9, 0x1p62), cost_nano = 0;
	int64_t left_ms =
	    th_session_time_left_ms(s, l->driver->world.ops->now_ms(l->driver->world.ctx));

	limits->turns = tool->turns ? tool->turns : TH_DELEGATE_TURNS_DEFAULT;
	if (own)
		limits->turns = least(limits->turns, own->turns);
	limits->tokens = limits->seconds = 0;
	if (s->tokens_max)
		limits->tokens = part(s->tokens_max, mine.tokens, parts);
	if (s->cost_nano_max)
		cost_nano = part(s->cost_nano_max, mine.cost_nano, parts);
	limits->tokens = least(limits->tokens, tool->tokens);
	cost_nano = least(cost_nano, own_nano);
	if (own)
		cost_nano = least(cost_nano, (int64_t)TH_MIN(own->cost_usd * 1e9, 0x1p62));
	limits->cost_usd = (double)cost_nano / 1e9;
	if (left_ms >= 0)
		limits->seconds = TH_MAX(left_ms / 1000, (int64_t)1);
	limits->seconds = least(limits->seconds, tool->timeout_s);
}
