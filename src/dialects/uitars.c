/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uitars.c - UI-TARS 1.0 and 1.5: a thought and calls in text.
 *
 *	Thought: The button is there.
 *	Action: click(start_box='<|box_start|>(10,20)<|box_end|>')
 *
 * Boxes may be bare, in square brackets or <point> tags.  Several calls follow
 * one another.  `press` of a modifier keeps it down, of another key presses it.
 */
#include "dialects/uitars.h"
#include "actions/keys.h"
#include "dialects/call.h"
#include "dialects/list.h"
#include "dialects/space.h"

#define NOTCHES 5
#define WAIT_MS 5000

/* ---- one call ---- */

enum shape { POINT, PATH, TURN, KEYS, TEXT, NOTHING, LAST, HELP };

struct row {
	const char *word;
	enum shape shape;
	enum th_action_kind kind;
	enum th_button button;
	int32_t count;
};

static const struct row rows[] = {
	{ "click", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 1 },
	{ "left_single", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 1 },
	{ "leftsingle", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 1 },
	{ "left_click", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 1 },
	{ "left_double", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 2 },
	{ "double_click", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 2 },
	{ "doubleclick", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 2 },
	{ "left_triple", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 3 },
	{ "triple_click", POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 3 },
	{ "right_single", POINT, TH_ACTION_CLICK, TH_BUTTON_RIGHT, 1 },
	{ "right_click", POINT, TH_ACTION_CLICK, TH_BUTTON_RIGHT, 1 },
	{ "rightclick", POINT, TH_ACTION_CLICK, TH_BUTTON_RIGHT, 1 },
	{ "rightsingle", POINT, TH_ACTION_CLICK, TH_BUTTON_RIGHT, 1 },
	{ "middle_click", POINT, TH_ACTION_CLICK, TH_BUTTON_MIDDLE, 1 },
	{ "hover", POINT, TH_ACTION_MOVE, TH_BUTTON_LEFT, 0 },
	{ "move", POINT, TH_ACTION_MOVE, TH_BUTTON_LEFT, 0 },
	{ "move_to", POINT, TH_ACTION_MOVE, TH_BUTTON_LEFT, 0 },
	{ "moveto", POINT, TH_ACTION_MOVE, TH_BUTTON_LEFT, 0 },
	{ "mouse_move", POINT, TH_ACTION_MOVE, TH_BUTTON_LEFT, 0 },
	{ "mouse_down", POINT, TH_ACTION_MOUSE_DOWN, TH_BUTTON_LEFT, 0 },
	{ "mouse_up", POINT, TH_ACTION_MOUSE_UP, TH_BUTTON_LEFT, 0 },
	{ "drag", PATH, TH_ACTION_DRAG, TH_BUTTON_LEFT, 0 },
	{ "left_click_drag", PATH, TH_ACTION_DRAG, TH_BUTTON_LEFT, 0 },
	{ "select", PATH, TH_ACTION_DRAG, TH_BUTTON_LEFT, 0 },
	{ "swipe", PATH, TH_ACTION_DRAG, TH_BUTTON_LEFT, 0 },
	{ "scroll", TURN, TH_ACTION_SCROLL, TH_BUTTON_LEFT, 0 },
	{ "hotkey", KEYS, TH_ACTION_KEY, TH_BUTTON_LEFT, 1 },
	{ "press", KEYS, TH_ACTION_KEY, TH_BUTTON_LEFT, 1 },
	{ "press_down", KEYS, TH_ACTION_KEY_DOWN, TH_BUTTON_LEFT, 0 },
	{ "key_down", KEYS, TH_ACTION_KEY_DOWN, TH_BUTTON_LEFT, 0 },
	{ "keydown", KEYS, TH_ACTION_KEY_DOWN, TH_BUTTON_LEFT, 0 },
	{ "press_up", KEYS, TH_ACTION_KEY_UP, TH_BUTTON_LEFT, 0 },
	{ "key_up", KEYS, TH_ACTION_KEY_UP, TH_BUTTON_LEFT, 0 },
	{ "keyup", KEYS, TH_ACTION_KEY_UP, TH_BUTTON_LEFT, 0 },
	{ "release", KEYS, TH_ACTION_KEY_UP, TH_BUTTON_LEFT, 0 },
	{ "release_up", KEYS, TH_ACTION_KEY_UP, TH_BUTTON_LEFT, 0 },
	{ "type", TEXT, TH_ACTION_TYPE, TH_BUTTON_LEFT, 0 },
	{ "wait", NOTHING, TH_ACTION_WAIT, TH_BUTTON_LEFT, 0 },
	{ "take_screenshot", NOTHING, TH_ACTION_SCREENSHOT, TH_BUTTON_LEFT, 0 },
	{ "screenshot", NOTHING, TH_ACTION_SCREENSHOT, TH_BUTTON_LEFT, 0 },
	{ "open_computer", NOTHING, TH_ACTION_SCREENSHOT, TH_BUTTON_LEFT, 0 },
	{ "finished", LAST, TH_ACTION_COUNT, TH_BUTTON_LEFT, 0 },
	{ "finish", LAST, TH_ACTION_COUNT, TH_BUTTON_LEFT, 0 },
	{ "call_user", HELP, TH_ACTION_COUNT, TH_BUTTON_LEFT, 0 },
};

