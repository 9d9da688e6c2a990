/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reserve.c - room for sessions that are about to run, counted over all runtimes.
 *
 * Who counts a user's sessions has locked the user's row, so that no two count at once; each
 * statement sees what those before it have committed.  What is reserved stands in `reserved` until
 * the append by which the session runs takes it away: whoever counts finds one of both, never
 * both or none.  Rows of the dead go when somebody counts there.
 */
#include "postgres/append.h"

#include <stdlib.h>

/* ---- what this runtime has, in memory: with `lock` ---- */

static struct th_str name_of(const struct th_pg_reserved *r)
{
	return th_str_n(r->name, r->name_len);
}

static struct th_pg_reserved **find(struct th_postgres *s, struct th_str name)
{
	struct th_pg_reserved **at = &s->reserved;

	while (*at && !th_str_eq(name_of(*at), name))
		at = &(*at)->next;
	return at;
}

static void take_out(struct th_pg_reserved **at)
{
	struct th_pg_reserved *r = *at;

	*at = r->next;
	free(r);
}

static enum th_code put_in(struct th_postgres *s, struct th_str name, struct th_err *err)
{
	struct th_pg_reserved *r = th_try_alloc(sizeof(*r) + name.len);

	if (!r)
		return th_fail_memory(err);
	r->name_len = name.len;
	memcpy(r->name, name.ptr, name.len);
	pthread_mutex_lock(&s->lock);
	r->next = s->reserved;
	s->reserved = r;
	pthread_mutex_unlock(&s->lock);
	return TH_OK;
}

void th_postgres_reservation_use(struct th_store *store, struct th_str name, struct th_str id)
{
	struct th_postgres *s = th_postgres_of(store);
	struct th_pg_reserved *r;

	assert(id.len <= sizeof(r->session));
	pthread_mutex_lock(&s->lock);
	r = *find(s, name);
	if (r) {
		r->session_len = id.len;
		memcpy(r->session, id.ptr, id.len);
	}
	pthread_mutex_unlock(&s->lock);
}

bool th_postgres_reservation_is(struct th_store *store, struct th_str name)
{
	struct th_postgres *s = th_postgres_of(store);
	bool is;

	pthread_mutex_lock(&s->lock);
	is = *find(s, name) != NULL;
	pthread_mutex_unlock(&s->lock);
	return is;
}

void th_pg_reserved_deinit(struct th_postgres *s)
{
	while (s->reserved)
		take_out(&s->reserved);
}

/* ---- its place is taken ---- */

enum th_code th_pg_reserved_end(struct th_pg_appending *w)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	struct th_postgres *s = w->s;
	struct th_pq_array names;
	enum th_code code = TH_OK;

	th_pq_array_init(&names, TH_PQ_TEXT, TH_BATCH_MEMORY_MAX);
	pthread_mutex_lock(&s->lock);
	for (struct th_pg_reserved *r = s->reserved; r; r = r->next) {
		const struct th_pg_entry *e =
		    r->session_len ? th_pg_entry_find(w, th_str_n(r->session, r->session_len))
				   : NULL;

		r->used = e && e->changed && th_str_is(e->row.state, "running");
		if (r->used)
			th_pq_array_text(&names, name_of(r));
	}
	pthread_mutex_unlock(&s->lock);
	th_pq_arg_array(&args, &names);
	if (names.count > 0)
		code = th_pq_add(w->c, "DELETE FROM thole.reserved WHERE name = ANY($1)", &args,
				 w->err);
	th_pq_array_deinit(&names);
	return code;
}

void th_pg_reserved_settle(struct th_postgres *s, bool durable)
{
	pthread_mutex_lock(&s->lock);
	for (struct th_pg_reserved **at = &s->reserved; *at;) {
		if (durable && (*at)->used) {
			take_out(at);
			continue;
		}
		(*at)->used = false;
		at = &(*at)->next;
	}
	pthread_mutex_unlock(&s->lock);
}

/* ---- counting: with `writing` ---- */

struct reserving {
	struct th_postgres *s;
	const struct th_session_room *list;
	size_t count;
	struct th_err *errs;
	struct th_pq_array users, mine; /* mine: whose rows are locked here */
	bool is_mine[TH_LEASES_MAX];    /* of the list */
	struct th_err *err;
};

/* The rows of these users, those that nobody has in hand. */
static enum th_code users_lock(struct reserving *l)
{
	struct th_pq_args all TH_CLEANUP(th_pq_args_deinit) = { 0 };
	struct th_pq_args wanted TH_CLEANUP(th_pq_args_deinit) = { 0 };
	PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;
	struct th_pq *c = &l->s->writer;
	enum th_code code;

