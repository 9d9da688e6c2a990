/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease.c - taking sessions and giving them back, on the writer's
 * connection.
 */
#include "postgres/postgres.h"

/* ---- who lives ---- */

enum th_code th_pg_living(struct th_postgres *s, struct th_pq_array *names, PGresult **ret,
			  struct th_err *err)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	enum th_code code;

	th_pq_arg_array(&args, names);
	/* Waits for a renewal that is under way, and then looks at what it left.  Who is found dead
	 * stays dead, whatever the clock does: its row is found by `abandoned` until it has no
	 * session any more.  It is not written again: those who claim its sessions at once would
	 * wait for each other there. */
	code = th_pq_add(&s->writer,
			 "UPDATE thole.owners SET expires = '-infinity' WHERE owner = ANY($1)"
			 " AND expires <= clock_timestamp() AND expires > '-infinity'",
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

/* Their new owners and epochs, with one statement.  It says since when a session waits, too: one
 * that was taken, and is left again before anything was appended, has waited all the time. */
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
			 "UPDATE thole.sessions s SET epoch = n.b, owner = n.c, row_crc = n.d,"
			 " left_at = CASE WHEN n.c = '" TH_PG_NOBODY "' THEN CASE WHEN s.left_seq ="
			 " s.head_seq THEN s.left_at ELSE clock_timestamp() END WHEN s.owner NOT IN"
			 " ('', '" TH_PG_NOBODY "', n.c) THEN coalesce((SELECT o.seen FROM"
			 " thole.owners o WHERE o.owner = s.owner), clock_timestamp())"
			 " ELSE s.left_at END, left_seq = CASE WHEN n.c = '" TH_PG_NOBODY "' OR"
			 " s.owner NOT IN ('', '" TH_PG_NOBODY "', n.c) THEN s.head_seq"
			 " ELSE s.left_seq END"
			 " FROM unnest($1, $2, $3, $4) AS n (a, b, c, d) WHERE s.number = n.a",
			 &args, err);
}

/* `skip`: those that another transaction has in hand are passed over. */
static enum th_code rows_lock(struct th_postgres *s, struct th_pq_array *ids, bool skip,
			      PGresult **ret, struct th_err *err)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };

	th_pq_arg_array(&args, ids);
	return th_pq_run(&s->writer,
			 skip ? "SELECT " TH_PG_SESSION_COLUMNS " FROM thole.sessions s WHERE"
				" s.session_id = ANY($1) ORDER BY s.session_id"
				" FOR NO KEY UPDATE SKIP LOCKED"
			      : "SELECT " TH_PG_SESSION_COLUMNS " FROM thole.sessions s WHERE"
				" s.session_id = ANY($1) ORDER BY s.session_id FOR NO KEY UPDATE",
			 &args, ret, err);
}

/* ---- leases ---- */

struct leasing {
	struct th_postgres *s;
	const struct th_str *ids;
	size_t count;
	bool skip;
	struct th_arena *a;
	struct th_session_row *rows;
	struct th_err *errs;
	struct th_pq_array list;
	struct changes changes;
	PGresult *found, *living;
	struct th_err *err;
};

