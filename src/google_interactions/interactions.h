/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interactions.h - the wire of Gemini's Interactions API, joined in
 * interactions.c.
 *
 * An answer is a list of steps: thought, model_output, function_call and those
 * of the provider's own tools.  They are stored as they came, as raw
 * {"wire":"interactions","message":{"steps":[…]}}, and go back so: thoughts with
 * their signatures.  The server also keeps a state when it is asked to: the next
 * request then names the interaction and holds what is new.
 */
#ifndef TH_GOOGLE_INTERACTIONS_INTERACTIONS_H
#define TH_GOOGLE_INTERACTIONS_INTERACTIONS_H

#include "models/model.h"

/* Request (request.c, group.c): see struct th_wire. */
void th_interactions_head(const struct th_request_options *o, struct th_buf *out);
enum th_code th_interactions_message(struct th_group_writer *x, const struct th_group *g);
enum th_code th_interactions_answer(struct th_group_writer *x, const struct th_group *g);
enum th_code th_interactions_results(struct th_group_writer *x, const struct th_group *g);

/* The parts of a content, a string or a list, as elements of a list. */
TH_NODISCARD enum th_code th_interactions_content(struct th_group_writer *x, struct th_str content);
/* A step: an item of an answer in the unified form, of another wire or of nobody. */
TH_NODISCARD enum th_code th_interactions_item(struct th_group_writer *x, struct th_str item,
					       bool *signs);

/* The server's side (server.c). */
enum th_code th_interactions_request_decode(struct th_str model, struct th_str body,
					    struct th_buf *out, struct th_err *err);
enum th_code th_interactions_request_encode(struct th_str unified, struct th_buf *out,
					    struct th_err *err);

/* Answer (answer.c). */
struct th_decoder *th_interactions_new(const struct th_profile *profile, th_delta_fn *fn,
				       void *ctx);
int th_interactions_feed(struct th_decoder *d, struct th_str bytes);
bool th_interactions_finished(const struct th_decoder *d);
void th_interactions_end(struct th_decoder *d, bool cut, struct th_answer *ret);
void th_interactions_error(struct th_decoder *d, int http_status, struct th_answer *ret);
struct th_str th_interactions_id(const struct th_decoder *d, int64_t *ret_next_event);
struct th_decoder *th_interactions_free(struct th_decoder *d);

extern const struct th_wire th_wire_interactions;

#endif
