/* SPDX-License-Identifier: Apache-2.0 */
/*
 * webhooks_shared.c - in a fleet, what webhooks remember is in the store: a line of each, as the
 * file has them (webhooks_file.c), sealed with the fleet's secret, because clients' tokens are in
 * them.
 *
 * A put writes the lines that are others than in the store, all in one transaction.  A dead node's
 * lines are taken by one of the others: it tells what that one had not, from the time on that the
 * line says, and takes its clients' hooks for its own.  What nodes that live have told since then
 * stands in their lines.  One thing at a time is under way, put or take.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/wiped.h"
#include "io/encrypt.h"
#include "server/fleet.h"
#include "server/service.h"

#define PURPOSE TH_STR("thole webhooks 1")
#define LINE_SIZE_MAX \
	(TH_OUTBOX_LINE_MAX / 4 * 3 - TH_KIB) /* as base64 it is a line of the store */

struct th_shared {
	struct th_webhooks *all;
	struct thole_reading *reading; /* a put or a take that is under way; NULL: none */
	uint64_t put;                  /* the number of the last put that began */
	bool again;                    /* there is more to put when that one is over */
	bool look;                     /* and something to be taken, maybe */
	bool taken;                    /* what was taken is in our lines: the next put says so */
	bool merging;                  /* the put under way says so */
	bool file; /* there may be a file of before, which goes once all of it is in the store */
	bool put_failed, take_failed; /* as the journal says */
	bool ends; /* a put that the store has not got: there was nothing to put, or `why` */
	struct th_deferred over;
	struct thole_error why;
	uint64_t put_ms, looked_ms;
	struct th_buf gone; /* names of lines that are to go, a newline behind each */
	struct th_buf going;
	struct th_shared_wait *waits;
	struct th_buf found; /* of a take: a JSON list */
};

static const struct thole_error unknown = { THOLE_EIO, "the store failed" };

static void put_begin(struct th_shared *s);
static void take_begin(struct th_shared *s);
static void on_over(void *ctx);

static bool is_busy(const struct th_shared *s)
{
	return s->reading || s->ends;
}

/* ---- sealed ---- */

static void seal_of(const struct th_shared *s, struct th_encryption *ret)
{
	th_encryption_init(ret, s->all->server->settings.fleet_secret, PURPOSE);
}

/* ---- which lines are put ---- */

static void digest_of(struct th_str text, struct th_digest *ret)
{
	struct th_sha256 h;

	th_sha256_init(&h);
	th_sha256_add(&h, text.ptr, text.len);
	*ret = th_sha256_end(&h);
}

/* Names and texts for the store, in one place. */
struct lines {
	struct th_buf bytes; /* each with a NUL behind it */
	const char **list;   /* names and texts in turn */
	size_t count;
};

static void lines_add(struct lines *l, struct th_str name, struct th_str text)
{
	th_buf_add(&l->bytes, name);
	th_buf_add_char(&l->bytes, '\0');
	th_buf_add(&l->bytes, text);
	th_buf_add_char(&l->bytes, '\0');
	l->count++;
}

/* Once all are there: they stood in memory that moved. */
static void lines_end(struct lines *l)
{
	const char *at = l->bytes.ptr;

	l->list = th_alloc((2 * l->count + 1) * sizeof(*l->list));
	for (size_t i = 0; i < 2 * l->count; i++) {
		l->list[i] = at;
		at += strlen(at) + 1;
	}
}

static void lines_deinit(struct lines *l)
{
	th_buf_deinit(&l->bytes);
	free(l->list);
}

static bool has_line(const struct th_webhooks *w, struct th_str name)
{
	for (const struct th_webhook *h = w->first; h; h = h->next)
		if (!h->replaced && !(h->client && h->off) && th_str_is(name, h->to.name))
			return true;
	return false;
}

/* Those that are to go and that nobody has again under that name. */
static void add_gone(struct th_shared *s, struct lines *to)
{
	struct th_str rest = th_buf_str(&s->gone);

	while (rest.len && to->count < TH_OUTBOX_LINES_MAX / 4) {
		struct th_str name = th_str_split(&rest, '\n');

		th_buf_add(&s->going, name);
		th_buf_add_char(&s->going, '\n');
		if (!has_line(s->all, name))
			lines_add(to, name, TH_STR(""));
	}
	th_buf_drop(&s->gone, s->gone.len - rest.len);
}

static bool add_line(const struct th_encryption *seal, struct th_webhook *h, struct lines *to,
		     struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_wipe) = TH_BUF_INIT(LINE_SIZE_MAX);
	struct th_buf sealed TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_OUTBOX_LINE_MAX + 1);
	bool good;

	th_webhook_line_print(h, &text);
	digest_of(th_buf_str(&text), &h->put);
	if (h->shared && th_digest_eq(&h->put, &h->line))
		return true;
	good = th_buf_check(&text, "what a webhook remembers", err) == TH_OK &&
	       th_encrypt(seal, th_str_of(h->to.name), th_buf_str(&text), &sealed, err) == TH_OK;
	if (!good)
		return false;
	h->putting = true;
	lines_add(to, th_str_of(h->to.name), th_buf_str(&sealed));
	return true;
}

