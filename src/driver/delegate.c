/* SPDX-License-Identifier: Apache-2.0 */

#include "driver/delegate.h"

#include <stdlib.h>

#include "base/text.h"
#include "driver/log.h"
#include "driver/queue.h"
#include "trace/trace.h"

#define METADATA_MAX (4 * TH_KIB)

struct th_call *th_delegation_call(struct th_live *l, uint64_t intent_seq)
{
	for (size_t i = 0; i < l->fold.call_count; i++)
		if (l->fold.calls[i].phase == TH_CALL_INTENDED &&
		    l->fold.calls[i].intent_seq == intent_seq)
			return &l->fold.calls[i];
	return NULL;
}

struct th_delegation *th_delegation_of(const struct th_live *l, uint64_t intent_seq)
{
	struct th_delegation *g = l->children;

	while (g && g->intent_seq != intent_seq)
		g = g->next;
	return g;
}

static void add_child(struct th_live *l, struct th_delegation *g)
{
	struct th_delegation **at = &l->children;

	while (*at)
		at = &(*at)->next;
	*at = g;
	g->parent = l;
}

void th_delegation_remove(struct th_delegation *g)
{
	struct th_delegation **at = g->parent ? &g->parent->children : NULL;

	while (at && *at != g)
		at = &(*at)->next;
	if (at)
		*at = g->next;
	g->parent = NULL;
}

static void delegation_free(struct th_delegation *g)
{
	th_delegation_remove(g);
	free(g->members);
	free(g);
}

void th_live_delegation_free(struct th_live *l)
{
	if (l->parent_call)
		delegation_free(l->parent_call);
	l->parent_call = NULL;
}

void th_live_delegates_close(struct th_live *l)
{
	while (l->children)
		th_driver_close(l->driver, th_live_handle(l->children->child));
}

static bool has_ended(enum th_state s)
{
	return s == TH_STATE_FINISHED || s == TH_STATE_FAILED || s == TH_STATE_STOPPED ||
	       s == TH_STATE_STUCK || s == TH_STATE_LIMIT;
}

bool th_delegation_is_over(const struct th_session *s)
{
	for (size_t i = 0; i < s->call_count; i++)
		if (s->calls[i].phase == TH_CALL_INTENDED)
			return false;
	return has_ended(s->state);
}

static bool works(const struct th_live *l)
{
	return !l->fold.tripped &&
	       (l->fold.state == TH_STATE_RUNNING || l->fold.state == TH_STATE_WAITING);
}

/* ---- pause, resume, stop --------------------------------------------------------------------- */

void th_live_delegates_state(struct th_live *l, enum th_state to, struct th_str reason)
{
	for (struct th_delegation *g = l->children, *next; g; g = next) {
		enum th_state is = g->child->fold.state;
		struct th_err err = { 0 };
		enum th_code code = TH_OK;

		next = g->next;
		if (to == TH_STATE_PAUSED && (is == TH_STATE_RUNNING || is == TH_STATE_WAITING))
			code = th_driver_set_state(l->driver, th_live_handle(g->child), to, reason,
						   &err);
		else if (to == TH_STATE_RUNNING && is == TH_STATE_PAUSED)
			code = th_driver_resume(l->driver, th_live_handle(g->child), &err);
		if (code)
			th_live_lose(g->child, &err);
	}
}

void th_live_delegates_resume(struct th_live *l)
{
	for (size_t i = 0; works(l) && i < l->fold.call_count && !l->lost; i++) {
		const struct th_call *c = &l->fold.calls[i];
		struct th_buf id = TH_BUF_INIT(TH_SESSION_ID_MAX + 1);

		if (c->phase != TH_CALL_INTENDED || c->child != TH_CALL_CHILD_WAITS)
			continue;
		th_delegate_id(th_str_of(l->id), c->intent_seq, &id);
		th_delegation_waits(l, c, th_buf_str(&id), NULL);
		th_buf_deinit(&id);
		l->queue_at = l->queue_count = 0; /* the resume gives out what is due */
	}
}

void th_live_delegate_cancel(struct th_live *l, const struct th_call *c)
{
	struct th_delegation *g = th_delegation_of(l, c->intent_seq);
	struct th_err err = { 0 };

	if (!g || has_ended(g->child->fold.state))
		return;
	if (th_driver_set_state(l->driver, th_live_handle(g->child), TH_STATE_STOPPED,
				TH_STR("the session that it works for was stopped"), &err))
		th_live_lose(g->child, &err);
}

