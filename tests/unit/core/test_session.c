/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_session.c - the fold alone: what it takes, what it refuses, what it
 * says is due.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "core/plan.h"
#include "core/policy.h"

struct story {
	struct th_session s;
	struct th_effects fx;
	struct th_err err;
	int64_t ts;
};

static void begin(struct story *st, const char *limits)
{
	struct th_buf data = TH_BUF_INIT(TH_MIB);
	struct th_event ev = { .seq = 1, .kind = TH_EV_SESSION_CREATED, .ts_ms = 1000 };

	memset(st, 0, sizeof(*st));
	th_session_init(&st->s);
	th_buf_printf(&data, "{\"agent\":{\"name\":\"x\",\"limits\":{%s}},\"model\":\"m\"}",
		      limits);
	ev.data = th_buf_str(&data);
	assert_int_equal(th_session_step(&st->s, &ev, &st->fx, &st->err), TH_OK);
	st->ts = 1000;
	th_buf_deinit(&data);
}

static enum th_code add(struct story *st, enum th_event_kind kind, uint64_t cause, const char *call,
			const char *data)
{
	struct th_event ev = {
		.seq = st->s.seq + 1,
		.kind = kind,
		.ts_ms = ++st->ts,
		.cause = cause,
		.call = th_str_of(call),
		.data = th_str_of(data),
	};

	return th_session_step(&st->s, &ev, &st->fx, &st->err);
}

static void must(struct story *st, enum th_event_kind kind, uint64_t cause, const char *call,
		 const char *data)
{
	assert_int_equal(add(st, kind, cause, call, data), TH_OK);
}

static bool due(const struct story *st, enum th_effect_kind kind)
{
	for (size_t i = 0; i < st->fx.count; i++)
		if (st->fx.list[i].kind == kind)
			return true;
	return false;
}

/* The text with its %s replaced by the digest of such a call. */
static const char *with_digest(const char *text, const char *tool, const char *arguments)
{
	static char out[1024];
	char digest[TH_SHA256_HEX_SIZE + 1];
	const char *hole = strstr(text, "%s");

	th_call_digest(th_str_of(tool), th_str_of(arguments), digest);
	assert_non_null(hole);
	snprintf(out, sizeof(out), "%.*s%s%s", (int)(hole - text), text, digest, hole + 2);
	return out;
}

#define ONE_CALL                                                                               \
	"{\"status\":\"completed\",\"items\":[{\"type\":\"function_call\",\"call_id\":\"c1\"," \
	"\"name\":\"shell\",\"arguments\":\"{}\"}]}"
#define THE_CALL(policy)                                                                         \
	"{\"call_id\":\"c1\",\"tool\":\"shell\",\"arguments\":{},\"class\":\"W\",\"digest\":\"%" \
	"s\","                                                                                   \
	"\"policy\":\"" policy "\"}"
#define THE_INTENT                                                                                 \
	"{\"call_id\":\"c1\",\"effect_id\":\"e1\",\"epoch\":1,\"class\":\"W\",\"tool\":\"shell\"," \
	"\"digest\":\"%s\"}"

/* Up to the CALL event of one call, which has seq 5. */
static void to_call(struct story *st, const char *policy)
{
	begin(st, "");
	must(st, TH_EV_MESSAGE, 0, "", "{\"role\":\"user\",\"content\":\"go\"}");
	assert_true(due(st, TH_DO_REQUEST));
	must(st, TH_EV_MODEL_REQUESTED, 2, "", "{\"model\":\"m\",\"turn\":1,\"attempt\":1}");
	assert_true(due(st, TH_DO_MODEL_CALL));
	must(st, TH_EV_MODEL_ANSWERED, 3, "", ONE_CALL);
	assert_true(due(st, TH_DO_RECORD));
	must(st, TH_EV_CALL, 4, "c1",
	     with_digest(strcmp(policy, "ask") == 0 ? THE_CALL("ask") : THE_CALL("run"), "shell",
			 "{}"));
}

