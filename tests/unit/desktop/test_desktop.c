/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private desktops: ready soon, programs run on them and nowhere else, and
 * nothing is left of them, whoever is killed.
 */
#include "desktop/desktop.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <spng.h>

#include "base/limits.h"
#include "computers/computers.h"
#include "io/files.h"
#include "x11/x11.h"

static char folder[64], state_dir[96], workspace[96], program[TH_PATH_LEN_MAX];
static struct th_err err;
static struct th_arena arena;
static int cycles = 10; /* 50 in torture; THOLE_CYCLES says otherwise */

#define OK(call)                                                         \
	do {                                                             \
		err.msg[0] = '\0';                                       \
		enum th_code ok_code = (call);                           \
		if (ok_code)                                             \
			fail_msg("%s: %d: %s", #call, ok_code, err.msg); \
	} while (0)

static int64_t now_ms(void)
{
	return th_x11_now_us() / 1000;
}

static struct th_computer_options options(void)
{
	return (struct th_computer_options){
		.kind = TH_STR("desktop"),
		.size = { 800, 600 },
		.state_dir = th_str_of(state_dir),
		.workspace = th_str_of(workspace),
		.interrupt_fd = -1,
	};
}

static struct th_computer *open_one(struct th_computer_options o)
{
	struct th_computer *c = NULL;
	OK(th_computer_open(&o, &c, &err));
	return c;
}

/* ---- programs ---- */

struct run {
	pid_t pid;
	int in, out; /* -1 after run_end */
	int status;
	char text[8192];
};

static void run_start(struct run *r, const char *dir, const char *const *command)
{
	int in[2], out[2];
	const char *argv[32];
	size_t n = 0;
	const char *const *prefix = th_desktop_prefix(&arena, th_str_of(dir), program);

	assert_non_null(prefix);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	for (; prefix[n]; n++)
		argv[n] = prefix[n];
	for (size_t i = 0; command[i]; i++)
		argv[n++] = command[i];
	argv[n] = NULL;
	r->pid = fork();
	assert_true(r->pid >= 0);
	if (r->pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		dup2(out[1], 2);
		if (chdir(workspace))
			_exit(125);
		setenv("DISPLAY", ":4242", 1); /* the desktop's wins */
		setenv("GIVEN", "yes", 1);
		execv(argv[0], (char *const *)(uintptr_t)argv);
		_exit(125);
	}
	close(in[0]);
	close(out[1]);
	r->in = in[1];
	r->out = out[0];
}

/* Its output until it has ended and nobody else writes, at most 20 s. */
static void run_end(struct run *r)
{
	size_t len = 0;
	struct pollfd p = { .fd = r->out, .events = POLLIN };

	th_fd_close(&r->in);
	for (;;) {
		ssize_t got = poll(&p, 1, 20000) > 0
				  ? read(r->out, r->text + len, sizeof(r->text) - 1 - len)
				  : -1;
		if (got <= 0)
			break;
		len += (size_t)got;
	}
	r->text[len] = '\0';
	th_fd_close(&r->out);
	assert_int_equal(waitpid(r->pid, &r->status, 0), r->pid);
}

static struct run run_sh(const char *script)
{
	struct run r;
	run_start(&r, state_dir, (const char *const[]){ "sh", "-c", script, NULL });
	run_end(&r);
	return r;
}

static void says(const char *script, const char *want)
{
	struct run r = run_sh(script);
	if (strcmp(r.text, want) != 0)
		fail_msg("%s: said \"%s\", not \"%s\"", script, r.text, want);
}

/* ---- what is left ---- */

static bool is_zombie(const char *pid)
{
	char path[64], text[512];
	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	th_fd_close(&fd);
	text[len > 0 ? len : 0] = '\0';
	const char *after_name = strrchr(text, ')');
	return !after_name || after_name[2] == 'Z';
}

/* Living processes with `what` in a file of their /proc folder or behind a link of it. */
static size_t count_processes(const char *file, bool link, const char *what)
{
	static char text[1 << 17];
	char path[300];
	size_t count = 0;
	DIR *dir = opendir("/proc");

	for (struct dirent *e; (e = readdir(dir));) {
		ssize_t len;
		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/%s", e->d_name, file);
		if (link) {
			len = readlink(path, text, sizeof(text) - 1);
		} else {
			int fd = open(path, O_RDONLY | O_CLOEXEC);
			len = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
			th_fd_close(&fd);
		}
		count += len > 0 && memmem(text, (size_t)len, what, strlen(what)) &&
			 !is_zombie(e->d_name);
	}
	closedir(dir);
	return count;
}

static size_t in_namespace(const char *id)
{
	return count_processes("ns/pid", true, id);
}

/* Processes of a desktop without namespaces: its folder is in what each was started with. */
static size_t around(const char *base)
{
	return count_processes("environ", false, base) + count_processes("cmdline", false, base);
}

static bool gone(size_t (*count)(const char *), const char *what)
{
	for (int64_t end = now_ms() + 5000; now_ms() < end; poll(NULL, 0, 2))
		if (count(what) == 0)
			return true;
	return false;
}

static size_t count_fds(void)
{
	size_t n = 0;
	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void read_text(const char *path, struct th_buf *b)
{
	th_buf_clear(b);
	OK(th_file_read(path, 4 * TH_MIB, b, &err));
}

static size_t count_entries(const char *path)
{
	size_t n = 0;
	DIR *dir = opendir(path);
	assert_non_null(dir);
	for (struct dirent *e; (e = readdir(dir));)
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(dir);
	return n;
}

/* ---- tests ---- */

static uint32_t colour_at(const struct th_frame_image *f, int x, int y)
{
	spng_ctx *s = spng_ctx_new(0);
	size_t size = (size_t)f->size.width * f->size.height * 3;
	uint8_t *rgb = malloc(size);

	assert_int_equal(spng_set_png_buffer(s, f->bytes.ptr, f->bytes.len), 0);
	assert_int_equal(spng_decode_image(s, rgb, size, SPNG_FMT_RGB8, 0), 0);
	const uint8_t *p = rgb + ((size_t)y * f->size.width + x) * 3;
	uint32_t v = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
	free(rgb);
	spng_ctx_free(s);
	return v;
}

static void a_desktop_is_there_and_can_be_seen(void **state)
{
	struct th_frame_image f;
	struct th_act_result r;
	int64_t start = now_ms();
	struct th_computer *c = open_one(options());

	(void)state;
	print_message("ready in %d ms, sandbox %s\n", (int)(now_ms() - start),
		      th_sandbox_level_name(th_desktop_level(c)));
	assert_int_equal(c->kind->size(c).width, 800);
	OK(c->kind->see(c, &(struct th_see_options){ .cursor = true }, &f, &err));
	assert_int_equal(f.size.height, 600);
	assert_int_equal(colour_at(&f, 3, 3), 0x2e4a62);
	assert_int_equal(colour_at(&f, 790, 590), 0x2e4a62);
	struct th_action click = {
		.kind = TH_ACTION_CLICK, .has_at = true, .at = { 17, 23 }, .count = 1
	};
	OK(th_computer_act(c, &click, &r, &err));
	assert_int_equal(r.at.x, 17);
	assert_int_equal(r.at.y, 23);
	assert_true(c->kind->caps & TH_CAP_SHELL);
	th_computer_close(c);
	/* The default size. */
	struct th_computer_options o = options();
	o.size = (struct th_size){ 0 };
	c = open_one(o);
	assert_int_equal(c->kind->size(c).width, 1280);
	assert_int_equal(c->kind->size(c).height, 800);
	th_computer_close(c);
}

static void programs_run_inside(void **state)
{
	struct th_computer *c = open_one(options());
	bool confined = th_desktop_level(c) == TH_SANDBOX_FULL;
	char text[128];
	struct run r;

	(void)state;
	says("echo hello; echo there >&2", "hello\nthere\n");
	says("echo $GIVEN", "yes\n");
	says("pwd", (snprintf(text, sizeof(text), "%s\n", workspace), text));
	says("echo content > made-inside && cat made-inside", "content\n");
	snprintf(text, sizeof(text), "%s/made-inside", workspace);
	assert_int_equal(access(text, F_OK), 0);
	says("cd && touch x && ls && cd $XDG_RUNTIME_DIR && touch y && test -f y && echo ok",
	     "x\nok\n");
	says("test -r $XAUTHORITY && test -w $TMPDIR && test -n \"$DISPLAY\" && test $DISPLAY != "
	     ":4242 && echo ok",
	     "ok\n");
	r = run_sh("id -u");
	assert_int_not_equal(atoi(r.text), 0);
	if (geteuid() == 0)
		assert_int_equal(atoi(r.text), 65534);
	if (confined) {
		says("cat /proc/net/dev | grep -c :", "1\n"); /* lo */
		says("cat /etc/shadow 2>/dev/null; ls /root 2>/dev/null; true", "");
		says("touch /usr/x 2>/dev/null || echo no", "no\n");
	}
	says("echo $$ > /dev/shm/x && echo ok; rm -f /dev/shm/x", "ok\n");

	/* Standard input. */
	run_start(&r, state_dir, (const char *const[]){ "tr", "a-z", "A-Z", NULL });
	assert_int_equal(write(r.in, "typed", 5), 5);
	run_end(&r);
	assert_string_equal(r.text, "TYPED");

	/* Status, signal, no such program. */
	r = run_sh("exit 7");
	assert_true(WIFEXITED(r.status) && WEXITSTATUS(r.status) == 7);
	r = run_sh("kill -USR1 $$");
	assert_true(WIFSIGNALED(r.status) && WTERMSIG(r.status) == SIGUSR1);
	run_start(&r, state_dir, (const char *const[]){ "no-such-program", NULL });
	run_end(&r);
	assert_int_equal(WEXITSTATUS(r.status), 127);
	assert_non_null(strstr(r.text, "no-such-program"));
	run_start(&r, state_dir, (const char *const[]){ "/etc", NULL });
	run_end(&r);
	assert_int_equal(WEXITSTATUS(r.status), 126);

	/* Arguments and environment arrive as they are. */
	static char big[100000];
	memset(big, 'x', sizeof(big) - 1);
	run_start(
	    &r, state_dir,
	    (const char *const[]){ "sh", "-c", "echo ${#1} \"$2\" $#", "sh", big, "a  b\n", NULL });
	run_end(&r);
	assert_string_equal(r.text, "99999 a  b\n 2\n");
	th_computer_close(c);

	run_start(&r, state_dir, (const char *const[]){ "true", NULL });
	run_end(&r);
	assert_int_equal(WEXITSTATUS(r.status), 126);
	assert_non_null(strstr(r.text, "desktop is gone"));
}

/* Arguments, environment and folder of a command, up to a limit of ours: the kernel's is higher
 * where the stack may be large. */
static void edges_of_a_request(void **state)
{
	static char piece[100000];
	const char *argv[40] = { "sh", "-c", "echo $#", "sh" };
	struct rlimit old, large = { 64 * TH_MIB, 0 };
	struct th_computer *c = open_one(options());
	size_t size = strlen(workspace) + 1, n = 4;
	char *last;
	struct run r;

	(void)state;
	getrlimit(RLIMIT_STACK, &old);
	large.rlim_max = old.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_STACK, &large), 0);
	setenv("DISPLAY", ":4242", 1); /* as run_start sets them */
	setenv("GIVEN", "yes", 1);
	for (size_t i = 0; environ[i]; i++)
		size += strlen(environ[i]) + 1;
	for (size_t i = 0; i < n; i++)
		size += strlen(argv[i]) + 1;
	memset(piece, 'x', sizeof(piece) - 1);
	for (; size + 2 * sizeof(piece) < TH_DESKTOP_REQUEST_MAX; size += sizeof(piece))
		argv[n++] = piece;
	for (size_t more = 0; more < 2; more++) {
		size_t left = TH_DESKTOP_REQUEST_MAX - size - 1 + more, half = left / 2;

		last = th_alloc(left + 1);
		memset(last, 'y', left);
		last[half] = '\0'; /* its NUL is counted: two arguments of one allocation */
		argv[n] = last;
		argv[n + 1] = last + half + 1;
		argv[n + 2] = NULL;
		run_start(&r, state_dir, argv);
		run_end(&r);
		if (more)
			assert_string_equal(r.text, "thole: ask the desktop to start a program: "
						    "arguments and environment have more than "
						    "2097152 bytes\n");
		else
			assert_int_equal(atoi(r.text), n - 2);
		assert_int_equal(WEXITSTATUS(r.status), more ? 126 : 0);
		free(last);
	}
	unsetenv("GIVEN");
	unsetenv("DISPLAY");
	setrlimit(RLIMIT_STACK, &old);
	th_computer_close(c);
}

