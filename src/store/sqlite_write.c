/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sqlite_write.c - transactions: batches of appends on the writer connection,
 * leases on the reader's.  `writing` keeps the two of this process apart;
 * SQLite's lock keeps processes apart.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "io/files.h"
#include "store/sqlite.h"

/* One transaction: where its next event goes. */
struct writing {
	struct th_sqlite *s;
	struct th_db *db;
	uint64_t next_place, next_number; /* next_number: 0 until it is needed */
	struct th_err *err;
};

/* ---- being usable ---- */

static void set_broken(struct th_sqlite *s, const struct th_err *err)
{
	pthread_mutex_lock(&s->lock);
	if (!s->broken) {
		s->broken = true;
		s->broken_err = *err;
	}
	pthread_mutex_unlock(&s->lock);
}

enum th_code th_sqlite_usable(struct th_sqlite *s, struct th_err *err)
{
	enum th_code code = TH_OK;

	pthread_mutex_lock(&s->lock);
	if (s->broken)
		code = th_fail(err, TH_EIO, "the store is closed to everything after: %s",
			       s->broken_err.msg);
	pthread_mutex_unlock(&s->lock);
	return code;
}

static enum th_code writable(struct th_sqlite *s, struct th_err *err)
{
	if (s->read_only)
		return th_fail(err, TH_EPERM, "%s was opened for reading only", s->path);
	return th_sqlite_usable(s, err);
}

/* ---- the note beside the database ---- */

/*
 * A log cut short (the -wal file lost its end, or an old copy came back) looks
 * like an older store.  So the last acknowledged place is noted outside it,
 * without a flush: after a power cut the note may be old, never too new.
 */
static void mark_path(const struct th_sqlite *s, char path[static TH_PATH_LEN_MAX])
{
	snprintf(path, TH_PATH_LEN_MAX, "%s/last", s->owners);
}

static void mark_write(struct th_sqlite *s, uint64_t place)
{
	char path[TH_PATH_LEN_MAX], text[32];
	int len;

	if (s->mark_fd < 0) {
		mark_path(s, path);
		s->mark_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	}
	len = snprintf(text, sizeof(text), "%020llu\n", (unsigned long long)place);
	/* What cannot be noted cannot be missed. */
	if (s->mark_fd >= 0 && pwrite(s->mark_fd, text, (size_t)len, 0) != len)
		th_fd_close(&s->mark_fd);
}

/* The largest place or number, or 0. */
static enum th_code last_of(struct th_db *db, enum th_statement id, uint64_t *ret,
			    struct th_err *err)
{
	sqlite3_stmt *st = th_db_get(db, id);
	int status = th_db_step(db, st, err);
	bool good = true;

	*ret = 0;
	if (status < 0)
		return (enum th_code)status;
	if (status == 1 && sqlite3_column_type(st, 0) != SQLITE_NULL)
		good = th_column_u64(st, 0, ret) && *ret < INT64_MAX / 2;
	sqlite3_reset(st);
	return good ? TH_OK
		    : th_fail(err, TH_ECORRUPT, "%s is damaged: the last %s", db->path,
			      id == TH_SQL_LAST_PLACE ? "event's place is wrong"
						      : "session's number is wrong");
}

void th_sqlite_mark_forget(struct th_sqlite *s)
{
	char path[TH_PATH_LEN_MAX];

	mark_path(s, path);
	(void)unlink(path);
}

enum th_code th_sqlite_mark_check(struct th_sqlite *s, struct th_err *err)
{
	char path[TH_PATH_LEN_MAX], text[32] = "";
	uint64_t place;
	unsigned long long mark = 0;
	enum th_code code;
	ssize_t len;
	int fd;

