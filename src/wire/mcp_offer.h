/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_offer.h - what a server offers beside tools, as tools that only look:
 * resources, prompts, and completion of their arguments.
 *
 * Their own names begin with "@", which no tool of a server may, so that they
 * cannot be taken for one of its own.  A model's arguments are the parameters of
 * the request; its result is brought into the form of a tool's.
 */
#ifndef TH_WIRE_MCP_OFFER_H
#define TH_WIRE_MCP_OFFER_H

#include "base/err.h"
#include "base/json.h"

/* What a server says of itself at the beginning; bits. */
enum th_mcp_ability {
	TH_MCP_RESOURCES = 1,
	TH_MCP_PROMPTS = 2,
	TH_MCP_TASKS = 4,
	TH_MCP_COMPLETIONS = 8,
	TH_MCP_LOGGING = 16
};

struct th_mcp_offer {
	const char *name; /* "@read_resource" */
	enum th_mcp_ability ability;
	const char *method;
	const char *member; /* of the result: a list */
	const char *description, *schema;
};

const struct th_mcp_offer *th_mcp_offer_find(struct th_str name); /* NULL: it is none */
/* The elements of a list of tools, for a server with these abilities. */
void th_mcp_offers_put(unsigned abilities, struct th_jw *w);
/* A result of its method as one of tools/call.  TH_EPROTO: it is none. */
TH_NODISCARD enum th_code th_mcp_offer_result(const struct th_mcp_offer *o, struct th_str result,
					      struct th_buf *out, struct th_err *err);

#endif
