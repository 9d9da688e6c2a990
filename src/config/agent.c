/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.c - agent files: read, and copied.  agent_check.c looks at what their table cannot say.
 */
#include "config/config.h"

#include <unistd.h>

#include "config/agent_check.h"
#include "config/read.h"
#include "config/tools.h"

/* ---- agents ---- */

static enum th_code copy_strs(const struct th_strs *from, struct th_arena *a, struct th_strs *to)
{
	to->count = from->count;
	to->list = from->list ? th_arena_array(a, from->count, sizeof(*to->list)) : NULL;
	if (from->list && !to->list)
		return TH_ELIMIT;
	for (size_t i = 0; i < from->count; i++) {
		to->list[i] = th_arena_str(a, from->list[i]);
		if (!to->list[i].ptr)
			return TH_ELIMIT;
	}
	return TH_OK;
}

static enum th_code copy_table(const struct th_table *t, void *to, struct th_arena *a);

static enum th_code copy_objects(const struct th_field *f, struct th_objects *to,
				 struct th_arena *a)
{
	struct th_objects from = *to;
	enum th_code code = TH_OK;

	if (!from.list)
		return TH_OK;
	to->list = th_arena_array(a, from.count + 1, f->sub->size);
	if (!to->list)
		return TH_ELIMIT;
	memcpy(to->list, from.list, from.count * f->sub->size);
	for (size_t i = 0; i < from.count && !code; i++)
		code = copy_table(f->sub, (char *)to->list + i * f->sub->size, a);
	return code;
}

/* `to` is a flat copy of `from`: what it points to is copied into the arena. */
static enum th_code copy_table(const struct th_table *t, void *to, struct th_arena *a)
{
	enum th_code code = TH_OK;

	for (size_t i = 0; i < t->count && code == TH_OK; i++) {
		const struct th_field *f = &t->fields[i];
		void *cell = (char *)to + f->offset;
		struct th_str *s = cell;
		void **sub = cell;

		if (f->kind == TH_FIELD_strs) {
			struct th_strs from = *(struct th_strs *)cell;

			code = copy_strs(&from, a, cell);
		} else if (f->kind == TH_FIELD_ints && *sub) {
			struct th_ints *list = cell;
			const int64_t *from = list->list;

			list->list = th_arena_array(a, list->count, sizeof(*from));
			if (!list->list)
				return TH_ELIMIT;
			memcpy(list->list, from, list->count * sizeof(*from));
		} else if ((f->kind == TH_FIELD_str || f->kind == TH_FIELD_raw) && s->ptr) {
			*s = th_arena_str(a, *s);
			code = s->ptr ? TH_OK : TH_ELIMIT;
		} else if (f->kind == TH_FIELD_object && *sub) {
			const void *from = *sub;

			*sub = th_arena_alloc(a, f->sub->size);
			if (!*sub)
				return TH_ELIMIT;
			memcpy(*sub, from, f->sub->size);
			code = copy_table(f->sub, *sub, a);
		} else if (f->kind == TH_FIELD_objects) {
			code = copy_objects(f, cell, a);
		}
	}
	return code;
}

enum th_code th_agent_copy(const struct th_agent *from, struct th_arena *a, struct th_agent *ret,
			   struct th_err *err)
{
	struct th_agent copy = *from;
	enum th_code code = copy_table(&th_agent_table, &copy, a);

	if (code != TH_OK)
		return th_fail(err, code, "the agent's definition is too large");
	*ret = copy;
	return TH_OK;
}

static const char default_instructions[] =
    "You do tasks on a Linux computer with the tools you are given.\n"
    "Your commands and files are in the workspace, the current folder; other folders may be "
    "read-only, and "
    "there may be no network.\n"
    "Where you have a computer, look at the screen before you act and check on it that each step "
    "worked.\n"
    "When an outcome is said to be unknown, look before you do it again.\n"
    "Work until the task is done, check the result, then say in a few sentences what you did and "
    "what you found.";

void th_agent_default(struct th_agent *ret)
{
	*ret = (struct th_agent){
		.name = TH_STR("default"),
		.instructions = th_str_of(default_instructions),
	};
}

/* ---- files ---- */

/* Of a file, absolute, with a slash at its end: a definition is used from anywhere. */
static struct th_str folder_of(struct th_arena *a, struct th_str file)
{
	char here[TH_PATH_LEN_MAX];
	size_t len = file.len;

	while (len > 0 && file.ptr[len - 1] != '/')
		len--;
	file = th_str_sub(file, 0, len);
	if ((file.len && file.ptr[0] == '/') || !getcwd(here, sizeof(here)))
		return th_arena_str(a, file);
	return th_arena_printf(a, "%s/%.*s", here, TH_FMT(file));
}

/* script_file becomes script: the log holds all that a session is run with. */
static enum th_code read_script(const struct th_agent_checker *c, struct th_arena *a,
				struct th_agent *agent)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SCRIPT_SOURCE_MAX);
	struct th_str path = agent->script_file;
	enum th_code code;

	if (!path.len)
		return TH_OK;
	if (agent->script.len)
		return th_agent_check_fail(c, TH_STR("script_file"),
					   "stands beside script: give one");
	code = th_config_read_file(th_config_path(a, path, c->name), "script_file", &text, c->err);
	if (code != TH_OK)
		return th_prefix(c->err, code, "%.*s", TH_FMT(c->name));
	if (!text.len)
		return th_agent_check_fail(c, TH_STR("script_file"), "is empty");
	agent->script = th_arena_str(a, th_buf_str(&text));
	return agent->script.ptr ? TH_OK : th_fail(c->err, TH_ELIMIT, "the script is too large");
}

enum th_code th_agent_parse(struct th_str yaml, struct th_str name, struct th_arena *a,
			    struct th_agent *ret, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_tools_places places;
	struct th_agent_checker c = { yaml, name, &places, err, TH_STR("") };
	struct th_agent agent;
	enum th_code code = th_config_read_yaml(yaml, name, &doc, err);

	if (code == TH_OK) {
		code = th_tools_lift(&doc, folder_of(a, name), &places, err);
		if (code == TH_OK)
			code = th_table_parse(&th_agent_table, th_json_root(doc), a, &agent, err);
		if (code != TH_OK)
			th_tools_place_err(&places, err);
		code = th_config_table_err(yaml, name, code, err);
	}
	if (code == TH_OK)
		code = th_agent_check(&c, &agent);
	if (code == TH_OK)
		code = read_script(&c, a, &agent);
	if (code == TH_OK)
		code = th_agent_check_team(&c, &agent, th_json_root(doc), a);
	if (code != TH_OK)
		return code;
	if (!agent.name.len)
		agent.name = TH_STR("default");
	if (!agent.instructions.ptr)
		agent.instructions = th_str_of(default_instructions);
	if (agent.workspace.len)
		agent.workspace = th_config_path(a, agent.workspace, name);
	return th_agent_copy(&agent, a, ret, err);
}

enum th_code th_agent_load(struct th_str path, struct th_arena *a, struct th_agent *ret,
			   struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_CONFIG_SIZE_MAX);
	enum th_code code = th_config_read_file(path, "agent file", &text, err);

	return code == TH_OK ? th_agent_parse(th_buf_str(&text), path, a, ret, err) : code;
}
