/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.c - what stands around the messages of a request: system
 * prompt, tools, thinking.  The same options give the same bytes, or the
 * provider's cache would not know them again.
 */
#include "anthropic_messages/messages.h"
#include "base/limits.h"
#include "dialects/actions.h"
#include "dialects/anthropic_own.h"
#include "model_wire/format.h"

#define OUTPUT_DEFAULT 4096      /* tokens, where the profile does not know the model's limit */
#define OUTPUT_DEFAULT_MAX 32000 /* and where it does, at most; the agent file may ask for more */
#define THINKING_MIN 1024        /* the API's smallest budget */

enum thinking { NO_THINKING, BUDGET, ADAPTIVE };

/* How a family is asked to think, and how many sampling parameters it takes. */
struct manner {
	const char *flavour;
	enum thinking thinking;
	int sampling_max;
	bool all_efforts; /* xhigh too */
	bool formats;     /* its answers can be held to a schema; see has_formats */
};

static const struct manner manners[] = {
	{ "budget", BUDGET, 2, false, false },
	{ "budget-1", BUDGET, 1, false, false },
	{ "adaptive-1", ADAPTIVE, 1, false, true },
	{ "adaptive-0", ADAPTIVE, 0, true, true },
};
static const struct manner plain = { NULL, NO_THINKING, 2, false, false };

static bool has_tool(const struct th_request_options *o)
{
	return o->has_computer && o->profile->computer != TH_COMPUTER_NONE;
}

static bool has_tools(const struct th_request_options *o)
{
	return o->tool_count || has_tool(o);
}

static const struct manner *manner_of(const struct th_profile *p)
{
	for (size_t i = 0; p->flavour && i < TH_COUNT(manners); i++)
		if (!strcmp(p->flavour, manners[i].flavour))
			return &manners[i];
	return &plain;
}

struct effort {
	const char *name, *sent, *sent_old;
	int64_t budget;
};

static const struct effort efforts[] = {
	{ "minimal", "low", "low", 1024 },      { "low", "low", "low", 2048 },
	{ "medium", "medium", "medium", 8192 }, { "high", "high", "high", 16384 },
	{ "xhigh", "xhigh", "high", 24576 },    { "max", "max", "max", 32768 },
};

const char *th_messages_effort(int64_t budget)
{
	const char *name = efforts[0].name;

	for (size_t i = 0; i < TH_COUNT(efforts) && efforts[i].budget <= budget; i++)
		name = efforts[i].name;
	return name;
}

/* What the agent file asks for, or NULL: no thinking.  The API refuses it beside a call that is
 * demanded. */
static const struct effort *effort_of(const struct th_request_options *o)
{
	const struct th_agent_model_settings *s = o->agent ? o->agent->settings : NULL;

	if (!s || manner_of(o->profile)->thinking == NO_THINKING ||
	    (th_choice_forces(o) && has_tools(o)))
		return NULL;
	for (size_t i = 0; i < TH_COUNT(efforts); i++)
		if (th_str_is(s->effort, efforts[i].name))
			return &efforts[i];
	return NULL;
}

#define EDITS_BETA "context-management-2025-06-27"
#define EDITS_KEEP 3 /* newest results, as the API's own default */

bool th_messages_is_toolset(const struct th_profile *p)
{
	return p->tool && th_str_starts(th_str_of(p->tool), TH_STR("computer_toolset"));
}

void th_messages_path(const struct th_request_options *o, struct th_buf *out)
{
	(void)o;
	th_buf_add(out, TH_STR("/v1/messages"));
}

void th_messages_headers(const struct th_request_options *o, struct th_buf *out)
{
	bool computer =
	    has_tool(o) && o->profile->computer == TH_COMPUTER_NATIVE && o->profile->beta;
	const char *betas[] = { computer ? o->profile->beta : NULL, NULL,
				th_request_compacts(o) > 0 ? EDITS_BETA : NULL };
	const char *comma = "anthropic-beta: ";

	for (size_t i = 0; i < o->tool_count; i++) {
		const struct th_own_form *form =
		    th_own_form_of(o->profile, o->tools, o->tool_count, i);

		if (form && form->beta && !(computer && !strcmp(form->beta, betas[0])))
			betas[1] = form->beta;
	}
	th_buf_add(out, TH_STR("anthropic-version: 2023-06-01\n"));
	for (size_t i = 0; i < TH_COUNT(betas); i++)
		if (betas[i]) {
			th_buf_printf(out, "%s%s", comma, betas[i]);
			comma = ",";
		}
	if (*comma == ',')
		th_buf_add_char(out, '\n');
}

/* ---- tools ---- */

static void put_mark(struct th_jw *w)
{
	th_jw_kraw(w, "cache_control", TH_STR("{\"type\":\"ephemeral\"}"));
}

