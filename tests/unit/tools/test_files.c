/* SPDX-License-Identifier: Apache-2.0 */
/* read_file, write_file and list_dir, and that nothing of them leads out of the workspace. */
#include "job.h"

#include "agents/agent.h"
#include "tools/place.h"

/* The field's text names the default tools for people; the rows say which they are. */
static void defaults_are_documented(void **state)
{
	struct th_str names[TH_AGENT_TOOLS_MAX];
	struct th_buf text = TH_BUF_INIT(TH_KIB);
	size_t count = th_tools_default(names);
	const char *doc = NULL;

	(void)state;
	for (size_t i = 0; i < count; i++)
		th_buf_printf(&text, "%s%.*s", i ? ", " : "default: ", TH_FMT(names[i]));
	for (size_t i = 0; i < th_agent_table.count; i++)
		if (strcmp(th_agent_table.fields[i].name, "tools") == 0)
			doc = th_agent_table.fields[i].doc;
	assert_non_null(doc);
	assert_true(has(doc, text.ptr));
	th_buf_deinit(&text);
}

static void reads_a_file(void **state)
{
	(void)state;
	put("a.txt", "one\ntwo\nthree\n");
	assert_string_equal(tool("read_file", "{\"path\":\"a.txt\"}"), "one\ntwo\nthree\n");
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	assert_string_equal(run.evidence.ptr, "{\"size\":14,\"first_line\":1,\"last_line\":3}");
	assert_string_equal(tool("read_file", "{\"path\":\"a.txt\",\"start_line\":2}"),
			    "two\nthree\n");
	assert_string_equal(
	    tool("read_file", "{\"path\":\"a.txt\",\"start_line\":2,\"end_line\":2}"), "two\n");
	assert_string_equal(tool("read_file", "{\"path\":\"a.txt\",\"end_line\":1}"), "one\n");
	assert_string_equal(tool("read_file", "{\"path\":\"a.txt\",\"start_line\":9}"),
			    "[the file ends before line 9; it has 3 lines]");
	tool("read_file", "{\"path\":\"a.txt\",\"start_line\":3,\"end_line\":2}");
	assert_int_equal(run.status, TH_OUTCOME_REFUSED);
}

static void reads_odd_files(void **state)
{
	(void)state;
	put("empty", "");
	assert_string_equal(tool("read_file", "{\"path\":\"empty\"}"), "[empty file]");
	put("no newline", "a\nb");
	assert_string_equal(tool("read_file", "{\"path\":\"no newline\"}"), "a\nb");
	assert_string_equal(tool("read_file", "{\"path\":\"no newline\",\"start_line\":3}"),
			    "[the file ends before line 3; it has 2 lines]");
	assert_int_equal(th_file_write(in_workspace("bin"), TH_STR("a\0b"), 0644, NULL), TH_OK);
	assert_string_equal(tool("read_file", "{\"path\":\"bin\"}"),
			    "[binary file of 3 bytes, not shown]");
	put("latin", "caf\xe9\n");
	assert_string_equal(tool("read_file", "{\"path\":\"latin\"}"), "caf\xef\xbf\xbd\n");
	assert_true(has(tool("read_file", "{\"path\":\"missing\"}"), "No such file"));
	assert_int_equal(run.status, TH_OUTCOME_FAILED);
	assert_true(has(tool("read_file", "{\"path\":\".\"}"), "is a folder; list_dir"));
	assert_int_equal(mkfifo(in_workspace("pipe"), 0644), 0);
	assert_true(has(tool("read_file", "{\"path\":\"pipe\"}"), "not a regular file"));
	assert_true(has(tool("read_file", "{\"path\":\"\"}"), "path is empty"));
	assert_int_equal(run.status, TH_OUTCOME_REFUSED);
}

