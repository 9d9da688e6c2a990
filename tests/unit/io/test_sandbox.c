/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a confined command can do is asked of the command itself: each script
 * says "yes" or "no" for things it tries.  A level this machine cannot reach
 * is skipped, loudly.
 */
#include "io/sandbox.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "io/child.h"
#include "io/files.h"

static struct th_loop *loop;
static struct th_buf out, errors;
static struct th_child_exit status;
static bool ended;
static char base[64], workspace[80], outside[80];
static struct th_sandbox_report report;
static bool cannot_map; /* a file system without ID-mapped mounts */

bool __real_th_idmap_works(const char *path, int userns_fd);
bool __wrap_th_idmap_works(const char *path, int userns_fd);
bool __wrap_th_idmap_works(const char *path, int userns_fd)
{
	return !cannot_map && __real_th_idmap_works(path, userns_fd);
}

static int setup(void **state)
{
	(void)state;
	th_buf_init(&out, TH_MIB);
	th_buf_init(&errors, TH_MIB);
	/* As root the workspace lies where nobody else may look, as people have it. */
	snprintf(base, sizeof(base), "%s/thole-test-XXXXXX",
		 geteuid() == 0 && access("/root", W_OK) == 0 ? "/root" : "/tmp");
	assert_non_null(mkdtemp(base));
	snprintf(workspace, sizeof(workspace), "%s/ws", base);
	snprintf(outside, sizeof(outside), "%s/outside", base);
	assert_int_equal(th_dir_make(workspace, 0755, NULL), TH_OK);
	assert_int_equal(th_file_write(outside, TH_STR("outside\n"), 0644, NULL), TH_OK);
	return th_loop_new(&loop, NULL);
}

static int teardown(void **state)
{
	(void)state;
	th_buf_deinit(&out);
	th_buf_deinit(&errors);
	cannot_map = false;
	loop = th_loop_free(loop);
	return th_dir_remove(base, NULL);
}

static void on_output(void *ctx, enum th_child_stream which, struct th_str bytes)
{
	(void)ctx;
	th_buf_add(which == TH_CHILD_OUT ? &out : &errors, bytes);
}

static void on_ended(void *ctx, const struct th_child_exit *s)
{
	(void)ctx;
	ended = true;
	status = *s;
	th_loop_stop(loop);
}

static struct th_sandbox sandbox_of(enum th_sandbox_level level)
{
	if (report.level < level)
		skip();
	return (
	    struct th_sandbox){ .level_min = level, .level_max = level, .workspace = workspace };
}

static void run(const struct th_sandbox *s, const char *script)
{
	static const char *const env[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "MINE=1", NULL };
	const char *const argv[] = { "/bin/bash", "-c", script, NULL };
	struct th_child_spec spec = { .argv = argv,
				      .env = env,
				      .cwd = workspace,
				      .on_output = on_output,
				      .on_exit = on_ended };
	struct th_sandbox_plan *plan = NULL;
	struct th_child *child = NULL;
	struct th_err err = {};

	th_buf_clear(&out);
	th_buf_clear(&errors);
	ended = false;
	if (th_sandbox_plan_new(s, &plan, &err))
		fail_msg("plan: %s", err.msg);
	assert_int_equal(th_sandbox_plan_level(plan), s->level_max);
	spec.sandbox = plan;
	if (th_child_start(loop, &spec, &child, &err))
		fail_msg("start: %s", err.msg);
	th_loop_run(loop);
	assert_true(ended);
	if (status.not_started)
		fail_msg("not started: %s", errors.ptr);
	th_child_free(child);
	th_sandbox_plan_free(plan);
}

static void expect(const struct th_sandbox *s, const char *script, const char *expected)
{
	run(s, script);
	if (strcmp(out.ptr, expected) != 0)
		fail_msg("script: %s\nexpected: %s\nfound: %s\nerrors: %s", script, expected,
			 out.ptr, errors.ptr);
}

#define TRY(command) "if (" command ") >/dev/null 2>&1; then echo yes; else echo no; fi;"

static void the_workspace_is_writable_and_files_belong_to_its_owner(void **state)
{
	(void)state;
	char path[128];
	struct stat st, dir;
	struct th_sandbox s = sandbox_of(*(enum th_sandbox_level *)*state);
	if (s.level_max == TH_SANDBOX_KERNEL && geteuid() == 0)
		skip(); /* nobody cannot even reach it: only namespaces can show it */
	expect(&s, "echo hello > file && cat $PWD/file; mkdir d && mv file d/ && cat d/file",
	       "hello\nhello\n");
	snprintf(path, sizeof(path), "%s/d/file", workspace);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(stat(workspace, &dir), 0);
	assert_int_equal(st.st_uid, dir.st_uid);
}

