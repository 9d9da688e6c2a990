/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/copy.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/text.h"
#include "events/event_text.h"

#define PIECE_EVENTS 1024
#define PIECE_BYTES (16 * TH_MIB) /* of data, and of blobs */
#define RECENT 64                 /* hashes that were looked up last */
#define NAMES_MAX (1024 * TH_MIB) /* ids of all sessions */

struct copying {
	struct th_store *from, *to;
	struct th_copy_report *report;
	struct th_arena names; /* of the list */
	struct th_str *ids;
	size_t count, cap;

	/* Of the session that is copied now. */
	struct th_str id;
	bool fork;              /* it is found by its parent's words */
	bool tasked;            /* its first words were found */
	struct th_arena memory; /* of a piece */
	struct th_event *events;
	struct th_digest *digests;
	size_t event_count;
	uint64_t seq;            /* the last one read */
	struct th_digest digest; /* of it */
	struct th_str task;
	const struct th_event *naming; /* whose blobs are looked for */
	struct th_blob blobs[RECENT];  /* to be written before the events of the piece */
	size_t blob_count, bytes;
	struct th_digest recent[RECENT];
	size_t recent_count;
};

/* ---- one piece ---- */

static bool seen(struct copying *c, const struct th_digest *hash)
{
	for (size_t i = 0; i < TH_MIN(c->recent_count, (size_t)RECENT); i++)
		if (th_digest_eq(&c->recent[i], hash))
			return true;
	c->recent[c->recent_count++ % RECENT] = *hash;
	return false;
}

static enum th_code blobs_write(struct copying *c, struct th_err *err)
{
	struct th_batch batch = { .blobs = c->blobs, .blob_count = c->blob_count };

	if (c->blob_count == 0)
		return TH_OK;
	c->report->blobs += c->blob_count;
	c->blob_count = 0;
	return c->to->kind->commit_now(c->to, &batch, err);
}

/* What the event says that it is; depth is bounded by the parser. */
static struct th_str type_find(const struct th_json *v, struct th_str hex)
{
	struct th_json_iter it = th_json_iter(v);
	struct th_str ret = { 0 };

	if (th_str_eq(th_json_get_str(v, "blob"), hex))
		ret = th_json_get_str(v, "media_type");
	while (!ret.len && th_json_next(&it))
		if (th_json_is_object(it.val) || th_json_is_array(it.val))
			ret = type_find(it.val, hex);
	return ret;
}

static enum th_code type_of(struct copying *c, const struct th_digest *hash, struct th_str *ret,
			    struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	char hex[TH_SHA256_HEX_SIZE + 1];
	struct th_str type = { 0 };

	th_digest_hex(hash, hex);
	if (th_json_try_parse(c->naming->data, &doc, err) == TH_ENOMEM)
		return TH_ENOMEM;
	type = type_find(th_json_root(doc), th_str_of(hex));
	*ret = th_arena_str(&c->memory, type.len ? type : TH_STR("application/octet-stream"));
	return ret->ptr ? TH_OK : th_fail_memory(err);
}

/* A hash in an event's data: of a blob, or of something else. */
static enum th_code blob_copy(void *ctx, const struct th_digest *hash, struct th_err *err)
{
	struct copying *c = ctx;
	struct th_buf bytes TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_BLOB_MAX);
	struct th_err absent = { 0 };
	struct th_blob blob = { .hash = *hash };
	enum th_code code;

	if (seen(c, hash))
		return TH_OK;
	bytes.may_fail = true;
	code = c->from->kind->blob(c->from, hash, &bytes, &absent);
	if (code == TH_ENOENT)
		return TH_OK;
	if (code != TH_OK)
		return th_fail(err, code, "%s", absent.msg);
	code = type_of(c, hash, &blob.media_type, err);
	if (code != TH_OK)
		return code;
	blob.bytes = th_arena_str(&c->memory, th_buf_str(&bytes));
	if (!blob.bytes.ptr)
		return th_fail_memory(err);
	c->blobs[c->blob_count++] = blob;
	c->bytes += bytes.len;
	return c->blob_count == RECENT ? blobs_write(c, err) : TH_OK;
}

/* The words with which its first task begins. */
static enum th_code note_task(struct copying *c, const struct th_event *ev, struct th_err *err)
{
	struct th_buf words TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;

	if (c->fork || c->tasked || (ev->kind != TH_EV_MESSAGE && ev->kind != TH_EV_ITEMS_ADDED))
		return TH_OK;
	if (th_json_try_parse(ev->data, &doc, err) == TH_ENOMEM)
		return TH_ENOMEM;
	c->tasked = th_event_task(ev->kind, th_json_root(doc), false, &words);
	if (!c->tasked)
		return TH_OK;
	c->task = th_arena_str(&c->memory, th_utf8_cut(th_buf_str(&words), TH_TASK_TEXT_MAX));
	return c->task.ptr ? TH_OK : th_fail_memory(err);
}

