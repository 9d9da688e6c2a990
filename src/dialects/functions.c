/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions.c - function calls as text, for models that have none: the
 * tools stand in the system prompt, and a call is
 *
 *	<function=NAME>
 *	<parameter=KEY>VALUE</parameter>
 *	</function>
 *
 * as CodeActAgent of OpenHands has it.  A value is text without escapes; its
 * type is the schema's.  A value with a newline at either end stands between
 * newlines of its own, so that it is read back as it was.
 *
 * What cannot be read is told to the model in the words that OpenHands uses.
 */
#include "base/text.h"
#include "dialects/list.h"
#include "dialects/say.h"
#include "dialects/xml.h"

#define FUNCTION "<function="
#define FUNCTION_END "</function>"
#define PARAMETER "<parameter="
#define PARAMETER_END "</parameter>"

/* ---- the prompt --------------------------------------------------------------------------- */

static bool is_required(const struct th_json *schema, struct th_str key)
{
	struct th_json_iter it = th_json_iter(th_json_get(schema, "required"));

	while (th_json_next(&it))
		if (th_str_eq(th_json_str(it.val), key))
			return true;
	return false;
}

/* The type that a schema names; of several the first that is not null.  Empty: none. */
static struct th_str type_of(const struct th_json *property)
{
	const struct th_json *type = th_json_get(property, "type");
	struct th_json_iter it = th_json_iter(type);

	if (th_json_type(type) == TH_JSON_STR)
		return th_json_str(type);
	while (th_json_is_array(type) && th_json_next(&it))
		if (!th_str_is(th_json_str(it.val), "null"))
			return th_json_str(it.val);
	return (struct th_str){ 0 };
}

static void put_parameters(const struct th_json *schema, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(th_json_get(schema, "properties"));
	size_t count = 0;

	while (th_json_next(&it)) {
		struct th_str type = type_of(it.val), doc = th_json_get_str(it.val, "description");
		struct th_json_iter values = th_json_iter(th_json_get(it.val, "enum"));

		if (!count)
			th_buf_add(out, TH_STR("Parameters:\n"));
		th_buf_printf(out, "  (%zu) %.*s (%.*s, %s)", ++count, TH_FMT(it.key),
			      TH_FMT(type.len ? type : TH_STR("string")),
			      is_required(schema, it.key) ? "required" : "optional");
		if (doc.len)
			th_buf_printf(out, ": %.*s", TH_FMT(doc));
		th_buf_add_char(out, '\n');
		for (size_t i = 0; th_json_next(&values); i++) {
			th_buf_add(out, i ? TH_STR(", ") : TH_STR("Allowed values: ["));
			th_buf_printf(out, "`%.*s`", TH_FMT(th_json_str(values.val)));
		}
		if (th_json_count(th_json_get(it.val, "enum")))
			th_buf_add(out, TH_STR("]\n"));
	}
	if (!count)
		th_buf_add(out, TH_STR("No parameters are required for this function.\n"));
}

static void prompt(const struct th_dialect_context *c, struct th_buf *out)
{
	th_buf_add(out, TH_STR("You have access to the following functions:\n\n"));
	for (size_t i = 0; i < c->tool_count; i++) {
		const struct th_tool_spec *t = &c->tools[i];
		struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;

		th_buf_printf(out, "---- BEGIN FUNCTION #%zu: %.*s ----\n", i + 1, TH_FMT(t->name));
		if (t->description.len)
			th_buf_printf(out, "Description: %.*s\n", TH_FMT(t->description));
		if (!th_json_parse(t->schema, &doc, NULL))
			put_parameters(th_json_root(doc), out);
		th_buf_printf(out, "---- END FUNCTION #%zu ----\n\n", i + 1);
	}
	th_buf_add(out, TH_STR("If you choose to call a function, answer in this form only, with "
			       "nothing after it:\n\n" FUNCTION "example_function_name>\n" PARAMETER
			       "example_parameter_1>value_1" PARAMETER_END "\n" PARAMETER
			       "example_parameter_2>\nThis is the value of the second parameter,\n"
			       "which may have several lines\n" PARAMETER_END "\n" FUNCTION_END
			       "\n\n<IMPORTANT>\n"
			       "- A call begins with " FUNCTION "NAME> and ends with " FUNCTION_END
			       ".\n- All required parameters must be given.\n"
			       "- Values are written as they are, without quotes or escapes.\n"
			       "- You may think before the call, and not after it.\n"
			       "- If no function fits, answer in words and call none.\n"
			       "</IMPORTANT>"));
}