	mark_path(s, path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return TH_OK;
	len = read(fd, text, sizeof(text) - 1);
	th_fd_close(&fd);
	if (len <= 0 || sscanf(text, "%20llu", &mark) != 1)
		return TH_OK;
	code = last_of(&s->reader, TH_SQL_LAST_PLACE, &place, err);
	if (code != TH_OK || place >= mark)
		return code;
	return th_fail(
	    err, TH_ECORRUPT,
	    "%s ends at event %llu of the store, but %llu was acknowledged: its -wal file was "
	    "cut, or this is an older copy; to go on with what is left, remove %s",
	    s->path, (unsigned long long)place, mark, path);
}

/* ---- appending ---- */

static enum th_code event_insert(struct writing *w, const struct th_append *a, size_t i,
				 uint64_t prev)
{
	const struct th_event *ev = &a->events[i];
	sqlite3_stmt *st = th_db_get(w->db, TH_SQL_EVENT_INSERT);
	int status;

	if (st) {
		th_bind_u64(st, 1, w->next_place++);
		th_bind_str(st, 2, a->row->session_id);
		th_bind_u64(st, 3, ev->seq);
		th_bind_u64(st, 4, prev);
		sqlite3_bind_int64(st, 5, ev->ts_ms);
		th_bind_blob(st, 6, ev->id.bytes, sizeof(ev->id.bytes));
		th_bind_str(st, 7, th_str_of(th_source_name(ev->source)));
		th_bind_str(st, 8, th_str_of(th_event_name(ev->kind)));
		th_bind_u64(st, 9, ev->cause);
		th_bind_str(st, 10, ev->call);
		th_bind_str(st, 11, ev->data);
		th_bind_str(st, 12, ev->build);
		th_bind_blob(st, 13, a->digests[i].bytes, sizeof(a->digests[i].bytes));
	}
	status = th_db_step(w->db, st, w->err);
	return status < 0 ? (enum th_code)status : TH_OK;
}

/* Where a session is, as the database or our memory has it. */
struct spot {
	uint64_t number, place;
};

/* Writes the row over the one that is at `spot`, if that is what the append was made for.  1: it
 * was; 0: it was not; or a code. */
static int row_update(struct writing *w, const struct th_append *a, struct spot spot)
{
	sqlite3_stmt *st = th_db_get(w->db, TH_SQL_SESSION_UPDATE);
	uint64_t place = a->event_count > 0 ? w->next_place : spot.place;
	struct th_placed_row r = { *a->row, spot.number, place };
	int status;

	r.row.owner = th_str_of(w->s->owner.name);
	if (st) {
		th_session_bind(st, &r);
		th_bind_u64(st, 24, spot.place);
		th_bind_u64(st, 25, a->seq_before);
		th_bind_blob(st, 26, a->head_before.bytes, sizeof(a->head_before.bytes));
	}
	status = th_db_step(w->db, st, w->err);
	return status < 0 ? status : sqlite3_changes(w->db->sqlite) == 1;
}

static enum th_code row_insert(struct writing *w, const struct th_append *a, struct spot *ret)
{
	sqlite3_stmt *st;
	struct th_placed_row r = { .row = *a->row, .last_place = w->next_place };
	enum th_code code = TH_OK;
	int status;

	if (w->next_number == 0) {
		code = last_of(w->db, TH_SQL_LAST_NUMBER, &w->next_number, w->err);
		w->next_number++;
	}
	if (code != TH_OK)
		return code;
	*ret = (struct spot){ .number = w->next_number };
	r.number = w->next_number++;
	r.row.owner = th_str_of(w->s->owner.name);
	st = th_db_get(w->db, TH_SQL_SESSION_INSERT);
	if (st)
		th_session_bind(st, &r);
	status = th_db_step(w->db, st, w->err);
	return status < 0 ? (enum th_code)status : TH_OK;
}

/* What is there of the session now; 1, 0: no such session, or a code. */
static int head_get(struct writing *w, const struct th_append *a, enum th_code *ret_result,
		    struct spot *ret)
{
	sqlite3_stmt *st = th_db_get(w->db, TH_SQL_SESSION_HEAD);
	struct th_str owner = {};
	struct th_digest head;
	uint64_t head_seq = 0;
	int64_t epoch = 0;
	int status;

	if (st)
		th_bind_str(st, 2, a->row->session_id);
	status = th_db_step(w->db, st, w->err);
	if (status != 1)
		return status;
	if (!th_column_u64(st, 0, &ret->number) || !th_column_i64(st, 1, &epoch) ||
	    !th_column_str(st, 2, &owner) || !th_column_u64(st, 3, &head_seq) ||
	    !th_column_bytes(st, 4, head.bytes, sizeof(head.bytes)) ||
	    !th_column_u64(st, 5, &ret->place) || ret->place >= w->next_place)
		*ret_result = TH_ECORRUPT;
	else if (epoch != a->row->epoch || head_seq != a->seq_before || owner.len == 0 ||
		 !th_str_is(owner, w->s->owner.name) || !th_digest_eq(&head, &a->head_before))
		*ret_result = TH_EFENCED;
	else
		*ret_result = TH_OK;
	sqlite3_reset(st);
	return 1;
}

/* May the session begin with this?  In *ret_result. */
static enum th_code fork_check(struct writing *w, const struct th_append *a,
			       enum th_code *ret_result)
{
	struct th_digest digest;
	size_t depth = 0;
	enum th_code code;

