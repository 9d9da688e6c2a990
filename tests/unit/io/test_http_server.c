/* SPDX-License-Identifier: Apache-2.0 */
/* Connections of the HTTP server: their times, their bounds, their streams. */
#include "io/http_server.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "unit.h"

struct rig {
	struct th_loop *loop;
	struct th_http_server *server;
	struct th_http_request *stream; /* under way */
	int heads, requests, rooms, gone, ends;
	int gone_early; /* told of from inside th_http_begin */
	size_t body_max;
	bool streams;
	struct th_str reply; /* in place of the body; .ptr NULL: none */
	int status;          /* of what is answered at once; 0: 200 */
};

static size_t on_head(void *ctx, struct th_http_request *r)
{
	struct rig *g = ctx;

	(void)r;
	g->heads++;
	return g->body_max;
}

static void on_request(void *ctx, struct th_http_request *r)
{
	struct rig *g = ctx;

	g->requests++;
	if (!g->streams) {
		th_http_reply(r, g->status ? g->status : 200, "text/plain",
			      (struct th_str){ NULL, 0 },
			      g->reply.ptr ? g->reply : th_http_body(r));
		return;
	}
	g->stream = r;
	th_http_begin(r, 200, "text/plain", (struct th_str){ NULL, 0 });
	g->gone_early = g->gone;
}

static void on_room(void *ctx, struct th_http_request *r)
{
	(void)r;
	((struct rig *)ctx)->rooms++;
}

static void on_gone(void *ctx, struct th_http_request *r)
{
	struct rig *g = ctx;

	g->gone++;
	if (g->stream == r)
		g->stream = NULL;
}

static void on_end(void *ctx, struct th_http_request *r, int status, uint64_t sent)
{
	(void)r;
	(void)status;
	(void)sent;
	((struct rig *)ctx)->ends++;
}

static void begin(struct rig *g, const struct th_http_times *times)
{
	const struct th_http_handlers h = { .on_head = on_head,
					    .on_request = on_request,
					    .on_room = on_room,
					    .on_gone = on_gone,
					    .on_end = on_end,
					    .ctx = g };
	struct th_err err = {};

	*g = (struct rig){ .body_max = 1000 };
	assert_int_equal(th_loop_new(&g->loop, &err), TH_OK);
	g->server = th_http_server_new(g->loop, &h, NULL);
	th_http_server_times(g->server, times);
}

static void end(struct rig *g)
{
	th_http_server_free(g->server);
	th_loop_free(g->loop);
}

/* The client's end of a new connection; reads do not block. */
static int client(struct rig *g)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds),
			 0);
	th_http_server_take(g->server, fds[0]);
	return fds[1];
}

