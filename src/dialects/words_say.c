/* SPDX-License-Identifier: Apache-2.0 */
/*
 * words_say.c - whole calls of a computer function, as items.
 */
#include "base/limits.h"
#include "dialects/words.h"

static enum th_code read_batch(struct th_say *s, const struct th_json *list, struct th_word *words,
			       struct th_err *err)
{
	struct th_json_iter it = th_json_iter(list);
	bool many = th_json_count(list) > 1;

	while (th_json_next(&it)) {
		enum th_code code = th_words_read(s->c, it.val, s->a, &words[it.index], err);

		if (!code && many && words[it.index].verb != TH_VERB_ACTION)
			code = th_fail(err, TH_EPROTO, "it must be alone in its call");
		if (code)
			return th_prefix(err, code, "action %zu", it.index + 1);
	}
	return TH_OK;
}

/* All words of a call must be good before one is said: it becomes one item. */
static enum th_code check_batch(const struct th_word *words, size_t count, struct th_arena *a,
				struct th_err *err)
{
	enum th_code code = TH_OK;

	for (size_t i = 0; !code && i < count; i++) {
		struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);
		struct th_jw w = th_jw(&text);
		struct th_json_doc *doc = NULL;
		struct th_action checked;

		if (words[i].verb != TH_VERB_ACTION || words[i].action.path_count == 1)
			continue;
		th_action_print(&words[i].action, &w);
		code = th_json_parse(th_buf_str(&text), &doc, err);
		if (!code)
			code = th_action_parse(th_json_root(doc), a, &checked, err);
		if (code && count > 1)
			th_prefix(err, code, "action %zu", i + 1);
		th_json_free(doc);
		th_buf_deinit(&text);
	}
	return code;
}

static enum th_code say_call(struct th_say *s, const struct th_json *args, struct th_err *err)
{
	const struct th_json *list = th_json_get(args, "actions");
	struct th_word one, *words = &one;
	size_t count = 1;
	enum th_code code;

	if (th_json_is_array(list) && th_json_count(list)) {
		count = th_json_count(list);
		if (count > TH_ACTIONS_MAX)
			return th_fail(err, TH_EPROTO,
				       "%zu actions in one call, of which at most %d are allowed",
				       count, TH_ACTIONS_MAX);
		words = th_arena_array(s->a, count, sizeof(*words));
		if (!words)
			return th_fail(err, TH_EPROTO, "the call is too large");
		code = read_batch(s, list, words, err);
	} else if (th_json_is_object(th_json_get(args, "action"))) {
		code = th_words_read(s->c, th_json_get(args, "action"), s->a, words, err);
	} else {
		code = th_words_read(s->c, args, s->a, words, err);
	}
	if (!code)
		code = check_batch(words, count, s->a, err);
	for (size_t i = 0; !code && i < count; i++)
		code = th_say_word(s, &words[i], err);
	return code;
}

void th_words_say(struct th_say *s, struct th_str name, struct th_str arguments)
{
	struct th_json_doc *doc = NULL;
	struct th_err err = { 0 };
	enum th_code code = th_json_parse(arguments, &doc, &err);

	(void)name;
	if (code)
		th_prefix(&err, code, "the arguments are not JSON");
	else
		code = say_call(s, th_json_root(doc), &err);
	if (code)
		th_say_error(s, arguments, err.msg);
	th_say_break(s);
	th_json_free(doc);
}

bool th_words_say_named(struct th_say *s, struct th_str name, struct th_str arguments)
{
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_jw w = th_jw(&text);
	struct th_json_doc *doc = NULL;
	struct th_json_iter it;
	struct th_err err = { 0 };
	enum th_code code;

	if (!th_words_knows(name))
		return false;
	code = th_json_parse(arguments.len ? arguments : TH_STR("{}"), &doc, &err);
	it = th_json_iter(th_json_root(doc));
	th_jw_object(&w);
	th_jw_kstr(&w, "action", name);
	while (th_json_is_object(th_json_root(doc)) && th_json_next(&it)) {
		if (th_str_is(it.key, "action"))
			continue;
		th_jw_key(&w, it.key);
		th_jw_json(&w, it.val);
	}
	th_jw_object_end(&w);
	if (code) {
		th_prefix(&err, code, "the arguments are not JSON");
		th_say_error(s, arguments, err.msg);
	} else {
		th_words_say(s, name, th_buf_str(&text));
	}
	th_json_free(doc);
	th_buf_deinit(&text);
	return true;
}
