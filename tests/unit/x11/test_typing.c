/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text typed into real programs, read back through the clipboard or a file.
 * They run under a window manager, as they do on a desktop; a program that is
 * not installed is skipped.  Waiting is for windows, titles and processes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/text.h"
#include "x11_typing.h"

static void run_editor(const char *program, const char *class)
{
	char file[128];
	const char *const argv[] = { program, file, NULL };
	pid_t pid;

	if (!rig_has(program))
		skip();
	snprintf(file, sizeof(file), "%s/%s.txt", typing_folder, program);
	fclose(fopen(file, "w"));
	pid = rig_spawn(&rig, argv);
	wait_active(class);
	check_field();
	kill(pid, SIGKILL);
	rig_wait(pid);
}

static void test_mousepad(void **state)
{
	(void)state;
	run_editor("mousepad", "mousepad");
}

/* From here on as on a private desktop, where there are more unused keycodes. */
static void test_l3afpad(void **state)
{
	(void)state;
	rig_close(&rig);
	rig.is_private = true;
	rig_open(&rig);
	run_editor("l3afpad", "l3afpad");
}

static void expect_file(const char *path, const char *text)
{
	char *got = calloc(1, strlen(text) + 100);
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	assert_true(fread(got, 1, strlen(text) + 99, file) > 0);
	fclose(file);
	assert_string_equal(got, text);
	free(got);
}

static void test_xterm(void **state)
{
	char command[300], path[128];
	const char *const argv[] = { "xterm", "-u8", "-e", "sh", "-c", command, NULL };
	struct th_buf all = TH_BUF_INIT(TH_MIB);
	char *characters = many_characters();
	const char *text;
	pid_t pid;

	(void)state;
	if (!rig_has("xterm"))
		skip();
	th_buf_printf(&all, "%s\n%s", typing_words, characters);
	text = all.ptr;
	snprintf(path, sizeof(path), "%s/xterm.out", typing_folder);
	/* without -icanon a line would end at 4096 bytes */
	snprintf(command, sizeof(command),
		 "stty -icanon -echo; printf '\\033]0;READY\\007'; head -c %zu > %s", strlen(text),
		 path);
	pid = rig_spawn(&rig, argv);
	wait_active("READY");
	if (rig_type(&rig, text) != TH_OK)
		fail_msg("%s", rig.err.msg);
	assert_int_equal(rig_wait(pid), 0);
	expect_file(path, text);
	free(characters);
	th_buf_deinit(&all);
}

/* The click raises and focuses another window; the text follows at once. */
static void test_click_then_type(void **state)
{
	char command[2][300], path[2][128];
	pid_t pids[2];

	(void)state;
	if (!rig_has("xterm"))
		skip();
	for (int i = 0; i < 2; i++) {
		const char *const argv[] = { "xterm",     "-u8",
					     "-geometry", i ? "60x20+640+100" : "60x20+20+100",
					     "-e",        "sh",
					     "-c",        command[i],
					     NULL };
		char title[32];

		snprintf(path[i], sizeof(path[i]), "%s/click%d", typing_folder, i);
		snprintf(title, sizeof(title), "WINDOW%d", i);
		snprintf(
		    command[i], sizeof(command[i]),
		    "stty -echo; printf '\\033]0;%s\\007'; read a; read b; echo \"$a $b\" > %s",
		    title, path[i]);
		pids[i] = rig_spawn(&rig, argv);
		wait_active(title);
	}
	rig_ok(&rig, "{\"type\":\"click\",\"x\":200,\"y\":200}");
	rig_ok(&rig, "{\"type\":\"type\",\"text\":\"left\",\"enter\":true}");
	rig_ok(&rig, "{\"type\":\"click\",\"x\":900,\"y\":200}");
	rig_ok(&rig, "{\"type\":\"type\",\"text\":\"right\",\"enter\":true}");
	rig_ok(&rig, "{\"type\":\"click\",\"x\":200,\"y\":200}");
	rig_ok(&rig, "{\"type\":\"type\",\"text\":\"one\\n\"}");
	rig_ok(&rig, "{\"type\":\"click\",\"x\":900,\"y\":200}");
	rig_ok(&rig, "{\"type\":\"key\",\"keys\":[\"x\"]}");
	rig_ok(&rig, "{\"type\":\"key\",\"keys\":[\"enter\"]}");
	assert_int_equal(rig_wait(pids[0]), 0);
	assert_int_equal(rig_wait(pids[1]), 0);
	expect_file(path[0], "left one\n");
	expect_file(path[1], "right x\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mousepad),
		cmocka_unit_test(test_l3afpad),
		cmocka_unit_test(test_xterm),
		cmocka_unit_test(test_click_then_type),
	};

	if (!rig_has("openbox"))
		return 77;
	return cmocka_run_group_tests(tests, typing_setup, typing_teardown);
}
