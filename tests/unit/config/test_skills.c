/* SPDX-License-Identifier: Apache-2.0 */
/* Files as skills, and where there are too many of them. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "config/skills.h"
#include "io/files.h"

static void parse(const char *text, bool legacy, struct th_arena *a, struct th_skill *ret)
{
	struct th_err err = {};

	if (th_skill_parse(th_str_of(text), TH_STR("file"), TH_STR("file.md"), legacy, a, ret,
			   &err))
		fail_msg("%s: %s", text, err.msg);
}

static void kinds_follow_from_what_is_said(void **state)
{
	struct th_arena a;
	struct th_skill s;

	(void)state;
	th_arena_init(&a, TH_MIB);
	parse("plain", true, &a, &s);
	assert_true(s.always);
	assert_string_equal(s.text.ptr, "plain");
	parse("plain", false, &a, &s);
	assert_false(s.always);
	parse("---\nname: n\ndescription: d\ntriggers: [a, b]\nlicense: MIT\n---\nx\n", true, &a,
	      &s);
	assert_false(s.always);
	assert_int_equal(s.triggers.count, 2);
	assert_string_equal(s.name.ptr, "n");
	parse("---\npaths: \"*.c, *.h\"\n---\nx", true, &a, &s);
	assert_int_equal(s.paths.count, 2);
	assert_true(th_str_is(s.paths.list[1], "*.h"));
	parse("---\nname: go\ninputs:\n- name: v\n  description: x\n---\n${v}", true, &a, &s);
	assert_int_equal(s.triggers.count, 1);
	assert_true(th_str_is(s.triggers.list[0], "/go"));
	parse("---\nname: go\ninputs: []\n---\nx", true, &a, &s);
	assert_true(th_str_is(s.triggers.list[0], "/go"));
	parse("---\ndisable_model_invocation: true\n---\nx", false, &a, &s);
	assert_true(s.unlisted);
	parse("---\nnot closed", true, &a, &s);
	assert_string_equal(s.text.ptr, "---\nnot closed");
	assert_int_equal(th_skill_parse(TH_STR("---\na: [\n---\nx"), TH_STR("n"), TH_STR("n"), true,
					&a, &s, NULL),
			 TH_EUSAGE);
	th_arena_deinit(&a);
}

static void limits_are_kept(void **state)
{
	char *text = test_calloc(TH_SKILL_SIZE_MAX + 2, 1);
	struct th_arena a;
	struct th_skill s;

	(void)state;
	th_arena_init(&a, 4 * TH_MIB);
	memset(text, 'x', TH_SKILL_SIZE_MAX + 1);
	assert_int_equal(th_skill_parse(th_str_n(text, TH_SKILL_SIZE_MAX), TH_STR("n"), TH_STR("n"),
					true, &a, &s, NULL),
			 TH_OK);
	assert_int_equal(th_skill_parse(th_str_n(text, TH_SKILL_SIZE_MAX + 1), TH_STR("n"),
					TH_STR("n"), true, &a, &s, NULL),
			 TH_ELIMIT);
	test_free(text);
	th_arena_deinit(&a);
}

static void load(const char *folder, size_t files, enum th_code want)
{
	struct th_str named = th_str_of(folder);
	struct th_agent_skills how = { .folders = { &named, 1 } };
	struct th_agent agent = { .skills = &how };
	struct th_arena a;
	struct th_err err = {};

	th_arena_init(&a, 4 * TH_MIB);
	assert_int_equal(th_skills_load(&agent, &a, &err), want);
	if (want == TH_OK)
		assert_int_equal(agent.skills->list.count, files);
	th_arena_deinit(&a);
}

static void no_more_than_there_is_room_for(void **state)
{
	char folder[] = "/tmp/thole-skills-XXXXXX", path[128];

	(void)state;
	assert_non_null(mkdtemp(folder));
	for (int i = 0; i <= TH_SKILLS_MAX; i++) {
		snprintf(path, sizeof(path), "%s/s%03d.md", folder, i);
		assert_int_equal(th_file_write(path, TH_STR("text"), 0600, NULL), TH_OK);
		if (i + 1 == TH_SKILLS_MAX)
			load(folder, TH_SKILLS_MAX, TH_OK);
	}
	load(folder, 0, TH_ELIMIT);
	load("/nowhere", 0, TH_EUSAGE);
	assert_int_equal(th_dir_remove(folder, NULL), TH_OK);
}

/* However little memory is left for the names of a folder, that is an error and no more. */
static void names_may_be_too_long_together(void **state)
{
	char folder[] = "/tmp/thole-skills-XXXXXX", path[400];
	struct th_str named = th_str_of(folder);

	(void)state;
	assert_non_null(mkdtemp(folder));
	for (int i = 0; i < 60; i++) {
		snprintf(path, sizeof(path), "%s/s%02d%0240d.md", folder, i, 0);
		assert_int_equal(th_file_write(path, TH_STR("text"), 0600, NULL), TH_OK);
	}
	for (size_t room = TH_KIB; room <= 64 * TH_KIB; room += TH_KIB) {
		struct th_agent_skills how = { .folders = { &named, 1 } };
		struct th_agent agent = { .skills = &how };
		struct th_arena a;
		struct th_err err = {};
		enum th_code code;

		th_arena_init(&a, room);
		code = th_skills_load(&agent, &a, &err);
		assert_true(code == TH_ELIMIT || (code == TH_OK && room > 15 * TH_KIB));
		th_arena_deinit(&a);
	}
	assert_int_equal(th_dir_remove(folder, NULL), TH_OK);
}

