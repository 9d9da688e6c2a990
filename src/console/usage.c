/* SPDX-License-Identifier: Apache-2.0 */
/* usage.c - the help of one command, laid out for a terminal from its table. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "console/console.h"

#define HELP_MAX (64 * TH_KIB)
#define COLUMNS 80       /* a terminal as it is opened */
#define OPTION_COLUMN 26 /* where descriptions begin */

/* `rest` from `column` on, wrapped. */
static void wrapped(struct th_buf *out, struct th_str rest, size_t column)
{
	size_t at = column;

	while (rest.len) {
		struct th_str word = th_str_split(&rest, ' ');

		size_t columns = th_utf8_count(word);

		if (at + columns + (at > column) > COLUMNS && at > column) {
			th_buf_printf(out, "\n%*s", (int)column, "");
			at = column;
		} else if (at > column) {
			th_buf_add_char(out, ' ');
			at++;
		}
		th_buf_add(out, word);
		at += columns;
	}
	th_buf_add_char(out, '\n');
}

/* Paragraphs are laid out here; a line that is indented, or empty, stays as it is. */
static void flowed(struct th_buf *out, struct th_str text)
{
	struct th_buf paragraph = TH_BUF_INIT(HELP_MAX);

	while (text.len) {
		struct th_str line = th_str_split(&text, '\n');
		bool flows = line.len && line.ptr[0] != ' ';

		if (flows) {
			if (paragraph.len)
				th_buf_add_char(&paragraph, ' ');
			th_buf_add(&paragraph, line);
		}
		if (paragraph.len && (!flows || !text.len)) {
			wrapped(out, th_buf_str(&paragraph), 0);
			th_buf_clear(&paragraph);
		}
		if (!flows) {
			th_buf_add(out, line);
			th_buf_add_char(out, '\n');
		}
	}
	th_buf_deinit(&paragraph);
}

static void option_row(struct th_buf *out, const struct th_option *o)
{
	size_t start = out->len, width;

	if (o->letter)
		th_buf_printf(out, "  -%c, --%s", o->letter, o->name);
	else
		th_buf_printf(out, "      --%s", o->name);
	if (o->value)
		th_buf_printf(out, " %s", o->value);
	width = out->len - start;
	if (width + 2 > OPTION_COLUMN)
		th_buf_printf(out, "\n%*s", OPTION_COLUMN, "");
	else
		th_buf_printf(out, "%*s", (int)(OPTION_COLUMN - width), "");
	wrapped(out, th_str_of(o->doc), OPTION_COLUMN);
}

static const struct th_option help_option = {
	"help", 'h', NULL, TH_OPTION_FLAG, 0, "this text", NULL,
};

void th_cli_usage_line(struct th_buf *out, const struct th_command *c)
{
	th_buf_printf(out, "thole %s%s%s%s", c->name, c->options ? " [OPTION…]" : "",
		      *c->operands ? " " : "", c->operands);
}

static void command_help(struct th_buf *out, const struct th_command *c)
{
	th_buf_printf(out, "thole %s: %s\n\nusage: ", c->name, c->summary);
	th_cli_usage_line(out, c);
	th_buf_add_cstr(out, *c->text ? "\n\n" : "\n");
	flowed(out, th_str_of(c->text));
	if (!c->options)
		return;
	th_buf_add_cstr(out, "\nOptions:\n");
	for (const struct th_option *o = c->options; o->name; o++)
		option_row(out, o);
	option_row(out, &help_option);
}

enum th_code th_cli_usage(const struct th_command *c, struct th_err *err)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(HELP_MAX);

	command_help(&out, c);
	return th_cli_show(&out, err);
}

enum th_code th_cli_show(const struct th_buf *text, struct th_err *err)
{
	return th_cli_write(STDOUT_FILENO, th_buf_str(text))
		   ? TH_OK
		   : th_fail(err, TH_EIO, "cannot write to standard output: %s", strerror(errno));
}
