/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history.c - a history event by event: answers wait for the results of their calls, and what is
 * said meanwhile waits for both.
 */
#include "history/history.h"

#include <stdlib.h>

#include "context/result.h"
#include "history/internal.h"

/* What people say, and what became of tasks in the background. */
#define HELD_MAX (TH_HELD_MESSAGES_MAX + TH_BACKGROUND_MAX)

struct th_history *th_history_new(const struct th_request_options *options)
{
	struct th_history *h = th_try_alloc(sizeof(*h));

	if (!h)
		return NULL;

	h->options = options;
	th_arena_init_try(&h->waiting, TH_TURN_MEMORY_MAX);
	th_arena_init_try(&h->held_memory, TH_TURN_MEMORY_MAX);
	th_buf_init_try(&h->elements, TH_EVENT_DATA_MAX);
	return h;
}

struct th_history *th_history_free(struct th_history *h)
{
	if (!h)
		return NULL;
	th_arena_deinit(&h->waiting);
	th_arena_deinit(&h->held_memory);
	th_buf_deinit(&h->elements);
	th_pieces_deinit(&h->pieces);
	free(h);
	return NULL;
}

static enum th_code add_message(struct th_history *h, const struct th_json *data,
				struct th_arena *a, struct th_err *err)
{
	struct th_ev_message d;
	struct th_group e = { .kind = TH_GROUP_MESSAGE };
	enum th_code code = th_table_parse(&th_ev_message_table, data, a, &d, err);

	if (code)
		return code;
	e.role = d.role;
	e.content = d.content;
	if (h->open_left == 0 && !h->asked)
		return th_history_render(h, &e, err);
	if (!h->held)
		h->held = th_arena_array(&h->held_memory, HELD_MAX, sizeof(*h->held));
	if (!h->held || h->held_count == HELD_MAX)
		return th_fail(err, TH_ELIMIT,
			       "more than %d messages came while the agent was at work", HELD_MAX);
	e.role = th_arena_str(&h->held_memory, e.role);
	e.content = th_arena_str(&h->held_memory, e.content);
	if (!e.role.ptr || !e.content.ptr)
		return th_fail(err, TH_ELIMIT,
			       "what was said while the agent was at work is too "
			       "long");
	h->held[h->held_count++] = e;
	return TH_OK;
}

/* What was said meanwhile, in its order. */
static enum th_code release_held(struct th_history *h, struct th_err *err)
{
	enum th_code code = TH_OK;

	for (size_t i = 0; i < h->held_count && !code; i++)
		code = th_history_render(h, &h->held[i], err);
	h->held = NULL;
	h->held_count = 0;
	th_arena_deinit(&h->held_memory);
	th_arena_init_try(&h->held_memory, TH_TURN_MEMORY_MAX);
	return code;
}

/* The items without those calls that stand there already. */
static void without_duplicates(const struct th_parsed *p, struct th_buf *out)
{
	struct th_json_raw_iter it = th_json_raw_iter(p->items);
	struct th_jw w = th_jw(out);
	size_t next = 0;

	th_jw_array(&w);
	for (size_t n = 0; th_json_raw_next(&it); n++)
		if (next < p->next.duplicate_count && p->next.duplicates[next] == n)
			next++;
		else
			th_jw_raw(&w, it.val);
	th_jw_array_end(&w);
}

static enum th_code add_answer(struct th_history *h, const struct th_parsed *p, struct th_err *err)
{
	const struct th_next *next = &p->next;
	struct th_group g = { .kind = TH_GROUP_ANSWER, .items = p->items, .raw = p->raw };
	struct th_buf once;
	enum th_code code = TH_OK;