static void a_read_only_workspace_is_read_only(void **state)
{
	(void)state;
	struct th_sandbox s = sandbox_of(TH_SANDBOX_FULL);
	s.workspace_readonly = true;
	expect(&s, TRY("ls .") TRY("echo x > file"), "yes\nno\n");
}

static void what_is_outside_cannot_be_touched(void **state)
{
	char script[1024], link[128];
	struct th_sandbox s = sandbox_of(*(enum th_sandbox_level *)*state);
	snprintf(link, sizeof(link), "%s/link", workspace);
	assert_int_equal(symlink(outside, link), 0);
	snprintf(script, sizeof(script),
		 TRY("cat %s") TRY("cat %s/link") TRY("echo x > %s") TRY("echo x > /usr/x")
		     TRY("echo x > /etc/x") TRY("cat /etc/shadow")
			 TRY("ls /root/ | grep -v thole-test") TRY("ls /home/*/*")
			     TRY("cat /proc/1/environ | grep -a HOME") TRY("echo x > /x")
				 TRY("touch /tmp/.X11-unix/thole"),
		 outside, workspace, outside);
	expect(&s, script, "no\nno\nno\nno\nno\nno\nno\nno\nno\nno\nno\n");
	assert_int_equal(access("/usr/x", F_OK), -1);
}

static void system_and_devices_work(void **state)
{
	struct th_sandbox s = sandbox_of(*(enum th_sandbox_level *)*state);
	expect(&s,
	       TRY("/usr/bin/env true") TRY("head -c 1 /dev/urandom") TRY("echo x > /dev/null")
		   TRY("cat /etc/passwd") TRY("cat /proc/self/status") "echo $MINE",
	       "yes\nyes\nyes\nyes\nyes\n1\n");
}

static void it_is_an_unprivileged_user_without_ways_up(void **state)
{
	struct th_sandbox s = sandbox_of(*(enum th_sandbox_level *)*state);
	run(&s, "id -u; grep -E 'NoNewPrivs|Seccomp:|CapEff|CapPrm|CapAmb' /proc/self/status | tr "
		"'\\n' ' '");
	assert_true(strtol(out.ptr, NULL, 10) > 0);
	assert_non_null(strstr(out.ptr, "NoNewPrivs:\t1"));
	assert_non_null(strstr(out.ptr, "Seccomp:\t2"));
	assert_non_null(strstr(out.ptr, "CapPrm:\t0000000000000000"));
	assert_non_null(strstr(out.ptr, "CapEff:\t0000000000000000"));
	assert_non_null(strstr(out.ptr, "CapAmb:\t0000000000000000"));
	expect(&s,
	       TRY("unshare -U true") TRY("unshare -n true") TRY("mount -t tmpfs x /tmp")
		   TRY("setpriv --reuid=0 true"),
	       "no\nno\nno\nno\n");
}

static void uid_can_be_chosen(void **state)
{
	(void)state;
	struct th_sandbox s = sandbox_of(TH_SANDBOX_FULL);
	if (geteuid() != 0)
		skip();
	s.uid = 12345;
	s.gid = 54321;
	expect(&s, "id -u; id -g; id -G; touch mine; stat -c %u mine",
	       "12345\n54321\n54321\n12345\n");
}

/* chmod 777, or the emptyDir of Kubernetes: it is lent like any other of root's. */
static void a_workspace_open_to_all_is_lent_too(void **state)
{
	static const mode_t modes[] = { 0755, 0777, 01777 };
	struct th_sandbox s = sandbox_of(TH_SANDBOX_FULL);
	char made[128], sub[128], new[128];
	struct stat st;

	(void)state;
	if (geteuid() != 0 || !report.idmap)
		skip();
	snprintf(made, sizeof(made), "%s/made", workspace);
	snprintf(sub, sizeof(sub), "%s/sub", workspace);
	snprintf(new, sizeof(new), "%s/new", workspace);
	assert_int_equal(th_dir_make(sub, 0755, NULL), TH_OK);
	for (size_t i = 0; i < TH_COUNT(modes); i++) {
		assert_int_equal(th_file_write(made, TH_STR("x\n"), 0644, NULL), TH_OK);
		assert_int_equal(chmod(workspace, modes[i]), 0);
		expect(&s,
		       TRY("echo y >> made") TRY("touch sub/other new") "cat made; stat -c %u new",
		       "yes\nyes\nx\ny\n65534\n");
		assert_int_equal(stat(new, &st), 0);
		assert_int_equal(st.st_uid, 0);
		assert_int_equal(unlink(new), 0);
	}
}

