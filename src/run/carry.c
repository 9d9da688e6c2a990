/* SPDX-License-Identifier: Apache-2.0 */
#include "run/carry.h"

#include <stdlib.h>

#include "base/text.h"
#include "core/session.h"
#include "run/driver.h"

#define ROW_MEMORY_MAX (2 * TH_EVENT_DATA_MAX)

/* The first line of a session. */
#define TH_FIELDS_carried(F)                                                      \
	F(carried, int, version, "thole_session", TH_REQ, "1")                    \
	F(carried, str, session, "session", TH_REQ | TH_NONEMPTY, "its name")     \
	F(carried, str, user, "user", 0, "whose it is")                           \
	F(carried, str, title, "title", 0, "start of its first message")          \
	F(carried, str, parent, "parent", 0, "what it was forked from")           \
	F(carried, int, parent_seq, "parent_seq", TH_NONEG, "after which event")  \
	F(carried, int, epoch, "epoch", TH_POSITIVE, "of its last owner")         \
	F(carried, int, created_ms, "created_ms", TH_NONEG, "when it began")      \
	F(carried, raw, metadata, "metadata", 0, "object of the caller")          \
	F(carried, int, head_seq, "head_seq", TH_REQ | TH_POSITIVE, "last event") \
	F(carried, str, head, "head", TH_REQ, "its digest")
TH_STRUCT(carried)
TH_TABLE(carried, "A session on its way.", true)

/* ---- out --------------------------------------------------------------------------------- */

struct leaving {
	struct th_store *store;
	struct th_str session_id;
	th_carry_out_fn *fn;
	void *ctx;
	struct th_buf line;
	struct th_digest *told; /* blobs */
	size_t told_count, told_cap;
};

static enum th_code give(struct leaving *x, struct th_err *err)
{
	enum th_code code = th_buf_check(&x->line, "a line of the session", err);

	if (!code)
		code = x->fn(x->ctx, th_buf_str(&x->line), err);
	th_buf_clear(&x->line);
	return code;
}

/* The newest are most often meant again. */
static bool told(struct leaving *x, const struct th_digest *hash)
{
	for (size_t i = x->told_count; i-- > 0;)
		if (th_digest_eq(&x->told[i], hash))
			return true;
	if (x->told_count == x->told_cap) {
		x->told_cap = TH_MAX(2 * x->told_cap, (size_t)16);
		x->told = th_realloc(x->told, x->told_cap * sizeof(*x->told));
	}
	x->told[x->told_count++] = *hash;
	return false;
}

static enum th_code give_blob(struct leaving *x, const struct th_json *v, struct th_err *err)
{
	struct th_buf bytes TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_BLOB_MAX);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_BLOB_MAX);
	struct th_str hex = th_json_get_str(v, "blob");
	struct th_jw w = th_jw(&x->line);
	struct th_digest hash;
	enum th_code code;

	if (!th_digest_parse(hex, &hash) || told(x, &hash))
		return TH_OK;
	code = x->store->kind->blob(x->store, &hash, &bytes, err);
	if (code == TH_ENOENT) { /* a tool's own word, not a reference */
		x->told_count--;
		return TH_OK;
	}
	if (code)
		return code;
	if (bytes.len > TH_CARRY_BLOB_MAX)
		return th_fail(err, TH_ELIMIT,
			       "the blob %.*s has %zu bytes; one of more than %zu cannot be "
			       "exported",
			       TH_FMT(hex), bytes.len, TH_CARRY_BLOB_MAX);
	th_base64_encode(&text, bytes.ptr, bytes.len);
	th_jw_object(&w);
	th_jw_kstr(&w, "blob", hex);
	th_jw_kstr(&w, "media_type", th_json_get_str(v, "media_type"));
	th_jw_kstr(&w, "bytes", th_buf_str(&text));
	th_jw_object_end(&w);
	return give(x, err);
}

/* Depth is bounded by the parser. */
static enum th_code give_blobs(struct leaving *x, const struct th_json *v, struct th_err *err)
{
	struct th_json_iter it = th_json_iter(v);
	enum th_code code = TH_OK;

	if (th_json_get_str(v, "blob").ptr)
		code = give_blob(x, v, err);
	while (!code && th_json_next(&it))
		if (th_json_is_object(it.val) || th_json_is_array(it.val))
			code = give_blobs(x, it.val, err);
	return code;
}

