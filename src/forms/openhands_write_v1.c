/* SPDX-License-Identifier: Apache-2.0 */
/* openhands_write_v1.c - our events in the kinds of software-agent-sdk. */
#include "base/limits.h"
#include "forms/openhands_write.h"

static void head(const struct th_openhands_writer *x, const char *source, struct th_jw *w)
{
	th_jw_object(w);
	th_jw_kstr(w, "id", x->id);
	th_jw_kstr(w, "timestamp", x->stamp);
	th_jw_kstr(w, "source", th_str_of(source));
}

static void tail(const char *kind, struct th_jw *w)
{
	th_jw_kstr(w, "kind", th_str_of(kind));
	th_jw_object_end(w);
}

static void put_text(struct th_str text, struct th_jw *w)
{
	th_jw_object(w);
	th_jw_kbool(w, "cache_prompt", false);
	th_jw_kstr(w, "type", TH_STR("text"));
	th_jw_kstr(w, "text", text);
	th_jw_object_end(w);
}

static void put_empty(const char *name, struct th_jw *w)
{
	th_jw_name(w, th_str_of(name));
	th_jw_array(w);
	th_jw_array_end(w);
}

static void put_picture(const struct th_step_part *part, struct th_jw *w)
{
	th_jw_object(w);
	th_jw_kbool(w, "cache_prompt", false);
	th_jw_kstr(w, "type", TH_STR("image"));
	th_jw_name(w, TH_STR("image_urls"));
	th_buf_add_cstr(w->out, "[\"");
	if (!part->url.len)
		th_buf_printf(w->out, "data:%.*s;base64,", TH_FMT(part->media_type));
	th_json_escape(w->out, part->url.len ? part->url : part->base64);
	th_buf_add_cstr(w->out, "\"]");
	w->comma = true;
	th_jw_object_end(w);
}

struct parts {
	struct th_openhands_writer *x;
	struct th_jw *w;
	bool failed; /* its first words begin with the mark of an error, which is a member there */
};

static enum th_code put_part(void *ctx, const struct th_step_part *part, struct th_err *err)
{
	struct parts *p = ctx;

	if (part->text.len)
		put_text(p->failed ? th_outcome_sentence(part->text) : part->text, p->w);
	else
		put_picture(part, p->w);
	p->failed = false;
	return th_buf_check(p->w->out, "an event", err);
}

/* A picture that cannot be read fails the whole. */
static void put_content(struct th_openhands_writer *x, const struct th_json *content, bool failed,
			struct th_jw *w)
{
	struct th_arena memory TH_CLEANUP(th_arena_deinit) = {};
	struct parts p = { x, w, failed };
	struct th_err ignored = {};
	struct th_str text;

	th_arena_init(&memory, TH_JSON_SIZE_MAX);
	text = th_json_text(content, &memory);
	th_jw_name(w, TH_STR("content"));
	th_jw_array(w);
	if (!text.ptr || th_step_parts(text, x->out, put_part, &p, &ignored))
		w->out->failed = true;
	th_jw_array_end(w);
}

static void put_system(struct th_openhands_writer *x, struct th_str text, struct th_jw *w)
{
	head(x, "agent", w);
	th_jw_name(w, TH_STR("system_prompt"));
	put_text(text, w);
	put_empty("tools", w);
	tail("SystemPromptEvent", w);
}

static void put_message(struct th_openhands_writer *x, const char *role,
			const struct th_json *content, struct th_jw *w)
{
	bool agent = strcmp(role, "assistant") == 0, user = strcmp(role, "user") == 0;

	head(x, agent ? "agent" : user ? "user" : "environment", w);
	th_jw_name(w, TH_STR("llm_message"));
	th_jw_object(w);
	th_jw_kstr(w, "role", agent ? TH_STR("assistant") : TH_STR("user"));
	put_content(x, content, false, w);
	put_empty("thinking_blocks", w);
	th_jw_object_end(w);
	put_empty("activated_skills", w);
	put_empty("extended_content", w);
	tail("MessageEvent", w);
}

