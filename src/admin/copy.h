/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy.h - the sessions of one store into another, of any kind: events and rows
 * as they are, with the blobs that they name.  Every digest is computed again on
 * the way.
 *
 * What is there already is compared and left; a session of which only the
 * beginning is there goes on.  So a copy that was interrupted is begun again, and
 * one of a store that is in use is brought up to date.  What sessions used stays
 * behind (th_usage_of counts a session that comes in as begun).
 */
#ifndef TH_ADMIN_COPY_H
#define TH_ADMIN_COPY_H

#include "store/store.h"

struct th_copy_report {
	uint64_t sessions, events, blobs; /* copied; blobs: also some that were there */
	uint64_t there;                   /* sessions of which nothing was to be done */
};

/* EEXIST: a session of this name is there with another history; ECORRUPT: `from` is damaged. */
TH_NODISCARD enum th_code th_store_copy(struct th_store *from, struct th_store *to,
					struct th_copy_report *ret, struct th_err *err);

#endif
