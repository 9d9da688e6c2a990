/* SPDX-License-Identifier: Apache-2.0 */
#include "server/access.h"

#include <stdarg.h>
#include <stdlib.h>

#include "server/service.h"
#include "wire/percent.h"

static const struct th_str none;

/* ---- answers ---- */

void th_access_text(struct th_access *a, int status, const char *type, struct th_str text)
{
	th_http_reply(a->request, status, type, TH_STR("Cache-Control: no-store\r\n"), text);
}

void th_access_json(struct th_access *a, int status, const struct th_buf *json)
{
	struct th_err err = {};

	if (th_buf_check(json, "the answer", &err) != TH_OK)
		th_access_fail(a, 500, NULL, "%s", err.msg);
	else
		th_access_text(a, status, "application/json", th_buf_str(json));
}

void th_access_empty(struct th_access *a, int status)
{
	th_http_reply(a->request, status, NULL, none, none);
}

static const char *type_of(int status)
{
	switch (status) {
	case 403:
		return "permission_error";
	case 404:
		return "not_found";
	case 409:
		return "conflict";
	case 429:
		return "too_many_requests";
	default:
		return status >= 500 ? "server_error" : "invalid_request_error";
	}
}

static void error_print(int status, const char *code, const char *param, const char *message,
			struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_name(&w, TH_STR("error"));
	th_jw_object(&w);
	th_jw_kstr(&w, "message", th_str_of(message));
	th_jw_kstr(&w, "type", th_str_of(type_of(status)));
	if (param)
		th_jw_kstr(&w, "param", th_str_of(param));
	else
		th_jw_kraw(&w, "param", TH_STR("null"));
	if (code)
		th_jw_kstr(&w, "code", th_str_of(code));
	else
		th_jw_kraw(&w, "code", TH_STR("null"));
	th_jw_object_end(&w);
	th_jw_object_end(&w);
}

void th_error_print(int status, const char *code, const char *message, struct th_buf *out)
{
	error_print(status, code, NULL, message, out);
}

void th_error_print_messages(int status, const char *message, struct th_buf *out)
{
	static const struct {
		int status;
		const char *type;
	} types[] = {
		{ 401, "authentication_error" }, { 403, "permission_error" },
		{ 404, "not_found_error" },      { 409, "conflict_error" },
		{ 413, "request_too_large" },    { 429, "rate_limit_error" },
		{ 503, "overloaded_error" },
	};
	const char *type = status >= 500 ? "api_error" : "invalid_request_error";
	struct th_jw w = th_jw(out);

	for (size_t i = 0; i < TH_COUNT(types); i++)
		if (types[i].status == status)
			type = types[i].type;
	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("error"));
	th_jw_name(&w, TH_STR("error"));
	th_jw_object(&w);
	th_jw_kstr(&w, "type", th_str_of(type));
	th_jw_kstr(&w, "message", th_str_of(message));
	th_jw_object_end(&w);
	th_jw_object_end(&w);
}

void th_error_print_detail(const char *message, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kstr(&w, "detail", th_str_of(message));
	th_jw_object_end(&w);
}

/* Anthropic's clients read errors in their own form, those of tokens and limits too. */
static bool speaks_messages(const struct th_access *a)
{
	struct th_str path = th_http_path(a->request);

	return th_str_is(path, "/v1/messages") || th_str_starts(path, TH_STR("/v1/messages/"));
}

static void refuse(struct th_access *a, int status, const char *code, const char *param,
		   const char *message, struct th_str headers)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_buf more TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	th_buf_add(&more, headers);
	if (a->once) /* OpenAI's and Anthropic's clients look at it */
		th_buf_add_cstr(&more, "X-Should-Retry: false\r\n");
	if (a->door)
		th_error_print_detail(message, &json);
	else if (speaks_messages(a))
		th_error_print_messages(status, message, &json);
	else
		error_print(status, code, param, message, &json);
	th_http_reply(a->request, status, "application/json", th_buf_str(&more), th_buf_str(&json));
}

static struct th_str headers_of(int status)
{
	return status == 401   ? TH_STR("WWW-Authenticate: Bearer\r\n")
	       : status == 503 ? TH_STR("Retry-After: 1\r\n")
			       : none;
}

void th_access_fault(struct th_access *a, int status, const char *code, const char *param,
		     const char *message)
{
	refuse(a, status, code, param, message, headers_of(status));
}

TH_PRINTF(4, 0)
static void fail(struct th_access *a, int status, const char *code, const char *fmt, va_list ap,
		 struct th_str headers)
{
	struct th_err err = {};
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);

	th_buf_vprintf(&text, fmt, ap);
	(void)th_fail(&err, TH_EUSAGE, "%s", text.ptr);
	refuse(a, status, code, NULL, err.msg, headers);
}

void th_access_fail(struct th_access *a, int status, const char *code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail(a, status, code, fmt, ap, headers_of(status));
	va_end(ap);
}

void th_access_fail_method(struct th_access *a, const char *methods, const char *fmt, ...)
{
	struct th_buf headers TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	va_list ap;

	th_buf_printf(&headers, "Allow: %s\r\n", methods);
	va_start(ap, fmt);
	fail(a, 405, NULL, fmt, ap, th_buf_str(&headers));
	va_end(ap);
}

