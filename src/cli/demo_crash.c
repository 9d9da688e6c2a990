/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demo_crash.c - thole demo crash: a whole run that is killed again and again,
 * and resumed; then the log is held against what really happened.
 *
 * This process plays the model, keeps the ledger and the screen, and kills. The
 * processes that are killed are `thole run` and `thole resume`, as anybody starts
 * them, and their executor.
 */
#include "cli/demo_crash.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "admin/verify.h"
#include "base/limits.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/demo_ledger.h"
#include "cli/demo_model.h"
#include "exec_client/client.h"
#include "io/clock.h"
#include "io/crash.h"
#include "io/detach.h"
#include "io/files.h"
#include "runtime/runtime.h"
#include "stores/stores.h"

#define NOBODY 65534
#define SCREEN_MS 5000 /* for Xvfb to say its number */
#define SCREEN_TRIES 3
#define LAST_MS 60000     /* for the last life, which nobody kills */
#define LIVES_MAX 10000   /* a run that never ends is an error */
#define STOPS_SHORT 1200  /* half of the lives end before that many stops, */
#define STOPS_LONG 3500   /* the others before that many */
#define MOMENT_MS_MAX 900 /* without tracing */

/* What the log says of one effect. */
struct said {
	bool called, settled;
	bool failed; /* of a command: another exit code than 0 */
	enum th_ledger_kind kind;
	enum th_outcome_status status;
};

struct crash {
	const struct th_crash_options *o;
	char folder[TH_PATH_LEN_MAX], session[32], display[16];
	struct th_arena a;
	struct th_demo_model *model;
	struct th_demo_ledger *ledger;
	struct th_crash screen;
	struct th_store *store;
	struct th_str store_url;
	bool trace, kill_executor;
	char no_clicks[TH_ERR_MSG_MAX]; /* why there are none; empty: there are */
	uint64_t random, began_ms, elapsed_ms;
	atomic_ullong deadline_ms;
	atomic_uint history, backwards; /* the longest history seen; shorter ones later */
	unsigned lives, runtime_kills, executor_kills;
	uint64_t stops;
	struct said said[TH_LEDGER_IDS_MAX];
	unsigned calls, happened, duplicated, lost, diverged, unknown, unknown_happened, failed,
	    false_claims;
	char broken[TH_ERR_MSG_MAX]; /* what else is wrong */
};

static volatile sig_atomic_t interrupted;

static void on_signal(int signum)
{
	interrupted = signum;
}

static uint64_t draw(struct crash *c, uint64_t below)
{
	c->random ^= c->random << 13;
	c->random ^= c->random >> 7;
	c->random ^= c->random << 17;
	return (c->random >> 11) % below;
}

static const char *path_in(struct crash *c, const char *name)
{
	struct th_str path = th_arena_printf(&c->a, "%s/%s", c->folder, name);

	assert(path.ptr);
	return path.ptr;
}

/* ---- the script ---- */

/* Effect n is always of the same kind; the fourth and fifth of five are one answer's. */
static enum th_ledger_kind kind_of(const struct crash *c, size_t n)
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

