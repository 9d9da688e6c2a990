/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.c - the events of a stream.  They are walked as raw text; the
 * message that is put together of them is parsed once, at the end, and thereby
 * checked.  A broken event makes the answer malformed, an unknown one is passed
 * over.
 */
#include "anthropic_messages/decoder.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/limits.h"
#include "model_wire/seal.h"

/* All values are raw, and absent when the event has none. */
struct event {
	struct th_str data, type, index;
	struct th_str message, block, delta, usage, error;
	bool typed; /* `type` stands in the data */
};

static void take_member(void *ctx, struct th_str key, struct th_str val)
{
	struct event *ev = ctx;

	switch (key.len) {
	case 4:
		if (th_str_eq(key, TH_STR("type")))
			ev->type = th_json_raw_inside(val);
		break;
	case 5:
		if (th_str_eq(key, TH_STR("index")))
			ev->index = val;
		else if (th_str_eq(key, TH_STR("delta")))
			ev->delta = val;
		else if (th_str_eq(key, TH_STR("usage")))
			ev->usage = val;
		else if (th_str_eq(key, TH_STR("error")))
			ev->error = val;
		break;
	case 7:
		if (th_str_eq(key, TH_STR("message")))
			ev->message = val;
		break;
	case 13:
		if (th_str_eq(key, TH_STR("content_block")))
			ev->block = val;
		break;
	default:
		break;
	}
}

/* False when the data is not a whole object. */
static bool read_event(struct th_str data, struct event *ev)
{
	*ev = (struct event){ .data = data };
	return th_json_raw_members(data, take_member, ev);
}

static int64_t index_of(struct th_decoder *d, const struct event *ev)
{
	const struct th_blocks *blocks = &d->blocks;
	int64_t index;

	if (th_str_i64(ev->index, &index) && index >= 0)
		return index;
	return blocks->count ? blocks->list[blocks->count - 1].index : 0;
}

/* ---- deltas ---- */

struct th_delta_row {
	struct th_str type;
	const char *from; /* the delta's member */
	const char *to;   /* the block's; NULL: see take_delta */
	enum th_delta_kind kind;
};

/* The frequent ones first. */
static const struct th_delta_row rows[] = {
	{ TH_STR_INIT("input_json_delta"), "partial_json", "input", TH_DELTA_ARGUMENTS },
	{ TH_STR_INIT("text_delta"), "text", "text", TH_DELTA_TEXT },
	{ TH_STR_INIT("thinking_delta"), "thinking", "thinking", TH_DELTA_REASONING },
	{ TH_STR_INIT("citations_delta"), "citation", NULL, TH_DELTA_ITEM },
	{ TH_STR_INIT("signature_delta"), "signature", NULL, TH_DELTA_ITEM },
	{ TH_STR_INIT("compaction_delta"), "content", "content", TH_DELTA_ITEM },
};

/* `raw` is a JSON string with its quotes. */
static void tell(struct th_decoder *d, enum th_delta_kind kind, int64_t index, struct th_str raw)
{
	struct th_str text = th_delta_text_of(&d->delta, raw);

	if (text.len)
		d->fn(d->ctx, kind, (size_t)index, text);
}

static void take_note(struct th_decoder *d, struct th_block *b, struct th_str citation)
{
	if (!th_json_raw_is_object(citation))
		return;
	if (b->notes.len)
		th_blocks_add(&d->blocks, &b->notes, TH_STR(","));
	th_blocks_add(&d->blocks, &b->notes, citation);
}

static void take_text(struct th_decoder *d, struct th_block *b, const struct th_delta_row *row,
		      struct th_str raw)
{
	if (!th_json_raw_inside(raw).len)
		return;
	if (!b->member)
		b->member = row->to;
	if (strcmp(b->member, row->to) != 0)
		return; /* a block has one text */
	th_blocks_add(&d->blocks, &b->text, th_json_raw_inside(raw));
	if (d->fn && row->kind != TH_DELTA_ITEM)
		tell(d, row->kind, b->index, raw);
}

/*
 * Nearly all events of a stream are deltas of the block before and differ in
 * their text alone.  What stands before the text is kept: where it comes again,
 * and only braces stand behind the text, the event says nothing else and is not
 * walked again.
 */
