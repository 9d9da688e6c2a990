/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shares.h - users that a full server refused, who come before those that have more of it.
 *
 * A slot that is free again would be taken by whoever asks most often.  So for a while after a
 * refusal it is the refused user's: one who has more sessions here is refused meanwhile.  Priority
 * comes before that, and is raised for who is refused for long (base/priority.h).
 */
#ifndef TH_SERVER_SHARES_H
#define TH_SERVER_SHARES_H

#include "base/limits.h"
#include "base/priority.h"

struct th_share {
	char user[TH_USER_MAX + 1];
	enum th_priority priority;
	uint64_t since_ms, until_ms; /* of the first refusal in a row; so long it counts */
};

/* All 0 at first.  One for each user: who asks often has no more of it. */
struct th_shares {
	struct th_share list[TH_ADMISSION_USERS_MAX];
	size_t count;
};

/* How many sessions of the user run here. */
typedef size_t th_shares_fn(void *ctx, const char *user);

/* Refused now.  Where too many were, the one whose time is over first is forgotten. */
void th_shares_refuse(struct th_shares *s, const char *user, enum th_priority p, uint64_t now_ms);
void th_shares_forget(struct th_shares *s, const char *user); /* there was room */
/* How many users come before this one, should he ask for that priority. */
size_t th_shares_before(struct th_shares *s, const char *user, enum th_priority p, uint64_t now_ms,
			th_shares_fn *running, void *ctx);

#endif
