/* SPDX-License-Identifier: Apache-2.0 */
/* Memories: the words of the tool, that nothing outside of the folder is reached, and what a probe
 * says. */
#include "job.h"

#include <dirent.h>
#include <fcntl.h>

#include "tools/memory.h"

static const char *memory(const char *arguments)
{
	return tool("memory", arguments);
}

static const char *memory_probe(const char *arguments)
{
	tool_begin("memory", arguments, true);
	tool_wait();
	return run.text.ptr;
}

static bool there(const char *name)
{
	struct stat st;

	return stat(in_workspace(name), &st) == 0;
}

/* Hidden entries of the folder. */
static int left_behind(void)
{
	DIR *dir = opendir(in_workspace(TH_MEMORY_FOLDER));
	int count = 0;

	assert_non_null(dir);
	for (const struct dirent *d; (d = readdir(dir));)
		count += d->d_name[0] == '.' && strcmp(d->d_name, ".") && strcmp(d->d_name, "..");
	closedir(dir);
	return count;
}

#define SAYS(arguments, text)                                \
	do {                                                 \
		const char *said = memory(arguments);        \
		if (!strstr(said, text))                     \
			fail_msg("%s: %s", arguments, said); \
	} while (0)

static void test_words(void **state)
{
	(void)state;
	SAYS("{\"command\":\"view\",\"path\":\"/memories\"}",
	     "Here's the files and directories up to 2 levels deep in /memories");
	SAYS(
	    "{\"command\":\"create\",\"path\":\"/memories/a/b.md\",\"file_text\":\"one\\ntwo\\n\"}",
	    "File created successfully at: /memories/a/b.md");
	assert_null(strstr(run.text.ptr, "undo_edit")); /* it has no such command */
	assert_true(there(TH_MEMORY_FOLDER "/a/b.md"));
	SAYS("{\"command\":\"view\",\"path\":\"/memories\"}", "/memories/a/b.md");
	SAYS("{\"command\":\"view\",\"path\":\"/memories/a/b.md\",\"view_range\":[2,2]}", "two");
	SAYS("{\"command\":\"str_replace\",\"path\":\"/memories/a/b.md\",\"old_str\":\"two\","
	     "\"new_str\":\"2\"}",
	     "has been edited");
	SAYS("{\"command\":\"insert\",\"path\":\"/memories/a/b.md\",\"insert_line\":0,"
	     "\"insert_text\":\"zero\\n\"}",
	     "has been edited");
	assert_null(strstr(run.text.ptr, "undo_edit"));
	SAYS("{\"command\":\"view\",\"path\":\"/memories/a/b.md\"}",
	     "1\tzero\n     2\tone\n     3\t2");
	SAYS("{\"command\":\"rename\",\"old_path\":\"/memories/a/b.md\",\"new_path\":\"/memories/c/"
	     "d\"}",
	     "Successfully renamed /memories/a/b.md to /memories/c/d");
	assert_true(there(TH_MEMORY_FOLDER "/c/d"));
	SAYS("{\"command\":\"rename\",\"old_path\":\"/memories/c/d\",\"new_path\":\"/memories/a\"}",
	     "The destination /memories/a already exists");
	SAYS("{\"command\":\"delete\",\"path\":\"/memories/c/\"}",
	     "Successfully deleted /memories/c/");
	assert_false(there(TH_MEMORY_FOLDER "/c"));
	assert_int_equal(left_behind(), 0);
	SAYS("{\"command\":\"delete\",\"path\":\"/memories/c\"}",
	     "The path /memories/c does not exist");
	assert_int_equal(run.status, TH_OUTCOME_REFUSED);
	SAYS("{\"command\":\"delete\",\"path\":\"/memories\"}", "stays as it is");
	SAYS("{\"command\":\"delete\"}", "Parameter `path` is required for command: delete.");
	SAYS("{\"command\":\"rename\",\"old_path\":\"/memories/a\"}",
	     "Parameter `new_path` is required for command: rename.");
}

/* By dots, by names that begin alike, by links, and with a link in the folder's own place. */
static void test_outside(void **state)
{
	static const char *const paths[] = { "/memories/../secret",
					     "/memories/../../etc/hostname",
					     "/memories2/x",
					     "../secret",
					     "/etc/hostname",
					     "/memories/link/secret",
					     "/memories/../.thole-memory2/x" };
	static const char *const forms[][2] = {
		{ "{\"command\":\"view\",\"path\":\"", "\"}" },
		{ "{\"command\":\"create\",\"path\":\"", "\",\"file_text\":\"x\"}" },
		{ "{\"command\":\"str_replace\",\"path\":\"",
		  "\",\"old_str\":\"a\",\"new_str\":\"b\"}" },
		{ "{\"command\":\"insert\",\"path\":\"",
		  "\",\"insert_line\":0,\"insert_text\":\"b\"}" },
		{ "{\"command\":\"delete\",\"path\":\"", "\"}" },
		{ "{\"command\":\"rename\",\"old_path\":\"", "\",\"new_path\":\"/memories/got\"}" },
		{ "{\"command\":\"rename\",\"old_path\":\"/memories/own\",\"new_path\":\"", "\"}" },
	};
	struct th_buf back = TH_BUF_INIT(TH_KIB);

	(void)state;
	put("secret", "a");
	memory("{\"command\":\"create\",\"path\":\"/memories/own\",\"file_text\":\"mine\"}");
	assert_int_equal(symlink("..", in_workspace(TH_MEMORY_FOLDER "/link")), 0);
	for (size_t i = 0; i < TH_COUNT(paths); i++)
		for (size_t j = 0; j < TH_COUNT(forms); j++) {
			char arguments[512];

			snprintf(arguments, sizeof(arguments), "%s%s%s", forms[j][0], paths[i],
				 forms[j][1]);
			memory(arguments);
			if (run.status == TH_OUTCOME_DONE || strstr(run.text.ptr, "1\ta"))
				fail_msg("%s: %s", arguments, run.text.ptr);
		}
	assert_int_equal(th_file_read(in_workspace("secret"), TH_KIB, &back, NULL), TH_OK);
	assert_string_equal(back.ptr, "a");
	assert_true(there(TH_MEMORY_FOLDER "/own"));
	assert_false(there(TH_MEMORY_FOLDER "/got"));
	th_buf_deinit(&back);
	/* A link that is in the folder goes, not what it names. */
	SAYS("{\"command\":\"delete\",\"path\":\"/memories/link\"}", "Successfully deleted");
	assert_true(there("secret"));

	assert_int_equal(th_dir_remove(in_workspace(TH_MEMORY_FOLDER), NULL), TH_OK);
	assert_int_equal(symlink(".", in_workspace(TH_MEMORY_FOLDER)), 0);
	memory("{\"command\":\"view\",\"path\":\"/memories/secret\"}");
	assert_int_equal(run.status, TH_OUTCOME_FAILED);
}

