/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_next_step.c - what follows an answer: a team's fold with a small driver
 * that does at once what is due, while the test plays the model, the people and
 * the agent's code.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/session.h"

#define EVENTS_MAX 128

struct play {
	struct th_session s;
	struct th_effects queue[64];
	size_t from, to;
	struct th_err err;
	int64_t ts;
	char said[1024]; /* what was due, in order */
	char error[512], final[256], instead[32];
	struct {
		enum th_event_kind kind;
		uint64_t cause;
		char *call, *data;
	} log[EVENTS_MAX];
	bool ask;            /* policy: every call of shell is asked about */
	bool holds;          /* a handoff takes its time */
	const char *unknown; /* a tool that there is not */
	const char *refuses; /* a call that its tool does not take */
	bool earlier;        /* the log is of an earlier build, which asks the model nothing more */
};

static enum th_source source_of(const char *data)
{
	return strstr(data, "\"no\"") ? TH_SOURCE_ENVIRONMENT : TH_SOURCE_USER;
}

static enum th_code add(struct play *p, enum th_event_kind kind, uint64_t cause, const char *call,
			const char *data)
{
	struct th_event ev = {
		.seq = p->s.seq + 1,
		.kind = kind,
		.source = source_of(data),
		.ts_ms = ++p->ts,
		.cause = cause,
		.call = th_str_of(call),
		.data = th_str_of(data),
	};
	enum th_code code;

	assert_true(p->to < TH_COUNT(p->queue) && p->s.seq < EVENTS_MAX);
	code = th_session_step(&p->s, &ev, &p->queue[p->to], &p->err);
	if (code)
		return code;
	p->to++;
	p->log[ev.seq - 1].kind = kind;
	p->log[ev.seq - 1].cause = cause;
	p->log[ev.seq - 1].call = strdup(call);
	p->log[ev.seq - 1].data = strdup(data);
	return TH_OK;
}

static void must(struct play *p, enum th_event_kind kind, uint64_t cause, const char *call,
		 const char *data)
{
	if (add(p, kind, cause, call, data))
		fail_msg("%s: %s", data, p->err.msg);
}

static void note(struct play *p, const char *what, const char *of)
{
	size_t len = strlen(p->said);

	snprintf(p->said + len, sizeof(p->said) - len, "%s%s%s%s", len ? " " : "", what,
		 of[0] ? ":" : "", of);
}

/* In order: what a driver would write, and the names of what acts in the world. */
static void do_effect(struct play *p, const struct th_effect *fx)
{
	struct th_session *s = &p->s;
	struct th_call *c = fx->call < s->call_count ? &s->calls[fx->call] : NULL;
	struct th_buf b = TH_BUF_INIT(TH_MIB), arguments = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&b);
	char digest[TH_SHA256_HEX_SIZE + 1], id[64] = "";

	if (c)
		snprintf(id, sizeof(id), "%.*s", TH_FMT(c->call_id));
	switch (fx->kind) {
	case TH_DO_RECORD: {
		bool unknown = p->unknown && th_str_is(c->tool, p->unknown);

		(void)th_call_arguments(c->arguments, &arguments, NULL);
		th_call_digest(c->tool, th_buf_str(&arguments), digest);
		th_buf_printf(&b,
			      "{\"call_id\":\"%s\",\"tool\":\"%.*s\",\"arguments\":%.*s,"
			      "\"class\":\"%s\",\"digest\":\"%s\",\"policy\":\"%s\",\"reason\":"
			      "\"because\",\"unknown\":%s}",
			      id, TH_FMT(c->tool), TH_FMT(th_buf_str(&arguments)),
			      c->handoff ? "L" : "W", digest,
			      unknown                 ? "refuse"
			      : p->ask && !c->handoff ? "ask"
						      : "run",
			      unknown ? "true" : "false");
		must(p, TH_EV_CALL, s->answer_seq, id, b.ptr);
		break;
	}
	case TH_DO_ASK:
		note(p, "ask", id);
		th_buf_printf(&b, "{\"call_id\":\"%s\",\"digest\":\"%s\",\"reason\":\"because\"}",
			      id, c->digest);
		must(p, TH_EV_APPROVAL_REQUESTED, c->call_seq, id, b.ptr);
		break;
	case TH_DO_REFUSE:
		note(p, "refuse", id);
		th_buf_printf(&b, "{\"call_id\":\"%s\",\"status\":\"refused\",\"output\":\"no\"}",
			      id);
		must(p, TH_EV_OUTCOME, c->call_seq, id, b.ptr);
		break;
	case TH_DO_INTEND:
		th_buf_printf(&b,
			      "{\"call_id\":\"%s\",\"effect_id\":\"e%s\",\"epoch\":1,\"class\":"
			      "\"W\",\"tool\":\"%.*s\",\"digest\":\"%s\",\"approval\":%llu}",
			      id, id, TH_FMT(c->tool), c->digest,
			      (unsigned long long)c->approval_seq);
		must(p, TH_EV_INTENT, c->call_seq, id, b.ptr);
		break;
	case TH_DO_TOOL_RUN:
		note(p, "run", id);
		th_buf_printf(&b,
			      "{\"call_id\":\"%s\",\"effect_id\":\"e%s\",\"status\":\"%s\","
			      "\"output\":\"result of %s\"}",
			      id, id, p->refuses && !strcmp(id, p->refuses) ? "refused" : "done",
			      id);
		must(p, TH_EV_OUTCOME, c->intent_seq, id, b.ptr);
		break;
	case TH_DO_HAND_OVER: {
		const struct th_member *m = th_session_member(s);
		struct th_str to = s->team->members[m->handoffs[c->handoff - 1].to].name;

		note(p, "hand_over", id);
		if (p->holds)
			break;
		th_buf_printf(&b, "{\"call_id\":\"%s\",\"status\":\"done\",\"output\":\"over\"}",
			      id);
		if (!th_call_hands_over(c))
			must(p, TH_EV_OUTCOME, c->call_seq, id, b.ptr);
		th_buf_clear(&b);
		th_buf_printf(&b, "{\"from\":\"%.*s\",\"to\":\"%.*s\",\"call_id\":\"%s\"}",
			      TH_FMT(m->name), TH_FMT(to), id);
		must(p, TH_EV_HANDOFF, c->call_seq, id, b.ptr);
		break;
	}
	case TH_DO_REQUEST:
		note(p, "request", "");
		if (p->earlier)
			break;
		must(p, TH_EV_MODEL_REQUESTED, s->seq, "",
		     "{\"model\":\"m\",\"turn\":1,\"attempt\":1}");
		break;
	case TH_DO_CORRECT:
		note(p, "correct", "");
		must(p, TH_EV_MESSAGE, s->seq, "", "{\"role\":\"user\",\"content\":\"no\"}");
		break;
	case TH_DO_HOOK: /* no agent here has one */
		break;
	case TH_DO_GUARD: {
		const struct th_member *m = fx->stage == TH_GUARD_INPUT
						? &s->team->members[s->guard_agent]
						: th_session_member(s);

		note(p, "guard", m->guards[fx->guard].name.ptr);
		break;
	}
	case TH_DO_TOOL_USE:
		note(p, "tool_use", "");
		break;
	case TH_DO_MODEL_CANCEL:
		note(p, "cancel", "");
		if (s->phase == TH_TURN_REQUESTED)
			must(p, TH_EV_MODEL_FAILED, s->request_seq, "",
			     "{\"class\":\"cancelled\",\"message\":\"the request was cancelled\"}");
		break;
	case TH_DO_FINISH:
		note(p, "finish", "");
		th_jw_object(&w);
		th_jw_kstr(&w, "output", th_buf_str(&s->final));
		th_jw_object_end(&w);
		snprintf(p->final, sizeof(p->final), "%.*s", TH_FMT(th_buf_str(&s->final)));
		snprintf(p->instead, sizeof(p->instead), "%s",
			 s->instead < 0 ? "" : th_instead_name((enum th_instead)s->instead));
		must(p, TH_EV_FINAL, s->answer_seq, "", b.ptr);
		break;
	case TH_DO_FAIL:
		note(p, "fail", fx->class ? fx->class : "model");
		snprintf(p->error, sizeof(p->error), "%.*s",
			 TH_FMT(th_buf_str(fx->class ? &s->trip : &s->reason)));
		must(p, TH_EV_ERROR, s->seq, "", "{\"class\":\"x\",\"message\":\"y\"}");
		break;
	case TH_DO_LIMIT:
		note(p, "limit", "");
		must(p, TH_EV_STATE_CHANGED, 0, "", "{\"to\":\"limit\"}");
		break;
	case TH_DO_INPUT:
	case TH_DO_INPUT_SETTLE:
	case TH_DO_HOST:
	case TH_DO_JUDGE:
	case TH_DO_STUCK:
	case TH_DO_STUCK_TELL:
	case TH_DO_STUCK_ASK:
	case TH_DO_CONCLUDE:
	case TH_DO_MODEL_CALL:
	case TH_DO_TOOL_SETTLE:
	case TH_DO_TOOL_CANCEL:
	case TH_DO_BACKGROUND:
	case TH_DO_TIMER_SET:
	case TH_DO_NOTIFY:
	case TH_EFFECT_COUNT:
		break;
	}
	th_buf_deinit(&b);
	th_buf_deinit(&arguments);
}