static void print_event(struct th_str session_id, const struct th_event *ev,
			const struct th_digest *digest, struct th_buf *out)
{
	struct th_jw w = th_jw(out);
	char hex[TH_SHA256_HEX_SIZE + 1];

	th_digest_hex(digest, hex);
	th_jw_object(&w);
	th_jw_key(&w, TH_STR("event"));
	th_event_print(session_id, ev, &w);
	th_jw_kstr(&w, "digest", th_str_of(hex));
	th_jw_object_end(&w);
}

static enum th_code give_event(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			       struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct leaving *x = ctx;
	enum th_code code;

	print_event(x->session_id, ev, digest, &x->line);
	code = give(x, err);
	if (!code && th_str_find(ev->data, TH_STR("\"blob\"")) >= 0)
		code = th_json_parse(ev->data, &doc, err) ?: give_blobs(x, th_json_root(doc), err);
	return code;
}

static enum th_code give_session(struct leaving *x, const struct th_session_row *row,
				 struct th_err *err)
{
	char hex[TH_SHA256_HEX_SIZE + 1];
	struct th_carried head = {
		.version = 1,
		.session = row->session_id,
		.user = row->user,
		.title = row->title,
		.parent = row->parent,
		.parent_seq = (int64_t)row->parent_seq,
		.epoch = row->epoch,
		.created_ms = row->created_ms,
		.metadata = row->metadata,
		.head_seq = (int64_t)row->head_seq,
		.head = { hex, TH_SHA256_HEX_SIZE },
	};
	struct th_jw w = th_jw(&x->line);
	enum th_code code;

	th_digest_hex(&row->head, hex);
	th_table_print(&th_carried_table, &head, &w);
	x->session_id = row->session_id;
	code = give(x, err);
	if (!code)
		code = x->store->kind->read(x->store, row->session_id, row->parent_seq + 1,
					    row->head_seq, give_event, x, err);
	return code;
}

/* Names of sessions, one behind the other, each ended by a NUL. */
static enum th_code note_child(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			       struct th_err *err)
{
	struct th_buf *names = ctx;

	(void)digest;
	(void)err;
	if (ev->kind == TH_EV_DELEGATION_STARTED &&
	    th_json_unescape(th_json_raw_get(ev->data, "child"), names))
		th_buf_add_char(names, '\0');
	return TH_OK;
}

static enum th_code give_tree(struct leaving *x, struct th_str id, int depth, struct th_err *err);

/* Those that work on its calls.  They are read after its row: at most they are further than it
 * knows. */
static enum th_code give_children(struct leaving *x, const struct th_session_row *row, int depth,
				  struct th_err *err)
{
	struct th_buf names TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	enum th_code code = x->store->kind->read(x->store, row->session_id, row->parent_seq + 1,
						 row->head_seq, note_child, &names, err);
	struct th_str rest;

	if (!code)
		code = th_buf_check(&names, "the list of sessions that work for it", err);
	rest = th_buf_str(&names);
	while (!code && rest.len) {
		code = give_tree(x, th_str_split(&rest, '\0'), depth + 1, err);
		if (code == TH_ENOENT) /* it is not there: who goes on begins it anew */
			code = TH_OK;
	}
	return code;
}

/* What it needs first. */
static enum th_code give_tree(struct leaving *x, struct th_str id, int depth, struct th_err *err)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit);
	struct th_session_row row;
	enum th_code code;

	th_arena_init(&a, ROW_MEMORY_MAX);
	code = x->store->kind->get(x->store, id, &a, &row, err);
	if (!code && depth > TH_FORK_DEPTH_MAX)
		code = th_fail(err, TH_ELIMIT, "a fork of a fork of … more than %d times",
			       TH_FORK_DEPTH_MAX);
	if (!code && row.parent.len)
		code = give_tree(x, row.parent, depth + 1, err);
	if (!code)
		code = give_children(x, &row, depth, err);
	return code ?: give_session(x, &row, err);
}

enum th_code th_carry_out(struct th_store *store, struct th_str session_id, th_carry_out_fn *fn,
			  void *ctx, struct th_err *err)
{
	struct leaving x = { .store = store, .fn = fn, .ctx = ctx };
	enum th_code code;

	th_buf_init(&x.line, TH_JSON_SIZE_MAX);
	code = give_tree(&x, session_id, 0, err);
	if (!code) {
		th_buf_add_cstr(&x.line, "{\"end\":1}");
		code = give(&x, err);
	}
	th_buf_deinit(&x.line);
	free(x.told);
	return code;
}

