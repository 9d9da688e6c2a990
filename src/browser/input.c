/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.c - pointer and keys of a browser: see browser.h.
 *
 * A page cannot distinguish this input from a device's.  Each event is answered
 * when the page has handled it, so there are no pauses.  When a page begins a drag
 * of data (draggable elements), the browser gives us the data and we go on with the
 * drag.
 */
#include <stdio.h>

#include "actions/keys.h"
#include "base/limits.h"
#include "base/text.h"
#include "browser/browser.h"

enum { ALT = 1, CONTROL = 2, META = 4, SHIFT = 8 };

static const char *const button_words[TH_BUTTON_COUNT] = {
	[TH_BUTTON_LEFT] = "left", [TH_BUTTON_RIGHT] = "right",     [TH_BUTTON_MIDDLE] = "middle",
	[TH_BUTTON_BACK] = "back", [TH_BUTTON_FORWARD] = "forward",
};
/* MouseEvent.buttons */
static const unsigned button_bits[TH_BUTTON_COUNT] = {
	[TH_BUTTON_LEFT] = 1, [TH_BUTTON_RIGHT] = 2,    [TH_BUTTON_MIDDLE] = 4,
	[TH_BUTTON_BACK] = 8, [TH_BUTTON_FORWARD] = 16,
};

/* ---- keys ---- */

static unsigned modifier_of(uint32_t keysym)
{
	switch (keysym) {
	case TH_KEYSYM_SHIFT_L:
	case TH_KEYSYM_SHIFT_R:
		return SHIFT;
	case TH_KEYSYM_CONTROL_L:
	case TH_KEYSYM_CONTROL_R:
		return CONTROL;
	case TH_KEYSYM_ALT_L:
	case TH_KEYSYM_ALT_R:
		return ALT;
	case TH_KEYSYM_META_L:
	case TH_KEYSYM_META_R:
	case TH_KEYSYM_SUPER_L:
	case TH_KEYSYM_SUPER_R:
		return META;
	default:
		return 0;
	}
}

static unsigned modifiers(const struct th_browser *b)
{
	unsigned bits = 0;

	for (size_t i = 0; i < b->keys_down_count; i++)
		bits |= modifier_of(b->keys_down[i]);
	return bits;
}

/* What a key does to a text, where the page leaves it to the browser: these come by the binding of
 * the desktop, which a browser without a window does not have. */
static const char *edit_command(uint32_t keysym, unsigned bits)
{
	static const struct {
		char key;
		unsigned bits;
		const char *command;
	} commands[] = {
		{ 'a', CONTROL, "selectAll" }, { 'c', CONTROL, "copy" },
		{ 'x', CONTROL, "cut" },       { 'v', CONTROL, "paste" },
		{ 'z', CONTROL, "undo" },      { 'z', CONTROL | SHIFT, "redo" },
		{ 'y', CONTROL, "redo" },
	};

	for (size_t i = 0; i < TH_COUNT(commands); i++)
		if ((keysym | 0x20) == (uint32_t)commands[i].key && bits == commands[i].bits)
			return commands[i].command;
	return NULL;
}

static enum th_code send_key(struct th_browser *b, uint32_t keysym, bool down, struct th_err *err)
{
	struct th_browser_tab *tab;
	struct th_browser_key key;
	unsigned bits = modifiers(b);
	enum th_code code = th_browser_tab(b, &tab, err);

