/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_config.h - what an open session is given: its agents with their models and tools, the
 * code that answers for it, and who observes it.
 */
#ifndef TH_LIVE_SESSION_CONFIG_H
#define TH_LIVE_SESSION_CONFIG_H

#include "agents/agent.h"
#include "core/session.h"
#include "live/callbacks.h"
#include "live/world.h"

struct th_driver;

struct th_handle {
	uint32_t index, generation; /* {0, 0}: none */
};

/* A call of a tool that is a function of this process. */
struct th_local_call {
	struct th_ticket ticket;
	struct th_str tool, arguments;     /* JSON object; borrowed until the function returns */
	struct th_str call_id, session_id; /* the same */
	struct th_str effect_id;           /* of the INTENT; the same when the call is repeated */
	enum th_class class;
};
/* Must call th_driver_tool_done, at once or later. */
typedef void th_local_fn(void *ctx, struct th_driver *d, const struct th_local_call *call);

/* A tool of a server that the agent file names. */
struct th_mcp_target {
	const struct th_agent_mcp *server;
	struct th_str tool; /* as the server calls it */
	bool as_task;
};

struct th_tool_row {
	struct th_tool_spec spec; /* borrowed: lives as long as the driver */
	th_local_fn *local;       /* NULL: the executor runs the tool */
	/* Local tools only; NULL: cannot be cancelled.  The call must still be answered, soon. */
	void (*cancel)(void *ctx, struct th_ticket t);
	/* Does the call run in this process?  Then it is not settled; its result will come. */
	bool (*alive)(void *ctx, struct th_ticket t);
	void *ctx;
	const struct th_agent_command *command; /* a program run by the executor; else NULL */
	const struct th_mcp_target *mcp;        /* a tool of a server (MCP); else NULL */
	bool check; /* refuse calls whose arguments do not match spec.schema */
};

/* A model with its profile and server. */
struct th_resolved_model {
	const struct th_profile *profile;
	struct th_str model; /* name as sent */
	struct th_str base_url;
	const struct th_composed *composed; /* NULL, or the grounder of the pair */
	struct th_str grounder_url;         /* its base URL */
};

/* Configuration of a session; borrowed while the session is open. */
struct th_session_config {
	const struct th_agent *agent;
	struct th_str definition; /* of `agent`, as session_created has it; empty: it is printed */
	struct th_resolved_model first;
	const struct th_resolved_model
	    *fallback;                          /* as many as agent->fallback names, in its order */
	const struct th_resolved_model *reader; /* agent->quarantine_model; NULL: none is named */
	const struct th_resolved_model *judge;  /* agent->judge->model; the same */
	const struct th_tool_row *tools;
	size_t tool_count;
	/* The specs of those that the model is told of, for sessions to share; NULL: each makes its
	 * own list. */
	const struct th_tool_spec *specs;
	size_t spec_count;
	bool has_computer, has_pages;       /* pages: as of th_request_options */
	const struct th_tool_row *computer; /* a function of this process; NULL: the executor's */
	struct th_size screen;
	const struct th_callbacks *callbacks;    /* the agent's code; NULL: it has none */
	const struct th_session_config *members; /* the other agents of the team; [0] is agent 1 */
	size_t member_count;                     /* number of agents in the team, minus one */
};
/* Its place among the models, for th_model_call: behind the fallback list. */
size_t th_config_reader_at(const struct th_session_config *o);
size_t th_config_judge_at(const struct th_session_config *o);
const struct th_session_config *th_config_member(const struct th_session_config *o, size_t agent);

/* An observer gets events when they are durable, and deltas as they stream (never logged). */
struct th_observer {
	void (*event)(void *ctx, struct th_handle h, const struct th_event *ev);
	void (*delta)(void *ctx, struct th_handle h, enum th_delta_kind kind, struct th_str text);
	/* Progress output of a command tool; may be NULL. */
	void (*progress)(void *ctx, struct th_handle h, struct th_str tool, struct th_str bytes);
	/* The session rests (th_session_rests) and its log is durable; or the session was lost
	 * (err not NULL: another runtime took it, or the store failed). */
	void (*rest)(void *ctx, struct th_handle h, const struct th_session *s,
		     const struct th_err *err);
	void *ctx;
};

/* The answer to a question of a person (th_driver_ask); `err`: why there is none, or NULL. */
typedef void th_asked_fn(void *ctx, struct th_str answer, const struct th_err *err);

#endif
