/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines.c - what is one line of the store: a page of sessions, one session, the items of one.  Read
 * beside the loop.
 */
#include <stdlib.h>

#include "admin/items.h"
#include "api/work.h"

static int check(struct thole_runtime *rt, thole_line_fn *fn, thole_done_fn *done,
		 struct thole_error *err)
{
	int code = th_api_enter(rt, err);

	if (!code && (!fn || !done))
		code = th_api_fail(err, TH_EUSAGE, "a function is NULL");
	return code;
}

/* ---- a page ---- */

struct page_work {
	struct th_api_work work;
	struct th_api_page *page;
};

static enum th_code page_run(struct th_api_work *w, struct th_store *reads, struct th_buf *out,
			     struct th_err *err)
{
	return th_api_page_print(TH_CONTAINER_OF(w, struct page_work, work)->page, reads, out, err);
}

static void page_free(struct th_api_work *w)
{
	struct page_work *p = TH_CONTAINER_OF(w, struct page_work, work);

	th_api_page_free(p->page);
	free(p);
}

int thole_runtime_page_start(struct thole_runtime *rt, const char *const *options,
			     thole_line_fn *fn, thole_done_fn *done, void *ctx,
			     struct thole_reading **ret, struct thole_error *err)
{
	struct th_api_page *page = NULL;
	struct page_work *w;
	int code = check(rt, fn, done, err);

	if (!code)
		code = th_api_page_new(options, &page, err);
	if (code)
		return code;
	w = th_alloc(sizeof(*w));
	*w = (struct page_work){ .work = { .run = page_run, .free = page_free }, .page = page };
	return th_api_work_start(rt, th_runtime_reader(rt->rt), &w->work, fn, done, ctx, ret, err);
}

/* ---- of one session ---- */

struct session_work {
	struct th_api_work work;
	int64_t first; /* of its items */
	size_t count;
	uint64_t to;
	char id[TH_SESSION_ID_MAX + 1], user[TH_USER_MAX + 1];
};

static struct session_work *session_work_new(const char *id, const char *user)
{
	struct session_work *w = th_alloc(sizeof(*w));

	memcpy(w->id, id, strlen(id));
	memcpy(w->user, user ?: "", user ? strlen(user) : 0);
	return w;
}

static void session_work_free(struct th_api_work *w)
{
	free(TH_CONTAINER_OF(w, struct session_work, work));
}

static enum th_code row_run(struct th_api_work *w, struct th_store *reads, struct th_buf *out,
			    struct th_err *err)
{
	const struct session_work *s = TH_CONTAINER_OF(w, struct session_work, work);

	return th_api_session_print(reads, s->id, s->user[0] ? s->user : NULL, out, err);
}

int thole_runtime_session_start(struct thole_runtime *rt, const char *session_id, const char *user,
				thole_line_fn *fn, thole_done_fn *done, void *ctx,
				struct thole_reading **ret, struct thole_error *err)
{
	struct session_work *w;
	int code = check(rt, fn, done, err);

	if (!code)
		code = th_api_text(session_id, "the session's name", 1, TH_SESSION_ID_MAX, err);
	if (!code && user)
		code = th_api_text(user, "the user", 1, TH_USER_MAX, err);
	if (code)
		return code;
	w = session_work_new(session_id, user);
	w->work = (struct th_api_work){ .run = row_run, .free = session_work_free };
	return th_api_work_start(rt, th_runtime_reader(rt->rt), &w->work, fn, done, ctx, ret, err);
}

static enum th_code items_run(struct th_api_work *w, struct th_store *reads, struct th_buf *out,
			      struct th_err *err)
{
	const struct session_work *s = TH_CONTAINER_OF(w, struct session_work, work);

	return th_items_read(reads, th_str_of(s->id), s->to, s->first, s->count, out, err);
}

static enum th_code numbered_run(struct th_api_work *w, struct th_store *reads, struct th_buf *out,
				 struct th_err *err)
{
	const struct session_work *s = TH_CONTAINER_OF(w, struct session_work, work);

	return th_items_read_numbered(reads, th_str_of(s->id), s->to, out, err);
}

/* `how`: what is read of the items. */
static int items_start(struct thole_runtime *rt, const char *session_id,
		       const struct session_work *how, thole_line_fn *fn, thole_done_fn *done,
		       void *ctx, struct thole_reading **ret, struct thole_error *err)
{
	struct session_work *w;
	int code = check(rt, fn, done, err);

	if (!code)
		code = th_api_text(session_id, "the session's name", 1, TH_SESSION_ID_MAX, err);
	if (code)
		return code;
	w = session_work_new(session_id, NULL);
	w->work = (struct th_api_work){ .run = how->work.run, .free = session_work_free };
	w->first = how->first;
	w->count = how->count;
	w->to = how->to;
	return th_api_work_start(rt, th_runtime_long_reader(rt->rt), &w->work, fn, done, ctx, ret,
				 err);
}

int thole_runtime_items_start(struct thole_runtime *rt, const char *session_id, int64_t first,
			      size_t count, uint64_t to, thole_line_fn *fn, thole_done_fn *done,
			      void *ctx, struct thole_reading **ret, struct thole_error *err)
{
	const struct session_work how = {
		.work.run = items_run, .first = first, .count = count, .to = to
	};

	return items_start(rt, session_id, &how, fn, done, ctx, ret, err);
}

int thole_runtime_numbered_items_start(struct thole_runtime *rt, const char *session_id,
				       uint64_t to, thole_line_fn *fn, thole_done_fn *done,
				       void *ctx, struct thole_reading **ret,
				       struct thole_error *err)
{
	const struct session_work how = { .work.run = numbered_run, .to = to };

	return items_start(rt, session_id, &how, fn, done, ctx, ret, err);
}
