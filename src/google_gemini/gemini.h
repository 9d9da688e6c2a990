/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemini.h - the wire of Gemini's generateContent, joined in gemini.c.
 *
 * The content of an answer is kept as it came, as `raw`, and goes back so:
 * thought signatures are bound to their parts.  The items are a view of it.  A
 * call that came without an id has an item without "id"; its call_id is made,
 * and is not sent back.
 */
#ifndef TH_GOOGLE_GEMINI_GEMINI_H
#define TH_GOOGLE_GEMINI_GEMINI_H

#include "dialects/dialect.h"
#include "models/model.h"

/* Answer (answer.c). */
struct th_decoder *th_gemini_new(const struct th_profile *profile, th_delta_fn *fn, void *ctx);
int th_gemini_feed(struct th_decoder *d, struct th_str bytes);
bool th_gemini_finished(const struct th_decoder *d);
void th_gemini_end(struct th_decoder *d, bool cut, struct th_answer *ret);
void th_gemini_error(struct th_decoder *d, int http_status, struct th_answer *ret);
struct th_decoder *th_gemini_free(struct th_decoder *d);

/* An error of Google's: its reason says more than its status.  As th_answer_take_error. */
void th_gemini_take_error(const struct th_json *error, struct th_str raw, int http_status,
			  struct th_answer *ret);

/* Items of a content (items.c).  `id_base` is what made ids begin with. TH_ELIMIT: more than
 * TH_CALLS_MAX calls. */
TH_NODISCARD enum th_code th_gemini_items(struct th_str parts, struct th_str id_base,
					  struct th_buf *out, struct th_err *err);

extern const struct th_wire th_wire_gemini;
extern const struct th_wire th_wire_gemini_at_cua; /* behind the base URL of Cua's gateway */

#endif
