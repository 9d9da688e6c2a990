/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify.c - the whole truth about a store: every stored byte against its
 * digest (the store's part), then every sessions row against a refold.
 */
#include <stdio.h>

#include "admin/verify.h"
#include "base/limits.h"
#include "base/text.h"
#include "core/session.h"
#include "events/event_text.h"

struct refold {
	struct th_session fold;
	struct th_buf title, old_title; /* old: of builds that looked at messages alone */
	bool has_old_title;
};

/* What its row says: the first words, or what it was changed to. */
static void refold_title(struct refold *r, const struct th_event *ev)
{
	struct th_buf words TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	bool asked = r->fold.totals.turns > 0;
	struct th_str changed;

	if ((ev->kind != TH_EV_MESSAGE && ev->kind != TH_EV_ITEMS_ADDED &&
	     ev->kind != TH_EV_SESSION_CHANGED) ||
	    th_json_parse(ev->data, &doc, NULL))
		return;
	if (!r->title.len && th_event_task(ev->kind, th_json_root(doc), asked, &words))
		th_text_line(&r->title, th_buf_str(&words), TH_TITLE_MAX);
	if (ev->kind == TH_EV_MESSAGE && !r->has_old_title) {
		r->has_old_title = true;
		th_text_line(&r->old_title, th_json_get_str(th_json_root(doc), "content"),
			     TH_TITLE_MAX);
	}
	changed = th_json_get_str(th_json_root(doc), "title");
	if (ev->kind == TH_EV_SESSION_CHANGED && changed.len) {
		r->has_old_title = true;
		th_buf_clear(&r->title);
		th_buf_clear(&r->old_title);
		th_buf_add(&r->title, changed);
		th_buf_add(&r->old_title, changed);
	}
}

static enum th_code refold_event(void *ctx, const struct th_event *ev,
				 const struct th_digest *digest, struct th_err *err)
{
	struct refold *r = ctx;
	struct th_effects fx TH_UNSET;

	(void)digest;
	refold_title(r, ev);
	return th_session_step(&r->fold, ev, &fx, err);
}

struct checking {
	struct th_store *store;
	struct th_verify_report *report;
};

static void blame(struct th_verify_report *r, struct th_str id, const char *what)
{
	r->bad = true;
	snprintf(r->table, sizeof(r->table), "sessions");
	snprintf(r->key, sizeof(r->key), "session %.*s", TH_FMT(th_utf8_cut(id, 150)));
	snprintf(r->what, sizeof(r->what), "%s", what);
}

/* The columns that a fold gives.  Epoch, owner, user and metadata are checked where they are used.
 */
static const char *difference(const struct th_session_row *row, const struct refold *r)
{
	const struct th_session *s = &r->fold;

	if (row->head_seq != s->seq)
		return "head_seq is not the last event";
	if (!th_str_is(row->state, th_state_name(s->state)))
		return "state is not what the log folds to";
	if (row->iteration != s->totals.turns)
		return "iteration is not what the log folds to";
	if (row->calls != s->totals.calls)
		return "calls is not what the log folds to";
	if (row->tokens_in != s->totals.tokens_in || row->tokens_out != s->totals.tokens_out)
		return "tokens_in or tokens_out is not what the log folds to";
	/* A store of a version before has it not. */
	if (row->tokens_cached && row->tokens_cached != s->totals.tokens_cached)
		return "tokens_cached is not what the log folds to";
	if (row->cost_nano != s->totals.cost_nano)
		return "cost_nano is not what the log folds to";
	if (!th_str_eq(row->agent, s->agent_name) || !th_str_eq(row->model, s->model))
		return "agent or model is not what the log folds to";
	if (row->parent.len == 0 && row->created_ms != s->created_ms)
		return "created_ms is not the first event's time";
	if (row->updated_ms != s->updated_ms)
		return "updated_ms is not the last event's time";
	if (row->parent.len == 0 && !th_str_eq(row->title, th_buf_str(&r->title)) &&
	    !th_str_eq(row->title, th_buf_str(&r->old_title)))
		return "title is not the start of the first message, nor what it was changed to";
	return NULL;
}

static enum th_code check_row(void *ctx, const struct th_session_row *row, struct th_err *err)
{
	struct checking *c = ctx;
	struct refold r = { 0 };
	const char *what = NULL;
	enum th_code code;

	if (c->report->bad)
		return TH_OK;
	th_session_init(&r.fold);
	th_buf_init(&r.title, TH_KIB);
	th_buf_init(&r.old_title, TH_KIB);
	code = c->store->kind->read(c->store, row->session_id, 1, 0, refold_event, &r, err);
	if (code)
		blame(c->report, row->session_id, err->msg);
	else if ((what = difference(row, &r)))
		blame(c->report, row->session_id, what);
	th_session_deinit(&r.fold);
	th_buf_deinit(&r.title);
	th_buf_deinit(&r.old_title);
	return TH_OK;
}

enum th_code th_store_check(struct th_store *store, struct th_str session_id,
			    struct th_verify_report *ret, struct th_err *err)
{
	struct checking c = { store, ret };
	struct th_session_filter filter = { .prefix = session_id };
	struct th_session_row row;
	struct th_arena a;
	enum th_code code = store->kind->verify(store, session_id, ret, err);

	if (code || ret->bad)
		return code;
	if (!session_id.len)
		return store->kind->list(store, &filter, check_row, &c, err);
	th_arena_init(&a, TH_CONFIG_SIZE_MAX * 4);
	code = store->kind->get(store, session_id, &a, &row, err);
	if (!code)
		code = check_row(&c, &row, err);
	th_arena_deinit(&a);
	return code;
}
