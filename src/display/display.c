/* SPDX-License-Identifier: Apache-2.0 */
/*
 * display.c - the loop of the display role: requests and what the computer
 * itself asks for, by poll.
 *
 * A request is checked as a whole before anything moves: actions that do not
 * parse, lie off the screen or name no key refuse it.  Then they are done in
 * order until one fails.  Evidence says how far it came.
 */
#include "display/display.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "computers/computer.h"
#include "computers/image.h"
#include "computers/marked.h"
#include "display/link.h"
#include "display/watch.h"
#include "io/clock.h"
#include "io/files.h"
#include "io/role.h"
#include "io/sandbox.h"
#include "io/sock.h"
#include "wire/exec.h"

#define SEND_MS 30000
#define WATCH_AGAIN_MS 1000 /* after a live view of a display that does not answer */

/* Between two actions of one request: a menu needs a moment to open, and no more. */
static const struct th_settle_options between = { .first_ms = TH_SETTLE_BETWEEN_FIRST_MS,
						  .max_ms = TH_SETTLE_BETWEEN_MAX_MS };
static const struct th_settle_options whole = { 0 };
/* Browsers let a page glide, frame by frame: a picture of it on its way shows buttons where they
 * will not be when they are clicked. */
static const struct th_settle_options gliding = { .quiet_ms = TH_SETTLE_SCROLL_QUIET_MS,
						  .max_ms = TH_SETTLE_SCROLL_MAX_MS };

struct display {
	struct th_pipe pipe;
	int interrupt_fd;
	struct th_computer *computer;
	struct th_watches watches;          /* live views */
	struct th_pulse pulse;              /* by which these go on while a call waits */
	struct th_err broken;               /* what that found; no more requests */
	struct th_marked *marked;           /* NULL until marks are wanted */
	int64_t windows_due;                /* that the first request waits for; 0: none any more */
	int64_t windows_ms;                 /* how long at most */
	char *parser;                       /* URL; NULL: none */
	char *ocr;                          /* program; NULL: tesseract */
	char shown[TH_SHA256_HEX_SIZE + 1]; /* the last picture that was sent */

	/* of one request */
	struct th_arena arena;
	int64_t id;
	struct th_exec_computer args;
	struct th_action *actions;
	struct th_browse browse;
	struct th_browse_step *steps; /* instead of actions; NULL: none */
	size_t count, done;
	struct th_buf said; /* by the steps */
	struct th_buf parts, evidence, attachment, blobs;
	struct th_jw parts_w, evidence_w, blobs_w;
	size_t part_count, picture_count;
	size_t clipboard_count, told; /* that are asked for, and bytes that were said of them */
	struct th_act_result last;
	bool settled_known, settled, changed;
	bool unchanged;
	uint64_t frame_id;
};

/* ---- answers ---- */

static enum th_code send_head(struct display *d, const struct th_table *t, const void *m,
			      struct th_str attachment, struct th_err *err)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(TH_FRAME_JSON_MAX);
	th_exec_print(t, m, &head);
	enum th_code code = th_buf_check(&head, "an answer", err);
	return code ? code : th_pipe_write(&d->pipe, th_buf_str(&head), attachment, SEND_MS, err);
}

static void send_error(struct display *d, const struct th_err *e)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(8 * TH_ERR_MSG_MAX);
	/* With the last request that was taken: one that came later was not begun. */
	th_exec_print_error(d->id, e, &head);
	(void)!th_pipe_write(&d->pipe, th_buf_str(&head), TH_STR(""), SEND_MS, NULL);
}

static void add_text(struct display *d, struct th_str text)
{
	th_jw_object(&d->parts_w);
	th_jw_kstr(&d->parts_w, "type", TH_STR("text"));
	th_jw_kstr(&d->parts_w, "text", text);
	th_jw_object_end(&d->parts_w);
	d->part_count++;
}

static const char *const media_types[TH_IMAGE_FORMAT_COUNT] = {
	[TH_IMAGE_PNG] = "image/png",
	[TH_IMAGE_JPEG] = "image/jpeg",
	[TH_IMAGE_WEBP] = "image/webp",
};

