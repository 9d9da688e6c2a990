/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/html_text.h"

#include "base/limits.h"
#include "base/text.h"

#define HREF_MAX 500 /* bytes of an address that is shown */
#define ENTITY_MAX 10

/* ---- elements ---- */

enum role {
	INLINE,
	LINE,  /* begins and ends a line */
	BLOCK, /* has empty lines around it */
	HEAD,  /* a heading: BLOCK with # */
	ITEM,
	CELL,
	BREAK,
	RULE,
	PRE,
	LINK,
	PICTURE,
	TITLE,
	RAW,   /* its content is not shown, up to its end tag, whatever stands in it */
	GONE,  /* its content is not shown */
	PLAIN, /* its content is text up to its end tag */
};

static const struct {
	const char *name;
	enum role role;
} elements[] = {
	{ "p", BLOCK },       { "h1", HEAD },       { "h2", HEAD },
	{ "h3", HEAD },       { "h4", HEAD },       { "h5", HEAD },
	{ "h6", HEAD },       { "ul", BLOCK },      { "ol", BLOCK },
	{ "dl", BLOCK },      { "table", BLOCK },   { "blockquote", BLOCK },
	{ "figure", BLOCK },  { "form", BLOCK },    { "fieldset", BLOCK },
	{ "article", BLOCK }, { "section", BLOCK }, { "main", BLOCK },
	{ "nav", BLOCK },     { "aside", BLOCK },   { "header", BLOCK },
	{ "footer", BLOCK },  { "details", BLOCK }, { "div", LINE },
	{ "dt", LINE },       { "dd", LINE },       { "tr", LINE },
	{ "address", LINE },  { "caption", LINE },  { "figcaption", LINE },
	{ "summary", LINE },  { "legend", LINE },   { "option", LINE },
	{ "body", LINE },     { "li", ITEM },       { "td", CELL },
	{ "th", CELL },       { "br", BREAK },      { "hr", RULE },
	{ "pre", PRE },       { "a", LINK },        { "img", PICTURE },
	{ "title", TITLE },   { "script", RAW },    { "style", RAW },
	{ "iframe", RAW },    { "noembed", RAW },   { "template", GONE },
	{ "svg", GONE },      { "object", GONE },   { "audio", GONE },
	{ "video", GONE },    { "canvas", GONE },   { "textarea", PLAIN },
	{ "xmp", PLAIN },
};

static const char *const voids[] = { "area",  "base", "br",   "col",    "embed", "hr", "img",
				     "input", "link", "meta", "source", "track", "wbr" };

static enum role role_of(struct th_str name)
{
	for (size_t i = 0; i < TH_COUNT(elements); i++)
		if (th_str_ieq(name, th_str_of(elements[i].name)))
			return elements[i].role;
	return INLINE;
}

static bool is_void(struct th_str name)
{
	for (size_t i = 0; i < TH_COUNT(voids); i++)
		if (th_str_ieq(name, th_str_of(voids[i])))
			return true;
	return false;
}

/* ---- characters ---- */

struct writer {
	struct th_buf *out;
	int lines;                 /* line ends before the next character */
	bool space;                /* or a blank */
	int pre;                   /* inside of so many */
	size_t link_at, href_from; /* of an open link: its [ in `out`; SIZE_MAX: none */
	struct th_str href;
	/* What is passed over: an element of this name, and those of it inside. */
	struct th_str gone;
	size_t gone_depth;
};

/* Not seen, or turning the text around it. */
static bool is_unseen(uint32_t cp)
{
	return th_text_is_bidi(cp) || cp == 0x200b || cp == 0x2060 || cp == 0xfeff || cp == 0xad ||
	       (cp >= 0xe0000 && cp <= 0xe007f) || (cp >= 0x7f && cp < 0xa0) ||
	       (cp < 0x20 && cp != '\n' && cp != '\t');
}

static bool is_blank(uint32_t cp)
{
	return cp == ' ' || cp == '\t' || cp == '\n' || cp == '\r' || cp == '\f';
}

