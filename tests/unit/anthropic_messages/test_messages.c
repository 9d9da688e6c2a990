/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_messages.c - groups of the Messages wire and their holes, what of an
 * answer goes back, the limits of its decoder, and requests read and written
 * again.  Whole streams and requests are in tests/golden/messages.
 */
#include "unit.h"

#include <stdio.h>

#include "anthropic_messages/messages.h"
#include "base/limits.h"
#include "model_wire/answer.h"

#define BLOB "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct th_request_options options(const char *model)
{
	struct th_request_options o = { .has_computer = true, .screen = { 1024, 768 } };

	assert_int_equal(th_model_resolve(th_str_of(model), &o.profile, &o.model, NULL), TH_OK);
	o.image = th_image_size(o.profile, o.screen);
	return o;
}

static void assert_json(struct th_str text)
{
	struct th_json_doc *doc = NULL;
	struct th_err err = { 0 };

	if (th_json_parse(text, &doc, &err))
		fail_msg("%s: %.*s", err.msg, TH_FMT(text));
	th_json_free(doc);
}

/* ---- groups ---- */

static void test_results_have_holes_for_pictures_and_a_mark(void **state)
{
	struct th_request_options o = options("claude-sonnet-4-5");
	struct th_result results[] = {
		{ .call_item = TH_STR("{\"type\":\"function_call\"}"),
		  .call_id = TH_STR("t1"),
		  .output = TH_STR("\"text\"") },
		{ .call_item = TH_STR("{\"type\":\"computer_call\"}"),
		  .call_id = TH_STR("t2"),
		  .output = TH_STR("[{\"type\":\"text\",\"text\":\"Clicked.\"},{\"type\":\"image\","
				   "\"media_type\":\"image/webp\",\"blob\":\"" BLOB "\"}]") },
	};
	struct th_group g = { .kind = TH_GROUP_RESULTS, .results = results, .result_count = 2 };
	struct th_buf out = TH_BUF_INIT(TH_MIB), with = TH_BUF_INIT(TH_MIB);
	struct th_hole holes[4];
	struct th_err err = { 0 };
	size_t count = 0;
	struct th_str s;

	(void)state;
	assert_int_equal(th_group_render(&o, &g, false, &out, holes, 4, &count, &err), TH_OK);
	assert_int_equal(count, 2);
	assert_int_equal(holes[0].kind, TH_HOLE_IMAGE);
	assert_true(holes[0].part);
	assert_int_equal(holes[1].kind, TH_HOLE_MARK);
	s = th_buf_str(&out);
	/* With its picture and the mark. */
	th_buf_add(&with, th_str_sub(s, 1, holes[0].at - 1));
	th_buf_add_cstr(&with, "AAAA");
	th_buf_add(&with, th_str_sub(s, holes[0].at, holes[0].to - holes[0].at));
	th_buf_add(&with, th_str_sub(s, holes[0].end, holes[1].at - holes[0].end));
	th_buf_add_cstr(&with, o.profile->wire->mark);
	th_buf_add(&with, th_str_sub(s, holes[1].at, s.len));
	assert_string_equal(
	    with.ptr,
	    "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t1\","
	    "\"content\":[{\"type\":\"text\",\"text\":\"text\"}]},{\"type\":\"tool_result\","
	    "\"tool_use_id\":\"t2\",\"content\":[{\"type\":\"text\",\"text\":\"Clicked.\"},"
	    "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/webp\","
	    "\"data\":\"AAAA\"}}],\"cache_control\":{\"type\":\"ephemeral\"}}]}");
	/* Without: a text stands for it. */
	th_buf_clear(&with);
	th_buf_add(&with, th_str_sub(s, 1, holes[0].from - 1));
	th_buf_add(&with, th_str_sub(s, holes[0].to, s.len));
	assert_json(th_buf_str(&with));
	assert_non_null(strstr(with.ptr, TH_IMAGE_LEFT_OUT));
	/* One hole too few. */
	th_buf_clear(&out);
	assert_int_equal(th_group_render(&o, &g, true, &out, holes, 1, &count, &err), TH_ELIMIT);
	assert_int_equal(out.len, 0);
	assert_int_equal(count, 0);
	th_buf_deinit(&out);
	th_buf_deinit(&with);
}