static void keep_head(struct th_decoder *d, const struct event *ev, struct th_str type,
		      const struct th_delta_row *row, struct th_str val)
{
	int64_t index;

	th_buf_clear(&d->head);
	/* All that says what the text is must stand before it. */
	if (!ev->typed || !th_str_i64(ev->index, &index) || index < 0 || val.len < 2 ||
	    ev->type.ptr > val.ptr || ev->index.ptr > val.ptr || type.ptr > val.ptr)
		return;
	th_buf_add(&d->head, th_str_sub(ev->data, 0, (size_t)(val.ptr - ev->data.ptr)));
	d->head_row = row;
	d->head_index = index;
}

/* Whether `rest` is "}}", blanks aside. */
static bool ends_event(struct th_str rest)
{
	for (int i = 0; i < 2; i++) {
		rest = th_str_trim(rest);
		if (!rest.len || rest.ptr[0] != '}')
			return false;
		rest = th_str_sub(rest, 1, rest.len);
	}
	return !th_str_trim(rest).len;
}

/* False: it is another event, which nothing was taken of. */
static bool take_known(struct th_decoder *d, struct th_str data)
{
	struct th_json_raw_iter it = { .started = false };
	struct th_block *b;

	if (!d->head.len || d->doubled || !th_str_starts(data, th_buf_str(&d->head)))
		return false;
	it.rest = th_str_sub(data, d->head.len, data.len);
	if (!th_json_raw_next(&it) || it.val.ptr[0] != '"' || !ends_event(it.rest))
		return false;
	b = th_blocks_find(&d->blocks, d->head_index);
	d->last_hash = 0; /* as for any event that is not looked at for its double */
	if (b && !b->done)
		take_text(d, b, d->head_row, it.val);
	return true;
}

static void on_delta(struct th_decoder *d, const struct event *ev)
{
	struct th_str type = th_json_raw_inside(th_json_raw_get(ev->delta, "type"));
	struct th_block *b = th_blocks_find(&d->blocks, index_of(d, ev));

	if (!b || b->done)
		return;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		const struct th_delta_row *row = &rows[i];
		struct th_str val;

		if (!th_str_eq(type, row->type))
			continue;
		val = th_json_raw_get(ev->delta, row->from);
		if (row->to) {
			take_text(d, b, row, val);
			keep_head(d, ev, type, row, val);
		} else if (th_str_is(row->type, "citations_delta")) {
			take_note(d, b, val);
		} else {
			th_blocks_set(&d->blocks, &b->signature, th_json_raw_inside(val));
		}
		return;
	}
}

/* ---- the other events ---- */

static bool is_text(struct th_str block)
{
	return th_str_is(th_json_raw_inside(th_json_raw_get(block, "type")), "text");
}

/* The text that a block starts with. */
static void tell_start(struct th_decoder *d, int64_t index, struct th_str block)
{
	struct th_str text = th_json_raw_get(block, "text");

	if (d->fn && is_text(block) && th_json_raw_inside(text).len)
		tell(d, TH_DELTA_TEXT, index, text);
}

/*
 * Programmatic tool calling: a call that the provider's code made stands, whole,
 * in the content of message_start.  The indexes of these blocks are negative, so
 * that they come first, whether the server counts them or starts again at 0.
 */
static void take_early(struct th_decoder *d, struct th_str content)
{
	struct th_json_raw_iter it = th_json_raw_iter(content);
	int64_t index = 0;

	d->early_count = 0;
	while (!it.object && th_json_raw_next(&it))
		d->early_count++;
	it = th_json_raw_iter(content);
	for (; d->early_count && th_json_raw_next(&it); index++) {
		struct th_block *b = th_json_raw_is_object(it.val)
					 ? th_blocks_at(&d->blocks, index - d->early_count)
					 : NULL;

		if (!b)
			continue;
		th_blocks_set(&d->blocks, &b->start, it.val);
		b->done = true;
		tell_start(d, index, it.val);
		d->delta.half_len = 0;
	}
}

/* Some gateways send a block of message_start again in events of its own, under the same index.
 * The events then replace it. */
