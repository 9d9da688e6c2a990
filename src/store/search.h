/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.h - the words of one session's events, found again: by the model's tool
 * `history`.  A kind of store may have an index (th_store_kind.search); for
 * others the log is read.
 *
 * A word is letters and digits; all words must be there, in any order, in either
 * case.  Hits come newest first.
 */
#ifndef TH_STORE_SEARCH_H
#define TH_STORE_SEARCH_H

#include "store/store.h"

/* TH_EUSAGE: there is no word in it, or too many.  The query is one that the store takes. */
TH_NODISCARD enum th_code th_store_search(struct th_store *s, struct th_str session_id,
					  const struct th_text_query *query, th_text_fn *fn,
					  void *ctx, struct th_err *err);

/* The next word of a text, which begins behind it then.  False: there is none. */
bool th_search_word(struct th_str *text, struct th_str *ret);
/* Where the first of the words stands in `body`, or -1. */
ptrdiff_t th_search_find(struct th_str body, struct th_str words);

#endif
