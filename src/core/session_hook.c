/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_hook.c - hooks that are programs: which are under way, and what one changed.
 *
 * A hook is a guardrail of its agent.  HOOK_STARTED stands before its program starts, so that
 * whoever takes the session up asks how that ended, and starts no other.
 */
#include "base/text.h"
#include "core/session_internal.h"

static uint64_t *seq_of(struct th_session *s, struct th_call *c, enum th_guard_stage stage,
			size_t guard)
{
	if (c)
		return &c->hook_seq;
	if (!s->hook_seqs)
		return NULL;
	return &s->hook_seqs[(stage == TH_GUARD_OUTPUT ? TH_GUARDRAILS_MAX : 0) + guard];
}

uint64_t th_session_hook(const struct th_session *s, const struct th_call *c,
			 enum th_guard_stage stage, size_t guard)
{
	const uint64_t *at =
	    seq_of((struct th_session *)(uintptr_t)s, (struct th_call *)(uintptr_t)c, stage, guard);

	return at ? *at : 0;
}

void th_hook_over(struct th_session *s, struct th_call *c, enum th_guard_stage stage, size_t guard)
{
	uint64_t *at = seq_of(s, c, stage, guard);

	if (at)
		*at = 0;
}

void th_hooks_anew(struct th_session *s, enum th_guard_stage stage)
{
	uint64_t *first = seq_of(s, NULL, stage, 0);

	if (first)
		memset(first, 0, TH_GUARDRAILS_MAX * sizeof(*first));
}

void th_hook_changes(struct th_session *s, struct th_call *c, struct th_str arguments,
		     enum th_class class)
{
	c->arguments = th_arena_str(&s->turn, arguments);
	c->class = class;
	th_call_digest(c->tool, c->arguments, c->digest);
}

enum th_code th_on_hook_started(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_hook_started d;
	enum th_code code = th_step_parse(st, &d);
	struct th_effect fx = { .kind = TH_DO_HOOK };
	struct th_call *c = NULL;
	uint64_t *at;
	int guard;

	if (code)
		return code;
	if (!d.stage.len) { /* nobody waits for it */
		th_step_emit(st->out, fx);
		return TH_OK;
	}
	guard = th_next_step_open(st, d.stage, d.name, &c);
	if (guard < 0)
		return th_fail(st->err, TH_EPROTO, "the hook \"%.*s\" is not due",
			       TH_FMT(th_utf8_cut(d.name, 80)));
	fx.stage = (enum th_guard_stage)th_guard_stage_find(d.stage);
	if (!c && !s->hook_seqs) {
		s->hook_seqs = th_arena_array(&s->memory, 2 * (size_t)TH_GUARDRAILS_MAX,
					      sizeof(*s->hook_seqs));
		if (!s->hook_seqs)
			return th_fail(st->err, TH_ELIMIT, "the session keeps too much");
	}
	at = seq_of(s, c, fx.stage, (size_t)guard);
	if (*at)
		return th_fail(st->err, TH_EPROTO, "the hook \"%.*s\" is under way",
			       TH_FMT(th_utf8_cut(d.name, 80)));
	*at = st->ev->seq;
	th_step_emit(st->out, fx);
	if (!d.async)
		return TH_OK;
	*at = 0;
	return th_next_step_guarded(
	    st,
	    &(struct th_ev_guardrail){ .name = d.name, .stage = d.stage, .call_id = d.call_id });
}
