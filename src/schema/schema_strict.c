/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema_strict.c - a schema made strict.  The document is copied into nodes
 * that can be changed; references share what they point to, so that the copy
 * of a reference costs its members only.  A cycle ends at the depth's maximum.
 */
#include "base/field.h"
#include "base/limits.h"
#include "base/text.h"
#include "schema/schema.h"

struct member {
	struct th_str key; /* of an object */
	struct node *value;
	struct member *next;
};

struct node {
	enum th_json_type type;
	struct th_str text;         /* STR */
	const struct th_json *json; /* BOOL (NULL: false), INT, REAL */
	struct member *first;       /* ARRAY, OBJECT */
};

struct strict {
	struct th_arena arena;
	struct node *root;
	size_t nodes;
	bool closed;
	struct th_err *err;
};

#define ADDITIONAL_PROPERTIES                                                                     \
	"additionalProperties should not be set for object types. This could be because you're "  \
	"using an older version of Pydantic, or because you configured additional properties to " \
	"be allowed. If you really need this, update the function or output tool to not use a "   \
	"strict schema."
#define OPEN_OBJECT                                                                        \
	"JSON schema contains an object that permits undeclared properties and cannot be " \
	"converted to a strict schema without changing its accepted values."
#define LEFT_REFERENCE \
	"JSON schema contains a reference whose target was not validated for strict mode."
#define NESTED_RESOURCE                                                                       \
	"JSON schema contains a reference owned by or crossing a nested `$id` resource that " \
	"cannot be resolved against the document root."
#define TOO_DEEP \
	"JSON schema is too deeply nested to process safely. Simplify or flatten the schema."
#define TOO_LARGE                                                                                \
	"JSON schema is too large to convert to a strict schema. This can happen when a schema " \
	"expands `$ref`s exponentially, which may indicate a malformed or malicious schema."

/* What may stand beside a $ref without a say in what is accepted. */
static const char *const annotations[] = {
	"$anchor",         "$comment",
	"$defs",           "$schema",
	"contentEncoding", "contentMediaType",
	"contentSchema",   "default",
	"definitions",     "deprecated",
	"description",     "examples",
	"readOnly",        "title",
	"writeOnly",       NULL,
};

static bool is_annotation(struct th_str key)
{
	return th_names_find(annotations, key) >= 0;
}

/* ---- nodes ---- */

static bool is_object(const struct node *n)
{
	return n && n->type == TH_JSON_OBJECT;
}

static bool is_array(const struct node *n)
{
	return n && n->type == TH_JSON_ARRAY;
}

static bool is_str(const struct node *n, const char *text)
{
	return n && n->type == TH_JSON_STR && th_str_is(n->text, text);
}

static bool is_false(const struct node *n)
{
	return n && n->type == TH_JSON_BOOL && !th_json_bool(n->json, false);
}

static struct member **find(struct node *n, struct th_str key)
{
	struct member **m = &n->first;

	while (*m && !th_str_eq((*m)->key, key))
		m = &(*m)->next;
	return m;
}

static struct node *get(struct node *n, const char *key)
{
	struct member *m = is_object(n) ? *find(n, th_str_of(key)) : NULL;

	return m ? m->value : NULL;
}

static void drop(struct node *n, const char *key)
{
	struct member **m = find(n, th_str_of(key));

	if (*m)
		*m = (*m)->next;
}

static enum th_code full(struct strict *s)
{
	return th_fail(s->err, TH_ELIMIT, "the schema takes too much memory");
}

/* Sets a member of an object, in its place when there is one. */
static enum th_code set(struct strict *s, struct node *n, struct th_str key, struct node *value)
{
	struct member **m = find(n, key);

	if (!*m) {
		*m = TH_NEW(&s->arena, struct member);
		if (!*m)
			return full(s);
		(*m)->key = key;
	}
	(*m)->value = value;
	return TH_OK;
}

static struct node *make(struct strict *s, enum th_json_type type)
{
	struct node *n = TH_NEW(&s->arena, struct node);

