/* SPDX-License-Identifier: Apache-2.0 */
#include "core/keys.h"

#include <stdio.h>

#include "base/text.h"

#define NAME_LEN_MAX 32 /* longer ones are not in the table */
#define SHOWN_MAX 40    /* bytes of a wrong name in a message */
#define SUGGESTIONS_MAX 3
#define DISTANCE_MAX 3 /* changes to a name that still make a suggestion */

struct row {
	const char *name; /* a space stands for " ", "-" or "_" */
	uint32_t keysym;
};

/* clang-format off */
#define F_KEYS(X)                                                             \
	X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13)  \
	X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24)     \
	X(25) X(26) X(27) X(28) X(29) X(30) X(31) X(32) X(33) X(34) X(35)
#define DIGITS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9)
/* clang-format on */

/* For each keysym its X name comes first, and the best known one where there are several. */
static const struct row table[] = {
	/* editing and white space */
	{ "Return", 0xff0d },
	{ "Enter", 0xff0d },
	{ "Tab", 0xff09 },
	{ "ISO_Left_Tab", 0xfe20 },
	{ "space", 0x20 },
	{ "spacebar", 0x20 },
	{ "space bar", 0x20 },
	{ "BackSpace", 0xff08 },
	{ "back space", 0xff08 },
	{ "bksp", 0xff08 },
	{ "Delete", 0xffff },
	{ "del", 0xffff },
	{ "Insert", 0xff63 },
	{ "ins", 0xff63 },
	{ "Escape", 0xff1b },
	{ "esc", 0xff1b },
	{ "Linefeed", 0xff0a },
	{ "Clear", 0xff0b },

	/* moving */
	{ "Home", 0xff50 },
	{ "End", 0xff57 },
	{ "Left", 0xff51 },
	{ "ArrowLeft", 0xff51 },
	{ "Arrow Left", 0xff51 },
	{ "Left Arrow", 0xff51 },
	{ "LeftArrow", 0xff51 },
	{ "Up", 0xff52 },
	{ "ArrowUp", 0xff52 },
	{ "Arrow Up", 0xff52 },
	{ "Up Arrow", 0xff52 },
	{ "UpArrow", 0xff52 },
	{ "Right", 0xff53 },
	{ "ArrowRight", 0xff53 },
	{ "Arrow Right", 0xff53 },
	{ "Right Arrow", 0xff53 },
	{ "RightArrow", 0xff53 },
	{ "Down", 0xff54 },
	{ "ArrowDown", 0xff54 },
	{ "Arrow Down", 0xff54 },
	{ "Down Arrow", 0xff54 },
	{ "DownArrow", 0xff54 },
	{ "Page_Up", 0xff55 },
	{ "Page Up", 0xff55 },
	{ "pgup", 0xff55 },
	{ "Prior", 0xff55 },
	{ "Page_Down", 0xff56 },
	{ "Page Down", 0xff56 },
	{ "pgdn", 0xff56 },
	{ "pgdown", 0xff56 },
	{ "Next", 0xff56 },
	{ "Begin", 0xff58 },

	/* modifiers */
	{ "Control_L", 0xffe3 },
	{ "ctrl", 0xffe3 },
	{ "control", 0xffe3 },
	{ "ctrl_l", 0xffe3 },
	{ "ctrlleft", 0xffe3 },
	{ "ControlLeft", 0xffe3 },
	{ "left ctrl", 0xffe3 },
	{ "left control", 0xffe3 },
	{ "ControlOrMeta", 0xffe3 },
	{ "CommandOrControl", 0xffe3 },
	{ "CmdOrCtrl", 0xffe3 },
	{ "Control_R", 0xffe4 },
	{ "ctrl_r", 0xffe4 },
	{ "ctrlright", 0xffe4 },
	{ "ControlRight", 0xffe4 },
	{ "right ctrl", 0xffe4 },
	{ "right control", 0xffe4 },
	{ "Shift_L", 0xffe1 },
	{ "shift", 0xffe1 },
	{ "ShiftLeft", 0xffe1 },
	{ "left shift", 0xffe1 },
	{ "Shift_R", 0xffe2 },
	{ "ShiftRight", 0xffe2 },
	{ "right shift", 0xffe2 },
	{ "Alt_L", 0xffe9 },
	{ "alt", 0xffe9 },
	{ "AltLeft", 0xffe9 },
	{ "left alt", 0xffe9 },
	{ "option", 0xffe9 },
	{ "opt", 0xffe9 },
	{ "option_l", 0xffe9 },
	{ "optionleft", 0xffe9 },
	{ "left option", 0xffe9 },
	{ "Alt_R", 0xffea },
	{ "AltRight", 0xffea },
	{ "right alt", 0xffea },
	{ "option_r", 0xffea },
	{ "optionright", 0xffea },
	{ "right option", 0xffea },
	{ "ISO_Level3_Shift", 0xfe03 },
	{ "AltGr", 0xfe03 },
	{ "alt gr", 0xfe03 },
	{ "AltGraph", 0xfe03 },
	{ "Super_L", 0xffeb },
	{ "super", 0xffeb },
	{ "SuperLeft", 0xffeb },
	{ "left super", 0xffeb },
	{ "meta", 0xffeb },
	{ "MetaLeft", 0xffeb },
	{ "left meta", 0xffeb },
	{ "win", 0xffeb },
	{ "win_l", 0xffeb },
	{ "winleft", 0xffeb },
	{ "left win", 0xffeb },
	{ "windows", 0xffeb },
	{ "cmd", 0xffeb },
	{ "cmd_l", 0xffeb },
	{ "cmdleft", 0xffeb },
	{ "left cmd", 0xffeb },
	{ "command", 0xffeb },
	{ "commandleft", 0xffeb },
	{ "left command", 0xffeb },
	{ "OS", 0xffeb },
	{ "OSLeft", 0xffeb },
	{ "Super_R", 0xffec },
	{ "SuperRight", 0xffec },
	{ "right super", 0xffec },
	{ "MetaRight", 0xffec },
	{ "right meta", 0xffec },
	{ "win_r", 0xffec },
	{ "winright", 0xffec },
	{ "right win", 0xffec },
	{ "cmd_r", 0xffec },
	{ "cmdright", 0xffec },
	{ "right cmd", 0xffec },
	{ "commandright", 0xffec },
	{ "right command", 0xffec },
	{ "OSRight", 0xffec },
	{ "Meta_L", 0xffe7 },
	{ "Meta_R", 0xffe8 },
	{ "Hyper_L", 0xffed },
	{ "hyper", 0xffed },
	{ "Hyper_R", 0xffee },
	{ "Mode_switch", 0xff7e },

	/* locks and the rest of the upper row */
	{ "Caps_Lock", 0xffe5 },
	{ "Caps Lock", 0xffe5 },
	{ "caps", 0xffe5 },
	{ "Shift_Lock", 0xffe6 },
	{ "Num_Lock", 0xff7f },
	{ "Num Lock", 0xff7f },
	{ "Scroll_Lock", 0xff14 },
	{ "Scroll Lock", 0xff14 },
	{ "Print", 0xff61 },
	{ "PrintScreen", 0xff61 },
	{ "Print Screen", 0xff61 },
	{ "prtsc", 0xff61 },
	{ "prtscr", 0xff61 },
	{ "prtscn", 0xff61 },
	{ "prntscrn", 0xff61 },
	{ "prntscr", 0xff61 },
	{ "snapshot", 0xff61 },
	{ "Sys_Req", 0xff15 },
	{ "Pause", 0xff13 },
	{ "Break", 0xff6b },
	{ "Menu", 0xff67 },
	{ "apps", 0xff67 },
	{ "app", 0xff67 },
	{ "ContextMenu", 0xff67 },
	{ "Context Menu", 0xff67 },
	{ "Help", 0xff6a },
	{ "Select", 0xff60 },
	{ "Execute", 0xff62 },
	{ "Undo", 0xff65 },
	{ "Redo", 0xff66 },
	{ "Find", 0xff68 },
	{ "Cancel", 0xff69 },
#define X(n) { "F" #n, 0xffbd + n },
	F_KEYS(X)
#undef X

/* number pad */
#define X(n) { "KP_" #n, 0xffb0 + n }, { "Numpad" #n, 0xffb0 + n }, { "num" #n, 0xffb0 + n },
	    DIGITS(X)
#undef X
		{ "KP_Enter", 0xff8d },
	{ "NumpadEnter", 0xff8d },
	{ "KP_Add", 0xffab },
	{ "NumpadAdd", 0xffab },
	{ "add", 0xffab },
	{ "KP_Subtract", 0xffad },
	{ "NumpadSubtract", 0xffad },
	{ "subtract", 0xffad },
	{ "KP_Multiply", 0xffaa },
	{ "NumpadMultiply", 0xffaa },
	{ "multiply", 0xffaa },
	{ "KP_Divide", 0xffaf },
	{ "NumpadDivide", 0xffaf },
	{ "divide", 0xffaf },
	{ "KP_Decimal", 0xffae },
	{ "NumpadDecimal", 0xffae },
	{ "decimal", 0xffae },
	{ "KP_Separator", 0xffac },
	{ "NumpadComma", 0xffac },
	{ "separator", 0xffac },
	{ "KP_Equal", 0xffbd },
	{ "NumpadEqual", 0xffbd },
	{ "KP_Space", 0xff80 },
	{ "KP_Tab", 0xff89 },
	{ "KP_Home", 0xff95 },
	{ "KP_Left", 0xff96 },
	{ "KP_Up", 0xff97 },
	{ "KP_Right", 0xff98 },
	{ "KP_Down", 0xff99 },
	{ "KP_Page_Up", 0xff9a },
	{ "KP_Prior", 0xff9a },
	{ "KP_Page_Down", 0xff9b },
	{ "KP_Next", 0xff9b },
	{ "KP_End", 0xff9c },
	{ "KP_Begin", 0xff9d },
	{ "KP_Insert", 0xff9e },
	{ "KP_Delete", 0xff9f },

/* characters by name: X, KeyboardEvent.code, what people say */
#define X(n) { "Digit" #n, 0x30 + n },
	DIGITS(X)
#undef X
	    { "exclam", '!' },
	{ "quotedbl", '"' },
	{ "numbersign", '#' },
	{ "hash", '#' },
	{ "dollar", '$' },
	{ "percent", '%' },
	{ "ampersand", '&' },
	{ "apostrophe", '\'' },
	{ "quote", '\'' },
	{ "parenleft", '(' },
	{ "parenright", ')' },
	{ "asterisk", '*' },
	{ "plus", '+' },
	{ "comma", ',' },
	{ "minus", '-' },
	{ "hyphen", '-' },
	{ "dash", '-' },
	{ "period", '.' },
	{ "dot", '.' },
	{ "slash", '/' },
	{ "colon", ':' },
	{ "semicolon", ';' },
	{ "less", '<' },
	{ "equal", '=' },
	{ "equals", '=' },
	{ "greater", '>' },
	{ "question", '?' },
	{ "at", '@' },
	{ "bracketleft", '[' },
	{ "backslash", '\\' },
	{ "bracketright", ']' },
	{ "asciicircum", '^' },
	{ "caret", '^' },
	{ "underscore", '_' },
	{ "grave", '`' },
	{ "backquote", '`' },
	{ "backtick", '`' },
	{ "braceleft", '{' },
	{ "bar", '|' },
	{ "pipe", '|' },
	{ "braceright", '}' },
	{ "asciitilde", '~' },
	{ "tilde", '~' },
	{ "yen", 0xa5 },
	{ "IntlYen", 0xa5 },
	{ "IntlBackslash", '<' },
	{ "EuroSign", 0x20ac },

	/* input methods */
	{ "Multi_key", 0xff20 },
	{ "Compose", 0xff20 },
	{ "Kanji", 0xff21 },
	{ "Muhenkan", 0xff22 },
	{ "NonConvert", 0xff22 },
	{ "Henkan_Mode", 0xff23 },
	{ "Henkan", 0xff23 },
	{ "Convert", 0xff23 },
	{ "Hiragana_Katakana", 0xff27 },
	{ "kana", 0xff27 },
	{ "KanaMode", 0xff27 },
	{ "Zenkaku_Hankaku", 0xff2a },
	{ "Hangul", 0xff31 },
	{ "hanguel", 0xff31 },
	{ "HangulMode", 0xff31 },
	{ "Hangul_Hanja", 0xff34 },
	{ "hanja", 0xff34 },
	{ "HanjaMode", 0xff34 },

	/* media, browser, power */
	{ "XF86AudioLowerVolume", 0x1008ff11 },
	{ "AudioVolumeDown", 0x1008ff11 },
	{ "volumedown", 0x1008ff11 },
	{ "volume down", 0x1008ff11 },
	{ "media_volume_down", 0x1008ff11 },
	{ "XF86AudioMute", 0x1008ff12 },
	{ "AudioVolumeMute", 0x1008ff12 },
	{ "volumemute", 0x1008ff12 },
	{ "media_volume_mute", 0x1008ff12 },
	{ "mute", 0x1008ff12 },
	{ "XF86AudioRaiseVolume", 0x1008ff13 },
	{ "AudioVolumeUp", 0x1008ff13 },
	{ "volumeup", 0x1008ff13 },
	{ "volume up", 0x1008ff13 },
	{ "media_volume_up", 0x1008ff13 },
	{ "XF86AudioPlay", 0x1008ff14 },
	{ "MediaPlayPause", 0x1008ff14 },
	{ "playpause", 0x1008ff14 },
	{ "XF86AudioStop", 0x1008ff15 },
	{ "MediaStop", 0x1008ff15 },
	{ "stop", 0x1008ff15 },
	{ "XF86AudioPrev", 0x1008ff16 },
	{ "MediaTrackPrevious", 0x1008ff16 },
	{ "media_previous", 0x1008ff16 },
	{ "prevtrack", 0x1008ff16 },
	{ "XF86AudioNext", 0x1008ff17 },
	{ "MediaTrackNext", 0x1008ff17 },
	{ "media_next", 0x1008ff17 },
	{ "nexttrack", 0x1008ff17 },
	{ "XF86HomePage", 0x1008ff18 },
	{ "BrowserHome", 0x1008ff18 },
	{ "XF86Mail", 0x1008ff19 },
	{ "LaunchMail", 0x1008ff19 },
	{ "XF86Search", 0x1008ff1b },
	{ "BrowserSearch", 0x1008ff1b },
	{ "XF86Back", 0x1008ff26 },
	{ "BrowserBack", 0x1008ff26 },
	{ "XF86Forward", 0x1008ff27 },
	{ "BrowserForward", 0x1008ff27 },
	{ "XF86Stop", 0x1008ff28 },
	{ "BrowserStop", 0x1008ff28 },
	{ "XF86Refresh", 0x1008ff29 },
	{ "BrowserRefresh", 0x1008ff29 },
	{ "XF86Favorites", 0x1008ff30 },
	{ "BrowserFavorites", 0x1008ff30 },
	{ "XF86Sleep", 0x1008ff2f },
	{ "sleep", 0x1008ff2f },
	{ "XF86AudioMedia", 0x1008ff32 },
	{ "LaunchMediaSelect", 0x1008ff32 },
	{ "MediaSelect", 0x1008ff32 },
	{ "XF86Calculator", 0x1008ff1d },
	{ "LaunchCalculator", 0x1008ff1d },
	{ "XF86MonBrightnessUp", 0x1008ff02 },
	{ "BrightnessUp", 0x1008ff02 },
	{ "XF86MonBrightnessDown", 0x1008ff03 },
	{ "BrightnessDown", 0x1008ff03 },
	{ "XF86Copy", 0x1008ff57 },
	{ "Copy", 0x1008ff57 },
	{ "XF86Cut", 0x1008ff58 },
	{ "Cut", 0x1008ff58 },
	{ "XF86Paste", 0x1008ff6d },
	{ "Paste", 0x1008ff6d },
};

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
	for (size_t i = 0; i < TH_COUNT(table); i++) {
		if (same_name(table[i].name, name))
			return table[i].keysym;
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
	for (size_t i = 0; i < TH_COUNT(table); i++) {
		if (table[i].keysym == keysym)
			return table[i].name;
	}
	return NULL;
}

