/* SPDX-License-Identifier: Apache-2.0 */
/*
 * append.c - what durability costs: opening a store, appends in groups, and a
 * turn's events, against a bare flush in the same folder.
 *
 *	append dir=/tmp sessions=64 turns=200 [store=postgres://…]
 *
 * open_*_ms: opening a new store, and one that is there.
 * append_1k_per_s: events of 1 KB, one per session and commit.
 * turn_cpu_us: CPU of a turn of five events with 1 KB of data in two commits;
 *              the making of events and digests aside.
 * commit_us: one session, one event, until it is durable; fdatasync_us: a bare
 *            write of as much to a file that has its blocks already.
 */
#include "bench.h"

#include <fcntl.h>
#include <unistd.h>

#include "io/clock.h"
#include "io/loop.h"
#include "stores/stores.h"

#define EVENTS 8 /* of one append at most */

struct log {
	char id[40];
	bool stored;
	uint64_t seq;
	struct th_digest head;
	struct th_session_row row;
	struct th_event events[EVENTS];
	struct th_digest digests[EVENTS];
};

struct bench {
	struct th_store *s;
	struct th_loop *loop;
	struct log *logs;
	size_t count;
	long commits; /* left */
	size_t sizes[2][EVENTS], events[2];
	char data[2048];
};

/* Sessions that commit together, again and again. */
struct group {
	struct bench *b;
	struct log *logs;
	struct th_append *appends;
	size_t count;
	struct th_batch batch;
};

static void die(const char *what, const struct th_err *err)
{
	fprintf(stderr, "append: %s: %s\n", what, err->msg);
	exit(1);
}

static void make(struct bench *b, struct log *l, struct th_append *a, size_t form)
{
	size_t count = b->events[form];
	struct th_digest before = l->head;

	*a = (struct th_append){
		.create = !l->stored,
		.row = &l->row,
		.seq_before = l->seq,
		.head_before = before,
		.events = l->events,
		.digests = l->digests,
		.event_count = count,
	};
	for (size_t i = 0; i < count; i++) {
		l->events[i] = (struct th_event){
			.seq = l->seq + 1 + i,
			.ts_ms = 1700000000000 + (int64_t)l->seq,
			.id = th_uuid_now(),
			.source = TH_SOURCE_AGENT,
			.kind = TH_EV_MODEL_ANSWERED,
			.cause = l->seq,
			.call = i == 1 ? TH_STR("call_9f8e7d6c5b4a") : TH_STR(""),
			.data = th_str_n(b->data, b->sizes[form][i]),
			.build = TH_STR("0.1.0"),
		};
		l->digests[i] = th_event_digest(&before, th_str_of(l->id), &l->events[i]);
		before = l->digests[i];
	}
	l->row = (struct th_session_row){
		.session_id = th_str_of(l->id),
		.user = TH_STR("anna"),
		.agent = TH_STR("default"),
		.model = TH_STR("gpt-5.5"),
		.state = TH_STR("running"),
		.title = TH_STR("Look up the weather in Paris and write it to a file"),
		.head_seq = l->seq + count,
		.head = before,
		.iteration = (int64_t)l->seq / 5,
		.calls = (int64_t)l->seq / 5,
		.tokens_in = (int64_t)l->seq * 1000,
		.tokens_out = (int64_t)l->seq * 100,
		.cost_nano = (int64_t)l->seq * 12345,
		.epoch = 1,
		.created_ms = 1700000000000,
		.updated_ms = 1700000000000 + (int64_t)l->seq,
		.metadata = TH_STR("{}"),
	};
	l->stored = true;
	l->seq += count;
	l->head = before;
}

static void make_all(struct group *g, size_t form)
{
	for (size_t i = 0; i < g->count; i++)
		make(g->b, &g->logs[i], &g->appends[i], form);
	g->batch = (struct th_batch){ .appends = g->appends, .append_count = g->count };
}

static void on_commit(void *ctx, struct th_batch *batch, enum th_code code,
		      const struct th_err *err);

static void commit(struct group *g)
{
	if (g->b->commits-- <= 0)
		return;
	make_all(g, (size_t)g->b->commits % 2);
	g->b->s->kind->commit(g->b->s, &g->batch, on_commit, g);
}

static void on_commit(void *ctx, struct th_batch *batch, enum th_code code,
		      const struct th_err *err)
{
	if (code)
		die("commit", err);
	for (size_t i = 0; i < batch->append_count; i++)
		if (batch->appends[i].result != TH_OK)
			die("append", &(struct th_err){ .msg = "refused" });
	commit(ctx);
}

/* With two groups one is made while the other is written. */
static void run(struct bench *b, size_t group_count, long commits)
{
	struct group groups[2] = { 0 };

	b->commits = commits;
	for (size_t i = 0; i < group_count; i++) {
		groups[i] = (struct group){ .b = b,
					    .logs = b->logs + i * b->count / group_count,
					    .count = b->count / group_count };
		groups[i].appends = th_alloc(groups[i].count * sizeof(struct th_append));
		commit(&groups[i]);
	}
	th_loop_run(b->loop);
	free(groups[0].appends);
	free(groups[1].appends);
}

