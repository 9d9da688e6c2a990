/* SPDX-License-Identifier: Apache-2.0 */
#include "server/webhooks.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/wiped.h"
#include "io/clock.h"
#include "server/service.h"

bool th_webhooks_any(const struct th_webhooks *w)
{
	return w && w->first;
}

void th_webhooks_event(struct th_webhooks *w, const char *session, const char *user,
		       struct th_str event)
{
	struct th_buf more TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_str kind = th_json_raw_inside(th_json_raw_get(event, "kind"));
	struct th_webhook_item *item;
	enum th_webhook_event e;

	if (!th_webhooks_any(w) ||
	    !th_webhook_event_of(kind, th_json_raw_get(event, "data"), &e, &more) ||
	    th_json_parse(event, &doc, NULL) != TH_OK)
		return;
	item = th_webhook_item_new(th_str_of(session), th_str_of(user), th_buf_str(&more));
	item->event = e;
	item->seq = (uint64_t)th_json_get_int(th_json_root(doc), "seq", 0);
	item->ts_ms = th_json_get_int(th_json_root(doc), "ts_ms", 0);
	for (struct th_webhook *h = w->first; h; h = h->next)
		if (th_webhook_wants(h, item)) {
			th_webhook_queue(h, item);
			th_webhook_send(h);
		}
	th_webhook_item_free(item);
}

void th_webhooks_recover(struct th_webhooks *w)
{
	for (struct th_webhook *h = w->first; h; h = h->next)
		th_webhook_scan(h);
}

/* ---- life ---- */

static void free_hook(struct th_webhook *h)
{
	th_shared_gone(h);
	th_webhook_scan_cancel(h);
	th_webhook_cancel(h);
	th_timer_stop(&h->timer);
	th_webhook_clear(h);
	explicit_bzero(&h->to, sizeof(h->to));
	th_buf_deinit(&h->url);
	th_buf_deinit(&h->user);
	th_buf_wipe(&h->client_text);
	free(h->client);
	free(h->done);
	free(h);
}

/* Those that `goes` says are taken out. */
static void drop_those(struct th_webhooks *w, bool (*goes)(const struct th_webhook *h))
{
	for (struct th_webhook **at = &w->first; *at;) {
		struct th_webhook *h = *at;

		if (!goes(h)) {
			at = &h->next;
			continue;
		}
		*at = h->next;
		free_hook(h);
	}
}

static bool is_unknown(const struct th_webhook *h)
{
	return !h->client && !h->known;
}

static bool is_over(const struct th_webhook *h)
{
	return h->client && h->off && !h->putting;
}

static void set(struct th_webhook *h, const struct th_webhook_to *to)
{
	h->to = *to;
	th_buf_clear(&h->url);
	th_buf_add(&h->url, to->url);
	th_buf_clear(&h->user);
	th_buf_add(&h->user, to->user);
	h->to.url = th_buf_str(&h->url);
	h->to.user = th_buf_str(&h->user);
	h->known = true;
	h->off = false;
	h->failures = 0;
	h->good_ms = th_loop_now_ms(h->all->server->loop);
}

static struct th_webhook *find(struct th_webhooks *w, const char *name)
{
	struct th_webhook *h = w->first;

	while (h && (h->client || strcmp(h->to.name, name) != 0))
		h = h->next;
	return h;
}

void th_webhooks_configure(struct th_webhooks *w)
{
	const struct th_settings *set_to = &w->server->settings;

	for (struct th_webhook *h = w->first; h; h = h->next)
		h->known = false;
	for (size_t i = 0; i < set_to->webhook_count; i++) {
		struct th_webhook *h = find(w, set_to->webhooks[i].name);

		if (!h)
			h = th_webhook_new(w);
		set(h, &set_to->webhooks[i]);
		th_webhook_send(h);
	}
	drop_those(w, is_unknown);
	if (w->shared)
		th_shared_again(w->shared);
	w->dirty = true;
}

/* From when on they are told: before anything happens. */
static void begin(struct th_webhooks *w)
{
	struct th_err err = {};

	if (th_webhooks_load(w, &err) != TH_OK)
		th_journal_say(w->server, "webhooks", "%s", err.msg);
	if (w->server->fleet)
		w->shared = th_shared_new(w); /* what the file had goes there, too */
	else if (w->first && th_webhooks_save(w, &err) != TH_OK)
		th_journal_say(w->server, "webhooks", "%s", err.msg);
}

struct th_webhooks *th_webhooks_new(struct th_server *s, struct th_str path)
{
	struct th_webhooks *w = th_alloc(sizeof(*w));

	*w = (struct th_webhooks){ .server = s, .path = TH_BUF_INIT(TH_PATH_LEN_MAX) };
	th_buf_add(&w->path, path);
	th_webhooks_configure(w);
	begin(w);
	return w;
}

struct th_webhooks *th_webhooks_free(struct th_webhooks *w)
{
	struct th_err err = {};

	if (!w)
		return NULL;
	w->closing = true;
	for (struct th_webhook *h = w->first; h; h = h->next)
		th_webhook_cancel(h);
	if (w->shared)
		th_shared_put(w->shared); /* it may come too late: others tell that twice */
	else if (w->first && th_webhooks_save(w, &err) != TH_OK)
		th_journal_say(w->server, "webhooks", "%s", err.msg);
	w->shared = th_shared_free(w->shared);
	while (w->first) {
		struct th_webhook *h = w->first;

		w->first = h->next;
		free_hook(h);
	}
	th_fetcher_free(w->any);
	th_fetcher_free(w->guarded);
	th_buf_deinit(&w->path);
	free(w);
	return NULL;
}

void th_webhooks_sweep(struct th_webhooks *w)
{
	struct th_err err = {};

	drop_those(w, is_over);
	for (struct th_webhook *h = w->first; h; h = h->next)
		if (h->skipped_ms && !h->count && !h->off && !h->scan) /* there is room again */
			th_webhook_scan(h);
	if (w->shared) {
		th_shared_sweep(w->shared);
		return;
	}
	if (!w->dirty)
		return;
	w->dirty = false;
	if (th_webhooks_save(w, &err) != TH_OK)
		th_journal_say(w->server, "webhooks", "%s", err.msg);
}

enum th_code th_client_hook_add(struct th_webhooks *w, const struct th_client_hook *c,
				struct th_err *err)
{
	struct th_webhook *old = th_client_hook_find(w, c), *h;
	enum th_code code = th_client_hook_check(w, c, err);

	if (code)
		return code;
	h = th_client_hook_new(w, c);
	h->early = true;
	h->again = old && (!old->early || old->again);
	if (old) /* until it is written down there are both */
		old->replaced = true;
	h->fresh = w->shared;
	if (w->shared)
		return TH_OK;
	code = th_webhooks_append(w, h, err);
	th_client_hook_settle(h, !code);
	return code;
}

size_t th_webhooks_waiting(const struct th_webhooks *w)
{
	size_t count = 0;

	for (const struct th_webhook *h = w->first; h; h = h->next)
		count += h->count;
	return count;
}