static void go(struct play *p)
{
	while (p->from < p->to) {
		struct th_effects fx = p->queue[p->from++];

		if (p->from == p->to)
			p->from = p->to = 0;
		for (size_t i = 0; i < fx.count; i++)
			do_effect(p, &fx.list[i]);
	}
}

static struct play *begin(const char *agent)
{
	struct play *p = calloc(1, sizeof(*p));
	struct th_buf data = TH_BUF_INIT(TH_MIB);

	th_session_init(&p->s);
	th_buf_printf(&data, "{\"agent\":{\"name\":\"a\",%s},\"model\":\"m\"}", agent);
	must(p, TH_EV_SESSION_CREATED, 0, "", data.ptr);
	th_buf_deinit(&data);
	go(p);
	return p;
}

static void expect(struct play *p, const char *said)
{
	go(p);
	assert_string_equal(p->said, said);
	p->said[0] = '\0';
}

static void say(struct play *p, const char *text)
{
	char data[256];

	snprintf(data, sizeof(data), "{\"role\":\"user\",\"content\":\"%s\"}", text);
	must(p, TH_EV_MESSAGE, 0, "", data);
}

static void answer(struct play *p, const char *items)
{
	char data[2048];

	snprintf(data, sizeof(data), "{\"status\":\"completed\",\"items\":[%s]}", items);
	must(p, TH_EV_MODEL_ANSWERED, p->s.request_seq, "", data);
}

static enum th_code verdict(struct play *p, const char *name, const char *stage, bool tripped,
			    const char *more, const char *call)
{
	char data[512];
	uint64_t cause = 0;

	for (size_t i = 0; i < p->s.call_count; i++)
		if (th_str_is(p->s.calls[i].call_id, call))
			cause = p->s.calls[i].call_seq;
	snprintf(data, sizeof(data), "{\"name\":\"%s\",\"stage\":\"%s\",\"tripped\":%s%s}", name,
		 stage, tripped ? "true" : "false", more);
	return add(p, TH_EV_GUARDRAIL, cause, call, data);
}

static void drop(struct play *p)
{
	for (uint64_t i = 0; i < p->s.seq; i++) {
		free(p->log[i].call);
		free(p->log[i].data);
	}
	th_session_deinit(&p->s);
	free(p);
}

/* Whatever was played, a replay is in the same state at each event. */
static void end(struct play *p)
{
	struct th_session again;
	struct th_effects fx;

	th_session_init(&again);
	for (uint64_t i = 0; i < p->s.seq; i++) {
		struct th_event ev = {
			.seq = i + 1,
			.source = source_of(p->log[i].data),
			.kind = p->log[i].kind,
			.ts_ms = (int64_t)i + 1,
			.cause = p->log[i].cause,
			.call = th_str_of(p->log[i].call),
			.data = th_str_of(p->log[i].data),
		};

		assert_int_equal(th_session_step(&again, &ev, &fx, &p->err), TH_OK);
	}
	assert_true(th_session_equal(&p->s, &again, &p->err));
	th_session_deinit(&again);
	drop(p);
}

#define TEXT(t) "{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"" t "\"}]}"
#define REFUSAL(t) \
	"{\"type\":\"message\",\"content\":[{\"type\":\"refusal\",\"refusal\":\"" t "\"}]}"
