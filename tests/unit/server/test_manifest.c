/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of what is followed, at their edges; what it is for is in tests/e2e/cli/test_files.py.
 */
#include "server/manifest.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/limits.h"
#include "io/files.h"
#include "unit.h"

static char top[64], kept[96];
static int dir = -1;

static int set_up(void **state)
{
	char place[96];
	struct th_err err;

	(void)state;
	snprintf(top, sizeof(top), "/tmp/th-manifest-XXXXXX");
	assert_non_null(mkdtemp(top));
	snprintf(place, sizeof(place), "%s/work", top);
	snprintf(kept, sizeof(kept), "%s/starts/one", top);
	assert_int_equal(th_dir_make(place, 0700, &err), TH_OK);
	dir = open(place, O_RDONLY | O_DIRECTORY);
	assert_true(dir >= 0);
	return 0;
}

static int tear_down(void **state)
{
	struct th_err err;

	(void)state;
	th_fd_close(&dir);
	return th_dir_remove(top, &err) != TH_OK;
}

static void put(const char *name, const char *text)
{
	struct th_err err;

	assert_int_equal(th_file_write_at(dir, name, th_str_of(text), 0600, &err), TH_OK);
}

static void begin(const struct th_manifest_limits *l)
{
	struct th_err err;

	assert_int_equal(th_manifest_begin(dir, kept, l, &err), TH_OK);
}

static bool has_manifest(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/manifest", kept);
	return access(path, F_OK) == 0;
}

/* The files as "STATE PATH NOTE;", in order, and whether that is all. */
static const char *changes(const struct th_manifest_limits *l, bool complete, const char *reason)
{
	static char list[4096];
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_err err;
	struct th_json_iter it;
	size_t at = 0;

	list[0] = '\0';
	assert_int_equal(th_manifest_changes(dir, kept, l, &json, &err), TH_OK);
	assert_int_equal(th_json_parse(th_buf_str(&json), &doc, &err), TH_OK);
	assert_int_equal(th_json_bool(th_json_get(th_json_root(doc), "complete"), !complete),
			 complete);
	if (reason)
		assert_true(th_str_find(th_json_get_str(th_json_root(doc), "reason"),
					th_str_of(reason)) >= 0);
	it = th_json_iter(th_json_get(th_json_root(doc), "files"));
	while (th_json_next(&it))
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%.*s %.*s%s;",
				       TH_FMT(th_json_get_str(it.val, "state")),
				       TH_FMT(th_json_get_str(it.val, "path")),
				       th_json_get(it.val, "note") ? " note" : "");
	return list;
}

static void entries_and_depth(void **state)
{
	struct th_manifest_limits l = th_manifest_limits;

	(void)state;
	begin(&l);
	assert_false(has_manifest()); /* it was empty */
	put("a", "1");
	put("b", "2");
	l.tree.entries = 2;
	assert_string_equal(changes(&l, true, NULL), "added a;added b;");
	l.tree.entries = 1;
	(void)changes(&l, false, "more files");
	l = th_manifest_limits;
	l.tree.paths = 1;
	(void)changes(&l, false, "names");
	assert_int_equal(mkdirat(dir, "d", 0700), 0);
	assert_int_equal(mkdirat(dir, "d/e", 0700), 0);
	l = th_manifest_limits;
	l.tree.depth = 2;
	assert_string_equal(changes(&l, true, NULL), "added a;added b;");
	l.tree.depth = 1;
	(void)changes(&l, false, "too deep");
}

static void not_all_at_the_start(void **state)
{
	struct th_manifest_limits l = th_manifest_limits;
	struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };

	(void)state;
	put("a", "1");
	put("b", "2");
	assert_int_equal(utimensat(dir, "a", old, 0), 0);
	assert_int_equal(utimensat(dir, "b", old, 0), 0);
	l.tree.entries = 1;
	begin(&l);
	assert_true(has_manifest());
	/* The one that was not followed is not taken for an added one; a new one is. */
	assert_string_equal(changes(&th_manifest_limits, false, "more files"), "");
	put("c", "3");
	assert_string_equal(changes(&th_manifest_limits, false, "more files"), "added c;");
}

