/* SPDX-License-Identifier: Apache-2.0 */
/*
 * count_flushes.c - how often a command and all that it starts wait for the
 * disk: fsync and fdatasync, seen from outside by ptrace, so that nothing in
 * the programs or their environment is another than in use.
 *
 *	count_flushes COMMAND…
 *	count_flushes need r|w TURNS FOLDER
 *
 * Ends when the last of them has ended, and says on standard error
 * {"flushes":9,"of_executor":4,"us":812}: us is the time they took, together.
 *
 * need: what the protocol itself needs, as a command to be counted.  A turn of
 * class r makes the answer durable and the outcome; one of class w goes through
 * a second process besides, which makes durable what it accepts and what it
 * has finished.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the need ---- */

static void durable(int fd)
{
	static const char record[600];

	if (write(fd, record, sizeof(record)) != (ssize_t)sizeof(record) || fdatasync(fd) != 0)
		_exit(1);
}

static int log_open(const char *folder, const char *name)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		_exit(1);
	return fd;
}

static void act(int orders, int results, int journal)
{
	char byte;

	while (read(orders, &byte, 1) == 1) {
		durable(journal); /* accepted */
		durable(journal); /* finished */
		if (write(results, &byte, 1) != 1)
			_exit(1);
	}
	_exit(0);
}

static int need(bool writes, long turns, const char *folder)
{
	int log = log_open(folder, "log"), orders[2], results[2];
	char byte = 0;

	if (pipe(orders) != 0 || pipe(results) != 0)
		return 1;
	if (fork() == 0) {
		close(orders[1]);
		act(orders[0], results[1], log_open(folder, "journal"));
	}
	for (long i = 0; i < turns; i++) {
		durable(log); /* the answer, its calls and intents */
		if (writes && (write(orders[1], &byte, 1) != 1 || read(results[0], &byte, 1) != 1))
			return 1;
		durable(log); /* the outcome and the next request */
	}
	return 0;
}

/* ---- the count ---- */

#define OPTIONS                                                                                   \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | \
	 PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)

static long flushes, of_executor;
static double spent_us;
static struct {
	pid_t tid;
	double since;
} waiting[64]; /* who is in a flush */

/* thole exec …; the need's second process counts as one as well. */
static bool is_executor(pid_t tid)
{
	char path[64], argv[256] = "";
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, argv, sizeof(argv) - 1);
	close(fd);
	return len > 0 && strcmp(argv + strnlen(argv, (size_t)len) + 1, "exec") == 0;
}

static void on_call(pid_t tid)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, (void *)sizeof(info), &info) <= 0)
		return;
	for (size_t i = 0; i < sizeof(waiting) / sizeof(waiting[0]); i++) {
		if (info.op == PTRACE_SYSCALL_INFO_EXIT && waiting[i].tid == tid) {
			spent_us += bench_wall_us() - waiting[i].since;
			waiting[i].tid = 0;
		}
	}
	if (info.op != PTRACE_SYSCALL_INFO_ENTRY ||
	    (info.entry.nr != SYS_fsync && info.entry.nr != SYS_fdatasync))
		return;
	flushes++;
	of_executor += is_executor(tid);
	for (size_t i = 0; i < sizeof(waiting) / sizeof(waiting[0]); i++) {
		if (waiting[i].tid == 0) {
			waiting[i].tid = tid;
			waiting[i].since = bench_wall_us();
			break;
		}
	}
}

static void on_stop(pid_t tid, int status)
{
	int signum = WSTOPSIG(status), event = status >> 16, deliver = 0;
	bool group = event == PTRACE_EVENT_STOP && signum != SIGTRAP;

	if (signum == (SIGTRAP | 0x80))
		on_call(tid);
	else if (event == 0)
		deliver = signum;
	ptrace(group ? PTRACE_LISTEN : PTRACE_SYSCALL, tid, NULL, (void *)(intptr_t)deliver);
}

int main(int argc, char **argv)
{
	int status, code = 1, go[2];
	char byte = 0;
	pid_t pid, tid;

	if (argc == 5 && strcmp(argv[1], "need") == 0)
		return need(argv[2][0] == 'w', strtol(argv[3], NULL, 10), argv[4]);
	if (argc < 2 || pipe(go) != 0)
		return 2;
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		if (read(go[0], &byte, 1) != 1)
			_exit(126);
		close(go[0]);
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)(intptr_t)OPTIONS) != 0) {
		printf("not run: processes cannot be traced here: %s\n", strerror(errno));
		kill(pid, SIGKILL);
		return 77;
	}
	if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) != 0 || write(go[1], &byte, 1) != 1)
		return 1;
	while ((tid = waitpid(-1, &status, __WALL)) > 0) {
		if (WIFSTOPPED(status))
			on_stop(tid, status);
		else if (tid == pid)
			code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	}
	fprintf(stderr, "{\"flushes\":%ld,\"of_executor\":%ld,\"us\":%.0f}\n", flushes, of_executor,
		spent_us);
	return code;
}
