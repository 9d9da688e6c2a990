/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "anthropic_messages/messages.h"
#include "base/limits.h"
#include "dialects/actions_anthropic.h"

static const char *const models[] = { "claude-3-5-sonnet-20241022", "claude-sonnet-4-5",
				      "claude-opus-4-6", "claude-5-any" };

static struct th_dialect_context context(const char *model, struct th_size screen)
{
	struct th_dialect_context c = { .screen = screen, .image = screen };
	struct th_str name;

	assert_int_equal(th_model_resolve(th_str_of(model), &c.profile, &name, NULL), TH_OK);
	return c;
}

/* What is read of an input, as text; "error: …" otherwise. */
static void read_input(const struct th_dialect_context *c, const char *input, struct th_buf *out)
{
	struct th_json_doc *doc = NULL;
	struct th_err err = { 0 };
	struct th_jw w;

	th_buf_clear(out);
	w = th_jw(out);
	assert_int_equal(th_json_parse(th_str_of(input), &doc, &err), TH_OK);
	if (th_actions_anthropic_read(c, th_json_root(doc), &w, &err)) {
		assert_int_equal(out->len, 0);
		th_buf_printf(out, "error: %s", err.msg);
	}
	th_json_free(doc);
}

static void test_reads_every_word(void **state)
{
	static const struct {
		const char *input, *is;
	} cases[] = {
		{ "{\"action\":\"left_click\",\"coordinate\":[100,200],\"text\":\"ctrl+shift\"}",
		  "{\"type\":\"click\",\"x\":100,\"y\":200,\"button\":\"left\",\"keys\":[\"ctrl\","
		  "\"shift\"],\"count\":1}" },
		{ "{\"action\":\"right_click\"}",
		  "{\"type\":\"click\",\"button\":\"right\",\"count\":1}" },
		{ "{\"action\":\"middle_click\",\"coordinate\":[0,50]}",
		  "{\"type\":\"click\",\"x\":0,\"y\":50,\"button\":\"middle\",\"count\":1}" },
		{ "{\"action\":\"double_click\",\"coordinate\":[5,6]}",
		  "{\"type\":\"click\",\"x\":5,\"y\":6,\"button\":\"left\",\"count\":2}" },
		{ "{\"action\":\"triple_click\",\"coordinate\":\"[5, 6]\"}",
		  "{\"type\":\"click\",\"x\":5,\"y\":6,\"button\":\"left\",\"count\":3}" },
		{ "{\"action\":\"mouse_move\",\"coordinate\":{\"x\":10,\"y\":20}}",
		  "{\"type\":\"move\",\"x\":10,\"y\":20}" },
		{ "{\"action\":\"left_click_drag\",\"start_coordinate\":[1,2],\"coordinate\":[30,"
		  "40]}",
		  "{\"type\":\"drag\",\"path\":[{\"x\":1,\"y\":2},{\"x\":30,\"y\":40}],\"button\":"
		  "\"left\",\"duration_ms\":0}" },
		{ "{\"action\":\"left_click_drag\",\"coordinate\":[30,40]}",
		  "{\"type\":\"mouse_down\",\"button\":\"left\"},{\"type\":\"move\",\"x\":30,\"y\":"
		  "40},{\"type\":\"mouse_up\",\"button\":\"left\"}" },
		{ "{\"action\":\"left_mouse_down\"}",
		  "{\"type\":\"mouse_down\",\"button\":\"left\"}" },
		{ "{\"action\":\"left_mouse_up\"}", "{\"type\":\"mouse_up\",\"button\":\"left\"}" },
		{ "{\"action\":\"scroll\",\"coordinate\":[300,400],\"scroll_direction\":\"down\","
		  "\"scroll_amount\":5}",
		  "{\"type\":\"scroll\",\"x\":300,\"y\":400,\"dx\":0,\"dy\":5,\"unit\":"
		  "\"notch\"}" },
		{ "{\"action\":\"scroll\",\"scroll_direction\":\"left\",\"scroll_amount\":2,"
		  "\"text\":\"shift\"}",
		  "{\"type\":\"scroll\",\"dx\":-2,\"dy\":0,\"unit\":\"notch\",\"keys\":[\"shift\"]"
		  "}" },
		{ "{\"action\":\"type\",\"text\":\"hi\\n\"}",
		  "{\"type\":\"type\",\"text\":\"hi\\n\"}" },
		{ "{\"action\":\"key\",\"text\":\"ctrl+-\"}",
		  "{\"type\":\"key\",\"keys\":[\"ctrl\",\"-\"],\"count\":1}" },
		{ "{\"action\":\"key\",\"text\":\"ctrl++\",\"repeat\":3}",
		  "{\"type\":\"key\",\"keys\":[\"ctrl\",\"+\"],\"count\":3}" },
		{ "{\"action\":\"key\",\"text\":\"+\"}",
		  "{\"type\":\"key\",\"keys\":[\"+\"],\"count\":1}" },
		{ "{\"action\":\"key\",\"text\":\" \"}",
		  "{\"type\":\"key\",\"keys\":[\"space\"],\"count\":1}" },
		{ "{\"action\":\"key\",\"text\":\"Down  Down Return\"}",
		  "{\"type\":\"key\",\"keys\":[\"Down\"],\"count\":1},{\"type\":\"key\",\"keys\":["
		  "\"Down\"],\"count\":1},{\"type\":\"key\",\"keys\":[\"Return\"],\"count\":1}" },
		{ "{\"action\":\"hold_key\",\"text\":\"shift\",\"duration\":2}",
		  "{\"type\":\"hold_key\",\"keys\":[\"shift\"],\"duration_ms\":2000}" },
		{ "{\"action\":\"wait\",\"duration\":0.5}",
		  "{\"type\":\"wait\",\"duration_ms\":500}" },
		{ "{\"action\":\"zoom\",\"region\":[0,0,100,50]}",
		  "{\"type\":\"zoom\",\"region\":[0,0,100,50]}" },
		{ "{\"action\":\"screenshot\"}", "{\"type\":\"screenshot\"}" },
		{ "{\"action\":\"cursor_position\"}", "{\"type\":\"cursor_position\"}" },
		{ "{\"actions\":[{\"action\":\"screenshot\"},{\"action\":\"click\",\"coordinate\":"
		  "[1,2]}]}",
		  "{\"type\":\"screenshot\"},{\"type\":\"click\",\"x\":1,\"y\":2,\"button\":"
		  "\"left\",\"count\":1}" },
	};
	struct th_dialect_context c = context(models[0], (struct th_size){ 1024, 768 });
	struct th_buf out = TH_BUF_INIT(TH_MIB);

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		read_input(&c, cases[i].input, &out);
		assert_string_equal(out.ptr, cases[i].is);
	}
	th_buf_deinit(&out);
}

