/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "actions/action.h"
#include "base/text.h"

#define ARENA_MAX (8 * TH_MIB)

static struct th_arena arena;
static struct th_err err;

static enum th_code parse(struct th_str text, struct th_action *ret)
{
	struct th_json_doc *doc = NULL;
	enum th_code code;

	err = (struct th_err){};
	assert_int_equal(th_json_parse(text, &doc, &err), TH_OK);
	code = th_action_parse(th_json_root(doc), &arena, ret, &err);
	th_json_free(doc); /* nothing may borrow from it */
	return code;
}

static int setup(void **state)
{
	(void)state;
	th_arena_init(&arena, ARENA_MAX);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	th_arena_deinit(&arena);
	return 0;
}

static bool same(const struct th_action *a, const struct th_action *b)
{
	if (a->kind != b->kind || a->has_at != b->has_at || a->at.x != b->at.x ||
	    a->at.y != b->at.y || a->button != b->button || a->count != b->count ||
	    a->key_count != b->key_count || a->path_count != b->path_count ||
	    a->duration_ms != b->duration_ms || a->dx != b->dx || a->dy != b->dy ||
	    a->unit != b->unit || !th_str_eq(a->text, b->text) || a->clear != b->clear ||
	    a->enter != b->enter || memcmp(&a->region, &b->region, sizeof(a->region)))
		return false;
	for (size_t i = 0; i < a->key_count; i++) {
		if (!th_str_eq(a->keys[i], b->keys[i]))
			return false;
	}
	for (size_t i = 0; i < a->path_count; i++) {
		if (a->path[i].x != b->path[i].x || a->path[i].y != b->path[i].y)
			return false;
	}
	return true;
}

static void test_forms(void **state)
{
	struct th_action a;

	(void)state;
	assert_int_equal(parse(TH_STR("{\"type\":\"click\",\"x\":10,\"y\":20,\"button\":\"right\","
				      "\"count\":2,\"keys\":[\"ctrl\",\"shift\"]}"),
			       &a),
			 TH_OK);
	assert_int_equal(a.kind, TH_ACTION_CLICK);
	assert_true(a.has_at && a.at.x == 10 && a.at.y == 20);
	assert_int_equal(a.button, TH_BUTTON_RIGHT);
	assert_int_equal(a.count, 2);
	assert_int_equal(a.key_count, 2);
	assert_true(th_str_is(a.keys[1], "shift"));

	assert_int_equal(parse(TH_STR("{\"type\":\"click\"}"), &a), TH_OK);
	assert_false(a.has_at); /* no point is no point, not (0, 0) */
	assert_int_equal(a.count, 1);
	assert_int_equal(parse(TH_STR("{\"type\":\"click\",\"x\":0,\"y\":0}"), &a), TH_OK);
	assert_true(a.has_at);
	assert_int_equal(
	    parse(TH_STR("{\"type\":\"click\",\"x\":null,\"y\":null,\"count\":null}"), &a), TH_OK);
	assert_false(a.has_at);
	assert_int_equal(parse(TH_STR("{\"type\":\"click\",\"x\":3.0,\"y\":-4}"), &a), TH_OK);
	assert_true(a.at.x == 3 && a.at.y == -4); /* th_action_check speaks about the screen */

	assert_int_equal(parse(TH_STR("{\"type\":\"drag\",\"path\":[{\"x\":1,\"y\":2},"
				      "{\"x\":3,\"y\":4},{\"x\":5,\"y\":6}],\"duration_ms\":250}"),
			       &a),
			 TH_OK);
	assert_int_equal(a.path_count, 3);
	assert_int_equal(a.path[2].y, 6);
	assert_int_equal(th_action_duration(&a), 250);

	assert_int_equal(parse(TH_STR("{\"type\":\"scroll\",\"dy\":-3,\"unit\":\"pixel\"}"), &a),
			 TH_OK);
	assert_true(a.dx == 0 && a.dy == -3 && a.unit == TH_SCROLL_PIXEL);

	assert_int_equal(parse(TH_STR("{\"type\":\"type\",\"text\":\"h\\u00e9\\n\\ud83d\\ude00\","
				      "\"enter\":true,\"clear\":true}"),
			       &a),
			 TH_OK);
	assert_true(th_str_is(a.text, "h\xc3\xa9\n\xf0\x9f\x98\x80") && a.enter && a.clear);

	assert_int_equal(parse(TH_STR("{\"type\":\"zoom\",\"region\":[1,2,3,4]}"), &a), TH_OK);
	assert_true(a.region.x == 1 && a.region.y == 2 && a.region.width == 3 &&
		    a.region.height == 4);

	assert_int_equal(parse(TH_STR("{\"type\":\"wait\"}"), &a), TH_OK);
	assert_int_equal(th_action_duration(&a), TH_WAIT_MS_DEFAULT);
	assert_int_equal(parse(TH_STR("{\"type\":\"clipboard_set\",\"text\":\"\"}"), &a), TH_OK);
	assert_non_null(a.text.ptr);
	assert_int_equal(th_button_find(TH_STR("wheel")), TH_BUTTON_MIDDLE);
	assert_int_equal(th_button_find(TH_STR("Left")), -1);
}

