/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "rig.h"

static bool is_zero(const void *ptr, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (((const char *)ptr)[i])
			return false;
	return true;
}

/* Sizes of every kind, none overlapping, all aligned and zero, also after a reset. */
static void pieces(void **state)
{
	struct piece {
		char *ptr;
		size_t size;
	} list[300];
	struct th_arena a;
	uint64_t seed = 1;

	(void)state;
	th_arena_init(&a, (size_t)64 << 20);
	for (int reset = 0; reset < 20; reset++) {
		for (size_t i = 0; i < TH_COUNT(list); i++) {
			size_t size = draw_below(&seed, (size_t)1 << draw_below(&seed, 18));

			if (draw_below(&seed, 100) == 0)
				size = (1 << 20) + size; /* a chunk of its own */
			if (a.used + size + 16 > a.max)
				size = 1;
			list[i] = (struct piece){ th_arena_alloc(&a, size), size };
			assert_non_null(list[i].ptr);
			assert_int_equal((uintptr_t)list[i].ptr % _Alignof(max_align_t), 0);
			assert_true(is_zero(list[i].ptr, size));
			memset(list[i].ptr, (int)(i % 255 + 1), size);
		}
		for (size_t i = 0; i < TH_COUNT(list); i++)
			for (size_t j = 0; j < list[i].size; j++)
				if ((unsigned char)list[i].ptr[j] != i % 255 + 1)
					fail_msg("piece %zu was written over", i);
		th_arena_reset(&a);
		assert_int_equal(a.used, 0);
	}
	th_arena_deinit(&a);
	th_arena_deinit(&a);
}

static void max_is_exact(void **state)
{
	const size_t unit = _Alignof(max_align_t);
	struct th_arena a;

	(void)state;
	th_arena_init(&a, 4 * unit);
	assert_non_null(th_arena_alloc(&a, 3 * unit));
	assert_null(th_arena_alloc(&a, unit + 1));
	assert_non_null(th_arena_alloc(&a, unit));
	assert_null(th_arena_alloc(&a, 0)); /* each piece is its own address */
	th_arena_reset(&a);
	assert_non_null(th_arena_alloc(&a, 4 * unit));
	th_arena_deinit(&a);
	assert_null(th_arena_alloc(&a, 4 * unit + 1));
	assert_null(th_arena_alloc(&a, SIZE_MAX));
	assert_null(th_arena_alloc(&a, SIZE_MAX - unit));
	assert_null(th_arena_array(&a, SIZE_MAX / 2, 3));
	assert_null(th_arena_array(&a, (size_t)1 << 32, (size_t)1 << 32));
	assert_non_null(th_arena_array(&a, 4, unit));
	th_arena_deinit(&a);
	th_arena_init(&a, SIZE_MAX);
	assert_null(th_arena_alloc(&a, SIZE_MAX - 1));
	th_arena_deinit(&a);
}

static void strings(void **state)
{
	struct th_arena a;
	struct th_str s;
	char *c, wide[600];

	(void)state;
	th_arena_init(&a, 4096);
	s = th_arena_str(&a, TH_STR("a\0b"));
	assert_str(s, TH_STR("a\0b"));
	assert_int_equal(s.ptr[s.len], '\0');
	assert_non_null(th_arena_str(&a, (struct th_str){ NULL, 0 }).ptr);
	c = th_arena_cstr(&a, TH_STR("path"));
	assert_string_equal(c, "path");
	assert_string_equal(th_arena_cstr(&a, (struct th_str){ NULL, 0 }), "");
	assert_null(th_arena_cstr(&a, TH_STR("pa\0th")));
	assert_null(th_arena_cstr(&a, TH_STR("path\0")));
	assert_is(th_arena_printf(&a, "%d-%s", 7, "x"), "7-x");
	memset(wide, 'w', sizeof(wide));
	for (int len = 253; len < 259; len++) {
		s = th_arena_printf(&a, "%.*s", len, wide);
		assert_str(s, th_str_n(wide, (size_t)len));
		assert_int_equal(s.ptr[s.len], '\0');
	}
	th_arena_deinit(&a);

	th_arena_init(&a, 16);
	assert_is(th_arena_str(&a, TH_STR("123456789012345")), "123456789012345");
	assert_null(th_arena_str(&a, TH_STR("")).ptr);
	th_arena_reset(&a);
	assert_null(th_arena_str(&a, TH_STR("1234567890123456")).ptr);
	assert_null(th_arena_cstr(&a, TH_STR("1234567890123456")));
	assert_null(th_arena_printf(&a, "%16d", 1).ptr);
	assert_non_null(th_arena_printf(&a, "%15d", 1).ptr);
	th_arena_deinit(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces),
		cmocka_unit_test(max_is_exact),
		cmocka_unit_test(strings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
