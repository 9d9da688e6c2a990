/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_verify.c - a store, spoilt in every way that is not a bug of ours: each
 * must be found, and the first wrong row named.
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../store/lab.h"
#include "base/limits.h"
#include "io/files.h"
#include "store/common.h"

/* In steps of three each column still meets each kind of value, in some row.  What is found is the
 * same on every build: a sanitizer's looks at a quarter of it. */
#ifdef TH_SANITIZED
#define COLUMN_STEP 11
#define BYTE_STEP 251
#else
#define COLUMN_STEP 3
#define BYTE_STEP 61
#endif

#define err lab_err

static char folder[32], path[64], url[80], settled[64], unsettled[64];
static const char *good = settled;

static void copy_file(const char *from, const char *to)
{
	struct th_buf b TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_MIB);
	int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(th_file_read(from, 64 * TH_MIB, &b, &err), TH_OK);
	assert_int_equal(th_file_write_fd(fd, th_buf_str(&b), &err), TH_OK);
	close(fd);
}

/* What the store is while it is open, in one file: its newest rows are in `recent`. */
static void as_killed(void)
{
	char from[80], to[80];
	sqlite3 *db;

	copy_file(path, unsettled);
	snprintf(from, sizeof(from), "%s-wal", path);
	snprintf(to, sizeof(to), "%s-wal", unsettled);
	copy_file(from, to);
	assert_int_equal(sqlite3_open(unsettled, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int use_unsettled(void **state)
{
	(void)state;
	good = unsettled;
	return 0;
}

static int use_settled(void **state)
{
	(void)state;
	good = settled;
	return 0;
}

/* Of a session that was removed: one append is still there, and a place is kept free. */
static void make_removed(struct th_store *s, const struct th_digest *blob)
{
	const struct th_str id = TH_STR("z");
	static struct lab_log z;
	static struct lab_append a;
	struct th_append append;
	struct th_batch batch = { .appends = &append, .append_count = 1 };
	bool more;

	lab_log_init(&z, "z");
	for (size_t i = 0; i < 2; i++) {
		char hex[TH_SHA256_HEX_SIZE + 1];

		lab_make(&z, 2, &a, &append);
		th_digest_hex(blob, hex);
		snprintf(a.data[1], sizeof(a.data[1]), "{\"blob\":\"%s\"}", hex);
		a.events[1].data = th_str_of(a.data[1]);
		lab_rechain(&z, &a, &append);
		assert_int_equal(s->kind->commit_now(s, &batch, &err), TH_OK);
		lab_done(&z, &append);
	}
	assert_int_equal(s->kind->release(s, id, z.epoch, &err), TH_OK);
	assert_int_equal(s->kind->remove(s, &id, 1, &err), TH_OK);
	assert_int_equal(s->kind->sweep(s, &more, &err), TH_OK);
	assert_true(more);
}

static void say_task(struct th_store *s, struct lab_log *log)
{
	static struct lab_append a;
	struct th_append append;
	struct th_batch batch = { .appends = &append, .append_count = 1 };

	lab_make(log, 1, &a, &append);
	append.task = TH_STR("the task");
	assert_int_equal(s->kind->commit_now(s, &batch, &err), TH_OK);
	lab_done(log, &append);
}

/* Sessions "a" (events 1-10), "b" (1-4), fork "f" of a@5 (6-8), fork "g" of f@3 (4); two blobs. */
static void make_good(void)
{
	static struct lab_log a, b, f, g;
	struct th_store *s = lab_open(url, NULL);
	struct th_blob blobs[2] = { { .media_type = TH_STR("image/png"),
				      .bytes = TH_STR("picture") },
				    { .media_type = TH_STR("text/plain") } };
	struct th_batch batch = { .blobs = blobs, .blob_count = 2 };
	char *large = th_alloc(9000);

	memset(large, 'L', 9000);
	blobs[1].bytes = th_str_n(large, 9000); /* more than a page */
	for (size_t i = 0; i < 2; i++)
		blobs[i].hash = th_sha256_of(blobs[i].bytes.ptr, blobs[i].bytes.len);
	assert_int_equal(s->kind->commit_now(s, &batch, &err), TH_OK);
	make_removed(s, &blobs[0].hash);
	lab_log_init(&a, "a");
	lab_log_init(&b, "b");
	say_task(s, &a);
	assert_int_equal(lab_append_now(s, &a, 2), TH_OK);
	assert_int_equal(lab_append_now(s, &b, 2), TH_OK);
	assert_int_equal(lab_append_now(s, &a, 4), TH_OK);
	lab_log_fork(&f, "f", &a, 5);
	assert_int_equal(lab_append_now(s, &f, 1), TH_OK);
	assert_int_equal(lab_append_now(s, &b, 2), TH_OK);
	assert_int_equal(lab_append_now(s, &f, 2), TH_OK);
	lab_log_fork(&g, "g", &f, 3);
	assert_int_equal(lab_append_now(s, &g, 1), TH_OK);
	assert_int_equal(lab_append_now(s, &a, 3), TH_OK);
	lab_verify(s);
	as_killed();
	th_store_close(s);
	free(large);
	copy_file(path, settled);
}

static int setup(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "%s/th-verify-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/s.db", folder);
	snprintf(url, sizeof(url), "sqlite:%s", path);
	snprintf(settled, sizeof(settled), "%s/settled.db", folder);
	snprintf(unsettled, sizeof(unsettled), "%s/unsettled.db", folder);
	make_good();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return th_dir_remove(folder, &err) == TH_OK ? 0 : -1;
}

/* The good store again, with nothing beside it. */
static void restore(void)
{
	static const char *const ends[] = { "-wal", "-shm", "-journal" };

	for (size_t i = 0; i < TH_COUNT(ends); i++) {
		char beside[80];

		snprintf(beside, sizeof(beside), "%s%s", path, ends[i]);
		unlink(beside);
	}
	copy_file(good, path);
}

/* Changed by SQL, where SQLite allows it. */
static void spoil(const char *text)
{
	char message[256] = "";
	sqlite3 *db;
	int status;

	restore();
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	status = sqlite3_exec(db, text, NULL, NULL, NULL);
	snprintf(message, sizeof(message), "%s", sqlite3_errmsg(db));
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	if (status != SQLITE_OK && status != SQLITE_MISMATCH)
		fail_msg("%s: %s", text, message);
}

static void verify(const char *id, struct th_verify_report *r)
{
	struct th_store_options options = { .read_only = true };
	struct th_store *s = NULL;

	if (th_store_open(th_str_of(url), &options, &s, &err) != TH_OK)
		fail_msg("%s", err.msg);
	if (s->kind->verify(s, th_str_of(id), r, &err) != TH_OK)
		fail_msg("%s", err.msg);
	th_store_close(s);
}

static void expect(const char *text, const char *table, const char *key)
{
	struct th_verify_report r;

	spoil(text);
	verify("", &r);
	if (!r.bad)
		fail_msg("not found: %s", text);
	if (strcmp(r.table, table) != 0 || strcmp(r.key, key) != 0 || !r.what[0])
		fail_msg("%s:\nfound %s: %s: %s", text, r.table, r.key, r.what);
}

static void good_is_good(void **state)
{
	struct th_verify_report r;

	(void)state;
	spoil("");
	verify("", &r);
	assert_false(r.bad);
	assert_int_equal(r.sessions, 4);
	assert_int_equal(r.events, 10 + 4 + 3 + 1);
	assert_int_equal(r.blobs, 2);
	verify("g", &r); /* with what it shares */
	assert_false(r.bad);
	assert_int_equal(r.sessions, 3);
	assert_int_equal(r.events, 4);
}

struct column {
	char table[16], name[32], type[16];
};

static size_t columns(struct column *list, size_t max)
{
	static const char text[] = "SELECT m.name, c.name, c.type FROM sqlite_master m, "
				   "pragma_table_info(m.name) c WHERE m.type = 'table'";
	sqlite3_stmt *st;
	sqlite3 *db;
	size_t count = 0;

	assert_int_equal(sqlite3_open(good, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, text, -1, &st, NULL), SQLITE_OK);
	while (sqlite3_step(st) == SQLITE_ROW) {
		assert_true(count < max);
		snprintf(list[count].table, 16, "%s", sqlite3_column_text(st, 0));
		snprintf(list[count].name, 32, "%s", sqlite3_column_text(st, 1));
		snprintf(list[count].type, 16, "%s", sqlite3_column_text(st, 2));
		count++;
	}
	sqlite3_finalize(st);
	sqlite3_close(db);
	return count;
}

/* Has a column another value or type, in any row, than in the good store? */
static bool same_values(const struct column *c)
{
	sqlite3 *dbs[2];
	sqlite3_stmt *st[2];
	char query[128];
	bool same = true;
	int status[2];

	snprintf(query, sizeof(query),
		 "SELECT typeof(%s) || hex(CAST(%s AS BLOB)) FROM %s ORDER BY 1", c->name, c->name,
		 c->table);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(sqlite3_open(i ? path : good, &dbs[i]), SQLITE_OK);
		assert_int_equal(sqlite3_prepare_v2(dbs[i], query, -1, &st[i], NULL), SQLITE_OK);
	}
	do {
		for (int i = 0; i < 2; i++)
			status[i] = sqlite3_step(st[i]);
		assert_int_equal(status[0], status[1]);
		same = same && (status[0] != SQLITE_ROW ||
				strcmp((const char *)sqlite3_column_text(st[0], 0),
				       (const char *)sqlite3_column_text(st[1], 0)) == 0);
	} while (status[0] == SQLITE_ROW);
	for (int i = 0; i < 2; i++) {
		sqlite3_finalize(st[i]);
		sqlite3_close(dbs[i]);
	}
	return same;
}

static bool try_value(const struct column *c, const char *value, const char *where)
{
	struct th_verify_report r;
	char text[512];
	bool same;

	snprintf(text, sizeof(text), "UPDATE OR IGNORE %s SET %s = %s WHERE %s", c->table, c->name,
		 value, where);
	spoil(text);
	same = same_values(c);
	verify("", &r);
	if (r.bad == same)
		fail_msg("%s: %s", text, r.bad ? r.what : "not found");
	/* Its own table is blamed, unless it is the name of the row that was changed. */
	if (r.bad && strcmp(c->name, "session_id") != 0 && strcmp(r.table, c->table) != 0)
		fail_msg("%s: blamed %s: %s: %s", text, r.table, r.key, r.what);
	return r.bad;
}

/* Every column of every table, in rows at the edges, with values of every type. */
static void every_column(void **state)
{
	static const char *const values[] = {
		"0",
		"-1",
		"9223372036854775807",
		"1.5",
		"''",
		"'x'",
		"x''",
		"x'00'",
		"CAST(%s AS TEXT)",
		"CAST(%s AS BLOB)",
		"CAST(%s AS INTEGER)",
		"zeroblob(32)",
		"zeroblob(16)",
		"randomblob(32)",
		"%s || 'x'",
		"%s + 1",
		"-%s",
		"substr(%s, 2)",
		"upper(%s)",
		"char(0) || %s",
	};
	static const struct {
		const char *table, *where;
	} rows[] = {
		{ "sessions", "session_id = 'f'" },
		{ "events", "session_id = 'a' AND seq = 5" },
		{ "events", "session_id = 'a' AND seq = 10" }, /* the last */
		{ "events", "session_id = 'a' AND seq = 1" },  /* the first */
		{ "events", "session_id = 'f' AND seq = 6" },  /* behind a fork */
		{ "blobs", "length(bytes) > 1000" },
		{ "recent", "place = (SELECT min(place) FROM recent)" },
		{ "recent", "place = (SELECT max(place) FROM recent)" },
		{ "usage", "1" },
		{ "used", "1" },
		{ "tasks", "number = (SELECT min(number) FROM tasks)" },
		{ "removed", "session_id = ''" },
		{ "removed", "session_id <> ''" },
		{ "orphans", "1" },
		{ "events", "session_id = ''" }, /* keeps a place free */
	};
	struct column list[80];
	size_t count = columns(list, TH_COUNT(list)), changes = 0;
	size_t step = getenv("TH_TORTURE") ? 1 : COLUMN_STEP;

	(void)state;
	assert_int_equal(count, 24 + 13 + 4 + 2 + 12 + 9 + 3 + 5 + 3);
	for (size_t i = 0; i < count * TH_COUNT(rows) * TH_COUNT(values); i += step) {
		const struct column *c = &list[i / TH_COUNT(values) / TH_COUNT(rows)];
		size_t row = i / TH_COUNT(values) % TH_COUNT(rows);
		const char *form = values[i % TH_COUNT(values)], *at = strstr(form, "%s");
		char value[128];

		if (strcmp(rows[row].table, c->table) != 0)
			continue;
		if (at)
			snprintf(value, sizeof(value), "%.*s%s%s", (int)(at - form), form, c->name,
				 at + 2);
		else
			snprintf(value, sizeof(value), "%s", form);
		changes += try_value(c, value, rows[row].where);
	}
	assert_true(changes > 800 / step);
}

static void named(void **state)
{
	(void)state;
	expect("UPDATE events SET data = replace(data, 'said', 'sait') WHERE session_id = 'a' AND "
	       "seq = 4",
	       "events", "session a event 4");
	expect("UPDATE events SET digest = zeroblob(32) WHERE session_id = 'g'", "events",
	       "session g event 4");
	expect("UPDATE sessions SET title = 'other' WHERE session_id = 'b'", "sessions",
	       "session b");
	expect("UPDATE sessions SET epoch = epoch + 1", "sessions", "session a");
	expect("UPDATE sessions SET owner = '' WHERE session_id = 'g'", "sessions", "session g");
	expect("UPDATE blobs SET bytes = x'00' WHERE length(bytes) = 7", "blobs",
	       "blob 2cea274d0bedc39ec4ab6ba9e59ec889e3ed6fb56a1cf088a64d9b383378dc97");
}

static void rows_gone(void **state)
{
	(void)state;
	expect("DELETE FROM events WHERE session_id = 'a' AND seq = 4", "events",
	       "session a event 4");
	expect("DELETE FROM events WHERE session_id = 'a' AND seq = 1", "events",
	       "session a event 1");
	expect("DELETE FROM events WHERE session_id = 'a' AND seq = 10", "events",
	       "session a event 10");
	expect("DELETE FROM events WHERE session_id = 'a' AND seq > 3", "events",
	       "session f event 6");
	expect("DELETE FROM events WHERE session_id = 'b'", "events", "session b event 1");
	expect("DELETE FROM events", "events", "session a event 1");
	expect("DELETE FROM sessions WHERE session_id = 'b'", "events", "session b event 1");
	expect("DELETE FROM sessions WHERE session_id = 'a'", "sessions", "session f");
	expect("DELETE FROM sessions WHERE session_id = 'f'", "sessions", "session g");
}

/* A log goes to an older program, too. */
static void a_kind_of_tomorrow(void **state)
{
	struct th_verify_report r;

	(void)state;
	spoil("UPDATE events SET kind = 'of_tomorrow' WHERE session_id = 'a' AND seq = 4");
	verify("", &r);
	assert_true(r.bad);
	assert_string_equal(r.key, "session a event 4");
	assert_non_null(strstr(r.what, "a newer thole"));
}

static void rows_added_and_moved(void **state)
{
	static const char columns_of[] =
	    "session_id, seq, prev, ts_ms, id, source, kind, cause, call, "
	    "data, build, digest";
	char text[1024];

	(void)state;
	snprintf(text, sizeof(text),
		 "INSERT INTO events (%s) SELECT %s FROM events WHERE session_id = 'b' AND seq = 4",
		 columns_of, columns_of);
	expect(text, "events", "session b event 5");
	expect("INSERT INTO events SELECT 999, session_id, 5, 4, ts_ms, id, source, kind, cause, "
	       "call, "
	       "data, build, digest FROM events WHERE session_id = 'b' AND seq = 4",
	       "events", "session b event 5");
	expect(
	    "INSERT INTO events SELECT 999, 'z', 1, 0, ts_ms, id, source, kind, cause, call, data, "
	    "build, digest FROM events WHERE session_id = 'b' AND seq = 4",
	    "events", "session z event 1");
	/* Two events in each other's place. */
	expect("UPDATE events SET place = -1 WHERE session_id = 'a' AND seq = 4;"
	       "UPDATE events SET place = place - 1 WHERE session_id = 'a' AND seq = 5;"
	       "UPDATE events SET place = (SELECT place + 1 FROM events WHERE session_id = 'a' AND "
	       "seq = 5)"
	       " WHERE place = -1",
	       "events", "session a event 4");
	expect("UPDATE events SET seq = 9 - seq WHERE session_id = 'a' AND seq IN (4, 5)", "events",
	       "session a event 4");
	/* All moved, none out of order: the places are not what was written. */
	expect("UPDATE events SET place = place + 1000", "events", "session z event 1");
	expect("UPDATE events SET place = place + 1000 WHERE session_id = 'a' AND seq = 10",
	       "events", "session a event 10");
	expect("UPDATE events SET session_id = 'b' WHERE session_id = 'a' AND seq = 10", "events",
	       "session b event 5");
	expect("INSERT INTO sessions SELECT 99, 'z', user, agent, model, state, title, parent, "
	       "parent_seq, "
	       "head_seq, head, iteration, calls, tokens_in, tokens_out, cost_nano, epoch, owner, "
	       "created_ms, updated_ms, metadata, last_place, check_crc, tokens_cached FROM "
	       "sessions LIMIT 1",
	       "sessions", "session z");
}

static void schema_changed(void **state)
{
	static const char *const changes[] = {
		"DROP TABLE blobs",
		"DROP TABLE events",
		"DROP TABLE sessions",
		"CREATE TABLE more (a)",
		"CREATE INDEX more ON events (kind)",
		"CREATE VIEW more AS SELECT 1",
		"CREATE TRIGGER more AFTER INSERT ON events BEGIN DELETE FROM blobs; END",
		"ALTER TABLE events ADD COLUMN more",
		"ALTER TABLE events RENAME COLUMN data TO date",
		"ALTER TABLE sessions RENAME TO session",
		("PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = "
		 "replace(sql, 'build TEXT', 'build BLOB')"),
		("PRAGMA writable_schema = ON; DELETE FROM sqlite_master WHERE name = "
		 "'sqlite_autoindex_blobs_1'"),
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(changes); i++) {
		struct th_store_options options = { .read_only = true };
		struct th_verify_report r = {};
		struct th_store *s = NULL;
		enum th_code code;

		spoil(changes[i]);
		code = th_store_open(th_str_of(url), &options, &s, &err);
		if (code == TH_OK)
			code = s->kind->verify(s, TH_STR(""), &r, &err);
		if (code != TH_OK && code != TH_ECORRUPT)
			fail_msg("%s: %s", changes[i], err.msg);
		if (code == TH_OK && !r.bad)
			fail_msg("not found: %s", changes[i]);
		th_store_close(s);
	}
}

/* One session is found wrong where it, or what it shares, is wrong, and only there. */
static void one_session(void **state)
{
	struct th_verify_report r;

	(void)state;
	spoil("UPDATE events SET data = '{}' WHERE session_id = 'a' AND seq = 3");
	verify("a", &r);
	assert_true(r.bad);
	assert_string_equal(r.key, "session a event 3");
	verify("f", &r);
	assert_true(r.bad);
	assert_string_equal(r.key, "session a event 3");
	verify("g", &r);
	assert_true(r.bad);
	verify("b", &r);
	assert_false(r.bad);
	spoil("UPDATE events SET data = '{}' WHERE session_id = 'a' AND seq = 4");
	verify("g", &r); /* shares up to 3 */
	assert_false(r.bad);
	verify("f", &r);
	assert_true(r.bad);
	spoil("DELETE FROM events WHERE session_id = 'a' AND seq = 10");
	verify("a", &r);
	assert_true(r.bad);
	assert_string_equal(r.table, "events");
	assert_string_equal(r.key, "session a event 10");
	spoil("UPDATE sessions SET calls = 9 WHERE session_id = 'a'");
	verify("g", &r);
	assert_true(r.bad);
	assert_string_equal(r.table, "sessions");
	assert_string_equal(r.key, "session a");
	spoil("DELETE FROM sessions WHERE session_id = 'f'");
	verify("g", &r);
	assert_true(r.bad);
	static const struct {
		const char *sql, *id, *key;
	} places[] = {
		{ "UPDATE events SET prev = prev + 1 WHERE session_id = 'b' AND seq > 2", "b",
		  "session b event 2" },
		{ "UPDATE events SET prev = 2 WHERE session_id = 'b' AND seq = 1", "b",
		  "session b event 2" },
		{ "UPDATE events SET prev = 0 WHERE session_id = 'a' AND seq = 4", "a",
		  "session a event 7" },
		{ "UPDATE events SET prev = 0 WHERE session_id = 'a' AND seq = 5", "a",
		  "session a event 5" },
		{ "UPDATE events SET prev = 1 WHERE session_id = 'f' AND seq = 6", "f",
		  "session f event 6" },
	};

	for (size_t i = 0; i < TH_COUNT(places); i++) {
		spoil(places[i].sql);
		verify(places[i].id, &r);
		if (!r.bad || strcmp(r.table, "events") != 0 || strcmp(r.key, places[i].key) != 0)
			fail_msg("%s: %s %s %s", places[i].sql, r.table, r.key, r.what);
	}
}

/* A row of `id` changed and its checksum made to fit: what is left to find it is the log. */
static void forge(const char *change, const char *id)
{
	struct th_store_options options = { .read_only = true };
	struct th_session_row row = {};
	struct th_store *s = NULL;
	struct th_arena arena;
	sqlite3_stmt *st;
	sqlite3 *db;
	char text[256];
	uint32_t crc;

	th_arena_init(&arena, TH_MIB);
	restore();
	assert_int_equal(th_store_open(th_str_of(url), &options, &s, &err), TH_OK);
	assert_int_equal(s->kind->get(s, th_str_of(id), &arena, &row, &err), TH_OK);
	th_store_close(s);
	snprintf(text, sizeof(text), "UPDATE sessions SET %s WHERE session_id = '%s'", change, id);
	spoil(text);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	snprintf(text, sizeof(text),
		 "SELECT head, head_seq, parent_seq, last_place, number FROM sessions "
		 "WHERE session_id = '%s'",
		 id);
	assert_int_equal(sqlite3_prepare_v2(db, text, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	memcpy(row.head.bytes, sqlite3_column_blob(st, 0), sizeof(row.head.bytes));
	row.head_seq = (uint64_t)sqlite3_column_int64(st, 1);
	row.parent_seq = (uint64_t)sqlite3_column_int64(st, 2);
	crc = th_session_row_crc(&row, (uint64_t)sqlite3_column_int64(st, 4),
				 (uint64_t)sqlite3_column_int64(st, 3));
	sqlite3_finalize(st);
	snprintf(text, sizeof(text), "UPDATE sessions SET check_crc = %u WHERE session_id = '%s'",
		 crc, id);
	assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	th_arena_deinit(&arena);
}

static void forged_rows(void **state)
{
	static const struct {
		const char *change, *id, *table, *key;
	} cases[] = {
		{ "head = randomblob(32)", "b", "sessions", "session b" },
		{ "head_seq = head_seq + 1", "b", "events", "session b event 5" },
		{ "head_seq = head_seq - 1", "b", "events", "session b event 4" },
		{ "last_place = last_place - 1", "b", "sessions", "session b" },
		{ "last_place = last_place + 1", "b", "sessions", "session b" },
		{ "parent_seq = 4", "f", "events", "session f event 5" },
		{ "parent_seq = 6", "f", "events", "session f event 6" },
	};
	struct th_verify_report r;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		forge(cases[i].change, cases[i].id);
		verify("", &r);
		if (!r.bad || strcmp(r.table, cases[i].table) != 0 ||
		    (strcmp(r.key, cases[i].key) != 0 && cases[i].id[0] != 'f'))
			fail_msg("%s: found %s: %s: %s", cases[i].change, r.table, r.key, r.what);
		verify(cases[i].id, &r);
		assert_true(r.bad);
	}
}

/* Bytes of the file's head that SQLite does not judge. */
static void head_of_the_file(void **state)
{
	static const size_t places[] = { 20, 24, 27, 48, 51, 52, 64, 67, 72, 91, 92, 95, 96 };
	struct th_verify_report r;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(places); i++) {
		unsigned char byte;
		int fd;

		restore();
		fd = open(path, O_RDWR);
		assert_int_equal(pread(fd, &byte, 1, (off_t)places[i]), 1);
		byte ^= 1;
		assert_int_equal(pwrite(fd, &byte, 1, (off_t)places[i]), 1);
		close(fd);
		struct th_store_options options = { .read_only = true };
		struct th_store *s = NULL;
		enum th_code code = th_store_open(th_str_of(url), &options, &s, &err);

		if (code == TH_OK)
			code = s->kind->verify(s, TH_STR(""), &r, &err);
		if (code == TH_OK ? !r.bad : code != TH_ECORRUPT)
			fail_msg("byte %zu: %s", places[i], code ? err.msg : "not found");
		th_store_close(s);
	}
}

/* ---- bytes of the file ---- */

static struct th_digest content_of(const char *file)
{
	static const char *const queries[] = {
		"SELECT * FROM sqlite_master",
		"SELECT * FROM sessions",
		"SELECT * FROM events WHERE session_id <> 'z'", /* these go anyway */
		"SELECT * FROM blobs",
		"SELECT * FROM recent",
		"SELECT * FROM usage",
		"SELECT * FROM used",
		"SELECT * FROM tasks",
		"SELECT * FROM removed",
		"SELECT * FROM orphans",
		"SELECT hash FROM blobs INDEXED BY sqlite_autoindex_blobs_1 ORDER BY hash",
	};
	struct th_sha256 h;
	sqlite3 *db;

	th_sha256_init(&h);
	assert_int_equal(sqlite3_open_v2(file, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	for (size_t i = 0; i < TH_COUNT(queries); i++) {
		sqlite3_stmt *st = NULL;

		if (sqlite3_prepare_v2(db, queries[i], -1, &st, NULL) != SQLITE_OK) {
			th_sha256_add(&h, "error", 5);
			continue;
		}
		while (sqlite3_step(st) == SQLITE_ROW) {
			for (int c = 0; c < sqlite3_column_count(st); c++) {
				int type = sqlite3_column_type(st, c);

				th_sha256_add(&h, &type, sizeof(type));
				th_sha256_add(&h, sqlite3_column_blob(st, c),
					      (size_t)sqlite3_column_bytes(st, c));
			}
		}
		if (sqlite3_finalize(st) != SQLITE_OK)
			th_sha256_add(&h, "error", 5);
	}
	sqlite3_close(db);
	return th_sha256_end(&h);
}

/* Found, or nothing that anybody can read is another. */
static void flip(int fd, size_t at, int bit, const struct th_digest *content, size_t *ret_found)
{
	struct th_store_options options = { .read_only = true };
	struct th_verify_report r = {};
	struct th_store *s = NULL;
	unsigned char byte;
	enum th_code code;

	assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
	byte ^= (unsigned char)(1 << bit);
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
	code = th_store_open(th_str_of(url), &options, &s, &err);
	if (code == TH_OK)
		code = s->kind->verify(s, TH_STR(""), &r, &err);
	th_store_close(s);
	if (code == TH_OK && !r.bad) {
		struct th_digest now = content_of(path);

		if (!th_digest_eq(&now, content))
			fail_msg("byte %zu bit %d: not found", at, bit);
	} else {
		/* Never anything but damage: that a text calls it so is what people need. */
		if (code != TH_OK && code != TH_ECORRUPT && code != TH_EUSAGE &&
		    code != TH_EUNSUPPORTED && code != TH_ENOENT)
			fail_msg("byte %zu bit %d: %s", at, bit, err.msg);
		++*ret_found;
	}
	byte ^= (unsigned char)(1 << bit);
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
}

static void every_byte(void **state)
{
	struct th_digest content = content_of(good);
	size_t step = getenv("TH_TORTURE") ? 1 : BYTE_STEP, found = 0, tried = 0;
	struct stat st;
	int fd;

	(void)state;
	restore();
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	for (size_t at = 0; at < (size_t)st.st_size; at += at < 100 ? 1 : step, tried++)
		flip(fd, at, (int)(at % 8), &content, &found);
	close(fd);
	assert_true(found > tried / 8); /* of tables with a row or two, pages are empty */
}

/* The file cut, at pages and between. */
static void cut_file(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(stat(good, &st), 0);
	for (off_t size = 2; size < st.st_size; size += 509) {
		struct th_store_options options = { .read_only = true };
		struct th_verify_report r = {};
		struct th_store *s = NULL;
		enum th_code code;

		restore();
		assert_int_equal(truncate(path, size), 0);
		code = th_store_open(th_str_of(url), &options, &s, &err);
		if (code == TH_OK)
			code = s->kind->verify(s, TH_STR(""), &r, &err);
		if (code == TH_OK ? !r.bad : code != TH_ECORRUPT)
			fail_msg("cut to %ld: %s", (long)size, code ? err.msg : "not found");
		th_store_close(s);
	}
}

/* The rows alone are old, and say so. */
static void recent_wrong(void **state)
{
	(void)state;
	expect("DELETE FROM recent", "sessions", "session f"); /* of events that are not there */
	expect("DELETE FROM recent WHERE place = (SELECT max(place) FROM recent)", "events",
	       "session a event 8");
	expect("UPDATE recent SET rows = zeroblob(length(rows))", "recent", "place 8");
	expect("UPDATE recent SET place = place + 100", "recent", "place 108");
	expect("INSERT INTO recent VALUES (99, x'00')", "recent", "place 99");
	expect("DELETE FROM sessions WHERE session_id = 'g'", "events", "session g event 4");
}

#define UNSETTLED(test)                                                     \
	{                                                                   \
		"unsettled: " #test, test, use_unsettled, use_settled, NULL \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_is_good),
		cmocka_unit_test(every_column),
		cmocka_unit_test(named),
		cmocka_unit_test(rows_gone),
		cmocka_unit_test(a_kind_of_tomorrow),
		cmocka_unit_test(rows_added_and_moved),
		cmocka_unit_test(schema_changed),
		cmocka_unit_test(one_session),
		cmocka_unit_test(forged_rows),
		cmocka_unit_test(head_of_the_file),
		cmocka_unit_test(every_byte),
		cmocka_unit_test(cut_file),
		UNSETTLED(good_is_good),
		UNSETTLED(every_column),
		UNSETTLED(recent_wrong),
		UNSETTLED(one_session),
		UNSETTLED(every_byte),
		UNSETTLED(cut_file),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
