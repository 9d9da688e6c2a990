/* SPDX-License-Identifier: Apache-2.0 */
/*
 * response_make.c - requests of a model API: which agent, which session, and
 * what is said to it.
 *
 * A response that goes on from another one continues its session where it can:
 * when nothing was asked after it, and the request says the same of everything
 * but its input.  Otherwise it is a session of its own with the same past.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/clock.h"
#include "models/wires.h"
#include "server/response_internal.h"

struct making {
	struct th_access *access;
	struct th_server *server;
	const struct th_face *face;
	struct th_arena memory;
	struct th_json_doc *body, *unified; /* as it came, and as all wires have it */
	const struct th_json *b, *u;
	struct th_buf echo, items;
	char digest[TH_SHA256_HEX_SIZE + 1];
	struct th_response_fault *fault;
	struct th_response *p;
	bool store, background;
};

bool th_response_fault(struct th_response_fault *f, int status, const char *code, const char *fmt,
		       ...)
{
	va_list ap;

	f->status = status;
	f->code = code;
	va_start(ap, fmt);
	vsnprintf(f->message, sizeof(f->message), fmt, ap);
	va_end(ap);
	return false;
}

static bool fault_api(struct making *m, const struct thole_error *err)
{
	int status = th_status_of(err->code);

	return th_response_fault(m->fault, status == 500 || status == 503 ? status : 400, NULL,
				 "%s", err->text);
}

/* ---- what the request says ---- */

static const struct th_wire *wire_of(const char *name)
{
	for (size_t i = 0; th_wires[i]; i++)
		if (strcmp(th_wires[i]->name, name) == 0)
			return th_wires[i];
	return NULL;
}

static bool read_body(struct making *m, struct th_str body)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_err err = {};

	if (th_json_parse(body, &m->body, &err) != TH_OK)
		return th_response_fault(m->fault, 400, "invalid_json", "the body is no JSON: %s",
					 err.msg);
	m->b = th_json_root(m->body);
	if (!th_json_is_object(m->b))
		return th_response_fault(m->fault, 400, "invalid_json",
					 "the body is no JSON object");
	if (wire_of(m->face->wire)->request_decode((struct th_str){ NULL, 0 }, body, &text, &err) !=
	    TH_OK)
		return th_response_fault(m->fault, 400, NULL, "%s", err.msg);
	if (th_json_parse(th_buf_str(&text), &m->unified, &err) != TH_OK)
		return th_response_fault(m->fault, 500, NULL, "%s", err.msg);
	m->u = th_json_root(m->unified);
	m->store = th_json_bool(th_json_get(m->b, "store"), true);
	m->background = th_json_bool(th_json_get(m->b, "background"), false);
	if (m->background && !m->store)
		return th_response_fault(m->fault, 400, NULL, "background needs store to be true");
	return true;
}

static void put_tools(struct making *m, struct th_jw *w)
{
	static const char *const members[] = { "description", "parameters", "strict" };
	struct th_json_iter it = th_json_iter(th_json_get(m->u, "tools"));

	th_jw_array(w);
	while (th_json_next(&it)) {
		struct th_str type = th_json_get_str(it.val, "type");

		if (type.len && !th_str_is(type, "function"))
			continue; /* of a kind that only another server has */
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("function"));
		th_jw_kstr(w, "name", th_json_get_str(it.val, "name"));
		for (size_t i = 0; i < TH_COUNT(members); i++) {
			const struct th_json *v = th_json_get(it.val, members[i]);

			th_jw_name(w, th_str_of(members[i]));
			if (v)
				th_jw_json(w, v);
			else
				th_jw_null(w);
		}
		th_jw_object_end(w);
	}
	th_jw_array_end(w);
}

