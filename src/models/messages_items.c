/* SPDX-License-Identifier: Apache-2.0 */
/*
 * messages_items.c - the content of a message as items in the unified form.
 * Neighbouring texts are the parts of one message; a call of the computer,
 * whichever generation of the tool it is of, becomes a call of the function
 * "computer", which the dialect reads; blocks of the provider's own tools are
 * passed on as they are.
 */
#include "base/limits.h"
#include "models/messages_decoder.h"

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

/* {"action":<the member's name>, …its input} */
static void put_member_arguments(const struct th_json *block, struct th_str raw, struct th_jw *w)
{
	struct th_json_raw_iter it = th_json_raw_iter(th_json_raw_get(raw, "input"));
	struct th_buf text = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_jw in = th_jw(&text);

	th_jw_object(&in);
	th_jw_kstr(&in, "action", th_json_get_str(block, "name"));
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

static void put_call(struct writer *x, const struct th_json *block, struct th_str raw, size_t index)
{
	const struct th_block *b =
	    x->blocks && index < x->blocks->count ? &x->blocks->list[index] : NULL;
	struct th_str toolset = th_json_get_str(block, "toolset_name"),
		      input = th_json_raw_get(raw, "input");
	bool member = th_str_is(toolset, "computer");

	open_item(x, "function_call");
	x->call_count++;
	th_jw_kstr(&x->w, "call_id", th_json_get_str(block, "id"));
	th_jw_kstr(&x->w, "name", member ? toolset : th_json_get_str(block, "name"));
	th_jw_key(&x->w, TH_STR("arguments"));
	if (b && b->broken) { /* the inside of a string, as it came */
		th_jw_raw(&x->w, TH_STR("\""));
		th_buf_add(x->w.out, th_buf_str(&b->text));
		th_buf_add_char(x->w.out, '"');
	} else if (member) {
		put_member_arguments(block, raw, &x->w);
	} else {
		th_jw_str(&x->w, input.len ? input : TH_STR("{}"));
	}
	th_jw_kstr(&x->w, "status", is_cut(x, index) ? TH_STR("incomplete") : TH_STR("completed"));
	th_jw_object_end(&x->w);
}

static void put_block(struct writer *x, const struct th_json *block, struct th_str raw,
		      size_t index)
{
	struct th_str type = th_json_get_str(block, "type");

	if (th_str_is(type, "text")) {
		put_text(x, raw);
	} else if (th_str_is(type, "thinking") || th_str_is(type, "redacted_thinking")) {
		put_thinking(x, raw);
	} else if (th_str_is(type, "tool_use")) {
		/* What a refusal took back is not done. */
		if (!th_str_is(x->stop, "refusal"))
			put_call(x, block, raw, index);
	} else {
		close_message(x);
		th_jw_raw(&x->w, raw);
		x->item_count++;
	}
}

static void put_refusal(struct writer *x, const struct th_json *message)
{
	struct th_str why = th_json_get_str(th_json_get(message, "stop_details"), "explanation");

	if (!th_str_is(x->stop, "refusal"))
		return;
	open_message(x);
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("refusal"));
	th_jw_kstr(&x->w, "refusal", why.len ? why : TH_STR("The model refused to go on."));
	th_jw_object_end(&x->w);
}

enum th_code th_messages_items(const struct th_json *message, struct th_str raw,
			       const struct th_blocks *blocks, struct th_buf *out,
			       struct th_err *err)
{
	const struct th_json *content = th_json_get(message, "content");
	struct writer x = { .w = th_jw(out),
			    .blocks = blocks,
			    .stop = th_json_get_str(message, "stop_reason"),
			    .block_count = th_json_count(content) };
	struct th_json_iter it = th_json_iter(content);
	struct th_json_raw_iter raw_it =
	    th_json_raw_iter(blocks ? (struct th_str){ NULL, 0 } : th_json_raw_get(raw, "content"));

	if (x.block_count > TH_ANSWER_ITEMS_MAX)
		return th_fail(err, TH_ELIMIT, "the answer has more than %d items",
			       TH_ANSWER_ITEMS_MAX);
	th_jw_array(&x.w);
	while (th_json_is_array(content) && th_json_next(&it) &&
	       (blocks ? it.index < blocks->count : th_json_raw_next(&raw_it))) {
		const struct th_block *b = blocks ? &blocks->list[it.index] : NULL;

		if (!th_json_is_object(it.val))
			return th_fail(err, TH_EPROTO,
				       "block %zu of the answer is %s, not an object", it.index,
				       th_json_type_name(th_json_type(it.val)));
		put_block(&x, it.val, b ? th_str_sub(raw, b->at, b->len) : raw_it.val, it.index);
	}
	put_refusal(&x, message);
	close_message(&x);
	th_jw_array_end(&x.w);
	if (x.call_count > TH_CALLS_MAX)
		return th_fail(err, TH_ELIMIT, "the answer has more than %d calls", TH_CALLS_MAX);
	return th_buf_check(out, "the answer", err);
}
