/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/risk.h"

#include "base/limits.h"
#include "base/shell.h"
#include "base/text.h"
#include "rules/risk_internal.h"

static const struct th_analyser *const analysers[] = { &th_analyser_model, &th_analyser_patterns,
						       &th_analyser_rails };

static const char *const risk_names[] = { "unknown", "low", "medium", "high", NULL };
static const char *const when_names[] = { "never", "always", "risky", NULL };

const char *th_risk_name(enum th_risk risk)
{
	return risk_names[risk];
}

int th_risk_find(struct th_str name)
{
	return th_names_find(risk_names, name);
}

#define AT(member) offsetof(struct th_agent_confirm, member)

static const struct th_field analyser_fields[] = {
#define AT_EXTERNAL(member) offsetof(struct th_agent_analyser, member)
	{ "name", AT_EXTERNAL(name), TH_FIELD_str, TH_REQ | TH_NONEMPTY, "how the log calls it",
	  NULL, NULL, false, 0 },
	{ "command", AT_EXTERNAL(command), TH_FIELD_strs, 0,
	  "a program and its arguments: it gets the call on its standard input and answers on its "
	  "standard output",
	  NULL, NULL, false, 0 },
	{ "url", AT_EXTERNAL(url), TH_FIELD_str, 0, "or a server, to which the call is posted",
	  NULL, NULL, false, 0 },
	{ "token_env", AT_EXTERNAL(token_env), TH_FIELD_str, TH_NONEMPTY,
	  "url: the variable that has a bearer token for it", NULL, NULL, false, 0 },
	{ "timeout_s", AT_EXTERNAL(timeout_s), TH_FIELD_int, TH_POSITIVE,
	  "seconds; default 10, at most 120", NULL, NULL, true, TH_ANALYSER_SECONDS_DEFAULT },
	{ "on_failure", AT_EXTERNAL(on_failure), TH_FIELD_enum, 0,
	  "the risk of a call about which it gives no answer; default high", NULL, risk_names, true,
	  TH_RISK_HIGH },
#undef AT_EXTERNAL
};
const struct th_table th_agent_analyser_table = {
	"agent_analyser",          "An analyser outside of thole.",  analyser_fields,
	TH_COUNT(analyser_fields), sizeof(struct th_agent_analyser), false
};

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
	{ "external", AT(external), TH_FIELD_objects, 0,
	  "programs and servers that are asked as well; the highest risk counts",
	  &th_agent_analyser_table, NULL, false, 0 },
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
	*ret_at = "external";
	if (c->external.count > TH_ANALYSERS_MAX)
		return "has more than 8 analysers";
	for (size_t i = 0; i < c->external.count; i++) {
		const struct th_agent_analyser *x = c->external.list;

		if ((x[i].command.count > 0) == (x[i].url.len > 0))
			return "has an analyser without one of command and url";
		if (x[i].url.len && !th_str_starts(x[i].url, TH_STR("http://")) &&
		    !th_str_starts(x[i].url, TH_STR("https://")))
			return "has an url that is neither http nor https";
		if (x[i].token_env.len && !x[i].url.len)
			return "has a token_env without an url";
		if (x[i].token_env.len && !th_shell_name_ok(x[i].token_env))
			return "has a token_env that is no name of a variable (letters, digits and "
			       "_)";
		if (x[i].timeout_s > TH_ANALYSER_SECONDS_MAX)
			return "has a timeout_s of more than 120";
		for (size_t j = 0; j < i; j++)
			if (th_str_eq(x[i].name, x[j].name))
				return "has a name twice";
	}
	return NULL;
}

enum th_code th_confirm_read(const struct th_json *v, struct th_agent_confirm *ret,
			     struct th_err *err)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_agent_confirm c;
	const char *at, *fault;
	enum th_code code;

	th_arena_init(&a, TH_AGENT_MEMORY_MAX);
	code = th_table_parse(&th_agent_confirm_table, v, &a, &c, err);
	if (code)
		return th_prefix(err, TH_EUSAGE, "confirm");
	fault = th_confirm_fault(&c, &at);
	if (fault)
		return th_fail(err, TH_EUSAGE, "confirm.%s %s", at, fault);
	if (c.analysers.count || c.external.count)
		return th_fail(err, TH_EUSAGE, "confirm: analysers are the agent file's");
	*ret = c;
	return TH_OK;
}

struct th_agent_confirm th_confirm_both(const struct th_agent_confirm *a,
					const struct th_agent_confirm *b)
{
	const struct th_agent_confirm *first = a->when == TH_CONFIRM_NEVER ? b : a;
	struct th_agent_confirm c = { .when = first->when,
				      .threshold = first->threshold,
				      .unknown = first->unknown };

	if (a->when == TH_CONFIRM_ALWAYS || b->when == TH_CONFIRM_ALWAYS)
		c.when = TH_CONFIRM_ALWAYS;
	if (a->when == TH_CONFIRM_RISKY && b->when == TH_CONFIRM_RISKY) {
		c.threshold = TH_MIN(a->threshold, b->threshold);
		c.unknown = a->unknown || b->unknown;
	}
	return c;
}

enum th_code th_analyser_answer_read(struct th_str text, struct th_arena *a, enum th_risk *ret,
				     struct th_str *ret_reason, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_str risk;

	if (th_json_parse(th_str_trim(text), &doc, NULL))
		return th_fail(err, TH_EPROTO, "its answer is no JSON");
	risk = th_json_get_str(th_json_root(doc), "risk");
	if (!risk.len) /* as OpenHands calls it */
		risk = th_json_get_str(th_json_root(doc), "security_risk");
	for (int i = 0; i < TH_RISK_COUNT; i++)
		if (th_str_ieq(risk, th_str_of(risk_names[i]))) {
			*ret = (enum th_risk)i;
			*ret_reason = th_arena_str(
			    a, th_utf8_cut(th_json_get_str(th_json_root(doc), "reason"), 2000));
			return TH_OK;
		}
	return th_fail(err, TH_EPROTO,
		       "its answer has no risk that is low, medium, high or unknown");
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
