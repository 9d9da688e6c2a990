/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/tool_names.h"

#include <assert.h>

/* Models know these names, and the arguments of these. */
const struct th_tool_alias th_tool_aliases[] = {
	{ "execute_bash", "bash" },                /* OpenHands */
	{ "terminal", "bash" },                    /* OpenHands 1 */
	{ "str_replace_editor", "edit" },          /* OpenHands, Anthropic */
	{ "file_editor", "edit" },                 /* OpenHands 1 */
	{ "str_replace_based_edit_tool", "edit" }, /* Anthropic */
	{ "task_tracker", "task_list" },           /* OpenHands */
	{ "execute_ipython_cell", "python" },      /* OpenHands */
	{ "grep", "search" },                      /* OpenHands 1 */
	{ NULL, NULL },
};

/* What the first does, the second does too, in these calls.  The first four tools of thole stand
 * here beside those that took their place. */
static const struct {
	const char *one, *other;
	unsigned calls;
} alike[] = {
	{ "shell", "bash", TH_TOOL_ANY },
	{ "read_file", "edit", TH_TOOL_LOOKS },
	{ "list_dir", "edit", TH_TOOL_LOOKS },
	{ "write_file", "edit", TH_TOOL_CHANGES },
};

struct th_str th_tool_own_name(struct th_str name)
{
	for (size_t i = 0; th_tool_aliases[i].name; i++)
		if (th_str_is(name, th_tool_aliases[i].name))
			return th_str_of(th_tool_aliases[i].ours);
	return name;
}

enum th_tool_calls th_tool_calls_of(enum th_class class)
{
	return class == TH_CLASS_R || class == TH_CLASS_L ? TH_TOOL_LOOKS : TH_TOOL_CHANGES;
}

static void add(struct th_tool_called *to, struct th_str name)
{
	for (size_t i = 0; i < to->count; i++)
		if (th_str_eq(to->names[i], name))
			return;
	assert(to->count < TH_TOOL_CALLED_MAX);
	to->names[to->count++] = name;
}

static void add_all(struct th_tool_called *to, struct th_str ours)
{
	add(to, ours);
	for (size_t i = 0; th_tool_aliases[i].name; i++)
		if (th_str_is(ours, th_tool_aliases[i].ours))
			add(to, th_str_of(th_tool_aliases[i].name));
}

struct th_tool_called th_tool_called_alone(struct th_str tool)
{
	return (struct th_tool_called){ .names = { tool }, .same = 1, .count = 1 };
}

struct th_tool_called th_tool_called(struct th_str tool, unsigned calls)
{
	struct th_tool_called ret = th_tool_called_alone(tool);
	struct th_str ours = th_tool_own_name(tool);

	add_all(&ret, ours);
	ret.same = ret.count;
	for (size_t i = 0; i < sizeof(alike) / sizeof(*alike); i++) {
		if (th_str_is(ours, alike[i].other) && alike[i].calls & calls)
			add_all(&ret, th_str_of(alike[i].one));
		if (th_str_is(ours, alike[i].one))
			add_all(&ret, th_str_of(alike[i].other));
	}
	return ret;
}

bool th_tool_named(struct th_str named, struct th_str tool)
{
	const struct th_tool_called called = th_tool_called(tool, TH_TOOL_ANY);

	for (size_t i = 0; i < called.count; i++)
		if (th_str_eq(called.names[i], named))
			return true;
	return false;
}