	th_buf_init_try(&once, TH_ANSWER_MAX);
	th_arena_reset(&h->waiting);
	/* A call needs one result: it is there once. */
	if (next->duplicate_count && !g.raw.len) {
		without_duplicates(p, &once);
		code = th_buf_check(&once, "the answer", err);
		g.items = th_buf_str(&once);
	}
	if (!code)
		code = th_history_render_answer(h, &g, err);
	th_buf_deinit(&once);
	if (code)
		return code;
	th_history_begin_tail(h);
	h->open_count = h->open_left = next->call_count;
	h->open = th_arena_array(&h->waiting, next->call_count + 1, sizeof(*h->open));
	if (!h->open)
		return th_fail(err, TH_ELIMIT, "the answer's calls take too much memory");
	for (size_t i = 0; i < next->call_count && !code; i++) {
		const struct th_call *c = &next->calls[i];

		h->open[i] =
		    (struct th_open_call){ .call_id = th_arena_str(&h->waiting, c->call_id),
					   .tool = th_arena_str(&h->waiting, c->tool),
					   .item = th_arena_str(&h->waiting, c->item),
					   .native = c->native };
		code = th_history_adopt_call(h, &h->open[i].item, err);
	}
	if (code)
		return code;
	return h->open_left == 0 ? release_held(h, err) : TH_OK;
}

/* Results go out in the order of the calls, once all are there; then what was said meanwhile. */
static enum th_code close_turn(struct th_history *h, struct th_err *err)
{
	struct th_group g = { .kind = TH_GROUP_RESULTS, .result_count = h->open_count };
	struct th_result *results =
	    th_arena_array(&h->waiting, h->open_count + 1, sizeof(*results));
	enum th_code code = TH_OK;

	if (!results)
		return th_fail(err, TH_ELIMIT, "the answer's results take too much memory");
	for (size_t i = 0; i < h->open_count; i++) {
		const struct th_open_call *c = &h->open[i];

		results[i] = (struct th_result){
			.call_item = c->item,
			.call_id = c->call_id,
			.tool = c->tool,
			.output = c->output,
			.acknowledged = c->acknowledged,
			.status = c->status,
			.evidence = c->evidence,
		};
	}
	g.results = results;
	code = th_history_render(h, &g, err);
	if (!code)
		code = release_held(h, err);
	h->open_count = h->open_left = 0;
	h->open = NULL;
	h->no_memory |= h->waiting.no_memory; /* deinit forgets it */
	th_arena_deinit(&h->waiting);
	th_arena_init_try(&h->waiting, TH_TURN_MEMORY_MAX);
	return code;
}

static enum th_code add_outcome(struct th_history *h, uint64_t seq, const struct th_json *data,
				struct th_arena *a, struct th_err *err)
{
	struct th_ev_outcome d;
	enum th_code code = th_table_parse(&th_ev_outcome_table, data, a, &d, err);

	if (code)
		return code;
	for (size_t i = 0; i < h->open_count; i++) {
		struct th_open_call *c = &h->open[i];

		if (c->answered || !th_str_eq(c->call_id, d.call_id))
			continue;
		c->answered = true;
		c->output =
		    th_history_shown(h, d.output, seq, th_result_whole(d.evidence), &h->waiting);
		if (d.acknowledged.len)
			c->acknowledged = th_arena_str(&h->waiting, d.acknowledged);
		c->status = (enum th_outcome_status)TH_MAX(th_outcome_find(d.status), 0);
		if (c->native && d.evidence.len)
			c->evidence = th_arena_str(&h->waiting, d.evidence);
		return --h->open_left == 0 ? close_turn(h, err) : TH_OK;
	}
	return th_fail(err, TH_EPROTO, "an outcome without its call");
}

static enum th_code take_speaker(struct th_history *h, struct th_str data, struct th_err *err)
{
	static const char *const keys[] = { "choice", "agent" };
	struct th_str found[TH_COUNT(keys)], resolved;
	struct th_buf agent;
	int64_t at = 0;

	th_json_raw_gets(data, TH_COUNT(keys), keys, found);
	resolved = found[0];
	if (resolved.len && (!th_str_i64(resolved, &at) || at < 0 || at > TH_FALLBACK_MAX))
		return th_fail(err, TH_EPROTO, "there is no such model in the agent's list");
	th_buf_init_try(&agent, TH_EVENT_DATA_MAX);
	if (!th_json_unescape(found[1], &agent))
		th_buf_clear(&agent);
	if (h->options->who)
		h->options->who(h->options->who_ctx, th_buf_str(&agent), (size_t)at, &h->asks);
	h->no_memory |= agent.no_memory;
	th_buf_deinit(&agent);
	return TH_OK;
}

static bool still_kept(const struct th_event *ev)
{
	return ev->kind == TH_EV_MODEL_FAILED &&
	       th_str_is(th_json_raw_get(ev->data, "kept"), "true");
}

