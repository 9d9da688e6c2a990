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
#include "store/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/limits.h"
#include "io/clock.h"
#include "io/files.h"

#define HEAD_SIZE 40
#define HEAD_COPY_AT 2048
#define RECORDS_AT 4096
#define RECORD_HEAD_SIZE 32
#define STEP (64 * TH_KIB) /* allocated ahead at a time */

static const char head_magic[8] = { 't', 'h', 'o', 'l', 'e', '-', 'j', '1' };
static const char record_magic[4] = { 't', 'h', 'j', 'r' };
static char zeros[STEP]; /* never written */

struct th_journal {
	int fd;
	bool broken;
	uint64_t salt;
	uint64_t end;       /* behind the last record */
	uint64_t allocated; /* up to here there are zeros */
	uint64_t number;    /* of the last record */
	uint64_t synced;    /* of the last record that is flushed */
	char *path, *path_new;
};

struct record {
	uint64_t at, number, synced;
	struct th_str bytes;
};

static void put32(char *p, uint32_t v)
{
	for (size_t i = 0; i < 4; i++)
		p[i] = (char)(v >> (8 * i));
}

static void put64(char *p, uint64_t v)
{
	put32(p, (uint32_t)v);
	put32(p + 4, (uint32_t)(v >> 32));
}

static uint32_t get32(const char *p)
{
	uint32_t v = 0;

	for (size_t i = 4; i-- > 0;)
		v = v << 8 | (uint8_t)p[i];
	return v;
}

static uint64_t get64(const char *p)
{
	return get32(p) | (uint64_t)get32(p + 4) << 32;
}

static uint32_t salted(uint64_t salt, const void *ptr, size_t len)
{
	char bytes[8];

	put64(bytes, salt);
	return th_crc32c(th_crc32c(0, bytes, sizeof(bytes)), ptr, len);
}

static void head_print(char out[static HEAD_SIZE], uint64_t salt, uint64_t base)
{
	memset(out, 0, HEAD_SIZE);
	memcpy(out, head_magic, sizeof(head_magic));
	put64(out + 8, salt);
	put64(out + 16, base);
	put32(out + HEAD_SIZE - 4, th_crc32c(0, out, HEAD_SIZE - 4));
}

static bool head_parse(const char *p, uint64_t *salt, uint64_t *base)
{
	if (memcmp(p, head_magic, sizeof(head_magic)) != 0 ||
	    get32(p + HEAD_SIZE - 4) != th_crc32c(0, p, HEAD_SIZE - 4))
		return false;
	*salt = get64(p + 8);
	*base = get64(p + 16);
	return true;
}

static void record_head_print(char out[static RECORD_HEAD_SIZE], uint64_t salt, uint64_t number,
			      uint64_t synced, struct th_str bytes)
{
	memcpy(out, record_magic, sizeof(record_magic));
	put32(out + 4, (uint32_t)bytes.len);
	put64(out + 8, number);
	put64(out + 16, synced);
	put32(out + 24, salted(salt, out, 24));
	put32(out + 28, salted(salt, bytes.ptr, bytes.len));
}

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
	uint64_t to = (end + STEP - 1) / STEP * STEP;
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
	char head[RECORD_HEAD_SIZE];
	uint64_t end = j->end + RECORD_HEAD_SIZE + record.len;
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
	record_head_print(head, j->salt, j->number + 1, j->synced, record);
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
	return j->end - RECORDS_AT;
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
	char head[HEAD_SIZE];
	struct iovec one = { head, sizeof(head) }, two = one;
	int errnum;

	th_random(&j->salt, sizeof(j->salt));
	head_print(head, j->salt, base);
	errnum = write_zeros(j->fd, 0, RECORDS_AT);
	if (errnum == 0)
		errnum = write_all(j->fd, &one, 1, 0);
	if (errnum == 0)
		errnum = write_all(j->fd, &two, 1, HEAD_COPY_AT);
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
	j->end = j->allocated = RECORDS_AT;
	code = allocate(j, RECORDS_AT + 1, err);
	if (code == TH_OK && fsync(j->fd) != 0)
		code = th_fail(err, TH_EIO, "flush the journal %s: %s", j->path,
			       strerrordesc_np(errno));
	return code == TH_OK ? sync_folder(j, err) : code;
}

