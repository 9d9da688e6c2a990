/* SPDX-License-Identifier: Apache-2.0 */
#include "points.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "io/files.h"

#define CHILD_SECONDS 120 /* no point hangs */

static const int crashes[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL };
static char folder[64];

int point_run(int (*fn)(void *ctx), void *ctx)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	fflush(stderr);
	pid = fork();
	if (pid < 0)
		return 100;
	if (pid == 0) {
		/* cmocka's would go on with the next test. */
		for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
			signal(crashes[i], SIG_DFL);
		alarm(CHILD_SECONDS);
		_exit(fn(ctx));
	}
	while (waitpid(pid, &status, 0) != pid)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

void point_done(void)
{
	struct th_err err;

	if (folder[0] && th_dir_remove(folder, &err) != TH_OK)
		fprintf(stderr, "%s\n", err.msg);
	folder[0] = 0;
}

const char *point_folder(void)
{
	point_done();
	snprintf(folder, sizeof(folder), "%s/th-faults-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(folder))
		abort();
	return folder;
}

static void copy_file(int from_dir, int to_dir, const char *name)
{
	int from = openat(from_dir, name, O_RDONLY | O_CLOEXEC);
	int to = openat(to_dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct stat st;

	if (from < 0 || to < 0 || fstat(from, &st) != 0)
		abort();
	if (S_ISREG(st.st_mode))
		while (sendfile(to, from, NULL, 1 << 20) > 0)
			;
	close(from);
	close(to);
}

void point_copy(const char *from, const char *to)
{
	DIR *dir = opendir(from);
	int to_fd = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *e;

	if (!dir || to_fd < 0)
		abort();
	while ((e = readdir(dir)))
		if (e->d_type == DT_REG)
			copy_file(dirfd(dir), to_fd, e->d_name);
	closedir(dir);
	close(to_fd);
}

bool point_all(void)
{
	const char *text = getenv("TH_TORTURE");

	return text && *text;
}

long point_step(long count, long quick)
{
#ifdef SHIM_WRAP /* a child with a sanitizer takes ten times as long */
	quick /= 4;
#endif
	return point_all() || count <= quick ? 1 : count / quick;
}
