/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_postgres.c - the suite of all stores on a real server, and what is this
 * store's own.  THOLE_TEST_POSTGRES is the server's URL (tests/postgres/server.py).
 */
#include <stdio.h>
#include <stdlib.h>

#include "../store/lab.h"
#include "base/label.h"
#include "postgres/pq.h"

static struct th_err err;
static const char *server;

static struct th_pq connection(const char *name, char url[static 512])
{
	struct th_pq c = TH_PQ_INIT;

	snprintf(url, 512, "%s%s", server, name);
	c.url = c.shown = url;
	c.wait_ms = 60000;
	if (th_pq_connect(&c, &err) != TH_OK)
		fail_msg("%s", err.msg);
	return c;
}

static void sql(const char *name, const char *text)
{
	char url[512];
	struct th_pq c = connection(name, url);

	if (th_pq_run(&c, text, NULL, NULL, &err) != TH_OK)
		fail_msg("%s: %s", text, err.msg);
	th_pq_close(&c);
}

static int64_t number(const char *name, const char *text)
{
	char url[512];
	struct th_pq c = connection(name, url);
	PGresult *r = NULL;
	int64_t ret = -1;

	if (th_pq_run(&c, text, NULL, &r, &err) != TH_OK)
		fail_msg("%s: %s", text, err.msg);
	assert_true(th_pq_rows(r) == 1 && th_pq_i64(r, 0, 0, &ret));
	th_pq_clear(r);
	th_pq_close(&c);
	return ret;
}

static const char name[] = "postgres";

/* The same database without what was in it: another one takes the server a second. */
static const char *fresh(void)
{
	static char url[512];

	sql(name, "DROP SCHEMA IF EXISTS thole CASCADE");
	snprintf(url, sizeof(url), "%s%s", server, name);
	return url;
}

static const struct lab_kind kind = { fresh };

static int setup(void **state)
{
	(void)state;
	lab_kind = &kind;
	return 0;
}

/* ---- URLs ---- */

static void shown_is(const char *url, const char *wanted, bool password)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	th_pq_show(th_str_of(url), &out);
	assert_string_equal(out.ptr, wanted);
	assert_int_equal(th_pq_has_password(th_str_of(url)), password);
}

static void passwords_are_not_shown(void **state)
{
	(void)state;
	shown_is("postgres://h/d", "postgres://h/d", false);
	shown_is("postgres://u@h:5/d", "postgres://u@h:5/d", false);
	shown_is("postgres://u:pw@h:5/d", "postgres://u@h:5/d", true);
	shown_is("postgres://:pw@h/d", "postgres://h/d", true);
	shown_is("postgres://u:p@w:x@h/d", "postgres://u@h/d", true);
	shown_is("postgres://u:p/w@h/d", "postgres://u@h/d", true);
	shown_is("postgresql://u@h/d?sslmode=require", "postgresql://u@h/d", false);
	shown_is("postgres://u@h/d?password=pw", "postgres://u@h/d", true);
	shown_is("postgres://u@h/d?pass%77ord=pw", "postgres://u@h/d", true);
	shown_is("postgres:///d?host=/tmp", "postgres:///d", false);
	shown_is("postgres://u@h/d\n", "postgres://u@h/d\\n", false);
}

static void refused(const char *url, enum th_code code, const char *part)
{
	struct th_store *s = NULL;
	struct th_store_options options = { .create = true };

	assert_int_equal(th_store_open(th_str_of(url), &options, &s, &err), code);
	assert_null(s);
	assert_null(strstr(err.msg, "secret"));
	if (!strstr(err.msg, part))
		fail_msg("%s", err.msg);
}