static void put_call(const struct crash *c, size_t n, struct th_demo_turn *t)
{
	char *tool = t->calls[t->call_count].tool, *arguments = t->calls[t->call_count].arguments;
	size_t tool_size = sizeof(t->calls[0].tool), size = sizeof(t->calls[0].arguments);
	const char *name = "shell";
	int x, y;

	switch (kind_of(c, n)) {
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
	struct crash *c = ctx;
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

static enum th_code make_folder(struct crash *c, struct th_err *err)
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
		code = th_dir_make(path_in(c, *sub), 0700, err);
	if (code == TH_OK && mkdir(path_in(c, "work"), 0755) != 0)
		code = th_fail_errno(err, errno, "%s", path_in(c, "work"));
	/* Root's commands run as nobody, who must get there. */
	if (code == TH_OK && geteuid() == 0 &&
	    (chmod(c->folder, 0755) != 0 || chown(path_in(c, "work"), NOBODY, NOBODY) != 0))
		code = th_fail_errno(err, errno, "%s", path_in(c, "work"));
	return code;
}

/* Nothing of the user's has a part in it, and nothing of it is left for long. */
static enum th_code set_up_environment(struct crash *c, struct th_err *err)
{
	static const char *const dropped[] = { "OPENAI_BASE_URL", "THOLE_MODEL", "THOLE_STORE",
					       "DISPLAY",         "XAUTHORITY",  NULL };

	for (size_t i = 0; dropped[i]; i++)
		unsetenv(dropped[i]);
	setenv("XDG_CONFIG_HOME", path_in(c, "config"), 1);
	setenv("XDG_STATE_HOME", path_in(c, "state"), 1);
	setenv("XDG_RUNTIME_DIR", path_in(c, "runtime"), 1);
	setenv("OPENAI_API_KEY", "scripted", 1);
	setenv("no_proxy", "127.0.0.1", 1);
	setenv("NO_PROXY", "127.0.0.1", 1);
	return th_file_write(path_in(c, "config/thole/config.yaml"),
			     TH_STR("executor_linger_s: 30\n"), 0600, err);
}

static const char *find_xvfb(struct crash *c)
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
static enum th_code write_cookie(struct crash *c, struct th_err *err)
{
	static const char name[] = "MIT-MAGIC-COOKIE-1";
	const char head[] = { (char)0xff, (char)0xff, 0, 0, 0, 0, 0, (char)(sizeof(name) - 1) };
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	const char *path = path_in(c, "cookie");
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
static enum th_code try_screen(struct crash *c, const char *xvfb, struct th_err *err)
{
	const char *const argv[] = { "Xvfb",       c->display,  "-auth",   path_in(c, "cookie"),
				     "-displayfd", "3",         "-screen", "0",
				     "640x480x24", "-nolisten", "tcp",     NULL };
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
static enum th_code open_screen(struct crash *c, struct th_err *err)
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

static enum th_code write_agent(struct crash *c, struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(16 * TH_KIB);

	th_buf_printf(&text,
		      "name: crash-test\nmodel: " TH_DEMO_MODEL
		      "\nbase_url: http://127.0.0.1:%d/v1\nworkspace: work\n"
		      "limits: {turns: %d, model_attempts: 20}\n",
		      th_demo_model_port(c->model), TH_LEDGER_IDS_MAX);
	if (!c->no_clicks[0])
		th_buf_printf(&text, "computer: {kind: x11, display: \"%s\"}\n", c->display);
	return th_file_write(path_in(c, "agent.yaml"), th_buf_str(&text), 0600, err);
}

static enum th_code set_up(struct crash *c, struct th_err *err)
{
	struct th_err why;
	enum th_code code = make_folder(c, err);

	if (code == TH_OK)
		code = set_up_environment(c, err);
	if (code == TH_OK && open_screen(c, &why) != TH_OK)
		memcpy(c->no_clicks, why.msg, sizeof(c->no_clicks));
	if (code == TH_OK)
		code = th_demo_ledger_start(path_in(c, "work"), c->display, &c->ledger, err);
	if (code == TH_OK)
		code = th_demo_model_start(script, c, &c->model, err);
	if (code == TH_OK)
		code = write_agent(c, err);
	c->store_url = th_arena_printf(&c->a, "sqlite:%s/log.db", c->folder);
	c->trace = !c->o->no_trace && th_crash_can_trace();
	return code;
}

/* ---- lives ---- */

static bool is_our_executor(const struct crash *c, const char *pid)
{
	char path[64], line[256];
	struct th_str rest;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, line, sizeof(line));
	close(fd);
	rest = th_str_n(line, n > 0 ? (size_t)n : 0);
	th_str_split(&rest, '\0');
	return th_str_is(th_str_split(&rest, '\0'), "exec") &&
	       th_str_is(th_str_split(&rest, '\0'), "--session") &&
	       th_str_is(th_str_split(&rest, '\0'), c->session);
}

/* By its number, found by our session's own random name. */
static void kill_executor(void *ctx)
{
	struct crash *c = ctx;
	DIR *dir = c->kill_executor ? opendir("/proc") : NULL;
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		int64_t pid;

		if (!th_str_i64(th_str_of(e->d_name), &pid) || !is_our_executor(c, e->d_name))
			continue;
		if (kill((pid_t)pid, SIGKILL) == 0)
			c->executor_kills++;
	}
	if (dir)
		closedir(dir);
}

/* The session's state, or LOADING when it is not in the log yet. */
static enum th_state state_now(struct crash *c)
{
	struct th_store_options so = { .read_only = true };
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_session_row row;
	struct th_err err;
	int state;

	th_arena_init(&a, TH_MIB);
	if (!c->store && th_store_open(c->store_url, &so, &c->store, &err) != TH_OK)
		return TH_STATE_LOADING;
	if (c->store->kind->get(c->store, th_str_of(c->session), &a, &row, &err) != TH_OK)
		return TH_STATE_LOADING;
	state = th_state_find(row.state);
	return state < 0 ? TH_STATE_LOADING : (enum th_state)state;
}

static enum th_code live(struct crash *c, bool last, struct th_crash_end *end, struct th_err *err)
{
	static const char task[] = "Have all the effects that the script wants.";
	char self[TH_PATH_LEN_MAX];
	enum th_state state = state_now(c);
	bool fresh = state == TH_STATE_LOADING || state == TH_STATE_IDLE;
	const char *argv[] = { "thole",
			       fresh ? "run" : "resume",
			       "--quiet",
			       "--store",
			       c->store_url.ptr,
			       NULL,
			       NULL,
			       NULL,
			       NULL,
			       NULL,
			       NULL };
	size_t n = 5;
	struct th_crash_spec spec = { .argv = argv, .trace = c->trace && !last };
	struct th_crash_limits limits = { .before_kill = kill_executor, .ctx = c };
	struct th_crash child = { 0 };
	enum th_code code;

	if (fresh && state == TH_STATE_LOADING) {
		argv[n++] = "-a";
		argv[n++] = path_in(c, "agent.yaml");
	}
	if (fresh)
		argv[n++] = "-s";
	argv[n++] = c->session;
	if (fresh)
		argv[n++] = task;
	spec.program = th_program_self(self);
	c->kill_executor = !last && draw(c, 3) == 0;
	/* Of a runtime each step counts; of an executor the time in which an effect is under way.
	 */
	if (last)
		limits.ms = LAST_MS;
	else if (spec.trace && !c->kill_executor)
		limits.stops = 1 + draw(c, draw(c, 2) ? STOPS_SHORT : STOPS_LONG);
	else
		limits.ms = 1 + draw(c, MOMENT_MS_MAX);
	code = th_crash_start(&spec, &child, err);
	if (code == TH_OK)
		code = th_crash_run(&child, &limits, end, err);
	th_crash_kill(&child);
	c->lives++;
	c->stops += end->stops;
	c->runtime_kills += end->killed;
	return code;
}

static enum th_code live_on(struct crash *c, struct th_err *err)
{
	struct th_crash_end end = { 0 };
	enum th_code code = TH_OK;

	while (code == TH_OK && !interrupted) {
		bool last = th_clock_ms() >= atomic_load(&c->deadline_ms);
		enum th_state state;

		code = live(c, last, &end, err);
		state = code == TH_OK ? state_now(c) : TH_STATE_LOADING;
		if (code != TH_OK || state == TH_STATE_FINISHED || interrupted)
			break;
		if (last || c->lives >= LIVES_MAX || (!end.killed && end.exit_code != 0))
			code = th_fail(err, TH_EIO,
				       "the run did not come to its end: it is %s, exit code %d",
				       th_state_name(state), end.exit_code);
	}
	if (interrupted)
		return th_fail(err, TH_ECANCELED, "interrupted");
	return code;
}

/* ---- the log against the ledger ---- */

/* The number of an effect, by what its call asks for. */
static bool number_of(struct th_str call_id, size_t *ret)
{
	static const char prefix[] = "call_demo_";
	int64_t n;

	if (!th_str_starts(call_id, th_str_of(prefix)) ||
	    !th_str_i64(th_str_sub(call_id, sizeof(prefix) - 1, call_id.len), &n) || n < 0 ||
	    n >= TH_LEDGER_IDS_MAX)
		return false;
	*ret = (size_t)n;
	return true;
}

static int64_t exit_code_of(struct th_str data)
{
	int64_t code;
	struct th_str raw = th_json_raw_get(th_json_raw_get(data, "evidence"), "exit_code");

	return th_str_i64(raw, &code) ? code : 0;
}

static enum th_code read_event(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			       struct th_err *err)
{
	struct crash *c = ctx;
	struct th_str status;
	size_t n;
	int found;

	(void)digest;
	if ((ev->kind != TH_EV_CALL && ev->kind != TH_EV_OUTCOME) || !number_of(ev->call, &n))
		return TH_OK;
	if (ev->kind == TH_EV_CALL) {
		c->said[n].called = true;
		c->said[n].kind = kind_of(c, n);
		return TH_OK;
	}
	status = th_json_raw_get(ev->data, "status");
	found = th_outcome_find(th_str_sub(status, 1, status.len - 2));
	if (found < 0 || c->said[n].settled)
		return th_fail(err, TH_ECORRUPT, "event %llu is no outcome, or a second one",
			       (unsigned long long)ev->seq);
	c->said[n].settled = true;
	c->said[n].failed = found == TH_OUTCOME_FAILED || exit_code_of(ev->data) > 0;
	c->said[n].status = (enum th_outcome_status)found;
	return TH_OK;
}

static void judge(struct crash *c, unsigned n)
{
	const struct said *s = &c->said[n];
	unsigned happened = 0;

	for (int kind = 0; kind < TH_LEDGER_KINDS; kind++)
		happened += th_demo_ledger_count(c->ledger, (enum th_ledger_kind)kind, n);
	c->calls += s->called;
	c->happened += happened;
	c->duplicated += happened > 1 ? happened - 1 : 0;
	if (!s->called) {
		c->false_claims += happened; /* nothing was written down before it */
		return;
	}
	if (!s->settled || (s->status == TH_OUTCOME_DONE && !s->failed && happened == 0))
		c->lost++;
	c->failed += s->failed;
	if (s->settled && happened > 0 &&
	    (s->status == TH_OUTCOME_NOT_STARTED || s->status == TH_OUTCOME_REFUSED))
		c->false_claims++;
	if (s->settled && s->status == TH_OUTCOME_UNKNOWN) {
		c->unknown++;
		c->unknown_happened += happened > 0;
	}
}

static enum th_code compare(struct crash *c, struct th_err *err)
{
	struct th_verify_report report = { 0 };
	enum th_code code;

	code = c->store->kind->read(c->store, th_str_of(c->session), 1, 0, read_event, c, err);
	if (code == TH_OK)
		code = th_store_check(c->store, TH_STR(""), &report, err);
	if (code != TH_OK)
		return code;
	if (report.bad)
		(void)snprintf(c->broken, sizeof(c->broken), "the log is not whole: %.100s: %.300s",
			       report.key, report.what);
	for (unsigned n = 0; n < TH_LEDGER_IDS_MAX; n++)
		judge(c, n);
	c->diverged = atomic_load(&c->backwards) + (report.bad ? 1 : 0);
	return TH_OK;
}

/* ---- the end ---- */

static void end_executor(struct crash *c)
{
	struct th_executor_options o = { .session = th_str_of(c->session), .only_running = true };
	struct th_buf scope TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_PATH_LEN_MAX);
	struct th_err err;

	/* One that does not answer ends by itself when nobody comes. */
	if (!c->store_url.len || th_store_scope(c->store_url, &scope, &err) != TH_OK)
		return;
	o.scope = th_buf_str(&scope);
	if (th_executor_client_end_once(&o, &err) != TH_OK)
		return;
}

