/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/authority.h"

#include "unit.h"

static void finds_the_host(void **state)
{
	static const char *const cases[][2] = {
		{ "example.com", "example.com" },
		{ "example.com:80", "example.com" },
		{ "example.com:", "example.com" },
		{ "[::1]:65535", "[::1]" },
		{ "[::1]", "[::1]" },
		{ "example.com:123456", "" },
		{ "example.com:8a", "" },
		{ "[::1]x", "" },
		{ "[::1", "" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++)
		assert_true(th_str_is(th_authority_host(th_str_of(cases[i][0])), cases[i][1]));
}

static void finds_the_authority_of_a_url(void **state)
{
	(void)state;
	assert_true(th_str_is(th_authority_of_url(TH_STR("http://a:1/b://c")), "a:1"));
	assert_true(th_str_is(th_authority_of_url(TH_STR("http://a")), "a"));
	assert_true(th_str_is(th_authority_of_url(TH_STR("http:///b")), ""));
	assert_null(th_authority_of_url(TH_STR("a:1/b")).ptr);
}

static void knows_this_machine(void **state)
{
	static const struct {
		const char *host;
		bool here;
	} cases[] = {
		{ "localhost", true },       { "LOCALHOST:1", true },
		{ "127.0.0.1:80", true },    { "[::1]:80", true },
		{ "127.0.0.1:x", false },    { "localhost.evil.example", false },
		{ "127.0.0.1.x", false },    { "evil.example", false },
		{ "evil:localhost", false }, { "", false },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++)
		assert_int_equal(th_authority_is_loopback(th_str_of(cases[i].host)), cases[i].here);
}

static void compares_origins(void **state)
{
	static const struct {
		const char *origin, *host;
		bool secure, same;
	} cases[] = {
		{ "http://localhost:1", "LOCALHOST:1", false, true },
		{ "https://localhost:1", "localhost:1", true, true },
		{ "http://localhost:2", "localhost:1", false, false },
		{ "https://localhost:1", "localhost:1", false, false },
		{ "http://localhost:1", "localhost:1", true, false },
		{ "http://localhost:1/", "localhost:1", false, false },
		{ "http://", "", false, false },
		{ "null", "localhost:1", false, false },
		{ "", "localhost:1", false, false },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++)
		assert_int_equal(th_authority_is_origin(th_str_of(cases[i].origin),
							th_str_of(cases[i].host), cases[i].secure),
				 cases[i].same);
}

static void finds_whether_a_url_leads_there(void **state)
{
	static const struct {
		const char *url, *origin;
		bool leads;
	} cases[] = {
		{ "https://a.example/mcp", "https://a.example", true },
		{ "HTTPS://A.example?x", "https://a.example", true },
		{ "https://a.example", "https://a.example", true },
		{ "https://a.example:8443/mcp", "https://a.example", false },
		{ "https://a.example:8443/mcp", "https://a.example:8443", true },
		{ "https://a.example@evil.example/", "https://a.example", false },
		{ "https://a.example.evil.example/", "https://a.example", false },
		{ "https://a.example\\@evil.example/", "https://a.example", false },
		{ "http://a.example/", "https://a.example", false },
		{ "", "https://a.example", false },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++)
		assert_int_equal(
		    th_authority_url_of(th_str_of(cases[i].url), th_str_of(cases[i].origin)),
		    cases[i].leads);
	assert_true(th_authority_origin_ok(TH_STR("https://a.example:8443")));
	assert_true(th_authority_origin_ok(TH_STR("http://[::1]:80")));
	assert_false(th_authority_origin_ok(TH_STR("https://A.example")));
	assert_false(th_authority_origin_ok(TH_STR("https://a.example/")));
	assert_false(th_authority_origin_ok(TH_STR("https://")));
	assert_false(th_authority_origin_ok(TH_STR("a.example")));
	assert_false(th_authority_origin_ok(TH_STR("")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_host),
		cmocka_unit_test(finds_the_authority_of_a_url),
		cmocka_unit_test(knows_this_machine),
		cmocka_unit_test(compares_origins),
		cmocka_unit_test(finds_whether_a_url_leads_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
