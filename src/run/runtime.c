/* SPDX-License-Identifier: Apache-2.0 */
#include "run/runtime.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "core/trace.h"
#include "io/clock.h"
#include "io/fetch.h"
#include "models/human.h"
#include "run/choices.h"
#include "run/executor_client.h"
#include "run/otlp.h"
#include "run/person.h"
#include "run/registry.h"
#include "run/script_code.h"

#define RANDOM_POOL 1024

/* A session of the runtime: what the driver borrows, and its executor. */
struct session {
	struct th_runtime *rt;
	struct session *prev, *next;
	struct th_arena memory; /* agent, tools, strings */
	struct th_agent agent;
	struct th_outfit outfit;
	struct th_script_code script; /* of the agent; outfit.codes points into it */
	struct th_str id, user, metadata;
	struct th_session_row row;   /* of a stored session */
	struct th_tool_row computer; /* of this process, where computer.local is set */
	bool stored, ended;
	bool screen_first; /* found while it was read: its computer has to be there before */
	struct th_observer observer; /* the driver's: the caller's, or ours in front of it */
	struct th_observer watcher;  /* the caller's, where traces are sent */
	th_ready_fn *ready;
	void *ready_ctx;
	struct th_handle handle; /* {0, 0}: not with the driver yet */
	struct th_executor *executor;
	bool greeting, unavailable; /* intents wait for the executor; are told that it is not */
	struct th_err *no_executor; /* why; NULL: there always was one */
	struct th_timer timer;
	struct th_ticket timer_ticket;
	struct th_codes codes;
	struct th_choices choices;
	struct th_choices **members; /* of the other agents: each server gets its own key */
	struct model_call *calls;
};

/* A model request in the hands of the fetcher. */
struct model_call {
	struct model_call *next;
	struct session *session;
	struct th_ticket ticket;
	struct th_fetch_id id;
	struct th_retry_hints hints;
};

/* An effect in the hands of the executor. */
struct tool_call {
	struct session *session;
	struct th_handle handle;
	struct th_ticket ticket;
	struct th_executor_id id;
	struct tool_call *next;
};

struct th_runtime {
	struct th_loop *loop;
	bool own_loop;
	struct th_fetcher *fetcher;
	struct th_otlp *otlp;     /* NULL: traces are sent nowhere */
	struct th_person *person; /* who plays human/human */
	struct th_store *store;
	const struct th_config *config;
	struct th_driver *driver;
	struct th_deferred flush;
	struct session *sessions;
	struct session **by_index; /* by the driver's handle index */
	size_t by_index_cap;
	struct tool_call *tool_calls;
	struct th_tool_row *tools;
	size_t tool_count;
	struct th_schemas schemas;
	char *program;
	struct th_buf scope; /* what the store is called: executors are found by it */
	bool no_sandbox, settling, failed;
	bool executors; /* there was one */
	struct th_err failure;
	uint8_t random[RANDOM_POOL];
	size_t random_left;
};

static struct session *session_of(struct th_runtime *rt, uint32_t index, uint32_t generation)
{
	struct session *s = index < rt->by_index_cap ? rt->by_index[index] : NULL;

	return s && s->handle.generation == generation ? s : NULL;
}

/* ---- the world: time, chance, store ------------------------------------------------------- */

static int64_t world_now(void *ctx)
{
	(void)ctx;
	return (int64_t)th_clock_wall_ms();
}

/* Ids, not secrets: drawn from the kernel a page at a time. */
static void world_random(void *ctx, void *ptr, size_t len)
{
	struct th_runtime *rt = ctx;

	assert(len <= RANDOM_POOL);
	if (rt->random_left < len) {
		th_random(rt->random, RANDOM_POOL);
		rt->random_left = RANDOM_POOL;
	}
	memcpy(ptr, rt->random + RANDOM_POOL - rt->random_left, len);
	rt->random_left -= len;
}

static void on_flush(void *ctx)
{
	struct th_runtime *rt = ctx;

	th_driver_flush(rt->driver);
}

static void world_flush_soon(void *ctx)
{
	struct th_runtime *rt = ctx;

	th_loop_defer(rt->loop, &rt->flush);
}

static void on_timer(void *ctx)
{
	struct session *s = ctx;

	th_driver_timer(s->rt->driver, s->timer_ticket);
}

static void world_timer(void *ctx, struct th_ticket t, int64_t delay_ms)
{
	struct session *s = session_of(ctx, t.index, t.generation);

	if (!s)
		return;
	s->timer_ticket = t;
	th_timer_init(&s->timer, s->rt->loop, on_timer, s);
	th_timer_start(&s->timer, (uint64_t)delay_ms, 0);
}

struct commit {
	struct th_runtime *rt;
	th_commit_fn *done;
	void *ctx;
};

static void on_committed(void *ctx, struct th_batch *batch, enum th_code code,
			 const struct th_err *err)
{
	struct commit *c = ctx;
	struct th_runtime *rt = c->rt;

	c->done(c->ctx, batch, code, err);
	free(c);
	th_person_committed(rt->person);
	if (rt->settling && th_driver_idle(rt->driver))
		th_loop_stop(rt->loop);
}

static void world_commit(void *ctx, struct th_batch *batch, th_commit_fn *done, void *done_ctx)
{
	struct th_runtime *rt = ctx;
	struct commit *c = th_alloc(sizeof(*c));

	*c = (struct commit){ rt, done, done_ctx };
	rt->store->kind->commit(rt->store, batch, on_committed, c);
}

static enum th_code world_blob(void *ctx, const struct th_digest *hash, struct th_buf *out,
			       struct th_err *err)
{
	struct th_runtime *rt = ctx;

	return rt->store->kind->blob(rt->store, hash, out, err);
}

static enum th_code world_read(void *ctx, struct th_str session_id, uint64_t from, uint64_t to,
			       th_event_fn *fn, void *fn_ctx, struct th_err *err)
{
	struct th_runtime *rt = ctx;

	return rt->store->kind->read(rt->store, session_id, from, to, fn, fn_ctx, err);
}

