/* SPDX-License-Identifier: Apache-2.0 */
#include "postgres/pq.h"

#include <pthread.h>

#include "base/limits.h"
#include "base/text.h"
#include "io/clock.h"
#include "postgres/pq_internal.h"

#define SERVER_MIN 130000
#define HOSTS_MAX 16 /* of a URL */
#define HOSTS_SIZE 1024
#define DATABASES_MAX 16 /* whose timelines are remembered */
#define HOST_MS_MIN 300  /* for each of them */
#define SENTENCE_MAX 300

/* ---- the URL ---- */

void th_pq_show(struct th_str url, struct th_buf *out)
{
	ptrdiff_t query = th_str_find_char(url, '?'), at = -1;
	struct th_str rest, scheme, who = { 0 };

	if (query >= 0)
		url.len = (size_t)query;
	rest = url;
	scheme = th_str_split(&rest, ':');
	for (size_t i = 0; i < rest.len; i++)
		if (rest.ptr[i] == '@')
			at = (ptrdiff_t)i;
	if (at >= 0 && th_str_starts(rest, TH_STR("//"))) {
		who = th_str_sub(rest, 2, (size_t)at - 2);
		rest = th_str_sub(rest, (size_t)at + 1, rest.len);
		who = th_str_split(&who, ':');
	} else if (th_str_starts(rest, TH_STR("//"))) {
		rest = th_str_sub(rest, 2, rest.len);
	}
	th_buf_add(out, scheme);
	th_buf_add_cstr(out, "://");
	if (who.len > 0) {
		th_text_line(out, who, SENTENCE_MAX);
		th_buf_add_char(out, '@');
	}
	th_text_line(out, rest, SENTENCE_MAX);
}

bool th_pq_has_password(struct th_str url)
{
	struct th_str query = url, rest = url, before = th_str_split(&query, '?'), who;

	rest = before;
	(void)th_str_split(&rest, ':');
	who = th_str_starts(rest, TH_STR("//")) ? th_str_sub(rest, 2, rest.len) : TH_STR("");
	if (th_str_find_char(who, '@') >= 0) {
		size_t at = who.len;

		while (who.ptr[at - 1] != '@')
			at--;
		if (th_str_find_char(th_str_sub(who, 0, at), ':') >= 0)
			return true;
	}
	while (query.len > 0) {
		struct th_str part = th_str_split(&query, '&'), key = th_str_split(&part, '=');

		/* A keyword may be written with escapes: one that could be it counts. */
		if (th_str_find(key, TH_STR("password")) >= 0 || th_str_find_char(key, '%') >= 0)
			return true;
	}
	return false;
}

/* ---- connecting ---- */

/* A server says so when a commit does not wait for a standby as it should. */
static void on_notice(void *ctx, const PGresult *r)
{
	struct th_pq *c = ctx;
	const char *severity = th_libpq.PQresultErrorField(r, PG_DIAG_SEVERITY_NONLOCALIZED);

	if (severity && strcmp(severity, "WARNING") == 0)
		c->warned = true;
}

/* What the URL says of hosts: lists with commas, or nothing. */
struct hosts {
	char host[HOSTS_SIZE], address[HOSTS_SIZE], port[HOSTS_SIZE];
	size_t count; /* 1: libpq reads the URL as it is */
};

static void hosts_read(const char *url, struct hosts *ret)
{
	PQconninfoOption *all = th_libpq.PQconninfoParse(url, NULL);
	bool whole = all != NULL;

	*ret = (struct hosts){ .count = 1 };
	for (const PQconninfoOption *o = all; o && o->keyword; o++) {
		char *to = strcmp(o->keyword, "host") == 0       ? ret->host
			   : strcmp(o->keyword, "hostaddr") == 0 ? ret->address
			   : strcmp(o->keyword, "port") == 0     ? ret->port
								 : NULL;

		if (to && o->val)
			whole &= snprintf(to, HOSTS_SIZE, "%s", o->val) < HOSTS_SIZE;
	}
	for (const char *p = ret->address[0] ? ret->address : ret->host; *p && whole; p++)
		ret->count += *p == ',';
	if (ret->count > HOSTS_MAX)
		ret->count = 1;
	th_libpq.PQconninfoFree(all);
}

