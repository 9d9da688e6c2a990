/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/mcp.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/unknown.h"
#include "mcp/process.h"
#include "mcp/tool.h"
#include "runtime/given.h"
#include "runtime/lookups.h"
#include "runtime/secrets.h"

/* A call, and how it ended. */
struct mcp_call {
	struct mcp_call *next;
	struct th_runtime_session *session;
	struct th_ticket ticket;
	struct th_arena arena;
	struct th_json_doc *doc;
	struct th_tool_job job;
	struct th_deferred told; /* the driver is told from outside of the call */
	struct th_deferred named;
	char task[TH_MCP_TASK_MAX + 1]; /* its name at the server, as which it goes on */
	bool over;
	enum th_outcome_status status;
	struct th_buf output, evidence, text; /* text: the whole of a long one */
	struct th_blob blobs[TH_MCP_PICTURES_MAX + 1];
	size_t blob_count;
};

struct th_runtime_mcp {
	struct th_tool_env env;
	struct th_mask *mask; /* over all that is told */
	bool masks;           /* it was made */
	struct mcp_call *calls;
};

static void call_leave(struct mcp_call *c)
{
	struct mcp_call **at = &c->session->mcp->calls;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
}

static void call_destroy(struct mcp_call *c)
{
	th_buf_deinit(&c->output);
	th_buf_deinit(&c->evidence);
	th_buf_deinit(&c->text);
	th_json_free(c->doc);
	th_arena_deinit(&c->arena);
	free(c);
}

/* The whole of a long text goes along as a blob, as the evidence says. */
static void put_full_output(struct mcp_call *c)
{
	struct th_digest digest = th_sha256_of(c->text.ptr, c->text.len);
	char hex[TH_SHA256_HEX_SIZE + 1];

	if (c->text.len <= TH_TOOL_OUTPUT_MODEL_MAX || c->evidence.len < 2)
		return;
	th_digest_hex(&digest, hex);
	th_buf_truncate(&c->evidence, c->evidence.len - 1);
	th_buf_printf(&c->evidence,
		      "%s\"full_output\":{\"blob\":\"%s\",\"media_type\":\"text/plain\","
		      "\"size\":%zu}}",
		      c->evidence.len > 1 ? "," : "", hex, c->text.len);
	c->blobs[c->blob_count++] =
	    (struct th_blob){ digest, TH_STR("text/plain"), th_buf_str(&c->text) };
}

static void on_told(void *ctx)
{
	struct mcp_call *c = ctx;
	struct th_driver *d = c->session->rt->driver;
	struct th_effect_result r = { .status = c->status };

	put_full_output(c);
	r.output = th_buf_str(&c->output);
	r.evidence = th_buf_str(&c->evidence);
	r.blobs = c->blobs;
	r.blob_count = c->blob_count;
	/* The session may be closed by what it is told: the call is nobody's then. */
	call_leave(c);
	th_driver_tool_done(d, c->ticket, &r);
	call_destroy(c);
}

/* ---- what the tool says ------------------------------------------------------------------- */

static void job_output(struct th_tool_job *job, struct th_str bytes)
{
	struct mcp_call *c = job->ctx;

	th_buf_add(&c->text, th_str_sub(bytes, 0, TH_TOOL_OUTPUT_MAX - c->text.len));
	th_driver_tool_progress(c->session->rt->driver, c->ticket, bytes);
}

static bool job_note(struct th_tool_job *job, struct th_str json)
{
	(void)job;
	(void)json;
	return false; /* there is no journal: no tool of class V is run here */
}

static void on_named(void *ctx)
{
	struct mcp_call *c = ctx;

	th_driver_tool_task(c->session->rt->driver, c->ticket, th_str_of(c->task));
}

static void job_task(struct th_tool_job *job, struct th_str name)
{
	struct mcp_call *c = job->ctx;

	snprintf(c->task, sizeof(c->task), "%.*s", TH_FMT(name));
	th_loop_defer(c->session->rt->loop, &c->named);
}

static void job_picture(struct th_tool_job *job, struct th_str bytes, struct th_str hex,
			struct th_str media_type)
{
	struct mcp_call *c = job->ctx;

	(void)hex;
	assert(c->blob_count < TH_MCP_PICTURES_MAX);
	c->blobs[c->blob_count] = (struct th_blob){
		.hash = th_sha256_of(bytes.ptr, bytes.len),
		.media_type = th_arena_str(&c->arena, media_type),
		.bytes = th_arena_str(&c->arena, bytes),
	};
	c->blob_count++;
}

static void job_done(struct th_tool_job *job, enum th_outcome_status status, struct th_str output,
		     struct th_str evidence)
{
	struct mcp_call *c = job->ctx;

	c->over = true;
	c->status = status;
	th_buf_add(&c->output, output);
	th_buf_add(&c->evidence, evidence);
	(void)th_mask_apply_buf(job->env->mask, &c->output);
	(void)th_mask_apply_buf(job->env->mask, &c->evidence);
	th_loop_defer(c->session->rt->loop, &c->told);
}

/* ---- calls ---------------------------------------------------------------------------------- */

static struct th_runtime_mcp *mcp_of(struct th_runtime_session *s)
{
	if (!s->mcp) {
		s->rt->mcp = true;
		s->mcp = th_alloc(sizeof(*s->mcp));
		s->mcp->env = (struct th_tool_env){
			.loop = s->rt->loop,
			.workspace_fd = -1,
			.workspace = s->workspace,
			.command_ms_max = s->setup->agent.limits
					      ? s->setup->agent.limits->command_seconds * 1000
					      : 0,
			.undo_fd = -1,
			.fetcher = s->rt->fetcher,
		};
	}
	return s->mcp;
}

