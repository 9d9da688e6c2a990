/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal.c - the file: a head of one page, then records back to back, then
 * zeros that are there already, so that a flush changes no metadata.
 *
 * The head is there twice, 2 KiB apart.  A record's head has its number, which
 * records were flushed when it was written, and a CRC-32C that begins with the
 * file's random salt: bytes inside a record that look like a record are none.
 *
 *   head of the file: "thole-j1"  u64 salt  u64 base  u32 0  u32 CRC of these
 *   head of a record: u32 magic  u32 size  u64 number  u64 synced
 *                     u32 CRC of salt and these  u32 CRC of salt and the bytes
 *
 * All little endian.  `base` records were in the file, flushed, when it was
 * made; numbers count from 1.  Whether a record that is not whole was torn by a
 * power cut or damaged later: it is damage when a later record says that it had
 * been flushed, or the head does.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "io/clock.h"
#include "io/files.h"
#include "store/journal_internal.h"

static char zeros[TH_JOURNAL_STEP]; /* never written */

/* ---- writing ---- */

/* All of it, or an errno. */
static int write_all(int fd, struct iovec *iov, int count, uint64_t at)
{
	while (count > 0) {
		ssize_t done = pwritev(fd, iov, count, (off_t)at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? errno : ENOSPC;
		at += (uint64_t)done;
		while (count > 0 && (size_t)done >= iov->iov_len) {
			done -= (ssize_t)iov->iov_len;
			iov++;
			count--;
		}
		if (count > 0) {
			iov->iov_base = (char *)iov->iov_base + done;
			iov->iov_len -= (size_t)done;
		}
	}
	return 0;
}

static int write_zeros(int fd, uint64_t from, uint64_t to)
{
	while (from < to) {
		struct iovec iov = { zeros, (size_t)TH_MIN(to - from, (uint64_t)sizeof(zeros)) };
		size_t len = iov.iov_len;
		int errnum = write_all(fd, &iov, 1, from);

		if (errnum)
			return errnum;
		from += len;
	}
	return 0;
}

static bool full(int errnum)
{
	return errnum == ENOSPC || errnum == EDQUOT || errnum == EFBIG;
}

static enum th_code fail_write(struct th_journal *j, int errnum, const char *verb,
			       struct th_err *err)
{
	if (full(errnum))
		return th_fail(err, TH_ELIMIT, "%s the journal %s: the disk is full", verb,
			       j->path);
	j->broken = true;
	return th_fail(err, TH_EIO, "%s the journal %s: %s", verb, j->path,
		       strerrordesc_np(errnum));
}

static enum th_code fail_broken(const struct th_journal *j, struct th_err *err)
{
	return th_fail(err, TH_EIO, "the journal %s failed before and takes nothing more", j->path);
}

/* Zeros up to `end` at least. */
static enum th_code allocate(struct th_journal *j, uint64_t end, struct th_err *err)
{
	uint64_t to = (end + TH_JOURNAL_STEP - 1) / TH_JOURNAL_STEP * TH_JOURNAL_STEP;
	int errnum = 0;

	if (end <= j->allocated)
		return TH_OK;
	/* In one piece where the file system can; the zeros make it real everywhere. */
	if (fallocate(j->fd, 0, (off_t)j->allocated, (off_t)(to - j->allocated)) != 0 &&
	    full(errno))
		errnum = errno;
	if (errnum == 0)
		errnum = write_zeros(j->fd, j->allocated, to);
	if (errnum == 0) {
		j->allocated = to;
		return TH_OK;
	}
	/* What was added counts as free again: it is zeros, or nothing. */
	if (ftruncate(j->fd, (off_t)j->allocated) != 0)
		j->broken = true;
	return fail_write(j, errnum, "extend", err);
}

enum th_code th_journal_append(struct th_journal *j, struct th_str record, struct th_err *err)
{
	char head[TH_JOURNAL_RECORD_HEAD_SIZE];
	uint64_t end = j->end + TH_JOURNAL_RECORD_HEAD_SIZE + record.len;
	struct iovec iov[2] = { { head, sizeof(head) }, { NULL, record.len } };
	enum th_code code;
	int errnum;

	if (j->broken)
		return fail_broken(j, err);
	if (record.len > TH_JOURNAL_RECORD_MAX)
		return th_fail(err, TH_ELIMIT,
			       "a record of %zu bytes is larger than the %zu a journal takes",
			       record.len, TH_JOURNAL_RECORD_MAX);
	if (end > TH_JOURNAL_SIZE_MAX)
		return th_fail(err, TH_ELIMIT, "the journal %s would be larger than %zu bytes",
			       j->path, TH_JOURNAL_SIZE_MAX);
	code = allocate(j, end, err);
	if (code != TH_OK)
		return code;
	th_journal_record_print(head, j->salt, j->number + 1, j->synced, record);
	memcpy(&iov[1].iov_base, &record.ptr, sizeof(record.ptr)); /* pwritev only reads it */
	errnum = write_all(j->fd, iov, record.len > 0 ? 2 : 1, j->end);
	if (errnum) {
		if (write_zeros(j->fd, j->end, end) != 0)
			j->broken = true;
		return fail_write(j, errnum, "append to", err);
	}
	j->end = end;
	j->number++;
	return TH_OK;
}

enum th_code th_journal_sync(struct th_journal *j, struct th_err *err)
{
	if (j->broken)
		return fail_broken(j, err);
	if (j->synced == j->number)
		return TH_OK;
	if (fdatasync(j->fd) != 0) {
		j->broken = true; /* what the kernel still has is not known */
		return th_fail(err, TH_EIO, "flush the journal %s: %s", j->path,
			       strerrordesc_np(errno));
	}
	j->synced = j->number;
	return TH_OK;
}

uint64_t th_journal_size(const struct th_journal *j)
{
	return j->end - TH_JOURNAL_RECORDS_AT;
}

/* ---- new files ---- */

static enum th_code sync_folder(const struct th_journal *j, struct th_err *err)
{
	const char *slash = strrchr(j->path, '/');
	char folder[TH_PATH_LEN_MAX] = ".";
	int fd, errnum = 0;

	if (slash) {
		memcpy(folder, j->path, (size_t)(slash - j->path) + 1);
		folder[slash - j->path + 1] = 0;
	}
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) != 0)
		errnum = errno;
	th_fd_close(&fd);
	return errnum == 0 ? TH_OK
			   : th_fail(err, TH_EIO, "flush the folder %s: %s", folder,
				     strerrordesc_np(errnum));
}

