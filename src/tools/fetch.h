/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch.h - the process that gets a page for the tool `fetch`.
 *
 * It is our own program in a role, inside of what commands are confined to: it
 * has the session's network and nothing else, so that what net says holds for
 * it as for any command, and whatever a page makes of its reader stays there.
 */
#ifndef TH_TOOLS_FETCH_H
#define TH_TOOLS_FETCH_H

#include <stdbool.h>

/* How it ends. */
#define TH_FETCH_EXIT_TEXT 0   /* its standard output is the text */
#define TH_FETCH_EXIT_STATUS 3 /* the same, of an answer that says no */
#define TH_FETCH_EXIT_FAILED 4 /* it is one sentence, why there is none */

/* `thole exec --role fetch --url URL`; raw: the source of a page.  Returns the exit status. */
int th_fetch_main(const char *url, bool raw);

#endif
