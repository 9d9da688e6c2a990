/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_unknown.c - what is said and remembered of an effect of which nobody
 * knows whether it happened; and what makes a class stricter.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "core/session.h"
#include "core/unknown.h"

static struct th_str digest_of(const char *tool, const char *arguments, char *out)
{
	th_call_digest(th_str_of(tool), th_str_of(arguments), out);
	return th_str_of(out);
}

static struct th_effect_scope scope_of(const char *tool)
{
	return th_effect_scope_of(TH_STR(""), TH_STR(""), th_str_of(tool));
}

/* Adds a doubt of this call, told by event 10. */
static void unresolved(struct th_unresolved_effects *d, const char *tool, const char *arguments)
{
	char digest[TH_SHA256_HEX_SIZE + 1];

	digest_of(tool, arguments, digest);
	th_unresolved_add(d, 10, scope_of(tool), th_str_of(arguments), digest);
}

static void ended(struct th_unresolved_effects *d, uint64_t seq, const char *tool,
		  const char *arguments, enum th_class class, enum th_outcome_status status)
{
	char digest[TH_SHA256_HEX_SIZE + 1];

	digest_of(tool, arguments, digest);
	th_unresolved_ended(d, seq, scope_of(tool), th_str_of(arguments), digest, class, status);
}

static bool unresolved_effect(const struct th_unresolved_effects *d, const char *tool,
			      const char *arguments)
{
	char digest[TH_SHA256_HEX_SIZE + 1];

	digest_of(tool, arguments, digest);
	return th_unresolved_find(d, digest) != NULL;
}

static void test_looks(void **unused)
{
	struct th_arena a;
	struct th_observation look;

	(void)unused;
	th_arena_init(&a, TH_MIB);
	look = th_unknown_observation(scope_of("computer"), TH_STR("{\"actions\":[]}"), true, &a);
	assert_true(th_str_is(look.tool, "computer"));
	assert_true(th_str_is(look.arguments, "{\"actions\":[{\"type\":\"screenshot\"}]}"));
	look = th_unknown_observation(scope_of("write_file"),
				      TH_STR("{\"content\":\"x\",\"path\":\"a\\\"b\"}"), false, &a);
	assert_true(th_str_is(look.tool, "read_file"));
	assert_true(
	    th_str_is(look.arguments, "{\"path\":\"a\\\"b\",\"start_line\":1,\"end_line\":200}"));
	assert_true(th_str_is(look.what, "the file a\"b"));
	look = th_unknown_observation(scope_of("shell"), TH_STR("{\"command\":\"x\"}"), true, &a);
	assert_true(th_str_is(look.tool, "list_dir"));
	/* Nothing here sees what a function did; a screen might. */
	look = th_unknown_observation(scope_of("pay"), TH_STR("{}"), false, &a);
	assert_int_equal(look.tool.len, 0);
	look = th_unknown_observation(scope_of("pay"), TH_STR("{}"), true, &a);
	assert_true(th_str_is(look.tool, "computer"));
	/* A path that is no string, or none. */
	look = th_unknown_observation(scope_of("write_file"), TH_STR("{\"path\":1}"), false, &a);
	assert_true(th_str_is(look.tool, "list_dir"));
	th_arena_deinit(&a);
}

static void test_words(void **unused)
{
	struct th_observation look = { TH_STR("list_dir"), TH_STR("{}"), TH_STR("the workspace") };
	struct th_observation_result seen = { TH_OUTCOME_DONE, TH_STR("\"a.txt 3\"") };
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	const char *first;

	(void)unused;
	th_unknown_print(TH_STR(""), &look, &seen, &out);
	first = strstr(out.ptr, "may or may not have happened");
	assert_non_null(first);
	assert_null(strstr(first + 1, "may or may not have happened"));
	assert_non_null(strstr(out.ptr, "was not repeated"));
	assert_non_null(strstr(out.ptr, "Look first"));
	assert_non_null(strstr(out.ptr, "This is the workspace now:"));
	assert_non_null(strstr(out.ptr, "a.txt 3"));
	assert_null(strstr(out.ptr, "did not complete"));
	/* The executor said it, and more. */
	th_buf_clear(&out);
	th_unknown_print(TH_STR("\"It may or may not have happened. Its output ended with: x\""),
			 &look, &seen, &out);
	first = strstr(out.ptr, "may or may not have happened");
	assert_null(strstr(first + 1, "may or may not have happened"));
	assert_non_null(strstr(out.ptr, "ended with: x"));
	/* Pictures are parts and stay parts. */
	th_buf_clear(&out);
	seen = (struct th_observation_result){ TH_OUTCOME_DONE,
					       TH_STR("[{\"type\":\"image\",\"blob\":\"00\"}]") };
	th_unknown_print(TH_STR(""), &look, &seen, &out);
	assert_non_null(strstr(out.ptr, "{\"type\":\"image\",\"blob\":\"00\"}]"));
	th_buf_clear(&out);
	seen.status = TH_OUTCOME_FAILED;
	th_unknown_print(TH_STR(""), &look, &seen, &out);
	assert_non_null(strstr(out.ptr, "did not succeed"));
	th_buf_clear(&out);
	th_unknown_print(TH_STR(""), &(struct th_observation){ 0 }, NULL, &out);
	assert_non_null(strstr(out.ptr, "Nothing on this machine shows"));
	th_buf_deinit(&out);
}

