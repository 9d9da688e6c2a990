/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_session.c - the fold alone: what it takes, what it refuses, what it
 * says is due.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "core/policy.h"
#include "core/session_internal.h"
#include "transcript/plan.h"

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

#define APPROVED_INTENT(seq)                                                                       \
	"{\"call_id\":\"c1\",\"effect_id\":\"e1\",\"epoch\":1,\"class\":\"W\",\"tool\":\"shell\"," \
	"\"digest\":\"%s\",\"approval\":" seq "}"

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
			 TH_EDIVERGED);
	assert_non_null(strstr(st.err.msg, "diverged"));
	/* Both sides are shown. */
	assert_non_null(strstr(st.err.msg, "the log intends shell "));
	assert_non_null(strstr(st.err.msg, "the answer asks for shell "));
	/* Another tool, another class. */
	assert_int_equal(add(&st, TH_EV_INTENT, 5, "c1",
			     with_digest("{\"call_id\":\"c1\",\"effect_id\":\"e1\",\"epoch\":1,"
					 "\"class\":\"W\",\"tool\":\"pay\",\"digest\":\"%s\"}",
					 "shell", "{}")),
			 TH_EDIVERGED);
	assert_non_null(strstr(st.err.msg, "intends pay"));
	assert_int_equal(add(&st, TH_EV_INTENT, 5, "c1",
			     with_digest("{\"call_id\":\"c1\",\"effect_id\":\"e1\",\"epoch\":1,"
					 "\"class\":\"R\",\"tool\":\"shell\",\"digest\":\"%s\"}",
					 "shell", "{}")),
			 TH_EDIVERGED);
	assert_non_null(strstr(st.err.msg, "as class R, its call was class W"));
	/* Another kind: the loop would act, the log asks the model. */
	assert_int_equal(
	    add(&st, TH_EV_MODEL_REQUESTED, 5, "", "{\"model\":\"m\",\"turn\":2,\"attempt\":1}"),
	    TH_EDIVERGED);
	assert_non_null(strstr(st.err.msg, "the log asks the model here"));
	assert_int_equal(add(&st, TH_EV_APPROVAL_REQUESTED, 5, "c1",
			     with_digest("{\"call_id\":\"c1\",\"digest\":\"%s\",\"reason\":\"x\"}",
					 "shell", "{}")),
			 TH_EDIVERGED);
	assert_non_null(strstr(st.err.msg, "\"approval_requested\""));
	assert_non_null(strstr(st.err.msg, "\"cleared\""));
	assert_int_equal(st.s.seq, 5);
	assert_int_equal(th_code_exit(TH_EDIVERGED), 1);
	th_session_deinit(&st.s);
}

/* An approval_requested (or with `decided` its decision) about a host. */
static enum th_code of_host(struct story *st, bool decided, const char *host, int port,
			    const char *more)
{
	char digest[TH_SHA256_HEX_SIZE + 1], data[1024];

	th_host_digest(th_str_of(host), (uint16_t)port, digest);
	snprintf(data, sizeof(data),
		 "{\"call_id\":\"c1\",\"host\":\"%s\",\"port\":%d,\"digest\":\"%s\"%s}", host, port,
		 digest, more);
	return add(st, decided ? TH_EV_APPROVAL_DECIDED : TH_EV_APPROVAL_REQUESTED, 5, "c1", data);
}

static void said_is(const struct story *st, const char *wanted)
{
	struct th_buf out = TH_BUF_INIT(TH_MIB);

	th_session_hosts_print(&st->s, &out);
	assert_string_equal(out.ptr, wanted);
	th_buf_deinit(&out);
}

#define REASON ",\"reason\":\"r\""
#define YES ",\"approve\":true"
#define NO ",\"approve\":false"

/* A host is asked for while its call runs, once at a time; the word holds for the task, or for
 * good. */
static void test_hosts_that_are_asked_for(void **unused)
{
	struct story st;
	char name[32];

	(void)unused;
	to_call(&st, "run");
	assert_int_equal(of_host(&st, false, "a.example", 443, REASON), TH_EPROTO);
	must(&st, TH_EV_INTENT, 5, "c1", with_digest(THE_INTENT, "shell", "{}"));
	assert_int_equal(of_host(&st, true, "a.example", 443, YES), TH_EPROTO);
	assert_int_equal(of_host(&st, false, "a.example", 0, REASON), TH_EPROTO);
	assert_int_equal(of_host(&st, false, "a.example", 443, REASON), TH_OK);
	assert_int_equal(st.s.state, TH_STATE_WAITING);
	assert_non_null(th_session_waits(&st.s, TH_CALL_ASKED, TH_STR("c1")));
	assert_int_equal(of_host(&st, false, "b.example", 443, REASON), TH_EPROTO);
	assert_int_equal(of_host(&st, true, "a.example", 80, YES), TH_EPROTO);
	assert_int_equal(of_host(&st, true, "b.example", 443, YES), TH_EPROTO);
	assert_int_equal(of_host(&st, true, "a.example", 443, YES), TH_OK);
	assert_true(due(&st, TH_DO_HOST));
	assert_int_equal(st.s.state, TH_STATE_RUNNING);
	assert_int_equal(of_host(&st, true, "a.example", 443, YES), TH_EPROTO);
	/* The same call asks again: its id alone is not the name of that question. */
	assert_int_equal(of_host(&st, false, "b.example", 80, REASON), TH_OK);
	assert_int_equal(th_call_word(&st.s.calls[0], TH_STR("c1"), &st.err), TH_EUSAGE);
	assert_null(th_session_waits(&st.s, TH_CALL_ASKED, TH_STR("c1#5")));
	assert_non_null(th_session_waits(&st.s, TH_CALL_ASKED, TH_STR("c1#9")));
	assert_int_equal(of_host(&st, true, "b.example", 80, NO ",\"always\":true"), TH_OK);
	said_is(&st, "[{\"host\":\"a.example\",\"port\":443,\"allow\":true},"
		     "{\"host\":\"b.example\",\"port\":80,\"allow\":false}]");
	/* Nobody decided: nothing was said. */
	assert_int_equal(of_host(&st, false, "c.example", 80, REASON ",\"expires_ms\":1"), TH_OK);
	assert_int_equal(of_host(&st, true, "c.example", 80, NO ",\"expired\":true"), TH_OK);
	assert_null(th_session_host(&st.s, TH_STR("c.example"), 80));
	/* The call ends with a question open; then the next task. */
	assert_int_equal(of_host(&st, false, "d.example", 80, REASON), TH_OK);
	must(&st, TH_EV_OUTCOME, 6, "c1",
	     "{\"call_id\":\"c1\",\"effect_id\":\"e1\",\"status\":\"done\",\"output\":\"\"}");
	assert_int_equal(st.s.state, TH_STATE_RUNNING);
	th_hosts_begin_task(&st.s);
	said_is(&st, "[{\"host\":\"b.example\",\"port\":80,\"allow\":false}]");
	th_session_deinit(&st.s);
	/* There is room for so many; one more is asked about each time. */
	to_call(&st, "run");
	must(&st, TH_EV_INTENT, 5, "c1", with_digest(THE_INTENT, "shell", "{}"));
	for (int i = 0; i <= TH_HOSTS_SAID_MAX; i++) {
		snprintf(name, sizeof(name), "n%d.example", i);
		assert_int_equal(of_host(&st, false, name, 443, REASON), TH_OK);
		assert_int_equal(of_host(&st, true, name, 443, YES), TH_OK);
		assert_int_equal(th_session_host(&st.s, th_str_of(name), 443) != NULL,
				 i < TH_HOSTS_SAID_MAX);
	}
	th_session_deinit(&st.s);
}

static void outcome_of(struct story *st, const char *origins, const char *network)
{
	char data[1024];

	snprintf(data, sizeof(data),
		 "{\"call_id\":\"c1\",\"effect_id\":\"e1\",\"status\":\"done\",\"output\":\"\","
		 "\"origins\":%s,\"evidence\":{\"network\":%s}}",
		 origins, network);
	must(st, TH_EV_OUTCOME, 6, "c1", data);
}

