/* SPDX-License-Identifier: Apache-2.0 */
#include "dialects/actions_anthropic.h"

#include "base/text.h"
#include "dialects/space.h"

/* Generations of the tool: what a word needs. */
enum generation { FIRST, SECOND, THIRD, TOOLSET };

enum {
	POINT = 1 << 0, /* coordinate; without it the pointer stays where it is */
	NEEDS_POINT = 1 << 1,
	HELD = 1 << 2,    /* text: keys held meanwhile */
	CHORD = 1 << 3,   /* text: the keys themselves */
	TEXT = 1 << 4,    /* text: as it is */
	SECONDS = 1 << 5, /* duration */
	DRAG = 1 << 6,    /* start_coordinate, coordinate */
	SCROLL = 1 << 7,  /* scroll_direction, scroll_amount */
	REGION = 1 << 8,
	REPEAT = 1 << 9,
};

struct row {
	const char *name;
	enum generation since;
	unsigned parts;
	enum th_action_kind kind;
	enum th_button button;
	int32_t count;
};

// clang-format off
static const struct row rows[] = {
	{ "left_click", FIRST, POINT | HELD, TH_ACTION_CLICK, TH_BUTTON_LEFT, 1 },
	{ "right_click", FIRST, POINT | HELD, TH_ACTION_CLICK, TH_BUTTON_RIGHT, 1 },
	{ "middle_click", FIRST, POINT | HELD, TH_ACTION_CLICK, TH_BUTTON_MIDDLE, 1 },
	{ "double_click", FIRST, POINT | HELD, TH_ACTION_CLICK, TH_BUTTON_LEFT, 2 },
	{ "triple_click", SECOND, POINT | HELD, TH_ACTION_CLICK, TH_BUTTON_LEFT, 3 },
	{ "mouse_move", FIRST, POINT | NEEDS_POINT, TH_ACTION_MOVE, TH_BUTTON_LEFT, 0 },
	{ "left_click_drag", FIRST, DRAG | HELD, TH_ACTION_DRAG, TH_BUTTON_LEFT, 0 },
	{ "left_mouse_down", SECOND, POINT, TH_ACTION_MOUSE_DOWN, TH_BUTTON_LEFT, 0 },
	{ "left_mouse_up", SECOND, POINT, TH_ACTION_MOUSE_UP, TH_BUTTON_LEFT, 0 },
	{ "scroll", SECOND, POINT | HELD | SCROLL, TH_ACTION_SCROLL, TH_BUTTON_LEFT, 0 },
	{ "type", FIRST, TEXT, TH_ACTION_TYPE, TH_BUTTON_LEFT, 0 },
	{ "key", FIRST, CHORD | REPEAT, TH_ACTION_KEY, TH_BUTTON_LEFT, 1 },
	{ "hold_key", SECOND, CHORD | SECONDS, TH_ACTION_HOLD_KEY, TH_BUTTON_LEFT, 0 },
	{ "wait", SECOND, SECONDS, TH_ACTION_WAIT, TH_BUTTON_LEFT, 0 },
	{ "zoom", THIRD, REGION, TH_ACTION_ZOOM, TH_BUTTON_LEFT, 0 },
	{ "screenshot", FIRST, 0, TH_ACTION_SCREENSHOT, TH_BUTTON_LEFT, 0 },
	{ "cursor_position", FIRST, 0, TH_ACTION_CURSOR_POSITION, TH_BUTTON_LEFT, 0 },
};
#define WORDS "left_click, right_click, middle_click, double_click, triple_click, mouse_move, "    \
	      "left_click_drag, left_mouse_down, left_mouse_up, scroll, type, key, hold_key, wait, " \
	      "zoom, screenshot and cursor_position"
// clang-format on

