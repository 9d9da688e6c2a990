/* SPDX-License-Identifier: Apache-2.0 */
/* Events of ours told as those of OpenHands: what a model or a client made unusual. */
#include "unit.h"

#include <stdio.h>

#include "base/limits.h"
#include "base/text.h"
#include "forms/openhands_write.h"

struct told {
	struct th_openhands_log log;
	struct th_openhands_writer writer;
	struct th_trajectory_out out;
	struct th_err err;
	uint64_t seq;
};

static void told_init(struct told *t, enum th_openhands v, bool has_tools)
{
	*t = (struct told){ 0 };
	th_openhands_log_init(&t->log, v);
	th_openhands_writer_init(&t->writer, &t->log, &t->out);
	t->writer.has_tools = has_tools;
}

static void told_deinit(struct told *t)
{
	th_openhands_writer_deinit(&t->writer);
	th_openhands_log_deinit(&t->log);
}

static enum th_code take(struct told *t, enum th_event_kind kind, const char *data)
{
	struct th_event ev = { .seq = ++t->seq, .kind = kind, .data = th_str_of(data) };

	ev.id.bytes[0] = (uint8_t)t->seq;
	ev.id.bytes[1] = (uint8_t)(t->seq >> 8);
	return th_openhands_write(&t->writer, &ev, &t->err);
}

static void add(struct told *t, enum th_event_kind kind, const char *data)
{
	if (take(t, kind, data) != TH_OK)
		fail_msg("%s: %s", data, t->err.msg);
}

/* The last but `back` of theirs; free it. */
static struct th_json_doc *last(const struct told *t, size_t back)
{
	struct th_json_doc *doc = NULL;

	assert_int_equal(th_json_parse(t->log.list[t->log.count - 1 - back].text, &doc, NULL),
			 TH_OK);
	return doc;
}

static void last_is(const struct told *t, size_t back, const char *member, const char *want)
{
	struct th_json_doc *doc = last(t, back);
	struct th_str text = th_json_get_str(th_json_root(doc), member);

	if (!th_str_is(text, want))
		fail_msg("%s is \"%.*s\", not \"%s\"", member, TH_FMT(text), want);
	th_json_free(doc);
}

/* Whatever a model wrote in place of an object: the call is told without an action, as OpenHands
 * tells one that it cannot read, and its text stays. */
static void arguments_that_are_no_object(void **state)
{
	static const char *const arguments[] = { "\"text\"", "[1]", "7", "null", "true", "\"{\"" };
	static const char *const tools[] = { "finish", "think", "bash" };

	(void)state;
	for (size_t i = 0; i < TH_COUNT(arguments) * TH_COUNT(tools); i++) {
		const char *tool = tools[i % TH_COUNT(tools)];
		const char *text = arguments[i / TH_COUNT(tools)];
		struct th_json_doc *doc;
		struct told t;
		char data[256];

		snprintf(data, sizeof(data), "{\"call_id\":\"c\",\"tool\":\"%s\",\"arguments\":%s}",
			 tool, text);
		told_init(&t, TH_OPENHANDS_V1, false);
		add(&t, TH_EV_CALL, data);
		doc = last(&t, 0);
		assert_null(th_json_get(th_json_root(doc), "action"));
		assert_true(th_str_is(
		    th_json_get_str(th_json_get(th_json_root(doc), "tool_call"), "arguments"),
		    text));
		th_json_free(doc);
		add(&t, TH_EV_OUTCOME, "{\"call_id\":\"c\",\"status\":\"done\",\"output\":\"x\"}");
		last_is(&t, 0, "kind", "AgentErrorEvent");
		told_deinit(&t);
		told_init(&t, TH_OPENHANDS_V0, false);
		add(&t, TH_EV_CALL, data);
		add(&t, TH_EV_OUTCOME, "{\"call_id\":\"c\",\"status\":\"done\",\"output\":\"x\"}");
		last_is(&t, 0, "observation", "mcp");
		told_deinit(&t);
	}
}

/* What a tool refused when it had looked is its result; a call that it could not read has no
 * action, nor has one that nobody began. */
