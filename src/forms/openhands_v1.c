/* SPDX-License-Identifier: Apache-2.0 */
/* openhands_v1.c - the kinds of OpenHands' second generation. */
#include "forms/openhands.h"

#define FIELDS(name) static const struct th_openhands_field name[]
#define MAYBE(name)      \
	{                \
		name, "" \
	}

FIELDS(system_fields) = { { "system_prompt", NULL }, { "tools", NULL }, MAYBE("dynamic_context") };
FIELDS(message_fields) = {
	{ "llm_message", NULL },      MAYBE("llm_response_id"), { "activated_skills", "[]" },
	{ "extended_content", "[]" }, MAYBE("sender"),          MAYBE("critic_result")
};
FIELDS(action_fields) = { { "thought", NULL },
			  MAYBE("reasoning_content"),
			  { "thinking_blocks", "[]" },
			  MAYBE("responses_reasoning_item"),
			  MAYBE("action"),
			  { "tool_name", NULL },
			  { "tool_call_id", NULL },
			  { "tool_call", NULL },
			  { "llm_response_id", NULL },
			  { "security_risk", "\"UNKNOWN\"" },
			  MAYBE("critic_result"),
			  MAYBE("summary") };
FIELDS(seen_fields) = { { "tool_name", NULL },
			{ "tool_call_id", NULL },
			{ "observation", NULL },
			{ "action_id", NULL },
			{ "extended_content", "[]" } };
FIELDS(reject_fields) = { { "tool_name", NULL },
			  { "tool_call_id", NULL },
			  { "rejection_reason", "\"User rejected the action\"" },
			  { "rejection_source", "\"user\"" },
			  { "action_id", NULL } };
FIELDS(error_fields) = {
	{ "tool_name", NULL }, { "tool_call_id", NULL }, { "error", NULL }, MAYBE("classification")
};
FIELDS(condensation_fields) = { { "forgotten_event_ids", "[]" },
				MAYBE("summary"),
				MAYBE("summary_offset"),
				{ "llm_response_id", NULL } };
FIELDS(summary_fields) = { { "summary", NULL } };
FIELDS(failure_fields) = { { "code", NULL }, { "detail", NULL }, MAYBE("classification") };
FIELDS(hook_fields) = {
	{ "hook_event_type", NULL }, { "hook_command", NULL }, MAYBE("tool_name"),
	{ "success", NULL },         { "blocked", "false" },   { "exit_code", NULL },
	{ "stdout", "\"\"" },        { "stderr", "\"\"" },     MAYBE("reason"),
	MAYBE("additional_context"), MAYBE("error"),           MAYBE("action_id"),
	MAYBE("message_id"),         MAYBE("hook_input")
};
FIELDS(acp_fields) = { { "tool_call_id", NULL }, { "title", NULL },      MAYBE("status"),
		       MAYBE("tool_kind"),       MAYBE("raw_input"),     MAYBE("raw_output"),
		       MAYBE("content"),         { "is_error", "false" } };
FIELDS(update_fields) = { MAYBE("key"), { "value", "{}" } };
FIELDS(log_fields) = { { "filename", NULL },
		       { "log_data", NULL },
		       { "model_name", "\"unknown\"" },
		       { "usage_id", "\"default\"" } };
FIELDS(delta_fields) = { MAYBE("content"), MAYBE("reasoning_content") };
FIELDS(token_fields) = { { "prompt_token_ids", NULL }, { "response_token_ids", NULL } };
FIELDS(security_fields) = {
	{ "analyzer", NULL }, { "policy", NULL }, { "risks", NULL }, { "details", "{}" }
};

#define KIND(class, source, fields)                                                        \
	{                                                                                  \
		class, class, TH_OPENHANDS_FLAT, source, fields, TH_COUNT(fields), NULL, 0 \
	}
#define BARE(class, source)                                               \
	{                                                                 \
		class, class, TH_OPENHANDS_FLAT, source, NULL, 0, NULL, 0 \
	}

const struct th_openhands_kind th_openhands_v1[] = {
	KIND("SystemPromptEvent", "agent", system_fields),
	KIND("MessageEvent", NULL, message_fields),
	KIND("ActionEvent", "agent", action_fields),
	KIND("ObservationEvent", "environment", seen_fields),
	KIND("UserRejectObservation", "environment", reject_fields),
	KIND("AgentErrorEvent", "agent", error_fields),
	KIND("Condensation", "environment", condensation_fields),
	BARE("CondensationRequest", "environment"),
	KIND("CondensationSummaryEvent", "environment", summary_fields),
	BARE("PauseEvent", "user"),
	BARE("InterruptEvent", "user"),
	KIND("ConversationStateUpdateEvent", "environment", update_fields),
	KIND("ConversationErrorEvent", NULL, failure_fields),
	KIND("ServerErrorEvent", NULL, failure_fields),
	KIND("HookExecutionEvent", "hook", hook_fields),
	KIND("LLMCompletionLogEvent", "environment", log_fields),
	KIND("TokenEvent", NULL, token_fields),
	KIND("ACPToolCallEvent", "agent", acp_fields),
	KIND("StreamingDeltaEvent", "agent", delta_fields),
	KIND("SecurityAnalysisEvent", "environment", security_fields),
};
const size_t th_openhands_v1_count = TH_COUNT(th_openhands_v1);