bool th_keys_at(size_t index, const char **ret_name, uint32_t *ret_keysym)
{
	if (index >= TH_COUNT(table))
		return false;
	*ret_name = table[index].name;
	*ret_keysym = table[index].keysym;
	return true;
}

/* ---- suggestions ---- */

/* Insertions, deletions, replacements and swaps of neighbours between the two; case and
 * separators do not count. */
static size_t distance(const char *known, struct th_str name)
{
	size_t rows[3][NAME_LEN_MAX + 1];
	char a[NAME_LEN_MAX], b[NAME_LEN_MAX];
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
	const struct row *rows[SUGGESTIONS_MAX];
	size_t count;
};

static void suggest(struct suggestions *s, const struct row *row)
{
	for (size_t i = 0; i < s->count; i++) {
		if (s->rows[i]->keysym == row->keysym) /* another name of the same key */
			return;
	}
	if (s->count < SUGGESTIONS_MAX)
		s->rows[s->count++] = row;
}

static enum th_code unknown(struct th_str name, struct th_err *err)
{
	struct th_str shown = th_utf8_cut(name, SHOWN_MAX);
	struct suggestions s = {};
	size_t near = name.len <= 4 ? 1 : name.len <= 8 ? 2 : DISTANCE_MAX;
	size_t away[TH_COUNT(table)];
	char list[128] = "";