	th_pq_arg_array(&all, &l->users);
	th_pq_arg_array(&wanted, &l->users);
	code = th_pq_add(c,
			 "INSERT INTO thole.users (user_id) SELECT DISTINCT n.a FROM unnest($1)"
			 " AS n (a) ORDER BY n.a ON CONFLICT DO NOTHING",
			 &all, l->err);
	if (code == TH_OK)
		code = th_pq_run(c,
				 "SELECT user_id FROM thole.users WHERE user_id = ANY($1)"
				 " ORDER BY user_id FOR UPDATE SKIP LOCKED",
				 &wanted, &r, l->err);
	for (int i = 0; i < th_pq_rows(r) && code == TH_OK; i++) {
		struct th_str user = { 0 };

		if (!th_pq_text(r, i, 0, &user))
			continue;
		th_pq_array_text(&l->mine, user);
		for (size_t k = 0; k < l->count; k++)
			l->is_mine[k] |= th_str_eq(l->list[k].user, user);
	}
	return code;
}

/* What was reserved by who is dead now.  He stays so (th_pg_living), and appends nothing more; what
 * he has under way is waited for (commit.c). */
static enum th_code dead_remove(struct reserving *l)
{
	struct th_pq_args dead TH_CLEANUP(th_pq_args_deinit) = { 0 };
	struct th_pq_args ends TH_CLEANUP(th_pq_args_deinit) = { 0 };
	struct th_pq_args rows TH_CLEANUP(th_pq_args_deinit) = { 0 };
	struct th_pq *c = &l->s->writer;
	enum th_code code;

	th_pq_arg_array(&dead, &l->mine);
	th_pq_arg_array(&ends, &l->mine);
	th_pq_arg_array(&rows, &l->mine);
	code = th_pq_add(c,
			 "UPDATE thole.owners SET expires = '-infinity' WHERE expires <="
			 " clock_timestamp() AND expires > '-infinity' AND owner IN"
			 " (SELECT owner FROM thole.reserved WHERE user_id = ANY($1))",
			 &dead, l->err);
	if (code == TH_OK)
		code = th_pq_add(c,
				 "SELECT 1 FROM thole.commits c JOIN thole.owners o USING (owner)"
				 " WHERE o.expires = '-infinity' AND owner IN (SELECT owner FROM"
				 " thole.reserved WHERE user_id = ANY($1)) FOR UPDATE OF c",
				 &ends, l->err);
	if (code == TH_OK)
		code = th_pq_run(c,
				 "DELETE FROM thole.reserved r WHERE user_id = ANY($1) AND NOT"
				 " EXISTS (SELECT 1 FROM thole.owners o WHERE o.owner = r.owner"
				 " AND o.expires > '-infinity')",
				 &rows, NULL, l->err);
	return code;
}

/* Queued: a row comes back where there is room. */
static enum th_code reserve_one(struct reserving *l, const struct th_session_room *r)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	struct th_pq_array users, resting;
	enum th_code code;

	th_pq_array_init(&users, TH_PQ_TEXT, TH_BATCH_MEMORY_MAX);
	th_pq_array_init(&resting, TH_PQ_TEXT, TH_BATCH_MEMORY_MAX);
	th_pq_array_text(&users, r->user);
	if (th_str_is(r->user, TH_USER_LOCAL)) /* th_user_is */
		th_pq_array_text(&users, TH_STR(""));
	for (size_t i = 0; i < r->resting_count; i++)
		th_pq_array_text(&resting, r->resting[i]);
	th_pq_arg_text(&args, r->name);
	th_pq_arg_text(&args, r->user);
	th_pq_arg_text(&args, th_str_of(l->s->owner.name));
	th_pq_arg_array(&args, &users);
	th_pq_arg_array(&args, &resting);
	th_pq_arg_i64(&args, r->most);
	code = th_pq_add(&l->s->writer,
			 "INSERT INTO thole.reserved (name, user_id, owner) SELECT $1, $2, $3"
			 " WHERE (SELECT count(*) FROM (SELECT 1 FROM thole.sessions WHERE user_id"
			 " = ANY($4) AND agent_state IN ('running', 'loading') AND owner <> ''"
			 " AND (parent_id = '' OR parent_seq > 0) AND session_id <> ALL($5)"
			 " LIMIT $6) s) + (SELECT count(*) FROM thole.reserved WHERE user_id = $2)"
			 " < $6 RETURNING 1::bigint",
			 &args, l->err);
	th_pq_array_deinit(&users);
	th_pq_array_deinit(&resting);
	return code;
}