static void limits_and_signals_are_passed_on(void **state)
{
	struct th_computer *c = open_one(options());
	struct rlimit old, low = { 777, 777 };
	struct run r;
	char text[64];

	(void)state;
	getrlimit(RLIMIT_CPU, &old);
	low.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_CPU, &low);
	r = run_sh("ulimit -t");
	setrlimit(RLIMIT_CPU, &old);
	assert_string_equal(r.text, "777\n");

	/* A signal to the prefix. */
	run_start(
	    &r, state_dir,
	    (const char *const[]){
		"sh", "-c",
		"trap 'echo got; exit 3' TERM; echo on; while :; do sleep 0.05; done 2>/dev/null",
		NULL });
	assert_int_equal(read(r.out, text, sizeof(text)), 3);
	kill(r.pid, SIGTERM);
	run_end(&r);
	assert_int_equal(WEXITSTATUS(r.status), 3);
	assert_non_null(
	    strstr(r.text, "got\n")); /* the shell may also say that its sleep was terminated */

	/* The prefix killed: its command is killed. */
	run_start(&r, state_dir,
		  (const char *const[]){ "sh", "-c", "echo on; sleep 987.5; sleep 987.6", NULL });
	assert_int_equal(read(r.out, text, sizeof(text)), 3);
	kill(r.pid, SIGKILL);
	run_end(&r); /* ends because nobody holds the pipe any more */
	assert_true(WIFSIGNALED(r.status));
	th_computer_close(c);
}

