/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glm.c - GLM-4.5V and its kin:
 *
 *	I will click.
 *	<|begin_of_box|>left_click(start_box='[500,500]', element_info='OK')<|end_of_box|>
 *	Memory:
 *	[]
 *
 * Memory, when there is any, becomes a thought: it is in the history then.
 */
#include "dialects/call.h"
#include "dialects/list.h"
#include "dialects/space.h"

#define NOTCHES 5
#define TRIES_MAX 64 /* names with a parenthesis that are no action */
#define OPEN "<|begin_of_box|>"
#define CLOSE "<|end_of_box|>"

enum shape { POINT, PATH, TURN, KEYS, TEXT, NOTHING, LAST };

static const struct row {
	const char *word;
	enum shape shape;
	enum th_action_kind kind;
	enum th_button button;
	int32_t count;
	bool failed;
} rows[] = {
	{ "left_click", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 1, false },
	{ "click", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 1, false },
	{ "right_click", POINT, TH_ACTION_CLICK, TH_BUTTON_RIGHT, 1, false },
	{ "middle_click", POINT, TH_ACTION_CLICK, TH_BUTTON_MIDDLE, 1, false },
	{ "left_double_click", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 2, false },
	{ "double_click", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 2, false },
	{ "left_triple_click", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 3, false },
	{ "triple_click", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 3, false },
	{ "hover", POINT, TH_ACTION_MOVE, TH_BUTTON_LEFT, 0, false },
	{ "left_drag", PATH, TH_ACTION_DRAG, TH_BUTTON_LEFT, 0, false },
	{ "drag", PATH, TH_ACTION_DRAG, TH_BUTTON_LEFT, 0, false },
	{ "key", KEYS, TH_ACTION_KEY, TH_BUTTON_LEFT, 1, false },
	{ "type", TEXT, TH_ACTION_TYPE, TH_BUTTON_LEFT, 0, false },
	{ "scroll", TURN, TH_ACTION_SCROLL, TH_BUTTON_LEFT, 0, false },
	{ "WAIT", NOTHING, TH_ACTION_WAIT, TH_BUTTON_LEFT, 0, false },
	{ "screenshot", NOTHING, TH_ACTION_SCREENSHOT, TH_BUTTON_LEFT, 0, false },
	{ "DONE", LAST, TH_ACTION_COUNT, TH_BUTTON_LEFT, 0, false },
	{ "FAIL", LAST, TH_ACTION_COUNT, TH_BUTTON_LEFT, 0, true },
};

static const struct row *find(struct th_str name)
{
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		if (th_str_ieq(name, th_str_of(rows[i].word)))
			return &rows[i];
	return NULL;
}

/* ---- decode ---- */

static enum th_code read_point(const struct th_dialect_context *c, const struct th_text_call *call,
			       const char *names, size_t at, struct th_point *ret,
			       struct th_err *err)
{
	const struct th_value *v = th_call_get(call, names);
	double n[4];
	int count = th_value_numbers(v ? v : th_call_at(call, at), n, 4);

	if (count != 2 && count != 4)
		return th_fail(err, TH_EPROTO, "%.*s: %s must be [x,y]", TH_FMT(call->name), names);
	return th_dialect_point(c, n, count, ret, err);
}

static enum th_code read_scroll(const struct th_dialect_context *c, const struct th_text_call *call,
				struct th_action *ret, struct th_err *err)
{
	struct th_str way = th_value_text(th_call_get(call, "direction"));
	double step = NOTCHES;
	int32_t n;

	if (th_call_get(call, "step") && (!th_value_number(th_call_get(call, "step"), &step) ||
					  !(step >= 1 && step <= TH_SCROLL_MAX)))
		return th_fail(err, TH_EPROTO, "scroll: step must be 1 to %d", TH_SCROLL_MAX);
	n = (int32_t)(step + 0.5);
	if (th_str_ieq(way, TH_STR("up")))
		ret->dy = -n;
	else if (th_str_ieq(way, TH_STR("down")))
		ret->dy = n;
	else if (th_str_ieq(way, TH_STR("left")))
		ret->dx = -n;
	else if (th_str_ieq(way, TH_STR("right")))
		ret->dx = n;
	else
		return th_fail(err, TH_EPROTO, "scroll: direction must be up, down, left or right");
	ret->has_at = th_call_get(call, "start_box") != NULL;
	return ret->has_at ? read_point(c, call, "start_box", 0, &ret->at, err) : TH_OK;
}

