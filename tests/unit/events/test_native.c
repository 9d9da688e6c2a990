/* SPDX-License-Identifier: Apache-2.0 */
/* test_native.c - the Responses API's own calls as calls of tools, and what becomes of them as its
 * own items. */
#include "unit.h"

#include "base/limits.h"
#include "events/native.h"
#include "transcript/plan.h"
#include "transcript/transcript.h"

static const struct {
	const char *item;
	enum th_native kind;
	const char *tool, *arguments, *function; /* function: the arguments where it is one */
} calls[] = {
	{ "{\"type\":\"shell_call\",\"action\":{\"commands\":[\"ls\",\"pwd\"],\"timeout_ms\":null,"
	  "\"max_output_length\":null}}",
	  TH_NATIVE_SHELL, "shell", "{\"commands\":[\"ls\",\"pwd\"]}",
	  "{\"command\":\"ls\\npwd\"}" },
	{ "{\"type\":\"shell_call\",\"action\":{\"commands\":[\"ls\"],\"timeoutMs\":500,"
	  "\"maxOutputLength\":0}}",
	  TH_NATIVE_SHELL, "shell",
	  "{\"commands\":[\"ls\"],\"timeout_ms\":500,\"max_output_length\":0}",
	  "{\"command\":\"ls\"}" },
	/* What is wrong is for the tool to refuse. */
	{ "{\"type\":\"shell_call\",\"action\":{\"commands\":[\"ls\"],\"timeout\":-1}}",
	  TH_NATIVE_SHELL, "shell", "{\"commands\":[\"ls\"],\"timeout_ms\":-1}",
	  "{\"command\":\"ls\"}" },
	{ "{\"type\":\"shell_call\",\"action\":{\"commands\":[\"ls\",7]}}", TH_NATIVE_SHELL,
	  "shell", "{\"action\":{\"commands\":[\"ls\",7]}}",
	  "{\"action\":{\"commands\":[\"ls\",7]}}" },
	{ "{\"type\":\"shell_call\"}", TH_NATIVE_SHELL, "shell", "{}", "{}" },
	/* One that the provider runs itself. */
	{ "{\"type\":\"shell_call\",\"environment\":{\"type\":\"container_reference\"},\"action\":"
	  "{\"commands\":[\"ls\"]}}",
	  TH_NATIVE_NONE, NULL, NULL, NULL },
	{ "{\"type\":\"local_shell_call\",\"action\":{\"type\":\"exec\",\"command\":[\"echo\","
	  "\"it's\"],\"env\":{},\"timeout_ms\":9}}",
	  TH_NATIVE_LOCAL_SHELL, "shell", "{\"argv\":[\"echo\",\"it's\"],\"timeout_ms\":9}",
	  "{\"command\":\"echo it's\"}" },
	{ "{\"type\":\"local_shell_call\",\"action\":{\"command\":[\"env\"],\"env\":{\"A\":\"b "
	  "c\"},"
	  "\"working_directory\":\"/x y\",\"user\":\"\"}}",
	  TH_NATIVE_LOCAL_SHELL, "shell",
	  "{\"argv\":[\"env\",\"A=b c\",\"env\"],\"folder\":\"/x y\"}",
	  "{\"command\":\"env A=b c env\"}" },
	/* What would be something else than it says. */
	{ "{\"type\":\"local_shell_call\",\"action\":{\"command\":[\"x\"],\"env\":{\"N\":5}}}",
	  TH_NATIVE_LOCAL_SHELL, "shell", "{\"action\":{\"command\":[\"x\"],\"env\":{\"N\":5}}}",
	  "{\"action\":{\"command\":[\"x\"],\"env\":{\"N\":5}}}" },
	{ "{\"type\":\"local_shell_call\",\"action\":{\"command\":[\"x\"],\"env\":{\"A=B\":\"c\"}}"
	  "}",
	  TH_NATIVE_LOCAL_SHELL, "shell",
	  "{\"action\":{\"command\":[\"x\"],\"env\":{\"A=B\":\"c\"}}}",
	  "{\"action\":{\"command\":[\"x\"],\"env\":{\"A=B\":\"c\"}}}" },
	{ "{\"type\":\"local_shell_call\",\"action\":{\"command\":[\"x\"],\"env\":{\"-i\":\"c\"}}}",
	  TH_NATIVE_LOCAL_SHELL, "shell",
	  "{\"action\":{\"command\":[\"x\"],\"env\":{\"-i\":\"c\"}}}",
	  "{\"action\":{\"command\":[\"x\"],\"env\":{\"-i\":\"c\"}}}" },
	{ "{\"type\":\"local_shell_call\",\"action\":{\"command\":[\"X=y\"],\"env\":{\"A\":\"c\"}}"
	  "}",
	  TH_NATIVE_LOCAL_SHELL, "shell",
	  "{\"action\":{\"command\":[\"X=y\"],\"env\":{\"A\":\"c\"}}}",
	  "{\"action\":{\"command\":[\"X=y\"],\"env\":{\"A\":\"c\"}}}" },
	{ "{\"type\":\"local_shell_call\",\"action\":{\"command\":[\"x\"],\"working_directory\":7}"
	  "}",
	  TH_NATIVE_LOCAL_SHELL, "shell",
	  "{\"action\":{\"command\":[\"x\"],\"working_directory\":7}}",
	  "{\"action\":{\"command\":[\"x\"],\"working_directory\":7}}" },
	{ "{\"type\":\"local_shell_call\",\"action\":{\"command\":[]}}", TH_NATIVE_LOCAL_SHELL,
	  "shell", "{\"action\":{\"command\":[]}}", "{\"action\":{\"command\":[]}}" },
	/* Nobody else's rights. */
	{ "{\"type\":\"local_shell_call\",\"action\":{\"command\":[\"id\"],\"user\":\"root\"}}",
	  TH_NATIVE_LOCAL_SHELL, "shell", "{\"action\":{\"command\":[\"id\"],\"user\":\"root\"}}",
	  "{\"action\":{\"command\":[\"id\"],\"user\":\"root\"}}" },
	{ "{\"type\":\"apply_patch_call\",\"operation\":{\"type\":\"create_file\",\"path\":\"a."
	  "txt\","
	  "\"diff\":\"+x\"}}",
	  TH_NATIVE_PATCH, "apply_patch",
	  "{\"patch\":\"*** Begin Patch\\n*** Add File: a.txt\\n+x\\n*** End Patch\\n\"}", NULL },
	{ "{\"type\":\"apply_patch_call\",\"operation\":{\"type\":\"update_file\",\"path\":\"a\","
	  "\"move_to\":\"b\",\"diff\":\"@@\\n-a\\n+b\\n\"}}",
	  TH_NATIVE_PATCH, "apply_patch",
	  "{\"patch\":\"*** Begin Patch\\n*** Update File: a\\n*** Move to: b\\n@@\\n-a\\n+b\\n*** "
	  "End Patch\\n\"}",
	  NULL },
	{ "{\"type\":\"apply_patch_call\",\"operation\":{\"type\":\"delete_file\",\"path\":\"a\"}}",
	  TH_NATIVE_PATCH, "apply_patch",
	  "{\"patch\":\"*** Begin Patch\\n*** Delete File: a\\n*** End Patch\\n\"}", NULL },
	/* What only looks like a head is a line of the file. */
	{ "{\"type\":\"apply_patch_call\",\"operation\":{\"type\":\"update_file\",\"path\":\"a\","
	  "\"diff\":\"@@\\n *** Add File: b\\n-*** x\\n*** End of File\"}}",
	  TH_NATIVE_PATCH, "apply_patch",
	  "{\"patch\":\"*** Begin Patch\\n*** Update File: a\\n@@\\n *** Add File: b\\n-*** "
	  "x\\n*** End "
	  "of File\\n*** End Patch\\n\"}",
	  NULL },
	/* No file but the one that is named: neither by its diff nor by its name. */
	{ "{\"type\":\"apply_patch_call\",\"operation\":{\"type\":\"create_file\",\"path\":\"a\","
	  "\"diff\":\"+x\\n*** Delete File: b\\n\"}}",
	  TH_NATIVE_PATCH, "apply_patch",
	  "{\"operation\":{\"type\":\"create_file\",\"path\":\"a\",\"diff\":\"+x\\n*** Delete "
	  "File: "
	  "b\\n\"}}",
	  NULL },
	{ "{\"type\":\"apply_patch_call\",\"operation\":{\"type\":\"delete_file\",\"path\":\"a\\n**"
	  "* "
	  "Delete File: b\"}}",
	  TH_NATIVE_PATCH, "apply_patch",
	  "{\"operation\":{\"type\":\"delete_file\",\"path\":\"a\\n*** Delete File: b\"}}", NULL },
	{ "{\"type\":\"apply_patch_call\",\"operation\":{\"type\":\"update_file\",\"path\":\"a\"}}",
	  TH_NATIVE_PATCH, "apply_patch",
	  "{\"operation\":{\"type\":\"update_file\",\"path\":\"a\"}}", NULL },
	{ "{\"type\":\"apply_patch_call\"}", TH_NATIVE_PATCH, "apply_patch", "{}", NULL },
	/* The same by another way. */
	{ "{\"type\":\"function_call\",\"name\":\"apply_patch\",\"arguments\":\"{\\\"type\\\":"
	  "\\\"delete_file\\\",\\\"path\\\":\\\"a\\\"}\"}",
	  TH_NATIVE_PATCH, "apply_patch",
	  "{\"patch\":\"*** Begin Patch\\n*** Delete File: a\\n*** End Patch\\n\"}", NULL },
	{ "{\"type\":\"function_call\",\"name\":\"apply_patch\",\"arguments\":\"{"
	  "\\\"operations\\\":"
	  "[{\\\"type\\\":\\\"delete_file\\\",\\\"path\\\":\\\"a\\\"},{\\\"type\\\":"
	  "\\\"delete_file\\\",\\\"path\\\":\\\"b\\\"}]}\"}",
	  TH_NATIVE_PATCH, "apply_patch",
	  "{\"patch\":\"*** Begin Patch\\n*** Delete File: a\\n*** Delete File: b\\n*** End "
	  "Patch\\n\"}",
	  NULL },
	{ "{\"type\":\"function_call\",\"name\":\"apply_patch\",\"arguments\":\"{\\\"patch\\\":"
	  "\\\"x\\\"}\"}",
	  TH_NATIVE_NONE, NULL, NULL, NULL },
	{ "{\"type\":\"custom_tool_call\",\"name\":\"apply_patch\",\"input\":\"*** Begin Patch\"}",
	  TH_NATIVE_PATCH, "apply_patch", "{\"patch\":\"*** Begin Patch\"}", NULL },
	{ "{\"type\":\"custom_tool_call\",\"name\":\"raw\",\"input\":\"free \\\"text\\\"\"}",
	  TH_NATIVE_CUSTOM, "raw", "{\"input\":\"free \\\"text\\\"\"}",
	  "{\"input\":\"free \\\"text\\\"\"}" },
	{ "{\"type\":\"custom_tool_call\"}", TH_NATIVE_CUSTOM, "", "{}", "{}" },
	{ "{\"type\":\"mcp_approval_request\",\"id\":\"m1\",\"server_label\":\"srv\",\"name\":"
	  "\"do\","
	  "\"arguments\":\"{\\\"a\\\":1}\"}",
	  TH_NATIVE_MCP, "srv.do", "{\"a\":1}",
	  "{\"server_label\":\"srv\",\"name\":\"do\",\"arguments\":\"{\\\"a\\\":1}\"}" },
	{ "{\"type\":\"function_call\",\"name\":\"shell\",\"arguments\":\"{}\"}", TH_NATIVE_NONE,
	  NULL, NULL, NULL },
};

