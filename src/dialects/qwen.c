/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qwen.c - Qwen and its kin: calls in the text, in <tool_call> tags.
 *
 *	<tool_call>{"name":"computer_use","arguments":{"action":"left_click",…}}</tool_call>
 *	<tool_call><function=computer_use><parameter=action>left_click</parameter>…
 *
 * Both forms are read whatever the model; the second is Qwen 3.5's.  Calls of
 * other functions are the agent's tools.
 */
#include "dialects/list.h"
#include "dialects/words.h"
#include "dialects/xml.h"

#define FUNCTION "computer_use"
#define OPEN "<tool_call>"
#define CLOSE "</tool_call>"

/* ---- decode ---- */

/*
 * The JSON object at the start of `s`, in `out` with raw control characters of
 * its texts escaped, which models forget.  Returns its length there; 0: it does
 * not end.
 */
static size_t take_object(struct th_str s, struct th_buf *out)
{
	int depth = 0;
	bool text = false;

	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];

		if (text && c == '\\' && i + 1 < s.len) {
			th_buf_add_mem(out, s.ptr + i++, 2);
			continue;
		}
		if (text && (unsigned char)c < ' ')
			th_json_escape(out, th_str_n(&c, 1));
		else
			th_buf_add_char(out, c);
		if (c == '"')
			text = !text;
		else if (!text && (c == '{' || c == '['))
			depth++;
		else if (!text && (c == '}' || c == ']') && --depth == 0)
			return i + 1;
	}
	return 0;
}

static void say_named(struct th_say *say, struct th_str name, struct th_str arguments)
{
	if (th_words_is_function(name))
		th_words_say(say, name, arguments);
	else
		th_say_function(say, name, arguments);
}

/* {"name":…,"arguments":{…}}; or the arguments alone. */
static void say_object(struct th_say *say, struct th_str object)
{
	struct th_json_doc *doc = NULL;
	struct th_err err = { 0 };
	enum th_code code = th_json_parse(object, &doc, &err);
	const struct th_json *root = th_json_root(doc);
	const struct th_json *arguments = th_json_get(root, "arguments");
	struct th_str name = th_json_get_str(root, "name");
	struct th_str raw = th_json_raw_get(object, "arguments");

	if (code) {
		th_prefix(&err, code, OPEN);
		th_say_error(say, object, err.msg);
	} else if (!name.len && th_json_get(root, "action")) {
		th_words_say(say, TH_STR(FUNCTION), object);
	} else if (!name.len && th_json_get(arguments, "action")) { /* it forgot the name */
		th_words_say(say, TH_STR(FUNCTION), raw);
	} else if (!name.len) {
		th_say_error(say, object, OPEN " must hold {\"name\": …, \"arguments\": …}");
	} else if (th_json_type(arguments) == TH_JSON_STR) {
		say_named(say, name, th_json_str(arguments));
	} else {
		say_named(say, name, raw.len ? raw : TH_STR("{}"));
	}
	th_json_free(doc);
}

static bool is_text(struct th_str key)
{
	static const char *const keys[] = { "text", "content", "action", "query", "url",
					    "fact", "status",  "answer", "button" };

	for (size_t i = 0; i < TH_COUNT(keys); i++)
		if (th_str_is(key, keys[i]))
			return true;
	return false;
}

/* A value stands on lines of its own. */
static struct th_str unline(struct th_str s)
{
	if (s.len && s.ptr[0] == '\n')
		s = th_str_sub(s, 1, s.len);
	if (s.len && s.ptr[s.len - 1] == '\n')
		s = th_str_sub(s, 0, s.len - 1);
	return s;
}

static void put_value(struct th_jw *w, bool text, struct th_str value)
{
	struct th_str trimmed = th_str_trim(value);
	struct th_json_doc *doc = NULL;

	if (text || !trimmed.len || th_json_parse(trimmed, &doc, NULL) ||
	    th_json_type(th_json_root(doc)) == TH_JSON_STR)
		th_jw_str(w, value);
	else
		th_jw_raw(w, trimmed);
	th_json_free(doc);
}

static void say_xml(struct th_say *say, const struct th_xml_call *call)
{
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_jw w = th_jw(&text);
	bool computer = th_words_is_function(call->name);

	th_jw_object(&w);
	for (size_t i = 0; i < call->count; i++) {
		th_jw_key(&w, call->keys[i]);
		put_value(&w, computer && is_text(call->keys[i]), unline(call->values[i]));
	}
	th_jw_object_end(&w);
	say_named(say, call->name, th_buf_str(&text));
	th_buf_deinit(&text);
}

