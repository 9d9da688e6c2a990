/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_background.c - tasks in the background: sessions that work on a call which has its
 * result already, as the log of the one that asked has them.
 *
 * DELEGATION_STARTED says so, and the call's OUTCOME only that the task has begun.  What became of
 * it is DELEGATION_FINISHED, and a message that the model reads; or where results of that tool are
 * looked at, DELEGATION_FINISHED alone has it, until a call of the tool `background` reads it.  A
 * run does not finish while there are some: a final output waits, and the model answers again when
 * it was told.
 */
#include <stdlib.h>

#include "core/session_internal.h"

#define MEMORY_MAX (TH_MIB) /* of the strings of one */

const struct th_background *th_session_background(const struct th_session *s, uint64_t intent_seq)
{
	const struct th_background *b = s->background;

	while (b && b->call.intent_seq != intent_seq)
		b = b->next;
	return b;
}

const struct th_call *th_session_delegated(const struct th_session *s, size_t index)
{
	const struct th_background *b = s->background;

	for (size_t i = 0; i < s->call_count; i++) {
		const struct th_call *c = &s->calls[i];

		if (c->phase == TH_CALL_INTENDED && c->child != TH_CALL_CHILD_NONE &&
		    c->child != TH_CALL_CHILD_OVER && index-- == 0)
			return c;
	}
	while (b && index-- > 0)
		b = b->next;
	return b ? &b->call : NULL;
}

struct th_call *th_background_of(struct th_step *st)
{
	struct th_background *b = st->s->background;

	while (b && b->call.intent_seq != st->ev->cause)
		b = b->next;
	return b ? &b->call : NULL;
}

static void background_free(struct th_background *b)
{
	th_arena_deinit(&b->memory);
	free(b);
}

enum th_code th_background_begin(struct th_step *st, struct th_call *c,
				 const struct th_ev_delegation_started *d)
{
	struct th_background **at = &st->s->background, *b = th_alloc(sizeof(*b));

	th_arena_init_try(&b->memory, MEMORY_MAX);
	b->call.phase = TH_CALL_INTENDED;
	b->call.child = TH_CALL_CHILD_WORKS;
	b->call.class = c->class;
	b->call.epoch = c->epoch;
	b->call.call_seq = c->call_seq;
	b->call.intent_seq = c->intent_seq;
	b->call.call_id = th_arena_str(&b->memory, c->call_id);
	b->call.tool = th_arena_str(&b->memory, c->tool);
	b->call.effect_id = th_arena_str(&b->memory, c->effect_id);
	if (c->before) {
		b->before = *c->before;
		b->before.child = th_arena_str(&b->memory, d->child);
		b->call.before = &b->before;
	}
	if (b->memory.no_memory || !b->call.call_id.ptr || !b->call.tool.ptr) {
		background_free(b);
		return th_fail(st->err, TH_ELIMIT, "the calls of the answer are too large");
	}
	while (*at)
		at = &(*at)->next;
	*at = b;
	return TH_OK;
}

/* Results are at most as many as may work: the oldest goes first. */
static void add_result(struct th_session *s, struct th_background *b, uint64_t seq)
{
	struct th_background **at = &s->results, *first = s->results;
	size_t count = 0;

	b->over_seq = seq;
	b->next = NULL;
	for (; *at; at = &(*at)->next)
		count++;
	*at = b;
	if (count < TH_BACKGROUND_MAX)
		return;
	s->results = first->next;
	background_free(first);
}

void th_background_end(struct th_session *s, const struct th_call *c, uint64_t result)
{
	for (struct th_background **at = &s->background, *b; (b = *at); at = &b->next) {
		if (&b->call != c)
			continue;
		*at = b->next;
		if (result)
			add_result(s, b, result);
		else
			background_free(b);
		return;
	}
}

void th_background_free(struct th_session *s)
{
	while (s->background)
		th_background_end(s, &s->background->call, 0);
}

void th_background_deinit(struct th_session *s)
{
	th_background_free(s);
	for (struct th_background *b; (b = s->results);) {
		s->results = b->next;
		background_free(b);
	}
}

void th_background_stop(struct th_session *s)
{
	for (struct th_background *b = s->background; b; b = b->next)
		b->stopped = true;
}

int64_t th_background_count(const struct th_session *s)
{
	int64_t count = 0;

	for (const struct th_background *b = s->background; b; b = b->next)
		count++;
	return count;
}

bool th_background_waits(const struct th_session *s)
{
	for (const struct th_background *b = s->background; b; b = b->next)
		if (b->call.child == TH_CALL_CHILD_WAITS)
			return true;
	return false;
}

void th_background_due(const struct th_session *s, struct th_effects *out)
{
	if (s->background)
		th_step_emit(out, (struct th_effect){ .kind = TH_DO_BACKGROUND });
}

bool th_background_holds(struct th_session *s, struct th_effects *out)
{
	if (!s->awaits)
		return false;
	/* Who speaks meanwhile is answered at once. */
	if (s->message_seq > s->asked_seq && s->instead < 0) {
		th_next_step_ask_again(s);
		return true;
	}
	if (!s->background) {
		th_next_step_check_final(s);
		return true;
	}
	if (!s->awaits_given)
		th_background_due(s, out);
	s->awaits_given = true;
	return true;
}

void th_background_print(const struct th_session *s, struct th_jw *w)
{
	if (s->awaits)
		th_jw_kbool(w, "awaits", true);
	if (s->results) {
		th_jw_key(w, TH_STR("results"));
		th_jw_array(w);
		for (const struct th_background *b = s->results; b; b = b->next)
			th_jw_uint(w, b->over_seq);
		th_jw_array_end(w);
	}
	if (!s->background)
		return;
	th_jw_key(w, TH_STR("background"));
	th_jw_array(w);
	for (const struct th_background *b = s->background; b; b = b->next) {
		th_jw_object(w);
		th_jw_kuint(w, "intent", b->call.intent_seq);
		th_jw_kstr(w, "call_id", b->call.call_id);
		th_jw_kstr(w, "tool", b->call.tool);
		th_jw_kstr(w, "effect_id", b->call.effect_id);
		if (b->call.before)
			th_jw_kstr(w, "child", b->before.child);
		if (b->call.child == TH_CALL_CHILD_WAITS)
			th_jw_kbool(w, "waits", true);
		if (b->stopped)
			th_jw_kbool(w, "stopped", true);
		th_jw_object_end(w);
	}
	th_jw_array_end(w);
}