/* ---- reading ---- */

struct window {
	int fd;
	uint64_t size; /* of the file */
	char *buf;
	size_t cap;
	uint64_t at; /* what buf begins with */
	size_t len;
	int errnum; /* a read failed */
};

/* `len` bytes from `at` on; NULL when the file has not so many, or a read fails. */
static const char *view(struct window *w, uint64_t at, size_t len)
{
	assert(len <= w->cap);
	if (len > w->size || at > w->size - len || w->errnum)
		return NULL;
	if (at >= w->at && at + len <= w->at + w->len)
		return w->buf + (at - w->at);
	w->at = at;
	w->len = 0;
	while (w->len < len) {
		ssize_t got = pread(w->fd, w->buf + w->len, w->cap - w->len, (off_t)(at + w->len));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			w->errnum = got < 0 ? errno : EIO;
			return NULL;
		}
		w->len += (size_t)got;
	}
	return w->buf;
}

/* Is there a whole record at `at`, with a number of at least `number`? */
static bool record_at(struct window *w, uint64_t salt, uint64_t at, uint64_t number,
		      struct record *ret)
{
	const char *head = view(w, at, RECORD_HEAD_SIZE), *body;
	uint32_t size, crc;

	if (!head || memcmp(head, record_magic, sizeof(record_magic)) != 0 ||
	    get32(head + 24) != salted(salt, head, 24))
		return false;
	size = get32(head + 4);
	crc = get32(head + 28);
	*ret = (struct record){ .at = at, .number = get64(head + 8), .synced = get64(head + 16) };
	if (ret->number < number || size > TH_JOURNAL_RECORD_MAX)
		return false;
	body = view(w, at, RECORD_HEAD_SIZE + size);
	if (!body || salted(salt, body + RECORD_HEAD_SIZE, size) != crc)
		return false;
	ret->bytes = th_str_n(body + RECORD_HEAD_SIZE, size);
	return true;
}

/* The first whole record from `at` on. */
static bool record_find(struct window *w, uint64_t salt, uint64_t at, uint64_t number,
			struct record *ret)
{
	while (at + RECORD_HEAD_SIZE <= w->size) {
		size_t len = (size_t)TH_MIN((uint64_t)w->cap, w->size - at);
		const char *bytes = view(w, at, len);
		const char *magic =
		    bytes ? memmem(bytes, len, record_magic, sizeof(record_magic)) : NULL;

		if (!bytes)
			return false;
		if (!magic) {
			at += len - (sizeof(record_magic) - 1);
			continue;
		}
		at += (uint64_t)(magic - bytes);
		if (record_at(w, salt, at, number, ret))
			return true;
		at++;
	}
	return false;
}

/* Had record `number` been flushed, as one that lies behind `at` says? */
static bool was_synced(struct window *w, uint64_t salt, uint64_t at, uint64_t number)
{
	struct record r;

	while (record_find(w, salt, at, number, &r)) {
		if (r.synced >= number)
			return true;
		at = r.at + RECORD_HEAD_SIZE + r.bytes.len;
	}
	return false;
}

static bool only_zeros(struct window *w, uint64_t from)
{
	while (from < w->size) {
		size_t len =
		    (size_t)TH_MIN(w->size - from, (uint64_t)TH_MIN(w->cap, sizeof(zeros)));
		const char *bytes = view(w, from, len);

		if (!bytes || memcmp(bytes, zeros, len) != 0)
			return false;
		from += len;
	}
	return true;
}

TH_PRINTF(2, 3) static void damaged(struct th_journal_found *found, const char *what, ...)
{
	va_list ap;

	if (found->damaged)
		return;
	found->damaged = true;
	va_start(ap, what);
	vsnprintf(found->what, sizeof(found->what), what, ap);
	va_end(ap);
}

