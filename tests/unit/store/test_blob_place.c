/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_blob_place.c - names and URLs of places for blobs, and the folder with every
 * call that fails.  The object store is tried by tests/postgres/test_blobs.py.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/clock.h"
#include "io/files.h"
#include "store/blob_place.h"

static struct th_err err;
static char folder[64];

/* ---- calls that fail when told to, and what was called ---- */

static int fail_in, fail_errno, calls;
static char order[64];

static bool fails(char what)
{
	size_t len = strlen(order);

	if (len + 1 < sizeof(order))
		order[len] = what;
	calls++;
	if (fail_in == 0 || --fail_in > 0)
		return false;
	errno = fail_errno;
	return true;
}

/* These take the place of libc's. */
int fsync(int fd)
{
	struct stat st;
	bool dir = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);

	return fails(dir ? 'D' : 'F') ? -1 : (int)syscall(SYS_fsync, fd);
}

int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	return fails('R') ? -1 : (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, 0);
}

int mkdirat(int fd, const char *path, mode_t mode)
{
	return fails('M') ? -1 : (int)syscall(SYS_mkdirat, fd, path, mode);
}

static void watch(int in, int errnum)
{
	memset(order, 0, sizeof(order));
	fail_in = in;
	fail_errno = errnum;
	calls = 0;
}

/* ---- one folder for each test ---- */

static int begin(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/thole-place-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	watch(0, 0);
	return th_dir_remove(folder, NULL) == TH_OK ? 0 : -1;
}

static struct th_blob_place *place_open(const char *id)
{
	struct th_blob_place *p = NULL;
	char url[128];

	snprintf(url, sizeof(url), "folder:%s/blobs", folder);
	if (th_blob_place_open(th_str_of(url), th_str_of(id), &p, &err) != TH_OK)
		fail_msg("%s", err.msg);
	return p;
}

#define ID "0123456789abcdef0123456789abcdef"

static struct th_blob_place_put put_of(const char *text)
{
	struct th_blob_place_put put = { .bytes = th_str_of(text) };
	struct th_digest hash = th_sha256_of(text, strlen(text));

	th_blob_place_name(&hash, put.name);
	return put;
}

static enum th_code get(struct th_blob_place *p, const char *name, struct th_buf *out)
{
	th_buf_clear(out);
	return p->kind->get(p, name, out, &err);
}

struct walked {
	size_t count, hashes;
	char name[TH_PLACE_NAME_SIZE];
	int64_t age_ms;
};

static enum th_code on_found(void *ctx, const struct th_blob_place_found *found, struct th_err *e)
{
	struct walked *w = ctx;

	(void)e;
	w->count++;
	w->hashes += found->has_hash;
	w->age_ms = found->age_ms;
	snprintf(w->name, sizeof(w->name), "%.*s", TH_FMT(found->name));
	return TH_OK;
}

static struct walked walk(struct th_blob_place *p)
{
	struct th_blob_place_walk at = { 0 };
	struct walked w = { 0 };
	size_t pieces = 0;

	for (; !at.over; pieces++)
		assert_int_equal(p->kind->walk(p, &at, on_found, &w, &err), TH_OK);
	assert_int_equal(pieces, 256);
	return w;
}

/* ---- names and URLs ---- */

static void test_names(void **state)
{
	struct th_digest hash = th_sha256_of("x", 1), back;
	char name[TH_PLACE_NAME_SIZE], other[TH_PLACE_NAME_SIZE];

	(void)state;
	th_blob_place_name(&hash, name);
	th_blob_place_name(&hash, other);
	assert_string_not_equal(name, other);
	assert_memory_equal(name, other, 3 + TH_SHA256_HEX_SIZE + 1);
	assert_true(th_blob_place_name_parse(th_str_of(name), &back));
	assert_true(th_digest_eq(&hash, &back));
	/* No other character at any place, no shorter, no longer one. */
	for (size_t i = 0; i < sizeof(name) - 1; i++) {
		memcpy(other, name, sizeof(name));
		other[i] = 'g';
		assert_false(th_blob_place_name_parse(th_str_of(other), &back));
		assert_false(th_blob_place_name_parse(th_str_n(name, i), &back));
	}
	assert_false(th_blob_place_name_parse(th_str_n(name, sizeof(name)), &back));
	assert_false(th_blob_place_name_parse(TH_STR(""), &back));
}

