/* SPDX-License-Identifier: Apache-2.0 */
#include "models/chat.h"

const struct th_wire th_wire_chat = {
	.name = "chat",
	.key_header = "Authorization",
	.same = "{\"type\":\"text\",\"text\":\"" TH_IMAGE_SAME "\"}",
	.path = th_chat_path,
	.head = th_chat_head,
	.tail = th_chat_tail,
	.group = th_chat_group,
	.request_decode = th_chat_request_decode,
	.request_encode = th_chat_request_encode,
	.decoder_new = th_chat_new,
	.feed = th_chat_feed,
	.finished = th_chat_finished,
	.end = th_chat_end,
	.error = th_chat_error,
	.decoder_free = th_chat_free,
};