/* What models write in their stead. */
static const struct {
	const char *alias, *name;
} aliases[] = {
	{ "click", "left_click" },     { "type_text", "type" },  { "keypress", "key" },
	{ "hotkey", "key" },           { "move", "mouse_move" }, { "move_cursor", "mouse_move" },
	{ "drag", "left_click_drag" },
};

#define SCROLL_DEFAULT 3 /* notches, where the amount is missing */

static const struct row *find_row(struct th_str name)
{
	for (size_t i = 0; i < TH_COUNT(aliases); i++)
		if (th_str_is(name, aliases[i].alias))
			name = th_str_of(aliases[i].name);
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		if (th_str_is(name, rows[i].name))
			return &rows[i];
	return NULL;
}

/* ---- reading ---- */

struct reader {
	const struct th_dialect_context *c;
	const struct th_json *input;
	const struct row *row;
	struct th_action action;
	struct th_point path[2];
	struct th_err *err;
};

/* Two or four numbers in a list. */
static bool numbers_of(const struct th_json *v, double *ret, size_t count)
{
	struct th_json_iter it = th_json_iter(v);

	if (!th_json_is_array(v) || th_json_count(v) != count)
		return false;
	while (th_json_next(&it)) {
		enum th_json_type type = th_json_type(it.val);

		if (type != TH_JSON_INT && type != TH_JSON_REAL)
			return false;
		ret[it.index] = th_json_num(it.val, 0);
	}
	return true;
}

/* [x, y]; also as text, and as {"x":…,"y":…}: some models forget the form. */
static bool pair_of(const struct th_json *v, double *ret)
{
	struct th_json_doc *doc = NULL;
	bool good;

	if (th_json_is_object(v)) {
		ret[0] = th_json_num(th_json_get(v, "x"), -1);
		ret[1] = th_json_num(th_json_get(v, "y"), -1);
		return true;
	}
	if (th_json_type(v) != TH_JSON_STR)
		return numbers_of(v, ret, 2);
	good = !th_json_parse(th_json_str(v), &doc, NULL) && numbers_of(th_json_root(doc), ret, 2);
	th_json_free(doc);
	return good;
}

static enum th_code read_point(struct reader *x, const char *key, struct th_point *ret)
{
	double pair[2];

	if (!pair_of(th_json_get(x->input, key), pair))
		return th_fail(x->err, TH_EPROTO, "%s: %s must be [x, y]", x->row->name, key);
	return th_space_to_screen(&x->c->profile->space, x->c->image, x->c->screen, pair[0],
				  pair[1], ret, x->err);
}

static bool has(const struct reader *x, const char *key)
{
	return !th_json_is_null(th_json_get(x->input, key));
}

static enum th_code read_place(struct reader *x)
{
	enum th_code code;

	if (!has(x, "coordinate")) {
		if (x->row->parts & NEEDS_POINT)
			return th_fail(x->err, TH_EPROTO, "%s: coordinate is missing",
				       x->row->name);
		return TH_OK;
	}
	code = read_point(x, "coordinate", &x->action.at);
	x->action.has_at = !code;
	return code;
}

/* "ctrl+shift+t": a name is empty where "+" itself is meant. */
static enum th_code read_chord(struct reader *x, struct th_str text)
{
	struct th_action *a = &x->action;

	a->key_count = 0;
	while (text.len) {
		ptrdiff_t plus = th_str_find_char(th_str_sub(text, 1, text.len), '+');
		size_t len = plus < 0 ? text.len : (size_t)plus + 1;

		if (a->key_count == TH_CHORD_KEYS_MAX)
			return th_fail(x->err, TH_EPROTO, "%s: more than %d keys in one chord",
				       x->row->name, TH_CHORD_KEYS_MAX);
		a->keys[a->key_count++] = th_str_sub(text, 0, len);
		text = th_str_sub(text, TH_MIN(len + 1, text.len), text.len);
	}
	return TH_OK;
}

static enum th_code read_seconds(struct reader *x)
{
	double seconds = th_json_num(th_json_get(x->input, "duration"), -1);

