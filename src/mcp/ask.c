/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/ask.h"

#include "base/limits.h"

static void on_failed(void *ctx)
{
	struct th_mcp_ask *a = (struct th_mcp_ask *)ctx;

	a->done(a->ctx, 0, &a->err);
}

void th_mcp_ask_init(struct th_mcp_ask *a, struct th_loop *loop, struct th_fetcher *fetcher,
		     void (*done)(void *ctx, int status, const struct th_err *err), void *ctx)
{
	*a = (struct th_mcp_ask){ .fetcher = fetcher, .done = done, .ctx = ctx };
	th_buf_init(&a->answer, TH_OAUTH_JSON_MAX);
	th_buf_init(&a->challenge, 4 * TH_OAUTH_TEXT_MAX);
	th_timer_init(&a->failed, loop, on_failed, a);
}

static void forget(struct th_mcp_ask *a)
{
	a->body = th_secret_free(a->body);
	a->authorization = th_secret_free(a->authorization);
	if (a->answer.ptr)
		explicit_bzero(a->answer.ptr, a->answer.len);
	th_buf_clear(&a->answer);
	th_buf_clear(&a->challenge);
}

void th_mcp_ask_deinit(struct th_mcp_ask *a)
{
	if (a->running)
		th_fetch_cancel(a->fetcher, a->fetch);
	th_timer_stop(&a->failed);
	forget(a);
	th_buf_deinit(&a->answer);
	th_buf_deinit(&a->challenge);
}

static void on_header(void *ctx, struct th_str name, struct th_str value)
{
	struct th_mcp_ask *a = (struct th_mcp_ask *)ctx;

	if (!th_str_ieq(name, TH_STR("www-authenticate")))
		return;
	th_buf_add_cstr(&a->challenge, a->challenge.len ? ", " : "");
	th_buf_add(&a->challenge, value);
}

static bool on_data(void *ctx, struct th_str bytes)
{
	struct th_mcp_ask *a = (struct th_mcp_ask *)ctx;

	th_buf_add(&a->answer, bytes);
	return !a->answer.failed;
}

static void on_done(void *ctx, const struct th_fetch_result *r)
{
	struct th_mcp_ask *a = (struct th_mcp_ask *)ctx;
	bool whole = r->end == TH_FETCH_OK || r->end == TH_FETCH_STATUS;

	a->running = false;
	a->body = th_secret_free(a->body);
	a->authorization = th_secret_free(a->authorization);
	a->err = r->err;
	if (a->answer.failed)
		th_fail(&a->err, TH_ELIMIT, "the answer has more than %zu bytes",
			TH_OAUTH_JSON_MAX);
	a->done(a->ctx, whole ? r->head.status : 0, &a->err);
}

void th_mcp_ask_start(struct th_mcp_ask *a, struct th_str url, const char *type, struct th_str body,
		      struct th_str authorization)
{
	const struct th_fetch_header headers[] = {
		{ "Accept", TH_STR("application/json, text/event-stream") },
		{ "Content-Type", th_str_of(type) },
	};
	struct th_fetch_request r = {
		.method = body.len ? "POST" : "GET",
		.url = url,
		.headers = headers,
		.header_count = body.len ? 2 : 1,
		.secret_header = "Authorization",
		.body = &a->piece,
		.body_count = body.len ? 1 : 0,
		.once = body.len > 0, /* a code and a refresh token count once */
		.connect_ms = TH_MODEL_CONNECT_MS,
		.total_ms = TH_OAUTH_MS,
		.body_max = TH_OAUTH_JSON_MAX,
		.on_header = on_header,
		.on_data = on_data,
		.on_done = on_done,
		.ctx = a,
	};

	assert(!a->running);
	forget(a);
	a->body = th_secret_new(body);
	a->authorization = authorization.len ? th_secret_new(authorization) : NULL;
	a->piece = th_secret_expose(a->body);
	r.secret = a->authorization;
	a->err = (struct th_err){ 0 };
	if (th_fetch_start(a->fetcher, &r, &a->fetch, &a->err))
		th_timer_start(&a->failed, 0, 0);
	else
		a->running = true;
}
