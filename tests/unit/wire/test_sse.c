/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "wire/sse.h"

/* Every event as "<name>|<data>\n", "!" when a limit was passed. */
static void drain(struct th_sse *s, struct th_str bytes, struct th_buf *out)
{
	struct th_sse_event ev;
	struct th_err err;
	int r;

	while ((r = th_sse_next(s, &bytes, &ev, &err)) == 1)
		th_buf_printf(out, "%.*s|%.*s\n", TH_FMT(ev.name), TH_FMT(ev.data));
	assert_true(r == 0 || r == TH_ELIMIT);
	if (r < 0)
		th_buf_add_char(out, '!');
	else
		assert_int_equal(bytes.len, 0);
}

static void finish(struct th_sse *s, struct th_buf *out)
{
	struct th_sse_event ev;
	struct th_err err;

	if (th_sse_end(s, &ev, &err) == 1)
		th_buf_printf(out, "end %.*s|%.*s\n", TH_FMT(ev.name), TH_FMT(ev.data));
}

/* Pieces are copies of their own, so that a sanitizer sees a pointer that outlives one. */
static void feed(struct th_sse *s, struct th_str piece, struct th_buf *out)
{
	char *copy = malloc(piece.len + 1);

	memcpy(copy, piece.ptr, piece.len);
	drain(s, th_str_n(copy, piece.len), out);
	memset(copy, 'x', piece.len);
	free(copy);
}

static void expect(struct th_str stream, const char *expected)
{
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	struct th_sse s;

	for (size_t a = 0; a <= stream.len; a++) {
		for (size_t b = a; b <= stream.len; b += stream.len > 60 ? 7 : 1) {
			th_sse_init(&s, 64);
			th_buf_clear(&out);
			feed(&s, th_str_sub(stream, 0, a), &out);
			feed(&s, th_str_sub(stream, a, b - a), &out);
			feed(&s, th_str_sub(stream, b, stream.len), &out);
			finish(&s, &out);
			assert_string_equal(out.ptr, expected);
			th_sse_deinit(&s);
		}
	}
	th_sse_init(&s, 64);
	th_buf_clear(&out);
	for (size_t i = 0; i < stream.len; i++)
		feed(&s, th_str_sub(stream, i, 1), &out);
	finish(&s, &out);
	assert_string_equal(out.ptr, expected);
	th_sse_deinit(&s);
	th_buf_deinit(&out);
}

static void test_lines(void **state)
{
	(void)state;
	expect(TH_STR("data: a\n\ndata: b\n\n"), "|a\n|b\n");
	expect(TH_STR("data: a\r\n\r\ndata: b\r\n\r\n"), "|a\n|b\n");
	expect(TH_STR("data: a\r\rdata: b\r\r"), "|a\n|b\n");
	expect(TH_STR("data: a\n\r\ndata: b\r\n\n"), "|a\n|b\n");
	expect(TH_STR("\n\n\r\n\rdata:a\n\n"), "|a\n");
	expect(TH_STR(""), "");
}

static void test_fields(void **state)
{
	(void)state;
	expect(TH_STR("event: x\ndata: a\n\ndata: b\n\n"), "x|a\n|b\n");
	expect(TH_STR("data: a\ndata:b\ndata\ndata:  c\n\n"), "|a\nb\n\n c\n");
	expect(TH_STR("data\n\n"), "|\n");
	expect(TH_STR("data:\n\ndata: \n\n"), "|\n|\n");
	expect(TH_STR("event: x\n\ndata: a\n\n"), "|a\n");
	expect(TH_STR("event: x\nevent: y\ndata: a\n\n"), "y|a\n");
	expect(TH_STR("Data: a\ndatax: b\n data: c\nda: d\n:data: e\nfoo\n\n"), "");
	expect(TH_STR("data:x:y: z\n\n"), "|x:y: z\n");
}

static void test_comments_and_mark(void **state)
{
	(void)state;
	expect(TH_STR(": PROCESSING\n\n:\n\ndata: a\n: in between\ndata: b\n\n"), "|a\nb\n");
	expect(TH_STR("\xef\xbb\xbf"
		      "data: a\n\n"),
	       "|a\n");
	expect(TH_STR("\xef\xbb"
		      "data: a\n\ndata: b\n\n"),
	       "|b\n");
	expect(TH_STR("data: a\n\n\xef\xbb\xbf"
		      "data: b\n\n"),
	       "|a\n");
}

static void test_end(void **state)
{
	(void)state;
	expect(TH_STR("data: a\n\ndata: b\n"), "|a\nend |b\n");
	expect(TH_STR("event: x\ndata: b"), "end x|b\n");
	expect(TH_STR("data: a\ndata: b\r"), "end |a\nb\n");
	expect(TH_STR("event: x"), "");
	expect(TH_STR(": comm"), "");
}

