/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.c - a client from its options to its end, and what callers ask
 * of it: all of that only notes what is wanted, and the next pass does it.
 */
#include "exec_client/client.h"

#include <stdlib.h>

#include "base/limits.h"
#include "exec_client/internal.h"
#include "exec_client/start.h"

/* ---- life ---- */

static void destroy(struct th_executor_client *x)
{
	th_loop_undefer(x->loop, &x->pass);
	th_timer_stop(&x->timer);
	if (x->removal)
		x->removal->x = NULL;
	th_link_end_started(x);
	th_link_far_disconnect(x);
	th_sock_free(x->starter);
	th_sock_free(x->sock);
	th_secret_free(x->o.secrets);
	th_secret_free(x->given);
	for (uint32_t i = 0; i < x->call_room; i++) {
		th_arena_deinit(&x->calls[i]->arena);
		free(x->calls[i]);
	}
	free(x->calls);
	while (x->waiters) {
		struct th_link_waiter *w = x->waiters;
		x->waiters = w->next;
		free(w);
	}
	th_buf_deinit(&x->state_dir);
	th_buf_deinit(&x->socket);
	th_arena_deinit(&x->forget_arena);
	th_arena_deinit(&x->info_arena);
	th_arena_deinit(&x->arena);
	free(x);
}

void th_link_enter(struct th_executor_client *x)
{
	x->depth++;
}

void th_link_leave(struct th_executor_client *x)
{
	if (--x->depth == 0 && x->freed)
		destroy(x);
}

/* ---- interface ---- */

static const struct th_str *copy_list(struct th_arena *a, const struct th_str *list, size_t count)
{
	struct th_str *out = (struct th_str *)th_arena_array(a, count + 1, sizeof(*out));
	for (size_t i = 0; out && i < count; i++)
		out[i] = th_arena_str(a, list[i]);
	return out;
}

static enum th_code check_options(const struct th_executor_options *o, struct th_err *err)
{
	if (o->session.len == 0 || o->session.len > TH_SESSION_ID_MAX)
		return th_fail(err, TH_EUSAGE, "a session's id has 1 to %d bytes",
			       TH_SESSION_ID_MAX);
	if (o->workspace.len > 0 && o->workspace.ptr[0] != '/')
		return th_fail(err, TH_EUSAGE, "the workspace %.*s is not an absolute path",
			       TH_FMT(o->workspace));
	if (o->place.len && (!o->tls || !o->scope.len))
		return th_fail(err, TH_EUSAGE,
			       "an executor on another machine is reached with a certificate only");
	if (o->epoch < 0 || o->command_ms_max < 0 || o->linger_ms < 0)
		return th_fail(err, TH_EUSAGE, "a number below 0 in the executor's options");
	return TH_OK;
}

enum th_code th_executor_client_new(struct th_loop *l, const struct th_executor_options *o,
				    struct th_executor_client **ret, struct th_err *err)
{
	enum th_code bad = check_options(o, err);

	if (bad) {
		th_secret_free(o->secrets);
		return bad;
	}
	struct th_executor_client *x = (struct th_executor_client *)th_alloc(sizeof(*x));
	x->loop = l;
	x->started = x->far_fd = -1;
	th_arena_init(&x->arena, 2 * TH_MIB);
	th_arena_init(&x->info_arena, 256 * TH_KIB);
	th_arena_init(&x->forget_arena, TH_MIB);
	th_buf_init(&x->state_dir, TH_PATH_LEN_MAX);
	th_buf_init(&x->socket, TH_PATH_LEN_MAX);
	x->pass = (struct th_deferred){ .fn = th_link_pass, .ctx = x };
	th_timer_init(&x->timer, l, th_link_watch, x);
	x->o = *o;
	x->o.start_ms = o->start_ms ?: TH_EXEC_START_MS;
	x->o.end_ms = o->end_ms ?: TH_EXECUTOR_END_MS;
	struct th_str *strs[] = { &x->o.session, &x->o.scope,      &x->o.workspace, &x->o.computer,
				  &x->o.display, &x->o.xauthority, &x->o.bus,       &x->o.parser,
				  &x->o.ocr,     &x->o.net,        &x->o.place };
	for (size_t i = 0; i < TH_COUNT(strs); i++)
		*strs[i] = th_arena_str(&x->arena, *strs[i]);
	x->place = x->o.place;
	x->o.start = copy_list(&x->arena, o->start, o->start_count);
	x->o.environment = copy_list(&x->arena, o->environment, o->environment_count);
	if (o->program)
		x->o.program = th_arena_cstr(&x->arena, th_str_of(o->program));
	enum th_code code =
	    th_executor_paths(x->o.scope, x->o.session, &x->state_dir, &x->socket, err);
	if (code == TH_OK && (!x->o.start || !x->o.environment))
		code = th_fail(err, TH_ELIMIT, "the executor's options are too large");
	if (code) {
		destroy(x);
		return code;
	}
	*ret = x;
	return TH_OK;
}

struct th_executor_client *th_executor_client_free(struct th_executor_client *x)
{
	if (!x)
		return NULL;
	if (x->depth == 0) {
		destroy(x);
		return NULL;
	}
	x->freed = true;
	th_loop_undefer(x->loop, &x->pass);
	th_timer_stop(&x->timer);
	return NULL;
}

