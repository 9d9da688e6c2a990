/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal.h - what the simulator's world is made of, for the files that
 * make it: task.c (what is asked for), team.c (by several agents, with
 * code), runtime.c (runtimes), runtime_world.c (the world as their drivers see it),
 * children.c (sessions that work on calls), people.c, faults.c, and
 * world.c, which draws what happens next.
 */
#ifndef TH_SIM_INTERNAL_H
#define TH_SIM_INTERNAL_H

#include "agents/agent_command.h"
#include "driver/driver.h"
#include "sim/client.h"
#include "sim/provider.h"
#include "sim/world.h"

#define TH_SIM_RUNTIMES_MAX 3
#define TH_SIM_COMMITS_MAX 32
#define TH_SIM_TIMERS_MAX 64
#define TH_SIM_FAULTS_MAX 8
#define TH_SIM_AGENTS_MAX 3
#define TH_SIM_TOOLS_MAX 10

/* ---- what there is ----------------------------------------------------------------------- */

struct th_sim_world;
struct th_sim_runtime;

struct th_sim_later {
	struct th_ticket ticket;
	int64_t due_ms;
};

/* A log that is read beside the loop. */
struct th_sim_log {
	struct th_ticket ticket;
	int64_t due_ms;
	uint64_t next, to; /* next > to: what is read then is asked for */
};

struct th_sim_commit {
	struct th_batch *batch;
	th_commit_fn *done;
	void *done_ctx;
};

struct th_sim_model_call {
	struct th_sim_model_call *next;
	struct th_ticket ticket;
	struct th_sim_answer answer;
	size_t at; /* of the body */
	int64_t due_ms;
};

/* A question to the agents' code whose answer comes later. */
struct th_sim_pending_callback {
	struct th_ticket ticket;
	int64_t due_ms;
	bool failed;
	struct th_buf answer;
};

enum th_sim_place { ABSENT, GREETING, OPEN };

/* A session in a runtime. */
struct th_sim_resident {
	enum th_sim_place place;
	struct th_handle handle;
	struct th_sim_client *client;
	int64_t epoch, due_ms;
	bool create, gone; /* gone: lost, to be closed */
	bool child;        /* it works on a call of `parent`, and its client comes when needed */
	bool unavailable;  /* that has no executor */
	size_t parent;
	struct th_sim_runtime *r;
	struct th_session_config session_config, members[TH_SIM_AGENTS_MAX - 1];
	struct th_callbacks callbacks; /* of a team */
};

struct th_sim_runtime {
	struct th_sim_world *w;
	int number;
	struct th_driver *d;
	bool stale, dying, dead, flush;
	struct th_sim_commit commits[TH_SIM_COMMITS_MAX];
	size_t commit_count;
	struct th_sim_model_call *calls;
	struct th_sim_later timers[TH_SIM_TIMERS_MAX], locals[TH_SIM_TIMERS_MAX];
	size_t timer_count, local_count;
	struct th_sim_pending_callback asks[TH_SIM_TIMERS_MAX];
	size_t ask_count;
	struct th_sim_log logs[TH_SIM_SESSIONS_MAX];
	size_t log_count;
	struct th_ticket old; /* of something that is over */
	struct th_sim_resident sessions[TH_SIM_SESSIONS_MAX];
};

/* A session as its owner thinks of it. */
struct th_sim_task {
	char id[TH_SESSION_ID_MAX + 1];
	bool wanted;
	struct th_agent agent;
	bool team, asks; /* of several agents; which are each other's tools */
	struct th_agent_command commands[TH_SIM_AGENTS_MAX][2];
	struct th_agent members[TH_SIM_AGENTS_MAX - 1]; /* of a team, the others */
	struct th_str members_approve;
	struct th_agent_limits limits;
	struct th_agent_model_settings settings;
	struct th_str approve[2];
	struct th_session_config session_config;
	struct th_tool_row rows[TH_SIM_AGENTS_MAX][TH_SIM_TOOLS_MAX]; /* of each agent */
	struct th_resolved_model
	    choices[2]; /* the second one is in its agent's fallback list, or not */
	struct th_str fallback;
	/* Of each agent and choice, for the checker. */
	struct th_request_options options[TH_SIM_AGENTS_MAX][2];
	struct th_tool_spec specs[TH_SIM_AGENTS_MAX][TH_SIM_TOOLS_MAX];
	size_t parent; /* of a fork */
	uint64_t parent_seq;
	bool fork;
	unsigned messages_left, meddling_left;
	int64_t due_ms;
	char ignored[64]; /* the call nobody decides about */
	struct th_sim_exec *exec;
};

