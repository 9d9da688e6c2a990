/* SPDX-License-Identifier: Apache-2.0 */
/*
 * takeover.c - sessions whose runtime died, looked for and leased beside the loop, and opened from
 * it.
 */
#include <stdlib.h>

#include "api/api.h"
#include "io/clock.h"
#include "store/queue.h"

#define ROW_MAX (TH_EVENT_DATA_MAX + TH_MIB)

struct left {
	struct left *next;
	char *row;      /* its object, as of a page */
	bool scheduled; /* and its time has come */
	struct thole_agent *agent;
	char id[];
};

struct takeover {
	struct th_read job;
	struct thole_runtime *rt;
	thole_recover_fn *wants;
	thole_recovered_fn *recovered;
	void *ctx;
	/* The thread's while the reader has the job. */
	struct left *first, **last;
	size_t page;     /* of th_store_kind.abandoned */
	size_t count;    /* that it saw */
	int64_t now_ms;  /* when it looked, at a store of this machine */
	int64_t next_ms; /* when the next one of a store of this machine begins; 0: none */
	/* While they are leased: those of them that are wanted. */
	struct left *chosen[TH_FLEET_CLAIM_MAX];
	struct th_str ids[TH_FLEET_CLAIM_MAX];
	struct th_session_row rows[TH_FLEET_CLAIM_MAX];
	struct th_err errs[TH_FLEET_CLAIM_MAX];
	size_t wanted;
	struct th_arena memory;
	size_t resting_count;
	uint64_t resting[]; /* of th_tried_resting */
};

static void lefts_free(struct takeover *t)
{
	while (t->first) {
		struct left *l = t->first;

		t->first = l->next;
		th_api_agent_unref(l->agent);
		free(l->row);
		free(l);
	}
	t->last = &t->first;
	t->count = 0;
}

static void takeover_free(struct takeover *t)
{
	lefts_free(t);
	th_arena_deinit(&t->memory);
	free(t);
}

static enum th_code note_row(void *ctx, const struct th_session_row *row, struct th_err *err)
{
	struct takeover *t = ctx;
	struct th_buf text = TH_BUF_INIT(ROW_MAX);
	struct th_jw w = th_jw(&text);
	struct left *l;
	enum th_code code;

	t->count++;
	/* One that works for another is that one's to take up. */
	if (th_delegated_by(row->metadata).len)
		return TH_OK;
	th_api_row_print(row, &w);
	code = th_buf_check(&text, "a session", err);
	if (code) {
		th_buf_deinit(&text);
		return code;
	}
	l = th_alloc(sizeof(*l) + row->session_id.len + 1);
	*l = (struct left){ 0 };
	memcpy(l->id, row->session_id.ptr, row->session_id.len);
	l->id[row->session_id.len] = '\0';
	l->row = th_buf_steal(&text, NULL);
	l->scheduled = th_str_is(row->state, th_state_name(TH_STATE_SCHEDULED));
	*t->last = l;
	t->last = &l->next;
	return TH_OK;
}

static bool is_resting(void *ctx, struct th_str id)
{
	const struct takeover *t = ctx;

	return th_tried_has(t->resting, t->resting_count, id);
}

static enum th_code look(struct th_read *job, struct th_store *store, struct th_err *err)
{
	struct takeover *t = TH_CONTAINER_OF(job, struct takeover, job);

	if (store->kind->abandoned)
		return store->kind->abandoned(store, t->page, note_row, t, err);
	t->now_ms = (int64_t)th_clock_wall_ms();
	return th_queue_due(store, t->now_ms, is_resting, note_row, t, &t->next_ms, err);
}

/* Their leases, in one transaction; what another one has in hand is his. */
static enum th_code claim(struct th_read *job, struct th_store *store, struct th_err *err)
{
	struct takeover *t = TH_CONTAINER_OF(job, struct takeover, job);

