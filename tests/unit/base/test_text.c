/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "rig.h"

#define FFFD "\xef\xbf\xbd"
#define DOTS "\xe2\x80\xa6"

static void every_code_point(void **state)
{
	struct th_buf out = TH_BUF_INIT(8);

	(void)state;
	for (uint32_t cp = 0; cp < 0x110100; cp++) {
		bool real = cp < 0x110000 && !(cp >= 0xd800 && cp < 0xe000);
		uint32_t back;

		th_buf_clear(&out);
		th_utf8_add(&out, cp);
		assert_int_equal(out.len, !real          ? 3
					  : cp < 0x80    ? 1
					  : cp < 0x800   ? 2
					  : cp < 0x10000 ? 3
							 : 4);
		assert_int_equal(th_utf8_valid(th_buf_str(&out)), out.len);
		struct th_str s = th_buf_str(&out);

		assert_true(th_utf8_next(&s, &back));
		assert_int_equal(back, real ? cp : 0xfffd);
		assert_int_equal(s.len, 0);
		for (size_t cut = 1; cut < out.len; cut++) /* no part of it is a character */
			assert_int_equal(th_utf8_valid(th_str_n(out.ptr, cut)), 0);
	}
	th_buf_deinit(&out);
}

/* All sequences of up to three bytes, and four with every lead: only what RFC 3629's ABNF has. */
static bool abnf(const uint8_t *p, size_t len)
{
#define IN(i, low, high) (p[i] >= (low) && p[i] <= (high))
	switch (len) {
	case 1:
		return p[0] < 0x80;
	case 2:
		return IN(0, 0xc2, 0xdf) && IN(1, 0x80, 0xbf);
	case 3:
		return IN(2, 0x80, 0xbf) && ((p[0] == 0xe0 && IN(1, 0xa0, 0xbf)) ||
					     (IN(0, 0xe1, 0xec) && IN(1, 0x80, 0xbf)) ||
					     (p[0] == 0xed && IN(1, 0x80, 0x9f)) ||
					     (IN(0, 0xee, 0xef) && IN(1, 0x80, 0xbf)));
	default:
		return IN(2, 0x80, 0xbf) && IN(3, 0x80, 0xbf) &&
		       ((p[0] == 0xf0 && IN(1, 0x90, 0xbf)) ||
			(IN(0, 0xf1, 0xf3) && IN(1, 0x80, 0xbf)) ||
			(p[0] == 0xf4 && IN(1, 0x80, 0x8f)));
	}
#undef IN
}

static size_t valid_slowly(const uint8_t *p, size_t len)
{
	size_t at = 0;

	while (at < len) {
		size_t size = 1;

		while (size <= 4 && !(size <= len - at && abnf(p + at, size)))
			size++;
		if (size > 4)
			break;
		at += size;
	}
	return at;
}

static void every_short_sequence(void **state)
{
	uint8_t p[4];

	(void)state;
	for (uint32_t v = 0; v < 1 << 24; v++) {
		p[0] = (uint8_t)(v >> 16);
		p[1] = (uint8_t)(v >> 8);
		p[2] = (uint8_t)v;
		p[3] = (uint8_t)(v * 7 + 0x80);
		if (p[0] < 0x80 &&
		    (v & 0xff)) /* starts anew behind it: the other leads show that */
			continue;
		if (th_utf8_valid(th_str_n(p, 4)) != valid_slowly(p, 4))
			fail_msg("%06x", v);
	}
}

