/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sqlite.c - the suite on files, and what only files can suffer: kills,
 * full and failing disks, other processes, other people's files.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../store/lab.h"
#include "base/limits.h"
#include "faulty.h"
#include "io/files.h"
#include "sqlite/sqlite.h"

#define err lab_err
static char folder[32];
static int number;

static const char *url_of(int n)
{
	static char urls[4][128]; /* used in turn */
	static unsigned turn;
	char *url = urls[turn++ % 4];

	snprintf(url, sizeof(urls[0]), "sqlite:%s/%d.db", folder, n);
	return url;
}

static const char *path_of(int n)
{
	return url_of(n) + strlen("sqlite:");
}

static const char *fresh(void)
{
	return url_of(++number);
}

static const struct lab_kind kind = { fresh };

static int setup(void **state)
{
	(void)state;
	lab_kind = &kind;
	faulty_install();
	signal(SIGXFSZ, SIG_IGN);
	/* In memory where there is such a place: the tests are not about the disk's speed. */
	snprintf(folder, sizeof(folder), "%s/th-store-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(folder));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return th_dir_remove(folder, &err) == TH_OK ? 0 : -1;
}

static bool torture(void)
{
	return getenv("TH_TORTURE") != NULL;
}

/* ---- killed ---- */

#define KILL_LOGS 6

struct victim {
	struct th_store *s;
	struct th_loop *loop;
	int acknowledge;
	struct lab_log logs[KILL_LOGS];
	struct lab_append a[2][KILL_LOGS]; /* two batches under way at a time */
	struct th_append appends[2][KILL_LOGS];
	struct th_batch batches[2];
	struct th_blob blobs[2];
	char blob_text[2][32];
	unsigned seed;
};

static void victim_commit(struct victim *v, size_t turn);

static void victim_done(void *ctx, struct th_batch *batch, enum th_code code,
			const struct th_err *ret)
{
	struct victim *v = ctx;
	size_t turn = batch == &v->batches[1];
	uint64_t seq = v->appends[turn][0].row->head_seq;

	(void)ret;
	if (code != TH_OK)
		_exit(3);
	if (write(v->acknowledge, &seq, sizeof(seq)) != sizeof(seq))
		_exit(4);
	victim_commit(v, turn);
}

/* Every session gets as many events as every other: a half-written batch would show. */
static void victim_commit(struct victim *v, size_t turn)
{
	size_t count = 1 + (size_t)rand_r(&v->seed) % 6;

	for (size_t i = 0; i < KILL_LOGS; i++) {
		lab_make(&v->logs[i], count, &v->a[turn][i], &v->appends[turn][i]);
		lab_done(&v->logs[i], (v->appends[turn][i].result = TH_OK, &v->appends[turn][i]));
	}
	snprintf(v->blob_text[turn], sizeof(v->blob_text[turn]), "%llu",
		 (unsigned long long)v->logs[0].seq);
	v->blobs[turn].bytes = th_str_of(v->blob_text[turn]);
	v->blobs[turn].hash = th_sha256_of(v->blobs[turn].bytes.ptr, v->blobs[turn].bytes.len);
	v->batches[turn] = (struct th_batch){ .appends = v->appends[turn],
					      .append_count = KILL_LOGS,
					      .blobs = &v->blobs[turn],
					      .blob_count = 1 };
	v->s->kind->commit(v->s, &v->batches[turn], victim_done, v);
}

static _Noreturn void victim_run(const char *url, const struct lab_log *logs, int acknowledge,
				 unsigned seed)
{
	struct victim *v = th_alloc(sizeof(*v));
	struct th_session_row row;
	struct th_arena arena;

	th_arena_init(&arena, TH_MIB);
	v->acknowledge = acknowledge;
	v->seed = seed;
	if (th_loop_new(&v->loop, &err) != TH_OK)
		_exit(2);
	v->s = lab_open(url, v->loop);
	memcpy(v->logs, logs, sizeof(v->logs));
	for (size_t i = 0; i < KILL_LOGS; i++) {
		if (!logs[i].stored)
			continue;
		if (v->s->kind->lease(v->s, th_str_of(logs[i].id), &arena, &row, &err) != TH_OK)
			_exit(5);
		v->logs[i].epoch = row.epoch;
	}
	victim_commit(v, 0);
	victim_commit(v, 1);
	th_loop_run(v->loop);
	_exit(6);
}

static enum th_code take_digest(void *ctx, const struct th_event *ev,
				const struct th_digest *digest, struct th_err *ret)
{
	struct lab_log *log = ctx;

	(void)ret;
	if (ev->seq < TH_COUNT(log->at))
		log->at[ev->seq] = *digest;
	log->seq = ev->seq;
	log->head = *digest;
	log->stored = true;
	return TH_OK;
}

/* The child is killed at a random time; all it acknowledged is there, and nothing by halves. */
static void killed_anywhere(void **state)
{
	const char *url = fresh();
	static struct lab_log logs[KILL_LOGS];
	int rounds = torture() ? 1000 : 40;
	unsigned seed = 11;
	uint64_t before = 0;

	(void)state;
	for (size_t i = 0; i < KILL_LOGS; i++) {
		char id[16];

		snprintf(id, sizeof(id), "killed-%zu", i);
		lab_log_init(&logs[i], id);
	}
	for (int round = 0; round < rounds; round++) {
		uint64_t acknowledged = before, seq;
		int pipes[2], status;
		struct timespec pause = { .tv_nsec = rand_r(&seed) % 12000000 };
		pid_t child;

		assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
		child = fork();
		assert_true(child >= 0);
		if (child == 0)
			victim_run(url, logs, pipes[1], (unsigned)round);
		close(pipes[1]);
		if (round % 2) { /* at some time, or right behind an acknowledgement */
			nanosleep(&pause, NULL);
		} else {
			for (int i = rand_r(&seed) % 8; i >= 0; i--) {
				if (read(pipes[0], &seq, sizeof(seq)) == sizeof(seq))
					acknowledged = seq;
			}
		}
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		while (read(pipes[0], &seq, sizeof(seq)) == sizeof(seq))
			acknowledged = seq;
		close(pipes[0]);

		struct th_store *s = lab_open(url, NULL);
		struct th_buf blob = TH_BUF_INIT(TH_KIB);

		lab_verify(s);
		for (size_t i = 0; i < KILL_LOGS; i++) {
			enum th_code code = s->kind->read(s, th_str_of(logs[i].id), logs[i].seq + 1,
							  0, take_digest, &logs[i], &err);

			assert_true(code == TH_OK || (code == TH_ENOENT && !logs[i].stored));
			assert_true(logs[i].seq >= acknowledged);
			assert_int_equal(logs[i].seq, logs[0].seq);
		}
		if (acknowledged > before) {
			char text[32];
			struct th_digest hash;

			snprintf(text, sizeof(text), "%llu", (unsigned long long)acknowledged);
			hash = th_sha256_of(text, strlen(text));
			assert_int_equal(s->kind->blob(s, &hash, &blob, &err), TH_OK);
		}
		before = logs[0].seq;
		if (round == rounds - 1)
			lab_check(s, &logs[3]);
		th_buf_deinit(&blob);
		th_store_close(s);
	}
	assert_true(before > (uint64_t)rounds);
}

/* ---- other processes ---- */

/* Runs `body` in a child, which must end well. */
static pid_t in_child(void (*body)(const char *url), const char *url)
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		body(url);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("child ended with %x", status);
	return child;
}

