/* SPDX-License-Identifier: Apache-2.0 */
#include "cua/cua.h"

#include <stdarg.h>
#include <stdlib.h>

#include "io/listen.h"
#include "server/door.h"

/* ---- who may ---- */

static struct th_str key_of(const struct th_access *a)
{
	struct th_str text = th_http_header(a->request, "authorization");

	if (th_str_istarts(text, TH_STR("bearer ")))
		return th_str_trim(th_str_sub(text, 7, text.len));
	return th_http_header(a->request, "x-api-key");
}

/* ---- routes ---- */

static void get_status(struct th_cua *c, struct th_access *a)
{
	(void)c;
	th_access_text(a, 200, "application/json",
		       TH_STR("{\"status\":\"ok\",\"os_type\":\"linux\",\"features\":[\"mcp\"]}"));
}

/* A word of a row's params: "x", "x?" (it may be left out), "clicks=1". */
static void print_param(struct th_str word, struct th_jw *w)
{
	struct th_str value = word, name = th_str_split(&value, '=');
	bool may = th_str_ends(name, TH_STR("?"));
	int64_t n;

	th_jw_object(w);
	th_jw_kstr(w, "name", th_str_sub(name, 0, name.len - may));
	th_jw_kbool(w, "required", !may && !value.len);
	th_jw_key(w, TH_STR("default"));
	if (!value.len)
		th_jw_null(w);
	else if (th_str_i64(value, &n) || th_str_is(value, "0.5") || th_str_is(value, "false"))
		th_jw_raw(w, value);
	else
		th_jw_str(w, value);
	th_jw_object_end(w);
}

static void print_command(const struct th_cua_row *row, struct th_jw *w)
{
	struct th_str rest = th_str_of(row->params);
	bool any = false;

	th_jw_key(w, th_str_of(row->name));
	th_jw_object(w);
	th_jw_key(w, TH_STR("params"));
	th_jw_array(w);
	while (rest.len)
		print_param(th_str_split(&rest, ' '), w);
	th_jw_array_end(w);
	for (size_t i = 0; th_cua_aliases[i][0]; i++) {
		if (strcmp(th_cua_aliases[i][1], row->name) != 0)
			continue;
		if (!any) {
			th_jw_key(w, TH_STR("aliases"));
			th_jw_array(w);
		}
		any = true;
		th_jw_str(w, th_str_of(th_cua_aliases[i][0]));
	}
	if (any)
		th_jw_array_end(w);
	th_jw_object_end(w);
}

static void get_commands(struct th_cua *c, struct th_access *a)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&json);

	(void)c;
	th_jw_object(&w);
	th_jw_key(&w, TH_STR("commands"));
	th_jw_object(&w);
	for (const struct th_cua_row *row = th_cua_commands; row->name; row++)
		print_command(row, &w);
	th_jw_object_end(&w);
	th_jw_key(&w, TH_STR("aliases"));
	th_jw_object(&w);
	for (size_t i = 0; th_cua_aliases[i][0]; i++)
		th_jw_kstr(&w, th_cua_aliases[i][0], th_str_of(th_cua_aliases[i][1]));
	th_jw_object_end(&w);
	th_jw_object_end(&w);
	th_access_json(a, 200, &json);
}

static void request_gone(struct th_access *a)
{
	th_cua_forget(a->server->cua, a);
}

static void answered(void *ctx, struct th_str json)
{
	struct th_buf line TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_access *a = ctx;

	a->gone = NULL;
	th_cua_print_line(json, &line);
	if (line.failed)
		th_cua_detail(a, 500, "the answer is too long");
	else
		th_http_reply(a->request, 200, "text/plain; charset=utf-8",
			      TH_STR("Cache-Control: no-cache\r\n"), th_buf_str(&line));
}

static void post_cmd(struct th_cua *c, struct th_access *a)
{
	struct th_err why = { 0 };
	int status;

	a->gone = request_gone;
	if (!th_cua_begin(c, c->rows, th_http_body(a->request), answered, a, &status, &why)) {
		a->gone = NULL;
		th_cua_detail(a, status, "%s", why.msg);
	}
}

