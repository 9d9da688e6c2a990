/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c - files that a model keeps for later: view, create, str_replace,
 * insert, delete and rename under /memories, the words of Anthropic's tool.
 *
 * It is a folder of the workspace, so it is there in every session that works
 * there.  What is shown and changed in files is done by `edit`, in an
 * environment that has nothing but that folder.  Class V, as `edit`; calls run
 * one after the other, in their order.
 */
#include "tools/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/files.h"
#include "io/loop.h"
#include "tools/edit.h"
#include "tools/edit_history.h"
#include "tools/path.h"

enum command { VIEW, CREATE, REPLACE, INSERT, DELETE, RENAME };
static const char *const commands[] = { "view",   "create", "str_replace", "insert",
					"delete", "rename", NULL };
static const int edits[] = { TH_EDIT_VIEW, TH_EDIT_CREATE, TH_EDIT_REPLACE, TH_EDIT_INSERT };

struct th_memory_call_args {
	int64_t command, insert_line;
	struct th_str path, file_text, old_str, new_str, insert_text, old_path, new_path;
	struct th_ints view_range;
};

#define AT(member) offsetof(struct th_memory_call_args, member)
#define TEXT(member, says)                                                               \
	{                                                                                \
		.name = #member, .offset = AT(member), .kind = TH_FIELD_str, .doc = says \
	}
/* clang-format off */
static const struct th_field fields[] = {
	{ .name = "command", .offset = AT(command), .kind = TH_FIELD_enum, .flags = TH_REQ,
	  .doc = "What to do.", .names = commands },
	TEXT(path, "File or folder under /memories; not of rename."),
	TEXT(file_text, "create: the new file's content."),
	TEXT(old_str, "str_replace: text that stands exactly once in the file."),
	TEXT(new_str, "str_replace: what takes its place."),
	{ .name = "insert_line", .offset = AT(insert_line), .kind = TH_FIELD_int, .flags = TH_NONEG,
	  .doc = "insert: the line behind which it goes; 0: the file's start.",
	  .has_default = true, .default_int = TH_EDIT_LINE_UNSET },
	TEXT(insert_text, "insert: the lines to put in."),
	TEXT(old_path, "rename: what is renamed."),
	TEXT(new_path, "rename: its new path."),
	{ .name = "view_range", .offset = AT(view_range), .kind = TH_FIELD_ints,
	  .doc = "view: first and last line, from 1; -1: to the end." },
};
/* clang-format on */
static const struct th_table table = { "memory",
				       "arguments of memory",
				       fields,
				       TH_COUNT(fields),
				       sizeof(struct th_memory_call_args),
				       false };

struct call {
	struct call *next;
	struct th_memory *memory;
	struct th_tool_job *job;
	const struct th_memory_call_args *args;
	bool probing;
	struct th_tool_job inner; /* as `edit` sees it */
	struct th_edit edit;
	struct th_memory_move move;
	enum th_code code; /* of opening the folder */
};

struct th_memory {
	struct th_tool_env env;
	struct call *first, *last;
};

static void run_first(struct th_memory *m);

static bool moves(const struct call *c)
{
	return c->args->command == DELETE || c->args->command == RENAME;
}

/* ---- its folder ---- */

/* Each time anew: a command may have removed it. */
static void work_open(void *ctx)
{
	struct call *c = (struct call *)ctx;
	const struct th_tool_env *env = c->job->env;
	struct th_tool_env *within = &c->memory->env;
	TH_CLEANUP(th_fd_close) int top = -1;

	th_fd_close(&within->workspace_fd);
	th_tool_owner_enter(env);
	c->code = th_tool_open(env, TH_STR("."), O_RDONLY | O_DIRECTORY, 0, &top, &c->move.err);
	if (!c->code && mkdirat(top, TH_MEMORY_FOLDER, 0755) < 0 && errno != EEXIST)
		c->code =
		    th_fail_errno(&c->move.err, errno, "make the folder %s", TH_MEMORY_FOLDER);
	if (!c->code)
		c->code =
		    th_tool_open(env, TH_STR(TH_MEMORY_FOLDER), O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
				 0, &within->workspace_fd, &c->move.err);
	if (!c->code && moves(c) && c->probing)
		th_memory_probe(within, c->job->noted, &c->move);
	else if (!c->code && moves(c))
		th_memory_plan(within, &c->move);
	th_tool_owner_leave(env);
}

static void work_move(void *ctx)
{
	struct call *c = (struct call *)ctx;

	th_tool_owner_enter(c->job->env);
	th_memory_do(&c->memory->env, &c->move);
	th_tool_owner_leave(c->job->env);
}

/* ---- on the loop ---- */

/* The next one goes on; `c` is gone. */
static void leave(struct call *c)
{
	struct th_memory *m = c->memory;

	assert(m->first == c);
	m->first = c->next;
	if (!m->first)
		m->last = NULL;
	th_buf_deinit(&c->move.say);
	th_buf_deinit(&c->move.note);
	free(c);
	run_first(m);
}

static void finish(void *ctx)
{
	struct call *c = (struct call *)ctx;
	const struct th_memory_move *v = &c->move;

	if (v->say.len == 0)
		th_tool_fail(c->job, v->status, &v->err);
	else
		th_tool_text(c->job, v->status, th_buf_str(&v->say), th_buf_str(&v->note));
	leave(c);
}

static bool inner_note(struct th_tool_job *inner, struct th_str json)
{
	struct call *c = (struct call *)inner->ctx;

	return c->job->note(c->job, json);
}