static void opening_refused(void **state)
{
	char url[512], large[TH_STORE_URL_MAX + 32];

	(void)state;
	refused("postgres:", TH_EUSAGE, "postgres://USER@HOST");
	refused("postgres:x", TH_EUSAGE, "postgres://USER@HOST");
	refused("postgres://u:secret@127.0.0.1:1/x", TH_ECONN, "postgres://u@127.0.0.1:1/x");
	refused("postgres://u:secret@[::1/x", TH_EUSAGE, "not a URL that libpq takes");
	refused("postgres://u@h/x?password=secret&nonsense=secret", TH_EUSAGE, "not a URL");
	memset(large, 'x', sizeof(large));
	memcpy(large, "postgres://127.0.0.1:1/", 23);
	large[9 + TH_STORE_URL_MAX] = '\0';
	refused(large, TH_ECONN, "127.0.0.1");
	large[9 + TH_STORE_URL_MAX] = 'x';
	large[9 + TH_STORE_URL_MAX + 1] = '\0';
	refused(large, TH_ELIMIT, "at most 2000 bytes");
	snprintf(url, sizeof(url), "%sno_such_database", server);
	refused(url, TH_ECONN, "no_such_database");
}

/* ---- versions ---- */

static void versions(void **state)
{
	const char *url = fresh();
	struct th_store_options options = { 0 };
	struct th_store *s = NULL;

	(void)state;
	assert_int_equal(th_store_open(th_str_of(url), &options, &s, &err), TH_ENOENT);
	assert_true(strstr(err.msg, "there is no store in this database"));
	th_store_close(lab_open(url, NULL));
	assert_int_equal(th_store_open(th_str_of(url), &options, &s, &err), TH_OK);
	th_store_close(s);
	sql(name, "UPDATE thole.store SET version = 1000");
	assert_int_equal(th_store_open(th_str_of(url), &options, &s, &err), TH_EUNSUPPORTED);
	assert_true(strstr(err.msg, "newer thole (version 1000"));
	options.create = true;
	assert_int_equal(th_store_open(th_str_of(url), &options, &s, &err), TH_EUNSUPPORTED);
}

/* ---- what SQL sees ---- */

static void put(struct th_store *s, struct lab_log *log, const char *data, size_t len)
{
	static struct lab_append a;
	struct th_append append;
	struct th_batch batch = { .appends = &append, .append_count = 1 };

	lab_make(log, 1, &a, &append);
	a.events[0].data = th_str_n(data, len);
	lab_rechain(log, &a, &append);
	assert_int_equal(s->kind->commit_now(s, &batch, &err), TH_OK);
	lab_done(log, &append);
}

static void json_where_it_can_be(void **state)
{
	static const struct {
		const char *data;
		bool json;
	} rows[] = {
		{ "{\"a\":1,\"b\":[true,null,\"x\"]}", true },
		{ "{\"a\":\"\\ud83d\\ude00\"}", true },
		{ "{\"a\":\"\\u00e4 \\\\u0000 \\\\ud800\"}", true },
		{ "{\"a\":1e308,\"b\":-0.5E-20}", true },
		{ "{\"a\":\"\\u0000\"}", false },
		{ "{\"a\":\"\\ud83d\"}", false },
		{ "{\"a\":\"\\ude00\"}", false },
		{ "{\"a\":\"\\ud83d\\ud83d\\ude00\"}", false },
		{ "{\"a\":\"\\ud83d\\ud7ff\"}", false },
		{ "{\"a\":\"\\\\\\ud83d\\\\\\ude00\"}", false },
		{ "{\"a\":1e200000}", false },
		{ "{\"a\":", false },
		{ "", false },
		{ "nothing", false },
		{ "{\"a\":\"\xff\"}", false },
	};
	struct th_store *s = lab_open(fresh(), NULL);
	static struct lab_log log;
	char text[160];

	(void)state;
	lab_log_init(&log, "json");
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		put(s, &log, rows[i].data, strlen(rows[i].data));
		snprintf(text, sizeof(text),
			 "SELECT count(event_data) FROM thole.event_list WHERE session_id = 'json'"
			 " AND sequence_number = %zu",
			 i + 1);
		if (number(name, text) != rows[i].json)
			fail_msg("%s", rows[i].data);
	}
	assert_int_equal(number(name, "SELECT count(*) FROM thole.event_list WHERE event_data @>"
				      " '{\"a\":1}'"),
			 1);
	lab_verify(s);
	th_store_close(s);
}

/* ---- damage ---- */