static void clean_up(struct crash *c, bool keep)
{
	struct th_err err = {};

	c->model = th_demo_model_stop(c->model);
	c->ledger = th_demo_ledger_stop(c->ledger);
	th_crash_kill(&c->screen);
	c->store = th_store_close(c->store);
	if (c->folder[0] && !keep && th_dir_remove(c->folder, &err) != TH_OK)
		(void)th_cli_fail(&err);
	th_arena_deinit(&c->a);
}

static bool good(const struct crash *c)
{
	return c->duplicated + c->lost + c->diverged + c->false_claims == 0;
}

static void print_json(const struct crash *c, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kint(&w, "seed", c->o->seed);
	th_jw_kuint(&w, "elapsed_ms", c->elapsed_ms);
	th_jw_kbool(&w, "traced", c->trace);
	th_jw_kbool(&w, "clicks", !c->no_clicks[0]);
	th_jw_kuint(&w, "lives", c->lives);
	th_jw_kuint(&w, "runtime_kills", c->runtime_kills);
	th_jw_kuint(&w, "executor_kills", c->executor_kills);
	th_jw_kuint(&w, "stops", c->stops);
	th_jw_kuint(&w, "calls", c->calls);
	th_jw_kuint(&w, "happened", c->happened);
	th_jw_kuint(&w, "duplicated", c->duplicated);
	th_jw_kuint(&w, "lost", c->lost);
	th_jw_kuint(&w, "diverged", c->diverged);
	th_jw_kuint(&w, "false_claims", c->false_claims);
	th_jw_kuint(&w, "failed", c->failed);
	th_jw_kuint(&w, "unknown", c->unknown);
	th_jw_kuint(&w, "unknown_happened", c->unknown_happened);
	th_jw_object_end(&w);
	th_buf_add_char(out, '\n');
}

