/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/mcp_form.h"

#include "base/text.h"
#include "wire/oauth.h"

#define OPTIONS_MAX 32 /* shown to choose from */

static bool is_url(const struct th_json *params)
{
	return th_str_is(th_json_get_str(params, "mode"), "url");
}

static struct th_json_iter fields_of(const struct th_json *params)
{
	return th_json_iter(th_json_get(th_json_get(params, "requestedSchema"), "properties"));
}

/* The list of values that a field, or an element of it, may have; NULL: any. */
static const struct th_json *values_of(const struct th_json *field)
{
	static const char *const names[] = { "enum", "oneOf", "anyOf" };
	const struct th_json *items = th_json_get(field, "items"), *found = NULL;

	for (size_t i = 0; i < TH_COUNT(names) && !th_json_is_array(found); i++)
		found = th_json_get(items ? items : field, names[i]);
	return th_json_is_array(found) ? found : NULL;
}

/* An element of such a list is a string, or {"const", "title"}. */
static struct th_str value_of(const struct th_json *element)
{
	struct th_str text = th_json_str(element);

	return text.ptr ? text : th_json_get_str(element, "const");
}

static const struct th_json *only_field(const struct th_json *params, struct th_str *ret_name)
{
	struct th_json_iter it = fields_of(params);

	if (!th_json_is_object(it.parent) || th_json_count(it.parent) != 1 || !th_json_next(&it))
		return NULL;
	*ret_name = it.key;
	return it.val;
}

/* ---- the question --------------------------------------------------------------------------- */

static void put_line(struct th_buf *out, struct th_str text, size_t size_max)
{
	th_text_line(out, th_utf8_cut(text, size_max), size_max);
}

static void put_field(struct th_buf *out, struct th_str name, const struct th_json *field)
{
	const struct th_json *fallback = th_json_get(field, "default");
	struct th_str title = th_json_get_str(field, "title");
	struct th_str more = th_json_get_str(field, "description");
	struct th_json_iter it = th_json_iter(values_of(field));
	int count = 0;

	th_buf_add_cstr(out, "\n- ");
	put_line(out, name, 80);
	th_buf_add_cstr(out, " (");
	put_line(out, th_json_get_str(field, "type"), 20);
	th_buf_add_char(out, ')');
	if (title.len || more.len) {
		th_buf_add_cstr(out, ": ");
		put_line(out, more.len ? more : title, 300);
	}
	while (th_json_is_array(it.parent) && th_json_next(&it) && count < OPTIONS_MAX) {
		th_buf_add_cstr(out, count++ ? ", " : "; one of ");
		put_line(out, value_of(it.val), 80);
	}
	if (fallback) {
		struct th_buf text = TH_BUF_INIT(4 * TH_KIB);

		th_json_print(fallback, &text);
		th_buf_add_cstr(out, "; default ");
		put_line(out, th_buf_str(&text), 100);
		th_buf_deinit(&text);
	}
}

static void put_options(const struct th_json *params, struct th_jw *w)
{
	struct th_str name;
	const struct th_json *field = only_field(params, &name);
	const struct th_json *values = values_of(field);
	struct th_json_iter it = th_json_iter(values);
	int count = 0;

	if (is_url(params)) {
		th_jw_kraw(w, "options", TH_STR("[\"done\"]"));
		return;
	}
	if (th_str_is(th_json_get_str(field, "type"), "boolean")) {
		th_jw_kraw(w, "options", TH_STR("[\"yes\",\"no\"]"));
		return;
	}
	if (!values || th_json_get(field, "items"))
		return;
	th_jw_name(w, TH_STR("options"));
	th_jw_array(w);
	while (th_json_next(&it) && count++ < OPTIONS_MAX)
		if (value_of(it.val).len)
			th_jw_str(w, th_utf8_cut(value_of(it.val), 200));
	th_jw_array_end(w);
}

enum th_code th_mcp_form_question(const struct th_json *params, struct th_str why,
				  struct th_buf *out, struct th_err *err)
{
	struct th_buf text = TH_BUF_INIT(32 * TH_KIB);
	struct th_json_iter it = fields_of(params);
	struct th_str url = th_json_get_str(params, "url");
	struct th_jw w = th_jw(out);
	int count = 0;
	enum th_code code;