static void damage_is_found(void **state)
{
	static const struct {
		const char *sql, *key, *what;
	} rows[] = {
		{ "UPDATE thole.events SET data = '{}' WHERE seq = 2", "session a event 2",
		  "digest" },
		{ "UPDATE thole.events SET call_id = 'x' WHERE seq = 2", "session a event 2",
		  "digest" },
		{ "DELETE FROM thole.events WHERE seq = 2", "session a event 2", "missing" },
		{ "DELETE FROM thole.events WHERE seq = 3", "session a event 3", "missing" },
		{ "UPDATE thole.events SET event_data = '{}' WHERE seq = 1", "event 1",
		  "event_data" },
		{ "UPDATE thole.sessions SET title = 'other'", "session a", "column" },
		{ "UPDATE thole.sessions SET epoch = 9", "session a", "column" },
		{ "UPDATE thole.sessions SET raw_metadata = '{}'", "a", "raw_metadata" },
		{ "DELETE FROM thole.sessions", "event 1", "no such session" },
		{ "UPDATE thole.blobs SET bytes = 'x'", "blob ", "hash" },
		{ "INSERT INTO thole.events SELECT session_number, 9, ts_ms, event_id, source,"
		  " event_class, cause, call_id, data, event_data, build, digest FROM thole.events"
		  " WHERE seq = 3",
		  "a event 9", "beginning and the end" },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_store *s = lab_open(fresh(), NULL);
		struct th_blob blob = { th_sha256_of("one", 3), TH_STR("text/plain"),
					TH_STR("one") };
		struct th_batch batch = { .blobs = &blob, .blob_count = 1 };
		static struct lab_log log;
		struct th_verify_report r;

		lab_log_init(&log, "a");
		assert_int_equal(lab_append_now(s, &log, 3), TH_OK);
		assert_int_equal(s->kind->commit_now(s, &batch, &err), TH_OK);
		lab_verify(s);
		sql(name, rows[i].sql);
		assert_int_equal(s->kind->verify(s, TH_STR(""), &r, &err), TH_OK);
		if (!r.bad || !strstr(r.key, rows[i].key) || !strstr(r.what, rows[i].what))
			fail_msg("%s: %d %s %s %s", rows[i].sql, r.bad, r.table, r.key, r.what);
		th_store_close(s);
	}
}

/* ---- leases ---- */

static struct th_store *short_lease(const char *url, struct th_loop *loop, uint64_t lease_ms,
				    th_store_lost_fn *lost, void *ctx)
{
	struct th_store_options options = {
		.loop = loop, .create = true, .lease_ms = lease_ms, .lost = lost, .lost_ctx = ctx
	};
	struct th_store *s = NULL;

	if (th_store_open(th_str_of(url), &options, &s, &err) != TH_OK)
		fail_msg("%s", err.msg);
	return s;
}

/* One that lives longer than its lease, because it renews it. */
static void renewed(void **state)
{
	const char *url = fresh();
	struct th_store *one = short_lease(url, NULL, 600, NULL, NULL), *two = lab_open(url, NULL);
	static struct lab_log log;
	struct th_session_row row;
	struct th_arena arena;

	(void)state;
	th_arena_init(&arena, TH_MIB);
	lab_log_init(&log, "s");
	assert_int_equal(lab_append_now(one, &log, 1), TH_OK);
	sql(name, "SELECT pg_sleep(1.5)");
	assert_int_equal(two->kind->lease(two, TH_STR("s"), &arena, &row, &err), TH_EBUSY);
	assert_int_equal(lab_append_now(one, &log, 1), TH_OK);
	th_store_close(one);
	assert_int_equal(number(name, "SELECT count(*) FROM thole.owners WHERE host <> ''"), 1);
	assert_int_equal(two->kind->lease(two, TH_STR("s"), &arena, &row, &err), TH_OK);
	assert_int_equal(row.epoch, 2);
	th_arena_deinit(&arena);
	th_store_close(two);
}

static void note_lost(void *ctx, const struct th_err *why)
{
	struct th_loop *loop = *(struct th_loop **)ctx;

	assert_true(strstr(why->msg, "lease"));
	*(struct th_loop **)ctx = NULL;
	th_loop_stop(loop);
}