/* Long texts of pieces that are nearly right, against the slow one. */
static void valid_prefix(void **state)
{
	static const char *const pieces[] = {
		"a",    "0123456789abcdef", "\xc3\xa9", "\xe2\x82\xac",     "\xf0\x9f\x98\x80",
		"\xff", "\xed\xa0\x80",     "\xc0\xaf", "\xf4\x90\x80\x80", "\xe2\x82",
		"\x80",
	};

	(void)state;
	for (uint64_t seed = 1, round = 0; round < 20000; round++) {
		size_t kinds = 5 + draw_below(&seed, TH_COUNT(pieces) - 4);
		struct th_buf b = TH_BUF_INIT(1000), clean = TH_BUF_INIT(4000);
		size_t count = draw_below(&seed, 40);

		kinds = TH_MIN(kinds, TH_COUNT(pieces));
		for (size_t i = 0; i < count; i++)
			th_buf_add_cstr(&b, pieces[draw_below(&seed, round % 2 ? 5 : kinds)]);
		char *exact = exact_copy(b.ptr, b.len);
		struct th_str s = th_str_n(exact, b.len), rest = s;
		size_t chars = 0;
		uint32_t cp;

		assert_int_equal(th_utf8_valid(s), valid_slowly((uint8_t *)exact, b.len));
		th_utf8_clean(&clean, s);
		assert_int_equal(th_utf8_valid(th_buf_str(&clean)), clean.len);
		if (th_utf8_valid(s) == s.len)
			assert_str(th_buf_str(&clean), s);
		th_buf_clear(&b);
		while (th_utf8_next(&rest, &cp)) {
			th_utf8_add(&b, cp);
			chars++;
		}
		assert_str(th_buf_str(&b), th_buf_str(&clean));
		assert_int_equal(th_utf8_count(s), chars);
		for (size_t max = 0; max <= s.len + 1; max++) {
			struct th_str cut = th_utf8_cut(s, max);

			assert_ptr_equal(cut.ptr, s.ptr);
			assert_true(cut.len <= max && (cut.len + 3 >= max || cut.len == s.len));
			if (th_utf8_valid(s) == s.len)
				assert_int_equal(th_utf8_valid(cut), cut.len);
		}
		free(exact);
		th_buf_deinit(&b);
		th_buf_deinit(&clean);
	}
}

static void cleans(void **state)
{
	struct th_buf out = TH_BUF_INIT(100);

	(void)state;
	th_utf8_clean(&out, TH_STR("a\xff\xed\xa0\x80z\xe2\x82"));
	assert_is(th_buf_str(&out), "a" FFFD FFFD FFFD FFFD "z" FFFD FFFD);
	th_buf_clear(&out);
	th_utf8_clean(&out, (struct th_str){ NULL, 0 });
	assert_is(th_buf_str(&out), "");
	assert_int_equal(th_utf8_count((struct th_str){ NULL, 0 }), 0);
	assert_int_equal(th_utf8_cut((struct th_str){ NULL, 0 }, 3).len, 0);
	assert_int_equal(th_utf8_cut(TH_STR("\x80\x80\x80\x80\x80"), 4).len, 4);
	th_buf_deinit(&out);
}