static void test_a_persons_word(void **unused)
{
	static const char told[] =
	    "[{\"type\":\"text\",\"text\":\"open\"},{\"type\":\"image\",\"blob\":\"00\"}]";
	struct th_buf out = TH_BUF_INIT(TH_MIB);

	(void)unused;
	th_unknown_settled(TH_OUTCOME_DONE, TH_STR("ada"), TH_STR("I saw it"), th_str_of(told),
			   &out);
	assert_non_null(strstr(out.ptr, "A person (ada) looked: it did happen"));
	assert_non_null(strstr(out.ptr, "They say: I saw it"));
	assert_null(strstr(out.ptr, "\"open\""));
	assert_non_null(strstr(out.ptr, "image"));
	th_buf_clear(&out);
	th_unknown_settled(TH_OUTCOME_NOT_STARTED, TH_STR(""), TH_STR(""), th_str_of(told), &out);
	assert_non_null(strstr(out.ptr, "A person looked: it did not happen"));
	th_buf_clear(&out);
	th_unknown_settled(TH_OUTCOME_UNKNOWN, TH_STR(""), TH_STR(""), th_str_of(told), &out);
	assert_non_null(strstr(out.ptr, "cannot be known"));
	assert_non_null(strstr(out.ptr, "\"open\""));
	th_buf_deinit(&out);
}

static void test_a_screen_is_looked_at(void **unused)
{
	struct th_unresolved_effects d = { 0 };

	(void)unused;
	unresolved(&d, "computer", "{\"a\":1}");
	assert_true(unresolved_effect(&d, "computer", "{\"a\":1}"));
	assert_false(unresolved_effect(&d, "computer", "{\"a\":2}"));
	ended(&d, 11, "computer", "{\"a\":2}", TH_CLASS_W, TH_OUTCOME_DONE); /* no look */
	ended(&d, 11, "read_file", "{\"path\":\"x\"}", TH_CLASS_R, TH_OUTCOME_DONE);
	ended(&d, 9, "computer", "{}", TH_CLASS_R, TH_OUTCOME_DONE); /* asked for before */
	ended(&d, 10, "computer", "{}", TH_CLASS_R, TH_OUTCOME_DONE);
	ended(&d, 11, "computer", "{}", TH_CLASS_R, TH_OUTCOME_FAILED); /* saw nothing */
	assert_true(unresolved_effect(&d, "computer", "{\"a\":1}"));
	ended(&d, 11, "computer", "{}", TH_CLASS_R, TH_OUTCOME_DONE);
	assert_false(unresolved_effect(&d, "computer", "{\"a\":1}"));
	th_unresolved_deinit(&d);
}

