/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the kernel itself, and glibc's allocator by its second name: no dlsym, nothing that could
 * allocate while somebody allocates. */
#undef _FORTIFY_SOURCE   /* makes functions of the same names */
#undef _FILE_OFFSET_BITS /* and this other names of the same functions */
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define X(id, name) name,
static const char *const kind_names[] = { SHIM_KINDS(X) };
#undef X

static atomic_int armed = -1; /* an enum shim_kind */
static atomic_long seen, wanted;
static atomic_bool fired;
static char watched[4096]; /* with a slash at its end; empty: nothing */
static struct shim_counts own_counts;
struct shim_counts *shim_counts = &own_counts;

/* Is this the one?  `lasting`: and all after it. */
static bool fails(enum shim_kind kind, bool lasting)
{
	long nth;

	if (atomic_load_explicit(&armed, memory_order_relaxed) != (int)kind)
		return false;
	nth = atomic_fetch_add(&seen, 1) + 1;
	if (atomic_load(&wanted) == 0 ||
	    (lasting ? nth < atomic_load(&wanted) : nth != atomic_load(&wanted)))
		return false;
	atomic_store(&fired, true);
	return true;
}

void shim_arm(enum shim_kind kind, long nth, const char *folder)
{
	atomic_store(&armed, -1);
	watched[0] = 0;
	if (folder)
		snprintf(watched, sizeof(watched), "%s/", folder);
	atomic_store(&seen, 0);
	atomic_store(&fired, false);
	atomic_store(&wanted, nth);
	atomic_store(&armed, (int)kind);
}

long shim_seen(void)
{
	return atomic_load(&seen);
}

bool shim_fired(void)
{
	return atomic_load(&fired);
}

void shim_off(void)
{
	atomic_store(&armed, -1);
}

/* ---- memory ---- */

static bool no_memory(void)
{
	if (atomic_load_explicit(&armed, memory_order_relaxed) > (int)SHIM_MALLOC_ALL)
		return false;
	if (!fails(SHIM_MALLOC, false) && !fails(SHIM_MALLOC_ALL, true))
		return false;
	errno = ENOMEM;
	return true;
}

#ifdef SHIM_WRAP
/* With a sanitizer, which has an allocator of its own: only what the linker sees of us (--wrap). */
#define ALLOC(name) __wrap_##name
#define REAL(name) __real_##name
#else
#define ALLOC(name) name
#define REAL(name) __libc_##name
#endif
extern void *REAL(malloc)(size_t size);
extern void *REAL(calloc)(size_t count, size_t size);
extern void *REAL(realloc)(void *ptr, size_t size);
void *ALLOC(malloc)(size_t size);
void *ALLOC(calloc)(size_t count, size_t size);
void *ALLOC(realloc)(void *ptr, size_t size);

void *ALLOC(malloc)(size_t size)
{
	return no_memory() ? NULL : REAL(malloc)(size);
}

void *ALLOC(calloc)(size_t count, size_t size)
{
	return no_memory() ? NULL : REAL(calloc)(count, size);
}

void *ALLOC(realloc)(void *ptr, size_t size)
{
	return no_memory() ? NULL : REAL(realloc)(ptr, size);
}

/* ---- files ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool recording;
static struct shim_record *records;
static size_t record_count, record_cap;

/* The file's name below the watched folder, or false. */
static bool name_of(int fd, char name[static 4096])
{
	char link[64];
	ssize_t len;

	if (!watched[0])
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, name, 4095);
	if (len <= 0)
		return false;
	name[len] = 0;
	return strncmp(name, watched, strlen(watched)) == 0;
}

static bool watching(int fd)
{
	char name[4096];

	return (recording ||
		atomic_load_explicit(&armed, memory_order_relaxed) > (int)SHIM_MALLOC_ALL ||
		shim_counts != &own_counts) &&
	       name_of(fd, name);
}

static struct shim_record *record_new(enum shim_act act)
{
	if (record_count == record_cap) {
		record_cap = record_cap ? record_cap * 2 : 256;
		records = REAL(realloc)(records, record_cap * sizeof(*records));
	}
	records[record_count] = (struct shim_record){ .act = act };
	return &records[record_count++];
}

static void note(enum shim_act act, int fd, const void *bytes, uint64_t len, uint64_t at)
{
	struct stat st;
	struct shim_record *r;

	if (!recording || fstat(fd, &st) != 0)
		return;
	pthread_mutex_lock(&lock);
	r = record_new(act);
	r->inode = (uint64_t)st.st_ino;
	r->at = at;
	r->len = len;
	if (bytes) {
		r->bytes = REAL(malloc)(len + 1);
		memcpy(r->bytes, bytes, len);
	}
	pthread_mutex_unlock(&lock);
}

