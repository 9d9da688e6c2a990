/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field_print.c - a struct as the JSON object that its table describes.
 */
#include <stdlib.h>

#include "base/field.h"

/* A cell of the struct that a table describes. */
#define CONST_CELL(type, base, field) \
	((type const *)(const void *)((const char *)(base) + (field)->offset))

static bool is_empty(const struct th_field *f, const void *in)
{
	int64_t otherwise = f->has_default ? f->default_int : f->kind == TH_FIELD_enum ? -1 : 0;

	switch (f->kind) {
	case TH_FIELD_str:
	case TH_FIELD_raw:
		return CONST_CELL(struct th_str, in, f)->len == 0;
	case TH_FIELD_int:
	case TH_FIELD_enum:
		return *CONST_CELL(int64_t, in, f) == otherwise;
	case TH_FIELD_num:
		return *CONST_CELL(double, in, f) == (double)otherwise;
	case TH_FIELD_bool:
		return *CONST_CELL(bool, in, f) == (otherwise != 0);
	case TH_FIELD_strs:
		return CONST_CELL(struct th_strs, in, f)->count == 0;
	case TH_FIELD_ints:
		return CONST_CELL(struct th_ints, in, f)->count == 0;
	case TH_FIELD_object:
		return *CONST_CELL(void *, in, f) == NULL;
	case TH_FIELD_objects:
		return CONST_CELL(struct th_objects, in, f)->count == 0;
	case TH_FIELD_KIND_COUNT:
		break;
	}
	abort();
}

static void print_strs(const struct th_strs *s, struct th_jw *w)
{
	th_jw_array(w);
	for (size_t i = 0; i < s->count; i++)
		th_jw_str(w, s->list[i]);
	th_jw_array_end(w);
}

static void print_ints(const struct th_ints *s, struct th_jw *w)
{
	th_jw_array(w);
	for (size_t i = 0; i < s->count; i++)
		th_jw_int(w, s->list[i]);
	th_jw_array_end(w);
}

static void print_objects(const struct th_table *t, const struct th_objects *o, struct th_jw *w)
{
	th_jw_array(w);
	for (size_t i = 0; i < o->count; i++)
		th_table_print(t, (const char *)o->list + i * t->size, w);
	th_jw_array_end(w);
}

static void print_field(const struct th_field *f, const void *in, struct th_jw *w)
{
	const struct th_str *s;
	int64_t index;

	switch (f->kind) {
	case TH_FIELD_str:
		s = CONST_CELL(struct th_str, in, f);
		if (s->ptr || (f->flags & TH_REQ))
			th_jw_str(w, *s);
		else
			th_jw_null(w);
		return;
	case TH_FIELD_int:
		th_jw_int(w, *CONST_CELL(int64_t, in, f));
		return;
	case TH_FIELD_num:
		th_jw_real(w, *CONST_CELL(double, in, f));
		return;
	case TH_FIELD_bool:
		th_jw_bool(w, *CONST_CELL(bool, in, f));
		return;
	case TH_FIELD_raw:
		s = CONST_CELL(struct th_str, in, f);
		th_jw_raw(w, s->len ? *s : TH_STR("null"));
		return;
	case TH_FIELD_strs:
		print_strs(CONST_CELL(struct th_strs, in, f), w);
		return;
	case TH_FIELD_ints:
		print_ints(CONST_CELL(struct th_ints, in, f), w);
		return;
	case TH_FIELD_object:
		if (*CONST_CELL(void *, in, f))
			th_table_print(f->sub, *CONST_CELL(void *, in, f), w);
		else
			th_jw_null(w);
		return;
	case TH_FIELD_objects:
		print_objects(f->sub, CONST_CELL(struct th_objects, in, f), w);
		return;
	case TH_FIELD_enum:
		index = *CONST_CELL(int64_t, in, f);
		if (index < 0)
			th_jw_null(w);
		else
			th_jw_str(w, th_str_of(f->names[index]));
		return;
	case TH_FIELD_KIND_COUNT:
		break;
	}
	abort();
}

void th_table_print(const struct th_table *t, const void *in, struct th_jw *w)
{
	th_jw_object(w);
	for (size_t i = 0; i < t->count; i++) {
		const struct th_field *f = &t->fields[i];

		if (!(f->flags & (TH_REQ | TH_EMIT)) && is_empty(f, in))
			continue;
		th_jw_name(w, th_str_of(f->name));
		print_field(f, in, w);
	}
	th_jw_object_end(w);
}
