/* SPDX-License-Identifier: Apache-2.0 */
#include "dialects/actions.h"

#include "base/limits.h"
#include "base/text.h"
#include "dialects/words.h"

void th_computer_function_description(struct th_size screen, struct th_jw *w)
{
	struct th_buf text = TH_BUF_INIT(TH_KIB);

	th_buf_printf(
	    &text,
	    "Look at and act on the computer's screen, which has %d x %d pixels. The actions "
	    "are done in order; the answer is a screenshot taken after the last one. Points "
	    "are pixels of the screenshot.",
	    screen.width, screen.height);
	th_jw_str(w, th_buf_str(&text));
	th_buf_deinit(&text);
}

void th_computer_function_schema(struct th_jw *w)
{
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("object"));
	th_jw_key(w, TH_STR("properties"));
	th_jw_object(w);
	th_jw_key(w, TH_STR("actions"));
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("array"));
	th_jw_kint(w, "minItems", 1);
	th_jw_kint(w, "maxItems", TH_ACTIONS_MAX);
	th_jw_key(w, TH_STR("items"));
	th_action_schema(w);
	th_jw_object_end(w);
	th_jw_object_end(w);
	th_jw_kraw(w, "required", TH_STR("[\"actions\"]"));
	th_jw_kbool(w, "additionalProperties", false);
	th_jw_object_end(w);
}

/* ---- calls ---- */

/* {"action":"click","x":1,…} with its word as "type". */
static void unflatten(const struct th_json *v, struct th_buf *out)
{
	struct th_jw w = th_jw(out);
	struct th_json_iter it = th_json_iter(v);

	th_jw_object(&w);
	while (th_json_next(&it)) {
		if (th_str_is(it.key, "type"))
			continue;
		th_jw_key(&w, th_str_is(it.key, "action") ? TH_STR("type") : it.key);
		th_jw_json(&w, it.val);
	}
	th_jw_object_end(&w);
}

/* Our form; models that know OpenAI's write that, and it means what it says. */
static enum th_code parse_either(const struct th_json *v, struct th_arena *a, struct th_action *ret,
				 struct th_err *err)
{
	enum th_code code = th_action_parse(v, a, ret, err);

	if (code == TH_EPROTO && !th_actions_openai_parse(v, a, ret, NULL))
		return TH_OK;
	return code;
}

/* The words of other computer functions, {"action":"left_click","coordinate":[1,2]}: a model that
 * was trained with one of them writes it whatever our function declares. */
static enum th_code parse_words(const struct th_json *v, struct th_arena *a, struct th_action *ret,
				struct th_err *err)
{
	static const struct th_profile pixels = { .name = "pixels" };
	const struct th_dialect_context c = {
		.profile = &pixels,
		.screen = { TH_SCREEN_SIDE_MAX, TH_SCREEN_SIDE_MAX },
	};
	struct th_word word;
	enum th_code code = parse_either(v, a, ret, err);

	if (code != TH_EPROTO || th_words_read(&c, v, a, &word, NULL) ||
	    word.verb != TH_VERB_ACTION || word.action.path_count == 1)
		return code;
	*ret = word.action;
	return TH_OK;
}

typedef enum th_code parse_fn(const struct th_json *v, struct th_arena *a, struct th_action *ret,
			      struct th_err *err);

/* One action, or a list of them. */
static enum th_code parse_list(const struct th_json *v, parse_fn *parse, struct th_arena *a,
			       struct th_action **ret, size_t *ret_count, struct th_err *err)
{
	bool list = th_json_is_array(v);
	size_t count = list ? th_json_count(v) : 1;
	struct th_json_iter it = th_json_iter(v);
	struct th_action *actions;

