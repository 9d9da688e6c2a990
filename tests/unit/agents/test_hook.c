/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks that are programs: their files, which tools they look at, and what their end means. */
#include "unit.h"

#include "agents/hook.h"
#include "agents/team.h"
#include "base/limits.h"

static struct th_json_doc *parse(const char *text)
{
	struct th_json_doc *doc = NULL;

	assert_int_equal(th_json_parse(th_str_of(text), &doc, NULL), TH_OK);
	return doc;
}

static struct th_hook_program one(const char *matcher, struct th_arena *a)
{
	struct th_hook_program list[1];
	struct th_err err = { 0 };
	struct th_json_doc *doc;
	struct th_buf text = TH_BUF_INIT(TH_KIB);
	struct th_jw w = th_jw(&text);
	size_t count = 0;

	th_jw_array(&w);
	th_jw_object(&w);
	th_jw_kstr(&w, "matcher", th_str_of(matcher));
	th_jw_kraw(&w, "hooks", TH_STR("[{\"command\":\"x\"}]"));
	th_jw_object_end(&w);
	th_jw_array_end(&w);
	doc = parse(text.ptr);
	assert_int_equal(
	    th_hooks_read(TH_HOOK_ON_PRE_TOOL_USE, th_json_root(doc), a, list, &count, 1, &err),
	    TH_OK);
	assert_int_equal(count, 1);
	th_json_free(doc);
	th_buf_deinit(&text);
	return list[0];
}

static void matchers(void **state)
{
	const struct {
		const char *matcher, *tool;
		bool want;
	} rows[] = {
		{ "", "x", true },
		{ "*", "x", true },
		{ "terminal", "file_editor", false },
		{ "terminal", "bash", true }, /* the same tool */
		{ "bash", "terminal", true },
		{ "file_editor", "edit", true },
		{ "/term.*/", "terminal", true },
		{ "term", "terminal", false },
		{ "term.*", "bash", true },
		{ "[bad", "[bad", true },
		{ "[bad", "bad", false },
		{ "/[bad/", "[bad", false },
		{ "a|b", "b", true },
		{ "//", "//", true },
	};
	struct th_arena a TH_CLEANUP(th_arena_deinit) = { 0 };

	(void)state;
	th_arena_init(&a, TH_MIB);
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_hook_program h = one(rows[i].matcher, &a);

		if (th_hook_matches(&h, th_str_of(rows[i].tool), false) != rows[i].want)
			fail_msg("%s against %s", rows[i].matcher, rows[i].tool);
	}
	/* A tool that does the same, for sessions that say so. */
	struct th_hook_program terminal = one("/^terminal$/", &a);

	assert_false(th_hook_matches(&terminal, TH_STR("shell"), false));
	assert_true(th_hook_matches(&terminal, TH_STR("shell"), true));
	assert_false(th_hook_matches(&terminal, TH_STR("edit"), true));
}

static void files(void **state)
{
	const struct {
		const char *text, *words;
	} rows[] = {
		{ "{\"BogusEvent\":[]}", "Unknown event type 'BogusEvent'" },
		{ "{\"stop\":[],\"Stop\":[]}", "stop is there twice" },
		{ "{\"hooks\":{},\"stop\":[]}", "beside hooks" },
		{ "[]", "must be an object" },
	};
	const struct th_json *events[TH_HOOK_EVENT_COUNT];
	struct th_json_doc *doc =
	    parse("{\"description\":\"x\",\"hooks\":{\"PreToolUse\":[{}],\"stop\":null}}");
	struct th_err err = { 0 };

	(void)state;
	assert_int_equal(th_hooks_file_read(th_json_root(doc), events, &err), TH_OK);
	assert_int_equal(th_json_count(events[TH_HOOK_ON_PRE_TOOL_USE]), 1);
	assert_null(events[TH_HOOK_ON_STOP]);
	th_json_free(doc);
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		doc = parse(rows[i].text);
		assert_int_equal(th_hooks_file_read(th_json_root(doc), events, &err), TH_EUSAGE);
		assert_non_null(strstr(err.msg, rows[i].words));
		err = (struct th_err){ 0 };
		th_json_free(doc);
	}
}

