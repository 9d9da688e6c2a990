/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base.h - attributes and the few macros that every file may use.
 */
#ifndef TH_BASE_BASE_H
#define TH_BASE_BASE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TH_NODISCARD __attribute__((warn_unused_result))
#define TH_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define TH_CLEANUP(fn) __attribute__((cleanup(fn)))
#define TH_UNUSED __attribute__((unused))
/* Large, and filled by the function that gets it: the compiler does not clear it. */
#define TH_UNSET __attribute__((uninitialized))

#define TH_COUNT(array) (sizeof(array) / sizeof((array)[0]))
/* These two look at their arguments twice. */
#define TH_MIN(a, b) ((a) < (b) ? (a) : (b))
#define TH_MAX(a, b) ((a) > (b) ? (a) : (b))

/* The struct that holds `member`, as in the kernel. */
#define TH_CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#endif
