/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "io/clock.h"
#include "io/files.h"
#include "providers/human.h"
#include "runtime/human_model_internal.h"
#include "wire/authority.h"

static struct th_question *find(const struct th_human_model *p, struct th_str id)
{
	struct th_question *q = p->first;

	while (q && !(q->over_http && th_str_is(id, q->id)))
		q = q->next;
	return q;
}

static const struct th_transcript *find_logged_call(const struct th_human_model *p,
						    struct th_str id)
{
	for (size_t i = 0; i < TH_MIN(p->transcript_count, (size_t)TH_HUMAN_ANSWERED_MAX); i++)
		if (th_str_is(id, p->transcript[i].id))
			return &p->transcript[i];
	return NULL;
}

static void print_time(int64_t ms, struct th_jw *w)
{
	time_t seconds = (time_t)(ms / 1000);
	char text[32];
	struct tm tm;

	if (gmtime_r(&seconds, &tm) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		th_jw_kstr(w, "created_at", th_str_of(text));
}

static void print_question(const struct th_question *q, struct th_jw *w)
{
	th_jw_kstr(w, "id", th_str_of(q->id));
	th_jw_kstr(w, "model", TH_STR("human"));
	th_jw_kstr(w, "session", th_buf_str(&q->title));
	print_time(q->asked_ms, w);
	th_jw_kraw(w, "messages", th_buf_str(&q->messages));
}

static void reply(struct th_http_request *r, int status, struct th_str json)
{
	th_http_reply(r, status, "application/json", TH_STR("Cache-Control: no-store\r\n"), json);
}

static void say(struct th_http_request *r, int status, const char *key, struct th_str text)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);
	struct th_jw w = th_jw(&out);

	th_jw_object(&w);
	th_jw_kstr(&w, key, text);
	th_jw_object_end(&w);
	reply(r, status, th_buf_str(&out));
}

static void list_pending(const struct th_human_model *p, struct th_http_request *r)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_jw w = th_jw(&out);

	th_jw_object(&w);
	th_jw_key(&w, TH_STR("pending_calls"));
	th_jw_array(&w);
	for (const struct th_question *q = p->first; q; q = q->next) {
		if (!q->over_http)
			continue;
		th_jw_object(&w);
		print_question(q, &w);
		th_jw_object_end(&w);
	}
	th_jw_array_end(&w);
	th_jw_object_end(&w);
	if (out.failed)
		say(r, 413, "detail", TH_STR("too many questions are open to list them at once"));
	else
		reply(r, 200, th_buf_str(&out));
}

static void tell_status(const struct th_human_model *p, struct th_http_request *r, struct th_str id)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	const struct th_question *q = find(p, id);
	const struct th_transcript *transcript = find_logged_call(p, id);
	struct th_jw w = th_jw(&out);

	if (!q && !transcript) {
		say(r, 404, "detail", TH_STR("there is no such question"));
		return;
	}
	th_jw_object(&w);
	if (q)
		print_question(q, &w);
	else
		th_jw_kstr(&w, "id", id);
	th_jw_kstr(&w, "status",
		   q                    ? TH_STR("pending")
		   : transcript->failed ? TH_STR("failed")
					: TH_STR("completed"));
	th_jw_object_end(&w);
	reply(r, 200, th_buf_str(&out));
}

/* The answer of {"response"?, "tool_calls"?}, or of {"error"}. */
static enum th_code read_answer(struct th_str body, bool failed, struct th_buf *answer,
				struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	enum th_code code = th_json_parse(body, &doc, err);

	if (code)
		return code;
	if (!failed)
		return th_human_complete(th_json_root(doc), answer, err);
	th_human_fail(th_json_get_str(th_json_root(doc), "error"), answer);
	return th_buf_check(answer, "the answer", err);
}

static void take_answer(struct th_human_model *p, struct th_http_request *r, struct th_str id,
			struct th_str body, bool failed)
{
	struct th_buf answer TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_question *q = find(p, id);
	struct th_answerer *a;
	struct th_err err = { 0 };

