/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "io/child.h"
#include "io/clock.h"
#include "tools/clip.h"

enum stage {
	STAGE_STOPPED, /* a work may wait for the delay */
	STAGE_STARTING,
	STAGE_READY,
	STAGE_DOOMED /* it is being ended; `why` says for what */
};

struct th_mcp_process {
	struct th_mcp_process *next;
	struct th_tool_env *env;
	struct th_arena memory;
	struct th_str name;
	struct th_digest spec;
	const char **argv, **environment;
	const char *folder;
	int64_t start_ms;
	enum stage stage;
	struct th_mcp_client client;
	struct th_child *child;
	struct th_timer timer; /* of the delay, or of the start */
	struct th_mcp_work *works;
	struct th_buf line, out;
	struct th_clip said; /* on its standard error */
	struct th_err why;
	uint64_t next_start_ms;
	int failures;
	bool answered; /* since it was started */
	bool changed;  /* its list of tools */
	bool spoke;    /* once, so that its era is known */
	enum th_mcp_era era_given;
};

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

	while (w && p->stage == STAGE_READY) {
		if (w->begun) {
			w = w->next;
			continue;
		}
		w->begun = true;
		w->ops->begin(w);
		w = p->works; /* it may have ended */
	}
}

/* ---- its end -------------------------------------------------------------------------------- */

static void process_start(struct th_mcp_process *p);

/* What is known of why it ended: its last words, too. */
static void put_why(struct th_mcp_process *p, const struct th_child_exit *e, struct th_err *ret)
{
	struct th_buf said = TH_BUF_INIT(8 * TH_MCP_STDERR_MAX), line = TH_BUF_INIT(TH_ERR_MSG_MAX);

	if (p->why.code)
		*ret = p->why;
	else if (e->not_started)
		th_fail(ret, TH_EIO, "the sandbox of the server %.*s could not be set up",
			TH_FMT(p->name));
	else if (e->signalled)
		th_fail(ret, TH_EIO, "the server %.*s was ended by signal %d", TH_FMT(p->name),
			e->code);
	else
		th_fail(ret, TH_EIO, "the server %.*s ended with exit status %d", TH_FMT(p->name),
			e->code);
	th_clip_text(&p->said, &said);
	if (th_str_trim(th_buf_str(&said)).len) {
		size_t len = strlen(ret->msg);

		th_text_line(&line, th_str_trim(th_buf_str(&said)), TH_ERR_MSG_MAX);
		snprintf(
		    ret->msg + len, sizeof(ret->msg) - len, "; it said: %.*s",
		    TH_FMT(th_utf8_cut(th_buf_str(&line),
				       sizeof(ret->msg) - TH_MIN(len + 16, sizeof(ret->msg)))));
	}
	th_buf_deinit(&said);
	th_buf_deinit(&line);
}

static void delay_next(struct th_mcp_process *p)
{
	uint64_t delay = TH_MCP_BACKOFF_MS;

	p->failures = p->answered ? 1 : p->failures + 1;
	for (int i = 1; i < p->failures && delay < TH_MCP_BACKOFF_MS_MAX; i++)
		delay *= 2;
	p->next_start_ms = th_clock_ms() + TH_MIN(delay, (uint64_t)TH_MCP_BACKOFF_MS_MAX);
}

static void over(struct th_mcp_process *p, const struct th_err *why)
{
	p->stage = STAGE_STOPPED;
	th_timer_stop(&p->timer);
	th_mcp_client_reset(&p->client);
	if (!p->spoke)
		p->client.era = p->era_given;
	th_buf_clear(&p->line);
	delay_next(p);
	lose_works(p, why);
}

static void on_exit_(void *ctx, const struct th_child_exit *e)
{
	struct th_mcp_process *p = (struct th_mcp_process *)ctx;
	struct th_err why = {};
	/* An older server may end when it is asked what it does not know: once more, as it knows
	 * it. */
	bool older =
	    p->stage == STAGE_STARTING && p->client.era == TH_MCP_ERA_UNKNOWN && !e->not_started;

	p->child = th_child_free(p->child);
	if (older) {
		p->client.era = TH_MCP_ERA_LEGACY;
		p->stage = STAGE_STOPPED;
		th_mcp_client_reset(&p->client);
		th_buf_clear(&p->line);
		process_start(p);
		return;
	}
	put_why(p, e, &why);
	over(p, &why);
}

