/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reads.c - what is read from the store beside the loop and answered when it is there: pages of
 * sessions and of events, pictures, and sessions as files; and sessions that come in as files.
 */
#include <stdlib.h>

#include "base/text.h"
#include "server/files.h"
#include "sessions_api/internal.h"

/* An answer that waits for the store. */
struct answer {
	struct th_access *access;
	struct thole_reading *reading;
	struct th_buf out;
	uint64_t from; /* of a page: its first event */
	size_t count, limit;
	bool more;
	bool found; /* of a blob: an event names it */
};

static void answer_free(struct answer *w)
{
	w->access->ctx = NULL;
	w->access->gone = NULL;
	w->access->reads = false;
	th_buf_deinit(&w->out);
	free(w);
}

static void on_gone(struct th_access *a)
{
	struct answer *w = a->ctx;

	thole_reading_free(w->reading);
	answer_free(w);
}

static struct answer *answer_new(struct th_access *a, size_t max)
{
	struct answer *w = th_alloc(sizeof(*w));

	*w = (struct answer){ .access = a, .out = TH_BUF_INIT(max) };
	a->ctx = w;
	a->gone = on_gone;
	a->reads = true;
	return w;
}

/* Whether the reading began; else it is answered. */
static void answer_wait(struct answer *w, int code, const struct thole_error *err)
{
	struct th_access *a = w->access;

	if (!code) {
		th_server_kick(a->server);
		return;
	}
	answer_free(w);
	th_access_error(a, err);
}

/* ---- a page of sessions ---- */

void th_api_sessions_list(struct th_access *a)
{
	static const char *const names[] = { "state",  "agent", "title", "text",  "metadata",
					     "prefix", "order", "limit", "after", NULL };
	struct th_api_options o;
	const struct th_found *page = NULL;

	if (th_api_options_read(a, names, "sessions", &o))
		page = th_need_page(&a->needs, o.list);
	th_api_options_deinit(&o);
	if (page)
		th_access_answer(a, 200, page);
}

/* ---- a page of events ---- */

static int on_page_line(void *ctx, const char *line, size_t len)
{
	struct answer *w = ctx;

	if (w->count == w->limit || w->out.len > TH_SERVE_JSON_MAX) {
		w->more = true;
		return 1;
	}
	if (w->count++)
		th_buf_add_char(&w->out, ',');
	th_buf_add_mem(&w->out, line, len);
	return 0;
}

static void on_page(void *ctx, int code, const struct thole_error *err)
{
	struct answer *w = ctx;
	struct th_access *a = w->access;
	struct th_buf json TH_CLEANUP(th_buf_deinit) = w->out;

	w->out = (struct th_buf){ 0 };
	if (w->more)
		th_buf_printf(&json, "],\"next\":%llu}", (unsigned long long)(w->from + w->count));
	else
		th_buf_add_cstr(&json, "]}");
	answer_free(w);
	if (code && code != 1)
		th_access_error(a, err);
	else
		th_access_json(a, 200, &json);
}

void th_api_page_give(struct th_access *a, uint64_t from)
{
	struct thole_error err = { 0 };
	struct answer *w;
	int64_t limit = 100;

	if (!th_access_query_int(a, "limit", &limit))
		return;
	if (limit < 1 || limit > TH_SERVE_PAGE_EVENTS) {
		th_access_fail(a, 400, NULL, "limit is 1 to %d", TH_SERVE_PAGE_EVENTS);
		return;
	}
	w = answer_new(a, TH_HTTP_REPLY_MAX);
	w->from = from;
	w->limit = (size_t)limit;
	th_buf_add_cstr(&w->out, "{\"events\":[");
	answer_wait(w,
		    thole_runtime_log_start(a->server->rt, a->args[0], from, on_page_line, on_page,
					    w, &w->reading, &err),
		    &err);
}

/* ---- blobs ---- */

static int on_search_line(void *ctx, const char *line, size_t len)
{
	struct answer *w = ctx;
	const char *hash = w->access->args[1];

	w->found = memmem(line, len, hash, strlen(hash)) != NULL;
	return w->found;
}

static int on_bytes(void *ctx, const void *bytes, size_t size)
{
	struct answer *w = ctx;

	th_buf_add_mem(&w->out, bytes, size);
	return 0;
}

