/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/history.h"

#include <stdlib.h>

#include "context/result.h"
#include "driver/log.h"
#include "models/adopt.h"

#define CHUNK_MIN ((size_t)1024)
#define CHUNK_MAX (64 * TH_KIB)

/* Bytes that never move. */
struct chunk {
	struct chunk *older;
	size_t size, cap;
	char bytes[];
};

/* A call of the last answer that still needs its result, or has it and waits for the others. */
struct open_call {
	struct th_str call_id, tool, item; /* in `waiting` */
	bool answered;
	uint8_t native; /* enum th_native */
	enum th_outcome_status status;
	struct th_str output, acknowledged, evidence;
};

enum piece_kind {
	PIECE_BYTES, /* `bytes` */
	PIECE_IMAGE, /* `bytes`, base64 of `blob`, `after`; or `instead` when it is left out */
	PIECE_MARK   /* the wire's mark, or nothing */
};
struct piece {
	enum piece_kind kind;
	bool part; /* IMAGE: the wire's `same` may stand for it */
	struct th_str bytes, after, instead;
	struct th_digest blob;
};

struct th_history {
	const struct th_request_options *options;
	uint64_t seq;
	size_t items, bytes, images, marks;
	struct chunk *chunks;
	struct piece *pieces;
	size_t piece_count, piece_cap;
	size_t tail_piece, tail_items; /* where what is new since the last answer begins */
	struct th_arena waiting;       /* calls without result */
	struct th_arena held_memory;
	struct open_call *open;
	size_t open_count, open_left;
	bool no_memory;
	struct piece lost; /* stands for one that there was no memory for */
	bool kept;         /* its answer goes on at the provider, whatever becomes of requests */
	bool asked;        /* the model was asked: what is said now it has not read */
	struct th_speaker asks; /* who that was; profile NULL: our model */
	struct th_group *held;  /* in `held_memory` */
	struct th_buf elements; /* marked on the newest picture */
	size_t held_count;
};

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
	while (h->chunks) {
		struct chunk *older = h->chunks->older;

		free(h->chunks);
		h->chunks = older;
	}
	th_arena_deinit(&h->waiting);
	th_arena_deinit(&h->held_memory);
	th_buf_deinit(&h->elements);
	free(h->pieces);
	free(h);
	return NULL;
}

static struct piece *piece_new(struct th_history *h)
{
	if (h->piece_count == h->piece_cap) {
		size_t cap = h->piece_cap ? h->piece_cap * 2 : 2;
		struct piece *list = th_try_realloc(h->pieces, cap * sizeof(*list));

		if (!list) { /* written to, and never read */
			h->no_memory = true;
			h->lost = (struct piece){ 0 };
			return &h->lost;
		}
		h->pieces = list;
		h->piece_cap = cap;
	}
	h->pieces[h->piece_count] = (struct piece){ 0 };
	return &h->pieces[h->piece_count++];
}

/* A copy that never moves. */
static struct th_str keep(struct th_history *h, struct th_str s)
{
	struct chunk *c = h->chunks;
	char *at;

	if (!c || c->cap - c->size < s.len) {
		size_t cap = TH_MIN(TH_MAX(h->bytes / 8, CHUNK_MIN), CHUNK_MAX);

		cap = TH_MAX(cap, s.len);
		c = th_try_alloc(sizeof(*c) + cap);
		if (!c) {
			h->no_memory = true;
			return (struct th_str){ NULL, 0 };
		}
		c->cap = cap;
		c->older = h->chunks;
		h->chunks = c;
	}
	at = c->bytes + c->size;
	memcpy(at, s.ptr, s.len);
	c->size += s.len;
	h->bytes += s.len;
	return th_str_n(at, s.len);
}

/* Appends to the last piece where they touch. */
static void put(struct th_history *h, struct th_str s)
{
	struct piece *last = h->piece_count ? &h->pieces[h->piece_count - 1] : NULL;
	bool bytes = last && last->kind == PIECE_BYTES && h->piece_count != h->tail_piece;

	if (s.len == 0)
		return;
	s = keep(h, s);
	if (bytes && last->bytes.ptr + last->bytes.len == s.ptr)
		last->bytes.len += s.len;
	else
		piece_new(h)->bytes = s;
}

static void piece_remove(struct th_history *h, size_t i)
{
	h->piece_count--;
	h->tail_piece -= i < h->tail_piece;
	memmove(&h->pieces[i], &h->pieces[i + 1], (h->piece_count - i) * sizeof(*h->pieces));
}