	return store->kind->lease_many(store, t->ids, t->wanted, true, &t->memory, t->rows, t->errs,
				       err);
}

/* ---- taking ---- */

/* Of a store of this machine: what was to begin and did not, which nobody else looks for. */
static void look_again(const struct takeover *t)
{
	if (t->now_ms)
		th_api_schedule_note(t->rt, t->now_ms + TH_START_AGAIN_MS);
}

/* Those that are wanted. */
static void choose(struct takeover *t)
{
	bool left = false;

	t->wanted = 0;
	for (struct left *l = t->first; l && t->wanted < TH_FLEET_CLAIM_MAX; l = l->next) {
		struct thole_agent *agent = NULL;

		if (th_runtime_has(t->rt->rt, th_str_of(l->id))) {
			left |= l->scheduled && !th_api_schedule_begin(t->rt, l->id);
			continue;
		}
		if (th_tried_rests(&t->rt->tried, th_str_of(l->id), th_loop_now_ms(t->rt->loop)) ||
		    !t->wants(t->ctx, l->row, &agent)) {
			left |= l->scheduled;
			continue;
		}
		l->agent = th_api_agent_ref(agent); /* the program may free it meanwhile */
		t->chosen[t->wanted] = l;
		t->ids[t->wanted++] = th_str_of(l->id);
	}
	th_api_schedule_looked(t->rt, t->next_ms);
	if (left)
		look_again(t);
}

static void not_taken(struct takeover *t, const char *id, const struct th_err *err)
{
	struct thole_error why = { 0 };

	(void)th_api_out(err->code ?: TH_EIO, err, &why);
	t->recovered(t->ctx, id, NULL, &why);
}

static void look_further(const struct takeover *t);

static bool is_taken(const struct takeover *t, enum th_code code, size_t i)
{
	return !code && !t->errs[i].code && !th_runtime_failure(t->rt->rt);
}

static void on_claimed(struct th_read *job, enum th_code code, const struct th_err *err)
{
	struct takeover *t = TH_CONTAINER_OF(job, struct takeover, job);
	struct thole_runtime *rt = t->rt;
	const struct th_err *failure;
	size_t taken = 0;

	rt->takeover = NULL;
	for (size_t i = 0; i < t->wanted; i++)
		taken += is_taken(t, code, i);
	look_again(t); /* for those that cannot be opened */
	/* There may be more of them: asked before the logs of these stand in its way. */
	if (taken > 0 && t->page == 0 && t->count == TH_FLEET_CLAIM_MAX)
		look_further(t);
	for (size_t i = 0; i < t->wanted; i++) {
		const char *id = t->chosen[i]->id;

		failure = th_runtime_failure(rt->rt);
		if (is_taken(t, code, i)) {
			th_tried_note(&rt->tried, th_str_of(id), th_loop_now_ms(rt->loop));
			th_api_recover_one(rt, t->chosen[i]->agent, id, &t->rows[i], true, true,
					   t->recovered, t->ctx);
		} else {
			not_taken(t, id, code ? err : failure ?: &t->errs[i]);
		}
	}
	takeover_free(t);
}

/* None of those that come first is for this runtime: what of the others is, is looked for a page at
 * each look, so that they stand in nobody's way. */
static bool look_behind(struct takeover *t, bool good)
{
	struct thole_runtime *rt = t->rt;
	bool whole = t->count == TH_FLEET_CLAIM_MAX;
	struct th_err ignored;

	if (!good || !th_runtime_store(rt->rt)->kind->abandoned)
		return false;
	if (t->page > 0)
		rt->page = whole ? t->page + 1 : 1;
	if (t->page > 0 || t->wanted > 0 || !whole)
		return false;
	lefts_free(t);
	t->page = TH_MAX(rt->page, (size_t)1);
	return th_reader_ask(th_runtime_reader(rt->rt), &t->job, &ignored) == TH_OK;
}

