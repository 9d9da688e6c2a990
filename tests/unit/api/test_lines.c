/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of the store beside the loop: lines that are those of the functions that wait for
 * it; changes; and sessions that are begun without a look. */
#include "base/limits.h"
#include "on_disk.h"

struct got {
	char line[TH_MIB], why[512];
	size_t lines, ended;
	int code;
};

static struct got got;

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

/* What was started ends once, and not before the loop runs. */
static int end_of(struct thole_runtime *rt)
{
	assert_int_equal(got.lines + got.ended, 0);
	GOOD(thole_runtime_run(rt, &error));
	assert_int_equal(got.ended, 1);
	return got.code;
}

#define ENDS(call)                            \
	__extension__({                       \
		memset(&got, 0, sizeof(got)); \
		GOOD(call);                   \
		end_of(rt);                   \
	})
#define TELL on_line, on_done, &got, NULL, &error

static void waits_for_a_person(void *ctx, const char *request, int nth, struct th_buf *items)
{
	(void)ctx;
	(void)nth;
	if (strstr(request, "risk it") && scripted_count(request, "function_call_output") == 0)
		scripted_call(items, "c1", "risky", "{}");
	else
		scripted_say(items, "Hello to you.");
}

static void never(void *ctx, struct thole_call *call)
{
	(void)ctx;
	GOOD(thole_call_done(call, "ok", &error));
}

static struct thole_agent *asking_agent(void)
{
	struct thole_agent *a = agent_of("a");

	struct thole_tool *tool = NULL;

	GOOD(thole_agent_tool(a, "risky", never, NULL, &tool, &error));
	GOOD(thole_tool_class(tool, THOLE_CLASS_IRREVERSIBLE, &error));
	return a;
}

/* The line is what the function that waits gives. */
#define SAME(start, waits)                               \
	do {                                             \
		char *text = NULL;                       \
                                                         \
		assert_int_equal(ENDS(start), THOLE_OK); \
		assert_int_equal(got.lines, 1);          \
		GOOD(waits);                             \
		assert_string_equal(got.line, text);     \
		thole_free(text);                        \
	} while (0)

static void lines_at(const char *store)
{
	const char *const by_user[] = { "by", "user", NULL };
	const char *const of_ann[] = { "id", "s", "user", "ann", NULL };
	struct scripted *model = scripted_new(waits_for_a_person, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), store);
	struct thole_agent *a = asking_agent();
	struct thole_session *s = NULL;

	GOOD(thole_session_new_with(rt, a, of_ann, &s, &error));
	GOOD(thole_session_run(s, "hello", &error));
	GOOD(thole_session_run(s, "risk it", &error));
	assert_int_equal(thole_session_state(s), THOLE_WAITING);
	SAME(thole_runtime_session_start(rt, "s", NULL, TELL),
	     thole_runtime_session(rt, "s", NULL, &text, &error));
	assert_int_equal(ENDS(thole_runtime_session_start(rt, "s", "ann", TELL)), THOLE_OK);
	assert_int_equal(ENDS(thole_runtime_session_start(rt, "s", "bob", TELL)), THOLE_ENOENT);
	assert_string_equal(got.why, "no session s");
	SAME(thole_runtime_waiting_start(rt, "ann", NULL, 0, TELL),
	     thole_runtime_waiting(rt, "ann", NULL, 0, &text, &error));
	assert_non_null(strstr(got.line, "\"tool\":\"risky\""));
	SAME(thole_runtime_usage_start(rt, by_user, TELL),
	     thole_runtime_usage(rt, by_user, &text, &error));
	SAME(thole_runtime_items_start(rt, "s", 0, 0, 0, TELL),
	     thole_session_items(s, 0, 0, &text, &error));
	SAME(thole_runtime_items_start(rt, "s", -2, 1, 0, TELL),
	     thole_session_items(s, -2, 1, &text, &error));
	/* Only what was said before the second task. */
	assert_int_equal(ENDS(thole_runtime_items_start(rt, "s", 0, 0, 4, TELL)), THOLE_OK);
	assert_null(strstr(got.line, "risk it"));
	assert_non_null(strstr(got.line, "hello"));
	assert_int_equal(ENDS(thole_runtime_items_start(rt, "t", 0, 0, 0, TELL)), THOLE_ENOENT);
	assert_int_equal(ENDS(thole_runtime_numbered_items_start(rt, "s", 4, TELL)), THOLE_OK);
	assert_non_null(strstr(got.line, "\"items\":[{\"number\":0,\"item\":{"));
	assert_null(strstr(got.line, "risk it"));
	thole_agent_free(a);
	GOOD(thole_runtime_free(rt));
	scripted_free(model);
}

static void lines(void **state)
{
	(void)state;
	lines_at(url);
	lines_at("memory:");
}

/* ---- changes ---- */

