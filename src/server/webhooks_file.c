/* SPDX-License-Identifier: Apache-2.0 */
/*
 * webhooks_file.c - what was taken, as a file of lines: {"webhook": NAME, "since_ms": N, "done":
 * [[TS_MS, ID], …]}, and "client" of those that clients asked for.  Lines of webhooks that are not
 * configured go.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "base/wiped.h"
#include "io/clock.h"
#include "io/files.h"
#include "server/service.h"

/* One of `done`, and the line's other members; a client's hook has its own bound. */
#define DONE_SIZE (sizeof("[-9223372036854775808,\"\"],") + 2 * sizeof(struct th_webhook_id))
#define LINE_SIZE 256

_Static_assert(TH_WEBHOOKS_MAX *(TH_WEBHOOK_DONE_MAX *DONE_SIZE + LINE_SIZE) +
		       TH_CLIENT_HOOKS_MAX * (TH_CLIENT_HOOK_DONE_MAX * DONE_SIZE +
					      TH_CLIENT_HOOK_SIZE_MAX + LINE_SIZE) +
		       TH_WEBHOOK_APPEND_MAX <=
		   TH_WEBHOOK_FILE_MAX,
	       "all that is remembered fits into the file");

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_id(struct th_str hex, struct th_webhook_id *ret)
{
	if (hex.len != 2 * sizeof(ret->bytes))
		return false;
	for (size_t i = 0; i < sizeof(ret->bytes); i++) {
		int high = digit(hex.ptr[2 * i]), low = digit(hex.ptr[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		ret->bytes[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}

static struct th_webhook *named(struct th_webhooks *w, struct th_str name)
{
	struct th_webhook *h = w->first;

	while (h && (h->off || h->replaced || !th_str_is(name, h->to.name)))
		h = h->next;
	return h;
}

/* The oldest goes where there is no room. */
static void add_done(struct th_webhook *h, const struct th_webhook_done *d)
{
	size_t most = th_webhook_done_max(h);

	if (!h->done)
		h->done = th_alloc(most * sizeof(*h->done));
	if (h->done_count == most)
		memmove(h->done, h->done + 1, --h->done_count * sizeof(*h->done));
	h->done[h->done_count++] = *d;
}

static void read_done(struct th_webhook *h, const struct th_json *root, size_t max)
{
	struct th_json_iter it = th_json_iter(th_json_get(root, "done"));

	while (max > 0 && th_json_next(&it)) {
		struct th_webhook_done d = { .ts_ms = th_json_int(th_json_at(it.val, 0), 0) };

		if (!read_id(th_json_str(th_json_at(it.val, 1)), &d.id))
			continue;
		add_done(h, &d);
		max--;
	}
}

struct th_webhook *th_webhook_line_read(struct th_webhooks *w, struct th_str line)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *root;
	struct th_webhook *h;

	if (th_json_parse_secret(line, &doc, NULL) != TH_OK)
		return NULL; /* a line that was torn: the logs are read from the last good time on
			      */
	root = th_json_root(doc);
	if (th_json_get(root, "client"))
		th_client_hook_restore(w, root);
	h = named(w, th_json_get_str(root, "webhook"));
	if (!h)
		return NULL;
	h->since_ms = th_json_get_int(root, "since_ms", h->since_ms);
	h->done_count = 0;
	read_done(h, root, th_webhook_done_max(h));
	return h;
}

void th_webhook_line_merge(struct th_webhook *h, struct th_str line, bool all)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;

	if (th_json_parse_secret(line, &doc, NULL) != TH_OK)
		return;
	if (all)
		h->since_ms = TH_MIN(h->since_ms,
				     th_json_get_int(th_json_root(doc), "since_ms", h->since_ms));
	read_done(h, th_json_root(doc), th_webhook_done_max(h));
}

enum th_code th_webhooks_load(struct th_webhooks *w, struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_wipe) = TH_BUF_INIT(TH_WEBHOOK_FILE_MAX);
	struct th_str rest;
	enum th_code code;

	if (!w->path.len)
		return TH_OK;
	code = th_file_read(w->path.ptr, TH_WEBHOOK_FILE_MAX, &text, err);
	if (code == TH_ENOENT)
		return TH_OK;
	rest = th_buf_str(&text);
	while (!code && rest.len) {
		struct th_str line = th_str_trim(th_str_split(&rest, '\n'));

		if (line.len)
			(void)th_webhook_line_read(w, line);
	}
	return code;
}

/* Up to where all was taken: the first that waits, or so long ago that what happened then must be
 * durable by now, and was told of. */
static int64_t since(const struct th_webhook *h)
{
	int64_t ms = (int64_t)th_clock_wall_ms() - TH_WEBHOOK_SLACK_MS;

	if (h->scan || h->client) /* not all is known yet; it has a place in one log instead */
		return h->since_ms;
	if (h->skipped_ms)
		ms = TH_MIN(ms, h->skipped_ms);
	for (const struct th_webhook_item *item = h->first; item; item = item->next)
		ms = TH_MIN(ms, item->ts_ms);
	for (size_t i = 0; i < TH_WEBHOOK_FLIGHT_MAX; i++)
		if (h->flight[i])
			ms = TH_MIN(ms, th_webhook_flies(h->flight[i])->ts_ms);
	return TH_MAX(ms, h->since_ms);
}

/* In a fleet another node may read the logs from a little before on. */
static void forget(struct th_webhook *h)
{
	int64_t from_ms = h->since_ms - (h->all->shared ? TH_WEBHOOK_SHARED_DONE_MS : 0);
	size_t left = 0;

	for (size_t i = 0; i < h->done_count; i++)
		if (h->done[i].ts_ms >= from_ms)
			h->done[left++] = h->done[i];
	h->done_count = left;
}

static void print(const struct th_webhook *h, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kstr(&w, "webhook", th_str_of(h->to.name));
	th_jw_kint(&w, "since_ms", h->since_ms);
	th_jw_name(&w, TH_STR("done"));
	th_jw_array(&w);
	for (size_t i = 0; i < h->done_count; i++) {
		char hex[2 * sizeof(h->done[i].id.bytes) + 1];

		th_webhook_id_hex(&h->done[i].id, hex);
		th_jw_array(&w);
		th_jw_int(&w, h->done[i].ts_ms);
		th_jw_str(&w, th_str_of(hex));
		th_jw_array_end(&w);
	}
	th_jw_array_end(&w);
	if (h->client)
		th_client_hook_print(h, &w);
	th_jw_object_end(&w);
}

void th_webhook_line_print(struct th_webhook *h, struct th_buf *out)
{
	h->since_ms = since(h);
	forget(h);
	print(h, out);
}

enum th_code th_webhooks_append(struct th_webhooks *w, struct th_webhook *h, struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_wipe) =
	    TH_BUF_INIT(2 * TH_CLIENT_HOOK_SIZE_MAX + TH_CLIENT_HOOK_DONE_MAX * DONE_SIZE);
	enum th_code code;

	if (!w->path.len)
		return TH_OK;
	th_buf_add_char(&text, '\n'); /* what is before may be torn */
	th_webhook_line_print(h, &text);
	th_buf_add_char(&text, '\n');
	code = th_buf_check(&text, "a hook", err);
	if (code)
		return code;
	if (w->appended + text.len > TH_WEBHOOK_APPEND_MAX)
		return th_webhooks_save(w, err);
	code = th_file_append(w->path.ptr, th_buf_str(&text), err);
	if (code == TH_ENOENT)
		return th_webhooks_save(w, err);
	w->appended += code ? 0 : text.len;
	return code;
}

enum th_code th_webhooks_save(struct th_webhooks *w, struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_wipe) = TH_BUF_INIT(TH_WEBHOOK_FILE_MAX);
	enum th_code code;

	if (!w->path.len)
		return TH_OK;
	for (struct th_webhook *h = w->first; h; h = h->next) {
		if (h->replaced || (h->client && h->off))
			continue;
		th_webhook_line_print(h, &text);
		th_buf_add_char(&text, '\n');
	}
	code = th_buf_check(&text, "the file of webhooks", err);
	code = code ? code : th_file_write(w->path.ptr, th_buf_str(&text), 0600, err);
	w->appended = code ? w->appended : 0;
	return code;
}
