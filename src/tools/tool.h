/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tool.h - what a model may do on this machine: one tool = one file = one row
 * of th_tools (list.c).
 *
 * A tool runs in the executor, on its loop.  start() returns at once; the tool
 * calls job->done exactly once, on the loop, also when it is cancelled, and
 * possibly before start() returns.  After done the job is gone.
 *
 * A tool never writes to the journal or the spool and knows no runtime: the
 * executor, which owns the jobs, does all that in its callbacks.
 */
#ifndef TH_TOOLS_TOOL_H
#define TH_TOOLS_TOOL_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/field.h"
#include "base/limits.h"
#include "base/mask.h"
#include "events/effect.h"
#include "events/event.h"
#include "tools/given.h"

struct th_loop;
struct th_timer;
struct th_sandbox_plan;
struct th_tool_drain;
struct th_edit_state;
struct th_memory;
struct th_bash_shell;
struct th_python_kernel;
struct th_mcp_process;
struct th_fetcher;

/* Where and how tools act; made once per executor. */
struct th_tool_env {
	struct th_loop *loop;
	int workspace_fd;        /* folder, O_PATH; -1: no workspace, so no files and no commands */
	struct th_str workspace; /* absolute path without a slash at its end */
	const char *const
	    *hidden;   /* our own folders, should the workspace hold them; NULL-terminated */
	bool as_owner; /* we are root: files are made and read as the workspace's owner */
	uid_t owner_uid;
	gid_t owner_gid;
	const char *const *environment;        /* for commands; NULL-terminated */
	struct th_given given;                 /* values for commands that name them */
	const struct th_sandbox_plan *sandbox; /* for commands; NULL: not confined */
	const struct th_mask *mask;            /* over what commands write; NULL: there is none */
	int64_t command_ms_max;
	/* The argv to put before a command's own so that it runs on the session's desktop
	 * (desktop/desktop.h); NULL while there is none.  The function itself may be NULL. */
	const char *const *(*desktop_prefix)(void *ctx);
	void *desktop_ctx;
	struct th_tool_drain *drains; /* shell.c: output of what commands left running */
	int undo_fd;  /* folder for what `edit` replaces, outside the workspace; -1: none */
	bool no_undo; /* a tool above takes no edit back, and nothing is said of that */
	struct th_bash_shell *shells; /* bash.c: those that live on between calls */
	/* Told when the terminal of the first shell may show something else (bash_view.h); it may
	 * call nothing of the tools. */
	struct {
		void (*changed)(void *ctx);
		void *ctx;
	} bash_viewer;
	uint64_t bash_idle_ms;           /* 0: TH_BASH_IDLE_MS */
	uint64_t bash_grace_ms;          /* 0: TH_BASH_GRACE_MS */
	struct th_python_kernel *kernel; /* python.c */
	struct th_fetcher *fetcher;      /* of a runtime: for servers at an address; else NULL */
	struct th_mcp_process *servers;  /* mcp/process.c: those that live on, too */
	struct th_memory *memory;        /* memory.c: its folder as a workspace of its own */
	struct th_edit_state *edit; /* edit_history.c: what it saw, and its calls in their order */
};

/* Before the loop goes. */
void th_tool_env_deinit(struct th_tool_env *env);

/* One call under way; made by the executor, which owns it until done. */
struct th_tool_job {
	struct th_tool_env *env;
	struct th_arena *arena; /* lives as long as the job */
	struct th_str effect_id;
	const void *args;    /* a struct of the tool's table */
	int64_t timeout_ms;  /* 0: the tool's own */
	struct th_str noted; /* probe: what start() noted, JSON, or empty */
	void *state;         /* the tool's */
	/* Those of its time limits that stand still while a person is asked on its behalf. */
	struct th_timer *clocks[2];

