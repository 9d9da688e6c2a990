/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.c - the driver and its sessions: begun, taken up, dressed for the agent
 * that speaks, forgotten.
 */
#include <stdlib.h>

#include "context/condenser.h"
#include "core/output.h"
#include "driver/analyse.h"
#include "driver/background.h"
#include "driver/blob_text.h"
#include "driver/calls.h"
#include "driver/current_agent.h"
#include "driver/delegate.h"
#include "driver/effects.h"
#include "driver/history_make.h"
#include "driver/hooks.h"
#include "driver/log.h"
#include "driver/mcp_tools.h"
#include "driver/memory.h"
#include "driver/model.h"
#include "driver/pending_callback.h"
#include "driver/person.h"
#include "driver/program.h"
#include "driver/provider_state.h"
#include "driver/queue.h"
#include "driver/side_request.h"
#include "driver/team.h"
#include "driver/unknown.h"
#include "driver/view.h"

static void live_free(struct th_live *l);

static enum th_code live_fit(struct th_live *l, const struct th_session_config *session_config,
			     struct th_err *err)
{
	enum th_code code;

	l->team_config = *session_config;
	code = th_live_provider_fit(l, err);
	return code ? code : th_live_switch_agent(l, err);
}

/* Without its configuration: live_fit must follow. */
static enum th_code live_new(struct th_driver *d, struct th_str id,
			     const struct th_observer *observer, struct th_live **ret,
			     struct th_err *err)
{
	struct th_live *l;
	uint32_t index;

	if (d->live_count == TH_SESSIONS_MAX)
		return th_fail(err, TH_ELIMIT, "this runtime has %d sessions open, its maximum",
			       TH_SESSIONS_MAX);
	if (id.len == 0 || id.len > TH_SESSION_ID_MAX)
		return th_fail(err, TH_EUSAGE, "a session id has 1 to %d bytes", TH_SESSION_ID_MAX);
	if (d->live_count == d->live_cap) {
		uint32_t cap = d->live_cap ? d->live_cap * 2 : 8;
		struct th_live **lives = th_try_realloc(d->lives, cap * sizeof(*lives));

		if (!lives)
			return th_fail_memory(err);
		d->lives = lives;
		memset(d->lives + d->live_cap, 0, (cap - d->live_cap) * sizeof(*d->lives));
		d->live_free = d->live_cap;
		d->live_cap = cap;
	}
	for (index = d->live_free; d->lives[index]; index++)
		;
	d->live_free = index + 1;
	l = th_try_alloc(sizeof(*l));
	if (!l)
		return th_fail_memory(err);
	l->driver = d;
	l->index = index;
	l->generation = ++d->generations;
	th_session_init(&l->fold);
	th_buf_init(&l->previous, TH_RESPONSE_ID_MAX);
	th_buf_init(&l->instructions, TH_EVENT_DATA_MAX);
	th_buf_init(&l->filtered, TH_EVENT_DATA_MAX);
	th_arena_init(&l->format, TH_EVENT_DATA_MAX);
	d->lives[index] = l;
	d->live_count++;
	if (observer)
		l->observer = *observer;
	if (!th_copy_text(id, &l->id)) {
		live_free(l);
		return th_fail_memory(err);
	}
	*ret = l;
	return TH_OK;
}

static void live_free(struct th_live *l)
{
	struct th_driver *d = l->driver;

	assert(!l->dirty);
	d->lives[l->index] = NULL;
	d->live_free = TH_MIN(d->live_free, l->index);
	d->live_count--;
	th_history_free(l->history);
	th_buf_deinit(&l->previous);
	th_live_unknowns_free(l);
	th_live_callbacks_free(l);
	th_live_results_free(l);
	th_live_delegation_free(l);
	th_live_person_free(l);
	th_live_programs_free(l);
	th_live_analyses_free(l);
	th_live_mcp_free(l);
	th_live_view_free(l);
	th_buf_deinit(&l->instructions);
	free(l->rewritten);
	th_buf_deinit(&l->filtered);
	th_arena_deinit(&l->format);
	th_session_deinit(&l->fold);
	free((void *)(uintptr_t)l->options.tools);
	free(l->held);
	free(l->queue);
	free(l->user);
	free(l->title);
	free(l->parent);
	free(l->metadata);
	free(l->id);
	free(l);
}

