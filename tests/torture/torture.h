/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torture.h - kills the real processes at their system calls and checks what
 * the log then claims against what happened.
 *
 * One trial: `thole run` does a scripted task; at the Nth system-call stop of
 * the chosen process (entry and exit count, all threads together) exactly that
 * process gets SIGKILL; `thole resume` (and `thole approve`, where a person is
 * asked) then bring the task to its end.  Effects are counted by a ledger of
 * the harness, not by what is tested.
 *
 * A worker of the harness is a child subreaper: what outlives its parent comes
 * to the worker, so "nothing is left" is waitpid saying that there is no child.
 */
#ifndef TH_TESTS_TORTURE_H
#define TH_TESTS_TORTURE_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/json.h"
#include "events/event.h"

#define CALLS_MAX 40
#define TURNS_MAX 16
#define EVENTS_MAX 1024
#define SESSION "tortured"

/* ---- script.c: what the model says ---- */

struct script_call {
	const char *tool, *arguments; /* JSON */
	enum th_class class;
	const char *mark;   /* W: its line in the ledger.  V: the file it writes */
	const char *wanted; /* stands in the output when it is done; V: what is in the file */
	const char *before; /* V: what was in the file; NULL: it was not there */
};

struct script_turn {
	const char *text;
	const struct script_call *calls;
	size_t count;
};

struct script {
	const char *name, *approve, *task, *final;
	const char *agent; /* agent file; NULL: none */
	const struct script_turn *turns;
	size_t count;
};

extern const struct script *const scripts[]; /* NULL-terminated */
const struct script *script_find(const char *name);
size_t script_calls(const struct script *s);
const struct script_call *script_call(const struct script *s, size_t index);
void script_call_id(size_t index, char out[static 16]);
int script_call_index(const struct script *s, struct th_str id); /* or -1 */

/* What was seen of the requests; one per trial. */
struct script_seen {
	unsigned requests[TURNS_MAX + 1]; /* by turn, from 0 */
	uint64_t told[CALLS_MAX]; /* hash of what the model was told of a call; 0: nothing */
	unsigned lost, duplicated, diverged;
	char what[256]; /* the first that was wrong */
};

/* Judges a request's history and says which turn is asked for; -1: none that makes sense. */
int script_judge(const struct script *s, const struct th_json *body, struct script_seen *seen);
/* The answer to turn `turn`, as server-sent events. */
void script_answer(const struct script *s, int turn, struct th_buf *out);

/* ---- server.c: where it says it; a thread ---- */

struct server;
struct server *server_start(void); /* exits when it cannot */
int server_port(const struct server *s);
const atomic_uint *server_asked(const struct server *s); /* requests so far */
/* From now on only requests under /NUMBER/ count; what was seen is forgotten. */
void server_trial(struct server *s, const struct script *script, unsigned number);
void server_seen(struct server *s, struct script_seen *ret);

/* ---- tracer.c ---- */

enum victim {
	VICTIM_NONE,
	VICTIM_RUNTIME,
	VICTIM_EXECUTOR,
	VICTIM_BOTH,
	VICTIM_DISPLAY,      /* the executor's child for the desktop */
	VICTIM_XVFB,         /* its X server, at a stop of the display process */
	VICTIM_XVFB_STOPPED, /* the same by SIGSTOP: it is there, and silent */
};

/* Which stops count. */
enum stops {
	STOPS_ALL,
	STOPS_ACTING,  /* before and after calls that act outside: write, sendmsg, fsync … */
	STOPS_COMMITS, /* before the first write at a place behind a flush, and after each flush:
			  the next events are not there yet, or are and nothing acted on them */
};

struct traced {
	pid_t tid, tgid;
	long nr; /* of the system call it is in */
	bool acts;
};

struct tracer {
	enum victim victim; /* BOTH: stops of the executor count, the runtime dies with it */
	long at;            /* the stop that kills; 0: only counted */
	enum stops stops;
	bool written; /* COMMITS: since the last flush */
	long count;
	bool killed;
	long nr; /* where: number of the system call, and whether before or after it */
	bool before;
	const char *session; /* RUNTIME: the executor of this session dies with it; NULL: not */
	/* The stops count from when the model has been asked `asked_min` times until it is asked
	 * `asked_max` times; NULL: all. */
	const atomic_uint *asked;
	unsigned asked_min, asked_max;
	/* private */
	pid_t target; /* process whose stops count; 0: not there yet */
	pid_t root;
	/* Text of the dynamic loader: what it does before our program runs does not count. */
	uint64_t loader_from, loader_to;
	bool loading, over;
	struct traced tasks[128];
	size_t task_count;
};

/* Starts argv with this environment, standard output and errors appended to the files, and waits
 * for its end under the tracer.  Returns its wait status; -1: it hung (and was killed). */
int tracer_run(struct tracer *t, char *const argv[], char *const env[], int out_fd, int err_fd);
/* Waits until no descendant is left.  False: some were, and were killed. */
bool tracer_drain(struct tracer *t, int ms);
/* False: the kernel does not let us; errno says why. */
bool tracer_possible(void);

/* ---- effects.c: the ledger ---- */

struct effects {
	int fifo_fd;
	struct th_digest head;
	struct th_buf text; /* lines "HEX NAME": each digest is over the one before and the name */
};

void effects_open(struct effects *e, const char *fifo);
void effects_close(struct effects *e);
void effects_drain(struct effects *e); /* takes in what commands have said */
void effects_add(struct effects *e, struct th_str name);
/* How often it happened; -1: the chain is broken. */
int effects_count(const struct effects *e, const char *name);

/* ---- check.c ---- */

struct ack {
	uint64_t seq;
	char id[40];
};

/* All that is known of a trial when everything has ended. */
struct facts {
	const struct script *script;
	struct th_event events[EVENTS_MAX]; /* strings in the arena */
	size_t event_count;
	struct ack acks[2 * EVENTS_MAX]; /* events that a runtime has shown as written */
	size_t ack_count;
	struct script_seen seen;
	int happened[CALLS_MAX]; /* W: lines of the ledger; V: 1 written, 0 not there, 2 other */
	bool executor_died;
	bool finished;    /* the state of the session's row */
	unsigned left;    /* processes left behind */
	char broken[256]; /* the log does not verify: why */
	char hung[128];   /* a process did not end, or there was no progress: what */
};

struct verdict {
	unsigned duplicated, lost, diverged, false_claims, left, hung;
	unsigned unknown, unknown_happened;
	char what[512]; /* the first thing that was wrong */
};

void check(const struct facts *f, struct verdict *v);
bool verdict_bad(const struct verdict *v);

/* ---- trial.c ---- */

struct point {
	const struct script *script;
	enum victim victim;
	long at;     /* 0: no kill */
	long resume; /* > 0: the first resume after the kill dies at this stop of its own */
};

struct worker {
	char folder[128];
	const char *thole;
	struct server *server;
	unsigned trials;
	struct th_arena arena;
	struct facts facts;
	bool keep;
};

struct result {
	struct verdict verdict;
	bool killed, resume_killed; /* false: it ended before that stop */
	long stops, resume_stops;   /* counted */
	long nr;
	bool before;
	double seconds;
};

void worker_init(struct worker *w, const char *thole, const char *base, int number);
void worker_deinit(struct worker *w);
void trial(struct worker *w, const struct point *p, struct result *r);

/* ---- selftest.c ---- */

int selftest(struct worker *w);

__attribute__((noreturn, format(printf, 1, 2))) void die(const char *fmt, ...);

#endif
