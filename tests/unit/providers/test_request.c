/* SPDX-License-Identifier: Apache-2.0 */
/* Groups as sessions make them, with holes; whole requests are in tests/golden/responses. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "dialects/actions.h"
#include "openai_responses/responses.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define IMAGE(blob) "{\"type\":\"image\",\"media_type\":\"image/webp\",\"blob\":\"" blob "\"}"

static struct th_request_options options = { .screen = { 8, 8 } };
static struct th_hole holes[4];
static size_t hole_count;
static struct th_err err;
static struct th_buf out;

static enum th_code group(const char *model, const struct th_group *g, bool first, size_t hole_max)
{
	err = (struct th_err){ 0 };
	assert_int_equal(th_model_resolve(th_str_of(model), &options.profile, &options.model, &err),
			 TH_OK);
	return th_group_render(&options, g, first, &out, holes, hole_max, &hole_count, &err);
}

static int setup(void **state)
{
	(void)state;
	th_buf_init(&out, TH_REQUEST_MAX);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	th_buf_deinit(&out);
	return 0;
}

/* The group with its pictures, or with what stands in their place. */
static void fill(struct th_buf *full, bool pictures)
{
	size_t from = 0;

	for (size_t i = 0; i < hole_count; i++) {
		const struct th_hole *h = &holes[i];

		assert_true(h->from <= h->at && h->at <= h->to && h->to < h->end);
		th_buf_add(full, th_str_sub(th_buf_str(&out), from, h->from - from));
		if (pictures) {
			th_buf_add(full, th_str_sub(th_buf_str(&out), h->from, h->at - h->from));
			th_buf_printf(full, "<%02x>", h->blob.bytes[0]);
			th_buf_add(full, th_str_sub(th_buf_str(&out), h->at, h->to - h->at));
		} else {
			th_buf_add(full, th_str_sub(th_buf_str(&out), h->to, h->end - h->to));
		}
		from = h->end;
	}
	th_buf_add(full, th_str_sub(th_buf_str(&out), from, out.len));
}

static void expect_filled(const char *expected, bool pictures)
{
	struct th_buf full = TH_BUF_INIT(TH_MIB);

	fill(&full, pictures);
	assert_string_equal(full.ptr, expected);
	th_buf_deinit(&full);
}

static void expect(const char *expected)
{
	expect_filled(expected, true);
	th_buf_clear(&out);
}

static struct th_result one; /* of the group that `result` gives */

static struct th_group result(const char *call, const char *output)
{
	one = (struct th_result){
		.call_item = th_str_of(call),
		.call_id = TH_STR("c\"1"),
		.output = th_str_of(output),
	};
	return (struct th_group){ .kind = TH_GROUP_RESULTS, .results = &one, .result_count = 1 };
}

static struct th_group answer(const char *items)
{
	return (struct th_group){ .kind = TH_GROUP_ANSWER, .items = th_str_of(items) };
}

static void test_holes(void **state)
{
	struct th_group message = {
		.kind = TH_GROUP_MESSAGE,
		.role = TH_STR("user"),
		.content = TH_STR("[{\"type\":\"text\",\"text\":\"t\"}," IMAGE(A) "," IMAGE(B) "]"),
	};
	struct th_group r =
	    result("{\"type\":\"computer_call\"}",
		   "[" IMAGE(A) ",{\"type\":\"text\",\"text\":\"zoomed\"}," IMAGE(B) "]");

	(void)state;
	th_buf_add_cstr(&out, "[0");
	assert_int_equal(group("gpt-4o", &message, false, 2), TH_OK);
	expect("[0,{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\","
	       "\"text\":\"t\"},"
	       "{\"type\":\"input_image\",\"image_url\":\"data:image/"
	       "webp;base64,<aa>\",\"detail\":\"auto\"},"
	       "{\"type\":\"input_image\",\"image_url\":\"data:image/"
	       "webp;base64,<bb>\",\"detail\":\"auto\"}]}");
	/* The last image is the screenshot; what else there is follows as a message. */
	assert_int_equal(group("gpt-5.4", &r, true, 2), TH_OK);
	expect("{\"type\":\"computer_call_output\",\"call_id\":\"c\\\"1\",\"output\":{\"type\":"
	       "\"computer_screenshot\",\"image_url\":\"data:image/"
	       "webp;base64,<bb>\",\"detail\":\"original\"}},"
	       "{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\","
	       "\"text\":"
	       "\"Result of the computer call:\"},{\"type\":\"input_image\",\"image_url\":"
	       "\"data:image/"
	       "webp;base64,<aa>\",\"detail\":\"auto\"},{\"type\":\"input_text\",\"text\":"
	       "\"zoomed\"}]}");
}