void th_access_wait(struct th_access *a, int status, uint64_t wait_ms, const char *code,
		    const char *fmt, ...)
{
	struct th_buf headers TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	va_list ap;

	th_buf_printf(&headers, "Retry-After: %llu\r\n",
		      (unsigned long long)((wait_ms + 999) / 1000));
	va_start(ap, fmt);
	fail(a, status, code, fmt, ap, th_buf_str(&headers));
	va_end(ap);
}

int th_status_of(int code)
{
	switch (code) {
	case THOLE_EUSAGE:
		return 400;
	case THOLE_EPERM:
		return 403;
	case THOLE_ENOENT:
		return 404;
	case THOLE_EPROTO:
	case THOLE_EEXIST:
	case THOLE_EBUSY:
	case THOLE_EFENCED:
		return 409;
	case THOLE_ELIMIT:
		return 413;
	case THOLE_EUNSUPPORTED:
		return 501;
	case THOLE_ENOMEM:
	case THOLE_EIO: /* the store is closed, or this node's lease is over: another one may do it
			 */
	case THOLE_ETIMEOUT:
	case THOLE_ECONN:
	case THOLE_EPLACE:
		return 503;
	default:
		return 500;
	}
}

bool th_code_passes(int code)
{
	return code == THOLE_ECONN || code == THOLE_EIO || code == THOLE_EBUSY ||
	       code == THOLE_ETIMEOUT;
}

/* ---- what is asked ---- */

bool th_access_query(const struct th_access *a, const char *name, struct th_buf *out)
{
	return th_query_get(th_http_query(a->request), name, out);
}

bool th_access_query_int(struct th_access *a, const char *name, int64_t *value)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	int64_t n;

	if (!th_access_query(a, name, &text))
		return true;
	if (!th_str_i64(th_buf_str(&text), &n) || n < 0) {
		th_access_fail(a, 400, NULL, "%s is a number, 0 or more", name);
		return false;
	}
	*value = n;
	return true;
}

struct th_json_doc *th_access_body(struct th_access *a)
{
	struct th_json_doc *doc = NULL;
	struct th_err err = {};

	if (th_json_parse(th_http_body(a->request), &doc, &err) != TH_OK) {
		th_access_fail(a, 400, "invalid_json", "the body: %s", err.msg);
		return NULL;
	}
	if (!th_json_is_object(th_json_root(doc))) {
		th_json_free(doc);
		th_access_fail(a, 400, "invalid_json", "the body is no JSON object");
		return NULL;
	}
	return doc;
}

/* ---- what happens to it ---- */

static void again(void *ctx)
{
	struct th_access *a = ctx;

	(a->again ?: a->route->fn)(a);
}

struct th_access *th_access_new(struct th_server *s, struct th_http_request *r)
{
	struct th_access *a = th_alloc(sizeof(*a));

	*a = (struct th_access){ .server = s, .request = r, .priority = TH_PRIORITY_NORMAL };
	a->needs = (struct th_needs){ .server = s, .again = again, .ctx = a };
	th_http_set_data(r, a);
	return a;
}

static void on_message(void *ctx, struct th_http_request *r, struct th_str text, bool is_text)
{
	struct th_access *a = th_http_data(r);

	(void)ctx;
	if (a->message)
		a->message(a, text, is_text);
}

static void on_room(void *ctx, struct th_http_request *r)
{
	struct th_access *a = th_http_data(r);

	(void)ctx;
	if (a->room)
		a->room(a);
}

static void on_gone(void *ctx, struct th_http_request *r)
{
	struct th_access *a = th_http_data(r);
	th_access_fn *gone = a ? a->gone : NULL;

	(void)ctx;
	if (!gone)
		return;
	a->gone = NULL; /* th_access_end says it to nobody twice */
	gone(a);
}

void th_access_link(struct th_access *a, struct th_access **list)
{
	a->next = *list;
	a->link = list;
	if (a->next)
		a->next->link = &a->next;
	*list = a;
}

void th_access_unlink(struct th_access *a)
{
	if (!a->link)
		return;
	*a->link = a->next;
	if (a->next)
		a->next->link = a->link;
	a->link = NULL;
	a->next = NULL;
}

void th_access_end(struct th_server *s, struct th_http_request *r, int status, uint64_t sent)
{
	struct th_access *a = th_http_data(r); /* NULL: its head could not be read */

	/* A socket that the server's end cuts, or an answer that waits for the store: its owner is
	 * told as if the peer had left.  Who closes one by himself has let go of it before. */
	if (s->closing && a && (a->message || a->reads) && a->gone)
		a->gone(a);
	s->metrics.answers[status >= 100 && status < 600 ? status / 100 : 0]++;
	th_journal_request(s, r, a, status, sent);
	if (a) {
		th_begin_queue_leave(&a->begin);
		th_access_unlink(a);
		th_needs_forget(&a->needs);
	}
	free(a);
	th_http_set_data(r, NULL);
}

void th_access_handlers(struct th_http_handlers *h)
{
	h->on_message = on_message;
	h->on_room = on_room;
	h->on_gone = on_gone;
}