	if (n)
		n->type = type;
	return n;
}

/* What `from` has and `to` does not. */
static enum th_code add_missing(struct strict *s, struct node *to, const struct node *from)
{
	enum th_code code = TH_OK;

	for (const struct member *m = from->first; m && !code; m = m->next)
		if (!*find(to, m->key))
			code = set(s, to, m->key, m->value);
	return code;
}

/* The document as nodes; of double keys the first counts. */
static enum th_code copy(struct strict *s, const struct th_json *v, struct node **ret)
{
	struct th_json_iter it = th_json_iter(v);
	struct node *n = make(s, th_json_type(v));
	struct member **end;

	*ret = n;
	if (!n)
		return full(s);
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

		if (n->type == TH_JSON_OBJECT && *find(n, it.key))
			continue;
		*end = TH_NEW(&s->arena, struct member);
		if (!*end)
			return full(s);
		(*end)->key = it.key;
		code = copy(s, it.val, &(*end)->value);
		if (code)
			return code;
		end = &(*end)->next;
	}
	return TH_OK;
}

/* A new list of what the two hold; `a` may be NULL. */
static struct node *concat(struct strict *s, const struct node *a, const struct node *b)
{
	const struct node *both[] = { a, b };
	struct node *ret = make(s, TH_JSON_ARRAY);
	struct member **end = ret ? &ret->first : NULL;

	for (size_t i = 0; ret && i < TH_COUNT(both); i++)
		for (const struct member *m = both[i] ? both[i]->first : NULL; m; m = m->next) {
			*end = TH_NEW(&s->arena, struct member);
			if (!*end)
				return NULL;
			(*end)->value = m->value;
			end = &(*end)->next;
		}
	return ret;
}

/* A reference may have made a ring of what is no schema ("#/properties"), or what nobody could
 * parse again: `depth` ends both. */
static enum th_code print(struct strict *s, const struct node *n, size_t depth, struct th_jw *w)
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
		return th_fail(s->err, TH_ELIMIT, "%s", TOO_DEEP);
	object ? th_jw_object(w) : th_jw_array(w);
	for (const struct member *m = n->first; m && !code && !w->out->failed; m = m->next) {
		if (object)
			th_jw_key(w, m->key);
		code = print(s, m->value, depth + 1, w);
	}
	object ? th_jw_object_end(w) : th_jw_array_end(w);
	return code;
}

/* ---- the conversion ---- */

/* How deep, and whether inside of a schema that has an $id of its own. */
struct place {
	size_t depth;
	bool nested;
};

static enum th_code convert(struct strict *s, struct node *n, struct place at);

static enum th_code spend(struct strict *s)
{
	if (++s->nodes > TH_SCHEMA_NODES_MAX)
		return th_fail(s->err, TH_ELIMIT, "%s", TOO_LARGE);
	return TH_OK;
}

/* Fails with `lead`, the keys in their order, and `tail`. */
static enum th_code fail_keys(struct strict *s, const char *lead, struct th_str *keys, size_t count,
			      const char *tail)
{
	struct th_buf list = TH_BUF_INIT(TH_ERR_MSG_MAX);
	enum th_code code;

	for (size_t i = 1; i < count; i++)
		for (size_t j = i; j > 0 && th_str_cmp(keys[j - 1], keys[j]) > 0; j--) {
			struct th_str key = keys[j];

			keys[j] = keys[j - 1];
			keys[j - 1] = key;
		}
	for (size_t i = 0; i < count; i++)
		th_buf_printf(&list, "%s%.*s", i ? ", " : "", TH_FMT(th_utf8_cut(keys[i], 64)));
	code = th_fail(s->err, TH_EUSAGE, "%s (%.*s) %s", lead, TH_FMT(th_buf_str(&list)), tail);
	th_buf_deinit(&list);
	return code;
}

static bool has_id(struct node *n)
{
	struct node *id = get(n, "$id");

	return id && id->type == TH_JSON_STR;
}