/* The arguments, and which kind they are of. */
static void put_arguments(struct th_str arguments, const char *kind, struct th_str name,
			  struct th_jw *w)
{
	struct th_str inside = th_str_trim(arguments);
	bool bare = th_str_trim(th_str_sub(inside, 1, inside.len - 2)).len == 0;

	th_buf_add(w->out, th_str_sub(inside, 0, inside.len - 1));
	th_buf_printf(w->out, "%s\"kind\":\"%s%.*s\"}", bare ? "" : ",", kind, TH_FMT(name));
	w->comma = true;
}

/* Kinds that are part of the sdk itself, and those of its client's tools; any other call is of an
 * MCP tool. */
static void put_action(struct th_openhands_writer *x, const struct th_openhands_call *c, bool first,
		       struct th_jw *w)
{
	bool own = th_str_is(c->tool, "think") || th_str_is(c->tool, "finish");

	head(x, "agent", w);
	th_jw_name(w, TH_STR("thought"));
	th_jw_array(w);
	if (first && x->said.len)
		put_text(x->said, w);
	th_jw_array_end(w);
	if (first && x->thought.len)
		th_jw_kstr(w, "reasoning_content", x->thought);
	put_empty("thinking_blocks", w);
	if (!c->invalid && c->is_object) {
		th_jw_name(w, TH_STR("action"));
		if (c->of_client) {
			put_arguments(c->arguments, "ClientAction_", c->tool, w);
		} else if (own) {
			put_arguments(c->arguments,
				      th_str_is(c->tool, "think") ? "ThinkAction" : "FinishAction",
				      TH_STR(""), w);
		} else {
			th_jw_object(w);
			th_jw_kraw(w, "data", c->arguments);
			th_jw_kstr(w, "kind", TH_STR("MCPToolAction"));
			th_jw_object_end(w);
		}
	}
	th_jw_kstr(w, "tool_name", c->tool);
	th_jw_kstr(w, "tool_call_id", c->call_id);
	th_jw_name(w, TH_STR("tool_call"));
	th_jw_object(w);
	th_jw_kstr(w, "id", c->call_id);
	th_jw_kstr(w, "name", c->tool);
	th_jw_kstr(w, "arguments", c->arguments);
	th_jw_kstr(w, "origin", TH_STR("completion"));
	th_jw_object_end(w);
	th_jw_kstr(w, "llm_response_id", x->answer.len ? x->answer : x->id);
	th_jw_kstr(w, "security_risk", c->risk.len ? c->risk : TH_STR("UNKNOWN"));
	tail("ActionEvent", w);
}

static void put_error(struct th_openhands_writer *x, const struct th_openhands_call *c,
		      const struct th_json *output, struct th_jw *w)
{
	struct th_str text = th_outcome_sentence(
	    th_json_is_array(output) ? th_json_get_str(th_json_at(output, 0), "text")
				     : th_json_str(output));

	head(x, "agent", w);
	th_jw_kstr(w, "tool_name", c->tool);
	th_jw_kstr(w, "tool_call_id", c->call_id);
	th_jw_kstr(w, "error", text);
	tail("AgentErrorEvent", w);
}

static void put_result(struct th_openhands_writer *x, const struct th_openhands_call *c,
		       struct th_str status, const struct th_json *output, struct th_jw *w)
{
	bool done = th_str_is(status, "done");
	bool failed = th_str_is(status, "failed") || th_str_is(status, "refused");

