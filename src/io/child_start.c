/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child_start.c - fork, the few steps before exec, exec.
 *
 * The child of fork may share nothing with other threads, so in_child and what
 * it calls use system calls only: no memory, no locks, no buffered output.
 * What goes wrong there comes back through a pipe as {step, errno}.
 */
#include "io/child_start.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/clock.h"
#include "io/files.h"
#include "io/processes.h"
#include "io/sandbox_plan.h"

#define ARGS_MAX 4096 /* of one command */
#define MAPPED_MAX 32
#define HIGH_FD 256 /* above every descriptor a child is given */

/* Everything the child needs, made ready by its parent. */
struct ready {
	const struct th_child_spec *spec;
	const struct th_sandbox_plan *plan;
	const char **argv, **env;
	const char **paths; /* where the program may be, tried in order */
	const char *cwd;
	struct th_child_fd map[MAPPED_MAX];
	size_t map_count;
	struct th_child_limits limits; /* set before exec */
	int procs_fd, report_fd, null_fd, filter_fd, status_fd;
	int out_fd[2], in_fd; /* the child's ends */
	struct th_arena arena;
};

struct report {
	int errnum;
	char step[60];
};

bool th_plan_namespaced(const struct th_sandbox_plan *p)
{
	return p->namespaced;
}

/* ---- in the child ---- */

static const struct {
	int resource;
	size_t offset;
} limits[] = {
	{ RLIMIT_NPROC, offsetof(struct th_child_limits, processes) },
	{ RLIMIT_NOFILE, offsetof(struct th_child_limits, open_files) },
	{ RLIMIT_FSIZE, offsetof(struct th_child_limits, file_size) },
	{ RLIMIT_AS, offsetof(struct th_child_limits, memory) },
	{ RLIMIT_CPU, offsetof(struct th_child_limits, cpu_s) },
};

static int set_limits(const struct th_child_limits *l)
{
	struct rlimit none = { 0, 0 };
	for (size_t i = 0; i < TH_COUNT(limits); i++) {
		uint64_t value;
		memcpy(&value, (const char *)l + limits[i].offset, sizeof(value));
		struct rlimit limit = { value, value };
		if (value && setrlimit((__rlimit_resource_t)limits[i].resource, &limit) < 0)
			return -1;
	}
	return setrlimit(RLIMIT_CORE, &none); /* a core file holds secrets */
}

