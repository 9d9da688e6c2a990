/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemini_event.c - the pieces of an answer.  Each is a whole response with
 * only what is new; counts and verdicts are repeated, and the last counts.
 * They are walked as raw text; what becomes part of the answer is parsed, and
 * thereby checked, at its end.
 */
#include "base/limits.h"
#include "models/gemini_decoder.h"

static bool is_object(struct th_str raw)
{
	return raw.len && raw.ptr[0] == '{';
}

static bool is_string(struct th_str raw)
{
	return raw.len > 2 && raw.ptr[0] == '"';
}

static void set(struct th_buf *to, struct th_str raw)
{
	th_buf_clear(to);
	th_buf_add(to, raw);
}

/* ---- usage ---- */

/* Counts are of the whole answer so far; what a later one leaves out is none. */
static void take_usage(struct th_decoder *d, struct th_str usage)
{
	if (th_str_find(usage, TH_STR("TokenCount\"")) >= 0) {
		d->usage = (struct th_usage){ -1, -1, -1, -1, -1, -1 };
		d->tool_input = -1;
	}
	const struct {
		struct th_str name;
		int64_t *to;
	} rows[] = {
		{ TH_STR("promptTokenCount"), &d->usage.input },
		{ TH_STR("candidatesTokenCount"), &d->usage.output },
		{ TH_STR("thoughtsTokenCount"), &d->usage.reasoning },
		{ TH_STR("cachedContentTokenCount"), &d->usage.cached },
		{ TH_STR("totalTokenCount"), &d->usage.total },
		{ TH_STR("toolUsePromptTokenCount"), &d->tool_input },
	};
	struct th_json_raw_iter it = th_json_raw_iter(usage);
	int64_t v;

	while (it.object && th_json_raw_next(&it))
		for (size_t i = 0; i < TH_COUNT(rows); i++)
			if (th_str_eq(it.key, rows[i].name) && th_str_i64(it.val, &v) && v >= 0)
				*rows[i].to = v;
}

/* ---- candidates ---- */

static void keep_member(struct th_decoder *d, struct th_str key, struct th_str val)
{
	struct th_gemini_member *m = NULL;

	for (size_t i = 0; i < d->member_count && !m; i++)
		if (th_str_eq(th_buf_str(&d->members[i].key), key))
			m = &d->members[i];
	if (!m && d->member_count == TH_GEMINI_MEMBERS_MAX)
		return;
	if (!m) {
		m = &d->members[d->member_count++];
		th_buf_init(&m->key, TH_ANSWER_MAX);
		th_buf_init(&m->val, TH_ANSWER_MAX);
		th_buf_add(&m->key, key);
		d->member_size += key.len;
	}
	d->member_size += val.len - m->val.len;
	set(&m->val, val);
	if (d->member_size > TH_ANSWER_MAX)
		d->parts.failed = true;
}

/* Text for the observer; what it belongs to is counted as the answer's items will be. */
static void tell(struct th_decoder *d, const struct th_gemini_piece *piece)
{
	static const enum th_delta_kind kinds[] = { [TH_GEMINI_PIECE_TEXT] = TH_DELTA_TEXT,
						    [TH_GEMINI_PIECE_THOUGHT] = TH_DELTA_REASONING,
						    [TH_GEMINI_PIECE_CALL] = TH_DELTA_ARGUMENTS };

	struct th_str text;

	if (piece->kind == TH_GEMINI_PIECE_NONE)
		return;
	text = piece->kind == TH_GEMINI_PIECE_CALL ? piece->raw
						   : th_delta_text_of(&d->delta, piece->raw);
	if (!text.len && piece->kind != TH_GEMINI_PIECE_CALL)
		return;
	if (d->item_kind != TH_GEMINI_PIECE_NONE &&
	    (d->item_kind != (int)piece->kind || piece->kind == TH_GEMINI_PIECE_CALL))
		d->item_index++;
	d->item_kind = (int)piece->kind;
	if (text.len)
		d->fn(d->ctx, kinds[piece->kind], d->item_index, text);
}

static void take_content(struct th_decoder *d, struct th_str content)
{
	struct th_json_raw_iter it = th_json_raw_iter(th_json_raw_get(content, "parts"));
	struct th_gemini_piece piece;

	if (it.object)
		return;
	while (!d->parts.failed && th_json_raw_next(&it)) {
		if (!th_gemini_parts_add(&d->parts, it.val, &piece))
			d->lost = true;
		else if (d->fn)
			tell(d, &piece);
	}
}

