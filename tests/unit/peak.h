/* SPDX-License-Identifier: Apache-2.0 */
/* peak.h - the most memory that a process had at one time, from a moment on. */
#ifndef TH_TESTS_PEAK_H
#define TH_TESTS_PEAK_H

#include "unit.h"

#include <stdio.h>
#include <string.h>

/* VmRSS, VmHWM of /proc/PID/status, in KiB. */
static inline long peak_read(int64_t pid, const char *name)
{
	char path[64], line[256];
	long found = -1;

	snprintf(path, sizeof(path), "/proc/%lld/status", (long long)pid);
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	while (found < 0 && fgets(line, sizeof(line), f))
		if (strncmp(line, name, strlen(name)) == 0)
			found = strtol(line + strlen(name) + 1, NULL, 10);
	fclose(f);
	assert_true(found > 0);
	return found;
}

/* What it has now; the kernel forgets its peak (proc_pid_clear_refs(5)). */
static inline long peak_begin(int64_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%lld/clear_refs", (long long)pid);
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs("5", f) >= 0);
	assert_int_equal(fclose(f), 0);
	return peak_read(pid, "VmRSS");
}

static inline long peak_since(int64_t pid, long begin)
{
	return peak_read(pid, "VmHWM") - begin;
}

/*
 * KiB that a flood may cost a tool, and an executor, which has the TH_TOOL_OUTPUT_MAX of it that
 * the log gets in memory when the call is over (docs/LIMITS.md).  A sanitizer's build holds back
 * what was freed.
 */
#ifdef TH_SANITIZED
#define PEAK_OF_A_FLOOD (24 * 1024)
#define PEAK_OF_ITS_OUTCOME (24 * 1024)
#else
#define PEAK_OF_A_FLOOD 1024
#define PEAK_OF_ITS_OUTCOME (4 * 1024)
#endif

#endif
