/* SPDX-License-Identifier: Apache-2.0 */
/* view_line.c - the lines of a view: time, label, text, in colours. */
#include "console/view_parts.h"

#include "base/text.h"

#define LINES_MAX 200 /* of one text */

static const char *code_of(enum th_view_style s)
{
	switch (s) {
	case TH_VIEW_BOLD:
		return "\033[1m";
	case TH_VIEW_DIM:
		return "\033[2m";
	case TH_VIEW_RED:
		return "\033[31m";
	case TH_VIEW_GREEN:
		return "\033[32m";
	case TH_VIEW_YELLOW:
		return "\033[33m";
	case TH_VIEW_CYAN:
		return "\033[36m";
	case TH_VIEW_PLAIN:
		break;
	}
	return "";
}

void th_view_style(const struct th_view *v, enum th_view_style s, struct th_buf *out)
{
	if (v->options.colour && s != TH_VIEW_PLAIN)
		th_buf_add_cstr(out, code_of(s));
}

void th_view_unstyle(const struct th_view *v, enum th_view_style s, struct th_buf *out)
{
	if (v->options.colour && s != TH_VIEW_PLAIN)
		th_buf_add_cstr(out, "\033[0m");
}

void th_view_break(struct th_view *v, struct th_buf *out)
{
	if (!v->line_open)
		return;
	th_view_unstyle(v, v->streaming == TH_DELTA_REASONING ? TH_VIEW_DIM : TH_VIEW_PLAIN, out);
	th_buf_add_char(out, '\n');
	v->line_open = false;
}

void th_view_begin(struct th_view *v, const struct th_event *ev, const char *label,
		   enum th_view_style s, struct th_buf *out)
{
	int64_t ms = ev ? ev->ts_ms - v->first_ms : -1;

	th_view_break(v, out);
	th_view_style(v, TH_VIEW_DIM, out);
	if (ms >= 0)
		th_buf_printf(out, "%4lld:%02lld", (long long)(ms / 60000),
			      (long long)(ms / 1000 % 60));
	else
		th_buf_add_cstr(out, "       ");
	th_view_unstyle(v, TH_VIEW_DIM, out);
	th_buf_add_cstr(out, "  ");
	th_view_style(v, s, out);
	th_buf_printf(out, "%-10s", label);
	th_view_unstyle(v, s, out);
	th_buf_add_char(out, ' ');
}

size_t th_view_room(const struct th_view *v)
{
	return v->options.columns - TH_VIEW_INDENT;
}

void th_view_lines(struct th_view *v, struct th_str text, enum th_view_style s, size_t lines_max,
		   struct th_buf *out)
{
	size_t lines = 0;

	text = th_str_trim(text);
	th_view_style(v, s, out);
	do {
		struct th_str line = th_str_split(&text, '\n');

		if (lines > 0)
			th_buf_printf(out, "\n%*s", TH_VIEW_INDENT, "");
		th_text_line(out, line, TH_VIEW_COLUMNS_MAX);
	} while (text.len && ++lines < lines_max);
	if (text.len) {
		size_t more = 0;

		while (text.len) {
			(void)th_str_split(&text, '\n');
			more++;
		}
		th_buf_printf(out, "\n%*s\xe2\x80\xa6 %zu more lines", TH_VIEW_INDENT, "", more);
	}
	th_view_unstyle(v, s, out);
	th_buf_add_char(out, '\n');
}

void th_view_whole(struct th_view *v, const struct th_event *ev, const char *label,
		   enum th_view_style s, struct th_str text, struct th_buf *out)
{
	th_view_begin(v, ev, label, s, out);
	th_view_lines(v, text, TH_VIEW_PLAIN, LINES_MAX, out);
}

void th_view_line(struct th_view *v, const struct th_event *ev, const char *label,
		  enum th_view_style s, struct th_str text, struct th_buf *out)
{
	th_view_begin(v, ev, label, s, out);
	th_text_line(out, text, th_view_room(v));
	th_buf_add_char(out, '\n');
}

void th_view_note(struct th_view *v, const char *label, struct th_str text, struct th_buf *out)
{
	th_view_begin(v, NULL, label, TH_VIEW_DIM, out);
	th_view_lines(v, text, TH_VIEW_PLAIN, LINES_MAX, out);
}
