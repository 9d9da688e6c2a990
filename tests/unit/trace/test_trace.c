/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace.c - logs as trees of spans, and what they cost. */
#include "unit.h"

#include <stdio.h>

#include "trace/trace.h"

static struct th_trace trace;
static uint64_t seq;

static void event(enum th_event_kind kind, int64_t ts_ms, const char *data)
{
	const struct th_event ev = {
		.seq = ++seq, .ts_ms = ts_ms, .kind = kind, .data = th_str_of(data)
	};

	th_trace_event(&trace, &ev);
}

static void draw_span(size_t index, int depth, struct th_buf *out)
{
	const struct th_span *s = &trace.spans[index];

	th_buf_printf(out, "%*s%s%s%.*s %lld-%lld%s%.*s%s\n", 2 * depth, "", th_span_name(s->kind),
		      s->name.len ? " " : "", TH_FMT(s->name), (long long)s->start_ms,
		      (long long)s->end_ms, s->status.len ? " " : "", TH_FMT(s->status),
		      s->failed ? "!" : "");
	for (size_t i = s->first_child; i != TH_SPAN_NONE; i = trace.spans[i].next)
		draw_span(i, depth + 1, out);
}

static void is(const char *wanted)
{
	struct th_buf out = TH_BUF_INIT(TH_MIB);

	for (size_t i = 0; i < trace.count; i++)
		if (trace.spans[i].parent == TH_SPAN_NONE)
			draw_span(i, 0, &out);
	if (strcmp(out.ptr, wanted) != 0)
		fail_msg("\n%s\nnot\n%s", out.ptr, wanted);
	th_buf_deinit(&out);
}

/* A team, tools at the same time, an approval, a handoff, a failed try, and a second task. */
static void whole(void)
{
	event(TH_EV_SESSION_CREATED, 0, "{\"agent\":{\"name\":\"clerk\"},\"model\":\"m\"}");
	event(TH_EV_MESSAGE, 10, "{\"role\":\"user\",\"content\":\"x\"}");
	event(TH_EV_GUARDRAIL, 12, "{\"name\":\"in\",\"stage\":\"input\",\"tripped\":false}");
	event(TH_EV_MODEL_REQUESTED, 20, "{\"model\":\"big\",\"turn\":1,\"attempt\":1}");
	event(TH_EV_MODEL_FAILED, 30,
	      "{\"class\":\"overloaded\",\"message\":\"busy\",\"retry\":true}");
	event(TH_EV_MODEL_REQUESTED, 40, "{\"model\":\"big\",\"turn\":1,\"attempt\":2}");
	event(TH_EV_MODEL_ANSWERED, 50,
	      "{\"status\":\"completed\",\"items\":[],\"usage\":{\"input\":100,\"output\":20,"
	      "\"cached\":40},\"cost_nano\":5000000}");
	event(TH_EV_CALL, 51, "{\"call_id\":\"a\",\"tool\":\"shell\",\"class\":\"W\"}");
	event(TH_EV_CALL, 52, "{\"call_id\":\"b\",\"tool\":\"read_file\",\"class\":\"R\"}");
	event(TH_EV_APPROVAL_REQUESTED, 53, "{\"call_id\":\"a\"}");
	event(TH_EV_OUTCOME, 60, "{\"call_id\":\"b\",\"status\":\"done\"}");
	event(TH_EV_APPROVAL_DECIDED, 70, "{\"call_id\":\"a\",\"approve\":true}");
	event(TH_EV_OUTCOME, 80, "{\"call_id\":\"a\",\"status\":\"unknown\"}");
	event(TH_EV_MODEL_REQUESTED, 81, "{\"model\":\"big\",\"turn\":2,\"attempt\":1}");
	event(TH_EV_MODEL_ANSWERED, 90,
	      "{\"status\":\"completed\",\"items\":[],\"usage\":{\"input\":1,\"output\":2}}");
	event(TH_EV_CALL, 91, "{\"call_id\":\"h\",\"tool\":\"transfer\",\"class\":\"L\"}");
	event(TH_EV_HANDOFF, 92, "{\"from\":\"clerk\",\"to\":\"boss\",\"call_id\":\"h\"}");
	event(TH_EV_OUTCOME, 93, "{\"call_id\":\"h\",\"status\":\"done\"}");
	event(TH_EV_MODEL_REQUESTED, 94,
	      "{\"model\":\"small\",\"turn\":3,\"attempt\":1,\"agent\":\"boss\"}");
	event(TH_EV_MODEL_ANSWERED, 99, "{\"status\":\"completed\",\"items\":[],\"cost_nano\":7}");
	event(TH_EV_FINAL, 100, "{\"output\":\"y\"}");
}

