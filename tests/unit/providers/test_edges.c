/* SPDX-License-Identifier: Apache-2.0 */
/* test_edges.c - maxima of the parsers: the last that is taken, and the first that is not. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "dialects/call.h"
#include "dialects/xml.h"
#include "google_gemini/args.h"
#include "model_wire/answer.h"
#include "model_wire/unified.h"
#include "openai_responses/responses.h"
#include "profiles/profiles.h"

/* `count` times `each`, with `between` in between. */
static void repeat(struct th_buf *out, size_t count, const char *each, const char *between)
{
	for (size_t i = 0; i < count; i++) {
		th_buf_add_cstr(out, i ? between : "");
		th_buf_add_cstr(out, each);
	}
}

static void test_members_of_a_request(void **unused)
{
	(void)unused;
	for (size_t more = 0; more <= 1; more++) {
		struct th_buf text = TH_BUF_INIT(64 * TH_KIB);
		struct th_err err = { 0 };

		th_buf_add_char(&text, '{');
		for (size_t i = 0; i < TH_UNIFIED_MEMBERS_MAX + more; i++)
			th_buf_printf(&text, "%s\"m%zu\":1", i ? "," : "", i);
		th_buf_add_char(&text, '}');
		assert_int_equal(th_unified_check(th_buf_str(&text), &err),
				 more ? TH_ELIMIT : TH_OK);
		th_buf_deinit(&text);
	}
}

static enum th_code read_call(const char *text, struct th_err *err)
{
	struct th_text_call call;
	struct th_str rest = th_str_of(text);
	struct th_arena a;
	enum th_code code;

	th_arena_init(&a, TH_MIB);
	code = th_call_read(&rest, &a, &call, err);
	th_arena_deinit(&a);
	return code;
}

static void test_arguments_of_a_call(void **unused)
{
	static const struct {
		size_t max; /* of `each` */
		const char *before, *each, *between, *after, *says;
	} rows[] = {
		{ TH_CALL_ARGS_MAX, "f(", "1", ",", ")", "more than 16 arguments" },
		{ 64, "f([", "1", ",", "])", "more than 64 elements" },
		{ 63, "", "n", "", "(1)", "there is no call" }, /* its name */
	};

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		for (size_t more = 0; more <= 1; more++) {
			struct th_buf text = TH_BUF_INIT(64 * TH_KIB);
			struct th_err err = { 0 };

			th_buf_add_cstr(&text, rows[i].before);
			repeat(&text, rows[i].max + more, rows[i].each, rows[i].between);
			th_buf_add_cstr(&text, rows[i].after);
			assert_int_equal(read_call(text.ptr, &err), more ? TH_EPROTO : TH_OK);
			if (more && !strstr(err.msg, rows[i].says))
				fail_msg("%s: %s", rows[i].says, err.msg);
			th_buf_deinit(&text);
		}
}

/* Lists in lists, four deep. */
static void test_lists_in_lists(void **unused)
{
	struct th_err err = { 0 };

	(void)unused;
	assert_int_equal(read_call("f([[[[1]]]])", &err), TH_OK);
	assert_int_equal(read_call("f([[[[[1]]]]])", &err), TH_EPROTO);
	assert_non_null(strstr(err.msg, "nested too deep"));
}

static void test_parameters_of_an_xml_call(void **unused)
{
	(void)unused;
	for (size_t more = 0; more <= 1; more++) {
		struct th_buf text = TH_BUF_INIT(64 * TH_KIB);
		struct th_xml_call call;
		struct th_err err = { 0 };
		struct th_str rest;

		th_buf_add_cstr(&text, "<function=f>");
		for (size_t i = 0; i < TH_XML_PARAMETERS_MAX + more; i++)
			th_buf_printf(&text, "<parameter=p%zu>1</parameter>", i);
		th_buf_add_cstr(&text, "</function>");
		rest = th_buf_str(&text);
		assert_true(th_xml_begins(rest));
		assert_int_equal(th_xml_read(&rest, &call, &err), more ? TH_EPROTO : TH_OK);
		if (more)
			assert_non_null(strstr(err.msg, "more than 32 parameters"));
		th_buf_deinit(&text);
	}
}

static bool add(struct th_gemini_args *args, const char *path)
{
	struct th_buf part = TH_BUF_INIT(64 * TH_KIB);
	size_t size;
	bool good;

	th_buf_printf(&part, "{\"jsonPath\":\"%s\",\"numberValue\":1}", path);
	good = th_gemini_args_add(args, th_buf_str(&part), &size);
	th_buf_deinit(&part);
	return good;
}

/* An index makes all the elements before it. */
static void test_partial_arguments(void **unused)
{
	(void)unused;
	for (size_t more = 0; more <= 1; more++) {
		struct th_gemini_args *args = th_gemini_args_new();
		struct th_buf path = TH_BUF_INIT(64 * TH_KIB);
		char index[32];

		/* The object itself, the list, and its elements. */
		(void)snprintf(index, sizeof(index), "$.a[%zu]",
			       (size_t)TH_GEMINI_ARGS_MAX - 3 + more);
		assert_int_equal(add(args, index), !more);
		args = th_gemini_args_free(args);
		args = th_gemini_args_new();
		th_buf_add_cstr(&path, "$");
		repeat(&path, TH_GEMINI_ARGS_DEPTH_MAX + more, ".a", "");
		assert_int_equal(add(args, path.ptr), !more);
		args = th_gemini_args_free(args);
		th_buf_deinit(&path);
	}
}