#define CALL(id, tool)                                                        \
	"{\"type\":\"function_call\",\"call_id\":\"" id "\",\"name\":\"" tool \
	"\",\"arguments\":\"{}\"}"
#define TEAM "\"handoffs\":[\"b\",\"c\"],\"agents\":{\"b\":{},\"c\":{}}"

static void state(struct play *p, const char *to)
{
	char data[64];

	snprintf(data, sizeof(data), "{\"to\":\"%s\"}", to);
	must(p, TH_EV_STATE_CHANGED, 0, "", data);
}

static void test_the_first_handoff_wins_after_all_calls(void **unused)
{
	struct play *p = begin(TEAM);

	(void)unused;
	say(p, "go");
	expect(p, "request");
	answer(p, TEXT("I hand over") "," CALL("c1", "shell") "," CALL(
		      "c2", "transfer_to_b") "," CALL("c3", "transfer_to_c"));
	expect(p, "refuse:c3 run:c1 hand_over:c2 request");
	assert_int_equal(p->s.agent, 1);
	assert_true(th_str_is(th_session_member(&p->s)->name, "b"));
	/* The new agent has no such function: its call is none that hands over. */
	answer(p, CALL("c4", "transfer_to_c"));
	expect(p, "run:c4 request");
	answer(p, TEXT("done"));
	expect(p, "finish");
	assert_string_equal(p->final, "done");
	end(p);
}

static void test_an_approval_goes_before_a_handoff(void **unused)
{
	struct play *p = begin(TEAM);
	char data[256];

	(void)unused;
	p->ask = true;
	say(p, "go");
	expect(p, "request");
	answer(p, CALL("c1", "transfer_to_b") "," CALL("c2", "shell"));
	expect(p, "ask:c2");
	assert_int_equal(p->s.state, TH_STATE_WAITING);
	snprintf(data, sizeof(data),
		 "{\"call_id\":\"c2\",\"digest\":\"%s\",\"approve\":true,\"always\":true}",
		 p->s.calls[1].digest);
	must(p, TH_EV_APPROVAL_DECIDED, p->s.calls[1].call_seq, "c2", data);
	expect(p, "run:c2 hand_over:c1 request");
	assert_true(th_session_sticky(&p->s, TH_STR("shell"))->approve);
	assert_null(th_session_sticky(&p->s, TH_STR("look")));
	end(p);
}

/* The last tool that a session remembers as approved for good; one more is asked about again. */
static void test_edges_of_what_is_approved_for_good(void **unused)
{
	static struct th_sticky others[TH_STICKY_MAX];

	(void)unused;
	for (size_t more = 0; more < 2; more++) {
		struct play *p = begin("\"tool_use_behavior\":\"run_again\"");
		char data[256];

		for (size_t i = 0; i < TH_COUNT(others); i++)
			others[i] = (struct th_sticky){ .tool = TH_STR("other"), .approve = true };
		p->ask = true;
		p->s.sticky = others;
		p->s.sticky_count = TH_STICKY_MAX - 1 + more;
		say(p, "go");
		go(p);
		answer(p, CALL("c1", "shell"));
		go(p);
		snprintf(data, sizeof(data),
			 "{\"call_id\":\"c1\",\"digest\":\"%s\",\"approve\":true,\"always\":true}",
			 p->s.calls[0].digest);
		p->said[0] = '\0';
		must(p, TH_EV_APPROVAL_DECIDED, p->s.calls[0].call_seq, "c1", data);
		expect(p, "run:c1 request");
		assert_int_equal(p->s.sticky_count, TH_STICKY_MAX);
		assert_int_equal(th_session_sticky(&p->s, TH_STR("shell")) != NULL, !more);
		drop(p);
	}
}

static void test_edges_of_what_ends_a_run(void **unused)
{
	(void)unused;
	for (size_t more = 0; more < 2; more++) {
		struct play *p = calloc(1, sizeof(*p));
		struct th_buf data = TH_BUF_INIT(TH_MIB);

		th_session_init(&p->s);
		th_buf_add_cstr(&data,
				"{\"agent\":{\"name\":\"a\",\"tool_use_behavior\":{\"stop_at\":[");
		for (size_t i = 0; i < TH_STOP_TOOLS_MAX + more; i++)
			th_buf_printf(&data, "%s\"t%zu\"", i ? "," : "", i);
		th_buf_add_cstr(&data, "]}},\"model\":\"m\"}");
		assert_int_equal(add(p, TH_EV_SESSION_CREATED, 0, "", data.ptr),
				 more ? TH_EUSAGE : TH_OK);
		if (more)
			assert_non_null(strstr(p->err.msg, "{stop_at: [tools, at most 64]}"));
		drop(p);
		th_buf_deinit(&data);
	}
}

static void test_edges_of_a_history(void **unused)
{
	struct play *p = begin("\"tool_use_behavior\":\"run_again\"");

	(void)unused;
	p->s.items = TH_SESSION_ITEMS_MAX;
	assert_int_equal(add(p, TH_EV_MESSAGE, 0, "", "{\"role\":\"user\",\"content\":\"x\"}"),
			 TH_ELIMIT);
	assert_string_equal(
	    p->err.msg,
	    "event 2 (message): the session's history is full, with 100000 items; begin "
	    "another one");
	assert_int_equal(add(p, TH_EV_ITEMS_ADDED, 0, "", "{\"items\":[{},{}]}"), TH_ELIMIT);
	p->s.items = TH_SESSION_ITEMS_MAX - 1;
	assert_int_equal(add(p, TH_EV_ITEMS_ADDED, 0, "", "{\"items\":[{},{}]}"), TH_ELIMIT);
	must(p, TH_EV_ITEMS_ADDED, 0, "", "{\"items\":[{}]}");
	p->s.items = TH_SESSION_ITEMS_MAX - 1;
	say(p, "go");
	assert_string_equal(th_session_limit(&p->s), "the session's history is full; begin another "
						     "session");
	drop(p);
	p = begin("\"tool_use_behavior\":\"run_again\"");
	p->s.items = TH_SESSION_ITEMS_MAX - 2;
	say(p, "go");
	assert_null(th_session_limit(&p->s));
	drop(p);
}

