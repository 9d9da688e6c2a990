/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>

#include "wire/jsonrpc.h"
#include "wire/mcp_client.h"

/* A server's place: what was sent to it, and what came of it. */
struct place {
	struct th_mcp_client client;
	struct th_buf sent; /* the messages, each with a line feed */
	struct th_buf seen; /* what the owner of the requests was told */
	int opened, changed;
};

static void on_send(void *ctx, struct th_str message)
{
	struct place *p = ctx;

	th_buf_add(&p->sent, message);
	th_buf_add_char(&p->sent, '\n');
}

static void on_opened(void *ctx)
{
	((struct place *)ctx)->opened++;
}

static void on_answered(void *ctx, void *user, struct th_str result)
{
	struct place *p = ctx;

	th_buf_printf(&p->seen, "%s answered %.*s\n", (const char *)user, TH_FMT(result));
}

static void on_failed(void *ctx, void *user, const struct th_err *err)
{
	struct place *p = ctx;

	th_buf_printf(&p->seen, "%s failed: %s\n", (const char *)user, err->msg);
}

static void on_progress(void *ctx, void *user, struct th_str text)
{
	struct place *p = ctx;

	th_buf_printf(&p->seen, "%s is at %.*s\n", (const char *)user, TH_FMT(text));
}

static void on_changed(void *ctx)
{
	((struct place *)ctx)->changed++;
}

static void on_asked(void *ctx, void *user, const struct th_mcp_question *q)
{
	struct place *p = ctx;

	th_buf_printf(&p->seen, "%s is asked %.*s as %.*s%.*s, state %.*s, inputs %.*s\n",
		      (const char *)user, TH_FMT(q->params), TH_FMT(q->id), TH_FMT(q->key),
		      TH_FMT(q->state), TH_FMT(q->inputs));
}

static const struct th_mcp_client_ops ops = { on_send,     on_opened,  on_answered, on_failed,
					      on_progress, on_changed, on_asked };

static void place_init(struct place *p, enum th_mcp_era era)
{
	*p = (struct place){ 0 };
	th_buf_init(&p->sent, 4 * TH_MIB);
	th_buf_init(&p->seen, TH_MIB);
	th_mcp_client_init(&p->client, &ops, p, era, TH_STR("/w/a b"));
	th_mcp_client_begin(&p->client);
}

static void place_deinit(struct place *p)
{
	th_mcp_client_deinit(&p->client);
	th_buf_deinit(&p->sent);
	th_buf_deinit(&p->seen);
}

static void take(struct place *p, const char *message)
{
	struct th_err err = { 0 };

	if (th_mcp_client_take(&p->client, th_str_of(message), &err))
		fail_msg("%s: %s", message, err.msg);
}

static bool was_sent(const struct place *p, const char *what)
{
	return th_str_find(th_buf_str(&p->sent), th_str_of(what)) >= 0;
}

static void ask(struct place *p, const char *user)
{
	struct th_err err = { 0 };

	assert_int_equal(th_mcp_client_request(&p->client, "tools/call", TH_STR("{\"name\":\"x\"}"),
					       (void *)(uintptr_t)user, &err),
			 TH_OK);
}

#define DISCOVERED                                                                   \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"complete\","     \
	"\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{"       \
	"\"listChanged\":true}},\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{" \
	"\"name\":\"s\",\"version\":\"2\"}}}}"
#define INITIALIZED(id, version)                                                        \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{\"protocolVersion\":\"" version \
	"\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":"                  \
	"\"old\",\"version\":\"1\"}}}"