static void to_outcome(struct story *st, const char *untrusted, const char *origins,
		       const char *network)
{
	to_call(st, "run");
	if (untrusted[0]) {
		struct th_buf path = TH_BUF_INIT(TH_KIB);

		assert_int_equal(
		    th_untrusted_read(th_str_of(untrusted), &st->s.origins.policy, &path, NULL),
		    TH_OK);
		th_buf_deinit(&path);
	}
	must(st, TH_EV_INTENT, 5, "c1", with_digest(THE_INTENT, "shell", "{}"));
	outcome_of(st, origins, network);
}

#define ROW(host, decision) "{\"host\":\"" host "\",\"port\":443,\"decision\":\"" decision "\"}"

/* The first outcome that the policy does not trust counts, and what was reached up to it. */
static void test_untrusted_bytes(void **unused)
{
	static const struct {
		const char *untrusted, *origins;
		uint64_t seq;
		enum th_origin first;
	} rows[] = {
		{ "", "[\"web\"]", 0, TH_ORIGIN_WEB },
		{ "\"rule_of_two\"", "[]", 0, TH_ORIGIN_WEB },
		{ "\"rule_of_two\"", "[\"workspace\"]", 0, TH_ORIGIN_WEB },
		{ "\"rule_of_two\"", "[\"tool\",\"person\"]", 0, TH_ORIGIN_WEB },
		{ "\"rule_of_two\"", "[\"web\"]", 7, TH_ORIGIN_WEB },
		{ "\"rule_of_two\"", "[\"workspace\",\"mcp\"]", 7, TH_ORIGIN_MCP },
		{ "\"rule_of_two\"", "[\"of a later build\"]", 7, TH_ORIGIN_WEB },
		{ "{\"origins\":[\"workspace\"],\"ask\":[\"outside\"]}", "[\"web\"]", 0,
		  TH_ORIGIN_WEB },
		{ "{\"origins\":[\"workspace\"],\"ask\":[\"outside\"]}", "[\"workspace\"]", 7,
		  TH_ORIGIN_WORKSPACE },
	};

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct story st;

		to_outcome(&st, rows[i].untrusted, rows[i].origins,
			   "[" ROW("a.example", "allowed") "," ROW("b.example", "refused") "]");
		assert_int_equal(st.s.origins.seq, rows[i].seq);
		if (rows[i].seq)
			assert_int_equal(st.s.origins.first, rows[i].first);
		if (strstr(rows[i].untrusted, "rule"))
			said_is(&st, "[{\"host\":\"a.example\",\"port\":443,\"allow\":true,"
				     "\"listed\":true}]");
		else
			said_is(&st, "[]");
		/* A condensation, and the next task, change nothing about it. */
		must(&st, TH_EV_CONDENSATION, 7, "",
		     "{\"first_seq\":2,\"last_seq\":7,\"summary\":\"s\"}");
		th_hosts_begin_task(&st.s);
		assert_int_equal(st.s.origins.seq, rows[i].seq);
		th_session_deinit(&st.s);
	}
}

static void test_bad_policies(void **unused)
{
	static const struct {
		const char *raw, *at, *why;
	} rows[] = {
		{ "\"never\"", "", "must be rule_of_two or" },
		{ "7", "", "must be rule_of_two or" },
		{ "{}", "", "must be rule_of_two or" },
		{ "{\"origins\":[\"web\"],\"ask\":[]}", "ask", "must be a list of names" },
		{ "{\"origins\":\"web\",\"ask\":[\"host\"]}", "origins",
		  "must be a list of names" },
		{ "{\"origins\":[\"web\",\"nobody\"],\"ask\":[\"host\"]}", "origins[1]",
		  "must be one of web, mcp, tool, workspace, person" },
		{ "{\"origins\":[\"web\"],\"ask\":[\"host\",3]}", "ask[1]",
		  "must be one of irreversible, host, outside" },
	};

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_buf path = TH_BUF_INIT(TH_KIB);
		struct th_untrusted policy;
		struct th_err err = {};

		assert_int_equal(th_untrusted_read(th_str_of(rows[i].raw), &policy, &path, &err),
				 TH_EUSAGE);
		assert_string_equal(path.ptr ? path.ptr : "", rows[i].at);
		assert_non_null(strstr(err.msg, rows[i].why));
		th_buf_deinit(&path);
	}
}

/* The CALL event itself: what it says of the answer, and its digest of what it says. */
static void test_divergence_of_calls(void **unused)
{
	struct story st;

	(void)unused;
	begin(&st, "");
	must(&st, TH_EV_MESSAGE, 0, "", "{\"role\":\"user\",\"content\":\"go\"}");
	must(&st, TH_EV_MODEL_REQUESTED, 2, "", "{\"model\":\"m\",\"turn\":1,\"attempt\":1}");
	must(&st, TH_EV_MODEL_ANSWERED, 3, "", ONE_CALL);
	assert_int_equal(
	    add(&st, TH_EV_CALL, 4, "c1", with_digest(THE_CALL("run"), "shell", "{\"x\":1}")),
	    TH_EDIVERGED);
	assert_non_null(strstr(st.err.msg, "its arguments have"));
	assert_int_equal(add(&st, TH_EV_CALL, 4, "c1",
			     with_digest("{\"call_id\":\"c1\",\"tool\":\"shell\",\"arguments\":"
					 "{\"x\":1},\"class\":\"W\",\"digest\":\"%s\","
					 "\"policy\":\"run\"}",
					 "shell", "{\"x\":1}")),
			 TH_EDIVERGED);
	assert_non_null(strstr(st.err.msg, "the log calls shell"));
	assert_int_equal(add(&st, TH_EV_CALL, 4, "c1",
			     with_digest("{\"call_id\":\"c1\",\"tool\":\"pay\",\"arguments\":{},"
					 "\"class\":\"W\",\"digest\":\"%s\",\"policy\":\"run\"}",
					 "pay", "{}")),
			 TH_EDIVERGED);
	assert_non_null(strstr(st.err.msg, "the log calls pay"));
	must(&st, TH_EV_CALL, 4, "c1", with_digest(THE_CALL("run"), "shell", "{}"));
	assert_int_equal(add(&st, TH_EV_CALL, 4, "c1", with_digest(THE_CALL("run"), "shell", "{}")),
			 TH_EDIVERGED);
	th_session_deinit(&st.s);
}

/* Blanks and spellings of an object make no other action. */
static void test_arguments_have_one_form(void **unused)
{
	struct th_buf one = TH_BUF_INIT(TH_KIB), two = TH_BUF_INIT(TH_KIB);
	struct th_err err;

	(void)unused;
	assert_true(th_call_arguments(TH_STR(" { \"a\" : \"\\/\\u0041\" } "), &one, &err));
	assert_string_equal(one.ptr, "{\"a\":\"/A\"}");
	assert_true(th_call_arguments(th_buf_str(&one), &two, &err));
	assert_string_equal(two.ptr, one.ptr);
	th_buf_clear(&two);
	assert_true(th_call_arguments(TH_STR(""), &two, &err));
	assert_string_equal(two.ptr, "{}");
	th_buf_clear(&two);
	assert_false(th_call_arguments(TH_STR("[1]"), &two, &err));
	assert_string_equal(two.ptr, "\"[1]\"");
	th_buf_deinit(&one);
	th_buf_deinit(&two);
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
			 TH_EDIVERGED);
	must(&st, TH_EV_APPROVAL_DECIDED, 5, "c1",
	     with_digest("{\"call_id\":\"c1\",\"digest\":\"%s\",\"approve\":true}", "shell", "{}"));
	assert_int_equal(st.s.state, TH_STATE_RUNNING);
	assert_true(due(&st, TH_DO_INTEND));
	/* The intent names the approval that it uses up (event 7), and only that. */
	assert_int_equal(add(&st, TH_EV_INTENT, 5, "c1", with_digest(THE_INTENT, "shell", "{}")),
			 TH_EDIVERGED);
	assert_int_equal(
	    add(&st, TH_EV_INTENT, 5, "c1", with_digest(APPROVED_INTENT("6"), "shell", "{}")),
	    TH_EDIVERGED);
	must(&st, TH_EV_INTENT, 5, "c1", with_digest(APPROVED_INTENT("7"), "shell", "{}"));
	assert_int_equal(
	    add(&st, TH_EV_INTENT, 5, "c1", with_digest(APPROVED_INTENT("7"), "shell", "{}")),
	    TH_EDIVERGED);
	th_session_deinit(&st.s);
}