static void test_what_a_tool_says_may_be_the_end(void **unused)
{
	struct play *p = begin("\"tool_use_behavior\":\"stop_on_first_tool\"");

	(void)unused;
	say(p, "go");
	go(p);
	answer(p, TEXT("a text beside a call is not final") "," CALL("c1", "x"));
	p->said[0] = '\0';
	expect(p, "run:c1 finish");
	assert_string_equal(p->final, "result of c1");
	end(p);

	p = begin("\"tool_use_behavior\":{\"stop_at\":[\"y\"]}");
	say(p, "go");
	go(p);
	p->said[0] = '\0';
	answer(p, CALL("c1", "x"));
	expect(p, "run:c1 request");
	answer(p, CALL("c2", "x") "," CALL("c3", "y"));
	expect(p, "run:c2 run:c3 finish");
	assert_string_equal(p->final, "result of c3");
	end(p);

	/* One that its tool did not take is no end: the model is told, and calls again. */
	p = begin("\"tool_use_behavior\":{\"stop_at\":[\"y\"]}");
	say(p, "go");
	go(p);
	p->said[0] = '\0';
	p->refuses = "c1";
	answer(p, CALL("c1", "y"));
	expect(p, "run:c1 request");
	answer(p, CALL("c2", "y"));
	expect(p, "run:c2 finish");
	assert_string_equal(p->final, "result of c2");
	end(p);

	p = begin("\"tool_use_behavior\":{\"code\":\"f\"}");
	say(p, "go");
	go(p);
	p->said[0] = '\0';
	answer(p, CALL("c1", "x"));
	expect(p, "run:c1 tool_use");
	must(p, TH_EV_CODE, 0, "", "{\"use\":\"tool_use\",\"name\":\"f\",\"answer\":null}");
	expect(p, "request");
	answer(p, CALL("c2", "x"));
	expect(p, "run:c2 tool_use");
	must(p, TH_EV_CODE, 0, "",
	     "{\"use\":\"tool_use\",\"name\":\"f\",\"answer\":{\"final\":true,\"output\":[1]}}");
	expect(p, "finish");
	assert_string_equal(p->final, "[1]");
	end(p);
}

/* A log in which the sentence of a tool that did not take its call is the final output. */
static struct play *ended_by_a_refusal(const char *agent)
{
	struct play *p = begin(agent);

	p->refuses = "c1";
	say(p, "go");
	go(p);
	p->said[0] = '\0';
	p->earlier = true;
	answer(p, CALL("c1", "y") "," CALL("c2", "x"));
	expect(p, "run:c1 run:c2 request");
	return p;
}

static void test_what_was_turned_down_was_the_end(void **unused)
{
	static const char agent[] = "\"tool_use_behavior\":{\"stop_at\":[\"y\"]}";
	static const char guarded[] = "\"tool_use_behavior\":{\"stop_at\":[\"y\"]},"
				      "\"guardrails\":[{\"name\":\"last\",\"stage\":\"output\"}]";
	static const char no[] = "{\"name\":\"last\",\"stage\":\"output\",\"tripped\":true}";
	static const char yes[] = "{\"name\":\"last\",\"stage\":\"output\",\"tripped\":false}";
	struct play *p = ended_by_a_refusal(agent);

	(void)unused;
	must(p, TH_EV_FINAL, p->s.answer_seq, "", "{\"output\":\"result of c1\"}");
	assert_int_equal(p->s.state, TH_STATE_FINISHED);
	assert_true(th_str_is(th_buf_str(&p->s.final), "result of c1"));
	end(p);

	p = ended_by_a_refusal(guarded);
	must(p, TH_EV_GUARDRAIL, p->s.answer_seq, "", yes);
	expect(p, "finish");
	assert_string_equal(p->final, "result of c1");
	end(p);

	p = ended_by_a_refusal(guarded);
	must(p, TH_EV_GUARDRAIL, p->s.answer_seq, "", no);
	expect(p, "fail:output_guardrail");
	end(p);

	/* A late answer about another one is as wrong as before. */
	p = ended_by_a_refusal(guarded);
	assert_int_equal(add(p, TH_EV_GUARDRAIL, 2, "", yes), TH_EPROTO);
	assert_int_equal(p->s.phase, TH_TURN_DUE);
	drop(p);

	p = ended_by_a_refusal(
	    "\"tool_use_behavior\":{\"stop_at\":[\"y\"]},\"judge\":{\"rounds\":2}");
	must(p, TH_EV_VERDICT, p->s.answer_seq, "", "{\"round\":1,\"complete\":true,\"score\":1}");
	expect(p, "finish");
	end(p);
}

#define GUARDS                                                                                \
	"\"guardrails\":[{\"name\":\"first\",\"stage\":\"input\",\"blocking\":true},"         \
	"{\"name\":\"beside\",\"stage\":\"input\"},{\"name\":\"last\",\"stage\":\"output\"}," \
	"{\"name\":\"before\",\"stage\":\"tool_input\",\"tools\":[\"x\"]},"                   \
	"{\"name\":\"after\",\"stage\":\"tool_output\"}]"

static void test_guardrails_hold_what_they_look_at(void **unused)
{
	struct play *p = begin(GUARDS);

	(void)unused;
	say(p, "go");
	expect(p, "guard:first");
	assert_int_equal(verdict(p, "beside", "output", false, "", ""), TH_EPROTO);
	assert_int_equal(verdict(p, "first", "input", false, "", ""), TH_OK);
	expect(p, "request guard:beside");
	answer(p, CALL("c1", "x") "," CALL("c2", "y"));
	expect(p, "guard:before"); /* no effect before all guardrails have spoken */
	assert_int_equal(verdict(p, "beside", "input", false, "", ""), TH_OK);
	expect(p, "");
	/* Instead of a run: the model is told something. */
	assert_int_equal(verdict(p, "before", "tool_input", false, ",\"message\":\"no\"", "c1"),
			 TH_OK);
	expect(p, "refuse:c1 run:c2 guard:after");
	assert_true(p->s.calls[0].verbatim);
	assert_int_equal(verdict(p, "after", "tool_output", false, "", "c2"), TH_OK);
	assert_int_equal(verdict(p, "after", "tool_output", false, "", "c2"), TH_EPROTO);
	expect(p, "request");
	answer(p, TEXT("bye"));
	expect(p, "guard:last");
	/* Spoken while the check runs: it is read, not left until the next task. */
	say(p, "wait");
	expect(p, "");
	assert_int_equal(verdict(p, "last", "output", false, "", ""), TH_OK);
	expect(p, "guard:first");
	assert_int_equal(verdict(p, "first", "input", false, "", ""), TH_OK);
	expect(p, "request guard:beside");
	assert_int_equal(verdict(p, "beside", "input", false, "", ""), TH_OK);
	answer(p, TEXT("bye then"));
	expect(p, "guard:last");
	assert_int_equal(verdict(p, "last", "output", true, ",\"message\":\"rude\"", ""), TH_OK);
	expect(p, "fail:output_guardrail");
	assert_string_equal(p->error, "the guardrail last stopped the run: rude");
	assert_int_equal(p->s.final.len, 0);
	assert_int_equal(p->s.state, TH_STATE_FAILED);
	end(p);
}

