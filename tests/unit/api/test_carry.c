/* SPDX-License-Identifier: Apache-2.0 */
/* The history of a session as items, and sessions out of one store and into another. */
#include "rig.h"

#include "base/limits.h"

/* ---- scripts ---- */

static void says_what_it_read(void *ctx, const char *request, int nth, struct th_buf *items)
{
	(void)ctx;
	(void)nth;
	if (strstr(request, "a secret word"))
		scripted_say(items, "I know the word.");
	else
		scripted_say(items, "I know nothing.");
}

static void one_risk(void *ctx, const char *request, int nth, struct th_buf *items)
{
	(void)ctx;
	(void)nth;
	if (scripted_count(request, "function_call_output") == 0)
		scripted_call(items, "c1", "risky", "{}");
	else
		scripted_say(items, strstr(request, "in a hurry") ? "Done, quickly." : "Done.");
}

static void count_call(void *ctx, struct thole_call *call)
{
	unsigned char pixels[16] = { 255, 0, 0, 255 };

	++*(int *)ctx;
	GOOD(thole_call_pixels(call, pixels, 2, 2, 8, &error));
	GOOD(thole_call_done(call, "ok", &error));
}

/* ---- items ---- */

#define SAID "[{\"role\":\"user\",\"content\":\"a secret word\"}]"