/* One that the database takes for dead is told so at once, and writes nothing more. */
static void lost_and_taken(void **state)
{
	const char *url = fresh();
	struct th_loop *loop, *told;
	struct th_store *one, *two = lab_open(url, NULL);
	static struct lab_log log;
	struct th_session_row row;
	struct th_arena arena;
	struct th_timer end;

	(void)state;
	th_arena_init(&arena, TH_MIB);
	assert_int_equal(th_loop_new(&loop, &err), TH_OK);
	told = loop;
	one = short_lease(url, loop, 2000, note_lost, &told);
	lab_log_init(&log, "s");
	assert_int_equal(lab_append_now(one, &log, 1), TH_OK);
	sql(name, "UPDATE thole.owners SET expires = clock_timestamp()");
	assert_int_equal(two->kind->lease(two, TH_STR("s"), &arena, &row, &err), TH_OK);
	assert_int_equal(row.epoch, 2);
	th_timer_init(&end, loop, (th_timer_fn *)th_loop_stop, loop);
	th_timer_start(&end, 20000, 0);
	th_loop_run(loop);
	th_timer_stop(&end);
	assert_null(told);
	assert_int_equal(lab_append_now(one, &log, 1), TH_EIO);
	assert_true(strstr(lab_err.msg, "lease"));
	log.epoch = 2;
	assert_int_equal(lab_append_now(two, &log, 1), TH_OK);
	lab_check(two, &log);
	th_store_close(one);
	th_store_close(two);
	th_loop_free(loop);
	th_arena_deinit(&arena);
}

struct nodes {
	size_t count;
	struct th_node last;
	char name[64], address[64], labels[64];
};

static enum th_code note_node(void *ctx, const struct th_node *node, struct th_err *e)
{
	struct nodes *n = ctx;

	(void)e;
	n->count++;
	n->last = *node;
	snprintf(n->name, sizeof(n->name), "%.*s", TH_FMT(node->name));
	snprintf(n->address, sizeof(n->address), "%.*s", TH_FMT(node->address));
	snprintf(n->labels, sizeof(n->labels), "%.*s", TH_FMT(node->labels));
	return TH_OK;
}

static struct nodes nodes_of(struct th_store *s, const char *session)
{
	struct nodes n = { 0 };

	assert_int_equal(s->kind->nodes(s, th_str_of(session), note_node, &n, &err), TH_OK);
	return n;
}

static enum th_code note_session(void *ctx, const struct th_session_row *row, struct th_err *e)
{
	(void)e;
	*(size_t *)ctx += th_str_is(row->session_id, "s");
	return TH_OK;
}

static size_t abandoned(struct th_store *s)
{
	size_t count = 0;

	assert_int_equal(s->kind->abandoned(s, 0, note_session, &count, &err), TH_OK);
	return count;
}

/* What a node says of itself is what the others see, until it is gone. */
static void announced(void **state)
{
	const char *url = fresh();
	struct th_store *one = lab_open(url, NULL), *two = lab_open(url, NULL);
	struct th_node me = { .name = TH_STR("n1"),
			      .address = TH_STR("http://a:1"),
			      .labels = TH_STR("eu gpu"),
			      .capacity = 7 };
	static char labels[TH_LABELS_TEXT_MAX + 2];
	static char long_name[TH_FLEET_TEXT_MAX + 2];
	static struct lab_log log;
	struct nodes n;

	(void)state;
	assert_int_equal(nodes_of(two, "").count, 0);
	assert_int_equal(one->kind->announce(one, &me, &err), TH_OK);
	n = nodes_of(two, "");
	assert_int_equal(n.count, 1);
	assert_string_equal(n.name, "n1");
	assert_string_equal(n.address, "http://a:1");
	assert_string_equal(n.labels, "eu gpu");
	assert_int_equal(n.last.capacity, 7);
	assert_true(n.last.left_ms > 0 && !n.last.draining);
	lab_log_init(&log, "s");
	assert_int_equal(lab_append_now(one, &log, 1), TH_OK);
	n = nodes_of(two, "s");
	assert_int_equal(n.count, 1);
	assert_string_equal(n.address, "http://a:1");
	assert_int_equal(nodes_of(two, "t").count, 0);
	me.draining = true;
	me.labels = TH_STR("eu");
	assert_int_equal(one->kind->announce(one, &me, &err), TH_OK);
	n = nodes_of(two, "");
	assert_true(n.last.draining);
	assert_string_equal(n.labels, "eu");
	assert_int_equal(n.last.running + n.last.waiting + n.last.paused + n.last.others, 1);
	memset(labels, 'x', TH_LABELS_TEXT_MAX + 1);
	me.labels = th_str_of(labels);
	assert_int_equal(one->kind->announce(one, &me, &err), TH_ELIMIT);
	me.labels = TH_STR("");
	memset(long_name, 'x', TH_FLEET_TEXT_MAX + 1);
	me.name = th_str_of(long_name);
	assert_int_equal(one->kind->announce(one, &me, &err), TH_ELIMIT);
	me.name.len--;
	assert_int_equal(one->kind->announce(one, &me, &err), TH_OK);
	th_store_close(one);
	/* What it left running is anybody's, so it is there as one of the dead. */
	n = nodes_of(two, "");
	assert_int_equal(n.count, 1);
	assert_int_equal(n.last.left_ms, 0);
	assert_int_equal(nodes_of(two, "s").count, 0);
	assert_int_equal(abandoned(two), 1);
	th_store_close(two);
}

