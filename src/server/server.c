/* SPDX-License-Identifier: Apache-2.0 */
#include "server/server.h"

#include <stdio.h>
#include <stdlib.h>

#include "io/clock.h"
#include "io/listen.h"
#include "io/tls.h"
#include "server/fleet.h"
#include "server/service.h"

/* ---- once a second ---- */

/* ---- requests ---- */

static size_t on_head(void *ctx, struct th_http_request *r)
{
	struct th_server *s = ctx;
	struct th_access *a = th_access_new(s, r);

	th_guard_from(a);
	s->metrics.requests++;
	if (!th_guard_place(a))
		return 0;
	if (th_http_header(r, TH_DOOR_HEADER).ptr)
		return th_door_passed(a);
	if (!th_route_find(a))
		return 0;
	if (a->route->scope) {
		if (!th_guard_caller(a))
			return 0;
		if (!(a->scopes & a->route->scope)) {
			struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

			th_scopes_print(a->route->scope, &name);
			th_access_fail(a, 403, "scope", "this token does not have the scope %s",
				       name.ptr);
			return 0;
		}
	}
	if (strcmp(a->route->method, "GET") != 0 && !th_guard_type(a))
		return 0;
	return a->route->body_max;
}

static void on_request(void *ctx, struct th_http_request *r)
{
	struct th_access *a = th_http_data(r);

	(void)ctx;
	if (!th_forward_takes(a))
		a->route->fn(a);
}

static void on_end(void *ctx, struct th_http_request *r, int status, uint64_t sent)
{
	th_access_end(ctx, r, status, sent);
}

static void on_connection(void *ctx, int fd)
{
	struct th_server *s = ctx;

	th_http_server_take(s->http, fd);
}

/* ---- each second ---- */

static void on_sweep(void *ctx)
{
	struct th_server *s = ctx;

	th_changes_sweep(s);
	th_hubs_sweep(s);
	th_revoke_sweep(s);
	th_fleet_sweep(s->fleet);
	th_webhooks_sweep(s->webhooks);
	th_client_hooks_look(s->webhooks);
	for (size_t i = 0; s->services[i]; i++)
		if (s->services[i]->sweep)
			s->services[i]->sweep(s);
	th_server_look(s); /* of nodes that died, and what nobody told */
	if (++s->beat % (TH_SERVE_PING_MS / 1000) == 0)
		th_hubs_ping(s);
}

/* ---- life ---- */

static enum th_code load_tokens(struct th_server *s, struct th_tokens *ret, struct th_err *err)
{
	char path[TH_PATH_LEN_MAX];
	enum th_code code = TH_OK;

	if (s->o.token_store.len) {
		snprintf(path, sizeof(path), "%.*s", TH_FMT(s->o.token_store));
		code = th_tokens_load(path, ret, err);
	}
	if (!code && s->o.tokens.len) {
		snprintf(path, sizeof(path), "%.*s", TH_FMT(s->o.tokens));
		code = th_tokens_read(path, ret, err);
	}
	return code;
}

/* Configuration, agents and tokens: all, or none. */
enum th_code th_server_reload(struct th_server *s, struct th_str serve, struct th_err *err)
{
	struct th_settings settings = { 0 };
	struct th_served agents = { 0 };
	struct th_tokens tokens = { 0 };
	enum th_code code = th_settings_parse(serve, &settings, err);

	if (!code)
		code = th_served_load(s->o.agents, &agents, err);
	if (!code)
		code = load_tokens(s, &tokens, err);
	/* What is passed on, and what others know of this node, hangs on it. */
	if (!code && s->listen && !s->fleet != !settings.s.fleet)
		code = th_fail(err, TH_EUSAGE,
			       "serve.fleet: a server becomes a node of a fleet, or ceases to be "
			       "one, when it is started again");
	if (code) {
		th_settings_deinit(&settings);
		th_served_deinit(&agents);
		th_tokens_deinit(&tokens);
		return code;
	}
	th_settings_deinit(&s->settings);
	th_served_deinit(&s->agents);
	th_tokens_deinit(&s->tokens);
	s->settings = settings;
	s->agents = agents;
	s->tokens = tokens;
	s->tokens_stamp = 0;
	s->tokens_pass = 0;
	s->tokens_version++;
	if (s->webhooks)
		th_webhooks_configure(s->webhooks);
	if (s->fleet)
		th_fleet_configure(s->fleet);
	return TH_OK;
}