/* One block behind its tag; what follows its end stays in *s. */
static void say_block(struct th_say *say, struct th_str *s)
{
	struct th_buf object = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_str from = th_str_trim(*s);
	struct th_err err = { 0 };
	ptrdiff_t end;
	size_t len = 0;

	*s = from;
	if (th_xml_begins(from)) {
		struct th_xml_call call;

		if (th_xml_read(s, &call, &err)) {
			th_say_error(say, from, err.msg);
			*s = TH_STR("");
		} else {
			say_xml(say, &call);
		}
	} else if (from.len && from.ptr[0] == '{' && (len = take_object(from, &object)) > 0) {
		say_object(say, th_buf_str(&object));
		*s = th_str_sub(from, len, from.len);
	} else {
		end = th_str_find(from, TH_STR(CLOSE));
		len = end < 0 ? from.len : (size_t)end;
		th_say_error(say, th_str_sub(from, 0, len),
			     from.len && from.ptr[0] == '{'
				 ? OPEN " holds an object that does not end"
				 : OPEN " must hold {\"name\": …, \"arguments\": …}");
		*s = th_str_sub(from, len, from.len);
	}
	th_buf_deinit(&object);
	*s = th_str_trim(*s);
	if (th_str_starts(*s, TH_STR(CLOSE)))
		*s = th_str_sub(*s, sizeof(CLOSE) - 1, s->len);
	else if (th_str_is(*s, OPEN)) /* FARA's way to close it */
		*s = TH_STR("");
}

static struct th_str unfence(struct th_str s)
{
	if (th_str_starts(s, TH_STR("```json")))
		s = th_str_sub(s, 7, s.len);
	else if (th_str_starts(s, TH_STR("```")))
		s = th_str_sub(s, 3, s.len);
	s = th_str_trim(s);
	if (th_str_ends(s, TH_STR("```")))
		s = th_str_sub(s, 0, s.len - 3);
	return th_str_trim(s);
}

/* Without tags: the whole text is one call. */
static bool say_bare(struct th_say *say, struct th_str s)
{
	struct th_buf object = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	bool call = false;

	s = unfence(th_str_trim(s));
	if (s.len && s.ptr[0] == '{' && take_object(s, &object) == s.len) {
		struct th_json_doc *doc = NULL;

		if (!th_json_parse(th_buf_str(&object), &doc, NULL)) {
			const struct th_json *root = th_json_root(doc);

			call = th_json_get_str(root, "name").len && th_json_get(root, "arguments");
			call = call || th_json_get_str(root, "action").len;
		}
		th_json_free(doc);
	}
	if (call)
		say_object(say, th_buf_str(&object));
	th_buf_deinit(&object);
	return call;
}

static struct th_str take_think(struct th_say *say, struct th_str s)
{
	ptrdiff_t end;

	s = th_str_trim(s);
	if (th_str_starts(s, TH_STR("<think>")))
		s = th_str_sub(s, 7, s.len);
	end = th_str_find(s, TH_STR("</think>"));
	if (end < 0)
		return s;
	th_say_reasoning(say, th_str_sub(s, 0, (size_t)end));
	return th_str_trim(th_str_sub(s, (size_t)end + 8, s.len));
}

void th_qwen_say(struct th_say *say, struct th_str text)
{
	struct th_str s = take_think(say, text);

	if (th_str_find(s, TH_STR(OPEN)) < 0 && say_bare(say, s))
		return;
	if (th_str_find(s, TH_STR(OPEN)) < 0 && th_xml_begins(s)) { /* the tag was left out */
		say_block(say, &s);
		return;
	}
	while (s.len) {
		ptrdiff_t call = th_str_find(s, TH_STR(OPEN));

		th_say_text(say, th_str_sub(s, 0, call < 0 ? s.len : (size_t)call));
		if (call < 0)
			return;
		s = th_str_sub(s, (size_t)call + sizeof(OPEN) - 1, s.len);
		say_block(say, &s);
	}
}

static enum th_code decode(const struct th_dialect_context *c, struct th_str items,
			   struct th_buf *out, struct th_err *err)
{
	return th_dialect_each(c, items, th_qwen_say, NULL,
			       "the answer was empty: call a function, or say that you are done",
			       out, err);
}

/* ---- encode ---- */

static bool is_qwen35(const struct th_dialect_context *c)
{
	return c->profile->dialect == &th_dialect_qwen35;
}

static enum th_words_style style_of(const struct th_dialect_context *c)
{
	return c->profile->dialect == &th_dialect_fara ? TH_WORDS_FARA : TH_WORDS_QWEN;
}

static enum th_code put_xml(struct th_str name, struct th_str arguments, struct th_buf *out,
			    struct th_err *err)
{
	struct th_json_raw_iter it = th_json_raw_iter(arguments);
	enum th_code code = TH_OK;

	th_buf_printf(out, OPEN "\n<function=%.*s>\n", TH_FMT(name));
	while (!code && th_json_raw_next(&it)) {
		struct th_buf value = TH_BUF_INIT(TH_JSON_SIZE_MAX);

		if (!th_json_unescape(it.val, &value)) {
			th_buf_clear(&value);
			th_buf_add(&value, it.val);
		}
		th_buf_printf(out, "<parameter=%.*s>\n", TH_FMT(it.key));
		th_buf_add(out, th_buf_str(&value));
		th_buf_add_cstr(out, "\n</parameter>\n");
		if (!th_xml_sayable(th_buf_str(&value)))
			code = th_fail(err, TH_EUNSUPPORTED, "a text with tags like its own");
		th_buf_deinit(&value);
	}
	th_buf_add_cstr(out, "</function>\n" CLOSE);
	return code;
}

