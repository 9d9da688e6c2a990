/* SPDX-License-Identifier: Apache-2.0 */
/* cua_compare.c - what a case says against what thole does: the same, or otherwise on purpose. */
#include "cua_compare.h"

#include "base/limits.h"
#include "dialects/say.h"

/* Does the answer have a number with a fraction? */
static bool has_fraction(const struct th_json *output)
{
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	bool found = false;

	th_json_print(output, &text);
	for (size_t i = 1; i + 1 < text.len; i++)
		found |= text.ptr[i] == '.' && text.ptr[i - 1] >= '0' && text.ptr[i - 1] <= '9' &&
			 text.ptr[i + 1] >= '0' && text.ptr[i + 1] <= '9';
	th_buf_deinit(&text);
	return found;
}

int cua_tolerance(const struct cua_case *c)
{
	int64_t said = th_json_get_int(c->root, "tolerance_px", 0);
	/* Upstream cuts fractions off here, or rounds halves to even numbers. */
	bool rounds = th_str_is(c->loop, "uitars") || th_str_is(c->loop, "anthropic") ||
		      has_fraction(c->output);

	return (int)TH_MAX(said, rounds ? 1 : 0);
}

static bool at_edge(const struct fact *f, struct th_size screen)
{
	const struct th_point *points = f->action.path;
	size_t count = f->action.path_count;

	if (f->kind != FACT_ACTION)
		return false;
	if (f->action.has_at) {
		points = &f->action.at;
		count = 1;
	}
	for (size_t i = 0; i < count; i++)
		if (points[i].x <= 0 || points[i].y <= 0 || points[i].x >= screen.width - 1 ||
		    points[i].y >= screen.height - 1)
			return true;
	return false;
}

/* A point that upstream moves to the edge of the screen is refused with the bounds. */
static bool refused_point(const struct cua_case *c, const struct fact *want, const struct fact *got)
{
	return got->kind == FACT_ERROR && at_edge(want, c->screen) &&
	       th_str_find(got->text, TH_STR("outside the screen")) >= 0;
}

/* What upstream's loops say of their own, which no model said. */
static bool upstreams_own(const struct cua_case *c, const struct fact *want)
{
	struct th_str note = TH_STR("Taking a screenshot");

	if (want->kind != FACT_TEXT || want->name.len)
		return false;
	return !want->text.len || th_str_starts(want->text, note) ||
	       (th_str_is(c->loop, "qwen35") && th_json_type(c->output) == TH_JSON_STR &&
		th_str_eq(th_str_trim(want->text), th_str_trim(th_json_str(c->output))));
}

/* Upstream puts (0, 0), or the middle of the screen, where the model said no point; here the
 * pointer stays where it is. */
static bool unsaid_point(const struct cua_case *c, const struct fact *want, const struct fact *got)
{
	static const char *const words[] = { "coordinate", "point", "box", "\\\"x\\\"", "\"x\"" };
	struct th_buf said = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct fact without = *want;
	struct th_point at = want->action.at;
	bool middle = at.x == c->screen.width / 2 && at.y == c->screen.height / 2;
	bool unsaid =
	    want->kind == FACT_ACTION && want->action.has_at && (middle || (!at.x && !at.y));

	th_json_print(c->output, &said);
	for (size_t i = 0; i < TH_COUNT(words); i++)
		unsaid = unsaid && th_str_find(th_buf_str(&said), th_str_of(words[i])) < 0;
	th_buf_deinit(&said);
	without.action.has_at = false;
	return unsaid && fact_same(&without, got, 0);
}

bool cua_show(const struct cua_case *c, const struct facts *want, const struct facts *got,
	      const char *what, cua_report_fn *report)
{
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	struct th_buf a = TH_BUF_INIT(TH_MIB), b = TH_BUF_INIT(TH_MIB);

	for (size_t i = 0; i < want->count; i++)
		fact_print(&want->list[i], &a);
	for (size_t i = 0; i < got->count; i++)
		fact_print(&got->list[i], &b);
	th_buf_printf(&text, "%s\n  expected: %s\n  found:    %s", what, a.ptr, b.ptr);
	report(c, false, text.ptr);
	th_buf_deinit(&text);
	th_buf_deinit(&a);
	th_buf_deinit(&b);
	return false;
}

/* Whether the answer has a member with this in its name. */
static bool says_member(const struct th_json *v, const char *part)
{
	struct th_json_iter it = th_json_iter(v);

	while (th_json_next(&it))
		if (th_str_find(it.key, th_str_of(part)) >= 0 || says_member(it.val, part))
			return true;
	return th_json_type(v) == TH_JSON_STR && th_str_find(th_json_str(v), th_str_of(part)) >= 0;
}