static void get_ws(struct th_cua *c, struct th_access *a)
{
	const struct th_token *t = c->open ? NULL : th_cua_token(c, key_of(a));

	if (t)
		th_guard_found(a, t, TH_SCOPE_RUN);
	if (!th_http_wants_socket(a->request))
		th_cua_detail(a, 426, "/ws is a WebSocket");
	else if (c->open || t)
		th_cua_socket_begin(c, a, true);
	else if (th_guard_stranger(a)) /* it says first who it is, so many times a second */
		th_cua_socket_begin(c, a, false);
}

/* As Cua's server answers where its package for agents is not installed. */
static void post_responses(struct th_cua *c, struct th_access *a)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_err err = { 0 };

	(void)c;
	if (th_json_parse(th_http_body(a->request), &doc, &err))
		th_cua_detail(a, 400, "Invalid JSON body: %s", err.msg);
	else if (!th_json_get_str(th_json_root(doc), "model").len ||
		 th_json_is_null(th_json_get(th_json_root(doc), "input")))
		th_cua_detail(a, 400, "'model' and 'input' are required");
	else
		th_cua_detail(a, 501, "ComputerAgent not available");
}

static const struct {
	const char *method, *path;
	bool token;
	size_t body_max;
	th_cua_route_fn *fn;
} routes[] = {
	{ "GET", "/status", false, 0, get_status },
	{ "GET", "/commands", false, 0, get_commands },
	{ "POST", "/cmd", true, TH_SERVE_JSON_MAX, post_cmd },
	{ "GET", "/ws", false, 0, get_ws },
	{ "POST", "/pty", true, TH_SERVE_SMALL_MAX, th_cua_pty_create },
	{ "GET", "/pty/{pid}", true, 0, th_cua_pty_get },
	{ "DELETE", "/pty/{pid}", true, 0, th_cua_pty_delete },
	{ "POST", "/pty/{pid}/stdin", true, TH_SERVE_JSON_MAX, th_cua_pty_stdin },
	{ "POST", "/pty/{pid}/resize", true, TH_SERVE_SMALL_MAX, th_cua_pty_resize },
	{ "GET", "/pty/{pid}/stream", true, 0, th_cua_pty_stream },
	{ "GET", "/pty/{pid}/ws", true, 0, th_cua_pty_socket },
	{ "POST", "/playwright_exec", true, TH_SERVE_JSON_MAX, th_cua_playwright },
	{ "POST", "/responses", true, TH_SERVE_JSON_MAX, post_responses },
	{ "POST", "/mcp", true, TH_SERVE_JSON_MAX, th_cua_mcp_serve },
	{ "GET", "/mcp", true, 0, th_cua_mcp_serve },
	{ "DELETE", "/mcp", true, 0, th_cua_mcp_serve },
	{ "POST", "/mcp/", true, TH_SERVE_JSON_MAX, th_cua_mcp_serve },
	{ "GET", "/mcp/", true, 0, th_cua_mcp_serve },
	{ "DELETE", "/mcp/", true, 0, th_cua_mcp_serve },
};

/* Its index, or -1, and *ret_path: there is the path, but not the method. */
static int route_of(struct th_access *a, bool *ret_path)
{
	*ret_path = false;
	for (size_t i = 0; i < TH_COUNT(routes); i++) {
		if (!th_route_fits(routes[i].path, th_http_path(a->request), a))
			continue;
		*ret_path = true;
		if (th_str_is(th_http_method(a->request), routes[i].method))
			return (int)i;
	}
	return -1;
}

/* A browser cannot give a WebSocket headers, so Cua's clients say the key in its address. */
static bool may_call(struct th_cua *c, struct th_access *a)
{
	struct th_buf query TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_str key = key_of(a);
	const struct th_token *t;

	if (!key.len && th_http_wants_socket(a->request) && th_access_query(a, "api_key", &query))
		key = th_buf_str(&query);
	t = th_cua_token(c, key);
	if (t)
		th_guard_found(a, t, TH_SCOPE_RUN);
	if (c->open || t)
		return true;
	c->server->metrics.refused_tokens++;
	if (th_guard_stranger(a))
		th_cua_detail(a, 401, "%s", key.len ? "Authentication failed" : "API key required");
	return false;
}

