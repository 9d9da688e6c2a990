/* SPDX-License-Identifier: Apache-2.0 */
#include "executor/spool.h"

#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/files.h"

static char folder[64];
static int dir_fd;

static int setup(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/thole-spool-XXXXXX");
	assert_non_null(mkdtemp(folder));
	dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir_fd < 0;
}

static int teardown(void **state)
{
	(void)state;
	th_fd_close(&dir_fd);
	return th_dir_remove(folder, NULL);
}

/* The byte at any place of the output. */
static char byte_at(uint64_t at)
{
	return (char)('a' + (at * 7 + at / 251) % 26);
}

static void fill(char *to, uint64_t at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		to[i] = byte_at(at + i);
}

static void expect(const struct th_spool *s, uint64_t offset, size_t len)
{
	struct th_buf out = TH_BUF_INIT(4 * TH_MIB);
	uint64_t at;

	assert_int_equal(th_spool_read(s, offset, len, &out, &at, NULL), TH_OK);
	assert_true(at >= offset && out.len <= len);
	for (size_t i = 0; i < out.len; i++)
		assert_int_equal(out.ptr[i], byte_at(at + i));
	th_buf_deinit(&out);
}

static void keeps_head_and_tail(void **state)
{
	static char bytes[3 * TH_MIB];
	static const size_t sizes[] = { 1, 13, 4096, 65536, 700000, 3 * TH_MIB };
	struct stat st;

	(void)state;
	for (size_t n = 0; n < TH_COUNT(sizes); n++) {
		struct th_spool s, old;
		th_spool_init(&s);
		uint64_t at = 0;
		for (int i = 0; i < (sizes[n] < 4096 ? 3000 : 80); i++) {
			fill(bytes, at, sizes[n]);
			th_spool_append(&s, dir_fd, "x", th_str_n(bytes, sizes[n]));
			at += sizes[n];
		}
		assert_int_equal(s.size, at);
		assert_int_equal(s.kept, at);
		assert_int_equal(th_spool_open(&old, dir_fd, "x", NULL), TH_OK);
		assert_int_equal(old.size, at);
		for (uint64_t offset = 0; offset < at; offset += at / 50 + 1) {
			expect(&s, offset, 100000);
			expect(&old, offset, 100000);
		}
		expect(&old, at, 10);
		expect(&old, at - 1, 10);
		expect(&old, TH_SPOOL_HEAD - 1, 10);
		expect(&old, 0, 2 * TH_MIB);
		assert_int_equal(stat(folder, &st), 0);
		assert_int_equal(fstat(s.fd, &st), 0);
		assert_true((uint64_t)st.st_size <= 8 + TH_TOOL_OUTPUT_MAX);
		th_spool_close(&s);
		th_spool_close(&old);
	}
}

static void all_of_a_short_one_is_there(void **state)
{
	static char bytes[TH_TOOL_OUTPUT_MAX];
	struct th_spool s;
	struct th_buf out = TH_BUF_INIT(2 * TH_MIB);
	uint64_t at;

	(void)state;
	th_spool_init(&s);
	fill(bytes, 0, sizeof(bytes));
	th_spool_append(&s, dir_fd, "x", th_str_n(bytes, sizeof(bytes)));
	assert_int_equal(th_spool_read(&s, 0, 2 * TH_MIB, &out, &at, NULL), TH_OK);
	assert_int_equal(at, 0);
	assert_int_equal(out.len, sizeof(bytes));
	assert_memory_equal(out.ptr, bytes, sizeof(bytes));
	/* One byte more, and the first of the tail is lost. */
	char next = byte_at(sizeof(bytes));
	th_spool_append(&s, dir_fd, "x", th_str_n(&next, 1));
	th_buf_clear(&out);
	assert_int_equal(th_spool_read(&s, TH_SPOOL_HEAD, 10, &out, &at, NULL), TH_OK);
	assert_int_equal(at, TH_SPOOL_HEAD + 1);
	th_buf_deinit(&out);
	th_spool_close(&s);
}

static void odd_files(void **state)
{
	struct th_spool s;

	(void)state;
	assert_int_equal(th_spool_open(&s, dir_fd, "none", NULL), TH_ENOENT);
	int fd = openat(dir_fd, "cut", O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(fd, "abc", 3), 3);
	close(fd);
	assert_int_equal(th_spool_open(&s, dir_fd, "cut", NULL), TH_ECORRUPT);
	/* The size says more than there is, as after a power cut. */
	fd = openat(dir_fd, "short", O_WRONLY | O_CREAT, 0600);
	uint64_t size = 1000;
	assert_int_equal(write(fd, &size, 8), 8);
	assert_int_equal(write(fd, "abc", 3), 3);
	close(fd);
	assert_int_equal(th_spool_open(&s, dir_fd, "short", NULL), TH_OK);
	assert_int_equal(s.size, 3);
	th_spool_close(&s);
	/* Nowhere to write: counted, not kept. */
	th_spool_init(&s);
	th_spool_append(&s, -1, "x", TH_STR("abc"));
	th_spool_append(&s, -1, "x", TH_STR("abc"));
	assert_int_equal(s.size, 6);
	assert_int_equal(s.kept, 0);
	th_spool_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(keeps_head_and_tail, setup, teardown),
		cmocka_unit_test_setup_teardown(all_of_a_short_one_is_there, setup, teardown),
		cmocka_unit_test_setup_teardown(odd_files, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
