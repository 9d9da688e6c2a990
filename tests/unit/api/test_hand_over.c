/* SPDX-License-Identifier: Apache-2.0 */
/* A session that is given to whoever takes it, on a store that several runtimes share. */
#include <string.h>

#include "rig.h"

/* What it was told just now is not durable yet: the loop turns meanwhile, and what that closes is
 * not closed twice. */
static void not_durable_yet(void **state)
{
	struct scripted *model = scripted_new(says_hello, NULL);
	const char *server = getenv("THOLE_TEST_POSTGRES");
	struct thole_session *s = NULL, *other = NULL;
	struct thole_agent *agent = agent_of("a");
	struct thole_runtime *rt, *second;
	char url[512];

	(void)state;
	assert_non_null(server);
	snprintf(url, sizeof(url), "%spostgres", server);
	rt = runtime_at(scripted_url(model), url);
	second = runtime_at(scripted_url(model), url);
	GOOD(thole_session_new(rt, agent, "s", &s, &error));
	GOOD(thole_session_new(rt, agent, "freed", &other, &error));
	GOOD(thole_session_message(s, "Go.", &error));
	GOOD(thole_session_message(other, "Go.", &error));
	thole_session_free(other); /* closed as soon as it is durable */
	GOOD(thole_session_hand_over(s, true, &error));
	GOOD(thole_runtime_run(rt, &error));
	/* Its message is there, and another runtime goes on with it. */
	GOOD(thole_session_open(second, agent, "s", &s, &error));
	GOOD(thole_session_run(s, NULL, &error));
	assert_int_equal(thole_session_state(s), THOLE_FINISHED);
	thole_session_free(s);
	thole_agent_free(agent);
	GOOD(thole_runtime_free(second));
	GOOD(thole_runtime_free(rt));
	scripted_free(model);
}

struct heard {
	bool over;
	int code;
	char text[512];
};

static int on_line(void *ctx, const char *line, size_t len)
{
	struct heard *h = ctx;

	snprintf(h->text, sizeof(h->text), "%.*s", (int)len, line);
	return 0;
}

static void on_done(void *ctx, int code, const struct thole_error *err)
{
	struct heard *h = ctx;

	(void)err;
	h->over = true;
	h->code = code;
}

static int put(struct thole_runtime *rt, const char *const *lines, bool merged)
{
	struct heard h = { 0 };

	GOOD(thole_runtime_outbox_put_start(rt, lines, merged, on_done, &h, NULL, &error));
	GOOD(thole_runtime_run(rt, &error));
	assert_true(h.over);
	return h.code;
}

static struct heard take(struct thole_runtime *rt)
{
	struct heard h = { 0 };

	GOOD(thole_runtime_outbox_take_start(rt, on_line, on_done, &h, NULL, &error));
	GOOD(thole_runtime_run(rt, &error));
	assert_true(h.over);
	assert_int_equal(h.code, 0);
	return h;
}