static void print_table(const struct crash *c, struct th_buf *out)
{
	const struct {
		const char *name;
		unsigned value;
		const char *note;
	} rows[] = {
		{ "kills of the runtime", c->runtime_kills, "" },
		{ "kills of the executor", c->executor_kills, "together with the runtime" },
		{ "effects asked for", c->calls, "commands, files, clicks" },
		{ "effects that happened", c->happened, "as an outside ledger counts them" },
		{ "duplicated", c->duplicated, "happened more than once" },
		{ "lost", c->lost, "said to be done, or left without a result, and not there" },
		{ "diverged", c->diverged, "histories that went back, digests that do not fit" },
		{ "failed", c->failed, "said to have failed" },
		{ "false claims", c->false_claims, "said not to have begun, and there" },
		{ "unknown", c->unknown, "said to be unknown, and not repeated" },
		{ "  of which happened", c->unknown_happened, "" },
	};

	th_buf_add_char(out, '\n');
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		th_buf_printf(out, "%-24s %5u   %s\n", rows[i].name, rows[i].value, rows[i].note);
	if (c->broken[0])
		th_buf_printf(out, "\n%s\n", c->broken);
}

static void print_conclusion(const struct crash *c, struct th_buf *out)
{
	th_buf_printf(out, "\nSeed %lld, %llu.%llu s, ", (long long)c->o->seed,
		      (unsigned long long)c->elapsed_ms / 1000,
		      (unsigned long long)c->elapsed_ms / 100 % 10);
	if (c->trace)
		th_buf_printf(out, "killed at system calls (%llu stops were passed).\n",
			      (unsigned long long)c->stops);
	else
		th_buf_printf(out, "killed at random moments%s.\n",
			      c->o->no_trace ? "" : ": tracing is not allowed here");
	if (c->no_clicks[0])
		th_buf_printf(out, "There were no clicks: %s.\n", c->no_clicks);
	if (!good(c)) {
		th_buf_printf(
		    out,
		    "\nThis is a bug: one of the numbers that must be 0 is not. The log and "
		    "the files are in %s.\n",
		    c->folder);
		return;
	}
	if (!c->happened) {
		th_buf_add_cstr(out,
				"\nNo effect came about before it was killed again, so this says "
				"nothing. Give it longer:\n--seconds 60.\n");
		return;
	}
	th_buf_add_cstr(
	    out,
	    "\nWhat to conclude: a runtime that is killed loses nothing and repeats nothing, "
	    "because "
	    "its executor outlives\n"
	    "it and knows what was begun. Where the executor died too, nobody can know of an "
	    "effect "
	    "that was under way\n"
	    "whether it happened; thole then says \"unknown\", shows the model what is there now, "
	    "and "
	    "does not do it again.\n"
	    "That is the right word: some of them had happened, some had not. The seed repeats the "
	    "draws, not the machine's\n"
	    "timing. docs/DURABILITY.md says what is promised, and what is not.\n");
}

