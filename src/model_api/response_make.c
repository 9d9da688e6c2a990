/* SPDX-License-Identifier: Apache-2.0 */
/*
 * response_make.c - requests of a model API: read, and what they go on from.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/clock.h"
#include "model_api/response_making.h"
#include "providers/wires.h"

/* ---- what the request says ---- */

static const struct th_wire *wire_of(const char *name)
{
	for (size_t i = 0; th_wires[i]; i++)
		if (strcmp(th_wires[i]->name, name) == 0)
			return th_wires[i];
	return NULL;
}

/* What a wire says of a request begins with the member that it is about.  NULL: it is not about one
 * alone. */
static const char *member_of(const char *why)
{
	static const char *const members[] = { "model", "input", "messages", "tools" };
	struct th_str rest = th_str_of(why), word = th_str_split(&rest, ' ');

	for (size_t i = 0; i < TH_COUNT(members); i++)
		if (th_str_is(word, members[i]))
			return members[i];
	return NULL;
}

static bool fault_wire(struct th_making *m, const struct th_err *why)
{
	m->fault->param = member_of(why->msg);
	return th_response_fault(
	    m->fault, 400, strstr(why->msg, " is missing") ? "missing_required_parameter" : NULL,
	    "%s", why->msg);
}

/* Chat and Messages have the whole conversation in each request, so what a model alone said is of
 * no more use when it was told.  What an agent did stays in its log. */
static bool is_stored(const struct th_making *m)
{
	bool otherwise = th_face_is_responses(m->face) ||
			 th_served_find(&m->server->agents, th_json_get_str(m->u, "model"));

	return th_json_bool(th_json_get(m->b, "store"), otherwise);
}

static bool read_body(struct th_making *m, struct th_str body)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	bool puts = m->face->put != NULL; /* its session is gone with its answer */
	struct th_err err = {};

	if (th_json_parse(body, &m->body, &err) != TH_OK)
		return th_response_fault(m->fault, 400, "invalid_json", "the body: %s", err.msg);
	m->b = th_json_root(m->body);
	if (!th_json_is_object(m->b))
		return th_response_fault(m->fault, 400, "invalid_json",
					 "the body is no JSON object");
	if (wire_of(m->face->wire)->request_decode((struct th_str){ NULL, 0 }, body, &text, &err) !=
	    TH_OK)
		return fault_wire(m, &err);
	if (th_json_parse(th_buf_str(&text), &m->unified, &err) != TH_OK)
		return th_response_fault(m->fault, 500, NULL, "%s", err.msg);
	m->u = th_json_root(m->unified);
	m->store = !puts && is_stored(m);
	m->background =
	    !puts && th_json_bool(th_json_get(m->b, "background"), false) && !m->p->socket;
	m->warm = puts || (m->p->socket && !th_json_bool(th_json_get(m->b, "generate"), true));
	if (m->background && !m->store)
		return th_response_fault(m->fault, 400, NULL, "background needs store to be true");
	return true;
}

/* ---- what it goes on from ---- */

static bool one_of(struct th_str value, const char *const *list)
{
	return th_names_find(list, value) >= 0;
}

TH_PRINTF(3, 4)
static bool refuse(struct th_making *m, const char *param, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	(void)!vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	m->fault->param = param;
	return th_response_fault(m->fault, 400, "invalid_value", "%s", text);
}

