/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h - copies and lists for which there may be no memory.
 */
#ifndef TH_LIVE_MEMORY_H
#define TH_LIVE_MEMORY_H

#include "base/str.h"

/* Sets *ret; nothing for an empty text.  False: out of memory. */
bool th_copy_text(struct th_str s, char **ret);
/* Room for `more` elements in a list that doubles.  False: out of memory. */
bool th_list_room(void *list, size_t count, size_t *cap, size_t more, size_t size);

#endif