/* What a runtime has promised is another's when it is gone. */
static void outbox(void **state)
{
	enum { LINES = 2048, NAME = 64, LINE = 1024 * 1024 };
	static char names[LINES + 1][8], name[NAME + 2], line[LINE + 2];
	static const char *many[2 * (LINES + 1) + 1];
	const char *const two[] = { "a", "1", "b", "2", NULL }, *const less[] = { "b", "", NULL };
	const char *longest[] = { name, line, NULL };
	const char *server = getenv("THOLE_TEST_POSTGRES");
	struct thole_runtime *rt, *second;
	struct thole_reading *reading = NULL;
	char url[512];

	(void)state;
	snprintf(url, sizeof(url), "%spostgres", server);
	rt = runtime_at("http://127.0.0.1:1/v1", url);
	second = runtime_at("http://127.0.0.1:1/v1", url);
	for (int i = 0; i <= LINES; i++) {
		snprintf(names[i], sizeof(names[i]), "%d", i);
		many[2 * i] = names[i];
		many[2 * i + 1] = "";
	}
	BAD(THOLE_ELIMIT,
	    thole_runtime_outbox_put_start(rt, many, false, on_done, NULL, &reading, &error));
	many[2 * LINES] = NULL;
	assert_int_equal(put(rt, many, false), 0);
	memset(name, 'n', NAME + 1);
	memset(line, 'x', LINE);
	assert_int_not_equal(
	    thole_runtime_outbox_put_start(rt, longest, false, on_done, NULL, &reading, &error), 0);
	name[NAME] = '\0';
	assert_int_equal(put(rt, longest, false), 0);
	line[LINE] = 'x';
	assert_int_not_equal(
	    thole_runtime_outbox_put_start(rt, longest, false, on_done, NULL, &reading, &error), 0);
	longest[1] = "";
	assert_int_equal(put(rt, longest, false), 0);
	assert_int_equal(put(rt, two, false), 0);
	assert_int_equal(put(rt, less, false), 0);
	assert_string_equal(take(second).text, "[]");
	GOOD(thole_runtime_free(rt));
	for (int i = 0; i < 2; i++)
		assert_string_equal(take(second).text,
				    "[{\"name\":\"a\",\"text\":\"1\",\"taken\":true}]");
	assert_int_equal(put(second, NULL, true), 0);
	assert_string_equal(take(second).text, "[]");
	BAD(THOLE_EUSAGE,
	    thole_runtime_outbox_put_start(second, two, false, NULL, NULL, &reading, &error));
	BAD(THOLE_EUSAGE,
	    thole_runtime_outbox_take_start(second, NULL, on_done, NULL, &reading, &error));
	GOOD(thole_runtime_free(second));
	rt = runtime_at("http://127.0.0.1:1/v1", "memory:");
	BAD(THOLE_EUNSUPPORTED,
	    thole_runtime_outbox_put_start(rt, two, false, on_done, NULL, &reading, &error));
	BAD(THOLE_EUNSUPPORTED,
	    thole_runtime_outbox_take_start(rt, on_line, on_done, NULL, &reading, &error));
	assert_null(reading);
	GOOD(thole_runtime_free(rt));
}

/* What became of it; its name is its user's, too. */
static int reserve(struct thole_runtime *rt, const char *name, int64_t most)
{
	struct heard h = { 0 };

	GOOD(thole_runtime_reserve_start(rt, name, "u", most, NULL, on_done, &h, &error));
	GOOD(thole_runtime_run(rt, &error));
	assert_true(h.over);
	return h.code;
}

/* Two runtimes have together what a user may, and a session that runs takes the place of what was
 * reserved for it. */
static void reserving(void **state)
{
	struct scripted *model = scripted_new(says_hello, NULL);
	const char *const options[] = { "id", "runs", "user", "u", NULL };
	const char *server = getenv("THOLE_TEST_POSTGRES");
	struct thole_agent *agent = agent_of("a");
	struct thole_runtime *rt, *second;
	struct thole_session *s = NULL;
	struct heard never = { 0 };
	char url[512];

	(void)state;
	snprintf(url, sizeof(url), "%spostgres", server);
	rt = runtime_at(scripted_url(model), url);
	second = runtime_at("http://127.0.0.1:1/v1", url);
	assert_int_equal(reserve(rt, "one", 1), 0);
	assert_int_equal(reserve(second, "two", 1), THOLE_ELIMIT);
	GOOD(thole_runtime_unreserve(rt, "one", &error));
	/* Asked for, and not wanted any more: nobody is told, and nothing is left of it. */
	GOOD(thole_runtime_reserve_start(rt, "gone", "u", 1, NULL, on_done, &never, &error));
	GOOD(thole_runtime_unreserve(rt, "gone", &error));
	assert_int_equal(reserve(rt, "last", 1), 0);
	assert_false(never.over);
	GOOD(thole_runtime_reservation_use(rt, "last", "runs", &error));
	GOOD(thole_session_new_with(rt, agent, options, &s, &error));
	GOOD(thole_session_run(s, "Go.", &error));
	assert_int_equal(thole_session_state(s), THOLE_FINISHED);
	assert_int_equal(reserve(second, "two", 1), 0);
	assert_int_equal(reserve(rt, "more", 1), THOLE_ELIMIT);
	GOOD(thole_runtime_reserve_start(rt, "with", "u", 2, options, on_done, &never, &error));
	thole_session_free(s);
	thole_agent_free(agent);
	GOOD(thole_runtime_free(rt));
	assert_false(never.over);
	GOOD(thole_runtime_free(second));
	scripted_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(not_durable_yet),
					    cmocka_unit_test(outbox), cmocka_unit_test(reserving) };

	return cmocka_run_group_tests(tests, away_from_home, NULL);
}
