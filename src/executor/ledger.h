/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger.h - what an executor has accepted and what became of it: the meaning
 * of the records in its journal (store/journal.h).
 *
 * An effect is in the ledger from its ACCEPTED on until its outcome is durable
 * elsewhere (forget); its id is remembered for long after that.  Changes are
 * in memory and in the file when a function returns TH_OK, and survive our
 * end; after th_ledger_sync also a power cut.  When a function fails with
 * TH_EIO nothing more can be written and the executor must stop.
 *
 * It acts on nothing and knows no sockets, processes or clocks.
 */
#ifndef TH_EXECUTOR_LEDGER_H
#define TH_EXECUTOR_LEDGER_H

#include "events/event.h"
#include "store/journal.h"

struct th_ledger;

enum th_ledger_state {
	TH_LEDGER_ACCEPTED, /* begun, or about to; no end is known */
	TH_LEDGER_FINISHED, /* status, output, evidence */
	TH_LEDGER_NEVER, /* a runtime was answered that it was not accepted, so it never will be */
	TH_LEDGER_FORGOTTEN, /* only the id */
	TH_LEDGER_STATE_COUNT
};

/* Owned by the ledger until it is forgotten. */
struct th_ledger_entry {
	char id[TH_EFFECT_ID_MAX + 1];
	enum th_ledger_state state;
	enum th_class class;
	int64_t epoch, accepted_ms; /* wall clock */
	int64_t elapsed_ms;
	int64_t steps; /* parts of it that certainly were done */
	enum th_outcome_status status;
	char *tool, *digest, *noted, *output, *evidence; /* NULL: empty */
	bool this_life;                                  /* accepted since the journal was opened */
	bool gap; /* the journal was damaged since: a step, note or end of it may be missing */
	/* private */
	struct th_ledger_entry *chain, *older, *newer;
};

struct th_ledger_found {
	struct th_journal_found journal;
	bool damaged;  /* file or records: it has a new name now */
	size_t open;   /* accepted, not finished: cut off by a crash */
	bool computer; /* one of them was the computer's: keys and buttons may be down */
};

TH_NODISCARD enum th_code th_ledger_open(const char *path, struct th_ledger_found *found,
					 struct th_ledger **ret, struct th_err *err);
struct th_ledger *th_ledger_close(struct th_ledger *l); /* takes NULL, returns NULL */

/* Random name of this journal.  What was meant for this name and is not in it was never accepted:
 * when something is found to be missing, the name is another from then on. */
const char *th_ledger_id(const struct th_ledger *l);

int64_t th_ledger_epoch(const struct th_ledger *l); /* the fence: highest seen */
TH_NODISCARD enum th_code th_ledger_epoch_raise(struct th_ledger *l, int64_t epoch,
						struct th_err *err);

struct th_ledger_entry *th_ledger_find(struct th_ledger *l, struct th_str id); /* or NULL */
size_t th_ledger_count(const struct th_ledger *l); /* entries that are not forgotten */

/* A new entry; the id is not known.  TH_ELIMIT: full, or the disk is. */
TH_NODISCARD enum th_code th_ledger_accept(struct th_ledger *l, const struct th_ledger_entry *what,
					   struct th_ledger_entry **ret, struct th_err *err);
TH_NODISCARD enum th_code th_ledger_never(struct th_ledger *l, struct th_str id,
					  struct th_err *err);

TH_NODISCARD enum th_code th_ledger_step(struct th_ledger *l, struct th_ledger_entry *e,
					 int64_t steps, struct th_err *err);
TH_NODISCARD enum th_code th_ledger_note(struct th_ledger *l, struct th_ledger_entry *e,
					 struct th_str json, struct th_err *err);
/* In memory it is finished also when the disk takes no more.  TH_ENOMEM: it is not finished. */
TH_NODISCARD enum th_code th_ledger_finish(struct th_ledger *l, struct th_ledger_entry *e,
					   enum th_outcome_status status, struct th_str output,
					   struct th_str evidence, int64_t elapsed_ms,
					   struct th_err *err);
TH_NODISCARD enum th_code th_ledger_forget(struct th_ledger *l, struct th_ledger_entry *e,
					   struct th_err *err);

TH_NODISCARD enum th_code th_ledger_sync(struct th_ledger *l, struct th_err *err);

/* Makes the file small again when it holds much that is forgotten. */
TH_NODISCARD enum th_code th_ledger_tidy(struct th_ledger *l, bool now, struct th_err *err);

#endif