static void test_hole_max(void **state)
{
	struct th_group message = {
		.kind = TH_GROUP_MESSAGE,
		.role = TH_STR("user"),
		.content = TH_STR("[" IMAGE(A) "," IMAGE(B) "]"),
	};

	(void)state;
	th_buf_add_cstr(&out, "[0");
	assert_int_equal(group("gpt-4o", &message, false, 1), TH_ELIMIT);
	assert_int_equal(hole_count, 0);
	assert_string_equal(out.ptr, "[0"); /* nothing half-written */
}

static void test_bad_groups(void **state)
{
	static const char *const contents[] = { "",
						"7",
						"{}",
						"[7]",
						"[{\"type\":\"text\"}]",
						"[{\"type\":\"image\",\"blob\":\"xyz\"}]",
						"[{\"type\":\"image\"}]" };
	struct th_group e = { .kind = TH_GROUP_MESSAGE, .role = TH_STR("user") };

	(void)state;
	for (size_t i = 0; i < TH_COUNT(contents); i++) {
		e.content = th_str_of(contents[i]);
		assert_int_equal(group("gpt-4o", &e, true, 4), TH_EPROTO);
		assert_int_equal(out.len, 0);
		assert_true(err.msg[0] != '\0');
		struct th_group r = result("{\"type\":\"function_call\"}", contents[i]);

		assert_int_equal(group("gpt-4o", &r, true, 4), TH_EPROTO);
		assert_int_equal(out.len, 0);
	}
}

/* Calls that are items of the API's own have results that are. */
static void test_other_results(void **state)
{
	static const char text[] =
	    "[{\"type\":\"text\",\"text\":\"a\\n\"},{\"type\":\"text\",\"text\":\"b\"}]";
	struct th_group r = result("{\"type\":\"shell_call\"}", "\"no shell\"");

	(void)state;
	one.status = TH_OUTCOME_REFUSED;
	assert_int_equal(group("gpt-5.4", &r, true, 4), TH_OK);
	expect("{\"type\":\"shell_call_output\",\"call_id\":\"c\\\"1\",\"output\":[{\"stdout\":"
	       "\"\",\"stderr\":"
	       "\"no shell\",\"outcome\":{\"type\":\"exit\",\"exit_code\":1}}]}");
	r = result("{\"type\":\"local_shell_call\"}", text);
	assert_int_equal(group("gpt-5.4", &r, true, 4), TH_OK);
	expect("{\"type\":\"local_shell_call_output\",\"call_id\":\"c\\\"1\",\"output\":"
	       "\"a\\n\\nb\"}");
	r = result("{\"type\":\"apply_patch_call\"}", text);
	one.status = TH_OUTCOME_FAILED;
	assert_int_equal(group("gpt-5.4", &r, true, 4), TH_OK);
	expect("{\"type\":\"apply_patch_call_output\",\"call_id\":\"c\\\"1\",\"status\":\"failed\","
	       "\"output\":"
	       "\"a\\n\\nb\"}");
	r = result("{\"type\":\"mcp_approval_request\"}", "\"approved\"");
	one.evidence = TH_STR("{\"reason\":\"it is safe\"}");
	assert_int_equal(group("gpt-5.4", &r, true, 4), TH_OK);
	expect("{\"type\":\"mcp_approval_response\",\"approval_request_id\":\"c\\\"1\",\"approve\":"
	       "true,\"reason\":\"it is safe\"}");
	r = result("{\"type\":\"custom_tool_call\"}", "\"x\"");
	assert_int_equal(group("gpt-5.4", &r, true, 4), TH_OK);
	expect("{\"type\":\"custom_tool_call_output\",\"call_id\":\"c\\\"1\",\"output\":\"x\"}");
}