static void test_a_tripwire_ends_what_is_under_way(void **unused)
{
	struct play *p = begin(GUARDS);
	struct th_effects fx;

	(void)unused;
	say(p, "go");
	go(p);
	assert_int_equal(verdict(p, "first", "input", false, "", ""), TH_OK);
	go(p);
	p->said[0] = '\0';
	assert_int_equal(verdict(p, "beside", "input", true, "", ""), TH_OK);
	/* A crash here: whoever goes on cancels the request, and the guardrail's reason stays. */
	th_session_resume(&p->s, &fx);
	assert_int_equal(fx.list[0].kind, TH_DO_MODEL_CANCEL);
	expect(p, "cancel fail:input_guardrail");
	assert_string_equal(p->error, "the guardrail beside stopped the run");
	say(p, "again");
	expect(p, "guard:first");
	assert_false(p->s.tripped);
	assert_int_equal(verdict(p, "first", "input", false, "", ""), TH_OK);
	go(p);
	p->said[0] = '\0';
	/* Beside calls: what did not begin is refused, and each call has its result. */
	answer(p, CALL("c1", "x") "," CALL("c2", "y"));
	expect(p, "guard:before");
	assert_int_equal(verdict(p, "beside", "input", true, "", ""), TH_OK);
	expect(p, "refuse:c1 refuse:c2 fail:input_guardrail");
	end(p);
}

static void test_output_must_fit(void **unused)
{
	static const char schema[] =
	    "\"output_schema\":{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"string\"}},"
	    "\"required\":[\"x\"]},\"output_retries\":1";
	struct th_buf with = TH_BUF_INIT(TH_KIB);
	struct play *p = begin(schema);

	(void)unused;
	say(p, "go");
	expect(p, "request");
	answer(p, TEXT("{\\\"x\\\":1}"));
	expect(p, "correct request");
	answer(p, TEXT("{\\\"x\\\":\\\"y\\\"}"));
	expect(p, "finish");
	assert_string_equal(p->final, "{\"x\":\"y\"}");
	say(p, "again");
	expect(p, "request");
	answer(p, TEXT("no"));
	expect(p, "correct request");
	answer(p, TEXT("no"));
	expect(p, "fail:output");
	end(p);

	th_buf_printf(&with, "%s,\"instead\":{\"invalid_output\":{\"x\":\"?\"},\"refusal\":\"r\"}",
		      schema);
	p = begin(with.ptr);
	say(p, "go");
	go(p);
	answer(p, TEXT("no"));
	go(p);
	answer(p, TEXT("no"));
	go(p);
	assert_string_equal(p->final, "{\"x\":\"?\"}");
	assert_string_equal(p->instead, "invalid_output");
	say(p, "again");
	go(p);
	answer(p, REFUSAL("never"));
	go(p);
	assert_string_equal(p->final, "r");
	end(p);
	th_buf_deinit(&with);
}

static void test_the_limit_of_turns_may_have_words(void **unused)
{
	struct play *p = begin("\"limits\":{\"turns\":1},\"instead\":{\"max_turns\":{\"output\":"
			       "\"gave up\",\"in_history\":false}}");

	(void)unused;
	say(p, "go");
	expect(p, "request");
	answer(p, CALL("c1", "x"));
	expect(p, "run:c1 finish");
	assert_string_equal(p->final, "gave up");
	assert_false(th_session_member(&p->s)->instead[TH_INSTEAD_MAX_TURNS].in_history);
	end(p);
}

static void test_an_unknown_tool_may_end_the_run(void **unused)
{
	struct play *p = begin("\"unknown_tool\":\"fail\"");

	(void)unused;
	p->unknown = "ghost";
	say(p, "go");
	expect(p, "request");
	answer(p, CALL("c1", "ghost") "," CALL("c2", "x"));
	expect(p, "refuse:c1 refuse:c2 fail:model");
	assert_string_equal(p->error, "because");
	end(p);
}

static void test_a_choice_of_tools_is_free_after_one_was_used(void **unused)
{
	struct play *p = begin("\"reset_tool_choice\":false," TEAM);

	(void)unused;
	say(p, "go");
	go(p);
	assert_true(th_session_tool_choice(&p->s));
	answer(p, CALL("c1", "transfer_to_b"));
	go(p);
	assert_true(th_session_tool_choice(&p->s));
	answer(p, CALL("c2", "x"));
	go(p);
	assert_false(th_session_tool_choice(&p->s)); /* b's */
	end(p);
}

static void test_a_question_about_a_tool_is_not_its_use(void **unused)
{
	struct play *p = begin("\"reset_tool_choice\":true");

	(void)unused;
	say(p, "go");
	go(p);
	answer(p, "{\"type\":\"mcp_approval_request\",\"id\":\"m1\",\"server_label\":\"srv\","
		  "\"name\":\"do\",\"arguments\":\"{}\"}");
	go(p);
	must(p, TH_EV_OUTCOME, p->s.calls[0].call_seq, "m1",
	     "{\"call_id\":\"m1\",\"status\":\"done\",\"output\":\"\"}");
	expect(p, "request request");
	assert_int_equal(p->s.totals.turns, 1);
	assert_true(th_session_tool_choice(&p->s));
	answer(p, CALL("c1", "x"));
	go(p);
	assert_false(th_session_tool_choice(&p->s));
	end(p);
}

