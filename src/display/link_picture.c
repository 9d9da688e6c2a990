/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_picture.c - pictures that a display process has sent: shared by those who look at them, and
 * the answers that they come with.
 */
#include <stdlib.h>

#include "display/link_internal.h"

struct th_picture *th_picture_new(struct th_str bytes, struct th_str hex, struct th_str media_type)
{
	struct th_picture *p = (struct th_picture *)th_alloc(sizeof(*p) + bytes.len);
	p->refs = 1;
	p->size = bytes.len;
	memcpy(p->bytes, bytes.ptr, bytes.len);
	memcpy(p->hex, hex.ptr, TH_MIN(hex.len, sizeof(p->hex) - 1));
	memcpy(p->media_type, media_type.ptr, TH_MIN(media_type.len, sizeof(p->media_type) - 1));
	return p;
}

struct th_picture *th_picture_ref(struct th_picture *p)
{
	p->refs++;
	return p;
}

struct th_picture *th_picture_unref(struct th_picture *p)
{
	if (p && --p->refs == 0)
		free(p);
	return NULL;
}

/* An evidence object with one more member before its end. */
static void add_member(struct th_buf *out, struct th_str evidence, struct th_str member)
{
	if (evidence.len < 2) {
		th_buf_printf(out, "{%.*s}", TH_FMT(member));
		return;
	}
	bool empty = th_str_is(evidence, "{}");
	th_buf_add(out, th_str_sub(evidence, 0, evidence.len - 1));
	th_buf_printf(out, "%s%.*s}", empty ? "" : ",", TH_FMT(member));
}

static enum th_code take_pictures(struct th_display *d, const struct th_exec_finished *m,
				  struct th_str bytes, struct th_picture **pictures,
				  size_t *ret_count, struct th_err *err)
{
	struct th_json_raw_iter it = th_json_raw_iter(m->blobs);
	size_t count = 0;

	while (m->blobs.len > 0 && th_json_raw_next(&it)) {
		TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
		TH_CLEANUP(th_arena_deinit) struct th_arena arena = {};
		struct th_exec_blob b;
		th_arena_init(&arena, 4096);
		if (count == TH_PICTURES_MAX)
			return th_fail(err, TH_ELIMIT, "more than %d pictures in one answer",
				       TH_PICTURES_MAX);
		enum th_code code = th_json_parse(it.val, &doc, err);
		if (code == TH_OK)
			code =
			    th_table_parse(&th_exec_blob_table, th_json_root(doc), &arena, &b, err);
		if (code)
			return code;
		if (b.known && d->shown && th_str_is(b.blob, d->shown->hex)) {
			pictures[count++] = th_picture_ref(d->shown);
			*ret_count = count;
			continue;
		}
		if (b.known || b.blob.len != TH_SHA256_HEX_SIZE || (uint64_t)b.size > bytes.len)
			return th_fail(err, TH_EPROTO, "a picture without its bytes");
		pictures[count] =
		    th_picture_new(th_str_sub(bytes, 0, (size_t)b.size), b.blob, b.media_type);
		bytes = th_str_sub(bytes, (size_t)b.size, bytes.len);
		th_picture_unref(d->shown);
		d->shown = th_picture_ref(pictures[count++]);
		*ret_count = count;
	}
	return TH_OK;
}

enum th_code th_display_finished(struct th_display *d, const struct th_exec_finished *m,
				 struct th_str bytes, struct th_err *err)
{
	struct th_picture *pictures[TH_PICTURES_MAX] = {};
	struct th_display_call *call = d->running;
	size_t count = 0;
	int status = th_outcome_find(m->status);

	if (!call || m->id != call->id || status < 0)
		return th_fail(err, TH_EPROTO, "an answer to nothing");
	if (m->output.len > TH_EXEC_OUTPUT_MAX)
		return th_fail(err, TH_ELIMIT, "an answer has more than %zu bytes",
			       TH_EXEC_OUTPUT_MAX);
	enum th_code code = take_pictures(d, m, bytes, pictures, &count, err);
	if (code == TH_OK) {
		TH_CLEANUP(th_buf_deinit) struct th_buf evidence = TH_BUF_INIT(TH_TOOL_OUTPUT_MAX);
		th_timer_stop(&d->watch);
		d->running = NULL;
		if (m->last && d->state == STATE_OPEN) {
			d->state = STATE_LOST;
			th_timer_start(&d->watch, d->options.close_ms, 0);
		}
		if (d->tell_restart)
			add_member(&evidence, m->evidence, TH_STR("\"restarted\":true"));
		else
			th_buf_add(&evidence, m->evidence);
		d->tell_restart = false;
		th_loop_defer(d->loop, &d->step);
		call->on_done(call->ctx, (enum th_outcome_status)status, m->output,
			      th_buf_str(&evidence), pictures, count);
	}
	for (size_t i = 0; i < count; i++)
		th_picture_unref(pictures[i]);
	return code;
}
