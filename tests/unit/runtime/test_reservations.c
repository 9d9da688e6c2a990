/* SPDX-License-Identifier: Apache-2.0 */
/* Room for sessions, reserved and given back beside the loop, of a store that only counts. */
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>

#include "unit.h"

#include "base/limits.h"
#include "runtime/reservations.h"

#define MANY (TH_LEASES_MAX + 40)

static struct th_err err;

static struct {
	struct th_store store;
	struct th_loop *loop;
	struct th_reader *writer;
	struct th_reservations *all;
	/* The store's. */
	_Atomic int busy, down; /* so often it cannot be done */
	_Atomic size_t most_at_once, asked, given;
	_Atomic int64_t held;
	char order[8]; /* names of those that were reserved */
	/* What was heard. */
	int good, full, other;
} b;

static enum th_code reserve_many(struct th_store *s, const struct th_session_room *list,
				 size_t count, struct th_err *errs, struct th_err *why)
{
	(void)s;
	b.asked++;
	if (count > b.most_at_once)
		b.most_at_once = count;
	if (b.down > 0) {
		b.down--;
		return th_fail(why, TH_ECONN, "cut");
	}
	for (size_t i = 0; i < count; i++) {
		errs[i].code = TH_OK;
		assert_string_equal(list[i].user.len ? "u" : "", "u");
		if (b.busy > 0) {
			b.busy--;
			(void)th_fail(&errs[i], TH_EBUSY, "counted");
		} else if (b.held >= list[i].most) {
			(void)th_fail(&errs[i], TH_ELIMIT, "full");
		} else {
			b.order[b.held++ % 7] = list[i].name.ptr[0];
		}
	}
	return TH_OK;
}

static bool reservation_is(struct th_store *s, struct th_str name)
{
	(void)s;
	return !th_str_is(name, "none");
}

static enum th_code unreserve_many(struct th_store *s, const struct th_str *names, size_t count,
				   struct th_err *why)
{
	(void)s, (void)names;
	if (b.down > 0) {
		b.down--;
		return th_fail(why, TH_ECONN, "cut");
	}
	b.given += count;
	b.held -= (int64_t)count;
	return TH_OK;
}

static const struct th_store_kind kind = { .scheme = "counts",
					   .reserve_many = reserve_many,
					   .reservation_is = reservation_is,
					   .unreserve_many = unreserve_many };

static int setup(void **state)
{
	(void)state;
	memset(&b, 0, sizeof(b));
	b.store.kind = &kind;
	assert_int_equal(th_loop_new(&b.loop, &err), TH_OK);
	b.writer = th_reader_new(b.loop, &b.store, TH_STR(""));
	b.all = th_reservations_new(b.loop, &b.store, b.writer);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	th_reservations_free(b.all);
	th_reader_free(b.writer);
	th_loop_free(b.loop);
	return 0;
}

static void on_reserved(void *ctx, const struct th_err *why)
{
	(void)ctx;
	b.good += !why;
	b.full += why && why->code == TH_ELIMIT;
	b.other += why && why->code != TH_ELIMIT;
}

static struct th_reserve *reserve_as(const char *name, int64_t most)
{
	const struct th_str resting = TH_STR("a session");
	const struct th_session_room room = { .name = th_str_of(name),
					      .user = TH_STR("u"),
					      .most = most,
					      .resting = &resting,
					      .resting_count = 1 };

	return th_reserve(b.all, &room, on_reserved, NULL);
}

static struct th_reserve *reserve(int64_t most)
{
	return reserve_as("n", most);
}

static void turn(void)
{
	struct pollfd fd = { .fd = th_loop_fd(b.loop), .events = POLLIN };

	(void)th_loop_pass(b.loop);
	(void)poll(&fd, 1, 5); /* what the thread has done meanwhile is looked at between */
}

static void until_heard(int count)
{
	while (b.good + b.full + b.other < count)
		turn();
}

/* So many as one transaction takes, and each is told. */
static void many(void **state)
{
	(void)state;
	for (int i = 0; i < MANY; i++)
		(void)reserve(MANY - 1);
	until_heard(MANY);
	assert_int_equal(b.good, MANY - 1);
	assert_int_equal(b.full, 1);
	assert_true(b.most_at_once <= TH_LEASES_MAX);
}

/* Another runtime counts, or the database is away for a moment: asked again. */
static void asked_again(void **state)
{
	(void)state;
	b.busy = 2;
	b.down = 1;
	(void)reserve(1);
	until_heard(1);
	assert_int_equal(b.other, 1); /* a database that is away is told */
	(void)reserve(1);
	until_heard(2);
	assert_int_equal(b.good, 1);
	assert_int_equal(b.asked, 4);
}

/* Who does not wait any more has nothing. */
static void dropped(void **state)
{
	struct th_reserve *first;

	(void)state;
	first = reserve(9);
	th_reserve_drop(first);      /* under way */
	th_reserve_drop(reserve(9)); /* not yet */
	(void)reserve(9);
	until_heard(1);
	while (b.given < 1)
		turn();
	assert_int_equal(b.good, 1);
	assert_int_equal(b.held, 1);
}

/* What could not be given back is tried again; what is not there costs nothing. */
static void given_back(void **state)
{
	(void)state;
	th_unreserve(b.all, TH_STR("none"));
	b.held = 1;
	b.down = 1;
	th_unreserve(b.all, TH_STR("n"));
	while (b.given < 1)
		turn();
	assert_int_equal(b.held, 0);
}

/* Who asked first is counted first, also where he has to ask again: what rests was looked at then.
 */
static void in_their_order(void **state)
{
	(void)state;
	b.busy = 1;
	(void)reserve_as("1", 9);
	(void)reserve_as("2", 9); /* while the first is under way */
	while (b.asked < 1)
		turn();
	(void)reserve_as("3", 9);
	until_heard(3);
	assert_string_equal(b.order, "123");
}

/* What waits long to be given back again holds up nobody who waits a moment. */
static void soon(void **state)
{
	(void)state;
	b.held = 1;
	b.down = 3;
	th_unreserve(b.all, TH_STR("n"));
	while (b.down > 0) /* the next try is in two seconds */
		turn();
	b.busy = 1;
	(void)reserve(9);
	until_heard(1);
	assert_int_equal(b.good, 1);
	assert_int_equal(b.asked, 2);
	assert_int_equal(b.given, 0);
}

/* With asks of each kind. */
static void freed(void **state)
{
	(void)state;
	b.busy = 1;
	for (int i = 0; i < 3; i++)
		(void)reserve(9);
	th_unreserve(b.all, TH_STR("n"));
}

/* A database that is away just then is not asked again: no timer is left behind. */
static void freed_while_it_is_away(void **state)
{
	(void)state;
	b.down = 1;
	th_unreserve(b.all, TH_STR("n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(many, setup, teardown),
		cmocka_unit_test_setup_teardown(asked_again, setup, teardown),
		cmocka_unit_test_setup_teardown(dropped, setup, teardown),
		cmocka_unit_test_setup_teardown(given_back, setup, teardown),
		cmocka_unit_test_setup_teardown(in_their_order, setup, teardown),
		cmocka_unit_test_setup_teardown(soon, setup, teardown),
		cmocka_unit_test_setup_teardown(freed, setup, teardown),
		cmocka_unit_test_setup_teardown(freed_while_it_is_away, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