static void test_calls(void **state)
{
	struct th_arena a;

	(void)state;
	th_arena_init(&a, TH_MIB);
	for (size_t i = 0; i < TH_COUNT(calls); i++) {
		struct th_json_doc *doc = NULL;
		struct th_str tool, arguments;
		enum th_native kind;

		assert_int_equal(th_json_parse(th_str_of(calls[i].item), &doc, NULL), TH_OK);
		kind = th_native_of(th_json_root(doc), &a);
		if (kind != calls[i].kind)
			fail_msg("%s: %d", calls[i].item, kind);
		if (kind) {
			th_native_read(kind, th_json_root(doc), &a, &tool, &arguments);
			assert_string_equal(th_arena_cstr(&a, tool), calls[i].tool);
			assert_string_equal(th_arena_cstr(&a, arguments), calls[i].arguments);
			th_native_as_function(kind, th_json_root(doc), &a, &tool, &arguments);
			assert_string_equal(th_arena_cstr(&a, arguments),
					    calls[i].function ?: calls[i].arguments);
		}
		th_json_free(doc);
	}
	th_arena_deinit(&a);
}

/* A call of the fold: named by its own id, and only where something of ours runs. */
static void test_plan(void **state)
{
	static const char items[] =
	    "[{\"type\":\"mcp_list_tools\",\"id\":\"l\",\"server_label\":\"srv\",\"tools\":[]},"
	    "{\"type\":\"mcp_approval_request\",\"id\":\"m1\",\"server_label\":\"srv\",\"name\":"
	    "\"do\",\"arguments\":\"{}\"},"
	    "{\"type\":\"mcp_call\",\"id\":\"m2\",\"server_label\":\"srv\",\"name\":\"do\"},"
	    "{\"type\":\"shell_call\",\"call_id\":\"s1\",\"action\":{\"commands\":[\"ls\"]}}]";
	struct th_buf text = TH_BUF_INIT(TH_KIB);
	struct th_next next;
	struct th_arena a;
	struct th_err err;

	(void)state;
	th_arena_init(&a, TH_MIB);
	assert_int_equal(th_plan_answer(th_str_of(items), &a, &text, &next, &err), TH_OK);
	assert_int_equal(next.kind, TH_NEXT_CALLS);
	assert_int_equal(next.call_count, 2);
	assert_true(th_str_is(next.calls[0].call_id, "m1"));
	assert_int_equal(next.calls[0].native, TH_NATIVE_MCP);
	assert_true(th_str_is(next.calls[1].call_id, "s1"));
	assert_true(th_str_is(next.calls[1].tool, "shell"));
	assert_null(next.bad_ids);
	th_arena_deinit(&a);
	th_buf_deinit(&text);
}

