/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode(encode(x)) == x for every dialect and action: or the encoder says that
 * the model has no word for it.  And what the samples of tests/conformance do not say.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "actions/keys.h"
#include "dialects/call.h"
#include "dialects/elements.h"
#include "dialects/list.h"
#include "dialects/say.h"
#include "dialects/space.h"

static struct th_arena arena;
static uint64_t seed = 1;

static uint64_t draw(uint64_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % below;
}

/* ---- profiles ---- */

#define NORM(n)                                   \
	{                                         \
		.kind = TH_SPACE_NORM, .max = (n) \
	}
#define SMART(f)                                                                                  \
	{                                                                                         \
		.kind = TH_SPACE_SMART, .factor = 28, .pixels_min = 3136, .pixels_max = 12845056, \
		.floor = (f)                                                                      \
	}

static const struct th_profile profiles[] = {
	{ .name = "json", .dialect = &th_dialect_json },
	{ .name = "json_qwen", .dialect = &th_dialect_json_qwen, .space = NORM(1000) },
	{ .name = "json_anthropic", .dialect = &th_dialect_json_anthropic },
	{ .name = "uitars", .dialect = &th_dialect_uitars, .space = NORM(1000) },
	{ .name = "uitars15", .dialect = &th_dialect_uitars15, .space = SMART(false) },
	{ .name = "uitars2", .dialect = &th_dialect_uitars2, .space = NORM(1000) },
	{ .name = "qwen", .dialect = &th_dialect_qwen, .space = NORM(1000) },
	{ .name = "qwen25", .dialect = &th_dialect_qwen, .space = SMART(false) },
	{ .name = "qwen35", .dialect = &th_dialect_qwen35, .space = NORM(1000) },
	{ .name = "fara", .dialect = &th_dialect_fara, .space = SMART(false) },
	{ .name = "glm",
	  .dialect = &th_dialect_glm,
	  .space = { .kind = TH_SPACE_NORM, .max = 999, .floor = true } },
	{ .name = "opencua", .dialect = &th_dialect_opencua, .space = SMART(false) },
	{ .name = "yutori", .dialect = &th_dialect_yutori, .space = NORM(1000) },
	{ .name = "points", .dialect = &th_dialect_points, .space = SMART(true) },
	{ .name = "holo", .dialect = &th_dialect_holo, .space = SMART(false) },
	{ .name = "internvl", .dialect = &th_dialect_internvl, .space = NORM(1000) },
	{ .name = "uiins", .dialect = &th_dialect_uiins, .space = SMART(true) },
	{ .name = "moondream", .dialect = &th_dialect_fractions, .space = NORM(1) },
	{ .name = "descriptions", .dialect = &th_dialect_descriptions },
};

static const struct th_profile *profile(const char *name)
{
	for (size_t i = 0; i < TH_COUNT(profiles); i++)
		if (!strcmp(profiles[i].name, name))
			return &profiles[i];
	fail_msg("no profile %s", name);
	return NULL;
}

static struct th_dialect_context context(const struct th_profile *p, struct th_size screen)
{
	return (struct th_dialect_context){
		.profile = p, .screen = screen, .image = screen, .turn = 3
	};
}

/* ---- drawing actions ---- */

static struct th_point draw_point(const struct th_dialect_context *c)
{
	struct th_point p = { (int32_t)draw((uint64_t)c->screen.width),
			      (int32_t)draw((uint64_t)c->screen.height) };
	struct th_space_point at = th_space_of_screen(&c->profile->space, c->image, c->screen, p);
	struct th_err err;

	/* A point that the model can say. */
	assert_int_equal(
	    th_space_to_screen(&c->profile->space, c->image, c->screen, at.x, at.y, &p, &err),
	    TH_OK);
	return p;
}

static void draw_keys(struct th_action *a, bool modifiers)
{
	static const char *const keys[] = { "ctrl", "shift", "alt", "a",       "F5", "+",
					    "-",    "Enter", "?",   "Page_Up", "\'", "\\" };

	size_t n = modifiers ? 3 : TH_COUNT(keys), first = draw(n);

	a->key_count = 1 + draw(3);
	for (size_t i = 0; i < a->key_count; i++) /* each once */
		a->keys[i] = th_str_of(keys[(first + i) % n]);
}

