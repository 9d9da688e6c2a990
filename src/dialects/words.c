/* SPDX-License-Identifier: Apache-2.0 */
#include "dialects/words.h"

#include "base/text.h"
#include "dialects/space.h"

#define NOTCHES 5 /* a scroll that says no amount */
#define NOTCHES_ANTHROPIC 3
#define WORD_SHOWN_MAX 40

/* ---- words ---- */

struct row {
	const char *word;
	enum th_verb verb;
	enum th_action_kind kind;
	int button, count; /* button -1: the member's; count 0: the member's, else 1 */
	const char *name;  /* of a browser's */
};

#define ACT(word, kind)                                             \
	{                                                           \
		word, TH_VERB_ACTION, TH_ACTION_##kind, -1, 0, NULL \
	}
#define CLICK(word, button, count)                                                     \
	{                                                                              \
		word, TH_VERB_ACTION, TH_ACTION_CLICK, TH_BUTTON_##button, count, NULL \
	}
#define PRESS(word, kind, button)                                                   \
	{                                                                           \
		word, TH_VERB_ACTION, TH_ACTION_##kind, TH_BUTTON_##button, 0, NULL \
	}
#define WEB(word, name)                                            \
	{                                                          \
		word, TH_VERB_BROWSER, TH_ACTION_COUNT, 0, 0, name \
	}
#define VERB(word, verb)                                          \
	{                                                         \
		word, TH_VERB_##verb, TH_ACTION_COUNT, 0, 0, NULL \
	}

static const struct row rows[] = {
	ACT("click", CLICK),
	ACT("tap", CLICK),
	CLICK("left_click", LEFT, 1),
	CLICK("left_single", LEFT, 1),
	CLICK("click_absolute", LEFT, 1),
	CLICK("right_click", RIGHT, 1),
	CLICK("right_single", RIGHT, 1),
	CLICK("middle_click", MIDDLE, 1),
	CLICK("wheel_click", MIDDLE, 1),
	CLICK("back_click", BACK, 1),
	CLICK("forward_click", FORWARD, 1),
	{ "double_click", TH_VERB_ACTION, TH_ACTION_CLICK, -1, 2, NULL },
	{ "dblclick", TH_VERB_ACTION, TH_ACTION_CLICK, -1, 2, NULL },
	CLICK("left_double", LEFT, 2),
	CLICK("left_double_click", LEFT, 2),
	{ "triple_click", TH_VERB_ACTION, TH_ACTION_CLICK, -1, 3, NULL },
	CLICK("left_triple_click", LEFT, 3),
	ACT("move", MOVE),
	ACT("mouse_move", MOVE),
	ACT("move_cursor", MOVE),
	ACT("move_to", MOVE),
	ACT("hover", MOVE),
	ACT("drag", DRAG),
	ACT("drag_and_drop", DRAG),
	ACT("swipe", DRAG),
	PRESS("left_click_drag", DRAG, LEFT),
	PRESS("left_drag", DRAG, LEFT),
	PRESS("right_click_drag", DRAG, RIGHT),
	ACT("scroll", SCROLL),
	ACT("hscroll", SCROLL),
	ACT("type", TYPE),
	ACT("type_text", TYPE),
	ACT("write", TYPE),
	ACT("input_text", TYPE),
	ACT("key", KEY),
	ACT("keypress", KEY),
	ACT("key_press", KEY),
	ACT("hotkey", KEY),
	ACT("press", KEY),
	ACT("key_combination", KEY),
	ACT("key_down", KEY_DOWN),
	ACT("press_down", KEY_DOWN),
	ACT("keydown", KEY_DOWN),
	ACT("key_up", KEY_UP),
	ACT("press_up", KEY_UP),
	ACT("keyup", KEY_UP),
	ACT("release", KEY_UP),
	ACT("hold_key", HOLD_KEY),
	PRESS("left_mouse_down", MOUSE_DOWN, LEFT),
	PRESS("left_mouse_up", MOUSE_UP, LEFT),
	ACT("mouse_down", MOUSE_DOWN),
	ACT("mouse_up", MOUSE_UP),
	ACT("wait", WAIT),
	ACT("sleep", WAIT),
	ACT("screenshot", SCREENSHOT),
	ACT("take_screenshot", SCREENSHOT),
	ACT("zoom", ZOOM),
	ACT("cursor_position", CURSOR_POSITION),
	ACT("clipboard_get", CLIPBOARD_GET),
	ACT("clipboard_set", CLIPBOARD_SET),
	VERB("terminate", END),
	VERB("finished", END),
	VERB("finish", END),
	VERB("done", END),
	VERB("answer", END),
	VERB("call_user", ASK),
	VERB("ask_user", ASK),
	VERB("interact", ASK),
	VERB("pause_and_memorize_fact", REMEMBER),
	VERB("remember", REMEMBER),
	VERB("memorize", REMEMBER),
	WEB("visit_url", "goto"),
	WEB("goto_url", "goto"),
	WEB("goto", "goto"),
	WEB("navigate", "goto"),
	WEB("web_search", "search"),
	WEB("search", "search"),
	WEB("history_back", "back"),
	WEB("go_back", "back"),
	WEB("back", "back"),
	WEB("go_forward", "forward"),
	WEB("forward", "forward"),
	WEB("refresh", "reload"),
	WEB("reload", "reload"),
};

