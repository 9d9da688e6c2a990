/* SPDX-License-Identifier: Apache-2.0 */
/* describe.c - sessions given another title or other metadata, whether they are open here or not.
 */
#include <stdlib.h>

#include "admin/edit.h"
#include "api/work.h"

/* The session's row, if it is this user's; else it is as if it was not there. */
static enum th_code get_row(struct th_store *store, const char *id, const char *user,
			    struct th_arena *a, struct th_session_row *ret, struct th_err *err)
{
	enum th_code code = store->kind->get(store, th_str_of(id), a, ret, err);

	if (code == TH_ENOENT || (!code && user && !th_user_is(th_str_of(user), ret->user)))
		return th_fail(err, TH_ENOENT, "no session %s", id);
	return code;
}

enum th_code th_api_check_user(struct th_store *store, const char *id, const char *user,
			       struct th_err *err)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_session_row row;

	th_arena_init(&a, TH_MIB);
	return get_row(store, id, user, &a, &row, err);
}

static enum th_code describe_stored(struct th_store *reads, struct th_store *store, const char *id,
				    const struct th_ev_session_changed *change, struct th_err *err)
{
	struct th_edit edit;
	enum th_code code = th_edit_open(&edit, reads, store, th_str_of(id), err);

	if (code)
		return code;
	code = th_edit_describe(&edit, change, err);
	th_edit_close(&edit);
	return code;
}

/* It is neither open here nor being closed. */
static enum th_code check_free(struct thole_runtime *rt, const char *id, struct th_err *err)
{
	if (!th_runtime_has(rt->rt, th_str_of(id)))
		return TH_OK;
	return th_fail(err, TH_EBUSY,
		       "session %s is being closed, or works for one that is open here", id);
}

static int check_texts(const struct th_ev_session_changed *change, struct thole_error *err)
{
	int code = 0;

	if (change->title.ptr)
		code = th_api_text(change->title.ptr, "the title", 1, TH_PATH_LEN_MAX, err);
	if (!code && change->metadata.ptr)
		code = th_api_text(change->metadata.ptr, "the metadata", 2, TH_METADATA_MAX, err);
	if (!code && change->by.ptr)
		code = th_api_text(change->by.ptr, "who says so", 0, TH_PATH_LEN_MAX, err);
	return code;
}

static int check_describe(struct thole_runtime *rt, const char *session_id, const char *user,
			  const struct th_ev_session_changed *change, struct thole_error *err)
{
	int code = th_api_enter(rt, err);

	if (!code)
		code = th_api_text(session_id, "the session's name", 1, TH_SESSION_ID_MAX, err);
	if (!code && user)
		code = th_api_text(user, "the user", 1, TH_USER_MAX, err);
	return code ? code : check_texts(change, err);
}

/* The session is this user's, and may be changed so. */
static enum th_code check_change(struct th_store *store, const char *id, const char *user,
				 const struct th_ev_session_changed *change, struct th_err *err)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_session_row row;

	th_arena_init(&a, TH_MIB);
	return get_row(store, id, user, &a, &row, err) ?: th_edit_check_change(&row, change, err);
}

int thole_runtime_describe(struct thole_runtime *rt, const char *session_id, const char *user,
			   const char *title, const char *metadata, const char *by,
			   struct thole_error *err)
{
	const struct th_ev_session_changed change = { .title = th_str_of(title),
						      .metadata = th_str_of(metadata),
						      .by = th_str_of(by) };
	struct thole_session *s;
	struct th_store *store;
	struct th_err e = { 0 };
	enum th_code bad;
	int code = check_describe(rt, session_id, user, &change, err);

	if (code)
		return code;
	store = th_runtime_store(rt->rt);
	bad = check_change(store, session_id, user, &change, &e);
	th_api_sessions_reap(rt);
	s = th_api_open_find(rt, session_id);
	if (!bad && !s)
		bad = th_api_named_removed(rt, session_id, &e);
	if (!bad && !s)
		bad = check_free(rt, session_id, &e);
	if (bad || !s)
		return th_api_out(bad ?: describe_stored(store, store, session_id, &change, &e), &e,
				  err);
	code = th_api_check_ready(s, err);
	return code ? code
		    : th_api_out(th_driver_describe(rt->driver, s->handle, &change, &e), &e, err);
}

