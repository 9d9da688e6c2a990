/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/clip.h"

#include "unit.h"

#include <stdio.h>

#include "base/limits.h"
#include "base/text.h"

#define SIZE 64 /* head and tail have half of it each */

static struct th_clip clip;
static struct th_buf text;

static int setup(void **state)
{
	(void)state;
	th_clip_init(&clip, SIZE);
	th_buf_init(&text, TH_MIB);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	th_clip_deinit(&clip);
	th_buf_deinit(&text);
	return 0;
}

/* However an output is cut into pieces, the text is the same. */
static void pieces_do_not_matter(void **state)
{
	char all[400], expected[600];

	(void)state;
	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (char)('a' + i % 26);
	for (size_t len = 0; len <= sizeof(all); len += 13) {
		for (size_t piece = 1; piece <= 200; piece = piece * 3 + 1) {
			th_clip_deinit(&clip);
			th_clip_init(&clip, SIZE);
			th_buf_clear(&text);
			for (size_t at = 0; at < len; at += piece)
				th_clip_add(&clip, th_str_n(all + at, TH_MIN(piece, len - at)));
			assert_int_equal(clip.size, len);
			uint64_t left_out = th_clip_text(&clip, &text);
			if (len <= SIZE) {
				assert_int_equal(left_out, 0);
				assert_true(th_str_eq(th_buf_str(&text), th_str_n(all, len)));
				continue;
			}
			assert_int_equal(left_out, len - SIZE);
			snprintf(expected, sizeof(expected), "%.32s\n… %zu bytes left out …\n%.32s",
				 all, len - SIZE, all + len - SIZE / 2);
			assert_string_equal(text.ptr, expected);
		}
	}
}

/* Characters are not cut in two, and the count is true. */
static void characters_stay_whole(void **state)
{
	struct th_str all = TH_STR("äöü€𝄞äöü€𝄞äöü€𝄞äöü€𝄞äöü€𝄞äöü€𝄞äöü€𝄞äöü€𝄞äöü€𝄞äöü€𝄞");

	(void)state;
	for (size_t from = 0; from < 16; from++) {
		th_clip_deinit(&clip);
		th_clip_init(&clip, SIZE);
		th_buf_clear(&text);
		for (size_t i = 0; i < from; i++)
			th_clip_add(&clip, TH_STR("x"));
		th_clip_add(&clip, all);
		uint64_t left_out = th_clip_text(&clip, &text);
		assert_int_equal(th_utf8_valid(th_buf_str(&text)), text.len);
		assert_true(th_str_find(th_buf_str(&text), TH_STR("\xef\xbf\xbd")) < 0);
		struct th_buf note = TH_BUF_INIT(64);
		th_buf_printf(&note, "\n… %zu bytes left out …\n", (size_t)left_out);
		assert_true(th_str_find(th_buf_str(&text), th_buf_str(&note)) >= 0);
		assert_int_equal(text.len - note.len + left_out, from + all.len);
		th_buf_deinit(&note);
	}
}

static const char *clean(struct th_str s, size_t *replaced)
{
	th_buf_clear(&text);
	*replaced = th_clip_clean(&text, s);
	return text.ptr;
}

static void text_is_made_safe(void **state)
{
	size_t n;

	(void)state;
	assert_string_equal(clean(TH_STR("a\tb\nc\r\nd\re"), &n), "a\tb\nc\nd\re");
	assert_int_equal(n, 0);
	assert_string_equal(
	    clean(TH_STR("\x1b[1;31mred\x1b[0m\x1b]0;title\x07 \x1b]8;;x\x1b\\link\x1b(B"), &n),
	    "red link");
	assert_int_equal(n, 0);
	assert_string_equal(clean(TH_STR("\x00\x01\x7f\xc2\x85"), &n),
			    "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	assert_int_equal(n, 4);
	assert_string_equal(clean(TH_STR("\xff\xc3"), &n), "\xef\xbf\xbd\xef\xbf\xbd");
	assert_int_equal(n, 2);
	assert_string_equal(clean(TH_STR("\xef\xbf\xbd"), &n), "\xef\xbf\xbd"); /* was written so */
	assert_int_equal(n, 0);
	assert_string_equal(clean(TH_STR("\x1b"), &n), "\xef\xbf\xbd");
	clean(TH_STR("\x1b[12;"), &n); /* cut in its middle */
	assert_int_equal(n, 1);
	assert_string_equal(clean(TH_STR("\xf0\x9f\x98\x80 \xe6\x97\xa5"), &n),
			    "\xf0\x9f\x98\x80 \xe6\x97\xa5");
}

static void binary_is_only_said(void **state)
{
	(void)state;
	for (int i = 0; i < 200; i++)
		th_clip_add(&clip, TH_STR("\x00\x01"));
	assert_int_equal(th_clip_text(&clip, &text), 400);
	assert_string_equal(text.ptr, "[binary output of 400 bytes, not shown]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(pieces_do_not_matter, setup, teardown),
		cmocka_unit_test_setup_teardown(characters_stay_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(text_is_made_safe, setup, teardown),
		cmocka_unit_test_setup_teardown(binary_is_only_said, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