static void group(struct th_request_options *o, const struct th_group *g, struct th_buf *out)
{
	struct th_hole holes[8];
	struct th_err err = { 0 };
	size_t count;

	th_buf_clear(out);
	if (th_group_render(o, g, true, out, holes, 8, &count, &err))
		th_buf_printf(out, "error: %s", err.msg);
}

static void answer(struct th_request_options *o, const char *raw, const char *items,
		   struct th_buf *out)
{
	struct th_group g = { .kind = TH_GROUP_ANSWER,
			      .raw = th_str_of(raw),
			      .items = th_str_of(items) };

	group(o, &g, out);
}

#define RAW(model, stop, content)                                                             \
	"{\"wire\":\"messages\",\"message\":{\"model\":\"" model "\",\"stop_reason\":\"" stop \
	"\",\"content\":" content "}}"
#define THOUGHT                                                                                  \
	"{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"s+/=\"},{\"type\":\"redacted_" \
	"thinking\",\"data\":\"d\"},"
#define USE                                                                            \
	"{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{ \"a\" : 1.50 " \
	"},\"new\":[]}"

/* Tools of ours as the model's own: by the version of its editor, and as functions elsewhere. */
static void test_own_forms(void **state)
{
	static const struct th_tool_native natives[] = { { .kind = TH_NATIVE_BASH },
							 { .kind = TH_NATIVE_EDITOR },
							 { .kind = TH_NATIVE_MEMORY } };
#define FUNCTION(name) \
	"{\"name\":\"" name "\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"}"
#define OWN(type, name) "{\"type\":\"" type "\",\"name\":\"" name "\""
	static const struct {
		const char *model, *forms[3], *editor, *beta;
	} rows[] = {
		{ "claude-sonnet-4-5",
		  { OWN("bash_20250124", "bash"),
		    OWN("text_editor_20250728", "str_replace_based_edit_tool"),
		    OWN("memory_20250818", "memory") },
		  "str_replace_based_edit_tool",
		  NULL },
		{ "claude-3-7-sonnet-latest",
		  { OWN("bash_20250124", "bash"), OWN("text_editor_20250124", "str_replace_editor"),
		    FUNCTION("memory") },
		  "str_replace_editor",
		  NULL },
		{ "claude-3-5-sonnet-latest",
		  { OWN("bash_20241022", "bash"), OWN("text_editor_20241022", "str_replace_editor"),
		    FUNCTION("memory") },
		  "str_replace_editor",
		  "computer-use-2024-10-22" },
	};
	struct th_tool_spec tools[] = {
		{ .name = TH_STR("bash"), .native = &natives[0] },
		{ .name = TH_STR("edit"), .native = &natives[1] },
		{ .name = TH_STR("memory"), .native = &natives[2] },
		{ .name = TH_STR("other") },
	};
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	char want[256];

	(void)state;
	for (size_t i = 0; i < TH_COUNT(tools); i++) {
		tools[i].description = TH_STR("d");
		tools[i].schema = TH_STR("{\"type\":\"object\"}");
	}
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_request_options o = options(rows[i].model);
		struct th_dialect_context c = { .profile = o.profile,
						.tools = tools,
						.tool_count = 3 };
		struct th_err err = { 0 };

		o.has_computer = false;
		o.tools = tools;
		o.tool_count = 3;
		o.choice = (struct th_tool_choice){ TH_CHOICE_TOOL, TH_STR("edit") };
		th_buf_clear(&out);
		th_messages_head(&o, &out);
		for (size_t j = 0; j < 3; j++)
			if (!strstr(out.ptr, rows[i].forms[j]))
				fail_msg("%s: no %s in %s", rows[i].model, rows[i].forms[j],
					 out.ptr);
		snprintf(want, sizeof(want), "\"tool_choice\":{\"type\":\"tool\",\"name\":\"%s\"}",
			 rows[i].editor);
		assert_non_null(strstr(out.ptr, want));
		th_buf_clear(&out);
		th_messages_headers(&o, &out);
		if (rows[i].beta)
			assert_non_null(strstr(out.ptr, rows[i].beta));
		else
			assert_null(strstr(out.ptr, "beta"));
		/* A call of it is our tool's, and one of ours goes there by its name. */
		snprintf(want, sizeof(want),
			 "[{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"%s\","
			 "\"arguments\":\"{}\"}]",
			 rows[i].editor);
		th_buf_clear(&out);
		assert_int_equal(o.profile->dialect->decode(&c, th_str_of(want), &out, &err),
				 TH_OK);
		assert_string_equal(out.ptr, "[{\"type\":\"function_call\",\"call_id\":\"c\","
					     "\"name\":\"edit\",\"arguments\":\"{}\"}]");
		answer(&o, "",
		       "[{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"edit\","
		       "\"arguments\":\"{}\"}]",
		       &out);
		snprintf(want, sizeof(want),
			 "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"c\","
			 "\"name\":\"%s\",\"input\":{}}]}",
			 rows[i].editor);
		assert_string_equal(out.ptr, want);
		/* Another tool has that name: a name stands for one. */
		tools[3].name = th_str_of(rows[i].editor);
		o.tool_count = 4;
		th_buf_clear(&out);
		th_messages_head(&o, &out);
		assert_non_null(strstr(out.ptr, FUNCTION("edit")));
		tools[3].name = TH_STR("other");
	}
	th_buf_deinit(&out);
