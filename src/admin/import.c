/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import.c - sessions into a store: all of a file in one transaction.
 */
#include <stdlib.h>

#include "admin/import_internal.h"
#include "admin/transfer_internal.h"
#include "core/session.h"
#include "events/event_text.h"
#include "io/clock.h"

static_assert(TH_EXPORT_EVENTS_MAX + 2 * TH_EXPORT_SESSIONS_MAX <= TH_BATCH_EVENTS_MAX,
	      "a file is one transaction, with a row of each session and an end of each origin");

static enum th_code too_much(struct th_err *err)
{
	return th_fail(err, TH_ELIMIT, "the session is too large: it takes more than %zu bytes",
		       2 * TH_BATCH_MEMORY_MAX);
}

/* ---- the beginning of a session ---- */

static enum th_code fold_event(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			       struct th_err *err)
{
	struct arriving *x = ctx;
	struct th_effects fx TH_UNSET;

	x->chain = *digest;
	return th_session_step(&x->fold, ev, &fx, err);
}

/* Into the fold.  No deeper than there are forks. */
static enum th_code fold_prefix(struct arriving *x, struct th_str id, uint64_t to,
				struct th_err *err)
{
	const struct arrived *s = th_import_find(x, id);
	enum th_code code = TH_OK;

	if (!s || s->here)
		return x->reads->kind->read(x->reads, id, 1, to, fold_event, x, err);
	if (s->row.parent.len)
		code = fold_prefix(x, s->row.parent, TH_MIN(to, s->row.parent_seq), err);
	for (size_t i = 0; !code && i < s->count && s->events[i].seq <= to; i++)
		code = fold_event(x, &s->events[i], &s->digests[i], err);
	return code;
}

static enum th_code begin_fork(struct arriving *x, struct arrived *s, struct th_err *err)
{
	const struct arrived *parent = th_import_find(x, s->row.parent);
	enum th_code code = th_export_forks(++x->forks, err);

	/* The one being read is in the list already, and is not its own parent. */
	if (!code && (parent == s || (parent && !parent->origin)))
		code = th_fail(err, TH_EPROTO, "its parent %.*s is not one that was forked",
			       TH_FMT(s->row.parent));
	if (!code)
		code = fold_prefix(x, s->row.parent, s->row.parent_seq, err);
	if (!code && x->fold.seq != s->row.parent_seq)
		code = th_fail(err, TH_ECORRUPT, "its parent %.*s has no event %llu",
			       TH_FMT(s->row.parent), (unsigned long long)s->row.parent_seq);
	s->first = x->chain;
	return code;
}

static enum th_code check_head(const struct th_exported_session *d, const struct th_json *v,
			       struct th_err *err)
{
	if (d->version != 1)
		return th_fail(err, TH_EUNSUPPORTED, "this build reads version 1, not %lld",
			       (long long)d->version);
	if (d->session.len > TH_SESSION_ID_MAX || d->parent.len > TH_SESSION_ID_MAX)
		return th_fail(err, TH_ELIMIT, "a session id has 1 to %d bytes", TH_SESSION_ID_MAX);
	if (memchr(d->session.ptr, 0, d->session.len))
		return th_fail(err, TH_EPROTO, "the session's name holds a NUL");
	if (d->metadata.len && !th_json_is_object(th_json_get(v, "metadata")))
		return th_fail(err, TH_EPROTO, "metadata must be an object");
	if (d->epoch >= INT32_MAX)
		return th_fail(err, TH_ELIMIT, "no session had %lld owners", (long long)d->epoch);
	if ((d->parent.len > 0) != (d->parent_seq > 0) || d->head_seq <= d->parent_seq)
		return th_fail(err, TH_EPROTO, "parent, parent_seq and head_seq do not fit");
	return TH_OK;
}

static enum th_code is_it_here(struct arriving *x, struct arrived *s, struct th_err *err)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_session_row there;
	enum th_code code;

	th_arena_init(&a, 2 * TH_EVENT_DATA_MAX);
	code = x->reads->kind->get(x->reads, s->row.session_id, &a, &there, err);
	s->here = !code;
	s->same =
	    s->here && there.head_seq == s->row.head_seq && th_digest_eq(&there.head, &s->row.head);
	return code == TH_ENOENT ? TH_OK : code;
}