bool th_uitars_knows(struct th_str name)
{
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		if (th_str_ieq(name, th_str_of(rows[i].word)))
			return true;
	return false;
}

static enum th_code read_point(const struct th_dialect_context *c, const struct th_value *v,
			       const char *what, struct th_point *ret, struct th_err *err)
{
	double n[4];
	int count = th_value_numbers(v, n, 4);

	if (!v)
		return th_fail(err, TH_EPROTO, "%s is missing", what);
	if (count != 2 && count != 4)
		return th_fail(err, TH_EPROTO, "%s must be two numbers", what);
	return th_dialect_point(c, n, count, ret, err);
}

static const struct th_value *named(const struct th_text_call *call, const char *names, size_t at)
{
	const struct th_value *v = th_call_get(call, names);

	return v ? v : th_call_at(call, at);
}

static enum th_code read_button(const struct th_text_call *call, struct th_action *ret,
				struct th_err *err)
{
	const struct th_value *v = th_call_get(call, "button");
	int button = th_button_find(th_value_text(v));

	if (!v)
		return TH_OK;
	if (button < 0)
		return th_fail(err, TH_EPROTO, "button must be left, right or middle");
	ret->button = (enum th_button)button;
	return TH_OK;
}

static enum th_code read_pointing(const struct th_dialect_context *c,
				  const struct th_text_call *call, struct th_action *ret,
				  struct th_err *err)
{
	const struct th_value *v = named(call, "start_box|point|start_point|box", 0);
	bool optional = ret->kind == TH_ACTION_MOUSE_DOWN || ret->kind == TH_ACTION_MOUSE_UP;
	enum th_code code;

	if (!v && optional)
		return read_button(call, ret, err);
	ret->has_at = true;
	code = read_point(c, v, "the point", &ret->at, err);
	return code || !optional ? code : read_button(call, ret, err);
}

static enum th_code read_path(const struct th_dialect_context *c, const struct th_text_call *call,
			      struct th_arena *a, struct th_action *ret, struct th_err *err)
{
	enum th_code code;

	ret->path = th_arena_array(a, 2, sizeof(*ret->path));
	if (!ret->path)
		return th_fail(err, TH_EPROTO, "too many drags");
	ret->path_count = 2;
	code = read_point(c, named(call, "start_box|start_point|point", 0), "the drag's start",
			  &ret->path[0], err);
	return code ? code
		    : read_point(c, named(call, "end_box|end_point", 1), "the drag's end",
				 &ret->path[1], err);
}

static enum th_code read_scroll(const struct th_dialect_context *c, const struct th_text_call *call,
				struct th_action *ret, struct th_err *err)
{
	struct th_str way = th_str_trim(th_value_text(th_call_get(call, "direction")));
	const struct th_value *at = th_call_get(call, "start_box|point|start_point");