	if (!has(x, "duration"))
		return TH_OK; /* the default of the kind */
	if (!(seconds >= 0) || seconds * 1000 > TH_WAIT_MS_MAX)
		return th_fail(x->err, TH_EPROTO, "%s: duration must be 0 to %d seconds",
			       x->row->name, TH_WAIT_MS_MAX / 1000);
	x->action.duration_ms = (int32_t)(seconds * 1000 + 0.5);
	return TH_OK;
}

static enum th_code read_scroll(struct reader *x)
{
	static const struct {
		const char *name;
		int32_t dx, dy;
	} ways[] = { { "up", 0, -1 }, { "down", 0, 1 }, { "left", -1, 0 }, { "right", 1, 0 } };
	struct th_str way = th_json_get_str(x->input, "scroll_direction");
	double amount = th_json_num(th_json_get(x->input, "scroll_amount"),
				    has(x, "scroll_amount") ? 0 : SCROLL_DEFAULT);
	int32_t notches;

	if (!(amount >= 1) || amount > TH_SCROLL_MAX)
		return th_fail(x->err, TH_EPROTO, "scroll: scroll_amount must be 1 to %d",
			       TH_SCROLL_MAX);
	notches = (int32_t)(amount + 0.5);
	x->action.unit = TH_SCROLL_NOTCH;
	for (size_t i = 0; i < TH_COUNT(ways); i++)
		if (th_str_is(way, ways[i].name)) {
			x->action.dx = ways[i].dx * notches;
			x->action.dy = ways[i].dy * notches;
			return TH_OK;
		}
	return th_fail(x->err, TH_EPROTO,
		       "scroll: scroll_direction must be up, down, left or right");
}

/* Corners, the second one just outside. */
static enum th_code read_region(struct reader *x)
{
	struct th_size from = th_space_size(&x->c->profile->space, x->c->image), to = x->c->screen;
	double v[4];
	struct th_rect r;

	if (!numbers_of(th_json_get(x->input, "region"), v, 4) || !(v[0] < v[2]) || !(v[1] < v[3]))
		return th_fail(x->err, TH_EPROTO,
			       "zoom: region must be [x0, y0, x1, y1] with x0 < x1 and y0 < y1");
	if (v[0] < 0 || v[1] < 0 || v[2] > from.width || v[3] > from.height)
		return th_fail(
		    x->err, TH_EUSAGE,
		    "zoom: the region goes beyond the screen: x is 0 to %d and y 0 to %d",
		    from.width, from.height);
	r.x = (int32_t)(v[0] * to.width / from.width);
	r.y = (int32_t)(v[1] * to.height / from.height);
	r.width = (int32_t)(v[2] * to.width / from.width + 0.999) - r.x;
	r.height = (int32_t)(v[3] * to.height / from.height + 0.999) - r.y;
	r.width = TH_MAX(TH_MIN(r.width, to.width - r.x), 1);
	r.height = TH_MAX(TH_MIN(r.height, to.height - r.y), 1);
	x->action.region = r;
	return TH_OK;
}

static enum th_code read_drag(struct reader *x)
{
	const char *end = has(x, "coordinate") ? "coordinate" : "end_coordinate";
	enum th_code code = read_point(x, end, &x->path[1]);

	if (!code && has(x, "start_coordinate"))
		code = read_point(x, "start_coordinate", &x->path[0]);
	x->action.path = x->path;
	x->action.path_count = 2;
	return code;
}

static enum th_code read_text(struct reader *x)
{
	const struct th_json *text = th_json_get(x->input, "text");

	if (th_json_is_null(text) && (x->row->parts & HELD))
		return TH_OK;
	if (th_json_type(text) != TH_JSON_STR)
		return th_fail(x->err, TH_EPROTO, "%s: text must be a string", x->row->name);
	if (x->row->parts & TEXT) {
		x->action.text = th_json_str(text);
		return TH_OK;
	}
	return read_chord(x, th_str_trim(th_json_str(text)));
}

