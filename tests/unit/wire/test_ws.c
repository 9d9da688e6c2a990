/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/ws.h"

#include <stdio.h>

#include "unit.h"

struct heard {
	int count;
	bool text;
	char last[64];
};

static void on_message(void *ctx, struct th_str message, bool text)
{
	struct heard *h = ctx;

	h->count++;
	h->text = text;
	snprintf(h->last, sizeof(h->last), "%.*s", TH_FMT(message));
}

/* A frame of a client: masked with zeros, of at most 125 bytes. */
static void frame(struct th_buf *out, unsigned first, const char *text)
{
	const char head[] = { (char)first, (char)(0x80 | strlen(text)), 0, 0, 0, 0 };

	th_buf_add_mem(out, head, sizeof(head));
	th_buf_add_cstr(out, text);
}

static void test_messages(void **state)
{
	(void)state;
	for (size_t piece = 1; piece < 60; piece++) {
		struct th_buf in TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(1000);
		struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(1000);
		struct heard heard = {};
		struct th_ws *w = th_ws_new(100, on_message, &heard, &out);
		struct th_err err = {};

		frame(&in, 0x81, "hello");
		frame(&in, 0x89, "ping");
		frame(&in, 0x02, "in two ");
		frame(&in, 0x80, "parts");
		for (size_t at = 0; at < in.len; at += piece)
			assert_int_equal(
			    th_ws_feed(w, th_str_sub(th_buf_str(&in), at, piece), &err), TH_OK);
		assert_int_equal(heard.count, 2);
		assert_string_equal(heard.last, "in two parts");
		assert_false(heard.text);
		assert_true(th_str_eq(th_buf_str(&out), TH_STR("\x8a\x04ping")));
		th_buf_clear(&out);
		th_ws_send(w, TH_STR("yes"), true);
		assert_true(th_str_eq(th_buf_str(&out), TH_STR("\x81\x03yes")));
		th_ws_free(w);
	}
}

static void refused(unsigned first, const char *text, unsigned code)
{
	struct th_buf in TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(1000);
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(1000);
	struct heard heard = {};
	struct th_ws *w = th_ws_new(20, on_message, &heard, &out);
	struct th_err err = {};

	frame(&in, first, text);
	assert_int_equal(th_ws_feed(w, th_buf_str(&in), &err), TH_EPROTO);
	assert_int_equal(heard.count, 0);
	assert_true(out.len >= 4 && (unsigned char)out.ptr[0] == 0x88);
	assert_int_equal((unsigned char)out.ptr[2] << 8 | (unsigned char)out.ptr[3], code);
	th_ws_free(w);
}

static void test_refused(void **state)
{
	(void)state;
	refused(0x81, "\xff", 1007);                  /* no UTF-8 */
	refused(0xf1, "a", 1002);                     /* bits that nobody agreed on */
	refused(0x80, "a", 1002);                     /* goes on with nothing */
	refused(0x82, "123456789 123456789 1", 1009); /* over 20 bytes */
}

static void test_close(void **state)
{
	struct th_buf in TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(1000);
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(1000);
	struct heard heard = {};
	struct th_ws *w = th_ws_new(20, on_message, &heard, &out);
	struct th_err err = {};

	(void)state;
	frame(&in, 0x88, "\x03\xe9");
	assert_int_equal(th_ws_feed(w, th_buf_str(&in), &err), TH_ECONN);
	assert_true(th_str_starts(th_buf_str(&out), TH_STR("\x88\x02\x03\xe9")));
	th_ws_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
