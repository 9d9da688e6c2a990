/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema_strict.c - a schema made strict.  The document is copied into nodes
 * that can be changed; references share what they point to, so that the copy
 * of a reference costs its members only.  A cycle ends at the depth's maximum.
 */
#include "base/field.h"
#include "base/limits.h"
#include "base/text.h"
#include "schema/strict_nodes.h"

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

/* ---- the conversion ---- */

/* How deep, and whether inside of a schema that has an $id of its own. */
struct place {
	size_t depth;
	bool nested;
};

static enum th_code convert(struct th_strict *s, struct th_strict_node *n, struct place at);

static enum th_code spend(struct th_strict *s)
{
	if (++s->nodes > TH_SCHEMA_NODES_MAX)
		return th_fail(s->err, TH_ELIMIT, "%s", TOO_LARGE);
	return TH_OK;
}

/* Fails with `lead`, the keys in their order, and `tail`. */
static enum th_code fail_keys(struct th_strict *s, const char *lead, struct th_str *keys,
			      size_t count, const char *tail)
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

static bool has_id(struct th_strict_node *n)
{
	struct th_strict_node *id = th_strict_get(n, "$id");

	return id && id->type == TH_JSON_STR;
}

/* What stands beside a $ref must not say what is accepted. */
static enum th_code check_siblings(struct th_strict *s, struct th_strict_node *n)
{
	struct th_str keys[TH_SCHEMA_MEMBERS_MAX];
	size_t count = 0;

	for (const struct th_strict_member *m = n->first; m; m = m->next)
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
static struct th_str pointer_key(struct th_strict *s, struct th_str part)
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

static enum th_code resolve(struct th_strict *s, const struct th_strict_node *ref,
			    struct th_strict_node **ret)
{
	struct th_str path = th_str_sub(ref->text, 2, SIZE_MAX);
	struct th_str shown = th_utf8_cut(ref->text, 200);
	struct th_strict_node *n = s->root;
	bool more = true;

	if (ref->type != TH_JSON_STR)
		return th_fail(s->err, TH_EUSAGE, "a $ref of the schema is no string");
	if (!th_str_starts(ref->text, TH_STR("#/")))
		return th_fail(s->err, TH_EUSAGE,
			       "Unexpected $ref format '%.*s'; Does not start with #/",
			       TH_FMT(shown));
	while (more) {
		struct th_str key;
		struct th_strict_member *m;

		more = th_str_find_char(path, '/') >= 0;
		key = pointer_key(s, th_str_split(&path, '/'));
		if (!key.ptr)
			return th_strict_full(s);
		m = *th_strict_find(n, key);
		if (!m || !th_strict_is_object(m->value))
			return th_fail(s->err, TH_EUSAGE, "nothing in the schema is at %.*s",
				       TH_FMT(shown));
		n = m->value;
		if (has_id(n))
			return th_fail(s->err, TH_EUSAGE, "%s", NESTED_RESOURCE);
	}
	*ret = n;
	return TH_OK;
}

static enum th_code convert_members(struct th_strict *s, const struct th_strict_node *n,
				    struct place at)
{
	enum th_code code = TH_OK;

	for (const struct th_strict_member *m = n ? n->first : NULL; m && !code; m = m->next)
		code = convert(s, m->value, at);
	return code;
}

/* Of the schemas of a list or a map, when it is one. */
static enum th_code convert_map(struct th_strict *s, struct th_strict_node *n, const char *key,
				struct place at)
{
	struct th_strict_node *map = th_strict_get(n, key);

	return th_strict_is_object(map) ? convert_members(s, map, at) : TH_OK;
}

static enum th_code convert_list(struct th_strict *s, struct th_strict_node *n, const char *key,
				 struct place at)
{
	struct th_strict_node *list = th_strict_get(n, key);

	return th_strict_is_array(list) ? convert_members(s, list, at) : TH_OK;
}

/* ---- objects ---- */

static bool names_object(const struct th_strict_node *type)
{
	if (th_strict_is_array(type))
		for (const struct th_strict_member *m = type->first; m; m = m->next)
			if (th_strict_is_str(m->value, "object"))
				return true;
	return th_strict_is_str(type, "object");
}

static enum th_code require_all(struct th_strict *s, struct th_strict_node *n,
				const struct th_strict_node *properties)
{
	struct th_strict_node *names = th_strict_new(s, TH_JSON_ARRAY);
	struct th_strict_member **end = names ? &names->first : NULL;

	for (const struct th_strict_member *m = properties->first; names && m; m = m->next) {
		*end = TH_NEW(&s->arena, struct th_strict_member);
		if (!*end)
			return th_strict_full(s);
		(*end)->value = th_strict_new(s, TH_JSON_STR);
		if (!(*end)->value)
			return th_strict_full(s);
		(*end)->value->text = m->key;
		end = &(*end)->next;
	}
	return names ? th_strict_set(s, n, TH_STR("required"), names) : th_strict_full(s);
}

/* Closed, and all of its properties required. */
static enum th_code close_object(struct th_strict *s, struct th_strict_node *n)
{
	struct th_strict_node *properties = th_strict_get(n, "properties"),
			      *type = th_strict_get(n, "type");
	struct th_strict_node *more = th_strict_get(n, "additionalProperties");
	bool none = !type || type->type == TH_JSON_NULL;
	enum th_code code = TH_OK;

