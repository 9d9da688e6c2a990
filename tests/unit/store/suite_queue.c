/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suite_queue.c - in which order sessions are taken that wait for a runtime: the same of every
 * kind of store.
 */
#include <stdio.h>
#include <stdlib.h>

#include "io/clock.h"
#include "lab.h"
#include "store/queue.h"

static struct th_err err;

static void put(struct th_store *s, const char *id, const char *user, const char *state,
		const char *metadata)
{
	static struct lab_append a;
	static struct lab_log log;
	struct th_append append;
	struct th_batch batch = { .appends = &append, .append_count = 1 };

	lab_log_init(&log, id);
	lab_make(&log, 1, &a, &append);
	a.row.user = th_str_of(user);
	a.row.state = th_str_of(state);
	a.row.metadata = th_str_of(metadata);
	assert_int_equal(s->kind->commit_now(s, &batch, &err), TH_OK);
	assert_int_equal(append.result, TH_OK);
}

/* Its time came so long ago. */
static void put_waiting(struct th_store *s, const char *id, const char *user, const char *priority,
			int64_t waited_s)
{
	char metadata[128];

	snprintf(metadata, sizeof(metadata), "{\"thole_start_ms\":%lld%s%s%s}",
		 (long long)th_clock_wall_ms() - 1000 * waited_s,
		 priority ? ",\"thole_priority\":\"" : "", priority ?: "", priority ? "\"" : "");
	put(s, id, user, "scheduled", metadata);
}

struct first {
	char ids[TH_FLEET_CLAIM_MAX][16];
	size_t count;
	const char *skip; /* a name's beginning */
};

static enum th_code note(void *ctx, const struct th_session_row *row, struct th_err *ret)
{
	struct first *f = ctx;

	(void)ret;
	assert_in_range(f->count, 0, TH_FLEET_CLAIM_MAX - 1);
	snprintf(f->ids[f->count++], sizeof(f->ids[0]), "%.*s", TH_FMT(row->session_id));
	return TH_OK;
}

static bool skips(void *ctx, struct th_str id)
{
	const struct first *f = ctx;

	return f->skip && th_str_starts(id, th_str_of(f->skip));
}

static void look(struct th_store *s, size_t page, struct first *f)
{
	int64_t next_ms = 0;

	f->count = 0;
	if (s->kind->abandoned) {
		assert_int_equal(s->kind->abandoned(s, page, note, f, &err), TH_OK);
		return;
	}
	assert_int_equal(
	    th_queue_due(s, (int64_t)th_clock_wall_ms(), skips, note, f, &next_ms, &err), TH_OK);
	assert_true(next_ms > (int64_t)th_clock_wall_ms()); /* "future" */
}

static void order_is(struct th_store *s, const char *wanted)
{
	static struct first f;
	char line[512] = "";

	look(s, 0, &f);
	for (size_t i = 0; i < f.count; i++)
		snprintf(line + strlen(line), sizeof(line) - strlen(line), "%s%s", i ? " " : "",
			 f.ids[i]);
	assert_string_equal(line, wanted);
}

void lab_queued(void **state)
{
	struct th_store *s = lab_open(lab_kind->fresh(), NULL);

	(void)state;
	put_waiting(s, "future", "anna", NULL, -3600);
	order_is(s, "");
	put_waiting(s, "a3", "anna", NULL, 98);
	put_waiting(s, "a1", "anna", NULL, 100);
	put_waiting(s, "a2", "anna", NULL, 99);
	order_is(s, "a1 a2 a3");
	/* Who has none comes before who has some, and users take turns. */
	put_waiting(s, "b1", "bob", NULL, 50);
	put_waiting(s, "b2", "bob", NULL, 49);
	order_is(s, "a1 b1 a2 b2 a3");
	put(s, "r1", "anna", "running", "{}");
	put(s, "r2", "anna", "running", "{}");
	/* A helper is part of the session for which it works; one that rests takes no room. */
	put(s, "r3", "bob", "running", "{\"delegated_by\":{\"session\":\"r1\"}}");
	put(s, "r4", "bob", "waiting", "{}");
	order_is(s, "b1 b2 a1 a2 a3");
	put_waiting(s, "e1", "anna", "high", 1);
	put_waiting(s, "c1", "carl", "low", TH_PRIORITY_AGE_MS / 1000 - 20);
	order_is(s, "e1 b1 b2 a1 a2 a3 c1");
	/* Waiting raises. */
	put_waiting(s, "d1", "dora", "low", TH_PRIORITY_AGE_MS / 1000 + 1);
	put_waiting(s, "g1", "gus", "low", 2 * TH_PRIORITY_AGE_MS / 1000 + 1);
	order_is(s, "g1 e1 d1 b1 b2 a1 a2 a3 c1");
	/* Nobody's, and what works for another. */
	put_waiting(s, "n1", "", "high", 5000);
	put(s, "h1", "hal", "scheduled",
	    "{\"thole_start_ms\":1,\"delegated_by\":{\"session\":\"a1\"}}");
	order_is(s, "g1 e1 d1 b1 b2 a1 a2 a3 c1 n1");
	th_store_close(s);
}

#define FLOOD (TH_FLEET_CLAIM_MAX + 20)

static bool has(const struct first *f, const char *id)
{
	for (size_t i = 0; i < f->count; i++)
		if (strcmp(f->ids[i], id) == 0)
			return true;
	return false;
}

/* A user with more sessions than one look finds leaves room for one with a single session, and what
 * cannot be taken hides nobody. */
void lab_queued_flood(void **state)
{
	struct th_store *s = lab_open(lab_kind->fresh(), NULL);
	static struct first f;
	size_t seen;

	(void)state;
	put_waiting(s, "future", "anna", NULL, -3600);
	for (size_t i = 0; i < FLOOD; i++) {
		char id[16];

		snprintf(id, sizeof(id), "f%03zu", i);
		put_waiting(s, id, "flood", NULL, 250);
	}
	put_waiting(s, "z1", "zoe", NULL, 1);
	put_waiting(s, "z2", "zoe", "low", 1);
	look(s, 0, &f);
	assert_int_equal(f.count, TH_FLEET_CLAIM_MAX);
	assert_string_equal(f.ids[0], "f000");
	assert_string_equal(f.ids[1], "z1");
	assert_string_equal(f.ids[2], "f001");
	assert_false(has(&f, "z2"));
	if (s->kind->abandoned) {
		look(s, 1, &f);
		seen = FLOOD + 2 - TH_FLEET_CLAIM_MAX;
		assert_int_equal(f.count, seen);
		assert_true(has(&f, "z2") && has(&f, "f275") && !has(&f, "f000"));
		look(s, 2, &f);
		assert_int_equal(f.count, 0);
	} else {
		f.skip = "f";
		look(s, 0, &f);
		assert_int_equal(f.count, 2);
		assert_string_equal(f.ids[0], "z1");
		assert_string_equal(f.ids[1], "z2");
	}
	th_store_close(s);
}
