/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/host.h"

#include "driver/driver.h"
#include "live/expiry.h"
#include "live/log.h"
#include "live/queue.h"
#include "session_tools/origin.h"

static void tell(struct th_live *l, struct th_ticket t, struct th_str host, uint16_t port,
		 bool allow)
{
	l->driver->world.ops->tool_host(l->driver->world.ctx, t, host, port, allow);
}

void th_live_host_said(struct th_live *l, const struct th_call *c)
{
	if (c->host.phase != TH_HOST_ASKED)
		tell(l, th_live_ticket(l, c->intent_seq), c->host.name, c->host.port,
		     c->host.phase == TH_HOST_ALLOWED);
}

bool th_live_asks_hosts(const struct th_live *l)
{
	struct th_tainted t;

	return th_live_tainted(l, &t) && t.ask & TH_GUARDED_BIT(TH_GUARDED_HOST);
}

static int64_t expires_ms(const struct th_live *l)
{
	int64_t last = l->driver->world.ops->now_ms(l->driver->world.ctx) + TH_EGRESS_ASK_MS;
	int64_t agents = th_live_expires_ms(l);

	return agents ? TH_MIN(agents, last) : last;
}

static void ask(struct th_live *l, const struct th_call *c, struct th_str host, uint16_t port,
		bool listed)
{
	struct th_tainted t;
	struct th_buf reason TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	char digest[TH_SHA256_HEX_SIZE + 1];
	struct th_ev_approval_requested d = {
		.call_id = c->call_id, .host = host, .port = port, .expires_ms = expires_ms(l)
	};

	th_host_digest(host, port, digest);
	d.digest = th_str_of(digest);
	th_buf_printf(&reason, "while it runs, it wants to reach %.*s:%u, ", TH_FMT(host), port);
	if (listed && th_live_tainted(l, &t))
		th_buf_printf(
		    &reason,
		    "where the session has not been since untrusted bytes (%s, event %llu) "
		    "are in the context",
		    th_origin_name(t.origin), (unsigned long long)t.seq);
	else
		th_buf_add_cstr(&reason, "which net does not list");
	d.reason = th_buf_str(&reason);
	th_live_write_event(l, TH_EV_APPROVAL_REQUESTED, TH_SOURCE_ENVIRONMENT, c->intent_seq,
			    c->call_id, &d);
}

/* What somebody is being asked already is answered with that. */
void th_driver_tool_asks(struct th_driver *d, struct th_ticket t, struct th_str host, uint16_t port,
			 bool listed)
{
	struct th_live *l = th_live_find(d, t.index, t.generation);
	const struct th_call *c =
	    l && !l->lost && t.kind == TH_TICKET_EVENT ? th_live_intended(l, t.seq) : NULL;
	const struct th_said_host *said;

	if (!l || l->lost)
		return;
	said = th_session_host(&l->fold, host, port);
	if (c && c->host.phase == TH_HOST_ASKED && c->host.port == port &&
	    th_str_eq(c->host.name, host))
		return;
	if (!c || said || c->host.phase == TH_HOST_ASKED ||
	    !(listed ? th_live_asks_hosts(l) : l->session_config->agent->net_ask) ||
	    (l->fold.state != TH_STATE_RUNNING && l->fold.state != TH_STATE_WAITING)) {
		tell(l, t, host, port, c && said && said->allow);
		return;
	}
	ask(l, c, host, port, listed);
	th_live_pump(l);
}

void th_driver_tool_withdraws(struct th_driver *d, struct th_ticket t, struct th_str host,
			      uint16_t port)
{
	struct th_live *l = th_live_find(d, t.index, t.generation);
	const struct th_call *c =
	    l && !l->lost && t.kind == TH_TICKET_EVENT ? th_live_intended(l, t.seq) : NULL;
	char digest[TH_SHA256_HEX_SIZE + 1];
	struct th_ev_approval_decided e = {
		.host = host,
		.port = port,
		.expired = true,
		.withdrawn = true,
		.message = TH_STR("what asked for it has hung up before anybody decided"),
	};

	if (!c || c->host.phase != TH_HOST_ASKED || c->host.port != port ||
	    !th_str_eq(c->host.name, host))
		return; /* somebody has decided meanwhile */
	th_host_digest(host, port, digest);
	e.call_id = c->call_id;
	e.digest = th_str_of(digest);
	th_live_write_event(l, TH_EV_APPROVAL_DECIDED, TH_SOURCE_ENVIRONMENT, c->call_seq,
			    c->call_id, &e);
	th_live_pump(l);
}
