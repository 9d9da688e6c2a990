/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profiles_open.c - models of open weights, and servers of anybody's.
 */
#include "models/profiles.h"
#include "models/responses.h"

// clang-format off
const struct th_profile th_profiles_open[] = {
	/* Anything else that speaks the API: "responses:NAME" and "local/NAME" come here too. */
	{ .name = "responses",
	  .pattern = "mock|mock-*|scripted|scripted-*",
	  .wire = &th_wire_responses, .dialect = &th_dialect_native,
	  .base_url_env = "OPENAI_BASE_URL", .key_env = "OPENAI_API_KEY",
	  .computer = TH_COMPUTER_FUNCTION, .vision = true, .reasoning = true,
	  .note = "any server that speaks the Responses API, as responses:NAME; needs a base URL" },
	{ .name = NULL },
};
// clang-format on