/* Into the attachment at once: the computer's bytes live only until its next call. */
static enum th_code add_picture(struct display *d, const struct th_frame_image *f,
				const struct th_marks *marks, struct th_err *err)
{
	char hex[TH_SHA256_HEX_SIZE + 1];
	struct th_str media_type = th_str_of(media_types[f->format]);

	th_digest_hex(&f->digest, hex);
	bool known = strcmp(hex, d->shown) == 0;
	if (!known && f->bytes.len > d->attachment.max - d->attachment.len)
		return th_fail(err, TH_ELIMIT,
			       "the pictures of one answer have more than %zu bytes; ask for fewer "
			       "at once, for smaller ones, or for jpeg",
			       d->attachment.max);
	th_jw_object(&d->parts_w);
	th_jw_kstr(&d->parts_w, "type", TH_STR("image"));
	th_jw_kstr(&d->parts_w, "media_type", media_type);
	th_jw_kstr(&d->parts_w, "blob", th_str_of(hex));
	th_jw_kuint(&d->parts_w, "size", f->bytes.len);
	th_jw_kint(&d->parts_w, "width", f->size.width);
	th_jw_kint(&d->parts_w, "height", f->size.height);
	if (marks) {
		th_jw_key(&d->parts_w, TH_STR("elements"));
		th_marks_print(marks, &d->parts_w);
	}
	th_jw_object_end(&d->parts_w);
	d->part_count++;

	th_jw_object(&d->blobs_w);
	th_jw_kstr(&d->blobs_w, "blob", th_str_of(hex));
	th_jw_kstr(&d->blobs_w, "media_type", media_type);
	th_jw_kuint(&d->blobs_w, "size", f->bytes.len);
	if (known)
		th_jw_kbool(&d->blobs_w, "known", true);
	th_jw_object_end(&d->blobs_w);
	d->picture_count++;
	if (!known) {
		th_buf_add(&d->attachment, f->bytes);
		memcpy(d->shown, hex, sizeof(hex));
	}
	d->frame_id = f->frame_id;
	d->unchanged = f->unchanged;
	return TH_OK;
}

static void add_evidence(struct display *d, const struct th_err *failure)
{
	struct th_jw *w = &d->evidence_w;

	th_jw_kuint(w, "done", d->done);
	th_jw_kuint(w, "of", d->count);
	if (failure->code) {
		th_jw_key(w, TH_STR("error"));
		th_jw_object(w);
		if (d->done < d->count)
			th_jw_kuint(w, "action", d->done + 1);
		th_jw_kstr(w, "code", th_str_of(th_code_name(failure->code)));
		th_jw_kstr(w, "message", th_str_of(failure->msg));
		th_jw_object_end(w);
	}
	if (d->last.has_at) {
		th_jw_key(w, TH_STR("pointer"));
		th_jw_array(w);
		th_jw_int(w, d->last.at.x);
		th_jw_int(w, d->last.at.y);
		th_jw_array_end(w);
	}
	if (d->settled_known) {
		th_jw_kbool(w, "changed", d->changed);
		th_jw_kbool(w, "settled", d->settled);
	}
	if (d->picture_count > 0) {
		th_jw_kuint(w, "frame", d->frame_id);
		th_jw_kbool(w, "unchanged", d->unchanged);
	}
}

static enum th_code finish(struct display *d, enum th_outcome_status status,
			   const struct th_err *failure, struct th_err *err)
{
	add_evidence(d, failure);
	if (d->part_count == 0)
		add_text(d, TH_STR("done"));
	th_jw_array_end(&d->parts_w);
	th_jw_array_end(&d->blobs_w);
	th_jw_object_end(&d->evidence_w);
	struct th_exec_finished m = {
		.op = TH_STR("finished"),
		.id = d->id,
		.status = th_str_of(th_outcome_name(status)),
		.output = th_buf_str(&d->parts),
		.evidence = th_buf_str(&d->evidence),
		.blobs = d->picture_count > 0 ? th_buf_str(&d->blobs) : TH_STR(""),
		.last = failure->code == TH_ECONN || failure->code == TH_ETIMEOUT,
	};
	return send_head(d, &th_exec_finished_table, &m, th_buf_str(&d->attachment), err);
}

/* ---- one request ---- */

static enum th_code parse_steps(struct display *d, const struct th_json *v, struct th_err *err)
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