static const struct row *find_word(struct th_str word)
{
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		if (th_str_ieq(word, th_str_of(rows[i].word)))
			return &rows[i];
	return NULL;
}

bool th_words_is_function(struct th_str name)
{
	return th_str_is(name, "computer") || th_str_is(name, "computer_use") ||
	       th_str_is(name, "computer_use_tool") || th_str_is(name, "browser_use");
}

/* ---- members ---- */

/* The first of `names` ("text|content") that is there and not null. */
static const struct th_json *member(const struct th_json *args, const char *names)
{
	struct th_str rest = th_str_of(names);

	while (rest.len) {
		const struct th_json *v = th_json_getn(args, th_str_split(&rest, '|'));

		if (!th_json_is_null(v))
			return v;
	}
	return NULL;
}

/* Also where it is null: the model wrote it. */
static bool written(const struct th_json *args, const char *names)
{
	struct th_str rest = th_str_of(names);

	while (rest.len)
		if (th_json_getn(args, th_str_split(&rest, '|')))
			return true;
	return false;
}

/* A number, or its text. */
static bool number_of(const struct th_json *v, double *ret)
{
	enum th_json_type type = th_json_type(v);

	if (type == TH_JSON_STR)
		return th_str_f64(th_str_trim(th_json_str(v)), ret);
	if (type != TH_JSON_INT && type != TH_JSON_REAL)
		return false;
	*ret = th_json_num(v, 0);
	return true;
}

/* TH_OK without a member; *ret is then untouched. */
static enum th_code take_number(const struct th_json *args, const char *names, double *ret,
				struct th_err *err)
{
	const struct th_json *v = member(args, names);
	struct th_str rest = th_str_of(names), first = th_str_split(&rest, '|');

	if (!v || number_of(v, ret))
		return TH_OK;
	return th_fail(err, TH_EPROTO, "%.*s must be a number, not %s", TH_FMT(first),
		       th_json_type_name(th_json_type(v)));
}

static int32_t whole(double v, int32_t max)
{
	if (!(v > -(double)max))
		return -max;
	return v >= (double)max ? max : (int32_t)(v < 0 ? v - 0.5 : v + 0.5);
}

static bool flag(const struct th_json *args, const char *names)
{
	const struct th_json *v = member(args, names);

	return th_json_bool(v, false) || th_str_ieq(th_json_str(v), TH_STR("true"));
}

