/* SPDX-License-Identifier: Apache-2.0 */
#include "core/transcript.h"

#include "core/native.h"
#include "core/plan.h"

#include <stdlib.h>

#define WITHHELD_RESULT "Output withheld by a guardrail of the tool's output."

void th_transcript_init(struct th_transcript *p, bool narrow)
{
	*p = (struct th_transcript){
		.narrow = narrow, .asked_at = SIZE_MAX, .run_at = SIZE_MAX, .over = true
	};
	th_arena_init_try(&p->memory, TH_TURN_MEMORY_MAX);
}

void th_transcript_deinit(struct th_transcript *p)
{
	th_arena_deinit(&p->memory);
	free(p->list);
	free(p->aside);
	*p = (struct th_transcript){ 0 };
}

bool th_transcript_copy(struct th_transcript *ret, const struct th_transcript *of)
{
	size_t bytes = of->count * sizeof(*of->list), aside = of->aside_count * sizeof(*of->aside);

	*ret = *of;
	th_arena_init_try(&ret->memory, TH_TURN_MEMORY_MAX);
	ret->list = th_try_alloc(bytes + 1);
	ret->aside = of->aside ? th_try_alloc(aside + 1) : NULL;
	ret->cap = of->count;
	if (!ret->list || (of->aside && !ret->aside)) {
		th_transcript_deinit(ret);
		return false;
	}
	memcpy(ret->list, of->list, bytes);
	if (of->aside)
		memcpy(ret->aside, of->aside, aside);
	return true;
}

static struct th_transcript_item *insert(struct th_transcript *p, size_t at)
{
	if (p->count == p->cap) {
		size_t cap = p->cap ? p->cap * 2 : 16;
		struct th_transcript_item *list = th_try_realloc(p->list, cap * sizeof(*list));

		if (!list) {
			p->no_memory = true;
			return NULL;
		}
		p->list = list;
		p->cap = cap;
	}
	memmove(&p->list[at + 1], &p->list[at], (p->count - at) * sizeof(*p->list));
	p->count++;
	p->list[at] = (struct th_transcript_item){ 0 };
	return &p->list[at];
}

static bool is_reasoning(const struct th_transcript_item *i)
{
	return i->kind == TH_TRANSCRIPT_OUTPUT &&
	       th_str_is(th_json_raw_get(i->item, "type"), "\"reasoning\"");
}

/* Has an answer reasoning right before this item? */
static bool is_reasoned(const struct th_transcript_item *list, size_t i)
{
	return i > 0 && list[i].of && list[i - 1].seq == list[i].seq && is_reasoning(&list[i - 1]);
}

static void cut(struct th_transcript *p, size_t from, size_t count)
{
	memmove(&p->list[from], &p->list[from + count],
		(p->count - from - count) * sizeof(*p->list));
	p->count -= count;
	p->tail_at -= TH_MIN(p->tail_at, from + count) - TH_MIN(p->tail_at, from);
	p->task_at -= TH_MIN(p->task_at, from + count) - TH_MIN(p->task_at, from);
	if (p->run_at != SIZE_MAX)
		p->run_at -= TH_MIN(p->run_at, from + count) - TH_MIN(p->run_at, from);
}

static struct th_str hold(struct th_transcript *p, struct th_str s)
{
	return s.ptr ? th_arena_str(&p->memory, s) : TH_STR("");
}

static const struct th_transcript_item *call_of(const struct th_transcript *p,
						struct th_str call_id)
{
	for (size_t i = p->count; i-- > 0;)
		if (p->list[i].kind == TH_TRANSCRIPT_OUTPUT && p->list[i].call_id.len &&
		    th_str_eq(p->list[i].call_id, call_id))
			return &p->list[i];
	return NULL;
}

static bool is_result(struct th_str type)
{
	return (type.len > 7 && th_str_ends(type, TH_STR("_output"))) ||
	       th_str_is(type, "mcp_approval_response");
}

/* A result of the API's own form: what it says beside its output. */
static void fill_native(struct th_transcript *p, struct th_transcript_item *to,
			const struct th_json *v, struct th_str raw)
{
	bool failed = th_str_is(th_json_get_str(v, "status"), "failed");

	if (th_str_is(th_json_get_str(v, "type"), "mcp_approval_response")) {
		to->call_id = hold(p, th_json_get_str(v, "approval_request_id"));
		to->evidence = hold(p, raw); /* has the reason */
		failed = !th_json_bool(th_json_get(v, "approve"), false);
	}
	to->status = failed ? TH_OUTCOME_FAILED : TH_OUTCOME_DONE;
}