/* All whole records, to the callback; leaves number and end where the next one goes. */
static enum th_code scan(struct th_journal *j, struct window *w, uint64_t base,
			 th_journal_record_fn *fn, void *ctx, struct th_journal_found *found,
			 struct th_err *err)
{
	for (;;) {
		uint64_t next = j->number + 1;
		struct record r = {};
		bool whole = record_at(w, j->salt, j->end, next, &r);
		enum th_code code;

		if (!whole && (next <= base || was_synced(w, j->salt, j->end, next)))
			damaged(found, "record %llu (at byte %llu) is not what was written",
				(unsigned long long)next, (unsigned long long)j->end);
		if (!whole && found->damaged)
			whole = record_find(w, j->salt, j->end, next, &r);
		if (!whole)
			break;
		if (r.number != next)
			damaged(found, "record %llu (before byte %llu) is missing",
				(unsigned long long)next, (unsigned long long)r.at);
		code = fn ? fn(ctx, r.bytes, err) : TH_OK;
		if (code != TH_OK)
			return code;
		found->records++;
		j->number = r.number;
		j->end = r.at + RECORD_HEAD_SIZE + r.bytes.len;
	}
	found->torn = !only_zeros(w, j->end);
	if (j->number < base) /* so that the gap shows again */
		j->number = base;
	return TH_OK;
}

/* The start of a head of ours? */
static bool cut_head(struct window *w)
{
	size_t len = (size_t)TH_MIN(w->size, (uint64_t)sizeof(head_magic));
	const char *bytes = view(w, 0, len);

	return bytes && memcmp(bytes, head_magic, len) == 0;
}

/* The heads.  *ret_fresh: nothing was ever in the file. */
static enum th_code read_heads(struct th_journal *j, struct window *w, uint64_t *ret_base,
			       bool *ret_fresh, struct th_journal_found *found, struct th_err *err)
{
	const char *bytes = view(w, 0, RECORDS_AT);
	uint64_t salt = 0, base = 0;
	bool first, second;

	*ret_fresh = false;
	first = bytes && head_parse(bytes, &j->salt, ret_base);
	second = bytes && head_parse(bytes + HEAD_COPY_AT, &salt, &base);
	if (!first && !second) {
		/* Cut while it was made: then there was no record yet. */
		*ret_fresh = only_zeros(w, 0) || (w->size <= RECORDS_AT && cut_head(w));
		found->torn = *ret_fresh;
		if (!*ret_fresh && !w->errnum)
			return th_fail(err, TH_ECORRUPT, "%s is no journal, or its head is damaged",
				       j->path);
	} else if (!first || !second || salt != j->salt || base != *ret_base) {
		damaged(found, "one of the two heads (at bytes 0 and %d) is not what was written",
			HEAD_COPY_AT);
		if (!first) {
			j->salt = salt;
			*ret_base = base;
		}
	}
	return TH_OK;
}

static enum th_code read_all(struct th_journal *j, uint64_t size, th_journal_record_fn *fn,
			     void *ctx, struct th_journal_found *found, struct th_err *err)
{
	struct window w = {
		.fd = j->fd,
		.size = size,
		.cap = TH_MAX(TH_MIN((size_t)size, RECORD_HEAD_SIZE + TH_JOURNAL_RECORD_MAX),
			      (size_t)RECORDS_AT),
	};
	uint64_t base = 0;
	bool fresh = false;
	enum th_code code;

	if (size > TH_JOURNAL_SIZE_MAX + STEP)
		return th_fail(err, TH_ELIMIT, "%s is larger than a journal can be", j->path);
	w.buf = th_try_alloc(w.cap);
	if (!w.buf)
		return th_fail(err, TH_ENOMEM, "out of memory");
	code = read_heads(j, &w, &base, &fresh, found, err);
	j->end = RECORDS_AT;
	if (code == TH_OK && !fresh)
		code = scan(j, &w, base, fn, ctx, found, err);
	if (w.errnum)
		code = th_fail(err, TH_EIO, "read the journal %s: %s", j->path,
			       strerrordesc_np(w.errnum));
	free(w.buf);
	if (code == TH_OK && fresh)
		return begin(j, err);
	return code;
}

/* ---- opening and closing ---- */

static enum th_code open_file(struct th_journal *j, th_journal_record_fn *fn, void *ctx,
			      struct th_journal_found *found, struct th_err *err)
{
	struct stat st;
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
	code = read_all(j, (uint64_t)st.st_size, fn, ctx, found, err);
	if (code != TH_OK || j->allocated > 0) /* begun anew */
		return code;
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
	n->end = n->allocated = RECORDS_AT;
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
