/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "dialects/actions.h"
#include "models/model.h"

static struct th_arena arena;
static struct th_err err;
static struct th_action *actions;
static size_t count;

static int setup(void **state)
{
	(void)state;
	th_arena_init(&arena, 8 * TH_MIB);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	th_arena_deinit(&arena);
	return 0;
}

static const struct th_profile *profile(const char *model)
{
	const struct th_profile *p;
	struct th_str name;

	assert_int_equal(th_model_resolve(th_str_of(model), &p, &name, &err), TH_OK);
	return p;
}

static enum th_code decode(const char *item)
{
	struct th_json_doc *doc = NULL;
	enum th_code code;

	err = (struct th_err){ 0 };
	count = 0;
	assert_int_equal(th_json_parse(th_str_of(item), &doc, &err), TH_OK);
	code =
	    th_model_actions(profile("gpt-5.4"), th_json_root(doc), &arena, &actions, &count, &err);
	th_json_free(doc); /* nothing may borrow from it */
	return code;
}

/* The actions in our form. */
static void expect_ours(const char *item, const char *expected)
{
	struct th_buf out = TH_BUF_INIT(8 * TH_MIB);
	struct th_jw w = th_jw(&out);

	if (decode(item))
		th_buf_add_cstr(&out, err.msg);
	for (size_t i = 0; i < count; i++)
		th_action_print(&actions[i], &w);
	assert_string_equal(out.ptr, expected);
	th_buf_deinit(&out);
}

static void expect_action(const char *action, const char *expected)
{
	char item[1000];

	snprintf(item, sizeof(item), "{\"type\":\"computer_call\",\"action\":%s}", action);
	expect_ours(item, expected);
}

static void test_vocabulary(void **state)
{
	(void)state;
	expect_action("{\"type\":\"click\",\"button\":\"wheel\",\"x\":1,\"y\":2}",
		      "{\"type\":\"click\",\"x\":1,\"y\":2,\"button\":\"middle\",\"count\":1}");
	expect_action(
	    "{\"type\":\"click\",\"button\":\"forward\",\"x\":1.6,\"y\":-2.5,\"keys\":[\"SHIFT\"]}",
	    "{\"type\":\"click\",\"x\":2,\"y\":-3,\"button\":\"forward\",\"keys\":[\"SHIFT\"],"
	    "\"count\":1}");
	expect_action("{\"type\":\"double_click\",\"x\":1,\"y\":2,\"keys\":null}",
		      "{\"type\":\"click\",\"x\":1,\"y\":2,\"button\":\"left\",\"count\":2}");
	expect_action(
	    "{\"type\":\"drag\",\"path\":[{\"x\":1,\"y\":2},[3,4],{\"x\":5,\"y\":6,\"z\":7}],"
	    "\"keys\":[]}",
	    "{\"type\":\"drag\",\"path\":[{\"x\":1,\"y\":2},{\"x\":3,\"y\":4},{\"x\":5,\"y\":6}],"
	    "\"button\":\"left\",\"duration_ms\":0}");
	expect_action("{\"type\":\"keypress\",\"keys\":[\"CTRL\",\"A\"]}",
		      "{\"type\":\"key\",\"keys\":[\"CTRL\",\"A\"],\"count\":1}");
	expect_action("{\"type\":\"keypress\",\"keys\":[\"R\"]}",
		      "{\"type\":\"key\",\"keys\":[\"r\"],\"count\":1}");
	expect_action("{\"type\":\"keypress\",\"keys\":\"ctrl+a\"}",
		      "{\"type\":\"key\",\"keys\":[\"ctrl+a\"],\"count\":1}");
	expect_action("{\"type\":\"move\",\"x\":0,\"y\":0}", "{\"type\":\"move\",\"x\":0,\"y\":0}");
	expect_action("{\"type\":\"screenshot\",\"unknown\":1}", "{\"type\":\"screenshot\"}");
	expect_action(
	    "{\"type\":\"scroll\",\"x\":1,\"y\":2,\"scroll_x\":-30,\"scroll_y\":400}",
	    "{\"type\":\"scroll\",\"x\":1,\"y\":2,\"dx\":-30,\"dy\":400,\"unit\":\"pixel\"}");
	expect_action("{\"type\":\"type\",\"text\":\"h\\u00e9 \\\"\\n\"}",
		      "{\"type\":\"type\",\"text\":\"hé \\\"\\n\"}");
	expect_action("{\"type\":\"wait\"}", "{\"type\":\"wait\",\"duration_ms\":2000}");
}

