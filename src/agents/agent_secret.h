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
 *
 * The agent's programs find a placeholder in the variable of that name.  Where
 * it stands in one of the headers of a request over TLS to one of the hosts, the
 * egress puts the value in its place.  `give`: a command that names the variable
 * gets the value itself, as in OpenHands.  Pure; values are never here.
 */
#ifndef TH_AGENTS_AGENT_SECRET_H
#define TH_AGENTS_AGENT_SECRET_H

#include "base/field.h"
#include "rules/net_rule.h"

struct th_agent_secret {
	struct th_str name;  /* of the variable, and of the secret */
	struct th_str env;   /* the runtime's variable that has the value; empty: `file` has it */
	struct th_str file;  /* absolute */
	struct th_str hosts; /* raw list, th_net_parse */
	struct th_strs headers; /* lower case; never empty */
	bool give;              /* to commands that name it, and then it has no hosts */
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

/* Letters, digits and _, as a variable's; at most TH_SECRET_NAME_MAX. */
bool th_secret_name_ok(struct th_str name);
/* Does a command name the variable?  As a whole word, in either case. */
bool th_secret_named(struct th_str command, struct th_str name);

#endif
