/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field_doc.c - a table for those who write such objects: as JSON Schema, and as Markdown.
 */
#include "base/field_internal.h"

/* ---- schema ---- */

/* Tables that are being written, so that one which holds itself ends. */
struct chain {
	const struct chain *up;
	const struct th_table *table;
};

static void schema_table(const struct th_table *t, const struct chain *up, struct th_jw *w);

/* A default that the field itself would refuse says "absent" to the code, and nothing to a reader.
 */
static bool tells_default(const struct th_field *f)
{
	bool absent = f->default_int < 0 &&
		      (f->kind == TH_FIELD_enum || (f->flags & (TH_POSITIVE | TH_NONEG)));

	return f->has_default && !absent;
}

static void schema_default(const struct th_field *f, struct th_jw *w)
{
	if (!tells_default(f))
		return;
	th_jw_key(w, TH_STR("default"));
	if (f->kind == TH_FIELD_bool)
		th_jw_bool(w, f->default_int != 0);
	else if (f->kind == TH_FIELD_enum)
		th_jw_str(w, th_str_of(f->names[f->default_int]));
	else
		th_jw_int(w, f->default_int);
}

static void schema_type(const struct th_field *f, const char *type, struct th_jw *w)
{
	th_jw_kstr(w, "type", th_str_of(type));
	if (f->flags & TH_POSITIVE)
		th_jw_kint(w, f->kind == TH_FIELD_int ? "minimum" : "exclusiveMinimum",
			   f->kind == TH_FIELD_int);
	else if (f->flags & TH_NONEG)
		th_jw_kint(w, "minimum", 0);
}

static void schema_list(const struct th_field *f, const struct chain *up, struct th_jw *w)
{
	th_jw_kstr(w, "type", TH_STR("array"));
	th_jw_key(w, TH_STR("items"));
	if (f->kind == TH_FIELD_objects)
		schema_table(f->sub, up, w);
	else
		th_jw_raw(w, f->kind == TH_FIELD_ints ? TH_STR("{\"type\":\"integer\"}")
						      : TH_STR("{\"type\":\"string\"}"));
	if (f->flags & TH_NONEMPTY)
		th_jw_kint(w, "minItems", 1);
}

static void schema_field(const struct th_field *f, const struct chain *up, struct th_jw *w)
{
	if (f->kind == TH_FIELD_object) {
		schema_table(f->sub, up, w);
		return;
	}
	th_jw_object(w);
	switch (f->kind) {
	case TH_FIELD_str:
		th_jw_kstr(w, "type", TH_STR("string"));
		if (f->flags & TH_NONEMPTY)
			th_jw_kint(w, "minLength", 1);
		break;
	case TH_FIELD_int:
		schema_type(f, "integer", w);
		break;
	case TH_FIELD_num:
		schema_type(f, "number", w);
		break;
	case TH_FIELD_bool:
		th_jw_kstr(w, "type", TH_STR("boolean"));
		break;
	case TH_FIELD_strs:
	case TH_FIELD_ints:
	case TH_FIELD_objects:
		schema_list(f, up, w);
		break;
	case TH_FIELD_enum:
		th_jw_kstr(w, "type", TH_STR("string"));
		th_jw_key(w, TH_STR("enum"));
		th_jw_array(w);
		for (size_t i = 0; f->names[i]; i++)
			th_jw_str(w, th_str_of(f->names[i]));
		th_jw_array_end(w);
		break;
	case TH_FIELD_raw:
	case TH_FIELD_object:
	case TH_FIELD_KIND_COUNT:
		break; /* anything goes */
	}
	if (f->doc && *f->doc)
		th_jw_kstr(w, "description", th_str_of(f->doc));
	schema_default(f, w);
	th_jw_object_end(w);
}

