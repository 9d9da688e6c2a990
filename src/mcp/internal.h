/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal.h - a server and the way to it, for the files of src/mcp/ alone.
 */
#ifndef TH_MCP_INTERNAL_H
#define TH_MCP_INTERNAL_H

#include "base/hash.h"
#include "io/loop.h"
#include "mcp/process.h"

enum th_mcp_stage {
	TH_MCP_STOPPED, /* a work may wait for the delay */
	TH_MCP_STARTING,
	TH_MCP_READY,
	TH_MCP_DOOMED /* it is being ended */
};

/* How messages get to a server and back: a child's standard input and output, or HTTP. */
struct th_mcp_transport {
	/* Fills p->channel, in p's memory.  TH_EUSAGE: the spec. */
	enum th_code (*init)(struct th_mcp_process *p, const struct th_mcp_process_spec *spec,
			     struct th_err *err);
	enum th_code (*start)(struct th_mcp_process *p, struct th_err *err);
	void (*send)(struct th_mcp_process *p, struct th_str message);
	void (*opened)(struct th_mcp_process *p); /* it speaks; may be NULL */
	/* Nobody waits for that request any more, and the server is told. */
	void (*cancelled)(struct th_mcp_process *p, uint64_t id); /* may be NULL */
	/* Ends it: th_mcp_process_over follows, not from inside. */
	void (*stop)(struct th_mcp_process *p, const struct th_err *why);
	void (*free)(struct th_mcp_process *p);
};
extern const struct th_mcp_transport th_mcp_stdio, th_mcp_http;

struct th_mcp_process {
	struct th_mcp_process *next;
	struct th_tool_env *env;
	struct th_arena memory;
	struct th_str name;
	struct th_digest spec;
	int64_t start_ms;
	enum th_mcp_stage stage;
	struct th_mcp_client client;
	const struct th_mcp_transport *transport;
	void *channel;
	struct th_timer timer; /* of the delay, or of the start */
	struct th_mcp_work *works;
	struct th_mcp_work told; /* whose requests nobody waits for; it is none of these */
	uint64_t next_start_ms;
	uint64_t while_ms; /* when the while began in which messages that answer nothing count */
	int failures;
	bool answered; /* since it was started */
	bool changed;  /* its list of tools */
	bool spoke;    /* once, so that its era is known */
	enum th_mcp_era era_given;
};

/* ---- for transports ---- */

/* One message.  What cannot be read ends the server. */
void th_mcp_process_take(struct th_mcp_process *p, struct th_str message);
/* It is to end; th_mcp_process_over follows. */
void th_mcp_process_doom(struct th_mcp_process *p, const struct th_err *why);
/* It has ended. */
void th_mcp_process_over(struct th_mcp_process *p, const struct th_err *why);
/* It ended before it said anything to `server/discover`: true: it is started once more, as an older
 * one. */
bool th_mcp_process_older(struct th_mcp_process *p);

#endif
