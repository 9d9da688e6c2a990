/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blob_place_s3.c - blobs as objects of an S3-compatible store:
 * BUCKET/PREFIX/ID/ab/abcd…-0123456789abcdef.
 *
 * No condition on a put: a name is used by one put alone (blob_place.h).  The signature
 * covers the body's digest, so the store refuses what was changed on the way.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "io/clock.h"
#include "store/blob_place_kinds.h"
#include "store/s3.h"
#include "wire/percent.h"
#include "wire/s3_answer.h"

#define ANSWER_MAX (64 * TH_KIB) /* where nobody looks at it */
#define KEY_SIZE (TH_PLACE_ID_SIZE + 1 + TH_PLACE_NAME_SIZE)

struct s3 {
	struct th_blob_place base;
	struct th_s3 *client;
};

static struct s3 *s3_of(struct th_blob_place *p)
{
	return TH_CONTAINER_OF(p, struct s3, base);
}

static enum th_code s3_open(struct th_str rest, struct th_blob_place *base,
			    struct th_blob_place **ret, struct th_err *err)
{
	struct s3 *x = th_try_alloc(sizeof(*x));
	enum th_code code;

	if (!x)
		return th_fail_memory(err);
	x->base = *base;
	code = th_s3_new(rest, &x->client, err);
	if (code != TH_OK) {
		free(x);
		return code;
	}
	*ret = &x->base;
	return TH_OK;
}

static void s3_close(struct th_blob_place *p)
{
	struct s3 *x = s3_of(p);

	th_s3_free(x->client);
	free(x);
}

/* The bucket is there already. */
static enum th_code s3_make(struct th_blob_place *p, struct th_err *err)
{
	(void)p;
	(void)err;
	return TH_OK;
}

struct many {
	struct th_s3_request *list;
	char (*keys)[KEY_SIZE];
	size_t count;
};

static void many_deinit(struct many *m)
{
	for (size_t i = 0; m->list && i < m->count; i++)
		th_buf_deinit(&m->list[i].answer);
	free(m->list);
	free(m->keys);
}

static enum th_code many_init(struct many *m, size_t count, struct th_err *err)
{
	m->list = th_try_alloc(count * sizeof(*m->list));
	m->keys = th_try_alloc(count * sizeof(*m->keys));
	m->count = count;
	if (m->list && m->keys)
		return TH_OK;
	m->count = 0;
	return th_fail_memory(err);
}

static struct th_str key_set(struct many *m, size_t i, const struct th_blob_place *p,
			     struct th_str name)
{
	snprintf(m->keys[i], KEY_SIZE, "%s/%.*s", p->id, TH_FMT(name));
	return th_str_of(m->keys[i]);
}

static enum th_code s3_put(struct th_blob_place *p, const struct th_blob_place_put *list,
			   size_t count, struct th_err *err)
{
	struct many m TH_CLEANUP(many_deinit) = { 0 };
	enum th_code code = many_init(&m, count, err);

	for (size_t i = 0; i < m.count; i++)
		m.list[i] = (struct th_s3_request){
			.method = "PUT",
			.key = key_set(&m, i, p, th_str_of(list[i].name)),
			.body = list[i].bytes,
			.answer_max = ANSWER_MAX,
		};
	return code == TH_OK ? th_s3_run(s3_of(p)->client, m.list, count, err) : code;
}

static enum th_code s3_get(struct th_blob_place *p, const char *name, struct th_buf *out,
			   struct th_err *err)
{
	struct many m TH_CLEANUP(many_deinit) = { 0 };
	enum th_code code = many_init(&m, 1, err);

	if (code != TH_OK)
		return code;
	m.list[0] = (struct th_s3_request){
		.method = "GET",
		.key = key_set(&m, 0, p, th_str_of(name)),
		.answer_max = TH_BLOB_MAX,
	};
	code = th_s3_run(s3_of(p)->client, m.list, 1, err);
	if (code == TH_OK)
		code = th_buf_check(&m.list[0].answer, "the object", err);
	if (code == TH_OK)
		th_buf_add(out, th_buf_str(&m.list[0].answer));
	return code;
}

/* ---- walking ---- */

struct walking {
	struct s3 *x;
	struct th_blob_place_walk *w;
	th_blob_place_found_fn *fn;
	void *ctx;
};

