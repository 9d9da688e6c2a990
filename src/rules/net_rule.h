/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_rule.h - the network of an agent: none, the host's, or a list of what it
 * may reach.
 *
 *	net: none
 *	net: host
 *	net: [files.example, "*.github.com:443", "GET deb.example.net/debian/pool*",
 *"10.0.0.5:5432"]
 *
 * An entry is [METHOD ]HOST[:PORT][/PATH].  HOST is a name, *.NAME (what is
 * below the name), * (any) or an address; PORT a number or *, and without one
 * 80 and 443.  An entry with a method or a path is about plain HTTP alone, for
 * nobody sees these of an encrypted connection.
 *
 * Who dials resolves the name.  An address that is not public is reached only
 * where an entry is that very address: th_net_lists_address.
 *
 * Pure.  What cannot be decided for certain does not match.
 */
#ifndef TH_RULES_NET_RULE_H
#define TH_RULES_NET_RULE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum th_net_kind { TH_NET_NONE, TH_NET_HOST, TH_NET_LIST };

#define TH_NET_HOST_MAX 253 /* of a name in DNS */

struct th_net_rule {
	struct th_str host;   /* lower case; an address as the system prints it, without brackets */
	bool any, below;      /* the host is *; only names below it are meant */
	bool address;         /* it is an address */
	int32_t port;         /* TH_NET_PORT_WEB, TH_NET_PORT_ANY, or one */
	struct th_str method; /* empty: any */
	struct th_str path;   /* pattern, with its first slash; empty: any */
};

#define TH_NET_PORT_WEB 0
#define TH_NET_PORT_ANY (-1)

struct th_net_policy {
	enum th_net_kind kind;
	const struct th_net_rule *rules;
	size_t count;
};

/*
 * `raw`: JSON; empty: none.  All is in the arena.  TH_EUSAGE: `err` says what
 * is wrong, and *ret_at (may be NULL) at which entry; SIZE_MAX: as a whole.
 */
TH_NODISCARD enum th_code th_net_parse(struct th_str raw, struct th_arena *a,
				       struct th_net_policy *ret, size_t *ret_at,
				       struct th_err *err);

/* "none", "host" or "HOST,HOST" of a command line, as JSON. */
void th_net_of_words(struct th_str words, struct th_buf *json);

/* Only the kind; what cannot be parsed is none. */
enum th_net_kind th_net_kind_of(struct th_str raw);

/*
 * A host as it is matched: lower case, without the dot at its end and without
 * brackets.  False: it is neither a name nor an address.  A number that only some
 * programs read as an address (0x7f.1, 2130706433) is neither.
 */
bool th_net_host(struct th_str text, char ret[static TH_NET_HOST_MAX + 1], bool *ret_address);

/* What somebody wants to reach. */
struct th_net_target {
	struct th_str host; /* as th_net_host has it; an address as the system prints it */
	bool address;
	uint16_t port;
	struct th_str method, path; /* of plain HTTP; empty: a tunnel, in which nobody looks */
};

/* The first entry that allows it, or NULL. */
const struct th_net_rule *th_net_match(const struct th_net_policy *p,
				       const struct th_net_target *target);

/* An entry has this host and port, be it for other requests only: the list has decided about it. */
bool th_net_names(const struct th_net_policy *p, const struct th_net_target *target);

/* Is this very address, as the system prints it, on the list with that port? */
bool th_net_lists_address(const struct th_net_policy *p, struct th_str address, uint16_t port);

#endif