/* A string; anything else as its JSON text. */
static struct th_str text_of(const struct th_json *v, struct th_arena *a)
{
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_str copy;

	if (th_json_type(v) == TH_JSON_STR)
		return th_json_str(v);
	if (!v)
		return TH_STR("");
	th_json_print(v, &text);
	copy = th_arena_str(a, th_buf_str(&text));
	th_buf_deinit(&text);
	return copy;
}

/* [1, 2], {"x":1,"y":2}, "[1, 2]", "<point>1 2</point>"; a list of such lists is one list. */
static int numbers_of(const struct th_json *v, double *ret, int max)
{
	struct th_json_iter it = th_json_iter(v);
	int count = 0;

	if (th_json_type(v) == TH_JSON_STR)
		return th_dialect_numbers(th_json_str(v), ret, max);
	if (th_json_is_object(v)) {
		if (max < 2 || !number_of(th_json_get(v, "x"), &ret[0]) ||
		    !number_of(th_json_get(v, "y"), &ret[1]))
			return -1;
		return 2;
	}
	if (!th_json_is_array(v))
		return -1;
	while (th_json_next(&it)) {
		int more = 1;

		if (count == max)
			return -1;
		if (th_json_is_array(it.val))
			more = numbers_of(it.val, ret + count, max - count);
		else if (!number_of(it.val, &ret[count]))
			return -1;
		if (more < 0)
			return -1;
		count += more;
	}
	return count;
}

static enum th_code take_list_point(const struct th_dialect_context *c, const struct th_json *v,
				    const char *what, struct th_point *ret, struct th_err *err)
{
	double n[4];
	int count = numbers_of(v, n, 4);

	if (count != 2 && count != 4)
		return th_fail(err, TH_EPROTO, "%s must be two numbers, [x, y]", what);
	return th_dialect_point(c, n, count, ret, err);
}

/* `lists` and `x`, `y` name the members.  TH_OK and *ret_has false: there is no point. */
static enum th_code take_point(const struct th_dialect_context *c, const struct th_json *args,
			       const char *lists, const char *x, const char *y,
			       struct th_point *ret, bool *ret_has, struct th_err *err)
{
	const struct th_json *list = member(args, lists);
	const struct th_json *vx = member(args, x), *vy = member(args, y);
	struct th_str what = th_str_of(lists);
	double n[4];
	int count;

	*ret_has = true;
	if (list || (!vx && !vy && written(args, lists)))
		return take_list_point(c, list, "coordinate", ret, err);
	if (!vx && !vy) {
		*ret_has = false;
		return TH_OK;
	}
	count = vy ? 0 : numbers_of(vx, n, 4);
	if (count == 2 || count == 4) /* "x": [1, 2] */
		return th_dialect_point(c, n, count, ret, err);
	th_str_split(&what, '|');
	if (!number_of(vx, &n[0]) || !number_of(vy, &n[1]))
		return th_fail(err, TH_EPROTO, "%s and %s must be numbers", x, y);
	return th_dialect_point(c, n, 2, ret, err);
}

#define POINT_LISTS "coordinate|coordinates|position|point|start_box|point_2d|bbox_2d|bbox"
#define START_LISTS "start_coordinate|start_coordinates|start_point|start|from|start_box"
#define END_LISTS "end_coordinate|end_coordinates|coordinate|coordinates|end_point|end|to|end_box"

static enum th_code take_key_list(const struct th_json *list, struct th_arena *a,
				  struct th_action *ret, struct th_err *err)
{
	struct th_json_iter it = th_json_iter(list);
	enum th_code code = TH_OK;

	while (!code && th_json_next(&it)) {
		if (th_json_type(it.val) != TH_JSON_STR)
			return th_fail(err, TH_EPROTO, "keys[%zu] must be a string, not %s",
				       it.index, th_json_type_name(th_json_type(it.val)));
		code = th_dialect_keys(th_arena_str(a, th_json_str(it.val)), ret, err);
	}
	return code;
}