	if (code)
		return code;
	if (!th_browser_key_find(keysym, &key))
		return th_fail(err, TH_EUNSUPPORTED, "a browser does not know the key %s",
			       th_keys_name(keysym) ?: "of this character");
	/* With Ctrl or Alt a key types nothing. */
	bool types = down && key.text[0] && !(bits & (CONTROL | ALT | META));
	struct th_jw *w = th_browser_begin(b, tab->session, "Input.dispatchKeyEvent");
	th_jw_kstr(w, "type", th_str_of(!down ? "keyUp" : types ? "keyDown" : "rawKeyDown"));
	th_jw_kint(w, "modifiers", bits);
	th_jw_kstr(w, "key", th_str_of(key.key));
	if (key.code)
		th_jw_kstr(w, "code", th_str_of(key.code));
	if (key.vk)
		th_jw_kint(w, "windowsVirtualKeyCode", key.vk);
	if (key.location)
		th_jw_kint(w, "location", key.location);
	if (types)
		th_jw_kstr(w, "text", th_str_of(key.text));
	const char *command = down ? edit_command(keysym, bits) : NULL;
	if (command) {
		th_jw_name(w, TH_STR("commands"));
		th_jw_array(w);
		th_jw_str(w, th_str_of(command));
		th_jw_array_end(w);
	}
	return th_browser_call(b, NULL, err);
}

static void note_key(struct th_browser *b, uint32_t keysym, bool down)
{
	for (size_t i = b->keys_down_count; i-- > 0;)
		if (b->keys_down[i] == keysym)
			b->keys_down[i] = b->keys_down[--b->keys_down_count];
	if (down && b->keys_down_count < TH_COUNT(b->keys_down))
		b->keys_down[b->keys_down_count++] = keysym;
}

static enum th_code key_down(struct th_browser *b, uint32_t keysym, struct th_err *err)
{
	bool modifier = modifier_of(keysym) != 0;

	if (modifier)
		note_key(b, keysym, true);
	enum th_code code = send_key(b, keysym, true, err);
	if (!modifier && !code)
		note_key(b, keysym, true);
	return code;
}

static enum th_code key_up(struct th_browser *b, uint32_t keysym, struct th_err *err)
{
	note_key(b, keysym, false);
	/* The key opened a dialog, which has the keyboard now: no page gets the release. */
	const struct th_browser_tab *tab = th_browser_tab_find(b, b->active);
	if (tab && tab->dialog.open)
		return TH_OK;
	return send_key(b, keysym, false, err);
}

static enum th_code chord_down(struct th_browser *b, const struct th_chord *chord,
			       struct th_err *err)
{
	enum th_code code = TH_OK;

	for (size_t i = 0; i < chord->count && !code; i++)
		code = key_down(b, chord->keysyms[i], err);
	return code;
}

/* All of them, whatever happens to one. */
static enum th_code chord_up(struct th_browser *b, const struct th_chord *chord, enum th_code code,
			     struct th_err *err)
{
	struct th_err late;

	for (size_t i = chord->count; i-- > 0;) {
		enum th_code now = key_up(b, chord->keysyms[i], code ? &late : err);
		code = code ?: now;
	}
	return code;
}

/* ---- what the window of a browser does with keys ---- */

/* True: it was one of these, and *ret_code says how it went. */
static bool shortcut(struct th_browser *b, const struct th_chord *chord, enum th_code *ret_code,
		     struct th_err *err)
{
	uint32_t last = chord->count ? chord->keysyms[chord->count - 1] : 0;
	unsigned bits = 0;

	for (size_t i = 0; i + 1 < chord->count; i++)
		bits |= modifier_of(chord->keysyms[i]);
	if ((bits == ALT && last == 0xff51) || (bits == 0 && last == 0x1008ff26))
		*ret_code = th_browser_history(b, -1, err);
	else if ((bits == ALT && last == 0xff53) || (bits == 0 && last == 0x1008ff27))
		*ret_code = th_browser_history(b, 1, err);
	else if ((bits == 0 && (last == 0xffc2 || last == 0x1008ff29)) ||
		 (bits == CONTROL && (last | 0x20) == 'r'))
		*ret_code = th_browser_history(b, 0, err);
	else
		return false;
	return true;
}

