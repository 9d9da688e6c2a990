/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen.c - the screen of a session as a WebSocket: tiles that changed, as they
 * do.  docs/HTTP.md has the messages.
 *
 * A socket whose peer is slow is given nothing more until it has taken what it
 * was given, and then what is newest: it skips frames and holds one at most.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

#include "sessions_api/viewer.h"

/* ---- frames ---- */

static void put_u16(struct th_buf *b, int v)
{
	th_buf_add_char(b, (char)(v & 0xff));
	th_buf_add_char(b, (char)(v >> 8 & 0xff));
}

static void put_u32(struct th_buf *b, uint32_t v)
{
	put_u16(b, (int)(v & 0xffff));
	put_u16(b, (int)(v >> 16));
}

struct frame {
	struct th_buf bytes;
	int count;
};

static void on_tile(void *ctx, int x, int y, int width, int height, const void *bytes, size_t size)
{
	struct frame *f = ctx;

	put_u16(&f->bytes, x);
	put_u16(&f->bytes, y);
	put_u16(&f->bytes, width);
	put_u16(&f->bytes, height);
	put_u32(&f->bytes, (uint32_t)size);
	th_buf_add_mem(&f->bytes, bytes, size);
	f->count++;
}

/* False: the peer is gone, and so is the viewer. */
static bool put(struct th_viewer *v, const struct th_buf *message, bool text)
{
	enum th_code code = th_http_send(v->access->request, th_buf_str(message), text);

	if (code == TH_EBUSY || code == TH_ELIMIT)
		v->full = true;
	return code != TH_ECONN;
}

bool th_viewer_say(struct th_viewer *v, const struct th_buf *json)
{
	return put(v, json, true);
}

bool th_viewer_refuse(struct th_viewer *v, const char *what, const char *code, const char *message)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_jw w = th_jw(&json);

	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("refused"));
	th_jw_kstr(&w, "what", th_str_of(what));
	th_jw_kstr(&w, "code", th_str_of(code));
	th_jw_kstr(&w, "message", th_utf8_cut(th_str_of(message), 4000));
	th_jw_object_end(&w);
	return put(v, &json, true);
}

/* ---- who holds it ---- */

static bool say_control(struct th_viewer *v)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);
	const struct thole_session *session = v->listener.hub->session;
	const char *holder = thole_session_holder(session);
	struct th_jw w = th_jw(&json);

	v->control = thole_session_control(session);
	v->mine = th_hold_is(v);
	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("control"));
	th_jw_key(&w, TH_STR("holder"));
	if (holder)
		th_jw_str(&w, th_str_of(holder));
	else
		th_jw_null(&w);
	th_jw_kbool(&w, "mine", v->mine);
	th_jw_kbool(&w, "ready", v->control == THOLE_CONTROL_PERSON);
	th_jw_kint(&w, "lease_ms", th_hold_lease_ms(v->server, v->listener.hub));
	th_jw_object_end(&w);
	return put(v, &json, true);
}

void th_viewers_control(struct th_server *s, const struct th_hub *h)
{
	for (struct th_viewer *v = s->viewers, *next; v; v = next) {
		next = v->next;
		if (v->listener.hub == h)
			(void)say_control(v);
	}
}

static void on_note(struct th_listener *l, const struct thole_note *note)
{
	struct th_viewer *v = TH_CONTAINER_OF(l, struct th_viewer, listener);

	/* What is done meanwhile may end what a person waits for. */
	if (note && thole_note_kind(note) == THOLE_NOTE_EVENT &&
	    (thole_session_control(l->hub->session) != v->control || th_hold_is(v) != v->mine))
		(void)say_control(v);
}

static bool say_size(struct th_viewer *v)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);
	struct th_jw w = th_jw(&json);

	th_jw_object(&w);
	if (v->width) {
		v->form->put_size(v, &w);
	} else {
		th_jw_kstr(&w, "type", TH_STR("none"));
		th_jw_kstr(&w, "reason", th_str_of(thole_screen_reason(v->screen)));
	}
	th_jw_object_end(&w);
	return put(v, &json, true);
}

static bool say_pointer(struct th_viewer *v)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	int x, y;

	if (!thole_screen_pointer(v->screen, &x, &y) || (x == v->x && y == v->y))
		return true;
	v->x = x;
	v->y = y;
	th_buf_printf(&json, "{\"type\":\"pointer\",\"x\":%d,\"y\":%d}", x, y);
	return put(v, &json, true);
}

static void put_tiles(struct th_viewer *v)
{
	struct frame f = { .bytes = TH_BUF_INIT(TH_HTTP_REPLY_MAX) };

	th_buf_add_char(&f.bytes, 1); /* version of this form */
	th_buf_add_char(&f.bytes, 0);
	put_u16(&f.bytes, 0);
	put_u32(&f.bytes, ++v->frame);
	if (thole_screen_take(v->screen, on_tile, &f, NULL) == 0 && f.count > 0 &&
	    !f.bytes.failed) {
		f.bytes.ptr[2] = (char)(f.count & 0xff);
		f.bytes.ptr[3] = (char)(f.count >> 8 & 0xff);
		(void)put(v, &f.bytes, false);
	}
	th_buf_deinit(&f.bytes);
}