/* ---- reading ------------------------------------------------------------------------------ */

static const struct th_tool_spec *tool_of(const struct th_dialect_context *c, struct th_str name)
{
	for (size_t i = 0; i < c->tool_count; i++)
		if (th_str_eq(c->tools[i].name, name))
			return &c->tools[i];
	return NULL;
}

static struct th_str without_newlines(struct th_str value)
{
	if (value.len >= 2 && value.ptr[0] == '\n' && value.ptr[value.len - 1] == '\n')
		return th_str_sub(value, 1, value.len - 2);
	return value;
}

static enum th_code put_json(struct th_str key, struct th_str value, bool list, struct th_jw *w,
			     struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	bool good =
	    !th_json_parse(th_str_trim(value), &doc, NULL) &&
	    (list ? th_json_is_array(th_json_root(doc)) : th_json_is_object(th_json_root(doc)));

	if (!good)
		return th_fail(err, TH_EPROTO, "Parameter '%.*s' is expected to be an %s.",
			       TH_FMT(th_utf8_cut(key, 80)), list ? "array" : "object");
	th_jw_json(w, th_json_root(doc));
	return TH_OK;
}

static enum th_code check_enum(const struct th_json *property, struct th_str key,
			       struct th_str value, struct th_err *err)
{
	const struct th_json *allowed = th_json_get(property, "enum");
	struct th_json_iter it = th_json_iter(allowed);
	struct th_buf names TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ERR_MSG_MAX);

	while (th_json_next(&it)) {
		if (th_str_eq(th_json_str(it.val), value))
			return TH_OK;
		th_buf_printf(&names, "%s'%.*s'", names.len ? ", " : "",
			      TH_FMT(th_json_str(it.val)));
	}
	if (!th_json_count(allowed))
		return TH_OK;
	return th_fail(err, TH_EPROTO, "Parameter '%.*s' is expected to be one of [%.*s].",
		       TH_FMT(th_utf8_cut(key, 80)), TH_FMT(th_buf_str(&names)));
}

static enum th_code put_value(const struct th_json *property, struct th_str key,
			      struct th_str value, struct th_jw *w, struct th_err *err)
{
	struct th_str type = type_of(property), plain = th_str_trim(value);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	int64_t number;

	th_jw_key(w, key);
	if (th_str_is(type, "integer")) {
		if (!th_str_i64(plain, &number))
			return th_fail(err, TH_EPROTO,
				       "Parameter '%.*s' is expected to be an integer.",
				       TH_FMT(th_utf8_cut(key, 80)));
		th_jw_int(w, number);
		return TH_OK;
	}
	if (th_str_is(type, "array") || th_str_is(type, "object"))
		return put_json(key, value, th_str_is(type, "array"), w, err);
	if ((th_str_is(type, "number") || th_str_is(type, "boolean")) &&
	    !th_json_parse(plain, &doc, NULL) && th_json_type(th_json_root(doc)) != TH_JSON_STR) {
		th_jw_json(w, th_json_root(doc));
		return TH_OK;
	}
	th_jw_str(w, value); /* what does not fit the schema is found with all other arguments */
	return check_enum(property, key, value, err);
}

static void list_keys(const struct th_json *keys, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(keys);

	while (th_json_next(&it))
		th_buf_printf(out, "%s'%.*s'", out->len ? ", " : "", TH_FMT(it.key));
}

static enum th_code missing(const struct th_json *schema, const struct th_xml_call *call,
			    struct th_err *err)
{
	struct th_json_iter it = th_json_iter(th_json_get(schema, "required"));
	struct th_buf names TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ERR_MSG_MAX);

	while (th_json_next(&it)) {
		bool there = false;

		for (size_t i = 0; i < call->count && !there; i++)
			there = th_str_eq(call->keys[i], th_json_str(it.val));
		if (!there)
			th_buf_printf(&names, "%s'%.*s'", names.len ? ", " : "",
				      TH_FMT(th_json_str(it.val)));
	}
	if (!names.len)
		return TH_OK;
	return th_fail(err, TH_EPROTO, "Missing required parameters for function '%.*s': {%.*s}",
		       TH_FMT(th_utf8_cut(call->name, 80)), TH_FMT(th_buf_str(&names)));
}

