/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger_internal.h - what the ledger's files share: its entries (ledger_entries.c), and the
 * records that say what happened to them (ledger_read.c).
 */
#ifndef TH_EXECUTOR_LEDGER_INTERNAL_H
#define TH_EXECUTOR_LEDGER_INTERNAL_H

#include "base/codec.h"
#include "base/limits.h"
#include "executor/ledger.h"
#include "io/clock.h"

#define TH_LEDGER_BUCKETS 1024

#define TH_FIELDS_ledger_record(F)                                                    \
	F(ledger_record, str, r, "r", TH_REQ,                                         \
	  "journal, epoch, accepted, step, note, finished, never, forgot or entry")   \
	F(ledger_record, str, id, "id", 0, "effect; journal: its random name")        \
	F(ledger_record, int, epoch, "epoch", TH_NONEG, "epoch")                      \
	F(ledger_record, str, class, "class", 0, "effect class")                      \
	F(ledger_record, str, tool, "tool", 0, "tool")                                \
	F(ledger_record, str, digest, "digest", 0, "SHA-256 of tool and arguments")   \
	F(ledger_record, int, accepted_ms, "accepted_ms", 0, "Unix time")             \
	F(ledger_record, int, steps, "steps", TH_NONEG, "parts that were done")       \
	F(ledger_record, raw, noted, "noted", 0, "for a probe")                       \
	F(ledger_record, bool, gap, "gap", 0, "records of it may be missing")         \
	F(ledger_record, str, status, "status", 0, "outcome")                         \
	F(ledger_record, raw, output, "output", 0, "for the model")                   \
	F(ledger_record, raw, evidence, "evidence", 0, "what changed")                \
	F(ledger_record, int, elapsed_ms, "elapsed_ms", TH_NONEG, "from accepted on") \
	F(ledger_record, strs, ids, "ids", 0, "forgotten")

TH_STRUCT(ledger_record)
extern const struct th_table th_ledger_record_table;

struct th_ledger {
	struct th_journal *journal;
	char id[TH_UUID_TEXT_SIZE + 1];
	int64_t epoch; /* highest */
	struct th_ledger_entry *buckets[TH_LEDGER_BUCKETS];
	struct th_ledger_entry *oldest, *newest;
	size_t count, forgotten;
	bool damaged;
	bool no_memory;        /* while it was read */
	struct th_arena arena; /* of the record being read */
};

/* ---- ledger_entries.c ---- */

/* False: out of memory, and *to is as it was. */
bool th_ledger_text_set(char **to, struct th_str s);
/* Not in the ledger yet.  NULL: out of memory. */
struct th_ledger_entry *th_ledger_entry_new(struct th_str id);
struct th_ledger_entry *th_ledger_entry_free(struct th_ledger_entry *e);
/* The same, as the record of its beginning says. */
struct th_ledger_entry *th_ledger_entry_of(const struct th_ledger_record *m, enum th_class class);
void th_ledger_put(struct th_ledger *l, struct th_ledger_entry *e);
void th_ledger_drop(struct th_ledger *l, struct th_ledger_entry *e);
/* False: out of memory, and it is not finished. */
bool th_ledger_entry_finish(struct th_ledger_entry *e, enum th_outcome_status status,
			    struct th_str output, struct th_str evidence, int64_t elapsed_ms);
/* Only its id is remembered, for as long as there is room. */
void th_ledger_entry_forget(struct th_ledger *l, struct th_ledger_entry *e);

/* ---- ledger_read.c ---- */

/* For th_journal_open; ctx: the ledger. */
TH_NODISCARD enum th_code th_ledger_on_record(void *ctx, struct th_str record, struct th_err *err);

#endif