/* With nothing that waits to be written. */
static void live_drop(struct th_live *l)
{
	struct th_driver *d = l->driver;

	if (l->dirty) {
		struct th_live **at = &d->dirty;

		while (*at != l)
			at = &(*at)->dirty_next;
		*at = l->dirty_next;
		d->dirty_last = NULL;
		for (struct th_live *i = d->dirty; i; i = i->dirty_next)
			d->dirty_last = i;
		l->dirty = false;
	}
	live_free(l);
}

/* ---- what the log tells ------------------------------------------------------------------- */

/* Each request, or each task, may see something else of what was. */
static void retire_history(struct th_live *l)
{
	if (!l->speaking->input_filter.len && !l->speaking->history_items && !l->fold.joined)
		return;
	l->history = th_history_free(l->history);
	l->history_due = true;
}

static enum th_code tools_told(struct th_live *l, const struct th_json *data, struct th_err *err)
{
	enum th_code code = th_live_mcp_event(l, data, err);

	return code ?: th_live_fit_tools(l, err);
}

static bool has_compaction(struct th_str items)
{
	struct th_json_raw_iter it = th_json_raw_iter(items);

	while (th_json_raw_next(&it))
		if (th_str_is(th_json_raw_get(it.val, "type"), "\"compaction\""))
			return true;
	return false;
}

static enum th_code on_appended(struct th_live *l, const struct th_parsed *parsed,
				struct th_err *err)
{
	enum th_event_kind kind = parsed->ev->kind;
	uint64_t seq = parsed->ev->seq;
	enum th_code code = TH_OK;

	if (l->history)
		code = th_history_add_parsed(l->history, parsed, err);
	if (!code && (l->fold.agent != l->speaks || kind == TH_EV_SESSION_CREATED))
		code = th_live_switch_agent(l, err);
	if (kind == TH_EV_MODEL_ANSWERED)
		l->provider_compacted = has_compaction(parsed->items);
	if (!code && kind == TH_EV_MCP_TOOLS)
		code = tools_told(l, parsed->data, err);
	if (!code && l->fold.rewritten_seq == seq) {
		l->history = th_history_free(l->history);
		l->history_due = true;
	}
	if (!code && (kind == TH_EV_MODEL_REQUESTED || l->fold.task_seq == seq))
		retire_history(l);
	if (l->pending_callbacks && th_session_rests(&l->fold) && l->fold.state != TH_STATE_WAITING)
		th_live_callbacks_cancel(l);
	return code;
}

static void on_lost(struct th_live *l)
{
	th_live_model_cancel(l, false);
}

static const struct th_log_ops log_ops = {
	.before = th_live_history,
	.stepped = th_live_queue,
	.appended = on_appended,
	.durable = th_live_hooks,
	.released = th_live_release,
	.lost = on_lost,
};

/* ---- life of a driver and its sessions --------------------------------------------------- */

struct th_driver *th_driver_new(const struct th_world *world, struct th_str build)
{
	struct th_driver *d = th_try_alloc(sizeof(*d));

	if (!d)
		return NULL;
	d->world = *world;
	d->log_ops = &log_ops;
	d->effects = th_effect_rows;
	th_buf_init_try(&d->event_data, TH_EVENT_DATA_MAX);
	return th_copy_text(build, &d->build) ? d : th_driver_free(d);
}

static void commit_free(struct th_commit *c)
{
	th_arena_deinit(&c->arena);
	free(c->blobs);
	free(c);
}