static void world_fatal(void *ctx, const struct th_err *err)
{
	struct th_runtime *rt = ctx;

	rt->failed = true;
	rt->failure = *err;
}

/* ---- the world: models -------------------------------------------------------------------- */

static bool on_head(void *ctx, const struct th_fetch_head *head)
{
	struct model_call *c = ctx;

	c->hints = (struct th_retry_hints){ head->retry_after_ms, head->should_retry };
	return true;
}

static bool on_data(void *ctx, struct th_str bytes)
{
	struct model_call *c = ctx;

	return th_driver_model_data(c->session->rt->driver, c->ticket, bytes);
}

static enum th_failure failure_of(enum th_fetch_end end)
{
	switch (end) {
	case TH_FETCH_CONNECT:
	case TH_FETCH_TLS:
		return TH_FAILURE_CONNECT;
	case TH_FETCH_TIMEOUT_CONNECT:
	case TH_FETCH_TIMEOUT_BYTE:
	case TH_FETCH_TIMEOUT_EVENT:
	case TH_FETCH_TIMEOUT_TOTAL:
		return TH_FAILURE_TIMEOUT;
	case TH_FETCH_CUT:
		return TH_FAILURE_CUT;
	case TH_FETCH_LIMIT:
	case TH_FETCH_CANCELLED: /* the decoder said stop: a maximum was passed */
		return TH_FAILURE_LIMIT;
	case TH_FETCH_PROTOCOL:
		return TH_FAILURE_MALFORMED;
	case TH_FETCH_OK:
	case TH_FETCH_STATUS:
	case TH_FETCH_END_COUNT:
		break;
	}
	return TH_FAILURE_MALFORMED;
}

static void model_call_drop(struct model_call *c)
{
	struct model_call **at = &c->session->calls;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	free(c);
}

static struct model_call *model_call_find(struct th_runtime *rt, struct th_ticket t)
{
	struct session *s = session_of(rt, t.index, t.generation);
	struct model_call *c = s ? s->calls : NULL;

	while (c && c->ticket.seq != t.seq)
		c = c->next;
	return c;
}

static void on_done(void *ctx, const struct th_fetch_result *r)
{
	struct model_call *c = ctx;
	struct session *s = c->session;
	struct th_ticket ticket = c->ticket;
	struct th_model_end end = {
		.http_status = r->head.status,
		.ok = r->end == TH_FETCH_OK,
		.status_only = r->end == TH_FETCH_STATUS,
		.failure = failure_of(r->end),
		.message = r->end == TH_FETCH_CANCELLED
			       ? TH_STR("the answer is larger than allowed")
			       : th_str_of(r->err.msg),
		.hints = c->hints,
	};

	model_call_drop(c);
	th_driver_model_done(s->rt->driver, ticket, &end);
}

static int64_t deadline_ms(int64_t seconds, int64_t otherwise_ms)
{
	return seconds > 0 ? seconds * 1000 : otherwise_ms;
}

/* "name: value\n" lines; names are copied to `names`, where each ends with a zero. */
static size_t wire_headers(struct th_str lines, struct th_fetch_header *list, struct th_buf *names)
{
	size_t starts[TH_MODEL_HEADERS_MAX], count = 0;

	while (lines.len && count < TH_MODEL_HEADERS_MAX) {
		struct th_str line = th_str_split(&lines, '\n');

		starts[count] = names->len;
		th_buf_add(names, th_str_split(&line, ':'));
		th_buf_add_char(names, '\0');
		list[count++].value = th_str_trim(line);
	}
	for (size_t i = 0; i < count; i++)
		list[i].name = names->ptr + starts[i];
	return count;
}

static enum th_code world_model_call(void *ctx, struct th_ticket t,
				     const struct th_model_call *call, struct th_err *err)
{
	struct th_runtime *rt = ctx;
	struct session *s = session_of(rt, t.index, t.generation);
	const struct th_wire *wire = call->profile->wire;
	struct th_str base = call->base_url;
	int64_t idle =
	    deadline_ms(call->settings ? call->settings->idle_seconds : 0, TH_MODEL_IDLE_MS);
	int64_t most =
	    deadline_ms(call->settings ? call->settings->total_seconds : 0, TH_MODEL_TOTAL_MS);
	/* A task that is out of time has its last moment to hear so. */
	int64_t left = TH_MAX(call->total_ms_max, (int64_t)1);
	int64_t total = call->total_ms_max < 0 ? most : TH_MIN(most, left);
	struct th_fetch_header headers[3 + TH_MODEL_HEADERS_MAX] = {
		{ "Content-Type", TH_STR("application/json") },
		{ "Accept",
		  call->stream ? TH_STR("text/event-stream") : TH_STR("application/json") },
		{ "User-Agent", TH_STR("thole/" TH_VERSION) },
	};
	const struct th_choices *choices = call->agent ? s->members[call->agent - 1] : &s->choices;
	bool bearer = strcmp(wire->key_header, "Authorization") == 0;
	struct th_fetch_request r = {
		.method = call->get ? "GET" : "POST",
		.headers = headers,
		.header_count = 3,
		.secret = call->grounder ? choices->keys[call->model_at].grounder
					 : choices->keys[call->model_at].model,
		.secret_header = bearer ? NULL : wire->key_header,
		.body = call->body,
		.body_count = call->body_count,
		.connect_ms = TH_MODEL_CONNECT_MS,
		.byte_idle_ms = (uint64_t)idle,
		.event_idle_ms = call->stream ? (uint64_t)idle : 0,
		.total_ms = (uint64_t)total,
		.on_head = on_head,
		.on_data = on_data,
		.on_done = on_done,
	};
	struct model_call *c;
	struct th_buf url, names;
	enum th_code code;

	if (wire == &th_wire_human)
		return th_person_ask(rt->person, t, s->id, call, err);
	assert(s && !model_call_find(rt, t));
	c = th_alloc(sizeof(*c));
	*c = (struct model_call){ .session = s, .ticket = t, .hints = { -1, -1 } };
	r.ctx = c;
	th_buf_init(&names, TH_REQUEST_HEAD_MAX);
	r.header_count += wire_headers(call->headers, headers + r.header_count, &names);
	th_buf_init(&url, TH_REQUEST_HEAD_MAX);
	while (th_str_ends(base, TH_STR("/")))
		base.len--;
	/* Some say where an API is with its version, some without. */
	if (th_str_ends(base, TH_STR("/v1")) && th_str_starts(call->path, TH_STR("/v1/")))
		base.len -= strlen("/v1");
	th_buf_add(&url, base);
	th_buf_add(&url, call->path);
	r.url = th_buf_str(&url);
	code = th_buf_check(&url, "the model's URL", err);
	if (!code)
		code = th_fetch_start(rt->fetcher, &r, &c->id, err);
	th_buf_deinit(&url);
	th_buf_deinit(&names);
	if (code) {
		free(c);
		return code;
	}
	c->next = s->calls;
	s->calls = c;
	return TH_OK;
}