static void test_a_result_needs_its_call(void **unused)
{
	struct story st;

	(void)unused;
	to_call(&st, "run");
	assert_true(due(&st, TH_DO_INTEND));
	assert_int_equal(add(&st, TH_EV_OUTCOME, 5, "c2",
			     "{\"call_id\":\"c2\",\"status\":\"done\",\"output\":\"\"}"),
			 TH_EPROTO);
	assert_int_equal(st.s.seq, 5);
	must(&st, TH_EV_INTENT, 5, "c1", with_digest(THE_INTENT, "shell", "{}"));
	assert_true(due(&st, TH_DO_TOOL_RUN));
	/* Of another effect, of no effect, of no known status. */
	assert_int_equal(
	    add(&st, TH_EV_OUTCOME, 6, "c1",
		"{\"call_id\":\"c1\",\"effect_id\":\"e2\",\"status\":\"done\",\"output\":\"\"}"),
	    TH_EPROTO);
	assert_int_equal(add(&st, TH_EV_OUTCOME, 6, "c1",
			     "{\"call_id\":\"c1\",\"status\":\"done\",\"output\":\"\"}"),
			 TH_EPROTO);
	assert_int_equal(
	    add(&st, TH_EV_OUTCOME, 6, "c1",
		"{\"call_id\":\"c1\",\"effect_id\":\"e1\",\"status\":\"maybe\",\"output\":\"\"}"),
	    TH_EPROTO);
	must(&st, TH_EV_OUTCOME, 6, "c1",
	     "{\"call_id\":\"c1\",\"effect_id\":\"e1\",\"status\":\"done\",\"output\":\"\"}");
	assert_true(due(&st, TH_DO_REQUEST));
	/* Only one. */
	assert_int_equal(
	    add(&st, TH_EV_OUTCOME, 6, "c1",
		"{\"call_id\":\"c1\",\"effect_id\":\"e1\",\"status\":\"done\",\"output\":\"\"}"),
	    TH_EPROTO);
	th_session_deinit(&st.s);
}

static void test_divergence_is_named(void **unused)
{
	struct story st;

	(void)unused;
	to_call(&st, "run");
	assert_int_equal(add(&st, TH_EV_INTENT, 5, "c1",
			     with_digest(THE_INTENT, "shell", "{\"command\":\"rm\"}")),
			 TH_EPROTO);
	assert_non_null(strstr(st.err.msg, "diverged"));
	th_session_deinit(&st.s);
}

static void test_an_approval_is_bound_to_its_action(void **unused)
{
	struct story st;

	(void)unused;
	to_call(&st, "ask");
	assert_true(due(&st, TH_DO_ASK));
	must(&st, TH_EV_APPROVAL_REQUESTED, 5, "c1",
	     with_digest("{\"call_id\":\"c1\",\"digest\":\"%s\",\"reason\":\"why\"}", "shell",
			 "{}"));
	assert_int_equal(st.s.state, TH_STATE_WAITING);
	assert_true(due(&st, TH_DO_NOTIFY));
	assert_int_equal(add(&st, TH_EV_APPROVAL_DECIDED, 5, "c1",
			     with_digest("{\"call_id\":\"c1\",\"digest\":\"%s\",\"approve\":true}",
					 "shell", "{\"x\":1}")),
			 TH_EPROTO);
	/* Nothing runs without one. */
	assert_int_equal(add(&st, TH_EV_INTENT, 5, "c1", with_digest(THE_INTENT, "shell", "{}")),
			 TH_EPROTO);
	must(&st, TH_EV_APPROVAL_DECIDED, 5, "c1",
	     with_digest("{\"call_id\":\"c1\",\"digest\":\"%s\",\"approve\":true}", "shell", "{}"));
	assert_int_equal(st.s.state, TH_STATE_RUNNING);
	assert_true(due(&st, TH_DO_INTEND));
	th_session_deinit(&st.s);
}

static void test_safety_checks_always_ask(void **unused)
{
	struct story st;

	(void)unused;
	begin(&st, "");
	must(&st, TH_EV_MESSAGE, 0, "", "{\"role\":\"user\",\"content\":\"go\"}");
	must(&st, TH_EV_MODEL_REQUESTED, 2, "", "{\"model\":\"m\",\"turn\":1,\"attempt\":1}");
	must(&st, TH_EV_MODEL_ANSWERED, 3, "",
	     "{\"status\":\"completed\",\"items\":[{\"type\":\"computer_call\",\"call_id\":\"c1\","
	     "\"action\":{},"
	     "\"pending_safety_checks\":[{\"id\":\"s1\"}]}]}");
	/* Even where policy was fooled into saying run. */
	must(&st, TH_EV_CALL, 4, "c1",
	     with_digest("{\"call_id\":\"c1\",\"tool\":\"computer\",\"arguments\":{},\"class\":"
			 "\"W\",\"digest\":\"%s\","
			 "\"policy\":\"run\"}",
			 "computer", "{}"));
	assert_true(due(&st, TH_DO_ASK));
	assert_false(due(&st, TH_DO_INTEND));
	th_session_deinit(&st.s);
}

