/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opencua.c - OpenCUA: pyautogui calls in a block of code, which is
 * read and never run.
 *
 *	## Thought: …  ## Action: …  ## Code:
 *	```python
 *	pyautogui.moveTo(x=100, y=200)
 *	pyautogui.dragTo(x=300, y=200, button='left')
 *	```
 *
 * Statements that are not such calls are refused, with what follows them.
 */
#include "dialects/call.h"
#include "dialects/list.h"
#include "dialects/space.h"
#include "dialects/words.h"

#define NOTCHES 5

enum shape {
	POINT,
	MOVE,
	DRAG,
	TURN,
	TURN_ACROSS,
	WRITE,
	PRESS,
	CHORD,
	ONE_KEY,
	SLEEP,
	WAIT,
	LOOK,
	LAST
};

static const struct row {
	const char *word;
	enum shape shape;
	enum th_action_kind kind;
	enum th_button button;
	int32_t count;
} rows[] = {
	{ "click", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 1 },
	{ "leftClick", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 1 },
	{ "rightClick", POINT, TH_ACTION_CLICK, TH_BUTTON_RIGHT, 1 },
	{ "middleClick", POINT, TH_ACTION_CLICK, TH_BUTTON_MIDDLE, 1 },
	{ "doubleClick", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 2 },
	{ "double_click", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 2 },
	{ "tripleClick", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 3 },
	{ "triple_click", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 3 },
	{ "mouseDown", POINT, TH_ACTION_MOUSE_DOWN, TH_BUTTON_LEFT, 0 },
	{ "mouseUp", POINT, TH_ACTION_MOUSE_UP, TH_BUTTON_LEFT, 0 },
	{ "moveTo", MOVE, TH_ACTION_MOVE, TH_BUTTON_LEFT, 0 },
	{ "dragTo", DRAG, TH_ACTION_DRAG, TH_BUTTON_LEFT, 0 },
	{ "scroll", TURN, TH_ACTION_SCROLL, TH_BUTTON_LEFT, 0 },
	{ "vscroll", TURN, TH_ACTION_SCROLL, TH_BUTTON_LEFT, 0 },
	{ "hscroll", TURN_ACROSS, TH_ACTION_SCROLL, TH_BUTTON_LEFT, 0 },
	{ "write", WRITE, TH_ACTION_TYPE, TH_BUTTON_LEFT, 0 },
	{ "typewrite", WRITE, TH_ACTION_TYPE, TH_BUTTON_LEFT, 0 },
	{ "press", PRESS, TH_ACTION_KEY, TH_BUTTON_LEFT, 1 },
	{ "hotkey", CHORD, TH_ACTION_KEY, TH_BUTTON_LEFT, 1 },
	{ "keyDown", ONE_KEY, TH_ACTION_KEY_DOWN, TH_BUTTON_LEFT, 0 },
	{ "keyUp", ONE_KEY, TH_ACTION_KEY_UP, TH_BUTTON_LEFT, 0 },
	{ "sleep", SLEEP, TH_ACTION_WAIT, TH_BUTTON_LEFT, 0 },
	{ "wait", WAIT, TH_ACTION_WAIT, TH_BUTTON_LEFT, 0 },
	{ "screenshot", LOOK, TH_ACTION_SCREENSHOT, TH_BUTTON_LEFT, 0 },
	{ "terminate", LAST, TH_ACTION_COUNT, TH_BUTTON_LEFT, 0 },
};

static struct th_str bare(struct th_str name)
{
	static const char *const modules[] = { "pyautogui.", "computer.", "time.", "pg." };

	for (size_t i = 0; i < TH_COUNT(modules); i++)
		if (th_str_starts(name, th_str_of(modules[i])))
			return th_str_sub(name, strlen(modules[i]), name.len);
	return name;
}

static const struct row *find(struct th_str name)
{
	name = bare(name);
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		if (th_str_is(name, rows[i].word))
			return &rows[i];
	return NULL;
}

/* ---- one statement ---- */

struct reader {
	struct th_say *say;
	bool moved; /* `from` is a moveTo that was not said yet */
	struct th_point from;
};

