/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - runs one tool in a workspace of its own, as the executor would, and keeps what it said.
 */
#ifndef TH_TESTS_JOB_H
#define TH_TESTS_JOB_H

#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/limits.h"
#include "io/child.h"
#include "io/clock.h"
#include "io/files.h"
#include "io/loop.h"
#include "io/sandbox.h"
#include "tools/path.h"
#include "tools/tool.h"

static struct th_loop *loop;
static struct th_tool_env env;
static char workspace[256];
static struct th_arena env_arena;

static struct {
	struct th_tool_job job;
	struct th_arena arena;
	struct th_json_doc *doc;
	bool done, note_fails;
	enum th_outcome_status status;
	struct th_buf text, evidence, streamed,
	    noted;        /* text: the output, as it is or the string */
	char picture[80]; /* media type of the last one, and its size */
	void (*on_output)(void);
} run;

static inline void job_output(struct th_tool_job *job, struct th_str bytes)
{
	(void)job;
	if (run.streamed.len + bytes.len < 8 * TH_MIB)
		th_buf_add(&run.streamed, bytes);
	if (run.on_output)
		run.on_output();
}

static inline bool job_note(struct th_tool_job *job, struct th_str json)
{
	(void)job;
	th_buf_clear(&run.noted);
	th_buf_add(&run.noted, json);
	return !run.note_fails;
}

static inline void job_done(struct th_tool_job *job, enum th_outcome_status status,
			    struct th_str output, struct th_str evidence)
{
	(void)job;
	assert_false(run.done);
	run.done = true;
	run.status = status;
	if (!th_json_unescape(output, &run.text))
		th_buf_add(&run.text, output);
	th_buf_add(&run.evidence, evidence);
	th_loop_stop(loop);
}

static inline void job_picture(struct th_tool_job *job, struct th_str bytes, struct th_str hex,
			       struct th_str media_type)
{
	struct th_digest digest = th_sha256_of(bytes.ptr, bytes.len);
	char own[TH_SHA256_HEX_SIZE + 1];

	(void)job;
	th_digest_hex(&digest, own);
	assert_true(th_str_is(hex, own));
	snprintf(run.picture, sizeof(run.picture), "%.*s %zu", TH_FMT(media_type), bytes.len);
}

static inline void run_reset(void)
{
	th_json_free(run.doc);
	run.doc = NULL;
	th_arena_deinit(&run.arena);
	th_arena_init(&run.arena, 64 * TH_MIB);
	th_buf_clear(&run.text);
	th_buf_clear(&run.evidence);
	th_buf_clear(&run.streamed);
	run.done = false;
}

/* Starts (or probes) the tool; arguments that do not fit its table fail the test. */
static inline void tool_begin(const char *name, const char *arguments, bool probe)
{
	const struct th_tool *tool = th_tool_find(th_str_of(name));
	struct th_err err = {};

	run_reset();
	assert_non_null(tool);
	assert_int_equal(th_json_parse(th_str_of(arguments), &run.doc, &err), TH_OK);
	void *args = th_arena_alloc(&run.arena, tool->arguments->size);
	if (th_table_parse(tool->arguments, th_json_root(run.doc), &run.arena, args, &err))
		fail_msg("%s", err.msg);
	int64_t timeout_ms = run.job.timeout_ms;
	run.job = (struct th_tool_job){
		.env = &env,
		.arena = &run.arena,
		.effect_id = TH_STR("effect-1"),
		.args = args,
		.timeout_ms = timeout_ms,
		.noted = th_buf_str(&run.noted),
		.output = job_output,
		.note = job_note,
		.done = job_done,
		.picture = job_picture,
	};
	if (probe)
		tool->probe(&run.job);
	else
		tool->start(&run.job);
}

static inline void tool_wait(void)
{
	while (!run.done)
		th_loop_run(loop);
}

static inline const char *tool(const char *name, const char *arguments)
{
	tool_begin(name, arguments, false);
	tool_wait();
	return run.text.ptr;
}

static inline int job_setup(void **state)
{
	static const char *const environment[] = { "PATH=/usr/bin:/bin", "LANG=C.UTF-8", NULL };
	char path[] = "/tmp/thole-tool-XXXXXX", real[4096];

	(void)state;
	assert_non_null(mkdtemp(path));
	assert_non_null(realpath(path, real));
	assert_true(strlen(real) <= 200);
	snprintf(workspace, sizeof(workspace), "%.200s/ws", real);
	assert_int_equal(mkdir(workspace, 0755), 0);
	assert_int_equal(th_loop_new(&loop, NULL), TH_OK);
	th_arena_init(&env_arena, TH_MIB);
	env = (struct th_tool_env){
		.loop = loop,
		.workspace_fd = open(workspace, O_PATH | O_DIRECTORY | O_CLOEXEC),
		.workspace = th_str_of(workspace),
		.environment = environment,
	};
	char undo[sizeof(workspace) + 16];
	snprintf(undo, sizeof(undo), "%.200s/undo", real);
	assert_int_equal(mkdir(undo, 0700), 0);
	env.undo_fd = open(undo, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(env.workspace_fd >= 0);
	memset(&run, 0, sizeof(run));
	th_buf_init(&run.text, 4 * TH_MIB);
	th_buf_init(&run.evidence, TH_MIB);
	th_buf_init(&run.streamed, 16 * TH_MIB);
	th_buf_init(&run.noted, TH_MIB);
	th_arena_init(&run.arena, 64 * TH_MIB);
	return 0;
}

static inline int job_teardown(void **state)
{
	char path[sizeof(workspace)];

	(void)state;
	run_reset();
	th_arena_deinit(&run.arena);
	struct th_buf *bufs[] = { &run.text, &run.evidence, &run.streamed, &run.noted };
	for (size_t i = 0; i < TH_COUNT(bufs); i++)
		th_buf_deinit(bufs[i]);
	th_tool_env_deinit(&env);
	th_fd_close(&env.workspace_fd);
	th_fd_close(&env.undo_fd);
	loop = th_loop_free(loop);
	th_arena_deinit(&env_arena);
	snprintf(path, sizeof(path), "%.*s", (int)(strlen(workspace) - 3), workspace);
	return th_dir_remove(path, NULL);
}

/* ---- commands, confined as well as this machine can ---- */

static struct th_sandbox_plan *plan TH_UNUSED;

static inline int confined_setup(void **state)
{
	static struct th_sandbox_report report;
	static bool known;
	const struct th_sandbox s = {
		.level_min = TH_SANDBOX_OFF,
		.level_max = TH_SANDBOX_FULL,
		.workspace = workspace,
	};

	if (!known)
		th_sandbox_probe(&report);
	known = true;
	job_setup(state);
	/* Without user namespaces root's folder cannot be lent to the user of commands. */
	if (report.root && !report.idmap)
		assert_int_equal(chown(workspace, 65534, 65534), 0);
	return th_sandbox_plan_new(&s, &plan, NULL) == TH_OK ? (env.sandbox = plan, 0) : -1;
}

static inline int confined_teardown(void **state)
{
	plan = th_sandbox_plan_free(plan);
	run.on_output = NULL;
	return job_teardown(state);
}

static inline void put(const char *name, const char *text)
{
	char path[sizeof(workspace) + 512];

	snprintf(path, sizeof(path), "%s/%.500s", workspace, name);
	assert_int_equal(th_file_write(path, th_str_of(text), 0644, NULL), TH_OK);
}

static inline char *in_workspace(const char *name)
{
	static char path[sizeof(workspace) + 512];

	snprintf(path, sizeof(path), "%s/%.500s", workspace, name);
	return path;
}

static inline bool has(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

#endif
