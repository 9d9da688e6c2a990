/* SPDX-License-Identifier: Apache-2.0 */
#include "dialects/say.h"

#include <stdio.h>

#include "base/text.h"
#include "dialects/space.h"

#define ID_MAX 64
#define INPUT_SHOWN_MAX (4 * TH_KIB) /* of what could not be read; all of it is in the raw turn */

size_t th_dialect_memory(size_t size)
{
	return 8 * size + 256 * TH_KIB;
}

/* Writes the item for what could not be read, see above. */
static void write_error(struct th_jw *w, struct th_str call_id, struct th_str input,
			const char *sentence)
{
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("computer_call"));
	th_jw_kstr(w, "call_id", call_id);
	th_jw_kraw(w, "actions", TH_STR("[]"));
	th_jw_kstr(w, "error", th_str_of(sentence));
	th_jw_kstr(w, "input", input);
	th_jw_kraw(w, "pending_safety_checks", TH_STR("[]"));
	th_jw_kstr(w, "status", TH_STR("incomplete"));
	th_jw_object_end(w);
}

/* ---- writing ---- */

void th_say_begin(struct th_say *s, const struct th_dialect_context *c, struct th_arena *a,
		  struct th_buf *out)
{
	*s = (struct th_say){ .c = c, .a = a, .out = out, .w = th_jw(out) };
	th_jw_array(&s->w);
}

static struct th_str make_id(struct th_say *s, char room[ID_MAX])
{
	if (s->call_id.len)
		return s->call_id;
	snprintf(room, ID_MAX, "call_%lld_%lld", (long long)s->c->turn, (long long)s->count++);
	return th_str_of(room);
}

static void put_origin(struct th_say *s)
{
	if (!s->call_id.len)
		return;
	th_jw_kstr(&s->w, "name", s->name);
	th_jw_kstr(&s->w, "arguments", s->arguments);
}

void th_say_break(struct th_say *s)
{
	if (!s->open)
		return;
	th_jw_array_end(&s->w);
	th_jw_kraw(&s->w, "pending_safety_checks", TH_STR("[]"));
	th_jw_kstr(&s->w, "status", TH_STR("completed"));
	th_jw_object_end(&s->w);
	s->open = false;
}

static void put_message(struct th_say *s, struct th_str text, const char *outcome)
{
	struct th_jw *w = &s->w;

	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("message"));
	th_jw_kstr(w, "role", TH_STR("assistant"));
	th_jw_key(w, TH_STR("content"));
	th_jw_array(w);
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("output_text"));
	th_jw_kstr(w, "text", text);
	th_jw_kraw(w, "annotations", TH_STR("[]"));
	th_jw_object_end(w);
	th_jw_array_end(w);
	th_jw_kstr(w, "status", TH_STR("completed"));
	if (outcome) {
		th_jw_kstr(w, "outcome", th_str_of(outcome));
		if (s->call_id.len)
			th_jw_kstr(w, "call_id", s->call_id);
	}
	th_jw_object_end(w);
	s->any = true;
}

static void flush(struct th_say *s)
{
	th_say_break(s);
	if (s->text.len)
		put_message(s, s->text, NULL);
	s->text = (struct th_str){ NULL, 0 };
}

void th_say_from(struct th_say *s, struct th_str call_id, struct th_str name,
		 struct th_str arguments)
{
	th_say_break(s);
	s->call_id = call_id;
	s->name = name;
	s->arguments = arguments;
}

