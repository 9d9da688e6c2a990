/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wiped.h - memory for what is secret: all of it is overwritten before it is given back, also
 * where it grows and moves.
 */
#ifndef TH_BASE_WIPED_H
#define TH_BASE_WIPED_H

#include <stddef.h>

/* As th_alloc and th_realloc, which never return NULL; nothing is zeroed at first. */
void *th_wiped_alloc(size_t size);
void *th_wiped_realloc(void *ptr, size_t size); /* of th_wiped_alloc, or NULL */
void th_wiped_free(void *ptr);                  /* takes NULL */

/* th_buf_deinit, and all of its memory is overwritten.  What is to leave no copy elsewhere is
 * reserved before it grows. */
struct th_buf;
void th_buf_wipe(struct th_buf *b);

#endif
