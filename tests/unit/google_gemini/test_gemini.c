/* SPDX-License-Identifier: Apache-2.0 */
/* Gemini: words of computer use there and back, safety decisions, limits at their edges, a
 * picture's hole. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "dialects/list.h"
#include "google_gemini/args.h"
#include "google_gemini/decoder.h"
#include "google_gemini/gemini.h"
#include "google_gemini/writer.h"

static struct th_err err;

static struct th_dialect_context context(const char *model, int32_t width, int32_t height)
{
	struct th_dialect_context c = { .screen = { width, height }, .image = { width, height } };
	struct th_str name;

	assert_int_equal(th_model_resolve(th_str_of(model), &c.profile, &name, &err), TH_OK);
	return c;
}

#define OLD "gemini-2.5-computer-use-preview-10-2025"
#define NEW "gemini-3-flash-preview"

/* ---- there and back ---- */

static void expect_round(const struct th_dialect_context *c, const char *action,
			 enum th_code wanted)
{
	struct th_buf items = TH_BUF_INIT(TH_MIB), said = TH_BUF_INIT(TH_MIB),
		      back = TH_BUF_INIT(TH_MIB);
	struct th_json_doc *x, *y;
	enum th_code code;

	th_buf_printf(&items, "[{\"type\":\"computer_call\",\"call_id\":\"a\",\"actions\":[%s]}]",
		      action);
	code = th_dialect_gemini.encode(c, th_buf_str(&items), &said, &err);
	if (code != wanted)
		fail_msg("%s: %s", action, err.msg);
	if (!code) {
		assert_int_equal(th_dialect_gemini.decode(c, th_buf_str(&said), &back, &err),
				 TH_OK);
		assert_int_equal(th_json_parse(th_buf_str(&items), &x, &err), TH_OK);
		assert_int_equal(th_json_parse(th_buf_str(&back), &y, &err), TH_OK);
		if (!th_json_equal(th_json_get(th_json_at(th_json_root(x), 0), "actions"),
				   th_json_get(th_json_at(th_json_root(y), 0), "actions")))
			fail_msg("%s became %s", said.ptr, back.ptr);
		th_json_free(x);
		th_json_free(y);
	}
	th_buf_deinit(&items);
	th_buf_deinit(&said);
	th_buf_deinit(&back);
}

static void test_round_trips(void **state)
{
	static const struct {
		const char *action;
		enum th_code old, new;
	} rows[] = {
		{ "{\"type\":\"click\",\"x\":10,\"y\":20,\"button\":\"left\",\"count\":1}", TH_OK,
		  TH_OK },
		{ "{\"type\":\"click\",\"x\":99,\"y\":0,\"button\":\"left\",\"count\":3}",
		  TH_EUNSUPPORTED, TH_OK },
		{ "{\"type\":\"click\",\"x\":0,\"y\":49,\"button\":\"right\",\"count\":1}",
		  TH_EUNSUPPORTED, TH_OK },
		{ "{\"type\":\"click\",\"x\":1,\"y\":1,\"button\":\"back\",\"count\":1}",
		  TH_EUNSUPPORTED, TH_EUNSUPPORTED },
		{ "{\"type\":\"move\",\"x\":5,\"y\":6}", TH_OK, TH_OK },
		{ "{\"type\":\"mouse_down\",\"button\":\"left\"}", TH_EUNSUPPORTED, TH_OK },
		{ "{\"type\":\"type\",\"x\":5,\"y\":6,\"text\":\"\\u00e9 "
		  "+\",\"clear\":true,\"enter\":true}",
		  TH_OK, TH_EUNSUPPORTED },
		{ "{\"type\":\"type\",\"text\":\"a\\nb\"}", TH_EUNSUPPORTED, TH_OK },
		{ "{\"type\":\"key\",\"keys\":[\"ctrl\",\"a\"],\"count\":1}", TH_OK, TH_OK },
		{ "{\"type\":\"key\",\"keys\":[\"enter\"],\"count\":1}", TH_OK, TH_OK },
		{ "{\"type\":\"key_down\",\"keys\":[\"shift\"]}", TH_EUNSUPPORTED, TH_OK },
		{ "{\"type\":\"drag\",\"path\":[{\"x\":1,\"y\":2},{\"x\":30,\"y\":40}],\"button\":"
		  "\"left\",\"duration_ms\":0}",
		  TH_OK, TH_OK },
		{ "{\"type\":\"scroll\",\"x\":1,\"y\":2,\"dx\":0,\"dy\":-37,\"unit\":\"pixel\"}",
		  TH_OK, TH_OK },
		{ "{\"type\":\"scroll\",\"x\":1,\"y\":2,\"dx\":41,\"dy\":0,\"unit\":\"pixel\"}",
		  TH_OK, TH_OK },
		{ "{\"type\":\"scroll\",\"x\":1,\"y\":2,\"dx\":0,\"dy\":3,\"unit\":\"notch\"}",
		  TH_EUNSUPPORTED, TH_EUNSUPPORTED },
		{ "{\"type\":\"wait\",\"duration_ms\":5000}", TH_OK, TH_OK },
		{ "{\"type\":\"wait\",\"duration_ms\":1500}", TH_EUNSUPPORTED, TH_OK },
		{ "{\"type\":\"screenshot\"}", TH_EUNSUPPORTED, TH_OK },
		{ "{\"type\":\"clipboard_get\"}", TH_EUNSUPPORTED, TH_EUNSUPPORTED },
	};
	struct th_dialect_context old = context(OLD, 100, 50), new = context(NEW, 100, 50);

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		expect_round(&old, rows[i].action, rows[i].old);
		expect_round(&new, rows[i].action, rows[i].new);
	}
}

