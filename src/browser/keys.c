/* SPDX-License-Identifier: Apache-2.0 */
/* keys.c - keysyms as a page is told of keys: KeyboardEvent's names, and the place of each
 * on a keyboard of the US. */
#include <stdio.h>
#include <string.h>

#include "actions/keys.h"
#include "base/text.h"
#include "browser/browser.h"

static const struct special {
	uint32_t keysym;
	const char *key, *code;
	int vk;
	const char *text;
	int location;
} specials[] = {
	{ 0xff08, "Backspace", "Backspace", 8, "", 0 },
	{ 0xff09, "Tab", "Tab", 9, "", 0 },
	{ 0xff0d, "Enter", "Enter", 13, "\r", 0 },
	{ 0xff8d, "Enter", "NumpadEnter", 13, "\r", 3 },
	{ 0xff13, "Pause", "Pause", 19, "", 0 },
	{ 0xff14, "ScrollLock", "ScrollLock", 145, "", 0 },
	{ 0xff1b, "Escape", "Escape", 27, "", 0 },
	{ 0xff50, "Home", "Home", 36, "", 0 },
	{ 0xff51, "ArrowLeft", "ArrowLeft", 37, "", 0 },
	{ 0xff52, "ArrowUp", "ArrowUp", 38, "", 0 },
	{ 0xff53, "ArrowRight", "ArrowRight", 39, "", 0 },
	{ 0xff54, "ArrowDown", "ArrowDown", 40, "", 0 },
	{ 0xff55, "PageUp", "PageUp", 33, "", 0 },
	{ 0xff56, "PageDown", "PageDown", 34, "", 0 },
	{ 0xff57, "End", "End", 35, "", 0 },
	{ 0xff61, "PrintScreen", "PrintScreen", 44, "", 0 },
	{ 0xff63, "Insert", "Insert", 45, "", 0 },
	{ 0xff67, "ContextMenu", "ContextMenu", 93, "", 0 },
	{ 0xff7f, "NumLock", "NumLock", 144, "", 0 },
	{ 0xff95, "Home", "Numpad7", 36, "", 3 },
	{ 0xff96, "ArrowLeft", "Numpad4", 37, "", 3 },
	{ 0xff97, "ArrowUp", "Numpad8", 38, "", 3 },
	{ 0xff98, "ArrowRight", "Numpad6", 39, "", 3 },
	{ 0xff99, "ArrowDown", "Numpad2", 40, "", 3 },
	{ 0xff9a, "PageUp", "Numpad9", 33, "", 3 },
	{ 0xff9b, "PageDown", "Numpad3", 34, "", 3 },
	{ 0xff9c, "End", "Numpad1", 35, "", 3 },
	{ 0xff9e, "Insert", "Numpad0", 45, "", 3 },
	{ 0xff9f, "Delete", "NumpadDecimal", 46, "", 3 },
	{ 0xffaa, "*", "NumpadMultiply", 106, "*", 3 },
	{ 0xffab, "+", "NumpadAdd", 107, "+", 3 },
	{ 0xffad, "-", "NumpadSubtract", 109, "-", 3 },
	{ 0xffae, ".", "NumpadDecimal", 110, ".", 3 },
	{ 0xffaf, "/", "NumpadDivide", 111, "/", 3 },
	{ TH_KEYSYM_SHIFT_L, "Shift", "ShiftLeft", 16, "", 1 },
	{ TH_KEYSYM_SHIFT_R, "Shift", "ShiftRight", 16, "", 2 },
	{ TH_KEYSYM_CONTROL_L, "Control", "ControlLeft", 17, "", 1 },
	{ TH_KEYSYM_CONTROL_R, "Control", "ControlRight", 17, "", 2 },
	{ TH_KEYSYM_CAPS_LOCK, "CapsLock", "CapsLock", 20, "", 0 },
	{ TH_KEYSYM_META_L, "Meta", "MetaLeft", 91, "", 1 },
	{ TH_KEYSYM_META_R, "Meta", "MetaRight", 92, "", 2 },
	{ TH_KEYSYM_ALT_L, "Alt", "AltLeft", 18, "", 1 },
	{ TH_KEYSYM_ALT_R, "Alt", "AltRight", 18, "", 2 },
	{ TH_KEYSYM_SUPER_L, "Meta", "MetaLeft", 91, "", 1 },
	{ TH_KEYSYM_SUPER_R, "Meta", "MetaRight", 92, "", 2 },
	{ TH_KEYSYM_LEVEL3_SHIFT, "AltGraph", "AltRight", 18, "", 2 },
	{ TH_KEYSYM_DELETE, "Delete", "Delete", 46, "", 0 },
};