#define PARKED                                                                                     \
	"{\"call_id\":\"c1\",\"effect_id\":\"e1\",\"output\":[{\"type\":\"text\",\"text\":\"?\"}]" \
	","                                                                                        \
	"\"elapsed_ms\":5}"
#define SETTLED(status) "{\"call_id\":\"c1\",\"effect_id\":\"e1\",\"status\":\"" status "\"}"
#define OUTCOME(status) \
	"{\"call_id\":\"c1\",\"effect_id\":\"e1\",\"status\":\"" status "\",\"output\":\"\"}"

#define QUESTION                                                                          \
	"{\"call_id\":\"c1\",\"effect_id\":\"e1\",\"arguments\":{\"question\":\"Who?\"}," \
	"\"form\":{\"hold\":\"h\"}}"

/* Up to a person that is asked in the middle of a call: QUESTION is event 7, the request 8. */
static void to_question(struct story *st)
{
	to_call(st, "run");
	must(st, TH_EV_INTENT, 5, "c1", with_digest(THE_INTENT, "shell", "{}"));
	must(st, TH_EV_QUESTION, 6, "c1", QUESTION);
	assert_true(due(st, TH_DO_ASK));
	must(st, TH_EV_APPROVAL_REQUESTED, 5, "c1",
	     with_digest("{\"call_id\":\"c1\",\"digest\":\"%s\",\"reason\":\"why\"}", "shell",
			 "{}"));
	assert_int_equal(st->s.state, TH_STATE_WAITING);
	assert_true(st->s.calls[0].question);
	assert_true(th_str_is(st->s.calls[0].arguments, "{\"question\":\"Who?\"}"));
}

/* The answer goes on with the call, and so does a refusal; the call's own arguments are back. */
static void test_a_question_in_a_call(void **unused)
{
	struct story st;

	(void)unused;
	for (int approve = 0; approve < 2; approve++) {
		to_question(&st);
		must(&st, TH_EV_APPROVAL_DECIDED, 5, "c1",
		     with_digest(approve ? "{\"call_id\":\"c1\",\"digest\":\"%s\",\"approve\":"
					   "true,\"always\":true,\"message\":\"Ann\"}"
					 : "{\"call_id\":\"c1\",\"digest\":\"%s\",\"approve\":"
					   "false}",
				 "shell", "{}"));
		assert_true(due(&st, TH_DO_INTEND));
		assert_false(th_session_sticky(&st.s, TH_STR("shell"))); /* it was about this one */
		assert_int_equal(st.s.calls[0].approved, approve);
		assert_true(th_str_is(st.s.calls[0].reason, approve ? "Ann" : ""));
		assert_true(th_str_is(st.s.calls[0].arguments, "{}"));
		must(&st, TH_EV_INTENT, 5, "c1", with_digest(APPROVED_INTENT("9"), "shell", "{}"));
		must(&st, TH_EV_OUTCOME, 10, "c1", OUTCOME("done"));
		th_session_deinit(&st.s);
	}
}

/* A stop meanwhile: the server has done who knows what. */
static void test_a_question_is_never_answered(void **unused)
{
	struct story st;

	(void)unused;
	to_question(&st);
	assert_int_equal(add(&st, TH_EV_QUESTION, 6, "c1", QUESTION), TH_EPROTO);
	must(&st, TH_EV_STATE_CHANGED, 0, "", "{\"to\":\"stopped\"}");
	assert_int_equal(st.s.calls[0].phase, TH_CALL_JUDGED);
	assert_int_equal(st.s.calls[0].status, TH_OUTCOME_UNKNOWN);
	th_session_deinit(&st.s);
}

/* Up to a parked call; its INTENT has seq 6, and PARKED is event 7. */
static void to_parked(struct story *st)
{
	to_call(st, "run");
	must(st, TH_EV_INTENT, 5, "c1", with_digest(THE_INTENT, "shell", "{}"));
	must(st, TH_EV_PARKED, 6, "c1", PARKED);
}

static void test_a_parked_call_waits_for_a_word(void **unused)
{
	struct th_effects fx;
	struct story st;

	(void)unused;
	to_parked(&st);
	assert_int_equal(st.s.state, TH_STATE_WAITING);
	assert_true(due(&st, TH_DO_NOTIFY));
	assert_non_null(th_session_waits(&st.s, TH_CALL_PARKED, TH_STR("c1")));
	assert_null(th_session_waits(&st.s, TH_CALL_PARKED, TH_STR("c2")));
	/* A resume does not settle it with the executor again, and a message says nothing of it. */
	th_session_resume(&st.s, &fx);
	for (size_t i = 0; i < fx.count; i++)
		assert_int_equal(fx.list[i].kind, TH_DO_NOTIFY);
	must(&st, TH_EV_MESSAGE, 0, "", "{\"role\":\"user\",\"content\":\"it was done\"}");
	assert_int_equal(st.s.state, TH_STATE_WAITING);
	assert_int_equal(add(&st, TH_EV_OUTCOME, 6, "c1", OUTCOME("unknown")), TH_EPROTO);
	assert_int_equal(add(&st, TH_EV_SETTLED, 6, "c1", SETTLED("failed")), TH_EPROTO);
	assert_int_equal(add(&st, TH_EV_SETTLED, 6, "c1",
			     "{\"call_id\":\"c1\",\"effect_id\":\"e2\",\"status\":\"done\"}"),
			 TH_EPROTO);
	must(&st, TH_EV_SETTLED, 6, "c1", SETTLED("done"));
	assert_int_equal(st.s.state, TH_STATE_RUNNING);
	assert_true(due(&st, TH_DO_CONCLUDE));
	assert_int_equal(add(&st, TH_EV_SETTLED, 6, "c1", SETTLED("done")), TH_EPROTO);
	/* Also by who takes it up now; and the outcome is what was said. */
	th_session_resume(&st.s, &fx);
	assert_int_equal(fx.list[0].kind, TH_DO_CONCLUDE);
	assert_int_equal(add(&st, TH_EV_OUTCOME, 6, "c1", OUTCOME("not_started")), TH_EDIVERGED);
	must(&st, TH_EV_OUTCOME, 6, "c1", OUTCOME("done"));
	assert_true(due(&st, TH_DO_REQUEST));
	assert_int_equal(st.s.totals.calls_unknown, 0);
	assert_int_equal(st.s.unresolved.count, 0);
	th_session_deinit(&st.s);
}

/* Where there is no room to remember an id, it is not enough to name a call. */
static void test_ids_that_came_before(void **unused)
{
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	const struct th_call *c;
	struct th_err err = { 0 };
	struct story st;

	(void)unused;
	for (size_t full = 0; full < 2; full++) {
		const size_t before = TH_ASKED_IDS_MAX - !full;
		const uint64_t other = 7;

		to_call(&st, "run");
		must(&st, TH_EV_INTENT, 5, "c1", with_digest(THE_INTENT, "shell", "{}"));
		for (size_t i = 0; i < before; i++)
			th_buf_add(&st.s.asked_ids, th_str_n((const char *)&other, sizeof(other)));
		must(&st, TH_EV_PARKED, 6, "c1", PARKED);
		assert_int_equal(st.s.asked_ids.len, TH_ASKED_IDS_MAX * sizeof(other));
		c = th_session_waits(&st.s, TH_CALL_PARKED, TH_STR("c1"));
		assert_ptr_equal(c, th_session_waits(&st.s, TH_CALL_PARKED, TH_STR("c1#5")));
		assert_null(th_session_waits(&st.s, TH_CALL_PARKED, TH_STR("c1#4")));
		assert_int_equal(th_call_word(c, TH_STR("c1"), &err), full ? TH_EUSAGE : TH_OK);
		assert_int_equal(th_call_word(c, TH_STR("c1#5"), &err), TH_OK);
		assert_int_equal(th_call_word(c, TH_STR(""), &err), TH_OK);
		th_buf_clear(&name);
		th_call_name(c, &name);
		assert_true(th_str_is(th_buf_str(&name), full ? "c1#5" : "c1"));
		th_session_deinit(&st.s);
	}
}

