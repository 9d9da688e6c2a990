/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h - how a runtime of the simulator speaks with the executor of
 * one session.  A model of the contract in exec_client/client.h and wire/exec.h,
 * not the real client: connections are made of paper.
 *
 * Every call is answered once; a broken connection is made again and what was
 * under way is asked for, never repeated (class R aside).
 */
#ifndef TH_SIM_CLIENT_H
#define TH_SIM_CLIENT_H

#include "live/world.h"
#include "sim/executor.h"

struct th_sim_client;

struct th_sim_client_world {
	/* A new connection; NULL: the executor does not start. */
	struct th_sim_conn *(*connect)(void *ctx, size_t session);
	void (*ready)(void *ctx, size_t session, bool fenced); /* once */
	void (*done)(void *ctx, size_t session, struct th_ticket t,
		     const struct th_effect_result *result);
	int64_t (*now_ms)(void *ctx);
	bool repeat;      /* a broken variant: what was under way is done again */
	bool guest;       /* a broken variant: no fence */
	bool ageless;     /* a broken variant: runs are never too old */
	bool any_journal; /* a broken variant: it does not matter which one an INTENT names */
	void *ctx;
};

struct th_sim_client *th_sim_client_new(const struct th_sim_client_world *world, size_t session,
					struct th_str session_id, int64_t epoch);
struct th_sim_client *th_sim_client_free(struct th_sim_client *c);

void th_sim_client_run(struct th_sim_client *c, struct th_ticket t,
		       const struct th_effect_call *call, bool settle);
void th_sim_client_cancel(struct th_sim_client *c, struct th_ticket t);
void th_sim_client_forget(struct th_sim_client *c, const struct th_str *ids, size_t count);
void th_sim_client_stall(struct th_sim_client *c, int64_t until_ms); /* its connection does */
bool th_sim_client_cut(const struct th_sim_client *c); /* it has not yet seen the executor's end */
struct th_str th_sim_client_journal(const struct th_sim_client *c); /* last heard of */
bool th_sim_client_has(const struct th_sim_client *c, struct th_ticket t);

/* Whether it can move now; and moves. */
bool th_sim_client_ready(const struct th_sim_client *c, int64_t *due_ms);
void th_sim_client_step(struct th_sim_client *c);

#endif