static void put_size(struct th_viewer *v, struct th_jw *w)
{
	th_jw_kstr(w, "type", TH_STR("screen"));
	th_jw_kint(w, "width", v->width);
	th_jw_kint(w, "height", v->height);
}

static void say_new(struct th_viewer *v)
{
	if (say_pointer(v))
		put_tiles(v);
}

/* The tiles last: they may be more than a peer takes at once. */
static void update(struct th_viewer *v)
{
	int width = thole_screen_width(v->screen), height = thole_screen_height(v->screen);
	struct th_server *server = v->server;

	v->later = false;
	if (!v->told || width != v->width || height != v->height || width == 0) {
		v->told = true;
		v->width = width;
		v->height = height;
		v->x = v->y = -1;
		if (!say_size(v))
			return;
	}
	v->form->say_new(v);
	th_server_kick(server); /* the next frame was asked for */
}

static void on_new(void *ctx, struct thole_screen *screen)
{
	struct th_viewer *v = ctx;

	(void)screen;
	if (v->full)
		v->later = true;
	else
		update(v);
}

/* ---- the socket ---- */

static void on_room(struct th_access *a)
{
	struct th_viewer *v = a->ctx;

	v->full = false;
	if (v->later)
		update(v);
}

static void viewer_free(struct th_viewer *v)
{
	th_hold_left(v);
	th_hub_unlisten(&v->listener);
	if (v->prev)
		v->prev->next = v->next;
	else
		v->server->viewers = v->next;
	if (v->next)
		v->next->prev = v->prev;
	v->server->metrics.screens--;
	thole_screen_free(v->screen);
	th_server_kick(v->server);
	free(v);
}

/* The access ends with the request, and nobody is told. */
static void viewer_close(struct th_viewer *v, unsigned code)
{
	struct th_http_request *r = v->access->request;

	viewer_free(v);
	th_http_close(r, code);
}

void th_viewers_finish(struct th_server *s)
{
	while (s->viewers)
		viewer_close(s->viewers, 1001);
}

void th_viewers_free(struct th_server *s)
{
	while (s->viewers)
		viewer_free(s->viewers);
}

static void on_gone(struct th_access *a)
{
	viewer_free(a->ctx);
}

static void on_message(struct th_access *a, struct th_str text, bool is_text)
{
	struct th_viewer *v = a->ctx;

	if (is_text)
		th_hold_message(v, text);
	else
		viewer_close(v, 1003);
}

/* A value of the query, as the option of that name. */
static void take_option(struct th_access *a, const char *name, struct th_buf *value,
			const char **options, size_t *count)
{
	if (!th_access_query(a, name, value))
		return;
	options[(*count)++] = name;
	options[(*count)++] = value->ptr;
}

void th_viewer_begin(struct th_access *a, const struct th_viewer_form *form)
{
	struct th_buf format TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf quality TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf rate TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_server *s = a->server;
	const char *options[7] = { 0 };
	struct thole_error err;
	struct th_viewer *v;
	size_t count = 0;

	if (!th_session_mine(a, NULL))
		return;
	if (!th_http_wants_socket(a->request)) {
		struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

		th_buf_printf(&text, "the %s is a WebSocket", form->what);
		th_access_fail(a, 426, NULL, "%s", text.ptr);
		return;
	}
	if (form->terminal) {
		options[count++] = "format";
		options[count++] = "terminal";
	} else {
		take_option(a, "format", &format, options, &count);
		take_option(a, "quality", &quality, options, &count);
	}
	if (!form->terminal && strcmp(options[1] ?: "", "terminal") == 0) {
		th_access_fail(a, 400, NULL, "format is jpeg, webp or png");
		return;
	}
	take_option(a, "rate", &rate, options, &count);
	v = th_alloc(sizeof(*v));
	*v = (struct th_viewer){ .server = s, .access = a, .next = s->viewers, .form = form };
	if (thole_screen_watch(s->rt, a->args[0], options, on_new, v, &v->screen, &err)) {
		free(v);
		th_access_error(a, &err);
		return;
	}
	th_server_kick(s);
	if (!th_http_upgrade(a->request, (struct th_str){ NULL, 0 })) { /* it was answered */
		thole_screen_free(v->screen);
		free(v);
		return;
	}
	if (v->next)
		v->next->prev = v;
	s->viewers = v;
	s->metrics.screens++;
	a->ctx = v;
	a->gone = on_gone;
	a->room = on_room;
	a->message = on_message;
	v->listener.fn = on_note;
	v->listener.only_listens = true;
	th_hub_listen(th_hub_get(s, a->args[0], a->user), &v->listener);
	(void)say_control(v);
}

void th_api_session_screen(struct th_access *a)
{
	static const struct th_viewer_form form = { .what = "screen",
						    .put_size = put_size,
						    .say_new = say_new };

	th_viewer_begin(a, &form);
}
