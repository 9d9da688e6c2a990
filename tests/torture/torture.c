/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torture.c - which points are tried, by two workers at a time, and the table
 * at the end.
 *
 *	torture quick        some 300 points, evenly; TH_TORTURE=1: every stop
 *	torture hands        100 points of a shell session and an editor; TH_TORTURE=1: every stop
 *	                     of the run of all classes, many of the others
 *	torture full         every stop of everything; hours
 *	torture desktop      around calls that act, on a desktop; Xvfb too
 *	torture VICTIM [--script NAME] --at N[-M[:STEP]]
 *	                     runtime executor display xvfb xvfb-stopped
 *	torture recovery [--script NAME] --first runtime|both:N --at N[-M[:STEP]]
 *	torture selftest     doctored facts must be caught
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/clock.h"
#include "io/files.h"
#include "torture.h"

#define POINTS_MAX 100000
#define SKIPPED 77
#define NEVER (1L << 40) /* a stop that no process comes to */
#define FIRST_KILLS 50
#define LONG_STRIDE 25 /* TH_TORTURE: all of it within 40 minutes on two processors */

struct outcome {
	bool tried;
	struct result r;
};

/* Shared with the workers. */
struct shared {
	atomic_size_t next;
	size_t count;
	struct point points[POINTS_MAX];
	struct outcome outcomes[POINTS_MAX];
};

struct sum {
	const char *name;
	unsigned points, past_end, duplicated, lost, diverged, false_claims, left, hung;
	unsigned unknown, happened;
};

static struct shared *shared;
static char base[64];
static const char *thole;
static int jobs = 2;
static bool keep, verbose;
static struct sum sums[16];
static size_t sum_count;
static uint64_t begun;

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("torture: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(2);
}

/* ---- points ---- */

static const char *victim_name(enum victim v)
{
	static const char *const names[] = { "none",    "runtime", "executor",    "both",
					     "display", "xvfb",    "xvfb-stopped" };

	return names[v];
}

static void print_point(const struct point *p, FILE *to)
{
	if (p->resume)
		fprintf(to, "recovery --script %s --first %s:%ld --at %ld", p->script->name,
			victim_name(p->victim), p->at, p->resume);
	else
		fprintf(to, "%s --script %s --at %ld", victim_name(p->victim), p->script->name,
			p->at);
}

static void points_clear(void)
{
	shared->count = 0;
	atomic_store(&shared->next, 0);
}

static void point_add(struct point p)
{
	if (shared->count == POINTS_MAX)
		die("more than %d points", POINTS_MAX);
	shared->outcomes[shared->count].tried = false;
	shared->points[shared->count++] = p;
}

/* `count` of 1..stops, evenly; 0: all. */
static void points_spread(struct point p, bool resume, long stops, long count)
{
	if (count == 0 || count > stops)
		count = stops;
	else
		stops -= stops / 50; /* no two runs are of the same length */
	for (long i = 0; i < count; i++) {
		long at = 1 + i * stops / count;

		*(resume ? &p.resume : &p.at) = at;
		point_add(p);
	}
}

/* ---- workers ---- */

static void report(const struct point *p, const struct result *r)
{
	if (verdict_bad(&r->verdict)) {
		printf("FAILED  torture ");
		print_point(p, stdout);
		printf("\n        %s (system call %ld, %s)\n", r->verdict.what, r->nr,
		       r->before ? "before it" : "after it");
	} else if (verbose) {
		printf("ok      torture ");
		print_point(p, stdout);
		printf(
		    ": %s, %ld stops, %ld of the resume, system call %ld %s, %u unknown, %.3f s\n",
		    !r->killed                       ? "no kill"
		    : p->resume && !r->resume_killed ? "one kill"
						     : "killed",
		    r->stops, r->resume_stops, r->nr, r->before ? "before" : "after",
		    r->verdict.unknown, r->seconds);
	}
	fflush(stdout);
}

static void work(int number)
{
	struct worker *w = th_alloc(sizeof(*w));

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	worker_init(w, thole, base, number);
	w->keep = keep;
	for (;;) {
		size_t i = atomic_fetch_add(&shared->next, 1);

		if (i >= shared->count)
			break;
		trial(w, &shared->points[i], &shared->outcomes[i].r);
		shared->outcomes[i].tried = true;
		report(&shared->points[i], &shared->outcomes[i].r);
	}
	worker_deinit(w);
	free(w);
}