/* ---- in ---------------------------------------------------------------------------------- */

struct arriving {
	struct th_store *store;
	uint64_t line;
	struct th_arena memory; /* of the session that is being read */
	struct th_session_row row;
	struct th_digest first, chain; /* before its own events; after those read so far */
	struct th_session fold;
	struct th_event *events;
	struct th_digest *digests;
	size_t event_count, event_cap;
	struct th_blob *blobs;
	size_t blob_count, blob_cap;
	bool open; /* a session is being read; */
	bool here; /* which the store has already, */
	bool same; /* and that is the same */
	bool ended;
};

static void arrival_clear(struct arriving *x)
{
	th_session_deinit(&x->fold);
	th_session_init(&x->fold);
	th_arena_deinit(&x->memory);
	th_arena_init(&x->memory, TH_BATCH_MEMORY_MAX);
	x->row = (struct th_session_row){ 0 };
	x->first = x->chain = (struct th_digest){ 0 };
	x->event_count = x->blob_count = 0;
	x->open = x->here = x->same = false;
}

static enum th_code too_much(struct th_err *err)
{
	return th_fail(err, TH_ELIMIT, "the session is too large: it takes more than %zu bytes",
		       TH_BATCH_MEMORY_MAX);
}

/* What the store has of the parents, into the fold. */
static enum th_code fold_event(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			       struct th_err *err)
{
	struct arriving *x = ctx;
	struct th_effects fx TH_UNSET;

	x->chain = *digest;
	return th_session_step(&x->fold, ev, &fx, err);
}

static enum th_code begin_fork(struct arriving *x, struct th_err *err)
{
	struct th_session_row *row = &x->row;
	enum th_code code;

	code = x->store->kind->read(x->store, row->parent, 1, row->parent_seq, fold_event, x, err);
	if (!code && x->fold.seq != row->parent_seq)
		code = th_fail(err, TH_ECORRUPT, "its parent %.*s has no event %llu",
			       TH_FMT(row->parent), (unsigned long long)row->parent_seq);
	x->first = x->chain;
	return code;
}

