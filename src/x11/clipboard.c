/* SPDX-License-Identifier: Apache-2.0 */
#include "x11/clipboard.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "x11/input.h"

#define PIECE_SIZE (32 * TH_KIB) /* of an INCR transfer; larger texts are sent so */
#define OWNER_MS 3000 /* a program that does not hand over its text for so long is stuck */
#define PROPERTIES 8  /* that answers come in, one after the other */
#define TRANSFER_IDLE_US 30000000 /* one that does not fetch its next piece has gone */

/* ---- serving ---- */

static struct th_x11_clip *clip_ref(struct th_x11_clip *clip)
{
	clip->refs++;
	return clip;
}

static struct th_x11_clip *clip_unref(struct th_x11_clip *clip)
{
	if (clip && --clip->refs == 0)
		free(clip);
	return NULL;
}

static struct th_x11_clip *clip_new(struct th_str text)
{
	struct th_x11_clip *clip = th_alloc(sizeof(*clip) + text.len);

	clip->refs = 1;
	clip->len = text.len;
	if (text.len > 0)
		memcpy(clip->bytes, text.ptr, text.len);
	return clip;
}

static void watch_properties(struct th_x11 *x, xcb_window_t window, bool on)
{
	uint32_t mask = on ? XCB_EVENT_MASK_PROPERTY_CHANGE | XCB_EVENT_MASK_STRUCTURE_NOTIFY
			   : XCB_EVENT_MASK_NO_EVENT;

	if (window != x->window)
		xcb_change_window_attributes(x->conn, window, XCB_CW_EVENT_MASK, &mask);
}

static void end_transfer(struct th_x11 *x, struct th_x11_clipboard *c, struct th_x11_transfer *t)
{
	xcb_window_t requestor = t->requestor;

	t->clip = clip_unref(t->clip);
	for (size_t i = 0; i < TH_X11_TRANSFERS_MAX; i++) {
		if (c->transfers[i].clip && c->transfers[i].requestor == requestor)
			return; /* another one to the same window goes on */
	}
	watch_properties(x, requestor, false);
}

static struct th_x11_transfer *new_transfer(struct th_x11 *x, struct th_x11_clipboard *c)
{
	int64_t now_us = th_x11_now_us();

	for (size_t i = 0; i < TH_X11_TRANSFERS_MAX; i++) {
		struct th_x11_transfer *t = &c->transfers[i];

		if (t->clip && now_us - t->touched_us > TRANSFER_IDLE_US)
			end_transfer(x, c, t);
		if (!t->clip)
			return t;
	}
	return NULL;
}

/* Who asks again for the same place has given up what it was sent there: pieces of two would mix.
 */
static void end_earlier(struct th_x11 *x, struct th_x11_clipboard *c, xcb_window_t requestor,
			xcb_atom_t property)
{
	for (size_t i = 0; i < TH_X11_TRANSFERS_MAX; i++) {
		struct th_x11_transfer *t = &c->transfers[i];

		if (t->clip && t->requestor == requestor && t->property == property)
			end_transfer(x, c, t);
	}
}

static bool put_text(struct th_x11 *x, struct th_x11_clipboard *c, xcb_window_t requestor,
		     xcb_atom_t property, xcb_atom_t type)
{
	uint32_t size = (uint32_t)c->own->len;
	struct th_x11_transfer *t;

	if (c->own->len <= PIECE_SIZE) {
		xcb_change_property(x->conn, XCB_PROP_MODE_REPLACE, requestor, property, type, 8,
				    size, c->own->bytes);
		return true;
	}
	t = new_transfer(x, c);
	if (!t)
		return false;
	*t = (struct th_x11_transfer){ .clip = clip_ref(c->own),
				       .requestor = requestor,
				       .property = property,
				       .type = type,
				       .touched_us = th_x11_now_us() };
	watch_properties(x, requestor, true);
	xcb_change_property(x->conn, XCB_PROP_MODE_REPLACE, requestor, property, c->atoms.incr, 32,
			    1, &size);
	return true;
}

/* The old type STRING is Latin-1; a text with other characters is not given as such. */
static bool put_latin1(struct th_x11 *x, struct th_x11_clipboard *c, xcb_window_t requestor,
		       xcb_atom_t property)
{
	struct th_str rest = { c->own->bytes, c->own->len };
	char *latin1;
	size_t len = 0;
	uint32_t ch;

	if (rest.len > PIECE_SIZE)
		return false;
	latin1 = th_alloc(rest.len + 1);
	while (th_utf8_next(&rest, &ch) && ch < 0x100)
		latin1[len++] = (char)ch;
	if (rest.len == 0 && (c->own->len == 0 || ch < 0x100)) {
		xcb_change_property(x->conn, XCB_PROP_MODE_REPLACE, requestor, property,
				    XCB_ATOM_STRING, 8, (uint32_t)len, latin1);
		free(latin1);
		return true;
	}
	free(latin1);
	return false;
}