static void one_line(void **state)
{
	static const struct {
		const char *text;
		size_t columns;
		const char *line;
	} cases[] = {
		{ "", 0, "" },
		{ "a", 0, "" },
		{ "abc", 3, "abc" },
		{ "abcd", 3, "ab" DOTS },
		{ "abcd", 1, DOTS },
		{ "a\nb", 9, "a\\nb" },
		{ "a\nb", 3, "a" DOTS },
		{ "a\n", 3, "a\\n" },
		{ "a\n", 2, "a" DOTS },
		{ "\t\r\a\b\v\f", 99, "\\t\\r\\a\\b\\v\\f" },
		{ "\x1b[31m\x7f", 99, "\\x1b[31m\\x7f" },
		{ "\xc2\x9b"
		  "31m",
		  99, FFFD "31m" }, /* C1 CSI */
		{ "\xe2\x80\xae"
		  "x\xe2\x81\xa6",
		  99, FFFD "x" FFFD },                     /* RLO, LRI */
		{ "\xd8\x9c\xe2\x80\xa8", 99, FFFD FFFD }, /* ALM, line separator */
		{ "a\xf3\xa0\x80\x80\xf3\xa0\x81\xbf\xf3\xa0\x82\x80", 99,
		  "a" FFFD FFFD "\xf3\xa0\x82\x80" }, /* the block of tags, and behind it */
		{ "\xff\xc3\xa9", 99, FFFD "\xc3\xa9" },
		{ "\xc3\xa9\xc3\xa9\xc3\xa9", 3, "\xc3\xa9\xc3\xa9\xc3\xa9" },
		{ "\xc3\xa9\xc3\xa9\xc3\xa9", 2, "\xc3\xa9" DOTS },
		{ "C:\\x", 99, "C:\\x" },
	};
	struct th_buf out = TH_BUF_INIT(100);

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		th_buf_clear(&out);
		th_buf_add_cstr(&out, "> ");
		th_text_line(&out, th_str_of(cases[i].text), cases[i].columns);
		assert_str(th_str_sub(th_buf_str(&out), 2, out.len), th_str_of(cases[i].line));
	}
	th_buf_clear(&out);
	th_text_line(&out, TH_STR("a\0b"), 9);
	assert_is(th_buf_str(&out), "a\\x00b");
	th_buf_deinit(&out);
}

/* Whatever comes in, what goes out is one valid line of the asked width without control bytes. */
static void one_line_always(void **state)
{
	struct th_buf out = TH_BUF_INIT(1000);
	uint8_t text[60];

	(void)state;
	for (uint64_t seed = 1, round = 0; round < 20000; round++) {
		size_t len = draw_below(&seed, sizeof(text)), columns = draw_below(&seed, 50);

		draw_bytes(&seed, text, len);
		if (round % 2)
			for (size_t i = 0; i < len; i++)
				text[i] &= 0x3f;
		th_buf_clear(&out);
		th_text_line(&out, th_str_n(text, len), columns);
		assert_int_equal(th_utf8_valid(th_buf_str(&out)), out.len);
		assert_true(th_utf8_count(th_buf_str(&out)) <= columns);
		for (size_t i = 0; i < out.len; i++)
			assert_true((uint8_t)out.ptr[i] >= 0x20 && out.ptr[i] != 0x7f);
	}
	th_buf_deinit(&out);
}

static void clips(void **state)
{
	struct th_buf out = TH_BUF_INIT(10000);
	char text[2000];

	(void)state;
	th_text_clip(&out, TH_STR("abcdef"), 6);
	assert_is(th_buf_str(&out), "abcdef");
	th_buf_clear(&out);
	th_text_clip(&out, TH_STR("abcdefg"), 6);
	assert_is(th_buf_str(&out), "abc\n" DOTS " 1 bytes left out " DOTS "\nefg");
	th_buf_clear(&out);
	th_text_clip(&out, TH_STR("abc"), 0);
	assert_is(th_buf_str(&out), "\n" DOTS " 3 bytes left out " DOTS "\n");
	for (size_t width = 1; width <= 4; width++) {
		static const char *const chars[] = { "a", "\xc3\xa9", "\xe2\x82\xac",
						     "\xf0\x9f\x98\x80" };

		for (size_t i = 0; i + width <= sizeof(text); i += width)
			memcpy(text + i, chars[width - 1], width);
		for (size_t max = 0; max < 100; max++) {
			th_buf_clear(&out);
			th_text_clip(&out, th_str_n(text, 1200), max);
			assert_int_equal(th_utf8_valid(th_buf_str(&out)), out.len);
			assert_int_equal(th_str_find(th_buf_str(&out), TH_STR(FFFD)), -1);
			assert_true(out.len <= max + 50);
		}
	}
	th_buf_deinit(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_code_point),
		cmocka_unit_test(every_short_sequence),
		cmocka_unit_test(valid_prefix),
		cmocka_unit_test(cleans),
		cmocka_unit_test(one_line),
		cmocka_unit_test(one_line_always),
		cmocka_unit_test(clips),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
