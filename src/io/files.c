/* SPDX-License-Identifier: Apache-2.0 */
/* files.c - see files.h. */
#include "io/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/clock.h"

enum th_code th_code_of_errno(int errnum)
{
	switch (errnum) {
	case ENOENT:
	case ENOTDIR:
	case ESRCH:
		return TH_ENOENT;
	case EEXIST:
	case ENOTEMPTY:
		return TH_EEXIST;
	case EACCES:
	case EPERM:
	case EROFS:
		return TH_EPERM;
	case EBUSY:
	case ETXTBSY:
	case EADDRINUSE:
		return TH_EBUSY;
	case ENOMEM:
		return TH_ENOMEM;
	case EMFILE:
	case ENFILE:
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
	case ENAMETOOLONG:
		return TH_ELIMIT;
	case ETIMEDOUT:
		return TH_ETIMEOUT;
	case ECONNREFUSED:
	case ECONNRESET:
	case ECONNABORTED:
	case ENOTCONN:
	case EPIPE:
	case EHOSTUNREACH:
	case ENETUNREACH:
		return TH_ECONN;
	case ENOSYS:
	case EOPNOTSUPP:
		return TH_EUNSUPPORTED;
	default:
		return TH_EIO;
	}
}

enum th_code th_fail_errno(struct th_err *err, int errnum, const char *fmt, ...)
{
	char what[TH_ERR_MSG_MAX], why[128];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return th_fail(err, th_code_of_errno(errnum), "%s: %s", what,
		       strerror_r(errnum, why, sizeof(why)));
}

void th_fd_close(int *fd)
{
	int saved = errno;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}

void th_fds_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

enum th_code th_fd_nonblock(int fd, struct th_err *err)
{
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return th_fail_errno(err, errno, "make a descriptor non-blocking");
	return TH_OK;
}

/* ---- reading ---- */

enum th_code th_file_read_fd(int fd, size_t size_max, struct th_buf *out, struct th_err *err)
{
	struct stat st;
	size_t start = out->len;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		if (st.st_size > 0 && (uint64_t)st.st_size > size_max)
			return th_fail(err, TH_ELIMIT, "larger than %zu bytes", size_max);
		th_buf_reserve(out, (size_t)st.st_size + 1);
	}
	for (;;) {
		char chunk[16384];
		ssize_t got = read(fd, chunk, sizeof(chunk));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return th_fail_errno(err, errno, "read");
		if (got == 0)
			return th_buf_check(out, "what was read", err);
		if (out->len - start + (size_t)got > size_max)
			return th_fail(err, TH_ELIMIT, "larger than %zu bytes", size_max);
		th_buf_add_mem(out, chunk, (size_t)got);
	}
}

enum th_code th_file_read(const char *path, size_t size_max, struct th_buf *out, struct th_err *err)
{
	TH_CLEANUP(th_fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return th_fail_errno(err, errno, "%s", path);
	enum th_code code = th_file_read_fd(fd, size_max, out, err);
	return code ? th_prefix(err, code, "%s", path) : TH_OK;
}

enum th_code th_file_read_private(const char *path, size_t size_max, struct th_buf *out,
				  struct th_err *err)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return th_fail_errno(err, errno, "%s", path);
	if (S_ISREG(st.st_mode) && (st.st_mode & 077))
		return th_fail(err, TH_EPERM, "%s: others may read it; chmod 600 it", path);
	return th_file_read(path, size_max, out, err);
}

/* ---- writing ---- */

enum th_code th_file_write_fd(int fd, struct th_str bytes, struct th_err *err)
{
	while (bytes.len > 0) {
		ssize_t put = write(fd, bytes.ptr, bytes.len);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return th_fail_errno(err, errno, "write");
		bytes = th_str_sub(bytes, (size_t)put, bytes.len);
	}
	return TH_OK;
}

static enum th_code write_temp(int fd, struct th_str bytes, mode_t mode, struct th_err *err)
{
	enum th_code code = th_file_write_fd(fd, bytes, err);
	if (code)
		return code;
	if (fchmod(fd, mode) < 0)
		return th_fail_errno(err, errno, "set the mode");
	if (fsync(fd) < 0)
		return th_fail_errno(err, errno, "fsync");
	return TH_OK;
}

enum th_code th_file_write_at(int dir_fd, const char *name, struct th_str bytes, mode_t mode,
			      struct th_err *err)
{
	char temp[64];
	uint64_t random;

