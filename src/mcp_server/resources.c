/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resources.c - sessions as resources of MCP: thole://sessions/ID, and what of
 * them can be asked for.
 */
#include <stdio.h>
#include <stdlib.h>

#include "mcp_server/kit.h"

#define ROOT "thole://sessions/"

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

/* ---- by name ---- */

bool th_mcp_kit_named(struct th_str uri, char id[static TH_SESSION_ID_MAX + 1],
		      struct th_str *ret_rest)
{
	*ret_rest = th_str_sub(uri, strlen(ROOT), uri.len);
	return th_str_starts(uri, TH_STR(ROOT)) && th_session_name(th_str_split(ret_rest, '/'), id);
}

/* The session that a URI names, and what of it; false: none of this user's. */
static bool find(struct th_server *s, const char *user, struct th_str uri,
		 char id[static TH_SESSION_ID_MAX + 1], struct th_str *ret_rest)
{
	struct thole_error err;
	char *row = NULL;

	if (!th_mcp_kit_named(uri, id, ret_rest) ||
	    thole_runtime_session(s->rt, id, user, &row, &err) != 0)
		return false;
	thole_free(row);
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
	if (th_str_is(rest, "events")) {
		th_mcp_read_events(m, uri, id);
		return true;
	}
	if (th_str_is(rest, "screen")) {
		th_mcp_read_picture(m, uri, id, (struct th_str){ NULL, 0 });
		return true;
	}
	if (th_str_starts(rest, TH_STR("blobs/")) && rest.len > 6) {
		th_mcp_read_picture(m, uri, id, th_str_sub(rest, 6, rest.len));
		return true;
	}
	if (rest.len || !th_mcp_session_print(s, m->access->user, id, &out, &err))
		return false;
	th_mcp_contents(m, uri, "application/json", th_buf_str(&out), false);
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
