/* SPDX-License-Identifier: Apache-2.0 */
/* claim.h - being the only egress process of a user, and finding it. */
#ifndef TH_EGRESS_CLAIM_H
#define TH_EGRESS_CLAIM_H

#include "base/buf.h"
#include "base/limits.h"

#define TH_EGRESS_TOKEN_LEN 32 /* hex digits */

struct th_egress_claim {
	int dir_fd, lock_fd; /* -1 before; the caller closes them */
	char dir[TH_PATH_LEN_MAX], socket[TH_PATH_LEN_MAX];
	char token[TH_EGRESS_TOKEN_LEN + 1];
};

/* TH_EBUSY: another one runs. */
TH_NODISCARD enum th_code th_egress_claim(struct th_egress_claim *c, struct th_err *err);

/* Where the one that runs listens, and its token.  TH_ENOENT: none has ever run. */
TH_NODISCARD enum th_code th_egress_find(char socket[static TH_PATH_LEN_MAX],
					 char token[static TH_EGRESS_TOKEN_LEN + 1],
					 struct th_err *err);

#endif
