// SPDX-License-Identifier: Apache-2.0
/*
 * cua.c - cases of what GUI models say and what it means (cases/README in the
 * shared folder; docs/DEVIATIONS.md says where thole differs on purpose).
 *
 * A case that is marked as a bug of upstream is compared with its right_items;
 * where these are null, with what its right_behaviour says, by a check named
 * after it; others with expected_items.  Error texts are free.
 */
#include <assert.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/limits.h"
#include "cua_compare.h"
#include "cua_facts.h"
#include "cua_stages.h"
#include "dialects/elements.h"
#include "dialects/list.h"
#include "dialects/space.h"
#include "dialects/words.h"
#include "transcript/plan.h"

static size_t passed, failed;

static bool report(const struct cua_case *c, bool good, const char *why)
{
	if (good) {
		passed++;
	} else {
		failed++;
		printf("FAIL %.*s (%.*s, %.*s): %s\n", TH_FMT(c->id), TH_FMT(c->stage),
		       TH_FMT(c->loop), why);
	}
	return good;
}

/* ---- a model's answer ---- */

static void put_text(struct th_jw *w, struct th_str text)
{
	if (!text.len)
		return;
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("message"));
	th_jw_kstr(w, "role", TH_STR("assistant"));
	th_jw_kstr(w, "content", text);
	th_jw_object_end(w);
}

static void put_thought(struct th_jw *w, struct th_str text)
{
	if (!text.len)
		return;
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("reasoning"));
	th_jw_key(w, TH_STR("summary"));
	th_jw_array(w);
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("summary_text"));
	th_jw_kstr(w, "text", text);
	th_jw_object_end(w);
	th_jw_array_end(w);
	th_jw_object_end(w);
}

static void put_call(struct th_jw *w, struct th_str id, struct th_str name,
		     const struct th_json *arguments)
{
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);

	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("function_call"));
	th_jw_kstr(w, "call_id", id);
	th_jw_kstr(w, "name", name);
	if (th_json_type(arguments) == TH_JSON_STR)
		th_buf_add(&text, th_json_str(arguments));
	else
		th_json_print(arguments, &text);
	th_jw_kstr(w, "arguments", th_buf_str(&text));
	th_jw_object_end(w);
	th_buf_deinit(&text);
}

/* A message's content: a text, or blocks. */
static void put_content(struct th_jw *w, const struct th_json *content)
{
	struct th_json_iter it = th_json_iter(content);

	put_text(w, th_json_str(content));
	while (th_json_is_array(content) && th_json_next(&it)) {
		put_thought(w, th_json_get_str(it.val, "thinking"));
		put_text(w, th_json_get_str(it.val, "text"));
		if (th_str_is(th_json_get_str(it.val, "type"), "tool_use"))
			put_call(w, th_json_get_str(it.val, "id"), th_json_get_str(it.val, "name"),
				 th_json_get(it.val, "input"));
	}
}

/* A part of Gemini's: a text, which may be a thought, or a call. */
static void put_part(struct th_jw *w, const struct th_json *part, size_t index)
{
	const struct th_json *call = th_json_get(part, "function_call");
	struct th_str text = th_json_get_str(part, "text");
	char id[32];

	snprintf(id, sizeof(id), "call_0_%zu", index);
	if (th_json_bool(th_json_get(part, "thought"), false))
		put_thought(w, text);
	else
		put_text(w, text);
	if (call)
		put_call(w, th_str_of(id), th_json_get_str(call, "name"),
			 th_json_get(call, "args"));
}

/* The items as the model's wire decodes them. */
static void wire_items(const struct th_json *output, struct th_buf *out)
{
	static const char *const thoughts[] = { "reasoning_content", "reasoning", "thinking" };
	struct th_jw w = th_jw(out);
	struct th_json_iter it;

	if (th_json_is_array(th_json_get(output, "output"))) {
		th_jw_json(&w, th_json_get(output, "output"));
		return;
	}
	th_jw_array(&w);
	put_text(&w, th_json_str(output));
	for (size_t i = 0; i < TH_COUNT(thoughts); i++)
		put_thought(&w, th_json_get_str(output, thoughts[i]));
	put_content(&w, th_json_get(output, "content"));
	it = th_json_iter(th_json_get(output, "tool_calls"));
	while (th_json_next(&it))
		put_call(&w, th_json_get_str(it.val, "id"), th_json_get_str(it.val, "name"),
			 th_json_get(it.val, "arguments"));
	it = th_json_iter(th_json_get(output, "parts"));
	while (th_json_next(&it))
		put_part(&w, it.val, it.index);
	th_jw_array_end(&w);
}

