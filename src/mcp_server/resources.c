/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resources.c - sessions as resources of MCP: thole://sessions/ID, its events
 * and its pictures.
 */
#include <stdio.h>
#include <stdlib.h>

#include "mcp_server/kit.h"

#define ROOT "thole://sessions/"
#define EVENTS_MAX 1000

const char th_mcp_kit_templates[] =
    "[{\"uriTemplate\":\"" ROOT
    "{id}\",\"name\":\"session\",\"title\":\"A session\",\"description\":"
    "\"its state and what it said last\",\"mimeType\":\"application/json\"},"
    "{\"uriTemplate\":\"" ROOT "{id}/events\",\"name\":\"events\",\"title\":\"Its events\","
    "\"description\":\"what it did, one JSON object a "
    "line\",\"mimeType\":\"application/x-ndjson\"},"
    "{\"uriTemplate\":\"" ROOT "{id}/screen\",\"name\":\"screen\",\"title\":\"Its screen\","
    "\"description\":\"the newest picture that it took of its screen\"},"
    "{\"uriTemplate\":\"" ROOT "{id}/blobs/{hash}\",\"name\":\"picture\",\"title\":\"A picture\","
    "\"description\":\"one that an event names\"}]";

void th_mcp_kit_resources(struct th_mcp *m, struct th_jw *w)
{
	const char *options[] = { "user", m->access->user, "limit", "100", NULL };
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct thole_error err;
	struct th_json_iter it;
	char *page = NULL;

	if (thole_runtime_page(m->access->server->rt, options, &page, &err) != 0)
		return;
	if (th_json_parse(th_str_of(page), &doc, NULL) == TH_OK) {
		it = th_json_iter(th_json_get(th_json_root(doc), "sessions"));
		while (th_json_next(&it)) {
			struct th_buf uri TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
			struct th_str id = th_json_get_str(it.val, "session_id");
			struct th_str title = th_json_get_str(it.val, "title");

			th_buf_printf(&uri, ROOT "%.*s", TH_FMT(id));
			th_jw_object(w);
			th_jw_kstr(w, "uri", th_buf_str(&uri));
			th_jw_kstr(w, "name", id);
			th_jw_kstr(w, "title", title.len ? title : id);
			th_jw_kstr(w, "description", th_json_get_str(it.val, "state"));
			th_jw_kstr(w, "mimeType", TH_STR("application/json"));
			th_jw_object_end(w);
		}
	}
	thole_free(page);
}

/* ---- reading ---- */

/* `text`, or with `blob` those bytes in base64. */
static void answer(struct th_mcp *m, struct th_str uri, const char *type, struct th_str content,
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

struct lines {
	struct th_buf *out;
	size_t count;
	struct th_str wanted; /* only this picture; empty: any */
	char hash[TH_SHA256_HEX_SIZE + 1];
};

static int on_event(void *ctx, const char *line, size_t len)
{
	struct lines *l = ctx;

	if (l->count++ == EVENTS_MAX || l->out->len + len > TH_SERVE_JSON_MAX)
		return 1;
	th_buf_add_mem(l->out, line, len);
	th_buf_add_char(l->out, '\n');
	return 0;
}

/* The pictures that an event names stand in it as {"blob": HASH}. */
static int on_picture(void *ctx, const char *line, size_t len)
{
	static const char member[] = "\"blob\":\"";
	struct lines *l = ctx;
	struct th_str rest = th_str_n(line, len);
	struct th_digest digest;
	ptrdiff_t at;

	while ((at = th_str_find(rest, th_str_of(member))) >= 0) {
		struct th_str hash;

		rest = th_str_sub(rest, (size_t)at + strlen(member), rest.len);
		hash = th_str_sub(rest, 0, TH_SHA256_HEX_SIZE);
		if (!th_digest_parse(hash, &digest) ||
		    (l->wanted.len && !th_str_eq(hash, l->wanted)))
			continue;
		memcpy(l->hash, hash.ptr, TH_SHA256_HEX_SIZE);
		l->hash[TH_SHA256_HEX_SIZE] = '\0';
	}
	return 0;
}

static int on_blob(void *ctx, const void *bytes, size_t size)
{
	th_buf_add_mem(ctx, bytes, size);
	return 0;
}

static bool read_picture(struct th_mcp *m, struct th_str uri, const char *id, struct th_str hash)
{
	struct th_buf bytes TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_BLOB_MAX);
	struct lines lines = { .wanted = hash };
	struct thole_runtime *rt = m->access->server->rt;
	struct thole_error err;
	struct th_str start;

	if (thole_runtime_log(rt, id, 1, on_picture, &lines, &err) != 0 || !lines.hash[0] ||
	    thole_runtime_blob(rt, lines.hash, 0, 0, on_blob, &bytes, NULL, &err) != 0)
		return false;
	start = th_buf_str(&bytes);
	answer(m, uri,
	       th_str_starts(start, TH_STR("\x89PNG"))    ? "image/png"
	       : th_str_starts(start, TH_STR("\xff\xd8")) ? "image/jpeg"
	       : th_str_starts(start, TH_STR("RIFF"))     ? "image/webp"
							  : "application/octet-stream",
	       start, true);
	return true;
}