/* Of a parameter that comes again the last value counts, in the first one's place. */
static bool last_value(const struct th_xml_call *call, size_t at, struct th_str *ret)
{
	*ret = call->values[at];
	for (size_t i = 0; i < call->count; i++) {
		if (!th_str_eq(call->keys[i], call->keys[at]))
			continue;
		if (i < at)
			return false;
		*ret = call->values[i];
	}
	return true;
}

static enum th_code put_arguments(const struct th_tool_spec *tool, const struct th_xml_call *call,
				  struct th_buf *out, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_buf names TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ERR_MSG_MAX);
	const struct th_json *schema, *properties;
	struct th_jw w = th_jw(out);
	enum th_code code = th_json_parse(tool->schema, &doc, err);

	if (code)
		return code;
	schema = th_json_root(doc);
	properties = th_json_get(schema, "properties");
	th_jw_object(&w);
	for (size_t i = 0; i < call->count && !code; i++) {
		const struct th_json *property = th_json_getn(properties, call->keys[i]);
		struct th_str value;

		if (!last_value(call, i, &value))
			continue;
		if (!property) {
			list_keys(properties, &names);
			code = th_fail(
			    err, TH_EPROTO,
			    "Parameter '%.*s' is not allowed for function '%.*s'. Allowed "
			    "parameters: {%.*s}",
			    TH_FMT(th_utf8_cut(call->keys[i], 80)),
			    TH_FMT(th_utf8_cut(call->name, 80)), TH_FMT(th_buf_str(&names)));
		} else {
			code = put_value(property, call->keys[i], without_newlines(value), &w, err);
		}
	}
	th_jw_object_end(&w);
	return code ? code : missing(schema, call, err);
}

static enum th_code say_call(struct th_say *s, const struct th_xml_call *call, struct th_err *err)
{
	const struct th_tool_spec *tool = tool_of(s->c, call->name);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	enum th_code code;

	if (!tool) {
		for (size_t i = 0; i < s->c->tool_count; i++)
			th_buf_printf(&text, "%s'%.*s'", i ? ", " : "",
				      TH_FMT(s->c->tools[i].name));
		return th_fail(err, TH_EPROTO,
			       "Function '%.*s' not found in available tools: [%.*s]",
			       TH_FMT(th_utf8_cut(call->name, 80)),
			       TH_FMT(th_utf8_cut(th_buf_str(&text), TH_ERR_MSG_MAX / 2)));
	}
	code = put_arguments(tool, call, &text, err);
	if (!code)
		code = th_buf_check(&text, "the arguments", err);
	if (!code)
		th_say_function(s, call->name, th_buf_str(&text));
	return code;
}

/* The end of a call that is missing: with stop words it never comes, or not whole.  The end of a
 * value must be there: who runs half a command does something else. */
static void add_end(struct th_str text, struct th_buf *out)
{
	struct th_str end = TH_STR(FUNCTION_END);
	size_t there = end.len - 1;

	while (there > 1 && !th_str_ends(text, th_str_sub(end, 0, there)))
		there--;
	if (there > 1)
		th_buf_add(out, th_str_sub(end, there, end.len - there));
	else if (th_str_ends(text, TH_STR(PARAMETER_END)) ||
		 th_str_find(text, TH_STR(PARAMETER)) < 0)
		th_buf_add(out, TH_STR("\n" FUNCTION_END));
}

/* Where "<parameter=KEY=VALUE" has its second "=", a slip of some models; 0: it is none. */
static size_t slip_of(struct th_str tag)
{
	size_t i = 0;

	while (i < tag.len && tag.ptr[i] != '>' && tag.ptr[i] != '=' && tag.ptr[i] != '\n')
		i++;
	return i < tag.len && tag.ptr[i] == '=' ? i : 0;
}

/* A text that ends within its call, and slips.  In the arena. */
static struct th_str mended(struct th_say *s, struct th_str text)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_ANSWER_MAX);
	struct th_str rest;
	ptrdiff_t at;

	text = th_str_trim(text);
	rest = text;
	while ((at = th_str_find(rest, TH_STR(PARAMETER))) >= 0) {
		size_t key = (size_t)at + strlen(PARAMETER);
		size_t slip = slip_of(th_str_sub(rest, key, rest.len));

		th_buf_add(&out, th_str_sub(rest, 0, key + slip));
		if (slip)
			th_buf_add_char(&out, '>');
		rest = th_str_sub(rest, slip ? key + slip + 1 : key, rest.len);
	}
	th_buf_add(&out, rest);
	if (th_str_find(text, TH_STR(FUNCTION_END)) < 0)
		add_end(text, &out);
	return th_arena_str(s->a, th_buf_str(&out));
}

