/* SPDX-License-Identifier: Apache-2.0 */
/* webhooks_look.c - clients' hooks whose sessions other nodes may have. */
#include <stdio.h>

#include "server/service.h"

static bool is_here(const struct th_webhook *h)
{
	char name[TH_SESSION_ID_MAX + 1];
	const struct th_hub *hub;

	snprintf(name, sizeof(name), "%.*s", TH_FMT(h->client->session));
	hub = th_hub_find(h->all->server, name);
	return hub && hub->session;
}

/* A session that is not open here may go on anywhere, and this node alone knows of the hook. */
void th_client_hooks_look(struct th_webhooks *w)
{
	size_t looks = 0;

	for (struct th_webhook *h = w->server->fleet ? w->first : NULL; h; h = h->next) {
		if (!h->client || h->off || h->early || h->replaced || h->ending || h->scan ||
		    h->skipped_ms || h->looked == w->round)
			continue;
		if (looks == TH_CLIENT_HOOK_LOOKS_MAX)
			return; /* the others have their turn in the next ones */
		h->looked = w->round;
		if (is_here(h))
			continue; /* its events are told as they come */
		looks++;
		th_webhook_scan(h);
	}
	w->round++;
}
