/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_policy.c - the verdict on a call: a row for every combination that
 * matters, and what must hold for all of them.
 */
#include <stdio.h>

#include "core/policy.h"
#include "unit.h"

enum tool { NO_TOOL, LOOKS, WRITES, NOTES, FINAL, ASKS, MCP, NO_MCP, HANDOFF, COMPUTER, QUESTION };
enum rule { NO_RULE, RUN_RULE, ASK_RULE, ASK_EACH_RULE, REFUSE_RULE };
enum code { NO_CODE, AGREES, SAYS_ASK, SAYS_WHY, FAILS };
enum sticky { NO_STICKY, APPROVED, REJECTED };
enum repeat { NO_REPEAT, OF_SCREEN, OF_OTHER, OF_SCREEN_ASK };

struct facts {
	enum tool tool;
	bool listed, cut, checks, unusable;
	enum rule rule;
	enum code code;
	enum sticky sticky;
	enum repeat repeat;
	enum th_confirm confirm; /* asked of the session */
	bool tainted, outside;   /* outside: the tool acts on neither workspace nor screen */
};

static const struct {
	struct facts f;
	enum th_policy policy;
	const char *reason; /* a part of it; NULL: none is given */
} rows[] = {
	/* What cannot run. */
	{ { .tool = NO_TOOL }, TH_POLICY_REFUSE, "no tool named" },
	{ { .tool = NO_TOOL, .unusable = true }, TH_POLICY_REFUSE, "no tool named" },
	{ { .tool = NO_TOOL, .rule = RUN_RULE }, TH_POLICY_REFUSE, "no tool named" },
	{ { .tool = NO_TOOL, .sticky = APPROVED }, TH_POLICY_REFUSE, "no tool named" },
	{ { .tool = WRITES, .cut = true }, TH_POLICY_REFUSE, "cut inside" },
	{ { .tool = WRITES, .cut = true, .rule = RUN_RULE }, TH_POLICY_REFUSE, "cut inside" },
	{ { .tool = WRITES, .cut = true, .checks = true }, TH_POLICY_REFUSE, "cut inside" },
	{ { .tool = WRITES, .unusable = true }, TH_POLICY_REFUSE, "not usable" },
	{ { .tool = WRITES, .unusable = true, .rule = ASK_RULE }, TH_POLICY_REFUSE, "not usable" },
	{ { .tool = FINAL, .unusable = true }, TH_POLICY_REFUSE, "not usable" },
	{ { .tool = COMPUTER, .unusable = true }, TH_POLICY_REFUSE, "not usable" },
	{ { .tool = HANDOFF, .unusable = true }, TH_POLICY_REFUSE, "not usable" },
	{ { .tool = NO_MCP }, TH_POLICY_REFUSE, "MCP server label docs not found" },
	{ { .tool = NO_MCP, .rule = RUN_RULE },
	  TH_POLICY_REFUSE,
	  "MCP server label docs not found" },
	/* What runs, and when a person is asked. */
	{ { .tool = LOOKS }, TH_POLICY_RUN, NULL },
	{ { .tool = WRITES }, TH_POLICY_RUN, NULL },
	{ { .tool = COMPUTER }, TH_POLICY_RUN, NULL },
	{ { .tool = HANDOFF }, TH_POLICY_RUN, NULL },
	{ { .tool = FINAL }, TH_POLICY_ASK, "cannot be undone" },
	{ { .tool = ASKS }, TH_POLICY_ASK, "agent file asks" },
	{ { .tool = WRITES, .listed = true }, TH_POLICY_ASK, "agent file asks" },
	{ { .tool = WRITES, .checks = true }, TH_POLICY_ASK, "malicious instructions" },
	{ { .tool = FINAL, .checks = true }, TH_POLICY_ASK, "malicious instructions" },
	{ { .tool = MCP }, TH_POLICY_ASK, "may run docs.find" },
	/* Rules. */
	{ { .tool = WRITES, .rule = RUN_RULE }, TH_POLICY_RUN, NULL },
	{ { .tool = WRITES, .listed = true, .rule = RUN_RULE }, TH_POLICY_RUN, NULL },
	{ { .tool = MCP, .rule = RUN_RULE }, TH_POLICY_RUN, NULL },
	{ { .tool = FINAL, .rule = RUN_RULE }, TH_POLICY_ASK, "cannot be undone" },
	{ { .tool = WRITES, .checks = true, .rule = RUN_RULE },
	  TH_POLICY_ASK,
	  "malicious instructions" },
	{ { .tool = WRITES, .rule = ASK_RULE }, TH_POLICY_ASK, "a rule of the agent file asks" },
	{ { .tool = FINAL, .rule = ASK_RULE }, TH_POLICY_ASK, "cannot be undone" },
	{ { .tool = WRITES, .rule = REFUSE_RULE }, TH_POLICY_REFUSE, "forbids this" },
	{ { .tool = FINAL, .rule = REFUSE_RULE }, TH_POLICY_REFUSE, "forbids this" },
	{ { .tool = MCP, .rule = REFUSE_RULE }, TH_POLICY_REFUSE, "forbids this" },
	{ { .tool = HANDOFF, .rule = REFUSE_RULE }, TH_POLICY_RUN, NULL },
	/* The agent's code. */
	{ { .tool = WRITES, .code = AGREES }, TH_POLICY_RUN, NULL },
	{ { .tool = WRITES, .code = SAYS_ASK }, TH_POLICY_ASK, "the agent's code asks" },
	{ { .tool = WRITES, .code = SAYS_WHY }, TH_POLICY_ASK, "it is Friday" },
	{ { .tool = WRITES, .code = FAILS }, TH_POLICY_ASK, "decides about approvals failed" },
	{ { .tool = WRITES, .rule = RUN_RULE, .code = SAYS_ASK },
	  TH_POLICY_ASK,
	  "the agent's code asks" },
	{ { .tool = FINAL, .code = AGREES }, TH_POLICY_ASK, "cannot be undone" },
	{ { .tool = HANDOFF, .code = SAYS_ASK }, TH_POLICY_RUN, NULL },
	/* What is asked of the session beside the agent file. */
	{ { .tool = WRITES, .confirm = TH_CONFIRM_ALWAYS }, TH_POLICY_ASK, "was asked for" },
	{ { .tool = LOOKS, .confirm = TH_CONFIRM_ALWAYS }, TH_POLICY_RUN, NULL },
	{ { .tool = NO_TOOL, .confirm = TH_CONFIRM_ALWAYS }, TH_POLICY_REFUSE, "no tool named" },
	{ { .tool = WRITES, .confirm = TH_CONFIRM_ALWAYS, .rule = REFUSE_RULE },
	  TH_POLICY_REFUSE,
	  "forbids this" },
	{ { .tool = WRITES, .confirm = TH_CONFIRM_RISKY }, TH_POLICY_RUN, NULL },
	/* For good. */
	{ { .tool = WRITES, .listed = true, .sticky = APPROVED },
	  TH_POLICY_RUN,
	  "approved for good" },
	{ { .tool = WRITES, .listed = true, .sticky = REJECTED }, TH_POLICY_REFUSE, "not today" },
	{ { .tool = WRITES, .sticky = REJECTED }, TH_POLICY_RUN, NULL },
	{ { .tool = FINAL, .sticky = APPROVED }, TH_POLICY_ASK, "cannot be undone" },
	{ { .tool = FINAL, .sticky = REJECTED }, TH_POLICY_REFUSE, "not today" },
	{ { .tool = WRITES, .checks = true, .sticky = APPROVED }, TH_POLICY_ASK, "malicious" },
	{ { .tool = WRITES, .checks = true, .sticky = REJECTED }, TH_POLICY_ASK, "malicious" },
	{ { .tool = WRITES, .rule = ASK_RULE, .sticky = APPROVED },
	  TH_POLICY_RUN,
	  "approved for good" },
	{ { .tool = WRITES, .rule = ASK_EACH_RULE, .sticky = APPROVED }, TH_POLICY_ASK, "asks" },
	{ { .tool = WRITES, .rule = ASK_EACH_RULE, .sticky = REJECTED }, TH_POLICY_ASK, "asks" },
	{ { .tool = WRITES, .code = SAYS_WHY, .sticky = APPROVED },
	  TH_POLICY_RUN,
	  "approved for good" },
	{ { .tool = MCP, .sticky = APPROVED }, TH_POLICY_RUN, "approved for good" },
	{ { .tool = WRITES, .rule = REFUSE_RULE, .sticky = APPROVED },
	  TH_POLICY_REFUSE,
	  "forbids" },
	/* An action of unknown outcome. */
	{ { .tool = LOOKS, .repeat = OF_SCREEN }, TH_POLICY_RUN, NULL },
	{ { .tool = NOTES, .repeat = OF_SCREEN }, TH_POLICY_RUN, NULL },
	{ { .tool = HANDOFF, .repeat = OF_SCREEN }, TH_POLICY_RUN, NULL },
	{ { .tool = WRITES, .repeat = OF_SCREEN },
	  TH_POLICY_REFUSE,
	  "look first (take a screenshot)" },
	{ { .tool = WRITES, .repeat = OF_SCREEN_ASK }, TH_POLICY_ASK, "may have happened already" },
	{ { .tool = WRITES, .repeat = OF_OTHER }, TH_POLICY_ASK, "may have happened already" },
	{ { .tool = WRITES, .listed = true, .repeat = OF_SCREEN },
	  TH_POLICY_ASK,
	  "; the agent file asks" },
	{ { .tool = FINAL, .repeat = OF_SCREEN }, TH_POLICY_ASK, "; this cannot be undone" },
	{ { .tool = WRITES, .rule = RUN_RULE, .repeat = OF_SCREEN },
	  TH_POLICY_REFUSE,
	  "look first" },
	{ { .tool = WRITES, .rule = REFUSE_RULE, .repeat = OF_OTHER },
	  TH_POLICY_REFUSE,
	  "forbids" },
	{ { .tool = WRITES, .listed = true, .sticky = APPROVED, .repeat = OF_SCREEN },
	  TH_POLICY_REFUSE,
	  "look first" },
	/* A question waits for its own answer, whatever was said otherwise. */
	{ { .tool = QUESTION }, TH_POLICY_ASK, "the agent asks: Why not?" },
	{ { .tool = QUESTION, .rule = RUN_RULE }, TH_POLICY_ASK, "the agent asks: Why not?" },
	{ { .tool = QUESTION, .rule = ASK_RULE }, TH_POLICY_ASK, "the agent asks: Why not?" },
	{ { .tool = QUESTION, .rule = REFUSE_RULE }, TH_POLICY_REFUSE, "forbids" },
	{ { .tool = QUESTION, .code = AGREES }, TH_POLICY_ASK, "the agent asks: Why not?" },
	{ { .tool = QUESTION, .sticky = APPROVED }, TH_POLICY_ASK, "the agent asks: Why not?" },
	{ { .tool = QUESTION, .sticky = REJECTED }, TH_POLICY_ASK, "the agent asks: Why not?" },
	{ { .tool = QUESTION, .unusable = true }, TH_POLICY_REFUSE, "not usable" },
	{ { .tool = NO_TOOL, .repeat = OF_OTHER }, TH_POLICY_REFUSE, "no tool named" },
	/* Untrusted bytes: no word for good, rule or code lifts it. */
	{ { .tool = WRITES, .tainted = true }, TH_POLICY_RUN, NULL },
	{ { .tool = WRITES, .outside = true }, TH_POLICY_RUN, NULL },
	{ { .tool = LOOKS, .outside = true, .tainted = true }, TH_POLICY_RUN, NULL },
	{ { .tool = NOTES, .outside = true, .tainted = true }, TH_POLICY_RUN, NULL },
	{ { .tool = HANDOFF, .outside = true, .tainted = true }, TH_POLICY_RUN, NULL },
	{ { .tool = WRITES, .outside = true, .tainted = true },
	  TH_POLICY_ASK,
	  "outside the workspace, and untrusted bytes (web, event 12)" },
	{ { .tool = WRITES, .outside = true, .tainted = true, .rule = RUN_RULE },
	  TH_POLICY_ASK,
	  "untrusted bytes" },
	{ { .tool = WRITES, .outside = true, .tainted = true, .code = AGREES },
	  TH_POLICY_ASK,
	  "untrusted bytes" },
	{ { .tool = WRITES, .outside = true, .tainted = true, .listed = true, .sticky = APPROVED },
	  TH_POLICY_ASK,
	  "untrusted bytes" },
	{ { .tool = WRITES, .outside = true, .tainted = true, .listed = true, .sticky = REJECTED },
	  TH_POLICY_REFUSE,
	  "not today" },
	{ { .tool = WRITES, .outside = true, .tainted = true, .rule = REFUSE_RULE },
	  TH_POLICY_REFUSE,
	  "forbids" },
	{ { .tool = WRITES, .outside = true, .tainted = true, .listed = true },
	  TH_POLICY_ASK,
	  "; the agent file asks" },
	{ { .tool = WRITES, .outside = true, .tainted = true, .repeat = OF_OTHER },
	  TH_POLICY_ASK,
	  "may have happened already (event 7); it changes what is outside" },
	{ { .tool = FINAL, .tainted = true },
	  TH_POLICY_ASK,
	  "cannot be undone, and untrusted bytes (web, event 12) are in the context; this cannot" },
	{ { .tool = NO_TOOL, .tainted = true }, TH_POLICY_REFUSE, "no tool named" },
};