static enum th_code parse_request(struct display *d, const struct th_json *arguments,
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

static enum th_code see_options(const struct display *d, struct th_see_options *ret,
				struct th_err *err)
{
	int format = d->args.format.len > 0 ? th_image_format_find(d->args.format) : 0;

	if (format < 0)
		return th_fail(err, TH_EUSAGE, "format: must be png, jpeg or webp");
	if (d->args.quality > 100)
		return th_fail(err, TH_EUSAGE, "quality: must be 1 to 100");
	*ret = (struct th_see_options){
		.format = (enum th_image_format)format,
		.quality = (int)d->args.quality,
		.fit = { (int32_t)TH_MIN(d->args.fit_width, (int64_t)TH_SCREEN_SIDE_MAX),
			 (int32_t)TH_MIN(d->args.fit_height, (int64_t)TH_SCREEN_SIDE_MAX) },
		.cursor = d->args.cursor,
	};
	return TH_OK;
}

/* The elements as text too: a mark may be hard to read, and what it stands for has a name. */
static void add_marks(struct display *d, const struct th_marks *marks, size_t count_max)
{
	struct th_buf text = TH_BUF_INIT(TH_FRAME_JSON_MAX / 4);

	th_buf_add_cstr(&text, marks->count ? "Marks on the screenshot:\n"
					    : "No element was found on the screenshot.");
	th_marks_text(marks, count_max, &text);
	add_text(d, th_buf_str(&text));
	th_buf_deinit(&text);
}

static struct th_marked *marked_of(struct display *d)
{
	struct th_marked_options o = { .parser = th_str_of(d->parser),
				       .ocr = th_str_of(d->ocr),
				       .interrupt_fd = d->interrupt_fd };

	if (!d->marked)
		d->marked = th_marked_new(&o);
	return d->marked;
}

/* Without its elements it is still a picture, and why they are not known is said beside it. */
static enum th_code take_marked(struct display *d, const struct th_see_options *options,
				struct th_err *err)
{
	struct th_buf text = TH_BUF_INIT(2 * TH_ERR_MSG_MAX);
	const struct th_marks *marks;
	struct th_frame_image image;
	struct th_err why = {};
	enum th_code code =
	    th_marked_see(marked_of(d), d->computer, options, true, &image, &marks, &why);

	if (code == TH_OK) {
		add_marks(d, marks, TH_MARKS_LISTED_MAX);
		return add_picture(d, &image, marks, err);
	}
	if (code == TH_ECONN || code == TH_ETIMEOUT || code == TH_ECANCELED) {
		*err = why;
		return code;
	}
	th_buf_printf(&text, "There are no marks: %s", why.msg);
	add_text(d, th_buf_str(&text));
	th_buf_deinit(&text);
	code = d->computer->kind->see(d->computer, options, &image, err);
	return code ? code : add_picture(d, &image, NULL, err);
}

static enum th_code tell_tree(struct display *d, struct th_err *err)
{
	struct th_see_options options = { .format = TH_IMAGE_PNG };
	const struct th_marks *marks;
	struct th_frame_image image;
	enum th_code code =
	    th_marked_see(marked_of(d), d->computer, &options, false, &image, &marks, err);

	if (code)
		return code;
	th_jw_key(&d->evidence_w, TH_STR("elements"));
	th_marks_print(marks, &d->evidence_w);
	add_marks(d, marks, TH_MARKS_MAX);
	return TH_OK;
}

static enum th_code take(struct display *d, const struct th_rect *region, struct th_err *err)
{
	struct th_see_options options;
	struct th_frame_image image;

	enum th_code code = see_options(d, &options, err);
	if (code)
		return code;
	if (region) {
		options.has_region = true;
		options.region = *region;
	}
	if (d->picture_count == TH_PICTURES_MAX)
		return th_fail(err, TH_ELIMIT, "more than %d pictures in one call",
			       TH_PICTURES_MAX);
	if (d->args.marks && !region)
		return take_marked(d, &options, err);
	code = d->computer->kind->see(d->computer, &options, &image, err);
	return code ? code : add_picture(d, &image, NULL, err);
}

/* Programs put into a clipboard what they like: all clipboards of a call are clipped to what is
 * shown of one output. */
static enum th_code tell_clipboard(struct display *d, struct th_str text, struct th_err *err)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf shown = TH_BUF_INIT(2 * TH_TOOL_OUTPUT_MODEL_MAX);
	TH_CLEANUP(th_buf_deinit) struct th_buf json = TH_BUF_INIT(TH_DISPLAY_TEXT_MAX - d->told);
	struct th_jw w = th_jw(&json);

	if (!d->args.whole) {
		th_text_clip(&shown, text, TH_TOOL_OUTPUT_MODEL_MAX / d->clipboard_count);
		text = th_buf_str(&shown);
	}
	th_jw_str(&w, text);
	if (json.failed)
		return th_fail(err, TH_ELIMIT,
			       "the clipboard holds %zu bytes, and one answer takes %zu of its "
			       "text; paste it into a file and read that",
			       text.len, TH_DISPLAY_TEXT_MAX);
	d->told += json.len;
	add_text(d, text);
	return TH_OK;
}

