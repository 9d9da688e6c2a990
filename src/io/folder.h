/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder.h - the files below a folder that somebody else may change meanwhile.
 *
 * No link is ever followed, no special file is opened, no other file system is
 * entered: what is read is what is in the folder.  Everything is bounded; what
 * is passed over is told.  All of it blocks as the disk does: for workers.
 * Thread-safe.
 */
#ifndef TH_IO_FOLDER_H
#define TH_IO_FOLDER_H

#include <sys/stat.h>

#include "base/arena.h"
#include "base/buf.h"

enum th_folder_kind { TH_FOLDER_FILE, TH_FOLDER_LINK, TH_FOLDER_SPECIAL };

struct th_folder_entry {
	struct th_str path; /* below the folder; any bytes but NUL */
	enum th_folder_kind kind;
	uint64_t size;
	int64_t mtime_ns;
};

struct th_folder_limits {
	size_t entries; /* files and folders that are looked at */
	size_t depth;   /* folders below each other */
	size_t paths;   /* bytes of all paths */
};

struct th_folder {
	struct th_arena memory;
	struct th_folder_entry *list; /* sorted by path, bytewise */
	size_t count, cap;
	const char *missed; /* why it is not whole, a phrase; NULL: it is */
};

/* Of an open folder. */
void th_folder_read(int dir_fd, const struct th_folder_limits *limits, struct th_folder *ret);
void th_folder_deinit(struct th_folder *t);

/*
 * Opens an ordinary file below the folder to be read.  TH_EUSAGE: the path has an empty part, ".",
 * ".." or NUL; TH_ENOENT; TH_EPERM: it, or a folder on the way, is a link, it may not be read, or
 * it has more names than one and another owner than the folder; TH_EUNSUPPORTED: it is no ordinary
 * file.
 */
TH_NODISCARD enum th_code th_folder_open(int dir_fd, struct th_str path, int *ret_fd,
					 struct stat *ret_stat, struct th_err *err);
/* The text of a link below the folder. */
TH_NODISCARD enum th_code th_folder_link(int dir_fd, struct th_str path, struct th_buf *out,
					 struct th_err *err);

#endif
