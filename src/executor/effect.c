/* SPDX-License-Identifier: Apache-2.0 */
/*
 * effect.c - one effect from its list to its last word: who waits for it, how far each has been
 * told, and how it is cancelled.
 */
#include "executor/state.h"

#include <stdlib.h>

#include "base/limits.h"

#define PUMP_SIZE (64 * TH_KIB)

/* ---- the list ---- */

struct th_exec_effect *th_exec_effect_find(struct th_executor_server *x, struct th_str id)
{
	struct th_exec_effect *e = x->effects;
	while (e && !(e->entry && th_str_is(id, e->id)))
		e = e->next;
	return e;
}

struct th_exec_effect *th_exec_effect_new(struct th_executor_server *x, const struct th_exec_run *m)
{
	struct th_exec_effect *e = (struct th_exec_effect *)th_alloc(sizeof(*e));

	e->x = x;
	memcpy(e->id, m->effect_id.ptr, m->effect_id.len);
	th_arena_init(&e->arena, 2 * TH_FRAME_JSON_MAX);
	th_buf_init(&e->output, TH_EXEC_OUTPUT_MAX);
	th_buf_init(&e->evidence, TH_EXEC_EVIDENCE_MAX);
	th_spool_init(&e->spool);
	e->job.timeout_ms = e->call.timeout_ms = m->timeout_ms;
	e->next = x->effects;
	x->effects = e;
	x->running++;
	return e;
}

void th_exec_effect_free(struct th_exec_effect *e)
{
	struct th_executor_server *x = e->x;
	struct th_exec_effect **at = &x->effects;

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	while (e->subs) {
		struct th_exec_sub *sub = e->subs;
		e->subs = sub->next;
		free(sub);
	}
	for (size_t i = 0; i < e->picture_count; i++)
		th_picture_unref(e->pictures[i]);
	th_spool_close(&e->spool);
	th_buf_deinit(&e->output);
	th_buf_deinit(&e->evidence);
	th_json_free(e->doc);
	th_arena_deinit(&e->arena);
	free(e);
}

/* ---- who waits ---- */

void th_exec_effect_sub(struct th_exec_effect *e, struct th_exec_client *c, int64_t id, bool watch,
			uint64_t offset)
{
	struct th_exec_sub *sub = (struct th_exec_sub *)th_alloc(sizeof(*sub));
	*sub = (struct th_exec_sub){ e->subs, c, id, watch, offset };
	e->subs = sub;
}

void th_exec_sub_remove(struct th_exec_effect *e, struct th_exec_sub *sub)
{
	for (struct th_exec_sub **at = &e->subs; *at; at = &(*at)->next) {
		if (*at != sub)
			continue;
		*at = sub->next;
		free(sub);
		return;
	}
}

enum th_exec_served th_exec_pump(struct th_exec_effect *e, struct th_exec_sub *sub)
{
	while (sub->watch && sub->sent < e->spool.kept) {
		TH_CLEANUP(th_buf_deinit) struct th_buf bytes = TH_BUF_INIT(PUMP_SIZE);
		uint64_t at;
		if (sub->client->blocked)
			return TH_EXEC_SERVED_WAITS;
		if (th_spool_read(&e->spool, sub->sent, PUMP_SIZE, &bytes, &at, NULL) ||
		    bytes.len == 0)
			break;
		if (!th_exec_tell_output(sub, at, th_buf_str(&bytes)))
			return TH_EXEC_SERVED_GONE;
	}
	return TH_EXEC_SERVED_ALL;
}

void th_exec_effect_settle(struct th_exec_effect *e)
{
	struct th_exec_sub *sub = e->subs, *next;

	for (; sub; sub = next) {
		next = sub->next;
		enum th_exec_served served = th_exec_pump(e, sub);
		if (served == TH_EXEC_SERVED_WAITS)
			continue;
		if (served == TH_EXEC_SERVED_ALL)
			th_exec_tell_finished(sub->client, sub->id, e->entry, e, e->pictures,
					      e->picture_count);
		th_exec_sub_remove(e, sub);
	}
	if (!e->subs)
		th_exec_effect_free(e);
}

/* ---- cancelling ---- */

bool th_exec_on_computer(const struct th_exec_effect *e)
{
	return !e->tool || e->tool->on_computer;
}

void th_exec_effect_cancel(struct th_exec_effect *e)
{
	if (e->finished || e->settling || e->cancelled)
		return;
	e->cancelled = true;
	th_exec_ask_cancelled(e);
	if (!e->started || e->probe)
		return; /* seen at the flush; and looking does no harm */
	if (th_exec_on_computer(e))
		th_display_cancel(e->x->display, &e->call);
	else if (e->tool->cancel && e->job.state)
		e->tool->cancel(&e->job);
}

void th_exec_cancel_all(struct th_executor_server *x)
{
	/* A cancel may finish an effect at once, which changes the list. */
	for (struct th_exec_effect *e = x->effects; e;) {
		if (e->finished || e->settling || e->cancelled) {
			e = e->next;
			continue;
		}
		th_exec_effect_cancel(e);
		e = x->effects;
	}
}
