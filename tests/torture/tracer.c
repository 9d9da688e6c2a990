/* SPDX-License-Identifier: Apache-2.0 */
/* tracer.c - counts the system-call stops of one process by ptrace, and kills it at one. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/files.h"
#include "torture.h"

#define HANG_MS 120000 /* on a loaded machine; an ordinary run takes a fifth of a second */

#define RUNTIME_OPTIONS \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)
#define SEARCH_OPTIONS (RUNTIME_OPTIONS | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK)

static volatile sig_atomic_t late;

static void on_alarm(int signum)
{
	(void)signum;
	late = 1;
}

static void alarm_in(int ms)
{
	struct sigaction act = { .sa_handler = on_alarm };
	/* Again and again: the first may come just before we wait. */
	struct itimerval t = { .it_interval = { 0, 100000 },
			       .it_value = { ms / 1000, ms % 1000 * 1000 } };

	late = 0;
	sigaction(SIGALRM, &act, NULL);
	if (ms == 0)
		memset(&t, 0, sizeof(t));
	setitimer(ITIMER_REAL, &t, NULL);
}

/* ---- the tasks we trace ---- */

static pid_t tgid_of(pid_t tid)
{
	struct th_buf text = TH_BUF_INIT(16 * TH_KIB);
	char path[64];
	int64_t tgid = tid;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	if (th_file_read(path, text.max, &text, NULL) == TH_OK) {
		ptrdiff_t at = th_str_find(th_buf_str(&text), TH_STR("\nTgid:"));
		struct th_str rest = th_str_sub(th_buf_str(&text), (size_t)at + 6, text.len);
		if (at < 0 || !th_str_i64(th_str_trim(th_str_split(&rest, '\n')), &tgid))
			tgid = tid;
	}
	th_buf_deinit(&text);
	return (pid_t)tgid;
}

static struct traced *task(struct tracer *t, pid_t tid)
{
	for (size_t i = 0; i < t->task_count; i++)
		if (t->tasks[i].tid == tid)
			return &t->tasks[i];
	if (t->task_count == TH_COUNT(t->tasks))
		die("more tasks than expected");
	t->tasks[t->task_count] = (struct traced){ .tid = tid, .tgid = tgid_of(tid) };
	return &t->tasks[t->task_count++];
}

static void forget(struct tracer *t, pid_t tid)
{
	for (size_t i = 0; i < t->task_count; i++)
		if (t->tasks[i].tid == tid) {
			t->tasks[i] = t->tasks[--t->task_count];
			return;
		}
}

/* By what a process that we have seen start was started with. */
static bool started_as(pid_t pid, struct th_str words)
{
	struct th_buf text = TH_BUF_INIT(16 * TH_KIB);
	char path[64];
	bool is = false;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	if (th_file_read(path, text.max, &text, NULL) == TH_OK) {
		struct th_str rest = th_buf_str(&text);
		th_str_split(&rest, '\0');
		is = th_str_starts(rest, words);
	}
	th_buf_deinit(&text);
	return is;
}

static bool is_executor(pid_t pid)
{
	return started_as(pid, TH_STR("exec\0--session\0"));
}

static bool is_display(pid_t pid)
{
	return started_as(pid, TH_STR("exec\0--role\0display\0"));
}

static bool wants_display(const struct tracer *t)
{
	return t->victim == VICTIM_DISPLAY || t->victim == VICTIM_XVFB ||
	       t->victim == VICTIM_XVFB_STOPPED;
}

static bool wants_executor(const struct tracer *t)
{
	return t->victim == VICTIM_EXECUTOR || t->victim == VICTIM_BOTH || wants_display(t);
}

/* One that an earlier runtime has left too: it is nobody's descendant that we know of. */
static void kill_executor(const char *session)
{
	struct th_buf words = TH_BUF_INIT(TH_KIB);
	DIR *dir = opendir("/proc");

	if (!dir)
		die("/proc: %s", strerror(errno));
	th_buf_add(&words, TH_STR("exec\0--session\0"));
	th_buf_add(&words, th_str_n(session, strlen(session) + 1));
	for (struct dirent *entry; (entry = readdir(dir));) {
		int64_t pid;

		if (th_str_i64(th_str_of(entry->d_name), &pid) && pid > 1 &&
		    started_as((pid_t)pid, th_buf_str(&words)))
			kill((pid_t)pid, SIGKILL);
	}
	closedir(dir);
	th_buf_deinit(&words);
}

/* ---- the X server: a descendant of ours, found by descent ---- */