#undef FUNCTION
#undef OWN
}

/* Claude's editor deletes where there is no new_str; a function of that name does not. */
static void test_an_editor_that_deletes(void **state)
{
	static const struct th_tool_native native = { .kind = TH_NATIVE_EDITOR };
	static const struct {
		const char *arguments, *become; /* NULL: the same */
	} rows[] = {
		{ "{\"command\":\"str_replace\",\"path\":\"f\",\"old_str\":\"a\"}",
		  "{\"command\":\"str_replace\",\"path\":\"f\",\"old_str\":\"a\",\"new_str\":"
		  "\"\"}" },
		{ "{\"command\":\"str_replace\",\"new_str\":null,\"old_str\":\"a\"}",
		  "{\"command\":\"str_replace\",\"old_str\":\"a\",\"new_str\":\"\"}" },
		{ "{\"command\": \"str_replace\", \"new_str\": \"b\"}", NULL },
		{ "{\"command\": \"insert\", \"insert_line\": 1}", NULL },
		{ "{\"command\": \"str_rep", NULL },
		{ "[]", NULL },
	};
	struct th_tool_spec tool = { .name = TH_STR("edit"), .native = &native };
	struct th_request_options o = options("claude-sonnet-4-5");
	struct th_dialect_context c = { .profile = o.profile, .tools = &tool, .tool_count = 1 };
	struct th_buf item = TH_BUF_INIT(TH_KIB), out = TH_BUF_INIT(TH_MIB);
	struct th_buf want = TH_BUF_INIT(TH_KIB);

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		for (int own = 0; own < 2; own++) {
			struct th_buf *to[] = { &item, &want };
			struct th_err err = { 0 };

			tool.native = own ? &native : NULL;
			for (size_t j = 0; j < 2; j++) {
				const char *name =
				    own && j == 0 ? "str_replace_based_edit_tool" : "edit";
				const char *arguments = own && j == 1 && rows[i].become
							    ? rows[i].become
							    : rows[i].arguments;
				struct th_jw w = th_jw(to[j]);

				th_buf_clear(to[j]);
				th_jw_array(&w);
				th_jw_object(&w);
				th_jw_kstr(&w, "type", TH_STR("function_call"));
				th_jw_kstr(&w, "name", th_str_of(name));
				th_jw_kstr(&w, "arguments", th_str_of(arguments));
				th_jw_object_end(&w);
				th_jw_array_end(&w);
			}
			th_buf_clear(&out);
			assert_int_equal(
			    o.profile->dialect->decode(&c, th_buf_str(&item), &out, &err), TH_OK);
			assert_string_equal(out.ptr, want.ptr);
		}
	th_buf_deinit(&item);
	th_buf_deinit(&want);
	th_buf_deinit(&out);
}

