/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "actions/keys.h"
#include "base/text.h"

enum {
	CTRL = TH_KEYSYM_CONTROL_L,
	SHIFT = TH_KEYSYM_SHIFT_L,
	ALT = TH_KEYSYM_ALT_L,
	SUPER = TH_KEYSYM_SUPER_L,
	RETURN = TH_KEYSYM_RETURN,
	TAB = TH_KEYSYM_TAB,
	DELETE = TH_KEYSYM_DELETE,
	ESCAPE = 0xff1b,
	BACKSPACE = 0xff08,
	UP = 0xff52,
	DOWN = 0xff54,
	LEFT = 0xff51,
	RIGHT = 0xff53,
	PAGE_UP = 0xff55,
	PAGE_DOWN = 0xff56,
	MENU = 0xff67,
	F1 = 0xffbe,
};

struct chord_case {
	const char *names[4]; /* NULL-terminated */
	uint32_t keysyms[5];  /* 0-terminated */
};

static const struct chord_case chords[] = {
	/* OpenAI: a list of capitals */
	{ { "CTRL", "A" }, { CTRL, 'a' } },
	{ { "CTRL", "SHIFT", "T" }, { CTRL, SHIFT, 't' } },
	{ { "ALT", "ARROWLEFT" }, { ALT, LEFT } },
	{ { "CMD", "SPACE" }, { SUPER, ' ' } },
	{ { "ENTER" }, { RETURN } },
	{ { "PAGEDOWN" }, { PAGE_DOWN } },
	{ { "ARROWUP" }, { UP } },
	{ { "/" }, { '/' } },
	{ { "BACKSPACE" }, { BACKSPACE } },
	/* Anthropic: xdotool */
	{ { "ctrl+s" }, { CTRL, 's' } },
	{ { "Return" }, { RETURN } },
	{ { "Page_Down" }, { PAGE_DOWN } },
	{ { "super" }, { SUPER } },
	{ { "KP_Enter" }, { 0xff8d } },
	{ { "alt+Tab" }, { ALT, TAB } },
	{ { "ctrl+shift+Escape" }, { CTRL, SHIFT, ESCAPE } },
	{ { "Super_L" }, { SUPER } },
	{ { "ctrl+plus" }, { CTRL, '+' } },
	{ { "XF86AudioMute" }, { 0x1008ff12 } },
	{ { "U20AC" }, { 0x010020ac } },
	{ { "U+1F600" }, { 0x0101f600 } },
	{ { "u+e9" }, {} },
	/* Gemini, Playwright: KeyboardEvent.key */
	{ { "Control+A" }, { CTRL, 'a' } },
	{ { "Control+Shift+ArrowDown" }, { CTRL, SHIFT, DOWN } },
	{ { "Meta" }, { SUPER } },
	{ { "ControlOrMeta+c" }, { CTRL, 'c' } },
	{ { "PageUp" }, { PAGE_UP } },
	{ { "Backspace" }, { BACKSPACE } },
	{ { "F5" }, { F1 + 4 } },
	{ { "f35" }, { F1 + 34 } },
	{ { "ContextMenu" }, { MENU } },
	/* KeyboardEvent.code */
	{ { "ControlLeft", "KeyV" }, { CTRL, 'v' } },
	{ { "Digit1" }, { '1' } },
	{ { "Numpad7" }, { 0xffb7 } },
	{ { "BracketLeft" }, { '[' } },
	{ { "Backquote" }, { '`' } },
	{ { "ShiftRight", "KeyA" }, { TH_KEYSYM_SHIFT_R, 'a' } },
	/* pyautogui */
	{ { "pgdn" }, { PAGE_DOWN } },
	{ { "winleft", "r" }, { SUPER, 'r' } },
	{ { "ctrlleft", "c" }, { CTRL, 'c' } },
	{ { "esc" }, { ESCAPE } },
	{ { "enter" }, { RETURN } },
	{ { "del" }, { DELETE } },
	{ { "apps" }, { MENU } },
	{ { "num0" }, { 0xffb0 } },
	{ { "prtsc" }, { 0xff61 } },
	{ { "optionright" }, { TH_KEYSYM_ALT_R } },
	/* pynput, Cua */
	{ { "cmd_r" }, { TH_KEYSYM_SUPER_R } },
	{ { "alt_gr" }, { TH_KEYSYM_LEVEL3_SHIFT } },
	{ { "page_up" }, { PAGE_UP } },
	{ { "Key.media_play_pause" }, { 0x1008ff14 } },
	{ { "Key.shift_r" }, { TH_KEYSYM_SHIFT_R } },
	{ { "command", "win" }, {} }, /* the same key twice */
	{ { "option" }, { ALT } },
	/* other ways to write a chord */
	{ { "ctrl c" }, { CTRL, 'c' } },
	{ { "ctrl-alt-delete" }, { CTRL, ALT, DELETE } },
	{ { "ctrl + shift + a" }, { CTRL, SHIFT, 'a' } },
	{ { "Control+Shift", "t" }, { CTRL, SHIFT, 't' } },
	{ { "ctrl page down" }, { CTRL, PAGE_DOWN } },
	{ { "ctrl+page down" }, { CTRL, PAGE_DOWN } },
	{ { "page-down" }, { PAGE_DOWN } },
	{ { " Return " }, { RETURN } },
	{ { "left shift" }, { SHIFT } },
	{ { "shift left" }, { SHIFT, LEFT } },
	{ { "alt-left" }, { ALT, LEFT } },
	{ { "altleft" }, { ALT } },
	/* modifiers go first, the others keep their order */
	{ { "a", "ctrl" }, { CTRL, 'a' } },
	{ { "x", "SHIFT", "y", "CTRL" }, { SHIFT, CTRL, 'x', 'y' } },
	/* plus and minus are keys as well */
	{ { "+" }, { '+' } },
	{ { "-" }, { '-' } },
	{ { "ctrl++" }, { CTRL, '+' } },
	{ { "ctrl+-" }, { CTRL, '-' } },
	{ { "ctrl--" }, { CTRL, '-' } },
	{ { "ctrl-+" }, {} },
	{ { "ctrl", "+" }, { CTRL, '+' } },
	{ { "ctrl + +" }, { CTRL, '+' } },
	{ { "ctrl -" }, { CTRL, '-' } },
	{ { "ctrl+++a" }, { CTRL, '+', 'a' } },
	{ { " " }, { ' ' } },
	{ { "ctrl+ " }, { CTRL, ' ' } },
	{ { "_" }, { '_' } },
	/* characters */
	{ { "A" }, { 'A' } },
	{ { "shift+A" }, { SHIFT, 'a' } },
	{ { "é" }, { 0xe9 } },
	{ { "€" }, { 0x010020ac } },
	{ { "ctrl+中" }, { CTRL, 0x01004e2d } },
	{ { "😀" }, { 0x0101f600 } },
	{ { "\n" }, { RETURN } },
	{ { "\t" }, { TAB } },
	{ { "\b" }, { BACKSPACE } },
	/* no chords */
	{ { "" }, {} },
	{ { "   " }, {} },
	{ { "ctrl+" }, {} },
	{ { "+ctrl" }, {} },
	{ { "++" }, {} },
	{ { "ctrl++ " }, { CTRL, '+' } },
	{ { "ctrl + + + a" }, {} },
	{ { "ctrl+a ctrl+c" }, {} },
	{ { "Retrun" }, {} },
	{ { "ctrl+nonsense" }, {} },
	{ { "a", "a" }, {} },
	{ { "F36" }, {} },
	{ { "F0" }, {} },
	{ { "U+D800" }, {} },
	{ { "U+110000" }, {} },
	{ { "KeyÄ" }, {} },
	{ { "\x01" }, {} },
	{ { "\xff" }, {} },
	{ { "a\xff" }, {} },
};

