// SPDX-License-Identifier: Apache-2.0
#include "wire.h"

/* The answer against the provider's own response object. */
static void check_response(const char *path, const struct th_json *final,
			   const struct th_json *answer)
{
	const struct th_json *usage = th_json_get(final, "usage"),
			     *got = th_json_get(answer, "usage");
	struct th_str status = th_json_get_str(final, "status");

	wire_equal(path, "items", wire_nothing_ignored, th_json_get(final, "output"),
		   th_json_get(answer, "items"));
	wire_check(th_str_eq(status, th_json_get_str(answer, "status")) ||
		       (th_str_is(th_json_get_str(answer, "status"), "incomplete") &&
			th_str_eq(status, th_json_get_str(answer, "reason"))) ||
		       (!status.len && th_str_is(th_json_get_str(answer, "status"), "completed")),
		   path, "status", th_json_get_str(answer, "status").ptr);
	wire_check(
	    th_json_get_int(usage, "input_tokens", -1) == th_json_get_int(got, "input", -1) &&
		th_json_get_int(usage, "output_tokens", -1) == th_json_get_int(got, "output", -1) &&
		th_json_get_int(usage, "total_tokens", -1) == th_json_get_int(got, "total", -1) &&
		th_json_get_int(th_json_get(usage, "output_tokens_details"), "reasoning_tokens",
				-1) == th_json_get_int(got, "reasoning", -1) &&
		th_json_get_int(th_json_get(usage, "input_tokens_details"), "cached_tokens", -1) ==
		    th_json_get_int(got, "cached", -1),
	    path, "usage", "");
	wire_check(th_str_eq(th_json_get_str(final, "id"), th_json_get_str(answer, "response_id")),
		   path, "id", "");
	if (!th_json_is_null(th_json_get(final, "error")))
		wire_equal(path, "error", wire_nothing_ignored, th_json_get(final, "error"),
			   th_json_get(th_json_get(answer, "error"), "raw"));
}

static const char *const ids[] = { "id", "encrypted_content", NULL };
static const char *const ends[] = { "\"type\":\"response.completed\"",
				    "\"type\": \"response.completed\"",
				    "\"type\":\"response.incomplete\"", NULL };

const struct wire_api wire_api_responses = {
	.name = "responses",
	.model = "responses:any",
	.ends = ends,
	.unfinished_ignored = ids,
	.check = check_response,
};
