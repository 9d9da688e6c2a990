/* SPDX-License-Identifier: Apache-2.0 */
/* A person in the agent's place, on a computer that the program makes. */
#include "base/buf.h"
#include "base/limits.h"
#include "rig.h"

#include <poll.h>

#define SIDE 8

struct desk {
	int acts, looks, done;
	char status[16], text[256];
};

static void on_see(void *ctx, struct thole_call *call)
{
	struct desk *d = ctx;
	static const unsigned char pixels[SIDE * SIDE * 4];

	d->looks++;
	GOOD(thole_call_pixels(call, pixels, SIDE, SIDE, (size_t)SIDE * 4, &error));
	GOOD(thole_call_done(call, NULL, &error));
}

static void on_act(void *ctx, struct thole_call *call)
{
	struct desk *d = ctx;

	d->acts++;
	if (strcmp(thole_call_string(call, "type"), "key") == 0)
		GOOD(thole_call_fail(call, "there are no keys", &error));
	else
		GOOD(thole_call_done(call, NULL, &error));
}

static void on_done(void *ctx, struct thole_session *s, const char *status, const char *text)
{
	struct desk *d = ctx;

	(void)s;
	snprintf(d->status, sizeof(d->status), "%s", status);
	snprintf(d->text, sizeof(d->text), "%s", text ? text : "");
	d->done++;
}

static void spin(struct thole_runtime *rt, const int *count, int wanted)
{
	while (*count < wanted) {
		struct pollfd p = { .fd = thole_runtime_fd(rt), .events = POLLIN };

		(void)!poll(&p, 1, thole_runtime_timeout_ms(rt));
		GOOD(thole_runtime_dispatch(rt, &error));
	}
}

static int count_kinds(void *ctx, const char *line, size_t len)
{
	char *kinds = ctx;
	static const char *const names[] = { "control", "input_done", "input" };

	for (size_t i = 0; i < 3; i++) {
		char wanted[32];

		snprintf(wanted, sizeof(wanted), "\"kind\":\"%s\"", names[i]);
		if (memmem(line, len, wanted, strlen(wanted)))
			strcat(strcat(kinds, names[i]), " ");
	}
	return 0;
}

