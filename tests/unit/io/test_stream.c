/* SPDX-License-Identifier: Apache-2.0 */
/* Streams to other machines, and relays between them and sockets of this one. */
#include "io/stream.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/listen.h"
#include "io/relay.h"
#include "unit.h"

#define TOTAL (12 * TH_MIB) /* more than all that stands between could hold */

static struct th_loop *loop;
static struct th_listen *listener;
static struct th_err err;

/* One end. */
struct end {
	struct th_stream *stream;
	struct th_relay *relay;
	int fd; /* what the relay is given */
	int opens, rooms, closes, ended;
	size_t heard;
	struct th_err why;
	bool stops; /* the loop, when it is closed */
};
static struct end here, there;

static void on_relay_end(void *ctx)
{
	struct end *e = ctx;

	e->ended++;
	e->relay = th_relay_free(e->relay);
	if (e->stops)
		th_loop_stop(loop);
}

static void relay(struct end *e)
{
	if (e->fd >= 0)
		assert_int_equal(
		    th_relay_new(loop, e->fd, e->stream, on_relay_end, e, &e->relay, &err), TH_OK);
	e->fd = -1;
}

static void on_open(void *ctx)
{
	struct end *e = ctx;

	e->opens++;
	relay(e);
	if (!e->relay)
		th_loop_stop(loop);
}

static void on_data(void *ctx, struct th_str bytes)
{
	struct end *e = ctx;

	e->heard += bytes.len;
	if (e->relay)
		th_relay_data(e->relay, bytes);
}

static void on_room(void *ctx)
{
	struct end *e = ctx;

	e->rooms++;
	if (e->relay)
		th_relay_room(e->relay);
	else
		th_loop_stop(loop);
}

static void on_close(void *ctx, const struct th_err *why)
{
	struct end *e = ctx;

	e->closes++;
	e->why = *why;
	if (e->relay)
		th_relay_over(e->relay);
	else if (e->stops)
		th_loop_stop(loop);
}

static struct th_stream_handlers handlers(struct end *e)
{
	return (struct th_stream_handlers){ .on_open = on_open,
					    .on_data = on_data,
					    .on_room = on_room,
					    .on_close = on_close,
					    .ctx = e };
}

static void on_connection(void *ctx, int fd)
{
	struct th_stream_handlers h = handlers(&there);

	(void)ctx;
	assert_int_equal(th_stream_take(loop, fd, NULL, &h, &there.stream, &err), TH_OK);
	relay(&there);
}

static int setup(void **state)
{
	(void)state;
	here = there = (struct end){ .fd = -1 };
	assert_int_equal(th_loop_new(&loop, &err), TH_OK);
	return th_listen_new(loop, TH_STR("127.0.0.1:0"), on_connection, NULL, &listener, &err);
}

static int teardown(void **state)
{
	(void)state;
	th_relay_free(here.relay);
	th_relay_free(there.relay);
	th_stream_free(here.stream);
	th_stream_free(there.stream);
	th_listen_free(listener);
	th_loop_free(loop);
	return 0;
}

static void dial(int port)
{
	struct th_buf place TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64);
	struct th_stream_handlers h = handlers(&here);

	th_buf_printf(&place, "127.0.0.1:%d", port);
	assert_int_equal(th_stream_dial(loop, th_buf_str(&place), NULL, &h, &here.stream, &err),
			 TH_OK);
}

/* ---- ---- */

static void places(void **state)
{
	char host[254];
	bool address;
	uint16_t port;

	(void)state;
	assert_true(th_stream_place(TH_STR("node.example.org:7712"), host, &address, &port));
	assert_string_equal(host, "node.example.org");
	assert_int_equal(port, 7712);
	assert_false(address);
	assert_true(th_stream_place(TH_STR("[::1]:65535"), host, &address, &port));
	assert_string_equal(host, "::1");
	assert_true(address);
	static const char *const bad[] = { "",           "node",  "node:",   "node:0",
					   "node:65536", ":7712", "a b:1",   "node:1x",
					   "[::1]",      "::1:5", "node:-1", "node:1/" };
	for (size_t i = 0; i < TH_COUNT(bad); i++)
		assert_false(th_stream_place(th_str_of(bad[i]), host, &address, &port));
}

static void nobody_listens(void **state)
{
	int port = th_listen_port(listener);

	(void)state;
	listener = th_listen_free(listener);
	here.stops = true;
	dial(port);
	th_loop_run(loop);
	assert_int_equal(here.closes, 1);
	assert_int_equal(here.opens, 0);
	assert_int_equal(here.why.code, TH_ECONN);
	assert_int_equal(th_stream_write(here.stream, TH_STR("x")), TH_ECONN);
}