static struct th_str draw_text(void)
{
	static const char *const pieces[] = {
		"it's",    "\"", "\\",       "\n",      "\t",  "\\n",     "')",
		"Action:", "é",  "<x>",      "{",       "}",   "中",      "print('a')",
		"```",     "#",  "</point>", ", b",     "='",  "Memory:", "]",
		"(1, 2)",  " ",  "a",        "\\u0041", "'''", "12345"
	};
	struct th_buf text = TH_BUF_INIT(TH_KIB);
	struct th_str copy;
	size_t n = 1 + draw(6);

	for (size_t i = 0; i < n; i++)
		th_buf_add_cstr(&text, pieces[draw(TH_COUNT(pieces))]);
	copy = th_arena_str(&arena, th_buf_str(&text));
	th_buf_deinit(&text);
	return copy;
}

static int32_t some(const int32_t *values, size_t count)
{
	return values[draw(count)];
}

static struct th_action draw_action(const struct th_dialect_context *c, enum th_action_kind kind)
{
	static const int32_t times[] = { 0, 0, 1000, 1500, 5000, 60000, 1 };
	static const int32_t amounts[] = { 5, -5, 3, -1, 300, -700, 10000 };
	struct th_action a = { .kind = kind };
	bool drag = kind == TH_ACTION_DRAG, click = kind == TH_ACTION_CLICK;
	bool press = kind == TH_ACTION_MOUSE_DOWN || kind == TH_ACTION_MOUSE_UP;

	if (click || press || kind == TH_ACTION_MOVE || kind == TH_ACTION_SCROLL ||
	    kind == TH_ACTION_TYPE) {
		a.has_at = kind == TH_ACTION_MOVE || draw(3);
		if (a.has_at)
			a.at = draw_point(c);
	}
	if (click || press || drag)
		a.button = draw(2) ? TH_BUTTON_LEFT : (enum th_button)draw(TH_BUTTON_COUNT);
	if (click)
		a.count = 1 + (int32_t)draw(3);
	if (kind == TH_ACTION_KEY)
		a.count = draw(2) ? 1 : 1 + (int32_t)draw(TH_KEY_REPEAT_MAX);
	if (kind == TH_ACTION_KEY || kind == TH_ACTION_KEY_DOWN || kind == TH_ACTION_KEY_UP ||
	    kind == TH_ACTION_HOLD_KEY)
		draw_keys(&a, kind != TH_ACTION_KEY);
	else if ((click || drag || kind == TH_ACTION_SCROLL || kind == TH_ACTION_MOVE) && !draw(4))
		draw_keys(&a, true);
	if (drag) {
		a.path_count = draw(3) ? 2 : 3;
		a.path = th_arena_array(&arena, a.path_count, sizeof(*a.path));
		for (size_t i = 0; i < a.path_count; i++)
			a.path[i] = draw_point(c);
		a.duration_ms = draw(2) ? 0 : 400;
	}
	if (kind == TH_ACTION_SCROLL) {
		a.unit = (enum th_scroll_unit)draw(TH_SCROLL_UNIT_COUNT);
		*(draw(2) ? &a.dx : &a.dy) = some(amounts, TH_COUNT(amounts));
	}
	if (kind == TH_ACTION_WAIT || kind == TH_ACTION_HOLD_KEY)
		a.duration_ms = some(times, TH_COUNT(times));
	if (kind == TH_ACTION_TYPE || kind == TH_ACTION_CLIPBOARD_SET)
		a.text = draw_text();
	if (kind == TH_ACTION_TYPE) {
		a.enter = !draw(3);
		a.clear = !draw(4);
	}
	if (kind == TH_ACTION_ZOOM) {
		a.region.x = (int32_t)draw((uint64_t)c->screen.width);
		a.region.y = (int32_t)draw((uint64_t)c->screen.height);
		a.region.width = 1 + (int32_t)draw((uint64_t)(c->screen.width - a.region.x));
		a.region.height = 1 + (int32_t)draw((uint64_t)(c->screen.height - a.region.y));
	}
	return a;
}

/* ---- there and back ---- */

