/* SPDX-License-Identifier: Apache-2.0 */
/*
 * points.c - models that only point at things: GTA1, Gelato, UI-Ins,
 * Holo, InternVL, Moondream.  Whatever form the point has, it is one click;
 * its numbers are an estimate, so what lies beyond the edge is the edge.
 * Without a point the element was not found: an error, never (0, 0).
 */
#include "dialects/call.h"
#include "dialects/list.h"
#include "dialects/space.h"
#include "dialects/words.h"

#define DEPTH_MAX 8
#define GROUP_LEN_MAX 200

/* ---- finding the numbers ---- */

static bool number_start(struct th_str s)
{
	return s.len && ((s.ptr[0] >= '0' && s.ptr[0] <= '9') ||
			 ((s.ptr[0] == '-' || s.ptr[0] == '+' || s.ptr[0] == '.') && s.len > 1 &&
			  s.ptr[1] >= '0' && s.ptr[1] <= '9'));
}

/* Two or four numbers inside the bracket at the start of `s`, x= and y= before them allowed;
 * 0: it holds something else. */
static int group_at(struct th_str s, double n[4])
{
	char close = s.ptr[0] == '(' ? ')' : ']';
	ptrdiff_t end = th_str_find_char(th_str_sub(s, 0, GROUP_LEN_MAX), close);
	struct th_str inside;
	int count = 0;

	if (end < 0)
		return 0;
	inside = th_str_sub(s, 1, (size_t)end - 1);
	while (inside.len) {
		struct th_str one = th_str_trim(th_str_split(&inside, ','));
		ptrdiff_t equals = th_str_find_char(one, '=');

		if (equals >= 0)
			one = th_str_trim(th_str_sub(one, (size_t)equals + 1, one.len));
		if (count == 4 || !number_start(one) || !th_str_f64(one, &n[count]))
			return 0;
		count++;
	}
	return count == 2 || count == 4 ? count : 0;
}

/* "[[x1, y1, x2, y2]]"; the last when there are many. */
static int find_box(struct th_str s, double n[4])
{
	int found = 0;

	for (size_t i = 0; i + 1 < s.len; i++) {
		double m[4];
		int count;

		if (s.ptr[i] != '[' || s.ptr[i + 1] != '[')
			continue;
		count = group_at(th_str_sub(s, i + 1, s.len), m);
		if (count && (count == 4 || !found)) {
			memcpy(n, m, sizeof(m));
			found = count;
		}
	}
	return found;
}

/* The first bracket that holds numbers and nothing else. */
static int find_group(struct th_str s, double n[4])
{
	for (size_t i = 0; i < s.len; i++) {
		int count =
		    s.ptr[i] == '(' || s.ptr[i] == '[' ? group_at(th_str_sub(s, i, s.len), n) : 0;

		if (count)
			return count;
	}
	return 0;
}

/* <point>x y</point>, <|box_start|>(x,y)<|box_end|>, <bbox>…: the first that is. */
static int find_tag(struct th_str s, double n[4])
{
	static const char *const tags[][2] = {
		{ "<point>", "</point>" },
		{ "<|point_start|>", "<|point_end|>" },
		{ "<|box_start|>", "<|box_end|>" },
		{ "<bbox>", "</bbox>" },
	};

	for (size_t i = 0; i < TH_COUNT(tags); i++) {
		struct th_str open = th_str_of(tags[i][0]), inside;
		ptrdiff_t at = th_str_find(s, open), end;
		int count;

		if (at < 0)
			continue;
		inside = th_str_sub(s, (size_t)at + open.len, s.len);
		end = th_str_find(inside, th_str_of(tags[i][1]));
		count = th_dialect_numbers(
		    th_str_sub(inside, 0, end < 0 ? inside.len : (size_t)end), n, 4);
		if (count == 2 || count == 4)
			return count;
	}
	return 0;
}

/* A number, or a text that is one. */
static double number_of(const struct th_json *v, double none)
{
	struct th_str text = th_str_trim(th_json_str(v));
	double n;

	return number_start(text) && th_str_f64(text, &n) ? n : th_json_num(v, none);
}

