/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>

#include "console/console.h"

struct values {
	bool json, all;
	struct th_str session, model;
	int64_t turns;
};

static const struct th_option options[] = {
	{ "json", 'j', NULL, TH_OPTION_FLAG, offsetof(struct values, json), "json", NULL },
	{ "all", 'a', NULL, TH_OPTION_FLAG, offsetof(struct values, all), "all", NULL },
	{ "session", 's', "NAME", TH_OPTION_TEXT, offsetof(struct values, session), "session",
	  NULL },
	{ "model", 0, "M", TH_OPTION_TEXT, offsetof(struct values, model), "model", NULL },
	{ "turns", 'n', "N", TH_OPTION_INT, offsetof(struct values, turns), "turns", NULL },
	TH_OPTIONS_END,
};

static const struct th_command command = {
	.name = "test", .operands = "", .text = "", .options = options
};
static const struct th_command stopping = {
	.name = "test", .operands = "", .text = "", .options = options, .stops = true
};

static int help_asked;

/* Ours, so that the real one, and with it all commands, is not linked. */
enum th_code th_cli_usage(const struct th_command *c, struct th_err *err TH_UNUSED)
{
	assert_ptr_equal(c, &command);
	help_asked++;
	return TH_OK;
}

static struct values got;
static struct th_operands rest;
static struct th_err err;

static enum th_code parse(const struct th_command *c, const char *line)
{
	static char text[256];
	static char *argv[32];
	int argc = 0;

	(void)snprintf(text, sizeof(text), "test %s", line);
	for (char *p = text; p && *p; argc++) {
		argv[argc] = p;
		p = strchr(p, ' ');
		if (p)
			*p++ = '\0';
	}
	argv[argc] = NULL;
	got = (struct values){ .turns = -1 };
	err = (struct th_err){};
	return th_options_parse(c, argc, argv, &got, &rest, &err);
}

static void test_spellings(void **state TH_UNUSED)
{
	static const char *const lines[] = {
		"-s x -n 3 -j task",
		"-sx -n3 -j task",
		"--session x --turns 3 --json task",
		"--session=x --turns=3 --json task",
		"task --session=x -jn3",
		"-jn 3 task -s x",
	};

	for (size_t i = 0; i < TH_COUNT(lines); i++) {
		assert_int_equal(parse(&command, lines[i]), TH_OK);
		assert_true(got.json && !got.all);
		assert_true(th_str_is(got.session, "x"));
		assert_int_equal(got.turns, 3);
		assert_null(got.model.ptr);
		assert_int_equal(rest.count, 1);
		assert_string_equal(rest.list[0], "task");
	}
}

static void test_operands(void **state TH_UNUSED)
{
	assert_int_equal(parse(&command, "-5 - a -j b -- -x --json"), TH_OK);
	assert_true(got.json);
	assert_int_equal(rest.count, 6);
	assert_string_equal(rest.list[0], "-5");
	assert_string_equal(rest.list[1], "-");
	assert_string_equal(rest.list[5], "--json");
	assert_int_equal(parse(&command, ""), TH_OK);
	assert_int_equal(rest.count, 0);
	assert_int_equal(parse(&stopping, "-j ls -l --json"), TH_OK);
	assert_true(got.json);
	assert_int_equal(rest.count, 3);
	assert_int_equal(parse(&command, "--session= x"), TH_OK);
	assert_true(got.session.ptr && !got.session.len);
	assert_int_equal(parse(&command, "-s a -s b"), TH_OK);
	assert_true(th_str_is(got.session, "b"));
}

static void test_errors(void **state TH_UNUSED)
{
	static const char *const cases[][2] = {
		{ "--sesion x",
		  "no option --sesion; did you mean --session; see thole test --help" },
		{ "--zzzzzz", "no option --zzzzzz; see thole test --help" },
		{ "-z", "no option -z; see thole test --help" },
		{ "-jz", "no option -z; see thole test --help" },
		{ "--json=1", "--json takes no value; see thole test --help" },
		{ "--session", "--session needs a value: --session NAME" },
		{ "-s", "--session needs a value: --session NAME" },
		{ "-n many", "--turns must be a whole number, not \"many\"" },
		{ "--turns=-1", "--turns must be a whole number, not \"-1\"" },
		{ "--turns 99999999999999999999",
		  "--turns must be a whole number, not \"99999999999999999999\"" },
		{ "--\033[31m", "no option --\\x1b[31m; see thole test --help" },
	};

	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		assert_int_equal(parse(&command, cases[i][0]), TH_EUSAGE);
		assert_string_equal(err.msg, cases[i][1]);
	}
}

static void test_help(void **state TH_UNUSED)
{
	help_asked = 0;
	assert_int_equal(parse(&command, "--help"), TH_ECANCELED);
	assert_int_equal(parse(&command, "task -h --no-such"), TH_ECANCELED);
	assert_int_equal(help_asked, 2);
	assert_int_equal(parse(&command, "-- --help"), TH_OK);
}

static void test_given(void **state TH_UNUSED)
{
	char name[] = "test", a[] = "-j", b[] = "--turns=0";
	char *argv[] = { name, a, b, NULL };
	uint64_t given;

	assert_int_equal(th_options_parse_given(&command, 3, argv, &got, &rest, &given, &err),
			 TH_OK);
	assert_int_equal(given, 1u | 1u << 4);
}

/* A hint names the program as it was called, so that it can be typed again. */
static void test_program(void **state TH_UNUSED)
{
	static const char *const cases[][2] = {
		{ "thole", "thole" },
		{ "build/thole", "build/thole" },
		{ "/opt/thole 1.0/bin/thole", "'/opt/thole 1.0/bin/thole'" },
		{ "it's/$(thole)", "'it'\\''s/$(thole)'" },
		{ "~/thole", "'~/thole'" },
		{ "", "thole" },
		{ "\x1b[31mthole", "thole" },
		{ "thole\xff", "thole" },
	};
	char *name = program_invocation_name;
	char called[TH_PATH_LEN_MAX + 2];

	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		(void)snprintf(called, sizeof(called), "%s", cases[i][0]);
		program_invocation_name = called;
		assert_string_equal(th_cli_program(), cases[i][1]);
	}
	memset(called, 'x', sizeof(called));
	called[TH_PATH_LEN_MAX] = '\0';
	assert_string_equal(th_cli_program(), called);
	called[TH_PATH_LEN_MAX] = 'x';
	called[TH_PATH_LEN_MAX + 1] = '\0';
	assert_string_equal(th_cli_program(), "thole");
	program_invocation_name = name;
}

int main(void)
{
	static char name[] = "thole";
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spellings), cmocka_unit_test(test_operands),
		cmocka_unit_test(test_errors),    cmocka_unit_test(test_help),
		cmocka_unit_test(test_given),     cmocka_unit_test(test_program),
	};

	program_invocation_name = name;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