/* Does the history read more of such an event than a few members? */
static bool needs_parsed(enum th_event_kind kind)
{
	return kind == TH_EV_MODEL_ANSWERED || kind == TH_EV_MESSAGE || kind == TH_EV_OUTCOME;
}

/* `p`: empty where needs_parsed says no. */
static enum th_code add(struct th_history *h, const struct th_event *ev, const struct th_parsed *p,
			struct th_err *err)
{
	struct th_arena scratch;
	enum th_code code = TH_OK;

	assert(ev->seq == h->seq + 1);
	th_arena_init_try(&scratch, TH_TURN_MEMORY_MAX);
	if (ev->kind == TH_EV_MODEL_ANSWERED) {
		h->asked = h->kept = false;
		code = add_answer(h, p, err);
	} else if (ev->kind == TH_EV_MODEL_STARTED) {
		h->kept = true;
	} else if (ev->kind == TH_EV_SESSION_FORKED) {
		h->kept = false; /* the parent's answer is not the fork's */
	} else if (h->kept && (ev->kind == TH_EV_MODEL_REQUESTED || still_kept(ev))) {
		code = TH_OK; /* what is said meanwhile waits on */
	} else if (ev->kind == TH_EV_MODEL_REQUESTED || ev->kind == TH_EV_MODEL_FAILED) {
		h->kept = false;
		h->asked = ev->kind == TH_EV_MODEL_REQUESTED;
		if (h->asked)
			code = take_speaker(h, ev->data, err);
		if (!code && h->open_left == 0)
			code = release_held(h, err);
	} else if (ev->kind == TH_EV_MESSAGE) {
		code = add_message(h, p->data, &scratch, err);
	} else if (ev->kind == TH_EV_OUTCOME) {
		code = add_outcome(h, ev->seq, p->data, &scratch, err);
	}
	h->no_memory |= scratch.no_memory || h->waiting.no_memory || h->held_memory.no_memory ||
			h->elements.no_memory;
	if (h->no_memory)
		code = th_fail_memory(err);
	th_arena_deinit(&scratch);
	if (code)
		return th_prefix(err, code, "event %llu as history", (unsigned long long)ev->seq);
	h->seq = ev->seq;
	return TH_OK;
}

enum th_code th_history_add_parsed(struct th_history *h, const struct th_parsed *p,
				   struct th_err *err)
{
	return add(h, p->ev, p, err);
}

enum th_code th_history_add(struct th_history *h, const struct th_event *ev, struct th_err *err)
{
	static const struct th_parsed nothing;
	struct th_parsed p TH_UNSET;
	enum th_code code;

	if (!needs_parsed(ev->kind))
		return add(h, ev, &nothing, err);
	code = th_parsed_init(&p, ev, err);
	if (code)
		return th_prefix(err, code, "event %llu as history", (unsigned long long)ev->seq);
	code = add(h, ev, &p, err);
	th_parsed_deinit(&p);
	return code;
}

enum th_code th_history_fill(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			     struct th_err *err)
{
	(void)digest;
	return th_history_add(ctx, ev, err);
}

size_t th_history_images(const struct th_history *h)
{
	return h->pieces.images;
}

bool th_history_last_image(const struct th_history *h, struct th_digest *ret)
{
	return th_pieces_last_image(&h->pieces, ret);
}

struct th_str th_history_elements(const struct th_history *h)
{
	return th_buf_str(&h->elements);
}

size_t th_history_items(const struct th_history *h)
{
	return h->items + (h->open_left == 0 ? h->held_count : 0);
}

size_t th_history_tail(const struct th_history *h)
{
	return th_history_items(h) - h->tail_items;
}

bool th_history_full(const struct th_history *h)
{
	return h->held_count >= TH_HELD_MESSAGES_MAX;
}

size_t th_history_slices(const struct th_history *h, size_t images_keep, struct th_slice **ret)
{
	return th_pieces_slices(&h->pieces, h->options->profile->wire, images_keep, ret);
}

size_t th_history_tail_slices(const struct th_history *h, size_t images_keep, struct th_slice **ret)
{
	return th_pieces_tail_slices(&h->pieces, h->options->profile->wire, images_keep, ret);
}