/* x and y, or a member with both, at any depth. */
static int find_member(const struct th_json *v, int depth, double n[4])
{
	static const char *const lists[] = { "coordinate", "coordinates", "point_2d", "point",
					     "bbox_2d",    "bbox",        "position" };
	struct th_json_iter it = th_json_iter(v);
	const double none = -1e300;

	n[0] = number_of(th_json_get(v, "x"), none);
	n[1] = number_of(th_json_get(v, "y"), none);
	if (n[0] > none && n[1] > none)
		return 2;
	for (size_t i = 0; i < TH_COUNT(lists); i++) {
		const struct th_json *list = th_json_get(v, lists[i]);
		size_t count = th_json_count(list);

		if (!th_json_is_array(list) || (count != 2 && count != 4))
			continue;
		for (size_t k = 0; k < 4 && k < count; k++)
			n[k] = number_of(th_json_at(list, k), none);
		if (n[0] > none && n[1] > none && (count == 2 || (n[2] > none && n[3] > none)))
			return (int)count;
	}
	while (depth < DEPTH_MAX && th_json_next(&it)) {
		int count = find_member(it.val, depth + 1, n);

		if (count)
			return count;
	}
	return 0;
}

/* JSON, or what stands between the first { or [ and the last. */
static int find_json(struct th_str s, double n[4])
{
	ptrdiff_t open = th_str_find_char(s, '{');
	size_t end = s.len;
	struct th_json_doc *doc;
	int count;

	while (end > 0 && s.ptr[end - 1] != '}')
		end--;
	if (open < 0 || end <= (size_t)open ||
	    th_json_parse(th_str_sub(s, (size_t)open, end - (size_t)open), &doc, NULL))
		return 0;
	count = find_member(th_json_root(doc), 0, n);
	th_json_free(doc);
	return count;
}

/* Holo before 1.5 answers with a call: "Click(10, 20)". */
static int find_click(struct th_str s, double n[4])
{
	struct th_str name = TH_STR("click(");
	int count = 0;

	for (size_t i = 0; !count && i + name.len < s.len; i++)
		if (th_str_istarts(th_str_sub(s, i, s.len), name))
			count = group_at(th_str_sub(s, i + name.len - 1, s.len), n);
	return count;
}

static int find_numbers(const struct th_dialect_context *c, struct th_str s, double n[4])
{
	int count;

	if (c->profile->dialect == &th_dialect_holo) {
		count = find_json(s, n);
		return count ? count : find_click(s, n);
	}
	count = find_box(s, n);
	if (count || c->profile->dialect == &th_dialect_internvl)
		return count;
	count = find_json(s, n);
	if (!count)
		count = find_tag(s, n);
	if (!count)
		count = find_group(s, n);
	if (!count)
		count = th_dialect_numbers(s, n, 4); /* "500 400" */
	return count == 2 || count == 4 ? count : 0;
}

/* ---- decode ---- */

static void say_numbers(struct th_say *say, struct th_str text, double n[4], int count)
{
	const struct th_dialect_context *c = say->c;
	struct th_size image = c->image.width > 0 && c->image.height > 0 ? c->image : c->screen;
	struct th_word word = { .action = { .kind = TH_ACTION_CLICK, .count = 1, .has_at = true } };
	struct th_err err = { 0 };
	struct th_space_point at;
	enum th_code code;

	if (count == 4) {
		n[0] = (n[0] + n[2]) / 2;
		n[1] = (n[1] + n[3]) / 2;
	}
	at = th_space_clamp(&c->profile->space, image, n[0], n[1]);
	code = th_space_to_screen(&c->profile->space, image, c->screen, at.x, at.y, &word.action.at,
				  &err);
	if (!code)
		code = th_say_word(say, &word, &err);
	if (code)
		th_say_error(say, text, err.msg);
}

static void say_text(struct th_say *say, struct th_str text)
{
	ptrdiff_t think = th_str_find(text, TH_STR("</think>"));
	struct th_str s = think < 0 ? text : th_str_sub(text, (size_t)think + 8, text.len);
	double n[4];
	int count = find_numbers(say->c, s, n);

	if (count)
		say_numbers(say, text, n, count);
	else
		th_say_error(say, text, "element not found: the answer has no point");
}

static bool say_call(struct th_say *say, struct th_str name, struct th_str arguments)
{
	double n[4];
	int count = find_json(arguments, n);

	(void)name;
	if (count)
		say_numbers(say, arguments, n, count);
	else
		th_say_error(say, arguments, "element not found: the call has no point");
	return true;
}

static enum th_code decode(const struct th_dialect_context *c, struct th_str items,
			   struct th_buf *out, struct th_err *err)
{
	return th_dialect_each(c, items, say_text, say_call, "element not found: an empty answer",
			       out, err);
}

/* ---- encode ---- */

static enum th_code write_point(const struct th_dialect_context *c, const struct th_said *said,
				struct th_buf *out, struct th_err *err)
{
	const struct th_action *a = said->actions;
	struct th_space_point at;

