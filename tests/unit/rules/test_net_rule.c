/* SPDX-License-Identifier: Apache-2.0 */
/* test_net_rule.c - lists of hosts: what is an entry, and what it lets through. */
#include "unit.h"

#include <stdio.h>

#include "base/limits.h"
#include "rules/net_rule.h"

struct list {
	struct th_arena arena;
	struct th_net_policy policy;
	size_t at;
	struct th_err err;
};

static enum th_code parse(struct list *l, const char *json)
{
	th_arena_init(&l->arena, TH_MIB);
	return th_net_parse(th_str_of(json), &l->arena, &l->policy, &l->at, &l->err);
}

/* As a proxy asks: a host as it is normalised.  `request`: "METHOD PATH" or NULL for a tunnel. */
static bool reaches(const char *json, const char *host, int port, const char *request)
{
	struct th_str path = th_str_of(request), method = th_str_split(&path, ' ');
	char normal[TH_NET_HOST_MAX + 1];
	struct th_net_target t = { .port = (uint16_t)port, .method = method, .path = path };
	struct list l;

	assert_int_equal(parse(&l, json), TH_OK);
	bool there = th_net_host(th_str_of(host), normal, &t.address);
	t.host = th_str_of(normal);
	there = there && th_net_match(&l.policy, &t);
	th_arena_deinit(&l.arena);
	return there;
}

static void test_kinds(void **state)
{
	static const struct {
		const char *json;
		enum th_net_kind kind;
	} rows[] = { { "", TH_NET_NONE },
		     { "null", TH_NET_NONE },
		     { "\"none\"", TH_NET_NONE },
		     { "\"host\"", TH_NET_HOST },
		     { "[\"a.example\"]", TH_NET_LIST } };

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct list l;

		assert_int_equal(parse(&l, rows[i].json), TH_OK);
		assert_int_equal(l.policy.kind, rows[i].kind);
		assert_int_equal(th_net_kind_of(th_str_of(rows[i].json)), rows[i].kind);
		th_arena_deinit(&l.arena);
	}
}

static void test_bad_entries(void **state)
{
	static const struct {
		const char *json, *says;
		size_t at;
	} rows[] = {
		{ "true", "must be none, host or a list", SIZE_MAX },
		{ "\"all\"", "must be none, host or a list", SIZE_MAX },
		{ "{\"allow\":[\"a.b\"]}", "must be none, host or a list", SIZE_MAX },
		{ "[]", "empty list", SIZE_MAX },
		{ "[\"a.example\",7]", "must be a string", 1 },
		{ "[\"https://a.example\"]", "is a URL", 0 },
		{ "[\"a.example:0\"]", "has a port", 0 },
		{ "[\"a.example:65536\"]", "has a port", 0 },
		{ "[\"a.example:+80\"]", "has a port", 0 },
		{ "[\"a.example:\"]", "has a port", 0 },
		{ "[\"get a.example\"]", "has a blank", 0 },
		{ "[\"\"]", "must be HOST", 0 },
		{ "[\"*\", \"a.*.example\"]", "must be HOST", 1 },
		{ "[\"*.10.0.0.1\"]", "must be HOST", 0 },
		{ "[\"a..example\"]", "must be HOST", 0 },
		{ "[\"-a.example\"]", "must be HOST", 0 },
		{ "[\"0x7f.1\"]", "must be HOST", 0 },
		{ "[\"2130706433\"]", "must be HOST", 0 },
		{ "[\"127.1\"]", "must be HOST", 0 },
		{ "[\"010.0.0.1\"]", "must be HOST", 0 },
		{ "[\"user@a.example\"]", "must be HOST", 0 },
		{ "[\"[a.example]\"]", "must be HOST", 0 },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct list l;

		assert_int_equal(parse(&l, rows[i].json), TH_EUSAGE);
		assert_int_equal(l.at, rows[i].at);
		assert_non_null(strstr(l.err.msg, rows[i].says));
		assert_null(l.policy.rules);
		th_arena_deinit(&l.arena);
	}
}

