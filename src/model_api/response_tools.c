/* SPDX-License-Identifier: Apache-2.0 */
/*
 * response_tools.c - the tools of a request: those of its list, and those that its
 * input brings: items additional_tools, and what a search for tools has found.  What was
 * brought to the response that it goes on from is still there.
 *
 * A search is the client's (tool_search of execution client): the model knows it as a
 * function of that name, and what its result brought is offered from then on.
 */
#include "model_api/response_making.h"

struct gathering {
	struct th_making *m;
	struct th_jw w;
	struct th_buf name;
	struct th_str names[TH_AGENT_TOOLS_MAX]; /* as the model knows them */
	size_t count;
	bool too_many;
};

static bool is_search(const struct th_json *tool)
{
	return th_str_is(th_json_get_str(tool, "type"), TH_TOOL_SEARCH) &&
	       th_str_is(th_json_get_str(tool, "execution"), "client");
}

static const struct th_json *brought(const struct th_json *item)
{
	struct th_str type = th_json_get_str(item, "type");

	return th_str_is(type, "additional_tools") || th_str_is(type, TH_TOOL_SEARCH "_output")
		   ? th_json_get(item, "tools")
		   : NULL;
}

/* Of the response before: its tools, of which the last ones were brought, from *ret_from on. */
static const struct th_json *inherited(const struct th_making *m, size_t *ret_from)
{
	const struct th_json *member = m->before && !m->lost ? m->before->member : NULL;
	const struct th_json *tools = th_json_get(th_json_get(member, "echo"), "tools");
	int64_t count = th_json_get_int(member, TH_BROUGHT_MEMBER, 0);
	size_t all = th_json_count(tools);

	if (count <= 0 || (uint64_t)count > all)
		return NULL;
	*ret_from = all - (size_t)count;
	return tools;
}

static bool is_plain(const struct th_making *m)
{
	size_t from;

	struct th_json_iter tools = th_json_iter(th_json_get(m->u, "tools"));
	struct th_json_iter items = th_json_iter(th_json_get(m->u, "items"));

	if (inherited(m, &from))
		return false;
	while (th_json_next(&tools))
		if (is_search(tools.val))
			return false;
	while (th_json_next(&items))
		if (brought(items.val))
			return false;
	return true;
}

/* False: it is there already. */
static bool take_name(struct gathering *g, struct th_str space, struct th_str name)
{
	th_function_full_name(space, name, &g->name);
	for (size_t i = 0; i < g->count; i++)
		if (th_str_eq(g->names[i], th_buf_str(&g->name)))
			return false;
	g->too_many |= g->count == TH_COUNT(g->names);
	if (!g->too_many)
		g->names[g->count++] = th_arena_str(&g->m->memory, th_buf_str(&g->name));
	return true;
}

static bool put_search(struct gathering *g, const struct th_json *tool)
{
	static const char *const members[] = { "execution", "description", "parameters" };

	if (!take_name(g, TH_STR(""), TH_STR(TH_TOOL_SEARCH)))
		return false;
	th_jw_object(&g->w);
	th_jw_kstr(&g->w, "type", TH_STR("function"));
	th_jw_kstr(&g->w, "name", TH_STR(TH_TOOL_SEARCH));
	for (size_t i = 0; i < TH_COUNT(members); i++) {
		const struct th_json *v = th_json_get(tool, members[i]);

		if (!v)
			continue;
		th_jw_name(&g->w, th_str_of(members[i]));
		th_jw_json(&g->w, v);
	}
	th_jw_object_end(&g->w);
	return true;
}

static void put_listed(struct gathering *g)
{
	const struct th_json *tools = th_json_get(g->m->u, "tools");
	struct th_function_iter it = th_function_iter(tools);
	struct th_json_iter all = th_json_iter(tools);

	while (th_function_next(&it))
		(void)take_name(g, it.space, th_json_get_str(it.tool, "name"));
	while (th_json_next(&all)) {
		if (is_search(all.val))
			(void)put_search(g, all.val);
		else
			th_jw_json(&g->w, all.val);
	}
}

