/* SPDX-License-Identifier: Apache-2.0 */
/* test_seat.c - states that are made by a copy: each is as new, whatever the one before has done.
 */
#include <pthread.h>
#include <stdio.h>

#include "unit.h"

#include "base/limits.h"
#include "script/script.h"
#include "script/script_seat.h"

static struct th_err err;

static struct th_script *new_of(const char *source)
{
	struct th_script *s = NULL;

	if (th_script_new(TH_STR("test"), th_str_of(source), NULL, &s, &err) != TH_OK)
		fail_msg("%s", err.msg);
	return s;
}

static void says(struct th_script *s, const char *wanted)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);

	if (th_script_call(s, "f", TH_STR("[]"), &out, &err) != TH_OK)
		fail_msg("%s", err.msg);
	assert_string_equal(out.ptr, wanted);
}

/* What does not fit is on the heap, and then nothing is kept.  Before any script has run. */
static void filled(void **state)
{
	struct th_script_seat *seat = th_script_seat_take();
	char *at;

	(void)state;
	assert_non_null(seat);
	for (int i = 0; i < 2; i++) {
		assert_false(th_script_seat_restore(seat));
		at = th_script_seat_add(seat, TH_SCRIPT_SEAT_SIZE - 15);
		assert_non_null(at);
		assert_true(th_script_seat_has(seat, at + TH_SCRIPT_SEAT_SIZE - 1));
		assert_false(th_script_seat_has(seat, at + TH_SCRIPT_SEAT_SIZE));
		assert_false(th_script_seat_has(NULL, at));
		assert_null(th_script_seat_add(seat, 1));
		th_script_seat_keep(seat, "x", 1);
	}
	assert_false(th_script_seat_restore(seat));
	th_script_seat_give(seat);
	th_script_seat_give(NULL);
}

/* What a script may reach, by its names, in one text. */
static const char walks[] =
    "function f() local names, seen = {}, {}\n"
    " local function walk(t, path)\n"
    "  if seen[t] then return end seen[t] = true\n"
    "  for k, v in pairs(t) do names[#names + 1] = path .. tostring(k) .. type(v)\n"
    "   if type(v) == 'table' then walk(v, path .. tostring(k) .. '.') end end end\n"
    " walk(_G, '') table.sort(names)\n"
    " return table.concat(names, ' ') .. ('x'):upper() end";

static void breaks(void)
{
	struct th_script *s =
	    new_of("function f() string.upper = nil math.pi = 3 table.concat = print leaked = {}\n"
		   " for i = 1, 20000 do leaked[i] = 'x' .. i end\n"
		   " setmetatable(_G, {__index = function() return 1 end})\n"
		   " string = {} _G.print = nil pairs = nil tostring = 7 return 1 end");

	says(s, "1");
	th_script_free(s);
}

static void nothing_is_left(void **state)
{
	struct th_buf before TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_script *s = new_of(walks);

	(void)state;
	if (th_script_call(s, "f", TH_STR("[]"), &before, &err) != TH_OK)
		fail_msg("%s", err.msg);
	assert_non_null(strstr(before.ptr, "string.upperfunction"));
	th_script_free(s);
	for (int i = 0; i < 2 * TH_SCRIPT_SEATS_MAX; i++) {
		breaks();
		s = new_of(walks);
		says(s, before.ptr);
		th_script_free(s);
	}
}

/* Also one that was stopped, one that is no program, and one in the middle of which it ended. */
static void after_what_failed(void **state)
{
	const char *bad[] = { "function f() local t = {} for i = 1, 1e9 do t[i] = i end end f()",
			      "while true do end", "return return", "error('no')",
			      "local s = 'x' while true do s = s .. s end" };

	(void)state;
	for (size_t i = 0; i < TH_COUNT(bad); i++) {
		struct th_script *s = NULL;

		assert_int_not_equal(
		    th_script_new(TH_STR("test"), th_str_of(bad[i]), NULL, &s, &err), TH_OK);
		s = new_of("x = coroutine.wrap(function() coroutine.yield(1) end) x()\n"
			   "function f() return string.rep('a', 3) end");
		says(s, "\"aaa\"");
		th_script_free(s);
	}
}

/* More than there are seats: the rest is on the heap, and just as apart. */
static void as_many_as_are_wanted(void **state)
{
	struct th_script *all[2 * TH_SCRIPT_SEATS_MAX];
	struct th_script_seat *seats[TH_SCRIPT_SEATS_MAX];
	char source[64], wanted[16];

	(void)state;
	for (size_t i = 0; i < TH_COUNT(all); i++) {
		snprintf(source, sizeof(source), "x = %zu function f() return x end", i);
		all[i] = new_of(source);
	}
	assert_null(th_script_seat_take());
	for (size_t i = 0; i < TH_COUNT(all); i++) {
		snprintf(wanted, sizeof(wanted), "%zu", i);
		says(all[i], wanted);
		th_script_free(all[i]);
	}
	for (size_t i = 0; i < TH_COUNT(seats); i++) {
		seats[i] = th_script_seat_take();
		assert_non_null(seats[i]);
		assert_true(th_script_seat_restore(seats[i]));
	}
	assert_null(th_script_seat_take());
	for (size_t i = 0; i < TH_COUNT(seats); i++)
		th_script_seat_give(seats[i]);
}

/* A cap is met at the same place, in a seat and on the heap. */
static void caps_are_the_same(void **state)
{
	static const char source[] =
	    "n = 0 function f() return n end local t = {} while true do n = n + 1 t[n] = {n}\n"
	    " if n % 100 == 0 then print(n) end end";
	struct th_script_seat *seats[TH_SCRIPT_SEATS_MAX];
	const struct th_script_limits limits = { .memory = TH_MIB, .wall_ms = 0 };
	struct th_script *s = NULL;
	struct th_err in_seat = { 0 }, on_heap = { 0 };

	(void)state;
	assert_int_equal(th_script_new(TH_STR("test"), th_str_of(source), &limits, &s, &in_seat),
			 TH_ELIMIT);
	for (size_t i = 0; i < TH_COUNT(seats); i++)
		seats[i] = th_script_seat_take();
	assert_int_equal(th_script_new(TH_STR("test"), th_str_of(source), &limits, &s, &on_heap),
			 TH_ELIMIT);
	for (size_t i = 0; i < TH_COUNT(seats); i++)
		th_script_seat_give(seats[i]);
	assert_string_equal(in_seat.msg, on_heap.msg);
}

static void *many(void *ctx)
{
	for (int i = 0; i < 200; i++) {
		struct th_script *s = new_of("function f() return 7 end");

		says(s, "7");
		th_script_free(s);
	}
	return ctx;
}

static void on_threads(void **state)
{
	pthread_t threads[2 * TH_SCRIPT_SEATS_MAX];

	(void)state;
	for (size_t i = 0; i < TH_COUNT(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, many, NULL), 0);
	for (size_t i = 0; i < TH_COUNT(threads); i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filled),
		cmocka_unit_test(nothing_is_left),
		cmocka_unit_test(after_what_failed),
		cmocka_unit_test(as_many_as_are_wanted),
		cmocka_unit_test(caps_are_the_same),
		cmocka_unit_test(on_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