/* A list, a chord as text, or a list inside a text. */
static enum th_code take_keys(const struct th_json *args, const char *names, struct th_arena *a,
			      struct th_action *ret, struct th_err *err)
{
	const struct th_json *v = member(args, names);
	struct th_str text = th_str_trim(th_json_str(v));
	struct th_json_doc *doc;
	enum th_code code;

	if (!v)
		return TH_OK;
	if (text.len > 2 && text.ptr[0] == '[' && !th_json_parse(text, &doc, NULL)) {
		code = take_key_list(th_json_root(doc), a, ret, err);
		th_json_free(doc);
		return code;
	}
	if (th_json_type(v) == TH_JSON_STR)
		return th_dialect_keys(th_json_str(v), ret, err);
	if (th_json_is_array(v))
		return take_key_list(v, a, ret, err);
	return th_fail(err, TH_EPROTO, "keys must be a list of names of keys, not %s",
		       th_json_type_name(th_json_type(v)));
}

/* Seconds or milliseconds; 0 when not said. */
static enum th_code take_time(const struct th_json *args, struct th_action *ret, struct th_err *err)
{
	double seconds = 0, ms = 0;
	enum th_code code = take_number(args, "time|duration|seconds|timeout", &seconds, err);

	if (!code)
		code = take_number(args, "duration_ms|ms|milliseconds", &ms, err);
	if (code)
		return code;
	if (!(seconds >= 0 && ms >= 0))
		return th_fail(err, TH_EPROTO, "the time must not be negative");
	ret->duration_ms = whole(seconds * 1000 + ms, INT32_MAX / 2);
	return TH_OK;
}

/* ---- actions ---- */

static enum th_code take_button(const struct th_json *args, struct th_action *ret,
				struct th_err *err)
{
	const struct th_json *v = member(args, "button|click");
	int button = th_button_find(th_json_str(v));

	if (!v)
		return TH_OK;
	if (button < 0)
		return th_fail(err, TH_EPROTO,
			       "button must be left, right, middle, back or forward");
	ret->button = (enum th_button)button;
	return TH_OK;
}

static enum th_code take_count(const struct th_json *args, const char *names, int32_t max,
			       struct th_action *ret, struct th_err *err)
{
	double count = 1;
	enum th_code code = take_number(args, names, &count, err);

	if (code)
		return code;
	if (!(count >= 1 && count <= max))
		return th_fail(err, TH_EPROTO, "count must be 1 to %d", max);
	ret->count = whole(count, max);
	return TH_OK;
}

static enum th_code take_direction(struct th_str direction, double amount, struct th_action *ret,
				   struct th_err *err)
{
	int32_t n = whole(amount, TH_SCROLL_MAX + 1);

	if (th_str_ieq(direction, TH_STR("up")))
		ret->dy = -n;
	else if (th_str_ieq(direction, TH_STR("down")))
		ret->dy = n;
	else if (th_str_ieq(direction, TH_STR("left")))
		ret->dx = -n;
	else if (th_str_ieq(direction, TH_STR("right")))
		ret->dx = n;
	else
		return th_fail(err, TH_EPROTO, "direction must be up, down, left or right");
	return TH_OK;
}

static enum th_code take_scroll(const struct th_json *args, struct th_str word,
				struct th_action *ret, struct th_err *err)
{
	bool across = th_str_ieq(word, TH_STR("hscroll"));
	struct th_str direction = th_json_str(member(args, "direction|scroll_direction"));
	double pixels = 0, x = 0, y = 0, amount = NOTCHES, dx = 0, dy = 0;
	const int32_t max = TH_SCROLL_MAX + 1;
	enum th_code code = take_number(args, "pixels", &pixels, err);