static void run_points(void)
{
	pid_t pids[16];
	int status;

	fflush(stdout);
	for (int i = 0; i < jobs; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			die("fork: %s", strerror(errno));
		if (pids[i] == 0) {
			work(i);
			fflush(stdout);
			_exit(0);
		}
	}
	for (int i = 0; i < jobs; i++)
		if (waitpid(pids[i], &status, 0) < 0 || !WIFEXITED(status) ||
		    WEXITSTATUS(status) != 0)
			die("a worker of the harness ended with status %d", status);
}

static struct sum *sum_of(const char *name)
{
	for (size_t i = 0; i < sum_count; i++)
		if (strcmp(sums[i].name, name) == 0)
			return &sums[i];
	sums[sum_count].name = name;
	return &sums[sum_count++];
}

/* Adds what run_points found; a point whose stop was not reached is none. */
static void add_up(const char *name)
{
	struct sum *s = sum_of(name);

	for (size_t i = 0; i < shared->count; i++) {
		const struct result *r = &shared->outcomes[i].r;
		const struct verdict *v = &r->verdict;
		bool reached = shared->points[i].resume ? r->resume_killed : r->killed;

		if (!shared->outcomes[i].tried)
			die("a point was not tried");
		s->points += reached;
		s->past_end += !reached;
		s->duplicated += v->duplicated;
		s->lost += v->lost;
		s->diverged += v->diverged;
		s->false_claims += v->false_claims;
		s->left += v->left;
		s->hung += v->hung;
		s->unknown += v->unknown;
		s->happened += v->unknown_happened;
	}
}

/* ---- tiers ---- */

/* How many stops there are: a run without a kill, which must be good too. */
static long measure(struct point p)
{
	long stops;

	points_clear();
	if (p.at)
		p.resume = NEVER;
	point_add(p);
	int before = jobs;
	jobs = 1;
	run_points();
	jobs = before;
	const struct result *r = &shared->outcomes[0].r;
	if (!p.resume && verdict_bad(&r->verdict))
		die("the run without a kill is not good: %s", r->verdict.what);
	stops = p.resume ? r->resume_stops : r->stops;
	return stops;
}

static void series(const char *name, const char *script, enum victim victim, long count)
{
	struct point p = { .script = script_find(script), .victim = victim };
	long stops = measure(p);
	double start = (double)(th_clock_ns() - begun) / 1e9;

	points_clear();
	points_spread(p, false, stops, count);
	run_points();
	add_up(name);
	printf("%-9s %-6s %ld stops, %zu points, %.1f s\n", name, script, stops, shared->count,
	       (double)(th_clock_ns() - begun) / 1e9 - start);
}

/* `firsts` kills of the runtime, half of them together with the executor, evenly; then of each
 * every `stride`th stop of the resume, or `count` of them. */
static void recovery(const char *script, long firsts, long count, long stride)
{
	static const enum victim victims[] = { VICTIM_RUNTIME, VICTIM_BOTH };
	double start = (double)(th_clock_ns() - begun) / 1e9;
	long stops[2], *resumes = th_alloc((size_t)firsts * sizeof(*resumes));
	struct point *first = th_alloc((size_t)firsts * sizeof(*first));

	for (size_t i = 0; i < 2; i++)
		stops[i] =
		    measure((struct point){ .script = script_find(script), .victim = victims[i] });
	points_clear();
	for (long i = 0; i < firsts; i++) {
		long at = (i / 2 * 2 + 1) * stops[i % 2] / firsts;
		first[i] = (struct point){ .script = script_find(script),
					   .victim = victims[i % 2],
					   .at = TH_MAX(at, 1) };
		struct point p = first[i];
		p.resume = NEVER;
		point_add(p);
	}
	run_points();
	for (long i = 0; i < firsts; i++)
		resumes[i] = shared->outcomes[i].r.resume_stops;
	points_clear();
	for (long i = 0; i < firsts; i++) {
		struct point p = first[i];
		if (count)
			points_spread(p, true, resumes[i], count);
		for (p.resume = 1 + i % stride; !count && p.resume <= resumes[i];
		     p.resume += stride)
			point_add(p);
	}
	run_points();
	add_up("recovery");
	printf("recovery  %-6s %ld first kills, %zu points, %.1f s\n", script, firsts,
	       shared->count, (double)(th_clock_ns() - begun) / 1e9 - start);
	free(resumes);
	free(first);
}

