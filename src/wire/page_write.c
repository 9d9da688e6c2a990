/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_write.c - the trees of a page as lines of text: what each role is shown as.
 */
#include <stdio.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/text.h"
#include "wire/page_internal.h"

/* What a role means for the text. */
enum use {
	USE_PASS,    /* nothing of its own: what is in it */
	USE_ACTS,    /* can be acted on */
	USE_FIELD,   /* the same, and what is in it is nobody's matter */
	USE_TEXT,    /* its name is text */
	USE_SKIP,    /* neither it nor what is in it */
	USE_BLOCK,   /* a line of its own for what is in it */
	USE_HEADING, /* the same, with # for its level */
	USE_ITEM,    /* with - */
	USE_ROW,     /* with | between its cells */
	USE_CELL,
	USE_PICTURE, /* its name, if it has one */
	USE_PLACE, /* a part of the page that is announced: its role and name, then what is in it */
	USE_FRAME,
};

static const struct role {
	const char *name;
	enum use use;
	const char *shown; /* NULL: the same */
} roles[] = {
	{ "StaticText", USE_TEXT, NULL },
	{ "InlineTextBox", USE_SKIP, NULL },
	{ "ListMarker", USE_SKIP, NULL },
	{ "LineBreak", USE_SKIP, NULL },
	{ "button", USE_ACTS, NULL },
	{ "link", USE_ACTS, NULL },
	{ "textbox", USE_FIELD, NULL },
	{ "searchbox", USE_FIELD, "textbox" },
	{ "combobox", USE_ACTS, "select" },
	{ "listbox", USE_ACTS, "select" },
	{ "checkbox", USE_ACTS, NULL },
	{ "radio", USE_ACTS, NULL },
	{ "switch", USE_ACTS, NULL },
	{ "slider", USE_FIELD, NULL },
	{ "spinbutton", USE_FIELD, "number" },
	{ "menuitem", USE_ACTS, NULL },
	{ "menuitemcheckbox", USE_ACTS, "menuitem" },
	{ "menuitemradio", USE_ACTS, "menuitem" },
	{ "tab", USE_ACTS, NULL },
	{ "option", USE_ACTS, NULL },
	{ "treeitem", USE_ACTS, NULL },
	{ "DisclosureTriangle", USE_ACTS, "summary" },
	{ "DisclosureTriangleGrouped", USE_ACTS, "summary" },
	{ "ColorWell", USE_FIELD, "color" },
	{ "Date", USE_FIELD, "date" },
	{ "DateTime", USE_FIELD, "datetime" },
	{ "InputTime", USE_FIELD, "time" },
	{ "Canvas", USE_ACTS, "canvas" },
	{ "Video", USE_FIELD, "video" },
	{ "Audio", USE_FIELD, "audio" },
	{ "heading", USE_HEADING, NULL },
	{ "paragraph", USE_BLOCK, NULL },
	{ "blockquote", USE_BLOCK, NULL },
	{ "caption", USE_BLOCK, NULL },
	{ "Figcaption", USE_BLOCK, NULL },
	{ "LabelText", USE_BLOCK, NULL },
	{ "Legend", USE_BLOCK, NULL },
	{ "term", USE_BLOCK, NULL },
	{ "definition", USE_BLOCK, NULL },
	{ "code", USE_PASS, NULL },
	{ "Pre", USE_BLOCK, NULL },
	{ "listitem", USE_ITEM, NULL },
	{ "row", USE_ROW, NULL },
	{ "cell", USE_CELL, NULL },
	{ "gridcell", USE_CELL, NULL },
	{ "columnheader", USE_CELL, NULL },
	{ "rowheader", USE_CELL, NULL },
	{ "image", USE_PICTURE, NULL },
	{ "img", USE_PICTURE, "image" },
	{ "dialog", USE_PLACE, NULL },
	{ "alertdialog", USE_PLACE, "dialog" },
	{ "alert", USE_PLACE, NULL },
	{ "status", USE_PLACE, NULL },
	{ "navigation", USE_PLACE, NULL },
	{ "Iframe", USE_FRAME, "frame" },
	{ "IframePresentational", USE_FRAME, "frame" },
};

static const struct role *role_find(struct th_str name)
{
	for (size_t i = 0; i < TH_COUNT(roles); i++)
		if (th_str_is(name, roles[i].name))
			return &roles[i];
	return NULL;
}

static struct th_str value_of(const struct th_json *node, const char *member)
{
	return th_json_get_str(th_json_get(node, member), "value");
}