static struct th_str long_name(struct th_buf *out, size_t len)
{
	th_buf_clear(out);
	for (size_t i = 0; i < len; i++)
		th_buf_add_char(out, 'n');
	return th_buf_str(out);
}

/* Names are cut, and a call whose id was cut still finds its outcome. */
static void edges_of_texts(void **state)
{
	struct th_buf text = TH_BUF_INIT(TH_KIB), data = TH_BUF_INIT(4 * TH_KIB);

	(void)state;
	for (size_t more = 0; more < 2; more++) {
		struct th_str name = long_name(&text, TH_TRACE_TEXT_MAX + more);

		th_trace_deinit(&trace);
		th_trace_init(&trace);
		seq = 0;
		event(TH_EV_SESSION_CREATED, 0, "{\"agent\":{\"name\":\"a\"},\"model\":\"m\"}");
		event(TH_EV_MESSAGE, 10, "{\"role\":\"user\",\"content\":\"x\"}");
		event(TH_EV_MODEL_REQUESTED, 40, "{\"model\":\"m\",\"turn\":1,\"attempt\":1}");
		event(TH_EV_MODEL_ANSWERED, 50, "{\"status\":\"completed\",\"items\":[]}");
		th_buf_clear(&data);
		th_buf_printf(&data, "{\"call_id\":\"%.*s\",\"tool\":\"%.*s\",\"class\":\"W\"}",
			      TH_FMT(name), TH_FMT(name));
		event(TH_EV_CALL, 51, data.ptr);
		th_buf_clear(&data);
		th_buf_printf(&data, "{\"call_id\":\"%.*s\",\"status\":\"done\"}", TH_FMT(name));
		event(TH_EV_OUTCOME, 60, data.ptr);
		assert_int_equal(trace.spans[trace.count - 1].name.len, TH_TRACE_TEXT_MAX);
		assert_int_equal(trace.spans[trace.count - 1].end_ms, 60);
	}
	th_buf_deinit(&text);
	th_buf_deinit(&data);
}

static void a_guardrail_says_what_it_did(void **state)
{
	static const char *const said[][2] = {
		{ "{\"name\":\"g\",\"tripped\":false,\"call_id\":\"a\"}", "passed" },
		{ "{\"name\":\"g\",\"tripped\":false,\"call_id\":\"a\",\"message\":\"no\"}",
		  "replaced" },
		{ "{\"name\":\"g\",\"tripped\":true,\"call_id\":\"a\",\"message\":\"no\"}",
		  "tripped" },
	};

	(void)state;
	whole();
	for (size_t i = 0; i < TH_COUNT(said); i++) {
		event(TH_EV_GUARDRAIL, 101, said[i][0]);
		assert_true(th_str_is(trace.spans[trace.count - 1].status, said[i][1]));
		assert_int_equal(trace.spans[trace.count - 1].failed, i == 2);
	}
}

static void a_tree(void **state)
{
	struct th_trace_sum sum;

	(void)state;
	whole();
	is("task 10-100 final\n"
	   "  guardrail in 12-12 passed\n"
	   "  agent clerk 20-94\n"
	   "    turn 20-81\n"
	   "      model big 20-30 overloaded!\n"
	   "      model big 40-50 completed\n"
	   "      tool shell 51-80 unknown!\n"
	   "        approval 53-70 approved\n"
	   "      tool read_file 52-60 done\n"
	   "    turn 81-94\n"
	   "      model big 81-90 completed\n"
	   "      tool transfer 91-93 done\n"
	   "        handoff boss 92-92\n"
	   "  agent boss 94-100\n"
	   "    turn 94-100\n"
	   "      model small 94-99 completed\n");
	sum = th_trace_sum(&trace, 0);
	assert_int_equal(sum.requests, 4);
	assert_int_equal(sum.calls, 3);
	assert_int_equal(sum.tokens_in, 101);
	assert_int_equal(sum.tokens_out, 22);
	assert_int_equal(sum.cost_nano, 5000007);
	assert_true(sum.cost_unknown); /* of the second turn */
}

