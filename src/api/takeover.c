/* SPDX-License-Identifier: Apache-2.0 */
/*
 * takeover.c - sessions whose runtime died, looked for beside the loop and gone on with on it.
 */
#include <stdlib.h>

#include "api/api.h"

#define ROW_MAX (TH_EVENT_DATA_MAX + TH_MIB)

struct left {
	struct left *next;
	char *row; /* its object, as of a page */
	struct thole_agent *agent;
	char id[];
};

struct takeover {
	struct th_read job;
	struct thole_runtime *rt;
	thole_recover_fn *wants;
	thole_recovered_fn *recovered;
	void *ctx;
	struct left *first, **last; /* the thread's while the reader has the job */
	size_t count;               /* that it saw */
};

static void lefts_free(struct takeover *t)
{
	while (t->first) {
		struct left *l = t->first;

		t->first = l->next;
		free(l->row);
		free(l);
	}
	t->last = &t->first;
	t->count = 0;
}

static void takeover_free(struct takeover *t)
{
	lefts_free(t);
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
	*t->last = l;
	t->last = &l->next;
	return TH_OK;
}

static enum th_code look(struct th_read *job, struct th_store *store, struct th_err *err)
{
	struct takeover *t = TH_CONTAINER_OF(job, struct takeover, job);

	return store->kind->abandoned(store, note_row, t, err);
}

/* Those that are wanted. */
static size_t choose(struct takeover *t, struct left **chosen, struct th_str *ids)
{
	size_t count = 0;

	for (struct left *l = t->first; l && count < TH_FLEET_CLAIM_MAX; l = l->next) {
		if (th_runtime_has(t->rt->rt, th_str_of(l->id)) ||
		    !t->wants(t->ctx, l->row, &l->agent))
			continue;
		chosen[count] = l;
		ids[count++] = th_str_of(l->id);
	}
	return count;
}

/* `err` NULL: somebody else was first, or the store is lost. */
static void not_taken(struct takeover *t, const char *id, const struct th_err *err)
{
	struct thole_error why = { 0 };

	if (err)
		(void)th_api_out(err->code ?: TH_EIO, err, &why);
	else
		(void)th_api_fail(&why, TH_EBUSY, "another runtime has session %s", id);
	t->recovered(t->ctx, id, NULL, &why);
}

/* Their leases, in one transaction; what another one took meanwhile is his.  The sessions that it
 * has now. */
static size_t claim(struct takeover *t)
{
	struct thole_runtime *rt = t->rt;
	struct th_store *store = th_runtime_store(rt->rt);
	struct left *chosen[TH_FLEET_CLAIM_MAX];
	struct th_str ids[TH_FLEET_CLAIM_MAX];
	enum th_code codes[TH_FLEET_CLAIM_MAX];
	size_t count = choose(t, chosen, ids), taken = 0;
	enum th_code code = TH_OK;
	struct th_session_row *rows = th_alloc((count + 1) * sizeof(*rows));
	struct th_err err = { 0 };
	struct th_arena memory;

	th_arena_init(&memory, TH_FLEET_CLAIM_MAX * ROW_MAX);
	if (count > 0)
		code = store->kind->lease_many(store, ids, count, &memory, rows, codes, &err);
	for (size_t i = 0; i < count; i++) {
		if (code != TH_OK || codes[i] != TH_OK || th_runtime_failure(rt->rt)) {
			not_taken(t, chosen[i]->id, code ? &err : NULL);
			continue;
		}
		taken++;
		th_api_recover_one(rt, chosen[i]->agent, chosen[i]->id, &rows[i], true,
				   t->recovered, t->ctx);
	}
	th_arena_deinit(&memory);
	free(rows);
	return taken;
}

static void ask(struct takeover *t);

/* What cannot be read or taken now is looked for the next time. */
static void on_looked(struct th_read *job, enum th_code code, const struct th_err *err)
{
	struct takeover *t = TH_CONTAINER_OF(job, struct takeover, job);
	struct thole_runtime *rt = t->rt;
	size_t taken;

	(void)err;
	rt->takeover = NULL;
	taken = code || th_runtime_failure(rt->rt) ? 0 : claim(t);
	/* There may be more of them. */
	if (taken > 0 && t->count == TH_FLEET_CLAIM_MAX && !th_runtime_failure(rt->rt)) {
		lefts_free(t);
		ask(t);
		return;
	}
	takeover_free(t);
}

static void on_dropped(struct th_read *job)
{
	takeover_free(TH_CONTAINER_OF(job, struct takeover, job));
}

static enum th_code ask_for(struct takeover *t, struct th_err *err)
{
	enum th_code code = th_reader_ask(th_runtime_reader(t->rt->rt), &t->job, err);

	if (code)
		takeover_free(t);
	else
		t->rt->takeover = &t->job;
	return code;
}

static void ask(struct takeover *t)
{
	struct th_err ignored;

	if (ask_for(t, &ignored) != TH_OK)
		return; /* the next call looks again */
}

int thole_runtime_take_over(struct thole_runtime *rt, thole_recover_fn *wants,
			    thole_recovered_fn *recovered, void *ctx, struct thole_error *err)
{
	struct takeover *t;
	struct th_err e = { 0 };
	enum th_code bad;
	int code = th_api_enter(rt, err);

	if (!code && (!wants || !recovered))
		code = th_api_fail(err, TH_EUSAGE, "a function is NULL");
	if (code || rt->takeover || !th_runtime_store(rt->rt)->kind->abandoned)
		return code;
	t = th_alloc(sizeof(*t));
	*t = (struct takeover){
		.job = { .run = look, .done = on_looked, .drop = on_dropped },
		.rt = rt,
		.wants = wants,
		.recovered = recovered,
		.ctx = ctx,
	};
	t->last = &t->first;
	bad = ask_for(t, &e);
	return th_api_out(bad, &e, err);
}
