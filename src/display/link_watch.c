/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_watch.c - who watches a display: each gets its frames, and is told when the process ends.
 */
#include "display/link.h"
#include "display/link_internal.h"

static void watch_order(struct th_display *d, const struct th_table *t, const void *m)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(TH_KIB);

	th_exec_print(t, m, &head);
	/* What cannot be sent to a process that ends is sent to the next one. */
	if (d->state == STATE_OPEN && d->sock)
		(void)!th_sock_send(d->sock, th_buf_str(&head), TH_STR(""), NULL);
}

void th_display_watch_send(struct th_display *d, const struct th_display_watch *w)
{
	const struct th_exec_watch m = { .op = TH_STR("watch"),
					 .id = w->id,
					 .format = th_str_of(w->format),
					 .quality = w->quality,
					 .interval_ms = w->interval_ms };
	watch_order(d, &th_exec_watch_table, &m);
}

void th_display_watch(struct th_display *d, struct th_display_watch *w)
{
	w->id = ++d->next_watch;
	w->next = d->watches;
	d->watches = w;
	th_display_watch_send(d, w);
}

void th_display_watch_next(struct th_display *d, struct th_display_watch *w)
{
	const struct th_exec_request m = { .op = TH_STR("next"), .id = w->id };
	watch_order(d, &th_exec_request_table, &m);
}

void th_display_unwatch(struct th_display *d, struct th_display_watch *w)
{
	const struct th_exec_request m = { .op = TH_STR("unwatch"), .id = w->id };
	struct th_display_watch **at = &d->watches;

	while (*at && *at != w)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = w->next;
	watch_order(d, &th_exec_request_table, &m);
}

void th_display_watched(struct th_display *d, const struct th_exec_frame *m, struct th_str bytes)
{
	struct th_display_watch *w = d->watches;

	while (w && w->id != m->id)
		w = w->next;
	if (w) /* else it left meanwhile */
		w->on_frame(w->ctx, m, bytes);
}

void th_display_watches_end(struct th_display *d, const struct th_err *why)
{
	const struct th_exec_frame none = { .op = TH_STR("frame"),
					    .reason = th_str_of(why->msg),
					    .tiles = TH_STR("[]") };

	for (struct th_display_watch *w = d->watches, *next; w; w = next) {
		next = w->next;
		w->on_frame(w->ctx, &none, TH_STR(""));
	}
}
