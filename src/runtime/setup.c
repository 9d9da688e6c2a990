/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setup.c - what sessions are run with is found by their definition, or made for
 * the first that has it.
 */
#include <stdlib.h>

#include "config/hooks.h"
#include "config/skills.h"
#include "config/subagents.h"
#include "runtime/internal.h"

static struct th_runtime_setup *setup_alloc(void)
{
	struct th_runtime_setup *u = th_alloc(sizeof(*u));

	u->users = 1;
	th_arena_init(&u->memory, 4 * TH_CONFIG_SIZE_MAX);
	return u;
}

static void setup_free(struct th_runtime_setup *u)
{
	th_arena_deinit(&u->memory);
	free(u);
}

/* ---- shared ---- */

static struct th_runtime_setup **bucket(struct th_runtime *rt, const struct th_digest *key)
{
	return &rt->setups[key->bytes[0] % TH_SETUP_BUCKETS];
}

struct th_runtime_setup *th_runtime_setup_share(struct th_runtime_setup *u)
{
	u->users++;
	return u;
}

void th_runtime_setup_drop(struct th_runtime *rt, struct th_runtime_setup *u)
{
	struct th_runtime_setup **at;

	if (!u || --u->users > 0)
		return;
	if (u->shared) {
		for (at = bucket(rt, &u->key); *at != u; at = &(*at)->next)
			;
		*at = u->next;
	}
	setup_free(u);
}

/* Functions of a program are for the session that they were given for. */
static bool is_own(const struct th_start *start)
{
	return start && (start->tool_count > 0 || start->computer || start->callbacks);
}

static void add_text(struct th_sha256 *h, struct th_str s)
{
	th_sha256_add(h, &s.len, sizeof(s.len));
	th_sha256_add(h, s.ptr, s.len);
}

/* A tool that the runtime is given later is for sessions that begin later. */
static struct th_digest key_of(const struct th_runtime *rt, struct th_str agent,
			       struct th_str model)
{
	struct th_sha256 h;

	th_sha256_init(&h);
	add_text(&h, agent);
	add_text(&h, model);
	th_sha256_add(&h, &rt->tool_count, sizeof(rt->tool_count));
	return th_sha256_end(&h);
}

static struct th_runtime_setup *find(struct th_runtime *rt, const struct th_digest *key,
				     bool checked)
{
	struct th_runtime_setup *u = *bucket(rt, key);

	while (u && !(th_digest_eq(&u->key, key) && (u->checked || !checked)))
		u = u->next;
	return u;
}

/* Of a definition that is in u->agent.  Takes `u` over, also where that fails. */
static enum th_code make(struct th_runtime *rt, struct th_runtime_setup *u,
			 const struct th_start *start, struct th_runtime_setup **ret,
			 struct th_err *err)
{
	enum th_code code = th_runtime_place(rt, &u->agent, err);

	if (!code)
		code = th_runtime_setup_make(rt, u, start, err);
	if (code) {
		setup_free(u);
		return code;
	}
	u->shared = !is_own(start);
	if (u->shared) {
		u->next = *bucket(rt, &u->key);
		*bucket(rt, &u->key) = u;
	}
	*ret = u;
	return TH_OK;
}

static enum th_code take(struct th_runtime *rt, struct th_runtime_setup *known,
			 struct th_runtime_setup **ret, struct th_err *err)
{
	enum th_code code = th_runtime_place(rt, &known->agent, err);

	if (!code)
		*ret = th_runtime_setup_share(known);
	return code;
}

/* ---- of a new session ---- */

/* As its first event will have it: the workspace stands beside the definition there. */
static enum th_code print(const struct th_agent *agent, struct th_buf *out, struct th_err *err)
{
	struct th_jw w = th_jw(out);

	th_table_print(&th_agent_table, agent, &w);
	return th_buf_check(out, "the agent's definition", err);
}

/* The fold asks guardrails and hooks, and does so again when the log is read: what their words mean
 * stands in the definition.  Where nothing could be meant, nothing is said. */
static bool has_guards(const struct th_agent *agent)
{
	return agent->guardrails.count || agent->hooks ||
	       th_str_find(agent->agents, TH_STR("\"guardrails\"")) >= 0 ||
	       th_str_find(agent->agents, TH_STR("\"hooks\"")) >= 0;
}

/* The workspace is the session's own: what is found in it is in the definition by now. */
static enum th_code take_workspace(struct th_runtime_session *s, struct th_str workspace,
				   struct th_err *err)
{
	s->workspace = th_arena_str(&s->memory, workspace);
	if (!s->workspace.ptr)
		return th_fail(err, TH_ELIMIT, "the workspace's path is too long");
	return TH_OK;
}

/* One whose definition is whole as it is: it needs no copy to be looked for.  NULL in *ret: there
 * is none yet, or files belong to it. */
static enum th_code find_whole(struct th_runtime *rt, const struct th_start *start,
			       struct th_runtime_setup **ret, struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_agent agent = *start->agent;
	struct th_str definition = start->definition;
	struct th_digest key;
	enum th_code code = TH_OK;

	*ret = NULL;
	if (is_own(start) || agent.skills || agent.subagents || agent.hooks)
		return TH_OK;
	agent.workspace = TH_STR("");
	agent.guards_alike = has_guards(&agent);
	if (!definition.len || agent.guards_alike) {
		code = print(&agent, &text, err);
		definition = th_buf_str(&text);
	}
	if (code)
		return code;
	key = key_of(rt, definition, agent.model);
	*ret = find(rt, &key, true);
	return TH_OK;
}

