/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/implied_tools.h"

#include "agents/skill.h"
#include "base/limits.h"
#include "driver/delegate_background.h"

static void on_call(void *ctx, struct th_driver *d, const struct th_local_call *call)
{
	const struct th_agent *agent = ctx;
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_SKILL_SIZE_MAX);
	struct th_buf output TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_effect_result result = { .status = TH_OUTCOME_DONE };
	const struct th_skill *s = NULL;
	struct th_str name = TH_STR("");
	struct th_jw w = th_jw(&output);

	if (!th_json_parse(call->arguments, &doc, NULL))
		name = th_json_get_str(th_json_root(doc), "name");
	s = th_skill_find(agent->skills, name);
	if (s && !s->unlisted) {
		th_skill_print(s, TH_STR(""), TH_STR(""), &text);
	} else {
		result.status = TH_OUTCOME_FAILED;
		th_buf_printf(&text, TH_ERROR_MARK "there is no skill \"%.*s\"",
			      TH_FMT(th_str_sub(name, 0, TH_SKILL_NAME_MAX)));
	}
	th_jw_str(&w, th_buf_str(&text));
	result.output = th_buf_str(&output);
	th_driver_tool_done(d, call->ticket, &result);
}

static struct th_tool_row row_for(const struct th_agent *agent)
{
	return (struct th_tool_row){
		.spec = {
			.name = TH_STR("skill"),
			.description = TH_STR("Read a skill that is listed in your instructions."),
			.schema = TH_STR("{\"type\":\"object\",\"properties\":{\"name\":{\"type\":"
					 "\"string\",\"description\":\"Its name.\"}},\"required\":[\"name\"],"
					 "\"additionalProperties\":false}"),
			.class = TH_CLASS_L,
			.scope = { TH_TARGET_OTHER, TH_SHOWS_ONE },
		},
		.local = on_call,
		.ctx = (void *)(uintptr_t)agent,
		.check = true,
	};
}

static enum th_code add_row(struct th_tool_row mine, struct th_arena *a, struct th_tool_row **rows,
			    size_t *count, struct th_err *err)
{
	struct th_tool_row *list;

	for (size_t i = 0; i < *count; i++)
		if (th_str_eq((*rows)[i].spec.name, mine.spec.name))
			return TH_OK;
	list = th_arena_array(a, *count + 1, sizeof(*list));
	if (!list)
		return th_fail(err, TH_ELIMIT, "the agents take too much memory");
	if (*count)
		memcpy(list, *rows, *count * sizeof(*list));
	list[(*count)++] = mine;
	*rows = list;
	return TH_OK;
}

enum th_code th_implied_add_rows(const struct th_agent *agent, struct th_arena *a,
				 struct th_tool_row **rows, size_t *count, struct th_err *err)
{
	enum th_code code = TH_OK;

	if (th_skills_listed(agent->skills))
		code = add_row(row_for(agent), a, rows, count, err);
	if (!code && th_background_wanted(agent))
		code = add_row(th_background_row, a, rows, count, err);
	return code;
}
