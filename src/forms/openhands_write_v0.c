/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openhands_write_v0.c - our events in the kinds of OpenHands' first generation.
 *
 * What is written here has the new members only; th_openhands_print fills in the rest.
 */
#include "base/limits.h"
#include "forms/openhands_write.h"

struct draft {
	struct th_buf text;
	struct th_jw w;
};

/* {"id","timestamp","source",WHAT:KIND, and then args or extras, open. */
static void head(struct th_openhands_writer *x, const char *source, const char *what,
		 const char *kind, struct draft *d)
{
	th_buf_init(&d->text, TH_JSON_SIZE_MAX);
	d->w = th_jw(&d->text);
	th_jw_object(&d->w);
	th_jw_kint(&d->w, "id",
		   (int64_t)(x->log->count ? x->log->list[x->log->count - 1].number + 1 : 0));
	th_jw_kstr(&d->w, "timestamp", x->stamp);
	th_jw_kstr(&d->w, "source", th_str_of(source));
	th_jw_kstr(&d->w, what, th_str_of(kind));
}

/* A kind of ours always has what it must have. */
static void tail(struct draft *d, struct th_jw *w)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_err ignored = {};

	th_jw_object_end(&d->w);
	if (th_json_parse(th_buf_str(&d->text), &doc, &ignored) ||
	    th_openhands_print(TH_OPENHANDS_V0, th_json_root(doc), w, &ignored))
		w->out->failed = true;
	th_buf_deinit(&d->text);
}

static void texts_of(const struct th_json *content, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(content);

	th_buf_add(out, th_json_str(content));
	while (th_json_is_array(content) && th_json_next(&it))
		if (th_json_get_str(it.val, "text").len)
			th_buf_printf(out, "%s%.*s", out->len ? "\n" : "",
				      TH_FMT(th_json_get_str(it.val, "text")));
}

static void put_system(struct th_openhands_writer *x, struct th_str text, struct th_jw *w)
{
	struct draft d;

	head(x, "agent", "action", "system", &d);
	th_jw_name(&d.w, TH_STR("args"));
	th_jw_object(&d.w);
	th_jw_kstr(&d.w, "content", text);
	th_jw_object_end(&d.w);
	tail(&d, w);
}

static void put_message(struct th_openhands_writer *x, const char *role,
			const struct th_json *content, struct th_jw *w)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	bool agent = strcmp(role, "assistant") == 0;
	struct th_json_iter it = th_json_iter(content);
	struct draft d;

	texts_of(content, &text);
	head(x, agent ? "agent" : "user", "action", "message", &d);
	th_jw_name(&d.w, TH_STR("args"));
	th_jw_object(&d.w);
	th_jw_kstr(&d.w, "content", th_buf_str(&text));
	th_jw_name(&d.w, TH_STR("image_urls"));
	th_jw_array(&d.w);
	while (th_json_is_array(content) && th_json_next(&it))
		if (th_json_get_str(it.val, "image_url").len)
			th_jw_str(&d.w, th_json_get_str(it.val, "image_url"));
	th_jw_array_end(&d.w);
	th_jw_kbool(&d.w, "wait_for_response", agent);
	th_jw_object_end(&d.w);
	tail(&d, w);
}

/* The answer that the call stands in, as a provider would have given it. */
static void put_call_metadata(struct th_openhands_writer *x, const struct th_openhands_call *c,
			      struct th_str said, struct th_jw *w)
{
	th_jw_name(w, TH_STR("tool_call_metadata"));
	th_jw_object(w);
	th_jw_kstr(w, "function_name", c->tool);
	th_jw_kstr(w, "tool_call_id", c->call_id);
	th_jw_name(w, TH_STR("model_response"));
	th_jw_object(w);
	th_jw_kstr(w, "id", x->answer.len ? x->answer : x->id);
	th_jw_name(w, TH_STR("choices"));
	th_jw_array(w);
	th_jw_object(w);
	th_jw_kint(w, "index", 0);
	th_jw_kstr(w, "finish_reason", TH_STR("tool_calls"));
	th_jw_name(w, TH_STR("message"));
	th_jw_object(w);
	th_jw_kstr(w, "role", TH_STR("assistant"));
	th_jw_kstr(w, "content", said);
	th_jw_name(w, TH_STR("tool_calls"));
	th_jw_array(w);
	th_jw_object(w);
	th_jw_kstr(w, "id", c->call_id);
	th_jw_kstr(w, "type", TH_STR("function"));
	th_jw_name(w, TH_STR("function"));
	th_jw_object(w);
	th_jw_kstr(w, "name", c->tool);
	th_jw_kstr(w, "arguments", c->arguments);
	th_jw_object_end(w);
	th_jw_object_end(w);
	th_jw_array_end(w);
	th_jw_object_end(w);
	th_jw_object_end(w);
	th_jw_array_end(w);
	th_jw_object_end(w);
	th_jw_kint(w, "total_calls_in_response", 1);
	th_jw_object_end(w);
}