static void put_items(const struct th_action *a, size_t count, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_buf_add_cstr(out,
			"[{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"I see "
			"it.\"},{\"type\":\"computer_call\",\"call_id\":\"call_1\",\"actions\":[");
	for (size_t i = 0; i < count; i++)
		th_action_print(&a[i], &w);
	th_buf_add_cstr(out, "]}]");
}

/* Text and Enter after it is text with a newline at its end; the word is the same otherwise. */
static void plain(struct th_action *a)
{
	if (a->kind != TH_ACTION_TYPE || !a->enter)
		return;
	a->text = th_arena_printf(&arena, "%.*s\n", TH_FMT(a->text));
	a->enter = false;
}

static void print_plain(const struct th_action *action, struct th_buf *out)
{
	struct th_action a = *action;
	struct th_jw w = th_jw(out);
	struct th_chord chord;

	plain(&a);
	if (a.key_count && !th_keys_chord(a.keys, a.key_count, &chord, NULL)) {
		for (size_t i = 0; i < chord.count; i++)
			th_buf_printf(out, "%x ", (unsigned)chord.keysyms[i]);
		a.key_count = 0;
	}
	th_action_print(&a, &w);
}

static size_t actions_of(struct th_str items, struct th_buf *out)
{
	struct th_json_doc *doc;
	struct th_json_iter it;
	size_t total = 0;
	struct th_err err;

	if (th_json_parse(items, &doc, &err))
		fail_msg("%s: %.*s", err.msg, TH_FMT(items));
	it = th_json_iter(th_json_root(doc));
	while (th_json_next(&it)) {
		struct th_action *actions;
		size_t count;

		if (!th_item_is(it.val, "computer_call"))
			continue;
		if (th_json_get_str(it.val, "error").len) {
			th_buf_add(out, th_json_get_str(it.val, "error"));
			continue;
		}
		if (th_item_actions(it.val, &arena, &actions, &count, &err))
			fail_msg("%s", err.msg);
		for (size_t i = 0; i < count; i++)
			print_plain(&actions[i], out);
		total += count;
	}
	th_json_free(doc);
	return total;
}

/* True when the model has words for them. */
static bool there_and_back(const struct th_dialect_context *c, const struct th_action *a,
			   size_t count)
{
	struct th_buf items = TH_BUF_INIT(TH_MIB), said = TH_BUF_INIT(TH_MIB);
	struct th_buf back = TH_BUF_INIT(TH_MIB), before = TH_BUF_INIT(TH_MIB);
	struct th_buf after = TH_BUF_INIT(TH_MIB);
	struct th_err err = { 0 };
	enum th_code code;

	put_items(a, count, &items);
	code = c->profile->dialect->encode(c, th_buf_str(&items), &said, &err);
	if (code && code != TH_EUNSUPPORTED)
		fail_msg("%s: %s: %s", c->profile->name, items.ptr, err.msg);
	if (!code) {
		if (c->profile->dialect->decode(c, th_buf_str(&said), &back, &err))
			fail_msg("%s: %s", c->profile->name, err.msg);
		for (size_t i = 0; i < count; i++)
			print_plain(&a[i], &before);
		actions_of(th_buf_str(&back), &after);
		if (!th_str_eq(th_buf_str(&before), th_buf_str(&after)))
			fail_msg("%s at %dx%d:\n  was  %s\n  said %s\n  is   %s", c->profile->name,
				 c->screen.width, c->screen.height, before.ptr, said.ptr,
				 after.ptr);
	}
	th_buf_deinit(&items);
	th_buf_deinit(&said);
	th_buf_deinit(&back);
	th_buf_deinit(&before);
	th_buf_deinit(&after);
	return !code;
}

