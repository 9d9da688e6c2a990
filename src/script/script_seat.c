/* SPDX-License-Identifier: Apache-2.0 */
#include "script/script_seat.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/limits.h"

#define WORDS_MAX 64

struct th_script_seat {
	bool taken, full; /* full: something of the state is on the heap */
	size_t used;
	char *bytes, *kept; /* kept NULL: nothing is */
	alignas(max_align_t) char words[WORDS_MAX];
};

static pthread_mutex_t taking = PTHREAD_MUTEX_INITIALIZER;
static struct th_script_seat seats[TH_SCRIPT_SEATS_MAX];

struct th_script_seat *th_script_seat_take(void)
{
	struct th_script_seat *found = NULL;

	pthread_mutex_lock(&taking);
	for (size_t i = 0; i < TH_COUNT(seats) && !found; i++)
		if (!seats[i].taken)
			found = &seats[i];
	if (found && !found->bytes)
		found->bytes = th_try_alloc(TH_SCRIPT_SEAT_SIZE);
	if (found && !found->bytes)
		found = NULL;
	if (found)
		found->taken = true;
	pthread_mutex_unlock(&taking);
	return found;
}

void th_script_seat_give(struct th_script_seat *seat)
{
	if (!seat)
		return;
	pthread_mutex_lock(&taking);
	seat->taken = false;
	pthread_mutex_unlock(&taking);
}

bool th_script_seat_restore(struct th_script_seat *seat)
{
	if (seat->kept) {
		memcpy(seat->bytes, seat->kept, seat->used);
		return true;
	}
	seat->used = 0;
	seat->full = false;
	return false;
}

void *th_script_seat_add(struct th_script_seat *seat, size_t size)
{
	size_t aligned =
	    (size + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
	char *at = seat->bytes + seat->used;

	if (seat->kept)
		return NULL;
	if (aligned > TH_SCRIPT_SEAT_SIZE - seat->used) {
		seat->full = true;
		return NULL;
	}
	seat->used += aligned;
	return at;
}

bool th_script_seat_has(const struct th_script_seat *seat, const void *ptr)
{
	uintptr_t at = (uintptr_t)ptr, begin = seat ? (uintptr_t)seat->bytes : 0;

	return seat && at >= begin && at < begin + TH_SCRIPT_SEAT_SIZE;
}

void th_script_seat_keep(struct th_script_seat *seat, const void *words, size_t size)
{
	assert(size <= sizeof(seat->words) && !seat->kept);
	if (seat->full)
		return;
	seat->kept = th_try_alloc(seat->used);
	if (!seat->kept)
		return;
	memcpy(seat->kept, seat->bytes, seat->used);
	memcpy(seat->words, words, size);
}

const void *th_script_seat_words(const struct th_script_seat *seat)
{
	return seat->words;
}
