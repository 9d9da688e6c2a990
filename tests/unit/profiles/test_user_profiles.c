/* SPDX-License-Identifier: Apache-2.0 */
/* The models file: what a row begins as, what it says itself, what is refused, what it finds. */
#include "unit.h"

#include "base/limits.h"
#include "dialects/dialect.h"
#include "profiles/compose.h"
#include "profiles/user_profiles.h"

static struct th_arena arena;
static struct th_err err;

static enum th_code parse(const char *rows, struct th_profiles *ret)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;

	err = (struct th_err){ 0 };
	th_buf_printf(&text, "{\"models\":[%s]}", rows);
	assert_int_equal(th_json_parse(th_buf_str(&text), &doc, &err), TH_OK);
	return th_profiles_parse(th_json_root(doc), &arena, ret, &err);
}

static struct th_profiles good(const char *rows)
{
	struct th_profiles list = { 0 };

	if (parse(rows, &list))
		fail_msg("%s", err.msg);
	return list;
}

static void bad(const char *rows, const char *says)
{
	struct th_profiles list = { 0 };

	assert_int_equal(parse(rows, &list), TH_EUSAGE);
	if (!strstr(err.msg, says))
		fail_msg("\"%s\" does not say \"%s\"", err.msg, says);
	assert_null(list.rows);
}

static struct th_match match(const struct th_profiles *list, const char *name)
{
	struct th_match m = { 0 };

	if (th_model_match(list, th_str_of(name), &m, &err))
		fail_msg("%s: %s", name, err.msg);
	return m;
}

static void expect(const struct th_profiles *list, const char *name, const char *profile,
		   const char *sent, enum th_match_rule rule, const char *pattern)
{
	struct th_match m = match(list, name);

	assert_string_equal(m.profile->name, profile);
	if (!th_str_is(m.name, sent) || !th_str_is(m.pattern, pattern))
		fail_msg("%s: sends %.*s by %.*s", name, TH_FMT(m.name), TH_FMT(m.pattern));
	assert_int_equal(m.rule, rule);
}

/* A copy of what it is like, and on top what it says. */
static void test_like(void **state)
{
	struct th_profiles list =
	    good("{\"name\":\"a\",\"like\":\"openrouter/qwen/qwen3-vl-8b\",\"images_max\":7,"
		 "\"vision\":true,\"context_tokens\":1000},"
		 "{\"name\":\"b\",\"like\":\"a\",\"strict\":true},"
		 "{\"name\":\"c\",\"like\":\"gemini-2.5\",\"base_url\":\"http://x/\"}");
	const struct th_profile *like = match(NULL, "openrouter/qwen/qwen3-vl-8b").profile;
	const struct th_profile *a = &list.rows[0];

	(void)state;
	assert_int_equal(list.count, 3);
	assert_true(a->user && !like->user);
	assert_ptr_equal(a->wire, like->wire);
	assert_ptr_equal(a->dialect, like->dialect);
	assert_int_equal(a->space.max, like->space.max);
	assert_int_equal(a->images_max, 7);
	assert_int_equal(a->context_tokens, 1000);
	assert_string_equal(a->pattern, "a");
	assert_string_equal(a->key_env, like->key_env); /* the same server */
	assert_int_equal(list.rows[1].images_max, 7);
	assert_true(list.rows[1].strict && !a->strict);
	/* A key is for the server that it was named for. */
	assert_string_equal(list.rows[2].base_url, "http://x/");
	assert_null(list.rows[2].base_url_env);
	assert_null(list.rows[2].key_env);
}

static void test_override(void **state)
{
	struct th_profiles list =
	    good("{\"name\":\"openai-gpt-5-mini\",\"price\":{\"input\":0.2,\"output\":1.6}}");
	const struct th_profile *p = &list.rows[0];

	(void)state;
	assert_int_equal(p->price.input, 200);
	assert_int_equal(p->price.cached, 200); /* as input */
	assert_int_equal(p->price.output, 1600);
	assert_int_equal(p->price.written, 0);
	expect(&list, "gpt-5-mini", "openai-gpt-5-mini", "gpt-5-mini", TH_MATCH_USER,
	       "gpt-5-mini*");
	expect(&list, "openai/gpt-5-mini-x", "openai-gpt-5-mini", "gpt-5-mini-x", TH_MATCH_USER,
	       "gpt-5-mini*");
	assert_ptr_equal(match(&list, "openai/gpt-5-mini").profile, p);
	assert_ptr_not_equal(match(NULL, "gpt-5-mini").profile, p);
}