	for (size_t i = 0; i < TH_COUNT(table) && name.len <= NAME_LEN_MAX; i++)
		away[i] = distance(table[i].name, name);
	for (size_t want = 0; want <= near && name.len <= NAME_LEN_MAX; want++) {
		for (size_t i = 0; i < TH_COUNT(table); i++) {
			if (away[i] == want)
				suggest(&s, &table[i]);
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

/* ---- chords ---- */

/* Keys as they were written, before they are put in order. */
struct written {
	uint32_t keysyms[TH_CHORD_KEYS_MAX];
	size_t count;
};

static enum th_code add_key(struct written *w, struct th_str name, struct th_err *err)
{
	uint32_t keysym = th_keys_find(name);

	if (keysym == TH_KEYSYM_NONE)
		return unknown(name, err);
	if (w->count == TH_CHORD_KEYS_MAX)
		return th_fail(err, TH_ELIMIT, "a chord has at most %d keys", TH_CHORD_KEYS_MAX);
	w->keysyms[w->count++] = keysym;
	return TH_OK;
}

static bool is_blank(struct th_str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] != ' ')
			return false;
	}
	return true;
}

static enum th_code fail_chord(struct th_err *err, struct th_str chord, const char *what)
{
	return th_fail(err, TH_EPROTO, "\"%.*s\": %s", TH_FMT(th_utf8_cut(chord, SHOWN_MAX)), what);
}