static void test_a_word_can_be_that_nobody_knows(void **unused)
{
	struct story st;

	(void)unused;
	to_parked(&st);
	must(&st, TH_EV_SETTLED, 6, "c1", SETTLED("unknown"));
	must(&st, TH_EV_OUTCOME, 6, "c1", OUTCOME("unknown"));
	assert_int_equal(st.s.totals.calls_unknown, 1);
	assert_int_equal(st.s.unresolved.count, 1);
	th_session_deinit(&st.s);
}

static void test_a_stop_ends_the_wait(void **unused)
{
	struct story st;

	(void)unused;
	to_parked(&st);
	must(&st, TH_EV_STATE_CHANGED, 0, "", "{\"to\":\"stopped\"}");
	assert_null(th_session_waits(&st.s, TH_CALL_PARKED, TH_STR("")));
	must(&st, TH_EV_MESSAGE, 0, "", "{\"role\":\"user\",\"content\":\"go on\"}");
	assert_true(due(&st, TH_DO_CONCLUDE));
	must(&st, TH_EV_OUTCOME, 6, "c1", OUTCOME("unknown"));
	assert_true(due(&st, TH_DO_REQUEST));
	th_session_deinit(&st.s);
}

static void request(struct story *st, const char *more)
{
	char data[256];

	snprintf(data, sizeof(data), "{\"model\":\"m\",\"choice\":%zu,\"turn\":1,\"attempt\":1%s}",
		 st->s.model_at, more);
	must(st, TH_EV_MODEL_REQUESTED, st->s.seq, "", data);
}

/* A request that nobody will answer any more has cost what was reserved for it. */
static void test_reservations_are_held(void **unused)
{
	struct th_effects fx;
	struct story st;

	(void)unused;
	begin(&st, "\"tokens\":100");
	must(&st, TH_EV_MESSAGE, 0, "", "{\"role\":\"user\",\"content\":\"go\"}");
	request(&st, ",\"reserved_tokens\":60,\"reserved_cost_nano\":7");
	assert_int_equal(st.s.reserved.tokens, 60);
	/* The process dies; the next one asks again: 60 are gone, 40 are left. */
	th_session_resume(&st.s, &fx);
	assert_int_equal(fx.list[0].kind, TH_DO_REQUEST);
	request(&st, ",\"reserved_tokens\":40");
	assert_int_equal(st.s.totals.unanswered, 1);
	assert_int_equal(st.s.totals.tokens_held, 60);
	assert_int_equal(st.s.totals.cost_held_nano, 7);
	assert_int_equal(st.s.reserved.tokens, 40);
	/* And again: nothing is left. */
	th_session_resume(&st.s, &fx);
	assert_int_equal(fx.list[0].kind, TH_DO_LIMIT);
	/* The limit finds it lost; who lets it go on has it asked again, if there is room. */
	must(&st, TH_EV_STATE_CHANGED, 0, "", "{\"to\":\"limit\"}");
	assert_int_equal(st.s.totals.tokens_held, 100);
	must(&st, TH_EV_BUDGET, 0, "", "{\"limits\":{\"tokens\":160}}");
	must(&st, TH_EV_STATE_CHANGED, 0, "", "{\"to\":\"running\"}");
	assert_true(due(&st, TH_DO_REQUEST));
	request(&st, ",\"reserved_tokens\":40");
	/* An answer pays what it says, and gives the rest back. */
	must(&st, TH_EV_MODEL_ANSWERED, st.s.seq, "",
	     "{\"status\":\"completed\",\"items\":[],\"usage\":{\"input\":10,\"output\":5}}");
	assert_int_equal(st.s.reserved.tokens, 0);
	assert_int_equal(st.s.totals.tokens_held, 100);
	assert_true(due(&st, TH_DO_REQUEST)); /* 115 of 160, and the next sends 15 again */
	th_session_deinit(&st.s);
}

static void test_failures_that_may_have_cost(void **unused)
{
	static const struct {
		const char *class, *more;
		int64_t held;
	} rows[] = {
		{ "connect", "", 0 },
		{ "rate_limited", "", 0 },
		{ "overloaded", "", 0 },
		{ "rejected", "", 0 },
		{ "timeout", "", 60 },
		{ "cut", "", 60 },
		{ "malformed", "", 60 },
		{ "cancelled", "", 60 },
		{ "cut", ",\"usage\":{\"input\":3,\"output\":1}", 0 },
	};
	char data[256];

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct story st;

		begin(&st, "");
		must(&st, TH_EV_MESSAGE, 0, "", "{\"role\":\"user\",\"content\":\"go\"}");
		request(&st, ",\"reserved_tokens\":60");
		snprintf(data, sizeof(data),
			 "{\"class\":\"%s\",\"message\":\"x\",\"retry\":true%s}", rows[i].class,
			 rows[i].more);
		must(&st, TH_EV_MODEL_FAILED, st.s.seq, "", data);
		assert_int_equal(st.s.totals.tokens_held, rows[i].held);
		assert_int_equal(st.s.totals.unanswered, rows[i].held != 0);
		assert_int_equal(st.s.reserved.tokens, 0);
		th_session_deinit(&st.s);
	}
}

#define FAILED(class, more) "{\"class\":\"" class "\",\"message\":\"x\"" more "}"

/* A session whose agent has two more models, asked the first time. */
static void to_request(struct story *st)
{
	struct th_event ev = {
		.seq = 1,
		.kind = TH_EV_SESSION_CREATED,
		.ts_ms = 1000,
		.data = TH_STR("{\"agent\":{\"name\":\"x\",\"fallback\":[\"b\",\"c\"]},"
			       "\"model\":\"a\"}"),
	};

	memset(st, 0, sizeof(*st));
	th_session_init(&st->s);
	assert_int_equal(th_session_step(&st->s, &ev, &st->fx, &st->err), TH_OK);
	st->ts = 1000;
	must(st, TH_EV_MESSAGE, 0, "", "{\"role\":\"user\",\"content\":\"go\"}");
	request(st, "");
}

static void test_the_next_model_is_asked(void **unused)
{
	struct story st;

	(void)unused;
	to_request(&st);
	th_session_prices(&st.s, 0, 1, 0);
	th_session_prices(&st.s, 1, 7, 0);
	st.s.answer_tokens = 10;
	assert_int_equal(th_session_reservation(&st.s).cost_nano, 10);
	must(&st, TH_EV_MODEL_FAILED, 3, "", FAILED("overloaded", ",\"retry\":true"));
	assert_int_equal(st.s.model_at, 0);
	assert_int_equal(st.s.totals.attempts, 1);
	request(&st, "");
	/* Only the next of the list. */
	assert_int_equal(
	    add(&st, TH_EV_MODEL_FAILED, 5, "", FAILED("overloaded", ",\"next\":\"c\"")),
	    TH_EDIVERGED);
	assert_non_null(strstr(st.err.msg, "goes on with the model c"));
	must(&st, TH_EV_MODEL_FAILED, 5, "", FAILED("overloaded", ",\"next\":\"b\""));
	assert_int_equal(st.s.model_at, 1);
	assert_int_equal(st.s.totals.attempts, 0); /* each model has its own */
	assert_int_equal(st.s.state, TH_STATE_RUNNING);
	assert_true(due(&st, TH_DO_REQUEST));
	assert_false(due(&st, TH_DO_FAIL));
	assert_int_equal(th_session_reservation(&st.s).cost_nano, 70);
	assert_int_equal(add(&st, TH_EV_MODEL_REQUESTED, 6, "",
			     "{\"model\":\"m\",\"choice\":0,\"turn\":1,\"attempt\":1}"),
			 TH_EDIVERGED);
	request(&st, "");
	must(&st, TH_EV_MODEL_FAILED, 7, "", FAILED("auth", ",\"next\":\"c\""));
	assert_int_equal(th_session_next_model(&st.s).len, 0);
	request(&st, "");
	assert_int_equal(add(&st, TH_EV_MODEL_FAILED, 9, "", FAILED("auth", ",\"next\":\"a\"")),
			 TH_EDIVERGED);
	must(&st, TH_EV_MODEL_FAILED, 9, "", FAILED("auth", ""));
	assert_true(due(&st, TH_DO_FAIL));
	must(&st, TH_EV_ERROR, 10, "", "{\"class\":\"model\",\"message\":\"x\"}");
	assert_int_equal(st.s.model_at, 2);
	/* The next task begins with the first again. */
	must(&st, TH_EV_MESSAGE, 0, "", "{\"role\":\"user\",\"content\":\"again\"}");
	assert_int_equal(st.s.model_at, 0);
	assert_true(th_str_is(th_session_next_model(&st.s), "b"));
	th_session_deinit(&st.s);
}

