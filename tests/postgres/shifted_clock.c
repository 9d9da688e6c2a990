/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shifted_clock.c - LD_PRELOAD of this gives a program of the tests a wall clock that is
 * SHIFTED_CLOCK_S seconds off. Clocks that only count on are as they are.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

static long shift_s(void)
{
	static long shift;
	static int known;
	const char *text;

	if (!known) {
		text = getenv("SHIFTED_CLOCK_S");
		shift = text ? strtol(text, NULL, 10) : 0;
		known = 1;
	}
	return shift;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	static int (*real)(clockid_t, struct timespec *);
	void *symbol;
	int status;

	if (!real) {
		symbol = dlsym(RTLD_NEXT, "clock_gettime");
		memcpy(&real, &symbol, sizeof(real));
	}
	status = real(id, ts);
	if (status == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		ts->tv_sec += shift_s();
	return status;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec ts;

	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &ts) != 0)
		return -1;
	*tv = (struct timeval){ ts.tv_sec, ts.tv_nsec / 1000 };
	return 0;
}

time_t time(time_t *ret)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_REALTIME, &ts) != 0)
		return (time_t)-1;
	if (ret)
		*ret = ts.tv_sec;
	return ts.tv_sec;
}
