/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crash.h - a child that is killed at a moment of our choice: at the nth stop
 * of its system calls, or after so many milliseconds.  For `thole demo crash`.
 *
 * One thread starts and runs a child; it is killed with that thread.  Where the
 * machine does not allow a process to trace its own child, counting stops is
 * not to be had, and time is all there is.
 */
#ifndef TH_IO_CRASH_H
#define TH_IO_CRASH_H

#include <sys/types.h>

#include "base/err.h"

struct th_crash_spec {
	const char *program;     /* absolute */
	const char *const *argv; /* NULL-terminated; the environment is ours */
	int pass_fd, as_fd;      /* one descriptor for it; as_fd 0: none */
	bool trace;              /* stops are counted, of all its threads, not of what it starts */
};

struct th_crash {
	pid_t pid; /* 0: none, or over */
	bool trace;
};

struct th_crash_limits {
	uint64_t stops, ms; /* 0: none */
	/* Called when the moment has come, while a traced child stands still; then it is killed. */
	void (*before_kill)(void *ctx);
	void *ctx;
};

struct th_crash_end {
	bool killed;    /* by us */
	int exit_code;  /* else; 128 + the signal that ended it */
	uint64_t stops; /* seen */
};

/* May a process here trace its child? */
bool th_crash_can_trace(void);
TH_NODISCARD enum th_code th_crash_start(const struct th_crash_spec *spec, struct th_crash *ret,
					 struct th_err *err);
/* Waits for its end, ours or its own. */
TH_NODISCARD enum th_code th_crash_run(struct th_crash *c, const struct th_crash_limits *limits,
				       struct th_crash_end *ret, struct th_err *err);
void th_crash_kill(struct th_crash *c); /* SIGKILL, and waits; one that is over is fine */

#endif