static void test_there_and_back(void **state)
{
	static const struct th_size screens[] = {
		{ 1920, 1080 }, { 1021, 767 }, { 1080, 1920 }, { 3840, 2160 }, { 1, 1 }
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(profiles); i++) {
		size_t said[TH_ACTION_COUNT] = { 0 };

		for (size_t n = 0; n < 2500; n++) {
			struct th_dialect_context c =
			    context(&profiles[i], screens[n % TH_COUNT(screens)]);
			enum th_action_kind kind = (enum th_action_kind)(n % TH_ACTION_COUNT);
			struct th_action a = draw_action(&c, kind);

			said[kind] += there_and_back(&c, &a, 1);
			th_arena_reset(&arena);
		}
		/* A dialect that says nothing would pass. */
		if (profiles[i].dialect != &th_dialect_descriptions)
			assert_true(said[TH_ACTION_CLICK] > 3);
		if (profiles[i].dialect->tools || profiles[i].dialect == &th_dialect_qwen ||
		    profiles[i].dialect == &th_dialect_glm)
			assert_true(said[TH_ACTION_TYPE] > 10 && said[TH_ACTION_KEY] > 10);
	}
}

static void test_batches(void **state)
{
	static const char *const names[] = { "json", "uitars", "uitars15", "uitars2",
					     "qwen", "qwen35", "fara",     "opencua" };

	(void)state;
	for (size_t i = 0; i < TH_COUNT(names); i++) {
		size_t said = 0;

		for (size_t n = 0; n < 3000; n++) {
			struct th_dialect_context c =
			    context(profile(names[i]), (struct th_size){ 1366, 768 });
			static const enum th_action_kind kinds[] = { TH_ACTION_CLICK,
								     TH_ACTION_TYPE, TH_ACTION_KEY,
								     TH_ACTION_MOVE,
								     TH_ACTION_DRAG };
			struct th_action a[3];

			for (size_t k = 0; k < TH_COUNT(a); k++)
				a[k] = draw_action(&c, kinds[draw(TH_COUNT(kinds))]);
			said += there_and_back(&c, a, TH_COUNT(a));
			th_arena_reset(&arena);
		}
		if (said < 10)
			fail_msg("%s says only %zu batches", names[i], said);
	}
}

/* ---- what is read ---- */

static void put_message(struct th_str text, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_buf_add_cstr(out, "[{\"type\":\"message\",\"content\":");
	th_jw_str(&w, text);
	th_buf_add_cstr(out, "}]");
}

/* The items of a text, as their text. */
static const char *read_text(const char *name, const char *text)
{
	struct th_dialect_context c = context(profile(name), (struct th_size){ 1000, 1000 });
	struct th_buf items = TH_BUF_INIT(TH_MIB), out = TH_BUF_INIT(TH_MIB);
	struct th_str copy;
	struct th_err err;

	put_message(th_str_of(text), &items);
	assert_int_equal(c.profile->dialect->decode(&c, th_buf_str(&items), &out, &err), TH_OK);
	copy = th_arena_str(&arena, th_buf_str(&out));
	th_buf_deinit(&items);
	th_buf_deinit(&out);
	return th_arena_cstr(&arena, copy);
}

static void has(const char *items, const char *what)
{
	if (!strstr(items, what))
		fail_msg("%s is not in %s", what, items);
}

static void has_not(const char *items, const char *what)
{
	if (strstr(items, what))
		fail_msg("%s is in %s", what, items);
}

