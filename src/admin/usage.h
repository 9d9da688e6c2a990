/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage.h - what sessions used, as people and programs ask for it.  By day,
 * user, agent or model these are the store's sums, which have removed sessions,
 * too; by session they are the rows of those that are there.
 */
#ifndef TH_ADMIN_USAGE_H
#define TH_ADMIN_USAGE_H

#include "store/store.h"

struct th_usage_ask {
	struct th_usage_filter filter;
	bool by_session; /* not filter.by */
	/* By session: at most so many, the last used ones first; 0: TH_PAGE_SESSIONS. */
	size_t limit;
	struct th_session_cursor after; /* as a list in the order TH_LIST_UPDATED */
};

/* What an option says: by, from, to, user, limit, after.  TH_EUSAGE. */
TH_NODISCARD enum th_code th_usage_option(const char *name, struct th_str value,
					  struct th_usage_ask *ask, struct th_err *err);

struct th_usage_line {
	struct th_usage_row counts;
	struct th_str key;                    /* the day, the user, … */
	const struct th_session_row *session; /* by session; else NULL */
};
typedef enum th_code th_usage_line_fn(void *ctx, const struct th_usage_line *line,
				      struct th_err *err);
/* `next`, which may be NULL, gets the cursor of the next page; stays empty where there is none. */
TH_NODISCARD enum th_code th_usage_report(struct th_store *store, const struct th_usage_ask *ask,
					  th_usage_line_fn *fn, void *ctx, struct th_buf *next,
					  struct th_err *err);

const char *th_usage_by_name(const struct th_usage_ask *ask); /* "day", … */
/* Members of an object: the key, under the name of `by`, and the counts. */
void th_usage_line_print(const struct th_usage_ask *ask, const struct th_usage_line *line,
			 struct th_jw *w);

#endif
