/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork.c - a conversation that shares the events of another, all of them or up to one.
 *
 * Which event of the session's log that is, the conversation says that is told from it.  A fork
 * that begins in the midst of a run is held until its client runs it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "io/clock.h"
#include "openhands_api/internal.h"

/* ---- what is asked ---- */

struct wanted {
	struct th_json_doc *doc;
	const struct th_json *tags;
	struct th_str title, from;
	char name[TH_UUID_TEXT_SIZE + 1];
};

static void wanted_deinit(struct wanted *f)
{
	th_json_free(f->doc);
}

/* The body may be missing.  False: it was answered. */
static bool read_wanted(struct th_access *a, struct wanted *ret)
{
	struct th_str body = th_http_body(a->request), given;
	const struct th_json *v, *from;
	struct th_uuid id = th_uuid_now();
	struct th_err bad = {};
	const char *why;

	if (th_json_parse(body.len ? body : TH_STR("{}"), &ret->doc, &bad)) {
		th_access_fail(a, 422, NULL, "the body is no JSON: %s", bad.msg);
		return false;
	}
	v = th_json_root(ret->doc);
	ret->tags = th_json_get(v, "tags");
	ret->title = th_str_trim(th_json_get_str(v, "title"));
	from = th_json_get(v, "from_event_id");
	ret->from = th_json_str(from);
	given = th_json_get_str(v, "id");
	why = th_oh_tags_fault(ret->tags);
	if (given.len && !th_uuid_parse(given, &id))
		why = "id is a UUID";
	if (!th_json_is_null(from) && (!ret->from.len || ret->from.len > TH_SESSION_ID_MAX ||
				       memchr(ret->from.ptr, 0, ret->from.len)))
		why = "from_event_id is the id of an event";
	if (ret->title.len && memchr(ret->title.ptr, 0, ret->title.len))
		why = "title is a text without a zero in it";
	if (why) {
		th_access_fail(a, 422, NULL, "%s", why);
		return false;
	}
	th_uuid_text(&id, ret->name);
	return true;
}

/* ---- it is there ---- */

static void answer_made(struct th_access *a, const char *session, int status)
{
	(void)status;
	th_oh_answer_info(a, session, 201);
}

/* Its source's title and tags, where the client wants no others. */
static void describe(struct th_access *a)
{
	struct wanted f TH_CLEANUP(wanted_deinit) = { 0 };
	struct th_buf metadata TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_METADATA_MAX);
	struct th_json_doc *row TH_CLEANUP(th_json_freep) = NULL;
	struct th_arena memory TH_CLEANUP(th_arena_deinit) = {};
	const struct th_found *found = th_need_session(&a->needs, a->args[0], a->user);

	if (!found)
		return;
	if (found->err) {
		th_access_error(a, found->err);
		return;
	}
	if (!read_wanted(a, &f))
		return;
	th_arena_init(&memory, TH_SERVE_SMALL_MAX);
	if (!th_json_is_null(f.tags) && th_json_parse(found->text, &row, NULL) == TH_OK)
		th_oh_print_own(th_json_get(th_json_root(row), "metadata"), "tags", f.tags,
				&metadata);
	if (metadata.failed)
		th_access_fail(a, 413, NULL, "the tags are too long");
	else if (f.title.len || metadata.len)
		th_access_describe(a, a->args[0],
				   f.title.len ? th_arena_cstr(&memory, f.title) : NULL,
				   metadata.len ? metadata.ptr : NULL, answer_made);
	else
		th_oh_answer_info(a, a->args[0], 201);
}

static void describe_held(struct th_access *a, const char *session, int status)
{
	(void)session;
	(void)status;
	th_needs_forget(&a->needs); /* it has changed since */
	a->again = describe;
	describe(a);
}

/* It shares the begin of a run: nobody has asked for the rest of that yet. */
static void hold(struct th_access *a)
{
	const struct th_found *open = th_need_open(&a->needs, a->args[0], a->user, true);
	struct th_hub *h;
	struct thole_error err;
	int code = 0;

	if (!open)
		return;
	if (open->err) {
		th_access_error(a, open->err);
		return;
	}
	h = th_hub_find(a->server, a->args[0]);
	if (thole_session_state(h->session) == THOLE_RUNNING)
		code = thole_session_pause(h->session, TH_HELD_REASON, &err);
	th_server_kick(a->server);
	if (code)
		th_access_error(a, &err);
	else
		th_access_durable(a, h, 201, describe_held);
}

static void on_forked(struct th_access *a, const char *session, struct th_str row)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	bool runs = th_json_parse(row, &doc, NULL) == TH_OK &&
		    th_str_is(th_json_get_str(th_json_root(doc), "state"), "running");

	snprintf(a->args[0], sizeof(a->args[0]), "%s", session);
	th_needs_forget(&a->needs);
	a->again = runs ? hold : describe;
	a->again(a);
}

/* ---- where it begins ---- */

struct place {
	struct th_access *access;
	struct th_oh_reading *reading;
	uint64_t seq;
	bool last;
};

static void on_gone(struct th_access *a)
{
	struct place *p = a->ctx;

	th_oh_read_free(p->reading);
	free(p);
}

static int on_place(void *ctx, const char *line, size_t len)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct place *p = ctx;

	if (th_json_parse(th_str_n(line, len), &doc, NULL) == TH_OK) {
		p->seq = th_json_uint(th_json_get(th_json_root(doc), "seq"), 0);
		p->last = th_json_bool(th_json_get(th_json_root(doc), "last"), false);
	}
	return 1;
}

static void on_read(void *ctx, int code, const struct thole_error *err)
{
	struct wanted f TH_CLEANUP(wanted_deinit) = { 0 };
	struct place p = *(struct place *)ctx;
	struct th_access *a = p.access;

	free(ctx);
	a->gone = NULL;
	a->reads = false;
	a->ctx = NULL;
	if (code == THOLE_ENOENT)
		th_access_fail(a, 404, NULL, "from_event_id: %s", err->text);
	else if (code != 1 && code != THOLE_OK)
		th_access_error(a, err);
	else if (!p.seq || !p.last)
		th_access_fail(a, 409, NULL,
			       "from_event_id: that event was written in one with the next ones; "
			       "begin at the last of them");
	else if (read_wanted(a, &f))
		th_access_fork(a, a->args[0], p.seq, f.name, on_forked);
}

static void find_place(struct th_access *a, struct th_str from)
{
	char event[TH_SESSION_ID_MAX + 1];
	const char *options[] = { "event", event, "give", "places", NULL };
	struct place *p = th_alloc(sizeof(*p));
	struct thole_error err;

	snprintf(event, sizeof(event), "%.*s", TH_FMT(from));
	*p = (struct place){ .access = a };
	a->ctx = p;
	a->gone = on_gone;
	a->reads = true;
	if (th_oh_read(a->server->openhands, a->args[0], options, on_place, on_read, p, &p->reading,
		       &err) == 0)
		return;
	a->ctx = NULL;
	a->gone = NULL;
	a->reads = false;
	free(p);
	th_access_error(a, &err);
}

void th_oh_fork(struct th_access *a)
{
	struct wanted f TH_CLEANUP(wanted_deinit) = { 0 };

	if (!read_wanted(a, &f) || !th_oh_mine(a, NULL))
		return;
	if (f.from.len)
		find_place(a, f.from);
	else
		th_access_fork(a, a->args[0], 0, f.name, on_forked);
}