static void entries(void **state)
{
	const struct {
		const char *text;
		enum th_code code;
		const char *words;
	} rows[] = {
		{ "{}", TH_EUSAGE, "must be a list" },
		{ "[1]", TH_EUSAGE, "must be an object" },
		{ "[{}]", TH_EUSAGE, "hooks must be a list" },
		{ "[{\"hooks\":[],\"x\":1}]", TH_EUSAGE, "takes matcher and hooks, not \"x\"" },
		{ "[{\"hooks\":[{}]}]", TH_EUSAGE, "command" },
		{ "[{\"hooks\":[{\"command\":\"x\",\"timeout\":0}]}]", TH_EUSAGE, "timeout" },
		{ "[{\"hooks\":[{\"command\":\"x\",\"timeout\":601}]}]", TH_EUSAGE, "at most 600" },
		{ "[{\"hooks\":[{\"type\":\"other\"}]}]", TH_EUNSUPPORTED,
		  "command, prompt and agent are" },
		{ "[{\"hooks\":[{\"type\":\"agent\"}]}]", TH_EUSAGE, "prompt is missing" },
		{ "[{\"hooks\":[{\"type\":\"agent\",\"system_prompt\":\"x\"}]}]", TH_OK, "" },
		{ "[{\"hooks\":[{\"type\":\"agent\",\"prompt\":\"x\",\"async\":true}]}]", TH_EUSAGE,
		  "of the type agent is waited for" },
		{ "[{\"hooks\":[{\"type\":\"agent\",\"prompt\":\"x\",\"max_iterations\":21}]}]",
		  TH_EUSAGE, "at most 20" },
		{ "[{\"hooks\":[{\"type\":\"agent\",\"prompt\":\"x\",\"max_iterations\":20}]}]",
		  TH_OK, "" },
		{ "[{\"hooks\":[{\"type\":\"agent\",\"prompt\":\"x\",\"tools\":[\"1\",\"2\",\"3\","
		  "\"4\","
		  "\"5\",\"6\",\"7\",\"8\",\"9\",\"10\",\"11\",\"12\",\"13\",\"14\",\"15\",\"16\","
		  "\"17\"]"
		  "}]}]",
		  TH_EUSAGE, "at most 16 tools" },
		{ "[{\"hooks\":[{\"command\":\"x\",\"tools\":[\"search\"]}]}]", TH_EUSAGE,
		  "are of hooks of the type agent" },
		{ "[{\"hooks\":[{\"type\":\"prompt\"}]}]", TH_EUSAGE, "prompt is missing" },
		{ "[{\"hooks\":[{\"prompt\":\"x\"}]}]", TH_EUSAGE, "command is missing" },
		{ "[{\"hooks\":[{\"type\":\"prompt\",\"prompt\":\"x\",\"command\":\"y\"}]}]",
		  TH_EUSAGE, "a command or a prompt" },
		{ "[{\"hooks\":[{\"type\":\"prompt\",\"prompt\":\"x\",\"async\":true}]}]",
		  TH_EUSAGE, "waited for" },
		{ "[{\"matcher\":\"(?!x)\",\"hooks\":[]}]", TH_EUNSUPPORTED, "matcher" },
		{ "[{\"hooks\":[{\"command\":\"x\"},{\"command\":\"y\"},{\"command\":\"z\"}]}]",
		  TH_ELIMIT, "at most" },
	};
	struct th_hook_program list[2];
	struct th_arena a TH_CLEANUP(th_arena_deinit) = { 0 };

	(void)state;
	th_arena_init(&a, TH_MIB);
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_json_doc *doc = parse(rows[i].text);
		struct th_err err = { 0 };
		size_t count = 0;

		assert_int_equal(
		    th_hooks_read(TH_HOOK_ON_STOP, th_json_root(doc), &a, list, &count, 2, &err),
		    rows[i].code);
		if (!strstr(err.msg, rows[i].words))
			fail_msg("%s", err.msg);
		th_json_free(doc);
	}
}

static void a_long_command(void **state)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_hook_program list[1];
	struct th_arena a TH_CLEANUP(th_arena_deinit) = { 0 };

	(void)state;
	th_arena_init(&a, TH_MIB);
	for (size_t more = 0; more < 2; more++) {
		struct th_err err = { 0 };
		struct th_json_doc *doc;
		size_t count = 0;

		th_buf_clear(&text);
		th_buf_add_cstr(&text, "[{\"hooks\":[{\"command\":\"");
		for (size_t i = 0; i < TH_HOOK_COMMAND_MAX + more; i++)
			th_buf_add_char(&text, 'x');
		th_buf_add_cstr(&text, "\"}]}]");
		doc = parse(text.ptr);
		assert_int_equal(
		    th_hooks_read(TH_HOOK_ON_STOP, th_json_root(doc), &a, list, &count, 1, &err),
		    more ? TH_ELIMIT : TH_OK);
		th_json_free(doc);
	}
}

