/* SPDX-License-Identifier: Apache-2.0 */
#include "browser/browser.h"

#include "unit.h"

#include "actions/keys.h"

static void test_rows(void **state)
{
	static const struct {
		uint32_t keysym;
		const char *key, *code, *text;
		int vk;
		bool shift;
	} rows[] = {
		{ 'a', "a", "KeyA", "a", 'A', false },
		{ 'Z', "Z", "KeyZ", "Z", 'Z', true },
		{ '1', "1", "Digit1", "1", '1', false },
		{ '!', "!", "Digit1", "!", '1', true },
		{ '/', "/", "Slash", "/", 191, false },
		{ ' ', " ", "Space", " ", 32, false },
		{ '~', "~", "Backquote", "~", 192, true },
		{ 0xe4, "\xc3\xa4", NULL, "\xc3\xa4", 0, false },
		{ 0x010020ac, "\xe2\x82\xac", NULL, "\xe2\x82\xac", 0, false },
		{ 0x0101f600, "\xf0\x9f\x98\x80", NULL, "\xf0\x9f\x98\x80", 0, false },
		{ 0xff0d, "Enter", "Enter", "\r", 13, false },
		{ 0xff09, "Tab", "Tab", "", 9, false },
		{ 0xffb5, "5", "Digit5", "5", '5', false },
		{ 0xffc9, "F12", "F12", "", 123, false },
		{ 0xffe3, "Control", "ControlLeft", "", 17, false },
		{ 0xffff, "Delete", "Delete", "", 46, false },
	};
	struct th_browser_key k;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		assert_true(th_browser_key_find(rows[i].keysym, &k));
		assert_string_equal(k.key, rows[i].key);
		assert_string_equal(k.text, rows[i].text);
		assert_int_equal(k.vk, rows[i].vk);
		assert_int_equal(k.shift, rows[i].shift);
		assert_true(rows[i].code ? k.code && !strcmp(k.code, rows[i].code) : !k.code);
	}
	assert_false(th_browser_key_find(0, &k));
	assert_false(th_browser_key_find(0x1008ff11, &k)); /* the volume is not a page's */
	assert_false(th_browser_key_find(0x01110000, &k));
}

/* Whatever a keyboard has in characters, a page can be told of. */
static void test_all_characters(void **state)
{
	struct th_browser_key k;

	(void)state;
	for (uint32_t c = 0x20; c < 0x7f; c++) {
		assert_true(th_browser_key_find(th_keys_of_char(c), &k));
		assert_true(k.code && k.vk && k.text[0] == (char)c && !k.text[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_all_characters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
