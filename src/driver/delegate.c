/* SPDX-License-Identifier: Apache-2.0 */

#include "driver/delegate.h"

#include <stdlib.h>

#include "base/text.h"
#include "driver/delegate_background.h"
#include "driver/driver.h"
#include "driver/skills.h"
#include "live/log.h"
#include "live/queue.h"
#include "trace/trace.h"

#define METADATA_MAX (4 * TH_KIB)

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

bool th_delegation_has_ended(const struct th_session *session)
{
	enum th_state s = session->state;

	return s == TH_STATE_FINISHED || s == TH_STATE_FAILED || s == TH_STATE_STOPPED ||
	       s == TH_STATE_STUCK || s == TH_STATE_LIMIT;
}

bool th_delegation_is_over(const struct th_session *s)
{
	for (size_t i = 0; i < s->call_count; i++)
		if (s->calls[i].phase == TH_CALL_INTENDED)
			return false;
	return th_delegation_has_ended(s);
}

bool th_delegation_works(const struct th_live *l)
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

static void goes_on(struct th_live *l, const struct th_call *c)
{
	struct th_buf id TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SESSION_ID_MAX + 1);

	if (c->phase != TH_CALL_INTENDED || c->child != TH_CALL_CHILD_WAITS)
		return;
	th_call_child(c, th_str_of(l->id), &id);
	th_delegation_waits(l, c, th_buf_str(&id), NULL);
	l->queue_at = l->queue_count = 0; /* the resume gives out what is due */
}

void th_live_delegates_resume(struct th_live *l)
{
	for (const struct th_background *b = l->fold.background;
	     b && th_delegation_works(l) && !l->lost; b = b->next)
		goes_on(l, &b->call);
	for (size_t i = 0; th_delegation_works(l) && i < l->fold.call_count && !l->lost; i++)
		goes_on(l, &l->fold.calls[i]);
}

void th_delegation_stop(struct th_live *l, struct th_delegation *g, const char *why)
{
	struct th_err err = { 0 };

	if (th_delegation_has_ended(&g->child->fold))
		return;
	if (th_driver_set_state(l->driver, th_live_handle(g->child), TH_STATE_STOPPED,
				th_str_of(why), &err))
		th_live_lose(g->child, &err);
}

