/* SPDX-License-Identifier: Apache-2.0 */
/* browse.c - see browse.h. */
#include "actions/browse.h"

/* What others call them: Playwright's tools, Cua's browser tool, BrowserGym.  `clear` and `count`
 * go with it. */
#define OTHERS(X)                            \
	X("goto", OPEN, false, 0)            \
	X("navigate", OPEN, false, 0)        \
	X("visit_url", OPEN, false, 0)       \
	X("web_search", SEARCH, false, 0)    \
	X("go_back", BACK, false, 0)         \
	X("go_forward", FORWARD, false, 0)   \
	X("get_current_url", TABS, false, 0) \
	X("fill", TYPE, true, 0)             \
	X("press", KEY, false, 0)            \
	X("dblclick", CLICK, false, 2)       \
	X("select_option", SELECT, false, 0) \
	X("drag_and_drop", DRAG, false, 0)   \
	X("upload_file", UPLOAD, false, 0)   \
	X("noop", WAIT, false, 0)

/* The kinds in their order, and then the others. */
static const char *const names[] = {
#define X(id, name, class, doc) name,
	TH_BROWSES(X)
#undef X
#define X(name, kind, clear, count) name,
	    OTHERS(X)
#undef X
		NULL,
};

static const struct {
	enum th_browse_kind kind;
	bool clear;
	int64_t count; /* 0: as the call says */
} others[] = {
#define X(name, kind, clear, count) { TH_BROWSE_##kind, clear, count },
	OTHERS(X)
#undef X
};
_Static_assert(TH_COUNT(others) + TH_BROWSE_COUNT + 1 == TH_COUNT(names), "one for each name");

/* What a model is told of: the kinds alone. */
static const char *const buttons[] = { "left", "right", "middle", NULL };

static const char classes[] = {
#define X(id, name, class, doc) #class[0],
	TH_BROWSES(X)
#undef X
};

#define X(id, name, class, doc) name ": " doc "; "
static const char action_doc[] = TH_BROWSES(X) "the others: as in other tools";
#undef X

const char *const th_browse_looks[] = { "snapshot", "tabs",    "wait",       "read",
					"console",  "network", "screenshot", "get_current_url",
					"noop",     NULL };

#define AT(member) offsetof(struct th_browse_step, member)
/* clang-format off */
#define STEP_FIELDS \
	{ "action", AT(action), TH_FIELD_enum, 0, action_doc, NULL, names, false, 0 }, \
	{ "ref", AT(ref), TH_FIELD_int, TH_POSITIVE, "number of an element of the snapshot", NULL, NULL, false, 0 }, \
	{ "url", AT(url), TH_FIELD_str, 0, "open: the address", NULL, NULL, false, 0 }, \
	{ "new_tab", AT(new_tab), TH_FIELD_bool, 0, "open: in a new tab", NULL, NULL, false, 0 }, \
	{ "query", AT(query), TH_FIELD_str, 0, "search: the words", NULL, NULL, false, 0 }, \
	{ "text", AT(text), TH_FIELD_str, 0, "type, dialog, wait: the text", NULL, NULL, false, 0 }, \
	{ "clear", AT(clear), TH_FIELD_bool, 0, "type: delete what is there first", NULL, NULL, false, 0 }, \
	{ "enter", AT(enter), TH_FIELD_bool, 0, "type: press Enter afterwards", NULL, NULL, false, 0 }, \
	{ "keys", AT(keys), TH_FIELD_strs, 0, "key: a chord, such as [\"ctrl\", \"a\"]; click: held down", NULL, NULL, false, 0 }, \
	{ "values", AT(values), TH_FIELD_strs, 0, "select: texts or values of the choices", NULL, NULL, false, 0 }, \
	{ "to", AT(to), TH_FIELD_int, TH_POSITIVE, "drag: number of the element to drop on", NULL, NULL, false, 0 }, \
	{ "x", AT(x), TH_FIELD_int, TH_NONEG, "click, hover, scroll: pixel of the page's picture, or of the element ref", NULL, NULL, true, -1 }, \
	{ "y", AT(y), TH_FIELD_int, TH_NONEG, "the same", NULL, NULL, true, -1 }, \
	{ "button", AT(button), TH_FIELD_enum, 0, "click: which button", NULL, buttons, true, TH_BUTTON_LEFT }, \
	{ "count", AT(count), TH_FIELD_int, TH_POSITIVE, "click: how often, 1 to 3", NULL, NULL, true, 1 }, \
	{ "dx", AT(dx), TH_FIELD_int, 0, "scroll: pixels to the right", NULL, NULL, false, 0 }, \
	{ "dy", AT(dy), TH_FIELD_int, 0, "scroll: pixels down", NULL, NULL, false, 0 }, \
	{ "files", AT(files), TH_FIELD_strs, 0, "upload: paths in the workspace", NULL, NULL, false, 0 }, \
	{ "tab", AT(tab), TH_FIELD_int, TH_POSITIVE, "tab, close: its number", NULL, NULL, false, 0 }, \
	{ "dismiss", AT(dismiss), TH_FIELD_bool, 0, "dialog: dismiss it; default: accept", NULL, NULL, false, 0 }, \
	{ "gone", AT(gone), TH_FIELD_bool, 0, "wait: until text is not there", NULL, NULL, false, 0 }, \
	{ "seconds", AT(seconds), TH_FIELD_int, TH_POSITIVE, "wait: at most so long", NULL, NULL, false, 0 }, \
	{ "script", AT(script), TH_FIELD_str, 0, "evaluate: an expression", NULL, NULL, false, 0 }, \
	{ "index", AT(index), TH_FIELD_int, TH_POSITIVE | TH_HIDDEN, "ref", NULL, NULL, false, 0 }, \
	{ "delta_x", AT(delta_x), TH_FIELD_int, TH_HIDDEN, "dx", NULL, NULL, false, 0 }, \
	{ "delta_y", AT(delta_y), TH_FIELD_int, TH_HIDDEN, "dy", NULL, NULL, false, 0 },