void th_executor_client_freep(struct th_executor_client **x)
{
	*x = th_executor_client_free(*x);
}

void th_executor_client_ready(struct th_executor_client *x, bool screen,
			      th_executor_client_ready_fn *on_ready, void *ctx)
{
	struct th_link_waiter *w = (struct th_link_waiter *)th_alloc(sizeof(*w)),
			      **at = &x->waiters;
	*w = (struct th_link_waiter){ .fn = on_ready, .ctx = ctx, .screen = screen };
	while (*at)
		at = &(*at)->next;
	*at = w;
	th_link_soon(x);
}

static struct th_executor_id add(struct th_executor_client *x, const struct th_effect_call *call,
				 bool attach, uint64_t offset, const struct th_executor_handlers *h)
{
	struct th_executor_id id;
	struct th_link_call *c = th_link_call_new(x, &id);

	assert(call->class != TH_CLASS_L && h->on_finished);
	c->what = *call;
	struct th_str *strs[] = { &c->what.effect_id, &c->what.tool,    &c->what.arguments,
				  &c->what.digest,    &c->what.journal, &c->what.hosts };
	for (size_t i = 0; i < TH_COUNT(strs); i++)
		*strs[i] = th_arena_str(&c->arena, *strs[i]);
	c->on = *h;
	c->attach = attach;
	c->offset = offset;
	c->tries = 0;
	c->held = c->cancelled = c->broken = false;
	th_link_soon(x);
	return id;
}

void th_executor_client_secrets(struct th_executor_client *x, struct th_secret *secrets)
{
	if (secrets) {
		th_secret_free(x->o.secrets);
		x->o.secrets = secrets;
	}
	th_link_soon(x);
}

void th_executor_client_give(struct th_executor_client *x, struct th_str list)
{
	th_secret_free(x->given);
	x->given = th_secret_new(list);
	x->gave = false;
	th_link_soon(x); /* nothing is connected for it */
}

struct th_executor_id th_executor_client_run(struct th_executor_client *x,
					     const struct th_effect_call *call,
					     const struct th_executor_handlers *h)
{
	return add(x, call, false, 0, h);
}

struct th_executor_id th_executor_client_attach(struct th_executor_client *x,
						const struct th_effect_call *call, uint64_t offset,
						const struct th_executor_handlers *h)
{
	return add(x, call, true, offset, h);
}

void th_executor_client_cancel(struct th_executor_client *x, struct th_executor_id id)
{
	if (id.index == 0 || id.index > x->call_room)
		return;
	struct th_link_call *c = x->calls[id.index - 1];
	if (c->generation != id.generation || c->cancelled)
		return;
	c->cancelled = true;
	if (c->id != 0 && x->state == TH_LINK_OPEN) {
		struct th_exec_request m = { .op = TH_STR("cancel"), .id = c->id };
		th_link_send(x, &th_exec_request_table, &m);
	}
}

void th_executor_client_input(struct th_executor_client *x, struct th_executor_id id,
			      struct th_str bytes, int columns, int rows)
{
	const struct th_link_call *c;

	if (id.index == 0 || id.index > x->call_room)
		return;
	c = x->calls[id.index - 1];
	if (c->generation == id.generation && c->id != 0 && x->state == TH_LINK_OPEN)
		th_link_say_input(x, c->id, bytes, columns, rows);
}

void th_executor_client_host(struct th_executor_client *x, struct th_executor_id id,
			     struct th_str host, uint16_t port, bool allow)
{
	const struct th_link_call *c;

	if (id.index == 0 || id.index > x->call_room)
		return;
	c = x->calls[id.index - 1];
	if (c->generation == id.generation && c->id != 0 && x->state == TH_LINK_OPEN)
		th_link_say_host(x, c->id, host, port, allow);
}

void th_executor_client_forget(struct th_executor_client *x, const struct th_str *effect_ids,
			       size_t count)
{
	for (size_t i = 0; i < count && x->forget_count < TH_EXEC_FORGET_MAX; i++) {
		struct th_str id = th_arena_str(&x->forget_arena, effect_ids[i]);
		if (id.ptr)
			x->forget[x->forget_count++] = id;
	}
	th_link_soon(x);
}

void th_executor_client_watch(struct th_executor_client *x, const struct th_executor_watch *w)
{
	assert(!x->watch.on_frame && w->on_frame);
	x->watch = *w;
	x->watch_id = 0;
	th_link_soon(x);
}

void th_executor_client_watch_next(struct th_executor_client *x)
{
	const struct th_exec_request m = { .op = TH_STR("next"), .id = x->watch_id };

	if (x->watch_id && x->state == TH_LINK_OPEN)
		th_link_send(x, &th_exec_request_table, &m);
}

void th_executor_client_end(struct th_executor_client *x,
			    void (*done)(void *ctx, const struct th_err *err), void *ctx)
{
	x->end = true;
	x->end_done = done;
	x->end_ctx = ctx;
	th_link_soon(x);
}

struct th_str th_executor_client_place(const struct th_executor_client *x)
{
	return x->place;
}

struct th_str th_executor_client_journal(const struct th_executor_client *x)
{
	return th_str_of(x->journal);
}