static void test_limits(void **state)
{
	char text[200];

	(void)state;
	/* 64 bytes of a line are taken, 65 are not; whichever way they come. */
	snprintf(text, sizeof(text), "data: %058d\n\n", 7);
	expect(th_str_of(text), "|0000000000000000000000000000000000000000000000000000000007\n");
	snprintf(text, sizeof(text), "data: a\n\ndata: %059d\n\n", 7);
	for (size_t cut = 9; cut < strlen(text); cut++) {
		struct th_buf out = TH_BUF_INIT(TH_MIB);
		struct th_sse s;

		th_sse_init(&s, 64);
		feed(&s, th_str_n(text, cut), &out);
		feed(&s, th_str_n(text + cut, strlen(text) - cut), &out);
		feed(&s, TH_STR("data: a\n\n"), &out);
		finish(&s, &out);
		assert_string_equal(
		    th_str_find(th_buf_str(&out), TH_STR("|a\n!")) == 0 ? "" : out.ptr, "");
		assert_int_equal(th_str_find(th_buf_str(&out), TH_STR("end")), -1);
		th_sse_deinit(&s);
		th_buf_deinit(&out);
	}
	/* The data of an event, line ends between its lines counted. */
	snprintf(text, sizeof(text), "data:%030d\ndata:%033d\n\n", 1, 2);
	expect(th_str_of(text), "|000000000000000000000000000001\n"
				"000000000000000000000000000000002\n");
	snprintf(text, sizeof(text), "data:%030d\ndata:%034d\n\n", 1, 2);
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	struct th_sse s;

	th_sse_init(&s, 64);
	feed(&s, th_str_of(text), &out);
	assert_string_equal(out.ptr, "!");
	th_sse_deinit(&s);
	th_buf_deinit(&out);
}

static void test_id_and_retry(void **state)
{
	struct th_str stream = TH_STR("id: 7\nretry: 250\ndata: a\n\nid: b\0c\nretry: 1x\n\n");
	struct th_sse_event ev;
	struct th_sse s;

	(void)state;
	th_sse_init(&s, TH_SSE_LINE_MAX);
	assert_int_equal(s.retry_ms, -1);
	assert_int_equal(th_sse_next(&s, &stream, &ev, NULL), 1);
	assert_int_equal(th_sse_next(&s, &stream, &ev, NULL), 0);
	assert_true(th_str_is(th_buf_str(&s.last_id), "7"));
	assert_int_equal(s.retry_ms, 250);
	stream = TH_STR("id\nretry: 99999999999999999999\nretry:\n\n");
	assert_int_equal(th_sse_next(&s, &stream, &ev, NULL), 0);
	assert_int_equal(s.last_id.len, 0);
	assert_int_equal(s.retry_ms, 250);
	th_sse_deinit(&s);
}

/* A name that is too long counts as none. */
static void test_long_name(void **state)
{
	struct th_buf text = TH_BUF_INIT(TH_MIB), out = TH_BUF_INIT(TH_MIB);
	struct th_sse s;

	(void)state;
	for (size_t len = TH_SSE_NAME_MAX; len <= TH_SSE_NAME_MAX + 1; len++) {
		th_buf_clear(&text);
		th_buf_clear(&out);
		th_buf_add_cstr(&text, "event: ");
		for (size_t i = 0; i < len; i++)
			th_buf_add_char(&text, 'e');
		th_buf_add_cstr(&text, "\ndata: a\n\n");
		th_sse_init(&s, TH_SSE_LINE_MAX);
		feed(&s, th_buf_str(&text), &out);
		assert_int_equal(out.len, len > TH_SSE_NAME_MAX ? 3 : TH_SSE_NAME_MAX + 3);
		th_sse_deinit(&s);
	}
	th_buf_deinit(&text);
	th_buf_deinit(&out);
}

/* What came whole in one piece is not copied. */
static void test_borrows(void **state)
{
	struct th_str stream = TH_STR("data: abc\n\n"), rest = stream;
	struct th_sse_event ev;
	struct th_sse s;

	(void)state;
	th_sse_init(&s, TH_SSE_LINE_MAX);
	assert_int_equal(th_sse_next(&s, &rest, &ev, NULL), 1);
	assert_ptr_equal(ev.data.ptr, stream.ptr + 6);
	assert_int_equal(s.line.cap + s.data.cap, 0);
	th_sse_deinit(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_comments_and_mark),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_id_and_retry),
		cmocka_unit_test(test_long_name),
		cmocka_unit_test(test_borrows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