static enum th_code take_event(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			       struct th_err *err)
{
	struct copying *c = ctx;
	struct th_event *kept = &c->events[c->event_count];
	struct th_digest wanted = th_event_digest(&c->digest, c->id, ev);
	enum th_code code;

	if (ev->seq != c->seq + 1 || !th_digest_eq(&wanted, digest))
		return th_fail(err, TH_ECORRUPT,
			       "session %.*s event %llu is not what its digest says", TH_FMT(c->id),
			       (unsigned long long)ev->seq);
	*kept = *ev;
	kept->call = th_arena_str(&c->memory, ev->call);
	kept->data = th_arena_str(&c->memory, ev->data);
	kept->build = th_arena_str(&c->memory, ev->build);
	if (!kept->call.ptr || !kept->data.ptr || !kept->build.ptr)
		return th_fail_memory(err);
	c->digests[c->event_count++] = wanted;
	c->digest = wanted;
	c->seq = ev->seq;
	c->bytes += ev->data.len;
	code = note_task(c, ev, err);
	if (code == TH_OK && c->bytes >= PIECE_BYTES)
		return th_fail(err, TH_ECANCELED, "enough for one piece");
	return code;
}

/* Events up to `head`, at most a piece of them. */
static enum th_code piece_read(struct copying *c, uint64_t head, struct th_err *err)
{
	uint64_t last = TH_MIN(head, c->seq + PIECE_EVENTS);
	enum th_code code;

	th_arena_reset(&c->memory);
	c->task = (struct th_str){ 0 };
	c->event_count = c->bytes = c->blob_count = 0;
	code = c->from->kind->read(c->from, c->id, c->seq + 1, last, take_event, c, err);
	if (code == TH_ECANCELED && c->bytes >= PIECE_BYTES)
		code = TH_OK;
	if (code == TH_OK && c->event_count == 0)
		code = th_fail(err, TH_ECORRUPT, "session %.*s event %llu is missing",
			       TH_FMT(c->id), (unsigned long long)c->seq + 1);
	c->bytes = 0;
	for (size_t i = 0; i < c->event_count && code == TH_OK; i++) {
		c->naming = &c->events[i];
		code = th_hashes_in(c->events[i].data, blob_copy, c, err);
		if (code == TH_OK && c->bytes >= PIECE_BYTES) {
			code = blobs_write(c, err);
			c->bytes = 0;
		}
	}
	return code == TH_OK ? blobs_write(c, err) : code;
}

/* ---- one session ---- */

/* Writes the row as it will be at the end, with the head of what is there so far. */
static enum th_code piece_write(struct copying *c, const struct th_session_row *row, bool create,
				uint64_t before, const struct th_digest *head, struct th_err *err)
{
	struct th_session_row now = *row;
	struct th_append a = {
		.create = create,
		.row = &now,
		.seq_before = before,
		.head_before = *head,
		.events = c->events,
		.digests = c->digests,
		.event_count = c->event_count,
		.task = c->task,
	};
	struct th_batch batch = { .appends = &a, .append_count = 1 };
	enum th_code code;

	now.head_seq = c->seq;
	now.head = c->digest;
	code = c->to->kind->commit_now(c->to, &batch, err);
	if (code == TH_OK && a.result != TH_OK)
		code = th_fail(err, a.result, "session %.*s cannot be written: %s", TH_FMT(c->id),
			       th_code_name(a.result));
	c->report->events += code == TH_OK ? c->event_count : 0;
	return code;
}

static enum th_code digest_of(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			      struct th_err *err)
{
	(void)ev;
	(void)err;
	*(struct th_digest *)ctx = *digest;
	return TH_OK;
}

static enum th_code fail_other(const struct copying *c, struct th_err *err)
{
	return th_fail(err, TH_EEXIST, "session %.*s is there already, with another history",
		       TH_FMT(c->id));
}

/* What is there of it is a beginning of what is to come? */
static enum th_code check_there(struct copying *c, const struct th_session_row *row,
				const struct th_session_row *there, struct th_err *err)
{
	struct th_digest digest = { 0 };
	enum th_code code;

	if (there->head_seq > row->head_seq || there->parent_seq != row->parent_seq)
		return fail_other(c, err);
	code = c->from->kind->read(c->from, c->id, there->head_seq, there->head_seq, digest_of,
				   &digest, err);
	if (code == TH_OK && !th_digest_eq(&digest, &there->head))
		code = fail_other(c, err);
	return code;
}

static enum th_code events_copy(struct copying *c, struct th_session_row *row, bool create,
				struct th_err *err)
{
	enum th_code code = TH_OK;

