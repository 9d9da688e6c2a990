/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal_internal.h - what the files of a journal share: journal.c writes it, journal_read.c
 * reads it, journal_format.c knows its bytes.
 */
#ifndef TH_STORE_JOURNAL_INTERNAL_H
#define TH_STORE_JOURNAL_INTERNAL_H

#include "base/limits.h"
#include "store/journal.h"

#define TH_JOURNAL_HEAD_SIZE 40
#define TH_JOURNAL_HEAD_COPY_AT 2048
#define TH_JOURNAL_RECORDS_AT 4096
#define TH_JOURNAL_RECORD_HEAD_SIZE 32
#define TH_JOURNAL_MAGIC_SIZE 4
#define TH_JOURNAL_STEP (64 * TH_KIB) /* allocated ahead at a time */

extern const char th_journal_magic[TH_JOURNAL_MAGIC_SIZE]; /* each record begins with it */

struct th_journal {
	int fd;
	bool broken;
	uint64_t salt;
	uint64_t end;       /* behind the last record */
	uint64_t allocated; /* up to here there are zeros */
	uint64_t number;    /* of the last record */
	uint64_t synced;    /* of the last record that is flushed */
	char *path, *path_new;
};

/* What a record's head says. */
struct th_journal_record {
	uint64_t number, synced;
	uint32_t size, crc; /* of its bytes */
};

/* ---- journal_format.c ---- */

uint32_t th_journal_crc(uint64_t salt, const void *ptr, size_t len);
void th_journal_head_print(char out[static TH_JOURNAL_HEAD_SIZE], uint64_t salt, uint64_t base);
/* The parsers: false: it is none. */
bool th_journal_head_parse(const char *p, uint64_t *salt, uint64_t *base);
bool th_journal_head_begins(const char *p, size_t len); /* with so many bytes */
void th_journal_record_print(char out[static TH_JOURNAL_RECORD_HEAD_SIZE], uint64_t salt,
			     uint64_t number, uint64_t synced, struct th_str bytes);
bool th_journal_record_parse(const char *p, uint64_t salt, struct th_journal_record *ret);

/* ---- journal_read.c ---- */

/* All of a file of this size.  *ret_fresh: nothing was ever in it; else number and end are where
 * the next record goes. */
TH_NODISCARD enum th_code th_journal_read(struct th_journal *j, uint64_t size,
					  th_journal_record_fn *fn, void *ctx,
					  struct th_journal_found *found, bool *ret_fresh,
					  struct th_err *err);

#endif
