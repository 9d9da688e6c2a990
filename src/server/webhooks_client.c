/* SPDX-License-Identifier: Apache-2.0 */
/*
 * webhooks_client.c - hooks that clients asked for.
 *
 * Each is a webhook of its own: its queue, its retries and its place in the file are those of the
 * configured ones.  It is told of one session, from an event on, until what ends the task was
 * taken.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/wiped.h"
#include "io/clock.h"
#include "server/service.h"

const struct th_client_hook *th_client_hook_of(const struct th_webhook *h)
{
	return h->client;
}

static bool has_letters(const struct th_webhooks *w, struct th_str name)
{
	for (size_t i = 0; w->server->services[i]; i++)
		if (th_str_is(name, w->server->services[i]->name))
			return w->server->services[i]->letters != NULL;
	return false;
}

/* ---- a new one ---- */

static void on_timer(void *ctx)
{
	th_webhook_send(ctx);
}

struct th_webhook *th_webhook_new(struct th_webhooks *w)
{
	struct th_webhook *h = th_alloc(sizeof(*h));

	*h = (struct th_webhook){
		.next = w->first,
		.all = w,
		.url = TH_BUF_INIT(TH_MIB),
		.user = TH_BUF_INIT(TH_MIB),
		.client_text = TH_BUF_INIT(TH_CLIENT_HOOK_SIZE_MAX),
		.since_ms = (int64_t)th_clock_wall_ms(),
		.good_ms = th_loop_now_ms(w->server->loop),
	};
	th_timer_init(&h->timer, w->server->loop, on_timer, h);
	w->first = h;
	return h;
}

static void name_it(const struct th_client_hook *c, char name[static 17])
{
	const struct th_str parts[] = { c->service, c->user, c->id };
	struct th_sha256 h;
	struct th_digest d;
	char hex[TH_SHA256_HEX_SIZE + 1];

	th_sha256_init(&h);
	for (size_t i = 0; i < TH_COUNT(parts); i++) {
		th_sha256_add(&h, parts[i].ptr, parts[i].len);
		th_sha256_add(&h, "", 1);
	}
	d = th_sha256_end(&h);
	th_digest_hex(&d, hex);
	memcpy(name, hex, 16);
	name[16] = '\0';
}

/* Its texts are copied into one place. */
static void set_client(struct th_webhook *h, const struct th_client_hook *from)
{
	struct th_client_hook *c = th_alloc(sizeof(*c));
	struct th_str *const parts[] = { &c->service, &c->id,  &c->session,
					 &c->user,    &c->url, &c->more };
	size_t at = 0;

	*c = *from;
	for (size_t i = 0; i < TH_COUNT(parts); i++)
		th_buf_add(&h->client_text, *parts[i]);
	for (size_t i = 0; i < TH_COUNT(parts); i++) {
		parts[i]->ptr = h->client_text.ptr + at;
		at += parts[i]->len;
	}
	h->client = c;
	h->to = (struct th_webhook_to){ .url = c->url,
					.user = c->user,
					.events = (1u << TH_WEBHOOK_EVENT_COUNT) - 1,
					.retry_ms = TH_WEBHOOK_RETRY_FIRST_MS };
	if (c->ended)
		h->to.events &= ~(1u << TH_WEBHOOK_WAITING);
	name_it(c, h->to.name);
}

static void print(const struct th_client_hook *c, struct th_jw *w)
{
	th_jw_object(w);
	th_jw_kstr(w, "service", c->service);
	th_jw_kstr(w, "id", c->id);
	th_jw_kstr(w, "session", c->session);
	th_jw_kstr(w, "user", c->user);
	th_jw_kstr(w, "url", c->url);
	th_jw_kuint(w, "after", c->after);
	th_jw_kbool(w, "ended", c->ended);
	th_jw_kraw(w, "more", c->more);
	th_jw_object_end(w);
}

static bool has_room(const struct th_client_hook *c)
{
	struct th_buf text TH_CLEANUP(th_buf_wipe) = TH_BUF_INIT(TH_CLIENT_HOOK_SIZE_MAX);
	struct th_jw w = th_jw(&text);

	print(c, &w);
	return !text.failed;
}

struct th_webhook *th_client_hook_find(struct th_webhooks *w, const struct th_client_hook *c)
{
	char name[17];

	name_it(c, name);
	for (struct th_webhook *h = w->first; h; h = h->next)
		if (h->client && !h->off && !h->replaced && strcmp(h->to.name, name) == 0)
			return h;
	return NULL;
}

/* A user's are counted where he asks: those of several nodes may come to one. */
static enum th_code check(struct th_webhooks *w, const struct th_client_hook *c, bool asked,
			  struct th_err *err)
{
	size_t all = 0, mine = 0;
	bool fresh = !th_client_hook_find(w, c);

