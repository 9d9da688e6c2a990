/* SPDX-License-Identifier: Apache-2.0 */
#include "dialects/anthropic_own.h"

#include "dialects/dialect.h"

#define OLD_BETA "computer-use-2024-10-22"

/* What came out with each version of the editor.  A type that is NULL: there was none yet. */
static const struct {
	const char *editor;
	struct th_own_form forms[TH_NATIVE_COUNT];
} rows[] = {
	{ "text_editor_20241022",
	  { [TH_NATIVE_BASH] = { "bash_20241022", "bash", OLD_BETA },
	    [TH_NATIVE_EDITOR] = { "text_editor_20241022", "str_replace_editor", OLD_BETA } } },
	{ "text_editor_20250124",
	  { [TH_NATIVE_BASH] = { "bash_20250124", "bash", NULL },
	    [TH_NATIVE_EDITOR] = { "text_editor_20250124", "str_replace_editor", NULL } } },
	{ "text_editor_20250728",
	  { [TH_NATIVE_BASH] = { "bash_20250124", "bash", NULL },
	    [TH_NATIVE_EDITOR] = { "text_editor_20250728", "str_replace_based_edit_tool", NULL },
	    [TH_NATIVE_MEMORY] = { "memory_20250818", "memory", NULL } } },
};

const struct th_own_form *th_own_form_of(const struct th_profile *p,
					 const struct th_tool_spec *tools, size_t count,
					 size_t index)
{
	const struct th_tool_native *native = tools[index].native;
	const struct th_own_form *form = NULL;

	if (!native || !p->editor || strcmp(p->dialect->name, "anthropic") != 0)
		return NULL;
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		if (!strcmp(rows[i].editor, p->editor) && rows[i].forms[native->kind].type)
			form = &rows[i].forms[native->kind];
	/* A name stands for one tool. */
	for (size_t i = 0; form && i < count; i++)
		if (i != index && th_str_is(tools[i].name, form->name))
			return NULL;
	return form;
}

struct th_str th_own_form_name(const struct th_profile *p, const struct th_tool_spec *tools,
			       size_t count, struct th_str tool)
{
	for (size_t i = 0; i < count; i++) {
		const struct th_own_form *form = th_own_form_of(p, tools, count, i);

		if (form && th_str_eq(tools[i].name, tool))
			return th_str_of(form->name);
	}
	return tool;
}

struct th_str th_own_form_tool(const struct th_profile *p, const struct th_tool_spec *tools,
			       size_t count, struct th_str name, enum th_native *ret_kind)
{
	*ret_kind = TH_NATIVE_NONE;
	for (size_t i = 0; i < count; i++) {
		const struct th_own_form *form = th_own_form_of(p, tools, count, i);

		if (!form || !th_str_is(name, form->name))
			continue;
		*ret_kind = tools[i].native->kind;
		return tools[i].name;
	}
	return name;
}
