/* SPDX-License-Identifier: Apache-2.0 */
/* demo_crash_place.c - what the run that is killed is given: a script, a folder and a screen. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/demo_crash_parts.h"
#include "io/clock.h"
#include "io/files.h"

#define NOBODY 65534
#define SCREEN_MS 5000 /* for Xvfb to say its number */
#define SCREEN_TRIES 3

const char *th_crash_demo_path(struct th_crash_demo *c, const char *name)
{
	struct th_str path = th_arena_printf(&c->a, "%s/%s", c->folder, name);

	assert(path.ptr);
	return path.ptr;
}

/* ---- the script ---- */

enum th_ledger_kind th_crash_demo_kind(const struct th_crash_demo *c, size_t n)
{
	switch (n % 5) {
	case 1:
		return c->no_clicks[0] ? TH_LEDGER_SHELL : TH_LEDGER_CLICK;
	case 2:
	case 4:
		return TH_LEDGER_FILE;
	default:
		return TH_LEDGER_SHELL;
	}
}

static void put_call(const struct th_crash_demo *c, size_t n, struct th_demo_turn *t)
{
	char *tool = t->calls[t->call_count].tool, *arguments = t->calls[t->call_count].arguments;
	size_t tool_size = sizeof(t->calls[0].tool), size = sizeof(t->calls[0].arguments);
	const char *name = "shell";
	int x, y;

	switch (th_crash_demo_kind(c, n)) {
	case TH_LEDGER_SHELL:
	case TH_LEDGER_KINDS:
		(void)snprintf(arguments, size,
			       "{\"command\":\"sleep 0.05; echo %zu > " TH_LEDGER_FIFO
			       "; sleep 0.05; echo said %zu\"}",
			       n, n);
		break;
	case TH_LEDGER_FILE:
		name = "write_file";
		(void)snprintf(arguments, size,
			       "{\"path\":\"" TH_LEDGER_FILE_NAME
			       "%zu\",\"content\":\"effect %zu\\n\"}",
			       n, n);
		break;
	case TH_LEDGER_CLICK:
		name = "computer";
		th_demo_ledger_point((unsigned)n, &x, &y);
		(void)snprintf(arguments, size,
			       "{\"actions\":[{\"type\":\"click\",\"x\":%d,\"y\":%d}]}", x, y);
		break;
	}
	(void)snprintf(tool, tool_size, "%s", name);
	t->call_count++;
}

static void script(void *ctx, size_t results, struct th_demo_turn *t)
{
	struct th_crash_demo *c = ctx;
	unsigned longest = atomic_load(&c->history);

	if (results < longest)
		atomic_fetch_add(&c->backwards, 1);
	else
		atomic_store(&c->history, (unsigned)results);
	if (th_clock_ms() >= atomic_load(&c->deadline_ms) || results + 2 > TH_LEDGER_IDS_MAX) {
		(void)snprintf(t->text, sizeof(t->text), "That is all: %zu effects.", results);
		return;
	}
	put_call(c, results, t);
	if (results % 5 == 3)
		put_call(c, results + 1, t);
}

/* ---- the place ---- */

static enum th_code make_folder(struct th_crash_demo *c, struct th_err *err)
{
	char made[] = "/tmp/thole-crash-XXXXXX";
	struct th_str wanted = c->o->folder;
	char *name = wanted.len ? th_arena_cstr(&c->a, wanted) : mkdtemp(made);
	enum th_code code = TH_OK;

	if (!name)
		return th_fail_errno(err, errno, "cannot make a folder in /tmp");
	if (wanted.len)
		code = th_dir_make(name, 0755, err);
	if (code == TH_OK && !realpath(name, c->folder))
		code = th_fail_errno(err, errno, "%s", name);
	for (const char *const *sub =
		 (const char *const[]){ "state", "runtime", "config", "config/thole", NULL };
	     *sub && code == TH_OK; sub++)
		code = th_dir_make(th_crash_demo_path(c, *sub), 0700, err);
	if (code == TH_OK && mkdir(th_crash_demo_path(c, "work"), 0755) != 0)
		code = th_fail_errno(err, errno, "%s", th_crash_demo_path(c, "work"));
	/* Root's commands run as nobody, who must get there. */
	if (code == TH_OK && geteuid() == 0 &&
	    (chmod(c->folder, 0755) != 0 ||
	     chown(th_crash_demo_path(c, "work"), NOBODY, NOBODY) != 0))
		code = th_fail_errno(err, errno, "%s", th_crash_demo_path(c, "work"));
	return code;
}

/* Nothing of the user's has a part in it, and nothing of it is left for long. */
static enum th_code set_up_environment(struct th_crash_demo *c, struct th_err *err)
{
	static const char *const dropped[] = { "OPENAI_BASE_URL", "THOLE_MODEL", "THOLE_STORE",
					       "DISPLAY",         "XAUTHORITY",  NULL };

	for (size_t i = 0; dropped[i]; i++)
		unsetenv(dropped[i]);
	setenv("XDG_CONFIG_HOME", th_crash_demo_path(c, "config"), 1);
	setenv("XDG_STATE_HOME", th_crash_demo_path(c, "state"), 1);
	setenv("XDG_RUNTIME_DIR", th_crash_demo_path(c, "runtime"), 1);
	setenv("OPENAI_API_KEY", "scripted", 1);
	setenv("no_proxy", "127.0.0.1", 1);
	setenv("NO_PROXY", "127.0.0.1", 1);
	return th_file_write(th_crash_demo_path(c, "config/thole/config.yaml"),
			     TH_STR("executor_linger_s: 30\n"), 0600, err);
}

