/* SPDX-License-Identifier: Apache-2.0 */
/* openhands_v0.c - the kinds of OpenHands' first generation, and what it says of each. */
#include "base/text.h"
#include "forms/openhands.h"

typedef const struct th_json fields;

static void text_of(fields *f, const char *name, struct th_buf *out)
{
	th_buf_add(out, th_json_get_str(f, name));
}

/* ---- the sentence of each ---- */

#define SAY(name) static void name(fields *f, struct th_str content, struct th_buf *out)

SAY(say_content)
{
	(void)f;
	th_buf_add(out, content);
}

SAY(say_own_content)
{
	(void)content;
	text_of(f, "content", out);
}

SAY(say_run)
{
	(void)content;
	th_buf_add_cstr(out, "Running command: ");
	text_of(f, "command", out);
}

SAY(say_cell)
{
	(void)content;
	th_buf_add_cstr(out, "Running Python code interactively: ");
	text_of(f, "code", out);
}

SAY(say_read)
{
	(void)content;
	th_buf_add_cstr(out, "Reading file: ");
	text_of(f, "path", out);
}

SAY(say_write)
{
	(void)content;
	th_buf_add_cstr(out, "Writing file: ");
	text_of(f, "path", out);
}

SAY(say_browse)
{
	(void)content;
	th_buf_add_cstr(out, "I am browsing the URL: ");
	text_of(f, "url", out);
}

SAY(say_interact)
{
	(void)content;
	th_buf_add_cstr(out, "I am interacting with the browser:\n```\n");
	text_of(f, "browser_actions", out);
	th_buf_add_cstr(out, "\n```");
}

SAY(say_mcp)
{
	(void)content;
	th_buf_add_cstr(out, "I am interacting with the MCP server with name:\n```\n");
	text_of(f, "name", out);
	th_buf_add_cstr(out, "\n```\nand arguments:\n```\n");
	th_python_print(th_json_get(f, "arguments"), out);
	th_buf_add_cstr(out, "\n```");
}

SAY(say_delegate)
{
	(void)content;
	th_buf_add_cstr(out, "I'm asking ");
	text_of(f, "agent", out);
	th_buf_add_cstr(out, " for help with this task.");
}

SAY(say_think)
{
	(void)content;
	th_buf_add_cstr(out, "I am thinking...: ");
	text_of(f, "thought", out);
}

SAY(say_finish)
{
	(void)content;
	if (th_json_get_str(f, "thought").len)
		text_of(f, "thought", out);
	else
		th_buf_add_cstr(out, "All done! What's next on the agenda?");
}

SAY(say_reject)
{
	struct th_str reason = th_json_get_str(th_json_get(f, "outputs"), "reason");

	(void)content;
	th_buf_add_cstr(out, "Task is rejected by the agent.");
	if (reason.ptr)
		th_buf_printf(out, " Reason: %.*s", TH_FMT(reason));
}

SAY(say_recall)
{
	struct th_str rest = th_json_get_str(f, "query"), all = rest;
	uint32_t c;

	(void)content;
	for (int i = 0; i < 50 && th_utf8_next(&rest, &c); i++)
		continue;
	th_buf_add_cstr(out, "Retrieving content for: ");
	th_buf_add(out, th_str_sub(all, 0, all.len - rest.len));
}

/* The ids that are dropped: a list, or a range with both ends. */
static void put_dropped(fields *f, struct th_buf *out)
{
	const struct th_json *list = th_json_get(f, "forgotten_event_ids");
	int64_t from = th_json_get_int(f, "forgotten_events_start_id", 0);
	int64_t to = th_json_get_int(f, "forgotten_events_end_id", -1);

	if (th_json_is_array(list)) {
		th_python_print(list, out);
		return;
	}
	th_buf_add_char(out, '[');
	for (int64_t i = from; i <= to && !out->failed; i++)
		th_buf_printf(out, "%s%lld", i > from ? ", " : "", (long long)i);
	th_buf_add_char(out, ']');
}

SAY(say_condensation)
{
	struct th_str summary = th_json_get_str(f, "summary");

	(void)content;
	if (summary.len) {
		th_buf_printf(out, "Summary: %.*s", TH_FMT(summary));
		return;
	}
	th_buf_add_cstr(out, "Condenser is dropping the events: ");
	put_dropped(f, out);
	th_buf_add_char(out, '.');
}