static void world_model_alive(void *ctx, struct th_ticket t)
{
	struct th_runtime *rt = ctx;
	struct model_call *c = model_call_find(rt, t);

	if (c)
		th_fetch_alive(rt->fetcher, c->id);
}

static void world_model_cancel(void *ctx, struct th_ticket t)
{
	struct th_runtime *rt = ctx;
	struct model_call *c = model_call_find(rt, t);

	if (th_person_cancel(rt->person, t) || !c)
		return;
	th_fetch_cancel(rt->fetcher, c->id);
	model_call_drop(c);
}

/* ---- the world: a person in a model's place ------------------------------------------------ */

static bool on_person_data(void *ctx, struct th_ticket t, struct th_str bytes)
{
	struct th_runtime *rt = ctx;

	return th_driver_model_data(rt->driver, t, bytes);
}

static void on_person_done(void *ctx, struct th_ticket t, const struct th_model_end *end)
{
	struct th_runtime *rt = ctx;

	th_driver_model_done(rt->driver, t, end);
}

static int is_person_durable(void *ctx, struct th_ticket t)
{
	struct th_runtime *rt = ctx;

	return th_driver_answered(rt->driver, t);
}

static void on_person_left(void *ctx, struct th_ticket t)
{
	struct th_runtime *rt = ctx;
	struct th_handle h = { t.index, t.generation };
	struct th_err err;
	struct th_model_end end = { .failure = TH_FAILURE_REJECTED, .hints = { -1, -1 } };

	if (!th_driver_set_state(rt->driver, h, TH_STATE_PAUSED,
				 TH_STR("the person who plays the model left"), &err))
		return;
	end.message = th_str_of(err.msg);
	th_driver_model_done(rt->driver, t, &end);
}

/* ---- the world: effects ------------------------------------------------------------------- */

static struct th_executor_options executor_options(const struct session *s, int64_t epoch)
{
	const struct th_runtime *rt = s->rt;
	const struct th_agent *a = &s->agent;
	const struct th_agent_computer *pc = a->computer;
	struct th_executor_options o = {
		.session = s->id,
		.scope = th_buf_str(&rt->scope),
		.epoch = epoch,
		.workspace = a->workspace,
		.net_host = a->net == TH_NET_HOST,
		.environment = a->environment.list,
		.environment_count = a->environment.count,
		.command_ms_max = a->limits ? a->limits->command_seconds * 1000 : 0,
		.linger_ms = rt->config ? rt->config->executor_linger_s * 1000 : 0,
		.no_sandbox = rt->no_sandbox,
		.program = rt->program,
	};

	if (pc) {
		o.computer = pc->kind;
		o.size = (struct th_size){ (int32_t)pc->width, (int32_t)pc->height };
		o.display = pc->display.len ? pc->display : th_str_of(getenv("DISPLAY"));
		o.xauthority = th_str_of(getenv("XAUTHORITY"));
		o.parser = pc->parser;
		o.start = pc->start.list;
		o.start_count = pc->start.count;
	}
	return o;
}

static enum th_code executor_need(struct session *s, int64_t epoch, struct th_err *err)
{
	struct th_executor_options o = executor_options(s, epoch);

	s->rt->executors = true;
	return s->executor ? TH_OK : th_executor_new(s->rt->loop, &o, &s->executor, err);
}

/* One that does not answer ends itself when nobody comes back, so a failure is nobody's to mend. */
static void executor_end(const struct session *s, int64_t epoch)
{
	struct th_executor_options o = executor_options(s, epoch);
	struct th_err err;
	enum th_code code;

	o.only_running = true;
	code = th_executor_end_once(&o, &err);
	(void)code;
}

static void tool_call_drop(struct th_runtime *rt, struct tool_call *c)
{
	struct tool_call **at = &rt->tool_calls;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	free(c);
}

static void on_progress(void *ctx, uint64_t offset, struct th_str bytes)
{
	const struct tool_call *c = ctx;

	(void)offset;
	th_driver_tool_progress(c->session->rt->driver, c->ticket, bytes);
}

static void on_finished(void *ctx, const struct th_executor_result *r)
{
	struct tool_call *c = ctx;
	struct th_runtime *rt = c->session->rt;
	struct th_ticket ticket = c->ticket;
	struct th_tool_result result = {
		.status = r->status,
		.output = r->output,
		.evidence = r->evidence,
		.blob_count = r->blob_count,
		.elapsed_ms = r->elapsed_ms,
	};
	struct th_blob *blobs = NULL;

	tool_call_drop(rt, c);
	if (r->blob_count > 0)
		blobs = th_alloc(r->blob_count * sizeof(*blobs));
	for (size_t i = 0; i < r->blob_count; i++)
		blobs[i] =
		    (struct th_blob){ r->blobs[i].hash, r->blobs[i].media_type, r->blobs[i].bytes };
	result.blobs = blobs;
	th_driver_tool_done(rt->driver, ticket, &result);
	free(blobs);
}

