/* SPDX-License-Identifier: Apache-2.0 */
#include "sqlite/owner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/clock.h"
#include "io/files.h"

#define NOTE_MAX 512 /* what an owner says of itself */

static bool name_ok(struct th_str name)
{
	struct th_uuid ignored;

	return th_uuid_parse(name, &ignored);
}

/* Waits for a lock that a sweeper may hold for a moment. */
static int lock_file(int fd)
{
	int status;

	do
		status = flock(fd, LOCK_EX);
	while (status && errno == EINTR);
	return status;
}

static void say_who(int fd)
{
	char note[NOTE_MAX], host[65] = "?";
	int len;

	(void)gethostname(host, sizeof(host) - 1);
	len = snprintf(note, sizeof(note), "%ld %s %llu\n", (long)getpid(), host,
		       (unsigned long long)th_clock_wall_ms());
	/* Only for the sentence: a full disk must not keep anybody from working. */
	if (pwrite(fd, note, (size_t)len, 0) != len)
		return;
}

/* Removes the files of the dead; who fails to be removed stays. */
static void sweep(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	if (!dir) {
		th_fd_close(&fd);
		return;
	}
	for (size_t left = TH_OWNER_SWEEP_MAX; left > 0 && (entry = readdir(dir)); left--) {
		int file;

		if (!name_ok(th_str_of(entry->d_name)))
			continue;
		file = openat(dir_fd, entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		/* Shared: two who look at the same time must not take each other for the owner. */
		if (file >= 0 && flock(file, LOCK_SH | LOCK_NB) == 0)
			(void)unlinkat(dir_fd, entry->d_name, 0);
		th_fd_close(&file);
	}
	closedir(dir);
}

/* Makes the file.  A sweeper may remove it before it is locked: then once more. */
static enum th_code take_file(struct th_owner *o, const char *folder, int dir_fd,
			      struct th_err *err)
{
	for (;;) {
		struct th_uuid id = th_uuid_now();
		struct stat st;

		th_uuid_text(&id, o->name);
		o->fd = openat(dir_fd, o->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (o->fd < 0)
			return th_fail_errno(err, errno, "make an owner's file in %s", folder);
		if (lock_file(o->fd) != 0 || fstat(o->fd, &st) != 0) {
			int saved = errno;

			(void)unlinkat(dir_fd, o->name, 0);
			th_fd_close(&o->fd);
			return th_fail_errno(err, saved, "lock an owner's file in %s", folder);
		}
		if (st.st_nlink > 0)
			return TH_OK;
		th_fd_close(&o->fd);
	}
}

enum th_code th_owner_take(struct th_owner *o, const char *folder, struct th_err *err)
{
	enum th_code code;
	int dir_fd;

	if (o->fd >= 0)
		return TH_OK;
	if (mkdir(folder, 0700) != 0 && errno != EEXIST)
		return th_fail_errno(err, errno, "make the folder %s", folder);
	dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return th_fail_errno(err, errno, "open the folder %s", folder);
	code = take_file(o, folder, dir_fd, err);
	if (code == TH_OK) {
		say_who(o->fd);
		sweep(dir_fd);
	}
	th_fd_close(&dir_fd);
	return code;
}

void th_owner_drop(struct th_owner *o, const char *folder)
{
	char path[TH_PATH_LEN_MAX];

	if (o->fd < 0)
		return;
	if (snprintf(path, sizeof(path), "%s/%s", folder, o->name) < (int)sizeof(path))
		(void)unlink(path);
	th_fd_close(&o->fd);
}

/* "process 12 on host a since 2026-11-21 04:42 UTC" */
static enum th_code fail_alive(int fd, struct th_err *err)
{
	char note[NOTE_MAX] = "", host[65] = "", since[64] = "";
	ssize_t len = pread(fd, note, sizeof(note) - 1, 0);
	unsigned long long ms = 0;
	long pid = 0;

	if (len <= 0 || sscanf(note, "%ld %64s %llu", &pid, host, &ms) != 3)
		return th_fail(err, TH_EBUSY, "another runtime that lives");
	for (char *p = host; *p; p++) {
		if (*p < ' ' || *p > '~')
			*p = '?';
	}
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(since, sizeof(since), ", there since %Y-%m-%d %H:%M UTC", &tm);
	return th_fail(err, TH_EBUSY, "process %ld on host %s%s", pid, host, since);
}

enum th_code th_owner_check(const char *folder, struct th_str name, struct th_err *err)
{
	char path[TH_PATH_LEN_MAX];
	enum th_code code = TH_OK;
	int fd;

	if (!name_ok(name)) /* nothing that we wrote: nobody can prove to be it */
		return TH_OK;
	if (snprintf(path, sizeof(path), "%s/%.*s", folder, TH_FMT(name)) >= (int)sizeof(path))
		return th_fail(err, TH_EBUSY, "a runtime whose file has too long a name");
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT)
		return TH_OK;
	if (fd < 0)
		return th_fail(err, TH_EBUSY,
			       "a runtime of which nothing is known: cannot open %s (%s)", path,
			       strerrordesc_np(errno));
	if (flock(fd, LOCK_SH | LOCK_NB) == 0)
		(void)unlink(path);
	else if (errno == EWOULDBLOCK)
		code = fail_alive(fd, err);
	else
		code = th_fail(err, TH_EBUSY,
			       "a runtime of which nothing is known: cannot lock %s (%s)", path,
			       strerrordesc_np(errno));
	th_fd_close(&fd);
	return code;
}
