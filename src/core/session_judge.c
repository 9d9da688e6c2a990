/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_judge.c - whether the task is done: before a final output counts, the
 * model is asked, and its verdicts are events.
 *
 * Not done: the model is told what is missing and goes on, at most `rounds`
 * times.  Then the run stops at a limit, or the answer counts as it is.  A
 * request without a verdict takes a round; if the last one has none, the run
 * fails: nothing counts as done that nobody judged.
 *
 * What is judged is what the agent file says, or a goal that the session was given (GOAL), with
 * rounds of its own over all its tasks, until it is reached, no round is left, or it ends.
 */
#include "base/text.h"
#include "core/session_internal.h"

static enum th_code judge_make(struct th_step *st)
{
	struct th_session_judge *j = TH_NEW(&st->s->memory, struct th_session_judge);

	if (!j)
		return th_fail(st->err, TH_ELIMIT, "the agent's definition is too large");
	j->threshold = TH_JUDGE_THRESHOLD_DEFAULT;
	th_buf_init_try(&j->missing, TH_JUDGE_TEXT_MAX);
	th_buf_init_try(&j->goal.text, TH_GOAL_MAX);
	st->s->judge = j;
	return TH_OK;
}

enum th_code th_judge_init(struct th_step *st, const struct th_agent_judge *options)
{
	enum th_code code = options ? judge_make(st) : TH_OK;
	struct th_session_judge *j = st->s->judge;

	if (code || !options)
		return code;
	if (options->threshold > 0)
		j->threshold = options->threshold;
	j->own.judges = true;
	j->own.rounds = options->rounds > 0 ? TH_MIN(options->rounds, (int64_t)TH_JUDGE_ROUNDS_MAX)
					    : TH_JUDGE_ROUNDS_DEFAULT;
	j->own.finishes = options->then == TH_JUDGE_FINISH;
	return TH_OK;
}

void th_judge_deinit(struct th_session *s)
{
	if (!s->judge)
		return;
	th_buf_deinit(&s->judge->missing);
	th_buf_deinit(&s->judge->goal.text);
}

static int64_t rounds_of(const struct th_session *s)
{
	return s->judge->goal.on ? s->judge->goal.rounds : s->judge->own.rounds;
}

int64_t th_judge_given(const struct th_session *s)
{
	return s->judge->goal.on ? s->judge->goal.given : s->judge->given;
}

void th_judge_said(struct th_session *s)
{
	if (s->judge)
		s->judge->tells = false;
}

void th_judge_again(struct th_session *s)
{
	if (!s->judge)
		return;
	s->judge->given = 0;
	s->judge->over = false;
}

void th_judge_anew(struct th_session *s)
{
	th_judge_again(s);
	th_judge_answered(s);
}

void th_judge_answered(struct th_session *s)
{
	if (s->judge)
		s->judge->satisfied = s->judge->tells = false;
}

bool th_judge_due(const struct th_session *s)
{
	return s->judge && (s->judge->goal.on || s->judge->own.judges) && !s->judge->satisfied &&
	       s->instead < 0 && !s->final_refusal && !s->final_failure;
}

/* "- this" on each line. */
static void note_missing(struct th_session *s, const struct th_json *missing)
{
	struct th_json_iter it = th_json_iter(missing);
	struct th_buf *out = &s->judge->missing;

	th_buf_clear(out);
	while (th_json_is_array(missing) && th_json_next(&it) && it.index < TH_JUDGE_MISSING_MAX) {
		struct th_str text = th_json_str(it.val);

		text = th_utf8_cut(text, TH_JUDGE_TEXT_MAX / TH_JUDGE_MISSING_MAX - 8);
		if (text.len)
			th_buf_printf(out, "\n- %.*s", TH_FMT(text));
	}
}

/* The answer counts, and a goal is over with it. */
static void satisfied(struct th_session *s)
{
	s->judge->satisfied = true;
	s->judge->goal.over |= s->judge->goal.on;
	s->judge->goal.on = false;
}

static void not_done(struct th_session *s, const struct th_json *missing)
{
	bool last = th_judge_given(s) >= rounds_of(s);

	note_missing(s, missing);
	if (last && (s->judge->goal.on || s->judge->own.finishes)) {
		satisfied(s);
		return;
	}
	s->judge->over = last;
	s->judge->tells = s->correct = true;
	th_step_phase(s, TH_TURN_DUE);
	s->totals.attempts = 0;
}

