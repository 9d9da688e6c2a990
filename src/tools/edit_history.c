/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/edit_history.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/files.h"

#define HEAD_SIZE (2 * TH_SHA256_HEX_SIZE + 8) /* "1 0644 " or "0 …", two digests, a newline */
#define KEY_SIZE 32                            /* of a path's digest, in an entry's name */

struct th_seen {
	bool used, exists;
	uint64_t tick;
	struct th_digest path, content;
};

struct th_edit_state *th_editor_state(struct th_tool_env *env)
{
	if (!env->edit)
		env->edit = (struct th_edit_state *)th_alloc(sizeof(*env->edit));
	return env->edit;
}

void th_editor_state_free(struct th_edit_state *s)
{
	if (s)
		free(s->seen);
	free(s);
}

/* ---- what was seen ---- */

static pthread_mutex_t seeing = PTHREAD_MUTEX_INITIALIZER;

static struct th_seen *seen_find(struct th_edit_state *s, const struct th_digest *path,
				 struct th_seen **ret_oldest)
{
	struct th_seen *oldest = &s->seen[0];

	for (size_t i = 0; i < TH_EDIT_SEEN_MAX; i++) {
		struct th_seen *at = &s->seen[i];

		if (at->used && th_digest_eq(&at->path, path))
			return at;
		if (at->tick < oldest->tick)
			oldest = at;
	}
	*ret_oldest = oldest;
	return NULL;
}

void th_seen_put(struct th_tool_env *env, const char *path, const struct th_digest *digest)
{
	struct th_digest key = th_sha256_of(path, strlen(path));
	struct th_edit_state *s = env->edit;
	struct th_seen *at, *oldest;

	if (!s)
		return; /* nobody will ask */
	pthread_mutex_lock(&seeing);
	if (!s->seen)
		s->seen = (struct th_seen *)th_alloc(TH_EDIT_SEEN_MAX * sizeof(*s->seen));
	at = seen_find(s, &key, &oldest);
	if (!at)
		at = oldest;
	*at = (struct th_seen){
		.used = true, .exists = digest != NULL, .tick = ++s->ticks, .path = key
	};
	if (digest)
		at->content = *digest;
	pthread_mutex_unlock(&seeing);
}

enum th_seen_answer th_seen_is(struct th_tool_env *env, const char *path,
			       const struct th_digest *digest)
{
	struct th_digest key = th_sha256_of(path, strlen(path));
	struct th_edit_state *s = env->edit;
	enum th_seen_answer ret = TH_SEEN_NEVER;
	const struct th_seen *at;
	struct th_seen *oldest;

	if (!s)
		return ret;
	pthread_mutex_lock(&seeing);
	at = s->seen ? seen_find(s, &key, &oldest) : NULL;
	if (at)
		ret = at->exists && th_digest_eq(&at->content, digest) ? TH_SEEN_SAME
								       : TH_SEEN_CHANGED;
	pthread_mutex_unlock(&seeing);
	return ret;
}

/* ---- what was replaced ---- */

struct entry {
	char name[64]; /* "SEQ-KEY", both hex */
	uint64_t seq;
	int64_t size;
};

struct entries {
	struct entry list[TH_UNDO_ENTRIES_MAX]; /* oldest first */
	size_t count;
	int64_t bytes;
};

static void key_of(const char *path, char ret[static KEY_SIZE + 1])
{
	struct th_digest digest = th_sha256_of(path, strlen(path));
	char hex[TH_SHA256_HEX_SIZE + 1];

	th_digest_hex(&digest, hex);
	snprintf(ret, KEY_SIZE + 1, "%.*s", KEY_SIZE, hex);
}

static int by_seq(const void *a, const void *b)
{
	uint64_t x = ((const struct entry *)a)->seq, y = ((const struct entry *)b)->seq;

	return x < y ? -1 : x > y;
}