static void run_reader(struct run *r)
{
	char text[8];

	run_start(r, state_dir, (const char *const[]){ "sh", "-c", "echo on; read x", NULL });
	assert_int_equal(read(r->out, text, sizeof(text)), 3);
}

/* All that its executor may have under way, and no more; who is told so comes in when one ends. */
static void as_many_as_there_are_jobs(void **state)
{
	static struct run r[TH_DESKTOP_JOBS_MAX];
	struct th_computer *c = open_one(options());

	(void)state;
	for (size_t i = 0; i < TH_COUNT(r); i++)
		run_reader(&r[i]);
	struct run more = run_sh("echo on > over");
	assert_true(WIFEXITED(more.status) && WEXITSTATUS(more.status) == 126);
	assert_string_equal(more.text,
			    "thole: sh: not started: 208 commands of this desktop are waited for, "
			    "its maximum; let one end, or start it with & and wait for none\n");
	run_end(&r[100]);
	says("test -e over || echo on", "on\n");
	run_reader(&r[100]);
	for (size_t i = 0; i < TH_COUNT(r); i++) {
		run_end(&r[i]);
		assert_int_equal(r[i].status, 1 << 8); /* of read: the end of its input */
	}
	th_computer_close(c);
}

static void what_is_left_running_runs_on(void **state)
{
	struct th_computer *c = open_one(options());
	char id[64];

	(void)state;
	if (th_desktop_level(c) != TH_SANDBOX_FULL) {
		th_computer_close(c);
		skip();
	}
	struct run r = run_sh("readlink /proc/self/ns/pid");
	snprintf(id, sizeof(id), "%.*s", (int)strcspn(r.text, "\n"), r.text);
	size_t before = in_namespace(id);
	assert_true(before >= 3); /* init, Xvfb, window manager */
	r = run_sh("setsid sleep 1000 >/dev/null 2>&1 & sleep 1000 >/dev/null 2>&1 & echo done");
	assert_string_equal(r.text, "done\n");
	poll(NULL, 0, 100);
	assert_int_equal(in_namespace(id), before + 2);
	th_computer_close(c);
	assert_int_equal(in_namespace(id), 0);
}

