/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transcript_guard.c - what guardrails take back of a transcript.
 */
#include "transcript/transcript_internal.h"

#define WITHHELD_RESULT "Output withheld by a guardrail of the tool's output."

static void replace_output(struct th_transcript *p, struct th_transcript_item *item,
			   struct th_str text)
{
	struct th_buf json = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_jw w = th_jw(&json);

	th_jw_str(&w, text);
	item->output = th_transcript_hold(p, th_buf_str(&json));
	item->evidence = TH_STR("");
	th_buf_deinit(&json);
}

/* What nobody may see: the text goes; results stay, as calls need them, and say so. */
static void withhold(struct th_transcript *p, struct th_str text)
{
	bool results =
	    p->results_at < p->count && p->list[p->results_at].kind == TH_TRANSCRIPT_RESULT;

	for (size_t i = p->results_at; i < p->count; i++)
		if (p->list[i].kind == TH_TRANSCRIPT_RESULT)
			replace_output(p, &p->list[i],
				       text.len ? text : TH_STR(TH_OUTPUT_WITHHELD));
	if (!results && p->answer_at < p->results_at)
		th_transcript_cut(p, p->answer_at, p->results_at - p->answer_at);
	if (!results)
		p->results_at = p->answer_at;
}

/* Where a message stands that was said after `after`, up to `seq`. */
static size_t find_said(const struct th_transcript *p, size_t at, uint64_t after, uint64_t seq)
{
	while (at < p->count && (p->list[at].kind != TH_TRANSCRIPT_MESSAGE ||
				 p->list[at].seq <= after || p->list[at].seq > seq))
		at++;
	return at;
}

/* The answers, and what came of them, to an input that a guardrail refuses: of the task, or of what
 * was said after `after`, up to `seq`, behind which those stand that have read it. */
static void forget_answers(struct th_transcript *p, uint64_t after, uint64_t seq)
{
	size_t from = p->aside ? p->joined_at : after && after + 1 < p->task_seq ? 0 : p->task_at;

	if (after)
		from = find_said(p, from, after, seq);
	for (size_t i = TH_MIN(from, p->count); i < p->count;) {
		if (p->list[i].kind == TH_TRANSCRIPT_MESSAGE)
			i++;
		else
			th_transcript_cut(p, i, 1);
	}
	if (p->answer_at >= from) /* else calls of an earlier task still wait for their results */
		p->answer_at = p->results_at = p->count;
	p->refused = true;
}

void th_transcript_guardrail(struct th_transcript *p, uint64_t cause, const struct th_json *v)
{
	struct th_str stage = th_json_get_str(v, "stage"), message = th_json_get_str(v, "message");
	bool tripped = th_json_bool(th_json_get(v, "tripped"), false);

	if (th_str_is(stage, "output") && tripped)
		withhold(p, th_json_get_str(v, "withheld"));
	if (th_str_is(stage, "input") && tripped) {
		forget_answers(p, th_json_uint(th_json_get(v, "after"), 0), cause);
		p->refused_after = th_json_uint(th_json_get(v, "after"), p->task_seq - 1);
		p->refused_upto = cause;
	}
	if (tripped)
		message = TH_STR(WITHHELD_RESULT); /* its own says why */
	if (!th_str_is(stage, "tool_output") || !message.len)
		return;
	for (size_t i = p->results_at; i < p->count; i++)
		if (th_str_eq(p->list[i].call_id, th_json_get_str(v, "call_id")))
			replace_output(p, &p->list[i], message);
}

void th_transcript_forget_refused(struct th_transcript *p)
{
	size_t at = 0;

	while (p->narrow && p->refused_upto &&
	       (at = find_said(p, at, p->refused_after, p->refused_upto)) < p->count)
		th_transcript_cut(p, at, 1);
	p->refused_after = p->refused_upto = 0;
}
