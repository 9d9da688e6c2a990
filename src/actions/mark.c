/* SPDX-License-Identifier: Apache-2.0 */
#include "actions/mark.h"

#include <stdlib.h>

#include "base/text.h"

#define SIDE_MIN 4  /* smaller ones cannot be meant */
#define MOVED_MAX 3 /* pixels by which an element may shift and stay itself */

static const char *const source_names[TH_MARK_SOURCE_COUNT] = {
	[TH_MARK_TREE] = "tree",
	[TH_MARK_PARSER] = "parser",
	[TH_MARK_OCR] = "ocr",
};

/* "tree", "parser", "ocr" */
static const char *source_name(enum th_mark_source s)
{
	assert(s < TH_MARK_SOURCE_COUNT);
	return source_names[s];
}

/* ---- adding ---- */

/* One line without what a terminal or a reader would obey, cut at a character. */
static void clean(struct th_str text, char *to, size_t max)
{
	struct th_buf line = TH_BUF_INIT(16 * TH_KIB);
	struct th_str cut;

	th_text_line(&line, th_str_trim(th_utf8_cut(text, 4 * max)), max);
	cut = th_utf8_cut(th_buf_str(&line), max);
	memcpy(to, cut.ptr, cut.len);
	to[cut.len] = '\0';
	th_buf_deinit(&line);
}

static int64_t area(struct th_rect r)
{
	return (int64_t)r.width * r.height;
}

static int64_t shared(struct th_rect a, struct th_rect b)
{
	int64_t left = TH_MAX(a.x, b.x), top = TH_MAX(a.y, b.y);
	int64_t right = TH_MIN(a.x + a.width, b.x + b.width);
	int64_t bottom = TH_MIN(a.y + a.height, b.y + b.height);

	return right > left && bottom > top ? (right - left) * (bottom - top) : 0;
}

/* The same thing, seen twice: most of the smaller box lies in the other, and that is not much
 * larger; or words on a thing that bears just them. */
static bool is_same(const struct th_mark *old, const struct th_mark *new)
{
	int64_t both = shared(old->box, new->box);
	int64_t small = TH_MIN(area(old->box), area(new->box));
	int64_t large = TH_MAX(area(old->box), area(new->box));

	if (both * 10 < small * 7)
		return false;
	if (old->source == new->source)
		return both * 10 >= large * 9;
	if (small * 4 >= large)
		return true;
	return new->source == TH_MARK_OCR &&new->name[0] &&
	       th_str_find(th_str_of(old->name), th_str_of(new->name)) >= 0;
}

struct th_mark *th_marks_add(struct th_marks *m, struct th_size screen, enum th_mark_source source,
			     struct th_rect box, struct th_str role, struct th_str name)
{
	struct th_mark new = { .source = source };
	int64_t right = (int64_t)box.x + box.width, bottom = (int64_t)box.y + box.height;

	if (box.width <= 0 || box.height <= 0 || right > INT32_MAX || bottom > INT32_MAX)
		return NULL;
	new.box = th_rect_clip(box, screen);
	if (new.box.width < SIDE_MIN || new.box.height < SIDE_MIN ||
	    area(new.box) * 10 > (int64_t)screen.width * screen.height * 9)
		return NULL;
	clean(role, new.role, TH_MARK_ROLE_MAX);
	clean(name, new.name, TH_MARK_NAME_MAX);
	for (size_t i = 0; i < m->count; i++) {
		struct th_mark *old = &m->list[i];

		if (!is_same(old, &new))
			continue;
		if (!old->name[0])
			memcpy(old->name, new.name, sizeof(old->name));
		return NULL;
	}
	if (m->count == TH_MARKS_MAX) {
		m->left_out++;
		return NULL;
	}
	m->list[m->count] = new;
	return &m->list[m->count++];
}

/* ---- numbers ---- */

/* By rows of the screen, as one reads; total, so that the order is the same everywhere. */
static int compare(const void *a, const void *b)
{
	const struct th_rect *p = &((const struct th_mark *)a)->box;
	const struct th_rect *q = &((const struct th_mark *)b)->box;

	if (p->y != q->y)
		return p->y < q->y ? -1 : 1;
	if (p->x != q->x)
		return p->x < q->x ? -1 : 1;
	return p->width != q->width ? (p->width < q->width ? -1 : 1)
				    : (p->height > q->height) - (p->height < q->height);
}

