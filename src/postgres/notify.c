/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notify.c - what nodes tell each other: that something was left to be
 * taken.
 *
 * Each node listens on a channel of its own, which its owner's name is in, on a
 * connection of its own, since a pooler would give that to others meanwhile.  A
 * thread waits there, wakes the loop, and tells the others what was left here.
 *
 * Nothing hangs on it: a word that is lost costs the time until the next look.
 * NOTIFY takes a lock of the whole server while it commits, so it is never part
 * of another transaction, does not wait for a disk or a standby, and comes at
 * most once in TH_FLEET_TELL_MS from each node.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/files.h"
#include "postgres/postgres.h"

#define CHANNEL "thole_"
#define RETRY_MS 500 /* doubles */
#define RETRY_MAX_MS 30000
#define NODES_MAX "1000"
static_assert(TH_FLEET_NODES_MAX == 1000, "NODES_MAX");

void th_pg_notify_init(struct th_postgres *s)
{
	s->notify = (struct th_pg_notify){ .link = TH_PQ_INIT, .stop_fd = -1, .say_fd = -1 };
}

/* ---- telling ---- */

enum th_code th_pg_notify_tell(struct th_postgres *s, struct th_pq *c, struct th_err *err)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	enum th_code code;

	th_pq_arg_text(&args, th_str_of(s->owner.name));
	/* Both are one transaction, which a setting that is local to it ends with. */
	code = th_pq_add(c, "SELECT set_config('synchronous_commit', 'off', true)", NULL, err);
	if (code == TH_OK)
		code = th_pq_run(
		    c,
		    "SELECT count(pg_notify('" CHANNEL "' || n.owner, '')) FROM"
		    " (SELECT owner FROM thole.owners WHERE owner <> $1 AND address <> ''"
		    " AND NOT draining AND expires > clock_timestamp() LIMIT " NODES_MAX ") n",
		    &args, NULL, err);
	return code;
}

void th_pg_notify_say(struct th_postgres *s)
{
	uint64_t one = 1;

	atomic_store(&s->notify.said, true);
	/* One that is full already is readable. */
	if (s->notify.say_fd >= 0 && write(s->notify.say_fd, &one, sizeof(one)) != sizeof(one))
		return;
}

/* ---- the thread ---- */

static bool is_to_end(const struct th_pg_notify *n)
{
	struct pollfd stop = { .fd = n->stop_fd, .events = POLLIN };

	return poll(&stop, 1, 0) > 0;
}

static void wake_loop(struct th_postgres *s, const struct th_err *why)
{
	struct th_pg_notify *n = &s->notify;

	pthread_mutex_lock(&s->lock);
	if (why) {
		n->lost = true;
		n->why = *why;
	} else {
		n->told = true;
	}
	pthread_mutex_unlock(&s->lock);
	th_wake_send(n->wake);
}

/* A server has many databases, and what is said in one is not heard in another. */
static enum th_code check_database(struct th_postgres *s, struct th_err *err)
{
	struct th_pg_notify *n = &s->notify;
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;
	enum th_code code;

	th_pq_arg_text(&args, th_str_of(s->owner.name));
	code = th_pq_run(&n->link, "SELECT 1 FROM thole.owners WHERE owner = $1", &args, &r, err);
	if (code == TH_OK && th_pq_rows(r) != 1)
		code =
		    th_fail(err, TH_EUSAGE, "%s: is not the database of the store", n->link.shown);
	return code;
}

static enum th_code listen_begin(struct th_postgres *s, struct th_err *err)
{
	struct th_pg_notify *n = &s->notify;
	char sql[sizeof("LISTEN \"" CHANNEL "\"") + TH_UUID_TEXT_SIZE];
	enum th_code code = th_postgres_connect(s, &n->link, err);

	snprintf(sql, sizeof(sql), "LISTEN \"" CHANNEL "%s\"", s->owner.name);
	if (code == TH_OK)
		code = check_database(s, err);
	if (code == TH_OK)
		code = th_pq_run(&n->link, sql, NULL, NULL, err);
	return code;
}

/* For as long as nothing can be heard or said; at most until it is to be looked which primary this
 * is: one that is frozen keeps its connections. */
static void rest(struct th_postgres *s)
{
	struct th_pg_notify *n = &s->notify;
	struct pollfd fds[] = { { .fd = n->stop_fd, .events = POLLIN },
				{ .fd = n->say_fd, .events = POLLIN },
				{ .fd = th_pq_socket(&n->link), .events = POLLIN } };
	uint64_t now = th_clock_ms(), most = s->owner.lease_ms / 4, many;

	if (atomic_load(&n->said))
		most = n->said_ms > now ? TH_MIN(most, n->said_ms - now) : 0;
	if (poll(fds, TH_COUNT(fds), (int)most) > 0 && fds[1].revents &&
	    read(n->say_fd, &many, sizeof(many)) != sizeof(many))
		return; /* it was read already */
}