/* Checks ranges and limits as for every other form, and writes it. */
static enum th_code put_action(const struct th_action *action, struct th_jw *w, struct th_err *err)
{
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_jw own = th_jw(&text);
	struct th_json_doc *doc = NULL;
	struct th_action checked;
	struct th_arena a;
	enum th_code code;

	th_action_print(action, &own);
	th_arena_init(&a, text.len * 2 + TH_DRAG_POINTS_MAX * sizeof(struct th_point) + TH_KIB);
	code = th_json_parse(th_buf_str(&text), &doc, err);
	if (!code)
		code = th_action_parse(th_json_root(doc), &a, &checked, err);
	if (!code)
		th_jw_raw(w, th_buf_str(&text));
	th_json_free(doc);
	th_arena_deinit(&a);
	th_buf_deinit(&text);
	return code;
}

/* From where the pointer is: there is no action for that, but there are its three parts. */
static enum th_code put_drag_from_pointer(const struct th_action *drag, struct th_jw *w,
					  struct th_err *err)
{
	struct th_action part = { .kind = TH_ACTION_MOUSE_DOWN };
	enum th_code code = put_action(&part, w, err);

	if (code)
		return code;
	part = (struct th_action){ .kind = TH_ACTION_MOVE, .has_at = true, .at = drag->path[1] };
	code = put_action(&part, w, err);
	if (code)
		return code;
	part = (struct th_action){ .kind = TH_ACTION_MOUSE_UP };
	return put_action(&part, w, err);
}

/* Keys one after the other, with blanks between. */
static enum th_code put_keys(struct reader *x, struct th_jw *w)
{
	struct th_str all = th_json_get_str(x->input, "text"), rest = th_str_trim(all);
	int64_t repeat = th_json_get_int(x->input, "repeat", 1);
	size_t count = 0;
	enum th_code code = TH_OK;

	if (repeat < 1 || repeat > TH_KEY_REPEAT_MAX)
		return th_fail(x->err, TH_EPROTO, "key: repeat must be 1 to %d", TH_KEY_REPEAT_MAX);
	x->action.count = (int32_t)repeat;
	if (!rest.len && all.len)
		rest = TH_STR("space");
	if (!rest.len)
		return th_fail(x->err, TH_EPROTO, "key: text must name a key");
	while (!code && rest.len) {
		if (++count > TH_ACTIONS_MAX)
			return th_fail(x->err, TH_EPROTO, "key: more than %d keys in a row",
				       TH_ACTIONS_MAX);
		code = read_chord(x, th_str_split(&rest, ' '));
		if (!code)
			code = put_action(&x->action, w, x->err);
		rest = th_str_trim(rest);
	}
	return code;
}

static enum th_code read_parts(struct reader *x)
{
	unsigned parts = x->row->parts;
	enum th_code code = TH_OK;

	if (parts & POINT)
		code = read_place(x);
	if (!code && parts & DRAG)
		code = read_drag(x);
	if (!code && parts & SCROLL)
		code = read_scroll(x);
	if (!code && parts & SECONDS)
		code = read_seconds(x);
	if (!code && parts & REGION)
		code = read_region(x);
	if (!code && parts & (TEXT | HELD | CHORD))
		code = read_text(x);
	return code;
}

static enum th_code read_one(const struct th_dialect_context *c, const struct th_json *input,
			     struct th_jw *w, struct th_err *err)
{
	struct th_str name = th_json_get_str(input, "action");
	struct reader x = { .c = c, .input = input, .err = err };
	enum th_code code;

