/* SPDX-License-Identifier: Apache-2.0 */
/* trial.c - one task in a home of its own: killed, brought to its end, looked at. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "admin/verify.h"
#include "base/limits.h"
#include "io/clock.h"
#include "io/files.h"
#include "runtime/runtime.h"
#include "stores/stores.h"
#include "torture.h"

#define ROUNDS_MAX 40  /* commands until the task is done */
#define DRAIN_MS 15000 /* for what outlived its parent to end */

struct ongoing {
	struct worker *w;
	const struct point *point;
	struct result *r;
	struct effects effects;
	struct tracer tracer;
	int out_fd, err_fd;
	char work[160], out[160], agent[160], store[200], url[64];
	char *env[16];
};

/* ---- the place ---- */

__attribute__((format(printf, 2, 3))) static char *text(struct worker *w, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	char *copy = th_arena_cstr(&w->arena, th_str_of(line));
	assert(copy);
	return copy;
}

static void make(const char *path, mode_t mode)
{
	if ((mkdir(path, mode) != 0 && errno != EEXIST) || chmod(path, mode) != 0)
		die("%s: %s", path, strerror(errno));
}

static void remove_tree(const char *path)
{
	struct th_err err;

	if (access(path, F_OK) == 0 && th_dir_remove(path, &err) != TH_OK)
		die("%s", err.msg);
}

static int open_log(struct worker *w, const char *name)
{
	int fd = open(text(w, "%s/home/%s", w->folder, name),
		      O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	if (fd < 0)
		die("%s: %s", name, strerror(errno));
	return fd;
}

static void write_agent(struct ongoing *o)
{
	struct th_err err;

	snprintf(o->agent, sizeof(o->agent), "%s/home/agent.yaml", o->w->folder);
	if (th_file_write(o->agent, th_str_of(o->point->script->agent), 0644, &err) != TH_OK)
		die("%s", err.msg);
}

static void set_up(struct ongoing *o)
{
	struct worker *w = o->w;
	static const char *const kinds[] = { "STATE", "CONFIG", "CACHE", "DATA" };
	char *home = text(w, "%s/home", w->folder);
	size_t n = 0;

	remove_tree(home);
	make(home, 0755);
	snprintf(o->work, sizeof(o->work), "%s/home/work", w->folder);
	make(o->work, 0777);
	snprintf(o->out, sizeof(o->out), "%s/home/out", w->folder);
	snprintf(o->store, sizeof(o->store), "sqlite:%s/home/log.db", w->folder);
	w->trials++;
	snprintf(o->url, sizeof(o->url), "http://127.0.0.1:%d/%u/v1", server_port(w->server),
		 w->trials);
	for (size_t i = 0; i < TH_COUNT(kinds); i++) {
		make(text(w, "%s/home/%s", w->folder, kinds[i]), 0700);
		o->env[n++] = text(w, "XDG_%s_HOME=%s/home/%s", kinds[i], w->folder, kinds[i]);
	}
	make(text(w, "%s/home/run", w->folder), 0700);
	o->env[n++] = text(w, "XDG_RUNTIME_DIR=%s/home/run", w->folder);
	o->env[n++] = text(w, "HOME=%s", home);
	o->env[n++] = text(w, "THOLE_STORE=%s", o->store);
	o->env[n++] = text(w, "OPENAI_API_KEY=none");
	o->env[n++] = text(w, "PATH=%s", getenv("PATH") ?: "/usr/bin:/bin");
	static const char *const passed[] = { "ASAN_OPTIONS", "UBSAN_OPTIONS", "LANG" };
	for (size_t i = 0; i < TH_COUNT(passed); i++)
		if (getenv(passed[i]))
			o->env[n++] = text(w, "%s=%s", passed[i], getenv(passed[i]));
	effects_open(&o->effects, text(w, "%s/ledger", o->work));
	int fd = open(text(w, "%s/seed", o->work), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, "text of seed\n", 13) != 13)
		die("%s: %s", o->work, strerror(errno));
	close(fd);
	if (o->point->script->agent)
		write_agent(o);
	o->out_fd = open_log(w, "out");
	o->err_fd = open_log(w, "err");
	server_trial(w->server, o->point->script, w->trials);
}

