/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions deleted through the API, and what they used. */
#include "base/limits.h"
#include "json_says.h"
#include "rig.h"

struct heard {
	int lost, rests;
};

static void on_rest(void *ctx, struct thole_session *s, const struct thole_note *note)
{
	struct heard *h = ctx;

	h->rests++;
	h->lost +=
	    thole_session_state(s) == THOLE_LOST && strcmp(thole_note_name(note), "lost") == 0;
}

static char *usage(struct thole_runtime *rt, const char *const *options)
{
	char *json = NULL;

	GOOD(thole_runtime_usage(rt, options, &json, &error));
	return json;
}

/* One that rests is closed and gone; what it used stays, and its name is free. */
static void deleted(void **state)
{
	const char *const of_ann[] = { "id", "s", "user", "ann", NULL };
	const char *const by_user[] = { "by", "user", NULL };
	struct scripted *model = scripted_new(says_hello, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *agent = agent_of("a");
	struct thole_session *s = NULL, *again = NULL;
	struct heard heard = { 0 };
	char *before, *after, *json = NULL;

	(void)state;
	GOOD(thole_session_new_with(rt, agent, of_ann, &s, &error));
	GOOD(thole_session_watch(s, THOLE_NOTE_REST, on_rest, &heard, &error));
	GOOD(thole_session_run(s, "go", &error));
	before = usage(rt, by_user);
	assert_json_text(before, "by", "user");
	assert_json_text(before, "usage.0.user", "ann");
	assert_json(before, "usage.0.sessions", "1");
	assert_json(before, "usage.0.turns", "1");
	BAD(THOLE_ENOENT, thole_runtime_delete(rt, "s", "bob", &error));
	assert_string_equal(error.text, "no session s");
	GOOD(thole_runtime_delete(rt, "s", "ann", &error));
	assert_int_equal(thole_session_state(s), THOLE_LOST);
	BAD(THOLE_ENOENT, thole_session_message(s, "more", &error));
	GOOD(thole_runtime_run(rt, &error));
	assert_int_equal(heard.lost, 1);
	thole_session_free(s);
	BAD(THOLE_ENOENT, thole_runtime_session(rt, "s", NULL, &json, &error));
	BAD(THOLE_ENOENT, thole_runtime_delete(rt, "s", "ann", &error));
	after = usage(rt, by_user);
	assert_string_equal(after, before);
	GOOD(thole_session_new_with(rt, agent, of_ann, &again, &error));
	GOOD(thole_session_run(again, "go", &error));
	thole_free(before);
	thole_free(after);
	thole_agent_free(agent);
	GOOD(thole_runtime_free(rt));
	scripted_free(model);
}

/* One that was given back, or that nobody has open; forks; one at work. */
static void delete_refused(void **state)
{
	static char too_long[TH_SESSION_ID_MAX + 2];
	struct scripted *model = scripted_new(says_hello, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *agent = agent_of("a");
	struct thole_session *s = NULL, *fork = NULL;

	(void)state;
	GOOD(thole_session_new(rt, agent, "s", &s, &error));
	BAD(THOLE_ENOENT, thole_runtime_delete(rt, "s", NULL, &error)); /* not written yet */
	GOOD(thole_session_run(s, "go", &error));
	GOOD(thole_session_message(s, "on", &error));
	BAD(THOLE_EBUSY, thole_runtime_delete(rt, "s", NULL, &error));
	assert_non_null(strstr(error.text, "session s is at work; cancel it"));
	GOOD(thole_session_wait(s, -1, &error));
	GOOD(thole_session_fork(rt, agent, "s", 2, "f", &fork, &error));
	BAD(THOLE_EBUSY, thole_runtime_delete(rt, "s", NULL, &error));
	assert_non_null(strstr(error.text, "session f, which was forked from it"));
	assert_int_equal(thole_session_state(s), THOLE_FINISHED); /* and is open still */
	thole_session_free(fork);
	GOOD(thole_runtime_delete(rt, "f", NULL, &error));
	thole_session_free(s);
	GOOD(thole_runtime_delete(rt, "s", NULL, &error));
	memset(too_long, 'x', sizeof(too_long) - 1);
	BAD(THOLE_EUSAGE, thole_runtime_delete(NULL, "s", NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_delete(rt, NULL, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_delete(rt, "s", "", &error));
	BAD(THOLE_ELIMIT, thole_runtime_delete(rt, too_long, NULL, &error));
	thole_agent_free(agent);
	GOOD(thole_runtime_free(rt));
	scripted_free(model);
}

/* Open or not, and for its user alone. */
static void described(void **state)
{
	static char too_long[TH_SESSION_ID_MAX + 2], too_long_title[TH_PATH_LEN_MAX + 2];
	const char *const of_ann[] = { "id", "s", "user", "ann", NULL };
	struct scripted *model = scripted_new(says_hello, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *agent = agent_of("a");
	struct thole_session *s = NULL;
	char *json = NULL;

	(void)state;
	GOOD(thole_session_new_with(rt, agent, of_ann, &s, &error));
	GOOD(thole_session_run(s, "go", &error));
	GOOD(thole_runtime_describe(rt, "s", "ann", "A name", "{\"n\":1}", "me", &error));
	assert_int_equal(thole_session_state(s), THOLE_FINISHED);
	GOOD(thole_session_wait(s, -1, &error));
	GOOD(thole_runtime_session(rt, "s", NULL, &json, &error));
	assert_json_text(json, "title", "A name");
	assert_json(json, "metadata", "{\"n\":1}");
	thole_free(json);
	GOOD(thole_session_message(s, "on", &error)); /* also while it runs */
	GOOD(thole_runtime_describe(rt, "s", NULL, "Another", NULL, NULL, &error));
	GOOD(thole_session_wait(s, -1, &error));
	assert_int_equal(thole_session_state(s), THOLE_FINISHED);
	assert_string_equal(thole_session_metadata(s), "{\"n\":1}");
	GOOD(thole_session_describe(s, NULL, "{\"n\":2}", "me", &error));
	assert_string_equal(thole_session_metadata(s), "{\"n\":2}"); /* before it is written */
	GOOD(thole_session_describe(s, "Once more", NULL, NULL, &error));
	GOOD(thole_session_describe(s, "Another", NULL, NULL, &error));
	BAD(THOLE_EUSAGE, thole_session_describe(s, NULL, NULL, NULL, &error));
	BAD(THOLE_EUSAGE, thole_session_describe(s, "two\nlines", NULL, NULL, &error));
	BAD(THOLE_EUSAGE, thole_session_describe(s, NULL, "[]", NULL, &error));
	BAD(THOLE_EUSAGE,
	    thole_session_describe(s, NULL, "{\"delegated_by\":\"x\"}", NULL, &error));
	BAD(THOLE_EUSAGE, thole_session_describe(NULL, "x", NULL, NULL, &error));
	memset(too_long_title, 'x', sizeof(too_long_title) - 1);
	BAD(THOLE_ELIMIT, thole_session_describe(s, too_long_title, NULL, NULL, &error));
	assert_null(thole_session_metadata(NULL));
	assert_true(thole_session_unwritten(s) > 0);
	GOOD(thole_session_wait(s, -1, &error));
	assert_int_equal(thole_session_unwritten(s), 0);
	assert_int_equal(thole_session_unwritten(NULL), 0);
	thole_session_free(s);
	GOOD(thole_runtime_session(rt, "s", NULL, &json, &error));
	assert_json(json, "metadata", "{\"n\":2}");
	thole_free(json);
	GOOD(thole_runtime_describe(rt, "s", NULL, NULL, "{}", NULL, &error));
	GOOD(thole_runtime_session(rt, "s", NULL, &json, &error));
	assert_json_text(json, "title", "Another");
	assert_json(json, "metadata", "{}");
	thole_free(json);
	BAD(THOLE_ENOENT, thole_runtime_describe(rt, "s", "bob", "x", NULL, NULL, &error));
	BAD(THOLE_ENOENT, thole_runtime_describe(rt, "t", NULL, "x", NULL, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_describe(rt, "s", NULL, NULL, NULL, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_describe(rt, "s", NULL, "two\nlines", NULL, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_describe(rt, "s", NULL, NULL, "[]", NULL, &error));
	BAD(THOLE_EPROTO, thole_runtime_describe(rt, "s", NULL, NULL, "{]", NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_describe(NULL, "s", NULL, "x", NULL, NULL, &error));
	memset(too_long, 'x', sizeof(too_long) - 1);
	BAD(THOLE_ELIMIT, thole_runtime_describe(rt, too_long, NULL, "x", NULL, NULL, &error));
	thole_agent_free(agent);
	GOOD(thole_runtime_free(rt));
	scripted_free(model);
}

static int lines_of(const char *json)
{
	int count = 0;

	while ((json = strstr(json, "\"session_id\""))) {
		json++;
		count++;
	}
	return count;
}

static void usage_asked(void **state)
{
	static char too_long[TH_PATH_LEN_MAX + 2];
	static const char *const wrong[][3] = {
		{ "by", "hour" },       { "from", "2026-02-29" }, { "from", "1970-01-01" },
		{ "to", "2026-13-01" }, { "to", "26-01-01" },     { "limit", "0" },
		{ "after", "c1.x" },    { "what", "x" },
	};
	struct scripted *model = scripted_new(says_hello, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *agent = agent_of("a");
	struct thole_session *s = NULL;
	char *json, *next, cursor[64], *none;

	(void)state;
	for (int i = 0; i < 3; i++) {
		char id[8];

		snprintf(id, sizeof(id), "s%d", i);
		GOOD(thole_session_new(rt, agent, id, &s, &error));
		GOOD(thole_session_run(s, "go", &error));
	}
	json = usage(rt, NULL);
	assert_non_null(strstr(json, "{\"by\":\"day\",\"usage\":[{\"day\":\"20"));
	assert_json(json, "usage.0.sessions", "3");
	assert_json(json, "usage.0.turns", "3");
	thole_free(json);
	json = usage(rt, (const char *[]){ "by", "day", "to", "2001-01-01", NULL });
	assert_string_equal(json, "{\"by\":\"day\",\"usage\":[]}");
	thole_free(json);
	json = usage(rt, (const char *[]){ "by", "agent", "from", "2024-02-29", NULL });
	assert_json_text(json, "usage.0.agent", "a");
	assert_json(json, "usage.0.sessions", "3");
	thole_free(json);
	json = usage(rt, (const char *[]){ "by", "session", "limit", "2", NULL });
	assert_non_null(strstr(json, "\",\"user\":\"local\",\"agent\":\"a\",\"model\":\""));
	assert_int_equal(lines_of(json), 2);
	next = strstr(json, "\"next\":\"");
	assert_non_null(next);
	snprintf(cursor, sizeof(cursor), "%.*s", (int)strcspn(next + 8, "\""), next + 8);
	thole_free(json);
	json = usage(rt, (const char *[]){ "by", "session", "after", cursor, NULL });
	assert_int_equal(lines_of(json), 1);
	assert_json_lacks(json, "next");
	thole_free(json);
	json = usage(rt, (const char *[]){ "by", "session", "user", "ann", NULL });
	assert_string_equal(json, "{\"by\":\"session\",\"usage\":[]}");
	thole_free(json);
	for (size_t i = 0; i < TH_COUNT(wrong); i++)
		BAD(THOLE_EUSAGE, thole_runtime_usage(rt, wrong[i], &none, &error));
	memset(too_long, 'x', sizeof(too_long) - 1);
	BAD(THOLE_ELIMIT,
	    thole_runtime_usage(rt, (const char *[]){ "user", too_long, NULL }, &none, &error));
	BAD(THOLE_EUSAGE, thole_runtime_usage(NULL, NULL, &none, &error));
	BAD(THOLE_EUSAGE, thole_runtime_usage(rt, NULL, NULL, &error));
	thole_agent_free(agent);
	GOOD(thole_runtime_free(rt));
	scripted_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deleted),
		cmocka_unit_test(delete_refused),
		cmocka_unit_test(usage_asked),
		cmocka_unit_test(described),
	};

	return cmocka_run_group_tests(tests, away_from_home, NULL);
}