	assert(name[0] && !strchr(name, '/'));
	th_random(&random, sizeof(random));
	snprintf(temp, sizeof(temp), ".thole-%016llx.tmp", (unsigned long long)random);
	TH_CLEANUP(th_fd_close)
	int fd = openat(dir_fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return th_fail_errno(err, errno, "%s", name);
	enum th_code code = write_temp(fd, bytes, mode, err);
	if (code == TH_OK && renameat(dir_fd, temp, dir_fd, name) < 0)
		code = th_fail_errno(err, errno, "rename");
	if (code) {
		unlinkat(dir_fd, temp, 0);
		return th_prefix(err, code, "%s", name);
	}
	if (fsync(dir_fd) < 0)
		return th_fail_errno(err, errno, "%s: fsync of its folder", name);
	return TH_OK;
}

enum th_code th_file_write(const char *path, struct th_str bytes, mode_t mode, struct th_err *err)
{
	struct th_str whole = th_str_of(path);
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char dir[TH_PATH_LEN_MAX];

	if (whole.len >= sizeof(dir))
		return th_fail(err, TH_ELIMIT, "a path of %zu bytes is too long", whole.len);
	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return th_fail(err, TH_EUSAGE, "%s: not the name of a file", path);
	size_t dir_len = slash ? (size_t)(name - path) : 0; /* with its slash */
	memcpy(dir, slash ? path : ".", slash ? dir_len : 1);
	dir[slash ? dir_len : 1] = '\0';
	TH_CLEANUP(th_fd_close) int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return th_fail_errno(err, errno, "%s", path);
	enum th_code code = th_file_write_at(dir_fd, name, bytes, mode, err);
	return code && slash ? th_prefix(err, code, "%.*s", (int)dir_len - 1, dir) : code;
}

enum th_code th_file_append(const char *path, struct th_str bytes, struct th_err *err)
{
	TH_CLEANUP(th_fd_close)
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
	enum th_code code;

	if (fd < 0)
		return th_fail_errno(err, errno, "%s", path);
	code = th_file_write_fd(fd, bytes, err);
	if (code == TH_OK && fdatasync(fd) < 0)
		code = th_fail_errno(err, errno, "fdatasync");
	return code ? th_prefix(err, code, "%s", path) : TH_OK;
}

/* ---- folders ---- */

enum th_code th_dir_make(const char *path, mode_t mode, struct th_err *err)
{
	char at[TH_PATH_LEN_MAX];
	size_t len = strlen(path);
	struct stat st;

	if (len == 0 || len >= sizeof(at))
		return th_fail(err, len ? TH_ELIMIT : TH_EUSAGE,
			       "a path of %zu bytes cannot be made", len);
	memcpy(at, path, len + 1);
	for (size_t i = 1; i <= len; i++) {
		if (at[i] != '/' && at[i] != '\0')
			continue;
		char saved = at[i];
		at[i] = '\0';
		if (mkdir(at, mode) < 0 && errno != EEXIST) {
			int errnum = errno;

			if (errnum != EROFS || stat(at, &st) != 0)
				return th_fail_errno(err, errnum, "make the folder %s", at);
		}
		at[i] = saved;
	}
	if (stat(path, &st) < 0)
		return th_fail_errno(err, errno, "%s", path);
	if (!S_ISDIR(st.st_mode))
		return th_fail(err, TH_EEXIST, "%s: exists, but is not a folder", path);
	return TH_OK;
}

bool th_dir_is_empty(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	bool empty;

	if (!dir) {
		th_fd_close(&fd);
		return false;
	}
	errno = 0;
	do
		e = readdir(dir);
	while (e && (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0));
	empty = !e && errno == 0;
	closedir(dir);
	return empty;
}

/* Empties the folder behind fd (taken over).  Depth is bounded by the descriptors a path may need.
 */
static enum th_code empty_dir(int fd, dev_t device, int depth, struct th_err *err)
{
	struct stat st;
	enum th_code code = TH_OK;
	DIR *dir = fdopendir(fd);

	if (!dir) {
		int saved = errno;
		close(fd);
		return th_fail_errno(err, saved, "open a folder");
	}
	for (struct dirent *e; code == TH_OK && (e = readdir(dir));) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
			if (errno != ENOENT)
				code = th_fail_errno(err, errno, "%s", e->d_name);
			continue;
		}
		if (S_ISDIR(st.st_mode)) {
			if (st.st_dev != device || depth == 0) {
				code = th_fail(err, st.st_dev != device ? TH_EBUSY : TH_ELIMIT,
					       "%s: %s", e->d_name,
					       depth ? "another file system is mounted there"
						     : "folders are nested too deep");
				break;
			}
			int sub =
			    openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			if (sub < 0)
				code = th_fail_errno(err, errno, "%s", e->d_name);
			else
				code = empty_dir(sub, device, depth - 1, err);
		}
		if (code == TH_OK &&
		    unlinkat(fd, e->d_name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0) < 0 &&
		    errno != ENOENT)
			code = th_fail_errno(err, errno, "%s", e->d_name);
	}
	closedir(dir);
	return code;
}

