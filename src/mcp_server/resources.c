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
	const struct th_found *page = th_need_page(&m->needs, options);
	struct th_json_iter it;

	if (page && !page->err && th_json_parse(page->text, &doc, NULL) == TH_OK) {
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
}

/* ---- by name ---- */

bool th_mcp_kit_named(struct th_str uri, char id[static TH_SESSION_ID_MAX + 1],
		      struct th_str *ret_rest)
{
	*ret_rest = th_str_sub(uri, strlen(ROOT), uri.len);
	return th_str_starts(uri, TH_STR(ROOT)) && th_session_name(th_str_split(ret_rest, '/'), id);
}

/* Its row; NULL: none of this user's, or m waits. */
static const struct th_found *find(struct th_mcp *m, struct th_str uri,
				   char id[static TH_SESSION_ID_MAX + 1], struct th_str *ret_rest)
{
	const struct th_found *row = th_mcp_kit_named(uri, id, ret_rest)
					 ? th_need_session(&m->needs, id, m->access->user)
					 : NULL;

	return row && !row->err ? row : NULL;
}

bool th_mcp_kit_known(struct th_mcp *m, struct th_str uri)
{
	char id[TH_SESSION_ID_MAX + 1];
	struct th_str rest;

	return find(m, uri, id, &rest) != NULL;
}

bool th_mcp_kit_read(struct th_mcp *m, struct th_str uri)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	char id[TH_SESSION_ID_MAX + 1];
	struct th_str rest;
	const struct th_found *row = find(m, uri, id, &rest);

	if (!row)
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
	if (rest.len)
		return false;
	th_mcp_session_print(m->access->server, id, row->text, &out);
	th_mcp_contents(m, uri, "application/json", th_buf_str(&out), false);
	return true;
}

/* ---- listening ---- */

#define GONE UINT64_MAX /* no event has that number */

static uint64_t last_event(const struct th_found *row)
{
	int64_t number;

	return th_str_i64(th_json_raw_get(row->text, "head_seq"), &number) && number > 0
		   ? (uint64_t)number
		   : 0;
}

/* Another node, or another program, may have written more, or removed it. */
static void on_looked(void *ctx)
{
	struct th_mcp_watch *w = ctx;
	const struct th_found *row = th_need_session(&w->look, w->listener.hub->id, w->user);
	uint64_t last;

	if (!row || (row->err && row->err->code != THOLE_ENOENT))
		return; /* it is looked at again soon */
	last = row->err ? GONE : last_event(row);
	if (last == w->told)
		return;
	w->told = last;
	th_mcp_updated(w); /* w may be gone */
}

static void on_look(struct th_listener *l)
{
	struct th_mcp_watch *w = TH_CONTAINER_OF(l, struct th_mcp_watch, listener);

	if (th_needs_wait(&w->look))
		return; /* the store is slow */
	th_needs_forget(&w->look);
	on_looked(w);
}

static void on_note(struct th_listener *l, const struct thole_note *note)
{
	struct th_mcp_watch *w = TH_CONTAINER_OF(l, struct th_mcp_watch, listener);

	if (!note) {
		if (!w->server->finishing)
			on_look(l); /* it goes on elsewhere, or was deleted */
	} else if (thole_note_kind(note) == THOLE_NOTE_EVENT) {
		w->told = TH_MAX(w->told, thole_note_seq(note));
		th_mcp_updated(w);
	}
}

static void on_end(struct th_mcp_watch *w)
{
	th_needs_forget(&w->look);
}

bool th_mcp_kit_watch(struct th_mcp *m, struct th_mcp_watch *w)
{
	char id[TH_SESSION_ID_MAX + 1];
	struct th_str rest;
	const struct th_found *row = find(m, th_str_of(w->uri), id, &rest);

	if (!row)
		return false;
	w->told = last_event(row);
	w->look = (struct th_needs){ .server = w->server, .again = on_looked, .ctx = w };
	w->end = on_end;
	w->listener = (struct th_listener){ .fn = on_note, .look = on_look, .only_listens = true };
	th_hub_listen(th_hub_get(w->server, id, w->user), &w->listener);
	return true;
}