static void put(const char *folder, const char *name, const char *text)
{
	char path[400];

	for (const char *p = strchr(name, '/'); p; p = strchr(p + 1, '/')) {
		snprintf(path, sizeof(path), "%s/%.*s", folder, (int)(p - name), name);
		(void)!mkdir(path, 0700);
	}
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(th_file_write(path, th_str_of(text), 0600, NULL), TH_OK);
}

/* Rules of other programs are said whole, whatever begins them, and folders may have folders. */
static void which_files_are_skills(void **state)
{
	static const char *const want[][2] = {
		{ "AGENTS.md", "---\nWhat to do\n---\nand how" },
		{ "CLAUDE.md", "---\ntriggers: [a]\n---\nalways" },
		{ ".cursorrules", "---\nglobs: *\n---\nrules" },
		{ "one", "text" },
		{ "own", "a skill" },
		{ "tasks/go", "text" },
		{ "agents:sub", "---\nname: other\n---\nbelow" },
	};
	char folder[] = "/tmp/thole-skills-XXXXXX", link[400];
	struct th_agent_skills how = { .repository = true };
	struct th_agent agent = { .skills = &how };
	struct th_arena a;
	struct th_err err = {};

	(void)state;
	assert_non_null(mkdtemp(folder));
	agent.workspace = th_str_of(folder);
	for (size_t i = 0; i < 3; i++)
		put(folder, want[i][0], want[i][1]);
	put(folder, ".openhands/skills/one.md", "text");
	put(folder, ".openhands/skills/README.md", "no skill");
	put(folder, ".openhands/skills/readme.md", "no skill");
	put(folder, ".openhands/skills/SKILL.md", "no skill");
	put(folder, ".openhands/skills/own/skill.md", "a skill");
	put(folder, ".openhands/skills/own/notes.md", "no skill");
	put(folder, ".openhands/skills/tasks/go.md", "text");
	put(folder, "sub/AGENTS.md", want[6][1]);
	snprintf(link, sizeof(link), "%s/.openhands/skills/tasks/again", folder);
	assert_int_equal(symlink(".", link), 0);
	th_arena_init(&a, 4 * TH_MIB);
	assert_int_equal(th_skills_load(&agent, &a, &err), TH_OK);
	assert_int_equal(agent.skills->list.count, TH_COUNT(want));
	for (size_t i = 0; i < TH_COUNT(want); i++) {
		const struct th_skill *s = (const struct th_skill *)agent.skills->list.list + i;

		assert_true(th_str_is(s->name, want[i][0]));
		assert_true(th_str_is(s->text, want[i][1]));
		assert_int_equal(s->always, i != 4 && i != 6);
	}
	th_arena_deinit(&a);
	assert_int_equal(th_dir_remove(folder, NULL), TH_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_follow_from_what_is_said),
		cmocka_unit_test(limits_are_kept),
		cmocka_unit_test(no_more_than_there_is_room_for),
		cmocka_unit_test(names_may_be_too_long_together),
		cmocka_unit_test(which_files_are_skills),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