	if (!c->rejection.len && (c->invalid || !c->is_object || (!done && !failed))) {
		put_error(x, c, output, w);
		return;
	}
	head(x, c->rejection.len ? "user" : "environment", w);
	th_jw_kstr(w, "tool_name", c->tool);
	th_jw_kstr(w, "tool_call_id", c->call_id);
	th_jw_kstr(w, "action_id", c->event);
	if (c->rejection.len) {
		th_jw_kstr(w, "rejection_reason", c->rejection);
		th_jw_kstr(w, "rejection_source", TH_STR("user"));
		tail("UserRejectObservation", w);
		return;
	}
	th_jw_name(w, TH_STR("observation"));
	th_jw_object(w);
	put_content(x, output, failed, w);
	th_jw_kbool(w, "is_error", failed);
	if (c->of_client) {
		th_jw_kstr(w, "kind", TH_STR("ClientToolObservation"));
	} else if (th_str_is(c->tool, "think") || th_str_is(c->tool, "finish")) {
		th_jw_kstr(w, "kind",
			   th_str_is(c->tool, "think") ? TH_STR("ThinkObservation")
						       : TH_STR("FinishObservation"));
	} else {
		th_jw_kstr(w, "tool_name", c->tool);
		th_jw_kstr(w, "kind", TH_STR("MCPToolObservation"));
	}
	th_jw_object_end(w);
	put_empty("extended_content", w);
	tail("ObservationEvent", w);
}

static void put_failure(struct th_openhands_writer *x, struct th_str code, struct th_str detail,
			struct th_jw *w)
{
	head(x, "environment", w);
	th_jw_kstr(w, "code", code);
	th_jw_kstr(w, "detail", detail);
	tail("ConversationErrorEvent", w);
}

static void put_pause(struct th_openhands_writer *x, struct th_jw *w)
{
	head(x, "user", w);
	tail("PauseEvent", w);
}

static void put_condense(struct th_openhands_writer *x, const size_t *forgotten, size_t count,
			 size_t place, struct th_str summary, struct th_jw *w)
{
	head(x, "environment", w);
	th_jw_name(w, TH_STR("forgotten_event_ids"));
	th_jw_array(w);
	for (size_t i = 0; i < count; i++)
		th_jw_str(w, x->log->list[forgotten[i]].id);
	th_jw_array_end(w);
	if (summary.len) {
		th_jw_kstr(w, "summary", summary);
		th_jw_kint(w, "summary_offset", (int64_t)place);
	}
	th_jw_kstr(w, "llm_response_id", x->id);
	tail("Condensation", w);
}

static void put_verdict(const struct th_json *verdict, struct th_jw *w)
{
	struct th_json_iter it = th_json_iter(th_json_get(verdict, "missing"));
	struct th_buf missing TH_CLEANUP(th_buf_deinit) =
	    TH_BUF_INIT(TH_JUDGE_MISSING_MAX * (TH_JUDGE_TEXT_MAX + 1));

	while (th_json_next(&it)) {
		if (missing.len)
			th_buf_add_char(&missing, '\n');
		th_buf_add(&missing, th_json_str(it.val));
	}
	th_jw_object(w);
	th_jw_name(w, TH_STR("score"));
	th_jw_json(w, th_json_get(verdict, "score"));
	th_jw_kbool(w, "complete", th_json_bool(th_json_get(verdict, "complete"), false));
	th_jw_kstr(w, "missing", th_buf_str(&missing));
	th_jw_object_end(w);
}

static void put_goal(struct th_openhands_writer *x, const char *status,
		     const struct th_json *verdict, struct th_jw *w)
{
	head(x, "environment", w);
	th_jw_kstr(w, "key", TH_STR("goal"));
	th_jw_name(w, TH_STR("value"));
	th_jw_object(w);
	th_jw_kbool(w, "active", strcmp(status, "running") == 0);
	th_jw_kstr(w, "status", th_str_of(status));
	th_jw_kint(w, "iteration", x->goal.given);
	th_jw_kint(w, "max_iterations", x->goal.rounds);
	th_jw_kstr(w, "objective", x->goal.objective);
	th_jw_name(w, TH_STR("verdict"));
	if (verdict)
		put_verdict(verdict, w);
	else
		th_jw_raw(w, TH_STR("null"));
	th_jw_object_end(w);
	tail("ConversationStateUpdateEvent", w);
}

const struct th_openhands_form th_openhands_form_v1 = {
	put_system,  put_message, put_action,   put_result,
	put_failure, put_pause,   put_condense, put_goal,
};