static void title_is(struct thole_runtime *rt, const char *title)
{
	char *row = NULL, wanted[64];

	snprintf(wanted, sizeof(wanted), "\"title\":\"%s\"", title);
	GOOD(thole_runtime_session(rt, "s", NULL, &row, &error));
	assert_non_null(strstr(row, wanted));
	thole_free(row);
}

static void described_at(const char *store)
{
	struct scripted *model = scripted_new(waits_for_a_person, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), store);
	struct thole_agent *a = agent_of("a");
	struct thole_session *s = NULL;
	struct thole_reading *reading = NULL;

#define DESCRIBE(user, title, metadata, ret)                                                   \
	thole_runtime_describe_start(rt, "s", user, title, metadata, "me", on_done, &got, ret, \
				     &error)
	GOOD(thole_session_new(rt, a, "s", &s, &error));
	GOOD(thole_session_run(s, "hello", &error));
	assert_int_equal(ENDS(DESCRIBE(NULL, "open", "{\"a\":1}", NULL)), THOLE_OK);
	GOOD(thole_session_wait(s, -1, &error));
	title_is(rt, "open");
	thole_session_free(s);
	assert_int_equal(ENDS(DESCRIBE("local", "stored", NULL, NULL)), THOLE_OK);
	title_is(rt, "stored");
	assert_int_equal(ENDS(DESCRIBE("bob", "his", NULL, NULL)), THOLE_ENOENT);
	assert_int_equal(ENDS(DESCRIBE(NULL, "two\nlines", NULL, NULL)), THOLE_EUSAGE);
	title_is(rt, "stored");
	/* Nobody hears of it, and it is done all the same. */
	memset(&got, 0, sizeof(got));
	GOOD(DESCRIBE(NULL, "unheard", NULL, &reading));
	thole_reading_free(reading);
	GOOD(thole_runtime_run(rt, &error));
	assert_int_equal(got.ended, 0);
	title_is(rt, "unheard");
	/* It can be opened again: nobody has it. */
	GOOD(thole_session_open(rt, a, "s", &s, &error));
	GOOD(thole_session_run(s, "again", &error));
	thole_agent_free(a);
	GOOD(thole_runtime_free(rt));
	scripted_free(model);
}

static void described(void **state)
{
	(void)state;
	assert_int_equal(unlink(url + strlen("sqlite:")), 0);
	described_at(url);
	described_at("memory:");
}

static struct th_buf exported;

static int on_export(void *ctx, const char *line, size_t len)
{
	(void)ctx;
	th_buf_add_mem(&exported, line, len);
	th_buf_add_char(&exported, '\n');
	return 0;
}

