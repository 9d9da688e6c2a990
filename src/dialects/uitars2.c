/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uitars2.c - UI-TARS 2:
 *
 *	<gui_think>…</gui_think><seed:tool_call><function=click>
 *	<parameter=point><point>500 250</point></parameter></function></seed:tool_call>
 *
 * Functions that are not its own are the agent's tools.
 */
#include "dialects/list.h"
#include "dialects/space.h"
#include "dialects/uitars.h"
#include "dialects/xml.h"

/* ---- decode ---- */

#define THINK_TAG_MAX 120
#define THINK_TRIES_MAX 64 /* tags of an answer whose end is looked for and is not there */

/* The name of a thought's tag at the start of `s`: "gui_think", "think_never_used_…"; else empty.
 */
static struct th_str think_tag(struct th_str s)
{
	struct th_str name = { NULL, 0 };
	ptrdiff_t end;

	if (!s.len || s.ptr[0] != '<')
		return name;
	end = th_str_find_char(th_str_sub(s, 0, THINK_TAG_MAX), '>');
	if (end > 1)
		name = th_str_sub(s, 1, (size_t)end - 1);
	if (name.len && name.ptr[0] != '/' && th_str_find(name, TH_STR("think")) >= 0 &&
	    th_str_find_char(name, '<') < 0)
		return name;
	return (struct th_str){ NULL, 0 };
}

/* Where the tag's end is, or -1; *tries says how many more may have none. */
static ptrdiff_t find_think_end(struct th_str s, struct th_str name, int *tries)
{
	struct th_buf tag = TH_BUF_INIT(TH_KIB);
	ptrdiff_t at;

	if (*tries == 0)
		return -1;
	th_buf_printf(&tag, "</%.*s>", TH_FMT(name));
	at = th_str_find(s, th_buf_str(&tag));
	th_buf_deinit(&tag);
	*tries -= at < 0;
	return at;
}

/* "<gui_think>…</gui_think>": what is in it, cut off *s. */
static struct th_str take_think(struct th_str *s, int *tries)
{
	struct th_str name = think_tag(*s), inside;
	size_t head = name.len + 2, tail = 0;
	ptrdiff_t close;

	if (!name.len)
		return TH_STR("");
	close = find_think_end(*s, name, tries);
	if (close >= 0)
		tail = name.len + 3;
	else /* without its end: up to the call */
		close = th_str_find(*s, TH_STR("<seed:tool_call>"));
	if (close < 0)
		close = (ptrdiff_t)s->len;
	inside = th_str_sub(*s, head, (size_t)close - head);
	*s = th_str_sub(*s, (size_t)close + tail, s->len);
	return inside;
}

static void say_function(struct th_say *say, const struct th_xml_call *call)
{
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_jw w = th_jw(&text);

	th_jw_object(&w);
	for (size_t i = 0; i < call->count; i++) {
		th_jw_key(&w, call->keys[i]);
		th_jw_str(&w, th_str_trim(call->values[i]));
	}
	th_jw_object_end(&w);
	th_say_function(say, call->name, th_buf_str(&text));
	th_buf_deinit(&text);
}

/* The model writes a text as inside a Python string: \n, \t, \r, \', \" and \\ are one character.
 * A backslash before anything else stays. */
static enum th_code unescape(struct th_str s, struct th_arena *a, struct th_str *ret,
			     struct th_err *err)
{
	static const char from[] = "ntr'\"\\", to[] = "\n\t\r'\"\\";
	size_t len = 0;
	char *out;

	*ret = s;
	if (th_str_find_char(s, '\\') < 0)
		return TH_OK;
	out = th_arena_alloc(a, s.len);
	if (!out)
		return th_fail(err, TH_EPROTO, "the text is too long");
	for (size_t i = 0; i < s.len; i++) {
		const char *at = NULL;

		if (s.ptr[i] == '\\' && i + 1 < s.len && s.ptr[i + 1])
			at = strchr(from, s.ptr[i + 1]);
		out[len++] = at ? to[at - from] : s.ptr[i];
		i += at != NULL;
	}
	*ret = th_str_n(out, len);
	return TH_OK;
}