static void test_refusals(void **state)
{
	char text[200];

	(void)state;
	expect_action("{\"type\":\"click\",\"button\":\"left\",\"x\":1}", "click: y is missing");
	expect_action("{\"type\":\"click\",\"button\":\"left\",\"x\":null,\"y\":1}",
		      "click: x is missing");
	expect_action("{\"type\":\"click\",\"button\":\"left\",\"x\":\"1\",\"y\":1}",
		      "click: x must be an integer, not a string");
	expect_action("{\"type\":\"click\",\"x\":1e300,\"y\":1}",
		      "click: x must be an integer from -1000000 to 1000000");
	expect_action("{\"type\":\"scroll\",\"x\":1,\"y\":1,\"scroll_x\":0,\"scroll_y\":0}",
		      "scroll: scroll_x and scroll_y are both 0: say how many pixels to scroll, "
		      "scroll_x > 0 to the right, scroll_y > 0 down");
	expect_action("{\"type\":\"drag\"}",
		      "drag: path must be a list of 2 to 256 points {\"x\":…,\"y\":…}");
	expect_action(
	    "{\"type\":\"type\",\"text\":\"\\u0001\"}",
	    "type: text holds the character U+0001, which no key makes; newline and tab are the "
	    "only control characters that can be typed");
	expect_action("{\"type\":\"fly\"}",
		      "unknown action \"fly\"; known are click, double_click, drag, "
		      "keypress, move, screenshot, scroll, type and wait");
	expect_action("{}",
		      "unknown action \"\"; known are click, double_click, drag, keypress, move, "
		      "screenshot, scroll, type and wait");
	expect_action("7", "an action must be an object with a \"type\", not an integer");
	expect_ours("{\"type\":\"computer_call\"}", "the call has no action");
	expect_ours("{\"type\":\"computer_call\",\"actions\":[],\"action\":null}",
		    "the call has no action");
	expect_ours("{\"type\":\"message\"}", "\"message\" is not a call of the computer");
	expect_ours("{\"type\":\"computer_call\",\"actions\":[{\"type\":\"wait\"},{\"type\":"
		    "\"move\",\"x\":1}]}",
		    "action 2 of 2: move: y is missing");
	snprintf(text, sizeof(text), "{\"type\":\"keypress\",\"keys\":[1]}");
	expect_action(text, "key: keys[0] must be a string, not an integer");
}

static void test_batch_max(void **state)
{
	struct th_buf item = TH_BUF_INIT(TH_MIB);

	(void)state;
	for (int n = TH_ACTIONS_MAX; n <= TH_ACTIONS_MAX + 1; n++) {
		th_buf_clear(&item);
		th_buf_add_cstr(&item, "{\"type\":\"computer_call\",\"actions\":[");
		for (int i = 0; i < n; i++)
			th_buf_printf(&item, "%s{\"type\":\"wait\"}", i ? "," : "");
		th_buf_add_cstr(&item, "]}");
		assert_int_equal(decode(item.ptr), n > TH_ACTIONS_MAX ? TH_EPROTO : TH_OK);
		assert_int_equal(count, n > TH_ACTIONS_MAX ? 0 : TH_ACTIONS_MAX);
	}
	th_buf_deinit(&item);
}

static void expect_function(const char *arguments, const char *expected)
{
	struct th_buf item = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&item);

	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("function_call"));
	th_jw_kstr(&w, "name", TH_STR("computer"));
	th_jw_kstr(&w, "arguments", th_str_of(arguments));
	th_jw_object_end(&w);
	expect_ours(item.ptr, expected);
	th_buf_deinit(&item);
}