static void ends(void **state)
{
	(void)state;
	event(TH_EV_MESSAGE, 10, "{}");
	event(TH_EV_MODEL_REQUESTED, 20, "{\"model\":\"m\",\"turn\":1,\"attempt\":1}");
	is("task 10-0\n  agent 20-0\n    turn 20-0\n      model m 20-0\n");
	/* The process died, and the turn is asked for again; then somebody stops it. */
	event(TH_EV_MODEL_REQUESTED, 30, "{\"model\":\"m\",\"turn\":1,\"attempt\":2}");
	event(TH_EV_STATE_CHANGED, 35, "{\"to\":\"paused\"}");
	event(TH_EV_MESSAGE, 36, "{}");
	event(TH_EV_STATE_CHANGED, 40, "{\"to\":\"stopped\",\"reason\":\"enough\"}");
	event(TH_EV_MESSAGE, 50, "{}");
	event(TH_EV_ERROR, 45, "{\"class\":\"x\",\"message\":\"y\"}"); /* the clock was set back */
	is("task 10-40 stopped!\n  agent 20-40\n    turn 20-40\n      model m 20-30\n"
	   "      model m 30-40\ntask 50-50 failed!\n");
}

/* Any events in any order: never more than is there. */
static void nonsense(void **state)
{
	static const char *const data[] = {
		"{}",
		"[]",
		"x",
		"{\"call_id\":\"a\",\"attempt\":3}",
		"{\"agent\":7,\"usage\":[]}",
		"{\"call_id\":\"a\",\"usage\":{\"input\":-5,\"output\":9223372036854775807}}",
	};
	uint32_t dice = 1;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		dice = dice * 1664525 + 1013904223;
		event((enum th_event_kind)(dice >> 16) % TH_EVENT_COUNT, (int64_t)(dice >> 20),
		      data[(dice >> 8) % TH_COUNT(data)]);
	}
	for (size_t i = 0; i < trace.count; i++) {
		assert_true(trace.spans[i].parent == TH_SPAN_NONE || trace.spans[i].parent < i);
		(void)th_trace_sum(&trace, i);
	}
}

static void as_otlp(void **state)
{
	struct th_buf out = TH_BUF_INIT(TH_TRACE_BODY_MAX), again = TH_BUF_INIT(TH_TRACE_BODY_MAX);
	struct th_json_doc *doc;
	const struct th_json *spans, *root, *model;

	(void)state;
	assert_int_equal(th_trace_otlp(&trace, TH_STR("s"), NULL, 0, TH_STR("1"), &out), 0);
	assert_int_equal(out.len, 0);
	whole();
	event(TH_EV_MESSAGE, 110, "{}");
	assert_int_equal(th_trace_otlp(&trace, TH_STR("s"), NULL, 0, TH_STR("1"), &out), 16);
	assert_int_equal(th_json_parse(th_buf_str(&out), &doc, NULL), TH_OK);
	spans = th_json_at(th_json_get(th_json_root(doc), "resourceSpans"), 0);
	spans = th_json_get(th_json_at(th_json_get(spans, "scopeSpans"), 0), "spans");
	assert_int_equal(th_json_count(spans), 16);
	root = th_json_at(spans, 0);
	assert_int_equal(th_json_get_str(root, "traceId").len, 32);
	assert_int_equal(th_json_get_str(root, "spanId").len, 16);
	assert_null(th_json_get(root, "parentSpanId"));
	assert_true(th_str_is(th_json_get_str(root, "startTimeUnixNano"), "10000000"));
	model = th_json_at(spans, 4);
	assert_true(th_str_is(th_json_get_str(model, "name"), "model big"));
	assert_int_equal(th_json_get_int(th_json_get(model, "status"), "code", 0), 2);
	assert_true(th_str_eq(th_json_get_str(model, "traceId"), th_json_get_str(root, "traceId")));
	/* Each id once, each parent there. */
	for (size_t i = 0; i < 16; i++) {
		struct th_str id = th_json_get_str(th_json_at(spans, i), "spanId");
		struct th_str parent = th_json_get_str(th_json_at(spans, i), "parentSpanId");
		bool found = parent.len == 0;

		for (size_t j = 0; j < i; j++) {
			struct th_str other = th_json_get_str(th_json_at(spans, j), "spanId");

			assert_false(th_str_eq(id, other));
			found |= th_str_eq(parent, other);
		}
		assert_true(found);
	}
	/* The same whenever it is made; only of what began later. */
	th_trace_otlp(&trace, TH_STR("s"), NULL, 0, TH_STR("1"), &again);
	assert_true(th_str_eq(th_buf_str(&out), th_buf_str(&again)));
	assert_int_equal(th_trace_otlp(&trace, TH_STR("s"), NULL, 3, TH_STR("1"), &again), 0);
	th_json_free(doc);
	th_buf_deinit(&out);
	th_buf_deinit(&again);
}