/* Words that the API has; what they ask for and is not here never comes, and is no lie. */
static bool check_words(struct th_making *m)
{
	static const char *const truncations[] = { "auto", "disabled", NULL };
	static const char *const formats[] = { "text", "json_object", "json_schema", NULL };
	static const char *const includes[] = { "reasoning.encrypted_content",
						"message.output_text.logprobs",
						"message.input_image.image_url",
						"web_search_call.action.sources",
						"web_search_call.results",
						"file_search_call.results",
						"code_interpreter_call.outputs",
						"computer_call_output.output.image_url",
						NULL };
	const struct th_json *truncation = th_json_get(m->b, "truncation");
	const struct th_json *format = th_json_get(th_json_get(m->b, "text"), "format");
	struct th_json_iter it = th_json_iter(th_json_get(m->b, "include"));
	const struct th_json *management = th_json_get(m->b, "context_management");

	if (!th_json_is_null(management) && th_making_compacts_from(m) < 1)
		return refuse(m, "context_management",
			      "context_management is [{\"type\": \"compaction\", "
			      "\"compact_threshold\": TOKENS}]");
	if (!th_json_is_null(truncation) && !one_of(th_json_str(truncation), truncations))
		return refuse(m, "truncation", "truncation is auto or disabled");
	if (!th_json_is_null(format) && !one_of(th_json_get_str(format, "type"), formats))
		return refuse(m, "text.format.type",
			      "a format is of type text, json_object or json_schema");
	if (th_str_is(th_json_get_str(format, "type"), "json_schema") &&
	    !th_json_is_object(th_json_get(format, "schema")))
		return refuse(m, "text.format.schema", "a json_schema needs its schema, an object");
	while (th_json_next(&it))
		if (!one_of(th_json_str(it.val), includes))
			return refuse(m, "include", "include knows no '%.*s'",
				      (int)TH_MIN(th_json_str(it.val).len, (size_t)64),
				      th_json_str(it.val).len ? th_json_str(it.val).ptr : "");
	return true;
}

/* `choice`: its name, or an object with that. */
static bool is_tool(const struct th_making *m, const struct th_json *choice, struct th_str name)
{
	struct th_function_iter it = th_function_iter(m->tools);

	while (th_function_next(&it))
		if (th_str_eq(th_json_get_str(it.tool, "name"), name) &&
		    th_str_eq(th_json_get_str(choice, "namespace"), it.space))
			return true;
	return false;
}

/* One tool that must be called is one of the request's. */
static bool check_choice(struct th_making *m)
{
	static const char *const words[] = { "auto", "none", "required", "any", NULL };
	const struct th_json *choice = th_json_get(th_json_get(m->u, "settings"), "tool_choice");
	struct th_str name = th_json_str(choice);

	if (th_json_is_null(choice) ||
	    th_str_is(th_json_get_str(choice, "type"), "allowed_tools") || one_of(name, words))
		return true;
	if (!name.len)
		name = th_json_get_str(choice, "name");
	if (!name.len)
		return refuse(m, "tool_choice",
			      "tool_choice is auto, none, required, or a function or custom tool "
			      "by its name");
	if (!is_tool(m, choice, name))
		return refuse(m, "tool_choice",
			      "Tool choice '%.*s' not found in 'tools' parameter.",
			      (int)TH_MIN(name.len, (size_t)64), name.ptr);
	return true;
}

/* What a model would call, and somebody would have to do: a client waits for such calls in vain, or
 * thinks that they are done here.  Search, and kinds that nobody here knows, only help an answer:
 * those are passed over, and are not in the response's own tools. */
static bool check_tools(struct th_making *m)
{
	static const char *const done_elsewhere[] = {
		"computer", "computer_",        "shell",       "local_shell", "apply_patch",
		"mcp",      "code_interpreter", "file_search", "bash_",       "text_editor_",
		"memory_",  "code_execution_",
	};
	const struct th_json *tools = th_json_get(m->b, "tools");
	struct th_json_iter it = th_json_iter(tools);

	if (!th_json_is_null(tools) && !th_json_is_array(tools))
		return refuse(m, "tools", "tools is a list");
	while (th_json_next(&it)) {
		struct th_str type = th_json_get_str(it.val, "type");

		for (size_t i = 0; i < TH_COUNT(done_elsewhere); i++) {
			struct th_str name = th_str_of(done_elsewhere[i]);
			bool family = th_str_ends(name, TH_STR("_"));

			if (family ? th_str_starts(type, name) : th_str_eq(type, name))
				return refuse(
				    m, "tools",
				    "a tool of type '%.*s' cannot be given in a request, "
				    "since nobody here would do it: give functions or "
				    "custom tools, which the client does, or name an agent "
				    "that has it",
				    (int)TH_MIN(type.len, (size_t)64), type.ptr);
		}
	}
	return true;
}

