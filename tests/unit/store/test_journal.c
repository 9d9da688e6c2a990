/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_journal.c - every cut, every flipped byte, every failing call.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/files.h"
#include "store/journal.h"

#define RECORDS_AT 4096
#define HEAD 32
#define HEAD_COPIES 2088 /* behind both */

static struct th_err err;
static char folder[32];
static char path[128];

/* ---- calls that fail when told to ---- */

/* The n-th call from now fails with this, once; 0: none does. */
static int fail_in, fail_errno, calls;
static size_t short_write; /* pwritev writes no more than this at a time, when not 0 */

static bool fails(void)
{
	calls++;
	if (fail_in == 0 || --fail_in > 0)
		return false;
	errno = fail_errno;
	return true;
}

/* These take the place of libc's for the store. */
int fdatasync(int fd)
{
	return fails() ? -1 : (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
	return fails() ? -1 : (int)syscall(SYS_fsync, fd);
}

int ftruncate(int fd, off_t size)
{
	return fails() ? -1 : (int)syscall(SYS_ftruncate, fd, size);
}

int fallocate(int fd, int mode, off_t at, off_t len)
{
	return fails() ? -1 : (int)syscall(SYS_fallocate, fd, mode, at, len);
}

int rename(const char *from, const char *to)
{
	return fails() ? -1 : (int)syscall(SYS_rename, from, to);
}

ssize_t pwritev(int fd, const struct iovec *iov, int count, off_t at)
{
	if (fails())
		return -1;
	if (short_write > 0 && count > 0)
		return pwrite(fd, iov[0].iov_base, TH_MIN(short_write, iov[0].iov_len), at);
	return syscall(SYS_pwritev, fd, iov, count, at, 0);
}

/* ---- helpers ---- */

struct seen {
	size_t count;
	char texts[64][16];
	size_t sizes[64];
	size_t stop_at;
};

static enum th_code see(void *ctx, struct th_str record, struct th_err *ret)
{
	struct seen *s = ctx;

	if (s->count < 64) {
		s->sizes[s->count] = record.len;
		snprintf(s->texts[s->count], 16, "%.*s", (int)TH_MIN(record.len, (size_t)15),
			 record.ptr);
	}
	s->count++;
	return s->count == s->stop_at ? th_fail(ret, TH_EPROTO, "not this one") : TH_OK;
}

static struct th_journal_found found;

static struct th_journal *open_well(struct seen *s)
{
	struct th_journal *j = NULL;

	*s = (struct seen){};
	if (th_journal_open(path, see, s, &found, &j, &err) != TH_OK)
		fail_msg("%s", err.msg);
	assert_int_equal(s->count, found.records);
	return j;
}

static void add(struct th_journal *j, const char *text)
{
	assert_int_equal(th_journal_append(j, th_str_of(text), &err), TH_OK);
}

static void sync_well(struct th_journal *j)
{
	assert_int_equal(th_journal_sync(j, &err), TH_OK);
}

static int fresh(void **state)
{
	static int number;

	(void)state;
	snprintf(path, sizeof(path), "%s/j%d", folder, ++number);
	fail_in = 0;
	short_write = 0;
	found = (struct th_journal_found){};
	return 0;
}

/* A journal of records "r1" … , each flushed before the next where `flushed`. */
static void make(size_t count, bool flushed)
{
	struct seen s;
	struct th_journal *j = open_well(&s);

	for (size_t i = 1; i <= count; i++) {
		char text[32];

		snprintf(text, sizeof(text), "r%zu", i);
		add(j, text);
		if (flushed)
			sync_well(j);
	}
	sync_well(j);
	th_journal_close(j);
}

static char *slurp(size_t *ret_len)
{
	struct th_buf b = TH_BUF_INIT(64 * TH_MIB);

	assert_int_equal(th_file_read(path, 64 * TH_MIB, &b, &err), TH_OK);
	return th_buf_steal(&b, ret_len);
}

static void spill(const char *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(th_file_write_fd(fd, th_str_n(bytes, len), &err), TH_OK);
	close(fd);
}

static int setup(void **state)
{
	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	/* In memory where there is such a place: the tests are not about the disk's speed. */
	snprintf(folder, sizeof(folder), "%s/th-journal-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return th_dir_remove(folder, &err) == TH_OK ? 0 : -1;
}

/* ---- tests ---- */

static void appended_and_read(void **state)
{
	struct seen s;
	struct th_journal *j = open_well(&s);
	struct stat st;

	(void)state;
	assert_true(found.created && !found.torn && !found.damaged);
	assert_int_equal(th_journal_size(j), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	add(j, "one");
	add(j, "");
	assert_int_equal(th_journal_append(j, TH_STR("\0\0"), &err), TH_OK);
	assert_int_equal(th_journal_size(j), 3 * HEAD + 5);
	sync_well(j);
	sync_well(j);
	j = th_journal_close(j);
	assert_null(j);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, RECORDS_AT + 3 * HEAD + 5); /* space is given back */
	for (int i = 0; i < 3; i++) {
		j = open_well(&s);
		assert_false(found.created || found.torn || found.damaged);
		assert_int_equal(s.count, (size_t)3 + (size_t)i);
		assert_string_equal(s.texts[0], "one");
		assert_int_equal(s.sizes[1], 0);
		assert_int_equal(s.sizes[2], 2);
		add(j, "more");
		th_journal_close(j); /* not flushed: kept all the same while the machine runs */
	}
	assert_null(th_journal_close(NULL));
}

static void largest_record(void **state)
{
	size_t max = TH_JOURNAL_RECORD_MAX;
	char *bytes = th_alloc(max + 1);
	struct seen s;
	struct th_journal *j = open_well(&s);

	(void)state;
	memset(bytes, 'x', max + 1);
	assert_int_equal(th_journal_append(j, th_str_n(bytes, max + 1), &err), TH_ELIMIT);
	assert_int_equal(th_journal_size(j), 0);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(th_journal_append(j, th_str_n(bytes, max - i), &err), TH_OK);
	add(j, "small");
	sync_well(j);
	th_journal_close(j);
	j = open_well(&s);
	assert_int_equal(s.count, 4);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(s.sizes[i], max - i);
	assert_string_equal(s.texts[3], "small");
	th_journal_close(j);
	free(bytes);
}

/* Cut anywhere: what is whole before the cut is there, and the journal goes on. */
static void cut_anywhere(void **state)
{
	size_t len;
	char *bytes;
	struct seen s;
	struct th_journal *j;

	(void)state;
	make(5, true);
	bytes = slurp(&len);
	for (size_t cut = 0; cut <= len; cut += cut < RECORDS_AT - 40 ? 61 : 1) {
		size_t whole = cut < RECORDS_AT ? 0 : (cut - RECORDS_AT) / (HEAD + 2);

		for (int zeros = 0; zeros < 2; zeros++) { /* cut off, or never written */
			char *copy = th_alloc(len + 100);

			memcpy(copy, bytes, cut);
			spill(copy, zeros ? len + 100 : cut);
			free(copy);
			j = open_well(&s);
			assert_int_equal(s.count, whole);
			assert_false(found.damaged && cut >= HEAD_COPIES);
			if (cut >= RECORDS_AT)
				assert_int_equal(found.torn, (cut - RECORDS_AT) % (HEAD + 2) != 0);
			add(j, "next");
			sync_well(j);
			th_journal_close(j);
			j = open_well(&s);
			assert_int_equal(s.count, whole + 1);
			assert_string_equal(s.texts[whole], "next");
			assert_false(found.torn);
			th_journal_close(j);
		}
	}
	free(bytes);
}

/* One byte changed: told as damage when something flushed is behind it, never taken for right. */
static void flipped_anywhere(void **state)
{
	size_t len;
	char *bytes;
	struct seen s;
	struct th_journal *j = NULL;

	(void)state;
	make(4, true);
	bytes = slurp(&len);
	for (size_t at = 0; at < len; at++) {
		size_t hit = at < RECORDS_AT ? 0 : 1 + (at - RECORDS_AT) / (HEAD + 2);
		bool in_head = at < 40 || (at >= 2048 && at < 2088);

		bytes[at] ^= (char)(1 << (at % 8));
		spill(bytes, len);
		bytes[at] ^= (char)(1 << (at % 8));
		j = open_well(&s);
		if (hit == 0) {
			assert_int_equal(s.count, 4);
			assert_int_equal(found.damaged, in_head);
		} else if (hit < 4) {
			assert_true(found.damaged);
			assert_non_null(strstr(found.what, "record"));
			assert_int_equal(s.count, 3);
			for (size_t i = 0; i < 3; i++) {
				char text[16];

				snprintf(text, sizeof(text), "r%zu", i + 1 + (i + 1 >= hit));
				assert_string_equal(s.texts[i], text);
			}
		} else { /* the last: nothing says that it had been flushed */
			assert_true(found.torn && !found.damaged);
			assert_int_equal(s.count, 3);
		}
		/* Damage is not repaired silently. */
		bool was = found.damaged;

		add(j, "next");
		sync_well(j);
		th_journal_close(j);
		j = open_well(&s);
		assert_int_equal(found.damaged, was);
		assert_string_equal(s.texts[s.count - 1], "next");
		th_journal_close(j);
	}
	/* Both heads: not ours any more. */
	bytes[3] ^= 1;
	bytes[2048 + 3] ^= 1;
	spill(bytes, len);
	assert_int_equal(th_journal_open(path, see, &s, &found, &j, &err), TH_ECORRUPT);
	assert_non_null(strstr(err.msg, "head is damaged"));
	free(bytes);
}

/* Records that were not flushed together: a power cut may leave the later one only. */
static void torn_before_the_end(void **state)
{
	size_t len;
	char *bytes;
	struct seen s;
	struct th_journal *j;

	(void)state;
	make(2, true);
	j = open_well(&s);
	add(j, "r3");
	add(j, "r4");
	add(j, "r5");
	sync_well(j);
	th_journal_close(j);
	bytes = slurp(&len);
	memset(bytes + RECORDS_AT + 2 * (HEAD + 2), 0, HEAD + 2); /* r3 never came */
	spill(bytes, len);
	j = open_well(&s);
	assert_true(found.torn && !found.damaged);
	assert_int_equal(s.count, 2);
	add(j, "new");
	sync_well(j);
	th_journal_close(j);
	j = open_well(&s);
	assert_false(found.torn || found.damaged);
	assert_int_equal(s.count, 3);
	assert_string_equal(s.texts[2], "new");
	th_journal_close(j);
	free(bytes);
}

/* What is left of a long record behind a new short one is gone. */
static void nothing_is_left_behind(void **state)
{
	char *large = th_alloc(3000);
	size_t len;
	char *bytes;
	struct seen s;
	struct th_journal *j;

	(void)state;
	memset(large, 'l', 3000);
	make(2, true);
	j = open_well(&s);
	assert_int_equal(th_journal_append(j, th_str_n(large, 3000), &err), TH_OK);
	th_journal_close(j);
	bytes = slurp(&len);
	bytes[RECORDS_AT + 2 * (HEAD + 2) + HEAD] ^= 1; /* torn */
	spill(bytes, len);
	j = open_well(&s);
	assert_true(found.torn);
	add(j, "short");
	struct th_journal *reader = open_well(&s); /* as after a kill: nobody closed it */

	assert_false(found.torn || found.damaged);
	assert_int_equal(s.count, 3);
	th_journal_close(reader);
	/* A write that fails half way: nothing of it stays either. */
	short_write = 100;
	fail_errno = ENOSPC;
	fail_in = 3; /* behind the head and 100 bytes */
	assert_int_equal(th_journal_append(j, th_str_n(large, 3000), &err), TH_ELIMIT);
	short_write = 0;
	fail_in = 0;
	add(j, "last");
	sync_well(j);
	reader = open_well(&s);
	assert_false(found.torn || found.damaged);
	assert_int_equal(s.count, 4);
	assert_string_equal(s.texts[3], "last");
	th_journal_close(reader);
	th_journal_close(j);
	free(bytes);
	free(large);
}

/* A record that was cut out whole leaves a number that is missing. */
static void cut_out(void **state)
{
	size_t len, one = HEAD + 2;
	char *bytes;
	struct seen s;
	struct th_journal *j;

	(void)state;
	make(4, true);
	bytes = slurp(&len);
	memmove(bytes + RECORDS_AT + one, bytes + RECORDS_AT + 2 * one, 2 * one);
	spill(bytes, len - one);
	j = open_well(&s);
	assert_true(found.damaged);
	assert_non_null(strstr(found.what, "record 2"));
	assert_int_equal(s.count, 3);
	th_journal_close(j);
	/* In another order. */
	make(0, true);
	spill(bytes, len - one);
	memcpy(bytes + RECORDS_AT + 3 * one, bytes + RECORDS_AT, one);
	spill(bytes, len);
	j = open_well(&s);
	assert_true(found.damaged);
	assert_int_equal(s.count, 3);
	th_journal_close(j);
	free(bytes);
}

/* A record that holds a copy of the journal is one record. */
static void journal_in_a_journal(void **state)
{
	size_t len, len2;
	char *bytes, *all;
	struct seen s;
	struct th_journal *j;

	(void)state;
	make(3, true);
	bytes = slurp(&len);
	j = open_well(&s);
	assert_int_equal(th_journal_append(j, th_str_n(bytes, len), &err), TH_OK);
	add(j, "tail");
	sync_well(j);
	th_journal_close(j);
	j = open_well(&s);
	assert_int_equal(s.count, 5);
	th_journal_close(j);
	/* Its head torn away, what is inside does not come to light as records 1 to 3 again. */
	all = slurp(&len2);
	memset(all + RECORDS_AT + 3 * (HEAD + 2), 0, HEAD);
	spill(all, len2);
	j = open_well(&s);
	assert_int_equal(s.count, 3); /* "tail" was not flushed apart from it */
	th_journal_close(j);
	free(bytes);
	free(all);
}

static void rewritten(void **state)
{
	const struct th_str few[] = { TH_STR("a"), TH_STR("bb") };
	size_t len;
	char *bytes;
	struct seen s;
	struct th_journal *j;

	(void)state;
	make(10, false);
	j = open_well(&s);
	assert_int_equal(th_journal_rewrite(j, few, 2, &err), TH_OK);
	assert_int_equal(th_journal_size(j), 2 * HEAD + 3);
	add(j, "c");
	sync_well(j);
	th_journal_close(j);
	j = open_well(&s);
	assert_int_equal(s.count, 3);
	assert_string_equal(s.texts[1], "bb");
	assert_int_equal(th_journal_rewrite(j, NULL, 0, &err), TH_OK);
	assert_int_equal(th_journal_size(j), 0);
	th_journal_close(j);
	j = open_well(&s);
	assert_int_equal(s.count, 0);
	assert_false(found.created || found.torn || found.damaged);
	assert_int_equal(th_journal_rewrite(j, few, 2, &err), TH_OK);
	th_journal_close(j);
	/* What was there from the beginning was flushed: its end missing is damage. */
	bytes = slurp(&len);
	spill(bytes, len - 1);
	for (int i = 0; i < 3; i++) {
		j = open_well(&s);
		assert_true(found.damaged);
		add(j, "after");
		th_journal_close(j);
	}
	j = open_well(&s);
	assert_int_equal(th_journal_rewrite(j, few, 2, &err), TH_OK); /* says: it is known */
	th_journal_close(j);
	j = open_well(&s);
	assert_false(found.damaged);
	th_journal_close(j);
	free(bytes);
}

/* Every call fails once, with each error, in each operation. */
static void failing_calls(void **state)
{
	static const int errors[] = { ENOSPC, EDQUOT, EFBIG, EIO, EROFS };
	static const struct th_str few[] = { TH_STR("a"), TH_STR("bb") };
	char *large = th_alloc(70000);

	memset(large, 'l', 70000);
	for (size_t e = 0; e < TH_COUNT(errors); e++) {
		for (int n = 1;; n++) {
			struct seen s;
			struct th_journal *j = NULL;
			size_t acknowledged = 3, appended = 3;
			bool more, rewritten_well;
			enum th_code code;

			fresh(state);
			make(3, true);
			fail_errno = errors[e];
			fail_in = n;
			memset(&s, 0, sizeof(s));
			code = th_journal_open(path, see, &s, &found, &j, &err);
			if (code != TH_OK) {
				assert_true(code == TH_ELIMIT || code == TH_EIO ||
					    code == TH_EPERM);
				assert_true(strlen(err.msg) > 0);
				j = open_well(&s);
			}
			assert_int_equal(s.count, 3);
			for (int i = 0; i < 3; i++) {
				struct th_str r = i == 1 ? th_str_n(large, 70000) : TH_STR("s");

				code = th_journal_append(j, r, &err);
				assert_true(code == TH_OK || code == TH_ELIMIT || code == TH_EIO);
				appended += code == TH_OK;
				code = th_journal_sync(j, &err);
				assert_true(code == TH_OK || code == TH_EIO);
				if (code == TH_OK)
					acknowledged = appended;
			}
			rewritten_well = th_journal_rewrite(j, few, 2, &err) == TH_OK;
			more = fail_in > 0;
			fail_in = 0;
			th_journal_close(j);
			j = open_well(&s);
			assert_false(found.damaged);
			if (rewritten_well)
				assert_int_equal(s.count, 2);
			else /* old or new, never in between */
				assert_true((s.count >= acknowledged && s.count <= 6) ||
					    (s.count == 2 && s.sizes[1] == 2));
			th_journal_close(j);
			if (more)
				break;
		}
	}
	free(large);
}

static void poisoned_by_a_flush(void **state)
{
	struct seen s;
	struct th_journal *j = open_well(&s);

	(void)state;
	add(j, "a");
	sync_well(j);
	add(j, "b");
	fail_errno = EIO;
	fail_in = 1;
	assert_int_equal(th_journal_sync(j, &err), TH_EIO);
	assert_non_null(strstr(err.msg, path));
	assert_int_equal(th_journal_sync(j, &err), TH_EIO); /* and not fine at the second try */
	assert_int_equal(th_journal_append(j, TH_STR("c"), &err), TH_EIO);
	assert_int_equal(th_journal_rewrite(j, NULL, 0, &err), TH_EIO);
	th_journal_close(j);
}

static void short_writes(void **state)
{
	struct seen s;
	struct th_journal *j;
	char *large = th_alloc(3000);

	(void)state;
	memset(large, 'l', 3000);
	for (size_t n = 1; n < 50; n += 7) {
		fresh(state);
		j = open_well(&s);
		short_write = n;
		add(j, "first");
		assert_int_equal(th_journal_append(j, th_str_n(large, 3000), &err), TH_OK);
		short_write = 0;
		sync_well(j);
		th_journal_close(j);
		j = open_well(&s);
		assert_int_equal(s.count, 2);
		assert_int_equal(s.sizes[1], 3000);
		th_journal_close(j);
	}
	free(large);
}

static void fill(struct th_journal *j, size_t *ret_count)
{
	static char bytes[5000];
	enum th_code code;

	*ret_count = 0;
	while ((code = th_journal_append(j, th_str_n(bytes, sizeof(bytes)), &err)) == TH_OK) {
		sync_well(j); /* a full disk shows in append, never here */
		assert_true(++*ret_count < 10000);
	}
	assert_int_equal(code, TH_ELIMIT);
	assert_non_null(strstr(err.msg, "full"));
	assert_int_equal(th_journal_append(j, th_str_n(bytes, sizeof(bytes)), &err), TH_ELIMIT);
}

static void file_size_limit(void **state)
{
	struct rlimit old, small = { 300000, RLIM_INFINITY };
	struct seen s;
	struct th_journal *j = open_well(&s);
	size_t count;

	(void)state;
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	fill(j, &count);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_true(count >= 45);
	add(j, "there is room again");
	sync_well(j);
	th_journal_close(j);
	j = open_well(&s);
	assert_int_equal(s.count, count + 1);
	assert_false(found.torn || found.damaged);
	th_journal_close(j);
}

static void full_disk(void **state)
{
	struct seen s;
	struct th_journal *j;
	size_t count;
	char place[64];

	(void)state;
	snprintf(place, sizeof(place), "%s/small", folder);
	if (geteuid() != 0 || mkdir(place, 0700) != 0 ||
	    mount("none", place, "tmpfs", 0, "size=256k") != 0)
		skip();
	snprintf(path, sizeof(path), "%s/j", place);
	j = open_well(&s);
	fill(j, &count);
	assert_true(count > 20);
	assert_int_equal(th_journal_rewrite(j, &TH_STR("x"), 1, &err), TH_ELIMIT);
	th_journal_close(j);
	j = open_well(&s);
	assert_int_equal(s.count, count);
	th_journal_close(j);
	umount2(place, MNT_DETACH);
}

static void opened_wrongly(void **state)
{
	struct seen s = { .stop_at = 2 };
	struct th_journal *j = NULL;
	char old[128], long_path[TH_STORE_PATH_MAX + 2] = { 0 };

	(void)state;
	make(3, true);
	assert_int_equal(th_journal_open(path, see, &s, &found, &j, &err), TH_EPROTO);
	assert_string_equal(err.msg, "not this one");
	assert_int_equal(th_journal_open("", see, &s, &found, &j, &err), TH_EUSAGE);
	memset(long_path, 'x', sizeof(long_path) - 1);
	for (size_t i = 0; i < TH_STORE_PATH_MAX; i += 100)
		long_path[i] = '/';
	assert_int_equal(th_journal_open(long_path, see, &s, &found, &j, &err), TH_EUSAGE);
	assert_string_equal(err.msg, "the path of a journal has 1 to 3840 bytes, not 3841");
	long_path[TH_STORE_PATH_MAX] = '\0';
	assert_int_equal(th_journal_open(long_path, see, &s, &found, &j, &err), TH_ENOENT);
	assert_int_equal(th_journal_open(folder, see, &s, &found, &j, &err), TH_EIO);
	assert_int_equal(th_journal_open("/tmp/no/such/folder", see, &s, &found, &j, &err),
			 TH_ENOENT);
	assert_int_equal(th_journal_open("/dev/null", see, &s, &found, &j, &err), TH_EUSAGE);
	/* Somebody made it long: it is not read. */
	assert_int_equal(truncate(path, (off_t)(TH_JOURNAL_SIZE_MAX + 64 * TH_KIB + 1)), 0);
	assert_int_equal(th_journal_open(path, see, &s, &found, &j, &err), TH_ELIMIT);
	assert_non_null(strstr(err.msg, "is larger than a journal can be"));
	strcpy(old, path);
	fresh(state);
	assert_int_equal(symlink(old, path), 0);
	assert_int_not_equal(th_journal_open(path, see, &s, &found, &j, &err), TH_OK);
	unlink(path);
	spill("thole-", 6); /* a journal cut at birth */
	th_journal_close(open_well(&s));
	assert_true(found.torn);
	spill("some other file that is longer than nothing", 40);
	assert_int_equal(th_journal_open(path, see, &s, &found, &j, &err), TH_ECORRUPT);
	char *text = th_alloc(10000);

	memset(text, 't', 10000);
	spill(text, 10000);
	assert_int_equal(th_journal_open(path, see, &s, &found, &j, &err), TH_ECORRUPT);
	assert_non_null(strstr(err.msg, "no journal"));
	free(text);
	assert_null(j);
}

/* Killed at any time: what was acknowledged is there. */
static void killed_anywhere(void **state)
{
	unsigned seed = 3;
	size_t acknowledged = 0;
	struct seen s;
	struct th_journal *j;

	(void)state;
	for (int round = 0; round < 30; round++) {
		int pipes[2];
		struct timespec pause = { .tv_nsec = rand_r(&seed) % 4000000 };
		uint64_t number;
		pid_t child;

		assert_int_equal(pipe(pipes), 0);
		child = fork();
		if (child == 0) {
			struct seen mine = {};

			if (th_journal_open(path, see, &mine, &found, &j, &err) != TH_OK)
				_exit(1);
			for (number = mine.count + 1;; number++) {
				char text[600];
				int len = snprintf(text, sizeof(text), "%-*llu",
						   (int)(20 + number * 37 % 500),
						   (unsigned long long)number);

				if (th_journal_append(j, th_str_n(text, (size_t)len), &err) !=
					TH_OK ||
				    th_journal_sync(j, &err) != TH_OK ||
				    write(pipes[1], &number, sizeof(number)) != sizeof(number))
					_exit(2);
			}
		}
		close(pipes[1]);
		/* Of three, one is killed while it begins, two behind their second record. */
		for (int i = 0; round % 3 && i < 2; i++) {
			assert_int_equal(read(pipes[0], &number, sizeof(number)), sizeof(number));
			acknowledged = number;
		}
		nanosleep(&pause, NULL);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		while (read(pipes[0], &number, sizeof(number)) == sizeof(number))
			acknowledged = number;
		close(pipes[0]);
		j = open_well(&s);
		assert_false(found.damaged);
		assert_true(s.count >= acknowledged);
		acknowledged = s.count;
		th_journal_close(j);
	}
	assert_true(acknowledged > 30);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, fresh)
	const struct CMUnitTest tests[] = {
		TEST(appended_and_read),
		TEST(largest_record),
		TEST(cut_anywhere),
		TEST(flipped_anywhere),
		TEST(torn_before_the_end),
		TEST(nothing_is_left_behind),
		TEST(cut_out),
		TEST(journal_in_a_journal),
		TEST(rewritten),
		TEST(failing_calls),
		TEST(poisoned_by_a_flush),
		TEST(short_writes),
		TEST(file_size_limit),
		TEST(full_disk),
		TEST(opened_wrongly),
		TEST(killed_anywhere),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