/* text, part of the sentence */
static const char *const refused[][2] = {
	{ "[]", "must be an object" },
	{ "null", "must be an object" },
	{ "{}", "\"type\" must be one of screenshot, zoom" },
	{ "{\"type\":3}", "\"type\" must be one of" },
	{ "{\"type\":\"clik\"}", "unknown action \"clik\"; known are screenshot" },
	{ "{\"type\":\"click\",\"x\":1}", "click: y is missing" },
	{ "{\"type\":\"click\",\"y\":1}", "click: x is missing" },
	{ "{\"type\":\"click\",\"x\":1,\"y\":\"2\"}", "click: y must be an integer, not" },
	{ "{\"type\":\"click\",\"x\":1.5,\"y\":2}",
	  "x must be an integer from -1000000 to 1000000" },
	{ "{\"type\":\"click\",\"x\":1000001,\"y\":2}", "x must be an integer from" },
	{ "{\"type\":\"click\",\"x\":1e300,\"y\":2}", "x must be an integer from" },
	{ "{\"type\":\"click\",\"x\":18446744073709551615,\"y\":2}", "x must be an integer from" },
	{ "{\"type\":\"click\",\"x\":-9223372036854775808,\"y\":2}", "x must be an integer from" },
	{ "{\"type\":\"click\",\"button\":\"LEFT\"}", "button must be \"left\"" },
	{ "{\"type\":\"click\",\"button\":1}", "button must be \"left\"" },
	{ "{\"type\":\"click\",\"count\":0}", "count must be an integer from 1 to 3" },
	{ "{\"type\":\"click\",\"count\":4}", "count must be an integer from 1 to 3" },
	{ "{\"type\":\"click\",\"keys\":\"ctrl\"}", "keys must be a list of at most 8" },
	{ "{\"type\":\"click\",\"keys\":[1]}", "keys[0] must be a string" },
	{ "{\"type\":\"click\",\"text\":\"x\"}",
	  "there is no \"text\" in this action; it has x, y, button, keys, count" },
	{ "{\"type\":\"screenshot\",\"x\":1}", "it has only \"type\"" },
	{ "{\"type\":\"move\"}", "move: x is missing" },
	{ "{\"type\":\"move\",\"x\":null,\"y\":1}", "x must be an integer, not" },
	{ "{\"type\":\"drag\"}", "path must be a list of 2 to 256 points" },
	{ "{\"type\":\"drag\",\"path\":[{\"x\":1,\"y\":1}]}", "path must be a list" },
	{ "{\"type\":\"drag\",\"path\":[[1,1],[2,2]]}", "path[0] must be {\"x\"" },
	{ "{\"type\":\"drag\",\"path\":[{\"x\":1,\"y\":1},{\"x\":2}]}", "path[1].y is missing" },
	{ "{\"type\":\"drag\",\"path\":[{\"x\":1,\"y\":1,\"z\":1},{\"x\":2}]}",
	  "path[0] has only x and y, no z" },
	{ "{\"type\":\"drag\",\"path\":[{\"x\":1,\"y\":1},{\"x\":2,\"y\":2}],\"duration_ms\":"
	  "60001}",
	  "duration_ms must be an integer from 0 to 60000" },
	{ "{\"type\":\"scroll\"}", "dx and dy are both 0" },
	{ "{\"type\":\"scroll\",\"dx\":10001}", "dx must be an integer from -10000 to 10000" },
	{ "{\"type\":\"scroll\",\"dy\":1,\"unit\":\"page\"}", "unit must be" },
	{ "{\"type\":\"scroll\",\"dy\":1,\"unit\":7}", "unit must be" },
	{ "{\"type\":\"type\"}", "text must be a string, not" },
	{ "{\"type\":\"type\",\"text\":\"\"}", "nothing to type" },
	{ "{\"type\":\"type\",\"text\":\"a\\u0000b\"}", "U+0000, which no key makes" },
	{ "{\"type\":\"type\",\"text\":\"\\u001b\"}", "U+001B, which no key makes" },
	{ "{\"type\":\"type\",\"text\":\"x\",\"enter\":1}", "enter must be true or false" },
	{ "{\"type\":\"key\"}", "keys must be a list of 1 to 8" },
	{ "{\"type\":\"key\",\"keys\":[]}", "keys must be a list of 1 to 8" },
	{ "{\"type\":\"key\",\"keys\":[\"a\"],\"count\":101}",
	  "count must be an integer from 1 to 100" },
	{ "{\"type\":\"key\",\"keys\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\"]}",
	  "keys must be a list" },
	{ "{\"type\":\"zoom\"}", "region must be [x, y, width, height]" },
	{ "{\"type\":\"zoom\",\"region\":[1,2,3]}", "region must be" },
	{ "{\"type\":\"zoom\",\"region\":[1,2,0,4]}", "region's width must be an integer from 1" },
	{ "{\"type\":\"zoom\",\"region\":[1,2,3,\"4\"]}",
	  "region's height must be an integer, not" },
	{ "{\"type\":\"wait\",\"duration_ms\":-1}", "duration_ms must be an integer from 0" },
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < TH_COUNT(refused); i++) {
		struct th_action a = { .count = 77 };

		if (parse(th_str_of(refused[i][0]), &a) != TH_EPROTO)
			fail_msg("%s was not refused", refused[i][0]);
		if (!strstr(err.msg, refused[i][1]))
			fail_msg("%s: \"%s\" does not say \"%s\"", refused[i][0], err.msg,
				 refused[i][1]);
		assert_int_equal(a.count, 77); /* untouched */
	}
}

