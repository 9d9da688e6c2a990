/* SPDX-License-Identifier: Apache-2.0 */
/*
 * owner.c - the row that says that this runtime lives.
 *
 * It has a time at which it ends, by the database's clock, and a thread with a
 * connection of its own puts that off.  By our clock the lease begins when the
 * request is sent, and ends a little before: whoever finds it over in the
 * database comes after we have stopped.  One that was over is never renewed.
 */
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/clock.h"
#include "io/files.h"
#include "postgres/postgres.h"

#define RETRY_MS 200
#define DEAD_MAX "256" /* rows of the dead removed at once */

/* Two clocks that run apart may differ by so much over one lease. */
static uint64_t certain_ms(uint64_t lease_ms)
{
	return lease_ms - lease_ms / 10;
}

void th_pg_owner_init(struct th_pg_owner *o, uint64_t lease_ms)
{
	*o = (struct th_pg_owner){ .lease_ms = lease_ms, .keeper = TH_PQ_INIT, .stop_fd = -1 };
}

/* ---- renewing ---- */

static void lose(struct th_postgres *s, const struct th_err *err)
{
	th_group_break(&s->group, err);
	pthread_mutex_lock(&s->lock);
	if (s->owner.wake)
		th_wake_send(s->owner.wake);
	pthread_mutex_unlock(&s->lock);
}

static enum th_code renew(struct th_postgres *s, struct th_err *err)
{
	struct th_pg_owner *o = &s->owner;
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;
	uint64_t left = th_pg_owner_left_ms(o), now;
	enum th_code code;

	/* Each attempt leaves time for another one. */
	o->keeper.wait_ms = TH_MAX(left / 3, (uint64_t)100);
	code = th_postgres_connect(s, &o->keeper, err);
	if (code != TH_OK)
		return code;
	now = th_clock_ms();
	th_pq_arg_text(&args, th_str_of(o->name));
	th_pq_arg_i64(&args, (int64_t)o->lease_ms);
	th_pq_arg_i64(&args, (int64_t)th_pq_slow());
	code = th_pq_run(&o->keeper,
			 "UPDATE thole.owners SET seen = clock_timestamp(), slow = $3,"
			 " expires = clock_timestamp() + $2 * interval '1 millisecond'"
			 " WHERE owner = $1 AND expires > clock_timestamp() RETURNING 1",
			 &args, &r, err);
	if (code == TH_OK && o->keeper.warned) {
		th_pq_close(&o->keeper);
		return th_fail(err, TH_ECONN, "%s: a renewal did not wait for the standby",
			       s->shown);
	}
	if (code == TH_OK && th_pq_rows(r) != 1)
		return th_fail(err, TH_EFENCED,
			       "%s: the lease of this runtime is over; another one may have its "
			       "sessions",
			       s->shown);
	if (code == TH_OK)
		atomic_store(&o->until_ms, now + certain_ms(o->lease_ms));
	return code;
}

static void *keep(void *ctx)
{
	struct th_postgres *s = ctx;
	struct th_pg_owner *o = &s->owner;
	struct pollfd stop = { .fd = o->stop_fd, .events = POLLIN };
	int wait_ms = (int)(o->lease_ms / 4);

	while (poll(&stop, 1, wait_ms) == 0) {
		struct th_err err = { 0 };
		enum th_code code = renew(s, &err);

		wait_ms = code == TH_OK ? (int)(o->lease_ms / 4) : RETRY_MS;
		if (code == TH_EFENCED)
			atomic_store(&o->until_ms, 0);
		if (th_pg_owner_left_ms(o) > 0)
			continue;
		if (code == TH_OK) /* woken too late: who asked meanwhile was told so */
			(void)th_fail(&err, TH_EFENCED, "%s: the lease of this runtime was over",
				      s->shown);
		lose(s, &err);
		break;
	}
	th_pq_close(&o->keeper);
	return NULL;
}

static enum th_code thread_start(struct th_postgres *s, struct th_err *err)
{
	struct th_pg_owner *o = &s->owner;

	o->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (o->stop_fd < 0)
		return th_fail_errno(err, errno, "%s: a thread for the lease", s->shown);
	o->keeper.url = th_secret_expose(s->url).ptr;
	o->keeper.shown = s->shown;
	o->keeper.write = true;
	o->keeper.stop_fd = o->stop_fd;
	o->thread_started = th_postgres_thread(&o->thread, keep, s);
	return o->thread_started ? TH_OK : th_fail_memory(err);
}

/* ---- taking and giving up ---- */

