/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What leads out of the workspace is refused by the kernel alone: 2,000 paths
 * made of a grammar of ways out, with nothing of ours having looked at them
 * (tools/path.c only makes the refusal a sentence).  Judged by where the file
 * is that was opened, and by what stands outside.  The same paths without that
 * wall get out.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/files.h"
#include "unit.h"

#define ESCAPES 2000

static char base[64], workspace[80];
static int dir_fd;
static uint32_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

static void link_to(const char *target, const char *name)
{
	assert_int_equal(symlinkat(target, dir_fd, name), 0);
}

static int setup(void **state)
{
	char path[128];

	(void)state;
	seed = 1;
	snprintf(base, sizeof(base), "/tmp/thole-escapes-XXXXXX");
	assert_non_null(mkdtemp(base));
	snprintf(workspace, sizeof(workspace), "%s/workspace", base);
	assert_int_equal(mkdir(workspace, 0755), 0);
	snprintf(path, sizeof(path), "%s/secret", base);
	assert_int_equal(th_file_write(path, TH_STR("secret\n"), 0644, NULL), TH_OK);
	dir_fd = open(workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir_fd >= 0);
	assert_int_equal(mkdirat(dir_fd, "in", 0755), 0);
	assert_int_equal(mkdirat(dir_fd, "in/deep", 0755), 0);
	link_to("..", "up");
	link_to("../..", "in/up");
	link_to("in/up", "twice");
	link_to("twice/workspace/up", "thrice");
	link_to(base, "whole");
	link_to("/", "root");
	link_to("/proc/self/cwd", "cwd");
	link_to("/proc/self/root", "proc_root");
	link_to("/proc/self/fd", "fds");
	link_to("/dev/fd", "dev_fds");
	link_to("in/../..", "round");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close(dir_fd);
	return th_dir_remove(base, NULL);
}

/* A way to the folder above the workspace, or to the system's root and from there down. */
static void way_out(char *out, size_t size)
{
	static const char *const to_base[] = { "..",    "up",    "in/../..", "in/up",
					       "twice", "whole", "round",    "in/deep/../../..",
					       "thrice" };
	static const char *const to_root[] = { "root", "proc_root", "",
					       "../../../../../../../../../.." };
	static const char *const folds[] = { "", "./", "in/../", "in/deep/../../", ".//.///" };
	const char *fold = folds[draw(TH_COUNT(folds))];

	if (draw(3) > 0)
		snprintf(out, size, "%s%s", fold, to_base[draw(TH_COUNT(to_base))]);
	else
		snprintf(out, size, "%s%s", fold[0] ? "" : "", to_root[draw(TH_COUNT(to_root))]);
	if (!strstr(out, "..") &&
	    (strcmp(out, "root") == 0 || strcmp(out, "proc_root") == 0 || !out[0]))
		snprintf(out + strlen(out), size - strlen(out), "%s", base);
	else if (strstr(out, "../../../../../../../../../..") == out)
		snprintf(out + strlen(out), size - strlen(out), "%s", base);
}

static void escape(char *out, size_t size)
{
	static const char *const targets[] = { "secret",
					       "made",
					       "workspace/../secret",
					       "./secret",
					       "workspace/../made",
					       "//secret",
					       "workspace/in/../../made" };
	char way[256];

	way_out(way, sizeof(way));
	snprintf(out, size, "%s/%s", way, targets[draw(TH_COUNT(targets))]);
}

static const int all_flags[] = { O_RDONLY,         O_WRONLY,
				 O_RDWR | O_CREAT, O_WRONLY | O_CREAT | O_EXCL,
				 O_PATH,           O_RDONLY | O_DIRECTORY };

/* Where it is that was opened. */
static bool is_inside(int fd)
{
	char link[64], at[512];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, at, sizeof(at) - 1);
	assert_true(len > 0);
	at[len] = '\0';
	return strncmp(at, workspace, strlen(workspace)) == 0;
}

static void nothing_happened_outside(void)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf text = TH_BUF_INIT(TH_KIB);
	char path[128];

	snprintf(path, sizeof(path), "%s/secret", base);
	assert_int_equal(th_file_read(path, TH_KIB, &text, NULL), TH_OK);
	assert_string_equal(text.ptr, "secret\n");
	snprintf(path, sizeof(path), "%s/made", base);
	assert_int_equal(access(path, F_OK), -1);
}

static void the_kernel_refuses_each(void **state)
{
	(void)state;
	for (int i = 0; i < ESCAPES; i++) {
		int flags = all_flags[draw(TH_COUNT(all_flags))], fd = -1;
		char path[512];

		escape(path, sizeof(path));
		if (th_open_beneath(dir_fd, th_str_of(path), flags, 0644, &fd, NULL) == TH_OK)
			fail_msg("%s was opened (%s)", path, is_inside(fd) ? "inside" : "outside");
		assert_int_equal(fd, -1);
	}
	nothing_happened_outside();
}

/* The control: the grammar is one of real ways out. */
static void without_the_wall_they_get_out(void **state)
{
	int out = 0;

	(void)state;
	for (int i = 0; i < ESCAPES; i++) {
		char path[512];
		int fd;

		escape(path, sizeof(path));
		fd = openat(dir_fd, path, O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
		if (fd < 0)
			continue;
		out += !is_inside(fd);
		close(fd);
	}
	assert_true(out > ESCAPES * 9 / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_kernel_refuses_each, setup, teardown),
		cmocka_unit_test_setup_teardown(without_the_wall_they_get_out, setup, teardown),
	};

	return cmocka_run_group_tests_name("escapes", tests, NULL, NULL);
}
