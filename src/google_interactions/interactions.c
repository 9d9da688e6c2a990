/* SPDX-License-Identifier: Apache-2.0 */
#include "google_interactions/interactions.h"

#include "dialects/list.h"
#include "google_gemini/gemini.h"

static void path(const struct th_request_options *o, struct th_buf *out)
{
	(void)o;
	th_buf_add_cstr(out, "/interactions");
}

/* A stream is resumed by the name of an event, which is not stored: the whole is fetched. */
static void background_path(struct th_str response_id, int64_t next_event, struct th_buf *out)
{
	(void)next_event;
	th_buf_add_cstr(out, "/interactions/");
	th_buf_add(out, response_id);
}

/* The version whose answers are lists of steps. */
static void headers(const struct th_request_options *o, struct th_buf *out)
{
	(void)o;
	th_buf_add_cstr(out, "Api-Revision: 2026-05-20\n");
}

static void tail(const struct th_request_options *o, struct th_buf *out)
{
	(void)o;
	th_buf_add(out, TH_STR("]}"));
}

static const char *const body_agent[] = { "model", "agent", "input", "stream", "tools", NULL };
static const char *const body_settings[] = { "background", "previous_interaction_id", "store",
					     NULL };

const struct th_wire th_wire_interactions = {
	.name = "interactions",
	.key_header = "x-goog-api-key",
	.profile = "interactions",
	.computers = 1U << TH_COMPUTER_NATIVE,
	.dialect = &th_dialect_gemini,
	.body_agent = body_agent,
	.body_settings = body_settings,
	.background_path = background_path,
	.response_id = th_interactions_id,
	.chains = true,
	.path = path,
	.headers = headers,
	.head = th_interactions_head,
	.tail = tail,
	.message = th_interactions_message,
	.answer = th_interactions_answer,
	.results = th_interactions_results,
	.request_decode = th_interactions_request_decode,
	.request_encode = th_interactions_request_encode,
	.decoder_new = th_interactions_new,
	.feed = th_interactions_feed,
	.finished = th_interactions_finished,
	.end = th_interactions_end,
	.error = th_interactions_error,
	.decoder_free = th_interactions_free,
};
