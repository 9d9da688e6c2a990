/* SPDX-License-Identifier: Apache-2.0 */
/* What a task comes to, folded from its events. */
#include "server/reply.h"

#include <stdio.h>

#include "json_says.h"

static bool in_parts; /* else as text */

static void feed(struct th_reply *r, const char *kind, const char *call, const char *data)
{
	char event[4000];
	const struct th_reply_parts parts = { .seq = r->last_seq + 1,
					      .ts_ms = (int64_t)r->last_seq + 1000,
					      .kind = th_str_of(kind),
					      .call = th_str_of(call),
					      .data = th_str_of(data) };

	if (in_parts) {
		th_reply_event_parts(r, &parts);
		return;
	}
	snprintf(event, sizeof(event),
		 "{\"seq\":%llu,\"ts_ms\":%llu,\"kind\":\"%s\",\"call\":\"%s\",\"data\":%s}",
		 (unsigned long long)r->last_seq + 1, (unsigned long long)r->last_seq + 1000, kind,
		 call, data);
	th_reply_event(r, th_str_of(event));
}

static void test_message(void **state)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(1000);
	struct th_reply r = {};

	(void)state;
	feed(&r, "model_answered", "",
	     "{\"status\":\"completed\",\"items\":[{\"type\":\"reasoning\",\"summary\":[]},"
	     "{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"Hi\"},"
	     "{\"type\":\"output_text\",\"text\":\" you\"}]}],"
	     "\"usage\":{\"input\":7,\"output\":3,\"cached\":2,\"reasoning\":1}}");
	assert_int_equal(r.status, TH_REPLY_RUNNING);
	feed(&r, "final", "", "{\"output\":\"Hi you\"}");
	assert_int_equal(r.status, TH_REPLY_COMPLETED);
	assert_int_equal(r.count, 2);
	th_reply_text(&r, &text);
	assert_string_equal(text.ptr, "Hi you");
	assert_int_equal(r.tokens_in + r.tokens_out + r.tokens_cached + r.tokens_reasoning, 13);
	assert_json(r.items[1].json, "content.0.annotations", "[]");
	th_reply_deinit(&r);
}

#define CALLS                                                                                      \
	"{\"status\":\"completed\",\"items\":["                                                    \
	"{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"theirs\",\"arguments\":\"{}\"}" \
	","                                                                                        \
	"{\"type\":\"function_call\",\"call_id\":\"c2\",\"name\":\"ours\",\"arguments\":\"{}\"}]}"

/* The client's calls wait for it once ours have their results. */
static void test_calls(void **state)
{
	char full[] = "space__theirs", theirs[] = "theirs", space[] = "space";
	const struct th_function_name functions[] = {
		{ .full = full, .name = theirs, .space = space },
		{ .full = theirs, .name = theirs },
	};
	struct th_reply r = { .functions = functions, .function_count = TH_COUNT(functions) };

	(void)state;
	feed(&r, "model_answered", "", CALLS);
	assert_int_equal(r.count, 1);
	assert_int_equal(r.items[0].kind, TH_REPLY_CALL);
	assert_json_text(r.items[0].json, "name", "theirs");
	feed(&r, "intent", "c1", "{}");
	feed(&r, "intent", "c2", "{}");
	assert_int_equal(r.status, TH_REPLY_RUNNING);
	feed(&r, "outcome", "c2", "{\"status\":\"done\",\"output\":\"made\"}");
	assert_int_equal(r.status, TH_REPLY_PARKED);
	assert_int_equal(r.count, 2);
	assert_json_text(r.items[1].json, "type", "mcp_call");
	assert_json_text(r.items[1].json, "output", "made");
	assert_int_equal(r.open_count, 1);
	assert_string_equal(r.open[0].call_id, "c1");
	th_reply_deinit(&r);
}

static void test_ends(void **state)
{
	static const struct {
		const char *kind, *data;
		enum th_reply_status status;
		const char *why;
	} ends[] = {
		{ "error", "{\"class\":\"x\",\"message\":\"it broke\"}", TH_REPLY_FAILED,
		  "it broke" },
		{ "state_changed", "{\"to\":\"stopped\"}", TH_REPLY_CANCELLED, NULL },
		{ "state_changed", "{\"to\":\"limit\",\"reason\":\"turns\"}", TH_REPLY_INCOMPLETE,
		  "turns" },
		{ "state_changed", "{\"to\":\"stuck\",\"reason\":\"again\"}", TH_REPLY_FAILED,
		  "again" },
		{ "state_changed", "{\"to\":\"paused\"}", TH_REPLY_RUNNING, NULL },
		{ "nonsense", "{}", TH_REPLY_RUNNING, NULL },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(ends); i++) {
		struct th_reply r = {};

		feed(&r, ends[i].kind, "", ends[i].data);
		assert_int_equal(r.status, ends[i].status);
		if (ends[i].why)
			assert_string_equal(r.why, ends[i].why);
		else
			assert_null(r.why);
		th_reply_deinit(&r);
	}
}

static void test_cut_answer(void **state)
{
	struct th_reply r = {};

	(void)state;
	feed(&r, "model_answered", "", "{\"status\":\"incomplete\",\"items\":[]}");
	feed(&r, "final", "", "{\"output\":\"\"}");
	assert_int_equal(r.status, TH_REPLY_INCOMPLETE);
	th_reply_event(&r, TH_STR("no JSON"));
	assert_int_equal(r.status, TH_REPLY_INCOMPLETE);
	th_reply_deinit(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_message),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_cut_answer),
	};
	int failed = cmocka_run_group_tests_name("events as text", tests, NULL, NULL);

	in_parts = true;
	return failed + cmocka_run_group_tests_name("events in parts", tests, NULL, NULL);
}
