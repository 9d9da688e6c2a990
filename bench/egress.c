/* SPDX-License-Identifier: Apache-2.0 */
/*
 * egress.c - how fast a tunnel through the egress is, beside a bare relay: one
 * connection, one direction, over loopback; rounds take turns.
 *
 * usage: egress [mib=1024] [rounds=5].  Prints one JSON line.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "egress/flow.h"
#include "io/clock.h"

#define PIECE (256 * TH_KIB) /* of both relays */

static char bytes[PIECE];

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static int listen_at(uint16_t *ret_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof(at)) || listen(fd, 8) ||
	    getsockname(fd, (struct sockaddr *)&at, &size))
		die("listen");
	*ret_port = ntohs(at.sin_port);
	return fd;
}

static int connect_to(uint16_t port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&at, sizeof(at)))
		die("connect");
	return fd;
}

/* Sends so much to everybody who connects. */
static _Noreturn void serve(int listen_fd, size_t size)
{
	for (;;) {
		int fd = accept(listen_fd, NULL, NULL);

		for (size_t left = size; fd >= 0 && left > 0;) {
			ssize_t put = send(fd, bytes, left < PIECE ? left : PIECE, MSG_NOSIGNAL);
			if (put <= 0)
				break;
			left -= (size_t)put;
		}
		close(fd);
	}
}

/* Nothing but reading and writing. */
static _Noreturn void relay(int listen_fd, uint16_t to)
{
	for (;;) {
		int fd = accept(listen_fd, NULL, NULL), server = connect_to(to);
		ssize_t got;

		while ((got = recv(server, bytes, PIECE, 0)) > 0)
			for (ssize_t at = 0, put; at < got; at += put)
				if ((put = send(fd, bytes + at, (size_t)(got - at),
						MSG_NOSIGNAL)) <= 0)
					exit(2);
		close(server);
		close(fd);
	}
}

static void on_report(void *ctx, const struct th_egress_connection *c)
{
	(void)ctx;
	if (!th_str_is(c->decision, "allowed"))
		fprintf(stderr, "egress: %.*s\n", TH_FMT(c->why));
}

static void on_end(void *ctx, struct th_flow *f)
{
	(void)ctx;
	(void)f;
}

struct listener {
	int fd;
	struct th_flow_owner owner;
};

static void on_accept(void *ctx, unsigned events)
{
	struct listener *l = (struct listener *)ctx;
	int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	(void)events;
	if (fd >= 0)
		(void)th_flow_new(&l->owner, fd);
}

static _Noreturn void egress(int listen_fd, uint16_t to)
{
	struct listener l = { .fd = listen_fd };
	struct th_loop *loop = NULL;
	struct th_poll *poll = NULL;
	struct th_net_policy policy;
	struct th_arena a;
	char net[64];

	th_arena_init(&a, TH_MIB);
	snprintf(net, sizeof(net), "[\"127.0.0.1:%u\"]", to);
	if (th_net_parse(th_str_of(net), &a, &policy, NULL, NULL) || th_loop_new(&loop, NULL) ||
	    th_poll_new(loop, listen_fd, on_accept, &l, &poll, NULL))
		exit(2);
	l.owner = (struct th_flow_owner){
		.loop = loop, .policy = &policy, .on_report = on_report, .on_end = on_end
	};
	th_poll_set(poll, TH_POLL_READ);
	th_loop_run(loop);
	exit(0);
}

/* GB per second; `to` 0: without a head. */
static double round_of(uint16_t port, uint16_t to, size_t size)
{
	uint64_t start = th_clock_ms();
	int fd = connect_to(port);
	char head[128];
	size_t len = 0, total = 0;
	ssize_t got;

	if (to) {
		int n = snprintf(head, sizeof(head),
				 "CONNECT 127.0.0.1:%u HTTP/1.1\r\nHost: b\r\n\r\n", to);
		if (write(fd, head, (size_t)n) != n)
			die("write");
		while (len < 4 || memcmp(head + len - 4, "\r\n\r\n", 4) != 0)
			if (len == sizeof(head) || read(fd, head + len++, 1) != 1)
				die("read the proxy's answer");
		start = th_clock_ms();
	}
	while ((got = recv(fd, bytes, PIECE, 0)) > 0)
		total += (size_t)got;
	close(fd);
	if (total != size)
		die("not all came");
	return (double)size / 1e6 / (double)(th_clock_ms() - start + 1);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	int64_t mib = 1024, rounds = 5;
	uint16_t server, bare, proxy;
	double bare_gbs[32], egress_gbs[32];
	double cpu_s[3] = { 0 };
	pid_t pids[3];

	for (int i = 1; i < argc; i++) {
		struct th_str value = th_str_of(argv[i]), name = th_str_split(&value, '=');
		if (!(th_str_is(name, "mib")
			  ? th_str_i64(value, &mib)
			  : th_str_is(name, "rounds") && th_str_i64(value, &rounds)))
			return 2;
	}
	if (mib < 1 || rounds < 1 || rounds > 32)
		return 2;
	size_t size = (size_t)mib * TH_MIB;
	int fds[3] = { listen_at(&server), listen_at(&bare), listen_at(&proxy) };
	for (int i = 0; i < 3; i++) {
		pids[i] = fork();
		if (pids[i] == 0 && i == 0)
			serve(fds[0], size);
		if (pids[i] == 0 && i == 1)
			relay(fds[1], server);
		if (pids[i] == 0)
			egress(fds[2], server);
	}
	for (int64_t i = 0; i < rounds; i++) {
		bare_gbs[i] = round_of(bare, 0, size);
		egress_gbs[i] = round_of(proxy, server, size);
	}
	for (int i = 0; i < 3; i++) {
		struct rusage used;

		kill(pids[i], SIGKILL);
		if (wait4(pids[i], NULL, 0, &used) == pids[i])
			cpu_s[i] = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
				   (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
	}
	qsort(bare_gbs, (size_t)rounds, sizeof(double), by_value);
	qsort(egress_gbs, (size_t)rounds, sizeof(double), by_value);
	double gb = (double)size / 1e9 * (double)rounds;
	double b = bare_gbs[rounds / 2], e = egress_gbs[rounds / 2];
	printf("{\"bench\":\"egress\",\"mib\":%lld,\"rounds\":%lld,\"bare_gb_s\":%.2f,"
	       "\"egress_gb_s\":%.2f,\"ratio\":%.3f,\"bare_cpu_s_per_gb\":%.3f,"
	       "\"egress_cpu_s_per_gb\":%.3f}\n",
	       (long long)mib, (long long)rounds, b, e, e / b, cpu_s[1] / gb, cpu_s[2] / gb);
	return 0;
}