struct th_driver *th_driver_free(struct th_driver *d)
{
	if (!d)
		return NULL;
	/* Who works for another borrows of it, also when the call that he worked on is over. */
	for (int64_t depth = TH_DELEGATE_DEPTH_MAX; depth >= 0; depth--)
		for (uint32_t i = 0; i < d->live_cap; i++)
			if (d->lives[i] && th_live_depth(d->lives[i]) >= depth)
				th_driver_close(d, th_live_handle(d->lives[i]));
	while (d->spare) {
		struct th_commit *next = d->spare->next;

		commit_free(d->spare);
		d->spare = next;
	}
	if (d->filling)
		commit_free(d->filling);
	th_driver_texts_free(d);
	th_buf_deinit(&d->event_data);
	free(d->lives);
	free(d->build);
	free(d);
	return NULL;
}

/* With the agent's definition and model where the caller gave none. */
static enum th_code append_created(struct th_live *l,
				   const struct th_session_config *session_config,
				   const struct th_ev_session_created *created, struct th_err *err)
{
	struct th_ev_session_created d = *created;
	struct th_buf agent;
	enum th_code code;

	th_buf_init_try(&agent, TH_EVENT_DATA_MAX);
	if (!d.agent.len) {
		struct th_jw w = th_jw(&agent);

		th_table_print(&th_agent_table, session_config->agent, &w);
		d.agent = th_buf_str(&agent);
	}
	if (!d.model.len)
		d.model = session_config->first.model;
	code = th_buf_check(&agent, "the agent's definition", err);
	if (!code)
		code = th_live_append_event(l, TH_EV_SESSION_CREATED, TH_SOURCE_OPERATOR, 0,
					    TH_STR(""), &d, err);
	th_buf_deinit(&agent);
	return code;
}

/* What a definition that comes from another log says was judged there. */
static enum th_code check_new(const struct th_session_config *session_config,
			      const struct th_ev_session_created *created, struct th_err *err)
{
	enum th_code code = TH_OK;

	if (created->agent.len)
		return TH_OK;
	code = th_agent_check_output(session_config->agent, err);
	if (!code)
		code = th_condenser_check(session_config->agent->compact, err);
	for (size_t i = 0; i < session_config->member_count && !code; i++)
		code = th_agent_check_output(session_config->members[i].agent, err)
			   ?: th_condenser_check(session_config->members[i].agent->compact, err);
	return code;
}

enum th_code th_driver_create(struct th_driver *d, struct th_str session_id,
			      const struct th_session_config *session_config,
			      const struct th_ev_session_created *created,
			      const struct th_observer *observer, struct th_handle *ret,
			      struct th_err *err)
{
	struct th_live *l = NULL;
	enum th_code code = check_new(session_config, created, err);

	if (!code)
		code = live_new(d, session_id, observer, &l, err);
	if (code)
		return code;
	assert(l);
	code = live_fit(l, session_config, err);
	if (code) {
		live_free(l);
		return code;
	}
	l->epoch = 1;
	l->pending.create = true;
	if (!th_copy_text(created->user, &l->user) ||
	    !th_copy_text(created->metadata, &l->metadata))
		code = th_fail_memory(err);
	else
		code = append_created(l, session_config, created, err);
	if (code) {
		l->observer = (struct th_observer){ 0 }; /* nobody has heard of it */
		live_drop(l);
		return code;
	}
	*ret = th_live_handle(l);
	th_live_pump(l);
	return TH_OK;
}

struct th_opening {
	struct th_live *live;
	const struct th_session_row *row;
	struct th_digest head;
	th_session_config_fn *fit; /* called with the first event */
	void *fit_ctx;
	bool folded, makes;              /* its history, after that */
	struct th_history_making making; /* of th_driver_open_begin only */
};

static enum th_code fit_given(void *ctx, const struct th_event *first,
			      struct th_session_config *ret, struct th_err *err)
{
	(void)first;
	(void)err;
	*ret = *(const struct th_session_config *)ctx;
	return TH_OK;
}

