/* SPDX-License-Identifier: Apache-2.0 */
/* Events of OpenHands, of both generations: read, written, held, and what a model sees of them. */
#include "unit.h"

#include "base/limits.h"
#include "forms/openhands_items.h"
#include "forms/openhands_log.h"
#include "forms/redact.h"

static struct th_json_doc *parse(const char *text)
{
	struct th_json_doc *doc = NULL;

	assert_int_equal(th_json_parse(th_str_of(text), &doc, NULL), TH_OK);
	return doc;
}

static void is_written(enum th_openhands v, const char *event, const char *want)
{
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&out);
	struct th_json_doc *doc = parse(event);
	struct th_err err = {};

	if (th_openhands_print(v, th_json_root(doc), &w, &err))
		fail_msg("%s: %s", event, err.msg);
	assert_string_equal(out.ptr, want);
	th_json_free(doc);
	th_buf_deinit(&out);
}

static void is_refused(enum th_openhands v, const char *event, const char *why)
{
	struct th_json_doc *doc = parse(event);
	struct th_err err = {};

	assert_int_equal(th_openhands_check(v, th_json_root(doc), &err), TH_EPROTO);
	if (!strstr(err.msg, why))
		fail_msg("\"%s\" does not say \"%s\"", err.msg, why);
	th_json_free(doc);
}

