/* SPDX-License-Identifier: Apache-2.0 */
#include "google_gemini/gemini.h"
#include "dialects/list.h"
#include "google_gemini/server.h"
#include "google_gemini/writer.h"

/* The model and whether it is a stream stand in the path. */
static const char *const body_agent[] = { "model", "contents", "stream", "tools", NULL };

#define GEMINI                                                                                   \
	.name = "gemini", .profile = "gemini", .computers = 1U << TH_COMPUTER_NATIVE,            \
	.dialect = &th_dialect_gemini, .body_agent = body_agent, .key_header = "x-goog-api-key", \
	.head = th_gemini_head, .tail = th_gemini_tail, .message = th_gemini_message,            \
	.answer = th_gemini_answer, .results = th_gemini_results,                                \
	.request_decode = th_gemini_request_decode, .request_encode = th_gemini_request_encode,  \
	.decoder_new = th_gemini_new, .feed = th_gemini_feed, .finished = th_gemini_finished,    \
	.end = th_gemini_end, .error = th_gemini_error, .decoder_free = th_gemini_free

/* Cua's base URL is that of all its models. */
static void path_at_cua(const struct th_request_options *o, struct th_buf *out)
{
	th_buf_add_cstr(out, "/gemini/v1beta");
	th_gemini_path(o, out);
}

const struct th_wire th_wire_gemini = { GEMINI, .path = th_gemini_path };
const struct th_wire th_wire_gemini_at_cua = { GEMINI, .path = path_at_cua };
