/* SPDX-License-Identifier: Apache-2.0 */
#include "anthropic_messages/messages.h"
#include "dialects/list.h"

static const char *const body_agent[] = { "model", "messages", "stream", "tools", NULL };

/* Of the four marks that a request may hold, the head has one. */
#define MESSAGES                                                                                  \
	.name = "messages", .profile = "anthropic-claude", .computers = 1U << TH_COMPUTER_NATIVE, \
	.dialect = &th_dialect_anthropic, .body_agent = body_agent,                               \
	.mark = ",\"cache_control\":{\"type\":\"ephemeral\"}", .marks_max = 3,                    \
	.same = "{\"type\":\"text\",\"text\":\"" TH_IMAGE_SAME "\"}", .path = th_messages_path,   \
	.headers = th_messages_headers, .head = th_messages_head, .tail = th_messages_tail,       \
	.message = th_messages_message, .answer = th_messages_answer,                             \
	.results = th_messages_results, .request_decode = th_messages_request_decode,             \
	.request_encode = th_messages_request_encode, .decoder_new = th_messages_new,             \
	.feed = th_messages_feed, .finished = th_messages_finished, .end = th_messages_end,       \
	.error = th_messages_error, .decoder_free = th_messages_free

const struct th_wire th_wire_messages = { MESSAGES, .key_header = "x-api-key" };
const struct th_wire th_wire_messages_bearer = { MESSAGES, .key_header = "Authorization" };
