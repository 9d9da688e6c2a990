/* SPDX-License-Identifier: Apache-2.0 */
#include "server/webhooks.h"

#include <stdio.h>
#include <stdlib.h>

#include "io/clock.h"
#include "server/service.h"

/* ---- what waits ---- */

static char *copy(struct th_str text)
{
	char *to = th_alloc(text.len + 1);

	memcpy(to, text.ptr ? text.ptr : "", text.len);
	to[text.len] = '\0';
	return to;
}

static bool wants(const struct th_webhook *h, enum th_webhook_event e, struct th_str user)
{
	return !h->off && (h->to.events & 1u << e) &&
	       (!h->to.user.len || th_str_eq(h->to.user, user));
}

/* What has no room waits in its log: its time is remembered. */
static void queue(struct th_webhook *h, const struct th_webhook_item *like)
{
	struct th_webhook_item *item;

	if (h->count >= TH_WEBHOOK_QUEUE_MAX || h->skipped_ms) {
		if (!h->skipped_ms || like->ts_ms < h->skipped_ms)
			h->skipped_ms = like->ts_ms;
		return;
	}
	item = th_alloc(sizeof(*item));
	*item = *like;
	item->next = NULL;
	item->session = copy(th_str_of(like->session));
	item->user = copy(th_str_of(like->user));
	item->more = copy(th_str_of(like->more));
	if (h->last)
		h->last->next = item;
	else
		h->first = item;
	h->last = item;
	h->count++;
	h->all->dirty = true;
}

void th_webhooks_event(struct th_webhooks *w, const char *session, const char *user,
		       struct th_str event)
{
	struct th_buf more TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_webhook_item item = { 0 };
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_str kind = th_json_raw_inside(th_json_raw_get(event, "kind"));

	if (!w || !w->first ||
	    !th_webhook_event_of(kind, th_json_raw_get(event, "data"), &item.event, &more) ||
	    th_json_parse(event, &doc, NULL) != TH_OK)
		return;
	item.seq = (uint64_t)th_json_get_int(th_json_root(doc), "seq", 0);
	item.ts_ms = th_json_get_int(th_json_root(doc), "ts_ms", 0);
	item.session = copy(th_str_of(session));
	item.user = copy(th_str_of(user));
	item.more = copy(th_buf_str(&more));
	for (struct th_webhook *h = w->first; h; h = h->next)
		if (wants(h, item.event, th_str_of(user))) {
			queue(h, &item);
			th_webhook_send(h);
		}
	free(item.session);
	free(item.user);
	free(item.more);
}

/* ---- from the logs ---- */

struct scan {
	struct th_webhook *h;
	struct th_str session, user;
	struct th_webhook_item *first, *last; /* of this session */
};

static void drop_found(struct scan *s)
{
	while (s->first) {
		struct th_webhook_item *item = s->first;

		s->first = item->next;
		th_webhook_item_free(item);
	}
	s->last = NULL;
}

static bool is_done(const struct th_webhook *h, const struct th_webhook_item *item)
{
	struct th_webhook_id id = th_webhook_id_of(item->session, item->seq);

	for (size_t i = 0; i < h->done_count; i++)
		if (memcmp(&h->done[i].id, &id, sizeof(id)) == 0)
			return true;
	return false;
}

static int on_line(void *ctx, const char *line, size_t len)
{
	struct th_buf more TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct scan *s = ctx;
	struct th_str event = th_str_n(line, len);
	struct th_str kind = th_json_raw_inside(th_json_raw_get(event, "kind"));
	struct th_webhook_item *item;
	enum th_webhook_event e;
	int64_t ts_ms = 0, seq = 0;

	if (th_str_is(kind, "session_forked")) { /* what was before is another's */
		drop_found(s);
		return 0;
	}
	if (!th_str_i64(th_json_raw_get(event, "ts_ms"), &ts_ms) || ts_ms < s->h->since_ms ||
	    !th_str_i64(th_json_raw_get(event, "seq"), &seq) ||
	    !th_webhook_event_of(kind, th_json_raw_get(event, "data"), &e, &more) ||
	    !wants(s->h, e, s->user))
		return 0;
	item = th_alloc(sizeof(*item));
	*item = (struct th_webhook_item){
		.session = copy(s->session),
		.user = copy(s->user),
		.more = copy(th_buf_str(&more)),
		.seq = (uint64_t)seq,
		.ts_ms = ts_ms,
		.event = e,
	};
	if (s->last)
		s->last->next = item;
	else
		s->first = item;
	s->last = item;
	return 0;
}

/* False: it and all behind it did not go on since. */
static bool scan_session(struct th_webhook *h, const struct th_json *row)
{
	struct th_str id = th_json_get_str(row, "session_id");
	struct scan s = { .h = h, .session = id, .user = th_json_get_str(row, "user") };
	struct thole_error err;
	char name[TH_SESSION_ID_MAX + 1];

	if (th_json_get_int(row, "updated_ms", 0) < h->since_ms)
		return false;
	/* `thole run` never says whose a session is, a server always does; and one that works for
	 * another is told of by that one. */
	if (!s.user.len || th_json_get(th_json_get(row, "metadata"), "delegated_by"))
		return true;
	snprintf(name, sizeof(name), "%.*s", TH_FMT(id));
	/* A log that cannot be read is told of by who reads it next. */
	if (thole_runtime_log(h->all->server->rt, name, 1, on_line, &s, &err) == 0)
		for (struct th_webhook_item *item = s.first; item; item = item->next)
			if (!is_done(h, item))
				queue(h, item);
	drop_found(&s);
	return true;
}