static void not_started(struct th_runtime *rt, struct th_ticket t, const struct th_err *why)
{
	struct th_buf text, output;
	struct th_jw w;
	struct th_tool_result result = { .status = TH_OUTCOME_NOT_STARTED };

	th_buf_init(&text, 4 * TH_KIB);
	th_buf_init(&output, 16 * TH_KIB);
	th_buf_printf(&text, "This was not started: %s.", why->msg);
	w = th_jw(&output);
	th_jw_str(&w, th_buf_str(&text));
	result.output = th_buf_str(&output);
	th_driver_tool_done(rt->driver, t, &result);
	th_buf_deinit(&text);
	th_buf_deinit(&output);
}

/* Few sessions ever need the room. */
static void without_executor(struct session *s, const struct th_err *why)
{
	if (!s->no_executor)
		s->no_executor = th_alloc(sizeof(*s->no_executor));
	*s->no_executor = *why;
}

/* Without one, those that wait are intended all the same, and world_tool_run says why they are not
 * started; the next ones try again. */
static void on_greeted(void *ctx, const struct th_executor_info *info, const struct th_err *err)
{
	struct session *s = ctx;
	struct th_ticket t = { s->handle.index, s->handle.generation, 0 };

	s->greeting = false;
	s->unavailable = !info;
	if (!info)
		without_executor(s, err);
	th_driver_tool_ready(s->rt->driver, t);
	s->unavailable = false;
}

static bool world_tool_ready(void *ctx, struct th_ticket t, struct th_str *ret_journal)
{
	struct th_runtime *rt = ctx;
	struct session *s = session_of(rt, t.index, t.generation);
	struct th_err why = { 0 };

	assert(s);
	*ret_journal = TH_STR("");
	if (s->unavailable)
		return true;
	if (executor_need(s, s->stored ? s->row.epoch : 1, &why)) {
		without_executor(s, &why);
		return true;
	}
	*ret_journal = th_executor_journal(s->executor);
	if (ret_journal->len > 0)
		return true;
	if (!s->greeting)
		th_executor_ready(s->executor, false, on_greeted, s);
	s->greeting = true;
	return false;
}

static void world_tool_run(void *ctx, struct th_ticket t, const struct th_tool_call *call,
			   bool settle)
{
	struct th_runtime *rt = ctx;
	struct session *s = session_of(rt, t.index, t.generation);
	struct th_executor_call x = {
		.effect_id = call->effect_id,
		.class = call->class,
		.tool = call->tool,
		.arguments = call->arguments,
		.digest = call->digest,
		.timeout_ms = call->timeout_ms,
		.epoch = call->epoch,
		.journal = call->journal,
	};
	/* Output is sent through the executor's socket only where it is shown. */
	bool shown = th_str_is(call->tool, "command") && s && s->observer.progress;
	struct th_executor_handlers h = { .on_finished = on_finished,
					  .on_output = shown ? on_progress : NULL };
	struct tool_call *c;
	struct th_err err = { 0 };

	assert(s);
	if (executor_need(s, s->stored ? s->row.epoch : 1, &err)) {
		not_started(rt, t, &err);
		return;
	}
	/* No journal is to hold it: it was intended although there was no executor. */
	if (!settle && call->class != TH_CLASS_R && call->journal.len == 0) {
		th_fail(&err, TH_EIO, "%s",
			s->no_executor ? s->no_executor->msg : "there is no executor");
		not_started(rt, t, &err);
		return;
	}
	c = th_alloc(sizeof(*c));
	*c = (struct tool_call){
		.session = s, .handle = s->handle, .ticket = t, .next = rt->tool_calls
	};
	rt->tool_calls = c;
	h.ctx = c;
	if (settle && call->class != TH_CLASS_R)
		c->id = th_executor_attach(s->executor, &x, 0, &h);
	else
		c->id = th_executor_run(s->executor, &x, &h);
}

static void world_tool_cancel(void *ctx, struct th_ticket t)
{
	struct th_runtime *rt = ctx;

	for (struct tool_call *c = rt->tool_calls; c; c = c->next)
		if (c->ticket.index == t.index && c->ticket.generation == t.generation &&
		    c->ticket.seq == t.seq) {
			th_executor_cancel(c->session->executor, c->id);
			return;
		}
}

static void world_tool_forget(void *ctx, struct th_str session_id, const struct th_str *effect_ids,
			      size_t count)
{
	struct th_runtime *rt = ctx;

	/* Tools that are functions of this process need none, and there may be thousands. */
	for (struct session *s = rt->executors ? rt->sessions : NULL; s; s = s->next)
		if (s->executor && th_str_eq(s->id, session_id))
			th_executor_forget(s->executor, effect_ids, count);
}

static const struct th_world_ops world_ops = {
	.now_ms = world_now,
	.random = world_random,
	.flush_soon = world_flush_soon,
	.timer = world_timer,
	.commit = world_commit,
	.blob = world_blob,
	.read = world_read,
	.model_call = world_model_call,
	.model_alive = world_model_alive,
	.model_cancel = world_model_cancel,
	.tool_ready = world_tool_ready,
	.tool_run = world_tool_run,
	.tool_cancel = world_tool_cancel,
	.tool_forget = world_tool_forget,
	.fatal = world_fatal,
};

/* ---- runtimes ----------------------------------------------------------------------------- */

static void person_new(struct th_runtime *rt, const struct th_runtime_options *options,
		       int person_in)
{
	struct th_person_options o = {
		.loop = rt->loop,
		.in_fd = person_in,
		.out_fd = options->person_out,
		.data = on_person_data,
		.done = on_person_done,
		.durable = is_person_durable,
		.left = on_person_left,
		.ctx = rt,
	};

	rt->person = th_person_new(&o);
}