static enum th_code start(struct th_server *s, struct th_err *err)
{
	struct th_http_handlers handlers = {
		.on_head = on_head, .on_request = on_request, .on_end = on_end, .ctx = s
	};
	enum th_code code = th_server_reload(s, s->o.serve, err);

	th_access_handlers(&handlers);
	if (!code && s->o.cert)
		code = th_tls_config_new(s->o.cert, s->o.key, &s->tls, err);
	if (code)
		return code;
	s->http = th_http_server_new(s->loop, &handlers, s->tls);
	code = th_listen_new(s->loop, s->o.listen, on_connection, s, &s->listen, err);
	if (!code)
		code = th_drive_begin(s, err);
	for (size_t i = 0; !code && s->services[i]; i++)
		if (s->services[i]->begin)
			code = s->services[i]->begin(s, err);
	if (code)
		return code;
	code = th_fleet_new(s, &s->fleet, err);
	if (code)
		return code;
	s->webhooks = th_webhooks_new(s, s->o.outbox);
	th_webhooks_recover(s->webhooks);
	th_timer_start(&s->sweep, 1000, 1000);
	th_workspaces_sweep(s);
	code = th_server_recover(s, err);
	if (!code)
		th_server_kick(s);
	return code;
}

enum th_code th_server_new(struct th_loop *l, struct thole_runtime *rt,
			   const struct th_server_options *o, struct th_server **ret,
			   struct th_err *err)
{
	struct th_server *s = th_alloc(sizeof(*s));
	enum th_code code;

	*s = (struct th_server){ .loop = l, .rt = rt, .o = *o, .services = o->services };
	th_timer_init(&s->sweep, l, on_sweep, s);
	th_hubs_init(s);
	th_begin_queue_init(&s->begins, l, th_quota_turn);
	s->started_ms = th_loop_now_ms(l);
	s->began_ms = (int64_t)th_clock_wall_ms();
	code = start(s, err);
	if (code)
		th_server_free(s);
	else
		*ret = s;
	return code;
}

void th_server_print(const struct th_server *s, struct th_buf *out)
{
	if (th_listen_port(s->listen))
		th_buf_add_cstr(out, s->tls ? "https://" : "http://");
	th_listen_print(s->listen, out);
}

void th_server_print_services(const struct th_server *s, struct th_buf *out)
{
	for (size_t i = 0; s->services[i]; i++)
		if (s->services[i]->print_place)
			s->services[i]->print_place(s, out);
}

bool th_server_has_tokens(const struct th_server *s)
{
	for (size_t i = 0; i < s->tokens.count; i++)
		if (s->tokens.list[i].kind != TH_TOKEN_CODE)
			return true;
	return false;
}

void th_server_finish(struct th_server *s)
{
	s->finishing = true;
	s->listen = th_listen_free(s->listen);
	for (size_t i = 0; s->services[i]; i++)
		if (s->services[i]->finish)
			s->services[i]->finish(s);
	if (s->http)
		th_http_server_finish(s->http);
	th_fleet_finish(s->fleet);
	th_hubs_finish(s);
}

bool th_server_drain(struct th_server *s)
{
	if (s->fleet)
		th_fleet_drain(s->fleet);
	return s->fleet;
}

size_t th_server_left(const struct th_server *s)
{
	return s->fleet ? s->fleet->left : 0;
}

bool th_server_idle(const struct th_server *s)
{
	for (size_t i = 0; s->services[i]; i++)
		if (s->services[i]->idle && !s->services[i]->idle(s))
			return false;
	return th_http_server_count(s->http) == 0 && !s->changes;
}

struct th_server *th_server_free(struct th_server *s)
{
	if (!s)
		return NULL;
	s->finishing = s->closing = true;
	th_hubs_finish(s);
	for (size_t i = 0; s->services[i]; i++)
		if (s->services[i]->free)
			s->services[i]->free(s);
	th_http_server_free(s->http);
	th_begin_queue_deinit(&s->begins);
	th_changes_free(s);
	th_server_recover_end(s);
	s->fleet = th_fleet_free(s->fleet);
	s->webhooks = th_webhooks_free(s->webhooks); /* what they read listens to hubs */
	th_hubs_deinit(s);
	th_listen_free(s->listen);
	th_tls_config_free(s->tls);
	th_drive_end(s);
	th_timer_stop(&s->sweep);
	th_rates_deinit(&s->users);
	th_rates_deinit(&s->strangers);
	th_settings_deinit(&s->settings);
	th_served_deinit(&s->agents);
	th_tokens_deinit(&s->tokens);
	free(s);
	return NULL;
}
