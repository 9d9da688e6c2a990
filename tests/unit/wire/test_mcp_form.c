/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>

#include "wire/mcp_form.h"

#define FIELD(name, more) "\"" name "\":{" more "}"
#define FORM(fields, required)                                               \
	"{\"message\":\"Who?\",\"requestedSchema\":{\"properties\":{" fields \
	"},\"required\":[" required "]}}"
#define NAME FIELD("name", "\"type\":\"string\"")
#define AGE FIELD("age", "\"type\":\"integer\",\"default\":30")

static enum th_code result(const char *params, const char *answer, struct th_buf *out,
			   struct th_err *err)
{
	struct th_json_doc *doc = NULL;
	enum th_code code;

	assert_int_equal(th_json_parse(th_str_of(params), &doc, err), TH_OK);
	th_buf_clear(out);
	code = th_mcp_form_result(th_json_root(doc), th_str_of(answer ? answer : ""), !answer, out,
				  err);
	th_json_free(doc);
	return code;
}

static void test_answers(void **state)
{
	static const struct {
		const char *params, *answer, *result; /* result NULL: it does not fit */
	} rows[] = {
		{ FORM(NAME, "\"name\""), " Ann ", "{\"name\":\"Ann\"}" },
		{ FORM(NAME, "\"name\""), "", NULL },
		{ FORM(NAME, ""), "", "{}" },
		{ FORM(NAME "," AGE, "\"name\""), "name=Ann", "{\"name\":\"Ann\",\"age\":30}" },
		{ FORM(NAME "," AGE, "\"name\""), "Ann", "{\"name\":\"Ann\",\"age\":30}" },
		{ FORM(NAME "," AGE, "\"name\",\"age\""), "age=3", NULL },
		{ FORM(NAME "," AGE, "\"name\""), "name = A=b\nage=4",
		  "{\"name\":\"A=b\",\"age\":4}" },
		{ FORM(NAME "," AGE, "\"name\""), "{\"name\":\"Ann\",\"age\":\"7\"}",
		  "{\"name\":\"Ann\",\"age\":7}" },
		{ FORM(NAME "," AGE, "\"name\""), "name=Ann; age=old", NULL },
		{ FORM(NAME "," AGE, "\"name\""), "name=Ann; age=1.5", NULL },
		{ FORM(AGE, ""), "", "{\"age\":30}" },
		{ FORM(FIELD("ok", "\"type\":\"boolean\""), ""), "YES", "{\"ok\":true}" },
		{ FORM(FIELD("ok", "\"type\":\"boolean\""), ""), "perhaps", NULL },
		{ FORM(FIELD("c", "\"type\":\"string\",\"enum\":[\"a\",\"b\"]"), ""), "b",
		  "{\"c\":\"b\"}" },
		{ FORM(FIELD("c", "\"type\":\"string\",\"enum\":[\"a\",\"b\"]"), ""), "x", NULL },
		{ FORM(FIELD("c", "\"type\":\"string\",\"oneOf\":[{\"const\":\"r\",\"title\":"
				  "\"Red\"}]"),
		       ""),
		  "Red", "{\"c\":\"r\"}" },
		{ FORM(FIELD("c", "\"type\":\"array\",\"items\":{\"enum\":[\"a\",\"b\"]}"), ""),
		  "b, a", "{\"c\":[\"b\",\"a\"]}" },
		{ FORM(FIELD("c", "\"type\":\"array\",\"items\":{\"anyOf\":[{\"const\":\"a\"}]}"),
		       ""),
		  "a,z", NULL },
		{ "{\"message\":3,\"requestedSchema\":[]}", "x", "{}" },
	};
	struct th_buf out = TH_BUF_INIT(TH_MIB), want = TH_BUF_INIT(TH_KIB);

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_err err = { 0 };
		enum th_code code = result(rows[i].params, rows[i].answer, &out, &err);

		assert_int_equal(code, rows[i].result ? TH_OK : TH_EUSAGE);
		if (code)
			continue;
		th_buf_clear(&want);
		th_buf_printf(&want, "{\"action\":\"accept\",\"content\":%s}", rows[i].result);
		assert_string_equal(out.ptr, want.ptr);
	}
	assert_int_equal(result(FORM(NAME, "\"name\""), NULL, &out, NULL), TH_OK);
	assert_string_equal(out.ptr, "{\"action\":\"decline\"}");
	assert_int_equal(result("{\"mode\":\"url\",\"url\":\"https://x\"}", "done", &out, NULL),
			 TH_OK);
	assert_string_equal(out.ptr, "{\"action\":\"accept\"}");
	th_buf_deinit(&out);
	th_buf_deinit(&want);
}

