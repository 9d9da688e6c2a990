/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions taken and given back beside the loop. */
#include <stdio.h>
#include <stdlib.h>

#include "../store/lab.h"
#include "base/limits.h"
#include "io/files.h"
#include "runtime/leases.h"

#define SESSIONS (TH_LEASES_MAX + 40)

static struct th_err err;
static char folder[] = "/tmp/thole-leases-XXXXXX";
static int number;

static struct {
	struct th_loop *loop;
	struct th_store *store, *other;
	struct th_reader *writer;
	struct th_leases *leases;
	struct th_arena memory;
	struct th_session_row seen; /* by other_takes */
	int taken, absent, busy;
	int64_t epochs[SESSIONS];
} b;

static int setup(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return th_dir_remove(folder, &err) == TH_OK ? 0 : -1;
}

static const char *name_of(int i)
{
	static char name[16];

	snprintf(name, sizeof(name), "s%d", i);
	return name;
}

static void begin(int sessions)
{
	static struct lab_log log;
	char url[128];

	memset(&b, 0, sizeof(b));
	snprintf(url, sizeof(url), "sqlite:%s/%d", folder, ++number);
	th_arena_init(&b.memory, 8 * TH_MIB);
	assert_int_equal(th_loop_new(&b.loop, &err), TH_OK);
	b.store = lab_open(url, b.loop);
	b.other = lab_open(url, NULL);
	for (int i = 0; i < sessions; i++) {
		lab_log_init(&log, name_of(i));
		assert_int_equal(lab_append_now(b.other, &log, 1), TH_OK);
		assert_int_equal(
		    b.other->kind->release(b.other, th_str_of(log.id), log.epoch, &err), TH_OK);
	}
	b.writer = th_reader_new(b.loop, b.store, TH_STR(""));
	b.leases = th_leases_new(b.loop, b.store, b.writer);
}

static void end(void)
{
	th_leases_free(b.leases);
	th_reader_free(b.writer);
	th_store_close(b.store);
	th_store_close(b.other);
	th_loop_free(b.loop);
	th_arena_deinit(&b.memory);
}

static void on_taken(void *ctx, const struct th_session_row *row, const struct th_err *why)
{
	int64_t *epoch = ctx;

	b.taken += row != NULL;
	b.absent += why && why->code == TH_ENOENT;
	b.busy += why && why->code == TH_EBUSY;
	if (row)
		*epoch = row->epoch;
	else
		assert_true(why->msg[0] != '\0');
}

static enum th_code other_takes(int i)
{
	return b.other->kind->lease(b.other, th_str_of(name_of(i)), &b.memory, &b.seen, &err);
}

static struct th_lease *take(int i)
{
	return th_lease_take(b.leases, th_str_of(name_of(i)), on_taken, &b.epochs[i]);
}

static void give(int i)
{
	th_lease_give(b.leases, &(struct th_held){ .session_id = th_str_of(name_of(i)),
						   .epoch = b.epochs[i] });
}

/* More than go into one transaction; one that another has, and one that is not there. */
static void many(void **state)
{
	int64_t none;

	(void)state;
	begin(SESSIONS);
	assert_int_equal(other_takes(7), TH_OK);
	for (int i = 0; i < SESSIONS; i++)
		(void)take(i);
	(void)th_lease_take(b.leases, TH_STR("nobody"), on_taken, &none);
	assert_int_equal(b.taken, 0); /* never from inside */
	th_loop_run(b.loop);
	assert_int_equal(b.taken, SESSIONS - 1);
	assert_int_equal(b.busy, 1);
	assert_int_equal(b.absent, 1);
	assert_int_equal(other_takes(0), TH_EBUSY);
	for (int i = 0; i < SESSIONS; i++)
		give(i); /* 7 is not held, and is passed over */
	th_loop_run(b.loop);
	for (int i = 0; i < SESSIONS; i++)
		assert_int_equal(other_takes(i), TH_OK);
	end();
}

