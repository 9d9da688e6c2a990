/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark.c - the note beside the database.
 *
 * A log cut short (the -wal file lost its end, or an old copy came back) looks
 * like an older store.  So the last acknowledged place is noted outside it,
 * without a flush: after a power cut the note may be old, never too new.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "io/files.h"
#include "sqlite/sqlite.h"

static void mark_path(const struct th_sqlite *s, char path[static TH_PATH_LEN_MAX])
{
	snprintf(path, TH_PATH_LEN_MAX, "%s/last", s->owners);
}

void th_sqlite_mark_write(struct th_sqlite *s, uint64_t place)
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

enum th_code th_db_last(struct th_db *db, enum th_statement id, uint64_t *ret, struct th_err *err)
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
			      id == TH_SQL_LAST_PLACE    ? "event's place is wrong"
			      : id == TH_SQL_LAST_NUMBER ? "session's number is wrong"
							 : "removed session's number is wrong");
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
	code = th_db_last(&s->reader, TH_SQL_LAST_PLACE, &place, err);
	if (code != TH_OK || place >= mark)
		return code;
	return th_fail(
	    err, TH_ECORRUPT,
	    "%s ends at event %llu of the store, but %llu was acknowledged: its -wal file was "
	    "cut, or this is an older copy; to go on with what is left, remove %s",
	    s->path, (unsigned long long)place, mark, path);
}
