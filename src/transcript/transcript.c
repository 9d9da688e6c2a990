/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transcript.c - a transcript event by event: what was said, answered and done, and where tasks
 * begin and end.
 */
#include <stdlib.h>

#include "transcript/plan.h"
#include "transcript/transcript_internal.h"

/* In the order of the calls, whenever they come. */
static void add_result(struct th_transcript *p, uint64_t seq, struct th_str data,
		       const struct th_json *v)
{
	struct th_str id = th_json_get_str(v, "call_id");
	const struct th_transcript_item *call = NULL;
	size_t mine = 0, at = p->results_at;
	struct th_transcript_item *to;

	if (p->refused && !th_transcript_call_of(p, id)) /* of a call that is not there any more */
		return;
	for (size_t i = p->answer_at; i < p->results_at && !call; i++)
		if (p->list[i].call_id.len && th_str_eq(p->list[i].call_id, id)) {
			call = &p->list[i];
			mine = i;
		}
	/* Behind those of earlier calls; `index` says of which call each is. */
	while (at < p->count && p->list[at].kind == TH_TRANSCRIPT_RESULT && call &&
	       p->list[at].index <= mine - p->answer_at)
		at++;
	if (!call)
		at = p->count;
	to = th_transcript_insert(p, at);
	if (!to)
		return;
	if (call && mine < p->task_at) { /* left over from an earlier task, whose item it is */
		p->task_at++;
		p->run_at += p->run_at != SIZE_MAX;
	}
	call = th_transcript_call_of(p, id);
	*to = (struct th_transcript_item){
		.seq = seq,
		.number = to->number,
		.kind = TH_TRANSCRIPT_RESULT,
		.index = mine >= p->answer_at ? mine - p->answer_at : 0,
		.call_id = th_transcript_hold(p, id),
		.tool = call ? call->tool : TH_STR(""),
		.item = call ? call->item : TH_STR(""),
		.who = call ? call->who : (struct th_transcript_who){ 0 },
		.output = th_transcript_hold(p, th_json_raw_get(data, "output")),
		.acknowledged =
		    th_transcript_hold(p, th_json_raw_get(data, "acknowledged_safety_checks")),
		.status = (enum th_outcome_status)TH_MAX(
		    th_outcome_find(th_json_get_str(v, "status")), 0),
	};
	if (th_transcript_native(to))
		to->evidence = th_transcript_hold(p, th_json_raw_get(data, "evidence"));
	to->whole =
	    th_json_get_int(th_json_get(th_json_get(v, "evidence"), "full_output"), "size", 0);
}

/* What a task's code made of the history was for that task: all is there again. */
static void part(struct th_transcript *p)
{
	struct th_transcript_item *joined = p->list;
	size_t from = TH_MIN(p->joined_at, p->count), count = p->count - from;

	if (!p->aside)
		return;
	p->list = p->aside;
	p->count = p->aside_count;
	p->cap = p->aside_count;
	p->aside = NULL;
	for (size_t i = 0; i < count; i++) {
		struct th_transcript_item *to = th_transcript_insert(p, p->count);

		if (to)
			*to = joined[from + i];
	}
	free(joined);
	p->answer_at = p->results_at = p->count;
	p->tail_at = 0;
}

static void task_begins(struct th_transcript *p, uint64_t seq)
{
	part(p);
	th_transcript_forget_refused(p);
	p->task_seq = seq;
	p->over = p->refused = false;
	p->task_at = p->count;
	p->run_at = SIZE_MAX;
}

static void note_state(struct th_transcript *p, struct th_str data)
{
	struct th_str to = th_json_raw_get(data, "to");

	if (th_str_is(to, "\"running\"")) {
		p->over = false;
		p->refused_after = p->refused_upto = 0;
	} else if (!th_str_is(to, "\"paused\"") && !th_str_is(to, "\"waiting\"")) {
		p->over = true;
	}
}