enum th_code th_runtime_new(const struct th_runtime_options *options, struct th_runtime **ret,
			    struct th_err *err)
{
	struct th_runtime *rt = th_alloc(sizeof(*rt));
	struct th_world world = { &world_ops, rt };
	struct th_store_options so = {
		.create = options->store_create,
		.read_only = options->store_read_only,
	};
	/* Before anything is opened that could get the number of a closed descriptor. */
	bool person = options->person && th_person_behind(options->person_in);
	int person_in = person ? options->person_in : -1;
	enum th_code code = TH_OK;

	rt->loop = options->loop;
	th_arena_init(&rt->schemas.memory, TH_JSON_SIZE_MAX);
	rt->config = options->config;
	rt->no_sandbox = options->no_sandbox;
	rt->program = options->program ? strdup(options->program) : NULL;
	rt->flush = (struct th_deferred){ .fn = on_flush, .ctx = rt };
	if (!rt->loop) {
		code = th_loop_new(&rt->loop, err);
		rt->own_loop = !code;
	}
	so.loop = rt->loop;
	if (!code)
		code = th_store_open(options->store_url, &so, &rt->store, err);
	th_buf_init(&rt->scope, 2 * TH_PATH_LEN_MAX);
	if (!code)
		code = th_store_scope(options->store_url, &rt->scope, err);
	if (!code)
		code = th_fetcher_new(rt->loop, &rt->fetcher, err);
	if (!code && rt->config && rt->config->otlp.len && !options->store_read_only) {
		const struct th_otlp_options oo = { .url = rt->config->otlp,
						    .header = rt->config->otlp_header,
						    .secret = rt->config->otlp_secret };

		code = th_otlp_new(rt->loop, rt->fetcher, &oo, &rt->otlp, err);
	}
	if (!code)
		person_new(rt, options, person_in);
	rt->driver = th_driver_new(&world, TH_STR(TH_VERSION));
	if (!rt->driver && !code)
		code = th_fail_memory(err);
	if (code)
		rt = th_runtime_free(rt);
	*ret = rt;
	return code;
}

static struct session *session_new(struct th_runtime *rt)
{
	struct session *s = th_alloc(sizeof(*s));

	s->rt = rt;
	s->next = rt->sessions;
	if (s->next)
		s->next->prev = s;
	rt->sessions = s;
	th_arena_init(&s->memory, 4 * TH_CONFIG_SIZE_MAX);
	return s;
}

static void session_free(struct session *s)
{
	struct th_runtime *rt = s->rt;

	for (struct tool_call *c = rt->tool_calls, *next; c; c = next) {
		next = c->next;
		if (c->session == s)
			tool_call_drop(rt, c);
	}
	if (s->timer.loop)
		th_timer_stop(&s->timer);
	s->executor = th_executor_free(s->executor);
	free(s->no_executor);
	if (s->prev)
		s->prev->next = s->next;
	else
		rt->sessions = s->next;
	if (s->next)
		s->next->prev = s->prev;
	if (s->handle.generation)
		rt->by_index[s->handle.index] = NULL;
	th_arena_deinit(&s->memory);
	free(s);
}

struct th_runtime *th_runtime_free(struct th_runtime *rt)
{
	struct th_err err;

	if (!rt)
		return NULL;
	while (rt->sessions) {
		struct session *s = rt->sessions;

		if (s->handle.generation)
			th_runtime_close(rt, s->handle, false);
		else
			session_free(s);
	}
	if (rt->loop && rt->store && !rt->failed && th_runtime_settle(rt, &err))
		rt->failed = true;
	th_loop_undefer(rt->loop, &rt->flush);
	rt->person = th_person_free(rt->person);
	if (rt->otlp && rt->own_loop)
		th_otlp_drain(rt->otlp, TH_OTLP_END_MS);
	rt->otlp = th_otlp_free(rt->otlp);
	rt->fetcher = th_fetcher_free(rt->fetcher);
	rt->store = th_store_close(rt->store);
	rt->driver = th_driver_free(rt->driver);
	if (rt->own_loop)
		rt->loop = th_loop_free(rt->loop);
	free(rt->by_index);
	th_arena_deinit(&rt->schemas.memory);
	free(rt->tools);
	free(rt->program);
	th_buf_deinit(&rt->scope);
	free(rt);
	return NULL;
}

void th_runtime_freep(struct th_runtime **rt)
{
	*rt = th_runtime_free(*rt);
}

struct th_loop *th_runtime_loop(struct th_runtime *rt)
{
	return rt->loop;
}

struct th_store *th_runtime_store(struct th_runtime *rt)
{
	return rt->store;
}

struct th_driver *th_runtime_driver(struct th_runtime *rt)
{
	return rt->driver;
}

enum th_code th_runtime_tool(struct th_runtime *rt, const struct th_tool_row *row,
			     struct th_err *err)
{
	if (rt->tool_count == TH_AGENT_TOOLS_MAX)
		return th_fail(err, TH_ELIMIT, "a runtime has at most %d tools of its own",
			       TH_AGENT_TOOLS_MAX);
	rt->tools = th_realloc(rt->tools, (rt->tool_count + 1) * sizeof(*rt->tools));
	rt->tools[rt->tool_count++] = *row;
	return TH_OK;
}

const struct th_err *th_runtime_failure(const struct th_runtime *rt)
{
	return rt->failed ? &rt->failure : NULL;
}

enum th_code th_runtime_settle(struct th_runtime *rt, struct th_err *err)
{
	rt->settling = true;
	while (!rt->failed && !th_driver_idle(rt->driver))
		th_loop_run(rt->loop);
	rt->settling = false;
	if (!rt->failed)
		return TH_OK;
	*err = rt->failure;
	return rt->failure.code;
}

/* ---- sessions ----------------------------------------------------------------------------- */

struct first_event {
	struct th_arena *a;
	struct th_agent *agent;
	bool found;
};