static enum th_code say_action(struct reader *x, const struct th_action *action, struct th_err *err)
{
	struct th_word word = { .action = *action };

	return th_say_word(x->say, &word, err);
}

static enum th_code say_moved(struct reader *x, struct th_err *err)
{
	struct th_action move = { .kind = TH_ACTION_MOVE, .has_at = true, .at = x->from };

	if (!x->moved)
		return TH_OK;
	x->moved = false;
	return say_action(x, &move, err);
}

static const struct th_value *named(const struct th_text_call *call, const char *names, size_t at)
{
	const struct th_value *v = th_call_get(call, names);

	return v ? v : th_call_at(call, at);
}

/* x and y, or both in one; TH_OK and *ret_has false: neither. */
static enum th_code read_point(const struct th_dialect_context *c, const struct th_text_call *call,
			       size_t at, struct th_point *ret, bool *ret_has, struct th_err *err)
{
	const struct th_value *vx = named(call, "x", at), *vy = named(call, "y", at + 1);
	double n[4];
	int count;

	*ret_has = vx != NULL;
	if (!vx)
		return TH_OK;
	if (vx->kind == TH_VALUE_LIST) {
		count = th_value_numbers(vx, n, 4);
		return count == 2 ? th_dialect_point(c, n, 2, ret, err)
				  : th_fail(err, TH_EPROTO, "a point must be two numbers");
	}
	if (!vy || !th_value_number(vx, &n[0]) || !th_value_number(vy, &n[1]))
		return th_fail(err, TH_EPROTO, "x and y must be numbers");
	return th_dialect_point(c, n, 2, ret, err);
}

static enum th_code read_button(const struct th_text_call *call, struct th_action *ret,
				struct th_err *err)
{
	const struct th_value *v = th_call_get(call, "button");
	int button = th_button_find(th_value_text(v));

	if (!v)
		return TH_OK;
	if (button < 0)
		return th_fail(err, TH_EPROTO, "button must be 'left', 'middle' or 'right'");
	ret->button = (enum th_button)button;
	return TH_OK;
}

static enum th_code read_count(const struct th_value *v, int32_t max, struct th_action *ret,
			       struct th_err *err)
{
	double count = ret->count;

	if (!v)
		return TH_OK;
	if (!th_value_number(v, &count) || !(count >= 1 && count <= max))
		return th_fail(err, TH_EPROTO, "it can be done 1 to %d times", max);
	ret->count = (int32_t)count;
	return TH_OK;
}

static enum th_code read_seconds(const struct th_value *v, struct th_action *ret,
				 struct th_err *err)
{
	double seconds = 0;

	if (v && (!th_value_number(v, &seconds) || !(seconds >= 0 && seconds < 86400)))
		return th_fail(err, TH_EPROTO, "the time must be seconds");
	ret->duration_ms = (int32_t)(seconds * 1000 + 0.5);
	return TH_OK;
}

static enum th_code say_point(struct reader *x, const struct th_text_call *call,
			      struct th_action *a, struct th_err *err)
{
	enum th_code code = read_point(x->say->c, call, 0, &a->at, &a->has_at, err);

	if (!code)
		code = read_button(call, a, err);
	if (!code && a->kind == TH_ACTION_CLICK)
		code = read_count(named(call, "clicks", 2), TH_CLICK_COUNT_MAX, a, err);
	return code ? code : say_action(x, a, err);
}

static enum th_code say_drag(struct reader *x, const struct th_text_call *call, struct th_action *a,
			     struct th_err *err)
{
	struct th_action step = { .kind = TH_ACTION_MOUSE_DOWN };
	struct th_point path[2] = { x->from, { 0, 0 } };
	bool has;
	enum th_code code = read_point(x->say->c, call, 0, &path[1], &has, err);

