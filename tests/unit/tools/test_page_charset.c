/* SPDX-License-Identifier: Apache-2.0 */
/* test_page_charset.c - what says which encoding a page is in, and what becomes of its bytes. */
#include <string.h>

#include "base/limits.h"
#include "tools/page_charset.h"
#include "unit.h"

#define CAFE "caf\xc3\xa9"
#define MIR "\xd0\xbc\xd0\xb8\xd1\x80"   /* in UTF-8, and in */
#define MIR_1251 "\xec\xe8\xf0"          /* windows-1251 */
#define NIHON "\xe6\x97\xa5\xe6\x9c\xac" /* in UTF-8, and in */
#define NIHON_SJIS "\x93\xfa\x96\x7b"    /* Shift_JIS */
#define BAD "\xef\xbf\xbd"

static void says_as_browsers_read_it(void **state)
{
	static const struct {
		const char *type, *bytes, *text; /* text NULL: none */
		bool html;
	} rows[] = {
		{ "text/plain; charset=windows-1251", MIR_1251, MIR, false },
		{ "text/plain;charset=\"Windows-1251\" ; x=y", MIR_1251, MIR, false },
		{ "text/plain; charset='Shift_JIS'", NIHON_SJIS, NIHON, false },
		/* The name that means more than it says, and what nobody knows. */
		{ "text/plain; charset=windows-1258", "ba \xcc", "ba \xcc\x80", false },
		/* A vowel that a mark could follow, at the end. */
		{ "text/plain; charset=windows-1258", "xin ba", "xin ba", false },
		{ "text/plain; charset=iso-8859-1", "caf\xe9 \x80", CAFE " \xe2\x82\xac", false },
		{ "text/plain; charset=x-none", "caf\xe9", CAFE, false },
		{ "text/plain; charset=UTF-7", "+AGE-", "+AGE-", false },
		{ "text/plain; charset", "caf\xe9", CAFE, false },
		{ "text/plain; charset=\"utf-8", "caf\xe9", CAFE, false },
		{ "", CAFE, CAFE, false },
		/* One bad byte does not make the whole another encoding. */
		{ "text/html; charset=utf-8", CAFE " \xe9", CAFE " " BAD, true },
		{ "text/plain; charset=shift_jis", NIHON_SJIS "\x93", NIHON BAD, false },
		/* Inside of the page, and the header before it. */
		{ "text/html", "<meta charset=windows-1251>" MIR_1251,
		  "<meta charset=windows-1251>" MIR, true },
		{ "text/html",
		  "<!-- <meta charset=koi8-r> --><META http-equiv=Content-Type "
		  "content=\"text/html; "
		  "charset = windows-1251\">" MIR_1251,
		  "<!-- <meta charset=koi8-r> --><META http-equiv=Content-Type "
		  "content=\"text/html; "
		  "charset = windows-1251\">" MIR,
		  true },
		{ "text/html; charset=windows-1251", "<meta charset=koi8-r>" MIR_1251,
		  "<meta charset=koi8-r>" MIR, true },
		{ "text/plain", "<meta charset=windows-1251>" MIR_1251,
		  "<meta charset=windows-1251>\xc3\xac\xc3\xa8\xc3\xb0", false },
		{ "text/html", "<meta charset=utf-16>" CAFE, "<meta charset=utf-16>" CAFE, true },
		{ "text/html",
		  "<meta charset=none><meta name=x><meta charset=windows-1251>" MIR_1251,
		  "<meta charset=none><meta name=x><meta charset=windows-1251>" MIR, true },
		{ "text/html", "<meta charset=windows-1251", "<meta charset=windows-1251", true },
		{ "text/html", "<<<!--<meta charset=windows-1251>" MIR_1251,
		  "<<<!--<meta charset=windows-1251>\xc3\xac\xc3\xa8\xc3\xb0", true },
		{ "application/xml", "<?xml version='1.0' encoding='windows-1251'?>" MIR_1251,
		  "<?xml version='1.0' encoding='windows-1251'?>" MIR, false },
		/* A byte order mark is more than all of them. */
		{ "text/plain; charset=windows-1251", "\xef\xbb\xbf" CAFE, CAFE, false },
		{ "text/plain; charset=iso-2022-jp", "\x1b$B#A", NULL, false },
	};
	struct th_buf out = TH_BUF_INIT(TH_KIB);

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		th_buf_clear(&out);
		if (!th_page_decode(th_str_of(rows[i].type), rows[i].html, false,
				    th_str_of(rows[i].bytes), &out))
			fail_msg("%zu is no text", i);
		if (rows[i].text && strcmp(out.ptr, rows[i].text) != 0)
			fail_msg("%zu: %s", i, out.ptr);
	}
	th_buf_deinit(&out);
}

static void says_what_is_no_text(void **state)
{
	struct th_buf out = TH_BUF_INIT(TH_KIB);

	(void)state;
	assert_false(th_page_decode(TH_STR("text/plain; charset=koi8-r"), false, false,
				    TH_STR("a\0b"), &out));
	assert_true(th_page_decode(TH_STR("text/plain; charset=utf-16be"), false, false,
				   TH_STR("\0a\x04\x3c"), &out));
	assert_string_equal(out.ptr, "a\xd0\xbc");
	th_buf_clear(&out);
	/* Half of a pair is one character that is bad, and what follows is whole; so is half a
	 * unit at the end. */
	assert_true(th_page_decode(TH_STR("text/plain; charset=utf-16le"), false, false,
				   TH_STR("a\0\x00\xd8"
					  "b\0c\0d"),
				   &out));
	assert_string_equal(out.ptr, "a" BAD "bc" BAD);
	th_buf_clear(&out);
	/* A half character at the end of what was read. */
	assert_true(th_page_decode(TH_STR(""), false, true, TH_STR(CAFE "\xc3"), &out));
	assert_string_equal(out.ptr, CAFE "\xc3");
	th_buf_deinit(&out);
}

/* What is looked at for a <meta>, and that many bytes of noise take no time. */
static void has_bounds(void **state)
{
	struct th_buf page = TH_BUF_INIT(16 * TH_MIB), out = TH_BUF_INIT(64 * TH_MIB);
	static const char meta[] = "<meta charset=windows-1251>";

	(void)state;
	for (size_t before = TH_KIB - sizeof(meta) + 1; before < TH_KIB - sizeof(meta) + 4;
	     before++) {
		th_buf_clear(&page);
		th_buf_clear(&out);
		while (page.len < before)
			th_buf_add_char(&page, ' ');
		th_buf_add_cstr(&page, meta);
		th_buf_add_cstr(&page, MIR_1251);
		assert_true(
		    th_page_decode(TH_STR("text/html"), true, false, th_buf_str(&page), &out));
		/* One byte less of its name is the name of nothing. */
		assert_int_equal(strstr(out.ptr, MIR) != NULL, before <= TH_KIB - sizeof(meta) + 2);
	}
	th_buf_clear(&page);
	while (page.len < 8 * TH_MIB)
		th_buf_add_cstr(&page, "\xff\xfd<meta charset");
	th_buf_clear(&out);
	assert_true(th_page_decode(TH_STR("text/html; charset=gb2312"), true, false,
				   th_buf_str(&page), &out));
	th_buf_clear(&out);
	assert_true(th_page_decode(TH_STR("text/html; charset=utf-8"), true, false,
				   th_buf_str(&page), &out));
	th_buf_deinit(&page);
	th_buf_deinit(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_as_browsers_read_it),
		cmocka_unit_test(says_what_is_no_text),
		cmocka_unit_test(has_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
