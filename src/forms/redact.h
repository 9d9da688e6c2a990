/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redact.h - what comes from elsewhere, without what its names say is secret.
 *
 * Settings and states of other programs may hold keys.  A member whose name says so loses
 * its value before it is kept.  This knows names only; values that are known are masked by others.
 */
#ifndef TH_FORMS_REDACT_H
#define TH_FORMS_REDACT_H

#include "base/arena.h"
#include "base/json.h"

#define TH_REDACTED "<redacted>"

/* The value, with TH_REDACTED for what a member has whose name holds authorization, cookie,
 * credential, key, password, secret, session or token, and for all that is in env, environment
 * and headers. */
void th_redact(const struct th_json *v, struct th_jw *w);

/*
 * The lines that OpenHands' shell prints with each prompt:
 *
 *	###PS1JSON###
 *	{"pid": …, "exit_code": …, "working_dir": …}
 *	###PS1END###
 *
 * They stand in results where a command was cut off.  th_ps1_next finds the next whole one
 * that is JSON; an opening line without its end is none.
 */
struct th_ps1 {
	size_t from, to; /* of the block in the text */
	struct th_str json;
};
bool th_ps1_next(struct th_str text, size_t from, struct th_ps1 *ret);
/* What it says: numbers may be texts there; what is none is -1.  Texts are absent, or in the arena.
 */
struct th_ps1_facts {
	int64_t exit_code, pid;
	struct th_str username, hostname, working_dir, interpreter, prefix, suffix;
};
void th_ps1_read(const struct th_ps1 *block, struct th_arena *a, struct th_ps1_facts *ret);
/* The text without such blocks; what the last one says of the exit code follows, on a line. */
void th_ps1_strip(struct th_str text, struct th_buf *out);

#endif
