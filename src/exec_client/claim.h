/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claim.h - being the only executor of a session: two locks on a file
 * of its folder.
 *
 * The start lock is held while an executor begins; the life lock until it has
 * ended.  The kernel drops both when the process dies, so a claim never goes
 * stale.  The file's text is the socket's path and the token that clients need.
 */
#ifndef TH_EXEC_CLIENT_CLAIM_H
#define TH_EXEC_CLIENT_CLAIM_H

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"

struct th_executor_claim {
	const char *state_dir; /* borrowed */
	int state_fd, lock_fd; /* -1 before; the caller closes them */
};

/*
 * TH_OK with `other` empty: both locks are held, and what a killed executor left
 * outside its folder was removed, but for what stays of its computer (TH_COMPUTER_STAYS).  With a
 * path in `other`: another executor runs and listens there.  Waits for one that is about to end.
 */
TH_NODISCARD enum th_code th_executor_claim(struct th_executor_claim *x, struct th_buf *other,
					    struct th_err *err);
void th_executor_claim_started(const struct th_executor_claim *x); /* drops the start lock */

/*
 * Removes all that an executor that does not run any more left behind; TH_OK when
 * there is nothing.  Waits for one that is about to end.  TH_EBUSY: one runs and
 * listens.  Blocks; for a worker.
 */
TH_NODISCARD enum th_code th_executor_remove(const char *state_dir, struct th_err *err);

/* The temporary folder of commands, where it can be neither /tmp nor in the state folder. */
bool th_executor_visible_tmp(const char *state_dir, char path[static TH_PATH_LEN_MAX]);

#endif
