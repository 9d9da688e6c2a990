/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demo_ledger.h - counts what really happened, from outside: a thread of `thole
 * demo crash`, which is none of the processes that are killed.
 *
 * Commands say a word into a FIFO, files are seen by inotify as they appear
 * under their name, and clicks arrive in a window of ours on a screen of ours.
 * Every effect has a number of its own.
 */
#ifndef TH_CLI_DEMO_LEDGER_H
#define TH_CLI_DEMO_LEDGER_H

#include "base/err.h"

#define TH_LEDGER_IDS_MAX 1024 /* effects of one demonstration */

enum th_ledger_kind { TH_LEDGER_SHELL, TH_LEDGER_FILE, TH_LEDGER_CLICK, TH_LEDGER_KINDS };

#define TH_LEDGER_FIFO "ledger"     /* in the workspace; a command writes "NUMBER\n" */
#define TH_LEDGER_FILE_NAME "note-" /* and the number */

struct th_demo_ledger;

/* display empty: no clicks.  The folder's FIFO is made. */
TH_NODISCARD enum th_code th_demo_ledger_start(const char *workspace, const char *display,
					       struct th_demo_ledger **ret, struct th_err *err);
/* How often an effect has happened so far. */
unsigned th_demo_ledger_count(struct th_demo_ledger *l, enum th_ledger_kind kind, unsigned number);
/* Where the click with this number goes. */
void th_demo_ledger_point(unsigned number, int *x, int *y);
struct th_demo_ledger *th_demo_ledger_stop(struct th_demo_ledger *l); /* takes NULL, returns NULL */

#endif