static pid_t find_below(pid_t pid, const char *comm, int depth)
{
	struct th_buf list = TH_BUF_INIT(64 * TH_KIB);
	char path[64], name[32] = "";
	pid_t found = 0;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	if (th_file_read(path, list.max, &list, NULL) == TH_OK)
		snprintf(name, sizeof(name), "%.*s", TH_FMT(th_str_trim(th_buf_str(&list))));
	if (strcmp(name, comm) == 0)
		found = pid;
	th_buf_clear(&list);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	if (!found && depth < 12 && th_file_read(path, list.max, &list, NULL) == TH_OK)
		for (struct th_str rest = th_buf_str(&list); rest.len && !found;) {
			int64_t child;
			if (th_str_i64(th_str_split(&rest, ' '), &child) && child > 1)
				found = find_below((pid_t)child, comm, depth + 1);
		}
	th_buf_deinit(&list);
	return found;
}

static void strike(struct tracer *t)
{
	t->killed = true;
	if (t->victim == VICTIM_XVFB || t->victim == VICTIM_XVFB_STOPPED) {
		pid_t pid = find_below(getpid(), "Xvfb", 0);
		if (pid)
			kill(pid, t->victim == VICTIM_XVFB ? SIGKILL : SIGSTOP);
		t->killed = pid != 0;
		return;
	}
	kill(t->target, SIGKILL);
	if (t->victim == VICTIM_BOTH)
		kill(t->root, SIGKILL);
	if (t->session)
		kill_executor(t->session);
}

/* Calls by which something outside may happen. */
static bool acts(uint64_t nr)
{
	static const long numbers[] = { SYS_write,   SYS_writev,    SYS_pwrite64,
					SYS_pwritev, SYS_sendto,    SYS_sendmsg,
					SYS_fsync,   SYS_fdatasync, SYS_connect };

	for (size_t i = 0; i < TH_COUNT(numbers); i++)
		if (nr == (uint64_t)numbers[i])
			return true;
	return false;
}

static bool flushes(long nr)
{
	return nr == SYS_fsync || nr == SYS_fdatasync;
}

/* Is this one of those that count?  `before`: the call is only about to be made. */
static bool is_point(struct tracer *t, const struct traced *task, bool before)
{
	bool first;

	if (t->stops == STOPS_ALL)
		return true;
	if (t->stops == STOPS_ACTING)
		return task->acts;
	if (!before && flushes(task->nr)) {
		t->written = false;
		return true;
	}
	first = before && task->nr == SYS_pwrite64 && !t->written;
	t->written |= first;
	return first;
}

/* ---- stops ---- */

/* Where the dynamic loader lies: right after exec there is only it and the program. */
static void find_loader(struct tracer *t, pid_t pid)
{
	struct th_buf maps = TH_BUF_INIT(64 * TH_KIB);
	char path[64];

	t->loading = false;
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	if (th_file_read(path, maps.max, &maps, NULL) == TH_OK)
		for (struct th_str rest = th_buf_str(&maps); rest.len;) {
			struct th_str line = th_str_split(&rest, '\n');
			unsigned long from, to;
			char rights[8];

			if (th_str_find(line, TH_STR("/ld-")) < 0 ||
			    sscanf(line.ptr, "%lx-%lx %7s", &from, &to, rights) != 3 ||
			    rights[2] != 'x')
				continue;
			t->loader_from = from;
			t->loader_to = to;
			t->loading = true;
		}
	th_buf_deinit(&maps);
}

static bool counts(const struct tracer *t, const struct traced *task)
{
	return t->target && task->tgid == t->target && !t->killed;
}

static void on_syscall(struct tracer *t, struct traced *task)
{
	struct __ptrace_syscall_info info;

	if (!counts(t, task))
		return;
	/* The number is asked for only where it is needed: it doubles the cost of a stop. */
	bool near = t->at && t->count + 64 >= t->at;
	if ((t->loading || near || t->stops != STOPS_ALL) &&
	    ptrace(PTRACE_GET_SYSCALL_INFO, task->tid, (void *)sizeof(info), &info) <= 0)
		return;
	if (t->loading && info.instruction_pointer >= t->loader_from &&
	    info.instruction_pointer < t->loader_to)
		return;
	t->loading = false;
	unsigned asked = t->asked ? atomic_load(t->asked) : 0;
	if (t->asked && asked >= t->asked_max) {
		t->over = true;
		return;
	}
	if (asked < t->asked_min)
		return;
	bool before = (near || t->stops != STOPS_ALL) && info.op == PTRACE_SYSCALL_INFO_ENTRY;
	if (before) {
		task->nr = (long)info.entry.nr;
		task->acts = acts(info.entry.nr);
	}
	if (!is_point(t, task, before))
		return;
	t->count++;
	if (t->count != t->at)
		return;
	t->before = before;
	t->nr = task->nr;
	strike(t);
}