static void test_control(void **state)
{
	struct thole_runtime *rt = runtime_at("http://127.0.0.1:1/v1", "memory:");
	struct thole_agent *agent = agent_of("desk");
	struct thole_session *s = NULL;
	struct desk d = { 0 };
	char kinds[256] = "", too_long[5000] = { 0 };

	(void)state;
	memset(too_long, 'x', sizeof(too_long) - 1);
	GOOD(thole_agent_computer(agent, SIDE, SIDE, on_see, on_act, &d, &error));
	GOOD(thole_session_new(rt, agent, "desk", &s, &error));
	thole_agent_free(agent);
	assert_int_equal(thole_session_control(s), THOLE_CONTROL_AGENT);
	assert_null(thole_session_holder(s));
	BAD(THOLE_EPROTO, thole_session_give(s, "ann", NULL, NULL, &error));
	BAD(THOLE_ELIMIT, thole_session_take(s, too_long, &error));
	BAD(THOLE_EUSAGE, thole_session_take(NULL, "ann", &error));
	GOOD(thole_session_take(s, "ann", &error));
	BAD(THOLE_EBUSY, thole_session_take(s, "ben", &error));
	assert_int_equal(thole_session_control(s), THOLE_CONTROL_PERSON);
	assert_string_equal(thole_session_holder(s), "ann");

	BAD(THOLE_EUSAGE, thole_session_input(s, "ann", "{}", on_done, &d, &error));
	BAD(THOLE_EUSAGE, thole_session_input(s, "ann", "[]", NULL, &d, &error));
	BAD(THOLE_EUSAGE, thole_session_input(NULL, "ann", "[]", on_done, &d, &error));
	BAD(THOLE_ELIMIT, thole_session_input(s, too_long, "[]", on_done, &d, &error));
	BAD(THOLE_EUNSUPPORTED, thole_session_type(s, "ann", "ls", on_done, &d, &error));
	BAD(THOLE_EUSAGE, thole_session_type(s, "ann", "", on_done, &d, &error));
	BAD(THOLE_EUSAGE, thole_session_type(s, "ann", "ls", NULL, &d, &error));
	BAD(THOLE_EUSAGE, thole_session_type(NULL, "ann", "ls", on_done, &d, &error));
	BAD(THOLE_ELIMIT, thole_session_type(s, "ann", too_long, on_done, &d, &error));
	GOOD(thole_session_input(s, "ann", "[{\"type\":\"move\",\"x\":1,\"y\":2}]", on_done, &d,
				 &error));
	/* Nothing is done before its event is durable, and one is done at a time. */
	assert_int_equal(d.acts, 0);
	BAD(THOLE_EBUSY, thole_session_input(s, "ann", "[]", on_done, &d, &error));
	spin(rt, &d.done, 1);
	assert_int_equal(d.acts, 1);
	assert_string_equal(d.status, "done");
	GOOD(thole_session_input(s, "ann", "[{\"type\":\"key\",\"keys\":[\"a\"]}]", on_done, &d,
				 &error));
	spin(rt, &d.done, 2);
	assert_string_equal(d.status, "failed");
	GOOD(thole_session_input(s, "ann", "[{\"type\":\"move\",\"x\":99,\"y\":2}]", on_done, &d,
				 &error));
	spin(rt, &d.done, 3);
	assert_string_equal(d.status, "refused");
	assert_int_equal(d.acts, 2);

	BAD(THOLE_ELIMIT, thole_session_give(s, "ann", too_long, NULL, &error));
	BAD(THOLE_EUSAGE, thole_session_give(NULL, "ann", NULL, NULL, &error));
	/* Nothing was asked of the agent, so nothing is told to it. */
	GOOD(thole_session_give(s, "ann", NULL, NULL, &error));
	assert_int_equal(thole_session_control(s), THOLE_CONTROL_AGENT);
	assert_int_equal(thole_session_state(s), THOLE_IDLE);
	GOOD(thole_session_wait(s, -1, &error));
	GOOD(thole_runtime_log(rt, "desk", 1, count_kinds, kinds, &error));
	assert_string_equal(kinds,
			    "control input input_done input input_done input input_done control ");
	assert_int_equal(thole_session_control(NULL), THOLE_CONTROL_AGENT);
	assert_null(thole_session_holder(NULL));
	GOOD(thole_runtime_free(rt));
}

static void on_answer(void *ctx, struct thole_session *s, const char *answer, const char *why)
{
	struct desk *d = ctx;

	(void)s;
	snprintf(d->text, sizeof(d->text), "%s", answer ? answer : why);
	d->done++;
}

static int take_secrets(void *ctx, const char *line, size_t len)
{
	struct th_buf *out = ctx;

	if (strstr(line, "session_changed"))
		th_buf_add(out, th_str_n(line, len));
	return 0;
}

