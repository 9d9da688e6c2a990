/* SPDX-License-Identifier: Apache-2.0 */
#include "server/door.h"

#include "io/listen.h"
#include "server/fleet.h"
#include "server/service.h"
#include "wire/authority.h"

bool th_door_place(const struct th_access *a)
{
	struct th_str host = th_http_header(a->request, "host");
	struct th_str origin = th_http_header(a->request, "origin");
	struct th_str site = th_http_header(a->request, "sec-fetch-site");

	return th_http_header_count(a->request, "host") == 1 && th_authority_is_loopback(host) &&
	       th_http_header_count(a->request, "origin") <= 1 &&
	       (!origin.ptr || th_authority_is_origin(origin, host, false)) &&
	       (!site.ptr || th_str_is(site, "same-origin") || th_str_is(site, "none"));
}

static bool may_call(struct th_access *a, unsigned scope)
{
	if (!th_guard_caller(a))
		return false;
	if (a->scopes & scope)
		return true;
	th_access_fail(a, 403, "scope", "this token may not do that");
	return false;
}

static void fail_method(struct th_access *a)
{
	struct th_buf methods TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	for (const struct th_route *r = a->door->routes; r->path; r++)
		if (th_route_fits(r->path, th_http_path(a->request), a))
			th_buf_printf(&methods, "%s%s", methods.len ? ", " : "", r->method);
	th_access_fail_method(a, methods.ptr, "this path takes another method");
}

/* Which of its routes it is, and whether its caller may. */
static size_t enter(struct th_access *a)
{
	const struct th_door *f = a->door;
	bool path = false;

	a->route = th_route_in(f->routes, a, &path);
	if (!a->route) { /* who has no token learns nothing of what is there */
		if (!may_call(a, TH_SCOPE_READ))
			return 0;
		if (path)
			fail_method(a);
		else
			f->other(a);
		return 0;
	}
	if (a->route->scope && !may_call(a, a->route->scope))
		return 0;
	if (!th_str_is(th_http_method(a->request), "GET") && !th_guard_type(a))
		return 0;
	return a->route->body_max;
}

static size_t on_head(void *ctx, struct th_http_request *r)
{
	struct th_door *f = ctx;
	struct th_access *a = th_access_new(f->server, r);

	a->door = f;
	a->service = f->service;
	a->has_from = th_http_peer(r, &a->from);
	f->server->metrics.requests++;
	if (!th_door_place(a)) {
		f->server->metrics.refused_hosts++;
		th_access_fail(a, 403, "host", "only programs of this machine may call");
		return 0;
	}
	return enter(a);
}

static struct th_door *find(const struct th_server *s, struct th_str name)
{
	for (size_t i = 0; s->services[i]; i++)
		if (s->services[i]->door && th_str_is(name, s->services[i]->name))
			return s->services[i]->door(s);
	return NULL;
}

size_t th_door_passed(struct th_access *a)
{
	struct th_door *f = find(a->server, th_http_header(a->request, TH_DOOR_HEADER));

	if (!th_guard_caller(a))
		return 0;
	if (!a->by_node) {
		th_access_fail(a, 403, "scope", "only a node of the fleet may say that");
		return 0;
	}
	if (!f) {
		th_access_fail(a, 503, "other_node",
			       "the node that has the session has no listener for this API");
		return 0;
	}
	a->door = f;
	a->service = f->service;
	return enter(a);
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
	const struct th_door *f = ctx;

	th_access_end(f->server, r, status, sent);
}

static void on_connection(void *ctx, int fd)
{
	struct th_door *f = ctx;

	th_http_server_take(f->http, fd);
}

enum th_code th_door_begin(struct th_door *f, struct th_str address, const char *option,
			   struct th_err *err)
{
	struct th_http_handlers h = {
		.on_head = on_head, .on_request = on_request, .on_end = on_end, .ctx = f
	};
	enum th_code code;

	th_access_handlers(&h);
	f->http = th_http_server_new(f->server->loop, &h, NULL);
	code = th_listen_new(f->server->loop, address, on_connection, f, &f->listen, err);
	if (code)
		return th_prefix(err, code, "%s", option);
	if (!th_listen_port(f->listen) || !th_listen_loopback(f->listen))
		return th_fail(err, TH_EUSAGE,
			       "%s listens on this machine alone, such as 127.0.0.1:8000", option);
	return TH_OK;
}

void th_door_print(const struct th_door *f, struct th_buf *out)
{
	th_buf_add_cstr(out, "http://");
	th_listen_print(f->listen, out);
}

void th_door_finish(struct th_door *f)
{
	f->listen = th_listen_free(f->listen);
	th_http_server_finish(f->http);
}

bool th_door_idle(const struct th_door *f)
{
	return th_http_server_count(f->http) == 0;
}

void th_door_end(struct th_door *f)
{
	f->http = th_http_server_free(f->http);
	f->listen = th_listen_free(f->listen);
}
