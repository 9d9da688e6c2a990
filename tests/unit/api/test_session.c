/* SPDX-License-Identifier: Apache-2.0 */
/* What the C API does, against a scripted model. */
#include "base/json.h"
#include "base/limits.h"
#include "rig.h"

#include <poll.h>
#include <pthread.h>

/* ---- scripts ---- */

/* Calls `weather` once for each of two cities, then answers with what it was told. */
static void two_calls(void *ctx, const char *request, int nth, struct th_buf *items)
{
	(void)ctx;
	(void)nth;
	if (scripted_count(request, "function_call_output") == 0) {
		scripted_call(
		    items, "c1", "weather",
		    "{\"city\":\"Paris\",\"days\":3,\"wet\":true,\"a\":{\"b\":6},\"a.b\":5,"
		    "\"stay\":{\"nights\":2,\"at\":{\"floor\":4}}}");
		scripted_call(items, "c2", "weather", "{\"city\":\"Rome\",\"share\":0.5}");
	} else if (strstr(request, "sunny in Paris") && strstr(request, "sunny in Rome")) {
		scripted_say(items, "It is sunny in both.");
	} else {
		scripted_say(items, "I was told something else.");
	}
}

static char tool_slow[] = "slow", tool_kept[] = "kept", tool_look[] = "look",
	    tool_risky[] = "risky", tool_last[] = "last";

/* One call of `tool`, then the end. */
static void one_call(void *ctx, const char *request, int nth, struct th_buf *items)
{
	(void)nth;
	if (scripted_count(request, "function_call_output") == 0)
		scripted_call(items, "c1", ctx, "{}");
	else
		scripted_say(items, "Done.");
}

static void runs_a_command(void *ctx, const char *request, int nth, struct th_buf *items)
{
	(void)ctx;
	(void)nth;
	if (scripted_count(request, "function_call_output") == 0)
		scripted_call(items, "c1", "shell", "{\"command\":\"true\"}");
	else if (strstr(request,
			"/nowhere/thole, which runs commands and desktops, is not there: put"))
		scripted_say(items, "It was not started, and I was told why.");
	else
		scripted_say(items, request);
}

/* ---- tools ---- */

static void weather(void *ctx, struct thole_call *call)
{
	static const char *const nowhere[] = { "stay",   "stay.",       ".stay", "",
					       "days.x", "stay.x.days", "." };
	char text[64];

	++*(int *)ctx;
	assert_string_equal(thole_call_tool(call), "weather");
	assert_non_null(thole_call_effect_id(call));
	assert_null(thole_call_string(call, "days"));
	assert_null(thole_call_string(call, "nothing"));
	if (strcmp(thole_call_id(call), "c1") == 0) {
		assert_int_equal(thole_call_integer(call, "days", 0), 3);
		assert_true(thole_call_boolean(call, "wet", false));
		assert_int_equal(thole_call_integer(call, "city", 7), 7);
		/* Members of members; a name of its own that has a dot is found first. */
		assert_int_equal(thole_call_integer(call, "stay.nights", 0), 2);
		assert_int_equal(thole_call_integer(call, "stay.at.floor", 0), 4);
		assert_int_equal(thole_call_integer(call, "a.b", 0), 5);
		for (size_t i = 0; i < sizeof(nowhere) / sizeof(*nowhere); i++)
			assert_int_equal(thole_call_integer(call, nowhere[i], 7), 7);
	} else {
		assert_true(thole_call_number(call, "share", 0) == 0.5);
		assert_false(thole_call_boolean(call, "wet", false));
	}
	snprintf(text, sizeof(text), "sunny in %s", thole_call_string(call, "city"));
	GOOD(thole_call_done(call, text, &error));
}

struct later {
	pthread_t thread;
	struct thole_call *call;
};

static void *answer_late(void *ctx)
{
	struct later *l = ctx;

	if (thole_call_done(l->call, "from another thread", NULL))
		abort();
	return NULL;
}

static void on_thread(void *ctx, struct thole_call *call)
{
	struct later *l = ctx;

	l->call = call;
	assert_int_equal(pthread_create(&l->thread, NULL, answer_late, l), 0);
}