static void note_name(enum shim_act act, int fd, const char *from, const char *to)
{
	struct stat st = { 0 };
	struct shim_record *r;
	size_t skip = strlen(watched);

	if (!recording || strncmp(from, watched, skip) != 0)
		return;
	if (fd >= 0)
		(void)fstat(fd, &st);
	pthread_mutex_lock(&lock);
	r = record_new(act);
	r->inode = (uint64_t)st.st_ino;
	snprintf(r->name, sizeof(r->name), "%s", from + skip);
	if (to && strncmp(to, watched, skip) == 0)
		snprintf(r->to, sizeof(r->to), "%s", to + skip);
	pthread_mutex_unlock(&lock);
}

void shim_record_start(const char *folder)
{
	snprintf(watched, sizeof(watched), "%s/", folder);
	recording = true;
}

void shim_record_mark(uint64_t value)
{
	pthread_mutex_lock(&lock);
	record_new(SHIM_MARK)->at = value;
	pthread_mutex_unlock(&lock);
}

const struct shim_record *shim_record_stop(size_t *ret_count)
{
	recording = false;
	*ret_count = record_count;
	return records;
}

/* May `len` bytes be written?  Fewer may; negative: none, errno is set. */
static ssize_t allowed(size_t len)
{
	static atomic_bool half; /* the next one after half a write */

	atomic_fetch_add(&shim_counts->writes, 1);
	atomic_fetch_add(&shim_counts->bytes, (long)len);
	if (atomic_exchange(&half, false) || fails(SHIM_WRITE_FULL, true) ||
	    fails(SHIM_WRITE_ONCE, false)) {
		errno = ENOSPC;
		return -1;
	}
	if (fails(SHIM_WRITE_IO, false)) {
		errno = EIO;
		return -1;
	}
	if (len > 1 && fails(SHIM_WRITE_SHORT, false)) {
		atomic_store(&half, true);
		return (ssize_t)(len / 2);
	}
	if (len > 1 && fails(SHIM_WRITE_PART, false))
		return (ssize_t)(len / 2);
	return (ssize_t)len;
}

static bool sync_fails(atomic_long *count)
{
	atomic_fetch_add(count, 1);
	if (!fails(SHIM_SYNC, false))
		return false;
	errno = EIO;
	return true;
}

static bool size_fails(void)
{
	if (fails(SHIM_TRUNCATE, false)) {
		errno = EIO;
		return true;
	}
	if (fails(SHIM_TRUNCATE_FULL, false)) {
		errno = ENOSPC;
		return true;
	}
	return false;
}

ssize_t write(int fd, const void *buf, size_t len)
{
	ssize_t may = (ssize_t)len, done;
	bool seen_file = watching(fd);

	if (seen_file)
		may = allowed(len);
	if (may < 0)
		return -1;
	done = syscall(SYS_write, fd, buf, (size_t)may);
	if (seen_file && done > 0)
		note(SHIM_WRITE, fd, buf, (uint64_t)done,
		     (uint64_t)syscall(SYS_lseek, fd, 0L, SEEK_CUR) - (uint64_t)done);
	return done;
}

ssize_t pwrite64(int fd, const void *buf, size_t len, off64_t at)
{
	ssize_t may = (ssize_t)len, done;
	bool seen_file = watching(fd);

	if (seen_file)
		may = allowed(len);
	if (may < 0)
		return -1;
	done = syscall(SYS_pwrite64, fd, buf, (size_t)may, at);
	if (seen_file && done > 0)
		note(SHIM_WRITE, fd, buf, (uint64_t)done, (uint64_t)at);
	return done;
}

ssize_t pwrite(int fd, const void *buf, size_t len, off_t at)
{
	return pwrite64(fd, buf, len, at);
}

ssize_t pwritev64(int fd, const struct iovec *iov, int count, off64_t at)
{
	char *joined;
	size_t len = 0, to = 0;
	ssize_t done;

	if (!watching(fd))
		return syscall(SYS_pwritev, fd, iov, (long)count, at, 0L);
	for (int i = 0; i < count; i++)
		len += iov[i].iov_len;
	joined = REAL(malloc)(len + 1);
	for (int i = 0; i < count; to += iov[i++].iov_len)
		memcpy(joined + to, iov[i].iov_base, iov[i].iov_len);
	done = pwrite64(fd, joined, len, at);
	free(joined);
	return done;
}

ssize_t pwritev(int fd, const struct iovec *iov, int count, off_t at)
{
	return pwritev64(fd, iov, count, at);
}

