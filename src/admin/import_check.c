/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_check.c - whether the sessions of a file belong together, and may be stored here.
 */
#include <stdlib.h>

#include "admin/import_internal.h"

struct arrived *th_import_newest(const struct arriving *x)
{
	return x->count ? x->list[x->count - 1] : NULL;
}

struct arrived *th_import_find(const struct arriving *x, struct th_str id)
{
	for (size_t i = x->count; i-- > 0;)
		if (th_str_eq(x->list[i]->row.session_id, id))
			return x->list[i];
	return NULL;
}

/* What is not the session that is meant is there because a later one needs it; NULL: none does. */
static const struct arrived *needed_by(const struct arriving *x, size_t i)
{
	const struct arrived *s = x->list[i];

	for (size_t j = i + 1; j < x->count; j++) {
		const struct arrived *later = x->list[j];

		if (s->origin ? th_str_eq(later->row.parent, s->row.session_id)
			      : !later->origin && !s->row.parent.len &&
				    th_export_works_for(s->row.metadata, later->row.session_id))
			return later;
	}
	return NULL;
}

/* What it is there for; those behind it are checked already. */
static enum th_code check_place(const struct arriving *x, size_t i, struct th_err *err)
{
	struct arrived *s = x->list[i];
	const struct arrived *later = needed_by(x, i);

	if (i + 1 < x->count && !later)
		return th_fail(err, TH_EPROTO, "session %.*s does not belong to what follows it",
			       TH_FMT(s->row.session_id));
	s->depth = later && !s->origin ? later->depth + 1 : 0;
	if (s->depth > TH_DELEGATE_DEPTH_MAX)
		return th_fail(err, TH_ELIMIT, "agents work for agents more than %d deep",
			       TH_DELEGATE_DEPTH_MAX);
	return TH_OK;
}

static enum th_code check_member(const struct arriving *x, const struct arrived *s,
				 struct th_err *err)
{
	struct th_str rest = s->children;

	/* What it did meanwhile must not be done again. */
	if (s->here && !s->same && !s->origin)
		return th_fail(err, TH_EEXIST,
			       "this log has a session %.*s already, and it is another",
			       TH_FMT(s->row.session_id));
	while (rest.len) {
		struct th_str id = th_str_split(&rest, '\0');
		const struct arrived *child = th_import_find(x, id);

		if (!child || child->origin ||
		    !th_export_works_for(child->row.metadata, s->row.session_id))
			return th_fail(err, TH_EPROTO,
				       "session %.*s, which works for %.*s, is missing", TH_FMT(id),
				       TH_FMT(s->row.session_id));
	}
	return TH_OK;
}

static int by_hash(const void *a, const void *b)
{
	const struct th_blob *x = a, *y = b;

	return memcmp(x->hash.bytes, y->hash.bytes, sizeof(x->hash.bytes));
}

static enum th_code check_blob(const struct arriving *x, struct th_str hex, struct th_err *err)
{
	struct th_buf bytes TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_BLOB_MAX);
	struct th_blob key = { 0 };
	enum th_code code;

	if (!th_digest_parse(hex, &key.hash) ||
	    (x->blob_count && bsearch(&key, x->blobs, x->blob_count, sizeof(key), by_hash)))
		return TH_OK;
	code = x->reads->kind->blob(x->reads, &key.hash, &bytes, err);
	return code != TH_ENOENT
		   ? code
		   : th_fail(err, TH_ECORRUPT, "the blob %.*s, which an event names, is missing",
			     TH_FMT(hex));
}

/* Depth is bounded by the parser. */
static enum th_code check_blobs(const struct arriving *x, const struct th_json *v,
				struct th_err *err)
{
	struct th_json_iter it = th_json_iter(v);
	enum th_code code = check_blob(x, th_json_get_str(v, "blob"), err);

	while (!code && th_json_next(&it))
		if (th_json_is_object(it.val) || th_json_is_array(it.val))
			code = check_blobs(x, it.val, err);
	return code;
}

enum th_code th_import_check(struct arriving *x, struct th_err *err)
{
	enum th_code code = TH_OK;

	if (th_import_newest(x)->here)
		return th_fail(err, TH_EEXIST, "this log has a session %.*s already",
			       TH_FMT(th_import_newest(x)->row.session_id));
	if (th_import_newest(x)->origin)
		return th_fail(err, TH_EPROTO, "the fork is missing for which session %.*s is here",
			       TH_FMT(th_import_newest(x)->row.session_id));
	for (size_t i = x->count; !code && i-- > 0;)
		code = check_place(x, i, err);
	for (size_t i = 0; !code && i < x->count; i++)
		code = check_member(x, x->list[i], err);
	if (x->blob_count)
		qsort(x->blobs, x->blob_count, sizeof(*x->blobs), by_hash);
	for (size_t i = 0; !code && i < x->count; i++) {
		const struct arrived *s = x->list[i];

		for (size_t k = 0; !code && k < s->count; k++) {
			struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;

			if (th_str_find(s->events[k].data, TH_STR("\"blob\"")) < 0)
				continue;
			code = th_json_parse(s->events[k].data, &doc, err);
			if (!code)
				code = check_blobs(x, th_json_root(doc), err);
		}
	}
	return code;
}