static bool is_said(struct th_str type, struct th_str role)
{
	bool said = role.len && (!type.len || th_str_is(type, "message"));

	return said && (!type.len || !th_str_is(role, "assistant"));
}

bool th_items_are_messages(const struct th_json *items)
{
	struct th_json_iter it = th_json_iter(items);

	while (th_json_next(&it)) {
		struct th_str role = th_json_get_str(it.val, "role");

		if (!is_said(th_json_get_str(it.val, "type"), role) || th_str_is(role, "assistant"))
			return false;
	}
	return true;
}

/* Of one item as the Responses API has it. */
static void fill(struct th_transcript *p, struct th_transcript_item *to, const struct th_json *v,
		 struct th_str raw)
{
	struct th_str type = th_json_get_str(v, "type"), role = th_json_get_str(v, "role");
	size_t seq = to->seq, index = to->index;

	*to = (struct th_transcript_item){ .seq = seq, .index = index };
	if (is_said(type, role)) {
		to->kind = TH_TRANSCRIPT_MESSAGE;
		to->role = hold(p, role);
		to->content = hold(p, th_json_raw_get(raw, "content"));
	} else if (is_result(type)) {
		const struct th_transcript_item *call;

		to->kind = TH_TRANSCRIPT_RESULT;
		to->call_id = hold(p, th_json_get_str(v, "call_id"));
		to->output = hold(p, th_json_raw_get(raw, "output"));
		fill_native(p, to, v, raw);
		call = call_of(p, to->call_id);
		if (call && call != to) {
			to->item = call->item;
			to->tool = call->tool;
			to->who = call->who;
		}
	} else {
		to->kind = TH_TRANSCRIPT_OUTPUT;
		to->item = hold(p, raw);
		to->call_id =
		    hold(p, th_json_get_str(v, th_native_id_member(th_native_of_type(type))));
		to->tool = hold(p, th_json_get_str(v, "name"));
	}
}

/* `plan` and `who`: of an answer, whose duplicates are left out; NULL: no model said this. */
static void add_list(struct th_transcript *p, size_t at, uint64_t seq, struct th_str raw,
		     const struct th_json *items, struct th_str answer_raw,
		     const struct th_next *plan, const struct th_transcript_who *who)
{
	struct th_json_iter it = th_json_iter(items);
	struct th_json_raw_iter text = th_json_raw_iter(raw);
	size_t next = 0;

	for (size_t i = 0, end = at; th_json_next(&it) && th_json_raw_next(&text); i++) {
		struct th_transcript_item *to;

		if (plan && next < plan->duplicate_count && plan->duplicates[next] == i) {
			next++;
			continue;
		}
		to = insert(p, end++);
		if (!to)
			return;
		to->seq = seq;
		to->index = i;
		to->kind = TH_TRANSCRIPT_MESSAGE;
		fill(p, to, it.val, text.val);
		to->of = th_json_count(items);
		if (who)
			to->who = *who;
		if (i == 0)
			to->raw = hold(p, answer_raw);
	}
}

/* `type` is JSON. */
static enum th_native native_type(struct th_str type)
{
	return th_native_of_type(th_str_sub(type, 1, type.len ? type.len - 2 : 0));
}

/* In the order of the calls, whenever they come. */
static void add_result(struct th_transcript *p, uint64_t seq, struct th_str data,
		       const struct th_json *v)
{
	struct th_str id = th_json_get_str(v, "call_id");
	const struct th_transcript_item *call = NULL;
	size_t mine = 0, at = p->results_at;
	struct th_transcript_item *to;

	if (p->refused && !call_of(p, id)) /* of a call that is not there any more */
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
	to = insert(p, at);
	if (!to)
		return;
	if (call && mine < p->task_at) { /* left over from an earlier task, whose item it is */
		p->task_at++;
		p->run_at += p->run_at != SIZE_MAX;
	}
	call = call_of(p, id);
	*to = (struct th_transcript_item){
		.seq = seq,
		.kind = TH_TRANSCRIPT_RESULT,
		.index = mine >= p->answer_at ? mine - p->answer_at : 0,
		.call_id = hold(p, id),
		.tool = call ? call->tool : TH_STR(""),
		.item = call ? call->item : TH_STR(""),
		.who = call ? call->who : (struct th_transcript_who){ 0 },
		.output = hold(p, th_json_raw_get(data, "output")),
		.acknowledged = hold(p, th_json_raw_get(data, "acknowledged_safety_checks")),
		.status = (enum th_outcome_status)TH_MAX(
		    th_outcome_find(th_json_get_str(v, "status")), 0),
	};
	if (th_transcript_native(to))
		to->evidence = hold(p, th_json_raw_get(data, "evidence"));
	to->whole =
	    th_json_get_int(th_json_get(th_json_get(v, "evidence"), "full_output"), "size", 0);
}

