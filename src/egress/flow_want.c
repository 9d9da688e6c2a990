/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_want.c - what a client wants: it is read, decided about by the list and,
 * where that does not have it, perhaps by a person; and dialled.
 */
#include <stdio.h>

#include "base/limits.h"
#include "egress/flow_internal.h"
#include "io/address.h"

/* ---- dialling ---- */

static void on_dialled(void *ctx, int fd, bool refused, const char *why)
{
	struct flow *f = (struct flow *)ctx;
	char text[TH_NET_HOST_MAX + 300];

	if (fd >= 0) {
		f->dial = th_dial_free(f->dial);
		th_flow_relay(f, fd);
		return;
	}
	snprintf(text, sizeof(text), "%s:%u %s: %s", f->host, f->port,
		 refused ? "may not be reached" : "cannot be reached", why);
	th_flow_decide(f, refused ? "refused" : "failed", why);
	f->dial = th_dial_free(f->dial); /* `why` was its */
	th_flow_leave(f, refused ? ANSWER_REFUSED : ANSWER_UNREACHABLE, text);
}

static void dial(struct flow *f)
{
	const struct th_flow_owner *o = f->base.owner;

	f->secret = f->kind != KIND_HTTP &&
		    th_egress_secrets_for(o->secrets, th_str_of(f->host), f->address, f->port);
	f->stage = STAGE_DIAL;
	th_timer_stop(&f->timer); /* dialling ends by itself */
	f->dial = th_dial_new(o->loop, o->policy, f->host, f->port, on_dialled, f);
	th_flow_update(f);
}

/* ---- deciding ---- */

static void refuse(struct flow *f, const char *why)
{
	char text[TH_NET_HOST_MAX + 300];

	th_flow_decide(f, "refused", why);
	snprintf(text, sizeof(text), "%s:%u %s%s%s", f->host, f->port,
		 f->listed ? "may not be reached now" : "is not on the list of this agent (net)",
		 !f->ask_id  ? ""
		 : f->listed ? ": "
			     : ", and ",
		 f->ask_id ? why : "");
	th_flow_leave(f, ANSWER_REFUSED, text);
}

void th_flow_unanswered(struct flow *f)
{
	refuse(f, "nobody decided in time");
}

/* A client that waits for an answer and says that it sends nothing more waits no longer: programs
 * that half-close before they read are not among those that speak to a proxy. */
void th_flow_hung_up(struct flow *f)
{
	const struct th_flow_owner *o = f->base.owner;

	th_flow_decide(f, "refused", "it hung up before anybody decided");
	o->on_withdrawn(o->ctx, f->ask_id);
	th_flow_end(f);
}

bool th_flow_answer(struct th_flow *base, int64_t ask_id, bool allow, struct th_str why)
{
	struct flow *f = (struct flow *)base;
	char text[120];

	if (f->stage != STAGE_ASK || f->ask_id != ask_id)
		return false;
	if (allow) {
		dial(f);
		return true;
	}
	snprintf(text, sizeof(text), "%.*s", TH_FMT(th_str_sub(why, 0, sizeof(text) - 1)));
	refuse(f, text);
	return true;
}

/* Only what the list says nothing of, and never the way inside. */
static bool may_ask(const struct flow *f, const struct th_net_target *target)
{
	struct th_address a;

	if (!f->base.owner->asks || th_net_names(f->base.owner->policy, target))
		return false;
	return !target->address || (th_address_parse(target->host, &a) && th_address_is_public(&a));
}

static void ask(struct flow *f, bool listed)
{
	f->stage = STAGE_ASK;
	f->listed = listed;
	/* Whoever is asked answers before; this is for when that is lost. */
	th_timer_start(&f->timer, TH_EGRESS_ASK_MS + TH_EGRESS_HEAD_MS, 0);
	f->ask_id = f->base.owner->on_ask(f->base.owner->ctx, f->host, f->port, listed);
	th_flow_update(f);
}

