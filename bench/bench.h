/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench.h - what the benchmarks share: options as name=value, CPU time and
 * memory of this process.  Each benchmark prints one JSON line.
 */
#ifndef TH_BENCH_BENCH_H
#define TH_BENCH_BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static inline const char *bench_option(int argc, char **argv, const char *name,
				       const char *otherwise)
{
	size_t len = strlen(name);

	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], name, len) == 0 && argv[i][len] == '=')
			return argv[i] + len + 1;
	return otherwise;
}

static inline long bench_number(int argc, char **argv, const char *name, long otherwise)
{
	const char *text = bench_option(argc, argv, name, NULL);

	return text ? strtol(text, NULL, 10) : otherwise;
}

static inline double bench_cpu_us(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static inline double bench_wall_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Resident memory in KiB, from /proc. */
static inline long bench_rss_kb(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kb = 0;

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, "VmRSS:", 6) == 0)
			kb = strtol(line + 6, NULL, 10);
	if (f)
		fclose(f);
	return kb;
}

#endif
