/* SPDX-License-Identifier: Apache-2.0 */
/*
 * google.c - Gemini.  `flavour` "gemini-2" is what stands before the
 * third generation, see th_gemini_is_old; `tool` is the environment that
 * computer use is declared with.
 */
#include "dialects/list.h"
#include "google_gemini/gemini.h"
#include "google_interactions/interactions.h"
#include "profiles/profiles.h"
#include "profiles/servers.h"

#define GOOGLE_SERVER                                                                 \
	SERVER("https://generativelanguage.googleapis.com/v1beta", "GEMINI_BASE_URL", \
	       "GEMINI_API_KEY|GOOGLE_API_KEY")
#define OWN .wire = &th_wire_gemini, GOOGLE_SERVER
#define INTERACTIONS .wire = &th_wire_interactions, GOOGLE_SERVER
#define CUA .wire = &th_wire_gemini_at_cua, SERVER_CUA_PLAIN
#define GOOGLE                                                         \
	.dialect = &th_dialect_gemini, .strict = true, .vision = true, \
	.space = { .kind = TH_SPACE_NORM, .max = 1000 }

// clang-format off
#define ROWS(N, P, ...) \
	{ .name = N "gemini-computer-use-preview", GOOGLE, __VA_ARGS__, \
	  .pattern = P "gemini-2.5-computer-use*", \
	  .computer = TH_COMPUTER_NATIVE, .tool = "ENVIRONMENT_BROWSER", .flavour = "gemini-2", \
	  .reasoning = true, .context_tokens = 128000, .output_tokens = 64000, \
	  .price = { .input = 1250, .cached = 1250, .output = 10000 }, \
	  .note = "computer use, first generation" }, \
	{ .name = N "gemini-media", GOOGLE, __VA_ARGS__, \
	  .pattern = P "gemini-*-image*" "|" P "gemini-*-tts*" "|" P "gemini-*-audio*" "|" P "gemini-embedding*", \
	  .computer = TH_COMPUTER_NONE, .flavour = "gemini-2", \
	  .note = "pictures or speech, no computer" }, \
	{ .name = N "gemini-2.0-flash", GOOGLE, __VA_ARGS__, \
	  .pattern = P "gemini-2.0-flash" "|" P "gemini-2.0-flash-0*", \
	  .computer = TH_COMPUTER_DIALECT, .flavour = "gemini-2", \
	  .context_tokens = 1048576, .output_tokens = 8192, \
	  .price = { .input = 100, .cached = 25, .output = 400 }, \
	  .note = "computer as functions" }, \
	{ .name = N "gemini-2.0", GOOGLE, __VA_ARGS__, \
	  .pattern = P "gemini-1*" "|" P "gemini-2.0*" "|" P "gemini-pro" "|" P "gemini-pro-vision", \
	  .computer = TH_COMPUTER_DIALECT, .flavour = "gemini-2", \
	  .context_tokens = 1048576, .output_tokens = 8192, \
	  .note = "computer as functions" }, \
	{ .name = N "gemini-2.5-flash-lite", GOOGLE, __VA_ARGS__, \
	  .pattern = P "gemini-2.5-flash-lite*", \
	  .computer = TH_COMPUTER_DIALECT, .flavour = "gemini-2", .reasoning = true, \
	  .context_tokens = 1048576, .output_tokens = 65536, \
	  .price = { .input = 100, .cached = 10, .output = 400 }, \
	  .note = "computer as functions" }, \
	{ .name = N "gemini-2.5-flash", GOOGLE, __VA_ARGS__, \
	  .pattern = P "gemini-2.5-flash*", \
	  .computer = TH_COMPUTER_DIALECT, .flavour = "gemini-2", .reasoning = true, \
	  .context_tokens = 1048576, .output_tokens = 65536, \
	  .price = { .input = 300, .cached = 30, .output = 2500 }, \
	  .note = "computer as functions" }, \
	{ .name = N "gemini-2.5", GOOGLE, __VA_ARGS__, \
	  .pattern = P "gemini-2*", \
	  .computer = TH_COMPUTER_DIALECT, .flavour = "gemini-2", .reasoning = true, \
	  .context_tokens = 1048576, .output_tokens = 65536, \
	  .price = { .input = 1250, .cached = 125, .output = 10000 }, \
	  .note = "computer as functions" }, \
	{ .name = N "gemini-3-flash", GOOGLE, __VA_ARGS__, \
	  .pattern = P "gemini-3-flash*", \
	  .computer = TH_COMPUTER_NATIVE, .tool = "ENVIRONMENT_DESKTOP", .reasoning = true, \
	  .context_tokens = 1048576, .output_tokens = 65536, \
	  .price = { .input = 500, .cached = 50, .output = 3000 }, \
	  .note = "computer use, second generation" }, \
	{ .name = N "gemini-3-pro", GOOGLE, __VA_ARGS__, \
	  .pattern = P "gemini-3-pro*" "|" P "gemini-3.1-pro*", \
	  .computer = TH_COMPUTER_DIALECT, .reasoning = true, \
	  .context_tokens = 1048576, .output_tokens = 65536, \
	  .price = { .input = 2000, .cached = 200, .output = 12000 }, \
	  .note = "computer as functions" }, \
	/* Versions newer than this table. */ \
	{ .name = N "gemini-flash", .newer = true, GOOGLE, __VA_ARGS__, \
	  .pattern = P "gemini-*flash*" "|" P "gemini-*computer-use*" "|" P "gemini-flash*", \
	  .computer = TH_COMPUTER_NATIVE, .tool = "ENVIRONMENT_DESKTOP", .reasoning = true, \
	  .context_tokens = 1048576, .output_tokens = 65536, \
	  .note = "computer use, second generation" }, \
	{ .name = N "gemini", .newer = true, GOOGLE, __VA_ARGS__, \
	  .pattern = P "gemini-*", \
	  .computer = TH_COMPUTER_DIALECT, .reasoning = true, \
	  .context_tokens = 1048576, .output_tokens = 65536, \
	  .note = "computer as functions" },

const struct th_profile th_profiles_google[] = { ROWS("", "", OWN) { .name = NULL } };
/* The same models through the Interactions API, which a name or a models file asks for. */
const struct th_profile th_profiles_google_interactions[] = {
	ROWS("interactions-", "interactions:", INTERACTIONS)
	{ .name = "interactions", GOOGLE, INTERACTIONS, .pattern = "interactions:*",
	  .computer = TH_COMPUTER_DIALECT, .reasoning = true,
	  .note = "any model of the Interactions API, as interactions:NAME" },
	{ .name = NULL }
};
/* The same models through Cua, whose gateway passes them on. */
const struct th_profile th_profiles_google_at_cua[] = { ROWS("", "", CUA) { .name = NULL } };
// clang-format on