static void drop_early(struct th_decoder *d, int64_t index, struct th_str block)
{
	static const char *const same[] = { "type", "id", "tool_use_id" };
	struct th_block *b;

	if (index >= d->early_count)
		return;
	b = th_blocks_find(&d->blocks, index - d->early_count);
	for (size_t i = 0; b && i < TH_COUNT(same); i++)
		if (!th_str_eq(th_json_raw_get(th_buf_str(&b->start), same[i]),
			       th_json_raw_get(block, same[i])))
			return;
	if (b)
		th_blocks_set(&d->blocks, &b->start, TH_STR("")); /* not printed */
}

static void on_start(struct th_decoder *d, const struct event *ev)
{
	/* A second one: the provider, or what stands between, began again. */
	th_blocks_deinit(&d->blocks);
	th_buf_clear(&d->start);
	th_buf_clear(&d->over);
	th_buf_clear(&d->usage);
	d->delta.half_len = 0;
	d->doubled = false;
	if (th_json_raw_is_object(ev->message)) {
		th_buf_add(&d->start, ev->message);
		if (th_json_raw_is_object(th_json_raw_get(ev->message, "usage")))
			th_buf_add(&d->usage, th_json_raw_get(ev->message, "usage"));
	}
	take_early(d, th_json_raw_get(ev->message, "content"));
}

static void on_block(struct th_decoder *d, const struct event *ev)
{
	int64_t index = index_of(d, ev), given;
	struct th_block *b;

	if (!th_str_i64(ev->index, &given) && d->blocks.count)
		index++; /* a server that does not count */
	b = th_json_raw_is_object(ev->block) ? th_blocks_at(&d->blocks, index) : NULL;
	if (!b || b->start.len)
		return;
	drop_early(d, index, ev->block);
	th_blocks_set(&d->blocks, &b->start, ev->block);
	tell_start(d, index, ev->block);
}

/* What thinking was signed with, or all that there is of it. */
static void tell_seal(struct th_decoder *d, const struct th_block *b)
{
	struct th_buf sealed TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_str start = th_buf_str(&b->start);
	struct th_str type = th_json_raw_inside(th_json_raw_get(start, "type"));
	bool redacted = th_str_is(type, "redacted_thinking");
	struct th_str given =
	    th_json_raw_inside(th_json_raw_get(start, redacted ? "data" : "signature"));

	if (!redacted && !th_str_is(type, "thinking"))
		return;
	th_seal_of_parts(type, b->signature.len ? th_buf_str(&b->signature) : given, &sealed);
	if (sealed.len)
		d->fn(d->ctx, TH_DELTA_SEALED, (size_t)b->index, th_buf_str(&sealed));
}

static void on_stop(struct th_decoder *d, const struct event *ev)
{
	struct th_block *b = th_blocks_find(&d->blocks, index_of(d, ev));

	if (b && !b->done && d->fn)
		tell_seal(d, b);
	if (b)
		b->done = true;
	d->delta.half_len = 0;
}

void th_messages_merge(struct th_str a, struct th_str b, struct th_buf *out)
{
	struct th_json_raw_iter it = th_json_raw_iter(a), in_b;
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	while (th_json_raw_next(&it)) {
		bool replaced = false;

		for (in_b = th_json_raw_iter(b); !replaced && th_json_raw_next(&in_b);)
			replaced = th_str_eq(in_b.key, it.key) && !th_json_raw_is_null(in_b.val);
		if (replaced)
			continue;
		th_jw_raw(&w, TH_STR("\""));
		th_buf_add(out, it.key);
		th_buf_add(out, TH_STR("\":"));
		th_buf_add(out, it.val);
	}
	for (in_b = th_json_raw_iter(b); th_json_raw_next(&in_b);) {
		if (th_json_raw_is_null(in_b.val))
			continue;
		th_jw_raw(&w, TH_STR("\""));
		th_buf_add(out, in_b.key);
		th_buf_add(out, TH_STR("\":"));
		th_buf_add(out, in_b.val);
	}
	th_jw_object_end(&w);
}

static void merge_into(struct th_decoder *d, struct th_buf *to, struct th_str more)
{
	th_buf_clear(&d->scratch);
	th_messages_merge(th_buf_str(to), more, &d->scratch);
	th_buf_clear(to);
	th_buf_add(to, th_buf_str(&d->scratch));
	if (d->scratch.failed)
		d->blocks.failed = true;
}

