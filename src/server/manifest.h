/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manifest.h - what was in a session's folder at its start, and what has
 * changed since.
 *
 * The manifest is kept in a folder of its own that the session's tools do not
 * have: a file "manifest" with the list, and copies of small texts, each under
 * the SHA-256 of its bytes.  A folder that was empty has none: without a
 * manifest everything was added.
 *
 * All of it blocks as the disk does, within its limits.  Thread-safe.
 */
#ifndef TH_SERVER_MANIFEST_H
#define TH_SERVER_MANIFEST_H

#include "io/folder.h"

struct th_manifest_limits {
	struct th_folder_limits tree;
	size_t compare, compare_all; /* bytes of contents: of one file, of all */
	size_t copy, copies;         /* and that are kept */
};
/* Those of limits.h. */
extern const struct th_manifest_limits th_manifest_limits;

/* Of the folder `dir_fd`, into `kept`, a path, made when missing.  Nothing is written when the
 * folder is empty or there is a manifest already. */
TH_NODISCARD enum th_code th_manifest_begin(int dir_fd, const char *kept,
					    const struct th_manifest_limits *limits,
					    struct th_err *err);

/* What has changed, as JSON: {"files", "complete", "reason"}; docs/HTTP.md. */
TH_NODISCARD enum th_code th_manifest_changes(int dir_fd, const char *kept,
					      const struct th_manifest_limits *limits,
					      struct th_buf *out, struct th_err *err);

/* Changes of one file as a unified diff.  TH_ENOENT: it is not there and was not; TH_EPROTO: one of
 * both is no text, or what it was is not kept; TH_ELIMIT. */
TH_NODISCARD enum th_code th_manifest_diff(int dir_fd, const char *kept, struct th_str path,
					   struct th_buf *out, struct th_err *err);

/* Bytes without NUL that are UTF-8; the last character may be cut off when `cut`. */
bool th_is_text(struct th_str bytes, bool cut);

#endif
