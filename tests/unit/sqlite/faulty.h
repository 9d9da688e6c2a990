/* SPDX-License-Identifier: Apache-2.0 */
/* faulty.h - a file system and an allocator under SQLite whose n-th call fails. */
#ifndef TH_TESTS_FAULTY_H
#define TH_TESTS_FAULTY_H

enum fault {
	FAULT_WRITE_FULL,  /* a write: no space */
	FAULT_WRITE_SHORT, /* a write: half of it, then no space */
	FAULT_WRITE_IO,
	FAULT_SYNC,
	FAULT_TRUNCATE,
	FAULT_MALLOC, /* an allocation of SQLite's */
	FAULT_READ,
	FAULT_COUNT
};

void faulty_install(void); /* once, before SQLite is used */
/* The n-th call of that sort from now on fails, once or from then on; n 0: none does. */
void faulty_set(enum fault fault, int n, int for_good);
int faulty_main_syncs(void); /* flushes of database files so far, their logs aside */
int faulty_log_writes(void); /* writes to their logs so far */
int faulty_left(void);       /* how many calls are left until it fails: over 0, it did not happen */

#endif