/* Each limit at its edge: `edge` is accepted, one more is not. */
static void test_edges(void **state)
{
	static const size_t text_max[] = { TH_TYPE_TEXT_MAX, TH_CLIPBOARD_MAX };
	static const char *const text_kind[] = { "type", "clipboard_set" };
	struct th_buf b = TH_BUF_INIT(8 * TH_MIB);
	struct th_action a;

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		for (size_t more = 0; more < 2; more++) {
			th_buf_clear(&b);
			th_buf_printf(&b, "{\"type\":\"%s\",\"text\":\"", text_kind[k]);
			for (size_t i = 0; i < text_max[k] + more; i++)
				th_buf_add_char(&b, 'x');
			th_buf_add_cstr(&b, "\"}");
			assert_int_equal(parse(th_buf_str(&b), &a), more ? TH_EPROTO : TH_OK);
		}
	}
	for (size_t more = 0; more < 2; more++) {
		th_buf_clear(&b);
		th_buf_add_cstr(&b, "{\"type\":\"drag\",\"path\":[{\"x\":0,\"y\":0}");
		for (size_t i = 1; i < TH_DRAG_POINTS_MAX + more; i++)
			th_buf_add_cstr(&b, ",{\"x\":1,\"y\":1}");
		th_buf_add_cstr(&b, "]}");
		assert_int_equal(parse(th_buf_str(&b), &a), more ? TH_EPROTO : TH_OK);
	}
	assert_int_equal(parse(TH_STR("{\"type\":\"move\",\"x\":1000000,\"y\":-1000000}"), &a),
			 TH_OK);
	assert_int_equal(parse(TH_STR("{\"type\":\"click\",\"count\":3}"), &a), TH_OK);
	assert_int_equal(parse(TH_STR("{\"type\":\"key\",\"keys\":[\"a\"],\"count\":100}"), &a),
			 TH_OK);
	assert_int_equal(parse(TH_STR("{\"type\":\"scroll\",\"dx\":-10000,\"dy\":10000}"), &a),
			 TH_OK);
	assert_int_equal(parse(TH_STR("{\"type\":\"wait\",\"duration_ms\":60000}"), &a), TH_OK);
	th_buf_deinit(&b);
}

