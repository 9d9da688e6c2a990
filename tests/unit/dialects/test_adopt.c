/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_adopt.c - answers of each kind of model in the history of each other:
 * every call goes out once, with its one result.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "dialects/adopt.h"
#include "dialects/dialect.h"
#include "profiles/compose.h"
#include "profiles/profiles.h"
#include "transcript/plan.h"

#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define RESULT                                                                              \
	"[{\"type\":\"text\",\"text\":\"it-was-done\"},{\"type\":\"image\",\"media_type\":" \
	"\"image/png\",\"blob\":\"" HASH "\",\"width\":1280,\"height\":800}]"
#define TEXT                                                                                      \
	"{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],\"encrypted_content\":\"b3Bh\"}," \
	"{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"status\":\"completed\"," \
	"\"content\":[{\"type\":\"output_text\",\"text\":\"I look.\",\"annotations\":[]}]}"
#define SHELL                                                                                    \
	"{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"call_f\",\"name\":\"shell\"," \
	"\"arguments\":\"{\\\"command\\\":\\\"ls\\\"}\",\"status\":\"completed\"}"

static const struct {
	const char *model, *items;
} answers[] = {
	{ "gpt-5.4",
	  "[" TEXT "," SHELL
	  ",{\"type\":\"computer_call\",\"id\":\"cu_1\",\"call_id\":\"call_c\",\"status\":"
	  "\"completed\",\"pending_safety_checks\":[],\"actions\":[{\"type\":\"click\","
	  "\"button\":\"left\",\"x\":10,\"y\":20},{\"type\":\"keypress\",\"keys\":[\"CTRL\","
	  "\"A\"]},{\"type\":\"type\",\"text\":\"h\\u00e4\"}]}]" },
	{ "computer-use-preview",
	  "[" TEXT ",{\"type\":\"computer_call\",\"id\":\"cu_1\",\"call_id\":\"call_c\",\"status\":"
	  "\"completed\",\"pending_safety_checks\":[],\"action\":{\"type\":\"scroll\",\"x\":10,"
	  "\"y\":20,"
	  "\"scroll_x\":0,\"scroll_y\":300}}]" },
	{ "claude-sonnet-4-5",
	  "[" TEXT "," SHELL
	  ",{\"type\":\"computer_call\",\"call_id\":\"toolu_01\",\"name\":\"computer\","
	  "\"actions\":[{\"type\":\"click\",\"button\":\"left\",\"count\":3,\"x\":10,\"y\":20}],"
	  "\"status\":\"completed\"}]" },
	{ "gemini-3-pro",
	  "[{\"type\":\"computer_call\",\"call_id\":\"call_1_1\",\"name\":\"click_at\","
	  "\"arguments\":"
	  "\"{\\\"x\\\":10,\\\"y\\\":20}\",\"actions\":[{\"type\":\"click\",\"button\":\"left\","
	  "\"x\":10,\"y\":20}]}]" },
	{ "vllm/ByteDance-Seed/UI-TARS-1.5-7B",
	  "[" TEXT
	  ",{\"type\":\"computer_call\",\"call_id\":\"call_1_1\",\"actions\":[{\"type\":\"drag\","
	  "\"button\":\"left\",\"path\":[{\"x\":1,\"y\":2},{\"x\":30,\"y\":40}]}]}]" },
	/* What could not be read, what a person spoke of, and an element that nobody has found. */
	{ "vllm/ByteDance-Seed/UI-TARS-1.5-7B", "[{\"type\":\"computer_call\",\"call_id\":\"call_1_"
						"1\",\"actions\":[],\"error\":\"what?\","
						"\"input\":\"clack(1)\"}]" },
	{ "chat:other",
	  "[{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"computer\",\"arguments\":"
	  "\"{\\\"actions\\\":[{\\\"type\\\":\\\"wait\\\",\\\"duration_ms\\\":1500}]}\"},{\"type\":"
	  "\"function_call\",\"call_id\":\"c2\",\"name\":\"computer\",\"arguments\":\"no "
	  "json\"}]" },
	{ "gta1-7b+gpt-5.4",
	  "[{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"computer\",\"arguments\":"
	  "\"{\\\"action\\\":\\\"click\\\",\\\"element_description\\\":\\\"the button\\\"}\"}]" },
	/* Items of the API's own. */
	{ "gpt-5.4",
	  "[" TEXT ",{\"type\":\"shell_call\",\"id\":\"sh_1\",\"call_id\":\"call_s\",\"action\":{"
	  "\"commands\":[\"ls\",\"pwd\"]}},{\"type\":\"apply_patch_call\",\"id\":\"apc_1\","
	  "\"call_id\":\"call_p\",\"operation\":{\"type\":\"delete_file\",\"path\":\"a\"}},{"
	  "\"type\":\"custom_tool_call\",\"id\":\"ctc_1\",\"call_id\":\"call_u\",\"name\":\"raw\","
	  "\"input\":\"free\"},{\"type\":\"mcp_approval_request\",\"id\":\"mcpr_1\","
	  "\"server_label\":\"srv\",\"name\":\"do\",\"arguments\":\"{}\"},{\"type\":\"mcp_call\","
	  "\"id\":\"mcp_1\",\"server_label\":\"srv\",\"name\":\"do\",\"arguments\":\"{}\"}]" },
};