/* A new salt, and both heads. */
static int heads_write(struct th_journal *j, uint64_t base)
{
	char head[TH_JOURNAL_HEAD_SIZE];
	struct iovec one = { head, sizeof(head) }, two = one;
	int errnum;

	th_random(&j->salt, sizeof(j->salt));
	th_journal_head_print(head, j->salt, base);
	errnum = write_zeros(j->fd, 0, TH_JOURNAL_RECORDS_AT);
	if (errnum == 0)
		errnum = write_all(j->fd, &one, 1, 0);
	if (errnum == 0)
		errnum = write_all(j->fd, &two, 1, TH_JOURNAL_HEAD_COPY_AT);
	return errnum;
}

/* Makes an empty file into a journal; durable afterwards. */
static enum th_code begin(struct th_journal *j, struct th_err *err)
{
	enum th_code code;
	int errnum;

	if (ftruncate(j->fd, 0) != 0)
		return fail_write(j, errno, "empty", err);
	errnum = heads_write(j, 0);
	if (errnum)
		return fail_write(j, errnum, "begin", err);
	j->end = j->allocated = TH_JOURNAL_RECORDS_AT;
	code = allocate(j, TH_JOURNAL_RECORDS_AT + 1, err);
	if (code == TH_OK && fsync(j->fd) != 0)
		code = th_fail(err, TH_EIO, "flush the journal %s: %s", j->path,
			       strerrordesc_np(errno));
	return code == TH_OK ? sync_folder(j, err) : code;
}

/* ---- opening and closing ---- */

static enum th_code open_file(struct th_journal *j, th_journal_record_fn *fn, void *ctx,
			      struct th_journal_found *found, struct th_err *err)
{
	struct stat st;
	bool fresh;
	enum th_code code;