static void end_line(struct th_page *p)
{
	struct th_str line = th_str_trim(th_buf_str(&p->line));

	if (line.len > 0 && !p->line.failed) {
		if (p->line_count == p->line_cap) {
			p->line_cap = p->line_cap ? 2 * p->line_cap : 256;
			p->lines = th_realloc(p->lines, p->line_cap * sizeof(*p->lines));
		}
		p->lines[p->line_count++] =
		    (struct th_page_line){ .at = p->text.len,
					   .len = line.len,
					   .hash = (uint32_t)th_hash64(line.ptr, line.len),
					   .first = p->line_first,
					   .acts = p->line_acts };
		th_buf_add(&p->text, line);
		th_buf_add_char(&p->text, '\n');
		if (p->text.failed) /* a line that did not fit is none */
			p->line_count--;
	}
	p->line_acts = false;
	p->line_first = 0;
	th_buf_clear(&p->line);
}

static bool ends_white(const struct th_buf *b)
{
	return b->len == 0 || b->ptr[b->len - 1] == ' ';
}

/* As one line, without what is white more than once; what looks like an element is none. */
static void add_clean(struct th_buf *out, struct th_str text, size_t columns_max)
{
	struct th_buf one = TH_BUF_INIT(4 * TH_PAGE_PIECE_MAX + 64);
	bool white = ends_white(out);
	struct th_str cut = th_utf8_cut(text, 4 * TH_PAGE_PIECE_MAX);

	for (size_t i = 0; i < cut.len; i++) {
		char c = cut.ptr[i];
		bool is_white = c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f';
		bool number = i + 1 < cut.len && cut.ptr[i + 1] >= '0' && cut.ptr[i + 1] <= '9';
		if (!is_white)
			th_buf_add_char(&one, c == '[' && number ? '(' : c);
		else if (!white)
			th_buf_add_char(&one, ' ');
		white = is_white;
	}
	th_text_line(out, th_buf_str(&one), columns_max);
	if (white && !ends_white(out)) /* that is left out at the end of a line */
		th_buf_add_char(out, ' ');
	th_buf_deinit(&one);
}

static void add_quoted(struct th_buf *out, struct th_str text, size_t columns_max)
{
	th_buf_add_char(out, '"');
	size_t from = out->len;
	add_clean(out, th_str_trim(text), columns_max);
	/* A name cannot end itself. */
	for (size_t i = from; i < out->len; i++)
		if (out->ptr[i] == '"')
			out->ptr[i] = '\'';
	th_buf_add_char(out, '"');
}

struct walk {
	struct th_page *p;
	int frame;
	size_t depth;
	bool inline_now;    /* what follows belongs to the line that is open */
	bool in_row, named; /* named: texts say what the name of what holds them has said */
};

static void write_node(struct walk w, struct node *n);
static void write_children(struct walk w, const struct th_json *json);

static void add_flags(struct th_page *p, const struct th_json *json)
{
	static const char *const flags[] = { "disabled", "selected", "required", "readonly",
					     "modal" };
	struct th_str checked = th_json_str(th_page_property(json, "checked"));
	struct th_str pressed = th_json_str(th_page_property(json, "pressed"));
	struct th_str invalid = th_json_str(th_page_property(json, "invalid"));
	const struct th_json *expanded = th_page_property(json, "expanded");

	if (th_str_is(checked, "true") || th_str_is(checked, "mixed"))
		th_buf_printf(&p->line, " %s", th_str_is(checked, "mixed") ? "mixed" : "checked");
	if (th_str_is(pressed, "true"))
		th_buf_add(&p->line, TH_STR(" pressed"));
	if (invalid.len > 0 && !th_str_is(invalid, "false"))
		th_buf_add(&p->line, TH_STR(" invalid"));
	if (expanded)
		th_buf_add(&p->line,
			   th_json_bool(expanded, false) ? TH_STR(" open") : TH_STR(" closed"));
	for (size_t i = 0; i < TH_COUNT(flags); i++)
		if (th_page_is_on(json, flags[i]))
			th_buf_printf(&p->line, " %s", flags[i]);
}

/* The choices of a list, wherever they stand below it. */
static size_t add_options(struct walk w, const struct th_json *json, size_t count)
{
	struct th_json_iter it = th_json_iter(th_json_get(json, "childIds"));

	if (++w.depth > TH_PAGE_DEPTH_MAX)
		return count;
	while (th_json_next(&it)) {
		struct node *n = th_page_node(w.p, w.frame, th_page_id_of(it.val));
		if (!n || n->done)
			continue;
		n->done = true;
		bool option = th_str_is(value_of(n->json, "role"), "option") ||
			      th_str_is(value_of(n->json, "role"), "MenuListOption");
		if (option && count < TH_PAGE_OPTIONS_MAX) {
			th_buf_add(&w.p->line, count ? TH_STR("|") : TH_STR(" ("));
			add_clean(&w.p->line, value_of(n->json, "name"), 40);
			if (th_page_is_on(n->json, "selected"))
				th_buf_add_char(&w.p->line, '*');
		}
		if (option)
			count++;
		else
			count = add_options(w, n->json, count);
	}
	return count;
}

