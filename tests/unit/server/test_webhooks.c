/* SPDX-License-Identifier: Apache-2.0 */
#include "server/webhooks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/clock.h"
#include "io/files.h"
#include "server/service.h"
#include "unit.h"

static void test_signature(void **state)
{
	/* The example of the Standard Webhooks specification. */
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(1000);
	struct th_settings s = {};
	struct th_err err = {};

	(void)state;
	assert_int_equal(
	    th_settings_parse(TH_STR("{\"webhooks\":[{\"url\":\"https://example.org/x\",\"secret\":"
				     "\"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"}]}"),
			      &s, &err),
	    TH_OK);
	th_webhook_sign(&s.webhooks[0], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330,
			TH_STR("{\"test\": 2432232314}"), &out);
	assert_string_equal(out.ptr, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
	th_settings_deinit(&s);
}

static void test_events(void **state)
{
	static const struct {
		const char *kind, *data;
		int event; /* -1: none */
		const char *more;
	} cases[] = {
		{ "final", "{\"output\":\"Done.\",\"status\":\"finished\",\"in_history\":true}",
		  TH_WEBHOOK_FINISHED, "{\"output\":\"Done.\",\"status\":\"finished\"}" },
		{ "error", "{\"class\":\"refused\",\"message\":\"No.\"}", TH_WEBHOOK_FAILED,
		  "{\"class\":\"refused\",\"message\":\"No.\"}" },
		{ "state_changed", "{\"to\":\"limit\",\"reason\":\"turns\"}", TH_WEBHOOK_LIMIT,
		  "{\"to\":\"limit\",\"reason\":\"turns\"}" },
		{ "state_changed", "{\"to\":\"stuck\"}", TH_WEBHOOK_FAILED, "{\"to\":\"stuck\"}" },
		{ "state_changed", "{\"to\":\"paused\",\"reason\":\"limit\"}", -1, NULL },
		{ "approval_requested", "{\"call_id\":\"c\",\"digest\":\"d\",\"reason\":\"r\"}",
		  TH_WEBHOOK_WAITING, "{\"reason\":\"r\",\"call_id\":\"c\"}" },
		{ "parked", "{\"call_id\":\"c\",\"output\":\"long\"}", TH_WEBHOOK_WAITING,
		  "{\"call_id\":\"c\"}" },
		{ "delegation_waits", "{\"child\":\"k\",\"waits\":[]}", -1, NULL },
		{ "delegation_waits", "{\"child\":\"k\",\"waits\":[{\"tool\":\"x\"}]}",
		  TH_WEBHOOK_WAITING, "{\"child\":\"k\"}" },
		{ "message", "{\"output\":\"x\"}", -1, NULL },
		{ "", "", -1, NULL },
		{ "final", "", TH_WEBHOOK_FINISHED, "{}" },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		struct th_buf more TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
		enum th_webhook_event e;
		bool is = th_webhook_event_of(th_str_of(cases[i].kind), th_str_of(cases[i].data),
					      &e, &more);

		assert_int_equal(is, cases[i].event >= 0);
		if (is) {
			assert_int_equal(e, cases[i].event);
			assert_string_equal(more.ptr, cases[i].more);
		}
	}
}

static void test_long_texts_are_cut(void **state)
{
	struct th_buf data TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	enum th_webhook_event e;

	(void)state;
	for (size_t more = 0; more < 2; more++) {
		struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);

		th_buf_clear(&data);
		th_buf_add_cstr(&data, "{\"output\":\"");
		for (size_t i = 0; i < TH_WEBHOOK_TEXT_MAX + more; i++)
			th_buf_add_char(&data, 'x');
		th_buf_add_cstr(&data, "\"}");
		assert_true(th_webhook_event_of(TH_STR("final"), th_buf_str(&data), &e, &out));
		assert_int_equal(out.len, TH_WEBHOOK_TEXT_MAX + strlen("{\"output\":\"\"}"));
	}
}

static void test_waits(void **state)
{
	(void)state;
	assert_int_equal(th_webhook_wait_ms(5000, 1, 0), 4000);
	assert_int_equal(th_webhook_wait_ms(5000, 1, 255), 6000);
	assert_int_equal(th_webhook_wait_ms(5000, 2, 0), 8000);
	assert_int_equal(th_webhook_wait_ms(5000, 5, 255), 96000);
	for (unsigned failures = 11; failures < 1000; failures++) {
		assert_true(th_webhook_wait_ms(5000, failures, 255) <=
			    TH_WEBHOOK_RETRY_MAX_MS * 6 / 5);
		assert_true(th_webhook_wait_ms(5000, failures, 0) ==
			    TH_WEBHOOK_RETRY_MAX_MS * 4 / 5);
	}
}

static void test_the_number_of_one(void **state)
{
	struct th_webhook_id a = th_webhook_id_of("s", 11), b = th_webhook_id_of("s", 11),
			     c = th_webhook_id_of("s", 1), d = th_webhook_id_of("s/1", 1);

	(void)state;
	assert_memory_equal(&a, &b, sizeof(a));
	assert_memory_not_equal(&a, &c, sizeof(a));
	assert_memory_not_equal(&a, &d, sizeof(a));
}

