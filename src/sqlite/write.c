/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write.c - transactions: batches of appends on the writer connection.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "io/files.h"
#include "sqlite/writing.h"

enum th_code th_sqlite_writable(struct th_sqlite *s, struct th_err *err)
{
	if (s->read_only)
		return th_fail(err, TH_EPERM, "%s was opened for reading only", s->path);
	return th_group_usable(&s->group, err);
}

/* ---- what a batch has ---- */

/* Whoever looks for blobs that nobody names must not find this one: the event may come later. */
static enum th_code orphan_keep(struct th_writing *w, const struct th_digest *hash)
{
	sqlite3_stmt *st = th_db_get(w->db, TH_SQL_ORPHAN_KEEP);
	int status;

	if (st)
		th_bind_blob(st, 1, hash->bytes, sizeof(hash->bytes));
	status = th_db_step(w->db, st, w->err);
	return status < 0 ? (enum th_code)status : TH_OK;
}

static enum th_code blob_write(struct th_writing *w, const struct th_blob *b)
{
	sqlite3_stmt *st = th_db_get(w->db, TH_SQL_BLOB_FIND);
	int status;

	if (st)
		th_bind_blob(st, 1, b->hash.bytes, sizeof(b->hash.bytes));
	status = th_db_step(w->db, st, w->err);
	if (status < 0)
		return (enum th_code)status;
	if (status == 1) {
		sqlite3_reset(st);
		return orphan_keep(w, &b->hash);
	}
	st = th_db_get(w->db, TH_SQL_BLOB_INSERT);
	if (st) {
		th_bind_blob(st, 1, b->hash.bytes, sizeof(b->hash.bytes));
		th_bind_str(st, 2, b->media_type);
		sqlite3_bind_int64(st, 3, th_blob_crc(&b->hash, b->media_type));
		th_bind_blob(st, 4, b->bytes.ptr, b->bytes.len);
	}
	status = th_db_step(w->db, st, w->err);
	return status < 0 ? (enum th_code)status : TH_OK;
}

static enum th_code batch_write(struct th_writing *w, struct th_batch *b)
{
	enum th_code code = TH_OK;

	for (size_t i = 0; i < b->blob_count && code == TH_OK; i++)
		code = blob_write(w, &b->blobs[i]);
	for (size_t i = 0; i < b->append_count && code == TH_OK; i++)
		code = th_sqlite_append_write(w, &b->appends[i]);
	return code;
}

/* ---- transactions ---- */

static bool creates(const struct th_batch *list)
{
	for (; list; list = list->next) {
		for (size_t i = 0; i < list->append_count; i++) {
			if (list->appends[i].create)
				return true;
		}
	}
	return false;
}

/* The database file and its name: SQLite flushes the log at each commit, and these never again. */
static enum th_code names_sync(struct th_sqlite *s, struct th_err *err)
{
	sqlite3_file *file = NULL;
	struct th_str path = th_str_of(s->path);
	char folder[TH_PATH_LEN_MAX] = ".";
	int fd, status;

	if (s->synced_names)
		return TH_OK;
	if (sqlite3_file_control(s->writer.sqlite, "main", SQLITE_FCNTL_FILE_POINTER, &file) !=
		SQLITE_OK ||
	    file->pMethods->xSync(file, SQLITE_SYNC_NORMAL) != SQLITE_OK)
		return th_fail(err, TH_EIO, "flush %s: %s", s->path, strerrordesc_np(errno));
	for (size_t i = path.len; i-- > 0;) {
		if (path.ptr[i] == '/') {
			memcpy(folder, path.ptr, i + 1);
			folder[i + 1] = 0;
			break;
		}
	}
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	status = fd < 0 ? -1 : fsync(fd);
	th_fd_close(&fd);
	if (status != 0)
		return th_fail(err, TH_EIO, "flush the folder %s: %s", folder,
			       strerrordesc_np(errno));
	s->synced_names = true;
	return TH_OK;
}

enum th_code th_sqlite_writer(struct th_sqlite *s, struct th_err *err)
{
	enum th_code code = th_sqlite_writable(s, err);

	if (code == TH_OK && !s->known) {
		s->known_cap = TH_KNOWN_MIN;
		s->known = th_try_alloc(s->known_cap * sizeof(*s->known));
		if (!s->known)
			code = th_fail_memory(err);
	}
	if (code == TH_OK && !s->writer.sqlite)
		code = th_db_open(&s->writer, s->path, TH_DB_READ_WRITE, true, err);
	return code;
}