static enum th_code say_what_was_left(struct th_postgres *s, struct th_err *err)
{
	struct th_pg_notify *n = &s->notify;
	uint64_t now = th_clock_ms();
	enum th_code code;

	if (now < n->said_ms || !atomic_exchange(&n->said, false))
		return TH_OK;
	n->said_ms = now + TH_FLEET_TELL_MS;
	code = th_pg_notify_tell(s, &n->link, err);
	if (code != TH_OK)
		atomic_store(&n->said, true); /* on the next connection */
	return code;
}

/* Until the connection ends, or the thread is to. */
static enum th_code attend(struct th_postgres *s, struct th_err *err)
{
	struct th_pg_notify *n = &s->notify;
	enum th_code code = TH_OK;

	while (code == TH_OK && !is_to_end(n)) {
		bool heard = false;

		if (th_pq_is_old(&n->link))
			return th_fail(err, TH_ECONN, "%s: another server took over",
				       n->link.shown);
		code = say_what_was_left(s, err);
		if (code == TH_OK)
			code = th_pq_heard(&n->link, &heard, err);
		if (heard)
			wake_loop(s, NULL);
		if (code == TH_OK)
			rest(s);
	}
	return code;
}

static void *run(void *ctx)
{
	struct th_postgres *s = ctx;
	struct th_pg_notify *n = &s->notify;
	struct pollfd stop = { .fd = n->stop_fd, .events = POLLIN };
	uint64_t pause_ms = RETRY_MS;

	do {
		struct th_err err = { 0 };
		enum th_code code = listen_begin(s, &err);

		if (code == TH_OK) {
			pause_ms = RETRY_MS;
			n->deaf = false;
			wake_loop(s, NULL); /* what was left meanwhile */
			code = attend(s, &err);
		}
		th_pq_close(&n->link);
		if (code == TH_OK || is_to_end(n))
			break;
		if (!n->deaf)
			wake_loop(s, &err);
		n->deaf = true;
		if (poll(&stop, 1, (int)pause_ms) > 0)
			break;
		pause_ms = TH_MIN(2 * pause_ms, (uint64_t)RETRY_MAX_MS);
	} while (true);
	return NULL;
}

/* ---- life ---- */

static enum th_code url_set(struct th_postgres *s, struct th_str url, struct th_err *err)
{
	struct th_pg_notify *n = &s->notify;
	struct th_buf shown TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_STORE_URL_MAX);

	if (url.len && ((!th_str_starts(url, TH_STR("postgres://")) &&
			 !th_str_starts(url, TH_STR("postgresql://"))) ||
			memchr(url.ptr, 0, url.len) || url.len > TH_STORE_URL_MAX))
		return th_fail(err, TH_EUSAGE,
			       "notify is a URL of the store's database, as in "
			       "postgres://USER@HOST:5432/DATABASE");
	n->url = th_secret_free(n->url);
	free(n->shown);
	n->shown = NULL;
	if (url.len) {
		th_pq_show(url, &shown);
		n->url = th_secret_new(url);
		n->shown = th_buf_steal(&shown, NULL);
	}
	n->link = (struct th_pq)TH_PQ_INIT;
	n->link.url = th_secret_expose(n->url ?: s->url).ptr;
	n->link.shown = n->shown ?: s->shown;
	n->link.wait_ms = s->writer.wait_ms;
	n->link.write = true; /* a standby tells nothing */
	return TH_OK;
}

enum th_code th_pg_notify_start(struct th_postgres *s, struct th_str url, struct th_err *err)
{
	struct th_pg_notify *n = &s->notify;
	enum th_code code;

	if (!n->wake)
		return TH_OK;
	if (n->started && (n->url ? th_secret_eq(n->url, url) : url.len == 0))
		return TH_OK;
	(void)th_pg_notify_stop(s);
	code = url_set(s, url, err);
	if (code != TH_OK)
		return code;
	n->stop_fd = eventfd(0, EFD_CLOEXEC);
	n->say_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (n->stop_fd < 0 || n->say_fd < 0)
		return th_fail_errno(err, errno, "%s: a thread for what nodes tell", s->shown);
	n->link.stop_fd = n->stop_fd;
	n->deaf = false;
	n->started = th_postgres_thread(&n->thread, run, s);
	return n->started ? TH_OK : th_fail_memory(err);
}

bool th_pg_notify_stop(struct th_postgres *s)
{
	struct th_pg_notify *n = &s->notify;
	bool was = n->started;
	uint64_t one = 1;

	if (was && write(n->stop_fd, &one, sizeof(one)) == sizeof(one))
		pthread_join(n->thread, NULL);
	n->started = false;
	th_fd_close(&n->stop_fd);
	th_fd_close(&n->say_fd);
	return was;
}

void th_pg_notify_deinit(struct th_postgres *s)
{
	struct th_pg_notify *n = &s->notify;

	n->wake = th_wake_free(n->wake);
	n->url = th_secret_free(n->url);
	free(n->shown);
	n->shown = NULL;
}