static void test_items_come_and_go_between_tasks(void **unused)
{
	struct play *p = begin("\"output_retries\":1");

	(void)unused;
	must(p, TH_EV_ITEMS_ADDED, 0, "",
	     "{\"items\":[{\"role\":\"user\",\"content\":\"old\"},{\"role\":\"assistant\","
	     "\"content\":\"yes\"}]}");
	assert_int_equal(p->s.items, 2);
	assert_int_equal(p->s.state, TH_STATE_IDLE);
	must(p, TH_EV_ITEMS_REMOVED, 0, "", "{\"count\":1}");
	assert_int_equal(p->s.items, 1);
	must(p, TH_EV_ITEMS_ADDED, 0, "",
	     "{\"items\":[{\"role\":\"user\",\"content\":\"go\"}],\"begins\":true}");
	expect(p, "request");
	assert_int_equal(add(p, TH_EV_ITEMS_REMOVED, 0, "", "{\"count\":0}"), TH_EPROTO);
	answer(p, TEXT("done"));
	go(p);
	must(p, TH_EV_ITEMS_REMOVED, 0, "", "{\"count\":0}");
	assert_int_equal(p->s.items, 0);
	end(p);
}

static void refused(const char *agent, const char *part)
{
	struct th_buf data = TH_BUF_INIT(TH_MIB);
	struct th_event ev = { .seq = 1, .kind = TH_EV_SESSION_CREATED, .ts_ms = 1 };
	struct th_session s;
	struct th_effects fx;
	struct th_err err = { 0 };

	th_session_init(&s);
	th_buf_printf(&data, "{\"agent\":{\"name\":\"a\",%s},\"model\":\"m\"}", agent);
	ev.data = th_buf_str(&data);
	assert_int_not_equal(th_session_step(&s, &ev, &fx, &err), TH_OK);
	if (!strstr(err.msg, part))
		fail_msg("\"%s\" is not in \"%s\"", part, err.msg);
	th_session_deinit(&s);
	th_buf_deinit(&data);
}

static void test_wrong_teams_are_refused(void **unused)
{
	struct th_buf many = TH_BUF_INIT(TH_MIB);

	(void)unused;
	refused("\"handoffs\":[\"b\"]", "there is no agent named \"b\"; the agents are a");
	refused("\"handoffs\":[{\"agent\":\"b\",\"tol\":\"x\"}],\"agents\":{\"b\":{}}",
		"unknown member \"tol\"");
	refused("\"handoffs\":[{\"agent\":\"b\",\"parameters\":{\"type\":\"string\"}}],"
		"\"agents\":{\"b\":{}}",
		"parameters must be a JSON Schema of type object");
	refused(
	    "\"handoffs\":[{\"agent\":\"b\",\"filter\":{\"code\":\"f\"}}],\"agents\":{\"b\":{}}",
	    "handoffs: filter is a string");
	refused(
	    "\"handoffs\":[{\"agent\":\"b\",\"enabled\":{\"code\":\"f\"}}],\"agents\":{\"b\":{}}",
	    "handoffs: enabled is true or false");
	refused("\"handoffs\":[\"b\",\"b\"],\"agents\":{\"b\":{}}", "transfer_to_b");
	refused("\"agents\":{\"b\":{\"name\":\"a\"}}", "two agents are named \"a\"");
	refused("\"agents\":{\"b\":{\"agents\":{}}}", "only the first");
	refused("\"tool_use_behavior\":\"stop\"", "tool_use_behavior is");
	refused("\"guardrails\":[{\"name\":\"g\"}]", "stage");
	th_buf_add_cstr(&many, "\"guardrails\":[");
	for (int i = 0; i <= TH_GUARDRAILS_MAX; i++)
		th_buf_printf(&many, "%s{\"name\":\"g%d\",\"stage\":\"input\"}", i ? "," : "", i);
	th_buf_add_cstr(&many, "]");
	refused(many.ptr, "at most 32 guardrails");
	th_buf_clear(&many);
	th_buf_add_cstr(&many, "\"agents\":{");
	for (int i = 1; i <= TH_TEAM_MAX; i++)
		th_buf_printf(&many, "%s\"g%d\":{}", i > 1 ? "," : "", i);
	th_buf_add_cstr(&many, "}");
	refused(many.ptr, "at most 63 agents");
	th_buf_deinit(&many);
}

static void test_a_pause_forgets_no_tripwire(void **unused)
{
	struct play *p = begin(GUARDS);

	(void)unused;
	say(p, "go");
	go(p);
	assert_int_equal(verdict(p, "first", "input", false, "", ""), TH_OK);
	go(p);
	p->said[0] = '\0';
	state(p, "paused");
	expect(p, "cancel");
	assert_int_equal(verdict(p, "beside", "input", true, "", ""), TH_OK);
	expect(p, "");
	state(p, "running");
	expect(p, "fail:input_guardrail");
	assert_int_equal(p->s.state, TH_STATE_FAILED);
	/* Who lets a failed run go on does not speak for its guardrails. */
	state(p, "running");
	expect(p, "guard:first");
	assert_int_equal(verdict(p, "first", "input", false, "", ""), TH_OK);
	expect(p, "request guard:beside");
	assert_int_equal(verdict(p, "beside", "input", true, "", ""), TH_OK);
	expect(p, "cancel fail:input_guardrail");
	end(p);
}

static void test_a_failed_handoff_is_tried_by_the_next_task(void **unused)
{
	struct play *p = begin(TEAM);

	(void)unused;
	p->holds = true;
	say(p, "go");
	expect(p, "request");
	answer(p, CALL("c1", "transfer_to_b"));
	expect(p, "hand_over:c1");
	must(p, TH_EV_ERROR, 0, "", "{\"class\":\"code\",\"message\":\"its filter failed\"}");
	expect(p, "");
	p->holds = false;
	say(p, "again");
	expect(p, "hand_over:c1 request");
	end(p);
}

/* As a fork is taken up. */
static void fork_here(struct play *p)
{
	must(p, TH_EV_SESSION_FORKED, 0, "", "{\"parent\":\"x\",\"seq\":1}");
	p->from = p->to = 0;
	th_session_resume(&p->s, &p->queue[p->to++]);
}

