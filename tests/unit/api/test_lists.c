/* SPDX-License-Identifier: Apache-2.0 */
/* What a runtime reads from its store for a server: pages of sessions, blobs, what waits. */
#include <poll.h>

#include "base/json.h"
#include "base/limits.h"
#include "rig.h"

/* The names in a page, and its cursor; "" at the end. */
static size_t page(struct thole_runtime *rt, const char *const *options, char names[256],
		   char next[256])
{
	struct th_json_doc *doc = NULL;
	struct th_json_iter it;
	char *json = NULL;
	size_t count = 0;

	names[0] = next[0] = '\0';
	GOOD(thole_runtime_page(rt, options, &json, &error));
	assert_int_equal(th_json_parse(th_str_of(json), &doc, NULL), TH_OK);
	it = th_json_iter(th_json_get(th_json_root(doc), "sessions"));
	while (th_json_next(&it)) {
		struct th_str id = th_json_get_str(it.val, "session_id");

		assert_true(th_json_is_object(th_json_get(it.val, "metadata")));
		assert_true(th_json_get_int(it.val, "head_seq", 0) > 0);
		assert_int_equal(th_json_get_str(it.val, "head").len, 64);
		assert_true(th_json_get(it.val, "cost_nano") != NULL);
		snprintf(names + strlen(names), 256 - strlen(names), "%.*s ", TH_FMT(id));
		count++;
	}
	snprintf(next, 256, "%.*s", TH_FMT(th_json_get_str(th_json_root(doc), "next")));
	th_json_free(doc);
	thole_free(json);
	return count;
}

