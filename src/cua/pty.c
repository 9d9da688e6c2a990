/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pty.c - terminals of Cua's face: made, typed into, followed and ended.
 *
 * What a terminal wrote last stays in a ring, and how its program ended stays
 * until the terminal is deleted or room is needed: whoever follows later gets
 * both.  Who is slow gets the newest, not all.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/codec.h"
#include "cua/cua.h"

#define PIECE (48 * TH_KIB) /* of the ring, in one message */

struct th_cua_pty {
	struct th_cua_pty *next;
	struct th_cua *cua;
	struct thole_terminal *terminal;
	int64_t pid; /* a number of ours: its program is on the desktop */
	int columns, rows;
	bool ended;
	int status;
	uint64_t size; /* of all that it wrote */
	char ring[TH_SERVE_CUA_PTY_RING];
	struct follower *followers;
};

/* A stream or a socket that shows it. */
struct follower {
	struct follower *next;
	struct th_cua_pty *pty;
	struct th_access *access;
	bool socket, full;
	uint64_t at; /* of the output, what comes next */
};

/* ---- the list ---- */

static struct th_cua_pty *find(struct th_cua *c, int64_t pid)
{
	struct th_cua_pty *p = c->ptys;

	while (p && p->pid != pid)
		p = p->next;
	return p;
}

static void follower_free(struct follower *f)
{
	struct follower **at = &f->pty->followers;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	f->access->gone = NULL;
	f->access->room = NULL;
	f->access->message = NULL;
	f->access->ctx = NULL;
	free(f);
}

static void pty_free(struct th_cua_pty *p)
{
	struct th_cua_pty **at = &p->cua->ptys;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	p->cua->pty_count--;
	thole_terminal_free(p->terminal);
	free(p);
}

/* ---- telling ---- */

/* False: the follower is gone. */
static bool say(struct follower *f, struct th_str json)
{
	struct th_buf frame TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * PIECE);
	struct th_http_request *r = f->access->request;
	bool socket = f->socket;
	enum th_code code;

	if (socket) {
		code = th_http_send(r, json, true);
	} else {
		th_cua_print_line(json, &frame);
		code = th_http_write(r, th_buf_str(&frame));
	}
	if (code && code != TH_EBUSY && code != TH_ELIMIT)
		return false; /* its peer is gone, and so is it (on_gone) */
	f->full = code == TH_EBUSY;
	if (code != TH_ELIMIT)
		return true;
	follower_free(f);
	if (socket)
		th_http_close(r, 1008);
	else
		th_http_abort(r);
	return false;
}

static void end(struct follower *f)
{
	struct th_http_request *r = f->access->request;
	bool socket = f->socket;

	follower_free(f);
	if (socket)
		th_http_close(r, 1000);
	else
		th_http_end(r);
}

/* From `at` on, as far as the ring goes back. */
static bool say_output(struct follower *f)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * PIECE);
	const struct th_cua_pty *p = f->pty;
	char bytes[PIECE];
	size_t len;

	if (p->size - f->at > sizeof(p->ring))
		f->at = p->size - sizeof(p->ring);
	len = (size_t)TH_MIN(p->size - f->at, (uint64_t)sizeof(bytes));
	for (size_t i = 0; i < len; i++)
		bytes[i] = p->ring[(f->at + i) % sizeof(p->ring)];
	f->at += len;
	th_buf_add_cstr(&json, "{\"type\":\"output\",\"data\":\"");
	th_base64_encode(&json, bytes, len);
	th_buf_add_cstr(&json, "\"}");
	return say(f, th_buf_str(&json));
}

static void catch_up(struct follower *f)
{
	char json[64];

	while (!f->full && f->at < f->pty->size)
		if (!say_output(f))
			return;
	if (f->full || !f->pty->ended)
		return;
	snprintf(json, sizeof(json), "{\"type\":\"exit\",\"code\":%d}", f->pty->status);
	if (say(f, th_str_of(json)))
		end(f);
}

static void catch_up_all(struct th_cua_pty *p)
{
	for (struct follower *f = p->followers, *next; f; f = next) {
		next = f->next;
		if (!f->full)
			catch_up(f);
	}
}

static void on_terminal(void *ctx, struct thole_terminal *t, uint64_t offset, const void *bytes,
			size_t size)
{
	struct th_cua_pty *p = ctx;

	(void)offset; /* what was lost on the way is no part of what is shown */
	for (size_t i = size > sizeof(p->ring) ? size - sizeof(p->ring) : 0; i < size; i++)
		p->ring[(p->size + i) % sizeof(p->ring)] = ((const char *)bytes)[i];
	p->size += size;
	if (!bytes) {
		p->ended = true;
		p->status = thole_terminal_status(t);
	}
	catch_up_all(p);
}

/* ---- requests ---- */

/* The one that the path names; NULL: it was answered. */
static struct th_cua_pty *pty_of(struct th_cua *c, struct th_access *a)
{
	int64_t pid = 0;
	struct th_cua_pty *p = th_str_i64(th_str_of(a->args[0]), &pid) ? find(c, pid) : NULL;

