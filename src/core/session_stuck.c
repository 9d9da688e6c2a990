/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_stuck.c - the fold of an agent's moves, for an agent that has `stuck`.
 *
 * The calls of an answer are added in the answer's order once all have their
 * result, since calls that run side by side end in any order.
 */
#include "core/session.h"

#include "base/hash.h"
#include "core/session_internal.h"

static uint64_t digest(struct th_str text)
{
	return th_hash64(text.ptr, text.len);
}

void th_stuck_init(struct th_step *st, const struct th_agent_stuck *options)
{
	struct th_session *s = st->s;

	if (!options)
		return;
	s->stuck = th_arena_alloc(&s->memory, sizeof(*s->stuck));
	if (!s->stuck)
		return; /* the step says that memory ran out */
	memset(s->stuck, 0, sizeof(*s->stuck));
	s->stuck->rules = &th_stuck_rules[options->rules];
	s->stuck->then = (enum th_on_stuck)options->then;
}

/* Words and pictures of a result; a picture's other members may differ each time. */
static void read_output(const struct th_json *output, struct th_move *move)
{
	struct th_json_iter it = th_json_iter(output);

	if (!th_json_is_array(output)) {
		move->result += digest(th_json_str(output));
		return;
	}
	while (th_json_next(&it)) {
		struct th_str blob = th_json_get_str(it.val, "blob");

		move->result = move->result * 31 + digest(th_json_get_str(it.val, "text"));
		if (!blob.len)
			continue;
		move->picture = digest(blob);
		move->result = move->result * 31 + move->picture;
	}
}

void th_stuck_outcome(const struct th_step *st, struct th_call *c)
{
	const struct th_json *exit = th_json_get(th_json_get(st->data, "evidence"), "exit_code");

	if (!st->s->stuck)
		return;
	c->move = (struct th_move){
		.kind = TH_MOVE_CALL,
		.failed = c->status != TH_OUTCOME_DONE || th_json_int(exit, 0) != 0,
		.action = digest(th_str_of(c->digest)),
		.result = (uint64_t)c->status,
		.code = exit ? (uint64_t)th_json_int(exit, 0) : UINT64_MAX - (uint64_t)c->status,
	};
	read_output(th_json_get(st->data, "output"), &c->move);
}

void th_stuck_settled(struct th_session *s)
{
	if (!s->stuck || s->stuck->answer_seq == s->answer_seq)
		return;
	s->stuck->answer_seq = s->answer_seq;
	for (size_t i = 0; i < s->call_count; i++)
		th_stuck_add(&s->stuck->moves, &s->calls[i].move);
}

void th_stuck_condensed(struct th_session *s)
{
	const struct th_move move = { .kind = TH_MOVE_CONDENSED };

	if (s->stuck)
		th_stuck_add(&s->stuck->moves, &move);
}

void th_stuck_said(struct th_session *s, bool by_runtime)
{
	struct th_stuck_finding f;

	if (!s->stuck)
		return;
	if (by_runtime && th_session_stuck_hint(s, &f)) {
		s->stuck->hinted = s->stuck->moves.count;
		return;
	}
	if (!by_runtime)
		s->stuck->told = false;
	else if (th_session_stuck(s, &f))
		s->stuck->told = true;
	else
		return;
	s->stuck->hinted = 0;
	th_stuck_clear(&s->stuck->moves);
}

bool th_session_stuck(const struct th_session *s, struct th_stuck_finding *ret)
{
	return s->stuck && th_stuck_look(&s->stuck->moves, s->stuck->rules, ret);
}

bool th_session_stuck_hint(const struct th_session *s, struct th_stuck_finding *ret)
{
	return s->stuck && s->stuck->hinted != s->stuck->moves.count && !th_session_stuck(s, ret) &&
	       th_stuck_hint(&s->stuck->moves, s->stuck->rules, ret);
}

enum th_on_stuck th_session_on_stuck(const struct th_session *s)
{
	/* It was told, and does it again: what would another word help? */
	if (s->stuck->then == TH_ON_STUCK_TELL && s->stuck->told)
		return TH_ON_STUCK_STOP;
	return s->stuck->then;
}