static void test_modern(void **state)
{
	struct place p;

	(void)state;
	place_init(&p, TH_MCP_ERA_UNKNOWN);
	assert_true(was_sent(&p, "\"id\":1,\"method\":\"server/discover\""));
	assert_int_equal(p.opened, 0);
	take(&p, DISCOVERED);
	assert_int_equal(p.opened, 1);
	assert_int_equal(p.client.era, TH_MCP_ERA_MODERN);
	assert_string_equal(p.client.software, "s 2");
	assert_true(was_sent(&p, "\"id\":2,\"method\":\"subscriptions/listen\""));
	th_buf_clear(&p.sent);
	ask(&p, "a");
	assert_true(was_sent(&p, "{\"name\":\"x\",\"_meta\":{\"io.modelcontextprotocol/"
				 "protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/"
				 "clientCapabilities\":{\"roots\":{},\"elicitation\":{"));
	assert_true(was_sent(&p, "\"progressToken\":3"));
	take(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
		 "\"progressToken\":3,\"progress\":1,\"total\":4,\"message\":\"a\\u001bb\"}}");
	take(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
		 "\"progressToken\":99,\"progress\":1}}");
	take(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
	take(&p, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[]}}");
	take(&p, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[1]}}"); /* again */
	assert_int_equal(p.changed, 1);
	assert_string_equal(p.seen.ptr, "a is at 1 of 4: a\\x1bb\na answered {\"content\":[]}\n");
	/* Its era is known: nothing is asked when it is started anew. */
	th_mcp_client_reset(&p.client);
	th_buf_clear(&p.sent);
	th_mcp_client_begin(&p.client);
	assert_int_equal(p.opened, 2);
	assert_false(was_sent(&p, "discover"));
	place_deinit(&p);
}