static void test_refuses_with_a_sentence(void **state)
{
	static const struct {
		const char *input, *has;
	} cases[] = {
		{ "[]", "an object with an \"action\"" },
		{ "{\"action\":\"fly\"}", "unknown action \"fly\"; known are left_click" },
		{ "{\"action\":\"mouse_move\"}", "mouse_move: coordinate is missing" },
		{ "{\"action\":\"left_click\",\"coordinate\":[1]}", "coordinate must be [x, y]" },
		{ "{\"action\":\"left_click\",\"coordinate\":[2000,20]}", "outside the screen" },
		{ "{\"action\":\"left_click_drag\",\"start_coordinate\":[1,2]}",
		  "end_coordinate must be [x, y]" },
		{ "{\"action\":\"scroll\",\"scroll_direction\":\"sideways\",\"scroll_amount\":1}",
		  "up, down, left or right" },
		{ "{\"action\":\"scroll\",\"scroll_direction\":\"up\",\"scroll_amount\":0}",
		  "scroll_amount must be 1 to 10000" },
		{ "{\"action\":\"scroll\",\"scroll_direction\":\"up\",\"scroll_amount\":10001}",
		  "scroll_amount must be 1 to 10000" },
		{ "{\"action\":\"type\"}", "text must be a string" },
		{ "{\"action\":\"key\",\"text\":\"\"}", "must name a key" },
		{ "{\"action\":\"key\",\"text\":\"a\",\"repeat\":101}", "repeat must be 1 to 100" },
		{ "{\"action\":\"key\",\"text\":\"1+2+3+4+5+6+7+8+9\"}", "more than 8 keys" },
		{ "{\"action\":\"wait\",\"duration\":60.1}", "duration must be 0 to 60" },
		{ "{\"action\":\"zoom\",\"region\":[10,0,10,50]}", "x0 < x1" },
		{ "{\"action\":\"zoom\",\"region\":[0,0,1025,50]}", "beyond the screen" },
		{ "{\"actions\":[]}", "a list of 1 to 64" },
		{ "{\"actions\":[{\"action\":\"screenshot\"},{\"action\":\"fly\"}]}",
		  "action 2 of 2: unknown" },
	};
	struct th_dialect_context c = context(models[0], (struct th_size){ 1024, 768 });
	struct th_buf out = TH_BUF_INIT(TH_MIB);

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		read_input(&c, cases[i].input, &out);
		if (!strstr(out.ptr, cases[i].has))
			fail_msg("%s: %s", cases[i].input, out.ptr);
	}
	/* The edges themselves are taken. */
	read_input(&c, "{\"action\":\"key\",\"text\":\"1+2+3+4+5+6+7+8\",\"repeat\":100}", &out);
	assert_null(strstr(out.ptr, "error"));
	read_input(&c, "{\"action\":\"wait\",\"duration\":60}", &out);
	assert_string_equal(out.ptr, "{\"type\":\"wait\",\"duration_ms\":60000}");
	read_input(&c,
		   "{\"action\":\"scroll\",\"scroll_direction\":\"up\",\"scroll_amount\":10000}",
		   &out);
	assert_null(strstr(out.ptr, "error"));
	th_buf_deinit(&out);
}