/* What the runs of upstream are in thole: the model's name, or the loop's where there is none.
 * Upstream counts 0…1000 for every UI-TARS; cases that are not about this are run with a model
 * that does, see DEVIATIONS.md. */
static struct th_str model_of(const struct cua_case *c)
{
	static const struct {
		const char *loop, *model;
	} loops[] = {
		{ "uitars", "ui-tars-7b-dpo" },
		{ "uitars2", "ui-tars-2" },
		{ "uitars_reference", "ui-tars-1.5-7b" },
		{ "anthropic", "claude-sonnet-4-5" },
		{ "fara", "fara-7b" },
		{ "glm45v", "glm-4.5v" },
		{ "gemini", "gemini-3-flash-preview" },
		{ "generic_vlm", "qwen3-vl" },
		{ "opencua", "opencua-7b" },
		{ "yutori", "n1-latest" },
		{ "openai", "computer-use-preview" },
		{ "qwen35", "qwen3.5-4b" },
		{ "gta1", "gta1-7b" },
		{ "gelato", "gelato-30b" },
		{ "holo", "holo1.5-7b" },
		{ "internvl", "internvl3" },
		{ "uiins", "ui-ins-7b" },
		{ "moondream3", "moondream3" },
	};
	struct th_str note = th_json_get_str(c->root, "note");
	bool absolute = th_str_find(c->behaviour, TH_STR("absolute")) >= 0 ||
			th_str_find(note, TH_STR("absolute")) >= 0;
	bool uitars = th_str_is(c->loop, "uitars");
	bool here = c->model.len && !th_str_is(c->loop, "uitars_reference");

	if (uitars && !absolute && !th_str_is(c->stage, "predict_click"))
		here = false;
	for (size_t i = 0; !here && i < TH_COUNT(loops); i++)
		if (th_str_is(c->loop, loops[i].loop))
			return th_str_of(loops[i].model);
	return c->model;
}

/* Models that upstream ran in its own process have the same profile on a server. */
static const struct th_profile *profile_of(const struct cua_case *c, struct th_str model)
{
	static const char *const in_process[] = { "huggingface-local/", "mlx/" };
	const struct th_profile *p;
	struct th_str name;
	struct th_err err;

	for (size_t i = 0; i < TH_COUNT(in_process); i++)
		if (th_str_starts(model, th_str_of(in_process[i])))
			model = th_str_sub(model, strlen(in_process[i]), model.len);
	if (th_model_resolve(model, &p, &name, &err)) {
		report(c, false, err.msg);
		return NULL;
	}
	return p;
}

/* The picture as it was sent.  Upstream sends Anthropic's whole for one click, and no loop scales
 * the points that it encodes. */
static struct th_size image_of(const struct cua_case *c, const struct th_profile *p)
{
	bool whole = th_str_is(c->stage, "encode") ||
		     (th_str_is(c->loop, "anthropic") && th_str_is(c->stage, "predict_click"));

	return whole ? c->screen : th_image_size(p, c->screen);
}

static bool decode(const struct cua_case *c, const struct th_profile *p, struct th_str items,
		   struct th_buf *out)
{
	struct th_dialect_context context = {
		.profile = p, .screen = c->screen, .image = image_of(c, p), .turn = 7
	};
	struct th_err err = { 0 };

	if (!p->dialect || !p->dialect->decode) {
		th_buf_add(out, items);
		return true;
	}
	if (p->dialect->decode(&context, items, out, &err))
		return report(c, false, err.msg);
	return true;
}

/* Every call has an id of its own. */
static bool ids_differ(const struct th_json *items)
{
	struct th_json_iter a = th_json_iter(items);

	while (th_json_next(&a)) {
		struct th_json_iter b = th_json_iter(items);
		struct th_str id = th_json_get_str(a.val, "call_id");
		bool call = th_str_is(th_json_get_str(a.val, "type"), "computer_call") ||
			    th_str_is(th_json_get_str(a.val, "type"), "function_call");

		if (call && !id.len)
			return false;
		while (call && th_json_next(&b))
			if (b.index > a.index && th_str_eq(id, th_json_get_str(b.val, "call_id")))
				return false;
	}
	return true;
}