static enum th_code say_word(struct th_say *say, const struct th_xml_call *xml, struct th_err *err)
{
	struct th_text_call call = { .name = xml->name };
	struct th_word word;
	enum th_code code = TH_OK;

	for (size_t i = 0; !code && i < xml->count && i < TH_CALL_ARGS_MAX; i++) {
		struct th_value *v = &call.values[call.count];
		bool text = th_str_is(xml->keys[i], "content") || th_str_is(xml->keys[i], "text");

		call.keys[call.count++] = xml->keys[i];
		*v = (struct th_value){ TH_VALUE_TEXT, .text = th_str_trim(xml->values[i]) };
		if (text)
			code = unescape(xml->values[i], say->a, &v->text, err);
	}
	if (!code)
		code = th_uitars_word(say->c, &call, say->a, &word, err);
	return code ? code : th_say_word(say, &word, err);
}

/* The functions of one block; a bad one ends the answer. */
static bool say_block(struct th_say *say, struct th_str *s)
{
	while (th_xml_begins(*s)) {
		struct th_xml_call call;
		struct th_str from = *s;
		struct th_err err = { 0 };
		enum th_code code = th_xml_read(s, &call, &err);

		if (!code && !th_uitars_knows(call.name)) {
			say_function(say, &call);
			continue;
		}
		if (!code)
			code = say_word(say, &call, &err);
		if (code) {
			th_say_error(say, from, err.msg);
			return false;
		}
	}
	return true;
}

/* A word like "<thinking>" in a text, without its end, is no tag. */
static bool thought_begins(struct th_str s, int *tries)
{
	struct th_str name = think_tag(s);

	return name.len && find_think_end(s, name, tries) >= 0;
}

/* What stands before a call, or behind the last: texts, and thoughts in their tags. */
static void say_between(struct th_say *say, struct th_str s, int *tries)
{
	while (s.len) {
		size_t at = 0;

		while (at < s.len && !thought_begins(th_str_sub(s, at, s.len), tries))
			at++;
		th_say_text(say, th_str_sub(s, 0, at));
		s = th_str_sub(s, at, s.len);
		th_say_reasoning(say, take_think(&s, tries));
	}
}

static void say_text(struct th_say *say, struct th_str text)
{
	struct th_str s = th_str_trim(text);
	bool acted = false, tagged = true;
	int tries = THINK_TRIES_MAX;

	while (s.len) {
		struct th_str think = take_think(&s, &tries);
		ptrdiff_t call = -1;

		th_say_reasoning(say, think);
		s = th_str_trim(s);
		if (tagged) /* what is not there once does not come later */
			call = th_str_find(s, TH_STR("<seed:tool_call>"));
		tagged = call >= 0;
		if (!tagged)
			call = th_str_find(s, TH_STR("<function="));
		if (call > 0) {
			say_between(say, th_str_sub(s, 0, (size_t)call), &tries);
			s = th_str_sub(s, (size_t)call, s.len);
		}
		if (call < 0) {
			if (!acted || !th_str_starts(s, TH_STR("<")))
				say_between(say, s, &tries);
			return;
		}
		if (th_str_starts(s, TH_STR("<seed:tool_call>")))
			s = th_str_sub(s, strlen("<seed:tool_call>"), s.len);
		if (!th_xml_begins(s)) {
			th_say_error(say, s, "<seed:tool_call> holds no <function=…>");
			return;
		}
		if (!say_block(say, &s))
			return;
		acted = true;
		s = th_str_trim(s);
		if (th_str_starts(s, TH_STR("</seed:tool_call>")))
			s = th_str_trim(th_str_sub(s, strlen("</seed:tool_call>"), s.len));
	}
}

static enum th_code decode(const struct th_dialect_context *c, struct th_str items,
			   struct th_buf *out, struct th_err *err)
{
	return th_dialect_each(c, items, say_text, NULL,
			       "the answer held no call: write <seed:tool_call> with one", out,
			       err);
}

/* ---- encode ---- */