static size_t on_head(void *ctx, struct th_http_request *r)
{
	struct th_cua *c = ctx;
	struct th_access *a = th_access_new(c->server, r);
	bool path;
	int route;

	a->has_from = th_http_peer(r, &a->from);
	c->server->metrics.requests++;
	if (!th_door_place(a)) {
		c->server->metrics.refused_hosts++;
		th_cua_detail(a, 403, "only programs of this machine may call");
		return 0;
	}
	route = route_of(a, &path);
	if (route < 0) {
		th_cua_detail(a, path ? 405 : 404, "%s", path ? "Method Not Allowed" : "Not Found");
		return 0;
	}
	if (routes[route].token && !may_call(c, a))
		return 0;
	return routes[route].body_max;
}

static void on_request(void *ctx, struct th_http_request *r)
{
	struct th_access *a = th_http_data(r);
	bool path;

	routes[route_of(a, &path)].fn(ctx, a);
}

static void on_end(void *ctx, struct th_http_request *r, int status, uint64_t sent)
{
	const struct th_cua *c = ctx;

	th_access_end(c->server, r, status, sent);
}

static void on_connection(void *ctx, int fd)
{
	struct th_cua *c = ctx;

	th_http_server_take(c->http, fd);
}

/* ---- life ---- */

static enum th_code begin(struct th_server *s, struct th_err *err)
{
	struct th_http_handlers own = { .on_head = on_head,
					.on_request = on_request,
					.on_end = on_end };
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);
	const char *options[] = { "folder", NULL, "net", NULL, NULL };
	struct thole_error e;
	struct th_cua *c;
	enum th_code code;

	if (!s->o.cua.len)
		return TH_OK;
	c = th_alloc(sizeof(*c));
	*c = (struct th_cua){ .server = s,
			      .open = s->o.cua_open,
			      .rows = th_cua_commands,
			      .aliases = th_cua_aliases };
	s->cua = c;
	th_access_handlers(&own);
	own.ctx = c;
	c->http = th_http_server_new(s->loop, &own, NULL);
	c->mcp = th_cua_mcp_new();
	code = th_listen_new(s->loop, s->o.cua, on_connection, c, &c->listen, err);
	if (code)
		return th_prefix(err, code, "--cua");
	if (!th_listen_port(c->listen) || !th_listen_loopback(c->listen))
		return th_fail(err, TH_EUSAGE,
			       "--cua listens on this machine alone, such as 127.0.0.1:8000");
	th_buf_add(&path, s->o.cua_folder);
	options[1] = path.ptr;
	options[3] = s->o.cua_net_host ? "host" : "none";
	if (thole_computer_new(s->rt, "cua", options, &c->computer, &e) != 0)
		return th_fail(err, (enum th_code)e.code, "%s", e.text);
	return TH_OK;
}

static void print_place(const struct th_server *s, struct th_buf *out)
{
	if (!s->cua)
		return;
	th_buf_add_cstr(out, "Cua's computer-server at http://");
	th_listen_print(s->cua->listen, out);
	th_buf_add_char(out, '\n');
}

static void finish(struct th_server *s)
{
	if (!s->cua)
		return;
	s->cua->listen = th_listen_free(s->cua->listen);
	th_cua_sockets_finish(s->cua);
	th_cua_ptys_finish(s->cua);
	th_http_server_finish(s->cua->http);
}

static bool is_idle(const struct th_server *s)
{
	return !s->cua || th_http_server_count(s->cua->http) == 0;
}

static void end(struct th_server *s)
{
	struct th_cua *c = s->cua;

	if (!c)
		return;
	th_cua_ptys_free(c);
	thole_computer_free(c->computer);
	thole_computer_free(c->browser);
	th_cua_sockets_free(c);
	th_cua_jobs_free(c);
	th_http_server_free(c->http);
	th_listen_free(c->listen);
	th_cua_mcp_free(c->mcp);
	free(c);
	s->cua = NULL;
}

const struct th_service th_service_cua = {
	.name = "cua",
	.begin = begin,
	.finish = finish,
	.idle = is_idle,
	.free = end,
	.print_place = print_place,
};