	if (!code && !has)
		code = th_fail(err, TH_EPROTO, "x and y are missing");
	if (!code)
		code = read_button(call, a, err);
	if (!code)
		code = read_seconds(named(call, "duration", 2), a, err);
	if (code)
		return code;
	if (x->moved) {
		x->moved = false;
		a->path = path;
		a->path_count = 2;
		return say_action(x, a, err);
	}
	step.button = a->button; /* from where the pointer is */
	code = say_action(x, &step, err);
	step = (struct th_action){ .kind = TH_ACTION_MOVE, .has_at = true, .at = path[1] };
	if (!code)
		code = say_action(x, &step, err);
	step = (struct th_action){ .kind = TH_ACTION_MOUSE_UP, .button = a->button };
	return code ? code : say_action(x, &step, err);
}

static enum th_code say_scroll(struct reader *x, const struct th_text_call *call, bool across,
			       struct th_action *a, struct th_err *err)
{
	double n = 0;
	enum th_code code = read_point(x->say->c, call, 1, &a->at, &a->has_at, err);

	if (code)
		return code;
	if (!th_value_number(named(call, "clicks", 0), &n) ||
	    !(n >= -TH_SCROLL_MAX && n <= TH_SCROLL_MAX))
		return th_fail(err, TH_EPROTO, "clicks must be a number, up to %d", TH_SCROLL_MAX);
	if (across)
		a->dx = (int32_t)n;
	else
		a->dy = -(int32_t)n;
	return say_action(x, a, err);
}

static enum th_code say_press(struct reader *x, const struct th_text_call *call,
			      struct th_action *a, struct th_err *err)
{
	const struct th_value *v = named(call, "keys|key", 0);
	size_t many = v && v->kind == TH_VALUE_LIST ? v->count : 1;
	enum th_code code = read_count(named(call, "presses", 1), TH_KEY_REPEAT_MAX, a, err);

	if (!code && (!v || !many))
		code = th_fail(err, TH_EPROTO, "keys is missing");
	for (size_t i = 0; !code && i < many; i++) {
		a->keys[0] = v->kind == TH_VALUE_LIST ? v->items[i].text : v->text;
		a->key_count = 1;
		code = say_action(x, a, err);
	}
	return code;
}

static enum th_code add_key(struct th_action *a, const struct th_value *v, struct th_err *err)
{
	if (a->key_count == TH_CHORD_KEYS_MAX)
		return th_fail(err, TH_EPROTO, "a chord has at most %d keys", TH_CHORD_KEYS_MAX);
	a->keys[a->key_count++] = v->text;
	return TH_OK;
}

static enum th_code say_chord(struct reader *x, const struct th_text_call *call,
			      struct th_action *a, struct th_err *err)
{
	const struct th_value *list = named(call, "keys|key", 0);
	enum th_code code = TH_OK;

	if (list && list->kind == TH_VALUE_LIST) {
		for (size_t i = 0; !code && i < list->count; i++)
			code = add_key(a, &list->items[i], err);
	} else if (list && th_call_get(call, "keys|key")) {
		code = add_key(a, list, err);
	} else {
		for (size_t i = 0; !code && th_call_at(call, i); i++)
			code = add_key(a, th_call_at(call, i), err);
	}
	if (!code && !a->key_count)
		code = th_fail(err, TH_EPROTO, "keys are missing");
	return code ? code : say_action(x, a, err);
}

static enum th_code say_last(struct reader *x, const struct th_text_call *call, struct th_err *err)
{
	struct th_word word = { .verb = TH_VERB_END };

	word.failed = th_str_istarts(th_value_text(named(call, "status", 0)), TH_STR("fail"));
	word.text = th_value_text(named(call, "answer|text", 1));
	return th_say_word(x->say, &word, err);
}

static enum th_code say_call(struct reader *x, const struct th_text_call *call, struct th_err *err)
{
	const struct row *row = find(call->name);
	const struct th_value *text = named(call, "message|text", 0);
	struct th_action a = { 0 };
	bool has;
	enum th_code code = TH_OK;