	if (a->row->parent.len == 0)
		return TH_OK;
	code = th_db_digest_at(w->db, a->row->parent, a->row->parent_seq, &digest, &depth, w->err);
	if (code == TH_ENOENT || code == TH_ECORRUPT) {
		*ret_result = code;
		return TH_OK;
	}
	if (code == TH_OK && !th_digest_eq(&digest, &a->head_before))
		*ret_result = TH_EFENCED;
	else if (code == TH_OK && depth > TH_FORK_DEPTH_MAX)
		*ret_result = TH_ELIMIT;
	return code;
}

/* The row, after a look at what is there.  a->result says whether it was written. */
static enum th_code row_write(struct writing *w, struct th_append *a, struct spot *ret)
{
	int found = head_get(w, a, &a->result, ret);
	enum th_code code = TH_OK;

	if (found < 0)
		return (enum th_code)found;
	if (a->create)
		a->result = found ? TH_EEXIST : TH_OK;
	else if (!found)
		a->result = TH_ENOENT;
	if (a->create && a->result == TH_OK)
		code = fork_check(w, a, &a->result);
	if (code != TH_OK || a->result != TH_OK)
		return code;
	if (a->create)
		return row_insert(w, a, ret);
	found = row_update(w, a, *ret);
	if (found == 0) /* one of the columns has another type than the value that was compared */
		a->result = TH_ECORRUPT;
	return found < 0 ? (enum th_code)found : TH_OK;
}

/* Says in a->result what became of it; the code is for what ends the transaction. */
static enum th_code append_write(struct writing *w, struct th_append *a)
{
	struct th_str id = a->row->session_id;
	struct th_place_kept *kept;
	struct spot spot = {};
	enum th_code code = TH_OK;
	uint64_t hash;
	int written = 0;

	a->result = th_append_check(a);
	if (a->result != TH_OK)
		return TH_OK;
	hash = th_hash64(id.ptr, id.len);
	kept = &w->s->places[hash % TH_PLACES_KEPT];
	/* The usual case in one statement: we wrote to this session before and hold it still. */
	if (!a->create && kept->number > 0 && kept->hash == hash) {
		spot = (struct spot){ kept->number, kept->place };
		written = row_update(w, a, spot);
	}
	if (written == 0)
		code = row_write(w, a, &spot);
	if (written < 0 || code != TH_OK || a->result != TH_OK)
		return written < 0 ? (enum th_code)written : code;
	*kept = (struct th_place_kept){ hash, spot.number,
					a->event_count > 0 ? w->next_place : spot.place };
	for (size_t i = 0; i < a->event_count && code == TH_OK; i++)
		code = event_insert(w, a, i, spot.place);
	return code;
}

static enum th_code blob_write(struct writing *w, const struct th_blob *b)
{
	sqlite3_stmt *st = th_db_get(w->db, TH_SQL_BLOB_FIND);
	int status;

	if (st)
		th_bind_blob(st, 1, b->hash.bytes, sizeof(b->hash.bytes));
	status = th_db_step(w->db, st, w->err);
	if (status == 1)
		sqlite3_reset(st);
	if (status != 0)
		return status < 0 ? (enum th_code)status : TH_OK;
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

static enum th_code batch_write(struct writing *w, struct th_batch *b)
{
	enum th_code code = TH_OK;

	for (size_t i = 0; i < b->blob_count && code == TH_OK; i++)
		code = blob_write(w, &b->blobs[i]);
	for (size_t i = 0; i < b->append_count && code == TH_OK; i++)
		code = append_write(w, &b->appends[i]);
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

static enum th_code writer_ready(struct th_sqlite *s, const struct th_batch *list,
				 struct th_err *err)
{
	enum th_code code = writable(s, err);

