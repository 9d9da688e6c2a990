/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk.h - the simulator's disk: the log's store (the contract of
 * store/store.h) and the executors' journals (the contract of journal.h, under
 * the names that rename.h gives).
 *
 * It knows what a power cut would leave: what was synced always; what was not
 * is kept, lost or torn, as the seed says.  Faults are set by the world before
 * an operation.  It owns copies of all it was given.  One disk at a time is
 * used in a process, since th_journal_open names files by path.
 */
#ifndef TH_SIM_DISK_H
#define TH_SIM_DISK_H

#include "store/store.h"

/* ---- chance: everything in a simulation is drawn from here ---- */

struct th_sim_random {
	uint64_t state;
};

uint64_t th_sim_draw(struct th_sim_random *r);
uint64_t th_sim_below(struct th_sim_random *r, uint64_t n);   /* 0 … n-1; n > 0 */
bool th_sim_chance(struct th_sim_random *r, unsigned one_in); /* 0: never */

/* ---- the disk ---- */

#define TH_SIM_TASKS_MAX 4 /* sessions that people begin */
/* Sessions that work on their calls have the numbers behind those. */
#define TH_SIM_CHILDREN_MAX 64
#define TH_SIM_SESSIONS_MAX (TH_SIM_TASKS_MAX + TH_SIM_CHILDREN_MAX)

struct th_sim_disk;

/* How a commit is to end, for the next one only. */
enum th_sim_fault {
	TH_SIM_FAULT_NONE,
	TH_SIM_FAULT_FULL,     /* ENOSPC: nothing was written */
	TH_SIM_FAULT_IO,       /* EIO, nothing was written */
	TH_SIM_FAULT_REPORTED, /* all was written, and EIO is reported */
};

struct th_sim_disk *th_sim_disk_new(struct th_sim_random *random);
struct th_sim_disk *th_sim_disk_free(struct th_sim_disk *d);
void th_sim_disk_no_fencing(struct th_sim_disk *d); /* a broken variant: the last writer wins */
void th_sim_disk_no_sync(
    struct th_sim_disk *d); /* a broken variant: acknowledged before it is on the disk */
void th_sim_disk_no_journal(
    struct th_sim_disk *d); /* a broken variant: journals are empty after a crash */
void th_sim_disk_blind(struct th_sim_disk *d); /* a broken variant: damage is not told */
void th_sim_disk_unsynced_journals(
    struct th_sim_disk *d);                         /* a broken variant: their sync does nothing */
void th_sim_disk_tidy_often(struct th_sim_disk *d); /* journals say they are large */

/* Everything that was not synced is lost, kept or torn.  All processes must be gone. */
void th_sim_disk_power_cut(struct th_sim_disk *d);
void th_sim_disk_sync(struct th_sim_disk *d); /* the variant's late sync */
bool th_sim_disk_unsynced(const struct th_sim_disk *d);

/* Store.  `owner` names a runtime, from 1. */
enum th_code th_sim_store_commit(struct th_sim_disk *d, struct th_batch *batch,
				 enum th_sim_fault fault, bool *ret_written, struct th_err *err);
/* Raises the epoch.  Strings of the row live until the next commit. */
enum th_code th_sim_store_lease(struct th_sim_disk *d, struct th_str id, struct th_session_row *ret,
				struct th_err *err);
enum th_code th_sim_store_get(struct th_sim_disk *d, struct th_str id, struct th_session_row *ret,
			      struct th_err *err);
enum th_code th_sim_store_read(struct th_sim_disk *d, struct th_str id, uint64_t from, uint64_t to,
			       th_event_fn *fn, void *ctx, struct th_err *err);
enum th_code th_sim_store_blob(struct th_sim_disk *d, const struct th_digest *hash,
			       struct th_buf *out, struct th_err *err);
uint64_t th_sim_store_durable(const struct th_sim_disk *d,
			      struct th_str id); /* last event that a power cut leaves */

/* Journals, by number.  The faults are for the next append or sync of any of them. */
void th_sim_journal_fault(struct th_sim_disk *d, enum th_code code); /* TH_ELIMIT, TH_EIO, TH_OK */
void th_sim_journal_lose(struct th_sim_disk *d, size_t number);      /* the file is gone */
/* One record is no longer what was written, and the journal says so when it is opened. */
void th_sim_journal_rot(struct th_sim_disk *d, size_t number);
/* Whether the file is whole and has this name: then what it should hold, it holds. */
bool th_sim_journal_is(const struct th_sim_disk *d, size_t number, struct th_str name);

#endif