/* ---- checks where a case has no items but says what is right ---- */

static bool has_error(const struct facts *f)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->list[i].kind == FACT_ERROR && f->list[i].text.len)
			return true;
	return false;
}

static size_t count_of(const struct facts *f, enum fact_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < f->count; i++)
		n += f->list[i].kind == kind;
	return n;
}

static bool says(const struct cua_case *c, const char *const *words)
{
	for (size_t i = 0; words[i]; i++)
		if (th_str_find(c->behaviour, th_str_of(words[i])) >= 0)
			return true;
	return false;
}

/*
 * Without items: by what the sentence speaks of.  An error, a refusal, a bad
 * argument: one error item and nothing done.  A person: the answer ends with
 * needs_user.  Anything else: something that a run can go on with, all texts of
 * the model kept, each call with an id of its own, and no point that was not said.
 */
static bool check_behaviour(const struct cua_case *c, const struct facts *got)
{
	static const char *const refusals[] = { "error",     "refuse",  "reject", "unsupported",
						"not found", "invalid", "re-ask", NULL };

	if (says(c, refusals)) {
		if (has_error(got) && !count_of(got, FACT_ACTION))
			return report(c, true, NULL);
		return cua_show(c, &(struct facts){ 0 }, got,
				"it should be refused with a sentence", report);
	}
	if (count_of(got, FACT_ACTION) + count_of(got, FACT_TEXT) + count_of(got, FACT_FUNCTION) +
		count_of(got, FACT_ERROR) ==
	    0)
		return cua_show(c, &(struct facts){ 0 }, got, "nothing that a run can go on with",
				report);
	for (size_t i = 0; i < got->count; i++) {
		const struct fact *f = &got->list[i];

		if (f->kind == FACT_ACTION && f->action.has_at && !f->action.at.x &&
		    !f->action.at.y)
			return cua_show(c, &(struct facts){ 0 }, got, "a point that was not said",
					report);
	}
	return report(c, true, NULL);
}

/* ---- step ---- */

/* What was looked for so far: an element is looked for once in a picture. */
struct asked {
	struct th_str names[FACTS_MAX];
	struct th_target_place places[FACTS_MAX];
	size_t count;
};

/* The place that a grounder's answer says. */
static struct th_target_place place_of(const struct cua_case *c, const struct th_profile *grounder,
				       const struct th_json *answer)
{
	struct th_dialect_context context = { .profile = grounder,
					      .screen = c->screen,
					      .image = th_image_size(grounder, c->screen),
					      .turn = 7 };
	struct th_buf said = TH_BUF_INIT(TH_MIB), point = TH_BUF_INIT(TH_MIB);
	struct th_target_place place = { false, { 0, 0 }, NULL };
	struct th_json_doc *doc = NULL;
	struct facts f;

	wire_items(answer, &said);
	if (!grounder->dialect->decode(&context, th_buf_str(&said), &point, NULL) &&
	    !th_json_parse(th_buf_str(&point), &doc, NULL)) {
		facts_of_items(c, grounder, th_json_root(doc), &f);
		if (count_of(&f, FACT_ACTION) == 1 && !has_error(&f))
			place =
			    (struct th_target_place){ true, f.list[f.count - 1].action.at, NULL };
	}
	th_json_free(doc);
	th_buf_deinit(&said);
	th_buf_deinit(&point);
	return place;
}

static struct th_target_place look_for(const struct cua_case *c, const struct th_json *answers,
				       const struct th_profile *grounder,
				       const struct th_target *target, struct asked *asked)
{
	size_t i = 0;

	if (th_str_is(c->loop, "omniparser")) /* boxes as the case has them: 2 is there */
		return (struct th_target_place){ target->id == 2, { 100, 50 }, NULL };
	while (i < asked->count && !th_str_eq(asked->names[i], target->description))
		i++;
	if (i == FACTS_MAX)
		return (struct th_target_place){ false, { 0, 0 }, NULL };
	if (i == asked->count) {
		asked->names[i] = th_arena_str(c->arena, target->description);
		asked->places[i] = place_of(c, grounder, th_json_at(answers, i));
		asked->count++;
	}
	return asked->places[i];
}