static void remove_items(struct th_transcript *p, int64_t count)
{
	part(p);
	p->count = count == 0 || (uint64_t)count >= p->count ? 0 : p->count - (size_t)count;
	p->task_at = TH_MIN(p->task_at, p->count);
	if (p->run_at != SIZE_MAX)
		p->run_at = TH_MIN(p->run_at, p->count);
	p->tail_at = TH_MIN(p->tail_at, p->count);
	p->answer_at = p->results_at = p->count;
	p->asked_at = SIZE_MAX;
}

/* What is said while the model is asked stands behind its answer, which has not read it. */
static enum th_code add_answer(struct th_transcript *p, const struct th_event *ev,
			       const struct th_json *v, struct th_err *err)
{
	size_t before = p->count, at = TH_MIN(p->asked_at, p->count);
	struct th_str items = th_json_raw_get(ev->data, "items");
	struct th_next plan;
	struct th_arena scratch;
	struct th_buf final;
	enum th_code code;

	th_arena_init_try(&scratch, TH_TURN_MEMORY_MAX);
	th_buf_init_try(&final, TH_ANSWER_MAX);
	code = th_plan_items(th_json_get(v, "items"), items, &scratch, &final, &plan, err);
	if (!code)
		th_transcript_add_list(p, at, ev->seq, items, th_json_get(v, "items"),
				       th_json_raw_get(ev->data, "raw"), &plan, &p->asked);
	th_arena_deinit(&scratch);
	th_buf_deinit(&final);
	if (code)
		return code;
	p->run_at = TH_MIN(p->run_at, at);
	p->answer_seq = ev->seq;
	p->answer_at = at;
	p->results_at = p->tail_at = at + p->count - before;
	p->asked_at = SIZE_MAX;
	p->kept = p->refused = p->waited = false;
	return TH_OK;
}

static void add_final(struct th_transcript *p, uint64_t seq, struct th_str data,
		      const struct th_json *v)
{
	struct th_transcript_item *to;

	if (!th_json_bool(th_json_get(v, "in_history"), false))
		return;
	to = th_transcript_insert(p, p->count);
	if (!to)
		return;
	*to = (struct th_transcript_item){ .seq = seq,
					   .number = to->number,
					   .kind = TH_TRANSCRIPT_MESSAGE,
					   .role = TH_STR("assistant"),
					   .content = th_transcript_hold(
					       p, th_json_raw_get(data, "output")) };
}

/* Its event may be large: only these two are looked at. */
static void note_asked(struct th_transcript *p, struct th_str data)
{
	struct th_buf agent;
	int64_t choice = 0;

	th_buf_init_try(&agent, TH_EVENT_DATA_MAX);
	if (!th_json_unescape(th_json_raw_get(data, "agent"), &agent))
		th_buf_clear(&agent);
	if (!p->asked.model || !th_str_eq(p->asked.agent, th_buf_str(&agent)))
		p->asked.agent = th_arena_str(&p->memory, th_buf_str(&agent));
	if (!th_str_i64(th_json_raw_get(data, "choice"), &choice) || choice < 0)
		choice = 0;
	p->asked.choice = (size_t)choice;
	p->asked.model = true;
	if (!p->kept)
		p->asked_at = p->count;
	p->no_memory |= agent.no_memory;
	th_buf_deinit(&agent);
}

/* What is seen of an event without its data being parsed. */
static void note(struct th_transcript *p, const struct th_event *ev)
{
	if (ev->kind == TH_EV_MODEL_STARTED)
		p->kept = true;
	/* The parent's answer is not the fork's. */
	if (ev->kind == TH_EV_SESSION_FORKED) {
		p->kept = false;
		p->asked_at = SIZE_MAX;
	}
	if (ev->kind == TH_EV_MODEL_FAILED &&
	    !(p->kept && th_str_is(th_json_raw_get(ev->data, "kept"), "true"))) {
		p->kept = false;
		p->asked_at = SIZE_MAX;
	}
	if (ev->kind == TH_EV_STATE_CHANGED)
		note_state(p, ev->data);
	/* For a person: code answers at once. */
	if (ev->kind == TH_EV_DELEGATION_WAITS ||
	    (ev->kind == TH_EV_APPROVAL_DECIDED && ev->source == TH_SOURCE_USER))
		p->waited = true;
	if (ev->kind == TH_EV_ERROR || ev->kind == TH_EV_FINAL)
		p->over = true;
}

