/* SPDX-License-Identifier: Apache-2.0 */
#include "dialects/gemini_words.h"

#define ACT(kind) TH_ACTION_##kind
// clang-format off
static const struct th_gemini_word rows[] = {
	{ "click_at", TH_GEMINI_POINT, ACT(CLICK), 1, TH_BUTTON_LEFT, NULL, 1 },
	{ "hover_at", TH_GEMINI_POINT, ACT(MOVE), 0, TH_BUTTON_LEFT, NULL, 1 },
	{ "type_text_at", TH_GEMINI_TEXT_AT, ACT(TYPE), 0, TH_BUTTON_LEFT, NULL, 1 },
	{ "key_combination", TH_GEMINI_CHORD, ACT(KEY), 1, TH_BUTTON_LEFT, NULL, 1 },
	{ "scroll_at", TH_GEMINI_SCROLL, ACT(SCROLL), 0, TH_BUTTON_LEFT, NULL, 1 },
	{ "scroll_document", TH_GEMINI_DOCUMENT, ACT(SCROLL), 0, TH_BUTTON_LEFT, NULL, 1 },
	{ "wait_5_seconds", TH_GEMINI_NOTHING, ACT(WAIT), 0, TH_BUTTON_LEFT, NULL, 1 },
	{ "drag_and_drop", TH_GEMINI_DRAG, ACT(DRAG), 0, TH_BUTTON_LEFT, NULL, 3 },
	{ "click", TH_GEMINI_POINT, ACT(CLICK), 1, TH_BUTTON_LEFT, NULL, 2 },
	{ "double_click", TH_GEMINI_POINT, ACT(CLICK), 2, TH_BUTTON_LEFT, NULL, 2 },
	{ "triple_click", TH_GEMINI_POINT, ACT(CLICK), 3, TH_BUTTON_LEFT, NULL, 2 },
	{ "right_click", TH_GEMINI_POINT, ACT(CLICK), 1, TH_BUTTON_RIGHT, NULL, 2 },
	{ "middle_click", TH_GEMINI_POINT, ACT(CLICK), 1, TH_BUTTON_MIDDLE, NULL, 2 },
	{ "move", TH_GEMINI_POINT, ACT(MOVE), 0, TH_BUTTON_LEFT, NULL, 2 },
	{ "mouse_down", TH_GEMINI_MAYBE_POINT, ACT(MOUSE_DOWN), 0, TH_BUTTON_LEFT, NULL, 2 },
	{ "mouse_up", TH_GEMINI_MAYBE_POINT, ACT(MOUSE_UP), 0, TH_BUTTON_LEFT, NULL, 2 },
	{ "type", TH_GEMINI_TEXT, ACT(TYPE), 0, TH_BUTTON_LEFT, NULL, 2 },
	{ "press_key", TH_GEMINI_CHORD, ACT(KEY), 1, TH_BUTTON_LEFT, NULL, 2 },
	{ "hotkey", TH_GEMINI_CHORD, ACT(KEY), 1, TH_BUTTON_LEFT, NULL, 2 },
	{ "key_down", TH_GEMINI_CHORD, ACT(KEY_DOWN), 0, TH_BUTTON_LEFT, NULL, 2 },
	{ "key_up", TH_GEMINI_CHORD, ACT(KEY_UP), 0, TH_BUTTON_LEFT, NULL, 2 },
	{ "scroll", TH_GEMINI_SCROLL, ACT(SCROLL), 0, TH_BUTTON_LEFT, NULL, 2 },
	{ "wait", TH_GEMINI_SECONDS, ACT(WAIT), 0, TH_BUTTON_LEFT, NULL, 2 },
	{ "take_screenshot", TH_GEMINI_NOTHING, ACT(SCREENSHOT), 0, TH_BUTTON_LEFT, NULL, 2 },
	{ "navigate", TH_GEMINI_BROWSER, ACT(COUNT), 0, TH_BUTTON_LEFT, "goto", 3 },
	{ "search", TH_GEMINI_BROWSER, ACT(COUNT), 0, TH_BUTTON_LEFT, "search", 1 },
	{ "go_back", TH_GEMINI_BROWSER, ACT(COUNT), 0, TH_BUTTON_LEFT, "back", 3 },
	{ "go_forward", TH_GEMINI_BROWSER, ACT(COUNT), 0, TH_BUTTON_LEFT, "forward", 3 },
	{ "open_web_browser", TH_GEMINI_BROWSER, ACT(COUNT), 0, TH_BUTTON_LEFT, "open", 1 },
};
// clang-format on

const struct th_gemini_word *th_gemini_word_find(struct th_str name)
{
	static const char *const prefixes[] = { "web_agent_api:", "default_api:" };

	for (size_t i = 0; i < TH_COUNT(prefixes); i++)
		if (th_str_starts(name, th_str_of(prefixes[i])))
			name = th_str_sub(name, strlen(prefixes[i]), name.len);
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		if (th_str_is(name, rows[i].name))
			return &rows[i];
	return NULL;
}

unsigned th_gemini_generation(const struct th_profile *p)
{
	return p->tool && strstr(p->tool, "BROWSER") ? 1 : 2;
}

const struct th_gemini_word *th_gemini_word_of(const struct th_action *a, unsigned gen)
{
	bool held = a->key_count > 0 && a->kind != TH_ACTION_KEY && a->kind != TH_ACTION_KEY_DOWN &&
		    a->kind != TH_ACTION_KEY_UP;

	for (size_t i = 0; i < TH_COUNT(rows) && !held; i++) {
		const struct th_gemini_word *r = &rows[i];
		bool at = a->has_at, good = false;

		if (r->kind != a->kind || !(r->generation & gen) || r->args == TH_GEMINI_BROWSER)
			continue;
		switch (r->args) {
		case TH_GEMINI_POINT:
			good = at && (a->kind != TH_ACTION_CLICK ||
				      (r->count == a->count && r->button == a->button));
			break;
		case TH_GEMINI_MAYBE_POINT:
			good = a->button == TH_BUTTON_LEFT;
			break;
		case TH_GEMINI_TEXT_AT:
			good = at;
			break;
		case TH_GEMINI_TEXT:
			good = !at && !a->clear;
			break;
		case TH_GEMINI_CHORD:
			if (a->kind != TH_ACTION_KEY)
				good = a->key_count == 1;
			else
				good = a->count <= 1 &&
				       (a->key_count == 1) == !strcmp(r->name, "press_key");
			good = good || (a->kind == TH_ACTION_KEY && a->count <= 1 && gen == 1);
			break;
		case TH_GEMINI_SCROLL:
			good = at && a->unit == TH_SCROLL_PIXEL && !a->dx != !a->dy;
			break;
		case TH_GEMINI_DRAG:
			good = a->path_count == 2 && a->button == TH_BUTTON_LEFT && !a->duration_ms;
			break;
		case TH_GEMINI_NOTHING:
			good = a->kind != TH_ACTION_WAIT || a->duration_ms == 5000;
			break;
		case TH_GEMINI_SECONDS:
			good = a->duration_ms > 0;
			break;
		case TH_GEMINI_DOCUMENT:
		case TH_GEMINI_BROWSER:
			break;
		}
		if (good)
			return r;
	}
	return NULL;
}
