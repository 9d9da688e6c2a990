/* SPDX-License-Identifier: Apache-2.0 */
/* Encodings: what is found by looking, and that every text comes back as it was. */
#include "base/charset.h"

#include "unit.h"

static void finds_them_by_looking(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		enum th_charset charset;
	} rows[] = {
#define ROW(bytes, charset) { bytes, sizeof(bytes) - 1, charset }
		ROW("", TH_CHARSET_UTF8),
		ROW("caf\xc3\xa9", TH_CHARSET_UTF8),
		ROW("\xef\xbb\xbf", TH_CHARSET_UTF8_BOM),
		ROW("caf\xe9", TH_CHARSET_LATIN),
		ROW("a\0b", TH_CHARSET_BINARY),
		ROW("\xff\xfe"
		    "a\0",
		    TH_CHARSET_UTF16LE),
		ROW("\xfe\xff\0a", TH_CHARSET_UTF16BE),
		ROW("\xff\xfe"
		    "a",
		    TH_CHARSET_LATIN),                      /* half a character */
		ROW("\xfe\xff\xd8\x00", TH_CHARSET_BINARY), /* half a pair, and a NUL */
		ROW("\xfe\xff\xdc\x01", TH_CHARSET_LATIN),
		ROW("\xfe\xff\0\0", TH_CHARSET_BINARY),
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		if (th_charset_of(th_str_n(rows[i].bytes, rows[i].len)) != rows[i].charset)
			fail_msg("row %zu", i);
}

static void all_bytes_come_back(void **state)
{
	char all[255];
	struct th_buf text = TH_BUF_INIT(4096), back = TH_BUF_INIT(4096);
	uint32_t bad = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (char)(i + 1);
	assert_int_equal(th_charset_of(th_str_n(all, sizeof(all))), TH_CHARSET_LATIN);
	th_charset_decode(TH_CHARSET_LATIN, th_str_n(all, sizeof(all)), &text);
	assert_true(th_charset_encode(TH_CHARSET_LATIN, th_buf_str(&text), &back, &bad));
	assert_true(th_str_eq(th_buf_str(&back), th_str_n(all, sizeof(all))));
	assert_false(th_charset_encode(TH_CHARSET_LATIN, TH_STR("\xe4\xb8\xad"), &back, &bad));
	assert_int_equal(bad, 0x4e2d);
	th_buf_deinit(&text);
	th_buf_deinit(&back);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_them_by_looking),
		cmocka_unit_test(all_bytes_come_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
