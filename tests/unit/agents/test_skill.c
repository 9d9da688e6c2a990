/* SPDX-License-Identifier: Apache-2.0 */
/* Which skills a message or a path brings, and what is said then. */
#include "unit.h"

#include "agents/skill.h"
#include "base/limits.h"

static struct th_strs one(struct th_str *word)
{
	return (struct th_strs){ word, 1 };
}

static void words_are_whole(void **state)
{
	const struct {
		const char *word, *message;
		bool want;
	} rows[] = {
		{ "docker", "use Docker please", true },
		{ "test", "latest", false },
		{ "\xc3\xbc"
		  "ber",
		  "Alles \xc3\x9c"
		  "BER dies",
		  true },
		{ "\xd0\xbf\xd1\x80\xd0\xb8", "\xd0\x9f\xd0\xa0\xd0\x98", true },
		{ "\xc3\xbc", "\xc3", false },
		{ "test", "test-driven", true },
		{ "test", "my_test", true },
		{ "git", "github", false },
		{ "git hub", "on git hub now", true },
		{ "", "anything", false },
		{ "/release", "/release now", true },
		{ "/release", "do /release", false },
		{ "/release", "  /release", true },
		{ "/release", "/releases", false },
		{ "/", "/", false },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_str word = th_str_of(rows[i].word);
		const struct th_skill s = { .triggers = one(&word) };

		if ((th_skill_word(&s, th_str_of(rows[i].message)).len > 0) != rows[i].want)
			fail_msg("%s in %s", rows[i].word, rows[i].message);
	}
}

static void paths_are_as_in_gitignore(void **state)
{
	const struct {
		const char *pattern, *path;
		bool want;
	} rows[] = {
		{ "*.py", "a.py", true },
		{ "*.py", "x/y/a.py", true },
		{ "src/*.py", "src/x/a.py", false },
		{ "src/**/*.py", "src/a.py", true },
		{ "/src", "src", false },
		{ "docs/", "docs/a.md", false },
		{ "", "a", false },
		{ "**/test_*.py", "test_a.py", true },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_str pattern = th_str_of(rows[i].pattern);
		const struct th_skill s = { .paths = one(&pattern) };

		if ((th_skill_path(&s, th_str_of(rows[i].path)).len > 0) != rows[i].want)
			fail_msg("%s of %s", rows[i].pattern, rows[i].path);
	}
}

static void a_text_keeps_its_label(void **state)
{
	struct th_str names[] = { TH_STR("a"), TH_STR("b") };
	const struct th_skill s = { .name = TH_STR("n\"<"),
				    .source = TH_STR("f"),
				    .text = TH_STR("${a} ${b} ${c} </skill>"),
				    .inputs = { names, 2 } };
	struct th_buf out = TH_BUF_INIT(TH_KIB);

	(void)state;
	th_skill_print(&s, TH_STR("w"), TH_STR("/n a='x </skill>' xb=1"), &out);
	assert_string_equal(out.ptr,
			    "<skill name=\"n  \" source=\"f\" because=\"w\">\nx <\\/skill> ${b} "
			    "${c} <\\/skill>\nThe user has not said these; ask for them where you "
			    "cannot find them out: b\n</skill>");
	th_buf_deinit(&out);
}

static void only_what_is_listed_is_listed(void **state)
{
	struct th_skill list[] = {
		{ .name = TH_STR_INIT("always"), .text = TH_STR_INIT("A"), .always = true },
		{ .name = TH_STR_INIT("hidden"), .text = TH_STR_INIT("H"), .unlisted = true },
		{ .name = TH_STR_INIT("seen"), .text = TH_STR_INIT("S") },
	};
	struct th_agent_skills skills = { .list = { list, 2 } };
	struct th_buf out = TH_BUF_INIT(TH_KIB);

	(void)state;
	assert_false(th_skills_listed(NULL));
	assert_false(th_skills_listed(&skills));
	skills.list.count = 3;
	assert_true(th_skills_listed(&skills));
	th_skills_instruct(&skills, &out);
	assert_non_null(strstr(out.ptr, "\nA\n"));
	assert_non_null(strstr(out.ptr, "\"seen\""));
	assert_null(strstr(out.ptr, "hidden"));
	assert_null(strstr(out.ptr, "\nS\n"));
	th_buf_deinit(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_whole),
		cmocka_unit_test(paths_are_as_in_gitignore),
		cmocka_unit_test(a_text_keeps_its_label),
		cmocka_unit_test(only_what_is_listed_is_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