/* The item of that number, over the list; a list of one is for all. */
static const char *item(char list[static HOSTS_SIZE], size_t number)
{
	struct th_str rest = th_str_of(list), one = { 0 };

	if (th_str_find_char(rest, ',') < 0)
		return list;
	for (size_t i = 0; i <= number; i++)
		one = th_str_split(&rest, ',');
	memmove(list, one.ptr, one.len);
	list[one.len] = '\0';
	return list;
}

/* `h`: with its lists, which are used up. */
static enum th_code start(struct th_pq *c, struct hosts *h, size_t number, bool write,
			  struct th_err *err)
{
	/* What the URL says counts, where it says something. */
	const char *const words[] = { "fallback_application_name",
				      "keepalives_idle",
				      "keepalives_interval",
				      "keepalives_count",
				      "tcp_user_timeout",
				      "target_session_attrs",
				      "dbname",
				      "client_encoding",
				      h->count > 1 ? "host" : NULL,
				      "hostaddr",
				      "port",
				      NULL };
	const char *const values[] = { "thole",
				       "5",
				       "2",
				       "3",
				       "8000",
				       write ? "read-write" : "any",
				       c->url,
				       "UTF8",
				       item(h->host, number),
				       item(h->address, number),
				       item(h->port, number),
				       NULL };

	c->conn = th_libpq.PQconnectStartParams(words, values, 1);
	if (!c->conn)
		return th_fail_memory(err);
	/* Its sentence may have the password in it. */
	if (th_libpq.PQstatus(c->conn) == CONNECTION_BAD && th_libpq.PQsocket(c->conn) < 0 &&
	    strstr(th_libpq.PQerrorMessage(c->conn), "URI")) {
		th_pq_close(c);
		return th_fail(err, TH_EUSAGE,
			       "%s: not a URL that libpq takes; such as "
			       "postgres://USER@HOST:5432/DATABASE?sslmode=require",
			       c->shown);
	}
	return th_libpq.PQstatus(c->conn) == CONNECTION_BAD ? th_pq_fail_conn(c, err) : TH_OK;
}

static enum th_code finish(struct th_pq *c, uint64_t until_ms, struct th_err *err)
{
	enum th_code code = TH_OK;
	bool writing = true;

	for (;;) {
		PostgresPollingStatusType status;

		code = th_pq_wait(c, writing, NULL, until_ms, err);
		if (code != TH_OK)
			return code;
		status = th_libpq.PQconnectPoll(c->conn);
		if (status == PGRES_POLLING_OK)
			return TH_OK;
		if (status == PGRES_POLLING_FAILED)
			return th_pq_fail_conn(c, err);
		writing = status == PGRES_POLLING_WRITING;
	}
}

static enum th_code check_server(struct th_pq *c, struct th_err *err)
{
	const char *encoding = th_libpq.PQparameterStatus(c->conn, "server_encoding");
	int version = th_libpq.PQserverVersion(c->conn);

	if (version < SERVER_MIN) {
		th_pq_close(c);
		return th_fail(err, TH_EUNSUPPORTED,
			       "%s: the server is PostgreSQL %d; 13 is the oldest that will do",
			       c->shown, version / 10000);
	}
	if (encoding && strcmp(encoding, "UTF8") != 0) {
		th_pq_close(c);
		return th_fail(err, TH_EUNSUPPORTED, "%s: the encoding of the database is not UTF8",
			       c->shown);
	}
	return TH_OK;
}

/* ---- timelines ---- */

/* The newest of each database that a connection of this process has seen. */
static pthread_mutex_t seen_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	uint64_t system;
	char timeline[sizeof(((struct th_pq *)NULL)->is.timeline)];
} seen[DATABASES_MAX];

