/* SPDX-License-Identifier: Apache-2.0 */
/*
 * killer.c - runs thole and kills it at one of its commits.
 *
 *	killer REPORT AT SESSION PROGRAM ARGUMENT...
 *
 * Counts PROGRAM's commits (two stops each: STOPS_COMMITS) and sends it SIGKILL
 * at stop AT; 0: never.  SESSION: the executor of the session of that name is
 * killed with it, "-": it lives on.  The file REPORT then holds "STOPS KILLED".
 * The exit status is PROGRAM's, 137 where it was killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
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

int main(int argc, char **argv)
{
	struct tracer t = { .victim = VICTIM_RUNTIME, .stops = STOPS_COMMITS };
	FILE *report;
	int status;

	if (argc < 5)
		die("usage: killer REPORT AT SESSION PROGRAM ARGUMENT...");
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