SAY(say_condense)
{
	(void)f;
	(void)content;
	th_buf_add_cstr(out, "Requesting a condensation of the conversation history.");
}

SAY(say_change)
{
	(void)content;
	th_buf_add_cstr(out, "Agent state changed to ");
	text_of(f, "agent_state", out);
}

SAY(say_tasks)
{
	size_t count = th_json_count(th_json_get(f, "task_list"));

	(void)content;
	if (count == 0)
		th_buf_add_cstr(out, "Clearing the task list.");
	else if (count == 1)
		th_buf_add_cstr(out, "Managing 1 task item.");
	else
		th_buf_printf(out, "Managing %zu task items.", count);
}

SAY(say_null)
{
	(void)f;
	(void)content;
	th_buf_add_cstr(out, "No action");
}

SAY(say_ran)
{
	(void)content;
	th_buf_printf(out, "Command `%.*s` executed with exit code %lld.",
		      TH_FMT(th_json_get_str(f, "command")),
		      (long long)th_json_get_int(th_json_get(f, "metadata"), "exit_code", -1));
}

SAY(say_cell_ran)
{
	(void)f;
	(void)content;
	th_buf_add_cstr(out, "Code executed in IPython cell.");
}

SAY(say_visited)
{
	(void)content;
	th_buf_add_cstr(out, "Visited ");
	text_of(f, "url", out);
}

SAY(say_did_read)
{
	(void)content;
	th_buf_printf(out, "I read the file %.*s.", TH_FMT(th_json_get_str(f, "path")));
}

SAY(say_wrote)
{
	(void)content;
	th_buf_printf(out, "I wrote to the file %.*s.", TH_FMT(th_json_get_str(f, "path")));
}

SAY(say_edited)
{
	(void)content;
	th_buf_printf(out, "I edited the file %.*s.", TH_FMT(th_json_get_str(f, "path")));
}

SAY(say_no_observation)
{
	(void)f;
	(void)content;
	th_buf_add_cstr(out, "No observation");
}

SAY(say_recalled)
{
	bool all = th_str_is(th_json_get_str(f, "recall_type"), "workspace_context");

	(void)content;
	th_buf_add_cstr(out, all ? "Added workspace context" : "Added microagent knowledge");
}

SAY(say_downloaded)
{
	(void)content;
	th_buf_add_cstr(out, "Downloaded the file at location: ");
	text_of(f, "file_path", out);
}

/* ---- their members ---- */

#define RISK                          \
	{                             \
		"security_risk", "-1" \
	}
#define THOUGHT                   \
	{                         \
		"thought", "\"\"" \
	}
#define CONFIRMED                                     \
	{                                             \
		"confirmation_state", "\"confirmed\"" \
	}
#define FIELDS(name) static const struct th_openhands_field name[]

FIELDS(message_fields) = { { "content", NULL },
			   { "file_urls", "null" },
			   { "image_urls", "null" },
			   { "wait_for_response", "false" },
			   RISK };
FIELDS(system_fields) = { { "content", NULL },
			  { "tools", "null" },
			  { "openhands_version", "null" },
			  { "agent_class", "null" } };
FIELDS(run_fields) = { { "command", NULL },
		       { "is_input", "false" },
		       THOUGHT,
		       { "blocking", "false" },
		       { "is_static", "false" },
		       { "cwd", "null" },
		       { "hidden", "false" },
		       CONFIRMED,
		       RISK };
FIELDS(cell_fields) = { { "code", NULL }, THOUGHT, { "include_extra", "true" },
			CONFIRMED,        RISK,    { "kernel_init_code", "\"\"" } };
FIELDS(read_fields) = { { "path", NULL },
			{ "start", "0" },
			{ "end", "-1" },
			THOUGHT,
			RISK,
			{ "impl_source", "\"default\"" },
			{ "view_range", "null" } };
FIELDS(write_fields) = { { "path", NULL }, { "content", NULL },
			 { "start", "0" }, { "end", "-1" },
			 THOUGHT,          RISK };
