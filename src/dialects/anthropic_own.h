/* SPDX-License-Identifier: Apache-2.0 */
/*
 * anthropic_own.h - tools of ours in the form that Anthropic's models were
 * trained on: {"type":"bash_20250124","name":"bash"} in place of a description
 * and a schema.
 *
 * A call of one is a tool_use like any other, by the name that the form has;
 * the dialect gives it the name of our tool, so that rules, approvals, log and
 * results are those of that tool.  Pure.
 */
#ifndef TH_DIALECTS_ANTHROPIC_OWN_H
#define TH_DIALECTS_ANTHROPIC_OWN_H

#include "models/model.h"

struct th_own_form {
	const char *type, *name; /* "text_editor_20250728", "str_replace_based_edit_tool" */
	const char *beta;        /* that it needs; NULL: none */
};

/* The form that `tools[index]` has for this profile; NULL: it is a function. */
const struct th_own_form *th_own_form_of(const struct th_profile *p,
					 const struct th_tool_spec *tools, size_t count,
					 size_t index);
/* The name that the model knows the tool by, and the other way round; as it is where there is no
 * such form, and *ret_kind is TH_NATIVE_NONE then. */
struct th_str th_own_form_name(const struct th_profile *p, const struct th_tool_spec *tools,
			       size_t count, struct th_str tool);
struct th_str th_own_form_tool(const struct th_profile *p, const struct th_tool_spec *tools,
			       size_t count, struct th_str name, enum th_native *ret_kind);

#endif
