/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rig.h - what the tests of base/ share: cmocka, a seeded generator, and
 * comparisons of th_str.
 */
#ifndef TH_TESTS_BASE_RIG_H
#define TH_TESTS_BASE_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/str.h"

/* splitmix64: each seed is a story of its own, the same on every machine. */
static TH_UNUSED uint64_t draw(uint64_t *seed)
{
	uint64_t v = *seed += UINT64_C(0x9e3779b97f4a7c15);

	v = (v ^ v >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	v = (v ^ v >> 27) * UINT64_C(0x94d049bb133111eb);
	return v ^ v >> 31;
}

static TH_UNUSED size_t draw_below(uint64_t *seed, size_t end)
{
	return (size_t)(draw(seed) % end);
}

static TH_UNUSED void draw_bytes(uint64_t *seed, void *ptr, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((uint8_t *)ptr)[i] = (uint8_t)draw(seed);
}

/* A copy that ends where its allocation ends, so that a sanitizer sees each byte read too many. */
static TH_UNUSED char *exact_copy(const void *ptr, size_t len)
{
	char *copy = malloc(len ? len : 1);

	if (!copy)
		abort();
	if (len)
		memcpy(copy, ptr, len);
	return copy;
}

static TH_UNUSED void str_equal(struct th_str s, struct th_str wanted, int line)
{
	if (th_str_eq(s, wanted))
		return;
	print_error("line %d: found \"%.*s\" (%zu), expected \"%.*s\" (%zu)\n", line, TH_FMT(s),
		    s.len, TH_FMT(wanted), wanted.len);
	fail();
}

#define assert_str(s, wanted) str_equal((s), (wanted), __LINE__)
#define assert_is(s, cstr) str_equal((s), th_str_of(cstr), __LINE__)

#endif
