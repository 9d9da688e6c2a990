/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/computer_verbs.h"

#include <unistd.h>

#include "base/text.h"
#include "io/files.h"

static struct th_action *add(struct th_computer_call *c, enum th_action_kind kind)
{
	struct th_action *action = &c->actions[c->count++];

	assert(c->count <= TH_ACTIONS_MAX);
	*action = (struct th_action){ .kind = kind };
	return action;
}

/* ---- operands ---- */

static enum th_code number(struct th_computer_call *c, struct th_str text, const char *what,
			   int32_t *ret)
{
	int64_t n;

	if (!th_str_i64(text, &n) || n < INT32_MIN || n > INT32_MAX)
		return th_fail(c->err, TH_EUSAGE, "%s must be a whole number, not \"%.*s\"", what,
			       TH_FMT(th_utf8_cut(text, TH_NAME_NEAR_MAX)));
	*ret = (int32_t)n;
	return TH_OK;
}

static enum th_code point(struct th_computer_call *c, int index, struct th_point *ret)
{
	enum th_code code = number(c, th_str_of(c->operands.list[index]), "X", &ret->x);

	return code == TH_OK ? number(c, th_str_of(c->operands.list[index + 1]), "Y", &ret->y)
			     : code;
}

/* None or two operands. */
static enum th_code place(struct th_computer_call *c, struct th_action *action)
{
	if (c->operands.count == 0)
		return TH_OK;
	if (c->operands.count != 2)
		return th_fail(c->err, TH_EUSAGE, "a point is two numbers, X and Y");
	action->has_at = true;
	return point(c, 0, &action->at);
}

static enum th_code at_option(struct th_computer_call *c, struct th_action *action)
{
	struct th_str y = c->o->at, x = th_str_split(&y, ',');
	enum th_code code;

	if (!c->o->at.ptr)
		return TH_OK;
	action->has_at = true;
	code = number(c, th_str_trim(x), "X of --at", &action->at.x);
	return code == TH_OK ? number(c, th_str_trim(y), "Y of --at", &action->at.y) : code;
}

static enum th_code button_option(struct th_computer_call *c, struct th_action *action)
{
	int button = c->o->button.ptr ? th_button_find(c->o->button) : (int)action->button;

	if (button < 0)
		return th_fail(
		    c->err, TH_EUSAGE,
		    "--button must be left, right, middle, back or forward, not \"%.*s\"",
		    TH_FMT(th_utf8_cut(c->o->button, TH_NAME_NEAR_MAX)));
	action->button = (enum th_button)button;
	return TH_OK;
}

static void keys_option(struct th_computer_call *c, struct th_action *action)
{
	if (c->o->keys.ptr) {
		action->keys[0] = c->o->keys;
		action->key_count = 1;
	}
}

/* Text that may be "-": standard input. */
static enum th_code text_of(struct th_computer_call *c, const char *operand, size_t size_max,
			    struct th_str *ret)
{
	struct th_buf in TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(size_max);
	enum th_code code;

	*ret = th_str_of(operand);
	if (strcmp(operand, "-") != 0)
		return TH_OK;
	code = th_file_read_fd(STDIN_FILENO, size_max, &in, c->err);
	*ret = th_arena_str(c->a, th_buf_str(&in));
	if (code == TH_OK && !ret->ptr)
		code = th_fail(c->err, TH_ELIMIT, "the text is too long");
	return code;
}

/* ---- verbs ---- */

static enum th_code build_see(struct th_computer_call *c)
{
	c->screenshot = true;
	return TH_OK;
}

static enum th_code build_tree(struct th_computer_call *c)
{
	c->tree = true;
	return TH_OK;
}

static enum th_code build_click(struct th_computer_call *c)
{
	const struct th_computer_verb *v = c->verb;
	struct th_action *action = add(c, v->kind);
	enum th_code code;

	action->button = v->button;
	action->count = c->o->count >= 0 ? (int32_t)TH_MIN(c->o->count, INT32_MAX) : v->clicks;
	keys_option(c, action);
	code = button_option(c, action);
	return code == TH_OK ? place(c, action) : code;
}

static enum th_code build_move(struct th_computer_call *c)
{
	struct th_action *action = add(c, TH_ACTION_MOVE);

	keys_option(c, action);
	return place(c, action);
}

static enum th_code build_drag(struct th_computer_call *c)
{
	struct th_action *action = add(c, TH_ACTION_DRAG);
	size_t count = (size_t)c->operands.count / 2;
	enum th_code code = button_option(c, action);

