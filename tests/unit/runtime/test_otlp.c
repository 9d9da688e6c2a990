/* SPDX-License-Identifier: Apache-2.0 */
/* test_otlp.c - sending traces to a collector that is well, slow, or not there. */
#include "unit.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "runtime/otlp.h"

/* ---- a collector: one answer per connection, from a script ---- */

static int listen_fd;
static char url[64];
static const char *const *statuses; /* the last one is given for ever */
static char bodies[16][200];
static char heads[16][1000];
static int served;
static pthread_t thread;

static void *collect(void *ctx)
{
	(void)ctx;
	for (;;) {
		int fd = accept(listen_fd, NULL, NULL);
		char text[4096], answer[200];
		size_t len = 0, want = 0;
		char *body = NULL;
		ssize_t got;

		if (fd < 0)
			return NULL;
		while (len < sizeof(text) - 1 &&
		       (got = read(fd, text + len, sizeof(text) - 1 - len)) > 0) {
			char *length;

			len += (size_t)got;
			text[len] = '\0';
			body = strstr(text, "\r\n\r\n");
			length = strstr(text, "Content-Length: ");
			want = length ? (size_t)atol(length + 16) : 0;
			if (body && strlen(body + 4) >= want)
				break;
		}
		if (served < 16 && body) {
			snprintf(bodies[served], sizeof(bodies[0]), "%.190s", body + 4);
			snprintf(heads[served], sizeof(heads[0]), "%.*s",
				 (int)TH_MIN(body - text, 990), text);
		}
		served++;
		snprintf(answer, sizeof(answer),
			 "HTTP/1.1 %s\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
			 *statuses);
		if (statuses[1])
			statuses++;
		(void)!send(fd, answer, strlen(answer), MSG_NOSIGNAL);
		shutdown(fd, SHUT_WR);
		close(fd);
	}
}

static struct th_loop *loop;
static struct th_fetcher *fetcher;

static int set_up(void **state)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(at);

	(void)state;
	served = 0;
	listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listen_fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listen_fd, 16), 0);
	assert_int_equal(getsockname(listen_fd, (struct sockaddr *)&at, &size), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/v1/traces", ntohs(at.sin_port));
	assert_int_equal(th_loop_new(&loop, NULL), TH_OK);
	assert_int_equal(th_fetcher_new(loop, &fetcher, NULL), TH_OK);
	return 0;
}

static void collector(const char *const *script)
{
	statuses = script;
	assert_int_equal(pthread_create(&thread, NULL, collect, NULL), 0);
}