static void programs_draw_on_it(void **state)
{
	struct th_computer *c = open_one(options());
	struct th_settle_result s;
	struct th_frame_image f;
	struct run r;

	(void)state;
	r = run_sh("command -v xterm || command -v xeyes");
	if (WEXITSTATUS(r.status)) {
		th_computer_close(c);
		skip();
	}
	OK(c->kind->see(c, &(struct th_see_options){ 0 }, &f, &err));
	uint64_t before = f.frame_id;
	r.text[strcspn(r.text, "\n")] = '\0';
	char *path = strdup(r.text);
	run_start(&r, state_dir, (const char *const[]){ path, NULL });
	struct th_settle_options o = { .first_ms = 15000, .max_ms = 20000, .quiet_ms = 300 };
	OK(c->kind->settle(c, &o, &s, &err));
	assert_true(s.changed);
	assert_true(s.area.width > 50);
	OK(c->kind->see(c, &(struct th_see_options){ 0 }, &f, &err));
	assert_true(f.frame_id > before);
	/* It is in the middle, with a frame: a window manager placed it. */
	assert_true(s.area.x > 20 && s.area.y > 20);
	free(path);
	th_computer_close(c);
	run_end(&r);
	assert_int_equal(WEXITSTATUS(r.status), 126);
}