/* The model that a turn was given to keeps the task, its later turns too. */
static void test_a_task_stays_with_its_model(void **unused)
{
	struct story st;

	(void)unused;
	to_request(&st);
	must(&st, TH_EV_MODEL_FAILED, 3, "", FAILED("quota", ",\"next\":\"b\""));
	request(&st, "");
	must(&st, TH_EV_MODEL_ANSWERED, 5, "", ONE_CALL);
	must(&st, TH_EV_MESSAGE, 0, "", "{\"role\":\"user\",\"content\":\"hurry\"}");
	must(&st, TH_EV_CALL, 6, "c1", with_digest(THE_CALL("ask"), "shell", "{}"));
	assert_int_equal(st.s.model_at, 1);
	/* Held and gone on with while its call is open: the call stays with who asked for it. */
	must(&st, TH_EV_STATE_CHANGED, 0, "", "{\"to\":\"paused\"}");
	must(&st, TH_EV_STATE_CHANGED, 0, "", "{\"to\":\"running\"}");
	assert_int_equal(st.s.model_at, 1);
	must(&st, TH_EV_OUTCOME, 8, "c1",
	     "{\"call_id\":\"c1\",\"status\":\"refused\",\"output\":\"no\"}");
	assert_true(due(&st, TH_DO_REQUEST));
	assert_int_equal(st.s.model_at, 0);
	th_session_deinit(&st.s);
}

#define ANSWERED(id, status) "{\"response_id\":\"" id "\",\"status\":\"" status "\",\"items\":[]}"

/* What a request may go on from. */
static void test_a_chain_of_answers(void **unused)
{
	static const struct {
		enum th_event_kind kind;
		const char *data;
		const char *then;
	} rows[] = {
		{ TH_EV_MODEL_FAILED, FAILED("server", ",\"retry\":true"), "r1" },
		{ TH_EV_MODEL_FAILED, FAILED("not_found", ",\"whole\":true"), "" },
		{ TH_EV_MODEL_FAILED, FAILED("auth", ",\"next\":\"b\""), "" },
		{ TH_EV_MODEL_ANSWERED, ANSWERED("r2", "completed"), "r2" },
		{ TH_EV_MODEL_ANSWERED, ANSWERED("r2", "incomplete"), "" },
		{ TH_EV_CONDENSATION, "{\"first_seq\":2,\"last_seq\":3}", "" },
	};

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct story st;

		to_request(&st);
		must(&st, TH_EV_MODEL_ANSWERED, 3, "", ANSWERED("r1", "completed"));
		assert_true(th_str_is(th_buf_str(&st.s.chain), "r1"));
		request(&st, "");
		must(&st, rows[i].kind, 5, "", rows[i].data);
		if (!th_str_is(th_buf_str(&st.s.chain), rows[i].then))
			fail_msg("%s leaves \"%.*s\"", rows[i].data,
				 TH_FMT(th_buf_str(&st.s.chain)));
		th_session_deinit(&st.s);
	}
}

/* It was no try, and the next one is made at once. */
static void test_a_lost_chain_is_no_try(void **unused)
{
	struct story st;

	(void)unused;
	to_request(&st);
	must(&st, TH_EV_MODEL_FAILED, 3, "", FAILED("not_found", ",\"whole\":true"));
	assert_int_equal(st.s.totals.attempts, 0);
	assert_true(due(&st, TH_DO_REQUEST));
	th_session_deinit(&st.s);
}

/* One that is longer than TH_RESPONSE_ID_MAX is not kept. */
static void test_a_response_id_has_a_maximum(void **unused)
{
	for (size_t more = 0; more <= 1; more++) {
		struct th_buf data = TH_BUF_INIT(TH_KIB);
		struct story st;

		(void)unused;
		to_request(&st);
		th_buf_add_cstr(&data, "{\"response_id\":\"");
		for (size_t i = 0; i < TH_RESPONSE_ID_MAX + more; i++)
			th_buf_add_char(&data, 'r');
		th_buf_add_cstr(&data, "\",\"status\":\"completed\",\"items\":[]}");
		must(&st, TH_EV_MODEL_ANSWERED, 3, "", data.ptr);
		assert_int_equal(st.s.chain.len, more ? 0 : TH_RESPONSE_ID_MAX);
		th_session_deinit(&st.s);
		th_buf_deinit(&data);
	}
}

#define STARTED "{\"response_id\":\"r1\",\"next_event\":5}"

/* An answer that goes on at the provider outlives requests, and is fetched by the next. */
static void test_an_answer_in_the_background(void **unused)
{
	struct story st;

	(void)unused;
	to_request(&st);
	must(&st, TH_EV_MODEL_STARTED, 3, "", STARTED);
	assert_int_equal(add(&st, TH_EV_MODEL_STARTED, 3, "", STARTED), TH_EPROTO);
	must(&st, TH_EV_MODEL_FAILED, 3, "", FAILED("cut", ",\"retry\":true,\"kept\":true"));
	assert_true(th_str_is(th_buf_str(&st.s.started), "r1"));
	assert_int_equal(st.s.started_next, 5);
	assert_int_equal(st.s.totals.unanswered, 0); /* it is paid for once */
	must(&st, TH_EV_MESSAGE, 0, "", "{\"role\":\"user\",\"content\":\"hurry\"}");
	request(&st, "");
	request(&st, ""); /* after a crash */
	assert_int_equal(st.s.totals.unanswered, 0);
	must(&st, TH_EV_MODEL_ANSWERED, 8, "",
	     "{\"status\":\"completed\",\"items\":[{\"type\":\"message\",\"content\":[{\"type\":"
	     "\"output_text\",\"text\":\"hi\"}]}]}");
	assert_int_equal(st.s.started.len, 0);
	/* What was said after the first request it has not read. */
	assert_true(due(&st, TH_DO_REQUEST));
	th_session_deinit(&st.s);
	/* It is over: the next one asks anew. */
	to_request(&st);
	must(&st, TH_EV_MODEL_STARTED, 3, "", STARTED);
	must(&st, TH_EV_MODEL_FAILED, 3, "", FAILED("server", ",\"retry\":true"));
	assert_int_equal(st.s.started.len, 0);
	th_session_deinit(&st.s);
}

/* As many as TH_FALLBACK_MAX. */
static void test_a_fallback_list_has_a_maximum(void **unused)
{
	for (int more = 0; more <= 1; more++) {
		struct th_buf data = TH_BUF_INIT(TH_KIB);
		struct th_event ev = { .seq = 1, .kind = TH_EV_SESSION_CREATED, .ts_ms = 1000 };
		struct story st = { 0 };

		(void)unused;
		th_session_init(&st.s);
		th_buf_add_cstr(&data, "{\"agent\":{\"name\":\"x\",\"fallback\":[");
		for (int i = 0; i < TH_FALLBACK_MAX + more; i++)
			th_buf_printf(&data, "%s\"m%d\"", i ? "," : "", i);
		th_buf_add_cstr(&data, "]},\"model\":\"a\"}");
		ev.data = th_buf_str(&data);
		assert_int_equal(th_session_step(&st.s, &ev, &st.fx, &st.err),
				 more ? TH_ELIMIT : TH_OK);
		th_session_deinit(&st.s);
		th_buf_deinit(&data);
	}
}

