/* SPDX-License-Identifier: Apache-2.0 */
/*
 * items.c - from the items of an answer to a dialect's reader, and to
 * its writer.
 */
#include "dialects/actions.h"
#include "dialects/say.h"
#include "dialects/words.h"

#define TEXT_MAX (6 * TH_ANSWER_MAX)

/* ---- items ---- */

bool th_item_is(const struct th_json *item, const char *type)
{
	return th_str_is(th_json_get_str(item, "type"), type);
}

/* An answer's last word, by its mark: TH_DIALECT_COMPLETED …; NULL: an ordinary message. */
static const char *outcome_of(const struct th_json *item)
{
	static const char *const all[] = { TH_DIALECT_COMPLETED, TH_DIALECT_FAILED,
					   TH_DIALECT_NEEDS_USER };

	for (size_t i = 0; i < TH_COUNT(all); i++)
		if (th_str_is(th_json_get_str(item, "outcome"), all[i]))
			return all[i];
	return NULL;
}

struct th_str th_item_text(const struct th_json *item, struct th_arena *a)
{
	const struct th_json *parts =
	    th_json_get(item, th_item_is(item, "reasoning") ? "summary" : "content");
	struct th_json_iter it = th_json_iter(parts);
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_str copy;

	if (th_json_type(parts) == TH_JSON_STR)
		return th_json_str(parts);
	while (th_json_is_array(parts) && th_json_next(&it)) {
		struct th_str one = th_json_get_str(it.val, "text");

		if (text.len && one.len)
			th_buf_add_char(&text, '\n');
		th_buf_add(&text, one);
	}
	copy = th_arena_str(a, th_buf_str(&text));
	th_buf_deinit(&text);
	return copy;
}

enum th_code th_item_actions(const struct th_json *item, struct th_arena *a, struct th_action **ret,
			     size_t *ret_count, struct th_err *err)
{
	const struct th_json *list = th_json_get(item, "actions");
	bool one = th_json_count(list) == 0;
	size_t count = one ? 1 : th_json_count(list);
	struct th_json_iter it = th_json_iter(list);

	*ret_count = 0;
	if (one && th_json_get_str(item, "error").ptr)
		return th_fail(err, TH_EUNSUPPORTED, "the call was not one");
	if (count > TH_ACTIONS_MAX)
		return th_fail(err, TH_EPROTO, "more than %d actions in one call", TH_ACTIONS_MAX);
	*ret = th_arena_array(a, count, sizeof(**ret));
	if (!*ret)
		return th_fail(err, TH_ELIMIT, "the call takes too much memory");
	for (size_t i = 0; i < count; i++) {
		const struct th_json *v = th_json_get(item, "action");
		enum th_code code;

		if (!one && th_json_next(&it))
			v = it.val;
		code = th_action_parse(v, a, &(*ret)[i], err);
		if (code == TH_EPROTO && !th_actions_openai_parse(v, a, &(*ret)[i], NULL))
			code = TH_OK;
		if (code)
			return code;
	}
	*ret_count = count;
	return TH_OK;
}

/* ---- decode ---- */

static bool say_call(struct th_say *s, struct th_str name, struct th_str arguments)
{
	if (!th_words_is_function(name))
		return false;
	th_words_say(s, name, arguments);
	return true;
}

static bool has_text(const struct th_json *item)
{
	const struct th_json *content = th_json_get(item, "content");
	struct th_json_iter it = th_json_iter(content);

	if (!th_json_is_array(content))
		return true;
	while (th_json_next(&it)) /* a refusal goes through as it is */
		if (!th_json_get_str(it.val, "text").ptr)
			return false;
	return true;
}

enum th_code th_dialect_each(const struct th_dialect_context *c, struct th_str items,
			     void (*text)(struct th_say *s, struct th_str text),
			     bool (*call)(struct th_say *s, struct th_str name,
					  struct th_str arguments),
			     const char *empty, struct th_buf *out, struct th_err *err)
{
	struct th_json_doc *doc;
	struct th_json_raw_iter raw = th_json_raw_iter(items);
	struct th_json_iter it;
	struct th_arena a;
	struct th_say s;
	enum th_code code = th_json_parse(items, &doc, err);

	if (code)
		return th_prefix(err, code == TH_ELIMIT ? code : TH_EPROTO, "the answer's items");
	th_arena_init(&a, th_dialect_memory(items.len));
	th_say_begin(&s, c, &a, out);
	it = th_json_iter(th_json_root(doc));
	while (th_json_is_array(th_json_root(doc)) && th_json_next(&it) && th_json_raw_next(&raw)) {
		struct th_str name = th_json_get_str(it.val, "name");
		struct th_str arguments = th_json_get_str(it.val, "arguments");

		if (th_item_is(it.val, "message") && has_text(it.val)) {
			text(&s, th_item_text(it.val, &a));
		} else if (th_item_is(it.val, "function_call")) {
			th_say_from(&s, th_json_get_str(it.val, "call_id"), name, arguments);
			if (!(call ? call : say_call)(&s, name, arguments))
				th_say_raw(&s, raw.val);
			else
				th_say_break(&s);
			s.any = true;
			th_say_from(&s, TH_STR(""), TH_STR(""), TH_STR(""));
		} else {
			th_say_raw(&s, raw.val);
			s.any = s.any || !th_item_is(it.val, "reasoning");
		}
	}
	code = th_say_end(&s, empty, TH_STR(""), err);
	th_arena_deinit(&a);
	th_json_free(doc);
	return code;
}

