/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.h - a file of the workspace that a tool changes: where it is, what is
 * there, and changing it in one step.
 *
 * All of it blocks, and is done between th_tool_owner_enter and _leave.  A
 * place keeps what was last seen there; the kernel decides what is inside the
 * workspace, each time anew (path.h).
 */
#ifndef TH_TOOLS_PLACE_H
#define TH_TOOLS_PLACE_H

#include <time.h>

#include "base/hash.h"
#include "base/limits.h"
#include "tools/path.h"

/* Of a file that is only looked at: its digest is made by a worker that nothing can stop. */
#define TH_PLACE_SIZE_MAX ((size_t)128 * TH_MIB)

struct th_place {
	char path[TH_PATH_LEN_MAX]; /* relative to the workspace, links at its end followed */
	bool link; /* not followed: it is a link itself, and its content is where that leads */
	/* What is there, since the last look. */
	bool exists;
	mode_t mode; /* of a new one: 0644 */
	int64_t size;
	ino_t inode;
	struct timespec changed; /* its inode's last change */
	struct th_digest digest;
};

/* Where a path that a model named leads.  TH_EPERM, TH_EUSAGE: nowhere that it may go. */
TH_NODISCARD enum th_code th_place_find(const struct th_tool_env *env, struct th_str asked,
					struct th_place *ret, struct th_err *err);

/* The same for who takes the name away: a link at its end is that link, wherever it leads. */
TH_NODISCARD enum th_code th_place_find_name(const struct th_tool_env *env, struct th_str asked,
					     struct th_place *ret, struct th_err *err);

/* Looks; a missing file is fine, a folder or device is TH_EUSAGE.  `content` may be NULL; a file
 * larger than it has room for, or than TH_PLACE_SIZE_MAX, is TH_ELIMIT and not read. */
TH_NODISCARD enum th_code th_place_look(const struct th_tool_env *env, struct th_place *p,
					struct th_buf *content, struct th_err *err);

/* Whether nothing has touched the file since that look: by its inode's times, so that a large file
 * is not read again. */
TH_NODISCARD enum th_code th_place_still(const struct th_tool_env *env, const struct th_place *p,
					 bool *ret, struct th_err *err);

/* Opens the folder that the file is in; what is missing is made, or TH_ENOENT.  *ret_name: of the
 * file in it. */
TH_NODISCARD enum th_code th_place_folder(const struct th_tool_env *env, const struct th_place *p,
					  bool make, int *ret_fd, const char **ret_name,
					  struct th_err *err);

/* The whole file, new or instead of the old one (of a link: new); missing folders are made.
 * *touched: it may have been written although it failed. */
TH_NODISCARD enum th_code th_place_write(const struct th_tool_env *env, const struct th_place *p,
					 struct th_str content, bool *touched, struct th_err *err);

/* Takes the file away; folders stay. */
TH_NODISCARD enum th_code th_place_remove(const struct th_tool_env *env, const struct th_place *p,
					  struct th_err *err);

/* "key": the digest, or null when there is no file. */
void th_place_put_digest(struct th_jw *w, const char *key, bool exists, const struct th_digest *d);

#endif