/* A planner's call with descriptions, and what its grounder said to them in turn. */
static bool resolve_targets(const struct cua_case *c, const struct th_json *answers,
			    const struct th_profile *grounder, const struct th_json *item,
			    struct asked *asked, struct th_buf *out)
{
	struct th_dialect_context context = { .profile = grounder,
					      .screen = c->screen,
					      .image = th_image_size(grounder, c->screen),
					      .turn = 7 };
	struct th_target targets[TH_TARGETS_MAX];
	struct th_target_place places[TH_TARGETS_MAX] = { 0 };
	size_t count = th_elements_targets(item, targets);
	struct th_err err = { 0 };

	for (size_t i = 0; i < count; i++)
		places[i] = look_for(c, answers, grounder, &targets[i], asked);
	return !th_elements_resolve(&context, item, places, count, out, &err);
}

static bool composed_items(const struct cua_case *c, struct th_str wire, struct th_buf *out)
{
	bool ids = th_str_is(c->loop, "omniparser");
	struct th_profile planner = { .name = "planner",
				      .dialect =
					  ids ? &th_dialect_elements : &th_dialect_descriptions };
	struct th_dialect_context context = {
		.profile = &planner, .screen = c->screen, .image = c->screen, .turn = 7
	};
	struct th_str model = c->model;
	const struct th_profile *grounder = &planner;
	struct th_buf said = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_json_doc *doc = NULL;
	struct th_json_iter it;
	struct asked asked = { .count = 0 };
	struct th_err err = { 0 };
	bool good;

	if (!ids)
		grounder = profile_of(c, th_str_split(&model, '+'));
	good = grounder && !planner.dialect->decode(&context, wire, &said, &err) &&
	       !th_json_parse(th_buf_str(&said), &doc, &err);
	it = th_json_iter(th_json_root(doc));
	th_buf_add_char(out, '[');
	while (good && th_json_next(&it)) {
		th_buf_add_cstr(out, it.index ? "," : "");
		if (th_json_get(it.val, "targets"))
			good = resolve_targets(c, th_json_get(c->output, "grounding_outputs"),
					       grounder, it.val, &asked, out);
		else
			th_json_print(it.val, out);
	}
	th_buf_add_char(out, ']');
	th_json_free(doc);
	th_buf_deinit(&said);
	return good;
}

/* "x": "<centre x of box 2>": the place that resolve_targets gives it. */
static void put_known_box(struct th_json_doc **doc, const struct th_json **items)
{
	struct th_buf text = TH_BUF_INIT(TH_MIB), out = TH_BUF_INIT(TH_MIB);
	struct th_str rest;
	ptrdiff_t at;

	th_json_print(*items, &text);
	rest = th_buf_str(&text);
	while ((at = th_str_find(rest, TH_STR("\"<centre "))) >= 0) {
		struct th_str tail = th_str_sub(rest, (size_t)at + 9, rest.len);

		th_buf_add(&out, th_str_sub(rest, 0, (size_t)at));
		th_buf_add_cstr(&out, tail.ptr[0] == 'x' ? "100" : "50");
		rest = th_str_sub(tail, (size_t)th_str_find(tail, TH_STR(">\"")) + 2, tail.len);
	}
	th_buf_add(&out, rest);
	if (!th_json_parse(th_buf_str(&out), doc, NULL))
		*items = th_json_root(*doc);
	th_buf_deinit(&text);
	th_buf_deinit(&out);
}

static void run_step(const struct cua_case *c)
{
	bool composed = th_str_is(c->loop, "composed_grounded") ||
			th_str_is(c->loop, "omniparser") ||
			th_json_get(c->output, "grounding_outputs") != NULL;
	const struct th_profile *p = NULL;
	struct th_profile planner = { .name = "composed", .dialect = &th_dialect_descriptions };
	struct th_buf wire = TH_BUF_INIT(TH_JSON_SIZE_MAX), items = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_json_doc *doc = NULL, *boxes = NULL;
	const struct th_json *expected = c->expected;
	struct facts want, got;
	bool good;

	wire_items(c->output, &wire);
	if (composed) {
		p = &planner;
		good = composed_items(c, th_buf_str(&wire), &items) ||
		       !report(c, false, "the call could not be resolved");
		put_known_box(&boxes, &expected);
	} else {
		p = profile_of(c, model_of(c));
		good = p && decode(c, p, th_buf_str(&wire), &items);
	}
	if (good && th_json_parse(th_buf_str(&items), &doc, NULL)) {
		report(c, false, "what was decoded is not JSON");
	} else if (good) {
		facts_of_items(c, p, th_json_root(doc), &got);
		facts_of_case(c, expected, &want);
		if (!ids_differ(th_json_root(doc)))
			report(c, false, "two calls have the same id, or one has none");
		else if (want.bad || got.bad)
			report(c, false, want.bad ? want.why : got.why);
		else if (th_json_is_null(expected))
			check_behaviour(c, &got);
		else
			cua_compare(c, &want, &got, report);
	}
	th_json_free(doc);
	th_json_free(boxes);
	th_buf_deinit(&wire);
	th_buf_deinit(&items);
}