/* It is told once that it is over, and never that it began. */
static void ended_before_it_opens(void **state)
{
	struct end other = { .fd = -1 };
	struct th_stream_handlers h = handlers(&other);
	struct th_buf place TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64);

	(void)state;
	th_buf_printf(&place, "127.0.0.1:%d", th_listen_port(listener));
	dial(th_listen_port(listener));
	th_stream_end(here.stream);
	assert_int_equal(here.closes, 0);
	assert_int_equal(th_stream_dial(loop, th_buf_str(&place), NULL, &h, &other.stream, &err),
			 TH_OK);
	th_loop_run(loop); /* until the other one is open */
	th_stream_free(other.stream);
	assert_int_equal(other.opens, 1);
	assert_int_equal(here.opens, 0);
	assert_int_equal(here.closes, 1);
	assert_int_equal(here.why.code, TH_OK);
}

/* What waits is bounded, and whoever was told so is told when there is room. */
static void what_waits_is_bounded(void **state)
{
	char *bytes = th_alloc(TH_STREAM_QUEUE_MAX);

	(void)state;
	dial(th_listen_port(listener));
	th_loop_run(loop);
	assert_int_equal(here.opens, 1);
	memset(bytes, 'x', TH_STREAM_QUEUE_MAX);
	assert_int_equal(th_stream_write(here.stream, th_str_n(bytes, TH_STREAM_QUEUE_MAX)), TH_OK);
	assert_int_equal(th_stream_write(here.stream, TH_STR("x")), TH_EBUSY);
	assert_int_equal(th_stream_write(here.stream, th_str_n(bytes, TH_STREAM_QUEUE_MAX - 1)),
			 TH_EBUSY);
	assert_int_equal(th_stream_write(here.stream, TH_STR("x")), TH_ELIMIT);
	free(bytes);
	th_loop_run(loop);
	assert_int_equal(here.rooms, 1);
	/* Its end comes behind all that. */
	there.stops = true;
	th_stream_end(here.stream);
	th_loop_run(loop);
	assert_int_equal(there.heard, 2 * TH_STREAM_QUEUE_MAX);
	assert_int_equal(there.why.code, TH_OK);
	assert_int_equal(here.closes, 1);
}

static unsigned char byte_at(size_t i)
{
	return (unsigned char)(i * 31 + i / 4099);
}

static void *writes(void *ctx)
{
	unsigned char piece[4096];
	int fd = *(int *)ctx;

	for (size_t at = 0; at < TOTAL; at += sizeof(piece)) {
		for (size_t i = 0; i < sizeof(piece); i++)
			piece[i] = byte_at(at + i);
		for (size_t put = 0; put < sizeof(piece);) {
			ssize_t n = write(fd, piece + put, sizeof(piece) - put);

			if (n <= 0)
				return NULL;
			put += (size_t)n;
		}
	}
	close(fd);
	return NULL;
}

static void *reads(void *ctx)
{
	unsigned char piece[777];
	int fd = *(int *)ctx;
	size_t *ret = calloc(2, sizeof(*ret)), at = 0;
	ssize_t n;

	while ((n = read(fd, piece, sizeof(piece))) > 0)
		for (ssize_t i = 0; i < n; i++, at++)
			ret[1] += piece[i] != byte_at(at);
	ret[0] = at;
	return ret;
}

/* All bytes arrive, in order, and the end after the last; who is slow is waited for. */
static void a_relay_passes_all(void **state)
{
	pthread_t writer, reader;
	int out[2], in[2];
	void *ret;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, out), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, in), 0);
	here.fd = out[1];
	there.fd = in[1];
	there.stops = true;
	assert_int_equal(pthread_create(&writer, NULL, writes, &out[0]), 0);
	assert_int_equal(pthread_create(&reader, NULL, reads, &in[0]), 0);
	dial(th_listen_port(listener));
	th_loop_run(loop);
	pthread_join(writer, NULL);
	pthread_join(reader, &ret);
	assert_int_equal(((size_t *)ret)[0], TOTAL);
	assert_int_equal(((size_t *)ret)[1], 0);
	assert_int_equal(there.ended, 1);
	assert_int_equal(there.why.code, TH_OK);
	free(ret);
	close(in[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(places, setup, teardown),
		cmocka_unit_test_setup_teardown(nobody_listens, setup, teardown),
		cmocka_unit_test_setup_teardown(ended_before_it_opens, setup, teardown),
		cmocka_unit_test_setup_teardown(what_waits_is_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(a_relay_passes_all, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