static void test_full_arena(void **state)
{
	static const char *const texts[] = {
		"{\"type\":\"type\",\"text\":\"0123456789012345678901234567890123456789\"}",
		"{\"type\":\"drag\",\"path\":[{\"x\":1,\"y\":1},{\"x\":2,\"y\":1}]}",
		"{\"type\":\"key\",\"keys\":[\"0123456789012345678901234567890123456789\"]}",
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(texts); i++) {
		struct th_arena small;
		struct th_json_doc *doc;
		struct th_action a;

		th_arena_init(&small, 8);
		assert_int_equal(th_json_parse(th_str_of(texts[i]), &doc, &err), TH_OK);
		assert_int_equal(th_action_parse(th_json_root(doc), &small, &a, &err), TH_ELIMIT);
		th_json_free(doc);
		th_arena_deinit(&small);
	}
}

/* ---- parse(print(a)) == a ---- */

static uint64_t seed = 1;

static int32_t draw(int32_t min, int32_t max)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	switch (seed >> 60) { /* the ends come often */
	case 0:
		return min;
	case 1:
		return max;
	}
	return min + (int32_t)((seed >> 16) % (uint64_t)((int64_t)max - min + 1));
}

static struct th_str draw_text(bool typable, size_t chars_max)
{
	struct th_buf b = TH_BUF_INIT(64 * TH_KIB);
	size_t count = (size_t)draw(0, (int32_t)chars_max);
	struct th_str s;

	for (size_t i = 0; i < count; i++) {
		uint32_t c;

		switch (draw(0, 5)) {
		case 0:
			c = (uint32_t)draw(0x20, 0x7e);
			break;
		case 1:
			c = typable ? '\n' : (uint32_t)draw(0, 0x1f);
			break;
		case 2:
			c = (uint32_t)draw(0xa0, 0xd7ff);
			break;
		case 3:
			c = (uint32_t)draw(0x1f300, 0x1f6ff);
			break;
		case 4:
			c = (uint32_t) "\"\\/<&\t"[draw(0, 5)];
			break;
		default:
			c = (uint32_t)draw('a', 'z');
		}
		th_utf8_add(&b, c);
	}
	s = th_arena_str(&arena, th_buf_str(&b));
	th_buf_deinit(&b);
	return s;
}

static void draw_keys(struct th_action *a, int32_t min)
{
	a->key_count = (size_t)draw(min, TH_CHORD_KEYS_MAX);
	for (size_t i = 0; i < a->key_count; i++)
		a->keys[i] = draw_text(false, 12);
}

static void draw_point(struct th_action *a, bool must)
{
	if (!must && draw(0, 1))
		return;
	a->has_at = true;
	a->at = (struct th_point){ draw(-TH_POINT_MAX, TH_POINT_MAX),
				   draw(-TH_POINT_MAX, TH_POINT_MAX) };
}

static void draw_path(struct th_action *a)
{
	a->path_count = (size_t)draw(2, TH_DRAG_POINTS_MAX);
	a->path = th_arena_array(&arena, a->path_count, sizeof(*a->path));
	for (size_t i = 0; i < a->path_count; i++)
		a->path[i] = (struct th_point){ draw(-9, TH_POINT_MAX), draw(-9, TH_POINT_MAX) };
}