static void items_of_a_session(void **state)
{
	struct scripted *model = scripted_new(says_what_it_read, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *a = agent_of("a");
	struct thole_session *s = NULL;
	char *text = NULL;

	(void)state;
	GOOD(thole_session_new(rt, a, NULL, &s, &error));
	GOOD(thole_session_items(s, 0, 0, &text, &error)); /* not even begun */
	assert_string_equal(text, "[]");
	thole_free(text);
	GOOD(thole_session_items_add(s, SAID, false, &error));
	BAD(THOLE_EBUSY, thole_session_items_pop(s, 1, &text, &error));
	GOOD(thole_session_run(s, "what do you know?", &error));
	assert_string_equal(thole_session_output(s), "I know the word.");
	GOOD(thole_session_items(s, 0, 0, &text, &error));
	assert_int_equal(scripted_count(text, "\"content\""), 3);
	thole_free(text);
	GOOD(thole_session_items(s, 1, 1, &text, &error));
	assert_non_null(strstr(text, "what do you know?"));
	assert_int_equal(scripted_count(text, "\"content\""), 1);
	thole_free(text);
	GOOD(thole_session_items(s, -2, 1, &text, &error));
	assert_non_null(strstr(text, "what do you know?"));
	thole_free(text);
	GOOD(thole_session_items(s, INT64_MIN, 1, &text, &error));
	assert_non_null(strstr(text, "a secret word"));
	thole_free(text);
	GOOD(thole_session_items(s, INT64_MAX, SIZE_MAX, &text, &error));
	assert_string_equal(text, "[]");
	thole_free(text);
	/* The newest two go, and with the third goes what it knew. */
	GOOD(thole_session_items_pop(s, 2, &text, &error));
	assert_non_null(strstr(text, "what do you know?"));
	assert_non_null(strstr(text, "I know the word."));
	assert_null(strstr(text, "a secret word"));
	thole_free(text);
	GOOD(thole_session_items_pop(s, 1, NULL, &error));
	GOOD(thole_session_run(s, "and now?", &error));
	assert_string_equal(thole_session_output(s), "I know nothing.");
	GOOD(thole_session_items_clear(s, &error));
	GOOD(thole_session_wait(s, -1, &error));
	GOOD(thole_session_items(s, 0, 0, &text, &error));
	assert_string_equal(text, "[]");
	thole_free(text);
	/* A task may begin with items. */
	GOOD(thole_session_items_add(s, SAID, true, &error));
	GOOD(thole_session_wait(s, -1, &error));
	assert_string_equal(thole_session_output(s), "I know the word.");
	GOOD(thole_runtime_free(rt));
	thole_agent_free(a);
	scripted_free(model);
}

/* While a person is waited for. */
static void items_while_it_waits(void **state)
{
	struct scripted *model = scripted_new(one_risk, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *a = agent_of("a");
	struct thole_tool *tool;
	struct thole_session *s = NULL;
	int runs = 0;

	(void)state;
	GOOD(thole_agent_tool(a, "risky", count_call, &runs, &tool, &error));
	GOOD(thole_tool_ask(tool, true, &error));
	GOOD(thole_session_new(rt, a, NULL, &s, &error));
	GOOD(thole_session_run(s, "go", &error));
	assert_int_equal(thole_session_state(s), THOLE_WAITING);
	GOOD(thole_session_items_add(s, "[{\"role\":\"user\",\"content\":\"I am in a hurry\"}]",
				     true, &error));
	BAD(THOLE_EPROTO,
	    thole_session_items_add(
		s, "[{\"type\":\"function_call_output\",\"call_id\":\"c1\",\"output\":\"\"}]", true,
		&error));
	BAD(THOLE_EPROTO, thole_session_items_pop(s, 1, NULL, &error));
	BAD(THOLE_EPROTO, thole_session_items_clear(s, &error));
	assert_int_equal(thole_session_state(s), THOLE_WAITING);
	assert_int_equal(runs, 0);
	GOOD(thole_session_approve(s, NULL, "me", &error));
	GOOD(thole_session_wait(s, -1, &error));
	assert_string_equal(thole_session_output(s), "Done, quickly.");
	assert_int_equal(runs, 1);
	GOOD(thole_runtime_free(rt));
	thole_agent_free(a);
	scripted_free(model);
}

/* ---- out and in ---- */

static int add_line(void *ctx, const char *line, size_t len)
{
	assert_int_equal(line[0], '{');
	assert_int_equal(line[len - 1], '}');
	th_buf_add(ctx, th_str_n(line, len));
	th_buf_add_char(ctx, '\n');
	return 0;
}

static int stop_there(void *ctx, const char *line, size_t len)
{
	(void)ctx;
	(void)line;
	(void)len;
	return 7;
}

static void import_into(struct thole_runtime *rt, const struct th_buf *file, const char *id)
{
	char *name = NULL;

	GOOD(thole_runtime_import(rt, file->ptr, file->len, &name, &error));
	assert_string_equal(name, id);
	thole_free(name);
}

/* But for the epochs: each store counts its own owners. */
static void assert_same(struct th_buf *a, struct th_buf *b)
{
	struct th_buf *both[] = { a, b };

	for (int i = 0; i < 2; i++)
		for (char *at = both[i]->ptr; (at = strstr(at, "\"epoch\":")); at++)
			at[8] = '0';
	assert_string_equal(a->ptr, b->ptr);
}

/* It waits in one store, is approved in another, and goes on there. */
static void a_session_moves(void **state)
{
	struct scripted *model = scripted_new(one_risk, NULL);
	struct thole_runtime *here = runtime_at(scripted_url(model), "memory:");
	struct thole_runtime *there = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *a = agent_of("a");
	struct thole_tool *tool;
	struct thole_session *s = NULL;
	struct th_buf file = TH_BUF_INIT(TH_MIB), again = TH_BUF_INIT(TH_MIB);
	char *list = NULL;
	int runs = 0;

	(void)state;
	GOOD(thole_agent_tool(a, "risky", count_call, &runs, &tool, &error));
	GOOD(thole_tool_ask(tool, true, &error));
	GOOD(thole_session_new(here, a, "mine", &s, &error));
	GOOD(thole_session_run(s, "go", &error));
	assert_int_equal(thole_session_state(s), THOLE_WAITING);
	GOOD(thole_runtime_export(here, "mine", add_line, &file, &error));
	import_into(there, &file, "mine");
	BAD(THOLE_EEXIST, thole_runtime_import(there, file.ptr, file.len, NULL, &error));
	GOOD(thole_runtime_export(there, "mine", add_line, &again, &error));
	assert_same(&file, &again);
	GOOD(thole_session_open(there, a, "mine", &s, &error));
	assert_int_equal(thole_session_state(s), THOLE_WAITING);
	GOOD(thole_session_approve(s, "c1", "me", &error));
	GOOD(thole_session_wait(s, -1, &error));
	assert_string_equal(thole_session_output(s), "Done.");
	assert_int_equal(runs, 1);
	/* With its picture, and as a fork with what it was forked from. */
	GOOD(thole_session_fork(there, a, "mine", 0, "other", &s, &error));
	GOOD(thole_session_wait(s, -1, &error));
	th_buf_clear(&file);
	GOOD(thole_runtime_export(there, "other", add_line, &file, &error));
	assert_non_null(strstr(file.ptr, "{\"blob\":\""));
	GOOD(thole_runtime_free(here));
	here = runtime_at(scripted_url(model), "memory:");
	/* An event's picture is there, or nothing is. */
	{
		char *from = strstr(file.ptr, "{\"blob\":\""), *to = strchr(from, '\n') + 1;
		struct th_buf torn = TH_BUF_INIT(TH_MIB);

		th_buf_add(&torn, th_str_n(file.ptr, (size_t)(from - file.ptr)));
		th_buf_add_cstr(&torn, to);
		BAD(THOLE_ECORRUPT, thole_runtime_import(here, torn.ptr, torn.len, NULL, &error));
		assert_non_null(strstr(error.text, "which an event names, is missing"));
		th_buf_deinit(&torn);
		GOOD(thole_runtime_list(here, NULL, 0, &list, &error));
		assert_string_equal(list, "[]");
		thole_free(list);
	}
	import_into(here, &file, "other");
	GOOD(thole_runtime_list(here, NULL, 0, &list, &error));
	assert_int_equal(scripted_count(list, "\"session_id\""), 2);
	thole_free(list);
	th_buf_clear(&again);
	GOOD(thole_runtime_export(here, "other", add_line, &again, &error));
	assert_same(&file, &again);
	GOOD(thole_session_open(here, a, "other", &s, &error));
	GOOD(thole_session_run(s, "more", &error));
	assert_string_equal(thole_session_output(s), "Done.");
	th_buf_deinit(&file);
	th_buf_deinit(&again);
	GOOD(thole_runtime_free(here));
	GOOD(thole_runtime_free(there));
	thole_agent_free(a);
	scripted_free(model);
}

static void delegates(void *ctx, const char *request, int nth, struct th_buf *items)
{
	(void)ctx;
	(void)nth;
	if (strstr(request, "You are the checker.") && !strstr(request, "\"call_id\":\"k1\""))
		scripted_call(items, "k1", "risky", "{}");
	else if (strstr(request, "You are the checker."))
		scripted_say(items, "It is good.");
	else if (!strstr(request, "\"call_id\":\"l1\""))
		scripted_call(items, "l1", "check", "{\"input\":\"this\"}");
	else
		scripted_say(items, strstr(request, "It is good.") ? "All is well." : "Hm.");
}

/* Who works for it comes with it, as far as it is. */
static void a_session_moves_with_its_delegate(void **state)
{
	struct scripted *model = scripted_new(delegates, NULL);
	struct thole_runtime *here = runtime_at(scripted_url(model), "memory:");
	struct thole_runtime *there = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *lead = agent_of("lead"), *checker = agent_of("checker");
	struct thole_tool *tool = NULL;
	struct thole_session *s = NULL;
	struct th_buf early = TH_BUF_INIT(TH_MIB), file = TH_BUF_INIT(TH_MIB);
	int runs = 0;

	(void)state;
	GOOD(thole_agent_set(checker, "instructions", "You are the checker.", &error));
	GOOD(thole_agent_tool(checker, "risky", count_call, &runs, &tool, &error));
	GOOD(thole_tool_ask(tool, true, &error));
	GOOD(thole_agent_member(lead, checker, &error));
	GOOD(thole_agent_delegate(lead, "check", "checker", "Checks", NULL, 3, &error));
	GOOD(thole_session_new(here, lead, "mine", &s, &error));
	GOOD(thole_session_run(s, "go", &error));
	assert_int_equal(thole_session_state(s), THOLE_WAITING);
	GOOD(thole_runtime_export(here, "mine", add_line, &early, &error));
	assert_int_equal(scripted_count(early.ptr, "{\"thole_session\":1"), 2);
	/* Without who works for it nothing gets in: that one would be begun again. */
	BAD(THOLE_EPROTO, thole_runtime_import(
			      there, strstr(early.ptr + 1, "{\"thole_session\":1"),
			      strlen(strstr(early.ptr + 1, "{\"thole_session\":1")), NULL, &error));
	assert_non_null(strstr(error.text, "works for mine, is missing"));
	import_into(there, &early, "mine");
	GOOD(thole_session_open(there, lead, "mine", &s, &error));
	GOOD(thole_session_approve(s, "k1", "me", &error));
	GOOD(thole_session_wait(s, -1, &error));
	assert_string_equal(thole_session_output(s), "All is well.");
	assert_int_equal(runs, 1);
	/* And back to where only the delegate is left behind: it is not what it was. */
	GOOD(thole_runtime_export(there, "mine", add_line, &file, &error));
	GOOD(thole_runtime_free(here));
	here = runtime_at(scripted_url(model), "memory:");
	{
		char *second = strstr(early.ptr + 1, "{\"thole_session\":1");
		struct th_buf child = TH_BUF_INIT(TH_MIB);
		char *name = NULL;

		th_buf_add(&child, th_str_n(early.ptr, (size_t)(second - early.ptr)));
		th_buf_add_cstr(&child, "{\"end\":1}\n");
		GOOD(thole_runtime_import(here, child.ptr, child.len, &name, &error));
		thole_free(name);
		th_buf_deinit(&child);
	}
	BAD(THOLE_EEXIST, thole_runtime_import(here, file.ptr, file.len, NULL, &error));
	assert_non_null(strstr(error.text, "it is another"));
	import_into(here, &early, "mine");
	th_buf_deinit(&early);
	th_buf_deinit(&file);
	GOOD(thole_runtime_free(here));
	GOOD(thole_runtime_free(there));
	thole_agent_free(lead);
	thole_agent_free(checker);
	scripted_free(model);
}

/* Whatever byte is changed, wherever the file ends: nothing gets in. */
static void what_was_changed_stays_out(void **state)
{
	struct scripted *model = scripted_new(one_risk, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *a = agent_of("a");
	struct thole_session *s = NULL;
	struct th_buf file = TH_BUF_INIT(TH_MIB);
	char *list = NULL, *end, *type;
	size_t taken = 0, line = 1;
	int runs = 0;

	(void)state;
	GOOD(thole_agent_tool(a, "risky", count_call, &runs, NULL, &error));
	GOOD(thole_session_new(rt, a, "mine", &s, &error));
	GOOD(thole_session_run(s, "go", &error));
	GOOD(thole_runtime_export(rt, "mine", add_line, &file, &error));
	GOOD(thole_runtime_free(rt));
	rt = runtime_at(scripted_url(model), "memory:");
	end = strstr(file.ptr, "{\"end\":1}");
	type = strstr(strstr(file.ptr, "\n{\"blob\""), ",\"media_type\"");
	for (size_t i = 0; i < file.len; i++) {
		line += i > 0 && file.ptr[i - 1] == '\n';
		if (file.ptr + i < end)
			assert_true(thole_runtime_import(rt, file.ptr, i + 1, NULL, &error) < 0);
		if (line == 1 || file.ptr[i] == '\n' || file.ptr + i >= end)
			continue; /* what the log does not say is not in the chain */
		if (file.ptr + i >= type && file.ptr + i < strstr(type, ",\"bytes\""))
			continue;
		file.ptr[i] ^= 1;
		if (thole_runtime_import(rt, file.ptr, file.len, NULL, &error) == THOLE_OK)
			taken++;
		else
			assert_true(strlen(error.text) > 0);
		file.ptr[i] ^= 1;
		GOOD(thole_runtime_list(rt, NULL, 0, &list, &error));
		if (taken == 0)
			assert_string_equal(list, "[]");
		thole_free(list);
		if (taken > 0)
			fail_msg("byte %zu (line %zu) may be changed", i, line);
	}
	import_into(rt, &file, "mine");
	th_buf_deinit(&file);
	GOOD(thole_runtime_free(rt));
	thole_agent_free(a);
	scripted_free(model);
}

#define HEAD(more)                                                                            \
	"{\"thole_session\":1,\"session\":\"x\",\"epoch\":1,\"head_seq\":1,\"head\":\"" ZEROS \
	"\"" more "}\n"
#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"

static void hostile_files(void **state)
{
	static const struct {
		int code;
		const char *file, *says;
	} files[] = {
		{ THOLE_EPROTO, "\n", "line 1" },
		{ THOLE_EPROTO, "{}\n", "line 1" },
		{ THOLE_EPROTO, "[]\n", "line 1" },
		{ THOLE_EPROTO, "null\n", "line 1" },
		{ THOLE_EPROTO, "\xff\n", "line 1" },
		{ THOLE_EPROTO, "{\"end\":1}\n", "no session" },
		{ THOLE_EPROTO, "{\"event\":{},\"digest\":\"\"}\n", "before its session" },
		{ THOLE_EPROTO, "{\"blob\":\"\",\"bytes\":\"\"}\n", "before its session" },
		{ THOLE_EUSAGE, "{\"thole_session\":1}\n", "session" },
		{ THOLE_EUNSUPPORTED,
		  "{\"thole_session\":2,\"session\":\"x\",\"head_seq\":1,\"head\":\"\"}\n",
		  "version 1" },
		{ THOLE_EPROTO,
		  "{\"thole_session\":1,\"session\":\"x\",\"head_seq\":1,\"head\":\"\"}\n",
		  "digest" },
		{ THOLE_EPROTO, HEAD(""), "before its end" },
		{ THOLE_ECORRUPT, HEAD("") "{\"end\":1}\n", "not whole" },
		{ THOLE_EPROTO, HEAD(",\"metadata\":[]"), "metadata" },
		{ THOLE_EPROTO, HEAD(",\"parent\":\"y\""), "parent" },
		{ THOLE_EPROTO, HEAD(",\"parent_seq\":1"), "parent" },
		{ THOLE_EUSAGE, HEAD(",\"parent_seq\":-1"), "parent_seq" },
		{ THOLE_EPROTO, HEAD("") "{\"blob\":\"x\",\"bytes\":\"\"}\n", "line 2" },
		{ THOLE_EPROTO, HEAD("") "{\"blob\":\"" ZEROS "\",\"bytes\":\"*\"}\n", "base64" },
		{ THOLE_ECORRUPT, HEAD("") "{\"blob\":\"" ZEROS "\",\"bytes\":\"AAAA\"}\n",
		  "the blob" },
	};
	struct thole_runtime *rt = runtime_at("http://127.0.0.1:9", "memory:");
	char *list = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		memset(&error, 0, sizeof(error));
		assert_int_equal(
		    thole_runtime_import(rt, files[i].file, strlen(files[i].file), &list, &error),
		    files[i].code);
		if (!strstr(error.text, files[i].says))
			fail_msg("%s: %s", files[i].file, error.text);
	}
	assert_null(list);
	GOOD(thole_runtime_list(rt, NULL, 0, &list, &error));
	assert_string_equal(list, "[]");
	thole_free(list);
	GOOD(thole_runtime_free(rt));
}

/* ---- misuse ---- */

static void misuse(void **state)
{
	struct thole_runtime *rt = runtime_at("http://127.0.0.1:9", "memory:");
	struct thole_agent *a = agent_of("a");
	struct thole_session *s = NULL;
	char *text = NULL, *huge = malloc(5 * TH_MIB);

	(void)state;
	assert_non_null(huge);
	memset(huge, ' ', 5 * TH_MIB - 1);
	huge[5 * TH_MIB - 1] = '\0';
	BAD(THOLE_EUSAGE, thole_session_items(NULL, 0, 0, &text, &error));
	BAD(THOLE_EUSAGE, thole_session_items_add(NULL, SAID, false, &error));
	BAD(THOLE_EUSAGE, thole_session_items_pop(NULL, 1, &text, &error));
	BAD(THOLE_EUSAGE, thole_session_items_clear(NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_export(NULL, "x", add_line, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_export(rt, NULL, add_line, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_export(rt, "", add_line, NULL, &error));
	BAD(THOLE_ELIMIT, thole_runtime_export(rt, huge, add_line, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_export(rt, "x", NULL, NULL, &error));
	BAD(THOLE_ENOENT, thole_runtime_export(rt, "x", add_line, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_import(NULL, "{}", 2, &text, &error));
	BAD(THOLE_EUSAGE, thole_runtime_import(rt, NULL, 2, &text, &error));
	BAD(THOLE_EUSAGE, thole_runtime_import(rt, "{}", 0, &text, &error));
	GOOD(thole_session_new(rt, a, "s", &s, &error));
	BAD(THOLE_EUSAGE, thole_session_items(s, 0, 0, NULL, &error));
	BAD(THOLE_EUSAGE, thole_session_items_add(s, NULL, false, &error));
	BAD(THOLE_EUSAGE, thole_session_items_add(s, "", false, &error));
	BAD(THOLE_ELIMIT, thole_session_items_add(s, huge, false, &error));
	BAD(THOLE_EUSAGE, thole_session_items_add(s, "\xff", false, &error));
	assert_true(thole_session_items_add(s, "{", false, &error) < 0);
	assert_true(thole_session_items_add(s, "[{\"x\":1}]", false, &error) < 0);
	BAD(THOLE_EUSAGE, thole_session_items_pop(s, 0, &text, &error));
	BAD(THOLE_ELIMIT, thole_session_items_pop(s, SIZE_MAX, &text, &error));
	GOOD(thole_session_wait(s, -1, &error));
	assert_int_equal(thole_runtime_export(rt, "s", stop_there, NULL, &error), 7);
	assert_null(text);
	GOOD(thole_runtime_free(rt));
	thole_agent_free(a);
	free(huge);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_of_a_session),
		cmocka_unit_test(items_while_it_waits),
		cmocka_unit_test(a_session_moves),
		cmocka_unit_test(a_session_moves_with_its_delegate),
		cmocka_unit_test(what_was_changed_stays_out),
		cmocka_unit_test(hostile_files),
		cmocka_unit_test(misuse),
	};

	return cmocka_run_group_tests(tests, away_from_home, NULL);
}
