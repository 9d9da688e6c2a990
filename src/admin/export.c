/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "admin/transfer_internal.h"
#include "core/session.h"
#include "driver/driver.h"

#define ROW_MEMORY_MAX (2 * TH_EVENT_DATA_MAX)

TH_TABLE(exported_session, "A session on its way.", true)

/* ---- both ends --------------------------------------------------------------------------- */

enum th_code th_export_count(struct th_export_load *load, size_t *kind, size_t len,
			     struct th_err *err)
{
	const struct {
		const char *what;
		const size_t *count;
		size_t max;
	} rows[] = {
		{ "sessions", &load->sessions, TH_EXPORT_SESSIONS_MAX },
		{ "events", &load->events, TH_EXPORT_EVENTS_MAX },
		{ "blobs", &load->blobs, TH_EXPORT_BLOBS_MAX },
		{ "bytes", &load->bytes, TH_EXPORT_SIZE_MAX },
	};

	if (kind)
		++*kind;
	load->bytes += len + 1;
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		if (*rows[i].count > rows[i].max)
			return th_fail(err, TH_ELIMIT,
				       "an exported session has at most %zu %s, with those that "
				       "belong to it",
				       rows[i].max, rows[i].what);
	return TH_OK;
}

enum th_code th_export_forks(size_t depth, struct th_err *err)
{
	return depth > TH_FORK_DEPTH_MAX
		   ? th_fail(err, TH_ELIMIT, "a fork of a fork of … more than %d times",
			     TH_FORK_DEPTH_MAX)
		   : TH_OK;
}

bool th_export_works_for(struct th_str metadata, struct th_str parent)
{
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);

	return th_json_unescape(th_json_raw_get(th_delegated_by(metadata), "session"), &name) &&
	       th_str_eq(th_buf_str(&name), parent);
}

/* ---- out --------------------------------------------------------------------------------- */

struct leaving {
	struct th_store *store;
	struct th_str session_id;
	th_session_export_fn *fn;
	void *ctx;
	struct th_export_load load;
	struct th_buf line;
	struct th_buf given;    /* names of children, each ended by a NUL */
	struct th_digest *told; /* blobs */
	size_t told_count, told_cap;
};

static enum th_code give(struct leaving *x, size_t *kind, struct th_err *err)
{
	enum th_code code = th_buf_check(&x->line, "a line of the session", err);

	if (!code)
		code = th_export_count(&x->load, kind, x->line.len, err);
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
	/* A tool's own word, not a reference, is said to be no blob. */
	if (code && code != TH_ENOENT)
		return code;
	if (bytes.len > TH_EXPORT_BLOB_MAX)
		return th_fail(err, TH_ELIMIT,
			       "the blob %.*s has %zu bytes; one of more than %zu cannot be "
			       "exported",
			       TH_FMT(hex), bytes.len, TH_EXPORT_BLOB_MAX);
	th_base64_encode(&text, bytes.ptr, bytes.len);
	th_jw_object(&w);
	th_jw_kstr(&w, "blob", hex);
	if (!code) {
		th_jw_kstr(&w, "media_type", th_json_get_str(v, "media_type"));
		th_jw_kstr(&w, "bytes", th_buf_str(&text));
	} else {
		th_jw_kbool(&w, "absent", true);
	}
	th_jw_object_end(&w);
	return give(x, &x->load.blobs, err);
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

void th_export_print_event(struct th_str session_id, const struct th_event *ev,
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

	th_export_print_event(x->session_id, ev, digest, &x->line);
	code = give(x, &x->load.events, err);
	if (!code && th_str_find(ev->data, TH_STR("\"blob\"")) >= 0)
		code = th_json_parse(ev->data, &doc, err) ?: give_blobs(x, th_json_root(doc), err);
	return code;
}

static enum th_code give_session(struct leaving *x, const struct th_session_row *row, bool origin,
				 struct th_err *err)
{
	char hex[TH_SHA256_HEX_SIZE + 1];
	struct th_exported_session head = {
		.version = 1,
		.session = row->session_id,
		.origin = origin,
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
	th_table_print(&th_exported_session_table, &head, &w);
	x->session_id = row->session_id;
	code = give(x, &x->load.sessions, err);
	if (!code)
		code = x->store->kind->read(x->store, row->session_id, row->parent_seq + 1,
					    row->head_seq, give_event, x, err);
	return code;
}

/* ---- what it was forked from ---- */

static enum th_code note_digest(void *ctx, const struct th_event *ev,
				const struct th_digest *digest, struct th_err *err)
{
	(void)ev;
	(void)err;
	*(struct th_digest *)ctx = *digest;
	return TH_OK;
}

/* As far as the fork shares it, and at least its own first event. */
static enum th_code give_origin(struct leaving *x, struct th_str id, uint64_t seq, size_t depth,
				struct th_err *err)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_session_row row;
	enum th_code code;