static enum th_code put_call(const struct th_dialect_context *c, struct th_str name,
			     struct th_str arguments, struct th_buf *out, struct th_err *err)
{
	struct th_jw w = th_jw(out);

	if (out->len)
		th_buf_add_char(out, '\n');
	if (is_qwen35(c))
		return put_xml(name, arguments, out, err);
	th_buf_add_cstr(out, OPEN "\n{\"name\": ");
	th_jw_str(&w, name);
	th_buf_add_cstr(out, ", \"arguments\": ");
	th_buf_add(out, arguments);
	th_buf_add_cstr(out, "}\n" CLOSE);
	return TH_OK;
}

static enum th_code write_text(const struct th_dialect_context *c, const struct th_said *said,
			       struct th_buf *out, struct th_err *err)
{
	struct th_buf arguments = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	bool ends = said->outcome && strcmp(said->outcome, TH_DIALECT_NEEDS_USER);
	enum th_code code = TH_OK;

	th_buf_add(out, said->text);
	for (size_t i = 0; !code && i < said->count; i++) {
		struct th_jw w = th_jw(&arguments);

		th_buf_clear(&arguments);
		code = th_words_write(c, style_of(c), &said->actions[i], &w, err);
		if (!code)
			code = put_call(c, TH_STR(FUNCTION), th_buf_str(&arguments), out, err);
	}
	for (size_t i = 0; !code && i < said->function_count; i++)
		code = put_call(c, said->functions[i].name, said->functions[i].arguments, out, err);
	if (!code && ends) {
		struct th_jw w = th_jw(&arguments);

		th_buf_clear(&arguments);
		th_words_write_end(style_of(c), said->outcome, said->outcome_text, &w);
		code = put_call(c, TH_STR(FUNCTION), th_buf_str(&arguments), out, err);
	} else if (!code && said->outcome) {
		th_buf_add_cstr(out, out->len ? "\n" : "");
		th_buf_add(out, said->outcome_text);
	}
	th_buf_deinit(&arguments);
	return code;
}

static enum th_code encode(const struct th_dialect_context *c, struct th_str items,
			   struct th_buf *out, struct th_err *err)
{
	return th_dialect_write(c, items, write_text, out, err);
}

/* ---- prompt ---- */

static void put_tools(const struct th_dialect_context *c, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_buf_add_cstr(out, "# Tools\n\nYou may call one or more functions to assist with the "
			     "user query.\n\nYou are provided with function signatures within "
			     "<tools></tools> XML tags:\n<tools>\n{\"type\": \"function\", "
			     "\"function\": ");
	th_words_tool(c, style_of(c), FUNCTION, &w);
	th_buf_add_cstr(out, "}\n</tools>\n\n");
}

static void prompt(const struct th_dialect_context *c, struct th_buf *out)
{
	put_tools(c, out);
	if (is_qwen35(c))
		th_buf_add_cstr(
		    out, "For each function call, answer in this form, your reasoning before it "
			 "and nothing after it:\n" OPEN "\n<function=" FUNCTION ">\n"
			 "<parameter=action>\nleft_click\n</parameter>\n"
			 "<parameter=coordinate>\n[x, y]\n</parameter>\n</function>\n" CLOSE "\n");
	else
		th_buf_add_cstr(
		    out, "For each function call, return a json object with function name "
			 "and arguments within <tool_call></tool_call> XML tags:\n" OPEN
			 "\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n" CLOSE
			 "\n");
}

static void prompt_fara(const struct th_dialect_context *c, struct th_buf *out)
{
	th_buf_add_cstr(
	    out,
	    "You act in a web browser for the user. A critical point is a step that needs the "
	    "user's permission or personal data and cannot easily be undone, such as a purchase, a "
	    "booking, a message or a login. Stop there and ask, unless the user has given you "
	    "both.\n\n");
	prompt(c, out);
}

const struct th_dialect th_dialect_qwen = {
	.name = "qwen",
	.note = "Qwen VL 2.5 and 3: <tool_call> with JSON",
	.prompt = prompt,
	.decode = decode,
	.encode = encode,
	.results_as_user = true,
};

const struct th_dialect th_dialect_qwen35 = {
	.name = "qwen35",
	.note = "Qwen 3.5: <tool_call> with <function=…>",
	.prompt = prompt,
	.decode = decode,
	.encode = encode,
	.results_as_user = true,
};

const struct th_dialect th_dialect_fara = {
	.name = "fara",
	.note = "FARA: <tool_call> with JSON, words of a browser",
	.prompt = prompt_fara,
	.decode = decode,
	.encode = encode,
	.results_as_user = true,
};