static enum th_code read_created(void *ctx, const struct th_event *ev,
				 const struct th_digest *digest, struct th_err *err)
{
	struct first_event *f = ctx;
	struct th_ev_session_created d;
	struct th_json_doc *doc = NULL;
	struct th_agent parsed;
	enum th_code code;

	(void)digest;
	if (ev->kind != TH_EV_SESSION_CREATED)
		return th_fail(err, TH_ECORRUPT, "the log does not begin with session_created");
	code = th_json_parse(ev->data, &doc, err);
	if (!code)
		code = th_table_parse_plain(&th_ev_session_created_table, th_json_root(doc), f->a,
					    &d, err);
	if (!code)
		code = th_table_parse(&th_agent_table, th_json_get(th_json_root(doc), "agent"),
				      f->a, &parsed, err);
	if (!code && !parsed.model.len)
		parsed.model = d.model;
	if (!code && !parsed.workspace.len)
		parsed.workspace = d.workspace;
	if (!code)
		code = th_agent_copy(&parsed, f->a, f->agent, err);
	th_json_free(doc);
	f->found = !code;
	return code;
}

enum th_code th_runtime_stored_agent(struct th_runtime *rt, struct th_str session_id,
				     struct th_arena *a, struct th_agent *ret, struct th_err *err)
{
	struct first_event f = { a, ret, false };
	enum th_code code =
	    rt->store->kind->read(rt->store, session_id, 1, 1, read_created, &f, err);

	if (!code && !f.found)
		code = th_fail(err, TH_ECORRUPT, "session %.*s has no first event",
			       TH_FMT(session_id));
	return code;
}

static enum th_code outfit_computer(struct session *s, const struct th_start *start,
				    struct th_err *err)
{
	const struct th_agent_computer *pc = s->agent.computer;

	s->outfit.has_computer = pc != NULL;
	if (!pc || !th_str_is(pc->kind, TH_COMPUTER_CUSTOM))
		return TH_OK;
	if (!start || !start->computer)
		return th_fail(
		    err, TH_EUSAGE,
		    "its computer is a part of the program that began the session, which "
		    "only that program can open");
	s->computer = *start->computer;
	s->outfit.computer = &s->computer;
	s->outfit.screen = (struct th_size){ (int32_t)pc->width, (int32_t)pc->height };
	return TH_OK;
}

static enum th_code outfit_tools(struct session *s, const struct th_start *start,
				 const struct th_agent *agent, struct th_outfit *o,
				 struct th_err *err)
{
	struct th_runtime *rt = s->rt;
	size_t own = start ? start->tool_count : 0, count = own + rt->tool_count;
	struct th_tool_row *rows = rt->tools, *mine = NULL;
	enum th_code code;

	if (own > 0) {
		rows = th_alloc(count * sizeof(*rows));
		memcpy(rows, start->tools, own * sizeof(*rows));
		if (rt->tool_count > 0)
			memcpy(rows + own, rt->tools, rt->tool_count * sizeof(*rows));
	}
	code = th_registry_rows(agent, rows, count, &rt->schemas, &s->memory, &mine, &o->tool_count,
				err);
	if (!code)
		code = th_script_code_bind(s->script.source.len ? &s->script : NULL, mine,
					   o->tool_count, &s->memory, err);
	o->tools = mine;
	if (own > 0)
		free(rows);
	return code;
}

/* What it does not say itself is as with the agent that begins: they share a place and a screen. */
static enum th_code outfit_member(struct session *s, const struct th_start *start,
				  struct th_agent *agent, size_t index, struct th_outfit *o,
				  struct th_err *err)
{
	struct th_choices *choices;
	enum th_code code;

	if (!agent->model.len)
		agent->model = s->agent.model;
	if (!agent->base_url.len)
		agent->base_url = s->agent.base_url;
	if (!agent->workspace.len)
		agent->workspace = s->agent.workspace;
	agent->environment = s->agent.environment;
	agent->net = s->agent.net;
	*o = s->outfit;
	o->agent = agent;
	o->has_computer = s->outfit.has_computer && agent->computer;
	choices = TH_NEW(&s->memory, struct th_choices);
	if (!choices)
		return th_fail(err, TH_ELIMIT, "the agents take too much memory");
	code = th_choices_of(s->rt->config, s->rt->person, agent, &s->memory, choices, err);
	if (code)
		return code;
	o->first = choices->list[0];
	o->fallback = choices->list + 1;
	s->members[index] = choices;
	return outfit_tools(s, start, agent, o, err);
}

/* The other agents of the team, by the definition that the log has, too. */
static enum th_code outfit_team(struct session *s, const struct th_start *start, struct th_err *err)
{
	struct th_buf text;
	struct th_json_doc *doc = NULL;
	const struct th_team *team;
	struct th_outfit *members = NULL;
	struct th_jw w;
	enum th_code code;

	if (!s->agent.agents.len)
		return TH_OK;
	th_buf_init(&text, TH_EVENT_DATA_MAX);
	w = th_jw(&text);
	th_table_print(&th_agent_table, &s->agent, &w);
	code = th_json_parse(th_buf_str(&text), &doc, err);
	th_buf_deinit(&text);
	if (!code)
		code = th_team_resolve(th_json_root(doc), &s->memory, &team, err);
	if (!code) {
		members = th_arena_array(&s->memory, team->count, sizeof(*members));
		s->members = th_arena_array(&s->memory, team->count, sizeof(struct th_choices *));
		if (!members || !s->members)
			code = th_fail(err, TH_ELIMIT, "the agents take too much memory");
	}
	for (size_t i = 1; !code && i < team->count; i++) {
		struct th_agent parsed, *agent = TH_NEW(&s->memory, struct th_agent);

		if (!agent)
			code = th_fail(err, TH_ELIMIT, "the agents take too much memory");
		if (!code)
			code = th_team_agent(th_json_root(doc), i, &s->memory, &parsed, err);
		if (!code)
			code = th_agent_copy(&parsed, &s->memory, agent, err);
		if (!code)
			code = outfit_member(s, start, agent, i - 1, &members[i - 1], err);
		if (code)
			code = th_prefix(err, code, "agent %.*s", TH_FMT(team->members[i].name));
		else
			s->outfit.member_count = i;
	}
	s->outfit.members = members;
	th_json_free(doc);
	return code;
}

