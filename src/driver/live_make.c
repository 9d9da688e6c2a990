/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_make.c - a session in memory: made, fitted to its configuration, and freed with all that
 * it holds.
 */
#include "driver/live_make.h"

#include <stdlib.h>

#include "driver/delegate.h"
#include "driver/person.h"
#include "driver/unknown.h"
#include "guards/analyse.h"
#include "guards/hooks.h"
#include "guards/program.h"
#include "history/history.h"
#include "live/memory.h"
#include "live/pending_callback.h"
#include "session_tools/mcp_tools.h"
#include "turns/current_agent.h"
#include "turns/log_ahead.h"
#include "turns/provider_state.h"
#include "turns/view.h"

enum th_code th_live_fit(struct th_live *l, const struct th_session_config *session_config,
			 struct th_err *err)
{
	enum th_code code;

	l->team_config = *session_config;
	code = th_live_provider_fit(l, err);
	return code ? code : th_live_switch_agent(l, err);
}

/* Without its configuration: live_fit must follow. */
enum th_code th_live_new(struct th_driver *d, struct th_str id, const struct th_observer *observer,
			 struct th_live **ret, struct th_err *err)
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
	th_buf_init(&l->told, 2 * TH_EVENT_DATA_MAX);
	th_buf_init(&l->filtered, TH_EVENT_DATA_MAX);
	th_arena_init(&l->format, TH_EVENT_DATA_MAX);
	d->lives[index] = l;
	d->live_count++;
	if (observer)
		l->observer = *observer;
	if (!th_copy_text(id, &l->id)) {
		th_live_free(l);
		return th_fail_memory(err);
	}
	*ret = l;
	return TH_OK;
}

void th_live_free(struct th_live *l)
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
	th_live_ahead_free(l);
	th_live_view_free(l);
	th_buf_deinit(&l->instructions);
	th_buf_deinit(&l->told);
	free(l->rewritten);
	th_buf_deinit(&l->filtered);
	th_arena_deinit(&l->format);
	th_session_deinit(&l->fold);
	free(l->own_tools);
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
void th_live_drop(struct th_live *l)
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
	th_live_free(l);
}
