/* SPDX-License-Identifier: Apache-2.0 */
/*
 * messages.h - the Anthropic Messages wire: its two halves, joined in
 * messages.c.
 *
 * The provider's message is kept whole beside the items, as raw
 * {"wire":"messages","message":…}, and its content goes back as it came:
 * thinking with its signatures, blocks of server tools, unknown members.
 */
#ifndef TH_ANTHROPIC_MESSAGES_MESSAGES_H
#define TH_ANTHROPIC_MESSAGES_MESSAGES_H

#include "dialects/dialect.h"
#include "models/model.h"

/* Request (request.c, group.c): see struct th_wire. */
void th_messages_path(const struct th_request_options *o, struct th_buf *out);
void th_messages_headers(const struct th_request_options *o, struct th_buf *out);
void th_messages_head(const struct th_request_options *o, struct th_buf *out);
void th_messages_tail(const struct th_request_options *o, struct th_buf *out);
enum th_code th_messages_message(struct th_group_writer *x, const struct th_group *g);
enum th_code th_messages_answer(struct th_group_writer *x, const struct th_group *g);
enum th_code th_messages_results(struct th_group_writer *x, const struct th_group *g);

/* The server's side (unify.c). */
enum th_code th_messages_request_decode(struct th_str model, struct th_str body, struct th_buf *out,
					struct th_err *err);
enum th_code th_messages_request_encode(struct th_str unified, struct th_buf *out,
					struct th_err *err);

/* The effort, as an agent file names it, whose budget for thinking is at most so many tokens. */
const char *th_messages_effort(int64_t budget);

/* The toolset of 2026: each action is a tool of its own. */
bool th_messages_is_toolset(const struct th_profile *p);

extern const struct th_wire th_wire_messages;
/* The same, where the key goes as a bearer's: gateways. */
extern const struct th_wire th_wire_messages_bearer;

/* Answer (answer.c). */
struct th_decoder *th_messages_new(const struct th_profile *profile, th_delta_fn *fn, void *ctx);
int th_messages_feed(struct th_decoder *d, struct th_str bytes);
bool th_messages_finished(const struct th_decoder *d);
void th_messages_end(struct th_decoder *d, bool cut, struct th_answer *ret);
void th_messages_error(struct th_decoder *d, int http_status, struct th_answer *ret);
struct th_decoder *th_messages_free(struct th_decoder *d);

#endif