enum th_code th_dir_remove(const char *path, struct th_err *err)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		int saved = errno;
		th_fd_close(&fd);
		return th_fail_errno(err, saved, "%s", path);
	}
	enum th_code code = empty_dir(fd, st.st_dev, 128, err);
	if (code)
		return th_prefix(err, code, "remove %s", path);
	if (rmdir(path) < 0)
		return th_fail_errno(err, errno, "remove %s", path);
	return TH_OK;
}

/* ---- our folders ---- */

static const struct {
	const char *variable, *under_home;
} dirs[TH_DIR_KIND_COUNT] = {
	[TH_DIR_STATE] = { "XDG_STATE_HOME", ".local/state" },
	[TH_DIR_RUNTIME] = { "XDG_RUNTIME_DIR", NULL },
	[TH_DIR_CONFIG] = { "XDG_CONFIG_HOME", ".config" },
	[TH_DIR_DATA] = { "XDG_DATA_HOME", ".local/share" },
	[TH_DIR_CACHE] = { "XDG_CACHE_HOME", ".cache" },
};

/* Only absolute paths count (XDG base directory specification). */
static const char *absolute(const char *variable)
{
	const char *value = getenv(variable);
	return value && value[0] == '/' ? value : NULL;
}

static enum th_code add_home(struct th_buf *out, struct th_err *err)
{
	const char *home = absolute("HOME");
	struct passwd entry, *found = NULL;
	char memory[4096];

	if (!home && getpwuid_r(getuid(), &entry, memory, sizeof(memory), &found) == 0 && found &&
	    found->pw_dir && found->pw_dir[0] == '/')
		home = found->pw_dir;
	if (!home)
		return th_fail(err, TH_ENOENT,
			       "no home folder: HOME is not set and the account has none");
	th_buf_add_cstr(out, home);
	return TH_OK;
}

static bool ours(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       (st.st_mode & 077) == 0;
}

static enum th_code add_runtime(struct th_buf *out, struct th_err *err)
{
	const char *dir = absolute("XDG_RUNTIME_DIR");
	if (dir && ours(dir) && access(dir, W_OK) == 0) {
		th_buf_printf(out, "%s/thole", dir);
		return TH_OK;
	}
	th_buf_printf(out, "%s/thole-%u", absolute("TMPDIR") ?: "/tmp", (unsigned)geteuid());
	enum th_code code = th_buf_check(out, "the runtime folder's path", err);
	if (code)
		return code;
	if (mkdir(out->ptr, 0700) < 0 && errno != EEXIST)
		return th_fail_errno(err, errno, "make the folder %s", out->ptr);
	if (!ours(out->ptr))
		return th_fail(err, TH_EPERM,
			       "%s: is there, but not a folder of ours with mode 0700", out->ptr);
	return TH_OK;
}

/* A home that cannot be written is common in containers, so the error says what to do. */
static enum th_code make_ours(enum th_dir_kind kind, const char *path, struct th_err *err)
{
	struct th_err why = {};
	enum th_code code = th_dir_make(path, 0700, &why);

	return code == TH_OK ? TH_OK
			     : th_fail(err, code, "%s (%s names another place)", why.msg,
				       dirs[kind].variable);
}

enum th_code th_dir_of(enum th_dir_kind kind, struct th_buf *out, struct th_err *err)
{
	const char *dir = absolute(dirs[kind].variable);
	enum th_code code = TH_OK;
	struct th_buf path = TH_BUF_INIT(TH_PATH_LEN_MAX);

	assert(kind < TH_DIR_KIND_COUNT);
	if (kind == TH_DIR_RUNTIME) {
		code = add_runtime(&path, err);
	} else if (dir) {
		th_buf_printf(&path, "%s/thole", dir);
	} else {
		code = add_home(&path, err);
		if (code == TH_OK)
			th_buf_printf(&path, "/%s/thole", dirs[kind].under_home);
	}
	if (code == TH_OK)
		code = th_buf_check(&path, "the path of our folder", err);
	if (code == TH_OK)
		code = make_ours(kind, path.ptr, err);
	if (code == TH_OK) {
		th_buf_add(out, th_buf_str(&path));
		code = th_buf_check(out, "the path of our folder", err);
	}
	th_buf_deinit(&path);
	return code;
}

