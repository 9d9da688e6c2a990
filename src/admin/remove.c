/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/remove.h"

#include <stdlib.h>

#include "admin/transfer_internal.h"
#include "base/text.h"
#include "core/session.h"

#define ROW_MEMORY_MAX (2 * TH_EVENT_DATA_MAX)

struct th_family *th_family_free(struct th_family *f)
{
	if (f)
		th_arena_deinit(&f->memory);
	free(f);
	return NULL;
}

struct search {
	struct th_store *store;
	struct th_family *family;
	struct th_buf causes; /* INTENT events of calls on which sessions work; 8 bytes each */
	struct th_buf place;  /* the last one of an executor that its events name */
	uint64_t own;         /* the first event that is not shared with a parent */
};

static enum th_code add(struct th_family *f, struct th_str id, struct th_err *err)
{
	if (f->count == TH_REMOVE_SESSIONS_MAX)
		return th_fail(err, TH_ELIMIT, "more than %d sessions work for it",
			       TH_REMOVE_SESSIONS_MAX - 1);
	id = th_arena_str(&f->memory, id);
	if (!id.ptr)
		return th_fail_memory(err);
	f->ids[f->count++] = id;
	return TH_OK;
}

/* An intent without a journal may have been written before there was an executor. */
static void note_place(struct search *s, struct th_str intent)
{
	struct th_str place = th_json_raw_get(intent, "executor");

	if (!place.len && !th_json_raw_get(intent, "journal").len)
		return;
	th_buf_clear(&s->place);
	if (!th_json_unescape(place, &s->place) || s->place.len > TH_FLEET_TEXT_MAX)
		th_buf_clear(&s->place);
}

static enum th_code note_child(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			       struct th_err *err)
{
	struct search *s = ctx;

	(void)digest;
	if (ev->kind == TH_EV_INTENT)
		note_place(s, ev->data);
	if (ev->kind != TH_EV_DELEGATION_STARTED || ev->cause < s->own)
		return TH_OK;
	th_buf_add(&s->causes, th_str_n((const char *)&ev->cause, sizeof(ev->cause)));
	return th_buf_check(&s->causes, "the list of sessions that work for it", err);
}

/* Those that work for the one at `index`, behind the others. */
static enum th_code add_children(struct search *s, size_t index, struct th_err *err)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_str parent = s->family->ids[index];
	struct th_session_row row;
	enum th_code code;

	th_arena_init(&a, ROW_MEMORY_MAX);
	code = s->store->kind->get(s->store, parent, &a, &row, err);
	if (code)
		return code;
	s->own = row.parent_seq + 1;
	th_buf_clear(&s->causes);
	th_buf_clear(&s->place);
	code = s->store->kind->read(s->store, parent, s->own, row.head_seq, note_child, s, err);
	s->family->epochs[index] = row.epoch + 1;
	s->family->places[index] = th_arena_str(&s->family->memory, th_buf_str(&s->place));
	for (size_t at = 0; !code && at < s->causes.len; at += sizeof(uint64_t)) {
		struct th_buf id TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SESSION_ID_MAX + 1);
		struct th_session_row child;
		struct th_err absent;
		uint64_t cause;

		memcpy(&cause, s->causes.ptr + at, sizeof(cause));
		th_delegate_id(parent, cause, &id);
		th_arena_reset(&a);
		code = s->store->kind->get(s->store, th_buf_str(&id), &a, &child, &absent);
		if (!code && th_export_works_for(child.metadata, parent))
			code = add(s->family, child.session_id, err);
		else if (code == TH_ENOENT)
			code = TH_OK;
		else if (code && err)
			*err = absent;
	}
	return code;
}

/* One that works for another goes with that one. */
static enum th_code check_master(struct th_store *store, const struct th_session_row *row,
				 struct th_err *err)
{
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_str by = th_delegated_by(row->metadata);
	struct th_session_row master;
	struct th_err absent;

	if (!by.len || !th_json_unescape(th_json_raw_get(by, "session"), &name))
		return TH_OK;
	th_arena_init(&a, ROW_MEMORY_MAX);
	if (store->kind->get(store, th_buf_str(&name), &a, &master, &absent) == TH_ENOENT)
		return TH_OK;
	return th_fail(err, TH_EBUSY,
		       "session %.*s works for session %.*s, and is deleted with that one",
		       TH_FMT(row->session_id), TH_FMT(th_utf8_cut(th_buf_str(&name), 100)));
}

static enum th_code find_all(struct search *s, struct th_str id, struct th_err *err)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_session_row row;
	enum th_code code;

	th_arena_init(&a, ROW_MEMORY_MAX);
	code = s->store->kind->get(s->store, id, &a, &row, err);
	code = code ?: check_master(s->store, &row, err);
	code = code ?: add(s->family, id, err);
	for (size_t i = 0; i < s->family->count && !code; i++)
		code = add_children(s, i, err);
	return code;
}

enum th_code th_session_remove(struct th_store *reads, struct th_store *store,
			       struct th_str session_id, struct th_family **ret, struct th_err *err)
{
	struct search s = { .store = reads, .family = th_alloc(sizeof(*s.family)) };
	enum th_code code;

	th_arena_init(&s.family->memory, TH_REMOVE_SESSIONS_MAX *
					     (TH_SESSION_ID_MAX + TH_FLEET_TEXT_MAX + (size_t)32));
	th_buf_init(&s.causes, TH_MIB);
	th_buf_init(&s.place, TH_EVENT_DATA_MAX);
	code = find_all(&s, session_id, err);
	code = code ?: store->kind->remove(store, s.family->ids, s.family->count, err);
	th_buf_deinit(&s.causes);
	th_buf_deinit(&s.place);
	*ret = code ? th_family_free(s.family) : s.family;
	return code;
}