static enum th_code writer_ready(struct th_sqlite *s, const struct th_batch *list,
				 struct th_err *err)
{
	enum th_code code = th_sqlite_writer(s, err);

	if (code == TH_OK && creates(list))
		code = th_owner_take(&s->owner, s->owners, err);
	return code;
}

void th_sqlite_forget(struct th_sqlite *s)
{
	th_db_rollback(&s->writer);
	th_recent_clear(&s->writer.recent);
	memset(s->known, 0, s->known_cap * sizeof(*s->known));
	s->known_count = 0;
	s->recent_seen = false;
}

/* So that a file that nobody has open says all in its tables of sessions and events. */
void th_sqlite_settle(struct th_sqlite *s)
{
	struct th_err err;
	enum th_code code;

	if (!s->writer.sqlite || s->recent_bytes == 0 || th_group_usable(&s->group, &err) != TH_OK)
		return;
	code = th_db_run(&s->writer, TH_SQL_BEGIN_IMMEDIATE, &err);
	if (code == TH_OK)
		code = th_recent_settle(&s->writer, &err);
	if (code == TH_OK)
		code = th_db_run(&s->writer, TH_SQL_COMMIT, &err);
	if (code != TH_OK) /* then it stays as it is, which says the same */
		th_db_rollback(&s->writer);
}

/* What its sessions used. */
static enum th_code sums_write(struct th_writing *w)
{
	enum th_code code = TH_OK;

	for (size_t i = 0; i < w->usage.count && code == TH_OK; i++)
		code = th_db_usage_add(w->db, &w->usage.list[i], w->err);
	for (size_t i = 0; i < w->used.count && code == TH_OK; i++)
		code = th_db_used_add(w->db, &w->used.list[i], w->err);
	return code;
}

/* All of `list` in one transaction. */
static enum th_code transact(struct th_sqlite *s, struct th_batch *list, struct th_err *err)
{
	struct th_writing w = { .s = s, .db = &s->writer, .err = err };
	uint64_t before = 0;
	enum th_code code = th_db_run(w.db, TH_SQL_BEGIN_IMMEDIATE, err);

	if (code == TH_OK)
		code = th_db_last(w.db, TH_SQL_LAST_PLACE, &before, err);
	w.next_place = before + 1;
	w.version = th_db_version(w.db);
	th_usage_sums_init(&w.usage);
	th_usage_sums_init(&w.used);
	th_buf_clear(&s->rows);
	if (code == TH_OK && !s->recent_seen) { /* of those who died before */
		code = th_recent_load(w.db, err);
		s->recent_bytes = w.db->recent.bytes;
		s->recent_seen = code == TH_OK;
	}
	for (struct th_batch *b = list; b && code == TH_OK; b = b->next) {
		if (!b->refused)
			code = batch_write(&w, b);
	}
	if (code == TH_OK)
		code = th_sqlite_write_out(&w);
	if (code == TH_OK)
		code = sums_write(&w);
	th_usage_sums_deinit(&w.usage);
	th_usage_sums_deinit(&w.used);
	if (code == TH_OK && s->recent_bytes > TH_STORE_RECENT_MAX)
		code = th_recent_shorten(w.db, &s->recent_bytes, err);
	if (code == TH_OK)
		code = names_sync(s, err);
	if (code == TH_OK)
		code = th_db_run(w.db, TH_SQL_COMMIT, err);
	if (code != TH_OK)
		th_sqlite_forget(s);
	else if (w.next_place > before + 1)
		th_sqlite_mark_write(s, w.next_place - 1);
	return code;
}

enum th_code th_sqlite_write(struct th_sqlite *s, struct th_batch *list, struct th_err *err)
{
	enum th_code code;

	pthread_mutex_lock(&s->writing);
	code = writer_ready(s, list, err);
	if (code == TH_OK)
		code = transact(s, list, err);
	pthread_mutex_unlock(&s->writing);
	return code;
}

void th_sqlite_checkpoint(struct th_sqlite *s)
{
	struct th_err err;

	pthread_mutex_lock(&s->writing);
	if (s->writer.wal_pages >= TH_STORE_WAL_PAGES) {
		s->writer.wal_pages = 0; /* not again before the next commit says so */
		if (sqlite3_wal_checkpoint_v2(s->writer.sqlite, NULL, SQLITE_CHECKPOINT_PASSIVE,
					      NULL, NULL) != SQLITE_OK &&
		    th_db_fail(&s->writer, &err) == TH_EIO)
			th_group_break(&s->group, &err);
	}
	pthread_mutex_unlock(&s->writing);
}