static struct th_action draw_action(enum th_action_kind kind)
{
	struct th_action a = { .kind = kind };

	switch (kind) {
	case TH_ACTION_ZOOM:
		a.region =
		    (struct th_rect){ draw(-9, 9), draw(-9, 9), draw(1, TH_POINT_MAX), draw(1, 9) };
		break;
	case TH_ACTION_WAIT:
		a.duration_ms = draw(0, TH_WAIT_MS_MAX);
		break;
	case TH_ACTION_CLICK:
		draw_point(&a, false);
		a.button = (enum th_button)draw(0, TH_BUTTON_COUNT - 1);
		a.count = draw(1, TH_CLICK_COUNT_MAX);
		draw_keys(&a, 0);
		break;
	case TH_ACTION_MOVE:
		draw_point(&a, true);
		draw_keys(&a, 0);
		break;
	case TH_ACTION_MOUSE_DOWN:
	case TH_ACTION_MOUSE_UP:
		draw_point(&a, false);
		a.button = (enum th_button)draw(0, TH_BUTTON_COUNT - 1);
		break;
	case TH_ACTION_DRAG:
		draw_path(&a);
		a.button = (enum th_button)draw(0, TH_BUTTON_COUNT - 1);
		a.duration_ms = draw(0, TH_WAIT_MS_MAX);
		draw_keys(&a, 0);
		break;
	case TH_ACTION_SCROLL:
		draw_point(&a, false);
		a.dx = draw(-TH_SCROLL_MAX, TH_SCROLL_MAX);
		a.dy = draw(-TH_SCROLL_MAX, TH_SCROLL_MAX);
		a.dy += a.dx == 0 && a.dy == 0;
		a.unit = (enum th_scroll_unit)draw(0, 1);
		draw_keys(&a, 0);
		break;
	case TH_ACTION_TYPE:
		draw_point(&a, false);
		a.text = draw_text(true, 300);
		a.clear = draw(0, 1);
		a.enter = draw(0, 1) || a.text.len == 0;
		break;
	case TH_ACTION_KEY:
		a.count = draw(1, TH_KEY_REPEAT_MAX);
		draw_keys(&a, 1);
		break;
	case TH_ACTION_HOLD_KEY:
		a.duration_ms = draw(0, TH_WAIT_MS_MAX);
		draw_keys(&a, 1);
		break;
	case TH_ACTION_KEY_DOWN:
	case TH_ACTION_KEY_UP:
		draw_keys(&a, 1);
		break;
	case TH_ACTION_CLIPBOARD_SET:
		a.text = draw_text(false, 300);
		break;
	case TH_ACTION_SCREENSHOT:
	case TH_ACTION_CURSOR_POSITION:
	case TH_ACTION_CLIPBOARD_GET:
	case TH_ACTION_COUNT:
		break;
	}
	return a;
}

static void test_round_trip(void **state)
{
	struct th_buf b = TH_BUF_INIT(TH_MIB), again = TH_BUF_INIT(TH_MIB);

	(void)state;
	for (int round = 0; round < 500; round++) {
		for (int kind = 0; kind < TH_ACTION_COUNT; kind++) {
			struct th_action a = draw_action((enum th_action_kind)kind), back;
			struct th_jw w = th_jw(&b), w2 = th_jw(&again);

			th_buf_clear(&b);
			th_buf_clear(&again);
			th_action_print(&a, &w);
			if (parse(th_buf_str(&b), &back) != TH_OK)
				fail_msg("%s: %s", b.ptr, err.msg);
			if (!same(&a, &back))
				fail_msg("came back otherwise: %s", b.ptr);
			th_action_print(&back, &w2);
			assert_true(th_str_eq(th_buf_str(&b), th_buf_str(&again)));
			th_arena_reset(&arena);
		}
	}
	th_buf_deinit(&b);
	th_buf_deinit(&again);
}

/* Cut, doubled and flipped bytes of good actions: any code, but no crash, and what is accepted
 * comes back as it is. */