static void put_action(struct th_openhands_writer *x, const struct th_openhands_call *c, bool first,
		       struct th_jw *w)
{
	struct th_str said = first ? x->said : TH_STR("");
	struct draft d;

	head(x, "agent", "action", "call_tool_mcp", &d);
	put_call_metadata(x, c, said, &d.w);
	th_jw_name(&d.w, TH_STR("args"));
	th_jw_object(&d.w);
	th_jw_kstr(&d.w, "name", c->tool);
	th_jw_kraw(&d.w, "arguments", c->is_object ? c->arguments : TH_STR("{}"));
	th_jw_kstr(&d.w, "thought", said);
	th_jw_object_end(&d.w);
	tail(&d, w);
}

static void put_result(struct th_openhands_writer *x, const struct th_openhands_call *c,
		       struct th_str status, const struct th_json *output, struct th_jw *w)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	bool told = th_str_is(status, "done") || th_str_is(status, "failed");
	int64_t cause = 0;
	struct draft d;

	texts_of(output, &text);
	head(x, "environment", "observation",
	     c->rejection.len ? "user_rejected"
	     : told           ? "mcp"
			      : "error",
	     &d);
	if (th_str_i64(c->event, &cause))
		th_jw_kint(&d.w, "cause", cause);
	put_call_metadata(x, c, TH_STR(""), &d.w);
	th_jw_kstr(&d.w, "content", c->rejection.len ? c->rejection : th_buf_str(&text));
	th_jw_name(&d.w, TH_STR("extras"));
	th_jw_object(&d.w);
	if (!c->rejection.len && told) {
		th_jw_kstr(&d.w, "name", c->tool);
		th_jw_kraw(&d.w, "arguments", c->is_object ? c->arguments : TH_STR("{}"));
	}
	th_jw_object_end(&d.w);
	tail(&d, w);
}

static void put_state(struct th_openhands_writer *x, const char *state, struct th_str reason,
		      struct th_jw *w)
{
	struct draft d;

	head(x, "environment", "observation", "agent_state_changed", &d);
	th_jw_kstr(&d.w, "content", TH_STR(""));
	th_jw_name(&d.w, TH_STR("extras"));
	th_jw_object(&d.w);
	th_jw_kstr(&d.w, "agent_state", th_str_of(state));
	th_jw_kstr(&d.w, "reason", reason);
	th_jw_object_end(&d.w);
	tail(&d, w);
}

static void put_failure(struct th_openhands_writer *x, struct th_str code, struct th_str detail,
			struct th_jw *w)
{
	put_state(x, "error",
		  th_arena_printf(&x->memory, "%.*s: %.*s", TH_FMT(code), TH_FMT(detail)), w);
}

static void put_pause(struct th_openhands_writer *x, struct th_jw *w)
{
	put_state(x, "paused", TH_STR(""), w);
}

static void put_condense(struct th_openhands_writer *x, const size_t *forgotten, size_t count,
			 size_t place, struct th_str summary, struct th_jw *w)
{
	struct draft d;

	head(x, "agent", "action", "condensation", &d);
	th_jw_name(&d.w, TH_STR("args"));
	th_jw_object(&d.w);
	th_jw_name(&d.w, TH_STR("forgotten_event_ids"));
	th_jw_array(&d.w);
	for (size_t i = 0; i < count; i++)
		th_jw_int(&d.w, (int64_t)x->log->list[forgotten[i]].number);
	th_jw_array_end(&d.w);
	if (summary.len) {
		th_jw_kstr(&d.w, "summary", summary);
		th_jw_kint(&d.w, "summary_offset", (int64_t)place);
	}
	th_jw_object_end(&d.w);
	tail(&d, w);
}

const struct th_openhands_form th_openhands_form_v0 = {
	put_system, put_message, put_action, put_result, put_failure, put_pause, put_condense, NULL,
};