/* More than there is room for stays in the logs, from the time of the first on. */
static void test_the_fullest_queue(void **state)
{
	struct th_server s = { .o.journal = -1 };
	struct th_err err = {};
	char event[200];

	(void)state;
	assert_int_equal(th_loop_new(&s.loop, &err), TH_OK);
	assert_int_equal(
	    th_settings_parse(TH_STR("{\"webhooks\":[{\"url\":\"http://127.0.0.1:1/\",\"private\":"
				     "true,\"secret\":\"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"}]"
				     "}"),
			      &s.settings, &err),
	    TH_OK);
	s.webhooks = th_webhooks_new(&s, TH_STR(""));
	for (int i = 1; i <= TH_WEBHOOK_FLIGHT_MAX + TH_WEBHOOK_QUEUE_MAX + 2; i++) {
		snprintf(event, sizeof(event),
			 "{\"seq\":%d,\"ts_ms\":%d,\"kind\":\"final\",\"data\":{}}", i, 1000 + i);
		th_webhooks_event(s.webhooks, "s", "ann", th_str_of(event));
		if (i == TH_WEBHOOK_FLIGHT_MAX + TH_WEBHOOK_QUEUE_MAX)
			assert_int_equal(s.webhooks->first->skipped_ms, 0);
	}
	assert_int_equal(th_webhooks_waiting(s.webhooks), TH_WEBHOOK_QUEUE_MAX);
	assert_int_equal(s.webhooks->first->skipped_ms,
			 1000 + TH_WEBHOOK_FLIGHT_MAX + TH_WEBHOOK_QUEUE_MAX + 1);
	s.webhooks = th_webhooks_free(s.webhooks);
	th_settings_deinit(&s.settings);
	th_loop_free(s.loop);
}

static void write_text(const char *path, char fill, size_t size)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_WEBHOOK_FILE_MAX + 1);
	struct th_err err = {};

	while (text.len < size)
		th_buf_add_char(&text, fill);
	assert_int_equal(th_file_write(path, th_buf_str(&text), 0600, &err), TH_OK);
}

/* What was taken, as the file has it: so many, and no larger a file. */
static void test_what_the_file_remembers(void **state)
{
	char folder[] = "/tmp/thole-webhooks-XXXXXX", path[100];
	struct th_server s = { .o.journal = -1 };
	struct th_buf line TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_WEBHOOK_FILE_MAX);
	int64_t now_ms = (int64_t)th_clock_wall_ms();
	struct th_webhook *h;
	struct th_err err = {};

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/webhooks", folder);
	assert_int_equal(th_loop_new(&s.loop, &err), TH_OK);
	assert_int_equal(
	    th_settings_parse(TH_STR("{\"webhooks\":[{\"url\":\"http://127.0.0.1:1/\",\"private\":"
				     "true,\"secret\":\"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"}]"
				     "}"),
			      &s.settings, &err),
	    TH_OK);
	s.webhooks = th_webhooks_new(&s, th_str_of(path));
	h = s.webhooks->first;
	for (int more = 0; more < 2; more++) {
		th_buf_clear(&line);
		th_buf_printf(&line, "{\"webhook\":\"%s\",\"since_ms\":1,\"done\":[", h->to.name);
		for (int i = 0; i < TH_WEBHOOK_DONE_MAX + more; i++)
			th_buf_printf(&line, "%s[%lld,\"%032x\"]", i ? "," : "",
				      (long long)now_ms + i, i);
		th_buf_add_cstr(&line, "]}\n");
		assert_int_equal(th_file_write(path, th_buf_str(&line), 0600, &err), TH_OK);
		assert_int_equal(th_webhooks_load(s.webhooks, &err), TH_OK);
		assert_int_equal(h->done_count, TH_WEBHOOK_DONE_MAX);
	}
	assert_int_equal(th_webhooks_save(s.webhooks, &err), TH_OK);
	h->done_count = 0;
	assert_int_equal(th_webhooks_load(s.webhooks, &err), TH_OK);
	assert_int_equal(h->done_count, TH_WEBHOOK_DONE_MAX);
	write_text(path, '\n', TH_WEBHOOK_FILE_MAX);
	assert_int_equal(th_webhooks_load(s.webhooks, &err), TH_OK);
	write_text(path, '\n', TH_WEBHOOK_FILE_MAX + 1);
	assert_int_equal(th_webhooks_load(s.webhooks, &err), TH_ELIMIT);
	s.webhooks = th_webhooks_free(s.webhooks);
	th_settings_deinit(&s.settings);
	th_loop_free(s.loop);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

static bool flies(const struct th_webhook *h)
{
	for (size_t i = 0; i < TH_WEBHOOK_FLIGHT_MAX; i++)
		if (h->flight[i])
			return true;
	return false;
}

/* All that was under way when nobody answered is one failure: who was away for a moment is not left
 * alone for an hour. */
