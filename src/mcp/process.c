/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/internal.h"

#include <stdlib.h>
#include <string.h>

#include "io/clock.h"

/* ---- works ---------------------------------------------------------------------------------- */

static void work_take(struct th_mcp_process *p, struct th_mcp_work *w)
{
	struct th_mcp_work **at = &p->works;

	while (*at && *at != w)
		at = &(*at)->next;
	if (*at)
		*at = w->next;
	w->next = NULL;
}

/* A work may end, or add others, while it is told. */
static void lose_works(struct th_mcp_process *p, const struct th_err *why)
{
	struct th_mcp_work *w;

	while ((w = p->works)) {
		work_take(p, w);
		w->ops->lost(w, why);
	}
}

static void begin_works(struct th_mcp_process *p)
{
	struct th_mcp_work *w = p->works;

	while (w && p->stage == TH_MCP_READY) {
		if (w->begun) {
			w = w->next;
			continue;
		}
		w->begun = true;
		w->ops->begin(w);
		w = p->works; /* it may have ended */
	}
}

static void process_start(struct th_mcp_process *p);

/* ---- its end -------------------------------------------------------------------------------- */

static void delay_next(struct th_mcp_process *p)
{
	uint64_t delay = TH_MCP_BACKOFF_MS;

	p->failures = p->answered ? 1 : p->failures + 1;
	for (int i = 1; i < p->failures && delay < TH_MCP_BACKOFF_MS_MAX; i++)
		delay *= 2;
	p->next_start_ms = th_clock_ms() + TH_MIN(delay, (uint64_t)TH_MCP_BACKOFF_MS_MAX);
}

void th_mcp_process_over(struct th_mcp_process *p, const struct th_err *why)
{
	p->stage = TH_MCP_STOPPED;
	th_timer_stop(&p->timer);
	th_mcp_client_reset(&p->client);
	if (!p->spoke)
		p->client.era = p->era_given;
	delay_next(p);
	lose_works(p, why);
}

bool th_mcp_process_older(struct th_mcp_process *p)
{
	if (p->stage != TH_MCP_STARTING || p->client.era != TH_MCP_ERA_UNKNOWN)
		return false;
	p->client.era = TH_MCP_ERA_LEGACY;
	p->stage = TH_MCP_STOPPED;
	th_mcp_client_reset(&p->client);
	process_start(p);
	return true;
}

void th_mcp_process_doom(struct th_mcp_process *p, const struct th_err *why)
{
	if (p->stage == TH_MCP_DOOMED || p->stage == TH_MCP_STOPPED)
		return;
	p->stage = TH_MCP_DOOMED;
	th_timer_stop(&p->timer);
	p->transport->stop(p, why);
}

/* ---- what is said --------------------------------------------------------------------------- */

static void on_send(void *ctx, struct th_str message)
{
	struct th_mcp_process *p = (struct th_mcp_process *)ctx;

	if (p->stage != TH_MCP_DOOMED && p->stage != TH_MCP_STOPPED)
		p->transport->send(p, message);
}

void th_mcp_process_take(struct th_mcp_process *p, struct th_str message)
{
	uint64_t now_ms = th_clock_ms();
	struct th_err err = {};

	if (p->stage == TH_MCP_DOOMED || p->stage == TH_MCP_STOPPED)
		return;
	if (now_ms >= p->while_ms + TH_MCP_NOISE_MS) {
		th_mcp_client_calm(&p->client);
		p->while_ms = now_ms;
	}
	if (th_mcp_client_take(&p->client, message, &err)) {
		th_prefix(&err, err.code, "the server %.*s", TH_FMT(p->name));
		th_mcp_process_doom(p, &err);
	}
}

static void on_opened(void *ctx)
{
	struct th_mcp_process *p = (struct th_mcp_process *)ctx;

	th_timer_stop(&p->timer);
	p->stage = TH_MCP_READY;
	p->spoke = true;
	if (p->transport->opened)
		p->transport->opened(p);
	begin_works(p);
}

static void on_answered(void *ctx, void *user, struct th_str result)
{
	struct th_mcp_process *p = (struct th_mcp_process *)ctx;
	struct th_mcp_work *w = (struct th_mcp_work *)user;

	p->answered = true;
	p->failures = 0;
	w->ops->answered(w, result);
}