/* Where nothing can be mapped one that is open to all is as it is, and any other is refused. */
static void an_open_workspace_needs_no_mapping(void **state)
{
	struct th_sandbox s = sandbox_of(TH_SANDBOX_FULL);
	struct th_sandbox_plan *plan = NULL;
	struct th_err err = {};
	struct stat st;
	char new[128];

	(void)state;
	if (geteuid() != 0)
		skip();
	cannot_map = true;
	assert_int_equal(th_sandbox_plan_new(&s, &plan, &err), TH_EUNSUPPORTED);
	assert_non_null(strstr(err.msg, "chown"));
	assert_int_equal(chmod(workspace, 0777), 0);
	expect(&s, "touch new && stat -c %u new", "65534\n");
	snprintf(new, sizeof(new), "%s/new", workspace);
	assert_int_equal(stat(new, &st), 0);
	assert_int_equal(st.st_uid, 65534);
}

static int listen_somewhere(int *ret_port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	*ret_port = ntohs(addr.sin_port);
	return fd;
}

static void the_network_is_none_or_the_hosts(void **state)
{
	char script[512];
	int port, fd = listen_somewhere(&port);
	struct th_sandbox s = sandbox_of(*(enum th_sandbox_level *)*state);
	snprintf(script, sizeof(script),
		 TRY("exec 3<>/dev/tcp/127.0.0.1/%d") TRY("echo x > /dev/udp/127.0.0.1/%d"), port,
		 port);
	s.net = TH_SANDBOX_NET_HOST;
	expect(&s, script, "yes\nyes\n");
	s.net = TH_SANDBOX_NET_NONE;
	run(&s, script);
	assert_true(strncmp(out.ptr, "no\n", 3) ==
		    0); /* a datagram into an empty namespace goes nowhere, silently */
	if (s.level_max == TH_SANDBOX_KERNEL)
		assert_string_equal(out.ptr, "no\nno\n");
	close(fd);
}

static void loopback_of_its_own_works_without_network(void **state)
{
	(void)state;
	struct th_sandbox s = sandbox_of(TH_SANDBOX_FULL);
	expect(&s, "echo x > /dev/udp/127.0.0.1/9 && echo sent", "sent\n");
}

static void tmp_is_private(void **state)
{
	struct th_sandbox s = sandbox_of(*(enum th_sandbox_level *)*state);
	expect(&s, "t=${TMPDIR:-/tmp}; echo x > $t/thole-private && ls $t", "thole-private\n");
	assert_int_equal(access("/tmp/thole-private", F_OK), -1);
	expect(&s, "ls ${TMPDIR:-/tmp}", ""); /* each plan has its own */
}

static void a_shared_tmp_is_shared(void **state)
{
	(void)state;
	char tmp[128];
	struct th_sandbox s = sandbox_of(TH_SANDBOX_FULL);
	snprintf(tmp, sizeof(tmp), "%s/tmp", base);
	assert_int_equal(th_dir_make(tmp, 0755, NULL), TH_OK);
	s.tmp = tmp;
	expect(&s, "echo x > /tmp/thole-shared", "");
	expect(&s, "cat /tmp/thole-shared", "x\n");
}

static void what_cannot_be_set_up_has_not_started(void **state)
{
	(void)state;
	static const char *const argv[] = { "/bin/true", NULL };
	struct th_child_spec spec = {
		.argv = argv, .cwd = "/no/such/folder", .on_output = on_output, .on_exit = on_ended
	};
	struct th_sandbox s = sandbox_of(TH_SANDBOX_FULL);
	struct th_sandbox_plan *plan = NULL;
	struct th_child *child = NULL;
	assert_int_equal(th_sandbox_plan_new(&s, &plan, NULL), TH_OK);
	spec.sandbox = plan;
	ended = false;
	assert_int_equal(th_child_start(loop, &spec, &child, NULL), TH_OK);
	th_loop_run(loop);
	assert_true(ended);
	assert_true(status.not_started);
	th_child_free(child);
	th_sandbox_plan_free(plan);
}