	if (th_str_ieq(way, TH_STR("up")))
		ret->dy = -NOTCHES;
	else if (th_str_ieq(way, TH_STR("down")))
		ret->dy = NOTCHES;
	else if (th_str_ieq(way, TH_STR("left")))
		ret->dx = -NOTCHES;
	else if (th_str_ieq(way, TH_STR("right")))
		ret->dx = NOTCHES;
	else
		return th_fail(err, TH_EPROTO, "direction must be up, down, left or right");
	ret->has_at = at != NULL;
	return at ? read_point(c, at, "the point", &ret->at, err) : TH_OK;
}

static bool is_modifier(const struct th_action *a)
{
	for (size_t i = 0; i < a->key_count; i++)
		if (!th_keys_is_modifier(th_keys_find(a->keys[i])))
			return false;
	return true;
}

static enum th_code read_keys(const struct th_text_call *call, struct th_action *ret,
			      struct th_err *err)
{
	const struct th_value *v = named(call, "key|keys|hotkey", 0);
	enum th_code code = TH_OK;

	if (!v)
		return th_fail(err, TH_EPROTO, "key is missing");
	if (v->kind == TH_VALUE_LIST) {
		for (size_t i = 0; !code && i < v->count; i++)
			code = th_dialect_keys(v->items[i].text, ret, err);
	} else {
		code = th_dialect_keys(v->text, ret, err);
	}
	if (!code && th_str_ieq(call->name, TH_STR("press")) && is_modifier(ret)) {
		ret->kind = TH_ACTION_KEY_DOWN;
		ret->count = 0;
	}
	return code;
}

enum th_code th_uitars_word(const struct th_dialect_context *c, const struct th_text_call *call,
			    struct th_arena *a, struct th_word *ret, struct th_err *err)
{
	const struct th_value *content = named(call, "content|text", 0);
	const struct row *row = NULL;
	double seconds = WAIT_MS / 1000.0;
	enum th_code code = TH_OK;

	*ret = (struct th_word){ 0 };
	for (size_t i = 0; i < TH_COUNT(rows) && !row; i++)
		if (th_str_ieq(call->name, th_str_of(rows[i].word)))
			row = &rows[i];
	if (!row)
		return th_fail(err, TH_EPROTO, "there is no action %.*s()", TH_FMT(call->name));
	ret->action.kind = row->kind;
	ret->action.button = row->button;
	ret->action.count = row->count;
	switch (row->shape) {
	case POINT:
		code = read_pointing(c, call, &ret->action, err);
		break;
	case PATH:
		code = read_path(c, call, a, &ret->action, err);
		break;
	case TURN:
		code = read_scroll(c, call, &ret->action, err);
		break;
	case KEYS:
		code = read_keys(call, &ret->action, err);
		break;
	case TEXT:
		ret->action.text = th_value_text(content);
		if (!content)
			code = th_fail(err, TH_EPROTO, "content is missing");
		break;
	case NOTHING:
		if (row->kind == TH_ACTION_WAIT) {
			(void)th_value_number(named(call, "time|duration", 0), &seconds);
			ret->action.duration_ms =
			    (int32_t)(TH_MAX(TH_MIN(seconds, 86400.0), 0.0) * 1000 + 0.5);
		}
		break;
	case LAST:
		ret->verb = TH_VERB_END;
		ret->text = th_value_text(content);
		break;
	case HELP:
		ret->verb = TH_VERB_ASK;
		ret->text = th_value_text(content);
		break;
	}
	return code ? th_prefix(err, code, "%s", row->word) : TH_OK;
}

/* ---- what can be said ---- */

const char *th_uitars_word_of(const struct th_action *a)
{
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		if (rows[i].kind == a->kind && rows[i].shape != LAST && rows[i].shape != HELP &&
		    (a->kind != TH_ACTION_CLICK ||
		     (rows[i].button == a->button && rows[i].count == a->count)))
			return rows[i].word;
	return NULL;
}

const char *th_uitars_direction(const struct th_action *a)
{
	return a->dy ? (a->dy > 0 ? "down" : "up") : (a->dx > 0 ? "right" : "left");
}

/* "ctrl + c" is two keys. */
struct th_str th_uitars_key(struct th_str key)
{
	return th_str_is(key, "+") ? TH_STR("plus") : key;
}

