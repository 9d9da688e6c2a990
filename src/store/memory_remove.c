/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_remove.c - sessions are removed, with the blobs that only they name.
 */
#include <stdlib.h>

#include "store/common.h"
#include "store/memory_internal.h"

static bool is_among(const struct th_str *ids, size_t count, struct th_str id)
{
	for (size_t i = 0; i < count; i++)
		if (th_str_eq(ids[i], id))
			return true;
	return false;
}

static enum th_code check_remove(const struct th_memory_handle *h, const struct th_str *ids,
				 size_t count, struct th_err *err)
{
	const struct th_memory *m = h->m;

	for (size_t i = 0; i < count; i++) {
		const struct th_memory_session *s = th_memory_session_find(m, ids[i]);

		if (!s)
			return th_fail_no_session(err, ids[i]);
		if (s->row.owner.len > 0 && !th_str_is(s->row.owner, h->owner) &&
		    th_memory_owner_alive(m, s->row.owner))
			return th_fail(err, TH_EBUSY,
				       "session %s is held by another runtime (%.*s)",
				       th_session_shown(ids[i]).text, TH_FMT(s->row.owner));
	}
	for (size_t i = 0; i < m->session_count; i++) {
		const struct th_session_row *row = &m->sessions[i]->row;

		if (row->parent.len > 0 && is_among(ids, count, row->parent) &&
		    !is_among(ids, count, row->session_id))
			return th_fail_forked(err, row->parent, row->session_id);
	}
	return TH_OK;
}

static enum th_code note_named(void *ctx, const struct th_digest *hash, struct th_err *err)
{
	struct th_memory *m = ctx;
	bool found;
	size_t place = th_memory_blob_place(m, hash, &found);

	(void)err;
	if (found)
		m->blobs[place].named = true;
	return TH_OK;
}

/* The blobs that `gone` names and no event that is left does. */
static void blobs_remove(struct th_memory *m, const struct th_memory_session *gone)
{
	struct th_err ignored;
	size_t kept = 0;

	for (size_t i = 0; i < m->blob_count; i++)
		m->blobs[i].named = false;
	for (size_t i = 0; i < gone->count; i++)
		(void)th_hashes_in(gone->records[i]->ev.data, note_named, m, &ignored);
	for (size_t i = 0; i < m->blob_count; i++) /* all but these stay */
		m->blobs[i].named = !m->blobs[i].named;
	for (size_t i = 0; i < m->session_count; i++)
		for (size_t k = 0; k < m->sessions[i]->count; k++)
			(void)th_hashes_in(m->sessions[i]->records[k]->ev.data, note_named, m,
					   &ignored);
	for (size_t i = 0; i < m->blob_count; i++) {
		if (m->blobs[i].named)
			m->blobs[kept++] = m->blobs[i];
		else
			free(m->blobs[i].bytes);
	}
	m->blob_count = kept;
}

enum th_code th_memory_remove(struct th_store *store, const struct th_str *ids, size_t count,
			      struct th_err *err)
{
	struct th_memory_handle *h = th_memory_handle(store);
	struct th_memory *m = h->m;
	enum th_code code = TH_OK;

	if (h->read_only)
		return th_fail(err, TH_EPERM, "the store was opened for reading only");
	if (h->failing != TH_OK)
		return th_fail(err, h->failing, "the store was told to fail");
	if (count > TH_REMOVE_SESSIONS_MAX)
		return th_fail(err, TH_ELIMIT, "more than %d sessions cannot be deleted at once",
			       TH_REMOVE_SESSIONS_MAX);
	while (h->first)
		th_memory_step(store);
	code = check_remove(h, ids, count, err);
	for (size_t i = 0; i < count && code == TH_OK; i++) {
		bool found;
		size_t place = th_memory_session_place(m, ids[i], &found);
		struct th_memory_session *gone = m->sessions[place];

		assert(found);
		m->session_count--;
		memmove(m->sessions + place, m->sessions + place + 1,
			(m->session_count - place) * sizeof(struct th_memory_session *));
		blobs_remove(m, gone);
		th_memory_session_free(gone);
	}
	return code;
}

/* All of it went at once. */
enum th_code th_memory_sweep(struct th_store *store, bool *ret_more, struct th_err *err)
{
	(void)store;
	(void)err;
	*ret_more = false;
	return TH_OK;
}
