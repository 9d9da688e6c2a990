/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/agent.h"

#include "agents/stuck.h"
#include "agents/subagents.h"
#include "agents/team.h"
#include "base/limits.h"

TH_TABLE(agent_limits, "When a run stops by itself.", false)
TH_TABLE(agent_computer, "The screen the agent may see and touch.", false)

TH_TABLE(agent_instead, "What is said where the run would end without an answer.", false)

// clang-format off
/* `at`: where the condenser's numbers stand in the struct. */
#define CONDENSER_ROWS(at) \
	{ "condenser", (at) + offsetof(struct th_agent_condenser, condenser), TH_FIELD_str, TH_NONEMPTY, \
	  "name of a condenser; see CONTEXT.md", NULL, NULL, false, 0 }, \
	{ "keep", (at) + offsetof(struct th_agent_condenser, keep), TH_FIELD_int, TH_POSITIVE, \
	  "recent, summary: how many of the newest items stay; provider: how many results; default: 100, 3", NULL, NULL, false, 0 }, \
	{ "keep_first", (at) + offsetof(struct th_agent_condenser, keep_first), TH_FIELD_int, TH_NONEG, \
	  "how many of the oldest items stay", NULL, NULL, true, -1 }, \
	{ "max_size", (at) + offsetof(struct th_agent_condenser, max_size), TH_FIELD_int, TH_POSITIVE, \
	  "when the history has more items than this, about half of them stay", NULL, NULL, false, 0 }, \
	{ "max_events", (at) + offsetof(struct th_agent_condenser, max_events), TH_FIELD_int, TH_POSITIVE, \
	  "recent: how many items stay, the first ones included", NULL, NULL, false, 0 }, \
	{ "attention_window", (at) + offsetof(struct th_agent_condenser, attention_window), TH_FIELD_int, \
	  TH_POSITIVE, "how many of the newest results stay as they are", NULL, NULL, false, 0 }, \
	{ "max_event_length", (at) + offsetof(struct th_agent_condenser, max_event_length), TH_FIELD_int, \
	  TH_POSITIVE, "bytes of an item that the model is shown", NULL, NULL, false, 0 }

static const struct th_field condenser_fields[] = { CONDENSER_ROWS(0) };
const struct th_table th_agent_condenser_table = {
	"agent_condenser", "One condenser of a pipeline.", condenser_fields, TH_COUNT(condenser_fields),
	sizeof(struct th_agent_condenser), false
};

#define AT(member) offsetof(struct th_agent_compact, member)
static const struct th_field compact_fields[] = {
	CONDENSER_ROWS(AT(own)),
	{ "condensers", AT(condensers), TH_FIELD_objects, TH_NONEMPTY,
	  "pipeline: those that are tried, in this order", &th_agent_condenser_table, NULL, false, 0 },
	{ "from", AT(from), TH_FIELD_str, TH_NONEMPTY,
	  "instead of a condenser: function of the agent's code that is asked", NULL, NULL, false, 0 },
	{ "items", AT(items), TH_FIELD_int, TH_POSITIVE,
	  "when the history has more items than this; default: 200, where the condenser has no number of its own "
	  "and nothing else is said", NULL, NULL, false, 0 },
	{ "bytes", AT(bytes), TH_FIELD_int, TH_POSITIVE,
	  "when its events have more bytes than this; a screenshot counts as its name", NULL, NULL, false, 0 },
	{ "tokens", AT(tokens), TH_FIELD_int, TH_POSITIVE,
	  "when the next request would have more tokens than this: the last answer's, as the provider counted, and "
	  "an estimate of what came since; default: 3/4 of what the model takes, where that is known and no other "
	  "limit is given, else 9/10", NULL, NULL, false, 0 },
	{ "pins", AT(pins), TH_FIELD_int, TH_POSITIVE,
	  "bytes of the user's messages that stay as they are, the newest; default: 32768, at most a fourth of what "
	  "the model takes", NULL, NULL, false, 0 },
};
#undef AT
// clang-format on
const struct th_table th_agent_compact_table = {
	"agent_compact",
	"What replaces a history that has become too long.",
	compact_fields,
	TH_COUNT(compact_fields),
	sizeof(struct th_agent_compact),
	false
};

