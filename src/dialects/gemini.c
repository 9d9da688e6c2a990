/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemini.c - the predefined functions of Gemini's computer use, both
 * generations: click_at, type_text_at … (2.5) and click, type … (3).  Points
 * are 0 to 1000 over each side, and so are lengths of a scroll of the first
 * generation.
 *
 * What only a browser can do (navigate, search, go_back …) becomes a call of
 * the tool `browser`, which a plain desktop does not have: the model is told so.
 * An action that cannot be read is an item of error; a decision that a person
 * must confirm is a pending safety check, and so is one that is not known.
 */
#include "base/limits.h"
#include "base/text.h"
#include "dialects/gemini_words.h"
#include "dialects/list.h"

/* What th_action_parse would not take must not get into an item. */
static enum th_code checked(const struct th_action *action, struct th_arena *a, struct th_buf *text,
			    struct th_err *err)
{
	struct th_jw w = th_jw(text);
	struct th_json_doc *doc = NULL;
	struct th_action again;
	enum th_code code;

	th_action_print(action, &w);
	code = th_json_parse(th_buf_str(text), &doc, err);
	if (!code)
		code = th_action_parse(th_json_root(doc), a, &again, err);
	th_json_free(doc);
	return code;
}

/* ---- items ---- */

/* Members of a call that its result needs: see gemini.h. */
static void put_ids(struct th_jw *w, struct th_str item)
{
	static const char *const names[] = { "id", "call_id", "name", "arguments" };

	for (size_t i = 0; i < TH_COUNT(names); i++) {
		struct th_str raw = th_json_raw_get(item, names[i]);

		if (raw.len)
			th_jw_kraw(w, names[i], raw);
	}
}

/* {"decision":"require_confirmation","explanation":"…"}: what is not known to be harmless must be
 * confirmed. */
static void put_safety(struct th_jw *w, const struct th_json *args, struct th_str call_id)
{
	const struct th_json *safety = th_json_get(args, "safety_decision");
	struct th_str decision = th_json_get_str(safety, "decision");
	struct th_str why = th_json_get_str(safety, "explanation");

	th_jw_key(w, TH_STR("pending_safety_checks"));
	th_jw_array(w);
	if (!th_json_is_null(safety) && !th_str_ieq(decision, TH_STR("regular")) &&
	    !th_str_ieq(decision, TH_STR("allow")) && !th_str_ieq(decision, TH_STR("allowed"))) {
		if (!decision.len)
			decision = th_json_str(safety);
		th_jw_object(w);
		th_jw_kraw(w, "id", call_id);
		th_jw_kstr(w, "code", decision.len ? decision : TH_STR("require_confirmation"));
		th_jw_kstr(w, "message",
			   why.len ? why : TH_STR("The model asks for confirmation."));
		th_jw_object_end(w);
	}
	th_jw_array_end(w);
}

static void say_computer(const struct th_dialect_context *c, const struct th_gemini_word *row,
			 const struct th_json *args, struct th_str item, struct th_jw *w)
{
	struct th_arena a;
	struct th_action action;
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX), sentence = TH_BUF_INIT(TH_KIB);
	struct th_err err;
	enum th_code code;

	th_arena_init(&a, TH_GEMINI_MEMORY(item.len));
	code = th_gemini_read(c, row, args, &a, &action, &err);
	if (!code)
		code = checked(&action, &a, &text, &err);
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("computer_call"));
	put_ids(w, item);
	th_jw_key(w, TH_STR("actions"));
	th_jw_array(w);
	if (!code)
		th_jw_raw(w, th_buf_str(&text));
	th_jw_array_end(w);
	if (code) {
		th_buf_printf(&sentence, "%s: %s", row->name, err.msg);
		th_jw_kstr(w, "error", th_buf_str(&sentence));
	}
	put_safety(w, args, th_json_raw_get(item, "call_id"));
	th_jw_kstr(w, "status", TH_STR("completed"));
	th_jw_object_end(w);
	th_arena_deinit(&a);
	th_buf_deinit(&text);
	th_buf_deinit(&sentence);
}

static void say_browser(const struct th_gemini_word *row, const struct th_json *args,
			struct th_str item, struct th_jw *w)
{
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_jw inner = th_jw(&text);
	static const char *const copied[] = { "url", "query" };

	th_jw_object(&inner);
	th_jw_kstr(&inner, "action", th_str_of(row->browser));
	for (size_t i = 0; i < TH_COUNT(copied); i++)
		if (th_json_type(th_json_get(args, copied[i])) == TH_JSON_STR)
			th_jw_kstr(&inner, copied[i], th_json_get_str(args, copied[i]));
	th_jw_kbool(&inner, "screenshot", true); /* such a model goes by pictures */
	th_jw_object_end(&inner);
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("function_call"));
	if (th_json_raw_get(item, "id").len)
		th_jw_kraw(w, "id", th_json_raw_get(item, "id"));
	th_jw_kraw(w, "call_id", th_json_raw_get(item, "call_id"));
	th_jw_kstr(w, "name", TH_STR(TH_TOOL_BROWSER));
	th_jw_kstr(w, "arguments", th_buf_str(&text));
	th_jw_kraw(w, "function", th_json_raw_get(item, "name"));
	put_safety(w, args, th_json_raw_get(item, "call_id"));
	th_jw_object_end(w);
	th_buf_deinit(&text);
}