	if (!p)
		th_cua_detail(a, 404, "PTY session %.20s not found", a->args[0]);
	return p;
}

static void answer(struct th_access *a, const struct th_cua_pty *p)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	th_buf_printf(&json, "{\"pid\":%lld,\"cols\":%d,\"rows\":%d}", (long long)p->pid,
		      p->columns, p->rows);
	th_access_json(a, 200, &json);
}

/* An ended one goes when there are too many; NULL: all are at work. */
static bool make_room(struct th_cua *c)
{
	struct th_cua_pty *oldest = NULL;

	if (c->pty_count < TH_SERVE_CUA_PTYS_MAX)
		return true;
	for (struct th_cua_pty *p = c->ptys; p; p = p->next)
		if (p->ended && !p->followers)
			oldest = p; /* the list begins with the newest */
	if (oldest)
		pty_free(oldest);
	return oldest != NULL;
}

struct wanted {
	struct th_arena memory;
	const char *options[2 * (4 + TH_SERVE_CUA_ENVS_MAX) + 1];
	size_t count;
	char columns[16], rows[16];
};

static void want(struct wanted *w, const char *name, const char *value)
{
	w->options[w->count++] = name;
	w->options[w->count++] = value;
}

/* False: it was answered. */
static bool read_wanted(struct th_access *a, const struct th_json *body, struct wanted *w,
			struct th_cua_pty *p)
{
	struct th_json_iter it = th_json_iter(th_json_get(body, "envs"));
	struct th_str command = th_json_get_str(body, "command"),
		      cwd = th_json_get_str(body, "cwd");

	p->columns = 80;
	p->rows = 24;
	(void)th_cua_number(body, "cols", &p->columns);
	(void)th_cua_number(body, "rows", &p->rows);
	snprintf(w->columns, sizeof(w->columns), "%d", p->columns);
	snprintf(w->rows, sizeof(w->rows), "%d", p->rows);
	want(w, "columns", w->columns);
	want(w, "rows", w->rows);
	if (command.len)
		want(w, "command", th_arena_cstr(&w->memory, command));
	if (cwd.len)
		want(w, "folder", th_arena_cstr(&w->memory, cwd));
	for (size_t i = 0; th_json_next(&it); i++) {
		if (i == TH_SERVE_CUA_ENVS_MAX) {
			th_cua_detail(a, 400, "envs has more than %d entries",
				      TH_SERVE_CUA_ENVS_MAX);
			return false;
		}
		want(w, "environment",
		     th_arena_printf(&w->memory, "%.*s=%.*s", TH_FMT(it.key),
				     TH_FMT(th_json_str(it.val)))
			 .ptr);
	}
	for (size_t i = 0; i < w->count; i++)
		if (!w->options[i]) {
			th_cua_detail(a, 400, "a text of the terminal is too long, or has a NUL");
			return false;
		}
	return true;
}

void th_cua_pty_create(struct th_cua *c, struct th_access *a)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_str body = th_http_body(a->request);
	struct wanted w = { 0 };
	struct thole_error e;
	struct th_cua_pty *p;
	struct th_err err = { 0 };

	if (th_json_parse(body.len ? body : TH_STR("{}"), &doc, &err)) {
		th_cua_detail(a, 400, "Invalid JSON body: %s", err.msg);
		return;
	}
	if (!make_room(c)) {
		th_cua_detail(a, 429, "%d terminals are open", TH_SERVE_CUA_PTYS_MAX);
		return;
	}
	p = th_alloc(sizeof(*p));
	p->cua = c;
	th_arena_init(&w.memory, TH_SERVE_SMALL_MAX * 2);
	if (!read_wanted(a, th_json_root(doc), &w, p)) {
		free(p);
	} else if (thole_terminal_new(c->computer, w.options, on_terminal, p, &p->terminal, &e)) {
		free(p);
		th_cua_detail(a, 400, "%s", e.text);
	} else {
		p->pid = ++c->pty_last;
		p->next = c->ptys;
		c->ptys = p;
		c->pty_count++;
		th_server_kick(c->server);
		answer(a, p);
	}
	th_arena_deinit(&w.memory);
}

void th_cua_pty_get(struct th_cua *c, struct th_access *a)
{
	const struct th_cua_pty *p = pty_of(c, a);

	if (p)
		answer(a, p);
}

void th_cua_pty_delete(struct th_cua *c, struct th_access *a)
{
	int64_t pid = 0;
	struct th_cua_pty *p = th_str_i64(th_str_of(a->args[0]), &pid) ? find(c, pid) : NULL;
	bool killed = p && !p->ended;

	if (p) {
		p->ended = true;
		p->status = killed ? -1 : p->status;
		catch_up_all(p);
		while (p->followers) /* they are slow */
			end(p->followers);
		pty_free(p);
		th_server_kick(c->server);
	}
	th_access_text(a, 200, "application/json",
		       killed ? TH_STR("{\"killed\":true}") : TH_STR("{\"killed\":false}"));
}

/* ---- what is typed ---- */