static enum th_code take(void *ctx, struct th_str key, int64_t changed_s, struct th_err *err)
{
	struct walking *w = ctx;
	struct th_str prefix = th_s3_prefix(w->x->client);
	struct th_blob_place_found found = { 0 };
	size_t skip = prefix.len + TH_PLACE_ID_SIZE + 1;

	if (!th_str_starts(key, prefix) ||
	    !th_str_starts(th_str_sub(key, prefix.len, key.len), th_str_of(w->x->base.id)) ||
	    key.len <= skip)
		return th_fail(err, TH_EPROTO, "%s: its list has an object that was not asked for",
			       w->x->base.url);
	found.name = th_str_sub(key, skip, key.len);
	if (found.name.len >= sizeof(w->w->after) ||
	    !th_blob_place_name_parse(found.name, &found.hash))
		return TH_OK; /* not ours */
	if (th_str_cmp(found.name, th_str_of(w->w->after)) <= 0)
		return th_fail(err, TH_EPROTO, "%s: its list is in no order", w->x->base.url);
	snprintf(w->w->after, sizeof(w->w->after), "%.*s", TH_FMT(found.name));
	found.has_hash = true;
	found.age_ms = (int64_t)th_clock_wall_ms() - changed_s * 1000;
	return w->fn(w->ctx, &found, err);
}

/* A piece is a page of the list. */
static enum th_code s3_walk(struct th_blob_place *p, struct th_blob_place_walk *walk,
			    th_blob_place_found_fn *fn, void *ctx, struct th_err *err)
{
	struct walking w = { s3_of(p), walk, fn, ctx };
	struct th_str prefix = th_s3_prefix(w.x->client);
	struct th_buf query TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(16 * TH_KIB);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);
	struct many m TH_CLEANUP(many_deinit) = { 0 };
	char before[TH_PLACE_NAME_SIZE];
	bool more = false;
	enum th_code code = many_init(&m, 1, err);

	if (code != TH_OK)
		return code;
	memcpy(before, walk->after, sizeof(before));
	th_buf_printf(&text, "%.*s%s/", TH_FMT(prefix), p->id);
	th_buf_printf(&query, "list-type=2&max-keys=%d&prefix=", TH_PLACE_LIST_MAX);
	th_percent_encode(th_buf_str(&text), &query);
	if (walk->after[0]) {
		th_buf_add_cstr(&text, walk->after);
		th_buf_add_cstr(&query, "&start-after=");
		th_percent_encode(th_buf_str(&text), &query);
	}
	m.list[0] = (struct th_s3_request){
		.method = "GET",
		.query = th_buf_str(&query),
		.answer_max = TH_PLACE_LIST_SIZE_MAX,
	};
	code = th_s3_run(w.x->client, m.list, 1, err);
	if (code == TH_OK)
		code = th_s3_list_read(th_buf_str(&m.list[0].answer), take, &w, &more, err);
	/* What is not ours moves nothing: a page of it alone would come again and again. */
	if (code == TH_OK && more && strcmp(before, walk->after) == 0)
		code = th_fail(err, TH_EPROTO, "%s: has objects of others below %s", p->url, p->id);
	walk->over = !more;
	return code;
}

static enum th_code s3_remove(struct th_blob_place *p, const struct th_str *names, size_t count,
			      struct th_err *err)
{
	struct many m TH_CLEANUP(many_deinit) = { 0 };
	enum th_code code = many_init(&m, count, err);

	for (size_t i = 0; i < m.count; i++)
		m.list[i] = (struct th_s3_request){
			.method = "DELETE",
			.key = key_set(&m, i, p, names[i]),
			.answer_max = ANSWER_MAX,
			.missing_is_fine = true,
		};
	return code == TH_OK ? th_s3_run(s3_of(p)->client, m.list, count, err) : code;
}

const struct th_blob_place_kind th_blob_place_s3 = {
	.scheme = "s3",
	.summary = "s3:https://HOST/BUCKET/PREFIX?region=REGION",
	.open = s3_open,
	.close = s3_close,
	.make = s3_make,
	.put = s3_put,
	.get = s3_get,
	.walk = s3_walk,
	.remove = s3_remove,
};
