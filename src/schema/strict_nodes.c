/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/strict_nodes.h"

#include "base/limits.h"

struct th_strict_member **th_strict_find(struct th_strict_node *n, struct th_str key)
{
	struct th_strict_member **m = &n->first;

	while (*m && !th_str_eq((*m)->key, key))
		m = &(*m)->next;
	return m;
}

struct th_strict_node *th_strict_get(struct th_strict_node *n, const char *key)
{
	struct th_strict_member *m =
	    th_strict_is_object(n) ? *th_strict_find(n, th_str_of(key)) : NULL;

	return m ? m->value : NULL;
}

void th_strict_drop(struct th_strict_node *n, const char *key)
{
	struct th_strict_member **m = th_strict_find(n, th_str_of(key));

	if (*m)
		*m = (*m)->next;
}

enum th_code th_strict_full(struct th_strict *s)
{
	return th_fail(s->err, TH_ELIMIT, "the schema takes too much memory");
}

enum th_code th_strict_set(struct th_strict *s, struct th_strict_node *n, struct th_str key,
			   struct th_strict_node *value)
{
	struct th_strict_member **m = th_strict_find(n, key);

	if (!*m) {
		*m = TH_NEW(&s->arena, struct th_strict_member);
		if (!*m)
			return th_strict_full(s);
		(*m)->key = key;
	}
	(*m)->value = value;
	return TH_OK;
}

struct th_strict_node *th_strict_new(struct th_strict *s, enum th_json_type type)
{
	struct th_strict_node *n = TH_NEW(&s->arena, struct th_strict_node);

	if (n)
		n->type = type;
	return n;
}

enum th_code th_strict_add_missing(struct th_strict *s, struct th_strict_node *to,
				   const struct th_strict_node *from)
{
	enum th_code code = TH_OK;

	for (const struct th_strict_member *m = from->first; m && !code; m = m->next)
		if (!*th_strict_find(to, m->key))
			code = th_strict_set(s, to, m->key, m->value);
	return code;
}

enum th_code th_strict_copy(struct th_strict *s, const struct th_json *v,
			    struct th_strict_node **ret)
{
	struct th_json_iter it = th_json_iter(v);
	struct th_strict_node *n = th_strict_new(s, th_json_type(v));
	struct th_strict_member **end;

	*ret = n;
	if (!n)
		return th_strict_full(s);
	if (n->type != TH_JSON_OBJECT && n->type != TH_JSON_ARRAY) {
		n->json = v;
		n->text = th_json_str(v);
		return TH_OK;
	}
	if (n->type == TH_JSON_OBJECT && th_json_count(v) > TH_SCHEMA_MEMBERS_MAX)
		return th_fail(s->err, TH_ELIMIT,
			       "an object of the schema has more than %d members",
			       TH_SCHEMA_MEMBERS_MAX);
	end = &n->first;
	while (th_json_next(&it)) {
		enum th_code code;

		if (n->type == TH_JSON_OBJECT && *th_strict_find(n, it.key))
			continue;
		*end = TH_NEW(&s->arena, struct th_strict_member);
		if (!*end)
			return th_strict_full(s);
		(*end)->key = it.key;
		code = th_strict_copy(s, it.val, &(*end)->value);
		if (code)
			return code;
		end = &(*end)->next;
	}
	return TH_OK;
}

struct th_strict_node *th_strict_concat(struct th_strict *s, const struct th_strict_node *a,
					const struct th_strict_node *b)
{
	const struct th_strict_node *both[] = { a, b };
	struct th_strict_node *ret = th_strict_new(s, TH_JSON_ARRAY);
	struct th_strict_member **end = ret ? &ret->first : NULL;

	for (size_t i = 0; ret && i < TH_COUNT(both); i++)
		for (const struct th_strict_member *m = both[i] ? both[i]->first : NULL; m;
		     m = m->next) {
			*end = TH_NEW(&s->arena, struct th_strict_member);
			if (!*end)
				return NULL;
			(*end)->value = m->value;
			end = &(*end)->next;
		}
	return ret;
}

enum th_code th_strict_print(struct th_strict *s, const struct th_strict_node *n, size_t depth,
			     struct th_jw *w)
{
	bool object = n->type == TH_JSON_OBJECT;
	enum th_code code = TH_OK;

	if (n->type == TH_JSON_STR) {
		th_jw_str(w, n->text);
		return TH_OK;
	}
	if (!object && n->type != TH_JSON_ARRAY) {
		if (n->json)
			th_jw_json(w, n->json);
		else
			th_jw_bool(w, false);
		return TH_OK;
	}
	if (depth > TH_JSON_DEPTH_MAX)
		return th_fail(s->err, TH_ELIMIT, "%s", TH_SCHEMA_TOO_DEEP);
	object ? th_jw_object(w) : th_jw_array(w);
	for (const struct th_strict_member *m = n->first; m && !code && !w->out->failed;
	     m = m->next) {
		if (object)
			th_jw_key(w, m->key);
		code = th_strict_print(s, m->value, depth + 1, w);
	}
	object ? th_jw_object_end(w) : th_jw_array_end(w);
	return code;
}