static void test_files_are_looked_at(void **unused)
{
	static const struct {
		const char *tool, *arguments;
		enum th_class class;
		enum th_outcome_status status;
		bool shows;
	} rows[] = {
		{ "read_file", "{\"path\":\"d/a\"}", TH_CLASS_R, TH_OUTCOME_DONE, true },
		{ "read_file", "{\"path\":\"./d/a\"}", TH_CLASS_R, TH_OUTCOME_DONE, true },
		{ "read_file", "{\"path\":\"d/a\"}", TH_CLASS_R, TH_OUTCOME_FAILED, true },
		{ "read_file", "{\"path\":\"d/a\"}", TH_CLASS_R, TH_OUTCOME_REFUSED, false },
		{ "read_file", "{\"path\":\"d/b\"}", TH_CLASS_R, TH_OUTCOME_DONE, false },
		{ "list_dir", "{\"path\":\"d\"}", TH_CLASS_R, TH_OUTCOME_DONE, true },
		{ "list_dir", "{\"path\":\"d/\"}", TH_CLASS_R, TH_OUTCOME_DONE, true },
		{ "list_dir", "{\"path\":\".\"}", TH_CLASS_R, TH_OUTCOME_DONE, true },
		{ "list_dir", "{\"path\":\"dd\"}", TH_CLASS_R, TH_OUTCOME_DONE, false },
		{ "list_dir", "{\"path\":\"d/aa\"}", TH_CLASS_R, TH_OUTCOME_DONE, false },
		{ "shell", "{\"command\":\"cat d/a\"}", TH_CLASS_W, TH_OUTCOME_DONE, true },
		{ "shell", "{\"command\":\"cat d/a\"}", TH_CLASS_W, TH_OUTCOME_UNKNOWN, false },
		{ "write_file", "{\"path\":\"d/a\"}", TH_CLASS_V, TH_OUTCOME_FAILED, false },
		{ "computer", "{}", TH_CLASS_R, TH_OUTCOME_DONE, false },
		{ "weather", "{}", TH_CLASS_R, TH_OUTCOME_DONE, false },
	};

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_unresolved_effects d = { 0 };

		unresolved(&d, "write_file", "{\"path\":\"d/a\",\"content\":\"x\"}");
		ended(&d, 11, rows[i].tool, rows[i].arguments, rows[i].class, rows[i].status);
		if (rows[i].shows == (d.count == 1))
			fail_msg("row %zu", i);
		th_unresolved_deinit(&d);
	}
}

/* Who has only the shell looks with another command; the same one is no look. */
static void test_commands_look_too(void **unused)
{
	struct th_unresolved_effects d = { 0 };

	(void)unused;
	unresolved(&d, "shell", "{\"command\":\"make\"}");
	ended(&d, 11, "shell", "{\"command\":\"make\"}", TH_CLASS_W, TH_OUTCOME_FAILED);
	assert_int_equal(d.count, 1);
	ended(&d, 11, "shell", "{\"command\":\"ls\"}", TH_CLASS_W, TH_OUTCOME_DONE);
	assert_int_equal(d.count, 0);
	/* What was done after all (with an approval) is no doubt. */
	unresolved(&d, "shell", "{\"command\":\"make\"}");
	ended(&d, 11, "shell", "{\"command\":\"make\"}", TH_CLASS_W, TH_OUTCOME_DONE);
	assert_int_equal(d.count, 0);
	th_unresolved_deinit(&d);
}

static void test_other_tools(void **unused)
{
	struct th_unresolved_effects d = { 0 };

	(void)unused;
	unresolved(&d, "pay", "{}");
	ended(&d, 11, "read_file", "{\"path\":\"x\"}", TH_CLASS_R, TH_OUTCOME_DONE);
	ended(&d, 11, "notify", "{}", TH_CLASS_W, TH_OUTCOME_DONE);
	assert_int_equal(d.count, 1);
	ended(&d, 11, "balance", "{}", TH_CLASS_R, TH_OUTCOME_DONE);
	assert_int_equal(d.count, 0);
	th_unresolved_deinit(&d);
}

static void test_doubts_have_a_maximum(void **unused)
{
	struct th_unresolved_effects d = { 0 };
	char arguments[64];

	(void)unused;
	for (int i = 0; i <= TH_UNRESOLVED_MAX; i++) {
		snprintf(arguments, sizeof(arguments), "{\"command\":\"%d\"}", i);
		unresolved(&d, "shell", arguments);
		assert_true(d.count <= TH_UNRESOLVED_MAX);
		if (i < TH_UNRESOLVED_MAX)
			assert_true(unresolved_effect(&d, "shell", "{\"command\":\"0\"}"));
	}
	assert_false(unresolved_effect(&d, "shell", "{\"command\":\"0\"}"));
	assert_true(unresolved_effect(&d, "shell", "{\"command\":\"1\"}"));
	/* The same one again takes no more room. */
	unresolved(&d, "shell", "{\"command\":\"1\"}");
	assert_int_equal(d.count, TH_UNRESOLVED_MAX);
	assert_true(unresolved_effect(&d, "shell", "{\"command\":\"2\"}"));
	th_unresolved_deinit(&d);
}

/* A path that is too long to keep is as none: any look at files counts. */
static void test_long_paths(void **unused)
{
	struct th_unresolved_effects d = { 0 };
	char arguments[TH_UNRESOLVED_PATH_MAX + 64], path[TH_UNRESOLVED_PATH_MAX + 2];

	(void)unused;
	for (size_t len = TH_UNRESOLVED_PATH_MAX; len <= TH_UNRESOLVED_PATH_MAX + 1; len++) {
		memset(path, 'p', len);
		path[len] = '\0';
		snprintf(arguments, sizeof(arguments), "{\"path\":\"%s\"}", path);
		unresolved(&d, "write_file", arguments);
		assert_int_equal(strlen(d.list[0].path), len > TH_UNRESOLVED_PATH_MAX ? 0 : len);
		ended(&d, 11, "read_file", "{\"path\":\"q\"}", TH_CLASS_R, TH_OUTCOME_DONE);
		assert_int_equal(d.count, len > TH_UNRESOLVED_PATH_MAX ? 0 : 1);
		th_unresolved_deinit(&d);
	}
}

