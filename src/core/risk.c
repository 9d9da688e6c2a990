/* SPDX-License-Identifier: Apache-2.0 */
#include "core/risk.h"

#include "core/risk_internal.h"

static const struct th_analyser *const analysers[] = { &th_analyser_model, &th_analyser_patterns,
						       &th_analyser_rails };

static const char *const risk_names[] = { "unknown", "low", "medium", "high", NULL };
static const char *const when_names[] = { "never", "always", "risky", NULL };

const char *th_risk_name(enum th_risk risk)
{
	return risk_names[risk];
}

#define AT(member) offsetof(struct th_agent_confirm, member)

static const struct th_field confirm_fields[] = {
	{ "when", AT(when), TH_FIELD_enum, TH_REQ,
	  "whose calls a person must approve: never, always (but those that only look or think), "
	  "or "
	  "of those that look risky",
	  NULL, when_names, false, 0 },
	{ "threshold", AT(threshold), TH_FIELD_enum, 0, "risky: from which risk on", NULL,
	  risk_names, true, TH_RISK_HIGH },
	{ "unknown", AT(unknown), TH_FIELD_bool, 0, "risky: also where no analyser sees a risk",
	  NULL, NULL, false, 0 },
	{ "analysers", AT(analysers), TH_FIELD_strs, 0,
	  "model: what the model itself says; patterns: words of commands and of prompt injection; "
	  "rails: what a shell command does; default: patterns, rails",
	  NULL, NULL, false, 0 },
};
const struct th_table th_agent_confirm_table = { "agent_confirm",
						 "When a person is asked because of a call's risk.",
						 confirm_fields,
						 TH_COUNT(confirm_fields),
						 sizeof(struct th_agent_confirm),
						 false };

static const struct th_analyser *find(struct th_str name)
{
	for (size_t i = 0; i < TH_COUNT(analysers); i++)
		if (th_str_is(name, analysers[i]->name))
			return analysers[i];
	return NULL;
}

const char *th_confirm_fault(const struct th_agent_confirm *c, const char **ret_at)
{
	*ret_at = "threshold";
	if (c->threshold == TH_RISK_UNKNOWN)
		return "cannot be unknown: it is low, medium or high";
	*ret_at = "analysers";
	for (size_t i = 0; i < c->analysers.count; i++)
		if (!find(c->analysers.list[i]))
			return "has a name that is none of model, patterns, rails";
	return NULL;
}

bool th_confirm_asks(const struct th_agent_confirm *c, enum th_risk risk)
{
	switch ((enum th_confirm)c->when) {
	case TH_CONFIRM_NEVER:
		return false;
	case TH_CONFIRM_ALWAYS:
		return true;
	case TH_CONFIRM_RISKY:
		return risk == TH_RISK_UNKNOWN ? c->unknown : (int64_t)risk >= c->threshold;
	}
	return true;
}

static bool uses(const struct th_agent_confirm *c, const struct th_analyser *analyser)
{
	if (!c->analysers.count)
		return analyser != &th_analyser_model;
	for (size_t i = 0; i < c->analysers.count; i++)
		if (th_str_is(c->analysers.list[i], analyser->name))
			return true;
	return false;
}

enum th_risk th_risk_of(const struct th_agent_confirm *c, const struct th_json *arguments,
			const char **ret_why)
{
	enum th_risk most = TH_RISK_UNKNOWN;

	*ret_why = "no analyser knows how risky this is";
	for (size_t i = 0; i < c->analysers.count; i++)
		if (!find(c->analysers.list[i])) {
			*ret_why = "an analyser that the agent names is not there";
			return TH_RISK_HIGH;
		}
	for (size_t i = 0; i < TH_COUNT(analysers); i++) {
		const char *why = "";
		enum th_risk risk =
		    uses(c, analysers[i]) ? analysers[i]->look(arguments, &why) : TH_RISK_UNKNOWN;

		if (risk <= most)
			continue;
		most = risk;
		*ret_why = why;
	}
	return most;
}

bool th_confirm_asks_model(const struct th_agent_confirm *c)
{
	return c && c->when == TH_CONFIRM_RISKY && uses(c, &th_analyser_model);
}

struct th_str th_risk_schema(struct th_str schema, struct th_arena *a)
{
	static const char begin[] = "\"properties\":{";
	ptrdiff_t at = th_str_find(schema, th_str_of(begin));
	size_t cut = at < 0 ? 0 : (size_t)at + sizeof(begin) - 1;

	if (at < 0 || th_str_find(schema, TH_STR("\"security_risk\"")) >= 0)
		return schema;
	return th_arena_printf(
	    a,
	    "%.*s\"security_risk\":{\"type\":\"string\",\"enum\":[\"LOW\",\"MEDIUM\",\"HIGH\"],"
	    "\"description\":\"How risky this is: LOW: it only looks, or changes what can be had "
	    "again; MEDIUM: it changes files or settings here; HIGH: it cannot be undone, or "
	    "reaches others.\"}%s%.*s",
	    TH_FMT(th_str_sub(schema, 0, cut)), schema.ptr[cut] == '}' ? "" : ",",
	    TH_FMT(th_str_sub(schema, cut, schema.len)));
}