/* What did not go well is said so, where that is a text. */
static void test_an_error_is_marked(void **state)
{
	struct th_request_options o = options("claude-sonnet-4-5");
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	struct th_result r = { .call_item = TH_STR("{\"type\":\"function_call\"}"),
			       .call_id = TH_STR("t"),
			       .output = TH_STR("\"no\""),
			       .status = TH_OUTCOME_FAILED };
	struct th_group g = { .kind = TH_GROUP_RESULTS, .results = &r, .result_count = 1 };

	(void)state;
	group(&o, &g, &out);
	assert_string_equal(out.ptr,
			    "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
			    "\"tool_use_id\":\"t\",\"content\":[{\"type\":\"text\",\"text\":"
			    "\"no\"}],\"is_error\":true}]}");
	r.status = TH_OUTCOME_DONE;
	group(&o, &g, &out);
	assert_null(strstr(out.ptr, "is_error"));
	r.status = TH_OUTCOME_UNKNOWN;
	r.output = TH_STR("[{\"type\":\"text\",\"text\":\"x\"},{\"type\":\"image\",\"media_type\":"
			  "\"image/png\",\"blob\":"
			  "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}]");
	group(&o, &g, &out);
	assert_non_null(strstr(out.ptr, "\"type\":\"image\""));
	assert_null(strstr(out.ptr, "is_error"));
	th_buf_deinit(&out);
}

static void test_an_answer_goes_back_as_it_came(void **state)
{
	struct th_request_options o = options("anthropic/claude-sonnet-4-5-20250929");
	struct th_buf out = TH_BUF_INIT(TH_MIB);

	(void)state;
	answer(&o, RAW("claude-sonnet-4-5", "tool_use", "[" THOUGHT USE "]"), "[]", &out);
	assert_string_equal(out.ptr, "{\"role\":\"assistant\",\"content\":[" THOUGHT USE "]}");
	/* Texts that the API gives and does not take, and a thought that was cut. */
	answer(&o,
	       RAW("claude-sonnet-4-5", "max_tokens",
		   "[{\"type\":\"text\",\"text\":\" \\n\"},{\"type\":\"text\",\"text\":\"a\"},"
		   "{\"type\":\"thinking\",\"thinking\":\"cut\"}]"),
	       "[]", &out);
	assert_string_equal(out.ptr, "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\","
				     "\"text\":\"a\"}]}");
	/* Another model cannot check the signatures of this one. */
	answer(&o, RAW("claude-opus-4-6", "tool_use", "[" THOUGHT USE "]"), "[]", &out);
	assert_string_equal(out.ptr, "{\"role\":\"assistant\",\"content\":[" USE "]}");
	/* A refusal is not held against the model, and nothing is no message. */
	answer(&o, RAW("claude-sonnet-4-5", "refusal", "[{\"type\":\"text\",\"text\":\"No\"}]"),
	       "[]", &out);
	assert_string_equal(out.ptr, "");
	answer(&o, RAW("claude-sonnet-4-5", "end_turn", "[]"), "[]", &out);
	assert_string_equal(out.ptr, "");
	/* Paused: the same again, and the model goes on. */
	answer(&o, RAW("claude-sonnet-4-5", "pause_turn", "[{\"type\":\"server_tool_use\"}]"), "[]",
	       &out);
	assert_string_equal(out.ptr, "{\"role\":\"assistant\",\"content\":[{\"type\":\"server_tool_"
				     "use\"}]}");
	th_buf_deinit(&out);
}

static void test_another_wires_answer_is_told_in_its_own_words(void **state)
{
	struct th_request_options o = options("claude-sonnet-4-5");
	struct th_buf out = TH_BUF_INIT(TH_MIB);

	(void)state;
	answer(&o, "{\"wire\":\"gemini\",\"message\":{\"content\":[{\"type\":\"text\"}]}}",
	       "[{\"type\":\"reasoning\",\"summary\":[]},{\"type\":\"message\",\"content\":[{"
	       "\"type\":\"output_text\",\"text\":\"hi\"}]},{\"type\":\"web_search_call\"}]",
	       &out);
	assert_string_equal(out.ptr, "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\","
				     "\"text\":\"hi\"}]}");
	answer(&o, "", "[{\"type\":\"reasoning\",\"summary\":[]}]", &out);
	assert_string_equal(out.ptr, "");
	answer(&o, "", "{}", &out);
	assert_string_equal(out.ptr, "error: the items of an answer must be a list");
	o = options("claude-5-x");
	answer(&o, "",
	       "[{\"type\":\"computer_call\",\"call_id\":\"c\",\"actions\":[{\"type\":\"key\","
	       "\"keys\":[\"a\"],\"count\":3}]}]",
	       &out);
	assert_string_equal(out.ptr, "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\","
				     "\"id\":\"c\",\"name\":\"key\",\"toolset_name\":\"computer\","
				     "\"input\":{\"text\":\"a\",\"repeat\":3}}]}");
	th_buf_deinit(&out);
}

