/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/resolved_models.h"

#include "profiles/compose.h"
#include "profiles/profiles.h"
#include "providers/human.h"
#include "providers/wires.h"

struct making {
	const struct th_config *config;
	struct th_human_model *person;
	const struct th_agent *agent;
	struct th_arena *a;
	struct th_resolved_models *all;
};

/* A server and, where it is the provider's own, a key. */
static enum th_code check_server(const struct making *m, const struct th_profile *profile,
				 struct th_str base, const struct th_secret *key,
				 struct th_err *err)
{
	enum th_code code;

	if (profile->wire == &th_wire_human)
		return th_human_model_check(m->person, base, key, err);
	if (!base.len)
		return th_fail(err, TH_ESETUP,
			       "the model's server is not known: give --base-url URL or set %s",
			       profile->base_url_env ?: "OPENAI_BASE_URL");
	code = th_config_check_url(base, err);
	if (!code && th_config_key_needed(profile, base) && !key) {
		struct th_buf hint = TH_BUF_INIT(TH_KIB);

		th_config_key_hint(m->config, profile, &hint);
		code = th_fail(err, TH_ESETUP, "there is no key: %.*s", TH_FMT(th_buf_str(&hint)));
		th_buf_deinit(&hint);
	}
	return code;
}

/* Where it is and its key; see resolved_models.h. */
static void find_server(const struct making *m, size_t at, const struct th_profile *p)
{
	const struct th_resolved_model *first = &m->all->list[0];
	struct th_resolved_model *c = &m->all->list[at];
	struct th_str named =
	    m->config && m->config->base_url.len ? m->config->base_url : m->agent->base_url;
	bool same = at == 0 || th_profile_same_provider(first->profile, p);

	if (!same || !named.len)
		named = th_config_provider_url(m->config, p);
	c->base_url = th_arena_str(m->a, named);
	if (at > 0 && th_str_eq(c->base_url, first->base_url))
		m->all->keys[at].model = m->all->keys[0].model;
	else if (at > 0)
		m->all->keys[at].model = th_config_own_key(m->config, p, c->base_url);
	else
		m->all->keys[at].model = th_config_key(m->config, p, c->base_url);
}

/* The grounder of a composed model has the server of its own profile, else the one that was named
 * for the session.  A server gets its own key: where both are at one, the planner's. */
static enum th_code find_grounder(const struct making *m, size_t at, struct th_composed *composed,
				  struct th_err *err)
{
	const struct th_profile *grounder = composed->grounder;
	struct th_resolved_model *c = &m->all->list[at];
	struct th_resolved_model_keys *keys = &m->all->keys[at];
	struct th_str base;
	enum th_code code;

	if (composed->marks)
		c->composed = composed;
	if (!grounder)
		return TH_OK;
	base = th_config_base_url(m->config, grounder);
	if (!base.len)
		base = c->base_url;
	keys->grounder = th_str_eq(base, c->base_url)
			     ? keys->model
			     : th_config_own_key(m->config, grounder, base);
	c->composed = composed;
	composed->grounder_name = th_arena_str(m->a, composed->grounder_name);
	c->grounder_url = th_arena_str(m->a, base);
	code = check_server(m, grounder, base, keys->grounder, err);
	return code ? th_prefix(err, code, "the grounder %.*s", TH_FMT(composed->grounder_name))
		    : TH_OK;
}

static enum th_code check_computer(const struct making *m, const struct th_profile *p,
				   struct th_str name, struct th_err *err)
{
	if (m->agent->computer && p->computer == TH_COMPUTER_NONE)
		return th_fail(err, TH_EUSAGE,
			       "the model %.*s cannot use a computer; the command `models` lists "
			       "those that can",
			       TH_FMT(name));
	if (p->computer == TH_COMPUTER_CLICK)
		return th_fail(err, TH_EUSAGE,
			       "the model %.*s only points at things: name a planner too, as in "
			       "%.*s+gpt-5.4",
			       TH_FMT(name), TH_FMT(name));
	return TH_OK;
}

/* A model that gets nothing of the session but texts to read: it needs no computer, and of a server
 * what any model does. */
static enum th_code choose_beside(const struct making *m, size_t at, struct th_str name,
				  struct th_err *err)
{
	struct th_resolved_model *c = &m->all->list[at];
	struct th_composed alone;
	struct th_match match;
	enum th_code code =
	    th_model_compose(m->config ? &m->config->profiles : NULL, name, &alone, &match, err);

