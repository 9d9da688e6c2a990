/* SPDX-License-Identifier: Apache-2.0 */
/* opencua_read.c - the calls in an answer, as actions. */
#include "dialects/call.h"
#include "dialects/list.h"
#include "dialects/opencua.h"
#include "dialects/space.h"
#include "dialects/words.h"

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
		code = th_call_button(call, &a->button, err);
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
		code = th_call_button(call, &a->button, err);
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
	const struct th_opencua_word *row = th_opencua_find(call->name);
	const struct th_value *text = named(call, "message|text", 0);
	struct th_action a = { 0 };
	bool has;
	enum th_code code = TH_OK;

	if (!row)
		return th_fail(err, TH_EPROTO, "there is no %.*s() here", TH_FMT(call->name));
	a.kind = row->kind;
	a.button = row->button;
	a.count = row->count;
	if (row->shape != TH_OPENCUA_DRAG)
		code = say_moved(x, err);
	if (code)
		return code;
	switch (row->shape) {
	case TH_OPENCUA_POINT:
		return say_point(x, call, &a, err);
	case TH_OPENCUA_MOVE:
		code = read_point(x->say->c, call, 0, &x->from, &has, err);
		if (!code && !has)
			code = th_fail(err, TH_EPROTO, "x and y are missing");
		x->moved = !code;
		return code;
	case TH_OPENCUA_DRAG:
		return say_drag(x, call, &a, err);
	case TH_OPENCUA_TURN:
	case TH_OPENCUA_TURN_ACROSS:
		return say_scroll(x, call, row->shape == TH_OPENCUA_TURN_ACROSS, &a, err);
	case TH_OPENCUA_WRITE:
		a.text = th_value_text(text);
		return text ? say_action(x, &a, err)
			    : th_fail(err, TH_EPROTO, "message is missing");
	case TH_OPENCUA_PRESS:
		return say_press(x, call, &a, err);
	case TH_OPENCUA_CHORD:
		return say_chord(x, call, &a, err);
	case TH_OPENCUA_ONE_KEY:
		if (!named(call, "key", 0))
			return th_fail(err, TH_EPROTO, "key is missing");
		code = add_key(&a, named(call, "key", 0), err);
		return code ? code : say_action(x, &a, err);
	case TH_OPENCUA_SLEEP:
	case TH_OPENCUA_WAIT:
		code = read_seconds(named(call, "seconds|secs|time|duration", 0), &a, err);
		return code ? code : say_action(x, &a, err);
	case TH_OPENCUA_LOOK:
		return say_action(x, &a, err);
	case TH_OPENCUA_LAST:
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

	if (fence >= 0) {
		*ret_before = th_str_sub(text, 0, (size_t)TH_MAX(head, 0) + (size_t)fence);
		if (head >= 0)
			*ret_before = th_str_sub(text, 0, (size_t)head);
		s = th_str_sub(s, (size_t)fence, s.len);
		th_str_split(&s, '\n');
		*ret_code = s;
		return true;
	}
	for (s = text; s.len;) {
		struct th_str rest = s, line = th_str_split(&rest, '\n'), name;

		if (th_call_begins(&line)) {
			name = line;
			if (th_opencua_find(th_str_trim(th_str_split(&name, '(')))) {
				*ret_before = th_str_sub(text, 0, text.len - s.len);
				*ret_code =
				    th_str_sub(text, (size_t)(line.ptr - text.ptr), text.len);
				return true;
			}
		}
		s = rest;
	}
	return false;
}

#define INLINE_TRIES_MAX 16

/* "Click on it: pyautogui.click(x=1, y=2)": a call in the middle of a line.  Words about a call are
 * none: it has pyautogui before its name or x= as its first argument. */
static bool find_inline(struct th_say *say, struct th_str text, struct th_str *ret_before,
			struct th_str *ret_code)
{
	int tries = 0;

	for (size_t i = 0; i < text.len && tries < INLINE_TRIES_MAX; i++) {
		struct th_str here = th_str_sub(text, i, text.len), rest = here, name;
		bool inside = i > 0 && ((text.ptr[i - 1] | 0x20) >= 'a' || text.ptr[i - 1] == '_' ||
					text.ptr[i - 1] == '.');
		struct th_text_call call;

		if (inside || th_call_blank(text.ptr[i]) || !th_call_begins(&rest))
			continue;
		name = rest;
		if (!th_opencua_find(th_str_trim(th_str_split(&name, '('))))
			continue;
		tries++;
		if (th_call_read(&rest, say->a, &call, NULL) || !call.count ||
		    (!th_str_starts(call.name, TH_STR("pyautogui.")) &&
		     !th_str_is(call.keys[0], "x")))
			continue;
		*ret_before = th_str_sub(text, 0, i);
		*ret_code = th_str_sub(here, 0, here.len - rest.len);
		return true;
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
	if (!find_code(text, &before, &code) && !find_inline(say, text, &before, &code)) {
		th_say_text(say, text);
		return;
	}
	th_say_reasoning(say, before);
	say_code(say, code);
}

enum th_code th_opencua_decode(const struct th_dialect_context *c, struct th_str items,
			       struct th_buf *out, struct th_err *err)
{
	/* Qwen's own form, too: servers and prompts of others ask for it. */
	bool tagged = th_str_find(items, TH_STR("<tool_call>")) >= 0;

	return th_dialect_each(c, items, tagged ? th_qwen_say : say_text, NULL,
			       "the answer held no call: write one in a block of code", out, err);
}