static void put_computer(const struct th_request_options *o, bool mark, struct th_jw *w)
{
	const struct th_profile *p = o->profile;

	th_jw_object(w);
	if (p->computer == TH_COMPUTER_NATIVE && p->tool) {
		th_jw_kstr(w, "type", th_str_of(p->tool));
		if (!th_messages_is_toolset(p)) {
			th_jw_kstr(w, "name", TH_STR(TH_COMPUTER_FUNCTION_NAME));
			th_jw_kint(w, "display_width_px", TH_MAX(o->image.width, 1));
			th_jw_kint(w, "display_height_px", TH_MAX(o->image.height, 1));
		}
		if (!strcmp(p->tool, "computer_20251124"))
			th_jw_kbool(w, "enable_zoom", true);
	} else {
		th_jw_kstr(w, "name", TH_STR(TH_COMPUTER_FUNCTION_NAME));
		th_jw_key(w, TH_STR("description"));
		th_computer_function_description(o->screen, w);
		th_jw_key(w, TH_STR("input_schema"));
		th_computer_function_schema(w);
	}
	if (mark)
		put_mark(w);
	th_jw_object_end(w);
}

static void put_tools(const struct th_request_options *o, bool mark, struct th_jw *w)
{
	bool computer = has_tool(o);

	if (!o->tool_count && !computer)
		return;
	th_jw_key(w, TH_STR("tools"));
	th_jw_array(w);
	if (computer)
		put_computer(o, mark && !o->tool_count, w);
	for (size_t i = 0; i < o->tool_count; i++) {
		const struct th_tool_spec *t = &o->tools[i];
		const struct th_own_form *form =
		    th_own_form_of(o->profile, o->tools, o->tool_count, i);

		th_jw_object(w);
		if (form)
			th_jw_kstr(w, "type", th_str_of(form->type));
		th_jw_kstr(w, "name", form ? th_str_of(form->name) : t->name);
		if (!form && t->description.len)
			th_jw_kstr(w, "description", t->description);
		if (!form)
			th_jw_kraw(w, "input_schema", t->schema);
		if (mark && i + 1 == o->tool_count)
			put_mark(w);
		th_jw_object_end(w);
	}
	th_jw_array_end(w);
}

/* ---- the answer's form ---- */

static void put_choice(const struct th_request_options *o, struct th_jw *w)
{
	bool serial = o->parallel == TH_PARALLEL_NO && o->choice.kind != TH_CHOICE_NONE;
	const char *type = NULL;

	if (!has_tools(o))
		return;
	switch (o->choice.kind) {
	case TH_CHOICE_UNSET:
		type = serial ? "auto" : NULL;
		break;
	case TH_CHOICE_AUTO:
		type = "auto";
		break;
	case TH_CHOICE_REQUIRED:
		type = "any";
		break;
	case TH_CHOICE_NONE:
		type = "none";
		break;
	case TH_CHOICE_TOOL:
		/* A toolset has no tool of the name. */
		type =
		    th_choice_is_computer(o) && th_messages_is_toolset(o->profile) ? "any" : "tool";
		break;
	}
	if (!type)
		return;
	th_jw_key(w, TH_STR("tool_choice"));
	th_jw_object(w);
	th_jw_kstr(w, "type", th_str_of(type));
	if (!strcmp(type, "tool"))
		th_jw_kstr(w, "name",
			   th_own_form_name(o->profile, o->tools, o->tool_count, o->choice.tool));
	if (serial)
		th_jw_kbool(w, "disable_parallel_tool_use", true);
	th_jw_object_end(w);
}

/* Since the last of those that are given a budget. */
static bool has_formats(const struct th_request_options *o)
{
	static const char *const others[] = { "4-5", "4.5", "opus-4-1", "opus-4.1" };

	if (manner_of(o->profile)->formats)
		return true;
	for (size_t i = 0; i < TH_COUNT(others); i++)
		if (th_str_find(o->model, th_str_of(others[i])) >= 0)
			return true;
	return false;
}

/* Schemas must be closed there. */
static bool is_instructed(const struct th_request_options *o)
{
	return th_format_wanted(o) && !(o->format.strict && has_formats(o));
}

static void put_output(const struct th_request_options *o, const char *effort, struct th_jw *w)
{
	bool format = th_format_wanted(o) && !is_instructed(o);

	if (!effort && !format)
		return;
	th_jw_key(w, TH_STR("output_config"));
	th_jw_object(w);
	if (effort)
		th_jw_kstr(w, "effort", th_str_of(effort));
	if (format) {
		th_jw_key(w, TH_STR("format"));
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("json_schema"));
		th_jw_kraw(w, "schema", o->format.schema);
		th_jw_object_end(w);
	}
	th_jw_object_end(w);
}

/* ---- settings ---- */