	if (code == TH_OK && !s->places) {
		s->places = th_try_alloc(TH_PLACES_KEPT * sizeof(*s->places));
		if (!s->places)
			code = th_fail(err, TH_ENOMEM, "out of memory");
	}
	if (code == TH_OK && !s->writer.sqlite)
		code = th_db_open(&s->writer, s->path, TH_DB_READ_WRITE, true, err);
	if (code == TH_OK && creates(list))
		code = th_owner_take(&s->owner, s->owners, err);
	return code;
}

/* All of `list` in one transaction. */
static enum th_code transact(struct th_sqlite *s, struct th_batch *list, struct th_err *err)
{
	struct writing w = { .s = s, .db = &s->writer, .err = err };
	uint64_t before = 0;
	enum th_code code = th_db_run(w.db, TH_SQL_BEGIN_IMMEDIATE, err);

	if (code == TH_OK)
		code = last_of(w.db, TH_SQL_LAST_PLACE, &before, err);
	w.next_place = before + 1;
	for (struct th_batch *b = list; b && code == TH_OK; b = b->next) {
		if (!b->refused)
			code = batch_write(&w, b);
	}
	if (code == TH_OK)
		code = names_sync(s, err);
	if (code == TH_OK)
		code = th_db_run(w.db, TH_SQL_COMMIT, err);
	if (code != TH_OK)
		th_db_rollback(w.db);
	else if (w.next_place > before + 1)
		mark_write(s, w.next_place - 1);
	return code;
}

static void settle(struct th_batch *b, enum th_code code, const struct th_err *err)
{
	if (!b->refused) {
		b->code = code;
		b->err = *err;
	}
	if (b->code == TH_OK)
		return;
	for (size_t i = 0; i < b->append_count; i++)
		b->appends[i].result = b->code;
}

static enum th_code write_list(struct th_sqlite *s, struct th_batch *list)
{
	struct th_err err = {};
	enum th_code code = writer_ready(s, list, &err);

	if (code == TH_OK)
		code = transact(s, list, &err);
	if (code == TH_EIO)
		set_broken(s, &err);
	for (struct th_batch *b = list; b; b = b->next)
		settle(b, code, &err);
	return code;
}

void th_sqlite_write(struct th_sqlite *s, struct th_batch *list)
{
	enum th_code code;

	pthread_mutex_lock(&s->writing);
	code = write_list(s, list);
	/* One that is too large for the disk must not keep the others out. */
	if (list->next && (code == TH_ELIMIT || code == TH_ENOMEM || code == TH_ECORRUPT)) {
		for (struct th_batch *b = list, *next; b; b = next) {
			next = b->next;
			b->next = NULL;
			(void)write_list(s, b);
			b->next = next;
		}
	}
	pthread_mutex_unlock(&s->writing);
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
			set_broken(s, &err);
	}
	pthread_mutex_unlock(&s->writing);
}

/* ---- leases ---- */

static enum th_code lease_check(struct th_sqlite *s, const struct th_session_row *row,
				struct th_err *err)
{
	enum th_code code;

	if (row->owner.len == 0 || th_str_is(row->owner, s->owner.name))
		return TH_OK;
	code = th_owner_check(s->owners, row->owner, err);
	if (code != TH_OK)
		return th_prefix(err, code, "session %s is held by another runtime",
				 th_session_shown(row->session_id).text);
	return TH_OK;
}

static enum th_code lease_set(struct th_db *db, struct th_placed_row *r, struct th_err *err)
{
	sqlite3_stmt *st = th_db_get(db, TH_SQL_SESSION_LEASE);
	int status;

	if (st) {
		th_bind_u64(st, 1, r->number);
		sqlite3_bind_int64(st, 2, r->row.epoch);
		th_bind_str(st, 3, r->row.owner);
		sqlite3_bind_int64(st, 4, th_session_row_crc(&r->row, r->number, r->last_place));
	}
	status = th_db_step(db, st, err);
	return status < 0 ? (enum th_code)status : TH_OK;
}

/* The row as stored, strings in the arena. */
static enum th_code row_get(struct th_db *db, struct th_str id, struct th_arena *a,
			    struct th_placed_row *ret, struct th_err *err)
{
	sqlite3_stmt *st = th_db_get(db, TH_SQL_SESSION_GET);
	enum th_code code = TH_OK;
	const char *bad;
	int status;

