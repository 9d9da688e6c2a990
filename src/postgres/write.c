/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write.c - batches of appends.
 *
 * A server that cannot be reached is waited for as long as this process
 * certainly holds what it has: its lease.  Nobody is told anything meanwhile, so
 * nothing is lost; after that the store is, and the runtime stops.
 */
#include "postgres/postgres.h"

#define TRIES_MAX 16 /* of a transaction that others made fail */
#define PAUSE_MS 50  /* before the next try */

static bool needs_owner(const struct th_batch *list)
{
	for (; list; list = list->next)
		if (list->append_count > 0)
			return true;
	return false;
}

static enum th_code transact(struct th_postgres *s, struct th_batch *list, struct th_err *err)
{
	bool again = !s->writer.conn || th_pq_is_old(&s->writer);
	enum th_code code = th_postgres_connect(s, &s->writer, err);

	/* It may be another server: what it has is looked at before anything is written there. */
	if (again)
		th_pg_known_clear(s->known);
	if (code == TH_OK && needs_owner(list))
		code = th_pg_owner_take(s, err);
	/* Durable before the event that names it. */
	if (code == TH_OK)
		code = th_pg_puts_make(s, list, err);
	if (code == TH_OK)
		code = th_postgres_begin(s, err);
	if (code == TH_OK)
		code = th_postgres_append(s, list, err);
	if (code == TH_OK)
		code = th_postgres_commit(s, err);
	th_pg_reserved_settle(s, code == TH_OK);
	if (code == TH_OK)
		return code;
	th_pg_known_clear(s->known);
	th_pq_rollback(&s->writer);
	return code;
}

/* As often as it helps. */
static enum th_code transact_long(struct th_postgres *s, struct th_batch *list, struct th_err *err)
{
	uint64_t until_ms = th_clock_ms() + s->busy_ms;
	enum th_code code;

	for (int tries = 1;; tries++) {
		bool held = s->owner.name[0] != '\0', again;

		code = transact(s, list, err);
		if (code == TH_OK)
			return code;
		if (code == TH_EFENCED)
			return th_pg_fail_lost(s, err);
		again = th_pq_try_again(&s->writer) && tries < TRIES_MAX;
		if (!again && code != TH_ECONN && code != TH_EBUSY)
			return code;
		if (th_group_usable(&s->group, err) != TH_OK)
			return TH_EIO;
		if (held && th_pg_owner_left_ms(&s->owner) == 0)
			return th_pg_fail_lost(s, err);
		if (!held && th_clock_ms() > until_ms)
			return code;
		th_postgres_pause(s, PAUSE_MS);
	}
}

enum th_code th_postgres_write(struct th_postgres *s, struct th_batch *list, struct th_err *err)
{
	enum th_code code = th_postgres_writable(s, err);

	pthread_mutex_lock(&s->writing);
	if (code == TH_OK && !s->columns) {
		s->columns = th_pg_columns_new();
		if (!s->columns)
			code = th_fail_memory(err);
	}
	if (code == TH_OK && !s->known) {
		s->known = th_pg_known_new();
		if (!s->known)
			code = th_fail_memory(err);
	}
	if (code == TH_OK)
		code = transact_long(s, list, err);
	s->puts.count = 0;
	pthread_mutex_unlock(&s->writing);
	return code;
}
