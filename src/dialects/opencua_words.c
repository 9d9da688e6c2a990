/* SPDX-License-Identifier: Apache-2.0 */
#include "dialects/opencua.h"

static const struct th_opencua_word rows[] = {
	{ "click", TH_OPENCUA_POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 1 },
	{ "leftClick", TH_OPENCUA_POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 1 },
	{ "rightClick", TH_OPENCUA_POINT, TH_ACTION_CLICK, TH_BUTTON_RIGHT, 1 },
	{ "middleClick", TH_OPENCUA_POINT, TH_ACTION_CLICK, TH_BUTTON_MIDDLE, 1 },
	{ "doubleClick", TH_OPENCUA_POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 2 },
	{ "double_click", TH_OPENCUA_POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 2 },
	{ "tripleClick", TH_OPENCUA_POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 3 },
	{ "triple_click", TH_OPENCUA_POINT, TH_ACTION_CLICK, TH_BUTTON_LEFT, 3 },
	{ "mouseDown", TH_OPENCUA_POINT, TH_ACTION_MOUSE_DOWN, TH_BUTTON_LEFT, 0 },
	{ "mouseUp", TH_OPENCUA_POINT, TH_ACTION_MOUSE_UP, TH_BUTTON_LEFT, 0 },
	{ "moveTo", TH_OPENCUA_MOVE, TH_ACTION_MOVE, TH_BUTTON_LEFT, 0 },
	{ "dragTo", TH_OPENCUA_DRAG, TH_ACTION_DRAG, TH_BUTTON_LEFT, 0 },
	{ "scroll", TH_OPENCUA_TURN, TH_ACTION_SCROLL, TH_BUTTON_LEFT, 0 },
	{ "vscroll", TH_OPENCUA_TURN, TH_ACTION_SCROLL, TH_BUTTON_LEFT, 0 },
	{ "hscroll", TH_OPENCUA_TURN_ACROSS, TH_ACTION_SCROLL, TH_BUTTON_LEFT, 0 },
	{ "write", TH_OPENCUA_WRITE, TH_ACTION_TYPE, TH_BUTTON_LEFT, 0 },
	{ "typewrite", TH_OPENCUA_WRITE, TH_ACTION_TYPE, TH_BUTTON_LEFT, 0 },
	{ "press", TH_OPENCUA_PRESS, TH_ACTION_KEY, TH_BUTTON_LEFT, 1 },
	{ "hotkey", TH_OPENCUA_CHORD, TH_ACTION_KEY, TH_BUTTON_LEFT, 1 },
	{ "keyDown", TH_OPENCUA_ONE_KEY, TH_ACTION_KEY_DOWN, TH_BUTTON_LEFT, 0 },
	{ "keyUp", TH_OPENCUA_ONE_KEY, TH_ACTION_KEY_UP, TH_BUTTON_LEFT, 0 },
	{ "sleep", TH_OPENCUA_SLEEP, TH_ACTION_WAIT, TH_BUTTON_LEFT, 0 },
	{ "wait", TH_OPENCUA_WAIT, TH_ACTION_WAIT, TH_BUTTON_LEFT, 0 },
	{ "screenshot", TH_OPENCUA_LOOK, TH_ACTION_SCREENSHOT, TH_BUTTON_LEFT, 0 },
	{ "terminate", TH_OPENCUA_LAST, TH_ACTION_COUNT, TH_BUTTON_LEFT, 0 },
};

static struct th_str bare(struct th_str name)
{
	static const char *const modules[] = { "pyautogui.", "computer.", "time.", "pg." };

	for (size_t i = 0; i < TH_COUNT(modules); i++)
		if (th_str_starts(name, th_str_of(modules[i])))
			return th_str_sub(name, strlen(modules[i]), name.len);
	return name;
}

const struct th_opencua_word *th_opencua_find(struct th_str name)
{
	name = bare(name);
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		if (th_str_is(name, rows[i].word))
			return &rows[i];
	return NULL;
}

const char *th_opencua_word_of(const struct th_action *a)
{
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		if (rows[i].kind == a->kind && rows[i].shape != TH_OPENCUA_LAST &&
		    (a->kind != TH_ACTION_CLICK ||
		     (rows[i].button == a->button && rows[i].count == a->count)))
			return rows[i].word;
	return a->kind == TH_ACTION_CLICK && a->button < TH_BUTTON_BACK ? "click" : NULL;
}
