/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.h - the files of web/, as they were when the program was built.
 *
 * web/pack.py makes the table.  Each file is there compressed; what a browser
 * gets is that, and who takes no gzip gets it plain.
 */
#ifndef TH_SESSIONS_API_PAGE_H
#define TH_SESSIONS_API_PAGE_H

#include "base/buf.h"

struct th_page_file {
	const char *name; /* "index.html" */
	const char *type; /* NULL: it is not served; see th_page_find */
	const char *tag;  /* of its bytes, quoted */
	const uint8_t *gzip;
	size_t gzip_size, size;
};

extern const struct th_page_file th_page_files[]; /* ended by a NULL name */

/* "replay_head" and "replay_tail" are the player of an exported session, without its data.  NULL:
 * there is none of that name. */
const struct th_page_file *th_page_find(struct th_str name);
/* Its bytes, behind what is in `out`. */
void th_page_plain(const struct th_page_file *f, struct th_buf *out);

#endif
