/* SPDX-License-Identifier: Apache-2.0 */
#include "turns/view.h"

#include <stdlib.h>

#include "live/log.h"

struct th_view *th_view_drop(struct th_view *view)
{
	if (view)
		th_transcript_deinit(&view->transcript);
	free(view);
	return NULL;
}

void th_live_view_free(struct th_live *l)
{
	l->view = th_view_drop(l->view);
}

struct th_view *th_live_view_take(struct th_live *l, uint64_t upto)
{
	struct th_view *view = l->view;

	if (view && view->seq <= upto) {
		l->view = NULL;
		return view;
	}
	view = th_try_alloc(sizeof(*view));
	if (view)
		th_transcript_init(&view->transcript, true);
	return view;
}

void th_live_view_give(struct th_live *l, struct th_view *view)
{
	th_live_view_free(l);
	l->view = view;
}

enum th_code th_view_take(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			  struct th_err *err)
{
	struct th_view *view = ctx;
	enum th_code code = th_transcript_add(&view->transcript, ev, err);

	(void)digest;
	if (!code)
		view->seq = ev->seq;
	return code;
}

bool th_live_view(struct th_live *l, uint64_t upto, struct th_transcript *ret, enum th_code *code,
		  struct th_err *err)
{
	struct th_view *view = l->view;

	*code = TH_OK;
	if (!view || view->seq > upto)
		return false;
	if (view->seq < upto)
		*code = th_live_read(l, view->seq + 1, upto, th_view_take, view, err);
	if (!*code && !th_transcript_copy(ret, &view->transcript))
		*code = th_fail_memory(err);
	if (*code)
		th_live_view_free(l); /* half of an event may be in it */
	return !*code;
}

bool th_live_view_stays(const struct th_live *l)
{
	return l->fold.items_then || l->speaking->input_filter.len;
}

enum th_code th_live_view_hold(struct th_live *l, uint64_t seq, struct th_transcript *transcript,
			       struct th_err *err)
{
	if (l->view || !th_live_view_stays(l) || seq < TH_VIEW_LOG_MIN)
		return TH_OK;
	l->view = th_try_alloc(sizeof(*l->view));
	if (!l->view)
		return th_fail_memory(err);
	*l->view = (struct th_view){ *transcript, seq };
	if (th_transcript_copy(transcript, &l->view->transcript))
		return TH_OK;
	*transcript = l->view->transcript;
	free(l->view);
	l->view = NULL;
	return th_fail_memory(err);
}
