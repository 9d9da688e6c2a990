/* SPDX-License-Identifier: Apache-2.0 */
#include "server/change.h"

#include <stdio.h>
#include <stdlib.h>

#include "io/clock.h"
#include "server/service.h"

#define DOOMS_MAX 60 /* tries, about one a second */

struct th_change {
	struct th_change *prev, *next;
	struct th_server *server;
	struct th_access *access; /* NULL: nobody waits for it */
	struct thole_reading *reading;
	th_forked_fn *forked; /* it is a fork; else a deletion */
	th_discarded_fn *discarded;
	th_after_fn *described;
	char *title, *metadata; /* of that; NULL: it stays */
	bool retried;           /* it was being opened */
	struct th_buf row;
	char id[TH_SESSION_ID_MAX + 1]; /* of the fork; of what is deleted */
};

static void change_free(struct th_change *c);

static void on_gone(struct th_access *a)
{
	struct th_change *c = a->ctx;

	c->access = NULL;
	if (!c->reading) /* it was not begun yet */
		change_free(c);
}

static struct th_change *change_new(struct th_server *s, struct th_access *a, const char *id)
{
	struct th_change *c = th_alloc(sizeof(*c));

	*c = (struct th_change){ .server = s, .access = a, .next = s->changes };
	th_buf_init(&c->row, TH_JSON_SIZE_MAX);
	snprintf(c->id, sizeof(c->id), "%s", id);
	if (c->next)
		c->next->prev = c;
	s->changes = c;
	if (a) {
		a->ctx = c;
		a->gone = on_gone;
	}
	return c;
}

static void change_free(struct th_change *c)
{
	if (c->access) {
		c->access->ctx = NULL;
		c->access->gone = NULL;
	}
	if (c->prev)
		c->prev->next = c->next;
	else
		c->server->changes = c->next;
	if (c->next)
		c->next->prev = c->prev;
	th_buf_deinit(&c->row);
	free(c->title);
	free(c->metadata);
	free(c);
}

/* ---- forks ---- */

static int on_row(void *ctx, const char *line, size_t len)
{
	struct th_change *c = ctx;

	th_buf_add_mem(&c->row, line, len);
	return 0;
}

static void on_forked(void *ctx, int code, const struct thole_error *err)
{
	struct th_change *c = ctx;
	struct th_buf row TH_CLEANUP(th_buf_deinit) = c->row;
	struct th_access *a = c->access;
	th_forked_fn *fn = c->forked;
	char id[TH_SESSION_ID_MAX + 1];

	c->row = (struct th_buf){ 0 };
	memcpy(id, c->id, sizeof(id));
	c->server->metrics.sessions_begun += !code;
	change_free(c);
	if (a && code)
		th_access_error(a, err);
	else if (a)
		fn(a, id, th_buf_str(&row));
}

void th_access_fork(struct th_access *a, const char *id, uint64_t seq, const char *new_id,
		    th_forked_fn *fn)
{
	char made[TH_UUID_TEXT_SIZE + 1] = "";
	struct thole_error err;
	struct th_change *c;

	if (!new_id) {
		struct th_uuid uuid = th_uuid_now();

		th_uuid_text(&uuid, made);
	}
	c = change_new(a->server, a, new_id ?: made);
	c->forked = fn;
	if (thole_runtime_fork_start(a->server->rt, id, seq, a->user, new_id ?: made, on_row,
				     on_forked, c, &c->reading, &err) != 0) {
		change_free(c);
		th_access_error(a, &err);
		return;
	}
	th_server_kick(a->server);
}

/* ---- descriptions ---- */

static char *copy_of(const char *text)
{
	char *copy = text ? th_alloc(strlen(text) + 1) : NULL;

	if (copy)
		memcpy(copy, text, strlen(text));
	return copy;
}

static void describe(struct th_change *c);

/* Somebody else is having it opened: it is described then. */
static void when_open(struct th_access *a)
{
	struct th_change *c = a->ctx;
	const struct th_found *open = th_need_open(&a->needs, c->id, a->user, true);

	if (open && open->err) {
		change_free(c);
		th_access_error(a, open->err);
	} else if (open) {
		describe(c);
	}
}

