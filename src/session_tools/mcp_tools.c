/* SPDX-License-Identifier: Apache-2.0 */
#include "session_tools/mcp_tools.h"

#include <stdlib.h>

#include "agents/agent_secret.h"
#include "agents/mcp_header.h"
#include "base/text.h"
#include "live/log.h"
#include "live/queue.h"
#include "rules/rule.h"

/* What an agent of the team has of one server. */
struct th_mcp_list {
	struct th_mcp_list *next;
	const struct th_agent_mcp *server;
	size_t agent;
	bool known;             /* an event has said it */
	bool stale;             /* the server says that it has changed */
	struct th_digest tools; /* of the event's list */
	struct th_str instructions;
	uint64_t asked; /* the question under way; 0: none */
	struct th_arena memory;
	struct th_tool_row *rows;
	size_t count;
};

static const struct th_objects *servers_of(const struct th_live *l, size_t agent)
{
	return &th_config_member(&l->team_config, agent)->agent->mcp_servers;
}

static struct th_mcp_list *list_find(const struct th_live *l, size_t agent,
				     const struct th_agent_mcp *server)
{
	struct th_mcp_list *k = l->mcp_lists;

	while (k && (k->agent != agent || k->server != server))
		k = k->next;
	return k;
}

static void rows_drop(struct th_mcp_list *k)
{
	th_arena_deinit(&k->memory);
	th_arena_init(&k->memory, 4 * TH_MCP_LIST_SIZE_MAX);
	k->rows = NULL;
	k->count = 0;
	k->instructions = TH_STR("");
}

static struct th_mcp_list *list_get(struct th_live *l, size_t agent,
				    const struct th_agent_mcp *server)
{
	struct th_mcp_list *k = list_find(l, agent, server), **at = &l->mcp_lists;

	if (k)
		return k;
	while (*at) /* in the order of the file */
		at = &(*at)->next;
	k = (struct th_mcp_list *)th_alloc(sizeof(*k));
	k->agent = agent;
	k->server = server;
	th_arena_init(&k->memory, 4 * TH_MCP_LIST_SIZE_MAX);
	*at = k;
	return k;
}

void th_live_mcp_free(struct th_live *l)
{
	while (l->mcp_lists) {
		struct th_mcp_list *next = l->mcp_lists->next;

		th_arena_deinit(&l->mcp_lists->memory);
		free(l->mcp_lists);
		l->mcp_lists = next;
	}
}

/* ---- rows ------------------------------------------------------------------------------------ */

const struct th_tool_row *th_live_mcp_row(const struct th_live *l, size_t index)
{
	for (const struct th_mcp_list *k = l->mcp_lists; k; k = k->next) {
		if (k->agent != l->speaks)
			continue;
		if (index < k->count)
			return &k->rows[index];
		index -= k->count;
	}
	return NULL;
}

static const struct th_tool_row *mcp_find(const struct th_live *l, struct th_str name)
{
	const struct th_tool_row *row;

	for (size_t i = 0; (row = th_live_mcp_row(l, i)); i++)
		if (th_str_eq(row->spec.name, name))
			return row;
	return NULL;
}

/* A stranger's word on such a tool would be what quarantine keeps out. */
static bool is_quarantined(const struct th_live *l, const struct th_mcp_list *k)
{
	for (size_t i = 0; i < k->count; i++)
		if (th_glob_any(&l->session_config->agent->quarantine, k->rows[i].spec.name))
			return true;
	return false;
}

void th_live_mcp_instructions(const struct th_live *l, struct th_buf *out)
{
	for (const struct th_mcp_list *k = l->mcp_lists; k; k = k->next)
		if (k->agent == l->speaks && k->instructions.len && !is_quarantined(l, k))
			th_mcp_instructions_put(k->server->name, k->instructions, out);
}

/* Of the event's element; the strings are kept. */
static enum th_code make_row(struct th_mcp_list *k, const struct th_json *v, struct th_err *err)
{
	struct th_tool_row *row = &k->rows[k->count];
	struct th_mcp_target *target = TH_NEW(&k->memory, struct th_mcp_target);
	struct th_mcp_tool t;
	enum th_code code = th_table_parse(&th_mcp_tool_table, v, &k->memory, &t, err);

	if (code)
		return code;
	*row = (struct th_tool_row){
		.spec = {
			.name = th_arena_str(&k->memory, t.name),
			.description = th_arena_str(&k->memory, t.description),
			.schema = th_arena_str(&k->memory, t.parameters),
			.class = th_class_of(t.class),
			.ask = t.ask,
		},
		.mcp = target,
	};
	if (!target || !row->spec.schema.ptr || !row->spec.name.ptr || !row->spec.description.ptr)
		return th_fail(err, TH_ELIMIT, "the server's tools take too much memory");
	*target = (struct th_mcp_target){ k->server, th_arena_str(&k->memory, t.tool), t.as_task };
	k->count++;
	return TH_OK;
}