/* Models, keys and tools: everything that can be wrong before anything is started. */
static enum th_code outfit(struct session *s, const struct th_start *start, struct th_err *err)
{
	struct th_runtime *rt = s->rt;
	enum th_code code =
	    th_choices_of(rt->config, rt->person, &s->agent, &s->memory, &s->choices, err);

	if (code)
		return code;
	s->outfit.agent = &s->agent;
	s->outfit.first = s->choices.list[0];
	s->outfit.fallback = s->choices.list + 1;
	if (th_script_code_init(&s->agent, &s->script))
		s->outfit.codes = &s->script.codes;
	code = outfit_computer(s, start, err);
	if (!code)
		code = outfit_tools(s, start, &s->agent, &s->outfit, err);
	if (code)
		return code;
	if (start && start->codes) {
		s->codes = *start->codes;
		s->outfit.codes = &s->codes;
	}
	return outfit_team(s, start, err);
}

/* ---- traces ------------------------------------------------------------------------------- */

static enum th_code trace_event(void *ctx, const struct th_event *ev,
				const struct th_digest *digest, struct th_err *err)
{
	(void)digest;
	(void)err;
	th_trace_event(ctx, ev);
	return TH_OK;
}

/* A task that is over, as the log has it.  What cannot be read or sent is no reason to fail. */
static void send_trace(struct session *s, const struct th_session *fold)
{
	struct th_trace trace;
	struct th_buf body = TH_BUF_INIT(TH_TRACE_BODY_MAX);
	struct th_err ignored;

	th_trace_init(&trace);
	trace.agent_name = fold->agent_name;
	if (!s->rt->store->kind->read(s->rt->store, s->id, fold->task_seq, 0, trace_event, &trace,
				      &ignored) &&
	    th_trace_otlp(&trace, s->id, fold->task_seq, TH_STR(TH_VERSION), &body) > 0 &&
	    !th_buf_check(&body, "a trace", &ignored))
		th_otlp_send(s->rt->otlp, th_buf_str(&body));
	th_trace_deinit(&trace);
	th_buf_deinit(&body);
}

static void watched_event(void *ctx, struct th_handle h, const struct th_event *ev)
{
	struct session *s = ctx;

	s->watcher.event(s->watcher.ctx, h, ev);
}

static void watched_delta(void *ctx, struct th_handle h, enum th_delta_kind kind,
			  struct th_str text)
{
	struct session *s = ctx;

	s->watcher.delta(s->watcher.ctx, h, kind, text);
}

static void watched_progress(void *ctx, struct th_handle h, struct th_str tool, struct th_str bytes)
{
	struct session *s = ctx;

	s->watcher.progress(s->watcher.ctx, h, tool, bytes);
}

/* The session may be closed by the caller's, so that one is called last. */
static void watched_rest(void *ctx, struct th_handle h, const struct th_session *fold,
			 const struct th_err *err)
{
	struct session *s = ctx;
	struct th_observer watcher = s->watcher;

	if (!err && fold->task_seq && fold->state != TH_STATE_WAITING &&
	    fold->state != TH_STATE_PAUSED && fold->state != TH_STATE_IDLE)
		send_trace(s, fold);
	if (watcher.rest)
		watcher.rest(watcher.ctx, h, fold, err);
}

static void watch(struct session *s, const struct th_observer *observer)
{
	s->observer = s->watcher = *observer;
	if (s->rt->otlp)
		s->observer = (struct th_observer){
			.event = observer->event ? watched_event : NULL,
			.delta = observer->delta ? watched_delta : NULL,
			.progress = observer->progress ? watched_progress : NULL,
			.rest = watched_rest,
			.ctx = s,
		};
}

static void index_put(struct session *s)
{
	struct th_runtime *rt = s->rt;

	if (s->handle.index >= rt->by_index_cap) {
		size_t cap = TH_MAX(rt->by_index_cap * 2, (size_t)s->handle.index + 8);

		rt->by_index = th_realloc(rt->by_index, cap * sizeof(struct session *));
		memset(rt->by_index + rt->by_index_cap, 0,
		       (cap - rt->by_index_cap) * sizeof(struct session *));
		rt->by_index_cap = cap;
	}
	rt->by_index[s->handle.index] = s;
}

static enum th_code with_driver(struct session *s, struct th_err *err)
{
	struct th_runtime *rt = s->rt;
	struct th_ev_session_created created = {
		.model = s->agent.model,
		.workspace = s->agent.workspace,
		.user = s->user,
		.metadata = s->metadata,
	};
	enum th_code code;

	if (s->stored)
		code =
		    th_driver_open(rt->driver, &s->row, &s->outfit, &s->observer, &s->handle, err);
	else
		code = th_driver_create(rt->driver, s->id, &s->outfit, &created, &s->observer,
					&s->handle, err);
	if (code)
		return code;
	index_put(s);
	return TH_OK;
}

static void give_back(struct session *s)
{
	struct th_err ignored;

	/* The lease would also end with this process; giving it back is a courtesy to others. */
	if (s->stored && s->rt->store->kind->release(s->rt->store, s->id, s->row.epoch, &ignored))
		return;
}

static void start_over(struct session *s, const struct th_err *err)
{
	th_ready_fn *ready = s->ready;
	void *ctx = s->ready_ctx;
	struct th_err copy = *err;

	give_back(s);
	s->executor = th_executor_free(s->executor);
	/* Nothing of a session that never began is worth coming back for. */
	if (!s->stored) {
		executor_end(s, 1);
	}
	session_free(s);
	ready(ctx, (struct th_handle){ 0 }, &copy);
}