static void keep_call(void *ctx, struct thole_call *call)
{
	*(struct thole_call **)ctx = call;
}

static void count_call(void *ctx, struct thole_call *call)
{
	++*(int *)ctx;
	GOOD(thole_call_done(call, "ok", &error));
}

/* ---- tests ---- */

static void a_task_with_tools(void **state)
{
	struct scripted *model = scripted_new(two_calls, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *agent = agent_of("forecaster");
	struct thole_tool *tool = NULL;
	struct thole_session *s = NULL;
	char *json = NULL;
	int calls = 0;

	(void)state;
	GOOD(thole_agent_set(agent, "instructions", "Be brief.", &error));
	GOOD(thole_agent_tool(agent, "weather", weather, &calls, &tool, &error));
	GOOD(thole_tool_describe(tool, "The weather of a city", &error));
	GOOD(thole_tool_schema(
	    tool, "{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"}}}", false,
	    &error));
	GOOD(thole_tool_class(tool, THOLE_CLASS_READ, &error));
	GOOD(thole_session_new(rt, agent, NULL, &s, &error));
	assert_int_equal(strlen(thole_session_id(s)), 36);
	assert_int_equal(thole_session_state(s), THOLE_IDLE);
	assert_null(thole_session_output(s));
	thole_agent_free(agent); /* the session keeps it */
	GOOD(thole_session_run(s, "How is the weather?", &error));
	assert_int_equal(thole_session_state(s), THOLE_FINISHED);
	assert_string_equal(thole_session_output(s), "It is sunny in both.");
	assert_null(thole_session_reason(s));
	assert_int_equal(calls, 2);
	assert_int_equal(scripted_requests(model), 2);
	GOOD(thole_session_json(s, &json, &error));
	assert_non_null(strstr(json, "finished"));
	thole_free(json);
	GOOD(thole_runtime_list(rt, "finished", 0, &json, &error));
	assert_non_null(strstr(json, "\"title\":\"How is the weather?\""));
	thole_free(json);
	assert_int_equal(thole_runtime_sessions(rt), 1);
	thole_session_free(s);
	assert_int_equal(thole_runtime_sessions(rt), 0);
	GOOD(thole_runtime_free(rt));
	scripted_free(model);
}

/* Without the program that runs commands none begins, and the sentence says what to do. */
static void without_the_program(void **state)
{
	struct scripted *model = scripted_new(runs_a_command, NULL);
	const char *options[] = { "store",    "memory:",           "model",   "gpt-5.4",
				  "api_key",  "sk-secret",         "program", "/nowhere/thole",
				  "base_url", scripted_url(model), NULL };
	struct thole_runtime *rt = NULL;
	struct thole_agent *agent = agent_of("worker");
	struct thole_session *s = NULL;

	(void)state;
	GOOD(thole_runtime_new(options, &rt, &error));
	GOOD(thole_agent_set_json(agent, "tools", "[\"shell\"]", &error));
	GOOD(thole_session_new(rt, agent, NULL, &s, &error));
	GOOD(thole_session_run(s, "Do it.", &error));
	assert_string_equal(thole_session_output(s), "It was not started, and I was told why.");
	thole_session_free(s);
	thole_agent_free(agent);
	GOOD(thole_runtime_free(rt));
	scripted_free(model);
}

/* The longest first message that is a title as it stands, and one of a character more. */
static void edges_of_a_title(void **state)
{
	(void)state;
	for (size_t more = 0; more < 2; more++) {
		struct scripted *model = scripted_new(says_hello, NULL);
		struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
		struct thole_agent *agent = agent_of("a");
		struct thole_session *s = NULL;
		char task[TH_TITLE_MAX + 2] = "", *json = NULL, wanted[TH_TITLE_MAX + 40];

		memset(task, 'x', TH_TITLE_MAX + more);
		snprintf(wanted, sizeof(wanted), "\"title\":\"%.*s%s\"", (int)(TH_TITLE_MAX - more),
			 task, more ? "…" : "");
		GOOD(thole_session_new(rt, agent, NULL, &s, &error));
		GOOD(thole_session_run(s, task, &error));
		GOOD(thole_runtime_list(rt, NULL, 0, &json, &error));
		if (!strstr(json, wanted))
			fail_msg("%s is not in %s", wanted, json);
		thole_free(json);
		GOOD(thole_runtime_free(rt));
		thole_agent_free(agent);
		scripted_free(model);
	}
}