static void test_a_failure_of_several(void **state)
{
	struct th_server s = { .o.journal = -1 };
	const struct th_webhook *h;
	struct th_err err = {};
	char event[200];

	(void)state;
	assert_int_equal(th_loop_new(&s.loop, &err), TH_OK);
	assert_int_equal(
	    th_settings_parse(TH_STR("{\"webhooks\":[{\"url\":\"http://127.0.0.1:1/\",\"private\":"
				     "true,\"secret\":\"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"}]"
				     "}"),
			      &s.settings, &err),
	    TH_OK);
	s.webhooks = th_webhooks_new(&s, TH_STR(""));
	h = s.webhooks->first;
	for (int i = 1; i <= TH_WEBHOOK_FLIGHT_MAX; i++) {
		snprintf(event, sizeof(event),
			 "{\"seq\":%d,\"ts_ms\":%d,\"kind\":\"final\",\"data\":{}}", i, 1000 + i);
		th_webhooks_event(s.webhooks, "s", "ann", th_str_of(event));
	}
	assert_int_equal(h->count, 0);
	while (flies(h))
		(void)th_loop_pass(s.loop);
	assert_int_equal(s.webhooks->failed, TH_WEBHOOK_FLIGHT_MAX);
	assert_int_equal(h->count, TH_WEBHOOK_FLIGHT_MAX);
	assert_int_equal(h->failures, 1);
	s.webhooks = th_webhooks_free(s.webhooks);
	th_settings_deinit(&s.settings);
	th_loop_free(s.loop);
}

#define SECRET "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

/* As many webhooks as there may be, each of which has taken as many as are remembered. */
static void test_the_fullest_file(void **state)
{
	char folder[] = "/tmp/thole-webhooks-XXXXXX", path[100];
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_server s = { .o.journal = -1 };
	int64_t since_ms = (int64_t)th_clock_wall_ms() - 1000;
	struct th_err err = {};

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/webhooks", folder);
	th_buf_add_cstr(&json, "{\"webhooks\":[");
	for (int i = 0; i < TH_WEBHOOKS_MAX; i++)
		th_buf_printf(
		    &json,
		    "%s{\"url\":\"http://127.0.0.1:1/%d\",\"private\":true,\"secret\":\"" SECRET
		    "\"}",
		    i ? "," : "", i);
	th_buf_add_cstr(&json, "]}");
	assert_int_equal(th_loop_new(&s.loop, &err), TH_OK);
	assert_int_equal(th_settings_parse(th_buf_str(&json), &s.settings, &err), TH_OK);
	s.webhooks = th_webhooks_new(&s, th_str_of(path));
	for (struct th_webhook *h = s.webhooks->first; h; h = h->next) {
		h->since_ms = since_ms;
		h->done = th_alloc(TH_WEBHOOK_DONE_MAX * sizeof(*h->done));
		for (; h->done_count < TH_WEBHOOK_DONE_MAX; h->done_count++)
			h->done[h->done_count].ts_ms = since_ms + (int64_t)h->done_count;
	}
	assert_int_equal(th_webhooks_save(s.webhooks, &err), TH_OK);
	for (struct th_webhook *h = s.webhooks->first; h; h = h->next)
		h->done_count = 0;
	assert_int_equal(th_webhooks_load(s.webhooks, &err), TH_OK);
	for (struct th_webhook *h = s.webhooks->first; h; h = h->next)
		assert_int_equal(h->done_count, TH_WEBHOOK_DONE_MAX);
	s.webhooks = th_webhooks_free(s.webhooks);
	th_settings_deinit(&s.settings);
	th_loop_free(s.loop);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

/* A client's hook is measured as the file has it: a text may be longer there. */
static void test_the_largest_hook(void **state)
{
	struct th_server s = { .o.journal = -1 };
	struct th_webhooks w = { .server = &s };
	struct th_client_hook c = {
		.service = TH_STR("a2a"),
		.session = TH_STR("s"),
		.user = TH_STR("ann"),
		.url = TH_STR("https://example.org/"),
		.more = TH_STR("{}"),
	};
	char id[TH_CLIENT_HOOK_SIZE_MAX] = { 0 };
	struct th_err err = {};

	(void)state;
	memset(id, 1, sizeof(id)); /* \u0001 */
	c.id = th_str_n(id, TH_CLIENT_HOOK_SIZE_MAX / 6 - 40);
	assert_int_equal(th_client_hook_check(&w, &c, &err), TH_OK);
	c.id = th_str_n(id, TH_CLIENT_HOOK_SIZE_MAX / 6);
	assert_int_equal(th_client_hook_check(&w, &c, &err), TH_ELIMIT);
}

static void test_off_after_three_days(void **state)
{
	(void)state;
	assert_false(th_webhook_is_lost(5, 5 + TH_WEBHOOK_DISABLE_MS - 1));
	assert_true(th_webhook_is_lost(5, 5 + TH_WEBHOOK_DISABLE_MS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signature),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_long_texts_are_cut),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_the_number_of_one),
		cmocka_unit_test(test_the_fullest_queue),
		cmocka_unit_test(test_a_failure_of_several),
		cmocka_unit_test(test_what_the_file_remembers),
		cmocka_unit_test(test_the_fullest_file),
		cmocka_unit_test(test_the_largest_hook),
		cmocka_unit_test(test_off_after_three_days),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