static void more_can_be_granted_and_hidden(void **state)
{
	(void)state;
	char granted[128], hidden[128], both[128], script[1024];
	struct th_sandbox s = sandbox_of(TH_SANDBOX_FULL);
	snprintf(granted, sizeof(granted), "%s/granted", base);
	snprintf(both, sizeof(both), "%s/both", base);
	snprintf(hidden, sizeof(hidden), "/usr/share");
	assert_int_equal(th_dir_make(granted, 0755, NULL), TH_OK);
	assert_int_equal(th_dir_make(both, 0755, NULL), TH_OK);
	const char *const readable[] = { granted, NULL }, *const writable[] = { both, NULL };
	const char *const hide[] = { hidden, "/etc/hostname", NULL };
	s.readable = readable;
	s.writable = writable;
	s.hidden = hide;
	snprintf(script, sizeof(script),
		 TRY("ls %s") TRY("echo x > %s/x")
		     TRY("echo x > %s/x") "ls %s; cat /etc/hostname 2>/dev/null",
		 granted, granted, both, hidden);
	expect(&s, script, "yes\nno\nyes\n");
}

static void a_file_is_placed_beside_what_is_there(void **state)
{
	const char *folder = access("/etc/security", F_OK) ? "/etc/profile.d" : "/etc/security";
	char script[512], want[64];
	struct th_sandbox s = sandbox_of(TH_SANDBOX_FULL);
	struct th_sandbox_placed placed = { .from = outside, .folder = folder, .path = "a/b/c" };
	DIR *dir = opendir(folder);
	size_t count = 0;

	(void)state;
	if (!dir)
		skip();
	while (readdir(dir))
		count++;
	closedir(dir);
	s.placed = &placed;
	snprintf(script, sizeof(script),
		 "cat %s/a/b/c; ls -a %s | wc -l; " TRY("echo x > %s/a/b/c") TRY("mv %s/a %s/b")
		     TRY("touch %s/new"),
		 folder, folder, folder, folder, folder, folder);
	snprintf(want, sizeof(want), "outside\n%zu\nno\nno\nno\n", count + 1);
	expect(&s, script, want);
	/* What cannot be placed is no plan. */
	char long_path[2 * TH_PATH_LEN_MAX];
	memset(long_path, 'x', sizeof(long_path) - 1);
	long_path[sizeof(long_path) - 1] = '\0';
	placed.path = long_path;
	struct th_sandbox_plan *plan = NULL;
	assert_int_not_equal(th_sandbox_plan_new(&s, &plan, NULL), TH_OK);
	/* A folder that is not there has nothing in it. */
	placed = (struct th_sandbox_placed){ outside, "/etc/no-such-folder", "a" };
	expect(&s, TRY("cat /etc/no-such-folder/a"), "no\n");
}

static void the_namespace_ends_with_the_command(void **state)
{
	(void)state;
	struct th_sandbox s = sandbox_of(TH_SANDBOX_FULL);
	/* A daemon that would write on after the end. */
	run(&s, "setsid bash -c 'while :; do date +%s%N > beat; done' </dev/null >/dev/null 2>&1 & "
		"while ! test -s beat; do :; done; exit 3");
	assert_int_equal(status.code, 3);
	struct th_buf a = TH_BUF_INIT(100), b = TH_BUF_INIT(100);
	char path[128];
	snprintf(path, sizeof(path), "%s/beat", workspace);
	(void)!th_file_read(path, 100, &a, NULL);
	usleep(50000);
	(void)!th_file_read(path, 100, &b, NULL);
	assert_string_equal(a.ptr, b.ptr);
	th_buf_deinit(&a);
	th_buf_deinit(&b);
}

static void on_ready(void *ctx, enum th_child_stream which, struct th_str bytes)
{
	(void)which;
	th_buf_add(&out, bytes);
	if (strstr(out.ptr, "ready\n") && !strstr(out.ptr, "got\n"))
		th_child_signal(*(struct th_child **)ctx, SIGTERM);
}