/* What stands beside a $ref must not say what is accepted. */
static enum th_code check_siblings(struct strict *s, struct node *n)
{
	struct th_str keys[TH_SCHEMA_MEMBERS_MAX];
	size_t count = 0;

	for (const struct member *m = n->first; m; m = m->next)
		if (!th_str_is(m->key, "$ref") && !is_annotation(m->key) &&
		    !(n == s->root && th_str_is(m->key, "$id")) && count < TH_COUNT(keys))
			keys[count++] = m->key;
	if (!count)
		return TH_OK;
	return fail_keys(s, "JSON schema contains a `$ref` with incompatible sibling keyword(s)",
			 keys, count,
			 "that cannot be merged without changing its accepted values.");
}

/* One step of a pointer, unescaped. */
static struct th_str pointer_key(struct strict *s, struct th_str part)
{
	char *out = th_arena_alloc(&s->arena, part.len + 1);
	size_t len = 0;

	for (size_t i = 0; out && i < part.len; i++) {
		char c = part.ptr[i];

		if (c == '~' && i + 1 < part.len &&
		    (part.ptr[i + 1] == '0' || part.ptr[i + 1] == '1'))
			c = part.ptr[++i] == '1' ? '/' : '~';
		out[len++] = c;
	}
	return th_str_n(out, len);
}

static enum th_code resolve(struct strict *s, const struct node *ref, struct node **ret)
{
	struct th_str path = th_str_sub(ref->text, 2, SIZE_MAX);
	struct th_str shown = th_utf8_cut(ref->text, 200);
	struct node *n = s->root;
	bool more = true;

	if (ref->type != TH_JSON_STR)
		return th_fail(s->err, TH_EUSAGE, "a $ref of the schema is no string");
	if (!th_str_starts(ref->text, TH_STR("#/")))
		return th_fail(s->err, TH_EUSAGE,
			       "Unexpected $ref format '%.*s'; Does not start with #/",
			       TH_FMT(shown));
	while (more) {
		struct th_str key;
		struct member *m;

		more = th_str_find_char(path, '/') >= 0;
		key = pointer_key(s, th_str_split(&path, '/'));
		if (!key.ptr)
			return full(s);
		m = *find(n, key);
		if (!m || !is_object(m->value))
			return th_fail(s->err, TH_EUSAGE, "nothing in the schema is at %.*s",
				       TH_FMT(shown));
		n = m->value;
		if (has_id(n))
			return th_fail(s->err, TH_EUSAGE, "%s", NESTED_RESOURCE);
	}
	*ret = n;
	return TH_OK;
}

static enum th_code convert_members(struct strict *s, const struct node *n, struct place at)
{
	enum th_code code = TH_OK;

	for (const struct member *m = n ? n->first : NULL; m && !code; m = m->next)
		code = convert(s, m->value, at);
	return code;
}

/* Of the schemas of a list or a map, when it is one. */
static enum th_code convert_map(struct strict *s, struct node *n, const char *key, struct place at)
{
	struct node *map = get(n, key);

	return is_object(map) ? convert_members(s, map, at) : TH_OK;
}

static enum th_code convert_list(struct strict *s, struct node *n, const char *key, struct place at)
{
	struct node *list = get(n, key);

	return is_array(list) ? convert_members(s, list, at) : TH_OK;
}

/* ---- objects ---- */

static bool names_object(const struct node *type)
{
	if (is_array(type))
		for (const struct member *m = type->first; m; m = m->next)
			if (is_str(m->value, "object"))
				return true;
	return is_str(type, "object");
}

static enum th_code require_all(struct strict *s, struct node *n, const struct node *properties)
{
	struct node *names = make(s, TH_JSON_ARRAY);
	struct member **end = names ? &names->first : NULL;