	if (!q) {
		say(r, 404, "detail", TH_STR("there is no such question, or it was answered"));
		return;
	}
	if (read_answer(body, failed, &answer, &err)) {
		say(r, 400, "detail", th_str_of(err.msg));
		return;
	}
	a = th_alloc(sizeof(*a));
	*a = (struct th_answerer){
		.next = p->answerers, .request = r, .ticket = q->ticket, .transcript.failed = failed
	};
	memcpy(a->transcript.id, q->id, sizeof(a->transcript.id));
	p->answerers = a;
	th_human_model_answer(p, q, th_buf_str(&answer));
}

void th_human_model_committed(struct th_human_model *p)
{
	for (struct th_answerer **at = p ? &p->answerers : NULL; at && *at;) {
		struct th_answerer *a = *at;
		int durable = p->o.durable(p->o.ctx, a->ticket);

		if (!durable) {
			at = &a->next;
			continue;
		}
		*at = a->next;
		if (durable > 0)
			p->transcript[p->transcript_count++ % TH_HUMAN_ANSWERED_MAX] =
			    a->transcript;
		if (!a->request)
			; /* its client is gone */
		else if (durable > 0)
			say(a->request, 200, "status", TH_STR("success"));
		else
			say(a->request, 500, "detail",
			    TH_STR("the answer is not in the log: it could not be read, or the "
				   "session was lost; see GET /pending"));
		free(a);
	}
}

/* ---- the listener ---- */

static struct th_str token_of(const struct th_http_request *r)
{
	struct th_str bearer = TH_STR("bearer "), text = th_http_header(r, "authorization");

	if (!th_str_istarts(text, bearer))
		return th_http_header(r, "x-api-key");
	return th_str_trim(th_str_sub(text, bearer.len, text.len));
}

/* A page of another site that a browser of this machine shows names another host or origin. */
static bool is_local(const struct th_http_request *r)
{
	struct th_str host = th_http_header(r, "host"), origin = th_http_header(r, "origin");

	return th_authority_is_loopback(host) &&
	       (!origin.ptr || th_authority_is_origin(origin, host, false));
}

static size_t on_head(void *ctx, struct th_http_request *r)
{
	const struct th_human_model *p = ctx;

	if (!is_local(r))
		say(r, 403, "detail",
		    TH_STR("only programs of this machine may call, not pages of other sites"));
	else if (!th_secret_eq(p->token, token_of(r)))
		say(r, 401, "detail",
		    TH_STR("the token is missing or wrong: Authorization: Bearer TOKEN"));
	return TH_HUMAN_BODY_MAX;
}

static void on_request(void *ctx, struct th_http_request *r)
{
	struct th_human_model *p = ctx;
	struct th_str method = th_http_method(r), path = th_http_path(r), body = th_http_body(r);
	struct th_str rest = th_str_sub(path, 1, path.len), verb = th_str_split(&rest, '/');
	bool get = th_str_is(method, "GET"), post = th_str_is(method, "POST");

	if (get && th_str_is(path, "/"))
		say(r, 200, "message", TH_STR("thole: GET /pending, POST /complete/ID"));
	else if (get && th_str_is(path, "/pending"))
		list_pending(p, r);
	else if (get && th_str_is(verb, "status"))
		tell_status(p, r, rest);
	else if (post && th_str_is(verb, "complete"))
		take_answer(p, r, rest, body, false);
	else if (post && th_str_is(verb, "fail"))
		take_answer(p, r, rest, body, true);
	else
		say(r, 404, "detail",
		    TH_STR("there is GET /pending, GET /status/ID, POST "
			   "/complete/ID and POST /fail/ID"));
}

static void on_gone(void *ctx, struct th_http_request *r)
{
	struct th_human_model *p = ctx;

	for (struct th_answerer *a = p->answerers; a; a = a->next)
		if (a->request == r)
			a->request = NULL;
}

static void on_connection(void *ctx, int fd)
{
	struct th_human_model *p = ctx;

	if (th_http_server_count(p->server) < TH_HUMAN_CALLERS_MAX)
		th_http_server_take(p->server, fd);
	else
		th_fd_close(&fd);
}

