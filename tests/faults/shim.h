/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shim.h - stands between a test and the C library: counts what allocates and
 * what writes to files, lets the nth of them fail, and remembers what would be
 * on a disk.  The product has no hook for it: a program that is linked with
 * shim.c answers malloc, pwrite, fsync … itself, for its libraries too; as
 * libshim.so it is preloaded into a program that knows nothing of it.
 *
 * Preloaded, it is told by the environment:
 *	SHIM_FOLDER=PREFIX     only files below it are looked at
 *	SHIM_FAIL=KIND:N       the Nth of that kind fails, KIND as in SHIM_KINDS
 *	SHIM_COUNTS=FILE       a file shared by all processes, struct shim_counts
 */
#ifndef TH_TESTS_SHIM_H
#define TH_TESTS_SHIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* id, name: what fails, and how */
#define SHIM_KINDS(X)                                                           \
	X(MALLOC, "malloc")               /* one allocation */                  \
	X(MALLOC_ALL, "malloc_all")       /* it and all later ones */           \
	X(WRITE_FULL, "write_full")       /* ENOSPC, and so all later ones */   \
	X(WRITE_ONCE, "write_once")       /* ENOSPC, and later ones are fine */ \
	X(WRITE_IO, "write_io")           /* EIO */                             \
	X(WRITE_SHORT, "write_short")     /* half of it, and then ENOSPC */     \
	X(WRITE_PART, "write_part")       /* half of it, which is no failure */ \
	X(SYNC, "sync")                   /* EIO of fsync, fdatasync */         \
	X(TRUNCATE, "truncate")           /* EIO of ftruncate, fallocate */     \
	X(TRUNCATE_FULL, "truncate_full") /* ENOSPC of them */

#define X(id, name) SHIM_##id,
enum shim_kind { SHIM_KINDS(X) SHIM_KIND_COUNT };
#undef X

struct shim_counts {
	atomic_long fsyncs, fdatasyncs, writes, bytes;
};

/* From now on: the nth of `kind` fails; 0: none does.  `folder`: of the files that count. */
void shim_arm(enum shim_kind kind, long nth, const char *folder);
long shim_seen(void);  /* how many came since shim_arm, of the kind that it names */
bool shim_fired(void); /* it has happened */
void shim_off(void);   /* nothing fails, nothing is counted */
extern struct shim_counts *shim_counts;

/*
 * What was done to files below a folder, in order, so that a test can make the
 * disk as it was after any of it.
 */
enum shim_act {
	SHIM_WRITE,
	SHIM_SIZE,
	SHIM_SYNCED,
	SHIM_OPEN,
	SHIM_RENAME,
	SHIM_UNLINK,
	SHIM_FOLDER_SYNCED,
	SHIM_MARK
};
struct shim_record {
	enum shim_act act;
	uint64_t inode;        /* of the file, all but RENAME, UNLINK, MARK */
	uint64_t at, len;      /* WRITE; SIZE: the new one in at; MARK: what the test said */
	char *bytes;           /* WRITE */
	char name[64], to[64]; /* below the folder: OPEN, RENAME, UNLINK */
};
void shim_record_start(const char *folder);
void shim_record_mark(uint64_t value); /* "this was acknowledged here" */
const struct shim_record *shim_record_stop(size_t *ret_count);

#endif
