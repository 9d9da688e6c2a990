/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_html.h - a session as one HTML file that plays it without a server.
 *
 * The player is the page's own (web/, sessions_api/page.h).  Events and pictures stand
 * in it as blocks of data that no browser runs; the file's policy names the one
 * script and the one style that it has.  Sessions that work for this one are
 * not in it.
 */
#ifndef TH_CLI_EXPORT_HTML_H
#define TH_CLI_EXPORT_HTML_H

#include "store/store.h"

struct th_html_size {
	uint64_t bytes, events, pictures;
};

/* How big the file will be.  TH_ELIMIT: more than TH_HTML_SIZE_MAX, or TH_HTML_PICTURES_MAX. */
TH_NODISCARD enum th_code th_html_measure(struct th_store *store, const struct th_session_row *row,
					  struct th_html_size *ret, struct th_err *err);
/* The events up to row->head_seq, so that it has the size that was measured. */
TH_NODISCARD enum th_code th_html_write(struct th_store *store, const struct th_session_row *row,
					int fd, struct th_err *err);

#endif