static void test_messages_are_checked(void **state)
{
	struct th_request_options o = options("claude-sonnet-4-5");
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	struct th_group g = { .kind = TH_GROUP_MESSAGE,
			      .role = TH_STR("user"),
			      .content = TH_STR("\"\"") };

	(void)state;
	group(&o, &g, &out);
	assert_non_null(strstr(out.ptr, "[an empty message]"));
	g.content = TH_STR("[]");
	group(&o, &g, &out);
	assert_non_null(strstr(out.ptr, "[an empty message]"));
	g.content = TH_STR("1");
	group(&o, &g, &out);
	assert_string_equal(out.ptr, "error: content must be a string or a list of parts");
	g.content = TH_STR("[{\"type\":\"text\"}]");
	group(&o, &g, &out);
	assert_string_equal(out.ptr, "error: a text part's text must be a string");
	g.content = TH_STR("[{\"type\":\"image\",\"blob\":\"x\"}]");
	group(&o, &g, &out);
	assert_non_null(strstr(out.ptr, "64 digits"));
	g.role = TH_STR("tool");
	group(&o, &g, &out);
	assert_non_null(strstr(out.ptr, "role must be user"));
	th_buf_deinit(&out);
}

/* ---- limits of the decoder ---- */

static void feed(struct th_decoder *d, const char *text)
{
	(void)!th_messages_feed(d, th_str_of(text));
}

static void blocks(size_t count, const char *block, struct th_answer *ret, struct th_decoder **d)
{
	struct th_buf event = TH_BUF_INIT(TH_MIB);

	*d = th_messages_new(NULL, NULL, NULL);
	feed(*d, "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}\n\n");
	for (size_t i = 0; i < count; i++) {
		th_buf_clear(&event);
		th_buf_printf(&event,
			      "data: {\"type\":\"content_block_start\",\"index\":%zu,\"content_"
			      "block\":%s}\n\ndata: {\"type\":\"content_block_stop\",\"index\":%zu}"
			      "\n\n",
			      i, block, i);
		feed(*d, event.ptr);
	}
	feed(*d, "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n"
		 "data: {\"type\":\"message_stop\"}\n\n");
	th_messages_end(*d, false, ret);
	th_buf_deinit(&event);
}

static void test_blocks_and_calls_have_a_maximum(void **state)
{
	static const char other[] = "{\"type\":\"container_upload\"}";
	static const char call[] =
	    "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{}}";
	struct th_decoder *d;
	struct th_answer a;

	(void)state;
	blocks(TH_ANSWER_ITEMS_MAX, other, &a, &d);
	assert_int_equal(a.status, TH_ANSWER_COMPLETED);
	th_messages_free(d);
	blocks(TH_ANSWER_ITEMS_MAX + 1, other, &a, &d);
	assert_int_equal(a.status, TH_ANSWER_FAILED);
	assert_true(th_str_is(a.error_class, "limit"));
	assert_non_null(strstr(a.error_message.ptr, "1024 items"));
	th_messages_free(d);
	blocks(TH_CALLS_MAX, call, &a, &d);
	assert_int_equal(a.status, TH_ANSWER_COMPLETED);
	th_messages_free(d);
	blocks(TH_CALLS_MAX + 1, call, &a, &d);
	assert_true(th_str_is(a.error_class, "limit"));
	assert_non_null(strstr(a.error_message.ptr, "128 calls"));
	th_messages_free(d);
}