/* Names and values are looked at before anything is done, and only names are in the log. */
static void test_secrets(void **state)
{
	struct thole_runtime *rt = runtime_at("http://127.0.0.1:1/v1", "memory:");
	struct thole_agent *agent = agent_of("given");
	struct th_buf text = TH_BUF_INIT(TH_MIB), log = TH_BUF_INIT(TH_MIB);
	struct thole_session *s = NULL;
	char *too_long = calloc(1, TH_SECRETS_JSON_MAX + 2);
	static const char *const bad[] = {
		"[]",
		"{",
		"{\"T\":1}",
		"{\"T\":\"1234567\"}",
		"{\"1T\":\"12345678\"}",
		"{\"T\":\"1234567\\u0000\"}",
		"{\"OWN\":\"12345678\"}",
		"{\"T\":{}}",
		"{\"T\":{\"url\":\"file:///etc/passwd\"}}",
		"{\"T\":{\"url\":\"http://a.example/ b\"}}",
		"{\"T\":{\"url\":\"http://a.example/\",\"headers\":[]}}",
		"{\"T\":{\"url\":\"http://a.example/\",\"headers\":{\"X-A\":1}}}",
		"{\"T\":{\"url\":\"http://a.example/\",\"headers\":{\"X-A\":\"a\\nb\"}}}",
		"{\"T\":{\"url\":\"http://a.example/\",\"headers\":{\"Host\":\"b.example\"}}}",
	};

	(void)state;
	assert_non_null(too_long);
	memset(too_long, ' ', TH_SECRETS_JSON_MAX + 1);
	setenv("OWN", "the agent's own", 1);
	GOOD(thole_agent_set_json(agent, "secrets", "{\"OWN\":{\"give\":true}}", &error));
	GOOD(thole_session_new(rt, agent, "given", &s, &error));
	thole_agent_free(agent);
	BAD(THOLE_EUSAGE, thole_session_give_secrets(NULL, "{}", "ann", &error));
	BAD(THOLE_EUSAGE, thole_session_give_secrets(s, NULL, "ann", &error));
	BAD(THOLE_ELIMIT, thole_session_give_secrets(s, too_long, "ann", &error));
	for (size_t i = 0; i < TH_COUNT(bad); i++)
		BAD(THOLE_EUSAGE, thole_session_give_secrets(s, bad[i], "ann", &error));
	GOOD(thole_session_give_secrets(s, "{}", NULL, &error)); /* nothing is said */
	/* 63 names beside the agent's; one more is too many, but one in the place of another. */
	for (int i = 0; i < TH_SECRETS_MAX - 1; i++)
		th_buf_printf(&text, "%s\"T%d\":\"value-%d-of-many\"", i ? "," : "{", i, i);
	th_buf_add_char(&text, '}');
	GOOD(thole_session_give_secrets(s, text.ptr, "ann", &error));
	BAD(THOLE_ELIMIT, thole_session_give_secrets(s, "{\"U\":\"one too many\"}", "ann", &error));
	GOOD(thole_session_give_secrets(s, "{\"T0\":null,\"U\":\"now there is room\"}", "ann",
					&error));
	/* The former values count, too; the same one again does not. */
	for (int i = TH_SECRETS_MAX; i < TH_SECRETS_GIVEN_MAX; i++) {
		th_buf_clear(&text);
		th_buf_printf(&text, "{\"U\":\"another-value-%d\"}", i);
		GOOD(thole_session_give_secrets(s, text.ptr, "ann", &error));
	}
	GOOD(thole_session_give_secrets(s, "{\"U\":\"another-value-100\"}", "ann", &error));
	BAD(THOLE_ELIMIT,
	    thole_session_give_secrets(s, "{\"U\":\"the last of all\"}", "ann", &error));
	GOOD(thole_session_wait(s, -1, &error));
	GOOD(thole_runtime_log(rt, "given", 1, take_secrets, &log, &error));
	assert_non_null(strstr(log.ptr, "\"secrets\":[\"T0\",\"U\"],\"by\":\"ann\""));
	assert_null(strstr(log.ptr, "value"));
	assert_null(strstr(log.ptr, "room"));
	GOOD(thole_runtime_free(rt));
	th_buf_deinit(&text);
	th_buf_deinit(&log);
	free(too_long);
}

static int give_source(struct thole_session *s, size_t url, size_t headers, size_t value)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);

	th_buf_add_cstr(&text, "{\"T\":{\"url\":\"http://a.example/");
	for (size_t i = strlen("http://a.example/"); i < url; i++)
		th_buf_add_char(&text, 'u');
	th_buf_add_cstr(&text, "\",\"headers\":{");
	for (size_t i = 0; i < headers; i++) {
		th_buf_printf(&text, "%s\"X-%zu\":\"", i ? "," : "", i);
		for (size_t j = 0; j < value; j++)
			th_buf_add_char(&text, 'v');
		th_buf_add_char(&text, '"');
	}
	th_buf_add_cstr(&text, "}}}");
	return thole_session_give_secrets(s, text.ptr, "ann", &error);
}

