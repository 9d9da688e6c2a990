/* SPDX-License-Identifier: Apache-2.0 */
#include "dialects/words.h"

#include "base/text.h"
#include "dialects/space.h"
#include "dialects/words_members.h"

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

bool th_words_knows(struct th_str word)
{
	return find_word(word) != NULL;
}

bool th_words_is_function(struct th_str name)
{
	return th_str_is(name, "computer") || th_str_is(name, "computer_use") ||
	       th_str_is(name, "computer_use_tool") || th_str_is(name, "browser_use");
}

#define POINT_LISTS "coordinate|coordinates|position|point|start_box|point_2d|bbox_2d|bbox"
#define START_LISTS "start_coordinate|start_coordinates|start_point|start|from|start_box"
#define END_LISTS "end_coordinate|end_coordinates|coordinate|coordinates|end_point|end|to|end_box"

/* ---- actions ---- */

static enum th_code take_button(const struct th_json *args, struct th_action *ret,
				struct th_err *err)
{
	const struct th_json *v = th_words_member(args, "button|click");
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
	enum th_code code = th_words_number(args, names, &count, err);

	if (code)
		return code;
	if (!(count >= 1 && count <= max))
		return th_fail(err, TH_EPROTO, "count must be 1 to %d", max);
	ret->count = th_words_whole(count, max);
	return TH_OK;
}

static enum th_code take_direction(struct th_str direction, double amount, struct th_action *ret,
				   struct th_err *err)
{
	int32_t n = th_words_whole(amount, TH_SCROLL_MAX + 1);

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
	struct th_str direction = th_json_str(th_words_member(args, "direction|scroll_direction"));
	double pixels = 0, x = 0, y = 0, amount = NOTCHES, dx = 0, dy = 0;
	const int32_t max = TH_SCROLL_MAX + 1;
	enum th_code code = th_words_number(args, "pixels", &pixels, err);

	if (!code)
		code = th_words_number(args, "scroll_x|delta_x", &x, err);
	if (!code)
		code = th_words_number(args, "scroll_y|delta_y", &y, err);
	if (!code)
		code = th_words_number(args, "dx", &dx, err);
	if (!code)
		code = th_words_number(args, "dy", &dy, err);
	if (!code)
		code = th_words_number(args, "amount|scroll_amount|step|clicks", &amount, err);
	if (code)
		return code;
	if (th_words_member(args, "scroll_direction") &&
	    !th_words_member(args, "amount|scroll_amount|step|clicks"))
		amount = NOTCHES_ANTHROPIC;
	if (direction.ptr) {
		ret->unit = pixels != 0 ? TH_SCROLL_PIXEL : TH_SCROLL_NOTCH;
		return take_direction(direction, pixels != 0 ? pixels : amount, ret, err);
	}
	if (dx != 0 || dy != 0) { /* our own form */
		ret->dx = th_words_whole(dx, max);
		ret->dy = th_words_whole(dy, max);
		ret->unit = th_str_is(th_json_get_str(args, "unit"), "pixel") ? TH_SCROLL_PIXEL
									      : TH_SCROLL_NOTCH;
		return TH_OK;
	}
	ret->unit = TH_SCROLL_PIXEL;
	ret->dx = th_words_whole(across ? pixels : x, max);
	ret->dy = th_words_whole(across ? 0 : pixels != 0 ? -pixels : y, max);
	if (ret->dx == 0 && ret->dy == 0)
		return th_fail(err, TH_EPROTO, "scroll: it does not say how far");
	return TH_OK;
}

static enum th_code take_path(const struct th_dialect_context *c, const struct th_json *args,
			      struct th_arena *a, struct th_action *ret, struct th_err *err)
{
	const struct th_json *path = th_words_member(args, "path");
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
			code = th_words_list_point(c, it.val, "a point of the path",
						   &ret->path[ret->path_count++], err);
			if (code)
				return code;
		}
		return ret->path ? TH_OK : th_fail(err, TH_ELIMIT, "the path is too long");
	}
	code = th_words_point(c, args, START_LISTS, "start_x|x1|x", "start_y|y1|y", &ends[0],
			      &has[0], err);
	if (!code)
		code = th_words_point(c, args, END_LISTS, "end_x|destination_x|x2",
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

	if (th_words_numbers(th_words_member(args, "region"), n, 4) != 4)
		return th_fail(err, TH_EPROTO, "region must be [x0, y0, x1, y1]");
	return th_space_to_rect(&c->profile->space, image, c->screen, n, &ret->region, err);
}

