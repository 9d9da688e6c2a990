/* SPDX-License-Identifier: Apache-2.0 */
#include "dialects/adopt.h"

#include "base/limits.h"
#include "dialects/actions.h"
#include "dialects/list.h"
#include "events/native.h"

#define ADOPTED_MAX (4 * TH_ANSWER_MAX)

struct adopter {
	const struct th_profile *from;
	const struct th_request_options *to; /* results_as_user: what is not in its words is told */
	struct th_jw w;
	struct th_arena memory; /* of one call */
	struct th_err *err;
};

/* ---- texts ---- */

static void open_message(struct adopter *x)
{
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("message"));
	th_jw_kstr(&x->w, "role", TH_STR("assistant"));
	th_jw_kstr(&x->w, "status", TH_STR("completed"));
	th_jw_key(&x->w, TH_STR("content"));
	th_jw_array(&x->w);
}

static void put_text(struct adopter *x, struct th_str text)
{
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("output_text"));
	th_jw_kstr(&x->w, "text", text);
	th_jw_kraw(&x->w, "annotations", TH_STR("[]"));
	th_jw_object_end(&x->w);
}

static void close_message(struct adopter *x)
{
	th_jw_array_end(&x->w);
	th_jw_object_end(&x->w);
}

static void put_message(struct adopter *x, const struct th_json *item)
{
	const struct th_json *content = th_json_get(item, "content");
	struct th_json_iter it = th_json_iter(content);
	bool open = false;

	if (th_json_type(content) == TH_JSON_STR && th_json_str(content).len) {
		open_message(x);
		put_text(x, th_json_str(content));
		close_message(x);
		return;
	}
	while (th_json_is_array(content) && th_json_next(&it)) {
		struct th_str text = th_json_get_str(it.val, "text");

		if (!text.len)
			text = th_json_get_str(it.val, "refusal");
		if (!text.len)
			continue;
		if (!open)
			open_message(x);
		open = true;
		put_text(x, text);
	}
	if (open)
		close_message(x);
}

/* ---- calls ---- */

static void put_function(struct adopter *x, const struct th_json *item, struct th_str name,
			 struct th_str arguments)
{
	enum th_native native = th_native_of_type(th_json_get_str(item, "type"));

	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("function_call"));
	th_jw_kstr(&x->w, "call_id", th_json_get_str(item, th_native_id_member(native)));
	th_jw_kstr(&x->w, "name", name);
	th_jw_kstr(&x->w, "arguments", arguments);
	th_jw_object_end(&x->w);
}

static void put_ours(const struct th_action *actions, size_t count, struct th_jw *w)
{
	th_jw_key(w, TH_STR("actions"));
	th_jw_array(w);
	for (size_t i = 0; i < count; i++)
		th_action_print(&actions[i], w);
	th_jw_array_end(w);
}

/* {"actions":[…]} in our words; of a call that cannot be read: what it said. */
static void print_arguments(const struct th_json *item, const struct th_action *actions,
			    size_t count, struct th_buf *out)
{
	static const char *const said[] = { "actions", "action" };
	struct th_str text = th_json_get_str(item, "arguments");
	struct th_jw w = th_jw(out);
	const struct th_json *found = NULL;

	if (!count && text.len) {
		th_buf_add(out, text);
		return;
	}
	th_jw_object(&w);
	if (count)
		put_ours(actions, count, &w);
	for (size_t i = 0; i < TH_COUNT(said) && !count && th_json_is_null(found); i++)
		found = th_json_get(item, said[i]);
	if (!count && !th_json_is_null(found)) {
		th_jw_key(&w, TH_STR("actions"));
		th_jw_json(&w, found);
	}
	th_jw_object_end(&w);
}

/* A computer_call with actions in our words. */
static void print_call(const struct th_json *item, const struct th_action *actions, size_t count,
		       struct th_jw *w)
{
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("computer_call"));
	th_jw_kstr(w, "call_id", th_json_get_str(item, "call_id"));
	put_ours(actions, count, w);
	th_jw_kstr(w, "status", TH_STR("completed"));
	th_jw_object_end(w);
}

/* With the tool of the Responses wire; false: it has no words for it, and nothing was written. */
static bool put_openai(struct adopter *x, const struct th_json *item,
		       const struct th_action *actions, size_t count)
{
	bool preview = x->to->profile->computer == TH_COMPUTER_PREVIEW, good = true;
	struct th_buf list = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_jw w = th_jw(&list);

	if (preview ? count != 1 : x->to->profile->computer != TH_COMPUTER_GA)
		return false;
	for (size_t i = 0; i < count && good; i++)
		good = !th_actions_openai_encode(&actions[i], !preview, &w, NULL);
	if (good) {
		th_jw_object(&x->w);
		th_jw_kstr(&x->w, "type", TH_STR("computer_call"));
		th_jw_kstr(&x->w, "call_id", th_json_get_str(item, "call_id"));
		th_jw_key(&x->w, preview ? TH_STR("action") : TH_STR("actions"));
		th_jw_raw(&x->w, preview ? TH_STR("") : TH_STR("["));
		th_buf_add(x->w.out, th_buf_str(&list));
		th_buf_add_cstr(x->w.out, preview ? "" : "]");
		th_jw_kraw(&x->w, "pending_safety_checks", TH_STR("[]"));
		th_jw_kstr(&x->w, "status", TH_STR("completed"));
		th_jw_object_end(&x->w);
	}
	th_buf_deinit(&list);
	return good;
}

