/* SPDX-License-Identifier: Apache-2.0 */
#include "io/files.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"

static char folder[64];
static struct th_err err;

static int setup(void **state)
{
	(void)state;
	err = (struct th_err){};
	strcpy(folder, "/tmp/thole-test-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return access(folder, F_OK) == 0 ? th_dir_remove(folder, NULL) : 0;
}

static const char *in(const char *name)
{
	static char path[4][256];
	static unsigned next;
	char *p = path[next++ % 4];
	snprintf(p, 256, "%s/%s", folder, name);
	return p;
}

static size_t entries(void)
{
	char command[256], text[32];
	snprintf(command, sizeof(command), "ls -A %s | wc -l", folder);
	FILE *f = popen(command, "r");
	assert_non_null(fgets(text, sizeof(text), f));
	pclose(f);
	return (size_t)strtol(text, NULL, 10);
}

static void what_was_written_is_read(void **state)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf b = TH_BUF_INIT(TH_MIB);
	struct stat st;
	(void)state;
	assert_int_equal(th_file_write(in("f"), TH_STR("one\0two"), 0640, &err), TH_OK);
	assert_int_equal(th_file_write(in("f"), TH_STR("three\0"), 0600, &err), TH_OK);
	assert_int_equal(th_file_read(in("f"), 6, &b, &err), TH_OK);
	assert_int_equal(b.len, 6);
	assert_memory_equal(b.ptr, "three\0", 6);
	assert_int_equal(stat(in("f"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(entries(), 1);
}

static void a_file_over_the_limit_is_refused(void **state)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf b = TH_BUF_INIT(TH_MIB);
	(void)state;
	assert_int_equal(th_file_write(in("f"), TH_STR("123456"), 0600, &err), TH_OK);
	assert_int_equal(th_file_read(in("f"), 5, &b, &err), TH_ELIMIT);
	assert_non_null(strstr(err.msg, "/f"));
	assert_int_equal(th_file_read(in("f"), 6, &b, &err), TH_OK);
	/* Files without a size, and endless ones. */
	assert_int_equal(th_file_read("/dev/zero", 100000, &b, &err), TH_ELIMIT);
	th_buf_clear(&b);
	assert_int_equal(th_file_read("/proc/self/status", 100000, &b, &err), TH_OK);
	assert_true(b.len > 100);
}

static void errors_say_where_and_why(void **state)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf b = TH_BUF_INIT(TH_MIB);
	(void)state;
	assert_int_equal(th_file_read(in("none"), 5, &b, &err), TH_ENOENT);
	assert_non_null(strstr(err.msg, "/none: No such file"));
	assert_int_equal(th_file_read(folder, 5, &b, &err), TH_EIO);
	assert_int_equal(th_file_write(in("no/where"), TH_STR(""), 0600, &err), TH_ENOENT);
	assert_non_null(strstr(err.msg, "/no/where: No such file"));
	assert_int_equal(th_file_write(in("x/"), TH_STR(""), 0600, &err), TH_EUSAGE);
	assert_int_equal(th_file_write(in(".."), TH_STR(""), 0600, &err), TH_EUSAGE);
}

static void a_failed_write_leaves_the_old_file_and_nothing_else(void **state)
{
	(void)state;
	assert_int_equal(mkdir(in("f"), 0700), 0); /* rename cannot replace a folder */
	assert_int_equal(mkdir(in("f/x"), 0700), 0);
	assert_true(th_file_write(in("f"), TH_STR("new"), 0600, &err) != TH_OK);
	assert_int_equal(entries(), 1);
	FILE *full = fopen("/dev/full", "w");
	assert_int_equal(th_file_write_fd(fileno(full), TH_STR("x"), &err), TH_ELIMIT);
	fclose(full);
}

static void folders_are_made_and_removed(void **state)
{
	struct stat st;
	(void)state;
	assert_int_equal(th_dir_make(in("a/b//c/"), 0700, &err), TH_OK);
	assert_int_equal(th_dir_make(in("a/b/c"), 0755, &err), TH_OK);
	assert_int_equal(stat(in("a/b"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(th_file_write(in("a/file"), TH_STR(""), 0600, &err), TH_OK);
	assert_int_equal(th_dir_make(in("a/file"), 0700, &err), TH_EEXIST);
	assert_int_equal(th_dir_make(in("a/file/x"), 0700, &err), TH_ENOENT);
	assert_int_equal(th_dir_make("", 0700, &err), TH_EUSAGE);
	/* Links are removed, not followed. */
	assert_int_equal(th_dir_make(in("keep"), 0700, &err), TH_OK);
	assert_int_equal(th_file_write(in("keep/x"), TH_STR(""), 0600, &err), TH_OK);
	assert_int_equal(symlink(in("keep"), in("a/link")), 0);
	assert_int_equal(th_dir_remove(in("a/link"), &err), TH_ENOENT); /* O_NOFOLLOW: no folder */
	assert_int_equal(th_dir_remove(in("a"), &err), TH_OK);
	assert_int_equal(access(in("keep/x"), F_OK), 0);
	assert_int_equal(entries(), 1);
}

static void our_folders_follow_the_environment(void **state)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf b = TH_BUF_INIT(TH_PATH_LEN_MAX);
	struct stat st;
	(void)state;
	setenv("XDG_STATE_HOME", in("state"), 1);
	setenv("HOME", in("home"), 1);
	unsetenv("XDG_CONFIG_HOME");
	assert_int_equal(th_dir_of(TH_DIR_STATE, &b, &err), TH_OK);
	assert_string_equal(b.ptr, in("state/thole"));
	assert_int_equal(stat(b.ptr, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	th_buf_clear(&b);
	assert_int_equal(th_dir_of(TH_DIR_CONFIG, &b, &err), TH_OK);
	assert_string_equal(b.ptr, in("home/.config/thole"));
	th_buf_clear(&b);
	setenv("XDG_STATE_HOME", "relative", 1); /* does not count */
	assert_int_equal(th_dir_of(TH_DIR_STATE, &b, &err), TH_OK);
	assert_string_equal(b.ptr, in("home/.local/state/thole"));
	setenv("HOME", "/dev/null", 1); /* where nothing can be made */
	th_buf_clear(&b);
	assert_int_not_equal(th_dir_of(TH_DIR_STATE, &b, &err), TH_OK);
	assert_non_null(strstr(err.msg, "make the folder /dev/null/.local: Not a directory"));
	assert_non_null(strstr(err.msg, "(XDG_STATE_HOME names another place)"));
	assert_int_equal(b.len, 0);
	setenv("HOME", in("home"), 1);
}

static void the_runtime_folder_is_ours_alone(void **state)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf b = TH_BUF_INIT(TH_PATH_LEN_MAX);
	char expected[256], fallback[256];
	(void)state;
	assert_int_equal(mkdir(in("run"), 0700), 0);
	setenv("XDG_RUNTIME_DIR", in("run"), 1);
	setenv("TMPDIR", folder, 1);
	assert_int_equal(th_dir_of(TH_DIR_RUNTIME, &b, &err), TH_OK);
	assert_string_equal(b.ptr, in("run/thole"));
	th_buf_clear(&b);
	snprintf(expected, sizeof(expected), "%s/thole-%u", folder, (unsigned)geteuid());
	chmod(in("run"), 0755); /* others may look: not taken */
	assert_int_equal(th_dir_of(TH_DIR_RUNTIME, &b, &err), TH_OK);
	assert_string_equal(b.ptr, expected);
	th_buf_clear(&b);
	unsetenv("XDG_RUNTIME_DIR");
	assert_int_equal(th_dir_of(TH_DIR_RUNTIME, &b, &err), TH_OK);
	assert_string_equal(b.ptr, expected);
	/* Somebody was there first. */
	assert_int_equal(rmdir(expected), 0);
	assert_int_equal(mkdir(in("evil"), 0700), 0);
	snprintf(fallback, sizeof(fallback), "%s", in("evil"));
	assert_int_equal(symlink(fallback, expected), 0);
	assert_int_equal(th_dir_of(TH_DIR_RUNTIME, &b, &err), TH_EPERM);
	assert_int_equal(unlink(expected), 0);
	assert_int_equal(mkdir(expected, 0777), 0);
	chmod(expected, 0777);
	assert_int_equal(th_dir_of(TH_DIR_RUNTIME, &b, &err), TH_EPERM);
	unsetenv("TMPDIR");
}

static bool has_openat2(void)
{
	return syscall(SYS_openat2, -1, "", NULL, (size_t)0) < 0 && errno != ENOSYS;
}

static enum th_code open_in(int dir, const char *path, int flags)
{
	int fd = -1;
	enum th_code code = th_open_beneath(dir, th_str_of(path), flags, 0600, &fd, &err);
	th_fd_close(&fd);
	return code;
}

static void nothing_outside_the_workspace_can_be_opened(void **state)
{
	(void)state;
	assert_int_equal(th_dir_make(in("ws/sub"), 0700, NULL), TH_OK);
	assert_int_equal(th_file_write(in("secret"), TH_STR("s"), 0600, NULL), TH_OK);
	assert_int_equal(th_file_write(in("ws/file"), TH_STR("f"), 0600, NULL), TH_OK);
	assert_int_equal(symlink("../secret", in("ws/up")), 0);
	assert_int_equal(symlink(in("secret"), in("ws/absolute")), 0);
	assert_int_equal(symlink("file", in("ws/inside")), 0);
	assert_int_equal(symlink("../..", in("ws/sub/dirs")), 0);
	assert_int_equal(symlink("/proc/self/root", in("ws/magic")), 0);
	assert_int_equal(symlink("loop", in("ws/loop")), 0);
	TH_CLEANUP(th_fd_close) int dir = open(in("ws"), O_RDONLY | O_DIRECTORY);

	assert_int_equal(open_in(dir, "file", O_RDONLY), TH_OK);
	if (has_openat2()) {
		assert_int_equal(open_in(dir, "inside", O_RDONLY), TH_OK);
		assert_int_equal(open_in(dir, "sub/../file", O_RDONLY), TH_OK);
	}
	assert_int_equal(open_in(dir, "sub/.//", O_RDONLY | O_DIRECTORY), TH_OK);
	assert_int_equal(open_in(dir, "file/x", O_RDONLY), TH_ENOENT);
	assert_int_equal(open_in(dir, "", O_RDONLY | O_DIRECTORY), TH_OK);
	assert_int_equal(open_in(dir, ".", O_RDONLY | O_DIRECTORY), TH_OK);
	assert_int_equal(open_in(dir, "sub/new", O_WRONLY | O_CREAT), TH_OK);

	static const char *const escapes[] = {
		"..",          "../secret",       "sub/../../secret", "up",   "absolute",
		"/etc/passwd", "sub/dirs/secret", "magic/etc/passwd", "loop", "/",
		"//",          "./../secret"
	};
	for (size_t i = 0; i < TH_COUNT(escapes); i++)
		if (open_in(dir, escapes[i], O_RDONLY) != TH_EPERM)
			fail_msg("%s: %s", escapes[i], err.msg);
	for (size_t i = 0; i < TH_COUNT(escapes); i++)
		assert_true(open_in(dir, escapes[i], O_WRONLY | O_CREAT) != TH_OK);

	int fd = -1;
	assert_int_equal(th_open_beneath(dir, TH_STR("file\0x"), O_RDONLY, 0, &fd, &err),
			 TH_EUSAGE);
	char *longer = (char *)calloc(1, TH_PATH_LEN_MAX + 1);
	memset(longer, 'a', TH_PATH_LEN_MAX);
	assert_int_equal(open_in(dir, longer, O_RDONLY), TH_EUSAGE);
	free(longer);
	assert_int_equal(open_in(dir, "none", O_RDONLY), TH_ENOENT);
	assert_int_equal(fd, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(what_was_written_is_read),
		T(a_file_over_the_limit_is_refused),
		T(errors_say_where_and_why),
		T(a_failed_write_leaves_the_old_file_and_nothing_else),
		T(folders_are_made_and_removed),
		T(our_folders_follow_the_environment),
		T(the_runtime_folder_is_ours_alone),
		T(nothing_outside_the_workspace_can_be_opened),
	};
	return cmocka_run_group_tests_name("files", tests, NULL, NULL);
}