static void the_window_manager_comes_back(void **state)
{
	static const char find[] =
	    "for p in /proc/[0-9]*; do [ \"$(cat $p/comm 2>/dev/null)\" = openbox ] && "
	    "echo ${p#/proc/}; done; true";
	struct th_computer *c = open_one(options());
	char script[400];

	(void)state;
	if (th_desktop_level(c) != TH_SANDBOX_FULL) {
		th_computer_close(c);
		skip();
	}
	struct run first = run_sh(find), second = { 0 };
	assert_true(atoi(first.text) > 0);
	snprintf(script, sizeof(script), "kill -9 %d", atoi(first.text));
	run_sh(script);
	for (int i = 0; i < 100 && (second.text[0] == '\0' || strcmp(first.text, second.text) == 0);
	     i++) {
		poll(NULL, 0, 20);
		second = run_sh(find);
	}
	assert_true(atoi(second.text) > 0);
	assert_int_not_equal(atoi(first.text), atoi(second.text));
	th_computer_close(c);
}

static void desktops_do_not_meet(void **state)
{
	char other_dir[128];
	struct th_computer_options o = options();
	struct th_frame_image f;
	struct run r;

	(void)state;
	snprintf(other_dir, sizeof(other_dir), "%s/other", folder);
	assert_int_equal(mkdir(other_dir, 0700), 0);
	struct th_computer *a = open_one(o);
	o.state_dir = th_str_of(other_dir);
	o.size = (struct th_size){ 640, 480 };
	struct th_computer *b = open_one(o);
	says("echo mine > /tmp/secret; cat /tmp/secret", "mine\n");
	if (th_desktop_level(a) == TH_SANDBOX_FULL) {
		run_start(&r, other_dir,
			  (const char *const[]){ "sh", "-c", "ls /proc | grep -c '^[0-9]'; ls /tmp",
						 NULL });
		run_end(&r);
		assert_null(strstr(r.text, "secret"));
		assert_true(atoi(r.text) < 12);
	}
	OK(a->kind->see(a, &(struct th_see_options){ 0 }, &f, &err));
	assert_int_equal(f.size.width, 800);
	OK(b->kind->see(b, &(struct th_see_options){ 0 }, &f, &err));
	assert_int_equal(f.size.width, 640);
	th_computer_close(a);
	OK(b->kind->see(b, &(struct th_see_options){ 0 }, &f, &err));
	th_computer_close(b);
	assert_int_equal(count_entries(other_dir), 0);
	assert_int_equal(rmdir(other_dir), 0);
}

