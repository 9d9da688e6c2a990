/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condenser_browser.c - of what was seen of screens and pages only the newest
 * attention_window results stay; of the others the address is left.
 */
#include "context/condenser.h"

/* A picture among its parts, or a tool that looks at pages. */
static bool is_view(const struct th_transcript_item *item)
{
	struct th_json_raw_iter it = th_json_raw_iter(item->output);

	if (th_str_starts(item->tool, TH_STR("browse")) || th_str_is(item->tool, "computer") ||
	    th_str_is(th_json_raw_get(item->item, "type"), "\"computer_call\""))
		return true;
	while (item->output.len && item->output.ptr[0] == '[' && th_json_raw_next(&it))
		if (th_json_raw_get(it.val, "blob").len)
			return true;
	return false;
}

/* JSON text of a string as it is in arguments or evidence; empty: there is none. */
static struct th_str address(struct th_str object)
{
	struct th_str url =
	    object.len && object.ptr[0] == '{' ? th_json_raw_get(object, "url") : TH_STR("");

	return url.len > 2 && url.ptr[0] == '"' ? url : TH_STR("");
}

static struct th_str words(struct th_condense_plan *p, const struct th_transcript_item *item)
{
	struct th_buf text = TH_BUF_INIT(TH_EVENT_DATA_MAX),
		      arguments = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_str url = address(item->evidence), held;

	if (!url.len && th_json_unescape(th_json_raw_get(item->item, "arguments"), &arguments))
		url = address(th_buf_str(&arguments));
	th_buf_add_cstr(&text, "Visited URL ");
	if (url.len && th_json_unescape(url, &text))
		th_buf_add_char(&text, '\n');
	else
		th_buf_clear(&text);
	th_buf_add_cstr(&text, "Content omitted");
	held = th_arena_str(&p->memory, th_buf_str(&text));
	th_buf_deinit(&text);
	th_buf_deinit(&arguments);
	return held;
}

static void plan(struct th_condense_plan *p)
{
	size_t left = (size_t)p->own.attention_window;

	for (size_t i = p->t->count; i-- > 0;) {
		if (!th_plan_may_mask(p, i) || !is_view(&p->t->list[i]))
			continue;
		if (left)
			left--;
		else
			th_plan_mask(p, i, words(p, &p->t->list[i]));
	}
}

/* Each look is two items at least; the history is looked at when it can be time. */
static bool due(const struct th_agent_condenser *own, uint64_t items, uint64_t fresh)
{
	uint64_t window = (uint64_t)own->attention_window;

	return items > 2 * window && fresh >= 2 * TH_MAX(window / 2, (uint64_t)4);
}

const struct th_condenser th_condenser_browser = {
	.name = "browser_output_masking",
	.summary = "of what was seen of screens and pages the newest attention_window stay",
	.numbers = { "attention_window" },
	.own = { .keep_first = -1, .attention_window = 1 },
	.reasons = TH_CONDENSE_LIMIT,
	.due = due,
	.plan = plan,
};