static bool near(int32_t a, int32_t b)
{
	return a - b <= MOVED_MAX && b - a <= MOVED_MAX;
}

static bool is_itself(const struct th_mark *a, const struct th_mark *b)
{
	return near(a->box.x, b->box.x) && near(a->box.y, b->box.y) &&
	       near(a->box.width, b->box.width) && near(a->box.height, b->box.height) &&
	       !strcmp(a->name, b->name) && !strcmp(a->role, b->role);
}

static bool is_taken(const struct th_marks *m, int32_t number)
{
	for (size_t i = 0; m && i < m->count; i++)
		if (m->list[i].number == number)
			return true;
	return false;
}

void th_marks_number(struct th_marks *m, const struct th_marks *before, int32_t *last, int32_t most)
{
	qsort(m->list, m->count, sizeof(m->list[0]), compare);
	for (size_t i = 0; i < m->count; i++)
		m->list[i].named = m->list[i].number != 0;
	for (size_t i = 0; i < m->count; i++) {
		struct th_mark *new = &m->list[i];

		for (size_t k = 0; before && k < before->count && !new->number; k++)
			if (!before->list[k].named && is_itself(&before->list[k], new) &&
			    !is_taken(m, before->list[k].number))
				new->number = before->list[k].number;
	}
	for (size_t i = 0; i < m->count; i++) {
		while (!m->list[i].number) {
			*last = *last % most + 1;
			/* There are far more numbers than elements of two pictures. */
			if (!is_taken(m, *last) && !is_taken(before, *last))
				m->list[i].number = *last;
		}
	}
}

/* ---- as text ---- */

void th_marks_print(const struct th_marks *m, struct th_jw *w)
{
	th_jw_array(w);
	for (size_t i = 0; i < m->count; i++) {
		const struct th_mark *e = &m->list[i];
		const int32_t box[] = { e->box.x, e->box.y, e->box.width, e->box.height };

		th_jw_object(w);
		th_jw_kint(w, "id", e->number);
		th_jw_key(w, TH_STR("box"));
		th_jw_array(w);
		for (size_t k = 0; k < TH_COUNT(box); k++)
			th_jw_int(w, box[k]);
		th_jw_array_end(w);
		th_jw_kstr(w, "source", th_str_of(source_name(e->source)));
		if (e->role[0])
			th_jw_kstr(w, "role", th_str_of(e->role));
		if (e->name[0])
			th_jw_kstr(w, "name", th_str_of(e->name));
		th_jw_object_end(w);
	}
	th_jw_array_end(w);
}

void th_marks_text(const struct th_marks *m, size_t count_max, struct th_buf *out)
{
	size_t count = TH_MIN(m->count, count_max);

	for (size_t i = 0; i < count; i++) {
		const struct th_mark *e = &m->list[i];

		th_buf_printf(out, "%s%d", i ? "\n" : "", e->number);
		if (e->role[0])
			th_buf_printf(out, " %s", e->role);
		if (e->name[0])
			th_buf_printf(out, " \"%s\"", e->name);
	}
	if (count < m->count)
		th_buf_printf(out, "\n(and %zu more marks)", m->count - count);
	if (m->left_out)
		th_buf_printf(out, "\n(%zu more have no mark)", m->left_out);
}

bool th_marks_find(struct th_str list, int64_t number, struct th_point *ret)
{
	struct th_json_doc *doc;
	struct th_json_iter it;
	bool found = false;

	if (!list.len || th_json_parse(list, &doc, NULL))
		return false;
	it = th_json_iter(th_json_root(doc));
	while (!found && th_json_is_array(th_json_root(doc)) && th_json_next(&it)) {
		const struct th_json *box = th_json_get(it.val, "box");
		int64_t v[4];

		if (th_json_get_int(it.val, "id", 0) != number || number <= 0 ||
		    !th_json_is_array(box))
			continue;
		found = true;
		for (size_t i = 0; i < 4; i++) {
			v[i] = th_json_int(th_json_at(box, i), -1);
			found = found && v[i] >= 0 && v[i] <= TH_POINT_MAX;
		}
		if (found)
			*ret = (struct th_point){ (int32_t)(v[0] + v[2] / 2),
						  (int32_t)(v[1] + v[3] / 2) };
	}
	th_json_free(doc);
	return found;
}