static void read_text(struct th_say *s, struct th_str text)
{
	ptrdiff_t at = th_str_find(text, TH_STR(FUNCTION));
	struct th_xml_call call;
	struct th_str rest;

	if (at >= 0 && th_str_starts(th_str_sub(text, (size_t)at, text.len), TH_STR(FUNCTION ">")))
		at = -1; /* it calls nothing */
	if (at < 0 || !s->c->tool_count) {
		th_say_text(s, text);
		s->any = s->any || text.len;
		return;
	}
	th_say_text(s, th_str_trim(th_str_sub(text, 0, (size_t)at)));
	rest = mended(s, th_str_sub(text, (size_t)at, text.len));
	while (th_xml_begins(rest)) {
		struct th_str from = rest;
		struct th_err why = {};

		if (th_xml_read(&rest, &call, &why) || say_call(s, &call, &why)) {
			th_say_error(s, from, why.msg);
			return;
		}
	}
}

static enum th_code decode(const struct th_dialect_context *c, struct th_str items,
			   struct th_buf *out, struct th_err *err)
{
	return th_dialect_each(c, items, read_text, NULL, NULL, out, err);
}

/* ---- writing ------------------------------------------------------------------------------ */

/* Read back, it would be something else. */
static bool sayable(struct th_str value)
{
	static const char *const tags[] = { FUNCTION, FUNCTION_END, PARAMETER, PARAMETER_END };

	for (size_t i = 0; i < TH_COUNT(tags); i++)
		if (th_str_find(value, th_str_of(tags[i])) >= 0)
			return false;
	return true;
}

static bool put_parameter(struct th_str key, const struct th_json *value, struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_str plain = th_json_str(value);
	bool lines;

	if (th_json_type(value) != TH_JSON_STR) {
		th_json_print(value, &text);
		plain = th_buf_str(&text);
	}
	lines = plain.len && (plain.ptr[0] == '\n' || plain.ptr[plain.len - 1] == '\n');
	th_buf_printf(out, PARAMETER "%.*s>%s%.*s%s" PARAMETER_END "\n", TH_FMT(key),
		      lines ? "\n" : "", TH_FMT(plain), lines ? "\n" : "");
	return sayable(plain);
}

static enum th_code write(const struct th_dialect_context *c, const struct th_said *said,
			  struct th_buf *out, struct th_err *err)
{
	(void)c;
	if (said->count)
		return th_fail(err, TH_EUNSUPPORTED, "it has no words for a screen");
	if (!sayable(said->text))
		return th_fail(err, TH_EUNSUPPORTED, "a text with a tag in it");
	th_buf_add(out, said->text);
	for (size_t i = 0; i < said->function_count; i++) {
		const struct th_said_function *f = &said->functions[i];
		struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
		struct th_json_iter it;

		if (th_json_parse(f->arguments, &doc, NULL) ||
		    !th_json_is_object(th_json_root(doc)))
			return th_fail(err, TH_EUNSUPPORTED, "arguments that are no object");
		th_buf_printf(out, "%s" FUNCTION "%.*s>\n", out->len ? "\n\n" : "",
			      TH_FMT(f->name));
		for (it = th_json_iter(th_json_root(doc)); th_json_next(&it);)
			if (!put_parameter(it.key, it.val, out))
				return th_fail(err, TH_EUNSUPPORTED, "a value with a tag in it");
		th_buf_add(out, TH_STR(FUNCTION_END));
	}
	return TH_OK;
}

static enum th_code encode(const struct th_dialect_context *c, struct th_str items,
			   struct th_buf *out, struct th_err *err)
{
	return th_dialect_write(c, items, write, out, err);
}

const struct th_dialect th_dialect_functions = {
	.name = "functions",
	.note = "function calls as text, <function=…>: for models that have none; no screen",
	.prompt = prompt,
	.decode = decode,
	.encode = encode,
	.results_as_user = true,
	.tools_in_prompt = true,
	.stop = "</function",
};