static void an_answer_from_another_thread(void **state)
{
	struct scripted *model = scripted_new(one_call, tool_slow);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *agent = agent_of("a");
	struct thole_session *s = NULL;
	struct later l = { 0 };

	(void)state;
	GOOD(thole_agent_tool(agent, "slow", on_thread, &l, NULL, &error));
	GOOD(thole_session_new(rt, agent, "late", &s, &error));
	GOOD(thole_session_run(s, "go", &error));
	pthread_join(l.thread, NULL);
	assert_string_equal(thole_session_output(s), "Done.");
	GOOD(thole_runtime_free(rt));
	thole_agent_free(agent);
	scripted_free(model);
}

/* The call outlives session and runtime: its answer goes nowhere. */
static void an_answer_that_comes_too_late(void **state)
{
	struct scripted *model = scripted_new(one_call, tool_kept);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *agent = agent_of("a");
	struct thole_session *s = NULL;
	struct thole_call *call = NULL;

	(void)state;
	GOOD(thole_agent_tool(agent, "kept", keep_call, &call, NULL, &error));
	GOOD(thole_session_new(rt, agent, NULL, &s, &error));
	GOOD(thole_session_message(s, "go", &error));
	while (!call)
		assert_int_equal(thole_session_wait(s, 20, NULL), THOLE_ETIMEOUT);
	assert_false(thole_call_cancelled(call));
	thole_session_free(s);
	assert_true(thole_call_cancelled(call));
	GOOD(thole_runtime_free(rt));
	assert_string_equal(thole_call_arguments(call), "{}");
	GOOD(thole_call_done(call, "nobody hears this", &error));
	thole_agent_free(agent);
	scripted_free(model);
}

struct seen {
	char names[2000];
	char text[2000];
	int rests;
	struct thole_session *approve;
};

/* The line that `thole log --json` has of it; made when it is asked for, and once. */
static void check_event(const struct thole_session *s, const struct thole_note *n)
{
	const char *json = thole_note_json(n);
	struct th_json_doc *doc = NULL;
	const struct th_json *line;

	assert_int_equal(th_json_parse(th_str_of(json), &doc, NULL), TH_OK);
	line = th_json_root(doc);
	assert_true(th_str_is(th_json_get_str(line, "session"), thole_session_id(s)));
	assert_true(th_str_is(th_json_get_str(line, "kind"), thole_note_name(n)));
	assert_int_equal((uint64_t)th_json_get_int(line, "seq", 0), thole_note_seq(n));
	assert_int_equal(th_json_get_int(line, "ts_ms", 0), thole_note_ts_ms(n));
	assert_true(
	    th_str_eq(th_json_raw_get(th_str_of(json), "data"), th_str_of(thole_note_data(n))));
	assert_true(th_json_is_object(th_json_get(line, "data")));
	if (thole_note_id(n))
		assert_true(th_str_is(th_json_get_str(line, "call"), thole_note_id(n)));
	assert_ptr_equal(thole_note_json(n), json);
	th_json_free(doc);
}

static void note(void *ctx, struct thole_session *s, const struct thole_note *n)
{
	struct seen *seen = ctx;
	size_t len = strlen(seen->names);

	switch (thole_note_kind(n)) {
	case THOLE_NOTE_DELTA:
		strncat(seen->text, thole_note_text(n),
			sizeof(seen->text) - strlen(seen->text) - 1);
		if (len > 2 && strcmp(seen->names + len - 2, "d ") == 0)
			return;
		snprintf(seen->names + len, sizeof(seen->names) - len, "d ");
		return;
	case THOLE_NOTE_REST:
		seen->rests++;
		break;
	case THOLE_NOTE_ASK:
		if (seen->approve) {
			assert_string_equal(thole_note_json(n), "{}");
			GOOD(thole_session_approve(s, thole_note_id(n), "the test", &error));
		}
		break;
	case THOLE_NOTE_EVENT:
		check_event(s, n);
		break;
	default:
		assert_true(thole_note_seq(n) > 0);
	}
	snprintf(seen->names + len, sizeof(seen->names) - len, "%d:%s ", thole_note_kind(n),
		 thole_note_name(n));
}