/* A mark that newer ones keep from ever being sent again; the bytes around it become one piece. */
static void drop_old_mark(struct th_history *h)
{
	size_t newer = 0, max = (size_t)h->options->profile->wire->marks_max;

	for (size_t i = h->piece_count; i-- > 0;) {
		struct piece *p = &h->pieces[i];

		if (p->kind != PIECE_MARK || newer++ < max)
			continue;
		piece_remove(h, i);
		h->marks--;
		if (i > 0 && i < h->piece_count && i != h->tail_piece &&
		    p[-1].kind == PIECE_BYTES && p->kind == PIECE_BYTES &&
		    p[-1].bytes.ptr + p[-1].bytes.len == p->bytes.ptr) {
			p[-1].bytes.len += p->bytes.len;
			piece_remove(h, i);
		}
		return;
	}
}

/* The bytes from..to of a rendered group, with the holes among them. */
static void put_pieces(struct th_history *h, struct th_str out, const struct th_hole *holes,
		       size_t count)
{
	size_t from = 0;

	for (size_t i = 0; i < count; i++) {
		const struct th_hole *hole = &holes[i];
		struct piece *piece;

		if (hole->kind == TH_HOLE_MARK) {
			put(h, th_str_sub(out, from, hole->at - from));
			piece_new(h)->kind = PIECE_MARK;
			h->marks++;
			drop_old_mark(h);
			from = hole->at;
			continue;
		}
		put(h, th_str_sub(out, from, hole->from - from));
		piece = piece_new(h);
		piece->kind = PIECE_IMAGE;
		piece->blob = hole->blob;
		piece->part = hole->part;
		piece->bytes = keep(h, th_str_sub(out, hole->from, hole->at - hole->from));
		piece->after = keep(h, th_str_sub(out, hole->at, hole->to - hole->at));
		piece->instead = keep(h, th_str_sub(out, hole->to, hole->end - hole->to));
		h->images++;
		from = hole->end;
	}
	put(h, th_str_sub(out, from, out.len));
}

/* Where the marks are on the pictures of a content list; the newest counts. */
static enum th_code take_elements(struct th_history *h, struct th_str parts, struct th_err *err)
{
	struct th_json_raw_iter it = th_json_raw_iter(parts);

	while (!it.object && th_json_raw_next(&it)) {
		struct th_str list = th_json_raw_get(it.val, "elements");

		if (!list.len || list.ptr[0] != '[')
			continue;
		th_buf_clear(&h->elements);
		th_buf_add(&h->elements, list);
	}
	return th_buf_check(&h->elements, "the marks of a picture", err);
}

static enum th_code take_marks(struct th_history *h, const struct th_group *g, struct th_err *err)
{
	enum th_code code = TH_OK;

	if (g->kind == TH_GROUP_MESSAGE)
		code = take_elements(h, g->content, err);
	for (size_t i = 0; i < g->result_count && !code; i++)
		code = take_elements(h, g->results[i].output, err);
	return code;
}

static enum th_code render(struct th_history *h, const struct th_group *g, struct th_err *err)
{
	struct th_hole holes[TH_GROUP_HOLES_MAX] TH_UNSET;
	size_t count = 0;
	struct th_buf out;
	enum th_code code;

	th_buf_init_try(&out, TH_REQUEST_MAX);
	code = th_group_render(h->options, g, h->items == 0, &out, holes, TH_GROUP_HOLES_MAX,
			       &count, err);
	if (!code || out.no_memory)
		code = th_buf_check(&out, "a history item", err);
	if (!code) {
		put_pieces(h, th_buf_str(&out), holes, count);
		h->items += out.len > 0;
	}
	th_buf_deinit(&out);
	return code ? code : take_marks(h, g, err);
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
		return render(h, &e, err);
	if (!h->held)
		h->held = th_arena_array(&h->held_memory, TH_HELD_MESSAGES_MAX, sizeof(*h->held));
	if (!h->held || th_history_full(h))
		return th_fail(err, TH_ELIMIT,
			       "more than %d messages came while the agent was at work",
			       TH_HELD_MESSAGES_MAX);
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
		code = render(h, &h->held[i], err);
	h->held = NULL;
	h->held_count = 0;
	th_arena_deinit(&h->held_memory);
	th_arena_init_try(&h->held_memory, TH_TURN_MEMORY_MAX);
	return code;
}

/* NULL: it is our model's. */
static const struct th_profile *stranger(const struct th_history *h)
{
	const struct th_request_options *o = h->options;
	bool ours = h->asks.profile == o->profile && th_str_eq(h->asks.model, o->model);

	return ours ? NULL : h->asks.profile;
}

