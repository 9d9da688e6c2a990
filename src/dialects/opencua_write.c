/* SPDX-License-Identifier: Apache-2.0 */
/* opencua_write.c - actions as calls. */
#include "dialects/call.h"
#include "dialects/opencua.h"
#include "dialects/space.h"
#include "dialects/words.h"

static void put_point(const struct th_dialect_context *c, const char *lead, struct th_point p,
		      struct th_buf *out)
{
	struct th_space_point at = th_dialect_place(c, p);

	th_buf_printf(out, "%sx=%.10g, y=%.10g", lead, at.x, at.y);
}

static const char *unsayable(const struct th_action *a)
{
	bool key = a->kind == TH_ACTION_KEY || a->kind == TH_ACTION_KEY_DOWN ||
		   a->kind == TH_ACTION_KEY_UP;

	if (a->kind == TH_ACTION_DRAG)
		return a->path_count != 2 || a->key_count ? "from one point to another only" : NULL;
	if (a->kind == TH_ACTION_COUNT || !th_opencua_word_of(a))
		return "it is not in the vocabulary";
	if (a->key_count && !key)
		return "no keys held";
	if (a->kind == TH_ACTION_KEY && a->count > 1 && a->key_count > 1)
		return "a chord is pressed once only";
	if (key && a->kind != TH_ACTION_KEY && a->key_count != 1)
		return "one key only";
	if (a->kind == TH_ACTION_SCROLL && (a->unit != TH_SCROLL_NOTCH || (a->dx && a->dy)))
		return "notches in one direction only";
	if (a->kind == TH_ACTION_TYPE && (a->has_at || a->clear))
		return "text only";
	return NULL;
}

static void put_key(const char *lead, struct th_str key, struct th_buf *out)
{
	th_buf_printf(out, "%s'", lead);
	th_call_quote(out, key);
	th_buf_add_char(out, '\'');
}

static void put_keys(const struct th_action *a, struct th_buf *out)
{
	if (a->key_count == 1) {
		th_buf_add_cstr(out, "pyautogui.press(");
		put_key("", a->keys[0], out);
		if (a->count > 1)
			th_buf_printf(out, ", presses=%d", a->count);
	} else {
		th_buf_add_cstr(out, "pyautogui.hotkey(");
		for (size_t i = 0; i < a->key_count; i++)
			put_key(i ? ", " : "", a->keys[i], out);
	}
	th_buf_add_char(out, ')');
}

static void put_click(const struct th_dialect_context *c, const struct th_action *a,
		      struct th_buf *out)
{
	const char *word =
	    th_opencua_word_of(a) ?: "click"; /* unsayable() saw to it that there is one */
	bool plain = !strcmp(word, "click") && (a->count != 1 || a->button != TH_BUTTON_LEFT);

	th_buf_printf(out, "%s%s(", a->count == 3 && !plain ? "computer." : "pyautogui.", word);
	if (a->has_at)
		put_point(c, "", a->at, out);
	if (plain)
		th_buf_printf(out, "%sclicks=%d, button='%s'", a->has_at ? ", " : "", a->count,
			      th_button_name(a->button));
	th_buf_add_char(out, ')');
}

static enum th_code put_call(const struct th_dialect_context *c, const struct th_action *a,
			     struct th_buf *out, struct th_err *err)
{
	const char *why = unsayable(a);

	if (why)
		return th_fail(err, TH_EUNSUPPORTED, "pyautogui has no word for %s: %s",
			       th_action_name(a->kind), why);
	if (a->kind == TH_ACTION_CLICK) {
		put_click(c, a, out);
	} else if (a->kind == TH_ACTION_KEY) {
		put_keys(a, out);
	} else if (a->kind == TH_ACTION_DRAG) {
		put_point(c, "pyautogui.moveTo(", a->path[0], out);
		put_point(c, ")\npyautogui.dragTo(", a->path[1], out);
		if (a->duration_ms)
			th_buf_printf(out, ", duration=%.10g", a->duration_ms / 1000.0);
		th_buf_printf(out, ", button='%s')", th_button_name(a->button));
	} else if (a->kind == TH_ACTION_SCROLL) {
		th_buf_printf(out, "pyautogui.%s(%d", a->dx ? "hscroll" : "scroll",
			      a->dx ? a->dx : -a->dy);
		if (a->has_at)
			put_point(c, ", ", a->at, out);
		th_buf_add_char(out, ')');
	} else if (a->kind == TH_ACTION_TYPE) {
		put_key("pyautogui.write(message=", a->text, out);
		if (a->enter) {
			th_buf_truncate(out, out->len - 1); /* the quote */
			th_buf_add_cstr(out, "\\n'");
		}
		th_buf_add_char(out, ')');
	} else if (a->kind == TH_ACTION_KEY_DOWN || a->kind == TH_ACTION_KEY_UP) {
		th_buf_printf(out, "pyautogui.%s(", th_opencua_word_of(a));
		put_key("", a->keys[0], out);
		th_buf_add_char(out, ')');
	} else if (a->kind == TH_ACTION_WAIT) {
		if (a->duration_ms)
			th_buf_printf(out, "time.sleep(%.10g)", a->duration_ms / 1000.0);
		else
			th_buf_add_cstr(out, "computer.wait()");
	} else {
		th_buf_printf(out, "pyautogui.%s(", th_opencua_word_of(a));
		if (a->has_at)
			put_point(c, "", a->at, out);
		if (a->kind == TH_ACTION_MOUSE_DOWN || a->kind == TH_ACTION_MOUSE_UP)
			th_buf_printf(out, "%sbutton='%s'", a->has_at ? ", " : "",
				      th_button_name(a->button));
		th_buf_add_char(out, ')');
	}
	return TH_OK;
}

static enum th_code write_text(const struct th_dialect_context *c, const struct th_said *said,
			       struct th_buf *out, struct th_err *err)
{
	bool ends = said->outcome && strcmp(said->outcome, TH_DIALECT_NEEDS_USER);
	enum th_code code = TH_OK;

	th_buf_add(out, said->thought);
	if (said->thought.len)
		th_buf_add_char(out, '\n');
	th_buf_add(out, said->text);
	if (said->outcome && !ends)
		th_buf_add(out, said->outcome_text);
	if (!said->count && !ends)
		return TH_OK;
	th_buf_add_cstr(out, out->len ? "\n## Code:\n```python\n" : "## Code:\n```python\n");
	for (size_t i = 0; !code && i < said->count; i++) {
		code = put_call(c, &said->actions[i], out, err);
		th_buf_add_char(out, '\n');
	}
	if (!code && ends) {
		th_buf_printf(out, "computer.terminate(status='%s'",
			      !strcmp(said->outcome, TH_DIALECT_FAILED) ? "failure" : "success");
		put_key(", answer=", said->outcome_text, out);
		th_buf_add_cstr(out, ")\n");
	}
	th_buf_add_cstr(out, "```");
	return code;
}

enum th_code th_opencua_encode(const struct th_dialect_context *c, struct th_str items,
			       struct th_buf *out, struct th_err *err)
{
	return th_dialect_write(c, items, write_text, out, err);
}