static void say_item(const struct th_dialect_context *c, const struct th_json *v,
		     struct th_str item, struct th_jw *w)
{
	bool call = th_str_is(th_json_get_str(v, "type"), "function_call");
	const struct th_gemini_word *row =
	    call ? th_gemini_word_find(th_json_get_str(v, "name")) : NULL;
	struct th_json_doc *args = NULL;

	/* Words of a browser may well be tools of the agent where the model was not given them. */
	if (row && row->args == TH_GEMINI_BROWSER &&
	    !(row->generation & th_gemini_generation(c->profile)))
		row = NULL;
	if (!row || th_json_parse(th_json_get_str(v, "arguments"), &args, NULL)) {
		th_jw_raw(w, item);
		return;
	}
	if (row->args == TH_GEMINI_BROWSER)
		say_browser(row, th_json_root(args), item, w);
	else
		say_computer(c, row, th_json_root(args), item, w);
	th_json_free(args);
}

static enum th_code decode(const struct th_dialect_context *c, struct th_str items,
			   struct th_buf *out, struct th_err *err)
{
	struct th_json_doc *doc;
	struct th_json_raw_iter raw = th_json_raw_iter(items);
	struct th_jw w = th_jw(out);
	struct th_json_iter it;

	/* Without a screen these are names like any other. */
	if (c->screen.width <= 0 || c->screen.height <= 0 || th_json_parse(items, &doc, NULL)) {
		th_buf_add(out, items);
		return th_buf_check(out, "the answer's items", err);
	}
	th_jw_array(&w);
	for (it = th_json_iter(th_json_root(doc)); th_json_next(&it) && th_json_raw_next(&raw);)
		say_item(c, it.val, raw.val, &w);
	th_jw_array_end(&w);
	th_json_free(doc);
	return th_buf_check(out, "the answer's items", err);
}

/* ---- functions, for models without the tool ---- */

static void put_parameter(struct th_jw *w, const char *name, const char *schema)
{
	th_jw_kraw(w, name, th_str_of(schema));
}

#define PLACE "{\"type\":\"integer\",\"minimum\":0,\"maximum\":1000}"
static const struct {
	const char *name, *description;
	const char *const *parameters; /* name, schema … */
	const char *required;          /* NULL: all */
} functions[] = {
#define AT "x", PLACE, "y", PLACE
#define LIST(...)                 \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}
	{ "click", "Click the left button.", LIST(AT), NULL },
	{ "double_click", "Click the left button twice.", LIST(AT), NULL },
	{ "triple_click", "Click the left button three times.", LIST(AT), NULL },
	{ "right_click", "Click the right button.", LIST(AT), NULL },
	{ "middle_click", "Click the middle button.", LIST(AT), NULL },
	{ "move", "Move the pointer.", LIST(AT), NULL },
	{ "type", "Type text where the keyboard's focus is.",
	  LIST("text", "{\"type\":\"string\"}", "press_enter", "{\"type\":\"boolean\"}"),
	  "[\"text\"]" },
	{ "hotkey", "Press keys together, such as [\"ctrl\",\"a\"] or [\"enter\"].",
	  LIST("keys", "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"), NULL },
	{ "scroll", "Turn the wheel at a place.",
	  LIST(AT, "direction",
	       "{\"type\":\"string\",\"enum\":[\"up\",\"down\",\"left\",\"right\"]}",
	       "magnitude_in_pixels", "{\"type\":\"integer\",\"minimum\":1}"),
	  "[\"x\",\"y\",\"direction\"]" },
	{ "drag_and_drop", "Press the left button, move, release.",
	  LIST("start_x", PLACE, "start_y", PLACE, "end_x", PLACE, "end_y", PLACE), NULL },
	{ "wait", "Wait some seconds.",
	  LIST("seconds", "{\"type\":\"number\",\"minimum\":0.1,\"maximum\":60}"), NULL },
	{ "take_screenshot", "Look at the screen.", (const char *const[]){ NULL }, NULL },
#undef AT
#undef LIST
};

static void tools(const struct th_dialect_context *c, struct th_jw *w)
{
	(void)c;
	for (size_t i = 0; i < TH_COUNT(functions); i++) {
		const char *const *p = functions[i].parameters;

		th_jw_object(w);
		th_jw_kstr(w, "name", th_str_of(functions[i].name));
		th_jw_kstr(w, "description", th_str_of(functions[i].description));
		th_jw_key(w, TH_STR("parameters"));
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("object"));
		th_jw_key(w, TH_STR("properties"));
		th_jw_object(w);
		for (; *p; p += 2)
			put_parameter(w, p[0], p[1]);
		th_jw_object_end(w);
		th_jw_key(w, TH_STR("required"));
		if (functions[i].required) {
			th_jw_raw(w, th_str_of(functions[i].required));
		} else {
			th_jw_array(w);
			for (p = functions[i].parameters; *p; p += 2)
				th_jw_str(w, th_str_of(p[0]));
			th_jw_array_end(w);
		}
		th_jw_object_end(w);
		th_jw_object_end(w);
	}
}

static void prompt(const struct th_dialect_context *c, struct th_buf *out)
{
	if (c->profile->computer == TH_COMPUTER_DIALECT)
		th_buf_add_cstr(out, "You see the screen of a computer and act on it with the "
				     "functions. Points are counted from 0 to 1000 from left to "
				     "right (x) and from top to bottom (y), whatever the size of "
				     "the screen. After each call you are shown the screen.");
}

const struct th_dialect th_dialect_gemini = {
	.name = "gemini",
	.note = "predefined functions of Gemini's computer use",
	.prompt = prompt,
	.tools = tools,
	.decode = decode,
	.encode = th_gemini_encode,
};