/* The members that the response's object repeats, with what stands for those not given. */
static bool put_echo(struct making *m)
{
	static const struct {
		const char *name, *otherwise;
	} members[] = {
		{ "instructions", "null" },
		{ "max_output_tokens", "null" },
		{ "max_tool_calls", "null" },
		{ "metadata", "{}" },
		{ "parallel_tool_calls", "true" },
		{ "prompt_cache_key", "null" },
		{ "reasoning", "null" },
		{ "safety_identifier", "null" },
		{ "service_tier", "\"default\"" },
		{ "temperature", "1" },
		{ "text", "{\"format\":{\"type\":\"text\"}}" },
		{ "tool_choice", "\"auto\"" },
		{ "top_logprobs", "0" },
		{ "top_p", "1" },
		{ "presence_penalty", "0" },
		{ "frequency_penalty", "0" },
		{ "truncation", "\"disabled\"" },
		{ "user", "null" },
	};
	struct th_jw w = th_jw(&m->echo);
	struct th_digest digest;
	struct th_err err = {};

	th_jw_object(&w);
	th_jw_kstr(&w, "model", th_json_get_str(m->u, "model"));
	for (size_t i = 0; i < TH_COUNT(members); i++) {
		const struct th_json *v = th_json_get(m->b, members[i].name);

		if (th_json_is_null(v) && strcmp(members[i].name, "user") == 0)
			continue;
		th_jw_name(&w, th_str_of(members[i].name));
		if (th_json_is_null(v))
			th_jw_raw(&w, th_str_of(members[i].otherwise));
		else
			th_jw_json(&w, v);
	}
	th_jw_name(&w, TH_STR("tools"));
	put_tools(m, &w);
	th_jw_object_end(&w);
	if (th_buf_check(&m->echo, "what the request says beside its input", &err) != TH_OK)
		return th_response_fault(m->fault, 413, NULL, "%s", err.msg);
	digest = th_sha256_of(m->echo.ptr, m->echo.len);
	th_digest_hex(&digest, m->digest);
	return true;
}

/* ---- items ---- */

/* What th_v1_responses_compact made of a conversation. */
static bool put_packed(struct making *m, struct th_str packed, struct th_jw *w)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_iter it;

	if (!th_base64_decode(&text, packed) ||
	    th_json_parse(th_buf_str(&text), &doc, NULL) != TH_OK ||
	    !th_json_is_array(th_json_root(doc)))
		return th_response_fault(m->fault, 400, NULL,
					 "the compaction item is none that this server made");
	it = th_json_iter(th_json_root(doc));
	while (th_json_next(&it))
		th_jw_json(w, it.val);
	return true;
}

static bool put_item(struct making *m, const struct th_json *item, struct th_jw *w)
{
	struct th_json_iter it = th_json_iter(item);
	struct th_str type = th_json_get_str(item, "type");

	if (th_str_is(type, "compaction"))
		return put_packed(m, th_json_get_str(item, "encrypted_content"), w);
	if (th_str_is(type, "item_reference"))
		return th_response_fault(m->fault, 400, NULL,
					 "item_reference is not taken; send the item, or "
					 "previous_response_id");
	th_jw_object(w);
	if (!type.len)
		th_jw_kstr(w, "type", TH_STR("message"));
	while (th_json_next(&it)) {
		if (th_str_is(it.key, "raw"))
			continue;
		th_jw_key(w, it.key);
		th_jw_json(w, it.val);
	}
	th_jw_object_end(w);
	return true;
}

/* The request's items, but results of calls in `answered`; without brackets. */
static bool put_items(struct making *m, const struct th_reply *answered, struct th_jw *w)
{
	struct th_json_iter it = th_json_iter(th_json_get(m->u, "items"));

	while (th_json_next(&it)) {
		struct th_str call_id = th_json_get_str(it.val, "call_id");
		bool skip = false;

		for (size_t i = 0; answered && i < answered->open_count; i++)
			skip |= th_str_is(call_id, answered->open[i].call_id);
		if (!skip && !put_item(m, it.val, w))
			return false;
	}
	return true;
}

static bool has_call(const struct th_json *items, struct th_str call_id)
{
	struct th_json_iter it = th_json_iter(items);

	while (th_json_next(&it))
		if (th_str_eq(th_json_get_str(it.val, "call_id"), call_id) &&
		    th_str_ends(th_json_get_str(it.val, "type"), TH_STR("_call")))
			return true;
	return false;
}

