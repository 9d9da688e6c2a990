/* SPDX-License-Identifier: Apache-2.0 */
#include "server/settings.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "unit.h"

static struct th_settings read_good(const char *json)
{
	struct th_settings s = {};
	struct th_err err = {};

	if (th_settings_parse(th_str_of(json), &s, &err) != TH_OK)
		fail_msg("%s: %s", json, err.msg);
	return s;
}

static void read_bad(struct th_str json, const char *word)
{
	struct th_settings s = {};
	struct th_err err = {};

	assert_int_not_equal(th_settings_parse(json, &s, &err), TH_OK);
	if (!strstr(err.msg, word) || strncmp(err.msg, "serve", 5) != 0)
		fail_msg("%s", err.msg);
}

static bool trusts(const struct th_settings *s, const char *text)
{
	struct th_address a;

	assert_true(th_address_parse(th_str_of(text), &a));
	return th_settings_trusts(s, &a);
}

static void test_proxies(void **state)
{
	struct th_settings s = read_good("{\"proxies\":[\"10.0.0.0/8\",\"unix\",\"::1\"]}");

	(void)state;
	assert_true(s.proxy_unix && trusts(&s, "10.9.8.7") && trusts(&s, "::1"));
	assert_false(trusts(&s, "11.0.0.1") || trusts(&s, "127.0.0.1"));
	th_settings_deinit(&s);
	s = read_good("");
	assert_false(s.proxy_unix || trusts(&s, "127.0.0.1"));
	th_settings_deinit(&s);
	read_bad(TH_STR("{\"proxies\":[\"::1\",\"localhost\"]}"), "proxies[1]");
}

static void test_quotas(void **state)
{
	struct th_settings s =
	    read_good("{\"sessions_per_user\":3,\"requests_per_second\":7,\"users\":[{\"name\":"
		      "\"zoe\",\"sessions\":0},{\"name\":\"ann\",\"requests_per_second\":90}]}");
	struct th_quota q = th_settings_quota(&s, "bob");

	(void)state;
	assert_int_equal(q.sessions, 3);
	assert_int_equal(q.requests_per_second, 7);
	q = th_settings_quota(&s, "zoe");
	assert_int_equal(q.sessions, 0);
	assert_int_equal(q.requests_per_second, 7);
	q = th_settings_quota(&s, "ann");
	assert_int_equal(q.sessions, 3);
	assert_int_equal(q.requests_per_second, 90);
	th_settings_deinit(&s);
	read_bad(TH_STR("{\"users\":[{\"name\":\"a\"},{\"name\":\"a\"}]}"), "twice");
	read_bad(TH_STR("{\"users\":[{\"sessions\":1}]}"), "users[0].name");
	read_bad(TH_STR("{\"users\":[{\"name\":\"a\",\"sessions\":-1}]}"), "users[0].sessions");
	/* How high a user's sessions may go. */
	assert_int_equal(q.priority, TH_PRIORITY_NORMAL);
	s = read_good("{\"priority\":\"low\",\"users\":[{\"name\":\"zoe\",\"priority\":\"high\"},"
		      "{\"name\":\"ann\"}]}");
	assert_int_equal(th_settings_quota(&s, "bob").priority, TH_PRIORITY_LOW);
	assert_int_equal(th_settings_quota(&s, "ann").priority, TH_PRIORITY_LOW);
	assert_int_equal(th_settings_quota(&s, "zoe").priority, TH_PRIORITY_HIGH);
	th_settings_deinit(&s);
	read_bad(TH_STR("{\"priority\":\"highest\"}"), "priority is low, normal or high");
	read_bad(TH_STR("{\"users\":[{\"name\":\"a\",\"priority\":\"1\"}]}"), "users: priority is");
}

#define WEBHOOK "{\"url\":\"https://h#/\",\"secret\":\"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"}"

/* A list of `count` times this text, with a number in it. */
static void put_list(struct th_buf *out, const char *name, const char *format, int count)
{
	th_buf_clear(out);
	th_buf_printf(out, "{\"%s\":[", name);
	for (int i = 0; i < count; i++) {
		char one[100];
		const char *mark = strchr(format, '#');

		snprintf(one, sizeof(one), "%.*s%d%s", (int)(mark - format), format, i, mark + 1);
		th_buf_printf(out, "%s%s", i ? "," : "", one);
	}
	th_buf_add_cstr(out, "]}");
}

static void test_secret_servers(void **state)
{
	struct th_settings s =
	    read_good("{\"secret_servers\":[\"https://a.example\",\"http://[::1]:8080\"]}");
	static const char *const good[] = { "https://a.example", "https://a.example/x",
					    "HTTPS://A.example?x", "http://[::1]:8080/" },
				 *const bad[] = { "http://a.example/",
						  "https://a.example:444/",
						  "https://a.example@b.example/",
						  "https://a.example.b/",
						  "https://a.example\\b",
						  "https://b.example/",
						  "",
						  "https://a.example#/",
						  "http://[::1]:80801/" };
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);

	(void)state;
	for (size_t i = 0; i < TH_COUNT(good); i++)
		assert_true(th_settings_secret_server(&s, th_str_of(good[i])));
	for (size_t i = 0; i < TH_COUNT(bad); i++)
		assert_false(th_settings_secret_server(&s, th_str_of(bad[i])));
	th_settings_deinit(&s);
	s = read_good("");
	assert_false(th_settings_secret_server(&s, TH_STR("https://a.example/")));
	th_settings_deinit(&s);
	read_bad(TH_STR("{\"secret_servers\":[\"https://a.example/\"]}"), "secret_servers[0]");
	read_bad(TH_STR("{\"secret_servers\":[\"https://b@a.example\"]}"), "https://HOST");
	read_bad(TH_STR("{\"secret_servers\":[\"a.example\"]}"), "https://HOST");
	read_bad(TH_STR("{\"secret_servers\":[\"https://\"]}"), "https://HOST");
	put_list(&text, "secret_servers", "\"https://h#\"", TH_SERVE_SECRET_SERVERS_MAX);
	s = read_good(text.ptr);
	th_settings_deinit(&s);
	put_list(&text, "secret_servers", "\"https://h#\"", TH_SERVE_SECRET_SERVERS_MAX + 1);
	read_bad(th_buf_str(&text), "secret_servers: at most 64");
}

static void test_edges(void **state)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_settings s;

	(void)state;
	put_list(&json, "proxies", "\"10.0.#.0/24\"", TH_SERVE_PROXIES_MAX);
	s = read_good(json.ptr);
	th_settings_deinit(&s);
	put_list(&json, "proxies", "\"10.0.#.0/24\"", TH_SERVE_PROXIES_MAX + 1);
	read_bad(th_buf_str(&json), "at most");
	put_list(&json, "webhooks", WEBHOOK, TH_WEBHOOKS_MAX);
	s = read_good(json.ptr);
	assert_int_equal(s.webhook_count, TH_WEBHOOKS_MAX);
	th_settings_deinit(&s);
	put_list(&json, "webhooks", WEBHOOK, TH_WEBHOOKS_MAX + 1);
	read_bad(th_buf_str(&json), "at most");
	put_list(&json, "users", "{\"name\":\"u#\"}", TH_SERVE_USERS_MAX);
	s = read_good(json.ptr);
	th_settings_deinit(&s);
	put_list(&json, "users", "{\"name\":\"u#\"}", TH_SERVE_USERS_MAX + 1);
	read_bad(th_buf_str(&json), "at most");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_proxies),
		cmocka_unit_test(test_secret_servers),
		cmocka_unit_test(test_quotas),
		cmocka_unit_test(test_edges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