static void note_seen(const struct th_pq *c)
{
	if (!c->is.timeline[0]) /* a standby's is not known */
		return;
	pthread_mutex_lock(&seen_lock);
	for (size_t i = 0; i < TH_COUNT(seen); i++) {
		if (seen[i].system && seen[i].system != c->is.system)
			continue;
		if (strcmp(seen[i].timeline, c->is.timeline) < 0)
			memcpy(seen[i].timeline, c->is.timeline, sizeof(seen[i].timeline));
		seen[i].system = c->is.system;
		break;
	}
	pthread_mutex_unlock(&seen_lock);
}

bool th_pq_is_old(const struct th_pq *c)
{
	bool old = false;

	pthread_mutex_lock(&seen_lock);
	for (size_t i = 0; i < TH_COUNT(seen) && c->is.timeline[0]; i++)
		old |=
		    seen[i].system == c->is.system && strcmp(c->is.timeline, seen[i].timeline) < 0;
	pthread_mutex_unlock(&seen_lock);
	return old;
}

static enum th_code identify(struct th_pq *c, struct th_err *err)
{
	PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;
	struct th_str timeline = { 0 };
	int64_t system = 0;
	enum th_code code = th_pq_run(
	    c,
	    "SELECT s.system_identifier, CASE WHEN pg_is_in_recovery() THEN '' ELSE"
	    " left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END FROM pg_control_system() s",
	    NULL, &r, err);

	if (code != TH_OK)
		return code;
	if (th_pq_rows(r) != 1 || !th_pq_i64(r, 0, 0, &system) || !th_pq_text(r, 0, 1, &timeline) ||
	    timeline.len >= sizeof(c->is.timeline))
		return th_fail(err, TH_EPROTO, "%s: the server does not say which it is", c->shown);
	c->is.system = (uint64_t)system;
	memset(c->is.timeline, 0, sizeof(c->is.timeline));
	memcpy(c->is.timeline, timeline.ptr, timeline.len);
	return TH_OK;
}

static enum th_code connect_to(struct th_pq *c, struct hosts *h, size_t number, bool write,
			       struct th_err *err)
{
	uint64_t part_ms = TH_MAX(c->wait_ms / h->count, (uint64_t)HOST_MS_MIN);
	enum th_code code;

	c->queued = 0;
	c->state[0] = '\0';
	code = start(c, h, number, write, err);
	if (code == TH_OK)
		code = finish(c, th_clock_ms() + part_ms, err);
	if (code == TH_OK)
		code = check_server(c, err);
	if (code != TH_OK)
		return code;
	th_libpq.PQsetNoticeReceiver(c->conn, on_notice, c);
	if (th_libpq.PQsetnonblocking(c->conn, 1) != 0 || !th_libpq.PQenterPipelineMode(c->conn))
		return th_pq_fail_conn(c, err);
	code = identify(c, err);
	if (code == TH_OK) {
		note_seen(c);
		if (th_pq_is_old(c))
			code = th_fail(err, TH_ECONN,
				       "%s: the server is the primary of before a failover "
				       "(timeline %s)",
				       c->shown, c->is.timeline);
	}
	if (code != TH_OK)
		th_pq_close(c);
	return code;
}

/* Each of them once; `write`: only one that can be written to. */
static enum th_code connect_any(struct th_pq *c, const struct hosts *all, bool write,
				struct th_err *err)
{
	size_t first = c->host;
	enum th_code code = TH_ECONN;

	for (size_t i = 0; i < all->count && code == TH_ECONN; i++) {
		struct hosts h = *all;
		size_t number = (first + i) % all->count;

		code = connect_to(c, &h, number, write, err);
		if (code == TH_OK)
			c->host = number;
	}
	return code;
}

enum th_code th_pq_connect(struct th_pq *c, struct th_err *err)
{
	const char *missing;
	struct hosts all;
	enum th_code code = TH_ECONN;

	if (c->conn)
		return TH_OK;
	missing = th_libpq_open();
	if (missing)
		return th_fail(err, TH_EUNSUPPORTED, "%s: %s", c->shown, missing);
	hosts_read(c->url, &all);
	/* A standby may be behind what was acknowledged: it is read only where there is nobody
	 * else. */
	if (c->write || all.count > 1)
		code = connect_any(c, &all, true, err);
	if (code == TH_ECONN && !c->write)
		code = connect_any(c, &all, false, err);
	return code;
}
