/* SPDX-License-Identifier: Apache-2.0 */
/* What an executor leaves behind is killed when it is gone, and nothing else is. */
#include "executor/reaper.h"

#include "unit.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "executor/executor.h"
#include "io/files.h"
#include "io/role.h"

#define EXECUTOR_MARK "THOLE_EXECUTOR="

static struct th_err err;

/* A process with this entry in its environment, in a session of its own. */
static pid_t spawn_sleeper(const char entry[static TH_REAPER_ENTRY_SIZE])
{
	char name[] = "sleep", seconds[] = "1000", first[] = "A=b";
	char mark[TH_REAPER_ENTRY_SIZE];
	char *const argv[] = { name, seconds, NULL };
	char *const env[] = { first, mark, NULL };
	posix_spawnattr_t attributes;
	pid_t pid;

	memcpy(mark, entry, sizeof(mark));
	assert_int_equal(posix_spawnattr_init(&attributes), 0);
	assert_int_equal(posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID), 0);
	assert_int_equal(posix_spawn(&pid, "/bin/sleep", NULL, &attributes, argv, env), 0);
	posix_spawnattr_destroy(&attributes);
	return pid;
}

/* Waits for its end: the signal that ended it. */
static int ended_by(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static bool is_alive(pid_t pid)
{
	int status;

	return waitpid(pid, &status, WNOHANG) == 0;
}

static void entries_differ(void **state)
{
	char a[TH_REAPER_ENTRY_SIZE], b[TH_REAPER_ENTRY_SIZE];
	int fds[2];

	(void)state;
	assert_int_equal(th_reaper_start(a, &fds[0], &err), TH_OK);
	assert_int_equal(th_reaper_start(b, &fds[1], &err), TH_OK);
	assert_int_equal(strlen(a), TH_REAPER_ENTRY_SIZE - 1);
	assert_int_equal(strncmp(a, EXECUTOR_MARK, strlen(EXECUTOR_MARK)), 0);
	assert_string_not_equal(a, b);
	th_reaper_stop(&fds[0]);
	th_reaper_stop(&fds[1]);
	assert_int_equal(fds[0], -1);
	th_reaper_stop(&fds[0]); /* nothing to do */
}

static void only_marked_processes_are_killed(void **state)
{
	char entry[TH_REAPER_ENTRY_SIZE], other[TH_REAPER_ENTRY_SIZE];
	pid_t marked[3], stranger;
	int fd;

	(void)state;
	assert_int_equal(th_reaper_start(entry, &fd, &err), TH_OK);
	memcpy(other, entry, sizeof(other));
	other[TH_REAPER_ENTRY_SIZE - 2] ^= 1; /* the last digit */
	for (size_t i = 0; i < TH_COUNT(marked); i++)
		marked[i] = spawn_sleeper(entry);
	stranger = spawn_sleeper(other);
	th_reaper_stop(&fd);
	for (size_t i = 0; i < TH_COUNT(marked); i++)
		assert_int_equal(ended_by(marked[i]), SIGKILL);
	assert_true(is_alive(stranger));
	kill(stranger, SIGTERM);
	assert_int_equal(ended_by(stranger), SIGTERM);
}

/* An executor that is killed closes the descriptor without a word. */
static void a_closed_descriptor_is_enough(void **state)
{
	char entry[TH_REAPER_ENTRY_SIZE];
	pid_t marked;
	int fd;

	(void)state;
	assert_int_equal(th_reaper_start(entry, &fd, &err), TH_OK);
	marked = spawn_sleeper(entry);
	assert_true(is_alive(marked));
	th_fd_close(&fd);
	assert_int_equal(ended_by(marked), SIGKILL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_differ),
		cmocka_unit_test(only_marked_processes_are_killed),
		cmocka_unit_test(a_closed_descriptor_is_enough),
	};

	th_role_known(); /* this program is started again as the reaper */
	if (argc > 1 && strcmp(argv[1], "exec") == 0)
		return th_exec_role(argc - 1, argv + 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