/* Another model's answer, for ours. */
static enum th_code render_adopted(struct th_history *h, struct th_str items, struct th_err *err)
{
	struct th_buf adopted;
	struct th_group g = { .kind = TH_GROUP_ANSWER };
	enum th_code code;

	th_buf_init(&adopted, TH_REQUEST_MAX);
	code = th_adopt_answer(stranger(h), h->options, items, &adopted, err);
	g.items = th_buf_str(&adopted);
	if (!code)
		code = render(h, &g, err);
	th_buf_deinit(&adopted);
	return code;
}

static enum th_code adopt_call(struct th_history *h, struct open_call *c, struct th_err *err)
{
	struct th_buf item;
	enum th_code code;

	th_buf_init(&item, TH_REQUEST_MAX);
	code = th_adopt_call(stranger(h), h->options, c->item, &item, err);
	c->item = th_arena_str(&h->waiting, th_buf_str(&item));
	th_buf_deinit(&item);
	if (!code && !c->item.ptr)
		return th_fail(err, TH_ELIMIT, "the answer's calls take too much memory");
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

/* What is new since the last answer begins here. */
static void begin_tail(struct th_history *h)
{
	h->tail_piece = h->piece_count;
	h->tail_items = h->items;
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
		code = stranger(h) ? render_adopted(h, g.items, err) : render(h, &g, err);
	th_buf_deinit(&once);
	if (code)
		return code;
	begin_tail(h);
	h->open_count = h->open_left = next->call_count;
	h->open = th_arena_array(&h->waiting, next->call_count + 1, sizeof(*h->open));
	if (!h->open)
		return th_fail(err, TH_ELIMIT, "the answer's calls take too much memory");
	for (size_t i = 0; i < next->call_count && !code; i++) {
		const struct th_call *c = &next->calls[i];

		h->open[i] = (struct open_call){ .call_id = th_arena_str(&h->waiting, c->call_id),
						 .tool = th_arena_str(&h->waiting, c->tool),
						 .item = th_arena_str(&h->waiting, c->item),
						 .native = c->native };
		if (stranger(h))
			code = adopt_call(h, &h->open[i], err);
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
		const struct open_call *c = &h->open[i];

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
	code = render(h, &g, err);
	if (!code)
		code = release_held(h, err);
	h->open_count = h->open_left = 0;
	h->open = NULL;
	h->no_memory |= h->waiting.no_memory; /* deinit forgets it */
	th_arena_deinit(&h->waiting);
	th_arena_init_try(&h->waiting, TH_TURN_MEMORY_MAX);
	return code;
}

static bool has_tool(const struct th_request_options *o, const char *name)
{
	for (size_t i = 0; i < o->tool_count; i++)
		if (th_str_is(o->tools[i].name, name))
			return true;
	return false;
}

/* A result as the model is shown it; what is made for it is in `memory`. */
static struct th_str shown(const struct th_history *h, struct th_str output, uint64_t seq,
			   int64_t whole, struct th_arena *memory)
{
	const struct th_agent *agent = h->options->agent;
	size_t max = agent ? (size_t)agent->result_bytes : 0;
	const struct th_result_shown how = { .max = max ?: TH_RESULT_SHOWN_DEFAULT,
					     .seq = seq,
					     .whole = whole,
					     .history = has_tool(h->options, "history") };
	struct th_buf text;

	th_buf_init_try(&text, 2 * TH_EVENT_DATA_MAX);
	if (th_result_shorten(output, &how, &text))
		output = th_buf_str(&text);
	output = th_arena_str(memory, output);
	memory->no_memory |= text.no_memory;
	th_buf_deinit(&text);
	return output;
}

static enum th_code add_outcome(struct th_history *h, uint64_t seq, const struct th_json *data,
				struct th_arena *a, struct th_err *err)
{
	struct th_ev_outcome d;
	enum th_code code = th_table_parse(&th_ev_outcome_table, data, a, &d, err);

	if (code)
		return code;
	for (size_t i = 0; i < h->open_count; i++) {
		struct open_call *c = &h->open[i];

		if (c->answered || !th_str_eq(c->call_id, d.call_id))
			continue;
		c->answered = true;
		c->output = shown(h, d.output, seq, th_result_whole(d.evidence), &h->waiting);
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

/* `p` NULL: needs_parsed says no. */
static enum th_code add(struct th_history *h, const struct th_event *ev, const struct th_parsed *p,
			struct th_err *err)
{
	struct th_arena scratch;
	enum th_code code = TH_OK;

	assert(ev->seq == h->seq + 1);
	assert(p || !needs_parsed(ev->kind));
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
	struct th_parsed p TH_UNSET;
	enum th_code code;

	if (!needs_parsed(ev->kind))
		return add(h, ev, NULL, err);
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

static bool is_whole(const struct th_transcript_item *first, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (first[i].index != i || first[i].of != count)
			return false;
	return true;
}

/* Whose words these are. */
static void speaks(struct th_history *h, const struct th_transcript_who *who)
{
	h->asks = (struct th_speaker){ 0 };
	if (who->model && h->options->who)
		h->options->who(h->options->who_ctx, who->agent, who->choice, &h->asks);
}

static bool is_next(const struct th_transcript_item *item, const struct th_transcript_item *next)
{
	return !item->of || !next->of || item->index + 1 == next->index;
}

static bool is_reasoning(const struct th_transcript_item *item)
{
	return th_str_is(th_json_raw_get(item->item, "type"), "\"reasoning\"");
}

/* Of an answer that was taken apart, reasoning goes whose item is gone, and a call that lost its
 * reasoning goes without its id, by which the server would miss that.  What no answer has is what a
 * filter made of a neighbour. */
static void print_answer(const struct th_transcript_item *first, size_t count, struct th_jw *w)
{
	th_jw_array(w);
	for (size_t i = 0; i < count; i++) {
		struct th_json_raw_iter it = th_json_raw_iter(first[i].item);

		if (i + 1 < count && is_reasoning(&first[i]) && !is_next(&first[i], &first[i + 1]))
			continue;
		if (!first[i].bare || !first[i].call_id.len) {
			th_jw_raw(w, first[i].item);
			continue;
		}
		th_jw_object(w);
		while (th_json_raw_next(&it)) {
			if (th_str_is(it.key, "id"))
				continue;
			th_jw_name(w, it.key);
			th_jw_raw(w, it.val);
		}
		th_jw_object_end(w);
	}
	th_jw_array_end(w);
}

/* The items of one answer, or what is left of them. */
static enum th_code begin_answer(struct th_history *h, const struct th_transcript_item *first,
				 size_t count, struct th_err *err)
{
	struct th_group g = { .kind = TH_GROUP_ANSWER };
	struct th_buf items;
	struct th_jw w;
	size_t own = 0;
	enum th_code code;

	while (own + 1 < count && !first[own].of)
		own++;
	th_buf_init_try(&items, TH_ANSWER_MAX);
	w = th_jw(&items);
	print_answer(first, count, &w);
	code = th_buf_check(&items, "an answer", err);
	g.items = th_buf_str(&items);
	if (is_whole(first, count))
		g.raw = first->raw;
	speaks(h, &first[own].who);
	if (!code)
		code = stranger(h) ? render_adopted(h, g.items, err) : render(h, &g, err);
	th_buf_deinit(&items);
	return code;
}

static enum th_code begin_results(struct th_history *h, const struct th_transcript_item *first,
				  size_t count, struct th_err *err)
{
	struct th_result *results = th_alloc(count * sizeof(*results));
	struct th_group g = { .kind = TH_GROUP_RESULTS, .results = results, .result_count = count };
	struct th_arena scratch;
	enum th_code code = TH_OK;

	th_arena_init_try(&scratch, TH_TURN_MEMORY_MAX);
	for (size_t i = 0; i < count && !code; i++) {
		struct open_call call = { .item = first[i].item };

		speaks(h, &first[i].who);
		if (stranger(h) && call.item.len)
			code = adopt_call(h, &call, err);
		results[i] = (struct th_result){ .call_item = call.item,
						 .call_id = first[i].call_id,
						 .tool = first[i].tool,
						 .output = shown(h, first[i].output, first[i].seq,
								 first[i].whole, &scratch),
						 .acknowledged = first[i].acknowledged,
						 .status = first[i].status,
						 .evidence = first[i].evidence };
	}
	h->no_memory |= scratch.no_memory;
	if (!code)
		code = h->no_memory ? th_fail_memory(err) : render(h, &g, err);
	th_arena_deinit(&scratch);
	free(results);
	return code;
}

/* How many items from here go together: results, or what is left of one answer.  What no
 * answer has is what a filter made of a neighbour: reasoning alone would not be sent. */
static size_t together(const struct th_transcript_item *first, size_t max)
{
	uint64_t seq = 0;
	size_t n = 0;

	for (; n < max && first[n].kind == first->kind; n++) {
		if (first->kind != TH_TRANSCRIPT_OUTPUT || !first[n].of)
			continue;
		if (seq && first[n].seq != seq)
			break;
		seq = first[n].seq;
	}
	return n;
}

enum th_code th_history_begin(struct th_history *h, const struct th_transcript *transcript,
			      uint64_t seq, bool asked, struct th_err *err)
{
	enum th_code code = TH_OK;

	assert(h->seq == 0);
	for (size_t i = 0, n; i < transcript->count && !code; i += n) {
		const struct th_transcript_item *first = &transcript->list[i];
		struct th_group message = { .kind = TH_GROUP_MESSAGE,
					    .role = first->role,
					    .content = first->content };

		if (i == transcript->tail_at)
			begin_tail(h);
		n = transcript->tail_at > i ? transcript->tail_at - i : transcript->count - i;
		n = first->kind == TH_TRANSCRIPT_MESSAGE ? 1 : together(first, n);
		if (first->kind == TH_TRANSCRIPT_MESSAGE)
			code = render(h, &message, err);
		else if (first->kind == TH_TRANSCRIPT_OUTPUT)
			code = begin_answer(h, first, n, err);
		else
			code = begin_results(h, first, n, err);
	}
	if (transcript->tail_at == transcript->count)
		begin_tail(h);
	h->seq = seq;
	h->asked = asked;
	h->asks = (struct th_speaker){ 0 }; /* of a request under way: our model */
	h->no_memory |= h->waiting.no_memory;
	return !code && h->no_memory ? th_fail_memory(err) : code;
}

size_t th_history_images(const struct th_history *h)
{
	return h->images;
}

bool th_history_last_image(const struct th_history *h, struct th_digest *ret)
{
	for (size_t i = h->piece_count; i > 0; i--)
		if (h->pieces[i - 1].kind == PIECE_IMAGE) {
			*ret = h->pieces[i - 1].blob;
			return true;
		}
	return false;
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
	return h->held_count == TH_HELD_MESSAGES_MAX;
}

size_t th_history_left_out(size_t count, size_t images_keep)
{
	size_t step = TH_MAX(images_keep / 2, (size_t)1);

	if (!images_keep || count <= images_keep)
		return 0;
	return (count - images_keep + step - 1) / step * step;
}

static size_t slices_from(const struct th_history *h, size_t first, size_t images,
			  size_t images_keep, struct th_slice **ret)
{
	const struct th_wire *wire = h->options->profile->wire;
	size_t left_out = th_history_left_out(images, images_keep), image = 0, mark = 0, n = 0;
	size_t marks_max = (size_t)wire->marks_max;
	const struct piece *before =
	    NULL; /* the picture before, when it is sent or said to be the same */
	struct th_slice *list = th_alloc((h->piece_count + 2 * h->images + 1) * sizeof(*list));

	for (size_t i = first; i < h->piece_count; i++) {
		const struct piece *p = &h->pieces[i];
		bool same =
		    before && p->part && wire->same && th_digest_eq(&p->blob, &before->blob);

		if (p->kind == PIECE_BYTES) {
			/* Where a mark between them is not sent, they touch. */
			struct th_str *last = n ? &list[n - 1].bytes : NULL;

			if (last && last->ptr && last->ptr + last->len == p->bytes.ptr)
				last->len += p->bytes.len;
			else
				list[n++].bytes = p->bytes;
		} else if (p->kind == PIECE_MARK) {
			if (mark++ + marks_max >= h->marks)
				list[n++].bytes = th_str_of(wire->mark);
		} else if (image++ < left_out) {
			list[n++].bytes = p->instead;
		} else if (same) {
			list[n++].bytes = th_str_of(wire->same);
		} else {
			list[n++].bytes = p->bytes;
			list[n++].blob = p->blob;
			list[n++].bytes = p->after;
			before = p;
		}
	}
	*ret = list;
	return n;
}

size_t th_history_slices(const struct th_history *h, size_t images_keep, struct th_slice **ret)
{
	return slices_from(h, 0, h->images, images_keep, ret);
}

size_t th_history_tail_slices(const struct th_history *h, size_t images_keep, struct th_slice **ret)
{
	size_t images = 0, count;

	for (size_t i = h->tail_piece; i < h->piece_count; i++)
		images += h->pieces[i].kind == PIECE_IMAGE;
	count = slices_from(h, h->tail_piece, images, images_keep, ret);
	/* The first group has the comma that parts it from what is not sent. */
	if (count > 0 && (*ret)[0].bytes.len > 0 && (*ret)[0].bytes.ptr[0] == ',')
		(*ret)[0].bytes = th_str_sub((*ret)[0].bytes, 1, (*ret)[0].bytes.len);
	return count;
}
