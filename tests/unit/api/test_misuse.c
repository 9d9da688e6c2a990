/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every public function with NULL, empty, too long and out of order input: an ordinary error, or
 * for a getter nothing, and what was there before is as it was.  tests/house looks that none is
 * left out.
 */
#include "rig.h"

#include <pthread.h>

#include "base/limits.h"

static char *long_text(size_t len)
{
	char *text = malloc(len + 1);

	assert_non_null(text);
	memset(text, 'x', len);
	text[len] = '\0';
	return text;
}

#define MIB TH_MIB

static const char bad_utf8[] = "\xff\xfe";

static void calls_kept(void *ctx, const char *request, int nth, struct th_buf *items)
{
	(void)ctx;
	(void)nth;
	if (strstr(request, "\"kept\"") && scripted_count(request, "function_call_output") == 0)
		scripted_call(items, "c1", "kept", "{\"text\":\"a\\u0000b\",\"n\":1.5}");
	else
		scripted_say(items, "Hello.");
}

static void keep_call(void *ctx, struct thole_call *call)
{
	*(struct thole_call **)ctx = call;
}

static void no_call(void *ctx, struct thole_call *call)
{
	(void)ctx;
	(void)call;
}

static void no_note(void *ctx, struct thole_session *s, const struct thole_note *note)
{
	(void)ctx;
	(void)s;
	(void)note;
}

static int no_line(void *ctx, const char *line, size_t len)
{
	(void)ctx;
	(void)line;
	(void)len;
	return 0;
}

static void names(void **state)
{
	(void)state;
	assert_string_equal(thole_code_name(THOLE_OK), "ok");
	assert_string_equal(thole_code_name(THOLE_EDIVERGED), "diverged");
	assert_string_equal(thole_code_name(THOLE_EPLACE), "place");
	assert_string_equal(thole_code_name(THOLE_ESETUP), "setup");
	assert_string_equal(thole_code_name(-19), "unknown");
	assert_string_equal(thole_code_name(1), "unknown");
	assert_string_equal(thole_state_name(THOLE_IDLE), "idle");
	assert_string_equal(thole_state_name(THOLE_LOST), "lost");
	assert_string_equal(thole_state_name(THOLE_LOST + 1), "unknown");
	assert_string_equal(thole_state_name(-1), "unknown");
	assert_true(strlen(thole_version()) > 0);
	thole_free(NULL);
}