static void test_names(void **state)
{
	(void)state;
	assert_true(reaches("[\"files.example\"]", "files.example", 443, NULL));
	assert_true(reaches("[\"files.example\"]", "Files.Example.", 80, NULL));
	assert_true(reaches("[\"Files.Example\"]", "files.example", 80, "GET /simple/"));
	assert_false(reaches("[\"files.example\"]", "files.example", 22, NULL));
	assert_false(reaches("[\"files.example\"]", "files.files.example", 443, NULL));
	assert_false(reaches("[\"files.example\"]", "files.example.evil.example", 443, NULL));
	assert_false(reaches("[\"files.example\"]", "xfiles.example", 443, NULL));
	assert_true(reaches("[\"*.github.com:443\"]", "api.github.com", 443, NULL));
	assert_true(reaches("[\"*.github.com:443\"]", "a.b.github.com", 443, NULL));
	assert_false(reaches("[\"*.github.com:443\"]", "api.github.com", 80, NULL));
	assert_false(reaches("[\"*.github.com:443\"]", "github.com", 443, NULL));
	assert_false(reaches("[\"*.github.com:443\"]", "xgithub.com", 443, NULL));
	assert_false(reaches("[\"*.github.com:443\"]", ".github.com", 443, NULL));
	assert_true(reaches("[\"*\"]", "any.example", 443, NULL));
	assert_false(reaches("[\"*\"]", "any.example", 25, NULL));
	assert_true(reaches("[\"*:*\"]", "any.example", 25, NULL));
	assert_false(reaches("\"none\"", "any.example", 443, NULL));
	assert_false(reaches("\"host\"", "any.example", 443, NULL)); /* no list decides there */
}

static void test_addresses(void **state)
{
	struct list l;

	(void)state;
	assert_true(reaches("[\"10.0.0.5:5432\"]", "10.0.0.5", 5432, NULL));
	assert_false(reaches("[\"10.0.0.5:5432\"]", "10.0.0.5", 5433, NULL));
	assert_false(reaches("[\"10.0.0.5\"]", "10.0.0.50", 80, NULL));
	assert_true(reaches("[\"[2001:db8::1]:8080\"]", "[2001:DB8::1]", 8080, NULL));
	assert_false(reaches("[\"x.example\"]", "10.0.0.5", 80, NULL));
	assert_int_equal(parse(&l, "[\"*:*\", \"10.0.0.5:5432\"]"), TH_OK);
	assert_true(th_net_lists_address(&l.policy, TH_STR("10.0.0.5"), 5432));
	assert_false(th_net_lists_address(&l.policy, TH_STR("10.0.0.5"), 80));
	assert_false(
	    th_net_lists_address(&l.policy, TH_STR("127.0.0.1"), 80)); /* * is no address */
	th_arena_deinit(&l.arena);
}

static void test_paths(void **state)
{
	const char *debian = "[\"GET deb.example/debian/**\"]";

	(void)state;
	assert_true(reaches(debian, "deb.example", 80, "GET /debian/dists/a"));
	assert_true(reaches(debian, "deb.example", 80, "GET /debian/x?y=/../z"));
	assert_false(reaches(debian, "deb.example", 80, "POST /debian/dists/a"));
	assert_false(reaches(debian, "deb.example", 80, "GET /other"));
	assert_false(reaches(debian, "deb.example", 80, "GET /debian/../other"));
	assert_false(reaches(debian, "deb.example", 80, "GET /debian/%2e%2e/other"));
	assert_false(reaches(debian, "deb.example", 80, "GET /debian/..\\other"));
	assert_false(reaches(debian, "deb.example", 80, "GET /debian/..;/other"));
	assert_false(reaches(debian, "deb.example", 443, NULL)); /* nobody sees a path there */
	assert_true(reaches("[\"HEAD a.example\"]", "a.example", 80, "HEAD /%41"));
	assert_false(reaches("[\"a.example/*\"]", "a.example", 80, "GET /a/b"));
	assert_true(reaches("[\"a.example/*\",\"a.example\"]", "a.example", 443, NULL));
}

