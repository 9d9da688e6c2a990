/* SPDX-License-Identifier: Apache-2.0 */
/*
 * webhooks_send.c - one try after the other: signed, and put off when it fails.
 *
 * A failure puts the whole webhook off, and the item goes behind the others: a
 * server that is down is asked seldom, and one item that it never takes does
 * not keep the rest.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/wiped.h"
#include "io/clock.h"
#include "server/service.h"
#include "wire/authority.h"

struct th_webhook_attempt {
	struct th_webhook *hook;
	struct th_webhook_item *item;
	struct th_fetcher *fetcher;
	struct th_fetch_id fetch;
	bool begun;  /* it is being fetched */
	bool writes; /* the letter to a client's hook is being written */
	struct th_needs needs;
	struct th_letter letter; /* its `body` is what is sent */
	struct th_str piece;
};

const struct th_webhook_item *th_webhook_flies(const struct th_webhook_attempt *a)
{
	return a->item;
}

/* ---- how it went ---- */

static void free_attempt(struct th_webhook_attempt *a)
{
	struct th_webhook *h = a->hook;

	for (size_t i = 0; i < TH_WEBHOOK_FLIGHT_MAX; i++)
		if (h->flight[i] == a)
			h->flight[i] = NULL;
	th_needs_forget(&a->needs);
	th_buf_deinit(&a->letter.body);
	for (size_t i = 0; i < TH_LETTER_HEADERS_MAX; i++)
		th_buf_wipe(&a->letter.headers[i].value);
	free(a);
}

static void put_back(struct th_webhook *h, struct th_webhook_item *item)
{
	item->next = NULL;
	if (h->last)
		h->last->next = item;
	else
		h->first = item;
	h->last = item;
	h->count++;
}

static void note_done(struct th_webhook *h, const struct th_webhook_item *item)
{
	size_t most = th_webhook_done_max(h);

	if (!h->done)
		h->done = th_alloc(most * sizeof(*h->done));
	if (h->done_count == most) /* the oldest may be told twice */
		memmove(h->done, h->done + 1, --h->done_count * sizeof(*h->done));
	h->done[h->done_count++] =
	    (struct th_webhook_done){ item->ts_ms, th_webhook_id_of(item->session, item->seq) };
	h->all->dirty = true;
}

/* The path and what is behind it may be secret: only the place is said. */
static void switch_off(struct th_webhook *h, const char *why)
{
	struct th_str place = th_authority_of_url(h->to.url);

	h->off = true;
	h->skipped_ms = 0;
	th_webhook_clear(h);
	h->all->dirty = true;
	th_journal_say(h->all->server, "webhook", "%.*s is told nothing any more%s: %s",
		       TH_FMT(place), h->client ? "" : " until the configuration is read again",
		       why);
}

static void failed(struct th_webhook *h, struct th_webhook_item *item,
		   const struct th_fetch_result *r)
{
	struct th_str place = th_authority_of_url(h->to.url);
	uint64_t now_ms = th_loop_now_ms(h->all->server->loop), wait_ms;
	unsigned char chance;

	put_back(h, item);
	h->all->failed++;
	if (r->head.status == 410) {
		switch_off(h, "it answered 410, Gone");
		return;
	}
	if (th_webhook_is_lost(h->good_ms, now_ms)) {
		switch_off(h, "it has taken nothing for three days");
		return;
	}
	/* It was under way beside the one that failed first: that is one failure of the place. */
	if (th_timer_running(&h->timer))
		return;
	th_random(&chance, sizeof(chance));
	if (h->failures++ == 0)
		th_journal_say(h->all->server, "webhook",
			       "%.*s takes nothing, and is tried again: %s", TH_FMT(place),
			       r->end == TH_FETCH_STATUS ? "it answered with an error"
			       : h->all->blocked
				   ? (h->client
					  ? "its address is not public; "
					    "serve.client_hooks_private allows that"
					  : "its address is not public; private: true allows that")
				   : r->err.msg);
	wait_ms = th_webhook_wait_ms(h->to.retry_ms, h->failures, chance);
	if (r->head.retry_after_ms > 0)
		wait_ms = TH_MAX(wait_ms,
				 TH_MIN((uint64_t)r->head.retry_after_ms, TH_WEBHOOK_RETRY_MAX_MS));
	th_timer_start(&h->timer, wait_ms, 0);
}

