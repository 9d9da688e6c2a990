/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/stuck.h"

#include <assert.h>
#include <string.h>

#define PERIOD_MAX 8

static const struct th_stuck_rule thole[] = {
	{ "repeated_call", TH_STUCK_CYCLE, TH_STUCK_BY_RESULT, 1, 1, 4, 0 },
	{ "repeated_error", TH_STUCK_ERRORS, TH_STUCK_BY_ACTION, 1, 1, 4, 0 },
	{ "repeated_round", TH_STUCK_CYCLE, TH_STUCK_BY_RESULT, 2, PERIOD_MAX, 3, 0 },
	{ "screen_unchanged", TH_STUCK_SCREEN, TH_STUCK_BY_ACTION, 1, 1, 10, 0 },
	{ "nothing_new", TH_STUCK_NOTHING_NEW, TH_STUCK_BY_RESULT, 1, 1, 24, 0 },
	{ "repeated_message", TH_STUCK_MESSAGES, TH_STUCK_BY_ACTION, 1, 1, 3, 0 },
	{ "condensed_again", TH_STUCK_CONDENSED, TH_STUCK_BY_ACTION, 1, 1, 3, 0 },
};

/* spec: openhands/controller/stuck.py.  What a command printed does not count there. */
static const struct th_stuck_rule openhands_v0[] = {
	{ "repeating_action_observation", TH_STUCK_CYCLE, TH_STUCK_BY_CODE, 1, 1, 4, 0 },
	{ "repeating_action_error", TH_STUCK_ERRORS, TH_STUCK_BY_ACTION, 1, 1, 3, 0 },
	{ "monologue", TH_STUCK_MESSAGES, TH_STUCK_BY_ACTION, 1, 1, 3, 0 },
	{ "repeating_action_observation_pattern", TH_STUCK_CYCLE, TH_STUCK_BY_CODE, 2, 2, 3, 0 },
	{ "context_window_error", TH_STUCK_CONDENSED, TH_STUCK_BY_ACTION, 1, 1, 10, 0 },
};

/* spec: openhands/sdk/conversation/stuck_detector.py.  Any words are a monologue there. */
static const struct th_stuck_rule openhands_v1[] = {
	{ "repeating_action_observation", TH_STUCK_CYCLE, TH_STUCK_BY_RESULT, 1, 1, 4, 0 },
	{ "repeating_action_error", TH_STUCK_ERRORS, TH_STUCK_BY_ACTION, 1, 1, 4, 3 },
	{ "monologue", TH_STUCK_MESSAGES, TH_STUCK_BY_RESULT, 1, 1, 3, 0 },
	{ "alternating_pattern", TH_STUCK_CYCLE, TH_STUCK_BY_RESULT, 2, 2, 3, 0 },
};

const struct th_stuck_rules th_stuck_rules[TH_STUCK_RULES_COUNT] = {
	[TH_STUCK_RULES_THOLE] = { .name = "thole",
				   .summary = "rounds of up to 8 calls, errors, screens that stay "
					      "the same, nothing new for long",
				   .list = thole,
				   .count = sizeof(thole) / sizeof(thole[0]),
				   .cuts_between = true },
	[TH_STUCK_RULES_OPENHANDS_V0] = { .name = "openhands_v0",
					  .summary = "as OpenHands before its SDK",
					  .list = openhands_v0,
					  .count = sizeof(openhands_v0) / sizeof(openhands_v0[0]),
					  .calls_are_after = true },
	[TH_STUCK_RULES_OPENHANDS_V1] = { .name = "openhands_v1",
					  .summary = "as OpenHands' SDK",
					  .list = openhands_v1,
					  .count = sizeof(openhands_v1) / sizeof(openhands_v1[0]),
					  .window = 20,
					  .words_between = true,
					  .cuts_between = true },
};

void th_stuck_clear(struct th_stuck *s)
{
	s->count = 0; /* what the ring holds is not looked at any more */
}

void th_stuck_add(struct th_stuck *s, const struct th_move *move)
{
	s->ring[s->count % TH_STUCK_MOVES_MAX] = *move;
	s->count++;
}

/* The moves that a rule looks at; the newest is 0. */
struct seen {
	const struct th_move *list[TH_STUCK_MOVES_MAX];
	size_t at[TH_STUCK_MOVES_MAX]; /* counted from 0 since the last clear */
	size_t count;
};

static void see(const struct th_stuck *s, const struct th_stuck_rules *rules,
		const struct th_stuck_rule *r, struct seen *ret)
{
	size_t count = s->count < TH_STUCK_MOVES_MAX ? s->count : TH_STUCK_MOVES_MAX;
	bool said = r->shape == TH_STUCK_MESSAGES;
	bool calls = !said && r->shape != TH_STUCK_CONDENSED;
	size_t events = 0;

	ret->count = 0;
	for (size_t n = 0; n < count; n++) {
		size_t at = s->count - 1 - n;
		const struct th_move *m = &s->ring[at % TH_STUCK_MOVES_MAX];
		bool message = m->kind == TH_MOVE_MESSAGE;

		events += m->kind == TH_MOVE_CALL ? 2 : 1;
		if (rules->window && events > rules->window)
			return;
		if ((rules->words_between && !said && message) ||
		    (rules->cuts_between && calls && m->kind == TH_MOVE_CONDENSED) ||
		    (rules->calls_are_after && said && !message && !ret->count))
			continue;
		ret->at[ret->count] = at;
		ret->list[ret->count++] = m;
	}
}

