/* SPDX-License-Identifier: Apache-2.0 */
#include "openai_responses/responses.h"

static void path(const struct th_request_options *o, struct th_buf *out)
{
	(void)o;
	th_buf_add_cstr(out, "/responses");
}

static void background_path(struct th_str response_id, int64_t next_event, struct th_buf *out)
{
	th_buf_add_cstr(out, "/responses/");
	th_buf_add(out, response_id);
	if (next_event > 0)
		th_buf_printf(out, "?stream=true&starting_after=%lld", (long long)next_event - 1);
}

static const char *const body_agent[] = { "model", "input", "stream", "tools", NULL };
static const char *const body_settings[] = { "background", "conversation", "previous_response_id",
					     "store", NULL };

const struct th_wire th_wire_responses = {
	.name = "responses",
	.key_header = "Authorization",
	.background_path = background_path,
	.response_id = th_responses_id,
	.profile = "responses",
	.computers = 1U << TH_COMPUTER_PREVIEW | 1U << TH_COMPUTER_GA,
	.hosted_tools = true,
	.body_agent = body_agent,
	.body_settings = body_settings,
	.chains = true,
	.conversations = true,
	.path = path,
	.head = th_responses_head,
	.tail = th_responses_tail,
	.message = th_responses_message,
	.answer = th_responses_answer,
	.results = th_responses_results,
	.request_decode = th_responses_request_decode,
	.request_encode = th_responses_request_encode,
	.decoder_new = th_responses_new,
	.feed = th_responses_feed,
	.finished = th_responses_finished,
	.end = th_responses_end,
	.error = th_responses_error,
	.decoder_free = th_responses_free,
};
