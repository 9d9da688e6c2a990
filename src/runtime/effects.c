/* SPDX-License-Identifier: Apache-2.0 */
/*
 * effects.c - effects in the hands of a session's executor.
 */
#include <stdlib.h>

#include "runtime/analyser.h"
#include "runtime/given.h"
#include "runtime/internal.h"
#include "runtime/lookups.h"
#include "runtime/mcp.h"
#include "runtime/secrets.h"

static bool asks_hosts(const struct th_agent *a)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_untrusted policy;

	return th_untrusted_read(a->untrusted, &policy, &path, NULL) ||
	       policy.ask & TH_GUARDED_BIT(TH_GUARDED_HOST);
}

/* That is opened with the executor.  What works on a call has none: its parent's is not its own. */
static const struct th_agent_computer *computer_of(const struct th_runtime_session *s)
{
	return s->parent ? NULL : s->setup->agent.computer;
}

/* `starts`: what computer.start says; its strings are borrowed. */
static struct th_executor_options executor_options(const struct th_runtime_session *s,
						   int64_t epoch,
						   const struct th_agent_starts *starts)
{
	const struct th_runtime *rt = s->rt;
	const struct th_agent *a = &s->setup->agent;
	const struct th_agent_computer *pc = computer_of(s);
	struct th_executor_options o = {
		.session = s->id,
		.scope = th_buf_str(&rt->scope),
		.epoch = epoch,
		.workspace = s->workspace,
		.net_host = th_net_kind_of(a->net) == TH_NET_HOST,
		.net = th_net_kind_of(a->net) == TH_NET_LIST ? a->net : TH_STR(""),
		.environment = a->environment.list,
		.environment_count = a->environment.count,
		.command_ms_max = a->limits ? a->limits->command_seconds * 1000 : 0,
		.linger_ms = rt->config ? rt->config->executor_linger_s * 1000 : 0,
		.net_ask = a->net_ask,
		.net_strict = asks_hosts(a),
		.no_sandbox = rt->no_sandbox,
		.program = rt->program,
	};

	if (pc) {
		o.computer = pc->kind;
		o.computer_own = pc->options;
		o.size = (struct th_size){ (int32_t)pc->width, (int32_t)pc->height };
		o.display = pc->display.len ? pc->display : th_str_of(getenv("DISPLAY"));
		o.xauthority = th_str_of(getenv("XAUTHORITY"));
		o.bus = pc->bus;
		o.parser = pc->parser;
		o.ocr = pc->ocr;
		o.start = starts->commands.list;
		o.start_count = starts->commands.count;
		o.start_windows = starts->windows;
		o.start_wait_ms = pc->start_wait_s * 1000;
	}
	return o;
}

/* Values that were asked for have come, or did not. */
static void on_values(struct th_runtime_session *s)
{
	struct th_secret *list = NULL;
	struct th_err ignored;

	/* Where it fails, no more calls of servers begin. */
	(void)!th_runtime_mcp_given(s, &ignored);
	/* Where a file went away meanwhile, what was read before counts. */
	(void)!th_runtime_secrets(s, &list, &ignored);
	if (s->executor)
		th_executor_client_secrets(s->executor, list);
	else
		th_secret_free(list);
	th_runtime_given_say(s);
}

static enum th_code secrets_fresh(void *ctx, struct th_err *err)
{
	return th_runtime_lookups_fresh(ctx, on_values, err);
}

enum th_code th_runtime_session_executor(struct th_runtime_session *s, int64_t epoch,
					 struct th_err *err)
{
	const struct th_agent_computer *pc = computer_of(s);
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_agent_starts starts = { 0 };
	struct th_executor_options o;
	enum th_code code;

