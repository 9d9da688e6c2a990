/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_fault.c - what is wrong with an agent's values that a table cannot say.
 */
#include "agents/agent.h"
#include "base/limits.h"
#include "base/shell.h"

_Static_assert(TH_EXTRA_HEADERS_MAX == 16 && TH_EXTRA_HEADERS_SIZE_MAX == 4096,
	       "th_agent_settings_fault says so");
_Static_assert(TH_FALLBACK_MAX == 8, "th_agent_fallback_fault says so");
_Static_assert(TH_DELEGATES_PARALLEL_MAX == 100 && TH_JUDGE_ROUNDS_MAX == 10,
	       "th_agent_numbers_fault says so");

static bool header_name(struct th_str name)
{
	for (size_t i = 0; i < name.len; i++)
		if (!((name.ptr[i] | 0x20) >= 'a' && (name.ptr[i] | 0x20) <= 'z') &&
		    !(name.ptr[i] >= '0' && name.ptr[i] <= '9') && name.ptr[i] != '-' &&
		    name.ptr[i] != '_')
			return false;
	return name.len > 0;
}

static bool header_value(struct th_str value)
{
	for (size_t i = 0; i < value.len; i++)
		if (value.ptr[i] < ' ' || value.ptr[i] > '~')
			return false;
	return value.ptr != NULL;
}

static bool is_one_of(const char *const *names, struct th_str name)
{
	for (; *names; names++)
		if (th_str_ieq(name, th_str_of(*names)))
			return true;
	return false;
}

static const char *extra_headers_fault(const struct th_json *headers)
{
	static const char *const ours[] = { "accept",       "connection", "content-length",
					    "content-type", "host",       "last-event-id",
					    "te",           "trailer",    "transfer-encoding",
					    "upgrade",      NULL };
	static const char *const keys[] = { "api-key",   "authorization",  "cookie",
					    "x-api-key", "x-goog-api-key", "proxy-authorization",
					    NULL };
	struct th_json_iter it = th_json_iter(headers);

	if (!th_json_is_object(headers))
		return "must be an object: name -> value";
	if (th_json_count(headers) > TH_EXTRA_HEADERS_MAX)
		return "has more than 16";
	while (th_json_next(&it)) {
		if (!header_name(it.key) || !header_value(th_json_str(it.val)))
			return "must have names of letters, digits, - and _, and values of "
			       "printable ASCII characters";
		if (is_one_of(ours, it.key))
			return "has a header that belongs to the connection";
		if (is_one_of(keys, it.key))
			return "is in the log for all to read: a key comes from the environment "
			       "or --api-key-file";
	}
	return NULL;
}

/* What it may say is the wire's to know: th_wire_check_extra. */
static const char *extra_body_fault(const struct th_json *body)
{
	return th_json_is_object(body) ? NULL : "must be an object";
}

static const char *raw_fault(struct th_str raw, const char *(*fault)(const struct th_json *v))
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;

	if (!raw.len)
		return NULL;
	return th_json_parse(raw, &doc, NULL) ? "is no JSON" : fault(th_json_root(doc));
}

static const char *store_fault(const struct th_agent_model_settings *s)
{
	if (!s->store.len || th_str_is(s->store, "true"))
		return NULL;
	if (!th_str_is(s->store, "false"))
		return "must be true or false";
	if (s->history == TH_HISTORY_PREVIOUS)
		return "cannot be false with history: previous_response, which goes on from "
		       "answers "
		       "that the provider has kept";
	if (s->background)
		return "cannot be false with background: true, whose answers are fetched from "
		       "where "
		       "the provider has kept them";
	return NULL;
}

const char *th_agent_settings_fault(const struct th_agent_model_settings *s,
				    const char **ret_member)
{
	const char *fault;

	*ret_member = "store";
	if (!s)
		return NULL;
	fault = store_fault(s);
	if (fault)
		return fault;
	*ret_member = "parallel_tool_calls";
	if (s->parallel_tool_calls.len && !th_str_is(s->parallel_tool_calls, "true") &&
	    !th_str_is(s->parallel_tool_calls, "false"))
		return "must be true or false";
	*ret_member = "extra_body";
	fault = raw_fault(s->extra_body, extra_body_fault);
	if (fault)
		return fault;
	*ret_member = "extra_headers";
	if (s->extra_headers.len > TH_EXTRA_HEADERS_SIZE_MAX)
		return "has more than 4096 bytes";
	return raw_fault(s->extra_headers, extra_headers_fault);
}

const char *th_agent_fallback_fault(const struct th_agent *a, size_t *ret_at)
{
	const struct th_strs *f = &a->fallback;

	for (size_t i = 0; i < f->count; i++) {
		*ret_at = i;
		if (i == TH_FALLBACK_MAX)
			return "is one too many: there may be 8";
		if (f->list[i].len == 0)
			return "is empty; it must name a model";
		if (th_str_eq(f->list[i], a->model))
			return "is the model that is asked first";
		for (size_t j = 0; j < i; j++)
			if (th_str_eq(f->list[i], f->list[j]))
				return "stands there twice";
	}
	return NULL;
}

static const char *critic_fault(const struct th_agent_judge *judge)
{
	const struct th_agent_critic *c = judge->critic;

	if (judge->model.len || judge->goal.len)
		return "judges instead of a model, without model and goal";
	if (!th_str_starts(c->url, TH_STR("http://")) && !th_str_starts(c->url, TH_STR("https://")))
		return "has an url that is neither http nor https";
	if (c->token_env.len && !th_shell_name_ok(c->token_env))
		return "has a token_env that is no name of a variable (letters, digits and _)";
	if (c->timeout_s > TH_CRITIC_SECONDS_MAX)
		return "has a timeout_s of more than 600";
	return NULL;
}

const char *th_agent_numbers_fault(const struct th_agent *a, const char **ret_member)
{
	*ret_member = "limits.parallel_agents";
	if (a->limits && a->limits->parallel_agents > TH_DELEGATES_PARALLEL_MAX)
		return "must be at most 100";
	*ret_member = "judge.threshold";
	if (a->judge && a->judge->threshold > 1)
		return "must be at most 1";
	*ret_member = "judge.rounds";
	if (a->judge && a->judge->rounds > TH_JUDGE_ROUNDS_MAX)
		return "must be at most 10";
	*ret_member = "judge.critic";
	return a->judge && a->judge->critic ? critic_fault(a->judge) : NULL;
}