/* A plain row of a wire; a dialect brings its space along. */
static void test_plain(void **state)
{
	struct th_profiles list =
	    good("{\"name\":\"a\",\"wire\":\"chat\",\"dialect\":\"uitars\"},"
		 "{\"name\":\"b\",\"wire\":\"responses\"},"
		 "{\"name\":\"c\",\"wire\":\"messages\"},"
		 "{\"name\":\"d\",\"wire\":\"chat\",\"computer\":\"none\",\"vision\":false},"
		 "{\"name\":\"e\",\"wire\":\"chat\",\"dialect\":\"points\",\"space\":{\"kind\":"
		 "\"smart\",\"factor\":28,\"pixels_min\":784,\"pixels_max\":784}}");

	(void)state;
	assert_string_equal(list.rows[0].dialect->name, "uitars");
	assert_int_equal(list.rows[0].computer, TH_COMPUTER_DIALECT);
	assert_int_equal(list.rows[0].space.kind, TH_SPACE_NORM);
	assert_int_equal(list.rows[0].space.max, 1000);
	assert_null(list.rows[0].key_env);
	assert_int_equal(list.rows[1].computer, TH_COMPUTER_FUNCTION);
	assert_int_equal(list.rows[2].computer, TH_COMPUTER_NATIVE);
	assert_int_equal(list.rows[2].price.input, 0);
	assert_false(list.rows[3].vision);
	assert_int_equal(list.rows[4].computer, TH_COMPUTER_CLICK);
	assert_int_equal(list.rows[4].space.factor, 28);
}

/* Names: the whole one, then without the provider; refused ways may be taken; first row wins. */
static void test_match(void **state)
{
	struct th_profiles list =
	    good("{\"name\":\"gw\",\"pattern\":\"gw/*|bedrock/*\",\"like\":\"gpt-5.4\"},"
		 "{\"name\":\"alias\",\"like\":\"gpt-5.4\",\"sends\":\"/srv/x\"},"
		 "{\"name\":\"gw2\",\"pattern\":\"gw/*\",\"like\":\"gpt-4o\"}");
	struct th_composed c;
	struct th_match m;

	(void)state;
	expect(&list, "gw/x", "gw", "x", TH_MATCH_USER, "gw/*");
	expect(&list, "bedrock/x", "gw", "x", TH_MATCH_USER, "bedrock/*");
	expect(&list, "alias", "alias", "/srv/x", TH_MATCH_USER, "alias");
	expect(&list, "gpt-9", "openai-gpt", "gpt-9", TH_MATCH_TABLE, "gpt-*");
	assert_true(match(&list, "gpt-9").profile->newer);
	expect(&list, "groq/qwen3-vl", "qwen3-vl", "qwen3-vl", TH_MATCH_SERVED, "*qwen*vl*");
	assert_string_equal(match(&list, "groq/qwen3-vl").server->name, "groq");
	assert_true(th_str_is(match(&list, "groq/qwen3-vl").prefix, "groq/"));
	expect(&list, "responses:foo", "responses", "foo", TH_MATCH_GENERIC, "");
	assert_int_equal(th_model_match(&list, TH_STR("gw/"), &m, &err), TH_EUSAGE);
	assert_int_equal(th_model_match(NULL, TH_STR("bedrock/x"), &m, &err), TH_EUSAGE);
	/* And either half of a pair. */
	assert_int_equal(th_model_compose(&list, TH_STR("gta1-7b+gw/x"), &c, &m, &err), TH_OK);
	assert_string_equal(m.profile->name, "gw");
	assert_string_equal(m.profile->dialect->name, "descriptions");
	assert_string_equal(c.grounder->name, "gta1");
	assert_int_equal(th_model_compose(&list, TH_STR("gw/x+gpt-4o"), &c, &m, &err), TH_OK);
	assert_string_equal(c.grounder->name, "gw");
	assert_true(th_str_is(c.grounder_name, "x"));
}