/*
 * Cuts the next name off *rest at `sep`.  A separator where a name is expected
 * is that character's key: "ctrl++" is ctrl and +.  False when nothing stands
 * between two separators or behind the last one.
 */
static bool next_part(struct th_str *rest, char sep, struct th_str *ret)
{
	struct th_str name = *rest;
	size_t blanks = 0;
	ptrdiff_t end;

	while (blanks < name.len && name.ptr[blanks] == ' ')
		blanks++;
	if (blanks < name.len && name.ptr[blanks] == sep &&
	    is_blank(th_str_sub(name, blanks + 1, name.len))) { /* the last one */
		*ret = th_str_sub(name, blanks, 1);
		*rest = (struct th_str){};
		return true;
	}
	if (blanks + 1 < name.len && name.ptr[blanks] == sep && name.ptr[blanks + 1] == sep) {
		*ret = th_str_sub(name, blanks, 1);
		*rest = th_str_sub(name, blanks + 2, name.len);
		return rest->len > 0;
	}
	end = th_str_find_char(name, sep);
	if (end < 0) {
		*rest = (struct th_str){};
	} else {
		*rest = th_str_sub(name, (size_t)end + 1, name.len);
		name.len = (size_t)end;
		if (rest->len == 0)
			return false;
	}
	*ret = th_str_trim(name);
	if (ret->len == 0 && name.len > 0 && end < 0)
		*ret = TH_STR(" "); /* "ctrl+ " */
	return ret->len > 0;
}