/* ---- the log ---- */

struct reading {
	struct worker *w;
	struct facts *f;
	struct th_arena *arena;
};

static enum th_code on_event(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			     struct th_err *err)
{
	struct reading *r = ctx;
	struct facts *f = r->f;

	(void)digest;
	if (f->event_count == EVENTS_MAX)
		return th_fail(err, TH_ELIMIT, "more than %d events", EVENTS_MAX);
	struct th_event *to = &f->events[f->event_count++];
	*to = *ev;
	to->call = th_arena_str(r->arena, ev->call);
	to->data = th_arena_str(r->arena, ev->data);
	to->build = th_arena_str(r->arena, ev->build);
	return to->data.ptr ? TH_OK : th_fail(err, TH_ELIMIT, "events too large");
}

enum stage { STAGE_NOTHING, STAGE_CREATED, STAGE_ASKED, STAGE_WAITING, STAGE_FINISHED };

/* How far it has come; fills the facts' events. */
static enum stage look(struct ongoing *o, bool verify)
{
	struct facts *f = &o->w->facts;
	struct th_store_options so = { .read_only = true };
	struct th_store *store = NULL;
	struct th_session_row row = { 0 };
	struct th_verify_report report = { 0 };
	struct reading r = { o->w, f, &o->w->arena };
	struct th_err err = { 0 };
	enum stage stage = STAGE_NOTHING;

	f->event_count = 0;
	enum th_code code = th_store_open(th_str_of(o->store), &so, &store, &err);
	if (code == TH_OK)
		code = store->kind->get(store, TH_STR(SESSION), &o->w->arena, &row, &err);
	if (code == TH_OK)
		code = store->kind->read(store, TH_STR(SESSION), 1, 0, on_event, &r, &err);
	if (code == TH_OK)
		stage = STAGE_CREATED;
	for (size_t i = 0; i < f->event_count; i++)
		if (f->events[i].kind == TH_EV_MESSAGE)
			stage = STAGE_ASKED;
	if (th_str_is(row.state, "waiting"))
		stage = STAGE_WAITING;
	f->finished = th_str_is(row.state, "finished");
	if (f->finished)
		stage = STAGE_FINISHED;
	if (verify && code == TH_OK)
		code = th_store_check(store, TH_STR(""), &report, &err);
	if (verify && code != TH_OK)
		snprintf(f->broken, sizeof(f->broken), "%.250s", err.msg);
	else if (report.bad)
		snprintf(f->broken, sizeof(f->broken), "%.120s: %.120s", report.key, report.what);
	th_store_close(store);
	return stage;
}

/* ---- the commands ---- */

static void hung(struct ongoing *o, const char *what)
{
	struct facts *f = &o->w->facts;

	if (!f->hung[0])
		snprintf(f->hung, sizeof(f->hung), "%s", what);
}

static int command(struct ongoing *o, const char *const *words)
{
	char *argv[24];
	size_t n = 0;

	argv[n++] = text(o->w, "%s", o->w->thole);
	while (*words)
		argv[n++] = text(o->w, "%s", *words++);
	argv[n] = NULL;
	int status = tracer_run(&o->tracer, argv, o->env, o->out_fd, o->err_fd);
	if (status == -1)
		hung(o, text(o->w, "thole %s did not end", argv[1]));
	return status;
}