static void the_hosts_network_is_shown_when_granted(void **state)
{
	struct th_computer_options o = options();

	(void)state;
	o.net_host = true;
	struct th_computer *c = open_one(o);
	struct run r = run_sh("readlink /proc/self/ns/net");
	char mine[64];
	ssize_t len = readlink("/proc/self/ns/net", mine, sizeof(mine) - 1);
	mine[len > 0 ? len : 0] = '\0';
	r.text[strcspn(r.text, "\n")] = '\0';
	assert_string_equal(r.text, mine);
	/* No abstract socket of X appears there. */
	char display[32], text[128];
	snprintf(display, sizeof(display), "%s", c->kind->env(c)[0] + strlen("DISPLAY=:"));
	snprintf(text, sizeof(text), "grep -c '@/tmp/.X11-unix/X%s$' /proc/net/unix", display);
	says(text, "0\n");
	th_computer_close(c);
}

static void a_dead_xvfb_ends_the_desktop(void **state)
{
	struct th_computer *c = open_one(options());
	struct th_frame_image f;
	struct th_act_result a;
	char id[64];

	(void)state;
	if (th_desktop_level(c) != TH_SANDBOX_FULL) {
		th_computer_close(c);
		skip();
	}
	struct run r = run_sh("readlink /proc/self/ns/pid");
	snprintf(id, sizeof(id), "%.*s", (int)strcspn(r.text, "\n"), r.text);
	run_sh("sleep 1000 >/dev/null 2>&1 & for p in /proc/[0-9]*; do "
	       "[ \"$(cat $p/comm 2>/dev/null)\" = Xvfb ] && kill -9 ${p#/proc/}; done");
	int64_t start = now_ms();
	while (c->kind->see(c, &(struct th_see_options){ 0 }, &f, &err) == TH_OK &&
	       now_ms() - start < 1000)
		poll(NULL, 0, 1);
	assert_true(now_ms() - start < 500);
	assert_int_equal(c->kind->see(c, &(struct th_see_options){ 0 }, &f, &err), TH_ECONN);
	struct th_action click = {
		.kind = TH_ACTION_CLICK, .has_at = true, .at = { 1, 1 }, .count = 1
	};
	assert_int_equal(th_computer_act(c, &click, &a, &err), TH_ECONN);
	assert_true(gone(in_namespace, id)); /* all of it, also the sleeper */
	th_computer_close(c);
}

static void nonsense_is_refused(void **state)
{
	struct th_computer_options o = options();
	struct th_computer *c;
	char deep[200];
	size_t fds = count_fds();

	(void)state;
	o.size = (struct th_size){ 20000, 10 };
	assert_int_equal(th_computer_open(&o, &c, &err), TH_ELIMIT);
	o = options();
	o.workspace = TH_STR("/nowhere/at/all");
	assert_int_not_equal(th_computer_open(&o, &c, &err), TH_OK);
	assert_non_null(strstr(err.msg, "/nowhere/at/all"));
	o = options();
	o.workspace = TH_STR("relative");
	assert_int_equal(th_computer_open(&o, &c, &err), TH_EUSAGE);
	memset(deep, 'd', sizeof(deep));
	deep[0] = '/';
	o = options();
	o.state_dir = th_str_n(deep, sizeof(deep));
	assert_int_not_equal(th_computer_open(&o, &c, &err), TH_OK);
	int fd[2];
	assert_int_equal(pipe(fd), 0);
	assert_int_equal(write(fd[1], "x", 1), 1);
	o = options();
	o.interrupt_fd = fd[0];
	assert_int_equal(th_computer_open(&o, &c, &err), TH_ECANCELED);
	close(fd[0]);
	close(fd[1]);
	assert_int_equal(count_fds(), fds);
	assert_int_equal(count_entries(state_dir), 0);
}

