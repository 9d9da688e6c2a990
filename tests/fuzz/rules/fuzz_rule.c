/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_rule.c - a rule and a call, as two JSON texts with a NUL between them.
 * What lets run must be as strict as what asks: where a rule that runs matches,
 * the same rule that refuses matches too.
 */
#include <assert.h>
#include <stdint.h>

#include "agents/agent.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void match(struct th_agent_rule *rule, const struct th_json *arguments)
{
	const struct th_objects rules = { rule, 1 };
	struct th_rule_call call = {
		.tool = TH_STR("shell"),
		.class = TH_CLASS_W,
		.arguments = arguments,
		.workspace = TH_STR("/home/me/work"),
		.now_ms = INT64_C(1767225600000),
	};
	struct th_buf path = TH_BUF_INIT(TH_KIB);
	struct th_err err;

	if (!th_rules_check(&rules, &path, &err)) {
		rule->decide = TH_RULE_REFUSE;
		bool refuses = th_rules_match(&rules, &call) != NULL;

		rule->decide = TH_RULE_RUN;
		assert(!th_rules_match(&rules, &call) || refuses);
	}
	th_buf_deinit(&path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str rest = th_str_n(data, size), first;
	struct th_json_doc *rule_doc = NULL, *call_doc = NULL;
	struct th_agent_rule rule;
	struct th_arena a;

	if (size > 20000)
		return 0;
	first = th_str_split(&rest, '\0');
	th_arena_init(&a, TH_MIB);
	if (!th_json_parse(first, &rule_doc, NULL) && !th_json_parse(rest, &call_doc, NULL) &&
	    !th_table_parse(&th_agent_rule_table, th_json_root(rule_doc), &a, &rule, NULL))
		match(&rule, th_json_root(call_doc));
	th_json_free(rule_doc);
	th_json_free(call_doc);
	th_arena_deinit(&a);
	return 0;
}