	/* Output as it comes, for the spool and for people who watch; any time before done. */
	void (*output)(struct th_tool_job *job, struct th_str bytes);
	/* Class V, always and before anything is changed: JSON object for a later probe.  It is in
	 * the journal, flushed, when this returns; false: it is not, do not act. */
	bool (*note)(struct th_tool_job *job, struct th_str json);
	/* It is done elsewhere, under that name, by which a later runtime may take it up; before
	 * done. NULL: nobody writes that down. */
	void (*task)(struct th_tool_job *job, struct th_str name);
	/* A picture that a part of the output names by its digest; before done. */
	void (*picture)(struct th_tool_job *job, struct th_str bytes, struct th_str hex,
			struct th_str media_type);
	/* `output`: JSON for the model (a string or parts); `evidence`: JSON object or empty. */
	void (*done)(struct th_tool_job *job, enum th_outcome_status status, struct th_str output,
		     struct th_str evidence);
	void *ctx;
};

/* All that the other layers know of a tool stands in its row. */
struct th_tool {
	const char *name, *description;
	enum th_class class;
	const struct th_effect_looks *looks; /* its calls of class R; NULL: none */
	struct th_effect_scope scope;        /* what it acts on, and what its calls show */
	bool in_default;                     /* an agent that names no tools has it */
	bool was_default; /* earlier: such an agent's model is not told of it, but may call it */
	bool question;    /* a person's answer is its result: start() is not for it */
	bool on_computer; /* its calls are done by the session's computer (computer.h, browse) */
	bool ask;         /* every call needs approval, whatever the agent file says */
	bool last;        /* where it ends the task, no call behind it in its answer runs */
	const struct th_table *arguments; /* closed table */
	void (*start)(struct th_tool_job *job);
	void (*cancel)(
	    struct th_tool_job *job); /* done still comes; NULL: it ends soon by itself */
	/* What a person types, and the size of his terminal (0: as it was), while it runs; NULL: it
	 * takes none. */
	void (*input)(struct th_tool_job *job, struct th_str bytes, int64_t columns, int64_t rows);
	/* Class V, after a crash between accepted and finished: looks only, and says done,
	 * not_started or unknown. */
	void (*probe)(struct th_tool_job *job);
};

extern const struct th_tool *const th_tools[]; /* NULL-terminated */
/* The tools of an agent that names none; returns how many. */
size_t th_tools_default(struct th_str ret[static TH_AGENT_TOOLS_MAX]);
/* Those that such an agent had before: a session that goes on may call them. */
size_t th_tools_former(struct th_str ret[static TH_AGENT_TOOLS_MAX]);
/* All names that an agent file may use, those of other makers' tools too; returns how many. */
size_t th_tool_names(const char *ret[static TH_AGENT_TOOLS_MAX]);
/* The same name, static; NULL: there is no such tool. */
const char *th_tool_name(struct th_str name);

const struct th_tool *th_tool_find(struct th_str name); /* those below too */

/* What runs command tools, the shell of the API's own items, and programs on terminals; not of
 * th_tools: no model and no agent file names them. */
extern const struct th_tool th_tool_command, th_tool_commands, th_tool_pty;
bool th_tool_is_internal(const struct th_tool *tool);
extern const struct th_tool th_tool_request_condensation;
extern const struct th_tool th_tool_shell, th_tool_read_file, th_tool_write_file, th_tool_list_dir,
    th_tool_apply_patch, th_tool_edit, th_tool_search, th_tool_bash, th_tool_task_list,
    th_tool_think, th_tool_ask, th_tool_python, th_tool_python_install, th_tool_browser,
    th_tool_finish, th_tool_memory, th_tool_fetch;

/* ---- for tools ---- */

void th_bash_free(struct th_tool_env *env);   /* ends all shells */
void th_python_free(struct th_tool_env *env); /* ends the kernel */
void th_memory_free(struct th_tool_env *env);

/* done with a sentence: "error: …" for the model. */
void th_tool_fail(struct th_tool_job *job, enum th_outcome_status status, const struct th_err *e);
/* How long a command may run: the session's maximum, or less where the job or its arguments
 * (seconds; 0: nothing) say so. */
/* A person is asked on its behalf: its limits of time stand still, and go on. */
void th_tool_clocks_hold(struct th_tool_job *job);
void th_tool_clocks_go_on(struct th_tool_job *job);
int64_t th_tool_timeout_ms(const struct th_tool_job *job, int64_t asked_s);
/* done with a plain text. */
void th_tool_text(struct th_tool_job *job, enum th_outcome_status status, struct th_str text,
		  struct th_str evidence);

#endif