static void on_failed(void *ctx, void *user, const struct th_err *err)
{
	struct th_mcp_work *w = (struct th_mcp_work *)user;

	(void)ctx;
	w->ops->failed(w, err);
}

static void on_progress(void *ctx, void *user, struct th_str text)
{
	struct th_mcp_work *w = (struct th_mcp_work *)user;

	(void)ctx;
	w->ops->progress(w, text);
}

static void on_asked(void *ctx, void *user, const struct th_mcp_question *q)
{
	struct th_mcp_work *w = (struct th_mcp_work *)user;

	(void)ctx;
	w->ops->asked(w, q);
}

static void on_changed(void *ctx)
{
	((struct th_mcp_process *)ctx)->changed = true;
}

static const struct th_mcp_client_ops client_ops = {
	.send = on_send,
	.opened = on_opened,
	.answered = on_answered,
	.failed = on_failed,
	.progress = on_progress,
	.tools_changed = on_changed,
	.asked = on_asked,
};

/* ---- its start ------------------------------------------------------------------------------ */

static void on_timer(void *ctx)
{
	struct th_mcp_process *p = (struct th_mcp_process *)ctx;
	struct th_err err = {};

	if (p->stage == TH_MCP_STOPPED) {
		if (p->works)
			process_start(p);
		return;
	}
	if (p->stage != TH_MCP_STARTING)
		return;
	if (p->client.era == TH_MCP_ERA_UNKNOWN && th_mcp_client_silent(&p->client)) {
		th_timer_start(&p->timer, (uint64_t)p->start_ms, 0);
		return;
	}
	th_fail(&err, TH_ETIMEOUT, "the server %.*s did not answer within %lld s of its start",
		TH_FMT(p->name), (long long)(p->start_ms / 1000));
	th_mcp_process_doom(p, &err);
}

static void process_start(struct th_mcp_process *p)
{
	bool unknown = p->client.era == TH_MCP_ERA_UNKNOWN;
	struct th_err err = {};

	p->answered = p->changed = false;
	if (p->transport->start(p, &err)) {
		th_prefix(&err, err.code, "the server %.*s", TH_FMT(p->name));
		th_mcp_process_over(p, &err);
		return;
	}
	p->stage = TH_MCP_STARTING;
	th_timer_start(&p->timer, unknown ? TH_MCP_DISCOVER_MS : (uint64_t)p->start_ms, 0);
	th_mcp_client_begin(&p->client);
}

void th_mcp_process_add(struct th_mcp_process *p, struct th_mcp_work *w)
{
	struct th_mcp_work **at = &p->works;
	uint64_t now = th_clock_ms();

	while (*at)
		at = &(*at)->next;
	*at = w;
	w->next = NULL;
	w->begun = false;
	if (p->stage == TH_MCP_READY)
		begin_works(p);
	else if (p->stage == TH_MCP_STOPPED && now >= p->next_start_ms)
		process_start(p);
	else if (p->stage == TH_MCP_STOPPED && !th_timer_running(&p->timer))
		th_timer_start(&p->timer, p->next_start_ms - now, 0);
}

enum th_code th_mcp_process_ask(struct th_mcp_process *p, struct th_mcp_work *w, const char *method,
				struct th_str params, struct th_err *err)
{
	if (p->stage != TH_MCP_READY)
		return th_fail(err, TH_ECONN, "the server %.*s has ended", TH_FMT(p->name));
	return th_mcp_client_request(&p->client, method, params, w, err);
}

static void nobody(struct th_mcp_work *w, const struct th_err *err)
{
	(void)w;
	(void)err;
}

static void nobody_heard(struct th_mcp_work *w, struct th_str text)
{
	(void)w;
	(void)text;
}

static const struct th_mcp_work_ops told_ops = {
	.progress = nobody_heard, .answered = nobody_heard, .failed = nobody, .lost = nobody
};

void th_mcp_process_tell(struct th_mcp_process *p, const char *method, struct th_str params)
{
	if (p->stage == TH_MCP_READY)
		(void)!th_mcp_client_request(&p->client, method, params, &p->told, NULL);
}

void th_mcp_process_refuse(struct th_mcp_process *p, struct th_str id, struct th_str why)
{
	if (p->stage == TH_MCP_READY)
		th_mcp_client_refuse(&p->client, id, why);
}

void th_mcp_process_reply(struct th_mcp_process *p, struct th_str id, struct th_str result)
{
	if (p->stage == TH_MCP_READY)
		th_mcp_client_reply(&p->client, id, result);
}