/* Where a value is looked up has limits of its own; it takes the place of a name. */
static void test_sources(void **state)
{
	struct thole_runtime *rt = runtime_at("http://127.0.0.1:1/v1", "memory:");
	struct thole_agent *agent = agent_of("given");
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	struct thole_session *s = NULL;

	(void)state;
	GOOD(thole_session_new(rt, agent, "given", &s, &error));
	thole_agent_free(agent);
	GOOD(give_source(s, TH_SECRET_URL_MAX, TH_SECRET_HEADERS_MAX, TH_SECRET_HEADER_MAX));
	BAD(THOLE_EUSAGE, give_source(s, TH_SECRET_URL_MAX + 1, 1, 1));
	BAD(THOLE_EUSAGE, give_source(s, 20, TH_SECRET_HEADERS_MAX + 1, 1));
	BAD(THOLE_EUSAGE, give_source(s, 20, 1, TH_SECRET_HEADER_MAX + 1));
	for (int i = 0; i < TH_SECRETS_MAX - 1; i++)
		th_buf_printf(&text, "%s\"T%d\":{\"url\":\"http://a.example/%d\"}", i ? "," : "{",
			      i, i);
	th_buf_add_char(&text, '}');
	GOOD(thole_session_give_secrets(s, text.ptr, "ann", &error));
	BAD(THOLE_ELIMIT, thole_session_give_secrets(s, "{\"U\":\"one too many\"}", "ann", &error));
	GOOD(thole_session_give_secrets(s, "{\"T\":null,\"U\":\"now there is room\"}", "ann",
					&error));
	GOOD(thole_runtime_free(rt));
	th_buf_deinit(&text);
}

/* How many long values a session takes, whose agent has a long one of its own, or not. */
static int long_values(const char *secrets)
{
	struct thole_runtime *rt = runtime_at("http://127.0.0.1:1/v1", "memory:");
	struct thole_agent *agent = agent_of("given");
	struct thole_session *s = NULL;
	char own[TH_MASK_LEN_MAX + 1] = "", text[TH_MASK_LEN_MAX + 64];
	uint32_t at = 7;
	int count = 0, code;

	memset(own, 'o', TH_MASK_LEN_MAX);
	setenv("OWN", own, 1);
	GOOD(thole_agent_set_json(agent, "secrets", secrets, &error));
	GOOD(thole_session_new(rt, agent, "given", &s, &error));
	thole_agent_free(agent);
	do {
		int len = snprintf(text, sizeof(text), "{\"T%d\":\"", count);

		for (int i = 0; i < TH_MASK_LEN_MAX; i++) {
			at = at * 1664525 + 1013904223;
			text[len++] = (char)('a' + (at >> 16) % 26);
		}
		memcpy(text + len, "\"}", 3);
		code = thole_session_give_secrets(s, text, "ann", &error);
	} while (code == THOLE_OK && ++count < TH_SECRETS_MAX - 1);
	assert_int_equal(code, THOLE_ELIMIT);
	/* What was refused takes no room. */
	GOOD(thole_session_give_secrets(s, "{\"S\":\"a short one\"}", "ann", &error));
	GOOD(thole_runtime_free(rt));
	return count;
}

/* What its executor could not mask is refused here, where it can be said. */
static void test_secrets_fit(void **state)
{
	int alone = long_values("{}");

	(void)state;
	assert_in_range(alone, 2, TH_SECRETS_MAX - 2);
	assert_int_equal(long_values("{\"OWN\":{\"give\":true}}"), alone - 1);
}