TH_TABLE(agent_hooks, "Functions of the agent's code that watch, and programs that may refuse.",
	 false)

#define X(id, name) #name,
static const char *const hook_names[] = { TH_HOOKS(X) NULL };
#undef X

const char *th_hook_name(enum th_hook h)
{
	assert(h < TH_HOOK_COUNT);
	return hook_names[h];
}

struct th_str th_agent_hook(const struct th_agent_hooks *h, enum th_hook hook)
{
#define X(id, name) offsetof(struct th_agent_hooks, name),
	static const size_t at[] = { TH_HOOKS(X) };
#undef X
	struct th_str function = { 0 };

	assert(hook < TH_HOOK_COUNT);
	if (h)
		memcpy(&function, (const char *)h + at[hook], sizeof(function));
	return function;
}

static const char *const unknown_tools[] = { "tell", "fail", NULL };
#define X(id, name, doc) name,
static const char *const guard_stages[] = { TH_GUARD_STAGES(X) NULL };
#undef X

const char *th_guard_stage_name(enum th_guard_stage s)
{
	assert(s < TH_GUARD_STAGE_COUNT);
	return guard_stages[s];
}

int th_guard_stage_find(struct th_str name)
{
	return th_names_find(guard_stages, name);
}

static const char *const unknowns[] = { "tell", "park", NULL };
static const char *const kept[] = { "full", "previous_response", NULL };
static const char *const repeats[] = { "refuse", "ask", NULL };
static const char *const stuck_rules[] = { "thole", "openhands_v0", "openhands_v1", NULL };
static const char *const stuck_thens[] = { "stop", "tell", "ask", NULL };
static const char *const judge_thens[] = { "stop", "finish", NULL };

#define AT(member) offsetof(struct th_agent_model_settings, member)

static const struct th_field settings_fields[] = {
	{ "temperature", AT(temperature), TH_FIELD_num, TH_NONEG, "sampling temperature", NULL,
	  NULL, true, -1 },
	{ "top_p", AT(top_p), TH_FIELD_num, TH_NONEG, "nucleus sampling", NULL, NULL, true, -1 },
	{ "max_output_tokens", AT(max_output_tokens), TH_FIELD_int, TH_POSITIVE,
	  "maximum number of output tokens of one answer", NULL, NULL, false, 0 },
	{ "effort", AT(effort), TH_FIELD_str, TH_NONEMPTY,
	  "reasoning effort, as the provider names it", NULL, NULL, false, 0 },
	{ "summary", AT(summary), TH_FIELD_str, TH_NONEMPTY,
	  "reasoning summary: auto, concise or detailed", NULL, NULL, false, 0 },
	{ "tool_choice", AT(tool_choice), TH_FIELD_str, TH_NONEMPTY,
	  "auto, required, none, or the tool that must be called", NULL, NULL, false, 0 },
	{ "images", AT(images), TH_FIELD_int, TH_POSITIVE,
	  "number of screenshots sent with a request; the newest are sent; default 20", NULL, NULL,
	  false, 0 },
	{ "stream", AT(stream), TH_FIELD_bool, TH_EMIT, "stream answers", NULL, NULL, true, 1 },
	{ "idle_seconds", AT(idle_seconds), TH_FIELD_int, TH_POSITIVE,
	  "a request ends when its server sends nothing for so many seconds; default 300", NULL,
	  NULL, false, 0 },
	{ "total_seconds", AT(total_seconds), TH_FIELD_int, TH_POSITIVE,
	  "maximum duration of a request, seconds; default 3600", NULL, NULL, false, 0 },
	{ "history", AT(history), TH_FIELD_enum, 0,
	  "what a request sends: the whole history, or only what is new since the last response, "
	  "which the provider has stored (Responses and Interactions APIs)",
	  NULL, kept, true, TH_HISTORY_FULL },
	{ "background", AT(background), TH_FIELD_bool, 0,
	  "the provider makes the answer in the background, and it is fetched by its id, also "
	  "after a crash (Responses and Interactions APIs)",
	  NULL, NULL, false, 0 },
	{ "store", AT(store), TH_FIELD_raw, 0,
	  "true or false: whether the provider stores responses (Responses and Interactions APIs); "
	  "default: true where history needs it",
	  NULL, NULL, false, 0 },
	{ "previous_response_id", AT(previous_response_id), TH_FIELD_str, TH_NONEMPTY,
	  "id of a stored response that the session continues from, as with history: "
	  "previous_response (Responses and Interactions APIs)",
	  NULL, NULL, false, 0 },
	{ "conversation", AT(conversation), TH_FIELD_str, TH_NONEMPTY,
	  "id of a conversation at the provider; requests send only what it does not contain yet "
	  "(Responses API)",
	  NULL, NULL, false, 0 },
	{ "parallel_tool_calls", AT(parallel_tool_calls), TH_FIELD_raw, 0,
	  "true or false: whether one answer may contain several calls; default: the provider's "
	  "(Gemini has no such setting)",
	  NULL, NULL, false, 0 },
	{ "extra_body", AT(extra_body), TH_FIELD_raw, 0,
	  "an object that is merged into the body of each request, in the format of the model's "
	  "API; null removes a member; for model only, not for fallback",
	  NULL, NULL, false, 0 },
	{ "extra_headers", AT(extra_headers), TH_FIELD_raw, 0,
	  "additional headers of each request: name -> value; the log shows them, so put no secret "
	  "there; for model only",
	  NULL, NULL, false, 0 },
};