static void collector_end(void)
{
	shutdown(listen_fd, SHUT_RDWR);
	pthread_join(thread, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	close(listen_fd);
	fetcher = th_fetcher_free(fetcher);
	loop = th_loop_free(loop);
	return 0;
}

static struct th_otlp *otlp_new(uint64_t retry_first_ms)
{
	struct th_otlp_options options = { .url = th_str_of(url),
					   .retry_first_ms = retry_first_ms };
	struct th_otlp *o;

	assert_int_equal(th_otlp_new(loop, fetcher, &options, &o, NULL), TH_OK);
	return o;
}

static void all_of(struct th_otlp *o)
{
	while (th_otlp_counts(o).waiting > 0)
		th_otlp_drain(o, 30000);
}

static void sends_in_order(void **state)
{
	static const char *const script[] = { "200 OK", NULL };
	struct th_secret *secret = th_secret_new(TH_STR("key-1"));
	struct th_otlp_options options = { .url = th_str_of(url),
					   .header = "x-api-key",
					   .secret = secret };
	struct th_otlp *o;

	(void)state;
	collector(script);
	assert_int_equal(th_otlp_new(loop, fetcher, &options, &o, NULL), TH_OK);
	th_otlp_send(o, TH_STR("{\"a\":1}"));
	th_otlp_send(o, TH_STR("{\"a\":2}"));
	all_of(o);
	collector_end();
	assert_int_equal(th_otlp_counts(o).sent, 2);
	assert_string_equal(bodies[0], "{\"a\":1}");
	assert_string_equal(bodies[1], "{\"a\":2}");
	assert_non_null(strstr(heads[0], "POST /v1/traces HTTP/1.1\r\n"));
	assert_non_null(strstr(heads[0], "Content-Type: application/json"));
	assert_non_null(strstr(heads[0], "x-api-key: key-1"));
	th_otlp_free(o);
	th_secret_free(secret);
}

/* 503, 429: again; 400: never; TH_OTLP_TRIES_MAX times 503: given up. */
static void tries_again(void **state)
{
	static const char *const script[] = { "503 Busy", "429 Slow\r\nRetry-After: 0",
					      "200 OK",   "400 Bad",
					      "503 Busy", NULL };
	struct th_otlp *o = otlp_new(1);

	(void)state;
	collector(script);
	th_otlp_send(o, TH_STR("{\"a\":1}"));
	th_otlp_send(o, TH_STR("{\"a\":2}"));
	th_otlp_send(o, TH_STR("{\"a\":3}"));
	while (th_otlp_counts(o).waiting > 0)
		th_loop_run(loop);
	collector_end();
	assert_int_equal(th_otlp_counts(o).sent, 1);
	assert_int_equal(th_otlp_counts(o).dropped, 2);
	assert_int_equal(served, 3 + 1 + TH_OTLP_TRIES_MAX);
	assert_string_equal(bodies[2], "{\"a\":1}");
	assert_string_equal(bodies[3], "{\"a\":2}");
	assert_string_equal(bodies[4], "{\"a\":3}");
	th_otlp_free(o);
}

/* How long the next try waits, after so many that failed. */
static uint64_t waits(const char *const *answers, size_t tries, uint64_t retry_first_ms)
{
	struct th_otlp *o = otlp_new(retry_first_ms);
	uint64_t ret;

	collector(answers);
	th_otlp_send(o, TH_STR("{}"));
	for (size_t i = 0; i < tries; i++)
		while (th_otlp_counts(o).retry_ms == 0 || served <= (int)i)
			th_loop_pass(loop);
	ret = th_otlp_counts(o).retry_ms;
	th_otlp_free(o);
	collector_end();
	tear_down(NULL);
	set_up(NULL);
	return ret;
}

/* The first wait, what it doubles to, and what a collector may wish for. */
static void edges_of_waits(void **state)
{
	static const char *const busy[] = { "503 Busy", NULL };
	static const char *const soon[] = { "503 Busy\r\nretry-after-ms: 1", "503 Busy", NULL };
	static const char *const wishes[][2] = { { "429 Slow\r\nretry-after-ms: 60000", NULL },
						 { "429 Slow\r\nretry-after-ms: 60001", NULL },
						 { "429 Slow\r\nretry-after-ms: 59999", NULL } };

	(void)state;
	assert_int_equal(waits(busy, 1, 0), TH_OTLP_RETRY_FIRST_MS);
	assert_int_equal(waits(soon, 2, TH_OTLP_RETRY_MAX_MS / 2 - 1), TH_OTLP_RETRY_MAX_MS - 2);
	assert_int_equal(waits(soon, 2, TH_OTLP_RETRY_MAX_MS / 2), TH_OTLP_RETRY_MAX_MS);
	assert_int_equal(waits(soon, 2, TH_OTLP_RETRY_MAX_MS / 2 + 1), TH_OTLP_RETRY_MAX_MS);
	assert_int_equal(waits(wishes[0], 1, 0), TH_OTLP_RETRY_MAX_MS);
	assert_int_equal(waits(wishes[1], 1, 0), TH_OTLP_RETRY_MAX_MS);
	assert_int_equal(waits(wishes[2], 1, 0), TH_OTLP_RETRY_MAX_MS - 1);
}

/* One that says nothing for TH_OTLP_TIMEOUT_MS (here less) is asked again later. */
static void a_collector_that_falls_silent(void **state)
{
	struct th_otlp_options options = { .url = th_str_of(url), .timeout_ms = 30 };
	struct th_otlp *o;

	(void)state;
	assert_int_equal(th_otlp_new(loop, fetcher, &options, &o, NULL), TH_OK);
	th_otlp_send(o, TH_STR("{}"));
	while (th_otlp_counts(o).retry_ms == 0)
		th_loop_pass(loop);
	assert_int_equal(th_otlp_counts(o).waiting, 1);
	th_otlp_free(o);
}

/* Nobody listens: the end of a program does not wait for the next try. */
static void a_collector_that_is_not_there(void **state)
{
	struct th_otlp *o = otlp_new(60000);

	(void)state;
	close(listen_fd);
	th_otlp_send(o, TH_STR("{}"));
	th_otlp_drain(o, 60000);
	assert_int_equal(th_otlp_counts(o).waiting, 1);
	th_otlp_drain(o, 60000); /* it waits for its next try: not at all */
	assert_int_equal(th_otlp_counts(o).sent, 0);
	th_otlp_free(o);
	listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

/* One that takes the connection and says nothing: the program's own patience. */
static void a_silent_collector(void **state)
{
	struct th_otlp *o = otlp_new(1);

	(void)state;
	th_otlp_send(o, TH_STR("{}"));
	th_otlp_drain(o, 50);
	assert_int_equal(th_otlp_counts(o).waiting, 1);
	th_otlp_free(o); /* under way */
}

static void the_queue_is_bounded(void **state)
{
	struct th_otlp *o = otlp_new(1);
	char *large = malloc(TH_OTLP_QUEUE_SIZE_MAX);

	(void)state;
	for (int i = 0; i < TH_OTLP_QUEUE_MAX; i++)
		th_otlp_send(o, TH_STR("{}"));
	assert_int_equal(th_otlp_counts(o).dropped, 0);
	th_otlp_send(o, TH_STR("{}"));
	assert_int_equal(th_otlp_counts(o).dropped, 1);
	assert_int_equal(th_otlp_counts(o).waiting, TH_OTLP_QUEUE_MAX);
	th_otlp_free(o);
	o = otlp_new(1);
	memset(large, 'x', TH_OTLP_QUEUE_SIZE_MAX);
	th_otlp_send(o, th_str_n(large, TH_OTLP_QUEUE_SIZE_MAX - 1));
	th_otlp_send(o, TH_STR("x"));
	assert_int_equal(th_otlp_counts(o).dropped, 0);
	th_otlp_send(o, TH_STR("x"));
	assert_int_equal(th_otlp_counts(o).dropped, 1);
	th_otlp_free(o);
	free(large);
}

static void no_url(void **state)
{
	struct th_otlp_options options = { .url = TH_STR("collector:4318") };
	struct th_otlp *o = NULL;
	struct th_err err;

	(void)state;
	assert_int_equal(th_otlp_new(loop, fetcher, &options, &o, &err), TH_EUSAGE);
	assert_non_null(strstr(err.msg, "http://"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(sends_in_order),
		TEST(tries_again),
		TEST(edges_of_waits),
		TEST(a_collector_that_falls_silent),
		TEST(a_collector_that_is_not_there),
		TEST(a_silent_collector),
		TEST(the_queue_is_bounded),
		TEST(no_url),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
