/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool.h - the output of a running command on disk, so that whoever comes
 * later can read on from any offset: the first TH_SPOOL_HEAD bytes and the
 * last TH_SPOOL_TAIL, however much there was.
 *
 * Never flushed: it survives the end of the executor, not a power cut.  A disk
 * that takes no more ends the spool, not the command.
 */
#ifndef TH_EXECUTOR_SPOOL_H
#define TH_EXECUTOR_SPOOL_H

#include "base/buf.h"
#include "base/err.h"

#define TH_SPOOL_HEAD (TH_TOOL_OUTPUT_MAX / 2)
#define TH_SPOOL_TAIL (TH_TOOL_OUTPUT_MAX - TH_SPOOL_HEAD)

struct th_spool {
	int fd;        /* -1: nothing was written, or the disk takes no more */
	uint64_t size; /* of all output */
	uint64_t kept; /* the part of it that was written, the middle included */
};

static inline void th_spool_init(struct th_spool *s)
{
	*s = (struct th_spool){ .fd = -1 };
}
void th_spool_close(struct th_spool *s); /* the file stays */

/* The file is made by the first append. */
void th_spool_append(struct th_spool *s, int dir_fd, const char *name, struct th_str bytes);
/* An old one, for reading.  TH_ENOENT: there was no output. */
TH_NODISCARD enum th_code th_spool_open(struct th_spool *s, int dir_fd, const char *name,
					struct th_err *err);

/* Appends up to `len` bytes that stand at `offset` or, where the middle is lost, behind it; *ret is
 * where they stand.  Nothing at the end. */
TH_NODISCARD enum th_code th_spool_read(const struct th_spool *s, uint64_t offset, size_t len,
					struct th_buf *out, uint64_t *ret, struct th_err *err);

#endif