static void test_uitars(void **state)
{
	const char *s;

	(void)state;
	s = read_text("uitars",
		      "Thought: a\nAction: click(start_box='(1,2)')\n\ntype(content='x')");
	has(s, "{\"type\":\"click\",\"x\":1,\"y\":2,\"button\":\"left\",\"count\":1},{\"type\":"
	       "\"type\"");
	/* Nothing behind what cannot be read is done, and none of it is lost. */
	s = read_text("uitars", "Action: click(start_box='(1,2)')\nfly(to='x')\ntype(content='y')");
	has(s, "\"type\":\"click\"");
	has(s, "\"error\":\"there is no action fly()\"");
	has(s, "\"input\":\"fly(to='x')\\ntype(content='y')\"");
	has_not(s, "\"type\":\"type\"");
	has(read_text("uitars", "Action: hotkey(key='ctrl+shift+t')"),
	    "[\"ctrl\",\"shift\",\"t\"]");
	has(read_text("uitars", "Action: press(key='shift')"), "\"type\":\"key_down\"");
	has(read_text("uitars", "Action: press(key='enter')"), "\"type\":\"key\"");
	has(read_text("uitars", "Thought: I am lost"), "\"error\":");
	has(read_text("qwen", "<tool_call>{\"name\": \"computer_use\", \"arguments\": "
			      "{\"action\": \"scroll\", \"pixels\": \"far\"}}</tool_call>"),
	    "pixels must be a number, not a string");
	has(read_text("qwen", "<tool_call>{\"name\": \"computer_use\", \"arguments\": "
			      "{\"action\": \"wait\", \"time\": \"long\"}}</tool_call>"),
	    "time must be a number, not a string");
	has(read_text("uitars", "Just saying hello"), "\"text\":\"Just saying hello\"");
	has(read_text("uitars", "Action: call_user()"), "\"outcome\":\"needs_user\"");
	has(read_text("uitars", "Action：click(start_box='<bbox>0 0 10 20</bbox>')"),
	    "\"x\":5,\"y\":10");
	has(read_text("uitars", "Action: click(start_box='(1001,2)')"),
	    "is outside the screen: x must be 0 to 1000 and y 0 to 1000");
	has(read_text("uitars", "Action: click(start_box='__import__(\"os\").system(\"id\")')"),
	    "must be two numbers");
	has(read_text("uitars", "Thought: x\nAction: type(content='cut of"), "no closing quote");
	/* It goes on without having looked. */
	s = read_text("uitars", "Action: wait()\nThought: now it is there\nAction: wait()");
	has_not(s, "now it is there");
}

static void test_others(void **state)
{
	const char *s;

	(void)state;
	s = read_text("qwen",
		      "<tool_call>\n{\"name\": \"computer_use\", \"arguments\": {\"action\": "
		      "\"type\", \"text\": \"</tool_call>\nb\"}}\n</tool_call>");
	has(s, "\"text\":\"</tool_call>\\nb\"");
	has(read_text("qwen",
		      "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call>"),
	    "\"type\":\"function_call\",\"call_id\":\"call_3_0\",\"name\":\"f\",\"arguments\":\"{"
	    "\\\"a\\\": "
	    "1}\"");
	has(read_text("qwen", "<tool_call>{\"name\": \"computer_use\", \"argu"), "\"error\":");
	/* From where the pointer is. */
	s = read_text("qwen", "<tool_call>{\"name\":\"computer_use\",\"arguments\":{\"action\":"
			      "\"left_click_drag\",\"coordinate\":[5,6]}}</tool_call>");
	has(s,
	    "{\"type\":\"mouse_down\",\"button\":\"left\"},{\"type\":\"move\",\"x\":5,\"y\":6},");
	has(s, "{\"type\":\"mouse_up\",\"button\":\"left\"}");
	has(read_text("qwen", "<tool_call>{\"name\":\"computer_use\",\"arguments\":{\"action\":"
			      "\"terminate\",\"status\":\"failure\"}}</tool_call>"),
	    "\"outcome\":\"failed\"");
	has(read_text("fara", "I did it.<tool_call>{\"name\":\"computer_use\",\"arguments\":{"
			      "\"action\":\"terminate\",\"status\":\"success\"}}</tool_call>"),
	    "\"text\":\"I did it.\",\"annotations\":[]}],\"status\":\"completed\",\"outcome\":"
	    "\"completed\"");
	has(read_text("fara", "<tool_call>{\"name\":\"computer_use\",\"arguments\":{\"action\":"
			      "\"pause_and_memorize_fact\",\"fact\":\"f\"}}</tool_call>"),
	    "\"name\":\"remember\",\"arguments\":\"{\\\"fact\\\":\\\"f\\\"}\"");
	s = read_text("opencua",
		      "## Code:\n```python\nimport pyautogui\n# go\npyautogui.moveTo(100, "
		      "200)\npyautogui.dragTo(300, 200, duration=0.5)\n"
		      "pyautogui.press(['down', 'enter'], presses=2)\n```");
	has(s, "\"type\":\"drag\"");
	has(s, "\"duration_ms\":500");
	has(s, "\"keys\":[\"down\"],\"count\":2");
	has(s, "\"keys\":[\"enter\"],\"count\":2");
	s = read_text("opencua",
		      "```python\npyautogui.click(1, 2)\nfor i in range(3):\n  x()\n```");
	has(s, "\"type\":\"click\"");
	has(s, "\"error\":");
	has(read_text("glm", "<|begin_of_box|>FAIL()<|end_of_box|>"), "\"outcome\":\"failed\"");
	has(read_text("glm", "x\n<|begin_of_box|>WAIT()<|end_of_box|>\nMemory:\n[\"a\"]"),
	    "\"text\":\"[\\\"a\\\"]\"");
	has(read_text("uitars2",
		      "<gui_think>t</gui_think><seed:tool_call><function=type><parameter="
		      "content>a</parameter>"),
	    "does not end");
	/* The escapes of a Python string, whether the model writes them or not. */
	has(read_text("uitars2", "<seed:tool_call><function=type><parameter=content>a\\tb\\n"
				 "</parameter></function></seed:tool_call>"),
	    "\"text\":\"a\\tb\\n\"");
	has(read_text("uitars2", "<seed:tool_call><function=type><parameter=content>it\\'s \\\"c:"
				 "\\\\d\\q\n</parameter></function></seed:tool_call>"),
	    "\"text\":\"it's \\\"c:\\\\d\\\\q\\n\"");
	has(read_text("uitars2", "<seed:tool_call><function=finished><parameter=content>a\\nb"
				 "</parameter></function></seed:tool_call>"),
	    "\"text\":\"a\\nb\"");
	/* An agent's own tool gets what was written. */
	has(read_text("uitars2", "<seed:tool_call><function=save><parameter=content>a\\nb"
				 "</parameter></function></seed:tool_call>"),
	    "{\\\"content\\\":\\\"a\\\\\\\\nb\\\"}");
	/* Holo answers with JSON, or with its older form Click(x, y); a pair in prose is no point.
	 */
	has(read_text("holo", "{\"action\":\"click_absolute\",\"x\":500,\"y\":250}"),
	    "\"type\":\"click\"");
	has(read_text("holo", "```json\n{\"x\":500,\"y\":250}\n```"), "\"type\":\"click\"");
	has(read_text("holo", "Click(500, 250)"), "\"type\":\"click\"");
	has(read_text("holo", "Click at (10,20)"), "element not found");
	has(read_text("holo", "The button [10, 20] is 30 40"), "element not found");
	has(read_text("holo", "{\"action\":\"none\"}"), "element not found");
	has(read_text("points", "nothing"), "element not found");
	has(read_text("points", "<point>500 250</point>"), "\"type\":\"click\"");
	has(read_text("internvl", "[500, 500]"), "element not found");
	has(read_text("moondream", "{\"points\":[{\"x\":0.5,\"y\":0.25}]}"), "\"x\":500,\"y\":250");
}

