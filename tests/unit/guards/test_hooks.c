/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_hooks.c - who watches a run and when, who decides in a person's place,
 * and what nobody wants to know any more.
 */
#include "json_says.h"
#include "team_rig.h"

#include "script/callbacks.h"

/* Which functions were told so far, and that what they were told of was durable. */
static const char *told(void)
{
	static char text[2048];
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < script.ask_count; i++)
		if (script.asks[i].kind == TH_ASK_HOOK || script.asks[i].kind == TH_ASK_GUARDRAIL)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
						len ? " " : "", script.asks[i].function);
	script.ask_count = 0;
	return text;
}

/* Of a script: the longest name that a function may be called by, and one more. */
static void test_edges_of_a_name(void **unused)
{
	struct th_buf source = TH_BUF_INIT(TH_KIB), answer = TH_BUF_INIT(TH_KIB);
	struct th_str name = TH_STR("a123456789b123456789c123456789d123456789"
				    "e123456789f123456789g123456789h123456789i");
	struct th_agent agent = { .script_file = TH_STR("a.lua") };
	struct th_code_ask ask = { .kind = TH_ASK_GUARDRAIL, .input = TH_STR("{}") };
	struct th_script_code code;
	struct th_err err = { 0 };

	(void)unused;
	th_buf_printf(&source, "function %.*s() return 1 end function %.*s() end",
		      TH_FMT(th_str_sub(name, 0, TH_SCRIPT_NAME_MAX)), TH_FMT(name));
	agent.script = th_buf_str(&source);
	assert_true(th_script_code_init(&agent, &code));
	ask.function = th_str_sub(name, 0, TH_SCRIPT_NAME_MAX);
	assert_int_equal(th_script_code_check(&code, ask.function, &err), TH_OK);
	assert_int_equal(code.callbacks.ops->ask(&code, &ask, &answer, &err), TH_ASKED_ANSWERED);
	assert_string_equal(answer.ptr, "1");
	ask.function = name;
	assert_int_equal(th_script_code_check(&code, name, &err), TH_EUSAGE);
	assert_int_equal(code.callbacks.ops->ask(&code, &ask, &answer, &err), TH_ASKED_FAILED);
	assert_string_equal(err.msg, "a function's name has at most 80 bytes, not 81 as "
				     "\"a123456789b123456789c123456789d123456789…\"");
	th_buf_deinit(&source);
	th_buf_deinit(&answer);
}

#define HOOKS(p)                                                                          \
	"{\"agent_start\":\"" p "start\",\"agent_end\":\"" p "end\",\"llm_start\":\"" p   \
	"ask\",\"llm_end\":\"" p "answer\",\"handoff\":\"" p "over\",\"tool_start\":\"" p \
	"tool\",\"tool_end\":\"" p "result\"}"
#define HOOKED                                                            \
	"{\"name\":\"a\",\"run_hooks\":" HOOKS("r.") ",\"hooks\":" HOOKS( \
	    "a.") ",\"handoffs\":"                                        \
		  "[\"b\"],\"agents\":{\"b\":{\"hooks\":" HOOKS("b.") "}}}"