/* What its code said before: the next try of the same turn says it again. */
static void recall_instructions(struct th_live *l, struct th_str data)
{
	struct th_str raw = th_json_raw_get(data, "instructions");
	struct th_buf text;

	if (!raw.len)
		return;
	th_buf_init(&text, TH_EVENT_DATA_MAX);
	if (th_json_unescape(raw, &text))
		th_live_instruct(l, th_buf_str(&text), false);
	th_buf_deinit(&text);
}

static enum th_code recall_tools(struct th_live *l, const struct th_event *ev, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	enum th_code code = th_json_try_parse(ev->data, &doc, err);

	return code ?: tools_told(l, th_json_root(doc), err);
}

static enum th_code fold_event(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			       struct th_err *err)
{
	struct th_opening *f = ctx;
	struct th_session_config session_config = { 0 };
	struct th_effects fx TH_UNSET;
	enum th_code code;

	if (f->live->fold.seq == 0) {
		code = f->fit(f->fit_ctx, ev, &session_config, err);
		if (!code)
			code = live_fit(f->live, &session_config, err);
		if (code)
			return code;
	}
	f->head = *digest;
	code = th_session_step(&f->live->fold, ev, &fx, err);
	if (!code && (f->live->fold.agent != f->live->speaks || ev->kind == TH_EV_SESSION_CREATED))
		code = th_live_switch_agent(f->live, err);
	if (!code && ev->kind == TH_EV_MODEL_REQUESTED)
		recall_instructions(f->live, ev->data);
	return code || ev->kind != TH_EV_MCP_TOOLS ? code : recall_tools(f->live, ev, err);
}

/* All of its events were folded.  A failure frees the live session. */
static enum th_code opening_folded(struct th_opening *o, enum th_code code, struct th_err *err)
{
	struct th_live *l = o->live;
	const struct th_session_row *row = o->row;
	size_t named;

	if (!code && (l->fold.seq != row->head_seq || l->fold.seq == 0))
		code =
		    th_fail(err, TH_ECORRUPT, "the log ends at event %llu, but its row says %llu",
			    (unsigned long long)l->fold.seq, (unsigned long long)row->head_seq);
	/* Who answered is known by its place in the list. */
	named = l->fold.seq ? th_session_member(&l->fold)->fallback.count : 0;
	if (!code && named != l->session_config->agent->fallback.count)
		code = th_fail(err, TH_EUSAGE,
			       "the log's agent has %zu models to fall back to, the one given %zu",
			       named, l->session_config->agent->fallback.count);
	if (!code &&
	    (!th_copy_text(row->user, &l->user) || !th_copy_text(row->title, &l->title) ||
	     !th_copy_text(row->parent, &l->parent) || !th_copy_text(row->metadata, &l->metadata)))
		code = th_fail_memory(err);
	if (code) {
		live_free(l);
		o->live = NULL;
		return th_prefix(err, code, "session %.*s", TH_FMT(row->session_id));
	}
	th_live_turn_to(l, l->fold.model_at);
	l->history_due = false; /* nothing waits: it can be made at once */
	l->head = o->head;
	l->epoch = row->epoch;
	l->created_ms = row->created_ms;
	l->durable_seq = row->head_seq;
	l->used_said = l->fold.used_said;
	l->parent_seq = row->parent_seq;
	o->folded = true;
	return TH_OK;
}

static enum th_code open_row(struct th_driver *d, const struct th_session_row *row,
			     th_session_config_fn *fit, void *fit_ctx,
			     const struct th_observer *observer, struct th_live **ret,
			     struct th_err *err)
{
	struct th_opening o = { .row = row, .fit = fit, .fit_ctx = fit_ctx };
	enum th_code code = live_new(d, row->session_id, observer, &o.live, err);

	if (code)
		return code;
	assert(o.live);
	code = d->world.ops->read(d->world.ctx, row->session_id, 1, row->head_seq, fold_event, &o,
				  err);
	code = opening_folded(&o, code, err);
	*ret = o.live;
	return code;
}

