/* SPDX-License-Identifier: Apache-2.0 */
#include "io/address.h"

#include <netinet/in.h>
#include <sys/un.h>

#include "unit.h"

static struct th_address get(const char *text)
{
	struct th_address a = {};

	if (!th_address_parse(th_str_of(text), &a))
		fail_msg("%s is no address", text);
	return a;
}

static void test_text(void **state)
{
	static const char *const same[][2] = {
		{ "192.0.2.1", "192.0.2.1" },
		{ "::ffff:192.0.2.1", "192.0.2.1" },
		{ "[::1]", "::1" },
		{ "2001:DB8:0:0::1", "2001:db8::1" },
		{ "::192.0.2.1", "::192.0.2.1" },
		{ "0.0.0.0", "0.0.0.0" },
	};
	static const char *const none[] = { "",          "a",        "1.2.3",    "01.2.3.4",
					    "1.2.3.4.5", "0x7f.1",   "1.2.3.4 ", "[::1",
					    "::1%lo",    "::1]",     "[]",       "localhost",
					    "256.1.1.1", "1.2.3.4/8" };
	struct th_address a;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(same); i++) {
		struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(100);

		a = get(same[i][0]);
		th_address_print(&a, &text);
		assert_string_equal(text.ptr, same[i][1]);
	}
	for (size_t i = 0; i < TH_COUNT(none); i++)
		if (th_address_parse(th_str_of(none[i]), &a))
			fail_msg("%s is an address", none[i]);
	assert_false(th_address_parse(TH_STR("1.2.3.4\0"), &a));
}

static void test_of_the_kernel(void **state)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_un file = { .sun_family = AF_UNIX };
	struct th_address a, b = get("127.0.0.1");

	(void)state;
	assert_true(th_address_of((const struct sockaddr *)&v4, &a));
	assert_memory_equal(&a, &b, sizeof(a));
	b = get("::1");
	assert_true(th_address_of((const struct sockaddr *)&v6, &a));
	assert_memory_equal(&a, &b, sizeof(a));
	assert_false(th_address_of((const struct sockaddr *)&file, &a));
}

static void test_ranges(void **state)
{
	static const struct {
		const char *range, *address;
		bool in;
	} cases[] = {
		{ "10.0.0.0/8", "10.255.255.255", true },
		{ "10.0.0.0/8", "11.0.0.0", false },
		{ "172.16.0.0/12", "172.31.0.1", true },
		{ "172.16.0.0/12", "172.32.0.1", false },
		{ "192.0.2.1", "192.0.2.1", true },
		{ "192.0.2.1", "192.0.2.0", false },
		{ "0.0.0.0/0", "1.2.3.4", true },
		{ "0.0.0.0/0", "2001:db8::1", false },
		{ "::/0", "1.2.3.4", true },
		{ "fe80::/10", "febf::1", true },
		{ "fe80::/10", "fec0::1", false },
		{ "10.0.0.0/8", "::ffff:10.1.1.1", true },
	};
	static const char *const none[] = { "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1",
					    "10.0.0.0/8x", "::/129",    "x/8",
					    "/8",          "10.0.0/8" };
	struct th_subnet s;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		struct th_address a = get(cases[i].address);

		assert_true(th_subnet_parse(th_str_of(cases[i].range), &s));
		if (th_subnet_has(&s, &a) != cases[i].in)
			fail_msg("%s in %s", cases[i].address, cases[i].range);
	}
	for (size_t i = 0; i < TH_COUNT(none); i++)
		if (th_subnet_parse(th_str_of(none[i]), &s))
			fail_msg("%s is a range", none[i]);
}

static void test_public(void **state)
{
	static const char *const yes[] = { "1.1.1.1",        "9.255.255.255",   "11.0.0.0",
					   "100.63.255.255", "100.128.0.0",     "172.15.0.1",
					   "172.32.0.1",     "192.167.255.255", "223.255.255.255",
					   "2606:4700::1",   "::ffff:8.8.8.8",  "64:ff9b::808:808",
					   "2a00::1" };
	static const char *const no[] = {
		"0.0.0.0",
		"0.1.2.3",
		"10.0.0.1",
		"100.64.0.1",
		"127.0.0.1",
		"127.255.0.1",
		"169.254.169.254",
		"172.16.0.1",
		"172.31.255.255",
		"192.0.0.8",
		"192.168.1.1",
		"198.18.0.1",
		"224.0.0.1",
		"255.255.255.255",
		"::",
		"::1",
		"::ffff:127.0.0.1",
		"::ffff:10.0.0.1",
		"::127.0.0.1",
		"fe80::1",
		"fc00::1",
		"fd12::1",
		"ff02::1",
		"2002:7f00:1::",
		"2001::1",
		"2001:db8::1",
		"64:ff9b::7f00:1",
		"64:ff9b::a9fe:a9fe",
		"64:ff9b:1::1",
		"4000::1",
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(yes) + TH_COUNT(no); i++) {
		bool wanted = i < TH_COUNT(yes);
		const char *text = wanted ? yes[i] : no[i - TH_COUNT(yes)];
		struct th_address a = get(text);

		if (th_address_is_public(&a) != wanted)
			fail_msg("%s", text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_of_the_kernel),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_public),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