static void go_on(const struct tracer *t, const struct traced *task, int signum)
{
	ptrace(counts(t, task) && !t->over ? PTRACE_SYSCALL : PTRACE_CONT, task->tid, NULL,
	       (void *)(intptr_t)signum);
}

static void on_exec(struct tracer *t, struct traced *task)
{
	if (!wants_executor(t)) {
		if (task->tid == t->root && t->victim == VICTIM_RUNTIME && !t->killed) {
			t->target = t->root;
			find_loader(t, task->tid);
		}
		return;
	}
	if (task->tid == t->root)
		return;
	if (wants_display(t) && !t->killed && is_executor(task->tid))
		return; /* and on to its children */
	if (!t->killed && (wants_display(t) ? is_display(task->tid) : is_executor(task->tid))) {
		t->target = task->tid;
		find_loader(t, task->tid);
		ptrace(PTRACE_SETOPTIONS, task->tid, NULL, (void *)(intptr_t)RUNTIME_OPTIONS);
		return;
	}
	ptrace(PTRACE_DETACH, task->tid, NULL, NULL);
	forget(t, task->tid);
}

static void on_stop(struct tracer *t, pid_t tid, int status)
{
	struct traced *k = task(t, tid);
	int signum = WSTOPSIG(status), event = status >> 16;
	size_t count = t->task_count;

	if (signum == (SIGTRAP | 0x80)) {
		on_syscall(t, k);
		go_on(t, k, 0);
	} else if (event == PTRACE_EVENT_STOP && signum != SIGTRAP) {
		ptrace(PTRACE_LISTEN, tid, NULL, NULL);
	} else if (event == PTRACE_EVENT_EXEC) {
		on_exec(t, k);
		if (t->task_count == count)
			go_on(t, k, 0);
	} else {
		go_on(t, k, event ? 0 : signum);
	}
}

/* ---- running ---- */

static pid_t start(struct tracer *t, char *const argv[], char *const env[], int out_fd, int err_fd)
{
	int gate[2];
	char byte;

	if (pipe2(gate, O_CLOEXEC) != 0)
		die("pipe: %s", strerror(errno));
	pid_t pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid == 0) {
		int null_fd = open("/dev/null", O_RDONLY);

		close(gate[1]);
		(void)!read(gate[0], &byte, 1);
		if (dup2(null_fd, 0) == 0 && dup2(out_fd, 1) == 1 && dup2(err_fd, 2) == 2)
			execve(argv[0], argv, env);
		_exit(127);
	}
	close(gate[0]);
	if (t->victim != VICTIM_NONE && !t->killed) {
		long options = wants_executor(t) ? SEARCH_OPTIONS : RUNTIME_OPTIONS;
		if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)options) != 0)
			die("cannot trace: %s", strerror(errno));
	}
	close(gate[1]);
	return pid;
}

int tracer_run(struct tracer *t, char *const argv[], char *const env[], int out_fd, int err_fd)
{
	int status;
	bool hung = false;

	t->root = start(t, argv, env, out_fd, err_fd);
	if (!wants_executor(t))
		t->target = 0;
	alarm_in(HANG_MS);
	for (;;) {
		pid_t pid = waitpid(-1, &status, __WALL);

		if (pid < 0 && errno == EINTR) {
			if (late && !hung)
				kill(t->root, SIGKILL);
			hung |= late;
			continue;
		}
		if (pid < 0)
			die("waitpid: %s", strerror(errno));
		if (WIFSTOPPED(status)) {
			on_stop(t, pid, status);
			continue;
		}
		forget(t, pid);
		if (pid == t->root)
			break;
	}
	alarm_in(0);
	return hung ? -1 : status;
}

bool tracer_drain(struct tracer *t, int ms)
{
	bool gone = false;
	int status;

	alarm_in(ms);
	while (!late && !gone) {
		pid_t pid = waitpid(-1, &status, __WALL);

		if (pid < 0)
			gone = errno == ECHILD;
		else if (WIFSTOPPED(status))
			on_stop(t, pid, status);
		else
			forget(t, pid);
	}
	alarm_in(0);
	return gone;
}

bool tracer_possible(void)
{
	int gate[2], errnum;
	char byte;

	if (pipe2(gate, O_CLOEXEC) != 0)
		return false;
	pid_t pid = fork();
	if (pid == 0) {
		close(gate[1]);
		(void)!read(gate[0], &byte, 1);
		_exit(0);
	}
	close(gate[0]);
	bool can =
	    pid > 0 && ptrace(PTRACE_SEIZE, pid, NULL, (void *)(intptr_t)RUNTIME_OPTIONS) == 0;
	errnum = errno;
	if (pid > 0)
		kill(pid, SIGKILL);
	close(gate[1]);
	if (pid > 0)
		waitpid(pid, NULL, __WALL);
	errno = errnum;
	return can;
}
