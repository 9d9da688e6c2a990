/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/remote.h"

#include <stdlib.h>

#include "base/limits.h"
#include "base/text.h"

/* ---- where it is ---- */

static enum th_code find_token(struct th_str token_file, struct th_secret **ret, struct th_err *err)
{
	const char *set = getenv("THOLE_TOKEN");

	if (token_file.len)
		return th_config_secret_read(token_file, ret, err);
	if (!set || !set[0])
		return th_fail(err, TH_EUSAGE,
			       "no token for the server: set THOLE_TOKEN, or give --token-file; "
			       "thole token new makes one there");
	*ret = th_secret_new(th_str_of(set));
	return TH_OK;
}

static enum th_code find_address(struct th_place *p, struct th_str server, struct th_err *err)
{
	struct th_str path = th_str_sub(server, strlen("unix:"), server.len);

	th_buf_add(&p->shown, server);
	if (!th_str_starts(server, TH_STR("unix:"))) {
		while (server.len && server.ptr[server.len - 1] == '/')
			server.len--;
		th_buf_add(&p->url, server);
		return th_config_check_url(th_buf_str(&p->url), err);
	}
	if (!path.len || memchr(path.ptr, 0, path.len))
		return th_fail(err, TH_EUSAGE, "unix: needs the path of a socket");
	p->unix_path = th_alloc(path.len + 1);
	memcpy(p->unix_path, path.ptr, path.len);
	p->unix_path[path.len] = '\0';
	th_buf_add_cstr(&p->url, "http://localhost");
	return TH_OK;
}

enum th_code th_place_init(struct th_place *p, struct th_str server, struct th_str token_file,
			   const char *otherwise, struct th_err *err)
{
	const char *set = getenv("THOLE_SERVER");
	enum th_code code;

	*p = (struct th_place){};
	th_buf_init(&p->url, TH_REQUEST_HEAD_MAX);
	th_buf_init(&p->shown, TH_REQUEST_HEAD_MAX);
	if (!server.len)
		server = th_str_of(set && set[0] ? set : otherwise);
	code = th_prefix(err, find_address(p, server, err), "the server");
	if (!code)
		code = find_token(token_file, &p->token, err);
	if (code)
		th_place_deinit(p);
	return code;
}

void th_place_deinit(struct th_place *p)
{
	th_buf_deinit(&p->url);
	th_buf_deinit(&p->shown);
	free(p->unix_path);
	p->unix_path = NULL;
	p->token = th_secret_free(p->token);
}

/* --store is said here and now; THOLE_SERVER is not. */
bool th_remote_wanted(const struct th_common *o)
{
	const char *set = getenv("THOLE_SERVER");

	return o->server.len || (set && set[0] && !o->store.ptr);
}

enum th_code th_remote_new(const struct th_common *o, struct th_remote **ret, struct th_err *err)
{
	struct th_remote *r = th_alloc(sizeof(*r));
	enum th_code code;

	*r = (struct th_remote){ .retry_after_ms = -1 };
	code = th_place_init(&r->place, o->server, o->token_file, "", err);
	if (!code)
		code = th_loop_new(&r->loop, err);
	if (!code)
		code = th_fetcher_new(r->loop, &r->fetcher, err);
	*ret = r;
	return code;
}

void th_remote_freep(struct th_remote **at)
{
	struct th_remote *r = *at;

	if (!r)
		return;
	r->fetcher = th_fetcher_free(r->fetcher);
	r->loop = th_loop_free(r->loop);
	th_place_deinit(&r->place);
	free(r);
	*at = NULL;
}

int th_remote_refuse(const struct th_common *o, const char *what)
{
	if (!th_remote_wanted(o))
		return 0;
	return th_cli_die(2, "%s works on a log of this machine, not on a server; %s", what,
			  o->server.len ? "leave out --server"
					: "unset THOLE_SERVER, or name the log by --store");
}

/* ---- paths ---- */

void th_remote_add(struct th_buf *path, struct th_str text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		if ((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
		    (c && strchr("-_.~", c)))
			th_buf_add_char(path, c);
		else
			th_buf_printf(path, "%%%02X", (unsigned char)c);
	}
}

void th_remote_path(struct th_buf *path, struct th_str session_id, const char *rest)
{
	th_buf_add_cstr(path, "/api/sessions/");
	th_remote_add(path, session_id);
	th_buf_add_cstr(path, rest);
}

/* ---- answers ---- */

static enum th_code code_of(int status, struct th_str name)
{
	for (int code = TH_EUSAGE; code >= TH_ESETUP; code--)
		if (th_str_is(name, th_code_name((enum th_code)code)))
			return (enum th_code)code;
	switch (status) {
	case 400:
	case 415:
	case 422:
		return TH_EUSAGE;
	case 401:
	case 403:
		return TH_EPERM;
	case 404:
		return TH_ENOENT;
	case 409:
		return TH_EBUSY;
	case 413:
	case 429:
	case 431:
		return TH_ELIMIT;
	default:
		return TH_EPROTO;
	}
}