	if (!code &&
	    (match.profile->computer == TH_COMPUTER_CLICK || alone.grounder || alone.marks))
		code = th_fail(err, TH_EUSAGE, "%.*s is no model that only reads", TH_FMT(name));
	if (code)
		return code;
	c->profile = match.profile;
	c->model = th_arena_str(m->a, match.name);
	find_server(m, at, c->profile);
	return check_server(m, c->profile, c->base_url, m->all->keys[at].model, err);
}

static enum th_code choose(const struct making *m, size_t at, struct th_str name,
			   struct th_err *err)
{
	/* Few are. */
	struct th_composed alone,
	    *composed = th_str_find_char(name, '+') < 0 ? &alone : TH_NEW(m->a, struct th_composed);
	struct th_resolved_model *c = &m->all->list[at];
	struct th_match match;
	enum th_code code;

	if (!composed)
		return th_fail(err, TH_ELIMIT, "the agent's definition is too large");
	code =
	    th_model_compose(m->config ? &m->config->profiles : NULL, name, composed, &match, err);
	if (code)
		return code;
	c->profile = match.profile;
	c->model = th_arena_str(m->a, match.name);
	find_server(m, at, c->profile);
	if (m->agent->hosted_tools.len && !c->profile->wire->hosted_tools)
		return th_fail(
		    err, TH_EUSAGE,
		    "hosted_tools are for models of the Responses API, which %.*s is not",
		    TH_FMT(name));
	if (at == 0 && m->agent->settings)
		code = th_wire_check_extra(c->profile->wire, m->agent->settings->extra_body, err);
	if (code)
		return code;
	if (at == 0 && m->agent->settings && m->agent->settings->history == TH_HISTORY_PREVIOUS &&
	    !c->profile->wire->chains)
		return th_fail(err, TH_EUSAGE,
			       "settings.history: previous_response is for models of the Responses "
			       "API or the Interactions API, which %.*s is not",
			       TH_FMT(name));
	if (at == 0 && m->agent->settings && m->agent->settings->background &&
	    !c->profile->wire->background_path)
		return th_fail(err, TH_EUSAGE,
			       "settings.background is for models of the Responses API or the "
			       "Interactions API, which %.*s is not",
			       TH_FMT(name));
	code = check_server(m, c->profile, c->base_url, m->all->keys[at].model, err);
	if (code)
		return th_prefix(err, code, "model %.*s", TH_FMT(name));
	code = check_computer(m, c->profile, name, err);
	return code ? code : find_grounder(m, at, composed, err);
}

enum th_code th_resolved_models_of(const struct th_config *config, struct th_human_model *person,
				   const struct th_agent *agent, struct th_arena *a,
				   struct th_resolved_models *ret, struct th_err *err)
{
	struct making m = { config, person, agent, a, ret };
	const char *fault, *member;
	size_t reads, judges, at = 0;
	enum th_code code;

	if (!agent->model.len)
		return th_fail(err, TH_EUSAGE,
			       "no model is named: give -m MODEL, set THOLE_MODEL, or name one in "
			       "the agent file");
	fault = th_agent_settings_fault(agent->settings, &member);
	if (fault)
		return th_fail(err, TH_EUSAGE, "settings.%s %s", member, fault);
	fault = th_agent_numbers_fault(agent, &member);
	if (fault)
		return th_fail(err, TH_EUSAGE, "%s %s", member, fault);
	fault = th_agent_fallback_fault(agent, &at);
	if (fault)
		return th_fail(err, TH_EUSAGE, "fallback[%zu] %s", at, fault);
	reads = agent->quarantine_model.len != 0;
	judges = agent->judge && agent->judge->model.len != 0;
	ret->count = 1 + agent->fallback.count + reads + judges;
	ret->list = th_arena_array(a, ret->count, sizeof(*ret->list));
	ret->keys = th_arena_array(a, ret->count, sizeof(*ret->keys));
	if (!ret->list || !ret->keys)
		return th_fail(err, TH_ELIMIT, "the agent's definition is too large");
	code = choose(&m, 0, agent->model, err);
	for (size_t i = 0; i < agent->fallback.count && !code; i++) {
		code = choose(&m, i + 1, agent->fallback.list[i], err);
		if (code)
			code = th_prefix(err, code, "fallback");
	}
	if (!code && reads)
		code = th_prefix(
		    err, choose_beside(&m, ret->count - 1 - judges, agent->quarantine_model, err),
		    "quarantine_model");
	if (!code && judges)
		code = th_prefix(err, choose_beside(&m, ret->count - 1, agent->judge->model, err),
				 "judge.model");
	return code;
}