static enum th_code settle(struct display *d, const struct th_settle_options *options,
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

static enum th_code act(struct display *d, const struct th_action *a, bool *ret_started,
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
		return take(d, &a->region, err);
	enum th_code code = th_computer_act(d->computer, a, &result, err);
	*ret_started = result.started;
	if (result.has_at) {
		d->last = result;
		th_watches_pointer(&d->watches, result.at);
	}
	if (code)
		return code;
	if (a->kind == TH_ACTION_CLIPBOARD_GET)
		return tell_clipboard(d, result.text, err);
	if (a->kind == TH_ACTION_CURSOR_POSITION) {
		snprintf(text, sizeof(text), "the pointer is at (%d, %d)", result.at.x,
			 result.at.y);
		add_text(d, th_str_of(text));
	}
	return TH_OK;
}

static enum th_code send_step(struct display *d, struct th_err *err)
{
	struct th_exec_step m = { .op = TH_STR("step"), .id = d->id, .done = (int64_t)d->done };
	return send_head(d, &th_exec_step_table, &m, TH_STR(""), err);
}

/* What became of the request, by what stopped it. */
static enum th_outcome_status status_of(const struct display *d, enum th_code code, bool started)
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

static void add_failure(struct display *d, const struct th_err *failure)
{
	struct th_buf text = TH_BUF_INIT(2 * TH_ERR_MSG_MAX);
	if (d->count > 1)
		th_buf_printf(&text, "error in %s %zu of %zu (those before it were done): ",
			      d->steps ? "step" : "action", d->done + 1, d->count);
	else
		th_buf_add(&text, TH_STR(TH_ERROR_MARK));
	th_buf_add_cstr(&text, failure->msg);
	add_text(d, th_buf_str(&text));
	th_buf_deinit(&text);
}

/* A text at a place is a click and then the text: a program that is still busy with the click would
 * give the keys to whatever had them before. */
static enum th_code click_first(struct display *d, const struct th_action *a, bool *ret_started,
				struct th_err *failure)
{
	const struct th_action click = { .kind = TH_ACTION_CLICK, .has_at = true, .at = a->at };
	enum th_code code = act(d, &click, ret_started, failure);

	if (code)
		return code;
	*ret_started = true;
	return settle(d, &between, failure);
}

/* The actions, until one fails. */
static enum th_code act_all(struct display *d, bool *ret_started, struct th_err *failure,
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
		if (wants_answer(a) && settle(d, &between, failure))
			return TH_OK;
	}
	return TH_OK;
}