/* In a child assertions of cmocka are of no use. */
#define MUST(cond)                                                                      \
	do {                                                                            \
		if (!(cond)) {                                                          \
			fprintf(stderr, "line %d: %s: %s\n", __LINE__, #cond, err.msg); \
			_exit(1);                                                       \
		}                                                                       \
	} while (0)

static void lease_in_vain(const char *url)
{
	struct th_store_options options = {};
	struct th_session_row row;
	struct th_store *s = NULL;
	struct th_arena arena;
	char expected[64];

	th_arena_init(&arena, TH_MIB);
	MUST(th_store_open(th_str_of(url), &options, &s, &err) == TH_OK);
	MUST(s->kind->lease(s, TH_STR("s"), &arena, &row, &err) == TH_EBUSY);
	snprintf(expected, sizeof(expected), "held by another runtime: process %ld on host ",
		 (long)getppid());
	MUST(strstr(err.msg, expected));
	th_store_close(s);
}

static void make_and_die(const char *url)
{
	static struct lab_log log;
	struct th_store *s = lab_open(url, NULL);
	char id[32];

	snprintf(id, sizeof(id), "orphan-%ld", (long)getpid());
	lab_log_init(&log, id);
	MUST(lab_append_now(s, &log, 2) == TH_OK);
	_exit(0); /* without closing */
}

static size_t owner_files(int n)
{
	char command[256], text[16] = "";
	FILE *f;

	snprintf(command, sizeof(command), "ls %s.owners | grep -vc last", path_of(n));
	f = popen(command, "r");
	assert_non_null(f);
	if (!fgets(text, sizeof(text), f))
		text[0] = 0;
	pclose(f);
	return (size_t)atoi(text);
}

static void two_processes(void **state)
{
	const char *url = fresh();
	int n = number;
	struct th_store *s = lab_open(url, NULL);
	static struct lab_log log;
	struct th_session_row row;
	struct th_arena arena;
	char orphan[32];

	(void)state;
	th_arena_init(&arena, TH_MIB);
	lab_log_init(&log, "s");
	assert_int_equal(lab_append_now(s, &log, 2), TH_OK);
	in_child(lease_in_vain, url_of(n));
	snprintf(orphan, sizeof(orphan), "orphan-%ld", (long)in_child(make_and_die, url_of(n)));
	assert_int_equal(owner_files(n), 2);
	assert_int_equal(s->kind->lease(s, th_str_of(orphan), &arena, &row, &err), TH_OK);
	assert_int_equal(row.epoch, 2);
	assert_int_equal(owner_files(n), 1); /* the dead one's is gone */
	in_child(make_and_die, url_of(n));
	in_child(make_and_die, url_of(n)); /* sweeps the one before */
	assert_int_equal(owner_files(n), 2);
	th_store_close(s);
	assert_int_equal(owner_files(n), 1);
	th_arena_deinit(&arena);
}

/* Eight begin the store at the same time and write at the same time. */
static void write_some(const char *url)
{
	static struct lab_log log;
	struct th_store *s = lab_open(url, NULL);
	char id[32];

	snprintf(id, sizeof(id), "writer-%ld", (long)getpid());
	lab_log_init(&log, id);
	for (int i = 0; i < 60; i++)
		MUST(lab_append_now(s, &log, 2) == TH_OK);
	MUST(log.seq == 120);
	th_store_close(s);
}

static enum th_code count_row(void *ctx, const struct th_session_row *row, struct th_err *ret)
{
	(void)ret;
	assert_int_equal(row->head_seq, 120);
	++*(size_t *)ctx;
	return TH_OK;
}

static void written_by_many(void **state)
{
	const char *url = fresh();
	pid_t children[8];
	struct th_store *s;
	size_t count = 0;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(children); i++) {
		children[i] = fork();
		assert_true(children[i] >= 0);
		if (children[i] == 0) {
			write_some(url);
			_exit(0);
		}
	}
	for (size_t i = 0; i < TH_COUNT(children); i++) {
		int status;

		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	s = lab_open(url, NULL);
	lab_verify(s);
	assert_int_equal(s->kind->list(s, &(struct th_session_filter){}, count_row, &count, &err),
			 TH_OK);
	assert_int_equal(count, 8);
	th_store_close(s);
}

/* By another name the same owners are found. */
static void by_another_name(void **state)
{
	const char *url = fresh();
	int n = number++;
	struct th_store *s = lab_open(url, NULL), *other;
	static struct lab_log log;
	struct th_session_row row;
	struct th_arena arena;

	(void)state;
	th_arena_init(&arena, TH_MIB);
	lab_log_init(&log, "s");
	assert_int_equal(lab_append_now(s, &log, 2), TH_OK);
	assert_int_equal(symlink(path_of(n), path_of(number)), 0);
	other = lab_open(url_of(number), NULL);
	lab_check(other, &log);
	assert_int_equal(other->kind->lease(other, TH_STR("s"), &arena, &row, &err), TH_EBUSY);
	th_store_close(other);
	th_store_close(s);
	th_arena_deinit(&arena);
}

static void scope_is(const char *url, const char *in, const char *rest)
{
	struct th_buf got = TH_BUF_INIT(TH_PATH_LEN_MAX), want = TH_BUF_INIT(TH_PATH_LEN_MAX);
	char real[TH_PATH_LEN_MAX];

	assert_non_null(realpath(in, real));
	th_buf_printf(&want, "sqlite:%s%s", real, rest);
	if (th_store_scope(th_str_of(url), &got, &err))
		fail_msg("%s", err.msg);
	assert_string_equal(got.ptr, want.ptr);
	th_buf_deinit(&got);
	th_buf_deinit(&want);
}

/* One name for one file, before and after it is made; another one for every other. */
static void has_one_scope(void **state)
{
	const char *url = fresh();
	const char *path = url + strlen("sqlite:"), *slash = strrchr(path, '/');
	struct th_buf out = TH_BUF_INIT(TH_PATH_LEN_MAX);
	char in[300], text[700], rest[300];

	(void)state;
	snprintf(in, sizeof(in), "%.*s", (int)(slash - path), path);
	snprintf(rest, sizeof(rest), "%s", slash);
	for (int i = 0; i < 2; i++) {
		scope_is(url, in, rest);
		snprintf(text, sizeof(text), "sqlite:%s/.//.%s", in, rest);
		scope_is(text, in, rest);
		snprintf(text, sizeof(text), "sqlite:%s/../%s%s", in, strrchr(in, '/') + 1, rest);
		scope_is(text, in, rest);
		th_store_close(lab_open(url, NULL));
	}
	scope_is("sqlite:not/there.db", ".", "/not/there.db");
	scope_is("sqlite:there.db", ".", "/there.db");
	scope_is("sqlite:/there.db", "/", "there.db");
	assert_int_equal(th_store_scope(TH_STR("sqlite:"), &out, &err), TH_EUSAGE);
	snprintf(text, sizeof(text), "%s/below", url);
	assert_int_equal(th_store_scope(th_str_of(text), &out, &err), TH_ENOENT);
	th_buf_clear(&out);
	assert_int_equal(th_store_scope(TH_STR("memory:a"), &out, &err), TH_OK);
	assert_int_equal(out.len, strlen("memory:") + 32 + 2);
	th_buf_deinit(&out);
}

/* ---- files that are not what they should be ---- */

static void put(const char *path, const char *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(th_file_write_fd(fd, th_str_n(bytes, len), &err), TH_OK);
	close(fd);
}

static void sql(const char *path, const char *text)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", text, sqlite3_errmsg(db));
	sqlite3_close(db);
}

static void refuse(const char *path, bool create, enum th_code code, const char *says)
{
	struct th_store_options options = { .create = create };
	struct th_store *s = NULL;
	char url[300];

	snprintf(url, sizeof(url), "sqlite:%s", path);
	err.msg[0] = 0;
	assert_int_equal(th_store_open(th_str_of(url), &options, &s, &err), code);
	assert_null(s);
	if (!strstr(err.msg, says) || !strstr(err.msg, path))
		fail_msg("\"%s\" says nothing of \"%s\"", err.msg, says);
}