/* A session that works on a call: inside that call's span, in its trace. */
static void works_for_another(void **state)
{
	struct th_buf out = TH_BUF_INIT(TH_TRACE_BODY_MAX), text = TH_BUF_INIT(TH_KIB);
	struct th_trace_origin origin, below, read;
	struct th_json_doc *doc;
	const struct th_json *spans, *root, *tool = NULL;
	struct th_jw w = th_jw(&text);

	(void)state;
	whole();
	/* Its own ids are those of its spans in the export. */
	assert_true(th_trace_otlp(&trace, TH_STR("s"), NULL, 0, TH_STR("1"), &out) > 0);
	assert_int_equal(th_json_parse(th_buf_str(&out), &doc, NULL), TH_OK);
	spans = th_json_at(th_json_get(th_json_root(doc), "resourceSpans"), 0);
	spans = th_json_get(th_json_at(th_json_get(spans, "scopeSpans"), 0), "spans");
	for (size_t i = 0; i < trace.count && !tool; i++)
		if (trace.spans[i].kind == TH_SPAN_TOOL) {
			tool = th_json_at(spans, i);
			th_trace_origin(TH_STR("s"), NULL, (uint64_t)trace.spans[0].number,
					trace.spans[i].seq, &origin);
		}
	assert_non_null(tool);
	assert_true(th_str_is(th_json_get_str(tool, "traceId"), origin.trace_id));
	assert_true(th_str_is(th_json_get_str(tool, "spanId"), origin.span_id));
	th_json_free(doc);
	/* Written and read. */
	th_jw_object(&w);
	th_trace_origin_print(&origin, &w);
	th_jw_object_end(&w);
	assert_true(th_trace_origin_read(th_buf_str(&text), &read));
	assert_memory_equal(&read, &origin, sizeof(read));
	assert_false(th_trace_origin_read(TH_STR("{}"), &read));
	text.ptr[text.len - 3] = '\n';
	assert_false(th_trace_origin_read(th_buf_str(&text), &read));
	/* Its export, and that of one that works for it in turn. */
	th_buf_clear(&out);
	assert_true(th_trace_otlp(&trace, TH_STR("s.6"), &origin, 0, TH_STR("1"), &out) > 0);
	assert_int_equal(th_json_parse(th_buf_str(&out), &doc, NULL), TH_OK);
	spans = th_json_at(th_json_get(th_json_root(doc), "resourceSpans"), 0);
	spans = th_json_get(th_json_at(th_json_get(spans, "scopeSpans"), 0), "spans");
	root = th_json_at(spans, 0);
	assert_true(th_str_is(th_json_get_str(root, "traceId"), origin.trace_id));
	assert_true(th_str_is(th_json_get_str(root, "parentSpanId"), origin.span_id));
	assert_false(th_str_is(th_json_get_str(root, "spanId"), origin.span_id));
	th_trace_origin(TH_STR("s.6"), &origin, 2, 5, &below);
	assert_string_equal(below.trace_id, origin.trace_id);
	assert_string_not_equal(below.span_id, origin.span_id);
	th_json_free(doc);
	th_buf_deinit(&out);
	th_buf_deinit(&text);
}

