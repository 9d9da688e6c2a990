/* SPDX-License-Identifier: Apache-2.0 */
/* work.c - an effect at work: its tool, or the computer, is begun, and what they say of it. */
#include "executor/state.h"

#include "base/limits.h"
#include "io/clock.h"

static void job_output(struct th_tool_job *job, struct th_str bytes)
{
	struct th_exec_effect *e = (struct th_exec_effect *)job->ctx;
	uint64_t at = e->spool.size;

	th_spool_append(&e->spool, e->x->spool_fd, e->id, bytes);
	for (struct th_exec_sub *sub = e->subs; sub; sub = sub->next) {
		if (!sub->watch || sub->client->blocked)
			continue;
		/* New output is sent as it was read; only a client that is behind reads the spool.
		 */
		if (sub->sent == at)
			th_exec_tell_output(sub, at, bytes);
		else
			th_exec_pump(e, sub);
	}
}

static bool job_note(struct th_tool_job *job, struct th_str json)
{
	struct th_exec_effect *e = (struct th_exec_effect *)job->ctx;
	struct th_err err;

	if (!e->entry)
		return true;
	/* Durable before anything is changed: so no note proves that nothing was. */
	TH_CLEANUP(th_buf_deinit) struct th_buf note = TH_BUF_INIT(TH_JOURNAL_RECORD_MAX);
	if (!th_mask_empty(e->x->mask)) {
		th_buf_add(&note, json);
		(void)th_mask_apply_buf(e->x->mask, &note);
		json = th_buf_str(&note);
	}
	enum th_code code = th_ledger_note(e->x->ledger, e->entry, json, &err);
	if (code == TH_OK)
		code = th_ledger_sync(e->x->ledger, &err);
	if (code == TH_EIO)
		th_exec_fatal(e->x, &err);
	return code == TH_OK;
}

/* The evidence of a command whose output is longer than what the model is shown names the whole. */
static void with_full_output(struct th_exec_effect *e, struct th_str evidence, struct th_buf *out)
{
	struct th_buf bytes = TH_BUF_INIT(TH_TOOL_OUTPUT_MAX);
	char hex[TH_SHA256_HEX_SIZE + 1];
	uint64_t at;

	(void)!th_spool_read(&e->spool, 0, TH_TOOL_OUTPUT_MAX, &bytes, &at, NULL);
	if (e->spool.kept > TH_TOOL_OUTPUT_MAX)
		(void)!th_spool_read(&e->spool, e->spool.kept - TH_SPOOL_TAIL, TH_SPOOL_TAIL,
				     &bytes, &at, NULL);
	struct th_digest digest = th_sha256_of(bytes.ptr, bytes.len);
	th_digest_hex(&digest, hex);
	th_buf_add(out, th_str_sub(evidence, 0, evidence.len - 1));
	th_buf_printf(
	    out, "%s\"full_output\":{\"blob\":\"%s\",\"media_type\":\"text/plain\",\"size\":%zu}}",
	    evidence.len > 2 ? "," : "", hex, bytes.len);
	th_buf_deinit(&bytes);
}

static void job_picture(struct th_tool_job *job, struct th_str bytes, struct th_str hex,
			struct th_str media_type)
{
	struct th_exec_effect *e = (struct th_exec_effect *)job->ctx;

	assert(e->picture_count < TH_PICTURES_MAX);
	e->pictures[e->picture_count++] = th_picture_new(bytes, hex, media_type);
}

static void job_done(struct th_tool_job *job, enum th_outcome_status status, struct th_str output,
		     struct th_str evidence)
{
	struct th_exec_effect *e = (struct th_exec_effect *)job->ctx;
	TH_CLEANUP(th_buf_deinit) struct th_buf more = TH_BUF_INIT(TH_TOOL_OUTPUT_MAX);

	if (e->spool.kept > TH_TOOL_OUTPUT_MODEL_MAX && evidence.len >= 2) {
		with_full_output(e, evidence, &more);
		evidence = th_buf_str(&more);
	}
	th_exec_effect_finish(e, status, output, evidence, NULL, 0);
}

static void call_step(void *ctx, int64_t done)
{
	struct th_exec_effect *e = (struct th_exec_effect *)ctx;
	struct th_err err;

	if (e->entry && th_ledger_step(e->x->ledger, e->entry, done, &err) == TH_EIO)
		th_exec_fatal(e->x, &err);
}

static void call_done(void *ctx, enum th_outcome_status status, struct th_str output,
		      struct th_str evidence, struct th_picture *const *pictures, size_t count)
{
	struct th_exec_effect *e = (struct th_exec_effect *)ctx;

	/* Looking may be done again, and a new desktop is as good to look at. */
	if (!e->entry && status == TH_OUTCOME_UNKNOWN && !e->repeated && !e->cancelled &&
	    !e->x->stopping) {
		e->repeated = true;
		th_display_run(e->x->display, &e->call);
		return;
	}
	if (!e->entry && status == TH_OUTCOME_UNKNOWN)
		status = TH_OUTCOME_FAILED;
	th_exec_effect_finish(e, status, output, evidence, pictures, count);
}

/* The arguments of such a tool as the display process takes them. */
static struct th_str browse_arguments(struct th_exec_effect *e)
{
	return th_arena_printf(&e->arena, "{\"actions\":[],\"browse\":%.*s}", TH_FMT(e->arguments));
}

void th_exec_effect_start(struct th_exec_effect *e)
{
	struct th_executor_server *x = e->x;

	e->started = true;
	e->started_ms = th_clock_ms();
	if (th_exec_on_computer(e)) {
		e->call.arguments = e->tool ? browse_arguments(e) : e->arguments;
		e->call.on_step = call_step;
		e->call.on_done = call_done;
		e->call.ctx = e;
		th_display_run(x->display, &e->call);
		return;
	}
	e->job.env = &x->env;
	e->job.arena = &e->arena;
	e->job.effect_id = th_str_of(e->id);
	e->job.output = job_output;
	e->job.note = job_note;
	e->job.picture = job_picture;
	e->job.done = job_done;
	e->job.ctx = e;
	if (e->probe)
		e->tool->probe(&e->job);
	else
		e->tool->start(&e->job);
}