/* ---- opened in steps ---------------------------------------------------------------------- */

enum th_code th_driver_open_begin(struct th_driver *d, const struct th_session_row *row,
				  th_session_config_fn *fit, void *fit_ctx,
				  const struct th_observer *observer, struct th_opening **ret,
				  struct th_err *err)
{
	struct th_opening *o = th_try_alloc(sizeof(*o));
	enum th_code code;

	if (!o)
		return th_fail_memory(err);
	*o = (struct th_opening){ .row = row, .fit = fit, .fit_ctx = fit_ctx };
	code = live_new(d, row->session_id, observer, &o->live, err);
	if (code)
		free(o);
	else
		*ret = o;
	return code;
}

bool th_driver_open_wants(const struct th_opening *o, uint64_t *ret_from, uint64_t *ret_to)
{
	if (o->makes)
		return th_history_making_wants(&o->making, ret_from, ret_to);
	*ret_from = 1;
	*ret_to = o->row->head_seq;
	return !o->folded;
}

enum th_code th_driver_open_take(struct th_opening *o, const struct th_event *ev,
				 const struct th_digest *digest, struct th_err *err)
{
	enum th_code code = o->makes ? th_history_making_take(&o->making, ev, digest, err)
				     : fold_event(o, ev, digest, err);

	return code ? th_prefix(err, code, "session %.*s", TH_FMT(o->row->session_id)) : TH_OK;
}

/* One that each request makes anew is made then; and so is one that was rewritten while calls are
 * open, since it has no place for their results. */
static bool makes_history(const struct th_live *l)
{
	if (!th_live_history_rewritten(l))
		return true;
	return !l->speaking->history_items && !l->speaking->input_filter.len && !l->fold.joined &&
	       l->fold.phase != TH_TURN_CALLS;
}

enum th_code th_driver_open_next(struct th_opening *o, struct th_err *err)
{
	enum th_code code;

	if (o->makes)
		return th_history_making_next(&o->making, err);
	code = opening_folded(o, TH_OK, err);
	if (code || !makes_history(o->live))
		return code;
	o->makes = true;
	return th_history_making_begin(o->live, o->row->head_seq, &o->making, err);
}

struct th_handle th_driver_open_end(struct th_opening *o)
{
	struct th_live *l = o->live;

	if (o->makes)
		l->history = th_history_making_end(&o->making);
	free(o);
	return th_live_handle(l);
}

struct th_opening *th_driver_open_drop(struct th_opening *o)
{
	if (!o)
		return NULL;
	if (o->makes)
		th_history_free(th_history_making_end(&o->making));
	if (o->live)
		live_free(o->live);
	free(o);
	return NULL;
}

enum th_code th_driver_open_by(struct th_driver *d, const struct th_session_row *row,
			       th_session_config_fn *fit, void *fit_ctx,
			       const struct th_observer *observer, struct th_handle *ret,
			       struct th_err *err)
{
	struct th_live *l = NULL;
	enum th_code code = open_row(d, row, fit, fit_ctx, observer, &l, err);

	if (code)
		return code;
	assert(l);
	*ret = th_live_handle(l);
	return TH_OK;
}

enum th_code th_driver_open(struct th_driver *d, const struct th_session_row *row,
			    const struct th_session_config *session_config,
			    const struct th_observer *observer, struct th_handle *ret,
			    struct th_err *err)
{
	struct th_session_config given = *session_config;

	return th_driver_open_by(d, row, fit_given, &given, observer, ret, err);
}

enum th_code th_driver_find_out(struct th_driver *d, struct th_handle h, struct th_err *err)
{
	struct th_live *l = th_driver_find(d, h);
	struct th_effects fx;
	enum th_code code;