static void put_point(const struct th_dialect_context *c, const char *key, struct th_point p,
		      struct th_buf *out)
{
	struct th_space_point at = th_dialect_place(c, p);

	th_buf_printf(out, "<parameter=%s><point>%.10g %.10g</point></parameter>", key, at.x, at.y);
}

static void put_parameter(const char *key, struct th_str value, struct th_buf *out)
{
	th_buf_printf(out, "<parameter=%s>", key);
	th_buf_add(out, value);
	th_buf_add_cstr(out, "</parameter>");
}

/* A text as unescape() reads it back.  Lines are left as they are. */
static void put_text(struct th_str text, struct th_buf *out)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == '\\')
			th_buf_add_char(out, '\\');
		th_buf_add_char(out, text.ptr[i]);
	}
}

static const char *word_of(const struct th_action *a)
{
	if (a->kind == TH_ACTION_MOVE)
		return "move_to";
	return a->kind == TH_ACTION_KEY_UP ? "release" : th_uitars_word_of(a);
}

static enum th_code put_call(const struct th_dialect_context *c, const struct th_action *a,
			     struct th_buf *out, struct th_err *err)
{
	const char *why = th_uitars_unsayable(a);

	if (!why && a->kind == TH_ACTION_TYPE && !th_xml_sayable(a->text))
		why = "a text with tags like its own";
	if (why)
		return th_fail(err, TH_EUNSUPPORTED, "UI-TARS 2 has no word for %s: %s",
			       th_action_name(a->kind), why);
	th_buf_printf(out, "<function=%s>", word_of(a));
	if (a->kind == TH_ACTION_SCROLL)
		put_parameter("direction", th_str_of(th_uitars_direction(a)), out);
	if (a->has_at)
		put_point(c, "point", a->at, out);
	if (a->kind == TH_ACTION_DRAG) {
		put_point(c, "start_point", a->path[0], out);
		put_point(c, "end_point", a->path[1], out);
	} else if (a->kind == TH_ACTION_TYPE) {
		th_buf_add_cstr(out, "<parameter=content>");
		put_text(a->text, out);
		th_buf_add_cstr(out, a->enter ? "\n</parameter>" : "</parameter>");
	} else if (a->kind == TH_ACTION_MOUSE_DOWN || a->kind == TH_ACTION_MOUSE_UP) {
		put_parameter("button", th_str_of(th_button_name(a->button)), out);
	} else if (a->kind == TH_ACTION_WAIT) {
		th_buf_printf(out, "<parameter=time>%.10g</parameter>", a->duration_ms / 1000.0);
	} else if (a->key_count) {
		th_buf_add_cstr(out, "<parameter=key>");
		for (size_t i = 0; i < a->key_count; i++) {
			th_buf_add_cstr(out, i ? " " : "");
			th_buf_add(out, th_uitars_key(a->keys[i]));
		}
		th_buf_add_cstr(out, "</parameter>");
	}
	th_buf_add_cstr(out, "</function>");
	return TH_OK;
}

static enum th_code put_functions(const struct th_said *said, struct th_buf *out,
				  struct th_err *err)
{
	for (size_t i = 0; i < said->function_count; i++) {
		struct th_json_doc *doc;
		struct th_json_iter it;
		enum th_code code = th_json_parse(said->functions[i].arguments, &doc, err);

		if (code)
			return th_fail(err, TH_EUNSUPPORTED, "the arguments are not JSON");
		th_buf_printf(out, "<function=%.*s>", TH_FMT(said->functions[i].name));
		it = th_json_iter(th_json_root(doc));
		while (th_json_next(&it)) {
			struct th_buf value = TH_BUF_INIT(TH_JSON_SIZE_MAX);

			if (th_json_type(it.val) == TH_JSON_STR)
				th_buf_add(&value, th_json_str(it.val));
			else
				th_json_print(it.val, &value);
			th_buf_printf(out, "<parameter=%.*s>", TH_FMT(it.key));
			th_buf_add(out, th_buf_str(&value));
			th_buf_add_cstr(out, "</parameter>");
			th_buf_deinit(&value);
		}
		th_buf_add_cstr(out, "</function>");
		th_json_free(doc);
	}
	return TH_OK;
}