static void test_hooks_are_told_in_order(void **unused)
{
	struct paper *w = begin(HOOKED, "go");
	struct th_err err = { 0 };

	(void)unused;
	script.says[TH_ASK_HOOK] = "null";
	paper_settle(w);
	assert_json_text(script.asks[2].input, "agent", "a");
	assert_json_text(script.asks[2].input, "session", "a1");
	assert_json_text(script.asks[2].input, "hook", "llm_start");
	assert_json(script.asks[2].input, "seq", "3");
	assert_json(script.asks[2].input, "turn", "1");
	assert_string_equal(told(), "r.start a.start r.ask a.ask");
	answer(w, CALL("c1", "weather", "{}"));
	assert_json_text(script.asks[0].input, "items.0.type", "function_call");
	assert_json_text(script.asks[2].input, "tool", "weather");
	assert_json_text(script.asks[2].input, "call_id", "c1");
	assert_json(script.asks[2].input, "arguments", "{}");
	assert_json_text(script.asks[2].input, "class", "W");
	assert_json_text(script.asks[4].input, "tool", "weather");
	assert_json_text(script.asks[4].input, "call_id", "c1");
	assert_json(script.asks[4].input, "arguments", "{}");
	assert_json_text(script.asks[4].input, "status", "done");
	assert_json_text(script.asks[4].input, "output", "sunny");
	assert_string_equal(told(),
			    "r.answer a.answer r.tool a.tool r.result a.result r.ask a.ask");
	/* No agent_end of the one that hands over, and no hook of a tool for that. */
	answer(w, CALL("c2", "transfer_to_b", "{}"));
	assert_json_text(script.asks[2].input, "from", "a");
	assert_json_text(script.asks[2].input, "to", "b");
	assert_string_equal(told(), "r.answer a.answer r.over a.over r.start b.start r.ask b.ask");
	answer(w, TEXT("bye"));
	assert_json_text(script.asks[2].input, "output", "bye");
	assert_string_equal(told(), "r.answer b.answer r.end b.end");
	/* The next task begins with the agent that speaks. */
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("more"), &err), TH_OK);
	paper_settle(w);
	assert_string_equal(told(), "r.start b.start r.ask b.ask");
	/* A replay tells nothing; what comes then is told, by a runtime that has said nothing yet.
	 */
	restart(w, HOOKED);
	assert_string_equal(told(), "r.start b.start r.ask b.ask");
	answer(w, TEXT("bye"));
	assert_string_equal(told(), "r.answer b.answer r.end b.end");
	restart(w, HOOKED);
	assert_string_equal(told(), "");
	assert_false(w->early);
	for (size_t i = 0; i < w->log->count; i++) /* and nothing is written about it */
		assert_int_not_equal(w->log->list[i].ev.kind, TH_EV_CODE);
	paper_free(w);
}

#define WITH_REASON(schema)                                                                \
	"{\"name\":\"a\",\"hooks\":{\"handoff\":\"over\"},\"handoffs\":[{\"agent\":\"b\"," \
	"\"parameters\":" schema "},\"c\"],\"agents\":{\"b\":{},\"c\":{}}}"
#define REASON(more)                                                              \
	"{\"type\":\"object\",\"properties\":{\"reason\":{\"type\":\"string\"}}," \
	"\"required\":[\"reason\"]" more "}"

/* What the model says with a handoff fits its parameters, is in the log, and is told. */
static void test_a_handoff_with_parameters(void **unused)
{
	static const char agents[] = WITH_REASON(REASON(",\"additionalProperties\":false"));
	struct paper *w = begin(agents, "go");

	(void)unused;
	script.says[TH_ASK_HOOK] = "null";
	paper_settle(w);
	assert_non_null(strstr(
	    w->request->body, "\"name\":\"transfer_to_b\",\"description\":\"Handoff to the b agent "
			      "to handle the request. \",\"parameters\":" REASON(
				  ",\"additionalProperties\":false") ",\"strict\":true"));
	answer(w, CALL("c1", "transfer_to_b", "{\\\"why\\\":1}"));
	assert_int_equal(paper_fold(w)->agent, 0);
	assert_true(w->request->open);
	assert_non_null(strstr(w->request->body, "do not fit its schema"));
	assert_string_equal(told(), "");
	answer(w, CALL("c2", "transfer_to_b", "{\\\"reason\\\":\\\"money\\\"}"));
	assert_int_equal(paper_fold(w)->agent, 1);
	assert_json(last_data(w, TH_EV_HANDOFF), "arguments", "{\"reason\":\"money\"}");
	assert_json(script.asks[0].input, "arguments", "{\"reason\":\"money\"}");
	restart(w, agents);
	assert_true(w->request->open);
	assert_int_equal(paper_fold(w)->agent, 1);
	paper_free(w);

	/* One that asks for nothing has nothing in the log; a schema is sent as it was written. */
	w = begin(WITH_REASON(REASON("")), "go");
	paper_settle(w);
	assert_non_null(strstr(w->request->body, REASON("") ",\"strict\":false"));
	answer(w, CALL("c1", "transfer_to_c", "{\\\"why\\\":1}"));
	assert_int_equal(paper_fold(w)->agent, 2);
	assert_null(strstr(last_data(w, TH_EV_HANDOFF), "arguments"));
	paper_free(w);
}