/* Is its data read? */
static bool is_read(enum th_event_kind kind)
{
	return kind == TH_EV_MESSAGE || kind == TH_EV_MODEL_ANSWERED || kind == TH_EV_OUTCOME ||
	       kind == TH_EV_GUARDRAIL || kind == TH_EV_HANDOFF || kind == TH_EV_ITEMS_ADDED ||
	       kind == TH_EV_ITEMS_REMOVED || kind == TH_EV_FINAL || kind == TH_EV_CODE ||
	       kind == TH_EV_CONDENSATION;
}

enum th_code th_transcript_add(struct th_transcript *p, const struct th_event *ev,
			       struct th_err *err)
{
	struct th_json_doc *doc = NULL;
	const struct th_json *v;
	struct th_transcript_item *to;
	enum th_code code = TH_OK;

	note(p, ev);
	if (ev->kind == TH_EV_MODEL_REQUESTED) {
		note_asked(p, ev->data);
		return p->no_memory || p->memory.no_memory ? th_fail_memory(err) : TH_OK;
	}
	if (!is_read(ev->kind))
		return TH_OK;
	code = th_json_try_parse(ev->data, &doc, err);
	if (code)
		return code;
	v = th_json_root(doc);
	if (p->over &&
	    (ev->kind == TH_EV_MESSAGE ||
	     (ev->kind == TH_EV_ITEMS_ADDED && th_json_bool(th_json_get(v, "begins"), false))))
		task_begins(p, ev->seq);
	if (ev->kind == TH_EV_MESSAGE) {
		to = th_transcript_insert(p, p->count);
		if (to)
			*to = (struct th_transcript_item){
				.seq = ev->seq,
				.number = to->number,
				.kind = TH_TRANSCRIPT_MESSAGE,
				.role = th_transcript_hold(p, th_json_get_str(v, "role")),
				.content =
				    th_transcript_hold(p, th_json_raw_get(ev->data, "content")),
			};
	} else if (ev->kind == TH_EV_MODEL_ANSWERED) {
		code = add_answer(p, ev, v, err);
	} else if (ev->kind == TH_EV_OUTCOME) {
		add_result(p, ev->seq, ev->data, v);
	} else if (ev->kind == TH_EV_GUARDRAIL) {
		th_transcript_guardrail(p, ev->cause, v);
	} else if (ev->kind == TH_EV_ITEMS_ADDED) {
		th_transcript_add_list(p, p->count, ev->seq, th_json_raw_get(ev->data, "items"),
				       th_json_get(v, "items"), TH_STR(""), NULL, NULL);
		if (!th_items_are_messages(
			th_json_get(v, "items"))) /* else results may still come before it */
			p->answer_at = p->results_at = p->count;
	} else if (ev->kind == TH_EV_ITEMS_REMOVED) {
		remove_items(p, th_json_get_int(v, "count", 0));
	} else if (ev->kind == TH_EV_FINAL) {
		add_final(p, ev->seq, ev->data, v);
	} else if (ev->kind == TH_EV_CODE) {
		if (p->narrow && th_str_is(th_json_get_str(v, "use"), "session_input"))
			code = th_transcript_join(p, ev->seq, th_json_get(v, "answer"), err);
	} else if (th_json_get(v, "history") && (p->narrow || ev->kind == TH_EV_CONDENSATION)) {
		code = th_transcript_keep(p, ev->seq, th_json_get(v, "history"), err);
		if (ev->kind == TH_EV_CONDENSATION)
			th_transcript_condensed(p, ev->seq, v);
		if (ev->kind == TH_EV_HANDOFF)
			p->run_at =
			    p->count -
			    TH_MIN((size_t)th_json_uint(th_json_get(v, "run_items"), 0), p->count);
	}
	th_json_free(doc);
	if (!code && (p->no_memory || p->memory.no_memory))
		code = th_fail_memory(err);
	return code;
}
