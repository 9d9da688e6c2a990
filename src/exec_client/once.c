/* SPDX-License-Identifier: Apache-2.0 */
/* once.c - the client for commands that do one thing: a loop of their own, until it is
 * done. */
#include <stdlib.h>

#include "base/limits.h"
#include "exec_client/client.h"
#include "io/loop.h"

struct once {
	struct th_loop *loop;
	const struct th_executor_handlers *on;
	struct th_executor_answer *answer;
	struct th_executor_info *info;
	struct th_arena *arena;
	struct th_err err;
};

void th_executor_answer_deinit(struct th_executor_answer *a)
{
	th_arena_deinit(&a->memory);
	a->result = (struct th_effect_result){};
}

static void on_accepted(void *ctx)
{
	struct once *o = (struct once *)ctx;
	if (o->on && o->on->on_accepted)
		o->on->on_accepted(o->on->ctx);
}

static void on_output(void *ctx, uint64_t offset, struct th_str bytes)
{
	struct once *o = (struct once *)ctx;
	o->on->on_output(o->on->ctx, offset, bytes);
}

static void on_finished(void *ctx, const struct th_effect_result *r)
{
	struct once *o = (struct once *)ctx;
	struct th_arena *a = &o->answer->memory;
	struct th_effect_result *to = &o->answer->result;
	struct th_blob *blobs =
	    (struct th_blob *)th_arena_array(a, r->blob_count + 1, sizeof(*blobs));

	*to = *r;
	to->output = th_arena_str(a, r->output);
	to->evidence = th_arena_str(a, r->evidence);
	for (size_t i = 0; blobs && i < r->blob_count; i++) {
		blobs[i] = r->blobs[i];
		blobs[i].media_type = th_arena_str(a, r->blobs[i].media_type);
		blobs[i].bytes = th_arena_str(a, r->blobs[i].bytes);
	}
	to->blobs = blobs;
	if (!blobs)
		to->blob_count = 0;
	/* That nothing could be asked is the caller's to hear, not an outcome. */
	if (r->status == TH_OUTCOME_NOT_STARTED && r->code)
		th_fail(&o->err, r->code, "%.*s", TH_FMT(r->why));
	if (o->on && o->on->on_finished)
		o->on->on_finished(o->on->ctx, r);
	th_loop_stop(o->loop);
}

enum th_code th_executor_client_once(const struct th_executor_options *options,
				     const struct th_effect_call *call,
				     const struct th_executor_handlers *h,
				     struct th_executor_answer *ret, struct th_err *err)
{
	TH_CLEANUP(th_loop_freep) struct th_loop *loop = NULL;
	TH_CLEANUP(th_executor_client_freep) struct th_executor_client *x = NULL;
	struct once o = { .on = h, .answer = ret };
	struct th_executor_handlers on = {
		.on_accepted = on_accepted,
		.on_output = h && h->on_output ? on_output : NULL,
		.on_finished = on_finished,
		.ctx = &o,
	};

	*ret = (struct th_executor_answer){};
	th_arena_init(&ret->memory, 2 * TH_FRAME_SIZE_MAX);
	enum th_code code = th_loop_new(&loop, err);
	if (code == TH_OK)
		code = th_executor_client_new(loop, options, &x, err);
	if (code)
		return code;
	o.loop = loop;
	th_executor_client_run(x, call, &on);
	th_loop_run(loop);
	if (o.err.code && err)
		*err = o.err;
	return o.err.code;
}

static void on_ready(void *ctx, const struct th_executor_info *info, const struct th_err *err)
{
	struct once *o = (struct once *)ctx;
	if (info) {
		*o->info = *info;
		o->info->journal = th_arena_str(o->arena, info->journal);
		o->info->build = th_arena_str(o->arena, info->build);
		o->info->workspace = th_arena_str(o->arena, info->workspace);
		o->info->computer = th_arena_str(o->arena, info->computer);
		o->info->sandbox = th_arena_str(o->arena, info->sandbox);
	} else {
		o->err = *err;
	}
	th_loop_stop(o->loop);
}

static void on_ended(void *ctx, const struct th_err *err)
{
	struct once *o = (struct once *)ctx;
	if (err)
		o->err = *err;
	th_loop_stop(o->loop);
}

enum th_code th_executor_client_info_once(const struct th_executor_options *options, bool screen,
					  struct th_executor_info *ret, struct th_arena *a,
					  struct th_err *err)
{
	TH_CLEANUP(th_loop_freep) struct th_loop *loop = NULL;
	TH_CLEANUP(th_executor_client_freep) struct th_executor_client *x = NULL;
	struct once o = { .info = ret, .arena = a };

	enum th_code code = th_loop_new(&loop, err);
	if (code == TH_OK)
		code = th_executor_client_new(loop, options, &x, err);
	if (code)
		return code;
	o.loop = loop;
	th_executor_client_ready(x, screen, on_ready, &o);
	th_loop_run(loop);
	if (o.err.code && err)
		*err = o.err;
	return o.err.code;
}

enum th_code th_executor_client_end_once(const struct th_executor_options *options,
					 struct th_err *err)
{
	TH_CLEANUP(th_loop_freep) struct th_loop *loop = NULL;
	TH_CLEANUP(th_executor_client_freep) struct th_executor_client *x = NULL;
	struct once o = {};

	enum th_code code = th_loop_new(&loop, err);
	if (code == TH_OK)
		code = th_executor_client_new(loop, options, &x, err);
	if (code)
		return code;
	o.loop = loop;
	th_executor_client_end(x, on_ended, &o);
	th_loop_run(loop);
	if (o.err.code && err)
		*err = o.err;
	return o.err.code;
}
