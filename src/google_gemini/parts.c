/* SPDX-License-Identifier: Apache-2.0 */
#include "google_gemini/parts.h"

#include <stdlib.h>

#include "base/limits.h"

void th_gemini_parts_deinit(struct th_gemini_parts *parts)
{
	for (size_t i = 0; i < parts->count; i++) {
		th_buf_deinit(&parts->list[i].raw);
		th_buf_deinit(&parts->list[i].more);
		th_gemini_args_free(parts->list[i].args);
	}
	free(parts->list);
	*parts = (struct th_gemini_parts){ 0 };
}

static struct th_gemini_part *part_new(struct th_gemini_parts *parts, enum th_gemini_part_kind kind)
{
	struct th_gemini_part *p;

	if (parts->failed || parts->count == TH_ANSWER_ITEMS_MAX) {
		parts->failed = true;
		return NULL;
	}
	if (parts->count == parts->cap) {
		parts->cap = parts->cap ? parts->cap * 2 : 4;
		parts->list = th_realloc(parts->list, parts->cap * sizeof(*parts->list));
	}
	p = &parts->list[parts->count++];
	*p = (struct th_gemini_part){ .kind = kind };
	th_buf_init(&p->raw, TH_ANSWER_MAX);
	th_buf_init(&p->more, TH_ANSWER_MAX);
	return p;
}

static void keep(struct th_gemini_parts *parts, struct th_buf *to, struct th_str raw)
{
	if (parts->failed || raw.len > TH_ANSWER_MAX - parts->size) {
		parts->failed = true;
		return;
	}
	parts->size += raw.len;
	th_buf_add(to, raw);
}

static struct th_gemini_part *last_of(const struct th_gemini_parts *parts)
{
	return parts->count ? &parts->list[parts->count - 1] : NULL;
}

bool th_gemini_members(struct th_json_walk *w, struct th_gemini_members *ret)
{
	struct th_str key, *to;

	*ret = (struct th_gemini_members){ .other = false };
	if (!th_json_enter(w, '{'))
		return false;
	while (th_json_member(w, &key)) {
		to = th_str_eq(key, TH_STR("text"))           ? &ret->text
		     : th_str_eq(key, TH_STR("thought"))      ? &ret->thought
		     : th_str_eq(key, TH_STR("functionCall")) ? &ret->call
							      : NULL;
		if (to && !to->len) {
			*to = th_json_skip(w);
		} else {
			(void)th_json_skip(w);
			ret->other = true;
		}
	}
	return true;
}

static void add_whole(struct th_gemini_parts *parts, struct th_str part)
{
	struct th_gemini_part *p = part_new(parts, TH_GEMINI_WHOLE);

	if (p)
		keep(parts, &p->raw, part);
}

static void add_text(struct th_gemini_parts *parts, const struct th_gemini_members *m)
{
	bool thought = th_str_is(m->thought, "true");
	enum th_gemini_part_kind kind = thought ? TH_GEMINI_THOUGHT : TH_GEMINI_TEXT;
	struct th_gemini_part *p = last_of(parts);

	if (!p || p->kind != kind)
		p = part_new(parts, kind);
	if (p)
		keep(parts, &p->raw, th_str_sub(m->text, 1, m->text.len - 2));
}

/* ---- calls ---- */

struct call {
	struct th_str name, id, args, partial;
	bool more;
};

static void read_call(struct th_str raw, struct call *ret)
{
	struct th_json_raw_iter it = th_json_raw_iter(raw);

	*ret = (struct call){ .more = false };
	while (th_json_raw_next(&it)) {
		if (th_str_eq(it.key, TH_STR("partialArgs")) && !ret->partial.len)
			ret->partial = it.val;
		else if (th_str_eq(it.key, TH_STR("willContinue")))
			ret->more = th_str_is(it.val, "true");
		else if (th_str_eq(it.key, TH_STR("name")) && !ret->name.len)
			ret->name = it.val;
		else if (th_str_eq(it.key, TH_STR("args")) && !ret->args.len)
			ret->args = it.val;
		else if (th_str_eq(it.key, TH_STR("id")) && !ret->id.len)
			ret->id = it.val;
	}
}

/* Members of `object` but for those in `without`, each with a comma before it. */
static void keep_members(struct th_gemini_parts *parts, struct th_buf *to, struct th_str object,
			 const char *const *without)
{
	struct th_json_raw_iter it = th_json_raw_iter(object);

	while (th_json_raw_next(&it)) {
		bool skip = false;

		for (const char *const *name = without; *name; name++)
			skip = skip || th_str_is(it.key, *name);
		if (skip)
			continue;
		keep(parts, to, TH_STR(",\""));
		keep(parts, to, it.key);
		keep(parts, to, TH_STR("\":"));
		keep(parts, to, it.val);
	}
}

static bool add_partial(struct th_gemini_parts *parts, struct th_gemini_part *p,
			const struct call *c)
{
	struct th_json_raw_iter it = th_json_raw_iter(c->partial);
	bool good = true;

	while (!parts->failed && th_json_raw_next(&it)) {
		size_t size;

		good = th_gemini_args_add(p->args, it.val, &size) && good;
		parts->size += size;
		if (parts->size > TH_ANSWER_MAX)
			parts->failed = true;
	}
	p->open = c->more;
	return good;
}