static struct th_digest digest_of(const struct th_json *tools)
{
	struct th_buf text = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_digest ret;

	th_json_print(tools, &text);
	ret = th_sha256_of(text.ptr, text.len);
	th_buf_deinit(&text);
	return ret;
}

enum th_code th_live_mcp_event(struct th_live *l, const struct th_json *data, struct th_err *err)
{
	struct th_str server = th_json_get_str(data, "server");
	struct th_str name = th_json_get_str(data, "agent");
	const struct th_json *tools = th_json_get(data, "tools");
	int agent = name.len ? th_team_find(l->fold.team, name) : 0;
	const struct th_agent_mcp *found =
	    th_agent_mcp_find(servers_of(l, (size_t)TH_MAX(agent, 0)), server);
	struct th_json_iter it = th_json_iter(tools);
	struct th_mcp_list *k;
	enum th_code code = TH_OK;

	/* An agent that was given anew for a stored session may have other servers. */
	if (agent < 0 || !found)
		return TH_OK;
	k = list_get(l, (size_t)agent, found);
	rows_drop(k);
	k->known = true;
	k->stale = false;
	k->tools = digest_of(tools);
	k->instructions = th_arena_str(&k->memory, th_json_get_str(data, "instructions"));
	if (th_json_is_array(tools) && th_json_count(tools) <= TH_MCP_TOOLS_MAX)
		k->rows = th_arena_array(&k->memory, th_json_count(tools) + 1, sizeof(*k->rows));
	while (k->rows && !code && th_json_next(&it))
		code = make_row(k, it.val, err);
	return code;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void put_strs(struct th_jw *w, const char *name, const struct th_strs *list)
{
	th_jw_name(w, th_str_of(name));
	th_jw_array(w);
	for (size_t i = 0; i < list->count; i++)
		th_jw_str(w, list->list[i]);
	th_jw_array_end(w);
}

/* All that the executor must know of a server, with each call: it may be another process now. */
static void put_server(const struct th_live *l, const struct th_agent_mcp *s, struct th_jw *w)
{
	static const char *const eras[] = { "", "modern", "legacy" };

	th_jw_kstr(w, "server", s->name);
	if (s->url.len) {
		th_jw_kstr(w, "url", s->url);
		put_strs(w, "headers", &s->headers);
		th_jw_kstr(w, "token_env", s->token_env);
	} else {
		put_strs(w, "argv", &s->command);
		put_strs(w, "environment", &s->environment);
		th_agent_secrets_name(l->session_config->agent->secrets, TH_SECRET_TO_SERVER,
				      s->name, w);
	}
	th_jw_kstr(w, "era", th_str_of(eras[s->revision]));
	if (s->sampling != TH_MCP_SAMPLING_OFF)
		th_jw_kbool(w, "samples", true);
	th_jw_kint(w, "start_s", s->start_s);
	th_jw_kint(w, "timeout_s", s->timeout_s);
}

static void put_params(const struct th_tool_row *row, struct th_str arguments, struct th_jw *w)
{
	struct th_json_doc *schema TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_doc *values TH_CLEANUP(th_json_freep) = NULL;

	if (th_str_find(row->spec.schema, TH_STR("\"x-mcp-header\"")) < 0 ||
	    th_json_parse(row->spec.schema, &schema, NULL) ||
	    th_json_parse(arguments, &values, NULL))
		return;
	th_jw_name(w, TH_STR("params"));
	th_jw_array(w);
	th_mcp_headers_put(th_json_root(schema), th_json_root(values), w);
	th_jw_array_end(w);
}

void th_live_mcp_run(struct th_live *l, const struct th_call *c, const struct th_tool_row *row,
		     struct th_ticket ticket, struct th_effect_call *call, bool settle)
{
	struct th_buf arguments = TH_BUF_INIT(2 * TH_EVENT_DATA_MAX);
	struct th_jw w = th_jw(&arguments);