	if (!th_json_is_object(input))
		return th_fail(err, TH_EPROTO, "the input must be an object with an \"action\"");
	x.row = find_row(name);
	if (!x.row)
		return th_fail(err, TH_EPROTO, "unknown action \"%.*s\"; known are " WORDS,
			       TH_FMT(th_utf8_cut(name, 40)));
	x.action.kind = x.row->kind;
	x.action.button = x.row->button;
	x.action.count = x.row->count;
	if (x.row->kind == TH_ACTION_KEY) {
		code = put_keys(&x, w);
	} else {
		code = read_parts(&x);
		if (!code && x.row->parts & DRAG && !has(&x, "start_coordinate"))
			code = put_drag_from_pointer(&x.action, w, err);
		else if (!code)
			code = put_action(&x.action, w, err);
	}
	return code;
}

enum th_code th_actions_anthropic_read(const struct th_dialect_context *c,
				       const struct th_json *input, struct th_jw *w,
				       struct th_err *err)
{
	const struct th_json *list = th_json_get(input, "actions");
	struct th_json_iter it = th_json_iter(list);
	size_t start = w->out->len, count = th_json_count(list);
	bool comma = w->comma;
	enum th_code code = TH_OK;

	if (!th_json_is_array(list))
		code = read_one(c, input, w, err);
	else if (count == 0 || count > TH_ACTIONS_MAX)
		code = th_fail(err, TH_EPROTO, "actions must be a list of 1 to %d actions",
			       TH_ACTIONS_MAX);
	while (!code && th_json_is_array(list) && th_json_next(&it)) {
		code = read_one(c, it.val, w, err);
		if (code)
			th_prefix(err, code, "action %zu of %zu", it.index + 1, count);
	}
	if (code) {
		th_buf_truncate(w->out, start);
		w->comma = comma;
	}
	return code;
}

/* ---- writing ---- */

static enum generation generation_of(const struct th_profile *p)
{
	static const char *const tools[] = { [FIRST] = "computer_20241022",
					     [SECOND] = "computer_20250124",
					     [THIRD] = "computer_20251124" };

	for (size_t i = 0; p->tool && i < TH_COUNT(tools); i++)
		if (!strcmp(p->tool, tools[i]))
			return (enum generation)i;
	return TOOLSET;
}

/* The word for it, or NULL. */
static const struct row *word_of(const struct th_action *a)
{
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		const struct row *row = &rows[i];
		bool buttons = a->kind == TH_ACTION_CLICK || a->kind == TH_ACTION_MOUSE_DOWN ||
			       a->kind == TH_ACTION_MOUSE_UP || a->kind == TH_ACTION_DRAG;

		if (row->kind == a->kind && (!buttons || row->button == a->button) &&
		    (a->kind != TH_ACTION_CLICK || row->count == a->count))
			return row;
	}
	return NULL;
}

/* Why the word cannot say all of it, or NULL. */
static const char *unsayable(const struct th_action *a, enum generation generation)
{
	bool holds = a->key_count > 0;

	switch (a->kind) {
	case TH_ACTION_CLICK:
		return holds && generation < SECOND ? "no keys can be held in this version" : NULL;
	case TH_ACTION_MOVE:
		return holds ? "no keys can be held" : NULL;
	case TH_ACTION_MOUSE_DOWN:
	case TH_ACTION_MOUSE_UP:
		return a->has_at ? "only where the pointer is" : NULL;
	case TH_ACTION_DRAG:
		return a->path_count != 2 || holds || a->duration_ms
			   ? "two points only, no keys and no duration"
			   : NULL;
	case TH_ACTION_SCROLL:
		return a->unit != TH_SCROLL_NOTCH || (a->dx != 0) == (a->dy != 0)
			   ? "notches only, in one direction"
			   : NULL;
	case TH_ACTION_TYPE:
		return a->has_at || a->clear || a->enter ? "text only, no point, clear or enter"
							 : NULL;
	case TH_ACTION_KEY:
		return a->count > 1 && generation < TOOLSET ? "pressed once only" : NULL;
	case TH_ACTION_SCREENSHOT:
	case TH_ACTION_ZOOM:
	case TH_ACTION_CURSOR_POSITION:
	case TH_ACTION_WAIT:
	case TH_ACTION_HOLD_KEY:
		return NULL;
	case TH_ACTION_CLIPBOARD_GET:
	case TH_ACTION_CLIPBOARD_SET:
	case TH_ACTION_KEY_DOWN:
	case TH_ACTION_KEY_UP:
	case TH_ACTION_COUNT:
		break;
	}
	return "it is not in the vocabulary";
}

