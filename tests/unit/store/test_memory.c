/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "lab.h"
#include "store/memory.h"

static struct th_err err;

static const char *fresh(void)
{
	static char url[32];
	static int number;

	snprintf(url, sizeof(url), "memory:t%d", ++number);
	return url;
}

static const struct lab_kind kind = { fresh };

static int setup(void **state)
{
	(void)state;
	lab_kind = &kind;
	return 0;
}

struct told {
	size_t count;
	enum th_code code;
};

static void tell(void *ctx, struct th_batch *batch, enum th_code code, const struct th_err *ret)
{
	struct told *t = ctx;

	(void)batch;
	assert_true((code == TH_OK) == (ret == NULL));
	t->count++;
	t->code = code;
}

/* Unnamed stores have nothing in common; what all handles of a name have left is gone. */
static void apart(void **state)
{
	struct th_store *a = lab_open("memory:", NULL), *b = lab_open("memory:", NULL);
	static struct lab_log log, missing;

	(void)state;
	lab_log_init(&log, "s");
	missing = log;
	assert_int_equal(lab_append_now(a, &log, 1), TH_OK);
	lab_check(b, &missing);
	th_store_close(a);
	th_store_close(b);
	a = lab_open("memory:n", NULL);
	lab_log_init(&log, "s");
	assert_int_equal(lab_append_now(a, &log, 1), TH_OK);
	th_store_close(a);
	a = lab_open("memory:n", NULL);
	lab_check(a, &missing);
	th_store_close(a);
}

static void stepped(void **state)
{
	struct th_store *s = lab_open("memory:", NULL);
	static struct lab_log log;
	static struct lab_append a[2];
	struct th_append appends[2];
	struct th_batch batches[2] = { { .appends = &appends[0], .append_count = 1 },
				       { .appends = &appends[1], .append_count = 1 } };
	struct told told = {};

	(void)state;
	lab_log_init(&log, "s");
	lab_make(&log, 2, &a[0], &appends[0]);
	s->kind->commit(s, &batches[0], tell, &told);
	lab_check(s, &log); /* not there yet */
	assert_int_equal(th_memory_pending(s), 1);
	assert_true(th_memory_step(s));
	assert_int_equal(told.count, 1);
	lab_done(&log, &appends[0]);
	lab_check(s, &log);
	assert_false(th_memory_step(s));
	assert_int_equal(th_memory_pending(s), 0);

	th_memory_fail(s, TH_ELIMIT);
	lab_make(&log, 2, &a[1], &appends[1]);
	s->kind->commit(s, &batches[1], tell, &told);
	assert_true(th_memory_step(s));
	assert_int_equal(told.code, TH_ELIMIT);
	assert_int_equal(appends[1].result, TH_ELIMIT);
	lab_check(s, &log);
	th_memory_fail(s, TH_OK);
	assert_int_equal(lab_append_now(s, &log, 1), TH_OK);
	th_memory_fail(s, TH_EIO);
	th_memory_fail(s, TH_OK); /* for good */
	assert_int_equal(lab_append_now(s, &log, 1), TH_EIO);
	th_store_close(s);
}

/* A crash keeps a prefix of what was under way, calls nobody back and frees the leases. */
static void crashed(void **state)
{
	(void)state;
	for (size_t written = 0; written <= 4; written++) {
		struct th_store *s = lab_open("memory:c", NULL), *next = lab_open("memory:c", NULL);
		static struct lab_log logs[3];
		static struct lab_append a[3];
		struct th_append appends[3];
		struct th_batch batches[3];
		struct th_session_row row;
		struct th_arena arena;
		struct told told = {};

		th_arena_init(&arena, TH_MIB);
		for (size_t i = 0; i < 3; i++) {
			char id[4] = { 's', (char)('0' + i), 0 };

			lab_log_init(&logs[i], id);
			lab_make(&logs[i], 2, &a[i], &appends[i]);
			batches[i] = (struct th_batch){ .appends = &appends[i], .append_count = 1 };
			s->kind->commit(s, &batches[i], tell, &told);
		}
		th_memory_crash(s, written);
		assert_int_equal(told.count, 0);
		for (size_t i = 0; i < 3; i++) {
			if (i < written)
				lab_done(&logs[i], &appends[i]);
			lab_check(next, &logs[i]);
			if (i < written)
				assert_int_equal(next->kind->lease(next, th_str_of(logs[i].id),
								   &arena, &row, &err),
						 TH_OK);
		}
		lab_verify(next);
		th_arena_deinit(&arena);
		th_store_close(next);
	}
}

/* Kept events are const to everybody, so only the checker's own arithmetic is tested here. */
static void found_wrong(void **state)
{
	struct th_store *s = lab_open("memory:", NULL);
	static struct lab_log log;
	static struct lab_append a;
	struct th_append append;
	struct th_batch batch = { .appends = &append, .append_count = 1 };
	struct th_blob blob = { .media_type = TH_STR("x"), .bytes = TH_STR("not its hash") };
	struct th_verify_report r;

	(void)state;
	lab_log_init(&log, "s");
	lab_make(&log, 3, &a, &append);
	a.digests[1].bytes[0] ^= 1;
	assert_int_equal(s->kind->commit_now(s, &batch, &err), TH_OK);
	assert_int_equal(s->kind->verify(s, TH_STR(""), &r, &err), TH_OK);
	assert_true(r.bad);
	assert_string_equal(r.table, "events");
	assert_string_equal(r.key, "session s event 2");
	assert_int_equal(s->kind->verify(s, TH_STR("s"), &r, &err), TH_OK);
	assert_true(r.bad);
	assert_int_equal(s->kind->verify(s, TH_STR("t"), &r, &err), TH_ENOENT);
	th_store_close(s);

	s = lab_open("memory:", NULL);
	batch = (struct th_batch){ .blobs = &blob, .blob_count = 1 };
	assert_int_equal(s->kind->commit_now(s, &batch, &err), TH_OK);
	assert_int_equal(s->kind->verify(s, TH_STR(""), &r, &err), TH_OK);
	assert_true(r.bad);
	assert_string_equal(r.table, "blobs");
	th_store_close(s);
}

static void unknown_kinds(void **state)
{
	static const char *const urls[] = { "", "file", "mysql://x", "Memory:", ":", "sqlite" };
	struct th_store_options options = { .create = true };
	struct th_store *s = NULL;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(urls); i++) {
		assert_int_equal(th_store_open(th_str_of(urls[i]), &options, &s, &err), TH_EUSAGE);
		assert_non_null(strstr(err.msg, "sqlite:, postgres:, memory:"));
	}
	assert_int_equal(th_store_open(TH_STR("sqlite:"), &options, &s, &err), TH_EUSAGE);
	assert_int_equal(th_store_open(TH_STR("sqlite:a\0b"), &options, &s, &err), TH_EUSAGE);
	assert_int_equal(th_store_open(TH_STR("memory:a\0b"), &options, &s, &err), TH_EUSAGE);
	assert_null(s);
	assert_null(th_store_close(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LAB_TESTS(LAB_TEST) cmocka_unit_test(apart),
		cmocka_unit_test(stepped),
		cmocka_unit_test(crashed),
		cmocka_unit_test(found_wrong),
		cmocka_unit_test(unknown_kinds),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