static enum th_code check_head(const struct th_carried *d, const struct th_json *v,
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

static enum th_code begin(struct arriving *x, const struct th_json *v, struct th_err *err)
{
	struct th_session_row *row = &x->row, there;
	struct th_carried d;
	enum th_code code;

	x->open = true;
	code = th_table_parse(&th_carried_table, v, &x->memory, &d, err);
	if (!code)
		code = check_head(&d, v, err);
	if (code)
		return code;
	*row = (struct th_session_row){
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
	if (!th_digest_parse(d.head, &row->head))
		return th_fail(err, TH_EPROTO, "head is no digest");
	code = x->store->kind->get(x->store, row->session_id, &x->memory, &there, err);
	x->here = !code;
	x->same =
	    x->here && there.head_seq == row->head_seq && th_digest_eq(&there.head, &row->head);
	if (code && code != TH_ENOENT)
		return code;
	return row->parent.len && !x->here ? begin_fork(x, err) : TH_OK;
}

static enum th_code room(struct arriving *x, struct th_err *err)
{
	if (x->event_count < x->event_cap)
		return TH_OK;
	if (x->event_count >= TH_BATCH_EVENTS_MAX - 1)
		return th_fail(err, TH_ELIMIT,
			       "a session of more than %d events cannot be imported",
			       TH_BATCH_EVENTS_MAX - 1);
	x->event_cap = TH_MIN(TH_MAX(2 * x->event_cap, (size_t)64), (size_t)TH_BATCH_EVENTS_MAX);
	x->events = th_realloc(x->events, x->event_cap * sizeof(*x->events));
	x->digests = th_realloc(x->digests, x->event_cap * sizeof(*x->digests));
	return TH_OK;
}

/* The very line that we would write, with the digest that the chain gives: nothing else stands in
 * it, and nothing twice. */
static bool is_ours(const struct arriving *x, const struct th_event *ev,
		    const struct th_digest *digest, struct th_str line)
{
	struct th_buf ours TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);

	print_event(x->row.session_id, ev, digest, &ours);
	return th_str_eq(th_buf_str(&ours), th_str_trim(line));
}

/* Data counts as it is written: the digest is over its bytes. */
static enum th_code add_event(struct arriving *x, const struct th_json *v, struct th_str line,
			      struct th_err *err)
{
	struct th_str raw = th_json_raw_get(th_json_raw_get(line, "event"), "data");
	struct th_effects fx TH_UNSET;
	struct th_digest found;
	struct th_event ev;
	enum th_code code;

	if (!x->open)
		return th_fail(err, TH_EPROTO, "an event stands before its session");
	if (x->here)
		return TH_OK;
	code = room(x, err);
	if (!code)
		code = th_event_parse(th_json_get(v, "event"), &x->memory, &ev, err);
	if (code)
		return code;
	ev.data = th_arena_str(&x->memory, raw);
	if (!ev.data.ptr)
		return too_much(err);
	found = th_event_digest(&x->chain, x->row.session_id, &ev);
	if (ev.seq != x->fold.seq + 1 || !is_ours(x, &ev, &found, line))
		return th_fail(err, TH_ECORRUPT,
			       "event %llu is not what was written: the chain of digests breaks",
			       (unsigned long long)ev.seq);
	if ((ev.kind == TH_EV_SESSION_FORKED) != (x->event_count == 0 && x->row.parent.len > 0))
		return th_fail(err, TH_EPROTO, "a fork, and only a fork, begins as one");
	code = th_session_step(&x->fold, &ev, &fx, err);
	if (code)
		return code;
	x->chain = x->digests[x->event_count] = found;
	x->events[x->event_count++] = ev;
	return TH_OK;
}

static enum th_code add_blob(struct arriving *x, const struct th_json *v, struct th_err *err)
{
	struct th_buf bytes TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_CARRY_BLOB_MAX);
	struct th_blob blob;
	struct th_digest found;

	if (!x->open)
		return th_fail(err, TH_EPROTO, "a blob stands before its session");
	if (x->here)
		return TH_OK;
	if (!th_digest_parse(th_json_get_str(v, "blob"), &blob.hash))
		return th_fail(err, TH_EPROTO, "blob is no hash");
	if (!th_base64_decode(&bytes, th_json_get_str(v, "bytes")))
		return th_fail(err, TH_EPROTO, "bytes is no base64");
	if (bytes.failed)
		return th_fail(err, TH_ELIMIT, "a blob has at most %zu bytes", TH_CARRY_BLOB_MAX);
	found = th_sha256_of(bytes.ptr, bytes.len);
	if (!th_digest_eq(&found, &blob.hash))
		return th_fail(err, TH_ECORRUPT, "the blob is not what was written");
	blob.media_type =
	    th_arena_str(&x->memory, th_utf8_cut(th_json_get_str(v, "media_type"), TH_KIB));
	blob.bytes = th_arena_str(&x->memory, th_buf_str(&bytes));
	if (!blob.media_type.ptr || !blob.bytes.ptr)
		return too_much(err);
	if (x->blob_count == x->blob_cap) {
		x->blob_cap = TH_MAX(2 * x->blob_cap, (size_t)16);
		x->blobs = th_realloc(x->blobs, x->blob_cap * sizeof(*x->blobs));
	}
	x->blobs[x->blob_count++] = blob;
	return TH_OK;
}

/* Of the first message, as the driver makes it. */
static struct th_str title_of(struct arriving *x)
{
	struct th_buf line TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	for (size_t i = 0; i < x->event_count; i++) {
		struct th_json_doc *doc = NULL;

		if (x->events[i].kind != TH_EV_MESSAGE)
			continue;
		if (!th_json_parse(x->events[i].data, &doc, NULL))
			th_text_line(&line, th_json_get_str(th_json_root(doc), "content"),
				     TH_TITLE_MAX);
		th_json_free(doc);
		break;
	}
	return th_arena_str(&x->memory, th_buf_str(&line));
}

/* The columns that the log gives are taken from there. */
static void fill_row(struct arriving *x)
{
	struct th_session_row *row = &x->row;
	const struct th_session *s = &x->fold;

	row->agent = s->agent_name;
	row->model = s->model;
	row->state = th_str_of(th_state_name(s->state));
	row->iteration = s->totals.turns;
	row->calls = s->totals.calls;
	row->tokens_in = s->totals.tokens_in;
	row->tokens_out = s->totals.tokens_out;
	row->cost_nano = s->totals.cost_nano;
	row->updated_ms = s->updated_ms;
	if (row->parent.len)
		return;
	row->created_ms = s->created_ms;
	row->title = title_of(x);
}

