/* SPDX-License-Identifier: Apache-2.0 */
/*
 * items.c - the content of a message as items in the unified form.
 * Neighbouring texts are the parts of one message; a call of the computer,
 * whichever generation of the tool it is of, becomes a call of the function
 * "computer", which the dialect reads; blocks of the provider's own tools are
 * passed on as they are.
 */
#include "anthropic_messages/decoder.h"
#include "base/limits.h"

struct writer {
	struct th_jw w;
	const struct th_blocks *blocks;
	struct th_str stop;
	size_t block_count, item_count, call_count;
	bool message; /* a message is open */
};

static void close_message(struct writer *x)
{
	if (!x->message)
		return;
	th_jw_array_end(&x->w);
	th_jw_object_end(&x->w);
	x->message = false;
}

static void open_item(struct writer *x, const char *type)
{
	close_message(x);
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", th_str_of(type));
	x->item_count++;
}

static void open_message(struct writer *x)
{
	if (x->message)
		return;
	open_item(x, "message");
	th_jw_kstr(&x->w, "role", TH_STR("assistant"));
	th_jw_kstr(&x->w, "status", TH_STR("completed"));
	th_jw_key(&x->w, TH_STR("content"));
	th_jw_array(&x->w);
	x->message = true;
}

static void put_text(struct writer *x, struct th_str block)
{
	struct th_json_raw_iter it = th_json_raw_iter(block);
	struct th_str text = { NULL, 0 }, notes = { NULL, 0 };

	while (th_json_raw_next(&it)) {
		if (!text.len && th_str_eq(it.key, TH_STR("text")))
			text = it.val;
		else if (!notes.len && th_str_eq(it.key, TH_STR("citations")))
			notes = it.val;
	}
	if (text.len <= 2)
		return; /* an empty one says nothing, and would not be taken back */
	open_message(x);
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("output_text"));
	th_jw_kraw(&x->w, "text", text);
	th_jw_kraw(&x->w, "annotations", notes.len && notes.ptr[0] == '[' ? notes : TH_STR("[]"));
	th_jw_object_end(&x->w);
}

/* Its signature stays in the raw form: it means nothing to any other provider. */
static void put_thinking(struct writer *x, struct th_str block)
{
	struct th_str text = th_json_raw_get(block, "thinking");

	open_item(x, "reasoning");
	th_jw_key(&x->w, TH_STR("summary"));
	th_jw_array(&x->w);
	if (text.len > 2) {
		th_jw_object(&x->w);
		th_jw_kstr(&x->w, "type", TH_STR("summary_text"));
		th_jw_kraw(&x->w, "text", text);
		th_jw_object_end(&x->w);
	}
	th_jw_array_end(&x->w);
	th_jw_object_end(&x->w);
}

/* What of a tool_use matters, raw. */
struct call {
	struct th_str id, name, toolset, input;
};

static void read_call(struct th_str block, struct call *c)
{
	struct th_json_raw_iter it = th_json_raw_iter(block);

	*c = (struct call){ .id = { NULL, 0 } };
	while (th_json_raw_next(&it)) {
		struct th_str *to = th_str_eq(it.key, TH_STR("id"))             ? &c->id
				    : th_str_eq(it.key, TH_STR("name"))         ? &c->name
				    : th_str_eq(it.key, TH_STR("toolset_name")) ? &c->toolset
				    : th_str_eq(it.key, TH_STR("input"))        ? &c->input
										: NULL;

		if (to && !to->len)
			*to = it.val;
	}
}

/* A member that must be a string. */
static void put_string(struct th_jw *w, const char *key, struct th_str raw)
{
	th_jw_kraw(w, key, raw.len && raw.ptr[0] == '"' ? raw : TH_STR("\"\""));
}

/* {"action":<the member's name>, …its input} */
static void put_member_arguments(const struct call *c, struct th_jw *w)
{
	struct th_json_raw_iter it = th_json_raw_iter(c->input);
	struct th_buf text = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_jw in = th_jw(&text);

	th_jw_object(&in);
	put_string(&in, "action", c->name);
	while (it.object && th_json_raw_next(&it)) {
		if (th_str_is(it.key, "action"))
			continue;
		th_jw_raw(&in, TH_STR("\""));
		th_buf_add(&text, it.key);
		th_buf_add(&text, TH_STR("\":"));
		th_buf_add(&text, it.val);
	}
	th_jw_object_end(&in);
	th_jw_str(w, th_buf_str(&text));
	th_buf_deinit(&text);
}

/* Whether the answer ended in the middle of this block. */
static bool is_cut(const struct writer *x, size_t index)
{
	return index + 1 == x->block_count && (th_str_is(x->stop, "max_tokens") ||
					       th_str_is(x->stop, "model_context_window_exceeded"));
}

