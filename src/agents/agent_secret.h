/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_secret.h - secrets that an agent may use and never sees: which, where
 * their values come from, and where they may go.
 *
 *	secrets:
 *	  GITHUB_TOKEN: {hosts: [api.github.com]}
 *	  MAPS: {env: MAPS_KEY, hosts: ["*.maps.example"], headers: [x-api-key]}
 *	  STORE: {file: /home/me/store.key, hosts: ["store.example:8443"]}
 *	  DEPLOY: {give: true}
 *	  SHORT: {give: true, from: {command: [pass, show, short], refresh_s: 600}}
 *
 * The agent's programs find a placeholder in the variable of that name.  Where
 * it stands in one of the headers of a request over TLS to one of the hosts, the
 * egress puts the value in its place.  `give`: a command that names the variable
 * gets the value itself, as in OpenHands, and so do programs that are tools, hooks or servers,
 *where the file says so.  `from`: the value is asked for when it is needed, of a server or a
 *program (runtime/lookups.h).  Pure; values are never here.
 */
#ifndef TH_AGENTS_AGENT_SECRET_H
#define TH_AGENTS_AGENT_SECRET_H

#include "base/field.h"
#include "rules/net_rule.h"

/* Who is asked for a value. */
struct th_secret_source {
	struct th_str url;          /* http:// or https://, by a GET; or */
	struct th_strs command;     /* argv */
	struct th_str token_env;    /* of url: the runtime's variable that has its token */
	struct th_str token_header; /* of url: where that stands; empty: authorization, as bearer */
	struct th_strs pass;        /* of command: the runtime's variables that it gets */
	struct th_strs member;      /* the answer is JSON, and these lead to the value; empty: it is
				       the value */
	int64_t refresh_s;          /* asked again after that; 0: once */
	int64_t timeout_s;          /* never 0 */
};

struct th_agent_secret {
	struct th_str name; /* of the variable, and of the secret */
	struct th_str env;  /* the runtime's variable that has the value; empty: `file` or `from` */
	struct th_str file; /* absolute */
	const struct th_secret_source *from; /* NULL: one of those two */
	struct th_str hosts;                 /* raw list, th_net_parse */
	struct th_strs headers;              /* lower case; never empty */
	bool give;              /* to commands that name it, and then it has no hosts */
	struct th_strs tools;   /* give: and to these programs that are tools */
	struct th_strs servers; /* give: and to these servers of tools (MCP) that are programs */
	bool hooks;             /* give: and to hooks whose line names it */
};

struct th_agent_secrets {
	struct th_agent_secret *list;
	size_t count;
};

/* `raw`: the JSON object of the agent file; empty: none.  TH_EUSAGE: `path` says where
 * ("NAME.hosts") and err what. */
TH_NODISCARD enum th_code th_agent_secrets_read(struct th_str raw, struct th_arena *a,
						struct th_agent_secrets *ret, struct th_buf *path,
						struct th_err *err);

/* Who else gets a value, beside commands. */
enum th_secret_taker { TH_SECRET_TO_TOOL, TH_SECRET_TO_SERVER, TH_SECRET_TO_HOOK };
/* A member `secrets` with the names of those that it gets, if there are any: `taker` is the name of
 * a tool or of a server, or a hook's line. */
void th_agent_secrets_name(struct th_str raw, enum th_secret_taker kind, struct th_str taker,
			   struct th_jw *w);

/* Letters, digits and _, as a variable's; at most TH_SECRET_NAME_MAX. */
bool th_secret_name_ok(struct th_str name);
/* The name of a header that may hold one: of no other use to a request, at most TH_SECRET_NAME_MAX.
 */
bool th_secret_header_ok(struct th_str name);
/* A value as it was read: its end of line goes.  TH_EUSAGE: it is too short or too long to be
 * masked, or no header may have it. */
TH_NODISCARD enum th_code th_secret_trim(struct th_buf *value, struct th_err *err);
/* Does a command name the variable?  As a whole word, in either case. */
bool th_secret_named(struct th_str command, struct th_str name);

#endif