/* The next task begins before the end of the last one is written. */
static void test_a_task_is_begun_behind_the_last(void **unused)
{
	struct paper *w = begin("{\"name\":\"a\",\"hooks\":" HOOKS("") "}", "go");
	struct th_err err = { 0 };

	(void)unused;
	script.says[TH_ASK_HOOK] = "null";
	paper_settle(w);
	assert_string_equal(told(), "start ask");
	paper_answer_unwritten(w, w->request, TEXT("one"));
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("more"), &err), TH_OK);
	paper_settle(w);
	assert_string_equal(told(), "answer end start ask");
	paper_answer_unwritten(w, w->request, TEXT("two"));
	assert_int_equal(th_driver_set_state(w->driver, w->h, TH_STATE_RUNNING, TH_STR(""), &err),
			 TH_OK);
	paper_settle(w);
	assert_string_equal(told(), "answer end start ask");
	paper_free(w);
}

static void test_another_try_is_the_same_question(void **unused)
{
	struct paper *w = begin("{\"name\":\"a\",\"hooks\":" HOOKS("") "}", "go");

	(void)unused;
	script.says[TH_ASK_HOOK] = "null";
	paper_settle(w);
	paper_lose(w, w->request, TH_FAILURE_CUT);
	paper_ring(w);
	answer(w, TEXT("done"));
	assert_string_equal(told(), "start ask answer end");
	paper_free(w);
}

#define HOOKED_GUARDS                                                                         \
	"{\"name\":\"a\",\"hooks\":" HOOKS(                                                   \
	    "") ",\"guardrails\":[{\"name\":\"before\","                                      \
		"\"stage\":\"tool_input\"},{\"name\":\"after1\",\"stage\":\"tool_output\"},{" \
		"\"name\":"                                                                   \
		"\"after2\",\"stage\":\"tool_output\"},{\"name\":\"out\",\"stage\":\"output\"}]}"

/* tool_start after the guardrails of the call, tool_end after those of its result, agent_end before
 * those of the output. */
static void test_hooks_beside_guardrails(void **unused)
{
	struct paper *w = begin(HOOKED_GUARDS, "go");

	(void)unused;
	script.says[TH_ASK_HOOK] = "null";
	script.later[TH_ASK_GUARDRAIL] = true;
	paper_settle(w);
	assert_string_equal(told(), "start ask");
	answer(w, CALL("c1", "weather", "{}"));
	assert_string_equal(told(), "answer before");
	code_says(w, 1, false, "null");
	assert_string_equal(told(), "tool after1");
	code_says(w, 1, false, "{\"message\":\"cloudy\"}");
	assert_string_equal(told(), "after2");
	code_says(w, 0, false, "null");
	assert_json_text(script.asks[0].input, "status", "done");
	assert_json_text(script.asks[0].input, "output", "cloudy");
	assert_string_equal(told(), "result ask");
	answer(w, TEXT("done"));
	assert_json_text(script.asks[1].input, "output", "done");
	assert_string_equal(told(), "answer end out");
	code_says(w, 2, false, "null");
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	assert_string_equal(told(), ""); /* it was told */
	assert_false(w->early);
	paper_free(w);

	/* What does not run is not told of. */
	w = begin(HOOKED_GUARDS, "go");
	script.says[TH_ASK_HOOK] = "null";
	script.later[TH_ASK_GUARDRAIL] = true;
	paper_settle(w);
	answer(w, CALL("c1", "weather", "{}"));
	(void)told();
	code_says(w, 3, false, "{\"message\":\"not today\"}");
	assert_string_equal(told(), "ask");
	paper_free(w);
}