/* Whether some string of the model's answer holds `text`. */
static bool model_said(const struct th_json *v, struct th_str text)
{
	struct th_json_iter it = th_json_iter(v);

	if (th_json_type(v) == TH_JSON_STR)
		return th_str_find(th_json_str(v), text) >= 0;
	while (th_json_next(&it))
		if (model_said(it.val, text))
			return true;
	return false;
}

/* What the model said beside its calls, which upstream dropped. */
static bool kept_thought(const struct cua_case *c, const struct facts *got, size_t g)
{
	const struct fact *f = &got->list[g];

	if (f->kind == FACT_THOUGHT)
		return true;
	return f->kind == FACT_TEXT && !f->name.len && model_said(c->output, th_str_trim(f->text));
}

/* Without the wish for a picture of the page, which upstream's loop takes after every call. */
static bool is_but_picture(struct th_str text, struct th_str want)
{
	struct th_str picture = TH_STR(",\"screenshot\":true}");

	return th_str_ends(text, picture) && want.len &&
	       th_str_eq(th_str_sub(text, 0, text.len - picture.len),
			 th_str_sub(want, 0, want.len - 1));
}

/* A word of a browser that the model was not given: upstream drives a browser, thole calls the
 * agent's function of that name.  What opens the browser opens Google there. */
static bool own_word(const struct cua_case *c, const struct fact *want, const struct fact *got)
{
	if (want->kind != FACT_FUNCTION || got->kind != FACT_FUNCTION ||
	    !th_str_is(want->name, "browser"))
		return false;
	if (!th_str_is(got->name, "browser"))
		return model_said(c->output, got->name);
	if (is_but_picture(got->text, want->text) || is_but_picture(want->text, got->text))
		return true;
	return is_but_picture(got->text, TH_STR("{\"action\":\"open\"}")) &&
	       model_said(c->output, TH_STR("open_web_browser"));
}

/* A call that cannot be read is the run's last message there, and an error that the model gets
 * here. */
static bool unread_call(const struct fact *want, const struct fact *got)
{
	return want->kind == FACT_TEXT && got->kind == FACT_ERROR &&
	       th_str_find(want->text, TH_STR("<tool_call>")) >= 0;
}

/* Typing nothing is done there, and refused here: it would change nothing. */
static bool typed_nothing(const struct fact *want, const struct fact *got)
{
	return want->kind == FACT_ACTION && want->action.kind == TH_ACTION_TYPE &&
	       !want->action.text.len && !want->action.enter && !want->action.clear &&
	       got->kind == FACT_ERROR;
}

/* Upstream asks for the user in a sentence of its own. */
static bool asks_the_user(const struct fact *want, const struct fact *got)
{
	return want->kind == FACT_TEXT && got->kind == FACT_TEXT &&
	       th_str_is(got->name, TH_DIALECT_NEEDS_USER) &&
	       th_str_starts(want->text, TH_STR("I need assistance from the user"));
}

static bool is_key(const struct fact *f, const char *a, const char *b)
{
	const struct th_action *k = &f->action;

	return f->kind == FACT_ACTION && k->kind == TH_ACTION_KEY &&
	       k->key_count == (b ? 2u : 1u) && th_str_ieq(k->keys[0], th_str_of(a)) &&
	       (!b || th_str_ieq(k->keys[1], th_str_of(b)));
}

/* A text typed at a point, field cleared, Enter pressed: one action of thole's, and some of a
 * case's, from `w` on.  What the call leaves unsaid is the API's default, which a case may leave
 * unsaid, too.  How many they are; 0: they say something else. */
