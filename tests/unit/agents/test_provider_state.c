/* SPDX-License-Identifier: Apache-2.0 */
/* test_provider_state.c - what a history that the provider has cannot be combined with. */
#include "unit.h"

#include "agents/provider_state.h"
#include "agents/team.h"
#include "base/limits.h"

static enum th_code check(const char *definition, struct th_err *err)
{
	struct th_json_doc *doc;
	const struct th_team *team;
	struct th_arena a;
	enum th_code code;

	th_arena_init(&a, TH_MIB);
	assert_int_equal(th_json_parse(th_str_of(definition), &doc, err), TH_OK);
	code = th_provider_state_check(th_json_root(doc), err);
	/* Whoever resolves the team hears the same. */
	assert_int_equal(th_team_resolve(th_json_root(doc), &a, &team, err), code);
	th_json_free(doc);
	th_arena_deinit(&a);
	return code;
}

static void test_what_cannot_be_combined(void **unused)
{
	static const struct {
		const char *definition, *says;
	} rows[] = {
		{ "{'settings':{'conversation':'c','previous_response_id':'r'}}",
		  "settings has previous_response_id and conversation: a session goes on from one "
		  "of them" },
		{ "{'settings':{'conversation':'c'},'guardrails':[{'name':'g','stage':'output'}]}",
		  "settings.conversation cannot be combined with output guardrails: what they "
		  "refuse cannot be taken out of what the provider has kept" },
		{ "{'settings':{'previous_response_id':'r'},'guardrails':[{'name':'i','stage':"
		  "'input'},{'name':'g','stage':'output'}]}",
		  "settings.previous_response_id cannot be combined with output guardrails: what "
		  "they refuse cannot be taken out of what the provider has kept" },
		{ "{'settings':{'conversation':'c'},'agents':{'b':{'guardrails':[{'name':'g',"
		  "'stage':'output'}]}}}",
		  "agents.b: settings.conversation cannot be combined with output guardrails: what "
		  "they refuse cannot be taken out of what the provider has kept" },
		{ "{'settings':{'conversation':'c'},'handoffs':[{'agent':'b','filter':'f'}],"
		  "'agents':{'b':{}}}",
		  "settings.conversation cannot be combined with a handoff that has a filter or "
		  "nest: a handoff cannot change what the provider has kept" },
		{ "{'settings':{'conversation':'c'},'handoffs':[{'agent':'b','nest':true}],"
		  "'agents':{'b':{}}}",
		  "settings.conversation cannot be combined with a handoff that has a filter or "
		  "nest: a handoff cannot change what the provider has kept" },
		{ "{'settings':{'conversation':'c'},'nest_history':true}",
		  "settings.conversation cannot be combined with nest_history: a handoff cannot "
		  "change what the provider has kept" },
		{ "{'settings':{'conversation':'c'},'input_filter':'f'}",
		  "settings.conversation cannot be combined with input_filter: a filter cannot "
		  "change what the provider has kept" },
		{ "{'settings':{'conversation':'c'},'history_items':3}",
		  "settings.conversation cannot be combined with history_items: what the provider "
		  "has kept cannot be left out" },
		{ "{'settings':{'previous_response_id':'r'},'fallback':['b']}",
		  "settings.previous_response_id cannot be combined with fallback: another model "
		  "may not know what the provider has kept" },
		{ "{'settings':{'conversation':'c','store':false}}",
		  "settings.conversation cannot be combined with store: false: the provider is to "
		  "keep the answers" },
		{ "{'agents':{'b':{'settings':{'conversation':'c'}}}}",
		  "agents.b: settings.conversation is for the agent that begins: it holds for the "
		  "whole team" },
		/* What is not there, or switched off, is no matter. */
		{ "{'guardrails':[{'name':'g','stage':'output'}],'input_filter':'f'}", NULL },
		{ "{'settings':{'conversation':'c','store':true},'nest_history':false,"
		  "'fallback':[],'guardrails':[{'name':'i','stage':'input'}],'handoffs':['b',"
		  "{'agent':'c','filter':null,'nest':false}],'agents':{'b':{},'c':{}}}",
		  NULL },
		{ "{'settings':{'previous_response_id':'r'}}", NULL },
	};

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		char text[512];
		struct th_err err = { 0 };
		enum th_code code;

		assert_true(strlen(rows[i].definition) < sizeof(text));
		for (size_t j = 0; j <= strlen(rows[i].definition); j++)
			text[j] = rows[i].definition[j] == '\'' ? '"' : rows[i].definition[j];
		code = check(text, &err);
		assert_int_equal(code, rows[i].says ? TH_EUSAGE : TH_OK);
		if (rows[i].says)
			assert_string_equal(err.msg, rows[i].says);
	}
}

/* An id has at most TH_RESPONSE_ID_MAX bytes. */
static void test_an_id_has_a_maximum(void **unused)
{
	(void)unused;
	for (size_t more = 0; more <= 1; more++) {
		struct th_buf text = TH_BUF_INIT(TH_KIB);
		struct th_err err = { 0 };

		th_buf_add_cstr(&text, "{\"settings\":{\"conversation\":\"");
		for (size_t i = 0; i < TH_RESPONSE_ID_MAX + more; i++)
			th_buf_add_char(&text, 'c');
		th_buf_add_cstr(&text, "\"}}");
		th_buf_add_char(&text, '\0');
		assert_int_equal(check(text.ptr, &err), more ? TH_EUSAGE : TH_OK);
		if (more)
			assert_string_equal(err.msg, "settings.conversation has at most 256 bytes");
		th_buf_deinit(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_cannot_be_combined),
		cmocka_unit_test(test_an_id_has_a_maximum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