static void on_done(void *ctx, const struct th_fetch_result *r)
{
	struct th_webhook_attempt *a = ctx;
	struct th_webhook *h = a->hook;
	struct th_webhook_item *item = a->item;

	free_attempt(a);
	if (h->all->closing || h->off) {
		th_webhook_item_free(item);
		return;
	}
	if (r->end != TH_FETCH_OK) {
		failed(h, item, r);
		return;
	}
	h->all->sent++;
	h->failures = 0;
	h->good_ms = th_loop_now_ms(h->all->server->loop);
	note_done(h, item);
	if (th_client_hook_ends(h, item->event))
		th_client_hook_drop(h);
	th_webhook_item_free(item);
	th_webhook_send(h);
}

/* ---- trying ---- */

static bool allows(void *ctx, const struct th_address *to)
{
	struct th_webhooks *w = ctx;

	w->blocked = !th_address_is_public(to);
	return !w->blocked;
}

static struct th_fetcher *fetcher_for(struct th_webhook *h)
{
	struct th_webhooks *w = h->all;
	bool any = h->client ? w->server->settings.s.client_hooks_private : h->to.private_too;
	struct th_fetcher **at = any ? &w->any : &w->guarded;
	struct th_err err = {};

	if (!*at && th_fetcher_new(w->server->loop, at, &err) == TH_OK && at == &w->guarded)
		th_fetcher_only(*at, allows, w);
	if (!*at)
		th_journal_say(w->server, "webhook", "%s", err.msg);
	return *at;
}

/* The letter is written. */
static enum th_code start(struct th_webhook_attempt *a, struct th_err *err)
{
	struct th_buf id TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf at TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf signature TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_webhook_id number = th_webhook_id_of(a->item->session, a->item->seq);
	int64_t seconds = (int64_t)(th_clock_wall_ms() / 1000);
	struct th_letter *l = &a->letter;
	size_t count = 4;
	char hex[33];

	if (th_buf_check(&l->body, "the webhook", err) != TH_OK)
		return err->code;
	a->piece = th_buf_str(&l->body);
	th_webhook_id_hex(&number, hex);
	th_buf_printf(&id, "msg_%s", hex);
	th_buf_printf(&at, "%lld", (long long)seconds);
	{
		struct th_fetch_header headers[4 + TH_LETTER_HEADERS_MAX] = {
			{ "Content-Type", th_str_of(l->type) },
			{ "User-Agent", TH_STR("thole/" TH_VERSION) },
			{ "webhook-id", th_buf_str(&id) },
			{ "webhook-timestamp", th_buf_str(&at) },
		};

		if (!a->hook->client) {
			th_webhook_sign(&a->hook->to, id.ptr, seconds, a->piece, &signature);
			headers[count++] =
			    (struct th_fetch_header){ "webhook-signature", th_buf_str(&signature) };
		}
		for (size_t i = 0; i < l->header_count; i++)
			headers[count++] =
			    (struct th_fetch_header){ l->headers[i].name,
						      th_buf_str(&l->headers[i].value) };
		const struct th_fetch_request request = {
			.method = "POST",
			.url = a->hook->to.url,
			.headers = headers,
			.header_count = count,
			.body = &a->piece,
			.body_count = 1,
			.connect_ms = TH_WEBHOOK_TIMEOUT_MS / 2,
			.total_ms = TH_WEBHOOK_TIMEOUT_MS,
			.body_max = TH_MIB,
			.on_done = on_done,
			.ctx = a,
		};

		return th_fetch_start(a->fetcher, &request, &a->fetch, err);
	}
}

/* The store does not answer now: who is told is told later, with all of it. */
static void unread(struct th_webhook *h, struct th_webhook_item *item,
		   const struct thole_error *why)
{
	put_back(h, item);
	if (!h->unread)
		th_journal_say(h->all->server, "webhook",
			       "a session's row cannot be read, and it is told later: %s",
			       why->text);
	h->unread = true;
	th_timer_start(&h->timer, h->to.retry_ms, 0);
}

static void send_it(struct th_webhook_attempt *a)
{
	struct th_fetch_result r = { .end = TH_FETCH_CONNECT };
	struct th_webhook_item *item = a->item;
	struct th_webhook *h = a->hook;

	a->begun = start(a, &r.err) == TH_OK;
	if (a->begun)
		return;
	free_attempt(a);
	failed(h, item, &r);
}

