/* SPDX-License-Identifier: Apache-2.0 */
#include "exec_client/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "computer/computer.h"
#include "io/files.h"
#include "io/sock.h"

enum { LOCK_START, LOCK_LIFE };

static enum th_code lock(int fd, int which, bool wait, struct th_err *err)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = which, .l_len = 1 };
	int status;
	do
		status = fcntl(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &l);
	while (status < 0 && errno == EINTR);
	if (status == 0)
		return TH_OK;
	if (errno == EAGAIN || errno == EACCES)
		return TH_EBUSY;
	return th_fail_errno(err, errno, "lock the executor's folder");
}

/* Whether the name still leads to what we locked: an executor that ended removes its folder. */
static bool still_there(struct th_executor_claim *x)
{
	struct stat ours, named;
	return fstat(x->lock_fd, &ours) == 0 &&
	       fstatat(x->state_fd, "lock", &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       ours.st_ino == named.st_ino && ours.st_dev == named.st_dev &&
	       fstat(x->state_fd, &ours) == 0 && stat(x->state_dir, &named) == 0 &&
	       ours.st_ino == named.st_ino && ours.st_dev == named.st_dev;
}

static enum th_code open_state(struct th_executor_claim *x, struct th_err *err)
{
	enum th_code code = th_dir_make(x->state_dir, 0700, err);
	if (code)
		return code;
	th_fd_close(&x->state_fd);
	th_fd_close(&x->lock_fd);
	x->state_fd = open(x->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (x->state_fd < 0)
		return th_fail_errno(err, errno, "%s", x->state_dir);
	x->lock_fd = openat(x->state_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	return x->lock_fd < 0 ? th_fail_errno(err, errno, "%s/lock", x->state_dir) : TH_OK;
}

/* The socket of the present or last owner of the session; false: unknown. */
static bool announced(struct th_executor_claim *x, struct th_buf *ret)
{
	char text[TH_PATH_LEN_MAX];
	ssize_t len = pread(x->lock_fd, text, sizeof(text), 0);
	struct th_str rest = th_str_n(text, len > 0 ? (size_t)len : 0);
	struct th_str socket = th_str_split(&rest, '\n');

	th_buf_clear(ret);
	if (!th_str_starts(socket, TH_STR("/")) || !th_str_ends(socket, TH_STR(".sock")) ||
	    memchr(socket.ptr, '\0', socket.len))
		return false;
	th_buf_add(ret, socket);
	return true;
}

/* Somebody else has the session and listens at *ret. */
static bool other_listens(struct th_executor_claim *x, struct th_buf *ret)
{
	struct th_pipe pipe;

	if (!announced(x, ret))
		return false;
	th_pipe_init(&pipe, -1);
	bool there = th_pipe_connect(&pipe, ret->ptr, NULL) == TH_OK;
	th_pipe_deinit(&pipe);
	return there;
}

static bool is_ours(const char *path, mode_t type)
{
	struct stat st;

	return lstat(path, &st) == 0 && (st.st_mode & S_IFMT) == type && st.st_uid == geteuid();
}

/* The folder of a killed one's computer; the next one of the session gets what stays of it. */
static void remove_computer(struct th_buf *path, bool for_good)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf inside = TH_BUF_INIT(TH_PATH_LEN_MAX);
	TH_CLEANUP(th_buf_deinit) struct th_buf stayed = TH_BUF_INIT(TH_PATH_LEN_MAX);
	struct stat st;

	th_buf_printf(&inside, "%s/" TH_COMPUTER_STAYS, path->ptr);
	th_buf_printf(&stayed, "%s-" TH_COMPUTER_STAYS, path->ptr);
	if (inside.failed || stayed.failed)
		return;
	if (is_ours(path->ptr, S_IFDIR)) {
		if (!for_good && lstat(inside.ptr, &st) == 0 && S_ISDIR(st.st_mode)) {
			(void)!th_dir_remove(stayed.ptr, NULL);
			(void)!rename(inside.ptr, stayed.ptr); /* else the next begins without */
		}
		(void)!th_dir_remove(path->ptr, NULL);
	}
	if (for_good && lstat(stayed.ptr, &st) == 0 && S_ISDIR(st.st_mode))
		(void)!th_dir_remove(stayed.ptr, NULL);
}

/* What a killed one left outside its folder; the locks are ours. */
static void remove_stale(struct th_executor_claim *x, bool for_good)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf path = TH_BUF_INIT(TH_PATH_LEN_MAX);
	char tmp[TH_PATH_LEN_MAX];

	if (th_executor_visible_tmp(x->state_dir, tmp))
		(void)!th_dir_remove(tmp, NULL);
	if (!announced(x, &path))
		return;
	if (is_ours(path.ptr, S_IFSOCK))
		unlink(path.ptr);
	th_buf_truncate(&path, path.len - 5);
	th_buf_add(&path, TH_STR(".pem"));
	if (is_ours(path.ptr, S_IFREG))
		unlink(path.ptr);
	th_buf_truncate(&path, path.len - 4);
	th_buf_add(&path, TH_STR(".d"));
	remove_computer(&path, for_good);
}

static enum th_code claim(struct th_executor_claim *x, bool for_good, struct th_buf *other,
			  struct th_err *err)
{
	for (int tries = 0; tries < 100; tries++) {
		enum th_code code = open_state(x, err);
		if (code == TH_OK)
			code = lock(x->lock_fd, LOCK_START, true, err);
		if (code)
			return code;
		code = lock(x->lock_fd, LOCK_LIFE, false, err);
		if (code == TH_EBUSY) {
			if (other_listens(x, other))
				return TH_OK;
			/* It is ending; our starter waits for us only so long. */
			code = lock(x->lock_fd, LOCK_LIFE, true, err);
		}
		if (code)
			return code;
		th_buf_clear(other);
		if (still_there(x)) {
			remove_stale(x, for_good);
			return TH_OK;
		}
	}
	return th_fail(err, TH_EBUSY, "%s is removed again and again", x->state_dir);
}

enum th_code th_executor_claim(struct th_executor_claim *x, struct th_buf *other,
			       struct th_err *err)
{
	return claim(x, false, other, err);
}

void th_executor_claim_started(const struct th_executor_claim *x)
{
	struct flock l = {
		.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = LOCK_START, .l_len = 1
	};
	(void)fcntl(x->lock_fd, F_OFD_SETLK, &l);
}

bool th_executor_visible_tmp(const char *state_dir, char path[static TH_PATH_LEN_MAX])
{
	const char *key = strrchr(state_dir, '/');
	int n = snprintf(path, TH_PATH_LEN_MAX, "/tmp/thole-%u-%s.tmp", (unsigned)geteuid(),
			 key ? key + 1 : "");
	return n > 0 && n < TH_PATH_LEN_MAX;
}

enum th_code th_executor_remove(const char *state_dir, struct th_err *err)
{
	struct th_executor_claim x = { .state_dir = state_dir, .state_fd = -1, .lock_fd = -1 };
	TH_CLEANUP(th_buf_deinit) struct th_buf other = TH_BUF_INIT(TH_PATH_LEN_MAX);

	if (access(state_dir, F_OK) < 0)
		return TH_OK;
	enum th_code code = claim(&x, true, &other, err);
	if (code == TH_OK && other.len > 0)
		code = th_fail(err, TH_EBUSY, "an executor runs in %s", state_dir);
	else if (code == TH_OK)
		code = th_dir_remove(state_dir, err);
	th_fd_close(&x.lock_fd);
	th_fd_close(&x.state_fd);
	return code;
}