/* Given back and taken again at once: it is ours. */
static void given_then_taken(void **state)
{
	(void)state;
	begin(1);
	(void)take(0);
	th_loop_run(b.loop);
	give(0);
	(void)take(0);
	th_loop_run(b.loop);
	assert_int_equal(b.taken, 2);
	assert_int_equal(other_takes(0), TH_EBUSY);
	end();
}

static void not_waited_for(void **state)
{
	struct th_lease *first, *last = NULL;

	(void)state;
	begin(SESSIONS);
	first = take(0);
	th_lease_take_now(first);
	assert_int_equal(b.taken, 1);
	/* One that is not in the next transaction, but in the one behind it. */
	for (int i = 1; i < SESSIONS; i++)
		last = take(i);
	th_lease_take_now(last);
	assert_int_equal(b.taken, SESSIONS);
	th_loop_run(b.loop);
	assert_int_equal(b.taken, SESSIONS);
	end();
}

static void dropped(void **state)
{
	(void)state;
	begin(3);
	th_lease_drop(take(0));
	(void)take(1);
	th_loop_run(b.loop);
	assert_int_equal(b.taken, 1);
	assert_int_equal(other_takes(0), TH_OK);
	assert_int_equal(other_takes(1), TH_EBUSY);
	/* At the end: what is to be given back is, and what is only asked for is not held. */
	give(1);
	(void)take(2);
	b.leases = th_leases_free(b.leases);
	assert_int_equal(b.taken, 1);
	assert_int_equal(other_takes(1), TH_OK);
	assert_int_equal(other_takes(2), TH_OK);
	end();
}

/* Given up before its turn and wanted again: it is taken once. */
static void dropped_then_taken(void **state)
{
	int64_t before;

	(void)state;
	begin(2);
	assert_int_equal(other_takes(1), TH_OK);
	before = b.seen.epoch;
	assert_int_equal(b.other->kind->release(b.other, th_str_of(name_of(1)), before, &err),
			 TH_OK);
	(void)take(0); /* under way */
	th_lease_drop(take(1));
	(void)take(1);
	th_loop_run(b.loop);
	assert_int_equal(b.taken, 2);
	assert_int_equal(b.epochs[1], before + 2);
	end();
}

/* Once it is known to be given back, a new session of its name is not: both have epoch 1. */
static void a_name_that_is_used_again(void **state)
{
	static struct lab_log log;
	struct th_str name = TH_STR("again");

	(void)state;
	begin(0);
	for (int now = 0; now < 2; now++) {
		lab_log_init(&log, "again");
		assert_int_equal(lab_append_now(b.store, &log, 1), TH_OK);
		th_lease_give(b.leases, &(struct th_held){ name, log.epoch, false });
		assert_true(th_lease_gives(b.leases, name));
		assert_false(th_lease_gives(b.leases, TH_STR("other")));
		if (now)
			th_lease_give_now(b.leases, name);
		while (th_lease_gives(b.leases, name))
			(void)th_loop_pass(b.loop);
		assert_int_equal(b.store->kind->remove(b.store, &name, 1, &err), TH_OK);
		lab_log_init(&log, "again");
		assert_int_equal(lab_append_now(b.store, &log, 1), TH_OK);
		assert_int_equal(b.other->kind->lease(b.other, name, &b.memory, &b.seen, &err),
				 TH_EBUSY);
		assert_int_equal(b.store->kind->release(b.store, name, log.epoch, &err), TH_OK);
		assert_int_equal(b.store->kind->remove(b.store, &name, 1, &err), TH_OK);
	}
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_that_is_used_again),
		cmocka_unit_test(many),
		cmocka_unit_test(given_then_taken),
		cmocka_unit_test(not_waited_for),
		cmocka_unit_test(dropped),
		cmocka_unit_test(dropped_then_taken),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