/* Base64, or where it is none the text itself, as one of Cua's clients sends it. */
static bool type(struct th_cua_pty *p, struct th_str data, struct thole_error *err)
{
	struct th_buf bytes TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);

	if (th_base64_decode(&bytes, data))
		data = th_buf_str(&bytes);
	if (thole_terminal_write(p->terminal, data.ptr ? data.ptr : "", data.len, err) != 0)
		return false;
	th_server_kick(p->cua->server);
	return true;
}

static bool resize(struct th_cua_pty *p, const struct th_json *body, struct thole_error *err)
{
	int32_t columns = p->columns, rows = p->rows;

	(void)th_cua_number(body, "cols", &columns);
	(void)th_cua_number(body, "rows", &rows);
	if (thole_terminal_resize(p->terminal, columns, rows, err) != 0)
		return false;
	p->columns = columns;
	p->rows = rows;
	th_server_kick(p->cua->server);
	return true;
}

static void with_body(struct th_cua *c, struct th_access *a,
		      bool (*fn)(struct th_cua_pty *p, const struct th_json *body,
				 struct thole_error *err))
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_cua_pty *p = pty_of(c, a);
	struct thole_error e = { 0 };
	struct th_err err = { 0 };

	if (!p)
		return;
	if (th_json_parse(th_http_body(a->request), &doc, &err))
		th_cua_detail(a, 400, "Invalid JSON body: %s", err.msg);
	else if (!fn(p, th_json_root(doc), &e))
		th_cua_detail(a, p->ended ? 409 : 400, "%s", e.text);
	else
		th_access_text(a, 200, "application/json", TH_STR("{\"ok\":true}"));
}

static bool type_data(struct th_cua_pty *p, const struct th_json *body, struct thole_error *err)
{
	return type(p, th_json_get_str(body, "data"), err);
}

void th_cua_pty_stdin(struct th_cua *c, struct th_access *a)
{
	with_body(c, a, type_data);
}

void th_cua_pty_resize(struct th_cua *c, struct th_access *a)
{
	with_body(c, a, resize);
}

/* ---- following ---- */

static void on_gone(struct th_access *a)
{
	follower_free(a->ctx);
}

static void on_room(struct th_access *a)
{
	struct follower *f = a->ctx;

	f->full = false;
	catch_up(f);
}

static void on_message(struct th_access *a, struct th_str text, bool is_text)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct follower *f = a->ctx;
	struct thole_error e;
	struct th_str kind;

	if (!is_text || th_json_parse(text, &doc, NULL) != TH_OK) {
		follower_free(f);
		th_http_close(a->request, is_text ? 1008 : 1003);
		return;
	}
	kind = th_json_get_str(th_json_root(doc), "type");
	if (th_str_is(kind, "disconnect"))
		end(f);
	else if (th_str_is(kind, "stdin")) /* of a program that has ended it is nothing */
		(void)type_data(f->pty, th_json_root(doc), &e);
	else if (th_str_is(kind, "resize"))
		(void)resize(f->pty, th_json_root(doc), &e);
}

static void follow(struct th_cua_pty *p, struct th_access *a, bool socket)
{
	struct follower *f = th_alloc(sizeof(*f));

	*f = (struct follower){ .next = p->followers, .pty = p, .access = a, .socket = socket };
	p->followers = f;
	a->ctx = f;
	a->gone = on_gone;
	a->room = on_room;
	a->message = socket ? on_message : NULL;
	catch_up(f);
}

/* False: it was answered. */
static bool has_room(const struct th_cua_pty *p, struct th_access *a)
{
	size_t count = 0;

	for (const struct follower *f = p->followers; f; f = f->next)
		count++;
	if (count < TH_SERVE_CUA_FOLLOWERS_MAX)
		return true;
	th_cua_detail(a, 429, "%d follow this terminal", TH_SERVE_CUA_FOLLOWERS_MAX);
	return false;
}

void th_cua_pty_stream(struct th_cua *c, struct th_access *a)
{
	struct th_cua_pty *p = pty_of(c, a);

	if (!p || !has_room(p, a))
		return;
	th_http_begin(a->request, 200, "text/event-stream", TH_STR("Cache-Control: no-cache\r\n"));
	follow(p, a, false);
}

void th_cua_pty_socket(struct th_cua *c, struct th_access *a)
{
	struct th_cua_pty *p = pty_of(c, a);

	if (!p || !has_room(p, a))
		return;
	if (!th_http_wants_socket(a->request))
		th_cua_detail(a, 426, "this is a WebSocket");
	else if (th_http_upgrade(a->request, (struct th_str){ NULL, 0 }))
		follow(p, a, true);
}

/* ---- the end ---- */

void th_cua_ptys_finish(struct th_cua *c)
{
	for (struct th_cua_pty *p = c->ptys; p; p = p->next) {
		while (p->followers)
			end(p->followers);
		thole_terminal_free(p->terminal); /* its program is ended while there is time */
		p->terminal = NULL;
		p->ended = true;
	}
}

void th_cua_ptys_free(struct th_cua *c)
{
	while (c->ptys) {
		while (c->ptys->followers)
			follower_free(c->ptys->followers);
		pty_free(c->ptys);
	}
}