static void test_limits(void **unused)
{
	struct story st;

	(void)unused;
	begin(&st, "\"tokens\":10");
	must(&st, TH_EV_MESSAGE, 0, "", "{\"role\":\"user\",\"content\":\"go\"}");
	must(&st, TH_EV_MODEL_REQUESTED, 2, "", "{\"model\":\"m\",\"turn\":1,\"attempt\":1}");
	must(&st, TH_EV_MODEL_ANSWERED, 3, "",
	     "{\"status\":\"completed\",\"items\":[],\"usage\":{\"input\":6,\"output\":3}}");
	assert_true(due(&st, TH_DO_REQUEST)); /* 9 of 10 */
	must(&st, TH_EV_MODEL_REQUESTED, 4, "", "{\"model\":\"m\",\"turn\":2,\"attempt\":1}");
	must(&st, TH_EV_MODEL_ANSWERED, 5, "",
	     "{\"status\":\"completed\",\"items\":[],\"usage\":{\"input\":1,\"output\":0}}");
	assert_true(due(&st, TH_DO_LIMIT)); /* 10 of 10 */
	th_session_deinit(&st.s);

	begin(&st, "\"seconds\":60");
	must(&st, TH_EV_MESSAGE, 0, "", "{\"role\":\"user\",\"content\":\"go\"}");
	must(&st, TH_EV_MODEL_REQUESTED, 2, "", "{\"model\":\"m\",\"turn\":1,\"attempt\":1}");
	st.ts = 1001 + 60000 - 1;
	must(&st, TH_EV_MODEL_ANSWERED, 3, "", "{\"status\":\"completed\",\"items\":[]}");
	assert_true(due(&st, TH_DO_LIMIT));
	th_session_deinit(&st.s);
}

static void test_cut_answers_fail(void **unused)
{
	struct story st;

	(void)unused;
	begin(&st, "");
	must(&st, TH_EV_MESSAGE, 0, "", "{\"role\":\"user\",\"content\":\"go\"}");
	must(&st, TH_EV_MODEL_REQUESTED, 2, "", "{\"model\":\"m\",\"turn\":1,\"attempt\":1}");
	must(&st, TH_EV_MODEL_ANSWERED, 3, "",
	     "{\"status\":\"incomplete\",\"reason\":\"max_output_tokens\",\"items\":[{\"type\":"
	     "\"message\","
	     "\"content\":[{\"type\":\"output_text\",\"text\":\"half a sen\"}]}]}");
	assert_true(due(&st, TH_DO_FAIL));
	assert_false(due(&st, TH_DO_FINISH));
	th_session_deinit(&st.s);
}

static void test_order_of_events(void **unused)
{
	struct story st;
	struct th_event late = { .seq = 9, .kind = TH_EV_MESSAGE, .data = TH_STR("{}") };

	(void)unused;
	begin(&st, "");
	assert_int_equal(th_session_step(&st.s, &late, &st.fx, &st.err), TH_EPROTO);
	assert_int_equal(add(&st, TH_EV_SESSION_CREATED, 0, "", "{\"agent\":{},\"model\":\"m\"}"),
			 TH_EPROTO);
	assert_int_equal(
	    add(&st, TH_EV_MODEL_ANSWERED, 0, "", "{\"status\":\"completed\",\"items\":[]}"),
	    TH_EPROTO);
	assert_int_equal(add(&st, TH_EV_FINAL, 0, "", "{\"output\":\"\"}"), TH_EPROTO);
	assert_int_equal(add(&st, TH_EV_MESSAGE, 0, "", "not json"), TH_EPROTO);
	assert_int_equal(st.s.seq, 1);
	th_session_deinit(&st.s);
}

static void test_transitions(void **unused)
{
	(void)unused;
	for (int from = 0; from < TH_STATE_COUNT; from++) {
		assert_false(th_state_allows((enum th_state)from, TH_STATE_LOADING));
		if (from > TH_STATE_RUNNING)
			assert_true(th_state_allows((enum th_state)from, TH_STATE_RUNNING));
		assert_int_equal(th_state_find(th_str_of(th_state_name((enum th_state)from))),
				 from);
	}
	assert_false(th_state_allows(TH_STATE_FINISHED, TH_STATE_WAITING));
	assert_int_equal(th_state_exit(TH_STATE_WAITING), 3);
	assert_int_equal(th_state_exit(TH_STATE_LIMIT), 4);
	assert_int_equal(th_state_exit(TH_STATE_STUCK), 5);
	assert_int_equal(th_state_exit(TH_STATE_STOPPED), 130);
}

static struct th_next plan(const char *items, struct th_arena *a, struct th_buf *text)
{
	struct th_next next;
	struct th_err err;

