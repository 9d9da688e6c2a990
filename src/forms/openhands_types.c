/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openhands_types.c - what the members of a V1 event may be, as OpenHands' own classes say.
 *
 * A type is a word: text, whole, share (0 to 1), flag, list, object or any; "=a|b" one of these
 * words; the name of a shape, whose members are rows too; "[T" a list of T; "{T" an object of them;
 * "A/B" one of two; "T?" also null; "S,T" S or T; "!T" must be there.  A number that is written as
 * a text counts, as it does there.
 */
#include "base/limits.h"
#include "forms/openhands.h"

struct row {
	const char *shape, *member, *type;
};

struct fault {
	const char *member, *type; /* the innermost that does not fit; NULL: none */
};

#define EVENT "Event" /* what all of them have */
/* Shapes that take no other members. */
static const char *const closed[] = { "Text", "Class" };

static const struct row rows[] = {
	{ EVENT, "id", "text" },
	{ EVENT, "timestamp", "text" },
	{ EVENT, "parent_id", "text?" },
	{ "Text", "type", "=text" },
	{ "Text", "text", "!text" },
	{ "Text", "cache_prompt", "flag" },
	{ "Text", "enable_truncation", "any" },
	{ "Image", "type", "=image" },
	{ "Image", "image_urls", "![text" },
	{ "Image", "cache_prompt", "flag" },
	{ "Call", "id", "!text" },
	{ "Call", "responses_item_id", "text?" },
	{ "Call", "name", "!text" },
	{ "Call", "arguments", "!text" },
	{ "Call", "origin", "!=completion|responses" },
	{ "Thinking", "type", "=thinking" },
	{ "Thinking", "thinking", "!text" },
	{ "Thinking", "signature", "text?" },
	{ "Redacted", "type", "=redacted_thinking" },
	{ "Redacted", "data", "!text" },
	{ "Reasoning", "id", "text?" },
	{ "Reasoning", "summary", "[text" },
	{ "Reasoning", "content", "[text?" },
	{ "Reasoning", "encrypted_content", "text?" },
	{ "Reasoning", "status", "text?" },
	{ "Critic", "score", "!share" },
	{ "Critic", "message", "!text?" },
	{ "Critic", "metadata", "object?" },
	{ "Class", "kind",
	  "!=auth|quota|rate_limit|config|transient|agent_action|internal|unknown" },
	{ "Class", "retryable", "!flag" },
	{ "Class", "user_action", "=none|retry|settings" },
	{ "Class", "error_id", "text?" },
	{ "Message", "role", "!=user|system|assistant|tool" },
	{ "Message", "content", "[Text/Image,text?" },
	{ "Message", "tool_calls", "[Call?" },
	{ "Message", "tool_call_id", "text?" },
	{ "Message", "name", "text?" },
	{ "Message", "reasoning_content", "text?" },
	{ "Message", "thinking_blocks", "[Thinking/Redacted" },
	{ "Message", "responses_reasoning_item", "Reasoning?" },
	{ "SystemPromptEvent", "system_prompt", "Text" },
	{ "SystemPromptEvent", "tools", "[object" },
	{ "SystemPromptEvent", "dynamic_context", "Text?" },
	{ "MessageEvent", "llm_message", "Message" },
	{ "MessageEvent", "llm_response_id", "text?" },
	{ "MessageEvent", "activated_skills", "[text" },
	{ "MessageEvent", "extended_content", "[Text" },
	{ "MessageEvent", "sender", "text?" },
	{ "MessageEvent", "critic_result", "Critic?" },
	{ "ActionEvent", "thought", "[Text" },
	{ "ActionEvent", "reasoning_content", "text?" },
	{ "ActionEvent", "thinking_blocks", "[Thinking/Redacted" },
	{ "ActionEvent", "responses_reasoning_item", "Reasoning?" },
	{ "ActionEvent", "action", "object?" },
	{ "ActionEvent", "tool_name", "text" },
	{ "ActionEvent", "tool_call_id", "text" },
	{ "ActionEvent", "tool_call", "Call" },
	{ "ActionEvent", "llm_response_id", "text" },
	{ "ActionEvent", "security_risk", "=UNKNOWN|LOW|MEDIUM|HIGH" },
	{ "ActionEvent", "critic_result", "Critic?" },
	{ "ActionEvent", "summary", "text?" },
	{ "ObservationEvent", "tool_name", "text" },
	{ "ObservationEvent", "tool_call_id", "text" },
	{ "ObservationEvent", "observation", "object" },
	{ "ObservationEvent", "action_id", "text" },
	{ "ObservationEvent", "extended_content", "[Text" },
	{ "UserRejectObservation", "tool_name", "text" },
	{ "UserRejectObservation", "tool_call_id", "text" },
	{ "UserRejectObservation", "rejection_reason", "text" },
	{ "UserRejectObservation", "rejection_source", "=user|hook" },
	{ "UserRejectObservation", "action_id", "text" },
	{ "AgentErrorEvent", "tool_name", "text" },
	{ "AgentErrorEvent", "tool_call_id", "text" },
	{ "AgentErrorEvent", "error", "text" },
	{ "AgentErrorEvent", "classification", "Class?" },
	{ "Condensation", "forgotten_event_ids", "[text" },
	{ "Condensation", "summary", "text?" },
	{ "Condensation", "summary_offset", "whole?" },
	{ "Condensation", "llm_response_id", "text" },
	{ "CondensationSummaryEvent", "summary", "text" },
	{ "ConversationStateUpdateEvent", "key", "text" },
	{ "ConversationErrorEvent", "code", "text" },
	{ "ConversationErrorEvent", "detail", "text" },
	{ "ConversationErrorEvent", "classification", "Class?" },
	{ "ServerErrorEvent", "code", "text" },
	{ "ServerErrorEvent", "detail", "text" },
	{ "ServerErrorEvent", "classification", "Class?" },
	{ "HookExecutionEvent", "hook_event_type",
	  "=PreToolUse|PostToolUse|UserPromptSubmit|SessionStart|SessionEnd|Stop" },
	{ "HookExecutionEvent", "hook_command", "text" },
	{ "HookExecutionEvent", "tool_name", "text?" },
	{ "HookExecutionEvent", "success", "flag" },
	{ "HookExecutionEvent", "blocked", "flag" },
	{ "HookExecutionEvent", "exit_code", "whole" },
	{ "HookExecutionEvent", "stdout", "text" },
	{ "HookExecutionEvent", "stderr", "text" },
	{ "HookExecutionEvent", "reason", "text?" },
	{ "HookExecutionEvent", "additional_context", "text?" },
	{ "HookExecutionEvent", "error", "text?" },
	{ "HookExecutionEvent", "action_id", "text?" },
	{ "HookExecutionEvent", "message_id", "text?" },
	{ "HookExecutionEvent", "hook_input", "object?" },
	{ "LLMCompletionLogEvent", "filename", "text" },
	{ "LLMCompletionLogEvent", "log_data", "text" },
	{ "LLMCompletionLogEvent", "model_name", "text" },
	{ "LLMCompletionLogEvent", "usage_id", "text" },
	{ "TokenEvent", "prompt_token_ids", "[whole" },
	{ "TokenEvent", "response_token_ids", "[whole" },
	{ "ACPToolCallEvent", "tool_call_id", "text" },
	{ "ACPToolCallEvent", "title", "text" },
	{ "ACPToolCallEvent", "status", "text?" },
	{ "ACPToolCallEvent", "tool_kind", "text?" },
	{ "ACPToolCallEvent", "content", "list?" },
	{ "ACPToolCallEvent", "is_error", "flag" },
	{ "StreamingDeltaEvent", "content", "text?" },
	{ "StreamingDeltaEvent", "reasoning_content", "text?" },
	{ "SecurityAnalysisEvent", "analyzer", "text" },
	{ "SecurityAnalysisEvent", "policy", "text" },
	{ "SecurityAnalysisEvent", "risks", "{=UNKNOWN|LOW|MEDIUM|HIGH" },
	{ "SecurityAnalysisEvent", "details", "{object" },
};

