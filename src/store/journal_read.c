/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal_read.c - a journal as it is found: whole records, a torn tail, damage (journal.c says
 * which is which).
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/journal_internal.h"

struct record {
	uint64_t at, number, synced;
	struct th_str bytes;
};

/* ---- the file, a window at a time ---- */

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

/* ---- records ---- */

/* Is there a whole record at `at`, with a number of at least `number`? */
static bool record_at(struct window *w, uint64_t salt, uint64_t at, uint64_t number,
		      struct record *ret)
{
	const char *head = view(w, at, TH_JOURNAL_RECORD_HEAD_SIZE), *body;
	struct th_journal_record says;

	if (!head || !th_journal_record_parse(head, salt, &says) || says.number < number ||
	    says.size > TH_JOURNAL_RECORD_MAX)
		return false;
	body = view(w, at, TH_JOURNAL_RECORD_HEAD_SIZE + says.size);
	if (!body ||
	    th_journal_crc(salt, body + TH_JOURNAL_RECORD_HEAD_SIZE, says.size) != says.crc)
		return false;
	*ret = (struct record){ .at = at, .number = says.number, .synced = says.synced };
	ret->bytes = th_str_n(body + TH_JOURNAL_RECORD_HEAD_SIZE, says.size);
	return true;
}

/* The first whole record from `at` on. */
static bool record_find(struct window *w, uint64_t salt, uint64_t at, uint64_t number,
			struct record *ret)
{
	while (at + TH_JOURNAL_RECORD_HEAD_SIZE <= w->size) {
		size_t len = (size_t)TH_MIN((uint64_t)w->cap, w->size - at);
		const char *bytes = view(w, at, len);
		const char *magic =
		    bytes ? memmem(bytes, len, th_journal_magic, TH_JOURNAL_MAGIC_SIZE) : NULL;

		if (!bytes)
			return false;
		if (!magic) {
			at += len - (TH_JOURNAL_MAGIC_SIZE - 1);
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
		at = r.at + TH_JOURNAL_RECORD_HEAD_SIZE + r.bytes.len;
	}
	return false;
}

static bool only_zeros(struct window *w, uint64_t from)
{
	while (from < w->size) {
		size_t len = (size_t)TH_MIN(w->size - from, (uint64_t)w->cap);
		const char *bytes = view(w, from, len);

		/* The first is one, and each is as the one before. */
		if (!bytes || bytes[0] != 0 || memcmp(bytes, bytes + 1, len - 1) != 0)
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
		j->end = r.at + TH_JOURNAL_RECORD_HEAD_SIZE + r.bytes.len;
	}
	found->torn = !only_zeros(w, j->end);
	if (j->number < base) /* so that the gap shows again */
		j->number = base;
	return TH_OK;
}

/* The start of a head of ours? */
static bool cut_head(struct window *w)
{
	size_t len = (size_t)TH_MIN(w->size, (uint64_t)TH_JOURNAL_HEAD_SIZE);
	const char *bytes = view(w, 0, len);

	return bytes && th_journal_head_begins(bytes, len);
}

/* The heads.  *ret_fresh: nothing was ever in the file. */
static enum th_code read_heads(struct th_journal *j, struct window *w, uint64_t *ret_base,
			       bool *ret_fresh, struct th_journal_found *found, struct th_err *err)
{
	const char *bytes = view(w, 0, TH_JOURNAL_RECORDS_AT);
	uint64_t salt = 0, base = 0;
	bool first, second;

	*ret_fresh = false;
	first = bytes && th_journal_head_parse(bytes, &j->salt, ret_base);
	second = bytes && th_journal_head_parse(bytes + TH_JOURNAL_HEAD_COPY_AT, &salt, &base);
	if (!first && !second) {
		/* Cut while it was made: then there was no record yet. */
		*ret_fresh = only_zeros(w, 0) || (w->size <= TH_JOURNAL_RECORDS_AT && cut_head(w));
		found->torn = *ret_fresh;
		if (!*ret_fresh && !w->errnum)
			return th_fail(err, TH_ECORRUPT, "%s is no journal, or its head is damaged",
				       j->path);
	} else if (!first || !second || salt != j->salt || base != *ret_base) {
		damaged(found, "one of the two heads (at bytes 0 and %d) is not what was written",
			TH_JOURNAL_HEAD_COPY_AT);
		if (!first) {
			j->salt = salt;
			*ret_base = base;
		}
	}
	return TH_OK;
}

enum th_code th_journal_read(struct th_journal *j, uint64_t size, th_journal_record_fn *fn,
			     void *ctx, struct th_journal_found *found, bool *ret_fresh,
			     struct th_err *err)
{
	struct window w = {
		.fd = j->fd,
		.size = size,
		.cap = TH_MAX(
		    TH_MIN((size_t)size, TH_JOURNAL_RECORD_HEAD_SIZE + TH_JOURNAL_RECORD_MAX),
		    (size_t)TH_JOURNAL_RECORDS_AT),
	};
	uint64_t base = 0;
	enum th_code code;

	*ret_fresh = false;
	if (size > TH_JOURNAL_SIZE_MAX + TH_JOURNAL_STEP)
		return th_fail(err, TH_ELIMIT, "%s is larger than a journal can be", j->path);
	w.buf = th_try_alloc(w.cap);
	if (!w.buf)
		return th_fail(err, TH_ENOMEM, "out of memory");
	code = read_heads(j, &w, &base, ret_fresh, found, err);
	j->end = TH_JOURNAL_RECORDS_AT;
	if (code == TH_OK && !*ret_fresh)
		code = scan(j, &w, base, fn, ctx, found, err);
	if (w.errnum)
		code = th_fail(err, TH_EIO, "read the journal %s: %s", j->path,
			       strerrordesc_np(w.errnum));
	free(w.buf);
	return code;
}