static int report(struct crash *c)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);

	if (c->o->json) {
		print_json(c, &out);
	} else {
		print_table(c, &out);
		print_conclusion(c, &out);
	}
	return th_cli_print(&out, good(c) ? 0 : 1);
}

static void say_what_comes(const struct crash *c)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);

	th_buf_printf(
	    &out,
	    "A run of commands, files%s is killed again and again for %lld seconds, %s, and "
	    "resumed.\nThe model is a built-in script; a ledger outside counts what really "
	    "happens.\n",
	    c->no_clicks[0] ? "" : " and clicks", (long long)c->o->seconds,
	    c->trace ? "at random system calls" : "at random moments");
	(void)th_cli_print(&out, 0);
}

int th_cli_demo_crash(const struct th_crash_options *o)
{
	struct crash *c = th_alloc(sizeof(*c));
	struct sigaction action = { .sa_handler = on_signal };
	struct th_err err = {};
	enum th_code code;
	uint32_t name;
	int exit_code;

	c->o = o;
	th_arena_init(&c->a, 8 * TH_MIB);
	c->random = (uint64_t)o->seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du;
	c->random |= 1;
	th_random(&name, sizeof(name));
	(void)snprintf(c->session, sizeof(c->session), "crash-%08x", name);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN); /* a screen that dies is no end of ours */
	code = set_up(c, &err);
	if (code == TH_OK && !o->json)
		say_what_comes(c);
	c->began_ms = th_clock_ms();
	atomic_store(&c->deadline_ms, c->began_ms + (uint64_t)o->seconds * 1000);
	if (code == TH_OK)
		code = live_on(c, &err);
	c->elapsed_ms = th_clock_ms() - c->began_ms;
	end_executor(c);
	if (code == TH_OK)
		code = compare(c, &err);
	exit_code = code == TH_OK ? report(c) : th_cli_fail(&err);
	clean_up(c, o->folder.len > 0 || (code == TH_OK && !good(c)));
	free(c);
	return exit_code;
}
