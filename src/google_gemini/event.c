/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.c - the pieces of an answer.  Each is a whole response with
 * only what is new; counts and verdicts are repeated, and the last counts.
 * They are walked as raw text; what becomes part of the answer is parsed, and
 * thereby checked, at its end.
 */
#include "base/limits.h"
#include "google_gemini/decoder.h"

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
	struct th_usage counted = { -1, -1, -1, -1, -1, -1 };
	int64_t tool_input = -1, v;
	const struct {
		struct th_str name;
		int64_t *to;
	} rows[] = {
		{ TH_STR("promptTokenCount"), &counted.input },
		{ TH_STR("candidatesTokenCount"), &counted.output },
		{ TH_STR("thoughtsTokenCount"), &counted.reasoning },
		{ TH_STR("cachedContentTokenCount"), &counted.cached },
		{ TH_STR("totalTokenCount"), &counted.total },
		{ TH_STR("toolUsePromptTokenCount"), &tool_input },
	};
	struct th_json_raw_iter it = th_json_raw_iter(usage);
	bool any = false;

	while (it.object && th_json_raw_next(&it)) {
		if (!th_str_ends(it.key, TH_STR("TokenCount")))
			continue;
		any = true;
		for (size_t i = 0; i < TH_COUNT(rows); i++)
			if (th_str_eq(it.key, rows[i].name) && th_str_i64(it.val, &v) && v >= 0)
				*rows[i].to = v;
	}
	if (!any)
		return;
	d->usage = counted;
	d->tool_input = tool_input;
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

static void take_part(struct th_decoder *d, bool good, const struct th_gemini_piece *piece)
{
	if (!good)
		d->lost = true;
	else if (d->fn)
		tell(d, piece);
}

static void take_parts(struct th_decoder *d, struct th_str list)
{
	struct th_json_raw_iter it = th_json_raw_iter(list);
	struct th_gemini_piece piece;

	while (!d->parts.failed && th_json_raw_next(&it))
		take_part(d, th_gemini_parts_add(&d->parts, it.val, &piece), &piece);
}

/* The members of a candidate, raw; read before any is taken, as `index` may stand behind the
 * others, and the event may not be whole. */
struct candidate {
	bool chosen;
	struct th_str finish;
	struct th_str parts, part; /* the list; its only element, if that is an object */
	size_t part_count;
	struct th_gemini_members members; /* of that */
	struct {
		struct th_str key, val;
	} others[TH_GEMINI_MEMBERS_MAX];
	size_t other_count;
};

static struct th_str since(const struct th_json_walk *w, const char *from)
{
	return th_str_n(from, (size_t)(w->at - from));
}

static void read_parts(struct th_json_walk *w, struct candidate *c)
{
	const char *list = w->at, *from;

	if (!th_json_enter(w, '[')) {
		(void)th_json_skip(w);
		return;
	}
	while (th_json_element(w)) {
		from = w->at;
		if (c->part_count++ || !th_gemini_members(w, &c->members))
			(void)th_json_skip(w);
		else
			c->part = since(w, from);
	}
	c->parts = since(w, list);
}

static void read_content(struct th_json_walk *w, struct candidate *c)
{
	struct th_str key;

	c->part_count = 0;
	c->parts = c->part = (struct th_str){ NULL, 0 };
	if (!th_json_enter(w, '{')) {
		(void)th_json_skip(w);
		return;
	}
	while (th_json_member(w, &key))
		if (th_str_eq(key, TH_STR("parts")) && !c->parts.len)
			read_parts(w, c);
		else
			(void)th_json_skip(w);
}

static void read_candidate(struct th_json_walk *w, struct candidate *c)
{
	struct th_str key, val;

	c->finish = c->parts = c->part = (struct th_str){ NULL, 0 };
	c->chosen = true;
	c->part_count = c->other_count = 0;
	if (!th_json_enter(w, '{'))
		(void)th_json_skip(w);
	else
		while (th_json_member(w, &key)) {
			if (th_str_eq(key, TH_STR("content"))) {
				read_content(w, c);
				continue;
			}
			val = th_json_skip(w);
			if (th_str_eq(key, TH_STR("finishReason"))) {
				c->finish = val;
			} else if (th_str_eq(key, TH_STR("index"))) {
				c->chosen =
				    th_str_eq(val, TH_STR("0")); /* others were not asked for */
			} else if (c->other_count < TH_GEMINI_MEMBERS_MAX) {
				c->others[c->other_count].key = key;
				c->others[c->other_count++].val = val;
			}
		}
}

/* The first that counts. */
static void read_candidates(struct th_json_walk *w, struct candidate *c)
{
	c->chosen = false;
	if (!th_json_enter(w, '[')) {
		(void)th_json_skip(w);
		return;
	}
	while (th_json_element(w))
		if (c->chosen)
			(void)th_json_skip(w);
		else
			read_candidate(w, c);
}

static void take_candidate(struct th_decoder *d, const struct candidate *c)
{
	struct th_gemini_piece piece;

	if (!c->chosen)
		return;
	if (c->part_count == 1 && c->part.len)
		take_part(d, th_gemini_parts_take(&d->parts, c->part, &c->members, &piece), &piece);
	else
		take_parts(d, c->parts);
	if (is_string(c->finish))
		set(&d->finish, c->finish);
	for (size_t i = 0; i < c->other_count; i++)
		keep_member(d, c->others[i].key, c->others[i].val);
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

static void take_member(struct th_decoder *d, struct th_str key, struct th_str val,
			struct th_str chunk)
{
	if (th_str_eq(key, TH_STR("usageMetadata")))
		take_usage(d, val);
	else if (th_str_eq(key, TH_STR("responseId")) && !d->response_id.len)
		set(&d->response_id, val);
	else if (th_str_eq(key, TH_STR("modelVersion")) && !d->model.len)
		set(&d->model, val);
	else if (th_str_eq(key, TH_STR("promptFeedback")) && th_json_raw_is_object(val))
		set(&d->feedback, val);
	else if (th_str_eq(key, TH_STR("error")) && !d->error.len && !th_str_is(val, "null"))
		set(&d->error, chunk);
}

bool th_gemini_chunk(struct th_decoder *d, struct th_str chunk)
{
	struct th_json_walk w = th_json_walk(chunk);
	struct candidate c = { .chosen = false };
	struct th_str key, val;

	if (!th_json_enter(&w, '{'))
		return false;
	while (th_json_member(&w, &key)) {
		if (th_str_eq(key, TH_STR("candidates"))) {
			read_candidates(&w, &c);
			continue;
		}
		val = th_json_skip(&w);
		if (val.len)
			take_member(d, key, val, chunk);
	}
	if (!th_json_walked(&w)) /* not a whole object */
		return false;
	take_candidate(d, &c);
	return true;
}

bool th_gemini_event(void *ctx, const struct th_sse_event *ev)
{
	struct th_decoder *d = ctx;

	if (!ev->data.len)
		return true;
	if (ev->data.len < 16 && th_str_eq(th_str_trim(ev->data), TH_STR("[DONE]"))) {
		d->done = true;
		return true;
	}
	if (repeated(d, ev->data))
		return true;
	if (!th_gemini_chunk(d, ev->data))
		d->in.broken = true;
	if (d->parts.failed) {
		if (d->parts.count == TH_ANSWER_ITEMS_MAX)
			th_intake_over(&d->in, "parts", TH_ANSWER_ITEMS_MAX);
		else
			th_intake_over(&d->in, "bytes", TH_ANSWER_MAX);
		return false;
	}
	return true;
}