static int go_on(struct ongoing *o, enum stage stage)
{
	const struct script *s = o->point->script;
	const char *const desktop[] = { "run",        "--json", "-s", SESSION, "-a",    o->agent,
					"--base-url", o->url,   "-C", o->work, s->task, NULL };
	const char *const begin[] = { "run",
				      "--json",
				      "-s",
				      SESSION,
				      "-m",
				      "gpt-5.4",
				      "--base-url",
				      o->url,
				      "-C",
				      o->work,
				      s->approve ? "--approve" : "--turns",
				      s->approve ?: "50",
				      s->task,
				      NULL };
	const char *const again[] = { "run",        "--json", "-s",    SESSION,
				      "--base-url", o->url,   s->task, NULL };
	const char *const approve[] = { "approve", "--all", SESSION, NULL };
	const char *const resume[] = { "resume", "--json", "--base-url", o->url, SESSION, NULL };

	switch (stage) {
	case STAGE_NOTHING:
		return command(o, s->agent ? desktop : begin);
	case STAGE_CREATED:
		return command(o, again);
	case STAGE_WAITING:
		return command(o, approve);
	case STAGE_ASKED:
	case STAGE_FINISHED:
		break;
	}
	return command(o, resume);
}

/* A new runtime for the recovery, whose own stops count. */
static void aim_at_resume(struct ongoing *o)
{
	struct tracer *t = &o->tracer;

	o->r->nr = t->nr;
	o->r->before = t->before;
	o->r->stops = t->count;
	t->victim = VICTIM_RUNTIME;
	t->at = o->point->resume;
	t->count = 0;
	t->killed = false;
	t->target = 0;
	/* With the next request, or with the end of the process, the recovery is over. */
	t->asked = server_asked(o->w->server);
	t->asked_max = atomic_load(t->asked) + 1;
}

static void bring_to_end(struct ongoing *o)
{
	const struct point *p = o->point;
	struct facts *f = &o->w->facts;
	enum stage stage;
	bool aimed = false;
	int rounds = 0;

	while ((stage = look(o, false)) != STAGE_FINISHED && !f->hung[0]) {
		if (rounds++ == ROUNDS_MAX) {
			hung(o, "the session made no progress");
			break;
		}
		if (p->resume && !aimed && o->tracer.killed) {
			aim_at_resume(o);
			aimed = true;
		}
		go_on(o, stage);
		/* The recovery is one process: what comes after it is another point's. */
		if (aimed && o->tracer.victim == VICTIM_RUNTIME && !o->tracer.killed) {
			o->r->resume_stops = o->tracer.count;
			o->tracer.victim = VICTIM_NONE;
		}
	}
	o->r->killed = aimed || o->tracer.killed;
	o->r->resume_killed = aimed && o->tracer.killed;
	if (aimed && !o->r->resume_stops)
		o->r->resume_stops = o->tracer.count;
	if (!aimed) {
		o->r->stops = o->tracer.count;
		o->r->nr = o->tracer.nr;
		o->r->before = o->tracer.before;
	}
}

/* ---- after it ---- */

/* Children of this process, its own threads' too; killed by id. */
static unsigned kill_left(void)
{
	struct th_buf list = TH_BUF_INIT(64 * TH_KIB);
	char path[64];
	unsigned count = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	if (th_file_read(path, list.max, &list, NULL) == TH_OK)
		for (struct th_str rest = th_buf_str(&list); rest.len;) {
			int64_t pid;
			if (th_str_i64(th_str_split(&rest, ' '), &pid) && pid > 1) {
				kill((pid_t)pid, SIGKILL);
				count++;
			}
		}
	th_buf_deinit(&list);
	return count;
}

static void clear_away(struct ongoing *o)
{
	const char *const end[] = { "computer", "-s", SESSION, "end", NULL };
	struct facts *f = &o->w->facts;

	/* Ending the executor is its work, not that of who tells it. */
	if (o->tracer.victim == VICTIM_RUNTIME)
		o->tracer.victim = VICTIM_NONE;
	if (!f->hung[0])
		command(o, end);
	if (!o->point->resume) {
		o->r->stops = o->tracer.count;
		o->r->killed = o->tracer.killed;
	}
	if (tracer_drain(&o->tracer, DRAIN_MS))
		return;
	f->left = 0;
	for (int i = 0; i < 50; i++) {
		f->left += kill_left();
		if (tracer_drain(&o->tracer, 200))
			break;
	}
	f->left = TH_MAX(f->left, 1u);
}

