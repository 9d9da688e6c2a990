/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/found.h"

#include "base/codec.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/text.h"

/* ---- tesseract ---- */

#define WORD_LEVEL 5
#define CONFIDENCE_MIN 30 /* of 100; below it is mostly noise */
#define LINE_TEXT_MAX 1024

enum column { LEVEL, PAGE, BLOCK, PARAGRAPH, LINE, WORD, LEFT, TOP, WIDTH, HEIGHT, COLUMN_COUNT };

struct word {
	int64_t column[COLUMN_COUNT];
	struct th_str text;
};

/* level page block par line word left top width height conf text; false: no word. */
static bool read_word(struct th_str row, struct word *ret)
{
	double confidence;

	for (size_t i = 0; i < COLUMN_COUNT; i++)
		if (!th_str_i64(th_str_split(&row, '\t'), &ret->column[i]) || ret->column[i] < 0 ||
		    ret->column[i] > TH_POINT_MAX)
			return false;
	if (!th_str_f64(th_str_split(&row, '\t'), &confidence) || confidence < CONFIDENCE_MIN)
		return false;
	ret->text = th_str_trim(row);
	return ret->column[LEVEL] == WORD_LEVEL && ret->text.len > 0 &&
	       ret->text.len <= LINE_TEXT_MAX;
}

static bool is_same_line(const struct word *a, const struct word *b)
{
	for (size_t i = PAGE; i <= LINE; i++)
		if (a->column[i] != b->column[i])
			return false;
	return true;
}

struct line {
	struct word last;
	int64_t left, top, right, bottom;
	struct th_buf text; /* empty: no line yet */
};

static void put_line(struct line *l, th_found_fn *fn, void *ctx)
{
	struct th_rect box = { (int32_t)l->left, (int32_t)l->top, (int32_t)(l->right - l->left),
			       (int32_t)(l->bottom - l->top) };

	if (l->text.len)
		fn(ctx, box, TH_STR("text"), th_buf_str(&l->text));
	th_buf_clear(&l->text);
}

/* A gap wider than the letters are high ends a finding: columns, neighbouring buttons. */
static bool goes_on(const struct line *l, const struct word *w)
{
	int64_t gap = w->column[LEFT] - l->right;
	int64_t high = TH_MAX(w->column[HEIGHT], l->last.column[HEIGHT]);

	return l->text.len && is_same_line(&l->last, w) && gap <= high && gap >= -high &&
	       l->text.len + w->text.len < LINE_TEXT_MAX;
}

void th_ocr_read(struct th_str tsv, th_found_fn *fn, void *ctx)
{
	struct line l = { .text = TH_BUF_INIT(2 * LINE_TEXT_MAX) };
	struct word w;
	size_t words = 0;

	while (tsv.len && words < TH_OCR_WORDS_MAX) {
		int64_t right, bottom;

		if (!read_word(th_str_split(&tsv, '\n'), &w))
			continue;
		words++;
		right = w.column[LEFT] + w.column[WIDTH];
		bottom = w.column[TOP] + w.column[HEIGHT];
		if (goes_on(&l, &w)) {
			th_buf_add_char(&l.text, ' ');
			l.left = TH_MIN(l.left, w.column[LEFT]);
			l.top = TH_MIN(l.top, w.column[TOP]);
			l.right = TH_MAX(l.right, right);
			l.bottom = TH_MAX(l.bottom, bottom);
		} else {
			put_line(&l, fn, ctx);
			l.left = w.column[LEFT];
			l.top = w.column[TOP];
			l.right = right;
			l.bottom = bottom;
		}
		th_buf_add(&l.text, w.text);
		l.last = w;
	}
	put_line(&l, fn, ctx);
	th_buf_deinit(&l.text);
}

/* ---- OmniParser ---- */

void th_parser_request(struct th_str png, struct th_buf *out)
{
	th_buf_add_cstr(out, "{\"base64_image\":\"");
	th_base64_encode(out, png.ptr, png.len);
	th_buf_add_cstr(out, "\"}");
}

/* Left, top, right, bottom as parts of the picture; false: no such box. */
static bool read_box(const struct th_json *list, struct th_size picture, struct th_rect *ret)
{
	double v[4];

	if (!th_json_is_array(list) || th_json_count(list) != 4)
		return false;
	for (size_t i = 0; i < 4; i++) {
		v[i] = th_json_num(th_json_at(list, i), -1);
		if (!(v[i] >= 0 && v[i] <= 1))
			return false;
	}
	ret->x = (int32_t)(v[0] * picture.width);
	ret->y = (int32_t)(v[1] * picture.height);
	ret->width = (int32_t)(v[2] * picture.width) - ret->x;
	ret->height = (int32_t)(v[3] * picture.height) - ret->y;
	return ret->width > 0 && ret->height > 0;
}

enum th_code th_parser_read(struct th_str answer, struct th_size picture, th_found_fn *fn,
			    void *ctx, struct th_err *err)
{
	struct th_json_doc *doc;
	const struct th_json *list;
	struct th_json_iter it;
	enum th_code code = th_json_parse(answer, &doc, err);
	size_t count = 0;

	if (code)
		return code;
	list = th_json_get(th_json_root(doc), "parsed_content_list");
	it = th_json_iter(list);
	while (th_json_is_array(list) && count++ < TH_PARSER_ITEMS_MAX && th_json_next(&it)) {
		struct th_rect box;

		if (read_box(th_json_get(it.val, "bbox"), picture, &box))
			fn(ctx, box, th_json_get_str(it.val, "type"),
			   th_json_get_str(it.val, "content"));
	}
	if (!th_json_is_array(list))
		code = th_fail(err, TH_EPROTO, "the answer has no list parsed_content_list");
	th_json_free(doc);
	return code;
}