/* Every pixel of a screen that is no larger than the grid comes back. */
static void test_pixels(void **state)
{
	static const int32_t sides[] = { 1, 2, 7, 333, 768, 999, 1000 };
	char action[100];

	(void)state;
	for (size_t i = 0; i < TH_COUNT(sides); i++) {
		struct th_dialect_context c = context(NEW, sides[i], 50);

		for (int32_t x = 0; x<sides[i]; x += sides[i]> 300 ? 11 : 1) {
			snprintf(action, sizeof(action), "{\"type\":\"move\",\"x\":%d,\"y\":49}",
				 (int)x);
			expect_round(&c, action, TH_OK);
		}
	}
}

/* ---- calls ---- */

static void expect_decode(const char *model, const char *call, const char *wanted)
{
	struct th_dialect_context c = context(model, 1920, 1080);
	struct th_buf out = TH_BUF_INIT(TH_MIB);

	assert_int_equal(th_dialect_gemini.decode(&c, th_str_of(call), &out, &err), TH_OK);
	if (!strstr(out.ptr, wanted))
		fail_msg("%s\nis not in %s", wanted, out.ptr);
	th_buf_deinit(&out);
}

#define CALL(name, args)                                                  \
	"[{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"" name \
	"\",\"arguments\":\"" args "\"}]"

static void test_calls(void **state)
{
	(void)state;
	expect_decode(NEW, CALL("web_agent_api:click_at", "{\\\"x\\\":999,\\\"y\\\":1000}"),
		      "\"x\":1918,\"y\":1079");
	expect_decode(OLD,
		      CALL("scroll_at", "{\\\"x\\\":500,\\\"y\\\":500,\\\"direction\\\":"
					"\\\"down\\\",\\\"magnitude\\\":400}"),
		      "\"dy\":432");
	expect_decode(OLD, CALL("scroll_document", "{\\\"direction\\\":\\\"up\\\"}"),
		      "\"dy\":-864");
	expect_decode(OLD, CALL("wait_5_seconds", "{}"), "\"duration_ms\":5000");
	/* What cannot be done, or read, is said. */
	expect_decode(
	    OLD, CALL("navigate", "{\\\"url\\\":\\\"https://a\\\"}"),
	    "\"name\":\"browser\",\"arguments\":\"{\\\"action\\\":\\\"goto\\\",\\\"url\\\"");
	expect_decode(NEW, CALL("search", "{}"), "\"name\":\"search\"");
	expect_decode(OLD, CALL("click_at", "{\\\"x\\\":1001,\\\"y\\\":0}"),
		      "\"error\":\"click_at: x is outside the screen: it must be 0 to 1000\"");
	expect_decode(OLD, CALL("click_at", "{\\\"y\\\":0}"), "x is missing");
	expect_decode(OLD,
		      CALL("scroll_at", "{\\\"x\\\":1,\\\"y\\\":1,\\\"direction\\\":\\\"in\\\"}"),
		      "direction must be");
	/* A person must confirm, also what is not known. */
	expect_decode(OLD,
		      CALL("click_at",
			   "{\\\"x\\\":1,\\\"y\\\":1,\\\"safety_decision\\\":{\\\"decision\\\":"
			   "\\\"require_confirmation\\\",\\\"explanation\\\":\\\"Buy?\\\"}}"),
		      "\"pending_safety_checks\":[{\"id\":\"a\",\"code\":\"require_confirmation\","
		      "\"message\":\"Buy?\"}]");
	expect_decode(
	    OLD,
	    CALL(
		"click_at",
		"{\\\"x\\\":1,\\\"y\\\":1,\\\"safety_decision\\\":{\\\"decision\\\":\\\"new\\\"}}"),
	    "\"code\":\"new\"");
	expect_decode(OLD,
		      CALL("click_at", "{\\\"x\\\":1,\\\"y\\\":1,\\\"safety_decision\\\":{"
				       "\\\"decision\\\":\\\"regular\\\"}}"),
		      "\"pending_safety_checks\":[]");
}