static bool plain_keys(const struct th_action *a)
{
	for (size_t i = 0; i < a->key_count; i++) {
		struct th_str key = a->keys[i];

		if (!key.len || th_str_trim(key).len != key.len ||
		    th_str_find_char(key, ' ') >= 0 || th_str_find_char(key, '<') >= 0 ||
		    (key.len > 1 && th_str_find_char(key, '+') >= 0))
			return false;
	}
	return true;
}

const char *th_uitars_unsayable(const struct th_action *a)
{
	bool one = (a->dx == 0) != (a->dy == 0);

	if (!th_uitars_word_of(a))
		return "it is not in the vocabulary";
	if (!plain_keys(a))
		return "a key of this name";
	switch (a->kind) {
	case TH_ACTION_CLICK:
	case TH_ACTION_MOVE:
		return !a->has_at ? "it must have a point" : a->key_count ? "no keys held" : NULL;
	case TH_ACTION_DRAG:
		return a->path_count != 2 || a->button != TH_BUTTON_LEFT || a->duration_ms ||
			       a->key_count
			   ? "from one point to another with the left button only"
			   : NULL;
	case TH_ACTION_SCROLL:
		return a->unit != TH_SCROLL_NOTCH || !one || a->key_count ||
			       (a->dx + a->dy != NOTCHES && a->dx + a->dy != -NOTCHES)
			   ? "five notches in one direction only"
			   : NULL;
	case TH_ACTION_TYPE:
		return a->has_at || a->clear ? "text only" : NULL;
	case TH_ACTION_KEY:
		return a->count > 1 ? "pressed once only" : NULL;
	case TH_ACTION_WAIT:
	case TH_ACTION_SCREENSHOT:
	case TH_ACTION_MOUSE_DOWN:
	case TH_ACTION_MOUSE_UP:
	case TH_ACTION_KEY_DOWN:
	case TH_ACTION_KEY_UP:
	case TH_ACTION_HOLD_KEY:
	case TH_ACTION_ZOOM:
	case TH_ACTION_CURSOR_POSITION:
	case TH_ACTION_CLIPBOARD_GET:
	case TH_ACTION_CLIPBOARD_SET:
	case TH_ACTION_COUNT:
		break;
	}
	return NULL;
}

/* ---- the whole text ---- */

static const char *const labels[] = { "Thought:",  "Reflection:",  "Action_Summary:",  "Action:",
				      "Thought：", "Reflection：", "Action_Summary：", "Action：" };
#define ACTION 3 /* and the one of its fourth */

/* The label at the start of `s`, or -1. */
static int label_at(struct th_str s, size_t *ret_len)
{
	for (size_t i = 0; i < TH_COUNT(labels); i++)
		if (th_str_starts(s, th_str_of(labels[i]))) {
			*ret_len = strlen(labels[i]);
			return (int)(i % 4);
		}
	return -1;
}

/* What stands before the next label that begins a line; it and what follows stay in *s. */
static struct th_str take_part(struct th_str *s)
{
	struct th_str rest = *s, part;
	size_t len;

	while (rest.len) {
		struct th_str line = rest;

		while (line.len && (line.ptr[0] == ' ' || line.ptr[0] == '\t'))
			line = th_str_sub(line, 1, line.len);
		if (label_at(line, &len) >= 0) {
			rest = line;
			break;
		}
		th_str_split(&rest, '\n');
	}
	part = th_str_sub(*s, 0, s->len - rest.len);
	*s = rest;
	return part;
}

/* Calls until something else stands there; what is left stays in *s. */
static void say_calls(struct th_say *say, struct th_str *s)
{
	struct th_text_call call;
	struct th_word word;
	struct th_err err = { 0 };
	enum th_code code;

	do {
		struct th_str from;

		*s = th_str_trim(*s);
		while (s->len && (s->ptr[0] == ';' || s->ptr[0] == '`'))
			*s = th_str_sub(*s, 1, s->len);
		from = *s;
		code = th_call_read(s, say->a, &call, &err);
		if (!code)
			code = th_uitars_word(say->c, &call, say->a, &word, &err);
		if (!code)
			code = th_say_word(say, &word, &err);
		if (code) {
			th_say_error(say, from, err.msg);
			*s = (struct th_str){ NULL, 0 };
		}
	} while (!code && th_call_begins(s));
}