	for (const struct member *m = properties->first; names && m; m = m->next) {
		*end = TH_NEW(&s->arena, struct member);
		if (!*end)
			return full(s);
		(*end)->value = make(s, TH_JSON_STR);
		if (!(*end)->value)
			return full(s);
		(*end)->value->text = m->key;
		end = &(*end)->next;
	}
	return names ? set(s, n, TH_STR("required"), names) : full(s);
}

/* Closed, and all of its properties required. */
static enum th_code close_object(struct strict *s, struct node *n)
{
	struct node *properties = get(n, "properties"), *type = get(n, "type");
	struct node *more = get(n, "additionalProperties");
	bool none = !type || type->type == TH_JSON_NULL;
	enum th_code code = TH_OK;

	if (none && is_object(properties)) {
		type = make(s, TH_JSON_STR);
		if (!type)
			return full(s);
		type->text = TH_STR("object");
		code = set(s, n, TH_STR("type"), type);
	} else if (none && more && !is_false(more)) {
		return th_fail(s->err, TH_EUSAGE, "%s", ADDITIONAL_PROPERTIES);
	}
	if (!code && names_object(type)) {
		if (s->closed && (!properties || (is_object(properties) && !properties->first)) &&
		    !is_false(more))
			return th_fail(s->err, TH_EUSAGE, "%s", OPEN_OBJECT);
		if (more && !is_false(more))
			return th_fail(s->err, TH_EUSAGE, "%s", ADDITIONAL_PROPERTIES);
		if (!more) {
			more = make(s, TH_JSON_BOOL);
			code = more ? set(s, n, TH_STR("additionalProperties"), more) : full(s);
		}
	}
	return code || !is_object(properties) ? code : require_all(s, n, properties);
}

/* ---- allOf of one ---- */

/* Equal as values; an unequal pair may be too large to say so. */
static bool equal(struct strict *s, const struct node *a, const struct node *b)
{
	const struct member *m, *other;
	size_t count = 0, other_count = 0;

	if (a == b)
		return true;
	if (++s->nodes > TH_SCHEMA_NODES_MAX)
		return false;
	if (a->type == TH_JSON_STR || b->type == TH_JSON_STR)
		return a->type == b->type && th_str_eq(a->text, b->text);
	if (is_array(a) && is_array(b)) {
		for (m = a->first, other = b->first; m && other; m = m->next, other = other->next)
			if (!equal(s, m->value, other->value))
				return false;
		return !m && !other;
	}
	if (is_object(a) && is_object(b)) {
		for (other = b->first; other; other = other->next)
			other_count++;
		for (m = a->first; m; m = m->next, count++) {
			for (other = b->first; other; other = other->next)
				if (th_str_eq(other->key, m->key))
					break;
			if (!other || !equal(s, m->value, other->value))
				return false;
		}
		return count == other_count;
	}
	if (is_array(a) || is_array(b) || is_object(a) || is_object(b))
		return false;
	if (a->type == TH_JSON_BOOL && b->type == TH_JSON_BOOL)
		return th_json_bool(a->json, false) == th_json_bool(b->json, false);
	return th_json_equal(a->json, b->json);
}

/* The entry's members and the parent's as one schema; where both say something about the same, it
 * must be the same thing.  The parent becomes that. */
static enum th_code merge(struct strict *s, const struct node *entry, struct node *parent)
{
	struct th_str clash[TH_SCHEMA_MEMBERS_MAX];
	struct node *merged = make(s, TH_JSON_OBJECT);
	size_t count = 0;
	enum th_code code = merged ? add_missing(s, merged, entry) : full(s);

	for (const struct member *m = parent->first; m && !code; m = m->next) {
		struct member *mine = *find(merged, m->key);

		if (!mine || is_annotation(m->key))
			code = set(s, merged, m->key, m->value);
		else if (!equal(s, m->value, mine->value) &&
			 !(th_str_is(m->key, "properties") && is_object(m->value) &&
			   !m->value->first) &&
			 !(th_str_is(m->key, "required") && is_array(m->value) &&
			   !m->value->first) &&
			 count < TH_COUNT(clash))
			clash[count++] = m->key;
	}
	if (code)
		return code;
	if (s->nodes > TH_SCHEMA_NODES_MAX)
		return th_fail(s->err, TH_ELIMIT, "%s", TOO_LARGE);
	if (count)
		return fail_keys(
		    s,
		    "JSON schema contains a singleton `allOf` entry with incompatible parent "
		    "keyword(s)",
		    clash, count, "that cannot be merged without changing its accepted values.");
	parent->first = merged->first;
	return TH_OK;
}

