/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.c - finds Chromium, starts it confined, ends it: see browser.h.
 *
 * It runs in a sandbox: it sees the system's folders and its own profile, has the
 * network that the session has, and ends with us and all its processes.  Files of
 * the workspace are handed to it one by one (files.c).  With a window it is a
 * command of a desktop, and has that one's sandbox.  Its own sandbox is kept where
 * namespaces can be made inside of ours; else ours alone holds it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "browser/browser.h"
#include "desktop/desktop.h"
#include "io/child.h"
#include "io/files.h"
#include "io/loop.h"
#include "io/net_space.h"
#include "io/sandbox.h"

#define ARGS_MAX 48

/* The program itself before the scripts that distributions put around it: these read files of the
 * user's and start others. */
static const char *const programs[] = {
	"/usr/lib/chromium/chromium",                   /* Debian, Arch, Alpine */
	"/usr/lib64/chromium-browser/chromium-browser", /* Fedora */
	"/usr/lib/chromium-browser/chromium-browser",
	"/opt/google/chrome/chrome",
	"/usr/bin/chromium",
	"/usr/bin/chromium-browser",
	"/usr/bin/google-chrome-stable",
	"/run/current-system/sw/bin/chromium",
};

static const char *const flags[] = {
	"--remote-debugging-pipe=cbor",
	"--disable-gpu",
	"--disable-background-networking",
	"--disable-background-timer-throttling",
	"--disable-backgrounding-occluded-windows",
	"--disable-renderer-backgrounding",
	"--disable-breakpad",
	"--disable-client-side-phishing-detection",
	"--disable-component-update",
	"--disable-default-apps",
	"--disable-domain-reliability",
	"--disable-extensions",
	"--disable-smooth-scrolling",
	"--disable-sync",
	"--metrics-recording-only",
	"--no-default-browser-check",
	"--no-first-run",
	"--no-pings",
	"--password-store=basic",
	"--use-mock-keychain",
	"--mute-audio",
	"--lang=en-US",
};

static const char *const flags_alone[] = { "--headless", "--hide-scrollbars" };
static const char *const flags_window[] = { "--ozone-platform=x11", "--window-position=0,0",
					    "--start-maximized", "--hide-crash-restore-bubble",
					    "--force-renderer-accessibility" };

bool th_browser_installed(void)
{
	for (size_t i = 0; i < TH_COUNT(programs); i++)
		if (access(programs[i], X_OK) == 0)
			return true;
	return false;
}

static enum th_code find_program(struct th_browser *b, const char **ret, struct th_err *err)
{
	if (b->own.program.len > 0) {
		*ret = th_arena_cstr(&b->arena, b->own.program);
		if (*ret && (*ret)[0] == '/' && access(*ret, X_OK) == 0)
			return TH_OK;
		return th_fail(err, TH_EUSAGE, "program: %.*s is not the path of a program",
			       TH_FMT(th_str_sub(b->own.program, 0, 200)));
	}
	for (size_t i = 0; i < TH_COUNT(programs); i++)
		if (access(programs[i], X_OK) == 0) {
			*ret = programs[i];
			return TH_OK;
		}
	return th_fail(
	    err, TH_EUNSUPPORTED,
	    "Chromium is not installed (Debian, Fedora, Arch, Alpine: package chromium); "
	    "one in another place is named by the option program");
}

/* ---- its sandbox ---- */

enum th_code th_browser_profile(struct th_arena *a, const struct th_computer_options *o, char **ret,
				struct th_err *err)
{
	static const char base[] = "/tmp/thole-browser-XXXXXX";
	uint32_t uid = o->uid ?: TH_BROWSER_NOBODY;
	char *path;

	if (o->state_dir.len > 0) {
		path = (char *)(uintptr_t)th_arena_cstr(
		    a, th_arena_printf(a, "%.*s/" TH_COMPUTER_STAYS, TH_FMT(o->state_dir)));
		if (!path || (mkdir(path, 0700) && errno != EEXIST))
			return th_fail_errno(err, errno, "make the browser's folder");
	} else {
		path = th_arena_cstr(a, th_str_of(base));
		if (!path || !mkdtemp(path))
			return th_fail_errno(err, errno, "make a folder in /tmp");
	}
	*ret = path;
	if (geteuid() == 0 && chown(path, uid, o->gid ?: uid))
		return th_fail_errno(err, errno, "%s", path);
	return TH_OK;
}