static const struct th_profile *profile(const char *model)
{
	static struct th_composed composed;
	struct th_match match;
	struct th_err err;

	if (th_model_compose(NULL, th_str_of(model), &composed, &match, &err))
		fail_msg("%s: %s", model, err.msg);
	return match.profile;
}

static struct th_request_options options(const struct th_profile *p)
{
	static const struct th_agent agent = { .name = TH_STR_INIT("x") };

	return (struct th_request_options){
		.profile = p,
		.model = TH_STR("m"),
		.agent = &agent,
		.has_computer = true,
		.screen = { 1280, 800 },
		.image = th_image_size(p, (struct th_size){ 1280, 800 }),
	};
}

static size_t times(struct th_str text, const char *words)
{
	size_t count = 0;
	ptrdiff_t at;

	while ((at = th_str_find(text, th_str_of(words))) >= 0) {
		count++;
		text = th_str_sub(text, (size_t)at + 1, text.len);
	}
	return count;
}

/* One group as it is sent with all its pictures. */
static void render_group(const struct th_profile *from, const struct th_request_options *o,
			 const struct th_group *g, struct th_buf *out)
{
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	struct th_hole holes[16];
	struct th_err err = { 0 };
	size_t count, at = 0;

	if (th_group_render(o, g, out->len == 0, &text, holes, TH_COUNT(holes), &count, &err))
		fail_msg("%s for %s: %s", from->name, o->profile->name, err.msg);
	for (size_t i = 0; i < count; i++) {
		th_buf_add(out, th_str_sub(th_buf_str(&text), at, holes[i].to - at));
		at = holes[i].end;
	}
	th_buf_add(out, th_str_sub(th_buf_str(&text), at, text.len));
	th_buf_deinit(&text);
}

/* The groups of the answer and of its results, as the wire writes them. */
static void render(const struct th_profile *from, const struct th_request_options *o,
		   struct th_str items, const struct th_next *next, struct th_buf *out)
{
	struct th_buf adopted = TH_BUF_INIT(TH_MIB), calls[4];
	struct th_result results[4];
	struct th_group g = { .kind = TH_GROUP_ANSWER };
	struct th_err err = { 0 };

	if (th_adopt_answer(from, o, items, &adopted, &err))
		fail_msg("%s for %s: %s", from->name, o->profile->name, err.msg);
	g.items = th_buf_str(&adopted);
	render_group(from, o, &g, out);
	for (size_t i = 0; i < next->call_count; i++) {
		th_buf_init(&calls[i], TH_MIB);
		assert_int_equal(th_adopt_call(from, o, next->calls[i].item, &calls[i], &err),
				 TH_OK);
		results[i] = (struct th_result){
			.call_item = th_buf_str(&calls[i]),
			.call_id = next->calls[i].call_id,
			.tool = next->calls[i].tool,
			.output = TH_STR(RESULT),
		};
	}
	g = (struct th_group){ .kind = TH_GROUP_RESULTS,
			       .results = results,
			       .result_count = next->call_count };
	render_group(from, o, &g, out);
	for (size_t i = 0; i < next->call_count; i++)
		th_buf_deinit(&calls[i]);
	th_buf_deinit(&adopted);
}

