/* SPDX-License-Identifier: Apache-2.0 */
/* Several watchers of one session: none disturbs another. */
#include "base/limits.h"
#include "rig.h"

#define ALL                                                                         \
	(THOLE_NOTE_DELTA | THOLE_NOTE_ITEM | THOLE_NOTE_AGENT | THOLE_NOTE_EVENT | \
	 THOLE_NOTE_ASK | THOLE_NOTE_REST)

/* A watcher that writes down what it is told. */
struct seen {
	char list[8000];
	size_t len, count;
	uint64_t lost_from;
	int lost;
	struct thole_watcher *self, *other;
	bool hold_at_once, leave_at_once, free_other, free_session, add;
	struct seen *added;
};

static void note(void *ctx, struct thole_session *s, const struct thole_note *n)
{
	struct seen *seen = ctx;

	seen->count++;
	if (thole_note_kind(n) == THOLE_NOTE_LOST) {
		seen->lost++;
		seen->lost_from = thole_note_seq(n);
		return;
	}
	if (seen->len < sizeof(seen->list) - 100)
		seen->len +=
		    (size_t)sprintf(seen->list + seen->len, "%d:%s:%llu ", thole_note_kind(n),
				    thole_note_name(n), (unsigned long long)thole_note_seq(n));
	if (thole_note_kind(n) == THOLE_NOTE_EVENT)
		assert_non_null(thole_note_json(n));
	if (seen->hold_at_once)
		GOOD(thole_watcher_hold(seen->self, true, &error));
	if (seen->add && !seen->added->self)
		GOOD(
		    thole_session_watch_add(s, ALL, note, seen->added, &seen->added->self, &error));
	if (seen->free_other) {
		seen->free_other = false;
		thole_watcher_free(seen->other);
	}
	if (seen->leave_at_once)
		thole_watcher_free(seen->self);
	if (seen->free_session)
		thole_session_free(s);
}

struct bench {
	struct scripted *model;
	struct thole_runtime *rt;
	struct thole_agent *agent;
	struct thole_session *s;
};

static void begin(struct bench *b)
{
	b->model = scripted_new(says_hello, NULL);
	b->rt = runtime_at(scripted_url(b->model), "memory:");
	b->agent = agent_of("a");
	b->s = NULL;
	GOOD(thole_session_new(b->rt, b->agent, NULL, &b->s, &error));
}

static void end(struct bench *b)
{
	GOOD(thole_runtime_free(b->rt));
	thole_agent_free(b->agent);
	scripted_free(b->model);
}

static void watch(struct bench *b, unsigned kinds, struct seen *seen)
{
	GOOD(thole_session_watch_add(b->s, kinds, note, seen, &seen->self, &error));
	assert_non_null(seen->self);
}

static void each_is_told_what_it_wants(void **state)
{
	struct seen own = { 0 }, all = { 0 }, rests = { 0 }, same = { 0 };
	struct bench b;

	(void)state;
	begin(&b);
	GOOD(thole_session_watch(b.s, ALL, note, &own, &error));
	watch(&b, ALL, &all);
	watch(&b, THOLE_NOTE_REST, &rests);
	watch(&b, ALL, &same);
	GOOD(thole_session_run(b.s, "Hello", &error));
	assert_int_equal(rests.count, 1);
	assert_non_null(strstr(rests.list, "32:finished:"));
	assert_true(own.count > 5);
	assert_string_equal(own.list, all.list);
	assert_string_equal(own.list, same.list);
	/* Nobody's: the others are told all the same. */
	GOOD(thole_session_watch(b.s, 0, NULL, NULL, &error));
	GOOD(thole_session_run(b.s, "Again", &error));
	assert_true(all.count > own.count);
	assert_string_equal(all.list, same.list);
	end(&b);
}

