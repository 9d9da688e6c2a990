/* SPDX-License-Identifier: Apache-2.0 */
/* test_proxy.c - what clients say to a proxy, and what goes on to the server. */
#include "unit.h"

#include <stdio.h>

#include "base/limits.h"
#include "wire/proxy.h"

struct read {
	struct th_http1 *http;
	struct th_proxy_request request;
	const char *wrong;
	struct th_buf out;
};

static bool read_head(struct read *r, const char *text)
{
	struct th_str rest = th_str_of(text);
	struct th_err err;
	size_t used;
	enum th_http1_step step;

	r->http = th_http1_new_relay();
	th_buf_init(&r->out, TH_MIB);
	step = th_http1_feed(r->http, rest, &used, &err);
	if (step != TH_HTTP1_HEAD)
		return false;
	r->wrong = th_proxy_read(r->http, &r->request);
	if (!r->wrong)
		th_proxy_head(r->http, &r->request, &r->out);
	return !r->wrong;
}

static void deinit(struct read *r)
{
	th_http1_free(r->http);
	th_buf_deinit(&r->out);
}

static void test_tunnel(void **state)
{
	static const struct {
		const char *target, *host;
		int port;
	} rows[] = {
		{ "files.example:443", "files.example", 443 },
		{ "[2001:db8::1]:8443", "[2001:db8::1]", 8443 },
		{ "files.example", NULL, 0 },
		{ "files.example:", NULL, 0 },
		{ "files.example:0", NULL, 0 },
		{ "files.example:65536", NULL, 0 },
		{ "files.example:443x", NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		char text[200];
		struct read r = {};

		snprintf(text, sizeof(text), "CONNECT %s HTTP/1.1\r\nHost: other.example\r\n\r\n",
			 rows[i].target);
		assert_int_equal(read_head(&r, text), rows[i].host != NULL);
		if (rows[i].host) {
			assert_true(r.request.tunnel);
			assert_true(th_str_is(r.request.host, rows[i].host));
			assert_int_equal(r.request.port, rows[i].port);
		}
		deinit(&r);
	}
}

static void test_head(void **state)
{
	struct read r;

	(void)state;
	assert_true(read_head(&r, "POST http://a.example:8080/x?y HTTP/1.1\r\n"
				  "Host: evil.example\r\n"
				  "Proxy-Authorization: Basic eDp5\r\n"
				  "Connection: keep-alive, X-Hop\r\n"
				  "X-Hop: 1\r\n"
				  "Accept: */*\r\n"
				  "Content-Length: 3\r\n\r\nabc"));
	assert_false(r.request.tunnel);
	assert_true(th_str_is(r.request.host, "a.example"));
	assert_int_equal(r.request.port, 8080);
	assert_true(th_str_is(r.request.path, "/x?y"));
	assert_string_equal(r.out.ptr, "POST /x?y HTTP/1.1\r\nHost: a.example:8080\r\n"
				       "Connection: close\r\nAccept: */*\r\n"
				       "Content-Length: 3\r\n\r\n");
	deinit(&r);
	assert_true(read_head(&r,
			      "GET HTTP://a.example?q HTTP/1.1\r\nHost: a.example\r\n"
			      "Connection: content-length\r\nTransfer-Encoding: chunked\r\n\r\n"));
	assert_string_equal(r.out.ptr, "GET /?q HTTP/1.1\r\nHost: a.example\r\n"
				       "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n");
	deinit(&r);
}

static void test_bad_targets(void **state)
{
	static const char *const rows[] = {
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET https://a.example/ HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET ftp://a.example/ HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET http://user@a.example:80/ HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET http://a.example:80:80/ HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET http://a.example/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		("GET http://a.example/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
		 "Transfer-Encoding: chunked\r\n\r\n"),
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct read r = {};

		/* A user is part of the host for who splits at the port: it is no host later. */
		if (read_head(&r, rows[i]))
			assert_non_null(memchr(r.request.host.ptr, '@', r.request.host.len));
		deinit(&r);
	}
}

/* More than is kept of a request to a server of ours goes through, piece by piece. */
static void test_body(void **state)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf body = TH_BUF_INIT(TH_MIB);
	struct th_str text = TH_STR("3\r\nabc\r\n5\r\ndefgh\r\n0\r\n\r\nGET ");
	struct th_err err;
	struct read r;
	size_t used;

	(void)state;
	assert_true(read_head(&r, "POST http://a.example/ HTTP/1.1\r\nHost: a\r\n"
				  "Transfer-Encoding: chunked\r\n\r\n"));
	enum th_http1_step step = TH_HTTP1_MORE;
	while (text.len > 0 && step == TH_HTTP1_MORE) {
		step = th_http1_feed(r.http, th_str_sub(text, 0, 1), &used, &err);
		text = th_str_sub(text, used, text.len);
		th_http1_take_body(r.http, &body);
		assert_int_equal(th_http1_body(r.http).len, 0);
	}
	assert_int_equal(step, TH_HTTP1_WHOLE);
	assert_string_equal(body.ptr, "abcdefgh");
	assert_true(th_str_is(text, "GET "));
	deinit(&r);
}

static void test_socks(void **state)
{
	static const char name[] = "\x05\x01\x00\x03\x09"
				   "a.example\x01\xbb";
	static const char v4[] = "\x05\x01\x00\x01\x0a\x00\x00\x05\x15\x38";
	static const char v6[] =
	    "\x05\x01\x00\x04\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01\x00\x50";
	static const char nul[] = "\x05\x01\x00\x03\x02"
				  "a\0\x01\xbb";
	const struct {
		struct th_str bytes;
		const char *host;
		int port;
	} rows[] = {
		{ th_str_n(name, sizeof(name) - 1), "a.example", 443 },
		{ th_str_n(v4, sizeof(v4) - 1), "10.0.0.5", 5432 },
		{ th_str_n(v6, sizeof(v6) - 1), "2001:db8:0:0:0:0:0:1", 80 },
	};
	char host[256];
	uint16_t port;
	size_t used;

	(void)state;
	assert_int_equal(th_socks_greeting(TH_STR("\x05"), &used), TH_SOCKS_MORE);
	assert_int_equal(th_socks_greeting(th_str_n("\x05\x02\x02\x00", 4), &used), TH_SOCKS_DONE);
	assert_int_equal(used, 4);
	assert_int_equal(th_socks_greeting(TH_STR("\x05\x01\x02"), &used), TH_SOCKS_BAD);
	assert_int_equal(th_socks_greeting(TH_STR("\x04\x01\x00"), &used), TH_SOCKS_BAD);
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		for (size_t len = 0; len < rows[i].bytes.len; len++)
			assert_int_equal(
			    th_socks_request(th_str_sub(rows[i].bytes, 0, len), host, &port, &used),
			    TH_SOCKS_MORE);
		assert_int_equal(th_socks_request(rows[i].bytes, host, &port, &used),
				 TH_SOCKS_DONE);
		assert_string_equal(host, rows[i].host);
		assert_int_equal(port, rows[i].port);
		assert_int_equal(used, rows[i].bytes.len);
	}
	assert_int_equal(th_socks_request(th_str_n(nul, sizeof(nul) - 1), host, &port, &used),
			 TH_SOCKS_BAD);
	assert_int_equal(
	    th_socks_request(th_str_n("\x05\x02\x00\x01\x0a\0\0\5\0\x50", 10), host, &port, &used),
	    TH_SOCKS_BAD); /* bind */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tunnel),      cmocka_unit_test(test_head),
		cmocka_unit_test(test_bad_targets), cmocka_unit_test(test_body),
		cmocka_unit_test(test_socks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