/* ---- predict_click ---- */

/* Upstream brings the picture of UI-TARS only below its most pixels and leaves out that the model
 * then rounds to its factor: at most half of one over the side. */
static int click_tolerance(const struct cua_case *c, const struct th_profile *p, double at,
			   int32_t side)
{
	int tolerance = cua_tolerance(c);

	if (th_str_is(c->loop, "uitars") && side > 0)
		tolerance += (int)(at * p->space.factor / 2 / side + 1);
	/* Upstream leaves out that these count in the picture which their processor resized. */
	if ((th_str_is(c->loop, "holo") || th_str_is(c->loop, "opencua")) && !c->bug && side > 0)
		tolerance += (int)(at * p->space.factor / 2 / side + 1);
	if (th_str_find(c->behaviour, TH_STR("+-1")) >= 0)
		tolerance = TH_MAX(tolerance, 1);
	return tolerance;
}

/* A side below one patch is stretched to one by the server of the model, which counts in the
 * stretched picture. */
static int64_t stretched(const struct th_profile *p, int64_t at, int32_t side)
{
	int32_t patch = p && p->space.kind == TH_SPACE_SMART ? p->space.factor : 0;

	return side > 0 && side < patch && at >= 0 ? at * side / patch : at;
}

static void run_click(const struct cua_case *c)
{
	const struct th_json *point = th_json_at(c->expected, 0);
	const struct th_profile *p = profile_of(c, model_of(c));
	struct th_buf wire = TH_BUF_INIT(TH_JSON_SIZE_MAX), items = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	int64_t x = stretched(p, th_json_get_int(point, "x", -1), c->screen.width);
	int64_t y = stretched(p, th_json_get_int(point, "y", -1), c->screen.height);
	struct th_json_doc *doc = NULL;
	const struct fact *click = NULL;
	struct facts got;

	wire_items(c->output, &wire);
	if (!p || !decode(c, p, th_buf_str(&wire), &items) ||
	    th_json_parse(th_buf_str(&items), &doc, NULL))
		goto out;
	facts_of_items(c, p, th_json_root(doc), &got);
	for (size_t i = 0; i < got.count && !click; i++)
		if (got.list[i].kind == FACT_ACTION && got.list[i].action.has_at)
			click = &got.list[i];
	if (!point)
		report(c, !click, "a point was found where there is none");
	else if (!click)
		cua_show(c, &(struct facts){ 0 }, &got, "no point was found", report);
	else
		report(c,
		       llabs(click->action.at.x - x) <=
			       click_tolerance(c, p, (double)x, c->screen.width) &&
			   llabs(click->action.at.y - y) <=
			       click_tolerance(c, p, (double)y, c->screen.height),
		       th_arena_printf(c->arena, "expected (%lld, %lld), found (%d, %d)",
				       (long long)x, (long long)y, click->action.at.x,
				       click->action.at.y)
			   .ptr);
out:
	th_json_free(doc);
	th_buf_deinit(&wire);
	th_buf_deinit(&items);
}

/* ---- normalize: an action in anybody's words ---- */

static void run_normalize(const struct cua_case *c)
{
	struct th_profile pixels = { .name = "normalize" };
	struct th_dialect_context context = {
		.profile = &pixels, .screen = c->screen, .image = c->screen, .turn = 0
	};
	struct th_word word;
	struct th_err err = { 0 };
	struct facts want, got = { 0 };
	enum th_code code =
	    th_words_read(&context, th_json_get(c->output, "action"), c->arena, &word, &err);

	if (!code && word.verb != TH_VERB_ACTION) {
		struct fact f;

		if (facts_case_action(c, th_json_get(c->output, "action"), &f, &err))
			got.list[got.count++] = f;
	} else {
		got.list[got.count++] =
		    code ? (struct fact){ .kind = FACT_ERROR, .text = th_str_of(err.msg) }
			 : (struct fact){ .kind = FACT_ACTION, .action = word.action };
	}
	if (th_json_is_null(c->expected)) {
		check_behaviour(c, &got);
		return;
	}
	facts_of_case(c, c->expected, &want);
	/* The amounts of this loop have no unit. */
	for (size_t i = 0; i < want.count; i++)
		want.list[i].action.unit = word.action.unit;
	if (want.bad)
		report(c, false, want.why);
	else
		cua_compare(c, &want, &got, report);
}

