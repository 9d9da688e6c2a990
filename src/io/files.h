/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files.h - whole files, safe writes, our own folders, and opening inside a
 * workspace.
 *
 * Everything here blocks for as long as the disk does: not for the loop
 * thread of a busy runtime, but for start-up, workers and the executor.
 * Thread-safe.  Errors name the path and what the system said.
 */
#ifndef TH_IO_FILES_H
#define TH_IO_FILES_H

#include <sys/types.h>

#include "base/arena.h"
#include "base/buf.h"

/* Appends all of a file (pipe, /proc file) to `out`.  TH_ELIMIT: larger than size_max. */
TH_NODISCARD enum th_code th_file_read(const char *path, size_t size_max, struct th_buf *out,
				       struct th_err *err);
/* The same of a file with secrets.  TH_EPERM: others may read it. */
TH_NODISCARD enum th_code th_file_read_private(const char *path, size_t size_max,
					       struct th_buf *out, struct th_err *err);
TH_NODISCARD enum th_code th_file_read_fd(int fd, size_t size_max, struct th_buf *out,
					  struct th_err *err);

/* All of it or an error. */
TH_NODISCARD enum th_code th_file_write_fd(int fd, struct th_str bytes, struct th_err *err);

/*
 * Replaces `path` in one step: a temporary file beside it, fsync, rename,
 * fsync of the folder.  Afterwards it is the old or the new file, whatever
 * fails; a temporary file is not left behind (a crash excepted).
 */
TH_NODISCARD enum th_code th_file_write(const char *path, struct th_str bytes, mode_t mode,
					struct th_err *err);
/* The same for a name in a folder that is already open; `name` has no slash. */
TH_NODISCARD enum th_code th_file_write_at(int dir_fd, const char *name, struct th_str bytes,
					   mode_t mode, struct th_err *err);

/* Behind what is there, durable when it returns.  TH_ENOENT: there is no such file. */
TH_NODISCARD enum th_code th_file_append(const char *path, struct th_str bytes, struct th_err *err);

/* mkdir -p; new folders get `mode`.  TH_OK also when it is there already. */
TH_NODISCARD enum th_code th_dir_make(const char *path, mode_t mode, struct th_err *err);

/* Whether nothing is in an open folder; false also when that cannot be found out. */
bool th_dir_is_empty(int dir_fd);

/* Removes a folder and what is in it; never follows a symlink or crosses into another file system.
 */
TH_NODISCARD enum th_code th_dir_remove(const char *path, struct th_err *err);

/*
 * Our own folders (XDG base directories), "…/thole" made 0700 when missing.
 * Without HOME the account's home is taken; without XDG_RUNTIME_DIR, or when it
 * is not ours, $TMPDIR or /tmp gives "thole-<uid>", refused unless it is a
 * folder of ours with mode 0700.
 */
enum th_dir_kind {
	TH_DIR_STATE,
	TH_DIR_RUNTIME,
	TH_DIR_CONFIG,
	TH_DIR_DATA,
	TH_DIR_CACHE,
	TH_DIR_KIND_COUNT
};
TH_NODISCARD enum th_code th_dir_of(enum th_dir_kind kind, struct th_buf *out, struct th_err *err);
/* The same folder with links resolved, if it is there; makes nothing.  TH_ENOENT. */
TH_NODISCARD enum th_code th_dir_find(enum th_dir_kind kind, struct th_buf *out,
				      struct th_err *err);

/*
 * Opens `path` inside the folder `dir_fd` as openat does, and never outside:
 * "..", absolute paths and symlinks that lead out are TH_EPERM (openat2,
 * RESOLVE_BENEATH; on a kernel without it all links and ".." are refused).  `path` may be "" or "."
 * for the folder itself.  O_CLOEXEC is added; *ret_fd is the caller's.  TH_EUSAGE: NUL in the path
 * or too long.
 */
TH_NODISCARD enum th_code th_open_beneath(int dir_fd, struct th_str path, int flags, mode_t mode,
					  int *ret_fd, struct th_err *err);

/* close() that takes -1 and keeps errno; sets *fd to -1.  For TH_CLEANUP too. */
void th_fd_close(int *fd);
TH_NODISCARD enum th_code th_fd_nonblock(int fd, struct th_err *err);
/* This process may open as many as the system lets it. */
void th_fds_raise(void);

/* TH_ENOENT, TH_EEXIST, TH_EPERM, TH_ELIMIT (full disk, descriptors), TH_ECONN … else TH_EIO. */
enum th_code th_code_of_errno(int errnum);
/* "<what>: <what the system says>" with the code of th_code_of_errno. */
TH_PRINTF(3, 4) enum th_code th_fail_errno(struct th_err *err, int errnum, const char *fmt, ...);

#endif