static const enum th_class classes[] = {
	[NO_TOOL] = TH_CLASS_W,  [LOOKS] = TH_CLASS_R,    [WRITES] = TH_CLASS_W,
	[NOTES] = TH_CLASS_L,    [FINAL] = TH_CLASS_X,    [ASKS] = TH_CLASS_W,
	[MCP] = TH_CLASS_W,      [NO_MCP] = TH_CLASS_W,   [HANDOFF] = TH_CLASS_L,
	[COMPUTER] = TH_CLASS_W, [QUESTION] = TH_CLASS_R,
};

struct asked {
	enum code says;
	int count;
};

static enum th_code_says ask_code(void *ctx, struct th_arena *a, struct th_str *ret_reason)
{
	struct asked *asked = ctx;

	(void)a;
	asked->count++;
	if (asked->says == FAILS)
		return TH_CODE_FAILED;
	if (asked->says == SAYS_WHY)
		*ret_reason = TH_STR("it is Friday");
	return asked->says == AGREES ? TH_CODE_AGREES : TH_CODE_ASKS;
}

/* The verdict, its reason in `reason`; *ret_asked: how often the code was asked. */
static struct th_verdict verdict_of(const struct facts *t, char reason[512], int *ret_asked)
{
	struct th_str listed[] = { TH_STR("write") };
	struct th_agent_rule rule = { .class = -1,
				      .decide = t->rule == RUN_RULE      ? TH_RULE_RUN
						: t->rule == REFUSE_RULE ? TH_RULE_REFUSE
									 : TH_RULE_ASK };
	struct th_agent agent = {
		.approve = { listed, t->listed ? 1 : 0 },
		.repeat = t->repeat == OF_SCREEN_ASK ? TH_REPEAT_ASK : TH_REPEAT_REFUSE,
	};
	struct th_tool_spec spec = { .name = TH_STR("write"),
				     .class = classes[t->tool],
				     .ask = t->tool == ASKS,
				     .scope = { .target = t->outside ? TH_TARGET_OTHER
								     : TH_TARGET_FILES },
				     .question = t->tool == QUESTION };
	struct th_call call = {
		.tool = t->tool == MCP || t->tool == NO_MCP ? TH_STR("docs.find") : TH_STR("write"),
		.arguments = TH_STR("{\"question\":\"Why not?\"}"),
		.incomplete = t->cut,
		.computer = t->tool == COMPUTER,
		.handoff = t->tool == HANDOFF,
		.native = t->tool == MCP || t->tool == NO_MCP ? TH_NATIVE_MCP : TH_NATIVE_NONE,
		.safety_checks =
		    t->checks ? TH_STR("[{\"id\":\"x\",\"message\":\"malicious instructions\"}]")
			      : TH_STR(""),
	};
	struct th_sticky sticky = { .approve = t->sticky == APPROVED,
				    .message = TH_STR("not today") };
	struct th_unresolved_effect unresolved = {
		.seq = 7, .target = t->repeat == OF_OTHER ? TH_TARGET_OTHER : TH_TARGET_SCREEN
	};
	const struct th_tainted tainted = { .origin = TH_ORIGIN_WEB, .seq = 12, .ask = UINT32_MAX };
	struct th_json_doc *arguments;
	struct th_rule_call looks = { .tool = call.tool, .class = spec.class };
	struct asked asked = { .says = t->code };
	struct th_policy_facts f = {
		.agent = &agent,
		.call = &call,
		.spec = t->tool == NO_TOOL || t->tool == NO_MCP ? NULL : &spec,
		.class = spec.class,
		.unusable = t->unusable ? TH_STR("the arguments are not usable") : TH_STR(""),
		.rule = t->rule ? &looks : NULL,
		.code = t->code ? ask_code : NULL,
		.code_ctx = &asked,
		.sticky = t->sticky ? &sticky : NULL,
		.unresolved = t->repeat ? &unresolved : NULL,
		.tainted = t->tainted ? &tainted : NULL,
		.confirm = { .when = t->confirm, .threshold = TH_RISK_HIGH },
	};
	struct th_verdict v;
	struct th_arena a;

