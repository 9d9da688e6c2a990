/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expiry.c - approvals that nobody decides: refused when their time is
 * over.  The time stands in the event that asks, so it goes on while no process
 * has the session; whoever opens it next finds it over.
 */
#include "live/expiry.h"

#include "live/log.h"

static void write_expired(struct th_live *l, const struct th_call *c)
{
	struct th_ev_approval_decided d = {
		.call_id = c->call_id,
		.digest = th_str_of(c->digest),
		.expired = true,
		.message = TH_STR("nobody decided in time whether it may run"),
	};
	char digest[TH_SHA256_HEX_SIZE + 1];

	if (c->phase == TH_CALL_INTENDED) {
		th_host_digest(c->host.name, c->host.port, digest);
		d.digest = th_str_of(digest);
		d.host = c->host.name;
		d.port = c->host.port;
		d.message = TH_STR("nobody decided in time whether it may be reached");
	}
	th_live_write_event(l, TH_EV_APPROVAL_DECIDED, TH_SOURCE_ENVIRONMENT, c->call_seq,
			    c->call_id, &d);
}

bool th_live_expire(struct th_live *l)
{
	struct th_driver *d = l->driver;
	const struct th_session *s = &l->fold;
	int64_t now = 0, next = 0;
	bool any = false;

	for (size_t i = 0; i < s->call_count && !l->lost; i++) {
		const struct th_call *c = &s->calls[i];

		if (!th_call_asks(c) || !c->expires_ms)
			continue;
		now = now ? now : d->world.ops->now_ms(d->world.ctx);
		if (c->expires_ms <= now) {
			write_expired(l, c);
			any = true;
		} else if (!next || c->expires_ms < next) {
			next = c->expires_ms;
		}
	}
	/* A session has one timer; its other users come back here when it expires. */
	if (next && !l->grounds)
		d->world.ops->timer(d->world.ctx, th_live_ticket(l, s->seq), next - now);
	return any;
}

int64_t th_live_expires_ms(const struct th_live *l)
{
	int64_t seconds = l->session_config->agent->approve_seconds;

	if (!seconds)
		return 0;
	return l->driver->world.ops->now_ms(l->driver->world.ctx) + seconds * 1000;
}
