/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/output.h"
#include "base/buf.h"
#include "base/limits.h"
#include "schema/schema.h"

#define MEMBER "response"

static bool names_object(const struct th_json *type)
{
	return th_str_is(th_json_str(type), "object") ||
	       (th_json_count(type) == 1 && th_str_is(th_json_str(th_json_at(type, 0)), "object"));
}

/* May it stand at the top as it is?  What does not say is left to the provider. */
static bool is_of_object(const struct th_json *schema)
{
	static const char *const others[] = { "anyOf", "oneOf", "enum", "const", "items" };
	const struct th_json *type = th_json_get(schema, "type");

	if (!th_json_is_object(schema) || type)
		return names_object(type);
	for (size_t i = 0; i < TH_COUNT(others); i++)
		if (th_json_get(schema, others[i]))
			return false;
	return true;
}

static bool is_definitions(struct th_str key)
{
	return th_str_is(key, "$defs") || th_str_is(key, "definitions");
}

static void put_members(struct th_jw *w, const struct th_json *schema, bool definitions)
{
	struct th_json_iter it = th_json_iter(schema);

	while (th_json_next(&it)) {
		if (is_definitions(it.key) != definitions)
			continue;
		th_jw_key(w, it.key);
		th_jw_json(w, it.val);
	}
}

static void put_wrapped(const struct th_json *schema, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	put_members(&w, schema, true);
	th_jw_kstr(&w, "type", TH_STR("object"));
	th_jw_name(&w, TH_STR("properties"));
	th_jw_object(&w);
	th_jw_name(&w, TH_STR(MEMBER));
	th_jw_object(&w);
	put_members(&w, schema, false);
	th_jw_object_end(&w);
	th_jw_object_end(&w);
	th_jw_kraw(&w, "required", TH_STR("[\"" MEMBER "\"]"));
	th_jw_kbool(&w, "additionalProperties", false);
	th_jw_object_end(&w);
}

enum th_code th_output_schema(struct th_str schema, struct th_arena *a, struct th_str *ret,
			      bool *ret_strict, struct th_err *err)
{
	struct th_buf wrapped = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_json_doc *doc = NULL;
	struct th_err why;
	enum th_code code = th_json_parse(schema, &doc, err);

	if (!code && th_json_is_object(th_json_root(doc)) && !is_of_object(th_json_root(doc))) {
		put_wrapped(th_json_root(doc), &wrapped);
		th_json_free(doc);
		doc = NULL;
		schema = th_buf_str(&wrapped);
		code = th_json_parse(schema, &doc, err);
	}
	*ret_strict = !code && !th_schema_strict(th_json_root(doc), 0, a, ret, &why);
	if (!code && !*ret_strict)
		*ret = th_arena_str(a, schema);
	th_json_free(doc);
	th_buf_deinit(&wrapped);
	return code;
}

/* What is checked of an answer: the member that it stands in, or all of it. */
static const struct th_json *said(const struct th_json *form, const struct th_json *answer)
{
	if (is_of_object(form) || th_json_count(answer) != 1 || !th_json_get(answer, MEMBER))
		return answer;
	return th_json_get(answer, MEMBER);
}

enum th_code th_output_read(struct th_str schema, struct th_str text, struct th_buf *ret,
			    struct th_err *err)
{
	struct th_buf faults = TH_BUF_INIT(16 * TH_KIB);
	struct th_json_doc *doc = NULL, *form_doc = NULL;
	const struct th_json *form, *answer, *value;
	struct th_jw w = th_jw(ret);
	enum th_code code = th_json_parse(text, &doc, err);

	if (!code)
		code = th_json_parse(schema, &form_doc, err);
	form = code ? NULL : th_json_root(form_doc);
	answer = code ? NULL : th_json_root(doc);
	value = code ? NULL : said(form, answer);
	if (!code)
		code = th_schema_check(form, value, &faults, err);
	if (code == TH_EPROTO && value == answer && th_json_is_object(answer) &&
	    !is_of_object(form))
		code = th_fail(err, TH_EPROTO,
			       "the member \"" MEMBER "\", which is the answer, is not there");
	if (!code && value == answer)
		th_buf_add(ret, text);
	else if (!code)
		th_jw_json(&w, value);
	th_buf_deinit(&faults);
	th_json_free(form_doc);
	th_json_free(doc);
	return code;
}