static bool add_lines(struct th_shared *s, struct lines *to, struct th_err *err)
{
	struct th_encryption seal;
	bool good = true;

	seal_of(s, &seal);
	for (struct th_webhook *h = s->all->first; h && good; h = h->next)
		if (!h->replaced && !(h->client && h->off))
			good = add_line(&seal, h, to, err);
	th_encryption_deinit(&seal);
	return good && th_buf_check(&to->bytes, "what webhooks remember", err) == TH_OK;
}

/* ---- putting ---- */

/* One after the other: who is told may begin the next put, and end others' waits. */
static void tell_waits(struct th_shared *s, const struct thole_error *err)
{
	struct th_shared_wait **at = &s->waits;
	uint64_t put = s->put;

	while (*at) {
		struct th_shared_wait *wait = *at;

		if (wait->put > put) {
			at = &wait->next;
			continue;
		}
		*at = wait->next;
		wait->done(wait, err);
		at = &s->waits;
	}
}

static void file_remove(struct th_shared *s)
{
	if (s->file && s->all->path.len)
		(void)unlink(s->all->path.ptr); /* most often it is not there */
	s->file = false;
}

static void put_over(struct th_shared *s, const struct thole_error *err)
{
	struct th_webhooks *w = s->all;

	if (err && !s->put_failed)
		th_journal_say(w->server, "webhooks", "what was told is not written down: %s",
			       err->text);
	s->put_failed = err != NULL;
	for (struct th_webhook *h = w->first; h; h = h->next) {
		if (!h->putting)
			continue;
		h->putting = false;
		h->shared |= !err;
		h->line = err ? h->line : h->put;
		if (h->fresh)
			th_client_hook_settle(h, !err);
	}
	if (err) {
		th_buf_add(&s->gone, th_buf_str(&s->going));
		w->dirty = true;
	} else {
		s->taken &= !s->merging;
		file_remove(s);
	}
	th_buf_clear(&s->going);
	s->merging = false;
	tell_waits(s, err);
	if (!is_busy(s) && s->again && !err)
		put_begin(s);
	else if (!is_busy(s) && s->look)
		take_begin(s);
}

static void on_over(void *ctx)
{
	struct th_shared *s = ctx;

	s->ends = false;
	put_over(s, s->why.code ? &s->why : NULL);
}

static void on_put(void *ctx, int code, const struct thole_error *err)
{
	struct th_shared *s = ctx;

	s->reading = NULL;
	put_over(s, code ? err ?: &unknown : NULL);
}

static void put_begin(struct th_shared *s)
{
	struct lines l = { .bytes = TH_BUF_INIT(4 * (size_t)TH_WEBHOOK_FILE_MAX) };
	struct thole_error e = { 0 };
	struct th_err err = { 0 };
	bool good;

	s->again = false;
	s->put++;
	s->put_ms = th_loop_now_ms(s->all->server->loop);
	s->merging = s->taken;
	s->all->dirty = false;
	add_gone(s, &l);
	good = add_lines(s, &l, &err);
	if (!good) {
		e.code = (int)err.code;
		snprintf(e.text, sizeof(e.text), "%s", err.msg);
	} else if (l.count || s->merging) {
		lines_end(&l);
		good = thole_runtime_outbox_put_start(s->all->server->rt, l.list, s->merging,
						      on_put, s, &s->reading, &e) == 0;
	}
	lines_deinit(&l);
	if (s->reading) {
		th_server_kick(s->all->server);
		return;
	}
	s->why = good ? (struct thole_error){ 0 } : e;
	s->ends = true; /* not from inside: who waits is told then */
	th_loop_defer(s->all->server->loop, &s->over);
}

void th_shared_put(struct th_shared *s)
{
	s->again = true;
	if (!is_busy(s))
		put_begin(s);
}

void th_shared_again(struct th_shared *s)
{
	for (struct th_webhook *h = s->all->first; h; h = h->next)
		h->shared = false;
	s->all->dirty = true;
}

void th_shared_gone(struct th_webhook *h)
{
	struct th_shared *s = h->all->shared;

	if (!s || (!h->shared && !h->putting) || h->all->closing)
		return;
	th_buf_add_cstr(&s->gone, h->to.name);
	th_buf_add_char(&s->gone, '\n');
	h->all->dirty = true;
}

void th_shared_wait(struct th_shared *s, struct th_shared_wait *wait)
{
	th_shared_put(s);
	wait->put = s->again ? s->put + 1 : s->put; /* one that was under way has not got it */
	wait->next = s->waits;
	s->waits = wait;
}