static void test_chords(void **state)
{
	(void)state;
	for (size_t i = 0; i < TH_COUNT(chords); i++) {
		const struct chord_case *c = &chords[i];
		struct th_str names[4];
		struct th_chord chord = { .count = 77 };
		struct th_err err = {};
		size_t count = 0, want = 0;
		enum th_code code;

		while (count < 4 && c->names[count])
			count++;
		for (size_t j = 0; j < count; j++)
			names[j] = th_str_of(c->names[j]);
		while (c->keysyms[want])
			want++;
		code = th_keys_chord(names, count, &chord, &err);
		if (want == 0) {
			if (code >= 0)
				fail_msg("\"%s\" was taken for a chord", c->names[0]);
			assert_int_equal(chord.count, 77); /* untouched */
			assert_int_equal(err.code, code);
			continue;
		}
		if (code < 0)
			fail_msg("\"%s\": %s", c->names[0], err.msg);
		if (chord.count != want ||
		    memcmp(chord.keysyms, c->keysyms, want * sizeof(uint32_t)))
			fail_msg("\"%s\" gave %zu keys, first 0x%x", c->names[0], chord.count,
				 chord.keysyms[0]);
		for (size_t j = 0; j < chord.count; j++)
			assert_int_equal(th_keys_is_modifier(chord.keysyms[j]),
					 j < chord.modifier_count);
	}
}