/* What is told of a result is kept while its guardrails think; the log is read where a runtime was
 * not there when it came. */
static void test_a_result_is_at_hand(void **unused)
{
	const char *two = CALL("c1", "weather", "{}") "," CALL("c2", "weather", "{}");
	struct paper *w = begin(HOOKED_GUARDS, "go");
	size_t reads;

	(void)unused;
	script.says[TH_ASK_HOOK] = "null";
	script.later[TH_ASK_GUARDRAIL] = true;
	paper_settle(w);
	(void)told();
	answer(w, two); /* answer before before */
	code_says(w, 1, false, "null");
	code_says(w, 2, false, "null"); /* tool tool after1 after1 */
	assert_int_equal(script.ask_count, 7);
	reads = w->reads;
	code_says(w, 5, false, "{\"message\":\"cloudy\"}");
	code_says(w, 6, false, "null");
	code_says(w, 7, false, "null");
	code_says(w, 8, false, "{\"message\":\"windy\"}");
	assert_json_text(script.asks[9].input, "call_id", "c1");
	assert_json_text(script.asks[9].input, "output", "cloudy");
	assert_json_text(script.asks[10].input, "call_id", "c2");
	assert_json_text(script.asks[10].input, "output", "windy");
	assert_int_equal(w->reads, reads + 1); /* for the history, which tells something else now */
	assert_string_equal(told(), "answer before before tool tool after1 after1 "
				    "after2 after2 result result ask");
	paper_free(w);

	w = begin(HOOKED_GUARDS, "go");
	script.says[TH_ASK_HOOK] = "null";
	script.later[TH_ASK_GUARDRAIL] = true;
	paper_settle(w);
	answer(w, CALL("c1", "weather", "{}"));
	code_says(w, script.ask_count - 1, false, "null");
	code_says(w, script.ask_count - 1, false, "{\"message\":\"cloudy\"}");
	(void)told();
	restart(w, HOOKED_GUARDS);
	assert_string_equal(told(), "after2");
	code_says(w, 0, false, "null");
	assert_json_text(script.asks[0].input, "status", "done");
	assert_json_text(script.asks[0].input, "output", "cloudy");
	assert_string_equal(told(), "result start ask");
	script.cancels = 0;
	paper_free(w);
}