/* The members of a candidate, raw; walked once, as `index` may stand behind the others. */
struct candidate {
	struct th_str content, finish, index;
	struct {
		struct th_str key, val;
	} others[TH_GEMINI_MEMBERS_MAX];
	size_t other_count;
};

static void read_candidate(struct th_str raw, struct candidate *c)
{
	struct th_json_raw_iter it = th_json_raw_iter(raw);

	c->content = (struct th_str){ NULL, 0 };
	c->finish = (struct th_str){ NULL, 0 };
	c->index = (struct th_str){ NULL, 0 };
	c->other_count = 0;
	while (th_json_raw_next(&it)) {
		if (th_str_eq(it.key, TH_STR("content"))) {
			c->content = it.val;
		} else if (th_str_eq(it.key, TH_STR("finishReason"))) {
			c->finish = it.val;
		} else if (th_str_eq(it.key, TH_STR("index"))) {
			c->index = it.val;
		} else if (c->other_count < TH_GEMINI_MEMBERS_MAX) {
			c->others[c->other_count].key = it.key;
			c->others[c->other_count++].val = it.val;
		}
	}
}

static void take_candidates(struct th_decoder *d, struct th_str list)
{
	struct th_json_raw_iter it = th_json_raw_iter(list);
	struct candidate c;

	if (it.object)
		return;
	while (th_json_raw_next(&it)) {
		read_candidate(it.val, &c);
		if (c.index.len && !th_str_is(c.index, "0"))
			continue; /* others were not asked for */
		take_content(d, c.content);
		if (is_string(c.finish))
			set(&d->finish, c.finish);
		for (size_t i = 0; i < c.other_count; i++)
			keep_member(d, c.others[i].key, c.others[i].val);
		return;
	}
}

/* ---- events ---- */

/* Whether the same piece came just before.  Only of one that counts its tokens or has a whole call
 * is that the work of a proxy: a text may well say a thing twice. */
static bool repeated(struct th_decoder *d, struct th_str chunk)
{
	if (!th_str_eq(chunk, th_buf_str(&d->last))) {
		set(&d->last, chunk);
		return false;
	}
	return th_str_find(chunk, TH_STR("TokenCount\"")) >= 0 ||
	       (th_str_find(chunk, TH_STR("\"functionCall\"")) >= 0 &&
		th_str_find(chunk, TH_STR("\"partialArgs\"")) < 0);
}

bool th_gemini_chunk(struct th_decoder *d, struct th_str chunk)
{
	struct th_json_raw_iter it = th_json_raw_iter(chunk);
	struct th_str rest = it.rest, candidates = { NULL, 0 };

	if (!it.object)
		return false;
	while (th_json_raw_next(&it)) {
		if (th_str_eq(it.key, TH_STR("candidates")))
			candidates = it.val;
		else if (th_str_eq(it.key, TH_STR("usageMetadata")))
			take_usage(d, it.val);
		else if (th_str_eq(it.key, TH_STR("responseId")) && !d->response_id.len)
			set(&d->response_id, it.val);
		else if (th_str_eq(it.key, TH_STR("modelVersion")) && !d->model.len)
			set(&d->model, it.val);
		else if (th_str_eq(it.key, TH_STR("promptFeedback")) && is_object(it.val))
			set(&d->feedback, it.val);
		else if (th_str_eq(it.key, TH_STR("error")) && !d->error.len &&
			 !th_str_is(it.val, "null"))
			set(&d->error, chunk);
		rest = it.rest;
	}
	rest = th_str_trim(rest);
	if (rest.len != 1 || rest.ptr[0] != '}') /* not a whole object */
		return false;
	take_candidates(d, candidates);
	return true;
}

bool th_gemini_event(void *ctx, const struct th_sse_event *ev)
{
	struct th_decoder *d = ctx;

	if (!ev->data.len)
		return true;
	if (th_str_eq(th_str_trim(ev->data), TH_STR("[DONE]"))) {
		d->done = true;
		return true;
	}
	if (repeated(d, ev->data))
		return true;
	if (!th_gemini_chunk(d, ev->data))
		d->broken = true;
	if (d->parts.failed) {
		if (d->parts.count == TH_ANSWER_ITEMS_MAX)
			th_intake_over(&d->in, "parts", TH_ANSWER_ITEMS_MAX);
		else
			th_intake_over(&d->in, "bytes", TH_ANSWER_MAX);
		return false;
	}
	return true;
}
