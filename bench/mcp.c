/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp.c - calls of a tool of an MCP server over standard input and output: the
 * processor's time of this process for one call, without the executor's journal.
 * The server is this program again (mode=server), which answers at once.
 */
#include <fcntl.h>
#include <unistd.h>

#include "base/limits.h"
#include "bench.h"
#include "io/loop.h"
#include "mcp/process.h"
#include "mcp/tool.h"

static struct th_loop *loop;
static bool good;

static void on_output(struct th_tool_job *job, struct th_str bytes)
{
	(void)job;
	(void)bytes;
}

static void on_done(struct th_tool_job *job, enum th_outcome_status status, struct th_str output,
		    struct th_str evidence)
{
	(void)job;
	(void)evidence;
	good = status == TH_OUTCOME_DONE && th_str_is(output, "\"forty-two\"");
	th_loop_stop(loop);
}

static bool call(struct th_tool_env *env, const char *text)
{
	TH_CLEANUP(th_arena_deinit) struct th_arena arena;
	struct th_json_doc *doc = NULL;
	void *args;
	struct th_tool_job job = {
		.env = env, .arena = &arena, .output = on_output, .done = on_done
	};

	th_arena_init(&arena, TH_MIB);
	args = th_arena_alloc(&arena, th_tool_mcp.arguments->size);
	if (th_json_parse(th_str_of(text), &doc, NULL) ||
	    th_table_parse(th_tool_mcp.arguments, th_json_root(doc), &arena, args, NULL))
		abort();
	job.args = args;
	good = false;
	th_tool_mcp.start(&job);
	th_loop_run(loop);
	th_json_free(doc);
	return good;
}

/* The number behind "id": of our own making, and the same length of answer each time. */
static int serve(void)
{
	char line[64 * 1024];

	while (fgets(line, sizeof(line), stdin)) {
		const char *id = strstr(line, "\"id\":");

		if (!id)
			continue;
		if (strstr(line, "server/discover"))
			printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{\"resultType\":"
			       "\"complete\","
			       "\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{}}}\n",
			       strtol(id + 5, NULL, 10));
		else
			printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{\"resultType\":"
			       "\"complete\","
			       "\"content\":[{\"type\":\"text\",\"text\":\"forty-two\"}]}}\n",
			       strtol(id + 5, NULL, 10));
		fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	long rounds = bench_number(argc, argv, "rounds", 5000);
	struct th_tool_env env = { .workspace = TH_STR("/"), .undo_fd = -1 };
	char self[TH_PATH_LEN_MAX] = "", text[2 * TH_PATH_LEN_MAX];
	double cpu;

	if (strcmp(bench_option(argc, argv, "mode", ""), "server") == 0)
		return serve();
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0 || th_loop_new(&loop, NULL))
		return 1;
	env.loop = loop;
	env.workspace_fd = open("/", O_PATH | O_DIRECTORY);
	snprintf(text, sizeof(text),
		 "{\"server\":\"s\",\"argv\":[\"%s\",\"mode=server\"],\"tool\":\"answer\","
		 "\"arguments\":{\"question\":\"six times seven\"}}",
		 self);
	for (int i = 0; i < 10; i++) /* it is started, and warm */
		if (!call(&env, text))
			return 1;
	cpu = bench_cpu_us();
	for (long i = 0; i < rounds; i++)
		if (!call(&env, text))
			return 1;
	cpu = (bench_cpu_us() - cpu) / (double)rounds;
	printf("{\"bench\":\"mcp\",\"rounds\":%ld,\"cpu_us_per_call\":%.1f}\n", rounds, cpu);
	th_mcp_processes_free(&env);
	close(env.workspace_fd);
	th_loop_free(loop);
	return 0;
}