static void runtimes(void **state)
{
	struct thole_runtime *rt = NULL;
	char *huge = long_text(5000), *name = long_text(129), *text = NULL;
	const char *const unknown[] = { "stor", "memory:", NULL };
	const char *const no_value[] = { "store", NULL };
	const char *const empty[] = { "store", "", NULL };
	const char *const too_long[] = { "store", huge, NULL };
	const char *const no_text[] = { "store", bad_utf8, NULL };
	const char *const no_scheme[] = { "store", "nowhere", NULL };
	const char *const no_url[] = { "store", "memory:", "base_url", "ftp://x", NULL };
	const char *const no_sandbox[] = { "store", "memory:", "sandbox", "some", NULL };
	const char *const no_file[] = { "store", "memory:", "config", "/nonexistent/c", NULL };
	const char *const no_key[] = { "store", "memory:", "api_key_file", "/nonexistent/k", NULL };
	const char *const no_models[] = { "store", "memory:", "models", "/nonexistent/m", NULL };
	const char *const good[] = { "store", "memory:", NULL };

	(void)state;
	BAD(THOLE_EUSAGE, thole_runtime_new(unknown, &rt, &error));
	assert_non_null(strstr(error.text, "did you mean \"store\""));
	BAD(THOLE_EUSAGE, thole_runtime_new(no_value, &rt, &error));
	BAD(THOLE_EUSAGE, thole_runtime_new(empty, &rt, &error));
	BAD(THOLE_ELIMIT, thole_runtime_new(too_long, &rt, &error));
	BAD(THOLE_EUSAGE, thole_runtime_new(no_text, &rt, &error));
	BAD(THOLE_EUSAGE, thole_runtime_new(no_scheme, &rt, &error));
	BAD(THOLE_EUSAGE, thole_runtime_new(no_url, &rt, &error));
	BAD(THOLE_EUSAGE, thole_runtime_new(no_sandbox, &rt, &error));
	assert_true(thole_runtime_new(no_file, &rt, &error) < 0);
	assert_true(thole_runtime_new(no_key, &rt, &error) < 0);
	assert_true(thole_runtime_new(no_models, &rt, &error) < 0);
	BAD(THOLE_EUSAGE, thole_runtime_new(good, NULL, &error));
	assert_int_equal(thole_runtime_new(unknown, &rt, NULL), THOLE_EUSAGE);
	assert_null(rt);
	free(huge);

	assert_int_equal(thole_runtime_free(NULL), THOLE_OK);
	assert_int_equal(thole_runtime_fd(NULL), -1);
	assert_int_equal(thole_runtime_timeout_ms(NULL), -1);
	assert_int_equal(thole_runtime_sessions(NULL), 0);
	thole_runtime_stop(NULL);
	BAD(THOLE_EUSAGE, thole_runtime_dispatch(NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_run(NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_list(NULL, NULL, 0, &text, &error));
	BAD(THOLE_EUSAGE, thole_runtime_log(NULL, "a", 0, no_line, NULL, &error));

	rt = runtime_at("http://127.0.0.1:9", "memory:");
	BAD(THOLE_EUSAGE, thole_runtime_list(rt, NULL, 0, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_list(rt, "sleeping", 0, &text, &error));
	BAD(THOLE_EUSAGE, thole_runtime_list(rt, "", 0, &text, &error));
	GOOD(thole_runtime_list(rt, NULL, SIZE_MAX, &text, &error));
	assert_string_equal(text, "[]");
	thole_free(text);
	BAD(THOLE_EUSAGE, thole_runtime_log(rt, NULL, 0, no_line, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_log(rt, "", 0, no_line, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_log(rt, "a", 0, NULL, NULL, &error));
	BAD(THOLE_ENOENT, thole_runtime_log(rt, "a", UINT64_MAX, no_line, NULL, &error));
	BAD(THOLE_ELIMIT, thole_runtime_log(rt, name, 0, no_line, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_list(rt, name, 0, &text, &error)); /* no such state */
	free(name);
	/* Nothing to do: both return at once. */
	thole_runtime_stop(rt);
	GOOD(thole_runtime_run(rt, &error));
	GOOD(thole_runtime_run(rt, &error));
	GOOD(thole_runtime_dispatch(rt, &error));
	GOOD(thole_runtime_free(rt));
}

static void *from_elsewhere(void *ctx)
{
	struct thole_runtime *rt = ctx;
	struct thole_session *s = NULL;
	struct thole_agent *a = NULL;
	struct thole_error e;

	if (thole_agent_new("a", &a, NULL) ||
	    thole_session_new(rt, a, NULL, &s, &e) != THOLE_EUSAGE || !strstr(e.text, "thread") ||
	    thole_runtime_free(rt) != THOLE_EUSAGE)
		abort();
	thole_agent_free(a);
	return NULL;
}

static void another_thread(void **state)
{
	struct thole_runtime *rt = runtime_at("http://127.0.0.1:9", "memory:");
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, from_elsewhere, rt), 0);
	pthread_join(thread, NULL);
	GOOD(thole_runtime_free(rt));
}

static void agents(void **state)
{
	struct thole_agent *a = NULL;
	char *huge = long_text(2 * MIB), *name = long_text(TH_AGENT_NAME_MAX + 1);

	(void)state;
	thole_agent_free(NULL);
	BAD(THOLE_EUSAGE, thole_agent_new(NULL, &a, &error));
	BAD(THOLE_EUSAGE, thole_agent_new("", &a, &error));
	BAD(THOLE_ELIMIT, thole_agent_new(name, &a, &error));
	BAD(THOLE_EUSAGE, thole_agent_new(bad_utf8, &a, &error));
	BAD(THOLE_EUSAGE, thole_agent_new("a", NULL, &error));
	BAD(THOLE_EUSAGE, thole_agent_load(NULL, &a, &error));
	BAD(THOLE_EUSAGE, thole_agent_load("", &a, &error));
	BAD(THOLE_ELIMIT, thole_agent_load(huge, &a, &error));
	BAD(THOLE_EUSAGE, thole_agent_load("x", NULL, &error));
	assert_true(thole_agent_load("/nonexistent/agent.yaml", &a, &error) < 0);
	BAD(THOLE_EUSAGE, thole_agent_parse(NULL, "x", &a, &error));
	BAD(THOLE_ELIMIT, thole_agent_parse(huge, "x", &a, &error));
	BAD(THOLE_EUSAGE, thole_agent_parse("name: x", bad_utf8, &a, &error));
	BAD(THOLE_EUSAGE, thole_agent_parse("name: x", "x", NULL, &error));
	BAD(THOLE_EUSAGE, thole_agent_parse("name: x\nnmae: y", "mine.yaml", &a, &error));
	assert_non_null(strstr(error.text, "mine.yaml:2"));
	assert_null(a);
	BAD(THOLE_EUSAGE, thole_agent_parse("", NULL, &a, &error));
	GOOD(thole_agent_parse("name: x", NULL, &a, &error));
	thole_agent_free(a);

	name[TH_AGENT_NAME_MAX] = '\0';
	GOOD(thole_agent_new(name, &a, &error));
	thole_agent_free(a);

	a = agent_of("a");
	BAD(THOLE_EUSAGE, thole_agent_set(NULL, "instructions", "x", &error));
	BAD(THOLE_EUSAGE, thole_agent_set(a, NULL, "x", &error));
	BAD(THOLE_EUSAGE, thole_agent_set(a, "", "x", &error));
	BAD(THOLE_EUSAGE, thole_agent_set(a, "instructions", NULL, &error));
	BAD(THOLE_ELIMIT, thole_agent_set(a, "instructions", huge, &error));
	BAD(THOLE_EUSAGE, thole_agent_set(a, "instructions", bad_utf8, &error));
	BAD(THOLE_EUSAGE, thole_agent_set(a, "instruction", "x", &error));
	BAD(THOLE_EUSAGE, thole_agent_set(a, "limits", "x", &error));
	BAD(THOLE_EUSAGE, thole_agent_set(a, "model", "", &error));
	BAD(THOLE_EUSAGE, thole_agent_set(a, "net", "everything", &error));
	GOOD(thole_agent_set(a, "net", "host", &error));
	BAD(THOLE_EUSAGE, thole_agent_set_json(NULL, "limits", "{}", &error));
	BAD(THOLE_EUSAGE, thole_agent_set_json(a, NULL, "{}", &error));
	BAD(THOLE_EUSAGE, thole_agent_set_json(a, "limits", NULL, &error));
	BAD(THOLE_EUSAGE, thole_agent_set_json(a, "limits", "", &error));
	BAD(THOLE_EPROTO, thole_agent_set_json(a, "limits", "{", &error));
	BAD(THOLE_EPROTO, thole_agent_set_json(a, "limits", "{},\"name\":\"b\"", &error));
	BAD(THOLE_EUSAGE, thole_agent_set_json(a, "limits", "{\"turns\":\"many\"}", &error));
	assert_non_null(strstr(error.text, "limits.turns"));
	BAD(THOLE_EUSAGE, thole_agent_set_json(a, "limits", "{\"turns\":-1}", &error));
	BAD(THOLE_ELIMIT, thole_agent_set_json(a, "limits", huge, &error));
	BAD(THOLE_EUSAGE, thole_agent_lower(NULL, "{}", &error));
	BAD(THOLE_EUSAGE, thole_agent_lower(a, NULL, &error));
	BAD(THOLE_EPROTO, thole_agent_lower(a, "{", &error));
	BAD(THOLE_EUSAGE, thole_agent_lower(a, "[]", &error));
	BAD(THOLE_EUSAGE, thole_agent_lower(a, "{\"turns\":0}", &error));
	assert_non_null(strstr(error.text, "limits"));
	BAD(THOLE_ELIMIT, thole_agent_lower(a, huge, &error));
	GOOD(thole_agent_lower(a, "{\"turns\":3}", &error));
	/* What is set over and over fills its memory (TH_AGENT_MEMORY_MAX): an error, and the last
	 * one counts. */
	huge[MIB / 2] = '\0';
	for (int i = 0; i < 100; i++)
		if (thole_agent_set(a, "instructions", huge, &error))
			break;
	assert_int_equal(error.code, THOLE_ELIMIT);
	thole_agent_free(a);
	free(huge);
	free(name);
}

static void tools(void **state)
{
	struct thole_agent *a = agent_of("a");
	struct thole_tool *t = NULL;
	char *name = long_text(TH_TOOL_NAME_MAX + 1), *huge = long_text(2 * MIB);
	char numbered[16];

	(void)state;
	BAD(THOLE_EUSAGE, thole_agent_tool(NULL, "t", no_call, NULL, &t, &error));
	BAD(THOLE_EUSAGE, thole_agent_tool(a, NULL, no_call, NULL, &t, &error));
	BAD(THOLE_EUSAGE, thole_agent_tool(a, "", no_call, NULL, &t, &error));
	BAD(THOLE_ELIMIT, thole_agent_tool(a, name, no_call, NULL, &t, &error));
	BAD(THOLE_EUSAGE, thole_agent_tool(a, "a tool", no_call, NULL, &t, &error));
	BAD(THOLE_EUSAGE, thole_agent_tool(a, "computer", no_call, NULL, &t, &error));
	BAD(THOLE_EUSAGE, thole_agent_tool(a, "none", no_call, NULL, &t, &error));
	BAD(THOLE_EUSAGE, thole_agent_tool(a, "t", NULL, NULL, &t, &error));
	name[TH_TOOL_NAME_MAX] = '\0';
	GOOD(thole_agent_tool(a, name, no_call, NULL, NULL, &error));
	BAD(THOLE_EEXIST, thole_agent_tool(a, name, no_call, NULL, NULL, &error));
	assert_null(t);
	GOOD(thole_agent_tool(a, "t", no_call, NULL, &t, &error));
	BAD(THOLE_EUSAGE, thole_tool_describe(NULL, "x", &error));
	BAD(THOLE_EUSAGE, thole_tool_describe(t, NULL, &error));
	BAD(THOLE_ELIMIT, thole_tool_describe(t, huge, &error));
	BAD(THOLE_EUSAGE, thole_tool_schema(NULL, "{}", false, &error));
	BAD(THOLE_EUSAGE, thole_tool_schema(t, NULL, false, &error));
	BAD(THOLE_EUSAGE, thole_tool_schema(t, "", false, &error));
	BAD(THOLE_EPROTO, thole_tool_schema(t, "{", false, &error));
	BAD(THOLE_EUSAGE, thole_tool_schema(t, "[]", false, &error));
	BAD(THOLE_EUSAGE, thole_tool_schema(t, "{}", false, &error));
	BAD(THOLE_ELIMIT, thole_tool_schema(t, huge, false, &error));
	BAD(THOLE_EUSAGE, thole_tool_text(NULL, NULL, &error));
	BAD(THOLE_EUSAGE, thole_tool_text(t, "", &error));
	BAD(THOLE_EPROTO, thole_tool_text(t, "{", &error));
	BAD(THOLE_EUSAGE, thole_tool_text(t, "{}", &error));
	BAD(THOLE_EUSAGE, thole_tool_text(t, "\"words\"", &error));
	BAD(THOLE_ELIMIT, thole_tool_text(t, huge, &error));
	GOOD(thole_tool_text(t, "\"text\"", &error));
	BAD(THOLE_EUSAGE, thole_tool_class(NULL, THOLE_CLASS_READ, &error));
	BAD(THOLE_EUSAGE, thole_tool_class(t, (enum thole_class)0, &error));
	BAD(THOLE_EUSAGE, thole_tool_class(t, (enum thole_class)5, &error));
	BAD(THOLE_EUSAGE, thole_tool_ask(NULL, true, &error));
	BAD(THOLE_EUSAGE, thole_tool_timeout(NULL, 1, &error));
	BAD(THOLE_ELIMIT, thole_tool_timeout(t, -1, &error));
	BAD(THOLE_ELIMIT, thole_tool_timeout(t, TH_CALL_TIMEOUT_MAX_MS + 1, &error));
	GOOD(thole_tool_timeout(t, TH_CALL_TIMEOUT_MAX_MS, &error));
	BAD(THOLE_EUSAGE, thole_tool_on_cancel(NULL, no_call, &error));
	GOOD(thole_tool_on_cancel(t, NULL, &error));
	for (int i = 2; i < TH_AGENT_TOOLS_MAX; i++) {
		snprintf(numbered, sizeof(numbered), "t%d", i);
		GOOD(thole_agent_tool(a, numbered, no_call, NULL, NULL, &error));
	}
	BAD(THOLE_ELIMIT, thole_agent_tool(a, "one_more", no_call, NULL, NULL, &error));
	BAD(THOLE_EUSAGE, thole_agent_computer(NULL, 10, 10, no_call, no_call, NULL, &error));
	BAD(THOLE_ELIMIT, thole_agent_computer(a, 0, 10, no_call, no_call, NULL, &error));
	BAD(THOLE_ELIMIT,
	    thole_agent_computer(a, 10, TH_CALL_SIDE_MAX + 1, no_call, no_call, NULL, &error));
	BAD(THOLE_ELIMIT, thole_agent_computer(a, -1, 10, no_call, no_call, NULL, &error));
	BAD(THOLE_EUSAGE, thole_agent_computer(a, 10, 10, NULL, no_call, NULL, &error));
	BAD(THOLE_EUSAGE, thole_agent_computer(a, 10, 10, no_call, NULL, NULL, &error));
	GOOD(thole_agent_computer(a, TH_CALL_SIDE_MAX, 1, no_call, no_call, NULL, &error));
	thole_agent_free(a);
	free(name);
	free(huge);
}

static void beginning_sessions(void **state)
{
	struct thole_runtime *rt = runtime_at("http://127.0.0.1:9", "memory:");
	struct thole_agent *a = agent_of("a"), *b = agent_of("b");
	struct thole_session *s = NULL, *other = NULL;
	char *id = long_text(129);

	(void)state;
	BAD(THOLE_EUSAGE, thole_session_new(NULL, a, "s", &s, &error));
	BAD(THOLE_EUSAGE, thole_session_new(rt, NULL, "s", &s, &error));
	BAD(THOLE_EUSAGE, thole_session_new(rt, a, "", &s, &error));
	BAD(THOLE_ELIMIT, thole_session_new(rt, a, id, &s, &error));
	BAD(THOLE_EUSAGE, thole_session_new(rt, a, bad_utf8, &s, &error));
	BAD(THOLE_EUSAGE, thole_session_new(rt, a, "s", NULL, &error));
	GOOD(thole_agent_set(b, "model", "no such model, I hope", &error));
	BAD(THOLE_EUSAGE, thole_session_new(rt, b, "s", &s, &error));
	assert_null(strstr(error.text, "sk-secret"));
	BAD(THOLE_EPROTO, thole_agent_set(b, "model", "gpt-5.4", &error));
	assert_null(s);
	id[128] = '\0';
	GOOD(thole_session_new(rt, a, id, &s, &error));
	BAD(THOLE_EEXIST, thole_session_new(rt, a, id, &other, &error));
	id[128] = 'x';
	BAD(THOLE_ELIMIT, thole_session_open(rt, a, id, &other, &error));
	BAD(THOLE_ELIMIT, thole_session_fork(rt, a, id, 0, "t", &other, &error));
	BAD(THOLE_ELIMIT, thole_session_fork(rt, a, "s", 0, id, &other, &error));
	id[128] = '\0';
	BAD(THOLE_EPROTO, thole_agent_set(a, "instructions", "too late", &error));
	BAD(THOLE_EPROTO, thole_agent_set_json(a, "limits", "{}", &error));
	BAD(THOLE_EPROTO, thole_agent_tool(a, "t", no_call, NULL, NULL, &error));
	BAD(THOLE_EPROTO, thole_agent_computer(a, 1, 1, no_call, no_call, NULL, &error));

	BAD(THOLE_EUSAGE, thole_session_open(NULL, a, "s", &other, &error));
	BAD(THOLE_EUSAGE, thole_session_open(rt, a, NULL, &other, &error));
	BAD(THOLE_EUSAGE, thole_session_open(rt, a, "", &other, &error));
	BAD(THOLE_EUSAGE, thole_session_open(rt, a, "s", NULL, &error));
	BAD(THOLE_ENOENT, thole_session_open(rt, a, "s", &other, &error));
	BAD(THOLE_EUSAGE, thole_session_fork(NULL, a, "s", 0, "t", &other, &error));
	BAD(THOLE_EUSAGE, thole_session_fork(rt, a, NULL, 0, "t", &other, &error));
	BAD(THOLE_EUSAGE, thole_session_fork(rt, a, "s", 0, "", &other, &error));
	BAD(THOLE_EUSAGE, thole_session_fork(rt, a, "s", 0, "t", NULL, &error));
	BAD(THOLE_ENOENT, thole_session_fork(rt, a, "s", 0, "t", &other, &error));
	GOOD(thole_session_wait(s, -1, &error));
	assert_true(thole_session_fork(rt, a, id, 1000, "t", &other, &error) < 0);
	assert_null(other);
	thole_session_free(NULL);
	GOOD(thole_runtime_free(rt));
	thole_agent_free(a);
	thole_agent_free(b);
	free(id);
}

static void no_session(void **state)
{
	char *text = NULL;

	(void)state;
	BAD(THOLE_EUSAGE, thole_session_message(NULL, "x", &error));
	BAD(THOLE_EUSAGE, thole_session_resume(NULL, &error));
	BAD(THOLE_EUSAGE, thole_session_pause(NULL, "x", &error));
	BAD(THOLE_EUSAGE, thole_session_condense(NULL, "x", &error));
	BAD(THOLE_EUSAGE, thole_session_more(NULL, "{\"turns\":1}", "x", &error));
	BAD(THOLE_EUSAGE, thole_session_plan(NULL, "x", "y", &error));
	BAD(THOLE_EUSAGE, thole_session_act(NULL, "x", "y", &error));
	BAD(THOLE_EUSAGE, thole_session_goal(NULL, "x", 1, "y", &error));
	BAD(THOLE_EUSAGE, thole_session_goal_end(NULL, "y", &error));
	assert_int_equal(thole_session_goal_state(NULL), THOLE_GOAL_NONE);
	BAD(THOLE_EUSAGE, thole_session_cancel(NULL, THOLE_NOW, &error));
	BAD(THOLE_EUSAGE, thole_session_approve(NULL, "c", "by", &error));
	BAD(THOLE_EUSAGE, thole_session_answer(NULL, "c", "by", "yes", &error));
	BAD(THOLE_EUSAGE, thole_session_reject(NULL, "c", "by", "no", &error));
	BAD(THOLE_EUSAGE, thole_session_settle(NULL, "c", THOLE_DONE, "by", "x", &error));
	BAD(THOLE_EUSAGE, thole_session_wait(NULL, 0, &error));
	BAD(THOLE_EUSAGE, thole_session_run(NULL, "x", &error));
	BAD(THOLE_EUSAGE, thole_session_json(NULL, &text, &error));
	BAD(THOLE_EUSAGE, thole_session_watch(NULL, 1, no_note, NULL, &error));
	assert_null(thole_session_id(NULL));
	assert_int_equal(thole_session_state(NULL), THOLE_LOADING);
	assert_null(thole_session_output(NULL));
	assert_null(thole_session_reason(NULL));
	assert_null(thole_session_waits_for(NULL));
	assert_null(thole_session_data(NULL));
	thole_session_set_data(NULL, &text);
	assert_int_equal(thole_note_kind(NULL), 0);
	assert_null(thole_note_name(NULL));
	assert_null(thole_note_text(NULL));
	assert_null(thole_note_json(NULL));
	assert_null(thole_note_data(NULL));
	assert_int_equal(thole_note_ts_ms(NULL), 0);
	assert_null(thole_note_id(NULL));
	assert_int_equal(thole_note_seq(NULL), 0);
}

static void sessions(void **state)
{
	struct scripted *model = scripted_new(calls_kept, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *a = agent_of("a");
	struct thole_session *s = NULL;
	char *huge = long_text(TH_MESSAGE_MAX + 1);

	(void)state;
	GOOD(thole_session_new(rt, a, NULL, &s, &error));
	BAD(THOLE_EUSAGE, thole_session_message(s, NULL, &error));
	BAD(THOLE_EUSAGE, thole_session_message(s, "", &error));
	BAD(THOLE_ELIMIT, thole_session_message(s, huge, &error));
	BAD(THOLE_EUSAGE, thole_session_message(s, bad_utf8, &error));
	BAD(THOLE_EUSAGE, thole_session_run(s, "", &error));
	BAD(THOLE_EUSAGE, thole_session_watch(s, 1 << 20, no_note, NULL, &error));
	GOOD(thole_session_watch(s, THOLE_NOTE_REST, NULL, NULL, &error));
	BAD(THOLE_EUSAGE, thole_session_json(s, NULL, &error));
	BAD(THOLE_ENOENT, thole_session_approve(s, NULL, NULL, &error));
	BAD(THOLE_ENOENT, thole_session_approve(s, "", "", &error));
	BAD(THOLE_ELIMIT, thole_session_approve(s, huge, NULL, &error));
	BAD(THOLE_ELIMIT, thole_session_approve(s, "c", huge, &error));
	BAD(THOLE_EUSAGE, thole_session_approve(s, bad_utf8, NULL, &error));
	BAD(THOLE_ENOENT, thole_session_answer(s, NULL, NULL, "yes", &error));
	BAD(THOLE_EUSAGE, thole_session_answer(s, NULL, NULL, NULL, &error));
	BAD(THOLE_EUSAGE, thole_session_answer(s, NULL, NULL, "", &error));
	BAD(THOLE_ELIMIT, thole_session_answer(s, NULL, NULL, huge, &error));
	BAD(THOLE_ENOENT, thole_session_reject(s, NULL, NULL, NULL, &error));
	BAD(THOLE_ELIMIT, thole_session_reject(s, NULL, NULL, huge, &error));
	assert_true(thole_session_settle(s, NULL, THOLE_DONE, NULL, NULL, &error) < 0);
	BAD(THOLE_EUSAGE, thole_session_settle(s, NULL, (enum thole_outcome)3, NULL, NULL, &error));
	BAD(THOLE_EUSAGE, thole_session_cancel(s, (enum thole_when)2, &error));
	BAD(THOLE_ELIMIT, thole_session_pause(s, huge, &error));
	BAD(THOLE_ELIMIT, thole_session_condense(s, huge, &error));
	BAD(THOLE_ELIMIT, thole_session_more(s, huge, NULL, &error));
	BAD(THOLE_EUSAGE, thole_session_more(s, "{\"turns\":", NULL, &error));
	BAD(THOLE_EUSAGE, thole_session_more(s, "{\"turns\":0}", NULL, &error));
	BAD(THOLE_EUSAGE, thole_session_more(s, "{\"tokens\":5}", NULL, &error));
	BAD(THOLE_EUSAGE, thole_session_more(s, "{\"model_attempts\":5}", NULL, &error));
	BAD(THOLE_ELIMIT, thole_session_plan(s, huge, NULL, &error));
	BAD(THOLE_EUSAGE, thole_session_plan(s, NULL, NULL, &error));
	BAD(THOLE_ELIMIT, thole_session_act(s, huge, NULL, &error));
	BAD(THOLE_EPROTO, thole_session_act(s, NULL, NULL, &error));
	BAD(THOLE_ELIMIT, thole_session_goal(s, huge, 1, NULL, &error));
	BAD(THOLE_EUSAGE, thole_session_goal(s, "", 1, NULL, &error));
	BAD(THOLE_EUSAGE, thole_session_goal(s, "x", -1, NULL, &error));
	BAD(THOLE_EUSAGE, thole_session_goal(s, "x", 101, NULL, &error));
	BAD(THOLE_ENOENT, thole_session_goal(s, NULL, 0, NULL, &error));
	BAD(THOLE_ELIMIT, thole_session_goal_end(s, huge, &error));
	BAD(THOLE_EPROTO, thole_session_goal_end(s, NULL, &error));
	assert_int_equal(thole_session_goal_state(s), THOLE_GOAL_NONE);
	BAD(THOLE_ELIMIT, thole_session_run(s, huge, &error));
	BAD(THOLE_ELIMIT, thole_session_approve_always(s, huge, NULL, &error));
	BAD(THOLE_ELIMIT, thole_session_approve_always(s, NULL, huge, &error));
	BAD(THOLE_ELIMIT, thole_session_reject_always(s, NULL, NULL, huge, &error));
	BAD(THOLE_ELIMIT, thole_session_settle(s, huge, THOLE_DONE, NULL, NULL, &error));
	BAD(THOLE_ELIMIT, thole_session_settle(s, NULL, THOLE_DONE, NULL, huge, &error));
	thole_session_set_data(s, &s);
	assert_ptr_equal(thole_session_data(s), &s);
	/* Nothing was asked: nothing goes on. */
	assert_true(thole_session_resume(s, NULL) <= 0);
	GOOD(thole_session_run(s, "hello", &error));
	assert_int_equal(thole_session_state(s), THOLE_FINISHED);
	/* It is over. */
	assert_true(thole_session_pause(s, NULL, NULL) < 0);
	assert_true(thole_session_cancel(s, THOLE_NOW, NULL) < 0);
	assert_true(thole_session_cancel(s, THOLE_AFTER_TURN, NULL) < 0);
	GOOD(thole_session_resume(s, &error));
	assert_int_equal(thole_session_state(s), THOLE_FINISHED);
	GOOD(thole_runtime_free(rt));
	thole_agent_free(a);
	free(huge);
	scripted_free(model);
}

static void calls(void **state)
{
	struct scripted *model = scripted_new(calls_kept, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *a = agent_of("a");
	struct thole_session *s = NULL;
	struct thole_call *call = NULL;
	char *huge = long_text(TH_CALL_PICTURE_MAX + 1);
	char pixels[4 * TH_CALL_SIDE_MAX] = { 0 };

	(void)state;
	assert_null(thole_call_tool(NULL));
	assert_null(thole_call_id(NULL));
	assert_null(thole_call_session_id(NULL));
	assert_null(thole_call_effect_id(NULL));
	assert_null(thole_call_arguments(NULL));
	assert_null(thole_call_string(NULL, "x"));
	assert_int_equal(thole_call_integer(NULL, "x", 3), 3);
	assert_true(thole_call_number(NULL, "x", 2.5) == 2.5);
	assert_true(thole_call_boolean(NULL, "x", true));
	assert_false(thole_call_cancelled(NULL));
	BAD(THOLE_EUSAGE, thole_call_done(NULL, "x", &error));
	BAD(THOLE_EUSAGE, thole_call_fail(NULL, "x", &error));
	BAD(THOLE_EUSAGE, thole_call_unknown(NULL, "x", &error));
	BAD(THOLE_EUSAGE, thole_call_png(NULL, huge, 8, &error));
	BAD(THOLE_EUSAGE, thole_call_pixels(NULL, pixels, 1, 1, 4, &error));

	GOOD(thole_agent_tool(a, "kept", keep_call, &call, NULL, &error));
	GOOD(thole_session_new(rt, a, NULL, &s, &error));
	GOOD(thole_session_message(s, "go", &error));
	while (!call)
		(void)thole_session_wait(s, 10, NULL);
	assert_null(thole_call_string(call, NULL));
	assert_null(thole_call_string(call, "text")); /* holds a NUL */
	assert_int_equal(thole_call_integer(call, "n", 4), 4);
	BAD(THOLE_ELIMIT, thole_call_done(call, huge, &error));
	BAD(THOLE_ELIMIT, thole_call_fail(call, huge, &error));
	huge[TH_CALL_ANSWER_MAX + 1] = '\0';
	BAD(THOLE_ELIMIT, thole_call_done(call, huge, &error));
	BAD(THOLE_EUSAGE, thole_call_fail(call, bad_utf8, &error));
	/* Fits as text, but not as JSON. */
	memset(huge, '\1', 2 * MIB);
	huge[2 * MIB] = '\0';
	BAD(THOLE_ELIMIT, thole_call_unknown(call, huge, &error));
	BAD(THOLE_EUSAGE, thole_call_png(call, NULL, 8, &error));
	BAD(THOLE_EUSAGE, thole_call_png(call, huge, 0, &error));
	BAD(THOLE_EUSAGE, thole_call_png(call, huge, 100, &error));
	BAD(THOLE_EUSAGE, thole_call_png(call, huge, TH_CALL_PICTURE_MAX, &error));
	BAD(THOLE_ELIMIT, thole_call_png(call, huge, TH_CALL_PICTURE_MAX + 1, &error));
	BAD(THOLE_EUSAGE, thole_call_pixels(call, NULL, 1, 1, 4, &error));
	BAD(THOLE_ELIMIT, thole_call_pixels(call, pixels, 0, 1, 4, &error));
	BAD(THOLE_ELIMIT, thole_call_pixels(call, pixels, 1, TH_CALL_SIDE_MAX + 1, 4, &error));
	BAD(THOLE_EUSAGE, thole_call_pixels(call, pixels, 1, 1, 3, &error));
	GOOD(thole_call_pixels(call, pixels, 1, TH_CALL_SIDE_MAX, 4, &error));
	for (int i = 1; i < TH_CALL_PICTURES_MAX; i++)
		GOOD(thole_call_pixels(call, pixels, 1, 1, 4, &error));
	BAD(THOLE_ELIMIT, thole_call_pixels(call, pixels, 1, 1, 4, &error));
	GOOD(thole_call_done(call, NULL, &error));
	GOOD(thole_session_wait(s, -1, &error));
	assert_int_equal(thole_session_state(s), THOLE_FINISHED);
	GOOD(thole_runtime_free(rt));
	thole_agent_free(a);
	free(huge);
	scripted_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),          cmocka_unit_test(runtimes),
		cmocka_unit_test(another_thread), cmocka_unit_test(agents),
		cmocka_unit_test(tools),          cmocka_unit_test(beginning_sessions),
		cmocka_unit_test(no_session),     cmocka_unit_test(sessions),
		cmocka_unit_test(calls),
	};

	return cmocka_run_group_tests(tests, away_from_home, NULL);
}