static enum th_code fault_status(struct th_remote *r, const struct th_fetch_head *head,
				 struct th_str body, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *e = NULL;
	struct th_str said, name;
	const char *place = r->place.shown.ptr;
	int64_t wait_s = (head->retry_after_ms + 999) / 1000;

	if (th_json_parse(body, &doc, NULL) == TH_OK)
		e = th_json_get(th_json_root(doc), "error");
	said = th_utf8_cut(th_json_get_str(e, "message"), 400);
	name = th_json_get_str(e, "code");
	if (head->status == 401)
		return th_fail(err, TH_EPERM,
			       "the server at %s does not take this token: set THOLE_TOKEN, or "
			       "give --token-file; thole token new makes one there",
			       place);
	if (!said.len)
		return th_fail(err, code_of(head->status, name),
			       "the server at %s answers with status %d, and not as thole serve "
			       "does",
			       place, head->status);
	if (head->status == 429 || head->status == 503)
		return th_fail(err, head->status == 429 ? TH_ELIMIT : TH_ECONN,
			       "the server at %s does not take it now: %.*s; try again in %lld s",
			       place, TH_FMT(said), (long long)TH_MAX(wait_s, (int64_t)1));
	return th_fail(err, code_of(head->status, name), "%.*s", TH_FMT(said));
}

enum th_code th_remote_fault(struct th_remote *r, const struct th_fetch_result *result,
			     struct th_str body, struct th_err *err)
{
	if (result->end == TH_FETCH_STATUS)
		return fault_status(r, &result->head, body, err);
	if (result->end == TH_FETCH_CONNECT)
		return th_fail(err, TH_ECONN, "no server answers at %s: %s", r->place.shown.ptr,
			       result->err.msg);
	return th_fail(err, result->err.code ?: TH_ECONN, "the server at %s: %s",
		       r->place.shown.ptr, result->err.msg);
}

/* ---- one request ---- */

struct call {
	struct th_remote *remote;
	const struct th_remote_request *q;
	struct th_buf *answer;
	bool good, done;
	enum th_code code;
	struct th_err *err;
};

static bool on_head(void *ctx, const struct th_fetch_head *head)
{
	struct call *c = ctx;

	c->good = head->status / 100 == 2;
	return true;
}

static bool on_data(void *ctx, struct th_str bytes)
{
	struct call *c = ctx;

	if (c->good && c->q->on_bytes)
		return c->q->on_bytes(c->q->ctx, bytes);
	th_buf_add(c->answer, bytes);
	return !c->answer->failed;
}

static void on_done(void *ctx, const struct th_fetch_result *result)
{
	struct call *c = ctx;

	c->done = true;
	c->remote->unsure =
	    result->end != TH_FETCH_OK && result->end != TH_FETCH_STATUS && result->sent;
	c->remote->retry_after_ms = result->head.retry_after_ms;
	if (result->end != TH_FETCH_OK)
		c->code = th_remote_fault(c->remote, result, th_buf_str(c->answer), c->err);
	th_loop_stop(c->remote->loop);
}

enum th_code th_remote_call(struct th_remote *r, const struct th_remote_request *q,
			    struct th_buf *ret, struct th_err *err)
{
	struct th_buf own TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_BODY_MAX);
	struct th_buf url TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_HEAD_MAX);
	const struct th_fetch_header headers[] = {
		{ "Accept", th_str_of(q->accept ?: "application/json") },
		{ "Content-Type", TH_STR("application/json") },
		{ "Idempotency-Key", q->key },
	};
	struct call c = { .remote = r, .q = q, .answer = ret ?: &own, .err = err };
	bool writes = strcmp(q->method, "GET") != 0;
	struct th_fetch_request f = {
		.method = q->method,
		.headers = headers,
		.header_count = q->key.len ? 3
				: writes   ? 2
					   : 1,
		.secret = r->place.token,
		.body = &q->body,
		.body_count = q->body.ptr ? 1 : 0,
		.once = writes,
		.unix_path = r->place.unix_path,
		.connect_ms = TH_REMOTE_CONNECT_MS,
		.byte_idle_ms = TH_REMOTE_SILENT_MS,
		.body_max = q->on_bytes ? TH_HTTP_REPLY_MAX : TH_HTTP_BODY_MAX,
		.on_head = on_head,
		.on_data = on_data,
		.on_done = on_done,
		.ctx = &c,
	};
	struct th_fetch_id id;
	enum th_code code;

	r->unsure = false;
	r->retry_after_ms = -1;
	th_buf_add(&url, th_buf_str(&r->place.url));
	th_buf_add(&url, q->path);
	code = th_buf_check(&url, "the request's path", err);
	if (code)
		return code;
	f.url = th_buf_str(&url);
	code = th_fetch_start(r->fetcher, &f, &id, err);
	while (!code && !c.done)
		th_loop_run(r->loop);
	return code ?: c.code;
}