int thole_session_describe(struct thole_session *s, const char *title, const char *metadata,
			   const char *by, struct thole_error *err)
{
	const struct th_ev_session_changed change = { .title = th_str_of(title),
						      .metadata = th_str_of(metadata),
						      .by = th_str_of(by) };
	struct th_session_row row = { 0 };
	struct th_err e = { 0 };
	int code = th_api_check_ready(s, err);

	if (!code)
		code = check_texts(&change, err);
	if (code)
		return code;
	row.metadata = th_driver_metadata(s->rt->driver, s->handle);
	return th_api_out(th_edit_check_change(&row, &change, &e)
			      ?: th_driver_describe(s->rt->driver, s->handle, &change, &e),
			  &e, err);
}

const char *thole_session_metadata(const struct thole_session *s)
{
	return s && !s->opening ? th_driver_metadata(s->rt->driver, s->handle).ptr : NULL;
}

uint64_t thole_session_unwritten(const struct thole_session *s)
{
	if (!s || s->opening || th_driver_durable(s->rt->driver, s->handle))
		return 0;
	return th_api_fold(s)->seq;
}

/* ---- a description beside the loop ---- */

/*
 * It is looked up first; then one that is open here hears it, and the name of another one is in use
 * until it is written.
 */
struct description {
	struct th_api_work work;
	struct th_api_removed name; /* in the runtime's list, if `begun` */
	struct thole_runtime *rt;
	struct th_store *store; /* the loop's: what changes is written with it */
	struct th_ev_session_changed change;
	struct th_arena memory; /* of that */
	bool begun;
	char id[TH_SESSION_ID_MAX + 1], user[TH_USER_MAX + 1];
};

static enum th_code description_run(struct th_api_work *w, struct th_store *reads,
				    struct th_buf *out, struct th_err *err)
{
	const struct description *d = TH_CONTAINER_OF(w, struct description, work);

	(void)out; /* nothing is left to be told of */
	if (d->begun)
		return describe_stored(reads, d->store, d->id, &d->change, err);
	return check_change(reads, d->id, d->user[0] ? d->user : NULL, &d->change, err);
}

static enum th_code description_then(struct th_api_work *w, bool *ret_again, struct th_err *err)
{
	struct description *d = TH_CONTAINER_OF(w, struct description, work);
	struct thole_session *s;
	enum th_code code;

	if (d->begun)
		return TH_OK;
	th_api_sessions_reap(d->rt);
	s = th_api_open_find(d->rt, d->id);
	if (s && (s->opening || s->removing))
		return th_fail(err, TH_EBUSY, "session %s is being %s; try again in a moment",
			       d->id, s->opening ? "opened" : "deleted");
	if (s)
		return th_driver_describe(d->rt->driver, s->handle, &d->change, err);
	code = th_api_named_removed(d->rt, d->id, err) ?: check_free(d->rt, d->id, err);
	if (code)
		return code;
	d->begun = *ret_again = true;
	th_api_named_take(d->rt, &d->name, d->id, "changed");
	return TH_OK;
}

static void description_free(struct th_api_work *w)
{
	struct description *d = TH_CONTAINER_OF(w, struct description, work);

	if (d->begun)
		th_api_named_give(d->rt, &d->name);
	th_arena_deinit(&d->memory);
	free(d);
}

int thole_runtime_describe_start(struct thole_runtime *rt, const char *session_id, const char *user,
				 const char *title, const char *metadata, const char *by,
				 thole_done_fn *done, void *ctx, struct thole_reading **ret,
				 struct thole_error *err)
{
	const struct th_ev_session_changed change = { .title = th_str_of(title),
						      .metadata = th_str_of(metadata),
						      .by = th_str_of(by) };
	struct description *d;
	int code = check_describe(rt, session_id, user, &change, err);

	if (!code && !done)
		code = th_api_fail(err, TH_EUSAGE, "done is NULL");
	if (code)
		return code;
	d = th_alloc(sizeof(*d));
	d->work = (struct th_api_work){ .run = description_run,
					.then = description_then,
					.free = description_free,
					.changes = true };
	d->rt = rt;
	d->store = th_runtime_store(rt->rt);
	th_arena_init(&d->memory, 2 * TH_METADATA_MAX + TH_MIB);
	d->change.title = th_arena_str(&d->memory, change.title);
	d->change.metadata = th_arena_str(&d->memory, change.metadata);
	d->change.by = th_arena_str(&d->memory, change.by);
	memcpy(d->id, session_id, strlen(session_id));
	memcpy(d->user, user ?: "", user ? strlen(user) : 0);
	return th_api_work_start(rt, th_runtime_long_reader(rt->rt), &d->work, NULL, done, ctx, ret,
				 err);
}
