/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condenser_structured.c - as llm, and the model fills in a form, which is shown
 * as a list.
 *
 * It answers with a JSON object and not with the call of a tool: another list of
 * tools would be another prefix, and nothing of the provider's cache would hold.
 */
#include "context/condenser.h"

#define TH_FIELDS_state_summary(F)                                                             \
	F(state_summary, str, user_context, "user_context", TH_REQ,                            \
	  "what the user wants, with every rule and clarification")                            \
	F(state_summary, str, completed_tasks, "completed_tasks", TH_REQ, "what was done")     \
	F(state_summary, str, pending_tasks, "pending_tasks", TH_REQ, "what remains")          \
	F(state_summary, str, current_state, "current_state", 0, "what is known now")          \
	F(state_summary, str, files_modified, "files_modified", 0, "files that were changed")  \
	F(state_summary, str, function_changes, "function_changes", 0, "functions changed")    \
	F(state_summary, str, data_structures, "data_structures", 0, "data structures in use") \
	F(state_summary, str, tests_written, "tests_written", 0, "were tests written")         \
	F(state_summary, str, tests_passing, "tests_passing", 0, "do all tests pass")          \
	F(state_summary, str, failing_tests, "failing_tests", 0, "names of tests that fail")   \
	F(state_summary, str, error_messages, "error_messages", 0, "errors that matter")       \
	F(state_summary, str, branch_created, "branch_created", 0, "was a branch made")        \
	F(state_summary, str, branch_name, "branch_name", 0, "its name")                       \
	F(state_summary, str, commits_made, "commits_made", 0, "were commits made")            \
	F(state_summary, str, pr_created, "pr_created", 0, "was a pull request made")          \
	F(state_summary, str, pr_status, "pr_status", 0, "its state")                          \
	F(state_summary, str, dependencies, "dependencies", 0, "libraries and calls outside")  \
	F(state_summary, str, other_relevant_context, "other_relevant_context", 0,             \
	  "what else matters")
TH_STRUCT(state_summary)
TH_TABLE(state_summary, "A state of work.", true)

static const char before[] =
    "The conversation above has become too long. Its older part is replaced by a form that you "
    "fill "
    "in now. Call no tool, and do not go on with the task in this answer. Answer with one JSON "
    "object and nothing else, whose members are strings:\n";

static void ask(const struct th_condense_plan *p, struct th_buf *text)
{
	struct th_buf words = TH_BUF_INIT(16 * TH_KIB);
	const struct th_table *t = &th_state_summary_table;

	th_buf_add_cstr(&words, before);
	for (size_t i = 0; i < t->count; i++)
		th_buf_printf(&words, "%s: %s%s\n", t->fields[i].name, t->fields[i].doc,
			      t->fields[i].flags & TH_REQ ? " (must be there)" : "");
	th_buf_add_cstr(&words, "Keep names, paths, numbers and ids exactly, and carry on what an "
				"earlier summary says.");
	th_buf_add_char(&words, '\0');
	th_plan_ask(p, words.ptr, text);
	th_buf_deinit(&words);
}

/* "files_modified" as "Files modified". */
static void put_title(const char *name, struct th_buf *out)
{
	for (size_t i = 0; name[i]; i++)
		th_buf_add_char(out, name[i] == '_' ? ' '
				     : i == 0       ? (char)(name[i] - 'a' + 'A')
						    : name[i]);
}

static enum th_code read_form(struct th_str text, struct th_buf *out, struct th_err *err)
{
	struct th_json_doc *doc = NULL;
	struct th_arena memory;
	struct th_state_summary form;
	enum th_code code;

	th_arena_init(&memory, TH_TURN_MEMORY_MAX);
	code = th_condenser_json(text, &doc, err);
	if (!code)
		code =
		    th_table_parse(&th_state_summary_table, th_json_root(doc), &memory, &form, err);
	for (size_t i = 0; i < th_state_summary_table.count && !code; i++) {
		const struct th_field *f = &th_state_summary_table.fields[i];
		const struct th_str *value =
		    (const struct th_str *)(const void *)((const char *)&form + f->offset);

		if (!value->len)
			continue;
		th_buf_add_cstr(out, out->len ? "\n- **" : "- **");
		put_title(f->name, out);
		th_buf_printf(out, "**: %.*s", TH_FMT(*value));
	}
	th_json_free(doc);
	th_arena_deinit(&memory);
	return code;
}

const struct th_condenser th_condenser_structured = {
	.name = "structured",
	.summary = "as llm, and the model fills in a form",
	.numbers = { "keep_first", "max_size", "max_event_length" },
	.own = { .keep_first = 1, .max_size = 100 },
	.reasons = TH_CONDENSE_LIMIT | TH_CONDENSE_ASKED,
	.due = th_condenser_max_size,
	.plan = th_plan_drop_middle,
	.ask = ask,
	.read = read_form,
};