static bool read_events(struct th_mcp *m, struct th_str uri, const char *id)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_SERVE_JSON_MAX);
	struct lines lines = { .out = &out };
	struct thole_error err;
	int code = thole_runtime_log(m->access->server->rt, id, 1, on_event, &lines, &err);

	if (code && code != 1)
		return false;
	answer(m, uri, "application/x-ndjson", th_buf_str(&out), false);
	return true;
}

/* The session that a URI names, and what of it; false: none of this user's. */
static bool find(struct th_server *s, const char *user, struct th_str uri,
		 char id[static TH_SESSION_ID_MAX + 1], struct th_str *ret_rest)
{
	struct th_str name, rest = th_str_sub(uri, strlen(ROOT), uri.len);
	struct thole_error err;
	char *row = NULL;

	if (!th_str_starts(uri, TH_STR(ROOT)))
		return false;
	name = th_str_split(&rest, '/');
	if (!name.len || name.len > TH_SESSION_ID_MAX || memchr(name.ptr, 0, name.len))
		return false;
	memcpy(id, name.ptr, name.len);
	id[name.len] = '\0';
	if (thole_runtime_session(s->rt, id, user, &row, &err) != 0)
		return false;
	thole_free(row);
	*ret_rest = rest;
	return true;
}

bool th_mcp_kit_read(struct th_mcp *m, struct th_str uri)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_server *s = m->access->server;
	char id[TH_SESSION_ID_MAX + 1];
	struct thole_error err;
	struct th_str rest;

	if (!find(s, m->access->user, uri, id, &rest))
		return false;
	if (th_str_is(rest, "events"))
		return read_events(m, uri, id);
	if (th_str_is(rest, "screen"))
		return read_picture(m, uri, id, (struct th_str){ NULL, 0 });
	if (th_str_starts(rest, TH_STR("blobs/")))
		return rest.len > 6 && read_picture(m, uri, id, th_str_sub(rest, 6, rest.len));
	if (rest.len || !th_mcp_session_print(s, m->access->user, id, &out, &err))
		return false;
	answer(m, uri, "application/json", th_buf_str(&out), false);
	return true;
}

/* ---- listening ---- */

static void on_note(struct th_listener *l, const struct thole_note *note)
{
	struct th_mcp_watch *w = TH_CONTAINER_OF(l, struct th_mcp_watch, listener);

	if (note && thole_note_kind(note) == THOLE_NOTE_EVENT)
		th_mcp_updated(w);
}

bool th_mcp_kit_watch(struct th_mcp_watch *w)
{
	char id[TH_SESSION_ID_MAX + 1];
	struct th_str rest;

	if (!find(w->server, w->user, th_str_of(w->uri), id, &rest))
		return false;
	w->listener = (struct th_listener){ .fn = on_note, .only_listens = true };
	th_hub_listen(th_hub_get(w->server, id, w->user), &w->listener);
	return true;
}
