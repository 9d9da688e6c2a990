/* SPDX-License-Identifier: Apache-2.0 */
/*
 * processes.h - how many processes a command may have, in the terms of RLIMIT_NPROC.
 *
 * The kernel counts threads, and counts all that a user has in a user namespace: a command
 * with a namespace of its own is counted alone, any other together with all of its user,
 * other sessions' commands and this process among them.
 */
#ifndef TH_IO_PROCESSES_H
#define TH_IO_PROCESSES_H

#include "base/base.h"

/* For a command that is counted alone: so many, or fewer where this process has a lower limit. */
uint64_t th_processes_alone(uint64_t count);

/*
 * For one that is not: so many more than the machine has now, or fewer as above.  That is above
 * what the user has, however much that is; the user's own number cannot be asked for.  0: no
 * limit, for the machine does not say how many it has.
 */
uint64_t th_processes_beside(uint64_t count);

#endif