	if (count > TH_ACTIONS_MAX)
		return th_fail(err, TH_EPROTO,
			       "%zu actions in one call, of which at most %d are allowed", count,
			       TH_ACTIONS_MAX);
	if (count == 0)
		return th_fail(err, TH_EPROTO, "the call has no action");
	actions = th_arena_array(a, count, sizeof(*actions));
	if (!actions)
		return th_fail(err, TH_ELIMIT, "the call takes too much memory");
	for (size_t i = 0; i < count; i++) {
		enum th_code code = list && !th_json_next(&it)
					? TH_EPROTO
					: parse(list ? it.val : v, a, &actions[i], err);

		if (code)
			return count > 1 ? th_prefix(err, code, "action %zu of %zu", i + 1, count)
					 : code;
	}
	*ret = actions;
	*ret_count = count;
	return TH_OK;
}

static enum th_code parse_function(const struct th_json *item, struct th_arena *a,
				   struct th_action **ret, size_t *ret_count, struct th_err *err)
{
	struct th_json_doc *doc;
	const struct th_json *root, *action;
	parse_fn *parse = parse_either;
	enum th_code code = th_json_parse(th_json_get_str(item, "arguments"), &doc, err);

	if (code)
		return th_prefix(err, code, "arguments");
	root = th_json_root(doc);
	action = th_json_get(root, "action");
	if (!th_json_is_null(th_json_get(root, "actions")))
		root = th_json_get(root, "actions");
	else if (th_json_is_object(action) || th_json_is_array(action))
		root = action;
	if (th_json_type(action) == TH_JSON_STR && th_json_is_object(root)) {
		struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);

		unflatten(root, &text);
		doc = th_json_free(doc);
		code = th_json_parse(th_buf_str(&text), &doc, err);
		th_buf_deinit(&text);
		root = code ? NULL : th_json_root(doc);
		parse = parse_words;
	}
	if (!code)
		code = parse_list(root, parse, a, ret, ret_count, err);
	th_json_free(doc);
	return code;
}

enum th_code th_model_actions(const struct th_profile *p, const struct th_json *item,
			      struct th_arena *a, struct th_action **ret, size_t *ret_count,
			      struct th_err *err)
{
	struct th_str type = th_json_get_str(item, "type");
	const struct th_json *actions = th_json_get(item, "actions");

	if (th_str_is(type, "function_call"))
		return parse_function(item, a, ret, ret_count, err);
	if (th_json_get_str(item, "error").ptr) /* a dialect could not read it */
		return th_fail(err, TH_EPROTO, "%.*s", TH_FMT(th_json_get_str(item, "error")));
	if (!th_str_is(type, "computer_call"))
		return th_fail(err, TH_EPROTO, "\"%.*s\" is not a call of the computer",
			       TH_FMT(th_utf8_cut(type, 40)));
	if (th_json_count(actions) == 0 && !th_json_is_null(th_json_get(item, "action")))
		actions = th_json_get(item, "action");
	if (th_json_is_null(actions))
		return th_fail(err, TH_EPROTO, "the call has no action");
	return parse_list(actions,
			  p->computer == TH_COMPUTER_PREVIEW || p->computer == TH_COMPUTER_GA
			      ? th_actions_openai_parse
			      : parse_either,
			  a, ret, ret_count, err);
}

enum th_code th_model_action_encode(const struct th_profile *p, const struct th_action *action,
				    struct th_jw *w, struct th_err *err)
{
	switch (p->computer) {
	case TH_COMPUTER_PREVIEW:
		return th_actions_openai_encode(action, false, w, err);
	case TH_COMPUTER_GA:
		return th_actions_openai_encode(action, true, w, err);
	case TH_COMPUTER_FUNCTION:
	case TH_COMPUTER_NATIVE: /* in unified items */
	case TH_COMPUTER_DIALECT:
		th_action_print(action, w);
		return TH_OK;
	case TH_COMPUTER_CLICK:
	case TH_COMPUTER_NONE:
		break;
	}
	return th_fail(err, TH_EUNSUPPORTED, "%s has no computer tool", p->name);
}