FIELDS(edit_fields) = { { "path", NULL },
			{ "command", "\"\"" },
			{ "file_text", "null" },
			{ "old_str", "null" },
			{ "new_str", "null" },
			{ "insert_line", "null" },
			{ "content", "\"\"" },
			{ "start", "1" },
			{ "end", "-1" },
			THOUGHT,
			RISK,
			{ "impl_source", "\"oh_aci\"" } };
FIELDS(browse_fields) = { { "url", NULL }, THOUGHT, RISK, { "return_axtree", "false" } };
FIELDS(interact_fields) = { { "browser_actions", NULL },
			    THOUGHT,
			    { "browsergym_send_msg_to_user", "\"\"" },
			    RISK,
			    { "return_axtree", "false" } };
FIELDS(mcp_fields) = { { "name", NULL }, { "arguments", "{}" }, THOUGHT, RISK };
FIELDS(delegate_fields) = { { "agent", NULL }, { "inputs", NULL }, THOUGHT };
FIELDS(think_fields) = { THOUGHT };
FIELDS(finish_fields) = { { "final_thought", "\"\"" }, { "outputs", "{}" }, THOUGHT };
FIELDS(reject_fields) = { { "outputs", "{}" }, THOUGHT };
FIELDS(recall_fields) = { { "recall_type", NULL }, { "query", "\"\"" }, THOUGHT };
FIELDS(condensation_fields) = { { "forgotten_event_ids", "null" },
				{ "forgotten_events_start_id", "null" },
				{ "forgotten_events_end_id", "null" },
				{ "summary", "null" },
				{ "summary_offset", "null" } };
FIELDS(change_fields) = { { "agent_state", NULL }, THOUGHT };
FIELDS(task_fields) = { { "command", "\"view\"" }, { "task_list", "[]" }, THOUGHT };
FIELDS(recovery_fields) = { { "option", "1" } };

FIELDS(ran_fields) = { { "command", NULL }, { "metadata", "{}" }, { "hidden", "false" } };
FIELDS(cell_ran_fields) = { { "code", NULL }, { "image_urls", "null" } };
FIELDS(visited_fields) = { { "url", NULL },
			   { "trigger_by_action", NULL },
			   { "screenshot", "\"\"" },
			   { "screenshot_path", "null" },
			   { "set_of_marks", "\"\"" },
			   { "error", "false" },
			   { "goal_image_urls", "[]" },
			   { "open_pages_urls", "[]" },
			   { "active_page_index", "-1" },
			   { "dom_object", "{}" },
			   { "axtree_object", "{}" },
			   { "extra_element_properties", "{}" },
			   { "last_browser_action", "\"\"" },
			   { "last_browser_action_error", "\"\"" },
			   { "focused_element_bid", "\"\"" },
			   { "filter_visible_only", "false" } };
FIELDS(did_read_fields) = { { "path", NULL }, { "impl_source", "\"default\"" } };
FIELDS(wrote_fields) = { { "path", NULL } };
FIELDS(edited_fields) = { { "path", "\"\"" },
			  { "prev_exist", "false" },
			  { "old_content", "null" },
			  { "new_content", "null" },
			  { "impl_source", "\"llm_based_edit\"" },
			  { "diff", "null" },
			  { "_diff_cache", "null" } };
FIELDS(error_fields) = { { "error_id", "\"\"" } };
FIELDS(changed_fields) = { { "agent_state", NULL }, { "reason", "\"\"" } };
FIELDS(delegated_fields) = { { "outputs", NULL } };
FIELDS(recalled_fields) = { { "recall_type", NULL },
			    { "repo_name", "\"\"" },
			    { "repo_directory", "\"\"" },
			    { "repo_branch", "\"\"" },
			    { "repo_instructions", "\"\"" },
			    { "runtime_hosts", "{}" },
			    { "additional_agent_instructions", "\"\"" },
			    { "date", "\"\"" },
			    { "custom_secrets_descriptions", "{}" },
			    { "conversation_instructions", "\"\"" },
			    { "working_dir", "\"\"" },
			    { "microagent_knowledge", "[]" } };
FIELDS(mcp_done_fields) = { { "name", "\"\"" }, { "arguments", "{}" } };
FIELDS(download_fields) = { { "file_path", NULL } };
FIELDS(tasks_fields) = { { "command", "\"\"" }, { "task_list", "[]" } };

