/* SPDX-License-Identifier: Apache-2.0 */
#include "openai_chat/writer.h"

#define THINKING TH_CHAT_EFFORT_THINKING
#define TEXT "reasoning_content"

/* The first takes whatever has no row of its own. */
// clang-format off
static const struct th_chat_flavour flavours[] = {
	{ .name = NULL, .back = "*" },
	{ .name = "openai", .new_limit = true, .back = "" },
	{ .name = "azure", .new_limit = true, .back = "" },
	{ .name = "openrouter", .effort = TH_CHAT_EFFORT_OBJECT,
	  .back = "reasoning|reasoning_details|annotations", .marks = true },
	{ .name = "litellm", .back = "*", .marks = true },
	{ .name = "deepseek", .effort = THINKING, .no_schema = true, .back = TEXT, .thinks_in_calls = true },
	{ .name = "moonshot", .effort = THINKING, .no_schema = true, .back = TEXT },
	{ .name = "zai", .effort = THINKING, .no_schema = true, .back = TEXT },
	{ .name = "dashscope", .no_schema = true, .back = TEXT },
	{ .name = "minimax", .no_schema = true, .back = "reasoning_details" },
	{ .name = "fireworks", .back = TEXT },
	{ .name = "xai", .new_limit = true, .back = TEXT },
	{ .name = "groq", .new_limit = true, .back = "reasoning" },
	{ .name = "cerebras", .new_limit = true, .back = "" },
	{ .name = "together", .back = "reasoning" },
	{ .name = "mistral", .no_stream_options = true, .back = "prefix", .short_ids = true,
	  .answer_first = true },
	{ .name = "gemini", .back = "extra_content|thought_signature" },
};
// clang-format on

const struct th_chat_flavour *th_chat_flavour_of(const struct th_profile *p)
{
	for (size_t i = 1; p->flavour && i < TH_COUNT(flavours); i++)
		if (!strcmp(p->flavour, flavours[i].name))
			return &flavours[i];
	return &flavours[p->strict ? 1 : 0];
}

/* A provider that caches only what is marked is known by its models' name. */
bool th_chat_marks(const struct th_request_options *o)
{
	static const struct th_str name = { "claude", 6 };

	if (!th_chat_flavour_of(o->profile)->marks)
		return false;
	for (size_t i = 0; i + name.len <= o->model.len; i++)
		if (th_str_istarts(th_str_sub(o->model, i, name.len), name))
			return true;
	return false;
}