static void repeat(struct th_buf *out, const char *head, const char *one, size_t count,
		   const char *tail)
{
	th_buf_clear(out);
	th_buf_add_cstr(out, head);
	for (size_t i = 0; i < count; i++) {
		if (i && tail[0] == ']')
			th_buf_add_char(out, ',');
		th_buf_add_cstr(out, one);
	}
	th_buf_add_cstr(out, tail);
}

static void test_batches_have_a_maximum(void **state)
{
	struct th_dialect_context c = context(models[0], (struct th_size){ 1024, 768 });
	struct th_buf out = TH_BUF_INIT(TH_MIB), input = TH_BUF_INIT(TH_MIB);

	(void)state;
	repeat(&input, "{\"actions\":[", "{\"action\":\"screenshot\"}", TH_ACTIONS_MAX, "]}");
	read_input(&c, input.ptr, &out);
	assert_null(strstr(out.ptr, "error"));
	repeat(&input, "{\"actions\":[", "{\"action\":\"screenshot\"}", TH_ACTIONS_MAX + 1, "]}");
	read_input(&c, input.ptr, &out);
	assert_non_null(strstr(out.ptr, "error"));
	repeat(&input, "{\"action\":\"key\",\"text\":\"", "a ", TH_ACTIONS_MAX, "\"}");
	read_input(&c, input.ptr, &out);
	assert_null(strstr(out.ptr, "error"));
	repeat(&input, "{\"action\":\"key\",\"text\":\"", "a ", TH_ACTIONS_MAX + 1, "\"}");
	read_input(&c, input.ptr, &out);
	assert_non_null(strstr(out.ptr, "more than 64 keys in a row"));
	th_buf_deinit(&out);
	th_buf_deinit(&input);
}

/* Pictures are sent smaller than the screen; the model's pixels are theirs. */
static void test_scales_points(void **state)
{
	struct th_dialect_context c = context("claude-sonnet-4-5", (struct th_size){ 2560, 1600 });
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	struct th_json_doc *doc = NULL;
	struct th_action a = { .kind = TH_ACTION_MOVE, .has_at = true, .at = { 2500, 1500 } };
	struct th_jw w;

	(void)state;
	c.image = th_image_size(c.profile, c.screen);
	assert_int_equal(c.image.width, 1024);
	assert_int_equal(c.image.height, 640);
	read_input(&c, "{\"action\":\"left_click\",\"coordinate\":[1000,600]}", &out);
	assert_string_equal(
	    out.ptr, "{\"type\":\"click\",\"x\":2500,\"y\":1500,\"button\":\"left\",\"count\":1}");
	read_input(&c, "{\"action\":\"left_click\",\"coordinate\":[1025,600]}", &out);
	assert_non_null(strstr(out.ptr, "x must be 0 to 1024"));
	read_input(&c, "{\"action\":\"zoom\",\"region\":[0,0,1024,640]}", &out);
	assert_string_equal(out.ptr, "{\"type\":\"zoom\",\"region\":[0,0,2560,1600]}");
	th_buf_clear(&out);
	w = th_jw(&out);
	assert_int_equal(th_actions_anthropic_write(&c, &a, &w, NULL), TH_OK);
	assert_string_equal(out.ptr, "{\"action\":\"mouse_move\",\"coordinate\":[1000,600]}");
	th_json_free(doc);
	th_buf_deinit(&out);
}

