/* SPDX-License-Identifier: Apache-2.0 */
#include "google_interactions/steps.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/limits.h"

static void step_deinit(struct th_step *s)
{
	th_buf_deinit(&s->start);
	th_buf_deinit(&s->parts);
	th_buf_deinit(&s->text);
	th_buf_deinit(&s->notes);
	th_buf_deinit(&s->arguments);
	th_buf_deinit(&s->members);
}

void th_steps_deinit(struct th_steps *steps)
{
	for (size_t i = 0; i < steps->count; i++)
		step_deinit(&steps->list[i]);
	free(steps->list);
	*steps = (struct th_steps){ 0 };
}

struct th_step *th_steps_find(struct th_steps *steps, int64_t index)
{
	for (size_t at = steps->count; at > 0 && steps->list[at - 1].index >= index; at--)
		if (steps->list[at - 1].index == index)
			return &steps->list[at - 1];
	return NULL;
}

static struct th_step *add_step(struct th_steps *steps, int64_t index)
{
	size_t at = steps->count;
	struct th_step *s;

	if (steps->failed || steps->count == TH_ANSWER_ITEMS_MAX) {
		steps->failed = true;
		return NULL;
	}
	if (steps->count == steps->cap) {
		steps->cap = steps->cap ? steps->cap * 2 : 8;
		steps->list = th_realloc(steps->list, steps->cap * sizeof(*steps->list));
	}
	while (at > 0 && steps->list[at - 1].index > index)
		at--;
	s = &steps->list[at];
	memmove(s + 1, s, (steps->count - at) * sizeof(*s));
	*s = (struct th_step){ .index = index };
	th_buf_init(&s->start, TH_ANSWER_MAX);
	th_buf_init(&s->parts, 2 * TH_ANSWER_MAX);
	th_buf_init(&s->text, TH_ANSWER_MAX);
	th_buf_init(&s->notes, TH_ANSWER_MAX);
	th_buf_init(&s->arguments, TH_ANSWER_MAX);
	th_buf_init(&s->members, TH_ANSWER_MAX);
	steps->count++;
	return s;
}

static void add(struct th_steps *steps, struct th_buf *to, struct th_str json)
{
	if (steps->failed || json.len > TH_ANSWER_MAX - steps->size) {
		steps->failed = true;
		return;
	}
	steps->size += json.len;
	th_buf_add(to, json);
}

static void add_element(struct th_steps *steps, struct th_buf *to, struct th_str json)
{
	if (to->len)
		add(steps, to, TH_STR(","));
	add(steps, to, json);
}

static struct th_str type_of(struct th_str object)
{
	return th_json_raw_inside(th_json_raw_get(object, "type"));
}

/* ---- parts ---- */

/* {"type":"text","text":"…","annotations":[…]} */
static void put_text(const struct th_step *s, struct th_buf *out)
{
	th_buf_add_cstr(out, "{\"type\":\"text\",\"text\":\"");
	th_buf_add(out, th_buf_str(&s->text));
	th_buf_add_char(out, '"');
	if (s->notes.len) {
		th_buf_add_cstr(out, ",\"annotations\":[");
		th_buf_add(out, th_buf_str(&s->notes));
		th_buf_add_char(out, ']');
	}
	th_buf_add_char(out, '}');
}

static void close_text(struct th_step *s)
{
	if (!s->open)
		return;
	if (s->parts.len)
		th_buf_add_char(&s->parts, ',');
	put_text(s, &s->parts);
	th_buf_clear(&s->text);
	th_buf_clear(&s->notes);
	s->open = false;
}

static void add_notes(struct th_steps *steps, struct th_step *s, struct th_str list)
{
	struct th_json_raw_iter it = th_json_raw_iter(list);

	while (!it.object && th_json_raw_next(&it)) {
		s->open = true;
		add_element(steps, &s->notes, it.val);
	}
}

/* Texts that follow each other are one; any other part stands alone. */
static void add_part(struct th_steps *steps, struct th_step *s, struct th_str part,
		     struct th_str *ret_text)
{
	if (!th_json_raw_is_object(part))
		return;
	if (th_str_is(type_of(part), "text")) {
		struct th_str text = th_json_raw_get(part, "text");

		s->open = true;
		add(steps, &s->text, th_json_raw_inside(text));
		add_notes(steps, s, th_json_raw_get(part, "annotations"));
		*ret_text = text;
		return;
	}
	close_text(s);
	add_element(steps, &s->parts, part);
}

void th_steps_start(struct th_steps *steps, int64_t index, struct th_str step)
{
	struct th_step *s = th_steps_find(steps, index);
	struct th_str type = type_of(step), text;
	struct th_json_raw_iter it;

	if (s || !(s = add_step(steps, index)))
		return;
	add(steps, &s->start, step);
	s->list = th_str_is(type, "thought")                                         ? "summary"
		  : th_str_is(type, "model_output") || th_str_is(type, "user_input") ? "content"
										     : NULL;
	if (!s->list)
		return;
	it = th_json_raw_iter(th_json_raw_get(step, s->list));
	while (!it.object && th_json_raw_next(&it))
		add_part(steps, s, it.val, &text);
}

/* ---- deltas ---- */

/* In the place of what an earlier delta set. */
static void set_member(struct th_steps *steps, struct th_step *s, struct th_str key,
		       struct th_str val)
{
	struct th_buf old = TH_BUF_INIT(TH_ANSWER_MAX + 2);
	struct th_json_raw_iter it;

