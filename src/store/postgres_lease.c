/* SPDX-License-Identifier: Apache-2.0 */
/*
 * postgres_lease.c - taking sessions and giving them back, on the writer's
 * connection.
 */
#include "store/postgres.h"

/* ---- who lives ---- */

enum th_code th_pg_living(struct th_postgres *s, struct th_pq_array *names, PGresult **ret,
			  struct th_err *err)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	enum th_code code;

	th_pq_arg_array(&args, names);
	/* Waits for a renewal that is under way, and then looks at what it left.  Who is found dead
	 * stays dead, whatever the clock does: its row is found by `abandoned` until it has no
	 * session any more. */
	code = th_pq_add(&s->writer,
			 "UPDATE thole.owners SET expires = '-infinity' WHERE owner = ANY($1)"
			 " AND expires <= clock_timestamp()",
			 &args, err);
	if (code == TH_OK)
		code = th_pq_run(&s->writer,
				 "SELECT owner, host, process, to_char(began AT TIME ZONE 'UTC',"
				 " 'YYYY-MM-DD HH24:MI') FROM thole.owners WHERE owner = ANY($1)"
				 " AND expires > '-infinity'",
				 &args, ret, err);
	return code;
}

enum th_code th_pg_check_owner(struct th_postgres *s, PGresult *living,
			       const struct th_session_row *row, struct th_err *err)
{
	if (row->owner.len == 0 || th_str_is(row->owner, s->owner.name))
		return TH_OK;
	for (int i = 0; i < th_pq_rows(living); i++) {
		struct th_str owner = { 0 }, host = { 0 }, since = { 0 };
		int64_t process = 0;

		if (!th_pq_bytes(living, i, 0, &owner) || !th_str_eq(owner, row->owner))
			continue;
		(void)th_pq_bytes(living, i, 1, &host);
		(void)th_pq_i64(living, i, 2, &process);
		(void)th_pq_bytes(living, i, 3, &since);
		return th_fail(err, TH_EBUSY,
			       "session %s is held by another runtime: process %lld on host %s, "
			       "there since %.*s UTC",
			       th_session_shown(row->session_id).text, (long long)process,
			       th_session_shown(host).text, TH_FMT(since));
	}
	return TH_OK;
}

/* ---- rows ---- */

/* Their new owners and epochs, with one statement. */
struct changes {
	struct th_pq_array numbers, epochs, owners, crcs;
};

static void changes_init(struct changes *c)
{
	th_pq_array_init(&c->numbers, TH_PQ_I64, TH_BATCH_MEMORY_MAX);
	th_pq_array_init(&c->epochs, TH_PQ_I64, TH_BATCH_MEMORY_MAX);
	th_pq_array_init(&c->owners, TH_PQ_TEXT, TH_BATCH_MEMORY_MAX);
	th_pq_array_init(&c->crcs, TH_PQ_I64, TH_BATCH_MEMORY_MAX);
}

static void changes_deinit(struct changes *c)
{
	th_pq_array_deinit(&c->numbers);
	th_pq_array_deinit(&c->epochs);
	th_pq_array_deinit(&c->owners);
	th_pq_array_deinit(&c->crcs);
}

static void changes_add(struct changes *c, uint64_t number, const struct th_session_row *row)
{
	th_pq_array_i64(&c->numbers, (int64_t)number);
	th_pq_array_i64(&c->epochs, row->epoch);
	th_pq_array_text(&c->owners, row->owner);
	th_pq_array_i64(&c->crcs, th_session_row_crc(row, 0, 0));
}

static enum th_code changes_write(struct th_postgres *s, struct changes *c, struct th_err *err)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };

	if (c->numbers.count == 0)
		return TH_OK;
	th_pq_arg_array(&args, &c->numbers);
	th_pq_arg_array(&args, &c->epochs);
	th_pq_arg_array(&args, &c->owners);
	th_pq_arg_array(&args, &c->crcs);
	return th_pq_add(&s->writer,
			 "UPDATE thole.sessions s SET epoch = n.b, owner = n.c, row_crc = n.d"
			 " FROM unnest($1, $2, $3, $4) AS n (a, b, c, d) WHERE s.number = n.a",
			 &args, err);
}

