/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secrets.h - what the egress knows of a session's secrets: placeholders,
 * values, and where these may go.
 */
#ifndef TH_EGRESS_SECRETS_H
#define TH_EGRESS_SECRETS_H

#include "base/field.h"
#include "base/mask.h"
#include "io/ca.h"
#include "rules/net_rule.h"

struct th_egress_secret {
	struct th_str name, placeholder;
	struct th_secret *value;
	struct th_net_policy hosts;
	struct th_strs headers;
};

struct th_egress_secrets {
	struct th_egress_secret *list;
	size_t count;
	struct th_mask *mask; /* of all values */
	struct th_ca *ca;
	struct th_tls_config *client; /* for real servers: the system's roots */
	struct th_arena arena;
};

/* `raw`: list of exec_secret (wire/exec.h), JSON; `ca`: th_ca_export.  Both are wiped by the
 * caller. */
TH_NODISCARD enum th_code th_egress_secrets_read(struct th_str raw, struct th_str ca,
						 struct th_egress_secrets **ret,
						 struct th_err *err);
/* Other values of the same ones; those of other names are passed over. */
TH_NODISCARD enum th_code th_egress_secrets_renew(struct th_egress_secrets *s, struct th_str raw,
						  struct th_err *err);
struct th_egress_secrets *th_egress_secrets_free(struct th_egress_secrets *s);

/* Does any secret go to that host? */
bool th_egress_secrets_for(const struct th_egress_secrets *s, struct th_str host, bool address,
			   uint16_t port);

/* A header's value with the values in place of the placeholders that may stand there, also inside
 * the base64 of "Basic …". */
void th_egress_secrets_fill(const struct th_egress_secrets *s, struct th_str host, bool address,
			    uint16_t port, struct th_str header, struct th_str value,
			    struct th_buf *out);

#endif