/* Only http://127.0.0.1:PORT and http://localhost:PORT are listened at, both as 127.0.0.1. */
static enum th_code read_url(struct th_str url, struct th_buf *address, struct th_err *err)
{
	struct th_str authority = th_authority_of_url(url), scheme = TH_STR("http://");
	struct th_str host = th_authority_host(authority);

	while (th_str_ends(url, TH_STR("/")))
		url.len--;
	if (!th_str_istarts(url, scheme) || url.len != scheme.len + authority.len ||
	    !th_authority_is_loopback(authority) || host.ptr[0] == '[' ||
	    authority.len < host.len + 2)
		return th_fail(err, TH_EUSAGE,
			       "the address must be of the loopback: http://127.0.0.1:PORT");
	th_buf_add_cstr(address, "127.0.0.1");
	th_buf_add(address, th_str_sub(authority, host.len, authority.len));
	return th_buf_check(address, "the address", err);
}

/* A token of our own, in a file that only this user reads: it is not printed. */
static enum th_code make_token(struct th_human_model *p, struct th_err *err)
{
	struct th_buf hex TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(128);
	uint8_t bytes[16];
	enum th_code code = th_dir_of(TH_DIR_RUNTIME, &p->token_file, err);

	if (code)
		return code;
	th_random(bytes, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		th_buf_printf(&hex, "%02x", bytes[i]);
	p->made = th_secret_new(th_buf_str(&hex));
	th_buf_printf(&p->token_file, "/human-%d.token", (int)getpid());
	return th_file_write(p->token_file.ptr, th_buf_str(&hex), 0600, err);
}

static enum th_code open_listener(struct th_human_model *p, struct th_str url, struct th_err *err)
{
	static const struct th_http_times times = {
		.head_ms = TH_HUMAN_CALLER_MS,
		.body_ms = TH_HUMAN_CALLER_MS,
		.idle_ms = TH_HUMAN_CALLER_MS,
		.stall_ms = TH_HUMAN_CALLER_MS,
	};
	const struct th_http_handlers handlers = {
		.on_head = on_head, .on_request = on_request, .on_gone = on_gone, .ctx = p
	};
	struct th_buf address TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64);
	enum th_code code = read_url(url, &address, err);

	if (!code)
		code = th_listen_new(p->o.loop, th_buf_str(&address), on_connection, p, &p->listen,
				     err);
	if (code)
		return code;
	p->server = th_http_server_new(p->o.loop, &handlers, NULL);
	th_http_server_times(p->server, &times);
	return TH_OK;
}

enum th_code th_human_model_listen(struct th_human_model *p, struct th_str url,
				   const struct th_secret *token, struct th_err *err)
{
	enum th_code code = token || p->made ? TH_OK : make_token(p, err);

	p->token = token ? token : p->made;
	if (!code)
		code = open_listener(p, url, err);
	if (code)
		return th_prefix(err, code, "where a person is asked, %.*s",
				 TH_FMT(th_utf8_cut(url, 100)));
	th_buf_add(&p->url, url);
	th_buf_printf(&p->out, "a person is asked at http://127.0.0.1:%d; ",
		      th_listen_port(p->listen));
	if (p->made)
		th_buf_printf(&p->out, "the token is in %s\n", p->token_file.ptr);
	else
		th_buf_add_cstr(&p->out, "the token is HUMAN_API_KEY's\n");
	th_human_model_show(p);
	return TH_OK;
}

void th_human_model_unlisten(struct th_human_model *p)
{
	while (p->answerers) {
		struct th_answerer *next = p->answerers->next;

		free(p->answerers);
		p->answerers = next;
	}
	p->server = th_http_server_free(p->server);
	p->listen = th_listen_free(p->listen);
	p->made = th_secret_free(p->made);
	if (p->token_file.len)
		unlink(p->token_file.ptr);
	th_buf_deinit(&p->url);
	th_buf_deinit(&p->token_file);
}
