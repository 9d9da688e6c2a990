/* SPDX-License-Identifier: Apache-2.0 */
/*
 * s3_answer.h - what an object store answers: a page of a list (ListObjectsV2), and
 * errors.  Both are XML of a fixed shape, of which the named elements are looked for.
 *
 * Pure, and total: any bytes give a page or a sentence.
 */
#ifndef TH_WIRE_S3_ANSWER_H
#define TH_WIRE_S3_ANSWER_H

#include "base/buf.h"
#include "base/err.h"

/* An object; the key is borrowed, and as it is in the answer: a caller's own keys have no character
 * that XML writes in another way. */
typedef enum th_code th_s3_object_fn(void *ctx, struct th_str key, int64_t changed_s,
				     struct th_err *err);

/* *ret_more: another page follows, after the last key.  TH_EPROTO: it is no list. */
TH_NODISCARD enum th_code th_s3_list_read(struct th_str xml, th_s3_object_fn *fn, void *ctx,
					  bool *ret_more, struct th_err *err);

/* The name of an error ("NoSuchBucket"): letters and digits, else empty. */
struct th_str th_s3_error_name(struct th_str xml);

#endif
