/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edit.c - one exact edit of a large file by the tool `edit`: the time from the
 * call to its answer, in the workspace that is named (dir=, default /tmp) and
 * without the executor's journal.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "bench.h"
#include "io/clock.h"
#include "io/files.h"
#include "io/loop.h"
#include "tools/tool.h"

static struct th_loop *loop;
static bool good;

static void on_output(struct th_tool_job *job, struct th_str bytes)
{
	(void)job;
	(void)bytes;
}

static bool on_note(struct th_tool_job *job, struct th_str json)
{
	(void)job;
	return json.len > 0;
}

static void on_done(struct th_tool_job *job, enum th_outcome_status status, struct th_str output,
		    struct th_str evidence)
{
	(void)job;
	(void)output;
	(void)evidence;
	good = status == TH_OUTCOME_DONE;
	th_loop_stop(loop);
}

static double edit(struct th_tool_env *env, const char *from, const char *to)
{
	const struct th_tool *tool = th_tool_find(TH_STR("edit"));
	TH_CLEANUP(th_arena_deinit) struct th_arena arena;
	struct th_json_doc *doc = NULL;
	char text[256];
	struct timespec before, after;
	struct th_tool_job job = {
		.env = env, .arena = &arena, .output = on_output, .note = on_note, .done = on_done
	};

	th_arena_init(&arena, TH_MIB);
	snprintf(text, sizeof(text),
		 "{\"command\":\"str_replace\",\"path\":\"file\",\"old_str\":\"%s\","
		 "\"new_str\":\"%s\"}",
		 from, to);
	void *args = th_arena_alloc(&arena, tool->arguments->size);
	if (th_json_parse(th_str_of(text), &doc, NULL) ||
	    th_table_parse(tool->arguments, th_json_root(doc), &arena, args, NULL))
		abort();
	job.args = args;
	clock_gettime(CLOCK_MONOTONIC, &before);
	tool->start(&job);
	th_loop_run(loop);
	clock_gettime(CLOCK_MONOTONIC, &after);
	th_json_free(doc);
	return (double)(after.tv_sec - before.tv_sec) * 1e6 +
	       (double)(after.tv_nsec - before.tv_nsec) / 1e3;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	const char *under = bench_option(argc, argv, "dir", "/tmp");
	long rounds = bench_number(argc, argv, "rounds", 100);
	size_t size = (size_t)bench_number(argc, argv, "size", (long)TH_MIB);
	char dir[TH_PATH_LEN_MAX], path[TH_PATH_LEN_MAX + 16];
	TH_CLEANUP(th_buf_deinit) struct th_buf content = TH_BUF_INIT(TH_EDIT_FILE_MAX);
	double *us = (double *)th_alloc((size_t)rounds * sizeof(*us));

	snprintf(dir, sizeof(dir), "%s/thole-bench-XXXXXX", under);
	if (!mkdtemp(dir) || th_loop_new(&loop, NULL))
		return 1;
	snprintf(path, sizeof(path), "%s/undo", dir);
	struct th_tool_env env = { .loop = loop,
				   .workspace = th_str_of(dir),
				   .workspace_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC) };
	if (mkdir(path, 0700) == 0)
		env.undo_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (content.len < size / 2)
		th_buf_printf(&content, "an ordinary line of text at %zu\n", content.len);
	th_buf_add_cstr(&content, "the line that is ONE\n");
	while (content.len < size)
		th_buf_printf(&content, "an ordinary line of text at %zu\n", content.len);
	snprintf(path, sizeof(path), "%s/file", dir);
	bool all = !th_file_write(path, th_buf_str(&content), 0644, NULL);
	double cpu = bench_cpu_us();
	for (long i = 0; i < rounds; i++) {
		us[i] = edit(&env, i % 2 ? "is TWO" : "is ONE", i % 2 ? "is ONE" : "is TWO");
		all &= good;
	}
	cpu = (bench_cpu_us() - cpu) / (double)rounds;
	qsort(us, (size_t)rounds, sizeof(*us), by_value);
	printf("{\"bench\":\"edit\",\"bytes\":%zu,\"min_us\":%.0f,\"p50_us\":%.0f,\"p99_us\":%.0f,"
	       "\"cpu_us\":%.0f,\"good\":%s}\n",
	       content.len, us[0], us[rounds / 2], us[rounds * 99 / 100], cpu,
	       all ? "true" : "false");
	th_tool_env_deinit(&env);
	th_fd_close(&env.undo_fd);
	th_fd_close(&env.workspace_fd);
	loop = th_loop_free(loop);
	free(us);
	(void)!th_dir_remove(dir, NULL);
	return all ? 0 : 1;
}
