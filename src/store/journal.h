/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal.h - an append-only file of records: what an executor has accepted
 * and finished.  Not a database: one writer, read once, when it is opened.
 *
 * A record is any bytes, at most TH_JOURNAL_RECORD_MAX.  After append it
 * survives the end of this process, after sync also a power cut.  Space is
 * allocated ahead, so that a full disk shows in append, never in sync, and
 * sync need not write metadata.  Every record carries its length and CRC-32C,
 * and its number: a cut or torn tail ends the journal at the last whole record;
 * a bad record with good ones behind it, or a missing number, is damage, which
 * is told and never repaired silently.
 *
 * It knows nothing of what records mean, and takes no lock: the owner of the
 * folder does.
 */
#ifndef TH_STORE_JOURNAL_H
#define TH_STORE_JOURNAL_H

#include "base/err.h"
#include "base/str.h"

struct th_journal;

/* What was found at opening. */
struct th_journal_found {
	bool created; /* there was no file */
	bool torn;    /* a record at the end had not been written whole: ordinary after a crash */
	bool damaged; /* something before the end is not what was written; see what */
	uint64_t records; /* given to the callback */
	char what[160];   /* one sentence when damaged */
};

/* Not TH_OK: stop reading, open fails with it. */
typedef enum th_code th_journal_record_fn(void *ctx, struct th_str record, struct th_err *err);

/* Reads all whole records in order, then is ready to append behind them (0600; the folder must
 * exist; a new file is durable, its name too, when this returns). */
TH_NODISCARD enum th_code th_journal_open(const char *path, th_journal_record_fn *fn, void *ctx,
					  struct th_journal_found *found, struct th_journal **ret,
					  struct th_err *err);
/* Gives back the space allocated ahead.  Takes NULL, returns NULL. */
struct th_journal *th_journal_close(struct th_journal *j);

/* TH_ELIMIT: the disk is full or the record too large; nothing was appended.  TH_EIO: after this
 * nothing can be appended any more. */
TH_NODISCARD enum th_code th_journal_append(struct th_journal *j, struct th_str record,
					    struct th_err *err);
/* fdatasync; nothing when nothing was appended since.  After an error the journal takes nothing
 * more: the owner stops. */
TH_NODISCARD enum th_code th_journal_sync(struct th_journal *j, struct th_err *err);

uint64_t th_journal_size(const struct th_journal *j); /* bytes of records, heads included */

/* Replaces all records by these, in one step (new file, fsync, rename, fsync of the folder); on
 * failure the old ones stay and can be appended to. */
TH_NODISCARD enum th_code th_journal_rewrite(struct th_journal *j, const struct th_str *records,
					     size_t count, struct th_err *err);

#endif