/* "I used the computer: {…}" */
static void put_told(struct adopter *x, const char *did, struct th_str name, struct th_str what)
{
	struct th_buf text = TH_BUF_INIT(ADOPTED_MAX);

	th_buf_printf(&text, "I %s%.*s: ", did, TH_FMT(name));
	th_buf_add(&text, what);
	open_message(x);
	put_text(x, th_buf_str(&text));
	close_message(x);
	th_buf_deinit(&text);
}

/* As text, which is all that such a dialect has; in its words when it has some. */
static void put_said(struct adopter *x, const struct th_json *item, const struct th_action *actions,
		     size_t count)
{
	const struct th_dialect_context c = { .profile = x->to->profile,
					      .screen = x->to->screen,
					      .image = x->to->image };
	struct th_buf call = TH_BUF_INIT(TH_ANSWER_MAX), said = TH_BUF_INIT(ADOPTED_MAX);
	struct th_jw w = th_jw(&call);

	th_jw_array(&w);
	print_call(item, actions, count, &w);
	th_jw_array_end(&w);
	if (count && c.screen.width > 0 &&
	    !c.profile->dialect->encode(&c, th_buf_str(&call), &said, NULL)) {
		th_jw_raw(&x->w, th_str_sub(th_buf_str(&call), 1, call.len - 2));
	} else {
		th_buf_clear(&said);
		print_arguments(item, actions, count, &said);
		put_told(x, "used the computer", TH_STR(""), th_buf_str(&said));
	}
	th_buf_deinit(&call);
	th_buf_deinit(&said);
}

static void put_computer(struct adopter *x, const struct th_json *item)
{
	const struct th_profile *to = x->to->profile;
	struct th_action *actions = NULL;
	size_t count = 0;

	th_arena_reset(&x->memory);
	/* Elements that a grounder is to find are said as they were. */
	if (x->from->dialect == &th_dialect_descriptions ||
	    x->from->dialect == &th_dialect_elements ||
	    th_model_actions(x->from, item, &x->memory, &actions, &count, NULL))
		count = 0;
	if (to->dialect->results_as_user) {
		put_said(x, item, actions, count);
	} else if (count && to->wire->dialect) {
		print_call(item, actions, count, &x->w);
	} else if (!count || !put_openai(x, item, actions, count)) {
		struct th_buf arguments = TH_BUF_INIT(ADOPTED_MAX);

		print_arguments(item, actions, count, &arguments);
		put_function(x, item, TH_STR(TH_COMPUTER_FUNCTION_NAME), th_buf_str(&arguments));
		th_buf_deinit(&arguments);
	}
}

static void put_item(struct adopter *x, const struct th_json *item)
{
	struct th_str type = th_json_get_str(item, "type"), name = th_json_get_str(item, "name");
	bool call = th_str_is(type, "function_call");
	enum th_native native = th_native_of(item, &x->memory);
	struct th_str arguments;

	if (native) {
		th_arena_reset(&x->memory);
		th_native_as_function(native, item, &x->memory, &name, &arguments);
		if (x->to->profile->dialect->results_as_user)
			put_told(x, "called the tool ", name, arguments);
		else
			put_function(x, item, name, arguments);
	} else if (th_str_is(type, "message"))
		put_message(x, item);
	else if (th_str_is(type, "computer_call") ||
		 (call && th_str_is(name, TH_COMPUTER_FUNCTION_NAME)))
		put_computer(x, item);
	else if (call && x->to->profile->dialect->results_as_user)
		put_told(x, "called the tool ", name, th_json_get_str(item, "arguments"));
	else if (call)
		put_function(x, item, name, th_json_get_str(item, "arguments"));
}

enum th_code th_adopt_answer(const struct th_profile *from, const struct th_request_options *to,
			     struct th_str items, struct th_buf *out, struct th_err *err)
{
	struct adopter x = { .from = from, .to = to, .w = th_jw(out), .err = err };
	struct th_json_doc *doc;
	struct th_json_iter it;
	enum th_code code = th_json_parse(items, &doc, err);

	if (code)
		return th_prefix(err, code, "the answer of another model");
	if (!th_json_is_array(th_json_root(doc))) {
		th_json_free(doc);
		return th_fail(err, TH_EPROTO, "the items of an answer must be a list");
	}
	th_arena_init(&x.memory, TH_TURN_MEMORY_MAX);
	th_jw_array(&x.w);
	it = th_json_iter(th_json_root(doc));
	while (th_json_next(&it))
		put_item(&x, it.val);
	th_jw_array_end(&x.w);
	th_arena_deinit(&x.memory);
	th_json_free(doc);
	return th_buf_check(out, "the answer of another model", err);
}

enum th_code th_adopt_call(const struct th_profile *from, const struct th_request_options *to,
			   struct th_str item, struct th_buf *out, struct th_err *err)
{
	struct th_buf list = TH_BUF_INIT(ADOPTED_MAX), adopted = TH_BUF_INIT(ADOPTED_MAX);
	struct th_str first;
	enum th_code code;

	th_buf_add_char(&list, '[');
	th_buf_add(&list, item);
	th_buf_add_char(&list, ']');
	code = th_adopt_answer(from, to, th_buf_str(&list), &adopted, err);
	first = code ? TH_STR("") : th_str_sub(th_buf_str(&adopted), 1, adopted.len - 2);
	/* A call that is written as text has its result written as text, too. */
	if (th_str_is(th_json_raw_get(first, "type"), "\"message\""))
		first = TH_STR("{\"type\":\"computer_call\"}");
	th_buf_add(out, first);
	th_buf_deinit(&list);
	th_buf_deinit(&adopted);
	return code ? code : th_buf_check(out, "the call of another model", err);
}
