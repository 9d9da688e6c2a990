/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c - see clock.h. */
#include "io/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

static struct timespec read_clock(clockid_t id)
{
	struct timespec ts;
	int status = clock_gettime(id, &ts);
	assert(status == 0);
	(void)status;
	return ts;
}

uint64_t th_clock_wall_ms(void)
{
	struct timespec ts = read_clock(CLOCK_REALTIME);
	return ts.tv_sec < 0 ? 0 : (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

uint64_t th_clock_ns(void)
{
	struct timespec ts = read_clock(CLOCK_BOOTTIME);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

uint64_t th_clock_ms(void)
{
	return th_clock_ns() / 1000000;
}

void th_random(void *ptr, size_t len)
{
	char *at = (char *)ptr;
	while (len > 0) {
		ssize_t got = getrandom(at, len, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			perror("thole: the kernel gives no random numbers");
			abort();
		}
		at += got;
		len -= (size_t)got;
	}
}

struct th_uuid th_uuid_now(void)
{
	uint8_t random[10];
	th_random(random, sizeof(random));
	return th_uuid7(th_clock_wall_ms(), random);
}
