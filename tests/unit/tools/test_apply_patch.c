/* SPDX-License-Identifier: Apache-2.0 */
/* Patches over several files: all or none, what is refused, what a probe says, the limits' edges.
 */
#include "job.h"

/* The patch's lines between the envelope's, with \n for each newline. */
static const char *patch(const char *lines)
{
	struct th_buf arguments = TH_BUF_INIT(64 * TH_MIB), text = TH_BUF_INIT(32 * TH_MIB);
	struct th_jw w = th_jw(&arguments);

	th_buf_printf(&text, "*** Begin Patch\n%s*** End Patch", lines);
	th_jw_object(&w);
	th_jw_kstr(&w, "patch", th_buf_str(&text));
	th_jw_object_end(&w);
	tool("apply_patch", arguments.ptr);
	th_buf_deinit(&arguments);
	th_buf_deinit(&text);
	return run.text.ptr;
}

static void holds(const char *name, const char *content)
{
	struct th_buf back = TH_BUF_INIT(TH_MIB);

	assert_int_equal(th_file_read(in_workspace(name), TH_MIB, &back, NULL), TH_OK);
	assert_string_equal(back.ptr, content);
	th_buf_deinit(&back);
}

static bool is_there(const char *name)
{
	return access(in_workspace(name), F_OK) == 0;
}

