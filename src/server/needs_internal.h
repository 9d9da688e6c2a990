/* SPDX-License-Identifier: Apache-2.0 */
/*
 * needs_internal.h - a need as the files of needs.h share it.
 */
#ifndef TH_SERVER_NEEDS_INTERNAL_H
#define TH_SERVER_NEEDS_INTERNAL_H

#include "server/service.h"

struct th_need {
	struct th_need *next;
	struct th_needs *needs;
	struct thole_reading *reading;
	struct th_buf key, text; /* key: what is asked for */
	struct thole_error err;
	struct th_found answer;
	bool over;
	void (*end)(struct th_need *n); /* of what its kind has beside; may be NULL */
};

/* The kind and what it is asked with; a NULL ends the options. */
struct th_buf th_need_key(const char *kind, const char *const *options);
/* The one with this key, which is freed then; NULL: there is none. */
struct th_need *th_need_find(struct th_needs *needs, struct th_buf *key);
/* With the key; the first member of a struct of that size. */
struct th_need *th_need_new(struct th_needs *needs, struct th_buf *key, size_t size);
/* It was begun, or could not be (n->err). */
const struct th_found *th_need_begun(struct th_need *n, int code);
/* err: with a code other than 0; it may be n->err. */
void th_need_over(struct th_need *n, int code, const struct thole_error *err);
const struct th_found *th_need_answer(const struct th_need *n); /* NULL: it is not over */

#endif
