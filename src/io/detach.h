/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detach.h - starting a process that is nobody's child: it lives on when we
 * end, and we never wait for it.
 */
#ifndef TH_IO_DETACH_H
#define TH_IO_DETACH_H

#include "base/err.h"
#include "io/child.h"

/*
 * In a session of its own, in the folder /, with exactly this environment and
 * these descriptors (0 to 2 are /dev/null unless named; theirs below 64).  A
 * program that cannot be executed is an error here.  Waits the moment that
 * fork and exec take.  *ret_pidfd (may be NULL) names the process; -1: the
 * kernel gives none.
 */
TH_NODISCARD enum th_code th_detach(const char *program, const char *const *argv,
				    const char *const *env, const struct th_child_fd *fds,
				    size_t fd_count, int *ret_pidfd, struct th_err *err);

/*
 * Our own program, to be started again: "/proc/self/exe", which is good under
 * every view of the file system; or its name where that leads elsewhere, as
 * under tools that run us (valgrind).  `path` has room for TH_PATH_LEN_MAX bytes.
 */
const char *th_program_self(char *path);

#endif