static bool fits(const struct th_json *v, struct th_str type, struct fault *f);

/* ---- values ---- */

static bool is_real(const struct th_json *v, double *ret)
{
	enum th_json_type type = th_json_type(v);

	if (type == TH_JSON_STR)
		return th_str_f64(th_str_trim(th_json_str(v)), ret);
	*ret = th_json_bool(v, false) ? 1 : th_json_num(v, 0);
	return type == TH_JSON_INT || type == TH_JSON_REAL || type == TH_JSON_BOOL;
}

static bool is_whole(const struct th_json *v)
{
	double number;

	if (th_str_find_char(th_json_str(v), 'e') >= 0 ||
	    th_str_find_char(th_json_str(v), 'E') >= 0)
		return false;
	/* Beyond 2^53 every one is whole. */
	return th_json_type(v) == TH_JSON_INT ||
	       (is_real(v, &number) &&
		(number < -9e15 || number > 9e15 || number == (double)(int64_t)number));
}

static bool is_flag(const struct th_json *v)
{
	static const char *const words[] = { "0", "1", "true", "false", "t",  "f",
					     "y", "n", "yes",  "no",    "on", "off" };
	double number;

	if (th_json_type(v) != TH_JSON_STR)
		return is_real(v, &number) && (number == 0 || number == 1);
	for (size_t i = 0; i < TH_COUNT(words); i++)
		if (th_str_ieq(th_json_str(v), th_str_of(words[i])))
			return true;
	return false;
}

