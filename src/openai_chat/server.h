/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.h - what the two directions of the server's side share: the
 * decoder asks the encoder whether a message can be had back from its items,
 * and keeps it as raw where it cannot.
 */
#ifndef TH_OPENAI_CHAT_SERVER_H
#define TH_OPENAI_CHAT_SERVER_H

#include "openai_chat/chat.h"

/* A list of items as messages, with commas between; and before them unless `first`. */
TH_NODISCARD enum th_code th_chat_put_unified(struct th_str items, struct th_buf *out, bool first,
					      struct th_err *err);
/* A tool in the unified form as this API has it. */
void th_chat_put_tool(struct th_jw *w, struct th_str tool);
/* The setting "format" as response_format. */
void th_chat_put_format(struct th_jw *w, struct th_str ours);

#endif