/* Deltas that differ in their text alone are not walked again; all others are. */
static void test_deltas_that_look_alike(void **state)
{
#define DELTA(text, rest)                                                                         \
	"data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\"," \
	"\"text\":" text rest "\n\n"
	static const struct {
		const char *event, *text;
		bool broken;
	} rows[] = {
		{ DELTA("\"b\"", "}}"), "ab", false },
		{ DELTA(" \"b\\\" }}\" ", " } }  "), "ab\\\" }}", false },
		{ DELTA("\"b\"", ",\"more\":1},\"p\":\"xy\"}"), "ab", false },
		{ DELTA("\"b\"", "},\"index\":1}"), "a", false },
		{ DELTA("\"b\"", "},\"type\":\"ping\"}"), "a", false },
		{ DELTA("7", "}}"), "a", false },
		{ DELTA("\"b\"", "}"), "a", true },
		{ DELTA("\"b\"", "}}}"), "a", true },
		{ DELTA("\"b", "}}"), "a", true },
		{ "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}"
		  "\n\n" DELTA("\"b\"", "}}"),
		  "a", false },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		const struct th_profile *p = options("claude-sonnet-4-5").profile;
		struct th_decoder *d = p->wire->decoder_new(p, NULL, NULL);
		struct th_answer a;
		char want[64];

		feed(d, "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\","
			"\"content\":[]}}\n\n"
			"data: {\"type\":\"content_block_start\",\"index\":0,"
			"\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n");
		feed(d, DELTA("\"a\"", "}}"));
		feed(d, rows[i].event);
		feed(d, "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
			"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
			"\"end_turn\"}}\n\n");
		/* What a broken event held is missing, also when the end came. */
		feed(d, "data: {\"type\":\"message_stop\"}\n\n");
		p->wire->end(d, false, &a);
		snprintf(want, sizeof(want), "\"text\":\"%s\"", rows[i].text);
		if (th_str_find(a.items, th_str_of(want)) < 0)
			fail_msg("row %zu: no %s in %.*s", i, want, TH_FMT(a.items));
		assert_int_equal(a.status, rows[i].broken ? TH_ANSWER_FAILED : TH_ANSWER_COMPLETED);
		p->wire->decoder_free(d);
	}
#undef DELTA
}

static void test_bytes_have_a_maximum(void **state)
{
	struct th_decoder *d = th_messages_new(NULL, NULL, NULL);
	struct th_buf event = TH_BUF_INIT(2 * TH_MIB);
	struct th_answer a;
	int r = 0;

	(void)state;
	feed(d, "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":"
		"\"text\",\"text\":\"\"}}\n\n");
	th_buf_add_cstr(&event, "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{"
				"\"type\":\"text_delta\",\"text\":\"");
	for (size_t i = 0; i < TH_MIB; i++)
		th_buf_add_char(&event, 'x');
	th_buf_add_cstr(&event, "\"}}\n\n");
	for (size_t i = 0; i < TH_ANSWER_MAX / TH_MIB + 1 && r >= 0; i++)
		r = th_messages_feed(d, th_buf_str(&event));
	assert_int_equal(r, TH_ELIMIT);
	assert_int_equal(th_messages_feed(d, TH_STR("x")), TH_ELIMIT);
	th_messages_end(d, false, &a);
	assert_true(th_str_is(a.error_class, "limit"));
	th_messages_free(d);
	th_buf_deinit(&event);
}

/* ---- requests ---- */

