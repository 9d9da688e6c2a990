/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reaper.h - a small process beside every executor that does one thing: when
 * the executor is gone, however it went, it kills what is left of its commands.
 *
 * The kernel does that already by PID namespaces that die with their parent,
 * but for one gap: bubblewrap asks for it in the namespace's first process a
 * moment after the command has begun.  An executor that is killed within that
 * moment would leave a whole namespace behind for ever.
 *
 * What is meant is told by a random entry in the environment of every command
 * of one executor, never by name.
 */
#ifndef TH_EXECUTOR_REAPER_H
#define TH_EXECUTOR_REAPER_H

#include "base/err.h"

#define TH_REAPER_ENTRY_SIZE 48 /* "THOLE_EXECUTOR=" and 32 hex digits */

/* Makes up the entry and starts the process; *ret_fd is what it watches. */
TH_NODISCARD enum th_code th_reaper_start(char entry[static TH_REAPER_ENTRY_SIZE], int *ret_fd,
					  struct th_err *err);
/* Lets it do its work now and waits until it has (-1 is fine).  Closes the descriptor. */
void th_reaper_stop(int *fd);

/* The process itself. */
int th_reaper_main(int fd, const char *entry);

#endif