static void test_a_hook_that_fails_is_noted(void **unused)
{
	struct paper *w = begin("{\"name\":\"a\",\"hooks\":{\"llm_end\":\"f\"}}", "go");

	(void)unused;
	script.says[TH_ASK_HOOK] = "!it broke";
	paper_settle(w);
	answer(w, TEXT("done"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	assert_string_equal(paper_kinds(w, 3), "model_answered final code");
	assert_string_equal(w->log->list[5].data, "{\"use\":\"llm_end\",\"name\":\"f\","
						  "\"failed\":\"it broke\"}");
	assert_int_equal(w->log->list[5].ev.cause, 4);
	paper_free(w);

	/* What a script prints is an answer. */
	w = begin("{\"name\":\"a\",\"hooks\":{\"llm_start\":\"f\"}}", "go");
	script.says[TH_ASK_HOOK] = "\"hear, hear\"";
	paper_settle(w);
	assert_string_equal(paper_kinds(w, 2), "model_requested code");
	assert_true(w->request->open);
	assert_json_text(w->log->list[3].data, "answer", "hear, hear");
	paper_free(w);

	/* Nobody of that name is nobody who watches. */
	w = begin("{\"name\":\"a\",\"hooks\":{\"llm_start\":\"f\"}}", "go");
	paper_settle(w);
	assert_string_equal(paper_kinds(w, 2), "model_requested");
	paper_free(w);
}

static void test_a_hook_may_end_the_run(void **unused)
{
	struct paper *w =
	    begin("{\"name\":\"a\",\"hooks\":{\"llm_start\":\"f\",\"fail\":true}}", "go");
	struct th_err err = { 0 };

	(void)unused;
	script.says[TH_ASK_HOOK] = "!it broke";
	paper_settle(w);
	assert_false(w->request->open); /* it was told before the request was sent */
	assert_int_equal(w->request_count, 0);
	assert_string_equal(paper_kinds(w, 2), "model_requested code model_failed error");
	assert_int_equal(paper_fold(w)->state, TH_STATE_FAILED);
	script.says[TH_ASK_HOOK] = "null";
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("again"), &err), TH_OK);
	paper_settle(w);
	assert_true(w->request->open);
	paper_free(w);

	/* What it was told of has not begun, and does not. */
	w = begin("{\"name\":\"a\",\"hooks\":{\"tool_start\":\"f\",\"fail\":true}}", "go");
	script.says[TH_ASK_HOOK] = "!it broke";
	paper_settle(w);
	answer(w, CALL("c1", "weather", "{}"));
	assert_int_equal(w->local_runs, 0);
	assert_string_equal(paper_kinds(w, 4), "call intent code outcome error");
	assert_json_text(w->log->list[7].data, "status", "not_started");
	assert_int_equal(paper_fold(w)->state, TH_STATE_FAILED);
	paper_free(w);

	/* What is over stays so. */
	w = begin("{\"name\":\"a\",\"hooks\":{\"agent_end\":\"f\",\"fail\":true}}", "go");
	script.says[TH_ASK_HOOK] = "!it broke";
	paper_settle(w);
	answer(w, TEXT("done"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_FINISHED);
	assert_string_equal(paper_kinds(w, 3), "model_answered final code");
	paper_free(w);
}

#define SPECIAL(what)                                                                     \
	"{\"name\":\"a\",\"rules\":[{" what ",\"decide\":\"ask\"},{\"tool\":\"weather\"," \
	"\"decide\":\"ask\"}]}"
#define CALL_AT(id, path)                                                    \
	"{\"type\":\"function_call\",\"id\":\"fc_" id "\",\"call_id\":\"" id \
	"\",\"name\":\"weather\",\"arguments\":\"{\\\"path\\\":\\\"" path    \
	"\\\",\\\"url\\\":\\\"https:/" path "\\\"}\",\"status\":\"completed\"}"

/* What is said of a tool for good does not lift a rule that looks into its calls: not of one that
 * waits beside, not of a later one, not after a restart. */
static void test_for_good_lifts_no_rule_that_looks(void **unused)
{
	static const char *const agents[] = { SPECIAL("\"path\":\"**.pem\""),
					      SPECIAL("\"domain\":\"*.pem\""),
					      SPECIAL("\"arguments\":{\"path\":\"*.pem\"}") };
	struct th_err err = { 0 };

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(agents); i++) {
		struct paper *w = begin(agents[i], "go");

		paper_settle(w);
		answer(w, CALL_AT("c1", "/x") "," CALL_AT("c2", "/a.pem") "," CALL_AT("c3", "/y"));
		assert_int_equal(th_driver_decide_as(w->driver, w->h, TH_STR("c1"), true, true,
						     TH_STR("me"), TH_STR(""), &err),
				 TH_OK);
		paper_settle(w);
		assert_int_equal(paper_fold(w)->state, TH_STATE_WAITING);
		restart(w, agents[i]);
		assert_int_equal(th_driver_decide(w->driver, w->h, TH_STR("c2"), false,
						  TH_STR("me"), TH_STR(""), &err),
				 TH_OK);
		paper_settle(w);
		assert_int_equal(w->local_runs, 2); /* c1 and c3 */
		answer(w, CALL_AT("c4", "/z"));
		assert_int_equal(w->local_runs, 3);
		answer(w, CALL_AT("c5", "/b.pem"));
		assert_int_equal(w->local_runs, 3);
		assert_int_equal(paper_fold(w)->state, TH_STATE_WAITING);
		paper_free(w);
	}
}

