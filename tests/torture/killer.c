/* SPDX-License-Identifier: Apache-2.0 */
/*
 * killer.c - runs thole and kills it at one of its commits, or at a system call.
 *
 *	killer REPORT AT SESSION PROGRAM ARGUMENT...
 *	killer --asked FILE FROM TO VICTIM REPORT AT SESSION PROGRAM ARGUMENT...
 *
 * Counts PROGRAM's commits (two stops each: STOPS_COMMITS) and sends it SIGKILL
 * at stop AT; 0: never.  SESSION: the executor of the session of that name is
 * killed with it, "-": it lives on.  The file REPORT then holds "STOPS KILLED".
 * The exit status is PROGRAM's, 137 where it was killed.
 *
 * With --asked all system calls of VICTIM (runtime, executor, or both: those of
 * the executor) count, from when a model has been asked FROM times until it is
 * asked the TOth time.  FILE is where the model's server counts, as an unsigned
 * int in the machine's order.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "torture.h"

#define SKIPPED 77

extern char **environ;

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("killer: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(2);
}

/* What the model's server counts, as it goes on. */
static const atomic_uint *counter(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *at =
	    fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(atomic_uint), PROT_READ, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		die("%s: %s", path, strerror(errno));
	close(fd);
	return at;
}

static enum victim victim(const char *name)
{
	if (strcmp(name, "executor") == 0)
		return VICTIM_EXECUTOR;
	return strcmp(name, "both") == 0 ? VICTIM_BOTH : VICTIM_RUNTIME;
}

int main(int argc, char **argv)
{
	struct tracer t = { .victim = VICTIM_RUNTIME, .stops = STOPS_COMMITS };
	FILE *report;
	int status;

	if (argc > 6 && strcmp(argv[1], "--asked") == 0) {
		t.stops = STOPS_ALL;
		t.asked = counter(argv[2]);
		t.asked_min = (unsigned)strtoul(argv[3], NULL, 10);
		t.asked_max = (unsigned)strtoul(argv[4], NULL, 10);
		t.victim = victim(argv[5]);
		argv += 5;
		argc -= 5;
	}
	if (argc < 5)
		die("usage: killer [--asked FILE FROM TO VICTIM] REPORT AT SESSION PROGRAM "
		    "ARGUMENT...");
	if (!tracer_possible())
		return SKIPPED;
	t.at = strtol(argv[2], NULL, 10);
	t.session = strcmp(argv[3], "-") != 0 ? argv[3] : NULL;
	status = tracer_run(&t, argv + 4, environ, STDOUT_FILENO, STDERR_FILENO);
	if (status == -1)
		die("%s did not end", argv[4]);
	report = fopen(argv[1], "w");
	if (!report || fprintf(report, "%ld %d\n", t.count, t.killed) < 0 || fclose(report) != 0)
		die("%s: %s", argv[1], strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