static void test_hostile(void **state)
{
	struct th_buf b = TH_BUF_INIT(TH_MIB), out = TH_BUF_INIT(TH_MIB);
	size_t accepted = 0;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct th_action a, back;
		struct th_json_doc *doc;
		struct th_jw w = th_jw(&b);

		a = draw_action((enum th_action_kind)(round % TH_ACTION_COUNT));
		a.path_count = TH_MIN(a.path_count, (size_t)3);
		th_buf_clear(&b);
		th_action_print(&a, &w);
		for (int32_t i = draw(1, 3); i > 0; i--)
			b.ptr[draw(0, (int32_t)b.len - 1)] = "\"0,:{}[]-.eEx1"[draw(0, 13)];
		if (th_json_parse(th_buf_str(&b), &doc, &err) == TH_OK) {
			if (th_action_parse(th_json_root(doc), &arena, &a, &err) == TH_OK) {
				accepted++;
				w = th_jw(&out);
				th_buf_clear(&out);
				th_action_print(&a, &w);
				assert_int_equal(parse(th_buf_str(&out), &back), TH_OK);
				assert_true(same(&a, &back));
			}
			th_json_free(doc);
		}
		th_arena_reset(&arena);
	}
	assert_true(accepted > 100);
	th_buf_deinit(&b);
	th_buf_deinit(&out);
}

static void test_check(void **state)
{
	struct th_point path[] = { { 0, 0 }, { 5, 800 } };
	struct th_size screen = { 1280, 800 };
	struct th_action a = { .kind = TH_ACTION_CLICK, .has_at = true, .at = { 1279, 799 } };

	(void)state;
	assert_int_equal(th_action_check(&a, screen, &err), TH_OK);
	a.at = (struct th_point){ 5000, 20 };
	assert_int_equal(th_action_check(&a, screen, &err), TH_EUSAGE);
	assert_string_equal(err.msg,
			    "(5000, 20) is outside the screen: x must be 0 to 1279 and y 0 "
			    "to 799");
	a.at = (struct th_point){ 1280, 0 };
	assert_int_equal(th_action_check(&a, screen, &err), TH_EUSAGE);
	a.at = (struct th_point){ 0, 800 };
	assert_int_equal(th_action_check(&a, screen, &err), TH_EUSAGE);
	a.at = (struct th_point){ -1, 0 };
	assert_int_equal(th_action_check(&a, screen, &err), TH_EUSAGE);
	a.has_at = false;
	assert_int_equal(th_action_check(&a, screen, &err), TH_OK);
	a.keys[0] = TH_STR("ctlr");
	a.key_count = 1;
	assert_int_equal(th_action_check(&a, screen, &err), TH_EUSAGE);
	assert_int_equal(err.code, TH_EUSAGE);
	assert_non_null(strstr(err.msg, "unknown key \"ctlr\"; did you mean ctrl"));

	a = (struct th_action){ .kind = TH_ACTION_DRAG, .path = path, .path_count = 2 };
	assert_int_equal(th_action_check(&a, screen, &err), TH_EUSAGE);
	assert_non_null(strstr(err.msg, "path[1]: (5, 800) is outside"));
	path[1].y = 799;
	assert_int_equal(th_action_check(&a, screen, &err), TH_OK);

	a = (struct th_action){ .kind = TH_ACTION_ZOOM, .region = { 1270, 790, 10, 10 } };
	assert_int_equal(th_action_check(&a, screen, &err), TH_OK);
	static const struct th_rect bad[] = { { 1270, 790, 11, 10 },
					      { 1270, 790, 10, 11 },
					      { -1, 0, 10, 10 },
					      { 0, 0, 0, 1 },
					      { INT32_MAX, 0, INT32_MAX, 1 },
					      { 0, 0, INT32_MAX, INT32_MAX } };
	for (size_t i = 0; i < TH_COUNT(bad); i++) {
		a.region = bad[i];
		assert_int_equal(th_action_check(&a, screen, &err), TH_EUSAGE);
	}
}

