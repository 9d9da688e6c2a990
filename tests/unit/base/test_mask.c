/* SPDX-License-Identifier: Apache-2.0 */
/* test_mask.c - no form of a secret gets through, whole or in pieces, and nothing else is touched.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/codec.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mask.h"

static uint64_t seed = 88172645463325252;

static uint64_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static struct th_mask *mask_of(const char *const *values, size_t count)
{
	struct th_mask *m = th_mask_new();

	for (size_t i = 0; i < count; i++) {
		struct th_secret *s = th_secret_new(th_str_of(values[i]));

		assert_int_equal(th_mask_add(m, s, NULL), TH_OK);
		th_secret_free(s);
	}
	th_mask_build(m);
	return m;
}

static void add_hex(struct th_buf *out, struct th_str s, bool upper)
{
	for (size_t i = 0; i < s.len; i++) {
		unsigned byte = (unsigned char)s.ptr[i];

		if (upper)
			th_buf_printf(out, "%02X", byte);
		else
			th_buf_printf(out, "%02x", byte);
	}
}

/* The text in some form, with other bytes around it; true: it was inside base64, so only what the
 * secret alone decides is masked. */
static void add_form(struct th_buf *out, struct th_str secret, int form)
{
	struct th_buf text = TH_BUF_INIT(TH_MIB);

	switch (form) {
	case 0:
		th_buf_add(out, secret);
		break;
	case 1:
		add_hex(out, secret, false);
		break;
	case 2:
		add_hex(out, secret, true);
		break;
	case 3:
		th_json_escape(out, secret);
		break;
	default: /* 4, 5, 6: base64 with so many bytes before it in its group */
		th_buf_add(&text, th_str_sub(TH_STR("xy"), 0, (size_t)form - 4));
		th_buf_add(&text, secret);
		th_buf_add(&text, TH_STR("tail"));
		th_base64_encode(out, text.ptr, text.len);
	}
	th_buf_deinit(&text);
}

/* At most three characters at each end of base64 hold other bytes as well. */
static size_t left(struct th_str text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.len; i++)
		n += text.ptr[i] != '*';
	return n;
}

static void test_forms(void **state)
{
	static const char *const values[] = { "hunter2hunter2", "sk-\"quoted\\\"/\t",
					      "p\xc3\xa4ssw\xc3\xb6rt 99", "AAAAAAAA" };

	(void)state;
	for (size_t v = 0; v < TH_COUNT(values); v++) {
		struct th_mask *m = mask_of(&values[v], 1);

		for (int form = 0; form < 7; form++) {
			struct th_buf text = TH_BUF_INIT(TH_KIB);

			th_buf_add_cstr(&text, "before<");
			add_form(&text, th_str_of(values[v]), form);
			th_buf_add_cstr(&text, ">after");
			size_t len = text.len;
			assert_true(th_mask_apply_buf(m, &text));
			assert_int_equal(text.len, len);
			assert_memory_equal(text.ptr, "before<", 7);
			assert_memory_equal(text.ptr + len - 6, ">after", 6);
			struct th_str inside = th_str_sub(th_buf_str(&text), 7, len - 13);
			/* "xy" and "tail" and their padding are 8 to 12 characters of base64. */
			assert_true(left(inside) <= (form < 4 ? 0U : 12U));
			th_buf_deinit(&text);
		}
		th_mask_free(m);
	}
}

static void test_url(void **state)
{
	const char *value = "a/b+c d=e&f";
	struct th_mask *m = mask_of(&value, 1);
	char lower[] = "?key=a%2fb%2bc%20d%3de%26f&x", upper[] = "?key=a%2Fb%2Bc%20d%3De%26f&x";

	(void)state;
	assert_true(th_mask_apply(m, lower, strlen(lower)));
	assert_string_equal(lower, "?key=*********************&x");
	assert_true(th_mask_apply(m, upper, strlen(upper)));
	assert_string_equal(upper, "?key=*********************&x");
	th_mask_free(m);
}

/* `text` with an end of line behind each `columns` bytes, the first after `first`. */
static void add_lines(struct th_buf *out, struct th_str text, size_t first, size_t columns,
		      const char *end)
{
	for (size_t len = first; text.len > 0; len = columns) {
		th_buf_add(out, th_str_sub(text, 0, len));
		text = th_str_sub(text, TH_MIN(len, text.len), text.len);
		th_buf_add_cstr(out, text.len ? end : "");
	}
}