/* Where `id` is among what was found, which is in the order of the ids; -1: nowhere. */
static int found_find(PGresult *found, struct th_str id)
{
	int low = 0, high = th_pq_rows(found);

	while (low < high) {
		int middle = low + (high - low) / 2, order;
		struct th_str there = { 0 };

		(void)th_pq_bytes(found, middle, 1, &there);
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

static enum th_code fail_absent(const struct leasing *l, size_t i)
{
	if (!l->skip)
		return th_fail_no_session(&l->errs[i], l->ids[i]);
	return th_fail(&l->errs[i], TH_EBUSY, "another runtime has session %s in hand",
		       th_session_shown(l->ids[i]).text);
}

static enum th_code lease_one(struct leasing *l, size_t i)
{
	int at = found_find(l->found, l->ids[i]);
	struct th_session_row *row = &l->rows[i];
	uint64_t number = 0;
	const char *bad;
	enum th_code code;

	if (at < 0)
		return fail_absent(l, i);
	bad = th_pg_row(l->found, at, &number, row);
	if (bad)
		return th_pg_fail_row(l->s, l->ids[i], bad, &l->errs[i]);
	code = th_pg_check_owner(l->s, l->living, row, &l->errs[i]);
	if (code != TH_OK)
		return code;
	row->epoch++;
	row->owner = th_str_of(l->s->owner.name);
	changes_add(&l->changes, number, row);
	return th_pg_row_keep(l->a, row, &l->errs[i]);
}

/* What belongs to one session only, and lets the others go on. */
static bool of_one(enum th_code code)
{
	return code == TH_OK || code == TH_EBUSY || code == TH_ENOENT || code == TH_ECORRUPT;
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
		code = rows_lock(s, &l->list, l->skip, &l->found, l->err);
	if (code == TH_OK)
		code = owners_ask(l);
	for (size_t i = 0; i < l->count && code == TH_OK; i++) {
		l->errs[i].code = lease_one(l, i);
		if (!of_one(l->errs[i].code))
			code = th_fail(l->err, l->errs[i].code, "%s", l->errs[i].msg);
	}
	if (code == TH_OK)
		code = changes_write(s, &l->changes, l->err);
	if (code == TH_OK)
		return th_postgres_commit(s, l->err);
	th_pq_rollback(&s->writer);
	return code;
}

enum th_code th_postgres_lease_many(struct th_store *store, const struct th_str *ids, size_t count,
				    bool skip, struct th_arena *a, struct th_session_row *rows,
				    struct th_err *errs, struct th_err *err)
{
	struct th_postgres *s = th_postgres_of(store);
	struct th_err local;
	struct leasing l = { .s = s,
			     .ids = ids,
			     .count = count,
			     .skip = skip,
			     .a = a,
			     .rows = rows,
			     .errs = errs,
			     .err = err ?: &local };
	enum th_code code = th_postgres_writable(s, l.err);

	if (code != TH_OK)
		return code;
	th_pq_array_init(&l.list, TH_PQ_TEXT, TH_BATCH_MEMORY_MAX);
	for (size_t i = 0; i < count; i++)
		if (th_session_id_ok(ids[i]))
			th_pq_array_text(&l.list, ids[i]);
	pthread_mutex_lock(&s->writing);
	changes_init(&l.changes);
	code = lease_all(&l);
	changes_deinit(&l.changes);
	th_pq_clear(l.found);
	th_pq_clear(l.living);
	pthread_mutex_unlock(&s->writing);
	th_pq_array_deinit(&l.list);
	return code;
}

/* ---- giving back ---- */

struct releasing {
	struct th_postgres *s;
	const struct th_held *list;
	size_t count;
	struct th_err *errs;
	struct th_pq_array ids;
	struct changes changes;
	PGresult *found;
	bool left; /* for others to take */
	struct th_err *err;
};

static enum th_code release_one(struct releasing *l, size_t i)
{
	const struct th_held *held = &l->list[i];
	int at = found_find(l->found, held->session_id);
	struct th_session_row row = { 0 };
	uint64_t number = 0;
	const char *bad;

	if (at < 0)
		return th_fail_no_session(&l->errs[i], held->session_id);
	bad = th_pg_row(l->found, at, &number, &row);
	if (bad)
		return th_pg_fail_row(l->s, held->session_id, bad, &l->errs[i]);
	if (row.epoch != held->epoch || !l->s->owner.name[0] ||
	    !th_str_is(row.owner, l->s->owner.name))
		return th_fail_fenced(&l->errs[i], held->session_id, held->epoch);
	row.epoch++;
	row.owner = held->hand_over ? TH_STR(TH_PG_NOBODY) : TH_STR("");
	l->left |= held->hand_over;
	changes_add(&l->changes, number, &row);
	return TH_OK;
}

static enum th_code release_all(struct releasing *l)
{
	struct th_postgres *s = l->s;
	enum th_code code = th_postgres_connect(s, &s->writer, l->err);

	if (code == TH_OK)
		code = th_postgres_begin(s, l->err);
	if (code == TH_OK)
		code = rows_lock(s, &l->ids, false, &l->found, l->err);
	for (size_t i = 0; i < l->count && code == TH_OK; i++)
		l->errs[i].code = release_one(l, i);
	if (code == TH_OK)
		code = changes_write(s, &l->changes, l->err);
	if (code == TH_OK)
		return th_postgres_commit(s, l->err);
	th_pq_rollback(&s->writer);
	return code;
}

enum th_code th_postgres_release_many(struct th_store *store, const struct th_held *list,
				      size_t count, struct th_err *errs, struct th_err *err)
{
	struct th_postgres *s = th_postgres_of(store);
	struct releasing l = { .s = s, .list = list, .count = count, .errs = errs, .err = err };
	enum th_code code = th_postgres_writable(s, err);

	if (code != TH_OK)
		return code;
	th_pq_array_init(&l.ids, TH_PQ_TEXT, TH_BATCH_MEMORY_MAX);
	for (size_t i = 0; i < count; i++)
		if (th_session_id_ok(list[i].session_id))
			th_pq_array_text(&l.ids, list[i].session_id);
	pthread_mutex_lock(&s->writing);
	changes_init(&l.changes);
	code = release_all(&l);
	if (code == TH_OK && l.left)
		th_pg_notify_say(s);
	changes_deinit(&l.changes);
	th_pq_clear(l.found);
	pthread_mutex_unlock(&s->writing);
	th_pq_array_deinit(&l.ids);
	return code;
}
