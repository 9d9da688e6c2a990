/* SPDX-License-Identifier: Apache-2.0 */
/*
 * err.h - operating errors: a code for programs, a sentence for people.
 *
 * A function that can fail returns `enum th_code` and fills the caller's
 * `struct th_err`; callers prefix it on the way up ("open session a1: sqlite:
 * disk I/O error").  Programmer errors are assertions.  What a peer or a tool
 * did wrong is an event in the log, not an error.
 */
#ifndef TH_BASE_ERR_H
#define TH_BASE_ERR_H

#include "base/base.h"

/* clang-format off */
/* id, value, name, exit code of the command line (DESIGN.md section 8) */
#define TH_CODES(X)                                                            \
	X(OK, 0, "ok", 0)                                                      \
	X(EUSAGE, -1, "usage", 2)        /* the caller asked for nonsense */   \
	X(EPROTO, -2, "protocol", 1)     /* bytes or order that do not fit */  \
	X(ELIMIT, -3, "limit", 1)        /* a named maximum was passed */      \
	X(ENOMEM, -4, "memory", 1)                                             \
	X(EIO, -5, "io", 1)              /* the system refused; see message */ \
	X(ENOENT, -6, "not_found", 1)                                          \
	X(EEXIST, -7, "exists", 1)                                             \
	X(EBUSY, -8, "busy", 1)          /* held by somebody else */           \
	X(EPERM, -9, "denied", 1)                                              \
	X(ETIMEOUT, -10, "timeout", 1)                                         \
	X(ECANCELED, -11, "cancelled", 130)                                    \
	X(ECONN, -12, "connection", 1)   /* could not connect, or was cut */   \
	X(ECORRUPT, -13, "corrupt", 1)   /* stored data is not what we wrote */\
	X(EUNSUPPORTED, -14, "unsupported", 1)                                 \
	X(EFENCED, -15, "fenced", 1)     /* a newer owner holds the session */  \
	X(EDIVERGED, -16, "diverged", 1) /* the log goes another way than we would */ \
	X(EPLACE, -17, "place", 1)       /* another machine can: labels are missing here */ \
	X(ESETUP, -18, "setup", 2)       /* whoever runs this has to set a key or an address */
/* clang-format on */

#define X(id, value, name, exit_code) TH_##id = (value),
enum th_code { TH_CODES(X) };
#undef X

#define TH_ERR_MSG_MAX 512

struct th_err {
	enum th_code code;
	char msg[TH_ERR_MSG_MAX]; /* NUL-terminated, valid UTF-8, one sentence, no newline */
};

/* Sets `err` (may be NULL) and returns `code`.  Too long a text is cut at a character. */
TH_PRINTF(3, 4) enum th_code th_fail(struct th_err *err, enum th_code code, const char *fmt, ...);

/* Puts "text: " before err's sentence and returns its code.  `err` may be NULL: returns `code`.
 * TH_OK stays TH_OK, whatever an earlier failure left in `err`. */
TH_PRINTF(3, 4) enum th_code th_prefix(struct th_err *err, enum th_code code, const char *fmt, ...);

const char *th_code_name(enum th_code code);
int th_code_exit(enum th_code code);

/*
 * What happens when malloc fails outside the ledger path: the hook is called
 * and must not return (default: abort).  th_alloc and th_realloc never return
 * NULL; the th_try_ ones do, for the ledger path.  All zero the memory they add,
 * the reallocs excepted.
 */
typedef void th_oom_fn(size_t size);
void th_oom_hook(th_oom_fn *fn);
TH_NODISCARD void *th_alloc(size_t size);
TH_NODISCARD void *th_realloc(void *ptr, size_t size);
TH_NODISCARD void *th_try_alloc(size_t size);
TH_NODISCARD void *th_try_realloc(void *ptr, size_t size); /* NULL: ptr is as it was */
/* TH_ENOMEM, with its sentence. */
enum th_code th_fail_memory(struct th_err *err);
/* For tests of the ledger path: the nth th_try_alloc from now returns NULL; 0: none does. */
void th_try_alloc_fail_at(size_t nth);

#endif
