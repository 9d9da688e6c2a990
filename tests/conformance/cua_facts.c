/* SPDX-License-Identifier: Apache-2.0 */
#include "cua_facts.h"

#include <stdio.h>
#include <stdlib.h>

#include "actions/keys.h"
#include "dialects/actions.h"
#include "dialects/say.h"
#include "dialects/words.h"

#define NOTCH_PIXELS 100

static void bad(struct facts *f, const char *why, struct th_str detail)
{
	f->bad = true;
	snprintf(f->why, sizeof(f->why), "%s: %.*s", why, TH_FMT(th_str_sub(detail, 0, 200)));
}

static struct fact *add(struct facts *f, enum fact_kind kind)
{
	static struct fact spare;

	if (f->count == FACTS_MAX) {
		bad(f, "too many items", TH_STR(""));
		return &spare;
	}
	f->list[f->count] = (struct fact){ .kind = kind };
	return &f->list[f->count++];
}

static struct th_str printed(const struct cua_case *c, const struct th_json *v)
{
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_str copy;

	th_json_print(v, &text);
	copy = th_arena_str(c->arena, th_buf_str(&text));
	th_buf_deinit(&text);
	return copy;
}

static bool loop_is(const struct cua_case *c, const char *a)
{
	return th_str_is(c->loop, a);
}

/* ---- a case's words ---- */

/* scroll_x and scroll_y mean what the loop of upstream meant by them.  Where a case says what would
 * be right, + is right in every loop; "up is +" is a loop's own convention. */
static void fix_scroll(const struct cua_case *c, const struct th_json *v, struct th_action *a)
{
	double x = th_json_num(th_json_get(v, "scroll_x"), 0);
	double y = th_json_num(th_json_get(v, "scroll_y"), 0);
	struct th_str direction = th_json_get_str(
	    th_json_get(th_json_at(th_json_get(c->root, "reference_output"), 0), "action_inputs"),
	    "direction");
	bool up = loop_is(c, "uitars") || loop_is(c, "uitars2") || loop_is(c, "uitars_reference") ||
		  loop_is(c, "anthropic");
	bool notches = up || loop_is(c, "glm45v") || loop_is(c, "opencua");

	/* The reference says a direction: the sign is the case's own. */
	if (th_str_is(direction, "up") || th_str_is(direction, "down"))
		y = (y < 0) == th_str_is(direction, "up") ? -y : y;
	/* Its encoder has another convention than its decoder: + is down and right. */
	if (th_str_is(c->stage, "encode") && loop_is(c, "anthropic") && !c->bug) {
		x = -x;
		y = -y;
	}
	a->unit = TH_SCROLL_PIXEL;
	a->dx =
	    (int32_t)(loop_is(c, "anthropic") && !c->bug ? -x : x) * (notches ? NOTCH_PIXELS : 1);
	a->dy = (int32_t)(up ? -y : y) * (notches ? NOTCH_PIXELS : 1);
}

static void to_pixels(struct th_action *a)
{
	if (a->kind != TH_ACTION_SCROLL || a->unit == TH_SCROLL_PIXEL)
		return;
	a->unit = TH_SCROLL_PIXEL;
	a->dx *= NOTCH_PIXELS;
	a->dy *= NOTCH_PIXELS;
}

/* Names of upstream's that say where, not what: the browser's. */
static bool browser_fact(const struct cua_case *c, const struct th_json *v, struct fact *ret)
{
	static const struct {
		const char *theirs, *ours, *member;
	} words[] = {
		{ "visit_url", "goto", "url" },       { "web_search", "search", "query" },
		{ "history_back", "back", NULL },     { "go_back", "back", NULL },
		{ "go_forward", "forward", NULL },    { "history_forward", "forward", NULL },
		{ "refresh", "reload", NULL },        { "search", "search", "query" },
		{ "navigate", "goto", "url" },        { "back", "back", NULL },
		{ "forward", "forward", NULL },       { "goto", "goto", "url" },
		{ "open_web_browser", "open", NULL },
	};
	struct th_str type = th_json_get_str(v, "type");
	const struct th_json *params = v;

	if (th_str_is(type, "playwright_exec")) {
		type = th_json_get_str(v, "command");
		params = th_json_get(v, "params");
	}
	for (size_t i = 0; i < TH_COUNT(words); i++) {
		if (!th_str_is(type, words[i].theirs))
			continue;
		*ret = (struct fact){ .kind = FACT_FUNCTION, .name = TH_STR("browser") };
		if (words[i].member)
			ret->text = th_arena_printf(
			    c->arena, "{\"action\":\"%s\",\"%s\":%.*s}", words[i].ours,
			    words[i].member,
			    TH_FMT(printed(c, th_json_get(params, words[i].member))));
		else
			ret->text = th_arena_printf(c->arena, "{\"action\":\"%s\"}", words[i].ours);
		return true;
	}
	return false;
}