static void what_a_tool_refused(void **state)
{
	static const struct {
		const char *outcome, *kind;
		bool acted;
	} cases[] = {
		{ "\"effect_id\":\"e\",\"status\":\"refused\",\"output\":\"error: outside\"",
		  "ObservationEvent", true },
		{ "\"effect_id\":\"e\",\"status\":\"refused\",\"output\":\"error: arguments of "
		  "finish: message: is missing\"",
		  "AgentErrorEvent", false },
		{ "\"status\":\"refused\",\"output\":\"error: Not done\"", "AgentErrorEvent",
		  false },
		{ "\"effect_id\":\"e\",\"status\":\"not_started\",\"output\":\"error: x\"",
		  "AgentErrorEvent", false },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		struct th_json_doc *doc;
		struct told t;
		char data[512];

		told_init(&t, TH_OPENHANDS_V1, false);
		add(&t, TH_EV_CALL, "{\"call_id\":\"c\",\"tool\":\"finish\",\"arguments\":{}}");
		snprintf(data, sizeof(data), "{\"call_id\":\"c\",%s}", cases[i].outcome);
		add(&t, TH_EV_OUTCOME, data);
		last_is(&t, 0, "kind", cases[i].kind);
		if (cases[i].acted) {
			const struct th_json *seen;

			doc = last(&t, 0);
			seen = th_json_get(th_json_root(doc), "observation");
			assert_true(th_json_bool(th_json_get(seen, "is_error"), false));
			assert_true(th_str_is(
			    th_json_get_str(th_json_at(th_json_get(seen, "content"), 0), "text"),
			    "outside"));
			th_json_free(doc);
		}
		doc = last(&t, 1);
		assert_int_equal(th_json_get(th_json_root(doc), "action") != NULL, cases[i].acted);
		th_json_free(doc);
		told_deinit(&t);
	}
}

/* An item of a program's may have any text there. */
static void items_whose_arguments_are_no_json(void **state)
{
	static const char *const arguments[] = { "not json", "", "{", "{}x", "\\\"" };

	(void)state;
	for (size_t i = 0; i < 2 * TH_COUNT(arguments); i++) {
		struct told t;
		char data[512];

		snprintf(data, sizeof(data),
			 "{\"items\":[{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":"
			 "\"finish\",\"arguments\":\"%s\"},{\"type\":\"function_call_output\","
			 "\"call_id\":\"c\",\"output\":\"x\"}]}",
			 arguments[i / 2]);
		told_init(&t, i % 2 ? TH_OPENHANDS_V0 : TH_OPENHANDS_V1, false);
		add(&t, TH_EV_ITEMS_ADDED, data);
		assert_int_equal(t.log.count, 2);
		told_deinit(&t);
	}
}

/* Of "url" the type beside null is a text, and it has to be there. */
#define CREATED                                                                                  \
	"{\"agent\":{},\"metadata\":{\"thole_openhands\":{\"client_tools\":[{\"name\":\"show\"," \
	"\"parameters\":{\"type\":\"object\",\"required\":[\"url\"],\"properties\":{\"url\":{"   \
	"\"type\":"                                                                              \
	"[\"string\",\"null\"]},\"list\":{\"type\":\"array\",\"items\":{\"type\":\"array\","     \
	"\"items\":"                                                                             \
	"{\"type\":\"integer\"}}},\"flag\":{\"type\":\"boolean\"},\"any\":{}}}}]}}}"

static void kind_of_call(bool has_tools, const char *tool, const char *arguments,
			 const char *action, const char *observation)
{
	const struct th_json *v;
	struct th_json_doc *doc;
	struct told t;
	char data[256];

	snprintf(data, sizeof(data), "{\"call_id\":\"c\",\"tool\":\"%s\",\"arguments\":%s}", tool,
		 arguments);
	told_init(&t, TH_OPENHANDS_V1, has_tools);
	add(&t, TH_EV_SESSION_CREATED, CREATED);
	add(&t, TH_EV_CALL, data);
	add(&t, TH_EV_OUTCOME, "{\"call_id\":\"c\",\"status\":\"done\",\"output\":\"x\"}");
	doc = last(&t, 1);
	v = th_json_get(th_json_root(doc), "action");
	assert_true(th_str_is(th_json_get_str(v, "kind"), action));
	th_json_free(doc);
	doc = last(&t, 0);
	v = th_json_get(th_json_root(doc), "observation");
	assert_true(th_str_is(th_json_get_str(v, "kind"), observation));
	th_json_free(doc);
	told_deinit(&t);
}

