/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions whose log is too long to be opened in one pass of the loop. */
#include "base/limits.h"
#include "on_disk.h"

/* What the last request had. */
struct seen {
	size_t hellos, words, asked;
};

static void counts_hellos(void *ctx, const char *request, int nth, struct th_buf *items)
{
	struct seen *seen = ctx;

	(void)nth;
	seen->hellos = scripted_count(request, "Hello to you.");
	seen->words = scripted_count(request, "the word");
	seen->asked++;
	scripted_say(items, "Hello to you.");
}

struct place {
	struct scripted *model;
	struct thole_runtime *rt;
	struct thole_agent *agent;
	struct seen seen;
};

static void place_open(struct place *p, const char *store)
{
	memset(p, 0, sizeof(*p));
	p->model = scripted_new(counts_hellos, &p->seen);
	p->rt = runtime_at(scripted_url(p->model), store);
	p->agent = agent_of("a");
}

static void place_close(struct place *p)
{
	thole_agent_free(p->agent);
	GOOD(thole_runtime_free(p->rt));
	scripted_free(p->model);
}

/* Runs it until its log has `events`; returns how often it was asked. */
static size_t long_session(struct place *p, const char *id, uint64_t events)
{
	struct thole_session *s = NULL;
	size_t count = 0;

	GOOD(thole_session_new(p->rt, p->agent, id, &s, &error));
	for (uint64_t head = 0; head <= events; count++) {
		char *row = NULL;
		const char *at;

		GOOD(thole_session_run(s, count == 1 ? "the word" : "go", &error));
		GOOD(thole_runtime_session(p->rt, id, NULL, &row, &error));
		at = strstr(row, "\"head_seq\":");
		assert_non_null(at);
		head = strtoull(at + 11, NULL, 10);
		thole_free(row);
	}
	thole_session_free(s);
	return count;
}

static struct thole_session *open_again(struct place *p, const char *id)
{
	struct thole_session *s = NULL;

	GOOD(thole_session_open_start(p->rt, p->agent, id, &s, &error));
	assert_non_null(s);
	return s;
}

/* What is said meanwhile waits; then the model is sent the whole history. */
static void goes_on(const char *store)
{
	struct place p;
	struct thole_session *s, *other = NULL;
	char *items = NULL;
	size_t count;

	place_open(&p, store);
	count = long_session(&p, "goes", TH_OPEN_EVENTS_MAX);
	s = open_again(&p, "goes");
	assert_int_equal(thole_session_state(s), THOLE_LOADING);
	GOOD(thole_session_message(s, "and now?", &error));
	BAD(THOLE_EBUSY, thole_session_message(s, "and now?", &error));
	BAD(THOLE_EBUSY, thole_session_open(p.rt, p.agent, "goes", &other, &error));
	GOOD(thole_session_wait(s, 20000, &error));
	assert_int_equal(thole_session_state(s), THOLE_FINISHED);
	assert_int_equal(p.seen.hellos, count);
	assert_int_equal(p.seen.words, 1);
	/* Who needs it at once has it at once.  What is taken away of it stays away. */
	thole_session_free(s);
	s = open_again(&p, "goes");
	assert_int_equal(thole_session_state(s), THOLE_LOADING);
	GOOD(thole_session_items_pop(s, 2 * count + 2 - 2, &items, &error));
	thole_free(items);
	GOOD(thole_session_run(s, "go", &error));
	assert_int_equal(p.seen.hellos, 1);
	assert_int_equal(p.seen.words, 0);
	thole_session_free(s);
	s = open_again(&p, "goes");
	assert_int_equal(thole_session_state(s), THOLE_LOADING);
	GOOD(thole_session_run(s, "and again?", &error));
	assert_int_equal(p.seen.hellos, 2);
	assert_int_equal(p.seen.words, 0);
	thole_session_free(s);
	place_close(&p);
}

static void goes_on_in_a_file(void **state)
{
	(void)state;
	goes_on(url);
}

static void goes_on_in_memory(void **state)
{
	(void)state;
	goes_on("memory:");
}

static void on_opened(void *ctx, struct thole_session *s, const struct thole_note *note)
{
	assert_int_equal(thole_session_state(s), THOLE_FINISHED);
	assert_string_equal(thole_note_name(note), "finished");
	++*(int *)ctx;
}

