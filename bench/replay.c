/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.c - reading back: all events of all sessions in order, as recovery
 * does, and verifying them.
 *
 *	replay dir=/tmp sessions=10000 appends=11 size=700
 *
 * Two events per append, the sessions' appends mixed; everything was written
 * just before and is in the page cache.
 */
#include "bench.h"

#include <unistd.h>

#include "io/clock.h"
#include "stores/stores.h"

#define GROUP 500 /* sessions in one commit */

struct log {
	char id[40];
	struct th_session_row row;
	struct th_event events[2];
	struct th_digest digests[2];
};

struct counted {
	struct th_store *s;
	long sessions, events;
	unsigned long long bytes;
};

static void die(const char *what, const struct th_err *err)
{
	fprintf(stderr, "replay: %s: %s\n", what, err->msg);
	exit(1);
}

static void make(struct log *l, struct th_append *a, struct th_str data)
{
	struct th_digest before = l->row.head;

	*a = (struct th_append){
		.create = l->row.head_seq == 0,
		.row = &l->row,
		.seq_before = l->row.head_seq,
		.head_before = before,
		.events = l->events,
		.digests = l->digests,
		.event_count = 2,
	};
	for (size_t i = 0; i < 2; i++) {
		l->events[i] = (struct th_event){
			.seq = l->row.head_seq + 1 + i,
			.ts_ms = 1700000000000,
			.id = th_uuid_now(),
			.source = TH_SOURCE_AGENT,
			.kind = i ? TH_EV_OUTCOME : TH_EV_MODEL_ANSWERED,
			.data = data,
			.build = TH_STR("0.1.0"),
		};
		l->digests[i] = th_event_digest(&before, th_str_of(l->id), &l->events[i]);
		before = l->digests[i];
	}
	l->row.head = before;
	l->row.head_seq += 2;
}

static void fill(struct th_store *s, struct log *logs, size_t count, long appends,
		 struct th_str data)
{
	static struct th_append list[GROUP];
	struct th_err err;

	for (long round = 0; round < appends; round++)
		for (size_t from = 0; from < count; from += GROUP) {
			size_t n = TH_MIN((size_t)GROUP, count - from);
			struct th_batch batch = { .appends = list, .append_count = n };

			for (size_t i = 0; i < n; i++)
				make(&logs[from + i], &list[i], data);
			if (s->kind->commit_now(s, &batch, &err))
				die("append", &err);
		}
}

static enum th_code count_event(void *ctx, const struct th_event *ev,
				const struct th_digest *digest, struct th_err *err)
{
	struct counted *c = ctx;

	(void)digest;
	(void)err;
	c->events++;
	c->bytes += ev->data.len + (unsigned char)ev->data.ptr[0];
	return TH_OK;
}

static enum th_code read_session(void *ctx, const struct th_session_row *row, struct th_err *err)
{
	struct counted *c = ctx;

	c->sessions++;
	return c->s->kind->read(c->s, row->session_id, 1, 0, count_event, c, err);
}

int main(int argc, char **argv)
{
	const char *parent = bench_option(argc, argv, "dir", "/tmp");
	size_t count = (size_t)bench_number(argc, argv, "sessions", 10000);
	long appends = bench_number(argc, argv, "appends", 11);
	size_t size = (size_t)bench_number(argc, argv, "size", 700);
	struct th_store_options options = { .create = true };
	struct log *logs = th_alloc(count * sizeof(*logs));
	struct th_session_row *rows = th_alloc(count * sizeof(*rows));
	struct th_err *errs = th_alloc(count * sizeof(*errs));
	struct th_str *ids = th_alloc(count * sizeof(*ids));
	char dir[4096], url[4200], command[4200], *data = th_alloc(size + 1);
	struct th_verify_report report;
	struct counted c = {};
	struct th_arena arena;
	struct th_err err;
	double start, replay, lease, verify;

	snprintf(dir, sizeof(dir), "%s/thole-replay-XXXXXX", parent);
	if (!mkdtemp(dir))
		return 1;
	snprintf(url, sizeof(url), "sqlite:%s/b.db", dir);
	memset(data, 'd', size);
	for (size_t i = 0; i < count; i++) {
		struct th_uuid id = th_uuid_now();

		th_uuid_text(&id, logs[i].id);
		ids[i] = th_str_of(logs[i].id);
		logs[i].row = (struct th_session_row){ .session_id = ids[i],
						       .state = TH_STR("running"),
						       .title = TH_STR("a session"),
						       .epoch = 1,
						       .metadata = TH_STR("{}") };
	}
	if (th_store_open(th_str_of(url), &options, &c.s, &err))
		die("open", &err);
	fill(c.s, logs, count, appends, th_str_n(data, size));
	th_store_close(c.s);

	if (th_store_open(th_str_of(url), &options, &c.s, &err))
		die("open", &err);
	th_arena_init(&arena, (size_t)1 << 30);
	start = bench_wall_us();
	if (c.s->kind->lease_many(c.s, ids, count, false, &arena, rows, errs, &err))
		die("lease", &err);
	lease = bench_wall_us() - start;
	start = bench_wall_us();
	if (c.s->kind->list(c.s, &(struct th_session_filter){}, read_session, &c, &err))
		die("read", &err);
	replay = bench_wall_us() - start;
	start = bench_wall_us();
	if (c.s->kind->verify(c.s, TH_STR(""), &report, &err) || report.bad)
		die("verify", &err);
	verify = bench_wall_us() - start;
	th_store_close(c.s);
	th_arena_deinit(&arena);
	printf(
	    "{\"bench\":\"replay\",\"sessions\":%ld,\"events\":%ld,\"mb\":%.0f,\"lease_ms\":%.0f,"
	    "\"read_ms\":%.0f,\"read_per_s\":%.0f,\"verify_per_s\":%.0f}\n",
	    c.sessions, c.events, (double)c.bytes / 1e6, lease / 1e3, replay / 1e3,
	    (double)c.events / replay * 1e6, (double)c.events / verify * 1e6);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}