/* Ends it; works are told when it has ended. */
static void doom(struct th_mcp_process *p, const struct th_err *why)
{
	if (p->stage == STAGE_DOOMED || p->stage == STAGE_STOPPED)
		return;
	p->stage = STAGE_DOOMED;
	p->why = *why;
	th_timer_stop(&p->timer);
	th_child_kill(p->child);
}

/* ---- what is said --------------------------------------------------------------------------- */

static void on_send(void *ctx, struct th_str message)
{
	struct th_mcp_process *p = (struct th_mcp_process *)ctx;
	struct th_err err = {};

	if (p->stage == STAGE_DOOMED || !p->child)
		return;
	th_buf_clear(&p->out);
	th_buf_add(&p->out, message);
	th_buf_add_char(&p->out, '\n');
	if (th_child_write(p->child, th_buf_str(&p->out), &err))
		doom(p, &err);
}

static void on_opened(void *ctx)
{
	struct th_mcp_process *p = (struct th_mcp_process *)ctx;

	th_timer_stop(&p->timer);
	p->stage = STAGE_READY;
	p->spoke = true;
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
};

static void take_line(struct th_mcp_process *p, struct th_str line)
{
	struct th_err err = {};

	if (p->stage == STAGE_DOOMED)
		return;
	if (th_mcp_client_take(&p->client, line, &err)) {
		th_prefix(&err, err.code, "the server %.*s", TH_FMT(p->name));
		doom(p, &err);
	}
}

static void on_output(void *ctx, enum th_child_stream stream, struct th_str bytes)
{
	struct th_mcp_process *p = (struct th_mcp_process *)ctx;
	struct th_err err = {};
	const char *end;

	if (stream == TH_CHILD_ERR) {
		th_clip_add(&p->said, bytes);
		return;
	}
	while (p->stage != STAGE_DOOMED && bytes.len &&
	       (end = (const char *)memchr(bytes.ptr, '\n', bytes.len))) {
		struct th_str piece = th_str_n(bytes.ptr, (size_t)(end - bytes.ptr));

		bytes = th_str_sub(bytes, piece.len + 1, bytes.len);
		if (!p->line.len) {
			take_line(p, piece);
			continue;
		}
		th_buf_add(&p->line, piece);
		if (p->line.failed)
			break;
		take_line(p, th_buf_str(&p->line));
		th_buf_clear(&p->line);
	}
	if (p->stage == STAGE_DOOMED)
		return;
	th_buf_add(&p->line, bytes);
	if (p->line.failed) {
		th_fail(&err, TH_ELIMIT, "the server %.*s sent a message of more than %zu bytes",
			TH_FMT(p->name), TH_MCP_LINE_MAX);
		th_buf_deinit(&p->line);
		doom(p, &err);
	}
}

/* ---- its start ------------------------------------------------------------------------------ */

static void on_timer(void *ctx)
{
	struct th_mcp_process *p = (struct th_mcp_process *)ctx;
	struct th_err err = {};

	if (p->stage == STAGE_STOPPED) {
		if (p->works)
			process_start(p);
		return;
	}
	if (p->stage != STAGE_STARTING)
		return;
	if (p->client.era == TH_MCP_ERA_UNKNOWN && th_mcp_client_silent(&p->client)) {
		th_timer_start(&p->timer, (uint64_t)p->start_ms, 0);
		return;
	}
	th_fail(&err, TH_ETIMEOUT, "the server %.*s did not answer within %lld s of its start",
		TH_FMT(p->name), (long long)(p->start_ms / 1000));
	doom(p, &err);
}