	if (st)
		th_bind_str(st, 1, id);
	status = th_db_step(db, st, err);
	if (status < 0)
		return (enum th_code)status;
	if (status == 0)
		return th_fail_no_session(err, id);
	bad = th_session_column(st, ret);
	if (bad)
		code = th_fail(err, TH_ECORRUPT, "%s is damaged: session %s: %s", db->path,
			       th_session_shown(id).text, bad);
	else
		code = th_row_keep(a, &ret->row, err);
	sqlite3_reset(st);
	return code;
}

static enum th_code lease_one(struct th_sqlite *s, struct th_str id, struct th_arena *a,
			      struct th_session_row *ret, struct th_err *err)
{
	struct th_placed_row r = {};
	enum th_code code = row_get(&s->reader, id, a, &r, err);

	if (code == TH_OK)
		code = lease_check(s, &r.row, err);
	if (code != TH_OK)
		return code;
	r.row.epoch++;
	r.row.owner = th_arena_str(a, th_str_of(s->owner.name));
	if (!r.row.owner.ptr)
		return th_fail(err, TH_ELIMIT, "rows of sessions take more than %zu bytes", a->max);
	*ret = r.row;
	return lease_set(&s->reader, &r, err);
}

/* What belongs to one session only, and lets the others go on. */
static bool of_one(enum th_code code)
{
	return code == TH_OK || code == TH_EBUSY || code == TH_ENOENT;
}

enum th_code th_sqlite_lease_many(struct th_store *store, const struct th_str *ids, size_t count,
				  struct th_arena *a, struct th_session_row *rows,
				  enum th_code *codes, struct th_err *err)
{
	struct th_sqlite *s = th_sqlite_of(store);
	struct th_err local;
	enum th_code code;

	if (!err)
		err = &local;
	code = writable(s, err);
	assert(s->reading == 0 && "no lease from inside a callback of list or read");
	if (code != TH_OK)
		return code;
	pthread_mutex_lock(&s->writing);
	code = th_owner_take(&s->owner, s->owners, err);
	if (code == TH_OK)
		code = th_db_run(&s->reader, TH_SQL_BEGIN_IMMEDIATE, err);
	for (size_t i = 0; i < count && code == TH_OK; i++) {
		codes[i] = lease_one(s, ids[i], a, &rows[i], err);
		if (!of_one(codes[i]))
			code = codes[i];
	}
	if (code == TH_OK)
		code = th_db_run(&s->reader, TH_SQL_COMMIT, err);
	if (code != TH_OK)
		th_db_rollback(&s->reader);
	if (code == TH_EIO)
		set_broken(s, err);
	pthread_mutex_unlock(&s->writing);
	return code;
}

enum th_code th_sqlite_lease(struct th_store *store, struct th_str id, struct th_arena *a,
			     struct th_session_row *ret, struct th_err *err)
{
	enum th_code code = TH_OK;
	enum th_code all = th_sqlite_lease_many(store, &id, 1, a, ret, &code, err);

	return all != TH_OK ? all : code;
}

enum th_code th_sqlite_release(struct th_store *store, struct th_str id, int64_t epoch,
			       struct th_err *err)
{
	struct th_sqlite *s = th_sqlite_of(store);
	struct th_arena a TH_CLEANUP(th_arena_deinit);
	struct th_placed_row r = {};
	enum th_code code = writable(s, err);

	assert(s->reading == 0 && "no release from inside a callback of list or read");
	th_arena_init(&a, TH_EVENT_DATA_MAX * 2);
	if (code != TH_OK)
		return code;
	pthread_mutex_lock(&s->writing);
	code = th_db_run(&s->reader, TH_SQL_BEGIN_IMMEDIATE, err);
	if (code == TH_OK)
		code = row_get(&s->reader, id, &a, &r, err);
	if (code == TH_OK && (r.row.epoch != epoch || !th_str_is(r.row.owner, s->owner.name)))
		code = th_fail_fenced(err, id, epoch);
	r.row.epoch++;
	r.row.owner = TH_STR("");
	if (code == TH_OK)
		code = lease_set(&s->reader, &r, err);
	if (code == TH_OK)
		code = th_db_run(&s->reader, TH_SQL_COMMIT, err);
	if (code != TH_OK)
		th_db_rollback(&s->reader);
	pthread_mutex_unlock(&s->writing);
	return code;
}