	c->tasked = false;
	while (c->seq < row->head_seq && code == TH_OK) {
		struct th_digest head = c->digest;
		uint64_t before = c->seq;

		code = piece_read(c, row->head_seq, err);
		if (code == TH_OK && c->seq == row->head_seq &&
		    !th_digest_eq(&c->digest, &row->head))
			code = th_fail(err, TH_ECORRUPT,
				       "session %.*s: its row is not of its last event",
				       TH_FMT(c->id));
		if (code == TH_OK)
			code = piece_write(c, row, create, before, &head, err);
		create = false;
	}
	return code;
}

static enum th_code session_copy(struct copying *c, struct th_str id, size_t depth,
				 struct th_err *err);

/* Where a new session begins: behind nothing, or behind what it shares with another. */
static enum th_code begin_new(struct copying *c, const struct th_session_row *row, size_t depth,
			      struct th_err *err)
{
	enum th_code code = TH_OK;

	if (row->parent.len > 0)
		code = session_copy(c, row->parent, depth + 1, err);
	c->id = row->session_id;
	c->fork = row->parent.len > 0;
	c->seq = row->parent_seq;
	c->digest = (struct th_digest){ 0 };
	if (code == TH_OK && row->parent_seq > 0)
		code =
		    c->from->kind->read(c->from, c->id, c->seq, c->seq, digest_of, &c->digest, err);
	return code;
}

static enum th_code session_copy_rows(struct copying *c, struct th_arena *a, struct th_str id,
				      size_t depth, struct th_err *err)
{
	struct th_session_row row, there;
	struct th_err absent = { 0 };
	enum th_code code = c->from->kind->get(c->from, id, a, &row, err);
	bool create = false;

	if (code != TH_OK)
		return code;
	c->id = row.session_id;
	c->fork = row.parent.len > 0;
	code = c->to->kind->get(c->to, id, a, &there, &absent);
	if (code == TH_ENOENT) {
		create = true;
		code = begin_new(c, &row, depth, err);
	} else if (code != TH_OK) {
		return th_fail(err, code, "%s", absent.msg);
	} else {
		code = check_there(c, &row, &there, err);
		if (code == TH_OK && there.head_seq == row.head_seq)
			return TH_OK;
		if (code == TH_OK)
			code = c->to->kind->lease(c->to, id, a, &there, err);
		row.epoch = there.epoch;
		c->seq = there.head_seq;
		c->digest = there.head;
	}
	if (code == TH_OK)
		code = events_copy(c, &row, create, err);
	if (code == TH_OK)
		code = c->to->kind->release(c->to, id, row.epoch, err);
	c->report->sessions += code == TH_OK;
	return code;
}

/* Its parents before it. */
static enum th_code session_copy(struct copying *c, struct th_str id, size_t depth,
				 struct th_err *err)
{
	struct th_arena a;
	enum th_code code;

	if (depth > TH_FORK_DEPTH_MAX)
		return th_fail(err, TH_ECORRUPT, "session %.*s: its forks have no end", TH_FMT(id));
	th_arena_init_try(&a, 4 * TH_EVENT_DATA_MAX);
	code = session_copy_rows(c, &a, id, depth, err);
	th_arena_deinit(&a);
	return code;
}

/* ---- all of them ---- */

static enum th_code note_id(void *ctx, const struct th_session_row *row, struct th_err *err)
{
	struct copying *c = ctx;

	if (c->count == c->cap) {
		size_t cap = c->cap ? c->cap * 2 : 256;
		struct th_str *ids = th_try_realloc(c->ids, cap * sizeof(*ids));

		if (!ids)
			return th_fail_memory(err);
		c->ids = ids;
		c->cap = cap;
	}
	c->ids[c->count] = th_arena_str(&c->names, row->session_id);
	return c->ids[c->count++].ptr ? TH_OK : th_fail_memory(err);
}

enum th_code th_store_copy(struct th_store *from, struct th_store *to, struct th_copy_report *ret,
			   struct th_err *err)
{
	const struct th_session_filter all = { .order = TH_LIST_CREATED };
	struct copying c = { .from = from, .to = to, .report = ret };
	enum th_code code = TH_OK;

	*ret = (struct th_copy_report){ 0 };
	th_arena_init_try(&c.names, NAMES_MAX);
	th_arena_init_try(&c.memory, TH_BATCH_MEMORY_MAX);
	c.events = th_try_alloc(PIECE_EVENTS * sizeof(*c.events));
	c.digests = th_try_alloc(PIECE_EVENTS * sizeof(*c.digests));
	if (!c.events || !c.digests)
		code = th_fail_memory(err);
	if (code == TH_OK)
		code = from->kind->list(from, &all, note_id, &c, err);
	/* The oldest first: most forks find their parents there. */
	for (size_t i = c.count; i-- > 0 && code == TH_OK;)
		code = session_copy(&c, c.ids[i], 0, err);
	ret->there = c.count - TH_MIN(c.count, ret->sessions);
	free(c.events);
	free(c.digests);
	free(c.ids);
	th_arena_deinit(&c.names);
	th_arena_deinit(&c.memory);
	return code;
}
