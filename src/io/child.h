/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.h - starting a program, hearing what it says, and ending it with all
 * it started.
 *
 * Always an argv vector, never a shell string; the environment is exactly what
 * the caller lists, so nothing of ours leaks; every descriptor not mapped is
 * closed.  A child is in a session of its own, has no_new_privs when
 * sandboxed, and dies with us unless asked otherwise.
 *
 * The whole tree is ended for certain: by its PID namespace, else by a cgroup,
 * else (weaker, th_child_tree says so) by adopting and killing what is left.
 * Never by name.
 *
 * Memory is bounded: output goes to the callback as it comes, through one
 * buffer of the loop; th_child_pause stops reading and so stops the writer.
 */
#ifndef TH_IO_CHILD_H
#define TH_IO_CHILD_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "io/loop.h"
#include "io/sandbox.h"

struct th_child;

enum th_child_stream { TH_CHILD_OUT = 1, TH_CHILD_ERR = 2 };

struct th_child_exit {
	bool signalled;
	int code;         /* exit status, or the signal's number */
	bool killed;      /* by th_child_kill */
	bool not_started; /* the sandbox could not be set up; why is on its standard error */
};

struct th_child_fd {
	int ours, theirs; /* ours stays the caller's */
};

/* A child that only stands for a command somewhere else (desktop/desktop.h) says on this
 * descriptor, when it was given one, what its exit status cannot: that the command began, that it
 * certainly did not, or that the place it was sent to is gone. */
#define TH_STANDIN_FD 3
#define TH_STANDIN_STARTED 'S'
#define TH_STANDIN_NOT_STARTED 'N'
#define TH_STANDIN_LOST 'L'

/* 0: left as it is.  `processes`: of the child and what it starts where these have a user
 * namespace, else beside what there is already (processes.h). */
struct th_child_limits {
	uint64_t processes, open_files, file_size, memory, cpu_s;
};

/* How the tree is ended. */
enum th_child_tree { TH_TREE_NAMESPACE, TH_TREE_CGROUP, TH_TREE_ADOPT };

struct th_child_spec {
	const char *const *argv; /* NULL-terminated; argv[0] is searched in the child's PATH when it
				    has no slash */
	const char *const *env;  /* "NAME=value", NULL-terminated; NULL: empty */
	const char *cwd;         /* NULL: ours */
	const struct th_child_fd *fds; /* 0..2 not named here nor captured are /dev/null */
	size_t fd_count;
	bool write_in;                         /* th_child_write feeds its standard input */
	bool merge_err;                        /* standard error goes where standard output goes */
	const struct th_sandbox_plan *sandbox; /* NULL: not confined */
	bool set_ids; /* without sandbox: run as uid, gid, no other groups */
	uid_t uid;
	gid_t gid;
	struct th_child_limits limits;
	bool outlive;  /* does not die with us */
	bool tree;     /* without sandbox: contain the tree too, by the best means there is */
	bool terminal; /* descriptor 0 becomes the controlling terminal */

	void (*on_output)(void *ctx, enum th_child_stream stream,
			  struct th_str bytes); /* NULL: not captured */
	void (*on_exit)(void *ctx,
			const struct th_child_exit *status); /* once; after the last output */
	void *ctx;
};

/*
 * TH_ENOENT: no such program; TH_ELIMIT: TH_CHILDREN_MAX reached or no more
 * processes; else what the system said, and at which step.  A program that
 * could not be executed is an error here, not an exit status (inside
 * namespaces excepted: 127 and a sentence on its standard error).
 */
TH_NODISCARD enum th_code th_child_start(struct th_loop *l, const struct th_child_spec *spec,
					 struct th_child **ret, struct th_err *err);

/* Ends the tree if it still runs (waits the moment that takes), no callback any more. */
struct th_child *th_child_free(struct th_child *c);

pid_t th_child_pid(const struct th_child *c);
enum th_child_tree th_child_tree_kind(const struct th_child *c);
bool th_child_running(const struct th_child *c);

void th_child_signal(struct th_child *c, int signum); /* to its process group */
void th_child_kill(struct th_child *c);               /* SIGKILL to the tree; on_exit follows */

/* Kills every process that was started with this entry ("NAME=value") in its environment, until
 * none is left: for what runs in a tree that must live on.  How many there were. */
size_t th_child_kill_marked(const char *entry);

/* Stops and continues on_output; on_exit waits for what was not yet given out. */
void th_child_pause(struct th_child *c, bool paused);

/* Queues input; TH_ELIMIT when more than TH_TOOL_OUTPUT_MAX waits.  th_child_close_in ends it. */
TH_NODISCARD enum th_code th_child_write(struct th_child *c, struct th_str bytes,
					 struct th_err *err);
void th_child_close_in(struct th_child *c);

/*
 * The environment to start from: PATH, LANG, LC_*, TERM, TZ, and HOME, USER as
 * given; never anything else of ours.  `more` is "NAME=value" entries, later
 * ones win.  In the arena; NULL when it is full.
 */
TH_NODISCARD const char *const *th_child_env(struct th_arena *a, const char *home, const char *user,
					     const char *const *more);

#endif