static void changes_files(void **state)
{
	struct stat st;

	(void)state;
	put("a", "one\ntwo\n");
	put("b", "gone\n");
	put("c", "x\ny\n");
	put("d", "kept\n");
	assert_int_equal(chmod(in_workspace("c"), 0755), 0);
	assert_string_equal(patch("*** Update File: a\n@@\n one\n-two\n+2\n"
				  "*** Delete File: b\n"
				  "*** Update File: c\n*** Move to: sub/c2\n@@\n-x\n+X\n"
				  "*** Update File: d\n*** Move to: e\n"
				  "*** Add File: new/f\n+1\n+2\n"),
			    "updated a\ndeleted b\nmoved c to sub/c2\nmoved d to e\ncreated new/f");
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	holds("a", "one\n2\n");
	assert_false(is_there("b"));
	assert_false(is_there("c"));
	holds("sub/c2", "X\ny\n");
	assert_int_equal(stat(in_workspace("sub/c2"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0755);
	assert_false(is_there("d"));
	holds("e", "kept\n");
	holds("new/f", "1\n2\n"); /* a text file's last line ends */
	assert_string_equal(run.evidence.ptr, run.noted.ptr);
	assert_true(has(run.noted.ptr, "{\"files\":[{\"path\":\"a\",\"old_sha256\":\""));
	assert_true(has(run.noted.ptr, "{\"path\":\"b\",\"old_sha256\":\""));
	assert_true(
	    has(run.noted.ptr, "{\"path\":\"new/f\",\"old_sha256\":null,\"new_sha256\":\""));
}

static bool is_link(const char *name)
{
	struct stat st;

	return lstat(in_workspace(name), &st) == 0 && S_ISLNK(st.st_mode);
}

/* What goes is the link, wherever it leads; what is changed is the file behind it. */
static void a_link_goes_and_its_file_stays(void **state)
{
	struct stat st;

	(void)state;
	put("a", "1\n");
	put("b", "2\n");
	assert_int_equal(chmod(in_workspace("b"), 0755), 0);
	assert_int_equal(symlink("a", in_workspace("link")), 0);
	assert_int_equal(symlink("b", in_workspace("moved")), 0);
	assert_int_equal(symlink("nothing", in_workspace("nowhere")), 0);
	assert_int_equal(symlink("/etc/hostname", in_workspace("out")), 0);
	patch("*** Delete File: link\n*** Delete File: nowhere\n*** Delete File: out\n"
	      "*** Update File: moved\n*** Move to: new\n@@\n-2\n+two\n");
	assert_string_equal(run.text.ptr,
			    "deleted link\ndeleted nowhere\ndeleted out\nmoved moved to new");
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	assert_false(is_link("link") || is_link("nowhere") || is_link("out") || is_link("moved"));
	holds("a", "1\n");
	holds("b", "2\n");
	holds("new", "two\n");
	assert_int_equal(stat(in_workspace("new"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0755);
	tool_begin("apply_patch", "{\"patch\":\"x\"}", true);
	tool_wait();
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	assert_int_equal(symlink("a", in_workspace("link")), 0);
	tool_begin("apply_patch", "{\"patch\":\"x\"}", true);
	tool_wait();
	assert_int_equal(run.status, TH_OUTCOME_UNKNOWN);
	assert_true(has(run.text.ptr, "link is as it was before"));
}

/* Under a second name it is found out when its turn comes, and all is as before. */
static void one_file_has_two_names(void **state)
{
	static const char *const second[] = { "*** Update File: ./a\n@@\n-1\n+two\n",
					      "*** Delete File: dir/..//a\n",
					      "*** Add File: ./n\n+two\n" };
	struct th_buf lines = TH_BUF_INIT(4096);

	(void)state;
	put("a", "1\n");
	assert_int_equal(mkdir(in_workspace("dir"), 0755), 0);
	for (size_t i = 0; i < TH_COUNT(second); i++) {
		th_buf_clear(&lines);
		th_buf_printf(&lines, "*** Update File: a\n@@\n-1\n+one\n*** Add File: n\n+n\n%s",
			      second[i]);
		patch(lines.ptr);
		assert_int_equal(run.status, TH_OUTCOME_FAILED);
		assert_true(has(run.text.ptr, "another name in this patch"));
		assert_true(has(run.text.ptr, "nothing was changed"));
		holds("a", "1\n");
		assert_false(is_there("n"));
	}
	th_buf_deinit(&lines);
}

/* Whatever does not fit, nothing is changed. */
static void does_all_or_nothing(void **state)
{
	static const struct {
		const char *lines, *says;
		enum th_outcome_status status;
	} bad[] = {
		{ "*** Update File: b\n@@\n-no such line\n",
		  "b: Invalid Context 0:\nno such line\n", TH_OUTCOME_FAILED },
		{ "*** Update File: missing\n@@\n-x\n", "missing is not there",
		  TH_OUTCOME_REFUSED },
		{ "*** Delete File: missing\n", "missing is not there", TH_OUTCOME_REFUSED },
		{ "*** Add File: b\n+x\n", "b is there already", TH_OUTCOME_REFUSED },
		{ "*** Update File: b\n*** Move to: c\n", "c is there already",
		  TH_OUTCOME_REFUSED },
		{ "*** Update File: a\n@@\n-1\n", "a is changed twice", TH_OUTCOME_REFUSED },
		{ "*** Update File: link\n@@\n-1\n", "a is changed twice", TH_OUTCOME_REFUSED },
		{ "*** Delete File: dir\n", "dir is a folder", TH_OUTCOME_REFUSED },
		{ "*** Add File: ../x\n+x\n", "workspace", TH_OUTCOME_REFUSED },
		{ "*** Update File: out\n@@\n-x\n", "workspace", TH_OUTCOME_REFUSED },
		{ "*** Update File: out\n*** Move to: m\n", "workspace", TH_OUTCOME_REFUSED },
		{ "*** Update File: nowhere\n*** Move to: m\n", "leads to no file",
		  TH_OUTCOME_REFUSED },
		{ "*** Add File: /etc/thole-test\n+x\n", "workspace", TH_OUTCOME_REFUSED },
		{ "*** Move File: b\n", "a: Invalid Line: *** Move File: b", TH_OUTCOME_FAILED },
	};
	struct th_buf lines = TH_BUF_INIT(4096);

	(void)state;
	put("a", "1\n");
	put("b", "2\n");
	put("c", "3\n");
	assert_int_equal(mkdir(in_workspace("dir"), 0755), 0);
	assert_int_equal(symlink("a", in_workspace("link")), 0);
	assert_int_equal(symlink("/etc/hostname", in_workspace("out")), 0);
	assert_int_equal(symlink("nothing", in_workspace("nowhere")), 0);
	for (size_t i = 0; i < TH_COUNT(bad); i++) {
		th_buf_clear(&lines);
		th_buf_printf(&lines, "*** Update File: a\n@@\n-1\n+one\n%s*** Add File: n\n+n\n",
			      bad[i].lines);
		patch(lines.ptr);
		if (run.status != bad[i].status || !has(run.text.ptr, bad[i].says))
			fail_msg("%s: %d %s", bad[i].lines, (int)run.status, run.text.ptr);
		holds("a", "1\n");
		holds("b", "2\n");
		assert_false(is_there("n"));
	}
	assert_int_equal(run.noted.len, 0);
	run.note_fails = true;
	patch("*** Add File: n\n+n\n");
	assert_int_equal(run.status, TH_OUTCOME_NOT_STARTED);
	assert_false(is_there("n"));
	th_buf_deinit(&lines);
}

/* One of the files cannot be written: those before it get back what they had. */
static void a_failed_write_is_undone(void **state)
{
	(void)state;
	put("a", "1\n");
	put("gone", "here\n");
	assert_int_equal(symlink("gone", in_workspace("link")), 0);
	put("file", "no folder\n");
	/* Found while it is done only: a file cannot be a folder too. */
	patch("*** Update File: a\n@@\n-1\n+one\n*** Add File: file/x\n+x\n");
	assert_int_equal(run.status, TH_OUTCOME_FAILED);
	assert_true(has(run.text.ptr, "(nothing was changed)"));
	holds("a", "1\n");
	holds("file", "no folder\n");
	patch("*** Delete File: gone\n*** Update File: a\n@@\n-1\n+one\n*** Add File: n\n+n\n"
	      "*** Add File: n/x\n+x\n");
	assert_int_equal(run.status, TH_OUTCOME_FAILED);
	assert_true(run.noted.len > 0);
	assert_true(has(run.text.ptr, "(nothing was changed)"));
	holds("a", "1\n");
	holds("gone", "here\n");
	assert_false(is_there("n"));
	/* So does a link that was taken away. */
	patch("*** Delete File: link\n*** Delete File: ./link\n");
	assert_int_equal(run.status, TH_OUTCOME_FAILED);
	assert_true(has(run.text.ptr, "(nothing was changed)"));
	assert_true(is_link("link"));
	holds("link", "here\n");
}

/* What could not be taken away is as it was, and is not said to be changed. */
static void what_stays_was_not_changed(void **state)
{
	static const char *const lines[] = { "*** Delete File: d/file\n",
					     "*** Delete File: d/link\n" };

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(chown(workspace, 1234, 1234), 0);
	assert_int_equal(mkdir(in_workspace("d"), 0755), 0);
	put("d/file", "here\n");
	assert_int_equal(symlink("file", in_workspace("d/link")), 0);
	env.as_owner = true;
	env.owner_uid = env.owner_gid = 1234;
	for (size_t i = 0; i < TH_COUNT(lines); i++) {
		patch(lines[i]);
		assert_int_equal(run.status, TH_OUTCOME_FAILED);
		assert_true(has(run.text.ptr, "Permission denied\n(nothing was changed)"));
	}
	assert_true(is_link("d/link"));
	holds("d/file", "here\n");
}

/* After a crash between accepted and finished. */
static void a_probe_decides(void **state)
{
	static const char arguments[] =
	    "{\"patch\":\"*** Begin Patch\\n*** Update File: a\\n@@\\n-1\\n+one\\n*** Delete File: "
	    "b\\n*** Add File: c\\n+c\\n*** End Patch\"}";

	(void)state;
	put("a", "1\n");
	put("b", "2\n");
	tool("apply_patch", arguments);
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	tool_begin("apply_patch", arguments, true);
	tool_wait();
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	put("b", "2\n");
	tool_begin("apply_patch", arguments, true);
	tool_wait();
	assert_int_equal(run.status, TH_OUTCOME_UNKNOWN);
	assert_string_equal(run.text.ptr, "a is changed\nb is as it was before\nc is changed");
	put("a", "1\n");
	assert_int_equal(unlink(in_workspace("c")), 0);
	tool_begin("apply_patch", arguments, true);
	tool_wait();
	assert_int_equal(run.status, TH_OUTCOME_NOT_STARTED);
	put("a", "of another");
	tool_begin("apply_patch", arguments, true);
	tool_wait();
	assert_int_equal(run.status, TH_OUTCOME_UNKNOWN);
	assert_true(has(run.text.ptr, "a is neither"));
	th_buf_clear(&run.noted);
	tool_begin("apply_patch", arguments, true);
	tool_wait();
	assert_int_equal(run.status, TH_OUTCOME_UNKNOWN);
}

/* Bytes of all files together; a file may be as large as write_file makes one. */
static void limits(void **state)
{
	struct th_buf big = TH_BUF_INIT(32 * TH_MIB), lines = TH_BUF_INIT(4096);
	size_t files = TH_PATCH_BYTES_MAX / TH_FILE_WRITE_MAX;

	(void)state;
	while (big.len < TH_FILE_WRITE_MAX)
		th_buf_add_cstr(&big, big.len % 1024 == 1023 ? "\n" : "x");
	for (size_t i = 0; i <= files; i++) {
		char name[8];

		snprintf(name, sizeof(name), "f%zu", i);
		put(name, big.ptr);
	}
	for (size_t i = 0; i < files; i++)
		th_buf_printf(&lines, "*** Delete File: f%zu\n", i);
	th_buf_printf(&lines, "*** Delete File: f%zu\n", files);
	patch(lines.ptr);
	assert_int_equal(run.status, TH_OUTCOME_FAILED);
	assert_true(has(run.text.ptr, "bytes in all"));
	assert_true(is_there("f0"));
	th_buf_truncate(&lines, lines.len - strlen("*** Delete File: f4\n"));
	patch(lines.ptr);
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	assert_false(is_there("f0"));
	patch("*** Update File: f4\n@@\n+y\n");
	assert_int_equal(run.status, TH_OUTCOME_FAILED);
	th_buf_add_char(&big, 'x');
	put("f4", big.ptr);
	patch("*** Delete File: f4\n");
	assert_int_equal(run.status, TH_OUTCOME_FAILED);
	assert_true(has(run.text.ptr, "larger than"));
	th_buf_deinit(&big);
	th_buf_deinit(&lines);
}

/* Names and digests of the files must fit in the journal. */
static void long_names(void **state)
{
	struct th_buf lines = TH_BUF_INIT(TH_MIB), folder = TH_BUF_INIT(TH_PATH_LEN_MAX);

	(void)state;
	for (int i = 0; i < 15; i++)
		th_buf_printf(&folder, "%0254d/", i);
	for (int more = 0; more <= 1; more++) {
		th_buf_clear(&lines);
		for (int i = 0; i < TH_PATCH_FILES_MAX; i++)
			th_buf_printf(&lines, "*** Add File: %s%0*d\n+x\n", folder.ptr,
				      more ? 200 : 20, i);
		patch(lines.ptr);
		assert_int_equal(run.status, more ? TH_OUTCOME_REFUSED : TH_OUTCOME_DONE);
		if (more)
			assert_true(has(run.text.ptr, "larger than"));
		else
			assert_true(run.noted.len < TH_PATCH_NOTE_MAX &&
				    run.noted.len > TH_PATCH_NOTE_MAX - 10 * TH_KIB);
	}
	th_buf_deinit(&lines);
	th_buf_deinit(&folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(changes_files, job_setup, job_teardown),
		cmocka_unit_test_setup_teardown(does_all_or_nothing, job_setup, job_teardown),
		cmocka_unit_test_setup_teardown(a_link_goes_and_its_file_stays, job_setup,
						job_teardown),
		cmocka_unit_test_setup_teardown(one_file_has_two_names, job_setup, job_teardown),
		cmocka_unit_test_setup_teardown(a_failed_write_is_undone, job_setup, job_teardown),
		cmocka_unit_test_setup_teardown(what_stays_was_not_changed, job_setup,
						job_teardown),
		cmocka_unit_test_setup_teardown(a_probe_decides, job_setup, job_teardown),
		cmocka_unit_test_setup_teardown(long_names, job_setup, job_teardown),
		cmocka_unit_test_setup_teardown(limits, job_setup, job_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
