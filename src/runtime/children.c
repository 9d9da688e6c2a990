/* SPDX-License-Identifier: Apache-2.0 */
/*
 * children.c - sessions that work on a call of another (driver/delegate.h): the driver
 * opens them, here they get what a session of the runtime has, and are closed when they are over,
 * or before the one that they work for.
 */
#include "runtime/internal.h"

enum th_code th_world_child_lease(void *ctx, struct th_str session_id, struct th_arena *a,
				  struct th_session_row *ret, struct th_err *err)
{
	struct th_runtime *rt = ctx;

	return rt->store->kind->lease(rt->store, session_id, a, ret, err);
}

/* Keys, code and place are its parent's; the executor, if it needs one, is its own. */
void th_world_child_opened(void *ctx, struct th_ticket parent, struct th_ticket child,
			   struct th_str session_id, int64_t epoch)
{
	struct th_runtime *rt = ctx;
	struct th_runtime_session *p = th_runtime_find(rt, parent.index, parent.generation);
	struct th_runtime_session *s = th_runtime_session_new(rt);

	assert(p);
	s->parent = p;
	s->id = th_arena_str(&s->memory, session_id);
	s->setup = th_runtime_setup_share(p->setup);
	s->workspace = p->workspace;
	s->stored = true;
	s->row.session_id = s->id;
	s->row.epoch = epoch;
	s->handle = (struct th_handle){ child.index, child.generation };
	rt->child_count++;
	th_runtime_session_index(s);
}

void th_world_child_over(void *ctx, struct th_ticket child)
{
	struct th_runtime *rt = ctx;
	struct th_runtime_session *s = th_runtime_find(rt, child.index, child.generation);

	assert(s);
	s->over = true;
	th_runtime_session_trace(s, th_driver_session(rt->driver, s->handle));
	th_loop_defer(rt->loop, &rt->reap);
}

/* `parent` NULL: of any, those that are over and durable. */
static struct th_runtime_session *find(struct th_runtime *rt,
				       const struct th_runtime_session *parent)
{
	struct th_runtime_session *s = rt->child_count > 0 ? rt->sessions : NULL;

	for (; s; s = s->next) {
		if (s->parent && parent
			? s->parent == parent
			: s->parent && s->over && th_driver_durable(rt->driver, s->handle))
			return s;
	}
	return NULL;
}

/* Its parent may be closed where nothing can be waited for: what is still on its way to the store
 * gets there, and the lease, which only what is durable may give back, ends with the process. */
static void let_go(struct th_runtime_session *s)
{
	th_runtime_session_close_children(s);
	th_driver_close(s->rt->driver, s->handle);
	th_runtime_session_note_place(s);
	s->executor = th_executor_client_free(s->executor);
	if (s->over)
		th_runtime_session_executor_end(s);
	th_runtime_session_free(s);
}

void th_runtime_session_close_children(struct th_runtime_session *parent)
{
	struct th_runtime_session *s;

	while ((s = find(parent->rt, parent)))
		if (th_driver_durable(s->rt->driver, s->handle))
			th_runtime_close(s->rt, s->handle, s->over);
		else
			let_go(s);
}

void th_runtime_reap(void *ctx)
{
	struct th_runtime *rt = ctx;
	struct th_runtime_session *s;

	while ((s = find(rt, NULL)))
		th_runtime_close(rt, s->handle, true);
}