static void test_refused(void **state)
{
	(void)state;
	bad("{\"nam\":\"a\"}", "models[0].nam");
	bad("{\"name\":\"a\"}", "models[0].wire: is missing");
	bad("{\"name\":\"a\",\"wire\":\"chatt\"}", "models[0].wire");
	bad("{\"name\":\"a\",\"wire\":\"chat\"},{\"name\":\"a\",\"wire\":\"chat\"}",
	    "models[1].name: is that of models[0] too");
	bad("{\"name\":\"a\",\"like\":\"nothing-known\"}", "models[0].like: is no model");
	bad("{\"name\":\"a\",\"like\":\"gpt-5\",\"wire\":\"chat\"}", "models[0].wire: is chat");
	bad("{\"name\":\"a b\",\"wire\":\"chat\"}", "models[0].name: holds a blank");
	bad("{\"name\":\"a\",\"wire\":\"chat\",\"note\":\"x\\u001b[2J\"}", "control character");
	bad("{\"name\":\"a\",\"like\":\"claude-5\",\"beta\":\"x\\r\\nX-Evil: 1\"}",
	    "models[0].beta");
	bad("{\"name\":\"a\",\"wire\":\"chat\",\"dialect\":\"qwem\"}", "did you mean \"qwen\"");
	bad("{\"name\":\"a\",\"wire\":\"chat\",\"dialect\":\"descriptions\"}", "not known");
	bad("{\"name\":\"a\",\"wire\":\"chat\",\"flavour\":\"grok\"}", "models[0].flavour");
	bad("{\"name\":\"a\",\"like\":\"claude-5\",\"tool\":\"computer_1999\"}", "models[0].tool");
	bad("{\"name\":\"a\",\"wire\":\"chat\",\"computer\":\"ga\"}", "models[0].computer");
	bad("{\"name\":\"a\",\"wire\":\"chat\",\"computer\":\"native\"}",
	    "models[0].computer: is a tool that only these wires have: messages, gemini, "
	    "interactions");
	bad("{\"name\":\"a\",\"wire\":\"chat\",\"dialect\":\"gemini\"}",
	    "models[0].dialect: is only for these wires: gemini, interactions");
	bad("{\"name\":\"a\",\"wire\":\"chat\",\"computer\":\"points\"}", "models[0].dialect");
	bad("{\"name\":\"a\",\"wire\":\"chat\",\"vision\":false}", "models[0].vision");
	bad("{\"name\":\"a\",\"wire\":\"chat\",\"pattern\":\"a||b\"}", "models[0].pattern");
	bad("{\"name\":\"a\",\"wire\":\"chat\",\"pattern\":\"a|\"}", "models[0].pattern");
	bad("{\"name\":\"a\",\"wire\":\"chat\",\"key_env\":\"A-B\"}", "models[0].key_env");
	bad("{\"name\":\"a\",\"wire\":\"chat\",\"key_env\":\"A|\"}", "models[0].key_env");
	bad("{\"name\":\"a\",\"wire\":\"chat\",\"base_url_env\":\"A|B\"}",
	    "models[0].base_url_env");
	bad("{\"name\":\"a\",\"wire\":\"chat\",\"space\":{\"kind\":\"norm\"}}", "space.max");
	bad("{\"name\":\"a\",\"wire\":\"chat\",\"space\":{\"kind\":\"pixels\",\"max\":9}}",
	    "space.max");
	bad("{\"name\":\"a\",\"wire\":\"chat\",\"space\":{\"kind\":\"norm\",\"max\":1000001}}",
	    "at most 1000000");
	bad("{\"name\":\"a\",\"wire\":\"chat\",\"space\":{\"kind\":\"smart\",\"factor\":28,"
	    "\"pixels_min\":1,\"pixels_max\":783}}",
	    "space.pixels_max");
	bad("{\"name\":\"a\",\"wire\":\"chat\",\"space\":{\"kind\":\"smart\",\"factor\":28}}",
	    "space.pixels_min");
	bad("{\"name\":\"a\",\"wire\":\"chat\",\"resize\":{\"width\":9}}", "resize.width");
	bad("{\"name\":\"a\",\"wire\":\"chat\",\"resize\":{\"side_max\":16385}}", "resize");
	bad("{\"name\":\"a\",\"wire\":\"chat\",\"price\":{\"input\":1}}", "price.output");
	bad("{\"name\":\"a\",\"wire\":\"chat\",\"price\":{\"input\":1000001,\"output\":1}}",
	    "models[0].price");
	bad("{\"name\":\"a\",\"wire\":\"chat\",\"price\":{\"input\":-1,\"output\":1}}",
	    "price.input");
	bad("{\"name\":\"a\",\"wire\":\"chat\",\"images_max\":2147483648}", "images_max");
}

static void test_limit(void **state)
{
	struct th_buf rows TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_profiles list;

	(void)state;
	for (int i = 0; i < TH_USER_PROFILES_MAX; i++)
		th_buf_printf(&rows, "%s{\"name\":\"m%d\",\"wire\":\"chat\"}", i ? "," : "", i);
	list = good(rows.ptr);
	assert_int_equal(list.count, TH_USER_PROFILES_MAX);
	expect(&list, "m255", "m255", "m255", TH_MATCH_USER, "m255");
	th_buf_add_cstr(&rows, ",{\"name\":\"more\",\"wire\":\"chat\"}");
	assert_int_equal(parse(rows.ptr, &list), TH_ELIMIT);
}

static int set_up(void **state)
{
	(void)state;
	th_arena_init(&arena, TH_MIB);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	th_arena_deinit(&arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_like, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_override, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_plain, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_match, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_limit, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