/* A session is its user's; one begun without a user is local's. */
static void one_session(void **state)
{
	static char too_long[TH_PATH_LEN_MAX + 2];
	const char *const of_ann[] = { "id", "s", "user", "ann", NULL };
	struct scripted *model = scripted_new(says_hello, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *agent = agent_of("a");
	struct thole_session *s = NULL;
	char names[256], next[256], *json = NULL;

	(void)state;
	GOOD(thole_session_new_with(rt, agent, of_ann, &s, &error));
	GOOD(thole_session_run(s, "go", &error));
	GOOD(thole_session_new(rt, agent, "mine", &s, &error));
	GOOD(thole_session_run(s, "go", &error));
	GOOD(thole_runtime_session(rt, "s", "ann", &json, &error));
	assert_non_null(strstr(json, "\"state\":\"finished\""));
	thole_free(json);
	GOOD(thole_runtime_session(rt, "s", NULL, &json, &error));
	thole_free(json);
	GOOD(thole_runtime_session(rt, "mine", "local", &json, &error));
	thole_free(json);
	BAD(THOLE_ENOENT, thole_runtime_session(rt, "s", "bob", &json, &error));
	assert_string_equal(error.text, "no session s");
	BAD(THOLE_ENOENT, thole_runtime_session(rt, "t", "bob", &json, &error));
	assert_string_equal(error.text, "no session t");
	BAD(THOLE_ENOENT, thole_runtime_session(rt, "mine", "ann", &json, &error));
	assert_int_equal(page(rt, (const char *[]){ "user", "local", NULL }, names, next), 1);
	assert_string_equal(names, "mine ");
	memset(too_long, 'x', sizeof(too_long) - 1);
	BAD(THOLE_EUSAGE, thole_runtime_session(NULL, "s", NULL, &json, &error));
	BAD(THOLE_EUSAGE, thole_runtime_session(rt, NULL, NULL, &json, &error));
	BAD(THOLE_EUSAGE, thole_runtime_session(rt, "s", "", &json, &error));
	BAD(THOLE_EUSAGE, thole_runtime_session(rt, "s", NULL, NULL, &error));
	BAD(THOLE_ELIMIT, thole_runtime_session(rt, too_long, NULL, &json, &error));
	thole_agent_free(agent);
	GOOD(thole_runtime_free(rt));
	scripted_free(model);
}

static void pages_of_sessions(void **state)
{
	struct scripted *model = scripted_new(says_hello, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *agent = agent_of("a");
	struct thole_session *s = NULL;
	char names[256], next[256], all[256], walked[256] = "", after[256], *json = NULL;
	static char text_too_long[TH_PATH_LEN_MAX + 2];
	const char *orders[] = { "updated", "created" };

	(void)state;
	for (int i = 0; i < 5; i++) {
		char id[16];

		snprintf(id, sizeof(id), "s%d", i);
		GOOD(thole_session_new(rt, agent, id, &s, &error));
		GOOD(thole_session_run(s, i % 2 ? "An odd task" : "Some task", &error));
	}
	assert_int_equal(page(rt, NULL, all, next), 5);
	assert_string_equal(next, "");
	for (size_t k = 0; k < 2; k++) {
		const char *first[] = { "order", orders[k], NULL };
		const char *options[] = { "order", orders[k], "limit", "2", NULL, NULL, NULL };

		assert_int_equal(page(rt, first, all, next), 5);
		walked[0] = '\0';
		for (int n = 0; n < 3; n++) {
			assert_int_equal(page(rt, options, names, next), n < 2 ? 2 : 1);
			strcat(walked, names);
			options[4] = "after";
			options[5] = strcpy(after, next);
			assert_int_equal(strlen(next) > 0, n < 2);
		}
		assert_string_equal(walked, all);
	}
	assert_int_equal(page(rt, (const char *[]){ "title", "ODD", NULL }, names, next), 2);
	assert_int_equal(page(rt, (const char *[]){ "agent", "a", NULL }, names, next), 5);
	assert_int_equal(page(rt, (const char *[]){ "agent", "b", NULL }, names, next), 0);
	assert_int_equal(page(rt, (const char *[]){ "prefix", "s3", NULL }, names, next), 1);
	assert_string_equal(names, "s3 ");
	assert_int_equal(page(rt, (const char *[]){ "state", "waiting", NULL }, names, next), 0);
	assert_int_equal(page(rt, (const char *[]){ "limit", "1000", NULL }, names, next), 5);
	BAD(THOLE_EUSAGE,
	    thole_runtime_page(rt, (const char *[]){ "limit", "1001", NULL }, &json, &error));
	BAD(THOLE_EUSAGE,
	    thole_runtime_page(rt, (const char *[]){ "limit", "0", NULL }, &json, &error));
	BAD(THOLE_EUSAGE,
	    thole_runtime_page(rt, (const char *[]){ "after", "x", NULL }, &json, &error));
	BAD(THOLE_EUSAGE,
	    thole_runtime_page(rt, (const char *[]){ "after", "c1.a", "order", "updated", NULL },
			       &json, &error));
	BAD(THOLE_EUSAGE,
	    thole_runtime_page(rt, (const char *[]){ "order", "updated", "after", "c1.a", NULL },
			       &json, &error));
	BAD(THOLE_EUSAGE,
	    thole_runtime_page(rt, (const char *[]){ "state", "tired", NULL }, &json, &error));
	BAD(THOLE_EUSAGE,
	    thole_runtime_page(rt, (const char *[]){ "metadata", "k", NULL }, &json, &error));
	BAD(THOLE_EUSAGE,
	    thole_runtime_page(rt, (const char *[]){ "colour", "red", NULL }, &json, &error));
	BAD(THOLE_EUSAGE, thole_runtime_page(rt, (const char *[]){ "user", NULL }, &json, &error));
	memset(text_too_long, 'x', sizeof(text_too_long) - 1);
	BAD(THOLE_ELIMIT, thole_runtime_page(rt, (const char *[]){ "title", text_too_long, NULL },
					     &json, &error));
	BAD(THOLE_EUSAGE, thole_runtime_page(NULL, NULL, &json, &error));
	BAD(THOLE_EUSAGE, thole_runtime_page(rt, NULL, NULL, &error));
	assert_null(json);
	GOOD(thole_runtime_free(rt));
	thole_agent_free(agent);
	scripted_free(model);
}

/* Calls `risky` once, then ends. */
static void one_call(void *ctx, const char *request, int nth, struct th_buf *items)
{
	(void)ctx;
	(void)nth;
	if (scripted_count(request, "function_call_output") == 0)
		scripted_call(items, "c1", "risky", "{\"sum\":7}");
	else
		scripted_say(items, "Done.");
}

static void risky(void *ctx, struct thole_call *call)
{
	static const unsigned char pixels[16] = { 1, 2, 3, 0, 4, 5, 6, 0, 7, 8, 9, 0, 1, 1, 1, 0 };

	++*(int *)ctx;
	GOOD(thole_call_pixels(call, pixels, 2, 2, 8, &error));
	GOOD(thole_call_done(call, "ok", &error));
}

static struct thole_agent *asking_agent(int *calls)
{
	struct thole_agent *agent = agent_of("a");
	struct thole_tool *tool = NULL;

	GOOD(thole_agent_tool(agent, "risky", risky, calls, &tool, &error));
	GOOD(thole_tool_ask(tool, true, &error));
	return agent;
}

static void store_new(char store[200])
{
	char folder[] = "/tmp/thole-lists-XXXXXX";

	assert_non_null(mkdtemp(folder));
	snprintf(store, 200, "sqlite:%s/log.db", folder);
}

static void store_remove(const char *store)
{
	char command[300];

	snprintf(command, sizeof(command), "rm -rf \"$(dirname '%s')\"", store + strlen("sqlite:"));
	assert_int_equal(system(command), 0);
}

static void users_and_metadata(void **state)
{
	struct scripted *model = scripted_new(says_hello, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *agent = agent_of("a");
	struct thole_session *s = NULL, *none = NULL;
	static char long_text[TH_METADATA_MAX + 2];
	char names[256], next[256];

	(void)state;
	GOOD(thole_session_new_with(rt, agent,
				    (const char *[]){ "id", "s1", "user", "anna", "metadata",
						      "{\"team\":\"red\",\"n\":1}", NULL },
				    &s, &error));
	GOOD(thole_session_run(s, "Hello", &error));
	GOOD(thole_session_new_with(rt, agent, (const char *[]){ "user", "berta", NULL }, &s,
				    &error));
	assert_int_equal(strlen(thole_session_id(s)), 36);
	GOOD(thole_session_run(s, "Hello", &error));
	GOOD(thole_session_new_with(rt, agent, NULL, &s, &error));
	GOOD(thole_session_run(s, "Hello", &error));
	assert_int_equal(page(rt, NULL, names, next), 3);
	for (int created = 0; created < 2; created++) {
		const char *order = created ? "created" : "updated";

		assert_int_equal(
		    page(rt, (const char *[]){ "user", "anna", "order", order, NULL }, names, next),
		    1);
		assert_string_equal(names, "s1 ");
		assert_int_equal(
		    page(rt, (const char *[]){ "metadata", "team=red", "order", order, NULL },
			 names, next),
		    1);
		assert_int_equal(page(rt,
				      (const char *[]){ "metadata", "n=1", "order", order, NULL },
				      names, next),
				 1);
		assert_int_equal(page(rt,
				      (const char *[]){ "metadata", "n=2", "order", order, NULL },
				      names, next),
				 0);
	}
	memset(long_text, 'x', sizeof(long_text) - 1);
	BAD(THOLE_ELIMIT,
	    thole_session_new_with(rt, agent, (const char *[]){ "metadata", long_text, NULL },
				   &none, &error));
	BAD(THOLE_ELIMIT,
	    thole_session_new_with(rt, agent, (const char *[]){ "user", long_text, NULL }, &none,
				   &error));
	long_text[TH_USER_MAX] = '\0';
	GOOD(thole_session_new_with(rt, agent, (const char *[]){ "user", long_text, NULL }, &s,
				    &error));
	BAD(THOLE_EUSAGE,
	    thole_session_new_with(rt, agent, (const char *[]){ "metadata", "[1]", NULL }, &none,
				   &error));
	BAD(THOLE_EUSAGE,
	    thole_session_new_with(rt, agent,
				   (const char *[]){ "metadata", "{\"delegated_by\":{}}", NULL },
				   &none, &error));
	BAD(THOLE_EUSAGE,
	    thole_session_new_with(rt, agent, (const char *[]){ "x", "y", NULL }, &none, &error));
	BAD(THOLE_EUSAGE, thole_session_new_with(NULL, agent, NULL, &none, &error));
	assert_null(none);
	GOOD(thole_runtime_free(rt));
	thole_agent_free(agent);
	scripted_free(model);
}

/* How many wait, and the name of the first one's call. */
static size_t waiting(struct thole_runtime *rt, const char *user, char call_id[64])
{
	struct th_json_doc *doc = NULL;
	const struct th_json *list, *first;
	char *json = NULL;
	size_t count;

	call_id[0] = '\0';
	GOOD(thole_runtime_waiting(rt, user, NULL, 0, &json, &error));
	assert_int_equal(th_json_parse(th_str_of(json), &doc, NULL), TH_OK);
	list = th_json_get(th_json_root(doc), "waiting");
	count = th_json_count(list);
	if (count > 0) {
		struct th_json_iter it = th_json_iter(list);

		assert_true(th_json_next(&it));
		first = it.val;
		assert_true(th_str_is(th_json_get_str(first, "tool"), "risky"));
		assert_true(th_str_is(th_json_get_str(first, "word"), "approve"));
		assert_int_equal(th_json_get_int(th_json_get(first, "arguments"), "sum", 0), 7);
		assert_true(th_json_get_int(first, "asked_ms", 0) > 0);
		snprintf(call_id, 64, "%.*s", TH_FMT(th_json_get_str(first, "call_id")));
	}
	th_json_free(doc);
	thole_free(json);
	return count;
}

static int count_kind(void *ctx, const char *line, size_t len)
{
	const struct th_str text = th_str_n(line, len);

	*(int *)ctx += th_str_is(th_json_raw_get(text, "kind"), "\"approval_decided\"");
	return 0;
}

/* What a session refuses leaves nothing behind that the commits of others could take away: the
 * next event of it is written whole. */
static void refused_then_said(void **state)
{
	struct scripted *model = scripted_new(one_call, NULL);
	struct thole_runtime *rt;
	struct thole_session *s = NULL, *other = NULL;
	char store[200];
	int calls = 0, decided = 0;
	struct thole_agent *agent = asking_agent(&calls);

	(void)state;
	store_new(store);
	rt = runtime_at(scripted_url(model), store);
	GOOD(thole_session_new(rt, agent, "s", &s, &error));
	GOOD(thole_session_run(s, "go", &error));
	GOOD(thole_session_approve(s, NULL, "me", &error));
	GOOD(thole_session_wait(s, -1, &error));
	for (int i = 0; i < 3; i++) {
		BAD(THOLE_EPROTO, thole_session_cancel(s, THOLE_NOW, &error));
		BAD(THOLE_EPROTO, thole_session_pause(s, "it is over", &error));
		GOOD(thole_session_new(rt, agent, NULL, &other, &error));
		GOOD(thole_session_run(other, "go", &error));
		thole_session_free(other);
	}
	GOOD(thole_session_message(s, "and now?", &error));
	GOOD(thole_session_wait(s, -1, &error));
	assert_string_equal(thole_session_output(s), "Done.");
	GOOD(thole_runtime_log(rt, "s", 1, count_kind, &decided, &error));
	assert_int_equal(decided, 1);
	thole_agent_free(agent);
	GOOD(thole_runtime_free(rt));
	store_remove(store);
	scripted_free(model);
}

/* Who asked counts one, and what came of it ten. */
static int count_condensed(void *ctx, const char *line, size_t len)
{
	const struct th_str text = th_str_n(line, len), kind = th_json_raw_get(text, "kind");

	*(int *)ctx += th_str_is(kind, "\"condensation_requested\"") &&
		       th_str_find(text, TH_STR("\"by\":\"Ann\"")) > 0;
	*(int *)ctx += 10 * th_str_is(kind, "\"condensation\"");
	return 0;
}

/* It is in the log when it was asked for, also of a session that rests, which goes on with it. */
static void condensed_on_request(void **state)
{
	struct scripted *model = scripted_new(one_call, NULL);
	struct thole_runtime *rt;
	struct thole_session *s = NULL;
	char store[200];
	int calls = 0, asked = 0;
	struct thole_agent *agent = asking_agent(&calls);

	(void)state;
	store_new(store);
	rt = runtime_at(scripted_url(model), store);
	GOOD(thole_session_new(rt, agent, "s", &s, &error));
	GOOD(thole_session_run(s, "go", &error));
	GOOD(thole_session_approve(s, NULL, "me", &error));
	GOOD(thole_session_wait(s, -1, &error));
	GOOD(thole_session_condense(s, "Ann", &error));
	GOOD(thole_session_message(s, "and now?", &error));
	GOOD(thole_session_wait(s, -1, &error));
	/* The model no longer sees its call, and makes it again. */
	assert_int_equal(thole_session_state(s), THOLE_WAITING);
	GOOD(thole_runtime_log(rt, "s", 1, count_condensed, &asked, &error));
	assert_int_equal(asked, 11);
	thole_agent_free(agent);
	GOOD(thole_runtime_free(rt));
	store_remove(store);
	scripted_free(model);
}

static void decided_while_nobody_has_it(void **state)
{
	struct scripted *model = scripted_new(one_call, NULL);
	char store[200], call_id[64];
	struct thole_runtime *rt;
	struct thole_agent *agent;
	struct thole_session *s[3] = { 0 };
	static char long_text[TH_PATH_LEN_MAX + 2];
	const char *ids[] = { "s0", "s1", "s2" };
	char *json = NULL;
	int calls = 0;

	(void)state;
	store_new(store);
	rt = runtime_at(scripted_url(model), store);
	agent = asking_agent(&calls);
	for (size_t i = 0; i < 3; i++) {
		GOOD(thole_session_new_with(
		    rt, agent, (const char *[]){ "id", ids[i], "user", i ? "anna" : "berta", NULL },
		    &s[i], &error));
		GOOD(thole_session_run(s[i], "go", &error));
		assert_int_equal(thole_session_state(s[i]), THOLE_WAITING);
	}
	assert_int_equal(waiting(rt, NULL, call_id), 3);
	assert_int_equal(waiting(rt, "anna", call_id), 2);
	assert_int_equal(waiting(rt, "carla", call_id), 0);
	/* One that is open here. */
	assert_int_equal(waiting(rt, "berta", call_id), 1);
	assert_int_equal(strncmp(call_id, "c1#", 3), 0);
	GOOD(thole_runtime_approve(rt, "s0", call_id, "me", false, &error));
	GOOD(thole_session_wait(s[0], -1, &error));
	assert_string_equal(thole_session_output(s[0]), "Done.");
	assert_int_equal(calls, 1);
	/* Two that nobody has. */
	GOOD(thole_runtime_free(rt));
	rt = runtime_at(scripted_url(model), store);
	assert_int_equal(waiting(rt, NULL, call_id), 2);
	GOOD(thole_runtime_approve(rt, "s1", call_id, "me", true, &error));
	assert_int_equal(waiting(rt, NULL, call_id), 1);
	BAD(THOLE_ENOENT, thole_runtime_approve(rt, "s1", NULL, "me", false, &error));
	BAD(THOLE_ENOENT, thole_runtime_settle(rt, "s2", NULL, THOLE_DONE, "me", NULL, &error));
	GOOD(thole_runtime_reject(rt, "s2", "c1", "me", "Not today.", false, &error));
	assert_int_equal(waiting(rt, NULL, call_id), 0);
	GOOD(thole_session_open(rt, agent, "s1", &s[1], &error));
	GOOD(thole_session_run(s[1], NULL, &error));
	assert_string_equal(thole_session_output(s[1]), "Done.");
	assert_int_equal(calls, 2);
	GOOD(thole_session_open(rt, agent, "s2", &s[2], &error));
	GOOD(thole_session_run(s[2], NULL, &error));
	assert_string_equal(thole_session_output(s[2]), "Done.");
	assert_int_equal(calls, 2);
	/* Misuse. */
	memset(long_text, 'x', sizeof(long_text) - 1);
	BAD(THOLE_ENOENT, thole_runtime_approve(rt, "nobody", NULL, NULL, false, &error));
	BAD(THOLE_EUSAGE, thole_runtime_approve(NULL, "s1", NULL, NULL, false, &error));
	BAD(THOLE_EUSAGE, thole_runtime_answer(NULL, "s1", NULL, NULL, "yes", &error));
	BAD(THOLE_ENOENT, thole_runtime_answer(rt, "nobody", NULL, NULL, "yes", &error));
	BAD(THOLE_EUSAGE, thole_runtime_reject(NULL, "s1", NULL, NULL, NULL, false, &error));
	BAD(THOLE_EUSAGE, thole_runtime_settle(NULL, "s1", NULL, THOLE_DONE, NULL, NULL, &error));
	BAD(THOLE_EUSAGE,
	    thole_runtime_settle(rt, "s1", NULL, (enum thole_outcome)9, NULL, NULL, &error));
	BAD(THOLE_ELIMIT, thole_runtime_approve(rt, long_text, NULL, NULL, false, &error));
	BAD(THOLE_ELIMIT, thole_runtime_answer(rt, "s1", long_text, NULL, "yes", &error));
	BAD(THOLE_ELIMIT, thole_runtime_reject(rt, "s1", long_text, NULL, NULL, false, &error));
	BAD(THOLE_ELIMIT,
	    thole_runtime_settle(rt, "s1", NULL, THOLE_DONE, long_text, NULL, &error));
	BAD(THOLE_ELIMIT, thole_runtime_waiting(rt, long_text, NULL, 0, &json, &error));
	BAD(THOLE_EUSAGE, thole_runtime_waiting(NULL, NULL, NULL, 0, &json, &error));
	BAD(THOLE_EUSAGE, thole_runtime_waiting(rt, NULL, "u1.a", 0, &json, &error));
	BAD(THOLE_EUSAGE, thole_runtime_waiting(rt, NULL, NULL, 1001, &json, &error));
	BAD(THOLE_EUSAGE, thole_runtime_waiting(rt, NULL, NULL, 0, NULL, &error));
	assert_null(json);
	GOOD(thole_runtime_free(rt));
	thole_agent_free(agent);
	scripted_free(model);
	store_remove(store);
}

/* The hash of the first blob that a log names. */
static int find_blob(void *ctx, const char *line, size_t len)
{
	const char *at = memmem(line, len, "\"blob\":\"", 8);

	if (at)
		snprintf(ctx, 65, "%.64s", at + 8);
	return at ? 1 : 0;
}

struct bytes {
	unsigned char data[4096];
	size_t size;
	int result, calls;
};

static int take_bytes(void *ctx, const void *bytes, size_t size)
{
	struct bytes *b = ctx;

	assert_true(size <= sizeof(b->data));
	memcpy(b->data, bytes, size);
	b->size = size;
	b->calls++;
	return b->result;
}

static void blobs(void **state)
{
	struct scripted *model = scripted_new(one_call, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_session *s = NULL;
	struct bytes whole = { 0 }, part = { 0 };
	char hash[65] = "", other[65];
	size_t size = 0;
	int calls = 0;
	struct thole_agent *agent = asking_agent(&calls);

	(void)state;
	GOOD(thole_session_new(rt, agent, "s", &s, &error));
	GOOD(thole_session_run(s, "go", &error));
	GOOD(thole_session_approve(s, NULL, NULL, &error));
	GOOD(thole_session_wait(s, -1, &error));
	assert_int_equal(thole_runtime_log(rt, "s", 1, find_blob, hash, &error), 1);
	GOOD(thole_runtime_blob(rt, hash, 0, 0, take_bytes, &whole, &size, &error));
	assert_int_equal(whole.size, size);
	assert_memory_equal(whole.data + 1, "PNG", 3);
	GOOD(thole_runtime_blob(rt, hash, 1, 3, take_bytes, &part, NULL, &error));
	assert_int_equal(part.size, 3);
	assert_memory_equal(part.data, "PNG", 3);
	GOOD(thole_runtime_blob(rt, hash, size - 1, 100, take_bytes, &part, NULL, &error));
	assert_int_equal(part.size, 1);
	GOOD(thole_runtime_blob(rt, hash, size, 100, take_bytes, &part, &size, &error));
	assert_int_equal(part.calls, 2); /* there is nothing */
	part.result = 7;
	assert_int_equal(thole_runtime_blob(rt, hash, 0, 0, take_bytes, &part, NULL, &error), 7);
	memset(other, '0', 64);
	other[64] = '\0';
	BAD(THOLE_ENOENT, thole_runtime_blob(rt, other, 0, 0, take_bytes, &part, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_blob(rt, "no", 0, 0, take_bytes, &part, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_blob(NULL, hash, 0, 0, take_bytes, &part, NULL, &error));
	BAD(THOLE_EUSAGE, thole_runtime_blob(rt, hash, 0, 0, NULL, NULL, NULL, &error));
	BAD(THOLE_ELIMIT,
	    thole_runtime_blob(rt,
			       "000000000000000000000000000000000000000000000000000000000000000000",
			       0, 0, take_bytes, &part, NULL, &error));
	GOOD(thole_runtime_free(rt));
	thole_agent_free(agent);
	scripted_free(model);
}

struct recovered {
	struct thole_agent *agent;
	char names[200];
	struct thole_session *s[8];
	int count, asked, failed;
};

static bool wants(void *ctx, const char *json, struct thole_agent **agent)
{
	struct recovered *r = ctx;

	r->asked++;
	*agent = r->agent;
	return !strstr(json, "\"session_id\":\"left\"");
}

static void on_recovered(void *ctx, const char *id, struct thole_session *s,
			 const struct thole_error *why)
{
	struct recovered *r = ctx;

	r->failed += why != NULL;
	r->s[r->count++] = s;
	strcat(strcat(r->names, id), " ");
}

static void on_left(void *ctx, const struct thole_error *why)
{
	(void)ctx;
	(void)why;
	fail();
}

static void recovery(void **state)
{
	struct scripted *model = scripted_new(one_call, NULL);
	struct recovered r = { 0 };
	struct thole_session *s = NULL;
	struct thole_runtime *rt, *rival;
	const char *ids[] = { "left", "done", "rivals", "waits", "idle" };
	char store[200];
	int calls = 0;

	(void)state;
	store_new(store);
	rt = runtime_at(scripted_url(model), store);
	r.agent = asking_agent(&calls);
	for (size_t i = 0; i < 5; i++) {
		GOOD(thole_session_new(rt, r.agent, ids[i], &s, &error));
		if (i < 4)
			GOOD(thole_session_run(s, "go", &error));
		if (i == 1)
			GOOD(thole_session_cancel(s, THOLE_NOW, &error));
		GOOD(thole_session_wait(s, -1, &error));
	}
	GOOD(thole_runtime_free(rt));
	rival = runtime_at(scripted_url(model), store);
	GOOD(thole_session_open(rival, r.agent, "rivals", &s, &error));
	rt = runtime_at(scripted_url(model), store);
	BAD(THOLE_EUSAGE, thole_runtime_recover(NULL, wants, on_recovered, &r, true, &error));
	BAD(THOLE_EUSAGE, thole_runtime_recover(rt, NULL, on_recovered, &r, true, &error));
	BAD(THOLE_EUSAGE, thole_runtime_take_over(NULL, wants, on_recovered, &r, &error));
	BAD(THOLE_EUSAGE, thole_runtime_take_over(rt, wants, NULL, &r, &error));
	GOOD(
	    thole_runtime_take_over(rt, wants, on_recovered, &r, &error)); /* this store has none */
	assert_int_equal(r.asked, 0);
	/* Nor does anybody tell anything there. */
	BAD(THOLE_EUSAGE, thole_runtime_when_left(NULL, on_left, &r, &error));
	GOOD(thole_runtime_when_left(rt, on_left, &r, &error));
	GOOD(thole_runtime_when_left(rt, NULL, NULL, &error));
	GOOD(thole_runtime_recover(rt, wants, on_recovered, &r, true, &error));
	assert_int_equal(r.asked, 4); /* not the one that is over */
	assert_int_equal(r.count, 3);
	assert_int_equal(r.failed, 1);
	assert_int_equal(thole_runtime_sessions(rt), 2);
	for (int i = 0; i < r.count; i++) {
		if (!r.s[i] || thole_session_state(r.s[i]) != THOLE_WAITING)
			continue;
		assert_string_equal(thole_session_id(r.s[i]), "waits");
		GOOD(thole_session_approve(r.s[i], NULL, NULL, &error));
		GOOD(thole_session_wait(r.s[i], -1, &error));
		assert_string_equal(thole_session_output(r.s[i]), "Done.");
	}
	assert_int_equal(calls, 1);
	GOOD(thole_runtime_free(rival));
	GOOD(thole_runtime_free(rt));
	thole_agent_free(r.agent);
	scripted_free(model);
	store_remove(store);
}

/* One that is not begun, since its agent cannot be: it is free for others. */
static void recovery_not_begun(void **state)
{
	struct scripted *model = scripted_new(one_call, NULL);
	struct recovered r = { .agent = agent_of("b") };
	struct thole_session *s = NULL;
	struct thole_agent *agent;
	struct thole_runtime *rt, *rival;
	char store[200];
	int calls = 0, code = THOLE_EBUSY;

	(void)state;
	store_new(store);
	rt = runtime_at(scripted_url(model), store);
	agent = asking_agent(&calls);
	GOOD(thole_session_new(rt, agent, "one", &s, &error));
	GOOD(thole_session_run(s, "go", &error));
	GOOD(thole_runtime_free(rt));
	rival = runtime_at(scripted_url(model), store);
	rt = runtime_at(scripted_url(model), store);
	GOOD(thole_agent_set_json(r.agent, "tools", "[\"shell\"]", &error));
	GOOD(thole_agent_set(r.agent, "workspace", "/dev/null/none", &error));
	GOOD(thole_runtime_recover(rt, wants, on_recovered, &r, true, &error));
	assert_int_equal(r.failed, 1);
	assert_null(r.s[0]);
	for (int i = 0; i < 30 && code == THOLE_EBUSY; i++) {
		struct pollfd given = { .fd = thole_runtime_fd(rt), .events = POLLIN };

		code = thole_session_open(rival, agent, "one", &s, &error);
		if (code == THOLE_EBUSY)
			poll(&given, 1, 100);
		GOOD(thole_runtime_dispatch(rt, &error));
	}
	assert_int_equal(code, THOLE_OK);
	GOOD(thole_runtime_free(rival));
	GOOD(thole_runtime_free(rt));
	thole_agent_free(agent);
	thole_agent_free(r.agent);
	scripted_free(model);
	store_remove(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_of_sessions),
		cmocka_unit_test(one_session),
		cmocka_unit_test(users_and_metadata),
		cmocka_unit_test(decided_while_nobody_has_it),
		cmocka_unit_test(refused_then_said),
		cmocka_unit_test(blobs),
		cmocka_unit_test(condensed_on_request),
		cmocka_unit_test(recovery),
		cmocka_unit_test(recovery_not_begun),
	};

	return cmocka_run_group_tests(tests, away_from_home, NULL);
}