#define DECIDED "{\"name\":\"a\",\"approve\":[\"all\"],\"decide_from\":\"judge\"}"

static void test_code_decides_before_a_person(void **unused)
{
	struct paper *w = begin(DECIDED, "go");
	struct th_err err = { 0 };

	(void)unused;
	paper_settle(w);
	script.later[TH_ASK_DECISION] = true;
	answer(w, CALL("c1", "weather", "{}"));
	assert_int_equal(script.ask_count, 1);
	assert_int_equal(paper_fold(w)->state,
			 TH_STATE_RUNNING); /* nobody waits for a person yet */
	assert_non_null(strstr(script.asks[0].input,
			       "\"tool\":\"weather\",\"call_id\":\"c1\","
			       "\"arguments\":{},\"class\":\"W\",\"reason\""));
	/* A crash: it is asked anew. */
	restart(w, DECIDED);
	assert_int_equal(script.ask_count, 1);
	/* Held: the question is given up, and asked again. */
	assert_int_equal(th_driver_set_state(w->driver, w->h, TH_STATE_PAUSED, TH_STR(""), &err),
			 TH_OK);
	paper_settle(w);
	assert_int_equal(script.cancels, 2); /* one at the restart */
	code_says(w, 0, false, "{\"approve\":true}");
	assert_int_equal(w->local_runs, 0);
	assert_int_equal(th_driver_resume(w->driver, w->h, &err), TH_OK);
	paper_settle(w);
	assert_int_equal(script.ask_count, 2);
	code_says(w, 1, false, "{\"approve\":true}");
	assert_int_equal(w->local_runs, 1);
	assert_string_equal(paper_kinds(w, w->log->count - 5),
			    "approval_requested approval_decided intent outcome model_requested");
	assert_string_equal(w->log->list[w->log->count - 4].call, "c1");
	assert_json(w->log->list[w->log->count - 4].data, "approve", "true");
	assert_json_text(w->log->list[w->log->count - 4].data, "by", "judge");
	answer(w, CALL("c2", "weather", "{}"));
	code_says(w, 2, false, "{\"approve\":false,\"message\":\"not twice\"}");
	assert_int_equal(w->local_runs, 1);
	assert_non_null(strstr(w->request->body, "not twice"));
	/* No answer, no decision: a person is asked. */
	answer(w, CALL("c3", "weather", "{}"));
	code_says(w, script.ask_count - 1, true, "it broke");
	assert_int_equal(paper_fold(w)->state, TH_STATE_WAITING);
	assert_int_equal(
	    th_driver_decide(w->driver, w->h, TH_STR("c3"), true, TH_STR("me"), TH_STR(""), &err),
	    TH_OK);
	paper_settle(w);
	assert_int_equal(w->local_runs, 2);
	assert_false(w->early);
	script.cancels = 0;
	paper_free(w);
}

/* What a person says for good is also said of the calls that code still thinks about. */
static void test_for_good_before_the_code_has_answered(void **unused)
{
	struct paper *w;
	struct th_err err = { 0 };

	(void)unused;
	for (int again = 0; again < 2; again++) {
		w = begin(DECIDED, "go");
		paper_settle(w);
		script.later[TH_ASK_DECISION] = true;
		answer(w, CALL("c1", "weather", "{}") "," CALL("c2", "weather", "{}"));
		code_says(w, 0, true, "it broke");
		assert_int_equal(th_driver_decide_as(w->driver, w->h, TH_STR("c1"), true, true,
						     TH_STR("me"), TH_STR(""), &err),
				 TH_OK);
		paper_settle(w);
		if (again) {
			restart(w, DECIDED);
			assert_int_equal(script.ask_count, 0);
		} else {
			code_says(w, 1, true, "it broke");
		}
		assert_int_equal(w->local_runs, 2);
		assert_int_equal(paper_fold(w)->state, TH_STATE_RUNNING);
		script.cancels = 0;
		paper_free(w);
	}
}

