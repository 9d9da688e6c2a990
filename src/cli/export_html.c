/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/export_html.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/codec.h"
#include "base/json.h"
#include "base/limits.h"
#include "cli/cli.h"
#include "events/event.h"
#include "sessions_api/page.h"

#define CHUNK_EVENTS 500
#define CHUNK_SIZE (4 * TH_MIB)

struct picture {
	struct th_digest hash;
	char type[32];
};

/* The file as it is made: to a descriptor, or only counted. */
struct html {
	struct th_store *store;
	const struct th_session_row *row;
	int fd; /* -1: it is counted */
	struct th_html_size size;
	struct th_buf chunk; /* events, as a JSON list without its brackets */
	uint64_t from, to;   /* numbers of its first and last */
	size_t count;
	struct picture *pictures;
	size_t picture_count;
};

static enum th_code put(struct html *h, struct th_str text, struct th_err *err)
{
	h->size.bytes += text.len;
	if (h->size.bytes > TH_HTML_SIZE_MAX)
		return th_fail(err, TH_ELIMIT,
			       "the file would have more than %lld MiB; without --format it is "
			       "lines, of any size",
			       (long long)(TH_HTML_SIZE_MAX / TH_MIB));
	if (h->fd >= 0 && !th_cli_write(h->fd, text))
		return th_fail(err, TH_EIO, "cannot write to %s: %s",
			       h->fd == STDOUT_FILENO ? "standard output" : "the file",
			       strerror(errno));
	return TH_OK;
}

/* JSON has this sign in texts only, and there it may stand so.  Nothing in a block can end it. */
static void add_safe(struct th_buf *out, struct th_str json)
{
	while (json.len) {
		ptrdiff_t at = th_str_find_char(json, '<');

		if (at < 0) {
			th_buf_add(out, json);
			return;
		}
		th_buf_add(out, th_str_sub(json, 0, (size_t)at));
		th_buf_add_cstr(out, "\\u003c");
		json = th_str_sub(json, (size_t)at + 1, json.len);
	}
}

/* ---- pictures ---- */

static bool known_type(struct th_str type)
{
	return th_str_is(type, "image/png") || th_str_is(type, "image/jpeg") ||
	       th_str_is(type, "image/webp");
}

static enum th_code note_picture(struct html *h, const struct th_json *v, struct th_err *err)
{
	struct th_str type = th_json_get_str(v, "media_type");
	struct picture p;

	if (!th_digest_parse(th_json_get_str(v, "blob"), &p.hash) || !known_type(type))
		return TH_OK; /* a tool's own word, or no picture */
	for (size_t i = 0; i < h->picture_count; i++)
		if (memcmp(&h->pictures[i].hash, &p.hash, sizeof(p.hash)) == 0)
			return TH_OK;
	if (h->picture_count == TH_HTML_PICTURES_MAX)
		return th_fail(err, TH_ELIMIT, "it has more than %d pictures",
			       TH_HTML_PICTURES_MAX);
	snprintf(p.type, sizeof(p.type), "%.*s", TH_FMT(type));
	h->pictures = th_realloc(h->pictures, (h->picture_count + 1) * sizeof(p));
	h->pictures[h->picture_count++] = p;
	return TH_OK;
}

/* Depth is bounded by the parser. */
static enum th_code note_pictures(struct html *h, const struct th_json *v, struct th_err *err)
{
	struct th_json_iter it = th_json_iter(v);
	enum th_code code = TH_OK;

	if (th_json_is_object(v) && th_json_get_str(v, "blob").ptr)
		code = note_picture(h, v, err);
	while (code == TH_OK && th_json_next(&it))
		if (th_json_is_object(it.val) || th_json_is_array(it.val))
			code = note_pictures(h, it.val, err);
	return code;
}

static enum th_code put_picture(struct html *h, const struct picture *p, struct th_err *err)
{
	struct th_buf bytes TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_BLOB_MAX);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_BLOB_MAX);
	char hex[TH_SHA256_HEX_SIZE + 1];
	enum th_code code = h->store->kind->blob(h->store, &p->hash, &bytes, err);

	if (code)
		return code;
	th_digest_hex(&p->hash, hex);
	th_buf_printf(&text,
		      "<script type=\"text/plain\" data-thole=\"picture\" data-type=\"%s\" "
		      "data-hash=\"%s\">",
		      p->type, hex);
	th_base64_encode(&text, bytes.ptr, bytes.len);
	th_buf_add_cstr(&text, "</script>\n");
	code = th_buf_check(&text, "a picture", err);
	h->size.pictures++;
	return code ? code : put(h, th_buf_str(&text), err);
}