void th_shared_forget(struct th_shared *s, struct th_shared_wait *wait)
{
	struct th_shared_wait **at = &s->waits;

	while (*at && *at != wait)
		at = &(*at)->next;
	if (*at)
		*at = wait->next;
}

/* ---- taking ---- */

static struct th_webhook *hook_of(struct th_webhooks *w, struct th_str name)
{
	struct th_webhook *h = w->first;

	while (h && (h->off || h->replaced || !th_str_is(name, h->to.name)))
		h = h->next;
	return h;
}

/* One that this server has not got is a client's, or of a configuration that is no more. */
static void take_line(struct th_shared *s, struct th_str name, struct th_str text, bool taken)
{
	struct th_webhooks *w = s->all;
	struct th_webhook *h = hook_of(w, name);

	if (h && !h->client)
		th_webhook_line_merge(h, text, taken);
	else if (!h && taken)
		h = th_webhook_line_read(w, text);
	else
		return;
	if (h && taken)
		th_webhook_scan(h);
}

/* First what others that live have told: it is not told again. */
static void take_those(struct th_shared *s, const struct th_json *list, bool taken)
{
	struct th_json_iter it = th_json_iter(list);
	struct th_encryption seal;

	seal_of(s, &seal);
	while (th_json_next(&it)) {
		struct th_buf text TH_CLEANUP(th_buf_wipe) = TH_BUF_INIT(TH_OUTBOX_LINE_MAX);
		struct th_str name = th_json_get_str(it.val, "name");
		struct th_err err = { 0 };

		if (th_json_bool(th_json_get(it.val, "taken"), false) != taken)
			continue;
		if (th_decrypt(&seal, name, th_json_get_str(it.val, "text"), &text, &err) == TH_OK)
			take_line(s, name, th_buf_str(&text), taken);
		else if (taken)
			th_journal_say(s->all->server, "webhooks",
				       "what a dead node had to tell cannot be read: %s", err.msg);
	}
	th_encryption_deinit(&seal);
}

static int on_found(void *ctx, const char *line, size_t len)
{
	struct th_shared *s = ctx;

	th_buf_add_mem(&s->found, line, len);
	return 0;
}

/* `err` NULL: it went well.  What goes on to fail, every two seconds, is said once. */
static void take_ended(struct th_shared *s, const struct thole_error *err)
{
	if (err && !s->take_failed)
		th_journal_say(s->all->server, "webhooks", "what dead nodes had to tell: %s",
			       err->text);
	s->take_failed = err != NULL;
}

static void on_taken(void *ctx, int code, const struct thole_error *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_shared *s = ctx;

	s->reading = NULL;
	if (!code && th_json_parse(th_buf_str(&s->found), &doc, NULL) == TH_OK &&
	    th_json_at(th_json_root(doc), 0)) {
		take_those(s, th_json_root(doc), false);
		take_those(s, th_json_root(doc), true);
		s->taken = s->again = true;
	}
	take_ended(s, code ? err ?: &unknown : NULL);
	th_buf_deinit(&s->found);
	th_buf_init(&s->found, TH_JSON_SIZE_MAX);
	if (s->again)
		put_begin(s);
}

static void take_begin(struct th_shared *s)
{
	struct thole_error e;

	s->look = false;
	if (thole_runtime_outbox_take_start(s->all->server->rt, on_found, on_taken, s, &s->reading,
					    &e))
		take_ended(s, &e);
	else
		th_server_kick(s->all->server);
}

void th_shared_sweep(struct th_shared *s)
{
	uint64_t now_ms = th_loop_now_ms(s->all->server->loop);

	if (!s->looked_ms || now_ms >= s->looked_ms + TH_FLEET_LOOK_MS) {
		s->looked_ms = now_ms;
		s->look = true;
	}
	if (!is_busy(s) && (s->all->dirty || now_ms >= s->put_ms + TH_WEBHOOK_SHARED_MS))
		put_begin(s);
	if (!is_busy(s) && s->look)
		take_begin(s);
}

/* ---- life ---- */

struct th_shared *th_shared_new(struct th_webhooks *w)
{
	struct th_shared *s = th_alloc(sizeof(*s));

	*s = (struct th_shared){ .all = w, .file = true, .over = { .fn = on_over, .ctx = s } };
	th_buf_init(&s->gone, TH_WEBHOOK_FILE_MAX);
	th_buf_init(&s->going, TH_WEBHOOK_FILE_MAX);
	th_buf_init(&s->found, TH_JSON_SIZE_MAX);
	w->dirty = true;
	return s;
}

struct th_shared *th_shared_free(struct th_shared *s)
{
	if (!s)
		return NULL;
	thole_reading_free(s->reading); /* a put is done all the same */
	th_loop_undefer(s->all->server->loop, &s->over);
	th_buf_deinit(&s->gone);
	th_buf_deinit(&s->going);
	th_buf_deinit(&s->found);
	free(s);
	return NULL;
}
