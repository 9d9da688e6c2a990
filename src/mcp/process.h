/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.h - servers of tools (MCP) as children of the executor: started when the
 * first work needs them, in the sandbox of commands, and spoken to over their
 * standard input and output.
 *
 * A server lives until the executor ends, which the runtime's end does not change.
 * One that ends by itself is started again for the next work, not before a delay
 * that grows each time it ends without an answer.  What it prints beside the
 * protocol does no harm; the end of its standard error is told with its failure.
 */
#ifndef TH_MCP_PROCESS_H
#define TH_MCP_PROCESS_H

#include "tools/tool.h"
#include "wire/mcp_client.h"

struct th_mcp_process;
struct th_mcp_work;

/* Each work gets exactly one of the last three, unless it is taken back. */
struct th_mcp_work_ops {
	void (*begin)(struct th_mcp_work *w); /* the server is there: requests may be made */
	void (*progress)(struct th_mcp_work *w, struct th_str text);
	void (*answered)(struct th_mcp_work *w, struct th_str result);
	void (*failed)(struct th_mcp_work *w, const struct th_err *err);
	/* The server asks the person before it answers; NULL: nobody can be asked. */
	void (*asked)(struct th_mcp_work *w, const struct th_mcp_question *q);
	/* It could not be started, or has ended.  What was asked may have happened. */
	void (*lost)(struct th_mcp_work *w, const struct th_err *err);
};

struct th_mcp_work {
	struct th_mcp_work *next;
	const struct th_mcp_work_ops *ops;
	/* To stand in the head of its request, at an address. */
	const char **header_names;
	struct th_str *header_values;
	size_t header_count;
	bool begun;
	bool held;   /* it waits for a person's answer, and nobody for it: `lost` frees it */
	bool reads;  /* what it asks for only looks */
	bool unsent; /* lost: nothing of it reached the server */
};

struct th_mcp_transport; /* internal.h */

struct th_mcp_process_spec {
	const struct th_mcp_transport *transport;
	struct th_str name;
	struct th_strs argv, environment; /* a child; or */
	struct th_strs secrets;           /* names of those that a child gets (tools/given.h) */
	struct th_str url;                /* its address */
	struct th_strs headers;           /* "Name: value", beside the protocol's own */
	struct th_str token_env;          /* variable of ours with a token; empty: none */
	enum th_mcp_era era;              /* UNKNOWN: it is found out */
	bool samples;                     /* it may ask the model */
	int64_t start_ms;
};

/* The one of that spec, started or not.  TH_ELIMIT: there are too many; TH_EUSAGE: the spec. */
TH_NODISCARD enum th_code th_mcp_process_get(struct th_tool_env *env,
					     const struct th_mcp_process_spec *spec,
					     struct th_mcp_process **ret, struct th_err *err);
/* Before the loop goes: ends all, and says nothing to works. */
void th_mcp_processes_free(struct th_tool_env *env);

/* begin() comes, at once or later; or lost(). */
void th_mcp_process_add(struct th_mcp_process *p, struct th_mcp_work *w);
/* A work that begun: one request at a time.  An error: it was not sent. */
TH_NODISCARD enum th_code th_mcp_process_ask(struct th_mcp_process *p, struct th_mcp_work *w,
					     const char *method, struct th_str params,
					     struct th_err *err);
/* A request whose answer nobody needs. */
void th_mcp_process_tell(struct th_mcp_process *p, const char *method, struct th_str params);
/* Does not answer its question of the older era. */
void th_mcp_process_refuse(struct th_mcp_process *p, struct th_str id, struct th_str why);
/* Answers its question of the older era. */
void th_mcp_process_reply(struct th_mcp_process *p, struct th_str id, struct th_str result);
/* The work is over, or taken back: with a reason, which the server is told, while it is asked. */
void th_mcp_process_remove(struct th_mcp_process *p, struct th_mcp_work *w, const char *reason);

struct th_str th_mcp_process_name(const struct th_mcp_process *p);
const struct th_mcp_client *th_mcp_process_client(const struct th_mcp_process *p);
/* The server said that its list of tools is another one; `clear`: it is being read. */
bool th_mcp_process_changed(struct th_mcp_process *p, bool clear);

#endif