enum th_code th_dir_find(enum th_dir_kind kind, struct th_buf *out, struct th_err *err)
{
	const char *dir = absolute(dirs[kind].variable);
	struct th_buf path = TH_BUF_INIT(TH_PATH_LEN_MAX);
	char real[TH_PATH_LEN_MAX];
	enum th_code code = TH_OK;

	if (kind == TH_DIR_RUNTIME && (!dir || !ours(dir) || access(dir, W_OK) < 0))
		th_buf_printf(&path, "%s/thole-%u", absolute("TMPDIR") ?: "/tmp",
			      (unsigned)geteuid());
	else if (dir)
		th_buf_printf(&path, "%s/thole", dir);
	else if ((code = add_home(&path, err)) == TH_OK)
		th_buf_printf(&path, "/%s/thole", dirs[kind].under_home);
	if (code == TH_OK)
		code = th_buf_check(&path, "the path of our folder", err);
	if (code == TH_OK && !realpath(path.ptr, real))
		code = th_fail_errno(err, errno, "%s", path.ptr);
	if (code == TH_OK)
		th_buf_add_cstr(out, real);
	th_buf_deinit(&path);
	return code;
}

/* ---- inside a workspace ---- */

/* Without openat2 (valgrind, gVisor, Linux before 5.6): part by part, no links and no ".." at all.
 */
static enum th_code open_by_parts(int dir_fd, struct th_str path, int flags, mode_t mode,
				  int *ret_fd, struct th_err *err)
{
	struct th_str rest = path;
	char name[TH_PATH_LEN_MAX];
	TH_CLEANUP(th_fd_close) int at = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);

	if (path.len > 0 && path.ptr[0] == '/')
		return th_fail(err, TH_EPERM, "%.*s: leads out of the workspace", TH_FMT(path));
	for (bool last = false; !last;) {
		struct th_str part = th_str_split(&rest, '/');
		last = rest.len == 0;
		if (th_str_is(part, ".."))
			return th_fail(err, TH_EPERM, "%.*s: leads out of the workspace",
				       TH_FMT(path));
		snprintf(name, sizeof(name), "%.*s", TH_FMT(part));
		int fd =
		    openat(at, part.len ? name : ".",
			   (last ? flags : O_PATH | O_DIRECTORY) | O_NOFOLLOW | O_CLOEXEC, mode);
		if (fd < 0 && (errno == ELOOP || errno == ENOTDIR) && part.len) {
			struct stat st;
			if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
				return th_fail(err, TH_EPERM,
					       "%.*s: a link that may not be followed",
					       TH_FMT(path));
			errno = ENOTDIR;
		}
		if (fd < 0)
			return th_fail_errno(err, errno, "%.*s", TH_FMT(path));
		th_fd_close(&at);
		at = fd;
	}
	*ret_fd = at;
	at = -1;
	return TH_OK;
}

enum th_code th_open_beneath(int dir_fd, struct th_str path, int flags, mode_t mode, int *ret_fd,
			     struct th_err *err)
{
	char name[TH_PATH_LEN_MAX];
	struct open_how how = { .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };

	if (path.len >= sizeof(name))
		return th_fail(err, TH_EUSAGE, "a path of %zu bytes is too long", path.len);
	if (path.len && memchr(path.ptr, '\0', path.len))
		return th_fail(err, TH_EUSAGE, "a path must not hold a NUL byte");
	if (path.len)
		memcpy(name, path.ptr, path.len);
	name[path.len] = '\0';
	how.flags = (uint64_t)(unsigned)flags | O_CLOEXEC;
	if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE)
		how.mode = mode;
	for (int tries = 0;; tries++) {
		int fd =
		    (int)syscall(SYS_openat2, dir_fd, path.len ? name : ".", &how, sizeof(how));
		if (fd >= 0) {
			*ret_fd = fd;
			return TH_OK;
		}
		/* EAGAIN: something was renamed meanwhile and the kernel could not be sure. */
		if ((errno == EAGAIN || errno == EINTR) && tries < 1000)
			continue;
		if (errno == ENOSYS)
			return open_by_parts(dir_fd, path, flags, mode, ret_fd, err);
		if (errno == EXDEV)
			return th_fail(err, TH_EPERM, "%s: leads out of the workspace", name);
		if (errno == ELOOP)
			return th_fail(err, TH_EPERM, "%s: a link that may not be followed", name);
		return th_fail_errno(err, errno, "%s", path.len ? name : ".");
	}
}