static enum th_code begin(struct arriving *x, const struct th_json *v, struct th_err *err)
{
	struct arrived *s = th_arena_alloc(&x->memory, sizeof(*s));
	struct th_exported_session d;
	enum th_code code;

	if (!s)
		return too_much(err);
	code = th_table_parse(&th_exported_session_table, v, &x->memory, &d, err);
	if (!code)
		code = check_head(&d, v, err);
	if (!code && th_import_find(x, d.session))
		code =
		    th_fail(err, TH_EPROTO, "session %.*s stands in it twice", TH_FMT(d.session));
	if (code)
		return code;
	s->origin = d.origin;
	s->row = (struct th_session_row){
		.session_id = th_arena_str(&x->memory, d.session),
		.user = th_arena_str(&x->memory, d.user),
		.title = th_arena_str(&x->memory, th_utf8_cut(d.title, TH_TITLE_MAX)),
		.parent = th_arena_str(&x->memory, d.parent),
		.parent_seq = (uint64_t)d.parent_seq,
		.head_seq = (uint64_t)d.head_seq,
		.epoch = TH_MAX(d.epoch, (int64_t)1),
		.created_ms = d.created_ms,
		.metadata = th_arena_str(&x->memory, d.metadata.len ? d.metadata : TH_STR("{}")),
	};
	if (!th_digest_parse(d.head, &s->row.head))
		return th_fail(err, TH_EPROTO, "head is not a digest");
	if (x->count == x->cap) {
		x->cap = TH_MAX(2 * x->cap, (size_t)16);
		x->list = th_realloc(x->list, x->cap * sizeof(struct arrived *));
	}
	x->list[x->count++] = s;
	th_session_deinit(&x->fold);
	th_session_init(&x->fold);
	x->chain = (struct th_digest){ 0 };
	code = is_it_here(x, s, err);
	return !code && s->row.parent.len && !s->here ? begin_fork(x, s, err) : code;
}

/* ---- its events ---- */

static void push(struct arrived *s, const struct th_event *ev, const struct th_digest *digest)
{
	if (s->count == s->cap) {
		s->cap = TH_MAX(2 * s->cap, (size_t)64);
		s->events = th_realloc(s->events, s->cap * sizeof(*s->events));
		s->digests = th_realloc(s->digests, s->cap * sizeof(*s->digests));
	}
	s->digests[s->count] = *digest;
	s->events[s->count++] = *ev;
}

/* The very line that we would write, with the digest that the chain gives: nothing else stands in
 * it, and nothing twice. */
static bool is_ours(const struct arrived *s, const struct th_event *ev,
		    const struct th_digest *digest, struct th_str line)
{
	struct th_buf ours TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);

	th_export_print_event(s->row.session_id, ev, digest, &ours);
	return th_str_eq(th_buf_str(&ours), th_str_trim(line));
}

/* Data counts as it is written: the digest is over its bytes. */
static enum th_code read_event(struct arriving *x, const struct th_json *v, struct th_str line,
			       struct th_event *ret, struct th_err *err)
{
	struct th_str raw = th_json_raw_get(th_json_raw_get(line, "event"), "data");
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	enum th_code code;

	th_arena_init(&a, 2 * TH_JSON_SIZE_MAX);
	code = th_event_parse(th_json_get(v, "event"), &a, ret, err);
	if (code)
		return code;
	ret->call = th_arena_str(&x->memory, ret->call);
	ret->build = th_arena_str(&x->memory, ret->build);
	ret->data = th_arena_str(&x->memory, raw);
	return ret->call.ptr && ret->build.ptr && ret->data.ptr ? TH_OK : too_much(err);
}

static enum th_code add_event(struct arriving *x, const struct th_json *v, struct th_str line,
			      struct th_err *err)
{
	struct arrived *s = th_import_newest(x);
	struct th_effects fx TH_UNSET;
	struct th_digest found;
	struct th_event ev;
	enum th_code code;