	th_jw_object(&w);
	put_server(l, row->mcp->server, &w);
	th_jw_kstr(&w, "tool", row->mcp->tool);
	th_jw_kraw(&w, "arguments", call->arguments);
	if (row->mcp->server->url.len)
		put_params(row, call->arguments, &w);
	th_jw_kbool(&w, "reads", call->class == TH_CLASS_R);
	if (row->mcp->as_task)
		th_jw_kbool(&w, "as_task", true);
	if (c->task.len && !l->fold.tripped && l->fold.state != TH_STATE_STOPPED)
		th_jw_kstr(&w, "task", c->task);
	/* A task that was under way is asked how it stands: it may have the answer already. */
	if (c->form.len && !(settle && c->task.len)) {
		th_jw_kraw(&w, "form", c->form);
		th_jw_kstr(&w, "answer",
			   c->sample     ? c->sampled
			   : c->approved ? c->reason
					 : TH_STR(""));
		th_jw_kbool(&w, "declined", c->sample ? !c->sampled.len : !c->approved);
	}
	th_jw_object_end(&w);
	call->tool = TH_STR("mcp");
	call->arguments = th_buf_str(&arguments);
	l->driver->world.ops->tool_run(l->driver->world.ctx, ticket, call, settle);
	th_buf_deinit(&arguments);
}

void th_live_mcp_called(struct th_live *l, const struct th_call *c,
			const struct th_effect_result *r)
{
	const struct th_tool_row *row = l->mcp_lists ? mcp_find(l, c->tool) : NULL;
	struct th_mcp_list *k = row ? list_find(l, l->speaks, row->mcp->server) : NULL;

	if (k && th_str_is(th_json_raw_get(r->evidence, "tools_changed"), "true"))
		k->stale = true;
}

/* ---- lists ------------------------------------------------------------------------------------
 */

static void ask_for_list(struct th_live *l, struct th_mcp_list *k)
{
	struct th_driver *d = l->driver;
	struct th_buf arguments = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&arguments);
	char id[33];
	struct th_effect_call call = {
		.epoch = l->epoch,
		.tool = TH_STR("mcp"),
		.class = TH_CLASS_R,
	};

	k->asked = ++l->mcp_asked;
	th_jw_object(&w);
	put_server(l, k->server, &w);
	th_jw_kbool(&w, "reads", true);
	th_jw_object_end(&w);
	th_driver_random_id(d, id);
	call.effect_id = th_str_n(id, 32);
	call.arguments = th_buf_str(&arguments);
	d->world.ops->tool_run(d->world.ctx, th_live_ticket_of(l, TH_TICKET_SERVER, k->asked),
			       &call, false);
	th_buf_deinit(&arguments);
}

static bool all_known(const struct th_live *l, const struct th_objects *servers)
{
	const struct th_agent_mcp *list = servers->list;

	for (size_t i = 0; i < servers->count; i++) {
		const struct th_mcp_list *k = list_find(l, l->speaks, &list[i]);

		if (!k || !k->known || k->stale)
			return false;
	}
	return true;
}

bool th_live_mcp_listed(struct th_live *l)
{
	const struct th_objects *servers = servers_of(l, l->speaks);
	const struct th_agent_mcp *list = servers->list;
	bool all = true;

	/* A server is started when what led to it is durable. */
	if (servers->count && l->durable_seq < l->fold.seq && !all_known(l, servers))
		return !th_live_defer_request(l);

	for (size_t i = 0; i < servers->count; i++) {
		struct th_mcp_list *k = list_get(l, l->speaks, &list[i]);

		if (k->known && !k->stale)
			continue;
		if (!k->asked)
			ask_for_list(l, k);
		all = false;
	}
	return all;
}

static bool name_taken(void *ctx, struct th_str name)
{
	const struct th_live *l = ctx;
	const struct th_session_config *o = l->session_config;
	const struct th_member *m = &l->fold.team->members[l->speaks];

	for (size_t i = 0; i < o->tool_count; i++)
		if (th_str_eq(o->tools[i].spec.name, name))
			return true;
	for (size_t i = 0; i < m->handoff_count; i++)
		if (th_str_eq(m->handoffs[i].tool, name))
			return true;
	return th_str_is(name, "computer") || mcp_find(l, name);
}

static size_t room_left(const struct th_live *l)
{
	size_t count = l->session_config->tool_count;

	while (th_live_mcp_row(l, count - l->session_config->tool_count))
		count++;
	return count < TH_AGENT_TOOLS_MAX ? TH_AGENT_TOOLS_MAX - count : 0;
}

/* A server may say that its list has changed when it has not, or not for us. */
static bool is_same(const struct th_mcp_list *k, struct th_str tools, struct th_str instructions)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_digest digest;

	if (!th_str_eq(k->instructions, instructions) || th_json_parse(tools, &doc, NULL))
		return false;
	digest = digest_of(th_json_root(doc));
	return !memcmp(&digest, &k->tools, sizeof(digest));
}

