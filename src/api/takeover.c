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
	char id[];
};

struct takeover {
	struct th_read job;
	struct thole_runtime *rt;
	thole_recover_fn *wants;
	thole_recovered_fn *recovered;
	void *ctx;
	struct left *first, **last; /* the thread's while the reader has the job */
};

static void takeover_free(struct takeover *t)
{
	while (t->first) {
		struct left *l = t->first;

		t->first = l->next;
		free(l->row);
		free(l);
	}
	free(t);
}

static enum th_code note_row(void *ctx, const struct th_session_row *row, struct th_err *err)
{
	struct takeover *t = ctx;
	struct th_buf text = TH_BUF_INIT(ROW_MAX);
	struct th_jw w = th_jw(&text);
	struct left *l;
	enum th_code code;

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
	memcpy(l->id, row->session_id.ptr, row->session_id.len);
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

/* What cannot be read now is looked for the next time. */
static void on_looked(struct th_read *job, enum th_code code, const struct th_err *err)
{
	struct takeover *t = TH_CONTAINER_OF(job, struct takeover, job);
	struct thole_runtime *rt = t->rt;

	(void)err;
	rt->takeover = NULL;
	for (struct left *l = t->first; l && !code && !th_runtime_failure(rt->rt); l = l->next) {
		struct thole_agent *agent = NULL;

		if (th_runtime_has(rt->rt, th_str_of(l->id)) || !t->wants(t->ctx, l->row, &agent))
			continue;
		th_api_recover_one(rt, agent, l->id, true, t->recovered, t->ctx);
	}
	takeover_free(t);
}

static void on_dropped(struct th_read *job)
{
	takeover_free(TH_CONTAINER_OF(job, struct takeover, job));
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
	bad = th_reader_ask(th_runtime_reader(rt->rt), &t->job, &e);
	if (bad) {
		takeover_free(t);
		return th_api_out(bad, &e, err);
	}
	rt->takeover = &t->job;
	return TH_OK;
}