/* ---- encode: an action as the model would have said it ---- */

static bool decoded_facts(const struct cua_case *c, const struct th_profile *p, struct th_str wire,
			  struct facts *ret)
{
	struct th_buf items = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_json_doc *doc = NULL;
	bool good = decode(c, p, wire, &items) && !th_json_parse(th_buf_str(&items), &doc, NULL);

	if (good) {
		/* Actions borrow from the document, which must live as long as the case. */
		facts_of_items(c, p, th_json_root(doc), ret);
		for (size_t i = 0; i < ret->count; i++) {
			ret->list[i].call_id = (struct th_str){ NULL, 0 };
			ret->list[i].text = th_arena_str(c->arena, ret->list[i].text);
			ret->list[i].name = th_arena_str(c->arena, ret->list[i].name);
		}
	}
	th_json_free(doc);
	th_buf_deinit(&items);
	return good;
}

/* What the case expects, as an answer of the model: a text, or arguments of its function. */
static void expected_wire(const struct cua_case *c, struct th_buf *out)
{
	struct th_jw w = th_jw(out);
	struct th_json_iter it = th_json_iter(c->expected);

	if (th_json_type(c->expected) == TH_JSON_STR) {
		wire_items(c->expected, out);
		return;
	}
	th_jw_array(&w);
	while (th_json_next(&it))
		put_call(&w, TH_STR("call_1"), TH_STR("computer"), it.val);
	th_jw_array_end(&w);
}

/* The action as thole has it: a call, a function's call, or the message that ends the run. */
static void our_items(const struct fact *f, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_array(&w);
	if (f->kind == FACT_FUNCTION) {
		th_jw_object(&w);
		th_jw_kstr(&w, "type", TH_STR("function_call"));
		th_jw_kstr(&w, "call_id", TH_STR("call_1"));
		th_jw_kstr(&w, "name", f->name);
		th_jw_kstr(&w, "arguments", f->text);
		th_jw_object_end(&w);
	} else if (f->kind == FACT_TEXT) {
		th_jw_object(&w);
		th_jw_kstr(&w, "type", TH_STR("message"));
		th_jw_kstr(&w, "role", TH_STR("assistant"));
		th_jw_kstr(&w, "content", f->text);
		th_jw_kstr(&w, "outcome", f->name);
		th_jw_object_end(&w);
	} else {
		th_jw_object(&w);
		th_jw_kstr(&w, "type", TH_STR("computer_call"));
		th_jw_kstr(&w, "call_id", TH_STR("call_1"));
		th_jw_key(&w, TH_STR("actions"));
		th_jw_array(&w);
		th_action_print(&f->action, &w);
		th_jw_array_end(&w);
		th_jw_object_end(&w);
	}
	th_jw_array_end(&w);
}