static int64_t max_tokens(const struct th_request_options *o)
{
	const struct th_agent_model_settings *s = o->agent ? o->agent->settings : NULL;
	int64_t limit = o->profile->output_tokens;

	if (s && s->max_output_tokens > 0)
		return s->max_output_tokens;
	return limit > 0 ? TH_MIN(limit, (int64_t)OUTPUT_DEFAULT_MAX) : OUTPUT_DEFAULT;
}

/* Returns whether the model will think; *ret_effort is what the output's settings say of it. */
static bool put_thinking(const struct th_request_options *o, int64_t tokens, struct th_jw *w,
			 const char **ret_effort)
{
	const struct manner *m = manner_of(o->profile);
	const struct effort *e = effort_of(o);
	int64_t budget;

	if (!e)
		return false;
	/* What is left is for the answer. */
	budget = TH_MIN(e->budget, tokens / 2);
	if (m->thinking == BUDGET && budget < THINKING_MIN)
		return false;
	th_jw_key(w, TH_STR("thinking"));
	th_jw_object(w);
	th_jw_kstr(w, "type", m->thinking == BUDGET ? TH_STR("enabled") : TH_STR("adaptive"));
	if (m->thinking == BUDGET)
		th_jw_kint(w, "budget_tokens", budget);
	if (m->thinking == ADAPTIVE && o->agent->settings->summary.len)
		th_jw_kstr(w, "display", TH_STR("summarized"));
	th_jw_object_end(w);
	if (m->thinking == ADAPTIVE)
		*ret_effort = m->all_efforts ? e->sent : e->sent_old;
	return true;
}

static void put_sampling(const struct th_request_options *o, bool thinks, struct th_jw *w)
{
	const struct th_agent_model_settings *s = o->agent ? o->agent->settings : NULL;
	int left = manner_of(o->profile)->sampling_max;

	if (!s || thinks) /* a thinking model takes neither */
		return;
	if (s->temperature >= 0 && left > 0) {
		th_jw_kreal(w, "temperature", TH_MIN(s->temperature, 1.0));
		left--;
	}
	if (s->top_p >= 0 && left > 0)
		th_jw_kreal(w, "top_p", s->top_p);
}

static void put_count(const char *name, const char *of, int64_t value, struct th_jw *w)
{
	th_jw_key(w, th_str_of(name));
	th_jw_object(w);
	th_jw_kstr(w, "type", th_str_of(of));
	th_jw_kint(w, "value", value);
	th_jw_object_end(w);
}

/* The provider leaves old results out itself; an eighth at least, since its cache breaks there. */
static void put_edits(const struct th_request_options *o, struct th_jw *w)
{
	int64_t tokens = th_request_compacts(o);

	if (!tokens)
		return;
	th_jw_key(w, TH_STR("context_management"));
	th_jw_object(w);
	th_jw_key(w, TH_STR("edits"));
	th_jw_array(w);
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("clear_tool_uses_20250919"));
	put_count("trigger", "input_tokens", tokens, w);
	put_count("keep", "tool_uses", o->agent->compact->own.keep ?: EDITS_KEEP, w);
	put_count("clear_at_least", "input_tokens", TH_MAX(tokens / 8, (int64_t)1), w);
	th_jw_object_end(w);
	th_jw_array_end(w);
	th_jw_object_end(w);
}

void th_messages_head(const struct th_request_options *o, struct th_buf *out)
{
	struct th_jw w = th_jw(out);
	struct th_buf text = TH_BUF_INIT(TH_REQUEST_MAX);
	int64_t tokens = max_tokens(o);
	const char *effort = NULL;
	bool thinks;

	if (o->agent && th_str_trim(o->agent->instructions).len)
		th_buf_add(&text, o->agent->instructions);
	if (is_instructed(o))
		th_format_instruct(o, &text);

	th_jw_object(&w);
	th_jw_kstr(&w, "model", o->model);
	th_jw_kint(&w, "max_tokens", tokens);
	th_jw_kbool(&w, "stream", o->stream);
	thinks = put_thinking(o, tokens, &w, &effort);
	put_output(o, effort, &w);
	put_sampling(o, thinks, &w);
	/* The prefix is tools, system, messages: a mark on the last of the first two covers both.
	 */
	put_tools(o, !text.len, &w);
	put_choice(o, &w);
	put_edits(o, &w);
	if (text.len) {
		th_jw_key(&w, TH_STR("system"));
		th_jw_array(&w);
		th_jw_object(&w);
		th_jw_kstr(&w, "type", TH_STR("text"));
		th_jw_kstr(&w, "text", th_buf_str(&text));
		put_mark(&w);
		th_jw_object_end(&w);
		th_jw_array_end(&w);
	}
	th_jw_key(&w, TH_STR("messages"));
	th_jw_array(&w);
	th_buf_deinit(&text);
}

void th_messages_tail(const struct th_request_options *o, struct th_buf *out)
{
	(void)o;
	th_buf_add(out, TH_STR("]}"));
}