/* What an entry has decided about nobody is asked about. */
static void test_what_the_list_names(void **state)
{
	struct th_arena a = {};
	struct th_net_policy p;
	struct th_err err;
	const struct {
		const char *host;
		uint16_t port;
		bool names;
	} rows[] = {
		{ "a.example", 80, true },   { "a.example", 443, true }, { "a.example", 81, false },
		{ "x.b.example", 9, true },  { "b.example", 9, false },  { "c.example", 80, false },
		{ "xa.example", 80, false },
	};

	(void)state;
	th_arena_init(&a, TH_MIB);
	assert_int_equal(th_net_parse(TH_STR("[\"GET a.example/pool/**\",\"*.b.example:9\"]"), &a,
				      &p, NULL, &err),
			 TH_OK);
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		const struct th_net_target t = { .host = th_str_of(rows[i].host),
						 .port = rows[i].port };
		assert_int_equal(th_net_names(&p, &t), rows[i].names);
	}
	th_arena_deinit(&a);
}

/* One byte more, less or other in a host is another host. */
static void test_neighbours(void **state)
{
	const char *host = "api.github.com";
	size_t len = strlen(host);

	(void)state;
	for (size_t i = 0; i < len; i++)
		for (int c = 1; c < 256; c++) {
			char other[32];
			bool same = (c | 0x20) == host[i] && c >= 'A' && c <= 'Z';

			snprintf(other, sizeof(other), "%s", host);
			other[i] = (char)c;
			if (c != host[i] && !same)
				assert_false(reaches("[\"api.github.com\"]", other, 443, NULL));
		}
	for (size_t i = 0; i < len; i++) {
		char cut[32];

		snprintf(cut, sizeof(cut), "%.*s%s", (int)i, host, host + i + 1);
		assert_false(reaches("[\"api.github.com\"]", cut, 443, NULL));
	}
}

static void test_limits(void **state)
{
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	char host[TH_NET_HOST_MAX + 1], name[300];
	struct list l;
	bool address;

	(void)state;
	for (int more = 0; more < 2; more++) {
		th_buf_clear(&text);
		for (int i = 0; i < TH_NET_RULES_MAX + more; i++)
			th_buf_printf(&text, "%s\"a%d.example\"", i ? "," : "[", i);
		th_buf_add_char(&text, ']');
		assert_int_equal(parse(&l, text.ptr), more ? TH_EUSAGE : TH_OK);
		th_arena_deinit(&l.arena);
		th_buf_clear(&text);
		th_buf_printf(&text, "[\"a.example/%0*d\"]", TH_NET_RULE_LEN_MAX - 10 + more, 7);
		assert_int_equal(parse(&l, text.ptr), more ? TH_EUSAGE : TH_OK);
		th_arena_deinit(&l.arena);
	}
	th_buf_deinit(&text);
	for (size_t i = 0; i < sizeof(name) - 1; i++)
		name[i] = i % 50 == 49 ? '.' : 'a';
	assert_true(th_net_host(th_str_n(name, TH_NET_HOST_MAX), host, &address));
	assert_false(th_net_host(th_str_n(name, TH_NET_HOST_MAX + 1), host, &address));
}

static void test_words(void **state)
{
	static const char *const rows[][2] = {
		{ "host", "\"host\"" },
		{ "none", "\"none\"" },
		{ "a.example, *.b.example:443", "[\"a.example\",\"*.b.example:443\"]" },
		{ "", "[]" },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_buf out = TH_BUF_INIT(TH_KIB);

		th_net_of_words(th_str_of(rows[i][0]), &out);
		assert_string_equal(out.ptr, rows[i][1]);
		th_buf_deinit(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),      cmocka_unit_test(test_bad_entries),
		cmocka_unit_test(test_names),      cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_paths),      cmocka_unit_test(test_what_the_list_names),
		cmocka_unit_test(test_neighbours), cmocka_unit_test(test_limits),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
