/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/http1.h"

#include "base/limits.h"
#include "unit.h"

/* Feeds `text` in pieces of `piece` bytes; the step at its end, or TH_HTTP1_BAD with err. */
static enum th_http1_step read_all(struct th_http1 *p, struct th_str text, size_t piece,
				   size_t body_max, struct th_err *err)
{
	enum th_http1_step step = TH_HTTP1_MORE;
	size_t at = 0;

	while (step == TH_HTTP1_HEAD || (step == TH_HTTP1_MORE && at < text.len)) {
		size_t used;

		step = th_http1_feed(p, th_str_sub(text, at, piece), &used, err);
		at += used;
		if (step == TH_HTTP1_HEAD)
			th_http1_body_max(p, body_max);
	}
	return step;
}

static void test_whole(void **state)
{
	const struct th_str text = TH_STR("POST /v1/responses?a=b HTTP/1.1\r\nHost: here\r\n"
					  "X-One:  two words \t\r\nContent-Length: 5\r\n\r\nhello");

	(void)state;
	for (size_t piece = 1; piece <= text.len; piece++) {
		struct th_http1 *p = th_http1_new();
		struct th_err err = {};

		assert_int_equal(read_all(p, text, piece, 100, &err), TH_HTTP1_WHOLE);
		assert_true(th_str_is(th_http1_method(p), "POST"));
		assert_true(th_str_is(th_http1_target(p), "/v1/responses?a=b"));
		assert_true(th_str_is(th_http1_header(p, "x-one"), "two words"));
		assert_null(th_http1_header(p, "x-two").ptr);
		assert_true(th_str_is(th_http1_body(p), "hello"));
		assert_true(th_http1_keep_alive(p));
		th_http1_free(p);
	}
}

static void test_chunks(void **state)
{
	const struct th_str text =
	    TH_STR("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
		   "Expect: 100-continue\r\n\r\n3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nT: v\r\n\r\n");

	(void)state;
	for (size_t piece = 1; piece <= text.len; piece++) {
		struct th_http1 *p = th_http1_new();
		struct th_err err = {};

		assert_int_equal(read_all(p, text, piece, 5, &err), TH_HTTP1_WHOLE);
		assert_true(th_str_is(th_http1_body(p), "abcde"));
		assert_true(th_http1_expects(p));
		assert_null(th_http1_header(p, "t").ptr);
		th_http1_next(p);
		assert_int_equal(read_all(p, text, piece, 4, &err), TH_HTTP1_BAD);
		assert_int_equal(err.code, TH_EBUSY);
		th_http1_free(p);
	}
}

static void test_one_after_the_other(void **state)
{
	const struct th_str two = TH_STR("GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\n"
					 "Host: x\r\nConnection: close\r\n\r\n");
	struct th_http1 *p = th_http1_new();
	struct th_err err = {};
	size_t used, at = 0;

	(void)state;
	assert_int_equal(th_http1_feed(p, two, &used, &err), TH_HTTP1_HEAD);
	at += used;
	assert_int_equal(th_http1_feed(p, th_str_sub(two, at, two.len), &used, &err),
			 TH_HTTP1_WHOLE);
	at += used;
	assert_true(th_str_is(th_http1_target(p), "/a"));
	th_http1_next(p);
	assert_false(th_http1_begun(p));
	assert_int_equal(th_http1_feed(p, th_str_sub(two, at, two.len), &used, &err),
			 TH_HTTP1_HEAD);
	assert_true(th_str_is(th_http1_target(p), "/b"));
	assert_false(th_http1_keep_alive(p));
	th_http1_free(p);
}

