/* SPDX-License-Identifier: Apache-2.0 */
#include "server/pass.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/fleet.h"
#include "server/service.h"
#include "wire/percent.h"

#define CONNECT_MS 2000
#define AGAIN_MS 150 /* before the next look, and longer each time */

struct th_pass {
	struct th_pass *prev, *next; /* of the fleet's */
	struct th_fleet *fleet;
	struct th_pass_request to;
	struct th_node_find find;
	struct th_fetch_id fetch;
	struct th_timer again;
	struct th_buf user, scopes, path;
	char method[8];
	int tries, status;
	bool sent, moved;
};

struct th_pass *th_pass_next(const struct th_pass *p)
{
	return p->next;
}

const char *th_pass_address(const struct th_pass *p)
{
	return p->sent ? p->find.address : "";
}

void th_pass_free(struct th_pass *p)
{
	if (!p)
		return;
	th_node_find_stop(&p->find);
	th_timer_stop(&p->again);
	if (p->sent)
		th_fetch_cancel(p->fleet->fetcher, p->fetch);
	*(p->prev ? &p->prev->next : &p->fleet->passes) = p->next;
	if (p->next)
		p->next->prev = p->prev;
	p->fleet->count--;
	th_buf_deinit(&p->user);
	th_buf_deinit(&p->scopes);
	th_buf_deinit(&p->path);
	free(p);
}

static void end(struct th_pass *p, enum th_pass_end how, const char *why)
{
	struct th_pass_request to = p->to;
	int status = p->status;

	p->fleet->lost += how == TH_PASS_LOST;
	th_pass_free(p);
	to.end(to.ctx, how, status, why);
}

void th_pass_lose(struct th_pass *p)
{
	end(p, TH_PASS_LOST,
	    "the node that has the session is dead; whether it took this is not known");
}

/* ---- the answer ---- */

static bool on_head(void *ctx, const struct th_fetch_head *head)
{
	struct th_pass *p = ctx;

	p->status = head->status;
	p->moved = head->status == 421;
	return !p->moved;
}

static bool on_data(void *ctx, struct th_str bytes)
{
	struct th_pass *p = ctx;

	p->to.data(p->to.ctx, p->status, bytes);
	return true;
}

static void on_done(void *ctx, const struct th_fetch_result *result)
{
	struct th_pass *p = ctx;

	p->sent = false;
	if (p->moved && p->tries < TH_FLEET_TRIES_MAX) {
		p->fleet->moved++;
		th_timer_start(&p->again, (uint64_t)p->tries * AGAIN_MS, 0);
	} else if (p->moved) {
		end(p, TH_PASS_LOST, "the session moves from node to node; try again");
	} else if (result->end == TH_FETCH_OK || result->end == TH_FETCH_STATUS) {
		end(p, TH_PASS_WHOLE, NULL);
	} else {
		end(p, TH_PASS_LOST,
		    result->sent
			? "the node that has the session went away; whether it took this is "
			  "not known"
			: "the node that has the session does not answer; try again");
	}
}

/* ---- the request ---- */

static void send_on(struct th_pass *p)
{
	const struct th_serve_fleet *set = p->fleet->server->settings.s.fleet;
	struct th_buf url TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP1_HEAD_MAX);
	const struct th_fetch_header headers[] = {
		{ "thole-node-user", th_buf_str(&p->user) },
		{ "thole-node-scopes", th_buf_str(&p->scopes) },
		{ "content-type", TH_STR("application/json") },
	};
	const struct th_fetch_request request = {
		.method = p->method,
		.headers = headers,
		.header_count = TH_COUNT(headers),
		.secret = p->fleet->server->settings.fleet_secret,
		.body = &p->to.body,
		.body_count = p->to.body.len ? 1 : 0,
		.once = true,
		.connect_ms = CONNECT_MS,
		.byte_idle_ms = 1000 * (uint64_t)(set->idle_s ? set->idle_s : TH_FLEET_IDLE_S),
		.body_max = SIZE_MAX,
		.on_head = on_head,
		.on_data = on_data,
		.on_done = on_done,
		.ctx = p,
	};
	struct th_fetch_request whole = request;
	struct th_err err = { 0 };

	th_buf_printf(&url, "%s%s", p->find.address, p->path.ptr);
	whole.url = th_buf_str(&url);
	p->moved = false;
	p->tries++;
	p->fleet->forwarded++;
	if (th_fetch_start(p->fleet->fetcher, &whole, &p->fetch, &err) != TH_OK)
		end(p, TH_PASS_LOST, err.msg);
	else
		p->sent = true;
}

static void on_found(void *ctx, int code, const struct thole_error *err)
{
	struct th_pass *p = ctx;
	const struct th_serve_fleet *set = p->fleet->server->settings.s.fleet;

	if (code)
		end(p, TH_PASS_LOST, err->text);
	else if (!p->find.found || !p->find.address[0] || !set ||
		 th_str_is(set->address, p->find.address))
		end(p, TH_PASS_HERE, NULL);
	else
		send_on(p);
}

static void look_again(void *ctx)
{
	struct th_pass *p = ctx;
	struct thole_error err;

	if (th_node_find_start(&p->find, &err) != 0)
		end(p, TH_PASS_LOST, err.text);
	else
		th_server_kick(p->fleet->server);
}

int th_pass_start(struct th_access *a, const struct th_pass_request *r, struct th_pass **ret,
		  struct thole_error *err)
{
	struct th_fleet *f = a->server->fleet;
	const struct th_hub *h = th_hub_find(a->server, r->session);
	struct th_pass *p;
	int code;

	*ret = NULL;
	if (!f || a->by_node || (h && h->session))
		return 0;
	if (f->count >= TH_FLEET_FORWARDS_MAX) {
		*err = (struct thole_error){ .code = THOLE_ELIMIT };
		snprintf(err->text, sizeof(err->text), "too many requests are passed on already");
		return THOLE_ELIMIT;
	}
	p = th_alloc(sizeof(*p));
	*p = (struct th_pass){ .fleet = f, .to = *r, .next = f->passes };
	th_buf_init(&p->user, 4 * TH_USER_MAX);
	th_buf_init(&p->scopes, TH_KIB);
	th_buf_init(&p->path, TH_KIB);
	th_percent_encode(th_str_of(a->user), &p->user);
	th_scopes_print(a->scopes, &p->scopes);
	th_buf_add_cstr(&p->path, r->path);
	snprintf(p->method, sizeof(p->method), "%s", r->method);
	th_timer_init(&p->again, a->server->loop, look_again, p);
	th_node_find_init(&p->find, a->server, on_found, p);
	p->find.by = TH_FIND_SESSION;
	snprintf(p->find.what, sizeof(p->find.what), "%s", r->session);
	if (p->next)
		p->next->prev = p;
	f->passes = p;
	f->count++;
	code = th_node_find_start(&p->find, err);
	if (code == 0) {
		*ret = p;
		th_server_kick(a->server);
		return 0;
	}
	th_pass_free(p);
	return code == THOLE_EUSAGE ? 0 : code; /* it is no session's id */
}