static const char *message(const char *name)
{
	static struct th_err err;
	struct th_str s = th_str_of(name);
	struct th_chord chord;

	err = (struct th_err){};
	assert_int_equal(th_keys_chord(&s, 1, &chord, &err), TH_EPROTO);
	return err.msg;
}

static void test_messages(void **state)
{
	(void)state;
	assert_string_equal(message("Retrun"), "unknown key \"Retrun\"; did you mean Return?");
	assert_string_equal(message("ctrl+PageDwon"),
			    "unknown key \"PageDwon\"; did you mean Page_Down?");
	assert_non_null(strstr(message("F36"), "did you mean F"));
	assert_non_null(strstr(message("blorb"), "use a single character or a name such as"));
	assert_non_null(strstr(message("ctrl+a ctrl+c"), "more than one chord"));
	assert_non_null(strstr(message("ctrl+"), "a key is missing"));
	/* hostile names stay one short valid line */
	assert_null(strchr(message("a\nb\x1b[31m"), '\n'));
	char big[5000];
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	assert_true(strlen(message(big)) < 250);
}

static void test_limits(void **state)
{
	struct th_str names[TH_CHORD_KEYS_MAX + 1];
	char text[4 * TH_CHORD_KEYS_MAX];
	struct th_chord chord;
	struct th_err err = {};
	struct th_str one;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(names); i++)
		names[i] = th_str_n(&"abcdefghijklmnop"[i], 1);
	assert_int_equal(th_keys_chord(names, TH_CHORD_KEYS_MAX, &chord, &err), TH_OK);
	assert_int_equal(chord.count, TH_CHORD_KEYS_MAX);
	assert_int_equal(th_keys_chord(names, TH_CHORD_KEYS_MAX + 1, &chord, &err), TH_ELIMIT);
	for (size_t i = 0; i < sizeof(text) / 2; i++) {
		text[2 * i] = (char)('a' + i);
		text[2 * i + 1] = '+';
	}
	one = th_str_n(text, 2 * TH_CHORD_KEYS_MAX - 1);
	assert_int_equal(th_keys_chord(&one, 1, &chord, &err), TH_OK);
	one = th_str_n(text, 2 * TH_CHORD_KEYS_MAX + 1);
	assert_int_equal(th_keys_chord(&one, 1, &chord, &err), TH_ELIMIT);
	assert_int_equal(th_keys_chord(NULL, 0, &chord, &err), TH_EPROTO);
	one = (struct th_str){};
	assert_int_equal(th_keys_chord(&one, 1, &chord, NULL), TH_EPROTO);
}

/* What a name becomes when case and underscores do not count. */
static void fold(const char *name, char *out, char space)
{
	for (; *name; name++) {
		char c = *name == ' ' ? space : *name;

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if (c != '_')
			*out++ = c;
	}
	*out = '\0';
}

