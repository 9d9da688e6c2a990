/* SPDX-License-Identifier: Apache-2.0 */
/* Function calls as text: what is read, what is refused, that what is written is read back, and the
 * request. */
#include "unit.h"

#include <stdlib.h>

#include "dialects/list.h"
#include "openai_chat/chat.h"

static const struct th_tool_spec tools[] = {
	{ .name = TH_STR_INIT("shell"),
	  .description = TH_STR_INIT("Runs a command."),
	  .schema = TH_STR_INIT("{\"type\":\"object\",\"properties\":{\"command\":{\"type\":"
				"\"string\",\"description\":"
				"\"what to "
				"run\"},\"timeout_s\":{\"type\":[\"integer\",\"null\"]}},"
				"\"required\":[\"command\"]}") },
	{ .name = TH_STR_INIT("edit"),
	  .schema = TH_STR_INIT(
	      "{\"type\":\"object\",\"properties\":{\"command\":{\"type\":\"string\",\"enum\":["
	      "\"view\","
	      "\"create\"]},\"range\":{\"type\":\"array\"},\"more\":{\"type\":\"object\"},\"deep\":"
	      "{\"type\":"
	      "\"boolean\"},\"ratio\":{\"type\":\"number\"}},\"required\":[\"command\"]}") },
};
static const struct th_profile profile = { .name = "plain",
					   .wire = &th_wire_chat,
					   .dialect = &th_dialect_functions };
static const struct th_dialect_context context = {
	.profile = &profile, .turn = 3, .tools = tools, .tool_count = TH_COUNT(tools)
};

static void put_message(struct th_str text, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_array(&w);
	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("message"));
	th_jw_kstr(&w, "role", TH_STR("assistant"));
	th_jw_kstr(&w, "content", text);
	th_jw_object_end(&w);
	th_jw_array_end(&w);
}

/* The items of a text, to be freed. */
static struct th_json_doc *read_text(const char *text)
{
	struct th_buf items = TH_BUF_INIT(TH_MIB), out = TH_BUF_INIT(TH_MIB);
	struct th_json_doc *doc = NULL;
	struct th_err err = { 0 };

	put_message(th_str_of(text), &items);
	if (th_dialect_functions.decode(&context, th_buf_str(&items), &out, &err) ||
	    th_json_parse(th_buf_str(&out), &doc, &err))
		fail_msg("%s: %s", text, err.msg);
	th_buf_deinit(&items);
	th_buf_deinit(&out);
	return doc;
}

static const struct th_json *item(struct th_json_doc *doc, size_t index)
{
	struct th_json_iter it = th_json_iter(th_json_root(doc));

	for (size_t i = 0; th_json_next(&it); i++)
		if (i == index)
			return it.val;
	fail_msg("no item %zu", index);
	return NULL;
}

static void equals(struct th_str found, const char *want)
{
	if (!th_str_is(found, want))
		fail_msg("found %.*s, want %s", TH_FMT(found), want);
}

/* Keys that never end: each is looked at once. */
static void test_many_open_keys(void **state)
{
	struct th_buf text = TH_BUF_INIT(16 * TH_MIB), items = TH_BUF_INIT(32 * TH_MIB);
	struct th_buf out = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_err err = { 0 };

	(void)state;
	th_buf_add_cstr(&text, "<function=shell>");
	while (text.len < 8 * TH_MIB)
		th_buf_add_cstr(&text, "<parameter=\n");
	put_message(th_buf_str(&text), &items);
	assert_int_equal(th_dialect_functions.decode(&context, th_buf_str(&items), &out, &err),
			 TH_OK);
	assert_non_null(strstr(out.ptr, "\"error\""));
	th_buf_deinit(&text);
	th_buf_deinit(&items);
	th_buf_deinit(&out);
}