	if (!s)
		return th_fail(err, TH_EPROTO, "an event stands before its session");
	if (s->here)
		return TH_OK;
	code = read_event(x, v, line, &ev, err);
	if (code)
		return code;
	found = th_event_digest(&x->chain, s->row.session_id, &ev);
	if (ev.seq != x->fold.seq + 1 || !is_ours(s, &ev, &found, line))
		return th_fail(err, TH_ECORRUPT,
			       "event %llu is not what was written: the chain of digests breaks",
			       (unsigned long long)ev.seq);
	if ((ev.kind == TH_EV_SESSION_FORKED) != (s->count == 0 && s->row.parent.len > 0))
		return th_fail(err, TH_EPROTO, "a fork, and only a fork, begins as one");
	code = th_session_step(&x->fold, &ev, &fx, err);
	if (code)
		return code;
	x->chain = found;
	push(s, &ev, &found);
	return TH_OK;
}

static enum th_code add_blob(struct arriving *x, const struct th_json *v, struct th_err *err)
{
	struct th_buf bytes TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EXPORT_BLOB_MAX);
	struct th_str text = th_json_get_str(v, "bytes");
	struct th_blob blob = { 0 };
	struct th_digest found;

	if (!x->count)
		return th_fail(err, TH_EPROTO, "a blob stands before its session");
	if (!th_digest_parse(th_json_get_str(v, "blob"), &blob.hash))
		return th_fail(err, TH_EPROTO, "blob is not a hash");
	if (!th_json_get(v, "absent")) {
		if (!text.ptr || !th_base64_decode(&bytes, text))
			return th_fail(err, TH_EPROTO, "bytes is not base64");
		if (bytes.failed)
			return th_fail(err, TH_ELIMIT, "a blob has at most %zu bytes",
				       TH_EXPORT_BLOB_MAX);
		found = th_sha256_of(bytes.ptr, bytes.len);
		if (!th_digest_eq(&found, &blob.hash))
			return th_fail(err, TH_ECORRUPT, "the blob is not what was written");
		blob.media_type =
		    th_arena_str(&x->memory, th_utf8_cut(th_json_get_str(v, "media_type"), TH_KIB));
		blob.bytes = th_arena_str(&x->memory, th_buf_str(&bytes));
		if (!blob.media_type.ptr || !blob.bytes.ptr)
			return too_much(err);
	}
	if (x->blob_count == x->blob_cap) {
		x->blob_cap = TH_MAX(2 * x->blob_cap, (size_t)16);
		x->blobs = th_realloc(x->blobs, x->blob_cap * sizeof(*x->blobs));
	}
	x->blobs[x->blob_count++] = blob;
	return TH_OK;
}

/* ---- the end of a session ---- */

/* Of the first words, or what it was changed to, as the driver makes them. */
static struct th_str title_of(struct arriving *x, struct arrived *s)
{
	struct th_buf line TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf words TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	bool asked = false;

	for (size_t i = 0; i < s->count; i++) {
		enum th_event_kind kind = s->events[i].kind;
		struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
		struct th_str changed;

		asked |= kind == TH_EV_MODEL_ANSWERED;
		if ((kind != TH_EV_SESSION_CHANGED &&
		     (line.len || (kind != TH_EV_MESSAGE && kind != TH_EV_ITEMS_ADDED))) ||
		    th_json_parse(s->events[i].data, &doc, NULL))
			continue;
		if (th_event_task(kind, th_json_root(doc), asked, &words)) {
			th_text_line(&line, th_buf_str(&words), TH_TITLE_MAX);
			s->task = th_arena_str(&x->memory,
					       th_utf8_cut(th_buf_str(&words), TH_TASK_TEXT_MAX));
		}
		changed = th_json_get_str(th_json_root(doc), "title");
		if (kind == TH_EV_SESSION_CHANGED && changed.len) {
			th_buf_clear(&line);
			th_text_line(&line, changed, TH_TITLE_MAX);
		}
	}
	return th_arena_str(&x->memory, th_buf_str(&line));
}