static void check(const struct th_profile *from, const struct th_request_options *o,
		  const struct th_next *next, struct th_str body)
{
	bool said = o->profile->dialect->results_as_user;
	struct th_json_doc *doc;
	struct th_buf list = TH_BUF_INIT(TH_MIB);

	/* Behind the instructions of some wires a group begins with a comma. */
	th_buf_printf(&list, "[%.*s]",
		      TH_FMT(body.ptr[0] == ',' ? th_str_sub(body, 1, body.len) : body));
	if (th_json_parse(th_buf_str(&list), &doc, NULL))
		fail_msg("%s for %s is no JSON: %s", from->name, o->profile->name, list.ptr);
	th_json_free(doc);
	assert_null(strstr(list.ptr, "encrypted_content"));
	assert_null(strstr(list.ptr, "msg_1"));
	for (size_t i = 0; i < next->call_count; i++) {
		char id[64];
		/* Both name the call, but where both are text; Gemini goes by order. */
		size_t want = th_str_is(th_str_of(o->profile->wire->name), "gemini") ? 0 : 2;

		(void)snprintf(id, sizeof(id), "\"%.*s\"", TH_FMT(next->calls[i].call_id));
		if (said)
			want = 0;
		/* It takes short ids only, which are made of these. */
		if (o->profile->flavour && strcmp(o->profile->flavour, "mistral") == 0)
			want = 0;
		if (times(th_buf_str(&list), id) != want)
			fail_msg("%s for %s: %s is not there %zu times in %s", from->name,
				 o->profile->name, id, want, list.ptr);
	}
	if (times(th_buf_str(&list), "it-was-done") < next->call_count)
		fail_msg("%s for %s: a result is lost: %s", from->name, o->profile->name, list.ptr);
	th_buf_deinit(&list);
}

static void test_each_for_each(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < TH_COUNT(answers); i++) {
		const struct th_profile *from = profile(answers[i].model);
		struct th_arena a;
		struct th_buf text = TH_BUF_INIT(TH_MIB);
		struct th_next next;
		struct th_err err;

		th_arena_init(&a, TH_MIB);
		assert_int_equal(
		    th_plan_answer(th_str_of(answers[i].items), &a, &text, &next, &err), TH_OK);
		for (const struct th_profile *p = th_profile_next(NULL); p;
		     p = th_profile_next(p)) {
			struct th_request_options o = options(p);
			struct th_buf out = TH_BUF_INIT(TH_MIB);

			if (p->computer == TH_COMPUTER_CLICK || p->computer == TH_COMPUTER_NONE)
				continue;
			render(from, &o, th_str_of(answers[i].items), &next, &out);
			check(from, &o, &next, th_buf_str(&out));
			th_buf_deinit(&out);
		}
		th_buf_deinit(&text);
		th_arena_deinit(&a);
	}
}

static void expect(size_t answer, const char *model, const char *words)
{
	struct th_request_options o = options(profile(model));
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	struct th_err err;

	assert_int_equal(th_adopt_answer(profile(answers[answer].model), &o,
					 th_str_of(answers[answer].items), &out, &err),
			 TH_OK);
	if (!strstr(out.ptr, words))
		fail_msg("%s for %s: no %s in %s", answers[answer].model, model, words, out.ptr);
	th_buf_deinit(&out);
}

/* In the words of its own tool, where that has them. */
static void test_in_its_own_words(void **unused)
{
	(void)unused;
	expect(
	    4, "gpt-5.4",
	    "\"type\":\"computer_call\",\"call_id\":\"call_1_1\",\"actions\":[{\"type\":\"drag\"");
	expect(4, "computer-use-preview", "\"action\":{\"type\":\"drag\"");
	/* OpenAI has no word for three clicks. */
	expect(
	    2, "gpt-5.4",
	    "\"name\":\"computer\",\"arguments\":\"{\\\"actions\\\":[{\\\"type\\\":\\\"click\\\"");
	expect(0, "computer-use-preview", "\"name\":\"computer\",\"arguments\"");
	expect(1, "claude-sonnet-4-5", "\"unit\":\"pixel\"");
	expect(5, "gpt-5.4", "\"name\":\"computer\"");
	expect(6, "gpt-5.4", "\"arguments\":\"no json\"");
	expect(7, "vllm/ByteDance-Seed/UI-TARS-1.5-7B",
	       "I used the computer: {\\\"action\\\":\\\"click\\\"");
}

static void test_what_is_no_answer(void **unused)
{
	struct th_request_options o = options(profile("gpt-5.4"));
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	struct th_err err;

	(void)unused;
	assert_int_equal(th_adopt_answer(o.profile, &o, TH_STR("{}"), &out, &err), TH_EPROTO);
	assert_int_equal(th_adopt_answer(o.profile, &o, TH_STR("[1,"), &out, &err), TH_EPROTO);
	th_buf_clear(&out);
	assert_int_equal(
	    th_adopt_answer(o.profile, &o, TH_STR("[1,null,{\"type\":3}]"), &out, &err), TH_OK);
	assert_string_equal(out.ptr, "[]");
	th_buf_deinit(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_for_each),
		cmocka_unit_test(test_in_its_own_words),
		cmocka_unit_test(test_what_is_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
