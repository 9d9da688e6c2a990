/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chat.h - the Chat Completions wire and the many servers that speak it: its
 * parts, joined in chat.c.
 *
 * The assistant's message is kept as `raw`, {"wire":"chat","message":…}, with
 * every member that came; the items are a view of it.  What is mended in it is
 * what every server refuses: calls without an id or with a double one, and
 * arguments that are no string.
 */
#ifndef TH_OPENAI_CHAT_CHAT_H
#define TH_OPENAI_CHAT_CHAT_H

#include "models/model.h"

/* Answer (answer.c). */
struct th_decoder *th_chat_new(const struct th_profile *profile, th_delta_fn *fn, void *ctx);
int th_chat_feed(struct th_decoder *d, struct th_str bytes);
bool th_chat_finished(const struct th_decoder *d);
void th_chat_end(struct th_decoder *d, bool cut, struct th_answer *ret);
void th_chat_error(struct th_decoder *d, int http_status, struct th_answer *ret);
struct th_decoder *th_chat_free(struct th_decoder *d);

/* "<think>…</think>" at the start of a text, or "…</think>" when `orphan`: its inside and what
 * follows, both trimmed.  False: there is none. */
bool th_chat_split_think(struct th_str text, bool orphan, struct th_str *ret_think,
			 struct th_str *ret_rest);

/*
 * A message of the assistant as items and as raw (items.c).  `message` is
 * checked JSON, `seed` what makes ids of this answer unlike others'.
 * `incomplete`: calls whose arguments end too early are marked.  TH_ELIMIT.
 */
TH_NODISCARD enum th_code th_chat_items(struct th_str message, struct th_str seed, bool incomplete,
					struct th_buf *items, struct th_buf *raw,
					struct th_err *err);

/* Request (request.c, group.c): see struct th_wire. */
void th_chat_path(const struct th_request_options *o, struct th_buf *out);
void th_chat_head(const struct th_request_options *o, struct th_buf *out);
void th_chat_tail(const struct th_request_options *o, struct th_buf *out);
enum th_code th_chat_message(struct th_group_writer *x, const struct th_group *g);
enum th_code th_chat_answer(struct th_group_writer *x, const struct th_group *g);
enum th_code th_chat_results(struct th_group_writer *x, const struct th_group *g);
bool th_chat_has_system(const struct th_request_options *o); /* the head ends with a message */

/* The server's side (decode.c, encode.c). */
enum th_code th_chat_request_decode(struct th_str model, struct th_str body, struct th_buf *out,
				    struct th_err *err);
enum th_code th_chat_request_encode(struct th_str unified, struct th_buf *out, struct th_err *err);

/* A member whose key is still escaped. */
static inline void th_chat_put_member(struct th_jw *w, struct th_str raw_key, struct th_str raw)
{
	th_jw_raw(w, TH_STR("\""));
	th_buf_add(w->out, raw_key);
	th_buf_add(w->out, TH_STR("\":"));
	th_buf_add(w->out, raw);
}

extern const struct th_wire th_wire_chat;

#endif