static void scan(struct th_webhook *h)
{
	const char *options[] = { "order", "updated", "limit", "1000", NULL, NULL, NULL };
	char *after = NULL;
	bool more = true;

	h->skipped_ms = 0;
	while (more) {
		struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
		const struct th_json *list, *row;
		struct thole_error err;
		char *page = NULL;

		options[4] = after ? "after" : NULL;
		options[5] = after;
		if (thole_runtime_page(h->all->server->rt, options, &page, &err) != 0 ||
		    th_json_parse(th_str_of(page), &doc, NULL) != TH_OK) {
			thole_free(page);
			break;
		}
		list = th_json_get(th_json_root(doc), "sessions");
		for (size_t i = 0; more && (row = th_json_at(list, i)); i++)
			more = scan_session(h, row);
		free(after);
		after = th_json_get_str(th_json_root(doc), "next").len
			    ? copy(th_json_get_str(th_json_root(doc), "next"))
			    : NULL;
		more = more && after;
		thole_free(page);
	}
	free(after);
}

void th_webhooks_recover(struct th_webhooks *w)
{
	for (struct th_webhook *h = w->first; h; h = h->next) {
		scan(h);
		th_webhook_send(h);
	}
}

/* ---- life ---- */

static void on_timer(void *ctx)
{
	th_webhook_send(ctx);
}

static void free_hook(struct th_webhook *h)
{
	th_webhook_cancel(h);
	th_timer_stop(&h->timer);
	while (h->first) {
		struct th_webhook_item *item = h->first;

		h->first = item->next;
		th_webhook_item_free(item);
	}
	explicit_bzero(&h->to, sizeof(h->to));
	th_buf_deinit(&h->url);
	th_buf_deinit(&h->user);
	free(h->done);
	free(h);
}

static void set(struct th_webhook *h, const struct th_webhook_to *to)
{
	h->to = *to;
	th_buf_clear(&h->url);
	th_buf_add(&h->url, to->url);
	th_buf_clear(&h->user);
	th_buf_add(&h->user, to->user);
	h->to.url = th_buf_str(&h->url);
	h->to.user = th_buf_str(&h->user);
	h->known = true;
	h->off = false;
	h->failures = 0;
	h->good_ms = th_loop_now_ms(h->all->server->loop);
}

static struct th_webhook *find(struct th_webhooks *w, const char *name)
{
	struct th_webhook *h = w->first;

	while (h && strcmp(h->to.name, name) != 0)
		h = h->next;
	return h;
}

void th_webhooks_configure(struct th_webhooks *w)
{
	const struct th_settings *set_to = &w->server->settings;

	for (struct th_webhook *h = w->first; h; h = h->next)
		h->known = false;
	for (size_t i = 0; i < set_to->webhook_count; i++) {
		struct th_webhook *h = find(w, set_to->webhooks[i].name);

		if (!h) {
			h = th_alloc(sizeof(*h));
			*h = (struct th_webhook){
				.next = w->first,
				.all = w,
				.url = TH_BUF_INIT(TH_MIB),
				.user = TH_BUF_INIT(TH_MIB),
				.since_ms = (int64_t)th_clock_wall_ms(),
			};
			th_timer_init(&h->timer, w->server->loop, on_timer, h);
			w->first = h;
		}
		set(h, &set_to->webhooks[i]);
		th_webhook_send(h);
	}
	for (struct th_webhook **at = &w->first; *at;) {
		struct th_webhook *h = *at;

		if (h->known) {
			at = &h->next;
			continue;
		}
		*at = h->next;
		free_hook(h);
	}
	w->dirty = true;
}

struct th_webhooks *th_webhooks_new(struct th_server *s, struct th_str path)
{
	struct th_webhooks *w = th_alloc(sizeof(*w));
	struct th_err err = {};

	*w = (struct th_webhooks){ .server = s, .path = TH_BUF_INIT(TH_PATH_LEN_MAX) };
	th_buf_add(&w->path, path);
	th_webhooks_configure(w);
	if (th_webhooks_load(w, &err) != TH_OK)
		th_journal_say(s, "webhooks", "%s", err.msg);
	/* From when on they are told: before anything happens. */
	if (w->first && th_webhooks_save(w, &err) != TH_OK)
		th_journal_say(s, "webhooks", "%s", err.msg);
	return w;
}

struct th_webhooks *th_webhooks_free(struct th_webhooks *w)
{
	struct th_err err = {};

	if (!w)
		return NULL;
	w->closing = true;
	for (struct th_webhook *h = w->first; h; h = h->next)
		th_webhook_cancel(h);
	if (w->first && th_webhooks_save(w, &err) != TH_OK)
		th_journal_say(w->server, "webhooks", "%s", err.msg);
	while (w->first) {
		struct th_webhook *h = w->first;

		w->first = h->next;
		free_hook(h);
	}
	th_fetcher_free(w->any);
	th_fetcher_free(w->guarded);
	th_buf_deinit(&w->path);
	free(w);
	return NULL;
}

void th_webhooks_sweep(struct th_webhooks *w)
{
	struct th_err err = {};

	for (struct th_webhook *h = w->first; h; h = h->next)
		if (h->skipped_ms && !h->count && !h->off) { /* there is room again */
			scan(h);
			th_webhook_send(h);
		}
	if (!w->dirty)
		return;
	w->dirty = false;
	if (th_webhooks_save(w, &err) != TH_OK)
		th_journal_say(w->server, "webhooks", "%s", err.msg);
}

size_t th_webhooks_waiting(const struct th_webhooks *w)
{
	size_t count = 0;

	for (const struct th_webhook *h = w->first; h; h = h->next)
		count += h->count;
	return count;
}