/* ---- decode(encode(x)) == x ---- */

static uint64_t seed = 0x9e3779b97f4a7c15ull;

static int32_t random_below(int32_t max)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (int32_t)((seed >> 33) % (uint64_t)max);
}

static struct th_point random_point(struct th_size s)
{
	return (struct th_point){ random_below(s.width), random_below(s.height) };
}

static void random_keys(struct th_action *a, int32_t max)
{
	static const char *const keys[] = { "ctrl", "shift", "+",  "-",         "Return", "a",
					    "alt",  "super", "F5", "Page_Down", "é",      "A" };

	a->key_count = (size_t)random_below(max + 1);
	for (size_t i = 0; i < a->key_count; i++)
		a->keys[i] = th_str_of(keys[random_below((int32_t)TH_COUNT(keys))]);
}

static struct th_action random_action(struct th_size s, struct th_point path[3])
{
	struct th_action a = { .kind = (enum th_action_kind)random_below(TH_ACTION_COUNT) };

	a.has_at = random_below(2);
	if (a.has_at || a.kind == TH_ACTION_MOVE) {
		a.at = random_point(s);
		a.has_at = true;
	}
	a.button = (enum th_button)random_below(TH_BUTTON_COUNT);
	a.count = 1 + random_below(3);
	random_keys(&a, 3);
	for (size_t i = 0; i < 3; i++)
		path[i] = random_point(s);
	a.path = path;
	a.path_count = (size_t)(2 + random_below(2));
	a.duration_ms = random_below(3) * 250;
	a.dx = random_below(3) - 1;
	a.dy = random_below(21) - 10;
	a.unit = (enum th_scroll_unit)random_below(TH_SCROLL_UNIT_COUNT);
	a.text = th_str_of(random_below(2) ? "Grüße\n\"x\"\\ \t" : " ");
	a.clear = random_below(4) == 0;
	a.enter = random_below(4) == 0;
	a.region.x = random_below(s.width);
	a.region.y = random_below(s.height);
	a.region.width = 1 + random_below(s.width - a.region.x);
	a.region.height = 1 + random_below(s.height - a.region.y);
	return a;
}

/* As the one form that every dialect shares has it, with its defaults said; false: not an action.
 */
static bool canonical(const struct th_action *action, struct th_buf *out, struct th_arena *arena,
		      struct th_action *ret)
{
	struct th_json_doc *doc = NULL;
	struct th_jw w;
	bool good;

	th_buf_clear(out);
	w = th_jw(out);
	th_action_print(action, &w);
	assert_int_equal(th_json_parse(th_buf_str(out), &doc, NULL), TH_OK);
	good = !th_action_parse(th_json_root(doc), arena, ret, NULL);
	th_json_free(doc);
	if (good && (ret->kind == TH_ACTION_WAIT || ret->kind == TH_ACTION_HOLD_KEY))
		ret->duration_ms = th_action_duration(ret);
	th_buf_clear(out);
	w = th_jw(out);
	if (good)
		th_action_print(ret, &w);
	return good;
}

static void round_trips(const char *model, struct th_size screen, size_t *ret_said)
{
	struct th_dialect_context c = context(model, screen);
	struct th_buf expected = TH_BUF_INIT(TH_MIB), input = TH_BUF_INIT(TH_MIB),
		      found = TH_BUF_INIT(TH_MIB);
	struct th_arena arena;

	th_arena_init(&arena, TH_MIB);
	for (int i = 0; i < 4000; i++) {
		struct th_point path[3];
		struct th_action made = random_action(screen, path), a;
		struct th_err err = { 0 };
		struct th_jw w;

		th_arena_reset(&arena);
		if (!canonical(&made, &expected, &arena, &a))
			continue;
		th_buf_clear(&input);
		w = th_jw(&input);
		if (th_actions_anthropic_write(&c, &a, &w, &err)) {
			assert_int_equal(err.code, TH_EUNSUPPORTED);
			assert_int_equal(input.len, 0);
			continue;
		}
		read_input(&c, input.ptr, &found);
		if (strcmp(found.ptr, expected.ptr) != 0)
			fail_msg("%s: %s became %s, which is read as %s", model, expected.ptr,
				 input.ptr, found.ptr);
		ret_said[a.kind]++;
	}
	th_arena_deinit(&arena);
	th_buf_deinit(&expected);
	th_buf_deinit(&input);
	th_buf_deinit(&found);
}