static void test_urls(void **state)
{
	static const char *const bad[] = {
		"",
		"/srv/blobs",
		"folder",
		"folder:",
		"folder:blobs",
		"ftp://h/b",
		"folder:/a\nb",
		"s3:",
		"s3:ftp://h/b",
		"s3:https://h",
		"s3:https:///b",
		"s3:https://u@h/b",
		"s3:https://h/b/./c",
		"s3:https://h/b?x=y",
		"s3:https://h/b?region=a b",
	};
	char longest[TH_PLACE_URL_MAX + 2];
	struct th_blob_place *p;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(bad); i++)
		if (th_blob_place_open(th_str_of(bad[i]), TH_STR(ID), &p, &err) != TH_EUSAGE)
			fail_msg("%s: was not refused", bad[i]);
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	memcpy(longest, "folder:/", 8);
	assert_int_equal(
	    th_blob_place_open(th_str_n(longest, TH_PLACE_URL_MAX), TH_STR(ID), &p, &err), TH_OK);
	th_blob_place_close(p);
	assert_int_equal(
	    th_blob_place_open(th_str_n(longest, TH_PLACE_URL_MAX + 1), TH_STR(ID), &p, &err),
	    TH_ELIMIT);
	assert_int_equal(th_blob_place_open(TH_STR("folder:/a"), TH_STR("../x"), &p, &err),
			 TH_ECORRUPT);
	assert_int_equal(
	    th_blob_place_open(TH_STR("s3:http://[::1]:9000/b/c/"), TH_STR(ID), &p, &err), TH_OK);
	th_blob_place_close(p);
}

/* ---- the folder ---- */

static void test_folder(void **state)
{
	struct th_blob_place *p = place_open(ID);
	struct th_blob_place_put list[2] = { put_of("one"), put_of("") };
	struct th_str names[2] = { th_str_of(list[0].name), th_str_of(list[1].name) };
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	(void)state;
	/* Nobody has begun to use it: nothing is made. */
	assert_int_equal(p->kind->put(p, list, 2, &err), TH_ECONN);
	assert_int_equal(th_blob_place_begin(p, &err), TH_OK);
	assert_int_equal(walk(p).count, 0);
	assert_int_equal(p->kind->put(p, list, 2, &err), TH_OK);
	assert_int_equal(get(p, list[0].name, &out), TH_OK);
	assert_true(th_str_is(th_buf_str(&out), "one"));
	assert_int_equal(get(p, list[1].name, &out), TH_OK);
	assert_int_equal(out.len, 0);
	assert_int_equal(walk(p).hashes, 2);
	assert_int_equal(p->kind->remove(p, names, 2, &err), TH_OK);
	assert_int_equal(p->kind->remove(p, names, 2, &err), TH_OK);
	assert_int_equal(get(p, list[0].name, &out), TH_ENOENT);
	assert_non_null(strstr(err.msg, list[0].name));
	assert_int_equal(walk(p).count, 0);
	th_blob_place_close(p);
}

static void test_flushed_in_this_order(void **state)
{
	struct th_blob_place *p = place_open(ID);
	struct th_blob_place_put put = put_of("one");

	(void)state;
	assert_int_equal(th_blob_place_begin(p, &err), TH_OK);
	watch(0, 0);
	assert_int_equal(p->kind->put(p, &put, 1, &err), TH_OK);
	assert_string_equal(order, "MDFRD"); /* its folder; the file; the file's name */
	watch(0, 0);
	assert_int_equal(p->kind->put(p, &put, 1, &err), TH_OK);
	assert_string_equal(order, "FRD");
	th_blob_place_close(p);
}

/* Each call fails once: the put does, what is there is whole or not there, and the next one goes
 * well. */
