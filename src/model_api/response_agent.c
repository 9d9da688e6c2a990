/* SPDX-License-Identifier: Apache-2.0 */
/*
 * response_agent.c - what a request of a model API says beside its input: the
 * settings that its response repeats, and the agent that they make.
 */
#include <stdio.h>
#include <stdlib.h>

#include "model_api/raw_agents.h"
#include "model_api/response_making.h"

/* ---- what the object repeats ---- */

static void put_function(const struct th_json *tool, bool brief, struct th_jw *w)
{
	static const char *const members[] = { "description", "parameters", "strict" };
	struct th_str type = th_json_get_str(tool, "type");
	struct th_str execution = th_json_get_str(tool, "execution"); /* of tool_search */

	if (th_str_is(type, "custom") && !brief) {
		th_jw_json(w, tool);
		return;
	}
	th_jw_object(w);
	th_jw_kstr(w, "type", type.len ? type : TH_STR("function"));
	th_jw_kstr(w, "name", th_json_get_str(tool, "name"));
	if (execution.len)
		th_jw_kstr(w, "execution", execution);
	for (size_t i = 0; i < TH_COUNT(members); i++) {
		const struct th_json *v = brief ? NULL : th_json_get(tool, members[i]);

		th_jw_name(w, th_str_of(members[i]));
		if (v)
			th_jw_json(w, v);
		else
			th_jw_null(w);
	}
	th_jw_object_end(w);
}

static void begin_space(const struct th_function_iter *it, bool brief, struct th_jw *w)
{
	struct th_str about = th_json_get_str(it->list.val, "description");

	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("namespace"));
	th_jw_kstr(w, "name", it->space);
	if (about.ptr && !brief)
		th_jw_kstr(w, "description", about);
	th_jw_name(w, TH_STR("tools"));
	th_jw_array(w);
}

static void end_space(struct th_jw *w)
{
	th_jw_array_end(w);
	th_jw_object_end(w);
}

/* Of the kinds that are here, in their namespaces.  `brief`: without what they say of themselves.
 */
static void put_tools(const struct th_making *m, bool brief, struct th_jw *w)
{
	struct th_function_iter it = th_function_iter(m->tools);
	struct th_str space = TH_STR("");

	th_jw_array(w);
	while (th_function_next(&it)) {
		if (it.space.ptr != space.ptr && space.len)
			end_space(w);
		if (it.space.ptr != space.ptr && it.space.len)
			begin_space(&it, brief, w);
		space = it.space;
		put_function(it.tool, brief, w);
	}
	if (space.len)
		end_space(w);
	th_jw_array_end(w);
}

/* At most 16 pairs of texts, as the API has it; NULL in `ret_why`: they are. */
static bool check_metadata(struct th_making *m)
{
	const struct th_json *v = th_json_get(m->b, "metadata");
	struct th_json_iter it = th_json_iter(v);
	bool good =
	    th_json_is_null(v) || (th_json_is_object(v) && th_json_count(v) <= TH_SERVE_PAIRS_MAX);

	/* Another API's metadata has members of its own. */
	if (!th_face_is_responses(m->face))
		return true;
	while (good && th_json_next(&it))
		good = it.key.len <= TH_SERVE_PAIR_KEY_MAX && th_json_type(it.val) == TH_JSON_STR &&
		       th_json_str(it.val).len <= TH_SERVE_PAIR_VALUE_MAX;
	if (good)
		return true;
	m->fault->param = "metadata";
	return th_response_fault(m->fault, 400, "invalid_value",
				 "metadata is an object of at most %d texts, each of at most %d "
				 "bytes under a key of at most %d",
				 TH_SERVE_PAIRS_MAX, TH_SERVE_PAIR_VALUE_MAX,
				 TH_SERVE_PAIR_KEY_MAX);
}

static const struct th_json *echoed(const struct th_making *m, const char *name)
{
	const struct th_json *v = th_json_get(m->b, name);

	/* {"text": {}} says nothing, and the object has a format. */
	if (strcmp(name, "text") == 0 && th_json_is_null(th_json_get(v, "format")))
		return NULL;
	return v;
}