/* What is in the folder; more than can be is not ours, and stays unread. */
static enum th_code entries_read(const struct th_tool_env *env, struct entries *ret,
				 struct th_err *err)
{
	int fd = openat(env->undo_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct stat st;

	ret->count = 0;
	ret->bytes = 0;
	if (!dir) {
		int errnum = errno;

		th_fd_close(&fd);
		return th_fail_errno(err, errnum, "read the folder of past edits");
	}
	for (const struct dirent *d; ret->count < TH_UNDO_ENTRIES_MAX && (d = readdir(dir));) {
		struct entry *e = &ret->list[ret->count];

		if (strlen(d->d_name) != 16 + 1 + KEY_SIZE || d->d_name[16] != '-' ||
		    fstatat(env->undo_fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		*e = (struct entry){ .seq = strtoull(d->d_name, NULL, 16), .size = st.st_size };
		snprintf(e->name, sizeof(e->name), "%s", d->d_name);
		ret->bytes += e->size;
		ret->count++;
	}
	closedir(dir);
	qsort(ret->list, ret->count, sizeof(*ret->list), by_seq);
	return TH_OK;
}

static void entry_remove(const struct th_tool_env *env, struct entries *all, size_t at)
{
	unlinkat(env->undo_fd, all->list[at].name, 0);
	all->bytes -= all->list[at].size;
	all->count--;
	memmove(&all->list[at], &all->list[at + 1], (all->count - at) * sizeof(*all->list));
}

/* Room for one more of `key` with `size` bytes: the oldest go. */
static void make_room(const struct th_tool_env *env, struct entries *all, const char *key,
		      int64_t size)
{
	size_t same = 0, oldest = 0;

	for (size_t i = all->count; i-- > 0;)
		if (!strcmp(all->list[i].name + 17, key)) {
			same++;
			oldest = i;
		}
	if (same >= TH_UNDO_STEPS_MAX)
		entry_remove(env, all, oldest);
	while (all->count > 0 && (all->count >= TH_UNDO_ENTRIES_MAX ||
				  all->bytes + size > (int64_t)TH_UNDO_BYTES_MAX))
		entry_remove(env, all, 0);
}

enum th_code th_undo_push(const struct th_tool_env *env, const struct th_place *p,
			  struct th_str before, const struct th_digest *after, struct th_err *err)
{
	struct entries *all;
	char key[KEY_SIZE + 1], name[64], old[TH_SHA256_HEX_SIZE + 1], new[TH_SHA256_HEX_SIZE + 1];
	char head[HEAD_SIZE + 1];
	TH_CLEANUP(th_fd_close) int fd = -1;
	enum th_code code;

	if (env->undo_fd < 0)
		return th_fail(err, TH_EUNSUPPORTED, "past edits are not kept here");
	all = (struct entries *)th_alloc(sizeof(*all));
	code = entries_read(env, all, err);
	key_of(p->path, key);
	if (!code) {
		make_room(env, all, key, (int64_t)(before.len + HEAD_SIZE));
		uint64_t seq = all->count > 0 ? all->list[all->count - 1].seq + 1 : 1;
		snprintf(name, sizeof(name), "%016" PRIx64 "-%s", seq, key);
	}
	free(all);
	if (code)
		return code;
	th_digest_hex(&p->digest, old);
	th_digest_hex(after, new);
	snprintf(head, sizeof(head), "%d %04o %s%s\n", p->exists ? 1 : 0, (unsigned)p->mode & 0777,
		 old, new);
	fd = openat(env->undo_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return th_fail_errno(err, errno, "keep what is replaced");
	code = th_file_write_fd(fd, th_str_of(head), err);
	if (!code)
		code = th_file_write_fd(fd, before, err);
	if (code)
		unlinkat(env->undo_fd, name, 0);
	return code;
}

struct head {
	bool existed;
	mode_t mode;
	struct th_digest before, after;
};

static bool head_read(struct th_str text, struct head *ret)
{
	if (text.len < HEAD_SIZE || (text.ptr[0] != '0' && text.ptr[0] != '1'))
		return false;
	ret->existed = text.ptr[0] == '1';
	ret->mode = (mode_t)strtoul(text.ptr + 2, NULL, 8) & 0777;
	return th_digest_parse(th_str_sub(text, 7, TH_SHA256_HEX_SIZE), &ret->before) &&
	       th_digest_parse(th_str_sub(text, 7 + TH_SHA256_HEX_SIZE, TH_SHA256_HEX_SIZE),
			       &ret->after);
}

/* Reads one entry; false: it is damaged, or its edit never came, and it is gone. */
static bool entry_open(const struct th_tool_env *env, const struct entry *e,
		       const struct th_place *p, struct head *h, struct th_buf *before)
{
	struct th_buf bytes = TH_BUF_INIT(TH_EDIT_FILE_MAX + HEAD_SIZE);
	TH_CLEANUP(th_fd_close) int fd = openat(env->undo_fd, e->name, O_RDONLY | O_CLOEXEC);
	bool good = fd >= 0 && !th_file_read_fd(fd, bytes.max, &bytes, NULL) &&
		    head_read(th_buf_str(&bytes), h);
	struct th_str content = th_str_sub(th_buf_str(&bytes), HEAD_SIZE, bytes.len);
	struct th_digest digest = th_sha256_of(content.ptr, content.len);
	bool is_after = p->exists && good && th_digest_eq(&p->digest, &h->after);

	if (good && h->existed)
		good = th_digest_eq(&digest, &h->before);
	if (good && !is_after)
		good =
		    h->existed != p->exists || (p->exists && !th_digest_eq(&p->digest, &h->before));
	if (good)
		th_buf_add(before, content);
	else
		unlinkat(env->undo_fd, e->name, 0);
	th_buf_deinit(&bytes);
	return good;
}

enum th_code th_undo_find(const struct th_tool_env *env, const struct th_place *p,
			  struct th_undo *ret, struct th_buf *before, struct th_err *err)
{
	struct entries *all;
	char key[KEY_SIZE + 1];
	struct head h;
	enum th_code code;
	bool found = false;

	if (env->undo_fd < 0)
		return th_fail(err, TH_ENOENT, "past edits are not kept here");
	all = (struct entries *)th_alloc(sizeof(*all));
	code = entries_read(env, all, err);
	key_of(p->path, key);
	for (size_t i = code ? 0 : all->count; i-- > 0 && !found;) {
		if (strcmp(all->list[i].name + 17, key) != 0)
			continue;
		found = entry_open(env, &all->list[i], p, &h, before);
		*ret = (struct th_undo){ .existed = h.existed, .mode = h.mode };
		memcpy(ret->name, all->list[i].name, sizeof(ret->name));
	}
	free(all);
	if (code)
		return code;
	if (!found)
		return th_fail(err, TH_ENOENT, "there is no edit of %s to take back", p->path);
	if (!p->exists || !th_digest_eq(&p->digest, &h.after))
		return th_fail(err, TH_EUSAGE,
			       "%s is not what the last edit made of it: somebody else changed it "
			       "since, and taking the edit back would lose that",
			       p->path);
	return TH_OK;
}

void th_undo_drop(const struct th_tool_env *env, const struct th_undo *u)
{
	unlinkat(env->undo_fd, u->name, 0);
}
