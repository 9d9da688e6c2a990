/* SPDX-License-Identifier: Apache-2.0 */
/*
 * carry.c - sessions out of a runtime's store and into it.
 */
#include "admin/transfer.h"

#include <stdlib.h>

#include "api/work.h"

struct giving {
	thole_line_fn *fn;
	void *ctx;
	int result;
};

static enum th_code give_line(void *ctx, struct th_str line, struct th_err *err)
{
	struct giving *g = ctx;

	g->result = g->fn(g->ctx, line.ptr, line.len);
	return g->result ? th_fail(err, TH_ECANCELED, "the reader stopped") : TH_OK;
}

int thole_runtime_export(struct thole_runtime *rt, const char *session_id, thole_line_fn *fn,
			 void *ctx, struct thole_error *err)
{
	struct giving g = { fn, ctx, 0 };
	struct th_err e = { 0 };
	enum th_code bad;
	int code = th_api_enter_reading(rt, session_id, fn, err);

	if (code)
		return code;
	bad = th_session_export(th_runtime_store(rt->rt), th_str_of(session_id), give_line, &g, &e);
	return g.result ? g.result : th_api_out(bad, &e, err);
}

static int next_line(void *ctx, struct th_str *ret, struct th_err *err)
{
	struct th_str *rest = ctx;

	(void)err;
	if (rest->len == 0)
		return 0;
	*ret = th_str_split(rest, '\n');
	return 1;
}

int thole_runtime_import(struct thole_runtime *rt, const void *bytes, size_t size, char **ret,
			 struct thole_error *err)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_str rest = { bytes, size }, id;
	struct th_err e = { 0 };
	enum th_code bad;
	int code = th_api_enter(rt, err);

	th_arena_init(&a, TH_MIB);
	if (!code && (!bytes || size == 0))
		code = th_api_fail(err, TH_EUSAGE, "there is nothing to import");
	if (code)
		return code;
	bad = th_session_import(th_runtime_store(rt->rt), th_runtime_store(rt->rt), next_line,
				&rest, &a, &id, &e);
	if (!bad && ret)
		*ret = th_api_copy(id);
	return th_api_out(bad, &e, err);
}

/* ---- beside the loop ---- */

struct arrival {
	struct th_api_work work;
	struct thole_runtime *rt;
	struct th_store *store; /* the loop's: what comes in is written with it */
	size_t size;
	char bytes[];
};

static enum th_code arrival_run(struct th_api_work *w, struct th_store *reads, struct th_buf *out,
				struct th_err *err)
{
	const struct arrival *x = TH_CONTAINER_OF(w, struct arrival, work);
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_str rest = { x->bytes, x->size }, id;
	enum th_code code;

	th_arena_init(&a, TH_MIB);
	code = th_session_import(reads, x->store, next_line, &rest, &a, &id, err);
	if (!code)
		th_buf_add(out, id);
	return code;
}

static enum th_code arrival_then(struct th_api_work *w, bool *ret_again, struct th_err *err)
{
	(void)ret_again;
	(void)err;
	th_api_schedule_came(TH_CONTAINER_OF(w, struct arrival, work)->rt);
	return TH_OK;
}

static void arrival_free(struct th_api_work *w)
{
	free(TH_CONTAINER_OF(w, struct arrival, work));
}

int thole_runtime_import_start(struct thole_runtime *rt, const void *bytes, size_t size,
			       thole_line_fn *fn, thole_done_fn *done, void *ctx,
			       struct thole_reading **ret, struct thole_error *err)
{
	struct arrival *x;
	int code = th_api_enter(rt, err);

	if (!code && (!bytes || size == 0))
		code = th_api_fail(err, TH_EUSAGE, "there is nothing to import");
	if (!code && (!fn || !done))
		code = th_api_fail(err, TH_EUSAGE, "a function is NULL");
	if (code)
		return code;
	x = th_alloc(sizeof(*x) + size);
	x->work = (struct th_api_work){
		.run = arrival_run, .then = arrival_then, .free = arrival_free, .changes = true
	};
	x->rt = rt;
	x->store = th_runtime_store(rt->rt);
	x->size = size;
	memcpy(x->bytes, bytes, size);
	return th_api_work_start(rt, th_runtime_long_reader(rt->rt), &x->work, fn, done, ctx, ret,
				 err);
}