	if (!code)
		code = take_number(args, "scroll_x|delta_x", &x, err);
	if (!code)
		code = take_number(args, "scroll_y|delta_y", &y, err);
	if (!code)
		code = take_number(args, "dx", &dx, err);
	if (!code)
		code = take_number(args, "dy", &dy, err);
	if (!code)
		code = take_number(args, "amount|scroll_amount|step|clicks", &amount, err);
	if (code)
		return code;
	if (member(args, "scroll_direction") && !member(args, "amount|scroll_amount|step|clicks"))
		amount = NOTCHES_ANTHROPIC;
	if (direction.ptr) {
		ret->unit = pixels != 0 ? TH_SCROLL_PIXEL : TH_SCROLL_NOTCH;
		return take_direction(direction, pixels != 0 ? pixels : amount, ret, err);
	}
	if (dx != 0 || dy != 0) { /* our own form */
		ret->dx = whole(dx, max);
		ret->dy = whole(dy, max);
		ret->unit = th_str_is(th_json_get_str(args, "unit"), "pixel") ? TH_SCROLL_PIXEL
									      : TH_SCROLL_NOTCH;
		return TH_OK;
	}
	ret->unit = TH_SCROLL_PIXEL;
	ret->dx = whole(across ? pixels : x, max);
	ret->dy = whole(across ? 0 : pixels != 0 ? -pixels : y, max);
	if (ret->dx == 0 && ret->dy == 0)
		return th_fail(err, TH_EPROTO, "scroll: it does not say how far");
	return TH_OK;
}

static enum th_code take_path(const struct th_dialect_context *c, const struct th_json *args,
			      struct th_arena *a, struct th_action *ret, struct th_err *err)
{
	const struct th_json *path = member(args, "path");
	size_t count = th_json_count(path);
	struct th_json_iter it = th_json_iter(path);
	struct th_point ends[2];
	bool has[2];
	enum th_code code;

	if (path) {
		if (!th_json_is_array(path) || count < 2 || count > TH_DRAG_POINTS_MAX)
			return th_fail(err, TH_EPROTO, "path must be a list of 2 to %d points",
				       TH_DRAG_POINTS_MAX);
		ret->path = th_arena_array(a, count, sizeof(*ret->path));
		while (ret->path && th_json_next(&it)) {
			code = take_list_point(c, it.val, "a point of the path",
					       &ret->path[ret->path_count++], err);
			if (code)
				return code;
		}
		return ret->path ? TH_OK : th_fail(err, TH_ELIMIT, "the path is too long");
	}
	code = take_point(c, args, START_LISTS, "start_x|x1|x", "start_y|y1|y", &ends[0], &has[0],
			  err);
	if (!code)
		code = take_point(c, args, END_LISTS, "end_x|destination_x|x2",
				  "end_y|destination_y|y2", &ends[1], &has[1], err);
	if (code)
		return code;
	if (!has[1])
		return th_fail(err, TH_EPROTO, "drag: its end is missing");
	ret->path = th_arena_array(a, 2, sizeof(*ret->path));
	if (!ret->path)
		return th_fail(err, TH_ELIMIT, "too many actions");
	ret->path[0] = has[0] ? ends[0] : ends[1]; /* Qwen 2.5 drags from the pointer */
	ret->path[1] = ends[1];
	ret->path_count = has[0] ? 2 : 1;
	return TH_OK;
}

static enum th_code take_region(const struct th_dialect_context *c, const struct th_json *args,
				struct th_action *ret, struct th_err *err)
{
	struct th_size image = c->image.width > 0 && c->image.height > 0 ? c->image : c->screen;
	double n[4];

	if (numbers_of(member(args, "region"), n, 4) != 4)
		return th_fail(err, TH_EPROTO, "region must be [x0, y0, x1, y1]");
	return th_space_to_rect(&c->profile->space, image, c->screen, n, &ret->region, err);
}

static enum th_code take_typed(const struct th_json *args, struct th_arena *a,
			       struct th_action *ret, struct th_err *err)
{
	const struct th_json *text = member(args, "text|content|value|message");

