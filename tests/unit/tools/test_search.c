/* SPDX-License-Identifier: Apache-2.0 */
/* Search: what is found and passed over, ignore files, bad patterns, and the bounds' edges. */
#include "job.h"

#include <dirent.h>
#include <sys/time.h>

/* The clock as the tool reads it: after the first look it is so much later. */
static uint64_t later_ms;
static int looks = -1; /* -1: the real one */

uint64_t __real_th_clock_ms(void);
uint64_t __wrap_th_clock_ms(void);
uint64_t __wrap_th_clock_ms(void)
{
	if (looks < 0)
		return __real_th_clock_ms();
	return 1000 + (looks++ ? later_ms : 0);
}

/* A file of this name is seen so many times in its folder, each time under another name. */
#define MULTIPLIED "multiplied"
static int times = 1;

/* A C library has one of these two names for it. */
struct dirent *__real_readdir(DIR *dir) __attribute__((weak));
struct dirent *__real_readdir64(DIR *dir) __attribute__((weak));
struct dirent *__wrap_readdir(DIR *dir);
struct dirent *__wrap_readdir64(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir)
{
	static struct dirent made;
	static int left;
	struct dirent *d;

	if (left > 0) {
		snprintf(made.d_name, sizeof(made.d_name), MULTIPLIED " %d", left--);
		return &made;
	}
	d = __real_readdir64 ? __real_readdir64(dir) : __real_readdir(dir);
	if (d && !strcmp(d->d_name, MULTIPLIED)) {
		made.d_type = d->d_type;
		left = times - 1;
	}
	return d;
}

struct dirent *__wrap_readdir64(DIR *dir)
{
	return __wrap_readdir(dir);
}

static void tree(void)
{
	static const char *const folders[] = { "src", "src/deep", "build", "docs", ".hid", ".git" };

	for (size_t i = 0; i < TH_COUNT(folders); i++)
		assert_int_equal(mkdir(in_workspace(folders[i]), 0755), 0);
	put("src/a.c", "int main(void)\n{\n\treturn needle(1);\n}\n");
	put("src/deep/b.h", "int needle(int);\r\nint other;\n");
	put("build/gen.c", "needle\n");
	put("docs/n.md", "a Needle here\n");
	put("docs/keep.log", "needle\n");
	put("x.log", "needle\n");
	put(".hid/h.c", "needle\n");
	put(".git/config", "needle\n");
	put(".gitignore", "# made\n/build/\n*.log\n!keep.log\n");
	assert_int_equal(symlink("src/a.c", in_workspace("link.c")), 0);
	assert_int_equal(th_file_write(in_workspace("bin"), th_str_n("needle\0", 7), 0644, NULL),
			 TH_OK);
}

static void finds_lines(void **state)
{
	(void)state;
	tree();
	assert_string_equal(tool("search", "{\"pattern\":\"needle\\\\(\"}"),
			    "src/a.c:3: \treturn needle(1);\nsrc/deep/b.h:1: int needle(int);\n"
			    "[2 matching lines in 2 files]");
	assert_string_equal(
	    tool("search", "{\"pattern\":\"needle\",\"ignore_case\":true,\"path\":\"docs\"}"),
	    "docs/keep.log:1: needle\ndocs/n.md:1: a Needle here\n"
	    "[2 matching lines in 2 files]");
	assert_string_equal(tool("search", "{\"pattern\":\"^int\",\"files\":\"*.{h,x}\"}"),
			    "src/deep/b.h:1: int needle(int);\nsrc/deep/b.h:2: int other;\n"
			    "[2 matching lines in 1 files]");
	assert_string_equal(
	    tool("search", "{\"pattern\":\"needle\",\"all\":true,\"files\":\"{.hid,build}/**\"}"),
	    ".hid/h.c:1: needle\nbuild/gen.c:1: needle\n[2 matching lines in 2 files]");
	/* A file that is named is looked at. */
	assert_string_equal(tool("search", "{\"pattern\":\"e{2}\",\"path\":\"x.log\"}"),
			    "x.log:1: needle\n[1 matching lines in 1 files]");
	assert_string_equal(tool("search", "{\"pattern\":\"needle\",\"path\":\"./src/deep/\"}"),
			    "src/deep/b.h:1: int needle(int);\n[1 matching lines in 1 files]");
	/* The rules of the folders above hold too. */
	put("src/x.log", "needle\n");
	assert_string_equal(tool("search", "{\"pattern\":\"^needle\",\"path\":\"src\"}"),
			    "[0 matching lines]");
	assert_string_equal(tool("search", "{\"pattern\":\"nowhere\"}"), "[0 matching lines]");
	assert_string_equal(tool("search", "{\"pattern\":\"void\\\\)\\\\n\\\\{\"}"),
			    "src/a.c:1: int main(void)\nsrc/a.c:2: {\n"
			    "[2 matching lines in 1 files]");
	assert_string_equal(tool("search", "{\"pattern\":\"^$\",\"path\":\"src\"}"),
			    "[0 matching lines]");
}