	s->rt->executors = s->may_have_executor = true;
	th_arena_init(&a, TH_MIB);
	if (s->executor)
		return TH_OK;
	if (pc && th_agent_starts_read(pc->start, &a, &starts, &path, err))
		return th_prefix(err, TH_EUSAGE, "computer.%.*s", TH_FMT(th_buf_str(&path)));
	o = executor_options(s, epoch, &starts);
	o.place = th_runtime_session_far(s);
	o.tls = s->rt->far_tls;
	code = th_runtime_secrets(s, &o.secrets, err);
	if (code)
		return code;
	o.fresh = secrets_fresh;
	o.fresh_ctx = s;
	code = th_executor_client_new(s->rt->loop, &o, &s->executor, err);
	if (code == TH_OK)
		th_runtime_given_say(s);
	return code;
}

void th_runtime_session_executor_end(const struct th_runtime_session *s)
{
	if (s->may_have_executor)
		th_runtime_executor_end(s->rt, s->id, s->stored ? s->row.epoch : 1,
					s->far ? th_str_of(s->far) : TH_STR(""));
}

static void tool_call_drop(struct th_runtime *rt, struct th_runtime_effect *c)
{
	struct th_runtime_effect **at = &rt->tool_calls;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	free(c);
}

void th_runtime_session_effects_drop(struct th_runtime_session *s)
{
	th_runtime_mcp_free(s);
	th_runtime_analyser_free(s);
	for (struct th_runtime_effect *c = s->rt->tool_calls, *next; c; c = next) {
		next = c->next;
		if (c->session == s)
			tool_call_drop(s->rt, c);
	}
}

static void on_progress(void *ctx, uint64_t offset, struct th_str bytes)
{
	const struct th_runtime_effect *c = ctx;

	(void)offset;
	th_driver_tool_progress(c->session->rt->driver, c->ticket, bytes);
}

static void on_asks(void *ctx, struct th_str host, uint16_t port, bool listed)
{
	const struct th_runtime_effect *c = ctx;

	th_driver_tool_asks(c->session->rt->driver, c->ticket, host, port, listed);
}

static void on_withdrawn(void *ctx, struct th_str host, uint16_t port)
{
	const struct th_runtime_effect *c = ctx;

	th_driver_tool_withdraws(c->session->rt->driver, c->ticket, host, port);
}

static void on_finished(void *ctx, const struct th_effect_result *r)
{
	struct th_runtime_effect *c = ctx;
	struct th_runtime *rt = c->session->rt;
	struct th_ticket ticket = c->ticket;

	tool_call_drop(rt, c);
	th_driver_tool_done(rt->driver, ticket, r);
}

/* Few sessions ever need the room. */
static void without_executor(struct th_runtime_session *s, const struct th_err *why)
{
	if (!s->no_executor)
		s->no_executor = th_alloc(sizeof(*s->no_executor));
	*s->no_executor = *why;
}

/* Without one, those that wait are intended all the same, and world_tool_run says why they are not
 * started; the next ones try again. */
static void on_greeted(void *ctx, const struct th_executor_info *info, const struct th_err *err)
{
	struct th_runtime_session *s = ctx;
	struct th_ticket t = { .index = s->handle.index, .generation = s->handle.generation };

	s->greeting = false;
	s->unavailable = !info;
	if (!info)
		without_executor(s, err);
	th_driver_tool_ready(s->rt->driver, t);
	s->unavailable = false;
}

bool th_world_tool_ready(void *ctx, struct th_ticket t, struct th_str *ret_journal)
{
	struct th_runtime *rt = ctx;
	struct th_runtime_session *s = th_runtime_find(rt, t.index, t.generation);
	struct th_err why = { 0 };

	assert(s);
	*ret_journal = TH_STR("");
	if (s->unavailable)
		return true;
	if (th_runtime_session_executor(s, s->stored ? s->row.epoch : 1, &why)) {
		without_executor(s, &why);
		return true;
	}
	*ret_journal = th_executor_client_journal(s->executor);
	if (ret_journal->len > 0)
		return true;
	if (!s->greeting)
		th_executor_client_ready(s->executor, false, on_greeted, s);
	s->greeting = true;
	return false;
}

struct th_str th_world_tool_place(void *ctx, struct th_ticket t)
{
	struct th_runtime *rt = ctx;
	const struct th_runtime_session *s = th_runtime_find(rt, t.index, t.generation);
	struct th_str far;

