/* SPDX-License-Identifier: Apache-2.0 */
/* conversation_given.c - what a request puts into a conversation: its metadata and items. */
#include <stdio.h>

#include "model_api/conversation.h"

/* Those that an API of models gives or takes.  What is put into a conversation stays there, and
 * goes to a model with each response after it: another kind would fail them all. */
static const char *const item_types[] = {
	"message",
	"reasoning",
	"function_call",
	"function_call_output",
	"custom_tool_call",
	"custom_tool_call_output",
	"computer_call",
	"computer_call_output",
	"shell_call",
	"shell_call_output",
	"local_shell_call",
	"local_shell_call_output",
	"apply_patch_call",
	"apply_patch_call_output",
	"web_search_call",
	"file_search_call",
	"code_interpreter_call",
	"image_generation_call",
	"tool_search_call",
	"tool_search_output",
	"program",
	"program_output",
	"mcp_list_tools",
	"mcp_call",
	"mcp_approval_request",
	"mcp_approval_response",
};

static bool is_known(struct th_str type)
{
	for (size_t i = 0; i < TH_COUNT(item_types); i++)
		if (th_str_is(type, item_types[i]))
			return true;
	return !type.len;
}

static bool is_metadata(const struct th_json *metadata)
{
	struct th_json_iter it = th_json_iter(metadata);
	bool good = th_json_count(metadata) <= TH_SERVE_PAIRS_MAX &&
		    (th_json_is_null(metadata) || th_json_is_object(metadata));

	while (good && th_json_next(&it))
		good = th_json_type(it.val) == TH_JSON_STR && it.key.len <= TH_SERVE_PAIR_KEY_MAX &&
		       th_json_str(it.val).len <= TH_SERVE_PAIR_VALUE_MAX;
	return good;
}

/* False: it was answered. */
static bool check_items(struct th_access *a, const struct th_json *items)
{
	struct th_json_iter it = th_json_iter(items);
	char param[40], why[200];

	if ((!th_json_is_null(items) && !th_json_is_array(items)) ||
	    th_json_count(items) > TH_SERVE_GIVEN_ITEMS_MAX) {
		th_access_fault(a, 400, "invalid_value", "items", "items is a list of at most 20");
		return false;
	}
	while (th_json_next(&it)) {
		struct th_str type = th_json_get_str(it.val, "type");

		if (th_json_is_object(it.val) && is_known(type))
			continue;
		snprintf(param, sizeof(param), "items[%zu]", it.index);
		if (th_json_is_object(it.val))
			snprintf(why, sizeof(why), "a conversation has no items of the type '%.*s'",
				 TH_FMT(th_str_sub(type, 0, 100)));
		else
			snprintf(why, sizeof(why), "an item is an object");
		th_access_fault(a, 400, "invalid_value", param, why);
		return false;
	}
	return true;
}

static void put_item(const struct th_json *item, struct th_jw *w)
{
	struct th_json_iter member = th_json_iter(item);

	th_jw_object(w);
	if (!th_json_get_str(item, "type").len)
		th_jw_kstr(w, "type", TH_STR("message"));
	while (th_json_next(&member)) {
		th_jw_key(w, member.key);
		th_jw_json(w, member.val);
	}
	th_jw_object_end(w);
}

bool th_conversation_given(struct th_access *a, const struct th_json *body, struct th_buf *out)
{
	const struct th_json *metadata = th_json_get(body, "metadata");
	const struct th_json *items = th_json_get(body, "items");
	struct th_json_iter it = th_json_iter(items);
	struct th_jw w = th_jw(out);

	if (!is_metadata(metadata)) {
		th_access_fault(a, 400, "invalid_value", "metadata",
				"metadata is an object of at most 16 texts");
		return false;
	}
	if (!check_items(a, items))
		return false;
	th_jw_array(&w);
	if (th_json_is_object(metadata)) {
		th_jw_object(&w);
		th_jw_kstr(&w, "type", TH_STR("conversation"));
		th_jw_name(&w, TH_STR("metadata"));
		th_jw_json(&w, metadata);
		th_jw_object_end(&w);
	}
	while (th_json_next(&it))
		put_item(it.val, &w);
	th_jw_array_end(&w);
	return true;
}