	for (struct th_webhook *h = w->first; h; h = h->next) {
		bool counts = h->client && !h->off && !h->replaced;

		all += counts;
		mine += counts && th_str_eq(h->client->user, c->user);
	}
	if (!th_webhook_url_is_good(c->url))
		return th_fail(err, TH_EUSAGE,
			       "the URL of a hook is https://HOST/… or http://HOST/…, without a "
			       "user or blanks");
	if (!has_room(c))
		return th_fail(err, TH_ELIMIT, "a hook has at most %d bytes",
			       (int)TH_CLIENT_HOOK_SIZE_MAX);
	if (asked && fresh && mine >= TH_CLIENT_HOOKS_USER_MAX)
		return th_fail(err, TH_ELIMIT, "a user has at most %d hooks",
			       TH_CLIENT_HOOKS_USER_MAX);
	if (fresh && all >= TH_CLIENT_HOOKS_MAX)
		return th_fail(err, TH_ELIMIT, "a server has at most %d hooks of clients",
			       TH_CLIENT_HOOKS_MAX);
	return TH_OK;
}

enum th_code th_client_hook_check(struct th_webhooks *w, const struct th_client_hook *c,
				  struct th_err *err)
{
	return check(w, c, true, err);
}

struct th_webhook *th_client_hook_new(struct th_webhooks *w, const struct th_client_hook *c)
{
	struct th_webhook *h = th_webhook_new(w);

	h->since_ms = 0; /* `after` says from where on */
	set_client(h, c);
	return h;
}

void th_client_hook_begin(struct th_webhooks *w, const struct th_client_hook *c)
{
	struct th_webhook *h = th_client_hook_find(w, c);

	if (!h || !h->early)
		return;
	h->early = false;
	if (h->client->ended)
		th_webhook_scan(h);
}

void th_client_hook_undo(struct th_webhooks *w, const struct th_client_hook *c)
{
	struct th_webhook *h = th_client_hook_find(w, c);

	if (h && h->early && h->again)
		th_client_hook_begin(w, c);
	else if (h && h->early)
		th_client_hook_drop(h);
}

/* Those before are behind it in the list: one of them that was written down, and others that were
 * to be with it.  Where it is replaced itself by now, they wait for that one. */
void th_client_hook_settle(struct th_webhook *h, bool good)
{
	for (struct th_webhook *old = h->next; old; old = old->next) {
		if (!old->client || !old->replaced || strcmp(old->to.name, h->to.name) != 0)
			continue;
		if (good || (old->fresh && !h->replaced)) {
			th_client_hook_drop(old);
		} else if (!h->replaced) {
			old->replaced = false;
			old->line = (struct th_digest){ 0 }; /* it is put again: see below */
			old->skipped_ms = 1; /* what came meanwhile is read from its log */
		}
	}
	if (!good)
		th_client_hook_drop(h);
	h->shared |= h->fresh; /* also one that failed may be in the store */
	h->fresh = false;
}

/* ---- which there are, and their end ---- */

struct th_webhook *th_client_hook_next(struct th_webhooks *w, struct th_webhook *from,
				       const char *service, const char *user, struct th_str prefix)
{
	for (struct th_webhook *h = from ? from->next : w->first; h; h = h->next)
		if (h->client && !h->off && !h->replaced &&
		    th_str_is(h->client->service, service) && th_str_is(h->client->user, user) &&
		    th_str_starts(h->client->id, prefix))
			return h;
	return NULL;
}

void th_client_hooks_forget(struct th_webhooks *w, const char *session)
{
	for (struct th_webhook *h = w ? w->first : NULL; h; h = h->next)
		if (h->client && th_str_is(h->client->session, session))
			th_client_hook_drop(h);
}

/* ---- in the file ---- */

void th_client_hook_print(const struct th_webhook *h, struct th_jw *w)
{
	th_jw_name(w, TH_STR("client"));
	print(h->client, w);
}

void th_client_hook_restore(struct th_webhooks *w, const struct th_json *line)
{
	struct th_buf more TH_CLEANUP(th_buf_wipe) = TH_BUF_INIT(TH_CLIENT_HOOK_SIZE_MAX);
	const struct th_json *v = th_json_get(line, "client");
	struct th_client_hook c = {
		.service = th_json_get_str(v, "service"),
		.id = th_json_get_str(v, "id"),
		.session = th_json_get_str(v, "session"),
		.user = th_json_get_str(v, "user"),
		.url = th_json_get_str(v, "url"),
		.after = (uint64_t)th_json_get_int(v, "after", 0),
		.ended = th_json_bool(th_json_get(v, "ended"), false),
	};
	struct th_webhook *old;
	struct th_err err = {};

	th_json_print(th_json_get(v, "more"), &more);
	c.more = th_buf_str(&more);
	if (more.failed || !c.session.len || !c.user.len || !has_letters(w, c.service))
		return; /* of a line that was torn, or of a service that is no more */
	if (check(w, &c, false, &err) != TH_OK) {
		th_journal_say(w->server, "webhooks",
			       "a client's hook is told nothing any more: %s", err.msg);
		return;
	}
	old = th_client_hook_find(w, &c);
	if (old)
		th_client_hook_drop(old); /* a later line counts */
	(void)th_client_hook_new(w, &c);
}
