/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions.c - functions of a client's request.
 *
 * The model calls them as any tool; the call waits here until the client has
 * told its result in the next request.  They are of class READ: when their
 * session was given back meanwhile, the call is given again.
 */
#include <stdlib.h>

#include "server/function_names.h"
#include "server/service.h"

static char *copy(struct th_str s)
{
	char *text = th_alloc(s.len + 1);

	memcpy(text, s.ptr, s.len);
	text[s.len] = '\0';
	return text;
}

static struct th_client_call *take(struct th_hub *h, struct th_str call_id, bool result)
{
	struct th_client_call **at = &h->calls, *found;

	while (*at && !(th_str_is(call_id, (*at)->call_id) && !(*at)->call == result))
		at = &(*at)->next;
	found = *at;
	if (found)
		*at = found->next;
	return found;
}

static void keep(struct th_hub *h, struct thole_call *call, struct th_str call_id, char *result)
{
	struct th_client_call *c = th_alloc(sizeof(*c));

	*c = (struct th_client_call){
		.next = h->calls, .call = call, .call_id = copy(call_id), .result = result
	};
	h->calls = c;
}

static void done(struct th_hub *h, struct thole_call *call, const char *result)
{
	struct thole_error err;

	if (thole_call_done(call, result, &err) != 0)
		(void)thole_call_fail(call, err.text, NULL);
	h->parked_ms = 0;
	th_server_kick(h->server);
}

static void on_call(void *ctx, struct thole_call *call)
{
	struct th_hub *h = th_hub_find(ctx, thole_call_session_id(call));
	struct th_str id = th_str_of(thole_call_id(call));
	struct th_client_call *result = h ? take(h, id, true) : NULL;

	if (!h) {
		(void)thole_call_fail(call, "its client is not there", NULL);
	} else if (!result) {
		keep(h, call, id, NULL);
		h->parked_ms = th_loop_now_ms(h->server->loop) ?: 1;
	} else {
		done(h, call, result->result);
		free(result->call_id);
		free(result->result);
		free(result);
	}
}

static void on_cancel(void *ctx, struct thole_call *call)
{
	struct th_hub *h = th_hub_find(ctx, thole_call_session_id(call));
	struct th_client_call *c = h ? take(h, th_str_of(thole_call_id(call)), false) : NULL;

	if (c) {
		free(c->call_id);
		free(c->result);
		free(c);
	}
	(void)thole_call_fail(call, "it was not waited for any longer", NULL);
}

void th_functions_answer(struct th_hub *h, struct th_str call_id, struct th_str result)
{
	struct th_client_call *c = take(h, call_id, false);
	char *text = copy(result);

	if (!c) {
		keep(h, NULL, call_id, text);
		return;
	}
	done(h, c->call, text);
	free(text);
	free(c->call_id);
	free(c->result);
	free(c);
}

/* ---- an agent's ---- */

/* `name`: as a model knows it. */
static int add_one(struct th_server *s, struct thole_agent *agent, const struct th_json *tool,
		   struct th_str name, struct thole_error *err)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	const struct th_json *schema = th_json_get(tool, "parameters");
	struct th_str about = th_json_get_str(tool, "description");
	struct thole_tool *made = NULL;
	int code;

	th_arena_init(&a, TH_AGENT_MEMORY_MAX);
	code = thole_agent_tool(agent, th_arena_cstr(&a, name) ?: "", on_call, s, &made, err);
	if (!code)
		code = thole_tool_class(made, THOLE_CLASS_READ, err);
	if (!code)
		code = thole_tool_on_cancel(made, on_cancel, err);
	if (!code && about.len)
		code = thole_tool_describe(made, th_arena_cstr(&a, about) ?: "", err);
	if (!code && th_str_is(th_json_get_str(tool, "type"), "custom")) {
		const struct th_json *format = th_json_get(tool, "format");
		bool grammar = th_str_is(th_json_get_str(format, "type"), "grammar");
		struct th_str text = grammar ? th_json_text(format, &a) : TH_STR("");

		return thole_tool_text(made, grammar ? th_arena_cstr(&a, text) : NULL, err);
	}
	if (!code && th_json_is_object(schema)) {
		struct th_str text = th_json_text(schema, &a);

		code = thole_tool_schema(made, th_arena_cstr(&a, text) ?: "",
					 th_json_bool(th_json_get(tool, "strict"), false), err);
	}
	return code;
}

/* `only` names tools as the client does. */
static bool is_offered(const struct th_function_iter *tool, const struct th_json *only)
{
	struct th_json_iter it = th_json_iter(only);

	while (th_json_next(&it))
		if (th_str_eq(th_json_get_str(it.val, "name"),
			      th_json_get_str(tool->tool, "name")) &&
		    th_str_eq(th_json_get_str(it.val, "namespace"), tool->space))
			return true;
	return !only;
}

int th_functions_add(struct th_server *s, struct thole_agent *agent, const struct th_json *tools,
		     const struct th_json *only, struct thole_error *err)
{
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_function_iter it = th_function_iter(tools);
	int code = 0;

	while (!code && th_function_next(&it)) {
		th_function_full_name(it.space, th_json_get_str(it.tool, "name"), &name);
		if (is_offered(&it, only))
			code = add_one(s, agent, it.tool, th_buf_str(&name), err);
	}
	return code;
}

int th_functions_agent(struct th_server *s, const struct th_json *metadata,
		       struct thole_agent **ret, struct thole_error *err)
{
	const struct th_json *tools =
	    th_json_get(th_json_get(th_json_get(metadata, TH_RESPONSE_MEMBER), "echo"), "tools");
	struct thole_agent *agent = NULL;
	bool any = th_json_count(tools) > 0;
	int code = thole_agent_new("client", &agent, err);

	if (!code)
		code = th_functions_add(s, agent, tools, NULL, err);
	for (size_t i = 0; !code && s->services[i]; i++)
		if (s->services[i]->tools)
			code = s->services[i]->tools(s, metadata, agent, &any, err);
	if (code || !any) {
		thole_agent_free(agent);
		agent = NULL;
	}
	*ret = agent;
	return code;
}

int th_functions_open_start(struct th_hub *h, struct th_str row, struct thole_error *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct thole_agent *agent = NULL;
	int code = 0;

	if (!h->session && th_json_parse(row, &doc, NULL) == TH_OK)
		code = th_functions_agent(h->server, th_json_get(th_json_root(doc), "metadata"),
					  &agent, err);
	if (!code)
		code = th_hub_open_start(h, agent, err);
	thole_agent_free(agent);
	return code;
}
