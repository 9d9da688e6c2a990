/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.c - the index of one session's words: a file of its own beside the
 * store, made when the session is searched for the first time and brought up to
 * the log's end with each search.
 *
 * It is a copy: it can be lost or broken at any time, is not flushed, and is made
 * again from the log.  So an append costs nothing for it, and no check of the
 * store looks at it.  It goes before its session goes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "events/event_text.h"
#include "sqlite/sqlite.h"
#include "store/search.h"

struct text_index {
	sqlite3 *db;
	sqlite3_stmt *insert;
	struct th_buf label, text;
	uint64_t upto;      /* the last event that it has */
	int64_t created_ms; /* of its session: a name may be had again */
};

/* PATH.text/ and the digest of the name, which may be of any length and have any letter. */
static bool path_of(const struct th_sqlite *s, struct th_str session_id, char *folder, char *path,
		    size_t size)
{
	char hex[TH_SHA256_HEX_SIZE + 1];
	struct th_sha256 h;
	struct th_digest d;
	int written;

	th_sha256_init(&h);
	th_sha256_add(&h, session_id.ptr, session_id.len);
	d = th_sha256_end(&h);
	th_digest_hex(&d, hex);
	written = snprintf(folder, size, "%s.text", s->path);
	if (written < 0 || (size_t)written >= size)
		return false;
	written = snprintf(path, size, "%s.text/%.32s", s->path, hex);
	return written > 0 && (size_t)written < size;
}

static enum th_code fail(const struct text_index *x, struct th_err *err)
{
	return th_fail(err, TH_EIO, "the index of words: %s",
		       x->db ? sqlite3_errmsg(x->db) : "out of memory");
}

static enum th_code run_sql(struct text_index *x, const char *sql, struct th_err *err)
{
	return sqlite3_exec(x->db, sql, NULL, NULL, NULL) == SQLITE_OK ? TH_OK : fail(x, err);
}

static void close_index(struct text_index *x)
{
	sqlite3_finalize(x->insert);
	sqlite3_close(x->db);
	x->insert = NULL;
	x->db = NULL;
}

/* What it has, and of which session. */
static enum th_code read_state(struct text_index *x, struct th_err *err)
{
	sqlite3_stmt *st = NULL;
	enum th_code code = TH_OK;

	if (sqlite3_prepare_v2(x->db, "SELECT upto, created_ms FROM state", -1, &st, NULL) !=
	    SQLITE_OK)
		return fail(x, err);
	if (sqlite3_step(st) == SQLITE_ROW) {
		x->upto = (uint64_t)sqlite3_column_int64(st, 0);
		x->created_ms = sqlite3_column_int64(st, 1);
	}
	sqlite3_finalize(st);
	return code;
}

static enum th_code open_index(struct text_index *x, const char *path, struct th_err *err)
{
	static const char tables[] =
	    "PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF; BEGIN IMMEDIATE;"
	    "CREATE TABLE IF NOT EXISTS state (upto INTEGER NOT NULL, created_ms INTEGER NOT NULL);"
	    "CREATE VIRTUAL TABLE IF NOT EXISTS text USING fts5 (label UNINDEXED, body, "
	    "tokenize = \"unicode61 remove_diacritics 0\");";
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
	enum th_code code;

	if (sqlite3_open_v2(path, &x->db, flags, NULL) != SQLITE_OK)
		return fail(x, err);
	sqlite3_busy_timeout(x->db, TH_STORE_BUSY_MS);
	code = run_sql(x, tables, err);
	if (!code)
		code = read_state(x, err);
	if (!code &&
	    sqlite3_prepare_v2(x->db, "INSERT INTO text (rowid, label, body) VALUES (?1, ?2, ?3)",
			       -1, &x->insert, NULL) != SQLITE_OK)
		code = fail(x, err);
	return code;
}

/* ---- bringing it up to the log's end -------------------------------------------------------- */

static enum th_code take(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			 struct th_err *err)
{
	struct text_index *x = ctx;
	enum th_code code = TH_OK;

	(void)digest;
	th_buf_clear(&x->label);
	th_buf_clear(&x->text);
	if (th_event_text(ev, &x->label, &x->text)) {
		sqlite3_bind_int64(x->insert, 1, (sqlite3_int64)ev->seq);
		sqlite3_bind_text(x->insert, 2, x->label.ptr, (int)x->label.len, SQLITE_STATIC);
		sqlite3_bind_text(x->insert, 3, x->text.ptr, (int)x->text.len, SQLITE_STATIC);
		if (sqlite3_step(x->insert) != SQLITE_DONE)
			code = fail(x, err);
		sqlite3_reset(x->insert);
	}
	x->upto = ev->seq;
	return code ?: th_buf_check(&x->text, "an event's words", err);
}

static enum th_code catch_up(struct th_store *store, struct th_str session_id, struct text_index *x,
			     struct th_err *err)
{
	struct th_arena memory TH_CLEANUP(th_arena_deinit) = {};
	struct th_session_row row;
	sqlite3_stmt *st = NULL;
	uint64_t before;
	enum th_code code;