struct th_sim_world {
	struct th_sim_random random;
	enum th_sim_variant variant;
	FILE *trace;
	struct th_sim_counts *counts;
	struct th_sim_disk *disk;
	struct th_sim_check *check;
	int64_t now_ms;
	uint64_t step, numbers;
	struct th_sim_runtime *runtimes[TH_SIM_RUNTIMES_MAX];
	int runtime_numbers;
	int64_t restart_ms;
	struct th_sim_task tasks[TH_SIM_SESSIONS_MAX];
	size_t task_count, child_count; /* of the two parts of it */
	unsigned asks_left;             /* calls of agents as tools */
	uint64_t fault_steps[TH_SIM_FAULTS_MAX];
	size_t fault_count;
	unsigned window_faults; /* more of them, right after an effect or its dispatch */
	uint64_t fault_soon;
	enum th_sim_fault commit_fault;
	unsigned final_in, slow, ignore;
	bool wary; /* its runtimes only ask what became of an effect, and never begin it late */
};

/* ---- world.c ---- */

TH_PRINTF(2, 3) void th_sim_say(void *ctx, const char *fmt, ...); /* ctx: the world */
int64_t th_sim_soon(struct th_sim_world *w, int64_t most_ms);
size_t th_sim_count(const struct th_sim_world *w); /* no session has that number or a higher one */

/* ---- task.c ---- */

void th_sim_task_init(struct th_sim_world *w, size_t number, bool falls_back, bool chains,
		      bool background, bool team, bool asks, int64_t expires);

/* ---- team.c ---- */

/* Makes a task one of several agents: with handoffs and code, and as each other's tools. */
void th_sim_team_init(struct th_sim_task *t, bool team, bool asks);
/* What the session is run with in this runtime. */
void th_sim_team_config(struct th_sim_runtime *r, size_t number);
void th_sim_team_answer(struct th_sim_runtime *r, size_t index);
void th_sim_team_forget(struct th_sim_runtime *r); /* what is asked */
/* Index of the model that an agent of a team begins with. */
size_t th_sim_team_model(struct th_str agent);

/* ---- runtime.c ---- */

struct th_sim_runtime *
th_sim_owner(struct th_sim_world *w); /* the runtime that does not count as dead, or NULL */
struct th_sim_runtime *th_sim_runtime_new(struct th_sim_world *w);
void th_sim_runtime_kill(struct th_sim_runtime *r);
void th_sim_runtime_commit(struct th_sim_runtime *r);
void th_sim_local(void *ctx, struct th_driver *d, const struct th_local_call *call);
/* Some events of a log that is read beside the loop. */
void th_sim_log_step(struct th_sim_runtime *r, size_t index);
void th_sim_local_answer(struct th_sim_runtime *r, struct th_ticket t);
void th_sim_resident_begin(struct th_sim_runtime *r, size_t number);
void th_sim_resident_end(struct th_sim_runtime *r, size_t number);
void th_sim_check_logs(struct th_sim_world *w);
/* The one that a session's effects go through. */
struct th_sim_client *th_sim_client_of(struct th_sim_runtime *r, size_t number);
size_t th_sim_task_of(const struct th_sim_world *w, struct th_str id); /* or SESSIONS_MAX */
size_t th_sim_task_of_ticket(const struct th_sim_runtime *r, struct th_ticket t); /* the same */

/* ---- runtime_world.c ---- */

extern const struct th_world_ops th_sim_world_ops; /* the context is a th_sim_runtime */
/* A piece of an answer, or its end. */
void th_sim_model_step(struct th_sim_runtime *r, struct th_sim_model_call *m);
void th_sim_model_drop(struct th_sim_runtime *r, struct th_sim_model_call *m); /* frees it */

/* ---- children.c: the driver's world, of sessions that work on calls ---- */

enum th_code th_sim_child_lease(void *ctx, struct th_str id, struct th_arena *a,
				struct th_session_row *ret, struct th_err *err);
void th_sim_child_opened(void *ctx, struct th_ticket parent, struct th_ticket child,
			 struct th_str id, int64_t epoch);
void th_sim_child_over(void *ctx, struct th_ticket child);
/* Somebody outside takes one of them, and does nothing. */
void th_sim_child_steal(struct th_sim_world *w);

/* ---- faults.c ---- */

/* One of the faults that are kept for the narrow places, perhaps. */
void th_sim_fault_in(struct th_sim_world *w, unsigned one_in);
bool th_sim_fault_due(struct th_sim_world *w);
void th_sim_fault_do(struct th_sim_world *w);
void th_sim_exec_kill(struct th_sim_world *w, size_t number, bool lose);

/* ---- people.c ---- */

bool th_sim_person_wants(struct th_sim_runtime *r, size_t number, const struct th_session *s);
void th_sim_person(struct th_sim_runtime *r, size_t number);

#endif