static enum th_code add_parts(struct written *w, struct th_str chord, char sep, struct th_err *err)
{
	struct th_str rest = chord, name;

	while (rest.len > 0) {
		if (!next_part(&rest, sep, &name))
			return fail_chord(err, chord, "a key is missing in the chord");
		if (sep == '+' && th_keys_find(name) == TH_KEYSYM_NONE &&
		    th_str_find_char(name, ' ') >= 0)
			return fail_chord(
			    err, chord, "more than one chord, of which each needs its own action");
		enum th_code code = add_key(w, name, err);

		if (code < 0)
			return code;
	}
	return TH_OK;
}

/* Names with a blank between them; two words that are one key ("page down") are taken as such. */
static enum th_code add_words(struct written *w, struct th_str words, struct th_err *err)
{
	while ((words = th_str_trim(words)).len > 0) {
		struct th_str rest = words, first = th_str_split(&rest, ' ');
		struct th_str after = rest, second = th_str_split(&after, ' ');
		struct th_str both = { first.ptr, first.len + 1 + second.len };
		enum th_code code;

		if (second.len > 0 && th_keys_find(both) != TH_KEYSYM_NONE) {
			first = both;
			rest = after;
		}
		if ((code = add_key(w, first, err)) < 0)
			return code;
		words = rest;
	}
	return TH_OK;
}