static const char *const lines[][2] = {
	{ "{\"type\":\"click\",\"x\":10,\"y\":20,\"keys\":[\"ctrl\"]}",
	  "click left at (10, 20) with ctrl" },
	{ "{\"type\":\"click\",\"count\":3,\"button\":\"right\"}", "triple-click right" },
	{ "{\"type\":\"drag\",\"path\":[{\"x\":1,\"y\":2},{\"x\":3,\"y\":4}],\"duration_ms\":9}",
	  "drag left from (1, 2) to (3, 4) in 9 ms" },
	{ "{\"type\":\"scroll\",\"dy\":-3,\"dx\":1}", "scroll up 3 notches right 1 notch" },
	{ "{\"type\":\"type\",\"text\":\"a\\nb\",\"enter\":true}", "type \"a\\nb\", then Return" },
	{ "{\"type\":\"key\",\"keys\":[\"ctrl\",\"a\"],\"count\":2}", "press ctrl+a 2 times" },
	{ "{\"type\":\"move\",\"x\":1,\"y\":2}", "move the pointer to (1, 2)" },
	{ "{\"type\":\"clipboard_set\",\"text\":\"x\"}", "copy \"x\" to the clipboard" },
};

static void test_lines(void **state)
{
	struct th_buf b = TH_BUF_INIT(4096);
	struct th_action a;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(lines); i++) {
		th_buf_clear(&b);
		assert_int_equal(parse(th_str_of(lines[i][0]), &a), TH_OK);
		th_action_line(&a, &b);
		assert_string_equal(b.ptr, lines[i][1]);
	}
	for (int kind = 0; kind < TH_ACTION_COUNT; kind++) {
		a = draw_action((enum th_action_kind)kind);
		th_buf_clear(&b);
		th_action_line(&a, &b);
		assert_true(b.len > 0 && b.len < 600 && !memchr(b.ptr, '\n', b.len));
		assert_int_equal(
		    th_action_find(th_str_of(th_action_name((enum th_action_kind)kind))), kind);
		assert_true(th_action_doc((enum th_action_kind)kind)[0] != '\0');
	}
	assert_int_equal(th_action_class(TH_ACTION_CLICK), 'W');
	assert_int_equal(th_action_class(TH_ACTION_ZOOM), 'R');
	th_buf_deinit(&b);
}

/* The schema has one branch for each kind, which names exactly what parse takes: an object of all
 * properties of a branch is accepted but for its values. */
static void test_schema(void **state)
{
	struct th_buf b = TH_BUF_INIT(TH_MIB), probe = TH_BUF_INIT(4096);
	struct th_jw w = th_jw(&b);
	struct th_json_doc *doc;
	const struct th_json *branches;
	struct th_action a;

	(void)state;
	th_action_schema(&w);
	assert_int_equal(th_json_parse(th_buf_str(&b), &doc, &err), TH_OK);
	branches = th_json_get(th_json_root(doc), "oneOf");
	assert_int_equal(th_json_count(branches), TH_ACTION_COUNT);
	for (struct th_json_iter it = th_json_iter(branches); th_json_next(&it);) {
		const struct th_json *properties = th_json_get(it.val, "properties");
		struct th_str name = th_json_get_str(th_json_get(properties, "type"), "const");
		struct th_json_iter r = th_json_iter(th_json_get(it.val, "required"));

		assert_int_equal(th_action_find(name), it.index);
		while (th_json_next(&r))
			assert_non_null(th_json_getn(properties, th_json_str(r.val)));
		for (struct th_json_iter p = th_json_iter(properties); th_json_next(&p);) {
			th_buf_clear(&probe);
			th_buf_printf(&probe, "{\"type\":\"%.*s\",\"%.*s\":null}", TH_FMT(name),
				      TH_FMT(p.key));
			if (parse(th_buf_str(&probe), &a) < 0)
				assert_null(strstr(err.msg, "there is no"));
		}
	}
	th_json_free(doc);
	th_buf_deinit(&b);
	th_buf_deinit(&probe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),      cmocka_unit_test(test_refused),
		cmocka_unit_test(test_edges),      cmocka_unit_test(test_full_arena),
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_check),      cmocka_unit_test(test_lines),
		cmocka_unit_test(test_schema),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
