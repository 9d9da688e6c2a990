/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions forked and deleted beside the loop. */
#include "base/limits.h"
#include "json_says.h"
#include "on_disk.h"

struct got {
	char line[4096], why[512];
	size_t lines, ended;
	int code;
};

static int on_line(void *ctx, const char *line, size_t len)
{
	struct got *g = ctx;

	assert_int_equal(g->ended, 0);
	snprintf(g->line, sizeof(g->line), "%.*s", (int)len, line);
	g->lines++;
	return 0;
}

static void on_done(void *ctx, int code, const struct thole_error *err)
{
	struct got *g = ctx;

	g->ended++;
	g->code = code;
	assert_true((err != NULL) == (code != THOLE_OK));
	snprintf(g->why, sizeof(g->why), "%s", err ? err->text : "");
}

static bool is_there(struct thole_runtime *rt, const char *id)
{
	char *row = NULL;
	bool there = thole_runtime_session(rt, id, NULL, &row, NULL) == THOLE_OK;

	thole_free(row);
	return there;
}

/* What it gives, from the loop and once. */
static struct got fork_of(struct thole_runtime *rt, uint64_t seq, const char *user, const char *id)
{
	struct got g = { 0 };

	GOOD(thole_runtime_fork_start(rt, "s", seq, user, id, on_line, on_done, &g, NULL, &error));
	assert_int_equal(g.lines + g.ended, 0);
	GOOD(thole_runtime_run(rt, &error));
	assert_int_equal(g.ended, 1);
	assert_int_equal(g.lines, g.code ? 0 : 1);
	return g;
}

static void begin(struct thole_runtime *rt, struct thole_agent *agent, const char *id,
		  const char *user, struct thole_session **ret)
{
	const char *const options[] = { "id", id, "user", user, NULL };

	GOOD(thole_session_new_with(rt, agent, options, ret, &error));
	GOOD(thole_session_run(*ret, "go", &error));
}

static void forks(const char *store)
{
	struct scripted *model = scripted_new(says_hello, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), store);
	struct thole_agent *agent = agent_of("a");
	struct thole_session *s = NULL, *fork = NULL;
	struct thole_reading *reading = NULL;
	struct got g;

	begin(rt, agent, "s", "ann", &s);
	g = fork_of(rt, 0, "ann", "f");
	assert_int_equal(g.code, THOLE_OK);
	assert_json_text(g.line, "session_id", "f");
	assert_json_text(g.line, "parent", "s");
	assert_json_text(g.line, "user", "ann");
	GOOD(thole_session_open(rt, agent, "f", &fork, &error));
	GOOD(thole_session_run(fork, "again", &error));
	assert_string_equal(thole_session_output(fork), "Hello to you.");
	g = fork_of(rt, 2, NULL, NULL);
	assert_json(g.line, "parent_seq", "2");

	assert_int_equal(fork_of(rt, 0, NULL, "f").code, THOLE_EEXIST);
	g = fork_of(rt, 0, "bob", "g");
	assert_int_equal(g.code, THOLE_ENOENT);
	assert_string_equal(g.why, "no session s");
	assert_false(is_there(rt, "g"));
	assert_int_equal(fork_of(rt, 1000, NULL, "g").code, THOLE_EUSAGE);

	/* Nobody hears of it, and it is done all the same. */
	memset(&g, 0, sizeof(g));
	GOOD(thole_runtime_fork_start(rt, "s", 0, NULL, "h", on_line, on_done, &g, &reading,
				      &error));
	thole_reading_free(reading);
	GOOD(thole_runtime_run(rt, &error));
	assert_int_equal(g.lines + g.ended, 0);
	assert_true(is_there(rt, "h"));
	thole_agent_free(agent);
	GOOD(thole_runtime_free(rt));
	scripted_free(model);
}

static void forked(void **state)
{
	(void)state;
	forks(url);
	forks("memory:");
}

/* ---- deleting ---- */

struct between {
	struct thole_runtime *rt;
	struct thole_agent *agent;
	struct thole_session *s;
	size_t lines, ended;
};

