/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/provider_state.h"

#include "base/limits.h"
#include "base/text.h"

static const char *const names[] = { "previous_response_id", "conversation" };

/* What an agent may not have beside them. */
static const struct {
	const char *member, *why;
} others[] = {
	{ "input_filter", "a filter cannot change what the provider has kept" },
	{ "session_input", "code cannot change what the provider has kept" },
	{ "compact", "what the provider has kept cannot be replaced" },
	{ "history_items", "what the provider has kept cannot be left out" },
	{ "nest_history", "a handoff cannot change what the provider has kept" },
	{ "fallback", "another model may not know what the provider has kept" },
};

static enum th_code cannot(struct th_err *err, const char *name, const char *what, const char *why)
{
	return th_fail(err, TH_EUSAGE, "settings.%s cannot be combined with %s: %s", name, what,
		       why);
}

static bool is_set(const struct th_json *v)
{
	return !th_json_is_null(v) && th_json_bool(v, true) &&
	       (!th_json_is_array(v) || th_json_count(v) > 0);
}

static enum th_code check_handoffs(const struct th_json *d, const char *name, struct th_err *err)
{
	struct th_json_iter it = th_json_iter(th_json_get(d, "handoffs"));

	while (th_json_is_array(th_json_get(d, "handoffs")) && th_json_next(&it))
		if (is_set(th_json_get(it.val, "filter")) || is_set(th_json_get(it.val, "nest")))
			return cannot(err, name, "a handoff that has a filter or nest",
				      "a handoff cannot change what the provider has kept");
	return TH_OK;
}

static enum th_code check_guardrails(const struct th_json *d, const char *name, struct th_err *err)
{
	struct th_json_iter it = th_json_iter(th_json_get(d, "guardrails"));

	while (th_json_is_array(th_json_get(d, "guardrails")) && th_json_next(&it))
		if (th_str_is(th_json_get_str(it.val, "stage"), "output"))
			return cannot(err, name, "output guardrails",
				      "what they refuse cannot be taken out of what the provider "
				      "has kept");
	return TH_OK;
}

/* One agent of the team. */
static enum th_code check_agent(const struct th_json *d, const char *name, struct th_err *err)
{
	const struct th_json *store = th_json_get(th_json_get(d, "settings"), "store");
	enum th_code code = check_guardrails(d, name, err);

	if (!code)
		code = check_handoffs(d, name, err);
	if (!code && !th_json_is_null(store) && !th_json_bool(store, true))
		code = cannot(err, name, "store: false", "the provider is to keep the answers");
	for (size_t i = 0; i < TH_COUNT(others) && !code; i++)
		if (is_set(th_json_get(d, others[i].member)))
			code = cannot(err, name, others[i].member, others[i].why);
	return code;
}

/* The name that is given, or NULL; both are an error. */
static enum th_code find(const struct th_json *d, const char **ret, struct th_err *err)
{
	const struct th_json *settings = th_json_get(d, "settings");

	*ret = NULL;
	for (size_t i = 0; i < TH_COUNT(names); i++) {
		struct th_str id = th_json_get_str(settings, names[i]);

		if (!id.len)
			continue;
		if (*ret)
			return th_fail(err, TH_EUSAGE,
				       "settings has previous_response_id and conversation: a "
				       "session goes on from one of them");
		if (id.len > TH_RESPONSE_ID_MAX)
			return th_fail(err, TH_EUSAGE, "settings.%s has at most %d bytes", names[i],
				       TH_RESPONSE_ID_MAX);
		*ret = names[i];
	}
	return TH_OK;
}

enum th_code th_provider_state_check(const struct th_json *definition, struct th_err *err)
{
	const struct th_json *agents = th_json_get(definition, "agents");
	struct th_json_iter it = th_json_iter(agents);
	const char *name, *of_member;
	enum th_code code = find(definition, &name, err);

	if (!code && name)
		code = check_agent(definition, name, err);
	while (!code && th_json_is_object(agents) && th_json_next(&it)) {
		code = find(it.val, &of_member, err);
		if (!code && of_member)
			code = th_fail(err, TH_EUSAGE,
				       "settings.%s is for the agent that begins: it holds for "
				       "the whole team",
				       of_member);
		if (!code && name)
			code = check_agent(it.val, name, err);
		if (code)
			(void)th_prefix(err, code, "agents.%.*s", TH_FMT(th_utf8_cut(it.key, 80)));
	}
	return code;
}
