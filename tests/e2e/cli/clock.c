/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.c - a clock that a test turns forward, for a program that is started with it (LD_PRELOAD).
 *
 * TH_TEST_CLOCK names a file of 16 bytes: nanoseconds that the clocks since boot are ahead, and
 * those that the time of day is ahead.  A wait for events ends soon and is begun anew by who waits,
 * so that what is due then is seen.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS 20
#define NS 1000000000

static const volatile int64_t *ahead; /* NULL: the clocks are as they are */

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("TH_TEST_CLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *map;

	if (fd < 0)
		return;
	map = mmap(NULL, 2 * sizeof(*ahead), PROT_READ, MAP_SHARED, fd, 0);
	(void)close(fd);
	if (map != MAP_FAILED)
		ahead = (const volatile int64_t *)map;
}

static void *next(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (!found)
		abort();
	return found;
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *ret)
{
	static int (*real)(clockid_t, struct timespec *);
	int64_t ns;
	int code;

	if (!real)
		real = (int (*)(clockid_t, struct timespec *))next("clock_gettime");
	code = real(id, ret);
	if (code || !ahead || id == CLOCK_PROCESS_CPUTIME_ID || id == CLOCK_THREAD_CPUTIME_ID)
		return code;
	ns = ret->tv_nsec + ahead[id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE];
	ret->tv_sec += ns / NS;
	ret->tv_nsec = ns % NS;
	return 0;
}

/* Nothing is due where a wait has no end; libuv does not stand that such a one ends with nothing.
 */
static int shortened(int timeout_ms)
{
	return ahead && timeout_ms > WAIT_MS ? WAIT_MS : timeout_ms;
}

__attribute__((visibility("default"))) int epoll_pwait(int fd, struct epoll_event *events, int max,
						       int timeout_ms, const sigset_t *mask)
{
	static int (*real)(int, struct epoll_event *, int, int, const sigset_t *);

	if (!real)
		real = (int (*)(int, struct epoll_event *, int, int, const sigset_t *))next(
		    "epoll_pwait");
	return real(fd, events, max, shortened(timeout_ms), mask);
}

__attribute__((visibility("default"))) int epoll_wait(int fd, struct epoll_event *events, int max,
						      int timeout_ms)
{
	return epoll_pwait(fd, events, max, timeout_ms, NULL);
}