/* While a dialog is open, it gets the keys. */
static enum th_code key_to_dialog(struct th_browser *b, struct th_browser_tab *tab,
				  const struct th_chord *chord, struct th_err *err)
{
	uint32_t key = chord->keysyms[chord->count - 1];

	if (chord->count == 1 && (key == TH_KEYSYM_RETURN || key == 0xff8d || key == ' '))
		return th_browser_dialog_end(b, tab, true, TH_STR(""), err);
	if (chord->count == 1 && key == 0xff1b)
		return th_browser_dialog_end(b, tab, false, TH_STR(""), err);
	return th_browser_tab(b, &tab, err);
}

static enum th_code press(struct th_browser *b, const struct th_chord *chord, int32_t count,
			  struct th_err *err)
{
	struct th_browser_tab *tab = th_browser_tab_find(b, b->active);
	enum th_code code = TH_OK;

	if (tab && tab->dialog.open)
		return key_to_dialog(b, tab, chord, err);
	for (int32_t i = 0; i < count && !code; i++) {
		if (shortcut(b, chord, &code, err))
			continue;
		code = chord_down(b, chord, err);
		code = chord_up(b, chord, code, err);
	}
	return code;
}

/* ---- text ---- */

static enum th_code insert(struct th_browser *b, struct th_str text, struct th_err *err)
{
	struct th_browser_tab *tab;
	enum th_code code = text.len ? th_browser_tab(b, &tab, err) : TH_OK;

	if (code || text.len == 0)
		return code;
	struct th_jw *w = th_browser_begin(b, tab->session, "Input.insertText");
	th_jw_kstr(w, "text", text);
	return th_browser_call(b, NULL, err);
}

/* A character with the keys that make it on a keyboard of the US. */
static enum th_code type_key(struct th_browser *b, uint32_t keysym, struct th_err *err)
{
	struct th_browser_key key;
	const struct th_chord shift = { { TH_KEYSYM_SHIFT_L }, 1, 1 };
	bool with_shift = th_browser_key_find(keysym, &key) && key.shift;
	enum th_code code = with_shift ? chord_down(b, &shift, err) : TH_OK;

	if (!code)
		code = key_down(b, keysym, err);
	if (!code)
		code = key_up(b, keysym, err);
	return with_shift ? chord_up(b, &shift, code, err) : code;
}

/* Pages listen to keys, so short texts are typed.  Characters that no keyboard has, and long
 * texts, are inserted as an input method does. */
static enum th_code type_text(struct th_browser *b, struct th_str text, struct th_err *err)
{
	bool by_keys = th_utf8_count(text) <= TH_BROWSER_TYPE_KEYS_MAX;
	struct th_str rest = text, run = { text.ptr, 0 };
	enum th_code code = TH_OK;
	uint32_t c;

	while (!code && rest.len > 0) {
		const char *at = rest.ptr;
		th_utf8_next(&rest, &c);
		uint32_t keysym = th_keys_of_char(c);
		bool key = keysym == TH_KEYSYM_RETURN || keysym == TH_KEYSYM_TAB ||
			   (by_keys && keysym < 0x7f);
		if (!key) {
			run.len = (size_t)(rest.ptr - run.ptr);
			continue;
		}
		run.len = (size_t)(at - run.ptr);
		code = insert(b, run, err);
		if (!code)
			code = type_key(b, keysym, err);
		run = (struct th_str){ rest.ptr, 0 };
	}
	return code ?: insert(b, run, err);
}

static enum th_code type(struct th_browser *b, const struct th_action *a, struct th_err *err)
{
	static const struct th_chord all = { { TH_KEYSYM_CONTROL_L, 'a' }, 2, 1 },
				     del = { { TH_KEYSYM_DELETE }, 1, 0 },
				     enter = { { TH_KEYSYM_RETURN }, 1, 0 };
	struct th_browser_tab *tab = th_browser_tab_find(b, b->active);
	enum th_code code = TH_OK;