/* What is no call has no name, whatever was in the memory before. */
static void test_no_call(void **state)
{
	struct th_text_call call;
	struct th_str text = TH_STR("wait a while");
	struct th_err err = { 0 };

	(void)state;
	memset(&call, 0x5a, sizeof(call));
	assert_int_equal(th_call_read(&text, &arena, &call, &err), TH_EPROTO);
	assert_int_equal(call.name.len, 0);
	assert_int_equal(call.source.len, 0);
	has(read_text("uitars", "Thought: x\nAction: wait a while"), "there is no call");
}

/* A model that says one thing again and again: steps in proportion to its length.  With the square
 * of it, each takes minutes. */
static void test_long_answers(void **state)
{
	static const char *const pieces[] = { "\t",        "\r\n",       "\n\n",
					      "a\t",       "<think>",    "<function=x></function> ",
					      "click( ",   "Action: a(", "'x",
					      "Thought: x" };
	struct th_buf text = TH_BUF_INIT(TH_MIB), items = TH_BUF_INIT(4 * TH_MIB);
	struct th_buf out = TH_BUF_INIT(32 * TH_MIB);
	struct th_err err;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(profiles); i++)
		for (size_t k = 0; k < TH_COUNT(pieces); k++) {
			struct th_dialect_context c =
			    context(&profiles[i], (struct th_size){ 1000, 1000 });

			th_buf_clear(&text);
			th_buf_clear(&items);
			th_buf_clear(&out);
			th_buf_add_char(&text, 'w');
			while (text.len < 300 * TH_KIB)
				th_buf_add_cstr(&text, pieces[k]);
			th_buf_add_char(&text, 'w');
			put_message(th_buf_str(&text), &items);
			assert_int_equal(
			    profiles[i].dialect->decode(&c, th_buf_str(&items), &out, &err), TH_OK);
		}
	th_buf_deinit(&text);
	th_buf_deinit(&items);
	th_buf_deinit(&out);
}

