/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"
#include "base/text.h"
#include "rig.h"

static void says(void **state)
{
	struct th_err err = { 0 };

	(void)state;
	assert_int_equal(th_fail(&err, TH_EIO, "disk %d is %s", 3, "full"), TH_EIO);
	assert_int_equal(err.code, TH_EIO);
	assert_string_equal(err.msg, "disk 3 is full");
	assert_int_equal(th_prefix(&err, TH_EPROTO, "open %s", "a1"), TH_EIO);
	assert_string_equal(err.msg, "open a1: disk 3 is full");
	assert_int_equal(th_fail(&err, TH_EPERM, "again: %s", err.msg), TH_EPERM);
	assert_string_equal(err.msg, "again: open a1: disk 3 is full");
	assert_int_equal(th_fail(NULL, TH_EBUSY, "%s", "x"), TH_EBUSY);
	assert_int_equal(th_prefix(NULL, TH_EBUSY, "%s", "x"), TH_EBUSY);
	assert_int_equal(th_prefix(&err, TH_OK, "%s", "x"), TH_OK); /* an old failure is over */
}

static void one_line_of_utf8(void **state)
{
	struct th_err err = { 0 };

	(void)state;
	(void)th_fail(&err, TH_EIO, "a\nb\tc\x1b[1m\x7f");
	assert_string_equal(err.msg, "a b c [1m ");
	(void)th_fail(&err, TH_EIO, "x\xff\xc3(y\xed\xa0\x80");
	assert_string_equal(err.msg, "x?"
				     "?(y?"
				     "?"
				     "?");
	char wide[2 * TH_ERR_MSG_MAX + 1];

	memset(wide, 'w', sizeof(wide) - 1); /* cut at the end: what is bad in the middle is not */
	wide[sizeof(wide) - 1] = '\0';
	wide[9] = '\xff';
	(void)th_fail(&err, TH_EIO, "%s", wide);
	assert_int_equal(strlen(err.msg), TH_ERR_MSG_MAX - 1);
	assert_int_equal(err.msg[9], '?');
	(void)th_fail(&err, TH_EIO, "caf\xc3"); /* not cut here: somebody gave half a character */
	assert_string_equal(err.msg, "caf?");
}

/* Texts around the maximum, of characters of every width: valid, and cut at a character. */
static void cut_at_a_character(void **state)
{
	static const char *const chars[] = { "a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80" };
	char text[TH_ERR_MSG_MAX + 16], lead[8] = "";
	struct th_err err = { 0 };

	(void)state;
	for (size_t c = 0; c < TH_COUNT(chars); c++) {
		size_t width = strlen(chars[c]);

		for (size_t shift = 0; shift < 4; shift++) {
			size_t len = shift;

			memset(text, 'x', shift);
			while (len + width < sizeof(text)) {
				memcpy(text + len, chars[c], width);
				len += width;
			}
			text[len] = '\0';
			(void)th_fail(&err, TH_EIO, "%s", text);
			len = strlen(err.msg);
			assert_int_equal(th_utf8_valid(th_str_of(err.msg)), len);
			assert_true(len < TH_ERR_MSG_MAX && len > TH_ERR_MSG_MAX - 1 - width);
			assert_null(strchr(err.msg, '?'));

			memset(lead, 'p', shift);
			(void)th_prefix(&err, TH_EIO, "%.*s", (int)shift, lead);
			len = strlen(err.msg);
			assert_int_equal(th_utf8_valid(th_str_of(err.msg)), len);
			assert_true(len < TH_ERR_MSG_MAX && len > TH_ERR_MSG_MAX - 1 - width);
			assert_null(strchr(err.msg, '?'));

			(void)th_fail(&err, TH_EIO, "tail");
			(void)th_prefix(&err, TH_EIO, "%s", text);
			assert_int_equal(th_utf8_valid(th_str_of(err.msg)), strlen(err.msg));
		}
	}
}