/* ---- the beginning --------------------------------------------------------------------------- */

int64_t th_live_depth(const struct th_live *l)
{
	struct th_str by = l->metadata ? th_delegated_by(th_str_of(l->metadata)) : TH_STR("");
	int64_t depth = 0;

	return by.len && th_str_i64(th_json_raw_get(by, "depth"), &depth) ? TH_MAX(depth, 0) : 0;
}

static size_t count_below(const struct th_live *l)
{
	size_t count = 0;

	for (const struct th_delegation *g = l->children; g; g = g->next)
		count += 1 + count_below(g->child);
	return count;
}

static enum th_code check_room(const struct th_live *l, struct th_err *err)
{
	const struct th_live *top = l;

	if (th_live_depth(l) >= TH_DELEGATE_DEPTH_MAX)
		return th_fail(err, TH_ELIMIT,
			       "agents work for agents %d deep already, which is the most",
			       TH_DELEGATE_DEPTH_MAX);
	while (top->parent_call && top->parent_call->parent)
		top = top->parent_call->parent;
	if (count_below(top) >= TH_DELEGATES_MAX)
		return th_fail(err, TH_ELIMIT,
			       "%d agents are at work already, which is the most at a time; ask "
			       "again when one of them has answered",
			       TH_DELEGATES_MAX);
	return TH_OK;
}

/* The calls of the answer that share what is left. */
static int64_t sharers(const struct th_live *l)
{
	const struct th_member *m = th_session_member(&l->fold);
	int64_t count = 0;

	for (size_t i = 0; i < l->fold.call_count; i++) {
		const struct th_call *c = &l->fold.calls[i];

		count += c->phase != TH_CALL_SETTLED && c->phase != TH_CALL_DENIED &&
			 !c->computer && th_member_delegate(m, c->tool);
	}
	return TH_MAX(count, (int64_t)1);
}

/* A limit of 0 would be none. */
static int64_t part(int64_t max, int64_t spent, int64_t parts)
{
	return TH_MAX((max - TH_MIN(spent, max)) / parts, (int64_t)1);
}

static void share(const struct th_live *l, const struct th_agent_command *tool,
		  struct th_agent_limits *limits)
{
	const struct th_session *s = &l->fold;
	const struct th_totals *t = &s->totals;
	int64_t parts = sharers(l);
	int64_t left_ms =
	    th_session_time_left_ms(s, l->driver->world.ops->now_ms(l->driver->world.ctx));

	limits->turns = tool->turns ? tool->turns : TH_DELEGATE_TURNS_DEFAULT;
	limits->tokens = limits->seconds = 0;
	limits->cost_usd = 0;
	if (s->tokens_max)
		limits->tokens =
		    part(s->tokens_max, t->tokens_in + t->tokens_out + t->tokens_held, parts);
	if (s->cost_nano_max)
		limits->cost_usd =
		    (double)part(s->cost_nano_max, t->cost_nano + t->cost_held_nano, parts) / 1e9;
	if (left_ms >= 0)
		limits->seconds = TH_MAX(left_ms / 1000, (int64_t)1);
	if (tool->timeout_s && (!limits->seconds || tool->timeout_s < limits->seconds))
		limits->seconds = tool->timeout_s;
}

/* The team as the parent has it, without a screen. */
static struct th_session_config session_config_of(struct th_live *l, struct th_delegation *g,
						  const struct th_agent_command *tool)
{
	struct th_session_config o = l->team_config;

	g->agent = *o.agent;
	if (o.agent->limits)
		g->limits = *o.agent->limits;
	share(l, tool, &g->limits);
	g->agent.limits = &g->limits;
	g->agent.computer = NULL;
	o.agent = &g->agent;
	if (o.has_computer && o.member_count > 0) {
		g->members = th_alloc(o.member_count * sizeof(*g->members));
		memcpy(g->members, o.members, o.member_count * sizeof(*g->members));
		for (size_t i = 0; i < o.member_count; i++) {
			g->members[i].has_computer = false;
			g->members[i].computer = NULL;
		}
		o.members = g->members;
	}
	o.has_computer = false;
	o.computer = NULL;
	return o;
}