static void say(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* Runs the loop until the client has something to read; what it reads, "" at the end. */
static const char *hear(struct rig *g, int fd)
{
	static char text[4096];
	ssize_t n;

	while ((n = read(fd, text, sizeof(text) - 1)) < 0) {
		assert_int_equal(errno, EAGAIN);
		(void)th_loop_pass(g->loop);
	}
	text[n] = '\0';
	return text;
}

static const struct th_http_times patient = { 0 };

static void test_answers(void **state)
{
	struct rig g;
	int fd;

	(void)state;
	begin(&g, &patient);
	fd = client(&g);
	say(fd, "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi");
	assert_non_null(strstr(hear(&g, fd), "\r\n\r\nhi"));
	say(fd, "HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_non_null(strstr(hear(&g, fd), "Content-Length: 0"));
	say(fd, "GET / HTTP/1.0\r\n\r\n");
	assert_non_null(strstr(hear(&g, fd), "Connection: close"));
	assert_string_equal(hear(&g, fd), "");
	close(fd);
	assert_int_equal(g.requests, 3);
	assert_int_equal(g.ends, 3);
	assert_int_equal(g.gone, 0);
	end(&g);
}

/* An answer without a body is not chunked, also where the one before on its connection was. */
static void test_no_body_after_a_stream(void **state)
{
	static const int statuses[] = { 204, 304 };
	struct rig g;

	(void)state;
	begin(&g, &patient);
	for (size_t i = 0; i < TH_COUNT(statuses); i++) {
		const char *said;
		int fd = client(&g);

		g.streams = true;
		say(fd, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
		assert_non_null(strstr(hear(&g, fd), "Transfer-Encoding: chunked"));
		th_http_end(g.stream);
		assert_string_equal(hear(&g, fd), "0\r\n\r\n");
		g.streams = false;
		g.status = statuses[i];
		say(fd, "GET /b HTTP/1.1\r\nHost: x\r\n\r\n");
		said = hear(&g, fd);
		assert_null(strstr(said, "Transfer-Encoding"));
		assert_null(strstr(said, "Content-Length"));
		close(fd);
	}
	end(&g);
}

/* At the edge of a body's size, and behind it. */
static void test_body(void **state)
{
	struct rig g;

	(void)state;
	begin(&g, &patient);
	g.body_max = 3;
	for (int more = 0; more < 2; more++) {
		int fd = client(&g);

		say(fd, more ? "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nabcd"
			     : "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
		assert_non_null(strstr(hear(&g, fd), more ? " 413 " : " 200 "));
		close(fd);
	}
	assert_int_equal(g.requests, 1);
	end(&g);
}

/* Each time that is over ends its connection, and no other. */
static void test_times(void **state)
{
	static const struct {
		struct th_http_times times;
		const char *said;
	} cases[] = {
		{ { .idle_ms = 10 }, "" },
		{ { .head_ms = 10 }, "GET / HTTP/1.1\r\nHost:" },
		{ { .body_ms = 10 }, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab" },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		struct rig g;
		int fd;

		begin(&g, &cases[i].times);
		fd = client(&g);
		if (cases[i].said[0])
			say(fd, cases[i].said);
		assert_string_equal(hear(&g, fd), "");
		assert_int_equal(g.requests, 0);
		close(fd);
		end(&g);
	}
}

static void fill(struct rig *g)
{
	static char piece[64 * TH_KIB];
	enum th_code code;

	memset(piece, 'x', sizeof(piece));
	do
		code = th_http_write(g->stream, th_str_n(piece, sizeof(piece)));
	while (code == TH_OK);
	assert_int_equal(code, TH_EBUSY);
	assert_true(th_http_waiting(g->stream) > TH_HTTP_QUEUE_MAX);
	do
		code = th_http_write(g->stream, th_str_n(piece, sizeof(piece)));
	while (code == TH_EBUSY);
	assert_int_equal(code, TH_ELIMIT);
	assert_true(th_http_waiting(g->stream) <= 3 * TH_HTTP_QUEUE_MAX);
}

/* A writer that is told to wait is told when there is room. */
static void test_stream(void **state)
{
	struct rig g;
	int fd;

	(void)state;
	begin(&g, &patient);
	g.streams = true;
	fd = client(&g);
	say(fd, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	while (!g.stream)
		(void)th_loop_pass(g.loop);
	fill(&g);
	while (!g.rooms)
		(void)hear(&g, fd);
	assert_int_equal(th_http_waiting(g.stream), 0);
	th_http_end(g.stream);
	assert_int_equal(g.ends, 1);
	close(fd);
	end(&g);
}

/* Who has left before his stream begins: its owner is told when he has begun it, and once. */
static void test_gone_before(void **state)
{
	struct rig g;
	int fd;

	(void)state;
	begin(&g, &patient);
	g.streams = true;
	fd = client(&g);
	say(fd, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	close(fd);
	while (!g.gone)
		(void)th_loop_pass(g.loop);
	assert_int_equal(g.requests, 1);
	assert_int_equal(g.gone_early, 0);
	assert_int_equal(g.ends, 1);
	end(&g);
}

/* A peer that takes nothing is dropped; one that leaves is told of. */
static void test_gone(void **state)
{
	const struct th_http_times times = { .stall_ms = 20 };
	struct rig g;

	(void)state;
	for (int leaves = 0; leaves < 2; leaves++) {
		int fd;

		begin(&g, leaves ? &patient : &times);
		g.streams = true;
		fd = client(&g);
		say(fd, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
		while (!g.stream)
			(void)th_loop_pass(g.loop);
		if (leaves)
			close(fd);
		else
			fill(&g);
		while (!g.gone)
			(void)th_loop_pass(g.loop);
		assert_int_equal(g.ends, 1);
		assert_null(g.stream);
		if (!leaves)
			close(fd);
		end(&g);
	}
}

/* Requests that come before the one before them is answered wait for it, in order. */
static void test_ahead(void **state)
{
	struct rig g;
	int fd;

	(void)state;
	begin(&g, &patient);
	fd = client(&g);
	say(fd, "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n"
		"GET /3 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET /4");
	while (hear(&g, fd)[0])
		;
	assert_int_equal(g.requests, 3);
	close(fd);
	end(&g);
}

/* Of what comes before its turn so much is read and no more: the peer must wait. */
static void test_no_more_ahead(void **state)
{
	static const char one[] = "GET /x HTTP/1.1\r\nHost: x\r\n\r\n";
	const size_t len = sizeof(one) - 1;
	size_t said = 0, small = 4096;
	struct rig g;
	char bytes[65536];
	ssize_t n;
	int fd, idle = 0;

	(void)state;
	begin(&g, &patient);
	g.streams = true;
	fd = client(&g);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(int)), 0);
	while (idle < 10 && said < 8 * TH_HTTP_AHEAD_MAX) {
		n = write(fd, one + said % len, len - said % len);
		said += n > 0 ? (size_t)n : 0;
		idle = n > 0 ? 0 : idle + 1;
		(void)th_loop_pass(g.loop);
	}
	assert_int_equal(idle, 10);
	assert_in_range(said, TH_HTTP_AHEAD_MAX, 3 * TH_HTTP_AHEAD_MAX);
	assert_int_equal(g.requests, 1);
	/* Answered, it goes on with what is there. */
	g.streams = false;
	th_http_end(g.stream);
	for (int i = 0; i < 100000 && g.requests < (int)(said / len); i++) {
		while (read(fd, bytes, sizeof(bytes)) > 0)
			;
		(void)th_loop_pass(g.loop);
	}
	assert_int_equal(g.requests, said / len);
	close(fd);
	end(&g);
}

/* What comes behind a refusal is read over for a while, so that the peer reads why. */
static void test_linger(void **state)
{
	static const struct th_http_times soon = { .linger_ms = 20 };
	struct rig g;
	int fd;

	(void)state;
	begin(&g, &soon);
	fd = client(&g);
	say(fd, "nonsense\r\n\r\n");
	assert_non_null(strstr(hear(&g, fd), " 400 "));
	assert_string_equal(hear(&g, fd), ""); /* all is said */
	assert_int_equal(th_http_server_count(g.server), 1);
	say(fd, "and more of it");
	while (th_http_server_count(g.server) > 0)
		(void)th_loop_pass(g.loop);
	assert_int_equal(send(fd, "x", 1, MSG_NOSIGNAL), -1);
	close(fd);
	end(&g);
}

static void test_most_connections(void **state)
{
	static const struct th_http_times few = { .connections = 3 };
	struct rig g;
	int fds[4];

	(void)state;
	begin(&g, &few);
	for (int i = 0; i < 4; i++)
		fds[i] = client(&g);
	assert_int_equal(th_http_server_count(g.server), 3);
	assert_string_equal(hear(&g, fds[3]), "");
	close(fds[0]);
	while (th_http_server_count(g.server) == 3)
		(void)th_loop_pass(g.loop);
	close(fds[3]);
	fds[3] = client(&g);
	say(fds[3], "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_non_null(strstr(hear(&g, fds[3]), " 200 "));
	for (int i = 1; i < 4; i++)
		close(fds[i]);
	end(&g);
}

/* An answer that is larger than any may be: its peer sees a cut, and never a part for the whole. */
static void test_largest_reply(void **state)
{
	const size_t size = TH_HTTP_REPLY_MAX + 2 * TH_MIB;
	char *bytes =
	    mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct rig g;
	int fd;

	(void)state;
	assert_ptr_not_equal(bytes, MAP_FAILED);
	begin(&g, &patient);
	g.reply = th_str_n(bytes, size);
	fd = client(&g);
	say(fd, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	while (hear(&g, fd)[0])
		;
	assert_int_equal(th_http_server_count(g.server), 0);
	assert_int_equal(g.ends, 1);
	close(fd);
	g.reply.len = 32 * TH_MIB;
	fd = client(&g);
	say(fd, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	assert_non_null(strstr(hear(&g, fd), "Content-Length: 33554432"));
	close(fd);
	end(&g);
	munmap(bytes, size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),       cmocka_unit_test(test_body),
		cmocka_unit_test(test_times),         cmocka_unit_test(test_stream),
		cmocka_unit_test(test_gone_before),   cmocka_unit_test(test_gone),
		cmocka_unit_test(test_ahead),         cmocka_unit_test(test_no_more_ahead),
		cmocka_unit_test(test_linger),        cmocka_unit_test(test_most_connections),
		cmocka_unit_test(test_largest_reply), cmocka_unit_test(test_no_body_after_a_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