static bool sum_bad(const struct sum *s)
{
	return s->duplicated || s->lost || s->diverged || s->false_claims || s->left || s->hung;
}

static void sum_add(struct sum *all, const struct sum *s)
{
	all->points += s->points;
	all->past_end += s->past_end;
	all->duplicated += s->duplicated;
	all->lost += s->lost;
	all->diverged += s->diverged;
	all->false_claims += s->false_claims;
	all->left += s->left;
	all->hung += s->hung;
	all->unknown += s->unknown;
	all->happened += s->happened;
}

static void print_table(FILE *to, const struct sum *all)
{
	fprintf(to, "%-12s %7s %10s %5s %9s %12s %5s %5s %8s\n", "killed", "points", "duplicated",
		"lost", "diverged", "false claims", "left", "hung", "unknown");
	for (size_t i = 0; i <= sum_count; i++) {
		const struct sum *s = i < sum_count ? &sums[i] : all;

		fprintf(to, "%-12s %7u %10u %5u %9u %12u %5u %5u %8u (%u of them had happened)\n",
			s->name, s->points, s->duplicated, s->lost, s->diverged, s->false_claims,
			s->left, s->hung, s->unknown, s->happened);
	}
	fprintf(to, "%u more were past the end of their run; %.0f s in all\n", all->past_end,
		(double)(th_clock_ns() - begun) / 1e9);
}

/* `name`: also kept beside Meson's log, for ./dev to show. */
static int table(const char *name)
{
	struct sum all = { .name = "all" };
	const char *build = getenv("BUILD_DIR");
	char path[TH_PATH_LEN_MAX];

	for (size_t i = 0; i < sum_count; i++)
		sum_add(&all, &sums[i]);
	puts("");
	print_table(stdout, &all);
	if (name && build) {
		snprintf(path, sizeof(path), "%s/meson-logs/torture-%s.txt", build, name);
		FILE *file = fopen(path, "w");
		if (file) {
			print_table(file, &all);
			fclose(file);
		}
	}
	puts(sum_bad(&all) ? "torture: FAILED; the lines above reproduce it"
			   : "torture: all is true");
	return sum_bad(&all);
}

/* ---- arguments ---- */

struct range {
	long from, to, step;
};

static struct range parse_range(const char *text)
{
	struct range r = { 0, 0, 1 };
	int n = sscanf(text, "%ld-%ld:%ld", &r.from, &r.to, &r.step);

	if (n < 1 || r.from < 0 || r.step < 1)
		die("a range is N, N-M or N-M:STEP, not %s", text);
	if (n == 1)
		r.to = r.from;
	return r;
}

static int ranged(const char *what, const char *script, const char *first, const char *at)
{
	struct point p = { .script = script_find(script) };
	bool recovering = strcmp(what, "recovery") == 0;
	struct range r = parse_range(at ?: "0");

	if (!p.script)
		die("there is no script %s", script);
	p.victim = VICTIM_RUNTIME;
	for (enum victim v = VICTIM_RUNTIME; v <= VICTIM_XVFB_STOPPED && !recovering; v++)
		if (strcmp(what, victim_name(v)) == 0)
			p.victim = v;
	if (recovering) {
		if (!first || !strchr(first, ':'))
			die("recovery needs --first runtime:N or both:N");
		p.victim = first[0] == 'b' ? VICTIM_BOTH : VICTIM_RUNTIME;
		p.at = parse_range(strchr(first, ':') + 1).from;
	}
	points_clear();
	for (long n = r.from; n <= r.to; n += r.step) {
		*(recovering ? &p.resume : &p.at) = n;
		point_add(p);
	}
	run_points();
	add_up(what);
	return table(NULL);
}

static int run_selftest(void)
{
	struct worker *w = th_alloc(sizeof(*w));

	worker_init(w, thole, base, 0);
	int status = selftest(w);
	worker_deinit(w);
	free(w);
	return status;
}

static int quick(void)
{
	series("runtime", "all", VICTIM_RUNTIME, 30);
	series("runtime", "ask", VICTIM_RUNTIME, 30);
	series("runtime", "short", VICTIM_RUNTIME, 60);
	series("executor", "all", VICTIM_EXECUTOR, 25);
	series("executor", "ask", VICTIM_EXECUTOR, 25);
	series("executor", "short", VICTIM_EXECUTOR, 50);
	recovery("short", 10, 8, 1);
	return table("kills");
}

