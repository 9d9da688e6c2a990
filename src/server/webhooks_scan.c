/* SPDX-License-Identifier: Apache-2.0 */
/*
 * webhooks_scan.c - what is to be told, from the logs: one session after the
 * other is read beside the loop, while what happens now is told live.
 *
 * Until all is read, the time up to which all was taken does not move on: a
 * server that is killed meanwhile reads them again.
 */
#include <stdio.h>
#include <stdlib.h>

#include "server/service.h"

struct th_webhook_scan {
	struct th_webhook *h;
	struct th_json_doc *page;
	size_t at;  /* of its next row */
	bool last;  /* no page comes behind it */
	bool waits; /* the next page is being read */
	struct th_needs needs;
	bool failed; /* not all could be read now: it is read again */
	bool idle;   /* nothing was read, since nothing is new */
	uint64_t to; /* of a client's hook: the log's last event; 0: it is not known */
	struct thole_reading *reading;
	const struct th_json *row;                  /* of the session that is read */
	struct th_webhook_item *first, **first_end; /* of that session */
};

static void drop_found(struct th_webhook_scan *s)
{
	while (s->first) {
		struct th_webhook_item *item = s->first;

		s->first = item->next;
		th_webhook_item_free(item);
	}
	s->first_end = &s->first;
}

static int on_line(void *ctx, const char *line, size_t len)
{
	struct th_buf more TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_webhook_scan *s = ctx;
	const struct th_client_hook *c = s->h->client;
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
	    !th_webhook_event_of(kind, th_json_raw_get(event, "data"), &e, &more))
		return 0;
	item =
	    th_webhook_item_new(c ? c->session : th_json_get_str(s->row, "session_id"),
				c ? c->user : th_json_get_str(s->row, "user"), th_buf_str(&more));
	item->seq = (uint64_t)seq;
	item->ts_ms = ts_ms;
	item->event = e;
	if (!th_webhook_wants(s->h, item)) {
		th_webhook_item_free(item);
		return 0;
	}
	*s->first_end = item;
	s->first_end = &item->next;
	return th_client_hook_ends(s->h, e) ? 1 : 0;
}

static void go_on(void *ctx);

static void on_read(void *ctx, int code, const struct thole_error *err)
{
	struct th_webhook_scan *s = ctx;
	struct th_webhook *h = s->h;

	s->reading = NULL;
	if (code == 1) /* a client's task is over there */
		code = 0;
	if (code)
		s->to = 0;
	if (th_code_passes(code))
		s->failed = true;
	else if (code) /* it is damaged, or gone */
		th_journal_say(s->h->all->server, "webhooks", "a log is passed over: %s",
			       err ? err->text : "");
	for (struct th_webhook_item *item = s->first; item && !code; item = item->next)
		th_webhook_queue(h, item);
	drop_found(s);
	th_webhook_send(h);
	if (h->off)
		th_webhook_scan_cancel(h);
	else
		go_on(s);
}

/* A session that may have something to tell: `thole run` never says whose a session is, a server
 * always does; and one that works for another is told of by that one. */
static bool is_meant(const struct th_json *row)
{
	return th_json_get_str(row, "user").len > 0 &&
	       !th_json_get(th_json_get(row, "metadata"), "delegated_by");
}

/* The newest sessions come first.  False: there is none, or no more, or it is being read. */
static bool next_page(struct th_webhook_scan *s)
{
	struct th_buf after TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);
	const char *options[] = { "order", "updated", "limit", "1000", NULL, NULL, NULL };
	const struct th_found *page;
	bool good;

	if (s->last)
		return false;
	if (s->page) {
		th_buf_add(&after, th_json_get_str(th_json_root(s->page), "next"));
		options[4] = "after";
		options[5] = after.ptr;
	}
	page = th_need_page(&s->needs, options);
	s->waits = !page;
	if (!page)
		return false;
	th_json_free(s->page);
	s->page = NULL;
	good = !page->err && th_json_parse(page->text, &s->page, NULL) == TH_OK;
	if (!good)
		th_journal_say(s->h->all->server, "webhooks", "the sessions cannot be listed: %s",
			       page->err ? page->err->text : "");
	th_needs_forget(&s->needs);
	s->at = 0;
	s->failed |= !good;
	s->last = !good || !th_json_get_str(th_json_root(s->page), "next").len;
	return good;
}