	if (tab && tab->dialog.open && strcmp(tab->dialog.type, "prompt") == 0)
		return th_browser_dialog_end(b, tab, true, a->text, err);
	if (a->clear)
		code = press(b, &all, 1, err) ?: press(b, &del, 1, err);
	if (!code)
		code = type_text(b, a->text, err);
	return code || !a->enter ? code : press(b, &enter, 1, err);
}

/* ---- pointer ---- */

static enum th_code send_mouse(struct th_browser *b, const char *kind, enum th_button button,
			       bool has_button, int32_t count, struct th_err *err)
{
	struct th_browser_tab *tab;
	enum th_code code = th_browser_tab(b, &tab, err);

	if (code)
		return code;
	struct th_jw *w = th_browser_begin(b, tab->session, "Input.dispatchMouseEvent");
	th_jw_kstr(w, "type", th_str_of(kind));
	th_jw_kint(w, "x", b->at.x);
	th_jw_kint(w, "y", b->at.y);
	th_jw_kint(w, "modifiers", modifiers(b));
	th_jw_kstr(w, "button", th_str_of(has_button ? button_words[button] : "none"));
	th_jw_kint(w, "buttons", b->buttons);
	if (count > 0)
		th_jw_kint(w, "clickCount", count);
	return th_browser_call(b, NULL, err);
}

static enum th_code move(struct th_browser *b, struct th_point at, struct th_err *err)
{
	enum th_button held = TH_BUTTON_LEFT;

	for (size_t i = 0; i < TH_BUTTON_COUNT; i++)
		if (b->buttons & button_bits[i])
			held = (enum th_button)i;
	b->at = at;
	return send_mouse(b, "mouseMoved", held, b->buttons != 0, 0, err);
}

static enum th_code button_down(struct th_browser *b, enum th_button button, int32_t count,
				struct th_err *err)
{
	b->buttons |= button_bits[button];
	return send_mouse(b, "mousePressed", button, true, count, err);
}

static enum th_code button_up(struct th_browser *b, enum th_button button, int32_t count,
			      struct th_err *err)
{
	const struct th_browser_tab *tab = th_browser_tab_find(b, b->active);

	b->buttons &= ~button_bits[button];
	if (tab && tab->dialog.open) /* it has the pointer now */
		return TH_OK;
	return send_mouse(b, "mouseReleased", button, true, count, err);
}

static enum th_code click(struct th_browser *b, enum th_button button, int32_t count,
			  struct th_err *err)
{
	enum th_code code = TH_OK;

	/* The buttons at the side of a mouse go through the history. */
	if (button == TH_BUTTON_BACK || button == TH_BUTTON_FORWARD)
		return th_browser_history(b, button == TH_BUTTON_BACK ? -1 : 1, err);
	for (int32_t i = 1; i <= count && !code; i++)
		code = button_down(b, button, i, err) ?: button_up(b, button, i, err);
	return code;
}

static enum th_code intercept(struct th_browser *b, bool on, struct th_err *err)
{
	struct th_browser_tab *tab;
	enum th_code code = th_browser_tab(b, &tab, err);

	if (code)
		return code;
	struct th_jw *w = th_browser_begin(b, tab->session, "Input.setInterceptDrags");
	th_jw_kbool(w, "enabled", on);
	return th_browser_call(b, NULL, err);
}

static enum th_code send_drag(struct th_browser *b, const char *kind, struct th_err *err)
{
	struct th_browser_tab *tab;
	enum th_code code = th_browser_tab(b, &tab, err);

	if (code)
		return code;
	struct th_jw *w = th_browser_begin(b, tab->session, "Input.dispatchDragEvent");
	th_jw_kstr(w, "type", th_str_of(kind));
	th_jw_kint(w, "x", b->at.x);
	th_jw_kint(w, "y", b->at.y);
	th_jw_name(w, TH_STR("data"));
	th_jw_json(w, th_json_root(b->drag_doc));
	th_jw_kint(w, "modifiers", modifiers(b));
	return th_browser_call(b, NULL, err);
}

