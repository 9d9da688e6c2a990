/* SPDX-License-Identifier: Apache-2.0 */
#include "io/crash.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/clock.h"

#define TICK_US 20000 /* how often a wait looks at the clock */
#define SYSCALL_STOP (SIGTRAP | 0x80)
#define TRACE_OPTIONS \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)

static pid_t wait_for(pid_t pid, int *status)
{
	pid_t got;

	do
		got = waitpid(pid, status, __WALL);
	while (got < 0 && errno == EINTR);
	return got;
}

bool th_crash_can_trace(void)
{
	int status = 1;
	pid_t pid = fork();

	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
			_exit(1);
		raise(SIGSTOP);
		_exit(0);
	}
	if (pid < 0 || wait_for(pid, &status) != pid)
		return false;
	if (!WIFSTOPPED(status))
		return false;
	/* Stopped by its own SIGSTOP; only who traces it can set this. */
	bool can = ptrace(PTRACE_SETOPTIONS, pid, NULL, TRACE_OPTIONS) == 0;
	kill(pid, SIGKILL);
	(void)!wait_for(pid, &status);
	return can;
}

/* Between fork and exec: only what is safe there. */
_Noreturn static void become(const struct th_crash_spec *spec, pid_t parent)
{
	sigset_t none;
	int null;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	null = open("/dev/null", O_RDWR);
	for (int fd = 0; null >= 0 && fd <= 2; fd++)
		dup2(null, fd);
	if (spec->as_fd > 0)
		dup2(spec->pass_fd, spec->as_fd); /* without close-on-exec */
	if (spec->trace && ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
		_exit(127);
	execv(spec->program, (char *const *)(uintptr_t)spec->argv);
	_exit(127);
}

enum th_code th_crash_start(const struct th_crash_spec *spec, struct th_crash *ret,
			    struct th_err *err)
{
	pid_t parent = getpid(), pid = fork();
	int status;

	if (pid == 0)
		become(spec, parent);
	if (pid < 0)
		return th_fail(err, TH_EIO, "cannot start %s", spec->argv[0]);
	*ret = (struct th_crash){ pid, spec->trace };
	if (!spec->trace)
		return TH_OK;
	/* It stops at its exec. */
	if (wait_for(pid, &status) != pid || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, pid, NULL, TRACE_OPTIONS) != 0 ||
	    ptrace(PTRACE_SYSCALL, pid, NULL, 0) != 0) {
		th_crash_kill(ret);
		return th_fail(err, TH_EUNSUPPORTED, "%s cannot be traced", spec->argv[0]);
	}
	return TH_OK;
}

void th_crash_kill(struct th_crash *c)
{
	int status;
	pid_t got;

	if (c->pid <= 0)
		return;
	kill(c->pid, SIGKILL);
	/* A traced one is over only when each of its threads was waited for. */
	do
		got = wait_for(c->trace ? -1 : c->pid, &status);
	while (got > 0 && (got != c->pid || WIFSTOPPED(status)));
	c->pid = 0;
}

static void on_tick(int signum)
{
	(void)signum;
}

/* A wait that is interrupted again and again, so that none of the ticks must meet it. */
static void tick(bool on)
{
	struct itimerval every = { { 0, on ? TICK_US : 0 }, { 0, on ? TICK_US : 0 } };
	struct sigaction action = { .sa_handler = on_tick };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
}

/* One report of the child or of a thread of it.  True: it is over. */
static bool reported(struct th_crash *c, pid_t tid, int status, struct th_crash_end *end)
{
	int signum, deliver = 0;

	if (WIFEXITED(status) || WIFSIGNALED(status)) {
		if (tid != c->pid)
			return false;
		end->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		c->pid = 0;
		return true;
	}
	signum = WSTOPSIG(status);
	if (signum == SYSCALL_STOP)
		end->stops++;
	else if (signum != SIGTRAP && signum != SIGSTOP && status >> 16 == 0)
		deliver = signum;
	if (c->trace)
		ptrace(PTRACE_SYSCALL, tid, NULL, deliver);
	return false;
}

static bool moment_has_come(const struct th_crash_limits *l, const struct th_crash_end *end,
			    uint64_t began_ms)
{
	return (l->stops && end->stops >= l->stops) || (l->ms && th_clock_ms() - began_ms >= l->ms);
}

enum th_code th_crash_run(struct th_crash *c, const struct th_crash_limits *limits,
			  struct th_crash_end *ret, struct th_err *err)
{
	uint64_t began_ms = th_clock_ms();
	enum th_code code = TH_OK;
	bool over = false;

	*ret = (struct th_crash_end){ 0 };
	tick(true);
	while (!over && !code) {
		int status;
		pid_t tid = waitpid(c->trace ? -1 : c->pid, &status, __WALL);

		if (tid < 0 && errno != EINTR)
			code = th_fail(err, TH_EIO, "a child of ours is lost");
		/* Before the one that was counted last is let go on. */
		bool stop = tid > 0 && WIFSTOPPED(status) && WSTOPSIG(status) == SYSCALL_STOP;
		if (stop && limits->stops && ret->stops + 1 >= limits->stops) {
			ret->stops++;
			ret->killed = true;
		} else if (tid > 0) {
			over = reported(c, tid, status, ret);
		}
		if (!over && !code && (ret->killed || moment_has_come(limits, ret, began_ms))) {
			ret->killed = true;
			if (limits->before_kill)
				limits->before_kill(limits->ctx);
			th_crash_kill(c);
			over = true;
		}
	}
	tick(false);
	return code;
}
