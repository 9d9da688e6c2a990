/* SPDX-License-Identifier: Apache-2.0 */
#include "actions/keys_internal.h"

#include <stdio.h>

#include "base/text.h"

#define NAME_LEN_MAX 32 /* longer ones are not in the table */
#define SUGGESTIONS_MAX 3
#define DISTANCE_MAX 3 /* changes to a name that still make a suggestion */

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Case and underscores do not count; a space in the table is any one separator. */
static bool same_name(const char *known, struct th_str name)
{
	size_t at = 0;

	for (;;) {
		while (*known == '_')
			known++;
		if (*known == ' ') {
			if (at == name.len || !memchr(" -_", name.ptr[at], 3))
				return false;
			known++, at++;
			continue;
		}
		while (at < name.len && name.ptr[at] == '_')
			at++;
		if (*known == '\0' || at == name.len)
			return *known == '\0' && at == name.len;
		if (lower(*known) != lower(name.ptr[at]))
			return false;
		known++, at++;
	}
}

/* The only character of `name`; false when it is none or several. */
static bool single_char(struct th_str name, uint32_t *ret)
{
	if (name.len == 0 || name.len > 4 || th_utf8_valid(name) != name.len)
		return false;
	return th_utf8_next(&name, ret) && name.len == 0;
}

/* "U+20AC", as xdotool also "U20AC": four to six hexadecimal digits. */
static bool code_point(struct th_str name, uint32_t *ret)
{
	uint32_t value = 0;

	if (name.len < 2 || lower(name.ptr[0]) != 'u')
		return false;
	name = th_str_sub(name, name.ptr[1] == '+' ? 2 : 1, name.len);
	if (name.len < 4 || name.len > 6)
		return false;
	for (size_t i = 0; i < name.len; i++) {
		char c = lower(name.ptr[i]);

		if (c >= '0' && c <= '9')
			value = value << 4 | (uint32_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (uint32_t)(c - 'a' + 10);
		else
			return false;
	}
	*ret = value;
	return true;
}

uint32_t th_keys_of_char(uint32_t c)
{
	switch (c) {
	case '\n':
	case '\r':
		return TH_KEYSYM_RETURN;
	case '\t':
		return TH_KEYSYM_TAB;
	}
	if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c > 0x10ffff)
		return TH_KEYSYM_NONE;
	if ((c >= 0xd800 && c <= 0xdfff) || (c & 0xfffe) == 0xfffe || (c >= 0xfdd0 && c <= 0xfdef))
		return TH_KEYSYM_NONE;
	return c < 0x100 ? c : TH_KEYSYM_UNICODE | c;
}

uint32_t th_keys_find(struct th_str name)
{
	uint32_t c;

	if (single_char(name, &c)) {
		switch (c) {
		case '\b':
			return 0xff08;
		case 0x1b:
			return 0xff1b;
		case 0x7f:
			return TH_KEYSYM_DELETE;
		}
		return th_keys_of_char(c);
	}
	if (th_str_istarts(name, TH_STR("Key."))) /* pynput as Python prints it */
		name = th_str_sub(name, 4, name.len);
	if (name.len > NAME_LEN_MAX)
		return TH_KEYSYM_NONE;
	for (size_t i = 0; i < th_key_name_count; i++) {
		if (same_name(th_key_names[i].name, name))
			return th_key_names[i].keysym;
	}
	if (name.len == 4 && th_str_istarts(name, TH_STR("Key"))) { /* KeyboardEvent.code */
		char letter = lower(name.ptr[3]);

		if (letter >= 'a' && letter <= 'z')
			return (uint32_t)letter;
	}
	return code_point(name, &c) ? th_keys_of_char(c) : TH_KEYSYM_NONE;
}

bool th_keys_is_modifier(uint32_t keysym)
{
	switch (keysym) {
	case TH_KEYSYM_LEVEL3_SHIFT:
	case TH_KEYSYM_MODE_SWITCH:
	case TH_KEYSYM_SHIFT_L:
	case TH_KEYSYM_SHIFT_R:
	case TH_KEYSYM_CONTROL_L:
	case TH_KEYSYM_CONTROL_R:
	case TH_KEYSYM_META_L:
	case TH_KEYSYM_META_R:
	case TH_KEYSYM_ALT_L:
	case TH_KEYSYM_ALT_R:
	case TH_KEYSYM_SUPER_L:
	case TH_KEYSYM_SUPER_R:
	case TH_KEYSYM_HYPER_L:
	case TH_KEYSYM_HYPER_R:
		return true;
	}
	return false;
}