const struct th_table th_agent_model_settings_table = {
	"agent_model_settings",
	"How the model is asked.",
	settings_fields,
	TH_COUNT(settings_fields),
	sizeof(struct th_agent_model_settings),
	false,
};

#undef AT
#define AT(member) offsetof(struct th_agent_stuck, member)

static const struct th_field stuck_fields[] = {
	{ "rules", AT(rules), TH_FIELD_enum, TH_EMIT,
	  "thole: rounds of up to 8 calls, errors, screens that stay the same, nothing new for "
	  "long; "
	  "or the rules of OpenHands",
	  NULL, stuck_rules, true, TH_STUCK_RULES_THOLE },
	{ "then", AT(then), TH_FIELD_enum, TH_EMIT,
	  "stop the run (exit code 5); tell the model, and stop if it goes on so; or pause, so "
	  "that "
	  "a person is asked",
	  NULL, stuck_thens, true, TH_ON_STUCK_STOP },
};

const struct th_table th_agent_stuck_table = {
	"agent_stuck",
	"What is done when the agent repeats itself.",
	stuck_fields,
	TH_COUNT(stuck_fields),
	sizeof(struct th_agent_stuck),
	false,
};

#undef AT
#define AT(member) offsetof(struct th_agent_critic, member)

static const struct th_field critic_fields[] = {
	{ "url", AT(url), TH_FIELD_str, TH_REQ | TH_NONEMPTY,
	  "its server; what was said is posted to URL/classify", NULL, NULL, false, 0 },
	{ "model", AT(model), TH_FIELD_str, TH_NONEMPTY,
	  "the model that it is asked for; default " TH_CRITIC_MODEL_DEFAULT, NULL, NULL, false,
	  0 },
	{ "token_env", AT(token_env), TH_FIELD_str, TH_NONEMPTY,
	  "the variable that has a bearer token for it", NULL, NULL, false, 0 },
	{ "timeout_s", AT(timeout_s), TH_FIELD_int, TH_POSITIVE,
	  "seconds; default 300, at most 600", NULL, NULL, false, 0 },
};
static const struct th_table critic_table = {
	"agent_critic",
	"A classifier that judges, by OpenHands' protocol.",
	critic_fields,
	TH_COUNT(critic_fields),
	sizeof(struct th_agent_critic),
	false,
};

#undef AT
#define AT(member) offsetof(struct th_agent_judge, member)

static const struct th_field judge_fields[] = {
	{ "goal", AT(goal), TH_FIELD_str, TH_NONEMPTY,
	  "what must be reached; default: what the user asked for", NULL, NULL, false, 0 },
	{ "model", AT(model), TH_FIELD_str, TH_NONEMPTY,
	  "another model that judges, by what was said and done; default: the agent's own, on its "
	  "own history",
	  NULL, NULL, false, 0 },
	{ "critic", AT(critic), TH_FIELD_object, 0,
	  "a classifier behind HTTP that judges instead of a model", &critic_table, NULL, false,
	  0 },
	{ "threshold", AT(threshold), TH_FIELD_num, TH_POSITIVE,
	  "score from which on the task counts as done, at most 1; default 0.6", NULL, NULL, false,
	  0 },
	{ "rounds", AT(rounds), TH_FIELD_int, TH_POSITIVE,
	  "maximum number of verdicts in one task; default 3, at most 10", NULL, NULL, false, 0 },
	{ "then", AT(then), TH_FIELD_enum, TH_EMIT,
	  "no round is left: stop at a limit (exit code 4), which a person lets go on; or finish "
	  "with the answer as it is",
	  NULL, judge_thens, true, TH_JUDGE_STOP },
};