static bool same(const struct th_move *a, const struct th_move *b, enum th_stuck_compare by)
{
	if (a->kind != b->kind || a->action != b->action)
		return false;
	switch (by) {
	case TH_STUCK_BY_RESULT:
		return a->result == b->result && a->failed == b->failed;
	case TH_STUCK_BY_CODE:
		return a->code == b->code && a->failed == b->failed;
	case TH_STUCK_BY_ACTION:
		break;
	}
	return true;
}

static bool is_cycle(const struct seen *s, size_t period, size_t times, enum th_stuck_compare by)
{
	if (s->count < period * times)
		return false;
	for (size_t i = 0; i < period; i++)
		if (s->list[i]->kind != TH_MOVE_CALL)
			return false;
	for (size_t i = 0; i + period < period * times; i++)
		if (!same(s->list[i], s->list[i + period], by))
			return false;
	return true;
}

/* The shapes that are so many moves in a row. */
static bool fits(const struct seen *s, size_t at, const struct th_stuck_rule *r)
{
	const struct th_move *m = s->list[at], *newest = s->list[0];

	switch (r->shape) {
	case TH_STUCK_ERRORS:
		return m->kind == TH_MOVE_CALL && m->failed && m->action == newest->action;
	case TH_STUCK_MESSAGES:
		return m->kind == TH_MOVE_MESSAGE &&
		       (r->compare == TH_STUCK_BY_RESULT || m->action == newest->action);
	case TH_STUCK_CONDENSED:
		return m->kind == TH_MOVE_CONDENSED;
	case TH_STUCK_SCREEN:
		return m->kind == TH_MOVE_CALL && m->picture && m->picture == newest->picture;
	case TH_STUCK_NOTHING_NEW:
		for (size_t i = at + 1; m->kind == TH_MOVE_CALL && i < s->count; i++)
			if (same(m, s->list[i], r->compare))
				return true;
		return false;
	case TH_STUCK_CYCLE:
		break;
	}
	return false;
}

static bool is_run(const struct seen *s, const struct th_stuck_rule *r, size_t times)
{
	if (s->count < times)
		return false;
	for (size_t at = 0; at < times; at++)
		if (!fits(s, at, r))
			return false;
	return true;
}

bool th_stuck_look(const struct th_stuck *s, const struct th_stuck_rules *rules,
		   struct th_stuck_finding *ret)
{
	struct seen seen;

	for (const struct th_stuck_rule *r = rules->list; r < rules->list + rules->count; r++) {
		size_t period = r->shape == TH_STUCK_CYCLE ? r->period_from : 1;
		bool found = false;

		see(s, rules, r, &seen);
		if (r->shape != TH_STUCK_CYCLE)
			found = is_run(&seen, r, r->times);
		for (; r->shape == TH_STUCK_CYCLE && period <= r->period_to; period++) {
			found = is_cycle(&seen, period, r->times, r->compare);
			if (found)
				break;
		}
		if (!found)
			continue;
		*ret = (struct th_stuck_finding){ r, period, r->times,
						  seen.at[period * r->times - 1] };
		return true;
	}
	return false;
}

bool th_stuck_hint(const struct th_stuck *s, const struct th_stuck_rules *rules,
		   struct th_stuck_finding *ret)
{
	struct seen seen;

	for (const struct th_stuck_rule *r = rules->list; r < rules->list + rules->count; r++) {
		size_t hint = r->hint;

		see(s, rules, r, &seen);
		if (!hint || !is_run(&seen, r, hint) || is_run(&seen, r, hint + 1))
			continue;
		*ret = (struct th_stuck_finding){ r, 1, hint, seen.at[hint - 1] };
		return true;
	}
	return false;
}

void th_stuck_print(const struct th_stuck_finding *f, struct th_buf *out)
{
	switch (f->rule->shape) {
	case TH_STUCK_CYCLE:
		if (f->period == 1)
			th_buf_printf(out, "the last %zu calls were the same", f->times);
		else
			th_buf_printf(out, "the last %zu rounds of %zu calls were the same",
				      f->times, f->period);
		th_buf_add(out, f->rule->compare == TH_STUCK_BY_CODE
				    ? TH_STR(", and ended the same way")
				    : TH_STR(", with the same results"));
		break;
	case TH_STUCK_ERRORS:
		th_buf_printf(out, "the same call failed %zu times in a row", f->times);
		break;
	case TH_STUCK_MESSAGES:
		th_buf_printf(out, "%zu messages came in a row, without a call", f->times);
		break;
	case TH_STUCK_CONDENSED:
		th_buf_printf(out, "the history was condensed %zu times, with nothing done between",
			      f->times);
		break;
	case TH_STUCK_SCREEN:
		th_buf_printf(out, "the screen stayed the same over the last %zu calls", f->times);
		break;
	case TH_STUCK_NOTHING_NEW:
		th_buf_printf(out, "the last %zu calls brought nothing that was not there before",
			      f->times);
		break;
	}
}
