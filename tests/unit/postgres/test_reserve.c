/* SPDX-License-Identifier: Apache-2.0 */
/* test_reserve.c - room for a user's sessions, counted over all runtimes of a database. */
#include <stdio.h>
#include <stdlib.h>

#include "../store/lab.h"
#include "postgres/pq.h"

static struct th_err err;
static char url[512];

static PGresult *ask(struct th_pq *c, const char *text)
{
	PGresult *r = NULL;

	c->url = c->shown = url;
	c->wait_ms = 60000;
	if ((!c->conn && th_pq_connect(c, &err) != TH_OK) ||
	    th_pq_run(c, text, NULL, &r, &err) != TH_OK)
		fail_msg("%s: %s", text, err.msg);
	return r;
}

static void sql(const char *text)
{
	struct th_pq c = TH_PQ_INIT;

	th_pq_clear(ask(&c, text));
	th_pq_close(&c);
}

static int64_t number(const char *text)
{
	struct th_pq c = TH_PQ_INIT;
	PGresult *r = ask(&c, text);
	int64_t ret = -1;

	assert_true(th_pq_rows(r) == 1 && th_pq_i64(r, 0, 0, &ret));
	th_pq_clear(r);
	th_pq_close(&c);
	return ret;
}

static int64_t reserved(void)
{
	return number("SELECT count(*) FROM thole.reserved");
}

static int setup(void **state)
{
	(void)state;
	sql("DROP SCHEMA IF EXISTS thole CASCADE");
	return 0;
}

/* What became of one, of a user who may have `most`. */
static enum th_code reserve_of(struct th_store *s, const char *user, const char *name, int64_t most,
			       const char *resting)
{
	struct th_str rests = resting ? th_str_of(resting) : (struct th_str){ 0 };
	const struct th_session_room room = { .name = th_str_of(name),
					      .user = th_str_of(user),
					      .most = most,
					      .resting = &rests,
					      .resting_count = resting ? 1 : 0 };
	struct th_err one = { 0 };

	assert_int_equal(s->kind->reserve_many(s, &room, 1, &one, &err), TH_OK);
	return one.code;
}

static enum th_code reserve(struct th_store *s, const char *name, int64_t most)
{
	return reserve_of(s, "anna", name, most, NULL);
}

static void unreserve(struct th_store *s, const char *name)
{
	struct th_str one = th_str_of(name);

	assert_int_equal(s->kind->unreserve_many(s, &one, 1, &err), TH_OK);
	assert_false(s->kind->reservation_is(s, one));
}

/* A session of anna's that runs where its last event is odd, and waits where it is even. */
static void append(struct th_store *s, struct lab_log *log, size_t count)
{
	assert_int_equal(lab_append_now(s, log, count), TH_OK);
}

static void use(struct th_store *s, const char *name, const char *session)
{
	s->kind->reservation_use(s, th_str_of(name), th_str_of(session));
}

/* All runtimes together have no more than the user may; who is given back, or dead, has none. */
static void counted_together(void **state)
{
	struct th_store *one = lab_open(url, NULL), *two = lab_open(url, NULL);

	(void)state;
	assert_int_equal(reserve(one, "a", 2), TH_OK);
	assert_int_equal(reserve(two, "b", 2), TH_OK);
	assert_int_equal(reserve(one, "c", 2), TH_ELIMIT);
	assert_int_equal(reserve(two, "c", 2), TH_ELIMIT);
	assert_int_equal(reserve_of(two, "bob", "d", 1, NULL), TH_OK);
	assert_int_equal(reserve(two, "c", 3), TH_OK);
	unreserve(two, "c");
	unreserve(two, "none");
	unreserve(one, "b"); /* it is the other one's */
	assert_int_equal(reserve(one, "c", 2), TH_ELIMIT);
	unreserve(two, "b");
	assert_int_equal(reserve(one, "c", 2), TH_OK);
	th_store_close(one);
	assert_int_equal(reserve(two, "e", 2), TH_OK);
	assert_int_equal(reserve(two, "f", 2), TH_OK);
	assert_int_equal(reserve(two, "g", 2), TH_ELIMIT);
	th_store_close(two);
}

/* Several at a time, each in its turn. */
static void reserved_in_bulk(void **state)
{
	struct th_store *s = lab_open(url, NULL);
	struct th_session_room list[TH_LEASES_MAX];
	static struct th_err errs[TH_LEASES_MAX];
	char names[TH_LEASES_MAX][8];
	size_t good = 0;

	(void)state;
	for (size_t i = 0; i < TH_LEASES_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "n%zu", i);
		list[i] = (struct th_session_room){ .name = th_str_of(names[i]),
						    .user = i % 2 ? TH_STR("anna") : TH_STR("bob"),
						    .most = i % 2 ? 3 : 4 };
	}
	assert_int_equal(s->kind->reserve_many(s, list, TH_LEASES_MAX, errs, &err), TH_OK);
	for (size_t i = 0; i < TH_LEASES_MAX; i++) {
		assert_int_equal(errs[i].code, i < 7 ? TH_OK : TH_ELIMIT);
		good += errs[i].code == TH_OK;
	}
	assert_int_equal(good, 7);
	assert_int_equal(reserved(), 7);
	th_store_close(s);
}

