/* SPDX-License-Identifier: Apache-2.0 */
/*
 * task_list.c - what is to be done, as the model plans it: the whole list is
 * written at once, and shown.
 *
 * It is kept outside the workspace, in the session's own folder.  Writing the
 * same list again changes nothing, so a call that a crash cut off is simply done
 * again (class K).
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "io/files.h"
#include "tools/tool.h"

#define FILE_NAME "tasks"
#define NONE "No task list found. Use the \"plan\" command to create one."

static const char *const commands[] = { "view", "plan", NULL };
static const char *const states[] = { "todo", "in_progress", "done", NULL };

struct th_task {
	struct th_str title, notes, id;
	int64_t status;
};

static const struct th_field task_fields[] = {
	{ .name = "title",
	  .offset = offsetof(struct th_task, title),
	  .kind = TH_FIELD_str,
	  .doc = "What is to be done, in a few words." },
	{ .name = "status",
	  .offset = offsetof(struct th_task, status),
	  .kind = TH_FIELD_enum,
	  .doc = "How far it is.",
	  .names = states,
	  .has_default = true },
	{ .name = "notes",
	  .offset = offsetof(struct th_task, notes),
	  .kind = TH_FIELD_str,
	  .doc = "More about it." },
	{ .name = "id",
	  .offset = offsetof(struct th_task, id),
	  .kind = TH_FIELD_str,
	  .flags = TH_HIDDEN,
	  .doc = "not looked at" },
};
static const struct th_table th_task_table = {
	"task", "one task", task_fields, TH_COUNT(task_fields), sizeof(struct th_task), false
};

struct th_task_list {
	int64_t command;
	struct th_objects list;
	struct th_str security_risk, summary;
};

static const struct th_field fields[] = {
	{ .name = "command",
	  .offset = offsetof(struct th_task_list, command),
	  .kind = TH_FIELD_enum,
	  .doc = "view: show the list; plan: write it anew.",
	  .names = commands,
	  .has_default = true },
	{ .name = "task_list",
	  .offset = offsetof(struct th_task_list, list),
	  .kind = TH_FIELD_objects,
	  .doc = "plan: the whole list.",
	  .sub = &th_task_table },
	{ .name = "security_risk",
	  .offset = offsetof(struct th_task_list, security_risk),
	  .kind = TH_FIELD_str,
	  .flags = TH_HIDDEN,
	  .doc = "not looked at" },
	{ .name = "summary",
	  .offset = offsetof(struct th_task_list, summary),
	  .kind = TH_FIELD_str,
	  .flags = TH_HIDDEN,
	  .doc = "not looked at" },
};
static const struct th_table th_task_list_table = {
	"task_list",      "arguments of task_list",    fields,
	TH_COUNT(fields), sizeof(struct th_task_list), false
};

static void put_task(struct th_buf *out, size_t number, const struct th_task *t)
{
	static const char *const marks[] = { " ", "~", "x" };
	struct th_str notes = th_str_trim(t->notes);

	th_buf_printf(out, "\n%zu. [%s] ", number, marks[t->status < 0 ? 0 : t->status]);
	th_text_line(out, t->title.len ? t->title : TH_STR("Untitled task"), TH_TASK_LINE_MAX);
	if (t->status == 1)
		th_buf_add_cstr(out, " (in progress)");
	if (notes.len) {
		th_buf_add_cstr(out, "\n   ");
		th_text_line(out, notes, TH_TASK_LINE_MAX);
	}
}

static void plan(struct th_tool_job *job, const struct th_task_list *a)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf text = TH_BUF_INIT(TH_TOOL_OUTPUT_MODEL_MAX);
	struct th_err err = {};
	enum th_code code = TH_OK;

	if (job->env->undo_fd < 0)
		code = th_fail(&err, TH_EUNSUPPORTED, "this session has no place for a task list");
	else if (a->list.count > TH_TASKS_MAX)
		code = th_fail(&err, TH_ELIMIT, "a task list has at most %d tasks", TH_TASKS_MAX);
	th_buf_add_cstr(&text, "# Task List");
	for (size_t i = 0; i < a->list.count && !code; i++)
		put_task(&text, i + 1, &((const struct th_task *)a->list.list)[i]);
	if (!code)
		code = th_buf_check(&text, "the task list", &err);
	if (code) {
		th_tool_fail(job, TH_OUTCOME_REFUSED, &err);
		return;
	}
	if (th_file_write_at(job->env->undo_fd, FILE_NAME, th_buf_str(&text), 0600, &err)) {
		th_tool_fail(job, TH_OUTCOME_FAILED, &err);
		return;
	}
	th_buf_clear(&text);
	th_buf_printf(&text, "Task list has been updated with %zu item(s).", a->list.count);
	th_tool_text(job, TH_OUTCOME_DONE, th_buf_str(&text), TH_STR(""));
}

static void view(struct th_tool_job *job)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf text = TH_BUF_INIT(TH_TOOL_OUTPUT_MODEL_MAX);
	TH_CLEANUP(th_fd_close) int fd = -1;
	struct th_err err = {};

	if (job->env->undo_fd >= 0)
		fd = openat(job->env->undo_fd, FILE_NAME, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && th_file_read_fd(fd, TH_TOOL_OUTPUT_MODEL_MAX, &text, &err))
		th_tool_fail(job, TH_OUTCOME_FAILED, &err);
	else
		th_tool_text(job, TH_OUTCOME_DONE, fd >= 0 ? th_buf_str(&text) : TH_STR(NONE),
			     TH_STR(""));
}

static void start(struct th_tool_job *job)
{
	const struct th_task_list *a = (const struct th_task_list *)job->args;

	if (a->command == 1)
		plan(job, a);
	else
		view(job);
}

static const char *const looking[] = { "view", NULL };
static const struct th_effect_looks looks = { "command", looking };

const struct th_tool th_tool_task_list = {
	.name = "task_list",
	.description =
	    "Keep a list of what is to be done in a long task: plan writes the whole list, "
	    "each task todo, in_progress or done; view shows it.",
	.class = TH_CLASS_K,
	.looks = &looks,
	.scope = { TH_TARGET_OTHER, TH_SHOWS_ONE },
	.arguments = &th_task_list_table,
	.start = start,
};