	if (why.len) {
		put_line(&text, why, 400);
		th_buf_add_char(&text, '\n');
	}
	put_line(&text, th_json_get_str(params, "message"), 4000);
	if (is_url(params)) {
		if (!th_oauth_is_safe(url)) {
			th_buf_deinit(&text);
			return th_fail(err, TH_EPROTO,
				       "the server wants an address opened that is not https");
		}
		th_buf_add_cstr(&text, "\nOpen this address yourself, if you trust it: ");
		th_buf_add(&text, url);
	}
	while (!is_url(params) && th_json_is_object(it.parent) && th_json_next(&it) &&
	       count++ < TH_MCP_FORM_FIELDS_MAX)
		put_field(&text, it.key, it.val);
	if (count > 1)
		th_buf_add_cstr(&text, "\nAnswer as: name=value; name=value");
	code = th_buf_check(&text, "the server's question", err);
	if (!code && count > TH_MCP_FORM_FIELDS_MAX)
		code = th_fail(err, TH_ELIMIT, "the server's form has more than %d fields",
			       TH_MCP_FORM_FIELDS_MAX);
	if (!code) {
		th_jw_object(&w);
		th_jw_kstr(&w, "question", th_buf_str(&text));
		put_options(params, &w);
		th_jw_object_end(&w);
	}
	th_buf_deinit(&text);
	return code;
}

/* ---- the answer ----------------------------------------------------------------------------- */

static enum th_code wrong(struct th_str name, const char *what, struct th_err *err)
{
	struct th_buf text = TH_BUF_INIT(TH_KIB);

	put_line(&text, name, 80);
	th_fail(err, TH_EUSAGE, "%s %s", text.len ? text.ptr : "the answer", what);
	th_buf_deinit(&text);
	return TH_EUSAGE;
}

/* The value that a word means: itself, or that of its title. */
static struct th_str choice_of(const struct th_json *values, struct th_str word)
{
	struct th_json_iter it = th_json_iter(values);

	while (th_json_next(&it))
		if (th_str_eq(value_of(it.val), word) ||
		    (word.len && th_str_eq(th_json_get_str(it.val, "title"), word)))
			return value_of(it.val);
	return (struct th_str){ NULL, 0 };
}

static enum th_code put_word(const struct th_json *values, struct th_str name, struct th_str word,
			     struct th_jw *w, struct th_err *err)
{
	struct th_str value = values ? choice_of(values, word) : word;

	if (values && !value.ptr)
		return wrong(name, "is none of the values that the server takes", err);
	th_jw_str(w, value);
	return TH_OK;
}

static enum th_code put_list(const struct th_json *field, struct th_str name, struct th_str text,
			     struct th_jw *w, struct th_err *err)
{
	enum th_code code = TH_OK;

	th_jw_array(w);
	while (text.len && !code) {
		struct th_str word = th_str_trim(th_str_split(&text, ','));

		if (word.len)
			code = put_word(values_of(field), name, word, w, err);
	}
	th_jw_array_end(w);
	return code;
}

static enum th_code put_text(const struct th_json *field, struct th_str name, struct th_str text,
			     struct th_jw *w, struct th_err *err)
{
	struct th_str type = th_json_get_str(field, "type");
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	enum th_json_type is;

	if (th_str_is(type, "array"))
		return put_list(field, name, text, w, err);
	if (th_str_is(type, "boolean")) {
		bool yes = th_str_ieq(text, TH_STR("yes")) || th_str_ieq(text, TH_STR("true"));

		if (!yes && !th_str_ieq(text, TH_STR("no")) && !th_str_ieq(text, TH_STR("false")))
			return wrong(name, "must be yes or no", err);
		th_jw_bool(w, yes);
		return TH_OK;
	}
	if (!th_str_is(type, "number") && !th_str_is(type, "integer"))
		return put_word(values_of(field), name, text, w, err);
	if (th_json_parse(text, &doc, NULL))
		return wrong(name, "must be a number", err);
	is = th_json_type(th_json_root(doc));
	if (is != TH_JSON_INT && (is != TH_JSON_REAL || th_str_is(type, "integer")))
		return wrong(name, "must be a number, and a whole one where it is an integer", err);
	th_jw_json(w, th_json_root(doc));
	return TH_OK;
}

