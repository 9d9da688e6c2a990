/* SPDX-License-Identifier: Apache-2.0 */
#include "models/responses.h"

const struct th_wire th_wire_responses = {
	.name = "responses",
	.path = "/responses",
	.key_header = "Authorization",
	.head = th_responses_head,
	.tail = th_responses_tail,
	.entry = th_responses_entry,
	.decoder_new = th_responses_new,
	.feed = th_responses_feed,
	.finished = th_responses_finished,
	.end = th_responses_end,
	.error = th_responses_error,
	.decoder_free = th_responses_free,
};