static void test_code_approves_nothing_that_cannot_be_undone(void **unused)
{
	struct paper *w = begin(DECIDED, "go");

	(void)unused;
	paper_settle(w);
	team.row.spec.class = TH_CLASS_X;
	script.says[TH_ASK_DECISION] = "{\"approve\":true}";
	answer(w, CALL("c1", "weather", "{}"));
	assert_int_equal(script.ask_count, 1);
	assert_int_equal(paper_fold(w)->state, TH_STATE_WAITING);
	assert_int_equal(w->local_runs, 0);
	paper_free(w);
	w = begin(DECIDED, "go");
	paper_settle(w);
	team.row.spec.class = TH_CLASS_X;
	script.says[TH_ASK_DECISION] = "{\"approve\":false}";
	answer(w, CALL("c1", "weather", "{}"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_RUNNING);
	assert_non_null(strstr(w->request->body, "the agent's code rejected it"));
	paper_free(w);
}

/* Nor does a word for good, so that is not why the next one waits. */
static void test_for_good_is_not_of_what_cannot_be_undone(void **unused)
{
	struct paper *w = begin(DECIDED, "go");
	struct th_err err = { 0 };

	(void)unused;
	paper_settle(w);
	team.row.spec.class = TH_CLASS_X;
	answer(w, CALL("c1", "weather", "{}"));
	assert_int_equal(th_driver_decide_as(w->driver, w->h, TH_STR("c1"), true, true,
					     TH_STR("me"), TH_STR(""), &err),
			 TH_OK);
	paper_settle(w);
	assert_int_equal(w->local_runs, 1);
	answer(w, CALL("c2", "weather", "{}"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_WAITING);
	assert_int_equal(w->local_runs, 1);
	assert_true(th_str_eq(paper_fold(w)->calls[0].reason, TH_STR("this cannot be undone")));
	paper_free(w);
}

/* Who stops a session does not want to hear what its guardrails think. */
static void test_a_question_is_given_up_with_the_run(void **unused)
{
	struct paper *w = begin(CHECKED, "my task");
	struct th_err err = { 0 };

	(void)unused;
	script.later[TH_ASK_GUARDRAIL] = true;
	paper_settle(w);
	assert_int_equal(script.ask_count, 1);
	assert_int_equal(th_driver_set_state(w->driver, w->h, TH_STATE_STOPPED, TH_STR(""), &err),
			 TH_OK);
	paper_settle(w);
	assert_int_equal(script.cancels, 1);
	code_says(w, 0, false, "{\"tripped\":true}"); /* a ticket that is over */
	assert_string_equal(paper_kinds(w, 3), "state_changed model_failed");
	assert_int_equal(th_driver_set_state(w->driver, w->h, TH_STATE_RUNNING, TH_STR(""), &err),
			 TH_OK);
	paper_settle(w);
	assert_int_equal(script.ask_count, 2); /* who goes on asks again */
	code_says(w, 1, false, "null");
	answer(w, CALL("c1", "weather", "{}"));
	assert_string_equal(script.asks[2].function, "before");
	code_says(w, 2, false, "null");
	assert_int_equal(w->local_runs, 1);
	paper_free(w);

	/* Stopped before what led to it was durable: it is not even asked. */
	w = begin(CHECKED, "my task");
	script.later[TH_ASK_GUARDRAIL] = true;
	assert_int_equal(th_driver_set_state(w->driver, w->h, TH_STATE_STOPPED, TH_STR(""), &err),
			 TH_OK);
	paper_settle(w);
	assert_int_equal(script.ask_count, 0);
	paper_free(w);
}

/* What was to begin when its intent is written, and is not wanted by then. */
static void test_a_tool_is_not_begun_after_a_stop(void **unused)
{
	struct paper *w = begin("{\"name\":\"a\"}", "go");
	struct th_err err = { 0 };

	(void)unused;
	paper_settle(w);
	paper_answer_unwritten(w, w->request, CALL("c1", "weather", "{}"));
	assert_int_equal(th_driver_set_state(w->driver, w->h, TH_STATE_STOPPED, TH_STR(""), &err),
			 TH_OK);
	paper_settle(w);
	assert_int_equal(w->local_runs, 0);
	assert_string_equal(paper_kinds(w, 4), "call intent state_changed outcome");
	assert_int_equal(paper_fold(w)->state, TH_STATE_STOPPED);
	paper_free(w);
}

/* While an approval waits: what is said is read after the results, and approves nothing. */
static void test_what_is_said_while_a_person_is_asked(void **unused)
{
	struct paper *w = begin("{\"name\":\"a\",\"approve\":[\"all\"]}", "go");
	const char *result, *said, *added;
	struct th_err err = { 0 };

	(void)unused;
	paper_settle(w);
	answer(w, CALL("c1", "weather", "{}"));
	assert_int_equal(paper_fold(w)->state, TH_STATE_WAITING);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("yes, approved"), &err), TH_OK);
	assert_int_equal(th_driver_items_add(
			     w->driver, w->h,
			     TH_STR("[{\"role\":\"user\",\"content\":\"and hurry\"}]"), true, &err),
			 TH_OK);
	/* A result, or what the model should have said, is no word of anybody. */
	assert_int_equal(
	    th_driver_items_add(
		w->driver, w->h,
		TH_STR("[{\"type\":\"function_call_output\",\"call_id\":\"c1\",\"output\":\"x\"}]"),
		false, &err),
	    TH_EPROTO);
	assert_int_equal(
	    th_driver_items_add(w->driver, w->h,
				TH_STR("[{\"role\":\"assistant\",\"content\":\"approved\"}]"),
				false, &err),
	    TH_EPROTO);
	paper_settle(w);
	assert_int_equal(paper_fold(w)->state, TH_STATE_WAITING);
	assert_int_equal(w->local_runs, 0);
	restart(w, "{\"name\":\"a\",\"approve\":[\"all\"]}");
	assert_int_equal(
	    th_driver_decide(w->driver, w->h, TH_STR("c1"), true, TH_STR("me"), TH_STR(""), &err),
	    TH_OK);
	paper_settle(w);
	assert_int_equal(w->local_runs, 1);
	result = strstr(w->request->body, "sunny");
	said = strstr(w->request->body, "yes, approved");
	added = strstr(w->request->body, "and hurry");
	assert_true(result && said && added);
	assert_true(result < said && said < added);
	paper_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edges_of_a_name),
		cmocka_unit_test(test_hooks_are_told_in_order),
		cmocka_unit_test(test_a_handoff_with_parameters),
		cmocka_unit_test(test_a_task_is_begun_behind_the_last),
		cmocka_unit_test(test_another_try_is_the_same_question),
		cmocka_unit_test(test_hooks_beside_guardrails),
		cmocka_unit_test(test_a_result_is_at_hand),
		cmocka_unit_test(test_a_hook_that_fails_is_noted),
		cmocka_unit_test(test_a_hook_may_end_the_run),
		cmocka_unit_test(test_code_decides_before_a_person),
		cmocka_unit_test(test_for_good_lifts_no_rule_that_looks),
		cmocka_unit_test(test_for_good_before_the_code_has_answered),
		cmocka_unit_test(test_code_approves_nothing_that_cannot_be_undone),
		cmocka_unit_test(test_for_good_is_not_of_what_cannot_be_undone),
		cmocka_unit_test(test_a_question_is_given_up_with_the_run),
		cmocka_unit_test(test_a_tool_is_not_begun_after_a_stop),
		cmocka_unit_test(test_what_is_said_while_a_person_is_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