static void put_metadata(const struct th_live *l, const struct th_call *c, struct th_buf *out)
{
	struct th_jw w = th_jw(out);
	struct th_trace_origin own, origin;
	bool has_own =
	    l->metadata && th_trace_origin_read(th_delegated_by(th_str_of(l->metadata)), &own);

	th_jw_object(&w);
	th_jw_key(&w, TH_STR("delegated_by"));
	th_jw_object(&w);
	th_jw_kstr(&w, "session", th_str_of(l->id));
	th_jw_kstr(&w, "effect_id", c->effect_id);
	th_jw_kint(&w, "depth", th_live_depth(l) + 1);
	th_trace_origin(th_str_of(l->id), has_own ? &own : NULL, l->fold.task_seq, c->call_seq,
			&origin);
	th_trace_origin_print(&origin, &w);
	th_jw_object_end(&w);
	th_jw_object_end(&w);
}

static bool is_ours(struct th_str metadata, const struct th_call *c)
{
	struct th_str raw = th_json_raw_get(th_delegated_by(metadata), "effect_id");

	return raw.len == c->effect_id.len + 2 &&
	       th_str_eq(th_str_sub(raw, 1, raw.len - 2), c->effect_id);
}

/* One text member is the message; anything else is given as it is. */
static enum th_code input_of(const struct th_call *c, struct th_buf *out, struct th_err *err)
{
	struct th_json_doc *doc = NULL;
	const struct th_json *input;
	enum th_code code = th_json_parse(c->arguments, &doc, err);

	if (code)
		return code;
	input = th_json_get(th_json_root(doc), "input");
	if (th_json_count(th_json_root(doc)) == 1 && th_json_str(input).ptr)
		th_buf_add(out, th_json_str(input));
	else
		th_buf_add(out, c->arguments);
	th_json_free(doc);
	return th_buf_check(out, "what the agent is asked", err);
}

static void say(struct th_live *child, struct th_str text)
{
	struct th_err err = { 0 };

	if (th_live_append_message(child, TH_SOURCE_AGENT, 0, text, &err))
		th_live_lose(child, &err);
	th_live_pump(child);
}

static void write_started(struct th_live *l, const struct th_call *c, const struct th_live *child)
{
	struct th_ev_delegation_started d = {
		.child = th_str_of(child->id),
		.call_id = c->call_id,
		.agent = child->fold.agent_name,
	};

	if (c->child == TH_CALL_CHILD_NONE)
		th_live_write_event(l, TH_EV_DELEGATION_STARTED, TH_SOURCE_ENVIRONMENT,
				    c->intent_seq, c->call_id, &d);
}

/* It is with the driver, and so with the world. */
static void child_is_open(struct th_live *l, struct th_delegation *g, struct th_handle h)
{
	struct th_driver *d = l->driver;
	struct th_live *child = th_live_find(d, h.index, h.generation);

	assert(child);
	g->child = child;
	child->parent_call = g;
	add_child(l, g);
	if (d->world.ops->child_opened)
		d->world.ops->child_opened(d->world.ctx, th_live_ticket(l, g->intent_seq),
					   th_live_ticket(child, 0), th_str_of(child->id),
					   child->epoch);
}

static const struct th_observer no_observer;

static enum th_code create(struct th_live *l, const struct th_call *c, struct th_delegation *g,
			   const struct th_agent_command *tool, struct th_str id,
			   struct th_err *err)
{
	const struct th_delegate *delegate =
	    th_member_delegate(th_session_member(&l->fold), c->tool);
	struct th_session_config session_config = session_config_of(l, g, tool);
	struct th_observer observer = no_observer;
	const struct th_session_config *begins;
	struct th_ev_session_created created = { .workspace = l->team_config.agent->workspace,
						 .user = th_str_of(l->user) };
	struct th_buf input = TH_BUF_INIT(TH_MESSAGE_MAX), metadata = TH_BUF_INIT(METADATA_MAX);
	struct th_handle h;
	enum th_code code = check_room(l, err);

	assert(delegate);
	begins = th_config_member(&l->team_config, delegate->to);
	created.begins = l->fold.team->members[delegate->to].name;
	created.model = begins->agent->model.len ? begins->agent->model : begins->first.model;
	put_metadata(l, c, &metadata);
	created.metadata = th_buf_str(&metadata);
	observer.rest = th_delegation_rest;
	observer.ctx = g;
	if (!code)
		code = input_of(c, &input, err);
	if (!code)
		code =
		    th_driver_create(l->driver, id, &session_config, &created, &observer, &h, err);
	if (!code) {
		child_is_open(l, g, h);
		write_started(l, c, g->child);
		say(g->child, th_buf_str(&input));
	}
	th_buf_deinit(&input);
	th_buf_deinit(&metadata);
	return code;
}