void th_say_reasoning(struct th_say *s, struct th_str text)
{
	struct th_jw *w = &s->w;

	text = th_str_trim(text);
	if (!text.len)
		return;
	flush(s);
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

void th_say_text(struct th_say *s, struct th_str text)
{
	text = th_str_trim(text);
	if (!text.len)
		return;
	flush(s);
	s->text = text;
}

void th_say_raw(struct th_say *s, struct th_str item)
{
	flush(s);
	th_jw_raw(&s->w, item);
}

void th_say_function(struct th_say *s, struct th_str name, struct th_str arguments)
{
	char room[ID_MAX];

	flush(s);
	th_jw_object(&s->w);
	th_jw_kstr(&s->w, "type", TH_STR("function_call"));
	th_jw_kstr(&s->w, "call_id", make_id(s, room));
	th_jw_kstr(&s->w, "name", name);
	th_jw_kstr(&s->w, "arguments", arguments);
	th_jw_kstr(&s->w, "status", TH_STR("completed"));
	th_jw_object_end(&s->w);
	s->any = true;
}

void th_say_error(struct th_say *s, struct th_str input, const char *sentence)
{
	char room[ID_MAX];

	flush(s);
	write_error(&s->w, make_id(s, room), th_utf8_cut(input, INPUT_SHOWN_MAX), sentence);
	s->any = s->failed = true;
}

static enum th_code say_action(struct th_say *s, const struct th_action *action, struct th_err *err)
{
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_jw w = th_jw(&text);
	struct th_json_doc *doc = NULL;
	struct th_action checked;
	char room[ID_MAX];
	enum th_code code;

	th_action_print(action, &w);
	code = th_json_parse(th_buf_str(&text), &doc, err);
	if (!code)
		code = th_action_parse(th_json_root(doc), s->a, &checked, err);
	th_json_free(doc);
	if (!code && !s->open) {
		flush(s);
		th_jw_object(&s->w);
		th_jw_kstr(&s->w, "type", TH_STR("computer_call"));
		th_jw_kstr(&s->w, "call_id", make_id(s, room));
		put_origin(s);
		th_jw_key(&s->w, TH_STR("actions"));
		th_jw_array(&s->w);
		s->open = s->any = true;
	}
	if (!code)
		th_jw_raw(&s->w, th_buf_str(&text));
	th_buf_deinit(&text);
	return code;
}

/* A drag from where the pointer is. */
static enum th_code say_drag(struct th_say *s, const struct th_action *drag, struct th_err *err)
{
	const struct th_action steps[] = {
		{ .kind = TH_ACTION_MOUSE_DOWN, .button = drag->button },
		{ .kind = TH_ACTION_MOVE, .has_at = true, .at = drag->path[0] },
		{ .kind = TH_ACTION_MOUSE_UP, .button = drag->button },
	};
	enum th_code code = TH_OK;

	for (size_t i = 0; !code && i < TH_COUNT(steps); i++)
		code = say_action(s, &steps[i], err);
	return code;
}

/* The model's last word: its own text, else what it said just before, else a sentence. */
static void say_last(struct th_say *s, struct th_str text, const char *outcome, struct th_str plain)
{
	text = th_str_trim(text);
	th_say_break(s);
	if (text.len)
		flush(s);
	else if (s->text.len)
		text = s->text;
	else
		text = plain;
	s->text = (struct th_str){ NULL, 0 };
	put_message(s, text, outcome);
}

static void say_browser(struct th_say *s, const struct th_word *word)
{
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_jw w = th_jw(&text);

	th_jw_object(&w);
	th_jw_kstr(&w, "action", th_str_of(word->name));
	if (!strcmp(word->name, "goto"))
		th_jw_kstr(&w, "url", word->text);
	if (!strcmp(word->name, "search"))
		th_jw_kstr(&w, "query", word->text);
	th_jw_kbool(&w, "screenshot", true); /* such a model goes by pictures */
	th_jw_object_end(&w);
	th_say_function(s, TH_STR(TH_TOOL_BROWSER), th_buf_str(&text));
	th_buf_deinit(&text);
}

static void say_fact(struct th_say *s, const struct th_word *word)
{
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_jw w = th_jw(&text);

	th_jw_object(&w);
	th_jw_kstr(&w, "fact", word->text);
	th_jw_object_end(&w);
	th_say_function(s, TH_STR("remember"), th_buf_str(&text));
	th_buf_deinit(&text);
}

enum th_code th_say_word(struct th_say *s, const struct th_word *word, struct th_err *err)
{
	switch (word->verb) {
	case TH_VERB_ACTION:
		if (word->action.kind == TH_ACTION_DRAG && word->action.path_count == 1)
			return say_drag(s, &word->action, err);
		return say_action(s, &word->action, err);
	case TH_VERB_END:
		say_last(s, word->text, word->failed ? TH_DIALECT_FAILED : TH_DIALECT_COMPLETED,
			 word->failed ? TH_STR("Task failed.") : TH_STR("Task completed."));
		return TH_OK;
	case TH_VERB_ASK:
		say_last(s, word->text, TH_DIALECT_NEEDS_USER, TH_STR("I need your help."));
		return TH_OK;
	case TH_VERB_REMEMBER:
		say_fact(s, word);
		return TH_OK;
	case TH_VERB_BROWSER:
		say_browser(s, word);
		return TH_OK;
	}
	return TH_OK;
}

enum th_code th_say_end(struct th_say *s, const char *what, struct th_str input, struct th_err *err)
{
	flush(s);
	if (!s->any && what) {
		s->call_id = (struct th_str){ NULL, 0 };
		th_say_error(s, input, what);
	}
	th_jw_array_end(&s->w);
	return th_buf_check(s->out, "the answer's items", err);
}

/* ---- points and keys ---- */

#define BLANKS " \t\r\n\v\f"

static bool is_of(char c, const char *set)
{
	return c && strchr(set, c);
}

/* Behind a tag: "<point>", "</bbox>", "<|box_start|>"; or `s` itself. */
static struct th_str skip_tag(struct th_str s)
{
	size_t i = 1;

	while (i < s.len && i < 24 &&
	       (s.ptr[i] == '/' || s.ptr[i] == '|' || s.ptr[i] == '_' ||
		(s.ptr[i] >= 'a' && s.ptr[i] <= 'z')))
		i++;
	return i < s.len && s.ptr[i] == '>' ? th_str_sub(s, i + 1, s.len) : s;
}

static bool in_number(char c)
{
	return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
}

int th_dialect_numbers(struct th_str s, double *ret, int max)
{
	int count = 0;

	while (s.len) {
		size_t len = 0;

		if (s.ptr[0] == '<') {
			struct th_str rest = skip_tag(s);

			if (rest.len == s.len)
				return -1;
			s = rest;
			continue;
		}
		if (is_of(s.ptr[0], ",;()[]{}" BLANKS)) {
			s = th_str_sub(s, 1, s.len);
			continue;
		}
		while (len < s.len && in_number(s.ptr[len]))
			len++;
		if (count == max || !th_str_f64(th_str_sub(s, 0, len), &ret[count]))
			return -1;
		count++;
		s = th_str_sub(s, len, s.len);
	}
	return count;
}

static struct th_size image_of(const struct th_dialect_context *c)
{
	return c->image.width > 0 && c->image.height > 0 ? c->image : c->screen;
}

enum th_code th_dialect_point(const struct th_dialect_context *c, const double *n, int count,
			      struct th_point *ret, struct th_err *err)
{
	double x = n[0], y = n[1];

	if (count != 2 && count != 4)
		return th_fail(err, TH_EPROTO, "a point must be two numbers, x and y");
	if (count == 4) {
		x = (n[0] + n[2]) / 2;
		y = (n[1] + n[3]) / 2;
	}
	return th_space_to_screen(&c->profile->space, image_of(c), c->screen, x, y, ret, err);
}

struct th_space_point th_dialect_place(const struct th_dialect_context *c, struct th_point p)
{
	return th_space_of_screen(&c->profile->space, image_of(c), c->screen, p);
}

/* One name off *s, which does not begin with a blank; "+" alone is a name. */
static struct th_str take_key(struct th_str *s)
{
	size_t len = s->ptr[0] == '+' ? 1 : 0;
	struct th_str key;

	while (s->ptr[0] != '+' && len < s->len && !is_of(s->ptr[len], "+" BLANKS))
		len++;
	key = th_str_sub(*s, 0, len);
	*s = th_str_sub(*s, len, s->len);
	return key;
}

enum th_code th_dialect_keys(struct th_str text, struct th_action *ret, struct th_err *err)
{
	struct th_str rest = th_str_trim(text);

	if (!rest.len && text.len) /* " " is the space bar */
		rest = TH_STR("space");
	while (rest.len) {
		if (ret->key_count == TH_CHORD_KEYS_MAX)
			return th_fail(err, TH_EPROTO, "a chord has at most %d keys",
				       TH_CHORD_KEYS_MAX);
		ret->keys[ret->key_count++] = take_key(&rest);
		while (rest.len && is_of(rest.ptr[0], BLANKS))
			rest = th_str_sub(rest, 1, rest.len);
		if (rest.len > 1 && rest.ptr[0] == '+')
			rest = th_str_trim(th_str_sub(rest, 1, rest.len));
	}
	return ret->key_count ? TH_OK : th_fail(err, TH_EPROTO, "the key is missing");
}