/* A reference with nothing but annotations beside it. */
static bool is_plain_ref(struct node *n)
{
	if (!get(n, "$ref"))
		return false;
	for (const struct member *m = n->first; m; m = m->next)
		if (!th_str_is(m->key, "$ref") && !is_annotation(m->key))
			return false;
	return true;
}

/* What a chain of such references ends at, with their annotations; the first's count most. */
static enum th_code follow(struct strict *s, struct node *n, struct node **ret)
{
	struct node *all = make(s, TH_JSON_OBJECT);

	if (!all)
		return full(s);
	for (size_t hops = 0; is_plain_ref(n); hops++) {
		struct node *ref = get(n, "$ref");
		enum th_code code = spend(s);

		/* A chain that comes back to where it was never ends. */
		if (hops > TH_SCHEMA_DEPTH_MAX)
			return th_fail(s->err, TH_EUSAGE,
				       "JSON schema contains a circular `$ref` chain.");
		for (const struct member *m = n->first; m && !code; m = m->next)
			if (!th_str_is(m->key, "$ref") && !*find(all, m->key))
				code = set(s, all, m->key, m->value);
		if (!code)
			code = resolve(s, ref, &n);
		if (code)
			return code;
	}
	*ret = all;
	return add_missing(s, all, n);
}

static enum th_code convert_all_of(struct strict *s, struct node *n, struct node *list,
				   struct place at, struct place below)
{
	struct node *entry = list->first ? list->first->value : NULL;
	enum th_code code;

	if (!entry || list->first->next)
		return convert_members(s, list, below);
	if (is_object(entry) && is_plain_ref(entry)) {
		if (at.nested)
			return th_fail(s->err, TH_EUSAGE, "%s", NESTED_RESOURCE);
		code = spend(s);
		if (!code)
			code = follow(s, entry, &entry);
	} else {
		code = convert(s, entry, below);
	}
	if (code)
		return code;
	drop(n, "allOf");
	code = merge(s, entry, n);
	return code ? code : convert(s, n, below);
}

/* ---- a schema ---- */

static enum th_code convert_unions(struct strict *s, struct node *n, struct place below)
{
	struct node *any = get(n, "anyOf"), *one = get(n, "oneOf"), *both;
	enum th_code code = convert_list(s, n, "anyOf", below);

	if (code || !is_array(one))
		return code;
	code = convert_members(s, one, below);
	if (code)
		return code;
	/* A new list: the old one may be shared with what a reference was made from. */
	both = concat(s, is_array(any) ? any : NULL, one);
	drop(n, "oneOf");
	return both ? set(s, n, TH_STR("anyOf"), both) : full(s);
}

/* A reference with annotations beside it becomes what it points to, with them. */
static enum th_code inline_ref(struct strict *s, struct node *n, struct node *ref,
			       struct place below)
{
	struct node *target;
	enum th_code code = resolve(s, ref, &target);

	if (code)
		return code;
	drop(n, "$ref");
	code = add_missing(s, n, target);
	return code ? code : convert(s, n, below);
}

static enum th_code convert(struct strict *s, struct node *n, struct place at)
{
	struct place below = { at.depth + 1, at.nested };
	struct node *ref = get(n, "$ref"), *list, *items;
	enum th_code code;

