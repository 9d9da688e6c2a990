/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys.h - names of keys, in everybody's vocabulary, to X keysyms.
 *
 * One table holds X keysym names (xdotool), OpenAI's capitals, KeyboardEvent
 * `key` and `code` (Playwright, Gemini), pyautogui, pynput and Cua; case and
 * underscores do not count.  A single Unicode character is a key too, and so
 * is "U+20AC".  Keysyms are plain numbers here, as in X.org's keysymdef.h:
 * whatever a computer speaks, it translates from them.
 */
#ifndef TH_ACTIONS_KEYS_H
#define TH_ACTIONS_KEYS_H

#include "base/err.h"
#include "base/limits.h"
#include "base/str.h"

/* The keysyms that code refers to by name; all others are in keys_names.c. */
enum th_keysym {
	TH_KEYSYM_NONE = 0,
	TH_KEYSYM_LEVEL3_SHIFT = 0xfe03, /* AltGr */
	TH_KEYSYM_TAB = 0xff09,
	TH_KEYSYM_RETURN = 0xff0d,
	TH_KEYSYM_DELETE = 0xffff,
	TH_KEYSYM_MODE_SWITCH = 0xff7e,
	TH_KEYSYM_NUM_LOCK = 0xff7f,
	TH_KEYSYM_SHIFT_L = 0xffe1,
	TH_KEYSYM_SHIFT_R = 0xffe2,
	TH_KEYSYM_CONTROL_L = 0xffe3,
	TH_KEYSYM_CONTROL_R = 0xffe4,
	TH_KEYSYM_CAPS_LOCK = 0xffe5,
	TH_KEYSYM_META_L = 0xffe7,
	TH_KEYSYM_META_R = 0xffe8,
	TH_KEYSYM_ALT_L = 0xffe9,
	TH_KEYSYM_ALT_R = 0xffea,
	TH_KEYSYM_SUPER_L = 0xffeb,
	TH_KEYSYM_SUPER_R = 0xffec,
	TH_KEYSYM_HYPER_L = 0xffed,
	TH_KEYSYM_HYPER_R = 0xffee,
	TH_KEYSYM_UNICODE = 0x01000000, /* plus the code point, from U+0100 on */
};

/* Keys that are down together: modifiers first, otherwise as written. */
struct th_chord {
	uint32_t keysyms[TH_CHORD_KEYS_MAX];
	size_t count, modifier_count;
};

/*
 * Reads a chord from a list of names, each of which may be a chord itself:
 *
 *	["CTRL", "A"]   ["ctrl+a"]   ["ctrl a"]   ["ctrl-a"]   ["Control+Shift", "t"]
 *
 * "+" and "-" are keys where a name is expected: "ctrl++", "ctrl--", "-".
 * Where other keys are in the chord, a capital letter is the plain letter
 * ("CTRL","A" holds no Shift); alone it is the capital ("A" is Shift and a).
 *
 * TH_EPROTO: an unknown name (with the nearest known ones), the same key twice,
 * two chords in one string, nothing at all.  TH_ELIMIT: more than
 * TH_CHORD_KEYS_MAX keys.  The message is for the model.
 */
TH_NODISCARD enum th_code th_keys_chord(const struct th_str *names, size_t count,
					struct th_chord *ret, struct th_err *err);

/* One key by name or character; TH_KEYSYM_NONE when there is none of that name. */
uint32_t th_keys_find(struct th_str name);

/* What it takes to type a character: newline is Return, tab is Tab; TH_KEYSYM_NONE for other
 * control characters, surrogates and noncharacters, which no key makes. */
uint32_t th_keys_of_char(uint32_t codepoint);

bool th_keys_is_modifier(uint32_t keysym);

/* The table's name for it ("Page_Down"), or NULL for characters and unknown keysyms. */
const char *th_keys_name(uint32_t keysym);

/* The table, for documentation, completion and tests: false when index is past its end. */
bool th_keys_at(size_t index, const char **ret_name, uint32_t *ret_keysym);

#endif