void th_start_reset_signals(void)
{
	struct sigaction act = { .sa_handler = SIG_DFL };
	sigset_t none;
	for (int i = 1; i < NSIG; i++)
		sigaction(i, &act, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The sources go above all targets first, so that no target overwrites one still needed. */
static int map_fds(struct ready *r)
{
	int high[MAPPED_MAX];
	for (size_t i = 0; i < r->map_count; i++) {
		high[i] = fcntl(r->map[i].ours, F_DUPFD_CLOEXEC, HIGH_FD);
		if (high[i] < 0)
			return -1;
	}
	r->report_fd = fcntl(r->report_fd, F_DUPFD_CLOEXEC, HIGH_FD);
	if (r->report_fd < 0)
		return -1;
	if (syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */) < 0)
		for (int fd = 3; fd < 65536; fd++)
			fcntl(fd, F_SETFD, FD_CLOEXEC);
	for (size_t i = 0; i < r->map_count; i++)
		if (dup2(high[i], r->map[i].theirs) < 0)
			return -1;
	return 0;
}

static int drop_ids(uid_t uid, gid_t gid)
{
	return syscall(SYS_setgroups, (size_t)0, NULL) < 0 ||
		       syscall(SYS_setresgid, gid, gid, gid) < 0 ||
		       syscall(SYS_setresuid, uid, uid, uid) < 0
		   ? -1
		   : 0;
}

/* Returns only when a step failed. */
static const char *prepare_and_exec(struct ready *r, pid_t parent)
{
	const struct th_child_spec *spec = r->spec;
	const char *step = "";

	th_start_reset_signals();
	if (setsid() < 0)
		return "make a session";
	if (!spec->outlive && prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return "tie its life to ours";
	if (!spec->outlive && getppid() != parent)
		_exit(1);
	if (r->procs_fd >= 0 && write(r->procs_fd, "0", 1) < 0)
		return "join its cgroup";
	if (r->plan && th_sandbox_join(r->plan, &step) < 0)
		return step;
	if (map_fds(r) < 0)
		return "set up its descriptors";
	if (spec->terminal && ioctl(0, TIOCSCTTY, 0) < 0)
		return "take its terminal";
	if (set_limits(&r->limits) < 0)
		return "set its limits";
	if (r->plan && r->plan->namespaced && th_sandbox_show(r->plan, &step) < 0)
		return step;
	if (r->cwd && chdir(r->cwd) < 0)
		return "enter its folder";
	if (r->plan && !r->plan->namespaced && th_sandbox_apply(r->plan, &step) < 0)
		return step;
	if (spec->set_ids && drop_ids(spec->uid, spec->gid) < 0)
		return "become its user";
	/* A change of user forgets this. */
	if (!spec->outlive && prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return "tie its life to ours";
	int errnum = ENOENT;
	for (size_t i = 0; r->paths[i]; i++) {
		execve(r->paths[i], (char *const *)(uintptr_t)r->argv,
		       (char *const *)(uintptr_t)r->env);
		if (errno != ENOENT && errno != ENOTDIR)
			errnum = errno;
	}
	errno = errnum;
	return "";
}

static _Noreturn void in_child(struct ready *r, pid_t parent)
{
	struct report report = {};
	const char *step = prepare_and_exec(r, parent);
	report.errnum = errno;
	for (size_t i = 0; i < sizeof(report.step) - 1 && step[i]; i++)
		report.step[i] = step[i];
	(void)!write(r->report_fd, &report, sizeof(report));
	_exit(127);
}

/* ---- in the parent ---- */

static size_t count_of(const char *const *list)
{
	size_t n = 0;
	while (list && list[n])
		n++;
	return n;
}

static const char *value_of(const char *const *env, struct th_str name_eq)
{
	const char *value = NULL;
	for (; env && *env; env++)
		if (strncmp(*env, name_eq.ptr, name_eq.len) == 0)
			value = *env + name_eq.len;
	return value;
}

static bool full(struct ready *r, struct th_err *err)
{
	(void)r;
	th_fail(err, TH_ELIMIT, "the command line or the environment is too long");
	return false;
}

static bool make_paths(struct ready *r, struct th_err *err)
{
	const char *name = r->argv[0];
	const char *path =
	    value_of(r->spec->env, TH_STR("PATH=")) ?: "/usr/local/bin:/usr/bin:/bin";
	struct th_str rest = th_str_of(path);
	size_t count = 0;

	r->paths = (const char **)th_arena_array(&r->arena, 64, sizeof(*r->paths));
	if (!r->paths)
		return full(r, err);
	if (strchr(name, '/')) {
		r->paths[0] = name;
		return true;
	}
	while (rest.len > 0 && count < 63) {
		struct th_str dir = th_str_split(&rest, ':');
		if (dir.len == 0 || dir.ptr[0] != '/')
			continue; /* never the current folder */
		r->paths[count] = th_arena_cstr(
		    &r->arena, th_arena_printf(&r->arena, "%.*s/%s", TH_FMT(dir), name));
		if (!r->paths[count++])
			return full(r, err);
	}
	return true;
}

/* bwrap itself is counted elsewhere, so the limit is set where the command is. */
static bool add_limit(struct ready *r, size_t *n, struct th_err *err)
{
	const struct th_sandbox_plan *p = r->plan;
	uint64_t processes = r->spec->limits.processes;

	if (!processes || !p->counted_alone)
		return true;
	r->argv[(*n)++] = p->prlimit;
	r->argv[(*n)++] = th_arena_cstr(
	    &r->arena, th_arena_printf(&r->arena, "--nproc=%llu",
				       (unsigned long long)th_processes_alone(processes)));
	if (!r->argv[*n - 1])
		return full(r, err);
	r->argv[(*n)++] = "--";
	r->limits.processes = 0;
	return true;
}

static bool make_argv(struct ready *r, struct th_err *err)
{
	const struct th_child_spec *spec = r->spec;
	const struct th_sandbox_plan *p = r->plan && r->plan->namespaced ? r->plan : NULL;
	size_t args = count_of(spec->argv), n = 0;

	if (args > ARGS_MAX)
		return full(r, err);
	r->argv = (const char **)th_arena_array(&r->arena, args + TH_PLAN_ARGS_MAX + 32,
						sizeof(*r->argv));
	if (!r->argv)
		return full(r, err);
	if (p) {
		n = th_sandbox_options(p, r->argv);
		if (!spec->outlive)
			r->argv[n++] = "--die-with-parent";
		if (!spec->terminal)
			r->argv[n++] = "--new-session";
		if (spec->cwd) {
			r->argv[n++] = "--chdir";
			r->argv[n++] = spec->cwd;
		}
		r->argv[n++] = "--";
		for (size_t i = 0; i < p->tail_count; i++)
			r->argv[n++] = p->tail[i];
		if (!add_limit(r, &n, err))
			return false;
	}
	if (r->limits.processes)
		r->limits.processes = th_processes_beside(r->limits.processes);
	for (size_t i = 0; i < args; i++)
		r->argv[n++] = spec->argv[i];
	r->cwd = p ? "/" : spec->cwd;
	return true;
}

static bool make_env(struct ready *r, const char *marker, struct th_err *err)
{
	size_t given = count_of(r->spec->env), n = given;
	r->env = (const char **)th_arena_array(&r->arena, given + 3, sizeof(*r->env));
	if (!r->env)
		return full(r, err);
	if (given)
		memcpy(r->env, r->spec->env, given * sizeof(*r->env));
	if (marker[0])
		r->env[n++] = marker;
	if (r->plan && r->plan->tmp) {
		r->env[n] =
		    th_arena_cstr(&r->arena, th_arena_printf(&r->arena, "TMPDIR=%s", r->plan->tmp));
		if (!r->env[n])
			return full(r, err);
	}
	return true;
}

static bool mapped(const struct ready *r, int theirs)
{
	for (size_t i = 0; i < r->map_count; i++)
		if (r->map[i].theirs == theirs)
			return true;
	return false;
}

static void map(struct ready *r, int ours, int theirs)
{
	assert(r->map_count < MAPPED_MAX && theirs >= 0 && theirs < HIGH_FD);
	r->map[r->map_count++] = (struct th_child_fd){ ours, theirs };
}

static int make_pipe(int *read_end, int *write_end)
{
	int fds[2];
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	*read_end = fds[0];
	*write_end = fds[1];
	return 0;
}

/* Pipes and what takes the place of descriptors nobody named. */
static int make_fds(struct ready *r, struct th_start *ret)
{
	const struct th_child_spec *spec = r->spec;

	assert(spec->fd_count <= MAPPED_MAX - 8);
	for (size_t i = 0; i < spec->fd_count; i++) {
		assert(spec->fds[i].theirs < TH_PLAN_FD_FILTER);
		map(r, spec->fds[i].ours, spec->fds[i].theirs);
	}
	r->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (r->null_fd < 0)
		return -1;
	if (spec->write_in && !mapped(r, 0)) {
		if (make_pipe(&r->in_fd, &ret->in) < 0)
			return -1;
		map(r, r->in_fd, 0);
	}
	if (spec->on_output && !mapped(r, 1)) {
		if (make_pipe(&ret->out[0], &r->out_fd[0]) < 0)
			return -1;
		map(r, r->out_fd[0], 1);
	}
	if (spec->merge_err && !mapped(r, 2) && mapped(r, 1)) {
		for (size_t i = 0; i < r->map_count; i++)
			if (r->map[i].theirs == 1) {
				map(r, r->map[i].ours, 2);
				break;
			}
	} else if (spec->on_output && !mapped(r, 2)) {
		if (make_pipe(&ret->out[1], &r->out_fd[1]) < 0)
			return -1;
		map(r, r->out_fd[1], 2);
	}
	for (int fd = 0; fd < 3; fd++)
		if (!mapped(r, fd))
			map(r, r->null_fd, fd);
	if (r->plan && r->plan->namespaced) {
		r->filter_fd = th_sandbox_filter_fd(r->plan);
		if (r->filter_fd < 0 || make_pipe(&ret->status, &r->status_fd) < 0)
			return -1;
		map(r, r->filter_fd, TH_PLAN_FD_FILTER);
		map(r, r->status_fd, TH_PLAN_FD_STATUS);
		if (r->plan->users_fd >= 0)
			map(r, r->plan->users_fd, TH_PLAN_FD_USERS);
	}
	int ours[] = { ret->out[0], ret->out[1], ret->in, ret->status };
	for (size_t i = 0; i < TH_COUNT(ours); i++)
		if (ours[i] >= 0 && th_fd_nonblock(ours[i], NULL))
			return -1;
	return 0;
}

static void ready_deinit(struct ready *r)
{
	int *fds[] = { &r->report_fd, &r->null_fd,   &r->filter_fd, &r->status_fd,
		       &r->out_fd[0], &r->out_fd[1], &r->in_fd };
	for (size_t i = 0; i < TH_COUNT(fds); i++)
		th_fd_close(fds[i]);
	th_arena_deinit(&r->arena);
}

void th_start_deinit(struct th_start *s)
{
	th_fd_close(&s->out[0]);
	th_fd_close(&s->out[1]);
	th_fd_close(&s->in);
	th_fd_close(&s->status);
}

/* Waits for exec (the pipe closes) or for the report of what failed. */
static enum th_code hear(int fd, pid_t pid, const char *name, struct th_err *err)
{
	struct report report;
	ssize_t got;
	do
		got = read(fd, &report, sizeof(report));
	while (got < 0 && errno == EINTR);
	if (got == 0)
		return TH_OK;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (got != sizeof(report))
		return th_fail(err, TH_EIO, "start %.128s: it died before it began", name);
	report.step[sizeof(report.step) - 1] = '\0';
	return th_fail_errno(err, report.errnum,
			     report.step[0] ? "start %.128s: %s" : "start %.128s%s", name,
			     report.step);
}

static enum th_code run(struct ready *r, struct th_start *ret, struct th_err *err)
{
	sigset_t all, old;
	TH_CLEANUP(th_fd_close) int hear_fd = -1;

	if (make_pipe(&hear_fd, &r->report_fd) < 0)
		return th_fail_errno(err, errno, "make a pipe");
	/* No handler of ours may run in the child: blocked until it has none. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pid_t parent = getpid(), pid = fork();
	int errnum = errno;
	if (pid == 0)
		in_child(r, parent);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (pid < 0)
		return errnum == EAGAIN ? th_fail(err, TH_ELIMIT, "no more processes can be made")
					: th_fail_errno(err, errnum, "fork");
	th_fd_close(&r->report_fd);
	ret->pid = pid;
	return hear(hear_fd, pid, r->spec->argv[0], err);
}

enum th_code th_start_child(const struct th_child_spec *spec, int procs_fd, const char *marker,
			    struct th_start *ret, struct th_err *err)
{
	struct ready r = { .spec = spec,
			   .plan = spec->sandbox,
			   .procs_fd = procs_fd,
			   .limits = spec->limits,
			   .report_fd = -1,
			   .null_fd = -1,
			   .filter_fd = -1,
			   .status_fd = -1,
			   .out_fd = { -1, -1 },
			   .in_fd = -1 };
	enum th_code code = TH_ELIMIT;

	*ret = (struct th_start){ .pid = -1, .out = { -1, -1 }, .in = -1, .status = -1 };
	th_arena_init(&r.arena, TH_MIB);
	if (make_argv(&r, err) && make_env(&r, marker, err) && make_paths(&r, err)) {
		if (make_fds(&r, ret) < 0)
			code =
			    th_fail_errno(err, errno, "start %.128s: make a pipe", spec->argv[0]);
		else
			code = run(&r, ret, err);
	}
	ready_deinit(&r);
	if (code)
		th_start_deinit(ret);
	return code;
}

/* ---- trees without a namespace or cgroup ---- */

static bool has_marker(const char *pid, const char *marker)
{
	char path[64], text[65536];
	snprintf(path, sizeof(path), "/proc/%.20s/environ", pid);
	TH_CLEANUP(th_fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0, size = strlen(marker) + 1;
	for (ssize_t got;
	     fd >= 0 && len < sizeof(text) && (got = read(fd, text + len, sizeof(text) - len)) > 0;)
		len += (size_t)got;
	return memmem(text, len, marker, size) != NULL;
}

size_t th_adopted_kill(const char *marker, pid_t except)
{
	size_t found = 0;
	DIR *dir = opendir("/proc");
	for (struct dirent *e; dir && (e = readdir(dir));) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
		if (pid <= 1 || pid == except)
			continue;
		/* The descriptor first: what was read is then of the process that is killed. */
		TH_CLEANUP(th_fd_close) int fd = (int)syscall(SYS_pidfd_open, pid, 0u);
		bool numbers_only = fd < 0 && errno == ENOSYS;
		if ((fd < 0 && !numbers_only) || !has_marker(e->d_name, marker))
			continue;
		found++;
		if (numbers_only)
			kill(pid, SIGKILL);
		else
			syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0u);
	}
	if (dir)
		closedir(dir);
	return found;
}

enum life { LIFE_OTHER, LIFE_EXITING, LIFE_ZOMBIE };

/* Of our own children only. */
static enum life life_of(const char *pid)
{
	char path[64], text[512], state = 0;
	int parent = 0;
	unsigned flags = 0;
	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	TH_CLEANUP(th_fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	text[len > 0 ? len : 0] = '\0';
	const char *after_name = strrchr(text, ')');
	if (!after_name ||
	    sscanf(after_name + 1, " %c %d %*d %*d %*d %*d %u", &state, &parent, &flags) != 3 ||
	    parent != getpid())
		return LIFE_OTHER;
	return state == 'Z' ? LIFE_ZOMBIE : flags & 4u /* PF_EXITING */ ? LIFE_EXITING : LIFE_OTHER;
}

size_t th_adopted_reap(bool (*is_known)(pid_t pid))
{
	size_t exiting = 0;
	DIR *dir = opendir("/proc");
	for (struct dirent *e; dir && (e = readdir(dir));) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
		enum life life = pid > 1 && !is_known(pid) ? life_of(e->d_name) : LIFE_OTHER;
		if (life == LIFE_ZOMBIE)
			waitpid(pid, NULL, WNOHANG);
		exiting += life == LIFE_EXITING;
	}
	if (dir)
		closedir(dir);
	return exiting;
}

/* ---- the environment ---- */

const char *const *th_child_env(struct th_arena *a, const char *home, const char *user,
				const char *const *more)
{
	static const char *const passed[] = { "LANG", "LANGUAGE", "TERM", "TZ" };
	size_t n = 0, extra = count_of(more), size = 32 + extra;
	const char **env = (const char **)th_arena_array(a, size, sizeof(*env));

	if (!env)
		return NULL;
	env[n++] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	for (size_t i = 0; i < TH_COUNT(passed); i++) {
		const char *value = getenv(passed[i]);
		if (value &&
		    !(env[n++] = th_arena_cstr(a, th_arena_printf(a, "%s=%s", passed[i], value))))
			return NULL;
	}
	for (char **e = environ; *e && n < 24; e++)
		if (strncmp(*e, "LC_", 3) == 0 && !(env[n++] = th_arena_cstr(a, th_str_of(*e))))
			return NULL;
	if (home && !(env[n++] = th_arena_cstr(a, th_arena_printf(a, "HOME=%s", home))))
		return NULL;
	if (user && !(env[n++] = th_arena_cstr(a, th_arena_printf(a, "USER=%s", user))))
		return NULL;
	for (size_t i = 0; i < extra; i++) {
		size_t len = strcspn(more[i], "="), at = 0;
		while (at < n && strncmp(env[at], more[i], len + 1) != 0)
			at++;
		if (!(env[at] = th_arena_cstr(a, th_str_of(more[i]))))
			return NULL;
		n = TH_MAX(n, at + 1);
	}
	env[n] = NULL;
	return env;
}