void th_mcp_process_remove(struct th_mcp_process *p, struct th_mcp_work *w, const char *reason)
{
	uint64_t id = reason && w->begun ? th_mcp_client_cancel(&p->client, w, reason) : 0;

	if (id && p->transport->cancelled)
		p->transport->cancelled(p, id);
	work_take(p, w);
}

/* ---- the list of them ----------------------------------------------------------------------- */

static struct th_digest digest_of(const struct th_mcp_process_spec *s)
{
	struct th_buf text = TH_BUF_INIT(TH_FRAME_JSON_MAX);
	const struct th_strs *lists[] = { &s->argv, &s->environment, &s->headers, &s->secrets };
	struct th_jw w = th_jw(&text);
	struct th_digest ret;

	th_jw_array(&w);
	th_jw_str(&w, s->name);
	th_jw_int(&w, s->era);
	th_jw_bool(&w, s->samples);
	th_jw_str(&w, s->url);
	th_jw_str(&w, s->token_env);
	for (size_t i = 0; i < TH_COUNT(lists); i++) {
		th_jw_array(&w);
		for (size_t k = 0; k < lists[i]->count; k++)
			th_jw_str(&w, lists[i]->list[k]);
		th_jw_array_end(&w);
	}
	th_jw_array_end(&w);
	ret = th_sha256_of(text.ptr, text.len);
	th_buf_deinit(&text);
	return ret;
}

static void process_free(struct th_mcp_process *p)
{
	struct th_mcp_work *w, *next;

	for (w = p->works; w; w = next) {
		next = w->next;
		if (w->held)
			w->ops->lost(w, NULL);
	}
	th_timer_stop(&p->timer);
	p->transport->free(p);
	th_mcp_client_deinit(&p->client);
	th_arena_deinit(&p->memory);
	free(p);
}

void th_mcp_processes_free(struct th_tool_env *env)
{
	while (env->servers) {
		struct th_mcp_process *p = env->servers;

		env->servers = p->next;
		process_free(p);
	}
}

static enum th_code process_new(struct th_tool_env *env, const struct th_mcp_process_spec *spec,
				struct th_mcp_process **ret, struct th_err *err)
{
	struct th_mcp_process *p = (struct th_mcp_process *)th_alloc(sizeof(*p));
	enum th_code code;

	p->env = env;
	p->told.ops = &told_ops;
	p->start_ms = spec->start_ms;
	p->era_given = spec->era;
	th_arena_init(&p->memory, TH_MIB);
	p->transport = spec->transport;
	th_timer_init(&p->timer, env->loop, on_timer, p);
	th_mcp_client_init(&p->client, &client_ops, p, spec->era, env->workspace);
	p->client.samples = spec->samples;
	p->name = th_arena_str(&p->memory, spec->name);
	code = p->name.ptr ? p->transport->init(p, spec, err)
			   : th_fail(err, TH_ELIMIT, "the server's name is too long");
	if (code) {
		process_free(p);
		return code;
	}
	*ret = p;
	return TH_OK;
}

enum th_code th_mcp_process_get(struct th_tool_env *env, const struct th_mcp_process_spec *spec,
				struct th_mcp_process **ret, struct th_err *err)
{
	struct th_digest digest = digest_of(spec);
	struct th_mcp_process **at = &env->servers;
	size_t count = 0;
	enum th_code code;

	for (; *at; at = &(*at)->next, count++)
		if (!memcmp(&(*at)->spec, &digest, sizeof(digest))) {
			*ret = *at;
			return TH_OK;
		}
	if (count == TH_MCP_PROCESSES_MAX)
		return th_fail(err, TH_ELIMIT, "a session has at most %d servers",
			       TH_MCP_PROCESSES_MAX);
	code = process_new(env, spec, at, err);
	if (code)
		return code;
	(*at)->spec = digest;
	*ret = *at;
	return TH_OK;
}

struct th_str th_mcp_process_name(const struct th_mcp_process *p)
{
	return p->name;
}

const struct th_mcp_client *th_mcp_process_client(const struct th_mcp_process *p)
{
	return &p->client;
}

bool th_mcp_process_changed(struct th_mcp_process *p, bool clear)
{
	bool changed = p->changed;

	if (clear)
		p->changed = false;
	return changed;
}
