/* SPDX-License-Identifier: Apache-2.0 */
/*
 * executor.h - the process that acts for one session: it owns commands, their
 * children, the desktop, and a journal of what it accepted and how that ended.
 *
 * It outlives the runtime that started it.  It never decides what may be done
 * (the core did), holds no key of a model, and speaks to nobody but processes of
 * its own user over its socket.  The secrets of an agent file it has in memory, to
 * mask them (secrets.c).  Who starts and finds it: exec_client/client.h.
 *
 * There is one per session: byte 0 of the lock file in its state folder is
 * held while one starts, byte 1 for its life; the file says its socket and,
 * on a second line, a random token.  Whoever finds byte 1 taken hands out the
 * other's socket.  Every hello must have the token: commands, which may run as
 * the same user, cannot read it.
 *
 * It ends when nobody was connected for linger_ms and nothing runs (journal
 * and spool stay when an outcome in them was not taken over), or at once when
 * told `end` (nothing stays).
 */
#ifndef TH_EXECUTOR_EXECUTOR_H
#define TH_EXECUTOR_EXECUTOR_H

#include "wire/exec.h"

/* `thole exec --fd N`: an executor whose start message comes over that socket; `thole exec --role
 * display`: see display.h.  Only for a process that was started in that role (io/role.h).  Returns
 * the exit status. */
int th_exec_role(int argc, char **argv);

#endif
