/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blobs.c - what a picture costs: an append that names new ones, until all is durable,
 * and reading one.
 *
 *	blobs store=postgres://… size=200000 count=1 rounds=100
 *
 * append_ms: one append with `count` blobs of `size` bytes that were not there;
 * read_ms: one of them.  Medians.
 */
#include "bench.h"

#include "io/clock.h"
#include "stores/stores.h"

#define COUNT_MAX 64

struct bench {
	struct th_store *s;
	size_t size, count, rounds;
	struct th_blob blobs[COUNT_MAX];
	char *bytes;
	char id[TH_UUID_TEXT_SIZE + 1];
	uint64_t seq;
	struct th_digest head;
	double *append_ms, *read_ms;
};

static void die(const char *what, const struct th_err *err)
{
	fprintf(stderr, "blobs: %s: %s\n", what, err->msg);
	exit(1);
}

/* Bytes that no blob had before. */
static void draw(struct bench *b, struct th_buf *data)
{
	th_buf_clear(data);
	th_buf_add_cstr(data, "{\"images\":[");
	for (size_t i = 0; i < b->count; i++) {
		char *bytes = b->bytes + i * b->size, hex[TH_SHA256_HEX_SIZE + 1];

		th_random(bytes, b->size);
		b->blobs[i] = (struct th_blob){
			.hash = th_sha256_of(bytes, b->size),
			.media_type = TH_STR("image/png"),
			.bytes = th_str_n(bytes, b->size),
		};
		th_digest_hex(&b->blobs[i].hash, hex);
		th_buf_printf(data, "%s\"%s\"", i ? "," : "", hex);
	}
	th_buf_add_cstr(data, "]}");
}

static double append(struct bench *b, struct th_str data)
{
	struct th_event ev = {
		.seq = b->seq + 1,
		.ts_ms = 1700000000000 + (int64_t)b->seq,
		.id = th_uuid_now(),
		.source = TH_SOURCE_ENVIRONMENT,
		.kind = TH_EV_OUTCOME,
		.data = data,
		.build = TH_STR("0.1.0"),
	};
	struct th_digest digest = th_event_digest(&b->head, th_str_of(b->id), &ev);
	struct th_session_row row = {
		.session_id = th_str_of(b->id),
		.agent = TH_STR("default"),
		.model = TH_STR("gpt-5.5"),
		.state = TH_STR("running"),
		.head_seq = b->seq + 1,
		.head = digest,
		.epoch = 1,
		.created_ms = 1700000000000,
		.updated_ms = 1700000000000,
		.metadata = TH_STR("{}"),
	};
	struct th_append a = { .create = b->seq == 0,
			       .row = &row,
			       .seq_before = b->seq,
			       .head_before = b->head,
			       .events = &ev,
			       .digests = &digest,
			       .event_count = 1 };
	struct th_batch batch = {
		.appends = &a, .append_count = 1, .blobs = b->blobs, .blob_count = b->count
	};
	struct th_err err = { 0 };
	double start = bench_wall_us();

	if (b->s->kind->commit_now(b->s, &batch, &err) || a.result != TH_OK)
		die("append", &err);
	start = bench_wall_us() - start;
	b->seq++;
	b->head = digest;
	return start / 1e3;
}

static double read_one(struct bench *b)
{
	struct th_buf out = TH_BUF_INIT(TH_BLOB_MAX);
	struct th_err err = { 0 };
	double start = bench_wall_us();

	if (b->s->kind->blob(b->s, &b->blobs[0].hash, &out, &err))
		die("read", &err);
	start = bench_wall_us() - start;
	th_buf_deinit(&out);
	return start / 1e3;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *list, size_t count)
{
	qsort(list, count, sizeof(*list), by_size);
	return list[count / 2];
}

int main(int argc, char **argv)
{
	struct bench b = {
		.size = (size_t)bench_number(argc, argv, "size", 200000),
		.count = (size_t)bench_number(argc, argv, "count", 1),
		.rounds = (size_t)bench_number(argc, argv, "rounds", 100),
	};
	const char *url = bench_option(argc, argv, "store", "sqlite:/tmp/bench-blobs.db");
	struct th_store_options options = { .create = true };
	struct th_buf data = TH_BUF_INIT(TH_MIB);
	struct th_uuid id = th_uuid_now();
	struct th_err err = { 0 };

	if (b.count < 1 || b.count > COUNT_MAX || b.rounds < 1)
		return 2;
	if (th_store_open(th_str_of(url), &options, &b.s, &err))
		die("open", &err);
	th_uuid_text(&id, b.id);
	b.bytes = th_alloc(b.count * b.size);
	b.append_ms = th_alloc(b.rounds * sizeof(double));
	b.read_ms = th_alloc(b.rounds * sizeof(double));
	for (size_t i = 0; i < b.rounds; i++) {
		draw(&b, &data);
		b.append_ms[i] = append(&b, th_buf_str(&data));
		b.read_ms[i] = read_one(&b);
	}
	printf("{\"bench\":\"blobs\",\"size\":%zu,\"count\":%zu,\"append_ms\":%.2f,"
	       "\"read_ms\":%.2f}\n",
	       b.size, b.count, median(b.append_ms, b.rounds), median(b.read_ms, b.rounds));
	th_store_close(b.s);
	th_buf_deinit(&data);
	free(b.bytes);
	free(b.append_ms);
	free(b.read_ms);
	return 0;
}
