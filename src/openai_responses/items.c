/* SPDX-License-Identifier: Apache-2.0 */
#include "openai_responses/items.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/limits.h"

static void part_deinit(struct th_items *items, struct th_part *p)
{
	items->size -= p->text.len + p->notes.len + p->whole.len;
	th_buf_deinit(&p->text);
	th_buf_deinit(&p->notes);
	th_buf_deinit(&p->whole);
}

static void parts_deinit(struct th_items *items, struct th_item *item)
{
	for (size_t i = 0; i < item->part_count; i++)
		part_deinit(items, &item->parts[i]);
	items->part_total -= item->part_count;
	free(item->parts);
	item->parts = NULL;
	item->part_count = 0;
}

void th_items_deinit(struct th_items *items)
{
	for (size_t i = 0; i < items->count; i++) {
		parts_deinit(items, &items->list[i]);
		th_buf_deinit(&items->list[i].raw);
	}
	free(items->list);
	*items = (struct th_items){ 0 };
}

struct th_item *th_items_at(struct th_items *items, int64_t index)
{
	size_t at = items->count;

	while (at > 0 && items->list[at - 1].index > index)
		at--;
	if (at > 0 && items->list[at - 1].index == index)
		return &items->list[at - 1];
	if (items->failed || items->count == TH_ANSWER_ITEMS_MAX) {
		items->failed = true;
		return NULL;
	}
	if (items->count == items->cap) {
		items->cap = items->cap ? items->cap * 2 : 4;
		items->list = th_realloc(items->list, items->cap * sizeof(*items->list));
	}
	memmove(&items->list[at + 1], &items->list[at], (items->count - at) * sizeof(*items->list));
	items->list[at] = (struct th_item){ .index = index };
	th_buf_init(&items->list[at].raw, TH_ANSWER_MAX);
	items->count++;
	return &items->list[at];
}

struct th_part *th_items_part(struct th_items *items, struct th_item *item, enum th_part_kind kind,
			      int64_t index, const char *type, const char *member)
{
	size_t at = item->part_count;
	struct th_part *p;

	while (at > 0 && (item->parts[at - 1].kind > kind ||
			  (item->parts[at - 1].kind == kind && item->parts[at - 1].index > index)))
		at--;
	p = at > 0 ? &item->parts[at - 1] : NULL;
	if (p && p->kind == kind && p->index == index) {
		if (!p->type)
			p->type = type;
		if (!p->member)
			p->member = member;
		return p;
	}
	if (items->failed || items->part_total == TH_ANSWER_ITEMS_MAX) {
		items->failed = true;
		return NULL;
	}
	item->parts = th_realloc(item->parts, (item->part_count + 1) * sizeof(*item->parts));
	p = &item->parts[at];
	memmove(p + 1, p, (item->part_count - at) * sizeof(*p));
	*p = (struct th_part){ .kind = kind, .index = index, .type = type, .member = member };
	th_buf_init(&p->text, TH_ANSWER_MAX);
	th_buf_init(&p->notes, TH_ANSWER_MAX);
	th_buf_init(&p->whole, TH_ANSWER_MAX);
	item->part_count++;
	items->part_total++;
	return p;
}

void th_items_add(struct th_items *items, struct th_buf *to, struct th_str json)
{
	if (items->failed || json.len > TH_ANSWER_MAX - items->size) {
		items->failed = true;
		return;
	}
	items->size += json.len;
	th_buf_add(to, json);
}

void th_items_set(struct th_items *items, struct th_buf *to, struct th_str json)
{
	items->size -= to->len;
	th_buf_clear(to);
	th_items_add(items, to, json);
}

void th_items_done(struct th_items *items, struct th_item *item, struct th_str json)
{
	parts_deinit(items, item);
	th_items_set(items, &item->raw, json);
	item->done = true;
}

/* ---- items whose end never came ---- */

static void print_part(const struct th_part *p, struct th_jw *w)
{
	if (p->whole.len) {
		th_jw_raw(w, th_buf_str(&p->whole));
		return;
	}
	th_jw_object(w);
	th_jw_kstr(w, "type", th_str_of(p->type));
	th_jw_key(w, th_str_of(p->member));
	th_jw_raw(w, TH_STR("\""));
	th_buf_add(w->out, th_buf_str(&p->text));
	th_buf_add_char(w->out, '"');
	if (p->kind == TH_PART_CONTENT && !strcmp(p->type, "output_text")) {
		th_jw_key(w, TH_STR("annotations"));
		th_jw_array(w);
		if (p->notes.len)
			th_jw_raw(w, th_buf_str(&p->notes));
		th_jw_array_end(w);
	}
	th_jw_object_end(w);
}

static const char *const lists[] = { [TH_PART_CONTENT] = "content", [TH_PART_SUMMARY] = "summary" };

static void print_list(const struct th_item *item, enum th_part_kind kind, struct th_jw *w)
{
	bool open = false;

	for (size_t i = 0; i < item->part_count; i++) {
		const struct th_part *p = &item->parts[i];

		if (p->kind != kind || (!p->whole.len && !p->type))
			continue;
		if (!open) {
			th_jw_key(w, th_str_of(lists[kind]));
			th_jw_array(w);
			open = true;
		}
		print_part(p, w);
	}
	if (open)
		th_jw_array_end(w);
}

/* Whether the parts say something about this member of the item. */
static bool in_parts(const struct th_item *item, struct th_str key)
{
	for (size_t i = 0; i < item->part_count; i++) {
		const struct th_part *p = &item->parts[i];
		const char *name = p->kind == TH_PART_MEMBER ? p->member : lists[p->kind];

		if (th_str_is(key, name) && (p->kind == TH_PART_MEMBER || p->type || p->whole.len))
			return true;
	}
	return false;
}

static void print_item(const struct th_item *item, struct th_jw *w)
{
	struct th_json_raw_iter it = th_json_raw_iter(th_buf_str(&item->raw));
	bool message = item->parts[0].kind == TH_PART_CONTENT;

	th_jw_object(w);
	if (!item->raw.len) { /* taken up in its middle */
		th_jw_kstr(w, "type", message ? TH_STR("message") : TH_STR("reasoning"));
		if (message)
			th_jw_kstr(w, "role", TH_STR("assistant"));
	}
	while (th_json_raw_next(&it)) {
		if (in_parts(item, it.key))
			continue;
		th_jw_raw(w, TH_STR("\""));
		th_buf_add(w->out, it.key);
		th_buf_add(w->out, TH_STR("\":"));
		th_buf_add(w->out, it.val);
	}
	print_list(item, TH_PART_CONTENT, w);
	print_list(item, TH_PART_SUMMARY, w);
	for (size_t i = 0; i < item->part_count; i++) {
		const struct th_part *p = &item->parts[i];

		if (p->kind != TH_PART_MEMBER)
			continue;
		th_jw_key(w, th_str_of(p->member));
		th_jw_raw(w, TH_STR("\""));
		th_buf_add(w->out, th_buf_str(&p->text));
		th_buf_add_char(w->out, '"');
	}
	th_jw_object_end(w);
}

void th_items_print(const struct th_items *items, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_array(&w);
	for (size_t i = 0; i < items->count; i++) {
		const struct th_item *item = &items->list[i];

		if (item->part_count && (item->raw.len || item->parts[0].kind != TH_PART_MEMBER))
			print_item(item, &w);
		else if (item->raw.len)
			th_jw_raw(&w, th_buf_str(&item->raw));
	}
	th_jw_array_end(&w);
}