/* The function for models without a tool: our form, OpenAI's words, and the flat form of others. */
static void test_function(void **state)
{
	static const char click[] =
	    "{\"type\":\"click\",\"x\":1,\"y\":2,\"button\":\"left\",\"count\":1}";

	(void)state;
	expect_function("{\"actions\":[{\"type\":\"click\",\"x\":1,\"y\":2}]}", click);
	expect_function("{\"action\":\"click\",\"x\":1,\"y\":2,\"button\":\"left\"}", click);
	expect_function("{\"action\":{\"type\":\"click\",\"x\":1,\"y\":2}}", click);
	expect_function("{\"type\":\"click\",\"x\":1,\"y\":2}", click);
	/* Words of other functions, which models were trained with. */
	expect_function("{\"action\":\"left_click\",\"coordinate\":[1,2]}", click);
	expect_function(
	    "{\"action\":\"drag\",\"start_x\":1,\"start_y\":2,\"end_x\":3,\"end_y\":4}",
	    "{\"type\":\"drag\",\"path\":[{\"x\":1,\"y\":2},{\"x\":3,\"y\":4}],\"button\":"
	    "\"left\",\"duration_ms\":0}");
	expect_function("{\"action\":\"keypress\",\"keys\":[\"a\"]}",
			"{\"type\":\"key\",\"keys\":[\"a\"],\"count\":1}");
	expect_function(
	    "{\"actions\":[{\"type\":\"mouse_down\"},{\"type\":\"scroll\",\"x\":1,\"y\":1,"
	    "\"scroll_y\":5,\"scroll_x\":0}]}",
	    "{\"type\":\"mouse_down\",\"button\":\"left\"}"
	    ",{\"type\":\"scroll\",\"x\":1,\"y\":1,\"dx\":0,\"dy\":5,\"unit\":\"pixel\"}");
	expect_function("{\"actions\":[]}", "the call has no action");
	expect_function("{\"unfinished",
			"arguments: not JSON: line 1, column 13: unexpected end of data");
	expect_function(
	    "{\"actions\":[{\"type\":\"click\",\"pos\":1}]}",
	    "click: there is no \"pos\" in this action; it has x, y, button, keys, count");
}

/* ---- the inverse ---- */

static enum th_code encode(const char *model, const struct th_action *a, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_buf_clear(out);
	return th_model_action_encode(profile(model), a, &w, &err);
}

static void expect_back(const char *model, const struct th_action *a)
{
	struct th_buf out = TH_BUF_INIT(TH_MIB), item = TH_BUF_INIT(2 * TH_MIB),
		      ours = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&ours);

	assert_int_equal(encode(model, a, &out), TH_OK);
	th_buf_printf(&item, "{\"type\":\"computer_call\",\"action\":%s}", out.ptr);
	th_action_print(a, &w);
	expect_ours(item.ptr, ours.ptr);
	th_buf_deinit(&out);
	th_buf_deinit(&item);
	th_buf_deinit(&ours);
}

static void expect_no_word(const char *model, struct th_action a, const char *why)
{
	struct th_buf out = TH_BUF_INIT(TH_MIB);

	assert_int_equal(encode(model, &a, &out), TH_EUNSUPPORTED);
	assert_non_null(strstr(err.msg, why));
	assert_int_equal(out.len, 0);
	th_buf_deinit(&out);
}