/* By its own log, which a runtime before this one began. */
static enum th_code take_up(struct th_live *l, const struct th_call *c, struct th_delegation *g,
			    const struct th_agent_command *tool, const struct th_session_row *row,
			    struct th_err *err)
{
	struct th_session_config session_config = session_config_of(l, g, tool);
	struct th_observer observer = no_observer;
	struct th_handle h;
	enum th_code code;

	observer.rest = th_delegation_rest;
	observer.ctx = g;
	if (!is_ours(row->metadata, c))
		return th_fail(err, TH_EEXIST, "session %.*s exists already, and is another's",
			       TH_FMT(row->session_id));
	code = th_driver_open(l->driver, row, &session_config, &observer, &h, err);
	if (code)
		return code;
	child_is_open(l, g, h);
	write_started(l, c, g->child);
	return TH_OK;
}

/* One that was taken up, or was paused, or whose wait is to be told again; `fresh`: what it began
 * is to be settled. */
static void go_on(struct th_live *l, struct th_delegation *g, const struct th_call *c, bool fresh)
{
	struct th_live *child = g->child;
	struct th_buf input = TH_BUF_INIT(TH_MESSAGE_MAX);
	struct th_err err = { 0 };
	enum th_code code = TH_OK;

	if (th_delegation_is_over(&child->fold)) {
		th_delegation_end(g);
	} else if (!works(l) && !has_ended(child->fold.state)) {
		th_live_delegate_cancel(l, c);
		if (fresh && !child->lost)
			code = th_driver_resume(l->driver, th_live_handle(child), &err);
	} else if (child->fold.state == TH_STATE_IDLE) {
		code = input_of(c, &input, &err);
		if (!code)
			say(child, th_buf_str(&input));
	} else {
		code = th_driver_resume(l->driver, th_live_handle(child), &err);
	}
	th_buf_deinit(&input);
	if (code)
		th_live_lose(l, &err); /* as one that cannot be resumed itself */
}

/* Is it in the store?  TH_ENOENT: no. */
static enum th_code find(struct th_live *l, struct th_str id, bool settle, struct th_arena *a,
			 struct th_session_row *row, struct th_err *err)
{
	const struct th_world *w = &l->driver->world;

	if (!settle || !w->ops->child_lease)
		return TH_ENOENT;
	return w->ops->child_lease(w->ctx, id, a, row, err);
}

static void begin(struct th_live *l, const struct th_call *c, const struct th_agent_command *tool,
		  bool settle)
{
	struct th_delegation *g = th_alloc(sizeof(*g));
	struct th_buf id = TH_BUF_INIT(TH_SESSION_ID_MAX + 1);
	bool begun = c->child != TH_CALL_CHILD_NONE;
	struct th_session_row row;
	struct th_arena memory;
	struct th_err err = { 0 };
	enum th_code code;

	g->intent_seq = c->intent_seq;
	th_arena_init(&memory, TH_MIB);
	th_delegate_id(th_str_of(l->id), c->intent_seq, &id);
	code = find(l, th_buf_str(&id), settle, &memory, &row, &err);
	if (!code) {
		code = take_up(l, c, g, tool, &row, &err);
		if (!code)
			go_on(l, g, c, true);
		else if (code != TH_EEXIST)
			th_live_lose(l, &err);
	} else if (code == TH_ENOENT && begun) {
		th_fail(&err, code, "this store does not have it");
	} else if (code == TH_ENOENT && works(l)) {
		code = create(l, c, g, tool, th_buf_str(&id), &err);
	} else if (code == TH_ENOENT) {
		code = th_fail(&err, TH_ECANCELED, "the run was stopped before");
	} else {
		th_live_lose(l, &err); /* its owner may still finish it */
	}
	if (code && !l->lost && begun)
		th_delegation_lost(l, c, th_buf_str(&id), &err);
	else if (code && !l->lost)
		th_driver_tool_not_started(l->driver, th_live_ticket(l, c->intent_seq), err.msg);
	if (code)
		delegation_free(g);
	th_arena_deinit(&memory);
	th_buf_deinit(&id);
}

void th_live_delegate(struct th_live *l, const struct th_call *c,
		      const struct th_agent_command *tool, bool settle)
{
	struct th_delegation *g = th_delegation_of(l, c->intent_seq);

	if (!g)
		begin(l, c, tool, settle);
	else if (g->child->fold.state != TH_STATE_RUNNING)
		go_on(l, g, c, false);
}