/* Each of a user whose row is locked, and what came back, in the same order. */
static enum th_code reserve_mine(struct reserving *l)
{
	PGresult *results[TH_LEASES_MAX] = { NULL };
	enum th_code code = TH_OK;
	size_t at = 0;

	assert(l->s->writer.queued == 0);
	for (size_t i = 0; i < l->count && code == TH_OK; i++)
		if (l->is_mine[i])
			code = reserve_one(l, &l->list[i]);
	if (code == TH_OK)
		code = th_pq_go(&l->s->writer, results, l->err);
	for (size_t i = 0; i < l->count && code == TH_OK; i++) {
		const struct th_session_room *r = &l->list[i];

		l->errs[i].code = TH_OK;
		if (!l->is_mine[i])
			(void)th_fail(&l->errs[i], TH_EBUSY,
				      "another runtime counts this user's sessions");
		else if (th_pq_rows(results[at++]) != 1)
			(void)th_fail(&l->errs[i], TH_ELIMIT,
				      "%lld sessions of this user run, and no more may",
				      (long long)r->most);
	}
	for (size_t i = 0; i < at; i++)
		th_pq_clear(results[i]);
	return code;
}

static enum th_code reserve_all(struct reserving *l)
{
	struct th_postgres *s = l->s;
	enum th_code code = th_postgres_connect(s, &s->writer, l->err);

	if (code == TH_OK)
		code = th_pg_owner_take(s, l->err);
	if (code == TH_OK)
		code = th_postgres_begin(s, l->err);
	if (code == TH_OK)
		code = users_lock(l);
	if (code == TH_OK && l->mine.count > 0)
		code = dead_remove(l);
	if (code == TH_OK)
		code = reserve_mine(l);
	if (code == TH_OK)
		code = th_postgres_commit(s, l->err);
	else
		th_pq_rollback(&s->writer);
	for (size_t i = 0; i < l->count && code == TH_OK; i++)
		if (l->errs[i].code == TH_OK)
			code = put_in(s, l->list[i].name, l->err);
	return code;
}

enum th_code th_postgres_reserve_many(struct th_store *store, const struct th_session_room *list,
				      size_t count, struct th_err *errs, struct th_err *err)
{
	struct th_postgres *s = th_postgres_of(store);
	struct th_err local;
	struct reserving l = {
		.s = s, .list = list, .count = count, .errs = errs, .err = err ?: &local
	};
	enum th_code code = th_postgres_writable(s, l.err);

	assert(count <= TH_LEASES_MAX);
	if (code != TH_OK)
		return code;
	th_pq_array_init(&l.users, TH_PQ_TEXT, TH_BATCH_MEMORY_MAX);
	th_pq_array_init(&l.mine, TH_PQ_TEXT, TH_BATCH_MEMORY_MAX);
	for (size_t i = 0; i < count; i++)
		th_pq_array_text(&l.users, list[i].user);
	pthread_mutex_lock(&s->writing);
	code = reserve_all(&l);
	pthread_mutex_unlock(&s->writing);
	th_pq_array_deinit(&l.users);
	th_pq_array_deinit(&l.mine);
	return code;
}

/* ---- giving back ---- */

static enum th_code rows_remove(struct th_postgres *s, struct th_pq_array *names,
				struct th_err *err)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	enum th_code code = th_postgres_connect(s, &s->writer, err);

	th_pq_arg_array(&args, names);
	if (code == TH_OK)
		code = th_postgres_begin(s, err);
	if (code == TH_OK)
		code = th_pq_add(&s->writer, "DELETE FROM thole.reserved WHERE name = ANY($1)",
				 &args, err);
	if (code == TH_OK)
		return th_postgres_commit(s, err);
	th_pq_rollback(&s->writer);
	return code;
}

enum th_code th_postgres_unreserve_many(struct th_store *store, const struct th_str *names,
					size_t count, struct th_err *err)
{
	struct th_postgres *s = th_postgres_of(store);
	enum th_code code = th_postgres_writable(s, err);
	struct th_pq_array list;

	if (code != TH_OK)
		return code;
	th_pq_array_init(&list, TH_PQ_TEXT, TH_BATCH_MEMORY_MAX);
	pthread_mutex_lock(&s->writing);
	for (size_t i = 0; i < count; i++)
		if (th_postgres_reservation_is(store, names[i]))
			th_pq_array_text(&list, names[i]);
	if (list.count > 0)
		code = rows_remove(s, &list, err);
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < count && code == TH_OK; i++) {
		struct th_pg_reserved **at = find(s, names[i]);

		if (*at)
			take_out(at);
	}
	pthread_mutex_unlock(&s->lock);
	pthread_mutex_unlock(&s->writing);
	th_pq_array_deinit(&list);
	return code;
}