const struct th_table th_agent_judge_table = {
	"agent_judge",
	"Whether the task is done, asked before a final output counts.",
	judge_fields,
	TH_COUNT(judge_fields),
	sizeof(struct th_agent_judge),
	false,
};

#undef AT
#define AT(member) offsetof(struct th_agent_guardrail, member)

static const struct th_field guardrail_fields[] = {
	{ "name", AT(name), TH_FIELD_str, TH_REQ | TH_NONEMPTY, "the function of the agent's code",
	  NULL, NULL, false, 0 },
	{ "stage", AT(stage), TH_FIELD_enum, TH_REQ | TH_EMIT, "what it checks", NULL, guard_stages,
	  false, 0 },
	{ "blocking", AT(blocking), TH_FIELD_bool, 0,
	  "input: it ends before the model request begins, instead of running beside it", NULL,
	  NULL, false, 0 },
	{ "tools", AT(tools), TH_FIELD_strs, 0,
	  "tool_input, tool_output: names of tools; default: all", NULL, NULL, false, 0 },
};

const struct th_table th_agent_guardrail_table = {
	"agent_guardrail",          "A check that the agent's code makes.", guardrail_fields,
	TH_COUNT(guardrail_fields), sizeof(struct th_agent_guardrail),      false,
};

#undef AT
#define AT(member) offsetof(struct th_agent, member)

