/* SPDX-License-Identifier: Apache-2.0 */
/* webhooks_queue.c - what waits to be told, each once. */
#include "server/service.h"

static bool same(const struct th_webhook_item *a, const struct th_webhook_item *b)
{
	return a->seq == b->seq && strcmp(a->session, b->session) == 0;
}

/* An event may be read here before the runtime tells of it: it is looked for until that is past. */
static bool may_be_known(const struct th_webhook *h)
{
	return h->scan || (h->scanned_ms && th_loop_now_ms(h->all->server->loop) <
						h->scanned_ms + TH_WEBHOOK_SLACK_MS);
}

static bool is_known(const struct th_webhook *h, const struct th_webhook_item *item)
{
	struct th_webhook_id id;

	if (!may_be_known(h))
		return false;
	id = th_webhook_id_of(item->session, item->seq);
	for (size_t i = 0; i < h->done_count; i++)
		if (memcmp(&h->done[i].id, &id, sizeof(id)) == 0)
			return true;
	for (size_t i = 0; i < TH_WEBHOOK_FLIGHT_MAX; i++)
		if (h->flight[i] && same(th_webhook_flies(h->flight[i]), item))
			return true;
	for (const struct th_webhook_item *other = h->first; other; other = other->next)
		if (same(other, item))
			return true;
	return false;
}

bool th_webhook_wants(const struct th_webhook *h, const struct th_webhook_item *item)
{
	const struct th_client_hook *c = h->client;

	if (h->off || h->replaced || !(h->to.events & 1u << item->event) ||
	    (h->to.user.len && !th_str_is(h->to.user, item->user)))
		return false;
	return !c || (!h->ending && item->seq > c->after && th_str_is(c->session, item->session));
}

/* What has no room waits in its log: its time is remembered. */
void th_webhook_queue(struct th_webhook *h, const struct th_webhook_item *like)
{
	struct th_webhook_item *item;

	if (is_known(h, like))
		return;
	if (h->count >= TH_WEBHOOK_QUEUE_MAX || h->skipped_ms) {
		if (!h->skipped_ms || like->ts_ms < h->skipped_ms)
			h->skipped_ms = like->ts_ms;
		return;
	}
	item = th_webhook_item_new(th_str_of(like->session), th_str_of(like->user),
				   th_str_of(like->more));
	item->seq = like->seq;
	item->ts_ms = like->ts_ms;
	item->event = like->event;
	if (h->last)
		h->last->next = item;
	else
		h->first = item;
	h->last = item;
	h->count++;
	h->ending = th_client_hook_ends(h, item->event);
	h->all->dirty = true;
}
