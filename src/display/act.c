/* SPDX-License-Identifier: Apache-2.0 */
/*
 * act.c - the actions of a request, one after the other, and what became of them.
 */
#include <stdio.h>

#include "base/text.h"
#include "display/internal.h"

/* Between two actions of one request: a menu needs a moment to open, and no more. */
static const struct th_settle_options between = { .first_ms = TH_SETTLE_BETWEEN_FIRST_MS,
						  .max_ms = TH_SETTLE_BETWEEN_MAX_MS };
const struct th_settle_options th_display_settle_whole = { 0 };
/* Browsers let a page glide, frame by frame: a picture of it on its way shows buttons where they
 * will not be when they are clicked. */
const struct th_settle_options th_display_settle_gliding = { .quiet_ms = TH_SETTLE_SCROLL_QUIET_MS,
							     .max_ms = TH_SETTLE_SCROLL_MAX_MS };

enum th_code th_display_settle(struct th_display *d, const struct th_settle_options *options,
			       struct th_err *err)
{
	struct th_settle_result result = {};
	if (!d->computer->kind->settle)
		return TH_OK;
	enum th_code code = d->computer->kind->settle(d->computer, options, &result, err);
	if (code == TH_OK) {
		d->settled_known = true;
		d->settled = result.settled;
		d->changed = d->changed || result.changed;
	}
	return code;
}

/* Kinds after which the next action must not come before the screen has answered. */
static bool wants_answer(const struct th_action *a)
{
	switch (a->kind) {
	case TH_ACTION_CLICK:
	case TH_ACTION_DRAG:
	case TH_ACTION_MOUSE_UP:
	case TH_ACTION_KEY:
	case TH_ACTION_HOLD_KEY:
		return true;
	case TH_ACTION_TYPE:
		return a->enter;
	case TH_ACTION_SCREENSHOT:
	case TH_ACTION_ZOOM:
	case TH_ACTION_CURSOR_POSITION:
	case TH_ACTION_CLIPBOARD_GET:
	case TH_ACTION_WAIT:
	case TH_ACTION_MOVE:
	case TH_ACTION_MOUSE_DOWN:
	case TH_ACTION_SCROLL:
	case TH_ACTION_KEY_DOWN:
	case TH_ACTION_KEY_UP:
	case TH_ACTION_CLIPBOARD_SET:
	case TH_ACTION_COUNT:
		break;
	}
	return false;
}

static enum th_code act(struct th_display *d, const struct th_action *a, bool *ret_started,
			struct th_err *err)
{
	char text[96];
	struct th_act_result result = {};

	*ret_started = false;
	if (a->kind == TH_ACTION_SCREENSHOT) {
		d->args.screenshot = true; /* one, at the end */
		return TH_OK;
	}
	if (a->kind == TH_ACTION_ZOOM)
		return th_display_take(d, &a->region, err);
	enum th_code code = th_computer_act(d->computer, a, &result, err);
	*ret_started = result.started;
	if (result.has_at) {
		d->last = result;
		th_watches_pointer(&d->watches, result.at);
	}
	if (code)
		return code;
	if (a->kind == TH_ACTION_CLIPBOARD_GET)
		return th_display_tell_clipboard(d, result.text, err);
	if (a->kind == TH_ACTION_CURSOR_POSITION) {
		snprintf(text, sizeof(text), "the pointer is at (%d, %d)", result.at.x,
			 result.at.y);
		th_display_add_text(d, th_str_of(text));
	}
	return TH_OK;
}

static enum th_code send_step(struct th_display *d, struct th_err *err)
{
	struct th_exec_step m = { .op = TH_STR("step"), .id = d->id, .done = (int64_t)d->done };
	return th_display_send(d, &th_exec_step_table, &m, TH_STR(""), err);
}