static bool is_result(const struct th_json *item)
{
	return th_str_is(th_json_get_str(item, "type"), "function_call_output");
}

/* Each result is of a call, and each call that waits has its result. */
static bool check_results(struct making *m, const struct th_reply *before)
{
	const struct th_json *items = th_json_get(m->u, "items");
	struct th_json_iter it = th_json_iter(items);

	while (th_json_next(&it)) {
		struct th_str call_id = th_json_get_str(it.val, "call_id");
		bool known = has_call(items, call_id);

		for (size_t i = 0; before && i < before->open_count; i++)
			known |= th_str_is(call_id, before->open[i].call_id);
		if (is_result(it.val) && !known)
			return th_response_fault(
			    m->fault, 400, NULL,
			    "No tool call found for function call output with call_id %.*s.",
			    (int)TH_MIN(call_id.len, (size_t)100), call_id.ptr);
	}
	for (size_t i = 0; before && i < before->open_count; i++) {
		bool found = false;

		it = th_json_iter(items);
		while (th_json_next(&it))
			found |= is_result(it.val) && th_str_is(th_json_get_str(it.val, "call_id"),
								before->open[i].call_id);
		if (!found)
			return th_response_fault(m->fault, 400, NULL,
						 "No tool output found for function call %s.",
						 before->open[i].call_id);
	}
	return true;
}

/* ---- the agent ---- */

static bool is_allowed(const struct th_server *s, struct th_str model)
{
	const struct th_strs *list = &s->settings.s.models;

	for (size_t i = 0; i < list->count; i++)
		if (th_str_eq(list->list[i], model))
			return true;
	return false;
}

static void put_setting(struct th_jw *w, const struct th_json *settings, const char *name)
{
	const struct th_json *v = th_json_get(settings, name);

	if (!th_json_is_null(v)) {
		th_jw_name(w, th_str_of(name));
		th_jw_json(w, v);
	}
}

/* A model that is named raw: it has the request's settings, and no tool of ours. */
static int raw_agent(struct making *m, struct thole_agent *agent, struct thole_error *err)
{
	static const char *const names[] = { "temperature", "top_p",   "max_output_tokens",
					     "effort",      "summary", "parallel_tool_calls" };
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	const struct th_json *settings = th_json_get(m->u, "settings");
	const struct th_json *choice = th_json_get(settings, "tool_choice");
	const struct th_json *schema = th_json_get(th_json_get(settings, "format"), "schema");
	struct th_str name = th_json_str(choice);
	struct th_jw w = th_jw(&json);
	int code;

	th_jw_object(&w);
	for (size_t i = 0; i < TH_COUNT(names); i++)
		put_setting(&w, settings, names[i]);
	if (!name.len)
		name = th_json_get_str(choice, "name");
	if (name.len)
		th_jw_kstr(&w, "tool_choice", name);
	th_jw_object_end(&w);
	code = thole_agent_set(
	    agent, "model", th_arena_cstr(&m->memory, th_json_get_str(m->u, "model")) ?: "", err);
	if (!code)
		code = thole_agent_set_json(agent, "settings", json.ptr, err);
	if (!code && th_json_is_object(schema)) {
		struct th_str text = th_json_text(schema, &m->memory);

		code = thole_agent_set_json(agent, "output_schema",
					    th_arena_cstr(&m->memory, text) ?: "", err);
	}
	return code;
}

static bool make_agent(struct making *m, const char *workspace, struct thole_agent **ret)
{
	struct th_str model = th_json_get_str(m->u, "model");
	const struct th_served_agent *served = th_served_find(&m->server->agents, model);
	struct th_str instructions = th_json_get_str(m->u, "instructions");
	struct thole_agent *agent = NULL;
	struct thole_error err;
	int code;

	if (served) {
		code = th_served_make(served, workspace, &agent, &err);
	} else if (is_allowed(m->server, model)) {
		code = thole_agent_new("model", &agent, &err);
		if (!code)
			code = raw_agent(m, agent, &err);
		if (!code && instructions.len)
			code = thole_agent_set(agent, "instructions",
					       th_arena_cstr(&m->memory, instructions) ?: "", &err);
	} else {
		return th_response_fault(m->fault, 404, "model_not_found",
					 "there is no agent \"%.*s\", and no model of that name "
					 "may be asked for (serve.models in the configuration)",
					 (int)TH_MIN(model.len, (size_t)100), model.ptr);
	}
	if (!code)
		code = th_functions_add(m->server, agent, th_json_get(m->u, "tools"), &err);
	if (code) {
		thole_agent_free(agent);
		return fault_api(m, &err);
	}
	*ret = agent;
	return true;
}