/* As base64 and terminals break a form into lines, whole and byte by byte. */
static void test_lines(void **state)
{
	static const char *const ends[] = { "\n", "\r\n" };
	/* One of lines of its own: as it is alone, since the ends of others may be taken for these.
	 */
	static const char *const values[] = {
		"-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggS\n-----END KEY-----",
		"github_pat_"
		"11ABCDEFG0abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
	};
	struct th_mask *m = mask_of(values, TH_COUNT(values));

	(void)state;
	for (size_t first = 1; first <= 76; first++) {
		for (int form = -1; form < 7; form++) {
			struct th_buf text = TH_BUF_INIT(TH_KIB), lines = TH_BUF_INIT(8 * TH_KIB);
			struct th_buf out = TH_BUF_INIT(8 * TH_KIB);
			struct th_mask_stream s;

			add_form(&text, th_str_of(values[form >= 0]), TH_MAX(form, 0));
			th_buf_add_cstr(&lines, "before<\n");
			add_lines(&lines, th_buf_str(&text), first, 76, ends[first % 2]);
			th_buf_add_cstr(&lines, "\n>after");
			size_t len = lines.len;
			th_mask_stream_init(&s, m);
			for (size_t i = 0; i < len; i++)
				th_mask_stream_feed(&s, th_str_sub(th_buf_str(&lines), i, 1), &out);
			th_mask_stream_end(&s, &out);
			th_mask_stream_deinit(&s);
			assert_true(th_mask_apply_buf(m, &lines));
			assert_int_equal(lines.len, len);
			assert_int_equal(out.len, len);
			assert_memory_equal(lines.ptr, "before<\n", 8);
			assert_memory_equal(lines.ptr + len - 7, "\n>after", 7);
			size_t shown = 0;
			for (size_t i = 8; i < len - 7; i++)
				shown += lines.ptr[i] != '*' && lines.ptr[i] != '\n' &&
					 lines.ptr[i] != '\r';
			assert_true(shown <= (form < 4 ? 0U : 12U));
			/* In pieces the first bytes may have gone. */
			size_t differ = 0;
			for (size_t i = 0; i < len; i++)
				differ += out.ptr[i] != lines.ptr[i];
			assert_true(differ < TH_MASK_HOLD_MIN);
			th_buf_deinit(&text);
			th_buf_deinit(&lines);
			th_buf_deinit(&out);
		}
	}
	th_mask_free(m);
}

/* What begins a secret is not held back by ends of lines without an end, and a whole one not by
 * the end of its line. */
static void test_many_lines(void **state)
{
	static const char *const value = "hunter2hunter2";
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	struct th_mask *m = mask_of(&value, 1);
	struct th_mask_stream s;

	(void)state;
	th_mask_stream_init(&s, m);
	th_mask_stream_feed(&s, TH_STR("hunter2hunter2\n"), &out);
	assert_string_equal(out.ptr, "**************\n");
	th_mask_stream_feed(&s, TH_STR("hunter2"), &out);
	assert_int_equal(out.len, 15);
	for (int i = 0; i < 300000; i++)
		th_mask_stream_feed(&s, TH_STR("\n"), &out);
	assert_int_equal(out.len, 15 + 7 + 300000);
	th_mask_stream_end(&s, &out);
	th_mask_stream_deinit(&s);
	th_mask_free(m);
	th_buf_deinit(&out);
}

static void test_overlaps(void **state)
{
	const char *const values[] = { "abcdefgh", "cdefghijkl", "efghefgh" };
	struct th_mask *m = mask_of(values, 3);
	char text[] = "xabcdefghijklx efghefghefgh abcdefg";

	(void)state;
	assert_true(th_mask_apply(m, text, strlen(text)));
	assert_string_equal(text, "x************x ************ abcdefg");
	th_mask_free(m);
	assert_false(th_mask_apply(NULL, text, strlen(text)));
}

/* In pieces it is what it is as a whole, but for the first bytes of an occurrence, which may have
 * gone; and no secret stands in it. */
static void test_pieces(void **state)
{
	const char *const values[] = { "hunter2hunter2", "abcabcabd", "tokentoken" };
	struct th_mask *m = mask_of(values, 3);

	(void)state;
	for (int round = 0; round < 3000; round++) {
		struct th_buf text = TH_BUF_INIT(TH_MIB), out = TH_BUF_INIT(TH_MIB);
		struct th_mask_stream s;

		while (text.len < 60 + draw() % 200) {
			if (draw() % 4 == 0)
				add_form(&text, th_str_of(values[draw() % 3]), (int)(draw() % 7));
			th_buf_add_char(&text, "abctokenhuntr2 "[draw() % 15]);
		}
		th_mask_stream_init(&s, m);
		for (size_t at = 0; at < text.len;) {
			size_t len = 1 + draw() % 9;

			th_mask_stream_feed(&s, th_str_sub(th_buf_str(&text), at, len), &out);
			at += len;
		}
		th_mask_stream_end(&s, &out);
		th_mask_stream_deinit(&s);
		(void)th_mask_apply_buf(m, &text);
		assert_int_equal(out.len, text.len);
		size_t differ = 0;
		for (size_t i = 0; i < out.len; i++) {
			bool other = out.ptr[i] != text.ptr[i];

			assert_true(!other || text.ptr[i] == '*');
			differ = other ? differ + 1 : 0;
			assert_true(differ < TH_MASK_HOLD_MIN);
		}
		th_buf_deinit(&text);
		th_buf_deinit(&out);
	}
	th_mask_free(m);
}