/* Tools of ours in the form that the API has for them; and a call of one by another way. */
static void test_native_tools(void **state)
{
	static const struct th_tool_native forms[] = {
		{ .kind = TH_NATIVE_SHELL },
		{ .kind = TH_NATIVE_LOCAL_SHELL },
		{ .kind = TH_NATIVE_PATCH },
		{ .kind = TH_NATIVE_CUSTOM,
		  .format = TH_STR_INIT("{\"type\":\"grammar\",\"syntax\":\"regex\",\"definition\":"
					"\"a+\"}") },
		{ .kind = TH_NATIVE_CUSTOM },
	};
	static const char *const offered[] = {
		"{\"type\":\"shell\",\"environment\":{\"type\":\"local\"}}",
		"{\"type\":\"local_shell\"}",
		"{\"type\":\"apply_patch\"}",
		("{\"type\":\"custom\",\"name\":\"t\",\"description\":\"d\",\"format\":{\"type\":"
		 "\"grammar\",\"syntax\":\"regex\",\"definition\":\"a+\"}}"),
		"{\"type\":\"custom\",\"name\":\"t\",\"description\":\"d\"}",
	};
	static const char *const chosen[] = { "{\"type\":\"shell\"}", "{\"type\":\"local_shell\"}",
					      "{\"type\":\"apply_patch\"}",
					      "{\"type\":\"custom\",\"name\":\"t\"}",
					      "{\"type\":\"custom\",\"name\":\"t\"}" };
	static const char *const names[] = { "shell", "shell", "apply_patch", "t", "t" };
	struct th_tool_spec tool = { .description = TH_STR("d"), .schema = TH_STR("{}") };
	struct th_group e = {
		.kind = TH_GROUP_ANSWER,
		.items =
		    TH_STR("[{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"c\\\"1\","
			   "\"name\":\"apply_patch\",\"arguments\":\"{\\\"type\\\":\\\"delete_file"
			   "\\\",\\\"path\\\":\\\"a\\\"}\"}]"),
	};
	struct th_group r;

	(void)state;
	options.tools = &tool;
	options.tool_count = 1;
	options.choice.kind = TH_CHOICE_TOOL;
	for (size_t i = 0; i < TH_COUNT(forms); i++) {
		struct th_buf head = TH_BUF_INIT(TH_MIB);

		tool.native = &forms[i];
		options.choice.tool = tool.name = th_str_of(names[i]);
		assert_int_equal(group("gpt-5.4", &e, true, 4), TH_OK);
		th_responses_head(&options, &head);
		if (!strstr(head.ptr, offered[i]) || !strstr(head.ptr, chosen[i]))
			fail_msg("%s", head.ptr);
		th_buf_deinit(&head);
		/* Only where that is what is offered. */
		if (forms[i].kind != TH_NATIVE_PATCH) {
			assert_non_null(strstr(out.ptr, "\"type\":\"function_call\""));
			th_buf_clear(&out);
			continue;
		}
		expect(
		    "{\"type\":\"apply_patch_call\",\"call_id\":\"c\\\"1\",\"operation\":{\"type\":"
		    "\"delete_file\",\"path\":\"a\"}}");
		r = result("{\"type\":\"function_call\",\"name\":\"apply_patch\",\"arguments\":"
			   "\"{\\\"type\\\":\\\"delete_file\\\",\\\"path\\\":\\\"a\\\"}\"}",
			   "\"gone\"");
		assert_int_equal(group("gpt-5.4", &r, true, 4), TH_OK);
		expect("{\"type\":\"apply_patch_call_output\",\"call_id\":\"c\\\"1\",\"status\":"
		       "\"completed\",\"output\":\"gone\"}");
	}
	options.tools = NULL;
	options.tool_count = 0;
	options.choice = (struct th_tool_choice){ 0 };
}

static void test_acknowledged(void **state)
{
	struct th_group r = result("{\"type\":\"computer_call\"}", "[" IMAGE(A) "]");

	(void)state;
	one.acknowledged = TH_STR("[{\"id\":\"sc\"}]");
	assert_int_equal(group("computer-use-preview", &r, true, 4), TH_OK);
	expect("{\"type\":\"computer_call_output\",\"call_id\":\"c\\\"1\",\"output\":{\"type\":"
	       "\"computer_screenshot\",\"image_url\":\"data:image/webp;base64,<aa>\"},"
	       "\"acknowledged_safety_checks\":[{\"id\":\"sc\"}]}");
}

/* Reasoning goes back only with what it led to. */
static void test_neighbours(void **state)
{
	struct th_group g = answer("[{\"type\":\"reasoning\",\"encrypted_content\":\"x\"}]");

	(void)state;
	assert_int_equal(group("gpt-5.4", &g, false, 4), TH_OK);
	expect("");
	g = answer("[{\"type\":\"reasoning\",\"encrypted_content\":\"x\"},{\"type\":\"message\"}]");
	assert_int_equal(group("gpt-5.4", &g, true, 4), TH_OK);
	expect("{\"type\":\"reasoning\",\"encrypted_content\":\"x\"},{\"type\":\"message\"}");
}

/* A mere summary names what the server had to keep: it goes back where the server was asked to. */
static void test_summary(void **state)
{
	struct th_agent_model_settings settings = { TH_SETTINGS_UNSET };
	struct th_agent agent = { .settings = &settings };
	struct th_group g = answer("[{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[]},"
				   "{\"type\":\"message\",\"id\":\"msg_1\"}]");

	(void)state;
	options.agent = &agent;
	assert_int_equal(group("gpt-5.4", &g, true, 4), TH_OK);
	expect("{\"type\":\"message\"}");
	settings.store = TH_STR("true");
	assert_int_equal(group("gpt-5.4", &g, true, 4), TH_OK);
	expect("{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[]},"
	       "{\"type\":\"message\",\"id\":\"msg_1\"}");
	options.agent = NULL;
}

