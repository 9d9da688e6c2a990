/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_mcp.h - servers of tools (MCP) that an agent file names, and which of a
 * server's tools the agent gets.
 *
 * What an agent has of a server is decided once, when its list is read, and stands
 * in an event (mcp_tools): names, descriptions, schemas and classes.  A replay, a
 * resumed session and a fork have the same tools; no server is asked for that.
 *
 * A server's word is not trusted.  Names are made fit for every model and carry the
 * server's prefix; what a tool says of itself can only make its class stricter;
 * what is too large, or cannot be read, is left out and named.
 */
#ifndef TH_AGENTS_AGENT_MCP_H
#define TH_AGENTS_AGENT_MCP_H

#include "base/field.h"
#include "events/event.h"

struct th_agent_mcp {
	struct th_str name;
	struct th_strs command;     /* argv, run in the sandbox of commands */
	struct th_str url;          /* instead of command: http:// or https:// */
	struct th_strs headers;     /* of url: "Name: value" */
	struct th_str token_env;    /* of url: variable of ours with a bearer token */
	struct th_strs environment; /* NAME=value, beside that of commands */
	struct th_strs allow, deny; /* patterns of the server's own names; allow empty: all */
	struct th_strs reads;       /* which only look: class R */
	struct th_strs approve;     /* which a person must approve, each call */
	struct th_str prefix;       /* empty: the name and "_" */
	int64_t revision;           /* enum th_mcp_revision */
	int64_t annotations;        /* 1: what tools say of themselves is not looked at */
	int64_t instructions;       /* 1: what the server says of its use is not told */
	int64_t sampling;           /* enum th_agent_mcp_sampling */
	int64_t start_s, timeout_s; /* 0: the default */
	bool optional;              /* the run goes on without it */
};

/* The words of `revision`. */
enum th_agent_mcp_revision {
	TH_MCP_REVISION_ANY,
	TH_MCP_REVISION_IS_2026,
	TH_MCP_REVISION_IS_2025
};

/* Whether the server may ask the session's model: the words of `sampling`. */
enum th_agent_mcp_sampling { TH_MCP_SAMPLING_OFF, TH_MCP_SAMPLING_ASK, TH_MCP_SAMPLING_ALLOW };

extern const struct th_table th_agent_mcp_table;

/* What the table cannot say.  TH_EUSAGE: `path` says where ("mcp_servers[1].name") and err what
 * ("must be …"). */
TH_NODISCARD enum th_code th_agent_mcp_check(const struct th_objects *servers, struct th_buf *path,
					     struct th_err *err);
/* The one of that name, or NULL. */
const struct th_agent_mcp *th_agent_mcp_find(const struct th_objects *servers, struct th_str name);
/* Whether a tool of that name may be a server's: it begins with the prefix of one. */
bool th_agent_mcp_may_have(const struct th_objects *servers, struct th_str tool);

/* One tool as the event has it. */
#define TH_FIELDS_mcp_tool(F)                                                               \
	F(mcp_tool, str, name, "name", TH_REQ | TH_NONEMPTY, "name that the model calls")   \
	F(mcp_tool, str, tool, "tool", TH_REQ | TH_NONEMPTY, "the server's own name of it") \
	F(mcp_tool, str, description, "description", 0, "description for the model")        \
	F(mcp_tool, raw, parameters, "parameters", TH_REQ, "JSON Schema of its arguments")  \
	F(mcp_tool, str, class, "class", TH_REQ, "effect class of its calls")               \
	F(mcp_tool, bool, ask, "ask", 0, "a person must approve each call")                 \
	F(mcp_tool, bool, as_task, "as_task", 0, "the server does its calls as tasks")
TH_STRUCT(mcp_tool)
extern const struct th_table th_mcp_tool_table;

struct th_mcp_choice {
	const struct th_agent_mcp *server;
	size_t room; /* how many tools the agent may still get */
	/* Is that the name of another of its tools? */
	bool (*taken)(void *ctx, struct th_str name);
	void *ctx;
};
/*
 * `list`: elements of the server's list, JSON; `offered`: of what it offers beside tools
 * (wire/mcp_offer.h), whose names begin with "@", as no other's may.  Appends the members of an
 * event: `tools` gets a list of th_mcp_tool; `left_out` a list of {"tool", "why"}, of at most
 * TH_MCP_LEFT_OUT_MAX; *ret_more counts those behind them.  What the agent file denies
 * is not left out: it is as if it were not there.
 */
TH_NODISCARD enum th_code th_mcp_tools_choose(const struct th_mcp_choice *c, struct th_str list,
					      struct th_str offered, struct th_buf *tools,
					      struct th_buf *left_out, int64_t *ret_more,
					      struct th_err *err);
/* What a server says of its use, fit for a prompt: at most TH_MCP_INSTRUCTIONS_MAX bytes. */
void th_mcp_instructions_clean(struct th_str said, struct th_buf *out);
/* The part of an agent's instructions that has them: whose words they are, and each line marked, so
 * that none of them looks like ours. */
void th_mcp_instructions_put(struct th_str server, struct th_str said, struct th_buf *out);

#endif