static void process_start(struct th_mcp_process *p)
{
	struct th_child_spec spec = {
		.argv = p->argv,
		.env = p->environment,
		.cwd = p->folder,
		.write_in = true,
		.sandbox = p->env->sandbox,
		.tree = true,
		.limits = { .processes = TH_COMMAND_PROCESSES_MAX },
		.on_output = on_output,
		.on_exit = on_exit_,
		.ctx = p,
	};
	bool unknown = p->client.era == TH_MCP_ERA_UNKNOWN;
	struct th_err err = {};

	p->answered = p->changed = false;
	p->why = (struct th_err){};
	th_clip_deinit(&p->said);
	th_clip_init(&p->said, TH_MCP_STDERR_MAX);
	if (th_child_start(p->env->loop, &spec, &p->child, &err)) {
		th_prefix(&err, err.code, "the server %.*s", TH_FMT(p->name));
		over(p, &err);
		return;
	}
	p->stage = STAGE_STARTING;
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
	if (p->stage == STAGE_READY)
		begin_works(p);
	else if (p->stage == STAGE_STOPPED && now >= p->next_start_ms)
		process_start(p);
	else if (p->stage == STAGE_STOPPED && !th_timer_running(&p->timer))
		th_timer_start(&p->timer, p->next_start_ms - now, 0);
}

enum th_code th_mcp_process_ask(struct th_mcp_process *p, struct th_mcp_work *w, const char *method,
				struct th_str params, struct th_err *err)
{
	if (p->stage != STAGE_READY)
		return th_fail(err, TH_ECONN, "the server %.*s has ended", TH_FMT(p->name));
	return th_mcp_client_request(&p->client, method, params, w, err);
}

void th_mcp_process_remove(struct th_mcp_process *p, struct th_mcp_work *w, const char *reason)
{
	if (reason && w->begun)
		th_mcp_client_cancel(&p->client, w, reason);
	work_take(p, w);
}

/* ---- the list of them ----------------------------------------------------------------------- */

static const char **copy_list(struct th_arena *a, const char *const *before,
			      const struct th_strs *list)
{
	const char **ret;
	size_t n = 0;

	while (before && before[n])
		n++;
	ret = (const char **)th_arena_array(a, n + list->count + 1, sizeof(*ret));
	for (size_t i = 0; ret && i < n; i++) {
		ret[i] = th_arena_cstr(a, th_str_of(before[i]));
		if (!ret[i])
			return NULL;
	}
	for (size_t i = 0; ret && i < list->count; i++) {
		ret[n + i] = th_arena_cstr(a, list->list[i]);
		if (!ret[n + i])
			return NULL;
	}
	return ret;
}

static struct th_digest digest_of(const struct th_mcp_process_spec *s)
{
	struct th_buf text = TH_BUF_INIT(TH_FRAME_JSON_MAX);
	const struct th_strs *lists[] = { &s->argv, &s->environment };
	struct th_jw w = th_jw(&text);
	struct th_digest ret;

	th_jw_array(&w);
	th_jw_str(&w, s->name);
	th_jw_int(&w, s->era);
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
	th_timer_stop(&p->timer);
	th_child_free(p->child);
	th_mcp_client_deinit(&p->client);
	th_clip_deinit(&p->said);
	th_buf_deinit(&p->line);
	th_buf_deinit(&p->out);
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

	p->env = env;
	p->start_ms = spec->start_ms;
	p->era_given = spec->era;
	th_arena_init(&p->memory, TH_MIB);
	th_buf_init(&p->line, TH_MCP_LINE_MAX);
	th_buf_init(&p->out, TH_MCP_LINE_MAX + 1);
	th_clip_init(&p->said, TH_MCP_STDERR_MAX);
	th_timer_init(&p->timer, env->loop, on_timer, p);
	th_mcp_client_init(&p->client, &client_ops, p, spec->era, env->workspace);
	p->name = th_arena_str(&p->memory, spec->name);
	p->argv = copy_list(&p->memory, NULL, &spec->argv);
	p->environment = copy_list(&p->memory, env->environment, &spec->environment);
	p->folder = th_arena_cstr(&p->memory, env->workspace);
	if (!p->name.ptr || !p->argv || !p->environment || !p->folder) {
		process_free(p);
		return th_fail(err, TH_EUSAGE,
			       "the server's command or environment is too long, or holds a NUL "
			       "byte");
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