/* The model sees files without the CR of their lines (edit.c), and so its patterns know of none. */
static void ends_of_lines(void **state)
{
	static const struct {
		const char *pattern, *says;
	} rows[] = {
		{ "b$", "f:1: ab\nf:3: b\n[2 matching lines in 1 files]" },
		{ "^$", "f:2: \n[1 matching lines in 1 files]" },
		{ "^b$", "f:3: b\n[1 matching lines in 1 files]" },
		{ "b\\nc", "f:3: b\nf:4: c \n[2 matching lines in 1 files]" },
		{ "a.$", "f:1: ab\n[1 matching lines in 1 files]" },
		{ "[^xb\\\\n]$", "f:4: c \nf:6: \\r\n[2 matching lines in 1 files]" },
		/* Whoever names it is looking for it. */
		{ "b\\\\r$", "f:1: ab\nf:3: b\n[2 matching lines in 1 files]" },
		{ "\\\\\\\\r$", "f:6: \\r\n[1 matching lines in 1 files]" },
	};

	(void)state;
	put("f", "ab\r\n\r\nb\r\nc \r\nx\r\n\\r\r\n");
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		char arguments[64];

		snprintf(arguments, sizeof(arguments), "{\"pattern\":\"%s\"}", rows[i].pattern);
		tool("search", arguments);
		if (strcmp(run.text.ptr, rows[i].says) != 0)
			fail_msg("%s: %s", arguments, run.text.ptr);
	}
	/* One that stands in a line is its own. */
	put("f", "a\rb\r\nc\r");
	assert_true(has(tool("search", "{\"pattern\":\"a.b$\"}"), "f:1: "));
	assert_true(has(tool("search", "{\"pattern\":\"c.$\"}"), "f:2: "));
}

static void lists_files_newest_first(void **state)
{
	struct timeval old[2] = { { 1000, 0 }, { 1000, 0 } },
		       new[2] = { { 2000000000, 0 }, { 2000000000, 0 } };

	(void)state;
	tree();
	assert_int_equal(utimes(in_workspace("src/a.c"), old), 0);
	assert_int_equal(utimes(in_workspace("src/deep/b.h"), new), 0);
	assert_string_equal(tool("search", "{\"files\":\"src/**/*.{c,h}\"}"),
			    "src/deep/b.h\nsrc/a.c\n[2 files]");
	assert_string_equal(tool("search", "{\"files\":\"*.py\"}"), "[0 files]");
	assert_false(has(tool("search", "{}"), "link.c"));
	assert_false(has(run.text.ptr, ".gitignore"));
	assert_true(has(run.text.ptr, "docs/keep.log\n"));
}

static void refuses(void **state)
{
	static const struct {
		const char *arguments, *says;
	} bad[] = {
		{ "{\"pattern\":\"(\"}", "the pattern is not one, at byte 1: missing closing" },
		{ "{\"pattern\":\"a\",\"path\":\"none\"}", "No such file" },
		{ "{\"pattern\":\"a\",\"path\":\"..\"}", "outside the workspace" },
		{ "{\"pattern\":\"a\",\"path\":\"out\"}", "outside the workspace" },
		{ "{\"pattern\":\"a\",\"path\":\"/etc\"}", "outside the workspace" },
		{ "{\"pattern\":\"a\",\"path\":\"fifo\"}", "not a regular file" },
	};

	(void)state;
	assert_int_equal(symlink("/etc", in_workspace("out")), 0);
	assert_int_equal(mkfifo(in_workspace("fifo"), 0644), 0);
	for (size_t i = 0; i < TH_COUNT(bad); i++) {
		tool("search", bad[i].arguments);
		if (!has(run.text.ptr, bad[i].says) || run.status == TH_OUTCOME_DONE)
			fail_msg("%s: %s", bad[i].arguments, run.text.ptr);
	}
	assert_string_equal(tool("search", "{\"pattern\":\"root\"}"), "[0 matching lines]");
}

