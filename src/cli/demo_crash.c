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
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/demo_crash_parts.h"
#include "exec_client/client.h"
#include "io/clock.h"
#include "io/detach.h"
#include "io/files.h"
#include "runtime/runtime.h"
#include "stores/stores.h"

#define LAST_MS 60000     /* for the last life, which nobody kills */
#define LIVES_MAX 10000   /* a run that never ends is an error */
#define STOPS_SHORT 1200  /* half of the lives end before that many stops, */
#define STOPS_LONG 3500   /* the others before that many */
#define MOMENT_MS_MAX 900 /* without tracing */

static volatile sig_atomic_t interrupted;

static void on_signal(int signum)
{
	interrupted = signum;
}

static uint64_t draw(struct th_crash_demo *c, uint64_t below)
{
	c->random ^= c->random << 13;
	c->random ^= c->random >> 7;
	c->random ^= c->random << 17;
	return (c->random >> 11) % below;
}

/* ---- lives ---- */

static bool is_our_executor(const struct th_crash_demo *c, const char *pid)
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
	struct th_crash_demo *c = ctx;
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
static enum th_state state_now(struct th_crash_demo *c)
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

static enum th_code live(struct th_crash_demo *c, bool last, struct th_crash_end *end,
			 struct th_err *err)
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
		argv[n++] = th_crash_demo_path(c, "agent.yaml");
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

static enum th_code live_on(struct th_crash_demo *c, struct th_err *err)
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

/* ---- the end ---- */

static void end_executor(struct th_crash_demo *c)
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

static void clean_up(struct th_crash_demo *c, bool keep)
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

static void say_what_comes(const struct th_crash_demo *c)
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
	struct th_crash_demo *c = th_alloc(sizeof(*c));
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
	code = th_crash_demo_begin(c, &err);
	if (code == TH_OK && !o->json)
		say_what_comes(c);
	c->began_ms = th_clock_ms();
	atomic_store(&c->deadline_ms, c->began_ms + (uint64_t)o->seconds * 1000);
	if (code == TH_OK)
		code = live_on(c, &err);
	c->elapsed_ms = th_clock_ms() - c->began_ms;
	end_executor(c);
	if (code == TH_OK)
		code = th_crash_demo_compare(c, &err);
	exit_code = code == TH_OK ? th_crash_demo_report(c) : th_cli_fail(&err);
	clean_up(c, o->folder.len > 0 || (code == TH_OK && !th_crash_demo_good(c)));
	free(c);
	return exit_code;
}