bool facts_case_action(const struct cua_case *c, const struct th_json *v, struct fact *ret,
		       struct th_err *err)
{
	struct th_profile pixels = { .name = "case", .space = { .kind = TH_SPACE_PIXELS } };
	struct th_dialect_context context = {
		.profile = &pixels, .screen = c->screen, .image = c->screen, .turn = 0
	};
	struct th_word word;

	if (browser_fact(c, v, ret))
		return true;
	if (th_words_read(&context, v, c->arena, &word, err))
		return false;
	*ret = (struct fact){ .kind = FACT_ACTION, .action = word.action };
	if (word.verb == TH_VERB_END || word.verb == TH_VERB_ASK)
		*ret =
		    (struct fact){ .kind = FACT_TEXT,
				   .text = word.text,
				   .name = word.verb == TH_VERB_ASK ? TH_STR(TH_DIALECT_NEEDS_USER)
					   : word.failed            ? TH_STR(TH_DIALECT_FAILED)
							 : TH_STR(TH_DIALECT_COMPLETED) };
	if (word.verb == TH_VERB_REMEMBER)
		*ret = (struct fact){ .kind = FACT_FUNCTION,
				      .name = TH_STR("remember"),
				      .text = th_arena_printf(
					  c->arena, "{\"fact\":%.*s}",
					  TH_FMT(printed(c, th_json_get(v, "fact")))) };
	if (word.verb == TH_VERB_ACTION && word.action.kind == TH_ACTION_SCROLL &&
	    (th_json_get(v, "scroll_x") || th_json_get(v, "scroll_y")))
		fix_scroll(c, v, &ret->action);
	else if (word.verb == TH_VERB_ACTION)
		to_pixels(&ret->action);
	ret->timed = word.action.duration_ms > 0;
	return true;
}

/* A drag without a start begins where the pointer is: press, move, release. */
static void drag_from_here(const struct fact *f, struct facts *ret)
{
	struct th_action steps[] = {
		{ .kind = TH_ACTION_MOUSE_DOWN, .button = f->action.button },
		{ .kind = TH_ACTION_MOVE, .has_at = true, .at = f->action.path[0] },
		{ .kind = TH_ACTION_MOUSE_UP, .button = f->action.button },
	};

	for (size_t i = 0; i < TH_COUNT(steps); i++)
		*add(ret, FACT_ACTION) =
		    (struct fact){ .kind = FACT_ACTION, .action = steps[i], .call_id = f->call_id };
}

static void case_call(const struct cua_case *c, const struct th_json *item, struct facts *ret)
{
	const struct th_json *list = th_json_get(item, "actions");
	struct th_json_iter it = th_json_iter(list);
	size_t count = th_json_is_array(list) ? th_json_count(list) : 1;

	for (size_t i = 0; i < count; i++) {
		const struct th_json *v = th_json_get(item, "action");
		struct th_err err = { 0 };
		struct fact f;

		if (th_json_is_array(list) && th_json_next(&it))
			v = it.val;
		/* An action of no set, which upstream hands on: here it must be refused. */
		if (!facts_case_action(c, v, &f, &err))
			f = (struct fact){ .kind = FACT_ERROR,
					   .text = th_arena_str(c->arena, th_str_of(err.msg)) };
		f.call_id = th_json_get_str(item, "call_id");
		if (f.kind == FACT_ACTION && f.action.kind == TH_ACTION_DRAG &&
		    f.action.path_count == 1)
			drag_from_here(&f, ret);
		else
			*add(ret, f.kind) = f;
	}
}