/* ---- limits ---- */

static enum th_answer_status decode_parts(size_t count, const char *part)
{
	struct th_buf body = TH_BUF_INIT(TH_MIB);
	struct th_decoder *d = th_gemini_new(NULL, NULL, NULL);
	struct th_answer a;
	bool limit;

	th_buf_add_cstr(&body, "{\"candidates\":[{\"content\":{\"parts\":[");
	for (size_t i = 0; i < count; i++) {
		th_buf_add_cstr(&body, i ? "," : "");
		th_buf_add_cstr(&body, part);
	}
	th_buf_add_cstr(&body, "]},\"finishReason\":\"STOP\"}]}");
	assert_int_equal(th_gemini_feed(d, th_buf_str(&body)), 0);
	th_gemini_end(d, false, &a);
	limit = th_str_is(a.error_class, "limit");
	assert_true(limit == (a.status == TH_ANSWER_FAILED));
	th_gemini_free(d);
	th_buf_deinit(&body);
	return a.status;
}

static void test_limits(void **state)
{
	const char *call = "{\"functionCall\":{\"name\":\"f\"}}",
		   *signed_text = "{\"text\":\"x\",\"thoughtSignature\":\"AA==\"}";
	struct th_gemini_args *args = th_gemini_args_new();
	size_t size;

	(void)state;
	assert_int_equal(decode_parts(TH_CALLS_MAX, call), TH_ANSWER_COMPLETED);
	assert_int_equal(decode_parts(TH_CALLS_MAX + 1, call), TH_ANSWER_FAILED);
	assert_int_equal(decode_parts(TH_ANSWER_ITEMS_MAX, signed_text), TH_ANSWER_COMPLETED);
	assert_int_equal(decode_parts(TH_ANSWER_ITEMS_MAX + 1, signed_text), TH_ANSWER_FAILED);
	/* The list itself and its object take two of the values. */
	assert_false(th_gemini_args_add(
	    args, TH_STR("{\"jsonPath\":\"$.a[4094]\",\"numberValue\":1}"), &size));
	assert_true(th_gemini_args_add(
	    args, TH_STR("{\"jsonPath\":\"$.a[4093]\",\"numberValue\":1}"), &size));
	assert_false(
	    th_gemini_args_add(args, TH_STR("{\"jsonPath\":\"$.b\",\"numberValue\":1}"), &size));
	th_gemini_args_free(args);
}

/* ---- a picture's hole ---- */

static void test_hole(void **state)
{
	struct th_request_options o = { .has_computer = true,
					.screen = { 100, 50 },
					.image = { 100, 50 } };
	struct th_buf out = TH_BUF_INIT(TH_MIB), text = TH_BUF_INIT(TH_MIB);
	struct th_result r = {
		.call_item = TH_STR("{\"type\":\"computer_call\",\"call_id\":\"a\",\"name\":"
				    "\"click\",\"arguments\":\"{}\"}"),
		.call_id = TH_STR("a"),
		.output = TH_STR(
		    "[{\"type\":\"text\",\"text\":\"ok\"},{\"type\":\"image\",\"media_type\":"
		    "\"image/png\",\"blob\":"
		    "\"0000000000000000000000000000000000000000000000000000000000000000\"}]"),
	};
	struct th_group g = { .kind = TH_GROUP_RESULTS, .results = &r, .result_count = 1 };
	struct th_hole hole;
	size_t count;

	(void)state;
	o.profile = context(NEW, 100, 50).profile;
	assert_int_equal(th_group_render(&o, &g, true, &out, &hole, 1, &count, &err), TH_OK);
	assert_int_equal(count, 1);
	th_buf_add(&text, th_str_sub(th_buf_str(&out), 0, hole.at));
	th_buf_add(&text, TH_STR("AAAA"));
	th_buf_add(&text, th_str_sub(th_buf_str(&out), hole.at, hole.to - hole.at));
	th_buf_add(&text, th_str_sub(th_buf_str(&out), hole.end, out.len));
	assert_string_equal(
	    text.ptr,
	    "{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"click\",\"response\":{"
	    "\"output\":\"ok\"},"
	    "\"parts\":[{\"inlineData\":{\"mimeType\":\"image/png\",\"data\":\"AAAA\"}}]}}]}");
	th_buf_clear(&text);
	th_buf_add(&text, th_str_sub(th_buf_str(&out), 0, hole.from));
	th_buf_add(&text, th_str_sub(th_buf_str(&out), hole.to, out.len));
	assert_string_equal(text.ptr, "{\"role\":\"user\",\"parts\":[{\"functionResponse\":{"
				      "\"name\":\"click\",\"response\":{\"output\":\"ok\","
				      "\"screenshot\":\"it was left out\"}}}]}");
	th_buf_clear(&out);
	assert_int_equal(th_group_render(&o, &g, true, &out, &hole, 0, &count, &err), TH_ELIMIT);
	assert_int_equal(out.len, 0);
	th_buf_deinit(&out);
	th_buf_deinit(&text);
}

