/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reads.c - what MCP's resources and tools read of a session's log, beside the loop: the answer
 * comes when it is there.
 */
#include <stdlib.h>

#include "mcp_server/kit.h"

#define EVENTS_MAX 1000 /* of a resource */
#define EVENTS_DEFAULT 50
#define EVENTS_BYTES_MAX TH_MIB /* of a tool's answer; it ends behind the event that passes it */

struct reading {
	struct th_mcp *m;
	struct thole_reading *reading;
	struct th_str uri; /* in the request */
	struct th_buf out;
	size_t count, limit;
	struct th_str wanted;              /* only this picture; empty: the newest */
	char hash[TH_SHA256_HEX_SIZE + 1]; /* of a picture that was found */
};

/* The request is let go of; it is still to be answered. */
static struct th_mcp *reading_end(struct reading *r)
{
	struct th_mcp *m = r->m;

	m->ctx = NULL;
	m->gone = NULL;
	if (m->access)
		m->access->reads = false;
	th_buf_deinit(&r->out);
	free(r);
	return m;
}

static void on_gone(struct th_mcp *m)
{
	struct reading *r = m->ctx;

	thole_reading_free(r->reading);
	(void)reading_end(r);
}

static struct reading *reading_new(struct th_mcp *m, struct th_str uri, size_t max)
{
	struct reading *r = th_alloc(sizeof(*r));

	*r = (struct reading){ .m = m, .uri = uri, .out = TH_BUF_INIT(max) };
	m->ctx = r;
	m->gone = on_gone;
	m->access->reads = true;
	return r;
}

/* It begins; or is answered at once. */
static void reading_wait(struct reading *r, int code, const struct thole_error *err)
{
	if (code)
		th_mcp_error(reading_end(r), err);
	else
		th_server_kick(r->m->access->server);
}

/* ---- contents of a resource ---- */

void th_mcp_contents(struct th_mcp *m, struct th_str uri, const char *type, struct th_str content,
		     bool blob)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_jw w = th_jw(&out);

	if (blob)
		th_base64_encode(&text, content.ptr, content.len);
	th_jw_object(&w);
	th_jw_name(&w, TH_STR("contents"));
	th_jw_array(&w);
	th_jw_object(&w);
	th_jw_kstr(&w, "uri", uri);
	th_jw_kstr(&w, "mimeType", th_str_of(type));
	th_jw_kstr(&w, blob ? "blob" : "text", blob ? th_buf_str(&text) : content);
	th_jw_object_end(&w);
	th_jw_array_end(&w);
	if (m->modern) {
		th_jw_kint(&w, "ttlMs", 0);
		th_jw_kstr(&w, "cacheScope", TH_STR("private"));
	}
	th_jw_object_end(&w);
	th_mcp_answer(m, th_buf_str(&out));
}

/* ---- events as a resource ---- */

static int on_event_line(void *ctx, const char *line, size_t len)
{
	struct reading *r = ctx;

	if (r->count++ == EVENTS_MAX || r->out.len + len > TH_SERVE_JSON_MAX)
		return 1;
	th_buf_add_mem(&r->out, line, len);
	th_buf_add_char(&r->out, '\n');
	return 0;
}

static void on_events(void *ctx, int code, const struct thole_error *err)
{
	struct reading *r = ctx;
	struct th_buf lines TH_CLEANUP(th_buf_deinit) = r->out;
	struct th_str uri = r->uri;
	struct th_mcp *m;

	(void)err;
	r->out = (struct th_buf){ 0 };
	m = reading_end(r);
	if (code && code != 1)
		th_mcp_no_resource(m, uri);
	else
		th_mcp_contents(m, uri, "application/x-ndjson", th_buf_str(&lines), false);
}

void th_mcp_read_events(struct th_mcp *m, struct th_str uri, const char *id)
{
	struct reading *r = reading_new(m, uri, 2 * TH_SERVE_JSON_MAX);
	struct thole_error err = { 0 };

	reading_wait(r,
		     thole_runtime_log_start(m->access->server->rt, id, 1, on_event_line, on_events,
					     r, &r->reading, &err),
		     &err);
}

/* ---- pictures ---- */

