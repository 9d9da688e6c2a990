/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_seeds.c - the same seed tells the same story; and seeds that once found
 * something.  A change of what the simulator draws gives them other stories:
 * what they found has its own test where the fix is.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/world.h"

static const struct {
	uint64_t seed;
	const char *found;
} seeds[] = {
	{ 23, "attach under the new owner's epoch: a lost journal's silence proved NOT_STARTED" },
	{ 67, "a fork that begins at a request counted the parent's tries" },
	{ 91, "a message that came after the request's event was sent with it" },
	{ 206, "sent to an executor that had just died: the checker doubted it too late" },
	{ 214, "as 23" },
	{ 440, "a limit reached after a wait for a retry: fold and runtime differed" },
	{ 395, "an executor that believes a damaged journal (a mutation)" },
	{ 9564, "attach sent twice named the second journal: its silence proved NOT_STARTED" },
	{ 14689, "a request that was stopped let the next one out before it was durable" },
	{ 108200, "a journal read again was not flushed again (the simulator's own)" },
	{ 6093, "cancelled while it was settled: class K was said to be not started" },
	{ 12173, "as 6093, class V" },
	{ 70, "a filter's result was named by a place that a refold gives it not: a lost session" },
	{ 460,
	  "said while the model was asked: before the answer after a restart, behind it before" },
	{ 1108,
	  "why a tripped guardrail stopped the run took the place of a result after a restart" },
	{ 1924,
	  "a trip right behind the last result: the model was asked by a run that was stopped" },
	{ 1622, "a fork that begins between a failed request and its error did nothing" },
	{ 13, "stopped in the middle of an effect, an agent as a tool never had its result" },
	{ 1201,
	  "one whose own agent somebody else had was lost to the first, which was told UNKNOWN" },
	{ 3382, "what is sent behind a fetched answer was held for looked at" },
	{ 44422, "as 3382" },
	{ 63196, "a message of no known role was taken, and no history made of it" },
	{ 99220, "stopped within a handoff, a fork did not go on with it" },
	{ 180742, "the answer that a parent waited for held back what was said in its fork" },
	{ 209020, "an item without a type was taken, and said again as it was" },
	{ 15439, "an owner who had lost the session began an agent as a tool all the same" },
};

static void test_seeds_hold(void **unused)
{
	struct th_sim_counts counts = { 0 };
	char failure[TH_ERR_MSG_MAX];

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(seeds); i++) {
		struct th_sim_options o = { .seed = seeds[i].seed };

		if (!th_sim_run(&o, &counts, failure))
			fail_msg("thole sim --seed %llu   %s (it had found: %s)",
				 (unsigned long long)o.seed, failure, seeds[i].found);
	}
}

/* The trace of a seed, as one text. */
static char *story(uint64_t seed, struct th_sim_counts *counts)
{
	char failure[TH_ERR_MSG_MAX], *text = NULL;
	size_t size = 0;
	struct th_sim_options o = { .seed = seed, .trace = open_memstream(&text, &size) };

	assert_non_null(o.trace);
	assert_true(th_sim_run(&o, counts, failure));
	fclose(o.trace);
	return text;
}

static void test_a_seed_is_a_story(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct th_sim_counts one = { 0 }, two = { 0 };
		char *first = story(seed, &one), *second = story(seed, &two);

		assert_true(strlen(first) > 100);
		assert_string_equal(first, second);
		assert_memory_equal(&one, &two, sizeof(one));
		free(first);
		free(second);
	}
}

/* Of each fault there is enough in a few hundred seeds for the rest to mean something. */
static void test_worlds_are_rich(void **unused)
{
	struct th_sim_counts c = { 0 };
	char failure[TH_ERR_MSG_MAX];

	(void)unused;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct th_sim_options o = { .seed = seed };

		assert_true(th_sim_run(&o, &c, failure));
	}
	assert_true(c.crashes > 200);
	assert_true(c.effects > 400);
	assert_true(c.unknown > 10 && c.unknown_happened > 2 && c.unknown_happened < c.unknown);
	assert_int_equal(c.duplicated + c.lost + c.diverged + c.false_claims, 0);
}

#ifdef TH_SANITIZED
#define MANY_SECONDS 60
#else
#define MANY_SECONDS 480
#endif

/* TH_TORTURE=1: a hundred thousand seeds behind those of sim/quick, or what fits. */
static void test_many_seeds(void **unused)
{
	struct th_sim_counts counts = { 0 };
	char failure[TH_ERR_MSG_MAX];
	struct th_buf table = TH_BUF_INIT(4 * TH_KIB);
	clock_t began = clock(), most = (clock_t)MANY_SECONDS * CLOCKS_PER_SEC;

	(void)unused;
	if (!getenv("TH_TORTURE"))
		skip();
	for (uint64_t seed = 2001; seed <= 102000 && clock() - began < most; seed++) {
		struct th_sim_options o = { .seed = seed };

		if (!th_sim_run(&o, &counts, failure))
			printf("thole sim --seed %llu   %s\n", (unsigned long long)seed, failure);
	}
	th_sim_counts_print(&counts, (double)(clock() - began) / CLOCKS_PER_SEC, &table);
	printf("%s", table.ptr);
	th_buf_deinit(&table);
	assert_int_equal(counts.failed_seeds, 0);
}

static void test_variants_have_names(void **unused)
{
	(void)unused;
	for (int i = 0; i < TH_SIM_VARIANT_COUNT; i++) {
		enum th_sim_variant v = (enum th_sim_variant)i;

		assert_int_equal(th_sim_variant_find(th_str_of(th_sim_variant_name(v))), i);
		assert_true(strlen(th_sim_variant_doc(v)) > 0);
	}
	assert_int_equal(th_sim_variant_find(TH_STR("perfect")), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seeds_hold),      cmocka_unit_test(test_a_seed_is_a_story),
		cmocka_unit_test(test_worlds_are_rich), cmocka_unit_test(test_variants_have_names),
		cmocka_unit_test(test_many_seeds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
