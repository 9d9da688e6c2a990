/* SPDX-License-Identifier: Apache-2.0 */
#include "anthropic_messages/blocks.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/limits.h"

static void block_deinit(struct th_block *b)
{
	th_buf_deinit(&b->start);
	th_buf_deinit(&b->text);
	th_buf_deinit(&b->signature);
	th_buf_deinit(&b->notes);
}

void th_blocks_deinit(struct th_blocks *blocks)
{
	for (size_t i = 0; i < blocks->count; i++)
		block_deinit(&blocks->list[i]);
	free(blocks->list);
	*blocks = (struct th_blocks){ 0 };
}

/* Where the block of that index is, or would be. */
static size_t place_of(const struct th_blocks *blocks, int64_t index, bool *found)
{
	size_t at = blocks->count;

	while (at > 0 && blocks->list[at - 1].index > index)
		at--;
	*found = at > 0 && blocks->list[at - 1].index == index;
	return *found ? at - 1 : at;
}

struct th_block *th_blocks_find(struct th_blocks *blocks, int64_t index)
{
	bool found;
	size_t at = place_of(blocks, index, &found);

	return found ? &blocks->list[at] : NULL;
}

struct th_block *th_blocks_at(struct th_blocks *blocks, int64_t index)
{
	bool found;
	size_t at = place_of(blocks, index, &found);
	struct th_block *b;

	if (found)
		return &blocks->list[at];
	if (blocks->failed || blocks->count == TH_ANSWER_ITEMS_MAX) {
		blocks->failed = true;
		return NULL;
	}
	if (blocks->count == blocks->cap) {
		blocks->cap = blocks->cap ? blocks->cap * 2 : 8;
		blocks->list = th_realloc(blocks->list, blocks->cap * sizeof(*blocks->list));
	}
	b = &blocks->list[at];
	memmove(b + 1, b, (blocks->count - at) * sizeof(*b));
	*b = (struct th_block){ .index = index };
	th_buf_init(&b->start, TH_ANSWER_MAX);
	th_buf_init(&b->text, TH_ANSWER_MAX);
	th_buf_init(&b->signature, TH_ANSWER_MAX);
	th_buf_init(&b->notes, TH_ANSWER_MAX);
	blocks->count++;
	return b;
}

void th_blocks_add(struct th_blocks *blocks, struct th_buf *to, struct th_str json)
{
	if (blocks->failed || json.len > TH_ANSWER_MAX - blocks->size) {
		blocks->failed = true;
		return;
	}
	blocks->size += json.len;
	th_buf_add(to, json);
}

void th_blocks_set(struct th_blocks *blocks, struct th_buf *to, struct th_str json)
{
	blocks->size -= to->len;
	th_buf_clear(to);
	th_blocks_add(blocks, to, json);
}

/* ---- put together ---- */

/* "key":"<first><then>", all still escaped */
static void put_joined(struct th_jw *w, const char *key, struct th_str first, struct th_str then)
{
	th_jw_key(w, th_str_of(key));
	th_jw_raw(w, TH_STR("\""));
	th_buf_add(w->out, first);
	th_buf_add(w->out, then);
	th_buf_add_char(w->out, '"');
}

/* The input's text is JSON inside of a JSON string. */
static void put_input(struct th_block *b, struct th_jw *w)
{
	struct th_buf quoted = TH_BUF_INIT(TH_ANSWER_MAX + 2), text = TH_BUF_INIT(TH_ANSWER_MAX);

	th_buf_add_char(&quoted, '"');
	th_buf_add(&quoted, th_buf_str(&b->text));
	th_buf_add_char(&quoted, '"');
	b->broken = !th_json_unescape(th_buf_str(&quoted), &text) ||
		    !th_str_starts(th_str_trim(th_buf_str(&text)), TH_STR("{")) ||
		    !th_json_valid(th_buf_str(&text));
	th_jw_key(w, TH_STR("input"));
	th_jw_raw(w, b->broken ? TH_STR("{}") : th_str_trim(th_buf_str(&text)));
	th_buf_deinit(&quoted);
	th_buf_deinit(&text);
}

static void put_notes(const struct th_block *b, struct th_str first, struct th_jw *w)
{
	struct th_json_raw_iter it = th_json_raw_iter(first);

	th_jw_key(w, TH_STR("citations"));
	th_jw_array(w);
	while (!it.object && th_json_raw_next(&it))
		th_jw_raw(w, it.val);
	th_jw_raw(w, th_buf_str(&b->notes));
	th_jw_array_end(w);
}

static void put_block(struct th_block *b, struct th_jw *w)
{
	struct th_json_raw_iter it = th_json_raw_iter(th_buf_str(&b->start));
	bool input = b->member && !strcmp(b->member, "input") && b->text.len;
	const char *text = b->member && strcmp(b->member, "input") != 0 ? b->member : NULL;
	struct th_str of_text = { 0 }, of_notes = { 0 };

	th_jw_object(w);
	while (th_json_raw_next(&it)) {
		if (text && th_str_is(it.key, text)) {
			of_text = th_json_raw_inside(it.val);
			continue;
		}
		if (b->notes.len && th_str_is(it.key, "citations")) {
			of_notes = it.val;
			continue;
		}
		if ((input && th_str_is(it.key, "input")) ||
		    (b->signature.len && th_str_is(it.key, "signature")))
			continue;
		th_jw_raw(w, TH_STR("\""));
		th_buf_add(w->out, it.key);
		th_buf_add(w->out, TH_STR("\":"));
		th_buf_add(w->out, it.val);
	}
	if (text)
		put_joined(w, text, of_text, th_buf_str(&b->text));
	if (input)
		put_input(b, w);
	if (b->signature.len)
		put_joined(w, "signature", th_buf_str(&b->signature), TH_STR(""));
	if (b->notes.len)
		put_notes(b, of_notes, w);
	th_jw_object_end(w);
}

void th_blocks_print(struct th_blocks *blocks, struct th_buf *out, size_t from)
{
	struct th_jw w = th_jw(out);
	size_t kept = 0;

	th_jw_array(&w);
	for (size_t i = 0; i < blocks->count; i++) {
		struct th_block *b = &blocks->list[i];

		if (!b->start.len) {
			block_deinit(b);
			continue;
		}
		b->at = out->len - from + (kept > 0); /* behind the comma */
		put_block(b, &w);
		b->len = out->len - from - b->at;
		blocks->list[kept++] = *b;
	}
	blocks->count = kept;
	th_jw_array_end(&w);
}