/* A browser that was killed has left its locks there. */
static enum th_code make_profile(struct th_browser *b, const struct th_computer_options *o,
				 struct th_err *err)
{
	static const char *const locks[] = { "SingletonLock", "SingletonSocket",
					     "SingletonCookie" };
	char *path = NULL;
	enum th_code code = th_browser_profile(&b->arena, o, &path, err);

	b->profile = path;
	b->own_profile = path && o->state_dir.len == 0;
	if (code)
		return code;
	b->profile_fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (b->profile_fd < 0)
		return th_fail_errno(err, errno, "open the browser's folder");
	for (size_t i = 0; i < TH_COUNT(locks); i++)
		unlinkat(b->profile_fd, locks[i], 0);
	return TH_OK;
}

static enum th_code make_plan(struct th_browser *b, const struct th_computer_options *o,
			      struct th_err *err)
{
	const char *const writable[] = { b->profile, NULL };
	const char *const readable[] = { "/opt/google", "/etc/chromium", NULL };
	struct th_sandbox s = {
		.level_min = TH_SANDBOX_FULL,
		.level_max = TH_SANDBOX_FULL,
		.writable = writable,
		.readable = access(readable[0], F_OK) ? NULL : readable,
		.net = o->net_host    ? TH_SANDBOX_NET_HOST
		       : o->net_space ? TH_SANDBOX_NET_SPACE
				      : TH_SANDBOX_NET_NONE,
		.net_fd = o->net_fd,
		.user_fd = o->user_fd,
		.gui = true,
		.uid = geteuid() == 0 ? b->uid : 0,
		.gid = geteuid() == 0 ? b->gid : 0,
	};

	enum th_code code = o->plain ? TH_EUNSUPPORTED : th_sandbox_plan_new(&s, &b->plan, err);
	if (code != TH_EUNSUPPORTED || o->net_space)
		return code;
	s.level_min = TH_SANDBOX_OFF;
	s.level_max = TH_SANDBOX_KERNEL;
	s.tmp = "/tmp";
	return th_sandbox_plan_new(&s, &b->plan, err);
}

/* ---- starting ---- */

static size_t add_all(const char **argv, size_t n, const char *const *more, size_t count)
{
	memcpy(argv + n, more, count * sizeof(*argv));
	return n + count;
}

/* In its own child, inside of its own sandbox. */
static enum th_code start_child(struct th_browser *b, const char *const *argv, int in, int out,
				struct th_err *err)
{
	char home[TH_PATH_LEN_MAX + 8];
	const char *more[] = { home, NULL };
	struct th_child_fd fds[] = { { in, 3 }, { out, 4 } };

	snprintf(home, sizeof(home), "HOME=%s", b->profile);
	struct th_child_spec spec = {
		.argv = argv,
		.env = th_child_env(&b->arena, NULL, NULL, more),
		.cwd = "/",
		.fds = fds,
		.fd_count = TH_COUNT(fds),
		.sandbox = b->plan,
		.tree = true,
	};
	return th_child_start(b->loop, &spec, &b->child, err);
}

/* As any other command of a desktop, which has descriptors 0 to 2: a shell moves two of them to
 * where a browser wants its pipe. */
static enum th_code start_in_window(struct th_browser *b, const char *const *argv, int in, int out,
				    struct th_err *err)
{
	const char *words[ARGS_MAX + 4] = { "/bin/sh", "-c",
					    "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null", "sh" };
	const char *const *env = th_child_env(&b->arena, NULL, NULL, NULL);
	TH_CLEANUP(th_fd_close) int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null_fd < 0)
		return th_fail_errno(err, errno, "open /dev/null");
	if (!env)
		return th_fail(err, TH_ELIMIT, "the environment is too long");
	memcpy(words + 4, argv, ARGS_MAX * sizeof(*argv));
	const struct th_desktop_command command = {
		.argv = words, .env = env, .cwd = "/", .fds = { in, out, null_fd }
	};
	return th_desktop_start(th_str_of(b->state_dir), &command, &b->conn, err);
}