static void put_call(struct writer *x, struct th_str block, size_t index)
{
	const struct th_block *b =
	    x->blocks && index < x->blocks->count ? &x->blocks->list[index] : NULL;
	struct call c;
	bool member;

	read_call(block, &c);
	member = th_str_is(th_json_raw_inside(c.toolset), "computer");
	open_item(x, "function_call");
	x->call_count++;
	put_string(&x->w, "call_id", c.id);
	put_string(&x->w, "name", member ? c.toolset : c.name);
	th_jw_key(&x->w, TH_STR("arguments"));
	if (b && b->broken) { /* the inside of a string, as it came */
		th_jw_raw(&x->w, TH_STR("\""));
		th_buf_add(x->w.out, th_buf_str(&b->text));
		th_buf_add_char(x->w.out, '"');
	} else if (member) {
		put_member_arguments(&c, &x->w);
	} else {
		th_jw_str(&x->w, c.input.len ? c.input : TH_STR("{}"));
	}
	th_jw_kstr(&x->w, "status", is_cut(x, index) ? TH_STR("incomplete") : TH_STR("completed"));
	th_jw_object_end(&x->w);
}

static void put_block(struct writer *x, struct th_str raw, size_t index)
{
	struct th_str type = th_json_raw_inside(th_json_raw_get(raw, "type"));

	if (th_str_is(type, "text")) {
		put_text(x, raw);
	} else if (th_str_is(type, "thinking") || th_str_is(type, "redacted_thinking")) {
		put_thinking(x, raw);
	} else if (th_str_is(type, "tool_use")) {
		/* What a refusal took back is not done. */
		if (!th_str_is(x->stop, "refusal"))
			put_call(x, raw, index);
	} else {
		close_message(x);
		th_jw_raw(&x->w, raw);
		x->item_count++;
	}
}

static void put_refusal(struct writer *x, struct th_str message)
{
	struct th_str why;

	if (!th_str_is(x->stop, "refusal"))
		return;
	why = th_json_raw_get(th_json_raw_get(message, "stop_details"), "explanation");
	open_message(x);
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("refusal"));
	th_jw_kraw(&x->w, "refusal",
		   th_json_raw_inside(why).len ? why : TH_STR("\"The model refused to go on.\""));
	th_jw_object_end(&x->w);
}

static const char *type_name(struct th_str raw)
{
	char c = raw.len ? raw.ptr[0] : 'n';

	return th_json_type_name(c == '"'               ? TH_JSON_STR
				 : c == '['             ? TH_JSON_ARRAY
				 : c == 't' || c == 'f' ? TH_JSON_BOOL
				 : c == 'n'             ? TH_JSON_NULL
							: TH_JSON_INT);
}

/* Input that is no JSON object goes into the item as it came: it must at least be a JSON string. */
static bool is_text(const struct th_blocks *blocks, struct th_str items)
{
	bool broken = false;

	for (size_t i = 0; blocks && i < blocks->count; i++)
		broken = broken || blocks->list[i].broken;
	return !broken || th_json_valid(items);
}

enum th_code th_messages_items(struct th_str raw, const struct th_blocks *blocks,
			       struct th_buf *out, struct th_err *err)
{
	struct th_str content =
	    blocks ? (struct th_str){ NULL, 0 } : th_json_raw_get(raw, "content");
	struct writer x = { .w = th_jw(out),
			    .blocks = blocks,
			    .stop = th_json_raw_inside(th_json_raw_get(raw, "stop_reason")),
			    .block_count = blocks ? blocks->count : 0 };
	struct th_json_raw_iter it;
	size_t start = out->len;

	for (it = th_json_raw_iter(content); !it.object && th_json_raw_next(&it);)
		x.block_count++;
	if (x.block_count > TH_ANSWER_ITEMS_MAX)
		return th_fail(err, TH_ELIMIT, "the answer has more than %d items",
			       TH_ANSWER_ITEMS_MAX);
	th_jw_array(&x.w);
	it = th_json_raw_iter(content);
	for (size_t i = 0; i < x.block_count; i++) {
		struct th_str block;

		if (!blocks && !th_json_raw_next(&it))
			break;
		block = blocks ? th_str_sub(raw, blocks->list[i].at, blocks->list[i].len) : it.val;
		if (!block.len || block.ptr[0] != '{')
			return th_fail(err, TH_EPROTO,
				       "block %zu of the answer is %s, not an object", i,
				       type_name(block));
		put_block(&x, block, i);
	}
	put_refusal(&x, raw);
	close_message(&x);
	th_jw_array_end(&x.w);
	if (x.call_count > TH_CALLS_MAX)
		return th_fail(err, TH_ELIMIT, "the answer has more than %d calls", TH_CALLS_MAX);
	if (!out->failed && !is_text(blocks, th_str_sub(th_buf_str(out), start, out->len)))
		return th_fail(err, TH_EPROTO, "the input of a call is not a JSON string");
	return th_buf_check(out, "the answer", err);
}