static void test_calls(void **state)
{
	static const struct {
		const char *text, *before, *name, *arguments;
	} rows[] = {
		{ "<function=shell>\n<parameter=command>ls</parameter>\n</function>", NULL, "shell",
		  "{\"command\":\"ls\"}" },
		{ "I look.\n\n<function=shell>\n<parameter=command>ls</parameter>\n</function>",
		  "I look.", "shell", "{\"command\":\"ls\"}" },
		/* The end was a stop word. */
		{ "<function=shell>\n<parameter=command>ls</parameter>\n</", NULL, "shell",
		  "{\"command\":\"ls\"}" },
		{ "<function=shell>\n<parameter=command>ls</parameter>\n", NULL, "shell",
		  "{\"command\":\"ls\"}" },
		{ "<function=shell>\n<parameter=command>ls</parameter>\n</function\n", NULL,
		  "shell", "{\"command\":\"ls\"}" },
		/* Of two the last counts. */
		{ "<function=shell>\n<parameter=command>a</parameter>\n<parameter=timeout_s>1</"
		  "parameter>\n<parameter=command>b</parameter>\n</function>",
		  NULL, "shell", "{\"command\":\"b\",\"timeout_s\":1}" },
		/* A slip. */
		{ "<function=shell>\n<parameter=command=ls -l=2</parameter>\n</function>", NULL,
		  "shell", "{\"command\":\"ls -l=2\"}" },
		/* Lines of its own are not the value's; its own are. */
		{ "<function=shell>\n<parameter=command>\na\nb\n</parameter>\n</function>", NULL,
		  "shell", "{\"command\":\"a\\nb\"}" },
		{ "<function=shell>\n<parameter=command>\n\na\n\n</parameter>\n</function>", NULL,
		  "shell", "{\"command\":\"\\na\\n\"}" },
		{ "<function=shell>\n<parameter=command>a = \"b\" && c > "
		  "d</parameter>\n</function>",
		  NULL, "shell", "{\"command\":\"a = \\\"b\\\" && c > d\"}" },
		{ "<function=shell>\n<parameter=command>x</parameter>\n<parameter=timeout_s> 7 "
		  "</parameter>\n</function>",
		  NULL, "shell", "{\"command\":\"x\",\"timeout_s\":7}" },
		{ "<function=edit>\n<parameter=command>view</parameter>\n<parameter=range>[1, "
		  "2]</parameter>\n<parameter=more>"
		  "{\"a\": "
		  "1}</parameter>\n<parameter=deep>true</parameter>\n<parameter=ratio>0.5</"
		  "parameter>\n</function>",
		  NULL, "edit",
		  "{\"command\":\"view\",\"range\":[1,2],\"more\":{\"a\":1},\"deep\":true,"
		  "\"ratio\":0.5}" },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_json_doc *doc = read_text(rows[i].text);
		size_t at = rows[i].before != NULL;
		const struct th_json *call = item(doc, at);

		assert_int_equal(th_json_count(th_json_root(doc)), at + 1);
		equals(th_json_get_str(call, "type"), "function_call");
		equals(th_json_get_str(call, "call_id"), "call_3_0");
		equals(th_json_get_str(call, "name"), rows[i].name);
		equals(th_json_get_str(call, "arguments"), rows[i].arguments);
		th_json_free(doc);
	}
}

static void test_refusals(void **state)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{ "<function=nope>\n</function>",
		  "Function 'nope' not found in available tools: ['shell', 'edit']" },
		{ "<function=shell>\n<parameter=cmd>x</parameter>\n</function>",
		  "Parameter 'cmd' is not allowed for function 'shell'. Allowed parameters: "
		  "{'command', 'timeout_s'}" },
		{ "<function=shell>\n<parameter=command>x</parameter>\n<parameter=timeout_s>soon</"
		  "parameter>\n</function>",
		  "Parameter 'timeout_s' is expected to be an integer." },
		{ "<function=edit>\n<parameter=command>burn</parameter>\n</function>",
		  "Parameter 'command' is expected to be one of ['view', 'create']." },
		{ "<function=edit>\n<parameter=command>view</parameter>\n<parameter=range>1 to "
		  "2</parameter>\n</function>",
		  "Parameter 'range' is expected to be an array." },
		{ "<function=edit>\n<parameter=command>view</parameter>\n<parameter=more>[1]</"
		  "parameter>\n</function>",
		  "Parameter 'more' is expected to be an object." },
		/* What is cut off may have gone on: "rm -r /tmp" of "rm -r /tmp/x". */
		{ "<function=shell>\n<parameter=command>rm -r /tmp",
		  "the parameter command does not end" },
		{ "<function=shell>\n</function>",
		  "Missing required parameters for function 'shell': {'command'}" },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_json_doc *doc = read_text(rows[i].text);

		assert_int_equal(th_json_count(th_json_root(doc)), 1);
		equals(th_json_get_str(item(doc, 0), "error"), rows[i].error);
		equals(th_json_get_str(item(doc, 0), "input"), rows[i].text);
		th_json_free(doc);
	}
}

static void test_words(void **state)
{
	struct th_json_doc *doc = read_text("There is < and > here, and no call.");

	(void)state;
	assert_int_equal(th_json_count(th_json_root(doc)), 1);
	equals(th_json_get_str(item(doc, 0), "type"), "message");
	th_json_free(doc);
}