static void a_signal_reaches_the_command_not_the_sandbox(void **state)
{
	(void)state;
	static const char *const argv[] = {
		"/bin/bash", "-c",
		"trap 'echo got; exit 5' TERM; echo ready; while :; do sleep 0.01; done", NULL
	};
	static const char *const env[] = { "PATH=/usr/bin:/bin", NULL };
	struct th_child *child = NULL;
	struct th_child_spec spec = {
		.argv = argv, .env = env, .on_output = on_ready, .on_exit = NULL, .ctx = &child
	};
	struct th_sandbox s = sandbox_of(TH_SANDBOX_FULL);
	TH_CLEANUP(th_sandbox_plan_freep) struct th_sandbox_plan *plan = NULL;
	assert_int_equal(th_sandbox_plan_new(&s, &plan, NULL), TH_OK);
	spec.sandbox = plan;
	assert_int_equal(th_child_start(loop, &spec, &child, NULL), TH_OK);
	th_loop_run(loop);
	assert_false(th_child_running(child));
	assert_string_equal(out.ptr, "ready\ngot\n");
	th_child_free(child);
}

static void on_late(void *ctx)
{
	th_child_kill(*(struct th_child **)ctx);
}

/* What it said of itself waits to be read, and the command is known by what it did. */
static void a_signal_reaches_a_command_that_was_not_heard_of(void **state)
{
	(void)state;
	static const char *const argv[] = {
		"/bin/bash", "-c",
		"trap 'echo got; exit 5' TERM; : > ready; while :; do sleep 0.01; done", NULL
	};
	static const char *const env[] = { "PATH=/usr/bin:/bin", NULL };
	struct th_child *child = NULL;
	struct th_child_spec spec = { .argv = argv,
				      .env = env,
				      .cwd = workspace,
				      .on_output = on_output,
				      .on_exit = on_ended,
				      .ctx = &child };
	struct th_sandbox s = sandbox_of(TH_SANDBOX_FULL);
	TH_CLEANUP(th_sandbox_plan_freep) struct th_sandbox_plan *plan = NULL;
	struct th_timer late;
	char path[128];

	snprintf(path, sizeof(path), "%s/ready", workspace);
	assert_int_equal(th_sandbox_plan_new(&s, &plan, NULL), TH_OK);
	spec.sandbox = plan;
	th_buf_clear(&out);
	assert_int_equal(th_child_start(loop, &spec, &child, NULL), TH_OK);
	while (access(path, F_OK) != 0)
		usleep(1000);
	th_child_signal(child, SIGTERM);
	th_timer_init(&late, loop, on_late, &child);
	th_timer_start(&late, 20000, 0);
	th_loop_run(loop);
	assert_string_equal(out.ptr ? out.ptr : "", "got\n");
	th_timer_stop(&late);
	th_child_free(child);
}

static size_t processes_of(uid_t uid)
{
	size_t count = 0;
	DIR *dir = opendir("/proc");

	assert_non_null(dir);
	for (const struct dirent *e; (e = readdir(dir));) {
		struct stat st;
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' &&
		    fstatat(dirfd(dir), e->d_name, &st, 0) == 0 && st.st_uid == uid)
			count++;
	}
	closedir(dir);
	return count;
}

static void a_fork_bomb_is_over_at_once(void **state)
{
	(void)state;
	static const char *const argv[] = { "/bin/bash", "-c", "f() { f | f & }; f; sleep 1000",
					    NULL };
	static const char *const env[] = { "PATH=/usr/bin:/bin", NULL };
	struct th_child *child = NULL;
	struct th_child_spec spec = { .argv = argv, .env = env };
	struct th_sandbox s = sandbox_of(TH_SANDBOX_FULL);
	TH_CLEANUP(th_sandbox_plan_freep) struct th_sandbox_plan *plan = NULL;
	/* Nobody else's processes count towards its limit, nor those of a copy of this test. */
	uid_t uid = 20000 + (uid_t)getpid() % 40000;
	if (geteuid() != 0)
		skip();
	s.uid = uid;
	assert_int_equal(th_sandbox_plan_new(&s, &plan, NULL), TH_OK);
	spec.sandbox = plan;
	spec.limits.processes = 100;
	assert_int_equal(th_child_start(loop, &spec, &child, NULL), TH_OK);
	while (processes_of(uid) < 50) /* let it grow */
		usleep(1000);
	th_child_free(child);
	assert_int_equal(processes_of(uid), 0);
}