	ret->clear = flag(args, "delete_existing_text|clear_before_typing|clear");
	ret->enter = flag(args, "press_enter|press_enter_after|enter");
	if (!text && !ret->clear && !ret->enter)
		return th_fail(err, TH_EPROTO, "type: text is missing");
	ret->text = text_of(text, a);
	return TH_OK;
}

static enum th_code need_point(const struct th_action *action, const char *word, struct th_err *err)
{
	return action->has_at ? TH_OK
			      : th_fail(err, TH_EPROTO, "%s: its coordinate is missing", word);
}

static bool points(enum th_action_kind kind)
{
	return kind == TH_ACTION_CLICK || kind == TH_ACTION_MOVE || kind == TH_ACTION_MOUSE_DOWN ||
	       kind == TH_ACTION_MOUSE_UP || kind == TH_ACTION_SCROLL || kind == TH_ACTION_TYPE;
}

static enum th_code take_action(const struct th_dialect_context *c, const struct row *row,
				const struct th_json *args, struct th_arena *a,
				struct th_action *ret, struct th_err *err)
{
	enum th_code code = TH_OK;

	ret->kind = row->kind;
	ret->count = row->kind == TH_ACTION_CLICK || row->kind == TH_ACTION_KEY;
	if (row->button >= 0)
		ret->button = (enum th_button)row->button;
	if (points(row->kind))
		code = take_point(c, args, POINT_LISTS, "x", "y", &ret->at, &ret->has_at, err);
	if (code)
		return code;
	switch (row->kind) {
	case TH_ACTION_CLICK:
		if (row->button < 0)
			code = take_button(args, ret, err);
		if (!code && !row->count)
			code = take_count(args, "count|clicks|num_clicks", TH_CLICK_COUNT_MAX, ret,
					  err);
		else if (!code)
			ret->count = row->count;
		return code ? code : take_keys(args, "keys|text|key|modifiers", a, ret, err);
	case TH_ACTION_MOVE:
		code = need_point(ret, row->word, err);
		return code ? code : take_keys(args, "keys", a, ret, err);
	case TH_ACTION_MOUSE_DOWN:
	case TH_ACTION_MOUSE_UP:
		return row->button < 0 ? take_button(args, ret, err) : TH_OK;
	case TH_ACTION_SCROLL:
		code = take_scroll(args, th_str_of(row->word), ret, err);
		return code ? code : take_keys(args, "keys|text|modifiers", a, ret, err);
	case TH_ACTION_DRAG:
		code = take_path(c, args, a, ret, err);
		if (!code && row->button < 0)
			code = take_button(args, ret, err);
		if (!code)
			code = take_time(args, ret, err);
		return code ? code : take_keys(args, "keys|text|modifiers", a, ret, err);
	case TH_ACTION_TYPE:
		return take_typed(args, a, ret, err);
	case TH_ACTION_KEY:
		code = take_count(args, "count|repeat|presses", TH_KEY_REPEAT_MAX, ret, err);
		__attribute__((fallthrough));
	case TH_ACTION_KEY_DOWN:
	case TH_ACTION_KEY_UP:
	case TH_ACTION_HOLD_KEY:
		if (!code)
			code =
			    take_keys(args, "keys|key|keypress|key_comb|key_press|press|text|value",
				      a, ret, err);
		if (!code && !ret->key_count)
			return th_fail(err, TH_EPROTO, "%s: keys are missing", row->word);
		return code || row->kind != TH_ACTION_HOLD_KEY ? code : take_time(args, ret, err);
	case TH_ACTION_WAIT:
		return take_time(args, ret, err);
	case TH_ACTION_ZOOM:
		return take_region(c, args, ret, err);
	case TH_ACTION_CLIPBOARD_SET:
		if (!member(args, "text"))
			return th_fail(err, TH_EPROTO, "clipboard_set: text is missing");
		ret->text = text_of(member(args, "text"), a);
		return TH_OK;
	case TH_ACTION_SCREENSHOT:
	case TH_ACTION_CURSOR_POSITION:
	case TH_ACTION_CLIPBOARD_GET:
	case TH_ACTION_COUNT:
		break;
	}
	return TH_OK;
}