static void test_a_fork_within_a_handoff(void **unused)
{
	static const char *const behaviours[] = { "", "\"tool_use_behavior\":{\"code\":\"f\"}," };

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(behaviours); i++) {
		char agent[256];
		struct play *p;

		snprintf(agent, sizeof(agent), "%s" TEAM, behaviours[i]);
		p = begin(agent);
		p->holds = true;
		say(p, "go");
		go(p);
		answer(p, CALL("c1", "transfer_to_b"));
		go(p);
		p->holds = false;
		must(p, TH_EV_OUTCOME, p->s.calls[0].call_seq, "c1",
		     "{\"call_id\":\"c1\",\"status\":\"done\",\"output\":\"over\"}");
		p->said[0] = '\0';
		fork_here(p);
		/* Stopped in the midst of it, it goes on from there. */
		p->holds = true;
		expect(p, "hand_over:c1");
		state(p, i ? "paused" : "stopped");
		expect(p, "");
		p->holds = false;
		state(p, "running");
		expect(p, "hand_over:c1 request");
		assert_int_equal(p->s.agent, 1);
		end(p);
	}
}

static void test_a_fork_behind_a_tripwire(void **unused)
{
	struct play *p = begin(GUARDS);

	(void)unused;
	say(p, "go");
	go(p);
	assert_int_equal(verdict(p, "first", "input", false, "", ""), TH_OK);
	go(p);
	assert_int_equal(verdict(p, "beside", "input", true, "", ""), TH_OK);
	p->said[0] = '\0';
	fork_here(p);
	expect(p, "fail:input_guardrail");
	end(p);
}

static void test_a_log_that_asks_again(void **unused)
{
	static const char request[] = "{\"model\":\"m\",\"turn\":2,\"attempt\":1}";
	struct play *p = begin(GUARDS);

	(void)unused;
	say(p, "go");
	go(p);
	assert_int_equal(verdict(p, "first", "input", false, "", ""), TH_OK);
	go(p);
	assert_int_equal(verdict(p, "beside", "input", false, "", ""), TH_OK);
	/* Earlier builds asked again after reasoning alone. */
	answer(p, "{\"type\":\"reasoning\",\"summary\":[]}");
	must(p, TH_EV_MODEL_REQUESTED, p->s.seq, "", request);
	assert_int_equal(p->s.phase, TH_TURN_REQUESTED);
	assert_int_equal(p->s.guards_out, 0);
	/* But none after a text. */
	answer(p, TEXT("done"));
	assert_int_equal(p->s.phase, TH_TURN_CHECK);
	assert_int_equal(add(p, TH_EV_MODEL_REQUESTED, p->s.seq, "", request), TH_EDIVERGED);
	assert_non_null(strstr(p->err.msg, "the final output first"));
	end(p);
}

#define LOOKS                                                                         \
	"\"guardrails\":[{\"name\":\"first\",\"stage\":\"input\",\"blocking\":true}," \
	"{\"name\":\"beside\",\"stage\":\"input\"}]"

static void lets_in(struct play *p, const char *name, uint64_t after)
{
	char more[32] = "";

	if (after)
		snprintf(more, sizeof(more), ",\"after\":%llu", (unsigned long long)after);
	if (verdict(p, name, "input", false, more, ""))
		fail_msg("%s", p->err.msg);
}

static void both_let_in(struct play *p, uint64_t after)
{
	expect(p, "guard:first");
	lets_in(p, "first", after);
	expect(p, "request guard:beside");
	lets_in(p, "beside", after);
	expect(p, "");
}

/* Whenever a request is next, and as at the beginning of a task. */
static void test_what_is_said_in_a_run_is_looked_at(void **unused)
{
	struct play *p = begin(LOOKS);
	uint64_t said, began;

	(void)unused;
	say(p, "go");
	began = p->s.seq;
	both_let_in(p, 0);
	say(p, "and this");
	say(p, "and that");
	said = p->s.seq;
	expect(p, "");
	answer(p, CALL("c1", "x"));
	expect(p, "run:c1 guard:first"); /* the answer has not read it */
	assert_int_equal(p->s.guard_from, began);
	assert_int_equal(p->s.guard_to, said);
	assert_int_equal(verdict(p, "first", "input", false, ",\"after\":1", ""), TH_EPROTO);
	lets_in(p, "first", began);
	expect(p, "request guard:beside");
	answer(p, CALL("c2", "x"));
	expect(p, ""); /* this one has */
	lets_in(p, "beside", began);
	expect(p, "run:c2 request");
	/* Once is enough. */
	answer(p, CALL("c3", "x"));
	expect(p, "run:c3 request");
	/* Instead of an end. */
	say(p, "more");
	answer(p, TEXT("done"));
	both_let_in(p, said);
	answer(p, TEXT("done then"));
	expect(p, "finish");
	end(p);
}

/* One look ends before the next begins, and the request waits for both. */
static void test_what_is_said_while_they_look(void **unused)
{
	struct play *p = begin(LOOKS);
	uint64_t began;

	(void)unused;
	say(p, "go");
	began = p->s.seq;
	expect(p, "guard:first");
	say(p, "and this");
	expect(p, "");
	lets_in(p, "first", 0);
	expect(p, "guard:beside"); /* and no request, which would send both */
	assert_true(th_session_unseen(&p->s));
	lets_in(p, "beside", 0);
	both_let_in(p, began);
	assert_false(th_session_unseen(&p->s));
	end(p);
}

static void test_a_tripwire_in_the_midst(void **unused)
{
	struct play *p = begin(LOOKS);
	uint64_t said, tripped;

	(void)unused;
	say(p, "go");
	both_let_in(p, 0);
	answer(p, CALL("c1", "x"));
	expect(p, "run:c1 request");
	say(p, "a secret");
	said = p->s.seq;
	answer(p, CALL("c2", "x"));
	expect(p, "run:c2 guard:first");
	lets_in(p, "first", p->s.task_seq);
	expect(p, "request guard:beside");
	answer(p, CALL("c3", "x"));
	assert_int_equal(verdict(p, "beside", "input", true, "", ""), TH_OK);
	tripped = p->s.seq;
	expect(p, "refuse:c3 fail:input_guardrail");
	assert_int_equal(p->s.rewritten_seq, tripped);
	/* Who lets it go on answers for neither. */
	state(p, "running");
	expect(p, "guard:first");
	lets_in(p, "first", 0);
	expect(p, "guard:beside");
	lets_in(p, "beside", 0);
	both_let_in(p, p->s.task_seq);
	assert_int_equal(p->s.guard_to, said);
	end(p);
}

