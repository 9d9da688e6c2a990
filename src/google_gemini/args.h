/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args.h - arguments of a call that come in pieces: each a path into
 * them ("$.items[0].name") and a value, or more of a string.
 */
#ifndef TH_GOOGLE_GEMINI_ARGS_H
#define TH_GOOGLE_GEMINI_ARGS_H

#include "base/buf.h"
#include "base/json.h"

#define TH_GEMINI_ARGS_MAX 4096 /* values of one call, containers too */
#define TH_GEMINI_ARGS_DEPTH_MAX 32

struct th_gemini_args;

struct th_gemini_args *th_gemini_args_new(void);
struct th_gemini_args *th_gemini_args_free(struct th_gemini_args *args);

/* One element of partialArgs, raw.  False: not one, over a maximum, or its path goes through what
 * is no container; nothing changed.  *ret_size: bytes that are kept now and were not. */
bool th_gemini_args_add(struct th_gemini_args *args, struct th_str partial, size_t *ret_size);
/* An object. */
void th_gemini_args_print(const struct th_gemini_args *args, struct th_jw *w);

#endif