#define SHELL(length) "{\"type\":\"shell_call\",\"action\":{\"commands\":[\"a\",\"b\"]" length "}}"
#define TWO                                                                                     \
	"\"commands\":[{\"stdout\":\"h\\u00e4llo\",\"stderr\":\"oops\",\"outcome\":{\"type\":"  \
	"\"exit\",\"exit_code\":2}},{\"stdout\":\"two\",\"stderr\":\"\",\"outcome\":{\"type\":" \
	"\"timeout\"}}]"
#define OUT(...) "{\"type\":\"shell_call_output\",\"call_id\":\"c\",\"output\":[" __VA_ARGS__ "]"
#define ENTRY(out, err, outcome) \
	"{\"stdout\":\"" out "\",\"stderr\":\"" err "\",\"outcome\":" outcome "}"
#define EXIT(code) "{\"type\":\"exit\",\"exit_code\":" #code "}"
#define TIMEOUT "{\"type\":\"timeout\"}"

static const struct {
	enum th_native kind;
	const char *item;
	enum th_outcome_status status;
	const char *output, *evidence, *want;
} results[] = {
	{ TH_NATIVE_SHELL, SHELL(""), TH_OUTCOME_DONE, "\"$ a\"", "{" TWO "}",
	  OUT(ENTRY("hällo", "oops", EXIT(2)) "," ENTRY("two", "", TIMEOUT)) "}" },
	/* Characters, over all of them: output before errors. */
	{ TH_NATIVE_SHELL, SHELL(",\"max_output_length\":7"), TH_OUTCOME_DONE, "\"\"", "{" TWO "}",
	  OUT(ENTRY("hällo", "oo", EXIT(2)) "," ENTRY("", "",
						      TIMEOUT)) ",\"max_output_length\":7}" },
	{ TH_NATIVE_SHELL, SHELL(",\"max_output_length\":7"), TH_OUTCOME_DONE, "\"\"",
	  "{\"max_output_length\":2," TWO "}",
	  OUT(ENTRY("hä", "", EXIT(2)) "," ENTRY("", "", TIMEOUT)) ",\"max_output_length\":2}" },
	{ TH_NATIVE_SHELL, SHELL(",\"max_output_length\":0"), TH_OUTCOME_DONE, "\"text\"", "",
	  OUT(ENTRY("", "", EXIT(0))) ",\"max_output_length\":0}" },
	{ TH_NATIVE_SHELL, SHELL(""), TH_OUTCOME_DONE, "\"text\"", "",
	  OUT(ENTRY("text", "", EXIT(0))) "}" },
	{ TH_NATIVE_SHELL, SHELL(""), TH_OUTCOME_FAILED, "\"no shell\"", "",
	  OUT(ENTRY("no shell", "", EXIT(1))) "}" },
	{ TH_NATIVE_SHELL, SHELL(""), TH_OUTCOME_REFUSED, "\"no\"", "",
	  OUT(ENTRY("", "no", EXIT(1))) "}" },
	/* What a crash left half known is said as that. */
	{ TH_NATIVE_SHELL, SHELL(""), TH_OUTCOME_UNKNOWN,
	  "[{\"type\":\"text\",\"text\":\"may\"},{\"type\":\"text\",\"text\":\"look\"}]",
	  "{" TWO "}", OUT(ENTRY("", "may\\nlook", EXIT(1))) "}" },
	/* A result that came as an item of somebody's. */
	{ TH_NATIVE_SHELL, SHELL(""), TH_OUTCOME_DONE, "[" ENTRY("x", "y", EXIT(3)) "]", "",
	  OUT(ENTRY("x", "y", EXIT(3))) "}" },
	{ TH_NATIVE_LOCAL_SHELL, "{}", TH_OUTCOME_DONE, "\"text\"", "{" TWO "}",
	  "{\"type\":\"local_shell_call_output\",\"call_id\":\"c\",\"output\":\"text\"}" },
	{ TH_NATIVE_PATCH, "{}", TH_OUTCOME_DONE, "\"created a\"", "{\"files\":[]}",
	  "{\"type\":\"apply_patch_call_output\",\"call_id\":\"c\",\"status\":\"completed\","
	  "\"output\":\"created a\"}" },
	{ TH_NATIVE_PATCH, "{}", TH_OUTCOME_UNKNOWN, "\"?\"", "",
	  "{\"type\":\"apply_patch_call_output\",\"call_id\":\"c\",\"status\":\"failed\","
	  "\"output\":\"?\"}" },
	{ TH_NATIVE_MCP, "{}", TH_OUTCOME_DONE, "\"approved\"", "",
	  "{\"type\":\"mcp_approval_response\",\"approval_request_id\":\"c\",\"approve\":true}" },
	{ TH_NATIVE_MCP, "{}", TH_OUTCOME_REFUSED, "\"Not done: nope.\"", "{\"reason\":\"nope\"}",
	  "{\"type\":\"mcp_approval_response\",\"approval_request_id\":\"c\",\"approve\":false,"
	  "\"reason\":\"nope\"}" },
	{ TH_NATIVE_MCP, "{}", TH_OUTCOME_REFUSED, "\"\"", "",
	  "{\"type\":\"mcp_approval_response\",\"approval_request_id\":\"c\",\"approve\":false}" },
	/* Whatever stands there, an item comes out. */
	{ TH_NATIVE_SHELL, "", TH_OUTCOME_DONE, "", "{\"commands\":7}",
	  OUT(ENTRY("", "", EXIT(0))) "}" },
};