static enum th_code take_other(const struct row *row, const struct th_json *args,
			       struct th_arena *a, struct th_word *ret, struct th_err *err)
{
	struct th_str status = th_json_str(member(args, "status"));

	switch (row->verb) {
	case TH_VERB_END:
		ret->failed = th_str_istarts(status, TH_STR("fail"));
		ret->text = text_of(member(args, "text|answer|content|message|reason"), a);
		break;
	case TH_VERB_ASK:
		ret->text = text_of(member(args, "text|content|message|question"), a);
		break;
	case TH_VERB_REMEMBER:
		if (!member(args, "fact|text|content"))
			return th_fail(err, TH_EPROTO, "%s: fact is missing", row->word);
		ret->text = text_of(member(args, "fact|text|content"), a);
		break;
	case TH_VERB_BROWSER:
		ret->name = row->name;
		ret->text = text_of(member(args, "url|query|text"), a);
		if (!ret->text.len && (!strcmp(row->name, "goto") || !strcmp(row->name, "search")))
			return th_fail(err, TH_EPROTO, "%s: %s is missing", row->word,
				       *row->name == 'g' ? "url" : "query");
		break;
	case TH_VERB_ACTION:
		break;
	}
	return TH_OK;
}

/* What a call without a word means by its members. */
static const char *guess(const struct th_json *args)
{
	if (member(args, "button|click"))
		return "click";
	if (member(args, "scroll_x|scroll_y|pixels|scroll_direction"))
		return "scroll";
	if (member(args, "text"))
		return "type";
	if (member(args, "keys|key"))
		return "key";
	return NULL;
}

static bool names_element(const struct th_json *args)
{
	const struct th_json *v =
	    member(args, "element_id|element_description|start_element_id|end_element_id|"
			 "start_element_description|end_element_description");

	return th_json_type(v) == TH_JSON_INT || th_json_str(v).len > 0;
}

enum th_code th_words_read(const struct th_dialect_context *c, const struct th_json *args,
			   struct th_arena *a, struct th_word *ret, struct th_err *err)
{
	const struct th_json *word = member(args, "action|type|action_type");
	const struct row *row = find_word(th_str_trim(th_json_str(word)));
	enum th_code code;

	*ret = (struct th_word){ 0 };
	if (!th_json_is_object(args))
		return th_fail(err, TH_EPROTO, "the arguments must be an object, not %s",
			       th_json_type_name(th_json_type(args)));
	if (!word && guess(args))
		row = find_word(th_str_of(guess(args)));
	else if (!word)
		return th_fail(err, TH_EPROTO, "the call does not say which action");
	if (!row)
		return th_fail(err, TH_EPROTO, "there is no action \"%.*s\"",
			       TH_FMT(th_utf8_cut(th_json_str(word), WORD_SHOWN_MAX)));
	ret->verb = row->verb;
	if (row->verb != TH_VERB_ACTION)
		return take_other(row, args, a, ret, err);
	code = take_action(c, row, args, a, &ret->action, err);
	/* Without a point it would be done wherever the pointer is. */
	if (!code && names_element(args) && !ret->action.has_at && !ret->action.path_count)
		code = th_fail(err, TH_EPROTO,
			       "elements have no marks and no descriptions here: say x and y");
	return code;
}

/* ---- whole calls ---- */

static enum th_code read_batch(struct th_say *s, const struct th_json *list, struct th_word *words,
			       struct th_err *err)
{
	struct th_json_iter it = th_json_iter(list);
	bool many = th_json_count(list) > 1;