/* A picture that is left out leaves words, or a black picture where the API must have one. */
static void test_left_out(void **state)
{
	struct th_group g = result("{\"type\":\"function_call\"}", "[" IMAGE(A) "]");
	struct th_buf full = TH_BUF_INIT(TH_MIB);

	(void)state;
	assert_int_equal(group("gpt-4o", &g, true, 4), TH_OK);
	expect_filled(
	    "{\"type\":\"function_call_output\",\"call_id\":\"c\\\"1\",\"output\":[{\"type\":"
	    "\"input_text\",\"text\":\"" TH_IMAGE_LEFT_OUT "\"}]}",
	    false);
	assert_true(holes[0].part);
	th_buf_clear(&out);
	g = result("{\"type\":\"computer_call\"}", "[" IMAGE(A) "]");
	assert_int_equal(group("gpt-5.4", &g, true, 4), TH_OK);
	assert_false(holes[0].part);
	fill(&full, false);
	assert_non_null(strstr(full.ptr, "\"image_url\":\"data:image/png;base64,iVBOR"));
	assert_null(strstr(full.ptr, "webp"));
	th_buf_deinit(&full);
	th_buf_clear(&out);
}

static struct th_group list_of(const char *item)
{
	static char list[500];

	snprintf(list, sizeof(list), "[%s]", item);
	return answer(list);
}

/* An id that the server would refuse is left out, or made where it must be. */
static void test_ids(void **state)
{
	char item[400];
	struct th_group e;

	(void)state;
	snprintf(item, sizeof(item), "{\"type\":\"function_call\",\"id\":\"fc%062d\"}", 1);
	e = list_of(item);
	assert_int_equal(group("gpt-5.4", &e, true, 4), TH_OK);
	expect(item);
	snprintf(item, sizeof(item), "{\"type\":\"function_call\",\"id\":\"fc%063d\"}", 1);
	e = list_of(item);
	assert_int_equal(group("gpt-5.4", &e, true, 4), TH_OK);
	expect("{\"type\":\"function_call\"}");
	snprintf(item, sizeof(item), "{\"type\":\"computer_call\",\"call_id\":\"%061d\\n\"}", 7);
	e = list_of(item);
	assert_int_equal(group("gpt-5.4", &e, true, 4), TH_OK);
	snprintf(item, sizeof(item),
		 "{\"type\":\"computer_call\",\"call_id\":\"%061d\\n\",\"id\":\"cu_%054d_n\"}", 7,
		 7);
	expect(item);
}

/* The computer as a function, for models that have no tool of their own. */
static void test_function_tool(void **state)
{
	struct th_json_doc *doc;
	const struct th_json *tool;
	struct th_action action = { .kind = TH_ACTION_MOUSE_DOWN };
	struct th_jw w = th_jw(&out);

	(void)state;
	options.has_computer = true;
	assert_int_equal(th_model_resolve(TH_STR("gpt-4o"), &options.profile, &options.model, &err),
			 TH_OK);
	th_responses_head(&options, &out);
	th_responses_tail(&options, &out);
	assert_int_equal(th_json_parse(th_buf_str(&out), &doc, &err), TH_OK);
	tool = th_json_at(th_json_get(th_json_root(doc), "tools"), 0);
	assert_true(th_str_is(th_json_get_str(tool, "type"), "function"));
	assert_true(th_str_is(th_json_get_str(tool, "name"), "computer"));
	assert_true(th_str_find(th_json_get_str(tool, "description"), TH_STR("8 x 8 pixels")) > 0);
	tool = th_json_get(th_json_get(tool, "parameters"), "properties");
	assert_true(th_json_is_object(th_json_get(th_json_get(tool, "actions"), "items")));
	th_json_free(doc);
	th_buf_clear(&out);
	assert_int_equal(th_model_action_encode(options.profile, &action, &w, &err), TH_OK);
	expect("{\"type\":\"mouse_down\",\"button\":\"left\"}");
	/* Text models have none. */
	assert_int_equal(th_model_resolve(TH_STR("gpt-4"), &options.profile, &options.model, &err),
			 TH_OK);
	th_responses_head(&options, &out);
	assert_int_equal(th_str_find(th_buf_str(&out), TH_STR("tools")), -1);
	options.has_computer = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_holes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hole_max, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_groups, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_results, setup, teardown),
		cmocka_unit_test_setup_teardown(test_native_tools, setup, teardown),
		cmocka_unit_test_setup_teardown(test_acknowledged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_left_out, setup, teardown),
		cmocka_unit_test_setup_teardown(test_neighbours, setup, teardown),
		cmocka_unit_test_setup_teardown(test_summary, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ids, setup, teardown),
		cmocka_unit_test_setup_teardown(test_function_tool, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