	if (t->rule == ASK_EACH_RULE)
		rule.arguments = TH_STR("{\"command\":\"*\"}");
	agent.rules = (struct th_objects){ .list = &rule, .count = t->rule ? 1 : 0 };
	assert_int_equal(th_json_parse(TH_STR("{\"command\":\"make\"}"), &arguments, NULL), TH_OK);
	looks.arguments = th_json_root(arguments);
	f.arguments = t->confirm ? looks.arguments : NULL;
	th_arena_init(&a, TH_MIB);
	v = th_policy_verdict(&f, &a);
	snprintf(reason, 512, "%.*s", TH_FMT(v.reason));
	*ret_asked = asked.count;
	th_arena_deinit(&a);
	th_json_free(arguments);
	return v;
}

static void test_rows(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		char reason[512];
		int asked;
		struct th_verdict v = verdict_of(&rows[i].f, reason, &asked);

		if (v.policy != rows[i].policy ||
		    (rows[i].reason ? !strstr(reason, rows[i].reason) : reason[0] != '\0'))
			fail_msg("row %zu: %s, \"%s\"", i, th_policy_name(v.policy), reason);
	}
}

/* What no combination may break. */
static void check(const struct facts *t)
{
	char reason[512];
	int asked;
	struct th_verdict v = verdict_of(t, reason, &asked);
	bool changes = classes[t->tool] == TH_CLASS_W || classes[t->tool] == TH_CLASS_X;

	if (t->tool == NO_TOOL || t->tool == NO_MCP || t->unusable ||
	    (t->cut && t->tool != HANDOFF && t->tool != MCP))
		assert_int_equal(v.policy, TH_POLICY_REFUSE);
	if (t->tool == FINAL || (t->checks && t->tool != HANDOFF && t->tool != MCP))
		assert_int_not_equal(v.policy, TH_POLICY_RUN);
	if (t->rule == REFUSE_RULE && t->tool != HANDOFF)
		assert_int_equal(v.policy, TH_POLICY_REFUSE);
	if (t->repeat && changes)
		assert_int_not_equal(v.policy, TH_POLICY_RUN);
	if (t->rule == ASK_EACH_RULE && t->tool != HANDOFF)
		assert_int_not_equal(v.policy, TH_POLICY_RUN);
	if (t->tainted && t->outside && changes && t->tool != MCP)
		assert_int_not_equal(v.policy, TH_POLICY_RUN);
	assert_in_range(asked, 0, t->code ? 1 : 0);
	if (v.policy != TH_POLICY_RUN)
		assert_true(reason[0] != '\0');
}

static void test_all(void **unused)
{
	struct facts t;
	size_t count = 0;

	(void)unused;
	for (int bits = 0; bits < 64; bits++)
		for (int tool = NO_TOOL; tool <= COMPUTER; tool++)
			for (int rule = NO_RULE; rule <= REFUSE_RULE; rule++)
				for (int code = NO_CODE; code <= FAILS; code++)
					for (int rest = 0; rest < 12; rest++, count++) {
						t = (struct facts){
							.tool = (enum tool)tool,
							.listed = bits & 1,
							.cut = bits & 2,
							.checks = bits & 4,
							.unusable = bits & 8,
							.tainted = bits & 16,
							.outside = bits & 32,
							.rule = (enum rule)rule,
							.code = (enum code)code,
							.sticky = (enum sticky)(rest % 3),
							.repeat = (enum repeat)(rest / 3),
						};
						check(&t);
					}
	assert_int_equal(count, 4 * 48000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