	if (at.depth > TH_SCHEMA_DEPTH_MAX)
		return th_fail(s->err, TH_ELIMIT, "%s", TOO_DEEP);
	if (!is_object(n))
		return th_fail(s->err, TH_EUSAGE, "a schema must be an object, not %s",
			       th_json_type_name(n->type));
	code = spend(s);
	if (n != s->root && has_id(n))
		at.nested = below.nested = true;
	if (!code && ref) {
		if (at.nested)
			return th_fail(s->err, TH_EUSAGE, "%s", NESTED_RESOURCE);
		code = check_siblings(s, n);
	}
	if (!code)
		code = convert_map(s, n, "$defs", below);
	if (!code)
		code = convert_map(s, n, "definitions", below);
	if (!code)
		code = close_object(s, n);
	if (!code)
		code = convert_map(s, n, "properties", below);
	items = get(n, "items");
	if (!code && is_object(items))
		code = convert(s, items, below);
	if (!code)
		code = convert_unions(s, n, below);
	if (code)
		return code;
	list = get(n, "allOf");
	if (is_array(list)) {
		bool one = list->first && !list->first->next;

		code = convert_all_of(s, n, list, at, below);
		if (code || one)
			return code;
	}
	if (get(n, "default") && get(n, "default")->type == TH_JSON_NULL)
		drop(n, "default");
	ref = get(n, "$ref");
	if (ref && n->first->next)
		return inline_ref(s, n, ref, below);
	if (ref && s->closed)
		return th_fail(s->err, TH_EUSAGE, "%s", LEFT_REFERENCE);
	return TH_OK;
}

/* What a provider demands of the outermost schema. */
static enum th_code check_root(struct strict *s)
{
	struct node *type = get(s->root, "type");
	struct th_buf list = TH_BUF_INIT(TH_ERR_MSG_MAX);
	enum th_code code;

	if (is_array(get(s->root, "anyOf")))
		return th_fail(s->err, TH_EUSAGE,
			       "The root of a strict JSON schema must not use `anyOf`.");
	if (!is_array(type) || !names_object(type))
		return TH_OK;
	if (!type->first->next)
		return set(s, s->root, TH_STR("type"), type->first->value);
	for (const struct member *m = type->first; m; m = m->next)
		th_buf_printf(&list, "%s'%.*s'", m == type->first ? "" : ", ",
			      TH_FMT(th_utf8_cut(m->value->text, 64)));
	code = th_fail(s->err, TH_EUSAGE,
		       "The root of a strict JSON schema must be a non-nullable object, but its "
		       "type is [%.*s]. Make the root a plain object, or update the function or "
		       "output tool to not use a strict schema.",
		       TH_FMT(th_buf_str(&list)));
	th_buf_deinit(&list);
	return code;
}

enum th_code th_schema_strict(const struct th_json *schema, unsigned flags, struct th_arena *a,
			      struct th_str *ret, struct th_err *err)
{
	struct strict s = { .closed = flags & TH_SCHEMA_CLOSED, .err = err };
	struct th_buf text = TH_BUF_INIT(TH_SCHEMA_SIZE_MAX);
	struct th_jw w = th_jw(&text);
	enum th_code code;

	if (th_json_is_object(schema) && !th_json_count(schema)) {
		*ret = th_arena_str(a, TH_STR("{\"additionalProperties\":false,\"type\":\"object\","
					      "\"properties\":{},\"required\":[]}"));
		return ret->ptr ? TH_OK : th_fail(err, TH_ELIMIT, "no memory left for a schema");
	}
	th_arena_init(&s.arena, TH_SCHEMA_MEMORY_MAX);
	code = copy(&s, schema, &s.root);
	if (!code)
		code = convert(&s, s.root, (struct place){ .depth = 1 });
	if (!code)
		code = check_root(&s);
	if (!code)
		code = print(&s, s.root, 1, &w);
	if (!code)
		code = th_buf_check(&text, "a strict schema", err);
	if (!code) {
		*ret = th_arena_str(a, th_buf_str(&text));
		if (!ret->ptr)
			code = th_fail(err, TH_ELIMIT, "no memory left for a schema");
	}
	th_buf_deinit(&text);
	th_arena_deinit(&s.arena);
	return code;
}