static struct th_page_element *element_add(struct th_page *p)
{
	if (p->element_count == p->element_cap) {
		p->element_cap = p->element_cap ? 2 * p->element_cap : 256;
		p->elements = th_realloc(p->elements, p->element_cap * sizeof(*p->elements));
	}
	return &p->elements[p->element_count++];
}

static void write_element(struct walk w, const struct node *n, const char *role, bool field)
{
	struct th_page *p = w.p;
	struct th_str name = value_of(n->json, "name"), value = value_of(n->json, "value");
	bool picks = strcmp(role, "select") == 0;
	struct th_page_element *e;

	if (!w.inline_now)
		end_line(p);
	else if (!ends_white(&p->line))
		th_buf_add_char(&p->line, ' ');
	e = element_add(p);
	*e = (struct th_page_element){
		.number = th_page_refs_get(p->refs, p->frames[w.frame].space, n->element),
		.at = p->names.len,
		.name = th_utf8_cut(name, TH_PAGE_NAME_MAX),
	};
	th_buf_add(&p->names, e->name);
	p->line_first = p->line_first ?: e->number;
	snprintf(e->role, sizeof(e->role), "%s", role);
	th_buf_printf(&p->line, "[%d %s", e->number, role);
	if (name.len > 0) {
		th_buf_add_char(&p->line, ' ');
		add_quoted(&p->line, name, TH_PAGE_NAME_MAX);
	}
	if (value.len > 0 && !th_str_eq(value, name)) {
		th_buf_add(&p->line, TH_STR(" = "));
		add_quoted(&p->line, value, TH_PAGE_VALUE_MAX);
	}
	if (picks) {
		size_t count = add_options(w, n->json, 0);
		if (count > TH_PAGE_OPTIONS_MAX)
			th_buf_printf(&p->line, "|… %zu more", count - TH_PAGE_OPTIONS_MAX);
		th_buf_add(&p->line, count ? TH_STR(")") : TH_STR(""));
	}
	add_flags(p, n->json);
	/* Not in the line: to go on to the next field is no change of both. */
	if (th_page_is_on(n->json, "focused"))
		p->focus = e->number;
	th_buf_add_char(&p->line, ']');
	p->line_acts = true;
	/* What is in it is its name, but for what else can be acted on. */
	bool box = !field && name.len == 0 && !w.inline_now;
	w.named = !box;
	w.inline_now = !box;
	if (!field)
		write_children(w, n->json);
	if (!w.in_row)
		th_buf_add_char(&p->line, ' ');
}

static void write_text(struct walk w, const struct th_json *json)
{
	struct th_str text = value_of(json, "name");

	if (w.named || text.len == 0)
		return;
	if (!w.inline_now)
		end_line(w.p);
	add_clean(&w.p->line, text, TH_PAGE_PIECE_MAX);
}

/* For reading: what it is called; of a field, whose label stands beside it, what stands in it. */
static void write_name(struct walk w, const struct node *n, bool field)
{
	/* A link is a part of its sentence, whose spaces are its own. */
	bool apart = !th_str_is(value_of(n->json, "role"), "link");

	if (apart && w.inline_now && !ends_white(&w.p->line))
		th_buf_add_char(&w.p->line, ' ');
	if (!field) {
		write_text(w, n->json);
		w.inline_now = w.named = true;
		write_children(w, n->json);
	} else {
		add_clean(&w.p->line, value_of(n->json, "value"), TH_PAGE_VALUE_MAX);
	}
	if (apart)
		th_buf_add_char(&w.p->line, ' ');
}

static void write_block(struct walk w, const struct node *n, enum use use)
{
	static const char marks[] = "######";
	struct th_page *p = w.p;
	int64_t level = th_json_int(th_page_property(n->json, "level"), 1);

	/* A line in a line is a part of it. */
	bool own = !w.inline_now;
	if (own)
		end_line(p);
	if (own && use == USE_HEADING) {
		th_buf_printf(&p->line, "%.*s ", (int)TH_MIN(TH_MAX(level, 1), 6), marks);
		p->line_acts = true;
	}
	if (own && use == USE_ITEM)
		th_buf_add(&p->line, TH_STR("- "));
	if (own && use == USE_ROW)
		th_buf_add(&p->line, TH_STR("| "));
	w.inline_now = true;
	w.in_row = w.in_row || use == USE_ROW;
	write_children(w, n->json);
	if (own)
		end_line(p);
}