/* What the client's hook was for is not there any more. */
static void gone(struct th_webhook_attempt *a)
{
	struct th_webhook *h = a->hook;

	th_webhook_item_free(a->item);
	free_attempt(a);
	th_client_hook_drop(h);
}

static const struct th_letters *letters_of(const struct th_webhook *h)
{
	const struct th_service *const *services = h->all->server->services;

	while (!th_str_is(h->client->service, (*services)->name)) /* it is there: it was added */
		services++;
	return (*services)->letters;
}

void th_letter_done(struct th_letter *l, enum th_letter_end how)
{
	struct th_webhook_attempt *a = TH_CONTAINER_OF(l, struct th_webhook_attempt, letter);
	struct thole_error why = { .text = "the store does not answer" };
	struct th_webhook *h = a->hook;
	struct th_webhook_item *item = a->item;

	a->writes = false;
	switch (how) {
	case TH_LETTER_WRITTEN:
		send_it(a);
		break;
	case TH_LETTER_RETRY:
		free_attempt(a);
		unread(h, item, &why);
		break;
	case TH_LETTER_GONE:
		gone(a);
		break;
	}
}

static void write_letter(struct th_webhook_attempt *a)
{
	struct th_letter *l = &a->letter;

	l->server = a->hook->all->server;
	l->hook = a->hook->client;
	l->seq = a->item->seq;
	a->writes = true;
	letters_of(a->hook)->write(l);
}

/* Its row is there, or is not to be had: of one that is gone, or that is damaged. */
static void begin(void *ctx)
{
	struct th_webhook_attempt *a = ctx;
	struct th_webhook *h = a->hook;
	struct th_webhook_item *item = a->item;
	const struct th_found *row =
	    th_need_session(&a->needs, item->session, h->client ? item->user : NULL);

	if (!row)
		return;
	if (row->err && th_code_passes(row->err->code)) {
		struct thole_error why = *row->err;

		free_attempt(a);
		unread(h, item, &why);
		return;
	}
	h->unread = false;
	if (h->client && row->err) {
		gone(a);
		return;
	}
	if (h->client) {
		write_letter(a);
		return;
	}
	a->letter.type = "application/json";
	th_webhook_print(item, row->err ? TH_STR("") : row->text, &a->letter.body);
	send_it(a);
}

/* False: not now. */
static bool send_one(struct th_webhook *h, struct th_webhook_attempt **slot)
{
	struct th_fetcher *fetcher = fetcher_for(h);
	struct th_webhook_item *item = h->first;
	struct th_webhook_attempt *a;

	if (!fetcher)
		return false;
	h->first = item->next;
	if (!h->first)
		h->last = NULL;
	h->count--;
	a = th_alloc(sizeof(*a));
	*a = (struct th_webhook_attempt){ .hook = h, .item = item, .fetcher = fetcher };
	th_buf_init(&a->letter.body, TH_LETTER_SIZE_MAX);
	for (size_t i = 0; i < TH_LETTER_HEADERS_MAX; i++)
		th_buf_init(&a->letter.headers[i].value, TH_CLIENT_HOOK_SIZE_MAX);
	a->needs = (struct th_needs){ .server = h->all->server, .again = begin, .ctx = a };
	*slot = a;
	begin(a);
	return true;
}

void th_webhook_send(struct th_webhook *h)
{
	if (h->off || h->all->closing || th_timer_running(&h->timer))
		return;
	for (size_t i = 0; i < TH_WEBHOOK_FLIGHT_MAX && h->first; i++) {
		/* One that fails is tried alone until it takes something. */
		if (h->failures && i > 0)
			return;
		if (!h->flight[i] && !send_one(h, &h->flight[i]))
			return;
	}
}

void th_webhook_cancel(struct th_webhook *h)
{
	for (size_t i = 0; i < TH_WEBHOOK_FLIGHT_MAX; i++) {
		struct th_webhook_attempt *a = h->flight[i];

		if (!a)
			continue;
		if (a->begun)
			th_fetch_cancel(a->fetcher, a->fetch);
		if (a->writes)
			letters_of(h)->cancel(&a->letter);
		put_back(h, a->item);
		free_attempt(a);
	}
}