static enum th_code add_chord(struct written *w, struct th_str text, struct th_err *err)
{
	struct th_str trimmed = th_str_trim(text);

	if (th_keys_find(text) != TH_KEYSYM_NONE)
		return add_key(w, text, err);
	if (trimmed.len == 0)
		return th_fail(err, TH_EPROTO, "the name of a key is empty");
	if (th_keys_find(trimmed) != TH_KEYSYM_NONE)
		return add_key(w, trimmed, err);
	if (th_str_find_char(trimmed, '+') >= 0)
		return add_parts(w, text, '+', err);
	if (th_str_find_char(trimmed, ' ') >= 0)
		return add_words(w, trimmed, err);
	if (th_str_find_char(trimmed, '-') >= 0)
		return add_parts(w, trimmed, '-', err);
	return add_key(w, trimmed, err);
}

enum th_code th_keys_chord(const struct th_str *names, size_t count, struct th_chord *ret,
			   struct th_err *err)
{
	struct written w = {};
	struct th_chord chord = {};
	enum th_code code;

	for (size_t i = 0; i < count; i++) {
		if ((code = add_chord(&w, names[i], err)) < 0)
			return code;
	}
	if (w.count == 0)
		return th_fail(err, TH_EPROTO, "no key is named");
	for (size_t i = 0; i < w.count; i++) {
		if (w.count > 1 && w.keysyms[i] >= 'A' && w.keysyms[i] <= 'Z')
			w.keysyms[i] += 'a' - 'A';
		for (size_t j = 0; j < i; j++) {
			if (w.keysyms[j] == w.keysyms[i])
				return th_fail(err, TH_EPROTO,
					       "the same key is in the chord twice; to press it "
					       "several times, use count");
		}
	}
	for (int modifiers = 1; modifiers >= 0; modifiers--) {
		for (size_t i = 0; i < w.count; i++) {
			if (th_keys_is_modifier(w.keysyms[i]) == modifiers)
				chord.keysyms[chord.count++] = w.keysyms[i];
		}
		if (modifiers)
			chord.modifier_count = chord.count;
	}
	*ret = chord;
	return TH_OK;
}
