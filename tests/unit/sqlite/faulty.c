/* SPDX-License-Identifier: Apache-2.0 */
#include "faulty.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static sqlite3_vfs faulty, *real;
static atomic_int planned = -1, left, good, main_syncs, log_writes;

struct file {
	sqlite3_file base;
	sqlite3_file *real; /* behind it */
	bool is_main, is_log;
};

static sqlite3_file *real_of(sqlite3_file *f)
{
	return ((struct file *)f)->real;
}

static bool fails(enum fault fault)
{
	if (atomic_load(&planned) != (int)fault)
		return false;
	if (atomic_load(&left) <= 0)
		return atomic_load(&good);
	return atomic_fetch_sub(&left, 1) == 1;
}

void faulty_set(enum fault fault, int n, int for_good)
{
	atomic_store(&planned, -1);
	atomic_store(&good, for_good);
	atomic_store(&left, n);
	if (n > 0)
		atomic_store(&planned, (int)fault);
}

int faulty_main_syncs(void)
{
	return atomic_load(&main_syncs);
}

int faulty_log_writes(void)
{
	return atomic_load(&log_writes);
}

int faulty_left(void)
{
	return atomic_load(&left);
}

static int on_close(sqlite3_file *f)
{
	return real_of(f)->pMethods->xClose(real_of(f));
}

static int on_read(sqlite3_file *f, void *to, int len, sqlite3_int64 at)
{
	if (fails(FAULT_READ)) {
		errno = EIO;
		return SQLITE_IOERR_READ;
	}
	return real_of(f)->pMethods->xRead(real_of(f), to, len, at);
}

static int on_write(sqlite3_file *f, const void *from, int len, sqlite3_int64 at)
{
	if (((struct file *)f)->is_log)
		atomic_fetch_add(&log_writes, 1);
	if (fails(FAULT_WRITE_IO)) {
		errno = EIO;
		return SQLITE_IOERR_WRITE;
	}
	if (fails(FAULT_WRITE_FULL)) {
		errno = ENOSPC;
		return SQLITE_FULL;
	}
	if (fails(FAULT_WRITE_SHORT)) {
		real_of(f)->pMethods->xWrite(real_of(f), from, len / 2, at);
		errno = ENOSPC;
		return SQLITE_FULL;
	}
	return real_of(f)->pMethods->xWrite(real_of(f), from, len, at);
}

static int on_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	if (fails(FAULT_TRUNCATE)) {
		errno = EIO;
		return SQLITE_IOERR_TRUNCATE;
	}
	return real_of(f)->pMethods->xTruncate(real_of(f), size);
}

static int on_sync(sqlite3_file *f, int flags)
{
	if (fails(FAULT_SYNC)) {
		errno = EIO;
		return SQLITE_IOERR_FSYNC;
	}
	if (((struct file *)f)->is_main)
		atomic_fetch_add(&main_syncs, 1);
	return real_of(f)->pMethods->xSync(real_of(f), flags);
}

static int on_size(sqlite3_file *f, sqlite3_int64 *ret)
{
	return real_of(f)->pMethods->xFileSize(real_of(f), ret);
}

static int on_lock(sqlite3_file *f, int level)
{
	return real_of(f)->pMethods->xLock(real_of(f), level);
}

static int on_unlock(sqlite3_file *f, int level)
{
	return real_of(f)->pMethods->xUnlock(real_of(f), level);
}

static int on_reserved(sqlite3_file *f, int *ret)
{
	return real_of(f)->pMethods->xCheckReservedLock(real_of(f), ret);
}

static int on_control(sqlite3_file *f, int op, void *arg)
{
	return real_of(f)->pMethods->xFileControl(real_of(f), op, arg);
}

static int on_sector(sqlite3_file *f)
{
	return real_of(f)->pMethods->xSectorSize(real_of(f));
}

static int on_device(sqlite3_file *f)
{
	return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
}

static int on_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **ret)
{
	return real_of(f)->pMethods->xShmMap(real_of(f), page, size, extend, ret);
}

static int on_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
	return real_of(f)->pMethods->xShmLock(real_of(f), offset, n, flags);
}

static void on_shm_barrier(sqlite3_file *f)
{
	real_of(f)->pMethods->xShmBarrier(real_of(f));
}

static int on_shm_unmap(sqlite3_file *f, int remove)
{
	return real_of(f)->pMethods->xShmUnmap(real_of(f), remove);
}

static const sqlite3_io_methods methods = {
	.iVersion = 2,
	.xClose = on_close,
	.xRead = on_read,
	.xWrite = on_write,
	.xTruncate = on_truncate,
	.xSync = on_sync,
	.xFileSize = on_size,
	.xLock = on_lock,
	.xUnlock = on_unlock,
	.xCheckReservedLock = on_reserved,
	.xFileControl = on_control,
	.xSectorSize = on_sector,
	.xDeviceCharacteristics = on_device,
	.xShmMap = on_shm_map,
	.xShmLock = on_shm_lock,
	.xShmBarrier = on_shm_barrier,
	.xShmUnmap = on_shm_unmap,
};

static int on_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *ret_flags)
{
	struct file *file = (struct file *)f;
	int status;

	(void)vfs;
	file->real = (sqlite3_file *)(file + 1);
	file->is_main = flags & SQLITE_OPEN_MAIN_DB;
	file->is_log = flags & SQLITE_OPEN_WAL;
	status = real->xOpen(real, name, file->real, flags, ret_flags);
	file->base.pMethods = file->real->pMethods ? &methods : NULL;
	return status;
}

static sqlite3_mem_methods real_memory;

static void *on_malloc(int size)
{
	return fails(FAULT_MALLOC) ? NULL : real_memory.xMalloc(size);
}

static void *on_realloc(void *ptr, int size)
{
	return fails(FAULT_MALLOC) ? NULL : real_memory.xRealloc(ptr, size);
}

void faulty_install(void)
{
	sqlite3_mem_methods memory;

	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory);
	memory = real_memory;
	memory.xMalloc = on_malloc;
	memory.xRealloc = on_realloc;
	sqlite3_config(SQLITE_CONFIG_MALLOC, &memory);
	real = sqlite3_vfs_find(NULL);
	faulty = *real;
	faulty.zName = "faulty";
	faulty.pNext = NULL;
	faulty.szOsFile += (int)sizeof(struct file);
	faulty.xOpen = on_open;
	sqlite3_vfs_register(&faulty, 1);
}
