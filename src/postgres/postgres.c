/* SPDX-License-Identifier: Apache-2.0 */
/*
 * postgres.c - opening and closing.
 */
#include "postgres/postgres.h"
#include "postgres/kind.h"

#include <stdlib.h>

#include "base/wiped.h"

#define ANSWER_MS 8000 /* how long the server may take, where nothing else says so */

/* ---- the vtable's writing ---- */

static enum th_code group_write(void *ctx, struct th_batch *list, struct th_err *err)
{
	return th_postgres_write(ctx, list, err);
}

static bool group_sweep(void *ctx)
{
	struct th_postgres *s = ctx;
	bool more = false;

	return th_postgres_sweep(&s->base, &more, NULL) == TH_OK && more;
}

static const struct th_group_ops group_ops = { group_write, NULL, group_sweep };

static void postgres_commit(struct th_store *store, struct th_batch *batch, th_commit_fn *done,
			    void *ctx)
{
	th_group_commit(&th_postgres_of(store)->group, batch, done, ctx);
}

static enum th_code postgres_commit_now(struct th_store *store, struct th_batch *batch,
					struct th_err *err)
{
	return th_group_commit_now(&th_postgres_of(store)->group, batch, err);
}

/* Before anything is held there is nothing to be lost. */
static bool postgres_holds(struct th_store *store)
{
	const struct th_pg_owner *o = &th_postgres_of(store)->owner;

	return !atomic_load(&o->taken) || th_pg_owner_left_ms(o) > 0;
}

/* ---- opening and closing ---- */

static void postgres_close(struct th_store *store)
{
	struct th_postgres *s = th_postgres_of(store);

	assert(s->reading == 0);
	th_group_end(&s->group);
	th_pg_clean_stop(s);
	th_pg_owner_drop(s);
	th_pg_places_deinit(&s->places);
	th_pg_places_deinit(&s->read_places);
	free(s->puts.list);
	s->owner.wake = th_wake_free(s->owner.wake);
	th_pg_notify_deinit(s);
	th_pq_close(&s->reader);
	th_pq_close(&s->writer);
	th_pg_columns_free(s->columns);
	th_pg_known_free(s->known);
	th_pg_reserved_deinit(s);
	th_group_deinit(&s->group);
	pthread_mutex_destroy(&s->writing);
	pthread_mutex_destroy(&s->lock);
	th_secret_free(s->url);
	free(s->shown);
	free(s);
}

static void on_lost(void *ctx)
{
	struct th_postgres *s = ctx;
	struct th_err err = th_group_why(&s->group);

	s->lost(s->lost_ctx, &err);
}

static void pq_init(struct th_postgres *s, struct th_pq *c, bool write)
{
	*c = (struct th_pq)TH_PQ_INIT;
	c->url = th_secret_expose(s->url).ptr;
	c->shown = s->shown;
	c->wait_ms = ANSWER_MS;
	c->write = write;
}

static void on_told(void *ctx)
{
	struct th_postgres *s = ctx;
	struct th_err why;
	bool told, lost;

	pthread_mutex_lock(&s->lock);
	told = s->notify.told;
	lost = s->notify.lost;
	why = s->notify.why;
	s->notify.told = s->notify.lost = false;
	pthread_mutex_unlock(&s->lock);
	if (lost)
		s->told(s->told_ctx, &why);
	if (told)
		s->told(s->told_ctx, NULL);
}

static enum th_code wakes_new(struct th_postgres *s, const struct th_store_options *o,
			      struct th_err *err)
{
	enum th_code code = TH_OK;

	s->lost = o->lost;
	s->lost_ctx = o->lost_ctx;
	s->told = o->told;
	s->told_ctx = o->told_ctx;
	if (o->lost)
		code = th_wake_new(o->loop, on_lost, s, &s->owner.wake, err);
	if (code == TH_OK && o->told)
		code = th_wake_new(o->loop, on_told, s, &s->notify.wake, err);
	if (s->owner.wake)
		th_wake_quiet(s->owner.wake);
	if (s->notify.wake)
		th_wake_quiet(s->notify.wake);
	return code;
}