static void on_blob(void *ctx, int code, const struct thole_error *err)
{
	struct answer *w = ctx;
	struct th_access *a = w->access;
	struct th_buf bytes TH_CLEANUP(th_buf_deinit) = w->out;

	w->out = (struct th_buf){ 0 };
	answer_free(w);
	if (code)
		th_access_error(a, err);
	else
		th_http_reply(a->request, 200, th_type_of(th_buf_str(&bytes)),
			      TH_STR("Cache-Control: private, max-age=31536000, immutable\r\n"),
			      th_buf_str(&bytes));
}

static void no_blob(struct th_access *a)
{
	th_access_fail(a, 404, "not_found", "no event of this session names that blob");
}

static void on_searched(void *ctx, int code, const struct thole_error *ignored)
{
	struct answer *w = ctx;
	struct th_access *a = w->access;
	struct thole_error err = { 0 };

	(void)code;
	(void)ignored;
	w->reading = NULL;
	if (!w->found) {
		answer_free(w);
		no_blob(a);
		return;
	}
	answer_wait(w,
		    thole_runtime_blob_start(a->server->rt, a->args[1], 0, 0, on_bytes, on_blob, w,
					     &w->reading, &err),
		    &err);
}

void th_api_session_blob(struct th_access *a)
{
	struct th_digest digest;
	struct thole_error err = { 0 };
	struct answer *w;

	if (!th_session_mine(a, NULL))
		return;
	if (!th_digest_parse(th_str_of(a->args[1]), &digest)) {
		no_blob(a);
		return;
	}
	w = answer_new(a, TH_BLOB_MAX);
	answer_wait(w,
		    thole_runtime_log_start(a->server->rt, a->args[0], 1, on_search_line,
					    on_searched, w, &w->reading, &err),
		    &err);
}

/* ---- from one store to another ---- */

static int on_export_line(void *ctx, const char *line, size_t len)
{
	struct answer *w = ctx;

	th_buf_add_mem(&w->out, line, len);
	th_buf_add_char(&w->out, '\n');
	return w->out.failed;
}

static void on_export(void *ctx, int code, const struct thole_error *err)
{
	struct answer *w = ctx;
	struct th_access *a = w->access;
	struct th_buf lines TH_CLEANUP(th_buf_deinit) = w->out;

	w->out = (struct th_buf){ 0 };
	answer_free(w);
	if (lines.failed)
		th_access_fail(a, 413, "limit",
			       "it has more than %lld bytes; thole export on the "
			       "server's machine gives it",
			       (long long)TH_HTTP_REPLY_MAX);
	else if (code)
		th_access_error(a, err);
	else
		th_access_text(a, 200, "application/x-ndjson", th_buf_str(&lines));
}

void th_api_session_export(struct th_access *a)
{
	struct thole_error err = { 0 };
	struct answer *w;

	if (!th_session_mine(a, NULL))
		return;
	w = answer_new(a, TH_HTTP_REPLY_MAX);
	answer_wait(w,
		    thole_runtime_export_start(a->server->rt, a->args[0], on_export_line, on_export,
					       w, &w->reading, &err),
		    &err);
}

static int on_imported_line(void *ctx, const char *line, size_t len)
{
	struct answer *w = ctx;
	struct th_jw json = th_jw(&w->out);

	th_jw_object(&json);
	th_jw_kstr(&json, "session_id", th_str_n(line, len));
	th_jw_object_end(&json);
	return 0;
}

static void on_imported(void *ctx, int code, const struct thole_error *err)
{
	struct answer *w = ctx;
	struct th_access *a = w->access;
	struct th_buf json TH_CLEANUP(th_buf_deinit) = w->out;
	struct thole_error bad;

	w->out = (struct th_buf){ 0 };
	answer_free(w);
	if (!code) {
		th_access_json(a, 201, &json);
		return;
	}
	bad = *err;
	if (bad.code == THOLE_EPROTO)
		bad.code = THOLE_EUSAGE;
	th_access_error(a, &bad);
}

void th_api_import(struct th_access *a)
{
	struct th_str body = th_http_body(a->request);
	struct thole_error err = { 0 };
	struct answer *w = answer_new(a, TH_KIB);

	answer_wait(w,
		    thole_runtime_import_start(a->server->rt, body.ptr, body.len, on_imported_line,
					       on_imported, w, &w->reading, &err),
		    &err);
}