/* The same for steps on the structure of pages. */
static enum th_code browse_all(struct display *d, bool *ret_started, struct th_err *failure,
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

/* What the steps said, why they ended, and what they changed. */
static void tell_steps(struct display *d, bool alive, struct th_err *failure)
{
	struct th_err late = {};

	if (d->said.len > 0)
		add_text(d, th_str_trim(th_buf_str(&d->said)));
	if (failure->code)
		add_failure(d, failure);
	th_buf_clear(&d->said);
	if (alive && d->computer->kind->browsed(d->computer, &d->said, &late) && !failure->code)
		*failure = late;
	if (d->said.len > 0)
		add_text(d, th_str_trim(th_buf_str(&d->said)));
}

/* A desktop whose programs have shown nothing yet is no picture worth paying for. */
static enum th_code await_windows(struct display *d, struct th_err *err)
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

static enum th_code perform(struct display *d, const struct th_json *arguments, struct th_err *err)
{
	struct th_err failure = {};
	bool started = false;

	if (parse_request(d, arguments, &failure)) {
		d->done = 0;
		struct th_buf text = TH_BUF_INIT(2 * TH_ERR_MSG_MAX);
		th_buf_printf(&text, TH_ERROR_MARK "%s; nothing was done", failure.msg);
		add_text(d, th_buf_str(&text));
		th_buf_deinit(&text);
		return finish(d, TH_OUTCOME_REFUSED, &failure, err);
	}
	enum th_code code = await_windows(d, &failure) ? TH_OK
			    : d->steps                 ? browse_all(d, &started, &failure, err)
						       : act_all(d, &started, &failure, err);
	if (code)
		return code;
	enum th_code stopped = failure.code;
	bool alive = stopped != TH_ECONN && stopped != TH_ETIMEOUT;
	if (d->steps)
		tell_steps(d, alive, &failure);
	else if (stopped)
		add_failure(d, &failure);
	/* Also after a failure: the picture shows what came of it. */
	if (alive && stopped != TH_ECANCELED && d->args.settle) {
		struct th_err late = {};
		bool scrolled = d->done > 0 && d->actions[d->done - 1].kind == TH_ACTION_SCROLL;
		if (settle(d, scrolled ? &gliding : &whole, &late) && !stopped &&
		    late.code != TH_ECANCELED)
			failure = late;
	}
	if (alive && (d->args.screenshot || d->args.tree)) {
		struct th_err late = {};
		if (d->args.tree ? tell_tree(d, &late) : take(d, NULL, &late)) {
			struct th_buf text = TH_BUF_INIT(2 * TH_ERR_MSG_MAX);
			th_buf_printf(&text, "%s: %s",
				      d->args.tree ? "the elements are not known"
						   : "no picture could be taken",
				      late.msg);
			add_text(d, th_buf_str(&text));
			th_buf_deinit(&text);
			if (!failure.code)
				failure = late;
		}
	}
	struct th_str notice = alive && d->computer->kind->notice
				   ? d->computer->kind->notice(d->computer)
				   : TH_STR("");
	if (notice.len > 0)
		add_text(d, notice);
	/* When all actions were done, that is true whatever became of the picture. */
	bool all = d->count > 0 && d->done == d->count;
	enum th_outcome_status status = all ? TH_OUTCOME_DONE : status_of(d, failure.code, started);
	code = finish(d, status, &failure, err);
	if (code == TH_OK && (failure.code == TH_ECONN || failure.code == TH_ETIMEOUT)) {
		*err = failure; /* a dead display is left to another process */
		return failure.code;
	}
	return code;
}

static void request_init(struct display *d, int64_t id)
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
static bool cancelled(const struct display *d)
{
	int64_t id;
	bool found = false;
	while (read(d->interrupt_fd, &id, sizeof(id)) == (ssize_t)sizeof(id))
		found |= id == d->id;
	return found;
}

static enum th_code on_request(struct display *d, const struct th_frame *frame, struct th_err *err)
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
		add_text(d, TH_STR("cancelled before it was begun"));
		return finish(d, TH_OUTCOME_NOT_STARTED, &none, err);
	}
	return perform(d, th_json_get(th_json_root(doc), "arguments"), err);
}

/* ---- live views ---- */

/* Sends what is due.  Only a display that is gone ends them: of one that does not answer there is
 * nothing new. */
static enum th_code watches_pass(struct display *d, int64_t *ret_ms, struct th_err *err)
{
	enum th_code code = th_watches_pass(&d->watches, ret_ms, err);

	if (code == TH_OK || code == TH_ECONN)
		return code;
	*ret_ms = WATCH_AGAIN_MS;
	return TH_OK;
}

/* A call waits: orders of those who watch come all the same, and no other call does. */
static int64_t on_pulse(void *ctx)
{
	struct display *d = ctx;
	struct th_frame frame;
	int64_t again_ms = -1;
	enum th_code code;

	while (!d->broken.code && (code = th_pipe_read(&d->pipe, 0, &frame, NULL)) != TH_ETIMEOUT) {
		struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
		enum th_exec_op op;

		if (code) {
			th_fail(&d->broken, code, "the executor is gone");
			break;
		}
		if (!th_exec_open(frame.json, &doc, &op, &d->broken))
			(void)!th_watches_order(&d->watches, op, th_json_root(doc), &d->broken);
	}
	if (!d->broken.code)
		(void)!watches_pass(d, &again_ms, &d->broken);
	return again_ms;
}