static void test_results(void **state)
{
	(void)state;
	for (size_t i = 0; i < TH_COUNT(results); i++) {
		const struct th_native_result r = {
			.item = th_str_of(results[i].item),
			.call_id = TH_STR("c"),
			.status = results[i].status,
			.output = th_str_of(results[i].output),
			.evidence = th_str_of(results[i].evidence),
		};
		struct th_buf out = TH_BUF_INIT(TH_KIB * 4);
		struct th_jw w = th_jw(&out);

		th_native_put_result(results[i].kind, &r, &w);
		assert_string_equal(out.ptr, results[i].want);
		th_buf_deinit(&out);
	}
}

/* A history that is looked at has them in the same form, and takes them back in it. */
static void test_transcript(void **state)
{
	static const char items[] =
	    "{\"items\":[{\"role\":\"user\",\"content\":\"hi\"},"
	    "{\"type\":\"mcp_approval_request\",\"id\":\"m1\",\"server_label\":\"s\",\"name\":"
	    "\"n\","
	    "\"arguments\":\"{}\"},"
	    "{\"type\":\"mcp_approval_response\",\"approval_request_id\":\"m1\",\"approve\":false,"
	    "\"reason\":\"nope\"},"
	    "{\"type\":\"shell_call\",\"call_id\":\"c\",\"action\":{\"commands\":[\"a\"]}}," OUT(
		ENTRY(
		    "x", "y",
		    EXIT(3))) "},"
			      "{\"type\":\"apply_patch_call\",\"call_id\":\"p\",\"operation\":{}},"
			      "{\"type\":\"apply_patch_call_output\",\"call_id\":\"p\",\"status\":"
			      "\"failed\",\"output\":"
			      "\"no\"}]}";
	struct th_event ev = { .seq = 1, .kind = TH_EV_ITEMS_ADDED, .data = th_str_of(items) };
	struct th_buf out = TH_BUF_INIT(TH_KIB * 4), want = TH_BUF_INIT(TH_KIB * 4);
	struct th_jw w = th_jw(&out);
	struct th_transcript transcript;
	struct th_err err;

	(void)state;
	th_transcript_init(&transcript, true);
	assert_int_equal(th_transcript_add(&transcript, &ev, &err), TH_OK);
	th_transcript_prune(&transcript);
	assert_int_equal(transcript.count, 7);
	th_jw_array(&w);
	for (size_t i = 0; i < transcript.count; i++)
		th_transcript_print(&transcript.list[i], &w);
	th_jw_array_end(&w);
	th_buf_add(&want, th_json_raw_get(th_str_of(items), "items"));
	assert_string_equal(out.ptr, want.ptr);
	/* Without its call a result is none. */
	transcript.list[1].call_id = TH_STR("m2");
	th_transcript_prune(&transcript);
	assert_int_equal(transcript.count, 5);
	th_transcript_deinit(&transcript);
	th_buf_deinit(&out);
	th_buf_deinit(&want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_plan),
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_transcript),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