/* ---- events ---- */

static enum th_code flush(struct html *h, struct th_err *err)
{
	struct th_buf head TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	enum th_code code;

	if (!h->count)
		return TH_OK;
	th_buf_printf(&head,
		      "<script type=\"application/json\" data-thole=\"events\" data-from=\"%llu\" "
		      "data-to=\"%llu\">[",
		      (unsigned long long)h->from, (unsigned long long)h->to);
	code = th_buf_check(&h->chunk, "the events", err);
	if (!code)
		code = put(h, th_buf_str(&head), err);
	if (!code)
		code = put(h, th_buf_str(&h->chunk), err);
	if (!code)
		code = put(h, TH_STR("]</script>\n"), err);
	th_buf_clear(&h->chunk);
	h->count = 0;
	return code;
}

static enum th_code on_event(void *ctx, const struct th_event *ev,
			     const struct th_digest *digest TH_UNUSED, struct th_err *err)
{
	struct html *h = ctx;
	struct th_buf line TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_EVENT_DATA_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_jw w = th_jw(&line);
	enum th_code code = th_json_parse(ev->data, &doc, err);

	if (!code)
		code = note_pictures(h, th_json_root(doc), err);
	th_event_print(h->row->session_id, ev, &w);
	if (!code)
		code = th_buf_check(&line, "an event", err);
	if (code)
		return code;
	if (!h->count)
		h->from = ev->seq;
	else
		th_buf_add_cstr(&h->chunk, ",\n");
	add_safe(&h->chunk, th_buf_str(&line));
	h->to = ev->seq;
	h->size.events++;
	if (++h->count == CHUNK_EVENTS || h->chunk.len > CHUNK_SIZE)
		return flush(h, err);
	return TH_OK;
}

/* ---- the file ---- */

static enum th_code put_part(struct html *h, const char *name, struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PAGE_FILE_MAX);

	th_page_plain(th_page_find(th_str_of(name)), &text);
	return put(h, th_buf_str(&text), err);
}

static enum th_code put_about(struct html *h, struct th_err *err)
{
	const struct th_session_row *r = h->row;
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(512 * TH_KIB);
	struct th_jw w = th_jw(&json);
	enum th_code code;

	th_jw_object(&w);
	th_jw_kstr(&w, "session_id", r->session_id);
	th_jw_kstr(&w, "title", r->title);
	th_jw_kstr(&w, "agent", r->agent);
	th_jw_kstr(&w, "model", r->model);
	th_jw_kstr(&w, "state", r->state);
	th_jw_kuint(&w, "head_seq", r->head_seq);
	th_jw_kint(&w, "created_ms", r->created_ms);
	th_jw_kint(&w, "updated_ms", r->updated_ms);
	th_jw_object_end(&w);
	code = th_buf_check(&json, "the session's row", err);
	th_buf_add_cstr(&out, "<script type=\"application/json\" data-thole=\"about\">");
	add_safe(&out, th_buf_str(&json));
	th_buf_add_cstr(&out, "</script>\n");
	return code ? code : put(h, th_buf_str(&out), err);
}

static enum th_code make(struct html *h, struct th_err *err)
{
	enum th_code code = put_part(h, "replay_head", err);

	th_buf_init(&h->chunk, TH_HTML_SIZE_MAX);
	if (!code)
		code = put_about(h, err);
	if (!code)
		code = h->store->kind->read(h->store, h->row->session_id, 1, h->row->head_seq,
					    on_event, h, err);
	if (!code)
		code = flush(h, err);
	for (size_t i = 0; !code && i < h->picture_count; i++)
		code = put_picture(h, &h->pictures[i], err);
	if (!code)
		code = put_part(h, "replay_tail", err);
	th_buf_deinit(&h->chunk);
	free(h->pictures);
	return code;
}

enum th_code th_html_measure(struct th_store *store, const struct th_session_row *row,
			     struct th_html_size *ret, struct th_err *err)
{
	struct html h = { .store = store, .row = row, .fd = -1 };
	enum th_code code = make(&h, err);

	*ret = h.size;
	return code;
}

enum th_code th_html_write(struct th_store *store, const struct th_session_row *row, int fd,
			   struct th_err *err)
{
	struct html h = { .store = store, .row = row, .fd = fd };

	return make(&h, err);
}