static enum th_code names_set(struct th_postgres *s, const char *scheme, struct th_str rest,
			      struct th_err *err)
{
	struct th_buf url TH_CLEANUP(th_buf_wipe) = TH_BUF_INIT(TH_STORE_URL_MAX + 32);
	struct th_buf shown TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_STORE_URL_MAX);

	if (!th_str_starts(rest, TH_STR("//")) || memchr(rest.ptr, 0, rest.len))
		return th_fail(err, TH_EUSAGE,
			       "%s: needs a URL, as in %s://USER@HOST:5432/DATABASE", scheme,
			       scheme);
	if (rest.len > TH_STORE_URL_MAX)
		return th_fail(err, TH_ELIMIT, "%s: the URL of a store has at most %d bytes",
			       scheme, TH_STORE_URL_MAX);
	url.may_fail = shown.may_fail = true;
	th_buf_printf(&url, "%s:", scheme);
	th_buf_add(&url, rest);
	th_pq_show(th_buf_str(&url), &shown);
	if (url.failed || shown.failed)
		return th_fail_memory(err);
	s->url = th_secret_new(th_buf_str(&url));
	s->shown = th_buf_steal(&shown, NULL);
	return TH_OK;
}

static enum th_code postgres_open(struct th_str rest, const struct th_store_options *options,
				  struct th_store **ret, struct th_err *err)
{
	struct th_postgres *s = th_try_alloc(sizeof(*s));
	enum th_code code;

	if (!s)
		return th_fail_memory(err);
	s->base.kind = &th_store_postgres;
	s->read_only = options->read_only;
	s->busy_ms = options->busy_ms ?: TH_STORE_BUSY_MS;
	th_group_init(&s->group, &group_ops, s, options->loop);
	pthread_mutex_init(&s->writing, NULL);
	pthread_mutex_init(&s->lock, NULL);
	th_pg_owner_init(&s->owner, options->lease_ms ?: TH_STORE_LEASE_MS);
	th_pg_notify_init(s);
	s->cleaner.stop_fd = -1;
	code = names_set(s, "postgres", rest, err);
	s->reader = s->writer = (struct th_pq)TH_PQ_INIT;
	if (code == TH_OK) {
		pq_init(s, &s->reader, !s->read_only);
		pq_init(s, &s->writer, true);
	}
	if (code == TH_OK && options->loop)
		code = wakes_new(s, options, err);
	if (code == TH_OK)
		code = th_postgres_connect(s, &s->reader, err);
	if (code == TH_OK)
		code = th_postgres_schema(&s->reader, options->create && !s->read_only, err);
	if (code != TH_OK) {
		postgres_close(&s->base);
		return code;
	}
	*ret = &s->base;
	return TH_OK;
}

/* Without what is secret, and without what only says how to connect. */
static enum th_code postgres_scope(struct th_str rest, struct th_buf *out, struct th_err *err)
{
	struct th_buf url TH_CLEANUP(th_buf_wipe) = TH_BUF_INIT(TH_STORE_URL_MAX + 32);

	th_buf_add_cstr(&url, "postgres:");
	th_buf_add(&url, rest);
	th_pq_show(th_buf_str(&url), out);
	return th_buf_check(&url, "the URL of the store", err);
}

const struct th_store_kind th_store_postgres = {
	.scheme = "postgres",
	.also = "postgresql",
	.summary = "PostgreSQL, for many machines: postgres://USER@HOST:5432/DATABASE",
	.scope = postgres_scope,
	.show = th_pq_show,
	.secret = th_pq_has_password,
	.open = postgres_open,
	.close = postgres_close,
	.commit = postgres_commit,
	.commit_now = postgres_commit_now,
	.lease = th_lease_alone,
	.lease_many = th_postgres_lease_many,
	.holds = postgres_holds,
	.release = th_release_alone,
	.release_many = th_postgres_release_many,
	.announce = th_postgres_announce,
	.nodes = th_postgres_nodes,
	.slow = th_postgres_slow,
	.abandoned = th_postgres_abandoned,
	.outbox_put = th_postgres_outbox_put,
	.outbox_take = th_postgres_outbox_take,
	.reserve_many = th_postgres_reserve_many,
	.reservation_use = th_postgres_reservation_use,
	.reservation_is = th_postgres_reservation_is,
	.unreserve_many = th_postgres_unreserve_many,
	.get = th_postgres_get,
	.list = th_postgres_list,
	.read = th_postgres_read,
	.blob = th_postgres_blob,
	.usage = th_postgres_usage,
	.remove = th_postgres_remove,
	.sweep = th_postgres_sweep,
	.place_set = th_postgres_place_set,
	.places = th_postgres_places,
	.clean = th_postgres_clean,
	.verify = th_postgres_verify,
};
