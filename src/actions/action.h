/* SPDX-License-Identifier: Apache-2.0 */
/*
 * action.h - the unified set of computer actions.
 *
 * One flat struct serves all kinds; which members a kind uses is a table row.
 * Points are pixels of the screen, x to the right, y downwards, checked
 * against a screen by th_action_check and never clamped.  "No point" is
 * has_at == false: the pointer stays where it is.  Strings are borrowed from
 * whoever parsed the action.
 */
#ifndef TH_ACTIONS_ACTION_H
#define TH_ACTIONS_ACTION_H

#include "base/arena.h"
#include "base/err.h"
#include "base/geom.h"
#include "base/json.h"
#include "base/limits.h"

/* What only a browser can do is a call of this tool: open, back, click by reference … */
#define TH_TOOL_BROWSER "browser"

/* id, wire name, effect class, one line */
#define TH_ACTIONS(X)                                                               \
	X(SCREENSHOT, "screenshot", R, "Look at the screen.")                       \
	X(ZOOM, "zoom", R, "Look at one part of the screen at full detail.")        \
	X(CURSOR_POSITION, "cursor_position", R, "Say where the pointer is.")       \
	X(CLIPBOARD_GET, "clipboard_get", R, "Read the clipboard as text.")         \
	X(WAIT, "wait", R, "Wait for some time.")                                   \
	X(CLICK, "click", W, "Click a button, one to three times, with keys held.") \
	X(MOVE, "move", W, "Move the pointer.")                                     \
	X(MOUSE_DOWN, "mouse_down", W, "Press a button and keep it down.")          \
	X(MOUSE_UP, "mouse_up", W, "Release a button.")                             \
	X(DRAG, "drag", W, "Press, move along a path, release.")                    \
	X(SCROLL, "scroll", W, "Turn the wheel, by notches or pixels.")             \
	X(TYPE, "type", W, "Type text.")                                            \
	X(KEY, "key", W, "Press a chord of keys, once or several times.")           \
	X(KEY_DOWN, "key_down", W, "Press a key and keep it down.")                 \
	X(KEY_UP, "key_up", W, "Release a key.")                                    \
	X(HOLD_KEY, "hold_key", W, "Hold a chord of keys for some time.")           \
	X(CLIPBOARD_SET, "clipboard_set", W, "Put text on the clipboard.")

#define X(id, name, class, doc) TH_ACTION_##id,
enum th_action_kind { TH_ACTIONS(X) TH_ACTION_COUNT };
#undef X

#define TH_BUTTONS(X)       \
	X(LEFT, "left")     \
	X(RIGHT, "right")   \
	X(MIDDLE, "middle") \
	X(BACK, "back")     \
	X(FORWARD, "forward")
#define X(id, name) TH_BUTTON_##id,
enum th_button { TH_BUTTONS(X) TH_BUTTON_COUNT };
#undef X

enum th_scroll_unit { TH_SCROLL_NOTCH, TH_SCROLL_PIXEL, TH_SCROLL_UNIT_COUNT };

struct th_action {
	enum th_action_kind kind;
	bool has_at;
	struct th_point at;    /* click move mouse_down mouse_up scroll type */
	enum th_button button; /* click mouse_down mouse_up drag */
	int32_t count;         /* click: 1..TH_CLICK_COUNT_MAX; key: 1..TH_KEY_REPEAT_MAX; else 0 */
	struct th_str
	    keys[TH_CHORD_KEYS_MAX]; /* key*, hold_key: the chord; click move drag scroll: held */
	size_t key_count;            /* names as written; actions/keys.h knows every vendor's */
	struct th_point *path;       /* drag: from first to last, at least two */
	size_t path_count;
	int32_t duration_ms; /* wait hold_key drag; 0: see th_action_duration */
	int32_t dx, dy;      /* scroll: + is right and down */
	enum th_scroll_unit unit;
	struct th_str text;    /* type clipboard_set */
	bool clear, enter;     /* type: select all and delete first; press Return afterwards */
	struct th_rect region; /* zoom */
};

const char *th_action_name(enum th_action_kind kind);
int th_action_find(struct th_str name); /* kind or -1 */
const char *th_action_doc(enum th_action_kind kind);
char th_action_class(enum th_action_kind kind); /* 'R' or 'W', DESIGN.md section 4 */
const char *th_button_name(enum th_button button);
int th_button_find(struct th_str name); /* "wheel" is middle; button or -1 */

#define TH_WAIT_MS_DEFAULT 1000
#define TH_HOLD_MS_DEFAULT 500
#define TH_DRAG_MS_DEFAULT 300
/* duration_ms, or the default of the kind when it is 0. */
int32_t th_action_duration(const struct th_action *action);

/*
 * The JSON form, used in the log, by `thole exec` and by plumb:
 *   {"type":"click","x":10,"y":20,"button":"left","count":1,"keys":["ctrl"]}
 *   {"type":"drag","path":[{"x":1,"y":2},…],"button":"left","duration_ms":0}
 *   {"type":"scroll","x":1,"y":2,"dx":0,"dy":3,"unit":"notch"}
 *   {"type":"type","text":"…","enter":true}   {"type":"key","keys":["ctrl","a"],"count":1}
 *   {"type":"wait","duration_ms":1000}        {"type":"zoom","region":[x,y,width,height]}
 * Only "type" and what the kind cannot do without must be there; a member that
 * the kind does not have is an error, not ignored.  Parsing checks kinds,
 * ranges and limits of limits.h; strings are copied to the arena.  TH_EPROTO
 * says what is wrong in words that a model can act on; TH_ELIMIT: the arena is
 * full.  For every action that parse accepts, parse(print(action)) == action.
 */
TH_NODISCARD enum th_code th_action_parse(const struct th_json *v, struct th_arena *a,
					  struct th_action *ret, struct th_err *err);
void th_action_print(const struct th_action *action, struct th_jw *w);
void th_action_schema(struct th_jw *w); /* JSON Schema of the union, for tools and docs */

/* What can be known before anything moves.  Every point and region against the screen: TH_EUSAGE
 * "(5000, 20) is outside the screen: x must be 0 to 1279 and y 0 to 799"; every name of a key
 * (th_keys_chord): TH_EUSAGE with its sentence. */
TH_NODISCARD enum th_code th_action_check(const struct th_action *action, struct th_size screen,
					  struct th_err *err);

/* One line for people: click left at (10, 20) with ctrl. */
void th_action_line(const struct th_action *action, struct th_buf *out);

#endif
