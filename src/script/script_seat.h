/* SPDX-License-Identifier: Apache-2.0 */
/*
 * script_seat.h - memory in which a state with its libraries was made once, and is there again by
 * one copy.
 *
 * What is made in it lies at the same addresses each time, so the bytes of a state that has run
 * nothing are a new state.  Nothing of the one before is left: all that it has of the seat is
 * written over, and the rest it had from the heap and gave back.  A few seats are kept for the
 * whole process; a state that finds none free is made on the heap.
 */
#ifndef TH_SCRIPT_SCRIPT_SEAT_H
#define TH_SCRIPT_SCRIPT_SEAT_H

#include <stdbool.h>
#include <stddef.h>

struct th_script_seat;

/* NULL: none is free, or out of memory.  On any thread. */
struct th_script_seat *th_script_seat_take(void);
void th_script_seat_give(struct th_script_seat *seat); /* takes NULL */

/* The bytes that were kept are there again.  False: none were, and they are to be made. */
bool th_script_seat_restore(struct th_script_seat *seat);
/* While they are made.  NULL: the heap is to be asked, and nothing will be kept. */
void *th_script_seat_add(struct th_script_seat *seat, size_t size);
bool th_script_seat_has(const struct th_script_seat *seat, const void *ptr);
/* What was added is kept as it is now, with a few words of the owner's; out of memory: it is not.
 */
void th_script_seat_keep(struct th_script_seat *seat, const void *words, size_t size);
const void *th_script_seat_words(const struct th_script_seat *seat);

#endif