static enum th_code setup_new(struct th_runtime_session *s, const struct th_start *start,
			      struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_runtime *rt = s->rt;
	struct th_runtime_setup *u = setup_alloc(), *known = NULL;
	enum th_code code = th_agent_copy(start->agent, &u->memory, &u->agent, err)
				?: th_skills_load(&u->agent, &u->memory, err) /* others name some */
				?: th_subagents_load(&u->agent, &u->memory, err)
				?: th_hooks_load(&u->agent, &u->memory, err)
				?: take_workspace(s, u->agent.workspace, err);

	u->agent.workspace = TH_STR("");
	u->agent.guards_alike = has_guards(&u->agent);
	if (!code)
		code = print(&u->agent, &text, err);
	if (code) {
		setup_free(u);
		return code;
	}
	u->key = key_of(rt, th_buf_str(&text), u->agent.model);
	u->checked = true;
	if (!is_own(start))
		known = find(rt, &u->key, true);
	if (!known && !is_own(start)) /* for the next sessions, too */
		u->config.definition = th_arena_str(&u->memory, th_buf_str(&text));
	if (!known)
		return make(rt, u, start, &s->setup, err);
	setup_free(u);
	return take(rt, known, &s->setup, err);
}

enum th_code th_runtime_setup_new(struct th_runtime_session *s, const struct th_start *start,
				  struct th_err *err)
{
	struct th_runtime_setup *known;
	enum th_code code = find_whole(s->rt, start, &known, err);

	if (code)
		return code;
	if (!known)
		return setup_new(s, start, err);
	code = take_workspace(s, start->agent->workspace, err);
	return code ? code : take(s->rt, known, &s->setup, err);
}

/* ---- of a stored session ---- */

static enum th_code read_agent(const struct th_json *root, const struct th_ev_session_created *d,
			       struct th_arena *scratch, struct th_arena *a, struct th_agent *ret,
			       struct th_err *err)
{
	struct th_agent parsed;
	enum th_code code =
	    th_table_parse(&th_agent_table, th_json_get(root, "agent"), scratch, &parsed, err);

	if (code)
		return code;
	if (!parsed.model.len)
		parsed.model = d->model;
	parsed.workspace = TH_STR("");
	return th_agent_copy(&parsed, a, ret, err);
}

/* `a`: of strings that *ret borrows, beside the document. */
static enum th_code read_first(const struct th_event *first, struct th_arena *a,
			       struct th_json_doc **ret_doc, struct th_ev_session_created *ret,
			       struct th_err *err)
{
	if (first->kind != TH_EV_SESSION_CREATED)
		return th_fail(err, TH_ECORRUPT, "the log does not begin with session_created");
	return th_json_parse(first->data, ret_doc, err)
		   ?: th_table_parse_plain(&th_ev_session_created_table, th_json_root(*ret_doc), a,
					   ret, err);
}

/* Logs of older builds have it in the definition, too. */
static struct th_str workspace_of(const struct th_json *root, const struct th_ev_session_created *d)
{
	struct th_str own = th_json_get_str(th_json_get(root, "agent"), "workspace");

	return own.len ? own : d->workspace;
}

enum th_code th_runtime_setup_stored(struct th_runtime_session *s, const struct th_event *first,
				     const struct th_start *start, struct th_err *err)
{
	struct th_runtime *rt = s->rt;
	struct th_arena scratch TH_CLEANUP(th_arena_deinit) = {};
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_runtime_setup *u, *known = NULL;
	struct th_ev_session_created d;
	struct th_digest key;
	enum th_code code;

	th_arena_init(&scratch, 4 * TH_CONFIG_SIZE_MAX);
	code = read_first(first, &scratch, &doc, &d, err);
	if (!code)
		code = take_workspace(s, workspace_of(th_json_root(doc), &d), err);
	if (code)
		return code;
	key = key_of(rt, th_json_raw_get(first->data, "agent"), d.model);
	if (!is_own(start))
		known = find(rt, &key, false);
	if (known)
		return take(rt, known, &s->setup, err);
	u = setup_alloc();
	u->key = key;
	code = read_agent(th_json_root(doc), &d, &scratch, &u->memory, &u->agent, err);
	if (!code)
		return make(rt, u, start, &s->setup, err);
	setup_free(u);
	return code;
}

/* ---- where a stored session may be run ---- */

struct first_agent {
	struct th_arena *a;
	struct th_agent *agent;
	bool found;
};

static enum th_code first_agent(void *ctx, const struct th_event *first,
				const struct th_digest *digest, struct th_err *err)
{
	struct first_agent *f = ctx;
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_ev_session_created d;
	enum th_code code = read_first(first, f->a, &doc, &d, err);

	(void)digest;
	if (!code)
		code = read_agent(th_json_root(doc), &d, f->a, f->a, f->agent, err);
	f->found = !code;
	return code;
}

enum th_code th_runtime_place_stored(struct th_runtime *rt, struct th_str session_id,
				     struct th_err *err)
{
	struct th_arena memory TH_CLEANUP(th_arena_deinit) = {};
	struct th_agent agent;
	struct first_agent f = { &memory, &agent, false };
	enum th_code code;

	if (!rt->placed)
		return TH_OK;
	th_arena_init(&memory, 4 * TH_EVENT_DATA_MAX);
	code = rt->store->kind->read(rt->store, session_id, 1, 1, first_agent, &f, err);
	if (!code && !f.found)
		code = th_fail(err, TH_ECORRUPT, "session %.*s has no first event",
			       TH_FMT(session_id));
	return code ? code : th_runtime_place(rt, &agent, err);
}