static void one_leaves_and_one_comes_in_a_callback(void **state)
{
	struct seen leaver = { .leave_at_once = true }, stays = { 0 }, late = { 0 };
	struct seen adder = { .add = true, .added = &late };
	struct seen victim = { 0 }, killer = { .free_other = true };
	struct bench b;

	(void)state;
	begin(&b);
	watch(&b, ALL, &leaver);
	watch(&b, ALL, &adder);
	watch(&b, ALL, &killer);
	watch(&b, ALL, &victim);
	watch(&b, ALL, &stays);
	killer.other = victim.self;
	GOOD(thole_session_run(b.s, "Hello", &error));
	assert_int_equal(leaver.count, 1);
	assert_int_equal(victim.count, 0); /* not even what it left in */
	assert_string_equal(adder.list, stays.list);
	/* All but the note in which it was added. */
	assert_int_equal(late.count, stays.count - 1);
	assert_string_equal(strchr(stays.list, ' ') + 1, late.list);
	end(&b);
}

static void a_session_is_given_back_in_a_callback(void **state)
{
	struct seen first = { .free_session = true }, second = { 0 }, held = { 0 };
	struct bench b;

	(void)state;
	begin(&b);
	watch(&b, ALL, &held);
	GOOD(thole_watcher_hold(held.self, true, &error));
	watch(&b, ALL, &first);
	watch(&b, ALL, &second);
	GOOD(thole_session_message(b.s, "Hello", &error));
	while (first.count == 0)
		GOOD(thole_runtime_run(b.rt, &error));
	assert_int_equal(first.count, 1);
	assert_int_equal(second.count, 0);
	assert_int_equal(held.count, 0);
	end(&b);
}

static void a_slow_one_is_told_later(void **state)
{
	struct seen slow = { .hold_at_once = true }, quick = { 0 };
	struct bench b;

	(void)state;
	begin(&b);
	watch(&b, ALL, &slow);
	watch(&b, ALL, &quick);
	GOOD(thole_session_run(b.s, "Hello", &error));
	assert_int_equal(slow.count, 1);
	assert_true(quick.count > 5);
	/* One at a time: it holds itself again in each. */
	while (slow.count < quick.count) {
		size_t before = slow.count;

		GOOD(thole_watcher_hold(slow.self, false, &error));
		GOOD(thole_session_wait(b.s, -1, &error));
		assert_int_equal(slow.count, before + 1);
	}
	assert_string_equal(slow.list, quick.list);
	slow.hold_at_once = false;
	GOOD(thole_watcher_hold(slow.self, false, &error));
	GOOD(thole_session_run(b.s, "Again", &error));
	assert_string_equal(slow.list, quick.list);
	assert_int_equal(slow.lost, 0);
	end(&b);
}

/* Notes of one event each. */
static void add_items(struct bench *b, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		GOOD(thole_session_items_add(b->s, "[{\"role\":\"user\",\"content\":\"x\"}]", false,
					     &error));
		if (i % 64 == 63)
			GOOD(thole_runtime_dispatch(b->rt, &error));
	}
}

static void dispatch_until(struct bench *b, const struct seen *seen, size_t count)
{
	while (seen->count < count)
		GOOD(thole_runtime_dispatch(b->rt, &error));
}

/* As many notes as may wait, and one more. */
static void edge_of_a_queue(void **state)
{
	(void)state;
	for (size_t more = 0; more < 2; more++) {
		struct seen held = { 0 }, quick = { 0 };
		struct bench b;

		begin(&b);
		GOOD(thole_session_wait(b.s, -1, &error)); /* its first event was told */
		watch(&b, THOLE_NOTE_EVENT, &held);
		watch(&b, THOLE_NOTE_EVENT, &quick);
		GOOD(thole_watcher_hold(held.self, true, &error));
		add_items(&b, TH_WATCHER_NOTES_MAX + more);
		dispatch_until(&b, &quick, TH_WATCHER_NOTES_MAX + more);
		assert_int_equal(held.count, 0);
		GOOD(thole_watcher_hold(held.self, false, &error));
		dispatch_until(&b, &held, TH_WATCHER_NOTES_MAX + more);
		assert_int_equal(held.count, quick.count);
		assert_int_equal(held.lost, more);
		if (more) /* the last one */
			assert_int_equal(held.lost_from, TH_WATCHER_NOTES_MAX + more + 1);
		end(&b);
	}
}