static void flush(struct writer *w)
{
	if (w->out->len) {
		for (int i = 0; i < w->lines; i++)
			th_buf_add_char(w->out, '\n');
		if (!w->lines && w->space)
			th_buf_add_char(w->out, ' ');
	}
	w->lines = 0;
	w->space = false;
}

static void put(struct writer *w, uint32_t cp)
{
	if (w->pre && cp == '\n') {
		w->lines = TH_MIN(w->lines + 1, 3);
		return;
	}
	if (is_blank(cp) && !(w->pre && cp != '\r')) {
		w->space = true;
		return;
	}
	if (is_unseen(cp))
		return;
	flush(w);
	th_utf8_add(w->out, cp == 0xa0 ? ' ' : cp);
}

static void put_ascii(struct writer *w, const char *text)
{
	flush(w);
	th_buf_add_cstr(w->out, text);
}

static void break_lines(struct writer *w, int count)
{
	w->lines = TH_MAX(w->lines, count);
	w->space = false;
}

/* ---- entities ---- */

static const struct {
	const char *name;
	uint32_t cp;
} entities[] = {
	{ "amp", '&' },      { "lt", '<' },       { "gt", '>' },       { "quot", '"' },
	{ "apos", '\'' },    { "nbsp", 0xa0 },    { "copy", 0xa9 },    { "reg", 0xae },
	{ "deg", 0xb0 },     { "plusmn", 0xb1 },  { "micro", 0xb5 },   { "middot", 0xb7 },
	{ "para", 0xb6 },    { "sect", 0xa7 },    { "laquo", 0xab },   { "raquo", 0xbb },
	{ "times", 0xd7 },   { "divide", 0xf7 },  { "frac12", 0xbd },  { "frac14", 0xbc },
	{ "sup2", 0xb2 },    { "sup3", 0xb3 },    { "pound", 0xa3 },   { "yen", 0xa5 },
	{ "cent", 0xa2 },    { "euro", 0x20ac },  { "ndash", 0x2013 }, { "mdash", 0x2014 },
	{ "lsquo", 0x2018 }, { "rsquo", 0x2019 }, { "sbquo", 0x201a }, { "ldquo", 0x201c },
	{ "rdquo", 0x201d }, { "bdquo", 0x201e }, { "bull", 0x2022 },  { "hellip", 0x2026 },
	{ "prime", 0x2032 }, { "trade", 0x2122 }, { "larr", 0x2190 },  { "uarr", 0x2191 },
	{ "rarr", 0x2192 },  { "darr", 0x2193 },  { "minus", 0x2212 }, { "infin", 0x221e },
	{ "ne", 0x2260 },    { "le", 0x2264 },    { "ge", 0x2265 },    { "ensp", ' ' },
	{ "emsp", ' ' },     { "thinsp", ' ' },   { "shy", 0xad },     { "zwnj", 0x200c },
	{ "zwj", 0x200d },   { "auml", 0xe4 },    { "ouml", 0xf6 },    { "uuml", 0xfc },
	{ "Auml", 0xc4 },    { "Ouml", 0xd6 },    { "Uuml", 0xdc },    { "szlig", 0xdf },
	{ "eacute", 0xe9 },  { "egrave", 0xe8 },  { "agrave", 0xe0 },  { "aacute", 0xe1 },
	{ "iacute", 0xed },  { "oacute", 0xf3 },  { "uacute", 0xfa },  { "ntilde", 0xf1 },
	{ "ccedil", 0xe7 },  { "aring", 0xe5 },   { "aelig", 0xe6 },   { "oslash", 0xf8 },
};