#define ACTION(name, class, fields, say)                                                 \
	{                                                                                \
		name, class, TH_OPENHANDS_ACTION, NULL, fields, TH_COUNT(fields), say, 0 \
	}
#define SEEN(name, class, fields, say, success)                                             \
	{                                                                                   \
		name, class, TH_OPENHANDS_OBSERVATION, NULL, fields, TH_COUNT(fields), say, \
		    success                                                                 \
	}
#define BARE_ACTION(name, class, say)                                   \
	{                                                               \
		name, class, TH_OPENHANDS_ACTION, NULL, NULL, 0, say, 0 \
	}
#define BARE_SEEN(name, class, say)                                          \
	{                                                                    \
		name, class, TH_OPENHANDS_OBSERVATION, NULL, NULL, 0, say, 0 \
	}

const struct th_openhands_kind th_openhands_v0[] = {
	ACTION("message", "MessageAction", message_fields, say_own_content),
	ACTION("system", "SystemMessageAction", system_fields, say_own_content),
	ACTION("run", "CmdRunAction", run_fields, say_run),
	ACTION("run_ipython", "IPythonRunCellAction", cell_fields, say_cell),
	ACTION("read", "FileReadAction", read_fields, say_read),
	ACTION("write", "FileWriteAction", write_fields, say_write),
	ACTION("edit", "FileEditAction", edit_fields, NULL),
	ACTION("browse", "BrowseURLAction", browse_fields, say_browse),
	ACTION("browse_interactive", "BrowseInteractiveAction", interact_fields, say_interact),
	ACTION("call_tool_mcp", "MCPAction", mcp_fields, say_mcp),
	ACTION("delegate", "AgentDelegateAction", delegate_fields, say_delegate),
	ACTION("think", "AgentThinkAction", think_fields, say_think),
	ACTION("finish", "AgentFinishAction", finish_fields, say_finish),
	ACTION("reject", "AgentRejectAction", reject_fields, say_reject),
	ACTION("recall", "RecallAction", recall_fields, say_recall),
	ACTION("condensation", "CondensationAction", condensation_fields, say_condensation),
	BARE_ACTION("condensation_request", "CondensationRequestAction", say_condense),
	ACTION("change_agent_state", "ChangeAgentStateAction", change_fields, say_change),
	ACTION("task_tracking", "TaskTrackingAction", task_fields, say_tasks),
	ACTION("loop_recovery", "LoopRecoveryAction", recovery_fields, NULL),
	BARE_ACTION("null", "NullAction", say_null),
	SEEN("run", "CmdOutputObservation", ran_fields, say_ran, 2),
	SEEN("run_ipython", "IPythonRunCellObservation", cell_ran_fields, say_cell_ran, 1),
	SEEN("browse", "BrowserOutputObservation", visited_fields, say_visited, 0),
	SEEN("read", "FileReadObservation", did_read_fields, say_did_read, 0),
	SEEN("write", "FileWriteObservation", wrote_fields, say_wrote, 0),
	SEEN("edit", "FileEditObservation", edited_fields, say_edited, 0),
	SEEN("error", "ErrorObservation", error_fields, say_content, 0),
	SEEN("agent_state_changed", "AgentStateChangedObservation", changed_fields, NULL, 0),
	SEEN("delegate", "AgentDelegateObservation", delegated_fields, NULL, 0),
	BARE_SEEN("think", "AgentThinkObservation", say_content),
	BARE_SEEN("success", "SuccessObservation", say_content),
	BARE_SEEN("null", "NullObservation", say_no_observation),
	BARE_SEEN("user_rejected", "UserRejectObservation", say_content),
	BARE_SEEN("condense", "AgentCondensationObservation", say_content),
	SEEN("recall", "RecallObservation", recalled_fields, say_recalled, 0),
	SEEN("mcp", "MCPObservation", mcp_done_fields, say_content, 0),
	SEEN("download", "FileDownloadObservation", download_fields, say_downloaded, 0),
	SEEN("task_tracking", "TaskTrackingObservation", tasks_fields, say_content, 0),
	BARE_SEEN("loop_detection", "LoopDetectionObservation", NULL),
};
const size_t th_openhands_v0_count = TH_COUNT(th_openhands_v0);