/* What would change the answer, and is not done here: said, not passed over. */
static bool check_supported(struct th_making *m)
{
	static const struct {
		const char *name, *why;
		bool raw; /* an agent has its own settings, and passes it over */
	} refused[] = {
		{ "prompt", "stored prompts are not kept here: send instructions and input",
		  false },
		{ "functions", "functions are the old form: send tools", false },
		{ "audio", "answers are text: audio is not given", false },
		{ "stop", "stop is not taken: an answer ends where the model ends it", true },
		{ "stop_sequences",
		  "stop_sequences is not taken: an answer ends where the model ends it", true },
		{ "logit_bias", "logit_bias is not taken", true },
	};
	bool served = th_served_find(&m->server->agents, th_json_get_str(m->u, "model")) != NULL;

	for (size_t i = 0; i < TH_COUNT(refused); i++) {
		const struct th_json *v = th_json_get(m->b, refused[i].name);

		if (th_json_is_null(v) || (refused[i].raw && served) ||
		    ((th_json_is_array(v) || th_json_is_object(v)) && !th_json_count(v)))
			continue;
		m->fault->param = refused[i].name;
		return th_response_fault(m->fault, 400, "unsupported_parameter", "%s",
					 refused[i].why);
	}
	if (!th_json_is_null(th_json_get(m->b, "max_tool_calls")) && served) {
		m->fault->param = "max_tool_calls";
		return th_response_fault(m->fault, 400, "unsupported_parameter",
					 "max_tool_calls is not taken for an agent, which has "
					 "limits of its own");
	}
	if (th_json_int(th_json_get(m->b, "top_logprobs"), 0) != 0 ||
	    th_json_bool(th_json_get(m->b, "logprobs"), false)) {
		m->fault->param = "top_logprobs";
		return th_response_fault(m->fault, 400, "unsupported_parameter",
					 "log probabilities are not given");
	}
	if (th_json_int(th_json_get(m->b, "n"), 1) != 1) {
		m->fault->param = "n";
		return th_response_fault(m->fault, 400, "unsupported_parameter",
					 "n is 1: a request is answered once");
	}
	return check_tools(m) && (!th_face_is_responses(m->face) || check_words(m)) &&
	       (served || check_choice(m));
}

void th_response_before(struct th_str body, struct th_buf *out)
{
	if (!th_json_unescape(th_json_raw_get(body, "previous_response_id"), out) || out->failed)
		th_buf_clear(out);
}

static bool begin_after(struct th_making *m, struct th_str before)
{
	struct th_stored *d = m->before;

	if (m->lost && m->lost->code != THOLE_ENOENT)
		return th_making_fault_api(m, m->lost);
	if (!d || m->lost ||
	    (!m->p->socket && !th_json_bool(th_json_get(d->member, "store"), true))) {
		m->fault->param = "previous_response_id";
		return th_response_fault(m->fault, 400, "previous_response_not_found",
					 "Previous response with id '%.*s' not found.",
					 (int)TH_MIN(before.len, (size_t)100), before.ptr);
	}
	snprintf(m->p->previous, sizeof(m->p->previous), "%.*s", TH_FMT(before));
	return th_making_go_on(m, d);
}

static bool begin(struct th_making *m)
{
	struct th_str before = th_json_get_str(m->b, "previous_response_id");
	const struct th_json *conversation = th_json_get(m->b, "conversation");
	struct th_str name = th_json_type(conversation) == TH_JSON_STR
				 ? th_json_str(conversation)
				 : th_json_get_str(conversation, "id");

	if (th_json_is_null(conversation) || !th_face_is_responses(m->face))
		return before.len && th_face_is_responses(m->face) ? begin_after(m, before)
								   : th_making_fresh(m);
	if (before.len) {
		m->fault->param = "conversation";
		return th_response_fault(m->fault, 400, "mutually_exclusive_parameters",
					 "conversation and previous_response_id cannot both be "
					 "given");
	}
	return th_conversation_begin(m, name);
}