/* A question beside the task, to a model that is not there. */
static void test_ask(void **state)
{
	struct thole_runtime *rt = runtime_at("http://127.0.0.1:1/v1", "memory:");
	struct thole_agent *agent = agent_of("asked");
	struct thole_session *s = NULL;
	struct desk d = { 0 };
	char *too_long = calloc(1, 65538);

	(void)state;
	assert_non_null(too_long);
	memset(too_long, 'x', 65537);
	GOOD(thole_agent_set_json(agent, "limits", "{\"model_attempts\":1}", &error));
	GOOD(thole_session_new(rt, agent, "asked", &s, &error));
	thole_agent_free(agent);
	BAD(THOLE_EUSAGE, thole_session_ask(NULL, "ann", "why?", on_answer, &d, &error));
	BAD(THOLE_EUSAGE, thole_session_ask(s, "ann", "why?", NULL, &d, &error));
	BAD(THOLE_EUSAGE, thole_session_ask(s, "", "why?", on_answer, &d, &error));
	BAD(THOLE_EUSAGE, thole_session_ask(s, "ann", "", on_answer, &d, &error));
	BAD(THOLE_ELIMIT, thole_session_ask(s, "ann", too_long, on_answer, &d, &error));
	GOOD(thole_session_ask(s, "ann", "why?", on_answer, &d, &error));
	BAD(THOLE_EBUSY, thole_session_ask(s, "ann", "why?", on_answer, &d, &error));
	spin(rt, &d.done, 1);
	assert_non_null(strstr(d.text, "127.0.0.1"));
	assert_int_equal(thole_session_state(s), THOLE_IDLE);
	free(too_long);
	GOOD(thole_runtime_free(rt));
}

/* What it refuses; what it does is tried with an executor (tests/e2e/cli/test_openhands_work.py).
 */
static void test_command(void **state)
{
	static const char *const wrong[][3] = {
		{ "folder", "", NULL },       { "seconds", "0", NULL },
		{ "seconds", "86401", NULL }, { "bytes", "0", NULL },
		{ "bytes", "393217", NULL },  { "looks", "no", NULL },
		{ "colour", "red", NULL },
	};
	struct thole_runtime *rt = runtime_at("http://127.0.0.1:1/v1", "memory:");
	struct thole_agent *agent = agent_of("sh"), *none = agent_of("none");
	struct thole_session *s = NULL, *without = NULL;
	struct desk d = { 0 };
	size_t size = 96 * (size_t)1024;
	char *too_long = calloc(1, 500 * (size_t)1024);
	const char *input[] = { "input", too_long, NULL };

	(void)state;
	assert_non_null(too_long);
	GOOD(thole_agent_set_json(agent, "tools", "[\"shell\"]", &error));
	GOOD(thole_agent_set_json(none, "tools", "[]", &error));
	GOOD(thole_session_new(rt, agent, "sh", &s, &error));
	GOOD(thole_session_new(rt, none, "none", &without, &error));
	thole_agent_free(agent);
	thole_agent_free(none);
	BAD(THOLE_EUNSUPPORTED,
	    thole_session_command(without, "ann", "true", NULL, on_done, &d, &error));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		BAD(THOLE_EUSAGE,
		    thole_session_command(s, "ann", "true", wrong[i], on_done, &d, &error));
	memset(too_long, 'x', 480 * (size_t)1024 + 1);
	BAD(THOLE_EUSAGE, thole_session_command(s, "ann", "true", input, on_done, &d, &error));
	too_long[size + 1] = '\0';
	BAD(THOLE_ELIMIT, thole_session_command(s, "ann", too_long, NULL, on_done, &d, &error));
	BAD(THOLE_EUSAGE, thole_session_command(s, "ann", "", NULL, on_done, &d, &error));
	BAD(THOLE_EUSAGE, thole_session_command(s, "ann", "true", NULL, NULL, &d, &error));
	BAD(THOLE_EUSAGE, thole_session_command(NULL, "ann", "true", NULL, on_done, &d, &error));
	BAD(THOLE_EUSAGE, thole_session_command_stop(NULL, &error));
	GOOD(thole_session_command_stop(s, &error)); /* nothing runs */
	assert_int_equal(d.done, 0);
	free(too_long);
	GOOD(thole_runtime_free(rt));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_control), cmocka_unit_test(test_command),
		cmocka_unit_test(test_ask),     cmocka_unit_test(test_secrets),
		cmocka_unit_test(test_sources), cmocka_unit_test(test_secrets_fit)
	};

	return cmocka_run_group_tests(tests, away_from_home, NULL);
}