static const struct th_field agent_fields[] = {
	{ "name", AT(name), TH_FIELD_str, TH_NONEMPTY, "name of the agent", NULL, NULL, false, 0 },
	{ "instructions", AT(instructions), TH_FIELD_str, 0,
	  "instructions (system prompt) for the model", NULL, NULL, false, 0 },
	{ "model", AT(model), TH_FIELD_str, TH_NONEMPTY, "model name; see thole models", NULL, NULL,
	  false, 0 },
	{ "fallback", AT(fallback), TH_FIELD_strs, 0,
	  "models to fall back to, in this order, when a model gives no answer", NULL, NULL, false,
	  0 },
	{ "base_url", AT(base_url), TH_FIELD_str, TH_NONEMPTY, "URL of the model's API", NULL, NULL,
	  false, 0 },
	{ "settings", AT(settings), TH_FIELD_object, 0, "settings of model requests",
	  &th_agent_model_settings_table, NULL, false, 0 },
	{ "computer", AT(computer), TH_FIELD_object, 0, "the computer that the agent uses",
	  &th_agent_computer_table, NULL, false, 0 },
	{ "limits", AT(limits), TH_FIELD_object, 0, "limits that stop a run",
	  &th_agent_limits_table, NULL, false, 0 },
	{ "labels", AT(labels), TH_FIELD_strs, 0,
	  "what the node that runs its sessions must have, such as gpu; at most 8 words of 24 "
	  "bytes; a computer of kind desktop needs the label desktop by itself; see FLEET.md",
	  NULL, NULL, false, 0 },
	{ "tools", AT(tools), TH_FIELD_strs, 0,
	  "tools that the agent may call; default: bash, edit, search", NULL, NULL, false, 0 },
	{ "commands", AT(commands), TH_FIELD_objects, 0,
	  "programs as tools; in an agent file they are members of tools, beside the names",
	  &th_agent_command_table, NULL, false, 0 },
	{ "mcp_servers", AT(mcp_servers), TH_FIELD_objects, 0,
	  "servers of tools (MCP), each started when it is first needed", &th_agent_mcp_table, NULL,
	  false, 0 },
	{ "approve", AT(approve), TH_FIELD_strs, 0,
	  "tools whose calls a person must approve, by any of their names; all: every tool", NULL,
	  NULL, false, 0 },
	{ "quarantine", AT(quarantine), TH_FIELD_strs, 0,
	  "patterns of tools whose results the model never sees: a request of its own, without "
	  "tools, reads them, and its short answer takes their place",
	  NULL, NULL, false, 0 },
	{ "quarantine_model", AT(quarantine_model), TH_FIELD_str, TH_NONEMPTY,
	  "the model that reads these; default: the agent's own", NULL, NULL, false, 0 },
	{ "guards_alike", AT(guards_alike), TH_FIELD_bool, 0,
	  "set when a session begins: what guardrails and hooks say of a tool holds for tools that "
	  "do the same, see TOOLS.md; absent in older logs",
	  NULL, NULL, false, 0 },
	{ "approve_seconds", AT(approve_seconds), TH_FIELD_int, TH_POSITIVE,
	  "how long a call waits for a decision before it is refused, also while the session is "
	  "closed; default: no limit",
	  NULL, NULL, false, 0 },
	{ "environment", AT(environment), TH_FIELD_strs, 0,
	  "environment variables of its commands, as NAME=value", NULL, NULL, false, 0 },
	{ "workspace", AT(workspace), TH_FIELD_str, TH_NONEMPTY,
	  "folder that its tools work in; default: the current folder", NULL, NULL, false, 0 },
	{ "secrets", AT(secrets), TH_FIELD_raw, 0,
	  "values that its programs may use and never see: NAME -> {hosts: [HOST], headers: "
	  "[authorization], env: VARIABLE, file: PATH, from: {url: URL} or {command: [PROGRAM]}} "
	  "or "
	  "NAME -> {give: true, tools: [NAME], servers: [NAME], hooks: true}; see SANDBOX.md",
	  NULL, NULL, false, 0 },
	{ "net", AT(net), TH_FIELD_raw, 0,
	  "network access of its commands and desktop: none (default), host, or a list of what "
	  "they "
	  "may reach, such as [files.example, \"*.github.com:443\", \"GET "
	  "deb.example.net/debian/**\"]; "
	  "see SANDBOX.md",
	  NULL, NULL, false, 0 },
	{ "net_ask", AT(net_ask), TH_FIELD_bool, 0,
	  "a connection to a host that net (a list) does not have waits, up to ten minutes, until "
	  "a "
	  "person allows or refuses the host; see SANDBOX.md",
	  NULL, NULL, false, 0 },
	{ "untrusted", AT(untrusted), TH_FIELD_raw, 0,
	  "what a person is asked about once untrusted bytes are in the context: rule_of_two, or "
	  "{origins: [web, mcp, tool, workspace, person], ask: [irreversible, host, outside]}; see "
	  "SANDBOX.md",
	  NULL, NULL, false, 0 },
	{ "unknown", AT(unknown), TH_FIELD_enum, 0,
	  "what is done with an action of unknown outcome: tell the model, or wait for a person "
	  "(thole settle)",
	  NULL, unknowns, true, TH_UNKNOWN_TELL },
	{ "repeat", AT(repeat), TH_FIELD_enum, 0,
	  "what is done with the same action again before the model has checked the outcome: "
	  "refuse it, or ask a person",
	  NULL, repeats, true, TH_REPEAT_REFUSE },
	{ "agents", AT(agents), TH_FIELD_raw, 0,
	  "the other agents of the team: name -> a definition like this one, without agents", NULL,
	  NULL, false, 0 },
	{ "handoffs", AT(handoffs), TH_FIELD_raw, 0,
	  "agents that it may hand over to: names, or objects with agent, tool, description, "
	  "parameters (JSON Schema of the handoff's arguments), filter, nest, enabled",
	  NULL, NULL, false, 0 },
	{ "handoff_description", AT(handoff_description), TH_FIELD_str, 0,
	  "description of this agent for those that may hand over to it", NULL, NULL, false, 0 },
	{ "tool_use_behavior", AT(tool_use_behavior), TH_FIELD_raw, 0,
	  "what happens after a tool's result: run_again (default), stop_on_first_tool, {stop_at: "
	  "[tools]} or {code: function}",
	  NULL, NULL, false, 0 },
	{ "output_schema", AT(output_schema), TH_FIELD_raw, 0,
	  "JSON Schema that the final output must match", NULL, NULL, false, 0 },
	{ "output_retries", AT(output_retries), TH_FIELD_int, TH_NONEG,
	  "how often the model is asked again when its answer does not match; default 2", NULL,
	  NULL, true, TH_OUTPUT_RETRIES_DEFAULT },
	{ "reset_tool_choice", AT(reset_tool_choice), TH_FIELD_bool, 0,
	  "after a tool call, tool_choice is auto again", NULL, NULL, true, 1 },
	{ "nest_history", AT(nest_history), TH_FIELD_bool, 0,
	  "at a handoff the next agent gets the history so far as one message", NULL, NULL, false,
	  0 },
	{ "history_mapper", AT(history_mapper), TH_FIELD_str, TH_NONEMPTY,
	  "function of the agent's code that returns the items that the next agent sees, in place "
	  "of the message of nest_history",
	  NULL, NULL, false, 0 },
	{ "history_markers", AT(history_markers), TH_FIELD_strs, 0,
	  "of the first agent: the lines before and behind a nested history; default "
	  "[\"" TH_NEST_START "\", \"" TH_NEST_END "\"]",
	  NULL, NULL, false, 0 },
	{ "guardrails", AT(guardrails), TH_FIELD_objects, 0,
	  "checks by functions of the agent's code", &th_agent_guardrail_table, NULL, false, 0 },
	{ "instead", AT(instead), TH_FIELD_object, 0,
	  "final output to use where the run would otherwise fail: any JSON value, or {output, "
	  "in_history}",
	  &th_agent_instead_table, NULL, false, 0 },
	{ "unknown_tool", AT(unknown_tool), TH_FIELD_enum, 0,
	  "what is done with a call of a tool that the agent does not have: tell the model, or "
	  "fail",
	  NULL, unknown_tools, true, TH_UNKNOWN_TOOL_TELL },
	{ "rules", AT(rules), TH_FIELD_objects, 0,
	  "which calls run, need a person, or are refused; the first that matches decides",
	  &th_agent_rule_table, NULL, false, 0 },
	{ "approve_from", AT(approve_from), TH_FIELD_str, TH_NONEMPTY,
	  "function of the agent's code that says whether a call needs approval by a person", NULL,
	  NULL, false, 0 },
	{ "decide_from", AT(decide_from), TH_FIELD_str, TH_NONEMPTY,
	  "function of the agent's code that is asked first: it approves a call, rejects it, or "
	  "leaves the decision to a person",
	  NULL, NULL, false, 0 },
	{ "script", AT(script), TH_FIELD_str, TH_NONEMPTY,
	  "Lua 5.4 source with the functions that guardrails, tools, filters and other fields name",
	  NULL, NULL, false, 0 },
	{ "script_file", AT(script_file), TH_FIELD_str, TH_NONEMPTY,
	  "file with that source, relative to the agent file; read when the session begins", NULL,
	  NULL, false, 0 },
	{ "instructions_from", AT(instructions_from), TH_FIELD_str, TH_NONEMPTY,
	  "function of the agent's code that returns the instructions; called before each turn",
	  NULL, NULL, false, 0 },
	{ "hosted_tools", AT(hosted_tools), TH_FIELD_raw, 0,
	  "tools that the provider runs, in the format of its API: [{type: web_search}]; Responses "
	  "API only",
	  NULL, NULL, false, 0 },
	{ "native_tools", AT(native_tools), TH_FIELD_strs, 0,
	  "shell or local_shell, and apply_patch: tools that models of the Responses API get as "
	  "tools of that type; bash, text_editor (the tool edit) and memory: those that Claude "
	  "gets so; other models get functions",
	  NULL, NULL, false, 0 },
	{ "input_filter", AT(input_filter), TH_FIELD_str, TH_NONEMPTY,
	  "function of the agent's code that returns the items that each request sends", NULL, NULL,
	  false, 0 },
	{ "output_withheld", AT(output_withheld), TH_FIELD_str, TH_NONEMPTY,
	  "text that replaces a tool's output when an output guardrail refused it; default: a "
	  "sentence that says so",
	  NULL, NULL, false, 0 },
	{ "hooks", AT(hooks), TH_FIELD_object, 0,
	  "functions of the agent's code that are called when something happens to this agent",
	  &th_agent_hooks_table, NULL, false, 0 },
	{ "run_hooks", AT(run_hooks), TH_FIELD_object, 0,
	  "first agent only: hooks for every agent of the team", &th_agent_hooks_table, NULL, false,
	  0 },
	{ "result_bytes", AT(result_bytes), TH_FIELD_int, TH_POSITIVE,
	  "bytes of a tool's result that the model is shown, its head and its tail; the log has "
	  "all of it, and the tool "
	  "history reads on; at least 1024; default: 49152",
	  NULL, NULL, false, 0 },
	{ "history_items", AT(history_items), TH_FIELD_int, TH_POSITIVE,
	  "number of items from before the task that the model sees; the newest are kept; default: "
	  "all",
	  NULL, NULL, false, 0 },
	{ "session_input", AT(session_input), TH_FIELD_str, TH_NONEMPTY,
	  "function of the agent's code that joins the history with the input of a new task", NULL,
	  NULL, false, 0 },
	{ "compact", AT(compact), TH_FIELD_object, 0, "how a history that is too long is shortened",
	  &th_agent_compact_table, NULL, false, 0 },
	{ "stuck", AT(stuck), TH_FIELD_object, 0,
	  "of the first agent: what is done when it repeats itself; default: nothing",
	  &th_agent_stuck_table, NULL, false, 0 },
	{ "judge", AT(judge), TH_FIELD_object, 0,
	  "of the first agent: its model is asked whether the task is done, before a final output "
	  "counts; default: nobody asks",
	  &th_agent_judge_table, NULL, false, 0 },
	{ "confirm", AT(confirm), TH_FIELD_object, 0,
	  "when a person must approve a call because of its risk; default: never",
	  &th_agent_confirm_table, NULL, false, 0 },
	{ "skills", AT(skills), TH_FIELD_object, 0,
	  "of the first agent: pieces of knowledge in files, docs/SKILLS.md; default: none",
	  &th_agent_skills_table, NULL, false, 0 },
	{ "subagents", AT(subagents), TH_FIELD_object, 0,
	  "of the first agent: agents in Markdown files, which the tool task gives tasks to; "
	  "default: none are read",
	  &th_agent_subagents_table, NULL, false, 0 },
};