/* What the next request needs at least must fit into what is left. */
static void test_the_next_request_must_fit(void **unused)
{
	for (int more = 0; more <= 1; more++) {
		char limits[64];
		struct story st;

		(void)unused;
		snprintf(limits, sizeof(limits), "\"tokens\":%d", 20 - more);
		begin(&st, limits);
		must(&st, TH_EV_MESSAGE, 0, "", "{\"role\":\"user\",\"content\":\"go\"}");
		request(&st, "");
		must(
		    &st, TH_EV_MODEL_ANSWERED, 3, "",
		    "{\"status\":\"completed\",\"items\":[],\"usage\":{\"input\":6,\"output\":4}}");
		assert_int_equal(th_session_reservation(&st.s).tokens, 10);
		assert_true(due(&st, more ? TH_DO_LIMIT : TH_DO_REQUEST));
		th_session_deinit(&st.s);
	}
}

/* Ten thousand wait at once: what few of them have is made when it is first needed. */
static void test_a_session_is_small(void **unused)
{
	struct story st;

	(void)unused;
	begin(&st, "\"turns\":5");
	assert_in_range(sizeof(st.s), 1, 1400);
	assert_null(st.s.judge);
	assert_null(st.s.control);
	assert_null(st.s.totals.side);
	assert_null(st.s.fallback_prices);
	assert_false(th_session_control(&st.s)->taken);
	th_session_deinit(&st.s);
}

static void test_money_is_reserved(void **unused)
{
	for (int more = 0; more <= 1; more++) {
		struct story st;

		(void)unused;
		begin(&st, "\"cost_usd\":0.00000002"); /* 20 nano dollars */
		th_session_prices(&st.s, 0, 1, 2);
		must(&st, TH_EV_MESSAGE, 0, "", "{\"role\":\"user\",\"content\":\"go\"}");
		request(&st, "");
		must(&st, TH_EV_MODEL_ANSWERED, 3, "",
		     more ? "{\"status\":\"completed\",\"items\":[],\"cost_nano\":11,\"usage\":{"
			    "\"input\":6,\"output\":4}}"
			  : "{\"status\":\"completed\",\"items\":[],\"cost_nano\":10,\"usage\":{"
			    "\"input\":6,\"output\":4}}");
		assert_int_equal(th_session_reservation(&st.s).cost_nano, 10);
		assert_true(due(&st, more ? TH_DO_LIMIT : TH_DO_REQUEST));
		/* Numbers that would wrap are as large as can be. */
		th_session_prices(&st.s, 0, INT64_MAX, INT64_MAX);
		assert_true(th_session_reservation(&st.s).cost_nano == INT64_MAX);
		th_session_deinit(&st.s);
	}
}

static void test_a_persons_time_is_not_the_agents(void **unused)
{
	struct story st;

	(void)unused;
	to_parked(&st);
	st.s.seconds_max = 60;
	assert_true(th_session_time_left_ms(&st.s, st.ts) > 59000);
	st.ts += 3600 * 1000;
	must(&st, TH_EV_SETTLED, 6, "c1", SETTLED("done"));
	assert_true(th_session_time_left_ms(&st.s, st.ts) > 59000);
	must(&st, TH_EV_OUTCOME, 6, "c1", OUTCOME("done"));
	assert_true(due(&st, TH_DO_REQUEST));
	assert_int_equal(th_session_time_left_ms(&st.s, st.ts + 3600 * 1000), 0);
	st.s.seconds_max = 0;
	assert_int_equal(th_session_time_left_ms(&st.s, st.ts), -1);
	th_session_deinit(&st.s);
}

/* A running session says what it took once a minute, and when it comes to rest. */
static void test_what_it_took_is_said(void **unused)
{
	struct story st;

	(void)unused;
	begin(&st, "\"turns\":9");
	must(&st, TH_EV_MESSAGE, 0, "", "{\"role\":\"user\",\"content\":\"go\"}");
	assert_int_equal(st.s.used_said.model_ms, 0);
	for (int turn = 1; turn <= 2; turn++) {
		char data[80];

		snprintf(data, sizeof(data), "{\"model\":\"m\",\"turn\":%d,\"attempt\":1}", turn);
		must(&st, TH_EV_MODEL_REQUESTED, st.s.seq, "", data);
		st.ts = st.s.used_said_ms + TH_USED_SAID_MS - (turn == 1 ? 2 : 1);
		must(&st, TH_EV_MODEL_ANSWERED, st.s.seq, "",
		     "{\"status\":\"completed\",\"items\":[],\"elapsed_ms\":40,"
		     "\"usage\":{\"input\":9,\"written\":7}}");
		assert_int_equal(st.s.used.model_ms, 40 * turn);
		assert_int_equal(st.s.used_said.model_ms, turn == 1 ? 0 : 80);
		assert_int_equal(st.s.used_said.tokens_written, turn == 1 ? 0 : 14);
	}
	must(&st, TH_EV_MODEL_REQUESTED, st.s.seq, "",
	     "{\"model\":\"m\",\"turn\":3,\"attempt\":1}");
	must(&st, TH_EV_MODEL_ANSWERED, st.s.seq, "",
	     "{\"status\":\"completed\",\"items\":[],\"elapsed_ms\":-5}");
	must(&st, TH_EV_STATE_CHANGED, 0, "", "{\"to\":\"paused\"}");
	assert_int_equal(st.s.used_said.model_ms, 80);
	th_session_deinit(&st.s);

	to_parked(&st);
	st.ts += 3600 * 1000;
	must(&st, TH_EV_SETTLED, 6, "c1", SETTLED("done"));
	assert_true(st.s.used_said.person_ms >= 3600 * 1000);
	th_session_deinit(&st.s);
}

/* Even where policy was fooled into saying run; whatever the call is of. */
static void test_safety_checks_always_ask(void **unused)
{
	static const char *const calls[] = {
		"\"type\":\"computer_call\",\"action\":{}",
		"\"type\":\"function_call\",\"name\":\"computer\",\"arguments\":\"{}\"",
	};

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(calls); i++) {
		struct story st;
		char answer[400];

		begin(&st, "");
		must(&st, TH_EV_MESSAGE, 0, "", "{\"role\":\"user\",\"content\":\"go\"}");
		must(&st, TH_EV_MODEL_REQUESTED, 2, "",
		     "{\"model\":\"m\",\"turn\":1,\"attempt\":1}");
		snprintf(answer, sizeof(answer),
			 "{\"status\":\"completed\",\"items\":[{%s,\"call_id\":\"c1\","
			 "\"pending_safety_checks\":[{\"id\":\"s1\"}]}]}",
			 calls[i]);
		must(&st, TH_EV_MODEL_ANSWERED, 3, "", answer);
		must(&st, TH_EV_CALL, 4, "c1",
		     with_digest("{\"call_id\":\"c1\",\"tool\":\"computer\",\"arguments\":{},"
				 "\"class\":\"W\",\"digest\":\"%s\",\"policy\":\"run\"}",
				 "computer", "{}"));
		assert_true(due(&st, TH_DO_ASK));
		assert_false(due(&st, TH_DO_INTEND));
		th_session_deinit(&st.s);
	}
}