/* From one of the list on.  The same tool may be found again and again. */
static void put_brought(struct gathering *g, const struct th_json *tools, size_t from)
{
	struct th_function_iter it = th_function_iter(tools);
	struct th_json_iter all = th_json_iter(tools);

	while (th_json_next(&all))
		if (is_search(all.val))
			g->m->brought += put_search(g, all.val);
	while (!g->too_many && th_function_next(&it)) {
		if (it.list.index < from ||
		    !take_name(g, it.space, th_json_get_str(it.tool, "name")))
			continue;
		g->m->brought++;
		if (!it.space.len) {
			th_jw_json(&g->w, it.tool);
			continue;
		}
		th_jw_object(&g->w);
		th_jw_kstr(&g->w, "type", TH_STR("namespace"));
		th_jw_kstr(&g->w, "name", it.space);
		th_jw_kstr(&g->w, "description", th_json_get_str(it.list.val, "description"));
		th_jw_name(&g->w, TH_STR("tools"));
		th_jw_array(&g->w);
		th_jw_json(&g->w, it.tool);
		th_jw_array_end(&g->w);
		th_jw_object_end(&g->w);
	}
}

bool th_making_read_tools(struct th_making *m)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct gathering g = { .m = m, .w = th_jw(&text), .name = TH_BUF_INIT(TH_REQUEST_MAX) };
	struct th_json_iter it = th_json_iter(th_json_get(m->u, "items"));
	const struct th_json *before;
	struct th_err err = {};
	size_t from = 0;

	m->tools = th_json_get(m->u, "tools");
	if (!th_face_is_responses(m->face) || is_plain(m))
		return true;
	before = inherited(m, &from);
	th_jw_array(&g.w);
	put_listed(&g);
	if (before)
		put_brought(&g, before, from);
	while (!g.too_many && th_json_next(&it))
		if (brought(it.val))
			put_brought(&g, brought(it.val), 0);
	th_jw_array_end(&g.w);
	th_buf_deinit(&g.name);
	if (g.too_many) {
		m->fault->param = "tools";
		return th_response_fault(m->fault, 400, "invalid_value",
					 "a request has at most %d tools, those that its input "
					 "brings among them",
					 TH_AGENT_TOOLS_MAX);
	}
	if (th_buf_check(&text, "the tools", &err) != TH_OK ||
	    th_json_parse(th_buf_str(&text), &m->gathered, &err) != TH_OK)
		return th_response_fault(m->fault, 413, NULL, "%s", err.msg);
	m->tools = th_json_root(m->gathered);
	return true;
}

/* ---- as items ---- */

static void put_found(const struct th_json *item, struct th_buf *out)
{
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_function_iter it = th_function_iter(th_json_get(item, "tools"));
	bool any = false;

	while (th_function_next(&it)) {
		th_function_full_name(it.space, th_json_get_str(it.tool, "name"), &name);
		th_buf_add(out, any ? TH_STR(", ") : TH_STR("These tools can be called now: "));
		th_buf_add(out, th_buf_str(&name));
		any = true;
	}
	if (!any)
		th_buf_add(out, TH_STR("No tool was found."));
}

bool th_making_put_tool_item(const struct th_json *item, struct th_jw *w)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_str type = th_json_get_str(item, "type");
	struct th_str call_id = th_json_get_str(item, "call_id");
	bool call = th_str_is(type, TH_TOOL_SEARCH "_call");

	if (th_str_is(type, "additional_tools"))
		return true;
	if (!call && !th_str_is(type, TH_TOOL_SEARCH "_output"))
		return false;
	if (!call_id.len)
		return true; /* the provider's own search, of which it keeps both */
	th_jw_object(w);
	th_jw_kstr(w, "type", call ? TH_STR("function_call") : TH_STR("function_call_output"));
	th_jw_kstr(w, "call_id", call_id);
	if (call) {
		const struct th_json *arguments = th_json_get(item, "arguments");

		if (th_json_type(arguments) == TH_JSON_STR)
			th_buf_add(&text, th_json_str(arguments));
		else
			th_json_print(arguments, &text);
		th_jw_kstr(w, "name", TH_STR(TH_TOOL_SEARCH));
		th_jw_kstr(w, "arguments", th_buf_str(&text));
	} else {
		put_found(item, &text);
		th_jw_kstr(w, "output", th_buf_str(&text));
	}
	th_jw_object_end(w);
	return true;
}