static enum th_code rows_lock(struct th_postgres *s, const struct th_str *ids, size_t count,
			      PGresult **ret, struct th_err *err)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	struct th_pq_array list;
	enum th_code code;

	th_pq_array_init(&list, TH_PQ_TEXT, TH_BATCH_MEMORY_MAX);
	for (size_t i = 0; i < count; i++)
		if (th_session_id_ok(ids[i]))
			th_pq_array_text(&list, ids[i]);
	th_pq_arg_array(&args, &list);
	code = th_pq_run(&s->writer,
			 "SELECT " TH_PG_SESSION_COLUMNS " FROM thole.sessions s"
			 " WHERE s.session_id = ANY($1) ORDER BY s.session_id FOR NO KEY UPDATE",
			 &args, ret, err);
	th_pq_array_deinit(&list);
	return code;
}

/* ---- leases ---- */

struct leasing {
	struct th_postgres *s;
	const struct th_str *ids;
	size_t count;
	struct th_arena *a;
	struct th_session_row *rows;
	enum th_code *codes;
	struct changes changes;
	PGresult *found, *living;
	struct th_err *err;
};

/* Where `id` is among what was found, which is in the order of the ids; -1: nowhere. */
static int found_find(const struct leasing *l, struct th_str id)
{
	int low = 0, high = th_pq_rows(l->found);

	while (low < high) {
		int middle = low + (high - low) / 2, order;
		struct th_str there = { 0 };

		(void)th_pq_bytes(l->found, middle, 1, &there);
		order = th_str_cmp(there, id);
		if (order == 0)
			return middle;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return -1;
}

static enum th_code owners_ask(struct leasing *l)
{
	struct th_pq_array names;
	enum th_code code;

	th_pq_array_init(&names, TH_PQ_TEXT, TH_BATCH_MEMORY_MAX);
	for (int i = 0; i < th_pq_rows(l->found); i++) {
		struct th_str owner = { 0 };

		(void)th_pq_bytes(l->found, i, 18, &owner);
		if (owner.len > 0 && !th_str_is(owner, l->s->owner.name))
			th_pq_array_bytes(&names, owner.ptr, owner.len);
	}
	code = names.count == 0 ? TH_OK : th_pg_living(l->s, &names, &l->living, l->err);
	th_pq_array_deinit(&names);
	return code;
}

static enum th_code lease_one(struct leasing *l, size_t i)
{
	int at = found_find(l, l->ids[i]);
	struct th_session_row *row = &l->rows[i];
	uint64_t number = 0;
	const char *bad;
	enum th_code code;

	if (at < 0)
		return th_fail_no_session(l->err, l->ids[i]);
	bad = th_pg_row(l->found, at, &number, row);
	if (bad)
		return th_pg_fail_row(l->s, l->ids[i], bad, l->err);
	code = th_pg_check_owner(l->s, l->living, row, l->err);
	if (code != TH_OK)
		return code;
	row->epoch++;
	row->owner = th_str_of(l->s->owner.name);
	changes_add(&l->changes, number, row);
	return th_pg_row_keep(l->a, row, l->err);
}

/* What belongs to one session only, and lets the others go on. */
static bool of_one(enum th_code code)
{
	return code == TH_OK || code == TH_EBUSY || code == TH_ENOENT;
}

static enum th_code lease_all(struct leasing *l)
{
	struct th_postgres *s = l->s;
	enum th_code code = th_postgres_connect(s, &s->writer, l->err);

	if (code == TH_OK)
		code = th_pg_owner_take(s, l->err);
	if (code == TH_OK)
		code = th_postgres_begin(s, l->err);
	if (code == TH_OK)
		code = rows_lock(s, l->ids, l->count, &l->found, l->err);
	if (code == TH_OK)
		code = owners_ask(l);
	for (size_t i = 0; i < l->count && code == TH_OK; i++) {
		l->codes[i] = lease_one(l, i);
		if (!of_one(l->codes[i]))
			code = l->codes[i];
	}
	if (code == TH_OK)
		code = changes_write(s, &l->changes, l->err);
	if (code == TH_OK)
		return th_postgres_commit(s, l->err);
	th_pq_rollback(&s->writer);
	return code;
}

enum th_code th_postgres_lease_many(struct th_store *store, const struct th_str *ids, size_t count,
				    struct th_arena *a, struct th_session_row *rows,
				    enum th_code *codes, struct th_err *err)
{
	struct th_postgres *s = th_postgres_of(store);
	struct th_err local;
	struct leasing l = { .s = s,
			     .ids = ids,
			     .count = count,
			     .a = a,
			     .rows = rows,
			     .codes = codes,
			     .err = err ?: &local };
	enum th_code code = th_postgres_writable(s, l.err);

	assert(s->reading == 0 && "no lease from inside a callback of list or read");
	if (code != TH_OK)
		return code;
	pthread_mutex_lock(&s->writing);
	changes_init(&l.changes);
	code = lease_all(&l);
	changes_deinit(&l.changes);
	th_pq_clear(l.found);
	th_pq_clear(l.living);
	pthread_mutex_unlock(&s->writing);
	return code;
}

enum th_code th_postgres_lease(struct th_store *store, struct th_str id, struct th_arena *a,
			       struct th_session_row *ret, struct th_err *err)
{
	enum th_code code = TH_OK;
	enum th_code all = th_postgres_lease_many(store, &id, 1, a, ret, &code, err);

	return all != TH_OK ? all : code;
}

static enum th_code release(struct th_postgres *s, struct th_str id, int64_t epoch,
			    struct th_str heir, struct changes *changes, PGresult **found,
			    struct th_err *err)
{
	struct th_session_row row = { 0 };
	uint64_t number = 0;
	const char *bad;
	enum th_code code = th_postgres_connect(s, &s->writer, err);

	if (code == TH_OK)
		code = th_postgres_begin(s, err);
	if (code == TH_OK)
		code = rows_lock(s, &id, 1, found, err);
	if (code == TH_OK && th_pq_rows(*found) == 0)
		code = th_fail_no_session(err, id);
	if (code != TH_OK)
		return code;
	bad = th_pg_row(*found, 0, &number, &row);
	if (bad)
		return th_pg_fail_row(s, id, bad, err);
	if (row.epoch != epoch || !s->owner.name[0] || !th_str_is(row.owner, s->owner.name))
		return th_fail_fenced(err, id, epoch);
	row.epoch++;
	row.owner = heir;
	changes_add(changes, number, &row);
	code = changes_write(s, changes, err);
	return code == TH_OK ? th_postgres_commit(s, err) : code;
}

static enum th_code release_to(struct th_store *store, struct th_str id, int64_t epoch,
			       struct th_str heir, struct th_err *err)
{
	struct th_postgres *s = th_postgres_of(store);
	enum th_code code = th_postgres_writable(s, err);
	PGresult *found = NULL;
	struct changes changes;

	assert(s->reading == 0 && "no release from inside a callback of list or read");
	if (code != TH_OK)
		return code;
	pthread_mutex_lock(&s->writing);
	changes_init(&changes);
	code = release(s, id, epoch, heir, &changes, &found, err);
	changes_deinit(&changes);
	th_pq_clear(found);
	if (code != TH_OK)
		th_pq_rollback(&s->writer);
	pthread_mutex_unlock(&s->writing);
	return code;
}

enum th_code th_postgres_release(struct th_store *store, struct th_str id, int64_t epoch,
				 struct th_err *err)
{
	return release_to(store, id, epoch, TH_STR(""), err);
}

enum th_code th_postgres_hand_over(struct th_store *store, struct th_str id, int64_t epoch,
				   struct th_err *err)
{
	return release_to(store, id, epoch, TH_STR(TH_PG_NOBODY), err);
}