/* ---- nothing is left ---- */

/* HOME=<base>/home */
static void base_of(struct th_computer *c, char *text, size_t size)
{
	snprintf(text, size, "%s", c->kind->env(c)[2] + strlen("HOME="));
	*strrchr(text, '/') = '\0';
}

/* Opens a desktop, leaves a program on it, says by what its processes can be known, and waits. */
static _Noreturn void own(bool plain, int out)
{
	struct th_computer_options o = options();
	struct th_computer *c;
	char id[128] = "";

	o.plain = plain;
	if (th_computer_open(&o, &c, &err)) {
		dprintf(out, "!%s", err.msg);
		_exit(1);
	}
	struct run r = run_sh("setsid sleep 1000 >/dev/null 2>&1 & sleep 1000 >/dev/null 2>&1 & "
			      "readlink /proc/self/ns/pid");
	if (plain)
		base_of(c, id, sizeof(id));
	else
		snprintf(id, sizeof(id), "%.*s", (int)strcspn(r.text, "\n"), r.text);
	dprintf(out, "%s %s", id, c->kind->env(c)[0]);
	for (;;)
		pause();
}

static void kill_owner(bool plain)
{
	char text[512], id[128], path[256], display[32];
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0)
		own(plain, fds[1]);
	close(fds[1]);
	ssize_t len = read(fds[0], text, sizeof(text) - 1);
	assert_true(len > 0);
	text[len] = '\0';
	if (text[0] == '!')
		fail_msg("%s", text);
	assert_int_equal(sscanf(text, "%127s DISPLAY=:%31s", id, display), 2);
	size_t (*count)(const char *) = plain ? around : in_namespace;
	assert_true(count(id) >= 4);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(fds[0]);
	if (!gone(count, id))
		fail_msg("%zu processes of %s live on", count(id), id);
	if (!plain)
		return;
	/* What the init removes itself: HOME's folder, the lock and the socket. */
	snprintf(path, sizeof(path), "/tmp/.X%s-lock", display);
	for (int64_t end = now_ms() + 3000; access(path, F_OK) == 0 && now_ms() < end;)
		poll(NULL, 0, 2);
	assert_int_equal(access(path, F_OK), -1);
	snprintf(path, sizeof(path), "/tmp/.X11-unix/X%s", display);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(access(id, F_OK), -1);
}

static void clear_state_dir(void)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/desktop.sock", state_dir);
	unlink(path); /* of a killed owner: its session's folder is somebody else's to remove */
	assert_int_equal(count_entries(state_dir), 0);
}

static bool namespaces_work(void)
{
	struct th_computer *c = open_one(options());
	bool works = th_desktop_level(c) == TH_SANDBOX_FULL;
	th_computer_close(c);
	return works;
}

static void nothing_is_left(void **state)
{
	struct th_buf before = TH_BUF_INIT(4 * TH_MIB), after = TH_BUF_INIT(4 * TH_MIB);
	char id[64];
	double sum = 0;

	(void)state;
	if (!namespaces_work())
		skip();
	size_t fds = count_fds();
	read_text("/proc/self/mounts", &before);
	for (int i = 0; i < cycles; i++) {
		if (i % 2) {
			kill_owner(false);
			continue;
		}
		int64_t start = th_x11_now_us();
		struct th_computer *c = open_one(options());
		sum += (double)(th_x11_now_us() - start) / 1000;
		struct run r =
		    run_sh("setsid sleep 1000 >/dev/null 2>&1 & readlink /proc/self/ns/pid");
		snprintf(id, sizeof(id), "%.*s", (int)strcspn(r.text, "\n"), r.text);
		assert_true(in_namespace(id) >= 4);
		th_computer_close(c);
		assert_int_equal(in_namespace(id), 0);
	}
	clear_state_dir();
	read_text("/proc/self/mounts", &after);
	assert_string_equal(before.ptr, after.ptr);
	assert_int_equal(count_fds(), fds);
	print_message("ready in %.0f ms on average\n", sum / ((cycles + 1) / 2));
	th_buf_deinit(&before);
	th_buf_deinit(&after);
}