/* An append touches no index of the sessions: none has a column that each of them changes. */
static void rows_are_hot(void **state)
{
	struct th_store *s = lab_open(fresh(), NULL);

	(void)state;
	assert_int_equal(
	    number(name, "SELECT count(*) FROM pg_index i JOIN pg_attribute a"
			 " ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)"
			 " WHERE i.indrelid = 'thole.sessions'::regclass AND a.attname IN"
			 " ('updated_ms', 'head_seq', 'head', 'iteration', 'calls', 'tokens_in',"
			 " 'tokens_cached', 'tokens_out', 'cost_nano', 'metadata', 'row_crc')"),
	    0);
	assert_int_equal(number(name, "SELECT count(*) FROM pg_index"
				      " WHERE indrelid = 'thole.sessions'::regclass"),
			 10);
	th_store_close(s);
}

static enum th_code hand_over(struct th_store *s, const char *id, int64_t epoch)
{
	const struct th_held held = { th_str_of(id), epoch, true };
	struct th_err one = { 0 };

	assert_int_equal(s->kind->release_many(s, &held, 1, &one, &err), TH_OK);
	return one.code;
}

/* Two that claim sessions of one dead owner do not wait for each other: who comes second leaves
 * what the first has in hand, and takes the rest while that one's transaction is open. */
static void claimed_at_once(void **state)
{
	const char *url = fresh();
	struct th_store *one = lab_open(url, NULL), *two = lab_open(url, NULL);
	struct th_str ids[2] = { TH_STR("s1"), TH_STR("s2") };
	static struct lab_log logs[2];
	struct th_session_row rows[2];
	struct th_err errs[2] = { 0 };
	struct th_arena arena;
	char text[512];
	struct th_pq first;

	(void)state;
	th_arena_init(&arena, TH_MIB);
	for (int i = 0; i < 2; i++) {
		lab_log_init(&logs[i], ids[i].ptr);
		assert_int_equal(lab_append_now(one, &logs[i], 1), TH_OK);
	}
	sql(name, "UPDATE thole.owners SET expires = '-infinity' WHERE host <> ''");
	/* As a third runtime claims: the session is its own, and the owner is known to be dead. */
	first = connection(name, text);
	assert_int_equal(th_pq_run(&first, "BEGIN", NULL, NULL, &err), TH_OK);
	assert_int_equal(th_pq_run(&first,
				   "SELECT 1 FROM thole.sessions WHERE session_id = 's1'"
				   " FOR NO KEY UPDATE",
				   NULL, NULL, &err),
			 TH_OK);
	assert_int_equal(th_pq_run(&first,
				   "UPDATE thole.owners SET expires = '-infinity'"
				   " WHERE host <> '' AND expires = '-infinity'",
				   NULL, NULL, &err),
			 TH_OK);
	assert_int_equal(two->kind->lease_many(two, ids, 2, true, &arena, rows, errs, &err), TH_OK);
	assert_int_equal(errs[0].code, TH_EBUSY);
	assert_int_equal(errs[1].code, TH_OK);
	assert_int_equal(rows[1].epoch, 2);
	assert_int_equal(th_pq_run(&first, "ROLLBACK", NULL, NULL, &err), TH_OK);
	th_pq_close(&first);
	assert_int_equal(two->kind->lease_many(two, ids, 1, true, &arena, rows, errs, &err), TH_OK);
	assert_int_equal(errs[0].code, TH_OK);
	th_arena_deinit(&arena);
	th_store_close(one);
	th_store_close(two);
}

