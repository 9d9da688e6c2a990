/* SPDX-License-Identifier: Apache-2.0 */
/*
 * effects.c - all effects together: what was accepted begins, and what nobody waits for any more
 * goes.
 *
 * The order that everything rests on: what is accepted waits in x->pending
 * until the flush at the end of the loop's iteration has made the journal
 * durable; only then it is told to be accepted, and begins.
 */
#include "executor/state.h"

#include <fcntl.h>
#include <unistd.h>

/* The effect of a request; NULL: it has ended. */
static struct th_exec_effect *effect_of(struct th_exec_client *c, int64_t id)
{
	for (struct th_exec_effect *e = c->x->effects; e; e = e->next)
		for (struct th_exec_sub *sub = e->subs; sub; sub = sub->next)
			if (sub->client == c && sub->id == id)
				return e;
	return NULL;
}

void th_exec_on_cancel(struct th_exec_client *c, int64_t id)
{
	struct th_exec_effect *e = effect_of(c, id);

	if (e)
		th_exec_effect_cancel(e);
}

void th_exec_on_input(struct th_exec_client *c, const struct th_exec_input *m, struct th_str bytes)
{
	struct th_exec_effect *e = effect_of(c, m->id);

	if (e && !e->finished && !e->settling && e->tool && e->tool->input && e->job.state)
		e->tool->input(&e->job, bytes, m->columns, m->rows);
}

void th_exec_on_forget(struct th_executor_server *x, struct th_strs ids)
{
	struct th_err err;
	enum th_code code = TH_OK;

	for (size_t i = 0; i < ids.count && code != TH_EIO; i++) {
		struct th_ledger_entry *entry = th_ledger_find(x->ledger, ids.list[i]);
		struct th_exec_effect *e = th_exec_effect_find(x, ids.list[i]);
		if (!entry || entry->state == TH_LEDGER_ACCEPTED ||
		    entry->state == TH_LEDGER_FORGOTTEN)
			continue;
		if (e) /* somebody is still being told */
			e->entry = NULL;
		struct th_picture_cache **kept = th_exec_pictures_find(x, entry->id);
		if (*kept)
			th_exec_pictures_drop(x, kept);
		unlinkat(x->spool_fd, entry->id, 0);
		code = th_ledger_forget(x->ledger, entry, &err);
	}
	if (code != TH_EIO)
		code = th_ledger_tidy(x->ledger, false, &err);
	if (code == TH_EIO)
		th_exec_fatal(x, &err);
}

void th_exec_client_gone(struct th_exec_client *c)
{
	struct th_exec_effect *e = c->x->effects, *next;

	th_exec_ask_client_gone(c);
	for (; e; e = next) {
		next = e->next;
		for (struct th_exec_sub *sub = e->subs, *after; sub; sub = after) {
			after = sub->next;
			if (sub->client == c)
				th_exec_sub_remove(e, sub);
		}
	}
}

/* Effects that finished and wait for nobody any more. */
static void sweep(struct th_executor_server *x)
{
	struct th_exec_effect *e = x->effects, *next;
	for (; e; e = next) {
		next = e->next;
		if (e->finished && !e->subs)
			th_exec_effect_free(e);
	}
}

void th_exec_client_drained(struct th_exec_client *c)
{
	struct th_executor_server *x = c->x;
	struct th_exec_effect *e = x->effects, *next;

	c->blocked = false;
	for (; e; e = next) {
		next = e->next;
		for (struct th_exec_sub *sub = e->subs; sub; sub = sub->next) {
			if (sub->client != c || c->blocked)
				continue;
			if (e->finished) {
				th_exec_effect_settle(e); /* may free it: on with the next effect */
				break;
			}
			th_exec_pump(e, sub);
		}
	}
}

/* Not begun here, since it was cancelled or we are ending.  One of an earlier life may have
 * happened then, whatever we do: a later life, or nobody, can tell. */
static void leave_off(struct th_exec_effect *e)
{
	struct th_executor_server *x = e->x;
	struct th_err err;

	if (!e->entry || e->entry->this_life) {
		th_exec_effect_finish(e, TH_OUTCOME_NOT_STARTED,
				      TH_STR("\"cancelled before it was begun\""), TH_STR(""), NULL,
				      0);
		return;
	}
	if (!x->stopping) {
		th_exec_effect_unknown(e);
		return;
	}
	th_fail(&err, TH_ECONN, "the executor is ending");
	for (struct th_exec_sub *sub = e->subs; sub; sub = sub->next)
		th_exec_send_error(sub->client, sub->id, &err);
	x->running--;
	th_exec_effect_free(e);
	th_exec_idle(x);
}

void th_exec_flush(void *ctx)
{
	struct th_executor_server *x = (struct th_executor_server *)ctx;
	struct th_exec_effect *e = x->pending, *next;
	struct th_err err;

	x->pending = NULL;
	x->pending_last = &x->pending;
	if (x->dirty && th_ledger_sync(x->ledger, &err))
		th_exec_fatal(x, &err);
	x->dirty = false;
	for (; e; e = next) {
		next = e->next_pending;
		if (x->stopping || (e->cancelled && !e->probe)) {
			leave_off(e);
			continue;
		}
		if (e->entry)
			for (struct th_exec_sub *sub = e->subs; sub; sub = sub->next)
				th_exec_tell_accepted(sub->client, sub->id);
		th_exec_effect_start(e);
	}
	sweep(x);
}

void th_exec_effects_free(struct th_executor_server *x)
{
	while (x->effects)
		th_exec_effect_free(x->effects);
	while (x->picture_cache)
		th_exec_pictures_drop(x, &x->picture_cache);
}
