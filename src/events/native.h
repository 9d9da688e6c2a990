/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native.h - calls that the Responses API has items of its own for, where
 * other models call functions: shell_call, local_shell_call, apply_patch_call,
 * custom_tool_call and mcp_approval_request.
 *
 * They become calls of the tools that are here, so that rules, approvals,
 * intents and results are the same whatever a model's API is:
 *
 *	shell_call                     shell {"commands":[…],"timeout_ms","max_output_length"}
 *	local_shell_call               shell {"argv":[…],"folder","timeout_ms"}; a program, no text
 *of a shell's; variables by env(1) apply_patch_call               apply_patch {"patch": the
 *envelope of its operations} custom_tool_call               its name {"input": its text}
 *	mcp_approval_request           LABEL.NAME, with the arguments of that tool
 *
 * What cannot be read so stands in the arguments as it came: the tool refuses
 * it with a sentence.  Pure, and total: any item gives a call.
 */
#ifndef TH_EVENTS_NATIVE_H
#define TH_EVENTS_NATIVE_H

#include "base/arena.h"
#include "base/json.h"
#include "events/event.h"

/* MCP: no tool of ours runs; the provider's does, after an approval.  The last three are forms of
 * Anthropic's alone: their calls are functions' by another name (dialects/anthropic_own.c). */
enum th_native {
	TH_NATIVE_NONE,
	TH_NATIVE_SHELL,
	TH_NATIVE_LOCAL_SHELL,
	TH_NATIVE_PATCH,
	TH_NATIVE_CUSTOM,
	TH_NATIVE_MCP,
	TH_NATIVE_BASH,
	TH_NATIVE_EDITOR,
	TH_NATIVE_MEMORY,
	TH_NATIVE_COUNT
};

/* How a tool is offered to models that have a form of their own for it. */
struct th_tool_native {
	enum th_native kind;
	struct th_str format; /* CUSTOM: what the text must be, JSON; empty: any text */
};

/* By an item's "type". */
enum th_native th_native_of_type(struct th_str type);
/* Has the Responses API a form of its own for it?  To it the others are functions. */
bool th_native_is_item(enum th_native kind);
/* The same of the whole item: a function_call or custom_tool_call "apply_patch" that holds
 * operations, or a patch, is a PATCH. */
enum th_native th_native_of(const struct th_json *item, struct th_arena *a);
/* A shell of the provider's own: nothing of it runs here.  Of a tool, or a shell_call. */
bool th_native_is_theirs(const struct th_json *v);
/* The member that names the call: "call_id"; of MCP "id". */
const char *th_native_id_member(enum th_native kind);

/* The call that it is; *ret_arguments is JSON, or what the model wrote in its place. */
void th_native_read(enum th_native kind, const struct th_json *item, struct th_arena *a,
		    struct th_str *ret_tool, struct th_str *ret_arguments);
/* The call of a function that it would be for a model without such items. */
void th_native_as_function(enum th_native kind, const struct th_json *item, struct th_arena *a,
			   struct th_str *ret_name, struct th_str *ret_arguments);

/* The operation of a PATCH, verbatim from where it stands, or of a JSON text in a string; .ptr
 * NULL: it has none, or several. */
struct th_str th_native_operation(const struct th_json *item, struct th_arena *a);

/*
 * The result as an item of the API; not of NONE and CUSTOM, whose results are
 * content.  `item` is the call's.  Of SHELL `evidence` may have what each
 * command wrote, {"commands":[{"stdout","stderr","outcome"}],
 * "max_output_length"}; of MCP it may have a "reason".  Texts are cut at the
 * length that the call asks for.
 */
struct th_native_result {
	struct th_str item, call_id;
	enum th_outcome_status status;
	struct th_str output, evidence; /* of the outcome, JSON */
};
void th_native_put_result(enum th_native kind, const struct th_native_result *r, struct th_jw *w);

#endif