static bool put_target(struct th_x11 *x, struct th_x11_clipboard *c, xcb_window_t requestor,
		       xcb_atom_t target, xcb_atom_t property)
{
	const struct th_x11_clip_atoms *a = &c->atoms;
	/* No MULTIPLE: to see what it asks for, we would have to wait. */
	const xcb_atom_t targets[] = { a->targets,         a->timestamp,  a->utf8_string,
				       a->text_plain_utf8, a->text_plain, a->text,
				       XCB_ATOM_STRING };

	if (target == a->targets) {
		xcb_change_property(x->conn, XCB_PROP_MODE_REPLACE, requestor, property,
				    XCB_ATOM_ATOM, 32, TH_COUNT(targets), targets);
		return true;
	}
	if (target == a->timestamp) {
		xcb_change_property(x->conn, XCB_PROP_MODE_REPLACE, requestor, property,
				    XCB_ATOM_INTEGER, 32, 1, &c->own_time);
		return true;
	}
	if (target == a->utf8_string || target == a->text)
		return put_text(x, c, requestor, property, a->utf8_string);
	if (target == a->text_plain_utf8 || target == a->text_plain)
		return put_text(x, c, requestor, property, target);
	if (target == XCB_ATOM_STRING)
		return put_latin1(x, c, requestor, property);
	return false;
}

static void on_request(struct th_x11 *x, struct th_x11_clipboard *c,
		       const xcb_selection_request_event_t *request)
{
	/* Very old programs name no property: the target is it. */
	xcb_atom_t property = request->property ? request->property : request->target;
	union {
		xcb_selection_notify_event_t notify;
		char bytes[32]; /* what SendEvent sends */
	} answer = {};

	answer.notify = (xcb_selection_notify_event_t){
		.response_type = XCB_SELECTION_NOTIFY,
		.time = request->time,
		.requestor = request->requestor,
		.selection = request->selection,
		.target = request->target,
	};

	end_earlier(x, c, request->requestor, property);
	if (c->own && request->selection == c->atoms.clipboard &&
	    (request->time == XCB_CURRENT_TIME || request->time - c->own_time < UINT32_MAX / 2) &&
	    put_target(x, c, request->requestor, request->target, property))
		answer.notify.property = property;
	xcb_send_event(x->conn, 0, request->requestor, 0, answer.bytes);
	(void)!th_x11_flush(x, NULL);
}

/* The other side has taken a piece: the next one, or an empty one as the end. */
static void on_taken(struct th_x11 *x, struct th_x11_clipboard *c,
		     const xcb_property_notify_event_t *event)
{
	for (size_t i = 0; i < TH_X11_TRANSFERS_MAX; i++) {
		struct th_x11_transfer *t = &c->transfers[i];
		size_t len;

		if (!t->clip || t->requestor != event->window || t->property != event->atom)
			continue;
		len = TH_MIN(t->clip->len - t->sent, (size_t)PIECE_SIZE);
		xcb_change_property(x->conn, XCB_PROP_MODE_REPLACE, t->requestor, t->property,
				    t->type, 8, (uint32_t)len, t->clip->bytes + t->sent);
		t->sent += len;
		t->touched_us = th_x11_now_us();
		if (len == 0)
			end_transfer(x, c, t);
		(void)!th_x11_flush(x, NULL);
		return;
	}
}

static void on_destroyed(struct th_x11 *x, struct th_x11_clipboard *c, xcb_window_t window)
{
	for (size_t i = 0; i < TH_X11_TRANSFERS_MAX; i++) {
		if (c->transfers[i].clip && c->transfers[i].requestor == window)
			end_transfer(x, c, &c->transfers[i]);
	}
}

static void on_property(struct th_x11 *x, struct th_x11_clipboard *c,
			const xcb_property_notify_event_t *event)
{
	if (event->state == XCB_PROPERTY_DELETE)
		on_taken(x, c, event);
	else if (event->window == x->window && event->atom == c->atoms.property)
		c->piece = true;
}

void th_x11_clipboard_event(struct th_x11 *x, struct th_x11_clipboard *c,
			    const xcb_generic_event_t *event)
{
	switch (event->response_type & 0x7f) {
	case XCB_SELECTION_REQUEST:
		on_request(x, c, (const xcb_selection_request_event_t *)event);
		break;
	case XCB_SELECTION_CLEAR:
		if (((const xcb_selection_clear_event_t *)event)->selection == c->atoms.clipboard)
			c->own = clip_unref(c->own);
		break;
	case XCB_SELECTION_NOTIFY: {
		const xcb_selection_notify_event_t *notify =
		    (const xcb_selection_notify_event_t *)event;

		if (notify->requestor == x->window && notify->time == c->asked) {
			c->notified = true;
			c->refused = notify->property == XCB_ATOM_NONE;
		}
		break;
	}
	case XCB_PROPERTY_NOTIFY:
		on_property(x, c, (const xcb_property_notify_event_t *)event);
		break;
	case XCB_DESTROY_NOTIFY:
		on_destroyed(x, c, ((const xcb_destroy_notify_event_t *)event)->window);
		break;
	}
}