bool th_making_put_echo(struct th_making *m)
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
		{ "service_tier", NULL }, /* as it was taken */
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

	if (!check_metadata(m))
		return false;
	th_jw_object(&w);
	th_jw_kstr(&w, "model", th_json_get_str(m->u, "model"));
	for (size_t i = 0; i < TH_COUNT(members); i++) {
		const struct th_json *v = echoed(m, members[i].name);

		if (!members[i].otherwise) {
			th_jw_kstr(&w, members[i].name,
				   th_str_of(th_response_tier_name(m->access->priority)));
			continue;
		}
		if (th_json_is_null(v) && strcmp(members[i].name, "user") == 0)
			continue;
		th_jw_name(&w, th_str_of(members[i].name));
		if (th_json_is_null(v))
			th_jw_raw(&w, th_str_of(members[i].otherwise));
		else
			th_jw_json(&w, v);
	}
	th_jw_name(&w, TH_STR("tools"));
	put_tools(m, false, &w);
	th_jw_object_end(&w);
	if (th_buf_check(&m->echo, "what the request says beside its input", &err) != TH_OK)
		return th_response_fault(m->fault, 413, NULL, "%s", err.msg);
	digest = th_sha256_of(m->echo.ptr, m->echo.len);
	th_digest_hex(&digest, m->digest);
	return true;
}

void th_making_put_brief_echo(struct th_making *m, struct th_jw *w)
{
	struct th_json_raw_iter it = th_json_raw_iter(th_buf_str(&m->echo));

	th_jw_object(w);
	while (th_json_raw_next(&it)) {
		th_jw_name(w, it.key);
		if (th_str_is(it.key, "tools"))
			put_tools(m, true, w);
		else if (th_str_is(it.key, "instructions"))
			th_jw_null(w);
		else
			th_jw_raw(w, it.val);
	}
	th_jw_object_end(w);
}

/* ---- the agent ---- */

static void put_setting(struct th_jw *w, const struct th_json *settings, const char *name)
{
	const struct th_json *v = th_json_get(settings, name);

	if (!th_json_is_null(v)) {
		th_jw_name(w, th_str_of(name));
		th_jw_json(w, v);
	}
}

/* Of "auto", {"type":"function","name"} and {"type":"allowed_tools","mode"} what a model is told.
 */
static void put_choice(const struct th_json *choice, struct th_jw *w)
{
	struct th_buf full TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_str name = th_json_str(choice);

	if (!name.len) {
		th_function_full_name(th_json_get_str(choice, "namespace"),
				      th_json_get_str(choice, "name"), &full);
		name = th_buf_str(&full);
	}
	if (th_str_is(th_json_get_str(choice, "type"), "allowed_tools"))
		name = th_json_get_str(choice, "mode");
	if (name.len)
		th_jw_kstr(w, "tool_choice", name);
}

/* The tools of {"type":"allowed_tools"}; NULL: all are. */
static const struct th_json *allowed_tools(const struct th_json *choice)
{
	return th_str_is(th_json_get_str(choice, "type"), "allowed_tools")
		   ? th_json_get(choice, "tools")
		   : NULL;
}

int64_t th_making_compacts_from(const struct th_making *m)
{
	const struct th_json *list = th_json_get(m->b, "context_management");
	const struct th_json *only = th_json_at(list, 0);

	if (th_json_count(list) != 1 || !th_str_is(th_json_get_str(only, "type"), "compaction"))
		return 0;
	return th_json_get_int(only, "compact_threshold", 0);
}

/* Of a history that grows too long: context_management, or truncation. */
static int set_compact(struct th_making *m, struct thole_agent *agent, struct thole_error *err)
{
	int64_t tokens = th_face_is_responses(m->face) ? th_making_compacts_from(m) : 0;
	char text[80];

	snprintf(text, sizeof(text), "{\"condenser\":\"provider\",\"tokens\":%lld}",
		 (long long)tokens);
	if (tokens > 0)
		return thole_agent_set_json(agent, "compact", text, err);
	return th_str_is(th_json_get_str(m->b, "truncation"), "auto")
		   ? thole_agent_set_json(agent, "compact", "{\"condenser\":\"recent\"}", err)
		   : 0;
}

/* A model that is named raw: it has the request's settings, and no tool of ours. */
static int raw_agent(struct th_making *m, struct thole_agent *agent, struct thole_error *err)
{
	static const char *const names[] = { "temperature", "top_p",   "max_output_tokens",
					     "effort",      "summary", "parallel_tool_calls" };
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	const struct th_json *settings = th_json_get(m->u, "settings");
	struct th_jw w = th_jw(&json);
	int code;

	th_jw_object(&w);
	for (size_t i = 0; i < TH_COUNT(names); i++)
		put_setting(&w, settings, names[i]);
	put_choice(th_json_get(settings, "tool_choice"), &w);
	th_jw_object_end(&w);
	code = thole_agent_set(
	    agent, "model", th_arena_cstr(&m->memory, th_json_get_str(m->u, "model")) ?: "", err);
	if (!code)
		code = thole_agent_set_json(agent, "settings", json.ptr, err);
	return code ?: set_compact(m, agent, err);
}