static void test_inverse(void **state)
{
	static const char *const models[] = { "computer-use-preview", "gpt-5.4" };
	struct th_point path[] = { { 1, 2 }, { 3, 4 }, { 0, 0 } };

	(void)state;
	for (size_t m = 0; m < TH_COUNT(models); m++) {
		for (int button = 0; button < TH_BUTTON_COUNT; button++)
			expect_back(models[m],
				    &(struct th_action){ .kind = TH_ACTION_CLICK,
							 .has_at = true,
							 .at = { 7, 0 },
							 .count = 1,
							 .button = (enum th_button)button });
		expect_back(models[m], &(struct th_action){
					   .kind = TH_ACTION_CLICK, .has_at = true, .count = 2 });
		expect_back(models[m],
			    &(struct th_action){ .kind = TH_ACTION_MOVE, .has_at = true });
		expect_back(models[m], &(struct th_action){ .kind = TH_ACTION_SCREENSHOT });
		expect_back(models[m],
			    &(struct th_action){ .kind = TH_ACTION_WAIT, .duration_ms = 2000 });
		expect_back(models[m], &(struct th_action){ .kind = TH_ACTION_TYPE,
							    .text = TH_STR("ü\t\n🌍") });
		expect_back(models[m],
			    &(struct th_action){ .kind = TH_ACTION_KEY,
						 .count = 1,
						 .key_count = 2,
						 .keys = { TH_STR("ctrl"), TH_STR("+") } });
		expect_back(models[m], &(struct th_action){
					   .kind = TH_ACTION_DRAG, .path = path, .path_count = 3 });
		expect_back(models[m], &(struct th_action){ .kind = TH_ACTION_SCROLL,
							    .has_at = true,
							    .dx = -1,
							    .dy = 2,
							    .unit = TH_SCROLL_PIXEL });
	}
	struct th_action held = { .kind = TH_ACTION_CLICK,
				  .has_at = true,
				  .count = 2,
				  .key_count = 1,
				  .keys = { TH_STR("shift") } };

	expect_back("gpt-5.4", &held);
	expect_no_word("computer-use-preview", held, "held");
	held.count = 1;
	expect_back("gpt-5.4", &held);
}

static void test_no_word(void **state)
{
	static const enum th_action_kind kinds[] = {
		TH_ACTION_ZOOM,       TH_ACTION_CURSOR_POSITION, TH_ACTION_CLIPBOARD_GET,
		TH_ACTION_MOUSE_DOWN, TH_ACTION_MOUSE_UP,        TH_ACTION_KEY_DOWN,
		TH_ACTION_KEY_UP,     TH_ACTION_HOLD_KEY,        TH_ACTION_CLIPBOARD_SET,
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(kinds); i++)
		expect_no_word("gpt-5.4", (struct th_action){ .kind = kinds[i] },
			       "not in the vocabulary");
	expect_no_word("gpt-5.4", (struct th_action){ .kind = TH_ACTION_CLICK, .count = 1 },
		       "point");
	expect_no_word("gpt-5.4",
		       (struct th_action){ .kind = TH_ACTION_CLICK, .has_at = true, .count = 3 },
		       "three");
	expect_no_word(
	    "gpt-5.4",
	    (struct th_action){
		.kind = TH_ACTION_CLICK, .has_at = true, .count = 2, .button = TH_BUTTON_RIGHT },
	    "left");
	expect_no_word("gpt-5.4",
		       (struct th_action){ .kind = TH_ACTION_SCROLL, .has_at = true, .dy = 1 },
		       "pixels");
	expect_no_word("gpt-5.4", (struct th_action){ .kind = TH_ACTION_TYPE, .enter = true },
		       "text only");
	expect_no_word("gpt-5.4", (struct th_action){ .kind = TH_ACTION_KEY, .count = 2 }, "once");
	expect_no_word("gpt-5.4", (struct th_action){ .kind = TH_ACTION_WAIT, .duration_ms = 1 },
		       "two seconds");
	expect_no_word("gpt-5.4", (struct th_action){ .kind = TH_ACTION_DRAG, .duration_ms = 1 },
		       "duration");
	expect_no_word("gpt-4", (struct th_action){ .kind = TH_ACTION_WAIT }, "no computer tool");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_vocabulary, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
		cmocka_unit_test_setup_teardown(test_batch_max, setup, teardown),
		cmocka_unit_test_setup_teardown(test_function, setup, teardown),
		cmocka_unit_test_setup_teardown(test_inverse, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_word, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