	if (th_json_raw_is_null(val))
		return;
	th_buf_add_char(&old, '{');
	th_buf_add(&old, th_buf_str(&s->members));
	th_buf_add_char(&old, '}');
	steps->size -= s->members.len;
	th_buf_clear(&s->members);
	for (it = th_json_raw_iter(th_buf_str(&old)); th_json_raw_next(&it);) {
		if (th_str_eq(it.key, key))
			continue;
		add_element(steps, &s->members, TH_STR("\""));
		add(steps, &s->members, it.key);
		add(steps, &s->members, TH_STR("\":"));
		add(steps, &s->members, it.val);
	}
	add_element(steps, &s->members, TH_STR("\""));
	add(steps, &s->members, key);
	add(steps, &s->members, TH_STR("\":"));
	add(steps, &s->members, val);
	th_buf_deinit(&old);
}

/* All members but the delta's type and those that are named. */
static void set_members(struct th_steps *steps, struct th_step *s, struct th_str delta,
			const char *but)
{
	struct th_json_raw_iter it = th_json_raw_iter(delta);

	while (th_json_raw_next(&it))
		if (!th_str_is(it.key, "type") && !(but && th_str_is(it.key, but)))
			set_member(steps, s, it.key, it.val);
}

static bool is_media(struct th_str type)
{
	static const char *const types[] = { "image", "audio", "video", "document" };

	for (size_t i = 0; i < TH_COUNT(types); i++)
		if (th_str_is(type, types[i]))
			return true;
	return false;
}

void th_steps_delta(struct th_steps *steps, struct th_step *s, struct th_str delta,
		    enum th_delta_kind *ret_kind, struct th_str *ret_text)
{
	struct th_str type = type_of(delta);

	*ret_kind = TH_DELTA_TEXT;
	*ret_text = (struct th_str){ NULL, 0 };
	if (th_str_is(type, "arguments_delta")) {
		*ret_kind = TH_DELTA_ARGUMENTS;
		*ret_text = th_json_raw_get(delta, "arguments");
		add(steps, &s->arguments, th_json_raw_inside(*ret_text));
		set_members(steps, s, delta, "arguments");
	} else if (th_str_is(type, "thought_summary") && s->list) {
		*ret_kind = TH_DELTA_REASONING;
		add_part(steps, s, th_json_raw_get(delta, "content"), ret_text);
	} else if (th_str_is(type, "text_annotation_delta") || th_str_is(type, "text_annotation")) {
		add_notes(steps, s, th_json_raw_get(delta, "annotations"));
	} else if (s->list && (th_str_is(type, "text") || is_media(type))) {
		add_part(steps, s, delta, ret_text);
	} else { /* thought_signature; a call or a result of the provider's own tools */
		set_members(steps, s, delta, NULL);
	}
}

/* ---- put together ---- */

static void put_member(struct th_jw *w, struct th_str raw_key, struct th_str val)
{
	th_jw_raw(w, TH_STR("\""));
	th_buf_add(w->out, raw_key);
	th_buf_add(w->out, TH_STR("\":"));
	th_buf_add(w->out, val);
}

/* The text of the arguments is JSON inside of a JSON string. */
static void put_arguments(struct th_step *s, struct th_jw *w)
{
	struct th_buf quoted = TH_BUF_INIT(TH_ANSWER_MAX + 2), text = TH_BUF_INIT(TH_ANSWER_MAX);

	th_buf_add_char(&quoted, '"');
	th_buf_add(&quoted, th_buf_str(&s->arguments));
	th_buf_add_char(&quoted, '"');
	s->broken = !th_json_unescape(th_buf_str(&quoted), &text) ||
		    !th_str_starts(th_str_trim(th_buf_str(&text)), TH_STR("{")) ||
		    !th_json_valid(th_buf_str(&text));
	th_jw_kraw(w, "arguments", s->broken ? TH_STR("{}") : th_str_trim(th_buf_str(&text)));
	th_buf_deinit(&quoted);
	th_buf_deinit(&text);
}

static void put_step(struct th_step *s, struct th_jw *w)
{
	struct th_buf members = TH_BUF_INIT(TH_ANSWER_MAX + 2);
	struct th_json_raw_iter it;

	th_buf_add_char(&members, '{');
	th_buf_add(&members, th_buf_str(&s->members));
	th_buf_add_char(&members, '}');
	close_text(s);
	th_jw_object(w);
	for (it = th_json_raw_iter(th_buf_str(&s->start)); th_json_raw_next(&it);) {
		if ((s->list && s->parts.len && th_str_is(it.key, s->list)) ||
		    (s->arguments.len && th_str_is(it.key, "arguments")))
			continue;
		if (!th_json_raw_getn(th_buf_str(&members), it.key).len)
			put_member(w, it.key, it.val);
	}
	if (s->parts.len) {
		th_jw_key(w, th_str_of(s->list));
		th_jw_raw(w, TH_STR("["));
		th_buf_add(w->out, th_buf_str(&s->parts));
		th_buf_add_char(w->out, ']');
	}
	if (s->arguments.len)
		put_arguments(s, w);
	for (it = th_json_raw_iter(th_buf_str(&members)); th_json_raw_next(&it);)
		put_member(w, it.key, it.val);
	th_jw_object_end(w);
	th_buf_deinit(&members);
}

void th_steps_print(struct th_steps *steps, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_array(&w);
	for (size_t i = 0; i < steps->count; i++)
		put_step(&steps->list[i], &w);
	th_jw_array_end(&w);
}
