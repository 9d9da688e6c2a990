/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.c - the events of a stream.  They are walked as raw text;
 * only what becomes part of the answer is parsed, later, and thereby checked.
 * A broken event is skipped and remembered.
 */
#include "base/json.h"
#include "openai_responses/decoder.h"

/* All values are raw, and absent when the event has none. */
struct event {
	struct th_str data, type;
	struct th_str response, item, part, error, delta, text, annotation;
	struct th_str output_index, content_index, summary_index, sequence_number;
};

struct event_row {
	struct th_str name;
	void (*handle)(struct th_decoder *d, const struct event *ev, const struct event_row *row);
	enum th_part_kind part;
	const char *type, *member; /* of a part: its type, and the member its text is in */
	enum th_delta_kind delta;
};

static int64_t index_of(struct th_str raw, int64_t otherwise)
{
	int64_t v;

	return th_str_i64(raw, &v) && v >= 0 ? v : otherwise;
}

static void member_8_to_10(struct event *ev, struct th_str key, struct th_str val)
{
	if (th_str_eq(key, TH_STR("response")))
		ev->response = val;
	else if (th_str_eq(key, TH_STR("arguments")))
		ev->text = val;
	else if (th_str_eq(key, TH_STR("annotation")))
		ev->annotation = val;
}