static void cuts_long_files_at_a_line(void **state)
{
	struct th_buf text = TH_BUF_INIT(4 * TH_MIB);
	char arguments[128];
	long long last, next;

	(void)state;
	for (int i = 1; i <= 20000; i++)
		th_buf_printf(&text, "line %d\n", i);
	put("long", text.ptr);
	const char *shown = tool("read_file", "{\"path\":\"long\"}");
	assert_int_equal(sscanf(shown,
				"[lines 1 to %lld of a file of %*d bytes; start_line %lld goes on]",
				&last, &next),
			 2);
	assert_int_equal(next, last + 1);
	assert_true(run.text.len <= TH_TOOL_OUTPUT_MODEL_MAX + 200);
	/* Going on as it says shows each line once, whatever the reads were cut into. */
	while (next <= 20000) {
		snprintf(arguments, sizeof(arguments), "{\"path\":\"long\",\"start_line\":%lld}",
			 next);
		shown = tool("read_file", arguments);
		const char *body = shown;
		if (shown[0] == '[')
			body = strchr(shown, '\n') + 1;
		char first[32];
		snprintf(first, sizeof(first), "line %lld\n", next);
		assert_memory_equal(body, first, strlen(first));
		if (sscanf(shown, "[lines %*d to %lld of", &last) != 1)
			last = 20000;
		snprintf(first, sizeof(first), "line %lld\n", last);
		assert_true(th_str_ends(th_buf_str(&run.text), th_str_of(first)));
		next = last + 1;
	}
	th_buf_clear(&text);
	while (text.len < 3 * TH_TOOL_OUTPUT_MODEL_MAX)
		th_buf_add(&text, TH_STR("no end "));
	put("one", text.ptr);
	assert_true(has(tool("read_file", "{\"path\":\"one\"}"),
			"[line 1 is longer than 32768 bytes; its start:]"));
	assert_true(run.text.len <= TH_TOOL_OUTPUT_MODEL_MAX + 200);
	th_buf_deinit(&text);
}

/* A line at the end of what is looked through, and one behind it. */
static void looks_so_far_for_a_line(void **state)
{
	static const char last[] = "\nlast\n";
	int fd;

	(void)state;
	for (int more = 0; more < 2; more++) {
		put("far", "first\n");
		fd = open(in_workspace("far"), O_WRONLY | O_CLOEXEC);
		for (int i = 0; i < 8192; i++)
			assert_int_equal(pwrite(fd, "x", 1, 6 + i), 1); /* no binary file */
		assert_int_equal(pwrite(fd, last, 6, (off_t)TH_FILE_SCAN_MAX - 6 + more), 6);
		close(fd);
		tool("read_file", "{\"path\":\"far\",\"start_line\":3}");
		if (!more)
			assert_string_equal(run.text.ptr, "last\n");
		tool("read_file", "{\"path\":\"far\",\"start_line\":4}");
		assert_string_equal(run.text.ptr,
				    more ? "[line 4 is not within the first 67108864 bytes of the "
					   "file; no more can be read]"
					 : "[the file ends before line 4; it has 3 lines]");
		assert_int_equal(run.status, TH_OUTCOME_DONE);
	}
}

static void reads_across_pieces(void **state)
{
	/* Lines that straddle the pieces in which a file is read. */
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	(void)state;
	for (size_t i = 0; i < 64 * TH_KIB - 3; i++)
		th_buf_add_char(&text, i % 100 == 99 ? '\n' : 'x');
	th_buf_add(&text, TH_STR("\nabcdef\nlast"));
	put("p", text.ptr);
	size_t lines = 0;
	for (size_t i = 0; i < text.len; i++)
		lines += text.ptr[i] == '\n';
	char arguments[96];
	snprintf(arguments, sizeof(arguments), "{\"path\":\"p\",\"start_line\":%zu}", lines);
	assert_string_equal(tool("read_file", arguments), "abcdef\nlast");
	th_buf_deinit(&text);
}