static enum th_code drag_to(struct th_browser *b, struct th_point to, bool *entered,
			    struct th_err *err)
{
	struct th_point from = b->at;
	enum th_code code = TH_OK;

	for (int32_t i = 1; i <= TH_BROWSER_DRAG_STEPS && !code; i++) {
		struct th_point p = { from.x + (to.x - from.x) * i / TH_BROWSER_DRAG_STEPS,
				      from.y + (to.y - from.y) * i / TH_BROWSER_DRAG_STEPS };
		if (!b->drag_came) {
			code = move(b, p, err);
			continue;
		}
		b->at = p;
		if (!*entered)
			code = send_drag(b, "dragEnter", err);
		*entered = true;
		if (!code)
			code = send_drag(b, "dragOver", err);
	}
	return code;
}

static enum th_code drag(struct th_browser *b, const struct th_point *path, size_t count,
			 enum th_button button, struct th_err *err)
{
	bool entered = false;
	struct th_err late;
	enum th_code code;

	b->drag_came = false;
	if ((code = intercept(b, true, err)) || (code = move(b, path[0], err)) ||
	    (code = button_down(b, button, 1, err)))
		return code;
	for (size_t i = 1; i < count && !code; i++)
		code = drag_to(b, path[i], &entered, err);
	if (!code && entered)
		code = send_drag(b, "drop", err);
	enum th_code up = button_up(b, button, 1, code ? &late : err);
	code = code ?: up;
	b->drag_came = false;
	up = intercept(b, false, code ? &late : err);
	return code ?: up;
}

static enum th_code scroll(struct th_browser *b, const struct th_action *a, struct th_err *err)
{
	int32_t factor = a->unit == TH_SCROLL_NOTCH ? TH_BROWSER_NOTCH_PIXELS : 1;
	struct th_browser_tab *tab;
	enum th_code code = th_browser_tab(b, &tab, err);

	if (code)
		return code;
	struct th_jw *w = th_browser_begin(b, tab->session, "Input.dispatchMouseEvent");
	th_jw_kstr(w, "type", TH_STR("mouseWheel"));
	th_jw_kint(w, "x", b->at.x);
	th_jw_kint(w, "y", b->at.y);
	th_jw_kint(w, "modifiers", modifiers(b));
	th_jw_kint(w, "deltaX", (int64_t)a->dx * factor);
	th_jw_kint(w, "deltaY", (int64_t)a->dy * factor);
	return th_browser_call(b, NULL, err);
}

/* ---- the actions ---- */

static enum th_code wait_us(struct th_browser *b, int64_t us, struct th_err *err)
{
	int64_t until = th_browser_now_us() + us;
	enum th_code code = TH_OK;

	while (!code && th_browser_now_us() < until)
		code = th_browser_idle(b, until, err);
	return code == TH_ETIMEOUT ? TH_OK : code;
}

static enum th_code pointer_act(struct th_browser *b, const struct th_action *a, struct th_err *err)
{
	enum th_code code = a->has_at ? move(b, a->at, err) : TH_OK;

	if (code)
		return code;
	if (a->kind == TH_ACTION_CLICK)
		return click(b, a->button, TH_MAX(a->count, 1), err);
	if (a->kind == TH_ACTION_MOUSE_DOWN)
		return button_down(b, a->button, 1, err);
	if (a->kind == TH_ACTION_MOUSE_UP)
		return button_up(b, a->button, 1, err);
	if (a->kind == TH_ACTION_DRAG)
		return drag(b, a->path, a->path_count, a->button, err);
	if (a->kind == TH_ACTION_SCROLL)
		return scroll(b, a, err);
	return TH_OK; /* move */
}