/* By length first: an event has ten members, and there are thousands of events. */
static void take_member(void *ctx, struct th_str key, struct th_str val)
{
	struct event *ev = ctx;

	switch (key.len) {
	case 4:
		if (th_str_eq(key, TH_STR("type")))
			ev->type = th_json_raw_inside(val);
		else if (th_str_eq(key, TH_STR("item")))
			ev->item = val;
		else if (th_str_eq(key, TH_STR("part")))
			ev->part = val;
		else if (th_str_eq(key, TH_STR("text")) || th_str_eq(key, TH_STR("code")))
			ev->text = val;
		break;
	case 5:
		if (th_str_eq(key, TH_STR("delta")))
			ev->delta = val;
		else if (th_str_eq(key, TH_STR("error")))
			ev->error = val;
		else if (th_str_eq(key, TH_STR("input")))
			ev->text = val;
		break;
	case 7:
		if (th_str_eq(key, TH_STR("refusal")))
			ev->text = val;
		break;
	case 8:
	case 9:
	case 10:
		member_8_to_10(ev, key, val);
		break;
	case 12:
		if (th_str_eq(key, TH_STR("output_index")))
			ev->output_index = val;
		break;
	case 13:
		if (th_str_eq(key, TH_STR("content_index")))
			ev->content_index = val;
		else if (th_str_eq(key, TH_STR("summary_index")))
			ev->summary_index = val;
		break;
	case 15:
		if (th_str_eq(key, TH_STR("sequence_number")))
			ev->sequence_number = val;
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

static struct th_item *item_of(struct th_decoder *d, const struct event *ev)
{
	const struct th_items *items = &d->items;
	int64_t last = items->count ? items->list[items->count - 1].index : 0;

	return th_items_at(&d->items, index_of(ev->output_index, last));
}

static struct th_part *part_of(struct th_decoder *d, const struct event *ev,
			       const struct event_row *row)
{
	struct th_item *item = item_of(d, ev);
	struct th_str index = row->part == TH_PART_SUMMARY ? ev->summary_index : ev->content_index;

	if (!item || item->done)
		return NULL;
	if (row->part == TH_PART_MEMBER)
		index = (struct th_str){ NULL, 0 };
	return th_items_part(&d->items, item, row->part, index_of(index, 0), row->type,
			     row->member);
}

static uint64_t mark_of(struct th_str s)
{
	uint64_t mark[2] = { 0 };

	memcpy(&mark[0], s.ptr, TH_MIN(s.len, sizeof(mark[0])));
	if (s.len > sizeof(mark[0]))
		memcpy(&mark[1], s.ptr + s.len - sizeof(mark[1]), sizeof(mark[1]));
	return mark[0] ^ (mark[1] * 31);
}

/* Whether the same delta came just before: some proxies send every event twice. */
static bool repeated(struct th_decoder *d, const struct event *ev, struct th_str delta)
{
	int64_t seq = index_of(ev->sequence_number, 0);
	uint64_t mark = mark_of(delta);
	bool same =
	    seq > 0 && seq == d->last_seq && ev->data.len == d->last_len && mark == d->last_mark;

	d->last_seq = seq;
	d->last_len = ev->data.len;
	d->last_mark = mark;
	return same;
}

static void tell(struct th_decoder *d, const struct event *ev, const struct event_row *row)
{
	struct th_str text = th_delta_text_of(&d->delta, ev->delta);

	if (text.len)
		d->fn(d->ctx, row->delta, (size_t)index_of(ev->output_index, 0), text);
}

static void on_delta(struct th_decoder *d, const struct event *ev, const struct event_row *row)
{
	struct th_str delta = th_json_raw_inside(ev->delta);
	struct th_part *part;

	if (!delta.len || repeated(d, ev, delta) || !(part = part_of(d, ev, row)))
		return;
	th_items_add(&d->items, &part->text, delta);
	if (d->fn)
		tell(d, ev, row);
}

static void on_text(struct th_decoder *d, const struct event *ev, const struct event_row *row)
{
	struct th_part *part = part_of(d, ev, row);

	if (part && th_json_raw_inside(ev->text).len)
		th_items_set(&d->items, &part->text, th_json_raw_inside(ev->text));
}

static void on_part(struct th_decoder *d, const struct event *ev, const struct event_row *row)
{
	struct th_part *part = part_of(d, ev, row);

	if (part && th_json_raw_is_object(ev->part))
		th_items_set(&d->items, &part->whole, ev->part);
}

static void on_note(struct th_decoder *d, const struct event *ev, const struct event_row *row)
{
	struct th_part *part;

	if (!th_json_raw_is_object(ev->annotation) || repeated(d, ev, ev->annotation) ||
	    !(part = part_of(d, ev, row)))
		return;
	if (part->notes.len)
		th_items_add(&d->items, &part->notes, TH_STR(","));
	th_items_add(&d->items, &part->notes, ev->annotation);
}

static void on_item_added(struct th_decoder *d, const struct event *ev, const struct event_row *row)
{
	struct th_item *item = th_json_raw_is_object(ev->item) ? item_of(d, ev) : NULL;

	(void)row;
	if (item && !item->raw.len)
		th_items_set(&d->items, &item->raw, ev->item);
}

static void on_item_done(struct th_decoder *d, const struct event *ev, const struct event_row *row)
{
	struct th_item *item = th_json_raw_is_object(ev->item) ? item_of(d, ev) : NULL;
	struct th_json_doc *doc;
	bool again = item && item->done;

	(void)row;
	if (!item)
		return;
	th_items_done(&d->items, item, ev->item);
	if (!d->fn || again || th_json_parse(ev->item, &doc, NULL))
		return;
	d->fn(d->ctx, TH_DELTA_ITEM, (size_t)item->index, ev->item);
	if (th_str_is(th_json_get_str(th_json_root(doc), "type"), "reasoning") &&
	    th_json_get_str(th_json_root(doc), "encrypted_content").len)
		d->fn(d->ctx, TH_DELTA_SEALED, (size_t)item->index,
		      th_json_get_str(th_json_root(doc), "encrypted_content"));
	th_json_free(doc);
}

/* Items that the first event already holds: the stream resumes an answer under way.  Later events
 * of the same index replace them. */
static void take_early(struct th_decoder *d, struct th_str output)
{
	struct th_json_raw_iter it = th_json_raw_iter(output);
	int64_t index = 0;

	for (; !it.object && th_json_raw_next(&it); index++) {
		struct th_item *item =
		    th_json_raw_is_object(it.val) ? th_items_at(&d->items, index) : NULL;
		struct th_str status = th_json_raw_get(it.val, "status");

		if (!item || item->raw.len)
			continue;
		th_items_set(&d->items, &item->raw, it.val);
		item->done = !status.len || th_str_is(status, "\"completed\"");
	}
}

static void on_head(struct th_decoder *d, const struct event *ev, const struct event_row *row)
{
	static const char *const members[] = { "id", "model", "output" };
	struct th_str values[TH_COUNT(members)];

	(void)row;
	if (d->response_id.len)
		return;
	th_json_raw_gets(ev->response, TH_COUNT(members), members, values);
	take_early(d, values[2]);
	d->next_event = TH_MIN(index_of(ev->sequence_number, -1), INT64_MAX - 1) + 1;
	(void)!th_json_unescape(values[0], &d->response_id);
	(void)!th_json_unescape(values[1], &d->model);
}

static void on_terminal(struct th_decoder *d, const struct event *ev, const struct event_row *row)
{
	if (!th_json_raw_is_object(ev->response)) {
		d->in.broken = true;
		return;
	}
	th_buf_add(&d->final, ev->response);
	d->final_status = row->member;
	d->finished = true;
}

static void on_error(struct th_decoder *d, const struct event *ev, const struct event_row *row)
{
	(void)row;
	if (!d->error.len)
		th_buf_add(&d->error, ev->data);
}

/* The frequent ones first. */
#define TEXT TH_PART_CONTENT, "output_text", "text", TH_DELTA_TEXT
#define REFUSAL TH_PART_CONTENT, "refusal", "refusal", TH_DELTA_REFUSAL
#define REASON TH_PART_CONTENT, "reasoning_text", "text", TH_DELTA_REASONING
#define SUMMARY TH_PART_SUMMARY, "summary_text", "text", TH_DELTA_REASONING
#define MEMBER(name) TH_PART_MEMBER, NULL, name, TH_DELTA_ARGUMENTS
#define PART(kind) kind, NULL, NULL, TH_DELTA_TEXT
#define STATUS(status) TH_PART_CONTENT, NULL, status, TH_DELTA_TEXT
// clang-format off
static const struct event_row rows[] = {
	{ TH_STR_INIT("output_text.delta"), on_delta, TEXT },
	{ TH_STR_INIT("reasoning_summary_text.delta"), on_delta, SUMMARY },
	{ TH_STR_INIT("reasoning_text.delta"), on_delta, REASON },
	{ TH_STR_INIT("function_call_arguments.delta"), on_delta, MEMBER("arguments") },
	{ TH_STR_INIT("custom_tool_call_input.delta"), on_delta, MEMBER("input") },
	{ TH_STR_INIT("code_interpreter_call_code.delta"), on_delta, MEMBER("code") },
	{ TH_STR_INIT("mcp_call_arguments.delta"), on_delta, MEMBER("arguments") },
	{ TH_STR_INIT("refusal.delta"), on_delta, REFUSAL },
	{ TH_STR_INIT("reasoning.delta"), on_delta, REASON },           /* Open Responses' name */
	{ TH_STR_INIT("reasoning_summary.delta"), on_delta, SUMMARY },
	{ TH_STR_INIT("output_item.added"), on_item_added, PART(TH_PART_CONTENT) },
	{ TH_STR_INIT("output_item.done"), on_item_done, PART(TH_PART_CONTENT) },
	{ TH_STR_INIT("content_part.done"), on_part, PART(TH_PART_CONTENT) },
	{ TH_STR_INIT("reasoning_summary_part.done"), on_part, PART(TH_PART_SUMMARY) },
	{ TH_STR_INIT("output_text.annotation.added"), on_note, TEXT },
	{ TH_STR_INIT("output_text.done"), on_text, TEXT },
	{ TH_STR_INIT("refusal.done"), on_text, REFUSAL },
	{ TH_STR_INIT("reasoning_text.done"), on_text, REASON },
	{ TH_STR_INIT("reasoning.done"), on_text, REASON },
	{ TH_STR_INIT("reasoning_summary_text.done"), on_text, SUMMARY },
	{ TH_STR_INIT("function_call_arguments.done"), on_text, MEMBER("arguments") },
	{ TH_STR_INIT("custom_tool_call_input.done"), on_text, MEMBER("input") },
	{ TH_STR_INIT("code_interpreter_call_code.done"), on_text, MEMBER("code") },
	{ TH_STR_INIT("mcp_call_arguments.done"), on_text, MEMBER("arguments") },
	{ TH_STR_INIT("created"), on_head, PART(TH_PART_CONTENT) },
	{ TH_STR_INIT("queued"), on_head, PART(TH_PART_CONTENT) },
	{ TH_STR_INIT("in_progress"), on_head, PART(TH_PART_CONTENT) },
	{ TH_STR_INIT("completed"), on_terminal, STATUS("completed") },
	{ TH_STR_INIT("incomplete"), on_terminal, STATUS("incomplete") },
	{ TH_STR_INIT("failed"), on_terminal, STATUS("failed") },
	{ TH_STR_INIT("cancelled"), on_terminal, STATUS("cancelled") },
};
// clang-format on

static void take_event(struct th_decoder *d, const struct th_sse_event *sse)
{
	struct event ev;

	if (!sse->data.len || d->finished)
		return;
	if (th_str_eq(th_str_trim(sse->data), TH_STR("[DONE]"))) {
		d->done = true;
		return;
	}
	if (!read_event(sse->data, &ev)) {
		d->in.broken = true;
		return;
	}
	if (!ev.type.len)
		ev.type = sse->name;
	if (th_str_is(ev.type, "error") || (!ev.type.len && !th_json_raw_is_null(ev.error)))
		on_error(d, &ev, NULL);
	if (!th_str_starts(ev.type, TH_STR("response.")))
		return;
	ev.type = th_str_sub(ev.type, strlen("response."), ev.type.len);
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		if (th_str_eq(rows[i].name, ev.type)) {
			rows[i].handle(d, &ev, &rows[i]);
			return;
		}
}

/* What the events so far brought fits. */
static bool fits(struct th_decoder *d)
{
	if (d->items.count == TH_ANSWER_ITEMS_MAX && d->items.failed)
		th_intake_over(&d->in, "items", TH_ANSWER_ITEMS_MAX);
	else if (d->items.failed && d->items.part_total == TH_ANSWER_ITEMS_MAX)
		th_intake_over(&d->in, "parts", TH_ANSWER_ITEMS_MAX);
	else if (d->items.failed || d->final.failed || d->error.failed)
		th_intake_over(&d->in, "bytes", TH_ANSWER_MAX);
	return !d->in.limited;
}

bool th_responses_event(void *ctx, const struct th_sse_event *ev)
{
	take_event(ctx, ev);
	return fits(ctx);
}