/* ---- the session ---- */

static void put_metadata(struct making *m, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_name(&w, TH_STR(TH_RESPONSE_MEMBER));
	th_jw_object(&w);
	th_jw_kstr(&w, "digest", th_str_of(m->digest));
	th_jw_kbool(&w, "store", m->store);
	th_jw_kbool(&w, "background", m->background);
	th_jw_kraw(&w, "echo", th_buf_str(&m->echo));
	th_jw_object_end(&w);
	th_jw_object_end(&w);
}

static void name_it(struct making *m, const char *session, uint64_t after)
{
	m->p->after = after;
	th_response_name(session, after, m->p->name);
}

/* The items in m->items are said to the session; to one that is being opened, as soon as it is. */
static bool say(struct making *m, struct th_hub *h)
{
	struct thole_error err, ignored;

	if (thole_session_state(h->session) == THOLE_LOADING) {
		m->p->items = th_alloc(m->items.len + 1);
		memcpy(m->p->items, m->items.ptr, m->items.len + 1);
		return true;
	}
	if (thole_session_items_add(h->session, m->items.ptr, true, &err) != 0) {
		(void)thole_session_cancel(h->session, THOLE_NOW, &ignored);
		return fault_api(m, &err);
	}
	th_server_kick(m->server);
	return true;
}

/* A session of its own: with the items in m->items. */
static bool begin_new(struct making *m)
{
	struct th_buf metadata TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_METADATA_MAX);
	struct th_uuid made = th_uuid_now();
	char id[TH_UUID_TEXT_SIZE + 1], *workspace = NULL;
	const char *options[] = { "id", id, "user", m->access->user, "metadata", NULL, NULL };
	struct thole_agent *agent = NULL;
	struct thole_session *session = NULL;
	struct thole_error err;
	struct th_err e = {};
	bool good;

	th_uuid_text(&made, id);
	put_metadata(m, &metadata);
	if (th_buf_check(&metadata, "what the request says beside its input", &e) != TH_OK)
		return th_response_fault(m->fault, 413, NULL, "%s", e.msg);
	options[5] = metadata.ptr;
	if (th_served_find(&m->server->agents, th_json_get_str(m->u, "model")) &&
	    th_workspace_make(m->server, id, &workspace, &err) != 0)
		return fault_api(m, &err);
	good = make_agent(m, workspace, &agent);
	free(workspace);
	if (!good)
		return false;
	if (thole_session_new_with(m->server->rt, agent, options, &session, &err) != 0)
		good = fault_api(m, &err);
	thole_agent_free(agent);
	if (!good)
		return false;
	name_it(m, id, 0);
	th_response_listen(m->p, th_hub_get(m->server, id, m->access->user));
	th_hub_adopt(m->p->hub, session);
	return say(m, m->p->hub);
}

/* The request's instructions for an agent of ours, which has its own: said before its input. */
static void put_instructions(struct making *m, struct th_jw *w)
{
	struct th_str text = th_json_get_str(m->u, "instructions");

	if (!text.len || !th_served_find(&m->server->agents, th_json_get_str(m->u, "model")))
		return;
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("message"));
	th_jw_kstr(w, "role", TH_STR("developer"));
	th_jw_kstr(w, "content", text);
	th_jw_object_end(w);
}

static bool open_before(struct making *m, const struct th_stored *d, struct th_hub **ret)
{
	struct th_hub *h = th_hub_get(m->server, d->session, m->access->user);
	struct thole_agent *agent = NULL;
	struct thole_error err;
	int code = 0;

	if (!h->session) {
		code = th_functions_agent_of(m->server, d->session, &agent, &err);
		if (!code)
			code = th_hub_open(h, agent, &err);
		thole_agent_free(agent);
	}
	if (code)
		return fault_api(m, &err);
	*ret = h;
	return true;
}

