/* SPDX-License-Identifier: Apache-2.0 */
/* processes.c - see processes.h. */
#include "io/processes.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "io/files.h"

uint64_t th_processes_alone(uint64_t count)
{
	struct rlimit have;

	/* Nobody may have more than he was given. */
	return getrlimit(RLIMIT_NPROC, &have) == 0 && have.rlim_max < count ? have.rlim_max : count;
}

/* All threads: "0.20 0.18 0.12 1/80 11206", of which 80.  One read, however many there are. */
static uint64_t threads_of_machine(void)
{
	char text[128];
	unsigned long total = 0;
	TH_CLEANUP(th_fd_close) int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

	text[len > 0 ? len : 0] = '\0';
	return sscanf(text, "%*s %*s %*s %*u/%lu", &total) == 1 ? total : 0;
}

uint64_t th_processes_beside(uint64_t count)
{
	uint64_t total = threads_of_machine();

	return total ? th_processes_alone(total + count) : 0;
}