static struct th_store *open_store(const char *url, struct th_loop *loop)
{
	struct th_store_options options = { .loop = loop, .create = true };
	struct th_store *s = NULL;
	struct th_err err;

	if (th_store_open(th_str_of(url), &options, &s, &err))
		die("open", &err);
	return s;
}

static void logs_new(struct bench *b, size_t count, const char *prefix)
{
	free(b->logs);
	b->count = count;
	b->logs = th_alloc(count * sizeof(*b->logs));
	for (size_t i = 0; i < count; i++) {
		struct th_uuid id = th_uuid_now();

		th_uuid_text(&id, b->logs[i].id);
		b->logs[i].id[0] = *prefix;
	}
}

static void forms(struct bench *b, size_t first, size_t first_size, size_t second,
		  size_t second_size)
{
	b->events[0] = second;
	b->events[1] = first;
	for (size_t i = 0; i < EVENTS; i++) {
		b->sizes[1][i] = first_size;
		b->sizes[0][i] = second_size;
	}
}

static double bare_flush_us(const char *dir)
{
	char path[4200], bytes[4096] = "";
	int fd, rounds = 50;
	double start;

	snprintf(path, sizeof(path), "%s/bare", dir);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (int i = 0; i < 64; i++)
		if (pwrite(fd, bytes, sizeof(bytes), i * 4096L) < 0)
			exit(1);
	fsync(fd);
	start = bench_wall_us();
	for (int i = 0; i < rounds; i++)
		if (pwrite(fd, bytes, sizeof(bytes), i % 64 * 4096L) < 0 || fdatasync(fd))
			exit(1);
	close(fd);
	unlink(path);
	return (bench_wall_us() - start) / rounds;
}

int main(int argc, char **argv)
{
	const char *parent = bench_option(argc, argv, "dir", "/tmp"), *given;
	long sessions = bench_number(argc, argv, "sessions", 64);
	long turns = bench_number(argc, argv, "turns", 200);
	char dir[4096], url[4200], command[4200];
	static struct bench b;
	struct th_err err;
	double start, cpu, open_new, open_old, per_s, build, turn, turn_wall, single;

	snprintf(dir, sizeof(dir), "%s/thole-append-XXXXXX", parent);
	if (!mkdtemp(dir) || th_loop_new(&b.loop, &err))
		return 1;
	snprintf(url, sizeof(url), "sqlite:%s/b.db", dir);
	given = bench_option(argc, argv, "store", NULL);
	if (given)
		snprintf(url, sizeof(url), "%s", given);
	memset(b.data, 't', sizeof(b.data)); /* no hexadecimal digit: it names no blob */
	start = bench_wall_us();
	b.s = open_store(url, b.loop);
	open_new = bench_wall_us() - start;

	/* 1 KB with its columns. */
	logs_new(&b, (size_t)sessions * 2, "1");
	forms(&b, 1, 850, 1, 850);
	run(&b, 2, 4);
	start = bench_wall_us();
	run(&b, 2, turns * 2);
	per_s = (double)(sessions * turns * 2) / (bench_wall_us() - start) * 1e6;

	/* Answer, call and intent; outcome and the next request.  First only made. */
	logs_new(&b, (size_t)sessions, "2");
	forms(&b, 3, 250, 2, 150);
	struct group g = { .b = &b, .logs = b.logs, .count = b.count };

	g.appends = th_alloc(g.count * sizeof(*g.appends));
	cpu = bench_cpu_us();
	for (long i = 0; i < turns * 2; i++)
		make_all(&g, (size_t)i % 2);
	build = (bench_cpu_us() - cpu) / (double)(sessions * turns);
	free(g.appends);
	logs_new(&b, (size_t)sessions, "3");
	run(&b, 1, 4);
	cpu = bench_cpu_us();
	start = bench_wall_us();
	run(&b, 1, turns * 2);
	turn = (bench_cpu_us() - cpu) / (double)(sessions * turns) - build;
	turn_wall = (bench_wall_us() - start) / (double)turns;

	logs_new(&b, 1, "4");
	run(&b, 1, 4);
	start = bench_wall_us();
	run(&b, 1, turns);
	single = (bench_wall_us() - start) / (double)turns;
	th_store_close(b.s);

	start = bench_wall_us();
	b.s = open_store(url, b.loop);
	open_old = bench_wall_us() - start;
	th_store_close(b.s);
	th_loop_free(b.loop);
	printf("{\"bench\":\"append\",\"sessions\":%ld,\"open_new_ms\":%.2f,\"open_ms\":%.2f,"
	       "\"append_1k_per_s\":%.0f,\"turn_cpu_us\":%.1f,\"turn_make_us\":%.1f,"
	       "\"turn_all_wall_us\":%.0f,\"commit_us\":%.0f,\"fdatasync_us\":%.0f}\n",
	       sessions, open_new / 1e3, open_old / 1e3, per_s, turn, build, turn_wall, single,
	       bare_flush_us(dir));
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}