/* What cannot be read or taken now is looked for the next time. */
static void on_looked(struct th_read *job, enum th_code code, const struct th_err *err)
{
	struct takeover *t = TH_CONTAINER_OF(job, struct takeover, job);
	struct thole_runtime *rt = t->rt;
	struct th_err why = { 0 };
	bool good = !code && !th_runtime_failure(rt->rt);

	(void)err;
	if (good)
		choose(t);
	else
		look_again(t);
	if (look_behind(t, good))
		return;
	if (t->wanted > 0) {
		t->job.run = claim;
		t->job.done = on_claimed;
		if (th_reader_ask(th_runtime_writer(rt->rt), &t->job, &why) == TH_OK)
			return;
	}
	for (size_t i = 0; i < t->wanted; i++) /* each that was wanted is told of */
		not_taken(t, t->chosen[i]->id, &why);
	if (t->wanted > 0)
		look_again(t);
	rt->takeover = NULL;
	takeover_free(t);
}

static void on_dropped(struct th_read *job)
{
	takeover_free(TH_CONTAINER_OF(job, struct takeover, job));
}

static enum th_code ask_for(struct takeover *t, struct th_err *err)
{
	enum th_code code;

	t->job.run = look;
	t->job.done = on_looked;
	t->job.drop = on_dropped;
	code = th_reader_ask(th_runtime_reader(t->rt->rt), &t->job, err);
	if (code)
		takeover_free(t);
	else
		t->rt->takeover = &t->job;
	return code;
}

static struct takeover *takeover_new(struct thole_runtime *rt, thole_recover_fn *wants,
				     thole_recovered_fn *recovered, void *ctx)
{
	size_t resting = rt->tried.list ? TH_FLEET_TRIED_MAX : 0;
	struct takeover *t = th_alloc(sizeof(*t) + resting * sizeof(*t->resting));

	t->rt = rt;
	t->resting_count = th_tried_resting(&rt->tried, th_loop_now_ms(rt->loop), t->resting);
	t->wants = wants;
	t->recovered = recovered;
	t->ctx = ctx;
	t->last = &t->first;
	th_arena_init_try(&t->memory, TH_FLEET_CLAIM_MAX * ROW_MAX);
	return t;
}

static void on_left(void *ctx, const struct th_err *why)
{
	struct thole_runtime *rt = ctx;
	struct thole_error e;

	if (rt->ending || !rt->left)
		return;
	if (why)
		(void)th_api_out(why->code, why, &e);
	rt->left(rt->left_ctx, why ? &e : NULL);
}

int thole_runtime_when_left(struct thole_runtime *rt, thole_left_fn *fn, void *ctx,
			    struct thole_error *err)
{
	int code = th_api_enter(rt, err);

	if (code)
		return code;
	rt->left = fn;
	rt->left_ctx = ctx;
	th_runtime_when_left(rt->rt, on_left, rt);
	return 0;
}

static void look_further(const struct takeover *t)
{
	struct th_err ignored;

	if (ask_for(takeover_new(t->rt, t->wants, t->recovered, t->ctx), &ignored) != TH_OK)
		return; /* the next call looks again */
}

int thole_runtime_take_over(struct thole_runtime *rt, thole_recover_fn *wants,
			    thole_recovered_fn *recovered, void *ctx, struct thole_error *err)
{
	struct th_err e = { 0 };
	enum th_code bad;
	int code = th_api_enter(rt, err);

	if (!code && (!wants || !recovered))
		code = th_api_fail(err, TH_EUSAGE, "a function is NULL");
	if (code || rt->takeover ||
	    (!th_runtime_store(rt->rt)->kind->abandoned && !th_api_schedule_due(rt)))
		return code;
	bad = ask_for(takeover_new(rt, wants, recovered, ctx), &e);
	if (!bad)
		rt->start_ms = 0; /* what the look finds */
	return th_api_out(bad, &e, err);
}
