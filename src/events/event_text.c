/* SPDX-License-Identifier: Apache-2.0 */
#include "events/event_text.h"

#include "base/text.h"

static void add(struct th_buf *text, struct th_str words)
{
	if (!words.len)
		return;
	if (text->len && text->ptr[text->len - 1] != '\n')
		th_buf_add_char(text, '\n');
	th_buf_add(text, words);
}

/* A string, or the texts of a list of parts. */
static void add_content(const struct th_json *content, struct th_buf *text)
{
	struct th_json_iter it = th_json_iter(content);

	add(text, th_json_str(content));
	while (th_json_is_array(content) && th_json_next(&it)) {
		add(text, th_json_get_str(it.val, "text"));
		add(text, th_json_get_str(it.val, "refusal"));
	}
}

/* A message, or a call with its arguments. */
static void add_item(const struct th_json *item, struct th_buf *text)
{
	struct th_str name = th_json_get_str(item, "name");
	const struct th_json *action = th_json_get(item, "action");

	add_content(th_json_get(item, "content"), text);
	if (name.len)
		add(text, name);
	add(text, th_json_get_str(item, "arguments"));
	add(text, th_json_get_str(item, "input"));
	if (action) {
		add(text, th_json_get_str(item, "type"));
		th_buf_add_char(text, '\n');
		th_json_print(action, text);
	}
	add_content(th_json_get(item, "output"), text);
}

static void add_items(const struct th_json *items, struct th_buf *text)
{
	struct th_json_iter it = th_json_iter(items);

	while (th_json_next(&it))
		add_item(it.val, text);
}

static void put(const struct th_event *ev, const struct th_json *v, struct th_buf *label,
		struct th_buf *text)
{
	if (ev->kind == TH_EV_MESSAGE) {
		th_buf_add(label, th_json_get_str(v, "role"));
		add_content(th_json_get(v, "content"), text);
	} else if (ev->kind == TH_EV_MODEL_ANSWERED) {
		th_buf_add_cstr(label, "assistant");
		add_items(th_json_get(v, "items"), text);
	} else if (ev->kind == TH_EV_OUTCOME) {
		th_buf_printf(label, "result of %.*s",
			      TH_FMT(th_utf8_cut(th_json_get_str(v, "call_id"), 100)));
		add_content(th_json_get(v, "output"), text);
	} else if (ev->kind == TH_EV_CONDENSATION) {
		th_buf_add_cstr(label, "summary");
		add(text, th_json_get_str(v, "summary"));
	} else {
		th_buf_add_cstr(label, "items");
		add_items(th_json_get(v, "items"), text);
	}
}

bool th_event_task(enum th_event_kind kind, const struct th_json *data, bool asked,
		   struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(th_json_get(data, "items"));
	size_t before = out->len;

	if (kind == TH_EV_MESSAGE)
		th_buf_add(out, th_json_get_str(data, "content"));
	if (kind != TH_EV_ITEMS_ADDED || asked)
		return out->len > before;
	while (out->len == before && th_json_next(&it))
		if (th_str_is(th_json_get_str(it.val, "role"), "user"))
			add_content(th_json_get(it.val, "content"), out);
	return out->len > before;
}

bool th_event_text(const struct th_event *ev, struct th_buf *label, struct th_buf *text)
{
	size_t labels = label->len, words = text->len;
	struct th_json_doc *doc = NULL;

	if (ev->kind != TH_EV_MESSAGE && ev->kind != TH_EV_MODEL_ANSWERED &&
	    ev->kind != TH_EV_OUTCOME && ev->kind != TH_EV_CONDENSATION &&
	    ev->kind != TH_EV_ITEMS_ADDED)
		return false;
	if (th_json_parse(ev->data, &doc, NULL))
		return false;
	put(ev, th_json_root(doc), label, text);
	th_json_free(doc);
	if (text->len > words)
		return true;
	label->len = labels;
	return false;
}