/* In one transaction, which may be tried again: the name is then another one. */
static enum th_code insert(struct th_postgres *s, const char *name, struct th_err *err)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	struct th_pq_args again TH_CLEANUP(th_pq_args_deinit) = { 0 };
	struct th_pq *c = &s->writer;
	char host[65] = "?";
	enum th_code code;

	(void)gethostname(host, sizeof(host) - 1);
	th_pq_arg_text(&args, th_str_of(name));
	th_pq_arg_text(&args, th_str_of(host));
	th_pq_arg_i64(&args, getpid());
	th_pq_arg_i64(&args, (int64_t)s->owner.lease_ms);
	th_pq_arg_text(&args, th_str_of(s->owner.node));
	th_pq_arg_text(&args, th_str_of(s->owner.address));
	th_pq_arg_i64(&args, s->owner.capacity);
	th_pq_arg_i64(&args, s->owner.draining);
	th_pq_arg_text(&args, th_str_of(s->owner.labels));
	th_pq_arg_text(&again, th_str_of(name));
	code = th_postgres_begin(s, err);
	if (code == TH_OK)
		code = th_pq_add(c,
				 "INSERT INTO thole.owners (owner, host, process, began, expires,"
				 " node, address, capacity, draining, labels)"
				 " VALUES ($1, $2, $3, clock_timestamp(),"
				 " clock_timestamp() + $4 * interval '1 millisecond', $5, $6, $7,"
				 " $8 = 1, $9)",
				 &args, err);
	if (code == TH_OK)
		code = th_pq_add(
		    c, "INSERT INTO thole.commits (owner, batch, looks) VALUES ($1, 0, 0)", &again,
		    err);
	/* Of the dead, those that have nothing any more. */
	if (code == TH_OK)
		code = th_pq_add(c,
				 "DELETE FROM thole.owners WHERE owner IN (SELECT owner FROM"
				 " thole.owners o WHERE expires <= clock_timestamp() AND owner <>"
				 " '" TH_PG_NOBODY "' AND NOT EXISTS"
				 " (SELECT 1 FROM thole.sessions s WHERE s.owner = o.owner AND"
				 " s.owner <> '') LIMIT " DEAD_MAX " FOR UPDATE SKIP LOCKED)",
				 NULL, err);
	if (code == TH_OK)
		code = th_pq_add(c,
				 "DELETE FROM thole.reserved r WHERE NOT EXISTS (SELECT 1 FROM"
				 " thole.owners o WHERE o.owner = r.owner)",
				 NULL, err);
	if (code == TH_OK)
		code = th_postgres_commit(s, err);
	if (code != TH_OK)
		th_pq_rollback(c);
	return code;
}

enum th_code th_pg_owner_take(struct th_postgres *s, struct th_err *err)
{
	struct th_pg_owner *o = &s->owner;
	char name[TH_UUID_TEXT_SIZE + 1];
	struct th_uuid id = th_uuid_now();
	uint64_t now = th_clock_ms();
	enum th_code code;

	if (o->name[0])
		return TH_OK;
	th_uuid_text(&id, name);
	code = insert(s, name, err);
	if (code != TH_OK)
		return code;
	s->batch = s->looks = 0;
	atomic_store(&o->until_ms, now + certain_ms(o->lease_ms));
	memcpy(o->name, name, sizeof(name));
	atomic_store(&o->taken, true);
	if (o->thread_started)
		return TH_OK;
	code = thread_start(s, err);
	if (code != TH_OK) /* it cannot be held: as if it had never been */
		o->name[0] = '\0';
	return code;
}

void th_pg_owner_drop(struct th_postgres *s)
{
	struct th_pg_owner *o = &s->owner;
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	uint64_t one = 1;
	bool node = th_pg_notify_stop(s);

	if (o->thread_started && write(o->stop_fd, &one, sizeof(one)) == sizeof(one))
		pthread_join(o->thread, NULL);
	o->thread_started = false;
	th_fd_close(&o->stop_fd);
	if (!o->name[0])
		return;
	/* Who fails to be removed is dead in a moment.  Where a server's sessions run, the row
	 * stays as one of a dead: so the others find them at once. */
	th_pq_arg_text(&args, th_str_of(o->name));
	if ((s->writer.conn || th_postgres_connect(s, &s->writer, NULL) == TH_OK) &&
	    th_pq_run(
		&s->writer,
		"WITH left_behind AS (UPDATE thole.owners SET expires ="
		" '-infinity', seen = clock_timestamp() WHERE owner = $1 AND EXISTS (SELECT 1 FROM"
		" thole.sessions WHERE owner = $1 AND owner <> '' AND user_id <> ''"
		" AND agent_state IN ('running', 'loading')) RETURNING 1)"
		" DELETE FROM thole.owners WHERE owner = $1"
		" AND NOT EXISTS (SELECT 1 FROM left_behind)",
		&args, NULL, NULL) == TH_OK &&
	    node)
		(void)!th_pg_notify_tell(s, &s->writer, NULL);
	o->name[0] = '\0';
}