static bool includes(const struct th_making *m, const char *what)
{
	struct th_json_iter it = th_json_iter(th_json_get(m->b, "include"));

	while (th_json_next(&it))
		if (th_str_is(th_json_str(it.val), what))
			return true;
	return false;
}

/* Messages: its answer has blocks of thinking. */
static bool asks_thinking(const struct th_making *m)
{
	struct th_str type = th_json_get_str(th_json_get(m->b, "thinking"), "type");

	return strcmp(m->face->wire, "messages") == 0 && type.len && !th_str_is(type, "disabled");
}

static void take_echo(struct th_making *m)
{
	struct th_response *p = m->p;

	p->echo = th_alloc(m->echo.len + 1);
	memcpy(p->echo, m->echo.ptr, m->echo.len + 1);
	p->reply.sealed = includes(m, "reasoning.encrypted_content") || asks_thinking(m);
	p->functions = th_function_names(m->tools, &p->function_count);
	p->background = m->background;
	p->store = m->store;
	p->usage_wanted =
	    th_json_bool(th_json_get(th_json_get(m->b, "stream_options"), "include_usage"), false);
	p->created_ms = (int64_t)th_clock_wall_ms();
	p->reply.began_ms = p->created_ms;
}

bool th_response_make(struct th_access *a, const struct th_order *order, struct th_response **ret,
		      struct th_response_fault *fault)
{
	struct th_making m = { .access = a,
			       .server = a->server,
			       .face = order->face,
			       .before = order->before,
			       .lost = order->lost,
			       .fault = fault };
	bool good;

	*fault = (struct th_response_fault){ 0 };
	th_arena_init(&m.memory, 2 * TH_HTTP1_BODY_MAX);
	th_buf_init(&m.echo, TH_SERVE_ECHO_MAX);
	th_buf_init(&m.said, TH_REQUEST_MAX);
	th_buf_init(&m.names, TH_METADATA_MAX);
	m.p = th_alloc(sizeof(*m.p));
	*m.p = (struct th_response){ .server = a->server,
				     .face = order->face,
				     .access = a,
				     .socket = order->socket,
				     .skip = -1,
				     .on_over = order->on_over,
				     .on_steered = order->on_steered,
				     .on_unread = order->on_unread,
				     .over_ctx = order->over_ctx,
				     .keeper = order->keeper,
				     .stream_id = order->stream_id };
	th_buf_init(&m.p->shown.text, TH_ANSWER_MAX);
	good = read_body(&m, order->body) && th_making_read_tools(&m) && check_supported(&m) &&
	       th_making_put_echo(&m) && th_making_read_items(&m);
	if (good) {
		take_echo(&m);
		m.p->stream = order->socket ||
			      (!m.face->put && th_json_bool(th_json_get(m.b, "stream"), false));
		m.p->warm = m.warm;
		good = begin(&m);
	}
	if (good) {
		a->server->metrics.responses_begun++;
		if (m.face->said)
			m.face->said(m.p, th_buf_str(&m.said));
		if (ret)
			*ret = m.p;
		if (m.p->caught_up) {
			th_response_started(m.p);
			(void)th_response_caught_up(m.p);
		}
	} else {
		if (!order->socket) {
			a->gone = NULL;
			a->ctx = NULL;
		}
		th_response_free(m.p);
	}
	th_json_free(m.body);
	th_json_free(m.unified);
	th_json_free(m.given);
	th_json_free(m.gathered);
	th_buf_deinit(&m.echo);
	th_buf_deinit(&m.said);
	th_buf_deinit(&m.names);
	th_arena_deinit(&m.memory);
	return good;
}
