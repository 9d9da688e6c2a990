/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strict_nodes.h - a JSON document that can be changed, for schema_strict.c.  Nodes may
 * be shared, also with what holds them.
 */
#ifndef TH_SCHEMA_STRICT_NODES_H
#define TH_SCHEMA_STRICT_NODES_H

#include "schema/schema.h"

#define TH_SCHEMA_TOO_DEEP \
	"JSON schema is too deeply nested to process safely. Simplify or flatten the schema."

struct th_strict_member {
	struct th_str key; /* of an object */
	struct th_strict_node *value;
	struct th_strict_member *next;
};

struct th_strict_node {
	enum th_json_type type;
	struct th_str text;             /* STR */
	const struct th_json *json;     /* BOOL (NULL: false), INT, REAL */
	struct th_strict_member *first; /* ARRAY, OBJECT */
};

/* A conversion under way. */
struct th_strict {
	struct th_arena arena;
	struct th_strict_node *root;
	size_t nodes;
	bool closed;
	struct th_err *err;
};

static inline bool th_strict_is_object(const struct th_strict_node *n)
{
	return n && n->type == TH_JSON_OBJECT;
}

static inline bool th_strict_is_array(const struct th_strict_node *n)
{
	return n && n->type == TH_JSON_ARRAY;
}

static inline bool th_strict_is_str(const struct th_strict_node *n, const char *text)
{
	return n && n->type == TH_JSON_STR && th_str_is(n->text, text);
}

static inline bool th_strict_is_false(const struct th_strict_node *n)
{
	return n && n->type == TH_JSON_BOOL && !th_json_bool(n->json, false);
}

enum th_code th_strict_full(struct th_strict *s); /* fails: no memory is left */

/* Where the member is, or the end. */
struct th_strict_member **th_strict_find(struct th_strict_node *n, struct th_str key);
struct th_strict_node *th_strict_get(struct th_strict_node *n,
				     const char *key); /* NULL: no object, or it has none */
void th_strict_drop(struct th_strict_node *n, const char *key);
/* Sets a member of an object, in its place when there is one. */
TH_NODISCARD enum th_code th_strict_set(struct th_strict *s, struct th_strict_node *n,
					struct th_str key, struct th_strict_node *value);
struct th_strict_node *th_strict_new(struct th_strict *s,
				     enum th_json_type type); /* NULL: no memory is left */
/* What `from` has and `to` does not. */
TH_NODISCARD enum th_code th_strict_add_missing(struct th_strict *s, struct th_strict_node *to,
						const struct th_strict_node *from);
/* The document as nodes; of double keys the first counts. */
TH_NODISCARD enum th_code th_strict_copy(struct th_strict *s, const struct th_json *v,
					 struct th_strict_node **ret);
/* A new list of what the two hold; `a` may be NULL. */
struct th_strict_node *th_strict_concat(struct th_strict *s, const struct th_strict_node *a,
					const struct th_strict_node *b);
/* A reference may have made a ring of what is no schema ("#/properties"), or what nobody could
 * parse again: `depth` ends both. */
TH_NODISCARD enum th_code th_strict_print(struct th_strict *s, const struct th_strict_node *n,
					  size_t depth, struct th_jw *w);

#endif
