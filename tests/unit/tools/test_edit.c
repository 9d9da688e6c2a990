/* SPDX-License-Identifier: Apache-2.0 */
/* The editor: what it finds and refuses, that other bytes stay, undo, order, and what a probe says.
 */
#include "job.h"

#include <dirent.h>
#include <fcntl.h>

#include "base/codec.h"

static void holds(const char *name, const char *content, size_t len)
{
	struct th_buf back = TH_BUF_INIT(16 * TH_MIB);

	assert_int_equal(th_file_read(in_workspace(name), 16 * TH_MIB, &back, NULL), TH_OK);
	assert_int_equal(back.len, len);
	assert_memory_equal(back.ptr, content, len);
	th_buf_deinit(&back);
}
#define HOLDS(name, content) holds(name, content, sizeof(content) - 1)

static void put_bytes(const char *name, const char *bytes, size_t len)
{
	assert_int_equal(th_file_write(in_workspace(name), th_str_n(bytes, len), 0644, NULL),
			 TH_OK);
}
#define PUT(name, content) put_bytes(name, content, sizeof(content) - 1)

static const char *replace(const char *path, const char *old, const char *new)
{
	struct th_buf arguments = TH_BUF_INIT(64 * TH_MIB);
	struct th_jw w = th_jw(&arguments);

	th_jw_object(&w);
	th_jw_kstr(&w, "command", TH_STR("str_replace"));
	th_jw_kstr(&w, "path", th_str_of(path));
	th_jw_kstr(&w, "old_str", th_str_of(old));
	th_jw_kstr(&w, "new_str", th_str_of(new));
	th_jw_object_end(&w);
	tool("edit", arguments.ptr);
	th_buf_deinit(&arguments);
	return run.text.ptr;
}

static const char *insert(const char *path, int line, const char *new)
{
	struct th_buf arguments = TH_BUF_INIT(64 * TH_MIB);
	struct th_jw w = th_jw(&arguments);

	th_jw_object(&w);
	th_jw_kstr(&w, "command", TH_STR("insert"));
	th_jw_kstr(&w, "path", th_str_of(path));
	th_jw_kint(&w, "insert_line", line);
	th_jw_kstr(&w, "new_str", th_str_of(new));
	th_jw_object_end(&w);
	tool("edit", arguments.ptr);
	th_buf_deinit(&arguments);
	return run.text.ptr;
}

static const char *undo(const char *path)
{
	struct th_buf arguments = TH_BUF_INIT(8 * TH_KIB);

	th_buf_printf(&arguments, "{\"command\":\"undo_edit\",\"path\":\"%s\"}", path);
	tool("edit", arguments.ptr);
	th_buf_deinit(&arguments);
	return run.text.ptr;
}

/* ---- bytes ---- */

