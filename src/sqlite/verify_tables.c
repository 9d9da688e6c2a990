/* SPDX-License-Identifier: Apache-2.0 */
/* verify_tables.c - blobs, the small tables, and the file around the rows. */
#include <stdio.h>
#include <string.h>

#include "sqlite/verify_parts.h"
#include "store/usage.h"

/* ---- blobs ---- */

static const char *blob_wrong(sqlite3_stmt *st, char hex[static TH_SHA256_HEX_SIZE + 1])
{
	struct th_digest hash, found;
	struct th_str media_type;
	int64_t crc;

	snprintf(hex, TH_SHA256_HEX_SIZE + 1, "?");
	if (!th_column_bytes(st, 0, hash.bytes, sizeof(hash.bytes)))
		return "column hash cannot have such a value";
	th_digest_hex(&hash, hex);
	if (!th_column_str(st, 1, &media_type) || !th_column_i64(st, 2, &crc) ||
	    crc != th_blob_crc(&hash, media_type))
		return "column media_type is not what was written";
	if (sqlite3_column_type(st, 3) != SQLITE_BLOB)
		return "column bytes cannot have such a value";
	const void *bytes = sqlite3_column_blob(st, 3);

	found = th_sha256_of(bytes, (size_t)sqlite3_column_bytes(st, 3));
	return th_digest_eq(&found, &hash) ? NULL : "its bytes are not what its hash says";
}

enum th_code th_check_blobs(struct th_check *v)
{
	sqlite3_stmt *st = th_db_get(v->db, TH_SQL_BLOB_ALL);
	char hex[TH_SHA256_HEX_SIZE + 1] = "", key[96];
	int status;

	while ((status = th_db_step(v->db, st, v->err)) == 1) {
		const char *bad = blob_wrong(st, hex);

		snprintf(key, sizeof(key), "blob %s", hex);
		if (bad) {
			th_verify_blame(v->report, "blobs", key, "%s", bad);
			break;
		}
		v->report->blobs++;
	}
	if (st)
		sqlite3_reset(st);
	return status < 0 ? th_check_stopped(v, status, "blobs", hex) : TH_OK;
}

/* ---- the small tables ---- */

/* One row of a table, and what is wrong with it. */
typedef const char *check_row_fn(struct th_check *v, sqlite3_stmt *st);

static enum th_code check_table(struct th_check *v, enum th_statement id, const char *table,
				check_row_fn *fn)
{
	sqlite3_stmt *st = v->report->bad ? NULL : th_db_get(v->db, id);
	char key[64] = "";
	uint64_t row = 0;
	int status = 0;

	if (v->report->bad)
		return TH_OK;
	while ((status = th_db_step(v->db, st, v->err)) == 1) {
		const char *bad = fn(v, st);

		snprintf(key, sizeof(key), "row %llu", (unsigned long long)++row);
		if (bad) {
			th_verify_blame(v->report, table, key, "%s", bad);
			break;
		}
	}
	if (st)
		sqlite3_reset(st);
	return status < 0 ? th_check_stopped(v, status, table, key) : TH_OK;
}

static const char *check_removed(struct th_check *v, sqlite3_stmt *st)
{
	struct th_removed r, *list;
	const char *bad = th_removed_column(st, &r);

	if (bad)
		return bad;
	if (r.place > r.last)
		return "its place is behind its last";
	list = th_try_realloc(v->removed, (v->removed_count + 1) * sizeof(*list));
	if (!list)
		return "there are too many";
	v->removed = list;
	r.session_id = th_arena_str(&v->arena, r.session_id);
	list[v->removed_count++] = r;
	return r.session_id.ptr ? NULL : "there are too many";
}

static const char *check_usage(struct th_check *v, sqlite3_stmt *st)
{
	struct th_usage_row row;

	(void)v;
	return th_usage_column(st, &row);
}

static const char *check_used(struct th_check *v, sqlite3_stmt *st)
{
	struct th_usage_row row;

	(void)v;
	return th_used_column(st, &row);
}

static const char *check_orphan(struct th_check *v, sqlite3_stmt *st)
{
	struct th_orphan o;

	(void)v;
	return th_orphan_column(st, &o);
}