static size_t typed_in_steps(const struct cua_case *c, const struct facts *want, size_t w,
			     const struct fact *got)
{
	const struct fact *f = &want->list[w], *end = want->list + want->count;
	struct th_action typed = { .kind = TH_ACTION_TYPE };

	if (got->kind != FACT_ACTION || got->action.kind != TH_ACTION_TYPE)
		return 0;
	if (f < end && f->kind == FACT_ACTION && f->action.kind == TH_ACTION_CLICK) {
		typed.has_at = f->action.count == 1;
		typed.at = f->action.at;
		f++;
	}
	for (; f < end && (is_key(f, "ctrl", "a") || is_key(f, "delete", NULL) ||
			   is_key(f, "backspace", NULL));
	     f++)
		typed.clear = true;
	if (f == end || f->kind != FACT_ACTION || f->action.kind != TH_ACTION_TYPE)
		return 0;
	typed.has_at |= f->action.has_at;
	typed.at = f->action.has_at ? f->action.at : typed.at;
	typed.clear |= f->action.clear;
	typed.text = f->action.text;
	typed.enter = f->action.enter || th_str_ends(typed.text, TH_STR("\n"));
	if (th_str_ends(typed.text, TH_STR("\n")))
		typed.text.len--;
	f++;
	if (f < end && (is_key(f, "enter", NULL) || is_key(f, "return", NULL))) {
		typed.enter = true;
		f++;
	}
	if (typed.has_at != got->action.has_at || typed.at.x != got->action.at.x ||
	    typed.at.y != got->action.at.y || !th_str_eq(typed.text, got->action.text) ||
	    (typed.clear != got->action.clear && says_member(c->output, "clear")) ||
	    (typed.enter != got->action.enter && says_member(c->output, "enter")))
		return 0;
	return (size_t)(f - &want->list[w]);
}

/* Neighbouring messages are one there. */
static void join_texts(const struct cua_case *c, struct facts *f)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->count; i++) {
		struct fact *last = kept ? &f->list[kept - 1] : NULL;

		if (last && last->kind == FACT_TEXT && f->list[i].kind == FACT_TEXT &&
		    !last->name.len && !f->list[i].name.len)
			last->text = th_arena_printf(c->arena, "%.*s\n%.*s", TH_FMT(last->text),
						     TH_FMT(f->list[i].text));
		else
			f->list[kept++] = f->list[i];
	}
	f->count = kept;
}

/* Upstream puts all that Gemini says before what it does. */
static void texts_first(const struct cua_case *c, struct facts *f)
{
	for (size_t i = 1; th_str_is(c->loop, "gemini") && i < f->count; i++) {
		struct fact moved = f->list[i];
		size_t at = i;

		if (moved.kind != FACT_TEXT || moved.name.len)
			continue;
		for (; at > 0 && f->list[at - 1].kind >= FACT_ACTION; at--)
			f->list[at] = f->list[at - 1];
		f->list[at] = moved;
	}
}

/* Without a text of its own the end takes over the message before it: one for two. */
static bool ends_with_it(const struct facts *want, size_t w, const struct fact *got)
{
	const struct fact *end = &want->list[w];

	return w < want->count && got->kind == FACT_TEXT && end->kind == FACT_TEXT &&
	       end->name.len && !end->text.len && th_str_eq(end->name, got->name);
}

bool cua_compare(const struct cua_case *c, struct facts *want, struct facts *got,
		 cua_report_fn *report)
{
	int tolerance = cua_tolerance(c);
	size_t w = 0, acts = 0, steps;

	texts_first(c, want);
	texts_first(c, got);
	join_texts(c, want);
	join_texts(c, got);

	for (size_t i = 0; i < want->count; i++)
		acts += want->list[i].kind != FACT_THOUGHT && !upstreams_own(c, &want->list[i]);
	for (size_t g = 0; g < got->count; g++) {
		while (w < want->count && upstreams_own(c, &want->list[w]) &&
		       !fact_same(&want->list[w], &got->list[g], tolerance))
			w++;
		if (w < want->count && (fact_same(&want->list[w], &got->list[g], tolerance) ||
					refused_point(c, &want->list[w], &got->list[g]) ||
					unsaid_point(c, &want->list[w], &got->list[g]) ||
					own_word(c, &want->list[w], &got->list[g]) ||
					typed_nothing(&want->list[w], &got->list[g]) ||
					asks_the_user(&want->list[w], &got->list[g]) ||
					unread_call(&want->list[w], &got->list[g]))) {
			w++;
			if (!want->list[w - 1].name.len && ends_with_it(want, w, &got->list[g]))
				w++;
			continue;
		}
		steps = w < want->count ? typed_in_steps(c, want, w, &got->list[g]) : 0;
		w += steps;
		if (steps || kept_thought(c, got, g))
			continue;
		if (w == want->count && acts == 0 && got->list[g].kind == FACT_ERROR &&
		    g + 1 == got->count) /* upstream reads nothing; thole says so */
			continue;
		return cua_show(c, want, got, "not the same", report);
	}
	while (w < want->count && upstreams_own(c, &want->list[w]))
		w++;
	return w == want->count ? report(c, true, NULL)
				: cua_show(c, want, got, "something is missing", report);
}