/* Many secrets in a stream of noise: none gets through. */
static void test_canaries(void **state)
{
	enum { COUNT = 2000, LEN = 24 };
	static char values[COUNT][LEN + 1];
	const char *list[COUNT];
	struct th_buf text = TH_BUF_INIT(16 * TH_MIB), out = TH_BUF_INIT(16 * TH_MIB);
	struct th_mask_stream s;

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		for (size_t k = 0; k < LEN; k++)
			values[i][k] = "ABCDEFGHIJKLMNOPabcdefghijklmnop"[draw() % 32];
		list[i] = values[i];
	}
	struct th_mask *m = mask_of(list, COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		for (int form = 0; form < 7; form++) {
			add_form(&text, th_str_of(list[i]), form);
			for (uint64_t n = draw() % 20; n > 0; n--)
				th_buf_add_char(&text, (char)draw());
		}
	}
	th_mask_stream_init(&s, m);
	for (size_t at = 0; at < text.len;) {
		size_t len = 1 + draw() % 1000;

		th_mask_stream_feed(&s, th_str_sub(th_buf_str(&text), at, len), &out);
		at += len;
	}
	th_mask_stream_end(&s, &out);
	th_mask_stream_deinit(&s);
	assert_int_equal(out.len, text.len);
	for (size_t i = 0; i < COUNT; i += 10)
		for (int form = 0; form < 7; form++) {
			struct th_buf one = TH_BUF_INIT(TH_KIB);

			add_form(&one, th_str_of(list[i]), form);
			/* Of base64 the middle, which the secret alone decides. */
			struct th_str seen =
			    form < 4 ? th_buf_str(&one) : th_str_sub(th_buf_str(&one), 4, 28);
			assert_true(th_str_find(th_buf_str(&text), seen) >= 0);
			assert_int_equal(th_str_find(th_buf_str(&out), seen), -1);
			th_buf_deinit(&one);
		}
	th_mask_free(m);
	th_buf_deinit(&text);
	th_buf_deinit(&out);
}

/* Secrets that come later, also in the middle of a stream. */
static void test_more_later(void **state)
{
	struct th_buf out = TH_BUF_INIT(TH_KIB);
	struct th_mask *m = th_mask_new();
	struct th_mask_stream s;
	char text[] = "hunter2hunter2 and tokentoken";

	(void)state;
	assert_true(th_mask_empty(NULL));
	assert_true(th_mask_empty(m));
	th_mask_build(m);
	th_mask_stream_init(&s, m);
	th_mask_stream_feed(&s, TH_STR("before hunter2hunter2,"), &out);
	for (int i = 0; i < 2; i++) {
		struct th_secret *one =
		    th_secret_new(i ? TH_STR("tokentoken") : TH_STR("hunter2hunter2"));
		assert_int_equal(th_mask_add(m, one, NULL), TH_OK);
		th_secret_free(one);
		th_mask_build(m);
		th_mask_stream_feed(&s, TH_STR("hunter2hunter2 tokento"), &out);
		th_mask_stream_feed(&s, TH_STR("ken,"), &out);
	}
	th_mask_stream_end(&s, &out);
	th_mask_stream_deinit(&s);
	assert_string_equal(out.ptr, "before hunter2hunter2,************** tokentoken,"
				     "************** **********,");
	assert_false(th_mask_empty(m));
	assert_true(th_mask_apply(m, text, strlen(text)));
	assert_string_equal(text, "************** and **********");
	th_buf_deinit(&out);
	th_mask_free(m);
}

static void test_limits(void **state)
{
	struct th_mask *m = th_mask_new();
	char *value = (char *)calloc(1, TH_MASK_LEN_MAX + 2);
	enum th_code code = TH_OK;
	struct th_err err;

	(void)state;
	memset(value, 'x', TH_MASK_LEN_MAX + 1);
	for (size_t len = 0; len <= TH_MASK_LEN_MAX + 1; len++) {
		bool edge = len < TH_MASK_LEN_MIN + 1 || len > TH_MASK_LEN_MAX - 1;
		struct th_secret *s = th_secret_new(th_str_n(value, len));

		if (edge)
			assert_int_equal(
			    th_mask_add(m, s, &err),
			    len >= TH_MASK_LEN_MIN && len <= TH_MASK_LEN_MAX ? TH_OK : TH_EUSAGE);
		th_secret_free(s);
	}
	for (int i = 0; i < 1000 && code == TH_OK; i++) {
		for (size_t k = 0; k < 2000; k++)
			value[k] = (char)('a' + draw() % 26);
		struct th_secret *s = th_secret_new(th_str_n(value, 2000));
		code = th_mask_add(m, s, &err);
		th_secret_free(s);
	}
	assert_int_equal(code, TH_ELIMIT);
	free(value);
	th_mask_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),      cmocka_unit_test(test_url),
		cmocka_unit_test(test_lines),      cmocka_unit_test(test_many_lines),
		cmocka_unit_test(test_overlaps),   cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_canaries),   cmocka_unit_test(test_limits),
		cmocka_unit_test(test_more_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
