/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bash.c - a trivial command by the tool `bash`, from the call to its answer,
 * and the same command given to a bare bash over pipes, in turns: what the tool
 * costs over the shell itself.  Without the executor's journal and a sandbox.
 */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "bench.h"
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
	(void)evidence;
	good = status == TH_OUTCOME_DONE && th_str_find(output, TH_STR("hi")) >= 0;
	th_loop_stop(loop);
}

static double by_tool(struct th_tool_env *env, const char *command)
{
	const struct th_tool *tool = th_tool_find(TH_STR("bash"));
	TH_CLEANUP(th_arena_deinit) struct th_arena arena;
	struct th_json_doc *doc = NULL;
	char text[256];
	struct th_tool_job job = {
		.env = env, .arena = &arena, .output = on_output, .note = on_note, .done = on_done
	};
	double before;

	th_arena_init(&arena, TH_MIB);
	snprintf(text, sizeof(text), "{\"command\":\"%s\"}", command);
	void *args = th_arena_alloc(&arena, tool->arguments->size);
	if (th_json_parse(th_str_of(text), &doc, NULL) ||
	    th_table_parse(tool->arguments, th_json_root(doc), &arena, args, NULL))
		abort();
	job.args = args;
	before = bench_wall_us();
	tool->start(&job);
	th_loop_run(loop);
	before = bench_wall_us() - before;
	th_json_free(doc);
	return before;
}

static int to_shell = -1, from_shell = -1;

static pid_t start_shell(void)
{
	int in[2], out[2];
	pid_t pid;

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		abort();
	pid = fork();
	if (pid == 0) {
		/* As the tool does: the kernel shares processors out by session. */
		setsid();
		dup2(in[0], 0);
		dup2(out[1], 1);
		execlp("bash", "bash", "--norc", "--noprofile", (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	to_shell = in[1];
	from_shell = out[0];
	return pid;
}

static double by_shell(const char *command)
{
	char text[256], answer[256];
	size_t len = 0;
	double before = bench_wall_us();
	int n = snprintf(text, sizeof(text), "%s; echo \"= $?\"\n", command);

	good = write(to_shell, text, (size_t)n) == n;
	while (good && (len < 4 || memcmp(answer + len - 4, "= 0\n", 4) != 0)) {
		ssize_t got = read(from_shell, answer + len, sizeof(answer) - len);

		good = got > 0;
		len += good ? (size_t)got : 0;
	}
	return bench_wall_us() - before;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	static const char *const environment[] = { "PATH=/usr/bin:/bin", "LANG=C.UTF-8", NULL };
	const char *command = bench_option(argc, argv, "command", "echo hi");
	long rounds = bench_number(argc, argv, "rounds", 300);
	char dir[TH_PATH_LEN_MAX] = "/tmp/thole-bench-XXXXXX";
	double *tool = (double *)th_alloc((size_t)rounds * sizeof(*tool));
	double *shell = (double *)th_alloc((size_t)rounds * sizeof(*shell));
	pid_t pid = start_shell();
	bool all = true;

	if (!mkdtemp(dir) || th_loop_new(&loop, NULL))
		return 1;
	struct th_tool_env env = { .loop = loop,
				   .workspace = th_str_of(dir),
				   .workspace_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC),
				   .environment = environment,
				   .undo_fd = -1 };
	(void)by_tool(&env, command); /* begins the shell */
	for (long i = 0; i < rounds; i++) {
		tool[i] = by_tool(&env, command);
		all &= good;
		shell[i] = by_shell(command);
		all &= good;
	}
	qsort(tool, (size_t)rounds, sizeof(*tool), by_value);
	qsort(shell, (size_t)rounds, sizeof(*shell), by_value);
	printf("{\"bench\":\"bash\",\"command\":\"%s\",\"tool_p50_us\":%.0f,\"tool_p99_us\":%.0f,"
	       "\"shell_p50_us\":%.0f,\"over_p50_us\":%.0f,\"good\":%s}\n",
	       command, tool[rounds / 2], tool[rounds * 99 / 100], shell[rounds / 2],
	       tool[rounds / 2] - shell[rounds / 2], all ? "true" : "false");
	close(to_shell);
	close(from_shell);
	waitpid(pid, NULL, 0);
	th_tool_env_deinit(&env);
	th_fd_close(&env.workspace_fd);
	loop = th_loop_free(loop);
	free(tool);
	free(shell);
	(void)!th_dir_remove(dir, NULL);
	return all ? 0 : 1;
}