static const struct th_field step_fields[] = { STEP_FIELDS };
static const struct th_table step_table = { "browse_step", "one step", step_fields, TH_COUNT(step_fields),
					    sizeof(struct th_browse_step), false };
static const struct th_field fields[] = {
	STEP_FIELDS
	{ "steps", offsetof(struct th_browse, steps), TH_FIELD_objects, 0,
	  "instead of all the others: several steps, each as a call of its own; they end at the first that fails",
	  &step_table, NULL, false, 0 },
	{ "screenshot", offsetof(struct th_browse, screenshot), TH_FIELD_bool, 0, "with a picture of the page afterwards",
	  NULL, NULL, false, 0 },
};
/* clang-format on */
const struct th_table th_browse_table = { "browse",         "arguments of the browser", fields,
					  TH_COUNT(fields), sizeof(struct th_browse),   false };

const char *th_browse_name(enum th_browse_kind kind)
{
	return names[kind];
}

bool th_browse_only_looks(enum th_browse_kind kind)
{
	return classes[kind] == 'R';
}

static enum th_code needs(struct th_err *err, const struct th_browse_step *s, const char *what)
{
	return th_fail(err, TH_EUSAGE, "%s needs %s", names[s->action], what);
}

static enum th_code check(struct th_browse_step *s, struct th_err *err)
{
	bool point = s->x >= 0 && s->y >= 0;

	if (s->action < 0)
		return th_fail(err, TH_EUSAGE, "action: is missing");
	if (s->action >= TH_BROWSE_COUNT) {
		size_t at = (size_t)s->action - TH_BROWSE_COUNT;

		s->action = others[at].kind;
		s->clear |= others[at].clear;
		s->count = others[at].count ?: s->count;
	}
	s->ref = s->ref ?: s->index;
	s->dx = s->dx ?: s->delta_x;
	s->dy = s->dy ?: s->delta_y;
	if ((s->x >= 0) != (s->y >= 0))
		return th_fail(err, TH_EUSAGE, "x and y belong together");
	if (s->count > TH_CLICK_COUNT_MAX)
		return th_fail(err, TH_EUSAGE, "count: must be 1 to %d", TH_CLICK_COUNT_MAX);
	if (s->seconds > TH_BROWSER_WAIT_S_MAX)
		return th_fail(err, TH_EUSAGE, "seconds: must be 1 to %d", TH_BROWSER_WAIT_S_MAX);
	switch ((enum th_browse_kind)s->action) {
	case TH_BROWSE_SEARCH:
		return s->query.len ? TH_OK : needs(err, s, "query");
	case TH_BROWSE_CLICK:
	case TH_BROWSE_HOVER:
		return s->ref || point ? TH_OK : needs(err, s, "ref, or x and y");
	case TH_BROWSE_TYPE:
		return s->text.len || s->clear || s->enter ? TH_OK : needs(err, s, "text");
	case TH_BROWSE_SELECT:
		return s->ref && s->values.count ? TH_OK : needs(err, s, "ref and values");
	case TH_BROWSE_DRAG:
		return s->ref && s->to ? TH_OK : needs(err, s, "ref and to");
	case TH_BROWSE_KEY:
		return s->keys.count && s->keys.count <= TH_CHORD_KEYS_MAX
			   ? TH_OK
			   : needs(err, s, "keys, a few of them");
	case TH_BROWSE_SCROLL:
		return s->ref || s->dx || s->dy ? TH_OK : needs(err, s, "ref, or dx or dy");
	case TH_BROWSE_UPLOAD:
		return s->files.count <= TH_BROWSER_FILES_MAX
			   ? TH_OK
			   : needs(err, s, "fewer files at once");
	case TH_BROWSE_TAB:
		return s->tab ? TH_OK : needs(err, s, "tab");
	case TH_BROWSE_EVALUATE:
		return s->script.len ? TH_OK : needs(err, s, "script");
	case TH_BROWSE_OPEN: /* without url: what is there */
	case TH_BROWSE_SNAPSHOT:
	case TH_BROWSE_BACK:
	case TH_BROWSE_FORWARD:
	case TH_BROWSE_RELOAD:
	case TH_BROWSE_DIALOG:
	case TH_BROWSE_TABS:
	case TH_BROWSE_CLOSE:
	case TH_BROWSE_WAIT:
	case TH_BROWSE_READ:
	case TH_BROWSE_CONSOLE:
	case TH_BROWSE_NETWORK:
	case TH_BROWSE_SCREENSHOT:
	case TH_BROWSE_COUNT:
		break;
	}
	return TH_OK;
}

enum th_code th_browse_check(struct th_browse *b, struct th_browse_step **ret, size_t *ret_count,
			     struct th_err *err)
{
	bool list = b->steps.count > 0;
	struct th_browse_step *steps = list ? (struct th_browse_step *)b->steps.list : &b->one;
	size_t count = list ? b->steps.count : 1;

	/* A call is classed by its one action: it must be all that is done. */
	if (list && b->one.action >= 0)
		return th_fail(err, TH_EUSAGE, "either action or steps, not both");
	if (count > TH_ACTIONS_MAX)
		return th_fail(err, TH_ELIMIT, "more than %d steps in one call", TH_ACTIONS_MAX);
	for (size_t i = 0; i < count; i++) {
		enum th_code code = check(&steps[i], err);
		if (code)
			return list ? th_prefix(err, code, "step %zu of %zu", i + 1, count) : code;
	}
	*ret = steps;
	*ret_count = count;
	return TH_OK;
}