static void ends(void **state)
{
	const struct {
		int64_t status;
		const char *out, *err;
		bool refused, failed;
		const char *reason, *context, *arguments;
	} rows[] = {
		{ 0, "", "", false, false, "", "", "" },
		{ 0, "words", "", false, false, "", "", "" },
		{ 2, "", " no \n", true, false, "no", "", "" },
		{ 2, "", "", true, false, "the hook h refuses it", "", "" },
		{ 2, "{\"reason\":\"r\"}", "no", true, false, "r", "", "" },
		{ 2, "{broken", "no", true, false, "no", "", "" },
		{ 1, "", "", false, true, "it failed with exit status 1", "", "" },
		{ 0, "{broken", "", false, true, "what it wrote is no JSON", "", "" },
		{ 0, "{\"decision\":\"deny\",\"reason\":\"r\"}", "", true, false, "r", "", "" },
		{ 0, "{\"decision\":\"allow\",\"additionalContext\":\"c\"}", "", false, false, "",
		  "c", "" },
		{ 0, "{\"continue\":false}", "", true, false, "the hook h refuses it", "", "" },
		{ 0, "{\"continue\":null}", "", true, false, "the hook h refuses it", "", "" },
		{ 0, "{\"continue\":0}", "", true, false, "the hook h refuses it", "", "" },
		{ 0, "{\"continue\":1}", "", false, false, "", "", "" },
		{ 0, "{\"decision\":\"DENY\",\"reason\":\"r\"}", "", true, false, "r", "", "" },
		{ 0, "{\"decision\":\"Block\",\"reason\":\"r\"}", "", true, false, "r", "", "" },
		{ 0, "{\"updatedInput\":{\"a\":1}}", "", false, false, "", "", "{\"a\":1}" },
		{ 0, "{\"updatedInput\":{\"a\":1},\"decision\":\"deny\"}", "", true, false,
		  "the hook h refuses it", "", "" },
		{ 0,
		  "{\"hookSpecificOutput\":{\"permissionDecision\":\"deny\","
		  "\"permissionDecisionReason\":\"r\",\"additionalContext\":\"c\"}}",
		  "", true, false, "r", "c", "" },
	};
	const struct th_hook_program h = { .event = TH_HOOK_ON_PRE_TOOL_USE, .name = TH_STR("h") };
	struct th_arena a TH_CLEANUP(th_arena_deinit) = { 0 };
	struct th_hook_verdict v;

	(void)state;
	th_arena_init(&a, TH_MIB);
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		const struct th_hook_end end = { .exited = true,
						 .status = rows[i].status,
						 .out = th_str_of(rows[i].out),
						 .err = th_str_of(rows[i].err) };

		v = th_hook_judge(&h, &end, &a);
		if (v.refused != rows[i].refused || v.failed != rows[i].failed ||
		    !th_str_is(v.reason, rows[i].reason) ||
		    !th_str_is(v.context, rows[i].context) ||
		    !th_str_is(v.arguments, rows[i].arguments))
			fail_msg("row %zu: %d %d %.*s", i, v.refused, v.failed, TH_FMT(v.reason));
	}
	v = th_hook_judge(&h, &(struct th_hook_end){ .why = TH_STR("gone") }, &a);
	assert_true(v.failed && !v.refused && th_str_is(v.reason, "gone"));
}

static void of_a_team(void **state)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = { 0 };
	struct th_json_doc *doc =
	    parse("{\"hooks\":{\"pre_tool_use\":[{\"matcher\":\"terminal\",\"hooks\":"
		  "[{\"command\":\"x\"}]}]},\"agents\":{\"b\":{}}}");
	const struct th_team *team;
	struct th_err err = { 0 };

	(void)state;
	th_arena_init(&a, TH_MIB);
	assert_int_equal(th_team_resolve(th_json_root(doc), &a, &team, &err), TH_OK);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(
		    th_member_tool_guards(&team->members[i], TH_GUARD_TOOL_INPUT, TH_STR("bash")),
		    1);
		assert_int_equal(
		    th_member_tool_guards(&team->members[i], TH_GUARD_TOOL_INPUT, TH_STR("edit")),
		    0);
	}
	th_json_free(doc);
	/* Another's own are asked about it alone. */
	doc = parse(
	    "{\"agents\":{\"b\":{\"hooks\":{\"pre_tool_use\":[{\"hooks\":[{\"type\":\"agent\","
	    "\"prompt\":\"x\"}]}]}}}}");
	assert_int_equal(th_team_resolve(th_json_root(doc), &a, &team, &err), TH_OK);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(
		    th_member_tool_guards(&team->members[i], TH_GUARD_TOOL_INPUT, TH_STR("bash")),
		    i);
	assert_true(team->members[1].guards[0].program->looks);
	assert_int_equal(team->members[1].guards[0].program->turns, TH_HOOK_TURNS_DEFAULT);
	th_json_free(doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matchers),       cmocka_unit_test(files),
		cmocka_unit_test(entries),        cmocka_unit_test(ends),
		cmocka_unit_test(a_long_command), cmocka_unit_test(of_a_team),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
