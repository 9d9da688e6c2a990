/* SPDX-License-Identifier: Apache-2.0 */
/* s3_internal.h - what s3.c and s3_keys.c share. */
#ifndef TH_STORE_S3_INTERNAL_H
#define TH_STORE_S3_INTERNAL_H

#include "base/secret.h"
#include "store/s3.h"

struct th_s3_keys {
	struct th_secret *id, *secret, *token; /* token NULL: none */
};

/* Replaces what is there.  TH_EPERM: there is none, or others may read its file; TH_EUSAGE. */
TH_NODISCARD enum th_code th_s3_keys_load(struct th_s3_keys *k, struct th_err *err);
void th_s3_keys_drop(struct th_s3_keys *k);

#endif