static void inner_picture(struct th_tool_job *inner, struct th_str bytes, struct th_str hex,
			  struct th_str media_type)
{
	struct call *c = (struct call *)inner->ctx;

	c->job->picture(c->job, bytes, hex, media_type);
}

static void inner_done(struct th_tool_job *inner, enum th_outcome_status status,
		       struct th_str output, struct th_str evidence)
{
	struct call *c = (struct call *)inner->ctx;

	c->job->done(c->job, status, output, evidence);
	leave(c);
}

static void start_edit(struct call *c)
{
	const struct th_memory_call_args *a = c->args;

	c->edit = (struct th_edit){
		.command = edits[a->command],
		.insert_line = a->insert_line,
		.path = a->path,
		.file_text = a->file_text,
		.old_str = a->old_str,
		.new_str = a->command == INSERT ? a->insert_text : a->new_str,
		.view_range = a->view_range,
	};
	if (a->command == INSERT && !a->insert_text.ptr)
		c->edit.new_str = a->new_str;
	c->inner = *c->job;
	c->inner.env = &c->memory->env;
	c->inner.args = &c->edit;
	c->inner.note = inner_note;
	c->inner.picture = inner_picture;
	c->inner.done = inner_done;
	c->inner.ctx = c;
	(c->probing ? th_tool_edit.probe : th_tool_edit.start)(&c->inner);
}

static void opened(void *ctx)
{
	struct call *c = (struct call *)ctx;

	if (c->code) {
		c->move.status = c->probing ? TH_OUTCOME_UNKNOWN : TH_OUTCOME_FAILED;
		finish(c);
		return;
	}
	if (!moves(c)) {
		start_edit(c);
		return;
	}
	if (c->probing || c->move.err.code) {
		finish(c);
		return;
	}
	if (!c->job->note(c->job, th_buf_str(&c->move.note))) {
		c->move.status = TH_OUTCOME_NOT_STARTED;
		th_fail(&c->move.err, TH_EIO,
			"the executor's journal takes no more, so nothing was changed");
		finish(c);
		return;
	}
	th_work(c->job->env->loop, work_move, finish, c);
}

static void run_first(struct th_memory *m)
{
	if (m->first)
		th_work(m->env.loop, work_open, opened, m->first);
}

static struct th_memory *memory_of(struct th_tool_env *env)
{
	struct th_memory *m = env->memory;

	if (m)
		return m;
	m = env->memory = (struct th_memory *)th_alloc(sizeof(*m));
	m->env = (struct th_tool_env){
		.loop = env->loop,
		.workspace_fd = -1,
		.workspace = TH_STR(TH_MEMORY_SHOWN),
		.hidden = env->hidden,
		.as_owner = env->as_owner,
		.owner_uid = env->owner_uid,
		.owner_gid = env->owner_gid,
		.undo_fd = -1,
		.no_undo = true,
	};
	return m;
}

void th_memory_free(struct th_tool_env *env)
{
	struct th_memory *m = env->memory;

	env->memory = NULL;
	/* A worker that hangs in the file system still has it: the process ends without. */
	if (!m || m->first)
		return;
	th_editor_state_free(m->env.edit);
	th_fd_close(&m->env.workspace_fd);
	free(m);
}

static const char *missing(const struct th_memory_call_args *a)
{
	if (a->command == RENAME)
		return !a->old_path.len ? "old_path" : !a->new_path.len ? "new_path" : NULL;
	return !a->path.len ? "path" : NULL;
}

static void begin(struct th_tool_job *job, bool probing)
{
	const struct th_memory_call_args *a = (const struct th_memory_call_args *)job->args;
	const char *member = missing(a);
	struct th_memory *m;
	struct call *c;
	struct th_err err;

	if (job->env->workspace_fd < 0)
		th_fail(&err, TH_EUNSUPPORTED,
			"this session has no workspace, so there is no memory");
	else if (member)
		th_fail(&err, TH_EUSAGE, "Parameter `%s` is required for command: %s.", member,
			commands[a->command]);
	if (job->env->workspace_fd < 0 || member) {
		th_tool_fail(job, probing ? TH_OUTCOME_UNKNOWN : TH_OUTCOME_REFUSED, &err);
		return;
	}
	m = memory_of(job->env);
	c = (struct call *)th_alloc(sizeof(*c));
	*c = (struct call){ .memory = m, .job = job, .args = a, .probing = probing };
	c->move.from = a->command == RENAME ? a->old_path : a->path;
	c->move.to = a->command == RENAME ? a->new_path : TH_STR("");
	th_buf_init(&c->move.say, 4 * TH_PATH_LEN_MAX);
	th_buf_init(&c->move.note, 16 * TH_PATH_LEN_MAX);
	if (m->last)
		m->last->next = c;
	else
		m->first = c;
	m->last = c;
	if (m->first == c)
		run_first(m);
}

static void start(struct th_tool_job *job)
{
	begin(job, false);
}

static void probe(struct th_tool_job *job)
{
	begin(job, true);
}

static const char *const looking[] = { "view", NULL };
static const struct th_effect_looks looks = { "command", looking };

const struct th_tool th_tool_memory = {
	.name = "memory",
	.description =
	    "Files that stay for later conversations in this workspace, under /memories. Look "
	    "there "
	    "before you begin, and write down what will be useful later. view: a file with "
	    "numbered "
	    "lines, or a folder. create, str_replace, insert: as an editor. delete, rename: a file "
	    "or a folder.",
	.class = TH_CLASS_V,
	.looks = &looks,
	.scope = { TH_TARGET_FILES, TH_SHOWS_ONE },
	.arguments = &table,
	.start = start,
	.probe = probe,
};
