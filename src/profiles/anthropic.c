/* SPDX-License-Identifier: Apache-2.0 */
/*
 * anthropic.c - the Claude models.  The flavour says how a family is
 * asked to think and which sampling parameters it takes (anthropic_messages/request.c).
 *
 * The version of the computer tool is the one that a family was trained on; an
 * unknown version gets the newest, whose tool needs no beta header.  The first
 * three tools see the screen as XGA: they point best at what they were trained
 * on, and the API would make more than that smaller without saying so.
 */
#include "anthropic_messages/messages.h"
#include "dialects/list.h"
#include "profiles/profiles.h"
#include "profiles/servers.h"

#define OWN                        \
	.wire = &th_wire_messages, \
	SERVER("https://api.anthropic.com", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")
#define CUA .wire = &th_wire_messages_bearer, SERVER_CUA_PLAIN
#define CLAUDE                                                                       \
	.dialect = &th_dialect_anthropic, .strict = true, .vision = true,            \
	.computer = TH_COMPUTER_NATIVE, .images_max = 100, .context_tokens = 200000, \
	.space = { .kind = TH_SPACE_PIXELS }
#define TOOL_2024                                                      \
	.editor = "text_editor_20241022", .tool = "computer_20241022", \
	.beta = "computer-use-2024-10-22", .resize = { .box = { 1024, 768 } }
#define TOOL_2025                                                       \
	.tool = "computer_20250124", .beta = "computer-use-2025-01-24", \
	.resize = { .box = { 1024, 768 } }
#define EDITOR_3_7 .editor = "text_editor_20250124"
#define EDITOR_4 .editor = "text_editor_20250728"
#define TOOL_ZOOM                                                       \
	.tool = "computer_20251124", .beta = "computer-use-2025-11-24", \
	.resize = { .box = { 1024, 768 } }
#define TOOLSET \
	.tool = "computer_toolset_20260801", .resize = { .side_max = 1568, .pixels_max = 1150000 }

// clang-format off
#define ROWS(...) \
	{ .name = "anthropic-claude-3.5-haiku", CLAUDE, __VA_ARGS__, TOOL_2024, \
	  .pattern = "claude-3-5-haiku*|claude-3.5-haiku*", \
	  .output_tokens = 8192, \
	  .price = { .input = 800, .cached = 80, .written = 1000, .output = 4000 }, \
	  .note = "computer_20241022" }, \
	{ .name = "anthropic-claude-3.5", CLAUDE, __VA_ARGS__, TOOL_2024, \
	  .pattern = "claude-3-5*|claude-3.5*", \
	  .output_tokens = 8192, \
	  .price = { .input = 3000, .cached = 300, .written = 3750, .output = 15000 }, \
	  .note = "computer_20241022" }, \
	{ .name = "anthropic-claude-3.7", CLAUDE, __VA_ARGS__, EDITOR_3_7, TOOL_2025, \
	  .pattern = "claude-3-7*|claude-3.7*", \
	  .flavour = "budget", .reasoning = true, .output_tokens = 64000, \
	  .price = { .input = 3000, .cached = 300, .written = 3750, .output = 15000 }, \
	  .note = "computer_20250124" }, \
	{ .name = "anthropic-claude-3", CLAUDE, __VA_ARGS__, TOOL_2024, \
	  .pattern = "claude-3|claude-3-*|claude-2*|claude-instant*", \
	  .output_tokens = 4096, \
	  .note = "computer_20241022" }, \
	{ .name = "anthropic-claude-opus-4.5", CLAUDE, __VA_ARGS__, EDITOR_4, TOOL_ZOOM, \
	  .pattern = "claude-opus-4-5*|claude-opus-4.5*", \
	  .flavour = "budget-1", .reasoning = true, .output_tokens = 64000, \
	  .price = { .input = 5000, .cached = 500, .written = 6250, .output = 25000 }, \
	  .note = "computer_20251124" }, \
	{ .name = "anthropic-claude-opus-4.6", CLAUDE, __VA_ARGS__, EDITOR_4, TOOL_ZOOM, \
	  .pattern = "claude-opus-4-6*|claude-opus-4.6*", \
	  .flavour = "adaptive-1", .reasoning = true, .output_tokens = 128000, \
	  .price = { .input = 5000, .cached = 500, .written = 6250, .output = 25000 }, \
	  .note = "computer_20251124" }, \
	{ .name = "anthropic-claude-sonnet-4.6", CLAUDE, __VA_ARGS__, EDITOR_4, TOOL_ZOOM, \
	  .pattern = "claude-sonnet-4-6*|claude-sonnet-4.6*", \
	  .flavour = "adaptive-1", .reasoning = true, .output_tokens = 64000, \
	  .price = { .input = 3000, .cached = 300, .written = 3750, .output = 15000 }, \
	  .note = "computer_20251124" }, \
	{ .name = "anthropic-claude-4.7", CLAUDE, __VA_ARGS__, EDITOR_4, TOOL_ZOOM, \
	  .pattern = "claude-opus-4-7*|claude-opus-4-8*|claude-opus-4-9*|claude-opus-4.7*|" \
		     "claude-opus-4.8*|claude-opus-4.9*|claude-sonnet-4-7*|claude-sonnet-4-8*|" \
		     "claude-sonnet-4-9*|claude-sonnet-4.7*|claude-sonnet-4.8*|claude-sonnet-4.9*", \
	  .flavour = "adaptive-0", .reasoning = true, .output_tokens = 64000, \
	  .note = "computer_20251124" }, \
	{ .name = "anthropic-claude-opus-4.1", CLAUDE, __VA_ARGS__, EDITOR_4, TOOL_2025, \
	  .pattern = "claude-opus-4-1|claude-opus-4-1-*|claude-opus-4-1@*|claude-opus-4.1|" \
		     "claude-opus-4.1-*", \
	  .flavour = "budget-1", .reasoning = true, .output_tokens = 32000, \
	  .price = { .input = 15000, .cached = 1500, .written = 18750, .output = 75000 }, \
	  .note = "computer_20250124" }, \
	{ .name = "anthropic-claude-opus-4", CLAUDE, __VA_ARGS__, EDITOR_4, TOOL_2025, \
	  .pattern = "claude-opus-4|claude-opus-4-0*|claude-opus-4-2*|claude-opus-4@*|" \
		     "claude-opus-4-latest|claude-4-opus*", \
	  .flavour = "budget-1", .reasoning = true, .output_tokens = 32000, \
	  .price = { .input = 15000, .cached = 1500, .written = 18750, .output = 75000 }, \
	  .note = "computer_20250124" }, \
	{ .name = "anthropic-claude-sonnet-4", CLAUDE, __VA_ARGS__, EDITOR_4, TOOL_2025, \
	  .pattern = "claude-sonnet-4-5*|claude-sonnet-4*|claude-4-sonnet*|claude-4", \
	  .flavour = "budget-1", .reasoning = true, .output_tokens = 64000, \
	  .price = { .input = 3000, .cached = 300, .written = 3750, .output = 15000 }, \
	  .note = "computer_20250124" }, \
	{ .name = "anthropic-claude-haiku-4", CLAUDE, __VA_ARGS__, EDITOR_4, TOOL_2025, \
	  .pattern = "claude-haiku-4*|claude-4-haiku*", \
	  .flavour = "budget-1", .reasoning = true, .output_tokens = 64000, \
	  .price = { .input = 1000, .cached = 100, .written = 1250, .output = 5000 }, \
	  .note = "computer_20250124" }, \
	{ .name = "anthropic-claude-opus-4-other", .newer = true, CLAUDE, __VA_ARGS__, EDITOR_4, TOOL_ZOOM, \
	  .pattern = "claude-opus-4*", \
	  .flavour = "adaptive-0", .reasoning = true, .output_tokens = 64000, \
	  .note = "computer_20251124" }, \
	{ .name = "anthropic-claude", .newer = true, CLAUDE, __VA_ARGS__, EDITOR_4, TOOLSET, \
	  .pattern = "claude|claude-*", \
	  .flavour = "adaptive-0", .reasoning = true, .output_tokens = 64000, \
	  .note = "the computer toolset of 2026 (claude 5 and later)" },

const struct th_profile th_profiles_anthropic[] = { ROWS(OWN) { .name = NULL } };
/* The same models through Cua, whose gateway passes them on. */
const struct th_profile th_profiles_anthropic_at_cua[] = { ROWS(CUA) { .name = NULL } };
// clang-format on
