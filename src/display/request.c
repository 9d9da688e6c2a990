/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.c - one request.  It is checked as a whole before anything moves: actions
 * that do not parse, lie off the screen or name no key refuse it.  Then they are
 * done in order until one fails.  Evidence says how far it came.
 */
#include <unistd.h>

#include "base/text.h"
#include "display/internal.h"
#include "io/clock.h"

static enum th_code parse_steps(struct th_display *d, const struct th_json *v, struct th_err *err)
{
	if (!d->computer->kind->browse)
		return th_fail(err, TH_EUNSUPPORTED, "a computer of kind %s has no pages",
			       d->computer->kind->name);
	enum th_code code = th_table_parse(&th_browse_table, v, &d->arena, &d->browse, err);
	if (!code)
		code = th_browse_check(&d->browse, &d->steps, &d->count, err);
	if (code)
		return code;
	d->args.screenshot = d->browse.screenshot;
	for (size_t i = 0; i < d->count; i++)
		d->args.screenshot |= d->steps[i].action == TH_BROWSE_SCREENSHOT;
	return TH_OK;
}

static enum th_code parse_request(struct th_display *d, const struct th_json *arguments,
				  struct th_err *err)
{
	enum th_code code =
	    th_table_parse(&th_exec_computer_table, arguments, &d->arena, &d->args, err);
	const struct th_json *list = th_json_get(arguments, "actions");
	struct th_size screen = d->computer->kind->size(d->computer);

	if (code)
		return code;
	if (d->args.browse.len > 0)
		return parse_steps(d, th_json_get(arguments, "browse"), err);
	if (!th_json_is_array(list))
		return th_fail(err, TH_EUSAGE, "actions: must be a list");
	d->count = th_json_count(list);
	if (d->count > TH_ACTIONS_MAX)
		return th_fail(err, TH_ELIMIT, "more than %d actions in one call", TH_ACTIONS_MAX);
	d->actions =
	    (struct th_action *)th_arena_array(&d->arena, d->count + 1, sizeof(*d->actions));
	if (!d->actions)
		return th_fail(err, TH_ELIMIT, "the actions are too large");
	struct th_json_iter it = th_json_iter(list);
	for (size_t i = 0; th_json_next(&it); i++) {
		code = th_action_parse(it.val, &d->arena, &d->actions[i], err);
		if (code == TH_OK)
			code = th_action_check(&d->actions[i], screen, err);
		if (code)
			return d->count > 1
				   ? th_prefix(err, code, "action %zu of %zu", i + 1, d->count)
				   : code;
		d->clipboard_count += d->actions[i].kind == TH_ACTION_CLIPBOARD_GET;
	}
	return TH_OK;
}

/* A desktop whose programs have shown nothing yet is no picture worth paying for. */
static enum th_code await_windows(struct th_display *d, struct th_err *err)
{
	const struct th_computer_kind *kind = d->computer->kind;
	struct th_settle_options o = { .quiet_ms = TH_START_QUIET_MS };
	struct th_settle_result drawn;
	uint64_t begin = th_clock_ms();
	enum th_code code = TH_OK;
	size_t shown = 0;

	while (!code && d->windows_due > 0 && kind->windows && kind->settle) {
		int64_t left = d->windows_ms - (int64_t)(th_clock_ms() - begin);

		code = kind->windows(d->computer, &shown, err);
		if (code || (int64_t)shown >= d->windows_due || left <= 0)
			break;
		/* Until something is drawn, which a new window is. */
		o.first_ms = o.max_ms = (int32_t)left;
		code = kind->settle(d->computer, &o, &drawn, err);
	}
	if (code || d->windows_due == 0)
		return code;
	if ((int64_t)shown < d->windows_due) {
		th_jw_key(&d->evidence_w, TH_STR("start"));
		th_jw_object(&d->evidence_w);
		th_jw_kint(&d->evidence_w, "windows", d->windows_due);
		th_jw_kuint(&d->evidence_w, "shown", shown);
		th_jw_kint(&d->evidence_w, "waited_ms", d->windows_ms);
		th_jw_object_end(&d->evidence_w);
	} else if (kind->settle) {
		o.first_ms = TH_START_QUIET_MS;
		o.max_ms = TH_SETTLE_SCROLL_MAX_MS;
		code = kind->settle(d->computer, &o, &drawn, err);
	}
	d->windows_due = 0;
	return code;
}

static enum th_code perform(struct th_display *d, const struct th_json *arguments,
			    struct th_err *err)
{
	struct th_err failure = {};
	bool started = false;