/* The pictures that an event names stand in it as {"blob": HASH}. */
static int on_picture_line(void *ctx, const char *line, size_t len)
{
	static const char member[] = "\"blob\":\"";
	struct reading *r = ctx;
	struct th_str rest = th_str_n(line, len);
	struct th_digest digest;
	ptrdiff_t at;

	while ((at = th_str_find(rest, th_str_of(member))) >= 0) {
		struct th_str hash;

		rest = th_str_sub(rest, (size_t)at + strlen(member), rest.len);
		hash = th_str_sub(rest, 0, TH_SHA256_HEX_SIZE);
		if (!th_digest_parse(hash, &digest) ||
		    (r->wanted.len && !th_str_eq(hash, r->wanted)))
			continue;
		memcpy(r->hash, hash.ptr, TH_SHA256_HEX_SIZE);
		r->hash[TH_SHA256_HEX_SIZE] = '\0';
	}
	return r->wanted.len && r->hash[0];
}

static int on_bytes(void *ctx, const void *bytes, size_t size)
{
	struct reading *r = ctx;

	th_buf_add_mem(&r->out, bytes, size);
	return 0;
}

static const char *picture_type(struct th_str bytes)
{
	if (th_str_starts(bytes, TH_STR("\x89PNG")))
		return "image/png";
	if (th_str_starts(bytes, TH_STR("\xff\xd8")))
		return "image/jpeg";
	if (th_str_starts(bytes, TH_STR("RIFF")))
		return "image/webp";
	return "application/octet-stream";
}

static void on_picture(void *ctx, int code, const struct thole_error *err)
{
	struct reading *r = ctx;
	struct th_buf bytes TH_CLEANUP(th_buf_deinit) = r->out;
	struct th_str uri = r->uri;
	struct th_mcp *m;

	(void)err;
	r->out = (struct th_buf){ 0 };
	m = reading_end(r);
	if (code)
		th_mcp_no_resource(m, uri);
	else
		th_mcp_contents(m, uri, picture_type(th_buf_str(&bytes)), th_buf_str(&bytes), true);
}

static void on_searched(void *ctx, int code, const struct thole_error *ignored)
{
	struct reading *r = ctx;
	struct thole_error err = { 0 };
	struct th_str uri = r->uri;

	(void)ignored;
	r->reading = NULL;
	if ((code && code != 1) || !r->hash[0]) {
		th_mcp_no_resource(reading_end(r), uri);
		return;
	}
	reading_wait(r,
		     thole_runtime_blob_start(r->m->access->server->rt, r->hash, 0, 0, on_bytes,
					      on_picture, r, &r->reading, &err),
		     &err);
}

void th_mcp_read_picture(struct th_mcp *m, struct th_str uri, const char *id, struct th_str hash)
{
	struct reading *r = reading_new(m, uri, TH_BLOB_MAX);
	struct thole_error err = { 0 };

	r->wanted = hash;
	reading_wait(r,
		     thole_runtime_log_start(m->access->server->rt, id, 1, on_picture_line,
					     on_searched, r, &r->reading, &err),
		     &err);
}

/* ---- events as a tool's answer ---- */

static int on_tool_line(void *ctx, const char *line, size_t len)
{
	struct reading *r = ctx;

	if (r->count == r->limit || r->out.len > EVENTS_BYTES_MAX)
		return 1;
	if (r->count++)
		th_buf_add_char(&r->out, ',');
	th_buf_add_mem(&r->out, line, len);
	return 0;
}

static void on_tool_events(void *ctx, int code, const struct thole_error *err)
{
	struct reading *r = ctx;
	struct th_buf json TH_CLEANUP(th_buf_deinit) = r->out;
	struct th_mcp *m;

	r->out = (struct th_buf){ 0 };
	m = reading_end(r);
	th_buf_add_cstr(&json, "]}");
	if (code && code != 1)
		th_mcp_error(m, err);
	else
		th_mcp_json(m, th_buf_str(&json));
}

void th_mcp_answer_events(struct th_mcp *m, const char *id, uint64_t from, size_t limit)
{
	struct reading *r = reading_new(m, (struct th_str){ NULL, 0 }, TH_HTTP_REPLY_MAX);
	struct thole_error err = { 0 };

	r->limit = limit ? limit : EVENTS_DEFAULT;
	th_buf_add_cstr(&r->out, "{\"events\":[");
	reading_wait(r,
		     thole_runtime_log_start(m->access->server->rt, id, from ? from : 1,
					     on_tool_line, on_tool_events, r, &r->reading, &err),
		     &err);
}
