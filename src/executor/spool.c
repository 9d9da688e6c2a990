/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool.c - the file: 8 bytes with the size of all output, the head, and the
 * tail as a ring.
 */
#include "executor/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/files.h"

#define DATA 8

void th_spool_close(struct th_spool *s)
{
	th_fd_close(&s->fd);
}

static bool put(int fd, struct th_str bytes, uint64_t at)
{
	while (bytes.len > 0) {
		ssize_t n = pwrite(fd, bytes.ptr, bytes.len, (off_t)(DATA + at));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		bytes = th_str_sub(bytes, (size_t)n, bytes.len);
		at += (uint64_t)n;
	}
	return true;
}

/* Head and ring, whatever of both is concerned. */
static bool put_all(int fd, struct th_str bytes, uint64_t at)
{
	if (bytes.len > TH_SPOOL_TAIL && at >= TH_SPOOL_HEAD) {
		at += bytes.len - TH_SPOOL_TAIL;
		bytes = th_str_sub(bytes, bytes.len - TH_SPOOL_TAIL, TH_SPOOL_TAIL);
	}
	while (bytes.len > 0) {
		uint64_t to = at, room;
		if (at < TH_SPOOL_HEAD) {
			room = TH_SPOOL_HEAD - at;
		} else {
			uint64_t in_ring = (at - TH_SPOOL_HEAD) % TH_SPOOL_TAIL;
			to = TH_SPOOL_HEAD + in_ring;
			room = TH_SPOOL_TAIL - in_ring;
		}
		struct th_str piece = th_str_sub(bytes, 0, (size_t)room);
		if (!put(fd, piece, to))
			return false;
		bytes = th_str_sub(bytes, piece.len, bytes.len);
		at += piece.len;
	}
	return true;
}

void th_spool_append(struct th_spool *s, int dir_fd, const char *name, struct th_str bytes)
{
	uint64_t at = s->size;
	s->size += bytes.len;
	if (at > 0 && s->fd < 0)
		return; /* given up before */
	if (s->fd < 0)
		s->fd =
		    openat(dir_fd, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->fd < 0)
		return;
	uint64_t size = s->size;
	if (!put_all(s->fd, bytes, at) || pwrite(s->fd, &size, DATA, 0) != DATA) {
		/* Readers get what was whole before. */
		th_fd_close(&s->fd);
		return;
	}
	s->kept = s->size;
}

enum th_code th_spool_open(struct th_spool *s, int dir_fd, const char *name, struct th_err *err)
{
	uint64_t size;
	struct stat st;

	th_spool_init(s);
	s->fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (s->fd < 0)
		return th_fail_errno(err, errno, "the spool %s", name);
	if (pread(s->fd, &size, DATA, 0) != DATA || fstat(s->fd, &st) < 0 || st.st_size < DATA) {
		th_fd_close(&s->fd);
		return th_fail(err, TH_ECORRUPT, "the spool %s is cut", name);
	}
	/* The size is written last; after a power cut the data may be shorter than it says. */
	uint64_t there = (uint64_t)st.st_size - DATA;
	if (size > there && there < TH_TOOL_OUTPUT_MAX)
		size = there;
	s->size = s->kept = size;
	return TH_OK;
}

enum th_code th_spool_read(const struct th_spool *s, uint64_t offset, size_t len,
			   struct th_buf *out, uint64_t *ret, struct th_err *err)
{
	uint64_t oldest = s->kept > TH_TOOL_OUTPUT_MAX ? s->kept - TH_SPOOL_TAIL : TH_SPOOL_HEAD;

	if (offset >= TH_SPOOL_HEAD && offset < oldest)
		offset = oldest;
	*ret = offset;
	if (s->fd < 0)
		return TH_OK;
	while (len > 0 && offset < s->kept) {
		uint64_t from = offset, end = TH_SPOOL_HEAD;
		if (offset >= TH_SPOOL_HEAD) {
			if (offset < oldest)
				break; /* the gap: the next call goes on behind it */
			uint64_t in_ring = (offset - TH_SPOOL_HEAD) % TH_SPOOL_TAIL;
			from = TH_SPOOL_HEAD + in_ring;
			end = TH_SPOOL_HEAD + TH_SPOOL_TAIL;
		}
		uint64_t want = TH_MIN(end - from, TH_MIN((uint64_t)len, s->kept - offset));
		char *at = th_buf_grow(out, (size_t)want);
		if (!at)
			return th_buf_check(out, "what is read of a spool", err);
		ssize_t got = pread(s->fd, at, (size_t)want, (off_t)(DATA + from));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? th_fail_errno(err, errno, "read a spool") : TH_OK;
		th_buf_grown(out, (size_t)got);
		offset += (uint64_t)got;
		len -= (size_t)got;
	}
	return TH_OK;
}