/* A browser's result names the page of its last picture. */
static void test_address(void **state)
{
	struct th_request_options o = { .has_computer = true,
					.screen = { 100, 50 },
					.image = { 100, 50 } };
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	struct th_result r = {
		.call_item = TH_STR("{\"type\":\"computer_call\",\"call_id\":\"a\",\"name\":"
				    "\"click_at\",\"arguments\":\"{}\"}"),
		.call_id = TH_STR("a"),
		.output = TH_STR(
		    "[{\"type\":\"text\",\"text\":\"ok\",\"url\":\"x:no\"},{\"type\":\"image\","
		    "\"media_type\":\"image/png\",\"blob\":"
		    "\"0000000000000000000000000000000000000000000000000000000000000000\","
		    "\"url\":\"https://a.example/?q=\\\"1\\\"\"}]"),
	};
	struct th_group g = { .kind = TH_GROUP_RESULTS, .results = &r, .result_count = 1 };
	struct th_hole hole;
	size_t count;

	(void)state;
	o.profile = context(OLD, 100, 50).profile;
	assert_int_equal(th_group_render(&o, &g, true, &out, &hole, 1, &count, &err), TH_OK);
	assert_true(th_str_find(th_buf_str(&out),
				TH_STR("\"url\":\"https://a.example/?q=\\\"1\\\"\"}")) > 0);
	assert_true(th_str_find(th_buf_str(&out), TH_STR("x:no")) < 0);
	assert_true(th_str_is(th_gemini_address(TH_STR("\"done\"")), "\"about:blank\""));
	assert_true(th_str_is(th_gemini_address(TH_STR("[{\"type\":\"image\",\"url\":7}]")),
			      "\"about:blank\""));
	th_buf_deinit(&out);
}

/* Members of a candidate that no table knows are kept, as many as there is room for. */
static void test_members_of_a_candidate(void **state)
{
	struct th_decoder *d = th_gemini_new(NULL, NULL, NULL);
	struct th_buf body = TH_BUF_INIT(TH_MIB);
	struct th_answer answer;
	char key[32];

	(void)state;
	th_buf_add_cstr(&body, "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"x\"}]},"
			       "\"finishReason\":\"STOP\"");
	for (int i = 0; i <= TH_GEMINI_MEMBERS_MAX; i++)
		th_buf_printf(&body, ",\"member%d\":%d", i, i);
	th_buf_add_cstr(&body, "}]}");
	assert_true(th_gemini_feed(d, th_buf_str(&body)) >= 0);
	th_gemini_end(d, false, &answer);
	assert_int_equal(answer.status, TH_ANSWER_COMPLETED);
	(void)snprintf(key, sizeof(key), "\"member%d\":", TH_GEMINI_MEMBERS_MAX - 1);
	assert_true(th_str_find(answer.raw, th_str_of(key)) >= 0);
	(void)snprintf(key, sizeof(key), "\"member%d\":", TH_GEMINI_MEMBERS_MAX);
	assert_true(th_str_find(answer.raw, th_str_of(key)) < 0);
	th_gemini_free(d);
	th_buf_deinit(&body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trips),
		cmocka_unit_test(test_pixels),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_address),
		cmocka_unit_test(test_hole),
		cmocka_unit_test(test_members_of_a_candidate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