	if (c->operands.count % 2 || count > TH_DRAG_POINTS_MAX)
		return th_fail(c->err, TH_EUSAGE, "drag needs points, X Y X Y …, at most %d",
			       TH_DRAG_POINTS_MAX);
	action->path = th_arena_array(c->a, count, sizeof(*action->path));
	if (!action->path)
		return th_fail(c->err, TH_ELIMIT, "too many points");
	action->path_count = count;
	for (size_t i = 0; i < count && code == TH_OK; i++)
		code = point(c, (int)i * 2, &action->path[i]);
	action->duration_ms = c->o->duration >= 0 ? (int32_t)TH_MIN(c->o->duration, INT32_MAX) : 0;
	keys_option(c, action);
	return code;
}

static enum th_code build_scroll(struct th_computer_call *c)
{
	static const char *const ways[] = { "up", "down", "left", "right", NULL };
	struct th_action *action = add(c, TH_ACTION_SCROLL);
	int way = th_names_find(ways, th_str_of(c->operands.list[0]));
	int32_t n = c->o->pixels ? 100 : 3;
	enum th_code code = TH_OK;

	if (way < 0)
		return th_fail(c->err, TH_EUSAGE,
			       "scroll needs a direction: up, down, left or right");
	if (c->operands.count > 1)
		code = number(c, th_str_of(c->operands.list[1]), "N", &n);
	if (way < 2)
		action->dy = way == 0 ? -n : n;
	else
		action->dx = way == 2 ? -n : n;
	action->unit = c->o->pixels ? TH_SCROLL_PIXEL : TH_SCROLL_NOTCH;
	keys_option(c, action);
	return code == TH_OK ? at_option(c, action) : code;
}

static enum th_code build_type(struct th_computer_call *c)
{
	struct th_action *action = add(c, TH_ACTION_TYPE);
	enum th_code code = text_of(c, c->operands.list[0], TH_TYPE_TEXT_MAX, &action->text);

	action->enter = c->o->enter;
	action->clear = c->o->clear;
	return code == TH_OK ? at_option(c, action) : code;
}

static enum th_code build_keys(struct th_computer_call *c)
{
	const struct th_computer_verb *v = c->verb;

	if (c->operands.count > TH_ACTIONS_MAX)
		return th_fail(c->err, TH_EUSAGE, "at most %d chords at a time", TH_ACTIONS_MAX);
	for (int i = 0; i < c->operands.count; i++) {
		struct th_action *action = add(c, v->kind);

		action->keys[0] = th_str_of(c->operands.list[i]);
		action->key_count = 1;
		if (v->kind == TH_ACTION_KEY)
			action->count =
			    c->o->count >= 0 ? (int32_t)TH_MIN(c->o->count, INT32_MAX) : 1;
		if (v->kind == TH_ACTION_HOLD_KEY && c->o->duration >= 0)
			action->duration_ms = (int32_t)TH_MIN(c->o->duration, INT32_MAX);
	}
	return TH_OK;
}

static enum th_code build_wait(struct th_computer_call *c)
{
	struct th_action *action = add(c, TH_ACTION_WAIT);

	return c->operands.count
		   ? number(c, th_str_of(c->operands.list[0]), "MS", &action->duration_ms)
		   : TH_OK;
}

static enum th_code build_zoom(struct th_computer_call *c)
{
	struct th_action *action = add(c, TH_ACTION_ZOOM);
	int32_t *cells[] = { &action->region.x, &action->region.y, &action->region.width,
			     &action->region.height };
	static const char *const names[] = { "X", "Y", "WIDTH", "HEIGHT" };
	enum th_code code = TH_OK;

	for (size_t i = 0; i < TH_COUNT(cells) && code == TH_OK; i++)
		code = number(c, th_str_of(c->operands.list[i]), names[i], cells[i]);
	return code;
}

static enum th_code build_cursor(struct th_computer_call *c)
{
	add(c, TH_ACTION_CURSOR_POSITION);
	return TH_OK;
}

static enum th_code build_clipboard(struct th_computer_call *c)
{
	struct th_action *action;

	if (c->operands.count == 0) {
		add(c, TH_ACTION_CLIPBOARD_GET);
		return TH_OK;
	}
	action = add(c, TH_ACTION_CLIPBOARD_SET);
	return text_of(c, c->operands.list[0], TH_CLIPBOARD_MAX, &action->text);
}