/* As a member of a JSON object has it; the server looks closer. */
static enum th_code put_value(const struct th_json *field, struct th_str name,
			      const struct th_json *value, struct th_jw *w, struct th_err *err)
{
	if (th_json_type(value) == TH_JSON_STR)
		return put_text(field, name, th_json_str(value), w, err);
	th_jw_json(w, value);
	return TH_OK;
}

/* "name=value" of a text; .ptr NULL: it is not there. */
static struct th_str named(struct th_str text, struct th_str name)
{
	while (text.len) {
		ptrdiff_t line = th_str_find_char(text, '\n'), part = th_str_find_char(text, ';');
		char sep = line >= 0 && (part < 0 || line < part) ? '\n' : ';';
		struct th_str value = th_str_split(&text, sep);
		struct th_str key = th_str_trim(th_str_split(&value, '='));

		if (th_str_eq(key, name))
			return th_str_n(value.ptr ? th_str_trim(value).ptr : "",
					th_str_trim(value).len);
	}
	return (struct th_str){ NULL, 0 };
}

static bool is_required(const struct th_json *params, struct th_str name)
{
	struct th_json_iter it =
	    th_json_iter(th_json_get(th_json_get(params, "requestedSchema"), "required"));

	while (th_json_is_array(it.parent) && th_json_next(&it))
		if (th_str_eq(th_json_str(it.val), name))
			return true;
	return false;
}

/* The one field that must be answered, should there be one: a text without a name means it. */
static struct th_str needed_field(const struct th_json *params)
{
	struct th_json_iter it = fields_of(params);
	struct th_str name = { NULL, 0 };
	int count = 0;

	while (th_json_is_object(it.parent) && th_json_next(&it))
		if (is_required(params, it.key) && !th_json_get(it.val, "default")) {
			name = it.key;
			count++;
		}
	return count == 1 ? name : (struct th_str){ NULL, 0 };
}

static enum th_code put_content(const struct th_json *params, struct th_str answer, struct th_jw *w,
				struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_iter it = fields_of(params);
	const struct th_json *object = NULL;
	enum th_code code = TH_OK;
	struct th_str only = { NULL, 0 };

	if (!only_field(params, &only) && th_str_find_char(answer, '=') < 0)
		only = needed_field(params);
	if (answer.len && answer.ptr[0] == '{' && th_json_parse(answer, &doc, NULL) == TH_OK)
		object = th_json_root(doc);
	while (th_json_is_object(it.parent) && th_json_next(&it) && !code) {
		const struct th_json *value = th_json_getn(object, it.key);
		const struct th_json *fallback = th_json_get(it.val, "default");
		struct th_str text = object ? (struct th_str){ NULL, 0 } : named(answer, it.key);

		if (!object && !text.ptr && answer.len && th_str_eq(only, it.key))
			text = answer;
		if (!value && !text.ptr && !fallback && is_required(params, it.key))
			return wrong(it.key, "is missing", err);
		if (!value && !text.ptr && !fallback)
			continue;
		th_jw_key(w, it.key);
		if (value)
			code = put_value(it.val, it.key, value, w, err);
		else if (text.ptr)
			code = put_text(it.val, it.key, text, w, err);
		else
			th_jw_json(w, fallback);
	}
	return code;
}

enum th_code th_mcp_form_result(const struct th_json *params, struct th_str answer, bool declined,
				struct th_buf *out, struct th_err *err)
{
	struct th_buf content = TH_BUF_INIT(TH_MCP_ANSWER_MAX);
	struct th_jw w = th_jw(out), inside = th_jw(&content);
	enum th_code code = TH_OK;

	th_jw_object(&inside);
	if (!declined && !is_url(params))
		code = put_content(params, th_str_trim(answer), &inside, err);
	th_jw_object_end(&inside);
	if (!code)
		code = th_buf_check(&content, "the answer", err);
	if (!code) {
		th_jw_object(&w);
		th_jw_kstr(&w, "action", declined ? TH_STR("decline") : TH_STR("accept"));
		if (!declined && !is_url(params))
			th_jw_kraw(&w, "content", th_buf_str(&content));
		th_jw_object_end(&w);
	}
	th_buf_deinit(&content);
	return code;
}