static void text_call(void *ctx, const char *request, int nth, struct th_buf *items)
{
	(void)ctx;
	if (nth == 0) {
		assert_non_null(strstr(request, "{\"type\":\"custom\",\"name\":\"raw\"}"));
		th_buf_add_cstr(items,
				"{\"type\":\"custom_tool_call\",\"id\":\"ctc_1\",\"call_id\":"
				"\"call_1\",\"name\":\"raw\",\"input\":\"free text\"},{\"type\":"
				"\"mcp_list_tools\",\"id\":\"l\",\"server_label\":\"x\"}");
		return;
	}
	assert_non_null(strstr(request, "{\"type\":\"custom_tool_call_output\",\"call_id\":"
					"\"call_1\",\"output\":\"{\\\"input\\\":\\\"free "
					"text\\\"}\"}"));
	scripted_say(items, "Done.");
}

static void say_arguments(void *ctx, struct thole_call *call)
{
	(void)ctx;
	GOOD(thole_call_done(call, thole_call_arguments(call), &error));
}

static void a_tool_that_takes_a_text(void **state)
{
	struct scripted *model = scripted_new(text_call, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *agent = agent_of("a");
	struct thole_tool *tool = NULL;
	struct thole_session *s = NULL;
	struct seen seen = { 0 };

	(void)state;
	GOOD(thole_agent_tool(agent, "raw", say_arguments, NULL, &tool, &error));
	GOOD(thole_tool_text(tool, NULL, &error));
	GOOD(thole_session_new(rt, agent, "text", &s, &error));
	GOOD(thole_session_watch(s, THOLE_NOTE_ITEM, note, &seen, &error));
	GOOD(thole_session_run(s, "go", &error));
	assert_string_equal(thole_session_output(s), "Done.");
	assert_string_equal(seen.names, "2:tool_called 2:mcp_list_tools 2:tool_output "
					"2:message_output_created ");
	thole_session_free(s);
	thole_agent_free(agent);
	GOOD(thole_runtime_free(rt));
	scripted_free(model);
}

static void what_a_watcher_sees(void **state)
{
	struct scripted *model = scripted_new(one_call, tool_look);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *agent = agent_of("scout");
	struct thole_session *s = NULL;
	struct seen seen = { 0 };
	int count = 0;

	(void)state;
	GOOD(thole_agent_tool(agent, "look", count_call, &count, NULL, &error));
	GOOD(thole_session_new(rt, agent, NULL, &s, &error));
	GOOD(thole_session_watch(
	    s, THOLE_NOTE_DELTA | THOLE_NOTE_ITEM | THOLE_NOTE_AGENT | THOLE_NOTE_REST, note, &seen,
	    &error));
	GOOD(thole_session_run(s, "go", &error));
	assert_string_equal(seen.names, "4:scout 2:tool_called 2:tool_output d "
					"2:message_output_created 32:finished ");
	assert_string_equal(seen.text, "Done.");
	assert_int_equal(seen.rests, 1);
	/* Again, with events too. */
	memset(&seen, 0, sizeof(seen));
	GOOD(thole_session_watch(s, THOLE_NOTE_EVENT, note, &seen, &error));
	GOOD(thole_session_run(s, "again", &error));
	assert_string_equal(seen.names, "8:message 8:model_requested 8:model_answered 8:final ");
	GOOD(thole_runtime_free(rt));
	thole_agent_free(agent);
	scripted_free(model);
}

static void an_approval_given_in_its_callback(void **state)
{
	struct scripted *model = scripted_new(one_call, tool_risky);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *agent = agent_of("a");
	struct thole_tool *tool;
	struct thole_session *s = NULL;
	struct seen seen = { 0 };
	int count = 0;

	(void)state;
	GOOD(thole_agent_tool(agent, "risky", count_call, &count, &tool, &error));
	GOOD(thole_tool_ask(tool, true, &error));
	GOOD(thole_session_new(rt, agent, NULL, &s, &error));
	seen.approve = s;
	GOOD(thole_session_watch(s, THOLE_NOTE_ASK, note, &seen, &error));
	GOOD(thole_session_run(s, "go", &error));
	assert_int_equal(thole_session_state(s), THOLE_FINISHED);
	assert_string_equal(seen.names, "16:risky ");
	assert_int_equal(count, 1);
	GOOD(thole_runtime_free(rt));
	thole_agent_free(agent);
	scripted_free(model);
}

/* The runtime that asked is gone; another one hears the decision and runs it, once. */
static void an_approval_after_a_restart(void **state)
{
	struct scripted *model = scripted_new(one_call, tool_risky);
	char folder[] = "/tmp/thole-api-XXXXXX", store[64], file[64];
	struct thole_runtime *rt;
	struct thole_agent *agent = agent_of("a");
	struct thole_tool *tool;
	struct thole_session *s = NULL;
	struct seen seen = { 0 };
	int count = 0;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(store, sizeof(store), "sqlite:%s/log.db", folder);
	rt = runtime_at(scripted_url(model), store);
	GOOD(thole_agent_tool(agent, "risky", count_call, &count, &tool, &error));
	GOOD(thole_tool_class(tool, THOLE_CLASS_IRREVERSIBLE, &error));
	GOOD(thole_session_new(rt, agent, "waits", &s, &error));
	GOOD(thole_session_run(s, "go", &error));
	assert_int_equal(thole_session_state(s), THOLE_WAITING);
	assert_string_equal(thole_session_waits_for(s), "c1");
	BAD(THOLE_ENOENT, thole_session_approve(s, "c9", NULL, &error));
	GOOD(thole_runtime_free(rt));

	rt = runtime_at(scripted_url(model), store);
	BAD(THOLE_EEXIST, thole_session_new(rt, agent, "waits", &s, &error));
	BAD(THOLE_EUSAGE, thole_session_open(rt, NULL, "waits", &s, &error)); /* no such tool */
	GOOD(thole_session_open(rt, agent, "waits", &s, &error));
	BAD(THOLE_EBUSY, thole_session_open(rt, agent, "waits", &s, &error));
	GOOD(thole_session_watch(s, THOLE_NOTE_ASK, note, &seen, &error));
	GOOD(thole_session_run(s, NULL, &error));
	assert_string_equal(seen.names, "16:risky "); /* asked again */
	assert_int_equal(count, 0);
	GOOD(thole_session_approve(s, NULL, "a person", &error));
	GOOD(thole_session_wait(s, -1, &error));
	assert_int_equal(thole_session_state(s), THOLE_FINISHED);
	assert_int_equal(count, 1);
	thole_session_free(s);
	GOOD(thole_runtime_free(rt));
	thole_agent_free(agent);
	scripted_free(model);
	snprintf(file, sizeof(file), "rm -rf %s", folder);
	assert_int_equal(system(file), 0);
}

static void a_rejection_is_told(void **state)
{
	struct scripted *model = scripted_new(one_call, tool_risky);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *agent = agent_of("a");
	struct thole_session *s = NULL;
	int count = 0;

	(void)state;
	GOOD(thole_agent_tool(agent, "risky", count_call, &count, NULL, &error));
	GOOD(thole_agent_set_json(agent, "approve", "[\"risky\"]", &error));
	GOOD(thole_session_new(rt, agent, NULL, &s, &error));
	GOOD(thole_session_run(s, "go", &error));
	assert_int_equal(thole_session_state(s), THOLE_WAITING);
	GOOD(thole_session_reject(s, NULL, NULL, "not today", &error));
	GOOD(thole_session_wait(s, -1, &error));
	assert_int_equal(thole_session_state(s), THOLE_FINISHED);
	assert_int_equal(count, 0);
	GOOD(thole_runtime_free(rt));
	thole_agent_free(agent);
	scripted_free(model);
}

/* Somebody else's loop: nothing but descriptor, timeout, dispatch. */
static void inside_another_loop(void **state)
{
	struct scripted *model = scripted_new(one_call, tool_look);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *agent = agent_of("a");
	struct thole_session *s[20];
	int count = 0, running = 20;

	(void)state;
	GOOD(thole_agent_tool(agent, "look", count_call, &count, NULL, &error));
	for (int i = 0; i < 20; i++) {
		GOOD(thole_session_new(rt, agent, NULL, &s[i], &error));
		GOOD(thole_session_message(s[i], "go", &error));
	}
	assert_int_equal(thole_runtime_timeout_ms(rt), 0);
	while (running > 0) {
		struct pollfd fd = { thole_runtime_fd(rt), POLLIN, 0 };

		poll(&fd, 1, thole_runtime_timeout_ms(rt));
		GOOD(thole_runtime_dispatch(rt, &error));
		running = 0;
		for (int i = 0; i < 20; i++)
			running += thole_session_state(s[i]) == THOLE_RUNNING;
	}
	GOOD(thole_runtime_run(rt, &error));
	assert_int_equal(count, 20);
	GOOD(thole_runtime_free(rt));
	thole_agent_free(agent);
	scripted_free(model);
}

static void several_runtimes(void **state)
{
	struct scripted *model = scripted_new(says_hello, NULL);
	struct thole_runtime *rt[3];
	struct thole_session *s[3];
	struct thole_agent *agent = agent_of("a");

	(void)state;
	for (int i = 0; i < 3; i++) {
		rt[i] = runtime_at(scripted_url(model), "memory:");
		GOOD(thole_session_new(rt[i], agent, "same name", &s[i], &error));
		GOOD(thole_session_message(s[i], "hello", &error));
	}
	for (int i = 2; i >= 0; i--) {
		GOOD(thole_runtime_run(rt[i], &error));
		assert_string_equal(thole_session_output(s[i]), "Hello to you.");
		GOOD(thole_runtime_free(rt[i]));
	}
	thole_agent_free(agent);
	scripted_free(model);
}

static void cancelled_now(void **state)
{
	struct scripted *model = scripted_new(one_call, tool_kept);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *agent = agent_of("a");
	struct thole_session *s = NULL;
	struct thole_call *call = NULL;

	(void)state;
	GOOD(thole_agent_tool(agent, "kept", keep_call, &call, NULL, &error));
	GOOD(thole_session_new(rt, agent, NULL, &s, &error));
	scripted_hold(model, true);
	GOOD(thole_session_message(s, "go", &error));
	while (scripted_requests(model) == 0)
		assert_int_equal(thole_session_wait(s, 10, NULL), THOLE_ETIMEOUT);
	GOOD(thole_session_cancel(s, THOLE_NOW, &error));
	GOOD(thole_session_wait(s, -1, &error));
	assert_int_equal(thole_session_state(s), THOLE_STOPPED);
	scripted_hold(model, false);
	/* And while a call runs: it is told, and the answer is not waited for. */
	GOOD(thole_session_message(s, "go on", &error));
	while (!call)
		assert_int_equal(thole_session_wait(s, 10, NULL), THOLE_ETIMEOUT);
	GOOD(thole_session_cancel(s, THOLE_NOW, &error));
	GOOD(thole_session_wait(s, -1, &error));
	assert_int_equal(thole_session_state(s), THOLE_STOPPED);
	assert_int_equal(thole_session_wait(s, 10, NULL), THOLE_OK);
	assert_true(thole_call_cancelled(call));
	GOOD(thole_call_done(call, "late", &error));
	GOOD(thole_runtime_free(rt));
	thole_agent_free(agent);
	scripted_free(model);
}

static void say_stopped(void *ctx, struct thole_call *call)
{
	assert_ptr_equal(call, *(struct thole_call **)ctx);
	assert_true(thole_call_cancelled(call));
	GOOD(thole_call_fail(call, "stopped half way", &error));
}

/* A tool that wants to know says itself what became of its call. */
static void a_tool_that_is_told_to_stop(void **state)
{
	struct scripted *model = scripted_new(one_call, tool_kept);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *agent = agent_of("a");
	struct thole_tool *tool;
	struct thole_session *s = NULL;
	struct thole_call *call = NULL;
	struct seen seen = { 0 };

	(void)state;
	GOOD(thole_agent_tool(agent, "kept", keep_call, &call, &tool, &error));
	GOOD(thole_tool_on_cancel(tool, say_stopped, &error));
	GOOD(thole_session_new(rt, agent, NULL, &s, &error));
	GOOD(thole_session_watch(s, THOLE_NOTE_ITEM, note, &seen, &error));
	GOOD(thole_session_message(s, "go", &error));
	while (!call)
		assert_int_equal(thole_session_wait(s, 10, NULL), THOLE_ETIMEOUT);
	GOOD(thole_session_cancel(s, THOLE_NOW, &error));
	while (!strstr(seen.names, "tool_output"))
		(void)thole_session_wait(s, 10, NULL);
	GOOD(thole_session_run(s, NULL, &error));
	assert_string_equal(thole_session_output(s), "Done.");
	GOOD(thole_runtime_free(rt));
	thole_agent_free(agent);
	scripted_free(model);
}

static void cancel_here(void *ctx, struct thole_call *call)
{
	struct thole_session **s = ctx;

	GOOD(thole_session_cancel(*s, THOLE_AFTER_TURN, &error));
	BAD(THOLE_EUSAGE, thole_session_wait(*s, 0, &error));
	GOOD(thole_call_done(call, "ok", &error));
}

/* The call's result is in the log; the model is not asked again. */
static void cancelled_after_the_turn(void **state)
{
	struct scripted *model = scripted_new(one_call, tool_last);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *agent = agent_of("a");
	struct thole_session *s = NULL;
	struct seen seen = { 0 };

	(void)state;
	GOOD(thole_agent_tool(agent, "last", cancel_here, &s, NULL, &error));
	GOOD(thole_session_new(rt, agent, NULL, &s, &error));
	GOOD(thole_session_watch(s, THOLE_NOTE_ITEM, note, &seen, &error));
	GOOD(thole_session_run(s, "go", &error));
	assert_int_equal(thole_session_state(s), THOLE_STOPPED);
	assert_string_equal(seen.names, "2:tool_called 2:tool_output ");
	assert_int_equal(scripted_requests(model), 1);
	/* It goes on where it was. */
	GOOD(thole_session_run(s, NULL, &error));
	assert_string_equal(thole_session_output(s), "Done.");
	assert_int_equal(scripted_requests(model), 2);
	GOOD(thole_runtime_free(rt));
	thole_agent_free(agent);
	scripted_free(model);
}

static void a_call_that_takes_too_long(void **state)
{
	struct scripted *model = scripted_new(one_call, tool_kept);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *agent = agent_of("a");
	struct thole_tool *tool;
	struct thole_session *s = NULL;
	struct thole_call *call = NULL, *told = NULL;

	(void)state;
	GOOD(thole_agent_tool(agent, "kept", keep_call, &call, &tool, &error));
	GOOD(thole_tool_timeout(tool, 20, &error));
	GOOD(thole_session_new(rt, agent, NULL, &s, &error));
	GOOD(thole_session_run(s, "go", &error));
	assert_int_equal(thole_session_state(s), THOLE_FINISHED);
	assert_true(thole_call_cancelled(call));
	GOOD(thole_call_fail(call, "at last", &error));
	thole_session_free(s);
	(void)told;
	GOOD(thole_runtime_free(rt));
	thole_agent_free(agent);
	scripted_free(model);
}

static int add_line(void *ctx, const char *line, size_t len)
{
	int *count = ctx;

	assert_int_equal(line[0], '{');
	assert_int_equal(line[len - 1], '}');
	return ++*count == 100 ? 7 : 0;
}

static void a_fork_and_its_log(void **state)
{
	struct scripted *model = scripted_new(says_hello, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *agent = agent_of("a");
	struct thole_session *s = NULL, *fork = NULL;
	int lines = 0, more = 99;

	(void)state;
	GOOD(thole_session_new(rt, agent, "first", &s, &error));
	GOOD(thole_session_run(s, "hello", &error));
	GOOD(thole_session_fork(rt, agent, "first", 0, "second", &fork, &error));
	GOOD(thole_session_run(fork, "hello again", &error));
	assert_string_equal(thole_session_output(fork), "Hello to you.");
	GOOD(thole_runtime_log(rt, "second", 0, add_line, &lines, &error));
	assert_true(lines > 8);
	assert_int_equal(thole_runtime_log(rt, "second", 3, add_line, &more, &error), 7);
	BAD(THOLE_ENOENT, thole_runtime_log(rt, "third", 0, add_line, &lines, &error));
	BAD(THOLE_ENOENT, thole_session_fork(rt, agent, "third", 0, NULL, &fork, &error));
	GOOD(thole_runtime_free(rt));
	thole_agent_free(agent);
	scripted_free(model);
}

static void free_all(void *ctx, struct thole_session *s, const struct thole_note *n)
{
	(void)ctx;
	(void)n;
	thole_session_free(s);
}

/* One after the other, each given back in its own callback. */
static void sessions_given_back_in_callbacks(void **state)
{
	struct scripted *model = scripted_new(says_hello, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *agent = agent_of("a");
	struct thole_session *s;

	(void)state;
	for (int i = 0; i < 30; i++) {
		GOOD(thole_session_new(rt, agent, NULL, &s, &error));
		GOOD(thole_session_watch(s, i % 2 ? THOLE_NOTE_REST : THOLE_NOTE_DELTA, free_all,
					 NULL, &error));
		GOOD(thole_session_message(s, "hello", &error));
	}
	GOOD(thole_runtime_run(rt, &error));
	assert_int_equal(thole_runtime_sessions(rt), 0);
	GOOD(thole_runtime_free(rt));
	thole_agent_free(agent);
	scripted_free(model);
}

/* One more is told so, and those that are there work; whoever goes makes room. */
static void as_many_as_a_runtime_takes(void **state)
{
	static struct thole_session *all[TH_SESSIONS_MAX];
	struct scripted *model = scripted_new(says_hello, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *agent = agent_of("a");
	struct thole_session *more = NULL;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(all); i++)
		GOOD(thole_session_new(rt, agent, NULL, &all[i], &error));
	BAD(THOLE_ELIMIT, thole_session_new(rt, agent, NULL, &more, &error));
	assert_null(more);
	assert_non_null(strstr(error.text, "16384 sessions open, its maximum"));
	GOOD(thole_session_message(all[TH_COUNT(all) - 1], "hello", &error));
	GOOD(thole_runtime_run(rt, &error));
	assert_int_equal(thole_session_state(all[TH_COUNT(all) - 1]), THOLE_FINISHED);
	thole_session_free(all[0]);
	GOOD(thole_session_new(rt, agent, NULL, &more, &error));
	GOOD(thole_session_message(more, "hello", &error));
	GOOD(thole_runtime_run(rt, &error));
	assert_int_equal(thole_session_state(more), THOLE_FINISHED);
	GOOD(thole_runtime_free(rt));
	thole_agent_free(agent);
	scripted_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_task_with_tools),
		cmocka_unit_test(edges_of_a_title),
		cmocka_unit_test(a_tool_that_takes_a_text),
		cmocka_unit_test(without_the_program),
		cmocka_unit_test(an_answer_from_another_thread),
		cmocka_unit_test(an_answer_that_comes_too_late),
		cmocka_unit_test(what_a_watcher_sees),
		cmocka_unit_test(an_approval_given_in_its_callback),
		cmocka_unit_test(an_approval_after_a_restart),
		cmocka_unit_test(a_rejection_is_told),
		cmocka_unit_test(inside_another_loop),
		cmocka_unit_test(several_runtimes),
		cmocka_unit_test(cancelled_now),
		cmocka_unit_test(a_tool_that_is_told_to_stop),
		cmocka_unit_test(cancelled_after_the_turn),
		cmocka_unit_test(a_call_that_takes_too_long),
		cmocka_unit_test(a_fork_and_its_log),
		cmocka_unit_test(sessions_given_back_in_callbacks),
		cmocka_unit_test(as_many_as_a_runtime_takes),
	};

	return cmocka_run_group_tests(tests, away_from_home, NULL);
}