/* Whether the call of this id has a result among the items: upstream's refusals. */
static bool refused(const struct th_json *items, struct th_str call_id)
{
	struct th_json_iter it = th_json_iter(items);

	while (th_json_next(&it))
		if (th_item_is(it.val, "function_call_output") &&
		    th_str_eq(th_json_get_str(it.val, "call_id"), call_id))
			return true;
	return false;
}

void facts_of_case(const struct cua_case *c, const struct th_json *items, struct facts *ret)
{
	struct th_json_iter it = th_json_iter(items);

	*ret = (struct facts){ 0 };
	while (!ret->bad && th_json_is_array(items) && th_json_next(&it)) {
		struct th_str id = th_json_get_str(it.val, "call_id");

		if (th_item_is(it.val, "reasoning")) {
			add(ret, FACT_THOUGHT)->text = th_item_text(it.val, c->arena);
		} else if (th_item_is(it.val, "message")) {
			add(ret, FACT_TEXT)->text = th_item_text(it.val, c->arena);
		} else if (th_item_is(it.val, "computer_call")) {
			case_call(c, it.val, ret);
		} else if (th_item_is(it.val, "function_call_output")) {
			add(ret, FACT_ERROR)->text = th_json_get_str(it.val, "output");
			ret->list[ret->count - 1].call_id = id;
		} else if (th_item_is(it.val, "function_call") && !refused(items, id)) {
			struct fact *f = add(ret, FACT_FUNCTION);

			f->name = th_json_get_str(it.val, "name");
			f->text = th_json_get_str(it.val, "arguments");
			f->call_id = id;
		}
	}
}

/* ---- thole's ---- */

static void found_call(const struct cua_case *c, const struct th_profile *p,
		       const struct th_json *item, struct facts *ret)
{
	struct th_str id = th_json_get_str(item, "call_id");
	struct th_action *actions;
	struct th_err err = { 0 };
	size_t count = 0;

	if (th_model_actions(p, item, c->arena, &actions, &count, &err)) {
		struct fact *f = add(ret, FACT_ERROR);

		f->text = th_arena_str(c->arena, th_str_of(err.msg));
		f->call_id = id;
		if (th_json_get_str(item, "error").len)
			f->text = th_json_get_str(item, "error");
		return;
	}
	for (size_t i = 0; i < count; i++) {
		struct fact *f = add(ret, FACT_ACTION);

		if (th_action_check(&actions[i], c->screen, &err) == TH_EUSAGE &&
		    !actions[i].key_count) {
			f->kind = FACT_ERROR;
			f->text = th_arena_str(c->arena, th_str_of(err.msg));
		}
		f->action = actions[i];
		f->call_id = id;
		f->timed = actions[i].duration_ms > 0;
		to_pixels(&f->action);
	}
}

void facts_of_items(const struct cua_case *c, const struct th_profile *p,
		    const struct th_json *items, struct facts *ret)
{
	struct th_json_iter it = th_json_iter(items);

	*ret = (struct facts){ 0 };
	while (!ret->bad && th_json_is_array(items) && th_json_next(&it)) {
		struct th_str name = th_json_get_str(it.val, "name");

		if (th_item_is(it.val, "reasoning")) {
			add(ret, FACT_THOUGHT)->text = th_item_text(it.val, c->arena);
		} else if (th_item_is(it.val, "message")) {
			struct fact *f = add(ret, FACT_TEXT);

			f->text = th_item_text(it.val, c->arena);
			f->name = th_json_get_str(it.val, "outcome");
		} else if (th_item_is(it.val, "computer_call") ||
			   (th_item_is(it.val, "function_call") && th_str_is(name, "computer"))) {
			found_call(c, p, it.val, ret);
		} else if (th_item_is(it.val, "function_call")) {
			struct fact *f = add(ret, FACT_FUNCTION);

			f->name = name;
			f->text = th_json_get_str(it.val, "arguments");
			f->call_id = th_json_get_str(it.val, "call_id");
		}
	}
}

/* ---- comparing ---- */

static bool near(struct th_point a, struct th_point b, int tolerance)
{
	return abs(a.x - b.x) <= tolerance && abs(a.y - b.y) <= tolerance;
}