/* Read behind the first look at the session that is deleted, and before it goes. */
static int on_between(void *ctx, const char *line, size_t len)
{
	const char *const again[] = { "id", "s", NULL };
	struct between *b = ctx;
	struct thole_session *other = NULL;
	struct got g = { 0 };
	int code;

	(void)line;
	(void)len;
	if (b->lines++)
		return 0;
	BAD(THOLE_EBUSY, thole_session_message(b->s, "more", &error));
	assert_string_equal(error.text, "session s is being deleted");
	BAD(THOLE_EBUSY, thole_session_new_with(b->rt, b->agent, again, &other, &error));
	BAD(THOLE_EBUSY, thole_session_open(b->rt, NULL, "s", &other, &error));
	BAD(THOLE_EBUSY, thole_session_fork(b->rt, NULL, "t", 0, "s", &other, &error));
	BAD(THOLE_EBUSY,
	    thole_runtime_fork_start(b->rt, "t", 0, NULL, "s", on_line, on_done, &g, NULL, &error));
	/* Who may know of it is looked up in the store first, which may have it no more. */
	code = thole_runtime_delete(b->rt, "s", NULL, &error);
	assert_true(code == THOLE_EBUSY || code == THOLE_ENOENT);
	return 0;
}

static void on_between_done(void *ctx, int code, const struct thole_error *err)
{
	struct between *b = ctx;

	(void)err;
	assert_int_equal(code, THOLE_OK);
	b->ended++;
}

static struct got deleted_of(struct thole_runtime *rt, const char *id, const char *user)
{
	struct got g = { 0 };

	GOOD(thole_runtime_delete_start(rt, id, user, on_done, &g, NULL, &error));
	assert_int_equal(g.ended, 0);
	GOOD(thole_runtime_run(rt, &error));
	assert_int_equal(g.ended, 1);
	return g;
}

static void deletes(const char *store)
{
	struct scripted *model = scripted_new(says_hello, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), store);
	struct thole_agent *agent = agent_of("a");
	struct between b = { .rt = rt, .agent = agent };
	struct thole_session *other = NULL, *again = NULL;
	struct thole_reading *reading = NULL;
	struct got g, twice = { 0 };

	begin(rt, agent, "s", "ann", &b.s);
	begin(rt, agent, "t", "ann", &other);
	g = deleted_of(rt, "s", "bob");
	assert_int_equal(g.code, THOLE_ENOENT);
	assert_string_equal(g.why, "no session s");

	/* What is at work is not deleted, and of another user's nobody hears even that. */
	GOOD(thole_session_message(b.s, "on", &error));
	memset(&g, 0, sizeof(g));
	GOOD(thole_runtime_delete_start(rt, "s", "ann", on_done, &g, NULL, &error));
	GOOD(thole_runtime_delete_start(rt, "s", "bob", on_done, &twice, NULL, &error));
	while (!twice.ended || !g.ended)
		GOOD(thole_runtime_dispatch(rt, &error));
	assert_int_equal(twice.code, THOLE_ENOENT);
	assert_true(g.code == THOLE_EBUSY);
	assert_non_null(strstr(g.why, "session s is at work; cancel it"));
	GOOD(thole_session_wait(b.s, -1, &error));

	memset(&g, 0, sizeof(g));
	memset(&twice, 0, sizeof(twice));
	GOOD(thole_runtime_delete_start(rt, "s", "ann", on_done, &g, NULL, &error));
	GOOD(thole_runtime_export_start(rt, "t", on_between, on_between_done, &b, NULL, &error));
	GOOD(thole_runtime_delete_start(rt, "s", NULL, on_done, &twice, NULL, &error));
	GOOD(thole_runtime_run(rt, &error));
	assert_int_equal(g.code, THOLE_OK);
	assert_int_equal(g.ended, 1);
	assert_true(b.lines > 0 && b.ended == 1);
	assert_int_equal(twice.code, THOLE_EBUSY);
	assert_string_equal(twice.why, "session s is being deleted");
	assert_int_equal(thole_session_state(b.s), THOLE_LOST);
	BAD(THOLE_ENOENT, thole_session_message(b.s, "more", &error));
	thole_session_free(b.s);
	assert_false(is_there(rt, "s"));

	/* The name is free again; and one that shares its events is in the way. */
	begin(rt, agent, "s", "ann", &again);
	assert_int_equal(fork_of(rt, 0, NULL, "f").code, THOLE_OK);
	g = deleted_of(rt, "s", NULL);
	assert_int_equal(g.code, THOLE_EBUSY);
	assert_non_null(strstr(g.why, "session f, which was forked from it"));
	GOOD(thole_session_run(again, "on", &error)); /* it takes messages as before */

	/* Nobody hears of it, and it is done all the same. */
	memset(&g, 0, sizeof(g));
	GOOD(thole_runtime_delete_start(rt, "f", NULL, on_done, &g, &reading, &error));
	thole_reading_free(reading);
	GOOD(thole_runtime_run(rt, &error));
	assert_int_equal(g.ended, 0);
	assert_false(is_there(rt, "f"));

	/* One that is given back while it is being deleted; and the runtime's end. */
	GOOD(thole_runtime_delete_start(rt, "s", NULL, on_done, &g, NULL, &error));
	thole_session_free(again);
	GOOD(thole_runtime_delete_start(rt, "t", NULL, on_done, &g, NULL, &error));
	thole_agent_free(agent);
	GOOD(thole_runtime_free(rt));
	assert_int_equal(g.ended, 0);
	scripted_free(model);
}

