/* SPDX-License-Identifier: Apache-2.0 */
/* list.c - the kinds of computers, and what is the same for all of them. */
#include "base/limits.h"
#include "computers/computer.h"

const struct th_computer_kind *const th_computer_kinds[] = {
#define X(name, help) &th_computer_##name,
	TH_COMPUTERS(X)
#undef X
	    NULL,
};

static_assert(TH_COUNT(th_computer_kinds) <= TH_COMPUTER_KINDS_MAX + 1,
	      "a name for each, in lists");

const struct th_computer_kind *th_computer_find(struct th_str name)
{
	for (size_t i = 0; th_computer_kinds[i]; i++)
		if (th_str_is(name, th_computer_kinds[i]->name))
			return th_computer_kinds[i];
	return NULL;
}

void th_computer_names(unsigned shared, const char *last, struct th_buf *out)
{
	const char *names[TH_COMPUTER_KINDS_MAX];
	size_t count = 0;

	for (size_t i = 0; th_computer_kinds[i]; i++)
		if ((th_computer_kinds[i]->shared & shared) == shared)
			names[count++] = th_computer_kinds[i]->name;
	for (size_t i = 0; i < count; i++)
		th_buf_printf(out, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : last, names[i]);
}

enum th_code th_computer_open(const struct th_computer_options *options, struct th_computer **ret,
			      struct th_err *err)
{
	const struct th_computer_kind *kind = th_computer_find(options->kind);

	if (!kind) {
		TH_CLEANUP(th_buf_deinit) struct th_buf known = TH_BUF_INIT(TH_ERR_MSG_MAX);
		th_computer_names(0, ", ", &known);
		return th_fail(err, TH_EUSAGE,
			       "there is no kind of computer called \"%.*s\"; known: %s",
			       TH_FMT(th_str_sub(options->kind, 0, 64)), known.ptr);
	}
	enum th_code code = kind->open(options, ret, err);
	return code ? th_prefix(err, code, "open the computer %s", kind->name) : TH_OK;
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