/* The history up to the end of the response before, as a list; thole_free. */
static int history_of(struct making *m, const struct th_stored *d, char **ret,
		      struct thole_error *err)
{
	struct thole_session *fork = NULL;
	struct th_hub *h = th_hub_find(m->server, d->session);
	int code;

	if (d->is_head && h && h->session)
		return thole_session_items(h->session, 0, 0, ret, err);
	code = thole_session_fork(m->server->rt, NULL, d->session, d->reply.last_seq, NULL, &fork,
				  err);
	if (!code)
		code = thole_session_items(fork, 0, 0, ret, err);
	thole_session_free(fork);
	return code;
}

/* The items of the response before, and this request's, in a session of its own. */
static bool begin_copy(struct making *m, const struct th_stored *d)
{
	struct th_jw w = th_jw(&m->items);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct thole_error err;
	struct th_json_iter it;
	struct th_hub *h;
	char *items = NULL;

	if (d->is_head && !open_before(m, d, &h))
		return false;
	if (history_of(m, d, &items, &err) != 0)
		return fault_api(m, &err);
	th_jw_array(&w);
	put_instructions(m, &w);
	if (th_json_parse(th_str_of(items), &doc, NULL) == TH_OK) {
		it = th_json_iter(th_json_root(doc));
		while (th_json_next(&it))
			th_jw_json(&w, it.val);
	}
	thole_free(items);
	if (!put_items(m, NULL, &w))
		return false;
	th_jw_array_end(&w);
	return begin_new(m);
}

/* A result as text: its string, or its parts' texts. */
static struct th_str result_text(const struct th_json *output, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(output);

	th_buf_clear(out);
	if (th_json_type(output) == TH_JSON_STR)
		return th_json_str(output);
	while (th_json_next(&it)) {
		struct th_str text = th_json_get_str(it.val, "text");

		th_buf_add(out, text.len ? text : TH_STR("[a part that is no text was left out]"));
		th_buf_add_char(out, '\n');
	}
	return th_buf_str(out);
}

/* The session waits for the client's results: they are given, and it goes on. */
static bool go_on_parked(struct making *m, const struct th_stored *d)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_json_iter it = th_json_iter(th_json_get(m->u, "items"));
	struct thole_error err;
	struct th_hub *h;
	bool was_open;

	if (!open_before(m, d, &h))
		return false;
	was_open = h->parked_ms != 0;
	name_it(m, d->session, (uint64_t)th_json_get_int(th_json_root(d->doc), "head_seq", 0));
	th_response_listen(m->p, h);
	while (th_json_next(&it)) {
		if (is_result(it.val)) {
			th_functions_answer(h, th_json_get_str(it.val, "call_id"),
					    result_text(th_json_get(it.val, "output"), &text));
			continue;
		}
		struct th_str said = result_text(th_json_get(it.val, "content"), &text);

		if (said.len &&
		    thole_session_message(h->session, th_arena_cstr(&m->memory, said) ?: "", &err))
			return fault_api(m, &err);
	}
	h->parked_ms = 0;
	if (!was_open && thole_session_resume(h->session, &err) != 0)
		return fault_api(m, &err);
	th_server_kick(m->server);
	return true;
}

static bool go_on(struct making *m, const struct th_stored *d)
{
	struct th_jw w = th_jw(&m->items);
	struct th_hub *h;
	bool same = th_str_is(th_json_get_str(d->member, "digest"), m->digest) && m->store &&
		    !m->background && !th_json_bool(th_json_get(d->member, "background"), false);

	if (!check_results(m, &d->reply))
		return false;
	if (d->reply.status == TH_REPLY_RUNNING)
		return th_response_fault(m->fault, 409, "conflict",
					 "the response before is not over yet");
	if (!same || !d->is_head)
		return begin_copy(m, d);
	if (d->reply.status == TH_REPLY_PARKED)
		return go_on_parked(m, d);
	th_jw_array(&w);
	if (!put_items(m, NULL, &w))
		return false;
	th_jw_array_end(&w);
	if (!open_before(m, d, &h))
		return false;
	h->rested_ms = 0;
	name_it(m, d->session, (uint64_t)th_json_get_int(th_json_root(d->doc), "head_seq", 0));
	th_response_listen(m->p, h);
	return say(m, h);
}

