/* SPDX-License-Identifier: Apache-2.0 */
/* browser_rows.h - the words of browser_words.h as rows. */
#ifndef TH_DIALECTS_BROWSER_ROWS_H
#define TH_DIALECTS_BROWSER_ROWS_H

#include "base/str.h"

#define TH_BROWSER_MEMBERS_MAX 8

enum th_browser_how {
	TH_BROWSER_COPY = 1,
	TH_BROWSER_REF,       /* 12, "12" or "e12" */
	TH_BROWSER_KEYS,      /* "Control+A", or a list */
	TH_BROWSER_LIST,      /* of texts, or one */
	TH_BROWSER_NOT,       /* true is false */
	TH_BROWSER_TWICE,     /* true is 2 */
	TH_BROWSER_GONE,      /* a text until which is gone */
	TH_BROWSER_SECONDS,   /* rounded up */
	TH_BROWSER_MS,        /* as seconds */
	TH_BROWSER_SCREENFUL, /* "up" or "down" */
	TH_BROWSER_FUNCTION,  /* JavaScript's, called */
	TH_BROWSER_TABS,      /* what Playwright's browser_tabs does */
	TH_BROWSER_FIELDS,    /* of a form, each a step */
	TH_BROWSER_IGNORED,
	TH_BROWSER_REFUSED, /* unless it is false, null or 0; `ours` says why */
};

struct th_browser_row {
	const char *name;
	const char *action; /* NULL: a member says it, or there is none */
	const char *more;   /* without an action: why not; else members as JSON, or "" */
	struct {
		const char *theirs, *ours;
		enum th_browser_how how;
	} members[TH_BROWSER_MEMBERS_MAX];
};

extern const struct th_browser_row th_browser_tools[]; /* name NULL ends */
extern const struct th_browser_row th_browser_code[];
const struct th_browser_row *th_browser_row_find(const struct th_browser_row *rows,
						 struct th_str name); /* or NULL */

#endif
