/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.c - see cgroup.h. */
#include "io/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/clock.h"
#include "io/files.h"

/* Mount point and "0::" line joined. */
bool th_cgroup_own(char *out, size_t size)
{
	char line[512], where[256] = "", mount[256] = "";
	FILE *f = fopen("/proc/self/mountinfo", "re");
	while (f && fgets(line, sizeof(line), f)) {
		const char *type = strstr(line, " - cgroup2 ");
		if (type && sscanf(line, "%*s %*s %*s %*s %255s", mount) == 1)
			break;
	}
	if (f)
		fclose(f);
	f = fopen("/proc/self/cgroup", "re");
	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, "0::", 3) == 0)
			snprintf(where, sizeof(where), "%.*s", (int)strcspn(line + 3, "\n"),
				 line + 3);
	if (f)
		fclose(f);
	if (!mount[0] || where[0] != '/')
		return false;
	return (size_t)snprintf(out, size, "%s%s", mount, where[1] ? where : "") < size;
}

/*
 * Empty groups of processes that were killed before they could remove them.
 * The name holds its maker's number: nobody else's are touched while it lives.
 */
static void sweep(const char *own)
{
	static bool done;
	char path[512];
	unsigned pid;
	DIR *dir = done ? NULL : opendir(own);
	done = true;
	for (struct dirent *e; dir && (e = readdir(dir));)
		if (sscanf(e->d_name, "thole-%u-", &pid) == 1 && kill((pid_t)pid, 0) < 0 &&
		    errno == ESRCH &&
		    (size_t)snprintf(path, sizeof(path), "%s/%s", own, e->d_name) < sizeof(path))
			rmdir(path); /* refused while something lives in it */
	if (dir)
		closedir(dir);
}

bool th_cgroup_new(struct th_cgroup *ret)
{
	char own[200], file[sizeof(ret->path) + 16];
	uint64_t random;

	*ret = (struct th_cgroup){ .procs_fd = -1 };
	if (!th_cgroup_own(own, sizeof(own)))
		return false;
	sweep(own);
	th_random(&random, sizeof(random));
	snprintf(ret->path, sizeof(ret->path), "%s/thole-%u-%016llx", own, (unsigned)getpid(),
		 (unsigned long long)random);
	if (mkdir(ret->path, 0755) < 0)
		return false;
	snprintf(file, sizeof(file), "%s/cgroup.kill", ret->path);
	if (access(file, W_OK) == 0) {
		snprintf(file, sizeof(file), "%s/cgroup.procs", ret->path);
		ret->procs_fd = open(file, O_WRONLY | O_CLOEXEC);
	}
	if (ret->procs_fd >= 0)
		return true;
	rmdir(ret->path);
	return false;
}

bool th_cgroup_works(void)
{
	struct th_cgroup g;
	return th_cgroup_new(&g) && th_cgroup_free(&g);
}

void th_cgroup_kill(const struct th_cgroup *g)
{
	char file[sizeof(g->path) + 16];
	if (g->procs_fd < 0)
		return;
	snprintf(file, sizeof(file), "%s/cgroup.kill", g->path);
	TH_CLEANUP(th_fd_close) int fd = open(file, O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)!write(fd, "1", 1);
}

bool th_cgroup_empty(const struct th_cgroup *g)
{
	char file[sizeof(g->path) + 16], text[256];
	if (g->procs_fd < 0)
		return true;
	snprintf(file, sizeof(file), "%s/cgroup.events", g->path);
	TH_CLEANUP(th_fd_close) int fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (len < 0)
		return errno == ENOENT || errno == ENODEV;
	text[len] = '\0';
	return strstr(text, "populated 0") != NULL;
}

bool th_cgroup_free(struct th_cgroup *g)
{
	if (g->procs_fd < 0)
		return true;
	if (rmdir(g->path) < 0 && errno != ENOENT)
		return false;
	th_fd_close(&g->procs_fd);
	return true;
}