const struct th_table th_agent_table = {
	"agent", "An agent file.", agent_fields, TH_COUNT(agent_fields), sizeof(struct th_agent),
	false,
};

/* What native_tools may say, and the tool of ours that is meant. */
static const struct {
	const char *name, *tool;
	enum th_native kind;
} native_tools[] = {
	{ "shell", "shell", TH_NATIVE_SHELL },
	{ "local_shell", "shell", TH_NATIVE_LOCAL_SHELL },
	{ "apply_patch", "apply_patch", TH_NATIVE_PATCH },
	{ "bash", "bash", TH_NATIVE_BASH },
	{ "text_editor", "edit", TH_NATIVE_EDITOR },
	{ "memory", "memory", TH_NATIVE_MEMORY },
};

enum th_native th_agent_native_of(struct th_str name)
{
	for (size_t i = 0; i < TH_COUNT(native_tools); i++)
		if (th_str_is(name, native_tools[i].name))
			return native_tools[i].kind;
	return TH_NATIVE_NONE;
}

const char *th_agent_native_tool(enum th_native kind)
{
	for (size_t i = 0; i < TH_COUNT(native_tools); i++)
		if (native_tools[i].kind == kind)
			return native_tools[i].tool;
	return NULL;
}

const char *th_agent_native_fault(const struct th_agent *a, size_t *ret_at)
{
	bool seen[TH_NATIVE_COUNT] = { 0 };

	for (size_t i = 0; i < a->native_tools.count; i++) {
		enum th_native kind = th_agent_native_of(a->native_tools.list[i]);

		*ret_at = i;
		if (!kind)
			return "must be shell, local_shell, apply_patch, bash, text_editor or "
			       "memory";
		if (seen[kind])
			return "stands there twice";
		seen[kind] = true;
		if (seen[TH_NATIVE_SHELL] && seen[TH_NATIVE_LOCAL_SHELL])
			return "is the same tool in another form: give shell or local_shell";
	}
	return NULL;
}