static uint32_t number(struct th_str digits)
{
	bool hex = digits.len && (digits.ptr[0] | 0x20) == 'x';
	uint32_t cp = 0;

	for (size_t i = hex; i < digits.len; i++) {
		char c = digits.ptr[i], low = (char)(c | 0x20);
		int value = c >= '0' && c <= '9'              ? c - '0'
			    : hex && low >= 'a' && low <= 'f' ? low - 'a' + 10
							      : -1;

		if (value < 0 || cp > 0x10ffff)
			return 0;
		cp = cp * (hex ? 16 : 10) + (uint32_t)value;
	}
	return cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000) ? 0 : cp;
}

/* Takes "&…;" off *s when it is one; else 0. */
static uint32_t entity(struct th_str *s)
{
	size_t end = 1;
	uint32_t cp = 0;
	struct th_str name;

	while (end < s->len && end <= ENTITY_MAX && s->ptr[end] != ';')
		end++;
	if (end >= s->len || s->ptr[end] != ';')
		return 0;
	name = th_str_sub(*s, 1, end - 1);
	if (name.len > 1 && name.ptr[0] == '#')
		cp = number(th_str_sub(name, 1, name.len));
	for (size_t i = 0; !cp && i < TH_COUNT(entities); i++)
		if (th_str_is(name, entities[i].name))
			cp = entities[i].cp;
	if (cp)
		*s = th_str_sub(*s, end + 1, s->len);
	return cp;
}

static void put_text(struct writer *w, struct th_str text)
{
	uint32_t cp;

	while (text.len && !w->out->failed) {
		cp = text.ptr[0] == '&' ? entity(&text) : 0;
		if (!cp && !th_utf8_next(&text, &cp))
			return;
		put(w, cp);
	}
}

/* ---- tags ---- */

struct tag {
	struct th_str name, href, alt;
	bool end, closed, hidden; /* closed: "/>" */
};

