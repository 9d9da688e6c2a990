/* SPDX-License-Identifier: Apache-2.0 */
#include "dialects/elements.h"

#include "dialects/list.h"
#include "dialects/words.h"

/* Members that name a target, and the members of its place. */
static const struct {
	const char *description, *id, *x, *y;
} names[] = {
	{ "element_description", "element_id", "x", "y" },
	{ "start_element_description", "start_element_id", "start_x", "start_y" },
	{ "end_element_description", "end_element_id", "end_x", "end_y" },
};

/* ---- decode ---- */

static void put_targets(const struct th_json *args, struct th_jw *w)
{
	bool drag = !th_json_is_null(th_json_get(args, names[1].description)) ||
		    !th_json_is_null(th_json_get(args, names[1].id));

	for (size_t i = drag; i < (drag ? 3 : 1); i++) {
		const struct th_json *id = th_json_get(args, names[i].id);

		th_jw_object(w);
		if (th_json_is_null(id))
			th_jw_kstr(w, "description", th_json_get_str(args, names[i].description));
		else
			th_jw_kint(w, "id", th_json_int(id, -1));
		th_jw_object_end(w);
	}
}

static bool has_target(const struct th_json *args)
{
	for (size_t i = 0; i < 2; i++)
		if (th_json_get_str(args, names[i].description).len ||
		    th_json_type(th_json_get(args, names[i].id)) == TH_JSON_INT)
			return true;
	return false;
}

static bool say_call(struct th_say *s, struct th_str name, struct th_str arguments)
{
	struct th_json_doc *doc = NULL;
	struct th_buf item = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_jw w = th_jw(&item);
	bool target;

	if (!th_words_is_function(name))
		return false;
	target = !th_json_parse(arguments, &doc, NULL) && has_target(th_json_root(doc));
	if (target) {
		th_jw_object(&w);
		th_jw_kstr(&w, "type", TH_STR("computer_call"));
		th_jw_kstr(&w, "call_id", s->call_id);
		th_jw_kstr(&w, "name", name);
		th_jw_kstr(&w, "arguments", arguments);
		th_jw_kraw(&w, "actions", TH_STR("[]"));
		th_jw_key(&w, TH_STR("targets"));
		th_jw_array(&w);
		put_targets(th_json_root(doc), &w);
		th_jw_array_end(&w);
		th_jw_kraw(&w, "pending_safety_checks", TH_STR("[]"));
		th_jw_kstr(&w, "status", TH_STR("in_progress"));
		th_jw_object_end(&w);
		th_say_raw(s, th_buf_str(&item));
	} else {
		th_words_say(s, name, arguments);
	}
	th_json_free(doc);
	th_buf_deinit(&item);
	return true;
}

static enum th_code decode(const struct th_dialect_context *c, struct th_str items,
			   struct th_buf *out, struct th_err *err)
{
	return th_dialect_each(c, items, th_say_text, say_call,
			       "the answer was empty: call a function, or say that you are done",
			       out, err);
}

/* ---- resolve ---- */

size_t th_elements_targets(const struct th_json *item, struct th_target ret[TH_TARGETS_MAX])
{
	const struct th_json *list = th_json_get(item, "targets");
	struct th_json_iter it = th_json_iter(list);
	size_t count = 0;

	while (th_json_is_array(list) && count < TH_TARGETS_MAX && th_json_next(&it))
		ret[count++] = (struct th_target){
			th_json_get_str(it.val, "description"),
			th_json_get_int(it.val, "id", -1),
		};
	return count;
}

static void put_arguments(const struct th_json *args, const struct th_target_place *places,
			  size_t count, struct th_buf *out)
{
	struct th_jw w = th_jw(out);
	struct th_json_iter it = th_json_iter(args);

	th_jw_object(&w);
	while (th_json_next(&it)) {
		bool target = false;

		for (size_t i = 0; i < TH_COUNT(names); i++)
			target = target || th_str_is(it.key, names[i].description) ||
				 th_str_is(it.key, names[i].id) || th_str_is(it.key, names[i].x) ||
				 th_str_is(it.key, names[i].y);
		if (target)
			continue;
		th_jw_key(&w, it.key);
		th_jw_json(&w, it.val);
	}
	for (size_t i = 0; i < count; i++) {
		size_t at = count > 1 ? i + 1 : 0;

		th_jw_kint(&w, names[at].x, places[i].at.x);
		th_jw_kint(&w, names[at].y, places[i].at.y);
	}
	th_jw_object_end(&w);
}

static void say_missing(struct th_say *s, const struct th_target *target,
			const struct th_target_place *place, struct th_str arguments)
{
	struct th_buf text = TH_BUF_INIT(TH_KIB);

	if (place->why)
		th_buf_printf(&text, "element not found: %s", place->why);
	else if (target->description.len)
		th_buf_printf(&text, "element not found: %.*s",
			      TH_FMT(th_str_sub(target->description, 0, 200)));
	else
		th_buf_printf(&text, "element not found: there is no %lld on this picture",
			      (long long)target->id);
	th_say_error(s, arguments, text.ptr);
	th_buf_deinit(&text);
}