static void put_point(const struct th_dialect_context *c, const char *key, struct th_point p,
		      struct th_jw *w)
{
	struct th_space_point at = th_space_of_screen(&c->profile->space, c->image, c->screen, p);

	th_jw_key(w, th_str_of(key));
	th_jw_array(w);
	th_jw_int(w, (int64_t)at.x);
	th_jw_int(w, (int64_t)at.y);
	th_jw_array_end(w);
}

static void put_region(const struct th_dialect_context *c, const struct th_rect *r, struct th_jw *w)
{
	struct th_size to = th_space_size(&c->profile->space, c->image), from = c->screen;

	th_jw_key(w, TH_STR("region"));
	th_jw_array(w);
	th_jw_int(w, (int64_t)r->x * to.width / from.width);
	th_jw_int(w, (int64_t)r->y * to.height / from.height);
	th_jw_int(w, ((int64_t)(r->x + r->width) * to.width + from.width - 1) / from.width);
	th_jw_int(w, ((int64_t)(r->y + r->height) * to.height + from.height - 1) / from.height);
	th_jw_array_end(w);
}

static void put_chord(const struct th_action *a, struct th_jw *w)
{
	struct th_buf text = TH_BUF_INIT(TH_TYPE_TEXT_MAX);

	for (size_t i = 0; i < a->key_count; i++) {
		if (i)
			th_buf_add_char(&text, '+');
		th_buf_add(&text, a->keys[i]);
	}
	th_jw_kstr(w, "text", th_buf_str(&text));
	th_buf_deinit(&text);
}

static void put_scroll(const struct th_action *a, struct th_jw *w)
{
	int32_t amount = a->dx ? a->dx : a->dy;
	const char *way = a->dx ? (amount < 0 ? "left" : "right") : (amount < 0 ? "up" : "down");

	th_jw_kstr(w, "scroll_direction", th_str_of(way));
	th_jw_kint(w, "scroll_amount", amount < 0 ? -(int64_t)amount : amount);
}

enum th_code th_actions_anthropic_write(const struct th_dialect_context *c,
					const struct th_action *a, struct th_jw *w,
					struct th_err *err)
{
	const struct row *row = word_of(a);
	enum generation generation = generation_of(c->profile);
	const char *why = row && row->since <= generation ? unsayable(a, generation)
							  : "it is not in the vocabulary";

	if (why)
		return th_fail(err, TH_EUNSUPPORTED, "%s has no word for %s: %s",
			       c->profile->tool ? c->profile->tool : "the computer tool",
			       th_action_name(a->kind), why);
	th_jw_object(w);
	th_jw_kstr(w, "action", th_str_of(row->name));
	if (row->parts & DRAG) {
		put_point(c, "start_coordinate", a->path[0], w);
		put_point(c, "coordinate", a->path[1], w);
	}
	if (a->has_at)
		put_point(c, "coordinate", a->at, w);
	if (row->parts & SCROLL)
		put_scroll(a, w);
	if (row->parts & TEXT)
		th_jw_kstr(w, "text", a->text);
	else if (a->key_count > 0)
		put_chord(a, w);
	if (row->parts & REPEAT && a->count > 1)
		th_jw_kint(w, "repeat", a->count);
	if (row->parts & SECONDS)
		th_jw_kreal(w, "duration", (double)th_action_duration(a) / 1000);
	if (row->parts & REGION)
		put_region(c, &a->region, w);
	th_jw_object_end(w);
	return TH_OK;
}