static enum th_code launch(struct th_browser *b, const char *program, bool contained,
			   struct th_err *err)
{
	const char *argv[ARGS_MAX] = { program };
	char profile[TH_PATH_LEN_MAX + 32], window[64];
	int to[2] = { -1, -1 }, from[2] = { -1, -1 };
	size_t n = 1;

	_Static_assert(TH_COUNT(flags) + TH_COUNT(flags_window) + 7 < ARGS_MAX,
		       "room for those below");
	n = add_all(argv, n, flags, TH_COUNT(flags));
	n = b->screen ? add_all(argv, n, flags_window, TH_COUNT(flags_window))
		      : add_all(argv, n, flags_alone, TH_COUNT(flags_alone));
	snprintf(profile, sizeof(profile), "--user-data-dir=%s", b->profile);
	snprintf(window, sizeof(window), "--window-size=%d,%d", b->size.width, b->size.height);
	argv[n++] = profile;
	argv[n++] = window;
	if (!contained)
		argv[n++] = "--no-sandbox";
	if (b->proxied)
		argv[n++] = "--proxy-server=" TH_NET_SPACE_PROXY;
	argv[n++] = "about:blank";
	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		return th_fail_errno(err, errno, "make a pipe");
	enum th_code code = b->screen ? start_in_window(b, argv, to[0], from[1], err)
				      : start_child(b, argv, to[0], from[1], err);
	close(to[0]);
	close(from[1]);
	b->out_fd = to[1];
	b->in_fd = from[0];
	if (!code)
		code = th_fd_nonblock(b->in_fd, err);
	return code ?: th_fd_nonblock(b->out_fd, err);
}

static void stop(struct th_browser *b)
{
	b->child = th_child_free(b->child);
	th_fd_close(&b->conn);
	th_fd_close(&b->in_fd);
	th_fd_close(&b->out_fd);
	th_cdp_in_deinit(&b->in);
	th_cdp_in_init(&b->in);
}

static enum th_code greet(struct th_browser *b, struct th_err *err)
{
	th_browser_begin(b, "", "Browser.getVersion");
	b->call_ms = TH_BROWSER_START_MS;
	return th_browser_call(b, NULL, err);
}

enum th_code th_browser_start(struct th_browser *b, const struct th_computer_options *o,
			      struct th_err *err)
{
	const char *program = NULL;
	enum th_code code;

	if ((code = find_program(b, &program, err)) || (code = make_profile(b, o, err)) ||
	    (!b->screen && ((code = make_plan(b, o, err)) || (code = th_loop_new(&b->loop, err)))))
		return code;
	b->proxied = o->net_space;
	b->contained = true;
	code = launch(b, program, true, err) ?: greet(b, err);
	if (code != TH_ECONN)
		return code;
	/* It could not make its own sandbox inside ours, and ended. */
	stop(b);
	b->contained = false;
	code = launch(b, program, false, err) ?: greet(b, err);
	return code == TH_ECONN
		   ? th_fail(err, TH_EIO, "%s ended before it was ready (sandbox: %s)", program,
			     b->screen ? "the desktop's"
				       : th_sandbox_level_name(th_sandbox_plan_level(b->plan)))
		   : code;
}

/* Asks it to close first, so that it writes its files; then kills it. */
void th_browser_end(struct th_browser *b)
{
	int64_t until = th_browser_now_us() + TH_BROWSER_END_MS * INT64_C(1000);
	struct th_err ignored;
	enum th_code code = TH_ECONN;

	b->interrupt_fd = -1;
	if (b->out_fd >= 0) {
		th_browser_begin(b, "", "Browser.close");
		code = th_browser_post(b, &ignored);
	}
	while (!code)
		code = th_browser_pump(b, until, &ignored);
	stop(b);
	b->plan = th_sandbox_plan_free(b->plan);
	b->loop = th_loop_free(b->loop);
	th_fd_close(&b->profile_fd);
	if (b->own_profile && b->profile)
		(void)!th_dir_remove(b->profile, &ignored);
}
