/* SPDX-License-Identifier: Apache-2.0 */
/* A computer without an agent: what is asked of it, and what is said where no executor can be had.
 * tests/e2e/cli/test_cua.py has a real one. */
#include "rig.h"

#include <poll.h>

struct told {
	int count;
	struct thole_computer *frees; /* in its own callback */
};

static void on_called(void *ctx, const char *status, const char *output, const char *evidence,
		      const void *bytes, size_t size)
{
	struct told *t = ctx;

	(void)bytes;
	assert_string_equal(status, "not_started");
	assert_true(output[0] == '"' && strlen(output) > 10);
	assert_null(evidence);
	assert_int_equal(size, 0);
	t->count++;
	thole_computer_free(t->frees);
	t->frees = NULL;
}

static void spin(struct thole_runtime *rt, const int *count, int until)
{
	while (*count < until) {
		struct pollfd p = { .fd = thole_runtime_fd(rt), .events = POLLIN };

		(void)!poll(&p, 1, thole_runtime_timeout_ms(rt));
		GOOD(thole_runtime_dispatch(rt, &error));
	}
}

static void test_wrong_words(void **state)
{
	static const char *const bad[][5] = {
		{ NULL },
		{ "folder", "relative", NULL },
		{ "folder", "/tmp", "size", "0x5", NULL },
		{ "folder", "/tmp", "size", "many", NULL },
		{ "folder", "/tmp", "net", "some", NULL },
		{ "folder", "/tmp", "tool", "edit", NULL },
		{ "folder", "/tmp", "colour", "red", NULL },
	};
	const char *const good[] = { "folder", "/tmp", "size", "640x480", "net", "none", NULL };
	struct thole_runtime *rt = runtime_at("http://127.0.0.1:1/v1", "memory:");
	struct thole_computer *c = NULL;
	char too_long[130] = { 0 };

	(void)state;
	memset(too_long, 'x', sizeof(too_long) - 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		BAD(THOLE_EUSAGE, thole_computer_new(rt, "desk", bad[i], &c, &error));
	BAD(THOLE_EUSAGE, thole_computer_new(NULL, "desk", good, &c, &error));
	BAD(THOLE_EUSAGE, thole_computer_new(rt, NULL, good, &c, &error));
	BAD(THOLE_EUSAGE, thole_computer_new(rt, "", good, &c, &error));
	BAD(THOLE_EUSAGE, thole_computer_new(rt, "desk", good, NULL, &error));
	BAD(THOLE_ELIMIT, thole_computer_new(rt, too_long, good, &c, &error));
	assert_null(c);
	GOOD(thole_computer_new(rt, "desk", good, &c, &error));
	BAD(THOLE_EUSAGE, thole_computer_call(NULL, "shell", "{}", 0, on_called, NULL, &error));
	BAD(THOLE_EUSAGE, thole_computer_call(c, NULL, "{}", 0, on_called, NULL, &error));
	BAD(THOLE_EUSAGE, thole_computer_call(c, "edit", "{}", 0, on_called, NULL, &error));
	BAD(THOLE_EUSAGE, thole_computer_call(c, "browser", "{}", 0, on_called, NULL, &error));
	BAD(THOLE_ELIMIT, thole_computer_call(c, too_long, "{}", 0, on_called, NULL, &error));
	BAD(THOLE_EUSAGE, thole_computer_call(c, "shell", NULL, 0, on_called, NULL, &error));
	BAD(THOLE_EUSAGE, thole_computer_call(c, "shell", "[]", 0, on_called, NULL, &error));
	BAD(THOLE_EUSAGE, thole_computer_call(c, "shell", "{}", -1, on_called, NULL, &error));
	BAD(THOLE_EUSAGE, thole_computer_call(c, "shell", "{}", 0, NULL, NULL, &error));
	assert_int_equal(thole_computer_width(c), 0);
	assert_int_equal(thole_computer_height(c), 0);
	assert_int_equal(thole_computer_width(NULL), 0);
	assert_int_equal(thole_computer_height(NULL), 0);
	thole_computer_free(NULL);
	thole_computer_free(c);
	GOOD(thole_runtime_free(rt));
}

/* As many as may be under way, each told once; one frees it, and the rest is not told. */
static void test_no_executor(void **state)
{
	const char *const options[] = { "folder", "/tmp", NULL };
	struct thole_runtime *rt = runtime_at("http://127.0.0.1:1/v1", "memory:");
	struct thole_computer *c = NULL, *second = NULL, *third = NULL;
	struct told told = { 0 }, freed = { 0 }, never = { 0 };

	(void)state;
	GOOD(thole_computer_new(rt, "desk", options, &c, &error));
	for (int i = 0; i < 192; i++)
		GOOD(thole_computer_call(c, "shell", "{\"command\":\"true\"}", 0, on_called, &told,
					 &error));
	BAD(THOLE_ELIMIT,
	    thole_computer_call(c, "shell", "{\"command\":\"true\"}", 0, on_called, &told, &error));
	assert_int_equal(told.count, 0); /* never from inside the call */
	spin(rt, &told.count, 192);
	GOOD(thole_computer_call(c, "computer", "{\"actions\":[]}", 0, on_called, &told, &error));
	spin(rt, &told.count, 193);
	GOOD(thole_computer_new(rt, "desk", options, &second, &error));
	freed.frees = second;
	for (int i = 0; i < 2; i++)
		GOOD(thole_computer_call(second, "computer", "{\"actions\":[]}", 0, on_called,
					 &freed, &error));
	spin(rt, &freed.count, 1);
	GOOD(thole_computer_new(rt, "other", options, &third, &error));
	GOOD(thole_computer_call(third, "computer", "{\"actions\":[]}", 0, on_called, &never,
				 &error));
	GOOD(thole_runtime_free(rt)); /* ends what is there */
	assert_int_equal(freed.count, 1);
	assert_int_equal(never.count, 0);
}

static void on_terminal(void *ctx, struct thole_terminal *t, uint64_t offset, const void *bytes,
			size_t size)
{
	struct told *told = ctx;

	(void)offset;
	assert_null(bytes);
	assert_int_equal(size, 0);
	assert_true(thole_terminal_ended(t));
	assert_int_equal(thole_terminal_status(t), -1);
	assert_true(strlen(thole_terminal_reason(t)) > 10);
	BAD(THOLE_EPROTO, thole_terminal_write(t, "x", 1, &error));
	BAD(THOLE_EPROTO, thole_terminal_resize(t, 80, 24, &error));
	told->count++;
	if (told->frees) {
		thole_computer_free(told->frees); /* and this terminal with it */
		told->frees = NULL;
	} else {
		thole_terminal_free(t);
	}
}

static void test_terminals(void **state)
{
	static const char *const bad[][3] = {
		{ "columns", "0", NULL },    { "columns", "1001", NULL }, { "rows", "-1", NULL },
		{ "rows", "many", NULL },    { "command", "", NULL },     { "colour", "red", NULL },
		{ "environment", "", NULL },
	};
	const char *const folder[] = { "folder", "/tmp", NULL };
	struct thole_runtime *rt = runtime_at("http://127.0.0.1:1/v1", "memory:");
	struct thole_terminal *t = NULL, *all[64];
	struct thole_computer *c = NULL;
	struct told told = { 0 };
	char large[65537] = { 0 };

	(void)state;
	GOOD(thole_computer_new(rt, "desk", folder, &c, &error));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		BAD(THOLE_EUSAGE, thole_terminal_new(c, bad[i], on_terminal, &told, &t, &error));
	BAD(THOLE_EUSAGE, thole_terminal_new(NULL, NULL, on_terminal, &told, &t, &error));
	BAD(THOLE_EUSAGE, thole_terminal_new(c, NULL, NULL, &told, &t, &error));
	BAD(THOLE_EUSAGE, thole_terminal_new(c, NULL, on_terminal, &told, NULL, &error));
	for (int i = 0; i < 64; i++)
		GOOD(thole_terminal_new(c, folder, on_terminal, &told, &all[i], &error));
	BAD(THOLE_ELIMIT, thole_terminal_new(c, NULL, on_terminal, &told, &t, &error));
	/* Typed before its program is there. */
	BAD(THOLE_ELIMIT, thole_terminal_write(all[0], large, sizeof(large), &error));
	GOOD(thole_terminal_write(all[0], large, sizeof(large) - 1, &error));
	BAD(THOLE_ELIMIT, thole_terminal_write(all[0], "x", 1, &error));
	BAD(THOLE_EUSAGE, thole_terminal_write(all[0], NULL, 1, &error));
	BAD(THOLE_EUSAGE, thole_terminal_resize(all[0], 1001, 24, &error));
	GOOD(thole_terminal_resize(all[0], 1000, 24, &error));
	assert_false(thole_terminal_ended(all[0]));
	BAD(THOLE_EUSAGE, thole_terminal_write(NULL, "x", 1, &error));
	BAD(THOLE_EUSAGE, thole_terminal_resize(NULL, 80, 24, &error));
	assert_false(thole_terminal_ended(NULL));
	assert_int_equal(thole_terminal_status(NULL), -1);
	assert_string_equal(thole_terminal_reason(NULL), "");
	thole_terminal_free(all[1]); /* it is told nothing */
	thole_terminal_free(NULL);
	spin(rt, &told.count, 63);
	assert_int_equal(told.count, 63);
	/* A callback that frees the computer; and one that is not called, since the runtime ends.
	 */
	told.frees = c;
	GOOD(thole_terminal_new(c, folder, on_terminal, &told, &t, &error));
	GOOD(thole_terminal_new(c, folder, on_terminal, &told, &t, &error));
	spin(rt, &told.count, 64);
	GOOD(thole_computer_new(rt, "desk", folder, &c, &error));
	GOOD(thole_terminal_new(c, folder, on_terminal, &told, &t, &error));
	GOOD(thole_runtime_free(rt));
	assert_int_equal(told.count, 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_wrong_words, away_from_home),
		cmocka_unit_test_setup(test_no_executor, away_from_home),
		cmocka_unit_test_setup(test_terminals, away_from_home),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