static void contents(void **state)
{
	struct th_manifest_limits l = th_manifest_limits;
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct timespec other[2] = { { .tv_sec = 9 }, { .tv_sec = 9 } };
	struct th_err err;

	(void)state;
	put("a", "12345678");
	put("b", "12345678");
	put("c", "123456789");
	l.compare = 8;
	l.copies = 8; /* both have the same bytes, but that is not counted on */
	begin(&l);
	for (const char *name = "a\0b\0c\0"; *name; name += 2)
		assert_int_equal(utimensat(dir, name, other, 0), 0);
	/* Only the one above the limit is judged by its time. */
	assert_string_equal(changes(&l, true, NULL), "changed c note;");
	l.compare_all = 8;
	assert_string_equal(changes(&l, true, NULL), "changed b note;changed c note;");
	put("a", "abcdefgh");
	put("b", "abcdefgh");
	assert_int_equal(th_manifest_diff(dir, kept, TH_STR("a"), &out, &err), TH_OK);
	assert_non_null(strstr(out.ptr, "-12345678"));
	assert_int_equal(th_manifest_diff(dir, kept, TH_STR("b"), &out, &err), TH_EPROTO);
	assert_non_null(strstr(err.msg, "not kept"));
	assert_int_equal(th_manifest_diff(dir, kept, TH_STR("c"), &out, &err), TH_EPROTO);
}

static void a_copy(void **state)
{
	struct th_manifest_limits l = th_manifest_limits;
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_err err;

	(void)state;
	put("a", "1234");
	put("b", "12345");
	l.copy = 4;
	begin(&l);
	put("a", "x");
	put("b", "x");
	assert_int_equal(th_manifest_diff(dir, kept, TH_STR("a"), &out, &err), TH_OK);
	assert_int_equal(th_manifest_diff(dir, kept, TH_STR("b"), &out, &err), TH_EPROTO);
}

static void a_damaged_copy(void **state)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_digest digest = th_sha256_of("1234", 4);
	char hex[TH_SHA256_HEX_SIZE + 1], path[192];
	struct th_err err;

	(void)state;
	put("a", "1234");
	begin(&th_manifest_limits);
	put("a", "x");
	th_digest_hex(&digest, hex);
	snprintf(path, sizeof(path), "%s/%s", kept, hex);
	assert_int_equal(th_file_write(path, TH_STR("123"), 0600, &err), TH_OK);
	assert_int_equal(th_manifest_diff(dir, kept, TH_STR("a"), &out, &err), TH_EPROTO);
	assert_non_null(strstr(err.msg, "damaged"));
}

static void a_bad_manifest(void **state)
{
	static const char *const texts[] = {
		"", "[]", "{\"version\":2}", "{\"version\":1,\"files\":[{}]}",
		"{\"version\":1,\"files\":[{\"kind\":\"file\",\"path\":\"%\"}]}"
	};
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	char path[128];
	struct th_err err;

	(void)state;
	put("a", "1");
	begin(&th_manifest_limits);
	snprintf(path, sizeof(path), "%s/manifest", kept);
	for (size_t i = 0; i < TH_COUNT(texts); i++) {
		assert_int_equal(th_file_write(path, th_str_of(texts[i]), 0600, &err), TH_OK);
		assert_int_not_equal(
		    th_manifest_changes(dir, kept, &th_manifest_limits, &out, &err), TH_OK);
		assert_non_null(strstr(err.msg, "the manifest"));
	}
}

static void texts(void **state)
{
	(void)state;
	assert_true(th_is_text(TH_STR("a\xc3\xa4"), false));
	assert_false(th_is_text(TH_STR("a\xc3"), false));
	assert_true(th_is_text(TH_STR("a\xc3"), true));
	assert_false(th_is_text(TH_STR("a\0b"), true));
	assert_false(th_is_text(TH_STR("\xff text that goes on"), true));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(entries_and_depth, set_up, tear_down),
		cmocka_unit_test_setup_teardown(not_all_at_the_start, set_up, tear_down),
		cmocka_unit_test_setup_teardown(contents, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_copy, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_damaged_copy, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_bad_manifest, set_up, tear_down),
		cmocka_unit_test(texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