static struct th_str strip(struct th_str s, const char *open, const char *close)
{
	s = th_str_trim(s);
	if (!th_str_starts(s, th_str_of(open)))
		return s;
	s = th_str_trim(th_str_sub(s, strlen(open), s.len));
	if (th_str_ends(s, th_str_of(close)))
		s = th_str_sub(s, 0, s.len - strlen(close));
	return th_str_trim(s);
}

/* "<think>…</think>" and what the desktop application's models put around actions. */
static struct th_str unwrap(struct th_say *say, struct th_str s)
{
	ptrdiff_t end = th_str_find(s, TH_STR("</think>"));

	s = th_str_trim(s);
	end = th_str_find(s, TH_STR("</think>"));
	if (th_str_starts(s, TH_STR("<think>")) && end >= 0) {
		th_say_reasoning(say, th_str_sub(s, 7, (size_t)end - 7));
		s = th_str_trim(th_str_sub(s, (size_t)end + 8, s.len));
	}
	return strip(s, "<computer_env>", "</computer_env>");
}

static void say_text(struct th_say *say, struct th_str text)
{
	struct th_str s = unwrap(say, text), part;
	bool labelled = false, acted = false;
	size_t len = 0;

	if (th_str_starts(s, TH_STR("<answer>"))) {
		struct th_word last = { .verb = TH_VERB_END,
					.text = strip(s, "<answer>", "</answer>") };

		if (th_say_word(say, &last, NULL)) /* texts are never refused */
			th_say_text(say, text);
		return;
	}
	part = take_part(&s);
	if (th_call_begins(&part)) { /* a call without its label */
		ptrdiff_t open = th_str_find_char(part, '(');

		if (th_uitars_knows(th_str_trim(th_str_sub(part, 0, (size_t)open)))) {
			say_calls(say, &part);
			acted = true;
			part = TH_STR("");
		}
	}
	th_say_text(say, part);
	while (s.len) {
		int label = label_at(s, &len);

		labelled = true;
		s = th_str_sub(s, len, s.len);
		if (label == ACTION) {
			say_calls(say, &s); /* a label inside a text is not one */
			acted = true;
			th_say_text(say, take_part(&s));
		} else {
			if (acted)
				break; /* it goes on without having looked */
			th_say_reasoning(say, take_part(&s));
		}
	}
	if (labelled && !acted)
		th_say_error(say, text, "there is no line that begins with \"Action:\"");
}

/* ---- decode ---- */

static enum th_code decode(const struct th_dialect_context *c, struct th_str items,
			   struct th_buf *out, struct th_err *err)
{
	return th_dialect_each(c, items, say_text, NULL,
			       "the answer was empty: write \"Thought: …\" and \"Action: …\"", out,
			       err);
}

/* ---- encode ---- */

static void put_box(const struct th_dialect_context *c, const char *name, struct th_point p,
		    struct th_buf *out)
{
	struct th_space_point at = th_dialect_place(c, p);
	bool tokens = !strcmp(c->profile->dialect->name, "uitars");

	th_buf_printf(out,
		      tokens ? "%s='<|box_start|>(%.10g,%.10g)<|box_end|>'" : "%s='(%.10g,%.10g)'",
		      name, at.x, at.y);
}

static enum th_code put_call(const struct th_dialect_context *c, const struct th_action *a,
			     struct th_buf *out, struct th_err *err)
{
	const char *why = th_uitars_unsayable(a), *word = th_uitars_word_of(a);