/* What the answer must look like: JSON Schema, or any object. */
static int set_format(struct th_making *m, struct thole_agent *agent, struct thole_error *err)
{
	const struct th_json *format = th_json_get(th_json_get(m->u, "settings"), "format");
	const struct th_json *schema = th_json_get(format, "schema");
	const char *text = NULL;

	if (th_json_is_object(schema))
		text = th_arena_cstr(&m->memory, th_json_text(schema, &m->memory)) ?: "";
	else if (th_str_is(th_json_get_str(format, "type"), "json_object"))
		text = "{\"type\":\"object\"}";
	return text ? thole_agent_set_json(agent, "output_schema", text, err) : 0;
}

/* What makes it: all that the request says beside its input. */
static void put_key(const struct th_making *m, struct th_buf *out)
{
	static const char *const members[] = { "model", "instructions", "settings" };
	struct th_jw w = th_jw(out);

	th_jw_array(&w);
	for (size_t i = 0; i < TH_COUNT(members); i++) {
		const struct th_json *v = th_json_get(m->u, members[i]);

		if (v)
			th_jw_json(&w, v);
		else
			th_jw_null(&w);
	}
	if (m->tools)
		th_jw_json(&w, m->tools);
	else
		th_jw_null(&w);
	th_jw_bool(&w, th_str_is(th_json_get_str(m->b, "truncation"), "auto"));
	th_jw_int(&w, th_making_compacts_from(m));
	th_jw_array_end(&w);
}

static int make_raw(struct th_making *m, struct thole_agent *agent, struct thole_error *err)
{
	struct th_str instructions = th_json_get_str(m->u, "instructions");
	const struct th_json *choice = th_json_get(th_json_get(m->u, "settings"), "tool_choice");
	int code = raw_agent(m, agent, err);

	if (!code && instructions.len)
		code = thole_agent_set(agent, "instructions",
				       th_arena_cstr(&m->memory, instructions) ?: "", err);
	if (!code)
		code = set_format(m, agent, err);
	if (!code)
		code = th_functions_add(m->server, agent, m->tools, allowed_tools(choice), err);
	return code;
}

static bool find_raw(struct th_making *m, struct thole_agent **ret)
{
	struct th_buf key TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct thole_agent *agent = NULL;
	struct thole_error err;
	int code;

	put_key(m, &key);
	*ret = key.failed ? NULL : th_raw_agents_find(m->server, th_buf_str(&key));
	m->shared = *ret != NULL;
	if (m->shared)
		return true;
	code = thole_agent_new("model", &agent, &err);
	if (!code)
		code = make_raw(m, agent, &err);
	if (code) {
		thole_agent_free(agent);
		return th_making_fault_api(m, &err);
	}
	m->shared = !key.failed && th_raw_agents_put(m->server, th_buf_str(&key), agent);
	*ret = agent;
	return true;
}

static bool make_served(struct th_making *m, const struct th_served_agent *served,
			const char *workspace, struct thole_agent **ret)
{
	const struct th_json *choice = th_json_get(th_json_get(m->u, "settings"), "tool_choice");
	struct thole_agent *agent = NULL;
	struct thole_error err;
	int code = th_served_make(served, workspace, &agent, &err);

	if (!code)
		code = set_format(m, agent, &err);
	if (!code)
		code = th_functions_add(m->server, agent, m->tools, allowed_tools(choice), &err);
	if (code) {
		thole_agent_free(agent);
		return th_making_fault_api(m, &err);
	}
	*ret = agent;
	return true;
}

bool th_making_agent(struct th_making *m, const char *workspace, struct thole_agent **ret)
{
	struct th_str model = th_json_get_str(m->u, "model");
	const struct th_served_agent *served = th_served_find(&m->server->agents, model);

	if (served)
		return make_served(m, served, workspace, ret);
	if (th_strs_has(&m->server->settings.s.models, model))
		return find_raw(m, ret);
	m->fault->param = "model";
	return th_response_fault(m->fault, 404, "model_not_found",
				 "there is no agent \"%.*s\", and no model of that name "
				 "may be asked for (serve.models in the configuration)",
				 (int)TH_MIN(model.len, (size_t)100), model.ptr);
}
