/* SPDX-License-Identifier: Apache-2.0 */
/* bash_keys.c - see bash_keys.h. */
#include "tools/bash_keys.h"

static const struct {
	const char *name, *bytes;
} keys[] = {
	{ "ENTER", "\r" },    { "TAB", "\t" },         { "BS", "\x7f" },      { "ESC", "\x1b" },
	{ "UP", "\x1b[A" },   { "DOWN", "\x1b[B" },    { "RIGHT", "\x1b[C" }, { "LEFT", "\x1b[D" },
	{ "HOME", "\x1b[H" }, { "END", "\x1b[F" },     { "PGUP", "\x1b[5~" }, { "PGDN", "\x1b[6~" },
	{ "SPACE", " " },     { "BACKSPACE", "\x7f" }, { "ESCAPE", "\x1b" },
};

/* "C-x", "CTRL-x", "CTRL+x": the character with its upper bits cleared. */
static char control_of(struct th_str text)
{
	static const char *const prefixes[] = { "C-", "CTRL-", "CTRL+" };

	for (size_t i = 0; i < TH_COUNT(prefixes); i++) {
		struct th_str prefix = th_str_of(prefixes[i]);

		if (text.len != prefix.len + 1 || !th_str_istarts(text, prefix))
			continue;
		char c = text.ptr[prefix.len];
		if (c >= 'a' && c <= 'z')
			c = (char)(c - 'a' + 'A');
		return c >= 'A' && c <= '_' ? (char)(c & 0x1f) : 0;
	}
	return 0;
}

void th_bash_keys(struct th_str text, struct th_buf *out, char *ret_control)
{
	char c = control_of(text);

	*ret_control = c ? (char)(c | 0x40) : 0;
	if (c) {
		th_buf_add_char(out, c);
		return;
	}
	for (size_t i = 0; i < TH_COUNT(keys); i++)
		if (th_str_ieq(text, th_str_of(keys[i].name))) {
			th_buf_add_cstr(out, keys[i].bytes);
			return;
		}
	th_buf_add(out, text);
	if (!th_str_ends(text, TH_STR("\n")))
		th_buf_add_char(out, '\r');
}
