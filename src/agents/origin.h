/* SPDX-License-Identifier: Apache-2.0 */
/*
 * origin.h - where the bytes of an outcome come from, and what an agent asks a
 * person about once bytes that nobody vouches for are in its context.
 *
 *	untrusted: rule_of_two
 *	untrusted: {origins: [web, mcp, tool], ask: [outside]}
 *
 * An origin is a label on the outcome in the log.  The fold remembers the first
 * outcome with one that the policy names; no condensation takes it back, and a
 * fork has it where its prefix does.
 */
#ifndef TH_AGENTS_ORIGIN_H
#define TH_AGENTS_ORIGIN_H

#include "base/buf.h"
#include "base/err.h"

/* id, name */
#define TH_ORIGINS(X)                                                         \
	X(WEB, "web")             /* somebody else's: a connection, a page */ \
	X(MCP, "mcp")             /* a server of tools */                     \
	X(TOOL, "tool")           /* a function or program of the agent's */  \
	X(WORKSPACE, "workspace") /* files, and what commands make of them */ \
	X(PERSON, "person")       /* an answer */
#define X(id, name) TH_ORIGIN_##id,
enum th_origin { TH_ORIGINS(X) TH_ORIGIN_COUNT };
#undef X
#define TH_ORIGIN_BIT(origin) (1u << (origin))

const char *th_origin_name(enum th_origin o);
int th_origin_find(struct th_str name); /* or -1 */

/* What is asked about then. */
#define TH_GUARDED(X)                                                                        \
	X(IRREVERSIBLE, "irreversible") /* class X, also where it was approved for good */   \
	X(HOST, "host")                 /* a host that the session has not reached before */ \
	X(OUTSIDE, "outside")           /* a change of what is neither workspace nor screen */
#define X(id, name) TH_GUARDED_##id,
enum th_guarded { TH_GUARDED(X) TH_GUARDED_COUNT };
#undef X
#define TH_GUARDED_BIT(guarded) (1u << (guarded))

struct th_untrusted {
	unsigned origins; /* bits; 0: there is no policy */
	unsigned ask;     /* bits */
};

#define TH_RULE_OF_TWO "rule_of_two" /* of web and mcp, all three */

/* `raw`: JSON of an agent file; empty: no policy.  TH_EUSAGE: `path` says where, err what. */
TH_NODISCARD enum th_code th_untrusted_read(struct th_str raw, struct th_untrusted *ret,
					    struct th_buf *path, struct th_err *err);

/* Untrusted bytes that are in the context. */
struct th_tainted {
	enum th_origin origin;
	uint64_t seq; /* of the first such outcome, in its session */
	unsigned ask; /* of the policy */
};

#endif