/* What is handed over is found at once, while its last owner lives; only one has it then. */
static void handed_over(void **state)
{
	const char *url = fresh();
	struct th_store *one = lab_open(url, NULL), *two = lab_open(url, NULL);
	static struct lab_log log;
	struct th_session_row row;
	struct th_arena arena;

	(void)state;
	th_arena_init(&arena, TH_MIB);
	lab_log_init(&log, "s");
	assert_int_equal(lab_append_now(one, &log, 1), TH_OK);
	assert_int_equal(abandoned(two), 0);
	assert_int_equal(hand_over(one, "s", 7), TH_EFENCED);
	assert_int_equal(hand_over(one, "s", 1), TH_OK);
	assert_int_equal(lab_append_now(one, &log, 1), TH_EFENCED);
	assert_int_equal(abandoned(two), 1);
	assert_int_equal(two->kind->lease(two, TH_STR("s"), &arena, &row, &err), TH_OK);
	assert_int_equal(row.epoch, 3);
	assert_int_equal(abandoned(one), 0);
	assert_int_equal(one->kind->lease(one, TH_STR("s"), &arena, &row, &err), TH_EBUSY);
	log.epoch = 3;
	assert_int_equal(lab_append_now(two, &log, 1), TH_OK);
	lab_check(one, &log);
	lab_verify(one);
	th_store_close(one);
	th_store_close(two);
	th_arena_deinit(&arena);
}

struct lines {
	size_t count, theirs;
	char text[512];
};

static enum th_code note_line(void *ctx, const struct th_outbox_line *line, bool taken,
			      struct th_err *e)
{
	struct lines *l = ctx;
	size_t len = strlen(l->text);

	(void)e;
	l->count += taken;
	l->theirs += !taken;
	snprintf(l->text + len, sizeof(l->text) - len, "%.*s=%.*s%s ", TH_FMT(line->name),
		 TH_FMT(line->text), taken ? "" : " (theirs)");
	return TH_OK;
}

static struct lines taken_by(struct th_store *s)
{
	struct lines l = { 0 };

	assert_int_equal(s->kind->outbox_take(s, note_line, &l, &err), TH_OK);
	return l;
}

static void put_lines(struct th_store *s, const char *at, const char *text, bool merged)
{
	const struct th_outbox_line line = { th_str_of(at), th_str_of(text) };

	assert_int_equal(s->kind->outbox_put(s, &line, at[0] ? 1 : 0, merged, &err), TH_OK);
}