/* The event of a list that was read, or (`failed`) could not be. */
static void write_list(struct th_live *l, struct th_mcp_list *k, struct th_str output,
		       struct th_str failed)
{
	struct th_buf tools = TH_BUF_INIT(4 * TH_MCP_LIST_SIZE_MAX);
	struct th_buf left_out = TH_BUF_INIT(64 * TH_KIB);
	struct th_buf said TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_MCP_INSTRUCTIONS_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_mcp_choice choice = { .server = k->server, .taken = name_taken, .ctx = l };
	struct th_ev_mcp_tools d = { .server = k->server->name, .failed = failed };
	struct th_err err = { 0 };
	enum th_code code = TH_OK;
	size_t had = k->count;

	k->count = 0; /* its own names are free */
	choice.room = room_left(l);
	if (l->fold.team->count > 1)
		d.agent = th_session_member(&l->fold)->name;
	if (!failed.len) {
		code = th_json_parse(output, &doc, &err);
		if (!code)
			code = th_mcp_tools_choose(&choice, th_json_raw_get(output, "tools"),
						   th_json_raw_get(output, "offered"), &tools,
						   &left_out, &d.more, &err);
		d.revision = th_json_get_str(th_json_root(doc), "revision");
		d.software = th_json_get_str(th_json_root(doc), "software");
		d.more += th_json_get_int(th_json_root(doc), "left_out", 0);
		d.left_out = left_out.len > 2 ? th_buf_str(&left_out) : TH_STR("");
		if (!k->server->instructions)
			th_mcp_instructions_clean(
			    th_json_get_str(th_json_root(doc), "instructions"), &said);
		d.instructions = th_buf_str(&said);
	}
	d.tools = tools.len && !code ? th_buf_str(&tools) : TH_STR("[]");
	if (code)
		d.failed = th_str_of(err.msg);
	k->count = had;
	k->stale = false;
	if (!k->known || !is_same(k, d.tools, d.instructions))
		th_live_write_event(l, TH_EV_MCP_TOOLS, TH_SOURCE_ENVIRONMENT, l->fold.seq,
				    TH_STR(""), &d);
	th_buf_deinit(&tools);
	th_buf_deinit(&left_out);
}

static void run_fails(struct th_live *l, const struct th_mcp_list *k, struct th_str why)
{
	struct th_buf text = TH_BUF_INIT(8 * TH_KIB);

	th_buf_printf(&text, "mcp_servers: %.*s: %.*s", TH_FMT(k->server->name),
		      TH_FMT(th_utf8_cut(why, 4000)));
	th_live_fail(l, "mcp", th_buf_str(&text));
	th_buf_deinit(&text);
}

/* False: the run has failed. */
static bool take_answer(struct th_live *l, struct th_mcp_list *k, const struct th_effect_result *r)
{
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	struct th_str why;
	bool listed = r->status == TH_OUTCOME_DONE && th_json_raw_is_object(r->output);

	if (!th_json_unescape(r->output, &text))
		th_buf_clear(&text);
	why = th_outcome_sentence(text.len ? th_buf_str(&text) : r->why);
	if (!why.len)
		why = TH_STR("its list of tools could not be read");
	/* One that was read before still holds. */
	if (!listed && k->known)
		k->stale = false;
	else if (listed || k->server->optional)
		write_list(l, k, r->output, listed ? TH_STR("") : why);
	else
		run_fails(l, k, why);
	th_buf_deinit(&text);
	return listed || k->known;
}

void th_live_mcp_list_done(struct th_driver *d, struct th_ticket t,
			   const struct th_effect_result *r)
{
	struct th_live *l = th_live_find(d, t.index, t.generation);
	struct th_mcp_list *k = l ? l->mcp_lists : NULL;

	while (k && k->asked != t.seq)
		k = k->next;
	if (!k || l->lost)
		return;
	k->asked = 0;
	/* Paused or stopped meanwhile, or another agent's turn: it is asked for when it is needed.
	 */
	if (l->fold.state != TH_STATE_RUNNING || l->fold.phase != TH_TURN_DUE ||
	    k->agent != l->speaks)
		return;
	if (take_answer(l, k, r) && !l->lost)
		th_live_request_now(l);
	th_live_pump(l);
}

bool th_live_mcp_is(const struct th_live *l, const struct th_call *c)
{
	return l->mcp_lists && mcp_find(l, c->tool);
}

const struct th_tool_row *th_live_tool(const struct th_live *l, struct th_str name)
{
	for (size_t i = 0; i < l->session_config->tool_count; i++)
		if (th_str_eq(l->session_config->tools[i].spec.name, name))
			return &l->session_config->tools[i];
	return mcp_find(l, name);
}

const struct th_tool_row *th_live_row(const struct th_live *l, const struct th_call *c)
{
	return c->computer ? l->session_config->computer : th_live_tool(l, c->tool);
}
