/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field.h - typed things as tables: declared once, interpreted by ordinary
 * functions to parse, print, validate, and to emit JSON Schema and docs.
 *
 * A table describes one C struct.  The table is the only place where a wire
 * name occurs.  Parsed strings and raw values are borrowed from the JSON
 * document or the arena given; the struct never owns.
 *
 *	#define TH_FIELDS_outcome(F)                                        \
 *		F(outcome, str,  effect_id, "effect_id", TH_REQ, "…")       \
 *		F(outcome, int,  exit_code, "exit_code", 0, "…")
 *	TH_STRUCT(outcome)                        // header: struct th_outcome
 *	TH_TABLE(outcome, "what this is", true)   // source: const struct th_table th_outcome_table
 */
#ifndef TH_BASE_FIELD_H
#define TH_BASE_FIELD_H

#include "base/arena.h"
#include "base/json.h"

/* clang-format off */
/* kind, C type, what people call it */
#define TH_FIELD_KINDS(X)                                                             \
	X(str, struct th_str, "a string")                                             \
	X(int, int64_t, "an integer")                                                 \
	X(num, double, "a number")                                                    \
	X(bool, bool, "true or false")                                                \
	X(raw, struct th_str, "a JSON value")   /* any, as compact JSON text; null too, unless TH_REQ */ \
	X(strs, struct th_strs, "a list of strings")                                  \
	X(ints, struct th_ints, "a list of integers")                                 \
	X(object, void *, "an object")          /* another table, in the arena; NULL when absent */ \
	X(objects, struct th_objects, "a list of objects")                            \
	X(enum, int64_t, "one of a list")       /* index into `names`, -1 when absent */
/* clang-format on */

struct th_strs {
	struct th_str *list;
	size_t count;
};

bool th_strs_has(const struct th_strs *strs, struct th_str s);

struct th_ints {
	int64_t *list;
	size_t count;
};

struct th_objects {
	void *list; /* count structs of the sub-table's size, in the arena */
	size_t count;
};

#define X(kind, type, text) TH_FIELD_##kind,
enum th_field_kind { TH_FIELD_KINDS(X) TH_FIELD_KIND_COUNT };
#undef X
#define X(kind, type, text) typedef type th_field_type_##kind;
TH_FIELD_KINDS(X)
#undef X

enum th_field_flags {
	TH_REQ = 1 << 0,   /* must be there and not null */
	TH_NONEG = 1 << 1, /* a number must not be below 0 */
	TH_POSITIVE = 1 << 2,
	TH_NONEMPTY = 1 << 3, /* string or list */
	TH_HIDDEN = 1 << 4,   /* left out of schema and docs */
	TH_EMIT = 1 << 5,     /* printed even when empty, 0, false or null */
};

struct th_table;

struct th_field {
	const char *name; /* on the wire */
	size_t offset;
	enum th_field_kind kind;
	unsigned flags;
	const char *doc;            /* one line */
	const struct th_table *sub; /* object, objects */
	const char *const *names;   /* enum: NULL-terminated */
	bool has_default;
	int64_t default_int; /* int, num, bool, enum index */
};

struct th_table {
	const char *name, *doc;
	const struct th_field *fields;
	size_t count, size; /* of fields; of the struct in bytes */
	bool open; /* unknown members are allowed (events, provider data), not an error (config) */
};

/*
 * Fills `out` (size bytes, zeroed first).  On failure names the path of the
 * bad field: "limits.turns: must be an integer, not a string".  An unknown
 * member of a closed table is an error that suggests the nearest name.  null
 * counts as not given; of double keys the first counts; 5.0 is an integer.
 * TH_EUSAGE: does not fit the table.  TH_ELIMIT: the arena is full.
 */
TH_NODISCARD enum th_code th_table_parse(const struct th_table *t, const struct th_json *v,
					 struct th_arena *a, void *out, struct th_err *err);

/* The same, but raw fields stay empty (a required one must be there all the same): for who takes
 * what it needs of them from `v`, since a raw value is printed anew and copied. */
TH_NODISCARD enum th_code th_table_parse_plain(const struct th_table *t, const struct th_json *v,
					       struct th_arena *a, void *out, struct th_err *err);

/* Writes an object; optional fields that are empty, or have their default, are left out (TH_EMIT
 * excepted). */
void th_table_print(const struct th_table *t, const void *in, struct th_jw *w);

/* JSON Schema (draft 2020-12 subset) of the table, and a Markdown table row per field. */
void th_table_schema(const struct th_table *t, struct th_jw *w);
void th_table_markdown(const struct th_table *t, struct th_buf *out);

/* The path of the bad field as "a.b[2].c", for callers that know lines (YAML): what stands before
 * ": " in the message of th_table_parse, not yet prefixed; empty: the root.  Borrowed from err. */
struct th_str th_table_err_path(const struct th_err *err);

/* Index of `name` in a NULL-terminated list, or -1. */
int th_names_find(const char *const *names, struct th_str name);
/* The nearest of `names` to `name` for "did you mean", or NULL when none is near. */
const char *th_names_nearest(const char *const *names, struct th_str name);

/* clang-format off */
#define TH_FIELD_MEMBER(item, kind, field, wire, flags, doc) th_field_type_##kind field;
#define TH_FIELD_ROW(item, kind, field, wire, flags, doc) \
	{ wire, offsetof(struct th_##item, field), TH_FIELD_##kind, flags, doc, NULL, NULL, false, 0 },

#define TH_STRUCT(item) struct th_##item { TH_FIELDS_##item(TH_FIELD_MEMBER) };
/* For tables without sub-tables, enums or defaults; others write their rows out. */
#define TH_TABLE(item, text, is_open)                                                    \
	static const struct th_field th_##item##_fields[] = { TH_FIELDS_##item(TH_FIELD_ROW) }; \
	const struct th_table th_##item##_table = {                                      \
		#item, text, th_##item##_fields, TH_COUNT(th_##item##_fields),           \
		sizeof(struct th_##item), is_open                                        \
	};
/* clang-format on */

#endif