/* ---- encode ---- */

struct collector {
	struct th_said said;
	struct th_buf thought, text;
	struct th_arena *a;
};

static void add_line(struct th_buf *to, struct th_str text)
{
	if (to->len && text.len)
		th_buf_add_char(to, '\n');
	th_buf_add(to, text);
}

static enum th_code add_actions(struct collector *x, const struct th_json *item, struct th_err *err)
{
	struct th_action *actions = NULL, *all;
	size_t count = 0;
	enum th_code code = th_item_actions(item, x->a, &actions, &count, err);

	if (code)
		return code;
	all = th_arena_array(x->a, x->said.count + count, sizeof(*all));
	if (!all)
		return th_fail(err, TH_ELIMIT, "the answer takes too much memory");
	if (x->said.count)
		memcpy(all, x->said.actions, x->said.count * sizeof(*all));
	if (count)
		memcpy(all + x->said.count, actions, count * sizeof(*all));
	x->said.actions = all;
	x->said.count += count;
	return TH_OK;
}

static enum th_code add_item(struct collector *x, const struct th_json *item, struct th_err *err)
{
	struct th_said *s = &x->said;

	if (th_item_is(item, "reasoning")) {
		add_line(&x->thought, th_item_text(item, x->a));
	} else if (th_item_is(item, "message") && outcome_of(item)) {
		s->outcome = outcome_of(item);
		s->outcome_text = th_item_text(item, x->a);
	} else if (th_item_is(item, "message") || !th_json_get_str(item, "type").ptr) {
		add_line(&x->text, th_item_text(item, x->a));
	} else if (th_item_is(item, "computer_call")) {
		return add_actions(x, item, err);
	} else if (th_item_is(item, "function_call")) {
		s->functions[s->function_count++] =
		    (struct th_said_function){ th_json_get_str(item, "name"),
					       th_json_get_str(item, "arguments") };
	}
	return TH_OK;
}

static void put_text(struct th_str text, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_array(&w);
	if (text.len) {
		th_jw_object(&w);
		th_jw_kstr(&w, "type", TH_STR("message"));
		th_jw_kstr(&w, "role", TH_STR("assistant"));
		th_jw_key(&w, TH_STR("content"));
		th_jw_array(&w);
		th_jw_object(&w);
		th_jw_kstr(&w, "type", TH_STR("output_text"));
		th_jw_kstr(&w, "text", text);
		th_jw_object_end(&w);
		th_jw_array_end(&w);
		th_jw_object_end(&w);
	}
	th_jw_array_end(&w);
}

enum th_code th_dialect_write(const struct th_dialect_context *c, struct th_str items,
			      enum th_code (*write)(const struct th_dialect_context *c,
						    const struct th_said *said, struct th_buf *out,
						    struct th_err *err),
			      struct th_buf *out, struct th_err *err)
{
	struct th_json_doc *doc;
	struct th_json_iter it;
	struct th_arena a;
	struct collector x = { .a = &a };
	struct th_buf text = TH_BUF_INIT(TEXT_MAX);
	enum th_code code = th_json_parse(items, &doc, err);

	if (code)
		return th_prefix(err, code, "the items");
	th_arena_init(&a, 64 * th_dialect_memory(items.len));
	th_buf_init(&x.thought, TEXT_MAX);
	th_buf_init(&x.text, TEXT_MAX);
	it = th_json_iter(th_json_root(doc));
	x.said.functions =
	    th_arena_array(&a, th_json_count(th_json_root(doc)) + 1, sizeof(*x.said.functions));
	if (!x.said.functions)
		code = th_fail(err, TH_ELIMIT, "the answer takes too much memory");
	while (!code && th_json_is_array(th_json_root(doc)) && th_json_next(&it))
		code = add_item(&x, it.val, err);
	x.said.thought = th_buf_str(&x.thought);
	x.said.text = th_buf_str(&x.text);
	if (!code)
		code = write(c, &x.said, &text, err);
	if (!code)
		code = th_buf_check(&text, "the answer", err);
	if (!code)
		put_text(th_buf_str(&text), out);
	if (!code)
		code = th_buf_check(out, "the answer", err);
	th_buf_deinit(&x.thought);
	th_buf_deinit(&x.text);
	th_buf_deinit(&text);
	th_arena_deinit(&a);
	th_json_free(doc);
	return code;
}