static bool begin_fresh(struct making *m)
{
	struct th_jw w = th_jw(&m->items);

	if (!check_results(m, NULL))
		return false;
	th_jw_array(&w);
	put_instructions(m, &w);
	if (!put_items(m, NULL, &w))
		return false;
	th_jw_array_end(&w);
	if (m->items.len <= 2)
		return th_response_fault(m->fault, 400, "missing_required_parameter",
					 "input is missing");
	return begin_new(m);
}

static bool begin(struct making *m)
{
	struct th_str before = th_json_get_str(m->b, "previous_response_id");
	struct th_stored d;
	bool good;

	if (!th_json_is_null(th_json_get(m->b, "conversation")))
		return th_response_fault(m->fault, 400, "unsupported",
					 "conversation is not taken; previous_response_id is");
	if (!before.len)
		return begin_fresh(m);
	if (!th_stored_load(m->server, m->access->user, before, &d) ||
	    (!m->p->socket && !th_json_bool(th_json_get(d.member, "store"), true))) {
		return th_response_fault(m->fault, 400, "previous_response_not_found",
					 "Previous response with id '%.*s' not found.",
					 (int)TH_MIN(before.len, (size_t)100), before.ptr);
	}
	snprintf(m->p->previous, sizeof(m->p->previous), "%.*s", TH_FMT(before));
	good = go_on(m, &d);
	th_stored_deinit(&d);
	return good;
}

static void take_echo(struct making *m)
{
	struct th_response *p = m->p;

	p->echo = th_alloc(m->echo.len + 1);
	memcpy(p->echo, m->echo.ptr, m->echo.len + 1);
	p->functions = th_function_names(th_json_get(m->u, "tools"), &p->function_count);
	p->background = m->background;
	p->store = m->store;
	p->usage_wanted =
	    th_json_bool(th_json_get(th_json_get(m->b, "stream_options"), "include_usage"), false);
	p->created_ms = (int64_t)th_clock_wall_ms();
	p->reply.began_ms = p->created_ms;
}

bool th_response_make(struct th_access *a, const struct th_face *face, struct th_str body,
		      bool socket, void (*on_over)(struct th_response *p), void *over_ctx,
		      struct th_response **ret, struct th_response_fault *fault)
{
	struct making m = { .access = a, .server = a->server, .face = face, .fault = fault };
	bool good;

	th_arena_init(&m.memory, 2 * TH_HTTP1_BODY_MAX);
	th_buf_init(&m.echo, TH_METADATA_MAX);
	th_buf_init(&m.items, TH_REQUEST_MAX);
	m.p = th_alloc(sizeof(*m.p));
	*m.p = (struct th_response){ .server = a->server,
				     .face = face,
				     .access = a,
				     .socket = socket,
				     .skip = -1,
				     .on_over = on_over,
				     .over_ctx = over_ctx };
	th_buf_init(&m.p->message.text, TH_ANSWER_MAX);
	th_buf_init(&m.p->reasoning.text, TH_ANSWER_MAX);
	good = read_body(&m, body) && put_echo(&m);
	if (good) {
		take_echo(&m);
		m.p->stream = socket || th_json_bool(th_json_get(m.b, "stream"), false);
		good = begin(&m);
	}
	if (good) {
		a->server->metrics.responses_begun++;
		if (ret)
			*ret = m.p;
	} else {
		if (!socket) {
			a->gone = NULL;
			a->ctx = NULL;
		}
		th_response_free(m.p);
	}
	th_json_free(m.body);
	th_json_free(m.unified);
	th_buf_deinit(&m.echo);
	th_buf_deinit(&m.items);
	th_arena_deinit(&m.memory);
	return good;
}