	if (!why && (a->kind == TH_ACTION_MOUSE_DOWN || a->kind == TH_ACTION_MOUSE_UP))
		why = "it is not in the vocabulary";
	if (!why && a->kind == TH_ACTION_WAIT && a->duration_ms != WAIT_MS)
		why = "five seconds only";
	if (why)
		return th_fail(err, TH_EUNSUPPORTED, "UI-TARS has no word for %s: %s",
			       th_action_name(a->kind), why);
	th_buf_printf(out, "%s(", word);
	if (a->has_at) {
		put_box(c, "start_box", a->at, out);
		th_buf_add_cstr(out, a->kind == TH_ACTION_SCROLL ? ", " : "");
	}
	if (a->kind == TH_ACTION_DRAG) {
		put_box(c, "start_box", a->path[0], out);
		th_buf_add_cstr(out, ", ");
		put_box(c, "end_box", a->path[1], out);
	} else if (a->kind == TH_ACTION_SCROLL) {
		th_buf_printf(out, "direction='%s'", th_uitars_direction(a));
	} else if (a->kind == TH_ACTION_TYPE) {
		th_buf_add_cstr(out, "content='");
		th_call_quote(out, a->text);
		th_buf_add_cstr(out, a->enter ? "\\n'" : "'");
	} else if (a->key_count) {
		th_buf_add_cstr(out, "key='");
		for (size_t i = 0; i < a->key_count; i++) {
			th_buf_add_cstr(out, i ? " " : "");
			th_call_quote(out, th_uitars_key(a->keys[i]));
		}
		th_buf_add_char(out, '\'');
	}
	th_buf_add_char(out, ')');
	return TH_OK;
}

static enum th_code write_text(const struct th_dialect_context *c, const struct th_said *said,
			       struct th_buf *out, struct th_err *err)
{
	enum th_code code = TH_OK;

	if (said->thought.len)
		th_buf_printf(out, "Thought: %.*s\n", TH_FMT(said->thought));
	if (!said->count && !said->outcome) {
		th_buf_add(out, said->text);
		return TH_OK;
	}
	if (said->count && said->text.len)
		th_buf_printf(out, "%s%.*s\n",
			      said->thought.len ? "" : "Thought: ", TH_FMT(said->text));
	th_buf_add_cstr(out, "Action: ");
	for (size_t i = 0; !code && i < said->count; i++) {
		th_buf_add_cstr(out, i ? "\n\n" : "");
		code = put_call(c, &said->actions[i], out, err);
	}
	if (!code && said->outcome) {
		bool ask = !strcmp(said->outcome, TH_DIALECT_NEEDS_USER);

		th_buf_printf(out, "%s%s(content='", said->count ? "\n\n" : "",
			      ask ? "call_user" : "finished");
		th_call_quote(out, said->outcome_text);
		th_buf_add_cstr(out, "')");
	}
	return code;
}

static enum th_code encode(const struct th_dialect_context *c, struct th_str items,
			   struct th_buf *out, struct th_err *err)
{
	return th_dialect_write(c, items, write_text, out, err);
}

static const char *box_form(const struct th_dialect_context *c)
{
	return strcmp(c->profile->dialect->name, "uitars") ? "(x,y)"
							   : "<|box_start|>(x,y)<|box_end|>";
}

static void prompt(const struct th_dialect_context *c, struct th_buf *out)
{
	const char *box = box_form(c);

	th_buf_printf(out,
		      "You are a GUI agent. You are given a task and your action history, with "
		      "screenshots. You need to perform the next action to complete the task.\n\n"
		      "## Output Format\n```\nThought: ...\nAction: ...\n```\n\n## Action Space\n\n"
		      "click(start_box='%s')\nleft_double(start_box='%s')\n"
		      "right_single(start_box='%s')\nhover(start_box='%s')\n"
		      "drag(start_box='%s', end_box='%s')\nhotkey(key='')\n",
		      box, box, box, box, box, box);
	th_buf_printf(
	    out,
	    "type(content='') # Use \\n at the end of content to press Enter.\n"
	    "scroll(start_box='%s', direction='down or up or right or left')\n"
	    "wait() # Sleep for 5 seconds and take a screenshot to see what changed.\n"
	    "finished(content='xxx') # The task is done; say what came of it.\n"
	    "call_user() # The task cannot be done without the user.\n\n"
	    "## Note\n- Use English in `Thought`.\n- In `Thought`, say your plan and, in one "
	    "sentence, your next action and its target.\n",
	    box);
}

const struct th_dialect th_dialect_uitars = {
	.name = "uitars",
	.note = "UI-TARS 1.0: Thought and Action, boxes in tokens",
	.prompt = prompt,
	.decode = decode,
	.encode = encode,
	.results_as_user = true,
};

const struct th_dialect th_dialect_uitars15 = {
	.name = "uitars15",
	.note = "UI-TARS 1.5: Thought and Action",
	.prompt = prompt,
	.decode = decode,
	.encode = encode,
	.results_as_user = true,
};
