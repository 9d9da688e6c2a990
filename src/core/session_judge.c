/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_judge.c - whether the task is done: before a final output counts, the
 * model is asked, and its verdicts are events.
 *
 * Not done: the model is told what is missing and goes on, at most `rounds`
 * times.  Then the run stops at a limit, or the answer counts as it is.  A
 * request without a verdict takes a round; if the last one has none, the run
 * fails: nothing counts as done that nobody judged.
 */
#include "base/text.h"
#include "core/session_internal.h"

enum th_code th_judge_init(struct th_step *st, const struct th_agent_judge *options)
{
	struct th_session_judge *j;

	if (!options)
		return TH_OK;
	j = TH_NEW(&st->s->memory, struct th_session_judge);
	if (!j)
		return th_fail(st->err, TH_ELIMIT, "the agent's definition is too large");
	j->threshold = options->threshold > 0 ? options->threshold : TH_JUDGE_THRESHOLD_DEFAULT;
	j->rounds = options->rounds > 0 ? TH_MIN(options->rounds, (int64_t)TH_JUDGE_ROUNDS_MAX)
					: TH_JUDGE_ROUNDS_DEFAULT;
	j->finishes = options->then == TH_JUDGE_FINISH;
	th_buf_init_try(&j->missing, TH_JUDGE_TEXT_MAX);
	st->s->judge = j;
	return TH_OK;
}

void th_judge_deinit(struct th_session *s)
{
	if (s->judge)
		th_buf_deinit(&s->judge->missing);
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
	return s->judge && !s->judge->satisfied && s->instead < 0 && !s->final_refusal &&
	       !s->final_failure;
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

static void not_done(struct th_session *s, const struct th_json *missing)
{
	bool last = s->judge->given >= s->judge->rounds;

	note_missing(s, missing);
	if (last && s->judge->finishes) {
		s->judge->satisfied = true;
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
	/* The run went on meanwhile, or another answer is looked at: it is paid for. */
	if (s->phase != TH_TURN_CHECK || st->ev->cause != s->answer_seq || !th_judge_due(s))
		return TH_OK;
	s->judge->given++;
	s->turn_given = false;
	if (d.failed.len && s->judge->given >= s->judge->rounds) {
		th_buf_init_try(&why, TH_ERR_MSG_MAX * 4);
		th_buf_printf(&why, "nobody judged whether the task is done: %.*s",
			      TH_FMT(th_utf8_cut(d.failed, TH_ERR_MSG_MAX)));
		th_next_step_trip(s, st->out, "judge", th_buf_str(&why));
		th_buf_deinit(&why);
	} else if (!d.failed.len && d.complete && d.score >= s->judge->threshold) {
		s->judge->satisfied = true;
	} else if (!d.failed.len) {
		not_done(s, th_json_get(st->data, "missing"));
	}
	return TH_OK;
}

void th_judge_print(const struct th_session *s, struct th_jw *w)
{
	const struct th_session_judge *j = s->judge;

	if (!j)
		return;
	th_jw_key(w, TH_STR("judge"));
	th_jw_object(w);
	th_jw_kint(w, "given", j->given);
	th_jw_kint(w, "rounds", j->rounds);
	th_jw_kbool(w, "satisfied", j->satisfied);
	if (j->tells)
		th_jw_kstr(w, "missing", th_buf_str(&j->missing));
	if (j->over)
		th_jw_kbool(w, "over", true);
	th_jw_object_end(w);
}