/* The next session that is meant; NULL: all were read. */
static const struct th_json *next_row(struct th_webhook_scan *s)
{
	const struct th_json *row;

	do {
		const struct th_json *list =
		    s->page ? th_json_get(th_json_root(s->page), "sessions") : NULL;

		while ((row = th_json_at(list, s->at))) {
			s->at++;
			if (th_json_get_int(row, "updated_ms", 0) < s->h->since_ms)
				return NULL; /* nor did those behind it go on since */
			if (is_meant(row))
				return row;
		}
	} while (next_page(s));
	return NULL;
}

/* False: that log cannot be read. */
static bool read_log(struct th_webhook_scan *s, struct th_str session, uint64_t from)
{
	struct th_server *server = s->h->all->server;
	char name[TH_SESSION_ID_MAX + 1];
	struct thole_error err;

	snprintf(name, sizeof(name), "%.*s", TH_FMT(session));
	if (thole_runtime_log_start(server->rt, name, from, on_line, on_read, s, &s->reading,
				    &err) == 0) {
		th_server_kick(server);
		return true;
	}
	if (th_code_passes(err.code))
		s->failed = true;
	else
		th_journal_say(server, "webhooks", "a log is passed over: %s", err.text);
	return false;
}

static uint64_t last_event(struct th_str row)
{
	int64_t number;

	return th_str_i64(th_json_raw_get(row, "head_seq"), &number) && number > 0
		   ? (uint64_t)number
		   : 0;
}

/* The one session of a client's hook.  False: it is read already, or is not to be had. */
static bool read_clients(struct th_webhook_scan *s)
{
	const struct th_client_hook *c = s->h->client;
	char name[TH_SESSION_ID_MAX + 1], user[TH_USER_MAX + 1];
	const struct th_found *row;

	if (s->last)
		return false;
	snprintf(name, sizeof(name), "%.*s", TH_FMT(c->session));
	snprintf(user, sizeof(user), "%.*s", TH_FMT(c->user));
	row = th_need_session(&s->needs, name, user);
	s->waits = !row;
	if (!row)
		return false;
	s->last = true;
	s->to = row->err ? 0 : last_event(row->text);
	s->idle = s->to && s->to <= s->h->read_seq;
	if (s->idle)
		return false;
	if (!row->err && read_log(s, c->session, TH_MAX(c->after, s->h->read_seq) + 1))
		return true;
	s->to = 0;
	s->failed |= !row->err || th_code_passes(row->err->code);
	if (!s->failed)
		th_client_hook_drop(s->h); /* it is deleted, or cannot be read */
	return false;
}

static void go_on(void *ctx)
{
	struct th_webhook_scan *s = ctx;
	struct th_server *server = s->h->all->server;

	if (s->h->client && read_clients(s))
		return;
	while (!s->h->client && (s->row = next_row(s)))
		if (read_log(s, th_json_get_str(s->row, "session_id"), 1))
			return;
	if (s->waits)
		return;
	if (s->failed) /* the sweep reads them again, from the same time on */
		s->h->skipped_ms = TH_MAX(s->h->since_ms, (int64_t)1);
	if (!s->h->skipped_ms)
		s->h->read_seq = TH_MAX(s->h->read_seq, s->to);
	s->h->all->dirty |= !s->idle;
	s->h->scanned_ms = th_loop_now_ms(server->loop);
	th_webhook_scan_cancel(s->h);
}

void th_webhook_scan(struct th_webhook *h)
{
	struct th_webhook_scan *s = th_alloc(sizeof(*s));

	th_webhook_scan_cancel(h);
	*s = (struct th_webhook_scan){ .h = h };
	s->needs = (struct th_needs){ .server = h->all->server, .again = go_on, .ctx = s };
	s->first_end = &s->first;
	h->scan = s;
	h->skipped_ms = 0;
	go_on(s);
}

void th_webhook_scan_cancel(struct th_webhook *h)
{
	struct th_webhook_scan *s = h->scan;

	if (!s)
		return;
	h->scan = NULL;
	thole_reading_free(s->reading);
	th_needs_forget(&s->needs);
	drop_found(s);
	th_json_free(s->page);
	free(s);
}