/* What one has promised is another's when it is dead, and only one's. */
static void outboxes(void **state)
{
	const char *url = fresh();
	struct th_store *one = lab_open(url, NULL), *two = lab_open(url, NULL), *three;
	struct lines l;

	(void)state;
	put_lines(one, "a", "1", false);
	put_lines(one, "b", "1", false);
	put_lines(one, "gone", "1", false);
	put_lines(one, "a", "2", false);
	put_lines(one, "gone", "", false);
	put_lines(two, "a", "mine", false);
	assert_int_equal(taken_by(two).count, 0);
	th_store_close(one);
	l = taken_by(two);
	assert_int_equal(l.count, 2);
	assert_int_equal(l.theirs, 0);
	assert_non_null(strstr(l.text, "a=2 "));
	assert_non_null(strstr(l.text, "b=1 "));
	/* As often as it is asked, until it says that it has them; to nobody else. */
	three = lab_open(url, NULL);
	assert_int_equal(taken_by(three).count, 0);
	put_lines(two, "b", "1 and more", false);
	assert_int_equal(taken_by(two).count, 2);
	/* Its last put was under way when it was found dead. */
	sql(name, "INSERT INTO thole.outbox SELECT source, source, name, '3' FROM thole.outbox"
		  " WHERE owner <> source AND name = 'b'");
	assert_int_equal(taken_by(two).count, 3);
	put_lines(two, "", "", true);
	assert_int_equal(taken_by(two).count, 0);
	/* Who dies with what it has not merged leaves that, too. */
	put_lines(three, "b", "of three", false);
	sql(name, "UPDATE thole.outbox SET source = 'somebody' WHERE line = '1 and more'");
	sql(name, "UPDATE thole.owners SET expires = clock_timestamp()"
		  " WHERE owner = (SELECT owner FROM thole.outbox WHERE line = 'mine')");
	one = lab_open(url, NULL);
	l = taken_by(one);
	assert_int_equal(l.count, 2);
	assert_int_equal(l.theirs, 1);
	assert_non_null(strstr(l.text, "a=mine "));
	assert_non_null(strstr(l.text, "b=1 and more "));
	assert_non_null(strstr(l.text, "b=of three (theirs)"));
	/* A dead one writes none any more. */
	{
		const struct th_outbox_line late = { TH_STR("a"), TH_STR("late") };

		assert_int_equal(two->kind->outbox_put(two, &late, 1, false, &err), TH_EFENCED);
	}
	th_store_close(one);
	th_store_close(two);
	th_store_close(three);
}

/* What many have left is taken in pieces, each once the one before it is merged. */
static void large_outboxes(void **state)
{
	struct th_store *s = lab_open(fresh(), NULL);
	const size_t piece = TH_OUTBOX_TAKEN_MAX / TH_MIB;
	size_t all = 0;

	(void)state;
	sql(name, "INSERT INTO thole.outbox SELECT 'dead' || i % 3, 'dead' || i % 3, 'n' || i,"
		  " convert_to(repeat('x', 1048576), 'UTF8') FROM generate_series(1, 60) i");
	for (size_t want = piece; all < 60; want = TH_MIN(piece, 60 - all)) {
		assert_int_equal(taken_by(s).count, want);
		assert_int_equal(taken_by(s).count, want);
		put_lines(s, "", "", true);
		all += want;
	}
	assert_int_equal(all, 60);
	assert_int_equal(taken_by(s).count, 0);
	/* Up to the last byte of room, one more is begun. */
	sql(name, "INSERT INTO thole.outbox SELECT 'dead', 'dead', 'n' || i,"
		  " convert_to(repeat('x', CASE i WHEN 10 THEN 1048575 ELSE 1048576 END), 'UTF8')"
		  " FROM generate_series(10, 40) i");
	assert_int_equal(taken_by(s).count, piece + 1);
	th_store_close(s);
}

/* A server that goes away is waited for, and what it had is neither lost nor written twice. */
static void connections_cut(void **state)
{
	struct th_store *s = lab_open(fresh(), NULL);
	static struct lab_log log;

	(void)state;
	lab_log_init(&log, "s");
	for (int i = 0; i < 10; i++) {
		assert_int_equal(lab_append_now(s, &log, 2), TH_OK);
		sql("postgres",
		    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <>"
		    " pg_backend_pid() AND application_name = 'thole'");
		lab_check(s, &log);
	}
	lab_verify(s);
	th_store_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LAB_TESTS(LAB_TEST) cmocka_unit_test(passwords_are_not_shown),
		cmocka_unit_test(opening_refused),
		cmocka_unit_test(versions),
		cmocka_unit_test(json_where_it_can_be),
		cmocka_unit_test(damage_is_found),
		cmocka_unit_test(renewed),
		cmocka_unit_test(lost_and_taken),
		cmocka_unit_test(announced),
		cmocka_unit_test(rows_are_hot),
		cmocka_unit_test(claimed_at_once),
		cmocka_unit_test(handed_over),
		cmocka_unit_test(outboxes),
		cmocka_unit_test(large_outboxes),
		cmocka_unit_test(connections_cut),
	};

	server = getenv("THOLE_TEST_POSTGRES");
	if (!server)
		return 77;
	return cmocka_run_group_tests(tests, setup, NULL);
}