/* Another program writes and does not end: told after so long, and nothing is written. */
static void time_for_others(void **state)
{
	struct th_store_options options = { .create = true, .busy_ms = 30 };
	struct th_store *s = NULL;
	struct th_session_row row;
	struct th_arena arena;
	sqlite3 *db;

	(void)state;
	fresh();
	assert_int_equal(th_store_open(th_str_of(url_of(number)), &options, &s, &err), TH_OK);
	assert_int_equal(sqlite3_open(path_of(number), &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	th_arena_init(&arena, TH_MIB);
	assert_int_equal(s->kind->lease(s, TH_STR("s"), &arena, &row, &err), TH_EBUSY);
	assert_non_null(strstr(err.msg, "another process has been writing for 30 ms"));
	assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(s->kind->lease(s, TH_STR("s"), &arena, &row, &err), TH_ENOENT);
	sqlite3_close(db);
	th_arena_deinit(&arena);
	th_store_close(s);
}

/* The longest path that leaves room for the names beside it, and one more byte. */
static void edges_of_a_path(void **state)
{
	struct th_store_options options = { .create = false };
	struct th_buf url = TH_BUF_INIT(2 * TH_STORE_PATH_MAX),
		      scope = TH_BUF_INIT(2 * TH_PATH_LEN_MAX);
	struct th_store *s = NULL;

	(void)state;
	th_buf_add_cstr(&url, "sqlite:/nowhere");
	while (url.len < strlen("sqlite:") + TH_STORE_PATH_MAX)
		th_buf_add_char(&url, url.len % 100 ? 'x' : '/');
	assert_int_equal(th_store_open(th_buf_str(&url), &options, &s, &err), TH_ENOENT);
	assert_int_equal(th_store_scope(th_buf_str(&url), &scope, &err), TH_OK);
	th_buf_add_char(&url, 'x');
	assert_int_equal(th_store_open(th_buf_str(&url), &options, &s, &err), TH_ELIMIT);
	assert_string_equal(err.msg, "sqlite: the path of a store has at most 3840 bytes");
	assert_int_equal(th_store_scope(th_buf_str(&url), &scope, &err), TH_ELIMIT);
	assert_null(s);
	th_buf_deinit(&url);
	th_buf_deinit(&scope);
}

static void wrong_files(void **state)
{
	static const char text[] =
	    "This is no database; it is a text, and longer than a head is.\n"
	    "This is no database; it is a text, and longer than a head is.\n";
	char path[128], zeros[8192] = "";

	(void)state;
	fresh();
	snprintf(path, sizeof(path), "%s", path_of(number));
	refuse(path, false, TH_ENOENT, "there is no store at");
	assert_int_equal(access(path, F_OK), -1); /* and none is left behind */
	put(path, "", 0);
	refuse(path, false, TH_ENOENT, "the file is empty");
	put(path, text, sizeof(text) - 1);
	refuse(path, true, TH_ECORRUPT, "is not a thole store");
	put(path, zeros, sizeof(zeros));
	refuse(path, true, TH_ECORRUPT, "is not a thole store");
	memcpy(zeros, "SQLite format 3", 16);
	put(path, zeros, sizeof(zeros));
	refuse(path, true, TH_ECORRUPT, "is not a thole store");
	unlink(path);
	sql(path, "CREATE TABLE notes (text)");
	refuse(path, true, TH_EUSAGE, "of another program");
	sql(path, "PRAGMA application_id = 0x74686f6c; PRAGMA user_version = 6");
	refuse(path, true, TH_EUNSUPPORTED, "by a newer thole (format 6, this one knows 5)");
	sql(path, "PRAGMA user_version = 1");
	refuse(path, true, TH_EUNSUPPORTED, "by an older thole (format 1, this one knows 5)");
	sql(path, "PRAGMA user_version = -1");
	refuse(path, true, TH_ECORRUPT, "format number");
	refuse(folder, true, TH_EUSAGE, "is not a file");
	snprintf(path, sizeof(path), "%s/0.db/x.db", folder);
	put(path_of(0), "x", 1);
	refuse(path, false, TH_ENOENT, "Not a directory");
	/* A folder that is not there is a slip of the pen: none is made. */
	snprintf(path, sizeof(path), "%s/new/folder/s.db", folder);
	refuse(path, true, TH_ENOENT, "its folder is not there; make it (mkdir -p ");
	snprintf(path, sizeof(path), "%s/new", folder);
	assert_int_equal(access(path, F_OK), -1);
	/* An empty file becomes a store. */
	put(path_of(0), "", 0);
	th_store_close(lab_open(url_of(0), NULL));
}

static int64_t one_number(int n, const char *text);
static void listed_as(struct th_store *s, size_t limit, const char *ids);

/* As the version wrote it. */
static void make_older(const char *path, int version)
{
	char text[64];

	sql(path, "DROP TABLE used");
	if (version < 4)
		sql(path, "DROP INDEX sessions_parent; DROP TABLE usage; DROP TABLE tasks;"
			  "DROP TABLE removed; DROP TABLE orphans;"
			  "ALTER TABLE sessions DROP COLUMN tokens_cached");
	if (version < 3)
		sql(path, "DROP INDEX sessions_updated; DROP INDEX sessions_created;"
			  "DROP INDEX sessions_user; DROP INDEX sessions_waiting");
	snprintf(text, sizeof(text), "PRAGMA user_version = %d", version);
	sql(path, text);
}

/* What older files lack nobody needs who reads; who writes puts it in. */
static void a_file_of_a_version_before(void **state)
{
	struct th_store_options reading = { .read_only = true };
	struct th_store *s = lab_open(fresh(), NULL);
	static struct lab_log a, b;
	struct th_session_row row;
	struct th_arena arena;
	char path[128];
	int version = (int)(intptr_t)*state;

	lab_log_init(&a, "a");
	lab_log_init(&b, "b");
	assert_int_equal(lab_append_now(s, &a, 3), TH_OK);
	assert_int_equal(lab_append_now(s, &b, 4), TH_OK);
	th_store_close(s);
	snprintf(path, sizeof(path), "%s", path_of(number));
	make_older(path, version);
	assert_int_equal(th_store_open(th_str_of(url_of(number)), &reading, &s, &err), TH_OK);
	lab_check(s, &a);
	listed_as(s, 0, "b a ");
	lab_verify(s);
	th_store_close(s);
	assert_int_equal(one_number(number, "PRAGMA user_version"), version);
	s = lab_open(url_of(number), NULL);
	assert_int_equal(one_number(number, "PRAGMA user_version"), 5);
	assert_int_equal(one_number(number, "SELECT count(*) FROM sqlite_master WHERE"
					    " type = 'index' AND name LIKE 'sessions_%'"),
			 5);
	assert_int_equal(one_number(number, "SELECT count(*) FROM used"), 0);
	assert_int_equal(one_number(number, "SELECT sum(sessions) FROM usage"), 2);
	if (version <
	    4) /* else the sums were there, and have no turns of what was appended at once */
		assert_int_equal(one_number(number, "SELECT sum(turns) FROM usage"), 1 + 2);
	listed_as(s, 0, "b a ");
	th_arena_init(&arena, TH_MIB);
	assert_int_equal(s->kind->lease(s, TH_STR("a"), &arena, &row, &err), TH_OK);
	a.epoch = row.epoch;
	th_arena_deinit(&arena);
	assert_int_equal(lab_append_now(s, &a, 3), TH_OK);
	listed_as(s, 0, "a b ");
	lab_check(s, &a);
	lab_verify(s);
	th_store_close(s);
}

/* ---- removing ---- */

static struct th_digest blob_named(const char *text)
{
	return th_sha256_of(text, strlen(text));
}

/* A session whose events name a blob of its own and one that all share, in several appends. */
static void append_naming(struct th_store *s, struct lab_log *log, const char *own, size_t count)
{
	static struct lab_append a;
	struct th_append append;
	struct th_blob blobs[2] = { { .bytes = th_str_of(own) }, { .bytes = TH_STR("shared") } };
	struct th_batch batch = {
		.appends = &append, .append_count = 1, .blobs = blobs, .blob_count = 2
	};
	char hex[2][TH_SHA256_HEX_SIZE + 1];

	lab_make(log, count, &a, &append);
	for (size_t i = 0; i < 2; i++) {
		blobs[i].hash = th_sha256_of(blobs[i].bytes.ptr, blobs[i].bytes.len);
		th_digest_hex(&blobs[i].hash, hex[i]);
	}
	for (size_t i = 0; i < count; i++) {
		snprintf(a.data[i], sizeof(a.data[i]), "{\"blob\":\"%s\"}", hex[i % 2]);
		a.events[i].data = th_str_of(a.data[i]);
	}
	lab_rechain(log, &a, &append);
	assert_int_equal(s->kind->commit_now(s, &batch, &err), TH_OK);
	lab_done(log, &append);
}

static bool has_blob(struct th_store *s, const char *text)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_digest hash = blob_named(text);

	return s->kind->blob(s, &hash, &out, &err) == TH_OK;
}

static void release_all(struct th_store *s, struct lab_log *logs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_int_equal(s->kind->release(s, th_str_of(logs[i].id), logs[i].epoch, &err),
				 TH_OK);
}

#define REMOVED 3

static void removing_make(struct th_store *s, struct lab_log *logs)
{
	for (size_t i = 0; i < REMOVED; i++) {
		char id[16];

		snprintf(id, sizeof(id), "gone-%zu", i);
		lab_log_init(&logs[i], id);
	}
	for (size_t turn = 0; turn < 4; turn++)
		for (size_t i = 0; i < REMOVED; i++)
			append_naming(s, &logs[i], i == 2 ? "kept" : "own", 5);
	release_all(s, logs, REMOVED);
}

static int left_events(int n, const char *id)
{
	char text[128];

	snprintf(text, sizeof(text), "SELECT count(*) FROM events WHERE session_id = '%s'", id);
	return (int)one_number(n, text);
}

/* Killed after each step, and taken up by another: the sessions are whole, or gone with all that
 * was theirs alone. */
static void removed_and_killed(void **state)
{
	const struct th_str ids[] = { TH_STR_INIT("gone-0"), TH_STR_INIT("gone-1") };
	static struct lab_log logs[REMOVED];

	(void)state;
	for (int steps = -1; steps < 8; steps++) {
		const char *url = fresh();
		struct th_store *s = lab_open(url, NULL);
		int at = number;
		bool more = true;
		pid_t child;
		int status;

		removing_make(s, logs);
		child = fork();
		assert_true(child >= 0);
		if (child == 0) { /* it shares no connection: it opens its own */
			struct th_store *own = lab_open(url, NULL);

			if (steps >= 0 && own->kind->remove(own, ids, 2, &err) != TH_OK)
				_exit(2);
			for (int i = 0; i < steps && more; i++)
				if (own->kind->sweep(own, &more, &err) != TH_OK)
					_exit(3);
			kill(getpid(), SIGKILL);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		th_store_close(s);
		s = lab_open(url, NULL);
		lab_verify(s);
		if (steps < 0) {
			assert_true(has_blob(s, "own"));
			assert_int_equal(left_events(at, "gone-0"), 20);
			th_store_close(s);
			continue;
		}
		/* The name is free at once, whatever is still there of who had it. */
		lab_log_init(&logs[0], "gone-0");
		append_naming(s, &logs[0], "newer", 3);
		lab_verify(s);
		for (more = true; more;)
			assert_int_equal(s->kind->sweep(s, &more, &err), TH_OK);
		lab_verify(s);
		assert_false(has_blob(s, "own"));
		assert_true(has_blob(s, "kept") && has_blob(s, "shared") && has_blob(s, "newer"));
		assert_int_equal(left_events(at, "gone-0"), 3);
		assert_int_equal(left_events(at, "gone-1"), 0);
		assert_int_equal(left_events(at, "gone-2"), 20);
		assert_int_equal(one_number(at, "SELECT count(*) FROM orphans"), 0);
		th_store_close(s);
	}
}

/* Each step has a bound, places only grow, and a blob that comes back meanwhile stays. */
static void removed_by_pieces(void **state)
{
	const struct th_str big = TH_STR("big"), small = TH_STR("small");
	struct th_store *s = lab_open(fresh(), NULL);
	static struct lab_log log, other, stays;
	int64_t last, left, steps = 0;
	bool more = true;

	(void)state;
	lab_log_init(&log, "big");
	lab_log_init(&other, "small");
	lab_log_init(&stays, "stays");
	for (size_t i = 0; i < 50; i++) {
		append_naming(s, &log, "first", LAB_EVENTS_MAX);
		append_naming(s, &stays, "third", LAB_EVENTS_MAX);
	}
	append_naming(s, &other, "second", 5);
	release_all(s, &log, 1);
	release_all(s, &other, 1);
	last = one_number(number, "SELECT max(place) FROM events");
	left = one_number(number, "SELECT count(*) FROM events");
	assert_int_equal(s->kind->remove(s, &big, 1, &err), TH_OK);
	assert_int_equal(s->kind->remove(s, &small, 1, &err), TH_OK); /* it has the last place */
	while (more) {
		int64_t now;

		assert_int_equal(s->kind->sweep(s, &more, &err), TH_OK);
		now = one_number(number, "SELECT count(*) FROM events");
		assert_true(left - now <= TH_SWEEP_EVENTS_MAX);
		assert_true(one_number(number, "SELECT max(place) FROM events") >= last);
		left = now;
		lab_verify(s);
		if (++steps == 53) { /* all events are gone, and the walk is in the middle */
			assert_int_equal(left, 50 * LAB_EVENTS_MAX + 1);
			assert_int_equal(one_number(number, "SELECT count(*) FROM orphans"), 3);
			lab_log_init(&other, "again");
			append_naming(s, &other, "second", 5);
		}
	}
	assert_true(steps > 54);
	assert_true(has_blob(s, "second") && has_blob(s, "third") && has_blob(s, "shared"));
	assert_false(has_blob(s, "first"));
	lab_verify(s);
	th_store_close(s);
	s = lab_open(url_of(number), NULL); /* the note beside it fits */
	lab_verify(s);
	th_store_close(s);
}

/* ---- long logs ---- */

static int looked_up(struct th_store *s)
{
	sqlite3_stmt *st = th_sqlite_of(s)->reader.statements[TH_SQL_EVENT_PREV];

	return st ? sqlite3_stmt_status(st, SQLITE_STMTSTATUS_RUN, 1) : 0;
}

static enum th_code count_one(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			      struct th_err *ret)
{
	uint64_t *last = ctx;

	(void)digest;
	(void)ret;
	assert_int_equal(ev->seq, *last + 1);
	*last = ev->seq;
	return TH_OK;
}

/* A log of many appends that is read in pieces is searched once, not for each piece; one that is
 * written on, or whose name another session got, is read as it is. */
static void read_on(void **state)
{
	struct th_store *s = lab_open(fresh(), NULL);
	const struct th_str id = TH_STR("long");
	const uint64_t appends = 3 * TH_STORE_WAYPOINTS_MAX + 7, piece = 100;
	static struct lab_log log;
	uint64_t last = 0;
	bool more = true;

	(void)state;
	lab_log_init(&log, "long");
	for (uint64_t i = 0; i < appends; i++)
		assert_int_equal(lab_append_now(s, &log, 1 + i % 2), TH_OK);
	assert_int_equal(s->kind->read(s, id, 1, piece, count_one, &last, &err), TH_OK);
	assert_true(looked_up(s) >= (int)appends);
	while (last < log.seq) {
		uint64_t to = TH_MIN(last + piece, log.seq);

		assert_int_equal(s->kind->read(s, id, last + 1, to, count_one, &last, &err), TH_OK);
		assert_int_equal(last, to);
		assert_true(looked_up(s) <= (int)piece + 5);
	}
	assert_int_equal(lab_append_now(s, &log, 3), TH_OK);
	lab_check(s, &log);
	assert_int_equal(s->kind->release(s, id, log.epoch, &err), TH_OK);
	assert_int_equal(s->kind->remove(s, &id, 1, &err), TH_OK);
	while (more)
		assert_int_equal(s->kind->sweep(s, &more, &err), TH_OK);
	lab_log_init(&log, "long");
	for (uint64_t i = 0; i < 30; i++)
		assert_int_equal(lab_append_now(s, &log, 5), TH_OK);
	last = 9;
	assert_int_equal(s->kind->read(s, id, 10, 20, count_one, &last, &err), TH_OK);
	assert_int_equal(last, 20);
	lab_check(s, &log);
	lab_verify(s);
	th_store_close(s);
}

/* A page is looked up, not searched for. */
static void pages_by_index(void **state)
{
	static const struct {
		const char *sql, *index;
	} plans[] = {
		{ "SELECT * FROM sessions WHERE updated_ms <= 5 AND (updated_ms < 5 OR "
		  "session_id > 'a') ORDER BY updated_ms DESC, session_id",
		  "sessions_updated" },
		{ "SELECT * FROM sessions WHERE created_ms <= 5 AND (created_ms < 5 OR "
		  "session_id > 'a') ORDER BY created_ms DESC, session_id",
		  "sessions_created" },
		{ "SELECT * FROM sessions WHERE user = 'x' AND created_ms <= 5 AND (created_ms < 5 "
		  "OR session_id > 'a') ORDER BY created_ms DESC, session_id",
		  "sessions_user" },
		{ "SELECT * FROM sessions WHERE state = 'waiting' AND created_ms <= 5 AND "
		  "(created_ms < 5 OR session_id > 'a') ORDER BY created_ms DESC, session_id",
		  "sessions_waiting" },
	};
	sqlite3 *db;

	(void)state;
	th_store_close(lab_open(fresh(), NULL));
	assert_int_equal(sqlite3_open(path_of(number), &db), SQLITE_OK);
	for (size_t i = 0; i < TH_COUNT(plans); i++) {
		char text[400];
		sqlite3_stmt *st;
		const char *plan;

		snprintf(text, sizeof(text), "EXPLAIN QUERY PLAN %s", plans[i].sql);
		assert_int_equal(sqlite3_prepare_v2(db, text, -1, &st, NULL), SQLITE_OK);
		assert_int_equal(sqlite3_step(st), SQLITE_ROW);
		plan = (const char *)sqlite3_column_text(st, 3);
		if (!strstr(plan, "SEARCH") || !strstr(plan, plans[i].index))
			fail_msg("%s: %s", plans[i].sql, plan);
		assert_int_equal(sqlite3_step(st), SQLITE_DONE); /* and not sorted */
		sqlite3_finalize(st);
	}
	sqlite3_close(db);
}

/* A store that was being made when its process died has a journal; to look is then to undo it. */
static void cut_off_while_made(void **state)
{
	struct th_store_options options = { .read_only = true };
	struct th_store *s = NULL;
	char journal[160];
	int status;

	(void)state;
	const char *url = fresh();
	pid_t child = fork();
	if (child == 0) {
		/* More than its cache holds: so the file is written before the end. */
		sqlite3 *db;

		MUST(sqlite3_open(path_of(number), &db) == SQLITE_OK);
		MUST(sqlite3_exec(db,
				  "PRAGMA cache_size = 1; BEGIN; CREATE TABLE notes (text);"
				  "INSERT INTO notes VALUES (hex(zeroblob(1000000)))",
				  NULL, NULL, NULL) == SQLITE_OK);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	snprintf(journal, sizeof(journal), "%s-journal", path_of(number));
	assert_int_equal(access(journal, F_OK), 0);
	assert_int_equal(th_store_open(th_str_of(url), &options, &s, &err), TH_ENOENT);
	assert_int_equal(access(journal, F_OK), -1);
	th_store_close(lab_open(url, NULL));
	assert_int_equal(th_store_open(th_str_of(url), &options, &s, &err), TH_OK);
	th_store_close(s);
}

static void without_rights(const char *url)
{
	const char *path = url + strlen("sqlite:");
	struct th_store_options options = {};
	struct th_store *s = NULL;
	static struct lab_log log;

	if (geteuid() == 0)
		MUST(setgid(65534) == 0 && setuid(65534) == 0);
	MUST(th_store_open(th_str_of(url), &options, &s, &err) == TH_EPERM);
	MUST(strstr(err.msg, "read-only") && strstr(err.msg, path));
	options.create = true;
	MUST(th_store_open(TH_STR("sqlite:/proc/x.db"), &options, &s, &err) != TH_OK);
	/* Reading only, while the log and its index are there to read. */
	options = (struct th_store_options){ .read_only = true };
	MUST(th_store_open(th_str_of(url), &options, &s, &err) == TH_OK);
	lab_log_init(&log, "s");
	MUST(lab_append_now(s, &log, 2) == TH_EPERM);
	th_store_close(s);
}

/* With no index of a writer's there, one cannot be made. */
static void without_an_index(const char *url)
{
	const struct th_store_options options = { .read_only = true };
	struct th_store *s = NULL;

	if (geteuid() == 0)
		MUST(setgid(65534) == 0 && setuid(65534) == 0);
	MUST(th_store_open(th_str_of(url), &options, &s, &err) == TH_EPERM);
	MUST(strstr(err.msg, "may not write into its folder") && strstr(err.msg, "a copy of it"));
}

static void without_any_rights(const char *url)
{
	struct th_store_options options = {};
	struct th_store *s = NULL;

	if (geteuid() == 0)
		MUST(setgid(65534) == 0 && setuid(65534) == 0);
	MUST(th_store_open(th_str_of(url), &options, &s, &err) == TH_EPERM);
	MUST(strstr(err.msg, "Permission denied"));
	options.read_only = true;
	MUST(th_store_open(th_str_of(url), &options, &s, &err) == TH_EPERM);
}

static void rights(void **state)
{
	const char *url = fresh();
	struct th_store *s = lab_open(url, NULL);
	static struct lab_log log;

	(void)state;
	lab_log_init(&log, "s");
	assert_int_equal(lab_append_now(s, &log, 2), TH_OK);
	assert_int_equal(chmod(folder, 0755), 0);
	for (int i = 0; i < 3; i++) {
		static const char *const ends[] = { "", "-wal", "-shm" };
		char path[160];

		snprintf(path, sizeof(path), "%s%s", path_of(number), ends[i]);
		assert_int_equal(chmod(path, 0444), 0);
	}
	in_child(without_rights, url_of(number));
	chmod(path_of(number), 0);
	if (geteuid() == 0)
		in_child(without_any_rights, url_of(number));
	chmod(path_of(number), 0600);
	th_store_close(s);
	chmod(path_of(number), 0444);
	assert_int_equal(chmod(folder, 0555), 0);
	in_child(without_an_index, url_of(number));
	assert_int_equal(chmod(folder, 0755), 0);
	chmod(path_of(number), 0600);
}

/* ---- full disks ---- */

static void fill(struct th_store *s, struct lab_log *log)
{
	enum th_code code;
	int rounds = 0;

	while ((code = lab_append_now(s, log, LAB_EVENTS_MAX)) == TH_OK)
		assert_true(++rounds < 10000);
	if (code != TH_ELIMIT)
		fail_msg("%s", err.msg);
	if (!strstr(err.msg, "disk is full"))
		fail_msg("%s", err.msg);
	assert_int_equal(lab_append_now(s, log, LAB_EVENTS_MAX), TH_ELIMIT);
	lab_check(s, log); /* reading goes on */
}

/* To the last byte: not even the index that readers share has room. */
static void fill_up(const char *path)
{
	static const char block[4096];
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	while (write(fd, block, sizeof(block)) > 0)
		;
	assert_int_equal(errno, ENOSPC);
	close(fd);
}

static void full_disk(void **state)
{
	const struct th_store_options reading = { .read_only = true };
	char place[64], path[160], all[160], shm[160];
	static struct lab_log log;
	struct th_store *s;

	(void)state;
	snprintf(place, sizeof(place), "%s/small", folder);
	if (geteuid() != 0 || mkdir(place, 0700) != 0 ||
	    mount("none", place, "tmpfs", 0, "size=1m") != 0)
		skip();
	snprintf(path, sizeof(path), "%s/ballast", place);
	char *ballast = th_alloc(300000);

	memset(ballast, 'b', 300000);
	put(path, ballast, 300000);
	free(ballast);
	snprintf(path, sizeof(path), "sqlite:%s/s.db", place);
	s = lab_open(path, NULL);
	lab_log_init(&log, "s");
	fill(s, &log);
	lab_verify(s);
	snprintf(path, sizeof(path), "%s/ballast", place);
	unlink(path);
	assert_int_equal(lab_append_now(s, &log, LAB_EVENTS_MAX), TH_OK); /* there is room again */
	fill(s, &log);
	th_store_close(s);
	snprintf(path, sizeof(path), "sqlite:%s/s.db", place);
	snprintf(all, sizeof(all), "%s/all", place);
	snprintf(shm, sizeof(shm), "%s/s.db-shm", place);
	unlink(shm); /* as when the machine went down: its log is there, its index is not */
	fill_up(all);
	for (int i = 0; i < 2; i++) { /* reading goes on, also for who comes then */
		assert_int_equal(th_store_open(th_str_of(path), &reading, &s, &err), TH_OK);
		lab_check(s, &log);
		lab_verify(s);
		assert_int_equal(lab_append_now(s, &log, 1), TH_EPERM);
		th_store_close(s);
	}
	unlink(all);
	s = lab_open(path, NULL);
	lab_check(s, &log);
	lab_verify(s);
	th_store_close(s);
	umount2(place, MNT_DETACH);
}

static void file_size_limit(void **state)
{
	const char *url = fresh();
	struct rlimit old, small;
	static struct lab_log log;
	struct th_store *s = lab_open(url, NULL);

	(void)state;
	lab_log_init(&log, "s");
	getrlimit(RLIMIT_FSIZE, &old);
	small = (struct rlimit){ 400000, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	fill(s, &log);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(lab_append_now(s, &log, 1), TH_OK);
	lab_check(s, &log);
	lab_verify(s);
	th_store_close(s);
}

struct outcome {
	enum th_code codes[3];
	size_t count;
};

static void note_outcome(void *ctx, struct th_batch *batch, enum th_code code,
			 const struct th_err *ret)
{
	struct outcome *o = ctx;

	(void)batch;
	(void)ret;
	o->codes[o->count++] = code;
}

/* Of batches that are written together, the one that is too large for the disk fails alone. */
static void full_for_one(void **state)
{
	struct rlimit old, small;
	char *bytes = th_alloc(2 * TH_MIB);
	struct th_blob blobs[2] = { { .bytes = { bytes, 200000 } },
				    { .bytes = { bytes, 2 * TH_MIB } } };
	static struct lab_append a;
	static struct lab_log log;
	struct th_append append;
	struct th_batch batches[3] = { { .blobs = &blobs[0], .blob_count = 1 },
				       { .blobs = &blobs[1], .blob_count = 1 },
				       { .appends = &append, .append_count = 1 } };
	struct outcome o = {};
	struct th_loop *loop;
	struct th_store *s;

	(void)state;
	for (size_t i = 0; i < 2; i++)
		blobs[i].hash = th_sha256_of(bytes, blobs[i].bytes.len);
	assert_int_equal(th_loop_new(&loop, &err), TH_OK);
	s = lab_open(fresh(), loop);
	lab_log_init(&log, "s");
	lab_make(&log, 3, &a, &append);
	getrlimit(RLIMIT_FSIZE, &old);
	small = (struct rlimit){ 1000000, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (size_t i = 0; i < 3; i++) /* while the first is written the others come together */
		s->kind->commit(s, &batches[i], note_outcome, &o);
	th_loop_run(loop);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(o.count, 3);
	assert_int_equal(o.codes[0], TH_OK);
	assert_int_equal(o.codes[1], TH_ELIMIT);
	assert_int_equal(o.codes[2], TH_OK);
	lab_done(&log, &append);
	lab_check(s, &log);
	lab_verify(s);
	th_store_close(s);
	th_loop_free(loop);
	free(bytes);
}

/* A new database is flushed, and its name, before the first commit is told; and then no more. */
static void new_file_is_durable(void **state)
{
	struct th_store *s;
	static struct lab_log log;
	int before = faulty_main_syncs();

	(void)state;
	s = lab_open(fresh(), NULL);
	assert_int_equal(faulty_main_syncs(), before); /* opening costs no flush */
	lab_log_init(&log, "s");
	assert_int_equal(lab_append_now(s, &log, 2), TH_OK);
	assert_int_equal(faulty_main_syncs(), before + 1);
	assert_int_equal(lab_append_now(s, &log, 2), TH_OK);
	assert_int_equal(faulty_main_syncs(), before + 1);
	th_store_close(s);
}

/* ---- calls that fail ---- */

/* Does all a store does, with faults under way; what it was told counts for the check. */
static bool faulty_work(const char *url, struct lab_log logs[2], bool *sorry)
{
	struct th_store_options options = { .create = true };
	char *bytes = th_alloc(60000);
	struct th_blob blob = { .media_type = TH_STR("image/png"), .bytes = { bytes, 60000 } };
	struct th_batch batch = { .blobs = &blob, .blob_count = 1 };
	struct th_session_row row;
	struct th_store *s = NULL;
	struct th_arena arena;
	enum th_code code = th_store_open(th_str_of(url), &options, &s, &err);
	bool stored = false;

	*sorry = code != TH_OK;
	memset(bytes, 'x', 60000);
	blob.hash = th_sha256_of(bytes, 60000);
	th_arena_init(&arena, TH_MIB);
	for (int i = 0; i < 6 && s; i++) {
		code = lab_append_now(s, &logs[i % 2], 1 + (size_t)i);
		*sorry |= code != TH_OK;
		if (i == 3) {
			code = s->kind->commit_now(s, &batch, &err);
			stored = code == TH_OK;
			*sorry |= !stored;
		}
		if (i == 4) {
			code = s->kind->lease(s, th_str_of(logs[1].id), &arena, &row, &err);
			if (code == TH_OK)
				logs[1].epoch = row.epoch;
			*sorry |= code != TH_OK;
		}
	}
	th_store_close(s);
	th_arena_deinit(&arena);
	free(bytes);
	return stored;
}

#define MALLOC_STEP 31

static void failing_calls_of(enum fault fault, int for_good, struct lab_log logs[2])
{
	struct th_arena arena;
	int n = 0;

	th_arena_init(&arena, 64 * TH_MIB);
	for (bool more = true; more;) {
		const char *url = fresh();
		struct th_store *s;
		bool sorry, stored;

		lab_log_init(&logs[0], "one");
		lab_log_init(&logs[1], "two");
		n += fault == FAULT_MALLOC && !torture() ? MALLOC_STEP : 1;
		faulty_set(fault, n, for_good);
		stored = faulty_work(url, logs, &sorry);
		more = faulty_left() <= 0;
		faulty_set(fault, 0, 0);
		if (!more)
			assert_false(sorry);
		s = lab_open(url, NULL);
		lab_verify(s);
		for (size_t i = 0; i < 2; i++) {
			struct th_session_row row;
			enum th_code code =
			    s->kind->get(s, th_str_of(logs[i].id), &arena, &row, &err);

			/* After a failed flush the last append may be there, for all that is known.
			 */
			if (code == TH_OK && row.head_seq == logs[i].seq) {
				lab_check(s, &logs[i]);
			} else if (code == TH_OK) {
				assert_true(sorry && row.head_seq > logs[i].seq);
				assert_true(fault == FAULT_SYNC);
			} else {
				assert_true(code == TH_ENOENT && !logs[i].stored);
			}
		}
		if (stored) {
			struct th_verify_report r;

			assert_int_equal(s->kind->verify(s, TH_STR(""), &r, &err), TH_OK);
			assert_int_equal(r.blobs, 1);
		}
		th_store_close(s);
		assert_true(n < 20000);
	}
	assert_true(n > 3 || fault == FAULT_TRUNCATE);
	th_arena_deinit(&arena);
}

static void failing_calls(void **state)
{
	static struct lab_log logs[2];

	(void)state;
	for (int fault = 0; fault < FAULT_READ; fault++) {
		for (int for_good = 0; for_good < 2; for_good++)
			failing_calls_of((enum fault)fault, for_good, logs);
	}
}

/* A failed flush closes the store to everything; a full disk only refuses. */
static void closed_by_a_failed_flush(void **state)
{
	const char *url = fresh();
	struct th_store *s = lab_open(url, NULL);
	static struct lab_log log, kept;
	struct th_session_row row;
	struct th_arena arena;

	(void)state;
	th_arena_init(&arena, TH_MIB);
	lab_log_init(&log, "s");
	assert_int_equal(lab_append_now(s, &log, 2), TH_OK);
	faulty_set(FAULT_WRITE_FULL, 1, 0);
	assert_int_equal(lab_append_now(s, &log, 2), TH_ELIMIT);
	assert_int_equal(lab_append_now(s, &log, 2), TH_OK);
	kept = log;
	faulty_set(FAULT_SYNC, 1, 0);
	assert_int_equal(lab_append_now(s, &log, 2), TH_EIO);
	assert_non_null(strstr(err.msg, path_of(number)));
	assert_int_equal(lab_append_now(s, &log, 2), TH_EIO);
	assert_int_equal(s->kind->lease(s, TH_STR("s"), &arena, &row, &err), TH_EIO);
	assert_int_equal(s->kind->get(s, TH_STR("s"), &arena, &row, &err), TH_EIO);
	assert_non_null(strstr(err.msg, "closed to everything"));
	th_store_close(s);
	s = lab_open(url, NULL);
	lab_check(s, &kept);
	th_store_close(s);
	th_arena_deinit(&arena);
}

static enum th_code nothing(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			    struct th_err *ret)
{
	(void)ctx;
	(void)ev;
	(void)digest;
	(void)ret;
	return TH_OK;
}

static void failing_reads(void **state)
{
	const char *url = fresh();
	struct th_store *s = lab_open(url, NULL);
	static struct lab_log log;
	int failed = 0;

	(void)state;
	lab_log_init(&log, "s");
	for (int i = 0; i < 6; i++)
		assert_int_equal(lab_append_now(s, &log, LAB_EVENTS_MAX), TH_OK);
	th_store_close(s);
	for (int n = 1; n < 200; n++) {
		struct th_store_options options = { .read_only = true };
		struct th_verify_report r = {};
		enum th_code code;

		s = NULL;
		faulty_set(FAULT_READ, n, 0);
		code = th_store_open(th_str_of(url), &options, &s, &err);
		if (code == TH_OK)
			code = s->kind->read(s, TH_STR("s"), 1, 0, nothing, NULL, &err);
		if (code == TH_OK)
			code = s->kind->verify(s, TH_STR(""), &r, &err);
		assert_true(code == TH_OK || code == TH_EIO);
		assert_false(r.bad); /* it cannot be read: that is not damage */
		failed += code != TH_OK;
		faulty_set(FAULT_READ, 0, 0);
		th_store_close(s);
	}
	assert_true(failed > 20);
}

/* ---- a log that was cut ---- */

static void copy_file(const char *from, const char *to, size_t cut)
{
	struct th_buf b TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_MIB);

	assert_int_equal(th_file_read(from, 64 * TH_MIB, &b, &err), TH_OK);
	put(to, b.ptr, b.len > cut ? b.len - cut : 0);
}

static void cut_log(void **state)
{
	const char *url = fresh();
	int n = number;
	struct th_store_options options = {};
	struct th_store *s = lab_open(url, NULL), *other = NULL;
	static struct lab_log log;
	char from[128], to[128], mark[160];
	struct th_verify_report r;

	(void)state;
	lab_log_init(&log, "s");
	for (int i = 0; i < 5; i++)
		assert_int_equal(lab_append_now(s, &log, 3), TH_OK);
	/* What a killed process leaves behind, with and without the end of its -wal file. */
	for (size_t cut = 0; cut < 3; cut++) {
		number++;
		copy_file(path_of(n), path_of(number), 0);
		snprintf(from, sizeof(from), "%s-wal", path_of(n));
		snprintf(to, sizeof(to), "%s-wal", path_of(number));
		copy_file(from, to, cut * 4000);
		snprintf(mark, sizeof(mark), "%s.owners", path_of(number));
		assert_int_equal(mkdir(mark, 0700), 0);
		snprintf(from, sizeof(from), "%s.owners/last", path_of(n));
		snprintf(mark, sizeof(mark), "%s.owners/last", path_of(number));
		copy_file(from, mark, 0);
		if (cut == 0) {
			other = lab_open(url_of(number), NULL);
			lab_check(other, &log);
			lab_verify(other);
			th_store_close(other);
			continue;
		}
		refuse(path_of(number), false, TH_ECORRUPT, "-wal file was cut");
		options.read_only = true; /* may still be looked at */
		assert_int_equal(th_store_open(th_str_of(url_of(number)), &options, &other, &err),
				 TH_OK);
		assert_int_equal(other->kind->verify(other, TH_STR(""), &r, &err), TH_OK);
		assert_true(r.bad);
		assert_string_equal(r.table, "events");
		th_store_close(other);
		unlink(mark); /* as the sentence says */
		th_store_close(lab_open(url_of(number), NULL));
	}
	th_store_close(s);
	/* Deleted and begun anew: the note is no matter any more. */
	unlink(path_of(n));
	s = lab_open(url_of(n), NULL);
	lab_verify(s);
	th_store_close(s);
}

static int64_t one_number(int n, const char *sql)
{
	sqlite3_stmt *st = NULL;
	sqlite3 *db;
	int64_t ret;

	assert_int_equal(sqlite3_open(path_of(n), &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	ret = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return ret;
}

#define IN_RECENT "SELECT coalesce(sum(length(rows)), 0) FROM recent"

static enum th_code note_id(void *ctx, const struct th_session_row *row, struct th_err *ret)
{
	struct th_buf *b = ctx;

	(void)ret;
	th_buf_add(b, row->session_id);
	th_buf_add_char(b, ' ');
	return TH_OK;
}

static void listed_as(struct th_store *s, size_t limit, const char *ids)
{
	struct th_session_filter filter = { .limit = limit };
	struct th_buf b TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	assert_int_equal(s->kind->list(s, &filter, note_id, &b, &err), TH_OK);
	if (!th_str_is(th_buf_str(&b), ids))
		fail_msg("%s instead of %s", b.ptr, ids);
}

/* What an append changed is in `recent` and seen by everybody; a closed store has it in its rows.
 */
static void rows_are_recent(void **state)
{
	struct th_store *s = lab_open(fresh(), NULL), *other = lab_open(url_of(number), NULL);
	static struct lab_log logs[4];
	int n = number;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(logs); i++) {
		lab_log_init(&logs[i], (char[]){ (char)('a' + i), 0 });
		assert_int_equal(lab_append_now(s, &logs[i], i == 3 ? 9 : 1), TH_OK);
	}
	assert_int_equal(one_number(n, IN_RECENT), 0);
	listed_as(other, 0, "d a b c ");
	assert_int_equal(lab_append_now(s, &logs[1], 14), TH_OK);
	assert_int_equal(lab_append_now(s, &logs[2], 4), TH_OK);
	assert_true(one_number(n, IN_RECENT) > 0);
	assert_int_equal(one_number(n, "SELECT max(head_seq) FROM sessions"), 9);
	listed_as(other, 0, "b d c a ");
	listed_as(other, 1, "b ");
	listed_as(other, 3, "b d c ");
	for (size_t i = 0; i < TH_COUNT(logs); i++)
		lab_check(other, &logs[i]);
	lab_verify(other);
	th_store_close(s);
	assert_int_equal(one_number(n, IN_RECENT), 0);
	assert_int_equal(one_number(n, "SELECT max(head_seq) FROM sessions"), 15);
	listed_as(other, 0, "b d c a ");
	lab_verify(other);
	th_store_close(other);
}

static void head_is(struct th_store *s, const struct lab_log *log)
{
	struct th_session_row row;
	struct th_arena a;

	th_arena_init(&a, TH_MIB);
	assert_int_equal(s->kind->get(s, th_str_of(log->id), &a, &row, &err), TH_OK);
	assert_int_equal(row.head_seq, log->seq);
	assert_true(th_digest_eq(&row.head, &log->head));
	th_arena_deinit(&a);
}

/* Who reads takes what was added since; after a deletion, which carries it over, all of it. */
static void recent_across_deletions(void **state)
{
	struct th_store *s = lab_open(fresh(), NULL), *other = lab_open(url_of(number), NULL);
	static struct lab_log logs[6];
	bool more;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(logs); i++)
		lab_log_init(&logs[i], (char[]){ (char)('a' + i), 0 });
	for (size_t round = 0; round < 3; round++) {
		struct lab_log *one = &logs[2 * round], *two = one + 1;

		for (int i = 0; i < 5; i++) {
			assert_int_equal(lab_append_now(s, one, 1), TH_OK);
			head_is(other, one);
			assert_int_equal(lab_append_now(s, two, 1), TH_OK);
			head_is(other, two);
			head_is(other, one);
		}
		for (size_t i = 0; i < 2; i++) {
			struct th_str id = th_str_of(one[i].id);

			assert_int_equal(s->kind->release(s, id, one[i].epoch, &err), TH_OK);
			assert_int_equal(s->kind->remove(s, &id, 1, &err), TH_OK);
		}
		for (more = true; more;)
			assert_int_equal(s->kind->sweep(s, &more, &err), TH_OK);
	}
	lab_verify(other);
	th_store_close(other);
	th_store_close(s);
}

/* It is shortened when it is long; in the end it is carried over, but for a session whose row is
 * damaged. */
static void recent_is_short(void **state)
{
	struct th_store *s = lab_open(fresh(), NULL), *other = lab_open(url_of(number), NULL);
	static struct lab_log good, bad;
	struct th_verify_report r;
	int n = number;
	sqlite3 *db;

	(void)state;
	lab_log_init(&good, "good");
	lab_log_init(&bad, "bad");
	assert_int_equal(lab_append_now(s, &good, 1), TH_OK);
	assert_int_equal(lab_append_now(s, &bad, 1), TH_OK);
	assert_int_equal(lab_append_now(s, &bad, 1), TH_OK);
	assert_int_equal(sqlite3_open(path_of(n), &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				      "UPDATE sessions SET title = 'x' WHERE session_id = 'bad'",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	for (int i = 0; i < 5000; i++) {
		assert_int_equal(lab_append_now(s, &good, 1), TH_OK);
		if (i % 8 == 0)
			head_is(other, &good);
		if (i % 500 == 0)
			assert_in_range(one_number(n, IN_RECENT), 1, TH_STORE_RECENT_MAX + 200);
	}
	lab_check(s, &good);
	th_store_close(other);
	th_store_close(s);
	assert_in_range(one_number(n, IN_RECENT), 120, 130); /* the other's */
	assert_int_equal(one_number(n, "SELECT max(head_seq) FROM sessions"), 5001);
	s = lab_open(url_of(n), NULL);
	assert_int_equal(s->kind->verify(s, TH_STR(""), &r, &err), TH_OK);
	assert_true(r.bad);
	assert_string_equal(r.key, "session bad");
	th_store_close(s);
}

#define MANY 64 /* sessions of one transaction */

/* One more event in each of these sessions. */
static void append_to_all(struct th_store *s, struct lab_log *logs, size_t count)
{
	static struct lab_append a[MANY];
	struct th_append appends[MANY];

	for (size_t from = 0; from < count; from += MANY) {
		struct th_batch batch = { .appends = appends,
					  .append_count = TH_MIN(count - from, (size_t)MANY) };

		for (size_t i = 0; i < batch.append_count; i++)
			lab_make(&logs[from + i], 1, &a[i], &appends[i]);
		assert_int_equal(s->kind->commit_now(s, &batch, &err), TH_OK);
		for (size_t i = 0; i < batch.append_count; i++)
			lab_done(&logs[from + i], &appends[i]);
	}
}

/* Of as many sessions as half of it has room for the newest is kept there; of one more all goes
 * into their rows. */
static void recent_of_many(void **state)
{
	static const size_t room = TH_STORE_RECENT_MAX / 2 / 120;

	(void)state;
	for (size_t count = room; count <= room + 1; count++) {
		struct th_store *s = lab_open(fresh(), NULL);
		struct lab_log *logs = th_alloc(count * sizeof(*logs));
		int n = number;

		for (size_t i = 0; i < count; i++) {
			char id[16];

			snprintf(id, sizeof(id), "s%zu", i);
			lab_log_init(&logs[i], id);
		}
		for (int i = 0; i < 4; i++) {
			append_to_all(s, logs, count);
			assert_in_range(one_number(n, IN_RECENT), 0, TH_STORE_RECENT_MAX);
		}
		assert_int_equal(one_number(n, "SELECT min(head_seq) FROM sessions") > 1,
				 count > room);
		for (size_t i = 0; i < count; i += count / 8)
			lab_check(s, &logs[i]);
		lab_verify(s);
		th_store_close(s);
		assert_int_equal(one_number(n, IN_RECENT), 0);
		assert_int_equal(one_number(n, "SELECT min(head_seq) FROM sessions"), 4);
		free(logs);
	}
}

/* Another process writes in between, or takes the session: then what is known here is looked up. */
static void known_no_more(void **state)
{
	struct th_store *s = lab_open(fresh(), NULL), *other = lab_open(url_of(number), NULL);
	static struct lab_log mine, theirs;
	struct th_session_row row;
	struct th_arena a;

	(void)state;
	th_arena_init(&a, TH_MIB);
	lab_log_init(&mine, "mine");
	lab_log_init(&theirs, "theirs");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(lab_append_now(s, &mine, 2), TH_OK);
		assert_int_equal(lab_append_now(other, &theirs, 2), TH_OK);
	}
	/* Taken again by ourselves: what is under way with the old epoch is refused. */
	assert_int_equal(s->kind->lease(s, TH_STR("mine"), &a, &row, &err), TH_OK);
	assert_int_equal(row.head_seq, 6);
	assert_int_equal(lab_append_now(s, &mine, 1), TH_EFENCED);
	mine.epoch = row.epoch;
	assert_int_equal(lab_append_now(s, &mine, 1), TH_OK);
	assert_int_equal(lab_append_now(s, &mine, 1), TH_OK);
	/* The other process ends, and its session is ours. */
	th_store_close(other);
	assert_int_equal(s->kind->lease(s, TH_STR("theirs"), &a, &row, &err), TH_OK);
	assert_int_equal(row.head_seq, 6);
	theirs.epoch = row.epoch;
	assert_int_equal(lab_append_now(s, &theirs, 2), TH_OK);
	assert_int_equal(s->kind->release(s, TH_STR("theirs"), row.epoch, &err), TH_OK);
	assert_int_equal(lab_append_now(s, &theirs, 1), TH_EFENCED);
	lab_check(s, &mine);
	lab_check(s, &theirs);
	lab_verify(s);
	th_store_close(s);
	th_arena_deinit(&a);
}

static void on_written(void *ctx, struct th_batch *batch, enum th_code code, const struct th_err *e)
{
	(void)batch, (void)e;
	assert_int_equal(code, TH_OK);
	(*(int *)ctx)++;
}

struct taking {
	struct th_store *store;
	struct th_arena *a;
	struct th_session_row row;
	enum th_code code;
};

static void *take_elsewhere(void *ctx)
{
	struct taking *t = ctx;
	struct th_err ignored;

	t->code = t->store->kind->lease(t->store, TH_STR("a"), t->a, &t->row, &ignored);
	return NULL;
}

/* Another thread takes a session and gives it back while this one reads and writes with the same
 * handle. */
static void leased_by_another_thread(void **state)
{
	static struct lab_log busy, log;
	static struct lab_append made;
	struct th_append append;
	struct th_batch batch = { .appends = &append, .append_count = 1 };
	struct taking t;
	struct th_store *s, *other;
	struct th_loop *loop;
	struct th_arena a;
	pthread_t thread;
	int written = 0;

	(void)state;
	th_arena_init(&a, TH_MIB);
	assert_int_equal(th_loop_new(&loop, &err), TH_OK);
	s = lab_open(fresh(), loop);
	other = lab_open(url_of(number), NULL);
	lab_log_init(&busy, "busy");
	lab_log_init(&log, "a");
	assert_int_equal(lab_append_now(s, &busy, 1), TH_OK);
	assert_int_equal(lab_append_now(s, &log, 2), TH_OK);
	t = (struct taking){ .store = s, .a = &a };
	lab_make(&busy, 3, &made, &append);
	s->kind->commit(s, &batch, on_written, &written);
	assert_int_equal(pthread_create(&thread, NULL, take_elsewhere, &t), 0);
	lab_check(s, &log);
	assert_int_equal(pthread_join(thread, NULL), 0);
	th_loop_run(loop);
	assert_int_equal(written, 1);
	lab_done(&busy, &append);
	assert_int_equal(t.code, TH_OK);
	assert_int_equal(t.row.epoch, log.epoch + 1);
	assert_int_equal(lab_append_now(s, &log, 1), TH_EFENCED);
	log.epoch = t.row.epoch;
	assert_int_equal(lab_append_now(s, &log, 1), TH_OK);
	assert_int_equal(other->kind->lease(other, TH_STR("a"), &a, &t.row, &err), TH_EBUSY);
	assert_int_equal(s->kind->release(s, TH_STR("a"), log.epoch, &err), TH_OK);
	assert_int_equal(lab_append_now(s, &log, 1), TH_EFENCED);
	assert_int_equal(other->kind->lease(other, TH_STR("a"), &a, &t.row, &err), TH_OK);
	th_store_close(s);
	lab_verify(other);
	th_store_close(other);
	th_loop_free(loop);
	th_arena_deinit(&a);
}

/* More sessions than are known at first, written to in turns. */
static void many_sessions(void **state)
{
	struct th_store *s = lab_open(fresh(), NULL);
	size_t count = 3 * TH_KNOWN_MIN;
	struct lab_log *logs = th_alloc(count * sizeof(*logs));
	static struct lab_append a[64];
	struct th_append appends[64];

	(void)state;
	for (size_t i = 0; i < count; i++) {
		char id[16];

		snprintf(id, sizeof(id), "s%zu", i);
		lab_log_init(&logs[i], id);
	}
	for (size_t i = 0; i < 3 * count; i += TH_COUNT(a)) {
		struct th_batch batch = { .appends = appends, .append_count = TH_COUNT(a) };

		for (size_t k = 0; k < TH_COUNT(a); k++)
			lab_make(&logs[(i + k) % count], 1, &a[k], &appends[k]);
		assert_int_equal(s->kind->commit_now(s, &batch, &err), TH_OK);
		for (size_t k = 0; k < TH_COUNT(a); k++)
			lab_done(&logs[(i + k) % count], &appends[k]);
	}
	/* But for the first append of each, and the few that had no place, no row was written. */
	assert_true(one_number(number, IN_RECENT) >
		    (int64_t)(2 * count * TH_RECENT_ENTRY_SIZE / 100 * 97));
	for (size_t i = 0; i < count; i++)
		lab_check(s, &logs[i]);
	lab_verify(s);
	th_store_close(s);
	free(logs);
}

/* A commit's pages go to the log in one write. */
static void one_write(void **state)
{
	struct th_store *s = lab_open(fresh(), NULL);
	static struct lab_log logs[20];
	static struct lab_append a[20];
	struct th_append appends[20];
	struct th_batch batch = { .appends = appends, .append_count = TH_COUNT(logs) };
	int before;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(logs); i++) {
		char id[16];

		snprintf(id, sizeof(id), "s%zu", i);
		lab_log_init(&logs[i], id);
		assert_int_equal(lab_append_now(s, &logs[i], 1), TH_OK);
	}
	before = faulty_log_writes();
	for (int round = 0; round < 20; round++) {
		for (size_t i = 0; i < TH_COUNT(logs); i++)
			lab_make(&logs[i], 3, &a[i], &appends[i]);
		assert_int_equal(s->kind->commit_now(s, &batch, &err), TH_OK);
		for (size_t i = 0; i < TH_COUNT(logs); i++)
			lab_done(&logs[i], &appends[i]);
	}
	assert_int_equal(faulty_log_writes() - before, 20);
	for (size_t i = 0; i < TH_COUNT(logs); i++)
		lab_check(s, &logs[i]);
	th_store_close(s);
}

/* The log is written back now and then, and does not grow without end. */
static void log_stays_small(void **state)
{
	const char *url = fresh();
	struct th_store *s = lab_open(url, NULL);
	char *bytes = th_alloc(TH_MIB), path[160];
	struct stat st;

	(void)state;
	for (int i = 0; i < 100; i++) {
		struct th_blob blob = { .bytes = { bytes, TH_MIB } };
		struct th_batch batch = { .blobs = &blob, .blob_count = 1 };

		memset(bytes, i, TH_MIB);
		blob.hash = th_sha256_of(bytes, TH_MIB);
		assert_int_equal(s->kind->commit_now(s, &batch, &err), TH_OK);
	}
	snprintf(path, sizeof(path), "%s-wal", path_of(number));
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size < 24 * (off_t)TH_MIB);
	th_store_close(s);
	assert_int_equal(stat(path, &st), -1); /* closed by the last: one file is left */
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LAB_TESTS(LAB_TEST) cmocka_unit_test(killed_anywhere),
		cmocka_unit_test(two_processes),
		cmocka_unit_test(written_by_many),
		cmocka_unit_test(by_another_name),
		cmocka_unit_test(has_one_scope),
		cmocka_unit_test(time_for_others),
		cmocka_unit_test(edges_of_a_path),
		cmocka_unit_test(wrong_files),
		{ "a file of version 2", a_file_of_a_version_before, NULL, NULL, (void *)2 },
		{ "a file of version 3", a_file_of_a_version_before, NULL, NULL, (void *)3 },
		{ "a file of version 4", a_file_of_a_version_before, NULL, NULL, (void *)4 },
		cmocka_unit_test(removed_and_killed),
		cmocka_unit_test(removed_by_pieces),
		cmocka_unit_test(read_on),
		cmocka_unit_test(pages_by_index),
		cmocka_unit_test(cut_off_while_made),
		cmocka_unit_test(rights),
		cmocka_unit_test(full_disk),
		cmocka_unit_test(file_size_limit),
		cmocka_unit_test(full_for_one),
		cmocka_unit_test(new_file_is_durable),
		cmocka_unit_test(failing_calls),
		cmocka_unit_test(closed_by_a_failed_flush),
		cmocka_unit_test(failing_reads),
		cmocka_unit_test(cut_log),
		cmocka_unit_test(rows_are_recent),
		cmocka_unit_test(leased_by_another_thread),
		cmocka_unit_test(recent_across_deletions),
		cmocka_unit_test(recent_is_short),
		cmocka_unit_test(recent_of_many),
		cmocka_unit_test(known_no_more),
		cmocka_unit_test(many_sessions),
		cmocka_unit_test(one_write),
		cmocka_unit_test(log_stays_small),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