static enum th_code build_do(struct th_computer_call *c)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *root;
	struct th_str text;
	enum th_code code = text_of(c, c->operands.list[0], TH_COMPUTER_ACTIONS_SIZE_MAX, &text);

	if (code == TH_OK)
		code = th_json_parse(text, &doc, c->err);
	if (code != TH_OK)
		return th_prefix(c->err, code, "the actions");
	root = th_json_root(doc);
	if (th_json_is_object(root) && th_json_get(root, "actions"))
		root = th_json_get(root, "actions");
	if (th_json_count(root) > TH_ACTIONS_MAX && th_json_is_array(root))
		return th_fail(c->err, TH_EUSAGE, "at most %d actions at a time", TH_ACTIONS_MAX);
	if (th_json_is_object(root))
		return th_action_parse(root, c->a, add(c, TH_ACTION_WAIT), c->err);
	for (struct th_json_iter it = th_json_iter(root); code == TH_OK && th_json_next(&it);)
		code = th_action_parse(it.val, c->a, add(c, TH_ACTION_WAIT), c->err);
	return code;
}

static const struct th_computer_verb verbs[] = {
	{ "see", "", 0, 0, "output format quality fit pointer settle", build_see, 0, 0, 0 },
	{ "tree", "", 0, 0, "settle", build_tree, 0, 0, 0 },
	{ "zoom", "X Y WIDTH HEIGHT", 4, 4, "output format quality", build_zoom, 0, 0, 0 },
	{ "click", "[X Y]", 0, 2, "button count keys", build_click, TH_ACTION_CLICK, TH_BUTTON_LEFT,
	  1 },
	{ "double-click", "[X Y]", 0, 2, "button keys", build_click, TH_ACTION_CLICK,
	  TH_BUTTON_LEFT, 2 },
	{ "triple-click", "[X Y]", 0, 2, "button keys", build_click, TH_ACTION_CLICK,
	  TH_BUTTON_LEFT, 3 },
	{ "right-click", "[X Y]", 0, 2, "keys", build_click, TH_ACTION_CLICK, TH_BUTTON_RIGHT, 1 },
	{ "middle-click", "[X Y]", 0, 2, "keys", build_click, TH_ACTION_CLICK, TH_BUTTON_MIDDLE,
	  1 },
	{ "move", "X Y", 2, 2, "keys", build_move, 0, 0, 0 },
	{ "press", "[X Y]", 0, 2, "button", build_click, TH_ACTION_MOUSE_DOWN, TH_BUTTON_LEFT, 0 },
	{ "release", "[X Y]", 0, 2, "button", build_click, TH_ACTION_MOUSE_UP, TH_BUTTON_LEFT, 0 },
	{ "drag", "X Y X Y …", 4, -1, "button keys duration", build_drag, 0, 0, 0 },
	{ "scroll", "up|down|left|right [N]", 1, 2, "at keys pixels", build_scroll, 0, 0, 0 },
	{ "type", "TEXT|-", 1, 1, "at enter clear", build_type, 0, 0, 0 },
	{ "key", "CHORD …", 1, -1, "count", build_keys, TH_ACTION_KEY, 0, 0 },
	{ "key-down", "KEY …", 1, -1, "", build_keys, TH_ACTION_KEY_DOWN, 0, 0 },
	{ "key-up", "KEY …", 1, -1, "", build_keys, TH_ACTION_KEY_UP, 0, 0 },
	{ "hold", "CHORD", 1, 1, "duration", build_keys, TH_ACTION_HOLD_KEY, 0, 0 },
	{ "wait", "[MS]", 0, 1, "", build_wait, 0, 0, 0 },
	{ "cursor", "", 0, 0, "", build_cursor, 0, 0, 0 },
	{ "clipboard", "[TEXT|-]", 0, 1, "", build_clipboard, 0, 0, 0 },
	{ "do", "JSON|-", 1, 1, "output format quality fit pointer settle", build_do, 0, 0, 0 },
	{ "shell", "COMMAND", 1, 1, "timeout", NULL, 0, 0, 0 },
	{ "size", "", 0, 0, "", NULL, 0, 0, 0 },
	{ "end", "", 0, 0, "", NULL, 0, 0, 0 },
};

_Static_assert(TH_COUNT(verbs) < TH_COMPUTER_VERBS_MAX, "and the NULL behind");

const struct th_computer_verb *th_computer_verb_find(struct th_str name)
{
	for (size_t i = 0; i < TH_COUNT(verbs); i++)
		if (th_str_is(name, verbs[i].name))
			return &verbs[i];
	return NULL;
}

void th_computer_verb_names(const char *names[static TH_COMPUTER_VERBS_MAX])
{
	for (size_t i = 0; i < TH_COUNT(verbs); i++)
		names[i] = verbs[i].name;
	names[TH_COUNT(verbs)] = NULL;
}