static enum th_code read_word(const struct th_dialect_context *c, const struct th_text_call *call,
			      struct th_arena *a, struct th_word *ret, struct th_err *err)
{
	const struct row *row = find(call->name);
	const struct th_value *only = th_call_at(call, 0);
	const struct th_value *keys = th_call_get(call, "keys|key");
	const struct th_value *content = th_call_get(call, "content|text");
	struct th_action *action = &ret->action;
	enum th_code code = TH_OK;

	*ret = (struct th_word){ 0 };
	if (!row)
		return th_fail(err, TH_EPROTO, "there is no action %.*s()", TH_FMT(call->name));
	action->kind = row->kind;
	action->button = row->button;
	action->count = row->count;
	switch (row->shape) {
	case POINT:
		action->has_at = true;
		return read_point(c, call, "start_box", 0, &action->at, err);
	case PATH:
		action->path = th_arena_array(a, 2, sizeof(*action->path));
		action->path_count = 2;
		if (!action->path)
			return th_fail(err, TH_EPROTO, "too many drags");
		code = read_point(c, call, "start_box", 0, &action->path[0], err);
		return code ? code : read_point(c, call, "end_box", 1, &action->path[1], err);
	case TURN:
		return read_scroll(c, call, action, err);
	case KEYS:
		return th_dialect_keys(th_value_text(keys ? keys : only), action, err);
	case TEXT:
		if (!content && !only)
			return th_fail(err, TH_EPROTO, "type: content is missing");
		action->text = th_value_text(content ? content : only);
		return TH_OK;
	case LAST:
		ret->verb = TH_VERB_END;
		ret->failed = row->failed;
		ret->text = th_value_text(content);
		return TH_OK;
	case NOTHING:
		break;
	}
	return TH_OK;
}

/* The action: what is in the box; else the first call of a known name. */
static struct th_str find_action(struct th_str s, struct th_str *ret_before, bool *ret_boxed)
{
	ptrdiff_t open = th_str_find(s, TH_STR(OPEN));
	int tries = 0;

	*ret_boxed = open >= 0;
	*ret_before = th_str_sub(s, 0, (size_t)TH_MAX(open, 0));
	if (open >= 0)
		return th_str_sub(s, (size_t)open + sizeof(OPEN) - 1, s.len);
	for (size_t i = 0; i < s.len && tries < TRIES_MAX; i++) {
		struct th_str here = th_str_sub(s, i, s.len), name = here;
		bool start =
		    i == 0 || !((s.ptr[i - 1] | 0x20) >= 'a' && (s.ptr[i - 1] | 0x20) <= 'z');

		if (!start || th_call_blank(s.ptr[i]) || s.ptr[i] == '_' || !th_call_begins(&here))
			continue;
		tries++;
		name = th_str_trim(th_str_split(&name, '('));
		if (!find(name))
			continue;
		*ret_before = th_str_sub(s, 0, i);
		return here;
	}
	*ret_before = s;
	return TH_STR("");
}

static void say_memory(struct th_say *say, struct th_str memory)
{
	memory = th_str_trim(memory);
	if (memory.len && !th_str_is(memory, "[]"))
		th_say_reasoning(say, memory);
}

/* Where its "Memory:" is: behind the box, or the last line that begins so.  A text that is typed
 * may hold one too. */
static ptrdiff_t find_memory(struct th_str s)
{
	struct th_str rest = s;
	ptrdiff_t found = -1, at;
	bool boxed = th_str_find(s, TH_STR(OPEN)) >= 0;

	while (boxed && (at = th_str_find(rest, TH_STR(CLOSE))) >= 0)
		rest = th_str_sub(rest, (size_t)at + sizeof(CLOSE) - 1, rest.len);
	if (boxed && rest.len == s.len)
		return -1;
	while ((at = th_str_find(rest, TH_STR("Memory:"))) >= 0) {
		size_t from = s.len - rest.len + (size_t)at;

		if (boxed || from == 0 || s.ptr[from - 1] == '\n')
			found = (ptrdiff_t)from;
		if (boxed)
			break;
		rest = th_str_sub(s, from + 7, s.len);
	}
	return found;
}

