/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recover.c - all sessions of a store that are not over, taken up at once by a
 * host that starts again.
 */
#include <stdlib.h>

#include "runtime/runtime.h"
#include "store/store.h"

/* Until its `ready`. */
struct one {
	struct th_runtime *rt;
	struct th_recover how;
	bool resume;
	char id[TH_SESSION_ID_MAX + 1];
	size_t id_len;
};

struct found {
	const struct th_recover *how;
	struct th_arena memory; /* ids */
	struct th_str *ids;
	struct th_observer *observers;
	size_t count, cap;
};

static bool is_over(struct th_str state)
{
	static const enum th_state open[] = { TH_STATE_LOADING, TH_STATE_IDLE, TH_STATE_RUNNING,
					      TH_STATE_WAITING, TH_STATE_PAUSED };

	for (size_t i = 0; i < TH_COUNT(open); i++)
		if (th_str_is(state, th_state_name(open[i])))
			return false;
	return true;
}

static enum th_code find(void *ctx, const struct th_session_row *row, struct th_err *err)
{
	struct found *f = ctx;
	struct th_observer observer = { 0 };
	struct th_str id;

	/* One that works for another is that one's to take up. */
	if (is_over(row->state) || th_delegated_by(row->metadata).len)
		return TH_OK;
	if (f->how->wants && !f->how->wants(f->how->ctx, row, &observer))
		return TH_OK;
	id = th_arena_str(&f->memory, row->session_id);
	if (!id.ptr || f->count == TH_SESSIONS_MAX)
		return th_fail(
		    err, TH_ELIMIT,
		    "the store has more open sessions than the %d that one runtime takes",
		    TH_SESSIONS_MAX);
	if (f->count == f->cap) {
		f->cap = TH_MAX(f->cap * 2, (size_t)64);
		f->ids = th_realloc(f->ids, f->cap * sizeof(*f->ids));
		f->observers = th_realloc(f->observers, f->cap * sizeof(*f->observers));
	}
	f->ids[f->count] = id;
	f->observers[f->count++] = observer;
	return TH_OK;
}

static void tell(const struct th_recover *how, struct th_str id, struct th_handle h,
		 const struct th_err *err)
{
	if (how->ready)
		how->ready(how->ctx, id, h, err);
}

static void on_ready(void *ctx, struct th_handle h, const struct th_err *err)
{
	struct one *o = ctx;
	struct th_driver *d = th_runtime_driver(o->rt);
	struct th_str id = { o->id, o->id_len };
	struct th_err failure = { 0 };

	/* A log that this build would not have continued is opened, but not gone on with. */
	if (!err && o->resume && th_driver_resume(d, h, &failure))
		err = &failure;
	tell(&o->how, id, h, err);
	free(o);
}

static void take_up(struct th_runtime *rt, const struct th_recover *how,
		    const struct th_session_row *row, const struct th_observer *observer)
{
	struct one *o = th_alloc(sizeof(*o));
	struct th_err err = { 0 };

	*o = (struct one){ .rt = rt, .how = *how, .id_len = row->session_id.len };
	memcpy(o->id, row->session_id.ptr, row->session_id.len);
	o->resume = how->resume && (th_str_is(row->state, th_state_name(TH_STATE_RUNNING)) ||
				    th_str_is(row->state, th_state_name(TH_STATE_WAITING)));
	if (!th_runtime_take_up(rt, row, observer, on_ready, o, &err))
		return;
	free(o);
	tell(how, row->session_id, (struct th_handle){ 0 }, &err);
}

static enum th_code take_group(struct th_runtime *rt, const struct found *f, size_t from,
			       size_t count, struct th_err *err)
{
	struct th_store *store = th_runtime_store(rt);
	struct th_session_row *rows = th_alloc(count * sizeof(*rows));
	struct th_err *errs = th_alloc(count * sizeof(*errs));
	struct th_arena memory;
	enum th_code code;

	th_arena_init(&memory, TH_BATCH_MEMORY_MAX);
	code =
	    store->kind->lease_many(store, f->ids + from, count, false, &memory, rows, errs, err);
	for (size_t i = 0; i < count && !code; i++) {
		struct th_str id = f->ids[from + i];

		if (!errs[i].code)
			take_up(rt, f->how, &rows[i], &f->observers[from + i]);
		else
			tell(f->how, id, (struct th_handle){ 0 }, &errs[i]);
	}
	th_arena_deinit(&memory);
	free(errs);
	free(rows);
	return code;
}

enum th_code th_runtime_recover(struct th_runtime *rt, const struct th_recover *how,
				struct th_err *err)
{
	struct th_store *store = th_runtime_store(rt);
	struct th_session_filter all = { 0 };
	struct found f = { .how = how };
	enum th_code code;

	th_arena_init(&f.memory, TH_SESSIONS_MAX * (TH_SESSION_ID_MAX + (size_t)64));
	code = store->kind->list(store, &all, find, &f, err);
	for (size_t from = 0; from < f.count && !code; from += TH_RECOVER_GROUP)
		code =
		    take_group(rt, &f, from, TH_MIN(f.count - from, (size_t)TH_RECOVER_GROUP), err);
	th_arena_deinit(&f.memory);
	free(f.ids);
	free(f.observers);
	return code;
}