enum th_code th_on_verdict(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_verdict d;
	struct th_buf why;
	enum th_code code = th_step_parse(st, &d);

	if (code)
		return code;
	if (!s->judge)
		return th_fail(st->err, TH_EPROTO, "no verdict is awaited");
	th_step_side(s, TH_SIDE_JUDGE, th_json_get(st->data, "usage"));
	th_next_step_turned_down(s, st->ev->cause);
	/* The run went on meanwhile, or another answer is looked at: it is paid for. */
	if (s->phase != TH_TURN_CHECK || st->ev->cause != s->answer_seq || !th_judge_due(s))
		return TH_OK;
	if (s->judge->goal.on)
		s->judge->goal.given++;
	else
		s->judge->given++;
	s->turn_given = false;
	if (d.failed.len && th_judge_given(s) >= rounds_of(s)) {
		s->judge->goal.on = false;
		th_buf_init_try(&why, TH_ERR_MSG_MAX * 4);
		th_buf_printf(&why, "nobody judged whether the task is done: %.*s",
			      TH_FMT(th_utf8_cut(d.failed, TH_ERR_MSG_MAX)));
		th_next_step_trip(s, st->out, "judge", th_buf_str(&why));
		th_buf_deinit(&why);
	} else if (!d.failed.len && d.complete && d.score >= s->judge->threshold) {
		satisfied(s);
	} else if (!d.failed.len) {
		not_done(s, th_json_get(st->data, "missing"));
	}
	return TH_OK;
}

/* It begins between two tasks, so that all of a task is judged by one. */
static enum th_code goal_begins(struct th_step *st, const struct th_ev_goal *d)
{
	struct th_session *s = st->s;
	enum th_code code;

	if (s->state == TH_STATE_RUNNING || s->state == TH_STATE_WAITING)
		return th_fail(st->err, TH_EPROTO,
			       "a goal is given between tasks, and the session is %s",
			       th_state_name(s->state));
	if (d->goal.len > TH_GOAL_MAX || d->rounds < 1 || d->rounds > TH_GOAL_ROUNDS_MAX ||
	    d->given >= d->rounds)
		return th_fail(st->err, TH_EPROTO,
			       "a goal has at most %zu bytes, 1 to %d rounds, and one of them left",
			       (size_t)TH_GOAL_MAX, TH_GOAL_ROUNDS_MAX);
	code = s->judge ? TH_OK : judge_make(st);
	if (code)
		return code;
	th_buf_clear(&s->judge->goal.text);
	th_buf_add(&s->judge->goal.text, d->goal);
	s->judge->goal.rounds = d->rounds;
	s->judge->goal.given = d->given;
	s->judge->goal.on = true;
	s->judge->goal.over = s->judge->over = false;
	return TH_OK;
}

enum th_code th_on_goal(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_goal d;
	enum th_code code = th_step_parse(st, &d);

	if (code)
		return code;
	if (d.goal.len)
		return goal_begins(st, &d);
	if (!s->judge || !s->judge->goal.on)
		return th_fail(st->err, TH_EPROTO, "there is no goal");
	s->judge->goal.on = false;
	if (s->phase == TH_TURN_CHECK)
		s->turn_given = false; /* its verdict is not waited for */
	return TH_OK;
}

/* What nobody judges, such as a refusal, counts as it is; it reaches no goal, which can go on. */
void th_judge_finished(struct th_session *s)
{
	if (s->judge)
		s->judge->goal.on = false;
}

void th_judge_print(const struct th_session *s, struct th_jw *w)
{
	const struct th_session_judge *j = s->judge;

	if (!j)
		return;
	th_jw_key(w, TH_STR("judge"));
	th_jw_object(w);
	th_jw_kint(w, "given", th_judge_given(s));
	th_jw_kint(w, "rounds", rounds_of(s));
	if (j->goal.text.len)
		th_jw_kstr(w, "goal",
			   j->goal.on     ? TH_STR("on")
			   : j->goal.over ? TH_STR("over")
					  : TH_STR("ended"));
	th_jw_kbool(w, "satisfied", j->satisfied);
	if (j->tells)
		th_jw_kstr(w, "missing", th_buf_str(&j->missing));
	if (j->over)
		th_jw_kbool(w, "over", true);
	th_jw_object_end(w);
}
