/* SPDX-License-Identifier: Apache-2.0 */
/* points.h - one child per fault, each in a fresh folder. */
#ifndef TH_TESTS_POINTS_H
#define TH_TESTS_POINTS_H

#include <stdbool.h>

enum {
	POINT_FINE = 0,
	POINT_ERROR = 9, /* ended with an ordinary error */
	POINT_STOP = 10, /* the clean stop when memory is out */
	POINT_DIED = 11, /* the test itself ended it */
};

/* Runs fn(ctx) in a child; its return value is the child's status; 100 and more: it crashed. */
int point_run(int (*fn)(void *ctx), void *ctx);

const char *point_folder(void);                    /* a new empty one; the one before is removed */
void point_done(void);                             /* removes the last */
void point_copy(const char *from, const char *to); /* flat folders */
bool point_all(void);                              /* TH_TORTURE */
/* So that about `quick` of `count` points are tried. */
long point_step(long count, long quick);

#endif
