/* SPDX-License-Identifier: Apache-2.0 */
/* computer.c - what is the same for all kinds of computers. */
#include "computer/computer.h"

enum th_code th_computer_own(const struct th_computer_kind *kind, struct th_str own,
			     struct th_arena *a, struct th_json_doc **ret_doc, void *ret,
			     struct th_err *err)
{
	*ret_doc = NULL;
	if (!kind->own)
		return own.len
			   ? th_fail(err, TH_EUSAGE,
				     "a computer of kind %s has no options of its own", kind->name)
			   : TH_OK;
	void *to = ret ?: th_arena_alloc(a, kind->own->size);
	if (!to)
		return th_fail(err, TH_ELIMIT, "the computer's options are too long");
	enum th_code code = th_json_parse(own.len ? own : TH_STR("{}"), ret_doc, err);
	return code ? code : th_table_parse(kind->own, th_json_root(*ret_doc), a, to, err);
}

struct th_computer *th_computer_close(struct th_computer *c)
{
	if (c)
		c->kind->close(c);
	return NULL;
}

static unsigned needed_caps(enum th_action_kind kind)
{
	switch (kind) {
	case TH_ACTION_SCREENSHOT:
	case TH_ACTION_ZOOM:
		return TH_CAP_SEE;
	case TH_ACTION_CURSOR_POSITION:
	case TH_ACTION_CLICK:
	case TH_ACTION_MOVE:
	case TH_ACTION_MOUSE_DOWN:
	case TH_ACTION_MOUSE_UP:
	case TH_ACTION_DRAG:
	case TH_ACTION_SCROLL:
		return TH_CAP_POINTER;
	case TH_ACTION_TYPE:
	case TH_ACTION_KEY:
	case TH_ACTION_KEY_DOWN:
	case TH_ACTION_KEY_UP:
	case TH_ACTION_HOLD_KEY:
		return TH_CAP_KEYBOARD;
	case TH_ACTION_CLIPBOARD_GET:
	case TH_ACTION_CLIPBOARD_SET:
		return TH_CAP_CLIPBOARD;
	case TH_ACTION_WAIT:
	case TH_ACTION_COUNT:
		return 0;
	}
	return 0;
}

enum th_code th_computer_act(struct th_computer *c, const struct th_action *action,
			     struct th_act_result *ret, struct th_err *err)
{
	unsigned missing = needed_caps(action->kind) & ~c->kind->caps;

	assert(action->kind != TH_ACTION_TYPE || !action->has_at);
	*ret = (struct th_act_result){ 0 };
	if (missing)
		return th_fail(err, TH_EUNSUPPORTED, "a computer of kind %s cannot %s",
			       c->kind->name, th_action_name(action->kind));
	enum th_code code = th_action_check(action, c->kind->size(c), err);
	return code ? code : c->kind->act(c, action, ret, err);
}