	if (said->count == 0)
		return TH_OK;
	if (said->count > 1 || a->kind != TH_ACTION_CLICK || !a->has_at || a->count != 1 ||
	    a->button != TH_BUTTON_LEFT || a->key_count)
		return th_fail(err, TH_EUNSUPPORTED, "this model only points at things");
	at = th_dialect_place(c, a->at);
	if (c->profile->dialect == &th_dialect_internvl)
		th_buf_printf(out, "[[%.10g, %.10g, %.10g, %.10g]]", at.x, at.y, at.x, at.y);
	else if (c->profile->dialect == &th_dialect_holo)
		th_buf_printf(out, "{\"action\":\"click_absolute\",\"x\":%.10g,\"y\":%.10g}", at.x,
			      at.y);
	else if (c->profile->dialect == &th_dialect_uiins)
		th_buf_printf(out,
			      "{\"name\":\"grounding\",\"arguments\":{\"action\":\"click\","
			      "\"coordinate\":[%.10g,%.10g]}}",
			      at.x, at.y);
	else
		th_buf_printf(out, "(%.10g, %.10g)", at.x, at.y);
	return TH_OK;
}

static enum th_code encode(const struct th_dialect_context *c, struct th_str items,
			   struct th_buf *out, struct th_err *err)
{
	return th_dialect_write(c, items, write_point, out, err);
}

/* ---- prompts ---- */

static void prompt_point(const struct th_dialect_context *c, struct th_buf *out)
{
	struct th_size image = c->image.width > 0 && c->image.height > 0 ? c->image : c->screen;
	struct th_size range = th_space_size(&c->profile->space, image);

	th_buf_printf(out,
		      "You locate elements of user interfaces. Given a screenshot and the "
		      "description of an element, answer with the one point (x,y) to click, the "
		      "middle of the element. The image is %d high and %d wide. Answer exactly in "
		      "the form (x,y).",
		      range.height, range.width);
}

static void prompt_fraction(const struct th_dialect_context *c, struct th_buf *out)
{
	(void)c;
	th_buf_add_cstr(out, "Point at the middle of the element that is described. Answer with "
			     "{\"x\": …, \"y\": …}, as parts of the image's width and height from "
			     "0 to 1.");
}

static void prompt_holo(const struct th_dialect_context *c, struct th_buf *out)
{
	(void)c;
	th_buf_add_cstr(out, "Localize an element on the GUI image according to the given target. "
			     "Answer only with JSON: {\"action\": \"click_absolute\", \"x\": int, "
			     "\"y\": int}, the element's middle.");
}

static void prompt_box(const struct th_dialect_context *c, struct th_buf *out)
{
	(void)c;
	th_buf_add_cstr(out, "Please provide the bounding box coordinate of the region that the "
			     "sentence describes, as [[x1, y1, x2, y2]], each from 0 to 1000.");
}

static void prompt_uiins(const struct th_dialect_context *c, struct th_buf *out)
{
	(void)c;
	th_buf_add_cstr(out, "You are a GUI agent. Think about the user's instruction from several "
			     "sides, then say where to click, as JSON: {\"name\": \"grounding\", "
			     "\"arguments\": {\"action\": \"click\", \"coordinate\": [x, y]}}");
}

const struct th_dialect th_dialect_points = {
	.name = "points",
	.note = "a point (x,y) for a description: GTA1, Gelato",
	.prompt = prompt_point,
	.decode = decode,
	.encode = encode,
	.results_as_user = true,
};

const struct th_dialect th_dialect_fractions = {
	.name = "fractions",
	.note = "a point in parts of the sides: Moondream",
	.prompt = prompt_fraction,
	.decode = decode,
	.encode = encode,
	.results_as_user = true,
};

const struct th_dialect th_dialect_holo = {
	.name = "holo",
	.note = "a point as JSON: Holo",
	.prompt = prompt_holo,
	.decode = decode,
	.encode = encode,
	.results_as_user = true,
};

const struct th_dialect th_dialect_internvl = {
	.name = "internvl",
	.note = "a box [[x1, y1, x2, y2]]: InternVL",
	.prompt = prompt_box,
	.decode = decode,
	.encode = encode,
	.results_as_user = true,
};

const struct th_dialect th_dialect_uiins = {
	.name = "uiins",
	.note = "a point in a call of grounding: UI-Ins",
	.prompt = prompt_uiins,
	.decode = decode,
	.encode = encode,
	.results_as_user = true,
};
