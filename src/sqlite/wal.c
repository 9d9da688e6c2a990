/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wal.c - how a commit's bytes reach the log: SQLite writes each page of
 * a transaction in two pieces; these are gathered and written at once when the
 * log is flushed.
 *
 * It is a layer over the default file system, for a connection whose commits
 * all flush (synchronous = FULL): SQLite lets nobody see a page of the log
 * before that flush.  All other files are the layer below's own.
 */
#include <pthread.h>
#include <string.h>

#include "sqlite/sqlite.h"

/* SQLite's own layer takes no more at once. */
_Static_assert(TH_STORE_WAL_BUFFER_MAX < 0x1ffff, "a write of the layer below");

struct log_file {
	sqlite3_file base;
	sqlite3_file *below; /* ours */
	uint8_t *bytes;      /* TH_STORE_WAL_BUFFER_MAX; NULL: no memory, nothing is gathered */
	size_t len;
	sqlite3_int64 at; /* where `bytes` go */
};

static struct log_file *log_of(sqlite3_file *f)
{
	return (struct log_file *)f;
}

static int below_write(struct log_file *l, const void *bytes, size_t len, sqlite3_int64 at)
{
	return l->below->pMethods->xWrite(l->below, bytes, (int)len, at);
}

static int write_gathered(struct log_file *l)
{
	size_t len = l->len;

	l->len = 0; /* also when it fails: SQLite gives the transaction up */
	return len > 0 ? below_write(l, l->bytes, len, l->at) : SQLITE_OK;
}

/* ---- what SQLite calls ---- */

static int on_close(sqlite3_file *f)
{
	struct log_file *l = log_of(f);
	int status = l->below->pMethods->xClose(l->below);

	sqlite3_free(l->below);
	sqlite3_free(l->bytes);
	return status;
}

static int on_read(sqlite3_file *f, void *to, int len, sqlite3_int64 at)
{
	struct log_file *l = log_of(f);
	int status = write_gathered(l);

	return status == SQLITE_OK ? l->below->pMethods->xRead(l->below, to, len, at) : status;
}

static int on_write(sqlite3_file *f, const void *from, int len, sqlite3_int64 at)
{
	struct log_file *l = log_of(f);
	size_t size = (size_t)len;
	int status = SQLITE_OK;

	if (l->len > 0 &&
	    (at != l->at + (sqlite3_int64)l->len || size > TH_STORE_WAL_BUFFER_MAX - l->len))
		status = write_gathered(l);
	if (!l->bytes)
		l->bytes = sqlite3_malloc(TH_STORE_WAL_BUFFER_MAX);
	if (status != SQLITE_OK || !l->bytes || size > TH_STORE_WAL_BUFFER_MAX)
		return status == SQLITE_OK ? below_write(l, from, size, at) : status;
	if (l->len == 0)
		l->at = at;
	memcpy(l->bytes + l->len, from, size);
	l->len += size;
	return SQLITE_OK;
}

static int on_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	struct log_file *l = log_of(f);
	int status = write_gathered(l);

	return status == SQLITE_OK ? l->below->pMethods->xTruncate(l->below, size) : status;
}

static int on_sync(sqlite3_file *f, int flags)
{
	struct log_file *l = log_of(f);
	int status = write_gathered(l);

	return status == SQLITE_OK ? l->below->pMethods->xSync(l->below, flags) : status;
}

static int on_size(sqlite3_file *f, sqlite3_int64 *ret)
{
	struct log_file *l = log_of(f);
	int status = write_gathered(l);

	return status == SQLITE_OK ? l->below->pMethods->xFileSize(l->below, ret) : status;
}

/* SQLite never locks a log. */
static int on_lock(sqlite3_file *f, int level)
{
	(void)f;
	(void)level;
	return SQLITE_OK;
}

static int on_reserved(sqlite3_file *f, int *ret)
{
	(void)f;
	*ret = 0;
	return SQLITE_OK;
}

static int on_control(sqlite3_file *f, int op, void *arg)
{
	struct log_file *l = log_of(f);

	return l->below->pMethods->xFileControl(l->below, op, arg);
}

static int on_sector(sqlite3_file *f)
{
	struct log_file *l = log_of(f);

	return l->below->pMethods->xSectorSize(l->below);
}

static int on_device(sqlite3_file *f)
{
	struct log_file *l = log_of(f);

	return l->below->pMethods->xDeviceCharacteristics(l->below);
}

static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = on_close,
	.xRead = on_read,
	.xWrite = on_write,
	.xTruncate = on_truncate,
	.xSync = on_sync,
	.xFileSize = on_size,
	.xLock = on_lock,
	.xUnlock = on_lock,
	.xCheckReservedLock = on_reserved,
	.xFileControl = on_control,
	.xSectorSize = on_sector,
	.xDeviceCharacteristics = on_device,
};

static int on_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *ret_flags)
{
	sqlite3_vfs *below = vfs->pAppData;
	struct log_file *l = log_of(f);
	int status;

	if (!(flags & SQLITE_OPEN_WAL))
		return below->xOpen(below, name, f, flags, ret_flags);
	*l = (struct log_file){ .below = sqlite3_malloc(below->szOsFile) };
	if (!l->below)
		return SQLITE_NOMEM;
	memset(l->below, 0, (size_t)below->szOsFile);
	status = below->xOpen(below, name, l->below, flags, ret_flags);
	if (status == SQLITE_OK)
		l->base.pMethods = &methods;
	else
		sqlite3_free(l->below); /* nothing is closed then */
	return status;
}

const char *th_wal_vfs(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static sqlite3_vfs vfs;
	static bool registered;

	pthread_mutex_lock(&lock);
	if (!registered) {
		sqlite3_vfs *below = sqlite3_vfs_find(NULL);

		vfs = *below;
		vfs.zName = "thole";
		vfs.pNext = NULL;
		vfs.pAppData = below;
		vfs.szOsFile = TH_MAX(below->szOsFile, (int)sizeof(struct log_file));
		vfs.xOpen = on_open;
		registered = sqlite3_vfs_register(&vfs, 0) == SQLITE_OK;
	}
	pthread_mutex_unlock(&lock);
	return registered ? vfs.zName : NULL;
}