/* What stands beside delta and usage: context_management and what else may come. */
static void merge_rest(struct th_decoder *d, struct th_str data)
{
	static const char *const known[] = { "type", "delta", "usage" };
	struct th_json_raw_iter it = th_json_raw_iter(data);
	struct th_buf rest = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_jw w = th_jw(&rest);

	th_jw_object(&w);
	while (th_json_raw_next(&it)) {
		bool skip = false;

		for (size_t i = 0; i < TH_COUNT(known); i++)
			skip = skip || th_str_is(it.key, known[i]);
		if (skip)
			continue;
		th_jw_raw(&w, TH_STR("\""));
		th_buf_add(&rest, it.key);
		th_buf_add(&rest, TH_STR("\":"));
		th_buf_add(&rest, it.val);
	}
	th_jw_object_end(&w);
	if (rest.len > 2)
		merge_into(d, &d->over, th_buf_str(&rest));
	th_buf_deinit(&rest);
}

static void on_message_delta(struct th_decoder *d, const struct event *ev)
{
	if (th_json_raw_is_object(ev->delta))
		merge_into(d, &d->over, ev->delta);
	if (th_json_raw_is_object(ev->usage))
		merge_into(d, &d->usage, ev->usage);
	merge_rest(d, ev->data);
}

static void on_message_stop(struct th_decoder *d, const struct event *ev)
{
	(void)ev;
	d->finished = !d->error.len;
}

static void on_error(struct th_decoder *d, const struct event *ev)
{
	if (!d->error.len)
		th_buf_add(&d->error, ev->data);
}

static const struct {
	struct th_str name;
	void (*handle)(struct th_decoder *d, const struct event *ev);
} events[] = {
	{ TH_STR_INIT("content_block_delta"), on_delta },
	{ TH_STR_INIT("content_block_start"), on_block },
	{ TH_STR_INIT("content_block_stop"), on_stop },
	{ TH_STR_INIT("message_start"), on_start },
	{ TH_STR_INIT("message_delta"), on_message_delta },
	{ TH_STR_INIT("message_stop"), on_message_stop },
	{ TH_STR_INIT("error"), on_error },
};

/* Whether the event is the second of a pair.  Text may repeat itself; a block cannot start twice
 * in a row, so only a stream in which one did is looked at any further. */
static bool repeated(struct th_decoder *d, const struct event *ev)
{
	bool start = th_str_eq(ev->type, TH_STR("content_block_start"));
	uint64_t hash;

	if (!start && !d->doubled) {
		d->last_hash = 0;
		return false;
	}
	hash = th_hash64(ev->data.ptr, ev->data.len) | 1;
	if (hash == d->last_hash) {
		d->last_hash = 0;
		d->doubled = true;
		return true;
	}
	d->last_hash = hash;
	return false;
}

static void take_event(struct th_decoder *d, const struct th_sse_event *sse)
{
	struct event ev;

	if (!sse->data.len || d->finished)
		return;
	if (take_known(d, sse->data))
		return;
	if (sse->data.len < 16 && th_str_eq(th_str_trim(sse->data), TH_STR("[DONE]")))
		return;
	if (!read_event(sse->data, &ev)) {
		d->in.broken = true;
		return;
	}
	ev.typed = ev.type.len > 0;
	if (!ev.typed)
		ev.type = sse->name;
	if (!ev.type.len && !th_json_raw_is_null(ev.error))
		ev.type = TH_STR("error");
	if (repeated(d, &ev))
		return;
	for (size_t i = 0; i < TH_COUNT(events); i++)
		if (th_str_eq(events[i].name, ev.type)) {
			events[i].handle(d, &ev);
			return;
		}
}

/* What the events so far brought fits. */
static bool fits(struct th_decoder *d)
{
	if (d->blocks.failed && d->blocks.count == TH_ANSWER_ITEMS_MAX)
		th_intake_over(&d->in, "items", TH_ANSWER_ITEMS_MAX);
	else if (d->blocks.failed || d->start.failed || d->over.failed || d->usage.failed ||
		 d->error.failed)
		th_intake_over(&d->in, "bytes", TH_ANSWER_MAX);
	return !d->in.limited;
}

bool th_messages_event(void *ctx, const struct th_sse_event *ev)
{
	take_event(ctx, ev);
	return fits(ctx);
}