static void is_bounded(void **state)
{
	struct th_buf text = TH_BUF_INIT(32 * TH_MIB), arguments = TH_BUF_INIT(16 * TH_KIB);

	(void)state;
	for (int i = 0; i < TH_SEARCH_MATCHES_MAX; i++)
		th_buf_add_cstr(&text, "hit\n");
	put("f", text.ptr);
	assert_true(
	    has(tool("search", "{\"pattern\":\"hit\"}"), "[200 matching lines in 1 files]"));
	put("g", "hit\n");
	assert_true(has(tool("search", "{\"pattern\":\"hit\"}"), "[stopped after 200 matching"));
	assert_true(has(run.evidence.ptr, "\"cut\":true"));
	th_buf_clear(&text);
	for (size_t i = 0; i <= TH_SEARCH_LINE_MAX; i++)
		th_buf_add_char(&text, 'w');
	put("g", text.ptr);
	assert_true(has(tool("search", "{\"pattern\":\"w\",\"path\":\"g\"}"), "ww…\n"));
	/* Larger than what is read; and a pattern that would take for ever. */
	assert_int_equal(truncate(in_workspace("g"), (off_t)TH_SEARCH_FILE_MAX + 1), 0);
	assert_true(has(tool("search", "{\"pattern\":\"w\",\"path\":\"g\"}"),
			"1 files of more than 16 MiB"));
	put("g", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!");
	assert_true(has(tool("search", "{\"pattern\":\"^(a+)+$\",\"path\":\"g\"}"),
			"the pattern takes too long"));
	th_buf_clear(&text);
	for (size_t i = 0; i <= TH_SEARCH_PATTERN_MAX; i++)
		th_buf_add_char(&text, 'a');
	th_buf_printf(&arguments, "{\"pattern\":\"%s\"}", text.ptr);
	assert_true(has(tool("search", arguments.ptr), "at most 4096 bytes"));
	th_buf_deinit(&text);
	th_buf_deinit(&arguments);
}

/* Folders inside each other, and entries of one folder, at their edges. */
static void large_trees(void **state)
{
	struct th_buf path = TH_BUF_INIT(8 * TH_KIB);
	char name[16];

	(void)state;
	for (size_t i = 1; i < TH_SEARCH_DEPTH_MAX; i++) {
		th_buf_add_cstr(&path, i > 1 ? "/d" : "d");
		assert_int_equal(mkdir(in_workspace(path.ptr), 0755), 0);
	}
	th_buf_add_cstr(&path, "/f");
	put(path.ptr, "needle\n");
	assert_true(
	    has(tool("search", "{\"pattern\":\"needle\"}"), "[1 matching lines in 1 files]"));
	assert_false(has(run.text.ptr, "could not be looked at"));
	th_buf_truncate(&path, path.len - 1);
	th_buf_add_cstr(&path, "d");
	assert_int_equal(mkdir(in_workspace(path.ptr), 0755), 0);
	th_buf_add_cstr(&path, "/f");
	put(path.ptr, "needle\n");
	assert_true(
	    has(tool("search", "{\"pattern\":\"needle\"}"), "[1 matching lines in 1 files]"));
	assert_true(has(run.text.ptr, "[1 files or folders could not be looked at: not readable, "
				      "too deep"));

	assert_int_equal(mkdir(in_workspace("many"), 0755), 0);
	put("many/f", "");
	int folder = open(in_workspace("many"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 1; i < TH_SEARCH_FOLDER_MAX; i++) {
		snprintf(name, sizeof(name), "%d", i);
		assert_int_equal(linkat(folder, "f", folder, name, 0), 0);
	}
	assert_true(has(tool("search", "{\"path\":\"many\"}"), "newest of 50000 files"));
	assert_false(has(run.text.ptr, "and there are more"));
	assert_int_equal(linkat(folder, "f", folder, "one more", 0), 0);
	assert_true(has(tool("search", "{\"path\":\"many\"}"), "newest of 50000 files"));
	assert_true(has(run.text.ptr, "[50000 files were looked at, and there are more]"));
	th_fd_close(&folder);
	th_buf_deinit(&path);
}

/* One large file without a byte on the disk, under many names. */
static void looks_at_so_many_bytes(void **state)
{
	const int most = (int)(TH_SEARCH_BYTES_MAX / TH_SEARCH_FILE_MAX);
	char name[16], says[64];

	(void)state;
	put("0", "");
	assert_int_equal(truncate(in_workspace("0"), TH_SEARCH_FILE_MAX), 0);
	int folder = open(in_workspace("."), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 1; i <= most; i++) {
		if (i == most - 1)
			assert_string_equal(tool("search", "{\"pattern\":\"x\"}"),
					    "[0 matching lines]");
		snprintf(name, sizeof(name), "%d", i);
		assert_int_equal(linkat(folder, "0", folder, name, 0), 0);
	}
	snprintf(says, sizeof(says), "\n[%d files were looked at, and there are more]", most);
	assert_true(has(tool("search", "{\"pattern\":\"x\"}"), says));
	th_fd_close(&folder);
}

/* Full folders, as many as may be looked at; then one file more. */
static void looks_at_so_many_files(void **state)
{
	const int full = TH_SEARCH_FILES_MAX / TH_SEARCH_FOLDER_MAX;
	char path[32];

	(void)state;
	assert_int_equal(full * TH_SEARCH_FOLDER_MAX, TH_SEARCH_FILES_MAX);
	for (int i = 0; i < full; i++) {
		snprintf(path, sizeof(path), "%d", i);
		assert_int_equal(mkdir(in_workspace(path), 0755), 0);
		snprintf(path, sizeof(path), "%d/" MULTIPLIED, i);
		put(path, "");
	}
	times = TH_SEARCH_FOLDER_MAX;
	assert_string_equal(tool("search", "{\"pattern\":\"x\"}"), "[0 matching lines]");
	put("last", "x");
	tool("search", "{\"pattern\":\"x\"}");
	times = 1;
	assert_string_equal(run.text.ptr, "[0 matching lines]\n[200000 files were looked at, "
					  "and there are more]");
}

static void ends_in_time(void **state)
{
	(void)state;
	tree();
	for (int more = 0; more < 2; more++) {
		later_ms = TH_SEARCH_MS_MAX + (uint64_t)more;
		looks = 0;
		tool("search", "{\"pattern\":\"needle\\\\(\"}");
		looks = -1;
		assert_true(
		    has(run.text.ptr, more ? "[ended after 20 s, its time limit: not all was "
					     "looked at]"
					   : "[2 matching lines in 2 files]"));
	}
}

/* Bytes that are no UTF-8 and control characters do not stop it, and do not reach the model. */
static void shows_clean_text(void **state)
{
	(void)state;
	put("f", "bad \xff\xfe needle \x1b[31mred\n");
	assert_string_equal(tool("search", "{\"pattern\":\"needle\"}"),
			    "f:1: bad \xef\xbf\xbd\xef\xbf\xbd needle red\n"
			    "[1 matching lines in 1 files]");
}

/* A quoted text of pages keeps nothing else from being found. */
static void finds_behind_long_strings(void **state)
{
	struct th_buf text = TH_BUF_INIT(TH_MIB);

	(void)state;
	th_buf_add_char(&text, '"');
	for (int i = 0; i < 100000; i++)
		th_buf_add_char(&text, 'a');
	th_buf_add_cstr(&text, "\"\nthe needle\n");
	put("long.js", text.ptr);
	tool("search", "{\"pattern\":\"\\\"(?:\\\\\\\\.|[^\\\"\\\\\\\\])*\\\"|needle\"}");
	assert_true(has(run.text.ptr, "long.js:1: \"aaa"));
	assert_true(has(run.text.ptr, "long.js:2: the needle\n[2 matching lines in 1 files]"));
	th_buf_deinit(&text);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, job_setup, job_teardown)
	const struct CMUnitTest tests[] = {
		TEST(finds_behind_long_strings),
		TEST(finds_lines),
		TEST(ends_of_lines),
		TEST(lists_files_newest_first),
		TEST(refuses),
		TEST(is_bounded),
		TEST(shows_clean_text),
		TEST(large_trees),
		TEST(ends_in_time),
		TEST(looks_at_so_many_bytes),
		TEST(looks_at_so_many_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
