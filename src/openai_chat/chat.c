/* SPDX-License-Identifier: Apache-2.0 */
#include "openai_chat/writer.h"

static const char *const body_agent[] = { "model", "messages", "stream", "tools", NULL };

const struct th_wire th_wire_chat = {
	.name = "chat",
	.key_header = "Authorization",
	.profile = "chat",
	.body_agent = body_agent,
	/* Of the four marks that a request may hold, the system's message has one. */
	.mark = TH_CHAT_MARK,
	.marks_max = 3,
	.same = "{\"type\":\"text\",\"text\":\"" TH_IMAGE_SAME "\"}",
	.path = th_chat_path,
	.head = th_chat_head,
	.tail = th_chat_tail,
	.message = th_chat_message,
	.answer = th_chat_answer,
	.results = th_chat_results,
	.begun = th_chat_has_system,
	.request_decode = th_chat_request_decode,
	.request_encode = th_chat_request_encode,
	.decoder_new = th_chat_new,
	.feed = th_chat_feed,
	.finished = th_chat_finished,
	.end = th_chat_end,
	.error = th_chat_error,
	.decoder_free = th_chat_free,
};