static void nothing_is_left_without_namespaces(void **state)
{
	struct th_computer_options o = options();
	char base[128], display[32], path[64];
	size_t fds = count_fds();

	(void)state;
	o.plain = true;
	struct stat st;
	if (geteuid() == 0 && stat(workspace, &st) == 0 && !(st.st_mode & 0002)) {
		struct th_computer *c;
		assert_int_equal(th_computer_open(&o, &c, &err), TH_EUNSUPPORTED);
		assert_non_null(strstr(err.msg, "chown"));
	}
	chmod(workspace, 0777);
	for (int i = 0; i < (cycles + 4) / 5; i++) {
		if (i % 2) {
			kill_owner(true);
			continue;
		}
		struct th_computer *c = open_one(o);
		assert_true(th_desktop_level(c) < TH_SANDBOX_FULL);
		base_of(c, base, sizeof(base));
		snprintf(display, sizeof(display), "%s", c->kind->env(c)[0] + strlen("DISPLAY=:"));
		struct run r =
		    run_sh("setsid sleep 1000 >/dev/null 2>&1 & id -u; echo > $HOME/file");
		assert_int_not_equal(atoi(r.text), 0);
		assert_true(around(base) >= 4);
		th_computer_close(c);
		assert_int_equal(around(base), 0);
		snprintf(path, sizeof(path), "/tmp/.X%s-lock", display);
		assert_int_equal(access(path, F_OK), -1);
		assert_int_equal(access(base, F_OK), -1);
	}
	clear_state_dir();
	assert_int_equal(count_fds(), fds);
}

static int group_set_up(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/thole-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	chmod(folder, 0755);
	snprintf(state_dir, sizeof(state_dir), "%s/state", folder);
	snprintf(workspace, sizeof(workspace), "%s/work", folder);
	mkdir(state_dir, 0700);
	mkdir(workspace, 0755);
	ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	program[len > 0 ? len : 0] = '\0';
	/* Where root's workspace cannot be lent to the programs' user. */
	struct th_computer_options o = options();
	struct th_computer *c = NULL;
	if (th_computer_open(&o, &c, &err) == TH_EUNSUPPORTED ||
	    (c && th_desktop_level(c) != TH_SANDBOX_FULL))
		chmod(workspace, 0777);
	th_computer_close(c);
	if (getenv("TH_TORTURE"))
		cycles = 50;
	if (getenv("THOLE_CYCLES"))
		cycles = atoi(getenv("THOLE_CYCLES"));
	th_arena_init(&arena, 4 * TH_MIB);
	return 0;
}

static int group_tear_down(void **state)
{
	(void)state;
	th_arena_deinit(&arena);
	return th_dir_remove(folder, NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_desktop_is_there_and_can_be_seen),
		cmocka_unit_test(programs_run_inside),
		cmocka_unit_test(edges_of_a_request),
		cmocka_unit_test(limits_and_signals_are_passed_on),
		cmocka_unit_test(as_many_as_there_are_jobs),
		cmocka_unit_test(what_is_left_running_runs_on),
		cmocka_unit_test(programs_draw_on_it),
		cmocka_unit_test(the_window_manager_comes_back),
		cmocka_unit_test(desktops_do_not_meet),
		cmocka_unit_test(the_hosts_network_is_shown_when_granted),
		cmocka_unit_test(a_dead_xvfb_ends_the_desktop),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(nothing_is_left),
		cmocka_unit_test(nothing_is_left_without_namespaces),
	};
	int status;

	if (th_desktop_role(argc, argv, &status))
		return status;
	return cmocka_run_group_tests(tests, group_set_up, group_tear_down);
}