static void watch_begin(struct display *d)
{
	th_watches_init(&d->watches, d->computer, &d->pipe);
	d->pulse = (struct th_pulse){ .fn = on_pulse, .ctx = d, .fd = d->pipe.fd };
	d->computer->pulse = &d->pulse;
}

/* ---- life ---- */

static enum th_code open_computer(struct display *d, const struct th_exec_display_start *m,
				  struct th_err *err)
{
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
	struct th_exec_computer_start start;
	struct th_act_result reset = {};

	enum th_code code = th_json_parse(m->computer, &doc, err);
	if (code == TH_OK)
		code = th_table_parse(&th_exec_computer_start_table, th_json_root(doc), &d->arena,
				      &start, err);
	if (code)
		return code;
	struct th_computer_options options = {
		.kind = start.kind,
		.own = start.options,
		.size = { (int32_t)start.width, (int32_t)start.height },
		.display = start.display,
		.xauthority = start.xauthority,
		.bus = start.bus,
		.state_dir = m->state_dir,
		.net_host = m->net_host,
		.net_space = m->net_space,
		.trust = m->trust,
		.net_fd = 5,
		.user_fd = geteuid() == 0 ? -1 : 6,
		.workspace = m->workspace,
		.uid = (uint32_t)m->uid,
		.gid = (uint32_t)m->gid,
		.interrupt_fd = d->interrupt_fd,
	};
	code = th_computer_open(&options, &d->computer, err);
	if (code)
		return th_prefix(err, code, "open the %.*s", TH_FMT(start.kind));
	/* An earlier display process may have died with a button down. */
	code = d->computer->kind->reset(d->computer, &reset, err);
	if (code)
		return code;
	d->windows_due = start.windows;
	d->windows_ms = start.wait_ms ?: TH_START_WAIT_S * 1000;
	if (start.parser.len)
		d->parser = strndup(start.parser.ptr, start.parser.len);
	if (start.ocr.len)
		d->ocr = strndup(start.ocr.ptr, start.ocr.len);
	const char *const *prefix = NULL;
	if (d->computer->kind->prefix)
		prefix = d->computer->kind->prefix(&d->arena, m->state_dir);
	struct th_str words[8];
	struct th_exec_screen screen = {
		.op = TH_STR("screen"),
		.width = d->computer->kind->size(d->computer).width,
		.height = d->computer->kind->size(d->computer).height,
		.caps = d->computer->kind->caps,
		.released = reset.keys_released,
		.prefix = { words, 0 },
	};
	for (size_t i = 0; prefix && prefix[i] && i < TH_COUNT(words); i++)
		words[screen.prefix.count++] = th_str_of(prefix[i]);
	return send_head(d, &th_exec_screen_table, &screen, TH_STR(""), err);
}

/* From here on it opens no files but fonts and keymaps, and no sockets of the network unless its
 * kind needs them. */
static void confine(const struct display *d, const struct th_exec_display_start *m)
{
	char state_dir[TH_PATH_LEN_MAX], workspace[TH_PATH_LEN_MAX];
	bool files = d->computer->kind->files && m->workspace.len > 0;
	struct th_err err;

	if (m->state_dir.len >= sizeof(state_dir) || m->workspace.len >= sizeof(workspace))
		return;
	snprintf(state_dir, sizeof(state_dir), "%.*s", TH_FMT(m->state_dir));
	snprintf(workspace, sizeof(workspace), "%.*s", TH_FMT(m->workspace));
	const char *const writable[] = { state_dir, files ? workspace : NULL, NULL };
	const char *const readable[] = { d->ocr, NULL };
	const struct th_sandbox s = {
		.level_min = TH_SANDBOX_KERNEL,
		.level_max = TH_SANDBOX_KERNEL,
		.writable = writable,
		.readable = readable,
		/* A parser's server may be anywhere; who named it wants it asked. */
		.net = d->parser || d->computer->kind->network ? TH_SANDBOX_NET_HOST
							       : TH_SANDBOX_NET_NONE,
		.tmp = "/tmp", /* a desktop without namespaces has its files there */
	};
	if (th_sandbox_enter(&s, &err))
		fprintf(stderr, "thole display: not confined: %s\n", err.msg);
}

static enum th_code begin(struct display *d, struct th_err *err)
{
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
	struct th_exec_display_start m;
	struct th_frame frame;
	enum th_exec_op op;

	TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(TH_KIB);
	th_exec_print_role(TH_ROLE_DISPLAY, &head);
	enum th_code code = th_pipe_write(&d->pipe, th_buf_str(&head), TH_STR(""), SEND_MS, err);
	if (code == TH_OK)
		code = th_pipe_read(&d->pipe, TH_DISPLAY_START_MS, &frame, err);
	if (code == TH_OK)
		code = th_exec_open(frame.json, &doc, &op, err);
	if (code == TH_OK && op != TH_EXEC_OP_START)
		code = th_fail(err, TH_EPROTO, "start comes first");
	if (code == TH_OK)
		code = th_table_parse(&th_exec_display_start_table, th_json_root(doc), &d->arena,
				      &m, err);
	if (code == TH_OK)
		code = open_computer(d, &m, err);
	if (code == TH_OK)
		confine(d, &m);
	return code;
}

/* Waits for a request or for the computer; serves the latter. */
static enum th_code next(struct display *d, struct th_frame *ret, struct th_err *err)
{
	for (;;) {
		int fd = d->computer->kind->fd(d->computer);
		int64_t again_ms = -1;
		/* What was read ahead needs no waiting. */
		enum th_code code = th_pipe_read(&d->pipe, 0, ret, err);
		if (code != TH_ETIMEOUT)
			return code;
		code = watches_pass(d, &again_ms, err);
		if (code) {
			send_error(d, err);
			return code;
		}
		struct pollfd p[2] = { { .fd = d->pipe.fd, .events = POLLIN },
				       { .fd = fd, .events = POLLIN } };
		if (poll(p, 2, (int)TH_MIN(again_ms, (int64_t)INT_MAX)) < 0 && errno != EINTR)
			return th_fail_errno(err, errno, "wait for requests");
		if (p[1].revents) {
			code = d->computer->kind->dispatch(d->computer, err);
			if (code) {
				send_error(d, err);
				return code;
			}
		}
	}
}

/* `computer` is NULL where the first request says which one to open. */
static int serve(struct th_computer *computer, int fd, int interrupt_fd)
{
	struct display d = { .computer = computer };
	enum th_code code = TH_OK;
	struct th_frame frame;
	struct th_err err = {};

	signal(SIGPIPE, SIG_IGN);
	th_pipe_init(&d.pipe, fd);
	d.interrupt_fd = interrupt_fd;
	(void)!th_fd_nonblock(interrupt_fd, NULL);
	th_arena_init(&d.arena, 2 * TH_FRAME_JSON_MAX);
	th_buf_init(&d.parts, TH_EXEC_OUTPUT_MAX);
	th_buf_init(&d.evidence, TH_EXEC_EVIDENCE_MAX);
	th_buf_init(&d.blobs, 64 * TH_KIB);
	th_buf_init(&d.said, TH_DISPLAY_TEXT_MAX);
	th_buf_init(&d.attachment, TH_FRAME_SIZE_MAX - TH_FRAME_JSON_MAX);
	if (!computer && (code = begin(&d, &err)))
		send_error(&d, &err);
	if (code == TH_OK)
		watch_begin(&d);
	while (code == TH_OK) {
		code = next(&d, &frame, &err);
		if (code == TH_OK)
			code = on_request(&d, &frame, &err);
		if (code == TH_OK && d.broken.code) {
			err = d.broken;
			code = err.code;
			send_error(&d, &err);
		}
	}
	if (d.computer)
		d.computer->pulse = NULL;
	th_watches_deinit(&d.watches);
	d.computer = th_computer_close(d.computer);
	d.marked = th_marked_free(d.marked);
	free(d.parser);
	free(d.ocr);
	struct th_buf *bufs[] = { &d.parts, &d.evidence, &d.attachment, &d.blobs, &d.said };
	for (size_t i = 0; i < TH_COUNT(bufs); i++)
		th_buf_deinit(bufs[i]);
	th_pipe_deinit(&d.pipe);
	th_arena_deinit(&d.arena);
	return code == TH_ECONN ? 0 : 1;
}

int th_display_main(int fd, int interrupt_fd)
{
	return serve(NULL, fd, interrupt_fd);
}

int th_display_host(struct th_computer *computer, int fd, int interrupt_fd)
{
	return serve(computer, fd, interrupt_fd);
}