static void run_encode(const struct cua_case *c)
{
	const struct th_profile *p = profile_of(c, model_of(c));
	struct th_profile whole;
	struct th_buf theirs = TH_BUF_INIT(TH_MIB), ours = TH_BUF_INIT(TH_MIB);
	struct th_buf said = TH_BUF_INIT(TH_MIB);
	struct facts want, got;
	struct fact action;
	struct th_err err = { 0 };
	struct th_dialect_context context = {
		.profile = p, .screen = c->screen, .image = c->screen, .turn = 7
	};

	if (!p)
		return;
	if (p->space.kind == TH_SPACE_SMART) {
		whole = *p;
		whole.space = (struct th_space){ .kind = TH_SPACE_PIXELS };
		p = context.profile = &whole;
	}
	if (!facts_case_action(c, th_json_get(c->output, "action"), &action, &err)) {
		report(c, false, err.msg);
		return;
	}
	context.image = image_of(c, p);
	if (action.kind == FACT_ACTION && action.action.kind == TH_ACTION_SCROLL &&
	    (th_str_is(c->loop, "uitars") || th_str_is(c->loop, "uitars2") ||
	     th_str_is(c->loop, "glm45v") || th_str_is(c->loop, "anthropic") ||
	     th_str_is(c->loop, "yutori") || th_str_is(c->loop, "opencua"))) {
		action.action.unit = TH_SCROLL_NOTCH;
		action.action.dx /= 100;
		action.action.dy /= 100;
	}
	/* These know one amount. */
	if (action.kind == FACT_ACTION && action.action.kind == TH_ACTION_SCROLL &&
	    (th_str_is(c->loop, "uitars") || th_str_is(c->loop, "uitars2"))) {
		action.action.dx = action.action.dy       ? 0
				   : action.action.dx > 0 ? 5
				   : action.action.dx < 0 ? -5
							  : 0;
		action.action.dy = action.action.dy > 0 ? 5 : action.action.dy < 0 ? -5 : 0;
	}
	if (action.kind == FACT_ACTION && action.action.kind == TH_ACTION_WAIT && !action.timed &&
	    (th_str_is(c->loop, "uitars") || th_str_is(c->loop, "uitars2")))
		action.action.duration_ms = 5000;
	our_items(&action, &ours);
	expected_wire(c, &theirs);
	if (!p->dialect || !p->dialect->encode) {
		report(c, false, "this dialect has no encoder");
	} else if (p->dialect->encode(&context, th_buf_str(&ours), &said, &err)) {
		report(c, false, err.msg);
	} else if (decoded_facts(c, p, th_buf_str(&theirs), &want) &&
		   decoded_facts(c, p, th_buf_str(&said), &got)) {
		if (want.count == 0 && got.count)
			want = got; /* upstream has no word for it */
		cua_compare(c, &want, &got, report);
	}
	th_buf_deinit(&theirs);
	th_buf_deinit(&ours);
	th_buf_deinit(&said);
}

/* ---- route ---- */

static void run_route(const struct cua_case *c)
{
	static const struct {
		const char *class, *wire, *dialect;
	} loops[] = {
		{ "AnthropicHostedToolsConfig", "messages", NULL },
		{ "OpenAIComputerUseConfig", "responses", NULL },
		{ "GeminiComputerUseConfig", "gemini", NULL },
		{ "UITARSConfig", NULL, "uitars" },
		{ "UITARS2Config", NULL, "uitars2" },
		{ "Qwen3VlConfig", NULL, "qwen" },
		{ "Qwen35Config", NULL, "qwen35" },
		{ "FaraVlmConfig", NULL, "fara" },
		{ "Glm4vConfig", NULL, "glm" },
		{ "OpenCUAConfig", NULL, "opencua" },
		{ "YutoriN1Config", NULL, "yutori" },
		{ "GTA1Config", NULL, "points" },
		{ "GelatoConfig", NULL, "points" },
		{ "HoloConfig", NULL, "holo" },
		{ "InternVLConfig", NULL, "internvl" },
		{ "UIInsConfig", NULL, "uiins" },
	};
	struct th_str class = th_json_get_str(th_json_at(c->expected, 0), "class");
	/* Names that upstream gives to a loop of another model (spec: misroutes). */
	static const struct {
		const char *part, *class;
	} misroutes[] = {
		{ "ui-tars-25", "UITARSConfig" },
		{ "gemini-2.5-computer-use", "GeminiComputerUseConfig" },
		{ "qwen3.5", "Qwen35Config" },
	};
	struct th_str model = th_json_str(c->output), thinker = model;
	const struct th_profile *p = NULL;
	struct th_err err;
	const char *dialect, *wire;

	if (th_str_is(class, "ComposedGroundedConfig") || th_str_is(class, "OmniparserConfig") ||
	    th_str_is(class, "Moondream3PlusConfig")) {
		struct th_str first = th_str_split(&thinker, '+');
		bool marks = th_str_istarts(first, TH_STR("omni"));

		/* A name of two parts: each must resolve; marks are no model. */
		if (!marks && !profile_of(c, first))
			return;
		p = profile_of(c, thinker.len ? thinker : model);
		if (p)
			report(c, p->computer != TH_COMPUTER_CLICK || !marks,
			       "the second part does not think");
		return;
	}
	/* Without a profile and a host nobody knows which API it speaks: it is asked for. */
	if (th_str_is(class, "GenericVlmConfig") && th_model_resolve(model, &p, &thinker, &err))
		model = th_arena_printf(c->arena, "chat:%.*s", TH_FMT(model));
	p = profile_of(c, model);
	if (!p)
		return;
	dialect = p->dialect ? p->dialect->name : "native";
	wire = p->wire->name;
	for (size_t i = 0; i < TH_COUNT(misroutes); i++)
		if (strcasestr(th_arena_cstr(c->arena, model), misroutes[i].part))
			class = th_str_of(misroutes[i].class);
	for (size_t i = 0; i < TH_COUNT(loops); i++) {
		if (!th_str_is(class, loops[i].class))
			continue;
		report(c,
		       (!loops[i].wire || !strcmp(wire, loops[i].wire)) &&
			   (!loops[i].dialect ||
			    th_str_starts(th_str_of(dialect), th_str_of(loops[i].dialect))),
		       th_arena_printf(c->arena, "%.*s is %s with the dialect %s", TH_FMT(class),
				       wire, dialect)
			   .ptr);
		return;
	}
	report(c, p->wire != NULL, "it resolves to nothing"); /* the catch-all */
}