/* A shell session and an editor; `count` 0: every stop. */
static int hands(long count)
{
	series("runtime", "hands", VICTIM_RUNTIME, count);
	series("executor", "hands", VICTIM_EXECUTOR, count);
	return table("hands");
}

/* Around the calls that act outside; `count` 0: around each. */
static int desktop(long count)
{
	series("runtime", "desk", VICTIM_RUNTIME, count);
	series("executor", "desk", VICTIM_EXECUTOR, count);
	series("display", "desk", VICTIM_DISPLAY, count);
	series("xvfb", "desk", VICTIM_XVFB, count ? count : 40);
	series("xvfb-stopped", "desk", VICTIM_XVFB_STOPPED, count ? count : 20);
	return table("desktop");
}

/*
 * Every stop of the run that has all classes.  Of the others every `stride`th, with another start
 * for each first kill, so that all together touch every stop; 1: each.
 */
static int full(long stride)
{
	series("runtime", "all", VICTIM_RUNTIME, 0);
	series("executor", "all", VICTIM_EXECUTOR, 0);
	series("runtime", "ask", VICTIM_RUNTIME, stride > 1 ? 1500 : 0);
	series("executor", "ask", VICTIM_EXECUTOR, stride > 1 ? 500 : 0);
	recovery("short", FIRST_KILLS, 0, stride);
	return table("kills");
}

static bool in_path(const char *program)
{
	struct th_str rest = th_str_of(getenv("PATH") ?: "/usr/bin:/bin");
	char path[TH_PATH_LEN_MAX];

	while (rest.len) {
		struct th_str folder = th_str_split(&rest, ':');

		snprintf(path, sizeof(path), "%.*s/%s", TH_FMT(folder), program);
		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "quick", *script = "all", *first = NULL, *at = NULL;
	static char program[TH_PATH_LEN_MAX];
	int status;

	thole = getenv("THOLE");
	if (!thole && getenv("BUILD_DIR")) {
		snprintf(program, sizeof(program), "%s/thole", getenv("BUILD_DIR"));
		thole = program;
	}
	for (int i = 2; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (strcmp(argv[i], "--keep") == 0)
			keep = true;
		else if (strcmp(argv[i], "-v") == 0)
			verbose = true;
		else if (strcmp(argv[i], "--jobs") == 0 && i++)
			jobs = (int)TH_MIN(parse_range(value).from, 16);
		else if (strcmp(argv[i], "--script") == 0 && i++)
			script = value;
		else if (strcmp(argv[i], "--first") == 0 && i++)
			first = value;
		else if (strcmp(argv[i], "--at") == 0 && i++)
			at = value;
		else
			die("what is %s?", argv[i]);
	}
	if (!thole || access(thole, X_OK) != 0)
		die("BUILD_DIR or THOLE must say where thole is");
	if (!tracer_possible()) {
		printf("not run: this system does not let a process be traced (%s)\n",
		       strerror(errno));
		return SKIPPED;
	}
	if (strcmp(what, "desktop") == 0 && (!in_path("Xvfb") || !in_path("xterm"))) {
		puts("not run: Xvfb and xterm are not both installed");
		return SKIPPED;
	}
	begun = th_clock_ns();
	snprintf(base, sizeof(base), "/tmp/thole-torture-XXXXXX");
	shared =
	    mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || !mkdtemp(base) || chmod(base, 0755) != 0)
		die("%s: %s", base, strerror(errno));
	if (strcmp(what, "quick") == 0)
		status = getenv("TH_TORTURE") ? full(LONG_STRIDE) : quick();
	else if (strcmp(what, "full") == 0)
		status = full(1);
	else if (strcmp(what, "desktop") == 0)
		status = desktop(getenv("TH_TORTURE") ? 0 : 5);
	else if (strcmp(what, "hands") == 0)
		status = hands(getenv("TH_TORTURE") ? 0 : 50);
	else if (strcmp(what, "selftest") == 0)
		status = run_selftest();
	else
		status = ranged(what, script, first, at);
	if (!keep)
		rmdir(base);
	munmap(shared, sizeof(*shared));
	return status;
}