static void write_place(struct walk w, const struct node *n, const char *role)
{
	struct th_str name = value_of(n->json, "name");

	if (!w.inline_now) {
		end_line(w.p);
		th_buf_add_cstr(&w.p->line, role);
		if (name.len > 0) {
			th_buf_add_char(&w.p->line, ' ');
			add_quoted(&w.p->line, name, TH_PAGE_NAME_MAX);
		}
		add_flags(w.p, n->json);
		th_buf_add_char(&w.p->line, ':');
		w.p->line_acts = true;
		end_line(w.p);
	}
	write_children(w, n->json);
}

static void write_frame(struct walk w, const struct node *n)
{
	struct th_page *p = w.p;

	w.inline_now = false;
	write_place(w, n, "frame");
	for (int f = 1; f < p->frame_count && n->element; f++) {
		struct frame *frame = &p->frames[f];
		if (!frame->hangs || frame->owner_space != p->frames[w.frame].space ||
		    frame->owner != n->element || !frame->count)
			continue;
		frame->hangs = false;
		end_line(p);
		w.frame = f;
		write_node(w, &p->nodes[frame->first]);
		end_line(p);
		th_buf_add(&p->line, TH_STR("end of frame"));
		end_line(p);
		return;
	}
}

static void write_children(struct walk w, const struct th_json *json)
{
	struct th_json_iter it = th_json_iter(th_json_get(json, "childIds"));

	while (th_json_next(&it)) {
		struct node *n = th_page_node(w.p, w.frame, th_page_id_of(it.val));
		if (n)
			write_node(w, n);
	}
}

static void write_picture(struct walk w, const struct node *n)
{
	struct th_str name = value_of(n->json, "name");

	if (name.len > 0 && !w.named) {
		if (!w.inline_now)
			end_line(w.p);
		th_buf_add(&w.p->line, TH_STR("(image "));
		add_quoted(&w.p->line, name, TH_PAGE_NAME_MAX);
		th_buf_add(&w.p->line, TH_STR(") "));
	}
	write_children(w, n->json);
}

/* Trees of others may have circles: each node is written once. */
static void write_node(struct walk w, struct node *n)
{
	struct th_str name = value_of(n->json, "role");
	const struct role *role = role_find(name);
	enum use use = role ? role->use : USE_PASS;

	if (n->done || ++w.depth > TH_PAGE_DEPTH_MAX)
		return;
	n->done = true;
	if (th_json_bool(th_json_get(n->json, "ignored"), false))
		use = use == USE_FRAME ? use : USE_PASS;
	else if (use == USE_PASS && n->element && !th_str_is(name, "RootWebArea") &&
		 th_page_is_on(n->json, "focusable"))
		use = USE_ACTS; /* somebody made an element of his own */
	if ((use == USE_ACTS || use == USE_FIELD) && !w.p->refs) {
		write_name(w, n, use == USE_FIELD);
		return;
	}
	const char *shown = role && role->shown ? role->shown : role ? role->name : "element";
	switch (use) {
	case USE_ACTS:
	case USE_FIELD:
		write_element(w, n, shown, use == USE_FIELD);
		break;
	case USE_TEXT:
		write_text(w, n->json);
		break;
	case USE_SKIP:
		break;
	case USE_BLOCK:
	case USE_HEADING:
	case USE_ITEM:
	case USE_ROW:
		write_block(w, n, use);
		break;
	case USE_CELL:
		write_children(w, n->json);
		if (w.in_row)
			th_buf_add(&w.p->line,
				   ends_white(&w.p->line) ? TH_STR("| ") : TH_STR(" | "));
		break;
	case USE_PICTURE:
		write_picture(w, n);
		break;
	case USE_PLACE:
		write_place(w, n, shown);
		break;
	case USE_FRAME:
		write_frame(w, n);
		break;
	case USE_PASS:
		write_children(w, n->json);
		break;
	}
}

void th_page_write(struct th_page *p, struct th_page_refs *refs)
{
	p->refs = refs;
	th_page_index_nodes(p);
	if (p->frame_count > 0 && p->frames[0].count > 0)
		write_node((struct walk){ .p = p }, &p->nodes[0]);
	end_line(p);
	p->refs = NULL;
	/* The trees may go now; the names are ours. */
	for (size_t i = 0; i < p->element_count; i++) {
		struct th_page_element *e = &p->elements[i];
		bool there = e->at + e->name.len <= p->names.len;

		e->name =
		    there ? th_str_sub(th_buf_str(&p->names), e->at, e->name.len) : TH_STR("");
	}
}