	while (th_json_next(&it)) {
		enum th_code code = th_words_read(s->c, it.val, s->a, &words[it.index], err);

		if (!code && many && words[it.index].verb != TH_VERB_ACTION)
			code = th_fail(err, TH_EPROTO, "it must be alone in its call");
		if (code)
			return th_prefix(err, code, "action %zu", it.index + 1);
	}
	return TH_OK;
}

/* All words of a call must be good before one is said: it becomes one item. */
static enum th_code check_batch(const struct th_word *words, size_t count, struct th_arena *a,
				struct th_err *err)
{
	enum th_code code = TH_OK;

	for (size_t i = 0; !code && i < count; i++) {
		struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);
		struct th_jw w = th_jw(&text);
		struct th_json_doc *doc = NULL;
		struct th_action checked;

		if (words[i].verb != TH_VERB_ACTION || words[i].action.path_count == 1)
			continue;
		th_action_print(&words[i].action, &w);
		code = th_json_parse(th_buf_str(&text), &doc, err);
		if (!code)
			code = th_action_parse(th_json_root(doc), a, &checked, err);
		if (code && count > 1)
			th_prefix(err, code, "action %zu", i + 1);
		th_json_free(doc);
		th_buf_deinit(&text);
	}
	return code;
}

static enum th_code say_call(struct th_say *s, const struct th_json *args, struct th_err *err)
{
	const struct th_json *list = th_json_get(args, "actions");
	struct th_word one, *words = &one;
	size_t count = 1;
	enum th_code code;

	if (th_json_is_array(list) && th_json_count(list)) {
		count = th_json_count(list);
		if (count > TH_ACTIONS_MAX)
			return th_fail(err, TH_EPROTO,
				       "%zu actions in one call, of which at most %d are allowed",
				       count, TH_ACTIONS_MAX);
		words = th_arena_array(s->a, count, sizeof(*words));
		if (!words)
			return th_fail(err, TH_EPROTO, "the call is too large");
		code = read_batch(s, list, words, err);
	} else if (th_json_is_object(th_json_get(args, "action"))) {
		code = th_words_read(s->c, th_json_get(args, "action"), s->a, words, err);
	} else {
		code = th_words_read(s->c, args, s->a, words, err);
	}
	if (!code)
		code = check_batch(words, count, s->a, err);
	for (size_t i = 0; !code && i < count; i++)
		code = th_say_word(s, &words[i], err);
	return code;
}

void th_words_say(struct th_say *s, struct th_str name, struct th_str arguments)
{
	struct th_json_doc *doc = NULL;
	struct th_err err = { 0 };
	enum th_code code = th_json_parse(arguments, &doc, &err);

	(void)name;
	if (code)
		th_prefix(&err, code, "the arguments are not JSON");
	else
		code = say_call(s, th_json_root(doc), &err);
	if (code)
		th_say_error(s, arguments, err.msg);
	th_say_break(s);
	th_json_free(doc);
}

bool th_words_say_named(struct th_say *s, struct th_str name, struct th_str arguments)
{
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_jw w = th_jw(&text);
	struct th_json_doc *doc = NULL;
	struct th_json_iter it;
	struct th_err err = { 0 };
	enum th_code code;

	if (!find_word(name))
		return false;
	code = th_json_parse(arguments.len ? arguments : TH_STR("{}"), &doc, &err);
	it = th_json_iter(th_json_root(doc));
	th_jw_object(&w);
	th_jw_kstr(&w, "action", name);
	while (th_json_is_object(th_json_root(doc)) && th_json_next(&it)) {
		if (th_str_is(it.key, "action"))
			continue;
		th_jw_key(&w, it.key);
		th_jw_json(&w, it.val);
	}
	th_jw_object_end(&w);
	if (code) {
		th_prefix(&err, code, "the arguments are not JSON");
		th_say_error(s, arguments, err.msg);
	} else {
		th_words_say(s, name, th_buf_str(&text));
	}
	th_json_free(doc);
	th_buf_deinit(&text);
	return true;
}