enum th_outcome_status th_display_status(const struct th_display *d, enum th_code code,
					 bool started)
{
	bool changed_something = false;
	for (size_t i = 0; i < d->done; i++)
		changed_something |=
		    d->steps ? !th_browse_only_looks((enum th_browse_kind)d->steps[i].action)
			     : th_action_class(d->actions[i].kind) != 'R';
	if (code == TH_OK)
		return TH_OUTCOME_DONE;
	bool broken = code == TH_ECONN || code == TH_ETIMEOUT || code == TH_EIO;
	if (broken && started)
		return TH_OUTCOME_UNKNOWN;
	if (broken && !changed_something && d->count > 0)
		return TH_OUTCOME_NOT_STARTED;
	if ((code == TH_EUSAGE || code == TH_EPERM || code == TH_EBUSY) && !changed_something &&
	    !started)
		return TH_OUTCOME_REFUSED;
	return TH_OUTCOME_FAILED;
}

void th_display_add_failure(struct th_display *d, const struct th_err *failure)
{
	struct th_buf text = TH_BUF_INIT(2 * TH_ERR_MSG_MAX);
	if (d->count > 1)
		th_buf_printf(&text, "error in %s %zu of %zu (those before it were done): ",
			      d->steps ? "step" : "action", d->done + 1, d->count);
	else
		th_buf_add(&text, TH_STR(TH_ERROR_MARK));
	th_buf_add_cstr(&text, failure->msg);
	th_display_add_text(d, th_buf_str(&text));
	th_buf_deinit(&text);
}

/* A text at a place is a click and then the text: a program that is still busy with the click would
 * give the keys to whatever had them before. */
static enum th_code click_first(struct th_display *d, const struct th_action *a, bool *ret_started,
				struct th_err *failure)
{
	const struct th_action click = { .kind = TH_ACTION_CLICK, .has_at = true, .at = a->at };
	enum th_code code = act(d, &click, ret_started, failure);

	if (code)
		return code;
	*ret_started = true;
	return th_display_settle(d, &between, failure);
}

enum th_code th_display_act_all(struct th_display *d, bool *ret_started, struct th_err *failure,
				struct th_err *err)
{
	while (d->done < d->count) {
		const struct th_action *a = &d->actions[d->done];
		bool clicks = a->kind == TH_ACTION_TYPE && a->has_at;
		struct th_action now = *a;
		if (clicks && click_first(d, a, ret_started, failure))
			return TH_OK;
		now.has_at = a->has_at && !clicks;
		enum th_code acted = act(d, &now, ret_started, failure);
		*ret_started = *ret_started || clicks;
		if (acted)
			return TH_OK;
		d->done++;
		if (d->done == d->count)
			break;
		enum th_code code = send_step(d, err);
		if (code)
			return code;
		if (wants_answer(a) && th_display_settle(d, &between, failure))
			return TH_OK;
	}
	return TH_OK;
}

enum th_code th_display_browse_all(struct th_display *d, bool *ret_started, struct th_err *failure,
				   struct th_err *err)
{
	const struct th_computer_kind *kind = d->computer->kind;

	while (d->done < d->count) {
		bool started = false;
		size_t from = d->said.len;
		if (d->count > 1)
			th_buf_printf(
			    &d->said, "%zu %s: ", d->done + 1,
			    th_browse_name((enum th_browse_kind)d->steps[d->done].action));
		enum th_code acted =
		    kind->browse(d->computer, &d->steps[d->done], &d->said, &started, failure);
		*ret_started = started;
		if (acted) {
			th_buf_truncate(&d->said, from);
			return TH_OK;
		}
		d->done++;
		if (d->done < d->count) {
			enum th_code code = send_step(d, err);
			if (code)
				return code;
		}
	}
	return TH_OK;
}

void th_display_tell_steps(struct th_display *d, bool alive, struct th_err *failure)
{
	struct th_err late = {};

	if (d->said.len > 0)
		th_display_add_text(d, th_str_trim(th_buf_str(&d->said)));
	if (failure->code)
		th_display_add_failure(d, failure);
	th_buf_clear(&d->said);
	if (alive && d->computer->kind->browsed(d->computer, &d->said, &late) && !failure->code)
		*failure = late;
	if (d->said.len > 0)
		th_display_add_text(d, th_str_trim(th_buf_str(&d->said)));
}
