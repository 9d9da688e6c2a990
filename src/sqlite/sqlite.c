/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sqlite.c - opening and closing.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/files.h"
#include "sqlite/kind.h"
#include "sqlite/sqlite.h"

struct th_sqlite *th_sqlite_of(struct th_store *s)
{
	assert(s && s->kind == &th_store_sqlite);
	return TH_CONTAINER_OF(s, struct th_sqlite, base);
}

static enum th_code group_write(void *ctx, struct th_batch *list, struct th_err *err)
{
	return th_sqlite_write(ctx, list, err);
}

static void group_written(void *ctx)
{
	th_sqlite_checkpoint(ctx);
}

static bool group_sweep(void *ctx)
{
	struct th_sqlite *s = ctx;
	bool more = false;

	if (th_sqlite_sweep(&s->base, &more, NULL) != TH_OK)
		return false;
	if (more)
		th_sqlite_checkpoint(s);
	return more;
}

static const struct th_group_ops group_ops = { group_write, group_written, group_sweep };

static void sqlite_commit(struct th_store *store, struct th_batch *batch, th_commit_fn *done,
			  void *ctx)
{
	th_group_commit(&th_sqlite_of(store)->group, batch, done, ctx);
}

static enum th_code sqlite_commit_now(struct th_store *store, struct th_batch *batch,
				      struct th_err *err)
{
	return th_group_commit_now(&th_sqlite_of(store)->group, batch, err);
}

/* ---- opening and closing ---- */

static void sqlite_close(struct th_store *store)
{
	struct th_sqlite *s = th_sqlite_of(store);

	assert(s->reading == 0);
	th_group_end(&s->group);
	th_sqlite_settle(s);
	th_db_close(&s->reader);
	th_db_close(&s->writer);
	th_db_close(&s->taker);
	th_fd_close(&s->mark_fd);
	th_sweep_end(&s->sweep);
	if (s->owners)
		th_owner_drop(&s->owner, s->owners);
	pthread_mutex_destroy(&s->writing);
	th_group_deinit(&s->group);
	free(s->known);
	th_buf_deinit(&s->rows);
	free(s->owners);
	free(s->path);
	free(s);
}

static char *copy(const char *text, const char *more)
{
	size_t len = strlen(text), more_len = strlen(more);
	char *ret = th_try_alloc(len + more_len + 1);

	if (!ret)
		return NULL;
	memcpy(ret, text, len);
	memcpy(ret + len, more, more_len);
	return ret;
}

static enum th_code check_path(struct th_str path, struct th_err *err)
{
	if (path.len == 0 || memchr(path.ptr, 0, path.len))
		return th_fail(err, TH_EUSAGE,
			       "sqlite: needs the path of a file, as in sqlite:FILE");
	if (path.len > TH_STORE_PATH_MAX)
		return th_fail(err, TH_ELIMIT, "sqlite: the path of a store has at most %d bytes",
			       TH_STORE_PATH_MAX);
	return TH_OK;
}

/* Resolved as far as there is something: all but the last names before the first run. */
static enum th_code sqlite_scope(struct th_str rest, struct th_buf *out, struct th_err *err)
{
	char path[TH_STORE_PATH_MAX + 1], real[TH_PATH_LEN_MAX];
	size_t there = rest.len;
	enum th_code code;

	if ((code = check_path(rest, err)))
		return code;
	memcpy(path, rest.ptr, rest.len);
	path[there] = '\0';
	while (!realpath(there > 0 ? path : ".", real)) {
		if (errno != ENOENT || there == 0)
			return th_fail_errno(err, errno, "%s", path);
		while (there > 0 && path[there - 1] == '/')
			there--;
		while (there > 0 && path[there - 1] != '/')
			there--;
		path[there] = '\0';
	}
	th_buf_add_cstr(out, real);
	if (there < rest.len && !th_str_ends(th_buf_str(out), TH_STR("/")))
		th_buf_add_char(out, '/');
	th_buf_add(out, th_str_sub(rest, there, rest.len));
	return TH_OK;
}

static enum th_code sqlite_open(struct th_str rest, const struct th_store_options *options,
				struct th_store **ret, struct th_err *err)
{
	enum th_db_mode mode = options->read_only ? TH_DB_READ_ONLY
			       : options->create  ? TH_DB_CREATE
						  : TH_DB_READ_WRITE;
	struct th_sqlite *s;
	enum th_code code;
	bool missing;

	if ((code = check_path(rest, err)))
		return code;
	s = th_try_alloc(sizeof(*s));
	if (!s)
		return th_fail_memory(err);
	s->base.kind = &th_store_sqlite;
	s->read_only = options->read_only;
	s->owner = (struct th_owner)TH_OWNER_INIT;
	s->mark_fd = -1;
	th_buf_init_try(&s->rows, TH_RECENT_BYTES_MAX);
	s->reader.busy_ms = s->writer.busy_ms = s->taker.busy_ms =
	    options->busy_ms ?: TH_STORE_BUSY_MS;
	th_group_init(&s->group, &group_ops, s, options->loop);
	pthread_mutex_init(&s->writing, NULL);
	s->path = th_try_alloc(rest.len + 1);
	if (!s->path) {
		sqlite_close(&s->base);
		return th_fail_memory(err);
	}
	memcpy(s->path, rest.ptr, rest.len);
	missing = access(s->path, F_OK) != 0 && errno == ENOENT;
	code = th_db_open(&s->reader, s->path, mode, false, err);
	if (code == TH_OK) {
		/* Who comes by another name must find the same owners. */
		const char *real = sqlite3_db_filename(s->reader.sqlite, "main");

		s->owners = copy(real && *real ? real : s->path, ".owners");
		if (!s->owners)
			code = th_fail_memory(err);
	}
	if (code == TH_OK) {
		if (missing && s->reader.created)
			th_sqlite_mark_forget(s);
		if (!s->read_only)
			code = th_sqlite_mark_check(s, err);
	}
	if (code != TH_OK) {
		sqlite_close(&s->base);
		return code;
	}
	*ret = &s->base;
	return TH_OK;
}

const struct th_store_kind th_store_sqlite = {
	.scheme = "sqlite",
	.summary = "one file, flushed at every commit: sqlite:FILE",
	.scope = sqlite_scope,
	.open = sqlite_open,
	.close = sqlite_close,
	.commit = sqlite_commit,
	.commit_now = sqlite_commit_now,
	.lease = th_lease_alone,
	.lease_many = th_sqlite_lease_many,
	.release = th_release_alone,
	.release_many = th_sqlite_release_many,
	.get = th_sqlite_get,
	.list = th_sqlite_list,
	.read = th_sqlite_read,
	.blob = th_sqlite_blob,
	.usage = th_sqlite_usage,
	.search = th_sqlite_search,
	.remove = th_sqlite_remove,
	.sweep = th_sqlite_sweep,
	.verify = th_sqlite_verify,
};