	if (!l)
		return th_fail(err, TH_ENOENT, "no such session is open");
	code = th_live_check_calls(l, err);
	if (code)
		return code;
	th_session_resume(&l->fold, &fx);
	th_live_queue(l, &fx);
	th_live_pump(l);
	return TH_OK;
}

enum th_code th_driver_resume(struct th_driver *d, struct th_handle h, struct th_err *err)
{
	struct th_live *l = th_driver_find(d, h);
	struct th_effects fx;
	enum th_code code;

	if (!l)
		return th_fail(err, TH_ENOENT, "no such session is open");
	if (l->fold.record)
		return th_fail(err, TH_EUSAGE,
			       "session %s is only a record here, of what imported forks share "
			       "with it; fork it, or go on where it was exported",
			       l->id);
	code = th_live_check_calls(l, err);
	if (code)
		return th_prefix(err, code, "session %s", l->id);
	if (th_live_taken(l)) /* what is open is settled first, the input too */
		return th_driver_find_out(d, h, err)
			   ?: th_live_give_back(l, TH_STR("resumed"), true, err);
	if (l->fold.state == TH_STATE_PAUSED) {
		code = th_live_state(l, TH_STATE_RUNNING, TH_STR("resumed"), err);
		if (code)
			return code;
		/* What was under way before the pause is settled, not started anew. */
		l->queue_at = l->queue_count = 0;
	}
	th_live_delegates_resume(l);
	th_session_resume(&l->fold, &fx);
	th_live_queue(l, &fx);
	th_live_pump(l);
	return TH_OK;
}

void th_driver_close(struct th_driver *d, struct th_handle h)
{
	struct th_live *l = th_driver_find(d, h);

	if (!l)
		return;
	th_live_delegates_close(l);
	th_live_model_cancel(l, false);
	th_live_ending_free(l);
	if (l->dirty && l->pending.count > 0)
		th_driver_flush(d);
	live_drop(l);
}

void th_driver_lose_all(struct th_driver *d, const struct th_err *err)
{
	/* Those who are told may close it. */
	for (uint32_t i = 0; i < d->live_cap; i++)
		if (d->lives[i])
			th_live_lose(d->lives[i], err);
}

const struct th_session *th_driver_session(const struct th_driver *d, struct th_handle h)
{
	const struct th_live *l = th_driver_find(d, h);

	return l ? &l->fold : NULL;
}

struct th_str th_driver_session_id(const struct th_driver *d, struct th_handle h)
{
	const struct th_live *l = th_driver_find(d, h);

	return l ? th_str_of(l->id) : TH_STR("");
}

struct th_str th_driver_metadata(const struct th_driver *d, struct th_handle h)
{
	const struct th_live *l = th_driver_find(d, h);

	return l && l->metadata ? th_str_of(l->metadata) : TH_STR("");
}

bool th_driver_durable(const struct th_driver *d, struct th_handle h)
{
	const struct th_live *l = th_driver_find(d, h);

	return !l || l->lost || l->durable_seq == l->fold.seq;
}

int th_driver_answered(const struct th_driver *d, struct th_ticket t)
{
	const struct th_live *l = th_driver_find(d, (struct th_handle){ t.index, t.generation });

	if (!l || l->lost)
		return -1;
	if (l->durable_seq != l->fold.seq)
		return 0;
	return l->fold.answer_seq > t.seq ? 1 : -1;
}

bool th_driver_idle(const struct th_driver *d)
{
	return !d->dirty && d->commits == 0;
}

size_t th_driver_count(const struct th_driver *d)
{
	return d->live_count;
}

void th_driver_timer(struct th_driver *d, struct th_ticket t)
{
	struct th_live *l = th_live_find(d, t.index, t.generation);
	struct th_effects fx;

	if (!l || l->lost)
		return;
	/* First: what fails below begins to wait, and is not woken by the same ring. */
	th_session_wake(&l->fold, &fx);
	th_live_queue(l, &fx);
	th_side_wake(l);
	th_live_poll(l);
	th_live_pump(l);
}