	j->fd = open(j->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (j->fd < 0 || fstat(j->fd, &st) != 0)
		return th_fail_errno(err, errno, "open the journal %s", j->path);
	if (!S_ISREG(st.st_mode))
		return th_fail(err, TH_EUSAGE, "%s is not a file", j->path);
	if (st.st_size == 0) {
		found->created = true;
		return begin(j, err);
	}
	code = th_journal_read(j, (uint64_t)st.st_size, fn, ctx, found, &fresh, err);
	if (code != TH_OK || fresh)
		return code != TH_OK ? code : begin(j, err);
	j->allocated = (uint64_t)st.st_size;
	/* Nothing that is not whole may stay where the next record goes. */
	if (found->torn || found->damaged) {
		if (ftruncate(j->fd, (off_t)j->end) != 0)
			return fail_write(j, errno, "cut", err);
		j->allocated = j->end;
	}
	/* What an earlier owner appended may not have been flushed: who reads it may rely on it. */
	if (fdatasync(j->fd) != 0)
		return th_fail(err, TH_EIO, "flush the journal %s: %s", j->path,
			       strerrordesc_np(errno));
	j->synced = j->number;
	return TH_OK;
}

enum th_code th_journal_open(const char *path, th_journal_record_fn *fn, void *ctx,
			     struct th_journal_found *found, struct th_journal **ret,
			     struct th_err *err)
{
	size_t len = strlen(path);
	struct th_journal *j;
	enum th_code code;

	*found = (struct th_journal_found){};
	if (len == 0 || len > TH_STORE_PATH_MAX)
		return th_fail(err, TH_EUSAGE, "the path of a journal has 1 to %d bytes, not %zu",
			       TH_STORE_PATH_MAX, len);
	j = th_try_alloc(sizeof(*j) + 2 * len + sizeof("x.newx"));
	if (!j)
		return th_fail(err, TH_ENOMEM, "out of memory");
	j->fd = -1;
	j->path = (char *)(j + 1);
	j->path_new = j->path + len + 1;
	memcpy(j->path, path, len);
	memcpy(j->path_new, path, len);
	memcpy(j->path_new + len, ".new", sizeof(".new"));
	code = open_file(j, fn, ctx, found, err);
	if (code != TH_OK) {
		th_fd_close(&j->fd);
		free(j);
		return code;
	}
	*ret = j;
	return TH_OK;
}

struct th_journal *th_journal_close(struct th_journal *j)
{
	if (!j)
		return NULL;
	/* A courtesy: zeros behind the end are no harm. */
	if (!j->broken && j->allocated > j->end && ftruncate(j->fd, (off_t)j->end) != 0)
		j->broken = true;
	th_fd_close(&j->fd);
	free(j);
	return NULL;
}

/* ---- rewriting ---- */

static enum th_code rewrite_file(struct th_journal *n, const struct th_str *records, size_t count,
				 struct th_err *err)
{
	enum th_code code = TH_OK;
	int errnum = heads_write(n, count);

	if (errnum)
		return fail_write(n, errnum, "begin", err);
	n->end = n->allocated = TH_JOURNAL_RECORDS_AT;
	n->synced = count; /* nobody sees it before it is flushed */
	for (size_t i = 0; i < count && code == TH_OK; i++)
		code = th_journal_append(n, records[i], err);
	if (code == TH_OK)
		code = allocate(n, n->end + 1, err);
	if (code == TH_OK && fsync(n->fd) != 0)
		code = th_fail(err, TH_EIO, "flush the journal %s: %s", n->path,
			       strerrordesc_np(errno));
	return code;
}

enum th_code th_journal_rewrite(struct th_journal *j, const struct th_str *records, size_t count,
				struct th_err *err)
{
	struct th_journal n = { .path = j->path_new };
	enum th_code code;

	if (j->broken)
		return fail_broken(j, err);
	n.fd = open(n.path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (n.fd < 0)
		return th_fail_errno(err, errno, "make the journal %s", n.path);
	code = rewrite_file(&n, records, count, err);
	if (code == TH_OK && rename(n.path, j->path) != 0)
		code = th_fail_errno(err, errno, "rename the journal %s", n.path);
	if (code != TH_OK) {
		(void)unlink(n.path);
		th_fd_close(&n.fd);
		return code;
	}
	th_fd_close(&j->fd);
	j->fd = n.fd;
	j->salt = n.salt;
	j->end = n.end;
	j->allocated = n.allocated;
	j->number = j->synced = n.number;
	code = sync_folder(j, err);
	if (code != TH_OK)
		j->broken = true;
	return code;
}