/* Keys with characters: without and with Shift. */
static const struct place {
	char plain, shifted;
	const char *code;
	int vk;
} places[] = {
	{ '`', '~', "Backquote", 192 },    { '-', '_', "Minus", 189 },
	{ '=', '+', "Equal", 187 },        { '[', '{', "BracketLeft", 219 },
	{ ']', '}', "BracketRight", 221 }, { '\\', '|', "Backslash", 220 },
	{ ';', ':', "Semicolon", 186 },    { '\'', '"', "Quote", 222 },
	{ ',', '<', "Comma", 188 },        { '.', '>', "Period", 190 },
	{ '/', '?', "Slash", 191 },        { ' ', ' ', "Space", 32 },
	{ '1', '!', "Digit1", '1' },       { '2', '@', "Digit2", '2' },
	{ '3', '#', "Digit3", '3' },       { '4', '$', "Digit4", '4' },
	{ '5', '%', "Digit5", '5' },       { '6', '^', "Digit6", '6' },
	{ '7', '&', "Digit7", '7' },       { '8', '*', "Digit8", '8' },
	{ '9', '(', "Digit9", '9' },       { '0', ')', "Digit0", '0' },
};

static const char *const letters[] = {
	"KeyA", "KeyB", "KeyC", "KeyD", "KeyE", "KeyF", "KeyG", "KeyH", "KeyI",
	"KeyJ", "KeyK", "KeyL", "KeyM", "KeyN", "KeyO", "KeyP", "KeyQ", "KeyR",
	"KeyS", "KeyT", "KeyU", "KeyV", "KeyW", "KeyX", "KeyY", "KeyZ",
};

static const char *const functions[] = {
	"F1",  "F2",  "F3",  "F4",  "F5",  "F6",  "F7",  "F8",  "F9",  "F10", "F11", "F12",
	"F13", "F14", "F15", "F16", "F17", "F18", "F19", "F20", "F21", "F22", "F23", "F24",
};

static void of_char(char c, struct th_browser_key *ret)
{
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
		ret->code = letters[(c | 0x20) - 'a'];
		ret->vk = (c | 0x20) - 0x20;
		ret->shift = c <= 'Z';
		return;
	}
	for (size_t i = 0; i < TH_COUNT(places); i++)
		if (places[i].plain == c || places[i].shifted == c) {
			ret->code = places[i].code;
			ret->vk = places[i].vk;
			ret->shift = places[i].plain != c;
			return;
		}
}

bool th_browser_key_find(uint32_t keysym, struct th_browser_key *ret)
{
	*ret = (struct th_browser_key){ 0 };
	for (size_t i = 0; i < TH_COUNT(specials); i++)
		if (specials[i].keysym == keysym) {
			snprintf(ret->key, sizeof(ret->key), "%s", specials[i].key);
			snprintf(ret->text, sizeof(ret->text), "%s", specials[i].text);
			ret->code = specials[i].code;
			ret->vk = specials[i].vk;
			ret->location = specials[i].location;
			return true;
		}
	if (keysym >= 0xffbe && keysym < 0xffbe + TH_COUNT(functions)) { /* F1 … */
		ret->code = functions[keysym - 0xffbe];
		ret->vk = 112 + (int)(keysym - 0xffbe);
		snprintf(ret->key, sizeof(ret->key), "%s", ret->code);
		return true;
	}
	if (keysym >= 0xffb0 && keysym <= 0xffb9) /* the digits of the numeric pad */
		keysym = '0' + (keysym - 0xffb0);
	uint32_t c = keysym >= TH_KEYSYM_UNICODE ? keysym - TH_KEYSYM_UNICODE : keysym;
	if (c < 0x20 || (keysym < TH_KEYSYM_UNICODE && c > 0xff) || c > 0x10ffff)
		return false;
	TH_CLEANUP(th_buf_deinit) struct th_buf text = TH_BUF_INIT(8);
	th_utf8_add(&text, c);
	snprintf(ret->key, sizeof(ret->key), "%s", text.ptr);
	snprintf(ret->text, sizeof(ret->text), "%s", text.ptr);
	if (c < 0x7f)
		of_char((char)c, ret);
	return true;
}