static void replace_output(struct th_transcript *p, struct th_transcript_item *item,
			   struct th_str text)
{
	struct th_buf json = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_jw w = th_jw(&json);

	th_jw_str(&w, text);
	item->output = hold(p, th_buf_str(&json));
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
		cut(p, p->answer_at, p->results_at - p->answer_at);
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
			cut(p, i, 1);
	}
	if (p->answer_at >= from) /* else calls of an earlier task still wait for their results */
		p->answer_at = p->results_at = p->count;
	p->refused = true;
}

static void add_guardrail(struct th_transcript *p, uint64_t cause, const struct th_json *v)
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
		struct th_transcript_item *to = insert(p, p->count);

		if (to)
			*to = joined[from + i];
	}
	free(joined);
	p->answer_at = p->results_at = p->count;
	p->tail_at = 0;
}

/* No later task sends it.  The whole session's history has it: it was said. */
static void forget_refused(struct th_transcript *p)
{
	size_t at = 0;

	while (p->narrow && p->refused_upto &&
	       (at = find_said(p, at, p->refused_after, p->refused_upto)) < p->count)
		cut(p, at, 1);
	p->refused_after = p->refused_upto = 0;
}

static void task_begins(struct th_transcript *p, uint64_t seq)
{
	part(p);
	forget_refused(p);
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
		add_list(p, at, ev->seq, items, th_json_get(v, "items"),
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
	to = insert(p, p->count);
	if (!to)
		return;
	*to = (struct th_transcript_item){ .seq = seq,
					   .kind = TH_TRANSCRIPT_MESSAGE,
					   .role = TH_STR("assistant"),
					   .content = hold(p, th_json_raw_get(data, "output")) };
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

/* The list is another one until the next task begins. */
static enum th_code join(struct th_transcript *p, uint64_t seq, const struct th_json *marks,
			 struct th_err *err)
{
	size_t bytes = p->count * sizeof(*p->list);
	struct th_transcript_item *aside = th_try_alloc(bytes + 1);
	size_t count = p->count;
	enum th_code code;

	if (!aside)
		return th_fail_memory(err);
	if (bytes)
		memcpy(aside, p->list, bytes);
	code = th_transcript_keep(p, seq, marks, err);
	if (code) {
		free(aside);
		return code;
	}
	p->aside = aside;
	p->aside_count = count;
	p->joined_at = p->count;
	p->task_at = 0; /* a limit was kept to when it was asked */
	return TH_OK;
}

/* A result's item is its call's, which stands before it in most cases; `was` has the strings of
 * before. */
static struct th_str hold_item(struct th_transcript *p, size_t at, const struct th_str *was)
{
	for (size_t i = at; p->list[at].kind == TH_TRANSCRIPT_RESULT && i-- > 0;)
		if (p->list[i].kind == TH_TRANSCRIPT_OUTPUT && was[i].ptr == was[at].ptr)
			return p->list[i].item;
	return hold(p, was[at]);
}

/* The memory holds only what is left: so a history of many condensations needs no more than its
 * view. */
static void compact(struct th_transcript *p)
{
	struct th_arena before = p->memory;
	struct th_str *was = th_try_alloc((p->count + 1) * sizeof(*was));
	struct th_str agent = { NULL, 0 }, held = { NULL, 0 };

	if (!was) {
		p->no_memory = true;
		return;
	}
	th_arena_init_try(&p->memory, TH_TURN_MEMORY_MAX);
	p->memory.no_memory = before.no_memory;
	for (size_t i = 0; i < p->count; i++) {
		struct th_transcript_item *at = &p->list[i];
		struct th_str *const own[] = { &at->role,         &at->content, &at->raw,
					       &at->call_id,      &at->tool,    &at->output,
					       &at->acknowledged, &at->evidence };

		for (size_t k = 0; k < TH_COUNT(own); k++)
			*own[k] = hold(p, *own[k]);
		was[i] = at->item;
		at->item = hold_item(p, i, was);
		if (at->who.agent.ptr != agent.ptr) {
			agent = at->who.agent;
			held = hold(p, agent);
		}
		at->who.agent = held;
	}
	p->asked.agent = hold(p, p->asked.agent);
	p->summary = hold(p, p->summary);
	free(was);
	th_arena_deinit(&before);
}

/* What stands for others since then. */
static void condensed(struct th_transcript *p, uint64_t seq, const struct th_json *v)
{
	for (size_t i = 0; i < p->count; i++)
		p->list[i].made |= p->list[i].seq == seq;
	p->summary = hold(p, th_json_get_str(v, "summary"));
	p->left_out = th_json_uint(th_json_get(v, "left_out"), p->left_out);
	compact(p);
}

enum th_code th_transcript_add(struct th_transcript *p, const struct th_event *ev,
			       struct th_err *err)
{
	struct th_json_doc *doc = NULL;
	const struct th_json *v;
	struct th_transcript_item *to;
	enum th_code code = TH_OK;

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
	if (ev->kind == TH_EV_MODEL_REQUESTED) {
		note_asked(p, ev->data);
		return p->no_memory || p->memory.no_memory ? th_fail_memory(err) : TH_OK;
	}
	if (ev->kind != TH_EV_MESSAGE && ev->kind != TH_EV_MODEL_ANSWERED &&
	    ev->kind != TH_EV_OUTCOME && ev->kind != TH_EV_GUARDRAIL && ev->kind != TH_EV_HANDOFF &&
	    ev->kind != TH_EV_ITEMS_ADDED && ev->kind != TH_EV_ITEMS_REMOVED &&
	    ev->kind != TH_EV_FINAL && ev->kind != TH_EV_CODE && ev->kind != TH_EV_CONDENSATION)
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
		to = insert(p, p->count);
		if (to)
			*to = (struct th_transcript_item){
				.seq = ev->seq,
				.kind = TH_TRANSCRIPT_MESSAGE,
				.role = hold(p, th_json_get_str(v, "role")),
				.content = hold(p, th_json_raw_get(ev->data, "content")),
			};
	} else if (ev->kind == TH_EV_MODEL_ANSWERED) {
		code = add_answer(p, ev, v, err);
	} else if (ev->kind == TH_EV_OUTCOME) {
		add_result(p, ev->seq, ev->data, v);
	} else if (ev->kind == TH_EV_GUARDRAIL) {
		add_guardrail(p, ev->cause, v);
	} else if (ev->kind == TH_EV_ITEMS_ADDED) {
		add_list(p, p->count, ev->seq, th_json_raw_get(ev->data, "items"),
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
			code = join(p, ev->seq, th_json_get(v, "answer"), err);
	} else if (th_json_get(v, "history") && (p->narrow || ev->kind == TH_EV_CONDENSATION)) {
		code = th_transcript_keep(p, ev->seq, th_json_get(v, "history"), err);
		if (ev->kind == TH_EV_CONDENSATION)
			condensed(p, ev->seq, v);
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

void th_transcript_limit(struct th_transcript *p, size_t max)
{
	bool bare;

	if (p->task_at <= max)
		return;
	bare = p->task_at - max < p->count && is_reasoned(p->list, p->task_at - max);
	cut(p, 0, p->task_at - max);
	if (bare)
		p->list[0].bare = true;
	p->answer_at = p->results_at = p->count;
	p->asked_at = SIZE_MAX;
}

static bool has_result(const struct th_transcript *p, const struct th_transcript_item *call)
{
	for (const struct th_transcript_item *i = call + 1; i < p->list + p->count; i++)
		if (i->kind == TH_TRANSCRIPT_RESULT && th_str_eq(i->call_id, call->call_id))
			return true;
	return false;
}

/* One that has an outcome: of a type that nobody knows, nothing was made. */
static bool is_local_call(const struct th_transcript_item *i)
{
	struct th_str type = th_json_raw_get(i->item, "type");

	return i->kind == TH_TRANSCRIPT_OUTPUT && i->call_id.len &&
	       (th_str_is(type, "\"function_call\"") || th_str_is(type, "\"computer_call\"") ||
		native_type(type));
}

/* Of several results of a call the first is it. */
static bool answers_call(const struct th_transcript *p, size_t result)
{
	const struct th_transcript_item *item = &p->list[result];

	for (size_t i = result; i-- > 0;) {
		if (!th_str_eq(p->list[i].call_id, item->call_id))
			continue;
		if (p->list[i].kind == TH_TRANSCRIPT_RESULT)
			return false;
		if (is_local_call(&p->list[i]))
			return true;
	}
	return false;
}

void th_transcript_prune(struct th_transcript *p)
{
	for (size_t i = 0; i < p->count;) {
		const struct th_transcript_item *item = &p->list[i];
		bool orphan = false;
		size_t from = i;

		if (is_local_call(item)) {
			orphan = !has_result(p, item);
			while (orphan && from > 0 && is_reasoning(&p->list[from - 1]))
				from--;
		} else if (item->kind == TH_TRANSCRIPT_RESULT) {
			orphan = !answers_call(p, i);
		}
		if (!orphan) {
			i++;
			continue;
		}
		cut(p, from, i + 1 - from);
		i = from;
	}
	p->answer_at = p->results_at = p->count;
	p->asked_at = SIZE_MAX;
}

/* ---- parts ------------------------------------------------------------------------------- */

size_t th_transcript_run_at(const struct th_transcript *p)
{
	return TH_MIN(p->run_at, p->count);
}

size_t th_transcript_turn_at(const struct th_transcript *p)
{
	size_t from = th_transcript_run_at(p), first = p->count, end = from;

	for (size_t i = from; i < p->count; i++)
		if (p->list[i].kind != TH_TRANSCRIPT_RESULT && p->list[i].seq == p->answer_seq) {
			first = TH_MIN(first, i);
			end = i + 1;
		}
	return p->waited ? end : first;
}

/* ---- marks ------------------------------------------------------------------------------- */

/* Where what belongs to the task begins, in a list that event `seq` made. */
static size_t task_starts(const struct th_transcript *p, uint64_t seq)
{
	size_t at = 0;

	while (at < p->count && (p->list[at].seq < p->task_seq || p->list[at].seq == seq))
		at++;
	return at;
}

/* Is it the same item, or what somebody wrote in its place? */
static bool stands_for(const struct th_transcript_item *item, const struct th_transcript_item *was)
{
	return item->of ? item->seq == was->seq && item->index == was->index : is_reasoning(item);
}

enum th_code th_transcript_keep(struct th_transcript *p, uint64_t seq, const struct th_json *marks,
				struct th_err *err)
{
	struct th_transcript_item *before = p->list;
	size_t count = p->count, run_at = p->run_at, next = 0;
	struct th_json_iter it = th_json_iter(marks);
	enum th_code code = TH_OK;

	if (!th_json_is_array(marks))
		return th_fail(err, TH_EPROTO, "a narrowed history must be a list");
	free(p->aside); /* it stays as it is now */
	p->aside = NULL;
	p->list = NULL;
	p->count = p->cap = 0;
	p->run_at = SIZE_MAX;
	for (size_t n = 0; !code && !p->no_memory && th_json_next(&it); n++) {
		struct th_transcript_item *to = insert(p, p->count);
		uint64_t event = th_json_uint(th_json_at(it.val, 0), 0);
		uint64_t index = th_json_uint(th_json_at(it.val, 1), 0);
		bool found = false;

		if (!to)
			break;
		if (th_json_is_array(it.val)) {
			/* Mostly they come in the order in which they were. */
			for (size_t k = 0; k < count && !found; k++) {
				size_t i = next + k < count ? next + k : next + k - count;

				if (before[i].seq == event && before[i].index == index) {
					*to = before[i];
					to->bare |= is_reasoned(before, i) &&
						    !(n > 0 && stands_for(&to[-1], &before[i - 1]));
					found = true;
					next = i + 1;
					if (i >= run_at && p->run_at == SIZE_MAX)
						p->run_at = n;
				}
			}
			if (!found)
				code =
				    th_fail(err, TH_EPROTO,
					    "a narrowed history names item %llu of event %llu, "
					    "which is not there",
					    (unsigned long long)index, (unsigned long long)event);
		} else {
			to->seq = seq;
			to->index = n;
			fill(p, to, it.val, th_json_text(it.val, &p->memory));
		}
	}
	free(before);
	if (run_at != SIZE_MAX)
		p->run_at = TH_MIN(p->run_at, p->count);
	p->answer_at = p->results_at = p->count;
	p->asked_at = SIZE_MAX;
	p->task_at = task_starts(p, seq);
	p->tail_at = 0;
	return code;
}
