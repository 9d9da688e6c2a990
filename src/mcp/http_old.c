/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_old.c - a server at an address that speaks HTTP+SSE of 2024-11-05: one stream (GET) brings
 * all that it says; its first event names the address to which messages go (POST).
 *
 * Such a server is known by what it says to the first message of the newer form: a status that
 * says that nothing is posted there.  That is asked once for each server of a session.
 */
#include "mcp/http.h"

#include "wire/mcp_endpoint.h"

void th_mcp_old_open(struct th_mcp_process *p)
{
	struct th_mcp_exchange *e;

	for (e = th_mcp_http_of(p)->exchanges; e; e = e->next)
		if (e->carries)
			return;
	e = th_mcp_exchange_new(p, TH_STR(""));
	e->quiet = e->carries = true;
	th_mcp_http_dispatch(e);
}

bool th_mcp_old_begin(struct th_mcp_exchange *e)
{
	struct th_mcp_http_channel *h = th_mcp_http_of(e->p);

	if (h->old || !e->is_first || e->id != e->p->client.initialize_id ||
	    (e->status != 400 && e->status != 404 && e->status != 405))
		return false;
	h->old = true;
	h->refused = e->status;
	th_buf_clear(&e->answer);
	e->status = 0;
	e->waits_place = true;
	th_timer_start(&e->p->timer, (uint64_t)e->p->start_ms, 0);
	th_mcp_old_open(e->p);
	return true;
}

void th_mcp_old_endpoint(struct th_mcp_exchange *e, struct th_str named)
{
	struct th_mcp_process *p = e->p;
	struct th_mcp_http_channel *h = th_mcp_http_of(p);
	struct th_err err = {};

	if (h->endpoint.len || p->stage == TH_MCP_DOOMED)
		return; /* it is said once */
	if (th_mcp_endpoint(th_str_of(h->url), named, &h->endpoint, &err)) {
		th_buf_clear(&h->endpoint);
		th_prefix(&err, err.code, "the server %.*s", TH_FMT(p->name));
		th_mcp_process_doom(p, &err);
		return;
	}
	/* In the order in which they were to be sent: new ones stand in front. */
	for (;;) {
		struct th_mcp_exchange *first = NULL;

		for (struct th_mcp_exchange *x = h->exchanges; x; x = x->next)
			first = x->waits_place ? x : first;
		if (!first)
			return;
		first->waits_place = false;
		th_mcp_exchange_start(first, false, first->once);
	}
}

void th_mcp_old_over(struct th_mcp_exchange *e, const struct th_fetch_result *r)
{
	struct th_mcp_process *p = e->p;
	struct th_mcp_http_channel *h = th_mcp_http_of(p);
	struct th_err err = {};

	if (e->status == 401 || e->status == 403) {
		th_mcp_exchange_say(e, r, &err);
	} else if (r->err.code) {
		th_fail(&err, TH_ECONN, "the stream of the server %.*s: %s", TH_FMT(p->name),
			r->err.msg);
	} else if (!h->endpoint.len) {
		th_fail(&err, TH_EPROTO,
			"the server %.*s answered with HTTP status %d, and has no stream of an "
			"older server (HTTP status %d)",
			TH_FMT(p->name), h->refused, e->status);
		h->old = false; /* it may have been ill: the next start asks anew */
	} else {
		th_fail(&err, TH_EPROTO, "the stream of the server %.*s has ended",
			TH_FMT(p->name));
	}
	th_mcp_exchange_free(e);
	th_mcp_process_doom(p, &err);
}
