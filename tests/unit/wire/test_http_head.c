/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/http_head.h"

#include "unit.h"

#include "base/buf.h"
#include "base/limits.h"

static struct th_err err;
static struct th_http_head h;

static enum th_code read_head(const char *text)
{
	return th_http_head_read(th_str_of(text), &h, &err);
}

static void reads_what_is_needed(void **state)
{
	static const char request[] =
	    "POST /complete/a1?x=/y HTTP/1.1\r\nhost: localhost:8002\r\n"
	    "AUTHORIZATION: bearer  secret \r\nContent-Length: 7\r\n"
	    "Origin: http://localhost:8002\r\nX-Other: a: b\r\n\r\n{\"a\":1}";

	(void)state;
	for (size_t i = 0; i < sizeof(request) - 8; i++) {
		assert_int_equal(th_http_head_read(th_str_n(request, i), &h, &err), TH_OK);
		assert_int_equal(h.size, 0);
	}
	assert_int_equal(read_head(request), TH_OK);
	assert_int_equal(h.size, sizeof(request) - 8);
	assert_int_equal(h.body_size, 7);
	assert_true(th_str_is(h.method, "POST"));
	assert_true(th_str_is(h.path, "/complete/a1"));
	assert_true(th_str_is(h.token, "secret"));
	assert_true(th_http_head_local(&h));
	assert_int_equal(read_head("GET / HTTP/1.1\r\nX-API-Key: k\r\n\r\n"), TH_OK);
	assert_true(th_str_is(h.token, "k"));
	assert_false(th_http_head_local(&h)); /* no host */
}

static void refuses_the_rest(void **state)
{
	static const char *const bad[] = {
		"GET\r\n\r\n",
		"GET / FTP/1.1\r\n\r\n",
		"GET x HTTP/1.1\r\n\r\n",
		"GET  HTTP/1.1\r\n\r\n",
		"GET /\x01 HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1\r\n: x\r\n\r\n",
		"GET / HTTP/1.1\r\na b: x\r\n\r\n",
		"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
		"GET / HTTP/1.1\r\nContent-Length: 1x\r\n\r\n",
		"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(bad); i++)
		assert_int_equal(read_head(bad[i]), TH_EPROTO);
}

static void keeps_its_limits(void **state)
{
	struct th_buf text = TH_BUF_INIT(TH_MIB);

	(void)state;
	th_buf_printf(&text, "POST / HTTP/1.1\r\nContent-Length: %zu\r\n\r\n", TH_HUMAN_BODY_MAX);
	assert_int_equal(read_head(text.ptr), TH_OK);
	th_buf_clear(&text);
	th_buf_printf(&text, "POST / HTTP/1.1\r\nContent-Length: %zu\r\n\r\n",
		      TH_HUMAN_BODY_MAX + 1);
	assert_int_equal(read_head(text.ptr), TH_ELIMIT);
	th_buf_clear(&text);
	th_buf_add_cstr(&text, "GET / HTTP/1.1\r\na: ");
	while (text.len < TH_REQUEST_HEAD_MAX)
		th_buf_add_char(&text, 'x');
	assert_int_equal(read_head(text.ptr), TH_OK); /* it may still end here */
	th_buf_add_cstr(&text, "\r\n\r\n");
	assert_int_equal(read_head(text.ptr), TH_OK);
	assert_int_equal(h.size, TH_REQUEST_HEAD_MAX + 4);
	text.len -= 4;
	th_buf_add_cstr(&text, "x\r\n\r\n");
	assert_int_equal(read_head(text.ptr), TH_ELIMIT);
	th_buf_truncate(&text, TH_REQUEST_HEAD_MAX + 1);
	assert_int_equal(th_http_head_read(th_buf_str(&text), &h, &err), TH_ELIMIT);
	th_buf_deinit(&text);
}

static void knows_this_machine(void **state)
{
	static const struct {
		const char *host, *origin;
		bool here;
	} cases[] = {
		{ "localhost", "", true },
		{ "127.0.0.1:80", "", true },
		{ "[::1]:80", "", true },
		{ "LOCALHOST:1", "http://localhost:1", true },
		{ "localhost:1", "http://localhost:2", false },
		{ "localhost:1", "https://localhost:1", false },
		{ "localhost:1", "null", false },
		{ "localhost.evil.example", "", false },
		{ "127.0.0.1.evil.example", "", false },
		{ "evil.example", "", false },
		{ "", "", false },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		h = (struct th_http_head){ .host = th_str_of(cases[i].host),
					   .origin = th_str_of(cases[i].origin) };
		assert_int_equal(th_http_head_local(&h), cases[i].here);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_is_needed),
		cmocka_unit_test(refuses_the_rest),
		cmocka_unit_test(keeps_its_limits),
		cmocka_unit_test(knows_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
