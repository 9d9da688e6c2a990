/* SPDX-License-Identifier: Apache-2.0 */
/*
 * owner.h - who holds sessions, provably alive: each open store that writes
 * has a file of its own, locked for as long as its process lives.  The kernel
 * drops the lock with the process, whatever ends it, and across PID namespaces.
 *
 * Files of the dead are removed by whoever can take their lock.  Blocking, but
 * short.
 */
#ifndef TH_SQLITE_OWNER_H
#define TH_SQLITE_OWNER_H

#include "base/codec.h"
#include "base/err.h"

struct th_owner {
	int fd; /* -1: not taken */
	char name[TH_UUID_TEXT_SIZE + 1];
};

#define TH_OWNER_INIT    \
	{                \
		.fd = -1 \
	}

/* Makes the folder and our file in it, locked, and sweeps out the dead.  Nothing when taken
 * already. */
TH_NODISCARD enum th_code th_owner_take(struct th_owner *o, const char *folder, struct th_err *err);
/* Removes our file, which frees all it holds. */
void th_owner_drop(struct th_owner *o, const char *folder);

/* TH_OK: `name` is dead, or never was.  TH_EBUSY: it lives; the sentence says which process it is.
 * What cannot be found out counts as living. */
TH_NODISCARD enum th_code th_owner_check(const char *folder, struct th_str name,
					 struct th_err *err);

#endif
