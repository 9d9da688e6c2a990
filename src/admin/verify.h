/* SPDX-License-Identifier: Apache-2.0 */
/* verify.h - checks a whole store, or one session of it. */
#ifndef TH_ADMIN_VERIFY_H
#define TH_ADMIN_VERIFY_H

#include "store/store.h"

/* store->verify, then every sessions row against a refold of its log. */
TH_NODISCARD enum th_code th_store_check(struct th_store *store, struct th_str session_id,
					 struct th_verify_report *ret, struct th_err *err);

#endif