	th_arena_init(&memory, TH_MIB);
	code = store->kind->get(store, session_id, &memory, &row, err);
	if (!code && x->upto && (x->created_ms != row.created_ms || x->upto > row.head_seq)) {
		x->upto = 0;
		code = run_sql(x, "DELETE FROM text; DELETE FROM state", err);
	}
	x->created_ms = code ? 0 : row.created_ms;
	before = x->upto;
	if (!code && x->upto < row.head_seq)
		code = store->kind->read(store, session_id, x->upto + 1, 0, take, x, err);
	if (code || x->upto == before)
		return code;
	code = run_sql(x, "DELETE FROM state", err);
	if (!code && sqlite3_prepare_v2(x->db, "INSERT INTO state VALUES (?1, ?2)", -1, &st,
					NULL) != SQLITE_OK)
		code = fail(x, err);
	if (!code) {
		sqlite3_bind_int64(st, 1, (sqlite3_int64)x->upto);
		sqlite3_bind_int64(st, 2, x->created_ms);
		if (sqlite3_step(st) != SQLITE_DONE)
			code = fail(x, err);
	}
	sqlite3_finalize(st);
	return code;
}

/* ---- the search ----------------------------------------------------------------------------- */

/* Each word in quotes: nothing of the query is a word of the query language. */
static void put_match(struct th_str words, struct th_buf *out)
{
	struct th_str word;

	while (th_search_word(&words, &word))
		th_buf_printf(out, "%s\"%.*s\"", out->len ? " " : "", TH_FMT(word));
}

static enum th_code find(struct text_index *x, const struct th_text_query *q, th_text_fn *fn,
			 void *ctx, struct th_err *err)
{
	static const char by_words[] = "SELECT rowid, label, body FROM text WHERE text MATCH ?1"
				       " ORDER BY rowid DESC LIMIT ?2";
	static const char by_event[] =
	    "SELECT rowid, label, body FROM text WHERE rowid = ?1 LIMIT ?2";
	struct th_buf match TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);
	sqlite3_stmt *st = NULL;
	enum th_code code = TH_OK;
	int status = SQLITE_DONE;

	put_match(q->words, &match);
	code = th_buf_check(&match, "the query", err);
	if (!code &&
	    sqlite3_prepare_v2(x->db, q->event ? by_event : by_words, -1, &st, NULL) != SQLITE_OK)
		code = fail(x, err);
	if (code)
		return code;
	if (q->event)
		sqlite3_bind_int64(st, 1, (sqlite3_int64)q->event);
	else
		sqlite3_bind_text(st, 1, match.ptr, (int)match.len, SQLITE_STATIC);
	sqlite3_bind_int64(st, 2, (sqlite3_int64)q->limit);
	while (!code && (status = sqlite3_step(st)) == SQLITE_ROW) {
		struct th_str label = th_str_n((const char *)sqlite3_column_text(st, 1),
					       (size_t)sqlite3_column_bytes(st, 1));
		struct th_str body = th_str_n((const char *)sqlite3_column_text(st, 2),
					      (size_t)sqlite3_column_bytes(st, 2));

		code = fn(ctx, (uint64_t)sqlite3_column_int64(st, 0), label, body, err);
	}
	if (!code && status != SQLITE_DONE)
		code = fail(x, err);
	sqlite3_finalize(st);
	return code;
}

enum th_code th_sqlite_search(struct th_store *store, struct th_str session_id,
			      const struct th_text_query *query, th_text_fn *fn, void *ctx,
			      struct th_err *err)
{
	char folder[TH_PATH_LEN_MAX], path[TH_PATH_LEN_MAX];
	struct text_index x = { 0 };
	enum th_code code;

	if (!path_of(th_sqlite_of(store), session_id, folder, path, sizeof(path)))
		return th_fail(err, TH_ELIMIT, "the store's path is too long");
	if (mkdir(folder, 0700) != 0 && errno != EEXIST)
		return th_fail(err, TH_EIO, "%s: %s", folder, strerror(errno));
	th_buf_init(&x.label, TH_KIB);
	th_buf_init(&x.text, 2 * TH_EVENT_DATA_MAX);
	code = open_index(&x, path, err);
	if (!code)
		code = catch_up(store, session_id, &x, err);
	if (!code)
		code = run_sql(&x, "COMMIT", err);
	if (code) /* the next search begins anew */
		(void)unlink(path);
	else
		code = find(&x, query, fn, ctx, err);
	close_index(&x);
	th_buf_deinit(&x.label);
	th_buf_deinit(&x.text);
	return code;
}

enum th_code th_sqlite_text_remove(const struct th_sqlite *s, struct th_str session_id,
				   struct th_err *err)
{
	static const char *const tails[] = { "", "-journal" };
	char folder[TH_PATH_LEN_MAX], path[TH_PATH_LEN_MAX], name[TH_PATH_LEN_MAX + 16];

	if (!path_of(s, session_id, folder, path, sizeof(path)))
		return TH_OK; /* then it was never made */
	for (size_t i = 0; i < TH_COUNT(tails); i++) {
		snprintf(name, sizeof(name), "%s%s", path, tails[i]);
		if (unlink(name) != 0 && errno != ENOENT && errno != ENOTDIR)
			return th_fail(err, TH_EIO, "%s: %s", name, strerror(errno));
	}
	return TH_OK;
}