/* Whatever a text is written in, only what is asked for changes. */
static void other_bytes_stay(void **state)
{
	static const struct {
		const char *before, *old, *new, *after;
		size_t before_len, after_len;
	} cases[] = {
#define CASE(b, o, n, a) { b, o, n, a, sizeof(b) - 1, sizeof(a) - 1 }
		CASE("one\r\ntwo\r\nthree", "two", "TWO", "one\r\nTWO\r\nthree"),
		CASE("one\r\ntwo\r\nthree", "one\ntwo", "1\n2\n3", "1\r\n2\r\n3\r\nthree"),
		CASE("a\r\nb\nc\r\nd\n", "b\nc\nd", "b\nX\nd", "a\r\nb\nX\r\nd\n"),
		CASE("a\nb\nc\r\n", "b\nc\n", "b\nnew\nc\n", "a\nb\nnew\nc\r\n"),
		CASE("a\r\nb\r\n", "a\r\nb", "x\r\ny", "x\r\ny\r\n"),
		CASE("a\nb", "b", "b\r\nc", "a\nb\r\nc"),
		CASE("no end", "end", "END", "no END"),
		CASE("\xef\xbb\xbf"
		     "caf\xc3\xa9\n",
		     "caf\xc3\xa9", "th\xc3\xa9",
		     "\xef\xbb\xbf"
		     "th\xc3\xa9\n"),
		CASE("caf\xe9 \x80 \x81\n", "caf\xc3\xa9 \xe2\x82\xac", "th\xc3\xa9 \xe2\x80\x9d",
		     "th\xe9 \x94 \x81\n"),
		CASE("\xff\xfe"
		     "a\0\r\0\n\0\x3d\xd8\x00\xde",
		     "a\n", "b\nc\n",
		     "\xff\xfe"
		     "b\0\r\0\n\0c\0\r\0\n\0\x3d\xd8\x00\xde"),
		CASE("\xfe\xff\0a\0\n", "a", "\xf0\x9f\x98\x80", "\xfe\xff\xd8\x3d\xde\x00\0\n"),
		CASE("tab\there  \n", "\there  ", "\tthere", "tab\tthere\n"),
#undef CASE
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		put_bytes("f", cases[i].before, cases[i].before_len);
		replace("f", cases[i].old, cases[i].new);
		if (run.status != TH_OUTCOME_DONE)
			fail_msg("case %zu: %s", i, run.text.ptr);
		holds("f", cases[i].after, cases[i].after_len);
		undo("f");
		assert_int_equal(run.status, TH_OUTCOME_DONE);
		holds("f", cases[i].before, cases[i].before_len);
	}
	PUT("f", "caf\xe9\n");
	replace("f", "caf", "\xe4\xb8\xad");
	assert_true(has(run.text.ptr, "windows-1252, which has no character U+4E2D"));
	HOLDS("f", "caf\xe9\n");
	assert_int_equal(chmod(in_workspace("f"), 0751), 0);
	replace("f", "caf", "th");
	struct stat st;
	assert_int_equal(stat(in_workspace("f"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0751);
}

static void inserts_whole_lines(void **state)
{
	static const struct {
		const char *before, *new, *after;
		int line;
	} cases[] = {
		{ "a\nb\n", "x", "x\na\nb\n", 0 },
		{ "a\nb\n", "x\n", "a\nx\nb\n", 1 },
		{ "a\nb\n", "x", "a\nb\nx\n", 2 },
		{ "a\nb", "x", "a\nb\nx", 2 },
		{ "a\nb", "x\n", "a\nb\nx\n", 2 },
		{ "a\nb", "x", "a\nx\nb", 1 },
		{ "a\r\nb\r\n", "x\ny", "a\r\nx\r\ny\r\nb\r\n", 1 },
		{ "", "x", "x\n", 0 },
		{ "a\n", "", "a\n\n", 1 },
		{ "a\r\nb", "x", "a\r\nb\r\nx", 2 },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		put("f", cases[i].before);
		tool("edit", "{\"command\":\"view\",\"path\":\"f\"}");
		insert("f", cases[i].line, cases[i].new);
		if (run.status != TH_OUTCOME_DONE)
			fail_msg("case %zu: %s", i, run.text.ptr);
		holds("f", cases[i].after, strlen(cases[i].after));
	}
	put("f", "a\nb\n");
	tool("edit", "{\"command\":\"view\",\"path\":\"f\"}");
	assert_true(has(insert("f", 3, "x"), "Invalid `insert_line` parameter: 3. It should be "
					     "within the range of allowed values: [0, 2]"));
}

/* ---- what it refuses ---- */

static void refuses_what_is_not_one_place(void **state)
{
	(void)state;
	put("f", "a\nfoo\nb\nfoo\nfoo foo\n");
	assert_true(has(replace("f", "foo", "x"),
			"Multiple occurrences of old_str `foo` in lines [2, 4, 5]."));
	assert_int_equal(run.status, TH_OUTCOME_REFUSED);
	assert_true(has(replace("f", "bar", "x"), "did not appear verbatim in f."));
	put("g", "aaa");
	assert_true(has(replace("g", "aa", "b"), "Multiple occurrences")); /* they overlap */
	HOLDS("g", "aaa");
	assert_true(has(replace("g", "", "b"), "it is empty"));
	assert_true(has(replace("g", "aaa", "aaa"), "must be different"));
	/* Without the white space around it, it stands there. */
	replace("g", "  aaa\n", " b ");
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	HOLDS("g", "b");
}

static void refuses_paths(void **state)
{
	static const struct {
		const char *arguments, *says;
	} bad[] = {
		{ "{\"command\":\"view\",\"path\":\"none\"}", "The path none does not exist" },
		{ "{\"command\":\"view\",\"path\":\"../x\"}", "outside the workspace" },
		{ "{\"command\":\"view\",\"path\":\"/etc/passwd\"}", "outside the workspace" },
		{ "{\"command\":\"view\",\"path\":\"out\"}", "outside the workspace" },
		{ "{\"command\":\"create\",\"path\":\"out/x\",\"file_text\":\"\"}",
		  "outside the workspace" },
		{ "{\"command\":\"create\",\"path\":\"f\",\"file_text\":\"\"}",
		  "File already exists at: f" },
		{ "{\"command\":\"create\",\"path\":\"n\"}", "`file_text` is required" },
		{ "{\"command\":\"str_replace\",\"path\":\"f\",\"new_str\":\"\"}",
		  "`old_str` is required" },
		{ "{\"command\":\"str_replace\",\"path\":\"f\",\"old_str\":\"a\"}",
		  "`new_str` is required" },
		{ "{\"command\":\"insert\",\"path\":\"f\",\"new_str\":\"a\"}",
		  "`insert_line` is required" },
		{ "{\"command\":\"insert\",\"path\":\"f\",\"insert_line\":0}",
		  "`new_str` is required" },
		{ "{\"command\":\"undo_edit\",\"path\":\"f\"}", "No edit history found for f." },
		{ "{\"command\":\"undo_edit\",\"path\":\"none\"}", "The path none does not exist" },
		{ "{\"command\":\"insert\",\"path\":\"d\",\"insert_line\":0,\"new_str\":\"\"}",
		  "only the `view` command" },
		{ "{\"command\":\"view\",\"path\":\"fifo\"}", "no regular file" },
		{ "{\"command\":\"view\",\"path\":\"binary\"}", "appears to be binary" },
		{ "{\"command\":\"view\",\"path\":\"big\"}",
		  "File is too large (10.0MB). Maximum allowed size is 10MB." },
		{ "{\"command\":\"view\",\"path\":\"d\",\"view_range\":[1,2]}",
		  "not allowed when" },
		{ "{\"command\":\"view\",\"path\":\"f\",\"view_range\":[1]}",
		  "Invalid `view_range` parameter: [1]. It should be a list of two integers." },
		{ "{\"command\":\"view\",\"path\":\"f\",\"view_range\":[4,5]}",
		  "first element `4` should be within the range of lines of the file: [1, 1]." },
		{ "{\"command\":\"view\",\"path\":\"f\",\"view_range\":[1,0]}",
		  "second element `0` should be greater than or equal to the first element `1`." },
	};

	(void)state;
	put("f", "a\n");
	PUT("binary", "a\0b");
	assert_int_equal(mkdir(in_workspace("d"), 0755), 0);
	assert_int_equal(mkfifo(in_workspace("fifo"), 0644), 0);
	assert_int_equal(symlink("/etc", in_workspace("out")), 0);
	put("big", "");
	assert_int_equal(truncate(in_workspace("big"), (off_t)TH_EDIT_FILE_MAX + 1), 0);
	for (size_t i = 0; i < TH_COUNT(bad); i++) {
		tool("edit", bad[i].arguments);
		if (!has(run.text.ptr, bad[i].says) || run.status == TH_OUTCOME_DONE)
			fail_msg("%s: %s", bad[i].arguments, run.text.ptr);
		assert_true(has(run.text.ptr, "error: "));
	}
	HOLDS("f", "a\n");
	assert_int_equal(access("/etc/x", F_OK), -1);
	/* The edge of the size. */
	assert_int_equal(truncate(in_workspace("big"), (off_t)TH_EDIT_FILE_MAX), 0);
	assert_true(has(tool("edit", "{\"command\":\"view\",\"path\":\"big\"}"), "binary"));
}

/* ---- what it shows ---- */

static void shows_lines(void **state)
{
	struct th_buf text = TH_BUF_INIT(TH_MIB);

	(void)state;
	put("f", "one\r\ntwo\nthree");
	assert_true(
	    has(tool("edit", "{\"command\":\"view\",\"path\":\".//./f/\"}"), "`cat -n` on f:\n"));
	assert_string_equal(tool("edit", "{\"command\":\"view\",\"path\":\"f\"}"),
			    "Here's the result of running `cat -n` on f:\n     1\tone\n     "
			    "2\ttwo\n     3\tthree\n");
	assert_string_equal(
	    tool("edit", "{\"command\":\"view\",\"path\":\"f\",\"view_range\":[2,9]}"),
	    "NOTE: We only show up to 3 since there're only 3 lines in this file.\nHere's the "
	    "result of running `cat -n` on f:\n     2\ttwo\n     3\tthree\n");
	assert_string_equal(
	    tool("edit", "{\"command\":\"view\",\"path\":\"f\",\"view_range\":[1,1]}"),
	    "Here's the result of running `cat -n` on f:\n     1\tone\n");
	for (int i = 0; i < 9000; i++)
		th_buf_printf(&text, "line %d\n", i + 1);
	put("long", text.ptr);
	tool("edit", "{\"command\":\"view\",\"path\":\"long\"}");
	assert_true(run.text.len < 34 * TH_KIB);
	assert_true(has(run.text.ptr, "of 9000 are shown; view_range ["));
	memset(text.ptr, 'x', text.len);
	put("wide", text.ptr);
	tool("edit", "{\"command\":\"view\",\"path\":\"wide\"}");
	assert_true(has(run.text.ptr, "[line 1 is longer than that; only its start is shown]"));
	th_buf_deinit(&text);
}

/* One that is broken would be refused by the provider, with all later requests of its session. */
static void shows_pictures(void **state)
{
	/* 8000 by 1, 8001 by 1, 1 by 8001, and a JPEG's head. */
	static const char *const sides[] = {
		"iVBORw0KGgoAAAANSUhEUgAAH0AAAAABAQAAAAB7GKW3AAAAEUlEQVR42mNgGAWjYBQMewAAA+kA"
		"AQgrTBsAAAAASUVORK5CYII=",
		"iVBORw0KGgoAAAANSUhEUgAAH0EAAAABAQAAAACU2s6JAAAAEUlEQVR42mNgGAWjYBQMfwAAA+oA"
		"Af4i1lEAAAAASUVORK5CYII=",
		"iVBORw0KGgoAAAANSUhEUgAAAAEAAB9BAQAAAACpoB9vAAAAJklEQVR42u3BAQ0AAADCoPdP7ewB"
		"FAAAAAAAAAAAAAAAAAAAANwAPoIAAWUOw+YAAAAASUVORK5CYII=",
	};
	static const char jpeg[] =
	    "\xff\xd8\xff\xe0\0\4ab\xff\xc0\0\13\10\0\2\x1f\x41\1\1\x11\0\xff\xda\0\2";
	struct th_buf png = TH_BUF_INIT(TH_KIB);

	(void)state;
	for (size_t i = 0; i < TH_COUNT(sides); i++) {
		th_buf_clear(&png);
		assert_true(th_base64_decode(&png, th_str_of(sides[i])));
		assert_int_equal(th_file_write(in_workspace("p.png"), th_buf_str(&png), 0644, NULL),
				 0);
		tool("edit", "{\"command\":\"view\",\"path\":\"p.png\"}");
		assert_int_equal(has(run.text.ptr, "more than 8000 pixels a side"), i > 0);
	}
	PUT("j.jpg", jpeg);
	assert_true(has(tool("edit", "{\"command\":\"view\",\"path\":\"j.jpg\"}"), "8000 pixels"));
	th_buf_clear(&png);
	assert_true(th_base64_decode(
	    &png,
	    TH_STR("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWj"
		   "R9awAAAABJRU5ErkJggg==")));
	assert_int_equal(th_file_write(in_workspace("p.png"), th_buf_str(&png), 0644, NULL), 0);
	assert_true(has(tool("edit", "{\"command\":\"view\",\"path\":\"p.png\"}"),
			"{\"type\":\"image\",\"media_type\":\"image/png\",\"blob\":\""));
	assert_string_equal(run.picture, "image/png 70");
	for (size_t cut = png.len - 1; cut >= 8; cut -= cut > 20 ? 11 : 1) {
		run.picture[0] = '\0';
		th_buf_truncate(&png, cut);
		assert_int_equal(th_file_write(in_workspace("p.png"), th_buf_str(&png), 0644, NULL),
				 0);
		assert_true(has(tool("edit", "{\"command\":\"view\",\"path\":\"p.png\"}"),
				"broken, cut off"));
		assert_int_equal(run.status, TH_OUTCOME_REFUSED);
		assert_string_equal(run.picture, "");
	}
	th_buf_deinit(&png);
	PUT("q.png", "no picture\n");
	assert_true(
	    has(tool("edit", "{\"command\":\"view\",\"path\":\"q.png\"}"), "1\tno picture"));
}

static void says_what_others_changed(void **state)
{
	(void)state;
	put("f", "a\nb\n");
	tool("edit", "{\"command\":\"view\",\"path\":\"f\"}");
	put("f", "0\na\nb\n");
	assert_true(has(insert("f", 1, "x"), "was changed by something else since"));
	HOLDS("f", "0\na\nb\n");
	assert_true(has(replace("f", "b", "B"), "NOTE: f had been changed by something else"));
	HOLDS("f", "0\na\nB\n");
	insert("f", 1, "x"); /* what it was shown by that edit */
	HOLDS("f", "0\nx\na\nB\n");
	tool("write_file", "{\"path\":\"f\",\"content\":\"mine\\n\"}");
	assert_false(has(replace("f", "mine", "yours"), "NOTE"));
	put("f", "theirs\n");
	assert_true(has(undo("f"), "somebody else changed it"));
	HOLDS("f", "theirs\n");
}

/* ---- undo ---- */

static void takes_edits_back(void **state)
{
	char old[16], new[16];

	(void)state;
	tool("edit", "{\"command\":\"create\",\"path\":\"sub/n\",\"file_text\":\"n\"}");
	assert_string_equal(run.text.ptr, "File created successfully at: sub/n");
	HOLDS("sub/n", "n");
	assert_true(has(undo("sub/n"), "undone successfully. It had made the file, which is gone"));
	assert_int_equal(access(in_workspace("sub/n"), F_OK), -1);

	put("f", "s0");
	for (int i = 0; i < TH_UNDO_STEPS_MAX + 2; i++) {
		snprintf(old, sizeof(old), "s%d", i);
		snprintf(new, sizeof(new), "s%d", i + 1);
		replace("f", old, new);
		assert_int_equal(run.status, TH_OUTCOME_DONE);
	}
	for (int i = 0; i < TH_UNDO_STEPS_MAX; i++) {
		assert_true(has(undo("f"), "undone successfully"));
		snprintf(old, sizeof(old), "s%d", TH_UNDO_STEPS_MAX + 1 - i);
		holds("f", old, strlen(old));
	}
	assert_true(has(undo("f"), "No edit history found for f."));
	/* There and back again: each step is its own. */
	put("g", "a");
	replace("g", "a", "b");
	replace("g", "b", "a");
	undo("g");
	HOLDS("g", "b");
	undo("g");
	HOLDS("g", "a");
	/* A folder for them is not there: it is said, and the edit holds. */
	th_fd_close(&env.undo_fd);
	assert_true(has(replace("g", "a", "c"), "undo_edit cannot take this back"));
	HOLDS("g", "c");
}

/* What can be taken back of all files together, in steps and in bytes; the oldest goes. */
static void undo_has_its_room(void **state)
{
	char first[64] = "", name[64];
	struct stat st;
	int fd;

	(void)state;
	put("a", "x");
	replace("a", "x", "y");
	DIR *dir = fdopendir(openat(env.undo_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	assert_non_null(dir);
	for (const struct dirent *d; (d = readdir(dir));)
		if (d->d_name[0] != '.')
			snprintf(first, sizeof(first), "%.60s", d->d_name);
	closedir(dir);
	assert_int_equal(fstatat(env.undo_fd, first, &st, 0), 0);
	/* Others' steps, as many as leave room for one. */
	for (int i = 2; i < TH_UNDO_ENTRIES_MAX; i++) {
		snprintf(name, sizeof(name), "%016x-%s", (unsigned)i, first + 17);
		name[17] = name[17] == '0' ? '1' : '0';
		fd = openat(env.undo_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		th_fd_close(&fd);
	}
	put("b", "x");
	replace("b", "x", "y");
	assert_int_equal(faccessat(env.undo_fd, first, F_OK, 0), 0);
	put("c", "x");
	replace("c", "x", "y");
	assert_int_equal(faccessat(env.undo_fd, first, F_OK, 0), -1);
	assert_true(has(undo("a"), "No edit history found for a."));
	assert_true(has(undo("b"), "undone successfully"));
	assert_true(has(undo("c"), "undone successfully"));

	/* One of them takes all bytes but those of one more. */
	snprintf(name, sizeof(name), "%016x-%s", 3U, first + 17);
	name[17] = name[17] == '0' ? '1' : '0';
	fd = openat(env.undo_fd, name, O_WRONLY | O_CLOEXEC);
	assert_int_equal(ftruncate(fd, (off_t)TH_UNDO_BYTES_MAX - st.st_size), 0);
	replace("b", "x", "y");
	assert_int_equal(faccessat(env.undo_fd, name, F_OK, 0), 0);
	assert_true(has(undo("b"), "undone successfully"));
	assert_int_equal(ftruncate(fd, (off_t)TH_UNDO_BYTES_MAX - st.st_size + 1), 0);
	replace("b", "x", "y");
	assert_int_equal(faccessat(env.undo_fd, name, F_OK, 0), -1);
	assert_true(has(undo("b"), "undone successfully"));
	th_fd_close(&fd);
}

/* ---- several at once, and after a crash ---- */

static size_t many_done;

static void one_done(struct th_tool_job *job, enum th_outcome_status status, struct th_str output,
		     struct th_str evidence)
{
	(void)job;
	(void)output;
	(void)evidence;
	assert_int_equal(status, TH_OUTCOME_DONE);
	if (++many_done == 20)
		th_loop_stop(loop);
}

/* The edits of one answer come at once: each finds what the one before it made. */
static void edits_hold_in_their_order(void **state)
{
	struct th_tool_job jobs[20];
	struct th_arena arena;
	struct th_json_doc *docs[20];
	char text[256];

	(void)state;
	th_arena_init(&arena, TH_MIB);
	put("f", "0");
	many_done = 0;
	run_reset();
	for (int i = 0; i < 20; i++) {
		const struct th_tool *edit = th_tool_find(TH_STR("edit"));
		void *args = th_arena_alloc(&arena, edit->arguments->size);

		snprintf(text, sizeof(text),
			 "{\"command\":\"str_replace\",\"path\":\"f\",\"old_str\":\"%d\","
			 "\"new_str\":\"%d\"}",
			 i, i + 1);
		struct th_str kept = th_arena_str(&arena, th_str_of(text));
		assert_int_equal(th_json_parse(kept, &docs[i], NULL), TH_OK);
		assert_int_equal(
		    th_table_parse(edit->arguments, th_json_root(docs[i]), &arena, args, NULL),
		    TH_OK);
		jobs[i] = (struct th_tool_job){ .env = &env,
						.arena = &arena,
						.args = args,
						.output = job_output,
						.note = job_note,
						.done = one_done };
		edit->start(&jobs[i]);
	}
	th_loop_run(loop);
	assert_int_equal(many_done, 20);
	HOLDS("f", "20");
	for (size_t i = 0; i < TH_COUNT(docs); i++)
		th_json_free(docs[i]);
	th_arena_deinit(&arena);
}

static void a_probe_decides(void **state)
{
	static const char arguments[] = "{\"command\":\"str_replace\",\"path\":\"f\",\"old_str\":"
					"\"a\",\"new_str\":\"b\"}";
	(void)state;
	put("f", "a");
	tool("edit", arguments);
	HOLDS("f", "b");
	tool_begin("edit", arguments, true);
	tool_wait();
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	put("f", "a");
	tool_begin("edit", arguments, true);
	tool_wait();
	assert_int_equal(run.status, TH_OUTCOME_NOT_STARTED);
	put("f", "c");
	tool_begin("edit", arguments, true);
	tool_wait();
	assert_int_equal(run.status, TH_OUTCOME_UNKNOWN);
	/* The entry for undo was written, the file was not: it is no step to take back. */
	put("f", "a");
	assert_true(has(undo("f"), "No edit history"));
	run.note_fails = true;
	put("f", "a");
	tool("edit", arguments);
	run.note_fails = false;
	assert_int_equal(run.status, TH_OUTCOME_NOT_STARTED);
	HOLDS("f", "a");
}

static void looking_is_a_read(void **state)
{
	const struct th_tool *edit = th_tool_find(TH_STR("edit"));

	(void)state;
	assert_true(th_effect_only_looks(edit->looks, TH_STR("{\"command\":\"view\"}")));
	assert_false(th_effect_only_looks(edit->looks, TH_STR("{\"command\":\"create\"}")));
	assert_false(th_effect_only_looks(edit->looks,
					  TH_STR("{\"command\":\"create\",\"command\":\"view\"}")));
	assert_false(th_effect_only_looks(edit->looks, TH_STR("{\"x\":\"view\"}")));
	assert_false(th_effect_only_looks(edit->looks, TH_STR("view")));
	assert_false(th_effect_only_looks(NULL, TH_STR("{\"command\":\"view\"}")));
}

/* What was about to be said of an edit is not said when it failed. */
static void a_failed_edit_is_not_said(void **state)
{
	char top[sizeof(workspace)];

	(void)state;
	tool("edit", "{\"command\":\"create\",\"path\":\"made/..\",\"file_text\":\"x\"}");
	assert_int_equal(run.status, TH_OUTCOME_FAILED);
	assert_true(has(run.text.ptr, "does not name a file"));
	assert_int_not_equal(access(in_workspace("made"), F_OK), 0);
	assert_int_equal(mkdir(in_workspace("closed"), 0555), 0);
	if (geteuid() == 0) {
		snprintf(top, sizeof(top), "%.*s", (int)(strlen(workspace) - 3), workspace);
		assert_int_equal(chmod(top, 0755), 0);
		env.as_owner = true;
		env.owner_uid = env.owner_gid = 65534;
	}
	tool("edit", "{\"command\":\"create\",\"path\":\"closed/a/b\",\"file_text\":\"x\"}");
	env.as_owner = false;
	assert_int_equal(run.status, TH_OUTCOME_REFUSED);
	assert_true(has(run.text.ptr, "Permission denied"));
	assert_false(has(run.text.ptr, "created"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, job_setup, job_teardown)
	const struct CMUnitTest tests[] = {
		TEST(other_bytes_stay),
		TEST(inserts_whole_lines),
		TEST(refuses_what_is_not_one_place),
		TEST(refuses_paths),
		TEST(a_failed_edit_is_not_said),
		TEST(shows_lines),
		TEST(shows_pictures),
		TEST(says_what_others_changed),
		TEST(takes_edits_back),
		TEST(undo_has_its_room),
		TEST(edits_hold_in_their_order),
		TEST(a_probe_decides),
		TEST(looking_is_a_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