static enum th_code store_session(struct arriving *x, struct th_err *err)
{
	struct th_append a = {
		.create = true,
		.row = &x->row,
		.seq_before = x->row.parent_seq,
		.head_before = x->first,
		.events = x->events,
		.digests = x->digests,
		.event_count = x->event_count,
	};
	struct th_batch batch = {
		.appends = &a, .append_count = 1, .blobs = x->blobs, .blob_count = x->blob_count
	};
	struct th_err ignored;
	enum th_code code;

	if (!x->event_count || x->fold.seq != x->row.head_seq ||
	    !th_digest_eq(&x->chain, &x->row.head))
		return th_fail(err, TH_ECORRUPT,
			       "session %.*s is not whole: its log ends at event %llu of %llu",
			       TH_FMT(x->row.session_id), (unsigned long long)x->fold.seq,
			       (unsigned long long)x->row.head_seq);
	fill_row(x);
	code = x->store->kind->commit_now(x->store, &batch, err);
	if (!code && a.result)
		code = th_fail(err, a.result, "session %.*s cannot be written here: %s",
			       TH_FMT(x->row.session_id), th_code_name(a.result));
	/* It would also end with this process; giving it back is a courtesy to others. */
	if (!code)
		(void)x->store->kind->release(x->store, x->row.session_id, x->row.epoch, &ignored);
	return code;
}

/* `last`: it is the one that was meant; else what it needs. */
static enum th_code finish(struct arriving *x, bool last, struct th_err *err)
{
	if (!x->open)
		return last ? th_fail(err, TH_EPROTO, "there is no session in it") : TH_OK;
	if (x->here && last)
		return th_fail(err, TH_EEXIST, "the store has a session %.*s already",
			       TH_FMT(x->row.session_id));
	/* What it did meanwhile must not be done again. */
	if (x->here && !x->same && th_delegated_by(x->row.metadata).len)
		return th_fail(err, TH_EEXIST,
			       "the store has a session %.*s already, and it is another",
			       TH_FMT(x->row.session_id));
	return x->here ? TH_OK : store_session(x, err);
}

static enum th_code take(struct arriving *x, struct th_str line, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *v;
	enum th_code code;

	if (x->ended)
		return th_str_trim(line).len
			   ? th_fail(err, TH_EPROTO, "something stands behind the end")
			   : TH_OK;
	code = th_json_parse(line, &doc, err);
	if (code)
		return code;
	v = th_json_root(doc);
	if (th_json_get(v, "event"))
		return add_event(x, v, line, err);
	if (th_json_get(v, "blob"))
		return add_blob(x, v, err);
	if (th_json_get(v, "thole_session")) {
		code = finish(x, false, err);
		if (!code)
			arrival_clear(x);
		return code ?: begin(x, v, err);
	}
	if (!th_json_get(v, "end"))
		return th_fail(err, TH_EPROTO, "this is no line of an exported session");
	x->ended = true;
	return finish(x, true, err);
}

enum th_code th_carry_in(struct th_store *store, th_carry_in_fn *fn, void *ctx, struct th_arena *a,
			 struct th_str *ret, struct th_err *err)
{
	struct arriving x = { .store = store };
	struct th_str line;
	int got = 0;
	enum th_code code = TH_OK;

	th_arena_init(&x.memory, TH_BATCH_MEMORY_MAX);
	th_session_init(&x.fold);
	while (!code && (got = fn(ctx, &line, err)) > 0) {
		x.line++;
		code = take(&x, line, err);
	}
	if (code)
		th_prefix(err, code, "line %llu", (unsigned long long)x.line);
	else if (got < 0)
		code = (enum th_code)got;
	else if (!x.ended)
		code = th_fail(err, TH_EPROTO, "it ends after line %llu, before its end",
			       (unsigned long long)x.line);
	if (!code)
		*ret = th_arena_str(a, x.row.session_id);
	th_session_deinit(&x.fold);
	th_arena_deinit(&x.memory);
	free(x.events);
	free(x.digests);
	free(x.blobs);
	return code;
}
