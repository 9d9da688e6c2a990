/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.c - the driver: made and freed, and its sessions go on, wait for timers, are lost and
 * closed.
 */
#include <stdlib.h>

#include "driver/background.h"
#include "driver/calls.h"
#include "driver/delegate.h"
#include "driver/delegate_background.h"
#include "driver/driver.h"
#include "driver/effects.h"
#include "driver/live_make.h"
#include "driver/model.h"
#include "driver/person.h"
#include "guards/hooks.h"
#include "history/history.h"
#include "live/blob_text.h"
#include "live/log.h"
#include "live/memory.h"
#include "live/pending_callback.h"
#include "live/queue.h"
#include "live/side_request.h"
#include "turns/current_agent.h"
#include "turns/log_ahead.h"
#include "turns/team.h"

/* ---- what the log tells ---- */

/* Each request, or each task, may see something else of what was. */
static void retire_history(struct th_live *l)
{
	if (!l->speaking->input_filter.len && !l->speaking->history_items && !l->fold.joined)
		return;
	th_live_history_retire(l);
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
		code = th_live_tools_listed(l, parsed->data, err);
	if (!code && l->fold.rewritten_seq == seq)
		th_live_history_retire(l);
	if (!code && (kind == TH_EV_MODEL_REQUESTED || l->fold.task_seq == seq))
		retire_history(l);
	if (l->pending_callbacks && th_session_rests(&l->fold) && l->fold.state != TH_STATE_WAITING)
		th_live_callbacks_cancel(l);
	return code;
}

static void on_lost(struct th_live *l)
{
	if (l->team_config.agent) /* one that is being opened has no agent yet, and asks nothing */
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

/* ---- a driver ---- */

struct th_driver *th_driver_new(const struct th_world *world, struct th_str build)
{
	struct th_driver *d = th_try_alloc(sizeof(*d));

	if (!d)
		return NULL;
	d->world = *world;
	d->log_ops = &log_ops;
	d->effects = th_effect_rows;
	d->log_short = TH_LOG_SHORT_MAX;
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

void th_driver_lose_all(struct th_driver *d, const struct th_err *err)
{
	/* Those who are told may close it. */
	for (uint32_t i = 0; i < d->live_cap; i++)
		if (d->lives[i])
			th_live_lose(d->lives[i], err);
}

bool th_driver_idle(const struct th_driver *d)
{
	return !d->dirty && d->commits == 0;
}

size_t th_driver_count(const struct th_driver *d)
{
	return d->live_count;
}

/* ---- its sessions ---- */

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
	th_live_ahead_free(l);
	th_live_model_cancel(l, false);
	th_live_ending_free(l);
	if (l->dirty && l->pending.count > 0)
		th_driver_flush(d);
	th_live_drop(l);
}

void th_driver_timer(struct th_driver *d, struct th_ticket t)
{
	struct th_live *l = th_live_find(d, t.index, t.generation);
	struct th_effects fx;

	if (!l || l->lost)
		return;
	if (t.kind == TH_TICKET_WAIT) {
		th_background_wake(l);
		return;
	}
	/* First: what fails below begins to wait, and is not woken by the same ring. */
	th_session_wake(&l->fold, &fx);
	th_live_queue(l, &fx);
	th_side_wake(l);
	th_live_poll(l);
	th_live_pump(l);
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