static void imported(void **state)
{
	struct scripted *model = scripted_new(waits_for_a_person, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *a = agent_of("a");
	struct thole_session *s = NULL;

	(void)state;
	th_buf_init(&exported, TH_MIB);
	GOOD(thole_session_new(rt, a, "s", &s, &error));
	GOOD(thole_session_run(s, "hello", &error));
	GOOD(thole_runtime_export(rt, "s", on_export, NULL, &error));
	assert_int_equal(ENDS(thole_runtime_import_start(rt, exported.ptr, exported.len, TELL)),
			 THOLE_EEXIST);
	assert_int_equal(got.lines, 0);
	GOOD(thole_runtime_free(rt));
	assert_int_equal(unlink(url + strlen("sqlite:")), 0);
	rt = runtime_at(scripted_url(model), url);
	assert_int_equal(ENDS(thole_runtime_import_start(rt, exported.ptr, exported.len, TELL)),
			 THOLE_OK);
	assert_string_equal(got.line, "s");
	GOOD(thole_session_open(rt, a, "s", &s, &error));
	GOOD(thole_session_run(s, "again", &error));
	assert_string_equal(thole_session_output(s), "Hello to you.");
	BAD(THOLE_EUSAGE, thole_runtime_import_start(rt, "", 0, TELL));
	thole_agent_free(a);
	GOOD(thole_runtime_free(rt));
	th_buf_deinit(&exported);
	scripted_free(model);
}

/* ---- beginning and opening ---- */

/* A name that the store has, said to be fresh: the store does not take it. */
static void fresh_or_not(void **state)
{
	const char *const options[] = { "id", "s", "fresh", "yes", NULL };
	const char *const odd[] = { "id", "s", "fresh", "perhaps", NULL };
	struct scripted *model = scripted_new(waits_for_a_person, NULL);
	struct thole_runtime *rt;
	struct thole_agent *a = agent_of("a");
	struct thole_session *s = NULL;

	(void)state;
	assert_int_equal(unlink(url + strlen("sqlite:")), 0);
	rt = runtime_at(scripted_url(model), url);
	GOOD(thole_session_new_with(rt, a, options, &s, &error));
	GOOD(thole_session_run(s, "hello", &error));
	thole_session_free(s);
	GOOD(thole_runtime_run(rt, &error));
	BAD(THOLE_EUSAGE, thole_session_new_with(rt, a, odd, &s, &error));
	GOOD(thole_session_new_with(rt, a, options, &s, &error));
	(void)thole_session_run(s, "mine now", &error);
	assert_int_equal(thole_session_state(s), THOLE_LOST);
	thole_session_free(s);
	GOOD(thole_session_open(rt, a, "s", &s, &error)); /* the first one is as it was */
	assert_int_equal(thole_session_state(s), THOLE_FINISHED);
	thole_agent_free(a);
	GOOD(thole_runtime_free(rt));
	scripted_free(model);
}

static void note_open(void *ctx, struct thole_session *s, const struct thole_note *note)
{
	assert_int_equal(thole_note_kind(note), THOLE_NOTE_OPEN);
	assert_int_not_equal(thole_session_state(s), THOLE_LOADING);
	snprintf(ctx, 32, "%s", thole_note_name(note));
}

/* A fork of one that runs is open, and nothing happens in it: whoever waits hears so. */
static void open_is_told(void **state)
{
	struct scripted *model = scripted_new(waits_for_a_person, NULL);
	struct thole_runtime *rt;
	struct thole_agent *a = agent_of("a");
	struct thole_session *s = NULL;
	char said[32] = "";

	(void)state;
	assert_int_equal(unlink(url + strlen("sqlite:")), 0);
	rt = runtime_at(scripted_url(model), url);
	GOOD(thole_session_new(rt, a, "s", &s, &error));
	GOOD(thole_session_run(s, "hello", &error));
	assert_int_equal(ENDS(thole_runtime_fork_start(rt, "s", 2, NULL, "f", TELL)), THOLE_OK);
	GOOD(thole_session_open_start(rt, a, "f", &s, &error));
	GOOD(thole_session_watch(s, THOLE_NOTE_OPEN, note_open, said, &error));
	while (!said[0])
		GOOD(thole_runtime_dispatch(rt, &error));
	assert_string_equal(said, "running");
	thole_agent_free(a);
	GOOD(thole_runtime_free(rt));
	scripted_free(model);
}

static void misused(void **state)
{
	static char too_long[TH_SESSION_ID_MAX + 2], no_user[TH_USER_MAX + 2];
	static char no_title[TH_PATH_LEN_MAX + 2];
	const char *const long_option[] = { "by", no_title, NULL };
	struct scripted *model = scripted_new(waits_for_a_person, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");

	(void)state;
	memset(too_long, 'x', sizeof(too_long) - 1);
	memset(no_user, 'x', sizeof(no_user) - 1);
	memset(no_title, 'x', sizeof(no_title) - 1);
	BAD(THOLE_EUSAGE, thole_runtime_session_start(NULL, "s", NULL, TELL));
	BAD(THOLE_ELIMIT, thole_runtime_session_start(rt, too_long, NULL, TELL));
	BAD(THOLE_ELIMIT, thole_runtime_session_start(rt, "s", no_user, TELL));
	BAD(THOLE_EUSAGE,
	    thole_runtime_session_start(rt, "s", NULL, NULL, on_done, &got, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_waiting_start(NULL, NULL, NULL, 0, TELL));
	BAD(THOLE_ELIMIT, thole_runtime_waiting_start(rt, no_user, NULL, 0, TELL));
	BAD(THOLE_EUSAGE, thole_runtime_waiting_start(rt, NULL, "no cursor", 0, TELL));
	BAD(THOLE_EUSAGE, thole_runtime_usage_start(NULL, NULL, TELL));
	BAD(THOLE_ELIMIT, thole_runtime_usage_start(rt, long_option, TELL));
	BAD(THOLE_EUSAGE, thole_runtime_items_start(NULL, "s", 0, 0, 0, TELL));
	BAD(THOLE_ELIMIT, thole_runtime_items_start(rt, too_long, 0, 0, 0, TELL));
	BAD(THOLE_EUSAGE, thole_runtime_numbered_items_start(NULL, "s", 0, TELL));
	BAD(THOLE_ELIMIT, thole_runtime_numbered_items_start(rt, too_long, 0, TELL));
	BAD(THOLE_EUSAGE, thole_runtime_describe_start(NULL, "s", NULL, "t", NULL, NULL, on_done,
						       &got, NULL, &error));
	BAD(THOLE_ELIMIT, thole_runtime_describe_start(rt, too_long, NULL, "t", NULL, NULL, on_done,
						       &got, NULL, &error));
	BAD(THOLE_EUSAGE,
	    thole_runtime_describe_start(rt, "s", NULL, "t", NULL, NULL, NULL, &got, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_import_start(NULL, "x", 1, TELL));
	GOOD(thole_runtime_free(rt));
	scripted_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines),        cmocka_unit_test(described),
		cmocka_unit_test(imported),     cmocka_unit_test(fresh_or_not),
		cmocka_unit_test(open_is_told), cmocka_unit_test(misused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
