/* SPDX-License-Identifier: Apache-2.0 */
/* The first of a queue, whatever order they come in: against all of them, sorted. */
#include <stdio.h>
#include <stdlib.h>

#include "store/queue.h"
#include "unit.h"

#define COUNT 60

struct model {
	struct th_queued one;
	int64_t place;
	char id[8];
};

static uint64_t seed = 20;

static size_t pick(size_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (size_t)(seed >> 33) % n;
}

static int of_user(const struct model *a, const struct model *b)
{
	if (a->one.level != b->one.level)
		return (int)b->one.level - (int)a->one.level;
	if (a->one.since_ms != b->one.since_ms)
		return a->one.since_ms < b->one.since_ms ? -1 : 1;
	return strcmp(a->id, b->id);
}

static int of_all(const void *one, const void *two)
{
	const struct model *a = one, *b = two;

	if (!a->one.user.len != !b->one.user.len)
		return a->one.user.len ? -1 : 1;
	if (a->one.level != b->one.level)
		return (int)b->one.level - (int)a->one.level;
	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	return of_user(a, b);
}

static void round_of(size_t count, size_t max)
{
	static const char *const users[] = { "", "anna", "bob", "carl", "dora" };
	static const int64_t running[] = { 0, 0, 3, 1, 0 };
	struct model list[COUNT];
	struct th_queue *q = th_queue_new(max);

	for (size_t i = 0; i < count; i++) {
		size_t user = pick(TH_COUNT(users));

		snprintf(list[i].id, sizeof(list[i].id), "s%02zu", i);
		list[i].one = (struct th_queued){ .id = th_str_of(list[i].id),
						  .user = th_str_of(users[user]),
						  .level = (enum th_priority)pick(3),
						  .since_ms = (int64_t)pick(20),
						  .running = running[user] };
		th_queue_add(q, &list[i].one);
	}
	for (size_t i = 0; i < count; i++) {
		list[i].place = list[i].one.running + 1;
		for (size_t k = 0; k < count; k++)
			list[i].place += th_str_eq(list[k].one.user, list[i].one.user) &&
					 of_user(&list[k], &list[i]) < 0;
	}
	for (size_t i = 0; i < count; i++)
		list[i].one.id = (struct th_str){ 0 }; /* they move */
	qsort(list, count, sizeof(*list), of_all);
	for (size_t i = 0; i < TH_MIN(count, max); i++)
		assert_true(th_str_is(th_queue_next(q), list[i].id));
	assert_int_equal(th_queue_next(q).len, 0);
	th_queue_free(q);
}

static void test_the_first(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2000; i++)
		round_of(pick(COUNT + 1), 1 + pick(COUNT));
	assert_null(th_queue_free(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