/* What is quoted of a body that is no answer. */
static void test_the_beginning_of_a_body(void **unused)
{
	struct th_buf body = TH_BUF_INIT(64 * TH_KIB), text = TH_BUF_INIT(TH_KIB);

	(void)unused;
	repeat(&body, TH_ANSWER_START_MAX - 1, " ", "");
	th_buf_add_cstr(&body, "xyz");
	assert_true(th_str_is(th_answer_beginning(&text, "it begins: ", th_buf_str(&body)),
			      "it begins: x"));
	th_buf_deinit(&body);
	th_buf_deinit(&text);
}

#define IMAGE                                                        \
	"{\"type\":\"image\",\"media_type\":\"image/png\",\"blob\":" \
	"\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}"

static void test_pictures_of_a_group(void **unused)
{
	const struct th_profile *p;
	struct th_str name;
	struct th_err err = { 0 };

	(void)unused;
	assert_int_equal(th_model_resolve(TH_STR("gpt-5.4"), &p, &name, &err), TH_OK);
	for (size_t more = 0; more <= 1; more++) {
		static struct th_hole holes[TH_GROUP_HOLES_MAX];
		struct th_request_options o = { .profile = p, .model = name };
		struct th_buf content = TH_BUF_INIT(TH_MIB), out = TH_BUF_INIT(TH_MIB);
		struct th_group g = { .kind = TH_GROUP_MESSAGE, .role = TH_STR("user") };
		size_t count;

		th_buf_add_char(&content, '[');
		repeat(&content, TH_GROUP_HOLES_MAX + more, IMAGE, ",");
		th_buf_add_char(&content, ']');
		g.content = th_buf_str(&content);
		assert_int_equal(
		    th_group_render(&o, &g, true, &out, holes, TH_GROUP_HOLES_MAX, &count, &err),
		    more ? TH_ELIMIT : TH_OK);
		assert_int_equal(count, more ? 0 : TH_GROUP_HOLES_MAX);
		th_buf_deinit(&content);
		th_buf_deinit(&out);
	}
}

/* Without a word of the agent's, and at most what the model takes. */
static void test_pictures_of_a_request(void **unused)
{
	struct th_profile p = { .name = "x" };
	struct th_request_options o = { .profile = &p };

	(void)unused;
	assert_int_equal(th_images_keep(&o), TH_IMAGES_IN_CONTEXT_DEFAULT);
	p.images_max = TH_IMAGES_IN_CONTEXT_DEFAULT + 1;
	assert_int_equal(th_images_keep(&o), TH_IMAGES_IN_CONTEXT_DEFAULT);
	p.images_max = TH_IMAGES_IN_CONTEXT_DEFAULT - 1;
	assert_int_equal(th_images_keep(&o), TH_IMAGES_IN_CONTEXT_DEFAULT - 1);
}

static void test_a_servers_wish(void **unused)
{
	struct th_retry_hints hints = { TH_RETRY_HINT_MAX_MS, -1 };

	(void)unused;
	assert_int_equal(th_retry_delay_ms(TH_FAILURE_SERVER, &hints, 1, 5, 0.5),
			 TH_RETRY_HINT_MAX_MS);
	hints.retry_after_ms++;
	assert_int_equal(th_retry_delay_ms(TH_FAILURE_SERVER, &hints, 1, 5, 0.5),
			 TH_RETRY_FIRST_MS / 2);
	assert_int_equal(th_retry_delay_ms(TH_FAILURE_SERVER, NULL, 40, 50, 0.5),
			 TH_RETRY_MAX_MS / 2);
}

/* A wire's own headers, whatever the profile, are no more than are sent. */
static void test_headers_of_a_wire(void **unused)
{
	size_t most = 0;

	(void)unused;
	for (const struct th_profile *p = NULL; (p = th_profile_next(p));) {
		struct th_request_options o = { .profile = p,
						.has_computer = true,
						.screen = { 1280, 800 } };
		struct th_buf lines = TH_BUF_INIT(TH_REQUEST_HEAD_MAX);
		struct th_str rest;
		size_t count = 0;

		if (p->wire && p->wire->headers)
			p->wire->headers(&o, &lines);
		assert_false(lines.failed);
		for (rest = th_buf_str(&lines); rest.len; count++)
			(void)th_str_split(&rest, '\n');
		most = TH_MAX(most, count);
		th_buf_deinit(&lines);
	}
	assert_in_range(most, 2, TH_MODEL_HEADERS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members_of_a_request),
		cmocka_unit_test(test_arguments_of_a_call),
		cmocka_unit_test(test_lists_in_lists),
		cmocka_unit_test(test_parameters_of_an_xml_call),
		cmocka_unit_test(test_partial_arguments),
		cmocka_unit_test(test_the_beginning_of_a_body),
		cmocka_unit_test(test_pictures_of_a_group),
		cmocka_unit_test(test_pictures_of_a_request),
		cmocka_unit_test(test_a_servers_wish),
		cmocka_unit_test(test_headers_of_a_wire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