static void test_limits(void **unused)
{
	struct story st;

	(void)unused;
	begin(&st, "\"tokens\":19");
	must(&st, TH_EV_MESSAGE, 0, "", "{\"role\":\"user\",\"content\":\"go\"}");
	must(&st, TH_EV_MODEL_REQUESTED, 2, "", "{\"model\":\"m\",\"turn\":1,\"attempt\":1}");
	must(&st, TH_EV_MODEL_ANSWERED, 3, "",
	     "{\"status\":\"completed\",\"items\":[],\"usage\":{\"input\":6,\"output\":3}}");
	assert_true(due(&st, TH_DO_REQUEST)); /* 9 of 19, and as many to send again */
	must(&st, TH_EV_MODEL_REQUESTED, 4, "", "{\"model\":\"m\",\"turn\":2,\"attempt\":1}");
	must(&st, TH_EV_MODEL_ANSWERED, 5, "",
	     "{\"status\":\"completed\",\"items\":[],\"usage\":{\"input\":10,\"output\":0}}");
	assert_true(due(&st, TH_DO_LIMIT)); /* 19 of 19 */
	assert_string_equal(st.fx.list[0].reason, "the limit of tokens is reached");
	assert_true(th_session_used_up(&st.s));
	th_session_deinit(&st.s);

	/* A limit that an answer cannot be counted against is not held: nothing more is asked. */
	begin(&st, "\"tokens\":19");
	must(&st, TH_EV_MESSAGE, 0, "", "{\"role\":\"user\",\"content\":\"go\"}");
	must(&st, TH_EV_MODEL_REQUESTED, 2, "", "{\"model\":\"m\",\"turn\":1,\"attempt\":1}");
	must(&st, TH_EV_MODEL_ANSWERED, 3, "",
	     "{\"status\":\"completed\",\"items\":[],\"unmetered\":true}");
	assert_true(due(&st, TH_DO_LIMIT));
	assert_non_null(strstr(st.fx.list[0].reason, "cannot be kept"));
	th_session_deinit(&st.s);
	/* The log of a build that did not say so goes on. */
	begin(&st, "\"tokens\":19");
	must(&st, TH_EV_MESSAGE, 0, "", "{\"role\":\"user\",\"content\":\"go\"}");
	must(&st, TH_EV_MODEL_REQUESTED, 2, "", "{\"model\":\"m\",\"turn\":1,\"attempt\":1}");
	must(&st, TH_EV_MODEL_ANSWERED, 3, "", "{\"status\":\"completed\",\"items\":[]}");
	assert_true(due(&st, TH_DO_REQUEST));
	th_session_deinit(&st.s);

	begin(&st, "\"seconds\":60");
	must(&st, TH_EV_MESSAGE, 0, "", "{\"role\":\"user\",\"content\":\"go\"}");
	must(&st, TH_EV_MODEL_REQUESTED, 2, "", "{\"model\":\"m\",\"turn\":1,\"attempt\":1}");
	st.ts = 1001 + 60000 - 1;
	must(&st, TH_EV_MODEL_ANSWERED, 3, "", "{\"status\":\"completed\",\"items\":[]}");
	assert_true(due(&st, TH_DO_LIMIT));
	th_session_deinit(&st.s);
}