	if (!s || !s->executor || !th_executor_client_journal(s->executor).len)
		return (struct th_str){ NULL, 0 };
	far = th_executor_client_place(s->executor);
	return far.len ? far : th_str_of(rt->here);
}

void th_world_tool_run(void *ctx, struct th_ticket t, const struct th_effect_call *call,
		       bool settle)
{
	struct th_runtime *rt = ctx;
	struct th_runtime_session *s = th_runtime_find(rt, t.index, t.generation);
	/* Output is sent through the executor's socket only where it is shown. */
	bool shown = (th_str_is(call->tool, "command") || th_str_is(call->tool, "mcp")) && s &&
		     s->observer.progress;
	struct th_executor_handlers h = { .on_finished = on_finished,
					  .on_asks = on_asks,
					  .on_withdrawn = on_withdrawn,
					  .on_output = shown ? on_progress : NULL };
	struct th_runtime_effect *c;
	struct th_err err = { 0 };

	assert(s);
	/* Nothing is said of it: whoever has the session now asks what became of it. */
	if (!th_runtime_holds(rt) || th_runtime_analyser_run(s, t, call) ||
	    th_runtime_mcp_run(s, t, call, settle))
		return;
	if (th_runtime_session_executor(s, s->stored ? s->row.epoch : 1, &err)) {
		th_driver_tool_not_started(rt->driver, t, err.msg);
		return;
	}
	/* No journal is to hold it: it was intended although there was no executor. */
	if (!settle && call->class != TH_CLASS_R && call->journal.len == 0) {
		th_fail(&err, TH_EIO, "%s",
			s->no_executor ? s->no_executor->msg : "there is no executor");
		th_driver_tool_not_started(rt->driver, t, err.msg);
		return;
	}
	c = th_alloc(sizeof(*c));
	*c = (struct th_runtime_effect){
		.session = s, .handle = s->handle, .ticket = t, .next = rt->tool_calls
	};
	rt->tool_calls = c;
	h.ctx = c;
	if (settle && call->class != TH_CLASS_R)
		c->id = th_executor_client_attach(s->executor, call, 0, &h);
	else
		c->id = th_executor_client_run(s->executor, call, &h);
}

void th_world_tool_cancel(void *ctx, struct th_ticket t)
{
	struct th_runtime *rt = ctx;

	if (th_runtime_analyser_cancel(rt, t) ||
	    th_runtime_mcp_cancel(th_runtime_find(rt, t.index, t.generation), t))
		return;
	for (struct th_runtime_effect *c = rt->tool_calls; c; c = c->next)
		if (th_ticket_eq(c->ticket, t)) {
			th_executor_client_cancel(c->session->executor, c->id);
			return;
		}
}

void th_world_tool_host(void *ctx, struct th_ticket t, struct th_str host, uint16_t port,
			bool allow)
{
	struct th_runtime *rt = ctx;

	for (struct th_runtime_effect *c = rt->tool_calls; c; c = c->next)
		if (th_ticket_eq(c->ticket, t)) {
			th_executor_client_host(c->session->executor, c->id, host, port, allow);
			return;
		}
}

void th_world_tool_forget(void *ctx, struct th_str session_id, const struct th_str *effect_ids,
			  size_t count)
{
	struct th_runtime *rt = ctx;

	/* Tools that are functions of this process need none, and there may be thousands. */
	for (struct th_runtime_session *s = rt->executors ? rt->sessions : NULL; s; s = s->next)
		if (s->executor && th_str_eq(s->id, session_id))
			th_executor_client_forget(s->executor, effect_ids, count);
}

enum th_code th_runtime_give(struct th_runtime *rt, struct th_handle h,
			     const struct th_json *secrets, struct th_err *err)
{
	struct th_runtime_session *s = th_runtime_find(rt, h.index, h.generation);
	enum th_code code;

	if (!s || !s->setup)
		return th_fail(err, TH_ENOENT, "no such session is open");
	code = th_runtime_given_add(s, secrets, err);
	return code ? code : th_runtime_mcp_given(s, err);
}