static void writes_a_file(void **state)
{
	struct th_buf back = TH_BUF_INIT(4096);
	struct stat st;

	(void)state;
	assert_string_equal(tool("write_file", "{\"path\":\"d/e/f.txt\",\"content\":\"abc\"}"),
			    "created d/e/f.txt: 3 bytes");
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	assert_string_equal(run.noted.ptr, "{\"old_sha256\":null}");
	assert_string_equal(
	    run.evidence.ptr,
	    "{\"old_sha256\":null,\"new_sha256\":"
	    "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\",\"size\":3}");
	assert_int_equal(th_file_read(in_workspace("d/e/f.txt"), 4096, &back, NULL), TH_OK);
	assert_string_equal(back.ptr, "abc");
	assert_int_equal(chmod(in_workspace("d/e/f.txt"), 0755), 0);
	assert_true(has(tool("write_file", "{\"path\":\"d/e/f.txt\",\"content\":\"\"}"),
			"replaced d/e/f.txt: 0 bytes instead of 3"));
	assert_true(has(run.noted.ptr, "ba7816bf"));
	assert_int_equal(stat(in_workspace("d/e/f.txt"), &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(st.st_mode & 0777, 0755);
	/* An absolute path inside is as good, and nothing but the file is left in the folder. */
	char arguments[700];
	snprintf(arguments, sizeof(arguments), "{\"path\":\"%s/d/e/g\",\"content\":\"x\"}",
		 workspace);
	tool("write_file", arguments);
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	assert_string_equal(tool("list_dir", "{\"path\":\"d/e\"}"),
			    "f.txt  0 bytes, executable\ng  1 bytes\n");
	th_buf_deinit(&back);
}

static void refuses_odd_targets(void **state)
{
	(void)state;
	assert_int_equal(mkdir(in_workspace("dir"), 0755), 0);
	put("file", "x");
	assert_true(has(tool("write_file", "{\"path\":\"dir\",\"content\":\"\"}"), "is a folder"));
	assert_true(
	    has(tool("write_file", "{\"path\":\"dir/\",\"content\":\"\"}"), "names a folder"));
	assert_true(has(tool("write_file", "{\"path\":\".\",\"content\":\"\"}"), "is a folder"));
	tool("write_file", "{\"path\":\"file/x\",\"content\":\"\"}");
	assert_int_equal(run.status, TH_OUTCOME_FAILED);
	run.note_fails = true;
	tool("write_file", "{\"path\":\"never\",\"content\":\"\"}");
	assert_int_equal(run.status, TH_OUTCOME_NOT_STARTED);
	assert_int_not_equal(access(in_workspace("never"), F_OK), 0);
	run.note_fails = false;
}

static void a_link_inside_is_followed(void **state)
{
	struct stat st;
	struct th_buf back = TH_BUF_INIT(64);
	(void)state;
	assert_int_equal(mkdir(in_workspace("real"), 0755), 0);
	put("real/target", "old");
	assert_int_equal(symlink("real/target", in_workspace("link")), 0);
	assert_int_equal(symlink("real", in_workspace("dirlink")), 0);
	assert_string_equal(tool("read_file", "{\"path\":\"link\"}"), "old");
	tool("write_file", "{\"path\":\"link\",\"content\":\"new\"}");
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	assert_int_equal(lstat(in_workspace("link"), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(th_file_read(in_workspace("real/target"), 64, &back, NULL), TH_OK);
	assert_string_equal(back.ptr, "new");
	tool("write_file", "{\"path\":\"dirlink/more\",\"content\":\"x\"}");
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	assert_int_equal(access(in_workspace("real/more"), F_OK), 0);
	th_buf_deinit(&back);
}

/* After a crash between accepted and finished. */
static void a_probe_decides(void **state)
{
	static const char arguments[] = "{\"path\":\"v\",\"content\":\"new\"}";

	(void)state;
	put("v", "old");
	tool("write_file", arguments); /* notes what was there */
	tool_begin("write_file", arguments, true);
	tool_wait();
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	put("v", "old");
	tool_begin("write_file", arguments, true);
	tool_wait();
	assert_int_equal(run.status, TH_OUTCOME_NOT_STARTED);
	put("v", "of another");
	tool_begin("write_file", arguments, true);
	tool_wait();
	assert_int_equal(run.status, TH_OUTCOME_UNKNOWN);
	unlink(in_workspace("v"));
	tool_begin("write_file", arguments, true);
	tool_wait();
	assert_int_equal(run.status, TH_OUTCOME_UNKNOWN);
	/* Nothing was noted: what is not the new content proves nothing. */
	th_buf_clear(&run.noted);
	put("v", "old");
	tool_begin("write_file", arguments, true);
	tool_wait();
	assert_int_equal(run.status, TH_OUTCOME_UNKNOWN);
	put("v", "new");
	tool_begin("write_file", arguments, true);
	tool_wait();
	assert_int_equal(run.status, TH_OUTCOME_DONE);
}

static void lists_a_folder(void **state)
{
	char name[64];

	(void)state;
	assert_string_equal(tool("list_dir", "{\"path\":\".\"}"), "[empty folder]");
	put("b", "12");
	put("a\nb", "");
	assert_int_equal(mkdir(in_workspace("dir"), 0755), 0);
	assert_int_equal(symlink("/etc/passwd", in_workspace("link")), 0);
	assert_string_equal(tool("list_dir", "{\"path\":\".\"}"),
			    "a\\nb  0 bytes\nb  2 bytes\ndir/\nlink -> /etc/passwd\n");
	assert_true(has(tool("list_dir", "{\"path\":\"b\"}"), "Not a directory"));
	for (size_t i = 0; i < TH_LIST_ENTRIES_MAX + 10; i++) {
		snprintf(name, sizeof(name), "dir/f%05zu", i);
		close(open(in_workspace(name), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
	}
	tool("list_dir", "{\"path\":\"dir\"}");
	assert_true(has(run.evidence.ptr, "\"entries\":2010,\"left_out\":"));
	assert_true(has(run.text.ptr, "entries left out"));
}

/* ---- ways out ---- */

static void expect_refused(const char *path)
{
	char arguments[2048];
	static const char *const tools[] = { "read_file", "write_file", "list_dir" };

	for (size_t i = 0; i < TH_COUNT(tools); i++) {
		struct th_buf json = TH_BUF_INIT(2048);
		struct th_jw w = th_jw(&json);
		th_jw_object(&w);
		th_jw_kstr(&w, "path", th_str_of(path));
		if (strcmp(tools[i], "write_file") == 0)
			th_jw_kstr(&w, "content", TH_STR("owned"));
		th_jw_object_end(&w);
		snprintf(arguments, sizeof(arguments), "%s", json.ptr);
		th_buf_deinit(&json);
		tool(tools[i], arguments);
		if (run.status != TH_OUTCOME_REFUSED && run.status != TH_OUTCOME_FAILED)
			fail_msg("%s %s: %s: %s", tools[i], path, th_outcome_name(run.status),
				 run.text.ptr);
		if (has(run.text.ptr, "s3cr3t"))
			fail_msg("%s %s shows what is outside", tools[i], path);
	}
}

static void no_path_leads_out(void **state)
{
	static const char *const paths[] = {
		"/etc/passwd",
		"/",
		"//",
		"/etc",
		"/proc/self/environ",
		"/proc/self/cwd/x",
		"/dev/null",
		"..",
		"../outside",
		"../outside/secret",
		"a/../../outside/secret",
		"./../outside/secret",
		"inside/../../outside/secret",
		"inside/../../ws/../outside/secret",
		"up/secret",
		"up",
		"abs/secret",
		"abs",
		"self",
		"proc/self/root/etc/passwd",
		"proc/self/cwd",
		"fdlink",
		"loop",
		"loop/x",
		"far/secret",
		"chain",
		"chain/secret",
		"inside/up2/secret",
		"inside/up2",
		"up/../outside/secret",
		"dots/secret",
		"deep/deep/../../../outside/secret",
		"up/",
		"abs/..",
		"abs/../../etc/passwd",
	};
	char outside[512], path[600];
	struct th_buf back = TH_BUF_INIT(64);

	(void)state;
	snprintf(outside, sizeof(outside), "%.*s/outside", (int)(strlen(workspace) - 3), workspace);
	assert_int_equal(mkdir(outside, 0777), 0);
	snprintf(path, sizeof(path), "%s/secret", outside);
	assert_int_equal(th_file_write(path, TH_STR("s3cr3t"), 0666, NULL), TH_OK);
	assert_int_equal(mkdir(in_workspace("inside"), 0755), 0);
	assert_int_equal(symlink("../outside", in_workspace("up")), 0);
	assert_int_equal(symlink("../../outside", in_workspace("inside/up2")), 0);
	assert_int_equal(symlink(outside, in_workspace("abs")), 0);
	assert_int_equal(symlink("/proc/self", in_workspace("self")), 0);
	assert_int_equal(symlink("/proc", in_workspace("proc")), 0);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), env.workspace_fd);
	assert_int_equal(symlink(path, in_workspace("fdlink")), 0);
	assert_int_equal(symlink("loop", in_workspace("loop")), 0);
	assert_int_equal(symlink("inside/../../outside", in_workspace("far")), 0);
	assert_int_equal(symlink("up", in_workspace("chain")), 0);
	assert_int_equal(symlink("inside/../inside/../..", in_workspace("dots")), 0);
	for (size_t i = 0; i < TH_COUNT(paths); i++)
		expect_refused(paths[i]);
	expect_refused(outside);
	/* What only looks like the workspace. */
	snprintf(path, sizeof(path), "%sx/secret", workspace);
	expect_refused(path);
	snprintf(path, sizeof(path), "%s/../outside/secret", workspace);
	expect_refused(path);
	snprintf(path, sizeof(path), "%s/./up/secret", workspace);
	expect_refused(path);
	/* Nothing was written through any of them. */
	snprintf(path, sizeof(path), "%s/secret", outside);
	assert_int_equal(th_file_read(path, 64, &back, NULL), TH_OK);
	assert_string_equal(back.ptr, "s3cr3t");
	tool("list_dir", "{\"path\":\".\"}");
	assert_true(has(tool("read_file", "{\"path\":\"/etc/passwd\"}"),
			"/etc/passwd is outside the workspace /"));
	assert_int_equal(run.status, TH_OUTCOME_REFUSED);
	assert_true(has(tool("read_file", "{\"path\":\"up/secret\"}"), "is outside the workspace"));
	th_buf_deinit(&back);
}

/* What means something elsewhere is a name like any other here. */
static void strange_names_stay_inside(void **state)
{
	static const char *const paths[] = { ".../f",    "~/f",         "~root", "\\\\..\\\\f",
					     "%2e%2e/f", "file:/etc/f", "-rf",   " ",
					     "$(id)",    "a\\nb" };
	char arguments[256];

	(void)state;
	for (size_t i = 0; i < TH_COUNT(paths); i++) {
		snprintf(arguments, sizeof(arguments), "{\"path\":\"%s\",\"content\":\"%zu\"}",
			 paths[i], i);
		tool("write_file", arguments);
		assert_int_equal(run.status, TH_OUTCOME_DONE);
		snprintf(arguments, sizeof(arguments), "{\"path\":\"%s\"}", paths[i]);
		assert_int_equal(atoi(tool("read_file", arguments)), i);
	}
	assert_int_equal(access(in_workspace("~/f"), F_OK), 0);
	assert_int_equal(access(in_workspace("\\..\\f"), F_OK), 0);
}

static void nul_and_length_are_refused(void **state)
{
	struct th_buf json = TH_BUF_INIT(64 * TH_KIB);
	(void)state;
	assert_true(has(tool("read_file", "{\"path\":\"a\\u0000b\"}"), "NUL"));
	assert_int_equal(run.status, TH_OUTCOME_REFUSED);
	th_buf_add(&json, TH_STR("{\"path\":\""));
	for (size_t i = 0; i < TH_PATH_LEN_MAX; i++)
		th_buf_add_char(&json, 'a');
	th_buf_add(&json, TH_STR("\"}"));
	assert_true(has(tool("read_file", json.ptr), "too long"));
	th_buf_deinit(&json);
}

static void our_own_folders_are_hidden(void **state)
{
	const char *const hidden[] = { strdup(in_workspace("own")), NULL };
	(void)state;
	assert_int_equal(mkdir(in_workspace("own"), 0755), 0);
	put("own/journal", "x");
	assert_int_equal(symlink("own", in_workspace("alias")), 0);
	env.hidden = hidden;
	assert_true(
	    has(tool("read_file", "{\"path\":\"own/journal\"}"), "belongs to thole itself"));
	assert_true(
	    has(tool("read_file", "{\"path\":\"alias/journal\"}"), "belongs to thole itself"));
	assert_true(has(tool("list_dir", "{\"path\":\"own\"}"), "belongs to thole itself"));
	tool("write_file", "{\"path\":\"own/new\",\"content\":\"\"}");
	assert_int_equal(run.status, TH_OUTCOME_REFUSED);
	assert_int_not_equal(access(in_workspace("own/new"), F_OK), 0);
	env.hidden = NULL;
	free((char *)(uintptr_t)hidden[0]);
}

static void files_belong_to_the_workspace_owner(void **state)
{
	struct stat st;
	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(chown(workspace, 1234, 1234), 0);
	env.as_owner = true;
	env.owner_uid = env.owner_gid = 1234;
	tool("write_file", "{\"path\":\"d/f\",\"content\":\"x\"}");
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	assert_int_equal(stat(in_workspace("d"), &st), 0);
	assert_int_equal(st.st_uid, 1234);
	assert_int_equal(stat(in_workspace("d/f"), &st), 0);
	assert_int_equal(st.st_uid, 1234);
	/* What the owner may not read is not read for it. */
	put("roots", "secret");
	assert_int_equal(chmod(in_workspace("roots"), 0600), 0);
	assert_true(has(tool("read_file", "{\"path\":\"roots\"}"), "Permission denied"));
}

/* A link that names a file of the workspace by its whole path; one that leads out makes nothing. */
static void a_link_by_a_whole_path(void **state)
{
	char target[sizeof(workspace) + 16];
	struct th_buf back = TH_BUF_INIT(TH_KIB);

	(void)state;
	put("real", "old\n");
	snprintf(target, sizeof(target), "%s/real", workspace);
	assert_int_equal(symlink(target, in_workspace("inside")), 0);
	assert_int_equal(symlink("/opt/other/file", in_workspace("outside")), 0);
	tool("write_file", "{\"path\":\"inside\",\"content\":\"new\\n\"}");
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	assert_int_equal(th_file_read(in_workspace("real"), TH_KIB, &back, NULL), TH_OK);
	assert_string_equal(back.ptr, "new\n");
	tool("write_file", "{\"path\":\"outside\",\"content\":\"x\"}");
	assert_int_equal(run.status, TH_OUTCOME_REFUSED);
	assert_true(has(run.text.ptr, "outside the workspace"));
	tool("list_dir", "{\"path\":\".\"}");
	assert_string_equal(strchr(run.text.ptr, '\n') + 1, strstr(run.text.ptr, "outside"));
	assert_true(has(run.text.ptr, "\nreal  4 bytes\n"));
	assert_false(has(run.text.ptr, "opt/\n"));
	th_buf_deinit(&back);
}

/* What is written through one on the way to a link is the file behind both, and they stay. */
static void a_link_behind_a_whole_path(void **state)
{
	char target[sizeof(workspace) + 16];
	struct th_buf back = TH_BUF_INIT(TH_KIB);
	struct stat st;

	(void)state;
	assert_int_equal(mkdir(in_workspace("sub"), 0755), 0);
	put("sub/real", "old\n");
	assert_int_equal(symlink("real", in_workspace("sub/link")), 0);
	snprintf(target, sizeof(target), "%s/sub", workspace);
	assert_int_equal(symlink(target, in_workspace("dir")), 0);
	tool("write_file", "{\"path\":\"dir/link\",\"content\":\"new\\n\"}");
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	assert_int_equal(lstat(in_workspace("sub/link"), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(th_file_read(in_workspace("sub/real"), TH_KIB, &back, NULL), TH_OK);
	assert_string_equal(back.ptr, "new\n");
	th_buf_deinit(&back);
}

/* So does each tool that reads, through links on the way and links to links; out of it none does.
 */
static void whole_paths_in_links(void **state)
{
	static const char *const good[] = { "file", "dir/real", "chain", "round/file",
					    "dir/../real" };
	static const char *const bad[] = { "up", "far/secret", "dir/../../outside/secret", "loop",
					   "many" };
	char target[sizeof(workspace) + 64], name[32];

	(void)state;
	put("real", "here\n");
	assert_int_equal(mkdir(in_workspace("sub"), 0755), 0);
	put("sub/real", "here\n");
	snprintf(target, sizeof(target), "%s/real", workspace);
	assert_int_equal(symlink(target, in_workspace("file")), 0);
	snprintf(target, sizeof(target), "%s/sub", workspace);
	assert_int_equal(symlink(target, in_workspace("dir")), 0);
	assert_int_equal(symlink("round/file", in_workspace("chain")), 0);
	assert_int_equal(symlink(workspace, in_workspace("round")), 0);
	snprintf(target, sizeof(target), "%s/../outside/secret", workspace);
	assert_int_equal(symlink(target, in_workspace("up")), 0);
	snprintf(target, sizeof(target), "%s/dir/../..", workspace);
	assert_int_equal(symlink(target, in_workspace("far")), 0);
	snprintf(target, sizeof(target), "%s/loop", workspace);
	assert_int_equal(symlink(target, in_workspace("loop")), 0);
	assert_int_equal(symlink("../real", in_workspace("many")), 0);
	snprintf(target, sizeof(target), "%.*s/outside", (int)(strlen(workspace) - 3), workspace);
	assert_int_equal(mkdir(target, 0755), 0);
	snprintf(target + strlen(target), sizeof(target) - strlen(target), "/secret");
	assert_int_equal(th_file_write(target, TH_STR("s3cr3t"), 0644, NULL), TH_OK);
	for (size_t i = 0; i < TH_COUNT(good); i++) {
		snprintf(target, sizeof(target), "{\"path\":\"%s\"}", good[i]);
		if (strcmp(tool("read_file", target), "here\n") != 0)
			fail_msg("%s: %s", good[i], run.text.ptr);
		snprintf(target, sizeof(target), "{\"command\":\"view\",\"path\":\"%s\"}", good[i]);
		if (!has(tool("edit", target), "1\there"))
			fail_msg("%s: %s", good[i], run.text.ptr);
	}
	for (size_t i = 0; i < TH_COUNT(bad); i++) {
		snprintf(target, sizeof(target), "{\"path\":\"%s\"}", bad[i]);
		tool("read_file", target);
		if (run.status != TH_OUTCOME_REFUSED || has(run.text.ptr, "s3cr3t"))
			fail_msg("%s: %s", bad[i], run.text.ptr);
	}
	/* 16 links of one path are followed, and no more. */
	for (int i = 0; i < 17; i++) {
		snprintf(name, sizeof(name), "l%d", i);
		if (i)
			snprintf(target, sizeof(target), "%s/l%d", workspace, i - 1);
		else
			snprintf(target, sizeof(target), "%s/real", workspace);
		assert_int_equal(symlink(target, in_workspace(name)), 0);
	}
	assert_string_equal(tool("read_file", "{\"path\":\"l15\"}"), "here\n");
	tool("read_file", "{\"path\":\"l16\"}");
	assert_int_equal(run.status, TH_OUTCOME_REFUSED);
}

/* What a worker would read for hours, most of it holes. */
static void a_large_file_is_not_read(void **state)
{
	(void)state;
	put("big", "");
	assert_int_equal(truncate(in_workspace("big"), (off_t)TH_PLACE_SIZE_MAX), 0);
	tool("write_file", "{\"path\":\"big\",\"content\":\"x\"}");
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	assert_int_equal(truncate(in_workspace("big"), (off_t)1 << 42), 0);
	tool("write_file", "{\"path\":\"big\",\"content\":\"x\"}");
	assert_int_equal(run.status, TH_OUTCOME_FAILED);
	assert_true(has(run.text.ptr, "big is larger than"));
	tool("apply_patch",
	     "{\"patch\":\"*** Begin Patch\\n*** Delete File: big\\n*** End Patch\"}");
	assert_int_equal(run.status, TH_OUTCOME_FAILED);
	assert_true(has(run.text.ptr, "big is larger than"));
	assert_int_equal(truncate(in_workspace("big"), (off_t)TH_PLACE_SIZE_MAX + 1), 0);
	tool("write_file", "{\"path\":\"big\",\"content\":\"x\"}");
	assert_int_equal(run.status, TH_OUTCOME_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_link_by_a_whole_path, job_setup, job_teardown),
		cmocka_unit_test_setup_teardown(a_link_behind_a_whole_path, job_setup,
						job_teardown),
		cmocka_unit_test_setup_teardown(whole_paths_in_links, job_setup, job_teardown),
		cmocka_unit_test_setup_teardown(a_large_file_is_not_read, job_setup, job_teardown),
		cmocka_unit_test(defaults_are_documented),
		cmocka_unit_test_setup_teardown(reads_a_file, job_setup, job_teardown),
		cmocka_unit_test_setup_teardown(reads_odd_files, job_setup, job_teardown),
		cmocka_unit_test_setup_teardown(cuts_long_files_at_a_line, job_setup, job_teardown),
		cmocka_unit_test_setup_teardown(reads_across_pieces, job_setup, job_teardown),
		cmocka_unit_test_setup_teardown(looks_so_far_for_a_line, job_setup, job_teardown),
		cmocka_unit_test_setup_teardown(writes_a_file, job_setup, job_teardown),
		cmocka_unit_test_setup_teardown(refuses_odd_targets, job_setup, job_teardown),
		cmocka_unit_test_setup_teardown(a_link_inside_is_followed, job_setup, job_teardown),
		cmocka_unit_test_setup_teardown(a_probe_decides, job_setup, job_teardown),
		cmocka_unit_test_setup_teardown(lists_a_folder, job_setup, job_teardown),
		cmocka_unit_test_setup_teardown(no_path_leads_out, job_setup, job_teardown),
		cmocka_unit_test_setup_teardown(strange_names_stay_inside, job_setup, job_teardown),
		cmocka_unit_test_setup_teardown(nul_and_length_are_refused, job_setup,
						job_teardown),
		cmocka_unit_test_setup_teardown(our_own_folders_are_hidden, job_setup,
						job_teardown),
		cmocka_unit_test_setup_teardown(files_belong_to_the_workspace_owner, job_setup,
						job_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