static void test_targets(void **state)
{
	const char *in =
	    "[{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"computer\","
	    "\"arguments\":\"{\\\"action\\\":\\\"drag\\\",\\\"start_element_description\\\":"
	    "\\\"A\\\",\\\"end_element_description\\\":\\\"B\\\"}\"}]";
	struct th_dialect_context c =
	    context(profile("descriptions"), (struct th_size){ 1000, 1000 });
	struct th_target_place places[] = { { true, { 1, 2 }, NULL }, { true, { 3, 4 }, NULL } };
	struct th_buf items = TH_BUF_INIT(TH_MIB), out = TH_BUF_INIT(TH_MIB);
	struct th_target targets[TH_TARGETS_MAX];
	struct th_json_doc *doc;
	const struct th_json *item;
	struct th_err err;

	(void)state;
	assert_int_equal(c.profile->dialect->decode(&c, th_str_of(in), &items, &err), TH_OK);
	assert_int_equal(th_json_parse(th_buf_str(&items), &doc, &err), TH_OK);
	item = th_json_at(th_json_root(doc), 0);
	assert_int_equal(th_elements_targets(item, targets), 2);
	assert_true(th_str_is(targets[1].description, "B"));
	assert_int_equal(th_elements_resolve(&c, item, places, 2, &out, &err), TH_OK);
	has(out.ptr, "\"path\":[{\"x\":1,\"y\":2},{\"x\":3,\"y\":4}]");
	has(out.ptr, "\"call_id\":\"c1\"");
	th_buf_clear(&out);
	places[1].found = false;
	assert_int_equal(th_elements_resolve(&c, item, places, 2, &out, &err), TH_OK);
	has(out.ptr, "\"error\":\"element not found: B\"");
	th_json_free(doc);
	th_buf_deinit(&items);
	th_buf_deinit(&out);
}

/* Prompts and tools say something, and it is JSON where it must be. */
static void test_prompts(void **state)
{
	(void)state;
	for (size_t i = 0; i < TH_COUNT(profiles); i++) {
		struct th_dialect_context c = context(&profiles[i], (struct th_size){ 1920, 1080 });
		struct th_buf out = TH_BUF_INIT(TH_MIB);
		struct th_jw w = th_jw(&out);
		struct th_json_doc *doc = NULL;
		struct th_err err;

		if (profiles[i].dialect->prompt) {
			profiles[i].dialect->prompt(&c, &out);
			assert_true(out.len > 50);
		}
		th_buf_clear(&out);
		th_jw_array(&w);
		if (profiles[i].dialect->tools)
			profiles[i].dialect->tools(&c, &w);
		th_jw_array_end(&w);
		if (th_json_parse(th_buf_str(&out), &doc, &err))
			fail_msg("%s: %s", profiles[i].name, err.msg);
		th_json_free(doc);
		th_buf_deinit(&out);
	}
}

static void test_table(void **state)
{
	(void)state;
	assert_ptr_equal(th_dialects[0], &th_dialect_native);
	for (size_t i = 0; th_dialects[i]; i++) {
		assert_ptr_equal(th_dialect_find(th_str_of(th_dialects[i]->name)), th_dialects[i]);
		assert_true(*th_dialects[i]->note);
	}
	assert_null(th_dialect_find(TH_STR("none")));
}

static int setup(void **state)
{
	(void)state;
	th_arena_init(&arena, 64 * TH_MIB);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	th_arena_deinit(&arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_there_and_back, setup, teardown),
		cmocka_unit_test_setup_teardown(test_batches, setup, teardown),
		cmocka_unit_test_setup_teardown(test_uitars, setup, teardown),
		cmocka_unit_test_setup_teardown(test_others, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_call, setup, teardown),
		cmocka_unit_test(test_long_answers),
		cmocka_unit_test_setup_teardown(test_targets, setup, teardown),
		cmocka_unit_test(test_prompts),
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