	th_arena_init(&a, ROW_MEMORY_MAX);
	code = x->store->kind->get(x->store, id, &a, &row, err) ?: th_export_forks(depth, err);
	if (code)
		return code;
	row.head_seq = TH_MAX(seq, row.parent_seq + 1);
	code = x->store->kind->read(x->store, id, row.head_seq, row.head_seq, note_digest,
				    &row.head, err);
	if (!code && row.parent.len)
		code = give_origin(x, row.parent, row.parent_seq, depth + 1, err);
	return code ?: give_session(x, &row, true, err);
}

/* ---- those that work for it ---- */

struct family {
	struct th_session fold;
	uint64_t own;         /* its first own event */
	struct th_buf causes; /* uint64_t, of its own delegations */
};

static enum th_code note_child(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			       struct th_err *err)
{
	struct th_effects fx TH_UNSET;
	struct family *f = ctx;

	(void)digest;
	if (ev->kind == TH_EV_DELEGATION_STARTED && ev->seq >= f->own && ev->cause >= f->own)
		th_buf_add(&f->causes, th_str_n(&ev->cause, sizeof(ev->cause)));
	return th_session_step(&f->fold, ev, &fx, err);
}

static bool is_open(const struct th_session *s, uint64_t intent_seq)
{
	for (size_t i = 0; i < s->call_count; i++)
		if (s->calls[i].intent_seq == intent_seq && s->calls[i].phase == TH_CALL_INTENDED)
			return !s->calls[i].before; /* else it began with an earlier one */
	return false;
}

static bool is_given(struct leaving *x, struct th_str id)
{
	struct th_str rest = th_buf_str(&x->given);

	while (rest.len)
		if (th_str_eq(th_str_split(&rest, '\0'), id))
			return true;
	th_buf_add(&x->given, id);
	th_buf_add_char(&x->given, '\0');
	return false;
}

static enum th_code give_tree(struct leaving *x, const struct th_session_row *row, int depth,
			      struct th_err *err);

/* Its name is made of the parent's and the number of the call, whatever the log says. */
static enum th_code give_child(struct leaving *x, const struct th_session_row *parent,
			       uint64_t intent_seq, bool open, int depth, struct th_err *err)
{
	struct th_buf id TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SESSION_ID_MAX + 1);
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_session_row row;
	enum th_code code;

	th_arena_init(&a, ROW_MEMORY_MAX);
	th_delegate_id(parent->session_id, intent_seq, &id);
	code = x->store->kind->get(x->store, th_buf_str(&id), &a, &row, err);
	if (!code && !row.parent.len && th_export_works_for(row.metadata, parent->session_id))
		return is_given(x, row.session_id) ? TH_OK : give_tree(x, &row, depth + 1, err);
	if (code && code != TH_ENOENT)
		return code;
	if (!open)
		return TH_OK;
	return th_fail(err, TH_ECORRUPT,
		       "session %.*s, which works for %.*s, is not in the store; resume %.*s "
		       "here first, which settles its call",
		       TH_FMT(th_buf_str(&id)), TH_FMT(parent->session_id),
		       TH_FMT(parent->session_id));
}

/* They are read after its row: at most they are further than it knows. */
static enum th_code give_children(struct leaving *x, const struct th_session_row *row, int depth,
				  struct th_err *err)
{
	struct family f = { .own = row->parent_seq + 1 };
	enum th_code code;

	th_session_init(&f.fold);
	th_buf_init(&f.causes, TH_MIB);
	code =
	    x->store->kind->read(x->store, row->session_id, 1, row->head_seq, note_child, &f, err);
	if (!code)
		code = th_buf_check(&f.causes, "the list of sessions that work for it", err);
	for (size_t at = 0; !code && at < f.causes.len; at += sizeof(uint64_t)) {
		uint64_t cause;

		memcpy(&cause, f.causes.ptr + at, sizeof(cause));
		code = give_child(x, row, cause, is_open(&f.fold, cause), depth, err);
	}
	th_buf_deinit(&f.causes);
	th_session_deinit(&f.fold);
	return code;
}

/* Behind what it needs. */
static enum th_code give_tree(struct leaving *x, const struct th_session_row *row, int depth,
			      struct th_err *err)
{
	if (depth > TH_DELEGATE_DEPTH_MAX)
		return th_fail(err, TH_ELIMIT, "agents work for agents more than %d deep",
			       TH_DELEGATE_DEPTH_MAX);
	return give_children(x, row, depth, err) ?: give_session(x, row, false, err);
}

static enum th_code give_all(struct leaving *x, struct th_str id, struct th_err *err)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_session_row row;
	enum th_code code;

	th_arena_init(&a, ROW_MEMORY_MAX);
	code = x->store->kind->get(x->store, id, &a, &row, err);
	if (!code && row.parent.len)
		code = give_origin(x, row.parent, row.parent_seq, 1, err);
	code = code ?: give_tree(x, &row, 0, err);
	if (code)
		return code;
	th_buf_add_cstr(&x->line, "{\"end\":1}");
	return give(x, NULL, err);
}

enum th_code th_session_export(struct th_store *store, struct th_str session_id,
			       th_session_export_fn *fn, void *ctx, struct th_err *err)
{
	struct leaving x = { .store = store, .fn = fn, .ctx = ctx };
	enum th_code code;

	th_buf_init(&x.line, TH_JSON_SIZE_MAX);
	th_buf_init(&x.given, 2 * TH_EXPORT_SESSIONS_MAX * (TH_SESSION_ID_MAX + (size_t)1));
	code = give_all(&x, session_id, err);
	th_buf_deinit(&x.line);
	th_buf_deinit(&x.given);
	free(x.told);
	return code;
}
