/* SPDX-License-Identifier: Apache-2.0 */
/*
 * role.h - our own program, started again in a role: executor, display
 * process, egress, reaper, first process of a desktop.
 *
 * Whoever starts a role puts THOLE_ROLE=NAME into the environment of the new
 * process.  A main() that knows the role takes it, which removes the entry.  A
 * process that still has the entry is some other program that was started by
 * mistake: it may start nothing of ours.  So a program that ignores its
 * arguments cannot start itself again and again.
 */
#ifndef TH_IO_ROLE_H
#define TH_IO_ROLE_H

#include "base/err.h"

#define TH_ROLE_VARIABLE "THOLE_ROLE"
#define TH_ROLE_ENTRY(name) TH_ROLE_VARIABLE "=" name

#define TH_ROLE_EXECUTOR "executor"
#define TH_ROLE_DISPLAY "display"
#define TH_ROLE_REAPER "reaper"
#define TH_ROLE_EGRESS "egress"
#define TH_ROLE_DESKTOP "desktop"
#define TH_ROLE_FETCH "fetch"

/* Says that this program's main() looks for roles before it does anything else. */
void th_role_known(void);

/* From here on this process acts in that role.  TH_EUSAGE: it was not started in it. */
TH_NODISCARD enum th_code th_role_take(const char *role, struct th_err *err);

/* To be asked before any process of ours is started.  TH_EUSAGE: this process was started in a
 * role that it has not taken. */
TH_NODISCARD enum th_code th_role_check(struct th_err *err);

/* This program, to be started in a role (th_program_self); `path` has room for TH_PATH_LEN_MAX
 * bytes.  TH_EUSAGE: its main() knows no roles, or th_role_check fails. */
TH_NODISCARD enum th_code th_role_program(char *path, const char **ret, struct th_err *err);

/* The same as a descriptor (O_PATH, close-on-exec), for a process that does not see its folder: it
 * is started as /proc/self/fd/N. */
TH_NODISCARD enum th_code th_role_open(int *ret_fd, struct th_err *err);

#endif
