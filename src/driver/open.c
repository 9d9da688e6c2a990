/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.c - sessions are begun, and taken up from their logs: at once, or in steps.
 */
#include <stdlib.h>

#include "context/condenser.h"
#include "driver/driver.h"
#include "driver/live_make.h"
#include "live/log.h"
#include "live/memory.h"
#include "live/queue.h"
#include "turns/current_agent.h"
#include "turns/history_make.h"

/* ---- begun ---- */

/* With the agent's definition and model where the caller gave none. */
static enum th_code append_created(struct th_live *l,
				   const struct th_session_config *session_config,
				   const struct th_ev_session_created *created, struct th_err *err)
{
	struct th_ev_session_created d = *created;
	struct th_buf agent;
	enum th_code code;

	th_buf_init_try(&agent, TH_EVENT_DATA_MAX);
	if (!d.agent.len)
		d.agent = session_config->definition;
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
		code = th_live_new(d, session_id, observer, &l, err);
	if (code)
		return code;
	assert(l);
	code = th_live_fit(l, session_config, err);
	if (code) {
		th_live_free(l);
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
		th_live_drop(l);
		return code;
	}
	*ret = th_live_handle(l);
	th_live_pump(l);
	return TH_OK;
}

/* ---- taken up ---- */

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

	return code ?: th_live_tools_listed(l, th_json_root(doc), err);
}

/* Older builds looked at messages alone: their rows may have no title where there are words. */
static enum th_code recall_title(struct th_live *l, const struct th_event *ev, bool asked,
				 struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	enum th_code code;

	if (l->title || (ev->kind != TH_EV_MESSAGE && (ev->kind != TH_EV_ITEMS_ADDED || asked)))
		return TH_OK;
	code = th_json_try_parse(ev->data, &doc, err);
	if (!code && !th_live_title(l, ev->kind, th_json_root(doc), asked))
		code = th_fail_memory(err);
	return code;
}

static enum th_code fold_event(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			       struct th_err *err)
{
	struct th_opening *f = ctx;
	struct th_session_config session_config = { 0 };
	struct th_effects fx TH_UNSET;
	bool asked = f->live->fold.totals.turns > 0;
	enum th_code code;

	if (f->live->fold.seq == 0) {
		code = f->fit(f->fit_ctx, ev, &session_config, err);
		if (!code)
			code = th_live_fit(f->live, &session_config, err);
		if (code)
			return code;
	}
	f->head = *digest;
	code = th_session_step(&f->live->fold, ev, &fx, err);
	if (!code && !f->row->title.len)
		code = recall_title(f->live, ev, asked, err);
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
	    (!th_copy_text(row->user, &l->user) ||
	     (row->title.len && !th_copy_text(row->title, &l->title)) ||
	     !th_copy_text(row->parent, &l->parent) || !th_copy_text(row->metadata, &l->metadata)))
		code = th_fail_memory(err);
	if (code) {
		th_live_free(l);
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
	enum th_code code = th_live_new(d, row->session_id, observer, &o.live, err);

	if (code)
		return code;
	assert(o.live);
	code = d->world.ops->read(d->world.ctx, row->session_id, 1, row->head_seq, fold_event, &o,
				  err);
	code = opening_folded(&o, code, err);
	*ret = o.live;
	return code;
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

/* ---- taken up in steps ---- */

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
	code = th_live_new(d, row->session_id, observer, &o->live, err);
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
		th_live_free(o->live);
	free(o);
	return NULL;
}
