/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child_start.h - from a description to a running process, for child.c and
 * detach.c; nobody else includes this.
 */
#ifndef TH_IO_CHILD_START_H
#define TH_IO_CHILD_START_H

#include "io/child.h"

struct th_start {
	pid_t pid;
	int out[2], in, status; /* our ends of the pipes, -1: none */
};

/* `procs_fd`: the cgroup to join, or -1.  `marker`: one more environment entry, "" for none. */
TH_NODISCARD enum th_code th_start_child(const struct th_child_spec *spec, int procs_fd,
					 const char *marker, struct th_start *ret,
					 struct th_err *err);
void th_start_deinit(struct th_start *s); /* closes what was not taken (set to -1) */

/* In a process that was just forked: all signals as a new program finds them. */
void th_start_reset_signals(void);

bool th_plan_namespaced(const struct th_sandbox_plan *p);

/* Kills every process but `except` that has `marker` in its environment; how many were found. */
size_t th_adopted_kill(const char *marker, pid_t except);
/* Reaps children of ours that ended and that nobody else waits for; how many are still ending. */
size_t th_adopted_reap(bool (*is_known)(pid_t pid));

#endif