static bool has_number(const struct th_check *v, uint64_t number)
{
	size_t low = 0, high = v->count;

	while (low < high) { /* they were read in the order of their numbers */
		size_t middle = low + (high - low) / 2;

		if (v->list[middle].number == number)
			return true;
		if (v->list[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

static const char *check_task(struct th_check *v, sqlite3_stmt *st)
{
	struct th_str text = {};
	uint64_t number = 0;
	int64_t crc = 0;

	if (!th_column_u64(st, 0, &number) || !th_column_str(st, 1, &text) ||
	    !th_column_i64(st, 2, &crc) || crc != th_task_crc(number, text))
		return "it is not what was written";
	return has_number(v, number) ? NULL : "there is no session with its number";
}

enum th_code th_check_removed(struct th_check *v)
{
	return check_table(v, TH_SQL_REMOVED_ALL, "removed", check_removed);
}

enum th_code th_check_small(struct th_check *v)
{
	enum th_code code = check_table(v, TH_SQL_TASK_ALL, "tasks", check_task);

	if (code == TH_OK)
		code = check_table(v, TH_SQL_USAGE_ALL, "usage", check_usage);
	if (code == TH_OK)
		code = check_table(v, TH_SQL_USED_ALL, "used", check_used);
	if (code == TH_OK)
		code = check_table(v, TH_SQL_ORPHAN_ALL, "orphans", check_orphan);
	return code;
}

/* ---- the file around the rows ---- */

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The part of the file's head that SQLite reads and does not judge. */
static enum th_code check_head(struct th_check *v)
{
	static const uint8_t zero[20];
	sqlite3_file *file = NULL;
	uint8_t head[100];
	const char *bad = NULL;

	if (sqlite3_file_control(v->db->sqlite, "main", SQLITE_FCNTL_FILE_POINTER, &file) !=
		SQLITE_OK ||
	    file->pMethods->xRead(file, head, sizeof(head), 0) != SQLITE_OK)
		return th_fail(v->err, TH_EIO, "read the head of %s", v->db->path);
	if (memcmp(head, "SQLite format 3", 16) != 0 || head[21] != 64 || head[22] != 32 ||
	    head[23] != 32 || head[20] != 0)
		bad = "the file's head is not SQLite's";
	else if (head[18] != head[19] || be32(head + 24) != be32(head + 92))
		bad = "the file's head has two different versions";
	else if (be32(head + 48) != 0 || be32(head + 52) != 0 || be32(head + 64) != 0 ||
		 memcmp(head + 72, zero, sizeof(zero)) != 0)
		bad = "the file's head has values where there are none";
	else if (be32(head + 96) < 3000000 || be32(head + 96) >= 4000000)
		bad = "the file's head names no version of SQLite";
	if (bad)
		th_verify_blame(v->report, "sqlite_master", "head of the file", "%s", bad);
	return TH_OK;
}

/* SQLite's own check of its pages: the first thing that it finds, or "ok". */
static enum th_code integrity(struct th_check *v, char *found, size_t size)
{
	sqlite3_stmt *st = NULL;
	enum th_code code = TH_OK;
	int status = sqlite3_prepare_v2(v->db->sqlite, "PRAGMA integrity_check(1)", -1, &st, NULL);

	if (status == SQLITE_OK)
		status = sqlite3_step(st);
	if (status == SQLITE_ROW)
		snprintf(found, size, "%s", (const char *)sqlite3_column_text(st, 0));
	else
		code = th_db_fail(v->db, v->err);
	sqlite3_finalize(st);
	return code;
}

static enum th_code check_pages(struct th_check *v)
{
	char found[128] = "", again[128] = "";
	enum th_code code = integrity(v, found, sizeof(found));

	/* It takes a read that failed for damage: then the second time is another. */
	if (code == TH_OK && strcmp(found, "ok") != 0)
		code = integrity(v, again, sizeof(again));
	if (code == TH_OK && strcmp(again, "ok") == 0)
		return th_fail(v->err, TH_EIO, "%s: a page could not be read: %s", v->db->path,
			       found);
	if (code == TH_OK && strcmp(found, "ok") != 0)
		th_verify_blame(v->report, "sqlite_master", "pages of the file", "%s", found);
	return code == TH_OK ? TH_OK
			     : th_check_stopped(v, code, "sqlite_master", "pages of the file");
}

enum th_code th_check_file(struct th_check *v)
{
	enum th_code code = th_db_schema_check(v->db, v->report, v->err);

	if (code == TH_OK && !v->report->bad)
		code = check_head(v);
	if (code == TH_OK && !v->report->bad)
		code = check_pages(v);
	return code;
}