/* The call has its result when the task begins; its span ends with the task, and costs what that
 * did. An id is used again when a task goes on. */
static void in_the_background(void **state)
{
	(void)state;
	event(TH_EV_MESSAGE, 1, "{\"role\":\"user\",\"content\":\"x\"}");
	event(TH_EV_MODEL_REQUESTED, 2, "{\"model\":\"m\",\"turn\":1,\"attempt\":1}");
	event(TH_EV_MODEL_ANSWERED, 3, "{\"status\":\"completed\",\"items\":[]}");
	event(TH_EV_CALL, 4, "{\"call_id\":\"a\",\"tool\":\"task\",\"class\":\"K\"}");
	event(TH_EV_DELEGATION_STARTED, 5,
	      "{\"call_id\":\"a\",\"child\":\"s.1\",\"background\":true}");
	event(TH_EV_OUTCOME, 6, "{\"call_id\":\"a\",\"status\":\"done\"}");
	event(TH_EV_MODEL_REQUESTED, 7, "{\"model\":\"m\",\"turn\":2,\"attempt\":1}");
	event(TH_EV_MODEL_ANSWERED, 8, "{\"status\":\"completed\",\"items\":[]}");
	event(TH_EV_CALL, 9, "{\"call_id\":\"a\",\"tool\":\"think\",\"class\":\"L\"}");
	event(TH_EV_DELEGATION_FINISHED, 20,
	      "{\"call_id\":\"a\",\"child\":\"s.1\",\"usage\":{\"input\":7,\"output\":2},"
	      "\"cost_nano\":11}");
	event(TH_EV_OUTCOME, 21, "{\"call_id\":\"a\",\"status\":\"done\"}");
	event(TH_EV_DELEGATION_FINISHED, 22, "{\"call_id\":\"a\",\"child\":\"s.1\"}");
	event(TH_EV_FINAL, 30, "{\"output\":\"y\"}");
	is("task 1-30 final\n"
	   "  agent 2-30\n"
	   "    turn 2-7\n"
	   "      model m 2-3 completed\n"
	   "      tool task 4-20 done\n"
	   "    turn 7-30\n"
	   "      model m 7-8 completed\n"
	   "      tool think 9-21 done\n");
	for (size_t i = 0; i < trace.count; i++) {
		bool task = th_str_is(trace.spans[i].name, "task");

		if (trace.spans[i].kind != TH_SPAN_TOOL)
			continue;
		assert_int_equal(trace.spans[i].cost_nano, task ? 11 : 0);
		assert_int_equal(trace.spans[i].tokens_in, task ? 7 : 0);
	}
}

static void full(void **state)
{
	(void)state;
	event(TH_EV_MESSAGE, 1, "{}");
	for (size_t i = 0; i < TH_TRACE_SPANS_MAX - 1; i++)
		event(TH_EV_GUARDRAIL, 2, "{\"name\":\"g\"}");
	assert_false(trace.full);
	event(TH_EV_GUARDRAIL, 3, "{\"name\":\"g\"}");
	event(TH_EV_MODEL_REQUESTED, 3, "{\"model\":\"m\",\"turn\":1,\"attempt\":1}");
	event(TH_EV_CALL, 3, "{\"call_id\":\"a\",\"tool\":\"t\"}");
	event(TH_EV_OUTCOME, 3, "{\"call_id\":\"a\",\"status\":\"done\"}");
	assert_true(trace.full);
	assert_int_equal(trace.count, TH_TRACE_SPANS_MAX);
}

static int set_up(void **state)
{
	(void)state;
	seq = 0;
	th_trace_init(&trace);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	th_trace_deinit(&trace);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_tree),
		TEST(a_guardrail_says_what_it_did),
		TEST(ends),
		TEST(nonsense),
		TEST(as_otlp),
		TEST(works_for_another),
		TEST(full),
		TEST(edges_of_texts),
		TEST(in_the_background),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