static enum th_code question(const char *params, struct th_buf *out, struct th_err *err)
{
	struct th_json_doc *doc = NULL;
	enum th_code code;

	assert_int_equal(th_json_parse(th_str_of(params), &doc, err), TH_OK);
	th_buf_clear(out);
	code = th_mcp_form_question(th_json_root(doc), TH_STR(""), out, err);
	th_json_free(doc);
	return code;
}

static void test_questions(void **state)
{
	struct th_buf out = TH_BUF_INIT(TH_MIB);

	(void)state;
	assert_int_equal(question(FORM(NAME "," AGE, ""), &out, NULL), TH_OK);
	assert_string_equal(out.ptr,
			    "{\"question\":\"Who?\\n- name (string)\\n- age (integer); default "
			    "30\\nAnswer as: name=value; name=value\"}");
	assert_int_equal(
	    question(FORM(FIELD("c", "\"type\":\"string\",\"enum\":[\"a\",\"b\"]"), ""), &out,
		     NULL),
	    TH_OK);
	assert_non_null(strstr(out.ptr, "\"options\":[\"a\",\"b\"]"));
	assert_int_equal(question("{\"message\":\"\\u001b[2J\"}", &out, NULL), TH_OK);
	assert_null(strchr(out.ptr, '\x1b'));
	assert_int_equal(
	    question("{\"mode\":\"url\",\"message\":\"m\",\"url\":\"https://x/y\"}", &out, NULL),
	    TH_OK);
	assert_non_null(strstr(out.ptr, "https://x/y"));
	assert_int_equal(question("{\"mode\":\"url\",\"url\":\"javascript:x\"}", &out, NULL),
			 TH_EPROTO);
	th_buf_deinit(&out);
}

/* As many fields as a form may have, and one more. */
static void test_fields_limit(void **state)
{
	struct th_buf params = TH_BUF_INIT(64 * TH_KIB), out = TH_BUF_INIT(TH_MIB);

	(void)state;
	for (int more = 0; more < 2; more++) {
		th_buf_clear(&params);
		th_buf_add_cstr(&params, "{\"requestedSchema\":{\"properties\":{");
		for (int i = 0; i < TH_MCP_FORM_FIELDS_MAX + more; i++)
			th_buf_printf(&params, "%s\"f%d\":{\"type\":\"string\"}", i ? "," : "", i);
		th_buf_add_cstr(&params, "}}}");
		assert_int_equal(question(params.ptr, &out, NULL), more ? TH_ELIMIT : TH_OK);
	}
	th_buf_deinit(&params);
	th_buf_deinit(&out);
}

/* What is answered is JSON of so many bytes at most. */
static void test_answers_limit(void **state)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_err err = { 0 };

	(void)state;
	assert_int_equal(
	    th_json_parse(TH_STR("{\"requestedSchema\":{\"properties\":{\"a\":{\"type\":"
				 "\"string\"}},\"required\":[\"a\"]}}"),
			  &doc, &err),
	    TH_OK);
	for (size_t more = 0; more < 2; more++) {
		struct th_buf answer TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
		struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);

		while (answer.len + strlen("{\"a\":\"\"}") < TH_MCP_ANSWER_MAX + more)
			th_buf_add_char(&answer, 'x');
		assert_int_equal(
		    th_mcp_form_result(th_json_root(doc), th_buf_str(&answer), false, &out, &err),
		    more ? TH_ELIMIT : TH_OK);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_questions),
		cmocka_unit_test(test_fields_limit),
		cmocka_unit_test(test_answers_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
