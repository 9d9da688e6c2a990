/* SPDX-License-Identifier: Apache-2.0 */
/*
 * responses.h - the OpenAI Responses wire: its two halves, joined in
 * responses.c.
 *
 * Items are never rebuilt: an answer's items are pieces of the text that came,
 * and go back as they are but for members that the API gives and does not
 * take.
 */
#ifndef TH_OPENAI_RESPONSES_RESPONSES_H
#define TH_OPENAI_RESPONSES_RESPONSES_H

#include "dialects/actions.h"
#include "models/model.h"

/* Request (request.c): see struct th_wire. */
void th_responses_head(const struct th_request_options *o, struct th_buf *out);
void th_responses_tail(const struct th_request_options *o, struct th_buf *out);
enum th_code th_responses_message(struct th_group_writer *x, const struct th_group *g);
enum th_code th_responses_answer(struct th_group_writer *x, const struct th_group *g);
enum th_code th_responses_results(struct th_group_writer *x, const struct th_group *g);

/* A server's side (server.c): see struct th_wire. */
TH_NODISCARD enum th_code th_responses_request_decode(struct th_str model, struct th_str body,
						      struct th_buf *out, struct th_err *err);
TH_NODISCARD enum th_code th_responses_request_encode(struct th_str unified, struct th_buf *out,
						      struct th_err *err);

/* Answer (answer.c). */
struct th_decoder *th_responses_new(const struct th_profile *profile, th_delta_fn *fn, void *ctx);
int th_responses_feed(struct th_decoder *d, struct th_str bytes);
struct th_str th_responses_id(const struct th_decoder *d, int64_t *ret_next_event);
bool th_responses_finished(const struct th_decoder *d);
void th_responses_end(struct th_decoder *d, bool cut, struct th_answer *ret);
void th_responses_error(struct th_decoder *d, int http_status, struct th_answer *ret);
struct th_decoder *th_responses_free(struct th_decoder *d);

extern const struct th_wire th_wire_responses;

#endif
