/* SPDX-License-Identifier: Apache-2.0 */
/*
 * executor.h - an executor process of the simulator: the real ledger and
 * the real code of effects (rename.h), with connections, tools, screen and
 * loop made of paper.
 *
 * Everything moves in steps that the world chooses, and the process may be
 * killed between any two of them.  It tells the world when an effect happens
 * outside; it never decides what may happen.
 */
#ifndef TH_SIM_EXECUTOR_H
#define TH_SIM_EXECUTOR_H

#include "events/effect.h"
#include "sim/disk.h"

struct th_sim_exec; /* the process */
struct th_sim_conn; /* one connection; lives until both ends let go */

/* What an executor needs of the world. */
struct th_sim_exec_world {
	int64_t (*now_ms)(void *ctx);
	/* It happens now, outside, and cannot be taken back. */
	void (*act)(void *ctx, size_t session, struct th_str effect_id, enum th_class class);
	bool (*acted)(void *ctx, struct th_str effect_id); /* a probe looks */
	void (*say)(void *ctx, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
	struct th_sim_random *random;
	bool outcome_first; /* a broken variant: says done, then does it */
	bool forgetful;     /* a broken variant: NEVER is said and not written */
	unsigned slow;      /* one effect in so many takes very long */
	void *ctx;
};

/* Opens the journal `session` of the disk.  NULL: it could not. */
struct th_sim_exec *th_sim_exec_new(const struct th_sim_exec_world *world, size_t session,
				    struct th_str session_id);
/* The process dies; connections to it are cut.  NULL is fine. */
struct th_sim_exec *th_sim_exec_free(struct th_sim_exec *x);
bool th_sim_exec_dead(const struct th_sim_exec *x);     /* its journal failed: it is to be freed */
bool th_sim_exec_stumbled(const struct th_sim_exec *x); /* its disk was full once */

/* What could move now; and moves one of them.  due: when the next thing will (INT64_MAX: nothing).
 */
size_t th_sim_exec_ready(const struct th_sim_exec *x, int64_t *due_ms);
void th_sim_exec_step(struct th_sim_exec *x, size_t which);

struct th_sim_conn *th_sim_conn_new(struct th_sim_exec *x);
/* The runtime's end closes or dies; what it sent before still arrives. */
struct th_sim_conn *th_sim_conn_close(struct th_sim_conn *c);
void th_sim_conn_stall(struct th_sim_conn *c, int64_t until_ms); /* what is sent arrives later */
void th_sim_conn_send(struct th_sim_conn *c, struct th_str head);
bool th_sim_conn_cut(const struct th_sim_conn *c);     /* the executor is gone */
bool th_sim_conn_waiting(const struct th_sim_conn *c); /* a message, or the end */
/* The next message; false: the executor is gone.  The caller frees both. */
bool th_sim_conn_take(struct th_sim_conn *c, struct th_buf *head, struct th_buf *attachment);

/* The names of the tools that executors have. */
struct th_sim_tool {
	const char *name;
	enum th_class class;
	struct th_effect_scope scope;
};
extern const struct th_sim_tool th_sim_tools[]; /* ends with name == NULL */

#endif