	if (none && th_strict_is_object(properties)) {
		type = th_strict_new(s, TH_JSON_STR);
		if (!type)
			return th_strict_full(s);
		type->text = TH_STR("object");
		code = th_strict_set(s, n, TH_STR("type"), type);
	} else if (none && more && !th_strict_is_false(more)) {
		return th_fail(s->err, TH_EUSAGE, "%s", ADDITIONAL_PROPERTIES);
	}
	if (!code && names_object(type)) {
		if (s->closed &&
		    (!properties || (th_strict_is_object(properties) && !properties->first)) &&
		    !th_strict_is_false(more))
			return th_fail(s->err, TH_EUSAGE, "%s", OPEN_OBJECT);
		if (more && !th_strict_is_false(more))
			return th_fail(s->err, TH_EUSAGE, "%s", ADDITIONAL_PROPERTIES);
		if (!more) {
			more = th_strict_new(s, TH_JSON_BOOL);
			code = more ? th_strict_set(s, n, TH_STR("additionalProperties"), more)
				    : th_strict_full(s);
		}
	}
	return code || !th_strict_is_object(properties) ? code : require_all(s, n, properties);
}

/* ---- allOf of one ---- */

/* Equal as values; an unequal pair may be too large to say so. */
static bool equal(struct th_strict *s, const struct th_strict_node *a,
		  const struct th_strict_node *b)
{
	const struct th_strict_member *m, *other;
	size_t count = 0, other_count = 0;

	if (a == b)
		return true;
	if (++s->nodes > TH_SCHEMA_NODES_MAX)
		return false;
	if (a->type == TH_JSON_STR || b->type == TH_JSON_STR)
		return a->type == b->type && th_str_eq(a->text, b->text);
	if (th_strict_is_array(a) && th_strict_is_array(b)) {
		for (m = a->first, other = b->first; m && other; m = m->next, other = other->next)
			if (!equal(s, m->value, other->value))
				return false;
		return !m && !other;
	}
	if (th_strict_is_object(a) && th_strict_is_object(b)) {
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
	if (th_strict_is_array(a) || th_strict_is_array(b) || th_strict_is_object(a) ||
	    th_strict_is_object(b))
		return false;
	if (a->type == TH_JSON_BOOL && b->type == TH_JSON_BOOL)
		return th_json_bool(a->json, false) == th_json_bool(b->json, false);
	return th_json_equal(a->json, b->json);
}

/* The entry's members and the parent's as one schema; where both say something about the same, it
 * must be the same thing.  The parent becomes that. */
static enum th_code merge(struct th_strict *s, const struct th_strict_node *entry,
			  struct th_strict_node *parent)
{
	struct th_str clash[TH_SCHEMA_MEMBERS_MAX];
	struct th_strict_node *merged = th_strict_new(s, TH_JSON_OBJECT);
	size_t count = 0;
	enum th_code code = merged ? th_strict_add_missing(s, merged, entry) : th_strict_full(s);

	for (const struct th_strict_member *m = parent->first; m && !code; m = m->next) {
		struct th_strict_member *mine = *th_strict_find(merged, m->key);

		if (!mine || is_annotation(m->key))
			code = th_strict_set(s, merged, m->key, m->value);
		else if (!equal(s, m->value, mine->value) &&
			 !(th_str_is(m->key, "properties") && th_strict_is_object(m->value) &&
			   !m->value->first) &&
			 !(th_str_is(m->key, "required") && th_strict_is_array(m->value) &&
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
static bool is_plain_ref(struct th_strict_node *n)
{
	if (!th_strict_get(n, "$ref"))
		return false;
	for (const struct th_strict_member *m = n->first; m; m = m->next)
		if (!th_str_is(m->key, "$ref") && !is_annotation(m->key))
			return false;
	return true;
}

/* What a chain of such references ends at, with their annotations; the first's count most. */
static enum th_code follow(struct th_strict *s, struct th_strict_node *n,
			   struct th_strict_node **ret)
{
	struct th_strict_node *all = th_strict_new(s, TH_JSON_OBJECT);

	if (!all)
		return th_strict_full(s);
	for (size_t hops = 0; is_plain_ref(n); hops++) {
		struct th_strict_node *ref = th_strict_get(n, "$ref");
		enum th_code code = spend(s);

		/* A chain that comes back to where it was never ends. */
		if (hops > TH_SCHEMA_DEPTH_MAX)
			return th_fail(s->err, TH_EUSAGE,
				       "JSON schema contains a circular `$ref` chain.");
		for (const struct th_strict_member *m = n->first; m && !code; m = m->next)
			if (!th_str_is(m->key, "$ref") && !*th_strict_find(all, m->key))
				code = th_strict_set(s, all, m->key, m->value);
		if (!code)
			code = resolve(s, ref, &n);
		if (code)
			return code;
	}
	*ret = all;
	return th_strict_add_missing(s, all, n);
}

static enum th_code convert_all_of(struct th_strict *s, struct th_strict_node *n,
				   struct th_strict_node *list, struct place at, struct place below)
{
	struct th_strict_node *entry = list->first ? list->first->value : NULL;
	enum th_code code;

	if (!entry || list->first->next)
		return convert_members(s, list, below);
	if (th_strict_is_object(entry) && is_plain_ref(entry)) {
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
	th_strict_drop(n, "allOf");
	code = merge(s, entry, n);
	return code ? code : convert(s, n, below);
}

/* ---- a schema ---- */

static enum th_code convert_unions(struct th_strict *s, struct th_strict_node *n,
				   struct place below)
{
	struct th_strict_node *any = th_strict_get(n, "anyOf"), *one = th_strict_get(n, "oneOf"),
			      *both;
	enum th_code code = convert_list(s, n, "anyOf", below);

	if (code || !th_strict_is_array(one))
		return code;
	code = convert_members(s, one, below);
	if (code)
		return code;
	/* A new list: the old one may be shared with what a reference was made from. */
	both = th_strict_concat(s, th_strict_is_array(any) ? any : NULL, one);
	th_strict_drop(n, "oneOf");
	return both ? th_strict_set(s, n, TH_STR("anyOf"), both) : th_strict_full(s);
}

/* A reference with annotations beside it becomes what it points to, with them. */
static enum th_code inline_ref(struct th_strict *s, struct th_strict_node *n,
			       struct th_strict_node *ref, struct place below)
{
	struct th_strict_node *target;
	enum th_code code = resolve(s, ref, &target);

	if (code)
		return code;
	th_strict_drop(n, "$ref");
	code = th_strict_add_missing(s, n, target);
	return code ? code : convert(s, n, below);
}

static enum th_code convert(struct th_strict *s, struct th_strict_node *n, struct place at)
{
	struct place below = { at.depth + 1, at.nested };
	struct th_strict_node *ref = th_strict_get(n, "$ref"), *list, *items;
	enum th_code code;

	if (at.depth > TH_SCHEMA_DEPTH_MAX)
		return th_fail(s->err, TH_ELIMIT, "%s", TH_SCHEMA_TOO_DEEP);
	if (!th_strict_is_object(n))
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
	items = th_strict_get(n, "items");
	if (!code && th_strict_is_object(items))
		code = convert(s, items, below);
	if (!code)
		code = convert_unions(s, n, below);
	if (code)
		return code;
	list = th_strict_get(n, "allOf");
	if (th_strict_is_array(list)) {
		bool one = list->first && !list->first->next;

		code = convert_all_of(s, n, list, at, below);
		if (code || one)
			return code;
	}
	if (th_strict_get(n, "default") && th_strict_get(n, "default")->type == TH_JSON_NULL)
		th_strict_drop(n, "default");
	ref = th_strict_get(n, "$ref");
	if (ref && n->first->next)
		return inline_ref(s, n, ref, below);
	if (ref && s->closed)
		return th_fail(s->err, TH_EUSAGE, "%s", LEFT_REFERENCE);
	return TH_OK;
}

/* What a provider demands of the outermost schema. */
static enum th_code check_root(struct th_strict *s)
{
	struct th_strict_node *type = th_strict_get(s->root, "type");
	struct th_buf list = TH_BUF_INIT(TH_ERR_MSG_MAX);
	enum th_code code;

	if (th_strict_is_array(th_strict_get(s->root, "anyOf")))
		return th_fail(s->err, TH_EUSAGE,
			       "The root of a strict JSON schema must not use `anyOf`.");
	if (!th_strict_is_array(type) || !names_object(type))
		return TH_OK;
	if (!type->first->next)
		return th_strict_set(s, s->root, TH_STR("type"), type->first->value);
	for (const struct th_strict_member *m = type->first; m; m = m->next)
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
	struct th_strict s = { .closed = flags & TH_SCHEMA_CLOSED, .err = err };
	struct th_buf text = TH_BUF_INIT(TH_SCHEMA_SIZE_MAX);
	struct th_jw w = th_jw(&text);
	enum th_code code;

	if (th_json_is_object(schema) && !th_json_count(schema)) {
		*ret = th_arena_str(a, TH_STR("{\"additionalProperties\":false,\"type\":\"object\","
					      "\"properties\":{},\"required\":[]}"));
		return ret->ptr ? TH_OK : th_fail(err, TH_ELIMIT, "no memory left for a schema");
	}
	th_arena_init(&s.arena, TH_SCHEMA_MEMORY_MAX);
	code = th_strict_copy(&s, schema, &s.root);
	if (!code)
		code = convert(&s, s.root, (struct place){ .depth = 1 });
	if (!code)
		code = check_root(&s);
	if (!code)
		code = th_strict_print(&s, s.root, 1, &w);
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
