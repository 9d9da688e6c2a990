/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as JSON.  The raw walk ends and stays inside, whatever they are;
 * of what the parser accepts it sees the same members and values, all the way
 * down.  Printing and parsing again gives an equal document; so does every
 * string escaped and read back.
 */
#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void raw_is_total(struct th_str text, size_t depth)
{
	struct th_json_raw_iter it = th_json_raw_iter(text);
	struct th_buf b = TH_BUF_INIT(text.len);
	size_t steps = 0;

	if (!th_json_unescape(text, &b))
		assert(b.len == 0);
	assert(!b.failed);
	th_buf_deinit(&b);
	while (th_json_raw_next(&it)) {
		assert(++steps <= text.len && it.val.len > 0);
		assert(it.val.ptr >= text.ptr && it.val.ptr + it.val.len <= text.ptr + text.len);
		if (depth < 4)
			raw_is_total(it.val, depth + 1);
	}
	assert(!th_json_raw_next(&it));
}

/* Into all that can be entered, some levels down: it ends, and stays inside. */
static void walk(struct th_json_walk *w, struct th_str text, size_t *steps, int depth)
{
	struct th_str key;

	assert(++*steps <= 2 * text.len + 2 && w->at >= text.ptr && w->at <= text.ptr + text.len);
	if (depth > 0 && th_json_enter(w, '{'))
		while (th_json_member(w, &key))
			walk(w, text, steps, depth - 1);
	else if (depth > 0 && th_json_enter(w, '['))
		while (th_json_element(w))
			walk(w, text, steps, depth - 1);
	else
		(void)th_json_skip(w);
}

static void same_key(struct th_str raw, struct th_str key)
{
	struct th_buf quoted = TH_BUF_INIT(raw.len + 2), plain = TH_BUF_INIT(raw.len);

	th_buf_printf(&quoted, "\"%.*s\"", TH_FMT(raw));
	bool good = th_json_unescape(th_buf_str(&quoted), &plain);

	assert(good && th_str_eq(th_buf_str(&plain), key));
	th_buf_deinit(&quoted);
	th_buf_deinit(&plain);
}

static void same_scalar(struct th_str raw, const struct th_json *v)
{
	struct th_buf plain = TH_BUF_INIT(raw.len);
	bool good;

	switch (th_json_type(v)) {
	case TH_JSON_STR:
		good = th_json_unescape(raw, &plain);
		assert(good && th_str_eq(th_buf_str(&plain), th_json_str(v)));
		break;
	case TH_JSON_NULL:
		assert(th_str_is(raw, "null"));
		break;
	case TH_JSON_BOOL:
		assert(th_str_is(raw, th_json_bool(v, false) ? "true" : "false"));
		break;
	case TH_JSON_INT:
	case TH_JSON_REAL: {
		double number;

		good = th_str_f64(raw, &number);
		assert(raw.len > TH_NUMBER_TEXT_MAX || (good && number == th_json_num(v, -number)));
		break;
	}
	case TH_JSON_ABSENT:
	case TH_JSON_ARRAY:
	case TH_JSON_OBJECT:
		break;
	}
	th_buf_deinit(&plain);
}

static void agree(struct th_str raw, const struct th_json *v)
{
	struct th_json_iter it = th_json_iter(v);
	struct th_json_raw_iter ri = th_json_raw_iter(raw);

	assert(ri.object == th_json_is_object(v));
	same_scalar(raw, v);
	while (th_json_next(&it)) {
		bool more = th_json_raw_next(&ri);

		assert(more);
		if (th_json_is_object(v)) {
			same_key(ri.key, it.key);
			/* The first of double keys counts for both; strlen: a key may hold NULs. */
			if (it.index < 50 && strlen(it.key.ptr) == it.key.len) {
				const struct th_json *first = th_json_getn(v, it.key);
				struct th_str piece = th_json_raw_get(raw, it.key.ptr);

				assert(piece.ptr && (first != it.val || piece.ptr == ri.val.ptr));
			}
		}
		agree(ri.val, it.val);
	}
	assert(!th_json_raw_next(&ri));
}

static void prints_and_reads_back(const struct th_json *v)
{
	struct th_buf out = TH_BUF_INIT(TH_JSON_SIZE_MAX), again = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_json_doc *doc = NULL;
	struct th_err err;

	th_json_print(v, &out);
	assert(!out.failed);
	enum th_code code = th_json_parse(th_buf_str(&out), &doc, &err);

	assert(code == TH_OK && th_json_equal(v, th_json_root(doc)));
	th_json_print(th_json_root(doc), &again);
	assert(th_str_eq(th_buf_str(&out), th_buf_str(&again)));
	th_json_free(doc);
	th_buf_deinit(&out);
	th_buf_deinit(&again);
}

static void as_a_string(struct th_str text)
{
	struct th_buf out = TH_BUF_INIT(6 * text.len + 2), clean = TH_BUF_INIT(3 * text.len);
	struct th_buf back = TH_BUF_INIT(3 * text.len);
	struct th_jw w = th_jw(&out);

	th_jw_str(&w, text);
	th_utf8_clean(&clean, text);
	bool good = th_json_unescape(th_buf_str(&out), &back);

	assert(good && !out.failed && th_str_eq(th_buf_str(&back), th_buf_str(&clean)));
	th_buf_deinit(&out);
	th_buf_deinit(&clean);
	th_buf_deinit(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str text = th_str_n(data, size), trimmed = th_str_trim(text);
	struct th_json_doc *doc;
	struct th_err err = { 0 };

	struct th_json_walk w = th_json_walk(text);
	size_t steps = 0;

	raw_is_total(text, 0);
	walk(&w, text, &steps, 6);
	as_a_string(text);
	bool valid = th_json_valid(text);

	if (th_json_parse(text, &doc, &err) != TH_OK) {
		assert(!valid);
		assert(!doc && (err.code == TH_EPROTO || err.code == TH_ELIMIT));
		assert(err.msg[0] != '\0' && !strchr(err.msg, '\n'));
		assert(th_utf8_valid(th_str_of(err.msg)) == strlen(err.msg));
		return 0;
	}
	assert(valid);
	w = th_json_walk(trimmed);
	steps = 0;
	walk(&w, trimmed, &steps, 6);
	assert(th_json_walked(&w)); /* what the parser takes is walked to its end */
	agree(trimmed, th_json_root(doc));
	prints_and_reads_back(th_json_root(doc));
	th_json_free(doc);
	return 0;
}
