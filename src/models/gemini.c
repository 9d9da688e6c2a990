/* SPDX-License-Identifier: Apache-2.0 */
#include "models/gemini.h"
#include "models/gemini_server.h"
#include "models/gemini_writer.h"

const struct th_wire th_wire_gemini = {
	.name = "gemini",
	.key_header = "x-goog-api-key",
	.path = th_gemini_path,
	.head = th_gemini_head,
	.tail = th_gemini_tail,
	.group = th_gemini_group,
	.request_decode = th_gemini_request_decode,
	.request_encode = th_gemini_request_encode,
	.decoder_new = th_gemini_new,
	.feed = th_gemini_feed,
	.finished = th_gemini_finished,
	.end = th_gemini_end,
	.error = th_gemini_error,
	.decoder_free = th_gemini_free,
};