static bool add_pieces(struct th_gemini_parts *parts, struct th_str part, struct th_str raw,
		       const struct call *c)
{
	static const char *const in_part[] = { "functionCall", NULL };
	static const char *const in_call[] = { "partialArgs", "willContinue", "args", NULL };
	struct th_gemini_part *p = last_of(parts);
	bool named = c->name.len > 0;

	if (named) {
		p = part_new(parts, TH_GEMINI_CALL);
		if (!p)
			return true;
		p->args = th_gemini_args_new();
		keep_members(parts, &p->raw, raw, in_call);
	}
	if (named || !p->more.len) /* a signature may come with a later piece */
		keep_members(parts, &p->more, part, in_part);
	return add_partial(parts, p, c);
}

/* The same call again, as a proxy that sends events twice would have it. */
static bool is_known(const struct th_gemini_parts *parts, const struct call *c)
{
	if (c->id.len <= 2)
		return false;
	for (size_t i = 0; i < parts->count; i++) {
		const struct th_gemini_part *p = &parts->list[i];

		if (p->kind == TH_GEMINI_WHOLE &&
		    th_str_eq(
			th_json_raw_get(th_json_raw_get(th_buf_str(&p->raw), "functionCall"), "id"),
			c->id))
			return true;
	}
	return false;
}

static bool add_call(struct th_gemini_parts *parts, struct th_str part, struct th_str raw,
		     struct th_gemini_piece *ret)
{
	const struct th_gemini_part *last = last_of(parts);
	bool open = last && last->kind == TH_GEMINI_CALL && last->open;
	struct call c;

	read_call(raw, &c);
	if (!c.name.len && open)
		return add_pieces(parts, part, raw, &c);
	if (c.name.len && (c.more || c.partial.len))
		return add_pieces(parts, part, raw, &c);
	if (!c.name.len && !c.args.len && !c.id.len)
		return true; /* it closes what is closed */
	if (is_known(parts, &c))
		return true;
	add_whole(parts, part);
	*ret = (struct th_gemini_piece){ TH_GEMINI_PIECE_CALL, c.args };
	return true;
}

bool th_gemini_parts_take(struct th_gemini_parts *parts, struct th_str part,
			  const struct th_gemini_members *m, struct th_gemini_piece *ret)
{
	*ret = (struct th_gemini_piece){ .kind = TH_GEMINI_PIECE_NONE };
	if (m->call.len && m->call.ptr[0] == '{')
		return add_call(parts, part, m->call, ret);
	if (m->text.len >= 2 && m->text.ptr[0] == '"' && !m->call.len) {
		*ret = (struct th_gemini_piece){ th_str_is(m->thought, "true")
						     ? TH_GEMINI_PIECE_THOUGHT
						     : TH_GEMINI_PIECE_TEXT,
						 m->text };
		if (m->other)
			add_whole(parts, part);
		else
			add_text(parts, m);
		return true;
	}
	if (m->other || m->text.len || m->call.len)
		add_whole(parts, part);
	return true;
}

bool th_gemini_parts_add(struct th_gemini_parts *parts, struct th_str part,
			 struct th_gemini_piece *ret)
{
	struct th_json_walk w = th_json_walk(part);
	struct th_gemini_members m;

	*ret = (struct th_gemini_piece){ .kind = TH_GEMINI_PIECE_NONE };
	return th_gemini_members(&w, &m) && th_gemini_parts_take(parts, part, &m, ret);
}

/* ---- printing ---- */

static void print_part(const struct th_gemini_part *p, struct th_jw *w)
{
	if (p->kind == TH_GEMINI_WHOLE) {
		th_jw_raw(w, th_buf_str(&p->raw));
		return;
	}
	th_jw_object(w);
	if (p->kind == TH_GEMINI_CALL) {
		th_jw_key(w, TH_STR("functionCall"));
		th_jw_object(w);
		if (p->raw.len) /* its first comma is left to the writer */
			th_jw_raw(w, th_str_sub(th_buf_str(&p->raw), 1, p->raw.len));
		th_jw_key(w, TH_STR("args"));
		th_gemini_args_print(p->args, w);
		th_jw_object_end(w);
		th_buf_add(w->out, th_buf_str(&p->more));
	} else {
		th_jw_key(w, TH_STR("text"));
		th_jw_raw(w, TH_STR("\""));
		th_buf_add(w->out, th_buf_str(&p->raw));
		th_buf_add_char(w->out, '"');
		if (p->kind == TH_GEMINI_THOUGHT)
			th_jw_kbool(w, "thought", true);
	}
	th_jw_object_end(w);
}

void th_gemini_parts_print(const struct th_gemini_parts *parts, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_array(&w);
	for (size_t i = 0; i < parts->count; i++)
		print_part(&parts->list[i], &w);
	th_jw_array_end(&w);
}
