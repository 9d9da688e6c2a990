/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/agent.h"
#include "base/limits.h"
#include "schema/schema.h"

/* {output, in_history} or the value itself. */
static const struct th_json *output_of(const struct th_json *v)
{
	const struct th_json *output = th_json_get(v, "output");
	size_t own = 1 + (size_t)(th_json_get(v, "in_history") != NULL);

	return output && th_json_count(v) == own ? output : v;
}

/* A text is the final output as it stands, so its JSON is what must fit. */
static enum th_code fits(const struct th_json *schema, const struct th_json *output,
			 struct th_err *err)
{
	struct th_buf faults = TH_BUF_INIT(16 * TH_KIB);
	struct th_json_doc *doc = NULL;
	enum th_code code = TH_OK;

	if (th_json_str(output).ptr)
		code = th_json_parse(th_json_str(output), &doc, err);
	if (!code)
		code = th_schema_check(schema, doc ? th_json_root(doc) : output, &faults, err);
	th_json_free(doc);
	th_buf_deinit(&faults);
	return code;
}

/* What lies deeper the provider looks at. */
static enum th_code is_schema(const struct th_json *schema, struct th_err *err)
{
	const struct th_json *type = th_json_get(schema, "type");
	struct th_json_iter it = th_json_iter(type);
	bool known = !type || th_schema_is_type(th_json_str(type)) || th_json_count(type) > 0;

	while (th_json_is_array(type) && th_json_next(&it))
		known = known && th_schema_is_type(th_json_str(it.val));
	if (!th_json_is_object(schema))
		return th_fail(
		    err, TH_EUSAGE,
		    "output_schema must be a JSON Schema (an object with type, properties "
		    "…)");
	if (!known || th_json_is_object(type))
		return th_fail(err, TH_EUSAGE,
			       "output_schema.type must be one of null, boolean, integer, number, "
			       "string, array and object, or a list of some");
	return TH_OK;
}

enum th_code th_agent_check_output(const struct th_agent *a, struct th_err *err)
{
	const struct {
		const char *name;
		struct th_str value;
	} given[] = {
		{ "max_turns", a->instead ? a->instead->max_turns : TH_STR("") },
		{ "refusal", a->instead ? a->instead->refusal : TH_STR("") },
		{ "invalid_output", a->instead ? a->instead->invalid_output : TH_STR("") },
	};
	struct th_json_doc *schema = NULL;
	struct th_err why = { 0 };
	enum th_code code = TH_OK;

	if (!a->output_schema.len)
		return TH_OK;
	code = th_json_parse(a->output_schema, &schema, err);
	if (!code)
		code = is_schema(th_json_root(schema), err);
	for (size_t i = 0; i < TH_COUNT(given) && !code; i++) {
		struct th_json_doc *doc = NULL;

		if (!given[i].value.len)
			continue;
		code = th_json_parse(given[i].value, &doc, &why);
		if (!code)
			code = fits(th_json_root(schema), output_of(th_json_root(doc)), &why);
		if (code)
			code = th_fail(err, TH_EUSAGE, "instead.%s does not fit output_schema: %s",
				       given[i].name, why.msg);
		th_json_free(doc);
	}
	th_json_free(schema);
	return code;
}