static void say_text(struct th_say *say, struct th_str text)
{
	ptrdiff_t memory = -1, close;
	struct th_str s = th_str_trim(text), before, body, rest;
	struct th_text_call call;
	struct th_word word;
	struct th_err err = { 0 };
	enum th_code code;
	bool boxed;

	close = th_str_find(s, TH_STR("</think>"));
	if (close >= 0) {
		struct th_str think = th_str_sub(s, 0, (size_t)close);

		if (th_str_starts(think, TH_STR("<think>")))
			think = th_str_sub(think, 7, think.len);
		th_say_reasoning(say, think);
		s = th_str_trim(th_str_sub(s, (size_t)close + 8, s.len));
	}
	memory = find_memory(s);
	if (memory >= 0) {
		say_memory(say, th_str_sub(s, (size_t)memory + 7, s.len));
		s = th_str_trim(th_str_sub(s, 0, (size_t)memory));
	}
	body = find_action(s, &before, &boxed);
	th_say_text(say, before);
	if (!body.len && !boxed)
		return;
	rest = body;
	code = th_call_read(&rest, say->a, &call, &err);
	if (!code)
		code = read_word(say->c, &call, say->a, &word, &err);
	if (!code)
		code = th_say_word(say, &word, &err);
	if (code) {
		close = th_str_find(body, TH_STR(CLOSE));
		th_say_error(say, th_str_sub(body, 0, close < 0 ? body.len : (size_t)close),
			     err.msg);
	}
}

static enum th_code decode(const struct th_dialect_context *c, struct th_str items,
			   struct th_buf *out, struct th_err *err)
{
	return th_dialect_each(c, items, say_text, NULL,
			       "the answer held no action: write one inside " OPEN " and " CLOSE,
			       out, err);
}

/* ---- encode ---- */

static void put_box(const struct th_dialect_context *c, const char *name, struct th_point p,
		    struct th_buf *out)
{
	struct th_space_point at = th_dialect_place(c, p);

	th_buf_printf(out, "%s='[%.10g,%.10g]'", name, at.x, at.y);
}

static const struct row *row_of(const struct th_action *a)
{
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		if (rows[i].shape != LAST && rows[i].kind == a->kind &&
		    (a->kind != TH_ACTION_CLICK ||
		     (rows[i].button == a->button && rows[i].count == a->count)))
			return &rows[i];
	return NULL;
}

static bool plain_keys(const struct th_action *a)
{
	for (size_t i = 0; i < a->key_count; i++)
		if (!a->keys[i].len || th_str_find_char(a->keys[i], ' ') >= 0 ||
		    th_str_trim(a->keys[i]).len != a->keys[i].len ||
		    (a->keys[i].len > 1 && th_str_find_char(a->keys[i], '+') >= 0))
			return false;
	return true;
}

static const char *unsayable(const struct th_action *a)
{
	if (!row_of(a))
		return "it is not in the vocabulary";
	if (a->key_count && (a->kind != TH_ACTION_KEY || a->count > 1 || !plain_keys(a)))
		return "a chord pressed once only, no keys held";
	if ((a->kind == TH_ACTION_CLICK || a->kind == TH_ACTION_MOVE) && !a->has_at)
		return "it must have a point";
	if (a->kind == TH_ACTION_DRAG &&
	    (a->path_count != 2 || a->button != TH_BUTTON_LEFT || a->duration_ms))
		return "from one point to another with the left button only";
	if (a->kind == TH_ACTION_SCROLL && (a->unit != TH_SCROLL_NOTCH || (a->dx && a->dy)))
		return "notches in one direction only";
	if (a->kind == TH_ACTION_TYPE && (a->has_at || a->clear))
		return "text only";
	return a->kind == TH_ACTION_WAIT && a->duration_ms ? "no time" : NULL;
}

static enum th_code put_call(const struct th_dialect_context *c, const struct th_action *a,
			     struct th_buf *out, struct th_err *err)
{
	const char *why = unsayable(a);
	int32_t n = a->dy ? a->dy : a->dx;

