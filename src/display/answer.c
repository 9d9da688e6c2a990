/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer.c - what the display role says and shows: parts of an answer, pictures
 * with marks or without, the evidence of a request.
 */
#include <string.h>

#include "base/text.h"
#include "computer/image.h"
#include "display/internal.h"

/* ---- parts of an answer ---- */

enum th_code th_display_send(struct th_display *d, const struct th_table *t, const void *m,
			     struct th_str attachment, struct th_err *err)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(TH_FRAME_JSON_MAX);
	th_exec_print(t, m, &head);
	enum th_code code = th_buf_check(&head, "an answer", err);
	return code ? code
		    : th_pipe_write(&d->pipe, th_buf_str(&head), attachment, TH_DISPLAY_SEND_MS,
				    err);
}

void th_display_send_error(struct th_display *d, const struct th_err *e)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(8 * TH_ERR_MSG_MAX);
	/* With the last request that was taken: one that came later was not begun. */
	th_exec_print_error(d->id, e, &head);
	(void)!th_pipe_write(&d->pipe, th_buf_str(&head), TH_STR(""), TH_DISPLAY_SEND_MS, NULL);
}

void th_display_add_text(struct th_display *d, struct th_str text)
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
static enum th_code add_picture(struct th_display *d, const struct th_frame_image *f,
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
	if (d->computer && d->computer->kind->address)
		th_jw_kstr(&d->parts_w, "url", d->computer->kind->address(d->computer));
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

static void add_evidence(struct th_display *d, const struct th_err *failure)
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

enum th_code th_display_finish(struct th_display *d, enum th_outcome_status status,
			       const struct th_err *failure, struct th_err *err)
{
	add_evidence(d, failure);
	if (d->part_count == 0)
		th_display_add_text(d, TH_STR("done"));
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
	return th_display_send(d, &th_exec_finished_table, &m, th_buf_str(&d->attachment), err);
}

/* ---- pictures ---- */

static enum th_code see_options(const struct th_display *d, struct th_see_options *ret,
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
static void add_marks(struct th_display *d, const struct th_marks *marks, size_t count_max)
{
	struct th_buf text = TH_BUF_INIT(TH_FRAME_JSON_MAX / 4);

	th_buf_add_cstr(&text, marks->count ? "Marks on the screenshot:\n"
					    : "No element was found on the screenshot.");
	th_marks_text(marks, count_max, &text);
	th_display_add_text(d, th_buf_str(&text));
	th_buf_deinit(&text);
}

static struct th_marked *marked_of(struct th_display *d)
{
	struct th_marked_options o = { .parser = th_str_of(d->parser),
				       .ocr = th_str_of(d->ocr),
				       .interrupt_fd = d->interrupt_fd };

	if (!d->marked)
		d->marked = th_marked_new(&o);
	return d->marked;
}

/* Without its elements it is still a picture, and why they are not known is said beside it. */
static enum th_code take_marked(struct th_display *d, const struct th_see_options *options,
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
	th_display_add_text(d, th_buf_str(&text));
	th_buf_deinit(&text);
	code = d->computer->kind->see(d->computer, options, &image, err);
	return code ? code : add_picture(d, &image, NULL, err);
}

enum th_code th_display_tell_tree(struct th_display *d, struct th_err *err)
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

enum th_code th_display_take(struct th_display *d, const struct th_rect *region, struct th_err *err)
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

enum th_code th_display_tell_clipboard(struct th_display *d, struct th_str text, struct th_err *err)
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
	th_display_add_text(d, text);
	return TH_OK;
}