static void schema_members(const struct th_table *t, const struct chain *here, struct th_jw *w)
{
	bool any = false;

	th_jw_key(w, TH_STR("properties"));
	th_jw_object(w);
	for (size_t i = 0; i < t->count; i++) {
		if (t->fields[i].flags & TH_HIDDEN)
			continue;
		th_jw_key(w, th_str_of(t->fields[i].name));
		schema_field(&t->fields[i], here, w);
	}
	th_jw_object_end(w);
	for (size_t i = 0; i < t->count; i++) {
		if (!(t->fields[i].flags & TH_REQ) || (t->fields[i].flags & TH_HIDDEN))
			continue;
		if (!any) {
			th_jw_key(w, TH_STR("required"));
			th_jw_array(w);
			any = true;
		}
		th_jw_str(w, th_str_of(t->fields[i].name));
	}
	if (any)
		th_jw_array_end(w);
	if (!t->open)
		th_jw_kbool(w, "additionalProperties", false);
}

static void schema_table(const struct th_table *t, const struct chain *up, struct th_jw *w)
{
	struct chain here = { up, t };
	bool again = false;

	for (; up; up = up->up)
		again |= up->table == t;
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("object"));
	if (t->doc && *t->doc)
		th_jw_kstr(w, "description", th_str_of(t->doc));
	if (!again)
		schema_members(t, &here, w);
	th_jw_object_end(w);
}

void th_table_schema(const struct th_table *t, struct th_jw *w)
{
	schema_table(t, NULL, w);
}

/* ---- Markdown ---- */

/* A table's cell: one line, and no bar that would end it. */
static void cell_add(struct th_buf *out, const char *text)
{
	for (; text && *text; text++) {
		if (*text == '|')
			th_buf_add_char(out, '\\');
		th_buf_add_char(out, (char)(*text == '\n' ? ' ' : *text));
	}
}

static void markdown_type(const struct th_field *f, struct th_buf *out)
{
	if (f->kind != TH_FIELD_enum) {
		th_buf_add_cstr(out, th_field_kind_texts[f->kind]);
	} else {
		for (size_t i = 0; f->names[i]; i++) {
			th_buf_add_cstr(out, i == 0 ? "`" : ", `");
			cell_add(out, f->names[i]);
			th_buf_add_char(out, '`');
		}
	}
	if (f->flags & TH_POSITIVE)
		th_buf_add_cstr(out, " above 0");
	else if (f->flags & TH_NONEG)
		th_buf_add_cstr(out, ", not below 0");
	if (f->flags & TH_NONEMPTY)
		th_buf_add_cstr(out, ", not empty");
}

static void markdown_default(const struct th_field *f, struct th_buf *out)
{
	if (f->flags & TH_REQ)
		th_buf_add_cstr(out, "required");
	if (!tells_default(f))
		return;
	if (f->kind == TH_FIELD_bool)
		th_buf_printf(out, "`%s`", f->default_int ? "true" : "false");
	else if (f->kind == TH_FIELD_enum)
		th_buf_printf(out, "`%s`", f->names[f->default_int]);
	else
		th_buf_printf(out, "`%lld`", (long long)f->default_int);
}

/* `prefix`: the names above, with a dot at the end. */
static void markdown_rows(const struct th_table *t, const struct chain *up, struct th_str prefix,
			  struct th_buf *out)
{
	struct chain here = { up, t };

	for (; up; up = up->up)
		if (up->table == t)
			return;
	for (size_t i = 0; i < t->count; i++) {
		const struct th_field *f = &t->fields[i];
		struct th_buf inner = TH_BUF_INIT(TH_FIELD_PATH_MAX);

		if (f->flags & TH_HIDDEN)
			continue;
		th_buf_printf(out, "| `%.*s%s` | ", TH_FMT(prefix), f->name);
		markdown_type(f, out);
		th_buf_add_cstr(out, " | ");
		markdown_default(f, out);
		th_buf_add_cstr(out, " | ");
		cell_add(out, f->doc);
		th_buf_add_cstr(out, " |\n");
		if (f->sub) {
			th_buf_printf(&inner, "%.*s%s%s.", TH_FMT(prefix), f->name,
				      f->kind == TH_FIELD_objects ? "[]" : "");
			markdown_rows(f->sub, &here, th_buf_str(&inner), out);
		}
		th_buf_deinit(&inner);
	}
}

void th_table_markdown(const struct th_table *t, struct th_buf *out)
{
	th_buf_add_cstr(out, "| field | type | default | meaning |\n|---|---|---|---|\n");
	markdown_rows(t, NULL, TH_STR(""), out);
}