	if (why)
		return th_fail(err, TH_EUNSUPPORTED, "GLM has no word for %s: %s",
			       th_action_name(a->kind), why);
	th_buf_printf(out, OPEN "%s(", row_of(a)->word);
	if (a->has_at)
		put_box(c, "start_box", a->at, out);
	if (a->kind == TH_ACTION_DRAG) {
		put_box(c, "start_box", a->path[0], out);
		th_buf_add_cstr(out, ", ");
		put_box(c, "end_box", a->path[1], out);
	} else if (a->kind == TH_ACTION_SCROLL) {
		th_buf_printf(out, "%sdirection='%s', step=%d", a->has_at ? ", " : "",
			      a->dy ? (n > 0 ? "down" : "up") : (n > 0 ? "right" : "left"),
			      n > 0 ? n : -n);
	} else if (a->kind == TH_ACTION_TYPE) {
		th_buf_add_cstr(out, "content='");
		th_call_quote(out, a->text);
		th_buf_add_cstr(out, a->enter ? "\\n'" : "'");
	} else if (a->kind == TH_ACTION_KEY) {
		th_buf_add_cstr(out, "keys='");
		for (size_t i = 0; i < a->key_count; i++) {
			th_buf_add_cstr(out, i ? "+" : "");
			th_call_quote(out, a->keys[i]);
		}
		th_buf_add_char(out, '\'');
	}
	th_buf_add_cstr(out, ")" CLOSE);
	return TH_OK;
}

static enum th_code write_text(const struct th_dialect_context *c, const struct th_said *said,
			       struct th_buf *out, struct th_err *err)
{
	if (said->count + (said->outcome != NULL) > 1)
		return th_fail(err, TH_EUNSUPPORTED, "GLM does one action at a time");
	if (said->thought.len)
		th_buf_printf(out, "<think>%.*s</think>\n", TH_FMT(said->thought));
	th_buf_add(out, said->text);
	if (said->text.len && (said->count || said->outcome))
		th_buf_add_char(out, '\n');
	if (said->outcome && !strcmp(said->outcome, TH_DIALECT_NEEDS_USER)) {
		th_buf_add(out, said->outcome_text);
	} else if (said->outcome) {
		bool failed = !strcmp(said->outcome, TH_DIALECT_FAILED);
		bool plain =
		    th_str_is(said->outcome_text, failed ? "Task failed." : "Task completed.");

		if (!plain) {
			th_buf_add(out, said->outcome_text);
			th_buf_add_char(out, '\n');
		}
		th_buf_add_cstr(out, failed ? OPEN "FAIL()" CLOSE : OPEN "DONE()" CLOSE);
	}
	return said->count ? put_call(c, &said->actions[0], out, err) : TH_OK;
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
	    "You are a GUI agent. You see screenshots of a computer and do the task step by step, "
	    "one action at a time. Coordinates go from 0 to 999, from left to right and from top "
	    "to bottom.\n\n# Action Space\n\n"
	    "left_click(start_box='[x,y]', element_info='')\n"
	    "right_click(start_box='[x,y]', element_info='')\n"
	    "middle_click(start_box='[x,y]', element_info='')\n"
	    "hover(start_box='[x,y]', element_info='')\n"
	    "left_double_click(start_box='[x,y]', element_info='')\n"
	    "left_drag(start_box='[x1,y1]', end_box='[x2,y2]', element_info='')\n"
	    "key(keys='') # such as ctrl+c\n"
	    "type(content='') # \\n presses Enter\n"
	    "scroll(start_box='[x,y]', direction='up|down|left|right', step=5, element_info='')\n"
	    "WAIT()\nDONE() # the task is done\nFAIL() # it cannot be done\n\n"
	    "# Answer\n\nSay what you see and what to do next. Then write the action as "
	    "<|begin_of_box|>action<|end_of_box|>. Last, write \"Memory:\" and, on the next line, "
	    "a "
	    "list of what to keep in mind, [] when there is nothing.\n");
}

const struct th_dialect th_dialect_glm = {
	.name = "glm",
	.note = "GLM-4.5V: one call in a box, Memory",
	.prompt = prompt,
	.decode = decode,
	.encode = encode,
	.results_as_user = true,
};