/* A pause gives no new turns and no new time, and takes none of the time. */
static void test_a_pause_is_no_budget(void **unused)
{
	struct story st;

	(void)unused;
	begin(&st, "\"turns\":2,\"seconds\":60");
	must(&st, TH_EV_MESSAGE, 0, "", "{\"role\":\"user\",\"content\":\"go\"}");
	for (int turn = 1; turn <= 2; turn++) {
		char data[80];

		assert_true(due(&st, TH_DO_REQUEST));
		snprintf(data, sizeof(data), "{\"model\":\"m\",\"turn\":%d,\"attempt\":1}", turn);
		must(&st, TH_EV_MODEL_REQUESTED, st.s.seq, "", data);
		must(&st, TH_EV_MODEL_ANSWERED, st.s.seq, "",
		     "{\"status\":\"completed\",\"items\":[]}");
		must(&st, TH_EV_STATE_CHANGED, 0, "", "{\"to\":\"paused\"}");
		st.ts += 59990;
		must(&st, TH_EV_STATE_CHANGED, 0, "", "{\"to\":\"running\"}");
	}
	assert_true(due(&st, TH_DO_LIMIT));
	assert_string_equal(st.fx.list[0].reason, "the limit of model turns is reached");
	assert_true(th_session_time_left_ms(&st.s, st.ts) > 59000);
	assert_true(th_session_time_left_ms(&st.s, st.ts) < 60000);
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

/* What stands whole before the cut is done.  A text that a tool takes does not show where it ends.
 */
static void test_calls_of_cut_answers(void **unused)
{
	static const struct {
		const char *item;
		bool cut, cut_if_first; /* the last of the answer; not the last */
	} calls[] = {
		{ "{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"{}"
		  "\"}",
		  false, false },
		{ "{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"{}"
		  "\","
		  "\"status\":\"incomplete\"}",
		  true, true },
		{ "{\"type\":\"custom_tool_call\",\"call_id\":\"c\",\"name\":\"t\",\"input\":\"rm "
		  "-r /\"}",
		  true, false },
		{ "{\"type\":\"custom_tool_call\",\"call_id\":\"c\",\"name\":\"t\",\"input\":"
		  "\"ls\","
		  "\"status\":\"completed\"}",
		  false, false },
		{ "{\"type\":\"custom_tool_call\",\"call_id\":\"c\",\"name\":\"t\",\"input\":"
		  "\"ls\","
		  "\"status\":\"in_progress\"}",
		  true, false },
		{ "{\"type\":\"shell_call\",\"call_id\":\"c\",\"action\":{\"commands\":[\"ls\"]}}",
		  true, false },
	};

	(void)unused;
	for (size_t i = 0; i < 3 * TH_COUNT(calls); i++) {
		bool whole = i >= 2 * TH_COUNT(calls), first = i >= TH_COUNT(calls) && !whole;
		struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
		size_t n = i % TH_COUNT(calls);
		struct story st;

		th_buf_printf(&text, "{\"status\":\"%s\",\"items\":[%s%s]}",
			      whole ? "completed" : "incomplete", calls[n].item,
			      first
				  ? ",{\"type\":\"function_call\",\"call_id\":\"d\",\"name\":\"f\","
				    "\"arguments\":\"{}\"}"
				  : "");
		th_buf_add_char(&text, '\0');
		begin(&st, "");
		must(&st, TH_EV_MESSAGE, 0, "", "{\"role\":\"user\",\"content\":\"go\"}");
		must(&st, TH_EV_MODEL_REQUESTED, 2, "",
		     "{\"model\":\"m\",\"turn\":1,\"attempt\":1}");
		must(&st, TH_EV_MODEL_ANSWERED, 3, "", text.ptr);
		assert_int_equal(st.s.call_count, first ? 2 : 1);
		assert_int_equal(st.s.calls[0].incomplete,
				 first || whole ? calls[n].cut_if_first : calls[n].cut);
		th_session_deinit(&st.s);
	}
}

/* What it said so far is not its last word: it is asked again, with that. */
static void test_paused_answers_go_on(void **unused)
{
	struct story st;

	(void)unused;
	begin(&st, "");
	must(&st, TH_EV_MESSAGE, 0, "", "{\"role\":\"user\",\"content\":\"go\"}");
	must(&st, TH_EV_MODEL_REQUESTED, 2, "", "{\"model\":\"m\",\"turn\":1,\"attempt\":1}");
	must(
	    &st, TH_EV_MODEL_ANSWERED, 3, "",
	    "{\"status\":\"incomplete\",\"reason\":\"pause_turn\",\"items\":[{\"type\":\"message\","
	    "\"content\":[{\"type\":\"output_text\",\"text\":\"searching\"}]}]}");
	assert_false(due(&st, TH_DO_FAIL));
	assert_false(due(&st, TH_DO_FINISH));
	assert_true(due(&st, TH_DO_REQUEST));
	th_session_deinit(&st.s);
}

#define UNREAD                                                                                     \
	"{\"status\":\"completed\",\"items\":[{\"type\":\"message\"},{\"type\":\"computer_call\"," \
	"\"call_id\":\"c1\",\"actions\":[],\"error\":\"what is this\"}]}"
#define REFUSED                                                                                  \
	"{\"call_id\":\"c1\",\"tool\":\"computer\",\"arguments\":{},\"class\":\"W\",\"digest\":" \
	"\"%s\","                                                                                \
	"\"policy\":\"refuse\"}"

/* One answer that cannot be read, and its refusal. */
static void unread_turn(struct story *st)
{
	uint64_t seq = st->s.seq;

	must(st, TH_EV_MODEL_REQUESTED, seq, "", "{\"model\":\"m\",\"turn\":1,\"attempt\":1}");
	must(st, TH_EV_MODEL_ANSWERED, seq + 1, "", UNREAD);
	must(st, TH_EV_CALL, seq + 2, "c1", with_digest(REFUSED, "computer", "{}"));
	must(st, TH_EV_OUTCOME, seq + 3, "c1",
	     "{\"call_id\":\"c1\",\"status\":\"refused\",\"output\":\"no\"}");
}

static void test_unreadable_answers_end(void **unused)
{
	struct story st;

	(void)unused;
	begin(&st, "");
	must(&st, TH_EV_MESSAGE, 0, "", "{\"role\":\"user\",\"content\":\"go\"}");
	for (int i = 0; i < TH_REASKS_MAX; i++) {
		unread_turn(&st);
		assert_true(due(&st, TH_DO_REQUEST));
	}
	/* A good one between begins the count anew. */
	must(&st, TH_EV_MODEL_REQUESTED, st.s.seq, "",
	     "{\"model\":\"m\",\"turn\":1,\"attempt\":1}");
	must(&st, TH_EV_MODEL_ANSWERED, st.s.seq, "",
	     "{\"status\":\"completed\",\"items\":[{\"type\":\"web_search_call\"}]}");
	for (int i = 0; i < TH_REASKS_MAX; i++) {
		unread_turn(&st);
		assert_true(due(&st, TH_DO_REQUEST));
	}
	unread_turn(&st);
	assert_false(due(&st, TH_DO_REQUEST));
	assert_true(due(&st, TH_DO_FAIL));
	must(&st, TH_EV_ERROR, st.s.seq, "", "{\"class\":\"model\",\"message\":\"unreadable\"}");
	assert_int_equal(st.s.state, TH_STATE_FAILED);
	must(&st, TH_EV_MESSAGE, 0, "", "{\"role\":\"user\",\"content\":\"try again\"}");
	assert_true(due(&st, TH_DO_REQUEST));
	th_session_deinit(&st.s);
}

static void test_a_model_may_give_up(void **unused)
{
	struct story st;

	(void)unused;
	begin(&st, "");
	must(&st, TH_EV_MESSAGE, 0, "", "{\"role\":\"user\",\"content\":\"go\"}");
	must(&st, TH_EV_MODEL_REQUESTED, 2, "", "{\"model\":\"m\",\"turn\":1,\"attempt\":1}");
	must(&st, TH_EV_MODEL_ANSWERED, 3, "",
	     "{\"status\":\"completed\",\"items\":[{\"type\":\"message\",\"outcome\":\"failed\","
	     "\"content\":[{\"type\":\"output_text\",\"text\":\"cannot\"}]}]}");
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
	static const char *const bad[] = {
		"[{\"type\":\"function_call\",\"call_id\":\"\",\"name\":\"f\"}]",
		"[{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"f\"},"
		"{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"g\"}]",
	};

	(void)unused;
	th_arena_init(&a, TH_MIB);
	n = plan("[]", &a, &text);
	assert_int_equal(n.kind, TH_NEXT_AGAIN);
	/* Reasoning alone ends the run with nothing said; a provider's own tool goes on. */
	n = plan("[{\"type\":\"reasoning\",\"summary\":[]}]", &a, &text);
	assert_int_equal(n.kind, TH_NEXT_FINAL);
	assert_int_equal(text.len, 0);
	n = plan("[{\"type\":\"web_search_call\",\"id\":\"w\"}]", &a, &text);
	assert_int_equal(n.kind, TH_NEXT_AGAIN);
	/* The same call twice is one; two calls under one id are no answer. */
	n = plan(
	    "[{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"{}\"},"
	    "{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"{}\"}]",
	    &a, &text);
	assert_int_equal(n.call_count, 1);
	assert_int_equal(n.duplicate_count, 1);
	assert_int_equal(n.duplicates[0], 1);
	assert_null(n.bad_ids);
	for (size_t i = 0; i < TH_COUNT(bad); i++) {
		n = plan(bad[i], &a, &text); /* a log may have them */
		assert_non_null(n.bad_ids);
	}
	/* The one left out leaves nothing behind. */
	n = plan("[{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"f\"},"
		 "{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"f\","
		 "\"pending_safety_checks\":[{\"id\":\"s\"}]},"
		 "{\"type\":\"function_call\",\"call_id\":\"d\",\"name\":\"f\"}]",
		 &a, &text);
	assert_int_equal(n.call_count, 2);
	assert_int_equal(n.calls[1].safety_checks.len, 0);
	n = plan("[{\"type\":\"message\",\"content\":[{\"type\":\"refusal\",\"refusal\":\"no\"}]}]",
		 &a, &text);
	assert_int_equal(n.kind, TH_NEXT_FINAL);
	assert_true(n.refusal);
	assert_string_equal(text.ptr, "no");
	/* A refusal is all that its message says. */
	n = plan("[{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"well\"},"
		 "{\"type\":\"refusal\",\"refusal\":\"no\"},{\"type\":\"refusal\",\"refusal\":"
		 "\"never\"}]}]",
		 &a, &text);
	assert_true(n.refusal);
	assert_string_equal(text.ptr, "no");
	/* The last message speaks; what has no id belongs to the one before. */
	n = plan("[{\"type\":\"message\",\"id\":\"1\",\"content\":[{\"type\":\"refusal\","
		 "\"refusal\":\"no\"}]},"
		 "{\"type\":\"message\",\"id\":\"2\",\"content\":[{\"type\":\"output_text\","
		 "\"text\":\"on\"}]},"
		 "{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"ly\"}]}]",
		 &a, &text);
	assert_false(n.refusal);
	assert_string_equal(text.ptr, "only");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_result_needs_its_call),
		cmocka_unit_test(test_divergence_is_named),
		cmocka_unit_test(test_an_approval_is_bound_to_its_action),
		cmocka_unit_test(test_hosts_that_are_asked_for),
		cmocka_unit_test(test_untrusted_bytes),
		cmocka_unit_test(test_bad_policies),
		cmocka_unit_test(test_divergence_of_calls),
		cmocka_unit_test(test_arguments_have_one_form),
		cmocka_unit_test(test_a_question_in_a_call),
		cmocka_unit_test(test_a_question_is_never_answered),
		cmocka_unit_test(test_a_parked_call_waits_for_a_word),
		cmocka_unit_test(test_ids_that_came_before),
		cmocka_unit_test(test_a_word_can_be_that_nobody_knows),
		cmocka_unit_test(test_a_stop_ends_the_wait),
		cmocka_unit_test(test_reservations_are_held),
		cmocka_unit_test(test_failures_that_may_have_cost),
		cmocka_unit_test(test_the_next_model_is_asked),
		cmocka_unit_test(test_a_task_stays_with_its_model),
		cmocka_unit_test(test_an_answer_in_the_background),
		cmocka_unit_test(test_a_fallback_list_has_a_maximum),
		cmocka_unit_test(test_a_chain_of_answers),
		cmocka_unit_test(test_a_lost_chain_is_no_try),
		cmocka_unit_test(test_a_response_id_has_a_maximum),
		cmocka_unit_test(test_the_next_request_must_fit),
		cmocka_unit_test(test_money_is_reserved),
		cmocka_unit_test(test_a_persons_time_is_not_the_agents),
		cmocka_unit_test(test_what_it_took_is_said),
		cmocka_unit_test(test_safety_checks_always_ask),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_a_session_is_small),
		cmocka_unit_test(test_a_pause_is_no_budget),
		cmocka_unit_test(test_cut_answers_fail),
		cmocka_unit_test(test_calls_of_cut_answers),
		cmocka_unit_test(test_paused_answers_go_on),
		cmocka_unit_test(test_unreadable_answers_end),
		cmocka_unit_test(test_a_model_may_give_up),
		cmocka_unit_test(test_order_of_events),
		cmocka_unit_test(test_transitions),
		cmocka_unit_test(test_plan),
		cmocka_unit_test(test_plan_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