static bool is_word(const struct th_json *v, struct th_str words)
{
	while (words.len)
		if (th_str_eq(th_str_split(&words, '|'), th_json_str(v)))
			return th_json_type(v) == TH_JSON_STR;
	return false;
}

/* ---- shapes ---- */

static bool has_row(const char *shape, struct th_str member)
{
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		if (strcmp(rows[i].shape, shape) == 0 && th_str_is(member, rows[i].member))
			return true;
	return false;
}

static bool is_shape(const struct th_json *v, struct th_str shape, struct fault *f)
{
	for (size_t i = 0; i < TH_COUNT(closed); i++) {
		struct th_json_iter it = th_json_iter(v);

		while (th_str_is(shape, closed[i]) && th_json_next(&it))
			if (!has_row(closed[i], it.key))
				return false;
	}
	for (size_t i = 0; th_json_is_object(v) && i < TH_COUNT(rows); i++) {
		struct th_str type = th_str_of(rows[i].type);
		const struct th_json *member;

		if (!th_str_is(shape, rows[i].shape))
			continue;
		member = th_json_get(v, rows[i].member);
		if (type.ptr[0] == '!')
			type = th_str_sub(type, 1, type.len);
		else if (!member)
			continue;
		if (fits(member, type, f))
			continue;
		if (!f->member)
			*f = (struct fault){ rows[i].member, type.ptr };
		return false;
	}
	return th_json_is_object(v);
}

static bool fits_one(const struct th_json *v, struct th_str type, struct fault *f)
{
	static const struct {
		const char *name;
		enum th_json_type type;
	} plain[] = { { "text", TH_JSON_STR },
		      { "object", TH_JSON_OBJECT },
		      { "list", TH_JSON_ARRAY } };
	double number;

	for (size_t i = 0; i < TH_COUNT(plain); i++)
		if (th_str_is(type, plain[i].name))
			return th_json_type(v) == plain[i].type;
	if (th_str_is(type, "any"))
		return true;
	if (th_str_is(type, "whole"))
		return is_whole(v);
	if (th_str_is(type, "share"))
		return is_real(v, &number) && number >= 0 && number <= 1;
	if (th_str_is(type, "flag"))
		return is_flag(v);
	return type.ptr[0] == '=' ? is_word(v, th_str_sub(type, 1, type.len))
				  : is_shape(v, type, f);
}

/* One of some, with "/" between. */
static bool fits_some(const struct th_json *v, struct th_str types, struct fault *f)
{
	while (types.len) {
		if (!fits_one(v, th_str_split(&types, '/'), f))
			continue;
		*f = (struct fault){};
		return true;
	}
	return false;
}

/* A list, or an object, of which each value is of one type. */
static bool has_each(const struct th_json *v, enum th_json_type type, struct th_str each,
		     struct fault *f)
{
	struct th_json_iter it = th_json_iter(v);
	bool good = th_json_type(v) == type;

	while (good && th_json_next(&it))
		good = fits_some(it.val, each, f);
	return good;
}

static bool fits(const struct th_json *v, struct th_str type, struct fault *f)
{
	while (type.len) {
		struct th_str one = th_str_split(&type, ',');

		if (th_str_ends(one, TH_STR("?"))) {
			if (th_json_type(v) == TH_JSON_NULL)
				return true;
			one.len--;
		}
		if (one.ptr[0] == '[' || one.ptr[0] == '{'
			? has_each(v, one.ptr[0] == '[' ? TH_JSON_ARRAY : TH_JSON_OBJECT,
				   th_str_sub(one, 1, one.len), f)
			: fits_some(v, one, f))
			return true;
	}
	return false;
}

enum th_code th_openhands_v1_types(const char *kind, const struct th_json *event,
				   struct th_err *err)
{
	const char *const shapes[] = { EVENT, kind };
	struct fault f = {};

	for (size_t i = 0; i < TH_COUNT(shapes); i++)
		if (!is_shape(event, th_str_of(shapes[i]), &f))
			return th_fail(err, TH_EPROTO, "%s: %s is not of the type %s", kind,
				       f.member, f.type);
	return TH_OK;
}