	if (parse_request(d, arguments, &failure)) {
		d->done = 0;
		struct th_buf text = TH_BUF_INIT(2 * TH_ERR_MSG_MAX);
		th_buf_printf(&text, TH_ERROR_MARK "%s; nothing was done", failure.msg);
		th_display_add_text(d, th_buf_str(&text));
		th_buf_deinit(&text);
		return th_display_finish(d, TH_OUTCOME_REFUSED, &failure, err);
	}
	enum th_code code = await_windows(d, &failure) ? TH_OK
			    : d->steps ? th_display_browse_all(d, &started, &failure, err)
				       : th_display_act_all(d, &started, &failure, err);
	if (code)
		return code;
	enum th_code stopped = failure.code;
	bool alive = stopped != TH_ECONN && stopped != TH_ETIMEOUT;
	if (d->steps)
		th_display_tell_steps(d, alive, &failure);
	else if (stopped)
		th_display_add_failure(d, &failure);
	/* Also after a failure: the picture shows what came of it. */
	if (alive && stopped != TH_ECANCELED && d->args.settle) {
		struct th_err late = {};
		bool scrolled = d->done > 0 && d->actions[d->done - 1].kind == TH_ACTION_SCROLL;
		if (th_display_settle(
			d, scrolled ? &th_display_settle_gliding : &th_display_settle_whole,
			&late) &&
		    !stopped && late.code != TH_ECANCELED)
			failure = late;
	}
	if (alive && (d->args.screenshot || d->args.tree)) {
		struct th_err late = {};
		if (d->args.tree ? th_display_tell_tree(d, &late)
				 : th_display_take(d, NULL, &late)) {
			struct th_buf text = TH_BUF_INIT(2 * TH_ERR_MSG_MAX);
			th_buf_printf(&text, "%s: %s",
				      d->args.tree ? "the elements are not known"
						   : "no picture could be taken",
				      late.msg);
			th_display_add_text(d, th_buf_str(&text));
			th_buf_deinit(&text);
			if (!failure.code)
				failure = late;
		}
	}
	struct th_str notice = alive && d->computer->kind->notice
				   ? d->computer->kind->notice(d->computer)
				   : TH_STR("");
	if (notice.len > 0)
		th_display_add_text(d, notice);
	/* When all actions were done, that is true whatever became of the picture. */
	bool all = d->count > 0 && d->done == d->count;
	enum th_outcome_status status =
	    all ? TH_OUTCOME_DONE : th_display_status(d, failure.code, started);
	code = th_display_finish(d, status, &failure, err);
	if (code == TH_OK && (failure.code == TH_ECONN || failure.code == TH_ETIMEOUT)) {
		*err = failure; /* a dead display is left to another process */
		return failure.code;
	}
	return code;
}

static void request_init(struct th_display *d, int64_t id)
{
	th_arena_reset(&d->arena);
	d->id = id;
	d->args = (struct th_exec_computer){};
	d->steps = NULL;
	d->count = d->done = d->part_count = d->picture_count = 0;
	d->clipboard_count = d->told = 0;
	d->last = (struct th_act_result){};
	d->settled_known = d->settled = d->changed = d->unchanged = false;
	struct th_buf *bufs[] = { &d->parts, &d->evidence, &d->attachment, &d->blobs, &d->said };
	for (size_t i = 0; i < TH_COUNT(bufs); i++)
		th_buf_clear(bufs[i]);
	d->parts_w = th_jw(&d->parts);
	d->evidence_w = th_jw(&d->evidence);
	d->blobs_w = th_jw(&d->blobs);
	th_jw_array(&d->parts_w);
	th_jw_array(&d->blobs_w);
	th_jw_object(&d->evidence_w);
}

/* Orders to end come as the number of the request that is meant.  Those that came too late are
 * dropped here; true: this very request is not wanted any more. */
static bool cancelled(const struct th_display *d)
{
	int64_t id;
	bool found = false;
	while (read(d->interrupt_fd, &id, sizeof(id)) == (ssize_t)sizeof(id))
		found |= id == d->id;
	return found;
}

enum th_code th_display_request(struct th_display *d, const struct th_frame *frame,
				struct th_err *err)
{
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
	enum th_exec_op op;
	struct th_exec_do m;

	enum th_code code = th_exec_open(frame->json, &doc, &op, err);
	if (code == TH_OK && op != TH_EXEC_OP_DO)
		return th_watches_order(&d->watches, op, th_json_root(doc), err);
	request_init(d, 0);
	if (code == TH_OK)
		code = th_table_parse(&th_exec_do_table, th_json_root(doc), &d->arena, &m, err);
	if (code)
		return code;
	d->id = m.id;
	if (cancelled(d)) {
		struct th_err none = {};
		th_display_add_text(d, TH_STR("cancelled before it was begun"));
		return th_display_finish(d, TH_OUTCOME_NOT_STARTED, &none, err);
	}
	return perform(d, th_json_get(th_json_root(doc), "arguments"), err);
}