static struct mcp_call *call_new(struct th_runtime_session *s, struct th_ticket t)
{
	struct th_runtime_mcp *m = mcp_of(s);
	struct mcp_call *c = th_alloc(sizeof(*c));

	c->session = s;
	c->ticket = t;
	c->next = m->calls;
	m->calls = c;
	c->told = (struct th_deferred){ .fn = on_told, .ctx = c };
	c->named = (struct th_deferred){ .fn = on_named, .ctx = c };
	th_arena_init(&c->arena, 2 * TH_FRAME_JSON_MAX);
	th_buf_init(&c->output, TH_EXEC_OUTPUT_MAX);
	th_buf_init(&c->evidence, TH_EXEC_EVIDENCE_MAX);
	th_buf_init(&c->text, TH_TOOL_OUTPUT_MAX);
	c->job = (struct th_tool_job){
		.env = &m->env,
		.arena = &c->arena,
		.output = job_output,
		.note = job_note,
		.picture = job_picture,
		.task = job_task,
		.done = job_done,
		.ctx = c,
	};
	return c;
}

/* Before the first call: what a server says may have what its calls were never given. */
static enum th_code make_mask(struct th_runtime_session *s, struct th_err *err)
{
	struct th_runtime_mcp *m = s->mcp;
	struct th_mask *mask = NULL;
	enum th_code code;

	if (m->masks)
		return TH_OK;
	code = th_runtime_secrets_mask(s, &mask, err);
	if (!mask)
		mask = th_mask_new();
	if (!code)
		code = th_runtime_given_mask(s, mask, err);
	if (code) {
		th_mask_free(mask);
		return code;
	}
	th_mask_free(m->mask); /* one that could not take all */
	m->mask = mask;
	th_mask_build(m->mask);
	m->env.mask = m->mask;
	m->masks = true;
	return TH_OK;
}

enum th_code th_runtime_mcp_given(struct th_runtime_session *s, struct th_err *err)
{
	enum th_code code;

	if (!s->mcp || !s->mcp->masks)
		return TH_OK;
	code = th_runtime_given_mask(s, s->mcp->mask, err)
		   ?: th_runtime_lookups_mask(s, s->mcp->mask, err);
	th_mask_build(s->mcp->mask);
	s->mcp->masks = !code; /* else the next call has to make one that does */
	return code;
}

static void begin(struct mcp_call *c, const struct th_effect_call *call)
{
	const struct th_table *table = th_tool_mcp.arguments;
	void *args = th_arena_alloc(&c->arena, table->size);
	struct th_err err = { 0 };
	enum th_code code = make_mask(c->session, &err);

	if (code) {
		th_tool_fail(&c->job, TH_OUTCOME_NOT_STARTED, &err);
		return;
	}
	code = th_json_parse(call->arguments, &c->doc, &err);
	if (!code)
		code = args ? th_table_parse(table, th_json_root(c->doc), &c->arena, args, &err)
			    : th_fail(&err, TH_ELIMIT, "the arguments are too large");
	c->job.effect_id = th_arena_str(&c->arena, call->effect_id);
	c->job.args = args;
	c->job.timeout_ms = call->timeout_ms;
	if (code)
		th_tool_fail(&c->job, TH_OUTCOME_REFUSED, &err);
	else
		th_tool_mcp.start(&c->job);
}

bool th_runtime_mcp_run(struct th_runtime_session *s, struct th_ticket t,
			const struct th_effect_call *call, bool settle)
{
	struct mcp_call *c;

	if (!th_str_is(call->tool, th_tool_mcp.name) ||
	    !th_json_raw_inside(th_json_raw_get(call->arguments, "url")).len)
		return false;
	c = call_new(s, t);
	if (settle && call->class != TH_CLASS_R &&
	    !th_json_raw_inside(th_json_raw_get(call->arguments, "task")).len)
		job_done(&c->job, TH_OUTCOME_UNKNOWN, TH_STR("\"" TH_UNKNOWN_SENTENCE "\""),
			 TH_STR(""));
	else
		begin(c, call);
	return true;
}

bool th_runtime_mcp_cancel(struct th_runtime_session *s, struct th_ticket t)
{
	for (struct mcp_call *c = s && s->mcp ? s->mcp->calls : NULL; c; c = c->next) {
		if (!th_ticket_eq(c->ticket, t))
			continue;
		if (!c->over && c->job.state)
			th_tool_mcp.cancel(&c->job);
		return true;
	}
	return false;
}

void th_runtime_mcp_free(struct th_runtime_session *s)
{
	if (!s->mcp)
		return;
	for (struct mcp_call *c = s->mcp->calls; c; c = c->next)
		if (!c->over && c->job.state)
			th_mcp_tool_leave(&c->job); /* what it has is let go */
	while (s->mcp->calls) {
		struct mcp_call *c = s->mcp->calls;

		th_loop_undefer(s->rt->loop, &c->told);
		th_loop_undefer(s->rt->loop, &c->named);
		call_leave(c);
		call_destroy(c);
	}
	th_mcp_processes_free(&s->mcp->env);
	th_mask_free(s->mcp->mask);
	free(s->mcp);
	s->mcp = NULL;
}

static void look_again(void *ctx)
{
	th_loop_stop(ctx);
}

void th_runtime_mcp_drain(struct th_runtime *rt)
{
	struct th_timer timer;

	th_timer_init(&timer, rt->loop, look_again, rt->loop);
	for (int i = 0; i < TH_MCP_FAREWELL_MS / 10 && th_fetch_count(rt->fetcher) > 0; i++) {
		th_timer_start(&timer, 10, 0);
		th_loop_run(rt->loop);
	}
	th_timer_stop(&timer);
}