/* That it is open is told, though nothing happens in it; not to who had it open at once. */
static void tells_that_it_rests(void **state)
{
	struct place p;
	struct thole_session *s;
	struct thole_watcher *w = NULL;
	char *text = NULL;
	int told = 0;

	(void)state;
	place_open(&p, url);
	long_session(&p, "rests", TH_OPEN_EVENTS_MAX);
	s = open_again(&p, "rests");
	GOOD(thole_session_watch_add(s, THOLE_NOTE_REST, on_opened, &told, &w, &error));
	GOOD(thole_session_wait(s, 20000, &error));
	GOOD(thole_runtime_run(p.rt, &error));
	assert_int_equal(told, 1);
	thole_session_free(s);
	s = open_again(&p, "rests");
	GOOD(thole_session_watch_add(s, THOLE_NOTE_REST, on_opened, &told, &w, &error));
	GOOD(thole_session_json(s, &text, &error));
	thole_free(text);
	GOOD(thole_runtime_run(p.rt, &error));
	assert_int_equal(told, 1);
	thole_session_free(s);
	place_close(&p);
}

/* Paused or cancelled before it is open; given back; and with its runtime. */
static void ended_while_it_opens(void **state)
{
	struct place p;
	struct thole_session *s;
	size_t asked;

	(void)state;
	place_open(&p, url);
	long_session(&p, "ends", TH_OPEN_EVENTS_MAX);
	asked = p.seen.asked;
	s = open_again(&p, "ends");
	GOOD(thole_session_message(s, "go", &error));
	GOOD(thole_session_cancel(s, THOLE_NOW, &error));
	GOOD(thole_session_wait(s, 20000, &error));
	assert_int_equal(thole_session_state(s), THOLE_STOPPED);
	assert_int_equal(p.seen.asked, asked);
	thole_session_free(s);
	s = open_again(&p, "ends");
	GOOD(thole_session_pause(s, "wait", &error)); /* it rests: there is nothing to pause */
	GOOD(thole_session_wait(s, 20000, &error));
	assert_int_equal(thole_session_state(s), THOLE_STOPPED);
	thole_session_free(s);
	s = open_again(&p, "ends");
	thole_session_free(s);
	GOOD(thole_runtime_run(p.rt, &error));
	s = open_again(&p, "ends"); /* nobody has it */
	GOOD(thole_session_message(s, "go", &error));
	for (int i = 0; i < 2; i++)
		GOOD(thole_runtime_dispatch(p.rt, &error));
	place_close(&p);
}

/* One that another runtime has, and one that is as long as may be read at once. */
static void at_the_edge(void **state)
{
	struct place p, q;
	struct thole_session *s, *other = NULL;
	static char too_long[TH_PATH_LEN_MAX + 2];

	(void)state;
	place_open(&p, url);
	place_open(&q, url);
	s = open_again(&p, "ends");
	GOOD(thole_runtime_run(p.rt, &error)); /* its lease is taken beside the loop */
	BAD(THOLE_EBUSY, thole_session_open(q.rt, q.agent, "ends", &other, &error));
	thole_session_free(s);
	GOOD(thole_runtime_run(p.rt, &error));
	long_session(&p, "short", 8);
	s = open_again(&p, "short");
	assert_int_equal(thole_session_state(s), THOLE_LOADING);
	GOOD(thole_runtime_run(p.rt, &error));
	assert_int_equal(thole_session_state(s), THOLE_FINISHED);
	BAD(THOLE_EUSAGE, thole_session_open_start(NULL, NULL, "short", &other, &error));
	memset(too_long, 'a', sizeof(too_long) - 1);
	BAD(THOLE_ELIMIT, thole_session_open_start(q.rt, NULL, too_long, &other, &error));
	BAD(THOLE_ENOENT, thole_session_open(q.rt, NULL, "nobody", &other, &error));
	GOOD(thole_session_open(q.rt, q.agent, "ends", &other, &error)); /* waits for its log */
	assert_int_equal(thole_session_state(other), THOLE_STOPPED);
	place_close(&q);
	place_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(goes_on_in_a_file),   cmocka_unit_test(goes_on_in_memory),
		cmocka_unit_test(tells_that_it_rests), cmocka_unit_test(ended_while_it_opens),
		cmocka_unit_test(at_the_edge),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
