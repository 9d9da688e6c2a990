/* SPDX-License-Identifier: Apache-2.0 */
/* What a definition says of the team's handoffs. */
#include "unit.h"

#include "agents/team.h"
#include "base/limits.h"

struct resolved {
	struct th_arena a;
	struct th_json_doc *doc;
	const struct th_team *team;
	struct th_err err;
};

static enum th_code resolve(struct resolved *r, const char *definition)
{
	th_arena_init(&r->a, TH_MIB);
	assert_int_equal(th_json_parse(th_str_of(definition), &r->doc, &r->err), TH_OK);
	return th_team_resolve(th_json_root(r->doc), &r->a, &r->team, &r->err);
}

static void end(struct resolved *r)
{
	th_json_free(r->doc);
	th_arena_deinit(&r->a);
}

static void test_nested_histories(void **state)
{
	struct resolved r;
	const struct th_handoff *h;

	(void)state;
	assert_int_equal(
	    resolve(&r, "{\"name\":\"a\",\"nest_history\":true,\"history_mapper\":\"own\","
			"\"handoffs\":[\"b\",{\"agent\":\"b\",\"tool\":\"t\",\"nest\":false}],"
			"\"agents\":{\"b\":{\"handoffs\":[\"a\"]}}}"),
	    TH_OK);
	h = r.team->members[0].handoffs;
	assert_true(h[0].nest && !h[1].nest);
	assert_true(th_str_is(h[0].mapper, "own") && th_str_is(h[1].mapper, "own"));
	h = r.team->members[1].handoffs;
	assert_true(!h[0].nest && !h[0].mapper.len);
	assert_true(th_str_is(r.team->markers.start, TH_NEST_START));
	assert_true(th_str_is(r.team->markers.end, TH_NEST_END));
	end(&r);
	assert_int_equal(resolve(&r, "{\"history_markers\":[\"[[\",\"]]\"],\"agents\":{\"b\":{}}}"),
			 TH_OK);
	assert_true(th_str_is(r.team->markers.start, "[["));
	assert_true(th_str_is(r.team->markers.end, "]]"));
	end(&r);
	assert_true(th_str_is(th_team_plain.markers.start, TH_NEST_START));
}

/* Logs of before, whose definition does not say it, are read as they were written. */
static void test_guards_of_what_does_the_same(void **state)
{
	static const struct {
		const char *alike, *tool;
		uint32_t mask; /* the guardrail, the hook */
	} rows[] = {
		{ "", "shell", 1 },
		{ "", "bash", 2 },
		{ "", "terminal", 2 },
		{ ",\"guards_alike\":true", "shell", 3 },
		{ ",\"guards_alike\":true", "bash", 3 },
		{ ",\"guards_alike\":true", "edit", 0 },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_buf text = TH_BUF_INIT(TH_KIB);
		struct resolved r;

		th_buf_printf(&text,
			      "{\"guardrails\":[{\"name\":\"g\",\"stage\":\"tool_input\","
			      "\"tools\":[\"shell\"]}],\"hooks\":{\"pre_tool_use\":[{\"matcher\":"
			      "\"terminal\",\"hooks\":[{\"command\":\"x\"}]}]}%s}",
			      rows[i].alike);
		assert_int_equal(resolve(&r, text.ptr), TH_OK);
		if (th_member_tool_guards(&r.team->members[0], TH_GUARD_TOOL_INPUT,
					  th_str_of(rows[i].tool)) != rows[i].mask)
			fail_msg("%s%s", rows[i].tool, rows[i].alike);
		end(&r);
		th_buf_deinit(&text);
	}
}

/* So are calls of the tool `background` in them, which read nothing that is looked at. */
static void test_guards_of_what_is_read_later(void **state)
{
	static const struct {
		const char *more, *tool;
		uint32_t mask;
	} rows[] = {
		{ "", "t", 1 },
		{ "", "background", 2 },
		{ ",\"guards_alike\":true", "t", 1 },
		{ ",\"guards_alike\":true", "background", 3 },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_buf text = TH_BUF_INIT(TH_KIB);
		struct resolved r;

		th_buf_printf(&text,
			      "{\"guardrails\":[{\"name\":\"g\",\"stage\":\"tool_output\","
			      "\"tools\":[\"t\"]},{\"name\":\"h\",\"stage\":\"tool_output\","
			      "\"tools\":[\"background\"]}],\"commands\":[{\"name\":\"t\","
			      "\"agents\":[\"b\"],\"background\":true}],\"agents\":{\"b\":{}}%s}",
			      rows[i].more);
		assert_int_equal(resolve(&r, text.ptr), TH_OK);
		if (th_member_tool_guards(&r.team->members[0], TH_GUARD_TOOL_OUTPUT,
					  th_str_of(rows[i].tool)) != rows[i].mask)
			fail_msg("%s%s", rows[i].tool, rows[i].more);
		end(&r);
		th_buf_deinit(&text);
	}
}

static void test_markers_are_two(void **state)
{
	static const char two[] = "history_markers must be two texts, the line before a nested "
				  "history and the line behind it";
	static const struct {
		const char *definition, *why;
	} rows[] = {
		{ "{\"history_markers\":[\"[[\"]}", two },
		{ "{\"history_markers\":[\"[[\",\"]]\",\"x\"]}", two },
		{ "{\"history_markers\":[\"\",\"x\"]}", two },
		{ "{\"history_markers\":[\"x\",\"\"]}", two },
		{ "{\"agents\":{\"b\":{\"history_markers\":[\"[[\",\"]]\"]}}}",
		  "agents.b: only the first agent may have history_markers" },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct resolved r;

		assert_int_equal(resolve(&r, rows[i].definition), TH_EUSAGE);
		assert_string_equal(r.err.msg, rows[i].why);
		end(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nested_histories),
		cmocka_unit_test(test_guards_of_what_does_the_same),
		cmocka_unit_test(test_guards_of_what_is_read_later),
		cmocka_unit_test(test_markers_are_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