static void on_executor_ready(void *ctx, const struct th_executor_info *info,
			      const struct th_err *err)
{
	struct session *s = ctx;
	struct th_err failure = { 0 };

	if (!info) {
		start_over(s, err);
		return;
	}
	s->outfit.screen = info->screen;
	if (with_driver(s, &failure)) {
		start_over(s, &failure);
		return;
	}
	s->ready(s->ready_ctx, s->handle, NULL);
}

static enum th_code take(struct session *s, const struct th_start *start, bool take_up,
			 struct th_err *err)
{
	struct th_runtime *rt = s->rt;
	struct th_store *store = rt->store;
	char text[TH_UUID_TEXT_SIZE + 1];
	enum th_code code = TH_ENOENT;

	if (start->session_id.len > TH_SESSION_ID_MAX ||
	    th_str_find_char(start->session_id, '\0') >= 0 ||
	    th_utf8_valid(start->session_id) != start->session_id.len)
		return th_fail(err, TH_EUSAGE, "a session's name is text of at most %d bytes",
			       TH_SESSION_ID_MAX);
	if (start->session_id.len)
		code = store->kind->get(store, start->session_id, &s->memory, &s->row, err);
	if (code && code != TH_ENOENT)
		return code;
	if (!code) {
		if (!take_up)
			return th_fail(err, TH_EEXIST, "session %.*s exists already",
				       TH_FMT(start->session_id));
		code = store->kind->lease(store, start->session_id, &s->memory, &s->row, err);
		if (code)
			return code;
		s->stored = true;
		s->id = s->row.session_id;
		return th_runtime_stored_agent(rt, s->id, &s->memory, &s->agent, err);
	}
	if (!start->agent)
		return th_fail(err, TH_ENOENT,
			       "there is no session %.*s; thole sessions lists them",
			       TH_FMT(start->session_id));
	s->id = th_arena_str(&s->memory, start->session_id);
	if (!s->id.len) {
		struct th_uuid id = th_uuid_now();

		th_uuid_text(&id, text);
		s->id = th_arena_str(&s->memory, th_str_of(text));
	}
	s->user = th_arena_str(&s->memory, start->user);
	s->metadata = th_arena_str(&s->memory, start->metadata);
	return th_agent_copy(start->agent, &s->memory, &s->agent, err);
}

enum th_code th_runtime_start(struct th_runtime *rt, const struct th_start *start, bool take_up,
			      const struct th_observer *observer, th_ready_fn *ready, void *ctx,
			      struct th_err *err)
{
	struct session *s = session_new(rt);
	enum th_code code;

	watch(s, observer);
	s->ready = ready;
	s->ready_ctx = ctx;
	code = take(s, start, take_up, err);
	if (!code)
		code = outfit(s, start, err);
	if (!code && s->outfit.has_computer && !s->outfit.computer) {
		code = executor_need(s, s->stored ? s->row.epoch : 1, err);
		if (!code)
			th_executor_ready(s->executor, true, on_executor_ready, s);
	} else if (!code) {
		code = with_driver(s, err);
		if (!code)
			ready(ctx, s->handle, NULL);
	}
	if (code) {
		give_back(s);
		session_free(s);
	}
	return code;
}

/* The log's first event says what it is run with.  One with a computer stops here: that is opened
 * first. */
static enum th_code fit_stored(void *ctx, const struct th_event *first, struct th_outfit *ret,
			       struct th_err *err)
{
	struct session *s = ctx;
	struct first_event f = { &s->memory, &s->agent, false };
	enum th_code code = read_created(&f, first, NULL, err);

	if (!code)
		code = outfit(s, NULL, err);
	if (!code && s->outfit.has_computer) {
		s->screen_first = true;
		code = th_fail(err, TH_EBUSY, "its computer is not open yet");
	}
	*ret = s->outfit;
	return code;
}

enum th_code th_runtime_take_up(struct th_runtime *rt, const struct th_session_row *leased,
				const struct th_observer *observer, th_ready_fn *ready, void *ctx,
				struct th_err *err)
{
	struct session *s = session_new(rt);
	struct th_str *const strings[] = { &s->row.session_id, &s->row.user,  &s->row.agent,
					   &s->row.model,      &s->row.state, &s->row.title,
					   &s->row.parent,     &s->row.owner, &s->row.metadata };
	enum th_code code;

	s->row = *leased;
	for (size_t i = 0; i < TH_COUNT(strings); i++)
		*strings[i] = th_arena_str(&s->memory, *strings[i]);
	s->id = s->row.session_id;
	s->stored = true;
	watch(s, observer);
	s->ready = ready;
	s->ready_ctx = ctx;
	code = th_driver_open_by(rt->driver, &s->row, fit_stored, s, &s->observer, &s->handle, err);
	if (!code) {
		index_put(s);
		ready(ctx, s->handle, NULL);
		return TH_OK;
	}
	if (s->screen_first) {
		code = executor_need(s, s->row.epoch, err);
		if (!code)
			th_executor_ready(s->executor, true, on_executor_ready, s);
	}
	if (code) {
		give_back(s);
		session_free(s);
	}
	return code;
}

void th_runtime_close(struct th_runtime *rt, struct th_handle h, bool end_executor)
{
	struct session *s = session_of(rt, h.index, h.generation);
	bool durable = th_driver_durable(rt->driver, h);
	struct th_err err;

	if (!s)
		return;
	th_driver_close(rt->driver, h);
	/* Only what is durable may be given to somebody else. */
	if (!rt->failed && (durable || th_runtime_settle(rt, &err) == TH_OK)) {
		s->row.epoch = s->stored ? s->row.epoch : 1;
		s->stored = true;
		give_back(s);
	}
	s->executor = th_executor_free(s->executor);
	if (end_executor)
		executor_end(s, s->row.epoch);
	session_free(s);
}