/* The columns that the log gives are taken from there. */
static void fill_row(struct arriving *x, struct arrived *s)
{
	struct th_session_row *row = &s->row;
	const struct th_session *f = &x->fold;

	th_session_row_of(f, row);
	row->agent = th_arena_str(&x->memory, row->agent);
	row->model = th_arena_str(&x->memory, row->model);
	row->head = x->chain;
	if (row->parent.len)
		return;
	row->created_ms = f->created_ms;
	row->title = title_of(x, s);
}

/* Else a prefix could be continued here while the whole session runs elsewhere. */
static enum th_code stop(struct arriving *x, struct arrived *s, struct th_err *err)
{
	struct th_ev_state_changed d = {
		.to = th_str_of(th_state_name(TH_STATE_STOPPED)),
		.reason = TH_STR("only what a fork shares with it was imported"),
		.record = true,
	};
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_jw w = th_jw(&text);
	struct th_event ev = {
		.seq = x->fold.seq + 1,
		.ts_ms = (int64_t)th_clock_wall_ms(),
		.id = th_uuid_now(),
		.source = TH_SOURCE_OPERATOR,
		.kind = TH_EV_STATE_CHANGED,
		.build = TH_STR(TH_VERSION),
	};
	struct th_effects fx TH_UNSET;
	enum th_code code;

	th_table_print(&th_ev_state_changed_table, &d, &w);
	ev.data = th_arena_str(&x->memory, th_buf_str(&text));
	if (!ev.data.ptr)
		return too_much(err);
	code = th_session_step(&x->fold, &ev, &fx, err);
	if (code)
		return code;
	x->chain = th_event_digest(&x->chain, s->row.session_id, &ev);
	push(s, &ev, &x->chain);
	return TH_OK;
}

/* An inherited call has no child: its name would be another. */
static void note_children(struct arriving *x, struct arrived *s)
{
	struct th_buf names TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);

	const struct th_call *c;

	for (size_t i = 0; (c = th_session_delegated(&x->fold, i)); i++) {
		if (c->intent_seq <= s->row.parent_seq)
			continue;
		th_call_child(c, s->row.session_id, &names);
		th_buf_add_char(&names, '\0');
	}
	s->children = th_arena_str(&x->memory, th_buf_str(&names));
}

static enum th_code finish(struct arriving *x, struct th_err *err)
{
	struct arrived *s = th_import_newest(x);
	enum th_code code = TH_OK;

	if (!s || s->here)
		return TH_OK;
	if (!s->count || x->fold.seq != s->row.head_seq || !th_digest_eq(&x->chain, &s->row.head))
		return th_fail(err, TH_ECORRUPT,
			       "session %.*s is not whole: its log ends at event %llu of %llu",
			       TH_FMT(s->row.session_id), (unsigned long long)x->fold.seq,
			       (unsigned long long)s->row.head_seq);
	if (s->origin)
		code = stop(x, s, err);
	else
		note_children(x, s);
	if (!code)
		fill_row(x, s);
	return code;
}

/* ---- all of it ---- */

static void fill_batch(struct arriving *x, struct th_batch *batch)
{
	size_t kept = 0;

	for (size_t i = 0; i < x->count; i++) {
		const struct arrived *s = x->list[i];

		if (s->here)
			continue;
		batch->appends[batch->append_count++] = (struct th_append){
			.create = true,
			.row = &s->row,
			.seq_before = s->row.parent_seq,
			.head_before = s->first,
			.events = s->events,
			.digests = s->digests,
			.event_count = s->count,
			.task = s->task,
		};
	}
	for (size_t i = 0; i < x->blob_count; i++)
		if (x->blobs[i].bytes.ptr)
			x->blobs[kept++] = x->blobs[i];
	batch->blobs = x->blobs;
	batch->blob_count = kept;
}

static enum th_code store_all(struct arriving *x, struct th_err *err)
{
	struct th_batch batch = { .appends = th_alloc(x->count * sizeof(*batch.appends)) };
	struct th_err ignored;
	enum th_code code;

