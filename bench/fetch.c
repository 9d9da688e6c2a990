/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch.c - what the HTTP of a fleet costs by itself: requests and answers of the size of `api
 * fleet`, through the runtime's client on its loop, with nothing decoded, kept or written.
 *
 *	fetch url=http://127.0.0.1:PORT/l500/n10/k0/v1 sessions=1000 turns=11
 */
#include "io/fetch.h"
#include "bench.h"

#define BODY_SIZE 1800 /* about the mean of eleven turns of `api fleet` */

struct client {
	struct th_fetch_id id;
	long left;
};

static struct {
	struct th_fetcher *fetcher;
	struct th_loop *loop;
	struct th_fetch_request request;
	long running, answers;
	uint64_t received;
} b;

static struct th_err err;

static void check(enum th_code code)
{
	if (code == TH_OK)
		return;
	fprintf(stderr, "fetch: %s\n", err.msg);
	exit(1);
}

static void ask(struct client *c)
{
	struct th_fetch_request r = b.request;

	c->left--;
	r.ctx = c;
	check(th_fetch_start(b.fetcher, &r, &c->id, &err));
}

static bool on_data(void *ctx, struct th_str bytes)
{
	(void)ctx;
	b.received += bytes.len;
	return true;
}

static void on_done(void *ctx, const struct th_fetch_result *result)
{
	struct client *c = (struct client *)ctx;

	if (result->end != TH_FETCH_OK) {
		fprintf(stderr, "fetch: %s\n", th_fetch_end_name(result->end));
		exit(1);
	}
	b.answers++;
	if (c->left > 0)
		ask(c);
	else if (--b.running == 0)
		th_loop_stop(b.loop);
}

int main(int argc, char **argv)
{
	const char *base = bench_option(argc, argv, "url", "http://127.0.0.1:9100/v1");
	long sessions = bench_number(argc, argv, "sessions", 1000);
	struct client *clients = (struct client *)calloc((size_t)sessions, sizeof(*clients));
	static char body[BODY_SIZE + 1];
	char url[256];
	struct th_str piece = { body, BODY_SIZE };
	const struct th_fetch_header headers[] = {
		{ "Content-Type", TH_STR("application/json") },
		{ "Accept", TH_STR("application/json") },
	};
	double cpu, wall;

	if (!clients || sessions < 1)
		return 1;
	snprintf(url, sizeof(url), "%s/responses", base);
	memset(body, ' ', BODY_SIZE);
	memcpy(body, "{\"model\":\"gpt-4.1\",\"input\":[]", 29);
	body[BODY_SIZE - 1] = '}';
	check(th_loop_new(&b.loop, &err));
	check(th_fetcher_new(b.loop, &b.fetcher, &err));
	b.request = (struct th_fetch_request){
		.method = "POST",
		.url = th_str_of(url),
		.headers = headers,
		.header_count = TH_COUNT(headers),
		.body = &piece,
		.body_count = 1,
		.total_ms = 600000,
		.on_data = on_data,
		.on_done = on_done,
	};
	cpu = bench_cpu_us();
	wall = bench_wall_us();
	b.running = sessions;
	for (long i = 0; i < sessions; i++) {
		clients[i].left = bench_number(argc, argv, "turns", 11);
		ask(&clients[i]);
	}
	th_loop_run(b.loop);
	cpu = bench_cpu_us() - cpu;
	wall = bench_wall_us() - wall;
	printf("{\"bench\":\"fetch\",\"sessions\":%ld,\"requests\":%ld,\"bytes\":%llu,"
	       "\"cpu_us_request\":%.2f,\"requests_s\":%.1f,\"cpu_percent\":%.2f}\n",
	       sessions, b.answers, (unsigned long long)b.received, cpu / (double)b.answers,
	       (double)b.answers / wall * 1e6, cpu / wall * 100);
	b.fetcher = th_fetcher_free(b.fetcher);
	b.loop = th_loop_free(b.loop);
	free(clients);
	return 0;
}