static enum th_code take_typed(const struct th_json *args, struct th_arena *a,
			       struct th_action *ret, struct th_err *err)
{
	const struct th_json *text = th_words_member(args, "text|content|value|message");

	ret->clear = th_words_flag(args, "delete_existing_text|clear_before_typing|clear");
	ret->enter = th_words_flag(args, "press_enter|press_enter_after|enter");
	if (!text && !ret->clear && !ret->enter)
		return th_fail(err, TH_EPROTO, "type: text is missing");
	ret->text = th_words_text(text, a);
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
		code = th_words_point(c, args, POINT_LISTS, "x", "y", &ret->at, &ret->has_at, err);
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
		return code ? code : th_words_keys(args, "keys|text|key|modifiers", a, ret, err);
	case TH_ACTION_MOVE:
		code = need_point(ret, row->word, err);
		return code ? code : th_words_keys(args, "keys", a, ret, err);
	case TH_ACTION_MOUSE_DOWN:
	case TH_ACTION_MOUSE_UP:
		return row->button < 0 ? take_button(args, ret, err) : TH_OK;
	case TH_ACTION_SCROLL:
		code = take_scroll(args, th_str_of(row->word), ret, err);
		return code ? code : th_words_keys(args, "keys|text|modifiers", a, ret, err);
	case TH_ACTION_DRAG:
		code = take_path(c, args, a, ret, err);
		if (!code && row->button < 0)
			code = take_button(args, ret, err);
		if (!code)
			code = th_words_time(args, ret, err);
		return code ? code : th_words_keys(args, "keys|text|modifiers", a, ret, err);
	case TH_ACTION_TYPE:
		return take_typed(args, a, ret, err);
	case TH_ACTION_KEY:
		code = take_count(args, "count|repeat|presses", TH_KEY_REPEAT_MAX, ret, err);
		__attribute__((fallthrough));
	case TH_ACTION_KEY_DOWN:
	case TH_ACTION_KEY_UP:
	case TH_ACTION_HOLD_KEY:
		if (!code)
			code = th_words_keys(
			    args, "keys|key|keypress|key_comb|key_press|press|text|value", a, ret,
			    err);
		if (!code && !ret->key_count)
			return th_fail(err, TH_EPROTO, "%s: keys are missing", row->word);
		return code || row->kind != TH_ACTION_HOLD_KEY ? code
							       : th_words_time(args, ret, err);
	case TH_ACTION_WAIT:
		return th_words_time(args, ret, err);
	case TH_ACTION_ZOOM:
		return take_region(c, args, ret, err);
	case TH_ACTION_CLIPBOARD_SET:
		if (!th_words_member(args, "text"))
			return th_fail(err, TH_EPROTO, "clipboard_set: text is missing");
		ret->text = th_words_text(th_words_member(args, "text"), a);
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
	struct th_str status = th_json_str(th_words_member(args, "status"));

	switch (row->verb) {
	case TH_VERB_END:
		ret->failed = th_str_istarts(status, TH_STR("fail"));
		ret->text =
		    th_words_text(th_words_member(args, "text|answer|content|message|reason"), a);
		break;
	case TH_VERB_ASK:
		ret->text =
		    th_words_text(th_words_member(args, "text|content|message|question"), a);
		break;
	case TH_VERB_REMEMBER:
		if (!th_words_member(args, "fact|text|content"))
			return th_fail(err, TH_EPROTO, "%s: fact is missing", row->word);
		ret->text = th_words_text(th_words_member(args, "fact|text|content"), a);
		break;
	case TH_VERB_BROWSER:
		ret->name = row->name;
		ret->text = th_words_text(th_words_member(args, "url|query|text"), a);
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
	if (th_words_member(args, "button|click"))
		return "click";
	if (th_words_member(args, "scroll_x|scroll_y|pixels|scroll_direction"))
		return "scroll";
	if (th_words_member(args, "text"))
		return "type";
	if (th_words_member(args, "keys|key"))
		return "key";
	return NULL;
}

static bool names_element(const struct th_json *args)
{
	const struct th_json *v =
	    th_words_member(args, "element_id|element_description|start_element_id|end_element_id|"
				  "start_element_description|end_element_description");

	return th_json_type(v) == TH_JSON_INT || th_json_str(v).len > 0;
}

enum th_code th_words_read(const struct th_dialect_context *c, const struct th_json *args,
			   struct th_arena *a, struct th_word *ret, struct th_err *err)
{
	const struct th_json *word = th_words_member(args, "action|type|action_type");
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