static void deleted(void **state)
{
	(void)state;
	deletes("memory:");
	assert_int_equal(unlink(url + strlen("sqlite:")), 0);
	deletes(url);
}

static void misused(void **state)
{
	static char too_long[TH_SESSION_ID_MAX + 2], no_user[TH_USER_MAX + 2];
	struct scripted *model = scripted_new(says_hello, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct got g = { 0 };

	(void)state;
	memset(too_long, 'x', sizeof(too_long) - 1);
	memset(no_user, 'x', sizeof(no_user) - 1);
#define FORK(rt, id, user, new_id, fn, done) \
	thole_runtime_fork_start(rt, id, 0, user, new_id, fn, done, &g, NULL, &error)
	BAD(THOLE_EUSAGE,
	    thole_runtime_fork_start(NULL, "s", 0, NULL, NULL, on_line, on_done, &g, NULL, &error));
	BAD(THOLE_ELIMIT, thole_runtime_fork_start(rt, too_long, 0, NULL, NULL, on_line, on_done,
						   &g, NULL, &error));
	BAD(THOLE_ELIMIT, FORK(rt, "s", NULL, too_long, on_line, on_done));
	BAD(THOLE_ELIMIT, FORK(rt, "s", no_user, NULL, on_line, on_done));
	BAD(THOLE_EUSAGE, FORK(rt, NULL, NULL, NULL, on_line, on_done));
	BAD(THOLE_EUSAGE, FORK(rt, "s", "", NULL, on_line, on_done));
	BAD(THOLE_EUSAGE, FORK(rt, "s", NULL, "", on_line, on_done));
	BAD(THOLE_EUSAGE, FORK(rt, "s", NULL, NULL, NULL, on_done));
	BAD(THOLE_EUSAGE, FORK(rt, "s", NULL, NULL, on_line, NULL));
#undef FORK
#define DELETE(rt, id, user, done) thole_runtime_delete_start(rt, id, user, done, &g, NULL, &error)
	BAD(THOLE_EUSAGE, thole_runtime_delete_start(NULL, "s", NULL, on_done, &g, NULL, &error));
	BAD(THOLE_ELIMIT,
	    thole_runtime_delete_start(rt, too_long, NULL, on_done, &g, NULL, &error));
	BAD(THOLE_ELIMIT, DELETE(rt, "s", no_user, on_done));
	BAD(THOLE_EUSAGE, DELETE(rt, NULL, NULL, on_done));
	BAD(THOLE_EUSAGE, DELETE(rt, "s", "", on_done));
	BAD(THOLE_EUSAGE, DELETE(rt, "s", NULL, NULL));
#undef DELETE
	assert_int_equal(g.ended, 0);
	GOOD(thole_runtime_free(rt));
	scripted_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forked),
		cmocka_unit_test(deleted),
		cmocka_unit_test(misused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