/* What a CALL event says wins; an older one says nothing, and then the name tells. */
static void test_scopes(void **unused)
{
	static const struct {
		const char *target, *shows, *tool;
		struct th_effect_scope scope;
	} rows[] = {
		{ "", "", "computer", { TH_TARGET_SCREEN, TH_SHOWS_ONE } },
		{ "", "", "shell", { TH_TARGET_FILES, TH_SHOWS_ANY } },
		{ "", "", "list_dir", { TH_TARGET_FILES, TH_SHOWS_FOLDER } },
		{ "", "", "apply_patch", { TH_TARGET_FILES, TH_SHOWS_ONE } },
		{ "", "", "pay", { TH_TARGET_OTHER, TH_SHOWS_ONE } },
		{ "", "any", "pay", { TH_TARGET_OTHER, TH_SHOWS_ONE } },
		{ "other", "", "shell", { TH_TARGET_OTHER, TH_SHOWS_ONE } },
		{ "files", "any", "bash", { TH_TARGET_FILES, TH_SHOWS_ANY } },
		{ "files", "folder", "find", { TH_TARGET_FILES, TH_SHOWS_FOLDER } },
		{ "screen", "", "browser", { TH_TARGET_SCREEN, TH_SHOWS_ONE } },
		{ "planet", "whole", "shell", { TH_TARGET_OTHER, TH_SHOWS_ONE } },
	};

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_effect_scope s = th_effect_scope_of(
		    th_str_of(rows[i].target), th_str_of(rows[i].shows), th_str_of(rows[i].tool));

		if (s.target != rows[i].scope.target || s.shows != rows[i].scope.shows)
			fail_msg("row %zu", i);
		s = th_effect_scope_of(th_effect_target_name(s), th_effect_shows_name(s),
				       TH_STR("x"));
		assert_int_equal(s.target, rows[i].scope.target);
		assert_int_equal(s.shows, rows[i].scope.shows);
	}
}

/* A hint makes no class looser, whatever it says. */
static void test_hints(void **unused)
{
	struct th_hints hints;

	(void)unused;
	assert_int_equal(th_class_of(TH_STR("R")), TH_CLASS_R);
	assert_int_equal(th_class_of(TH_STR("")), TH_CLASS_W);
	assert_int_equal(th_class_of(TH_STR("harmless")), TH_CLASS_W);
	for (int c = 0; c < TH_CLASS_COUNT; c++)
		for (int i = 0; i < 27; i++) {
			enum th_class declared = (enum th_class)c;

			hints = (struct th_hints){ i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1 };
			assert_true(th_class_with_hints(declared, &hints) >= declared);
			assert_int_equal(th_class_stricter(declared, TH_CLASS_W),
					 declared == TH_CLASS_X ? TH_CLASS_X : TH_CLASS_W);
		}
	hints = (struct th_hints){ 1, 0, 1 };
	assert_int_equal(th_class_with_hints(TH_CLASS_W, &hints), TH_CLASS_W);
	hints = (struct th_hints){ 0, -1, -1 };
	assert_int_equal(th_class_with_hints(TH_CLASS_R, &hints), TH_CLASS_W);
	assert_int_equal(th_class_with_hints(TH_CLASS_X, &hints), TH_CLASS_X);
	hints = (struct th_hints){ -1, -1, 0 };
	assert_int_equal(th_class_with_hints(TH_CLASS_K, &hints), TH_CLASS_W);
	assert_int_equal(th_class_with_hints(TH_CLASS_R, &hints), TH_CLASS_R);
	hints = (struct th_hints){ -1, 1, -1 };
	assert_int_equal(th_class_with_hints(TH_CLASS_W, &hints), TH_CLASS_X);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_looks),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_a_persons_word),
		cmocka_unit_test(test_a_screen_is_looked_at),
		cmocka_unit_test(test_files_are_looked_at),
		cmocka_unit_test(test_commands_look_too),
		cmocka_unit_test(test_other_tools),
		cmocka_unit_test(test_doubts_have_a_maximum),
		cmocka_unit_test(test_long_paths),
		cmocka_unit_test(test_scopes),
		cmocka_unit_test(test_hints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