static enum th_code write_text(const struct th_dialect_context *c, const struct th_said *said,
			       struct th_buf *out, struct th_err *err)
{
	enum th_code code = TH_OK;

	if (said->thought.len)
		th_buf_printf(out, "<gui_think> %.*s </gui_think>", TH_FMT(said->thought));
	th_buf_add(out, said->text);
	if (!said->count && !said->function_count && !said->outcome)
		return TH_OK;
	th_buf_add_cstr(out, "<seed:tool_call>");
	for (size_t i = 0; !code && i < said->count; i++)
		code = put_call(c, &said->actions[i], out, err);
	if (!code)
		code = put_functions(said, out, err);
	if (!code && said->outcome) {
		bool ask = !strcmp(said->outcome, TH_DIALECT_NEEDS_USER);

		th_buf_printf(out, "<function=%s>", ask ? "call_user" : "finished");
		th_buf_add_cstr(out, "<parameter=content>");
		put_text(said->outcome_text, out);
		th_buf_add_cstr(out, "</parameter>");
		th_buf_add_cstr(out, "</function>");
	}
	th_buf_add_cstr(out, "</seed:tool_call>");
	return code;
}

static enum th_code encode(const struct th_dialect_context *c, struct th_str items,
			   struct th_buf *out, struct th_err *err)
{
	return th_dialect_write(c, items, write_text, out, err);
}

#define FN(name, doc, properties)                                                           \
	"{\"type\":\"function\",\"function\":{\"name\":\"" name "\",\"description\":\"" doc \
	"\",\"parameters\":{\"type\":\"object\",\"properties\":{" properties "}}}}\n"
#define P(name, doc) "\"" name "\":{\"type\":\"string\",\"description\":\"" doc "\"}"
#define AT P("point", "<point>x y</point>, each from 0 to 1000")

static void prompt(const struct th_dialect_context *c, struct th_buf *out)
{
	(void)c;
	th_buf_add_cstr(
	    out,
	    "You work on a computer's screen with a mouse and a keyboard. Think first, inside "
	    "<gui_think> and </gui_think>: what you see, and what to do next. Then call functions "
	    "in this form, one after the other when they need no look at the screen in between:\n"
	    "<gui_think>…</gui_think><seed:tool_call><function=NAME><parameter=KEY>VALUE"
	    "</parameter></function></seed:tool_call>\n\nFunctions:\n");
	th_buf_add_cstr(
	    out,
	    FN("take_screenshot", "Look at the screen.", "") FN("click", "Click.", AT) FN(
		"left_double", "Double-click.", AT) FN("right_single", "Click the right button.",
						       AT) FN("move_to", "Move the pointer.", AT)
		FN("drag", "Drag with the left button.",
		   P("start_point", "<point>x y</point>") "," P("end_point", "<point>x y</point>"))
		    FN("scroll", "Scroll.", P("direction", "up, down, left or right") "," AT)
			FN("mouse_down", "Press a button and keep it down.",
			   AT "," P("button", "left, right or middle"))
			    FN("mouse_up", "Release a button.",
			       AT "," P("button", "left, right or middle")));
	th_buf_add_cstr(
	    out,
	    FN("type", "Type; a newline at the end presses Enter.",
	       P("content", "the text; \\\\n is a newline, \\\\\\\\ a backslash"))
		FN("hotkey", "Press keys together.", P("key", "names with blanks, such as ctrl c"))
		    FN("press", "Press a modifier and keep it down, or press another key.",
		       P("key", "its name")) FN("release", "Release a key.", P("key", "its name"))
			FN("wait", "Wait.", P("time", "seconds"))
			    FN("finished", "The task is done.", P("content", "what came of it"))
				FN("call_user", "A person is needed.", P("content", "for what")));
}

const struct th_dialect th_dialect_uitars2 = {
	.name = "uitars2",
	.note = "UI-TARS 2: seed:tool_call",
	.prompt = prompt,
	.decode = decode,
	.encode = encode,
	.results_as_user = true,
};
