/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remove.c - sessions described anew or deleted, and what all of them used.
 */
#include "admin/remove.h"

#include <stdlib.h>

#include "admin/edit.h"
#include "admin/usage.h"
#include "api/work.h"

/* ---- describing -------------------------------------------------------------------------------
 */

/* The session's row, if it is this user's; else it is as if it was not there. */
static enum th_code get_row(struct th_store *store, const char *id, const char *user,
			    struct th_arena *a, struct th_session_row *ret, struct th_err *err)
{
	enum th_code code = store->kind->get(store, th_str_of(id), a, ret, err);

	if (code == TH_ENOENT || (!code && user && !th_user_is(th_str_of(user), ret->user)))
		return th_fail(err, TH_ENOENT, "no session %s", id);
	return code;
}

static enum th_code describe_stored(struct thole_runtime *rt, const char *id,
				    const struct th_ev_session_changed *change, struct th_err *err)
{
	struct th_edit edit;
	enum th_code code;

	if (th_runtime_has(rt->rt, th_str_of(id)))
		return th_fail(err, TH_EBUSY,
			       "session %s is being closed, or works for one that is open here",
			       id);
	code = th_edit_open(&edit, th_runtime_store(rt->rt), th_str_of(id), err);
	if (code)
		return code;
	code = th_edit_describe(&edit, change, err);
	th_edit_close(&edit);
	return code;
}

int thole_runtime_describe(struct thole_runtime *rt, const char *session_id, const char *user,
			   const char *title, const char *metadata, const char *by,
			   struct thole_error *err)
{
	const struct th_ev_session_changed change = { .title = th_str_of(title),
						      .metadata = th_str_of(metadata),
						      .by = th_str_of(by) };
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct thole_session *s;
	struct th_session_row row;
	struct th_err e = { 0 };
	enum th_code bad;
	int code = th_api_enter(rt, err);

	th_arena_init(&a, TH_MIB);
	if (!code)
		code = th_api_text(session_id, "the session's name", 1, TH_SESSION_ID_MAX, err);
	if (!code && user)
		code = th_api_text(user, "the user", 1, TH_USER_MAX, err);
	if (!code && title)
		code = th_api_text(title, "the title", 1, TH_PATH_LEN_MAX, err);
	if (!code && metadata)
		code = th_api_text(metadata, "the metadata", 2, TH_METADATA_MAX, err);
	if (!code && by)
		code = th_api_text(by, "who says so", 0, TH_PATH_LEN_MAX, err);
	if (code)
		return code;
	bad = get_row(th_runtime_store(rt->rt), session_id, user, &a, &row, &e);
	bad = bad ?: th_edit_check_change(&row, &change, &e);
	th_api_sessions_reap(rt);
	s = th_api_open_find(rt, session_id);
	if (bad || !s)
		return th_api_out(bad ?: describe_stored(rt, session_id, &change, &e), &e, err);
	code = th_api_check_ready(s, err);
	return code ? code
		    : th_api_out(th_driver_describe(rt->driver, s->handle, &change, &e), &e, err);
}

/* ---- deleting ---------------------------------------------------------------------------------
 */

enum th_code th_api_check_user(struct th_store *store, const char *id, const char *user,
			       struct th_err *err)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_session_row row;

	th_arena_init(&a, TH_MIB);
	return get_row(store, id, user, &a, &row, err);
}

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
	for (size_t i = 0; i < gone->count; i++)
		th_runtime_executor_end(rt->rt, gone->ids[i], 0, TH_STR(""));
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
	r->name = (struct th_api_removed){ .next = r->rt->removed, .id = r->id };
	if (r->name.next)
		r->name.next->prev = &r->name;
	r->rt->removed = &r->name;
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
	if (r->name.prev)
		r->name.prev->next = r->name.next;
	else if (r->begun)
		r->rt->removed = r->name.next;
	if (r->name.next)
		r->name.next->prev = r->name.prev;
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

/* ---- usage ------------------------------------------------------------------------------------
 */

struct printing {
	const struct th_usage_ask *ask;
	struct th_jw w;
};

static enum th_code print_line(void *ctx, const struct th_usage_line *line, struct th_err *err)
{
	struct printing *p = ctx;

	th_jw_object(&p->w);
	th_usage_line_print(p->ask, line, &p->w);
	th_jw_object_end(&p->w);
	return th_buf_check(p->w.out, "the list of usage", err);
}

static int read_options(const char *const *options, struct th_usage_ask *ask,
			struct thole_error *err)
{
	struct th_err e = { 0 };
	int code = TH_OK;

	for (; !code && options && *options; options += 2) {
		code = th_api_text(*options, "an option's name", 1, TH_PATH_LEN_MAX, err);
		if (!code)
			code = th_api_text(options[1], *options, 1, TH_PATH_LEN_MAX, err);
		if (!code)
			code = th_api_out(th_usage_option(*options, th_str_of(options[1]), ask, &e),
					  &e, err);
	}
	return code;
}

int thole_runtime_usage(struct thole_runtime *rt, const char *const *options, char **ret,
			struct thole_error *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_buf next TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_usage_ask ask = { 0 };
	struct printing p = { .ask = &ask, .w = th_jw(&text) };
	struct th_err e = { 0 };
	enum th_code bad;
	int code = th_api_enter(rt, err);

	if (!code && !ret)
		code = th_api_fail(err, TH_EUSAGE, "there is no place for the list: ret is NULL");
	if (!code)
		code = read_options(options, &ask, err);
	if (code)
		return code;
	th_jw_object(&p.w);
	th_jw_kstr(&p.w, "by", th_str_of(th_usage_by_name(&ask)));
	th_jw_key(&p.w, TH_STR("usage"));
	th_jw_array(&p.w);
	bad = th_usage_report(th_runtime_store(rt->rt), &ask, print_line, &p, &next, &e);
	th_jw_array_end(&p.w);
	if (next.len)
		th_jw_kstr(&p.w, "next", th_buf_str(&next));
	th_jw_object_end(&p.w);
	bad = bad ?: th_buf_check(&text, "the list of usage", &e);
	if (!bad)
		*ret = th_api_copy(th_buf_str(&text));
	return th_api_out(bad, &e, err);
}