static void test_decode_is_the_inverse_of_encode(void **state)
{
	static const struct th_size screens[] = { { 1024, 768 }, { 1, 1 }, { 641, 1366 } };

	(void)state;
	for (size_t m = 0; m < TH_COUNT(models); m++) {
		size_t said[TH_ACTION_COUNT] = { 0 };

		for (size_t s = 0; s < TH_COUNT(screens); s++)
			round_trips(models[m], screens[s], said);
		/* Each generation has its words, and no more. */
		assert_true(said[TH_ACTION_CLICK] > 0 && said[TH_ACTION_DRAG] > 0);
		assert_int_equal(said[TH_ACTION_SCROLL] > 0, m >= 1);
		assert_int_equal(said[TH_ACTION_HOLD_KEY] > 0, m >= 1);
		assert_int_equal(said[TH_ACTION_ZOOM] > 0, m >= 2);
		assert_int_equal(said[TH_ACTION_CLIPBOARD_GET], 0);
	}
}

/* ---- items ---- */

static void test_calls_become_computer_calls(void **state)
{
	struct th_dialect_context c = context("claude-sonnet-4-5", (struct th_size){ 1024, 768 });
	struct th_buf out = TH_BUF_INIT(TH_MIB), back = TH_BUF_INIT(TH_MIB);
	struct th_str items = TH_STR(
	    "[{\"type\":\"message\",\"role\":\"assistant\",\"content\":[]},"
	    "{\"type\":\"function_call\",\"call_id\":\"t1\",\"name\":\"computer\",\"arguments\":"
	    "\"{\\\"action\\\":\\\"left_click\\\",\\\"coordinate\\\":[1,2]}\",\"status\":"
	    "\"incomplete\"},"
	    "{\"type\":\"function_call\",\"call_id\":\"t2\",\"name\":\"computer\",\"arguments\":"
	    "\"{bad\"},"
	    "{\"type\":\"function_call\",\"call_id\":\"t3\",\"name\":\"other\",\"arguments\":\"{}"
	    "\"}]");

	(void)state;
	assert_int_equal(c.profile->dialect->decode(&c, items, &out, NULL), TH_OK);
	assert_non_null(
	    strstr(out.ptr, "[{\"type\":\"message\",\"role\":\"assistant\",\"content\":[]},"
			    "{\"type\":\"computer_call\",\"call_id\":\"t1\",\"name\":\"computer\","
			    "\"actions\":[{\"type\":\"click\",\"x\":1,\"y\":2,\"button\":\"left\","
			    "\"count\":1}],\"status\":\"incomplete\"},"
			    "{\"type\":\"computer_call\",\"call_id\":\"t2\",\"name\":\"computer\","
			    "\"actions\":[],\"error\":\"the input: "));
	assert_non_null(strstr(out.ptr, "\"input\":\"{bad\",\"status\":\"completed\"},"
					"{\"type\":\"function_call\",\"call_id\":\"t3\","));
	/* And back; what could not be read has no words. */
	items = TH_STR("[{\"type\":\"computer_call\",\"call_id\":\"t1\",\"actions\":[{\"type\":"
		       "\"click\",\"x\":1,\"y\":2,\"button\":\"left\"}]}]");
	assert_int_equal(c.profile->dialect->encode(&c, items, &back, NULL), TH_OK);
	assert_string_equal(
	    back.ptr, "[{\"type\":\"function_call\",\"call_id\":\"t1\",\"name\":\"computer\","
		      "\"arguments\":\"{\\\"action\\\":\\\"left_click\\\",\\\"coordinate\\\":[1,"
		      "2]}\"}]");
	th_buf_deinit(&out);
	th_buf_deinit(&back);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_every_word),
		cmocka_unit_test(test_refuses_with_a_sentence),
		cmocka_unit_test(test_batches_have_a_maximum),
		cmocka_unit_test(test_scales_points),
		cmocka_unit_test(test_decode_is_the_inverse_of_encode),
		cmocka_unit_test(test_calls_become_computer_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