static const char *find_xvfb(struct th_crash_demo *c)
{
	struct th_str path = th_str_of(getenv("PATH") ?: "/usr/bin:/bin");

	while (path.len) {
		struct th_str dir = th_str_split(&path, ':');
		struct th_str file = th_arena_printf(&c->a, "%.*s/Xvfb", TH_FMT(dir));

		if (dir.len && file.ptr && access(file.ptr, X_OK) == 0)
			return file.ptr;
	}
	return NULL;
}

/* The cookie gives access to the screen; one entry for every host and number. */
static enum th_code write_cookie(struct th_crash_demo *c, struct th_err *err)
{
	static const char name[] = "MIT-MAGIC-COOKIE-1";
	const char head[] = { (char)0xff, (char)0xff, 0, 0, 0, 0, 0, (char)(sizeof(name) - 1) };
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	const char *path = th_crash_demo_path(c, "cookie");
	char cookie[16];
	enum th_code code;

	th_random(cookie, sizeof(cookie));
	th_buf_add_mem(&text, head, sizeof(head));
	th_buf_add_cstr(&text, name);
	th_buf_add_mem(&text, "\0\20", 2);
	th_buf_add_mem(&text, cookie, sizeof(cookie));
	code = th_file_write(path, th_buf_str(&text), 0600, err);
	if (code == TH_OK && geteuid() == 0 && chown(path, NOBODY, NOBODY) != 0)
		code = th_fail_errno(err, errno, "%s", path);
	setenv("XAUTHORITY", path, 1);
	return code;
}

/* It says its number when it is ready. */
static enum th_code try_screen(struct th_crash_demo *c, const char *xvfb, struct th_err *err)
{
	const char *const argv[] = {
		"Xvfb",       c->display,  "-auth",   th_crash_demo_path(c, "cookie"),
		"-displayfd", "3",         "-screen", "0",
		"640x480x24", "-nolisten", "tcp",     NULL
	};
	struct th_crash_spec spec = { .program = xvfb, .argv = argv, .as_fd = 3 };
	struct pollfd p = { .events = POLLIN };
	enum th_code code;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) != 0)
		return th_fail_errno(err, errno, "pipe");
	spec.pass_fd = fds[1];
	code = th_crash_start(&spec, &c->screen, err);
	close(fds[1]);
	p.fd = fds[0];
	/* To the end of the line: it would die of a pipe that nobody reads. */
	for (char last = 0; !code && last != '\n';)
		if (poll(&p, 1, SCREEN_MS) != 1 || read(fds[0], &last, 1) != 1)
			code = th_fail(err, TH_EIO, "Xvfb does not start here");
	close(fds[0]);
	if (code)
		th_crash_kill(&c->screen);
	return code;
}

/* A screen of our own: neither runtime nor executor can take it with them.  The low numbers are
 * everybody's, so it has one of the high ones. */
static enum th_code open_screen(struct th_crash_demo *c, struct th_err *err)
{
	const char *xvfb = find_xvfb(c);
	enum th_code code = TH_EIO;
	uint32_t number;

	if (!xvfb)
		return th_fail(err, TH_EUNSUPPORTED, "there is no Xvfb here (package xvfb)");
	if (write_cookie(c, err) != TH_OK)
		return err->code;
	for (int i = 0; i < SCREEN_TRIES && code; i++) {
		th_random(&number, sizeof(number));
		(void)snprintf(c->display, sizeof(c->display), ":%u", 1000 + number % 30000);
		code = try_screen(c, xvfb, err);
	}
	if (code)
		c->display[0] = '\0';
	return code;
}

static enum th_code write_agent(struct th_crash_demo *c, struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(16 * TH_KIB);

	th_buf_printf(&text,
		      "name: crash-test\nmodel: " TH_DEMO_MODEL
		      "\nbase_url: http://127.0.0.1:%d/v1\nworkspace: work\n"
		      "limits: {turns: %d, model_attempts: 20}\n",
		      th_demo_model_port(c->model), TH_LEDGER_IDS_MAX);
	if (!c->no_clicks[0])
		th_buf_printf(&text, "computer: {kind: x11, display: \"%s\"}\n", c->display);
	return th_file_write(th_crash_demo_path(c, "agent.yaml"), th_buf_str(&text), 0600, err);
}

enum th_code th_crash_demo_begin(struct th_crash_demo *c, struct th_err *err)
{
	struct th_err why;
	enum th_code code = make_folder(c, err);

	if (code == TH_OK)
		code = set_up_environment(c, err);
	if (code == TH_OK && open_screen(c, &why) != TH_OK)
		memcpy(c->no_clicks, why.msg, sizeof(c->no_clicks));
	if (code == TH_OK)
		code = th_demo_ledger_start(th_crash_demo_path(c, "work"), c->display, &c->ledger,
					    err);
	if (code == TH_OK)
		code = th_demo_model_start(script, c, &c->model, err);
	if (code == TH_OK)
		code = write_agent(c, err);
	c->store_url = th_arena_printf(&c->a, "sqlite:%s/log.db", c->folder);
	c->trace = !c->o->no_trace && th_crash_can_trace();
	return code;
}