	if (!row)
		return th_fail(err, TH_EPROTO, "there is no %.*s() here", TH_FMT(call->name));
	a.kind = row->kind;
	a.button = row->button;
	a.count = row->count;
	if (row->shape != DRAG)
		code = say_moved(x, err);
	if (code)
		return code;
	switch (row->shape) {
	case POINT:
		return say_point(x, call, &a, err);
	case MOVE:
		code = read_point(x->say->c, call, 0, &x->from, &has, err);
		if (!code && !has)
			code = th_fail(err, TH_EPROTO, "x and y are missing");
		x->moved = !code;
		return code;
	case DRAG:
		return say_drag(x, call, &a, err);
	case TURN:
	case TURN_ACROSS:
		return say_scroll(x, call, row->shape == TURN_ACROSS, &a, err);
	case WRITE:
		a.text = th_value_text(text);
		return text ? say_action(x, &a, err)
			    : th_fail(err, TH_EPROTO, "message is missing");
	case PRESS:
		return say_press(x, call, &a, err);
	case CHORD:
		return say_chord(x, call, &a, err);
	case ONE_KEY:
		if (!named(call, "key", 0))
			return th_fail(err, TH_EPROTO, "key is missing");
		code = add_key(&a, named(call, "key", 0), err);
		return code ? code : say_action(x, &a, err);
	case SLEEP:
	case WAIT:
		code = read_seconds(named(call, "seconds|secs|time|duration", 0), &a, err);
		return code ? code : say_action(x, &a, err);
	case LOOK:
		return say_action(x, &a, err);
	case LAST:
		return say_last(x, call, err);
	}
	return TH_OK;
}

/* ---- the whole text ---- */

/* Past blanks, comments, imports and the fence; true when a statement stands there. */
static bool next_statement(struct th_str *s)
{
	for (;;) {
		*s = th_str_trim(*s);
		if (s->len && s->ptr[0] == ';') {
			*s = th_str_sub(*s, 1, s->len);
		} else if (s->len && (s->ptr[0] == '#' || th_str_starts(*s, TH_STR("import ")) ||
				      th_str_starts(*s, TH_STR("from ")))) {
			th_str_split(s, '\n');
		} else {
			return s->len && !th_str_starts(*s, TH_STR("```"));
		}
	}
}

static void say_code(struct th_say *say, struct th_str s)
{
	struct reader x = { .say = say };
	struct th_err err = { 0 };

	while (next_statement(&s)) {
		struct th_text_call call;
		struct th_str from = s;
		enum th_code code = th_call_read(&s, say->a, &call, &err);

		if (!code)
			code = say_call(&x, &call, &err);
		if (code) {
			if (say_moved(&x, &err))
				x.moved = false;
			th_prefix(&err, code, "%.*s", TH_FMT(th_str_sub(call.name, 0, 40)));
			th_say_error(say, from, err.msg);
			return;
		}
	}
	(void)say_moved(&x, &err); /* it was checked when it was read */
}

/* Where the code begins: behind its fence, or the first line that calls something known. */
static bool find_code(struct th_str text, struct th_str *ret_before, struct th_str *ret_code)
{
	ptrdiff_t head = th_str_find(text, TH_STR("## Code"));
	struct th_str s = th_str_sub(text, (size_t)TH_MAX(head, 0), text.len);
	ptrdiff_t fence = th_str_find(s, TH_STR("```"));
	size_t skipped = 0;

	if (fence >= 0) {
		*ret_before = th_str_sub(text, 0, (size_t)TH_MAX(head, 0) + (size_t)fence);
		if (head >= 0)
			*ret_before = th_str_sub(text, 0, (size_t)head);
		s = th_str_sub(s, (size_t)fence, s.len);
		th_str_split(&s, '\n');
		*ret_code = s;
		return true;
	}
	s = text;
	while (skipped < text.len) {
		struct th_str line = th_str_sub(text, skipped, text.len), name;

		if (th_call_begins(&line)) {
			name = line;
			if (find(th_str_trim(th_str_split(&name, '(')))) {
				*ret_before = th_str_sub(text, 0, skipped);
				*ret_code = line;
				return true;
			}
		}
		s = th_str_sub(text, skipped, text.len);
		th_str_split(&s, '\n');
		skipped = text.len - s.len;
		if (!s.len)
			break;
	}
	return false;
}