static void a_level_out_of_reach_is_refused(void **state)
{
	(void)state;
	struct th_sandbox_plan *plan = NULL;
	struct th_err err = {};
	static const char *const hidden[] = { "/usr/share", NULL };
	struct th_sandbox s = { .level_min = TH_SANDBOX_KERNEL,
				.level_max = TH_SANDBOX_KERNEL,
				.hidden = hidden };
	assert_int_equal(th_sandbox_plan_new(&s, &plan, &err),
			 TH_EUNSUPPORTED); /* landlock cannot subtract */
	assert_non_null(strstr(err.msg, report.landlock_abi ? "/usr/share" : "landlock"));
	s = (struct th_sandbox){ .level_max = TH_SANDBOX_FULL, .workspace = "relative" };
	assert_int_equal(th_sandbox_plan_new(&s, &plan, &err), TH_EUSAGE);
	s.workspace = "/no/such/workspace";
	assert_int_equal(th_sandbox_plan_new(&s, &plan, &err), TH_ENOENT);
}

static void a_process_can_confine_itself(void **state)
{
	(void)state;
	struct th_sandbox s = sandbox_of(TH_SANDBOX_KERNEL);
	int child_status;
	pid_t pid = fork();
	if (pid == 0) {
		if (th_sandbox_enter(&s, NULL))
			_exit(1);
		if (fopen(outside, "r"))
			_exit(2);
		if (socket(AF_INET, SOCK_STREAM, 0) >= 0)
			_exit(3);
		if (chdir(workspace) < 0 || !fopen("file", "w"))
			_exit(4);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &child_status, 0), pid);
	assert_true(WIFEXITED(child_status));
	assert_int_equal(WEXITSTATUS(child_status), 0);
}

static void the_probe_says_what_it_found(void **state)
{
	(void)state;
	print_message("level %s, landlock %d (files %d, tcp %d), seccomp %d, bwrap %d, user %d pid "
		      "%d net %d, idmap %d, cgroup kill %d %s\n",
		      th_sandbox_level_name(report.level), report.landlock_abi,
		      report.landlock_files, report.landlock_tcp, report.seccomp, report.bwrap,
		      report.user_namespace, report.pid_namespace, report.net_namespace,
		      report.idmap, report.cgroup_kill, report.why);
	assert_true(report.level == TH_SANDBOX_FULL || report.why[0]);
	assert_int_equal(report.root, geteuid() == 0);
	/* What is there must have been found: the tests below skip what was not. */
	assert_int_equal(report.landlock_files, report.landlock_abi > 0);
	assert_int_equal(report.landlock_tcp, report.landlock_abi >= 4);
	assert_int_equal(report.seccomp, prctl(PR_GET_SECCOMP) >= 0);
	assert_int_equal(
	    report.bwrap,
	    system(
		"bwrap --unshare-pid --unshare-net --ro-bind / / --proc /proc true 2>/dev/null") ==
		0);
}

int main(void)
{
	static enum th_sandbox_level kernel = TH_SANDBOX_KERNEL, full = TH_SANDBOX_FULL;
	th_sandbox_probe(&report);
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define BOTH(name)                                         \
	{ #name " (full)", name, setup, teardown, &full }, \
	    { #name " (kernel)", name, setup, teardown, &kernel }
		T(the_probe_says_what_it_found),
		BOTH(the_workspace_is_writable_and_files_belong_to_its_owner),
		T(a_workspace_open_to_all_is_lent_too),
		T(an_open_workspace_needs_no_mapping),
		T(a_read_only_workspace_is_read_only),
		BOTH(what_is_outside_cannot_be_touched),
		BOTH(system_and_devices_work),
		BOTH(it_is_an_unprivileged_user_without_ways_up),
		T(uid_can_be_chosen),
		BOTH(the_network_is_none_or_the_hosts),
		T(loopback_of_its_own_works_without_network),
		BOTH(tmp_is_private),
		T(a_shared_tmp_is_shared),
		T(what_cannot_be_set_up_has_not_started),
		T(more_can_be_granted_and_hidden),
		T(a_file_is_placed_beside_what_is_there),
		T(the_namespace_ends_with_the_command),
		T(a_signal_reaches_the_command_not_the_sandbox),
		T(a_signal_reaches_a_command_that_was_not_heard_of),
		T(a_fork_bomb_is_over_at_once),
		T(a_level_out_of_reach_is_refused),
		T(a_process_can_confine_itself),
	};
	return cmocka_run_group_tests_name("sandbox", tests, NULL, NULL);
}