/* Any value is written so that it is read back, or there is no word for it. */
static void test_there_and_back(void **state)
{
	static const char *const pieces[] = { "\n",
					      "a",
					      " ",
					      "</",
					      "<",
					      "=",
					      ">",
					      "parameter",
					      "\"",
					      "\\",
					      "x = 1",
					      "é",
					      "</parameter>",
					      "<parameter=",
					      "</function>",
					      "{}" };
	uint64_t seed = 1;
	size_t written = 0;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		struct th_buf value = TH_BUF_INIT(TH_KIB), items = TH_BUF_INIT(TH_MIB),
			      said = TH_BUF_INIT(TH_MIB), back = TH_BUF_INIT(TH_MIB),
			      arguments = TH_BUF_INIT(TH_MIB);
		struct th_jw w = th_jw(&items), a = th_jw(&arguments);
		struct th_json_doc *doc;
		struct th_err err = { 0 };

		for (seed = seed * 6364136223846793005u + 1; (seed >> 40) % 7;
		     seed = seed * 6364136223846793005u + 1)
			th_buf_add(&value, th_str_of(pieces[(seed >> 33) % TH_COUNT(pieces)]));
		th_jw_object(&a);
		th_jw_kstr(&a, "command", th_buf_str(&value));
		th_jw_object_end(&a);
		th_jw_array(&w);
		th_jw_object(&w);
		th_jw_kstr(&w, "type", TH_STR("function_call"));
		th_jw_kstr(&w, "call_id", TH_STR("c"));
		th_jw_kstr(&w, "name", TH_STR("shell"));
		th_jw_kstr(&w, "arguments", th_buf_str(&arguments));
		th_jw_object_end(&w);
		th_jw_array_end(&w);
		if (!th_dialect_functions.encode(&context, th_buf_str(&items), &said, &err)) {
			written++;
			assert_int_equal(
			    th_dialect_functions.decode(&context, th_buf_str(&said), &back, &err),
			    TH_OK);
			assert_int_equal(th_json_parse(th_buf_str(&back), &doc, &err), TH_OK);
			equals(th_json_get_str(item(doc, 0), "arguments"), arguments.ptr);
			th_json_free(doc);
		}
		th_buf_deinit(&value);
		th_buf_deinit(&items);
		th_buf_deinit(&said);
		th_buf_deinit(&back);
		th_buf_deinit(&arguments);
	}
	assert_true(written > 1000);
}

/* The request declares no tools, has them in its prompt, and ends at the end of a call. */
static void test_the_request(void **state)
{
	const struct th_agent agent = { .instructions = TH_STR("Be brief.") };
	const struct th_request_options o = { .profile = &profile,
					      .model = TH_STR("plain"),
					      .agent = &agent,
					      .tools = tools,
					      .tool_count = TH_COUNT(tools) };
	const struct th_result result = { .call_item = TH_STR("{\"type\":\"function_call\"}"),
					  .call_id = TH_STR("c"),
					  .tool = TH_STR("shell"),
					  .output = TH_STR("\"a.txt\"") };
	struct th_group group = { .kind = TH_GROUP_RESULTS, .results = &result, .result_count = 1 };
	struct th_buf head = TH_BUF_INIT(TH_MIB), out = TH_BUF_INIT(TH_MIB);
	struct th_hole holes[4];
	struct th_err err;
	size_t count = 0;

	(void)state;
	profile.wire->head(&o, &head);
	assert_null(strstr(head.ptr, "\"tools\""));
	assert_non_null(strstr(head.ptr, "\"stop\":[\"</function\"]"));
	assert_non_null(
	    strstr(head.ptr, "Be brief.\\n\\nYou have access to the following functions:"));
	assert_non_null(strstr(
	    head.ptr,
	    "---- BEGIN FUNCTION #1: shell ----\\nDescription: Runs a command.\\nParameters:\\n  "
	    "(1) command (string, required): what to run\\n  (2) timeout_s (integer, "
	    "optional)\\n"));
	assert_non_null(strstr(head.ptr, "Allowed values: [`view`, `create`]"));
	assert_int_equal(th_group_render(&o, &group, true, &out, holes, 4, &count, &err), TH_OK);
	assert_string_equal(
	    out.ptr,
	    ",{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"EXECUTION RESULT of "
	    "[shell]:\"},{\"type\":\"text\",\"text\":\"a.txt\"}]}");
	/* A call goes back whole, whatever the stop word cut off. */
	group = (struct th_group){
		.kind = TH_GROUP_ANSWER,
		.items = TH_STR("[{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"shell\","
				"\"arguments\":"
				"\"{\\\"command\\\":\\\"ls\\\"}\"}]"),
		.raw = TH_STR("{\"wire\":\"chat\",\"message\":{\"role\":\"assistant\",\"content\":"
			      "\"<function=shell>\\n"
			      "<parameter=command>ls</parameter>\\n\"}}"),
	};
	th_buf_clear(&out);
	assert_int_equal(th_group_render(&o, &group, true, &out, holes, 4, &count, &err), TH_OK);
	assert_string_equal(
	    out.ptr,
	    ",{\"role\":\"assistant\",\"content\":\"<function=shell>\\n<parameter=command>ls"
	    "</parameter>\\n</function>\"}");
	th_buf_deinit(&head);
	th_buf_deinit(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),       cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_words),       cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_the_request), cmocka_unit_test(test_many_open_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