/* ---- taking ---- */

static enum th_code get_owner(struct th_x11 *x, const struct th_x11_clipboard *c, xcb_window_t *ret,
			      struct th_err *err)
{
	void *reply = NULL;
	enum th_code code = th_x11_reply(
	    x, xcb_get_selection_owner(x->conn, c->atoms.clipboard).sequence, &reply, err);

	if (code == TH_OK)
		*ret = ((xcb_get_selection_owner_reply_t *)reply)->owner;
	free(reply);
	return code;
}

enum th_code th_x11_clipboard_set(struct th_x11 *x, struct th_x11_clipboard *c, struct th_str text,
				  struct th_err *err)
{
	xcb_timestamp_t time;
	xcb_window_t owner;
	enum th_code code;

	if (text.len > TH_CLIPBOARD_MAX)
		return th_fail(err, TH_ELIMIT,
			       "the text has %zu bytes, of which the clipboard takes %zu", text.len,
			       TH_CLIPBOARD_MAX);
	if ((code = th_x11_input_time(x, &time, err)) < 0)
		return code;
	xcb_set_selection_owner(x->conn, x->window, c->atoms.clipboard, time);
	if ((code = get_owner(x, c, &owner, err)))
		return code;
	if (owner != x->window)
		return th_fail(err, TH_EIO,
			       "another program took the clipboard at the same moment");
	clip_unref(c->own);
	c->own = clip_new(text);
	c->own_time = time;
	return TH_OK;
}

/* Serves events until *flag or the owner's time is over. */
static enum th_code wait_flag(struct th_x11 *x, const bool *flag, struct th_err *err)
{
	int64_t end_us = th_x11_now_us() + OWNER_MS * 1000;

	while (!*flag) {
		int64_t left_ms = (end_us - th_x11_now_us() + 999) / 1000;
		bool served;
		enum th_code code;

		if (left_ms <= 0)
			return th_fail(err, TH_EIO,
				       "the program that owns the clipboard does not hand over its "
				       "text");
		if ((code = th_x11_wait_event(x, left_ms, &served, err)) < 0)
			return code;
	}
	return TH_OK;
}

/* Takes what our property holds and deletes it. */
static enum th_code take_property(struct th_x11 *x, const struct th_x11_clipboard *c,
				  xcb_get_property_reply_t **ret, struct th_err *err)
{
	const uint32_t words_max = (uint32_t)(TH_CLIPBOARD_MAX / 4 + 1);
	void *reply = NULL;
	enum th_code code = th_x11_reply(x,
					 xcb_get_property(x->conn, 1, x->window, c->atoms.property,
							  XCB_GET_PROPERTY_TYPE_ANY, 0, words_max)
					     .sequence,
					 &reply, err);

	*ret = reply;
	return code;
}

static enum th_code too_large(struct th_err *err)
{
	return th_fail(err, TH_ELIMIT, "the clipboard holds more than %zu bytes of text",
		       TH_CLIPBOARD_MAX);
}

/* One property's worth of bytes to the end of `out`. */
static enum th_code add_bytes(const xcb_get_property_reply_t *r, struct th_buf *out,
			      struct th_err *err)
{
	if (r->bytes_after > 0 || out->len + r->value_len > TH_CLIPBOARD_MAX)
		return too_large(err);
	if (r->format == 8)
		th_buf_add_mem(out, xcb_get_property_value(r), r->value_len);
	return TH_OK;
}

/* The pieces of a large text, until an empty one comes. */
static enum th_code take_pieces(struct th_x11 *x, struct th_x11_clipboard *c, struct th_buf *out,
				struct th_err *err)
{
	for (;;) {
		xcb_get_property_reply_t *r = NULL;
		enum th_code code = wait_flag(x, &c->piece, err);
		bool last;

		if (code < 0)
			return code;
		c->piece = false;
		if ((code = take_property(x, c, &r, err)) < 0)
			return code;
		if (r->type == XCB_ATOM_NONE) { /* the news of a piece that we took already */
			free(r);
			continue;
		}
		last = r->value_len == 0;
		code = add_bytes(r, out, err);
		free(r);
		if (code < 0 || last)
			return code;
	}
}

static void add_latin1(struct th_buf *out, struct th_str latin1)
{
	for (size_t i = 0; i < latin1.len; i++)
		th_utf8_add(out, (unsigned char)latin1.ptr[i]);
}

