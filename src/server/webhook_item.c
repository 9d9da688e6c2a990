/* SPDX-License-Identifier: Apache-2.0 */
/* webhook_item.c - what webhooks are told: read from an event, by a number of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/codec.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "server/webhooks.h"

static void put_texts(struct th_str data, const char *const *names, struct th_buf *more)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_jw w = th_jw(more);

	th_jw_object(&w);
	if (th_json_parse(data, &doc, NULL) == TH_OK)
		for (; *names; names++) {
			struct th_str text = th_json_get_str(th_json_root(doc), *names);

			if (text.ptr)
				th_jw_kstr(&w, *names, th_utf8_cut(text, TH_WEBHOOK_TEXT_MAX));
		}
	th_jw_object_end(&w);
}

bool th_webhook_event_of(struct th_str kind, struct th_str data, enum th_webhook_event *ret,
			 struct th_buf *more)
{
	static const char *const texts[] = { "output", "status",  "class", "message", "to",
					     "reason", "call_id", "child", NULL };
	struct th_str to = th_json_raw_inside(th_json_raw_get(data, "to"));

	if (th_str_is(kind, "final"))
		*ret = TH_WEBHOOK_FINISHED;
	else if (th_str_is(kind, "error"))
		*ret = TH_WEBHOOK_FAILED;
	else if (th_str_is(kind, "state_changed") && th_str_is(to, "stuck"))
		*ret = TH_WEBHOOK_FAILED;
	else if (th_str_is(kind, "state_changed") && th_str_is(to, "limit"))
		*ret = TH_WEBHOOK_LIMIT;
	else if (th_str_is(kind, "state_changed") && th_str_is(to, "stopped"))
		*ret = TH_WEBHOOK_STOPPED;
	else if (th_str_is(kind, "approval_requested") || th_str_is(kind, "parked") ||
		 (th_str_is(kind, "delegation_waits") &&
		  th_json_raw_get(data, "waits").len > 2)) /* not the empty list */
		*ret = TH_WEBHOOK_WAITING;
	else
		return false;
	/* What a parked call has put out may be long, and is in the log. */
	put_texts(data, th_str_is(kind, "parked") ? texts + 6 : texts, more);
	return true;
}

struct th_webhook_id th_webhook_id_of(const char *session, uint64_t seq)
{
	struct th_webhook_id id;
	struct th_sha256 h;
	struct th_digest d;
	char number[24];

	snprintf(number, sizeof(number), "/%llu", (unsigned long long)seq);
	th_sha256_init(&h);
	th_sha256_add(&h, session, strlen(session));
	th_sha256_add(&h, number, strlen(number));
	d = th_sha256_end(&h);
	memcpy(id.bytes, d.bytes, sizeof(id.bytes));
	return id;
}

static char *copy(struct th_str text)
{
	char *to = th_alloc(text.len + 1);

	memcpy(to, text.ptr ? text.ptr : "", text.len);
	to[text.len] = '\0';
	return to;
}

struct th_webhook_item *th_webhook_item_new(struct th_str session, struct th_str user,
					    struct th_str more)
{
	struct th_webhook_item *item = th_alloc(sizeof(*item));

	*item = (struct th_webhook_item){ .session = copy(session),
					  .user = copy(user),
					  .more = copy(more) };
	return item;
}

void th_webhook_item_free(struct th_webhook_item *item)
{
	free(item->session);
	free(item->user);
	free(item->more);
	free(item);
}

void th_webhook_clear(struct th_webhook *h)
{
	while (h->first) {
		struct th_webhook_item *item = h->first;

		h->first = item->next;
		th_webhook_item_free(item);
	}
	h->last = NULL;
	h->count = 0;
}

/* Its memory goes with the next sweep: an answer to it may be under way. */
void th_client_hook_drop(struct th_webhook *h)
{
	h->off = true;
	h->skipped_ms = 0;
	h->all->dirty = true;
	th_webhook_clear(h);
}

void th_webhook_id_hex(const struct th_webhook_id *id, char out[static 33])
{
	for (size_t i = 0; i < sizeof(id->bytes); i++)
		snprintf(out + 2 * i, 3, "%02x", id->bytes[i]);
}

uint64_t th_webhook_wait_ms(uint64_t first_ms, unsigned failures, unsigned chance)
{
	uint64_t ms = first_ms;

	while (failures-- > 1 && ms < TH_WEBHOOK_RETRY_MAX_MS)
		ms *= 2;
	ms = TH_MIN(ms, TH_WEBHOOK_RETRY_MAX_MS);
	return ms * 4 / 5 + ms * 2 / 5 * chance / 255;
}

bool th_webhook_is_lost(uint64_t good_ms, uint64_t now_ms)
{
	return now_ms - good_ms >= TH_WEBHOOK_DISABLE_MS;
}

/* ---- what is sent ---- */

static void put_time(struct th_jw *w, const char *name, int64_t ts_ms)
{
	char text[40] = "", whole[60];
	time_t seconds = (time_t)(ts_ms / 1000);
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(whole, sizeof(whole), "%s.%03dZ", text, (int)(ts_ms % 1000));
	th_jw_kstr(w, name, th_str_of(whole));
}

/* What its row says of it now; a session that is gone has none. */
static void put_row(struct th_str row, struct th_jw *w)
{
	static const char *const names[] = { "agent", "title", "metadata" };

	for (size_t i = 0; i < TH_COUNT(names); i++) {
		struct th_str value = th_json_raw_get(row, names[i]);

		if (value.len)
			th_jw_kraw(w, names[i], value);
	}
}

void th_webhook_print(const struct th_webhook_item *item, struct th_str row, struct th_buf *out)
{
	struct th_json_raw_iter it = th_json_raw_iter(th_str_of(item->more));
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kstr(&w, "type", th_str_of(th_webhook_event_name(item->event)));
	put_time(&w, "timestamp", item->ts_ms);
	th_jw_name(&w, TH_STR("data"));
	th_jw_object(&w);
	th_jw_kstr(&w, "session_id", th_str_of(item->session));
	th_jw_kstr(&w, "user", th_str_of(item->user));
	th_jw_kuint(&w, "seq", item->seq);
	put_row(row, &w);
	while (th_json_raw_next(&it)) {
		th_jw_name(&w, it.key);
		th_jw_raw(&w, it.val);
	}
	th_jw_object_end(&w);
	th_jw_object_end(&w);
}

void th_webhook_sign(const struct th_webhook_to *to, const char *id, int64_t seconds,
		     struct th_str body, struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_digest d;

	th_buf_printf(&text, "%s.%lld.", id, (long long)seconds);
	th_buf_add(&text, body);
	d = th_hmac_sha256(to->key, to->key_len, text.ptr, text.len);
	th_buf_add_cstr(out, "v1,");
	th_base64_encode(out, d.bytes, sizeof(d.bytes));
}