static void prefix_edge(void **state)
{
	char text[TH_ERR_MSG_MAX];
	struct th_err err = { 0 };

	(void)state;
	for (size_t len = sizeof(text) - 6; len < sizeof(text); len++) {
		memset(text, 'p', len);
		text[len] = '\0';
		(void)th_fail(&err, TH_EIO, "reason");
		(void)th_prefix(&err, TH_EIO, "%s", text);
		assert_true(!strncmp(err.msg, text, len));
		assert_true(strlen(err.msg) < TH_ERR_MSG_MAX);
	}
}

static void callbacks(void **state)
{
	(void)state;
	assert_string_equal(th_code_name(TH_OK), "ok");
	assert_string_equal(th_code_name(TH_EFENCED), "fenced");
	assert_string_equal(th_code_name((enum th_code)7), "unknown");
	assert_int_equal(th_code_exit(TH_OK), 0);
	assert_int_equal(th_code_exit(TH_EUSAGE), 2);
	assert_int_equal(th_code_exit(TH_ECANCELED), 130);
	assert_int_equal(th_code_exit((enum th_code)7), 1);
#define X(id, value, name, exit_code) assert_int_equal(TH_##id, value);
	TH_CODES(X)
#undef X
}

static jmp_buf stopped;
static size_t stopped_size;

static void oom(size_t size)
{
	stopped_size = size;
	longjmp(stopped, 1);
}

static void out_of_memory(void **state)
{
	volatile size_t huge = PTRDIFF_MAX / 2; /* the compiler must not see it */
	void *volatile ptr = NULL;

	(void)state;
	th_oom_hook(oom);
	if (!setjmp(stopped)) {
		ptr = th_alloc(huge);
		fail_msg("came back with %p", ptr);
	}
	assert_int_equal(stopped_size, huge);
	stopped_size = 0;
	if (!setjmp(stopped)) {
		ptr = th_realloc(NULL, huge);
		fail_msg("came back with %p", ptr);
	}
	assert_int_equal(stopped_size, huge);
	th_oom_hook(NULL);
	ptr = th_try_alloc(huge);
	assert_null(ptr);
}

/* Also memory that was used before. */
static void allocates_zeroes(void **state)
{
	(void)state;
	for (size_t size = 1; size < 2100; size += size < 1000 ? 83 : 1) {
		for (int round = 0; round < 4; round++) {
			uint8_t *ptr = round % 2 ? th_alloc(size) : th_try_alloc(size);

			assert_non_null(ptr);
			for (size_t i = 0; i < size; i++)
				assert_int_equal(ptr[i], 0);
			memset(ptr, 0xa5, size);
			free(ptr);
		}
	}
}

static void allocates(void **state)
{
	char *ptr = th_alloc(100);

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_int_equal(ptr[i], 0);
	ptr = th_realloc(ptr, 200);
	free(ptr);
	ptr = th_alloc(0);
	assert_non_null(ptr);
	free(ptr);
	ptr = th_realloc(NULL, 0);
	assert_non_null(ptr);
	free(ptr);
}

static void fails_on_demand(void **state)
{
	(void)state;
	for (size_t nth = 1; nth < 5; nth++) {
		th_try_alloc_fail_at(nth);
		for (size_t i = 1; i < 8; i++) {
			void *ptr = th_try_alloc(8);

			assert_int_equal(ptr == NULL, i == nth);
			free(ptr);
		}
	}
	th_try_alloc_fail_at(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says),
		cmocka_unit_test(one_line_of_utf8),
		cmocka_unit_test(cut_at_a_character),
		cmocka_unit_test(prefix_edge),
		cmocka_unit_test(callbacks),
		cmocka_unit_test(out_of_memory),
		cmocka_unit_test(allocates),
		cmocka_unit_test(allocates_zeroes),
		cmocka_unit_test(fails_on_demand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