void th_live_delegate_cancel(struct th_live *l, const struct th_call *c)
{
	struct th_delegation *g = th_delegation_of(l, c->intent_seq);

	if (g)
		th_delegation_stop(l, g, "the session that it works for was stopped");
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

/* The team as the parent has it, without a screen. */
static struct th_session_config session_config_of(struct th_live *l, struct th_delegation *g,
						  const struct th_delegation_task *task)
{
	struct th_session_config o = l->team_config;

	g->agent = *o.agent;
	if (o.agent->limits)
		g->limits = *o.agent->limits;
	th_delegation_share(l, g->tool, l->fold.team->members[task->agent].name, task->background,
			    &g->limits);
	g->agent.limits = &g->limits;
	g->agent.computer = NULL;
	o.agent = &g->agent;
	o.definition = TH_STR("");
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

static bool says(struct th_str metadata, const char *name, struct th_str value)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	return th_json_unescape(th_json_raw_get(th_delegated_by(metadata), name), &text) &&
	       th_str_eq(th_buf_str(&text), value);
}

/* Of this call, or of an earlier one of this session. */
static bool is_ours(const struct th_live *l, struct th_str metadata, const struct th_call *c,
		    const struct th_delegation_task *task)
{
	return task->resumed ? says(metadata, "session", th_str_of(l->id))
			     : says(metadata, "effect_id", c->effect_id);
}

static void say(struct th_live *child, struct th_str text)
{
	struct th_err err = { 0 };

	if (th_live_append_message(child, TH_SOURCE_AGENT, 0, text, &err))
		th_live_lose(child, &err);
	else
		th_live_skills_said(child, text);
	th_live_pump(child);
}

static void write_started(struct th_live *l, const struct th_call *c, const struct th_live *child,
			  bool background)
{
	struct th_ev_delegation_started d = {
		.child = th_str_of(child->id),
		.call_id = c->call_id,
		.agent = child->fold.agent_name,
		.background = background,
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
			   const struct th_delegation_task *task, struct th_err *err)
{
	struct th_session_config session_config = session_config_of(l, g, task);
	struct th_observer observer = no_observer;
	const struct th_session_config *begins;
	struct th_ev_session_created created = { .workspace = l->fold.workspace,
						 .user = th_str_of(l->user) };
	struct th_buf metadata = TH_BUF_INIT(METADATA_MAX);
	struct th_handle h;
	enum th_code code = check_room(l, err);

	begins = th_config_member(&l->team_config, task->agent);
	created.begins = l->fold.team->members[task->agent].name;
	created.model = begins->agent->model.len ? begins->agent->model : begins->first.model;
	put_metadata(l, c, &metadata);
	created.metadata = th_buf_str(&metadata);
	observer.rest = th_delegation_rest;
	observer.ctx = g;
	if (!code)
		code = th_driver_create(l->driver, task->session, &session_config, &created,
					&observer, &h, err);
	if (!code) {
		child_is_open(l, g, h);
		write_started(l, c, g->child, task->background);
		say(g->child, task->prompt);
	}
	th_buf_deinit(&metadata);
	return code;
}

/* By its own log, which a runtime before this one began. */
static enum th_code take_up(struct th_live *l, const struct th_call *c, struct th_delegation *g,
			    const struct th_delegation_task *task, const struct th_session_row *row,
			    struct th_err *err)
{
	struct th_session_config session_config = session_config_of(l, g, task);
	struct th_observer observer = no_observer;
	struct th_handle h;
	enum th_code code;

	observer.rest = th_delegation_rest;
	observer.ctx = g;
	if (!is_ours(l, row->metadata, c, task))
		return th_fail(err, TH_EEXIST, "session %.*s exists already, and is another's",
			       TH_FMT(row->session_id));
	if (task->resumed && c->child == TH_CALL_CHILD_NONE)
		code = check_room(l, err);
	else
		code = TH_OK;
	if (!code)
		code = th_driver_open(l->driver, row, &session_config, &observer, &h, err);
	if (code)
		return code;
	child_is_open(l, g, h);
	if (!task->resumed)
		write_started(l, c, g->child, task->background);
	return TH_OK;
}

void th_delegation_go_on(struct th_live *l, struct th_delegation *g, const struct th_call *c,
			 bool fresh)
{
	struct th_live *child = g->child;
	struct th_delegation_task task;
	struct th_arena memory;
	struct th_err err = { 0 };
	enum th_code code = TH_OK;

	th_arena_init(&memory, TH_TURN_MEMORY_MAX);
	if (th_delegation_is_over(&child->fold)) {
		th_delegation_end(g);
	} else if (!th_delegation_works(l) && !th_delegation_has_ended(&child->fold)) {
		th_live_delegate_cancel(l, c);
		if (fresh && !child->lost)
			code = th_driver_resume(l->driver, th_live_handle(child), &err);
	} else if (child->fold.state == TH_STATE_IDLE) {
		code = th_delegation_task_read(l, c, g->tool, &memory, &task, &err);
		if (!code)
			say(child, task.prompt);
	} else {
		code = th_driver_resume(l->driver, th_live_handle(child), &err);
	}
	th_arena_deinit(&memory);
	if (code)
		th_live_lose(l, &err); /* as one that cannot be resumed itself */
}

/* Is it in the store?  TH_ENOENT: no. */
static enum th_code find(struct th_live *l, const struct th_delegation_task *task, bool settle,
			 struct th_arena *a, struct th_session_row *row, struct th_err *err)
{
	const struct th_world *w = &l->driver->world;

	if ((!settle && !task->resumed) || !w->ops->child_lease)
		return TH_ENOENT;
	/* A lease is the runtime's, which may have it open for a person, or for another call. */
	for (uint32_t i = 0; task->resumed && i < l->driver->live_cap; i++)
		if (l->driver->lives[i] &&
		    th_str_eq(th_str_of(l->driver->lives[i]->id), task->session))
			return th_fail(err, TH_EBUSY, "that task is under way");
	return w->ops->child_lease(w->ctx, task->session, a, row, err);
}

/* Those that share a budget go on together, when it is known what each of them has used. */
static void release_held(struct th_live *l)
{
	for (size_t i = 0; i < l->fold.call_count; i++) {
		const struct th_call *c = &l->fold.calls[i];

		if (c->phase == TH_CALL_INTENDED && c->child != TH_CALL_CHILD_NONE &&
		    th_call_delegates(&l->fold, c) && !th_delegation_of(l, c->intent_seq))
			return;
	}
	for (struct th_delegation *g = l->children; g && !l->lost;) {
		const struct th_call *c = th_live_intended(l, g->intent_seq);

		if (!g->held || !c) {
			g = g->next;
			continue;
		}
		g->held = false;
		th_delegation_go_on(l, g, c, true);
		g = l->children; /* that one may be over */
	}
}

/* One that is in the store: it began with this call, or with an earlier one. */
static enum th_code found(struct th_live *l, const struct th_call *c, struct th_delegation *g,
			  const struct th_delegation_task *task, const struct th_session_row *row,
			  struct th_err *err)
{
	enum th_code code = take_up(l, c, g, task, row, err);

	if (code)
		return code;
	if (task->resumed && c->child == TH_CALL_CHILD_NONE)
		return th_delegation_task_resume(l, c, g, task, err);
	g->held = g->tool->budget == TH_BUDGET_SHARED;
	if (!g->held)
		th_delegation_go_on(l, g, c, true);
	return TH_OK;
}

static void begin(struct th_live *l, const struct th_call *c, const struct th_agent_command *tool,
		  bool settle)
{
	struct th_delegation *g = th_alloc(sizeof(*g));
	bool begun = c->child != TH_CALL_CHILD_NONE;
	struct th_delegation_task task = { 0 };
	struct th_session_row row;
	struct th_arena memory;
	struct th_err err = { 0 };
	enum th_code code;

	g->intent_seq = c->intent_seq;
	g->tool = tool;
	th_arena_init(&memory, TH_TURN_MEMORY_MAX);
	code = th_delegation_task_read(l, c, tool, &memory, &task, &err);
	if (!code && task.background)
		code = th_background_allows(l, tool, &err);
	if (!code)
		code = find(l, &task, settle, &memory, &row, &err);
	else
		code = TH_EUSAGE;
	if (!code) {
		code = found(l, c, g, &task, &row, &err);
		if (code && code != TH_EEXIST && !(task.resumed && !begun))
			th_live_lose(l, &err);
	} else if (code == TH_EUSAGE) {
		; /* it asks for what there is not */
	} else if (code == TH_ENOENT && (begun || task.resumed)) {
		th_fail(&err, code, "this store does not have it");
	} else if (code == TH_ENOENT && th_delegation_works(l)) {
		code = create(l, c, g, &task, &err);
	} else if (code == TH_ENOENT) {
		code = th_fail(&err, TH_ECANCELED, "the run was stopped before");
	} else if (!task.resumed || begun) {
		th_live_lose(l, &err); /* its owner may still finish it */
	}
	if (!code && task.background && !l->lost)
		th_background_begun(l, c);
	else if (code && !l->lost && begun)
		th_delegation_lost(l, c, task.session, &err);
	else if (code && !l->lost)
		th_driver_tool_not_started(l->driver, th_live_ticket(l, c->intent_seq), err.msg);
	if (code && !g->child)
		delegation_free(g);
	else if (code && !l->lost)
		th_delegation_part(g); /* it is over, or another's to go on with */
	th_arena_deinit(&memory);
	if (settle && !l->lost)
		release_held(l);
}

void th_live_delegate(struct th_live *l, const struct th_call *c,
		      const struct th_agent_command *tool, bool settle)
{
	struct th_delegation *g = th_delegation_of(l, c->intent_seq);

	if (th_session_background(&l->fold, c->intent_seq))
		th_background_begun(l, c); /* all but this was written */
	else if (!g)
		begin(l, c, tool, settle);
	else if (g->child->fold.state != TH_STATE_RUNNING)
		th_delegation_go_on(l, g, c, false);
}

/* Whose it was may have handed over since. */
static const struct th_agent_command *tool_of(const struct th_live *l, struct th_str name)
{
	for (size_t i = 0; i <= l->team_config.member_count; i++) {
		const struct th_session_config *o = th_config_member(&l->team_config, i);

		for (size_t j = 0; j < o->tool_count; j++)
			if (th_row_delegates(&o->tools[j]) &&
			    th_str_eq(o->tools[j].spec.name, name))
				return o->tools[j].command;
	}
	return NULL;
}

void th_delegation_take(struct th_live *l, const struct th_call *c)
{
	struct th_delegation *g = th_alloc(sizeof(*g));
	struct th_delegation_task task = { .resumed = c->before, .background = true };
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SESSION_ID_MAX + 1);
	struct th_session_row row;
	struct th_arena memory;
	struct th_err err = { 0 };
	enum th_code code;

	g->intent_seq = c->intent_seq;
	g->tool = tool_of(l, c->tool);
	th_call_child(c, th_str_of(l->id), &name);
	task.session = th_buf_str(&name);
	th_arena_init(&memory, TH_TURN_MEMORY_MAX);
	code = g->tool ? find(l, &task, true, &memory, &row, &err)
		       : th_fail(&err, TH_ENOENT, "no tool %.*s is there", TH_FMT(c->tool));
	if (code == TH_ENOENT && g->tool)
		th_fail(&err, code, "this store does not have it");
	else if (!code)
		code = take_up(l, c, g, &task, &row, &err);
	g->held = !code;
	if (code == TH_ENOENT || code == TH_EEXIST)
		th_delegation_lost(l, c, task.session, &err);
	else if (code)
		th_live_lose(l, &err); /* its owner may still finish it */
	if (code && !g->child)
		delegation_free(g);
	th_arena_deinit(&memory);
}
