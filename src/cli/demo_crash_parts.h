/* SPDX-License-Identifier: Apache-2.0 */
/* demo_crash_parts.h - one run of `thole demo crash`, shared by demo_crash*.c; nobody else includes
 * this. */
#ifndef TH_CLI_DEMO_CRASH_PARTS_H
#define TH_CLI_DEMO_CRASH_PARTS_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/limits.h"
#include "cli/demo_crash.h"
#include "cli/demo_ledger.h"
#include "cli/demo_model.h"
#include "io/crash.h"
#include "store/store.h"

/* What the log says of one effect. */
struct th_crash_said {
	bool called, settled;
	bool failed; /* of a command: another exit code than 0 */
	enum th_ledger_kind kind;
	enum th_outcome_status status;
};

struct th_crash_demo {
	const struct th_crash_options *o;
	char folder[TH_PATH_LEN_MAX], session[32], display[16];
	struct th_arena a;
	struct th_demo_model *model;
	struct th_demo_ledger *ledger;
	struct th_crash screen;
	struct th_store *store;
	struct th_str store_url;
	bool trace, kill_executor;
	char no_clicks[TH_ERR_MSG_MAX]; /* why there are none; empty: there are */
	uint64_t random, began_ms, elapsed_ms;
	atomic_ullong deadline_ms;
	atomic_uint history, backwards; /* the longest history seen; shorter ones later */
	unsigned lives, runtime_kills, executor_kills;
	uint64_t stops;
	struct th_crash_said said[TH_LEDGER_IDS_MAX];
	unsigned calls, happened, duplicated, lost, diverged, unknown, unknown_happened, failed,
	    false_claims;
	char broken[TH_ERR_MSG_MAX]; /* what else is wrong */
};

/* demo_crash_place.c: a folder, a screen, and the model that plays a script. */
TH_NODISCARD enum th_code th_crash_demo_begin(struct th_crash_demo *c, struct th_err *err);
const char *th_crash_demo_path(struct th_crash_demo *c, const char *name); /* in the folder */
/* Effect n is always of the same kind; the fourth and fifth of five are one answer's. */
enum th_ledger_kind th_crash_demo_kind(const struct th_crash_demo *c, size_t n);

/* demo_crash_report.c: the log against the ledger, and what is said of it. */
TH_NODISCARD enum th_code th_crash_demo_compare(struct th_crash_demo *c, struct th_err *err);
bool th_crash_demo_good(const struct th_crash_demo *c);
int th_crash_demo_report(struct th_crash_demo *c); /* prints; the exit code */

#endif