/*
 * The property that answers come in.  After a failure it is another one, for
 * the old owner may still write to the one it was told.
 */
static enum th_code next_property(struct th_x11 *x, struct th_x11_clipboard *c, struct th_err *err)
{
	char name[32];

	snprintf(name, sizeof(name), "_THOLE_CLIPBOARD_%u", c->failures++ % PROPERTIES);
	return th_x11_input_atom(x, name, &c->atoms.property, err);
}

/* Asks the owner for one type; *ret_refused: it has none of it. */
static enum th_code convert(struct th_x11 *x, struct th_x11_clipboard *c, xcb_atom_t target,
			    bool *ret_refused, struct th_err *err)
{
	struct th_buf raw TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_CLIPBOARD_MAX);
	xcb_get_property_reply_t *r = NULL;
	enum th_code code = th_x11_input_time(x, &c->asked, err);
	xcb_atom_t type;

	if (code < 0)
		return code;
	c->notified = c->refused = c->piece = false;
	xcb_delete_property(x->conn, x->window, c->atoms.property);
	xcb_convert_selection(x->conn, x->window, c->atoms.clipboard, target, c->atoms.property,
			      c->asked);
	if ((code = wait_flag(x, &c->notified, err)) < 0)
		return code;
	*ret_refused = c->refused;
	if (c->refused)
		return TH_OK;
	c->piece = false; /* that was the answer itself */
	if ((code = take_property(x, c, &r, err)) < 0)
		return code;
	type = r->type;
	code = type == c->atoms.incr ? take_pieces(x, c, &raw, err) : add_bytes(r, &raw, err);
	free(r);
	if (code < 0)
		return code;
	th_buf_clear(&c->text);
	if (target == XCB_ATOM_STRING)
		add_latin1(&c->text, th_buf_str(&raw));
	else
		th_utf8_clean(&c->text, th_buf_str(&raw));
	return th_buf_check(&c->text, "the text of the clipboard", err);
}

enum th_code th_x11_clipboard_get(struct th_x11 *x, struct th_x11_clipboard *c, struct th_str *ret,
				  struct th_err *err)
{
	const xcb_atom_t targets[] = { c->atoms.utf8_string, c->atoms.text_plain_utf8,
				       XCB_ATOM_STRING };
	xcb_window_t owner;
	enum th_code code = get_owner(x, c, &owner, err);
	bool refused = true;

	if (code)
		return code;
	if (c->spoilt && (code = next_property(x, c, err)) < 0)
		return code;
	c->spoilt = false;
	th_buf_clear(&c->text);
	*ret = th_buf_str(&c->text);
	if (owner == XCB_WINDOW_NONE)
		return TH_OK;
	if (owner == x->window && c->own) {
		th_buf_add_mem(&c->text, c->own->bytes, c->own->len);
		*ret = th_buf_str(&c->text);
		return TH_OK;
	}
	for (size_t i = 0; i < TH_COUNT(targets) && refused; i++) {
		if ((code = convert(x, c, targets[i], &refused, err)) < 0) {
			c->spoilt = true;
			return code;
		}
	}
	if (refused)
		return th_fail(err, TH_EUNSUPPORTED, "what is on the clipboard is not text");
	*ret = th_buf_str(&c->text);
	return TH_OK;
}

/* ---- life ---- */

enum th_code th_x11_clipboard_init(struct th_x11 *x, struct th_x11_clipboard *c, struct th_err *err)
{
	struct th_x11_clip_atoms *a = &c->atoms;
	const struct {
		const char *name;
		xcb_atom_t *atom;
	} names[] = {
		{ "CLIPBOARD", &a->clipboard },
		{ "TARGETS", &a->targets },
		{ "TIMESTAMP", &a->timestamp },
		{ "UTF8_STRING", &a->utf8_string },
		{ "TEXT", &a->text },
		{ "text/plain", &a->text_plain },
		{ "text/plain;charset=utf-8", &a->text_plain_utf8 },
		{ "INCR", &a->incr },
	};

	/* Latin-1 doubles at most, and bad bytes become three. */
	th_buf_init(&c->text, 3 * TH_CLIPBOARD_MAX);
	for (size_t i = 0; i < TH_COUNT(names); i++) {
		enum th_code code = th_x11_input_atom(x, names[i].name, names[i].atom, err);

		if (code < 0)
			return code;
	}
	return next_property(x, c, err);
}

void th_x11_clipboard_deinit(struct th_x11_clipboard *c)
{
	c->own = clip_unref(c->own);
	for (size_t i = 0; i < TH_X11_TRANSFERS_MAX; i++)
		c->transfers[i].clip = clip_unref(c->transfers[i].clip);
	th_buf_deinit(&c->text);
}
