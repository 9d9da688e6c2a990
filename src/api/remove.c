/* SPDX-License-Identifier: Apache-2.0 */
/* remove.c - sessions deleted. */
#include "admin/remove.h"

#include <stdlib.h>

#include "api/work.h"
#include "runtime/given.h"

/* One that this runtime works on is not deleted.  *ret: it is open here, and rests; or NULL. */
static enum th_code check_open(struct thole_runtime *rt, const char *id, struct thole_session **ret,
			       struct th_err *err)
{
	struct thole_session *s;

	th_api_sessions_reap(rt);
	*ret = s = th_api_open_find(rt, id);
	if (s && th_api_session_rests(s))
		return TH_OK;
	if (s)
		return th_fail(err, TH_EBUSY,
			       "session %s is at work; cancel it, and delete it when it rests", id);
	/* It was given back just now, and its last events are on their way. */
	return th_runtime_has(rt->rt, th_str_of(id)) && !th_runtime_works_for(rt->rt, th_str_of(id))
		   ? th_fail(err, TH_EBUSY,
			     "session %s is being closed; delete it when that is done", id)
		   : TH_OK;
}

/* Its watchers hear that it is lost; the caller still gives it back. */
static void close_deleted(struct thole_runtime *rt, struct thole_session *s)
{
	struct th_err why = { 0 };

	(void)th_fail(&why, TH_ENOENT, "session %s was deleted", s->id);
	th_runtime_forget(rt->rt, s->handle);
	s->handle = (struct th_handle){ 0 };
	th_api_session_lose(s, &why);
	th_api_session_unref(s);
}

static void end_executors(struct thole_runtime *rt, const struct th_family *gone)
{
	for (size_t i = 0; i < gone->count; i++) {
		th_runtime_given_drop(rt->rt, gone->ids[i]);
		th_runtime_executor_removed(rt->rt, gone->ids[i], gone->epochs[i], gone->places[i]);
	}
}

/*
 * One that is deleted beside the loop.  Once it is known to be the user's, its name is in use as
 * long as that lasts, so that what follows is about the session that was.
 */
struct removal {
	struct th_api_work work;
	struct th_api_removed name; /* in the runtime's list, if `begun` */
	struct thole_runtime *rt;
	struct th_store *store;     /* the loop's: what is deleted is so with it */
	struct thole_session *open; /* here, with a use; NULL: it is not */
	struct th_family *gone;     /* the thread's */
	bool begun;
	char id[TH_SESSION_ID_MAX + 1], user[TH_USER_MAX + 1];
};

static int check_delete(struct thole_runtime *rt, const char *session_id, const char *user,
			struct thole_error *err)
{
	int code = th_api_enter(rt, err);

	if (!code)
		code = th_api_text(session_id, "the session's name", 1, TH_SESSION_ID_MAX, err);
	if (!code && user)
		code = th_api_text(user, "the user", 1, TH_USER_MAX, err);
	return code;
}

int thole_runtime_delete(struct thole_runtime *rt, const char *session_id, const char *user,
			 struct thole_error *err)
{
	struct thole_session *open = NULL;
	struct th_family *gone = NULL;
	struct th_store *store;
	struct th_err e = { 0 };
	enum th_code bad;
	int code = check_delete(rt, session_id, user, err);

	if (code)
		return code;
	store = th_runtime_store(rt->rt);
	bad = th_api_check_user(store, session_id, user, &e);
	bad = bad ?: th_api_named_removed(rt, session_id, &e);
	bad = bad ?: check_open(rt, session_id, &open, &e);
	if (!bad)
		th_runtime_give_back_now(rt->rt, th_str_of(session_id));
	bad = bad ?: th_session_remove(store, store, th_str_of(session_id), &gone, &e);
	if (bad)
		return th_api_out(bad, &e, err);
	if (open)
		close_deleted(rt, open);
	end_executors(rt, gone);
	th_family_free(gone);
	return TH_OK;
}

/* ---- beside the loop ---- */

static enum th_code removal_run(struct th_api_work *w, struct th_store *reads, struct th_buf *out,
				struct th_err *err)
{
	struct removal *r = TH_CONTAINER_OF(w, struct removal, work);
	enum th_code code = th_api_check_user(reads, r->id, r->user[0] ? r->user : NULL, err);

	(void)out; /* nothing is left to be told of */
	if (!code && r->begun)
		code = th_session_remove(reads, r->store, th_str_of(r->id), &r->gone, err);
	return code;
}

static enum th_code removal_begin(struct removal *r, struct th_err *err)
{
	enum th_code code = th_api_named_removed(r->rt, r->id, err);

	if (!code)
		code = check_open(r->rt, r->id, &r->open, err);
	if (code) {
		r->open = NULL;
		return code;
	}
	r->begun = true;
	th_api_named_take(r->rt, &r->name, r->id, "deleted");
	if (r->open) {
		r->open->removing = true;
		r->open->users++;
	}
	return TH_OK;
}

static enum th_code removal_then(struct th_api_work *w, bool *ret_again, struct th_err *err)
{
	struct removal *r = TH_CONTAINER_OF(w, struct removal, work);
	struct thole_session *s = r->open;

	if (!r->begun) {
		*ret_again = true;
		th_api_sessions_reap(r->rt);
		/* What was closed just now is given back first, and this looked at again then. */
		if (th_runtime_gives_back(r->rt->rt, th_str_of(r->id)))
			return TH_OK;
		return removal_begin(r, err);
	}
	/* What it still had to write is refused by the store, and it is lost by that. */
	if (s && !s->freed && !s->lost && th_driver_durable(r->rt->driver, s->handle))
		close_deleted(r->rt, s);
	end_executors(r->rt, r->gone);
	return TH_OK;
}

static void removal_free(struct th_api_work *w)
{
	struct removal *r = TH_CONTAINER_OF(w, struct removal, work);

	if (r->open) {
		r->open->removing = false;
		th_api_session_unref(r->open);
	}
	if (r->begun)
		th_api_named_give(r->rt, &r->name);
	th_family_free(r->gone);
	free(r);
}

int thole_runtime_delete_start(struct thole_runtime *rt, const char *session_id, const char *user,
			       thole_done_fn *done, void *ctx, struct thole_reading **ret,
			       struct thole_error *err)
{
	struct removal *r;
	int code = check_delete(rt, session_id, user, err);

	if (!code && !done)
		code = th_api_fail(err, TH_EUSAGE, "done is NULL");
	if (code)
		return code;
	r = th_alloc(sizeof(*r));
	*r = (struct removal){ .work = { .run = removal_run,
					 .then = removal_then,
					 .free = removal_free,
					 .changes = true },
			       .rt = rt,
			       .store = th_runtime_store(rt->rt) };
	memcpy(r->id, session_id, strlen(session_id));
	memcpy(r->user, user ?: "", user ? strlen(user) : 0);
	return th_api_work_start(rt, th_runtime_long_reader(rt->rt), &r->work, NULL, done, ctx, ret,
				 err);
}