/* An address as the system prints it, which is how the list has it. */
static bool canonical(struct flow *f)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf text = TH_BUF_INIT(64);
	struct th_address a;

	if (!th_address_parse(th_str_of(f->host), &a))
		return false;
	th_address_print(&a, &text);
	snprintf(f->host, sizeof(f->host), "%s", text.ptr);
	return true;
}

static void consider(struct flow *f, struct th_str host, uint16_t port, struct th_str method,
		     struct th_str path)
{
	struct th_net_target target = { .port = port, .method = method, .path = path };

	f->port = port;
	if (!th_net_host(host, f->host, &target.address) || (target.address && !canonical(f))) {
		snprintf(f->host, sizeof(f->host), "?");
		th_flow_decide(f, "refused", "it is neither a name nor an address");
		th_flow_leave(f, ANSWER_BAD, "the host is neither a name nor an address");
		return;
	}
	target.host = th_str_of(f->host);
	f->address = target.address;
	if (th_net_match(f->base.owner->policy, &target))
		f->base.owner->asks_listed ? ask(f, true) : dial(f);
	else if (may_ask(f, &target))
		ask(f, false);
	else
		refuse(f, "it is not on the list");
}

/* ---- what the client wants ---- */

static void bad(struct flow *f, const char *why)
{
	snprintf(f->host, sizeof(f->host), "?");
	th_flow_decide(f, "refused", why);
	th_flow_leave(f, ANSWER_BAD, why);
}

static void read_http(struct flow *f)
{
	struct th_err err = {};
	size_t used;
	const char *wrong;

	if (!f->http)
		f->http = th_http1_new_relay();
	enum th_http1_step step = th_http1_feed(f->http, th_buf_str(&f->early), &used, &err);
	th_buf_drop(&f->early, used);
	if (step == TH_HTTP1_MORE)
		return;
	if (step == TH_HTTP1_BAD) {
		bad(f, err.msg);
		return;
	}
	wrong = th_proxy_read(f->http, &f->request);
	if (wrong) {
		bad(f, wrong);
		return;
	}
	f->kind = f->request.tunnel ? KIND_TUNNEL : KIND_HTTP;
	f->chunks = th_http1_header_count(f->http, "transfer-encoding") > 0;
	if (f->request.tunnel)
		consider(f, f->request.host, f->request.port, TH_STR(""), TH_STR(""));
	else
		consider(f, f->request.host, f->request.port, th_http1_method(f->http),
			 f->request.path.len ? f->request.path : TH_STR("/"));
}

static void read_socks(struct flow *f)
{
	enum th_socks_step step = TH_SOCKS_DONE;
	char host[256];
	uint16_t port;
	size_t used = 0;

	f->kind = KIND_SOCKS;
	if (!f->greeted) {
		step = th_socks_greeting(th_buf_str(&f->early), &used);
		f->greeted = step == TH_SOCKS_DONE;
		th_buf_drop(&f->early, used);
		if (f->greeted && !th_flow_give(&f->client, TH_STR(TH_SOCKS_WELCOME))) {
			th_flow_end(f);
			return;
		}
	}
	if (step == TH_SOCKS_DONE)
		step = th_socks_request(th_buf_str(&f->early), host, &port, &used);
	if (step == TH_SOCKS_BAD) {
		bad(f, "this is not a SOCKS 5 request to connect, without a password");
	} else if (step == TH_SOCKS_DONE) {
		th_buf_drop(&f->early, used);
		consider(f, th_str_of(host), port, TH_STR(""), TH_STR(""));
	}
}

void th_flow_want(struct flow *f)
{
	ssize_t got = th_flow_read(f);

	if (got < 0) {
		th_flow_end(f);
		return;
	}
	if (f->early.failed)
		bad(f, "too much came before it was clear what is wanted");
	else if (f->early.len > 0 && f->early.ptr[0] == TH_SOCKS_VERSION && !f->http)
		read_socks(f);
	else if (f->early.len > 0 && f->kind == KIND_SOCKS)
		read_socks(f);
	else if (f->early.len > 0)
		read_http(f);
}