static int file_state(const struct ongoing *o, const struct script_call *c)
{
	struct th_buf have = TH_BUF_INIT(TH_MIB);
	char path[256];
	int state = 2;

	snprintf(path, sizeof(path), "%s/%s", o->work, c->mark);
	if (access(path, F_OK) != 0)
		state = 0;
	else if (th_file_read(path, have.max, &have, NULL) == TH_OK)
		state = th_str_is(th_buf_str(&have), c->wanted)                ? 1
			: c->before && th_str_is(th_buf_str(&have), c->before) ? 0
									       : 2;
	th_buf_deinit(&have);
	return state;
}

static void read_acks(const struct ongoing *o, struct facts *f)
{
	struct th_buf out = TH_BUF_INIT(8 * TH_MIB);
	struct th_err err;

	if (th_file_read(o->out, out.max, &out, &err) != TH_OK)
		die("%s", err.msg);
	struct th_str rest = th_buf_str(&out);
	while (th_str_find_char(rest, '\n') >= 0 && f->ack_count < TH_COUNT(f->acks)) {
		TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;

		if (th_json_parse(th_str_split(&rest, '\n'), &doc, NULL) != TH_OK)
			continue; /* the words of approve, or a line that a kill has cut */
		struct ack *a = &f->acks[f->ack_count];
		a->seq = (uint64_t)th_json_get_int(th_json_root(doc), "seq", 0);
		struct th_str id = th_json_get_str(th_json_root(doc), "id");
		snprintf(a->id, sizeof(a->id), "%.*s", TH_FMT(id));
		f->ack_count += a->seq > 0;
	}
	th_buf_deinit(&out);
}

static void collect(struct ongoing *o)
{
	struct facts *f = &o->w->facts;
	const struct script *s = o->point->script;

	effects_drain(&o->effects);
	look(o, true);
	read_acks(o, f);
	server_seen(o->w->server, &f->seen);
	f->executor_died = o->r->killed && o->point->victim != VICTIM_RUNTIME;
	for (size_t i = 0; i < script_calls(s); i++) {
		const struct script_call *c = script_call(s, i);
		f->happened[i] = c->class == TH_CLASS_V ? file_state(o, c)
				 : c->mark              ? effects_count(&o->effects, c->mark)
							: 0;
	}
}

void trial(struct worker *w, const struct point *p, struct result *r)
{
	struct ongoing *o = th_alloc(sizeof(*o));
	uint64_t begun = th_clock_ns();

	memset(r, 0, sizeof(*r));
	memset(&w->facts, 0, sizeof(w->facts));
	th_arena_reset(&w->arena);
	w->facts.script = p->script;
	*o = (struct ongoing){ .w = w, .point = p, .r = r };
	o->tracer.victim = p->victim;
	o->tracer.at = p->at;
	o->tracer.stops = p->script->agent ? STOPS_ACTING : STOPS_ALL;
	set_up(o);
	bring_to_end(o);
	clear_away(o);
	collect(o);
	check(&w->facts, &r->verdict);
	effects_close(&o->effects);
	close(o->out_fd);
	close(o->err_fd);
	r->seconds = (double)(th_clock_ns() - begun) / 1e9;
	free(o);
}

void worker_init(struct worker *w, const char *thole, const char *base, int number)
{
	memset(w, 0, sizeof(*w));
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
		die("cannot become a subreaper: %s", strerror(errno));
	snprintf(w->folder, sizeof(w->folder), "%s/%d", base, number);
	make(w->folder, 0755);
	w->thole = thole;
	w->server = server_start();
	th_arena_init(&w->arena, 256 * TH_MIB);
}

void worker_deinit(struct worker *w)
{
	if (!w->keep)
		remove_tree(w->folder);
	th_arena_deinit(&w->arena);
}