/* While a retry waits they look already; the timer is no event. */
static void test_what_is_said_before_another_try(void **unused)
{
	struct play *p = begin(LOOKS);

	(void)unused;
	say(p, "go");
	both_let_in(p, 0);
	must(p, TH_EV_MODEL_FAILED, p->s.request_seq, "",
	     "{\"class\":\"overloaded\",\"message\":\"busy\",\"retry\":true,\"retry_in_ms\":5}");
	say(p, "and this");
	expect(p, "guard:first");
	th_session_wake(&p->s, &p->queue[p->to++]);
	expect(p, "");
	lets_in(p, "first", p->s.task_seq);
	expect(p, "request guard:beside");
	end(p);
}

/* What an earlier task left without a verdict is read by the next one, and so looked at. */
static void test_what_was_left_is_looked_at(void **unused)
{
	struct play *p = begin(LOOKS);
	uint64_t said;

	(void)unused;
	say(p, "go");
	said = p->s.seq;
	expect(p, "guard:first");
	state(p, "stopped");
	say(p, "again");
	both_let_in(p, said - 1);
	assert_int_equal(p->s.guard_from, said - 1);
	said = p->s.guard_to;
	say(p, "unread");
	state(p, "stopped");
	go(p);
	p->said[0] = '\0';
	say(p, "and again");
	both_let_in(p, said);
	assert_int_equal(p->s.guard_from, said);
	assert_int_equal(p->s.guard_to, p->s.task_seq);
	end(p);
}

/* The agent that is about to read it has it looked at. */
static void test_who_looks_is_who_reads(void **unused)
{
	struct play *p = begin("\"handoffs\":[\"b\"],\"agents\":{\"b\":{" LOOKS
			       ",\"output_schema\":{\"type\":\"string\"},\"output_retries\":1}}");
	uint64_t said;

	(void)unused;
	say(p, "go");
	expect(p, "request");
	say(p, "and this");
	said = p->s.seq;
	answer(p, CALL("c1", "x"));
	expect(p, "run:c1 request"); /* a has nobody who looks */
	say(p, "and that");
	said = p->s.seq;
	answer(p, CALL("c2", "transfer_to_b"));
	expect(p, "hand_over:c2 guard:first");
	assert_int_equal(p->s.guard_agent, 1);
	assert_int_equal(p->s.task_agent, 0);
	assert_int_equal(p->s.guard_to, said);
	lets_in(p, "first", p->s.guard_from);
	expect(p, "request guard:beside");
	lets_in(p, "beside", p->s.guard_from);
	/* The runtime's own words need no guardrail. */
	answer(p, TEXT("no JSON"));
	expect(p, "correct request");
	end(p);
}

/* A request that fetches an answer sends nothing: who sends what was said has it looked at. */
static void test_who_fetches_sends_nothing(void **unused)
{
	static const char *const agents[] = {
		"\"handoffs\":[\"b\"],\"agents\":{\"b\":{" LOOKS "}}",
		LOOKS ",\"handoffs\":[\"b\"],\"agents\":{\"b\":{}}",
	};

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(agents); i++) {
		struct play *p = begin(agents[i]);

		say(p, "go");
		if (i)
			both_let_in(p, 0);
		else
			expect(p, "request");
		must(p, TH_EV_MODEL_STARTED, p->s.request_seq, "", "{\"response_id\":\"r\"}");
		say(p, "and this");
		must(p, TH_EV_MODEL_FAILED, p->s.request_seq, "",
		     "{\"class\":\"cut\",\"message\":\"cut\",\"retry\":true,\"retry_in_ms\":5,"
		     "\"kept\":true}");
		expect(p, "");
		th_session_wake(&p->s, &p->queue[p->to++]);
		expect(p, "request");
		answer(p, i ? CALL("c1", "x") : CALL("c1", "transfer_to_b"));
		expect(p, i ? "run:c1 guard:first" : "hand_over:c1 guard:first");
		assert_int_equal(p->s.guard_agent, i ? 0 : 1);
		assert_int_equal(p->s.guard_to, p->s.said_seq);
		end(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first_handoff_wins_after_all_calls),
		cmocka_unit_test(test_an_approval_goes_before_a_handoff),
		cmocka_unit_test(test_edges_of_what_is_approved_for_good),
		cmocka_unit_test(test_edges_of_what_ends_a_run),
		cmocka_unit_test(test_edges_of_a_history),
		cmocka_unit_test(test_what_a_tool_says_may_be_the_end),
		cmocka_unit_test(test_what_was_turned_down_was_the_end),
		cmocka_unit_test(test_guardrails_hold_what_they_look_at),
		cmocka_unit_test(test_a_tripwire_ends_what_is_under_way),
		cmocka_unit_test(test_what_is_said_in_a_run_is_looked_at),
		cmocka_unit_test(test_what_is_said_while_they_look),
		cmocka_unit_test(test_a_tripwire_in_the_midst),
		cmocka_unit_test(test_what_is_said_before_another_try),
		cmocka_unit_test(test_what_was_left_is_looked_at),
		cmocka_unit_test(test_who_looks_is_who_reads),
		cmocka_unit_test(test_who_fetches_sends_nothing),
		cmocka_unit_test(test_output_must_fit),
		cmocka_unit_test(test_the_limit_of_turns_may_have_words),
		cmocka_unit_test(test_an_unknown_tool_may_end_the_run),
		cmocka_unit_test(test_a_choice_of_tools_is_free_after_one_was_used),
		cmocka_unit_test(test_a_question_about_a_tool_is_not_its_use),
		cmocka_unit_test(test_items_come_and_go_between_tasks),
		cmocka_unit_test(test_a_pause_forgets_no_tripwire),
		cmocka_unit_test(test_a_failed_handoff_is_tried_by_the_next_task),
		cmocka_unit_test(test_a_fork_within_a_handoff),
		cmocka_unit_test(test_a_fork_behind_a_tripwire),
		cmocka_unit_test(test_a_log_that_asks_again),
		cmocka_unit_test(test_wrong_teams_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