const char *th_keys_name(uint32_t keysym)
{
	for (size_t i = 0; i < th_key_name_count; i++) {
		if (th_key_names[i].keysym == keysym)
			return th_key_names[i].name;
	}
	return NULL;
}

bool th_keys_at(size_t index, const char **ret_name, uint32_t *ret_keysym)
{
	if (index >= th_key_name_count)
		return false;
	*ret_name = th_key_names[index].name;
	*ret_keysym = th_key_names[index].keysym;
	return true;
}

/* ---- suggestions ---- */

/* Insertions, deletions, replacements and swaps of neighbours between the two; case and
 * separators do not count. */
static size_t distance(const char *known, struct th_str name)
{
	/* Zeroed, since the analyzer cannot follow that all is set before it is read. */
	size_t rows[3][NAME_LEN_MAX + 1] = {};
	char a[NAME_LEN_MAX] = "", b[NAME_LEN_MAX] = "";
	size_t a_len = 0, b_len = 0;

	for (; *known && a_len < NAME_LEN_MAX; known++) {
		if (*known != '_' && *known != ' ')
			a[a_len++] = lower(*known);
	}
	for (size_t i = 0; i < name.len && b_len < NAME_LEN_MAX; i++) {
		if (!memchr("_- ", name.ptr[i], 3))
			b[b_len++] = lower(name.ptr[i]);
	}
	if (a_len > b_len + DISTANCE_MAX || b_len > a_len + DISTANCE_MAX)
		return DISTANCE_MAX + 1;
	for (size_t j = 0; j <= b_len; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t *now = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];

		now[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);

			best = TH_MIN(best, above[j] + 1);
			best = TH_MIN(best, now[j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				best = TH_MIN(best, above2[j - 2] + 1);
			now[j] = best;
		}
	}
	return rows[a_len % 3][b_len];
}

struct suggestions {
	const struct th_key_name *rows[SUGGESTIONS_MAX];
	size_t count;
};

static void suggest(struct suggestions *s, const struct th_key_name *row)
{
	for (size_t i = 0; i < s->count; i++) {
		if (s->rows[i]->keysym == row->keysym) /* another name of the same key */
			return;
	}
	if (s->count < SUGGESTIONS_MAX)
		s->rows[s->count++] = row;
}

enum th_code th_keys_unknown(struct th_str name, struct th_err *err)
{
	struct th_str shown = th_utf8_cut(name, TH_KEY_SHOWN_MAX);
	struct suggestions s = {};
	size_t near = name.len <= 4 ? 1 : name.len <= 8 ? 2 : DISTANCE_MAX;
	size_t away[TH_KEY_NAMES_MAX];
	char list[128] = "";

	for (size_t i = 0; i < th_key_name_count && name.len <= NAME_LEN_MAX; i++)
		away[i] = distance(th_key_names[i].name, name);
	for (size_t want = 0; want <= near && name.len <= NAME_LEN_MAX; want++) {
		for (size_t i = 0; i < th_key_name_count; i++) {
			if (away[i] == want)
				suggest(&s, &th_key_names[i]);
		}
	}
	for (size_t i = 0; i < s.count; i++) {
		size_t used = strlen(list);

		snprintf(list + used, sizeof(list) - used, "%s%s",
			 i == 0             ? ""
			 : i + 1 == s.count ? " or "
					    : ", ",
			 s.rows[i]->name);
	}
	if (s.count > 0)
		return th_fail(err, TH_EPROTO, "unknown key \"%.*s\"; did you mean %s?",
			       TH_FMT(shown), list);
	return th_fail(
	    err, TH_EPROTO,
	    "unknown key \"%.*s\"; use a single character or a name such as ctrl, shift, "
	    "alt, super, Return, Escape, Page_Down, F5",
	    TH_FMT(shown));
}
