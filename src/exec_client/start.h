/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start.h - where a session's executor is found, and how one is
 * started; for client.c.
 */
#ifndef TH_EXEC_CLIENT_START_H
#define TH_EXEC_CLIENT_START_H

#include "exec_client/client.h"

/* Folder of journal and spool, and socket; NUL-terminated in their buffers. */
TH_NODISCARD enum th_code th_executor_paths(struct th_str scope, struct th_str session,
					    struct th_buf *state_dir, struct th_buf *socket,
					    struct th_err *err);

/* Starts the process.  Over *ret_fd (ours) it says that it is an executor; then it wants
 * th_executor_start_message and answers ready or error.  *ret_pidfd: to end it; may be -1. */
TH_NODISCARD enum th_code th_executor_spawn(const char *program, struct th_str session, int *ret_fd,
					    int *ret_pidfd, struct th_err *err);

/* Where the executor of that folder listens, and the token that a hello needs, as its lock file
 * says; both stay empty when there is none to be read, and either may be NULL. */
void th_executor_announced(const char *state_dir, struct th_buf *socket, struct th_buf *token);

/* exec_computer_start of the options, or nothing when they name no computer. */
void th_executor_computer(const struct th_executor_options *o, struct th_buf *out);
void th_executor_start_message(const struct th_executor_options *o, const char *state_dir,
			       const char *socket, struct th_buf *out);

#endif