static void on_described(void *ctx, int code, const struct thole_error *err)
{
	struct th_change *c = ctx;
	struct th_server *s = c->server;
	struct th_access *a = c->access;
	th_after_fn *fn = c->described;
	struct th_hub *h = th_hub_find(s, c->id);
	char id[TH_SESSION_ID_MAX + 1];

	c->reading = NULL;
	if (a && code == THOLE_EBUSY && !c->retried && h && h->session &&
	    thole_session_state(h->session) == THOLE_LOADING) {
		c->retried = true;
		a->again = when_open;
		when_open(a);
		return;
	}
	memcpy(id, c->id, sizeof(id));
	change_free(c);
	th_server_kick(s);
	if (!a)
		return;
	if (code)
		th_access_error(a, err);
	else if (h && h->session) /* it is on its way to the store */
		th_access_durable(a, h, 200, fn);
	else
		fn(a, id, 200);
}

static void describe(struct th_change *c)
{
	struct th_access *a = c->access;
	struct thole_error err;

	if (thole_runtime_describe_start(c->server->rt, c->id, a->user, c->title, c->metadata,
					 a->user, on_described, c, &c->reading, &err) != 0) {
		change_free(c);
		th_access_error(a, &err);
		return;
	}
	th_server_kick(a->server);
}

void th_access_describe(struct th_access *a, const char *id, const char *title,
			const char *metadata, th_after_fn *fn)
{
	struct th_change *c = change_new(a->server, a, id);

	c->described = fn;
	c->title = copy_of(title);
	c->metadata = copy_of(metadata);
	describe(c);
}

/* ---- deletions ---- */

/* Where nobody asked for it: it was doomed. */
static void doom_over(struct th_server *s, const char *id, int code)
{
	struct th_hub *h = th_hub_find(s, id);

	if (!h)
		return;
	h->discarding = false;
	/* The next time; but a session that a fork shares its events with is left at last. */
	h->doomed = code == THOLE_EBUSY && ++h->dooms < DOOMS_MAX;
	if (h->doomed)
		return;
	h->dooms = 0;
	th_hub_lose(h);
}

static void on_discarded(void *ctx, int code, const struct thole_error *err)
{
	struct th_change *c = ctx;
	struct th_server *s = c->server;
	struct th_access *a = c->access;
	th_discarded_fn *fn = c->discarded;
	char id[TH_SESSION_ID_MAX + 1];
	struct th_hub *h;

	memcpy(id, c->id, sizeof(id));
	change_free(c);
	h = code ? NULL : th_hub_find(s, id);
	if (h)
		th_hub_lose(h);
	if (!code) {
		th_workspace_remove(s, id);
		th_client_hooks_forget(s->webhooks, id);
	}
	if (!fn)
		doom_over(s, id, code);
	th_server_kick(s);
	if (a)
		fn(a, id, code ? err : NULL);
}

static int discard(struct th_server *s, struct th_access *a, const char *id, th_discarded_fn *fn,
		   struct thole_error *err)
{
	struct th_change *c = change_new(s, a, id);
	int code;

	c->discarded = fn;
	code = thole_runtime_delete_start(s->rt, id, a ? a->user : NULL, on_discarded, c,
					  &c->reading, err);
	if (code)
		change_free(c);
	else
		th_server_kick(s);
	return code;
}

void th_access_discard(struct th_access *a, const char *id, th_discarded_fn *fn)
{
	struct thole_error err;

	if (discard(a->server, a, id, fn, &err) != 0)
		fn(a, id, &err);
}

/* Its response was not to be kept. */
static void delete_doomed(struct th_hub *h)
{
	struct thole_error err;

	if (h->session && thole_session_state(h->session) == THOLE_RUNNING) {
		(void)thole_session_cancel(h->session, THOLE_NOW, &err);
		th_server_kick(h->server);
		return; /* when it rests */
	}
	th_hub_drop_calls(h);
	h->discarding = true;
	/* What cannot begin now (too much waits for the store) is tried again. */
	if (discard(h->server, NULL, h->id, NULL, &err) != 0)
		h->discarding = false;
}

void th_changes_sweep(struct th_server *s)
{
	for (struct th_hub *h = s->hubs.first; h; h = h->next)
		if (h->doomed && h->busy == 0 && !h->discarding && !h->walks)
			delete_doomed(h);
}

void th_changes_free(struct th_server *s)
{
	while (s->changes) {
		thole_reading_free(s->changes->reading);
		change_free(s->changes);
	}
}