/* The append by which its session runs takes its place: it is one all the time. */
static void place_is_taken(void **state)
{
	struct th_store *one = lab_open(url, NULL), *two = lab_open(url, NULL);
	static struct lab_log log;
	struct th_session_row row;
	struct th_arena memory;

	(void)state;
	th_arena_init(&memory, TH_MIB);
	lab_log_init(&log, "s");
	assert_int_equal(reserve(one, "a", 1), TH_OK);
	use(one, "a", "s");
	append(one, &log, 2); /* it is there, and does not run yet */
	assert_int_equal(reserved(), 1);
	assert_int_equal(reserve(two, "b", 1), TH_ELIMIT);
	append(one, &log, 1);
	assert_int_equal(reserved(), 0);
	assert_false(one->kind->reservation_is(one, TH_STR("a")));
	assert_int_equal(reserve(two, "b", 1), TH_ELIMIT);
	assert_int_equal(reserve_of(one, "anna", "b", 1, "other"), TH_ELIMIT);
	/* Whoever has it knows that it rests. */
	assert_int_equal(reserve_of(one, "anna", "b", 1, "s"), TH_OK);
	unreserve(one, "b");
	append(one, &log, 1);
	assert_int_equal(reserve(two, "b", 1), TH_OK);
	unreserve(two, "b");
	/* One that runs by its row and that nobody has is nobody's; a dead one's goes on. */
	append(one, &log, 1);
	assert_int_equal(reserve(two, "b", 1), TH_ELIMIT);
	assert_int_equal(one->kind->release(one, TH_STR("s"), 1, &err), TH_OK);
	assert_int_equal(reserve(two, "b", 1), TH_OK);
	unreserve(two, "b");
	assert_int_equal(one->kind->lease(one, TH_STR("s"), &memory, &row, &err), TH_OK);
	sql("UPDATE thole.owners SET expires = '-infinity' WHERE host <> ''");
	th_store_close(two);
	two = lab_open(url, NULL);
	assert_int_equal(reserve(two, "b", 1), TH_ELIMIT);
	th_arena_deinit(&memory);
	th_store_close(one);
	th_store_close(two);
}

/* Who is found dead where he is counted stays dead: he begins nothing more. */
static void dead_begin_nothing(void **state)
{
	struct th_store *one = lab_open(url, NULL), *two = lab_open(url, NULL);
	static struct lab_log log;
	struct lab_append *a = th_alloc(sizeof(*a));
	struct th_append late;
	struct th_batch batch = { .appends = &late, .append_count = 1 };

	(void)state;
	lab_log_init(&log, "s");
	assert_int_equal(reserve(one, "a", 1), TH_OK);
	use(one, "a", "s");
	sql("UPDATE thole.owners SET expires = clock_timestamp() - interval '1 second'"
	    " WHERE owner = (SELECT owner FROM thole.reserved)");
	assert_int_equal(reserve(two, "b", 1), TH_OK);
	lab_make(&log, 1, a, &late);
	assert_int_equal(one->kind->commit_now(one, &batch, &err), TH_EIO);
	assert_int_equal(number("SELECT count(*) FROM thole.sessions"), 0);
	assert_int_equal(reserved(), 1);
	free(a);
	th_store_close(one);
	th_store_close(two);
}

/* Nobody waits for who counts: not for the user's row, and not for another's. */
static void nobody_waits(void **state)
{
	struct th_store *s = lab_open(url, NULL);
	struct th_pq c = TH_PQ_INIT;

	(void)state;
	assert_int_equal(reserve(s, "a", 9), TH_OK);
	th_pq_clear(ask(&c, "BEGIN"));
	th_pq_clear(ask(&c, "SELECT 1 FROM thole.users WHERE user_id = 'anna' FOR UPDATE"));
	assert_int_equal(reserve(s, "b", 9), TH_EBUSY);
	assert_int_equal(reserve_of(s, "bob", "b", 9, NULL), TH_OK);
	th_pq_clear(ask(&c, "COMMIT"));
	assert_int_equal(reserve(s, "c", 9), TH_OK);
	th_pq_close(&c);
	th_store_close(s);
}

/* Helpers are no sessions of their own; forks are; those of the command line are the local user's.
 */
static void who_counts(void **state)
{
	struct th_store *s = lab_open(url, NULL);
	static struct lab_log log;

	(void)state;
	lab_log_init(&log, "s");
	append(s, &log, 1);
	sql("UPDATE thole.sessions SET parent_id = 'p', parent_seq = 0");
	assert_int_equal(reserve(s, "a", 1), TH_OK);
	unreserve(s, "a");
	sql("UPDATE thole.sessions SET parent_seq = 1");
	assert_int_equal(reserve(s, "a", 1), TH_ELIMIT);
	sql("UPDATE thole.sessions SET user_id = ''");
	assert_int_equal(reserve(s, "a", 1), TH_OK);
	assert_int_equal(reserve_of(s, "local", "b", 1, NULL), TH_ELIMIT);
	assert_int_equal(reserve_of(s, "local", "b", 2, NULL), TH_OK);
	assert_int_equal(reserve_of(s, "a\xff", "c", 1, NULL), TH_OK);
	assert_int_equal(reserve_of(s, "a\xff", "d", 1, NULL), TH_ELIMIT);
	th_store_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(counted_together, setup),
		cmocka_unit_test_setup(reserved_in_bulk, setup),
		cmocka_unit_test_setup(place_is_taken, setup),
		cmocka_unit_test_setup(dead_begin_nothing, setup),
		cmocka_unit_test_setup(nobody_waits, setup),
		cmocka_unit_test_setup(who_counts, setup),
	};
	const char *server = getenv("THOLE_TEST_POSTGRES");

	if (!server)
		return 77;
	snprintf(url, sizeof(url), "%spostgres", server);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