static bool same_keys(const struct th_action *a, const struct th_action *b)
{
	struct th_chord x, y;

	if (!a->key_count && !b->key_count)
		return true;
	if (th_keys_chord(a->keys, a->key_count, &x, NULL) ||
	    th_keys_chord(b->keys, b->key_count, &y, NULL))
		return false;
	return x.count == y.count && !memcmp(x.keysyms, y.keysyms, x.count * sizeof(*x.keysyms));
}

/* Text with Enter pressed after it is text with a newline at its end. */
static bool same_text(const struct th_action *a, const struct th_action *b)
{
	struct th_str s = a->text, t = b->text;
	bool enter_a = a->enter, enter_b = b->enter;

	if (!enter_a && th_str_ends(s, TH_STR("\n"))) {
		enter_a = true;
		s = th_str_sub(s, 0, s.len - 1);
	}
	if (!enter_b && th_str_ends(t, TH_STR("\n"))) {
		enter_b = true;
		t = th_str_sub(t, 0, t.len - 1);
	}
	return th_str_eq(s, t) && enter_a == enter_b && a->clear == b->clear;
}

static bool same_action(const struct fact *x, const struct fact *y, int tolerance)
{
	const struct th_action *a = &x->action, *b = &y->action;

	if (a->kind != b->kind || a->has_at != b->has_at || a->button != b->button ||
	    TH_MAX(a->count, 1) != TH_MAX(b->count, 1) || a->dx != b->dx || a->dy != b->dy ||
	    a->path_count != b->path_count || !same_keys(a, b) || !same_text(a, b) ||
	    memcmp(&a->region, &b->region, sizeof(a->region)))
		return false;
	if (a->has_at && !near(a->at, b->at, tolerance))
		return false;
	if (x->timed && a->duration_ms != b->duration_ms) /* the case says how long */
		return false;
	for (size_t i = 0; i < a->path_count; i++)
		if (!near(a->path[i], b->path[i], tolerance))
			return false;
	return true;
}

static bool same_json(struct th_str a, struct th_str b)
{
	struct th_json_doc *x = NULL, *y = NULL;
	bool same = th_str_eq(a, b);

	if (!same && !th_json_parse(a, &x, NULL) && !th_json_parse(b, &y, NULL))
		same = th_json_equal(th_json_root(x), th_json_root(y));
	th_json_free(x);
	th_json_free(y);
	return same;
}

static bool generated(struct th_str id)
{
	return !id.len || th_str_starts(id, TH_STR("call_"));
}

/* What thole says for a model that ended without a word. */
static bool own_sentence(struct th_str text)
{
	return th_str_is(text, "Task completed.") || th_str_is(text, "Task failed.") ||
	       th_str_is(text, "I need your help.");
}

bool fact_same(const struct fact *a, const struct fact *b, int tolerance)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind >= FACT_ACTION && !th_str_eq(a->call_id, b->call_id) &&
	    !(generated(a->call_id) && generated(b->call_id)) && a->call_id.len)
		return false;
	switch (a->kind) {
	case FACT_THOUGHT:
	case FACT_TEXT:
		if (a->name.len && !th_str_eq(a->name, b->name)) /* ends otherwise */
			return false;
		if (b->name.len && own_sentence(b->text) && (a->text.len || a->name.len))
			return true;
		return th_str_eq(th_str_trim(a->text), th_str_trim(b->text));
	case FACT_ACTION:
		return same_action(a, b, tolerance);
	case FACT_FUNCTION:
		return th_str_eq(a->name, b->name) && same_json(a->text, b->text);
	case FACT_ERROR:
		return b->text.len > 0; /* its words are free */
	}
	return false;
}

void fact_print(const struct fact *f, struct th_buf *out)
{
	static const char *const kinds[] = { "thought", "text", "action", "function", "error" };
	struct th_jw w = th_jw(out);

	th_buf_printf(out, "%s%s ", out->len ? "; " : "", kinds[f->kind]);
	if (f->kind == FACT_ACTION)
		th_action_print(&f->action, &w);
	else
		th_buf_printf(out, "%.*s %.*s", TH_FMT(f->name), TH_FMT(f->text));
	if (f->call_id.len)
		th_buf_printf(out, " [%.*s]", TH_FMT(f->call_id));
}
