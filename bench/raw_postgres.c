/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_postgres.c - what bench/append's turns cost with libpq alone: the same
 * events, of the same size and in the same groups, into a bare table, one
 * statement and one COMMIT for each group, all of it in one round.
 *
 *	raw_postgres store=postgres://… sessions=64 turns=200
 */
#include "bench.h"

#include "postgres/pq.h"

#define COLUMNS_BYTES 150 /* of an event's other columns */

static void check(enum th_code code, const struct th_err *err)
{
	if (!code)
		return;
	fprintf(stderr, "raw_postgres: %s\n", err->msg);
	exit(1);
}

/* Of every session `events` events of `size` bytes. */
static void group(struct th_pq *c, long sessions, long events, size_t size, int64_t *seq)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	static char data[4096];
	struct th_pq_array columns[3];
	struct th_err err;

	memset(data, 'd', sizeof(data));
	th_pq_array_init(&columns[0], TH_PQ_I64, 64 << 20);
	th_pq_array_init(&columns[1], TH_PQ_I64, 64 << 20);
	th_pq_array_init(&columns[2], TH_PQ_BYTES, 64 << 20);
	for (long s = 0; s < sessions; s++)
		for (long i = 0; i < events; i++) {
			th_pq_array_i64(&columns[0], s);
			th_pq_array_i64(&columns[1], *seq + i);
			th_pq_array_bytes(&columns[2], data, size + COLUMNS_BYTES);
		}
	*seq += events;
	for (int i = 0; i < 3; i++)
		th_pq_arg_array(&args, &columns[i]);
	check(th_pq_add(c, "BEGIN", NULL, &err), &err);
	check(th_pq_add(c, "INSERT INTO raw SELECT a, b, c FROM unnest($1, $2, $3) AS n (a, b, c)",
			&args, &err),
	      &err);
	check(th_pq_run(c, "COMMIT", NULL, NULL, &err), &err);
	for (int i = 0; i < 3; i++)
		th_pq_array_deinit(&columns[i]);
}

int main(int argc, char **argv)
{
	const char *url = bench_option(argc, argv, "store", "");
	long sessions = bench_number(argc, argv, "sessions", 64);
	long turns = bench_number(argc, argv, "turns", 200);
	struct th_pq c = TH_PQ_INIT;
	int64_t seq = 1;
	struct th_err err;
	double start, wall;

	c.url = c.shown = url;
	c.wait_ms = 60000;
	check(th_pq_connect(&c, &err), &err);
	check(th_pq_run(&c, "DROP TABLE IF EXISTS raw", NULL, NULL, &err), &err);
	check(th_pq_run(&c,
			"CREATE TABLE raw (session bigint, seq bigint, data bytea,"
			" PRIMARY KEY (session, seq))",
			NULL, NULL, &err),
	      &err);
	start = bench_wall_us();
	for (long i = 0; i < turns; i++) {
		group(&c, sessions, 3, 250, &seq);
		group(&c, sessions, 2, 150, &seq);
	}
	wall = (bench_wall_us() - start) / (double)turns;
	th_pq_close(&c);
	printf("{\"bench\":\"raw_postgres\",\"sessions\":%ld,\"turn_all_wall_us\":%.0f,"
	       "\"turns_per_s\":%.0f}\n",
	       sessions, wall, (double)sessions / wall * 1e6);
	return 0;
}