/* One answer's calls hold in their order. */
static void test_probe(void **state)
{
	static const char delete[] = "{\"command\":\"delete\",\"path\":\"/memories/x\"}";
	static const char move[] =
	    "{\"command\":\"rename\",\"old_path\":\"/memories/x\",\"new_path\":\"/memories/y\"}";

	(void)state;
	memory("{\"command\":\"create\",\"path\":\"/memories/x\",\"file_text\":\"1\"}");
	run.note_fails = true;
	SAYS(move, "takes no more");
	assert_int_equal(run.status, TH_OUTCOME_NOT_STARTED);
	run.note_fails = false;
	memory_probe(move);
	assert_int_equal(run.status, TH_OUTCOME_NOT_STARTED);
	memory(move);
	memory_probe(move);
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	/* Another file of that name is neither. */
	memory("{\"command\":\"create\",\"path\":\"/memories/x\",\"file_text\":\"2\"}");
	memory("{\"command\":\"delete\",\"path\":\"/memories/y\"}");
	memory("{\"command\":\"create\",\"path\":\"/memories/z\",\"file_text\":\"3\"}");
	memory(delete);
	memory_probe(delete);
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	put(TH_MEMORY_FOLDER "/x", "somebody's");
	memory_probe(delete);
	assert_int_equal(run.status, TH_OUTCOME_UNKNOWN);
}

static void test_deep(void **state)
{
	char path[TH_PATH_LEN_MAX] = "", arguments[TH_PATH_LEN_MAX + 100];

	(void)state;
	for (size_t i = 0; i < TH_MEMORY_DEPTH_MAX; i++)
		strncat(path, "/d", sizeof(path) - strlen(path) - 1);
	snprintf(arguments, sizeof(arguments),
		 "{\"command\":\"create\",\"path\":\"/memories%s/f\",\"file_text\":\"x\"}", path);
	memory(arguments);
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	SAYS("{\"command\":\"delete\",\"path\":\"/memories/d\"}", "Successfully deleted");
	assert_int_equal(left_behind(), 0);
	/* One deeper: it is gone from sight all the same, and what is left is hidden. */
	snprintf(arguments, sizeof(arguments),
		 "{\"command\":\"create\",\"path\":\"/memories%s/d/f\",\"file_text\":\"x\"}", path);
	memory(arguments);
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	SAYS("{\"command\":\"delete\",\"path\":\"/memories/d\"}", "Successfully deleted");
	assert_false(there(TH_MEMORY_FOLDER "/d"));
	assert_int_equal(left_behind(), 1);
	/* And hinders nothing. */
	memory("{\"command\":\"create\",\"path\":\"/memories/e\",\"file_text\":\"x\"}");
	SAYS("{\"command\":\"delete\",\"path\":\"/memories/e\"}", "Successfully deleted");
	assert_int_equal(left_behind(), 1);
}

/* A tree with more entries than one delete removes is gone all the same; the next one has the rest.
 */
static void test_sweep(void **state)
{
	char name[80];

	(void)state;
	SAYS("{\"command\":\"create\",\"path\":\"/memories/b\",\"file_text\":\"x\"}", "created");
	assert_int_equal(mkdir(in_workspace(TH_MEMORY_FOLDER "/a"), 0755), 0);
	for (int i = 0; i <= TH_MEMORY_SWEEP_MAX; i++) {
		int fd;

		snprintf(name, sizeof(name), TH_MEMORY_FOLDER "/a/%d", i);
		fd = open(in_workspace(name), O_WRONLY | O_CREAT | O_EXCL, 0644);
		assert_true(fd >= 0);
		close(fd);
	}
	SAYS("{\"command\":\"delete\",\"path\":\"/memories/a\"}", "Successfully deleted");
	assert_false(there(TH_MEMORY_FOLDER "/a"));
	assert_int_equal(left_behind(), 1);
	SAYS("{\"command\":\"delete\",\"path\":\"/memories/b\"}", "Successfully deleted");
	assert_int_equal(left_behind(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_words, job_setup, job_teardown),
		cmocka_unit_test_setup_teardown(test_outside, job_setup, job_teardown),
		cmocka_unit_test_setup_teardown(test_probe, job_setup, job_teardown),
		cmocka_unit_test_setup_teardown(test_deep, job_setup, job_teardown),
		cmocka_unit_test_setup_teardown(test_sweep, job_setup, job_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
