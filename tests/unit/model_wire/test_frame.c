/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent's settings add to a request, on every wire. */
#include "unit.h"

#include "base/limits.h"
#include "model_wire/frame.h"

static struct th_agent_model_settings settings;
static struct th_agent agent;
static struct th_request_options o;
static struct th_err err;
static struct th_buf body;
static size_t at;

static enum th_code frame(const char *model, const char *extra)
{
	agent = (struct th_agent){ .instructions = TH_STR("Be brief."), .settings = &settings };
	settings.extra_body = th_str_of(extra);
	o = (struct th_request_options){ .agent = &agent, .stream = true, .extra = true };
	assert_int_equal(th_model_resolve(th_str_of(model), &o.profile, &o.model, &err), TH_OK);
	th_buf_clear(&body);
	return th_request_frame(&o, &body, &at, &err);
}

/* The raw member at a path such as "text.verbosity"; empty: it is not there. */
static struct th_str member(const char *path)
{
	struct th_str rest = th_str_of(path), at_path = th_buf_str(&body);

	while (rest.len)
		at_path = th_json_raw_getn(at_path, th_str_split(&rest, '.'));
	return at_path;
}

static void says(const char *path, const char *wanted)
{
	struct th_str got = member(path);

	if (!th_str_is(got, wanted))
		fail_msg("%s: %.*s, not %s, in %s", path, TH_FMT(got), wanted, body.ptr);
}

static int setup(void **state)
{
	(void)state;
	settings = (struct th_agent_model_settings){ TH_SETTINGS_UNSET };
	th_buf_init(&body, TH_REQUEST_MAX);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	th_buf_deinit(&body);
	return 0;
}

/* The groups go in at the end of the list, which is the last member of all. */
static void check_list(const char *list)
{
	struct th_json_doc *doc = NULL;
	struct th_json_iter it;
	struct th_str last = { 0 };

	assert_int_equal(th_json_parse(th_buf_str(&body), &doc, &err), TH_OK);
	for (it = th_json_iter(th_json_root(doc)); th_json_next(&it);)
		last = it.key;
	assert_true(th_str_is(last, list));
	assert_true(th_json_is_array(th_json_get(th_json_root(doc), list)));
	th_json_free(doc);
	assert_string_equal(body.ptr + at, "]}");
}

static void test_every_wire(void **state)
{
	static const struct {
		const char *model, *list;
	} wires[] = {
		{ "gpt-5.4", "input" },
		{ "chat:x", "messages" },
		{ "claude-sonnet-4-5", "messages" },
		{ "gemini-3-pro", "contents" },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(wires); i++) {
		struct th_buf plain = TH_BUF_INIT(TH_MIB);

		/* Nothing said: the wire's own bytes. */
		assert_int_equal(frame(wires[i].model, ""), TH_OK);
		check_list(wires[i].list);
		o.profile->wire->head(&o, &plain);
		assert_int_equal(plain.len, at);
		assert_memory_equal(plain.ptr, body.ptr, at);
		th_buf_deinit(&plain);

		assert_int_equal(
		    frame(wires[i].model,
			  "{\"metadata\":{\"team\":\"x\"},\"service_tier\":\"flex\",\"n\":null}"),
		    TH_OK);
		check_list(wires[i].list);
		says("metadata", "{\"team\":\"x\"}");
		says("service_tier", "\"flex\"");
		says("n", "");
		/* Of another model of the list nothing is said. */
		o.extra = false;
		th_buf_clear(&body);
		assert_int_equal(th_request_frame(&o, &body, &at, &err), TH_OK);
		says("service_tier", "");
	}
}

static void test_objects_are_merged(void **state)
{
	(void)state;
	settings.effort = TH_STR("low");
	assert_int_equal(frame("gpt-5.4", "{\"reasoning\":{\"summary\":\"auto\"},"
					  "\"text\":{\"verbosity\":\"low\",\"x\":{\"y\":null}},"
					  "\"store\":true,\"include\":null}"),
			 TH_OK);
	says("reasoning", "{\"effort\":\"low\",\"summary\":\"auto\"}");
	says("text", "{\"verbosity\":\"low\",\"x\":{}}");
	says("store", "true");
	says("include", "");
	says("instructions", "\"Be brief.\"");
	assert_int_equal(frame("gemini-3-pro", "{\"generationConfig\":{\"seed\":7}}"), TH_OK);
	says("generationConfig.seed", "7");
	says("generationConfig.thinkingConfig.includeThoughts", "true");
}

static void test_bad_extras(void **state)
{
	(void)state;
	assert_int_equal(frame("gpt-5.4", "{"), TH_EPROTO);
	assert_non_null(strstr(err.msg, "settings.extra_body"));
	/* The list is not theirs, whoever wrote them. */
	assert_int_equal(frame("gpt-5.4", "{\"input\":\"x\",\"a\":1,\"a\":2}"), TH_OK);
	check_list("input");
	says("a", "1");
}

static void test_headers(void **state)
{
	struct th_buf lines = TH_BUF_INIT(TH_KIB);

	(void)state;
	settings.extra_headers = TH_STR("{\"OpenAI-Project\":\"p1\",\"X-Title\":\"a: b\"}");
	assert_int_equal(frame("gpt-5.4", ""), TH_OK);
	th_request_headers(&o, &lines);
	assert_string_equal(lines.ptr, "OpenAI-Project: p1\nX-Title: a: b\n");
	o.extra = false;
	th_buf_clear(&lines);
	th_request_headers(&o, &lines);
	assert_int_equal(lines.len, 0);
	assert_int_equal(frame("claude-sonnet-4-5", ""), TH_OK);
	th_request_headers(&o, &lines);
	assert_string_equal(lines.ptr,
			    "anthropic-version: 2023-06-01\nOpenAI-Project: p1\nX-Title: a: b\n");
	th_buf_deinit(&lines);
}

/* Nought is a temperature. */
static void test_nought(void **state)
{
	static const char *const models[] = { "gpt-5.4", "chat:x", "claude-sonnet-4-5" };

	(void)state;
	settings.temperature = 0;
	for (size_t i = 0; i < TH_COUNT(models); i++) {
		assert_int_equal(frame(models[i], ""), TH_OK);
		says("temperature", "0.0");
	}
	assert_int_equal(frame("gemini-3-pro", ""), TH_OK);
	says("generationConfig.temperature", "0.0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_every_wire, setup, teardown),
		cmocka_unit_test_setup_teardown(test_objects_are_merged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_extras, setup, teardown),
		cmocka_unit_test_setup_teardown(test_headers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nought, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