	th_buf_clear(text);
	assert_int_equal(th_plan_answer(th_str_of(items), a, text, &next, &err), TH_OK);
	return next;
}

static void test_plan(void **unused)
{
	struct th_arena a;
	struct th_buf text = TH_BUF_INIT(TH_KIB);
	struct th_next n;
	struct th_err err;

	(void)unused;
	th_arena_init(&a, TH_MIB);
	n = plan("[]", &a, &text);
	assert_int_equal(n.kind, TH_NEXT_AGAIN);
	n = plan("[{\"type\":\"reasoning\",\"summary\":[]}]", &a, &text);
	assert_int_equal(n.kind, TH_NEXT_AGAIN);
	n = plan("[{\"type\":\"message\",\"content\":[{\"type\":\"refusal\",\"refusal\":\"no\"}]}]",
		 &a, &text);
	assert_int_equal(n.kind, TH_NEXT_FINAL);
	assert_true(n.refusal);
	assert_string_equal(text.ptr, "no");
	/* A message beside a call is never final. */
	n = plan(
	    "[{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"hm\"}]},"
	    "{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"{\"}]",
	    &a, &text);
	assert_int_equal(n.kind, TH_NEXT_CALLS);
	assert_int_equal(n.call_count, 1);
	assert_true(th_str_is(n.calls[0].arguments, "{"));
	assert_int_equal(th_plan_answer(TH_STR("{}"), &a, &text, &n, &err), TH_EPROTO);
	assert_int_equal(th_plan_answer(TH_STR("[1]"), &a, &text, &n, &err), TH_EPROTO);
	th_arena_deinit(&a);
	th_buf_deinit(&text);
}

static void test_plan_limit(void **unused)
{
	struct th_arena a;
	struct th_buf text = TH_BUF_INIT(TH_KIB), items = TH_BUF_INIT(TH_MIB);
	struct th_next n;
	struct th_err err;

	(void)unused;
	for (int count = TH_CALLS_MAX; count <= TH_CALLS_MAX + 1; count++) {
		th_arena_init(&a, TH_MIB);
		th_buf_clear(&items);
		for (int i = 0; i < count; i++)
			th_buf_printf(&items, "%s{\"type\":\"function_call\",\"call_id\":\"c%d\"}",
				      i ? "," : "[", i);
		th_buf_add_char(&items, ']');
		assert_int_equal(th_plan_answer(th_buf_str(&items), &a, &text, &n, &err),
				 count > TH_CALLS_MAX ? TH_ELIMIT : TH_OK);
		th_arena_deinit(&a);
	}
	th_buf_deinit(&text);
	th_buf_deinit(&items);
}

static void test_policy(void **unused)
{
	struct th_str listed[] = { TH_STR("shell") };
	struct th_agent agent = { .approve = { listed, 1 } };
	struct th_tool_spec shell = { .name = TH_STR("shell"), .class = TH_CLASS_W };
	struct th_tool_spec pay = { .name = TH_STR("pay"), .class = TH_CLASS_X };
	struct th_call call = { .tool = TH_STR("shell") };
	struct th_arena a;

	(void)unused;
	th_arena_init(&a, TH_MIB);
	assert_int_equal(th_policy_decide(&agent, NULL, &call, &a).policy, TH_POLICY_REFUSE);
	assert_int_equal(th_policy_decide(&agent, &shell, &call, &a).policy, TH_POLICY_ASK);
	agent.approve.count = 0;
	assert_int_equal(th_policy_decide(&agent, &shell, &call, &a).policy, TH_POLICY_RUN);
	assert_int_equal(th_policy_decide(&agent, &pay, &call, &a).policy, TH_POLICY_ASK);
	call.incomplete = true;
	assert_int_equal(th_policy_decide(&agent, &shell, &call, &a).policy, TH_POLICY_REFUSE);
	call.incomplete = false;
	call.safety_checks = TH_STR("[{\"id\":\"x\",\"message\":\"malicious instructions\"}]");
	assert_non_null(strstr(th_policy_decide(&agent, &shell, &call, &a).reason.ptr,
			       "malicious instructions"));
	th_arena_deinit(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_result_needs_its_call),
		cmocka_unit_test(test_divergence_is_named),
		cmocka_unit_test(test_an_approval_is_bound_to_its_action),
		cmocka_unit_test(test_safety_checks_always_ask),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_cut_answers_fail),
		cmocka_unit_test(test_order_of_events),
		cmocka_unit_test(test_transitions),
		cmocka_unit_test(test_plan),
		cmocka_unit_test(test_plan_limit),
		cmocka_unit_test(test_policy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