#define H "Host: x\r\n"
static const char *const bad[] = {
	"GET / HTTP/1.1\r\n\r\n",
	"GET / HTTP/1.1\r\n" H H "\r\n",
	"GET / HTTP/2.0\r\n" H "\r\n",
	"GET / HTTP/0.9\r\n" H "\r\n",
	"GET /\r\n\r\n",
	"GET http://x/ HTTP/1.1\r\n" H "\r\n",
	"GET * HTTP/1.1\r\n" H "\r\n",
	"GET /#a HTTP/1.1\r\n" H "\r\n",
	"GET /\x80 HTTP/1.1\r\n" H "\r\n",
	"GET / HTTP/1.1\n" H "\n",
	"GET / HTTP/1.1\r\n" H "A: b\nC: d\r\n\r\n",
	"GET / HTTP/1.1\r\n" H "A: b\rC: d\r\n\r\n",
	"GET / HTTP/1.1\r\n" H "A: b\r\n folded\r\n\r\n",
	"GET / HTTP/1.1\r\n" H "A : b\r\n\r\n",
	"GET / HTTP/1.1\r\n" H ": b\r\n\r\n",
	"GET / HTTP/1.1\r\n" H "A\x01: b\r\n\r\n",
	"GET / HTTP/1.1\r\n" H "A: \x01\r\n\r\n",
	"POST / HTTP/1.1\r\n" H "Content-Length: 1\r\nContent-Length: 1\r\n\r\na",
	"POST / HTTP/1.1\r\n" H "Content-Length: 1\r\nContent-Length: 2\r\n\r\na",
	"POST / HTTP/1.1\r\n" H "Content-Length: 1, 1\r\n\r\na",
	"POST / HTTP/1.1\r\n" H "Content-Length: +1\r\n\r\na",
	"POST / HTTP/1.1\r\n" H "Content-Length: 0x1\r\n\r\na",
	"POST / HTTP/1.1\r\n" H "Content-Length: \r\n\r\na",
	"POST / HTTP/1.1\r\n" H "Content-Length: -1\r\n\r\na",
	"POST / HTTP/1.1\r\n" H "Content-Length: 99999999999999999999\r\n\r\na",
	"POST / HTTP/1.1\r\n" H "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\n" H "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\n" H "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\n" H "Transfer-Encoding: identity\r\n\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\n" H "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\n" H
	"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"POST / HTTP/1.0\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
	"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n1\na\n0\n\n",
	"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n11111111111111111\r\na\r\n",
};

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < TH_COUNT(bad); i++) {
		const size_t len = strlen(bad[i]);

		for (size_t piece = 1; piece <= len; piece += piece < 4 ? 1 : len) {
			struct th_http1 *p = th_http1_new();
			struct th_err err = {};
			enum th_http1_step step = read_all(p, th_str_of(bad[i]), piece, 1000, &err);

			if (step != TH_HTTP1_BAD || err.code != TH_EPROTO)
				fail_msg("case %zu, pieces of %zu: step %d, %s", i, piece, step,
					 err.msg);
			th_http1_free(p);
		}
	}
}

static void test_limits(void **state)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_http1 *p = th_http1_new();
	struct th_err err = {};

	(void)state;
	for (int more = 0; more < 2; more++) { /* Host and 99 more, then one too many */
		th_buf_clear(&text);
		th_buf_add_cstr(&text, "GET / HTTP/1.1\r\nHost: x\r\n");
		for (int i = 0; i < TH_HTTP1_HEADERS_MAX - 1 + more; i++)
			th_buf_printf(&text, "H%d: v\r\n", i);
		th_buf_add_cstr(&text, "\r\n");
		assert_int_equal(read_all(p, th_buf_str(&text), 999, 0, &err),
				 more ? TH_HTTP1_BAD : TH_HTTP1_WHOLE);
		th_http1_next(p);
	}
	assert_int_equal(err.code, TH_ELIMIT);
	for (size_t more = 0; more < 2; more++) {
		size_t fill = TH_HTTP1_HEAD_MAX - strlen("GET/Hostx") + more;

		th_buf_clear(&text);
		th_buf_add_cstr(&text, "GET /");
		while (fill-- > 0)
			th_buf_add_char(&text, 'a');
		th_buf_add_cstr(&text, " HTTP/1.1\r\nHost: x\r\n\r\n");
		assert_int_equal(read_all(p, th_buf_str(&text), 999, 0, &err),
				 more ? TH_HTTP1_BAD : TH_HTTP1_WHOLE);
		th_http1_next(p);
	}
	assert_int_equal(err.code, TH_ELIMIT);
	th_http1_free(p);
}

/* A body that is not welcome is refused before it comes. */
static void test_no_body(void **state)
{
	struct th_http1 *p = th_http1_new();
	struct th_err err = {};

	(void)state;
	assert_int_equal(
	    read_all(p, TH_STR("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1"), 999, 8,
		     &err),
	    TH_HTTP1_BAD);
	assert_int_equal(err.code, TH_EBUSY);
	th_http1_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),  cmocka_unit_test(test_chunks),
		cmocka_unit_test(test_bad),    cmocka_unit_test(test_one_after_the_other),
		cmocka_unit_test(test_limits), cmocka_unit_test(test_no_body),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