static void test_each_call_fails(void **state)
{
	static const int errnums[] = { EIO, ENOSPC };
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	(void)state;
	for (size_t e = 0; e < TH_COUNT(errnums); e++)
		for (int at = 1; at <= 5; at++) {
			struct th_blob_place *p = place_open(ID);
			struct th_blob_place_put put = put_of("one");
			enum th_code code;

			watch(0, 0);
			assert_int_equal(th_blob_place_begin(p, &err), TH_OK);
			put.bytes = TH_STR("others"); /* so its folder is new */
			struct th_digest hash = th_sha256_of(put.bytes.ptr, put.bytes.len);
			th_blob_place_name(&hash, put.name);
			watch(at, errnums[e]);
			code = p->kind->put(p, &put, 1, &err);
			assert_int_equal(code, th_code_of_errno(errnums[e]));
			assert_int_equal(fail_in, 0);
			watch(0, 0);
			code = get(p, put.name, &out);
			assert_true(code == TH_ENOENT ||
				    (code == TH_OK && th_str_eq(th_buf_str(&out), put.bytes)));
			assert_int_equal(walk(p).count - walk(p).hashes, 0); /* nothing is left */
			assert_int_equal(p->kind->put(p, &put, 1, &err), TH_OK);
			assert_int_equal(get(p, put.name, &out), TH_OK);
			th_blob_place_close(p);
			assert_int_equal(th_dir_remove(folder, &err), TH_OK);
			assert_int_equal(mkdir(folder, 0700), 0);
		}
}

static void test_walk_tells_ages(void **state)
{
	struct th_blob_place *p = place_open(ID);
	struct th_blob_place_put put = put_of("one");
	struct timespec times[2];
	char path[256];

	(void)state;
	assert_int_equal(th_blob_place_begin(p, &err), TH_OK);
	assert_int_equal(p->kind->put(p, &put, 1, &err), TH_OK);
	snprintf(path, sizeof(path), "%s/blobs/" ID "/%s", folder, put.name);
	times[0] = times[1] = (struct timespec){ time(NULL) - 7200, 0 };
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	struct walked w = walk(p);
	assert_string_equal(w.name, put.name);
	assert_true(w.age_ms >= 7200000 && w.age_ms < 7300000);
	/* What others have there is passed over; what a cut put left is told. */
	snprintf(path, sizeof(path), "%s/blobs/" ID "/%.2s/mine", folder, put.name);
	assert_int_equal(th_file_write(path, TH_STR("x"), 0600, &err), TH_OK);
	snprintf(path, sizeof(path), "%s/blobs/" ID "/%.2s/.thole-0123456789abcdef.tmp", folder,
		 put.name);
	assert_int_equal(th_file_write(path, TH_STR("x"), 0600, &err), TH_OK);
	w = walk(p);
	assert_true(w.count == 2 && w.hashes == 1);
	th_blob_place_close(p);
}

/* Another store in the same folder has nothing in common with it. */
static void test_apart(void **state)
{
	struct th_blob_place *p = place_open(ID),
			     *q = place_open("fedcba9876543210fedcba9876543210");
	struct th_blob_place_put put = put_of("one");
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	(void)state;
	assert_int_equal(th_blob_place_begin(p, &err), TH_OK);
	assert_int_equal(th_blob_place_begin(q, &err), TH_OK);
	assert_int_equal(p->kind->put(p, &put, 1, &err), TH_OK);
	assert_int_equal(get(q, put.name, &out), TH_ENOENT);
	assert_int_equal(walk(q).count, 0);
	th_blob_place_close(p);
	th_blob_place_close(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_urls),
		cmocka_unit_test_setup_teardown(test_folder, begin, end),
		cmocka_unit_test_setup_teardown(test_flushed_in_this_order, begin, end),
		cmocka_unit_test_setup_teardown(test_each_call_fails, begin, end),
		cmocka_unit_test_setup_teardown(test_walk_tells_ages, begin, end),
		cmocka_unit_test_setup_teardown(test_apart, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