static void tools_of_a_client(void **state)
{
	(void)state;
	kind_of_call(true, "show", "{\"url\":\"a\"}", "ClientAction_show", "ClientToolObservation");
	kind_of_call(true, "show", "{\"url\":\"a\",\"list\":[[1],[]],\"flag\":null,\"any\":{}}",
		     "ClientAction_show", "ClientToolObservation");
	/* What its type there would not take. */
	kind_of_call(true, "show", "{}", "MCPToolAction", "MCPToolObservation");
	kind_of_call(true, "show", "{\"url\":null}", "MCPToolAction", "MCPToolObservation");
	kind_of_call(true, "show", "{\"url\":\"a\",\"list\":[[1.5]]}", "MCPToolAction",
		     "MCPToolObservation");
	kind_of_call(true, "show", "{\"url\":\"a\",\"flag\":1}", "MCPToolAction",
		     "MCPToolObservation");
	kind_of_call(true, "show", "{\"url\":\"a\",\"other\":1}", "MCPToolAction",
		     "MCPToolObservation");
	kind_of_call(true, "show", "{\"kind\":\"x\"}", "MCPToolAction", "MCPToolObservation");
	kind_of_call(true, "bash", "{\"url\":\"a\"}", "MCPToolAction", "MCPToolObservation");
	/* In an export nobody has it. */
	kind_of_call(false, "show", "{\"url\":\"a\"}", "MCPToolAction", "MCPToolObservation");
}

static void what_stays_is_not_forgotten(void **state)
{
	const struct th_json *ids;
	struct th_json_doc *doc;
	struct told t;

	(void)state;
	told_init(&t, TH_OPENHANDS_V1, false);
	for (int i = 0; i < 5; i++)
		add(&t, TH_EV_MESSAGE, "{\"role\":\"user\",\"content\":\"hello\"}");
	add(&t, TH_EV_CONDENSATION,
	    "{\"first_seq\":2,\"last_seq\":5,\"history\":[[4,0],[3,0],[1,0]],\"summary\":\"s\"}");
	doc = last(&t, 0);
	ids = th_json_get(th_json_root(doc), "forgotten_event_ids");
	assert_int_equal(th_json_count(ids), 2);
	assert_true(th_str_eq(th_json_str(th_json_at(ids, 0)), t.log.list[1].id));
	assert_true(th_str_eq(th_json_str(th_json_at(ids, 1)), t.log.list[4].id));
	th_json_free(doc);
	told_deinit(&t);
}

static void at_most_so_many(void **state)
{
	struct told t;
	size_t size, length;

	(void)state;
	told_init(&t, TH_OPENHANDS_V1, false);
	th_openhands_log_bound(&t.log, TH_MIB, 2);
	add(&t, TH_EV_MESSAGE, "{\"role\":\"user\",\"content\":\"one\"}");
	size = th_openhands_writer_size(&t.writer);
	add(&t, TH_EV_MESSAGE, "{\"role\":\"user\",\"content\":\"two\"}");
	assert_true(size > t.log.list[0].text.len && th_openhands_writer_size(&t.writer) >= size);
	assert_int_equal(take(&t, TH_EV_MESSAGE, "{\"role\":\"user\",\"content\":\"three\"}"),
			 TH_ELIMIT);
	assert_string_equal(t.err.msg, "a conversation has at most 2 events");
	length = t.log.list[0].text.len + 100; /* with its id */
	told_deinit(&t);
	told_init(&t, TH_OPENHANDS_V1, false);
	th_openhands_log_bound(&t.log, length, 2);
	add(&t, TH_EV_MESSAGE, "{\"role\":\"user\",\"content\":\"one\"}");
	assert_int_equal(take(&t, TH_EV_MESSAGE, "{\"role\":\"user\",\"content\":\"two\"}"),
			 TH_ELIMIT);
	assert_non_null(strstr(t.err.msg, "the events take more than "));
	told_deinit(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_that_are_no_object),
		cmocka_unit_test(what_a_tool_refused),
		cmocka_unit_test(items_whose_arguments_are_no_json),
		cmocka_unit_test(tools_of_a_client),
		cmocka_unit_test(what_stays_is_not_forgotten),
		cmocka_unit_test(at_most_so_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