static enum th_code key_act(struct th_browser *b, const struct th_action *a,
			    const struct th_chord *chord, struct th_err *err)
{
	enum th_code code;

	if (a->kind == TH_ACTION_KEY)
		return press(b, chord, TH_MAX(a->count, 1), err);
	if (a->kind == TH_ACTION_KEY_DOWN)
		return chord_down(b, chord, err);
	if (a->kind == TH_ACTION_KEY_UP)
		return chord_up(b, chord, TH_OK, err);
	code = chord_down(b, chord, err);
	if (!code)
		code = wait_us(b, th_action_duration(a) * INT64_C(1000), err);
	return chord_up(b, chord, code, err);
}

static enum th_code with_keys(struct th_browser *b, const struct th_action *a, struct th_err *err)
{
	struct th_chord held = { 0 };
	enum th_code code = a->key_count ? th_keys_chord(a->keys, a->key_count, &held, err) : TH_OK;

	if (code)
		return code;
	code = chord_down(b, &held, err);
	if (!code)
		code = pointer_act(b, a, err);
	return chord_up(b, &held, code, err);
}

enum th_code th_browser_input(struct th_browser *b, const struct th_action *action,
			      struct th_err *err)
{
	struct th_chord chord;

	switch (action->kind) {
	case TH_ACTION_SCREENSHOT:
	case TH_ACTION_ZOOM:
	case TH_ACTION_CURSOR_POSITION:
		return TH_OK;
	case TH_ACTION_WAIT:
		return wait_us(b, th_action_duration(action) * INT64_C(1000), err);
	case TH_ACTION_CLICK:
	case TH_ACTION_MOVE:
	case TH_ACTION_MOUSE_DOWN:
	case TH_ACTION_MOUSE_UP:
	case TH_ACTION_DRAG:
	case TH_ACTION_SCROLL:
		return with_keys(b, action, err);
	case TH_ACTION_TYPE:
		return type(b, action, err);
	case TH_ACTION_KEY:
	case TH_ACTION_KEY_DOWN:
	case TH_ACTION_KEY_UP:
	case TH_ACTION_HOLD_KEY:
		return th_keys_chord(action->keys, action->key_count, &chord, err)
			   ?: key_act(b, action, &chord, err);
	case TH_ACTION_CLIPBOARD_GET:
	case TH_ACTION_CLIPBOARD_SET:
	case TH_ACTION_COUNT:
		break;
	}
	return th_fail(err, TH_EUNSUPPORTED, "a browser has no clipboard for others");
}

enum th_code th_browser_act(struct th_computer *c, const struct th_action *action,
			    struct th_act_result *ret, struct th_err *err)
{
	struct th_browser *b = th_browser_of(c);
	bool acts = th_action_class(action->kind) != 'R';

	if (acts) {
		b->menu_due = true;
		th_browser_mark(b);
		th_browser_hops_begin(b);
	}
	enum th_code code = th_browser_input(b, action, err);
	/* With these codes nothing reached the page: it had a dialog, or the key does not exist. */
	*ret = (struct th_act_result){ .has_at = true,
				       .at = b->at,
				       .started = acts && code != TH_EBUSY && code != TH_EPROTO &&
						  code != TH_EUNSUPPORTED };
	if (acts && (code == TH_EIO || code == TH_ECONN))
		return th_prefix(err, code, "it is unknown whether this %s happened",
				 th_action_name(action->kind));
	return code;
}

enum th_code th_browser_reset(struct th_computer *c, struct th_act_result *ret, struct th_err *err)
{
	struct th_browser *b = th_browser_of(c);
	enum th_code code = TH_OK;

	*ret = (struct th_act_result){ .has_at = true, .at = b->at };
	for (size_t i = 0; i < TH_BUTTON_COUNT && !code; i++)
		if (b->buttons & button_bits[i]) {
			code = button_up(b, (enum th_button)i, 1, err);
			ret->keys_released++;
		}
	while (b->keys_down_count > 0 && !code) {
		code = key_up(b, b->keys_down[b->keys_down_count - 1], err);
		ret->keys_released++;
	}
	return code;
}
