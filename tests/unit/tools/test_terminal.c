/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shorter way of plain lines through the terminal: whatever comes, in
 * whatever pieces, the text, the rows and the cursor are those of the long way.
 */
#include "unit.h"

#include <stdio.h>

#include "base/limits.h"
#include "tools/terminal.h"

static uint64_t seed;

static unsigned draw(unsigned below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % below;
}

static void no_reply(void *ctx, struct th_str bytes)
{
	(void)ctx;
	(void)bytes;
}

static void put_line(struct th_buf *out, unsigned len)
{
	for (unsigned i = 0; i < len; i++)
		th_buf_add_char(out, (char)(0x20 + draw(0x5f)));
	th_buf_add_cstr(out, "\r\n");
}

static void put_piece(struct th_buf *out)
{
	static const char *const others[] = {
		"\t",          "a\tb\r\n",      "\n",
		"\r50%\r60%",  "\b\b",          "\xc3\xa9\xe6\x97\xa5\r\n",
		"\xe6\x97",    "e\xcc\x81",     "\033[31m",
		"\033[m",      "\033[A",        "\033[3;20r",
		"\033[2J",     "\033[H",        "\033[?1049h",
		"\033[?1049l", "\033(0",        "\016",
		"\017",        "\033[?7l",      "\033[4h",
		"\007",        "\033]7770;x\a", "\033",
	};

	switch (draw(8)) {
	case 0:
		for (unsigned n = draw(600); n > 0; n--)
			put_line(out, draw(30));
		break;
	case 1:
		for (unsigned n = draw(200); n > 0; n--)
			put_line(out, 190 + draw(20)); /* around a row's length */
		break;
	case 2:
		put_line(out, draw(700));
		break;
	case 3:
		th_buf_add_cstr(out, "the beginning of a line");
		break;
	case 4:
		th_buf_add_cstr(out, others[draw(TH_COUNT(others))]);
		break;
	default:
		for (unsigned n = draw(5); n > 0; n--)
			put_line(out, draw(90));
		break;
	}
}

static void compare_rows(struct th_terminal *a, struct th_terminal *b)
{
	int32_t at[4];

	th_terminal_cursor(a, &at[0], &at[1]);
	th_terminal_cursor(b, &at[2], &at[3]);
	assert_int_equal(at[0], at[2]);
	assert_int_equal(at[1], at[3]);
	for (int row = 0; row < TH_TERMINAL_ROWS; row++) {
		struct th_buf left = TH_BUF_INIT(TH_TERMINAL_ROW_MAX);
		struct th_buf right = TH_BUF_INIT(TH_TERMINAL_ROW_MAX);

		th_terminal_row(a, row, &left);
		th_terminal_row(b, row, &right);
		if (!th_str_eq(th_buf_str(&left), th_buf_str(&right)))
			fail_msg("row %d: %.*s\n---- is not ----\n%.*s", row,
				 TH_FMT(th_buf_str(&left)), TH_FMT(th_buf_str(&right)));
		th_buf_deinit(&left);
		th_buf_deinit(&right);
	}
}

static void compare_texts(struct th_terminal *a, struct th_terminal *b)
{
	struct th_buf left = TH_BUF_INIT(TH_MIB), right = TH_BUF_INIT(TH_MIB);

	assert_int_equal(th_terminal_fresh(a), th_terminal_fresh(b));
	assert_int_equal(th_terminal_take(a, &left), th_terminal_take(b, &right));
	if (!th_str_eq(th_buf_str(&left), th_buf_str(&right)))
		fail_msg("%.*s\n---- is not ----\n%.*s", TH_FMT(th_buf_str(&left)),
			 TH_FMT(th_buf_str(&right)));
	th_buf_deinit(&left);
	th_buf_deinit(&right);
}

static void one(uint64_t number)
{
	struct th_terminal *quick = th_terminal_new(no_reply, NULL);
	struct th_terminal *exact = th_terminal_new(no_reply, NULL);

	seed = number;
	th_terminal_exact(exact);
	for (int step = 0; step < 12; step++) {
		struct th_buf bytes = TH_BUF_INIT(4 * TH_MIB);

		for (unsigned n = 1 + draw(6); n > 0; n--)
			put_piece(&bytes);
		th_terminal_feed(exact, th_buf_str(&bytes));
		for (size_t at = 0, next; at < bytes.len; at = next) {
			next = TH_MIN(at + 1 + draw(draw(4) ? 4096 : 50), bytes.len);
			th_terminal_feed(quick, th_str_sub(th_buf_str(&bytes), at, next - at));
		}
		th_buf_deinit(&bytes);
		if (draw(3) == 0)
			compare_rows(quick, exact);
		if (draw(2) == 0)
			compare_texts(quick, exact);
		if (draw(3) == 0) {
			th_terminal_calm(quick);
			th_terminal_calm(exact);
		}
	}
	compare_rows(quick, exact);
	compare_texts(quick, exact);
	th_terminal_free(quick);
	th_terminal_free(exact);
}

static void is_the_long_way(void **state)
{
	(void)state;
	for (uint64_t number = 1; number <= 40; number++)
		one(number);
}

/* A flood is passed through: its first and last lines are shown, the rest is counted. */
static void passes_a_flood(void **state)
{
	struct th_terminal *t = th_terminal_new(no_reply, NULL);
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	char line[32];

	(void)state;
	for (int i = 1; i <= 300000; i++) {
		snprintf(line, sizeof(line), "line %d\r\n", i);
		th_terminal_feed(t, th_str_of(line));
	}
	assert_true(th_terminal_take(t, &text) > 3000000);
	assert_true(th_str_starts(th_buf_str(&text), TH_STR("line 1\nline 2\n")));
	assert_true(th_str_ends(th_buf_str(&text), TH_STR("\nline 299999\nline 300000")));
	th_buf_deinit(&text);
	th_terminal_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_the_long_way),
		cmocka_unit_test(passes_a_flood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