static int sync_file(int fd, long call, atomic_long *count)
{
	char name[4096];
	bool counted = watching(fd);
	int status;

	if (counted && sync_fails(count))
		return -1;
	status = (int)syscall(call, fd);
	if (counted && status == 0)
		note(SHIM_SYNCED, fd, NULL, 0, 0);
	/* The watched folder itself. */
	else if (recording && status == 0 && !name_of(fd, name) &&
		 strncmp(name, watched, strlen(watched) - 1) == 0 &&
		 strlen(name) + 1 == strlen(watched))
		note(SHIM_FOLDER_SYNCED, fd, NULL, 0, 0);
	return status;
}

int fsync(int fd)
{
	return sync_file(fd, SYS_fsync, &shim_counts->fsyncs);
}

int fdatasync(int fd)
{
	return sync_file(fd, SYS_fdatasync, &shim_counts->fdatasyncs);
}

int ftruncate64(int fd, off64_t size)
{
	int status;

	if (watching(fd) && size_fails())
		return -1;
	status = (int)syscall(SYS_ftruncate, fd, size);
	if (status == 0 && watching(fd))
		note(SHIM_SIZE, fd, NULL, 0, (uint64_t)size);
	return status;
}

int ftruncate(int fd, off_t size)
{
	return ftruncate64(fd, size);
}

int fallocate64(int fd, int mode, off64_t at, off64_t len)
{
	int status;

	if (watching(fd) && size_fails())
		return -1;
	status = (int)syscall(SYS_fallocate, fd, mode, at, len);
	if (status == 0 && watching(fd) && mode == 0)
		note(SHIM_SIZE, fd, NULL, 1, (uint64_t)(at + len)); /* len 1: grows only */
	return status;
}

int fallocate(int fd, int mode, off_t at, off_t len)
{
	return fallocate64(fd, mode, at, len);
}

/* Names, for the recording only. */
static int opened(int fd, int flags)
{
	char name[4096];
	struct stat st;

	if (fd >= 0 && recording && (flags & (O_CREAT | O_TRUNC)) && name_of(fd, name) &&
	    fstat(fd, &st) == 0) {
		if (flags & O_CREAT)
			note_name(SHIM_OPEN, fd, name, NULL);
		if ((flags & O_TRUNC) || st.st_size == 0)
			note(SHIM_SIZE, fd, NULL, 0, 0);
	}
	return fd;
}

#define MODE(flags)                                  \
	({                                           \
		mode_t mode_ = 0;                    \
		va_list ap_;                         \
		va_start(ap_, flags);                \
		if ((flags)&O_CREAT)                 \
			mode_ = va_arg(ap_, mode_t); \
		va_end(ap_);                         \
		mode_;                               \
	})

int open(const char *path, int flags, ...)
{
	return opened((int)syscall(SYS_openat, AT_FDCWD, path, flags, MODE(flags)), flags);
}

int open64(const char *path, int flags, ...)
{
	return opened((int)syscall(SYS_openat, AT_FDCWD, path, flags | O_LARGEFILE, MODE(flags)),
		      flags);
}

int openat(int dir, const char *path, int flags, ...)
{
	return opened((int)syscall(SYS_openat, dir, path, flags, MODE(flags)), flags);
}

int rename(const char *from, const char *to)
{
	int status = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);

	if (status == 0)
		note_name(SHIM_RENAME, -1, from, to);
	return status;
}

int unlink(const char *path)
{
	int status = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);

	if (status == 0)
		note_name(SHIM_UNLINK, -1, path, NULL);
	return status;
}

/* ---- preloaded ---- */

static void counts_share(const char *path)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *map;

	if (fd < 0 || syscall(SYS_ftruncate, fd, sizeof(*shim_counts)) != 0)
		return;
	map = mmap(NULL, sizeof(*shim_counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map != MAP_FAILED)
		shim_counts = map;
	close(fd);
}

__attribute__((constructor)) static void told(void)
{
	const char *folder = getenv("SHIM_FOLDER"), *fail = getenv("SHIM_FAIL");
	const char *counts = getenv("SHIM_COUNTS");

	if (folder)
		snprintf(watched, sizeof(watched), "%s/", folder);
	if (counts)
		counts_share(counts);
	for (int i = 0; fail && i < SHIM_KIND_COUNT; i++) {
		size_t len = strlen(kind_names[i]);

		if (strncmp(fail, kind_names[i], len) == 0 && fail[len] == ':')
			shim_arm((enum shim_kind)i, strtol(fail + len + 1, NULL, 10), folder);
	}
}