static void test_legacy(void **state)
{
	struct place p;
	struct th_err err = { 0 };

	(void)state;
	place_init(&p, TH_MCP_ERA_UNKNOWN);
	take(&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"no\"}}");
	assert_true(was_sent(
	    &p,
	    "\"id\":2,\"method\":\"initialize\",\"params\":{"
	    "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"roots\":{},\"elicitation\":{"));
	take(&p, INITIALIZED("2", "2024-11-05"));
	assert_int_equal(p.opened, 1);
	assert_string_equal(p.client.revision, "2024-11-05");
	assert_true(was_sent(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"));
	th_buf_clear(&p.sent);
	ask(&p, "a");
	assert_true(was_sent(&p, "\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"x\","
				 "\"_meta\":{\"progressToken\":3}}"));
	take(&p, "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}");
	take(&p, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"roots/list\"}");
	take(&p, "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"sampling/createMessage\"}");
	assert_true(was_sent(&p, "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{}}"));
	assert_true(was_sent(&p, "\"uri\":\"file:///w/a%20b\""));
	assert_true(was_sent(&p, "\"id\":8,\"error\":{\"code\":-32601"));
	th_mcp_client_cancel(&p.client, "a", "enough");
	th_mcp_client_cancel(&p.client, "a", "enough"); /* it is none any more */
	assert_true(was_sent(&p, "\"notifications/cancelled\",\"params\":{\"requestId\":3,"
				 "\"reason\":\"enough\"}"));
	take(&p, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}");
	ask(&p, "b");
	take(&p, "{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":{\"code\":-7,\"message\":\"a\\nb\"}}");
	assert_string_equal(p.seen.ptr, "b failed: the server refused it: a\\nb (error -7)\n");
	place_deinit(&p);

	place_init(&p, TH_MCP_ERA_LEGACY);
	assert_false(was_sent(&p, "discover"));
	assert_int_equal(
	    th_mcp_client_take(&p.client, TH_STR(INITIALIZED("1", "1999-01-01")), &err), TH_EPROTO);
	place_deinit(&p);
}

/* A slow server: it is asked both, and the first good answer counts. */
static void test_silent(void **state)
{
	struct place p;

	(void)state;
	place_init(&p, TH_MCP_ERA_UNKNOWN);
	assert_true(th_mcp_client_silent(&p.client));
	assert_false(th_mcp_client_silent(&p.client));
	take(&p, DISCOVERED);
	assert_int_equal(p.client.era, TH_MCP_ERA_MODERN);
	take(&p, INITIALIZED("2", "2025-11-25"));
	assert_int_equal(p.client.era, TH_MCP_ERA_MODERN);
	assert_int_equal(p.opened, 1);
	place_deinit(&p);
	place_init(&p, TH_MCP_ERA_UNKNOWN);
	assert_true(th_mcp_client_silent(&p.client));
	take(&p, INITIALIZED("2", "2025-11-25"));
	take(&p, DISCOVERED);
	assert_int_equal(p.client.era, TH_MCP_ERA_LEGACY);
	place_deinit(&p);
}

#define REFUSED(id, versions)                                                               \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":-32022,\"message\":\"no\"," \
	"\"data\":{\"supported\":[" versions "]}}}"

/* A modern server that does not take our revision, or not at once. */
static void test_refused(void **state)
{
	struct th_err err = { 0 };
	struct place p;

	(void)state;
	place_init(&p, TH_MCP_ERA_UNKNOWN);
	take(&p, REFUSED("1", "\"2026-07-28\""));
	assert_true(was_sent(&p, "\"id\":2,\"method\":\"server/discover\""));
	take(&p, REFUSED("2", "\"2026-07-28\",\"2025-11-25\""));
	assert_true(was_sent(&p, "\"id\":3,\"method\":\"initialize\""));
	place_deinit(&p);
	place_init(&p, TH_MCP_ERA_UNKNOWN);
	assert_int_equal(
	    th_mcp_client_take(&p.client, TH_STR(REFUSED("1", "\"2030-01-01\"")), &err), TH_EPROTO);
	place_deinit(&p);
}

/* A call that becomes a task, which asks the person when it is looked at. */
static void test_task(void **state)
{
	struct th_err err = { 0 };
	struct place p;

	(void)state;
	place_init(&p, TH_MCP_ERA_MODERN);
	ask(&p, "a");
	assert_true(was_sent(&p, "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}"));
	take(&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"task\"}}");
	assert_string_equal(p.seen.ptr, "a answered {\"resultType\":\"task\"}\n");
	th_buf_clear(&p.seen);
	assert_int_equal(th_mcp_client_request(&p.client, "tasks/get", TH_STR("{\"taskId\":\"t\"}"),
					       (char *)(uintptr_t) "a", &err),
			 TH_OK);
	take(&p, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"resultType\":\"complete\","
		 "\"status\":\"input_required\",\"inputRequests\":{\"k\":{\"method\":"
		 "\"elicitation/create\",\"params\":{\"message\":\"?\"}}}}}");
	assert_string_equal(p.seen.ptr,
			    "a is asked {\"message\":\"?\"} as \"k\", state , inputs {}\n");
	th_buf_clear(&p.seen);
	/* Nothing but a call becomes one. */
	assert_int_equal(th_mcp_client_request(&p.client, "tools/list", TH_STR("{}"),
					       (char *)(uintptr_t) "b", &err),
			 TH_OK);
	take(&p, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"resultType\":\"task\"}}");
	assert_non_null(strstr(p.seen.ptr, "b failed"));
	place_deinit(&p);
}

/* A server that may ask the model, and one that may not; lines of a log, which nobody obeys. */
static void test_sample_and_log(void **state)
{
	struct place p;

	(void)state;
	for (int may = 0; may < 2; may++) {
		p = (struct place){ 0 };
		th_buf_init(&p.sent, 4 * TH_MIB);
		th_buf_init(&p.seen, TH_MIB);
		th_mcp_client_init(&p.client, &ops, &p, TH_MCP_ERA_MODERN, TH_STR(""));
		p.client.samples = may;
		th_mcp_client_begin(&p.client);
		ask(&p, "a");
		assert_int_equal(was_sent(&p, "\"sampling\":{}"), may);
		take(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{"
			 "\"level\":\"info\",\"data\":{\"a\":\"\\u001b[2J\"}}}");
		assert_non_null(strstr(p.seen.ptr, "a is at info: {\"a\":\""));
		assert_null(strchr(p.seen.ptr, 27));
		th_buf_clear(&p.seen);
		take(&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":"
			 "\"input_required\",\"inputRequests\":{\"k\":{\"method\":"
			 "\"sampling/createMessage\",\"params\":{\"maxTokens\":1}}}}}");
		assert_string_equal(
		    p.seen.ptr, may ? "a is asked {\"maxTokens\":1} as \"k\", state , inputs {}\n"
				    : "a failed: the server asks for sampling/createMessage, which "
				      "is not offered to it\n");
		place_deinit(&p);
	}
}

#define QUESTION(id)                                                                        \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{\"resultType\":\"input_required\"," \
	"\"requestState\":\"s\",\"inputRequests\":{\"k\":{\"method\":\"roots/list\"}}}}"

static void test_questions(void **state)
{
	struct place p;
	char text[512];

	(void)state;
	place_init(&p, TH_MCP_ERA_MODERN);
	ask(&p, "a");
	take(&p, QUESTION("1"));
	assert_true(was_sent(&p,
			     "\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"x\","
			     "\"inputResponses\":{\"k\":{\"roots\":[{\"uri\":\"file:///w/a%20b\""));
	assert_true(was_sent(&p, "\"requestState\":\"s\""));
	for (int i = 2; i <= TH_MCP_ROUNDS_MAX; i++) {
		snprintf(text, sizeof(text), QUESTION("%d"), i);
		take(&p, text);
	}
	assert_int_equal(p.seen.len, 0);
	snprintf(text, sizeof(text), QUESTION("%d"), TH_MCP_ROUNDS_MAX + 1);
	take(&p, text);
	assert_string_equal(p.seen.ptr, "a failed: the server asked 8 times before an answer\n");
	th_buf_clear(&p.seen);
	ask(&p, "b");
	take(&p, "{\"jsonrpc\":\"2.0\",\"id\":10,\"result\":{\"resultType\":\"input_required\","
		 "\"inputRequests\":{\"k\":{\"method\":\"sampling/createMessage\"}}}}");
	ask(&p, "c");
	take(&p, "{\"jsonrpc\":\"2.0\",\"id\":11,\"result\":{\"resultType\":\"other\"}}");
	assert_string_equal(p.seen.ptr,
			    "b failed: the server asks for sampling/createMessage, which is not "
			    "offered to it\nc failed: the server answers with a result of the type "
			    "other\n");
	place_deinit(&p);
}

/* At the edge, and one behind it. */
static void test_limits(void **state)
{
	struct th_err err = { 0 };
	struct place p;

	(void)state;
	place_init(&p, TH_MCP_ERA_MODERN);
	for (int i = 0; i < TH_MCP_PENDING_MAX; i++)
		ask(&p, "a");
	assert_int_equal(th_mcp_client_request(&p.client, "tools/call", TH_STR("{}"), &p, &err),
			 TH_ELIMIT);
	for (int i = 0; i < TH_MCP_NOISE_MAX; i++)
		take(&p, "starting up ...");
	take(&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
	for (int i = 0; i < TH_MCP_NOISE_MAX; i++)
		take(&p, "{\"jsonrpc\":\"2.0\",\"id\":4711,\"result\":{}}");
	/* A long work's progress is no noise; one that goes no further is. */
	for (int i = 1; i <= 2 * TH_MCP_NOISE_MAX; i++) {
		struct th_buf text = TH_BUF_INIT(TH_KIB);

		th_buf_printf(&text,
			      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
			      "\"params\":{\"progressToken\":2,\"progress\":%d}}",
			      i);
		take(&p, text.ptr);
		th_buf_deinit(&text);
	}
	assert_int_equal(
	    th_mcp_client_take(&p.client,
			       TH_STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
				      "\"params\":{\"progressToken\":2,\"progress\":5}}"),
			       &err),
	    TH_EPROTO);
	assert_int_equal(th_mcp_client_take(&p.client, TH_STR("x"), &err), TH_EPROTO);
	/* One that pings for days is a good one. */
	for (int i = 0; i < 2 * TH_MCP_NOISE_MAX; i++) {
		if (i % TH_MCP_NOISE_MAX == 0)
			th_mcp_client_calm(&p.client);
		take(&p, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}");
	}
	assert_int_equal(
	    th_mcp_client_take(&p.client, TH_STR("{\"jsonrpc\":\"2.0\",\"id\":2,"), &err),
	    TH_EPROTO);
	place_deinit(&p);
}

/* What JavaScript and Python write of half a character is read, and whole ones stay. */
static void test_halves(void **state)
{
	struct place p;

	(void)state;
	place_init(&p, TH_MCP_ERA_MODERN);
	ask(&p, "a");
	ask(&p, "b");
	take(&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"t\":\"\\ud83d "
		 "\\uD83D\\uDE00\\udcff\\\\ud83d\"}}");
	assert_true(
	    th_str_find(th_buf_str(&p.seen),
			TH_STR("a answered {\"t\":\"\\ufffd \\uD83D\\uDE00\\ufffd\\\\ud83d\"}")) >=
	    0);
	take(&p, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"t\":\"\\ud83d\\n\"}}");
	assert_true(th_str_find(th_buf_str(&p.seen), TH_STR("b answered {\"t\":\"\\ufffd\\n\"}")) >=
		    0);
	place_deinit(&p);
}

/* A person is asked: in the course of a call, which goes on; or as its answer, and it is made
 * again. */
static void test_person(void **state)
{
	struct place p;

	(void)state;
	place_init(&p, TH_MCP_ERA_LEGACY);
	assert_true(was_sent(&p, "\"elicitation\":{\"form\":{},\"url\":{}}"));
	take(&p, INITIALIZED("1", "2025-11-25"));
	take(&p, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"elicitation/create\",\"params\":{}}");
	assert_true(was_sent(&p, "\"id\":7,\"error\"")); /* nobody has called anything */
	ask(&p, "a");
	ask(&p, "b");
	take(&p, "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"elicitation/create\","
		 "\"params\":{\"message\":\"m\"}}");
	p.client.heard_for = 2;
	take(&p, "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"elicitation/create\",\"params\":{}}");
	p.client.heard_for = 0;
	assert_string_equal(p.seen.ptr, "b is asked {\"message\":\"m\"} as \"q\", state , inputs \n"
					"a is asked {} as 8, state , inputs \n");
	th_mcp_client_reply(&p.client, TH_STR("\"q\""), TH_STR("{\"action\":\"decline\"}"));
	assert_true(was_sent(&p, "\"id\":\"q\",\"result\":{\"action\":\"decline\"}"));
	place_deinit(&p);

	place_init(&p, TH_MCP_ERA_MODERN);
	ask(&p, "a");
	take(&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"input_required\","
		 "\"requestState\":\"s\",\"inputRequests\":{\"r\":{\"method\":\"roots/list\"},"
		 "\"k\\\"\":{\"method\":\"elicitation/create\",\"params\":{\"message\":\"m\"}},"
		 "\"l\":{\"method\":\"elicitation/create\",\"params\":{}}}}}");
	assert_string_equal(
	    p.seen.ptr, "a is asked {\"message\":\"m\"} as \"k\\\"\", state \"s\", inputs "
			"{\"r\":{\"roots\":[{\"uri\":\"file:///w/a%20b\",\"name\":\"workspace\"}]}}"
			"\n");
	assert_int_equal(p.client.request_count, 0);
	place_deinit(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_modern),    cmocka_unit_test(test_person),
		cmocka_unit_test(test_legacy),    cmocka_unit_test(test_silent),
		cmocka_unit_test(test_questions), cmocka_unit_test(test_halves),
		cmocka_unit_test(test_limits),    cmocka_unit_test(test_refused),
		cmocka_unit_test(test_task),      cmocka_unit_test(test_sample_and_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