static void what_python_writes_is_mended(void **state)
{
	static const struct {
		const char *text, *want;
		size_t count;
	} cases[] = {
		{ "\"\\ud83d lone\"", "\"\\ufffd lone\"", 1 },
		{ "\"\\uD83D\\uDE00\"", "\"\\uD83D\\uDE00\"", 0 },
		{ "\"\\ude00\"", "\"\\ufffd\"", 1 },
		{ "\"\\ud83d\\ud83d\\ude00\"", "\"\\ufffd\\ud83d\\ude00\"", 1 },
		{ "\"\\\\ud83d\"", "\"\\\\ud83d\"", 0 },
		{ "[NaN,-Infinity,Infinity,\"NaN\"]", "[null,null,null,\"NaN\"]", 3 },
		{ "\"a\\\"\\uDEAD\"", "\"a\\\"\\ufffd\"", 1 },
		{ "\"\\ud83", "\"\\ud83", 0 },
		{ "\"\\", "\"\\", 0 },
		{ "", "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct th_buf out = TH_BUF_INIT(TH_KIB);

		assert_int_equal(th_python_json(th_str_of(cases[i].text), &out), cases[i].count);
		assert_string_equal(out.ptr, cases[i].want);
		th_buf_deinit(&out);
	}
}

static void old_names_are_new_ones(void **state)
{
	(void)state;
	is_written(TH_OPENHANDS_V0,
		   "{\"action\":\"run\",\"args\":{\"command\":\"ls\",\"is_confirmed\":\"rejected\","
		   "\"keep_prompt\":true,\"security_risk\":7},\"timeout\":5}",
		   "{\"message\":\"Running command: ls\",\"action\":\"run\",\"args\":{\"command\":"
		   "\"ls\",\"is_input\":false,\"thought\":\"\",\"blocking\":false,\"is_static\":"
		   "false,\"cwd\":null,\"hidden\":false,\"confirmation_state\":\"rejected\","
		   "\"security_risk\":-1},\"timeout\":5.0}");
	is_written(TH_OPENHANDS_V0,
		   "{\"observation\":\"run\",\"content\":\"x\",\"extras\":{\"command\":\"ls\","
		   "\"exit_code\":2,\"command_id\":7,\"formatted_output_and_error\":\"y\"}}",
		   "{\"message\":\"Command `ls` executed with exit code 2.\",\"observation\":"
		   "\"run\",\"content\":\"x\",\"extras\":{\"command\":\"ls\",\"metadata\":{\"exit_"
		   "code\":2,\"pid\":7,\"username\":null,\"hostname\":null,\"working_dir\":null,"
		   "\"py_interpreter_path\":null,\"prefix\":\"\",\"suffix\":\"\"},\"hidden\":"
		   "false},\"success\":false}");
	is_written(TH_OPENHANDS_V0,
		   "{\"action\":\"read\",\"args\":{\"path\":\"old\",\"translated_ipython_code\":"
		   "\"print(file_editor(**{'command': 'view', 'path': '/w/a.txt', 'view_range': "
		   "[1, 2]}))\"}}",
		   "{\"message\":\"Reading file: /w/a.txt\",\"action\":\"read\",\"args\":{\"path\":"
		   "\"/w/a.txt\",\"start\":0,\"end\":-1,\"thought\":\"\",\"security_risk\":-1,"
		   "\"impl_source\":\"default\",\"view_range\":[1,2]}}");
}

static void what_they_refuse_is_said(void **state)
{
	(void)state;
	is_refused(TH_OPENHANDS_V0, "{\"action\":\"nope\"}", "unknown action \"nope\"");
	is_refused(TH_OPENHANDS_V0, "{\"action\":\"run\",\"args\":{}}", "command is missing");
	is_refused(TH_OPENHANDS_V0, "{\"action\":\"run\",\"args\":{\"command\":\"a\",\"x\":1}}",
		   "no member \"x\"");
	is_refused(TH_OPENHANDS_V0,
		   "{\"action\":\"condensation\",\"args\":{\"forgotten_event_ids\":[1],"
		   "\"forgotten_events_start_id\":1,\"forgotten_events_end_id\":2}}",
		   "both ends");
	is_refused(TH_OPENHANDS_V1, "{\"kind\":\"PauseEvent\",\"source\":\"martian\"}", "martian");
	is_refused(TH_OPENHANDS_V1, "{\"kind\":\"PauseEvent\",\"id\":\"__root__\"}", "root");
	is_refused(TH_OPENHANDS_V1, "[]", "no event");
}

/* A V1 event of that kind, with these members beside those that it must have. */
static void v1_event(struct th_buf *out, const char *kind, const char *members)
{
	th_buf_printf(out, "{\"kind\":\"%s\",%s}", kind, members);
}

#define TOOL "\"tool_name\":\"bash\",\"tool_call_id\":\"c\""
#define CALL                                                                                   \
	TOOL ",\"thought\":[],\"llm_response_id\":\"r\",\"tool_call\":{\"id\":\"c\",\"name\":" \
	     "\"bash\","                                                                       \
	     "\"arguments\":\"{}\",\"origin\":\"completion\"}"
#define HOOK "\"hook_event_type\":\"Stop\",\"hook_command\":\"x\","
#define SAID "\"source\":\"user\",\"llm_message\":"

/* As the classes of openhands-sdk 1.58.2 say: what each of them takes or refuses was asked of them.
 */
static void members_have_their_types(void **state)
{
	static const struct {
		const char *kind, *members, *why; /* NULL: it is taken */
	} cases[] = {
		{ "PauseEvent", "\"id\":1", "PauseEvent: id is not of the type text" },
		{ "PauseEvent", "\"timestamp\":null", "timestamp" },
		{ "PauseEvent", "\"parent_id\":null", NULL },
		{ "ActionEvent", CALL, NULL },
		{ "ActionEvent", CALL ",\"summary\":null", NULL },
		{ "ActionEvent", CALL ",\"summary\":[]", "summary" },
		{ "ActionEvent", CALL ",\"security_risk\":\"high\"", "security_risk" },
		{ "ActionEvent", CALL ",\"security_risk\":null", "security_risk" },
		{ "ActionEvent",
		  CALL ",\"thinking_blocks\":[{\"thinking\":\"a\"},{\"data\":\"b\"}]", NULL },
		{ "ActionEvent", CALL ",\"thinking_blocks\":[{\"thought\":\"a\"}]", "thinking" },
		{ "ActionEvent", CALL ",\"critic_result\":{\"score\":\"0.5\",\"message\":null}",
		  NULL },
		{ "ActionEvent", CALL ",\"critic_result\":{\"score\":1.5,\"message\":null}",
		  "score" },
		{ "ActionEvent", TOOL ",\"thought\":[],\"llm_response_id\":\"r\",\"tool_call\":{}",
		  "id" },
		{ "ActionEvent",
		  TOOL ",\"thought\":\"a\",\"llm_response_id\":\"r\",\"tool_call\":{}", "thought" },
		{ "MessageEvent", SAID "{\"role\":\"user\",\"content\":\"hello\"}", NULL },
		{ "MessageEvent", SAID "{\"role\":\"user\",\"content\":null,\"more\":1}", NULL },
		{ "MessageEvent",
		  SAID "{\"role\":\"user\",\"content\":[{\"text\":\"a\"},{\"image_urls\":[]}]}",
		  NULL },
		{ "MessageEvent",
		  SAID "{\"role\":\"user\",\"content\":[{\"text\":\"a\",\"more\":1}]}",
		  "image_urls" },
		{ "MessageEvent", SAID "{\"role\":\"chef\"}", "role" },
		{ "MessageEvent", SAID "[]", "llm_message" },
		{ "HookExecutionEvent", HOOK "\"success\":\"yes\",\"exit_code\":\"2\"", NULL },
		{ "HookExecutionEvent", HOOK "\"success\":2,\"exit_code\":0", "success" },
		{ "HookExecutionEvent", HOOK "\"success\":true,\"exit_code\":0.5", "exit_code" },
		{ "TokenEvent",
		  "\"source\":\"agent\",\"prompt_token_ids\":[1,2.0],\"response_token_ids\":[]",
		  NULL },
		{ "TokenEvent",
		  "\"source\":\"agent\",\"prompt_token_ids\":[1,null],\"response_token_ids\":[]",
		  "prompt_token_ids" },
		{ "ConversationErrorEvent",
		  "\"source\":\"agent\",\"code\":\"a\",\"detail\":\"b\",\"classification\":{"
		  "\"kind\":\"auth\","
		  "\"retryable\":false,\"more\":1}",
		  "classification" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct th_buf event = TH_BUF_INIT(TH_KIB);
		struct th_json_doc *doc;
		struct th_err err = {};

		v1_event(&event, cases[i].kind, cases[i].members);
		doc = parse(event.ptr);
		if (cases[i].why)
			is_refused(TH_OPENHANDS_V1, event.ptr, cases[i].why);
		else if (th_openhands_check(TH_OPENHANDS_V1, th_json_root(doc), &err))
			fail_msg("%s: %s", event.ptr, err.msg);
		th_json_free(doc);
		th_buf_deinit(&event);
	}
}

static void python_is_read_and_never_run(void **state)
{
	static const char *const bad[] = { "{'a': f()}", "{'a': 1", "{1: 2}", "'a", "{'a' 1}", "" };
	struct th_buf out = TH_BUF_INIT(TH_KIB);

	(void)state;
	assert_true(th_python_to_json(
	    TH_STR("{'a': \"it's\", 'b': (1, -2.5, None, True,), 'c': {}, 'd': '\\x41\\n'}"),
	    &out));
	assert_string_equal(out.ptr,
			    "{\"a\":\"it's\",\"b\":[1,-2.5,null,true],\"c\":{},\"d\":\"A\\n\"}");
	for (size_t i = 0; i < TH_COUNT(bad); i++)
		assert_false(th_python_to_json(th_str_of(bad[i]), &out));
	th_buf_deinit(&out);
}

static enum th_code add(struct th_openhands_log *log, const char *text)
{
	return th_openhands_log_add(log, th_str_of(text), NULL);
}

static void a_log_holds_what_fits(void **state)
{
	struct th_openhands_log log;
	struct th_buf name = TH_BUF_INIT(TH_KIB);
	uint64_t n = 0;

	(void)state;
	th_openhands_log_init(&log, TH_OPENHANDS_V1);
	assert_int_equal(add(&log, "{\"id\":\"a\",\"kind\":\"PauseEvent\"}"), TH_OK);
	assert_int_equal(add(&log, "{\"id\":\"b\",\"parent_id\":\"a\",\"kind\":\"New\"}"), TH_OK);
	assert_int_equal(add(&log, "{\"id\":\"a\",\"kind\":\"PauseEvent\"}"), TH_EEXIST);
	assert_int_equal(add(&log, "{\"id\":\"c\",\"parent_id\":\"z\"}"), TH_ENOENT);
	assert_int_equal(add(&log, "{\"id\":\"c\",\"parent_id\":\"__root__\"}"), TH_OK);
	assert_int_equal(add(&log, "[]"), TH_EPROTO);
	assert_int_equal(th_openhands_log_find(&log, TH_STR("b")), 1);
	for (int i = 0; i < 1000; i++) {
		th_buf_clear(&name);
		th_buf_printf(&name, "{\"id\":\"id %d\"}", i);
		assert_int_equal(th_openhands_log_add(&log, th_buf_str(&name), NULL), TH_OK);
	}
	assert_int_equal(th_openhands_log_find(&log, TH_STR("id 999")), 1002);
	th_openhands_log_deinit(&log);
	assert_true(th_openhands_file_number(TH_OPENHANDS_V1, TH_STR("event-00012-x-y.json"), &n));
	assert_int_equal(n, 12);
	assert_false(th_openhands_file_number(TH_OPENHANDS_V1, TH_STR("event-12-x.json"), &n));
	assert_false(th_openhands_file_number(TH_OPENHANDS_V0, TH_STR("-1.json"), &n));
	th_buf_deinit(&name);
}

static struct th_str see(struct th_openhands_view *view, uint64_t n, const char *text, bool *anew)
{
	struct th_json_doc *doc = parse(text);
	struct th_str items;

	assert_int_equal(th_openhands_view_add(view, n, th_json_root(doc), &items, anew, NULL),
			 TH_OK);
	th_json_free(doc);
	return items;
}

static void a_view_is_what_the_model_saw(void **state)
{
	struct th_openhands_view view;
	struct th_str items;
	bool anew;

	(void)state;
	th_openhands_view_init(&view, TH_OPENHANDS_V0);
	(void)see(&view, 0,
		  "{\"action\":\"message\",\"source\":\"user\",\"args\":{\"content\":\"task\"}}",
		  &anew);
	items = see(&view, 1,
		    "{\"action\":\"run\",\"source\":\"agent\",\"args\":{\"command\":\"ls\","
		    "\"thought\":\"look\"}}",
		    &anew);
	assert_true(th_str_find(items, TH_STR("\"call_id\":\"event_1\"")) > 0);
	assert_int_equal(view.open_count, 1);
	items = see(&view, 2,
		    "{\"observation\":\"run\",\"cause\":1,\"content\":\"a\\n###PS1JSON###\\n{}\\n"
		    "###PS1END###\\nb\",\"extras\":{\"command\":\"ls\"}}",
		    &anew);
	assert_true(th_str_find(items, TH_STR("\"output\":\"a\\nb\"")) > 0);
	assert_int_equal(view.open_count, 0);
	assert_int_equal(see(&view, 3, "{\"observation\":\"nope\"}", &anew).len > 0, true);
	items = see(&view, 4,
		    "{\"action\":\"condensation\",\"args\":{\"forgotten_events_start_id\":1,"
		    "\"forgotten_events_end_id\":2,\"summary\":\"S\",\"summary_offset\":1}}",
		    &anew);
	assert_true(anew);
	assert_true(th_str_find(items, TH_STR("task")) < th_str_find(items, TH_STR("\"S\"")));
	assert_true(th_str_find(items, TH_STR("event_1")) < 0);
	th_openhands_view_deinit(&view);
}

static void open_calls_are_closed_once(void **state)
{
	struct th_openhands_view view;
	struct th_str items;
	bool anew;

	(void)state;
	th_openhands_view_init(&view, TH_OPENHANDS_V1);
	(void)see(&view, 0,
		  "{\"kind\":\"ActionEvent\",\"id\":\"a\",\"tool_name\":\"t\",\"tool_call_id\":"
		  "\"c\",\"tool_call\":{\"arguments\":\"{}\"},\"thought\":[]}",
		  &anew);
	assert_int_equal(th_openhands_view_close(&view, &items, NULL), TH_OK);
	assert_true(th_str_find(items, TH_STR("was not repeated")) > 0);
	assert_int_equal(th_openhands_view_close(&view, &items, NULL), TH_OK);
	assert_string_equal(items.ptr, "[]");
	th_openhands_view_deinit(&view);
}

static void what_is_secret_by_name_goes(void **state)
{
	struct th_buf out = TH_BUF_INIT(TH_KIB);
	struct th_jw w = th_jw(&out);
	struct th_json_doc *doc =
	    parse("{\"llm\":{\"api_key\":\"sk\",\"model\":\"m\"},\"Headers\":[{\"a\":[\"b\"]}]}");

	(void)state;
	th_redact(th_json_root(doc), &w);
	assert_string_equal(out.ptr, "{\"llm\":{\"api_key\":\"<redacted>\",\"model\":\"m\"},"
				     "\"Headers\":[{\"a\":[\"<redacted>\"]}]}");
	th_json_free(doc);
	th_buf_deinit(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(old_names_are_new_ones),
		cmocka_unit_test(what_python_writes_is_mended),
		cmocka_unit_test(what_they_refuse_is_said),
		cmocka_unit_test(members_have_their_types),
		cmocka_unit_test(python_is_read_and_never_run),
		cmocka_unit_test(a_log_holds_what_fits),
		cmocka_unit_test(a_view_is_what_the_model_saw),
		cmocka_unit_test(open_calls_are_closed_once),
		cmocka_unit_test(what_is_secret_by_name_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