static void say_text(struct th_say *say, struct th_str text)
{
	struct th_str before, code;
	ptrdiff_t think = th_str_find(text, TH_STR("</think>"));

	if (think >= 0) {
		struct th_str inside = th_str_sub(text, 0, (size_t)think);
		ptrdiff_t open = th_str_find(inside, TH_STR("<think>"));

		th_say_reasoning(say, open < 0 ? inside
					       : th_str_sub(inside, (size_t)open + 7, inside.len));
		text = th_str_sub(text, (size_t)think + 8, text.len);
	}
	if (!find_code(text, &before, &code)) {
		th_say_text(say, text);
		return;
	}
	th_say_reasoning(say, before);
	say_code(say, code);
}

static enum th_code decode(const struct th_dialect_context *c, struct th_str items,
			   struct th_buf *out, struct th_err *err)
{
	/* Qwen's own form, too: servers and prompts of others ask for it. */
	bool tagged = th_str_find(items, TH_STR("<tool_call>")) >= 0;

	return th_dialect_each(c, items, tagged ? th_qwen_say : say_text, NULL,
			       "the answer held no call: write one in a block of code", out, err);
}

/* ---- encode ---- */

static void put_point(const struct th_dialect_context *c, const char *lead, struct th_point p,
		      struct th_buf *out)
{
	struct th_space_point at = th_dialect_place(c, p);

	th_buf_printf(out, "%sx=%.10g, y=%.10g", lead, at.x, at.y);
}

static const char *word_of(const struct th_action *a)
{
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		if (rows[i].kind == a->kind && rows[i].shape != LAST &&
		    (a->kind != TH_ACTION_CLICK ||
		     (rows[i].button == a->button && rows[i].count == a->count)))
			return rows[i].word;
	return a->kind == TH_ACTION_CLICK && a->button < TH_BUTTON_BACK ? "click" : NULL;
}

static const char *unsayable(const struct th_action *a)
{
	bool key = a->kind == TH_ACTION_KEY || a->kind == TH_ACTION_KEY_DOWN ||
		   a->kind == TH_ACTION_KEY_UP;

	if (a->kind == TH_ACTION_DRAG)
		return a->path_count != 2 || a->key_count ? "from one point to another only" : NULL;
	if (a->kind == TH_ACTION_COUNT || !word_of(a))
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
	const char *word = word_of(a) ?: "click"; /* unsayable() saw to it that there is one */
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
		th_buf_printf(out, "pyautogui.%s(", word_of(a));
		put_key("", a->keys[0], out);
		th_buf_add_char(out, ')');
	} else if (a->kind == TH_ACTION_WAIT) {
		if (a->duration_ms)
			th_buf_printf(out, "time.sleep(%.10g)", a->duration_ms / 1000.0);
		else
			th_buf_add_cstr(out, "computer.wait()");
	} else {
		th_buf_printf(out, "pyautogui.%s(", word_of(a));
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

static enum th_code encode(const struct th_dialect_context *c, struct th_str items,
			   struct th_buf *out, struct th_err *err)
{
	return th_dialect_write(c, items, write_text, out, err);
}

static void prompt(const struct th_dialect_context *c, struct th_buf *out)
{
	(void)c;
	th_buf_add_cstr(
	    out,
	    "You are a GUI agent. You are given a task, a screenshot and what you did before. "
	    "Perform the next step with pyautogui calls.\n\nFor each step, answer in this form:\n"
	    "## Thought:\nwhat you see, and why the next step\n\n## Action:\nthe next step in one "
	    "sentence\n\n## Code:\n```python\nthe calls\n```\n\nCalls: pyautogui.click, "
	    "doubleClick, rightClick, middleClick, moveTo, dragTo (x=, y=), scroll, hscroll "
	    "(clicks), write (message=), press (keys=), hotkey (keys=[…]), keyDown, keyUp; "
	    "computer.tripleClick(x=, y=); computer.wait(); computer.terminate(status='success' "
	    "or 'failure', answer='…') when it is done or cannot be done. Nothing else is run: no "
	    "variables, no expressions, no imports.\n");
}

const struct th_dialect th_dialect_opencua = {
	.name = "opencua",
	.note = "OpenCUA: pyautogui calls in a block of code",
	.prompt = prompt,
	.decode = decode,
	.encode = encode,
	.results_as_user = true,
};