/* No name of the table is hidden by another one, or by a rule that comes first. */
static void test_table_is_unique(void **state)
{
	const char *name, *other;
	uint32_t keysym, keysym2;
	char a[64], b[64];

	(void)state;
	for (size_t i = 0; th_keys_at(i, &name, &keysym); i++) {
		assert_true(strlen(name) <= 32 && strlen(name) > 1);
		assert_int_not_equal(keysym, TH_KEYSYM_NONE);
		for (size_t j = i + 1; th_keys_at(j, &other, &keysym2); j++) {
			/* "page down" as "page_down" too: must then be the same key */
			fold(name, a, ' ');
			fold(other, b, ' ');
			if (strcmp(a, b) == 0)
				fail_msg("\"%s\" and \"%s\" are the same name", name, other);
			fold(name, a, '_');
			fold(other, b, '_');
			if (strcmp(a, b) == 0 && keysym != keysym2)
				fail_msg("\"%s\" and \"%s\" collide", name, other);
		}
		assert_int_equal(th_keys_find(th_str_of(name)), keysym);
		fold(name, a, ' ');
		assert_int_equal(th_keys_find(th_str_of(a)), keysym);
		for (char *p = a; *p; p++)
			*p = *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p;
		assert_int_equal(th_keys_find(th_str_of(a)), keysym);
		/* the name it is called by leads back to it */
		assert_int_equal(th_keys_find(th_str_of(th_keys_name(keysym))), keysym);
		/* and the whole of it is one key, never a chord */
		struct th_str one = th_str_of(name);
		struct th_chord chord;
		assert_int_equal(th_keys_chord(&one, 1, &chord, NULL), TH_OK);
		assert_int_equal(chord.count, 1);
	}
	assert_null(th_keys_name('a'));
}

/* Every name that pyautogui documents, but for those that only old Japanese keyboards have. */
static void test_pyautogui(void **state)
{
	static const char names[] =
	    "! \" # $ % & ' ( ) * + , - . / 0 1 2 3 4 5 6 7 8 9 : ; < = > ? @ [ \\ ] ^ _ ` a b c d "
	    "e f g h i j k l m n o p q r s t u v w x y z { | } ~ add alt altleft altright apps "
	    "backspace browserback browserfavorites browserforward browserhome browserrefresh "
	    "browsersearch browserstop capslock clear convert ctrl ctrlleft ctrlright decimal del "
	    "delete divide down end enter esc escape execute f1 f10 f11 f12 f13 f14 f15 f16 f17 "
	    "f18 "
	    "f19 f2 f20 f21 f22 f23 f24 f3 f4 f5 f6 f7 f8 f9 hanguel hangul hanja help home insert "
	    "kana kanji launchmail launchmediaselect left multiply nexttrack nonconvert num0 num1 "
	    "num2 num3 num4 num5 num6 num7 num8 num9 numlock pagedown pageup pause pgdn pgup "
	    "playpause prevtrack print printscreen prntscrn prtsc prtscr return right scrolllock "
	    "select separator shift shiftleft shiftright sleep space stop subtract tab up "
	    "volumedown "
	    "volumemute volumeup win winleft winright yen command option optionleft optionright";
	struct th_str rest = th_str_of(names);

	(void)state;
	while (rest.len > 0) {
		struct th_str name = th_str_split(&rest, ' ');

		if (th_keys_find(name) == TH_KEYSYM_NONE)
			fail_msg("%.*s is not known", TH_FMT(name));
	}
}

static void test_characters(void **state)
{
	(void)state;
	assert_int_equal(th_keys_of_char('a'), 'a');
	assert_int_equal(th_keys_of_char(0xff), 0xff);
	assert_int_equal(th_keys_of_char(0x100), 0x01000100);
	assert_int_equal(th_keys_of_char(0x10fffd), 0x0110fffd);
	assert_int_equal(th_keys_of_char('\r'), RETURN);
	static const uint32_t none[] = { 0,       7,        0x1f,      0x7f,   0x9f,
					 0xd800,  0xdfff,   0xfdd0,    0xfffe, 0xffff,
					 0x1ffff, 0x110000, 0xffffffff };
	for (size_t i = 0; i < TH_COUNT(none); i++)
		assert_int_equal(th_keys_of_char(none[i]), TH_KEYSYM_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chords),    cmocka_unit_test(test_messages),
		cmocka_unit_test(test_limits),    cmocka_unit_test(test_table_is_unique),
		cmocka_unit_test(test_pyautogui), cmocka_unit_test(test_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