/* ---- cases ---- */

static void run_case(const struct th_json *root, struct th_arena *a)
{
	const struct th_json *screen = th_json_get(root, "screen");
	struct cua_case c = {
		.id = th_json_get_str(root, "id"),
		.loop = th_json_get_str(root, "loop"),
		.stage = th_json_get_str(root, "stage"),
		.model = th_json_get_str(root, "model"),
		.behaviour = th_json_get_str(root, "right_behaviour"),
		.root = root,
		.output = th_json_get(root, "model_output"),
		.bug = th_json_bool(th_json_get(root, "upstream_bug"), false),
		.screen = { (int32_t)th_json_get_int(screen, "w", 0),
			    (int32_t)th_json_get_int(screen, "h", 0) },
		.arena = a,
	};

	c.expected = th_json_get(root, c.bug ? "right_items" : "expected_items");
	if (th_str_is(c.stage, "step") || th_str_is(c.stage, "reference_parse"))
		run_step(&c);
	else if (th_str_is(c.stage, "predict_click"))
		run_click(&c);
	else if (th_str_is(c.stage, "normalize"))
		run_normalize(&c);
	else if (th_str_is(c.stage, "encode"))
		run_encode(&c);
	else if (th_str_is(c.stage, "route"))
		run_route(&c);
	else
		cua_stage(&c, report);
}

static bool run_file(const char *path)
{
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	FILE *f = fopen(path, "rb");
	struct th_json_doc *doc = NULL;
	struct th_json_iter it;
	struct th_err err = { 0 };
	char piece[4096];
	size_t n;

	if (!f) {
		printf("%s: cannot be opened\n", path);
		return false;
	}
	while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
		th_buf_add_mem(&text, piece, n);
	fclose(f);
	if (th_json_parse(th_buf_str(&text), &doc, &err)) {
		printf("%s: %s\n", path, err.msg);
		th_buf_deinit(&text);
		return false;
	}
	it = th_json_iter(th_json_root(doc));
	while (th_json_is_array(th_json_root(doc)) && th_json_next(&it)) {
		/* Of a folder of cases not all are ours. */
		if (!th_json_get_str(it.val, "loop").len)
			continue;
		struct th_arena a;

		th_arena_init(&a, 64 * TH_MIB);
		run_case(it.val, &a);
		th_arena_deinit(&a);
	}
	th_json_free(doc);
	th_buf_deinit(&text);
	return true;
}

static int is_json(const struct dirent *entry)
{
	return th_str_ends(th_str_of(entry->d_name), TH_STR(".json"));
}

static bool run_path(const char *path)
{
	struct dirent **names;
	struct stat st;
	bool good = true;
	int count;

	if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
		return run_file(path);
	count = scandir(path, &names, is_json, alphasort);
	for (int i = 0; i < count; i++) {
		char inner[4096];

		snprintf(inner, sizeof(inner), "%s/%s", path, names[i]->d_name);
		good = run_file(inner) && good;
		free(names[i]);
	}
	if (count >= 0)
		free(names);
	return good;
}

int main(int argc, char **argv)
{
	bool good = true;

	if (argc < 2) {
		fprintf(stderr, "usage: cua FILE|FOLDER...\n");
		return 2;
	}
	for (int i = 1; i < argc; i++)
		good = run_path(argv[i]) && good;
	printf("%zu passed, %zu failed\n", passed, failed);
	return good && passed && !failed ? 0 : 1;
}
