/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "rig.h"

static void starts_empty(void **state)
{
	struct th_buf b = TH_BUF_INIT(4);
	size_t len = 9;
	char *ptr;

	(void)state;
	assert_string_equal(b.ptr, "");
	assert_int_equal(th_buf_check(&b, "x", NULL), TH_OK);
	th_buf_add_mem(&b, NULL, 0);
	th_buf_add(&b, (struct th_str){ NULL, 0 });
	th_buf_drop(&b, 0);
	th_buf_truncate(&b, 0);
	th_buf_grown(&b, 0);
	th_buf_clear(&b);
	assert_int_equal(b.cap, 0);
	ptr = th_buf_steal(&b, &len);
	assert_string_equal(ptr, "");
	assert_int_equal(len, 0);
	free(ptr);
	th_buf_deinit(&b);
	th_buf_deinit(&b);
}

static void max_is_exact(void **state)
{
	struct th_err err = { 0 };
	struct th_buf b;

	(void)state;
	th_buf_init(&b, 4);
	th_buf_add(&b, TH_STR("abc"));
	th_buf_add_char(&b, 'd');
	assert_int_equal(th_buf_check(&b, "x", &err), TH_OK);
	th_buf_add_char(&b, 'e');
	assert_int_equal(th_buf_check(&b, "the answer", &err), TH_ELIMIT);
	assert_int_equal(err.code, TH_ELIMIT);
	assert_string_equal(err.msg, "the answer is larger than 4 bytes");
	assert_string_equal(b.ptr, "abcd");
	th_buf_truncate(&b, 2);
	th_buf_add_char(&b, 'z'); /* failed for good, though there is room */
	assert_is(th_buf_str(&b), "ab");
	th_buf_clear(&b);
	assert_int_equal(th_buf_check(&b, "x", &err), TH_OK);
	th_buf_add(&b, TH_STR("abcde"));
	assert_is(th_buf_str(&b), ""); /* all or nothing */
	assert_true(b.failed);
	th_buf_deinit(&b);
	assert_false(b.failed);
	assert_int_equal(b.max, 4);

	th_buf_init(&b, 0);
	assert_non_null(th_buf_grow(&b, 0));
	th_buf_grown(&b, 0);
	th_buf_printf(&b, "%s", "");
	assert_false(b.failed);
	assert_null(th_buf_grow(&b, 1));
	assert_true(b.failed);
	th_buf_deinit(&b);

	th_buf_init(&b, SIZE_MAX); /* no arithmetic wraps */
	th_buf_add_char(&b, 'a');
	assert_null(th_buf_grow(&b, SIZE_MAX - 1));
	assert_true(b.failed);
	th_buf_deinit(&b);
}

static void reserve_is_a_hint(void **state)
{
	struct th_buf b = TH_BUF_INIT(100);

	(void)state;
	th_buf_reserve(&b, 101);
	th_buf_reserve(&b, SIZE_MAX);
	assert_false(b.failed);
	th_buf_reserve(&b, 90);
	assert_true(b.cap >= 90);
	char *before = b.ptr;

	for (int i = 0; i < 90; i++)
		th_buf_add_char(&b, 'x');
	assert_ptr_equal(b.ptr, before);
	th_buf_deinit(&b);
}

static void numbers(void **state)
{
	struct th_buf b = TH_BUF_INIT(200);

	(void)state;
	th_buf_add_u64(&b, 0);
	th_buf_add_char(&b, ' ');
	th_buf_add_u64(&b, UINT64_MAX);
	th_buf_add_char(&b, ' ');
	th_buf_add_i64(&b, INT64_MIN);
	th_buf_add_char(&b, ' ');
	th_buf_add_i64(&b, INT64_MAX);
	th_buf_add_char(&b, ' ');
	th_buf_add_i64(&b, -1);
	assert_string_equal(b.ptr, "0 18446744073709551615 -9223372036854775808 "
				   "9223372036854775807 -1");
	th_buf_deinit(&b);
}

static void prints(void **state)
{
	struct th_buf b = TH_BUF_INIT(1000);
	char wide[600];

	(void)state;
	memset(wide, 'w', sizeof(wide));
	for (size_t len = 250; len < 262; len++) { /* around the size that takes a second pass */
		th_buf_clear(&b);
		th_buf_printf(&b, "<%.*s>", (int)len, wide);
		assert_int_equal(b.len, len + 2);
		assert_int_equal(strlen(b.ptr), len + 2);
		assert_int_equal(b.ptr[len + 1], '>');
	}
	th_buf_clear(&b);
	th_buf_printf(&b, "%.*s", 500, wide);
	th_buf_printf(&b, "%.*s", 500, wide);
	assert_false(b.failed);
	assert_int_equal(b.len, 1000);
	th_buf_printf(&b, "%s", "");
	assert_false(b.failed);
	th_buf_printf(&b, "%d", 1);
	assert_true(b.failed);
	assert_int_equal(b.len, 1000);
	th_buf_deinit(&b);
}

static void steals(void **state)
{
	struct th_buf b = TH_BUF_INIT(10);
	size_t len;
	char *ptr;

	(void)state;
	th_buf_add_cstr(&b, "hello");
	ptr = th_buf_steal(&b, &len);
	assert_string_equal(ptr, "hello");
	assert_int_equal(len, 5);
	assert_int_equal(b.len, 0);
	assert_string_equal(b.ptr, "");
	th_buf_add_cstr(&b, "again");
	assert_string_equal(ptr, "hello");
	free(ptr);
	th_buf_deinit(&b);
}

/* Every operation against an array that only grows. */
static void like_an_array(void **state)
{
	static char model[4096];

	(void)state;
	for (uint64_t seed = 1; seed < 200; seed++) {
		uint64_t s = seed;
		size_t max = draw_below(&s, sizeof(model)), len = 0;
		struct th_buf b = TH_BUF_INIT(max);
		bool failed = false;

		for (int round = 0; round < 200; round++) {
			char piece[100];
			size_t size = draw_below(&s, sizeof(piece));
			char *to;

			draw_bytes(&s, piece, size);
			switch (draw_below(&s, 5)) {
			case 0:
				size = TH_MIN(size, len);
				th_buf_drop(&b, size);
				memmove(model, model + size, len - size);
				len -= size;
				break;
			case 1:
				th_buf_truncate(&b, size);
				len = TH_MIN(len, size);
				break;
			case 2:
				to = th_buf_grow(&b, size);
				failed |= size > max - len;
				assert_int_equal(to == NULL, failed);
				if (to) {
					memcpy(to, piece, size);
					memcpy(model + len, piece, size);
					th_buf_grown(&b, size / 2); /* less than asked for */
					len += size / 2;
				}
				break;
			default:
				th_buf_add_mem(&b, piece, size);
				failed |= size > max - len;
				if (!failed) {
					memcpy(model + len, piece, size);
					len += size;
				}
				break;
			}
			assert_int_equal(b.failed, failed);
			assert_int_equal(b.len, len);
			assert_true(!len || !memcmp(b.ptr, model, len));
			assert_int_equal(b.ptr[b.len], '\0');
			assert_true(b.cap <= TH_MAX(max, (size_t)1));
		}
		th_buf_deinit(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_empty),
		cmocka_unit_test(max_is_exact),
		cmocka_unit_test(reserve_is_a_hint),
		cmocka_unit_test(numbers),
		cmocka_unit_test(prints),
		cmocka_unit_test(steals),
		cmocka_unit_test(like_an_array),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
