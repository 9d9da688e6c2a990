/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c - live views: hands frames of the display process to the runtimes
 * that watch.  Nothing of it is journaled: it only looks.
 *
 * A watch gets one frame and no other before it asks for the next, so a runtime
 * that is slow costs one frame of memory.
 */
#include "executor/state.h"

#include <stdlib.h>

#include "base/limits.h"
#include "computer/image.h"

struct th_exec_watching {
	struct th_exec_watching *next;
	struct th_exec_client *client;
	int64_t id; /* of the client */
	bool with_display;
	struct th_display_watch watch;
	struct th_exec_terminal_view *terminal; /* NULL: the screen is meant */
};

static void tell(struct th_exec_watching *w, const struct th_exec_frame *frame, struct th_str bytes)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(TH_FRAME_JSON_MAX);
	struct th_exec_frame m = *frame;

	m.id = w->id;
	th_exec_print(&th_exec_frame_table, &m, &head);
	th_exec_send(w->client, th_buf_str(&head), bytes);
}

static void on_frame(void *ctx, const struct th_exec_frame *frame, struct th_str bytes)
{
	tell(ctx, frame, bytes);
}

static void begin(struct th_exec_watching *w)
{
	struct th_executor_server *x = w->client->x;

	w->with_display = true;
	th_display_watch(x->display, &w->watch);
	if (!th_display_screen(x->display)) {
		const struct th_exec_frame none = { .op = TH_STR("frame"),
						    .reason = TH_STR("the computer is not open"),
						    .tiles = TH_STR("[]") };
		tell(w, &none, TH_STR(""));
	}
}

static struct th_exec_watching **find(struct th_exec_client *c, int64_t id)
{
	struct th_exec_watching **at = &c->x->watchings;

	while (*at && ((*at)->client != c || (*at)->id != id))
		at = &(*at)->next;
	return at;
}

static void drop(struct th_exec_watching **at)
{
	struct th_exec_watching *w = *at;
	struct th_executor_server *x = w->client->x;

	*at = w->next;
	x->watching_count--;
	if (w->with_display)
		th_display_unwatch(x->display, &w->watch);
	th_exec_terminal_view_free(w->terminal);
	free(w);
}

void th_exec_on_watch(struct th_exec_client *c, const struct th_exec_watch *m)
{
	struct th_executor_server *x = c->x;
	bool terminal = th_str_is(m->format, "terminal");
	int format = m->format.len && !terminal ? th_image_format_find(m->format) : TH_IMAGE_JPEG;
	struct th_err err;

	if (format < 0 || m->quality > 100 || *find(c, m->id)) {
		th_fail(&err, TH_EUSAGE,
			"a watch with no such format or quality, or a number twice");
		th_exec_send_error(c, m->id, &err);
		return;
	}
	if (x->watching_count == TH_LIVE_WATCHES_MAX) {
		th_fail(&err, TH_ELIMIT, "the computer has %d live views, its maximum",
			TH_LIVE_WATCHES_MAX);
		th_exec_send_error(c, m->id, &err);
		return;
	}
	struct th_exec_watching *w = (struct th_exec_watching *)th_alloc(sizeof(*w));
	*w = (struct th_exec_watching){
		.next = x->watchings,
		.client = c,
		.id = m->id,
		.watch = { .format = th_image_format_name((enum th_image_format)format),
			   .quality = m->quality,
			   .interval_ms = m->interval_ms,
			   .on_frame = on_frame },
	};
	w->watch.ctx = w;
	x->watchings = w;
	x->watching_count++;
	if (terminal) {
		w->terminal = th_exec_terminal_view_new(x, (uint64_t)m->interval_ms, on_frame, w);
		return;
	}
	if (x->display) {
		begin(w);
		return;
	}
	const struct th_exec_frame none = { .op = TH_STR("frame"),
					    .reason = TH_STR("this session has no computer"),
					    .tiles = TH_STR("[]") };
	tell(w, &none, TH_STR(""));
}

void th_exec_on_watch_next(struct th_exec_client *c, int64_t id)
{
	struct th_exec_watching *w = *find(c, id);

	if (w && w->with_display)
		th_display_watch_next(c->x->display, &w->watch);
	else if (w && w->terminal)
		th_exec_terminal_view_next(w->terminal);
}

void th_exec_on_unwatch(struct th_exec_client *c, int64_t id)
{
	struct th_exec_watching **at = find(c, id);

	if (*at)
		drop(at);
}

void th_exec_watches_gone(const struct th_exec_client *c)
{
	struct th_exec_watching **at = &c->x->watchings;

	while (*at)
		if ((*at)->client == c)
			drop(at);
		else
			at = &(*at)->next;
}

void th_exec_watches_begin(struct th_executor_server *x)
{
	for (struct th_exec_watching *w = x->watchings; w; w = w->next)
		if (!w->with_display && !w->terminal)
			begin(w);
}

void th_exec_watches_free(struct th_executor_server *x)
{
	while (x->watchings)
		drop(&x->watchings);
}