	fill_batch(x, &batch);
	code = x->store->kind->commit_now(x->store, &batch, err);
	for (size_t i = 0; !code && i < batch.append_count; i++)
		if (batch.appends[i].result)
			code = th_fail(err, batch.appends[i].result,
				       "session %.*s cannot be written here: %s",
				       TH_FMT(batch.appends[i].row->session_id),
				       th_code_name(batch.appends[i].result));
	/* They would also end with this process; giving them back is a courtesy to others. */
	for (size_t i = 0; i < batch.append_count; i++)
		if (!batch.appends[i].result)
			(void)x->store->kind->release(x->store, batch.appends[i].row->session_id,
						      batch.appends[i].row->epoch, &ignored);
	free(batch.appends);
	return code;
}

/* ---- lines ---- */

static enum th_code take_line(struct arriving *x, struct th_str line, const struct th_json *v,
			      struct th_err *err)
{
	bool event = th_json_get(v, "event"), blob = th_json_get(v, "blob");
	bool head = th_json_get(v, "thole_session");
	enum th_code code = th_export_count(&x->load,
					    event  ? &x->load.events
					    : blob ? &x->load.blobs
					    : head ? &x->load.sessions
						   : NULL,
					    line.len, err);

	if (code)
		return code;
	if (event)
		return add_event(x, v, line, err);
	if (blob)
		return add_blob(x, v, err);
	if (!head && !th_json_get(v, "end"))
		return th_fail(err, TH_EPROTO, "this is not a line of an exported session");
	if (!head && !x->count)
		return th_fail(err, TH_EPROTO, "there is no session in it");
	x->ended = !head;
	code = finish(x, err);
	if (code)
		return code;
	return head ? begin(x, v, err) : th_import_check(x, err);
}

static enum th_code take(struct arriving *x, struct th_str line, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;

	if (x->ended)
		return th_str_trim(line).len
			   ? th_fail(err, TH_EPROTO, "something stands behind the end")
			   : th_export_count(&x->load, NULL, line.len, err);
	return th_json_parse(line, &doc, err) ?: take_line(x, line, th_json_root(doc), err);
}

static enum th_code take_all(struct arriving *x, th_session_import_fn *fn, void *ctx,
			     struct th_err *err)
{
	struct th_str line;
	enum th_code code = TH_OK;
	int got = 0;

	while (!code && (got = fn(ctx, &line, err)) > 0) {
		x->line++;
		code = take(x, line, err);
	}
	if (code == TH_EEXIST) /* found out at the end, and not the line's fault */
		return code;
	if (code && !x->count && x->line == 1)
		return th_prefix(err, code, "this is not an exported session: line 1");
	if (code)
		return th_prefix(err, code, "line %llu", (unsigned long long)x->line);
	if (got == TH_EIO)
		return TH_EIO;
	if (got < 0)
		return th_prefix(err, (enum th_code)got, "line %llu",
				 (unsigned long long)x->line + 1);
	if (!x->line)
		return th_fail(err, TH_EPROTO, "it is empty: nothing was exported into it");
	if (!x->ended)
		return th_fail(err, TH_EPROTO, "it is cut off after line %llu, before its end",
			       (unsigned long long)x->line);
	return store_all(x, err);
}

enum th_code th_session_import(struct th_store *reads, struct th_store *store,
			       th_session_import_fn *fn, void *ctx, struct th_arena *a,
			       struct th_str *ret, struct th_err *err)
{
	struct arriving x = { .reads = reads, .store = store };
	enum th_code code;

	th_arena_init(&x.memory, 2 * TH_BATCH_MEMORY_MAX);
	th_session_init(&x.fold);
	code = take_all(&x, fn, ctx, err);
	if (!code)
		*ret = th_arena_str(a, th_import_newest(&x)->row.session_id);
	for (size_t i = 0; i < x.count; i++) {
		free(x.list[i]->events);
		free(x.list[i]->digests);
	}
	th_session_deinit(&x.fold);
	th_arena_deinit(&x.memory);
	free(x.list);
	free(x.blobs);
	return code;
}