static bool is_letter(char c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

/* "display : none" and its kin, blanks aside. */
static bool hides(struct th_str style)
{
	static const char *const words[] = { "display:none", "visibility:hidden", "font-size:0;" };
	char flat[256];
	size_t len = 0;

	for (size_t i = 0; i < style.len && len < sizeof(flat) - 2; i++)
		if (!is_blank((unsigned char)style.ptr[i]))
			flat[len++] = style.ptr[i];
	flat[len++] = ';';
	for (size_t i = 0; i < TH_COUNT(words); i++) {
		struct th_str word = th_str_of(words[i]);

		for (size_t at = 0; at + word.len <= len; at++)
			if (th_str_ieq(th_str_n(flat + at, word.len), word))
				return true;
	}
	return false;
}

static void take_attribute(struct tag *t, struct th_str name, struct th_str value)
{
	if (th_str_ieq(name, TH_STR("href")))
		t->href = value;
	else if (th_str_ieq(name, TH_STR("alt")))
		t->alt = value;
	else if (th_str_ieq(name, TH_STR("hidden")))
		t->hidden = true;
	else if (th_str_ieq(name, TH_STR("aria-hidden")))
		t->hidden |= th_str_ieq(value, TH_STR("true"));
	else if (th_str_ieq(name, TH_STR("style")))
		t->hidden |= hides(value);
}

static struct th_str attribute_value(struct th_str s, size_t *at)
{
	size_t from = *at;
	char quote = from < s.len ? s.ptr[from] : 0;

	if (quote == '"' || quote == '\'') {
		size_t to = ++from;

		while (to < s.len && s.ptr[to] != quote)
			to++;
		*at = TH_MIN(to + 1, s.len);
		return th_str_sub(s, from, to - from);
	}
	while (*at < s.len && !is_blank((unsigned char)s.ptr[*at]) && s.ptr[*at] != '>')
		(*at)++;
	return th_str_sub(s, from, *at - from);
}

/* `s` begins with "<" and a letter, or "</" and a letter; returns what is behind the tag. */
static struct th_str read_tag(struct th_str s, struct tag *t)
{
	size_t at = 1, from;

	*t = (struct tag){ .end = s.ptr[1] == '/' };
	at += t->end;
	from = at;
	while (at < s.len && !is_blank((unsigned char)s.ptr[at]) && s.ptr[at] != '>' &&
	       s.ptr[at] != '/')
		at++;
	t->name = th_str_sub(s, from, at - from);
	while (at < s.len && s.ptr[at] != '>') {
		struct th_str name, value = { NULL, 0 };

		if (is_blank((unsigned char)s.ptr[at]) || s.ptr[at] == '/') {
			t->closed = s.ptr[at] == '/';
			at++;
			continue;
		}
		t->closed = false;
		from = at++;
		while (at < s.len && !is_blank((unsigned char)s.ptr[at]) && s.ptr[at] != '>' &&
		       s.ptr[at] != '/' && s.ptr[at] != '=')
			at++;
		name = th_str_sub(s, from, at - from);
		while (at < s.len && is_blank((unsigned char)s.ptr[at]))
			at++;
		if (at < s.len && s.ptr[at] == '=') {
			at++;
			while (at < s.len && is_blank((unsigned char)s.ptr[at]))
				at++;
			value = attribute_value(s, &at);
		}
		take_attribute(t, name, value);
	}
	return th_str_sub(s, TH_MIN(at + 1, s.len), s.len);
}

/* What is behind "</name", which ends at ">"; *ret: what is before it.  Without one: all. */
static struct th_str until_end(struct th_str s, struct th_str name, struct th_str *ret)
{
	size_t at = 0;

	for (; at < s.len; at++)
		if (s.ptr[at] == '<' && s.len - at > name.len + 1 && s.ptr[at + 1] == '/' &&
		    th_str_istarts(th_str_sub(s, at + 2, s.len), name))
			break;
	*ret = th_str_sub(s, 0, at);
	while (at < s.len && s.ptr[at] != '>')
		at++;
	return th_str_sub(s, TH_MIN(at + 1, s.len), s.len);
}

/* ---- links ---- */

static bool is_shown(struct th_str href)
{
	return href.len && href.ptr[0] != '#' && !th_str_istarts(href, TH_STR("javascript:")) &&
	       !th_str_istarts(href, TH_STR("data:"));
}

static void end_link(struct writer *w)
{
	struct writer address = { .out = w->out, .link_at = SIZE_MAX };

	if (w->link_at == SIZE_MAX || w->out->failed)
		return;
	if (w->out->len == w->link_at + 1) {
		th_buf_truncate(w->out, w->link_at); /* nothing is in it */
	} else if (is_shown(w->href)) {
		th_buf_add_cstr(w->out, "](");
		put_text(&address, th_utf8_cut(th_str_trim(w->href), HREF_MAX));
		th_buf_add_char(w->out, ')');
	} else {
		th_buf_add_char(w->out, ']');
	}
	w->link_at = SIZE_MAX;
}

static void begin_link(struct writer *w, const struct tag *t)
{
	end_link(w);
	flush(w);
	w->link_at = w->out->len;
	w->href = t->href;
	th_buf_add_char(w->out, '[');
}

/* ---- the document ---- */

static void begin(struct writer *w, const struct tag *t, enum role role)
{
	switch (role) {
	case LINE:
		break_lines(w, 1);
		return;
	case BLOCK:
		break_lines(w, 2);
		return;
	case PRE:
		break_lines(w, 2);
		w->pre++;
		return;
	case HEAD:
		break_lines(w, 2);
		flush(w);
		for (int i = '0'; i < t->name.ptr[1]; i++)
			th_buf_add_char(w->out, '#');
		w->space = true;
		return;
	case ITEM:
		break_lines(w, 1);
		put_ascii(w, "-");
		w->space = true;
		return;
	case CELL:
		if (!w->lines)
			put_ascii(w, " |");
		w->space = true;
		return;
	case BREAK:
		w->lines = TH_MIN(w->lines + 1, 2);
		return;
	case RULE:
		break_lines(w, 2);
		put_ascii(w, "---");
		break_lines(w, 2);
		return;
	case LINK:
		begin_link(w, t);
		return;
	case PICTURE:
		if (!t->alt.len)
			return;
		put_ascii(w, "[picture: ");
		put_text(w, th_utf8_cut(t->alt, HREF_MAX));
		th_buf_add_char(w->out, ']');
		return;
	case INLINE:
	case TITLE:
	case RAW:
	case GONE:
	case PLAIN:
		return;
	}
}

static void end(struct writer *w, enum role role)
{
	switch (role) {
	case LINE:
	case ITEM:
		break_lines(w, 1);
		return;
	case PRE:
		w->pre -= w->pre > 0;
		break_lines(w, 2);
		return;
	case BLOCK:
	case HEAD:
		break_lines(w, 2);
		return;
	case LINK:
		end_link(w);
		return;
	case INLINE:
	case CELL:
	case BREAK:
	case RULE:
	case PICTURE:
	case TITLE:
	case RAW:
	case GONE:
	case PLAIN:
		return;
	}
}

/* Inside of what is passed over.  True: this tag is, too. */
static bool passes(struct writer *w, const struct tag *t)
{
	if (!w->gone_depth)
		return false;
	if (th_str_ieq(t->name, w->gone) && !t->closed)
		w->gone_depth = t->end ? w->gone_depth - 1 : w->gone_depth + 1;
	return true;
}

/* A start or end tag; returns what is behind it and what it takes along. */
static struct th_str take_tag(struct writer *w, struct th_str s, struct th_buf *title)
{
	struct th_str inside;
	enum role role;
	struct tag t;

	s = read_tag(s, &t);
	role = role_of(t.name);
	if (!t.end && (role == RAW || role == TITLE || role == PLAIN) && !t.closed) {
		s = until_end(s, t.name, &inside);
		if (role == PLAIN && !w->gone_depth && !t.hidden)
			put_text(w, inside);
		if (role == TITLE && !title->len) {
			struct writer line = { .out = title, .link_at = SIZE_MAX };

			put_text(&line, inside);
		}
		return s;
	}
	if (passes(w, &t))
		return s;
	if (t.end) {
		end(w, role);
	} else if ((t.hidden || role == GONE) && !is_void(t.name) && !t.closed) {
		w->gone = t.name;
		w->gone_depth = 1;
	} else if (!t.hidden) {
		begin(w, &t, role);
	}
	return s;
}

/* "<!-- … -->", "<!DOCTYPE …>", "<?…>" */
static struct th_str pass_comment(struct th_str s)
{
	bool comment = th_str_starts(s, TH_STR("<!--"));
	size_t at = comment ? 4 : 2;

	for (; at < s.len; at++)
		if (s.ptr[at] == '>' &&
		    (!comment || (at >= 6 && s.ptr[at - 1] == '-' && s.ptr[at - 2] == '-')))
			break;
	return th_str_sub(s, TH_MIN(at + 1, s.len), s.len);
}

void th_html_text(struct th_str html, struct th_buf *out, struct th_buf *title)
{
	struct writer w = { .out = out, .link_at = SIZE_MAX };

	while (html.len && !out->failed) {
		char next = html.len > 1 ? html.ptr[1] : 0;
		size_t at = html.ptr[0] == '<';

		if (at &&
		    (is_letter(next) || (next == '/' && html.len > 2 && is_letter(html.ptr[2])))) {
			html = take_tag(&w, html, title);
			continue;
		}
		if (at && (next == '!' || next == '?')) {
			html = pass_comment(html);
			continue;
		}
		while (at < html.len && html.ptr[at] != '<')
			at++;
		if (!w.gone_depth)
			put_text(&w, th_str_sub(html, 0, at));
		html = th_str_sub(html, at, html.len);
	}
	end_link(&w);
}

void th_html_plain(struct th_str text, struct th_buf *out)
{
	uint32_t cp;

	while (!out->failed && th_utf8_next(&text, &cp))
		if (!is_unseen(cp))
			th_utf8_add(out, cp);
}