enum th_code th_elements_resolve(const struct th_dialect_context *c, const struct th_json *item,
				 const struct th_target_place *places, size_t count,
				 struct th_buf *out, struct th_err *err)
{
	/* The places are pixels of the screen, whatever the model counts in. */
	struct th_profile pixels = { .name = "elements", .dialect = c->profile->dialect };
	struct th_dialect_context own = *c;
	struct th_str name = th_json_get_str(item, "name");
	struct th_str arguments = th_json_get_str(item, "arguments");
	struct th_buf list = TH_BUF_INIT(TH_JSON_SIZE_MAX), args = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_target targets[TH_TARGETS_MAX];
	struct th_json_doc *doc;
	struct th_arena a;
	struct th_say s;
	enum th_code code = th_json_parse(arguments, &doc, err);
	bool found = true;

	if (code)
		return th_prefix(err, code, "the call's arguments");
	assert(count == th_elements_targets(item, targets));
	own.profile = &pixels;
	own.image = c->screen;
	th_arena_init(&a, th_dialect_memory(arguments.len));
	th_say_begin(&s, &own, &a, &list);
	th_say_from(&s, th_json_get_str(item, "call_id"), name, arguments);
	for (size_t i = 0; found && i < count; i++) {
		found = places[i].found;
		if (!found)
			say_missing(&s, &targets[i], &places[i], arguments);
	}
	put_arguments(th_json_root(doc), places, count, &args);
	if (found)
		th_words_say(&s, name, th_buf_str(&args));
	code = th_say_end(&s, NULL, TH_STR(""), err);
	if (!code) /* the one element of the list */
		th_buf_add(out, th_str_sub(th_buf_str(&list), 1, list.len - 2));
	th_buf_deinit(&list);
	th_buf_deinit(&args);
	th_arena_deinit(&a);
	th_json_free(doc);
	return code;
}

/* ---- encode, tools ---- */

static enum th_code no_points(const struct th_dialect_context *c, const struct th_action *a,
			      struct th_buf *name, struct th_buf *arguments, struct th_err *err)
{
	struct th_jw w = th_jw(arguments);

	if (a->has_at || a->path_count)
		return th_fail(err, TH_EUNSUPPORTED, "this model names elements, not points");
	th_buf_add_cstr(name, "computer");
	return th_words_write(c, TH_WORDS_CUA, a, &w, err);
}

static enum th_code encode(const struct th_dialect_context *c, struct th_str items,
			   struct th_buf *out, struct th_err *err)
{
	return th_words_write_calls(c, items, no_points, out, err);
}

#define TOOL(target, type, doc)                                                                   \
	"{\"name\":\"computer\",\"description\":\"Use a mouse and a keyboard on a computer's "    \
	"screen and look at it. Each call is answered with a screenshot. " doc                    \
	"\",\"parameters\":{\"type\":\"object\",\"properties\":{\"action\":{\"type\":\"string\"," \
	"\"enum\":[\"screenshot\",\"click\",\"double_click\",\"triple_click\",\"drag\","          \
	"\"type\",\"keypress\",\"scroll\",\"move\",\"wait\",\"terminate\"]},\"" target            \
	"\":{\"type\":\"" type "\"},\"start_" target "\":{\"type\":\"" type "\"},\"end_" target   \
	"\":{\"type\":\"" type "\"},\"text\":{\"type\":\"string\"},\"keys\":{\"type\":"           \
	"\"array\",\"items\":{\"type\":\"string\"}},\"button\":{\"type\":\"string\",\"enum\":["   \
	"\"left\",\"right\",\"middle\",\"back\",\"forward\"]},\"scroll_x\":{\"type\":"            \
	"\"integer\",\"description\":\"Pixels to the right; negative: to the left.\"},"           \
	"\"scroll_y\":{\"type\":\"integer\",\"description\":\"Pixels down; negative: up.\"},"     \
	"\"time\":{\"type\":\"number\",\"description\":\"Seconds to wait.\"},\"status\":{"        \
	"\"type\":\"string\",\"enum\":[\"success\",\"failure\"]}},\"required\":[\"action\"]}}"

static void tools_descriptions(const struct th_dialect_context *c, struct th_jw *w)
{
	(void)c;
	th_jw_raw(w, TH_STR(TOOL("element_description", "string",
				 "Describe the element that is meant so that somebody who sees "
				 "only the screenshot finds it: what it says, what it looks like, "
				 "where it is.")));
}

static void tools_ids(const struct th_dialect_context *c, struct th_jw *w)
{
	(void)c;
	th_jw_raw(w, TH_STR(TOOL("element_id", "integer",
				 "Elements have numbered marks on the screenshot; say the number "
				 "of the one that is meant.")));
}

const struct th_dialect th_dialect_descriptions = {
	.name = "descriptions",
	.note = "elements by description, for a grounder to find",
	.tools = tools_descriptions,
	.decode = decode,
	.encode = encode,
};

const struct th_dialect th_dialect_elements = {
	.name = "elements",
	.note = "elements by the number of their mark",
	.tools = tools_ids,
	.decode = decode,
	.encode = encode,
};
