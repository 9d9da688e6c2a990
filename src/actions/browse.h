/* SPDX-License-Identifier: Apache-2.0 */
/*
 * browse.h - steps on the structure of pages, which only a browser can do: the
 * arguments of the tool TH_TOOL_BROWSER.
 *
 * An element is named by its number in a snapshot (wire/page.h).  A call is one
 * step, or a list of them, done in order until one fails.
 */
#ifndef TH_ACTIONS_BROWSE_H
#define TH_ACTIONS_BROWSE_H

#include "actions/action.h"
#include "base/err.h"
#include "base/field.h"
#include "base/limits.h"

/* id, name, class, what it does */
#define TH_BROWSES(X)                                                                        \
	X(SNAPSHOT, "snapshot", R, "what is on the page, with numbers for its elements")     \
	X(OPEN, "open", W, "go to url")                                                      \
	X(SEARCH, "search", W, "search the web for query")                                   \
	X(BACK, "back", W, "one page back")                                                  \
	X(FORWARD, "forward", W, "one page forward")                                         \
	X(RELOAD, "reload", W, "the same page again")                                        \
	X(CLICK, "click", W, "click ref, or x and y")                                        \
	X(TYPE, "type", W, "type text into ref, or where the cursor is")                     \
	X(SELECT, "select", W, "choose values of the select ref")                            \
	X(HOVER, "hover", W, "move the pointer to ref")                                      \
	X(DRAG, "drag", W, "drag ref to the element to")                                     \
	X(KEY, "key", W, "press keys (at ref)")                                              \
	X(SCROLL, "scroll", W, "scroll by dx, dy pixels, or to ref")                         \
	X(UPLOAD, "upload", W, "put files of the workspace into the file input ref")         \
	X(DIALOG, "dialog", W, "end the open dialog: accept, or not; text answers a prompt") \
	X(TABS, "tabs", R, "the open tabs")                                                  \
	X(TAB, "tab", W, "look at tab")                                                      \
	X(CLOSE, "close", W, "close tab, or this one")                                       \
	X(WAIT, "wait", R,                                                                   \
	  "until text is on the page (gone: is not), a download or a load is over, or for "  \
	  "seconds")                                                                         \
	X(READ, "read", R, "the page, or ref, as text")                                      \
	X(CONSOLE, "console", R, "what scripts logged, and errors")                          \
	X(NETWORK, "network", R, "the last requests")                                        \
	X(SCREENSHOT, "screenshot", R, "a picture of the page")                              \
	X(EVALUATE, "evaluate", W, "a script's value; only where it is allowed")
#define X(id, name, class, doc) TH_BROWSE_##id,
enum th_browse_kind { TH_BROWSES(X) TH_BROWSE_COUNT };
#undef X

struct th_browse_step {
	int64_t action; /* enum th_browse_kind once checked; -1: none was given */
	struct th_str url, query, text, script;
	int64_t ref, to, tab, count, dx, dy, seconds;
	int64_t x, y;                    /* -1: not given */
	int64_t index, delta_x, delta_y; /* what others call ref, dx, dy */
	bool new_tab, clear, enter, gone, dismiss;
	int64_t button; /* enum th_button */
	struct th_strs keys, values, files;
};

struct th_browse {
	struct th_browse_step one; /* first: its fields are the table's too */
	struct th_objects steps;   /* of struct th_browse_step */
	bool screenshot;
};

extern const struct th_table th_browse_table;
/* Calls that only look. */
extern const char *const th_browse_looks[]; /* NULL-terminated */

/* The steps, checked: what each needs is there, and nothing but numbers that can be.  TH_EUSAGE
 * with a sentence for the model. */
TH_NODISCARD enum th_code th_browse_check(struct th_browse *b, struct th_browse_step **ret,
					  size_t *ret_count, struct th_err *err);
const char *th_browse_name(enum th_browse_kind kind);
bool th_browse_only_looks(enum th_browse_kind kind);

#endif