static void edge_of_the_bytes_of_a_queue(void **state)
{
	static char json[3 << 20];
	struct seen held = { 0 }, quick = { 0 };
	struct bench b;
	size_t at = 0;

	(void)state;
	begin(&b);
	at += (size_t)sprintf(json, "[{\"role\":\"user\",\"content\":\"");
	memset(json + at, 'x', sizeof(json) - at - 10);
	strcpy(json + sizeof(json) - 10, "\"}]");
	watch(&b, THOLE_NOTE_EVENT, &held);
	watch(&b, THOLE_NOTE_EVENT, &quick);
	GOOD(thole_watcher_hold(held.self, true, &error));
	for (int i = 0; i < 3; i++) { /* the third is too much */
		GOOD(thole_session_items_add(b.s, json, false, &error));
		GOOD(thole_session_wait(b.s, -1, &error));
	}
	assert_true(quick.count >= 3);
	GOOD(thole_watcher_hold(held.self, false, &error));
	GOOD(thole_session_wait(b.s, -1, &error));
	assert_int_equal(held.lost, 1);
	assert_true(held.lost_from > 0);
	assert_true(held.count > 2);
	end(&b);
}

static void edge_of_the_number_of_watchers(void **state)
{
	static struct seen seen[TH_WATCHERS_MAX];
	struct thole_watcher *w = NULL;
	struct bench b;

	(void)state;
	begin(&b);
	for (size_t i = 0; i < TH_WATCHERS_MAX; i++)
		watch(&b, THOLE_NOTE_REST, &seen[i]);
	BAD(THOLE_ELIMIT, thole_session_watch_add(b.s, ALL, note, seen, &w, &error));
	assert_null(w);
	thole_watcher_free(seen[7].self);
	GOOD(thole_session_watch_add(b.s, ALL, note, &seen[7], &w, &error));
	GOOD(thole_session_run(b.s, "Hello", &error));
	for (size_t i = 0; i < TH_WATCHERS_MAX; i++)
		assert_true(seen[i].count > 0);
	end(&b);
}

static void misuse(void **state)
{
	struct thole_watcher *w = NULL;
	struct seen seen = { 0 };
	struct bench b;

	(void)state;
	begin(&b);
	BAD(THOLE_EUSAGE, thole_session_watch_add(NULL, ALL, note, &seen, &w, &error));
	BAD(THOLE_EUSAGE, thole_session_watch_add(b.s, ALL, NULL, &seen, &w, &error));
	BAD(THOLE_EUSAGE, thole_session_watch_add(b.s, ALL, note, &seen, NULL, &error));
	BAD(THOLE_EUSAGE, thole_session_watch_add(b.s, THOLE_NOTE_LOST, note, &seen, &w, &error));
	BAD(THOLE_EUSAGE, thole_watcher_hold(NULL, true, &error));
	thole_watcher_free(NULL);
	assert_null(w);
	end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_told_what_it_wants),
		cmocka_unit_test(one_leaves_and_one_comes_in_a_callback),
		cmocka_unit_test(a_session_is_given_back_in_a_callback),
		cmocka_unit_test(a_slow_one_is_told_later),
		cmocka_unit_test(edge_of_a_queue),
		cmocka_unit_test(edge_of_the_bytes_of_a_queue),
		cmocka_unit_test(edge_of_the_number_of_watchers),
		cmocka_unit_test(misuse),
	};

	return cmocka_run_group_tests(tests, away_from_home, NULL);
}