static void test_requests_survive(void **state)
{
	static const char *const bodies[] = {
		"{\"model\":\"m\",\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":"
		"\"hi\"}]}",
		"{\"model\":\"m\",\"max_tokens\":1,\"stream\":false,\"system\":\"s\",\"tool_"
		"choice\":{\"type\":\"any\"},\"messages\":[{\"role\":\"user\",\"content\":\"a\"},"
		"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"b\"}]},{\"role\":"
		"\"user\",\"content\":[{\"type\":\"text\",\"text\":\"c\",\"cache_control\":{"
		"\"type\":\"ephemeral\"}},{\"type\":\"image\",\"source\":{\"type\":\"base64\","
		"\"media_type\":\"image/png\",\"data\":\"AA\\/A\"}}]},{\"role\":\"assistant\","
		"\"content\":[]},{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\","
		"\"thinking\":\"t\",\"signature\":\"s\"},{\"type\":\"tool_use\",\"id\":\"1\","
		"\"name\":\"f\",\"input\":{\"a\":[]}},{\"type\":\"tool_use\",\"id\":\"2\",\"name\":"
		"\"key\",\"toolset_name\":\"computer\",\"input\":{\"text\":\"a\"}}]},{\"role\":"
		"\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"1\",\"content\":"
		"[{\"type\":\"text\",\"text\":\"x\"}],\"is_error\":true},{\"type\":\"tool_result\","
		"\"tool_use_id\":\"2\"}]}],\"tools\":[{\"name\":\"f\",\"input_schema\":{\"type\":"
		"\"object\"}},{\"type\":\"computer_20250124\",\"name\":\"computer\",\"display_"
		"width_px\":1,\"display_height_px\":1}],\"temperature\":0.5}",
		/* A role that its blocks do not have by themselves. */
		"{\"model\":\"m\",\"max_tokens\":1,\"system\":[{\"type\":\"text\",\"text\":\"s\"}],"
		"\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"tool_use\",\"id\":\"1\","
		"\"name\":\"f\",\"input\":{}},{\"type\":\"thinking\"},{\"type\":\"new\"}],\"new\":"
		"1},{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":"
		"\"x\",\"content\":\"\"}]}]}",
	};
	struct th_buf unified = TH_BUF_INIT(TH_MIB), out = TH_BUF_INIT(TH_MIB);
	struct th_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < TH_COUNT(bodies); i++) {
		struct th_json_doc *a = NULL, *b = NULL;

		th_buf_clear(&unified);
		th_buf_clear(&out);
		assert_int_equal(
		    th_messages_request_decode(TH_STR(""), th_str_of(bodies[i]), &unified, &err),
		    TH_OK);
		assert_json(th_buf_str(&unified));
		assert_int_equal(th_messages_request_encode(th_buf_str(&unified), &out, &err),
				 TH_OK);
		assert_int_equal(th_json_parse(th_str_of(bodies[i]), &a, NULL), TH_OK);
		assert_int_equal(th_json_parse(th_buf_str(&out), &b, NULL), TH_OK);
		if (!th_json_equal(th_json_root(a), th_json_root(b)))
			fail_msg("%s\nbecame %s\nby way of %s", bodies[i], out.ptr, unified.ptr);
		th_json_free(a);
		th_json_free(b);
	}
	/* What needs no raw form has none. */
	th_buf_clear(&unified);
	assert_int_equal(
	    th_messages_request_decode(
		TH_STR(""),
		TH_STR("{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":"
		       "\"text\",\"text\":\"b\"}]}]}"),
		&unified, &err),
	    TH_OK);
	assert_string_equal(unified.ptr,
			    "{\"model\":\"m\",\"items\":[{\"type\":\"message\",\"role\":\"user\","
			    "\"content\":[{\"type\":\"input_text\",\"text\":\"b\"}]}],\"settings\":"
			    "{},\"extra\":{}}");
	th_buf_deinit(&unified);
	th_buf_deinit(&out);
}

static void test_bad_requests_are_told(void **state)
{
	static const struct {
		const char *body, *message;
	} cases[] = {
		{ "{", "the body: " },
		{ "[]", "valid dictionary" },
		{ "{\"messages\":[]}", "model: Field required" },
		{ "{\"model\":\"m\"}", "messages: Field required" },
		{ "{\"model\":\"m\",\"messages\":[]}", "messages: Field required" },
		{ "{\"model\":\"m\",\"stream\":1,\"messages\":[]}", "stream: Input" },
		{ "{\"model\":\"m\",\"messages\":[{\"role\":\"tool\"}]}", "messages.0.role" },
		{ "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":1}]}",
		  "messages.0.content: Input" },
		{ "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[1]}]}",
		  "messages.0.content.0.type" },
		{ "{\"model\":\"m\",\"messages\":[{\"role\":\"user\"}],\"tools\":[{}]}",
		  "tools.0.custom.name" },
	};
	struct th_buf out = TH_BUF_INIT(TH_MIB);

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		struct th_err err = { 0 };

		th_buf_clear(&out);
		assert_int_equal(
		    th_messages_request_decode(TH_STR(""), th_str_of(cases[i].body), &out, &err),
		    TH_EPROTO);
		if (!strstr(err.msg, cases[i].message))
			fail_msg("%s: %s", cases[i].body, err.msg);
	}
	th_buf_deinit(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_results_have_holes_for_pictures_and_a_mark),
		cmocka_unit_test(test_own_forms),
		cmocka_unit_test(test_an_editor_that_deletes),
		cmocka_unit_test(test_an_error_is_marked),
		cmocka_unit_test(test_an_answer_goes_back_as_it_came),
		cmocka_unit_test(test_another_wires_answer_is_told_in_its_own_words),
		cmocka_unit_test(test_messages_are_checked),
		cmocka_unit_test(test_blocks_and_calls_have_a_maximum),
		cmocka_unit_test(test_deltas_that_look_alike),
		cmocka_unit_test(test_bytes_have_a_maximum),
		cmocka_unit_test(test_requests_survive),
		cmocka_unit_test(test_bad_requests_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
